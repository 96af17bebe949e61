"""The kind `sb3`: an algorithm of stable-baselines3 or sb3-contrib, trained on blocked records.

Rewards are those of the kind `dqn`: −(cost of a panel), and at the end −(misclassification cost of
the classifier's decision), divided by the dearest misclassification.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from frugal.acquire.acquisition import BatchedAcquisition
from frugal.acquire.encoders import ValuesEncoder
from frugal.acquire.kinds import AgentKind, Ground, Learned, Stored, trained
from frugal.acquire.policies.dqn import scaled_loss
from frugal.acquire.policies.sb3_policy import Sb3Policy
from frugal.acquire.rewards import StopReward
from frugal.core.errors import DataError
from frugal.core.layout import Layout

TRAINED_BY = ("algorithm", "policy", "steps", "arguments")


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Train the algorithm that the settings name on the records, blocked.

    Raises:
        ConfigError: the algorithm, its policy or an argument is not allowed.
    """
    from frugal.acquire.train.sb3 import fit_sb3, require_sb3  # stable-baselines3 is slow to import

    how = {name: settings[name] for name in TRAINED_BY}
    require_sb3(**how, greedy=settings["greedy"])
    world, scaling, unit = ground.world(terminals=1), ground.scaling, ground.unit
    encoder = ValuesEncoder.of(replace(world, values=scaling.standardise(world.values)))
    environment = BatchedAcquisition(
        world,
        ground.observed(encoder),
        StopReward(scaled_loss(ground), np.array([1 / unit], dtype=np.float32)),
        learners=1,
        episodes=settings["episodes"],
        start="free",
        rng=ground.streams.generator("units"),
    )
    found = fit_sb3(environment, **how, rng=ground.streams.generator("learner"))
    policy = Sb3Policy(
        found.layers, found.activation, found.stochastic, settings["greedy"], scaling.centre,
        scaling.scale, encoder.column_bits,
    )  # fmt: skip
    curve = found.curve.assign(mean_return=found.curve["mean_return"] * unit)
    return Learned(policy.to_arrays(), curve)


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> Sb3Policy:
    """The trained network."""
    stored = trained(stored, "sb3")
    policy = Sb3Policy.from_arrays(stored, settings)
    own = (len(policy.centre), policy.panels, policy.terminals)
    wanted = (len(layout.columns), len(layout.actions), 1)
    if own != wanted:
        raise DataError(
            f"the stored sb3 policy has {own[0]} columns, {own[1]} panels and {own[2]} ways to "
            f"end; its header says {', '.join(map(str, wanted))}"
        )
    return policy


SB3 = AgentKind(
    name="sb3",
    build=build,
    fit=fit,
    settings={
        "algorithm": (
            "str",
            "class, for discrete actions, without memory: PPO, MaskablePPO, A2C, DQN, …",
        ),
        "policy": (("MlpPolicy", "LinearPolicy"), "", "MlpPolicy"),
        "steps": ("Count", "transitions over all episodes", 30000),
        "arguments": ("object", "of the class; what is left out has its own default", {}),
        "episodes": ("Count", "run side by side", 32),
        "greedy": ("bool", "true: the likeliest or best action; false: drawn by the actor", False),
    },
    doc="an algorithm of stable-baselines3 or sb3-contrib, by name",
    steps=(("steps",),),
    graph="sb3",
    looks={"sb3": (92, "stable-baselines3", "purple", "H")},
)
