"""Formulas of single numbers and truths, each a step that names earlier steps.

A graph of arrays becomes such steps for one state: what is constant is computed, equal steps are
one, and choices between constants become conditions. A number may be unknown; a comparison with it
is false. Knows no policy.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from frugal.acquire.onnx_graph import Graph
from frugal.core.errors import DataError
from frugal.learn.trees import TreeEnsemble

Step = tuple[Any, ...]
MOST_LEAVES = 12  # constants of a choice up to which a comparison is made for each of them
_TRUTHS = ("truth", "not", "and", "or", "<", "<=", "=", "known", "is")


class Formulas:
    """Steps so far; see docs/reference/rules.md for the meaning of each."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.ensembles: list[TreeEnsemble] = []
        self._places: dict[Step, int] = {}
        self._known: dict[int, int] = {}
        self._leaves: list[int] = []
        self.unknown = self._step("unknown")
        self.false, self.true = self._step("truth", False), self._step("truth", True)

    def _step(self, *step: Any) -> int:
        if step not in self._places:
            self._leaves.append(self._leaves_of(step))
            self._places[step] = len(self.steps)
            self.steps.append(step)
        return self._places[step]

    def number(self, value: float | int) -> int:
        """A constant; NaN is unknown."""
        return self.unknown if math.isnan(value) else self._step("number", float(value) + 0.0)

    def cell(self, column: int) -> int:
        """The number of a column of the cases."""
        return self._step("cell", column)

    def has(self, column: int) -> int:
        """Whether a column of the cases has a value."""
        return self._step("known", column)

    def level(self, column: int, name: str) -> int:
        """Whether a column of the cases has a level."""
        return self._step("is", column, name)

    def _is_truth(self, at: int) -> bool:
        return self.steps[at][0] in _TRUTHS

    def _constant(self, at: int) -> float | None:
        step = self.steps[at]
        return step[1] if step[0] == "number" else math.nan if step[0] == "unknown" else None

    def _leaves_of(self, step: Step) -> int:
        """How many constants a choice is between; beyond `MOST_LEAVES` where it has others."""
        if step[0] in ("number", "unknown"):
            return 1
        return sum(self._leaves[end] for end in step[2:]) if step[0] == "if" else MOST_LEAVES + 1

    def opposite(self, condition: int) -> int:
        """Where a condition does not hold."""
        step = self.steps[condition]
        if step[0] == "truth":
            return self.false if step[1] else self.true
        return step[1] if step[0] == "not" else self._step("not", condition)

    def all_of(self, *conditions: int) -> int:
        """Where all hold."""
        return self._joined("and", "or", self.true, self.false, conditions)

    def any_of(self, *conditions: int) -> int:
        """Where one holds."""
        return self._joined("or", "and", self.false, self.true, conditions)

    def _joined(
        self, op: str, other: str, neutral: int, decides: int, conditions: Sequence[int]
    ) -> int:
        """Conditions joined; what the rest decides already is left out."""
        parts: list[int] = []
        for at in conditions:
            within = self.steps[at]
            parts += [p for p in (within[1:] if within[0] == op else (at,)) if p not in parts]
        parts = [at for at in parts if at != neutral]
        if op == "and":  # who has a level, or compares, has a value
            sure = {("known", column) for at in parts for column in self._needs(at)}
            parts = [at for at in parts if self.steps[at] not in sure]
        opposites = {self.opposite(at) for at in parts}
        if decides in parts or opposites & {*parts}:
            return decides
        kept = []
        for at in parts:
            inner = self.steps[at][1:] if self.steps[at][0] == other else ()
            if {*inner} & {*parts}:
                continue
            rest = [i for i in inner if i not in opposites]
            kept.append(at if len(rest) == len(inner) else self._joined_again(other, rest))
        if kept != parts:
            return self._joined(op, other, neutral, decides, kept)
        return neutral if not parts else parts[0] if len(parts) == 1 else self._step(op, *parts)

    def _needs(self, condition: int) -> list[int]:
        """Columns without which a level or a comparison does not hold."""
        op, *parts = self.steps[condition]
        if op == "is":
            return parts[:1]
        cells = [self.steps[at] for at in parts] if op in ("<", "<=", "=") else []
        return [cell[1] for cell in cells if cell[0] == "cell"]

    def _joined_again(self, op: str, conditions: Sequence[int]) -> int:
        return (self.all_of if op == "and" else self.any_of)(*conditions)

    def choose(self, condition: int, yes: int, no: int) -> int:
        """One of two, by a condition."""
        if condition in (self.true, self.false) or yes == no:
            return no if condition == self.false else yes
        if self._is_truth(yes):
            return self.any_of(
                self.all_of(condition, yes), self.all_of(self.opposite(condition), no)
            )
        if self.steps[condition][0] == "not":
            return self.choose(self.steps[condition][1], no, yes)
        if self.steps[yes][:2] == ("if", condition):
            return self.choose(condition, self.steps[yes][2], no)
        if self.steps[no][:2] == ("if", condition):
            return self.choose(condition, yes, self.steps[no][3])
        if no == self.unknown and self.known(yes) == condition:
            return yes
        return self._step("if", condition, yes, no)

    def known(self, at: int) -> int:
        """Whether a number is known."""
        if at not in self._known:
            self._known[at] = self._known_of(at)
        return self._known[at]

    def _known_of(self, at: int) -> int:
        op, *parts = self.steps[at]
        if op in ("number", "trees", "unknown"):
            return self.false if op == "unknown" else self.true
        if op == "cell":
            return self.has(parts[0])
        if op == "if":
            return self.choose(parts[0], self.known(parts[1]), self.known(parts[2]))
        return self.all_of(*map(self.known, parts))

    def _each(self, rule: Callable[..., int], *numbers: int) -> int | None:
        """A function of choices between constants as a choice, or None where they are none."""
        if math.prod(self._leaves[at] for at in numbers) > MOST_LEAVES:
            return None
        for place, at in enumerate(numbers):
            if self.steps[at][0] == "if":
                _, condition, *ends = self.steps[at]
                yes, no = (rule(*numbers[:place], end, *numbers[place + 1 :]) for end in ends)
                return self.choose(condition, yes, no)
        return None

    def plus(self, *terms: int) -> int:
        """A sum, from the first to the last; terms of one condition are one."""
        total, others, place = 0.0, list[int](), dict[int, int]()
        first, zero = self.steps[terms[0]], self.number(0)
        for at in (*first[1:], *terms[1:]) if first[0] == "+" else terms:
            value, step = self._constant(at), self.steps[at]
            if value is not None:
                total += value
            elif step[0] == "if" and self._leaves[at] == 2 and zero in step[2:]:
                condition = step[1] if step[3] == zero else self.opposite(step[1])
                where = place.setdefault(condition, len(others))
                others += [zero] if where == len(others) else []
                count = sum(self._ends(at)) + (
                    sum(self._ends(others[where])) if others[where] != zero else 0.0
                )
                others[where] = self.choose(condition, self.number(count), zero)
            else:
                others.append(at)
        if math.isnan(total) or not others:
            return self.number(total)
        others += [self.number(total)] if total else []
        return others[0] if len(others) == 1 else self._step("+", *others)

    def times(self, a: int, b: int) -> int:
        """A product; one with 0 is 0 where the other number is always known."""
        for one, other in ((a, b), (b, a)):
            if self._constant(one) == 0 and self.known(other) == self.true:
                return one
            if self._constant(one) == 1:
                return other
        return self._arithmetic("*", self.times, lambda x, y: x * y, a, b)

    def over(self, a: int, b: int) -> int:
        """A quotient."""
        return self._arithmetic("/", self.over, lambda x, y: x / y, a, b)

    def minus(self, a: int, b: int) -> int:
        """A difference."""
        if self._constant(b) == 0:
            return a
        return self._arithmetic("-", self.minus, lambda x, y: x - y, a, b)

    def exp(self, a: int) -> int:
        """The exponential."""
        return self._arithmetic("exp", self.exp, math.exp, a)

    def single(self, a: int) -> int:
        """The nearest number of single precision."""
        return self._arithmetic("single", self.single, lambda x: float(np.float32(x)), a)

    def _arithmetic(
        self, op: str, rule: Callable[..., int], function: Callable[..., float], *numbers: int
    ) -> int:
        values = [self._constant(at) for at in numbers]
        if op in "*/" and values[1] == 1:
            return numbers[0]
        if all(value is not None for value in values):
            return self.number(function(*values))
        pushed = self._each(rule, *numbers)
        return self._step(op, *numbers) if pushed is None else pushed

    def less(self, a: int, b: int) -> int:
        """Where the first number is below the second."""
        terms = self.steps[b][1:] if self.steps[b][0] == "+" else ()
        pairs = [self._ends(at) if self._leaves[at] == 2 else (0.0, 0.0) for at in terms]
        if pairs and self._constant(a) == 0 and all(min(p) == 0 < max(p) for p in pairs):
            return self.any_of(*(self.less(a, at) for at in terms))  # one of them is there
        return self._compared("<", self.less, lambda x, y: x < y, a, b)

    def at_most(self, a: int, b: int) -> int:
        """Where the first number is not above the second."""
        return self._compared("<=", self.at_most, lambda x, y: x <= y, a, b)

    def same(self, a: int, b: int) -> int:
        """Where two numbers are equal."""
        return self._compared("=", self.same, lambda x, y: x == y, a, b)

    def _compared(
        self, op: str, rule: Callable[..., int], function: Callable[..., bool], a: int, b: int
    ) -> int:
        values = self._constant(a), self._constant(b)
        if None not in values:
            return self.true if function(*values) else self.false
        for at, other in ((a, b), (b, a)):
            step = self.steps[at]
            by_constant = step[0] == "if" and self._constant(other) is not None
            if by_constant and 1 in (self._leaves[end] for end in step[2:]):
                ends = [rule(end, b) if at == a else rule(a, end) for end in step[2:]]
                return self.choose(step[1], *ends)
        pushed = self._each(rule, a, b)
        return self._step(op, a, b) if pushed is None else pushed

    def largest(self, a: int, b: int) -> int:
        """The larger of two; unknown where the first is."""
        return self.choose(self.less(a, b), b, a)

    def smallest(self, a: int, b: int) -> int:
        """The smaller of two; unknown where the first is."""
        return self.choose(self.less(b, a), b, a)

    def argmax(self, numbers: Sequence[int]) -> int:
        """Place of the first of the largest."""
        ranked = self._ranked(numbers)
        if ranked is None:
            place = self.number(len(numbers) - 1)
            for j in reversed(range(len(numbers) - 1)):
                wins = self.all_of(*(self.at_most(at, numbers[j]) for at in numbers[j + 1 :]))
                place = self.choose(wins, self.number(j), place)
            return place
        place = self.number(0)
        for j, condition, _ in reversed(ranked):
            place = self.choose(condition, self.number(j), place)
        return place

    def maximum(self, numbers: Sequence[int]) -> int:
        """The largest."""
        ranked = self._ranked(numbers)
        if ranked is None:
            best = numbers[0]
            for at in numbers[1:]:
                best = self.largest(best, at)
            return best
        best = self.number(self._lowest(numbers))
        for _, condition, value in reversed(ranked):
            best = self.choose(condition, self.number(value), best)
        return best

    def _lowest(self, numbers: Sequence[int]) -> float:
        return min(self._ends(at)[k] for at in numbers for k in (0, 1))

    def _ends(self, at: int) -> tuple[float, float]:
        """Both constants of a choice, or a constant twice."""
        step = self.steps[at]
        yes, no = (self.steps[end] for end in (step[2:] if step[0] == "if" else (at, at)))
        return (
            math.nan if yes[0] == "unknown" else yes[1],
            math.nan if no[0] == "unknown" else no[1],
        )

    def _ranked(self, numbers: Sequence[int]) -> list[tuple[int, int, float]] | None:
        """Place, condition and value, the largest first, of numbers that else are the lowest."""
        if any(self._leaves[at] > 2 or math.isnan(sum(self._ends(at))) for at in numbers):
            return None
        lowest, ranked = self._lowest(numbers), []
        for place, at in enumerate(numbers):
            condition = self.steps[at][1] if self.steps[at][0] == "if" else self.true
            value, other = self._ends(at)
            if lowest not in (value, other) and value != other:
                return None
            if value == lowest != other:
                condition, value = self.opposite(condition), other
            if value != lowest:
                ranked.append((place, condition, value))
        return sorted(ranked, key=lambda entry: (-entry[2], entry[0]))

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
            make = self._truth if array.dtype.kind == "b" else self.number
            flat = np.array([make(entry) for entry in array.ravel().tolist()], dtype=object)
            nodes[name] = flat.reshape(array.shape)
        for op, names, name, _, how in graph.steps:
            if op not in _NODES:
                raise DataError(f"a policy with the operation {op} has no formulas")
            nodes[name] = _NODES[op](self, [nodes[each] for each in names], how)
        return nodes

    def _truth(self, value: bool) -> int:
        return self.true if value else self.false

    def tree_sums(self, ensemble: TreeEnsemble, values: Sequence[int]) -> list[int]:
        """Sum of the leaves of each class that values come to."""
        if (ensemble.feature < 0).all():
            return [self.number(sum(column)) for column in ensemble.leaf_value.T.tolist()]
        read = tuple(s[1] if (s := self.steps[at])[0] == "single" else at for at in values)
        if not any(ensemble is known for known in self.ensembles):
            self.ensembles.append(ensemble)
        number = next(n for n, known in enumerate(self.ensembles) if known is ensemble)
        return [
            self._step("trees", number, k, *read) if ensemble.leaf_value[:, k].any() else zero
            for k, zero in enumerate([self.number(0)] * ensemble.classes)
        ]

    def used(
        self, results: Mapping[str, Sequence[int]]
    ) -> tuple[list[Step], list[TreeEnsemble], dict[str, list[int]]]:
        """The steps and trees that results need, with their places among these."""
        needed = {at for steps in results.values() for at in steps}
        for at in reversed(range(len(self.steps))):
            needed |= {*operands(self.steps[at])} if at in needed else set()
        place = {at: k for k, at in enumerate(sorted(needed))}
        numbers = sorted({self.steps[at][1] for at in needed if self.steps[at][0] == "trees"})
        steps = []
        for at in sorted(needed):
            step, parts = self.steps[at], operands(self.steps[at])
            lead = step[: len(step) - len(parts)]
            lead = (*lead[:1], numbers.index(lead[1]), *lead[2:]) if lead[0] == "trees" else lead
            steps.append((*lead, *(place[part] for part in parts)))
        ensembles = [self.ensembles[number] for number in numbers]
        return steps, ensembles, {name: [place[at] for at in r] for name, r in results.items()}


def operands(step: Sequence[Any]) -> Sequence[int]:
    """The earlier steps that a step names."""
    if step[0] in ("number", "truth", "unknown", "cell", "known", "is"):
        return ()
    return step[3:] if step[0] == "trees" else step[1:]


def _entrywise(rule: Callable[..., int]) -> Callable[..., np.ndarray]:
    """A node that is a function of each entry."""

    def node(formulas: Formulas, parts: Sequence[np.ndarray], how: Mapping[str, Any]) -> np.ndarray:
        each = np.broadcast_arrays(*parts)
        flat = [
            rule(formulas, *entries) for entries in zip(*(e.ravel() for e in each), strict=True)
        ]
        return np.array(flat, dtype=object).reshape(each[0].shape)

    return node


def _along_last(rule: Callable[[Formulas, list[int]], int]) -> Callable[..., np.ndarray]:
    """A node that makes one entry of the last axis."""

    def node(formulas: Formulas, parts: Sequence[np.ndarray], how: Mapping[str, Any]) -> np.ndarray:
        assert all(formulas.steps[axis][1] == -1 for part in parts[1:] for axis in part), (
            "bug: another axis"
        )
        rows = parts[0].reshape(-1, parts[0].shape[-1]).tolist()
        flat = np.array([rule(formulas, row) for row in rows], dtype=object)
        return flat.reshape(*parts[0].shape[:-1], 1)

    return node


def _product(f: Formulas, parts: Sequence[np.ndarray], how: Mapping[str, Any]) -> np.ndarray:
    left, right = parts
    sums = [
        [f.plus(*(f.times(x, k) for x, k in zip(row, column, strict=True))) for column in right.T]
        for row in left
    ]
    return np.array(sums, dtype=object).reshape(len(left), right.shape[1])


def _cast(f: Formulas, parts: Sequence[np.ndarray], how: Mapping[str, Any]) -> np.ndarray:
    def rule(f: Formulas, at: int) -> int:
        if f._is_truth(at):
            return f.choose(at, f.number(1), f.number(0))
        return f.single(at) if how["to"] == 1 else at

    return _entrywise(rule)(f, parts, how)


def _trees(f: Formulas, parts: Sequence[np.ndarray], how: Mapping[str, Any]) -> np.ndarray:
    sums = [f.tree_sums(how["ensemble"], row) for row in parts[0].tolist()]
    return np.array(sums, dtype=object)


def _softmax(f: Formulas, parts: Sequence[np.ndarray], how: Mapping[str, Any]) -> np.ndarray:
    rows = []
    for row in parts[0].tolist():
        most = f.maximum(row)
        each = [f.exp(f.minus(at, most)) for at in row]
        rows.append([f.over(at, f.plus(*each)) for at in each])
    return np.array(rows, dtype=object)


def _slice(f: Formulas, parts: Sequence[np.ndarray], how: Mapping[str, Any]) -> np.ndarray:
    start, stop, _ = (f.steps[part[0]][1] for part in parts[1:])
    return parts[0][..., int(start) : int(stop)]


def _sigmoid(f: Formulas, x: int) -> int:
    one = f.number(1)
    return f.over(one, f.plus(one, f.exp(f.times(x, f.number(-1)))))


_NODES: Mapping[str, Callable[..., np.ndarray]] = {
    "Add": _entrywise(Formulas.plus),
    "Sub": _entrywise(Formulas.minus),
    "Mul": _entrywise(Formulas.times),
    "Div": _entrywise(Formulas.over),
    "Less": _entrywise(Formulas.less),
    "Greater": _entrywise(lambda f, a, b: f.less(b, a)),
    "GreaterOrEqual": _entrywise(lambda f, a, b: f.at_most(b, a)),
    "Equal": _entrywise(Formulas.same),
    "And": _entrywise(Formulas.all_of),
    "Or": _entrywise(Formulas.any_of),
    "Not": _entrywise(Formulas.opposite),
    "IsNaN": _entrywise(lambda f, a: f.opposite(f.known(a))),
    "Where": _entrywise(Formulas.choose),
    "Max": _entrywise(Formulas.largest),
    "Min": _entrywise(Formulas.smallest),
    "Exp": _entrywise(Formulas.exp),
    "Sigmoid": _entrywise(_sigmoid),
    "ArgMax": _along_last(Formulas.argmax),
    "ReduceMax": _along_last(Formulas.maximum),
    "ReduceSum": _along_last(lambda f, row: f.plus(*row)),
    "Cast": _cast,
    "MatMul": _product,
    "Softmax": _softmax,
    "Slice": _slice,
    "Squeeze": lambda f, parts, how: parts[0][0],
    "Concat": lambda f, parts, how: np.concatenate(parts, axis=-1),
    "TreeEnsembleRegressor": _trees,
}
