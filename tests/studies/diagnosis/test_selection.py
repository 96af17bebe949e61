"""Random, fixed and greedy choice of panels, thresholds, and CWCF."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from frugal.acquire.encoders import TabulatedEncoder, ValuesEncoder
from frugal.acquire.policies.greedy import (
    GreedyPolicies,
    ReferenceUnits,
    WideReferenceUnits,
    entropy,
    information_gains,
)
from frugal.acquire.reading import tilted_belief
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.state_classifier import (
    SelectionPolicies,
    StateClassifier,
    fit_state_classifier,
    fixed_plan,
    panels_by_use,
    tuned_threshold,
    without_nested,
)
from frugal.config.learners import ClassifierSettings
from frugal.core.episodes import Episodes
from frugal.core.errors import DataError
from frugal.core.scaling import Scaling
from frugal.core.world import World, sets_of
from frugal.learn.imputers.mean import MeanImputer
from frugal.studies.diagnosis.policies.sm_ddpo import area_under_curve
from frugal.studies.field.policies.cwcf import CwcfPolicies, fit_cwcf
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.studies.diagnosis.test_sm_ddpo import (
    CLASSIFIER,
    COLUMNS,
    PANELS,
    clinic,
    greedy_episodes,
    plain_scores,
)
from tests.unit.acquisition_cases import verdicts

pytestmark = pytest.mark.trains

PLAIN = Scaling(np.zeros(COLUMNS), np.ones(COLUMNS))  # `clinic` completes rows by zeros
BY_ZEROS = MeanImputer(PLAIN)
APART = np.eye(COLUMNS, dtype=bool)[1:]  # what the panels of `clinic` provide


def fitted_classifier(seed: int) -> StateClassifier:
    task, states = clinic(3000, 0)
    return fit_state_classifier(
        task,
        states,
        settings=ClassifierSettings.of(CLASSIFIER),
        updates=300,
        input_bound=5.0,
        rng=np.random.default_rng(seed),
    )


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


@settings(max_examples=60)
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


@settings(max_examples=60)
@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_a_tilted_belief_is_one_half_at_the_threshold(p, threshold):
    tilted = tilted_belief(np.array([1 - p, p]), threshold)
    assert tilted.sum() == pytest.approx(1)
    assert (tilted[1] > 0.5) == (p > threshold) or abs(p - threshold) < 1e-9
    assert tilted_belief(np.array([1 - p, p]), 0.5)[1] == pytest.approx(p)


def selection(classifier, order, lengths, *, provides=APART) -> SelectionPolicies:
    return SelectionPolicies(
        classifier, BY_ZEROS, provides, order, np.array(lengths), np.full(len(lengths), 0.5)
    )


def selected(policies: SelectionPolicies, world: World, *, seed: int = 0) -> Episodes:
    uniforms = np.random.default_rng(seed).random((len(world), world.panels + 1))
    return roll_out(policies, world, uniforms=uniforms)


def test_fixed_selection_takes_the_first_panels_of_the_order(classifier):
    world, states = clinic(40, 3)
    available = np.ones((40, PANELS), dtype=bool)
    available[:10, 2] = False
    policies = selection(classifier, np.array([2, 0, 1]), [0, 1, 2])
    episodes = selected(policies, replace(world, available=available))
    assert (episodes.probability == 1).all()
    assert not episodes.acquired[0].any()
    assert (episodes.acquired[1] == available & [False, False, True]).all()
    assert (episodes.acquired[2] == available & [True, False, True]).all()
    known = states.encode(np.arange(40), episodes.acquired[2])
    said = classifier.belief(known)[:, 1]
    assert episodes.verdict is not None
    assert np.allclose(episodes.verdict[2, :, 1], said, atol=1e-6)
    assert (verdicts(episodes)[2] == (said > 0.5)).all()


def test_random_selection_takes_every_panel_alike_of_those_available(classifier):
    n = 900
    available = np.ones((n, PANELS), dtype=bool)
    available[:300, 0] = False
    world = replace(clinic(n, 4)[0], available=available)
    episodes = selected(selection(classifier, None, [2]), world)
    assert (episodes.acquired.sum(axis=2) == 2).all()
    first = episodes.action[episodes.step == 0]
    assert (first[:300] > 0).all()
    # 600 units, each panel first with chance 1/3: s.d. 0.019; five of them
    share = np.bincount(first[300:], minlength=PANELS) / 600
    assert np.abs(share - 1 / 3).max() < 5 * 0.0193


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(0, 4))
def test_random_selection_is_even_over_what_is_left_and_not_nested(classifier, seed, length):
    """By loops: a panel is left if it can be had, is new, and is not nested with a taken one."""
    rng = np.random.default_rng(seed)
    provides = rng.random((4, 5)) < 0.5
    provides[np.arange(4), rng.integers(5, size=4)] = True
    available = rng.random((6, 4)) < 0.8
    acquired = available & (rng.random((6, 4)) < 0.3)
    policies = selection(classifier, None, [length], provides=provides)
    law = policies.decide(np.zeros((1, 6, 5), np.float32), acquired[None], available[None])[0]
    columns = [set(np.flatnonzero(p).tolist()) for p in provides]
    for i in range(6):
        taken = np.flatnonzero(acquired[i]).tolist()
        left = [
            j
            for j in range(4)
            if available[i, j]
            and j not in taken
            and len(taken) < length
            and not any(columns[j] <= columns[t] or columns[t] <= columns[j] for t in taken)
        ]
        expected = [1 / len(left) if j in left else 0.0 for j in range(4)]
        np.testing.assert_allclose(law[i], [*expected, 0.0 if left else 1.0])


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(0, 4))
def test_fixed_selection_follows_its_plan_whatever_was_taken(classifier, seed, length):
    """Step by step it takes the panels of `without_nested`'s plan, in their order."""
    rng = np.random.default_rng(seed)
    provides = rng.random((4, 5)) < 0.5
    provides[np.arange(4), rng.integers(5, size=4)] = True
    available, order = rng.random((6, 4)) < 0.8, rng.permutation(4)
    plan = without_nested(fixed_plan(6, order), available, provides)
    policies = selection(classifier, order, [length], provides=provides)
    acquired = np.zeros((6, 4), dtype=bool)
    for i in range(6):
        wanted = [j for j in plan[i].argsort() if plan[i, j] < length and available[i, j]]
        for panel in (*wanted, 4):
            nothing = np.zeros((1, 1, 5), np.float32)
            law = policies.decide(nothing, acquired[None, [i]], available[None, [i]])[0, 0]
            assert law[panel] == 1 == law.sum()
            if panel < 4:
                acquired[i, panel] = True


def test_of_nested_panels_only_the_first_in_the_order_is_taken():
    """Panel 0 inside 1, panel 2 beside them, 3 the same columns as 2."""
    provides = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]], dtype=bool)
    plan = fixed_plan(3, np.array([1, 0, 3, 2]))
    available = np.ones((3, 4), dtype=bool)
    available[1, 1] = False  # the larger cannot be had: the smaller is ordered
    available[2, 3] = False
    gone = np.inf
    assert without_nested(plan, available, provides).tolist() == [
        [gone, 0, gone, 1],
        [1, 0, gone, 2],
        [gone, 0, 2, 1],
    ]
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
    assert isinstance(reference, ReferenceUnits)
    row, code = rng.integers(60, size=15), rng.integers(8, size=15)
    seen = np.clip(states.table[row, code], -5, 5)
    acquired = sets_of(code, PANELS)
    got = information_gains(reference, seen, acquired, neighbours=7)
    by_set = WideReferenceUnits(TabulatedEncoder(reference.completed), 40, classifier)
    np.testing.assert_allclose(
        got, information_gains(by_set, seen, acquired, neighbours=7), rtol=0, atol=1e-6
    )
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


def test_greedy_orders_what_states_and_less_of_it_as_the_price_rises():
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
            classifier,
            BY_ZEROS,
            task.action_cost,
            neighbours=20,
            least_gain=np.array([0.01, 0.1, 1.0]),
            threshold=np.full(3, 0.5),
        )
        episodes = greedy_episodes(policies, task, states)
        shares.append(episodes.acquired.mean(axis=1))
        f1.append(plain_scores(task.label, episodes, 0)["f1"])
    use = np.mean(shares, axis=0)
    assert (use[0, :2] > 0.5).all()  # the two panels that tell
    assert use[0, 2] < 0.4  # the one that does not
    assert use[0].sum() > use[1].sum() > use[2].sum() == 0
    assert np.mean(f1) > 0.7


def test_cwcf_acquires_less_as_the_price_rises():
    """Twelve trainings spent 2.1 to 2.6 and 0, with AUROC 0.96 to 0.995."""
    dqn: dict[str, Any] = {"hidden": [32], "double": True, "dueling": False, "huber_bound": None}
    dqn |= {"learning_rate": 3e-3, "learning_rate_last": 3e-4, "discount": 1.0, "batch": 128}
    dqn |= {"memory": 5000, "learning_starts": 500, "transitions_per_update": 16}
    dqn |= {"target_every": 640, "exploration_share": 0.7, "epsilon_first": 1.0}
    dqn |= {"epsilon_last": 0.1, "max_gradient_norm": 10.0, "episodes": 64, "transitions": 12_000}
    task, _ = clinic(1500, 8)
    encoder = ValuesEncoder(task, column_bits=False)
    weights = fit_cwcf(
        task,
        encoder,
        cost_weight=np.array([0.005, 1.0]),
        class_weights=(1.0, 2.0),
        settings=dqn,
        rngs=[np.random.default_rng(k) for k in range(2)],
    )
    policies = CwcfPolicies(weights, PANELS, PLAIN, False, (1.0, 2.0), None)
    episodes = greedy_episodes(policies, task, encoder)
    spent = episodes.cost.mean(axis=1)
    assert spent[1] == 0 < 0.7 < spent[0]
    counts = plain_scores(task.label, episodes, 0)
    assert counts["auroc"] > 0.85
    read = roll_out(policies, task, uniforms=np.zeros((1500, PANELS + 1)))  # reads values itself
    np.testing.assert_array_equal(read.action, episodes.action)
    np.testing.assert_array_equal(read.verdict, episodes.verdict)  # pyright: ignore
    with pytest.raises(DataError, match="1 terminal actions"):
        fit_cwcf(
            replace(task, terminals=1),
            encoder,
            cost_weight=np.ones(1),
            class_weights=(1.0, 1.0),
            settings=dqn,
            rngs=[np.random.default_rng(0)],
        )
