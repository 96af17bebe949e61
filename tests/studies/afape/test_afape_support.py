"""Which estimates of afape can be trusted: warnings, refusals and what records support."""

import numpy as np
import pandas as pd
import pytest
from frugal.judge.estimator import Need
from frugal.judge.registry import ESTIMATORS, READ

from tests.unit.afape_chain import run_chain, small_table

pytestmark = pytest.mark.trains

AGENTS = {
    "half": {"kind": "random", "probability": 0.5},
    "inside": {
        "kind": "rule",
        "steps": [{"panel": "P2"}, {"panel": "P3", "when": {"column": "X2", "above": 0}}],
    },
    "outside": {
        "kind": "rule",
        "steps": [{"panel": "P3"}, {"panel": "P2", "when": {"column": "X3", "above": 0}}],
    },
}
MNAR = {
    "P2": {"intercept": 1.0, "values": {"X1": 0.5}},
    "P3": {"intercept": 0.5, "values": {"X2": -0.5}},
}
GAPS = {"P2": 0.3, "P3": 0.3}
LATER = {"P2": {"values": ["X1"]}, "P3": {"values": ["X1"], "indicators": ["P2"]}}
APART = {"P2": {"values": ["X1"]}, "P3": {}}


@pytest.fixture(scope="module")
def induced():
    return run_chain(small_table(), MNAR, source="induced", agents=AGENTS)


@pytest.fixture(scope="module")
def apart():
    return run_chain(small_table(gaps=GAPS), APART, source="own", agents=AGENTS)


@pytest.fixture(scope="module")
def later():
    return run_chain(small_table(gaps=GAPS), LATER, source="own", agents=AGENTS)


def warned(chain):
    """Agents and estimators whose row warns that the policy reads values."""
    rows = chain.estimates["estimates"]
    rows = rows[rows["warning"].str.split(",").map(lambda names: "policy_reads_values" in names)]
    return {tuple(pair) for pair in rows[["agent", "estimator"]].to_numpy()}


def test_afais_as_in_the_paper_warns_of_values_that_are_read_outside_x_adj(induced, apart):
    """X_adj is X1, X2 under MNAR, and X1 alone of the own gaps, where every row can be used."""
    with_s = {"afais_s", "stabilised_afais_s"}
    assert warned(induced) == {("outside", name) for name in with_s}
    as_in_paper = [n for n, one in ESTIMATORS.items() if Need.AFA_PROPENSITY in one.needs]
    assert len(as_in_paper) == 4
    assert warned(apart) == {(who, name) for who in ("inside", "outside") for name in as_in_paper}


def test_afais_of_complete_rows_warns_of_nothing():
    """With s of all panels AFAIS is IPW, whose weights do not ask what the policy saw."""
    chain = run_chain(small_table(), MNAR, source="induced", s=["P2", "P3"], agents=AGENTS)
    assert warned(chain) == set()
    rows = chain.estimates["estimates"].set_index(["agent", "estimator"])["estimate"]
    for agent in AGENTS:
        assert rows[agent, "stabilised_afais_s"] == pytest.approx(rows[agent, "stabilised_ipw"])


def test_orders_that_no_record_has_stop_the_sequence_view_alone(apart):
    """Records list P2 before P3; the random agent takes P3 first in half of the pairs."""
    mar = {"P2": {"intercept": 1.0, "values": {"X1": 0.5}}, "P3": {"intercept": 0.5}}
    drawn = run_chain(small_table(), mar, source="induced", agents=AGENTS)
    for chain in (drawn, apart):
        rows = chain.rows("off_policy_sequence").set_index("agent")
        assert rows.loc["half", "status"] == "no_support"
        assert str(rows.loc["half", "reason"]).startswith("12% of the policy's run-time")
    rows = apart.estimates["estimates"].set_index(["agent", "estimator"])
    assert rows.loc[("half", "off_policy_set"), "status"] == "ok"
    assert rows.loc[("inside", "off_policy_sequence"), "status"] == "ok"
    by_agent = drawn.rows("off_policy_sequence").set_index("agent")
    full = drawn.worlds[(drawn.worlds["world"] == "full") & (drawn.worlds["agent"] == "outside")]
    both = full["acquired:P2"] & full["acquired:P3"]  # P3 came first
    reason = str(by_agent.loc["outside", "reason"])
    assert reason.startswith(f"{both.mean():.0%} of the policy's")
    assert by_agent.loc["inside", "status"] == "ok"


def test_a_gap_that_only_the_weights_show_counts_beyond_three_standard_errors():
    """The rule takes P3 first, so that its pairs are in no record's order: half of its episodes."""
    outside = {"outside": AGENTS["outside"]}
    chain = run_chain(small_table(1500, gaps=GAPS), APART, source="own", agents=outside)
    (reason,) = chain.rows("off_policy_sequence")["reason"]
    assert reason.startswith("The weights average 0.")
    assert "acquire panels in an order that no record like them holds" in reason
    assert chain.status("outside")["off_policy_set"] == "ok"


def test_ones_own_records_have_the_positivity_of_the_fitted_law(apart):
    """Of the random agent, which may end with any of four sets, from the stored factors."""
    table = apart.estimates["efficiency"]
    rows = table[table["agent"] == "half"].set_index("view")
    factors = apart.nuisances["propensities"]
    p, q = factors["factor:P2"].to_numpy(), factors["factor:P3"].to_numpy()
    exact = np.min([p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q)], axis=0)
    found = rows["minimum_probability"]
    assert found["off_policy_set"] == pytest.approx(exact.min(), rel=1e-12)
    assert found["black_box"] == pytest.approx((p * q).min(), rel=1e-12)
    assert found["off_environment_bandit"] == pytest.approx((p * q).min(), rel=1e-12)
    assert (rows["reason"] == "").all()


def test_without_a_law_of_patterns_the_positivity_has_a_reason(later):
    table = later.estimates["efficiency"]
    assert table["minimum_probability"].isna().all()
    assert table["reason"].str.contains("One missingness indicator causes another").all()


def test_indicators_that_cause_each_other_leave_every_estimator_but_the_truth(later):
    rows = later.estimates["estimates"].set_index(["agent", "estimator"])["status"]
    for agent in AGENTS:
        for name in ("stabilised_afais_s_policy", "doubly_robust_afais", "off_policy_set"):
            assert rows[agent, name] == "ok"
    calibration = later.nuisances["calibration"]
    assert "p(R=P3), a cause missing" in set(calibration["nuisance"])


def test_a_law_without_a_row_to_learn_from_costs_its_estimators_and_nothing_else():
    """P3 is recorded in one test row alone: the fold that holds it learns from no record of P3."""
    table = small_table()
    table.values[80:, [2, 3]] = np.nan
    table.values[100, [2, 3]] = 0.5
    causes = {"P2": {"values": ["X3"]}, "P3": {}}
    chain = run_chain(table, causes, source="own", agents=AGENTS)
    rows = chain.estimates["estimates"].set_index(["agent", "estimator"])
    for agent in AGENTS:
        assert rows.loc[(agent, "blocking"), "status"] == "ok"
        assert rows.loc[(agent, "stabilised_ipw"), "status"] == "no_support"
        reason = str(rows.loc[(agent, "stabilised_ipw"), "reason"])
        for words in ("in 160 of the 160 rows", "law of panel 'P2'", "X3", "under 'split'"):
            assert words in reason
        assert rows.loc[(agent, "off_policy_set"), "reason"] == reason
    assert chain.estimates["efficiency"]["minimum_probability"].isna().all()


LEAVES_GAPS_ALONE = {
    "never": {"kind": "fixed", "panels": "none"},
    "recorded": {"kind": "fixed", "panels": ["P2"]},  # P2 is in every record
    "rule": {"kind": "rule", "steps": [{"panel": "P2", "when": {"column": "X1", "above": 0}}]},
}


@pytest.mark.parametrize("cause", ["X2", "X3"])  # X3 is of P3 itself: not identified
def test_what_a_policy_costs_that_requests_for_no_panel_with_gaps_is_the_mean_of_all_rows(cause):
    laws = {"P3": {"intercept": 0.0, "values": {cause: 1.0}}}
    agents = LEAVES_GAPS_ALONE | {"always": {"kind": "fixed", "panels": "all"}}
    chain = run_chain(small_table(), laws, source="induced", agents=agents)
    numbers = ["estimate", "std_error", "ci_low", "ci_high"]
    rows = chain.estimates["estimates"].query("agent in @LEAVES_GAPS_ALONE").set_index("agent")
    truth = rows.query("estimator == 'ground_truth'")
    for name in READ:
        read = rows[rows["estimator"] == name]
        assert set(zip(read["status"], read["ess"], strict=True)) == {("ok", 160)}
        pd.testing.assert_series_equal(read["warning"], truth["warning"])
        pd.testing.assert_frame_equal(read[numbers], truth[numbers], rtol=1e-12)
    ranges = chain.estimates["sensitivity"].query("agent in @LEAVES_GAPS_ALONE")
    assert (ranges["high"] - ranges["low"]).abs().max() < 1e-12  # no hidden cause can matter
    matters = chain.nuisances["agents"].groupby("agent")["gaps_matter"].unique()
    assert matters.to_dict() == {name: [name == "always"] for name in agents}
    assert chain.status("always")[READ[0]] == ("ok" if cause == "X2" else "not_identified")


def test_a_policy_that_would_ask_for_a_gap_is_not_taken_for_one_that_requests_for_none():
    """It buys P3 where X1 is high, and there P3 is missing: on these records it never buys any."""
    table = small_table()
    table.values[table.values[:, 0] > 1, 2:] = np.nan
    asks = {"kind": "rule", "steps": [{"panel": "P3", "when": {"column": "X1", "above": 1}}]}
    chain = run_chain(table, {"P3": {"values": ["X1"]}}, source="own", agents={"asks": asks})
    assert not chain.blocked["acquired:P3"].any()
    assert chain.nuisances["agents"]["gaps_matter"].all()
