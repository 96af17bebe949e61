"""Baselines of dadi read what the agents may read: free columns, gaps, tables in any order."""

import numpy as np
import pytest
from frugal.core.errors import ConfigError
from frugal.judge.fairness import auc_interval
from frugal.studies.dadi.fair_baselines import (
    Options,
    PanelSample,
    evenly,
    fair_baseline,
    fitted,
    shown_columns,
)

pytestmark = pytest.mark.trains

N = 1200
BOOSTING = {"trees": 10, "leaves": 4, "learning_rate": 0.2, "min_leaf": 10}
KINDS = {
    "logistic": {"kind": "logistic"},
    "boosting": {"kind": "boosting"},
    "lasso": {"kind": "lasso", "most": 1, "parity": 0.0},
    "forward": {"kind": "forward", "most": 1, "gamma": 1.0},
    "reduction": {"kind": "reduction", "bound": 0.5, "rounds": 3},
}


@pytest.fixture(scope="module")
def sample():
    """Column 0 is free and tells the label, panel 0 has a gap, panel 1 is noise.

    The label turns around on panel 0 in the first sixth of the rows, as where a file is sorted.
    """
    rng = np.random.default_rng(5)
    label, group = rng.integers(0, 2, N), rng.integers(0, 2, N)
    values = rng.standard_normal((N, 3))
    values[:, 0] += 2 * label
    values[:, 1] += 3 * (label - 0.5) * (np.arange(N) >= N // 6)
    values[rng.random(N) < 0.1, 1] = np.nan
    part = np.arange(N) % 3
    provides = np.array([[False, True, False], [False, False, True]])
    return PanelSample(values, provides, label, group, part == 0, part == 1)


def options(most_rows: int) -> Options:
    return Options(1e-4, BOOSTING, most_rows, np.random.default_rng(0))


@pytest.mark.filterwarnings("ignore")  # fairlearn writes to Series as pandas 4 no longer allows
@pytest.mark.parametrize("kind", KINDS)
def test_free_columns_are_read_and_gaps_stop_nobody(sample, kind):
    chosen, one = KINDS[kind], fair_baseline(kind)
    free = shown_columns(sample.provides, np.zeros(2, dtype=bool))
    assert one.predict is not None
    probability = one.predict(sample, free, chosen, options(N))
    # the free column alone: normals two standard deviations apart have the AUC Phi(sqrt 2) = 0.92
    # as a score; a reduction's mixture takes few values, whose AUC is near its accuracy, 0.84
    assert auc_interval(sample.label, probability, level=0.95).value > 0.75
    panels, whole = fitted(sample, one, chosen, options(N))
    assert np.isfinite(whole).all()
    assert panels.all() == one.reads_all


def test_gaps_are_filled_with_the_mean_of_training(sample):
    """Standardised values have the mean 0."""
    gap = np.isnan(sample.values)
    assert gap.any()
    assert (sample.filled[gap] == 0).all()
    assert np.array_equal(sample.filled[~gap], sample.values[~gap])
    values, label, group = sample.of(np.array([7, 3]))
    assert np.array_equal(values, sample.filled[[7, 3]])
    assert label.tolist() == sample.label[[7, 3]].tolist()
    assert group.tolist() == sample.sensitive[[7, 3]].tolist()


@pytest.mark.parametrize("kind", ["lasso", "forward"])
def test_a_selection_on_some_rows_reads_all_parts_of_the_table(sample, kind):
    choose = fair_baseline(kind).choose
    assert choose is not None
    found = choose(sample, KINDS[kind], options(N // 18))
    assert found.tolist() == [True, False]


def test_an_unknown_kind_is_refused_with_those_that_there_are():
    with pytest.raises(ConfigError, match="kind 'ridge'; allowed are network, boosting, logistic"):
        fair_baseline("ridge")


def test_rows_are_taken_at_equal_distances_and_once():
    rows = np.arange(20) % 2 == 0
    assert evenly(rows, most=3).tolist() == [0, 6, 12]
    assert evenly(rows, most=10).tolist() == evenly(rows, most=99).tolist() == [*range(0, 20, 2)]
    assert not len(evenly(np.zeros(4, dtype=bool), most=3))
