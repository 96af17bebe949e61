"""The random agent of the acquisition study: each costly panel with one fixed probability.

Holds a policy of [afape, sec. 4.1]. It must not know feature values, costs or labels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from frugal.acquire.kinds import AgentKind, PolicySet, Saved, TrainingData
from frugal.acquire.reading import SingleWithoutVerdict
from frugal.core.episodes import Law, Panels, Traits, Values
from frugal.core.errors import ConfigError
from frugal.core.layout import Layout


@dataclass(frozen=True)
class RandomPolicy(SingleWithoutVerdict):
    """Acquires each available panel independently with one probability, in uniformly random order.

    As a sequential policy, with m panels available and k of them acquired,

        π(stop | k) = P(B = k) / P(B ≥ k),   B ~ Binomial(m, p),

    and otherwise each of the m − k remaining panels is next with equal probability. Proof: draw a
    set by m fair draws and reveal it in uniformly random order. Any one ordered history of k panels
    has probability (m − k)!/m! given B = b, the same for every b ≥ k: it carries no information but
    B ≥ k, and by symmetry the next panel is uniform among the rest. So R̂ ~ independent fair draws
    exactly.

    Attributes:
        probability: p, in [0, 1].
    """

    probability: float

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise ConfigError(
                f"the random agent acquires with probability {self.probability}; "
                "a probability lies between 0 and 1"
            )

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(
            reads_values=False,
            terminal_probability=self.terminal_probability,
            mean_terminal_probability=self.mean_terminal_probability,
        )

    def action_probabilities(self, values: Values, acquired: Panels, available: Panels) -> Law:
        """Probability of each panel next, and of "stop" in the last column. (1, m, a + 1)"""
        a = acquired.shape[2]
        remaining = available & ~acquired
        m, left = available.sum(axis=2), remaining.sum(axis=2)
        stop, go_on = _stop_and_go_on(a, self.probability)
        result = np.empty((*left.shape, a + 1))
        result[..., :-1] = remaining * (go_on[m, left] / np.maximum(left, 1))[..., None]
        result[..., -1] = stop[m, left]
        return result

    def terminal_probability(
        self, available: Bool[np.ndarray, "n a"], target: Bool[np.ndarray, "n a"]
    ) -> Float[np.ndarray, " n"]:
        """Probability of ending with exactly the target: p^k (1 − p)^(m − k), 0 outside R. (n,)"""
        m, k = available.sum(axis=1), target.sum(axis=1)
        probability = self.probability**k * (1 - self.probability) ** (m - np.minimum(k, m))
        return np.where((target & ~available).any(axis=1), 0.0, probability)

    def mean_terminal_probability(
        self,
        target: Bool[np.ndarray, "n a"],
        needed: Bool[np.ndarray, "n a"],
        present: Float[np.ndarray, "n a"],
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Mean of `terminal_probability` over patterns with the needed panels, and its largest.

        Other panels j are there with probability q_j, each by itself:

            E[p^k (1 − p)^(m − k)] = p^k (1 − p)^(needed − k) Π_j (1 − p q_j)

        Args:
            target: the set that it ends with; it is needed. (n, a)
            needed: panels that are there. (n, a)
            present: q_j; not read where a panel is needed. (n, a)
        """
        k, n_needed = target.sum(axis=1), needed.sum(axis=1)
        largest = self.probability**k * (1 - self.probability) ** (n_needed - k)
        others = np.where(needed, 1.0, 1 - self.probability * present).prod(axis=1)
        return largest * others, largest


def _stop_and_go_on(a: int, p: float) -> tuple[Float[np.ndarray, "b b"], Float[np.ndarray, "b b"]]:
    """P(B = k | B ≥ k) and P(B > k | B ≥ k) for B ~ Binomial(m, p), as tables over m and m − k.

    With E(k) = P(B > k)/P(B = k) the first is 1/(1 + E), the second 1/(1 + 1/E), and

        E(k) = (m − k)/(k + 1) · p/(1 − p) · (1 + E(k + 1)),   E(m) = 0:

    no difference of near-equal numbers for any p; infinite E (p = 1) gives exactly 0 and 1.

    Returns:
        Two tables, rows m = 0..a, columns m − k = 0..a; columns above m are not used.
    """
    odds = np.inf if p == 1 else p / (1 - p)
    m = np.arange(a + 1)
    more = np.zeros((a + 1, a + 1))
    with np.errstate(over="ignore", divide="ignore"):
        for left in range(1, a + 1):
            ratio = left / np.maximum(m - left + 1, 1)
            more[:, left] = ratio * odds * (1 + more[:, left - 1])
        return 1 / (1 + more), 1 / (1 + 1 / more)


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> RandomPolicy:
    """The probability of the settings.

    Raises:
        ConfigError: it is no number.
    """
    value = settings["probability"]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"the probability of a random agent is {value!r}; it must be a number")
    return RandomPolicy(float(value))


def _several(data: TrainingData, name: str, *, lengths: list[int]) -> PolicySet:
    """Panels drawn for each unit (RS)."""
    from frugal.acquire.train.state_classifier import selected  # torch

    return selected(data, None, lengths)


RANDOM = AgentKind(
    name="random",
    build=build,
    fit=None,
    settings={"probability": ("Probability", "of acquiring each panel")},
    doc="each available panel with one probability",
    looks={"random": (150, "random selection", "grey", "X")},
    several=_several,
    several_settings={
        "lengths": ("Counts", "panels of each solution, drawn for each unit", [1, 2])
    },
)
