"""Random, fixed and greedy choice of panels, thresholds, and CWCF."""

import numpy as np
import pytest
from frugal.agents.cwcf import CwcfPolicies, fit_cwcf
from frugal.agents.diagnosis_policies import ImputedStates
from frugal.agents.greedy_information import (
    GreedyPolicies,
    ReferenceUnits,
    entropy,
    information_gains,
)
from frugal.agents.lockstep_classifier import ClassifierSettings
from frugal.agents.selection import (
    PlannedPolicies,
    PlannedStates,
    fixed_plan,
    panels_by_use,
    random_plan,
    tilted_belief,
    tuned_threshold,
    without_nested,
)
from frugal.agents.state_classifier import StateClassifier, fit_state_classifier
from frugal.agents.training_scores import area_under_curve
from frugal.contracts import AcquisitionTask, DataError
from frugal.environments.diagnosis_rollouts import Outcomes, roll_out_learners
from frugal.environments.encoders import ValuesEncoder
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.test_sm_ddpo import CLASSIFIER, COLUMNS, PANELS, clinic, plain_scores

pytestmark = pytest.mark.trains


def fitted_classifier(seed: int) -> StateClassifier:
    task, states = clinic(3000, 0)
    return fit_state_classifier(
        task, states, settings=ClassifierSettings.of(CLASSIFIER), updates=300, input_bound=5.0,
        rng=np.random.default_rng(seed),
    )  # fmt: skip


@pytest.fixture(scope="module")
def classifier() -> StateClassifier:
    return fitted_classifier(1)


def test_the_state_classifier_ranks_units_better_the_more_is_known(classifier):
    task, states = clinic(800, 2)
    score = [
        area_under_curve(task.label, classifier.belief(states.table[:, code])[:, 1])
        for code in (0, 1, 3)
    ]
    assert 0.55 < score[0] < score[1] < score[2]
    assert score[2] > 0.95  # 0.982 with a standard deviation of 0.003 over eight trainings


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.sampled_from(["f1", "am"]))
def test_the_tuned_threshold_is_the_best_of_all_cuts(seed, criterion):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 25))
    label, p = rng.integers(2, size=n), rng.integers(1, 9, size=n) / 10
    label[:2] = 0, 1
    threshold = tuned_threshold(label, p, criterion)

    def score(cut: float) -> float:
        said = p >= cut
        hit, false = (said & (label == 1)).sum(), (said & (label == 0)).sum()
        if criterion == "f1":
            return 2 * hit / (hit + false + label.sum())
        return 0.5 * (hit / label.sum() + 1 - false / (label == 0).sum())

    assert score(threshold) == pytest.approx(max(score(c) for c in (*np.unique(p), 1.0)))


@settings(deadline=None, max_examples=60)
@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_a_tilted_belief_is_one_half_at_the_threshold(p, threshold):
    tilted = tilted_belief(np.array([1 - p, p]), threshold)
    assert tilted.sum() == pytest.approx(1)
    assert (tilted[1] > 0.5) == (p > threshold) or abs(p - threshold) < 1e-9
    assert tilted_belief(np.array([1 - p, p]), 0.5)[1] == pytest.approx(p)


def planned(classifier, task, states, plan, lengths) -> Outcomes:
    policies = PlannedPolicies(classifier, PANELS, np.array(lengths), np.full(len(lengths), 0.5))
    return roll_out_learners(
        policies.act, task, PlannedStates(states, plan), learners=len(lengths), uniforms=None
    )


def test_fixed_selection_takes_the_first_panels_of_the_order(classifier):
    task, states = clinic(40, 3)
    available = np.ones((40, PANELS), dtype=bool)
    available[:10, 2] = False
    task = AcquisitionTask(available, task.label, task.action_cost, 2, 2)
    outcomes = planned(classifier, task, states, fixed_plan(40, np.array([2, 0, 1])), [0, 1, 2])
    assert not outcomes.acquired[0].any()
    assert (outcomes.acquired[1] == available & [False, False, True]).all()
    assert (outcomes.acquired[2] == available & [True, False, True]).all()
    known = states.encode(np.arange(40), outcomes.acquired[2])
    said = classifier.belief(known)[:, 1]
    assert np.allclose(outcomes.terminal_belief[2, :, 1], said, atol=1e-6)
    assert (outcomes.terminal[2] == (said > 0.5)).all()


def test_random_selection_takes_every_panel_alike_and_what_is_available_first(classifier):
    n = 900
    available = np.ones((n, PANELS), dtype=bool)
    available[:300, 0] = False
    plan = random_plan(available, np.random.default_rng(0))
    assert (np.sort(plan, axis=1) == np.arange(PANELS)).all()
    assert (plan[:300, 0] == PANELS - 1).all()
    # 600 units, each panel first with chance 1/3: s.d. 0.019; five of them
    share = (plan[300:] == 0).mean(axis=0)
    assert np.abs(share - 1 / 3).max() < 5 * 0.0193
    task, states = clinic(n, 4)
    task = AcquisitionTask(available, task.label, task.action_cost, 2, 2)
    outcomes = planned(classifier, task, states, plan, [2])
    assert (outcomes.acquired.sum(axis=2) == 2).all()


def test_of_nested_panels_only_the_first_in_the_order_is_taken():
    """Panel 0 inside 1, panel 2 beside them, 3 the same columns as 2."""
    provides = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]], dtype=bool)
    plan = fixed_plan(3, np.array([1, 0, 3, 2]))
    available = np.ones((3, 4), dtype=bool)
    available[1, 1] = False  # the larger cannot be had: the smaller is ordered
    available[2, 3] = False
    gone = np.inf
    assert without_nested(plan, available, provides).tolist() == [
        [gone, 0, gone, 1], [1, 0, gone, 2], [gone, 0, 2, 1]
    ]  # fmt: skip
    chain = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1]], dtype=bool)  # 1 and 2 are not nested
    kept = without_nested(fixed_plan(1, np.array([1, 0, 2])), np.ones((1, 3), dtype=bool), chain)
    assert kept.tolist() == [[gone, 0, 1]]
    apart = np.eye(4, dtype=bool)
    assert (without_nested(plan, available, apart) == plan).all()


def test_panels_are_ordered_by_use():
    acquired = np.array([[[True, False, True], [False, False, True]], [[True, False, True]] * 2])
    assert panels_by_use(acquired).tolist() == [2, 0, 1]


def test_gains_are_means_over_the_nearest_units_of_the_same_set(classifier):
    """By a loop over states, units and panels."""
    _, states = clinic(60, 5)
    rng = np.random.default_rng(0)
    reference = ReferenceUnits.drawn(states, classifier, units=40, rng=np.random.default_rng(1))
    row, code = rng.integers(60, size=15), rng.integers(8, size=15)
    seen = np.clip(states.table[row, code], -5, 5)
    got = information_gains(reference, seen, code, panels=PANELS, neighbours=7)
    for i in range(15):
        distance = [np.linalg.norm(seen[i] - u) for u in reference.completed[:, code[i]]]
        near = np.argsort(distance)[:7]
        for j in range(PANELS):
            fall = [
                entropy(classifier.belief(reference.completed[u, [code[i]]]))[0]
                - entropy(classifier.belief(reference.completed[u, [code[i] | 1 << j]]))[0]
                for u in near
            ]
            assert got[i, j] == pytest.approx(np.mean(fall), abs=1e-6)


def test_greedy_orders_what_tells_and_less_of_it_as_the_price_rises():
    """Means over five classifiers.

    With one alone, of eight, panels 0 and 1 were used by 0.75 of the units or more, and panel 2 by
    0.1 (standard deviation 0.12); F1 was 0.73 (0.013). The bounds lie five deviations of a mean of
    five away.
    """
    task, states = clinic(400, 6)
    _, train = clinic(1000, 7)
    shares, f1 = [], []
    for seed in range(1, 6):
        classifier = fitted_classifier(seed)
        policies = GreedyPolicies(
            ReferenceUnits.drawn(train, classifier, units=500, rng=np.random.default_rng(0)),
            classifier, task.action_cost, neighbours=20,
            least_gain=np.array([0.01, 0.1, 1.0]), threshold=np.full(3, 0.5),
        )  # fmt: skip
        outcomes = roll_out_learners(
            policies.act, task, ImputedStates(states, PANELS), learners=3, uniforms=None
        )
        shares.append(outcomes.acquired.mean(axis=1))
        f1.append(plain_scores(task.label, outcomes, 0)["f1"])
    use = np.mean(shares, axis=0)
    assert (use[0, :2] > 0.5).all()  # the two panels that tell
    assert use[0, 2] < 0.4  # the one that does not
    assert use[0].sum() > use[1].sum() > use[2].sum() == 0
    assert np.mean(f1) > 0.7


def test_cwcf_acquires_less_as_the_price_rises():
    """Twelve trainings spent 2.1 to 2.6 and 0, with AUROC 0.96 to 0.995."""
    dqn = {
        "hidden": [32], "double": True, "dueling": False, "huber_bound": None,
        "learning_rate": 3e-3, "learning_rate_last": 3e-4, "discount": 1.0, "batch": 128,
        "memory": 5000, "learning_starts": 500, "transitions_per_update": 16, "target_every": 640,
        "exploration_share": 0.7, "epsilon_first": 1.0, "epsilon_last": 0.1,
        "max_gradient_norm": 10.0, "episodes": 64, "transitions": 12_000,
    }  # fmt: skip
    task, states = clinic(1500, 8)
    provides = np.eye(COLUMNS, dtype=bool)[1:]
    encoder = ValuesEncoder(
        states.table[:, 7].astype(float), provides, np.eye(COLUMNS, dtype=bool)[0]
    )
    weights = fit_cwcf(
        task, encoder, cost_weight=np.array([0.005, 1.0]), class_weights=(1.0, 2.0),
        settings=dqn, rngs=[np.random.default_rng(k) for k in range(2)],
    )  # fmt: skip
    policies = CwcfPolicies(weights, PANELS, (1.0, 2.0), None)
    outcomes = roll_out_learners(policies.act, task, encoder, learners=2, uniforms=None)
    spent = outcomes.total_cost.mean(axis=1)
    assert spent[1] == 0 < 0.7 < spent[0]
    counts = plain_scores(task.label, outcomes, 0)
    assert counts["auroc"] > 0.85
    with pytest.raises(DataError, match="1 terminal actions"):
        fit_cwcf(
            AcquisitionTask(task.available, task.label, task.action_cost, 2, 1), encoder,
            cost_weight=np.ones(1), class_weights=(1.0, 1.0), settings=dqn,
            rngs=[np.random.default_rng(0)],
        )  # fmt: skip
