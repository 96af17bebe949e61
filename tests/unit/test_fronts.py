"""Fronts against every pair of points; area against columns of width one."""

import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.judge.fronts import hypervolume, non_dominated, policy_for_budget
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.diagnosis_counts import area_by_columns, undominated

POINTS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 8).map(lambda v: v / 8)), min_size=0, max_size=25
)


def arrays(points: list[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(points, dtype=np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@given(POINTS)
def test_the_front_is_what_no_point_beats(points):
    assert non_dominated(*arrays(points)).tolist() == undominated(points)


@given(POINTS, st.integers(0, 10), st.integers(0, 8))
def test_hypervolume_is_the_area_of_columns(points, reference_cost, eighths):
    area = hypervolume(
        *arrays(points), reference_cost=float(reference_cost), reference_score=eighths / 8
    )
    assert area == pytest.approx(area_by_columns(points, reference_cost, eighths / 8), abs=1e-9)


@given(POINTS, st.tuples(st.integers(0, 9), st.integers(0, 8).map(lambda v: v / 8)))
def test_another_point_never_lessens_the_hypervolume(points, more):
    def area(p):
        return hypervolume(*arrays(p), reference_cost=9.0, reference_score=0.25)

    assert area([*points, more]) >= area(points) - 1e-12
    assert area(points) <= 9 * 0.75 + 1e-12


@given(POINTS)
def test_dropping_dominated_points_changes_no_hypervolume(points):
    kept = [p for p, on in zip(points, undominated(points), strict=True) if on]
    areas = [
        hypervolume(*arrays(p), reference_cost=9.0, reference_score=0.0) for p in (points, kept)
    ]
    assert areas[0] == pytest.approx(areas[1], abs=1e-12)


def test_points_without_a_score_never_stand_on_the_front():
    cost, score = np.array([0.0, 1, 2]), np.array([np.nan, 0.5, np.nan])
    assert non_dominated(cost, score).tolist() == [False, True, False]
    with pytest.raises(DataError, match="no finite cost"):
        non_dominated(np.array([np.nan]), np.array([1.0]))


def test_a_budget_gets_the_best_validation_score_then_the_lowest_cost():
    front = pd.DataFrame({"cost": [50.0, 30, 20, 90], "f1": [0.6, 0.6, 0.4, 0.7]})
    assert policy_for_budget(front, 60, score="f1") == 1
    assert policy_for_budget(front, 20, score="f1") == 2
    assert policy_for_budget(front, 1e9, score="f1") == 3
    with pytest.raises(ConfigError, match=r"no solution costs at most 19 .*cheapest costs 20"):
        policy_for_budget(front, 19, score="f1")
    unscored = pd.DataFrame({"cost": [1.0, 5.0], "f1": [np.nan, 0.5]})
    with pytest.raises(ConfigError, match="cheapest costs 5"):
        policy_for_budget(unscored, 3, score="f1")
    with pytest.raises(ConfigError, match="none of the 1 solutions has a f1"):
        policy_for_budget(unscored[:1], 3, score="f1")
    with pytest.raises(DataError, match="lacks column 'am'"):
        policy_for_budget(front, 60, score="am")


def test_a_reference_point_is_a_number():
    with pytest.raises(ConfigError, match="reference point"):
        hypervolume(np.zeros(1), np.ones(1), reference_cost=np.nan, reference_score=0.0)
