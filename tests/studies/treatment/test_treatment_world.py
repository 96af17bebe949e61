"""The synthetic world: its tables against the reference and the formulas, and its draws."""

import itertools

import numpy as np
import pytest
from frugal.core.errors import ConfigError
from frugal.studies.treatment.search.simulated_worlds import (
    WorldParameters,
    build_world,
    draw_parameters,
    sample_searches,
    sample_units,
)
from scipy.stats import cauchy

from tests.studies.treatment.search_cases import reference

SHAPE = {"n_actions": 4, "n_covariates": 2, "n_moderators": 3, "covariate_scale": 1.0}


def _world(seed, form, **changes):
    parameters = draw_parameters(np.random.default_rng(seed), **(SHAPE | changes), form=form)
    return parameters, build_world(parameters, n_outcomes=3, form=form)


def test_release_form_reproduces_the_tables_of_the_reference():
    case = reference("true_model_k3")
    dgp = {name: np.array(value) for name, value in case["dgp"].items()}
    parameters = WorldParameters(
        dgp["Pz"], dgp["Px_rownormalised"], dgp["u1"], dgp["u2"], dgp["Pa"].T.copy()
    )
    world = build_world(parameters, n_outcomes=3, form="release")
    for found, name in (
        (world.p_z, "p_z"),
        (world.p_x, "p_x"),
        (world.p_z_given_x, "p_z_given_x"),
        (world.p_outcome, "p_y_given_x_z_a"),
    ):
        np.testing.assert_allclose(found, case[name], rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", ["release", "text"])
def test_outcome_law_is_the_cauchy_density_at_each_outcome(form):
    parameters, world = _world(5, form)
    points = range(3) if form == "release" else range(1, 4)
    bits = itertools.product(
        enumerate(itertools.product((0, 1), repeat=2)),
        enumerate(itertools.product((0, 1), repeat=3)),
    )
    for (x, x_bits), (z, z_bits) in bits:
        v = np.array([1, *x_bits, *z_bits])
        for a in range(4):
            u1, u2 = parameters.location_weight[a], parameters.scale_weight[a]
            y0 = 2 * (u1 @ v - u1[u1 < 0].sum()) / np.abs(u1).sum()
            scale = (u2 @ v - u2[u2 < 0].sum()) / np.abs(u2).sum()
            density = cauchy.pdf(points, loc=y0, scale=scale)
            np.testing.assert_allclose(
                world.p_outcome[x, z, a], density / density.sum(), rtol=1e-12
            )
        p_bits = np.clip(parameters.covariate_weight @ z_bits, 0.02, 0.98)
        law = np.prod([p if b else 1 - p for b, p in zip(x_bits, p_bits, strict=True)])
        assert world.p_x_given_z[z, x] == pytest.approx(law)


def test_forms_differ_as_documented():
    release, text = _world(7, "release")[0], _world(7, "text")[0]
    np.testing.assert_allclose(release.covariate_weight.sum(axis=1), 1)
    assert text.covariate_weight.max() <= 1
    np.testing.assert_allclose(
        text.covariate_weight / text.covariate_weight.sum(axis=1, keepdims=True),
        release.covariate_weight,
    )
    assert (text.scale_weight >= 0).all()
    assert (release.scale_weight[:, 0] > 0).all()
    assert (release.scale_weight[:, 1:] < 0).any()
    np.testing.assert_array_equal(np.abs(release.scale_weight), text.scale_weight)


def test_covariate_scale_touches_covariates_only():
    one, two = (_world(7, "release", covariate_scale=s)[0] for s in (1.0, 2.0))
    for name in ("location_weight", "scale_weight"):
        ratio = getattr(two, name) / getattr(one, name)
        np.testing.assert_allclose(ratio, [[1, 2, 2, 1, 1, 1]] * 4)


@pytest.mark.parametrize("form", ["release", "text"])
def test_observed_searches_show_the_potential_outcomes_and_repeat_nothing(form):
    _, world = _world(3, form)
    rng = np.random.default_rng(0)
    context, outcome = sample_units(world, 500, rng)
    records = sample_searches(world, context, outcome, rng, p_stop=0.1, p_stop_best=0.9)
    tried = records.action >= 0
    assert tried[:, 0].all()
    unit, step = np.nonzero(tried)
    assert (records.outcome[unit, step] == outcome[unit, records.action[unit, step]]).all()
    assert (records.n_contexts, records.n_actions, records.n_outcomes) == (4, 4, 3)


@pytest.mark.parametrize(("p_stop", "trials"), [(1.0, 1), (0.0, 4)])
def test_stopping_at_once_and_never(p_stop, trials):
    _, world = _world(3, "release")
    rng = np.random.default_rng(0)
    context, outcome = sample_units(world, 200, rng)
    records = sample_searches(world, context, outcome, rng, p_stop=p_stop, p_stop_best=p_stop)
    assert ((records.action >= 0).sum(axis=1) == trials).all()


def test_a_search_that_found_the_best_may_be_made_to_stop():
    _, world = _world(3, "release")
    rng = np.random.default_rng(0)
    context, outcome = sample_units(world, 300, rng)
    records = sample_searches(world, context, outcome, rng, p_stop=0.0, p_stop_best=1.0)
    best = records.outcome == 2
    assert (best.sum(axis=1) == (outcome == 2).any(axis=1)).all()
    last = (records.action >= 0).sum(axis=1) - 1
    assert (best[np.arange(300), last] | (last == 3)).all()


def test_worlds_and_draws_follow_their_generator():
    same, other = _world(1, "release")[1], _world(2, "release")[1]
    assert (same.p_outcome == _world(1, "release")[1].p_outcome).all()
    assert (same.p_outcome != other.p_outcome).any()
    with pytest.raises(ConfigError, match="form is 'paper'"):
        _world(0, "paper")
    with pytest.raises(ConfigError, match="needs at least 1 of each"):
        _world(0, "text", n_moderators=0)
    rng = np.random.default_rng(0)
    with pytest.raises(ConfigError, match="stopping chances"):
        sample_searches(same, *sample_units(same, 5, rng), rng, p_stop=1.5, p_stop_best=0.9)
