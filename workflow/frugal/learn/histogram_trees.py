"""Compiled growth of the trees of `histogram_forest`: bootstrap, best cuts, partition, prediction.

Part of MissForest (Stekhoven & Bühlmann 2012). Splits, weights and the minimal leaf follow
scikit-learn: bootstrap as row weights, leaf size in distinct rows, constant predictors skipped;
thresholds lie on bin edges. All compiled functions are in this one file, because numba's cache
does not see edits of a callee in another file. Knows nothing of missing values.
"""

from typing import NamedTuple, no_type_check

import numpy as np
from jaxtyping import Float, Int, UInt8
from numba import njit

from frugal.core.errors import DataError
from frugal.core.scaling import fit_scaling

MAX_BINS = 256  # a bin is one byte
_SORTED_BELOW = 25  # smaller nodes are sorted: cheaper than clearing and reading a histogram
_PURE = 1e-12  # node variance, in units of the target's, below which nothing is left to split


class Nodes(NamedTuple):
    """One tree. `left` is the left child, left + 1 the right one; `feature` is −1 at a leaf.

    A leaf's `value` is the mean, or the class if `slot` < 0; else `share[slot]` holds class shares.
    """

    feature: np.ndarray
    cut: np.ndarray
    left: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    value: np.ndarray
    slot: np.ndarray
    share: np.ndarray


class BootstrapSample(NamedTuple):
    """A bootstrap sample in node order: row, multiplicity, and weight × target (or class)."""

    row: np.ndarray
    weight: np.ndarray
    mass: np.ndarray


class TreeBuffers(NamedTuple):
    """Work space: (rows, weight, mass) per bin; a node sorted by bin; class weights by side."""

    histogram: np.ndarray
    key: np.ndarray
    weight: np.ndarray
    mass: np.ndarray
    row: np.ndarray
    on_left: np.ndarray
    on_right: np.ndarray


@njit(cache=True, error_model="numpy")
@no_type_check
def add_forest(bins, n_bins, targets, queries, classes, trees, tries, min_leaf, state, total):
    """Grows tree after tree and adds its predictions for the queried rows to `total`. (q, k)"""
    n = bins.shape[1]
    capacity = 2 * (n // min_leaf) + 3
    k = max(classes, 1)
    slots = n // 2 + 1 if classes > 0 else 1  # a leaf with mixed classes has two rows or more
    nodes = Nodes(
        np.empty(capacity, np.int32),
        np.empty(capacity, np.uint8),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.float64),
        np.empty(capacity, np.int32),
        np.empty((slots, k), np.float64),
    )
    sample = BootstrapSample(
        np.empty(n, np.int32), np.empty(n, np.float64), np.empty(n, np.float64)
    )
    scratch = TreeBuffers(
        np.empty((MAX_BINS, 3), np.float64),
        np.empty(n, np.uint8),
        np.empty(n, np.float64),
        np.empty(n, np.float64),
        np.empty(n, np.int32),
        np.empty(k, np.float64),
        np.empty(k, np.float64),
    )
    features = np.arange(bins.shape[0])
    for _ in range(trees):
        size = draw_bootstrap(targets, classes, state, sample)
        grow_tree(
            bins, n_bins, size, classes, tries, min_leaf, state, features, sample, scratch, nodes
        )
        _add_tree(queries, classes, nodes, total)


@njit(cache=True, error_model="numpy")
@no_type_check
def _draw_below(state, bound):
    """Next integer in [0, bound), bound < 2³², of the splitmix64 stream."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64(((z >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@njit(cache=True, error_model="numpy")
@no_type_check
def draw_bootstrap(targets, classes, state, sample):
    """Draws n of n rows with replacement; each distinct row once, with its multiplicity."""
    n = len(targets)
    times = np.zeros(n, np.int32)
    for _ in range(n):
        times[_draw_below(state, n)] += 1
    size = 0
    for i in range(n):
        if times[i] > 0:
            sample.row[size] = i
            sample.weight[size] = times[i]
            sample.mass[size] = targets[i] if classes > 0 else times[i] * targets[i]
            size += 1
    return size


@njit(cache=True, error_model="numpy")
@no_type_check
def grow_tree(
    bins, n_bins, size, classes, tries, min_leaf, state, features, sample, scratch, nodes
):
    """Grows one tree breadth-first on the first `size` sampled rows; returns its node count."""
    nodes.start[0] = 0
    nodes.stop[0] = size
    n_nodes = 1
    shares = 0
    node = 0
    while node < n_nodes:
        start, stop = nodes.start[node], nodes.stop[node]
        pure = _describe(classes, start, stop, sample, node, shares, nodes)
        feature, cut = -1, 0
        if not pure and stop - start >= 2 * min_leaf:
            feature, cut = _choose_split(
                bins,
                n_bins,
                start,
                stop,
                classes,
                tries,
                min_leaf,
                state,
                features,
                sample,
                scratch,
            )
        nodes.feature[node] = feature
        if feature >= 0:
            middle = _partition(bins[feature], cut, start, stop, sample, scratch)
            nodes.cut[node] = cut
            nodes.left[node] = n_nodes
            nodes.start[n_nodes], nodes.stop[n_nodes] = start, middle
            nodes.start[n_nodes + 1], nodes.stop[n_nodes + 1] = middle, stop
            n_nodes += 2
        elif nodes.slot[node] >= 0:
            shares += 1
        node += 1
    return n_nodes


@njit(cache=True, error_model="numpy")
@no_type_check
def _describe(classes, start, stop, sample, node, slot, nodes):
    """Writes the node's mean, class or class shares; returns True if there is nothing to split."""
    nodes.slot[node] = -1
    total = 0.0
    for i in range(start, stop):
        total += sample.weight[i]
    if classes == 0:
        mass = 0.0
        square = 0.0
        for i in range(start, stop):
            mass += sample.mass[i]
            square += sample.mass[i] * sample.mass[i] / sample.weight[i]
        mean = mass / total
        nodes.value[node] = mean
        return square / total - mean * mean <= _PURE
    first = sample.mass[start]
    pure = True
    for i in range(start + 1, stop):
        if sample.mass[i] != first:
            pure = False
            break
    nodes.value[node] = first
    if not pure:
        nodes.slot[node] = slot
        share = nodes.share[slot]
        share[:] = 0.0
        for i in range(start, stop):
            share[int(sample.mass[i])] += sample.weight[i] / total
    return pure


@njit(cache=True, error_model="numpy")
@no_type_check
def _choose_split(
    bins, n_bins, start, stop, classes, tries, min_leaf, state, features, sample, scratch
):
    """Best (feature, cut) among `tries` predictors without replacement; (−1, 0) if none divides.

    Goes on past `tries` until one predictor has varied, as scikit-learn does.
    """
    best, feature, cut = -np.inf, -1, 0
    visited = 0
    useful = 0
    while visited < len(features) and (visited < tries or useful == 0):
        pick = visited + _draw_below(state, len(features) - visited)
        tried = features[pick]
        features[pick] = features[visited]
        features[visited] = tried
        visited += 1
        score, at, varies = best_cut(
            bins[tried], n_bins[tried], start, stop, classes, min_leaf, sample, scratch
        )
        if varies:
            useful += 1
        if score > best:
            best, feature, cut = score, tried, at
    return feature, cut


@njit(cache=True, error_model="numpy")
@no_type_check
def best_cut(column, bins, start, stop, classes, min_leaf, sample, scratch):
    """Best cut of one node along one predictor: (score, last bin on the left, predictor varies).

    Score: Σ_side (Σ w y)² / Σ w for a mean, Σ_side Σ_class (Σ w)² / Σ w for classes; both grow
    as the weighted impurity of the two sides falls. −∞ if no cut leaves `min_leaf` rows each side.
    """
    if stop - start >= _SORTED_BELOW and classes == 0:
        return _cut_histogram(column, bins, start, stop, min_leaf, sample, scratch)
    if stop - start >= _SORTED_BELOW:
        _sort_by_counting(column, bins, start, stop, sample, scratch)
    else:
        _sort_by_insertion(column, start, stop, sample, scratch)
    if classes == 0:
        return _cut_sorted_means(stop - start, min_leaf, scratch)
    return _cut_sorted_classes(stop - start, min_leaf, scratch)


@njit(cache=True, error_model="numpy")
@no_type_check
def _cut_histogram(column, bins, start, stop, min_leaf, sample, scratch):
    histogram = scratch.histogram
    histogram[:bins] = 0.0
    for i in range(start, stop):
        b = column[sample.row[i]]
        histogram[b, 0] += 1.0
        histogram[b, 1] += sample.weight[i]
        histogram[b, 2] += sample.mass[i]
    weight, mass, filled = 0.0, 0.0, 0
    for b in range(bins):
        weight += histogram[b, 1]
        mass += histogram[b, 2]
        filled += histogram[b, 0] > 0
    best, cut = -np.inf, 0
    rows, left_weight, left_mass = 0.0, 0.0, 0.0
    for b in range(bins - 1):
        if histogram[b, 0] == 0:
            continue
        rows += histogram[b, 0]
        left_weight += histogram[b, 1]
        left_mass += histogram[b, 2]
        if stop - start - rows < min_leaf:
            break
        if rows >= min_leaf:
            right_mass = mass - left_mass
            score = left_mass * left_mass / left_weight
            score += right_mass * right_mass / (weight - left_weight)
            if score > best:
                best, cut = score, b
    return best, cut, filled > 1


@njit(cache=True, error_model="numpy")
@no_type_check
def _sort_by_insertion(column, start, stop, sample, scratch):
    key, weight, mass = scratch.key, scratch.weight, scratch.mass
    for i in range(stop - start):
        b = column[sample.row[start + i]]
        w = sample.weight[start + i]
        m = sample.mass[start + i]
        j = i - 1
        while j >= 0 and key[j] > b:
            key[j + 1] = key[j]
            weight[j + 1] = weight[j]
            mass[j + 1] = mass[j]
            j -= 1
        key[j + 1] = b
        weight[j + 1] = w
        mass[j + 1] = m


@njit(cache=True, error_model="numpy")
@no_type_check
def _sort_by_counting(column, bins, start, stop, sample, scratch):
    place = np.zeros(MAX_BINS + 1, np.int32)
    for i in range(start, stop):
        place[column[sample.row[i]] + 1] += 1
    for b in range(bins):
        place[b + 1] += place[b]
    for i in range(start, stop):
        b = column[sample.row[i]]
        at = place[b]
        place[b] = at + 1
        scratch.key[at] = b
        scratch.weight[at] = sample.weight[i]
        scratch.mass[at] = sample.mass[i]


@njit(cache=True, error_model="numpy")
@no_type_check
def _cut_sorted_means(size, min_leaf, scratch):
    key = scratch.key
    weight, mass = 0.0, 0.0
    for i in range(size):
        weight += scratch.weight[i]
        mass += scratch.mass[i]
    best, cut = -np.inf, 0
    left_weight, left_mass = 0.0, 0.0
    for i in range(size - min_leaf):
        left_weight += scratch.weight[i]
        left_mass += scratch.mass[i]
        if i + 1 >= min_leaf and key[i] != key[i + 1]:
            right_mass = mass - left_mass
            score = left_mass * left_mass / left_weight
            score += right_mass * right_mass / (weight - left_weight)
            if score > best:
                best, cut = score, np.int64(key[i])
    return best, cut, key[0] != key[size - 1]


@njit(cache=True, error_model="numpy")
@no_type_check
def _cut_sorted_classes(size, min_leaf, scratch):
    key, on_left, on_right = scratch.key, scratch.on_left, scratch.on_right
    on_left[:] = 0.0
    on_right[:] = 0.0
    left_weight, right_weight = 0.0, 0.0
    for i in range(size):
        on_right[int(scratch.mass[i])] += scratch.weight[i]
        right_weight += scratch.weight[i]
    left_square, right_square = 0.0, 0.0
    for c in range(len(on_right)):
        right_square += on_right[c] * on_right[c]
    best, cut = -np.inf, 0
    for i in range(size - min_leaf):
        c, w = int(scratch.mass[i]), scratch.weight[i]
        # A row that changes sides changes one class on each: the squares need no second sum.
        left_square += w * (2.0 * on_left[c] + w)
        right_square -= w * (2.0 * on_right[c] - w)
        on_left[c] += w
        on_right[c] -= w
        left_weight += w
        right_weight -= w
        if i + 1 >= min_leaf and key[i] != key[i + 1]:
            score = left_square / left_weight + right_square / right_weight
            if score > best:
                best, cut = score, np.int64(key[i])
    return best, cut, key[0] != key[size - 1]


@njit(cache=True, error_model="numpy")
@no_type_check
def _partition(column, cut, start, stop, sample, scratch):
    """Moves the rows of one node so that those at most `cut` come first; returns where they end."""
    left, right = start, 0
    for i in range(start, stop):
        row, weight, mass = sample.row[i], sample.weight[i], sample.mass[i]
        if column[row] <= cut:
            sample.row[left], sample.weight[left], sample.mass[left] = row, weight, mass
            left += 1
        else:
            scratch.row[right], scratch.weight[right], scratch.mass[right] = row, weight, mass
            right += 1
    sample.row[left:stop] = scratch.row[:right]
    sample.weight[left:stop] = scratch.weight[:right]
    sample.mass[left:stop] = scratch.mass[:right]
    return left


@njit(cache=True, error_model="numpy")
@no_type_check
def _add_tree(queries, classes, nodes, total):
    """Adds the tree's mean, or class shares, to each queried row's total."""
    for i in range(len(queries)):
        node = 0
        while nodes.feature[node] >= 0:
            node = nodes.left[node] + (queries[i, nodes.feature[node]] > nodes.cut[node])
        if classes == 0:
            total[i, 0] += nodes.value[node]
        elif nodes.slot[node] < 0:
            total[i, int(nodes.value[node])] += 1.0
        else:
            for c in range(classes):
                total[i, c] += nodes.share[nodes.slot[node], c]


def bin_edges(values: Float[np.ndarray, " m"], *, bins: int) -> Float[np.ndarray, " e"]:
    """Inner edges of at most `bins` bins: between all values if they are few, else at quantiles.

    Args:
        values: finite values of one predictor. (m,)
        bins: at most 256.

    Returns:
        Increasing edges; a value lies in bin b if exactly b edges are below it. (e,), e < bins

    Raises:
        DataError: more bins than fit one byte.
    """
    if not 2 <= bins <= MAX_BINS:
        raise DataError(f"{bins} bins were requested; 2 to {MAX_BINS} are possible")
    distinct = np.unique(values)
    if len(distinct) <= bins:
        return (distinct[1:] + distinct[:-1]) / 2
    return np.unique(np.quantile(values, np.arange(1, bins) / bins))


def bin_values(
    values: Float[np.ndarray, " m"], edges: Float[np.ndarray, " e"]
) -> UInt8[np.ndarray, " m"]:
    """Bin of each value: the number of edges below it. (m,)"""
    return np.searchsorted(edges, values).astype(np.uint8)


def forest_predictions(
    bins: UInt8[np.ndarray, "v n"],
    n_bins: Int[np.ndarray, " v"],
    target: Float[np.ndarray, " n"] | Int[np.ndarray, " n"],
    *,
    skip: int,
    train: Int[np.ndarray, " m"],
    predict: Int[np.ndarray, " q"],
    trees: int,
    tries: int,
    min_leaf: int,
    seed: int,
    classes: int = 0,
) -> Float[np.ndarray, "q *k"]:
    """Mean over trees of the leaf means, or of the class shares of the leaves.

    Splits are those of the largest fall of variance, or of Gini's impurity.

    Args:
        bins: bin of every predictor and row. (v, n)
        n_bins: number of bins of each predictor. (v,)
        target: a number or a class 0, …, classes − 1; read at the training rows only. (n,)
        skip: predictor that is not used (the target's own); −1 for none.
        train: rows to draw bootstrap samples from. (m,)
        predict: rows to predict. (q,)
        trees: number of trees.
        tries: predictors tried at each node.
        min_leaf: distinct rows in a leaf, at least.
        seed: any integer ≥ 0; fixes the result.
        classes: of the target; 0: it is a number.

    Returns:
        Of a number, predictions in [min, max] of the training targets, in the target's unit (q,);
        else class shares, whose rows sum to 1 (q, k).
    """
    train_target = target[train].astype(np.float64)
    grown_on = train_target
    if not classes:
        scaling = fit_scaling(train_target, constant=0.0)
        if scaling.scale == 0:
            return np.full(len(predict), scaling.centre)
        # Standardised, so that the purity threshold and rounding do not depend on the unit.
        grown_on = scaling.standardise(train_target)
    features = np.delete(np.arange(len(bins)), skip) if skip >= 0 else np.arange(len(bins))
    # Only the predictors in use, gathered once: columns for training, rows for predicting.
    inside = np.ascontiguousarray(bins[features][:, train])
    queries = np.ascontiguousarray(bins[features][:, predict].T)
    total = np.zeros((len(predict), max(classes, 1)))
    add_forest(
        inside,
        n_bins[features].astype(np.int64),
        grown_on,
        queries,
        classes,
        trees,
        tries,
        min_leaf,
        np.array([seed], dtype=np.uint64),
        total,
    )
    total /= trees
    if classes:
        return total
    return np.clip(scaling.restore(total[:, 0]), train_target.min(), train_target.max())
