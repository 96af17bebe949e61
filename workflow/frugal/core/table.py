"""A table of units: encoded features, labels, the panels in which features are acquired.

Also which values were observed (`Mask`), and to which group and cluster a row belongs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.errors import ConfigError
from frugal.core.numeric import NumericLabel
from frugal.core.schema_check import listed

LARGEST = float(np.finfo(np.float32).max)  # number of a table: forests and networks are float32


def error_name(decided: str, true: str) -> str:
    """Name of the cost of deciding for a class where another is true."""
    return f"{decided} for {true}"


@dataclass(frozen=True)
class Panel:
    """Features that are acquired together, at one cost.

    Attributes:
        name: unique within a table.
        columns: names of the encoded columns that the panel reveals.
        cost: price of one acquisition, in the data set's unit of cost; never below zero.
        free: True if the panel is known for every unit before the first decision.
    """

    name: str
    columns: tuple[str, ...]
    cost: float
    free: bool

    def __post_init__(self) -> None:
        if not self.cost >= 0:
            raise ConfigError(f"panel {self.name!r} costs {self.cost}; a cost is never below zero")
        if self.free and self.cost != 0:
            raise ConfigError(f"panel {self.name!r} is free but costs {self.cost}; free means 0")
        if not self.columns:
            raise ConfigError(f"panel {self.name!r} has no columns")


@dataclass(frozen=True)
class SetUp:
    """Additional cost of the first of several panels, such as one venipuncture.

    Attributes:
        panels: names of those that share it.
        cost: paid once, whichever of them is acquired, in the data set's unit.
    """

    panels: tuple[str, ...]
    cost: float


@dataclass(frozen=True, eq=False)
class SharedCosts:
    """Set-ups of a layout's panels. g set-ups, a panels that cost a decision.

    Attributes:
        shares: True where a panel shares a set-up. (g, a)
        cost: of each set-up. (g,)
    """

    shares: Bool[np.ndarray, "g a"]
    cost: Float[np.ndarray, " g"]

    @classmethod
    def of(cls, set_ups: Sequence[SetUp], actions: Sequence[Panel]) -> "SharedCosts":
        """Those of these panels, in their order."""
        shares = [[panel.name in set_up.panels for panel in actions] for set_up in set_ups]
        return cls(
            np.array(shares, dtype=bool).reshape(len(set_ups), len(actions)),
            np.array([set_up.cost for set_up in set_ups], dtype=np.float64),
        )

    def used(self, acquired: Bool[np.ndarray, "*m a"]) -> Bool[np.ndarray, "*m g"]:
        """Set-ups that sets of panels need. (…, g)"""
        return acquired.astype(np.float32) @ self.shares.T.astype(np.float32) > 0

    def price(
        self, acquired: Bool[np.ndarray, "*m a"], action_cost: Float[np.ndarray, "... a"]
    ) -> Float[np.ndarray, "*m"]:
        """Cost of sets of panels: prices, of all or of each set, and each set-up once. (…,)"""
        same = action_cost.ndim == 1
        paid = acquired @ action_cost if same else (acquired * action_cost).sum(axis=-1)
        return paid + self.used(acquired) @ self.cost if len(self.cost) else paid

    def step_price(
        self,
        acquired: Bool[np.ndarray, "m a"],
        action: Int[np.ndarray, " m"],
        action_cost: Float[np.ndarray, "... a"],
    ) -> Float[np.ndarray, " m"]:
        """Cost of an action once panels are acquired; 0 for one that acquires none. (m,)"""
        none = np.zeros((*action_cost.shape[:-1], 1))
        last = np.minimum(action, action_cost.shape[-1])
        price = np.append(action_cost, none, axis=-1)
        price = price[last] if price.ndim == 1 else price[np.arange(len(last)), last]
        if not len(self.cost):
            return price
        new = np.append(self.shares.T, np.zeros((1, len(self.cost)), dtype=bool), axis=0)[action]
        return price + (new & ~self.used(acquired)) @ self.cost


class OfPanels:
    """Properties that follow from the panels of a table or layout: d columns, a actions."""

    columns: tuple[str, ...]
    panels: tuple[Panel, ...]
    set_ups: tuple[SetUp, ...]

    @cached_property
    def actions(self) -> tuple[Panel, ...]:
        """The panels that cost a decision, in order; index = action. (a,)"""
        return tuple(p for p in self.panels if not p.free)

    @cached_property
    def action_cost(self) -> Float[np.ndarray, " a"]:
        """Cost of each action, in the data set's unit. (a,)"""
        return np.array([p.cost for p in self.actions], dtype=np.float64)

    @cached_property
    def provides(self) -> Bool[np.ndarray, "a d"]:
        """True where an action reveals a column. (a, d)"""
        return np.array(
            [[c in p.columns for c in self.columns] for p in self.actions], dtype=bool
        ).reshape(len(self.actions), len(self.columns))

    @cached_property
    def free_columns(self) -> Bool[np.ndarray, " d"]:
        """True where a column is known before the first decision. (d,)"""
        free = {c for p in self.panels if p.free for c in p.columns}
        return np.array([c in free for c in self.columns], dtype=bool)

    @cached_property
    def shared_costs(self) -> SharedCosts:
        """Set-ups of the panels that cost a decision."""
        return SharedCosts.of(self.set_ups, self.actions)


@dataclass(frozen=True, eq=False)
class Table(OfPanels):
    """Units with encoded features, a label, and panels. Shapes: n units, d columns, a actions.

    An *action* acquires one panel that is not free; actions are numbered in the order of `panels`.

    Attributes:
        row_id: identity of each unit in the raw data. (n,)
        values: encoded features; NaN where the data set itself has no value. (n, d)
        columns: names of the d encoded columns.
        onehot: groups of column indices, each group the one-hot code of one categorical variable.
        label: class index; −1 where it is missing, which a table may be only where its YAML has
            `label.unlabelled: weigh`. (n,)
        classes: name of each of the k classes.
        panels: every column belongs to at least one panel; panels may overlap.
        misclassification_cost: cost of predicting column j where row i is true; of a numeric label
            the mean over the rows that policies may learn from. (k, k)
        set_ups: costs that several panels share.
        fees: panel → column with its price for each row; its `cost` is the mean.
        numeric: values that may be predicted, where the label is a number.
        number: the label itself then. (n,)
    """

    row_id: Int[np.ndarray, " n"]
    values: Float[np.ndarray, "n d"]
    columns: tuple[str, ...]
    onehot: tuple[tuple[int, ...], ...]
    label: Int[np.ndarray, " n"]
    classes: tuple[str, ...]
    panels: tuple[Panel, ...]
    misclassification_cost: Float[np.ndarray, "k k"]
    set_ups: tuple[SetUp, ...] = ()
    fees: Mapping[str, str] = field(default_factory=dict)
    numeric: NumericLabel | None = None
    number: Float[np.ndarray, " n"] | None = None

    def __post_init__(self) -> None:
        columns = set(self.columns)
        for panel in self.panels:
            unknown = [c for c in panel.columns if c not in columns]
            if unknown:
                raise ConfigError(
                    f"panel {panel.name!r} names column {unknown[0]!r}, which the table lacks; "
                    f"its columns are {listed(self.columns)}"
                )
        homeless = columns - {c for p in self.panels for c in p.columns}
        if homeless:
            raise ConfigError(f"column {sorted(homeless)[0]!r} belongs to no panel")
        if self.misclassification_cost.shape != (len(self.classes),) * 2:
            raise ConfigError(
                f"misclassification costs are {self.misclassification_cost.shape}, "
                f"but there are {len(self.classes)} classes"
            )
        if np.isnan(self.misclassification_cost).any() or (self.misclassification_cost < 0).any():
            raise ConfigError("a misclassification cost is below zero or not a number")

    def __len__(self) -> int:
        return len(self.row_id)

    @cached_property
    def labelled(self) -> Bool[np.ndarray, " n"]:
        """True where a unit has a label. (n,)"""
        return self.label >= 0

    @cached_property
    def unit_cost_names(self) -> tuple[str, ...]:
        """Names of the a prices, then of the k² costs of errors by decision and class."""
        errors = (error_name(d, c) for d in self.classes for c in self.classes)
        return (*(panel.name for panel in self.actions), *errors)

    def columns_observed(self, acquired: Bool[np.ndarray, "n a"]) -> Bool[np.ndarray, "n d"]:
        """Columns known once the given panels are acquired. (n, a) → (n, d)"""
        revealed = acquired.astype(np.float32) @ self.provides.astype(np.float32)
        return self.free_columns | (revealed > 0)

    def take(self, rows: np.ndarray) -> "Table":
        """The same table restricted to rows (indices or a boolean mask)."""
        return replace(
            self,
            row_id=self.row_id[rows],
            values=self.values[rows],
            label=self.label[rows],
            number=None if self.number is None else self.number[rows],
        )

    @property
    def content_order(self) -> Int[np.ndarray, " n"]:
        """Rows in an order that their content decides, not the file. (n,)"""
        numbers = [] if self.number is None else [self.number]
        return np.lexsort([self.label, *numbers, *self.values.T])

    @cached_property
    def error_costs(self) -> Float[np.ndarray, "n k"]:
        """Cost of predicting each class for each row, exact also of a numeric label. (n, k)"""
        if self.numeric is None or self.number is None:
            return self.misclassification_cost[np.maximum(self.label, 0)]
        return self.numeric.costs(self.number)

    @property
    def exact_errors(self) -> tuple[Float[np.ndarray, "k k"], Float[np.ndarray, "n k"]] | None:
        """Of a number: largest cost of each error; shares of it that predictions cost each row."""
        if self.numeric is None:
            return None
        largest = self.numeric.largest_costs
        most = largest[self.label]
        return largest, np.divide(self.error_costs, most, out=np.zeros_like(most), where=most > 0)

    @cached_property
    def fee(self) -> Float[np.ndarray, "n a"]:
        """Price of each panel for each row, where it has one of its own; else 0. (n, a)"""
        fee_columns = [self.fees.get(panel.name) for panel in self.actions]
        zero = np.zeros(len(self))
        each = [zero if c is None else self.values[:, self.columns.index(c)] for c in fee_columns]
        return np.stack(each, axis=1)


@dataclass(frozen=True, eq=False)
class Mask:
    """One draw of the retrospective missingness R. Shapes: n units, a acquirable panels.

    Attributes:
        row_id: rows of the table, in its order. (n,)
        observed: True where the panel is known in the records. (n, a)
        propensity: true p(R_j = 1 | its parents), with the drawn values of parent indicators;
            None where the missingness is the data set's own and its law unknown. (n, a)
    """

    row_id: Int[np.ndarray, " n"]
    observed: Bool[np.ndarray, "n a"]
    propensity: Float[np.ndarray, "n a"] | None

    @property
    def complete(self) -> Bool[np.ndarray, " n"]:
        """True where every panel is observed: R = 1. (n,)"""
        return np.asarray(self.observed.all(axis=1))


def random_folds(
    cluster: Int[np.ndarray, " n"] | None, n: int, folds: int, rng: np.random.Generator
) -> Int[np.ndarray, " n"]:
    """Number of each row's fold, at random; rows that belong together have the same. (n,)"""
    if cluster is None:
        return rng.permutation(n) % folds
    clusters, of_row = np.unique(cluster, return_inverse=True)
    return (rng.permutation(len(clusters)) % folds)[of_row]


@dataclass(frozen=True, eq=False)
class Belonging:
    """Group and cluster of n rows.

    Attributes:
        group: index into `names`; None where the data set defines no groups. (n,)
        names: of the groups.
        cluster: number of the rows' cluster; None: each row is its own cluster. (n,)
    """

    group: Int[np.ndarray, " n"] | None
    names: tuple[str, ...]
    cluster: Int[np.ndarray, " n"] | None

    def take(self, rows: np.ndarray) -> "Belonging":
        """The same of some rows."""
        group, cluster = (None if ids is None else ids[rows] for ids in (self.group, self.cluster))
        return Belonging(group, self.names, cluster)
