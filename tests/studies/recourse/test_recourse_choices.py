"""The k cheapest sets under every kind of rule, against enumeration and HiGHS."""

import numpy as np
import pytest
from frugal.studies.recourse.choices import cheapest_choices, prices_of_forbidding
from frugal.studies.recourse.solvers.lagrangian_tree import MOST_TIES

from tests.studies.recourse.cover_rules import best_by_highs, granted, lean_sets, random_case

PLENTY = 10**6


def _answers(case, keep):
    choices = cheapest_choices(
        case.features, case.group, case.catalogue, case.rules, keep=keep, max_nodes=PLENTY
    )
    assert choices.complete.all()
    assert choices.proven.all()
    return choices


def _sets(choices, u, without=None):
    free = np.zeros(choices.chosen.shape[2], dtype=bool) if without is None else without
    return [
        (round(float(cost), 6), tuple(np.flatnonzero(choices.chosen[u, k] & ~free).tolist()))
        for k, cost in enumerate(choices.cost[u])
        if np.isfinite(cost)
    ]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("density", [0.25, 0.6])
def test_k_best_sets_and_number_of_optima_are_those_of_enumeration(seed, density):
    rng = np.random.default_rng([seed, int(100 * density)])
    several = 0
    for _ in range(40):
        a, keep = int(rng.integers(1, 10)), int(rng.integers(1, 5))
        case = random_case(
            rng, actions=a, features=int(rng.integers(1, 6)), units=3, density=density, free=True
        )
        choices = _answers(case, keep)
        for u in range(3):
            wanted = lean_sets(case, u)
            free = granted(case, u)
            assert not choices.chosen[u, ~np.isfinite(choices.cost[u])].any()
            assert _sets(choices, u, free) == [(round(c, 6), s) for c, s in wanted[:keep]]
            optima = sum(cost == wanted[0][0] for cost, _ in wanted)
            assert choices.optima[u] == min(optima, MOST_TIES)
            several += len(wanted) > 1
    assert several > 5  # of 120 units: the others have one set, or none


def test_sets_hold_the_free_actions_that_they_need_and_no_others():
    rng = np.random.default_rng(5)
    met = 0
    for _ in range(200):
        case = random_case(rng, actions=8, features=5, units=1, density=0.3, free=True)
        choices, free = _answers(case, 2), granted(case, 0)
        need = case.catalogue.instance.deficit(case.features)[0]
        gain = case.catalogue.instance.gain
        for k in np.flatnonzero(np.isfinite(choices.cost[0])):
            chosen = choices.chosen[0, k]
            assert (chosen.astype(int) @ gain >= need).all()
            for i in np.flatnonzero(chosen & free):
                met += 1
                assert ((chosen.astype(int) @ gain - gain[i]) < need).any()
    assert met > 20


def test_larger_catalogues_against_highs():
    rng = np.random.default_rng(11)
    found = 0
    for _ in range(15):
        case = random_case(rng, actions=40, features=20, units=2, density=0.12, free=False)
        choices = _answers(case, 3)
        for u in range(2):
            wanted = best_by_highs(case, u, 3)
            assert [cost for cost, _ in _sets(choices, u)] == [cost for cost, _ in wanted]
            found += len(wanted) > 0
    assert found > 10


def test_the_price_of_forbidding_is_what_the_best_costs_without_the_action():
    rng = np.random.default_rng(3)
    dearer, impossible = 0, 0
    for _ in range(60):
        case = random_case(rng, actions=8, features=4, units=2, density=0.4, free=False)
        choices = _answers(case, 1)
        more = prices_of_forbidding(
            choices, case.features, case.group, case.catalogue, case.rules, max_nodes=PLENTY
        )
        for u, i in np.argwhere(~np.isnan(more)):
            case.rules.forbidden[u, i] = True
            wanted = lean_sets(case, u)
            case.rules.forbidden[u, i] = False
            if wanted:
                assert more[u, i] == pytest.approx(wanted[0][0] - choices.cost[u, 0], abs=1e-6)
                dearer += more[u, i] > 0
            else:
                assert more[u, i] == np.inf
                impossible += 1
        assert (np.isnan(more) | choices.chosen[:, 0]).all()
    assert dearer > 10
    assert impossible > 5


def test_a_search_that_stops_says_so_and_its_bound_holds():
    rng = np.random.default_rng(2)
    stopped_early = 0
    for _ in range(30):
        case = random_case(rng, actions=25, features=15, units=4, density=0.2, free=False)
        exact = _answers(case, 1)
        stopped = cheapest_choices(
            case.features, case.group, case.catalogue, case.rules, keep=1, max_nodes=2
        )
        assert (stopped.lower_bound <= exact.cost[:, 0]).all()
        assert (stopped.cost[:, 0] >= exact.cost[:, 0]).all()
        assert (stopped.cost[stopped.proven, 0] == exact.cost[stopped.proven, 0]).all()
        stopped_early += (~stopped.proven).sum()
    assert stopped_early > 5


@pytest.mark.parametrize("base", [0.0, 1.25, 10_000.0, 12_345_678.9, 300_000_000.0])
def test_ties_are_counted_at_any_price_and_whatever_number_of_sets_is_sought(base):
    rng = np.random.default_rng(int(base))
    tied = 0
    for _ in range(200):
        case = random_case(rng, actions=6, features=4, units=2, density=0.5, free=False)
        few = base + rng.integers(1, 10**6, 3) / 10**6  # three prices: ties, and nearly ties
        case.rules.cost[:] = rng.choice(few, 6)
        answers = [_answers(case, keep) for keep in (1, 2, 4)]
        for u in range(2):
            wanted = lean_sets(case, u)
            optima = sum(cost == wanted[0][0] for cost, _ in wanted)
            assert [choices.optima[u] for choices in answers] == [optima] * 3
            assert _sets(answers[2], u) == [(round(c, 6), s) for c, s in wanted[:4]]
            tied += optima > 1
    assert tied > 20
