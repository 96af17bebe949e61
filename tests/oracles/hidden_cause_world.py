"""A world with a hidden cause, small enough that every atom is a number of equal rows.

x0 is always known, the panels 1 and 2 tell x1 and x2. A hidden u moves x1, the label and whether
panels are recorded, so that the fitted law, which knows x0 alone, is wrong for every unit and
right on average. Written from the definitions; shares nothing with the package.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

PRICES = (0.6, 0.9)
MISSED, ALARM = 5.0, 2.0
POLICIES = ("never", "always", "reads", "second")
RECORDED = {  # (x0, u) -> quarters of rows that record panel 1, and panel 2
    (0, 0): (2, 3), (0, 1): (3, 1), (1, 0): (1, 2), (1, 1): (2, 3),
}  # fmt: skip


@dataclass(frozen=True)
class Rows:
    """One policy on all rows: truth, known Γ, and what weights are made of."""

    truth: float
    gamma: float
    cost: np.ndarray
    weight: np.ndarray
    chance: np.ndarray
    needed: np.ndarray
    known: np.ndarray


def rows(policy: str) -> Rows:
    """Every atom, as often as it is probable."""
    truth, found = [], []
    for x0, u, x1, x2, y in product((0, 1), repeat=5):
        times = _quarters(x1, 1 + 2 * u) * _quarters(x2, 2) * _quarters(y, 1 + x1 + u)
        needed = _needed(policy, x0, x1)
        cost = _cost(needed, x0, x1, y)
        truth += [cost] * times
        for r in product((0, 1), repeat=2):
            q1, q2 = RECORDED[x0, u]
            many = times * _quarters(r[0], q1) * _quarters(r[1], q2)
            holds = all(a <= b for a, b in zip(needed, r, strict=True))
            chance = _chance(needed, x0)
            weight = 1 / chance if holds else 0.0
            row = (cost if holds else np.nan, weight, chance, *needed, 2 * x0 + y)
            found += [row] * many
    table = np.array(found)
    gamma = max(_odds_ratio(needed, x0, u) for needed, x0, u in product(
        product((0, 1), repeat=2), (0, 1), (0, 1)
    ))  # fmt: skip
    return Rows(
        float(np.mean(truth)), gamma, table[:, 0], table[:, 1], table[:, 2],
        table[:, 3:5].astype(bool), table[:, 5].astype(int),
    )  # fmt: skip


def _quarters(value: int, ones: int) -> int:
    return ones if value else 4 - ones


def _needed(policy: str, x0: int, x1: int) -> tuple[int, int]:
    return {
        "never": (0, 0), "always": (1, 1), "reads": (1, x1), "second": (0, 1 - x0),
    }[policy]  # fmt: skip


def _cost(needed: tuple[int, int], x0: int, x1: int, y: int) -> float:
    guess = x1 if needed[0] else x0
    return sum(p for p, t in zip(PRICES, needed, strict=True) if t) + MISSED * (guess < y) + ALARM * (guess > y)


def _given(needed: tuple[int, int], x0: int, u: int) -> float:
    """Probability that a record holds the set, the hidden cause known."""
    q1, q2 = RECORDED[x0, u]
    return (q1 / 4) ** needed[0] * (q2 / 4) ** needed[1]


def _chance(needed: tuple[int, int], x0: int) -> float:
    """The same by the fitted law."""
    return (_given(needed, x0, 0) + _given(needed, x0, 1)) / 2


def _odds_ratio(needed: tuple[int, int], x0: int, u: int) -> float:
    if needed == (0, 0):
        return 1.0
    true, fitted = _given(needed, x0, u), _chance(needed, x0)
    ratio = true / (1 - true) * (1 - fitted) / fitted
    return max(ratio, 1 / ratio)
