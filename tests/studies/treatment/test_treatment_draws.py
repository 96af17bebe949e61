"""Draws of the synthetic world against its tables, and played policies against their expectation.

The seed is fixed, so that a pass stays a pass. Every tolerance is 4.5 standard errors; with fewer
than 400 comparisons a correct program fails under a fresh seed with probability below 400 · 7e-6.
"""

import numpy as np
import pytest
from frugal.studies.treatment.models.outcome_counts import count_outcomes, trial_events
from frugal.studies.treatment.models.outcome_tables import smoothed_table, true_table
from frugal.studies.treatment.planning.constrained import (
    plan_constrained,
    plan_greedy,
    stopping_statistic,
)
from frugal.studies.treatment.search.environment import found_near_optimal, play_policy
from frugal.studies.treatment.search.simulated_worlds import (
    build_world,
    draw_parameters,
    sample_searches,
    sample_units,
)

from tests.studies.treatment.search_cases import expected_trials

pytestmark = pytest.mark.statistical

UNITS, SEED, ERRORS = 200_000, 20201117, 4.5
VALUE = np.arange(3.0)


def _world(form="release", seed=SEED, k=4):
    rng = np.random.default_rng(seed)
    parameters = draw_parameters(
        rng, n_actions=k, n_covariates=1, n_moderators=3, covariate_scale=1.0, form=form
    )
    return build_world(parameters, n_outcomes=3, form=form), rng


def _near(share, probability, trials):
    error = np.sqrt(probability * (1 - probability) / trials)
    assert (np.abs(share - probability) <= ERRORS * error + 1e-12).all()


@pytest.mark.parametrize("form", ["release", "text"])
def test_units_follow_their_tables(form):
    world, rng = _world(form)
    context, outcome = sample_units(world, UNITS, rng)
    _near(np.bincount(context, minlength=2) / UNITS, world.p_x, UNITS)
    marginal = np.einsum("xz,xzay->xay", world.p_z_given_x, world.p_outcome)
    for x in (0, 1):
        rows = outcome[context == x]
        share = (rows[:, :, None] == np.arange(3)).mean(axis=0)
        _near(share, marginal[x], len(rows))
        pair = np.einsum(
            "z,zu,zv->uv", world.p_z_given_x[x], world.p_outcome[x, :, 0], world.p_outcome[x, :, 1]
        )
        both = np.bincount(rows[:, 0] * 3 + rows[:, 1], minlength=9).reshape(3, 3) / len(rows)
        _near(both, pair, len(rows))


@pytest.mark.parametrize("form", ["release", "text"])
def test_observed_choices_follow_their_weights(form):
    """p(a | x, h) ∝ exp(η·[1; x; o(h)]) Π Δ, recomputed per history, for the first two trials."""
    world, rng = _world(form)
    context, outcome = sample_units(world, UNITS, rng)
    records = sample_searches(world, context, outcome, rng, p_stop=0.1, p_stop_best=0.9)
    events = trial_events(records)
    tried = (events.observed >= 0).sum(axis=1)
    for x in (0, 1):
        rows = events.action[(events.context == x) & (tried == 0)]
        weight = np.exp(world.choice_base[x])
        share = np.bincount(rows, minlength=4) / len(rows)
        _near(share, weight / weight.sum(), len(rows))
        for b in range(4):
            for y in range(3):
                after = (events.context == x) & (tried == 1) & (events.observed[:, b] == y)
                known = y if form == "release" else 1
                weight = np.exp(world.choice_base[x] + known * world.choice_history[:, b])
                weight *= world.dissimilarity[:, b]
                count = int(after.sum())
                if count:
                    share = np.bincount(events.action[after], minlength=4) / count
                    _near(share, weight / weight.sum(), count)


def test_searches_stop_as_often_as_they_should():
    world, rng = _world()
    context, outcome = sample_units(world, UNITS, rng)
    records = sample_searches(world, context, outcome, rng, p_stop=0.1, p_stop_best=0.9)
    best = records.outcome[:, 0] == 2
    alone = records.action[:, 1] < 0
    _near(alone[best].mean(), 0.9, best.sum())
    _near(alone[~best].mean(), 0.1, (~best).sum())


def test_played_trials_and_promise_agree_with_the_true_model():
    """E[T] is the mean of played trials, and no context stops wrongly more often than δ."""
    for seed in range(5):
        world, rng = _world(seed=seed)
        table = true_table(world.p_z_given_x, world.p_outcome, outcome_value=VALUE, memory_gib=1.0)
        context, outcome = sample_units(world, UNITS, rng)
        for bound in ("exact", "upper"):
            statistic = stopping_statistic(table, bound=bound, epsilon=0.0)
            options = {"delta": 0.2, "alpha": 1.0, "stop_rule": "<="}
            for policy in (
                plan_constrained(table, statistic, ties="improving", **options),
                plan_greedy(table, statistic, **options),
            ):
                played = play_policy(policy, context=context, outcome=outcome)
                near = found_near_optimal(played.best, outcome, outcome_value=VALUE, epsilon=0.0)
                for x in (0, 1):
                    trials, missed = played.trials[context == x], ~near[context == x]
                    error = trials.std(ddof=1) / np.sqrt(len(trials))
                    assert abs(trials.mean() - expected_trials(table, policy)[x]) <= ERRORS * error
                    slack = ERRORS * np.sqrt(0.2 * 0.8 / len(missed))
                    assert missed.mean() <= 0.2 + slack


def test_smoothed_table_comes_to_the_true_one_with_data():
    """Choices depend on x and history only (no U), so p(Y(a) | h) is identified: theorem 1."""
    world, rng = _world(k=3)
    truth = true_table(world.p_z_given_x, world.p_outcome, outcome_value=VALUE, memory_gib=1.0)
    context, outcome = sample_units(world, 5 * UNITS, rng)
    records = sample_searches(world, context, outcome, rng, p_stop=0.1, p_stop_best=0.9)
    counts = count_outcomes(records)
    table = smoothed_table(counts, outcome_value=VALUE, mode="release", memory_gib=1.0)
    trials = counts.count.sum(axis=1)
    often = trials > 2_000
    cell = (counts.context[often], counts.action[often], counts.history[often])
    true, found = truth.probability[cell], table.probability[cell]
    error = np.sqrt(true * (1 - true) / trials[often, None])
    prior = 4 / trials[often, None]  # pseudo-counts pull by no more than this
    assert often.sum() > 30
    assert (np.abs(found - true) <= ERRORS * error + prior).all()
