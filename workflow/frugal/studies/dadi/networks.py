"""The networks of DADI for K learners in lock-step, and the policies that act by them.

A learner has two set encoders and three heads. Classifier and policy share one encoder, the
adversary has its own [dadi, fig. 1, app. C]. Encoders and class heads 0 … K − 1 are the
classifiers', K … 2K − 1 the adversaries'. Must not know rewards, schedules or data.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor

from frugal.acquire.reading import tilted_belief
from frugal.config.learners import DadiSettings
from frugal.core.episodes import Belief, Law, Panels, Traits, Values
from frugal.core.errors import DataError
from frugal.core.scaling import Scaling
from frugal.core.stored import Array, Stored
from frugal.learn.lockstep import FlatParameters, perceptron, perceptron_shapes
from frugal.studies.dadi.set_encoder import EncoderSteps, read_sets
from frugal.studies.dadi.token_memory import UnitTable, encoder_shapes, lay_out_tokens, remember

Named = Mapping[str, Tensor]
Weights = dict[str, Float32[np.ndarray, "..."]]
ENCODER, CLASS_HEAD, POLICY_HEAD = "encoder.", "class_head.", "policy_head."
_DIVERGED = (
    "a stored DADI agent gives values that are not numbers: its weights are too large; train it "
    "again"
)
SETS_AT_A_TIME = 4096  # of all learners together, so that activations stay in cache
_PAIRS = {
    ENCODER: ("label_encoder.", "adversary_encoder."),
    CLASS_HEAD: ("label_head.", "adversary_head."),
}


@dataclass(frozen=True)
class NetworkSizes:
    """Sizes of one learner's networks.

    Attributes:
        columns: encoded columns d.
        panels: panels that can be acquired, a; the policy has a + 1 values, the last for "stop".
        settings: widths, and whether the adversary reads the label.
    """

    columns: int
    panels: int
    settings: DadiSettings

    def stacked(self, learners: int) -> dict[str, tuple[int, ...]]:
        """Shapes of the parameters of K learners."""
        s = self.settings
        encoder = encoder_shapes(self.columns, s.memory_width, s.encoding_width)
        fan_in = s.encoding_width + s.adversary_reads_label
        class_head = perceptron_shapes(fan_in, s.head_width, 1)
        policy_head = perceptron_shapes(s.encoding_width, s.head_width, self.panels + 1)
        return {
            **{ENCODER + name: (2 * learners, *shape) for name, shape in encoder.items()},
            **{CLASS_HEAD + name: (2 * learners, *shape) for name, shape in class_head.items()},
            **{POLICY_HEAD + name: (learners, *shape) for name, shape in policy_head.items()},
        }


def first_parameters(sizes: NetworkSizes, generator: torch.Generator) -> FlatParameters:
    """A single learner: He's normal weights, zero biases, small outputs.

    A token has two entries that are not zero, whatever the number of columns, so the first layer's
    weights are scaled for two inputs.
    """
    stack = FlatParameters(sizes.stacked(1), traced=True)
    with torch.no_grad():
        for name, leaf in stack.views.items():
            part = name.rpartition(".")[2]
            if part.endswith("bias"):
                continue
            spread = {"value": 1.0, "position": 1.0, "cell": leaf.shape[1] ** -0.5}
            scale = spread.get(part, (2 / leaf.shape[1]) ** 0.5)
            if part == "third" and not name.startswith(ENCODER):
                scale *= 0.1
            leaf.normal_(0.0, scale, generator=generator)
    return stack


def repeated(stack: FlatParameters, sizes: NetworkSizes, learners: int) -> FlatParameters:
    """K copies of a single learner."""
    copies = FlatParameters(sizes.stacked(learners), traced=True)
    with torch.no_grad():
        for name, leaf in copies.views.items():
            leaf.copy_(stack.views[name].repeat_interleave(learners, dim=0))
    return copies


def policy_parameters(named: Named) -> dict[str, Tensor]:
    """The policies' networks: encoders of the classifiers and policy heads, without gradient."""
    learners = len(named[POLICY_HEAD + "first"])
    return {
        name: leaf.detach()[:learners]
        for name, leaf in named.items()
        if name.startswith((ENCODER, POLICY_HEAD))
    }


def class_logits(
    named: Named, encoding: Float[Tensor, "g m h"], label: Float[Tensor, "k m"] | None
) -> Float[Tensor, "g m"]:
    """Log-odds of the label (first K rows) and of the sensitive attribute (last K).

    Args:
        named: parameters of K learners; g = 2 K.
        encoding: of m sets in the 2 K encoders.
        label: read by the adversary if the objective is equalised odds, else None.

    Returns:
        Log-odds of class 1.
    """
    if label is not None:
        label_input = torch.cat((torch.zeros_like(label), label)).unsqueeze(2)
        encoding = torch.cat((encoding, label_input), dim=2)
    return perceptron(named, CLASS_HEAD, encoding).squeeze(2)


def decision_values(named: Named, encoding: Float[Tensor, "k m h"]) -> Float[Tensor, "k m b"]:
    """Q of every decision, "stop" last; b = a + 1."""
    return perceptron(named, POLICY_HEAD, encoding)


def named_weights(named: Named) -> Weights:
    """Weights of K learners by network, learners on the leading axis."""
    learners = len(named[POLICY_HEAD + "first"])
    weights: Weights = {}
    for name, leaf in named.items():
        network, _, part = name.rpartition(".")
        array = leaf.detach().numpy()
        if network + "." in _PAIRS:
            for at, prefix in enumerate(_PAIRS[network + "."]):
                weights[prefix + part] = array[at * learners : (at + 1) * learners].copy()
        else:
            weights[name] = array.copy()
    return weights


def stacked_weights(weights: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """Inverse of `named_weights`, without gradient."""
    named: dict[str, Tensor] = {}
    for name, array in weights.items():
        network, _, part = name.rpartition(".")
        pair = next((new for new, old in _PAIRS.items() if network + "." == old[0]), None)
        if pair is not None:
            other = weights[_PAIRS[pair][1] + part]
            named[pair + part] = torch.from_numpy(np.concatenate((array, other)))
        elif network + "." == POLICY_HEAD:
            named[name] = torch.from_numpy(np.asarray(array))
    return named


def values_at_sets(
    named: Named,
    units: UnitTable,
    row: Int[Tensor, "k n"],
    acquired: Float[Tensor, "k n a1"],
    *,
    processing_steps: int,
) -> Float[Tensor, "k n a1"]:
    """Q of every decision for the given units and sets."""
    policy = policy_parameters(named)
    with torch.no_grad():
        memory = remember(policy, ENCODER, units.tokens(row))
        member = units.members(units.holdings(row), acquired)
        reading = read_sets(
            policy, ENCODER, memory, member, processing_steps=processing_steps, steps=EncoderSteps()
        )
        return decision_values(policy, reading.encoding)


def logits_at_sets(
    named: Named,
    units: UnitTable,
    row: Int[Tensor, "k n"],
    acquired: Float[Tensor, "k n a1"],
    label: Float[Tensor, "k n"] | None,
    *,
    processing_steps: int,
) -> tuple[Float[Tensor, "k n"], Float[Tensor, "k n"]]:
    """Log-odds of label and sensitive attribute at the given sets, by classifier and adversary."""
    with torch.no_grad():
        memory = remember(named, ENCODER, units.tokens(row))
        member = units.members(units.holdings(row), acquired)
        reading = read_sets(
            named, ENCODER, memory, member, processing_steps=processing_steps, steps=EncoderSteps()
        )
        logits = class_logits(named, reading.encoding, label)
    return logits[: len(row)], logits[len(row) :]


class DadiPolicies:
    """K trained learners: each takes the decision of its largest Q.

    Args:
        weights: of `fit_dadi`; learners on the leading axis.
        settings: that they were trained with.
        panel_of_column: action that reveals each column, or −1 if it is known from the start. (d,)
        scaling: of values before the networks read them; None: they come in that scale.
        exploration: probability of a decision drawn evenly from all that are allowed.
        threshold: of each learner, least probability of class 1 that it decides as 1; None: the
            likelier class. (K,)

    Raises:
        DataError: the weights are not those of such learners; the message names the place.
    """

    def __init__(
        self,
        weights: Mapping[str, np.ndarray],
        settings: DadiSettings,
        panel_of_column: np.ndarray,
        *,
        scaling: Scaling | None,
        exploration: float = 0.0,
        threshold: Float[np.ndarray, " K"] | None = None,
    ) -> None:
        torch.set_num_threads(1)  # the same sums whatever the number of cores
        self.panels = int(panel_of_column.max()) + 1
        sizes = NetworkSizes(len(panel_of_column), self.panels, settings)
        expected = {}
        for name, (_, *shape) in sizes.stacked(1).items():
            network, _, part = name.rpartition(".")
            for prefix in _PAIRS.get(network + ".", (network + ".",)):
                expected[prefix + part] = Array("float32", ("K", *shape))
        self.members = Stored("DADI agent", weights).require(expected)["K"]
        self.named = stacked_weights(weights)
        self._settings, self.processing_steps = settings, settings.processing_steps
        self._panel, self.scaling, self.exploration = panel_of_column, scaling, exploration
        self._threshold = threshold

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(
            consistent=self.exploration == 0,
            compares="value (nats)",
            weigh=self.weigh,
            believe=self.believe,
        )

    def action_probabilities(self, values: Values, acquired: Panels, available: Panels) -> Law:
        """Probability of each panel next, and of "stop" in the last column. (K, m, a + 1)

        Raises:
            DataError: a stored agent's values are not numbers.
        """
        value = self.weigh(values, acquired, available)
        allowed, best = value > -np.inf, value.argmax(axis=2)
        explored = self.exploration * allowed / allowed.sum(axis=2, keepdims=True)
        return explored + (1 - self.exploration) * np.eye(self.panels + 1)[best]

    def weigh(
        self, values: Values, acquired: Panels, available: Panels
    ) -> Float32[np.ndarray, "K m b"]:
        """Q of every allowed decision, −∞ for the others. (K, m, a + 1)

        Raises:
            DataError: a stored agent's values are not numbers.
        """
        allowed = np.pad(available & ~acquired, ((0, 0), (0, 0), (0, 1)), constant_values=True)
        value = self.state_values(values, acquired)
        if not np.isfinite(value).all():
            raise DataError(_DIVERGED)
        return np.where(allowed, value, np.float32(-np.inf))

    def predict(self, values: Values, acquired: Panels) -> Belief:
        """Class probabilities, tilted so that one half is the threshold. (K, m, 2)"""
        probability = self.believe(values, acquired)
        if self._threshold is None:
            return probability
        return tilted_belief(probability, self._threshold[:, None])

    def believe(self, values: Values, acquired: Panels) -> Belief:
        """Class probabilities by the classifier of each learner. (K, m, 2)"""
        untold = np.zeros(values.shape[:2], dtype=np.int64)  # only the adversary would read it
        ill, _ = self._predictions(values, acquired, untold)
        return np.stack([1.0 - ill, ill], axis=2).astype(np.float64)

    def state_values(self, values: Values, acquired: Panels) -> Float32[np.ndarray, "K m b"]:
        """Q of every decision of each learner in its states; "stop" last. (K, m, a + 1)"""
        units, row, sets = self._states(values, acquired)
        parts = [
            values_at_sets(
                self.named, units, row[:, at], sets[:, at], processing_steps=self.processing_steps
            )
            for at in self._parts(values.shape[1])
        ]
        return torch.cat(parts, dim=1).numpy()

    def predict_from_sets(
        self,
        values: Float[np.ndarray, "n d"],
        acquired: Bool[np.ndarray, "*k n a"],
        *,
        label: Int[np.ndarray, " n"] | None,
    ) -> tuple[Float32[np.ndarray, "k n"], Float32[np.ndarray, "k n"]]:
        """P(y = 1) by the classifiers and P(b = 1) by the adversaries, at given sets.

        Args:
            values: encoded features. (n, d)
            acquired: panels of each unit's set, the same for all learners or one for each.
                (n, a) or (k, n, a)
            label: y, which only the adversary of equalised odds reads; else it may be None. (n,)

        Returns:
            Probabilities of all learners.

        Raises:
            DataError: the label is needed and not given.
        """
        if self._settings.adversary_reads_label and label is None:
            raise DataError("the adversary of equalised odds reads the label; it is not given")
        label_read = np.zeros(len(values), dtype=np.int64) if label is None else label
        every = (self.members, *values.shape)
        sets = np.broadcast_to(acquired, (self.members, *acquired.shape[-2:]))
        return self._predictions(
            np.broadcast_to(values, every), sets, np.broadcast_to(label_read, every[:2])
        )

    def _predictions(
        self, values: np.ndarray, acquired: np.ndarray, label: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of label and sensitive attribute. (K, m) each"""
        units, row, sets = self._states(values, acquired)
        labels = torch.from_numpy(label.astype(np.float32))
        parts = []
        for at in self._parts(values.shape[1]):
            label_input = labels[:, at] if self._settings.adversary_reads_label else None
            logits = logits_at_sets(
                self.named,
                units,
                row[:, at],
                sets[:, at],
                label_input,
                processing_steps=self.processing_steps,
            )
            if bool(logits[0].isnan().any() | logits[1].isnan().any()):
                raise DataError(_DIVERGED)
            parts.append((torch.sigmoid(logits[0]), torch.sigmoid(logits[1])))
        of_label, of_sensitive = (torch.cat(part, dim=1) for part in zip(*parts, strict=True))
        return of_label.numpy(), of_sensitive.numpy()

    def _states(self, values: np.ndarray, acquired: np.ndarray) -> tuple[UnitTable, Tensor, Tensor]:
        """Tokens of all states, which of them are each learner's (K, m), and its sets."""
        scaled = values if self.scaling is None else self.scaling.standardise(values)
        flat = scaled.reshape(-1, values.shape[2]).astype(np.float32)
        units = UnitTable(lay_out_tokens(flat, self._panel), self.panels)
        row = torch.arange(len(flat)).view(values.shape[:2])
        sets = torch.from_numpy(acquired.astype(np.float32))
        return units, row, torch.nn.functional.pad(sets, (0, 1), value=1.0)

    def _parts(self, n: int) -> tuple[Tensor, ...]:
        return torch.arange(n).split(max(1, SETS_AT_A_TIME // self.members))
