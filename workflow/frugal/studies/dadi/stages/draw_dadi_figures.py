"""Stage `draw_dadi_figures`: the paper's Figures 2 and 3 for one data set, audit, curves."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.studies.dadi.figures.effects import panels_figure, tradeoff_figure
from frugal.studies.dadi.figures.trust import audit_figure, curves_figure
from frugal.studies.shared.frames import drawn


def draw_dadi_figures(
    *,
    catalogue: Mapping[str, Any],
    means: pd.DataFrame,
    selection: pd.DataFrame,
    singles: pd.DataFrame,
    audit: pd.DataFrame,
    curves: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Draw one data set; selection by stratum at one γ, or by γ."""
    del progress
    dataset = streams.wildcards["dataset"]
    words = {"title": catalogue["report"]["title"], "caution": settings["caution"]}
    points, told, alone, learnt = (_of(table, dataset) for table in (means, audit, singles, curves))
    chosen, groups = _grouped(_of(selection, dataset), settings)
    return {
        **drawn("dadi_tradeoff", tradeoff_figure(points, **words), points),
        **drawn("dadi_panels", panels_figure(alone, chosen, groups=groups, **words), chosen),
        **drawn("dadi_audit", audit_figure(told, points, **words), told),
        **drawn("dadi_curves", curves_figure(learnt, **words), learnt),
    }


def _of(table: pd.DataFrame, dataset: str) -> pd.DataFrame:
    return table[table["dataset"].astype(str) == dataset].reset_index(drop=True)


def _grouped(
    selection: pd.DataFrame, settings: Mapping[str, Any]
) -> tuple[pd.DataFrame, list[str]]:
    """The rows to be drawn side by side, and the names of their groups in order."""
    by, gammas = settings["by_stratum"], settings["shown_gammas"]
    if by is None:
        rows = selection[selection["gamma"].isin(gammas)]
        names = {gamma: f"γ = {gamma:g}" for gamma in gammas}
        return rows.assign(group=rows["gamma"].map(names)), list(names.values())
    rows = selection[selection["gamma"] == gammas[0]]
    names = {s: f"{by} = {s}, γ = {gammas[0]:g}" for s in sorted(rows["stratum"].unique())}
    return rows.assign(group=rows["stratum"].map(names)), list(names.values())
