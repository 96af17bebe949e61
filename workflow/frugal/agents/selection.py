"""Plain ways to choose panels: at random, or the same for everyone; and thresholds of diagnoses.

The baselines RS and FS of [diagnosis, sec. 6.2], whose other modules are those of SM-DDPO: the same
completed rows, and a classifier fitted on randomly masked states. They know no rewards.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from frugal.agents.state_classifier import StateClassifier
from frugal.contracts import StateEncoder

SMALLEST_BELIEF = 1e-9  # keeps odds finite
Criterion = Literal["f1", "am"]


def tilted_belief(
    belief: Float[np.ndarray, "*m 2"], threshold: Float[np.ndarray, "..."] | float
) -> Float[np.ndarray, "*m 2"]:
    """Beliefs with odds divided by those of a threshold τ, so that p = τ becomes one half.

        p′ / (1 − p′) = p / (1 − p) · (1 − τ) / τ

    The most probable diagnosis is then 1 exactly if p ≥ τ (up to ties), and the order of units,
    hence the AUROC, is kept.
    """
    ill = np.clip(belief[..., 1], SMALLEST_BELIEF, 1 - SMALLEST_BELIEF)
    odds = ill / (1 - ill) * ((1 - threshold) / threshold)
    return np.stack([1 / (1 + odds), odds / (1 + odds)], axis=-1)


def tuned_threshold(
    label: Int[np.ndarray, " n"], probability: Float[np.ndarray, " n"], criterion: Criterion
) -> float:
    """Threshold of probability with the best F1, or AM, on some units; in (0, 1).

    It lies halfway between neighbouring probabilities, and among equals is the lowest.

    Args:
        label: 1 if ill. (n,)
        probability: of being ill. (n,)
        criterion: "f1" = 2TP/(2TP + FP + FN) or "am" = (TPR + TNR)/2.
    """
    order = np.argsort(probability, kind="stable")
    p, ill = probability[order], label[order] == 1
    missed = np.concatenate([[0], ill.cumsum()])  # ill units below the i-th cut
    cleared = np.concatenate([[0], (~ill).cumsum()])
    positives, negatives = max(int(ill.sum()), 1), max(int((~ill).sum()), 1)
    hit, false = ill.sum() - missed, (~ill).sum() - cleared
    score = {
        "f1": 2 * hit / np.maximum(hit + false + ill.sum(), 1),
        "am": 0.5 * (hit / positives + cleared / negatives),
    }[criterion]
    cut = np.concatenate([[0.0], p]) / 2 + np.concatenate([p, [1.0]]) / 2
    possible = np.concatenate([[True], p[1:] > p[:-1], [True]])
    best = np.flatnonzero(possible)[score[possible].argmax()]
    return float(np.clip(cut[best], SMALLEST_BELIEF, 1 - SMALLEST_BELIEF))


def random_plan(
    available: Bool[np.ndarray, "n a"], rng: np.random.Generator
) -> Float32[np.ndarray, "n a"]:
    """A uniformly random order of each unit's panels, those it can have first. (n, a)

    Entry j of a unit is the place of panel j in its order, from 0.
    """
    draw = rng.random(available.shape) + ~available
    return draw.argsort(axis=1).argsort(axis=1).astype(np.float32)


def fixed_plan(n: int, order: Int[np.ndarray, " a"]) -> Float32[np.ndarray, "n a"]:
    """The same order of panels for n units: places of the panels in it. (n, a)"""
    return np.tile(np.argsort(order).astype(np.float32), (n, 1))


def without_nested(
    plan: Float32[np.ndarray, "n a"],
    available: Bool[np.ndarray, "n a"],
    provides: Bool[np.ndarray, "a d"],
) -> Float32[np.ndarray, "n a"]:
    """Plans in which, of two panels one of which is inside the other, only the first is ordered.

    A panel that the unit cannot have drops no other. Later panels move up. (n, a)

    Args:
        plan: places of panels, from `random_plan` or `fixed_plan`. (n, a)
        available: panels that a unit can have. (n, a)
        provides: columns that each panel adds to the free ones; at least one. (a, d)

    Returns:
        The plan with new places; infinite for what is dropped. (n, a)
    """
    inside = (provides[:, None] <= provides[None]).all(axis=2)
    nested = (inside | inside.T) & ~np.eye(len(provides), dtype=bool)
    ordered, dropped = np.zeros_like(available), np.zeros_like(available)
    units = np.arange(len(plan))
    for panel in plan.argsort(axis=1).T:
        twice = (ordered & nested[panel]).any(axis=1)
        dropped[units, panel] = twice
        ordered[units, panel] = available[units, panel] & ~twice
    place = np.where(dropped, np.inf, plan).argsort(axis=1).argsort(axis=1)
    return np.where(dropped, np.inf, place).astype(np.float32)


def panels_by_use(acquired: Bool[np.ndarray, "*n a"]) -> Int[np.ndarray, " a"]:
    """Panels from the most to the least acquired one, equals by index. (a,)

    FS takes the first two of what the policies under comparison acquired.
    """
    uses = acquired.reshape(-1, acquired.shape[-1]).sum(axis=0)
    return np.argsort(-uses, kind="stable")


@dataclass(frozen=True, eq=False)
class PlannedStates:
    """[completed row, panel bits, places of panels in the unit's order]: what a plan observes.

    Attributes:
        completed: the row as completed from what the state shows.
        plan: of each unit, from `random_plan` or `fixed_plan`. (n, a)
    """

    completed: StateEncoder
    plan: Float32[np.ndarray, "n a"]

    @property
    def width(self) -> int:
        """Entries of an observation, d + 2a."""
        return self.completed.width + 2 * self.plan.shape[1]

    def encode(
        self, row: Int[np.ndarray, " m"], acquired: Bool[np.ndarray, "m a"]
    ) -> Float32[np.ndarray, "m w"]:
        """Observations of m states. (m, d + 2a)"""
        seen = self.completed.encode(row, acquired)
        return np.concatenate([seen, acquired.astype(np.float32), self.plan[row]], axis=1)


@dataclass(frozen=True, eq=False)
class PlannedPolicies:
    """K policies that follow the units' orders for a number of panels each, then diagnose.

    A panel of the plan that a unit cannot have is left out.

    Attributes:
        classifier: gives the diagnosis.
        panels: number of panels a.
        length: panels of the plan that each policy takes. (K,)
        threshold: of the probability of illness, of each policy. (K,)
    """

    classifier: StateClassifier
    panels: int
    length: Int[np.ndarray, " K"]
    threshold: Float[np.ndarray, " K"]

    def act(
        self, observation: Float32[np.ndarray, "K m w"], mask: Bool[np.ndarray, "K m actions"]
    ) -> Float[np.ndarray, "K m actions"]:
        """1 for the next panel of the plan, or the tilted beliefs; for `roll_out_learners`."""
        a = self.panels
        place = observation[..., -a:]
        wanted = (place < self.length[:, None, None]) & mask[..., :a]
        next_panel = np.where(wanted, place, np.inf).argmin(axis=2)
        seen = observation[..., : -2 * a]
        belief = self.classifier.belief(seen.reshape(-1, seen.shape[2])).reshape(*mask.shape[:2], 2)
        return panel_or_diagnosis(
            next_panel, np.any(wanted, axis=2), tilted_belief(belief, self.threshold[:, None]), a
        )


def panel_or_diagnosis(
    panel: Int[np.ndarray, "*m"],
    goes_on: Bool[np.ndarray, "*m"],
    diagnosis: Float[np.ndarray, "*m k"],
    a: int,
) -> Float[np.ndarray, "*m actions"]:
    """Action probabilities: 1 for a panel where the state goes on, else those of diagnoses."""
    law = np.concatenate([np.zeros((*panel.shape, a)), diagnosis], axis=-1)
    law[goes_on] = 0.0
    law[(*np.nonzero(goes_on), panel[goes_on])] = 1.0
    return law
