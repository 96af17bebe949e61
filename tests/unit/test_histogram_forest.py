from typing import Any

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.learn.histogram_trees import (
    MAX_BINS,
    BootstrapSample,
    Nodes,
    TreeBuffers,
    best_cut,
    bin_edges,
    bin_values,
    forest_predictions,
    grow_tree,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tests.oracles.node_cuts import impurity, smallest_impurity

pytestmark = pytest.mark.trains


def new_scratch(n: int, classes: int) -> TreeBuffers:
    k = max(classes, 1)
    return TreeBuffers(
        np.empty((MAX_BINS, 3)),
        np.empty(n, np.uint8),
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int32),
        np.empty(k),
        np.empty(k),
    )


def new_sample(target: np.ndarray, weight: np.ndarray, classes: int) -> BootstrapSample:
    mass = target.astype(np.float64) if classes else weight * target
    return BootstrapSample(np.arange(len(target), dtype=np.int32), weight.astype(np.float64), mass)


@settings(max_examples=150)
@given(
    n=st.integers(2, 80),  # both below and above the size from which nodes are not sorted
    bins=st.integers(1, 40),
    classes=st.sampled_from([0, 2, 5]),
    min_leaf=st.integers(1, 6),
    seed=st.integers(0, 2**31),
)
def test_best_cut_is_the_one_of_least_impurity(n, bins, classes, min_leaf, seed):
    rng = np.random.default_rng(seed)
    column = rng.integers(0, bins, n).astype(np.uint8)
    target = rng.integers(0, classes, n) if classes else rng.normal(size=n)
    weight = rng.integers(1, 4, n)
    score, cut, varies = best_cut(
        column,
        bins,
        0,
        n,
        classes,
        min_leaf,
        new_sample(target, weight, classes),
        new_scratch(n, classes),
    )
    least, cuts = smallest_impurity(column, target, weight, classes, min_leaf)
    assert varies == (len(np.unique(column)) > 1)
    if not cuts:
        assert score == -np.inf
        return
    assert cut in cuts
    # Σ w·impurity = constant − score, the constant being Σ w y² or Σ w.
    constant = weight @ target**2 if classes == 0 else weight.sum()
    assert constant - score == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("classes", [0, 4])
@pytest.mark.parametrize("min_leaf", [1, 5])
def test_a_tree_on_all_predictors_is_the_one_of_scikit_learn(classes, min_leaf):
    rng = np.random.default_rng(3)
    n, d = 400, 5
    bins = rng.integers(0, 60, (d, n)).astype(np.uint8)
    smooth = bins[0] / 30 + np.sin(bins[1] / 9) + 0.3 * rng.normal(size=n)
    target = np.digitize(smooth, [0.5, 1.2, 2.0]) if classes else smooth
    nodes = Nodes(
        np.empty(2 * n, np.int32),
        np.empty(2 * n, np.uint8),
        np.empty(2 * n, np.int32),
        np.empty(2 * n, np.int32),
        np.empty(2 * n, np.int32),
        np.empty(2 * n),
        np.empty(2 * n, np.int32),
        np.empty((n, max(classes, 1))),
    )
    sample = new_sample(target, np.ones(n), classes)
    made = grow_tree(
        bins,
        np.full(d, 60),
        n,
        classes,
        d,
        min_leaf,
        np.zeros(1, np.uint64),
        np.arange(d),
        sample,
        new_scratch(n, classes),
        nodes,
    )
    leaves = np.flatnonzero(nodes.feature[:made] < 0)
    sizes = nodes.stop[leaves] - nodes.start[leaves]
    assert sizes.sum() == n
    assert sizes.min() >= min_leaf
    assert sorted(sample.row.tolist()) == list(range(n))
    maker = DecisionTreeClassifier if classes else DecisionTreeRegressor
    reference = maker(min_samples_leaf=min_leaf, random_state=0).fit(bins.T, target)
    # Equally good cuts may be chosen differently (rarely, deep down), so the trees are compared by
    # the impurity they leave on the training rows, not node by node.
    left = sum(
        impurity(target[rows], np.ones(len(rows)), classes) * len(rows)
        for leaf in leaves
        for rows in [sample.row[nodes.start[leaf] : nodes.stop[leaf]]]
    )
    tree = reference.tree_
    end = tree.children_left < 0
    expected = float(tree.impurity[end] @ tree.n_node_samples[end])
    assert left == pytest.approx(expected, rel=0.02, abs=1e-9)


def binned(table: np.ndarray, bins: int = 128) -> tuple[np.ndarray, np.ndarray]:
    edges = [bin_edges(column, bins=bins) for column in table.T]
    codes = np.stack([bin_values(c, e) for c, e in zip(table.T, edges, strict=True)])
    return codes, np.array([len(e) + 1 for e in edges])


def curved(seed: int, n: int = 1200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, 6))
    target = table[:, 0] * table[:, 1] + np.sin(2 * table[:, 2]) + 0.3 * rng.normal(size=n)
    return table, target


ROWS: dict[str, Any] = {"train": np.arange(900), "predict": np.arange(900, 1200)}
SCIKIT: dict[str, Any] = {"n_estimators": 60, "max_features": 2, "min_samples_leaf": 5}
FOREST: dict[str, Any] = {**ROWS, "skip": -1, "trees": 60, "tries": 2, "min_leaf": 5, "seed": 11}


def test_bins_count_the_edges_below():
    values = np.random.default_rng(0).normal(size=1000)
    edges = bin_edges(values, bins=16)
    assert len(edges) == 15
    expected = [(edges < v).sum() for v in values]
    np.testing.assert_array_equal(bin_values(values, edges), expected)
    assert np.bincount(expected).tolist() == pytest.approx([62.5] * 16, abs=2)


def test_few_values_get_a_bin_each():
    values = np.array([3.0, 1.0, 1.0, 7.0])
    edges = bin_edges(values, bins=4)
    np.testing.assert_array_equal(edges, [2.0, 5.0])
    np.testing.assert_array_equal(bin_values(values, edges), [1, 0, 0, 2])
    assert len(bin_edges(np.ones(5), bins=4)) == 0


@pytest.mark.parametrize("bins", [1, 257])
def test_bins_fit_a_byte(bins):
    with pytest.raises(DataError, match="2 to 256"):
        bin_edges(np.arange(9.0), bins=bins)


def test_means_are_as_good_as_those_of_scikit_learn():
    ratio = []
    for seed in range(6):
        table, target = curved(seed)
        codes, n_bins = binned(table)
        own = forest_predictions(codes, n_bins, target, **FOREST)
        theirs = RandomForestRegressor(**SCIKIT, random_state=seed)
        theirs.fit(table[:900], target[:900])
        error = [((p - target[900:]) ** 2).mean() for p in (own, theirs.predict(table[900:]))]
        ratio.append(np.sqrt(error[0] / error[1]))
    # Two scikit-learn forests of 60 trees differ by about 1 % here: 0.4 % on the mean of 6.
    assert np.mean(ratio) == pytest.approx(1.0, abs=0.015)


def test_shares_are_as_good_as_those_of_scikit_learn():
    ratio = []
    for seed in range(6):
        table, smooth = curved(seed)
        target = np.digitize(smooth, [-1.0, 0.0, 1.0])
        codes, n_bins = binned(table)
        own = forest_predictions(codes, n_bins, target, classes=4, **FOREST)
        np.testing.assert_allclose(own.sum(axis=1), 1.0, atol=1e-12)
        assert own.min() >= 0
        theirs = RandomForestClassifier(**SCIKIT, random_state=seed)
        shares = theirs.fit(table[:900], target[:900]).predict_proba(table[900:])
        truth = np.eye(4)[target[900:]]
        ratio.append(((own - truth) ** 2).sum() / ((shares - truth) ** 2).sum())
    assert np.mean(ratio) == pytest.approx(1.0, abs=0.015)  # as above, for the Brier score


def test_predictions_stay_within_the_training_targets():
    table, target = curved(1)
    codes, n_bins = binned(table)
    means = forest_predictions(codes, n_bins, target, **FOREST)
    assert means.min() >= target[:900].min()
    assert means.max() <= target[:900].max()


def test_the_unit_of_the_target_only_scales_the_prediction():
    table, target = curved(2)
    codes, n_bins = binned(table)
    plain = forest_predictions(codes, n_bins, target, **FOREST)
    scaled = forest_predictions(codes, n_bins, 1e6 + 1e-3 * target, **FOREST)
    # 1e6 + 1e-3·y keeps y to about 1e-7; hardly any split can depend on so little.
    np.testing.assert_allclose((scaled - 1e6) / 1e-3, plain, atol=0.05)


def test_same_seed_same_bytes_other_seed_other_forest():
    table, target = curved(3)
    codes, n_bins = binned(table)
    one = forest_predictions(codes, n_bins, target, **FOREST)
    assert one.tobytes() == forest_predictions(codes, n_bins, target, **FOREST).tobytes()
    assert (one != forest_predictions(codes, n_bins, target, **{**FOREST, "seed": 12})).any()


def test_only_training_targets_and_used_predictors_are_read():
    table, target = curved(4)
    codes, n_bins = binned(table)
    settings = {**FOREST, "skip": 2}
    plain = forest_predictions(codes, n_bins, target, **settings)
    target = np.where(np.arange(1200) < 900, target, np.nan)
    codes[2] = 0
    np.testing.assert_array_equal(forest_predictions(codes, n_bins, target, **settings), plain)


def test_constant_targets_and_constant_predictors():
    codes, n_bins = np.zeros((2, 30), np.uint8), np.ones(2, np.int64)
    rows: dict[str, Any] = {"train": np.arange(20), "predict": np.arange(20, 30)}
    options: dict[str, Any] = {"skip": -1, "trees": 200, "tries": 1, "min_leaf": 1, "seed": 0}
    target = np.arange(30.0)
    np.testing.assert_array_equal(
        forest_predictions(codes, n_bins, np.full(30, 0.1), **rows, **options), np.full(10, 0.1)
    )
    # Nothing to split on: mean over trees of bootstrap means, standard error 5.8 / √(20·200).
    means = forest_predictions(codes, n_bins, target, **rows, **options)
    assert np.ptp(means) == 0
    assert means[0] == pytest.approx(9.5, abs=4 * 0.1)
    shares = forest_predictions(codes, n_bins, np.arange(30) % 4, classes=5, **rows, **options)
    np.testing.assert_allclose(shares[0], [0.25, 0.25, 0.25, 0.25, 0], atol=4 * 0.007)
