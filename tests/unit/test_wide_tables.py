"""More panels that can be missing than patterns can be listed of: the same numbers by events."""

import numpy as np
import pytest
from frugal.acquire.policies.random import RandomPolicy
from frugal.acquire.policies.rule import rule_policy
from frugal.core.layout import Layout
from frugal.judge import true_laws, views
from frugal.judge.true_laws import TrueLaws
from frugal.judge.views import Seen, ViewRows, compare_views
from frugal.missing import chain as chains
from frugal.missing.chain import IndicatorChain, chain_of, true_subset_probability
from frugal.missing.graphs import MissingnessGraph
from frugal.missing.law import missable_patterns, pattern_probability, subset_probability

from tests.trust.wide import draw as judged
from tests.unit.missingness_tables import graph_of, table_of

pytestmark = pytest.mark.trains

PANELS = {"P1": ["X1"], "P2": ["X2"], "P3": ["X3"], "P4": ["X4"]}
LAWS = {
    "P2": (0.4, {"X1": 0.8}, {}),
    "P3": (-0.3, {"X1": -1.0}, {"P2": 1.5}),
    "P4": (-0.5, {"X1": 0.5}, {"P2": 1.0, "P3": -1.5}),
}
FLAT = {panel: (one, values, {}) for panel, (one, values, _) in LAWS.items()}
RULE = [{"panel": "P2"}, {"panel": "P3", "when": {"column": "X2", "above": 0.0}}, {"panel": "P4"}]
SUBSETS = [np.array([bool(c & 1), bool(c & 2), bool(c & 4)]) for c in range(8)]


def table(n=60):
    return table_of(np.random.default_rng(0).normal(size=(n, 4)), PANELS, ["P1"])


def as_stored(graph: MissingnessGraph):
    return graph.to_dict() | {"source": "induced"}


@pytest.mark.parametrize("laws", [LAWS, FLAT])
def test_events_have_the_probabilities_of_all_their_patterns(monkeypatch, laws):
    graph, data = graph_of(laws), table()
    patterns = missable_patterns(graph, data)
    law = pattern_probability(graph, data, patterns)
    events = chain_of(graph, data, np.arange(len(data)))
    assert events.independent == (laws is FLAT)
    monkeypatch.setattr(chains, "MOST_SUMMED", 0)
    for subset in SUBSETS:
        listed = subset_probability(graph, data, subset)
        assert true_subset_probability(graph, data, subset) == pytest.approx(listed, abs=1e-12)
        exact = law[:, (patterns == subset).all(axis=1)][:, 0]
        assert events.exactly(np.arange(len(data)), subset) == pytest.approx(exact, abs=1e-12)


def test_patterns_that_are_drawn_average_the_probability_of_what_they_hold():
    """Mean weights within four standard errors of the sum, of each row and set."""
    graph, data, rng = graph_of(LAWS), table(8), np.random.default_rng(0)
    events, rows = chain_of(graph, data, np.arange(8)), np.arange(8).repeat(4000)
    for subset in SUBSETS[1:]:
        wanted = np.broadcast_to(subset, (len(rows), 3))
        patterns, weight = events.draw(rows, wanted, rng)
        assert patterns[:, subset].all()
        weight = weight.reshape(8, -1)
        error = weight.std(axis=1) / np.sqrt(weight.shape[1])
        gap = np.abs(weight.mean(axis=1) - subset_probability(graph, data, subset))
        assert (gap <= 4 * error + 1e-12).all()


def test_too_many_open_causes_are_no_number(monkeypatch):
    monkeypatch.setattr(chains, "MOST_OPEN_CAUSES", 1)
    events = chain_of(graph_of(LAWS), table(4), np.arange(4))
    last = np.broadcast_to(np.array([False, False, True]), (4, 3))
    assert np.isnan(events.joint_probability(np.arange(4), last)).all()
    assert np.isfinite(events.joint_probability(np.arange(4), ~last)).all()


@pytest.mark.parametrize("laws", [LAWS, FLAT])
def test_true_afa_propensities_are_the_same_without_a_list_of_patterns(monkeypatch, laws):
    data = table()
    for policy in (rule_policy(RULE, Layout.of(data)), RandomPolicy(0.4)):
        known = TrueLaws(
            policy=policy,
            table=data,
            rows=np.arange(len(data)),
            graph=as_stored(graph_of(laws)),
            s=np.zeros(3, dtype=bool),
        )
        acquired = np.random.default_rng(1).random((len(data), 3)) < 0.5
        listed = known.afa_propensity(acquired, np.random.default_rng(0))
        with monkeypatch.context() as patched:
            patched.setattr(true_laws, "MOST_SUMMED", 0)
            found = known.afa_propensity(acquired, np.random.default_rng(0))
        carries = np.isfinite(listed) & (listed > 0)
        assert (found[~carries] == 0).all()
        drawn = laws is LAWS and not policy.traits.reads_values
        assert found[carries] == pytest.approx(listed[carries], rel=0.15 if drawn else 1e-12)


@pytest.mark.parametrize("laws", [LAWS, FLAT])
def test_views_are_the_same_without_a_list_of_patterns(monkeypatch, laws):
    data, graph = table(), graph_of(laws)
    events = chain_of(graph, data, np.arange(len(data)))
    observed, _ = events.draw(
        np.arange(len(data)), np.zeros((len(data), 3), dtype=bool), np.random.default_rng(0)
    )
    factors = np.random.default_rng(0).uniform(0.2, 0.9, size=(len(data), 3))
    sets = np.array([[True, False, False], [True, True, True]])
    seen = Seen(np.bincount(observed.sum(axis=1), minlength=4), len(data), sets)
    blocks = [ViewRows(data, np.arange(len(data)), factors)]
    known = {"propensity_identified": True, "reasons": ()}
    settings = {"positivity_threshold": 0.05}
    for source in ("induced", "own"):
        given = (blocks, data, graph.to_dict() | {"source": source}, seen, known)
        listed = compare_views(*given, settings)
        with monkeypatch.context() as patched:
            patched.setattr(views, "MOST_SUMMED", 0)
            found = compare_views(*given, settings)
            patched.setattr(views, "MOST_SETS", 1)
            refused = compare_views(*given, settings)
        assert found["reason"].tolist() == listed["reason"].tolist()
        for column in ("minimum_probability", "share_below_threshold"):
            np.testing.assert_allclose(found[column], listed[column], rtol=1e-12)
        assert refused["reason"].str.contains("The policy ends with 2 sets").all()


def test_a_chain_requests_each_law_with_the_causes_that_were_drawn():
    """One cause with certainty decides the other."""

    def one(j, rows, observed):
        return np.full(len(rows), 0.5) if j == 0 else observed[:, 0].astype(float)

    events = IndicatorChain([0, 1], {1: [0]}, one)
    patterns, weight = events.draw(
        np.zeros(50, dtype=np.int64), np.zeros((50, 2), dtype=bool), np.random.default_rng(0)
    )
    assert (patterns[:, 0] == patterns[:, 1]).all()
    assert (weight == 1).all()
    both = np.ones((1, 2), dtype=bool)
    assert events.joint_probability(np.array([0]), both) == pytest.approx([0.5])


def test_policies_of_few_of_eighty_panels_are_judged_though_no_record_is_complete():
    """A fifth of the rows lacks each of 80 panels, so that hardly any is whole. Policies
    that order at most eight stand on a hundred rows' worth or more.
    """
    found = judged(3000, 80).set_index("agent")
    few = found.loc[["never", "four", "eight", "rule"]]
    assert (few["status"] == "ok").all()
    assert (few["rows"] >= 100).all()
    width = few["high"] - few["low"]
    assert ((few["truth"] > few["low"] - width) & (few["truth"] < few["high"] + width)).all()
    assert found.loc["always", "status"] == "no_support"
    assert "None of 2000 rows has every panel observed" in str(found.loc["always", "why"])
