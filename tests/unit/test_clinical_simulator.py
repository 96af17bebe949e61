"""The simulated clinic: exact posteriors, exact best F1, the best fixed set of panels."""

from pathlib import Path

import numpy as np
import pytest
from frugal.config.dataset import ClinicalGenerator
from frugal.data.description import load_description
from frugal.data.prepare import prepare
from frugal.data.simulators import (
    ClinicalWorld,
    best_f1,
    clinical_world,
    patients_of,
    posterior,
    sample_patients,
    static_rules,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.gaussian_clinic import best_f1_by_counting, posterior_by_integration

YAML = Path(__file__).parents[2] / "config/datasets/clinical_simulator.yaml"


def _world(seed: int, d: int) -> ClinicalWorld:
    rng = np.random.default_rng(seed)
    loadings = rng.uniform(-0.6, 0.6, (d, 2))
    covariance = loadings @ loadings.T
    np.fill_diagonal(covariance, 1.0)
    return ClinicalWorld(
        groups=("a", "b"),
        features=tuple(f"x{j}" for j in range(d)),
        share=np.array([0.3, 0.7]),
        prevalence=np.array([0.4, 0.1]),
        effect=rng.normal(0, 1, (2, d)),
        covariance=covariance,
    )


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.lists(st.booleans(), min_size=3, max_size=3))
def test_posterior_agrees_with_numerical_integration(seed, seen):
    world = _world(seed, 3)
    rng = np.random.default_rng(seed)
    values, group = rng.normal(0, 1.5, (2, 3)), rng.integers(0, 2, 2)
    observed = np.tile(seen, (2, 1))
    hidden = np.where(observed, values, np.nan)  # what is not observed must not be read
    found = posterior(world, group, hidden, observed)
    for row in range(2):
        expected = posterior_by_integration(
            group[row],
            values[row],
            seen,
            prevalence=world.prevalence,
            effect=world.effect,
            covariance=world.covariance,
        )
        # the grid of step 0.4 and reach 8 is good to about 1e-6 where means lie up to 4 off
        assert found[row] == pytest.approx(expected, abs=1e-5)


def test_posterior_of_mixed_patterns_is_that_of_each():
    world = _world(3, 4)
    rng = np.random.default_rng(0)
    values, observed = rng.normal(size=(20, 4)), rng.random((20, 4)) < 0.5
    group = rng.integers(0, 2, 20)
    together = posterior(world, group, values, observed)
    alone = [posterior(world, group[[i]], values[[i]], observed[[i]])[0] for i in range(20)]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_nothing_seen_leaves_the_prevalence():
    world = _world(1, 3)
    found = posterior(
        world, np.array([0, 1]), np.full((2, 3), np.nan), np.zeros((2, 3), dtype=bool)
    )
    np.testing.assert_allclose(found, world.prevalence, rtol=1e-12)


@pytest.mark.parametrize("seen", [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)])
def test_best_f1_agrees_with_counting_on_a_large_sample(seen):
    world = _world(5, 3)
    frame = sample_patients(world, 60_000, rng=np.random.default_rng(7))
    group = frame["group"].map({"a": 0, "b": 1}).to_numpy(dtype=np.int64)
    values = frame[["x0", "x1", "x2"]].to_numpy()
    mask = np.array(seen, dtype=bool)
    probability = posterior(world, group, values, np.tile(mask, (len(frame), 1)))
    rule = best_f1(world, mask)
    ill = (frame["ill"] == "1").to_numpy()
    # about 11,400 ill patients: the standard error of F1 is below 0.003; 5 of them
    assert rule.f1 == pytest.approx(best_f1_by_counting(probability, ill), abs=0.015)
    called = probability > rule.threshold
    assert called[ill].mean() == pytest.approx(rule.sensitivity, abs=0.02)
    assert (~called)[~ill].mean() == pytest.approx(rule.specificity, abs=0.015)
    f1 = 2 * (called & ill).sum() / (called.sum() + ill.sum())
    assert rule.f1 == pytest.approx(f1, abs=0.015)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(0, 3))
def test_seeing_more_never_lowers_the_best_f1(seed, j):
    world = _world(seed, 4)
    seen = np.random.default_rng(seed).random(4) < 0.5
    more = seen.copy()
    more[j] = True
    rules = [best_f1(world, which) for which in (seen, more)]
    assert rules[1].f1 >= rules[0].f1 - 1e-7


def _shipped():
    description = load_description(YAML)
    generator = description.source.generator
    assert isinstance(generator, ClinicalGenerator)
    return clinical_world(generator), prepare(description, {}, 0).table


def test_sample_has_the_worlds_moments():
    world, table = _shipped()
    group, values = patients_of(world, table.columns, table.values)
    ill = table.label == 1
    assert len(world.features) == 20
    for g in range(2):
        n = int((group == g).sum())
        assert abs(n / len(table) - world.share[g]) < 5 * np.sqrt(0.25 / len(table))
        spread = np.sqrt(world.prevalence[g] * (1 - world.prevalence[g]) / n)
        assert abs(ill[group == g].mean() - world.prevalence[g]) < 5 * spread
        for y in (0, 1):
            x = values[(group == g) & (ill == y)]
            bound = 5.5 / np.sqrt(len(x))  # 80 means: false alarm below 1e-5
            assert np.abs(x.mean(axis=0) - y * world.effect[g]).max() < bound
    assert np.abs(np.corrcoef(values[~ill].T) - world.covariance).max() < 0.06


def test_best_fixed_sets_of_the_shipped_clinic():
    world, table = _shipped()
    rules = static_rules(world, table)
    assert len(rules) == 64
    assert rules[0].panels == ()
    assert rules[0].cost == 0
    full = rules[-1]
    assert full.cost == table.action_cost.sum() == 463
    assert full.rule.f1 == pytest.approx(0.8729, abs=1e-4)
    for one in rules:  # a known theorem: the best threshold is half of the best F1
        assert one.rule.threshold == pytest.approx(one.rule.f1 / 2, abs=1e-4)
    basic, whole = rules[0b1], rules[0b11]
    assert whole.cost == basic.cost + 48  # overlapping panels are both paid
    assert whole.rule.f1 == pytest.approx(rules[0b10].rule.f1, abs=1e-9)  # and tell nothing twice
    within = [r for r in rules if r.cost <= full.cost / 5]
    fifth = max(within, key=lambda r: r.rule.f1)
    assert fifth.panels == ("full chemistry", "blood count")
    assert fifth.rule.f1 == pytest.approx(0.5158, abs=1e-4)


def test_rows_follow_the_descriptions_seed_alone():
    description = load_description(YAML)
    first, second = (prepare(description, {}, seed) for seed in (0, 1))
    assert first.table.values.tobytes() == second.table.values.tobytes()
    assert (first.split != second.split).any()
