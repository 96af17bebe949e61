"""Missingness graphs: read from a description, checked, ordered, and evaluated. [afape, sec. A.2]

A graph holds X → R and R → R edges between the features and the indicators of the panels that can
be missing. This module must not know how masks are drawn, or identification.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import expit

from frugal.core.errors import ConfigError, GraphError
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.table import Table


@dataclass(frozen=True)
class IndicatorModel:
    """Logistic law of one indicator, p(R_j = 1 | parents) = σ(intercept + Σ β·x + Σ γ·r).

    Attributes:
        intercept: on the logit scale.
        values: weight of each parent column (X → R edges), by encoded column name; the column
            enters standardised if `standardise`, else in its own unit.
        indicators: weight of each parent indicator (R → R edges), by panel name.
        standardise: scale parent columns to mean 0 and standard deviation 1 of the full table.
        scaling: mean and standard deviation of each parent column in the full table, where some of
            its rows; None: those of the rows that are given.
    """

    intercept: float
    values: Mapping[str, float] = field(default_factory=dict)
    indicators: Mapping[str, float] = field(default_factory=dict)
    standardise: bool = False
    scaling: Mapping[str, tuple[float, float]] | None = None


@dataclass(frozen=True)
class MissingnessGraph:
    """Law of every panel that can be missing; panels not named here are always observed.

    Attributes:
        name: of the mechanism, for example `mnar`.
        indicators: panel name → law of its indicator.
    """

    name: str
    indicators: Mapping[str, IndicatorModel]

    def to_dict(self) -> dict[str, Any]:
        """A document that `from_dict` reads back."""
        document = asdict(self)
        for model in document["indicators"].values():
            if model["scaling"] is None:
                del model["scaling"]
        return document

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "MissingnessGraph":
        """The graph that `to_dict` wrote."""
        laws = {
            panel: IndicatorModel(
                float(model["intercept"]),
                {column: float(weight) for column, weight in model["values"].items()},
                {cause: float(weight) for cause, weight in model["indicators"].items()},
                model["standardise"],
                model.get("scaling"),
            )
            for panel, model in document["indicators"].items()
        }
        return cls(document["name"], laws)


def parse_graph(name: str, mapping: Mapping[str, Any], table: Table) -> MissingnessGraph:
    """The graph that a mechanism's block of the config describes.

    `mapping` is the block `missingness` of a scenario (`config.afape.InducedGaps` or `OwnGaps`);
    `mechanisms.calibrate` takes its `complete_share`, which this function leaves alone. Where
    `source` is `own` the missingness is the data set's, and its law unknown: `values` and
    `indicators` are then lists of assumed causes, without intercept, and the graph carries zeros
    for the unknown strengths; it serves identification, and nothing may be drawn from it.
    A panel's own column among its parents (self-censoring) is a law that can be drawn from, so it
    is read; `identification.identify` names the consequences.

    Returns:
        Laws in the order of the table's actions; panels that `mapping` leaves out are always
        observed.

    Raises:
        ConfigError: a key, panel, column or weight is not allowed.
        GraphError: the R → R edges form a cycle; the sentence names it.
    """
    from frugal.config.afape import InducedGaps, OwnGaps  # builds the blocks of all kinds

    if mapping.get("panels") == {}:  # of a world in which nothing is missing
        return MissingnessGraph(name, {})
    where = f"mechanism {name!r}"
    kind = OwnGaps if mapping.get("source") == "own" else InducedGaps
    block = kind.read({"source": "induced", **mapping}, where=where).plain()
    _check_panels(where, block["panels"], table)
    laws = {
        panel.name: _law(f"panel {panel.name!r} of {where}", block, panel.name, table)
        for panel in table.actions
        if panel.name in block["panels"]
    }
    graph = MissingnessGraph(name, laws)
    topological_order(graph)
    return graph


def topological_order(graph: MissingnessGraph) -> tuple[str, ...]:
    """Panels that can be missing, causes before effects; ties keep the graph's own order.

    Raises:
        GraphError: the R → R edges form a cycle; the sentence names it.
    """
    waiting = {panel: set(model.indicators) for panel, model in graph.indicators.items()}
    order: list[str] = []
    while waiting:
        ready = next((p for p, causes in waiting.items() if not causes & waiting.keys()), None)
        if ready is None:
            path = " → ".join(f"R_{panel}" for panel in _cycle(waiting))
            raise GraphError(
                f"mechanism {graph.name!r} has the cycle {path}; "
                "an indicator must not cause itself, not even through others"
            )
        order.append(ready)
        del waiting[ready]
    return tuple(order)


def _cycle(causes: Mapping[str, Collection[str]]) -> list[str]:
    """A closed path from cause to effect, where each panel has a cause among the others."""
    path = [next(iter(causes))]
    while path[0] not in path[1:]:
        path.insert(0, next(panel for panel in causes if panel in causes[path[0]]))
    return path[: path.index(path[0], 1) + 1]


def shortest_paths(graph: MissingnessGraph, panel: str) -> dict[str, tuple[str, ...]]:
    """Indicators that follow from a panel's, itself first, each with a shortest path of effects."""
    paths: dict[str, tuple[str, ...]] = {panel: (panel,)}
    for at in (reached := [panel]):
        for effect, model in graph.indicators.items():
            if at in model.indicators and effect not in paths:
                paths[effect] = (*paths[at], effect)
                reached.append(effect)
    return paths


def adjustment_columns(graph: MissingnessGraph) -> tuple[str, ...]:
    """X_adj: the union of all X → R parents, in the order of first mention. [afape, eq. 3]

    Given these columns R does not depend on any other feature or on the label, so they block
    every path from R back to the cost.
    """
    return tuple(dict.fromkeys(c for model in graph.indicators.values() for c in model.values))


def value_logit(graph: MissingnessGraph, table: Table, panel: str) -> Float[np.ndarray, " n"]:
    """Part of the logit that rows determine, intercept + Σ β·x, of one panel's indicator. (n,)

    Where the law has `standardise`, a column enters with mean 0 and standard deviation 1 over the
    rows of `table`: give the whole table, not a split of it, or a graph that is `settled`.

    Raises:
        ConfigError: a parent column has a missing value, or is constant but to be standardised.
    """
    model = graph.indicators[panel]
    logit = np.full(len(table), float(model.intercept))
    for column, weight in model.values.items():
        parent = table.values[:, table.columns.index(column)].astype(np.float64)
        missing = int(np.isnan(parent).sum())
        if missing:
            raise ConfigError(
                f"column {column!r} causes missingness of panel {panel!r} in mechanism "
                f"{graph.name!r} but lacks {missing} of {len(table)} values; "
                "induced missingness needs complete values"
            )
        if model.standardise:
            scaling = map(np.asarray, _scaling(graph, panel, column, parent))
            parent = Scaling(*scaling).standardise(parent)
        logit += weight * parent
    return logit


def settled(
    graph: MissingnessGraph, values: Callable[[str], Float[np.ndarray, " n"]]
) -> MissingnessGraph:
    """The graph with the scaling of the columns that its laws standardise, for single blocks.

    Args:
        graph: laws of the panels that can be missing.
        values: of a column, in all rows.

    Raises:
        ConfigError: a column is constant.
    """
    scalings: dict[str, tuple[float, float]] = {}
    laws = {}
    for panel, model in graph.indicators.items():
        if model.standardise and model.scaling is None:
            for column in model.values:
                if column not in scalings:
                    scalings[column] = _scaling(graph, panel, column, values(column))
            model = replace(model, scaling={column: scalings[column] for column in model.values})
        laws[panel] = model
    return MissingnessGraph(graph.name, laws)


def _scaling(
    graph: MissingnessGraph, panel: str, column: str, values: Float[np.ndarray, " n"]
) -> tuple[float, float]:
    """Mean and standard deviation by which a parent column is standardised."""
    stored = graph.indicators[panel].scaling
    if stored is not None:
        return stored[column]
    scaling = fit_scaling(values, constant=0.0)
    if scaling.scale == 0:
        raise ConfigError(
            f"column {column!r} is constant and cannot be standardised "
            f"for panel {panel!r} in mechanism {graph.name!r}"
        )
    return float(scaling.centre), float(scaling.scale)


def indicator_logit(
    graph: MissingnessGraph, table: Table, observed: Bool[np.ndarray, "q a"], panel: str
) -> Float[np.ndarray, " q"]:
    """Part of the logit that other indicators determine, Σ γ·r, for each row of `observed`. (q,)"""
    position = {action.name: i for i, action in enumerate(table.actions)}
    logit = np.zeros(len(observed))
    for cause, weight in graph.indicators[panel].indicators.items():
        logit += weight * observed[:, position[cause]]
    return logit


def indicator_probability(
    graph: MissingnessGraph, table: Table, observed: Bool[np.ndarray, "n a"], panel: str
) -> Float[np.ndarray, " n"]:
    """True p(R_j = 1 | its parents) of one panel, given each unit's other indicators. (n,)

        p(R_j = 1 | x, r) = σ(intercept + Σ β·x + Σ γ·r), and 1 if the graph has no law for j

    Raises:
        ConfigError: see `value_logit`.
    """
    if panel not in graph.indicators:
        return np.ones(len(table))
    return expit(value_logit(graph, table, panel) + indicator_logit(graph, table, observed, panel))


def _law(where: str, block: Mapping[str, Any], panel: str, table: Table) -> IndicatorModel:
    """Law of one panel; of assumed causes with strengths of 0."""
    model = block["panels"][panel]
    values, indicators = (
        dict.fromkeys(causes, 0.0) if isinstance(causes, list) else causes
        for causes in (model.get("values", {}), model.get("indicators", {}))
    )
    for column in values:
        if column not in table.columns:
            raise ConfigError(
                f"{where} has the parent column {column!r}, which the table lacks; "
                f"its columns are {_listed(table.columns)}"
            )
    for cause in indicators:
        if cause not in block["panels"]:
            raise ConfigError(
                f"{where} has the parent indicator of {cause!r}, which is no panel that can be "
                f"missing here; those are {_listed(block['panels'])}"
            )
    standardise = block.get("standardise", False)
    return IndicatorModel(model.get("intercept", 0.0), values, indicators, standardise)


def _check_panels(where: str, panels: Mapping[str, Any], table: Table) -> None:
    """Refuse laws for panels that do not exist or are free."""
    actions = [p.name for p in table.actions]
    free = [p.name for p in table.panels if p.free]
    for panel in panels:
        if panel in free:
            raise ConfigError(
                f"{where} gives a law to panel {panel!r}, which is free and so always observed; "
                f"allowed are {_listed(actions)}"
            )
        if panel not in actions:
            raise ConfigError(
                f"{where} gives a law to panel {panel!r}, which the table lacks; "
                f"allowed are {_listed(actions)}"
            )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
