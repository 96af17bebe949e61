import numpy as np
import pytest
from frugal.judge.estimators.inverse_probability import ipw, stabilised_ipw
from frugal.judge.intervals import influence, skewed_interval
from frugal.judge.positivity import PropensitySums
from frugal.judge.sums import Spread, WeightSums

from tests.unit.estimator_cases import draw_rows
from tests.unit.in_blocks import summarise


@pytest.mark.parametrize("blocks", [1, 3])
def test_all_figures_of_one_row_of_results(blocks):
    rows = draw_rows(2000, 2, 0)
    terms = stabilised_ipw(rows.outcome, rows.complete, rows.propensity)
    found = summarise(terms, blocks=blocks)
    assert found.status == "ok"
    assert found.reason == ""
    assert found.n == 2000
    assert found.usable_rows == rows.complete.sum()
    weight = 1 / rows.propensity[rows.complete]
    assert found.ess == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert found.largest_weight_share == pytest.approx(weight.max() / weight.sum())
    spread, weights = Spread.of(influence(terms)), WeightSums.of(terms.weight)
    low, high = skewed_interval(found.estimate, spread, weights, level=0.95)
    np.testing.assert_allclose([found.ci_low[0], found.ci_high[0]], [low[0], high[0]], rtol=1e-12)
    assert found.findings == ()


@pytest.mark.parametrize("build", [ipw, stabilised_ipw])
def test_no_complete_case_is_a_status_with_a_reason(build):
    complete, e = np.zeros(8, dtype=bool), np.full(8, 0.5)
    terms = build(np.ones((8, 3)), complete, e)
    found = summarise(terms, findings=PropensitySums.of(complete, e).findings())
    assert found.status == "no_support"
    assert "None of 8 rows has every panel observed" in found.reason
    assert [f.name for f in found.findings] == ["no_complete_case", "no_usable_row"]
    assert np.isnan(found.estimate).tolist() == [True] * 3
    for value in (found.std_error, found.ci_low, found.ci_high):
        assert np.isnan(value).tolist() == [True]
    assert (found.usable_rows, found.ess, found.largest_weight_share) == (0, 0.0, 0.0)
