"""What every kind of agent declares: how it is built, how it learns, and a line for the pages.

Knows no kind; `acquire.registry` finds them. Knows no files and no study.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.acquire.encoders import CallableEncoder, ValuesEncoder, fits, tabulate
from frugal.config.declared import block_of
from frugal.core.episodes import Policy
from frugal.core.errors import ConfigError, DataError
from frugal.core.layout import Layout, rows_digest
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import World
from frugal.learn.tree_scoring import MAX_ACTIONS_TABULATED
from frugal.learn.trees import TreeEnsemble

TABLE_GIB = 0.25  # larger tables of observations are not built; the numbers are the same

Stored = Mapping[str, np.ndarray] | Path | pd.DataFrame | None


@dataclass(frozen=True, eq=False)
class Ground:
    """What an agent learns from: rows, what their records hold, and what an error costs.

    Attributes:
        table: the rows.
        recorded: panels that the records hold; nothing else may be acquired. (n, a)
        group: of the protected attribute, 0 or 1; None where the data set has none. (n,)
        classifier: says the class where the agent only stops.
        streams: sources of all draws.
        progress: shows how far a long training is.
        objective: cost, or f1 or am within budgets; read by kinds that learn within budgets.
        budgets: most that a case may cost on average, ascending; none for a cost.
    """

    table: Table
    recorded: Bool[np.ndarray, "n a"]
    group: Int[np.ndarray, " n"] | None
    classifier: TreeEnsemble
    streams: Streams
    progress: Callable[..., Any]
    objective: Literal["cost", "f1", "am"] = "cost"
    budgets: tuple[float, ...] = ()

    @property
    def unit(self) -> float:
        """The dearest error, by which costs are divided so that values are about 1."""
        return float(self.table.misclassification_cost.max())

    def world(self, *, terminals: int) -> World:
        """The records as a world: blocked."""
        return World.of_table(
            self.table, name="blocked", available=self.recorded, terminals=terminals
        )

    @cached_property
    def values(self) -> Float[np.ndarray, "n d"]:
        """Values as the records hold them; NaN where a panel is not recorded. (n, d)"""
        known = self.table.columns_observed(self.recorded)
        return np.where(known, self.table.values, np.nan)

    @cached_property
    def scaling(self) -> Scaling:
        """Of the values that the records hold; a column that they never hold stays as it is."""
        return fit_scaling(self.values, unknown=True)

    @property
    def digest(self) -> str:
        """SHA-256 of rows, values, labels and what is recorded."""
        return rows_digest(self.table, self.values, self.recorded)

    def require_two_classes(self, kind: str) -> None:
        """Refuse a label with other than two classes.

        Raises:
            DataError: it has.
        """
        if len(self.table.classes) != 2:
            raise DataError(
                f"an agent of kind {kind!r} says one of two classes; the table has "
                f"{len(self.table.classes)}: {', '.join(self.table.classes)}"
            )

    def observed(self, encoder: ValuesEncoder | CallableEncoder) -> Any:
        """The encoder's table of all sets where it is small, else the encoder itself."""
        n, a = self.recorded.shape
        if a <= MAX_ACTIONS_TABULATED and fits(n, a, encoder.width, TABLE_GIB):
            return tabulate(encoder, n, a, max_gib=TABLE_GIB)
        return encoder


def trained(stored: Stored, kind: str) -> Mapping[str, np.ndarray]:
    """What training left of an agent.

    Raises:
        ConfigError: there is nothing.
    """
    if not isinstance(stored, Mapping):
        raise ConfigError(f"an agent of kind {kind!r} acts by what `train_agent` made")
    return stored


@dataclass(frozen=True, eq=False)
class Learned:
    """What training leaves.

    Attributes:
        arrays: everything that the policy is beside its settings.
        curve: how training went, one row per look.
    """

    arrays: Mapping[str, np.ndarray]
    curve: pd.DataFrame


@dataclass(frozen=True, eq=False)
class AgentKind:
    """One kind of acquisition agent, declared in a file of `acquire.policies` that bears its name.

    Attributes:
        name: `kind` in a config.
        build: (settings, layout, what is stored) → policy.
        fit: learns on records; None for kinds that need no training.
        settings: key → the name of a type of `config.learners` or a tuple of words, what it means,
            and its default where it has one.
        doc: a line for the pages.
        front: (rows, objective, settings, budgets) → the best policy within each budget, learnt at
            once; None for kinds that have no front in `diagnosis`.
        file: True where the policy is a file of one's own, named by the setting `file`.
        shares: names of blocks of `config.learners` whose settings it has too.
        runs_code: True where that file is a program.
        rows_only: True where the policy knows rows of its table and no values, so that it has no
            answer to a new case.
        two_classes: True where the label must have two classes.
        acts_on_beliefs: True where `front` takes beliefs by a further argument `network`.
        names: setting → what it names of a data set: `panels`, the `dataset`, `steps` of a rule.
        steps: settings whose products, summed, are the transitions, updates or iterations of
            training: (("outer.loops", "updates"), ("pretraining",)).
        graph: function of `onnx_policies` that writes its decisions as a graph; "": none does.
        looks: method of `diagnosis` → place in tables and figures, label, colour by its word in
            `draw.style`, marker of matplotlib, and perhaps True for a hollow one.
    """

    name: str
    build: Callable[[Mapping[str, Any], Layout, Stored], Policy]
    fit: Callable[[Ground, Mapping[str, Any]], Learned] | None
    settings: Mapping[str, Any]
    doc: str
    front: Callable[..., Learned] | None = None
    file: bool = False
    shares: tuple[str, ...] = ()
    runs_code: bool = False
    rows_only: bool = False
    two_classes: bool = False
    acts_on_beliefs: bool = False
    names: Mapping[str, Literal["panels", "dataset", "steps"]] = field(default_factory=dict)
    steps: tuple[tuple[str, ...], ...] = ()
    graph: str = ""
    looks: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the settings that must be there, and no others."""
        return tuple(key for key in block_of(self.name).model_fields if key != "kind")
