"""AFAIS by the policy where indicators cause each other: exact in worlds that are written out.

Every regression is replaced by counting probability mass over the rows that it may use, so that
what is tested is which rows and causes the law of patterns is taken from, and what is made of it.
"""

import itertools

import numpy as np
import pytest
from frugal.acquire.policies.random import RandomPolicy
from frugal.acquire.policies.rule import rule_policy
from frugal.acquire.set_probability import LARGEST_ERROR
from frugal.core.layout import Layout
from frugal.judge.case import Records
from frugal.learn.nuisance_choice import FittedHead, HeadModels
from frugal.missing.graphs import MissingnessGraph
from frugal.missing.identification import identify
from frugal.studies.afape import pattern_law
from frugal.studies.afape.pattern_law import PatternLaw, fit_law, open_causes

from tests.oracles.enumerated_world import (
    STOP,
    World,
    always_complete,
    enumerate_world,
    expectation,
    logistic_patterns,
)
from tests.oracles.policies import law_of_one
from tests.unit.missingness_tables import graph_of, numbered_laws, table_of

pytestmark = pytest.mark.trains

PANELS = {"P1": ["X1"], "P2": ["X2"], "P3": ["X3"], "P4": ["X4"]}
LATER = {"P2": (0.4, {"X1": 0.8}, {}), "P3": (-0.3, {"X1": 1.0}, {"P2": 1.5})}
GRAPHS = {
    "a cause outside s": (LATER, {}),
    "a colluder": ({"P2": (0.4, {"X1": 0.8}, {}), "P3": (-0.3, {"X2": -1.0}, {"P2": 1.5})}, {}),
    "a chain": (
        {
            "P2": (0.4, {}, {}),
            "P3": (-0.8, {}, {"P2": 1.5}),
            "P4": (-0.6, {"X1": 1.0}, {"P3": 2.0}),
        },
        {},
    ),
    "two causes": (
        {
            "P2": (0.4, {"X1": 0.8}, {}),
            "P3": (-0.3, {"X1": -1.0}, {"P2": 1.5}),
            "P4": (-0.5, {"X1": 0.5}, {"P2": 1.0, "P3": -1.5}),
        },
        {},
    ),
    "a cause in s and one outside": (
        {
            "P2": (0.4, {"X1": 0.8}, {}),
            "P3": (-0.3, {"X2": -1.0}, {"P2": 1.5}),
            "P4": (-0.5, {"X2": 0.7}, {"P2": 1.0, "P3": -1.5}),
        },
        {},
    ),
    "a larger s": (LATER, {"s": ["P3"]}),
}
RULE = [{"panel": "P2"}, {"panel": "P3", "when": {"column": "X2", "above": 0.5}}, {"panel": "P4"}]


def units():
    """Sixteen units of dependent binary columns and a label that depends on X2 and X3."""
    rng = np.random.default_rng(3)
    x = np.array(list(itertools.product((0.0, 1.0), repeat=4)))
    mass = rng.dirichlet(np.full(len(x), 4.0))
    one = 0.1 + 0.5 * (x[:, 1] != x[:, 2]) + 0.3 * x[:, 0]
    return {
        (tuple(row.tolist()), y): float(m * (p if y else 1 - p))
        for row, m, p in zip(x, mass, one, strict=True)
        for y in (0, 1)
    }


def price(seen, y):
    """A miss costs 5, a false alarm 1; predicts 1 where X2 and X3 are seen to differ."""
    predicted = int(seen.get(1, 0.0) != seen.get(2, 0.0))
    return 0.0 if predicted == y else (5.0 if y else 1.0)


def decisions_of(policy):
    """The same policy as the enumerated world asks for it."""

    def decide(seen, acquired, available):
        values = np.array([[seen.get(c, np.nan) for c in range(4)]])
        taken = np.array([[j in acquired for j in range(3)]])
        free = np.array([[j in acquired or j in available for j in range(3)]])
        law = law_of_one(policy, values, taken, free)[0]
        return {STOP: law[-1]} | {j: law[j] for j in range(3) if law[j] > 0}

    return decide


def by_counting(heads, weight):
    """Each head's exact conditional probability at every row, by mass over its usable rows."""
    found = []
    for head in heads:
        mass = np.tile(weight, len(head.target) // len(weight))
        result = np.full(len(head.target), np.nan)
        rows = np.isfinite(head.inputs).all(axis=1)
        for one in np.unique(head.inputs[rows], axis=0):
            same = rows & (head.inputs == one).all(axis=1)
            learned = same & head.usable
            if learned.any():
                result[same] = (mass * head.target)[learned].sum() / mass[learned].sum()
        found.append(result)
    return found


def enumerated(laws, policy_of, *, s=None, table_panels=PANELS):
    """Records of every outcome with its mass, the graph's factors by counting, and the truth."""
    x = np.array(list(itertools.product((0.0, 1.0), repeat=4)))
    small, graph = table_of(x, table_panels, ["P1"]), graph_of(laws)
    policy = policy_of(small)
    world = World(units(), ((1,), (2,), (3,)), (0,), (0.3, 0.2, 0.4))
    patterns = logistic_patterns(numbered_laws(graph, small), 3)
    outcomes = enumerate_world(world, patterns, decisions_of(policy), price)
    complete = enumerate_world(world, always_complete(3), decisions_of(policy), price)
    truth = expectation(complete, lambda o: o.cost)
    data = table_of(np.array([o.x for o in outcomes]), table_panels, ["P1"])
    records = Records(
        data,
        np.array([o.r for o in outcomes], dtype=bool),
        identify(graph, data, s=s).to_dict(),
        {panel: set(law.indicators) for panel, law in graph.indicators.items()},
        {},
    )
    mass = np.array([o.probability for o in outcomes])
    known = records.identification["factors"]
    heads = by_counting([records.factor_head(f) for f in known], mass)
    factors = {f["panel"]: p for f, p in zip(known, heads, strict=True)}
    acquired = np.array([o.r_hat for o in outcomes], dtype=bool)
    return records, factors, policy, acquired, mass, np.array([o.cost for o in outcomes]), truth


def looked_up(inputs: np.ndarray, values: np.ndarray) -> HeadModels:
    """A model that says of inputs what is said of the same ones here."""
    table = {row.tobytes(): value for row, value in zip(inputs, values, strict=True)}
    return HeadModels([lambda rows: np.array([[table[r.tobytes()]] for r in rows])], [], 1)


def fitted_law(monkeypatch, records, factors, mass) -> PatternLaw:
    def counted(heads, **_):
        values = by_counting(heads, mass)
        return [
            FittedHead(
                p,
                "logistic" if head.usable.any() else "",
                {},
                int(head.usable.sum()),
                looked_up(head.inputs, p),
            )
            for head, p in zip(heads, values, strict=True)
        ]

    monkeypatch.setattr(pattern_law, "fit_probabilities", counted)
    rule = {"fold": np.arange(len(mass)) % 2}
    settings = {"logistic": {"C": 1.0}}
    fitted = fit_law(
        records, rule=rule, method="logistic", settings=settings, rng=np.random.default_rng(0)
    )
    return fitted.of(records, factors, rule["fold"])


def value(law, factors, policy, acquired, mass, cost):
    """E[C · 1{R_s = 1} h / e] and E[1{R_s = 1} h / e]."""
    h, _ = law.policy_propensity(policy, acquired, np.random.default_rng(0))
    e = np.prod(list(factors.values()), axis=0)
    weight = np.where(law.records.s_observed, h / e, 0.0)
    return (mass * weight * cost).sum(), (mass * weight).sum()


@pytest.mark.parametrize(
    "policy_of", [lambda t: RandomPolicy(0.4), lambda t: rule_policy(RULE, Layout.of(t))]
)
@pytest.mark.parametrize("name", GRAPHS)
def test_afais_by_the_policy_is_exact_with_indicators_that_cause_each_other(
    monkeypatch, name, policy_of
):
    laws, more = GRAPHS[name]
    records, factors, policy, acquired, mass, cost, truth = enumerated(laws, policy_of, **more)
    law = fitted_law(monkeypatch, records, factors, mass)
    found, total = value(law, factors, policy, acquired, mass, cost)
    assert total == pytest.approx(1.0, abs=1e-12)
    assert found == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize(
    "policy_of", [lambda t: RandomPolicy(0.4), lambda t: rule_policy(RULE, Layout.of(t))]
)
@pytest.mark.parametrize("name", GRAPHS)
def test_without_a_list_of_patterns_weights_are_the_same(monkeypatch, name, policy_of):
    """Rules are summed over open causes; the random policy, where indicators cause each other, over
    patterns that are drawn: to 3 % of each weight, and exactly on average.
    """
    laws, more = GRAPHS[name]
    records, factors, policy, acquired, mass, _cost, _truth = enumerated(laws, policy_of, **more)
    law = fitted_law(monkeypatch, records, factors, mass)
    listed, chance = law.policy_propensity(policy, acquired, np.random.default_rng(0))
    in_s = law.s_propensity()
    monkeypatch.setattr(pattern_law, "MOST_SUMMED", -1)
    found, held = law.policy_propensity(policy, acquired, np.random.default_rng(0))
    known = np.isfinite(listed)
    assert (np.isfinite(found) == known).all()
    assert law.s_propensity() == pytest.approx(in_s, abs=1e-12)
    carries = known & (listed > 0)
    assert ((found > 0) == carries)[known].all()
    if policy.traits.reads_values:
        assert found[known] == pytest.approx(listed[known], abs=1e-12)
        assert held[carries] == pytest.approx(chance[carries], abs=1e-12)
        return
    ratio = found[carries] / listed[carries]
    assert abs(ratio - 1).max() < 5 * LARGEST_ERROR
    assert abs(ratio.mean() - 1) < 5 * LARGEST_ERROR / np.sqrt(len(ratio))


def test_the_random_policy_in_closed_form_is_the_sum_over_all_patterns(monkeypatch):
    laws = {"P2": (0.4, {"X1": 0.8}, {}), "P3": (-0.3, {"X1": 1.0}, {}), "P4": (0.2, {}, {})}
    records, factors, policy, acquired, mass, *_ = enumerated(laws, lambda t: RandomPolicy(0.4))
    law = fitted_law(monkeypatch, records, factors, mass)
    rng = np.random.default_rng(0)
    listed, chance = law.policy_propensity(policy, acquired, rng)
    monkeypatch.setattr(pattern_law, "MOST_SUMMED", -1)
    found, held = law.policy_propensity(policy, acquired, rng)
    assert found == pytest.approx(listed, abs=1e-12)
    assert held == pytest.approx(chance, abs=1e-12)


def test_the_factors_alone_are_no_law_where_a_cause_is_missing(monkeypatch):
    """The same sum with p(R_j | causes recorded) everywhere: biased, so the regression matters."""
    laws, _ = GRAPHS["a cause outside s"]
    records, factors, policy, acquired, mass, cost, truth = enumerated(
        laws, lambda t: RandomPolicy(0.4)
    )
    factors_only = PatternLaw(records, factors, {}, {}, {}, {})
    found, total = value(factors_only, factors, policy, acquired, mass, cost)
    assert abs(found / total - truth) > 0.01


@pytest.mark.parametrize("name", GRAPHS)
def test_probabilities_of_sets_and_patterns_are_those_of_the_world(monkeypatch, name):
    laws, more = GRAPHS[name]
    records, factors, _, _, mass, _, _ = enumerated(laws, lambda t: RandomPolicy(0.4), **more)
    law = fitted_law(monkeypatch, records, factors, mass)
    adjustment = [
        records.data.columns.index(c) for c in records.identification["adjustment_columns"]
    ]
    x, r = records.data.values[:, adjustment], records.observed
    for i in range(0, len(mass), 37):
        same = (x == x[i]).all(axis=1)
        alike = same & (r == r[i]).all(axis=1)
        if not records.s_observed[i]:
            continue
        of_set = mass[same & records.s_observed].sum() / mass[same].sum()
        assert law.s_propensity()[i] == pytest.approx(of_set, abs=1e-12)
        assert law.recorded()[i] == pytest.approx(mass[alike].sum() / mass[same].sum(), abs=1e-12)


@pytest.mark.parametrize("name", GRAPHS)
def test_the_probability_of_what_a_policy_needs_is_that_of_the_world(monkeypatch, name):
    """Of each row's set and s; for a policy that draws no lots the weights are its inverse."""
    laws, more = GRAPHS[name]
    records, factors, policy, acquired, mass, _, _ = enumerated(
        laws, lambda t: rule_policy(RULE, Layout.of(t)), **more
    )
    law = fitted_law(monkeypatch, records, factors, mass)
    h, found = law.policy_propensity(policy, acquired, np.random.default_rng(0))
    assert (np.isfinite(found) == records.s_observed).all()
    names = [panel.name for panel in records.data.actions]
    needed = acquired | np.isin(names, records.identification["s"])
    adjustment = [
        records.data.columns.index(c) for c in records.identification["adjustment_columns"]
    ]
    x = records.data.values[:, adjustment]
    used = records.s_observed & (h > 0)
    for i in np.flatnonzero(used)[::23]:
        same = (x == x[i]).all(axis=1)
        holds = same & (records.observed >= needed[i]).all(axis=1)
        assert found[i] == pytest.approx(mass[holds].sum() / mass[same].sum(), abs=1e-12)
    weight = h / np.prod(list(factors.values()), axis=0)
    assert weight[used] * found[used] == pytest.approx(np.ones(used.sum()), abs=1e-12)


def test_patterns_without_s_are_not_judged_where_edges_need_s(monkeypatch):
    laws, _ = GRAPHS["a colluder"]
    records, factors, _, _, mass, _, _ = enumerated(laws, lambda t: RandomPolicy(0.4))
    law = fitted_law(monkeypatch, records, factors, mass)
    assert np.isnan(law.recorded()[~records.s_observed]).all()


def causes_of(laws, panels, s=None):
    data = table_of(np.zeros((4, 4)), panels, ["P1"])
    graph: MissingnessGraph = graph_of(laws)
    parents = {panel: set(law.indicators) for panel, law in graph.indicators.items()}
    known = identify(graph, data, s=s).to_dict()
    return open_causes(Records(data, np.ones((4, 3), dtype=bool), known, parents, {}))


def test_a_colluder_needs_nothing_more_since_its_panel_is_in_s():
    assert causes_of(GRAPHS["a colluder"][0], PANELS) == {}


def test_a_column_shown_by_a_cause_and_by_an_effect_only_hides_the_law():
    """X2 is in P2 and P4; R3 ← R2 and X2, R4 ← R3; s = {P4}: where R2 = 0, an effect shows X2."""
    panels = {"P1": ["X1"], "P2": ["X2"], "P3": ["X3"], "P4": ["X2", "X4"]}
    laws = {
        "P2": (0.0, {}, {}),
        "P3": (0.0, {"X2": 1.0}, {"P2": 1.0}),
        "P4": (0.0, {}, {"P3": 1.0}),
    }
    assert causes_of(laws, panels, s=["P4"]) is None
    found = causes_of(laws, panels, s=["P2"])
    assert found is not None
    assert set(found) == {"P4"}


def test_causes_missing_in_no_record_leave_the_law_unknown(monkeypatch):
    laws, _ = GRAPHS["a cause outside s"]
    records, factors, policy, acquired, mass, _, _ = enumerated(laws, lambda t: RandomPolicy(0.4))
    kept = records.observed[:, 0]
    fewer = Records(
        records.data.take(np.flatnonzero(kept)),
        records.observed[kept],
        records.identification,
        records.parents,
        {},
    )
    law = fitted_law(monkeypatch, fewer, {j: p[kept] for j, p in factors.items()}, mass[kept])
    assert np.isnan(
        law.policy_propensity(policy, acquired[kept], np.random.default_rng(0))[0]
    ).all()
    assert np.isnan(law.recorded()).all()
