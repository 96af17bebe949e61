"""Agents written down by a person: steps in order, each acquires a panel if its conditions hold.

For judging one's own policy by the estimators of `afape`. They read values of free columns and of
panels that they acquired, and must not know costs, labels or missingness.
"""

import functools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.acquire.kinds import AgentKind, Saved
from frugal.acquire.onnx_graph import GraphNode, GraphOutputs, State
from frugal.acquire.reading import SingleWithoutVerdict
from frugal.core.episodes import Law, Panels, RowPanels, RowValues, Traits, Values
from frugal.core.errors import ConfigError
from frugal.core.layout import Layout


@dataclass(frozen=True)
class RangeCondition:
    """A number lies above one bound and below another; false where it is unknown or a code.

    Attributes:
        column: encoded column of the number.
        codes: encoded 0/1 columns of its special codes, which are no quantities.
        above: lower bound, itself outside; −∞ for none.
        below: upper bound, itself outside; ∞ for none.
    """

    column: int
    codes: tuple[int, ...]
    above: float
    below: float

    @property
    def reads(self) -> tuple[int, ...]:
        """The encoded columns that it looks at."""
        return (self.column, *self.codes)

    def holds(self, values: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, " n"]:
        """True where the condition holds. (n,)"""
        number = values[:, self.column]
        coded = (values[:, list(self.codes)] == 1).any(axis=1)
        return (number > self.above) & (number < self.below) & ~coded

    def node(self, values: GraphNode) -> GraphNode:
        """`holds` in a graph. (m, 1)"""
        number = values.columns(self.column, self.column + 1)
        ends = [number > self.above] if np.isfinite(self.above) else [number.known()]
        ends += [number < self.below] if np.isfinite(self.below) else []
        ends += [~values.columns(j, j + 1).equals(1.0) for j in self.codes]
        return functools.reduce(operator.and_, ends)

    def words(self, row: Float[np.ndarray, " d"], columns: Sequence[str]) -> str:
        """The condition, and the number of a row for which it holds."""
        ends = {"above": self.above, "below": self.below}
        bounds = " and ".join(f"{word} {end:g}" for word, end in ends.items() if np.isfinite(end))
        return f"{columns[self.column]} {row[self.column]:g} is {bounds}"


@dataclass(frozen=True)
class LevelCondition:
    """A categorical column has one of some levels; false where it is unknown.

    Attributes:
        columns: encoded 0/1 columns of these levels, at least one.
    """

    columns: tuple[int, ...]

    @property
    def column(self) -> int:
        """Any of its encoded columns: a panel reveals all levels or none."""
        return self.columns[0]

    @property
    def reads(self) -> tuple[int, ...]:
        """The encoded columns that it looks at."""
        return self.columns

    def holds(self, values: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, " n"]:
        """True where the condition holds. (n,)"""
        return (values[:, list(self.columns)] == 1).any(axis=1)

    def node(self, values: GraphNode) -> GraphNode:
        """`holds` in a graph. (m, 1)"""
        levels = [values.columns(j, j + 1).equals(1.0) for j in self.columns]
        return functools.reduce(operator.or_, levels)

    def words(self, row: Float[np.ndarray, " d"], columns: Sequence[str]) -> str:
        """The level of a row for which the condition holds."""
        return next(columns[j] for j in self.columns if row[j] == 1).replace("=", " is ", 1)


@dataclass(frozen=True)
class Step:
    """Acquire a panel, if all conditions hold."""

    panel: int
    conditions: tuple[RangeCondition | LevelCondition, ...]


@dataclass(frozen=True, eq=False)
class RulePolicy(SingleWithoutVerdict):
    """Goes through its steps once, in order, acquires at each that applies, then stops.

    A step applies where its panel is available and not acquired by an earlier step, and where all
    its conditions hold on the free columns and on those of panels that earlier steps acquired; a
    condition on any other column is false, and so is one on a value that is missing. A condition
    that comes next follows from the panels acquired so far, as the pass is gone through again at
    every decision.

    Attributes:
        steps: in order.
        free_columns: known before the first step. (d,)
        provides: columns that a panel reveals. (a, d)
    """

    steps: tuple[Step, ...]
    free_columns: Bool[np.ndarray, " d"]
    provides: Bool[np.ndarray, "a d"]

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(
            reads_values=any(step.conditions for step in self.steps),
            reads_columns=self.reads_columns,
            consistent=True,
            why=self.why,
        )

    @property
    def reads_columns(self) -> Bool[np.ndarray, " d"]:
        """True for each encoded column that a condition looks at. (d,)"""
        result = np.zeros(len(self.free_columns), dtype=bool)
        for step in self.steps:
            for condition in step.conditions:
                result[list(condition.reads)] = True
        return result

    def action_probabilities(self, values: Values, acquired: Panels, available: Panels) -> Law:
        """1 for the panel of the first step that applies and is still to do, else for "stop"."""
        (visible,), (acquired_panels,), (possible,) = values, acquired, available
        panel = np.array([*(step.panel for step in self.steps), acquired_panels.shape[1]])
        return np.eye(acquired_panels.shape[1] + 1)[
            None, panel[self._steps(visible, acquired_panels, possible)]
        ]

    def why(
        self,
        member: int,
        values: RowValues,
        probability: Float[np.ndarray, "m k"] | None,
        acquired: RowPanels,
        available: RowPanels,
        action_probability: Float[np.ndarray, "m a+1"],
        layout: Layout,
    ) -> list[str]:
        """The step that each state came to, and its conditions."""
        numbers = self._steps(values, acquired, available)
        return [
            "no further step applies"
            if number < 0
            else ": ".join(
                [
                    f"step {number + 1}",
                    *(
                        condition.words(row, layout.columns)
                        for condition in self.steps[number].conditions
                    ),
                ]
            )
            for number, row in zip(numbers.tolist(), values, strict=True)
        ]

    def _steps(
        self, visible: RowValues, acquired_panels: RowPanels, possible: RowPanels
    ) -> Int[np.ndarray, " m"]:
        """Number of the first step that applies and is still to do, −1 for "stop". (m,)"""
        n, a = acquired_panels.shape
        result = np.full(n, -1)
        undecided = np.ones(n, dtype=bool)
        passed = np.zeros((n, a), dtype=bool)  # what the steps so far have acquired
        for number, step in enumerate(self.steps):
            applies = undecided & possible[:, step.panel] & ~passed[:, step.panel]
            for condition in step.conditions:
                observed = self.free_columns[condition.column] | (
                    passed[:, self.provides[:, condition.column]].any(axis=1)
                )
                applies &= observed & condition.holds(visible)
            passed[applies, step.panel] = True
            chosen = applies & ~acquired_panels[:, step.panel]
            result[chosen] = number
            undecided &= ~chosen
        return result


def rule_policy(steps: Sequence[Mapping[str, Any]], table: Layout) -> RulePolicy:
    """The policy that a config writes as `[{panel: lactate}, {panel: crp, when: {…}}]`.

    Args:
        steps: each with `panel` and, if it has conditions, `when`: one or a list of them, each with
            `column` and either `above` and/or `below` (in the table's unit) or `is` (levels).
        table: whose panels and columns are meant; its values are not read.

    Raises:
        ConfigError: there is no such panel, column or level, or levels have a range.
    """
    names = [panel.name for panel in table.actions]
    built = []
    for step in steps:
        if step["panel"] not in names:
            raise ConfigError(
                f"a rule names panel {step['panel']!r}; panels to acquire are {', '.join(names)}"
            )
        when = step.get("when", ())
        conditions = [when] if isinstance(when, Mapping) else when
        built.append(
            Step(
                names.index(step["panel"]),
                tuple(_condition(condition, table) for condition in conditions),
            )
        )
    return RulePolicy(tuple(built), table.free_columns, table.provides)


def _condition(written: Mapping[str, Any], table: Layout) -> RangeCondition | LevelCondition:
    """One condition, with the name of its column before encoding turned into encoded columns."""
    name = written["column"]
    prefix = f"{name}="  # of its levels, or of its special codes
    levels = {j for group in table.onehot for j in group}
    coded = {
        column.removeprefix(prefix): j
        for j, column in enumerate(table.columns)
        if column.startswith(prefix) and (j in levels or name in table.columns)
    }
    if "is" in written:
        for level in written["is"]:
            if level not in coded:
                raise ConfigError(
                    f"a rule tests whether {name!r} is {level!r}; the table's levels of it are "
                    f"{', '.join(coded) or 'none'}"
                )
        return LevelCondition(tuple(coded[level] for level in written["is"]))
    if name not in table.columns:
        raise ConfigError(
            f"a rule tests whether {name!r} is above or below a number; numeric columns are "
            f"{', '.join(_numeric(table)) or 'none'}"
        )
    return RangeCondition(
        table.columns.index(name),
        tuple(coded.values()),
        float(written.get("above", -np.inf)),
        float(written.get("below", np.inf)),
    )


def _numeric(table: Layout) -> list[str]:
    """Names of the columns that hold a number: no level, and no code of another column."""
    levels = {j for group in table.onehot for j in group}
    numbers = [c for j, c in enumerate(table.columns) if j not in levels]
    return [c for c in numbers if c.rpartition("=")[0] not in numbers]


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> RulePolicy:
    """The steps of the settings."""
    return rule_policy(settings["steps"], layout)


def _graph(state: State, policy: Any, member: int) -> GraphOutputs:
    """The steps in order, as `RulePolicy._steps`."""
    none = state.acquired.columns(0, 1) & False
    undecided, possible = ~none, state.acquired | state.open
    passed, ordered = [none] * state.panels, [none] * state.panels
    for step in policy.steps:
        j = step.panel
        applies = undecided & possible.columns(j, j + 1) & ~passed[j]
        for condition in step.conditions:
            if not policy.free_columns[condition.column]:
                shown = np.flatnonzero(policy.provides[:, condition.column]).tolist()
                applies = applies & functools.reduce(operator.or_, [passed[i] for i in shown])
            applies = applies & condition.node(state.values)
        chosen = applies & ~state.acquired.columns(j, j + 1)
        passed[j], ordered[j] = passed[j] | applies, ordered[j] | chosen
        undecided = undecided & ~chosen
    return GraphOutputs(ordered[0].concat(*ordered[1:], undecided).of_kind("d"), None)


RULE = AgentKind(
    name="rule",
    build=build,
    fit=None,
    settings={
        "steps": ("RuleSteps", "in order; each acquires its panel if all its conditions hold")
    },
    doc="one's own rule: panels in order, each under conditions",
    graph=_graph,
    looks={"rule": (94, "own rule", "grey", "8")},
    names={"steps": "steps"},
)
