import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.learn import tree_kernels, tree_scoring
from frugal.learn.tree_scoring import (
    expected_cost_prediction,
    predict_proba,
    predict_proba_acquired,
    predict_proba_all_sets,
    predict_proba_sets,
    set_codes,
)
from frugal.learn.trees import fit_boosting, fit_forest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.tree_walk import known_columns, walk_proba
from tests.unit.partly_observed import draw

pytestmark = pytest.mark.trains

D = 6
FREE = np.array([True, False, False, False, False, False])
DISJOINT = [{1, 2}, {3}, {4, 5}]
OVERLAPPING = [{1, 2}, {2, 3}, {2, 4, 5}, {0, 5}]  # column 0 is free as well


def provides(panels):
    return np.array([[f in panel for f in range(D)] for panel in panels])


@pytest.fixture(scope="module")
def ensembles():
    values, observed, label = draw(n=500, d=D, classes=3, share=0.6, seed=1)
    rng = np.random.default_rng(0)
    common = {"classes": 3, "trees": 9, "rng": rng}
    return {
        "forest": fit_forest(values, observed, label, min_leaf=1, **common),
        "boosting": fit_boosting(
            values, observed, label, leaves=15, learning_rate=0.2, min_leaf=5, **common
        ),
    }


@pytest.fixture(scope="module")
def fresh():
    values, observed, _ = draw(n=60, d=D, classes=3, share=0.9, seed=2)
    values[~observed] = np.nan  # the record itself lacks some
    return values


@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_walks_the_trees_as_written(ensembles, fresh, kind):
    known = np.random.default_rng(3).random(fresh.shape) < 0.5
    arrays = ensembles[kind].to_arrays()
    expected = [
        walk_proba(arrays, row.astype(np.float32), k) for row, k in zip(fresh, known, strict=True)
    ]
    # Sums of 9 numbers below 10 in two orders: round-off below 1e-14.
    np.testing.assert_allclose(
        predict_proba(ensembles[kind], fresh, known), expected, rtol=0, atol=1e-13
    )


@pytest.mark.parametrize("panels", [DISJOINT, OVERLAPPING])
@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_all_sets_equals_the_walk_at_every_set(ensembles, fresh, kind, panels):
    table = predict_proba_all_sets(ensembles[kind], fresh, provides(panels), FREE)
    arrays = ensembles[kind].to_arrays()
    assert table.shape == (60, 2 ** len(panels), 3)
    for code in range(2 ** len(panels)):
        known = known_columns(panels, FREE, [code >> j & 1 for j in range(len(panels))])
        expected = [walk_proba(arrays, row.astype(np.float32), known) for row in fresh[:15]]
        np.testing.assert_allclose(table[:15, code], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("panels", [DISJOINT, OVERLAPPING])
@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_queried_sets_are_entries_of_the_table(ensembles, fresh, kind, panels):
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 60, size=900)
    sets = rng.integers(0, 2 ** len(panels), size=900).astype(np.uint32)
    table = predict_proba_all_sets(ensembles[kind], fresh, provides(panels), FREE)
    asked = predict_proba_sets(ensembles[kind], fresh, provides(panels), FREE, rows, sets)
    np.testing.assert_allclose(asked, table[rows, sets], rtol=0, atol=1e-13)


def test_more_rows_and_pairs_than_one_block(ensembles):
    values, _, _ = draw(n=9000, d=D, classes=3, share=1, seed=5)
    table = predict_proba_all_sets(ensembles["forest"], values, provides(DISJOINT), FREE)
    rows, sets = np.divmod(np.arange(72_000), 8)
    assert len(rows) > max(tree_scoring.BLOCK, tree_kernels.TABLE_BLOCK // 8)
    asked = predict_proba_sets(
        ensembles["forest"], values, provides(DISJOINT), FREE, rows, sets.astype(np.uint32)
    )
    np.testing.assert_allclose(asked, table[rows, sets], rtol=0, atol=1e-13)
    whole = predict_proba(ensembles["forest"], values, np.ones((9000, D), dtype=bool))
    np.testing.assert_allclose(whole, table[:, 7], rtol=0, atol=1e-13)


def test_equal_pairs_are_scored_once(ensembles, fresh, monkeypatch):
    scored = []
    add_leaves = tree_scoring._add_leaves

    def counting(*arguments):
        scored.append(len(arguments[-1]))
        add_leaves(*arguments)

    monkeypatch.setattr(tree_scoring, "_add_leaves", counting)
    rows = np.repeat(np.arange(10), 6)
    sets = np.tile(np.array([0, 5, 5, 0, 7, 7], dtype=np.uint32), 10)
    predict_proba_sets(ensembles["forest"], fresh, provides(DISJOINT), FREE, rows, sets)
    assert scored == [30]


@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_sums_are_the_same_bytes_without_numba(ensembles, fresh, kind, monkeypatch):
    values = np.concatenate([fresh, [[-np.inf] * D, [np.inf] * D, [-0.0] * D, [np.nan] * D]])
    known = np.random.default_rng(4).random(values.shape) < 0.7
    rows, sets = np.arange(64), np.arange(64, dtype=np.uint32) % 8
    pairs = (values, provides(DISJOINT), FREE, rows, sets)
    scored = []
    for installed in (True, False):
        monkeypatch.setattr(tree_scoring, "_has_numba", lambda answer=installed: answer)
        sums = tree_scoring.leaf_sums(ensembles[kind], values, known)
        scored.append((sums.tobytes(), predict_proba_sets(ensembles[kind], *pairs).tobytes()))
    assert scored[0] == scored[1]


def test_no_query_and_no_row(ensembles, fresh):
    none = np.zeros(0, dtype=np.int64)
    panels = provides(DISJOINT)
    forest = ensembles["forest"]
    asked = predict_proba_sets(forest, fresh, panels, FREE, none, none.astype(np.uint32))
    assert asked.shape == (0, 3)
    assert predict_proba(forest, fresh[:0], np.ones((0, D), dtype=bool)).shape == (0, 3)


def test_thirty_two_panels_have_codes():
    acquired = np.zeros((2, 32), dtype=bool)
    acquired[0, [0, 31]] = True
    np.testing.assert_array_equal(set_codes(acquired), np.array([2**31 + 1, 0], dtype=np.uint32))
    with pytest.raises(DataError, match="33 actions"):
        set_codes(np.zeros((1, 33), dtype=bool))


def test_more_panels_than_a_code_holds_are_scored_as_they_stand(ensembles, fresh):
    """Panels that reveal nothing are added to the real ones, so that the answers are known."""
    rng = np.random.default_rng(6)
    rows = rng.integers(0, 60, size=500)
    acquired = rng.random((500, 70)) < 0.5
    panels = np.zeros((70, D), dtype=bool)
    panels[67:] = provides(DISJOINT)
    few = acquired[:, 67:]
    known = predict_proba_sets(
        ensembles["forest"], fresh, provides(DISJOINT), FREE, rows, set_codes(few)
    )
    wide = predict_proba_acquired(ensembles["forest"], fresh, panels, FREE, rows, acquired)
    np.testing.assert_array_equal(wide, known)
    narrow = predict_proba_acquired(ensembles["forest"], fresh, provides(DISJOINT), FREE, rows, few)
    np.testing.assert_array_equal(narrow, known)


def test_refusals_say_what_was_found(ensembles, fresh):
    forest, panels = ensembles["forest"], provides(DISJOINT)
    row, code = np.array([0]), np.array([8], dtype=np.uint32)
    with pytest.raises(DataError, match="panel set 8 names an action beyond the 3 known"):
        predict_proba_sets(forest, fresh, panels, FREE, row, code)
    with pytest.raises(DataError, match=r"rows run 60\.\.60; allowed: 0\.\.59"):
        predict_proba_sets(forest, fresh, panels, FREE, row + 60, code - 8)
    with pytest.raises(DataError, match="fitted on 6 columns; got 5"):
        predict_proba(forest, fresh[:, :5], np.ones((60, 5), dtype=bool))
    with pytest.raises(DataError, match="all sets of 11 panels"):
        predict_proba_all_sets(forest, fresh, np.ones((11, D), dtype=bool), FREE)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_prediction_has_the_least_expected_cost(seed, k):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(k), size=5)
    cost = rng.integers(0, 4, size=(k, k)).astype(float)
    chosen = expected_cost_prediction(proba, cost)
    for p, j in zip(proba, chosen, strict=True):
        expected = [sum(p[i] * cost[i, c] for i in range(k)) for c in range(k)]
        assert expected[j] <= min(expected) + 1e-12


def test_equal_costs_go_to_the_lowest_index():
    assert expected_cost_prediction(np.array([[0.5, 0.5]]), 1 - np.eye(2))[0] == 0
