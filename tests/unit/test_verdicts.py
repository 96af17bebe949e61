"""One answer for a scenario, in numbers and in words."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from frugal.judge.comparisons import compare
from frugal.judge.registry import ESTIMATORS, READ
from frugal.judge.verdicts import Words, estimator_to_read, of_cost, percent, verdict
from scipy.stats import norm

WORDS = Words("euro", {"first": "the first estimator", "second": "the second"}, 10.0, 0.05)
ORDER = ["first", "second"]


def _rows(costs: dict[str, float], **changes: Any) -> pd.DataFrame:
    """Rows of the summary: every agent by both estimators."""
    rows = pd.DataFrame(
        [
            {
                "agent": agent,
                "estimator": name,
                "estimate": cost,
                "status": "ok",
                "reason": "",
                "n": 1000,
                "ess": 400.0,
                "largest_weight_share": 0.01,
                "simultaneous_low": cost - 0.05,
                "simultaneous_high": cost + 0.05,
            }
            for agent, cost in costs.items()
            for name in ORDER
        ]
    )
    return rows.assign(**changes)


def _pairs(rows: pd.DataFrame, error: float) -> pd.DataFrame:
    """Their comparisons, all estimates being independent with one standard error."""
    found = []
    for name, mine in rows.groupby("estimator"):
        agents, value = list(mine["agent"]), mine["estimate"].to_numpy()
        compared = compare(value, np.eye(len(value)) * error**2, np.random.default_rng(0))
        for a, agent in enumerate(agents):
            for b, other in enumerate(agents):
                if a != b:
                    half = compared.half_width[a, b]
                    found.append(
                        {
                            "estimator": name,
                            "agent": agent,
                            "other": other,
                            "difference": compared.difference[a, b],
                            "ci_low": compared.difference[a, b] - half,
                            "ci_high": compared.difference[a, b] + half,
                            "std_error": compared.std_error[a, b],
                            "bound": compared.most[a, b],
                            "not_worse": compared.not_worse[a],
                        }
                    )
    columns = ["estimator", "agent", "other", "not_worse", "bound", "std_error"]
    return pd.DataFrame(found, columns=None if found else columns)


def _tips(rows: pd.DataFrame, gamma: float) -> pd.DataFrame:
    """Every estimator's cheapest policy tips at the same Γ."""
    held = rows[rows["ess"] >= 30].sort_values("estimate")
    cheapest = held.groupby("estimator", as_index=False).first()[["estimator", "agent"]]
    return cheapest.assign(tipping_gamma=gamma, tipping_other="never")


def _verdict_on(
    costs: dict[str, float], error: float, gamma: float = 1.8, **changes: Any
) -> dict[str, Any]:
    rows = _rows(costs, **changes)
    return _verdict(rows, _pairs(rows, error), gamma)


def _verdict(rows: pd.DataFrame, pairs: pd.DataFrame, gamma: float = 2.0) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return verdict(rows, pairs, _tips(rows, gamma), ORDER, WORDS, rng)


def _worth(gap: float, error: float) -> float:
    """E max(0, D), D the true saving by the dearer of two independent estimates."""
    law = norm(-gap, np.sqrt(2) * error)
    return float(law.expect(lambda saving: saving, lb=0))


def test_a_verdict_that_is_sure_says_what_hidden_causes_would_have_to_do():
    costs = {"dqn": 1.68, "random_90": 1.87, "never": 3.0}
    found = _verdict_on(costs, 0.02, 1.83)
    assert (found["tipping_gamma"], found["tipping_other"]) == (1.83, "never")
    assert str(found["sentence"]).endswith(
        "effective sample size 400 of 1,000; it would change if hidden causes shifted the odds of "
        "a set by 1.8."
    )
    assert str(_verdict_on(costs, 0.02, np.inf)["sentence"]).endswith(
        "; it would not change if hidden causes shifted the odds of a set by 10."
    )
    assert "hidden" not in str(_verdict_on(costs, 2.0)["sentence"])  # chance alone may change it


def test_a_policy_that_is_cheaper_by_more_than_chance_is_to_be_used():
    found = _verdict_on({"dqn": 1.68, "random_90": 1.87, "never": 3.0}, 0.02)
    assert (found["agent"], found["runner_up"], found["sure"]) == ("dqn", "random_90", True)
    assert found["not_worse"] == "dqn"
    assert found["difference"] == pytest.approx(0.19)
    assert found["ci_low"] < 1.68 < found["ci_high"]
    assert found["difference_low"] > 0
    assert (found["state"], found["bound"]) == ("best", 0)
    assert 0 <= float(str(found["worth"])) < 0.001
    assert str(found["sentence"]).startswith(
        "Use dqn: 1.68 euro a case (1.63 to 1.73). Best: no other policy tried is cheaper than dqn "
        "(95 %). The next, random 90, costs 0.19 euro (0.1"
    )
    assert "more. Read from the first estimator; effective sample size 400 of 1,000" in str(
        found["sentence"]
    )


def test_a_verdict_is_not_the_best_where_the_interval_to_the_next_crosses_zero():
    rows = _rows({"dqn": 1.0, "never": 1.4})
    pairs = _pairs(rows, 0.1).assign(not_worse=lambda all_pairs: all_pairs["agent"] == "dqn")
    mine = pairs["agent"] == "dqn"
    for high, state in ((0.1, "short_list"), (0.04, "good_enough"), (-0.01, "best")):
        pairs.loc[mine, ["ci_low", "ci_high"]] = -0.9, high
        found = _verdict(rows, pairs)
        assert (found["not_worse"], found["difference_low"]) == ("dqn", -high)
        assert (found["state"], found["sure"]) == (state, state == "best")
        assert found["bound"] == max(high, 0)


@pytest.mark.parametrize(
    ("error", "state", "text"),
    [
        (0.005, "good_enough", "Good enough: no other policy tried is cheaper than dqn by more"),
        (0.3, "short_list", "Short list: dqn and never may be the best; none is cheaper than dqn"),
    ],
)
def test_policies_that_may_both_be_the_best_have_a_bound_and_a_worth_of_knowing(error, state, text):
    found = _verdict_on({"never": 1.001, "dqn": 1.0, "always": 5.0}, error)
    assert (found["agent"], found["runner_up"], found["sure"]) == ("dqn", "never", False)
    assert (found["not_worse"], found["state"]) == ("dqn,never", state)
    assert found["worth"] == pytest.approx(_worth(0.001, error), rel=0.1)
    assert found["bound"] == pytest.approx(2.1 * np.sqrt(2) * error, rel=0.2)
    assert str(found["sentence"]).startswith(f"Use dqn: 1 euro a case (0.95 to 1.05). {text}")


def test_a_policy_on_too_few_rows_does_not_widen_the_bound():
    costs = {"never": 1.001, "dqn": 1.0, "always": 0.9}
    rows = _rows(costs)
    rows.loc[rows["agent"] == "always", "ess"] = 3.0
    pairs = _pairs(rows, 0.1)
    found = _verdict(rows, pairs)
    mine = (pairs["estimator"] == "first") & (pairs["agent"] == "dqn")
    assert found["bound"] == pairs.loc[mine & (pairs["other"] == "never"), "bound"].item()
    assert found["worth"] == pytest.approx(_worth(0.001, 0.1), rel=0.1)


def test_the_estimator_that_is_read_follows_from_the_order_and_what_stands_on_enough_rows():
    rows = _rows({"a": 1.0, "b": 2.0})
    assert estimator_to_read(rows, ORDER) == "first"
    assert estimator_to_read(rows, ORDER[::-1]) == "second"
    thin = rows["estimator"] == "first"
    for column, value in (("ess", 12.0), ("largest_weight_share", 0.4), ("status", "no_support")):
        weaker = rows.astype({"status": object})
        weaker.loc[thin, column] = value
        assert estimator_to_read(weaker, ORDER) == "second", column
    assert estimator_to_read(rows.assign(ess=12.0), ORDER) is None


def test_a_policy_on_too_few_rows_is_left_out_and_named():
    rows = _rows({"a": 1.0, "b": 2.0, "c": 0.1})
    rows.loc[rows["agent"] == "c", "ess"] = 3.0
    found = _verdict(rows, _pairs(rows, 0.01))
    assert (found["agent"], found["left_out"]) == ("a", "c")
    assert "Left out, on too few rows: c." in str(found["sentence"])


def test_what_nothing_can_read_is_a_verdict_with_its_reason():
    reason = "The propensity is not identified"
    found = _verdict_on({"a": 1.0, "b": 2.0}, 0.1, status="not_identified", reason=reason)
    assert (found["agent"], found["estimator"], found["sure"]) == ("", "", False)
    assert found["sentence"] == "Open: The propensity is not identified."
    thin = _verdict_on({"a": 1.0, "b": 2.0}, 0.1, ess=4.0)
    assert "effective sample size is below 30" in str(thin["sentence"])


def test_a_single_policy_is_judged_and_not_preferred():
    found = _verdict_on({"a": 1.0}, 0.1)
    assert (found["agent"], found["runner_up"], found["state"]) == ("a", "", "open")
    assert str(found["sentence"]).startswith("Only a can be judged: 1 euro a case (0.95 to 1.05)")


def test_what_is_read_is_weighted_and_known_without_the_truth():
    assert READ == ["stabilised_afais_s_policy", "stabilised_ipw"]
    assert all(ESTIMATORS[name].propensity is not None for name in READ)


@pytest.mark.parametrize(
    ("bound", "share"), [(5.23, "5.23 %"), (5.0, "5 %"), (4.96, "4.96 %"), (18.2, "18 %")]
)
def test_a_bound_that_is_not_the_margin_is_not_shown_as_it(bound, share):
    assert of_cost(bound, 100.0, "EUR", 0.05).endswith(f"({share} of the cost)")


def test_a_small_share_is_not_shown_as_none():
    assert [percent(share) for share in (0.0, 0.004, 0.006)] == ["0 %", "less than 1 %", "1 %"]
