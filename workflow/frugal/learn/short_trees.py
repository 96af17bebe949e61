"""A description of a decision rule in a few branches: a small tree fitted to its decisions.

Knows columns, names and choices; no panels, no policies.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

LEAVES = 7  # so that a tree has twelve lines
GROWN = 100  # leaves before the tree is cut back to them
LEAST_SHARE = 0.01  # of the decisions, in a leaf
LEAST_GAIN = 0.005  # of the decisions, that two more lines must set right
INDENT = "  "


@dataclass(frozen=True)
class FeatureWords:
    """A feature that a tree may split on.

    Attributes:
        name: of a number; of a yes/no feature, the words where it is true.
        otherwise: the words where it is false; None for a number.
        scale: times which a number is shown.
        unit: behind a number.
    """

    name: str
    otherwise: str | None = None
    scale: float = 1.0
    unit: str = ""

    def sides(self, cut: float, unknown: tuple[bool, bool]) -> tuple[str, str]:
        """Words of both sides of a cut.

        Args:
            cut: the number from which on a decision belongs to the second side; infinite where
                the sides are those that know it and those that do not.
            unknown: whether decisions that do not know it belong to each side.
        """
        if np.isinf(cut):
            return f"{self.name} known", f"{self.name} unknown"
        if self.otherwise is None:
            number = f"{cut * self.scale:.3g}{self.unit}"
            words = (f"{self.name} below {number}", f"{self.name} {number} or more")
        else:
            words = (self.otherwise, self.name)
        first, second = (w + " or unknown" * u for w, u in zip(words, unknown, strict=True))
        return first, second


@dataclass(frozen=True, eq=False)
class ShortTree:
    """A fitted tree.

    Attributes:
        lines: each branch in words, with its most frequent decision and its share of all.
        right: share of the decisions that agree with their branch.
    """

    lines: list[str]
    right: float


def fit_short_tree(
    features: Float[np.ndarray, "n d"],
    choice: Int[np.ndarray, " n"],
    columns: Sequence[FeatureWords],
    choices: Sequence[str],
) -> ShortTree:
    """Fit a tree, prune it to the `LEAVES` most accurate leaves, and describe it.

    Args:
        features: NaN where unknown. (n, d)
        choice: decisions. (n,)
        columns: words for the features. (d)
        choices: words for the decisions.
    """
    if not features.shape[1] or (choice == choice[0]).all():
        most = int(np.bincount(choice).argmax())
        return ShortTree([f"always {choices[most]}"], float((choice == most).mean()))
    from sklearn.tree import DecisionTreeClassifier  # slow to import

    least = max(1, round(LEAST_SHARE * len(choice)))
    tree = DecisionTreeClassifier(max_leaf_nodes=GROWN, min_samples_leaf=least, random_state=0)
    tree.fit(features.astype(np.float32), choice)
    nodes: Any = tree.tree_
    counts = nodes.value[:, 0] * nodes.n_node_samples[:, None]
    tried = enumerate(_prunings(nodes, counts.max(axis=1), 0))
    leaf_gain = LEAST_GAIN * len(choice)
    _, (correct, inner) = max(tried, key=lambda pruning: pruning[1][0] - leaf_gain * pruning[0])
    decisions = [choices[int(tree.classes_[k])] for k in counts.argmax(axis=1)]
    has_missing = np.isnan(features).sum(axis=0) > 0
    lines = list(_branches(nodes, 0, 0, columns, has_missing, decisions, inner)) or [
        f"always {decisions[0]}"
    ]
    return ShortTree(lines, float(correct / len(choice)))


def _prunings(
    nodes: Any, right: Float[np.ndarray, " m"], at: int
) -> list[tuple[float, frozenset[int]]]:
    """Of the trees from a node on with 1, 2, … leaves the one that is right most often.

    Each with how often that is, and the inner nodes that it keeps.
    """
    best: list[tuple[float, frozenset[int]]] = [(float(right[at]), frozenset())]
    left, other = int(nodes.children_left[at]), int(nodes.children_right[at])
    if left < 0:
        return best
    below = _prunings(nodes, right, left), _prunings(nodes, right, other)
    for leaves in range(2, LEAVES + 1):
        pairs = [
            (first[0] + second[0], first[1] | second[1] | {at})
            for k, first in enumerate(below[0], 1)
            for second in below[1][leaves - k - 1 : leaves - k]
            if k < leaves
        ]
        best.append(max([best[-1], *pairs], key=lambda first: first[0]))
    return best


def _branches(
    nodes: Any,
    at: int,
    depth: int,
    columns: Sequence[FeatureWords],
    has_missing: np.ndarray,
    decisions: Sequence[str],
    inner: frozenset[int],
) -> Iterator[str]:
    """Two lines for each inner node from `at` on that is kept, each with the lines below it."""
    if at not in inner:
        return
    below = int(nodes.children_left[at]), int(nodes.children_right[at])
    feature, total = int(nodes.feature[at]), nodes.n_node_samples[0]
    left = bool(nodes.missing_go_to_left[at]) and bool(has_missing[feature])
    unknown = (left, bool(has_missing[feature]) and not left)
    words = columns[feature].sides(float(nodes.threshold[at]), unknown)
    for node, side in zip(below, words, strict=True):
        if node not in inner:
            share = 100 * nodes.n_node_samples[node] / total
            yield f"{INDENT * depth}{side}: {decisions[node]} ({share:.0f} %)"
        else:
            yield f"{INDENT * depth}{side}:"
            yield from _branches(nodes, node, depth + 1, columns, has_missing, decisions, inner)
