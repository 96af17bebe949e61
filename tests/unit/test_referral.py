"""Cases handed to a person: costs by hand, thresholds by their definition, the bound by pattern.

The bound over 20 patterns of 200 cases, 400 draws of them, the exact risk of each threshold: no
mean above α, or below α − 2B / (n + 1), by 4.1 standard errors; 40 comparisons raise a false alarm
with a probability of at most 0.001.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import frugal
import numpy as np
import pandas as pd
import pytest
from frugal.judge.choice import judged
from frugal.judge.referral import LEAST, by_pattern, conformal_threshold, pattern_groups, referred
from frugal.judge.semi_offline import Paths
from frugal.learn.record_law import Causes, KnownLaw, RecordLaw
from scipy.stats import norm

from tests.workflow.runs import ROOT

CLINIC = ROOT / "docs" / "examples" / "clinic.yaml"
PERSON, PRICE = 2.5, np.array([2.0])
ERRORS = np.array([[0.0, 3.0, 9.0], [6.0, 0.0, 3.0], [12.0, 6.0, 0.0]])
COUNTS = np.array([[30, 6, 0], [8, 8, 8], [0, 2, 10]])  # of each value of the panel and class


def enumerated():
    """Five folds of 72 records, every second of each kind holding the panel; its policy."""
    kinds = np.argwhere(COUNTS > 0)
    value, label = np.tile(np.repeat(kinds, COUNTS[COUNTS > 0], axis=0), (5, 1)).T
    n = len(label)
    observed = (np.arange(n) % 2 == 0)[:, None]
    law = RecordLaw(
        observed,
        np.where(observed, value[:, None].astype(float), np.nan),
        label,
        np.repeat(np.arange(5), 72),
        [Causes(())],
        np.ones((1, 1), dtype=bool),
        protocol=KnownLaw(
            np.ones(n, dtype=bool), np.ones((1, 1), dtype=bool), np.full((n, 1), 0.5)
        ),
    )
    held = observed[:, 0]
    belief = np.full((n, 2, 3), np.nan)
    belief[:, 0] = COUNTS.sum(axis=0) / COUNTS.sum()
    belief[held, 1] = (COUNTS / COUNTS.sum(axis=1, keepdims=True))[value[held]]
    last = belief[np.arange(n), held.astype(int)]
    order = np.zeros((n, 1), dtype=np.int64)
    paths = Paths(order, held.astype(int), held, observed, belief, (last @ ERRORS).argmin(axis=1))
    return law, paths


def test_costs_of_an_enumerated_world_are_those_by_hand():
    """Of the values, 1/2 decide at a cost of 1, 1/3 at 3, 1/6 at 1/2: those at 3 are referred."""
    law, paths = enumerated()
    none = np.zeros(len(law.label), dtype=np.int64)
    ends = replace(paths, order=none[:, None] - 1, held=none, complete=none == 0)
    each = {"asks": referred(paths, ERRORS, PERSON), "decides": paths, "practice": ends}
    columns = np.zeros((len(none), 0))
    found = judged(each, law, columns, PRICE, ERRORS, practice="practice", person=PERSON)
    third, half, sixth = Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)
    decides = 2 + half + third * 3 + sixth * half
    asks = decides - third * 3 + third * Fraction(5, 2)
    assert found.cost("decides") == pytest.approx(float(decides), abs=1e-12)
    assert found.cost("asks") == pytest.approx(float(asks), abs=1e-12)
    assert found.outcomes["asks"].mean[-1] == pytest.approx(1 / 3, abs=1e-12)
    assert found.outcomes["asks"].mean[1:10].sum() == pytest.approx(2 / 3, abs=1e-12)
    assert found.outcomes["decides"].mean[-1] == 0
    assert found.paid("asks") == pytest.approx(2.0, abs=1e-12)
    assert found.unit_costs[-1] == PERSON


def by_definition(score, cost, most, bound, price):
    """The largest of all thresholds that can matter."""
    able = [
        limit
        for limit in (*score, price)
        if limit <= price and (cost[score < limit].sum() + most) / (len(score) + 1) <= bound
    ]
    return max(able, default=0.0)


@pytest.mark.parametrize("bound", [0.01, 0.2, 0.5, 3.0])
def test_thresholds_are_the_largest_that_keep_the_bound(bound):
    rng = np.random.default_rng(1)
    for _ in range(50):
        n = int(rng.integers(0, 40))
        score = rng.random(n).round(1)  # with ties
        cost = (rng.random(n) < score) * 1.0
        price = float(rng.choice([0.3, 0.75, 2.0]))
        found = conformal_threshold(score, cost, most=1.0, bound=bound, price=price)
        assert found == by_definition(score, cost, 1.0, bound, price)


def test_the_risk_is_bounded_in_each_pattern_and_not_by_one_threshold_for_all():
    """Predicted risks s are uniform, true ones s^γ: higher in some patterns, lower in others."""
    rng = np.random.default_rng(48)
    power, n, draws, bound = np.geomspace(0.4, 2.5, 20), 200, 400, 0.1
    risk, pooled = np.empty((draws, 20)), np.empty((draws, 20))
    for draw in range(draws):
        score = rng.random((20, n))
        wrong = (rng.random((20, n)) < score ** power[:, None]).astype(float)
        how = {"most": 1.0, "bound": bound, "price": 1.0}
        pairs = zip(score, wrong, strict=True)
        each = np.array([conformal_threshold(*pair, **how) for pair in pairs])
        risk[draw] = each ** (power + 1) / (power + 1)
        one = conformal_threshold(score.ravel(), wrong.ravel(), **how)
        pooled[draw] = one ** (power + 1) / (power + 1)
    room = norm.isf(0.001 / 40) * risk.std(axis=0) / np.sqrt(draws)
    assert (risk.mean(axis=0) <= bound + room).all()
    assert (risk.mean(axis=0) >= bound - 2 / (n + 1) - room).all()
    assert np.abs(risk.mean(axis=0) - bound).max() < 0.02
    assert np.abs(pooled.mean(axis=0) - bound).max() > 0.05


def test_patterns_are_judged_on_folds_that_their_thresholds_do_not_come_from():
    rng = np.random.default_rng(2)
    n = 4 * LEAST
    observed = rng.random((n, 3)) < [0.98, 0.5, 0.9]
    group, patterns = pattern_groups(observed)
    assert [(observed[group == k] == patterns[k]).all() for k in range(len(patterns))] == [True] * 2
    assert (group == 2).sum() == n - sum((observed == row).all(axis=1).sum() for row in patterns)
    chance = rng.random(n)
    belief = np.stack([np.full((n, 2), np.nan)] * 4, axis=1)
    belief[:, 0] = np.column_stack([1 - chance, chance])
    costs, none = np.array([[0.0, 2.0], [8.0, 0.0]]), np.zeros(n, dtype=np.int64)
    verdict = (belief[:, 0] @ costs).argmin(axis=1)
    order = np.full((n, 3), -1)
    paths = Paths(order, none, none == 0, np.zeros((n, 3), dtype=bool), belief, verdict)
    label, fold = (rng.random(n) < chance).astype(np.int64), np.arange(n) % 4
    risks = list(by_pattern(paths, label, fold, observed, costs, price=1.0, bound=0.3))
    score, cost = (belief[:, 0] @ costs).min(axis=1), costs[label, verdict]
    for k, found in enumerate(risks):
        rows, kept = np.flatnonzero(group == k), []
        for i in rows:
            others = rows[fold[rows] != fold[i]]
            kept.append(score[i] < by_definition(score[others], cost[others], 8.0, 0.3, 1.0))
        assert found["rows"] == len(rows)
        assert found["share"] == pytest.approx(1 - np.mean(kept))
        assert found["errors"] == pytest.approx(np.mean(cost[rows] * kept))
        assert found["before"] == pytest.approx(np.mean(cost[rows]))
    assert risks[-1]["missing"] is None
    assert risks[0]["missing"] == np.flatnonzero(~patterns[0]).tolist()
    observed[:] = [True, True, False]
    observed[0] = True  # a pattern of one row
    alone = list(by_pattern(paths, label, fold, observed, costs, price=1.0, bound=0.3))[-1]
    assert (alone["rows"], alone["std_error"], alone["threshold"]) == (1, None, 0.0)


def test_panels_of_todays_practice_cost_as_much_with_a_person(tmp_path):
    """Net benefit is that of decisions without a person."""
    (tmp_path / "clinic.yaml").write_bytes(CLINIC.read_bytes())
    rows = CLINIC.with_suffix(".csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "clinic.csv").write_text("".join(rows[:201]), encoding="utf-8")
    prices: list[dict[str, Any]] = [{}, {"refer": 40.0, "refer_risk": 80.0}]
    both = [
        frugal.decide(tmp_path / "clinic.yaml", agents=["always", "never"], **asked)
        for asked in prices
    ]
    curves = [answer.net_benefit.query("agent == 'practice'") for answer in both]
    pd.testing.assert_frame_equal(curves[0], curves[1])
    assert (curves[0]["panels_net_benefit"] > 0).all()
    found = [answer.document["net_benefit"]["practice"] for answer in both]
    assert found[0] == found[1]
