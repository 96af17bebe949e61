"""The kind `sm_ddpo`: Algorithm 1 of [diagnosis] on blocked records, for the table's own costs.

Differs from the paper: one reward instead of a front, −(price of panels) − (cost of the error); the
encoder and the actors learn from records, in which panels may be missing.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frugal.acquire.kinds import AgentKind, Ground, Learned, Stored, trained
from frugal.acquire.policies.diagnosis import DiagnosisPolicies
from frugal.acquire.reading import completed_states
from frugal.acquire.rewards import DiagnosisReward
from frugal.acquire.train.sm_ddpo import fit_sm_ddpo
from frugal.core.errors import DataError
from frugal.core.layout import Layout
from frugal.core.stored import under
from frugal.learn.imputer_kinds import fit_encoder, imputer_arrays, imputer_of

ENCODER, ACTOR = "encoder.", "actor."  # prefixes among the bundle's arrays
VARIANT = ("variant", "pretraining_updates", "tuned", "verdict")
CRITERION = "value"  # weights are kept by the mean sum of rewards on validation rows


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Fit the encoder, then actor and classifier.

    Raises:
        DataError: the label has other than two classes, or too few rows are left to validate on.
    """
    ground.require_two_classes("sm_ddpo")
    order = ground.streams.generator("validation").permutation(len(ground.table))
    held = round(settings["validation_share"] * len(order))
    validation, train = np.sort(order[:held]), np.sort(order[held:])
    for name, rows in (("learn from", train), ("validate on", validation)):
        if len(np.unique(ground.table.label[rows])) < 2:
            raise DataError(
                f"an agent of kind 'sm_ddpo' has {len(rows)} rows to {name}, of one class only; "
                "give the part 'agent' more rows, or change validation_share"
            )
    imputer = fit_encoder(
        ground.values[train], ground.values[validation], table=ground.table,
        settings=settings["encoder"], rng=ground.streams.generator("encoder"),
    )  # fmt: skip
    world, unit = ground.world(terminals=2), ground.unit
    matrix = -(ground.table.misclassification_cost / unit)[None].astype(np.float32)
    units = [(w, completed_states(imputer, w)) for w in (world.take(train), world.take(validation))]
    result = fit_sm_ddpo(
        *units[0], units[1],
        reward=DiagnosisReward(matrix, np.array([1 / unit], dtype=np.float32)),
        settings=_training(settings), rng=ground.streams.generator("learner"),
    )  # fmt: skip
    arrays = {ACTOR + name: array for name, array in result.weights.items()}
    arrays |= {ENCODER + name: array for name, array in imputer_arrays(imputer).items()}
    curve = result.curves.drop(columns="learner").rename(columns={"value": "mean_return"})
    curve["mean_return"] *= unit
    return Learned(arrays, curve)


def _training(settings: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: settings[name] for name in VARIANT}
    return {**settings["training"], **own, "criterion": CRITERION}


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> DiagnosisPolicies:
    """Actor, classifier and encoder."""
    stored = trained(stored, "sm_ddpo")
    imputer = imputer_of(under(stored, ENCODER), columns=len(layout.columns))
    policy = DiagnosisPolicies(
        under(stored, ACTOR), _training(settings), adds=layout.provides & ~layout.free_columns,
        imputer=imputer, greedy=settings["greedy"],
    )  # fmt: skip
    own = (policy.columns, policy.panels, policy.classes)
    wanted = (len(layout.columns), len(layout.actions), len(layout.classes))
    if own != wanted:
        raise DataError(
            f"the stored SM-DDPO policies have {own[0]} columns, {own[1]} panels and {own[2]} "
            f"classes; its header says {', '.join(map(str, wanted))}"
        )
    return policy


def front_settings(training: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a front's policies are built with, of the block they were trained by."""
    rest = {k: v for k, v in training.items() if k not in (*VARIANT, "criterion")}
    return {
        "kind": "sm_ddpo", "encoder": {"kind": "stored"}, "validation_share": 0.0, "greedy": True,
        **{name: training[name] for name in VARIANT}, "training": rest,
    }  # fmt: skip


SM_DDPO = AgentKind(
    name="sm_ddpo",
    build=build,
    fit=fit,
    settings={
        "encoder": ("Encoder", "", {"kind": "mean"}),
        "validation_share": ("Probability", "of the part `agent`; chooses the weights", 0.25),
        "greedy": ("bool", "true: the likeliest action; false: drawn among them", True),
        "training": (
            "SmDdpoTraining",
            "",
            {"classifier": {"class_weights": [1.0, 1.0]}, "outer_loops": 48, "patience": 6},
        ),
    },
    shares=("SmDdpoVariant",),
    doc="SM-DDPO: completes the state, orders panels by PPO, and gives its own verdict",
    two_classes=True,
    steps=(("training.outer_loops", "training.policy_updates", "training.ppo.steps"),),
    graph="actor",
    looks={
        "sm_ddpo_end2end": (10, "SM-DDPO, end to end", "blue", "o"),
        "sm_ddpo_pretrain": (20, "SM-DDPO, pretrained", "sky", "s"),
        "sm_ddpo_boosted": (50, "SM-DDPO, boosted belief", "blue", "h"),
        "sm_ddpo": (51, "SM-DDPO for the costs", "blue", "8"),
    },
)
