"""A boosted model as SM-DDPO's belief: out of fold in training, stored, and as it was kept."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from frugal.config.learners import BoostedSettings
from frugal.core.errors import DataError
from frugal.core.world import World
from frugal.studies.diagnosis.policies.fronts import (
    BoostedBelief,
    DiagnosisPolicies,
    ModelProbabilities,
)
from frugal.studies.diagnosis.policies.sm_ddpo import area_under_curve, f1_and_am

from tests.studies.diagnosis import test_sm_ddpo as clinics
from tests.unit.acquisition_cases import verdicts

pytestmark = pytest.mark.trains

BOOSTING: dict[str, Any] = {"trees": 60, "leaves": 8, "learning_rate": 0.1, "min_leaf": 30}
BOOSTING |= {"ridge": 1.0, "column_share": 1.0, "row_share": 1.0, "folds": 3, "repeats": 1}
BELIEF: dict[str, Any] = {"boosting": BOOSTING, "copies": 3, "refits": 2}
SETTINGS = {**clinics.SETTINGS, "classifier": BELIEF, "verdict": "belief"}


@pytest.fixture(scope="module")
def result():
    return clinics.fit(classifier=BELIEF, verdict="belief", validate_every=3)


def belief_on(world: World, also: World | None = None, **changed: Any) -> BoostedBelief:
    settings = BoostedSettings.of(BELIEF | changed)
    return BoostedBelief(world, also, settings, np.random.default_rng(0))


def test_it_learns_to_diagnose_and_its_belief_is_calibrated(result):
    """Six trainings had F1 from .86 to .93 for the cheap learners and log-loss .33 to .37."""
    last = result.curves.query("iteration == 12 and split == 'test'").set_index("learner")
    assert (last.f1[:2] > 0.7).all()
    assert (last.classifier_log_loss_policy[:2] < 0.45).all()
    assert last.cost[2] < 0.2 < 1.2 < last.cost[0] < 2.8


def test_what_is_kept_acts_as_it_did_at_its_best_look(result):
    world, states = clinics.clinic(300, 1)
    policies = DiagnosisPolicies(result.weights, SETTINGS, adds=clinics.ADDS)
    episodes = clinics.greedy_episodes(policies, world, policies.readings(states, world))
    f1, _ = f1_and_am(world.label, verdicts(episodes))
    seen = result.curves.query("split == 'validation' and iteration > 0")
    for k in range(clinics.LEARNERS):
        own = seen[seen.learner == k].set_index("iteration").loc[result.best_iteration[k]]
        assert f1[k] == pytest.approx(own.f1)
        assert episodes.cost[k].mean() == pytest.approx(own.cost)


def test_one_verdict_for_one_belief(result):
    world, states = clinics.clinic(400, 7)
    policies = DiagnosisPolicies(result.weights, SETTINGS, adds=clinics.ADDS)
    readings = policies.readings(states, world)
    episodes = clinics.greedy_episodes(policies, world, readings)
    seen = np.stack([readings.encode(np.arange(400), one) for one in episodes.acquired])
    belief = policies.believe(seen, episodes.acquired)[..., 1]
    threshold = result.weights["threshold"][:, None]
    np.testing.assert_array_equal(verdicts(episodes) == 1, belief >= threshold)


def test_of_a_training_unit_trees_state_that_did_not_see_it():
    """Labels are noise: out of fold nothing is known of them, by all trees much."""
    rng = np.random.default_rng(0)
    world, states = clinics.clinic(600, 2)
    world = replace(world, label=rng.integers(2, size=600))
    trees = BOOSTING | {"trees": 40, "leaves": 31, "min_leaf": 1, "ridge": 0.0}
    belief = belief_on(world, boosting=trees)
    rows, all_panels = np.arange(600), np.ones((600, 3), dtype=bool)
    kept = belief.of_training(states).encode(rows, all_panels)[:, -1]
    others = belief.of_others(states, world).encode(rows, all_panels)[:, -1]
    assert 0.4 < area_under_curve(world.label, kept) < 0.6
    assert area_under_curve(world.label, others) > 0.65


def test_it_learns_from_further_units_and_from_states_visited():
    world, _ = clinics.clinic(60, 3)
    more, _ = clinics.clinic(2000, 4)
    new, states = clinics.clinic(1500, 5)
    all_panels = np.ones((1500, 3), dtype=bool)

    def auroc(belief: BoostedBelief) -> float:
        told = belief.of_others(states, new).encode(np.arange(1500), all_panels)[:, -1]
        return area_under_curve(new.label, told)

    few, many = belief_on(world), belief_on(world, more)
    assert auroc(many) > auroc(few) + 0.02
    assert many.enough == 3 * 2060
    before = auroc(few)
    few.refit(np.tile(np.arange(60), 20), np.ones((1200, 3), dtype=bool))
    assert len(few.models) == 2
    assert auroc(few) != before
    assert set(few.arrays([1, 0])) >= {"trees.0.feature", "trees.1.feature"}


def test_it_is_fitted_anew_at_even_distances():
    settings = BoostedSettings.of(BELIEF)
    assert settings.refitted_after(12) == {4, 8}
    assert settings.changed(refits=0).refitted_after(12) == set()
    assert settings.changed(refits=5).refitted_after(2) == {1}


def test_each_learner_goes_by_its_own_model():
    beliefs = torch.tensor([[[0.1, 0.9]], [[0.2, 0.8]], [[0.3, 0.7]]])
    told = ModelProbabilities(np.array([0, 1, 0]), 2).probabilities(beliefs)
    np.testing.assert_allclose(told[:, 0, 1], [0.1, 0.8, 0.3])
    np.testing.assert_allclose(told.sum(2), 1)


def test_a_pretrained_model_that_is_not_tuned_is_fitted_once():
    found = clinics.fit(
        classifier=BELIEF, variant="pretrained", tuned=False, outer_loops=3, validate_every=1
    )
    start = found.curves.query("split == 'test'").groupby("iteration").classifier_auroc_random
    assert start.nunique().eq(1).all()
    assert found.curves.query("split == 'test'").classifier_auroc_random.nunique() == 1


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"model": np.array([0, 0, 7])}, "'model'"),
        ({"model": None}, "model"),
        ({"trees.0.feature": None}, "feature"),
    ],
)
def test_spoilt_models_are_refused(result, changed, words):
    arrays = {k: v for k, v in (result.weights | changed).items() if v is not None}
    with pytest.raises(DataError, match=words):
        DiagnosisPolicies(arrays, SETTINGS, adds=clinics.ADDS)
