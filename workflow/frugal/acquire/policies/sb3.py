"""The kind `sb3`: an algorithm of stable-baselines3 or sb3-contrib, trained on blocked records.

Rewards are those of the kind `dqn`. The policy is a stored network that reads standardised values,
known bits and panel bits; it needs neither stable-baselines3 nor torch to act.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from jaxtyping import Float, Float32

from frugal.acquire.acquisition import BatchedAcquisition, StopReward
from frugal.acquire.encoders import ValuesEncoder, observe_values
from frugal.acquire.kinds import AgentKind, Ground, Learned, Saved, trained
from frugal.acquire.policies.dqn import scaled_loss
from frugal.acquire.reading import with_stop
from frugal.core.episodes import Belief, Law, Panels, RowPanels, RowValues, Traits, Values
from frugal.core.errors import ConfigError, DataError
from frugal.core.layout import Layout
from frugal.core.scaling import Scaling
from frugal.core.stored import Array, Stored

ACTIVATIONS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0.0),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
    "silu": lambda x: x * (0.5 + 0.5 * np.tanh(0.5 * x)),  # x / (1 + e⁻ˣ), without overflow
}  # a stored policy names its own by its place here: add at the end
TRAINED_BY = ("algorithm", "policy", "steps", "arguments")


@dataclass(frozen=True, eq=False)
class Sb3Policy:
    """Policy of one trained network. Shapes: d columns, a panels.

    The network gives a number for each panel and each way to end: "stop", or a verdict for each
    class. Of an actor they are logits, and masked actions are left out before they become
    probabilities, whether or not the actor learnt with masks. Of a learner of values they are
    values. Numbers are computed in float64, so a state gets the same answer in batches of any
    size.

    Attributes:
        weights: of layer i, "i.weight" (in, out) and "i.bias" (out,).
        activation: between layers, one of `ACTIVATIONS`.
        stochastic: whether the numbers are logits of an actor.
        greedy: True takes the action of the largest number, the lowest of equals.
        centre: subtracted from values before they are read. (d,)
        scale: then divides them. (d,)
        column_bits: whether the network reads the known bits of columns.
    """

    weights: Mapping[str, Float32[np.ndarray, "..."]]
    activation: str
    stochastic: bool
    greedy: bool
    centre: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]
    column_bits: bool

    def __post_init__(self) -> None:
        require_law(stochastic=self.stochastic, greedy=self.greedy)

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(consistent=self.greedy, compares="score of the network", weigh=self.weigh)

    @property
    def members(self) -> int:
        """1."""
        return 1

    @property
    def panels(self) -> int:
        """Number of panels, a."""
        return len(self._layers[0][0]) - len(self.centre) * (1 + self.column_bits)

    @property
    def terminals(self) -> int:
        """Ways to end: 1, or one for each class."""
        return len(self._layers[-1][1]) - self.panels

    def action_probabilities(self, values: Values, acquired: Panels, available: Panels) -> Law:
        """Probability of each panel next; "stop" has the sum of the ways to end. (1, m, a + 1)"""
        a = self.panels
        score = self._open_scores(values[0], acquired[0], available[0] & ~acquired[0])
        if self.greedy:
            return np.eye(a + 1)[np.minimum(score.argmax(axis=1), a)][None]
        action_probability = _softmax(score)
        return np.hstack(
            [action_probability[:, :a], action_probability[:, a:].sum(axis=1, keepdims=True)]
        )[None]

    def weigh(self, values: Values, acquired: Panels, available: Panels) -> Law:
        """Score of each open panel, then of the better way to end. (1, m, a + 1)"""
        score = self._open_scores(values[0], acquired[0], available[0] & ~acquired[0])
        return with_stop(score[:, : self.panels], score[:, self.panels :].max(axis=1))[None]

    def predict(self, values: Values, acquired: Panels) -> Belief | None:
        """Distribution of its verdicts if no panel were open; None if it only stops. (1, m, k)"""
        if self.terminals == 1:
            return None
        score = self._open_scores(values[0], acquired[0], np.zeros_like(acquired[0]))
        ends = score[:, self.panels :]
        if self.stochastic:
            return _softmax(ends)[None]
        return np.eye(self.terminals)[ends.argmax(axis=1)][None]

    def scores(self, observation: Float32[np.ndarray, "n w"]) -> Float[np.ndarray, "n A"]:
        """Output of the network for every action. (n, a + terminals)"""
        *hidden, head = self._layers
        top = observation.astype(np.float64)
        for weight, bias in hidden:
            top = ACTIVATIONS[self.activation](top @ weight + bias)
        return top @ head[0] + head[1]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything but `greedy`, which the config says, as named arrays."""
        bits = {
            "activation": [*ACTIVATIONS].index(self.activation),
            "stochastic": self.stochastic,
            "column_bits": self.column_bits,
        }
        return (
            dict(self.weights)
            | {"centre": self.centre, "scale": self.scale}
            | {name: np.array([bit], dtype=np.uint8) for name, bit in bits.items()}
        )

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray], header: Mapping[str, Any]) -> "Sb3Policy":
        """The policy that `to_arrays` wrote.

        Args:
            arrays: by name.
            header: with `greedy`.

        Raises:
            DataError: the arrays are no such policy; the message names the place.
            ConfigError: `greedy` is no truth value, or is not allowed for it.
        """
        greedy = header.get("greedy")
        if not isinstance(greedy, bool):
            raise ConfigError(
                f"an agent of kind 'sb3' has greedy {greedy!r}; allowed are true and false"
            )
        layers = _require_policy(arrays)
        return Sb3Policy(
            {name: arrays[name] for name in layers},
            [*ACTIVATIONS][int(arrays["activation"][0])],
            bool(arrays["stochastic"][0]),
            greedy,
            arrays["centre"],
            arrays["scale"],
            bool(arrays["column_bits"][0]),
        )

    def _open_scores(
        self, values: RowValues, acquired: RowPanels, open_panels: RowPanels
    ) -> Float[np.ndarray, "m A"]:
        """Scores, −∞ for panels that are not open. (m, a + terminals)"""
        visible = Scaling(self.centre, self.scale).standardise(values)
        observation = observe_values(visible, acquired, column_bits=self.column_bits)
        score = self.scores(observation)
        if not np.isfinite(score).all():
            raise DataError(
                "a stored sb3 policy gives scores that are not numbers: its weights or the "
                "values are too large"
            )
        score[:, : self.panels][~open_panels] = -np.inf
        return score

    @cached_property
    def _layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        pairs = (
            (self.weights[f"{i}.weight"], self.weights[f"{i}.bias"])
            for i in range(len(self.weights) // 2)
        )
        return [(weight.astype(np.float64), bias.astype(np.float64)) for weight, bias in pairs]


def require_law(*, stochastic: bool, greedy: bool) -> None:
    """Refuse to draw actions where the learner has values alone.

    Raises:
        ConfigError: it has, and `greedy` is False.
    """
    if not stochastic and not greedy:
        raise ConfigError(
            "an agent of kind 'sb3' has greedy false; its algorithm learns values and no "
            "probabilities, so only true is allowed"
        )


def _softmax(score: Float[np.ndarray, "m A"]) -> Float[np.ndarray, "m A"]:
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    return weight / weight.sum(axis=1, keepdims=True)


def _require_policy(arrays: Mapping[str, np.ndarray]) -> list[str]:
    """Layers that fit one another, columns and panels; their names."""
    stored = Stored("sb3 policy", arrays)
    layers = max(next(i for i in count() if f"{i}.weight" not in arrays), 1)
    sizes = ["inputs", *(f"layer {i}" for i in range(layers - 1)), "actions"]
    names = {}
    for i in range(layers):
        names[f"{i}.weight"] = Array("float32", (sizes[i], sizes[i + 1]))
        names[f"{i}.bias"] = Array("float32", (sizes[i + 1],))
    size = stored.require(
        names
        | {
            "centre": Array("float64", ("columns",)),
            "scale": Array("float64", ("columns",), above=0),
            "column_bits": Array("uint8", (1,), low=0, high=1),
            "stochastic": Array("uint8", (1,), low=0, high=1),
            "activation": Array("uint8", (1,), low=0, high=len(ACTIVATIONS) - 1),
        }
    )
    value_inputs = size["columns"] * (1 + int(arrays["column_bits"][0]))
    panels = size["inputs"] - value_inputs
    if panels < 1 or size["actions"] <= panels:
        raise stored.refusal(
            f"reads {size['inputs']} inputs and has {size['actions']} actions; allowed are "
            f"{value_inputs} inputs for {size['columns']} columns and one for each panel, and an "
            "action for each panel and each way to end"
        )
    return list(names)


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Train the algorithm that the settings name on the records, blocked.

    Raises:
        ConfigError: the algorithm, its policy or an argument is not allowed.
    """
    from frugal.acquire.train.sb3 import fit_sb3, require_sb3  # stable-baselines3 is slow to import

    how = {name: settings[name] for name in TRAINED_BY}
    require_law(stochastic=require_sb3(**how), greedy=settings["greedy"])
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
    result = fit_sb3(environment, **how, rng=ground.streams.generator("learner"))
    policy = Sb3Policy(
        result.layers,
        result.activation,
        result.stochastic,
        settings["greedy"],
        scaling.centre,
        scaling.scale,
        encoder.column_bits,
    )
    curve = result.curve.assign(mean_return=result.curve["mean_return"] * unit)
    return Learned(policy.to_arrays(), curve)


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> Sb3Policy:
    """The trained network."""
    stored = trained(stored, "sb3")
    policy = Sb3Policy.from_arrays(stored, settings)
    shape = (len(policy.centre), policy.panels, policy.terminals)
    expected = (len(layout.columns), len(layout.actions), 1)
    if shape != expected:
        raise DataError(
            f"the stored sb3 policy has {shape[0]} columns, {shape[1]} panels and {shape[2]} ways "
            f"to end; its header has {', '.join(map(str, expected))}"
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
        "arguments": ("object", "of the class; keys left out have their own defaults", {}),
        "episodes": ("Count", "run side by side", 32),
        "greedy": ("bool", "true: the likeliest or best action; false: drawn by the actor", False),
    },
    doc="an algorithm of stable-baselines3 or sb3-contrib, by name",
    looks={"sb3": (92, "stable-baselines3", "purple", "H")},
)
