"""Regions in which a panel is (almost) never recorded: found where they are, and only there."""

import numpy as np
import pytest
from frugal.judge.support import fewest_recorded, find_holes

PROVIDES = np.zeros((2, 7), dtype=bool)
PROVIDES[0, 5] = PROVIDES[1, 6] = True


def _table(region=lambda x: np.zeros(len(x), dtype=bool), n=1000, recorded=0.0, seed=0):
    """A number, a skewed one, two levels, a level, another level; two panels of a column."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 4, n)
    x = np.column_stack(
        [
            rng.normal(size=n),
            np.exp(rng.normal(size=n)),
            rng.random(n) < 0.5,
            level == 0,
            level == 1,
            rng.normal(size=(n, 2)),
        ]
    ).astype(float)
    chance = 1 / (1 + np.exp(-0.5 * x[:, [0, 0]] * [1, -1]))
    chance[region(x), 0] = recorded
    observed = rng.random((n, 2)) < chance
    x[:, 5:][~observed] = np.nan
    return x, observed


def _found(x, observed):
    return find_holes(x, observed, PROVIDES)


@pytest.mark.parametrize("recorded", [0.0, 0.01])
@pytest.mark.parametrize(
    "region",
    [
        lambda x: x[:, 0] > 1.2,
        lambda x: (x[:, 1] > 0.6) & (x[:, 1] < 0.8),
        lambda x: x[:, 2] == 1,
        lambda x: x[:, 3] == 1,
        lambda x: (x[:, 2] == 0) & (x[:, 4] == 1),
        lambda x: (x[:, 2] == 1) & (x[:, 0] > 0.8),
        lambda x: (x[:, 0] < -0.4) & (x[:, 1] > 1.4),
    ],
    ids=["end", "middle", "half", "level", "two levels", "level and end", "two ends"],
)
def test_a_hole_is_found_with_its_limits(region, recorded):
    x, observed = _table(region, recorded=recorded)
    (hole,) = _found(x, observed)
    inside, true = hole.contains(x), region(x)
    assert hole.panel == 0
    assert (inside & true).sum() >= 0.8 * max(inside.sum(), true.sum())
    assert (hole.rows, hole.recorded) == (inside.sum(), observed[inside, 0].sum())


def test_none_is_found_in_plain_tables():
    """Of 20 tables; 3 or more at a rate of 2 % have a probability of 0.007."""
    assert sum(bool(_found(*_table(n=300, seed=seed))) for seed in range(20)) <= 2


def test_several_holes_of_a_panel_are_found():
    x, observed = _table(lambda x: (x[:, 3] == 1) | (x[:, 0] > 1.2))
    holes = _found(x, observed)
    assert sorted(hole.conditions[0].column for hole in holes) == [0, 3]


def test_each_of_many_numbered_sites_without_records_is_found():
    rng = np.random.default_rng(0)
    site = rng.integers(0, 20, 2000).astype(float)
    observed = (rng.random(2000) < 0.6) & (site % 2 == 0)
    x = np.column_stack([site, np.where(observed, rng.normal(size=2000), np.nan)])
    holes = find_holes(x, observed[:, None], np.eye(2, dtype=bool)[1:])
    assert sorted(hole.conditions[0].low for hole in holes) == [*range(1, 19, 2), 19]


def test_levels_that_are_rare_one_by_one_are_one_region():
    """Of 40 sites with 25 rows each, 16 have no record."""
    rng = np.random.default_rng(1)
    site = rng.integers(0, 40, 1000)
    observed = (rng.random(1000) < 0.6) & (site >= 16)
    levels = (site[:, None] == np.arange(40)).astype(float)
    x = np.column_stack([levels, np.where(observed, rng.normal(size=1000), np.nan)])
    provides = np.eye(41, dtype=bool)[40:]
    (hole,) = find_holes(x, observed[:, None], provides, [range(40)])
    np.testing.assert_array_equal(hole.contains(x), site < 16)
    assert {condition.column for condition in hole.conditions} == {*range(16, 40)}
    anywhere = rng.random((1000, 1)) < 0.6
    assert find_holes(x, anywhere, provides, [range(40)]) == ()


def test_panels_that_are_never_recorded_jointly_are_a_hole_of_each():
    """Among the second half, one or the other; each alone is recorded everywhere."""
    x, observed = _table()
    x[:, 5:] = np.random.default_rng(1).normal(size=(len(x), 2))
    half = x[:, 2] == 1
    observed[half, 1] = ~observed[half, 0]
    x[:, 5:][~observed] = np.nan
    holes = _found(x, observed)
    assert [hole.panel for hole in holes] == [0, 1]
    for hole, other in zip(holes, (6, 5), strict=True):
        (of_half,) = [c for c in hole.conditions if c.column == 2]
        (of_other,) = [c for c in hole.conditions if c.column == other]
        assert (of_half.low, of_other.open, hole.recorded) == (1, True, 0)
        assert hole.rows == (half & ~np.isnan(x[:, other])).sum()


def test_results_of_another_panel_bound_a_hole():
    x, observed = _table()
    observed[x[:, 6] > 0.5, 0] = False
    x[~observed[:, 0], 5] = np.nan
    (hole,) = _found(x, observed)
    (condition,) = hole.conditions
    assert (hole.panel, condition.column) == (0, 6)
    assert condition.low == pytest.approx(0.5, abs=0.05)
    assert not hole.contains(x)[~observed[:, 1]].any()


@pytest.mark.parametrize("observed", [np.zeros((300, 2), bool), np.ones((300, 2), bool)])
def test_a_panel_of_all_records_or_of_none_has_no_hole(observed):
    x, _ = _table(n=300)
    x[:, 5:] = np.where(observed, 1.0, np.nan)
    assert _found(x, observed) == ()
    assert fewest_recorded(x, observed, PROVIDES) == []


def test_order_of_rows_and_units_of_numbers_change_nothing():
    x, observed = _table(lambda x: (x[:, 2] == 1) & (x[:, 0] > 0.8))
    order = np.random.default_rng(1).permutation(len(x))
    holes = _found(x, observed)
    assert _found(x[order], observed[order]) == holes
    y = x.copy()
    y[:, 0] = np.exp(x[:, 0])
    (moved,) = _found(y, observed)
    np.testing.assert_array_equal(moved.contains(y), holes[0].contains(x))


def test_the_stratum_with_the_fewest_records():
    x, observed = _table(lambda x: x[:, 0] > 1.2)
    first, second = fewest_recorded(x, observed, PROVIDES)
    assert (first.panel, first.recorded) == (0, 0)
    assert first.rows >= 50
    assert second.panel == 1
    assert 0 < second.recorded < 25


@pytest.mark.parametrize(
    "x",
    [
        np.empty((50, 0)),
        np.ones((50, 1)),
        np.full((50, 1), np.nan),
        np.arange(5.0)[:, None],
        np.empty((0, 1)),
    ],
    ids=["no column", "constant", "never known", "five rows", "no row"],
)
def test_tables_without_regions_have_no_hole(x):
    observed = np.arange(len(x))[:, None] % 2 == 0
    assert find_holes(x, observed, np.zeros((1, x.shape[1]), dtype=bool)) == ()


def test_many_rows_are_searched_by_a_sample_and_counted_in_full():
    x, observed = _table(lambda x: x[:, 2] == 1, n=20_500)
    (hole,) = _found(x, observed)
    assert (hole.rows, hole.recorded) == (x[:, 2].sum(), 0)
