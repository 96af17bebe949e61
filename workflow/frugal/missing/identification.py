"""Quantities that a missingness graph identifies, with reasons. [afape, sec. A.6 and sec. A.8]

Decided from the graph and the table's panels alone: this module reads no value, fits nothing, and
must not know any agent or estimator.
"""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from frugal.core.errors import ConfigError, GraphError
from frugal.core.table import Table
from frugal.missing.graphs import (
    MissingnessGraph,
    adjustment_columns,
    shortest_paths,
    topological_order,
)

_REASONS_LISTED = 3

_VALUE_DEPENDENT = (
    "The AFA propensity p(R = 1 | X_adj, R̂, R_s = 1) suffices only for a policy whose decisions "
    "depend on no value outside X_adj; for any other it must also be given the values that the "
    "policy saw, the free and the acquired ones: p(R = 1 | X_adj, X̂, R̂, R_s = 1)."
)


@dataclass(frozen=True)
class FactorHead:
    """One regression on observed rows: p(R_j = 1 | columns, condition_panels observed).

    Attributes:
        panel: j, the panel whose indicator is the outcome.
        columns: encoded columns that cause it, in the table's order; the regressors.
        condition_panels: only rows that observe all of these are used: the panels whose indicators
            cause R_j, and for each column that can be missing one panel that reveals it.
    """

    panel: str
    columns: tuple[str, ...]
    condition_panels: tuple[str, ...]


@dataclass(frozen=True)
class Identification:
    """Quantities that can be estimated under a missingness graph from incomplete records.

    Attributes:
        mechanism_class: MCAR (no column causes missingness), MAR (only columns that are always
            observed do) or MNAR.
        adjustment_columns: X_adj, in the table's order.
        missable_panels: panels that can be missing, in the order of the table's actions.
        factors: regressions whose product is p(R = 1 | X_adj), one for each missable panel; empty
            if `propensity_identified` is False.
        propensity_identified: the factors can be fitted on observed rows; IPW needs it.
        afais_identified: AFAIS with s = ∅ can be evaluated: X_adj is known on every row too.
        s: panels that a row must observe to enter AFAIS; None if no choice of s works.
        reasons: sentences for people, the findings above one by one.
    """

    mechanism_class: str
    adjustment_columns: tuple[str, ...]
    missable_panels: tuple[str, ...]
    factors: tuple[FactorHead, ...]
    propensity_identified: bool
    afais_identified: bool
    s: tuple[str, ...] | None
    reasons: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain names, lists and truth values, for a JSON file."""
        return _as_lists(asdict(self))


def identify(graph: MissingnessGraph, table: Table, *, s: Sequence[str] | None) -> Identification:
    """Decide which estimators a graph allows, with the reasons. [afape, eq. A.6 and sec. A.8]

    The propensity factorises over the panels that can be missing, and each factor is a regression
    on rows that observe its arguments, because an indicator does not depend on its non-descendants
    given its parents:

        p(R = 1 | X_adj) = Π_j p(R_j = 1 | pa_X(j), pa_R(j) = 1)
                         = Π_j p(R_j = 1 | pa_X(j), pa_R(j) = 1, R_w(j) = 1),

    w(j) being panels that reveal pa_X(j) and are neither j nor caused by R_j. Where there is no
    such w(j) the propensity counts as not identified; more elaborate functionals, such as
    reweighted regressions, may identify some of these graphs, and Frugal does not offer them.

    A column that several panels provide is known where any of them is.

    Args:
        graph: its edges count, its weights do not.
        table: its panels and columns count, its values are not read.
        s: the user's choice of panels for AFAIS; None picks the smallest set that works.

    Raises:
        GraphError: the graph is cyclic, or AFAIS cannot be evaluated with the user's s.
        ConfigError: s names something that is not an action of the table.
    """
    topological_order(graph)
    panels = _Panels(graph, table)
    factors, obstacles, notes = _factorise(graph, panels)
    adjustment = panels.in_table_order(adjustment_columns(graph))
    kind, kind_reason = _mechanism_class(adjustment, panels)
    chosen, s_reason = _choose_s(adjustment, panels, obstacles, s)
    reasons = [kind_reason, *notes, *(obstacles or [_factorisation_sentence(factors)]), s_reason]
    if not obstacles:
        reasons.append(_VALUE_DEPENDENT)
    return Identification(
        mechanism_class=kind,
        adjustment_columns=adjustment,
        missable_panels=panels.missable,
        factors=() if obstacles else tuple(factors),
        propensity_identified=not obstacles,
        afais_identified=not obstacles and not panels.hidden(adjustment, ()),
        s=chosen,
        reasons=tuple(reasons),
    )


class _Panels:
    """Which panels reveal which columns, and which indicators follow from which."""

    def __init__(self, graph: MissingnessGraph, table: Table) -> None:
        self.actions = tuple(p.name for p in table.actions)
        self.missable = tuple(p for p in self.actions if p in graph.indicators)
        self.columns = table.columns
        self.provides = {p.name: frozenset(p.columns) for p in table.actions}
        self.graph = graph
        self.always = frozenset(
            c for p in table.panels if p.free or p.name not in graph.indicators for c in p.columns
        )

    def in_table_order(self, columns: Collection[str]) -> tuple[str, ...]:
        return tuple(c for c in self.columns if c in columns)

    def providers(self, column: str) -> tuple[str, ...]:
        """Panels that can be missing and reveal the column."""
        return tuple(p for p in self.missable if column in self.provides[p])

    def hidden(self, columns: Sequence[str], s: Collection[str]) -> tuple[str, ...]:
        """Columns that some row with R_s = 1 may lack."""
        observed = self.always.union(*(self.provides[p] for p in s))
        return tuple(c for c in columns if c not in observed)


def _factorise(
    graph: MissingnessGraph, panels: _Panels
) -> tuple[list[FactorHead], list[str], list[str]]:
    """Regressions of all panels; sentences on obstacles; sentences on other remarks."""
    factors, obstacles, notes = [], [], []
    for panel in panels.missable:
        model = graph.indicators[panel]
        columns = panels.in_table_order(model.values)
        causes = set(model.indicators)
        effects = shortest_paths(graph, panel)
        witnesses = {
            column: tuple(p for p in panels.providers(column) if p not in effects)
            for column in panels.hidden(columns, causes)
        }
        obstacles += [_obstacle(panel, c, panels) for c, w in witnesses.items() if not w]
        conditions = causes | _smallest_cover({c: w for c, w in witnesses.items() if w})
        notes += _colluders(panel, columns, tuple(model.indicators), panels)
        ordered = tuple(p for p in panels.missable if p in conditions)
        factors.append(FactorHead(panel, columns, ordered))
    return factors, obstacles, notes


def _obstacle(panel: str, column: str, panels: _Panels) -> str:
    """Why rows that observe a parent column do not show the law of a panel's indicator."""
    head = f"p(R = 1 | X_adj) is not identified: column {column} causes missingness of {panel}"
    effects = [p for p in panels.providers(column) if p != panel]
    if not effects:
        return (
            f"{head} and is revealed by {panel} alone (self-censoring), so it is never seen where "
            f"R_{panel} = 0."
        )
    path = " → ".join(f"R_{p}" for p in shortest_paths(panels.graph, panel)[effects[0]])
    return (
        f"{head} and is seen only where R_{effects[0]} = 1, itself an effect of R_{panel} "
        f"({path}), so that the rows that show the column are selected by the outcome."
    )


def _colluders(
    panel: str, columns: Sequence[str], causes: Sequence[str], panels: _Panels
) -> list[str]:
    """One sentence for each X_i → R_j ← R_i: harmless here, but the full law is lost."""
    return [
        f"{column} → R_{panel} ← R_{cause} is a colluder: the law of R_{panel} where R_{cause} = 0 "
        f"is not identified, but p(R = 1 | X_adj) needs it only where R_{cause} = 1."
        for column in columns
        if column not in panels.always
        for cause in causes
        if panels.providers(column) == (cause,)
    ]


def _mechanism_class(adjustment: Sequence[str], panels: _Panels) -> tuple[str, str]:
    hidden = panels.hidden(adjustment, ())
    if not panels.missable:
        return "MCAR", "No panel can be missing."
    if not adjustment:
        return "MCAR", "No column causes missingness, so X_adj is empty (MCAR)."
    if not hidden:
        return "MAR", (
            f"Missingness depends on {_listed(adjustment)} only, known on every row (MAR)."
        )
    return "MNAR", (
        f"Missingness depends on {_listed(hidden)}, which can be missing "
        f"{'itself' if len(hidden) == 1 else 'themselves'} (MNAR)."
    )


def _factorisation_sentence(factors: Sequence[FactorHead]) -> str:
    if not factors:
        return "p(R = 1 | X_adj) = 1."
    terms = []
    for head in factors:
        conditions = [*head.columns, *(f"R_{p} = 1" for p in head.condition_panels)]
        terms.append(f"p(R_{head.panel} = 1{' | ' if conditions else ''}{', '.join(conditions)})")
    return f"p(R = 1 | X_adj) = {' · '.join(terms)}, each factor fitted on observed rows."


def _choose_s(
    adjustment: Sequence[str],
    panels: _Panels,
    obstacles: Sequence[str],
    requested: Sequence[str] | None,
) -> tuple[tuple[str, ...] | None, str]:
    """The set s, the user's or the smallest, and the sentence on it."""
    if requested is not None:
        for panel in requested:
            if panel not in panels.actions:
                raise ConfigError(
                    f"s names {panel!r}, which is not a panel that costs a decision; "
                    f"allowed are {', '.join(panels.actions)}"
                )
        s = tuple(p for p in panels.actions if p in requested)
        if obstacles:
            raise GraphError(f"AFAIS with s = {_braced(s)} is refused: {obstacles[0]}")
        hidden = panels.hidden(adjustment, s)
        if hidden:
            raise GraphError(
                f"AFAIS with s = {_braced(s)} cannot be evaluated: {_hidden_reason(hidden, s)}; "
                f"the smallest set that works is {_braced(_smallest_s(adjustment, panels))}"
            )
        return s, f"s = {_braced(s)} was given; X_adj is known on every row with R_s = 1."
    if obstacles:
        return None, "No set s helps AFAIS, for every s needs p(R = 1 | X_adj)."
    chosen = _smallest_s(adjustment, panels)
    if not chosen:
        return (), "AFAIS can use every row (s = ∅), for X_adj is known on every row."
    smaller = sum(math.comb(len(panels.missable), size) for size in range(len(chosen)))
    tried = itertools.chain.from_iterable(
        itertools.combinations(panels.missable, size) for size in range(len(chosen))
    )
    examples = [
        f"s = {_braced(s)} fails since {_hidden_reason(panels.hidden(adjustment, s), s)}"
        for s in itertools.islice(tried, _REASONS_LISTED)
    ]
    return chosen, (
        f"AFAIS can use rows with R_s = 1 for s = {_braced(chosen)}, the smallest set that works; "
        f"{_counted(smaller)}: {'; '.join(examples)}{'; …' if smaller > len(examples) else ''}."
    )


def _smallest_s(adjustment: Sequence[str], panels: _Panels) -> tuple[str, ...]:
    """Smallest set of panels that reveals X_adj wherever all are observed. [afape, sec. A.8]"""
    hidden = panels.hidden(adjustment, ())
    cover = _smallest_cover({column: panels.providers(column) for column in hidden})
    return tuple(p for p in panels.missable if p in cover)


def _smallest_cover(revealing: Mapping[str, Sequence[str]]) -> set[str]:
    """Smallest set of panels with at least one of those that reveal each column.

    Sets grow by size, ties in the order of first mention. A panel that alone reveals a column is
    in every set that works, so only panels which overlap are tried out.
    """
    forced = {panels[0] for panels in revealing.values() if len(panels) == 1}
    open_columns = [panels for panels in revealing.values() if not forced.intersection(panels)]
    optional = list(dict.fromkeys(itertools.chain.from_iterable(open_columns)))
    for size in range(len(optional) + 1):
        for extra in itertools.combinations(optional, size):
            if all(set(extra).intersection(panels) for panels in open_columns):
                return forced | set(extra)
    raise AssertionError("all panels together reveal every column")


def _counted(smaller: int) -> str:
    return "the one smaller set fails" if smaller == 1 else f"all {smaller} smaller sets fail"


def _hidden_reason(hidden: Sequence[str], s: Sequence[str]) -> str:
    rows = f"rows with R_s = 1 for s = {_braced(s)}" if s else "all rows"
    return f"{_listed(hidden)} of X_adj {'is' if len(hidden) == 1 else 'are'} not known on {rows}"


def _braced(names: Sequence[str]) -> str:
    return "{" + ", ".join(names) + "}" if names else "∅"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _as_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_lists(item) for key, item in value.items()}
    return [_as_lists(item) for item in value] if isinstance(value, list | tuple) else value
