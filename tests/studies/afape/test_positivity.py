import numpy as np
from frugal.judge.sums import WeightSums
from frugal.studies.afape.positivity import (
    FAR_FROM_ONE,
    PropensitySums,
    gap_findings,
    mean_findings,
    policy_findings,
    resample_findings,
)
from frugal.studies.afape.positivity import weight_findings as findings_of_sums


def names(findings) -> list[str]:
    return [f.name for f in findings]


def weight_findings(weight: np.ndarray):
    return findings_of_sums(WeightSums.of(weight[:5]) + WeightSums.of(weight[5:], 5))


def propensity_findings(complete: np.ndarray, e: np.ndarray):
    first, rest = slice(0, 3), slice(3, None)
    sums = [PropensitySums.of(complete[rows], e[rows]) for rows in (first, rest)]
    return (sums[0] + sums[1]).findings()


def support_findings(sets, mass, acquired, weight, *, least_mass):
    seen = {np.ascontiguousarray(row).tobytes() for row in acquired[weight > 0]}
    return gap_findings(sets, mass, seen, least_mass=least_mass)


def test_equal_weights_on_many_rows_raise_nothing():
    assert weight_findings(np.ones(100)) == ()


def test_one_heavy_row_is_named_with_its_share():
    weight = np.ones(100)
    weight[7] = 24.75  # of 123.75: 20 %
    (finding,) = [f for f in weight_findings(weight) if f.name != "ess_below_30"]
    assert finding.name == "one_row_carries_over_10_percent"
    assert "Row 7 carries 20.0%" in finding.sentence


def test_thresholds_are_as_named():
    assert names(weight_findings(np.ones(30))) == []
    assert names(weight_findings(np.ones(29))) == ["ess_below_30"]
    assert names(weight_findings(np.ones(10))) == ["ess_below_30"]  # 10 % is not over 10 %
    assert "one_row_carries_over_10_percent" in names(weight_findings(np.ones(9)))


def test_no_usable_row_is_the_only_thing_to_say():
    assert names(weight_findings(np.zeros(5))) == ["no_usable_row"]


def test_weights_that_do_not_average_to_1_are_named():
    assert mean_findings(1.0) == ()
    (finding,) = mean_findings(3.0)
    assert finding.name == "mean_weight_off_1"
    assert "average 3 where their expectation is 1" in finding.sentence
    for far, found in ((FAR_FROM_ONE - 1e-9, ()), (FAR_FROM_ONE + 1e-9, ("mean_weight_off_1",))):
        for mean in (1 - far, 1 + far):
            assert tuple(names(mean_findings(mean))) == found


def test_propensities():
    complete = np.array([True, False, False, False, False])
    e = np.array([0.5, 0.01, 0.009, 0.001, np.nan])
    (finding,) = propensity_findings(complete, e)
    assert finding.name == "propensity_below_0.01"
    assert "50.0% of 4 rows" in finding.sentence
    assert "0.001" in finding.sentence
    assert names(propensity_findings(~complete[:0], e[:0])) == ["no_complete_case"]
    assert names(propensity_findings(np.zeros(2, dtype=bool), np.full(2, np.nan))) == [
        "no_complete_case"
    ]
    assert propensity_findings(complete, np.full(5, 0.3)) == ()


SETS = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 1]], dtype=bool)
ACQUIRED = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)


def test_a_policy_for_which_the_papers_weight_is_biased_is_named():
    assert names(policy_findings(suffices=False)) == ["policy_reads_values"]
    assert policy_findings(suffices=True) == ()


def test_support_gap_names_the_likeliest_set_that_no_usable_row_completes():
    mass = np.array([0.2, 0.3, 0.5])
    assert support_findings(SETS, mass, ACQUIRED, np.ones(4), least_mass=0.01) == ()
    weight = np.array([1.0, 0.0, 0.0, 1.0])
    (finding,) = support_findings(SETS, mass, ACQUIRED, weight, least_mass=0.01)
    assert finding.name == "support_gap"
    assert "2 sets with 80.0%" in finding.sentence
    assert "panels [0, 2] with 50.0%" in finding.sentence


def test_sets_that_hardly_occur_are_not_missed():
    mass = np.array([0.991, 0.005, 0.004])
    weight = np.array([1.0, 0.0, 0.0, 0.0])
    assert support_findings(SETS, mass, ACQUIRED, weight, least_mass=0.01) == ()
    found = support_findings(SETS, mass, ACQUIRED, weight, least_mass=0.005)
    assert "1 sets with 0.5%" in found[0].sentence
    assert support_findings(SETS, mass * 0, ACQUIRED, weight, least_mass=0.0) == ()


def test_sets_are_compared_by_content_whatever_their_memory_order():
    by_column = np.asfortranarray(ACQUIRED)
    mass = np.full(3, 1 / 3)
    assert (
        support_findings(np.asfortranarray(SETS), mass, by_column, np.ones(4), least_mass=0.0) == ()
    )


def test_empty_resamples_are_counted():
    values = np.ones((10, 2))
    assert resample_findings(values) == ()
    values[3, 1] = np.nan
    assert "1 of 10 subsamples" in resample_findings(values)[0].sentence
