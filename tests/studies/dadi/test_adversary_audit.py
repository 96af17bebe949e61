"""Outsiders find the group in what is collected, and in what is not; elsewhere no one does."""

from typing import Any

import numpy as np
import pytest
from frugal.judge.fairness import auc_interval
from frugal.studies.dadi.outsiders import adversary_score, fit_set_networks, shown_inputs

pytestmark = pytest.mark.trains

N = 900
SETTINGS = {
    "logistic": {"ridge": 1e-4},
    "boosting": {"trees": 20, "leaves": 4, "learning_rate": 0.2, "min_leaf": 10},
}
NETWORKS: dict[str, Any] = {"memory_width": 8, "encoding_width": 8, "processing_steps": 2}
NETWORKS |= {"head_width": 8, "pretraining_iterations": 1, "iterations": 1, "agents": 64}
NETWORKS |= {"window": 4, "returns": "n_step", "learning_rate": 0.01, "decay_share": 0.0}
NETWORKS |= {"decay_to": 1.0, "target_every": 5, "exploration_start": 1.0, "exploration_end": 0.1}
NETWORKS |= {"exploration_iterations": 1, "objective": "equalised_odds", "reward": "difference"}
NETWORKS |= {"group_normalised": True, "cost_weight": 0.0, "evaluate_every": 1, "evaluated_rows": 9}
NETWORKS |= {"checkpoint_every": 9, "compiled": False}
PANEL = np.array([0, 1, 1])


@pytest.fixture(scope="module")
def world():
    """Panel 0 tells the group, panel 1 (two columns) tells the label; two sets of each unit."""
    rng = np.random.default_rng(3)
    group, label = rng.integers(0, 2, N), rng.integers(0, 2, N)
    values = rng.standard_normal((N, 3)).astype(np.float32)
    values[:, 0] += 2 * group
    values[:, 1] += 2 * label
    everything = np.ones((N, 2), dtype=bool)
    fair = everything & np.array([False, True])
    return values, label, group, everything, fair


def score(learner, values, acquired, target):
    train = np.arange(N) < 600
    found = adversary_score(
        learner,
        shown_inputs(values, PANEL, acquired),
        target,
        train,
        settings=SETTINGS[learner],
        rng=np.random.default_rng(0),
    )
    return auc_interval(target[~train], found, level=0.95).value


def test_what_is_not_collected_is_zero_and_stated_to_be_so():
    values = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
    panel = np.array([0, 1, -1])  # the last column is known from the start
    inputs = shown_inputs(values, panel, np.array([[True, False], [False, True]]))
    np.testing.assert_array_equal(inputs, [[1, 0, 3, 1, 0], [0, 5, 6, 0, 1]])
    values[0, 2] = np.nan  # collected, but the table has no value
    inputs = shown_inputs(values, panel, np.array([[True, False], [False, True]]))
    np.testing.assert_array_equal(inputs[0], [1, 0, 0, 1, 0])


@pytest.mark.parametrize("learner", SETTINGS)
def test_learners_state_the_group_from_panels_that_state_it_and_from_no_others(world, learner):
    values, _, group, everything, fair = world
    # 300 test rows: standard error of an AUC about 0.033; 4.5 of them over four comparisons
    assert score(learner, values, everything, group) > 0.8
    assert abs(score(learner, values, fair, group) - 0.5) < 0.15


@pytest.mark.parametrize("learner", SETTINGS)
def test_which_panels_were_collected_can_state_the_group_too(world, learner):
    """An agent that decides by the group gives it away, whatever it collects."""
    values, _, group, _, fair = world
    telling = fair & (group == 1)[:, None]
    assert score(learner, np.zeros_like(values), telling, group) > 0.99


def test_set_networks_learn_each_agents_sets_apart_and_the_same_twice(world):
    values, label, group, everything, fair = world
    train = np.arange(N) < 600

    def fitted():
        return fit_set_networks(
            values,
            PANEL,
            np.stack([everything, fair]),
            label,
            group,
            train,
            networks=NETWORKS,
            iterations=120,
            rng=np.random.default_rng(4),
        )

    of_label, of_group = fitted()
    told = [auc_interval(group[~train], one, level=0.95).value for one in of_group]
    assert told[0] > 0.8
    assert abs(told[1] - 0.5) < 0.15
    assert all(auc_interval(label[~train], one, level=0.95).value > 0.8 for one in of_label)
    again = fitted()
    np.testing.assert_array_equal(of_label, again[0])
    np.testing.assert_array_equal(of_group, again[1])
