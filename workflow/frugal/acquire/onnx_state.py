"""What a graph of a policy is made of: states, layers, beliefs. Knows no kind of policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from frugal.acquire.bundles import CaseBundle
from frugal.acquire.onnx_nodes import Graph, Node
from frugal.acquire.reading import SMALLEST_BELIEF
from frugal.core.scaling import Scaling

NO_PANEL = -1e300  # a comparison that nothing loses: ONNX has no infinity in a table of numbers


@dataclass(frozen=True, eq=False)
class State:
    """What a policy is asked about. Shapes: m states, d columns, a panels.

    Attributes:
        graph: in which it is asked.
        bundle: what is asked.
        values: NaN where the state shows none, float64. (m, d)
        acquired: panels, truth. (m, a)
        open: panels that can be had and are not. (m, a)
    """

    graph: Graph
    bundle: CaseBundle
    values: Node
    acquired: Node
    open: Node

    @property
    def panels(self) -> int:
        """A."""
        return len(self.bundle.layout.actions)

    def in_deviations(self, scaling: Scaling) -> Node:
        """Values in standard deviations from the mean. (m, d)"""
        return (self.values - scaling.centre) / scaling.scale

    def observed(self, scaling: Scaling, *, column_bits: bool) -> Node:
        """As `observe_values`, float32. (m, w)"""
        seen = self.in_deviations(scaling)
        known = seen.known()
        parts = [known.where(seen, 0).of_kind("f"), self.acquired.of_kind("f")]
        if column_bits:
            parts.insert(1, known.of_kind("f"))
        return parts[0].beside(*parts[1:])

    def completed(self, scaling: Scaling) -> Node:
        """Rows with means for what is unknown, standardised, float32. (m, d)"""
        filled = self.values.known().where(self.values, self.graph.constant(scaling.centre))
        return ((filled - scaling.centre) / scaling.scale).of_kind("f")

    def adding(self) -> Node:
        """Open panels that show a column which nothing else shows. (m, a)"""
        layout = self.bundle.layout
        adds = (layout.provides & ~layout.free_columns).astype(np.float32)
        hidden = ~((self.acquired.of_kind("f") @ adds) > 0)
        return self.open & ((hidden.of_kind("f") @ np.ascontiguousarray(adds.T)) > 0)

    def at_once(self, these: Node, compared: Node) -> Node:
        """Comparisons that nothing beats in the place of these. (m, a)"""
        return these.where(self.graph.constant(np.full((1, self.panels), -NO_PANEL)), compared)

    def one_hot(self, place: Node) -> Node:
        """1 at a place of the panels and "stop", last. (m, 1) → (m, a + 1)"""
        return place.equals(np.arange(self.panels + 1)).of_kind("d")

    def panel_or_stop(self, compared: Node, goes_on: Node) -> Node:
        """1 for the panel of the largest comparison where it goes on, else for "stop"."""
        stop = self.graph.constant(np.array([[self.panels]]))
        return self.one_hot(goes_on.where(compared.argmax(), stop))


@dataclass(frozen=True, eq=False)
class Answer:
    """What a policy says of states.

    Attributes:
        law: probability of each panel, last "stop", float64. (m, a + 1)
        belief: class probabilities, float64; None: the classifier's. (m, k)
    """

    law: Node
    belief: Node | None


def perceptron(
    top: Node, weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], activation: str
) -> Node:
    """A perceptron, in the precision of what enters it; the last layer is linear."""
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        top = (activated(top, activation) if layer else top) @ weight + bias
    return top


def activated(x: Node, activation: str) -> Node:
    """The function of a layer, of each entry."""
    match activation:
        case "relu":
            return x.rectified()
        case "tanh":
            return x.apply("Tanh")
        case "leaky_relu":
            return (x > 0).where(x, x * 0.01)
        case "elu":
            return (x > 0).where(x, x.clipped(-1e30, 0).apply("Exp") - 1.0)
        case _:  # silu
            return x * ((x * 0.5).apply("Tanh") * 0.5 + 0.5)


def numbered(
    weights: Mapping[str, np.ndarray], prefix: str = ""
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Weights and biases of layers 0, 1, … by their names."""
    rest = [name.removeprefix(prefix) for name in weights if name.startswith(prefix)]
    count = sum(name.split(".")[0].isdigit() for name in rest) // 2
    parts = ([weights[f"{prefix}{i}.{part}"] for i in range(count)] for part in ("weight", "bias"))
    first, second = parts
    return first, second


def tilted(ill: Node, threshold: float) -> Node:
    """As `tilted_belief`. (m, 1) → (m, 2)"""
    ill = ill.clipped(SMALLEST_BELIEF, 1 - SMALLEST_BELIEF)
    odds = ill / (ill * -1.0 + 1.0) * ((1 - threshold) / threshold)
    return (odds * 0.0 + 1.0).beside(odds) / (odds + 1.0)


def two(ill: Node) -> Node:
    """Both class probabilities. (m, 1) → (m, 2)"""
    return (ill * -1.0 + 1.0).beside(ill)


def mean(parts: Sequence[Node]) -> Node:
    """Of several arrays, entry by entry."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total / float(len(parts))


def logistic(odds: Node) -> Node:
    """Probabilities of log-odds."""
    return odds.apply("Sigmoid")


def entropy(odds: Node) -> Node:
    """Of a belief, in nats."""
    p = logistic(odds)
    other = p * -1.0 + 1.0
    low, high = (((odds * sign).apply("Exp") + 1.0).apply("Log") for sign in (-1.0, 1.0))
    return p * low + other * high
