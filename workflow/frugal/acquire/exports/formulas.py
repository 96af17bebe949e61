"""Formulas of single numbers and truths, each a step that names earlier steps.

A graph of arrays becomes such steps for one state: constants are computed, and equal steps
are one. A number may be unknown; a comparison with it is false. Knows no policy.
"""

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from frugal.acquire.onnx_graph import Graph
from frugal.core.errors import DataError
from frugal.learn.trees import TreeEnsemble

Step = tuple[Any, ...]
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "exp": math.exp,
    "single": lambda x: float(np.float32(x)),
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
}
COMPARES = ("<", "<=", "=")
_NEUTRAL = {"+": 0.0, "-": 0.0, "*": 1.0, "/": 1.0}  # second number that changes nothing
_TRUTHS = ("truth", "not", "and", "or", "known", "is", *COMPARES)
_ALONE = ("number", "truth", "unknown", "cell", "known", "is")  # name no step


class Formulas:
    """Steps so far; docs/reference/rules.md has the meaning of each.

    Attributes:
        steps: in their order.
        models: trees that they name.
        has_value: number → the step of whether it is known.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.models: list[TreeEnsemble] = []
        self.has_value: dict[int, int] = {}
        self._places: dict[Step, int] = {}
        self.false, self.true = self.step("truth", False), self.step("truth", True)
        self.unknown = self.step("unknown")

    def step(self, *step: Any) -> int:
        """The place of a step."""
        if step not in self._places:
            self._places[step] = len(self.steps)
            self.steps.append(step)
        return self._places[step]

    def number(self, value: float | int) -> int:
        """A constant; NaN is unknown."""
        return self.unknown if math.isnan(value) else self.step("number", float(value) + 0.0)

    def truth(self, value: Any) -> int:
        """A constant."""
        return self.true if value else self.false

    def _constant(self, at: int) -> float | None:
        step = self.steps[at]
        return step[1] if step[0] == "number" else math.nan if step[0] == "unknown" else None

    def opposite(self, condition: int) -> int:
        """Where a condition does not hold."""
        step = self.steps[condition]
        if step[0] == "truth":
            return self.truth(not step[1])
        return step[1] if step[0] == "not" else self.step("not", condition)

    def joined(self, op: str, *conditions: int) -> int:
        """Where all hold ("and"), or one does ("or")."""
        flat = [(at,) if (s := self.steps[at])[0] != op else s[1:] for at in conditions]
        parts = [*dict.fromkeys(at for part in flat for at in part)]
        neutral, decides = self.truth(op == "and"), self.truth(op == "or")
        parts = [at for at in parts if at != neutral]
        if decides in parts or any(self.opposite(at) in parts for at in parts):
            return decides
        return neutral if not parts else parts[0] if len(parts) == 1 else self.step(op, *parts)

    def choose(self, condition: int, yes: int, no: int) -> int:
        """One of two, by a condition."""
        if condition in (self.true, self.false) or yes == no:
            return no if condition == self.false else yes
        if self.steps[condition][0] == "not":
            return self.choose(self.steps[condition][1], no, yes)
        if self.steps[yes][0] in _TRUTHS:
            other = self.opposite(condition)
            if yes == self.true or no == self.true:
                return self.joined("or", *((condition, no) if yes == self.true else (other, yes)))
            ends = self.joined("and", condition, yes), self.joined("and", other, no)
            return self.joined("or", *ends)
        if no == self.unknown and self.known(yes) == condition:
            return yes
        return self.step("if", condition, yes, no)

    def known(self, at: int) -> int:
        """Whether a number is known."""
        op, *parts = self.steps[at]
        if at not in self.has_value:
            if op in ("number", "unknown", "trees"):
                self.has_value[at] = self.truth(op != "unknown")
            elif op == "cell":
                self.has_value[at] = self.step("known", *parts)
            elif op == "if":
                self.has_value[at] = self.choose(parts[0], *map(self.known, parts[1:]))
            else:
                self.has_value[at] = self.joined("and", *map(self.known, parts))
        return self.has_value[at]

    def apply(self, op: str, *numbers: int) -> int:
        """A function of numbers, or a comparison; of a choice between constants, a choice."""
        values = [self._constant(at) for at in numbers]
        if None not in values:
            result = _FUNCTIONS[op](*values)
            return self.truth(result) if op in COMPARES else self.number(result)
        if op in COMPARES and any(value is not None and math.isinf(value) for value in values):
            result = _FUNCTIONS[op](*(value or 0.0 for value in values))  # any number is finite
            return self.joined("and", self.truth(result), *map(self.known, numbers))
        if op in _NEUTRAL and values[1] == _NEUTRAL[op]:
            return numbers[0]
        if op in ("+", "*") and values[0] == _NEUTRAL[op]:
            return numbers[1]
        if op == "*" and 0.0 in values and all(self.known(at) == self.true for at in numbers):
            return self.number(0)
        for k, at in enumerate(numbers):
            if self.steps[at][0] == "if" and None not in values[:k] + values[k + 1 :]:
                condition, *ends = self.steps[at][1:]
                constant = [self._constant(end) is not None for end in ends]
                if all(constant) or (op in COMPARES and any(constant)):
                    of = [self.apply(op, *numbers[:k], end, *numbers[k + 1 :]) for end in ends]
                    return self.choose(condition, *of)
        return self.step(op, *numbers)

    def largest(self, a: int, b: int) -> int:
        """The larger of two; unknown where the first is."""
        return self.choose(self.apply("<", a, b), b, a)

    def argmax(self, numbers: Sequence[int]) -> int:
        """Place of the first of the largest."""
        place = self.number(len(numbers) - 1)
        for j in reversed(range(len(numbers) - 1)):
            wins = [self.apply("<=", at, numbers[j]) for at in numbers[j + 1 :]]
            place = self.choose(self.joined("and", *wins), self.number(j), place)
        return place

    def tree_sums(self, model: TreeEnsemble, values: Sequence[int]) -> list[int]:
        """Sum of the leaves of each class that values come to."""
        if (model.feature < 0).all():
            return [self.number(sum(column)) for column in model.leaf_value.T.tolist()]
        if not any(model is other for other in self.models):
            self.models.append(model)
        number = next(n for n, other in enumerate(self.models) if other is model)
        read = [s[1] if (s := self.steps[at])[0] == "single" else at for at in values]
        return [
            self.step("trees", number, k, *read) if model.leaf_value[:, k].any() else self.number(0)
            for k in range(model.classes)
        ]

    def of_graph(self, graph: Graph, inputs: Mapping[str, Sequence[int]]) -> dict[str, np.ndarray]:
        """The steps of every node of a graph, for one state.

        Args:
            graph: with an axis of states, of which there is one.
            inputs: steps of each input, along its other axis.

        Raises:
            DataError: it has a node that is none of formulas.
        """
        nodes = {name: np.array([steps], dtype=object) for name, steps in inputs.items()}
        for name, array in graph.constants.items():
            make = self.truth if array.dtype.kind == "b" else self.number
            nodes[name] = _mapped(make, array.astype(object))
        for op, names, name, _, how in graph.steps:
            if op not in _NODES:
                raise DataError(f"a policy with the operation {op} has no formulas")
            nodes[name] = _NODES[op](self, *(nodes[each] for each in names), **how)
        return nodes

    def needed(
        self, results: Mapping[str, Sequence[int]]
    ) -> tuple[list[Step], dict[str, list[int]]]:
        """The steps that results need, and the places of the results among them."""
        places = {at for steps in results.values() for at in steps}
        for at in reversed(range(len(self.steps))):
            places |= {*operands(self.steps[at])} if at in places else set()
        place = {at: k for k, at in enumerate(sorted(places))}
        steps = []
        for step in map(self.steps.__getitem__, place):
            parts = operands(step)
            steps.append((*step[: len(step) - len(parts)], *map(place.__getitem__, parts)))
        return steps, {name: [place[at] for at in steps] for name, steps in results.items()}


def operands(step: Sequence[Any]) -> Sequence[int]:
    """The earlier steps that a step names."""
    return () if step[0] in _ALONE else step[3:] if step[0] == "trees" else step[1:]


def _mapped(rule: Callable[..., int], *arrays: np.ndarray) -> np.ndarray:
    """A function of each entry of arrays, which are broadcast."""
    each = np.broadcast_arrays(*arrays)
    flat = [rule(*entries) for entries in zip(*(part.ravel() for part in each), strict=True)]
    return np.array(flat, dtype=object).reshape(each[0].shape)


def _entries(op: str) -> Callable[..., np.ndarray]:
    return lambda f, *parts: _mapped(functools.partial(f.apply, op), *parts)


def _last_axis(rule: Callable[[Formulas, list[int]], int]) -> Callable[..., np.ndarray]:
    """A node that makes one entry of the last axis."""

    def node(f: Formulas, array: np.ndarray, axes: np.ndarray | None = None, **how: Any) -> Any:
        assert axes is None or f.steps[axes[0]][1] == -1, "bug: formulas of another axis"
        return np.array([[rule(f, row)] for row in array.tolist()], dtype=object)

    return node


def _sum(f: Formulas, terms: Sequence[int]) -> int:
    return functools.reduce(functools.partial(f.apply, "+"), terms)


def _product(f: Formulas, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    def entry(row: np.ndarray, column: np.ndarray) -> int:
        return _sum(f, [f.apply("*", x, k) for x, k in zip(row, column, strict=True)])

    return np.array([[entry(row, column) for column in right.T] for row in left], dtype=object)


def _cast(f: Formulas, array: np.ndarray, to: int) -> np.ndarray:
    def rule(at: int) -> int:
        if f.steps[at][0] in _TRUTHS:
            return f.choose(at, f.number(1), f.number(0))
        return f.apply("single", at) if to == 1 else at

    return _mapped(rule, array)


def _softmax(f: Formulas, array: np.ndarray, axis: int) -> np.ndarray:
    most = functools.reduce(f.largest, array[0])
    each = [f.apply("exp", f.apply("-", at, most)) for at in array[0]]
    return np.array([[f.apply("/", at, _sum(f, each)) for at in each]], dtype=object)


def _sigmoid(f: Formulas, array: np.ndarray) -> np.ndarray:
    def rule(x: int) -> int:
        falling = f.apply("exp", f.apply("*", x, f.number(-1)))
        return f.apply("/", f.number(1), f.apply("+", f.number(1), falling))

    return _mapped(rule, array)


def _slice(f: Formulas, array: np.ndarray, start: Any, stop: Any, axis: Any) -> np.ndarray:
    return array[..., int(f.steps[start[0]][1]) : int(f.steps[stop[0]][1])]


def _trees(f: Formulas, array: np.ndarray, ensemble: TreeEnsemble) -> np.ndarray:
    return np.array([f.tree_sums(ensemble, row) for row in array.tolist()], dtype=object)


_NODES: Mapping[str, Callable[..., np.ndarray]] = {
    "Add": _entries("+"),
    "Sub": _entries("-"),
    "Mul": _entries("*"),
    "Div": _entries("/"),
    "Exp": _entries("exp"),
    "Less": _entries("<"),
    "Equal": _entries("="),
    "Greater": lambda f, a, b: _entries("<")(f, b, a),
    "GreaterOrEqual": lambda f, a, b: _entries("<=")(f, b, a),
    "And": lambda f, a, b: _mapped(functools.partial(f.joined, "and"), a, b),
    "Or": lambda f, a, b: _mapped(functools.partial(f.joined, "or"), a, b),
    "Not": lambda f, a: _mapped(f.opposite, a),
    "IsNaN": lambda f, a: _mapped(lambda at: f.opposite(f.known(at)), a),
    "Where": lambda f, *parts: _mapped(f.choose, *parts),
    "Max": lambda f, a, b: _mapped(f.largest, a, b),
    "Min": lambda f, a, b: _mapped(lambda x, y: f.choose(f.apply("<", y, x), y, x), a, b),
    "Sigmoid": _sigmoid,
    "Softmax": _softmax,
    "ArgMax": _last_axis(Formulas.argmax),
    "ReduceMax": _last_axis(lambda f, row: functools.reduce(f.largest, row)),
    "ReduceSum": _last_axis(_sum),
    "Cast": _cast,
    "MatMul": _product,
    "Slice": _slice,
    "Squeeze": lambda f, array, axes: array[0],
    "Concat": lambda f, *parts, axis: np.concatenate(parts, axis=-1),
    "TreeEnsembleRegressor": _trees,
}
