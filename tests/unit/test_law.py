"""True laws of patterns and subsets against sums over all patterns of an enumerated world."""

import itertools

import numpy as np
import pytest
from frugal.core.table import Mask
from frugal.missing.law import (
    complete_probability,
    draw_mask,
    missable_patterns,
    pattern_probability,
    recorded_probability,
    subset_probability,
)

from tests.unit.missingness_tables import graph_of, table_of, three_panels, uniforms

LAWS = {"P2": (0.4, {"X1": 0.8}, {}), "P3": (-0.3, {"X2": -0.5}, {"P2": 1.2})}


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def pattern_law(x, r2, r3):
    """p(R = (r2, r3) | x) of `LAWS`, written out."""
    p2 = sigmoid(0.4 + 0.8 * x[0])
    p3 = sigmoid(-0.3 - 0.5 * x[1] + 1.2 * r2)
    return (p2 if r2 else 1 - p2) * (p3 if r3 else 1 - p3)


def test_patterns_are_all_subsets_of_the_panels_that_can_be_missing():
    table = three_panels(4, seed=0)
    both = missable_patterns(graph_of(LAWS), table)
    assert {tuple(row) for row in both.tolist()} == set(itertools.product([True, False], repeat=2))
    only_p3 = missable_patterns(graph_of({"P3": (0.0, {}, {})}), table)
    assert {tuple(row) for row in only_p3.tolist()} == {(True, True), (True, False)}


def test_without_laws_there_is_one_pattern():
    table = three_panels(4, seed=0)
    assert missable_patterns(graph_of({}), table).tolist() == [[True, True]]


def test_a_table_without_actions_has_one_empty_pattern():
    table = table_of(np.zeros((3, 1)), {"P1": ["X1"]}, ["P1"])
    assert missable_patterns(graph_of({}), table).shape == (1, 0)


def test_probabilities_of_all_patterns_sum_to_one():
    table, graph = three_panels(50, seed=1), graph_of(LAWS)
    probability = pattern_probability(graph, table, missable_patterns(graph, table))
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("subset", list(itertools.product([False, True], repeat=2)))
def test_a_subset_has_the_probability_of_the_patterns_that_contain_it(subset):
    table = three_panels(30, seed=2)
    expected = [
        sum(
            pattern_law(x, r2, r3)
            for r2, r3 in itertools.product([0, 1], repeat=2)
            if r2 >= subset[0] and r3 >= subset[1]
        )
        for x in table.values
    ]
    found = subset_probability(graph_of(LAWS), table, np.array(subset))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_subset_of_all_panels_is_the_complete_case():
    table, graph = three_panels(30, seed=3), graph_of(LAWS)
    everything = subset_probability(graph, table, np.array([True, True]))
    np.testing.assert_allclose(everything, complete_probability(graph, table), rtol=1e-12)


def test_a_recorded_pattern_has_the_product_of_its_indicators():
    table, graph = three_panels(200, seed=4), graph_of(LAWS)
    mask = draw_mask(table, graph, uniforms(table, np.random.default_rng(0)))
    expected = [
        pattern_law(x, r2, r3) for x, (r2, r3) in zip(table.values, mask.observed, strict=True)
    ]
    np.testing.assert_allclose(recorded_probability(mask), expected, rtol=1e-12)


def test_recorded_probabilities_are_those_of_the_pattern_table():
    table, graph = three_panels(200, seed=5), graph_of(LAWS)
    mask = draw_mask(table, graph, uniforms(table, np.random.default_rng(1)))
    patterns = missable_patterns(graph, table)
    every = pattern_probability(graph, table, patterns)
    which = (mask.observed[:, None, :] == patterns[None]).all(axis=2).argmax(axis=1)
    expected = every[np.arange(len(table)), which]
    np.testing.assert_allclose(recorded_probability(mask), expected, rtol=1e-12)


def test_panels_without_a_law_do_not_count():
    mask = Mask(np.arange(2), np.array([[True, False], [True, True]]), np.array([[1.0, 0.25]] * 2))
    np.testing.assert_allclose(recorded_probability(mask), [0.75, 0.25])
