"""Stage `draw_dadi_figures`: the paper's Figures 2 and 3 for one data set, audit, curves."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from frugal.core.context import Context
from frugal.core.declarations import load_all
from frugal.draw.prints import draw_all


def draw_dadi_figures(
    *,
    catalogue: Mapping[str, Any],
    means: pd.DataFrame,
    selection: pd.DataFrame,
    singles: pd.DataFrame,
    audit: pd.DataFrame,
    curves: pd.DataFrame,
    context: Context,
) -> dict[str, Any]:
    """Draw one data set; selection by stratum at one γ, or by γ."""
    dataset = context.streams.wildcards["dataset"]
    chosen, groups = _grouped(_of(selection, dataset), context.settings)
    arguments = {
        "title": catalogue["report"]["title"],
        "caution": context.settings["caution"],
        "means": _of(means, dataset),
        "audit": _of(audit, dataset),
        "singles": _of(singles, dataset),
        "curves": _of(curves, dataset),
        "selection": chosen,
        "groups": groups,
    }
    figures = load_all("frugal.studies.dadi.figures", "PrintedFigure")
    return draw_all(figures, "draw_dadi_figures", arguments)


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
