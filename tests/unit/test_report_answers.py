"""What the report's cards say: policy, price, what would change it, in the words of the rows."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from frugal.judge.verdicts import CONTRADICTED, REASONS
from frugal.studies.afape.stages.exploring import answers_of
from frugal.studies.dadi.stages.explore_dadi import _answers as fair_answers
from frugal.studies.diagnosis.stages.explore_diagnosis import _answers as panel_answers

VERDICT: dict[str, Any] = {"dataset": "visits", "mechanism": "own", "seed": 0, "agent": "tree_one"}
VERDICT |= {"estimator": "stabilised_ipw", "estimate": 2.0, "ci_low": 1.0, "ci_high": 3.0}
VERDICT |= {"runner_up": "tree_two", "difference": 1.0, "not_worse": "tree_one", "sure": True}
VERDICT |= {"ess": 80.0, "n": 100, "state": "best", "bound": 0.0, "worth": 0.0}
VERDICT |= {"tipping_gamma": 2.5, "tipping_other": "tree_three", "by_group": ""}
VERDICT |= {"reason": REASONS["best"], "sentence": "Use tree one."}


def card(**changes) -> dict:
    """The answers to what is asked of a verdict."""
    rows = pd.DataFrame([VERDICT | changes])
    (found,) = answers_of(rows, {"visits": "EUR"}, {"passed": [1]})
    return found["by_question"]


def test_the_best_policy_has_no_rival_and_the_card_says_what_hidden_causes_would_need():
    found = card()
    assert found["which policy"] == (
        f"tree one; {REASONS['best']}. The same policy in 1 of 1 draws of the gaps; best in 1."
    )
    assert "2.5 times could make tree three the cheaper policy" in found["what would change it"]


@pytest.mark.parametrize("state", ["good_enough", "short_list"])
@pytest.mark.parametrize(
    ("not_worse", "rivals"), [("tree_one,a_b,c", "a b, c"), ("tree_one", "tree two")]
)
def test_an_answer_that_is_not_the_best_has_its_rivals_and_the_bound(not_worse, rivals, state):
    changes = {"state": state, "sure": False, "not_worse": not_worse, "bound": 0.5, "worth": 0.1}
    rows = pd.DataFrame([VERDICT | changes])
    (found,) = answers_of(rows, {"visits": "EUR"}, {"passed": [1]})
    plain = state.replace("_", " ")
    assert (found["state"], found["sure"]) == (plain, state == "good_enough")
    assert found["sentence"] == (
        "Use tree one: 2 EUR a case; no other policy is cheaper by more than 0.5 (25%)."
    )
    assert found["by_question"]["which policy"].startswith(f"tree one; {plain} with {rivals}. ")
    assert found["by_question"]["what would change it"] == (
        f"Chance alone could: {rivals} may be cheaper, by at most 0.5 EUR a case; to know which "
        "would save at most 0.1 EUR a case."
    )


def test_an_answer_whose_graph_is_refuted_is_not_relied_on():
    found = card(sure=False, state="open", reason=CONTRADICTED)
    assert found["what would change it"] == f"It cannot be relied on yet: {CONTRADICTED}."


def solution(method: str, pair: int, f1: float, cost: float, **changes) -> dict:
    return {
        "dataset": "clinic",
        "criterion": "f1",
        "seed": 0,
        "family": method,
        "method": method,
        "pair": pair,
        "score": "f1",
        "budget_share": 0.4,
        "f1": f1,
        "f1_se": 0.02,
        "cost": cost,
        "validation_f1": f1 + 0.01,
        "validation_cost": cost - 1,
        "full_cost": 100.0,
        "n": 200,
        "positives": 40,
    } | changes


def test_a_card_says_what_an_f1_costs_by_the_cheapest_policy_that_reached_it():
    rows = pd.DataFrame(
        [
            solution("deep", 0, 0.85, 40.0),
            solution("trees", 1, 0.81, 20.0),
            solution("trees", 2, 0.60, 5.0),
            solution("baselines", 3, 0.95, 1.0),
            solution("deep", 4, 0.99, 3.0, criterion="am"),
        ]
    )
    match = {"dataset": "clinic", "seed": "0", "criterion": "f1", "method": "deep", "pair": "0"}
    stops = [
        {"budget": 0.0, "match": match | {"method": "trees", "pair": "2"}},
        {"budget": 39.0, "match": match},
        {"budget": 41.0, "match": match | {"method": "trees", "pair": "1"}},
    ]
    slider = {"begins": {"clinic": 40.0}, "stops": stops}
    (found,) = panel_answers(rows, rows, 0.4, [slider], {"clinic": "EUR"}, {"passed": [1]})
    assert found["row"] == 0
    assert "deep reaches an F1 of 0.85" in found["sentence"]
    dear = slider | {"stops": stops[2:]}
    assert panel_answers(rows, rows, 0.4, [dear], {"clinic": "EUR"}, {"passed": [1]}) == []
    assert (
        "F1 0.8 on validation units costs 19 EUR (trees, solution 1: 0.81 on test units for 20). "
        "No learned policy reaches F1 0.9 on validation units."
    ) in found["by_question"]["what does it cost"]
    assert "Within two standard errors of it: trees." in found["by_question"]["how sure is it"]


def test_a_fair_card_names_the_panels_and_the_next_agents_on_the_front():
    row = {
        "dataset": "form",
        "method": "dadi",
        "gamma": 0.5,
        "auc": 0.8,
        "disparity": 0.05,
        "on_front": True,
        "features_acquired": 2.5,
        "audit_auc": 0.88,
        "degenerate": False,
    }
    means = pd.DataFrame(
        [
            row,
            row | {"gamma": 0.0, "auc": 0.6, "disparity": 0.01},
            row | {"gamma": 0.2, "auc": 0.7, "disparity": 0.02},
            row | {"gamma": 0.7, "auc": 0.82, "disparity": 0.07},
            row | {"gamma": 0.9, "auc": 0.79, "disparity": 0.03, "on_front": False},
        ]
    )
    least = pd.DataFrame(
        [
            row
            | {
                "disparity_low": 0.0,
                "disparity_high": 0.1,
                "family": "dadi",
                "folds": 2,
                "reference_auc": 0.81,
                "reference_disparity": 0.09,
                "disparity_cut": 0.04,
                "disparity_cut_low": 0.01,
                "disparity_cut_high": 0.07,
            }
        ]
    )
    selection = pd.DataFrame(
        [
            {
                "dataset": "form",
                "gamma": gamma,
                "stratum": stratum,
                "panel": panel,
                "frequency": share,
            }
            for gamma in (0.2, 0.5)
            for panel, shares in (
                ("age", (1.0, 0.99)),
                ("debt", (0.6, 0.2)),
                ("postcode", (0.0, 0.02)),
            )
            for stratum, share in zip("01", np.array(shares) * (gamma == 0.5), strict=True)
        ]
    )
    (found,) = fair_answers(least, means, selection, 5)
    said = found["by_question"]
    assert "The gap is 0.05 (0 to 0.1), smaller by 0.04 (0.01 to 0.07)" in said["how sure is it"]
    assert "with an AUC of 0.88." in said["whom does it treat worse"]
    assert "Collected of nearly everybody: age; of some: debt (40%)." in said["which policy"]
    assert said["what would change it"].startswith(
        "A smaller disparity costs AUC: disparity 0.02 at AUC 0.7 with γ = 0.2. "
        "More AUC widens the disparity: disparity 0.07 at AUC 0.82 with γ = 0.7."
    )
