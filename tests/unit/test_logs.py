"""Tables of decisions and outcomes, value by value."""

from dataclasses import replace

import numpy as np
import pytest
from frugal.acquire.logs import Member, Scene, decision_frame, outcome_frame
from frugal.core.episodes import Episodes

from tests.oracles.acquisition_worlds import overlapping_world

WORLD = replace(
    overlapping_world(3, 2, np.random.default_rng(0), cost=np.array([1.0, 4.0])),
    name="missforest",
    draw=5,
    row_id=np.array([70, 80, 90]),
    label=np.array([0, 1, 1]),
)
SCENE = Scene(
    members=(Member("late", 0), Member("early", 3)),
    world=WORLD,
    seed=9,
    part=np.array(["test", "train", "test"]),
    panels=("blood", "urine"),
    error_cost=np.array([[0.0, 10.0], [20.0, 0.0]])[WORLD.label],
)
ACQUIRED = np.zeros((2, 3, 2), dtype=bool)
ACQUIRED[1, 2], ACQUIRED[0, 0, 1] = True, True


def episodes(belief: np.ndarray | None) -> Episodes:
    return Episodes(
        acquired=ACQUIRED,
        verdict=None,
        cost=ACQUIRED @ WORLD.action_cost,
        member=np.array([0, 1, 1]),
        row=np.array([1, 0, 2]),
        step=np.array([0, 0, 1]),
        action=np.array([2, 1, 0]),
        price=np.array([0.0, 4.0, 1.0]),
        probability=np.array([0.5, 0.25, 1.0]),
        belief=belief,
    )


def test_a_decision_is_a_row_that_says_who_acted_where_on_whom():
    table = decision_frame(SCENE, episodes(np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])))
    assert table.policy.tolist() == ["late", "early", "early"]
    assert table.member.tolist() == [0, 3, 3]
    assert table.part.tolist() == ["train", "test", "test"]
    assert table.row_id.tolist() == [80, 70, 90]
    assert set(table.world) == {"missforest"}
    assert set(table.draw) == {5}
    assert set(table.seed) == {9}
    assert table.step.tolist() == [0, 0, 1]
    assert table.action.tolist() == [2, 1, 0]
    assert table.cost.tolist() == [0, 4, 1]
    assert table.probability.tolist() == [0.5, 0.25, 1]
    assert table.belief.tolist() == [0.1, 0.8, 0.5]


@pytest.mark.parametrize("classes", [None, 1, 3])
def test_a_belief_of_other_than_two_classes_is_not_stated(classes):
    belief = None if classes is None else np.full((3, classes), 1 / classes)
    assert decision_frame(SCENE, episodes(belief)).belief.isna().all()


def test_an_outcome_is_a_row_of_what_was_acquired_stated_and_paid():
    shares = np.array([[[0.7, 0.3], [0.6, 0.4], [0.1, 0.9]], [[0.2, 0.8], [0.3, 0.7], [1.0, 0.0]]])
    table = outcome_frame(SCENE, ACQUIRED, verdict=shares.argmax(axis=2), shares=shares)
    assert table.policy.tolist() == ["late"] * 3 + ["early"] * 3
    assert table.row_id.tolist() == [70, 80, 90] * 2
    assert table.label.tolist() == [0, 1, 1] * 2
    assert table.verdict.tolist() == [0, 0, 1, 1, 1, 0]
    assert table.probability.tolist() == [0.3, 0.4, 0.9, 0.8, 0.7, 0]
    assert table.acquisition_cost.tolist() == [4, 0, 0, 0, 0, 5]
    assert table.misclassification_cost.tolist() == [0, 20, 0, 10, 0, 20]
    assert table.cost.tolist() == [4, 20, 0, 10, 0, 25]
    assert table["acquired:blood"].tolist() == [False] * 5 + [True]
    assert table["acquired:urine"].tolist() == [True] + [False] * 4 + [True]
    three = np.full((2, 3, 3), 1 / 3)
    table = outcome_frame(SCENE, ACQUIRED, verdict=shares.argmax(axis=2), shares=three)
    assert table.probability.isna().all()
