"""Formulas over arrays as an ONNX graph: what is written reads like NumPy, and runs anywhere.

Knows no policy. The package `onnx` is imported where a graph is written out, and nowhere else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np

from frugal.learn.trees import TreeEnsemble

OPSET, TREES_OPSET, IR = 18, 3, 9  # versions of the standard; old enough for old runtimes
_NUMBER = {"f": "float32", "d": "float64", "?": "bool", "l": "int64"}
Operand = Union["Node", np.ndarray, float, int, bool]


@dataclass(frozen=True, eq=False)
class Node:
    """An array that the graph computes.

    Attributes:
        graph: to which it belongs.
        name: unlike any other there.
        kind: of its numbers: f, d, ? or l.
    """

    graph: "Graph"
    name: str
    kind: str

    def _with(self, op: str, other: Operand, kind: str | None = None, **how: Any) -> "Node":
        return self.graph.op(op, [self, self._like(other)], kind or self.kind, **how)

    def _like(self, other: Operand) -> "Node":
        if isinstance(other, Node):
            return other
        return self.graph.constant(np.asarray(other, dtype=_NUMBER[self.kind]))

    def __add__(self, other: Operand) -> "Node":
        return self._with("Add", other)

    def __sub__(self, other: Operand) -> "Node":
        return self._with("Sub", other)

    def __mul__(self, other: Operand) -> "Node":
        return self._with("Mul", other)

    def __truediv__(self, other: Operand) -> "Node":
        return self._with("Div", other)

    def __matmul__(self, other: Operand) -> "Node":
        return self._with("MatMul", other)

    def __gt__(self, other: Operand) -> "Node":
        return self._with("Greater", other, "?")

    def __ge__(self, other: Operand) -> "Node":
        return self._with("GreaterOrEqual", other, "?")

    def __lt__(self, other: Operand) -> "Node":
        return self._with("Less", other, "?")

    def __and__(self, other: Operand) -> "Node":
        return self._with("And", other)

    def __or__(self, other: Operand) -> "Node":
        return self._with("Or", other)

    def __invert__(self) -> "Node":
        return self.graph.op("Not", [self], "?")

    def equals(self, other: Operand) -> "Node":
        """True where both are the same."""
        return self._with("Equal", other, "?")

    def largest(self, other: Operand) -> "Node":
        """The larger of both."""
        return self._with("Max", other)

    def smallest(self, other: Operand) -> "Node":
        """The smaller of both."""
        return self._with("Min", other)

    def clipped(self, low: Operand, high: Operand) -> "Node":
        """Within two bounds."""
        return self.largest(low).smallest(high)

    def of_kind(self, kind: str) -> "Node":
        """The same as numbers of another kind."""
        code = {"f": 1, "d": 11, "?": 9, "l": 7}[kind]  # of TensorProto
        return self if kind == self.kind else self.graph.op("Cast", [self], kind, to=code)

    def known(self) -> "Node":
        """True where it is a number and not NaN."""
        return ~self.graph.op("IsNaN", [self], "?")

    def where(self, yes: "Node", no: Operand) -> "Node":
        """One of two, by this one's truth."""
        return self.graph.op("Where", [self, yes, yes._like(no)], yes.kind)

    def argmax(self) -> "Node":
        """Place of the first of the largest along the last axis, which stays with one entry."""
        return self.graph.op("ArgMax", [self], "l", axis=-1, keepdims=1)

    def max(self) -> "Node":
        """Largest along the last axis, which stays with one entry."""
        return self._over("ReduceMax", [-1])

    def sum(self, axis: int = -1) -> "Node":
        """Along an axis, which stays with one entry."""
        return self._over("ReduceSum", [axis])

    def mean(self, axis: int = -1) -> "Node":
        """Along an axis, which stays with one entry."""
        return self._over("ReduceMean", [axis])

    def _over(self, op: str, axes: Sequence[int]) -> "Node":
        return self.graph.op(op, [self, self.graph.constant(np.array(axes))], self.kind, keepdims=1)

    def columns(self, start: int, stop: int) -> "Node":
        """Some of the last axis."""
        ends = [self.graph.constant(np.array([value])) for value in (start, stop, -1)]
        return self.graph.op("Slice", [self, *ends], self.kind)

    def first(self) -> "Node":
        """The only entry of the first axis, without that axis."""
        axes = self.graph.constant(np.array([0]))
        return self.graph.op("Squeeze", [self, axes], self.kind)

    def with_last_axis(self) -> "Node":
        """The same with one more axis, of one entry."""
        axes = self.graph.constant(np.array([-1]))
        return self.graph.op("Unsqueeze", [self, axes], self.kind)

    def beside(self, *others: "Node") -> "Node":
        """Joined along the last axis."""
        return self.graph.op("Concat", [self, *others], self.kind, axis=-1)

    def apply(self, op: str, **how: Any) -> "Node":
        """A function of each entry, or along an axis: Exp, Log, Tanh, Sigmoid, Softmax, …"""
        return self.graph.op(op, [self], self.kind, **how)

    def rectified(self) -> "Node":
        """The positive part."""
        return self.largest(0)


@dataclass(eq=False)
class Graph:
    """Nodes in the order in which they are computed, and constants."""

    steps: list[tuple[str, list[str], str, str, Mapping[str, Any]]] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    inputs: dict[str, tuple[str, int]] = field(default_factory=dict)

    def given(self, name: str, kind: str, width: int) -> Node:
        """An input: a row for each state."""
        self.inputs[name] = kind, width
        return Node(self, name, kind)

    def constant(self, array: np.ndarray) -> Node:
        """Numbers that never change."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.ascontiguousarray(array)
        return Node(self, name, np.asarray(array).dtype.char.replace("q", "l"))

    def op(
        self, op: str, inputs: Sequence[Node], kind: str, *, domain: str = "", **how: Any
    ) -> Node:
        """One step."""
        name = f"n{len(self.steps)}"
        self.steps.append((op, [node.name for node in inputs], name, domain, how))
        return Node(self, name, kind)

    def leaf_sums(self, ensemble: TreeEnsemble, values: Node) -> Node:
        """Sums of leaves, float32; a value that is NaN goes where the trees send it. (m, k)"""
        return self.op(
            "TreeEnsembleRegressor", [values.of_kind("f")], "f", domain="ai.onnx.ml",
            **tree_attributes(ensemble),
        )  # fmt: skip

    def trees(self, ensemble: TreeEnsemble, values: Node) -> Node:
        """Class probabilities by trees. (m, k)"""
        told = self.leaf_sums(ensemble, values)
        if ensemble.link == "softmax":
            return told.apply("Softmax", axis=-1).of_kind("d")
        return told.of_kind("d") / float(len(ensemble.root))

    def written(self, outputs: Mapping[str, tuple[Node, int]], said: Mapping[str, str]) -> bytes:
        """The graph as a file.

        Args:
            outputs: name → what is computed, and its width.
            said: of the model, for whoever reads it.
        """
        import onnx  # only to write a graph
        from onnx import helper, numpy_helper

        code = {"f": 1, "d": 11, "?": 9, "l": 7}
        nodes = [
            helper.make_node(op, inputs, [name], domain=domain, **how)
            for op, inputs, name, domain, how in self.steps
        ]
        nodes += [
            helper.make_node("Identity", [node.name], [name]) for name, (node, _) in outputs.items()
        ]
        described = [
            [helper.make_tensor_value_info(name, code[kind], ["states", width])
             for name, (kind, width) in shapes]
            for shapes in (
                self.inputs.items(),
                [(name, (node.kind, width)) for name, (node, width) in outputs.items()],
            )
        ]  # fmt: skip
        graph = helper.make_graph(
            nodes, "policy", described[0], described[1],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )  # fmt: skip
        versions = [("", OPSET), ("ai.onnx.ml", TREES_OPSET)]
        model = helper.make_model(
            graph, producer_name="frugal", ir_version=IR,
            opset_imports=[helper.make_opsetid(domain, number) for domain, number in versions],
        )  # fmt: skip
        helper.set_model_props(model, dict(said))
        onnx.checker.check_model(model)
        return model.SerializeToString(deterministic=True)


def tree_attributes(ensemble: TreeEnsemble) -> dict[str, Any]:
    """The nodes and leaves of trees, as the standard has them; of each class one target."""
    count = len(ensemble.feature)
    end = np.append(ensemble.root[1:], count)
    tree = np.repeat(np.arange(len(ensemble.root)), end - ensemble.root)
    own = np.arange(count) - ensemble.root[tree]
    leaf = ensemble.feature < 0
    at = np.flatnonzero(leaf)
    k = ensemble.leaf_value.shape[1]
    weights = ensemble.leaf_value[ensemble.right[at]]
    return {
        "n_targets": k,
        "aggregate_function": "SUM",
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": own.tolist(),
        "nodes_featureids": np.where(leaf, 0, ensemble.feature).tolist(),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_values": np.where(leaf, 0.0, ensemble.threshold).tolist(),
        "nodes_truenodeids": np.where(leaf, 0, own + 1).tolist(),
        "nodes_falsenodeids": np.where(leaf, 0, ensemble.right - ensemble.root[tree]).tolist(),
        "nodes_missing_value_tracks_true": np.where(leaf, 0, ensemble.missing_left).tolist(),
        "target_treeids": np.repeat(tree[at], k).tolist(),
        "target_nodeids": np.repeat(own[at], k).tolist(),
        "target_ids": np.tile(np.arange(k), len(at)).tolist(),
        "target_weights": weights.ravel().astype(float).tolist(),
    }
