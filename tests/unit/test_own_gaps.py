"""Tables of one's own with rare gaps: nothing that a fit says of one row stops the study.

Shaped like the two public tables that did: 307 test rows with one gap of one panel (UCI HCV), and
panels whose gaps follow from each other's (UCI chronic kidney disease).
"""

from dataclasses import replace

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.judge.registry import ESTIMATORS
from frugal.learn import nuisance_choice

from tests.unit.afape_chain import Chain, run_chain
from tests.unit.missingness_tables import table_of

pytestmark = pytest.mark.trains

TRAIN = 80  # rows of `frames` that the classifier learns from
AGENTS = {
    "half": {"kind": "random", "probability": 0.5},
    "always": {"kind": "fixed", "panels": "all"},
    "never": {"kind": "fixed", "panels": "none"},
    "by_alt": {
        "kind": "rule",
        "steps": [{"panel": "ALT"}, {"panel": "AST", "when": {"column": "X4", "above": 0.5}}],
    },
}
WEIGHTED = ["ipw", "stabilised_ipw", "afais_s", "stabilised_afais_s", "stabilised_afais_s_policy"]
WEIGHTED += ["doubly_robust", "doubly_robust_afais"]
STATUSES = {"ok", "not_available", "not_identified", "no_support"}


def blood_table(gaps, *, test=307):
    """Five panels of one column, age free; `gaps`: panel → test rows that lack it."""
    values = np.random.default_rng(3).normal(size=(TRAIN + test, 6))
    panels = dict(zip(["person", "protein", "ALP", "ALT", "AST", "CHOL"], range(6), strict=True))
    for panel, rows in gaps.items():
        values[TRAIN + np.asarray(rows), panels[panel]] = np.nan
    return table_of(values, {name: [f"X{c + 1}"] for name, c in panels.items()}, ["person"])


NO_CAUSES = {panel: {} for panel in ("protein", "ALP", "ALT", "AST", "CHOL")}
ONE_GAP = {"ALT": [270], "ALP": range(0, 9), "CHOL": range(5, 12), "protein": range(100, 120)}
LATER = {
    "protein": {"values": ["X1"]},
    "ALP": {"values": ["X1"], "indicators": ["protein"]},
    "ALT": {"values": ["X1"], "indicators": ["ALP"]},
    "AST": {"values": ["X1"], "indicators": ["ALT", "ALP"]},
    "CHOL": {"values": ["X1"], "indicators": ["AST", "ALP"]},
}
FOLLOWING = {  # whoever lacks one panel lacks the next, but for single rows
    "protein": range(0, 20),
    "ALP": range(0, 19),
    "ALT": range(1, 20),
    "AST": range(0, 18),
    "CHOL": range(2, 40),
}


@pytest.fixture(scope="module")
def one_gap():
    return run_chain(blood_table(ONE_GAP), NO_CAUSES, source="own", agents=AGENTS)


@pytest.fixture(scope="module")
def following():
    return run_chain(blood_table(FOLLOWING, test=160), LATER, source="own", agents=AGENTS)


def every_row_has_an_estimate_or_a_reason(chain: Chain):
    rows = chain.estimates["estimates"]
    ok = rows["status"] == "ok"
    assert set(rows["status"]) <= STATUSES
    assert np.isfinite(rows.loc[ok, "estimate"]).all()
    assert (rows.loc[~ok, "reason"].str.len() > 20).all()


def test_one_gap_among_the_test_rows_leaves_every_estimator(one_gap):
    every_row_has_an_estimate_or_a_reason(one_gap)
    for agent in AGENTS:
        status = one_gap.status(agent)
        assert {status[name] for name in [*WEIGHTED, "afais", "stabilised_afais"]} == {"ok"}


def test_indicators_that_cause_each_other_leave_every_estimator(following):
    every_row_has_an_estimate_or_a_reason(following)
    for agent in AGENTS:
        assert {following.status(agent)[name] for name in WEIGHTED} == {"ok"}


@pytest.mark.parametrize("chain", ["one_gap", "following"])
def test_no_fitted_law_is_sure(chain, request):
    made = request.getfixturevalue(chain).nuisances
    laws = made["propensities"].filter(like="factor:").to_numpy()
    others = made["propensities"][["propensity", "s_propensity", "pattern_propensity"]].to_numpy()
    for probability in (laws, others):
        probability = probability[np.isfinite(probability)]
        assert (probability > 0).all()
        assert (probability <= 1).all()
    assert (laws[np.isfinite(laws)] < 1).all()


def test_a_panel_that_no_graph_lets_be_missing_is_sure():
    """Structure and no fit: exactly 1, whatever the number of rows."""
    graph = {panel: law for panel, law in NO_CAUSES.items() if panel != "AST"}
    chain = run_chain(blood_table(ONE_GAP), graph, source="own", agents={"half": AGENTS["half"]})
    laws = chain.nuisances["propensities"]
    assert (laws["factor:AST"] == 1).all()
    assert (laws["factor:ALT"] < 1).all()


def test_laws_that_are_sure_cost_rows_that_name_the_panel(monkeypatch):
    """As fits were before: the gap is an event of probability 0 under the law of its own fold."""
    monkeypatch.setattr(nuisance_choice, "probability_bounds", lambda rows: (0.0, 1.0))
    agents = {"always": AGENTS["always"]}
    chain = run_chain(blood_table(ONE_GAP), NO_CAUSES, source="own", agents=agents)
    every_row_has_an_estimate_or_a_reason(chain)
    (row,) = chain.rows("stabilised_afais_s_policy").to_dict("records")
    reason = str(row["reason"])
    assert row["status"] == "no_support"
    assert reason.startswith("The AFA propensity by the policy is not known in 1 of the 307 rows")
    for words in ("panel 'ALT' can be missing", "rows under 'split' in the data set's YAML"):
        assert words in reason
    assert chain.status("always")["stabilised_ipw"] == "ok"
    later = run_chain(blood_table(FOLLOWING, test=160), LATER, source="own", agents=agents)
    every_row_has_an_estimate_or_a_reason(later)
    assert later.status("always")["stabilised_afais_s_policy"] == "no_support"


def test_whatever_an_estimator_refuses_is_a_row(monkeypatch):
    def refuse(case):
        raise DataError("a weight is 7 in row 3; it must lie in [0, 1]")

    refusing = replace(ESTIMATORS["ipw"], terms=refuse)
    monkeypatch.setitem(ESTIMATORS, "ipw", refusing)
    agents = {"half": AGENTS["half"]}
    chain = run_chain(blood_table(ONE_GAP), NO_CAUSES, source="own", agents=agents)
    (row,) = chain.rows("ipw").to_dict("records")
    assert row["status"] == "no_support"
    assert "a weight is 7 in row 3" in row["reason"]
    assert chain.status("half")["stabilised_ipw"] == "ok"


def test_what_the_bounds_move_is_within_what_the_page_says(one_gap, monkeypatch):
    """Weights change by at most p / (2m + 2 − p) for p panels; here of complete cases alone."""
    monkeypatch.setattr(nuisance_choice, "probability_bounds", lambda rows: (0.0, 1.0))
    agents = {"always": AGENTS["always"]}
    before = run_chain(blood_table(ONE_GAP), NO_CAUSES, source="own", agents=agents)
    rows, panels = 153, 5  # of two folds of 307; panels that can be missing
    for name in ("ipw", "stabilised_ipw"):
        after = one_gap.rows(name).set_index("agent").loc["always", "estimate"]
        (old,) = before.rows(name)["estimate"]
        assert abs(after / old - 1) <= panels / (2 * rows + 2 - panels)
