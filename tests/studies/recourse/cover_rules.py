"""Cheapest action sets under rules, from the definition: all sets are listed; or by programs.

Random catalogues with rules of every kind, the lean sets of a unit by enumeration (at most a dozen
actions), and the k cheapest by HiGHS or CP-SAT with cuts. Knows nothing of the compiled tree.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from frugal.studies.recourse.catalogue import EVERYONE, ActionRules, Catalogue
from frugal.studies.recourse.choices import UnitRules
from frugal.studies.recourse.instance import CoverInstance
from scipy.optimize import Bounds, LinearConstraint, milp


@dataclass(frozen=True, eq=False)
class Case:
    """A catalogue with units: features (n, d), group (n,), and rules of each unit."""

    catalogue: Catalogue
    features: np.ndarray
    group: np.ndarray
    rules: UnitRules


def random_case(
    rng: np.random.Generator, *, actions: int, features: int, units: int, density: float, free: bool
) -> Case:
    """A catalogue in which each kind of rule stands or does not, by the toss of a coin."""
    a, d, n = actions, features, units
    amounts = rng.random() < 0.5
    member = rng.random((a, d)) < density
    provides = member * rng.integers(1, 4, (a, d)) if amounts else member.astype(np.int64)
    dearest = int(rng.choice([3, 10, 60]))
    cost = rng.integers(0 if free else 1, dearest, a) / int(rng.choice([1, 2, 100]))
    groups = int(rng.integers(1, 3))
    access = rng.random((groups, a)) < 0.9
    instance = CoverInstance(cost, provides, np.full(d, 3 if amounts else 1), access)
    requires, excludes = _pairs(rng, a)
    catalogue = Catalogue(
        tuple(f"a{i}" for i in range(a)),
        tuple(f"x{j}" for j in range(d)),
        (EVERYONE,) if groups == 1 else ("one", "two"),
        instance,
        ActionRules(requires, excludes) if any(requires) or any(excludes) else None,
    )

    def some(share: float) -> float:
        return share if rng.random() < 0.4 else 0.0

    required = rng.random((n, a)) < some(1 / a)
    price = np.tile(cost, (n, 1))
    own = rng.random((n, a)) < some(0.2)
    price[own] = rng.integers(0 if free else 1, dearest, own.sum())
    total = price.sum(axis=1)
    rules = UnitRules(
        required=required,
        forbidden=(rng.random((n, a)) < some(0.15)) & ~required,
        cost=price,
        budget=np.where(rng.random(n) < some(0.8), np.round(rng.random(n) * total / 2, 2), np.inf),
        at_most=np.where(rng.random(n) < some(0.8), rng.integers(0, a + 1, n), a),
    )
    lacking = rng.random((n, d)) < rng.uniform(0.3, 1, (n, 1))
    states = np.where(lacking, rng.integers(0, 3 if amounts else 1, (n, d)), 3)
    return Case(catalogue, states, rng.integers(0, groups, n), rules)


def _pairs(rng: np.random.Generator, a: int):
    """Requirements without circles, with what they lead to, and exclusions, said of both."""
    direct, apart = np.zeros((a, a), dtype=bool), np.zeros((a, a), dtype=bool)
    rank = rng.permutation(a)
    for _ in range(int(rng.integers(0, 5)) if rng.random() < 0.5 else 0):
        i, j = rng.integers(0, a, 2)
        direct[i, j] |= rank[i] < rank[j]
    for k in range(a):
        direct |= np.outer(direct[:, k], direct[k])
    for _ in range(int(rng.integers(0, 5)) if rng.random() < 0.5 else 0):
        i, j = rng.integers(0, a, 2)
        apart[i, j] |= i != j and not direct[i, j] and not direct[j, i]
    apart |= apart.T
    return tuple(
        tuple(tuple(int(j) for j in np.flatnonzero(row)) for row in m) for m in (direct, apart)
    )


def lean_sets(case: Case, u: int) -> list[tuple[float, tuple[int, ...]]]:
    """Every lean set of a unit in order: cost, number of actions, prices' order, place.

    Actions that cost the unit nothing and stand under no rule are taken first; sets are of the
    others alone.
    """
    a = len(case.catalogue.actions)
    cost = np.round(case.rules.cost[u] * 10**6).astype(np.int64)
    works = _working(case, u, cost)
    lean = [
        m
        for m in np.flatnonzero(works)
        if not any(m >> i & 1 and works[m & ~(1 << i)] for i in range(a))
    ]
    rank = np.argsort(np.argsort(cost, kind="stable"), kind="stable")
    sets = [[i for i in range(a) if m >> i & 1] for m in lean]
    ordered = sorted((int(cost[s].sum()), len(s), sorted(rank[s].tolist()), s) for s in sets)
    return [(total / 10**6, tuple(s)) for total, _, _, s in ordered]


def granted(case: Case, u: int) -> np.ndarray:
    """Actions that the unit has for nothing. (a,)"""
    a, rules = len(case.catalogue.actions), case.catalogue.rules
    ruled = np.zeros(a, dtype=bool)
    for lists in (rules.requires, rules.excludes) if rules else ():
        for i, some in enumerate(lists):
            ruled[i] |= bool(some)
            ruled[list(some)] = True
    closed = case.rules.required[u] | case.rules.forbidden[u]
    closed |= ~case.catalogue.instance.access[case.group[u]]
    return (case.rules.cost[u] == 0) & ~ruled & ~closed & (case.rules.at_most[u] >= a)


def _working(case: Case, u: int, cost: np.ndarray) -> np.ndarray:
    """True where the actions of a number's bits, with the granted ones, keep to all rules."""
    known, own, a = case.catalogue, case.rules, len(cost)
    member = (np.arange(1 << a)[:, None] >> np.arange(a) & 1).astype(bool)
    given = granted(case, u)
    need = known.instance.deficit(case.features[u : u + 1])[0]
    gain = known.instance.gain
    ok = ((member | given).astype(np.int64) @ gain >= need).all(axis=1) & ~(member & given).any(
        axis=1
    )
    ok &= ~(member & (own.forbidden[u] | ~known.instance.access[case.group[u]])).any(axis=1)
    ok &= member[:, own.required[u]].all(axis=1) & (member.sum(axis=1) <= own.at_most[u])
    if np.isfinite(own.budget[u]):
        ok &= member @ cost <= round(own.budget[u] * 10**6)
    for i, j in _listed(known.rules.requires if known.rules else ()):
        ok &= ~member[:, i] | member[:, j]
    for i, j in _listed(known.rules.excludes if known.rules else ()):
        ok &= ~(member[:, i] & member[:, j])
    return ok


def _listed(lists) -> list[tuple[int, int]]:
    return [(i, j) for i, some in enumerate(lists) for j in some]


def rows_of(case: Case, u: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The program of a unit with costs above zero: rows · x ≥ least, and bounds of x."""
    known, own = case.catalogue, case.rules
    a = len(known.actions)
    need = known.instance.deficit(case.features[u : u + 1])[0]
    rows, least = [*known.instance.gain.T[need > 0]], [*need[need > 0]]
    one = np.eye(a)
    for i, j in _listed(known.rules.requires if known.rules else ()):
        rows, least = [*rows, one[j] - one[i]], [*least, 0]
    for i, j in _listed(known.rules.excludes if known.rules else ()):
        rows, least = [*rows, -one[i] - one[j]], [*least, -1]
    rows, least = [*rows, -np.ones(a)], [*least, -own.at_most[u]]
    if np.isfinite(own.budget[u]):
        rows = [*rows, -np.round(own.cost[u] * 10**6)]
        least = [*least, -round(own.budget[u] * 10**6)]
    shut = own.forbidden[u] | ~known.instance.access[case.group[u]]
    return np.array(rows), np.array(least), own.required[u].astype(float), (~shut).astype(float)


def best_by_highs(case: Case, u: int, keep: int) -> list[tuple[float, tuple[int, ...]]]:
    """The k cheapest sets by HiGHS, each cut off before the next; costs above zero."""
    rows, least, low, high = rows_of(case, u)
    limits: Any = Bounds
    constraint: Any = LinearConstraint  # their stubs know single numbers alone
    cost, found = case.rules.cost[u], []
    if (low > high).any():
        return []
    while len(found) < keep:
        answer = milp(
            cost,
            constraints=constraint(rows, lb=least),
            integrality=np.ones(len(cost)),
            bounds=limits(low, high),
            options={"mip_rel_gap": 0},
        )
        if answer.status == 2:
            return found
        assert answer.status == 0, answer.message
        chosen = np.round(answer.x).astype(bool)
        found.append((round(float(cost[chosen].sum()), 6), tuple(np.flatnonzero(chosen).tolist())))
        rows = np.vstack([rows, -chosen.astype(float)])
        least = np.append(least, 1 - chosen.sum())
    return found


def best_by_cp_sat(case: Case, u: int, keep: int) -> list[float]:
    """Costs of the k cheapest sets by CP-SAT (the package `ortools`), each cut off."""
    from ortools.sat.python import cp_model  # pyright: ignore[reportMissingImports]

    rows, least, low, high = rows_of(case, u)
    cost = np.round(case.rules.cost[u] * 10**6).astype(int)
    model, found = cp_model.CpModel(), []
    x = [model.new_int_var(0, 1, f"a{i}") for i in range(len(cost))]
    for i, v in enumerate(x):
        model.add(v >= int(low[i]))
        model.add(v <= int(high[i]))
    for row, at_least in zip(rows, least, strict=True):
        model.add(sum(int(r) * v for r, v in zip(row, x, strict=True) if r) >= int(at_least))
    model.minimize(sum(int(c) * v for c, v in zip(cost, x, strict=True)))
    while len(found) < keep:
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        if solver.solve(model) != cp_model.OPTIMAL:
            break
        chosen = [i for i, v in enumerate(x) if solver.value(v)]
        found.append(round(float(cost[chosen].sum()) / 10**6, 6))
        model.add(sum(x[i] for i in chosen) <= len(chosen) - 1)
    return found
