"""Samples from the world that is written out: bias, rate and coverage with the true propensities.

The seed is fixed, so that a pass stays a pass; the rates below say how often a correct program
would fail under a fresh seed.
"""

from collections.abc import Callable

import numpy as np
import pytest
from frugal.judge.estimator import Terms
from frugal.judge.estimators.afais import afais_s, stabilised_afais_s
from frugal.judge.estimators.doubly_robust import doubly_robust, doubly_robust_afais
from frugal.judge.estimators.inverse_probability import ipw, stabilised_ipw
from frugal.judge.intervals import estimate, normal_interval, standard_error

from tests.oracles import two_panel_world as world

pytestmark = pytest.mark.statistical

SIZES = 250 * 2 ** np.arange(7)  # 250 … 16,000
DRAWS = 200
SEED = 20240611


class Sampler:
    """The paper's MNAR scenario with exact nuisances per atom; a sample is a choice of atoms."""

    def __init__(self) -> None:
        policy = world.random_policy(0.4)
        atoms = world.enumerate_atoms(
            policy, lambda x: (0.8, 0.4)[x[0]], lambda x: (0.35, 0.75)[x[1]]
        )
        everywhere = np.ones(len(atoms.y), dtype=bool)
        seen = atoms.observed[:, 0]
        given = world.keys(atoms, (0, 1), sets=False, seen=False)
        with_set = world.keys(atoms, (0, 1), sets=True, seen=False)
        full = atoms.complete.astype(float)
        self.truth = world.truth(policy)
        self.probability = atoms.probability / atoms.probability.sum()
        self.outcome = atoms.cost[:, None]
        self.complete, self.s_observed = atoms.complete, seen
        self.propensity = world.conditional_mean(atoms, full, given, everywhere)
        self.afa_propensity = world.conditional_mean(atoms, full, with_set, seen)
        self.s_propensity = world.conditional_mean(atoms, seen.astype(float), given, everywhere)
        # a wrong outcome model: the doubly robust estimates must not need a right one
        self.outcome_mean = 1.0 + atoms.x[:, [0]] - 0.5 * atoms.x[:, [1]]

    def rows(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.choice(len(self.probability), n, p=self.probability)


ESTIMATORS: dict[str, Callable[[Sampler, np.ndarray], Terms]] = {
    "ipw": lambda s, i: ipw(s.outcome[i], s.complete[i], s.propensity[i]),
    "stabilised_ipw": lambda s, i: stabilised_ipw(s.outcome[i], s.complete[i], s.propensity[i]),
    "afais_s": lambda s, i: afais_s(
        s.outcome[i], s.s_observed[i], s.propensity[i], s.afa_propensity[i]
    ),
    "stabilised_afais_s": lambda s, i: stabilised_afais_s(
        s.outcome[i], s.s_observed[i], s.propensity[i], s.afa_propensity[i]
    ),
    "doubly_robust": lambda s, i: doubly_robust(
        s.outcome[i],
        s.complete[i],
        s.propensity[i],
        s.outcome_mean[i],
        s.s_observed[i],
        s.s_propensity[i],
    ),
    "doubly_robust_afais": lambda s, i: doubly_robust_afais(
        s.outcome[i],
        s.propensity[i],
        s.afa_propensity[i],
        s.outcome_mean[i],
        s.s_observed[i],
        s.s_propensity[i],
    ),
}


@pytest.fixture(scope="module")
def sampler() -> Sampler:
    return Sampler()


@pytest.fixture(scope="module")
def estimates(sampler) -> dict[str, np.ndarray]:
    """Estimates of each estimator on the same draws. (sizes, draws)"""
    rng = np.random.default_rng(SEED)
    values = {name: np.empty((len(SIZES), DRAWS)) for name in ESTIMATORS}
    for i, n in enumerate(SIZES):
        for j in range(DRAWS):
            rows = sampler.rows(int(n), rng)
            for name, build in ESTIMATORS.items():
                values[name][i, j] = estimate(build(sampler, rows))[0]
    return values


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_mean_over_draws_is_the_truth(name, sampler, estimates):
    # three standard errors at n = 16,000, where the 1/n bias of the stabilised ones is 0.02
    # of one: false alarm 0.27 % each, 1.6 % over the six
    values = estimates[name][-1]
    error = values.std(ddof=1) / np.sqrt(DRAWS)
    assert abs(values.mean() - sampler.truth) < 3 * error


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_spread_falls_with_the_root_of_n(name, estimates):
    # each log standard deviation of 200 draws has error 1/√400 = 0.05; over seven sizes a factor
    # of two apart the slope has error 0.05 / (log 2 · √28) = 0.014: ±0.1 is seven of them, so that
    # a false alarm is rarer than 1e-10
    spread = estimates[name].std(axis=1, ddof=1)
    slope = np.polyfit(np.log(SIZES), np.log(spread), 1)[0]
    assert -0.6 < slope < -0.4


def test_afais_is_more_efficient_than_ipw(estimates):
    # enumerated, the ratio of asymptotic standard deviations is 0.768; estimated from 200 paired
    # draws it has a standard error of about 0.03: four of them, false alarm below 1e-4
    spread = {name: values[-1].std(ddof=1) for name, values in estimates.items()}
    assert spread["stabilised_afais_s"] / spread["stabilised_ipw"] == pytest.approx(0.768, abs=0.13)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_intervals_cover_at_their_level(name, sampler):
    n, draws = 2000, 600
    rng = np.random.default_rng(SEED + 1)
    covered = 0
    for _ in range(draws):
        terms = ESTIMATORS[name](sampler, sampler.rows(n, rng))
        low, high = normal_interval(estimate(terms), standard_error(terms), level=0.95)
        covered += bool(low[0] <= sampler.truth <= high[0])
    # binomial standard error √(0.95·0.05/600) = 0.0089; three of them: false alarm 0.3 % each,
    # 1.6 % over the six
    assert abs(covered / draws - 0.95) < 3 * 0.0089
