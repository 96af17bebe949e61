"""Formulas over arrays as an ONNX graph, and the parts that graphs of policies share.

The code reads like NumPy, and the graph runs anywhere. The graph of a kind of policy lies in the
file of the kind, which names it as `graph`. Knows no kind. The package `onnx` is imported where a
graph is written out, and nowhere else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np

from frugal.core.layout import Layout
from frugal.learn.trees import TreeEnsemble

OPSET, TREES_OPSET, IR = 18, 3, 9  # versions of the standard; old enough for old runtimes
_NUMBER = {"f": "float32", "d": "float64", "?": "bool", "l": "int64"}
NO_PANEL = -1e300  # a comparison that nothing loses: ONNX has no infinity in a table of numbers
Operand = Union["GraphNode", np.ndarray, float, int, bool]


@dataclass(frozen=True, eq=False)
class GraphNode:
    """An array that the graph computes.

    Attributes:
        graph: to which it belongs.
        name: unlike any other there.
        kind: of its numbers: f, d, ? or l.
    """

    graph: "Graph"
    name: str
    kind: str

    def _with(self, op: str, other: Operand, kind: str | None = None, **how: Any) -> "GraphNode":
        return self.graph.op(op, [self, self._like(other)], kind or self.kind, **how)

    def _like(self, other: Operand) -> "GraphNode":
        if isinstance(other, GraphNode):
            return other
        return self.graph.constant(np.asarray(other, dtype=_NUMBER[self.kind]))

    def __add__(self, other: Operand) -> "GraphNode":
        return self._with("Add", other)

    def __sub__(self, other: Operand) -> "GraphNode":
        return self._with("Sub", other)

    def __mul__(self, other: Operand) -> "GraphNode":
        return self._with("Mul", other)

    def __truediv__(self, other: Operand) -> "GraphNode":
        return self._with("Div", other)

    def __matmul__(self, other: Operand) -> "GraphNode":
        return self._with("MatMul", other)

    def __gt__(self, other: Operand) -> "GraphNode":
        return self._with("Greater", other, "?")

    def __ge__(self, other: Operand) -> "GraphNode":
        return self._with("GreaterOrEqual", other, "?")

    def __lt__(self, other: Operand) -> "GraphNode":
        return self._with("Less", other, "?")

    def __and__(self, other: Operand) -> "GraphNode":
        return self._with("And", other)

    def __or__(self, other: Operand) -> "GraphNode":
        return self._with("Or", other)

    def __invert__(self) -> "GraphNode":
        return self.graph.op("Not", [self], "?")

    def equals(self, other: Operand) -> "GraphNode":
        """True where both are the same."""
        return self._with("Equal", other, "?")

    def largest(self, other: Operand) -> "GraphNode":
        """The larger of both."""
        return self._with("Max", other)

    def smallest(self, other: Operand) -> "GraphNode":
        """The smaller of both."""
        return self._with("Min", other)

    def clipped(self, low: Operand, high: Operand) -> "GraphNode":
        """Within two bounds."""
        return self.largest(low).smallest(high)

    def of_kind(self, kind: str) -> "GraphNode":
        """The same as numbers of another kind."""
        code = {"f": 1, "d": 11, "?": 9, "l": 7}[kind]  # of TensorProto
        return self if kind == self.kind else self.graph.op("Cast", [self], kind, to=code)

    def known(self) -> "GraphNode":
        """True where it is a number and not NaN."""
        return ~self.graph.op("IsNaN", [self], "?")

    def where(self, yes: "GraphNode", no: Operand) -> "GraphNode":
        """One of two, by this one's truth."""
        return self.graph.op("Where", [self, yes, yes._like(no)], yes.kind)

    def argmax(self) -> "GraphNode":
        """Place of the first of the largest along the last axis, which stays with one entry."""
        return self.graph.op("ArgMax", [self], "l", axis=-1, keepdims=1)

    def max(self) -> "GraphNode":
        """Largest along the last axis, which stays with one entry."""
        return self._over("ReduceMax", [-1])

    def sum(self, axis: int = -1) -> "GraphNode":
        """Along an axis, which stays with one entry."""
        return self._over("ReduceSum", [axis])

    def _over(self, op: str, axes: Sequence[int]) -> "GraphNode":
        return self.graph.op(op, [self, self.graph.constant(np.array(axes))], self.kind, keepdims=1)

    def columns(self, start: int, stop: int) -> "GraphNode":
        """Some of the last axis."""
        ends = [self.graph.constant(np.array([value])) for value in (start, stop, -1)]
        return self.graph.op("Slice", [self, *ends], self.kind)

    def first(self) -> "GraphNode":
        """The only entry of the first axis, without that axis."""
        axes = self.graph.constant(np.array([0]))
        return self.graph.op("Squeeze", [self, axes], self.kind)

    def concat(self, *others: "GraphNode") -> "GraphNode":
        """Joined along the last axis."""
        return self.graph.op("Concat", [self, *others], self.kind, axis=-1)

    def apply(self, op: str, **how: Any) -> "GraphNode":
        """A function of each entry, or along an axis: Exp, Log, Tanh, Sigmoid, Softmax, …"""
        return self.graph.op(op, [self], self.kind, **how)


@dataclass(eq=False)
class Graph:
    """Nodes in the order in which they are computed, and constants."""

    steps: list[tuple[str, list[str], str, str, Mapping[str, Any]]] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    inputs: dict[str, tuple[str, int]] = field(default_factory=dict)

    def given(self, name: str, kind: str, width: int) -> GraphNode:
        """An input: a row for each state."""
        self.inputs[name] = kind, width
        return GraphNode(self, name, kind)

    def constant(self, array: np.ndarray) -> GraphNode:
        """Numbers that never change."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.ascontiguousarray(array)
        return GraphNode(self, name, np.asarray(array).dtype.char.replace("q", "l"))

    def op(
        self, op: str, inputs: Sequence[GraphNode], kind: str, *, domain: str = "", **how: Any
    ) -> GraphNode:
        """One step."""
        name = f"n{len(self.steps)}"
        self.steps.append((op, [node.name for node in inputs], name, domain, how))
        return GraphNode(self, name, kind)

    def leaf_sums(self, ensemble: TreeEnsemble, values: GraphNode) -> GraphNode:
        """Sums of leaves, float32; a value that is NaN goes where the trees send it. (m, k)"""
        return self.op(
            "TreeEnsembleRegressor",
            [values.of_kind("f")],
            "f",
            domain="ai.onnx.ml",
            ensemble=ensemble,
        )

    def trees(self, ensemble: TreeEnsemble, values: GraphNode) -> GraphNode:
        """Class probabilities by trees. (m, k)"""
        sums = self.leaf_sums(ensemble, values)
        if ensemble.link == "softmax":
            return sums.apply("Softmax", axis=-1).of_kind("d")
        return sums.of_kind("d") / float(len(ensemble.root))

    def written(
        self, outputs: Mapping[str, tuple[GraphNode, int]], notes: Mapping[str, str]
    ) -> bytes:
        """The graph as a file.

        Args:
            outputs: name → the value computed, and its width.
            notes: on the model, for its readers.
        """
        import onnx  # only to write a graph
        from onnx import helper, numpy_helper

        code = {"f": 1, "d": 11, "?": 9, "l": 7}
        nodes = [
            helper.make_node(op, inputs, [name], domain=domain, **_attributes(how))
            for op, inputs, name, domain, how in self.steps
        ]
        nodes += [
            helper.make_node("Identity", [node.name], [name]) for name, (node, _) in outputs.items()
        ]
        described = [
            [
                helper.make_tensor_value_info(name, code[kind], ["states", width])
                for name, (kind, width) in shapes
            ]
            for shapes in (
                self.inputs.items(),
                [(name, (node.kind, width)) for name, (node, width) in outputs.items()],
            )
        ]
        graph = helper.make_graph(
            nodes,
            "policy",
            described[0],
            described[1],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        versions = [("", OPSET), ("ai.onnx.ml", TREES_OPSET)]
        model = helper.make_model(
            graph,
            producer_name="frugal",
            ir_version=IR,
            opset_imports=[helper.make_opsetid(domain, number) for domain, number in versions],
        )
        helper.set_model_props(model, dict(notes))
        onnx.checker.check_model(model)
        return model.SerializeToString(deterministic=True)


def _attributes(how: Mapping[str, Any]) -> Mapping[str, Any]:
    """Words of a node, with those of trees in place of the trees themselves."""
    return tree_attributes(how["ensemble"]) if "ensemble" in how else how


def tree_attributes(ensemble: TreeEnsemble) -> dict[str, Any]:
    """The nodes and leaves of trees, as the standard has them; of each class one target."""
    count = len(ensemble.feature)
    end = np.append(ensemble.root[1:], count)
    tree = np.repeat(np.arange(len(ensemble.root)), end - ensemble.root)
    within_tree = np.arange(count) - ensemble.root[tree]
    leaf = ensemble.feature < 0
    at = np.flatnonzero(leaf)
    k = ensemble.leaf_value.shape[1]
    weights = ensemble.leaf_value[ensemble.right[at]]
    return {
        "n_targets": k,
        "aggregate_function": "SUM",
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": within_tree.tolist(),
        "nodes_featureids": np.where(leaf, 0, ensemble.feature).tolist(),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_values": np.where(leaf, 0.0, ensemble.threshold).tolist(),
        "nodes_truenodeids": np.where(leaf, 0, within_tree + 1).tolist(),
        "nodes_falsenodeids": np.where(leaf, 0, ensemble.right - ensemble.root[tree]).tolist(),
        "nodes_missing_value_tracks_true": np.where(leaf, 0, ensemble.missing_left).tolist(),
        "target_treeids": np.repeat(tree[at], k).tolist(),
        "target_nodeids": np.repeat(within_tree[at], k).tolist(),
        "target_ids": np.tile(np.arange(k), len(at)).tolist(),
        "target_weights": weights.ravel().astype(float).tolist(),
    }


@dataclass(frozen=True, eq=False)
class State:
    """Inputs of the graph of a policy. Shapes: m states, d columns, a panels.

    Attributes:
        graph: to which they belong.
        layout: of the table that the policy was made for.
        values: NaN where the state shows none, float64. (m, d)
        acquired: panels, truth. (m, a)
        open: panels that can be had and are not. (m, a)
    """

    graph: Graph
    layout: Layout
    values: GraphNode
    acquired: GraphNode
    open: GraphNode

    @property
    def panels(self) -> int:
        """A."""
        return len(self.layout.actions)

    def one_hot(self, place: GraphNode) -> GraphNode:
        """1 at a place of the panels and "stop", last. (m, 1) → (m, a + 1)"""
        return place.equals(np.arange(self.panels + 1)).of_kind("d")

    def panel_or_stop(self, compared: GraphNode, goes_on: GraphNode) -> GraphNode:
        """1 for the panel of the largest comparison where it goes on, else for "stop"."""
        stop = self.graph.constant(np.array([[self.panels]]))
        return self.one_hot(goes_on.where(compared.argmax(), stop))


@dataclass(frozen=True, eq=False)
class GraphOutputs:
    """Outputs of a policy's graph for states.

    Attributes:
        action_probability: probability of each panel, last "stop", float64. (m, a + 1)
        probability: class probabilities, float64; None: the classifier's. (m, k)
        verdict: largest for the class that is predicted; None: that of a threshold, or of least
            cost. (m, k)
    """

    action_probability: GraphNode
    probability: GraphNode | None
    verdict: GraphNode | None = None


def two(ill: GraphNode) -> GraphNode:
    """Both class probabilities. (m, 1) → (m, 2)"""
    return (ill * -1.0 + 1.0).concat(ill)


def mean(parts: Sequence[GraphNode]) -> GraphNode:
    """Of several arrays, entry by entry."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total / float(len(parts))


def logistic(odds: GraphNode) -> GraphNode:
    """Probabilities of log-odds."""
    return odds.apply("Sigmoid")
