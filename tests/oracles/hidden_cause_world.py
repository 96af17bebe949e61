"""A world with a hidden cause, small enough that every atom is a number of equal rows.

x0 is always known, the panels 1 and 2 tell x1 and x2. A hidden u moves x1, the label and whether
panels are recorded, so that the fitted law, which knows x0 alone, is wrong for every unit and
right on average. Written from the definitions; shares nothing with the package.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

PRICES = (0.6, 0.9)
MISSED, ALARM = 5.0, 2.0
RULES: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "never": lambda x0, x1: (0, 0),
    "always": lambda x0, x1: (1, 1),
    "reads": lambda x0, x1: (1, x1),
    "second": lambda x0, x1: (0, 1 - x0),
}
LOTS = "lots"  # takes each panel that it may with probability one half
POLICIES = (*RULES, LOTS)
SETS = tuple(product((0, 1), repeat=2))
RECORDED = {  # (x0, u) -> quarters of rows that record panel 1, and panel 2
    (0, 0): (2, 3),
    (0, 1): (3, 1),
    (1, 0): (1, 2),
    (1, 1): (2, 3),
}

Set = tuple[int, ...]


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
        for r in SETS:
            many = times * _quarters(r[0], RECORDED[x0, u][0]) * _quarters(r[1], RECORDED[x0, u][1])
            for t in SETS:
                ends = _ends(policy, x0, x1, r, t)
                cost = _cost(t, x0, x1, y)
                at_run_time = _ends(policy, x0, x1, (1, 1), t)
                truth += [cost] * int(many * 4 * at_run_time)
                if not ends:
                    continue
                lets = {each: _ends(policy, x0, x1, each, t) for each in SETS}
                mean = sum(_pattern(each, x0) * lets[each] for each in SETS)
                weight = at_run_time / mean
                row = (cost, weight, mean / max(lets.values()), *t, 2 * x0 + y)
                found += [row] * int(many * 4 * ends)
    table = np.array(found)
    cost, weight, chance = table[:, 0], table[:, 1], table[:, 2]
    needed, known = table[:, 3:5].astype(bool), table[:, 5].astype(int)
    return Rows(float(np.mean(truth)), _gamma(), cost, weight, chance, needed, known)


def _quarters(value: int, ones: int) -> int:
    return ones if value else 4 - ones


def _ends(policy: str, x0: int, x1: int, r: Set, t: Set) -> float:
    """Probability that the policy ends with t on a record with r; blocked elsewhere."""
    if any(a > b for a, b in zip(t, r, strict=True)):
        return 0.0
    if policy == LOTS:
        return 0.5 ** sum(r)
    first, second = RULES[policy](x0, x1)
    taken = (first * r[0], second * r[1])
    if policy == "reads" and not r[0]:
        taken = (0, 0)  # what it would read lacks
    return float(taken == t)


def _cost(t: Set, x0: int, x1: int, y: int) -> float:
    guess = x1 if t[0] else x0
    price = sum(p for p, one in zip(PRICES, t, strict=True) if one)
    return price + MISSED * (guess < y) + ALARM * (guess > y)


def _given(r: Set, x0: int, u: int) -> float:
    """Probability of a pattern, the hidden cause known."""
    q1, q2 = RECORDED[x0, u]
    return _quarters(r[0], q1) * _quarters(r[1], q2) / 16


def _pattern(r: Set, x0: int) -> float:
    """The same by the fitted law."""
    return (_given(r, x0, 0) + _given(r, x0, 1)) / 2


def _gamma() -> float:
    """The most that u changes the odds of any set of patterns."""
    most = 1.0
    for x0, u, chosen in product((0, 1), (0, 1), product((0, 1), repeat=4)):
        if 0 < sum(chosen) < 4:
            event = [r for r, one in zip(SETS, chosen, strict=True) if one]
            true, fitted = (
                sum(p)
                for p in zip(*((_given(r, x0, u), _pattern(r, x0)) for r in event), strict=True)
            )
            ratio = true / (1 - true) * (1 - fitted) / fitted
            most = max(most, ratio, 1 / ratio)
    return most
