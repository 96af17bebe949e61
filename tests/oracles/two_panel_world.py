"""A world small enough to be written out: three binary features, two costly panels, one label.

x1 is free, x2 and x3 are the panels 0 and 1. Every atom (x, y, R, R̂) is listed with its
probability, so that any expectation is a finite sum. Written from the definitions with loops and
dictionaries; shares nothing with the package.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

PANEL_COST = (0.84, 0.86)
ERROR_COST = {(0, 0): 0.0, (0, 1): 3.0, (1, 0): 5.0, (1, 1): 0.0}  # (true, predicted)
EVERYTHING = (1, 1)

Values = tuple[int, int, int]
Set = tuple[int, ...]  # 1 where a panel is in
SetLaw = Callable[[Values, Set], dict[Set, float]]  # (x, available) -> law of the acquired set
MissingLaw = Callable[[Values], float]  # x -> probability that one panel is observed


@dataclass(frozen=True)
class Atoms:
    probability: np.ndarray  # (m,)
    x: np.ndarray  # (m, 3)
    y: np.ndarray  # (m,)
    observed: np.ndarray  # (m, 2) bool
    acquired: np.ndarray  # (m, 2) bool
    cost: np.ndarray  # (m,) acquisition + misclassification

    @property
    def complete(self) -> np.ndarray:
        return np.asarray(self.observed.all(axis=1))

    def mean(self, value: np.ndarray) -> float:
        return float(sum(p * v for p, v in zip(self.probability, value, strict=True) if p > 0))


def bernoulli(p: float, outcome: int) -> float:
    return p if outcome else 1 - p


def environment_probability(x: Values, y: int) -> float:
    x1, x2, x3 = x
    label = (0.05, 0.3, 0.35, 0.6, 0.3, 0.65, 0.7, 0.95)[4 * x1 + 2 * x2 + x3]
    return (
        bernoulli(0.45, x1)
        * bernoulli((0.3, 0.65)[x1], x2)
        * bernoulli((0.25, 0.5, 0.55, 0.8)[2 * x1 + x2], x3)
        * bernoulli(label, y)
    )


def predicted_label(x: Values, acquired: Set) -> int:
    votes = [2 * x[0] - 1] + [2 * (2 * x[1 + j] - 1) for j in (0, 1) if acquired[j]]
    return int(sum(votes) > 0)


def total_cost(x: Values, y: int, acquired: Set) -> float:
    bought = sum(c for c, t in zip(PANEL_COST, acquired, strict=True) if t)
    return bought + ERROR_COST[y, predicted_label(x, acquired)]


def random_policy(p: float) -> SetLaw:
    """Takes each available panel independently with probability p."""

    def law(x: Values, available: Set) -> dict[Set, float]:
        out = {}
        for t in product((0, 1), repeat=2):
            if all(a or not w for a, w in zip(available, t, strict=True)):
                out[t] = float(
                    np.prod([bernoulli(p, w) for a, w in zip(available, t, strict=True) if a])
                )
        return out

    return law


def always_policy(x: Values, available: Set) -> dict[Set, float]:
    return {available: 1.0}


def threshold_policy(x: Values, available: Set) -> dict[Set, float]:
    """Takes panel 0 first; takes panel 1 only after having seen x2 = 1."""
    if not available[0]:
        return {(0, 0): 1.0}
    return {(1, int(x[1] == 1 and bool(available[1]))): 1.0}


def enumerate_atoms(policy: SetLaw, observed_x2: MissingLaw, observed_x3: MissingLaw) -> Atoms:
    """Joint law when blocked by the mask: R2 and R3 independent given x."""
    rows = []
    for values in product((0, 1), repeat=4):
        x, y = (values[0], values[1], values[2]), values[3]
        for mask in product((0, 1), repeat=2):
            p_mask = bernoulli(observed_x2(x), mask[0]) * bernoulli(observed_x3(x), mask[1])
            for t, p_set in policy(x, mask).items():
                p = environment_probability(x, y) * p_mask * p_set
                if p > 0:
                    rows.append((p, x, y, mask, t, total_cost(x, y, t)))
    p, x, y, mask, t, cost = (np.array(column) for column in zip(*rows, strict=True))
    return Atoms(p, x, y, mask.astype(bool), t.astype(bool), cost)


def truth(policy: SetLaw) -> float:
    """E[C | do(R = 1)]."""
    return sum(
        environment_probability((v[0], v[1], v[2]), v[3])
        * p
        * total_cost((v[0], v[1], v[2]), v[3], t)
        for v in product((0, 1), repeat=4)
        for t, p in policy((v[0], v[1], v[2]), EVERYTHING).items()
    )


def conditional_mean(
    atoms: Atoms, value: np.ndarray, given: list[tuple], where: np.ndarray
) -> np.ndarray:
    """E[value | key, where] for the key of each atom; NaN where the condition has no mass."""
    mass: dict[tuple, float] = {}
    total: dict[tuple, float] = {}
    for p, v, key, inside in zip(atoms.probability, value, given, where, strict=True):
        if inside:
            mass[key] = mass.get(key, 0.0) + p
            total[key] = total.get(key, 0.0) + p * v
    return np.array([total[k] / mass[k] if k in mass else np.nan for k in given])


def keys(atoms: Atoms, columns: tuple[int, ...], *, sets: bool, seen: bool) -> list[tuple]:
    """Conditioning key of each atom: x columns, and if asked for R̂ and the values it reveals."""
    out = []
    for x, t in zip(atoms.x, atoms.acquired, strict=True):
        key: tuple = tuple(int(x[c]) for c in columns)
        if sets:
            key += (tuple(bool(w) for w in t),)
        if seen:
            key += (tuple(int(x[1 + j]) if t[j] else None for j in (0, 1)),)
        out.append(key)
    return out
