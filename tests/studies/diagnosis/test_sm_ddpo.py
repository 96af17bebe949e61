"""SM-DDPO on a small simulated clinic: what it learns, keeps and leaves behind."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from frugal.acquire.acquisition import BatchedAcquisition, DiagnosisReward, theorem_reward
from frugal.acquire.encoders import CallableEncoder, TabulatedEncoder, tabulate
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.state_classifier import Classifiers
from frugal.config.learners import ClassifierSettings
from frugal.core.episodes import Episodes, Policy
from frugal.core.errors import ConfigError, DataError
from frugal.core.world import StateEncoder, World
from frugal.studies.diagnosis.policies.fronts import DiagnosisPolicies, state_embedding
from frugal.studies.diagnosis.policies.sm_ddpo import (
    SCORES,
    SmDdpoResult,
    _Keeper,
    _VisitedStates,
    area_under_curve,
    f1_and_am,
    fit_sm_ddpo,
)

from tests.oracles.acquisition_worlds import world_of
from tests.oracles.diagnosis_counts import counted_scores
from tests.unit.acquisition_cases import first_of_equals, verdicts

pytestmark = pytest.mark.trains

PANELS, COLUMNS, LEARNERS = 3, 4, 3
PPO: dict[str, Any] = {"hidden": [32, 32], "activation": "silu", "learning_rate": 3e-3}
PPO |= {"steps": 512, "episodes": 64, "batch": 128, "epochs": 4, "clip": 0.2, "gae_lambda": 0.95}
PPO |= {"value_weight": 0.5, "entropy_weight": 0.01, "max_gradient_norm": 0.5, "compiled": False}
CLASSIFIER: dict[str, Any] = {"hidden": [16, 16], "activation": "silu", "learning_rate": 3e-3}
CLASSIFIER |= {"batch": 128, "class_weights": [1.0, 3.0]}
SETTINGS: dict[str, Any] = {"ppo": PPO, "classifier": CLASSIFIER, "variant": "end2end"}
SETTINGS |= {"pretraining_updates": 0, "tuned": True, "verdict": "actor", "outer_loops": 12}
SETTINGS |= {"policy_updates": 2, "classifier_updates": 20, "visited_states": 5000}
SETTINGS |= {"input_bound": 5.0, "start": "random", "validate_every": 4, "patience": 100}
SETTINGS |= {"criterion": "f1", "watched_units": 200}
ADDS = np.eye(COLUMNS, dtype=bool)[1:]
REWARD = theorem_reward(np.full(LEARNERS, 4.0), np.array([-0.01, -0.05, -3.0]))


def clinic(n: int, seed: int) -> tuple[World, TabulatedEncoder]:
    """A free column, and three panels of one column; the first two tell, the third does not."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, COLUMNS))
    label = (x[:, 0] + 2 * x[:, 1] + 2 * x[:, 2] + 0.3 * rng.normal(size=n) > 2.5).astype(np.int64)
    world = world_of(x, ADDS, np.eye(COLUMNS, dtype=bool)[0], label=label, terminals=2)
    encoder = CallableEncoder(
        world, lambda seen, acquired: np.nan_to_num(seen).astype(np.float32), COLUMNS
    )
    return world, tabulate(encoder, n, PANELS, max_gib=1.0)


def greedy_episodes(policies: Policy, world: World, states: StateEncoder) -> Episodes:
    """Episodes of policies that leave nothing to chance, with beliefs."""
    uniforms = first_of_equals(world)
    return roll_out(policies, world, uniforms=uniforms, states=states, beliefs=True)


def fit(**changes) -> SmDdpoResult:
    task, states = clinic(2000, 0)
    return fit_sm_ddpo(
        task,
        states,
        clinic(300, 1),
        reward=REWARD,
        settings={**SETTINGS, **changes},
        rng=np.random.default_rng(2),
        watched={"test": clinic(250, 3)},
    )


def plain_scores(label: np.ndarray, episodes: Episodes, k: int) -> dict[str, float]:
    """Scores of member k from plain counts."""
    assert episodes.verdict is not None
    said, belief = verdicts(episodes)[k], episodes.verdict[k, :, 1]
    return counted_scores(label.tolist(), said.tolist(), belief.tolist())


@pytest.fixture(scope="module")
def result() -> SmDdpoResult:
    return fit()


def test_learns_to_diagnose_and_to_leave_out_what_does_not_pay(result):
    """Panels 0 and 1 are ordered where they are cheap; at 3 per panel almost none is.

    Eight trainings had F1 0.89 (standard deviation 0.034), AUROC 0.845 (0.009), costs 1.9 (0.13)
    and 0, and values that rose by 0.75 (0.2): all bounds but the last are five deviations away, it
    is almost four.
    """
    last = result.curves.query("iteration == 12 and split == 'test'").set_index("learner")
    assert (last.f1[:2] > 0.7).all()  # 0.31 for calling everyone ill
    assert last.classifier_auroc_policy[0] > 0.75  # first states, with one column, among them
    assert last.cost[2] < 0.2 < 1.2 < last.cost[0] < 2.8
    first = result.curves.query("iteration == 0 and split == 'test'").set_index("learner")
    assert (last.value > first.value).all()


def test_curves_hold_every_look_and_the_kept_weights_are_those_of_the_best(result):
    curves = result.curves
    assert len(curves) == 4 * 3 * LEARNERS  # looks at 0, 4, 8, 12; three sets of units
    assert set(curves.split) == {"train", "validation", "test"}
    assert (curves.steps == curves.iteration * 2 * PPO["steps"]).all()
    seen = curves.query("split == 'validation' and iteration > 0")
    task, states = clinic(300, 1)
    policies = DiagnosisPolicies(result.weights, SETTINGS, adds=ADDS)
    episodes = greedy_episodes(policies, task, states)
    for k in range(LEARNERS):
        own = seen[seen.learner == k].set_index("iteration")
        assert own.f1[result.best_iteration[k]] == own.f1.max()
        counts = plain_scores(task.label, episodes, k)
        kept = own.loc[result.best_iteration[k]]
        assert counts["f1"] == pytest.approx(kept.f1)
        assert counts["auroc"] == pytest.approx(kept.auroc)
        assert episodes.cost[k].mean() == pytest.approx(kept.cost)
        worth = counts["true_negative"] + 4 * counts["true_positive"]
        paid = REWARD.cost_weight[k] * kept.cost
        assert kept.value == pytest.approx(worth / 300 - paid, abs=1e-6)


def test_training_repeats_bit_for_bit():
    first, second = (fit(outer_loops=1, validate_every=1) for _ in range(2))
    assert all(np.array_equal(first.weights[k], second.weights[k]) for k in first.weights)
    assert first.curves.equals(second.curves)


def test_a_frozen_pretrained_classifier_is_one_for_all_and_does_not_move():
    frozen = fit(variant="pretrained", pretraining_updates=150, tuned=False, outer_loops=2)
    tuned = fit(variant="pretrained", pretraining_updates=150, tuned=True, outer_loops=2)
    for name, array in frozen.weights.items():
        if name.startswith("classifier."):
            assert (array == array[0]).all()
            assert not np.array_equal(tuned.weights[name][0], tuned.weights[name][1])
    start = frozen.curves.query("iteration == 0 and split == 'test'")
    # 0.85 with a standard deviation of 0.02 over eight trainings, of which the bound is five away
    assert (start.classifier_auroc_random > 0.75).all()


def test_of_equal_looks_the_first_is_kept_and_the_one_before_training_never():
    keeper = _Keeper(2, "f1")
    stale = []
    for iteration, f1 in enumerate([[0.9, 0.9], [0.5, 0.3], [0.5, 0.4], [0.4, 0.4], [0.4, 0.4]]):
        scores = dict.fromkeys(SCORES, np.zeros(2)) | {"f1": np.array(f1)}
        weights = {"w": np.full((2, 1), iteration, dtype=np.float32)}
        keeper.look(iteration, 10 * iteration, weights, {"validation": scores})
        stale.append(keeper.stale)
    assert keeper.best.tolist() == [1, 2]
    assert keeper.weights["w"].tolist() == [[1.0], [2.0]]
    assert stale == [0, 0, 0, 1, 2]


def test_the_latest_visited_states_are_drawn_alike():
    """Of six states a memory of five holds the last five, and before it is full, what there is."""
    visited, rng = _VisitedStates(2, 5, 70), np.random.default_rng(0)
    for start in (0, 3):
        step = np.arange(start, start + 3)
        units = np.stack([step, 10 + step])
        visited.add(units, 20 + units[..., None] == np.arange(70))
        row, known = visited.sample(200, rng)
        held = set(range(max(0, start + 3 - 5), start + 3))
        assert [set(r.tolist()) for r in row] == [held, {10 + state for state in held}]
        assert np.array_equal(known, 20 + row[..., None] == np.arange(70))
        assert row.shape == (2, 200)


def test_training_stops_when_no_policy_improves():
    """Six trainings stopped after 2 to 19 looks; 300 units have few scores to rise to."""
    stopped = fit(patience=1, validate_every=1, policy_updates=1, outer_loops=300, criterion="am")
    looks = stopped.curves.iteration.max()
    assert looks < 300
    assert stopped.best_iteration.max() == looks - 1


def test_probabilities_and_beliefs_come_from_completed_rows_and_panels(result):
    policies = DiagnosisPolicies(result.weights, SETTINGS, adds=ADDS)
    _, states = clinic(50, 4)
    known = np.zeros((LEARNERS, 50, PANELS), dtype=bool)
    rows = np.stack([states.encode(np.arange(50), known[0])] * LEARNERS)
    law = policies.actor_law(rows, known, ~known)
    assert law.shape == (LEARNERS, 50, PANELS + 2)
    assert np.allclose(law.sum(axis=2), 1, atol=1e-5)
    without = policies.actor_law(rows, known, ~known & [True, False, True])
    assert (without[:, :, 1] == 0).all()
    belief = policies.beliefs(rows)
    assert np.array_equal(belief, policies.beliefs(rows[0]))
    assert np.allclose(belief.sum(axis=2), 1, atol=1e-6)
    assert np.array_equal(policies.beliefs(rows * 1e6), policies.beliefs(np.sign(rows) * 5))


def test_embedding_is_beliefs_completed_row_and_bits():
    settings = ClassifierSettings.of(CLASSIFIER)
    rng = np.random.default_rng(0)
    classifiers = Classifiers.fresh(2, COLUMNS, 2, settings=settings, rng=rng)
    seen = torch.randn(2, 6, COLUMNS + PANELS) * 4
    got = state_embedding(seen, classifiers, columns=COLUMNS, input_bound=5.0)
    row = seen[..., :COLUMNS].clamp(-5, 5)
    expected = [classifiers.probabilities(row), row, seen[..., COLUMNS:]]
    assert torch.equal(got, torch.cat(expected, dim=2))


def test_classifier_gradient_is_that_of_autograd():
    """Σ w_y · cross-entropy / b of each classifier, layers applied one by one."""
    settings = ClassifierSettings.of(CLASSIFIER)
    classifiers = Classifiers.fresh(3, 5, 2, settings=settings, rng=np.random.default_rng(0))
    x, y = torch.randn(3, 40, 5), torch.randint(2, (3, 40))
    classifiers.write_gradient(x, y, settings.class_weights)
    got = classifiers.parameters.gradient_views
    for k in range(3):
        arrays = {n: v[k].clone().requires_grad_() for n, v in classifiers.parameters.views.items()}
        out = x[k]
        for i in range(3):
            out = out @ arrays[f"{i}.weight"] + arrays[f"{i}.bias"]
            out = torch.nn.functional.silu(out) if i < 2 else out
        weight = torch.tensor(settings.class_weights)
        loss = torch.nn.functional.cross_entropy(out, y[k], weight=weight, reduction="sum") / 40
        loss.backward()
        for name, array in arrays.items():
            assert array.grad is not None
            assert torch.allclose(got[name][k], array.grad, atol=1e-6)


def test_scores_where_a_class_is_absent():
    """A rate of nobody counts 0: healthy units alone have a true positive rate of 0, and so on."""
    none, all_ill = np.zeros(4, dtype=np.int64), np.ones(4, dtype=np.int64)
    said = np.array([[0, 0, 0, 0], [1, 1, 1, 0]])
    f1, am = f1_and_am(none, said)
    assert f1.tolist() == [0, 0]
    assert am.tolist() == [0.5, 0.125]
    f1, am = f1_and_am(all_ill, said)
    assert f1.tolist() == [0, 6 / 7]
    assert am.tolist() == [0.5, 0.875]


def test_scores_are_those_of_plain_counts():
    rng = np.random.default_rng(3)
    label, said = rng.integers(2, size=30), rng.integers(2, size=(2, 30))
    p = rng.integers(5, size=30) / 5
    f1, am = f1_and_am(label, said)
    for k in range(2):
        counts = counted_scores(label.tolist(), said[k].tolist(), p.tolist())
        assert (f1[k], am[k]) == pytest.approx((counts["f1"], counts["am"]))
    assert area_under_curve(label, p) == pytest.approx(counts["auroc"])
    assert np.isnan(area_under_curve(np.zeros(4, dtype=np.int64), p[:4]))


@pytest.mark.parametrize("gap", [2e-8, 4e-8, 1e-7])
def test_what_is_likeliest_among_all_panels_is_so_among_fewer_even_nearly_tied(result, gap):
    """Logits 0 and `gap`: as probabilities they are the same among three panels."""
    weights = {
        name: np.zeros_like(array) if name.startswith("policy.") else array
        for name, array in result.weights.items()
    }
    last = max(name for name in weights if name.startswith("policy.") and name.endswith("bias"))
    weights[last] = np.zeros_like(weights[last]) + np.float32(-9)
    weights[last][:, :3] = np.array([0, gap, -1e-3], dtype=np.float32)
    policies = DiagnosisPolicies(weights, SETTINGS, adds=ADDS)
    _, states = clinic(5, 4)
    nothing = np.zeros((LEARNERS, 5, PANELS), dtype=bool)
    rows = np.stack([states.encode(np.arange(5), nothing[0])] * LEARNERS)
    for fewer in ([True, True, True], [True, True, False], [False, True, True]):
        said = policies.decide(rows, nothing, np.broadcast_to(np.array(fewer), nothing.shape))
        assert (said.argmax(axis=2) == 1).all()


def test_decisions_and_verdicts_are_those_of_the_actor(result):
    """Greedy: its likeliest action. Sampled: its law, the ends summed. Verdicts: its ends alone."""
    world, states = clinic(60, 5)
    greedy = DiagnosisPolicies(result.weights, SETTINGS, adds=ADDS)
    sampled = DiagnosisPolicies(result.weights, SETTINGS, adds=ADDS, greedy=False)
    rng = np.random.default_rng(0)
    known = rng.random((LEARNERS, 60, PANELS)) < 0.4
    available = known | (rng.random(known.shape) < 0.7)
    rows = np.stack([states.encode(np.arange(60), one) for one in known])
    law = greedy.actor_law(rows, known, available & ~known)
    best = np.minimum(law.argmax(axis=2), PANELS)
    assert (greedy.decide(rows, known, available).argmax(axis=2) == best).all()
    drawn = sampled.decide(rows, known, available)
    np.testing.assert_array_equal(drawn[..., :PANELS], law[..., :PANELS])
    np.testing.assert_allclose(drawn[..., PANELS], law[..., PANELS:].sum(axis=2), rtol=1e-6)
    ends = law[..., PANELS:]
    for policies in (greedy, sampled):
        said = policies.conclude(rows, known)
        np.testing.assert_allclose(said, ends / ends.sum(axis=2, keepdims=True), rtol=1e-4)
    episodes = greedy_episodes(greedy, world, states)
    final = [states.encode(np.arange(60), one) for one in episodes.acquired]
    at_end = greedy.actor_law(np.stack(final), episodes.acquired, ~episodes.acquired)
    assert (verdicts(episodes) == at_end[..., PANELS:].argmax(axis=2)).all()
    assert (at_end.argmax(axis=2) >= PANELS).all()


def test_beliefs_on_the_way_are_those_of_the_classifier_at_what_was_known(result):
    world, states = clinic(60, 5)
    policies = DiagnosisPolicies(result.weights, SETTINGS, adds=ADDS, greedy=False)
    uniforms = np.random.default_rng(0).random((60, PANELS + 1))
    episodes = roll_out(policies, world, uniforms=uniforms, states=states, beliefs=True)
    assert episodes.belief is not None
    known: dict[tuple[int, int], list[int]] = {}
    for i, belief in enumerate(episodes.belief):
        k, unit = int(episodes.member[i]), int(episodes.row[i])
        taken = known.setdefault((k, unit), [])
        state = np.isin(np.arange(PANELS), taken)[None]
        row = states.encode(np.array([unit]), state)
        np.testing.assert_allclose(belief, policies.beliefs(row)[k, 0], rtol=1e-5)
        if episodes.action[i] < PANELS:
            taken.append(int(episodes.action[i]))


def test_refusals():
    task, states = clinic(20, 0)
    settings = {k: v for k, v in SETTINGS.items() if k != "patience"}
    with pytest.raises(ConfigError, match="key 'patience' is missing"):
        fit_sm_ddpo(
            task,
            states,
            (task, states),
            reward=REWARD,
            settings=settings,
            rng=np.random.default_rng(0),
        )
    stop = replace(task, terminals=1)
    reward = DiagnosisReward(REWARD.matrix[:1], REWARD.cost_weight[:1])
    with pytest.raises(DataError, match="1 terminal actions"):
        fit_sm_ddpo(
            stop,
            states,
            (stop, states),
            reward=reward,
            settings=SETTINGS,
            rng=np.random.default_rng(0),
        )


def test_a_threshold_on_the_belief_says_the_class_if_the_settings_say_so():
    """Chosen by validation units, kept beside the weights, and never contradicted by the belief."""
    settings = {**SETTINGS, "verdict": "belief"}
    found = fit(verdict="belief", outer_loops=4, validate_every=4)
    world, states = clinic(300, 1)
    policies = DiagnosisPolicies(found.weights, settings, adds=ADDS)
    episodes = greedy_episodes(policies, world, states)
    said = verdicts(episodes)
    for k in range(LEARNERS):
        rows = states.encode(np.arange(300), episodes.acquired[k])
        belief = policies.beliefs(rows)[k, :, 1].astype(np.float64)
        threshold = float(found.weights["threshold"][k])
        np.testing.assert_array_equal(said[k], belief >= threshold)
        f1 = counted_scores(world.label.tolist(), said[k].tolist(), belief.tolist())["f1"]
        tried = [
            counted_scores(world.label.tolist(), (belief >= cut).tolist(), belief.tolist())["f1"]
            for cut in belief
        ]
        assert f1 == pytest.approx(max(tried))
    kept = found.curves.query("iteration == 4 and split == 'validation'")
    np.testing.assert_allclose(kept.f1, f1_and_am(world.label, said)[0])
    with pytest.raises(DataError, match="threshold"):
        DiagnosisPolicies(fit(outer_loops=1).weights, settings, adds=ADDS)


def test_for_a_reward_the_threshold_follows_from_its_worths():
    """A true positive is worth 4, a true negative 1: ill from belief 1/5 on."""
    found = fit(verdict="belief", criterion="value", outer_loops=1, validate_every=1)
    np.testing.assert_allclose(found.weights["threshold"], 0.2, rtol=1e-6)


def test_a_panel_that_adds_no_column_is_neither_tried_nor_ordered(result):
    """Panel 1 is all of panel 0 and more: after it panel 0 is masked, before it neither is."""
    adds = ADDS.copy()
    adds[1] |= adds[0]
    policies = DiagnosisPolicies(result.weights, SETTINGS, adds=adds, greedy=False)
    known = np.array([[False] * 3, [True, False, False], [False, True, False]])
    rows = np.zeros((LEARNERS, 3, COLUMNS), dtype=np.float32)
    law = policies.decide(rows, np.stack([known] * LEARNERS), np.ones((LEARNERS, 3, 3), dtype=bool))
    open_panels = [[True] * 3, [False, True, True], [False, False, True]]
    np.testing.assert_array_equal(law[..., :PANELS] > 0, [open_panels] * LEARNERS)
    world, states = clinic(40, 0)
    nested = replace(world, provides=adds)
    environment = BatchedAcquisition(
        nested,
        states,
        REWARD,
        learners=LEARNERS,
        episodes=8,
        start="random",
        rng=np.random.default_rng(0),
        only_new=True,
    )
    both = environment.acquired[..., 1]
    assert both.any()
    assert not environment.action_mask[..., 0][both].any()
    assert (environment.action_mask[..., 0] == ~environment.acquired[..., 0] & ~both).all()
