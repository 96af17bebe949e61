from itertools import product

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.judge.views import VIEWS, NeededSums, needed_probability, trajectory_count
from frugal.judge.views import data_efficiency as efficiency_of_counts

from tests.oracles.trajectories import orders_within, table_row


def data_efficiency(observed: np.ndarray):
    return efficiency_of_counts(np.bincount(observed.sum(axis=1), minlength=observed.shape[1] + 1))


def compare_positivity(probability, patterns, sets, *, threshold: float):
    """From the sums of two blocks."""
    needed = needed_probability(probability, patterns, sets)
    parts = [NeededSums.of(one, threshold) for one in (needed[:, :1], needed[:, 1:])]
    return (parts[0] + parts[1]).views()


def by_view(record: list[int]) -> dict[str, tuple[float, float]]:
    table = data_efficiency(np.array([record], dtype=bool))
    return {row.view: (row.trajectories, row.runs) for row in table}


def test_the_papers_example():
    partial, complete = by_view([1, 0, 1]), by_view([1, 1, 1])
    assert partial["off_policy_sequence"] == (1, 1)
    assert partial["off_policy_set"] == (2, 1)
    assert partial["black_box"] == (0, 0)
    assert partial["off_environment_bandit"] == (5, 4)
    assert partial["off_environment_sequence"] == (5, 5)
    assert complete["black_box"] == (16, 8)


@pytest.mark.parametrize("record", list(product([0, 1], repeat=4)))
def test_every_record_of_four_panels_against_listing_all_orders(record):
    assert by_view(list(record)) == table_row(list(record))


@pytest.mark.parametrize("panels", range(7))
def test_trajectory_count_against_listing(panels):
    assert trajectory_count(panels) == len(orders_within(list(range(panels))))


def test_the_table_is_a_mean_over_rows():
    mask = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 1]], dtype=bool)
    found = {row.view: row for row in data_efficiency(mask)}
    rows = [table_row(r.astype(int).tolist()) for r in mask]
    for view in VIEWS:
        assert found[view].trajectories == pytest.approx(np.mean([r[view][0] for r in rows]))
        assert found[view].runs == pytest.approx(np.mean([r[view][1] for r in rows]))
    assert found["black_box"].usable_share == 0.5


PATTERNS = np.array([[0, 0], [1, 0], [1, 1]], dtype=bool)
PROBABILITY = np.array([[0.5, 0.3, 0.2], [0.1, 0.895, 0.005]])


def compare(sets: list[list[int]], threshold: float) -> dict[str, tuple[float, float]]:
    rows = compare_positivity(
        PROBABILITY, PATTERNS, np.array(sets, dtype=bool), threshold=threshold
    )
    assert [row.view for row in rows] == list(VIEWS)
    assert [row.upper_bound for row in rows] == [True, False, False, False, False]
    return {row.view: (row.minimum, row.share_below) for row in rows}


def test_positivity_by_hand():
    found = compare([[0, 0], [1, 0]], 0.15)
    # off-policy needs both sets exactly: min(0.5, 0.3) and min(0.1, 0.895)
    assert found["off_policy_set"] == pytest.approx((0.1, 0.5))
    assert found["black_box"] == pytest.approx((0.005, 0.5))
    # off-environment: supersets of {}: 1; of {0}: 0.5 and 0.9
    assert found["off_environment_bandit"] == pytest.approx((0.5, 0.0))


def test_an_unlisted_pattern_has_no_support_but_its_supersets_do():
    found = compare([[0, 1]], 0.01)
    assert found["off_policy_set"] == (0.0, 1.0)
    assert found["off_environment_bandit"] == pytest.approx((0.005, 0.5))


def test_off_environment_requires_least_for_any_policy():
    rng = np.random.default_rng(0)
    patterns = np.array(list(product([0, 1], repeat=3)), dtype=bool)
    probability = rng.dirichlet(np.ones(8), size=50)
    for _ in range(20):
        sets = patterns[rng.random(8) < 0.4]
        if len(sets) == 0:
            continue
        rows = compare_positivity(probability, patterns, sets, threshold=0.01)
        least = {row.view: row.minimum for row in rows}
        assert least["off_environment_bandit"] >= least["black_box"] - 1e-15
        assert least["off_environment_bandit"] >= least["off_policy_set"] - 1e-15


@pytest.mark.parametrize(
    ("probability", "patterns", "sentence"),
    [
        (PROBABILITY, PATTERNS[[0, 0, 2]], "listed twice"),
        (PROBABILITY * 2, PATTERNS, r"not within|sum to"),
        (PROBABILITY * np.nan, PATTERNS, r"not within \[0, 1\]"),
        (PROBABILITY[:0], PATTERNS, "at least one of each"),
    ],
)
def test_refusals(probability, patterns, sentence):
    with pytest.raises(DataError, match=sentence):
        compare_positivity(probability, patterns, PATTERNS, threshold=0.01)


def test_an_empty_mask_is_refused():
    with pytest.raises(DataError, match="0 rows"):
        data_efficiency(np.zeros((0, 3), dtype=bool))


def test_counts_beyond_the_largest_float_are_infinite_where_a_row_has_them():
    few = np.zeros((2, 200), dtype=bool)
    assert all(np.isfinite(view.trajectories) for view in data_efficiency(few))
    by_view = {view.view: view for view in data_efficiency(np.ones((2, 200), dtype=bool))}
    assert by_view["black_box"].trajectories == np.inf
    assert by_view["off_environment_bandit"].runs == 2.0**200


def test_a_set_without_a_panel_that_is_never_lacked_is_no_pattern():
    """Panel 0 is in every pattern: R is never exactly {1}, but often more than it."""
    law, patterns = np.array([[0.7, 0.3]]), np.array([[True, True], [True, False]])
    for wanted, expected in (([False, True], [0.0, 0.7, 0.7]), ([True, False], [0.3, 0.7, 1.0])):
        found = needed_probability(law, patterns, np.array([wanted]))
        assert found[:, 0].tolist() == pytest.approx(expected, abs=1e-15)
