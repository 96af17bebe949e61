import itertools
import json

import numpy as np
import pytest
from frugal.core.errors import ConfigError, GraphError
from frugal.missing.identification import FactorHead, identify
from frugal.missing.law import complete_probability
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.oracles.enumerated_world import (
    STOP,
    always_complete,
    enumerate_world,
    expectation,
    importance_value,
    logistic_patterns,
    observed_law,
    regression_from_records,
)
from tests.unit.missingness_tables import graph_of, numbered_laws, table_of, three_panels, world_of

TABLE = three_panels(4, seed=0)
DISJOINT = {"P1": ["X1"], "P2": ["X2"], "P3": ["X3"], "P4": ["X4"]}
OVERLAPPING = {"P1": ["X1"], "P2": ["X2", "X3"], "P3": ["X3"], "P4": ["X4", "X2"]}
BINARY = np.array(list(itertools.product([0.0, 1.0], repeat=4)))


def four_panels(panels):
    """Every binary unit twice, with label 0 and 1."""
    return table_of(np.repeat(BINARY, 2, axis=0), panels, ["P1"])


def text(found):
    return " ".join(found.reasons)


def test_the_paper_mnar_scenario_needs_the_second_panel():
    graph = graph_of({"P2": (1.0, {"X1": -1.0}, {}), "P3": (1.0, {"X2": -1.0}, {})})
    found = identify(graph, TABLE, s=None)
    assert found.mechanism_class == "MNAR"
    assert found.adjustment_columns == ("X1", "X2")
    assert found.missable_panels == ("P2", "P3")
    assert found.factors == (FactorHead("P2", ("X1",), ()), FactorHead("P3", ("X2",), ("P2",)))
    assert found.propensity_identified
    assert not found.afais_identified
    assert found.s == ("P2",)
    assert "the one smaller set fails: s = ∅ fails since X2 of X_adj is not known" in text(found)
    assert "p(R_P2 = 1 | X1) · p(R_P3 = 1 | X2, R_P2 = 1)" in text(found)


def test_the_appendix_scenario_has_both_columns_in_the_second_factor():
    graph = graph_of({"P2": (1.0, {"X1": -1.0}, {}), "P3": (1.0, {"X2": -1.0, "X1": 0.5}, {})})
    found = identify(graph, TABLE, s=None)
    assert found.factors[1] == FactorHead("P3", ("X1", "X2"), ("P2",))
    assert found.s == ("P2",)


def test_mar_uses_every_row():
    graph = graph_of({"P3": (1.0, {"X1": -1.0, "X2": 0.5}, {})})  # P2 is never missing
    found = identify(graph, TABLE, s=None)
    assert found.mechanism_class == "MAR"
    assert found.missable_panels == ("P3",)
    assert found.factors == (FactorHead("P3", ("X1", "X2"), ()),)
    assert found.s == ()
    assert found.afais_identified


def test_mcar_needs_no_adjustment_even_with_effects_among_indicators():
    graph = graph_of({"P2": (1.0, {}, {}), "P3": (1.0, {}, {"P2": 2.0})})
    found = identify(graph, TABLE, s=None)
    assert found.mechanism_class == "MCAR"
    assert found.adjustment_columns == ()
    assert found.factors == (FactorHead("P2", (), ()), FactorHead("P3", (), ("P2",)))
    assert found.s == ()


def test_nothing_missing():
    found = identify(graph_of({}), TABLE, s=None)
    assert found.mechanism_class == "MCAR"
    assert found.factors == ()
    assert found.propensity_identified
    assert found.s == ()
    assert "No panel can be missing." in found.reasons


def test_self_censoring_is_refused_in_words():
    found = identify(graph_of({"P3": (1.0, {"X4": 1.0}, {})}), TABLE, s=None)
    assert not found.propensity_identified
    assert not found.afais_identified
    assert found.factors == ()
    assert found.s is None
    assert "X4 causes missingness of P3 and is revealed by P3 alone (self-censoring)" in text(found)


def test_a_colluder_loses_the_full_law_but_not_the_propensity():
    graph = graph_of({"P2": (1.0, {"X1": 1.0}, {}), "P3": (1.0, {"X2": 1.0}, {"P2": 1.0})})
    found = identify(graph, TABLE, s=None)
    assert found.propensity_identified
    assert found.factors[1] == FactorHead("P3", ("X2",), ("P2",))
    assert "X2 → R_P3 ← R_P2 is a colluder" in text(found)


def test_selection_by_an_effect_of_the_indicator_is_refused_and_is_indeed_wrong():
    """X3 → R_P2 → R_P4 → R_P3: rows that show X3 are selected by an effect of R_P2."""
    table = four_panels(DISJOINT)
    graph = graph_of(
        {"P2": (0.0, {"X3": 1.0}, {}), "P4": (0.0, {}, {"P2": 2.0}), "P3": (0.0, {}, {"P4": 2.0})}
    )
    found = identify(graph, table, s=None)
    assert not found.propensity_identified
    assert "R_P2 → R_P4 → R_P3" in text(found)
    law = observed_law(
        world_of(table, np.full(32, 1 / 32)), logistic_patterns(numbered_laws(graph, table), 3)
    )
    naive = regression_from_records(law, 0, {2: 1.0}, [1])
    assert abs(naive - 1 / (1 + np.exp(-1.0))) > 0.02


def test_crossed_causes_are_identified():
    """X2 → R_P3 and X3 → R_P2: each factor is fitted where the other panel is observed."""
    graph = graph_of({"P2": (0.0, {"X3": 1.0}, {}), "P3": (0.0, {"X2": 1.0}, {})})
    found = identify(graph, TABLE, s=None)
    assert found.factors == (FactorHead("P2", ("X3",), ("P3",)), FactorHead("P3", ("X2",), ("P2",)))
    assert found.s == ("P2", "P3")
    assert "all 3 smaller sets fail" in text(found)


def test_an_overlapping_panel_can_stand_in():
    table = four_panels(OVERLAPPING)
    own = graph_of({"P3": (0.0, {"X3": 1.0}, {}), "P2": (0.0, {}, {})})
    found = identify(own, table, s=None)
    assert found.factors[1] == FactorHead("P3", ("X3",), ("P2",))
    assert found.s == ("P2",)
    never = identify(graph_of({"P3": (0.0, {"X3": 1.0}, {})}), table, s=None)
    assert never.mechanism_class == "MAR"  # P2 always shows X3


def test_one_panel_serves_several_columns():
    graph = graph_of(
        {"P4": (0.0, {"X2": 1.0, "X3": 1.0}, {}), "P2": (0.0, {}, {}), "P3": (0.0, {}, {})}
    )
    found = identify(graph, four_panels(OVERLAPPING), s=None)
    assert found.factors[-1].condition_panels == ("P2",)
    assert found.s == ("P2",)


def test_long_lists_of_rejected_sets_are_counted_not_listed():
    columns = {f"P{j}": [f"X{j}"] for j in range(1, 12)}
    table = table_of(np.zeros((4, 11)), columns, ["P1"])
    laws = {f"P{j}": (0.0, {f"X{j - 1}": 1.0}, {}) for j in range(2, 12)}
    found = identify(graph_of(laws), table, s=None)
    assert found.s == tuple(f"P{j}" for j in range(2, 11))
    assert "all 1013 smaller sets fail" in text(found)  # Σ_{k<9} C(10, k) = 2^10 − 1 − 10
    assert text(found).count(" fails since ") == 3


def test_the_user_may_choose_a_larger_set_but_not_a_useless_one():
    graph = graph_of({"P2": (1.0, {"X1": -1.0}, {}), "P3": (1.0, {"X2": -1.0}, {})})
    assert identify(graph, TABLE, s=["P3", "P2"]).s == ("P2", "P3")
    assert not identify(graph, TABLE, s=["P2"]).afais_identified  # which speaks of s = ∅
    with pytest.raises(GraphError, match=r"X2 of X_adj is not known on rows .* works is \{P2\}"):
        identify(graph, TABLE, s=["P3"])
    with pytest.raises(GraphError, match=r"s = ∅ cannot be evaluated.* on all rows"):
        identify(graph, TABLE, s=[])
    with pytest.raises(ConfigError, match=r"s names 'P1'.* allowed are P2, P3"):
        identify(graph, TABLE, s=["P1"])
    with pytest.raises(GraphError, match="self-censoring"):
        identify(graph_of({"P2": (1.0, {"X2": 1.0}, {})}), TABLE, s=["P2"])


def test_the_result_is_plain_data_and_warns_of_value_dependent_policies():
    graph = graph_of({"P2": (1.0, {"X1": -1.0}, {}), "P3": (1.0, {"X2": -1.0}, {})})
    found = identify(graph, TABLE, s=None)
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["factors"][1] == {"panel": "P3", "columns": ["X2"], "condition_panels": ["P2"]}
    assert "X̂" in text(found)


@st.composite
def random_graphs(draw):
    """Panels, and laws of their indicators, acyclic by a random order; any column may cause."""
    panels = draw(st.sampled_from([DISJOINT, OVERLAPPING]))
    order = draw(st.permutations(["P2", "P3", "P4"]))
    weight = st.floats(-2, 2)
    laws = {}
    for k, panel in enumerate(order):
        if draw(st.integers(0, 4)) == 0:
            continue  # never missing
        parents = [c for c in ("X1", "X2", "X3", "X4") if draw(st.integers(0, 3)) == 0]
        causes = [p for p in order[:k] if p in laws and draw(st.booleans())]
        laws[panel] = (
            draw(weight),
            {c: draw(weight) for c in parents},
            {p: draw(weight) for p in causes},
        )
    return panels, laws


def random_mass(seed):
    return np.random.default_rng(seed).dirichlet(np.full(32, 2.0))


@given(random_graphs(), st.integers(0, 2**16))
@settings(max_examples=80)
def test_identified_factors_multiply_to_the_true_propensity(drawn, seed):
    """Each factor is computed from the law of the records, as if there were infinitely many."""
    table, graph = four_panels(drawn[0]), graph_of(drawn[1])
    found = identify(graph, table, s=None)
    assume(found.propensity_identified)
    names = [p.name for p in table.actions]
    world = world_of(table, random_mass(seed))
    law = observed_law(world, logistic_patterns(numbered_laws(graph, table), 3))
    product = np.ones(len(table))
    for i, row in enumerate(table.values[::2]):
        for head in found.factors:
            wanted = {
                table.columns.index(c): float(row[table.columns.index(c)]) for c in head.columns
            }
            conditions = [names.index(p) for p in head.condition_panels]
            p = regression_from_records(law, names.index(head.panel), wanted, conditions)
            product[2 * i : 2 * i + 2] *= p
    np.testing.assert_allclose(product, complete_probability(graph, table), atol=1e-11)


@given(random_graphs())
@settings(max_examples=80)
def test_s_reveals_the_adjustment_columns_and_no_smaller_set_does(drawn):
    table, graph = four_panels(drawn[0]), graph_of(drawn[1])
    found = identify(graph, table, s=None)
    assume(found.s is not None)
    assert found.s is not None
    names = [p.name for p in table.actions]
    needed = {table.columns.index(c) for c in found.adjustment_columns}
    world = world_of(table, random_mass(0))
    law = observed_law(world, logistic_patterns(numbered_laws(graph, table), 3))

    def works(s):
        shown = [dict(v) for r, v in law if all(r[names.index(p)] for p in s) and law[r, v] > 0]
        return all(needed <= seen.keys() for seen in shown)

    assert works(found.s)
    assert found.afais_identified == works(())
    for size in range(len(found.s)):
        assert not any(works(s) for s in itertools.combinations(names, size))


@given(random_graphs(), st.integers(0, 2**16))
@settings(max_examples=12)
def test_afais_with_the_chosen_s_equals_the_truth_for_any_policy(drawn, seed):
    table, graph = four_panels(drawn[0]), graph_of(drawn[1])
    found = identify(graph, table, s=None)
    assume(found.s is not None)
    assert found.s is not None
    names = [p.name for p in table.actions]
    world = world_of(table, random_mass(seed))

    def decide(seen, acquired, available):
        state = [seed, *(int(2 + v) for v in seen.values()), 9, *sorted(acquired)]
        weights = np.random.default_rng(state).random(4).tolist()
        chosen = {j: weights[j] for j in available} | {STOP: weights[3]}
        return {choice: w / sum(chosen.values()) for choice, w in chosen.items()}

    def misclassification(seen, y):
        return abs(y - sum(seen.values()) / 5) * (1 + 2 * y)

    patterns = logistic_patterns(numbered_laws(graph, table), 3)
    records = enumerate_world(world, patterns, decide, misclassification)
    complete = enumerate_world(world, always_complete(3), decide, misclassification)
    value = importance_value(
        records,
        [table.columns.index(c) for c in found.adjustment_columns],
        [names.index(p) for p in found.s],
        given_values=True,
    )
    assert value == pytest.approx(expectation(complete, lambda o: o.cost), abs=1e-10)
