"""Population values of all estimators in a world that is written out; every sum is exact."""

from dataclasses import dataclass

import numpy as np
import pytest
from frugal.judge.estimator import Terms
from frugal.judge.estimators.afais import afais, afais_s, stabilised_afais, stabilised_afais_s
from frugal.judge.estimators.doubly_robust import doubly_robust, doubly_robust_afais
from frugal.judge.estimators.inverse_probability import ipw, stabilised_ipw
from frugal.judge.estimators.off_policy import stabilised_off_policy
from frugal.judge.estimators.unweighted import blocking, complete_case

from tests.oracles import two_panel_world as world

EXACT = 1e-12  # sums of at most 256 terms of order 10
BIAS = 0.01  # a bias that matters: 1 % of a panel's cost; rounding is 1e10 times smaller


def expectation(atoms: world.Atoms, terms: Terms) -> float:
    """Limit of the estimate as the rows grow without bound."""
    return atoms.mean(terms.numerator[:, 0]) / atoms.mean(terms.denominator)


@dataclass(frozen=True)
class Case:
    """A world with its exact nuisances, in the shape that the estimators take."""

    atoms: world.Atoms
    truth: float
    outcome: np.ndarray
    s_observed: np.ndarray
    propensity: np.ndarray
    afa_propensity: np.ndarray
    outcome_mean: np.ndarray
    s_propensity: np.ndarray


def make_case(policy, observed_x2, observed_x3, *, adjust, s, seen) -> Case:
    atoms = world.enumerate_atoms(policy, observed_x2, observed_x3)
    everywhere = np.ones(len(atoms.y), dtype=bool)
    s_observed = np.asarray(atoms.observed[:, list(s)].all(axis=1))
    given = world.keys(atoms, adjust, sets=False, seen=False)
    with_set = world.keys(atoms, adjust, sets=True, seen=seen)
    complete = atoms.complete.astype(float)
    mean = world.conditional_mean(atoms, atoms.cost, given, atoms.complete)
    return Case(
        atoms,
        world.truth(policy),
        atoms.cost[:, None],
        s_observed,
        world.conditional_mean(atoms, complete, given, everywhere),
        world.conditional_mean(atoms, complete, with_set, s_observed),
        mean[:, None],
        world.conditional_mean(atoms, s_observed.astype(float), given, everywhere),
    )


def on_x1(x):
    return (0.8, 0.4)[x[0]]


def on_x2(x):
    return (0.35, 0.75)[x[1]]


def on_x1_x2(x):
    return (0.3, 0.7, 0.55, 0.9)[2 * x[0] + x[1]]


def always_seen(x):
    return 1.0


def mnar(policy=None) -> Case:
    """The paper's scenario: x1 causes R2, x2 causes R3; s holds the panel of x2."""
    policy = policy or world.random_policy(0.4)
    return make_case(policy, on_x1, on_x2, adjust=(0, 1), s=(0,), seen=False)


def mar() -> Case:
    """The panel of x2 is never missing; s is empty."""
    policy = world.random_policy(0.4)
    return make_case(policy, always_seen, on_x1_x2, adjust=(0, 1), s=(), seen=False)


def test_atoms_are_a_law():
    atoms = mnar().atoms
    assert atoms.probability.sum() == pytest.approx(1, abs=EXACT)
    assert (atoms.acquired <= atoms.observed).all()


@pytest.mark.parametrize("policy", [world.random_policy(0.1), world.random_policy(0.9)])
def test_weighted_estimators_are_exact_where_the_others_are_off(policy):
    c = mnar(policy)
    # X_adj = (x1, x2) cannot be read where x2 is missing: the estimators must not try to
    unreadable = np.where(c.s_observed, c.propensity, np.nan)
    for terms in (
        ipw(c.outcome, c.atoms.complete, unreadable),
        stabilised_ipw(c.outcome, c.atoms.complete, unreadable),
        afais_s(c.outcome, c.s_observed, unreadable, c.afa_propensity),
        stabilised_afais_s(c.outcome, c.s_observed, unreadable, c.afa_propensity),
    ):
        assert expectation(c.atoms, terms) == pytest.approx(c.truth, abs=EXACT)
        assert c.atoms.mean(terms.weight) == pytest.approx(1, abs=EXACT)  # the constant of A.9
    assert abs(expectation(c.atoms, blocking(c.outcome)) - c.truth) > BIAS
    assert abs(expectation(c.atoms, complete_case(c.outcome, c.atoms.complete)) - c.truth) > BIAS


def test_plain_and_general_afais_agree_and_are_exact_when_x_adj_is_always_seen():
    c = mar()
    for terms in (
        afais(c.outcome, c.propensity, c.afa_propensity),
        stabilised_afais(c.outcome, c.propensity, c.afa_propensity),
        afais_s(c.outcome, c.s_observed, c.propensity, c.afa_propensity),
    ):
        assert expectation(c.atoms, terms) == pytest.approx(c.truth, abs=EXACT)


def test_afais_has_less_variance_than_ipw_for_a_frugal_policy():
    c = mnar(world.random_policy(0.1))
    by_afais = afais_s(c.outcome, c.s_observed, c.propensity, c.afa_propensity)
    by_ipw = ipw(c.outcome, c.atoms.complete, c.propensity)
    second_moment = [c.atoms.mean(t.numerator[:, 0] ** 2) for t in (by_afais, by_ipw)]
    assert second_moment[0] < 0.75 * second_moment[1]


def test_every_row_with_r_s_needs_a_propensity_so_that_a_wrong_s_is_refused():
    c = mnar()
    unreadable = np.where(c.s_observed, c.propensity, np.nan)
    with pytest.raises(ValueError, match="propensity"):
        afais(c.outcome, unreadable, np.nan_to_num(c.afa_propensity, nan=0.5))


def test_always_acquire_gives_ipw_weights():
    c = mnar(world.always_policy)
    by_afais = afais_s(c.outcome, c.s_observed, c.propensity, c.afa_propensity)
    by_ipw = ipw(c.outcome, c.atoms.complete, c.propensity)
    np.testing.assert_allclose(by_afais.weight, by_ipw.weight, atol=EXACT)


# Doubly robust: the table of the module, cell by cell.


def twisted(probability: np.ndarray) -> np.ndarray:
    """A wrong function of X_adj that is still a probability."""
    return 0.15 + 0.7 * (1 - probability)


def wrong(mean: np.ndarray, x: np.ndarray) -> np.ndarray:
    return 0.5 * mean + 2.0 * x[:, [0]] - 1.0 * x[:, [1]]


def dr_value(c: Case, *, e=None, m=None, ps=None) -> float:
    terms = doubly_robust(
        c.outcome,
        c.atoms.complete,
        c.propensity if e is None else e,
        c.outcome_mean if m is None else m,
        c.s_observed,
        c.s_propensity if ps is None else ps,
    )
    return expectation(c.atoms, terms)


def dr_afais_value(c: Case, *, e=None, h=None, m=None, ps=None) -> float:
    terms = doubly_robust_afais(
        c.outcome,
        c.propensity if e is None else e,
        c.afa_propensity if h is None else h,
        c.outcome_mean if m is None else m,
        c.s_observed,
        c.s_propensity if ps is None else ps,
    )
    return expectation(c.atoms, terms)


@pytest.mark.parametrize("value", [dr_value, dr_afais_value])
@pytest.mark.parametrize("case", [mnar, mar])
def test_doubly_robust_survives_one_wrong_nuisance(value, case):
    c = case()
    e, m = twisted(c.propensity), wrong(c.outcome_mean, c.atoms.x)
    assert value(c) == pytest.approx(c.truth, abs=EXACT)
    assert value(c, m=m) == pytest.approx(c.truth, abs=EXACT)
    assert value(c, e=e) == pytest.approx(c.truth, abs=EXACT)
    assert abs(value(c, e=e, m=m) - c.truth) > BIAS


@pytest.mark.parametrize("value", [dr_value, dr_afais_value])
def test_doubly_robust_needs_the_propensity_of_s(value):
    c = mnar()
    assert abs(value(c, ps=twisted(c.s_propensity)) - c.truth) > BIAS


def test_doubly_robust_afais_needs_the_afa_propensity():
    c = mnar()
    h = np.where(c.s_observed, twisted(c.afa_propensity), np.nan)
    assert abs(dr_afais_value(c, h=h) - c.truth) > BIAS


# A policy that looks at values outside X_adj.


def value_dependent(*, seen: bool) -> Case:
    """R3 depends on x1 alone and X_adj = {x1}; the policy asks for x3 only if x2 = 1."""
    return make_case(world.threshold_policy, always_seen, on_x1, adjust=(0,), s=(), seen=seen)


def test_papers_weight_is_biased_for_a_value_dependent_policy():
    c = value_dependent(seen=False)
    plain = expectation(c.atoms, afais(c.outcome, c.propensity, c.afa_propensity))
    normalised = expectation(c.atoms, stabilised_afais(c.outcome, c.propensity, c.afa_propensity))
    assert abs(plain - c.truth) > BIAS
    assert abs(normalised - c.truth) > BIAS


def test_conditioning_on_acquired_values_makes_it_exact():
    c = value_dependent(seen=True)
    plain = expectation(c.atoms, afais(c.outcome, c.propensity, c.afa_propensity))
    normalised = expectation(c.atoms, stabilised_afais(c.outcome, c.propensity, c.afa_propensity))
    assert plain == pytest.approx(c.truth, abs=EXACT)
    assert normalised == pytest.approx(c.truth, abs=EXACT)
    assert dr_afais_value(c) == pytest.approx(c.truth, abs=EXACT)


def test_papers_weight_is_exact_if_x_adj_holds_the_values_that_the_policy_reads():
    c = mnar(world.threshold_policy)
    terms = afais_s(c.outcome, c.s_observed, c.propensity, c.afa_propensity)
    assert expectation(c.atoms, terms) == pytest.approx(c.truth, abs=EXACT)


# Off-policy: the records' own sets as actions.


def test_off_policy_estimation_is_exact_with_true_laws():
    policy = world.random_policy(0.4)
    logging = world.enumerate_atoms(lambda x, available: {available: 1.0}, on_x1, on_x2)
    p_set = np.array(
        [
            world.bernoulli(on_x1(x), r[0]) * world.bernoulli(on_x2(x), r[1])
            for x, r in zip(logging.x, logging.observed, strict=True)
        ]
    )
    pi_set = np.array(
        [
            policy(tuple(x), world.EVERYTHING)[tuple(int(v) for v in r)]
            for x, r in zip(logging.x, logging.observed, strict=True)
        ]
    )
    # orders: the records take x2 first in 3 of 4 cases with both, the policy in 1 of 2
    both = logging.complete
    first = np.where(both, 0.75, 1.0)
    outcome = logging.cost[:, None]
    expected = world.truth(policy)
    terms = stabilised_off_policy(outcome, pi_set, p_set)
    assert expectation(logging, terms) == pytest.approx(expected, abs=EXACT)
    in_order = stabilised_off_policy(outcome, np.where(both, pi_set / 2, pi_set), p_set * first)
    reverse = stabilised_off_policy(
        outcome, np.where(both, pi_set / 2, 0.0), np.where(both, p_set / 4, np.nan)
    )
    top, bottom = (
        logging.mean(first * getattr(in_order, part).reshape(len(both), -1)[:, 0])
        + logging.mean((1 - first) * getattr(reverse, part).reshape(len(both), -1)[:, 0])
        for part in ("numerator", "denominator")
    )
    assert top / bottom == pytest.approx(expected, abs=EXACT)
