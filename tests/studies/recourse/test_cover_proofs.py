"""Whichever step proves a cheapest set, its cost is that of enumeration: proof, program, count."""

import numpy as np
import pytest
from frugal.studies.recourse.choices import cheapest_choices
from frugal.studies.recourse.instance import CoverInstance
from frugal.studies.recourse.solvers import proofs
from frugal.studies.recourse.solvers.branch_and_bound import cheapest_covers
from frugal.studies.recourse.solvers.lagrangian_bound import improve

from tests.studies.recourse.cover_rules import granted, lean_sets, random_case

PLENTY = 10**6


@pytest.fixture(params=["program", "proof", "program, no count"])
def late(request, monkeypatch):
    """The first search ends at once, so that what comes after it must prove."""
    monkeypatch.setattr(proofs, "FIRST_NODES", 1)
    monkeypatch.setattr(proofs, "PROOF_NODES", 10_000 if request.param == "proof" else 1)
    monkeypatch.setattr(proofs, "COUNTED", 10**9 if "no count" in request.param else 1)
    return request.param


def test_costs_and_sets_are_those_of_enumeration(late):
    rng = np.random.default_rng(3)
    partly = 0
    for _ in range(60):
        keep = int(rng.integers(1, 4))
        case = random_case(
            rng,
            actions=int(rng.integers(2, 10)),
            features=int(rng.integers(2, 6)),
            units=2,
            density=0.4,
            free=bool(rng.integers(2)),
        )
        choices = cheapest_choices(
            case.features, case.group, case.catalogue, case.rules, keep=keep, max_nodes=PLENTY
        )
        assert choices.proven.all()
        for u in range(2):
            wanted, free = lean_sets(case, u), granted(case, u)
            found = choices.cost[u][np.isfinite(choices.cost[u])]
            assert found.tolist() == [cost for cost, _ in wanted[: len(found)]]
            assert len(found) == min(keep, len(wanted))
            members = [
                tuple(np.flatnonzero(choices.chosen[u, k] & ~free).tolist())
                for k in range(len(found))
            ]
            assert set(members) <= {some for _, some in wanted}
            optima = sum(cost == wanted[0][0] for cost, _ in wanted) if wanted else 0
            if choices.complete[u]:
                assert (members, choices.optima[u]) == ([s for _, s in wanted[:keep]], optima)
            else:
                assert 1 <= choices.optima[u] <= optima
                partly += 1
    assert (partly > 0) == (late == "program, no count")


def test_a_set_is_exchanged_for_a_cheaper_one():
    """Actions for features 1 and 2, 0, 3, 0 and 1, 2 and 3: the greedy set is the first three."""
    links = np.array([0, 2, 3, 4, 6, 8]), np.array([1, 2, 0, 3, 0, 1, 2, 3]), np.ones(8, np.int64)
    providers = np.array([0, 2, 4, 6, 8]), np.array([1, 3, 0, 3, 0, 4, 2, 4])
    state, cost = np.array([1, 1, 1, 0, 0], dtype=np.int8), np.array([4, 5, 5, 6, 6])
    least = improve(np.ones(4, np.int64), np.zeros(5, bool), cost, links, providers, state)
    assert (least, state.tolist()) == (12, [0, 0, 0, 1, 1])


def _equal_prices(seed: int, a: int, d: int, units: int):
    rng = np.random.default_rng(seed)
    provides = np.zeros((a, d), dtype=bool)
    for i in range(a):
        provides[i, rng.choice(d, 4, replace=False)] = True
    instance = CoverInstance(np.ones(a), provides, np.ones(d, dtype=int), np.ones((1, a), bool))
    states = rng.random((units, d)) < rng.uniform(0.1, 0.5, (units, 1))
    return states, np.zeros(units, dtype=int), instance


def test_equal_prices_are_proven_and_do_not_depend_on_the_units_next_to(late):
    states, group, instance = _equal_prices(1, 60, 30, 12)
    together = cheapest_covers(states, group, instance, max_nodes=PLENTY)
    assert together.proven.all()
    for u in range(12):
        alone = cheapest_covers(states[u : u + 1], group[:1], instance, max_nodes=PLENTY)
        for name in ("cost", "lower_bound", "optima", "unique", "finished"):
            assert getattr(alone, name)[0] == getattr(together, name)[u], (late, u, name)
        sets = [{*one.action_set[k]} - {-1} for one, k in ((alone, 0), (together, u))]
        assert sets[0] == sets[1]


def test_what_cannot_be_proven_has_a_bound_below_its_cost():
    states, group, instance = _equal_prices(2, 300, 120, 3)
    covers = cheapest_covers(states, group, instance, max_nodes=20)
    open_ = ~covers.proven
    assert open_.any()
    assert (covers.lower_bound[open_] < covers.cost[open_]).all()
    further = cheapest_covers(states, group, instance, max_nodes=60_000)
    assert (further.cost <= covers.cost).all()
    assert (further.lower_bound >= covers.lower_bound).all()
    assert further.proven.sum() >= covers.proven.sum()
