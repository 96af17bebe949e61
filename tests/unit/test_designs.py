"""Designs of further cases: variances against enumeration, money against a search of the grid."""

from itertools import product

import numpy as np
import pytest
from frugal.core.errors import ConfigError
from frugal.judge.designs import (
    GRID,
    Compared,
    Design,
    PolicyPair,
    cases_needed,
    designed,
    expected,
)
from frugal.judge.semi_offline import least_probability
from frugal.run.study import load_study
from scipy.integrate import quad
from scipy.stats import norm

from tests.unit.test_own_table import folder, question
from tests.workflow.runs import ROOT

__all__ = ["folder"]
PRICE, ROWS = np.array([1.0]), 1920
COST = {(1, 0): 3.0, (0, 1): 8.0}  # (verdict, label)


def cells(chance):
    """Cases (x, value, label, recorded) with probabilities; the value predicts the label."""
    for x, value, label, recorded in product((0, 1), repeat=4):
        weight = 0.5 * (0.75 if value == x else 0.25) * (0.75 if label == value else 0.25)
        yield x, value, label, recorded, weight * (chance[x] if recorded else 1 - chance[x])


def end_cost(x, value, label):
    """Policy a asks for the panel of every case, b where x = 1; they decide by what they know."""
    return 1 + COST.get((value, label), 0.0), (
        1 + COST.get((value, label), 0.0) if x else COST.get((1, label), 0.0)
    )


def expected_cost(x):
    """V₀ of both."""
    each = [(end_cost(x, v, y), w) for u, v, y, r, w in cells((1.0, 1.0)) if u == x and r]
    return np.array([np.array(cost) * w for cost, w in each]).sum(axis=0) / 0.5


def enumerated_variance(chance):
    """Variance of a row's difference of terms, over all cases."""
    values, weights = [], []
    for x, value, label, recorded, weight in cells(chance):
        first, last = expected_cost(x), np.array(end_cost(x, value, label))
        if not x:
            last[1] = first[1]  # known before the first panel
        requests = np.array([True, bool(x)])
        phi = first + np.where(requests, recorded / chance[x], 1.0) * (last - first)
        values.append(phi[0] - phi[1])
        weights.append(weight)
    mean = np.average(values, weights=weights)
    return np.average((values - mean) ** 2, weights=weights)


def contrast(chance):
    """The two policies on a table that holds each case as often as it is probable."""
    rows = [
        (x, value, label, recorded)
        for x, value, label, recorded, weight in cells(chance)
        for _ in range(round(weight * ROWS))
    ]
    known, recorded = np.array([row[0] for row in rows]), np.array([row[3] for row in rows])
    assert len(rows) == ROWS
    at = np.flatnonzero(recorded)
    first = np.array([expected_cost(x) for x in known])
    last = np.array([end_cost(*row[:3]) for row in rows])
    requests = np.stack([known >= 0, known == 1, known >= 0])[:, at]
    excess = np.where(requests[:2], (last - first)[at].T, 0.0)
    pi = np.where(requests, np.array(chance)[known[at]], 1.0)
    spread = float((first[:, 0] - first[:, 1]).var())
    pair = PolicyPair(spread, 1.0, at, 1 / pi[2] / len(rows), excess, requests, pi)
    return pair, known


def test_variance_is_that_of_all_cases_enumerated():
    pair, known = contrast((0.4, 0.2))
    assert pair.variance(0.0, None) == pytest.approx(enumerated_variance((0.4, 0.2)), rel=1e-9)
    for chance, share in (((0.7, 0.3), 1.0), ((0.7, 0.3), 0.5)):
        mixed = tuple((1 - share) * np.array((0.4, 0.2)) + share * np.array(chance))
        by_design = np.array(chance)[known]
        assert pair.variance(share, by_design) == pytest.approx(
            enumerated_variance(mixed), rel=1e-9
        )


def policies_of(pair, known, estimate=(1.0, 1.2), allowed=0.1):
    requested = np.ones((len(known), 1), dtype=bool)
    return Compared(np.array(estimate), {(0, 1): pair}, requested, allowed)


@pytest.mark.parametrize("money", [0.25, 0.5, 0.75])
def test_probabilities_are_those_of_least_variance_for_the_money(money):
    pair, known = contrast((0.4, 0.2))
    policies, further = policies_of(pair, known), 1920
    design = designed(policies, known[:, None].astype(float), lambda s: s @ PRICE, money, further)
    assert [list(box) for box in design.boxes] == [[0], [0]]
    assert (design.stratum == known).all()
    assert design.price <= money + 1e-9
    best = min(
        pair.variance(0.5, np.array([p, q])[known] / GRID)
        for p, q in product(range(GRID + 1), repeat=2)
        if 0.5 * (p + q) / GRID <= money + 1e-9
    )
    assert pair.variance(0.5, design.of_rows) == pytest.approx(best, rel=1e-6)


def test_every_probability_is_above_the_least_that_is_divided_by():
    pair, known = contrast((0.1, 0.05))
    policies, further = policies_of(pair, known), 500
    design = designed(policies, known[:, None].astype(float), lambda s: s @ PRICE, 0.9, further)
    share = further / (len(known) + further)
    mean = (1 - share) * np.array([0.1, 0.05]) + share * design.chance
    assert (mean >= least_probability(len(known) + further)).all()


@pytest.mark.parametrize("estimate", [(1.0, 1.02), (1.0, 1.4)])
def test_expected_bounds_are_those_of_the_integral(estimate):
    """Monte Carlo of 1,000 draws: 4 standard errors, 1 false alarm in 15,000."""
    pair, known = contrast((0.4, 0.2))
    policies = policies_of(pair, known, estimate)
    n, further = len(known), 1920
    design = Design([{}], np.zeros(n, dtype=int), np.array([[True]]), np.array([0.6]), 0.6)
    then = expected(policies, design, further)
    now = pair.variance(0.0, None) / n
    later = pair.variance(0.5, design.of_rows) / (n + further)
    gap = estimate[1] - estimate[0]
    top = norm.ppf(0.95) * np.sqrt(later)
    old = later / now
    ratio = np.geomspace(1e-3, 1e2, 40)  # of the prior variance to that of the error
    likelihood = norm.pdf(gap, 0, np.sqrt(now * (1 + ratio)))
    sure, bounds = [], []
    for real in ratio / (1 + ratio):
        mean = gap * (old + (1 - old) * real)
        spread = np.sqrt((1 - old) ** 2 * real * now + (1 - old) * later)
        bounds.append(
            quad(
                lambda x, mean=mean, spread=spread: (
                    max(0.0, top - abs(x)) * norm.pdf(x, mean, spread)
                ),
                *(-top, top),
                points=[0.0],
            )[0]
        )
        inside = norm.cdf([-(top - 0.1), top - 0.1], mean, spread)
        sure.append(1 - (inside[1] - inside[0]) if top > 0.1 else 1.0)
    expected_bound, expected_sure = (np.average(x, weights=likelihood) for x in (bounds, sure))
    assert then.bound == pytest.approx(expected_bound, abs=4 * top / np.sqrt(1000) / 2)
    assert then.sure == pytest.approx(expected_sure, abs=4 * 0.5 / np.sqrt(1000))


def test_fewer_cases_are_needed_where_more_is_recorded():
    pair, known = contrast((0.4, 0.2))
    policies = policies_of(pair, known, (1.0, 1.02), 0.05)
    n = len(known)
    needed = [
        cases_needed(
            policies,
            Design([{}], np.zeros(n, dtype=int), np.array([[True]]), np.array([chance]), chance),
        )
        for chance in (0.2, 0.5, 1.0)
    ]
    assert needed[0] > needed[1] > needed[2]


def test_the_number_of_further_cases_is_checked(folder):
    study = load_study(question(folder, design="200", budget="12.5").config, ROOT)
    assert study.judging_settings()["parts"]["design"] == {
        **dict.fromkeys(("cases_a_year", "years", "record_price", "record_set_up")),
        **{"design": 200, "budget": 12.5},
    }
    assert "design" not in load_study(question(folder).config, ROOT).judging_settings()["parts"]
    with pytest.raises(ConfigError, match="'design' is 'many'"):
        question(folder, design="many")
