"""Tree classifiers for partly observed features, all kept as one frozen form: `TreeEnsemble`.

Random forests on mean-filled data and gradient boosting that takes missing values natively, as
[afape] demands of its classifier f(R, X): one function for every set of acquired panels. Where an
unobserved feature goes is written on each node, so scoring (`tree_scoring`) needs neither the
fill values nor the library that fitted the trees. Must not know of policies, costs or files.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from frugal.core.errors import ConfigError, DataError
from frugal.core.stored import Array, Stored, Within, arrays_of, declared
from frugal.core.streams import Streams
from frugal.core.table import Table

LINKS = ("mean", "softmax")
MOST_COLUMNS = int(np.iinfo(np.int16).max)
GOES_LEFT, LEARNS_MISSING = 2, 2  # of LightGBM's `decision_type`: a flag, and bits 2 and 3
MOST_THRESHOLD = 1e300  # where only missing values are on the other side
_ROUNDING = 1e-6  # of the sum of a leaf's class shares
_NUMBERS = {
    "link": Array("uint8", (1,), low=0, high=len(LINKS) - 1),
    "columns": Array("int64", (1,), low=1, high=MOST_COLUMNS),
}


def require_ensemble(arrays: Mapping[str, np.ndarray]) -> None:
    """The arrays are a `TreeEnsemble`: each tree depth first, every node reached exactly once.

    Raises:
        DataError: they are not; the sentence names array and entry.
    """
    stored = Stored("tree ensemble", arrays)
    size = stored.require(declared(TreeEnsemble) | _NUMBERS)
    stored.require_between("feature", -1, int(arrays["columns"][0]) - 1)
    stored.require_between("root", 0, size["m"] - 1)
    stored.require_rising("root")
    nodes = size["m"]
    root, feature, right = (stored.arrays[name] for name in ("root", "feature", "right"))
    if root[0] != 0:
        raise stored.refusal(f"has its first root at node {root[0]}; allowed: 0")
    inner = np.flatnonzero(feature >= 0)
    ends = np.append(root[1:], nodes)
    end = np.repeat(ends, ends - root)[inner]
    child = right[inner]
    wrong = np.flatnonzero((child <= inner + 1) | (child >= end))
    if wrong.size:
        at = int(wrong[0])
        raise stored.refusal(
            f"has {child[at]} in the array 'right' at [{inner[at]}], a node of the tree that ends "
            f"at node {end[at] - 1}; allowed are later nodes of that tree, from {inner[at] + 2}"
        )
    reached = np.zeros(nodes, dtype=bool)
    for entered in (root, inner + 1, child):
        reached[entered] = True
    if not reached.all():
        raise stored.refusal(
            f"has a node {int(np.argmin(reached))} that is neither a root nor a child; allowed are "
            "nodes that a walk can come to"
        )
    if len(root) + 2 * len(inner) != nodes:  # as many ways to nodes as nodes: none has two
        parents = np.bincount(np.concatenate([root, inner + 1, child]))
        raise stored.refusal(
            f"has a node {int(np.argmax(parents > 1))} with several parents; allowed is one"
        )
    leaf = arrays["feature"] < 0
    _require_leaf_rows(stored, arrays["right"][leaf], np.flatnonzero(leaf), size["l"])
    if LINKS[int(arrays["link"][0])] == "mean":
        _require_shares(stored)


def _require_leaf_rows(stored: Stored, row: np.ndarray, node: np.ndarray, rows: int) -> None:
    """Each leaf names a row of `leaf_value`, and each row has a leaf."""
    wrong = np.flatnonzero(row >= rows)
    if wrong.size:
        at = int(wrong[0])
        raise stored.refusal(
            f"has {row[at]} in the array 'right' at the leaf [{node[at]}]; allowed are the rows of "
            f"'leaf_value', 0 to {rows - 1}"
        )
    unused = np.flatnonzero(np.bincount(row, minlength=rows) == 0)
    if unused.size:
        raise stored.refusal(f"has a row {unused[0]} in the array 'leaf_value' that no leaf names")


def _require_shares(stored: Stored) -> None:
    """With the link "mean" every row of `leaf_value` holds class shares."""
    stored.require_between("leaf_value", 0.0, 1.0 + _ROUNDING)
    share = stored.arrays["leaf_value"]
    total = share @ np.ones(share.shape[1])  # ten times as fast as a sum over so short an axis
    wrong = np.flatnonzero(np.abs(total - 1) > _ROUNDING)
    if wrong.size:
        raise stored.refusal(
            f"has class shares that sum to {total[wrong[0]]:.9g} in row {wrong[0]} of the array "
            "'leaf_value'; allowed: 1"
        )


NODE = np.dtype(
    [
        ("feature", np.int16),
        ("missing_left", np.int16),
        ("threshold", np.float32),
        ("right", np.int32),
    ]
)
LIGHTGBM: Mapping[str, Any] = {  # the same bytes on every machine
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "feature_pre_filter": False,
    "verbosity": -1,
}


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """Decision trees over d columns and k classes. Shapes: e trees, m nodes, l leaves.

    Nodes of a tree lie depth first, so the left child of node j is j + 1. An observed value
    x goes left if float32(x) ≤ threshold.

    Attributes:
        root: first node of each tree. (e,)
        feature: column on which the node splits; −1 at a leaf. (m,)
        threshold: largest float32 value that goes left. (m,)
        right: right child; at a leaf, its row in `leaf_value`. (m,)
        missing_left: True where an unobserved feature goes left. (m,)
        leaf_value: class shares (link "mean") or scores (link "softmax"). (l, k)
        link: "mean": the class probability is the mean of the trees' leaf rows;
            "softmax": it is the softmax of their sum.
        columns: d.
    """

    root: Annotated[Int[np.ndarray, " e"], Within(dtype="int32", low=0)]
    feature: Annotated[Int[np.ndarray, " m"], Within(dtype="int16", low=-1)]
    threshold: Annotated[Float[np.ndarray, " m"], Within(dtype="float32")]
    right: Annotated[Int[np.ndarray, " m"], Within(dtype="int32", low=0)]
    missing_left: Annotated[Bool[np.ndarray, " m"], Within()]
    leaf_value: Annotated[Float[np.ndarray, "l k"], Within()]
    link: Literal["mean", "softmax"]
    columns: int

    def __post_init__(self) -> None:
        if self.link not in LINKS:
            raise ConfigError(
                f"the link of a tree ensemble is {self.link!r}; allowed: mean, softmax"
            )
        if len(self.root) == 0:
            raise ConfigError("a tree ensemble holds no tree; it needs at least one")
        if self.columns > np.iinfo(np.int16).max:
            raise ConfigError(f"a tree ensemble over {self.columns} columns; allowed: 32767")

    @property
    def classes(self) -> int:
        """Number of classes, k."""
        return self.leaf_value.shape[1]

    @cached_property
    def nodes(self) -> Shaped[np.ndarray, " m"]:
        """The nodes as 12-byte records, so a step of a walk reads one cache line. (m,)"""
        packed = np.empty(len(self.feature), dtype=NODE)
        for field in ("feature", "missing_left", "threshold", "right"):
            packed[field] = getattr(self, field)
        return packed

    @cached_property
    def sklearn_trees(self) -> list[Any]:
        """Each tree as scikit-learn walks it, with its leaf rows as values."""
        from sklearn.tree import _tree  # pyright: ignore[reportAttributeAccessIssue]

        stops = [*self.root[1:].tolist(), len(self.feature)]
        start = np.repeat(self.root, np.subtract(stops, self.root))  # of each node's tree
        leaf = self.feature < 0
        nodes: Any = np.zeros(len(leaf), dtype=_tree.NODE_DTYPE)
        nodes["left_child"] = np.where(leaf, -1, np.arange(1, len(leaf) + 1) - start)
        nodes["right_child"] = np.where(leaf, -1, self.right - start)
        nodes["feature"], nodes["threshold"] = self.feature, self.threshold
        nodes["missing_go_to_left"] = self.missing_left
        values = np.zeros((len(leaf), 1, self.classes))
        values[leaf, 0] = self.leaf_value[self.right[leaf]]
        trees = []
        for part in map(slice, self.root.tolist(), stops):
            tree = _tree.Tree(self.columns, np.array([self.classes]), 1)
            state = {"nodes": nodes[part], "values": values[part], "max_depth": 0}
            tree.__setstate__(state | {"node_count": part.stop - part.start})
            trees.append(tree)
        return trees

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the ensemble is, as named arrays; `from_arrays` is the exact inverse."""
        arrays = arrays_of(self)
        arrays["link"] = np.array([LINKS.index(self.link)], dtype=np.uint8)
        arrays["columns"] = np.array([self.columns], dtype=np.int64)
        return arrays

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray]) -> "TreeEnsemble":
        """The ensemble that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such ensemble; the message names the first.
        """
        require_ensemble(arrays)
        return TreeEnsemble(
            **{name: np.asarray(arrays[name]) for name in declared(TreeEnsemble)},
            link=LINKS[int(arrays["link"][0])],
            columns=int(arrays["columns"][0]),
        )

    def require_table(self, table: Table) -> "TreeEnsemble":
        """The same ensemble, if it was fitted on a table of these columns and classes.

        Raises:
            DataError: it has another number of columns or classes.
        """
        stored, expected = (self.columns, self.classes), (len(table.columns), len(table.classes))
        if stored != expected:
            raise DataError(
                f"the stored classifier is for {stored[0]} columns and {stored[1]} classes; the "
                f"table has {expected[0]} and {expected[1]}"
            )
        return self


def masked_float32(
    values: Float[np.ndarray, "n d"], observed: Bool[np.ndarray, "n d"]
) -> Float[np.ndarray, "n d"]:
    """Input of a tree: float32 values, NaN where not observed or without a value. (n, d)"""
    return np.where(observed, values, np.nan).astype(np.float32)


def largest_float32(threshold: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """Largest float32 ≤ threshold: x ≤ threshold is unchanged for every float32 x. (m,)"""
    with np.errstate(over="ignore"):
        nearest = threshold.astype(np.float32)
        down = np.nextafter(nearest, np.float32(-np.inf), dtype=np.float32)
    return np.where(nearest.astype(np.float64) > threshold, down, nearest)


def subsample_panels(
    n: int, a: int, *, probability: float, rng: np.random.Generator
) -> Bool[np.ndarray, "n a"]:
    """Independent acquisition of every panel with one probability, for n units. (n, a)"""
    if not 0 <= probability <= 1:
        raise ConfigError(f"panels are kept with probability {probability}; allowed: 0 to 1")
    return rng.random((n, a)) < probability


def training_set(
    table: Table, *, probability: float, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "m d"], Bool[np.ndarray, "m d"], Int[np.ndarray, " m"]]:
    """Rows for a classifier that must answer at any set of panels: m = 2n.

    Every unit occurs once with all that the record has, and once with panels subsampled at
    random, p(R̂ᵢ = 1) = probability [afape, sec. A.11]. Free panels are always kept.

    Returns:
        values (m, d), observed (m, d), label (m,).
    """
    recorded = ~np.isnan(table.values)
    acquired = subsample_panels(len(table), len(table.actions), probability=probability, rng=rng)
    return (
        np.concatenate([table.values, table.values]),
        np.concatenate([recorded, recorded & table.columns_observed(acquired)]),
        np.concatenate([table.label, table.label]),
    )


def fit_forest(
    values: Float[np.ndarray, "n d"],
    observed: Bool[np.ndarray, "n d"],
    label: Int[np.ndarray, " n"],
    *,
    classes: int,
    trees: int,
    min_leaf: int,
    rng: np.random.Generator,
) -> TreeEnsemble:
    """Impute-then-regress random forest with unconditional mean imputation [afape, sec. A.11].

    An unobserved entry counts as its column's mean over observed training entries; which way that
    mean goes is stored on each node. Everything else is scikit-learn's default.

    Args:
        values: features; unobserved entries are not read. (n, d)
        observed: True where a value is known; NaN counts as unknown. (n, d)
        label: class index. (n,)
        classes: number of classes k, also of those absent from `label`.
        trees: number of trees.
        min_leaf: fewest training rows in a leaf.
        rng: source of the bootstrap and of the columns tried at a node.

    Raises:
        DataError: no rows, a label outside 0..k−1, or a column that no training row observes.
    """
    from sklearn.ensemble import RandomForestClassifier  # slow to import, not needed to score

    masked = _training_values(values, observed, label, classes)
    mean = _column_means(masked)
    forest = RandomForestClassifier(
        n_estimators=trees,
        min_samples_leaf=min_leaf,
        n_jobs=1,
        random_state=int(rng.integers(2**31 - 1)),
    ).fit(np.where(np.isnan(masked), mean, masked), label)
    parts = [
        _sklearn_tree(tree.tree_, mean, forest.classes_, classes) for tree in forest.estimators_
    ]
    return join_trees(parts, link="mean", columns=values.shape[1])


def fit_boosting(
    values: Float[np.ndarray, "n d"],
    observed: Bool[np.ndarray, "n d"],
    label: Int[np.ndarray, " n"],
    *,
    classes: int,
    trees: int,
    leaves: int,
    learning_rate: float,
    min_leaf: int,
    rng: np.random.Generator,
) -> TreeEnsemble:
    """Gradient boosted trees that learn at each node where unobserved values go (LightGBM).

    A column without a missing value in training has no learned direction: there LightGBM, and so
    this ensemble, reads an unobserved value as 0.

    Args:
        values: features; unobserved entries are not read. (n, d)
        observed: True where a value is known; NaN counts as unknown. (n, d)
        label: class index. (n,)
        classes: number of classes k; with two, one score is learned and the other is 0.
        trees: boosting rounds; with more than two classes each round fits k trees.
        leaves: most leaves of a tree.
        learning_rate: shrinkage of each tree.
        min_leaf: fewest training rows in a leaf.
        rng: source of LightGBM's seed.

    Raises:
        DataError: no rows, or a label outside 0..k−1.
    """
    masked = _training_values(values, observed, label, classes)
    binary = classes == 2
    objective = (
        {"objective": "binary"} if binary else {"objective": "multiclass", "num_class": classes}
    )
    booster = train_booster(
        masked,
        label,
        objective=objective,
        trees=trees,
        leaves=leaves,
        learning_rate=learning_rate,
        min_leaf=min_leaf,
        rng=rng,
    )
    scored = 1 if binary else None
    return lightgbm_trees(
        booster.model_to_string(), columns=values.shape[1], classes=classes, scored=scored
    )


def train_booster(
    values: Float[np.ndarray, "n d"],
    target: Shaped[np.ndarray, " n"],
    *,
    objective: Mapping[str, Any],
    trees: int,
    leaves: int,
    learning_rate: float,
    min_leaf: int,
    rng: np.random.Generator,
    weight: Float[np.ndarray, " n"] | None = None,
) -> Any:
    """A LightGBM booster, one thread and byte-deterministic; NaN is "missing", 0 is a value."""
    import lightgbm  # slow to import, not needed to score

    settings = {
        **LIGHTGBM,
        **objective,
        "num_leaves": leaves,
        "learning_rate": learning_rate,
        "min_data_in_leaf": min_leaf,
        "seed": int(rng.integers(2**31 - 1)),
    }
    rows = lightgbm.Dataset(values, label=target, weight=weight)
    return lightgbm.train(settings, rows, num_boost_round=trees)


def fit_regression(
    values: Float[np.ndarray, "n d"],
    target: Float[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
    rng: np.random.Generator,
    **settings: Any,
) -> TreeEnsemble:
    """Boosted trees of a weighted mean, the sum of their leaf rows; settings as `train_booster`."""
    objective = {"objective": "regression"}
    booster = train_booster(values, target, objective=objective, rng=rng, weight=weight, **settings)
    return lightgbm_trees(booster.model_to_string(), columns=values.shape[1], classes=1)


def _training_values(
    values: np.ndarray, observed: np.ndarray, label: np.ndarray, classes: int
) -> np.ndarray:
    """Masked float32 training values, after the checks every classifier shares."""
    if len(label) == 0:
        raise DataError("a classifier got no training rows; it needs at least one")
    if label.min() < 0 or label.max() >= classes:
        raise DataError(f"labels run {label.min()}..{label.max()}; allowed: 0..{classes - 1}")
    return masked_float32(values, observed)


def _column_means(values: np.ndarray) -> np.ndarray:
    observed = ~np.isnan(values)
    count = observed.sum(axis=0)
    if (count == 0).any():
        column = int(np.flatnonzero(count == 0)[0])
        raise DataError(f"column {column} is observed in no training row, so it has no mean")
    total = np.where(observed, values, 0).sum(axis=0, dtype=np.float64)
    return (total / count).astype(np.float32)


def _sklearn_tree(
    tree: Any, mean: np.ndarray, present: np.ndarray, classes: int
) -> dict[str, np.ndarray]:
    """Nodes of one scikit-learn tree; `present` are the classes that it knows."""
    leaf = tree.children_left < 0
    inner = np.flatnonzero(~leaf)
    assert (tree.children_left[inner] == inner + 1).all(), "scikit-learn's trees are depth first"
    threshold = np.where(leaf, 0, largest_float32(tree.threshold))
    share = np.zeros((int(leaf.sum()), classes))
    share[:, present] = tree.value[leaf, 0] / tree.value[leaf, 0].sum(axis=1, keepdims=True)
    feature = np.where(leaf, -1, tree.feature)
    return {
        "feature": feature.astype(np.int16),
        "threshold": threshold.astype(np.float32),
        "right": np.where(leaf, np.cumsum(leaf) - 1, tree.children_right).astype(np.int32),
        "missing_left": ~leaf & (mean[feature] <= threshold),
        "leaf_value": share,
    }


def lightgbm_trees(
    text: str,
    *,
    columns: int,
    classes: int,
    scored: int | None = None,
    most: int | None = None,
    used: Int[np.ndarray, " d"] | None = None,
) -> TreeEnsemble:
    """Trees of a LightGBM booster, read from its text, left before right.

    Args:
        text: of the model, with 17 digits a number.
        columns: of the ensemble.
        classes: of the ensemble.
        scored: class that all trees score; None: class c by the trees c, c + k, c + 2k, …
        most: number of trees to keep; None: all.
        used: column of the ensemble of each column of the booster; None: the same.
    """
    kept = "".join(text.split("\nTree=")[1:][:most])

    def of(name: str, kind: type) -> Shaped[np.ndarray, " values"]:
        return np.fromstring(" ".join(re.findall(f"\n{name}=(.*)", kept)), kind, sep=" ")

    leaves = of("num_leaves", int)
    inner = leaves - 1
    first, first_leaf = np.cumsum(inner) - inner, inner.sum() + np.cumsum(leaves) - leaves
    tree = np.repeat(np.arange(len(leaves)), inner)
    left, right = (
        np.where(child < 0, first_leaf[tree] + ~child, first[tree] + child)
        for child in (of("left_child", int), of("right_child", int))
    )
    levels = [first[inner > k] + k for k in range(inner.max(initial=0))]  # parents come first
    size, place = (np.ones(leaves.sum() + len(left), dtype=np.int64) for _ in range(2))
    for node in reversed(levels):
        size[node] += size[left[node]] + size[right[node]]
    root = np.cumsum(leaves + inner) - leaves - inner
    place[np.where(inner > 0, first, first_leaf)] = root
    for node in levels:
        place[left[node]] = place[node] + 1
        place[right[node]] = place[node] + 1 + size[left[node]]
    at, order = place[: len(left)], np.argsort(place[len(left) :])
    split, how = of("split_feature", int), of("decision_type", int)
    threshold = of("threshold", float).clip(-MOST_THRESHOLD, MOST_THRESHOLD)
    value, number = np.zeros((len(order), classes)), np.repeat(np.arange(len(leaves)), leaves)
    column = number % classes if scored is None else np.full(len(number), scored)
    value[np.arange(len(order)), column[order]] = of("leaf_value", float)[order]
    ensemble = TreeEnsemble(
        root.astype(np.int32),
        np.full(len(size), -1, dtype=np.int16),
        np.zeros(len(size), dtype=np.float32),
        np.zeros(len(size), dtype=np.int32),
        np.zeros(len(size), dtype=bool),
        value,
        "softmax",
        columns,
    )
    ensemble.feature[at] = split if used is None else used[split]
    ensemble.threshold[at] = largest_float32(threshold)
    ensemble.right[at] = place[right]
    ensemble.right[ensemble.feature < 0] = np.arange(len(order))
    learned = how >> 2 == LEARNS_MISSING
    ensemble.missing_left[at] = np.where(learned, how & GOES_LEFT > 0, threshold >= 0.0)
    return ensemble


def constant_tree(score: Float[np.ndarray, " k"], columns: int) -> TreeEnsemble:
    """One leaf, with the same scores for every row."""
    leaf = {"root": "int32", "feature": "int16", "threshold": "float32", "right": "int32"}
    arrays = {name: np.zeros(1, dtype=kind) for name, kind in leaf.items()}
    arrays["feature"][0] = -1
    missing = np.zeros(1, dtype=bool)
    return TreeEnsemble(
        **arrays, missing_left=missing, leaf_value=score[None], link="softmax", columns=columns
    )


def join_trees(
    parts: Sequence[Mapping[str, np.ndarray]], *, link: Literal["mean", "softmax"], columns: int
) -> TreeEnsemble:
    """One ensemble of single trees: children and leaf rows shifted to their common arrays."""
    node_count = np.array([len(part["feature"]) for part in parts])
    leaf_count = np.array([len(part["leaf_value"]) for part in parts])
    root = np.cumsum(node_count) - node_count
    leaf_root = np.cumsum(leaf_count) - leaf_count
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    leaf = joined["feature"] < 0
    shift = np.where(leaf, np.repeat(leaf_root, node_count), np.repeat(root, node_count))
    joined["right"] = (joined["right"] + shift).astype(np.int32)
    return TreeEnsemble(root=root.astype(np.int32), **joined, link=link, columns=columns)


def classifier_of(data: Table, settings: Mapping[str, Any], streams: Streams) -> TreeEnsemble:
    """Trees that predict the class of some rows from any of their panels."""
    values, observed, label = training_set(
        data, probability=settings["subsample_probability"], rng=streams.generator("subsample")
    )
    common = {
        "classes": len(data.classes),
        "trees": settings["trees"],
        "min_leaf": settings["min_leaf"],
        "rng": streams.generator("classifier"),
    }
    if settings["kind"] == "forest":
        return fit_forest(values, observed, label, **common)
    return fit_boosting(
        values,
        observed,
        label,
        leaves=settings["leaves"],
        learning_rate=settings["learning_rate"],
        **common,
    )
