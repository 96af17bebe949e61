"""Stays on simulated wards: two tests, three windows, an ordering law that is known.

A latent severity drifts; chemistry and blood gas show it with noise. A test is ordered more often
where the last recorded value was high and where it was ordered in the window before, and gas more
often with chemistry. Nothing else decides about an order; measuring changes nothing. Written from
these sentences; shares nothing with the package.
"""

from dataclasses import dataclass

import numpy as np

WINDOWS, PRICES, SET_UP = 3, (1.0, 2.0), 0.5
MISSED, ALARM = 12.0, 5.0


@dataclass(frozen=True)
class Stays:
    """Complete values, recorded tests and labels of n stays. (n, 3, 2), (n, 3, 2), (n,), (n,)"""

    values: np.ndarray
    recorded: np.ndarray
    label: np.ndarray
    age: np.ndarray


def draw(n: int, rng: np.random.Generator, dense: Stays | None = None) -> Stays:
    """Some stays; of `dense` ones values, label and age, and no more than orders are drawn."""
    if dense is not None:
        row = rng.integers(0, len(dense.label), n)
    age = rng.normal(size=n) if dense is None else dense.age[row]
    severity = 0.5 * age + rng.normal(size=n)
    values, recorded = np.zeros((n, WINDOWS, 2)), np.zeros((n, WINDOWS, 2), dtype=bool)
    last = np.zeros((n, 2))
    before = np.zeros((n, 2))
    for t in range(WINDOWS):
        noisy = severity[:, None] + 0.7 * rng.normal(size=(n, 2))
        values[:, t] = noisy if dense is None else dense.values[row, t]
        chemistry = rng.random(n) < expit(0.1 + 0.5 * last[:, 0] + 0.6 * before[:, 0] + 0.2 * age)
        odds = -1.0 + 0.6 * last[:, 1] + 0.8 * before[:, 1] + 0.7 * chemistry
        gas = rng.random(n) < expit(odds)
        recorded[:, t] = np.column_stack([chemistry, gas])
        last = np.where(recorded[:, t], values[:, t], last)
        before = recorded[:, t].astype(float)
        severity = 0.8 * severity + 0.6 * rng.normal(size=n)
    label = (rng.random(n) < expit(-1.8 + 1.2 * severity)).astype(int)
    return Stays(values, recorded, label if dense is None else dense.label[row], age)


def expit(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(−x))."""
    return 1 / (1 + np.exp(-x))


def risk(age: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Probability that a fixed rule reads off the last values, 0 where there is none. (n,)"""
    return expit(-1.6 + 0.2 * age + 0.5 * last[:, 0] + 0.5 * last[:, 1])


def orders(t: int, last: np.ndarray) -> np.ndarray:
    """The plan: chemistry in windows 0 and 2; gas in 1 where chemistry was above 0.3. (n, 2)

    `last` holds the values that the plan has seen, NaN where there is none.
    """
    chemistry = np.full(len(last), t in (0, 2))
    gas = np.nan_to_num(last[:, 0]) > 0.3 if t == 1 else np.zeros(len(last), dtype=bool)
    return np.column_stack([chemistry, gas])


def true_costs(stays: Stays) -> np.ndarray:
    """Cost of the plan for each stay, where every value can be had. (n,)"""
    n = len(stays.label)
    last, cost = np.full((n, 2), np.nan), np.zeros(n)
    for t in range(WINDOWS):
        ordered = orders(t, last)
        cost += ordered @ np.array(PRICES) + SET_UP * ordered.any(axis=1)
        last = np.where(ordered, stays.values[:, t], last)
    p = risk(stays.age, np.nan_to_num(last))
    alarm = ALARM * (1 - p) < MISSED * p
    return cost + np.where(alarm, ALARM * (stays.label == 0), MISSED * (stays.label == 1))
