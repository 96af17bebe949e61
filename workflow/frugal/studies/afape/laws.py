"""Stored masks with their law, checked against the table before a stage of `afape` uses them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.core.stored import Each, OrNull, require_document
from frugal.core.table import Table
from frugal.data.panel_columns import panel_columns
from frugal.missing.graph import MissingnessGraph
from frugal.missing.graphs import topological_order

_LAW = {"intercept": float, "values": Each(float), "indicators": Each(float), "standardise": bool}
_GRAPH = {"name": str, "indicators": Each(_LAW), "source": str}
_FACTOR = {"panel": str, "columns": [str], "condition_panels": [str]}
_IDENTIFICATION = {
    "mechanism_class": str, "adjustment_columns": [str], "missable_panels": [str],
    "factors": [_FACTOR], "propensity_identified": bool, "afais_identified": bool,
    "s": OrNull([str]), "reasons": [str],
}  # fmt: skip
_ROUNDING = 1e-6  # of sums of the probabilities of many patterns
_SOURCES = ("induced", "own")


def require_law(
    graph: Mapping[str, Any], identification: Mapping[str, Any], masks: pd.DataFrame, data: Table
) -> None:
    """What `draw_missingness` stored is whole, and is of this table.

    Args:
        graph: law of the masks.
        identification: what it identifies.
        masks: one row per seed and row of the table.
        data: the whole table.

    Raises:
        DataError: see `require_graph` and `require_masks`.
        GraphError: the graph has a cycle.
    """
    require_graph(graph, identification, data)
    require_masks(masks, data)


def require_graph(graph: Mapping[str, Any], identification: Mapping[str, Any], data: Table) -> None:
    """The documents of `draw_missingness` are whole, and of this table, whose rows do not count.

    Raises:
        DataError: a document has another shape, or names what the table lacks.
        GraphError: the graph has a cycle.
    """
    require_document(graph, _GRAPH, "missingness graph")
    require_document(identification, _IDENTIFICATION, "identification")
    if graph["source"] not in _SOURCES:
        raise DataError(
            f"the stored missingness graph has the source {graph['source'][:60]!r}; allowed are "
            f"{', '.join(_SOURCES)}"
        )
    _require_names(graph, identification, data)
    topological_order(MissingnessGraph.from_dict(graph))


def _require_names(
    graph: Mapping[str, Any], identification: Mapping[str, Any], data: Table
) -> None:
    panels, columns = {panel.name for panel in data.actions}, set(data.columns)
    laws, factors = graph["indicators"], identification["factors"]
    missable = identification["missable_panels"]
    named = [
        ("panel that can be missing", [*laws, *missable], panels),
        ("panel that causes missingness", [p for law in laws.values() for p in law["indicators"]],
         set(laws)),
        ("column that causes missingness", [c for law in laws.values() for c in law["values"]],
         columns),
        ("column to adjust for", identification["adjustment_columns"], columns),
        ("panel of s", identification["s"] or [], panels),
        ("panel of a factor", [f["panel"] for f in factors], set(missable)),
        ("column of a factor", [c for f in factors for c in f["columns"]], columns),
        ("panel of a condition", [p for f in factors for p in f["condition_panels"]], panels),
    ]  # fmt: skip
    for what, names, allowed in named:
        for name in names:
            if name not in allowed:
                raise DataError(
                    f"the stored missingness graph and identification name the {what} "
                    f"{name[:60]!r}; allowed are {', '.join(sorted(allowed)) or 'none'}"
                )
    if set(missable) != set(laws):
        raise DataError(
            f"the stored missingness graph has laws of {', '.join(laws) or 'no panel'}, and the "
            f"identification says that {', '.join(missable) or 'none'} can be missing"
        )
    factored = [f["panel"] for f in factors]
    if identification["propensity_identified"] and sorted(factored) != sorted(missable):
        raise DataError(
            f"the stored identification has factors for {', '.join(factored) or 'no panel'}; the "
            f"panels that can be missing are {', '.join(missable) or 'none'}, one factor each"
        )


def require_masks(masks: pd.DataFrame, data: Table) -> None:
    """Stored masks list every row of the table once for each seed, true or false for each panel.

    Raises:
        DataError: they do not, or a probability is none.
    """
    wanted = ["seed", "row_id", *panel_columns("observed", data)]
    absent = [name for name in wanted if name not in masks.columns]
    if absent:
        raise DataError(f"the stored masks lack the column {absent[0]!r}")
    for name in wanted[2:]:
        if masks[name].dtype != bool:
            raise DataError(
                f"column {name!r} of the stored masks is of type {masks[name].dtype}; allowed: bool"
            )
    for name in [c for c in masks.columns if "probability" in str(c)]:
        share = pd.to_numeric(masks[name], errors="coerce").to_numpy(dtype=np.float64)
        if not ((share >= 0) & (share <= 1 + _ROUNDING)).all():
            raise DataError(f"column {name!r} of the stored masks leaves 0 to 1")
    for seed, rows in masks.groupby("seed", sort=False):
        if not np.array_equal(rows["row_id"].to_numpy(), data.row_id):
            raise DataError(
                f"seed {seed} of the stored masks has {len(rows)} rows that are not the "
                f"{len(data)} rows of the table in their order"
            )
