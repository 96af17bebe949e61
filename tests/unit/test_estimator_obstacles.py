"""Why an estimator cannot be computed: every status, with the sentence that goes with it."""

from dataclasses import replace

import numpy as np
import pytest
from frugal.stages._estimators import ESTIMATORS, Case, obstacle

N = 6
OBSERVED = np.array([[1, 1], [1, 1], [1, 0], [0, 1], [1, 1], [0, 0]], dtype=bool)
KNOWN = {
    "propensity_identified": True,
    "afais_identified": True,
    "s": [],
    "reasons": ["Missingness depends on X1.", "All 2 smaller sets fail, the smaller set {} too."],
}


def outcomes(sets: np.ndarray) -> np.ndarray:
    """Cost, its two parts, and the acquired sets. (n, 5)"""
    acquisition = sets.sum(axis=1).astype(float)
    return np.column_stack([acquisition + 1, acquisition, np.ones(len(sets)), sets])


def healthy_case() -> Case:
    """A case in which every estimator can be computed."""
    probability = np.full(N, 0.5)
    names = ["propensity", "s_propensity", "afa_propensity", "afa_propensity_policy"]
    names += ["complete_probability", "true_afa_propensity"]
    fitted = {name: probability.copy() for name in names}
    # the policy ends with each recorded set as often as the records hold it
    fitted |= dict.fromkeys(["set_probability", "sequence_probability"], np.full(N, 0.25))
    fitted["pattern_propensity"] = np.full(N, 0.25)
    return Case(
        blocked=outcomes(OBSERVED),
        full=outcomes(OBSERVED),
        recorded=outcomes(OBSERVED),
        imputed={m: outcomes(OBSERVED)[None] for m in ("missforest", "multiple", "multiple_label")},
        observed=OBSERVED,
        s_observed=np.ones(N, dtype=bool),
        fitted=fitted,
        outcome_mean=np.ones((N, 3)),
        identification=KNOWN,
    )


def with_fitted(case, **changes):
    return replace(case, fitted={**case.fitted, **changes})


def with_identification(case, **changes):
    return replace(case, identification=KNOWN | changes)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_nothing_stands_in_the_way_of_a_healthy_case(name):
    case = healthy_case()
    assert obstacle(name, case) is None
    terms = ESTIMATORS[name](case)
    assert np.isfinite(terms.numerator).all()
    assert terms.denominator.shape == (N,)


UNKNOWN = np.full(N, np.nan)
HOLE = np.where(np.arange(N) == 3, np.nan, 0.25)
EVERY_ROW = ["afais", "stabilised_afais"]
FITTED = [
    "ipw",
    "stabilised_ipw",
    *EVERY_ROW,
    "afais_s",
    "stabilised_afais_s",
    "stabilised_afais_s_policy",
    "off_policy_set",
    "off_policy_sequence",
    "doubly_robust",
    "doubly_robust_afais",
]
LAW = ["stabilised_ipw_true", "stabilised_afais_s_true"]
IMPUTATIONS = ["imputation_missforest", "multiple_imputation", "multiple_imputation_label"]
CASES = {
    "no truth": (
        replace(healthy_case(), full=None),
        {"ground_truth": ("not_available", "the truth is unknown")},
    ),
    "no imputation": (
        replace(healthy_case(), imputed={}),
        dict.fromkeys(IMPUTATIONS, ("not_available", "leaves this imputation out")),
    ),
    "no law": (
        with_fitted(healthy_case(), complete_probability=UNKNOWN),
        dict.fromkeys(LAW, ("not_available", "its law is unknown")),
    ),
    "propensity not identified": (
        with_identification(
            healthy_case(),
            propensity_identified=False,
            afais_identified=False,
            s=None,
            reasons=["p(R = 1 | X_adj) is not identified: column X3 causes its own gaps."],
        ),
        dict.fromkeys(FITTED, ("not_identified", "causes its own gaps")),
    ),
    "adjustment columns are missing themselves": (
        with_identification(healthy_case(), afais_identified=False, s=["P2"]),
        dict.fromkeys(EVERY_ROW, ("not_identified", "smaller set")),
    ),
    "another s was asked for": (
        with_identification(healthy_case(), s=["P2"]),
        dict.fromkeys(EVERY_ROW, ("not_available", "The config asks for s = P2")),
    ),
    "indicators cause each other": (
        with_fitted(healthy_case(), afa_propensity_policy=UNKNOWN, pattern_propensity=UNKNOWN),
        dict.fromkeys(
            ["stabilised_afais_s_policy", "doubly_robust_afais"],
            ("not_available", "no law of patterns"),
        )
        | dict.fromkeys(
            ["off_policy_set", "off_policy_sequence"],
            ("not_identified", "is no product of the factors"),
        ),
    ),
    "s propensity does not factorise": (
        with_fitted(healthy_case(), s_propensity=UNKNOWN),
        dict.fromkeys(
            ["doubly_robust", "doubly_robust_afais"], ("not_identified", "does not factorise")
        ),
    ),
    "a recorded pattern cannot be evaluated": (
        with_fitted(healthy_case(), pattern_propensity=HOLE),
        dict.fromkeys(
            ["off_policy_set", "off_policy_sequence"], ("not_identified", "evaluated on 1 rows")
        ),
    ),
    "a set of the policy is in no record": (
        replace(
            healthy_case(),
            observed=np.array([[1, 1]] * 3 + [[0, 1]] * 3, dtype=bool),
        ),
        dict.fromkeys(
            ["off_policy_set", "off_policy_sequence"], ("no_support", "About 33% of the policy's")
        ),
    ),
    "weights do not sum to one, and the truth is unknown": (
        replace(with_fitted(healthy_case(), set_probability=np.full(N, 0.1)), full=None),
        {
            "off_policy_set": ("no_support", "About 60% of the policy's"),
            "ground_truth": ("not_available", "the truth is unknown"),
        },
    ),
}


@pytest.mark.parametrize("what", CASES)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_obstacle_stops_the_estimators_that_it_concerns_and_no_others(what, name):
    case, stopped = CASES[what]
    found = obstacle(name, case)
    if name not in stopped:
        assert found is None
        return
    status, words = stopped[name]
    assert found is not None
    assert found[0] == status
    assert words in found[1]


def test_rows_outside_s_need_no_propensity_of_s():
    case = replace(healthy_case(), s_observed=np.arange(N) < 3)
    fitted = np.where(np.arange(N) < 3, 0.5, np.nan)
    assert obstacle("doubly_robust", with_fitted(case, s_propensity=fitted)) is None


def test_a_pattern_that_the_policy_cannot_reach_may_stay_unknown():
    never = np.where(np.isnan(HOLE), 0.0, 0.3)
    case = with_fitted(healthy_case(), pattern_propensity=HOLE, set_probability=never)
    assert obstacle("off_policy_set", case) is None
