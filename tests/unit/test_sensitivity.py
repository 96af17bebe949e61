"""Ranges under hidden causes: against all corners, a linear program, and a world written out."""

from itertools import product

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.judge.cost_cells import KnownRows, fit_quantiles
from frugal.judge.estimator import Terms
from frugal.judge.intervals import estimate, standard_error
from frugal.judge.sensitivity import (
    CostQuantiles,
    Range,
    Rival,
    Weighted,
    largest_difference,
    plain_range,
    sharp_range,
    tipping_gamma,
)
from scipy.optimize import linprog

from tests.oracles import hidden_cause_world as world

pytestmark = pytest.mark.trains

GAMMAS = np.array([1.0, 1.3, 2.0, 5.0, 10.0])
SETTINGS = {"folds": 3, "leaves": 4, "leaf_rows": 5, "rows": 10_000}


def _drawn(n: int, seed: int = 0) -> Weighted:
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.2, 0.9, n)
    weight = np.where(rng.random(n) < chance, 1 / chance, 0.0)
    weight *= n / weight.sum()  # so that the weights average one, as true ones do
    return Weighted.of(rng.exponential(size=n).round(1), weight, chance)


def _cells(given: Weighted, cell: np.ndarray) -> CostQuantiles:
    """The quantiles of each cell's own rows: the best that there are."""
    levels = GAMMAS / (1 + GAMMAS)
    tables = []
    for level in (1 - levels, levels):
        tables.append(
            np.array(
                [
                    [
                        _quantile(given.cost[cell == c], given.doubtful[cell == c], one)
                        for one in level
                    ]
                    for c in range(cell.max() + 1)
                ]
            )
        )
    return CostQuantiles(cell, *tables)


def _quantile(cost: np.ndarray, mass: np.ndarray, level: float) -> float:
    order = np.argsort(cost)
    total = np.cumsum(mass[order])
    return float(cost[order][np.searchsorted(total, level * total[-1])])


def _best_by_program(given: Weighted, gamma: float, cell: np.ndarray) -> float:
    """The largest mean where weights average one in every cell: a linear program."""
    n = len(given.cost)
    inside = np.array([np.where(cell == c, given.doubtful, 0.0) for c in range(cell.max() + 1)])
    held = [(cell == c).sum() - given.sure[cell == c].sum() for c in range(cell.max() + 1)]
    bounds = [(1 / gamma, gamma)] * n
    found = linprog(-given.doubtful * given.cost / n, A_eq=inside, b_eq=held, bounds=bounds)
    return float(given.sure @ given.cost / n - found.fun)


def test_the_plain_range_is_that_of_all_corners():
    given = _drawn(14)
    used = np.flatnonzero(given.weight)
    for gamma in GAMMAS:
        found = plain_range(given, np.array([gamma]))
        values = []
        for z in product((1 / gamma, gamma), repeat=len(used)):
            weight = given.sure[used] + np.array(z) * given.doubtful[used]
            values.append(weight @ given.cost[used] / weight.sum())
        assert found.high[0] == pytest.approx(max(values), abs=1e-12)
        assert found.low[0] == pytest.approx(min(values), abs=1e-12)


def test_rows_that_stand_twice_in_one_cluster_make_no_end_surer():
    given, n = _drawn(200), 200
    twice = Weighted(
        *(np.tile(part, 2) for part in (given.cost, given.sure, given.doubtful)),
        cluster=np.tile(np.arange(n), 2),
    )
    gammas = np.array(GAMMAS)
    cell, ends = np.zeros(n, dtype=np.int64), np.quantile(given.cost, [0.3, 0.7])
    low, high = (np.full((1, len(gammas)), end) for end in ends)
    once = plain_range(given, gammas), sharp_range(given, gammas, CostQuantiles(cell, low, high))
    often = (
        plain_range(twice, gammas),
        sharp_range(twice, gammas, CostQuantiles(np.tile(cell, 2), low, high)),
    )
    for one, other in zip(once, often, strict=True):
        for name in ("low", "low_error", "high", "high_error"):
            np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-10)


def test_at_gamma_one_both_are_the_estimate_with_its_standard_error():
    given = _drawn(300)
    terms = Terms((given.weight * given.cost)[:, None], given.weight, given.weight)
    rng = np.random.default_rng(1)
    quantiles = fit_quantiles(given, KnownRows.of(rng.normal(size=(300, 2))), GAMMAS, SETTINGS, rng)
    for found in (plain_range(given, GAMMAS), sharp_range(given, GAMMAS, quantiles)):
        for end, error in ((found.low, found.low_error), (found.high, found.high_error)):
            assert end[0] == pytest.approx(estimate(terms)[0], abs=1e-12)
            assert error[0] == pytest.approx(standard_error(terms)[0], rel=1e-9)


@pytest.mark.parametrize("cells", [1, 3])
def test_the_sharp_range_is_that_of_a_linear_program_where_quantiles_are_right(cells):
    given = _drawn(120)
    cell = np.arange(120) % cells
    factor = np.array([(cell == c).sum() / given.weight[cell == c].sum() for c in range(cells)])
    given = Weighted(given.cost, given.sure * factor[cell], given.doubtful * factor[cell])
    found = sharp_range(given, GAMMAS, _cells(given, cell))
    for g, gamma in enumerate(GAMMAS):
        assert found.high[g] == pytest.approx(_best_by_program(given, gamma, cell), abs=1e-9)
        low = -_best_by_program(given.mirrored(), gamma, cell)
        assert found.low[g] == pytest.approx(low, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_whatever_the_quantiles_the_sharp_range_lies_within_the_plain_and_holds_the_estimate(seed):
    rng, given = np.random.default_rng(seed), _drawn(80, seed)
    tables = rng.normal(size=(2, 4, len(GAMMAS)))
    found = sharp_range(given, GAMMAS, CostQuantiles(rng.integers(0, 4, 80), *tables))
    plain = plain_range(given, GAMMAS)
    assert (plain.low <= found.low + 1e-12).all()
    assert (found.high <= plain.high + 1e-12).all()
    assert (found.low <= given.estimate + 1e-12).all()
    assert (given.estimate <= found.high + 1e-12).all()
    assert (np.diff(found.high) >= 0).all()  # nested, the larger Γ the wider
    assert (np.diff(found.low) <= 0).all()


def test_what_predicts_nothing_makes_no_range_shorter():
    given, rng = _drawn(20_000), np.random.default_rng(2)
    settings = SETTINGS | {"leaf_rows": 500}
    noise = fit_quantiles(given, KnownRows.of(rng.normal(size=(20_000, 3))), GAMMAS, settings, rng)
    nothing = fit_quantiles(given, KnownRows.of(np.empty((20_000, 0))), GAMMAS, settings, rng)
    by_noise, by_nothing = (sharp_range(given, GAMMAS, one) for one in (noise, nothing))
    plain = plain_range(given, GAMMAS)
    for found in (by_noise, by_nothing):
        assert found.high == pytest.approx(by_nothing.high, abs=3 * by_nothing.high_error.max())
        # the plain range lets the mean of the weights go, the sharp one holds it at one
        assert np.all(found.high - found.low <= plain.high - plain.low + 1e-12)
        assert np.all(found.high - found.low >= 0.85 * (plain.high - plain.low) - 1e-12)


def test_what_predicts_the_cost_makes_the_range_shorter():
    rng = np.random.default_rng(3)
    x, chance = rng.normal(size=5000), np.full(5000, 0.5)
    weight = np.where(rng.random(5000) < chance, 2.0, 0.0)
    given = Weighted.of(3 * x + rng.normal(size=5000), weight, chance)
    settings = {"folds": 5, "leaves": 32, "leaf_rows": 30, "rows": 10_000}
    quantiles = fit_quantiles(given, KnownRows.of(x[:, None]), GAMMAS, settings, rng)
    found = sharp_range(given, GAMMAS, quantiles)
    plain = plain_range(given, GAMMAS)
    assert found.high[3] - found.low[3] < 0.6 * (plain.high[3] - plain.low[3])


@pytest.mark.parametrize("policy", world.POLICIES)
def test_in_a_world_with_a_hidden_cause_of_known_gamma_the_ranges_cover_the_truth(policy):
    rows = world.rows(policy)
    gammas = np.array([1.0, rows.gamma, 2 * rows.gamma])
    given = Weighted.of(rows.cost, rows.weight, rows.chance)
    rng = np.random.default_rng(0)
    told = [plain_range(given, gammas)]
    for _ in range(20):
        tables = rng.uniform(0, 6, size=(2, 4, 3))
        told.append(sharp_range(given, gammas, CostQuantiles(rows.known, *tables)))
    told.append(
        sharp_range(
            given,
            gammas,
            fit_quantiles(given, KnownRows.of(np.eye(4)[rows.known]), gammas, SETTINGS, rng),
        )
    )
    for found in told:
        assert (found.low[1:] <= rows.truth + 1e-12).all()
        assert (rows.truth <= found.high[1:] + 1e-12).all()
        assert _width(found)[0] == pytest.approx(0, abs=1e-12)
    if policy != "never":  # without hidden causes the estimate would be the truth
        assert abs(given.estimate - rows.truth) > 0.005


def _width(found: Range) -> np.ndarray:
    return found.high - found.low


@pytest.mark.parametrize("first", world.POLICIES)
@pytest.mark.parametrize("second", world.POLICIES)
def test_in_that_world_a_difference_is_no_larger_than_its_bound(first, second):
    a, b = world.rows(first), world.rows(second)
    named, other = (Weighted.of(one.cost, one.weight, one.chance) for one in (a, b))
    rival = Rival(other, (a.needed == b.needed).all(axis=1))
    gamma = max(a.gamma, b.gamma)
    assert largest_difference(named, rival, gamma) >= a.truth - b.truth - 1e-9
    assert largest_difference(named, rival, 1.0) == pytest.approx(
        named.estimate - other.estimate, abs=1e-9
    )


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_bound_of_a_difference_is_that_of_a_linear_program(share):
    n, gamma, rng = 60, 2.5, np.random.default_rng(4)
    chance = rng.uniform(0.3, 0.9, n)
    policies = []
    for _ in range(2):
        weight = np.where(rng.random(n) < 0.7, 1 / chance, 0.0)
        policies.append(Weighted.of(rng.exponential(size=n), weight * n / weight.sum(), chance))
    a, b = policies
    same = rng.random(n) < share
    both = np.flatnonzero(same)  # one z for both
    columns = 2 * n
    aim = np.concatenate([a.doubtful * a.cost, -b.doubtful * b.cost]) / n
    sums = np.zeros((2 + len(both), columns))
    sums[0, :n], sums[1, n:] = a.doubtful, b.doubtful
    sums[2 + np.arange(len(both)), both], sums[2 + np.arange(len(both)), n + both] = 1, -1
    held = np.concatenate([[a.doubtful.sum(), b.doubtful.sum()], np.zeros(len(both))])
    found = linprog(-aim, A_eq=sums, b_eq=held, bounds=[(1 / gamma, gamma)] * columns)
    fixed = (a.sure @ a.cost - b.sure @ b.cost) / n
    assert largest_difference(a, Rival(b, same), gamma) == pytest.approx(
        fixed - found.fun, abs=1e-6
    )


def test_the_tipping_gamma_is_where_the_largest_difference_is_zero():
    named, rng = _drawn(400), np.random.default_rng(5)
    rivals = [
        Rival(
            Weighted(named.cost + gap + rng.normal(size=400), named.sure, named.doubtful),
            np.ones(400, dtype=bool),
        )
        for gap in (0.9, 0.5, 2.0)
    ]
    gamma, which = tipping_gamma(named, rivals, 10.0)
    assert which == 1
    assert 1 < gamma < 10
    assert largest_difference(named, rivals[1], gamma) == pytest.approx(0, abs=1e-3)
    apart = [Rival(one.weighted, np.zeros(400, dtype=bool)) for one in rivals]
    assert tipping_gamma(named, apart, 10.0)[0] < gamma  # as if each alone were shifted


@pytest.mark.parametrize(("unit", "least"), [(1e-9, 0.0), (3e38, 0.0), (1e-6, 1.0)])
def test_the_tipping_gamma_does_not_depend_on_the_unit_of_cost(unit, least):
    named, rng = _drawn(400), np.random.default_rng(5)
    costs = named.cost, named.cost + 0.5 + rng.normal(size=400)
    found = []
    for by, more in ((1.0, 0.0), (unit, least)):
        one, other = (Weighted(cost * by + more, named.sure, named.doubtful) for cost in costs)
        found.append(tipping_gamma(one, [Rival(other, np.ones(400, dtype=bool))], 10.0))
    assert found[0] == pytest.approx(found[1], rel=1e-3)


def test_policies_that_need_the_same_sets_and_differ_by_a_constant_never_tip():
    named = _drawn(200)
    rival = Rival(Weighted(named.cost + 0.1, named.sure, named.doubtful), np.ones(200, dtype=bool))
    assert tipping_gamma(named, [rival], 10.0) == (float("inf"), -1)


def test_a_policy_with_a_higher_estimate_has_tipped():
    named = _drawn(200)
    rival = Rival(Weighted(named.cost - 0.1, named.sure, named.doubtful), np.ones(200, dtype=bool))
    assert tipping_gamma(named, [rival], 10.0) == (1.0, 0)


@pytest.mark.parametrize(
    ("gamma", "chance", "weight", "words"),
    [
        (0.5, 0.5, 2.0, "bound Γ is 0.5"),
        (2.0, 0.0, 2.0, "probability of a set is 0"),
        (2.0, 0.5, 0.0, "no row carries weight"),
    ],
)
def test_what_gives_no_range_is_refused(gamma, chance, weight, words):
    with pytest.raises(DataError, match=words):
        plain_range(
            Weighted.of(np.ones(5), np.full(5, weight), np.full(5, chance)), np.array([gamma])
        )
