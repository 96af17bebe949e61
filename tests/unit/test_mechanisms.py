import itertools

import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.missing.law import (
    calibrate,
    complete_logits,
    complete_probability,
    draw_mask,
    own_mask,
    pattern_probability,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.enumerated_world import logistic_patterns
from tests.unit.missingness_tables import graph_of, numbered_laws, table_of, three_panels, uniforms

PATTERNS = np.array(list(itertools.product([False, True], repeat=2)))
CHAIN = graph_of({"P2": (1.0, {"X1": -1.0}, {}), "P3": (-0.5, {"X2": 1.5}, {"P2": 0.8})})


def test_pattern_probabilities_equal_the_enumeration():
    table = three_panels(40, seed=1)
    law = logistic_patterns(numbered_laws(CHAIN, table), 2)
    ours = pattern_probability(CHAIN, table, PATTERNS)
    for row, x in zip(ours, table.values, strict=True):
        expected = law(tuple(x.tolist()))
        for p, r in zip(row, PATTERNS, strict=True):
            assert p == pytest.approx(expected[tuple(r.astype(int).tolist())], abs=1e-14)
    np.testing.assert_allclose(complete_probability(CHAIN, table), ours[:, -1], rtol=1e-13)


def test_some_rows_have_the_laws_of_the_whole_table():
    """Also where the law standardises: the scale is that of all rows, not of those asked about."""
    table, rows = three_panels(40, seed=1), np.array([31, 2, 7])
    graph = graph_of({"P2": (1.0, {"X1": -1.0}, {})}, standardise=True)
    some = pattern_probability(graph, table, PATTERNS, rows=rows)
    np.testing.assert_array_equal(some, pattern_probability(graph, table, PATTERNS)[rows])


@given(
    st.lists(st.floats(-3, 3), min_size=7, max_size=7),
    st.booleans(),
    st.sampled_from([("P2", "P3", "P4"), ("P4", "P2", "P3"), ("P3", "P4", "P2")]),
)
@settings(max_examples=40)
def test_patterns_sum_to_one_for_any_chain_of_laws(w, standardise, names):
    values = np.random.default_rng(3).normal(size=(20, 4))
    table = table_of(values, {f"P{j}": [f"X{j}"] for j in range(1, 5)}, ["P1"])
    first, second, third = names
    graph = graph_of(
        {
            third: (w[0], {"X1": w[1]}, {first: w[2], second: w[3]}),
            second: (w[4], {"X4": w[5]}, {first: w[6]}),
            first: (w[0], {"X3": w[1]}, {}),
        },
        standardise=standardise,
    )
    patterns = np.array(list(itertools.product([False, True], repeat=3)))
    law = pattern_probability(graph, table, patterns)
    assert (law >= 0).all()
    np.testing.assert_allclose(law.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(law[:, -1], complete_probability(graph, table), atol=1e-14)


def test_a_pattern_without_an_always_observed_panel_is_impossible():
    table = three_panels(5, seed=0)
    law = pattern_probability(graph_of({"P2": (0.0, {}, {})}), table, PATTERNS)
    np.testing.assert_array_equal(law, np.tile([0.0, 0.5, 0.0, 0.5], (5, 1)))
    np.testing.assert_array_equal(complete_probability(graph_of({}), table), np.ones(5))


def test_drawn_frequencies_match_the_true_probabilities():
    """Four units, repeated 50,000 times: each of their 16 pattern frequencies within 4 standard
    errors. A right draw fails one comparison with probability 6.3e-5, hence any with 1.0e-3.
    """
    repeats = 50_000
    units = np.random.default_rng(5).normal(size=(4, 4))
    table = table_of(
        np.repeat(units, repeats, axis=0), {"P1": ["X1"], "P2": ["X2"], "P3": ["X3", "X4"]}, ["P1"]
    )
    mask = draw_mask(table, CHAIN, uniforms(table, np.random.default_rng(6)))
    truth = pattern_probability(CHAIN, table, PATTERNS)[::repeats]
    drawn = mask.observed.reshape(4, repeats, 2)
    for unit, p_unit in zip(drawn, truth, strict=True):
        for pattern, p in zip(PATTERNS, p_unit, strict=True):
            frequency = (unit == pattern).all(axis=1).mean()
            assert abs(frequency - p) <= 4 * np.sqrt(p * (1 - p) / repeats)


def test_stored_propensities_use_the_drawn_indicators():
    table = three_panels(2_000, seed=2)
    mask = draw_mask(table, CHAIN, uniforms(table, np.random.default_rng(7)))
    assert mask.propensity is not None
    x1, x2 = table.values[:, 0], table.values[:, 1]
    np.testing.assert_allclose(mask.propensity[:, 0], 1 / (1 + np.exp(-(1 - x1))))
    logit = -0.5 + 1.5 * x2 + 0.8 * mask.observed[:, 0]
    np.testing.assert_allclose(mask.propensity[:, 1], 1 / (1 + np.exp(-logit)))
    given_complete = mask.propensity[mask.complete].prod(axis=1)
    np.testing.assert_allclose(given_complete, complete_probability(CHAIN, table)[mask.complete])


def test_never_missing_panels_are_observed_with_probability_one():
    table = three_panels(300, seed=2)
    mask = draw_mask(
        table, graph_of({"P3": (0.0, {}, {})}), uniforms(table, np.random.default_rng(0))
    )
    assert mask.propensity is not None
    assert mask.observed[:, 0].all()
    assert (mask.propensity[:, 0] == 1).all()
    assert 0 < mask.observed[:, 1].mean() < 1


def test_equal_generators_give_equal_masks_and_share_numbers_between_mechanisms():
    table = three_panels(500, seed=2)
    once, again = (
        draw_mask(table, CHAIN, uniforms(table, np.random.default_rng(4))) for _ in range(2)
    )
    np.testing.assert_array_equal(once.observed, again.observed)
    likelier = graph_of({"P2": (2.0, {"X1": -1.0}, {})})
    more = draw_mask(table, likelier, uniforms(table, np.random.default_rng(4)))
    assert (more.observed >= once.observed).all()


def test_a_table_with_gaps_is_not_drawn_from():
    table = three_panels(10, seed=0)
    table.values[2, 3] = np.nan
    with pytest.raises(ConfigError, match="column 'X4' lacks 1 of 10 values"):
        draw_mask(table, graph_of({"P2": (0.0, {}, {})}), uniforms(table, np.random.default_rng(0)))


@given(st.floats(1e-6, 1 - 1e-6), st.floats(-30, 30), st.booleans())
@settings(max_examples=60)
def test_calibration_reaches_the_share_by_one_common_shift(share, intercept, standardise):
    table = three_panels(200, seed=8)
    graph = graph_of(
        {"P2": (intercept, {"X1": -2.0}, {}), "P3": (1.0, {"X2": 3.0}, {"P2": 1.0})},
        standardise=standardise,
    )
    moved = calibrate(graph, [complete_logits(graph, table)], complete_share=share)
    assert complete_probability(moved, table).mean() == pytest.approx(share, abs=1e-10)
    shifts = [
        moved.indicators[p].intercept - graph.indicators[p].intercept for p in graph.indicators
    ]
    assert shifts[0] == pytest.approx(shifts[1], abs=1e-12)
    assert moved.indicators["P3"].values == graph.indicators["P3"].values
    assert moved.indicators["P3"].standardise is standardise


def test_the_paper_share_of_complete_cases_is_drawn():
    table = three_panels(40_000, seed=9)
    graph = graph_of({"P2": (1.0, {"X1": -1.0}, {}), "P3": (1.0, {"X2": -1.0}, {})})
    moved = calibrate(graph, [complete_logits(graph, table)], complete_share=0.12)
    share = draw_mask(table, moved, uniforms(table, np.random.default_rng(1))).complete.mean()
    # 4 standard errors of a share of 0.12: fails by chance in 6 of 100,000 seeds
    assert abs(share - 0.12) <= 4 * np.sqrt(0.12 * 0.88 / 40_000)


def test_calibration_without_parents_is_exact():
    table = three_panels(7, seed=0)
    graph = graph_of({"P2": (0.3, {}, {}), "P3": (0.3, {}, {})})
    moved = calibrate(graph, [complete_logits(graph, table)], complete_share=0.25)
    assert moved.indicators["P2"].intercept == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 12.0, float("nan")])
def test_impossible_shares_are_refused(share):
    with pytest.raises(ConfigError, match="allowed is more than 0 and less than 1"):
        calibrate(CHAIN, [complete_logits(CHAIN, three_panels(5, seed=0))], complete_share=share)


def test_a_share_needs_a_panel_that_can_be_missing():
    with pytest.raises(ConfigError, match="no panel can be missing"):
        calibrate(
            graph_of({}),
            [complete_logits(graph_of({}), three_panels(5, seed=0))],
            complete_share=0.5,
        )


def test_own_missingness_needs_every_column_of_a_panel():
    table = three_panels(4, seed=0)
    table.values[0, 1] = table.values[1, 2] = table.values[2, 2] = table.values[2, 3] = np.nan
    mask = own_mask(table)
    expected = [[False, True], [True, False], [True, False], [True, True]]
    np.testing.assert_array_equal(mask.observed, expected)
    assert mask.propensity is None
    np.testing.assert_array_equal(mask.row_id, table.row_id)


def test_a_gap_in_a_free_column_is_refused():
    table = three_panels(4, seed=0)
    table.values[1:, 0] = np.nan
    with pytest.raises(DataError, match=r"column 'X1' is free.* lacks 3 of 4 values"):
        own_mask(table)
