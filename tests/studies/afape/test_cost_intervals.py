"""Intervals of a cost: where a cost can be, and with room for errors that no row shows."""

from dataclasses import replace

import numpy as np
import pytest
from frugal.judge.estimator import Terms
from frugal.judge.estimators.inverse_probability import ipw, stabilised_ipw
from frugal.judge.estimators.unweighted import complete_case, ground_truth
from frugal.judge.intervals import estimate, normal_interval, standard_error
from frugal.judge.sums import WeightSums
from frugal.studies.afape.cost_intervals import (
    CostRange,
    ErrorCosts,
    UnseenErrors,
    cost_interval,
    cost_range,
    range_findings,
    unseen_errors,
)
from scipy.stats import binom

from tests.studies.afape.test_afape_stages import verdicts_of
from tests.unit.afape_chain import AGENTS, run_chain, small_table
from tests.unit.in_blocks import cut, rows_of

pytestmark = pytest.mark.trains

ERROR = 100.0
WITHIN = CostRange(least=0.0, most=145.0, least_error=0.0, most_error=ERROR)
PARTS = 2  # column of the misclassification cost


def outcomes(errors: int, n: int, *, panels: float = 45.0) -> np.ndarray:
    """Cost, its part of acquisition, and that of errors, of n rows. (n, 3)"""
    error = np.where(np.arange(n) < errors, ERROR, 0.0)
    return np.stack([panels + error, np.full(n, panels), error], axis=1)


def unseen(terms: Terms, within: CostRange) -> UnseenErrors:
    """From two blocks."""
    first, rest = (rows_of(terms, rows) for rows in cut(len(terms.weight), 2))
    before = ErrorCosts.of(first, PARTS)
    costs = before + ErrorCosts.of(rest, PARTS, before)
    return unseen_errors(costs, WeightSums.of(first.weight) + WeightSums.of(rest.weight), within)


def interval(terms: Terms, within: CostRange = WITHIN) -> tuple[float, float]:
    """The 95 % interval of the cost."""
    centre, error = estimate(terms), standard_error(terms)
    low, high = normal_interval(centre, error, level=0.95)
    ends = float(centre[0]), float(low[0]), float(high[0])
    return cost_interval(*ends, unseen(terms, within), within)


def test_no_error_in_89_complete_cases_leaves_room_for_three():
    outcome = np.vstack([outcomes(0, 89), np.full((11, 3), np.nan)])
    terms = complete_case(outcome, np.arange(100) < 89)
    low, high = interval(terms)
    assert (low, high) == (45.0, pytest.approx(45 + 3 / 89 * ERROR))
    (found,) = unseen(terms, WITHIN).findings
    assert found.name == "error_cost_without_spread"
    assert "an effective sample size of 89.0 leaves room for 3.4% of cases" in found.sentence


def test_the_widened_interval_covers_an_error_rate_of_one_in_n():
    """Enumerated over all counts of errors among 89 rows, no draws; without the rule: 63 %."""
    n = 89
    errors = np.arange(30)
    truth = 45 + ERROR / n
    ends = np.array([interval(ground_truth(outcomes(int(k), n))) for k in errors])
    held = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    assert binom.pmf(errors, n, 1 / n)[held].sum() >= 0.95
    assert not held[20]


def test_what_errors_may_be_unseen_follows_the_weights():
    e = np.where(np.arange(60) % 2, 0.1, 0.9)
    outcome = outcomes(0, 60)
    for build in (ipw, stabilised_ipw):
        terms = build(outcome, np.ones(60, dtype=bool), e)
        n = (1 / e).sum() ** 2 / (1 / e**2).sum()
        found = unseen(terms, WITHIN)
        assert found.above == pytest.approx(3 / n * ERROR)
        assert found.below == 0


def test_room_is_on_both_sides_where_all_costs_are_the_same_and_neither_least_nor_most():
    outcome = outcomes(50, 50) * np.array([1, 1, 0.25])  # all rows: 25
    found = unseen(ground_truth(outcome), WITHIN)
    assert (found.below, found.above) == (pytest.approx(0.06 * 25), pytest.approx(0.06 * 75))


def test_nothing_is_added_where_costs_vary_or_cannot():
    one = unseen(ground_truth(outcomes(1, 89)), WITHIN)
    assert (one.below, one.above, one.findings) == (0, 0, ())
    same = replace(WITHIN, most_error=0.0)
    assert unseen(ground_truth(outcomes(0, 89)), same).findings == ()


def test_two_rows_without_an_error_say_nothing():
    low, high = interval(ground_truth(outcomes(0, 2)))
    assert (low, high) == (45, 145)


def test_an_interval_stays_where_a_cost_can_be():
    few = ground_truth(outcomes(1, 4, panels=0.0))
    assert normal_interval(estimate(few), standard_error(few), level=0.95)[0][0] < 0
    low, high = interval(few)
    assert low == 0
    assert high == pytest.approx(25 + 1.959964 * 25)


def test_an_estimate_that_no_cost_can_be_is_named_and_its_interval_is_that_of_the_nearest():
    terms = Terms(np.full((50, 3), -341.0) + np.arange(50)[:, None], np.ones(50), np.ones(50))
    centre, half = estimate(terms)[0], 1.959964 * standard_error(terms)[0]
    low, high = interval(terms)
    assert (low, high) == (0, pytest.approx(half))
    (found,) = range_findings(float(centre), WITHIN)
    assert found.name == "outside_range"
    assert "The estimate is -316.5, but a case costs 0 to 145" in found.sentence
    for least, cost in ((0.0, 145.0 * (1 + 1e-12)), (5.0, 7.0)):
        assert range_findings(cost, replace(WITHIN, least=least)) == ()


def test_the_range_of_a_table_is_from_nothing_to_everything():
    table = small_table()
    free = replace(table, misclassification_cost=np.array([[1.0, 30.0], [5.0, 1.0]]))
    assert cost_range(free) == CostRange(least=1.0, most=32.0, least_error=1.0, most_error=30.0)


@pytest.fixture(scope="module")
def certain():
    """Two panels of one case each; a free column tells the label, so that no row is an error."""
    table = small_table(140)
    table.values[:, 0] = 2.0 * table.label - 1
    laws = {panel: {"intercept": 1.0, "values": {}, "indicators": {}} for panel in ("P2", "P3")}
    return run_chain(table, laws, source="induced")


def test_the_stage_says_that_no_error_was_seen(certain):
    frame = certain.estimates["estimates"]
    done = frame[frame["status"] == "ok"]
    assert (done["misclassification_cost"].abs() < 1e-9).all()
    assert done["warning"].str.contains("error_cost_without_spread").all()
    assert (done["ci_low"] >= 0).all()
    assert (done["ci_high"] <= 3).all()
    always = done[done["agent"] == list(AGENTS)[1]].set_index("estimator")
    row = always.loc["complete_case"]
    assert row["std_error"] == 0
    for low, high in (("ci_low", "ci_high"), ("resample_low", "resample_high")):
        assert row[low] == pytest.approx(2)
        assert row[high] == pytest.approx(2 + 3 / row["ess"])


@pytest.mark.parametrize("agents", [AGENTS, {"always": AGENTS["always"]}])
def test_the_interval_of_a_verdict_holds_that_of_the_summary_with_room_for_unseen_errors(agents):
    """Errors of two in a hundred cases: a skewed cost of few rows; and none at all."""
    for errors in (3, 0):
        table = small_table(200)
        table.values[:, 0] = 2.0 * table.label - 1
        table.label[100 : 100 + errors] = 1 - table.label[100 : 100 + errors]
        laws = {panel: {"intercept": 0.0, "values": {}, "indicators": {}} for panel in ("P2", "P3")}
        made = run_chain(table, laws, source="induced", agents=agents)
        rows = made.estimates["estimates"]
        done = rows[rows["status"] == "ok"]
        assert (done["simultaneous_low"] <= done["ci_low"]).all()
        assert (done["ci_high"] <= done["simultaneous_high"]).all()
        found = verdicts_of(made).iloc[0]
        row = done.set_index(["estimator", "agent"]).loc[(found["estimator"], found["agent"])]
        ends = found[["ci_low", "ci_high"]].tolist()
        assert ends == row[["simultaneous_low", "simultaneous_high"]].tolist()
        assert ends[1] > found["estimate"]
        if len(agents) == 1:
            assert ends == row[["ci_low", "ci_high"]].tolist()


def test_the_difference_of_two_policies_has_room_for_errors_that_neither_shows(certain):
    frame = certain.estimates["estimates"].query("estimator == 'blocking'").set_index("agent")
    pair = certain.estimates["comparisons"].query("estimator == 'blocking'").set_index("agent")
    above = (pair["ci_high"] - pair["difference"]).loc["half"]
    below = (pair["difference"] - pair["ci_low"]).loc["half"]
    assert above == pytest.approx(below)  # either policy may err in so many cases
    assert above > 1.9 * pair.loc["half", "std_error"] + 3 / frame.loc["half", "ess"]
