"""Treatment searches from their definitions: dictionaries, enumeration, exact fractions.

A history is a tuple with the outcome of each action, −1 where untried; all (|Y| + 1)^k of them are
kept, the best outcome is nothing special. A model is a function p(h, a) → law of Y(a). Slow and
obvious; shares nothing with the package.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

History = tuple[int, ...]
Law = Sequence
Model = Callable[[History, int], Law]
Joint = Mapping[tuple[int, ...], Any]  # fractions where exact answers are asked


def all_histories(k: int, n_outcomes: int) -> Iterator[History]:
    return itertools.product(range(-1, n_outcomes), repeat=k)


def untried(h: History) -> list[int]:
    return [a for a, y in enumerate(h) if y < 0]


def extended(h: History, a: int, y: int) -> History:
    return (*h[:a], y, *h[a + 1 :])


def joint_model(joint: Joint, n_outcomes: int) -> Model:
    """p(Y(a) | h) by summing the joint table; uniform where h has probability zero."""

    def law(h: History, a: int) -> Law:
        mass = [Fraction(0)] * n_outcomes
        for outcome, p in joint.items():
            if all(seen in (-1, y) for seen, y in zip(h, outcome, strict=True)):
                mass[outcome[a]] += p
        total = sum(mass)
        return [m / total for m in mass] if total else [Fraction(1, n_outcomes)] * n_outcomes

    return law


def joint_rho(joint: Joint, h: History) -> Fraction:
    """Pr[an untried action is better than the best so far | h], read off the joint table."""
    best, total, better = max(h), Fraction(0), Fraction(0)
    for outcome, p in joint.items():
        if all(seen in (-1, y) for seen, y in zip(h, outcome, strict=True)):
            total += p
            better += p * any(outcome[a] > best for a in untried(h))
    return better / total if total else Fraction(0)


def bounds(law: Model, h: History, values: Sequence[float], epsilon: float) -> tuple[float, float]:
    """(lower, upper) bound on ρ(h) from single actions."""
    best = max(values[y] for y in h if y >= 0)
    chance = [
        sum(p for v, p in zip(values, law(h, a), strict=True) if v > best + epsilon)
        for a in untried(h)
    ]
    return max(chance, default=0.0), sum(chance)


def rho_over_orders(law: Model, h: History, values: Sequence[float], epsilon: float) -> float:
    """ρ(h) by the product formula, averaged over all orders of the remaining actions."""
    best = max(values[y] for y in h if y >= 0)
    n_outcomes, rest = len(values), untried(h)
    total = 0.0
    for order in itertools.permutations(rest):
        for outcome in itertools.product(range(n_outcomes), repeat=len(rest)):
            if any(values[y] > best + epsilon for y in outcome):
                probability, now = 1.0, h
                for a, y in zip(order, outcome, strict=True):
                    probability *= law(now, a)[y]
                    now = extended(now, a, y)
                total += probability
    return total / math.factorial(len(rest))


def enumerated_search_times(
    joint: Joint, k: int, n_outcomes: int, stops: Callable[[Fraction], bool]
) -> list[Fraction]:
    """E[T] of every deterministic policy that stops only where it may, one entry per policy.

    A policy chooses at every history that it reaches with positive probability; a search may stop
    where `stops(ρ(h))`, where the best outcome was found or where everything was tried, and never
    before its first trial. A search that may stop may also go on.
    """
    law = joint_model(joint, n_outcomes)

    def costs(h: History) -> list[Fraction]:
        rest = untried(h)
        begun = any(y >= 0 for y in h)
        found = max(h) == n_outcomes - 1
        result = []
        if begun and (found or not rest or stops(joint_rho(joint, h))):
            result.append(Fraction(0))
        for a in rest:
            branches = [
                [p * cost for cost in costs(extended(h, a, y))]
                for y, p in enumerate(law(h, a))
                if p > 0
            ]
            result += [1 + sum(choice) for choice in itertools.product(*branches)]
        return result

    return costs((-1,) * k)


def action_values(
    law: Model, k: int, n_outcomes: int, stop_reward: Callable[[History], float], step_cost: float
) -> dict[History, list[float]]:
    """Q(h, ·) with "stop" last, by recursion over every history with every outcome."""
    q: dict[History, list[float]] = {}
    for h in sorted(all_histories(k, n_outcomes), key=lambda h: len(untried(h))):
        row = [-math.inf] * k + [stop_reward(h)]
        for a in untried(h):
            row[a] = -step_cost + sum(
                p * max(q[extended(h, a, y)]) for y, p in enumerate(law(h, a)) if p > 0
            )
        q[h] = row
    return q


def smoothed_law(
    counts: Mapping[tuple[History, int], Sequence[int]], n_outcomes: int, mode: str
) -> Model:
    """Posterior mean of Y(a) under the historical prior, summed over every proper sub-history."""

    def law(h: History, a: int) -> Law:
        tried = [b for b, y in enumerate(h) if y >= 0]
        prior = [0.0] * n_outcomes
        for size in range(len(tried)):
            d = len(tried) - size
            weight = math.exp(-((d - 1) ** 2)) / (len(tried) * 2 ** (d - 1))
            for kept in itertools.combinations(tried, size):
                sub = tuple(y if b in kept else -1 for b, y in enumerate(h))
                n = counts.get((sub, a))
                if n is not None:
                    prior = [q + weight * c / sum(n) for q, c in zip(prior, n, strict=True)]
        if mode == "release" and sum(prior) > 0:
            prior = [4 * q / sum(prior) for q in prior]
        n = counts.get((h, a), [0] * n_outcomes)
        post = [q + c for q, c in zip(prior, n, strict=True)]
        return [q / sum(post) for q in post] if sum(post) else [1 / n_outcomes] * n_outcomes

    return law


def play_one(
    choose: Callable[[History], int], outcome: Sequence[int], n_outcomes: int
) -> tuple[list[int], int]:
    """Actions tried and best outcome found by one unit; `choose` returns k for "stop"."""
    k = len(outcome)
    h: History = (-1,) * k
    order: list[int] = []
    while untried(h) and max(h) < n_outcomes - 1 and (a := choose(h)) < k:
        order.append(a)
        h = extended(h, a, outcome[a])
    return order, max(h)
