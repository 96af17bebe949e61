"""Value of further records: closed forms, and the gain that is realised in worlds drawn."""

import numpy as np
import pytest
from frugal.core.errors import ConfigError
from frugal.judge.designs import Compared, PolicyPair, believed
from frugal.judge.information_value import Belief, Kind, least_expected, worth
from frugal.run.study import load_study
from scipy.integrate import quad
from scipy.stats import norm

from tests.unit.test_own_table import folder, question
from tests.workflow.runs import ROOT

__all__ = ["folder"]
WORLDS = 400
NOISE = 4.0  # variance of one record's difference


def normal_loss(distance, spread):
    """E[max(−X, 0)] of X ~ N(distance, spread²), by its integral."""
    return quad(
        lambda x: max(-x, 0.0) * norm.pdf(x, distance, spread), -12 * spread, 0, epsabs=1e-12
    )[0]


def believing(mean, covariance, now):
    """One normal law."""
    return Belief(np.ones(1), np.asarray(mean)[None], np.asarray(covariance)[None], now)


def conjugate(prior_mean, prior_variance, records, seen):
    """Mean and variance of a normal mean after records of the variance `NOISE`."""
    precision = 1 / prior_variance + records / NOISE
    return (prior_mean / prior_variance + seen * records / NOISE) / precision, 1 / precision


@pytest.mark.parametrize("distance", [0.0, 0.3, 1.5])
@pytest.mark.parametrize("further", [1, 40, 4000])
def test_two_policies_are_worth_the_unit_normal_loss(distance, further):
    """Prior N(d, 0.49) for the difference, here from 20 records and as much from a prior.

    The later mean varies by the prior variance less the later one (Raiffa and Schlaifer 1961).
    """
    before, of_records = 0.49, 20
    belief = believing(
        np.array([0.0, distance]), np.diag([0.0, before]), np.diag([0.0, NOISE / of_records])
    )
    assert belief.perfect == pytest.approx(normal_loss(distance, 0.7), abs=1e-9)
    after = conjugate(0.0, before, further, 0.0)[1]
    value = belief.sample(np.diag([0.0, NOISE / (of_records + further)]))
    expected = normal_loss(distance, np.sqrt(before - after))
    assert value == pytest.approx(expected, rel=1e-3, abs=1e-9)
    assert value <= belief.perfect
    assert belief.sample(belief.now) == pytest.approx(0.0, abs=1e-9)


def test_without_a_prior_the_later_mean_varies_by_what_the_estimate_loses():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    now, mean = root @ root.T, rng.normal(size=4)
    value = believing(mean, now, now).sample(now / 3)
    expected = mean.min() - least_expected(mean, now * 2 / 3)
    assert value == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("k", "most"), [(3, 0.846284), (5, 1.162964), (10, 1.538753)])
def test_the_least_of_several_is_that_of_tables(k, most):
    """Mean of the largest of k standard normal numbers (Teichroew 1956)."""
    assert least_expected(np.zeros(k), np.eye(k)) == pytest.approx(-most, rel=1e-3)
    shifted = np.append(np.zeros(2), np.full(k, 40.0))  # of no use, so as of two
    assert least_expected(shifted, np.eye(k + 2)) == pytest.approx(-1 / np.sqrt(np.pi), rel=1e-3)


def of_differences(difference, now, price=5.0):
    """Belief and kind of two policies, records that all show the difference."""
    belief = believing(np.array([0.0, difference]), np.diag([0.0, now]), np.diag([0.0, now]))

    def then(records):
        return np.diag([0.0, 1 / (1 / now + records / NOISE)])

    return belief, Kind(price, 1e6, then)


def test_net_benefit_is_value_for_all_cases_less_costs_and_its_best_number_the_largest():
    """The formula of `enbs` of the R package voi: population · EVSI − costs."""
    belief, kind = of_differences(0.1, 0.2)

    def net(records):
        left = 0.2 - 1 / (5 + records / NOISE)
        return 20_000 * normal_loss(0.1, np.sqrt(left)) - 300 - 5 * records

    for records in (10, 200, 900):
        found = worth(belief, kind, records, 20_000.0, 300.0)
        assert found.cost == 300 + 5 * records
        assert found.net == pytest.approx(net(records), rel=1e-3)
    best = max(range(1, 600), key=net)
    assert found.best_net == pytest.approx(net(best), rel=1e-3)
    assert found.best == pytest.approx(best, rel=0.05)


def test_nothing_pays_where_certainty_does_not():
    belief, kind = of_differences(0.1, 0.2)
    found = worth(belief, kind, 10, 20.0, 300.0)
    assert (found.best, found.best_net) == (0, 0.0)
    assert found.net < 0


def test_a_kind_has_no_more_records_than_there_are():
    belief, kind = of_differences(0.0, 1.0, price=0.0)
    found = worth(belief, Kind(0.0, 7, kind.then), 50, 100.0)
    assert (found.records, found.best) == (7, 7)


@pytest.mark.parametrize("k", [2, 4])
def test_the_realised_gain_is_the_expected_one(k):
    """400 worlds of normal costs: prior, estimate and later estimate are drawn, and compared.

    Within two standard errors; at this seed.
    """
    rng = np.random.default_rng(7 + k)
    mix = np.eye(k) + 0.5 * rng.normal(size=(k, k)) / np.sqrt(k)
    noise = mix @ mix.T
    prior, before, further = np.eye(k) * 0.3, 10, 25
    now, then = noise / before, noise / (before + further)
    excess = []
    for _ in range(WORLDS):
        truth = rng.multivariate_normal(np.zeros(k), prior)
        seen = rng.multivariate_normal(truth, now)
        more = rng.multivariate_normal(truth, noise / further)
        precision = np.linalg.inv(prior) + np.linalg.inv(now)
        mean = np.linalg.solve(precision, np.linalg.solve(now, seen))
        belief = believing(mean, np.linalg.inv(precision), now)
        later = np.linalg.solve(
            precision + further * np.linalg.inv(noise),
            precision @ mean + further * np.linalg.solve(noise, more),
        )
        realised = truth[mean.argmin()] - truth[later.argmin()]
        excess.append(realised - belief.sample(then))
    assert abs(np.mean(excess)) < 2 * np.std(excess) / np.sqrt(WORLDS)


def pairwise(estimate, now):
    """Policies of a row whose pairs vary as `now`."""
    squared = np.diag(now)[:, None] + np.diag(now) - 2 * now
    none = np.zeros((3, 1))
    pairs = {
        (a, b): PolicyPair(
            squared[a, b], 1.0, np.zeros(1, dtype=int), np.zeros(1), none[:2], none > 0, none + 1
        )
        for a in range(len(now))
        for b in range(a)
    }
    return Compared(estimate, pairs, np.ones((1, 1), dtype=bool), 0.1)


@pytest.mark.parametrize("k", [2, 4])
def test_the_gain_of_certainty_is_expected_under_the_prior_of_designs(k):
    """Of 400 worlds whose prior variance is unknown, too."""
    rng = np.random.default_rng(5 + k)
    now = np.eye(k) * 0.25
    excess = []
    for _ in range(WORLDS):
        spread = np.sqrt(0.25 * np.exp(rng.uniform(np.log(1e-3), np.log(1e2))))
        truth = rng.normal(0.0, spread, k)
        belief = believed(pairwise(rng.multivariate_normal(truth, now), now))
        excess.append(truth[(belief.weight @ belief.mean).argmin()] - truth.min() - belief.perfect)
    assert abs(np.mean(excess)) < 2 * np.std(excess) / np.sqrt(WORLDS)


def test_money_needs_a_design_and_costs(folder):
    config = question(folder, design="200", cases_a_year="1000", years="3").config
    stated = load_study(config, ROOT).judging_settings()["parts"]["design"]
    assert (stated["cases_a_year"], stated["years"], stated["record_price"]) == (1000.0, 3.0, None)
    with pytest.raises(ConfigError, match="'cases_a_year' is stated and 'design' is not"):
        question(folder, cases_a_year="1000")
