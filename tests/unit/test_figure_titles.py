"""Titles of figures say what their tables hold: every number in them is recounted here."""

import pandas as pd
from frugal.studies.afape.figures import estimates as afape
from frugal.studies.dadi import figures as dadi
from frugal.studies.diagnosis import figures as diagnosis
from frugal.studies.recourse import figures as recourse
from frugal.studies.treatment import figures as treatment


def test_estimators_are_named_by_their_mean_error_and_the_truth_is_not():
    rows = pd.DataFrame(
        [("ground_truth", 0.0), ("ipw", 0.1), ("ipw", -0.3), ("blocking", 0.5), ("afais", None)],
        columns=["estimator", "error"],
    )
    said = afape.errors_finding(rows)
    assert (
        said == "in the mean nearest to the truth is IPW, off by 0.200; farthest blocking, by 0.500"
    )
    assert afape.errors_finding(rows[:3]) == "how estimates scatter"


def test_blocking_is_shown_where_it_misleads_most():
    shares = {
        "blocking": pd.Series({"a": 0.2, "b": 0.5}),
        "ground_truth": pd.Series({"a": 0.28, "b": 0.8}),
    }
    assert "DQN would acquire b for 80 % of cases, not the 50 %" in afape.frequency_finding(
        shares, "dqn"
    )
    shares["blocking"] = shares["ground_truth"]
    assert afape.frequency_finding(shares, "dqn") == "blocking keeps every share of DQN"
    costs = pd.DataFrame(
        [
            ("d", "mar", a, e, c)
            for a, e, c in (
                ("dqn", "blocking", 2.0),
                ("dqn", "ground_truth", 2.5),
                ("never", "blocking", 1.0),
                ("never", "ground_truth", 1.1),
            )
        ],
        columns=["dataset", "mechanism", "agent", "estimator", "cost"],
    )
    assert (
        afape.costs_finding(costs) == "by blocking DQN seems to cost 0.50 less than it truly does"
    )


def test_calibration_weighs_bins_by_their_rows():
    bins = pd.DataFrame(
        {"nuisance": ["p", "q"], "mean_probability": [0.5, 0.2], "rate": [0.6, 0.2], "n": [10, 90]}
    )
    said = "off by 0.010 in the mean of rows, by 0.10 in the worst bin (p, 10 rows)"
    assert said in afape.calibration_finding(bins)


def test_the_cheapest_family_that_reaches_all_panels_is_named_or_the_nearest():
    means = pd.DataFrame(
        [
            ("cwcf", 0.3, 0.79, 0.02),
            ("cwcf", 0.6, 0.81, 0.02),
            ("greedy", 0.5, 0.785, 0.02),
            ("best_full", 1.0, 0.80, 0.02),
        ],
        columns=["method", "cost_share", "f1", "f1_se"],
    )
    said = diagnosis.families_finding(means, "best_full", "f1")
    assert said == (
        "CWCF reaches F1 0.79 for 30 % of the price; a classifier on all panels 0.80 ± 0.02"
    )
    low = means.assign(f1=means["f1"].where(means["method"] == "best_full", means["f1"] - 0.1))
    assert "CWCF comes nearest: F1 0.71 for 60 %" in diagnosis.families_finding(
        low, "best_full", "f1"
    )


def test_a_front_is_stated_by_its_ends():
    rows = pd.DataFrame(
        [
            ("greedy", 0.0, True, 0.2),
            ("greedy", 50.0, True, 0.8),
            ("greedy", 60.0, False, 0.9),
            ("forest_full", 400.0, False, 0.85),
        ],
        columns=["method", "cost", "on_front", "f1"],
    )
    assert diagnosis.front_finding(rows, "greedy", "f1") == (
        "greedy information has F1 0.20 for 0 a unit, 0.80 for 50; "
        "a classifier on all panels 0.85 for 400"
    )


def test_groups_are_weighed_by_their_units():
    table = pd.DataFrame(
        [
            ("a", "x", 0.1, 90),
            ("a", "x", 0.6, 10),
            ("b", "x", 0.5, 10),
            ("b", "y", 0.2, 10),
            ("a", "y", 0.2, 100),
        ],
        columns=["group", "panel", "share", "n"],
    )
    assert diagnosis.shares_finding(table) == "x is ordered for 50 % of b, for 15 % of a"


def test_generators_are_stated_by_what_they_find():
    shares = pd.Series({"hamming": 0.35, "dense_named": 0.75, "full_action": 0.976})
    said = recourse.accuracy_finding(shares)
    assert said.startswith("“full action, scores” finds the cheapest actions of 97.6 % of units")
    assert said.endswith("“named, dense (MC)” of 75 %")
    bins = pd.DataFrame(
        {
            "generator": ["hamming"] * 2,
            "mean_confidence": [0.5, 0.9],
            "accuracy": [0.4, 0.9],
            "n": [30, 10],
        }
    )
    assert recourse.confidence_finding(bins) == "Hamming is off by 0.07 from its stated confidence"
    rows = pd.DataFrame({"repaired_infeasible_share": [0.0], "repair_cost_gap": [0.26]})
    assert "every answer works; repaired ones cost 26 to 26 % more" in recourse.repair_finding(rows)


def test_searches_are_stated_by_the_trials_to_nearly_the_highest_efficacy():
    means = pd.DataFrame(
        [("true", "cg", 0.90, 2.0), ("true", "cg", 1.0, 3.0), ("true", "cdp", 0.96, 2.5)],
        columns=["facet", "series", "efficacy", "mean_trials"],
    )
    said = treatment.search_finding(means)
    assert said.startswith("to find for 95 % of units ")
    assert "2.50 trials" in said
    assert said.endswith("3.00")


def test_disparity_is_stated_at_nearly_the_same_auc():
    agents = pd.DataFrame(
        {
            "gamma": [0.1, 0.3, 0.5],
            "auc": [0.6, 0.8, 0.79],
            "disparity": [0.0, 0.0, 0.05],
            "degenerate": [False, True, False],
        }
    )
    whole = pd.DataFrame({"auc": [0.80], "disparity": [0.12], "degenerate": [False]})
    assert dadi.tradeoff_finding(agents, whole) == (
        "disparity 0.050 instead of 0.120 with all panels, at AUC 0.79 instead of 0.80 (γ = 0.5)"
    )
    audit = pd.DataFrame(
        [
            ("dadi", 0.1, "sensitive", 0.6),
            ("dadi", 0.1, "sensitive", 0.62),
            ("dadi", 0.5, "sensitive", 0.7),
            ("all_panels", None, "sensitive", 0.75),
        ],
        columns=["method", "gamma", "target", "auc"],
    )
    assert dadi.audit_finding(audit) == (
        "outsiders predict the group with AUC 0.62 from what γ = 0.1 collects, 0.75 from all panels"
    )
