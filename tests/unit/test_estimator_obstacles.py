"""Why an estimator cannot be computed: every status, with the sentence that goes with it."""

import re
from dataclasses import replace

import numpy as np
import pytest
from frugal.judge.case import IMPUTATIONS as IMPUTED
from frugal.judge.case import Case
from frugal.judge.registry import ESTIMATORS
from frugal.studies.afape import obstacles
from frugal.studies.afape.evidence import PolicyEvidence

N = 6
OBSERVED = np.array([[1, 1], [1, 1], [1, 0], [0, 1], [1, 1], [0, 0]], dtype=bool)
KNOWN = {
    "propensity_identified": True,
    "afais_identified": True,
    "s": [],
    "factors": [
        {"panel": name, "columns": ["X1"], "condition_panels": []} for name in ("P1", "P2")
    ],
    "reasons": ["Missingness depends on X1.", "All 2 smaller sets fail, the smaller set {} too."],
}


def obstacle(estimator, case: Case):
    """Why it cannot be computed for a case; the same in one block and in two."""
    found, halves = PolicyEvidence([estimator]), PolicyEvidence([estimator])
    found.add(case)
    for rows in (slice(0, N // 2), slice(N // 2, N)):
        halves.add(rows_of(case, rows))
    why = obstacles.obstacle(estimator, found)
    assert obstacles.obstacle(estimator, halves) == why
    return why


def rows_of(case: Case, rows: slice) -> Case:
    """Some rows of a case."""
    arrays = {
        name: value[rows] for name, value in vars(case).items() if isinstance(value, np.ndarray)
    }
    fitted = {name: value[rows] for name, value in case.fitted.items()}
    imputed = {name: value[:, rows] for name, value in case.imputed.items()}
    return replace(case, **arrays, fitted=fitted, imputed=imputed)


def outcomes(sets: np.ndarray) -> np.ndarray:
    """Cost, its two parts, and the acquired sets. (n, 5)"""
    acquisition = sets.sum(axis=1).astype(float)
    return np.column_stack([acquisition + 1, acquisition, np.ones(len(sets)), sets])


def healthy_case() -> Case:
    """A case in which every estimator can be computed."""
    probability = np.full(N, 0.5)
    names = ["propensity", "s_propensity", "afa_propensity", "afa_propensity_policy"]
    names += ["needed_propensity", "complete_probability", "true_afa_propensity"]
    fitted = {name: probability.copy() for name in names}
    # the policy ends with each recorded set as often as the records hold it
    fitted |= dict.fromkeys(["set_probability", "sequence_probability"], np.full(N, 0.25))
    fitted["pattern_propensity"] = np.full(N, 0.25)
    return Case(
        blocked=outcomes(OBSERVED),
        full=outcomes(OBSERVED),
        in_record_order=np.ones(N),
        recorded=outcomes(OBSERVED),
        imputed={m: outcomes(OBSERVED)[None] for m in IMPUTED},
        observed=OBSERVED,
        s_observed=np.ones(N, dtype=bool),
        fitted=fitted,
        panels=["P1", "P2"],
        factors=np.full((N, 2), 0.7),
        outcome_mean=np.ones((N, 3)),
        identification=KNOWN,
        reads_values=False,
        afa_propensity_suffices=True,
    )


def with_fitted(case, **changes):
    return replace(case, fitted={**case.fitted, **changes})


def with_identification(case, **changes):
    return replace(case, identification=KNOWN | changes)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_nothing_stands_in_the_way_of_a_healthy_case(name):
    case = healthy_case()
    assert obstacle(ESTIMATORS[name], case) is None
    terms = ESTIMATORS[name].terms(case)
    assert np.isfinite(terms.numerator).all()
    assert terms.denominator.shape == (N,)


UNKNOWN = np.full(N, np.nan)
HOLE = np.where(np.arange(N) == 3, np.nan, 0.25)
EVERY_ROW = ["afais", "stabilised_afais"]
FITTED = ["ipw", "stabilised_ipw", *EVERY_ROW, "afais_s", "stabilised_afais_s"]
FITTED += ["stabilised_afais_s_policy", "off_policy_set", "off_policy_sequence", "doubly_robust"]
FITTED += ["doubly_robust_afais"]
LAW = ["stabilised_ipw_true", "stabilised_afais_s_true"]
SOME_SETS = np.array([[1, 1]] * 3 + [[0, 1]] * 3, dtype=bool)
IMPUTATIONS = [
    "imputation_chained_trees",
    "imputation_missforest",
    "multiple_imputation",
    "multiple_imputation_label",
]
SEARCHED, CASE, each = ["off_policy_set", "off_policy_sequence"], healthy_case(), dict.fromkeys
CASES = {
    "no truth": (
        replace(CASE, full=None),
        {"ground_truth": ("not_available", "the truth is unknown")},
    ),
    "no imputation": (
        replace(CASE, imputed={}),
        each(IMPUTATIONS, ("not_available", "leaves this imputation out")),
    ),
    "no law": (
        with_fitted(CASE, complete_probability=UNKNOWN),
        each(LAW, ("not_available", "its law is unknown")),
    ),
    "propensity not identified": (
        with_identification(
            CASE,
            propensity_identified=False,
            afais_identified=False,
            s=None,
            reasons=["p(R = 1 | X_adj) is not identified: column X3 causes its own gaps."],
        ),
        each(FITTED, ("not_identified", "causes its own gaps")),
    ),
    "adjustment columns are missing themselves": (
        with_identification(CASE, afais_identified=False, s=["P2"]),
        each(EVERY_ROW, ("not_identified", "smaller set")),
    ),
    "another s was requested": (
        with_identification(CASE, s=["P2"]),
        each(EVERY_ROW, ("not_available", "The config asks for s = P2")),
    ),
    "indicators cause each other": (
        with_fitted(CASE, afa_propensity_policy=UNKNOWN, pattern_propensity=UNKNOWN),
        each(
            ["stabilised_afais_s_policy", "doubly_robust_afais"],
            ("not_available", "do not tell its law"),
        )
        | each(SEARCHED, ("not_identified", "so that p.R=r.X_adj. is not known")),
    ),
    "s propensity does not factorise": (
        with_fitted(CASE, s_propensity=UNKNOWN),
        each(["doubly_robust", "doubly_robust_afais"], ("not_identified", "does not factorise")),
    ),
    "a recorded pattern cannot be evaluated": (
        with_fitted(CASE, pattern_propensity=HOLE),
        each(SEARCHED, ("not_identified", "evaluated on 1 rows")),
    ),
    "a set of the policy is in no record": (
        replace(CASE, observed=SOME_SETS),
        each(SEARCHED, ("no_support", "50% of the policy's")),
    ),
    "a set of a policy that reads values is in no record": (
        replace(CASE, observed=SOME_SETS, reads_values=True),
        each(SEARCHED, ("no_support", "33% of the policy's")),
    ),
    "an order of the policy is in no record": (
        with_fitted(CASE, sequence_probability=np.full(N, 0.125)),
        {"off_policy_sequence": ("no_support", "50% of the policy's .* in an order that no")},
    ),
    "an order of a policy that reads values is in no record": (
        replace(CASE, reads_values=True, in_record_order=np.array([1.0, 1, 1, 1, 0, 0])),
        {"off_policy_sequence": ("no_support", "33% of the policy's .* causes first")},
    ),
    "weights do not sum to one, and the truth is unknown": (
        replace(
            with_fitted(CASE, set_probability=np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.11])),
            full=None,
            in_record_order=None,
            reads_values=True,
        ),
        {
            "off_policy_set": ("no_support", r"average 0\.41 \(standard error 0\.01\)"),
            "ground_truth": ("not_available", "the truth is unknown"),
        },
    ),
    "a propensity of zero": (
        with_fitted(CASE, propensity=np.where(np.arange(N) == 0, 0.0, 0.5)),
        each(
            [name for name in FITTED if not name.startswith("off_policy")],
            ("no_support", "is 0 in 1 of the rows"),
        ),
    ),
    "a propensity of zero on an incomplete row": (
        with_fitted(CASE, propensity=np.where(np.arange(N) == 2, 0.0, 0.5)),
        each([name for name in FITTED if "afais" in name], ("no_support", "is 0 in 1 of the rows")),
    ),
    "a true propensity of zero": (
        with_fitted(CASE, complete_probability=np.where(np.arange(N) == 0, 0.0, 0.5)),
        each(LAW, ("no_support", "is 0 in 1 of the rows")),
    ),
    "a law of a panel without a record to learn from": (
        replace(CASE, factors=np.column_stack([np.full(N, 0.5), UNKNOWN])),
        each(FITTED, ("no_support", "law of panel 'P2' is not known there")),
    ),
    "an AFA propensity by the policy that is not known in one row": (
        with_fitted(CASE, afa_propensity_policy=HOLE),
        each(
            ["stabilised_afais_s_policy", "doubly_robust_afais"],
            ("no_support", "policy is not known in 1 of the 6 rows .* panel 'P1' can be missing"),
        ),
    ),
    "a fitted AFA propensity that is not known in one row": (
        with_fitted(CASE, afa_propensity=HOLE),
        each(
            [*EVERY_ROW, "afais_s", "stabilised_afais_s"],
            ("no_support", "not known in 1 of the 6 rows .* under 'split'"),
        ),
    ),
    "mean costs without a complete record to learn from": (
        replace(CASE, outcome_mean=np.full((N, 3), np.nan)),
        each(
            ["doubly_robust", "doubly_robust_afais"], ("no_support", "no complete record to learn")
        ),
    ),
    "a policy with too many sets": (
        with_fitted(CASE, set_probability=HOLE),
        {"off_policy_set": ("not_available", "many sets of the 2 panels .* in 1 rows")},
    ),
    "a recorded pattern of probability zero": (
        with_fitted(CASE, pattern_propensity=np.where(np.arange(N) == 3, 0.0, 0.25)),
        each(SEARCHED, ("no_support", "is 0 in 1 of the rows")),
    ),
}


@pytest.mark.parametrize("what", CASES)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_obstacle_stops_the_estimators_that_it_concerns_and_no_others(what, name):
    case, stopped = CASES[what]
    found = obstacle(ESTIMATORS[name], case)
    if name not in stopped:
        assert found is None
        return
    status, words = stopped[name]
    assert found is not None
    assert found[0] == status
    assert re.search(words, found[1])


def test_rows_outside_s_need_no_propensity_of_s():
    case = replace(healthy_case(), s_observed=np.arange(N) < 3)
    fitted = np.where(np.arange(N) < 3, 0.5, np.nan)
    assert obstacle(ESTIMATORS["doubly_robust"], with_fitted(case, s_propensity=fitted)) is None


def test_a_mean_weight_within_its_noise_is_no_gap():
    own = np.array([0.5, 0.5, 0.125, 0.125, 0.0, 0.0])  # mean weight 0.83 ± 0.38
    case = replace(
        with_fitted(healthy_case(), set_probability=own),
        full=None,
        in_record_order=None,
        reads_values=True,
    )
    assert obstacle(ESTIMATORS["off_policy_set"], case) is None


def test_a_policy_that_ignores_values_has_an_exact_gap_on_own_records():
    """Weights far from 1 on average, by the fit: every set of the policy is in the records."""
    case = replace(healthy_case(), full=None, in_record_order=None)
    fitted = with_fitted(case, pattern_propensity=np.full(N, 0.3))
    assert obstacle(ESTIMATORS["off_policy_set"], fitted) is None


def test_a_pattern_that_the_policy_cannot_reach_may_stay_unknown():
    never = np.where(np.isnan(HOLE), 0.0, 1 / 3)
    case = with_fitted(healthy_case(), pattern_propensity=HOLE, set_probability=never)
    assert obstacle(ESTIMATORS["off_policy_set"], case) is None
