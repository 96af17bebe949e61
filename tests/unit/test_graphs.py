import re
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from frugal.core.errors import ConfigError, GraphError
from frugal.missing.graphs import (
    IndicatorModel,
    MissingnessGraph,
    adjustment_columns,
    indicator_probability,
    parse_graph,
    shortest_paths,
    topological_order,
    value_logit,
)

from tests.unit.missingness_tables import graph_of, three_panels

TABLE = three_panels(50, seed=0)
MNAR = {
    "panels": {
        "P3": {"intercept": 0.5, "values": {"X2": 2.0}, "indicators": {"P2": -1.5}},
        "P2": {"intercept": 1.0, "values": {"X1": -1.0}},
    },
    "standardise": False,
    "complete_share": 0.12,
}


def test_a_description_becomes_laws_in_the_order_of_the_actions():
    graph = parse_graph("mnar", MNAR, TABLE)
    assert graph.name == "mnar"
    assert list(graph.indicators) == ["P2", "P3"]
    assert graph.indicators["P2"].values == {"X1": -1.0}
    assert graph.indicators["P3"].indicators == {"P2": -1.5}
    assert adjustment_columns(graph) == ("X1", "X2")
    assert topological_order(graph) == ("P2", "P3")


def test_assumed_causes_of_own_missingness_are_lists_without_strengths():
    panels = {"P3": {"values": ["X2"], "indicators": ["P2"]}, "P2": {}}
    graph = parse_graph("own", {"source": "own", "panels": panels}, TABLE)
    assert graph.indicators["P3"].values == {"X2": 0.0}
    assert graph.indicators["P3"].indicators == {"P2": 0.0}
    assert topological_order(graph) == ("P2", "P3")
    for law in ({"values": {"X2": 1.0}}, {"intercept": 1.0}):
        with pytest.raises(ConfigError, match=r"mechanism 'own': .*'panels\.P3"):
            parse_graph("own", {"source": "own", "panels": {"P3": law}}, TABLE)


def test_order_puts_causes_first_whatever_the_order_of_the_laws():
    graph = graph_of(
        {"P3": (0.0, {}, {"P4": 1.0}), "P4": (0.0, {}, {"P2": 1.0}), "P2": (0.0, {}, {})}
    )
    assert topological_order(graph) == ("P2", "P4", "P3")


def test_self_censoring_is_read():
    law = {"intercept": 0, "values": {"X2": 1}}
    graph = parse_graph("self", {"panels": {"P2": law}, "standardise": False}, TABLE)
    assert graph.indicators["P2"].values == {"X2": 1.0}


def test_probability_is_the_logistic_law_of_values_and_drawn_indicators():
    graph = parse_graph("mnar", MNAR, TABLE)
    observed = np.random.default_rng(1).random((50, 2)) < 0.5
    expected = [
        1 / (1 + np.exp(-(0.5 + 2.0 * x2 - 1.5 * r2)))
        for x2, r2 in zip(TABLE.values[:, 1], observed[:, 0], strict=True)
    ]
    np.testing.assert_allclose(indicator_probability(graph, TABLE, observed, "P3"), expected)
    no_law = indicator_probability(graph_of({}), TABLE, observed, "P3")
    assert (no_law == 1).all()


def test_standardised_parents_ignore_unit_and_origin():
    moved = three_panels(50, seed=0)
    moved.values[:, 0] = 40 + 7 * moved.values[:, 0]
    graph = graph_of({"P2": (1.0, {"X1": -1.0}, {})}, standardise=True)
    logit = value_logit(graph, TABLE, "P2")
    np.testing.assert_allclose(logit, value_logit(graph, moved, "P2"), atol=1e-12)
    assert logit.mean() == pytest.approx(1.0, abs=1e-12)
    assert logit.std() == pytest.approx(1.0, abs=1e-12)


def law(**keys):
    return {"panels": {"P2": {"intercept": 0.0, **keys}}, "standardise": False}


@pytest.mark.parametrize(
    ("mapping", "sentence"),
    [
        (law() | {"standardize": True}, "unknown key 'standardize'"),
        ({}, "key 'panels' is missing"),
        (law() | {"source": "both"}, "'source' is 'both'"),
        ({"panels": {"P1": {"intercept": 0}}}, "'P1', which is free"),
        ({"panels": {"P9": {"intercept": 0}}}, "'P9', which the table lacks; allowed are P2, P3"),
        ({"panels": {"P2": {}}}, "key 'intercept' is missing under 'panels.P2'"),
        ({"panels": {"P2": 3}}, "'panels.P2' is 3"),
        ({"panels": {"P2": {"intercept": 0, "value": {}}}}, "unknown key 'value'"),
        (law() | {"standardise": 1}, "'standardise' is 1"),
        (law(values={"X9": 1.0}), "'X9', which the table lacks; its columns are X1, X2, X3, X4"),
        (law(indicators={"P3": 1.0}), "'P3', which is no panel that can be missing here"),
        (law(values={"X1": "strong"}), "'panels.P2.values.X1' is 'strong'; allowed is a number"),
        (law(values={"X1": float("nan")}), "is nan; allowed is a number"),
        (law(values={"X1": True}), "is True; allowed is a number"),
    ],
)
def test_a_wrong_description_is_refused_in_one_sentence(mapping, sentence):
    with pytest.raises(ConfigError, match="mechanism 'm'") as refusal:
        parse_graph("m", mapping, TABLE)
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_orders_and_paths_are_those_of_networkx():
    """On 300 random graphs of up to eight panels, half of them with a cycle."""
    rng, cyclic = np.random.default_rng(0), 0
    for _ in range(300):
        names = [f"p{k}" for k in rng.permutation(int(rng.integers(1, 9)))]
        causes = {p: {c: 1.0 for c in names if c != p and rng.random() < 0.25} for p in names}
        graph = MissingnessGraph("g", {p: IndicatorModel(0.0, {}, c) for p, c in causes.items()})
        edges = nx.DiGraph((cause, p) for p in names for cause in causes[p])
        edges.add_nodes_from(names)
        for panel in names:
            paths = shortest_paths(graph, panel)
            lengths = {p: len(path) - 1 for p, path in paths.items()}
            assert lengths == nx.single_source_shortest_path_length(edges, panel)
            assert all(edges.has_edge(*step) for path in paths.values() for step in pairwise(path))
        if nx.is_directed_acyclic_graph(edges):
            order = nx.lexicographical_topological_sort(edges, key=names.index)
            assert topological_order(graph) == tuple(order)
            continue
        cyclic += 1
        with pytest.raises(GraphError) as refusal:
            topological_order(graph)
        steps = re.findall(r"R_(p\d)", str(refusal.value))
        assert steps[0] == steps[-1]
        assert all(edges.has_edge(*step) for step in pairwise(steps))
    assert 100 < cyclic < 200


def test_a_cycle_is_named():
    cyclic = {
        "panels": {
            "P2": {"intercept": 0, "indicators": {"P3": 1}},
            "P3": {"intercept": 0, "indicators": {"P2": 1}},
        }
    }
    with pytest.raises(GraphError, match="the cycle R_P2 → R_P3 → R_P2"):
        parse_graph("m", cyclic, TABLE)
    with pytest.raises(GraphError, match="the cycle R_P2 → R_P2"):
        parse_graph("m", law(indicators={"P2": 1.0}), TABLE)


def test_a_parent_column_with_gaps_or_without_spread_is_refused():
    gaps = three_panels(10, seed=0)
    gaps.values[:3, 0] = np.nan
    plain = graph_of({"P2": (1.0, {"X1": -1.0}, {})})
    with pytest.raises(ConfigError, match=r"'X1' causes .* lacks 3 of 10 values"):
        value_logit(plain, gaps, "P2")
    flat = three_panels(10, seed=0)
    flat.values[:, 0] = 4.0
    scaled = graph_of({"P2": (1.0, {"X1": -1.0}, {})}, standardise=True)
    with pytest.raises(ConfigError, match="'X1' is constant"):
        value_logit(scaled, flat, "P2")
