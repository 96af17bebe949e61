import numpy as np
import pytest
from frugal.judge.estimators.inverse_probability import ipw, stabilised_ipw
from frugal.judge.intervals import influence, skewed_interval
from frugal.judge.positivity import propensity_findings
from frugal.judge.summary import summarise

from tests.unit.estimator_cases import draw_rows


def test_all_figures_of_one_row_of_results():
    rows = draw_rows(2000, 2, 0)
    terms = stabilised_ipw(rows.outcome, rows.complete, rows.propensity)
    found = summarise(terms, level=0.95, findings=())
    assert found.status == "ok"
    assert found.reason == ""
    assert found.n == 2000
    assert found.usable_rows == rows.complete.sum()
    weight = 1 / rows.propensity[rows.complete]
    assert found.ess == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert found.largest_weight_share == pytest.approx(weight.max() / weight.sum())
    low, high = skewed_interval(found.estimate, influence(terms), terms.weight, level=0.95)
    np.testing.assert_array_equal([found.ci_low, found.ci_high], [low, high])
    assert found.findings == ()


@pytest.mark.parametrize("build", [ipw, stabilised_ipw])
def test_no_complete_case_is_a_status_with_a_reason(build):
    complete, e = np.zeros(8, dtype=bool), np.full(8, 0.5)
    terms = build(np.ones((8, 3)), complete, e)
    found = summarise(terms, level=0.95, findings=propensity_findings(complete, e))
    assert found.status == "no_support"
    assert "None of 8 rows has every panel observed" in found.reason
    assert [f.name for f in found.findings] == ["no_complete_case", "no_usable_row"]
    for value in (found.estimate, found.std_error, found.ci_low, found.ci_high):
        assert value.shape == (3,)
        assert np.isnan(value).all()
    assert (found.usable_rows, found.ess, found.largest_weight_share) == (0, 0.0, 0.0)
