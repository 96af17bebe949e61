"""Stage `draw_recourse_figures`: the paper's Figures 4, 5, 7 and 8, and the effect of a repair."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from frugal.core.context import Context
from frugal.core.declarations import load_all
from frugal.draw.prints import draw_all
from frugal.studies.recourse.frames import SCENARIO


def draw_recourse_figures(
    *,
    summary: pd.DataFrame,
    sizes: pd.DataFrame,
    confidence: pd.DataFrame,
    frequencies: pd.DataFrame,
    outcomes: pd.DataFrame,
    context: Context,
) -> dict[str, Any]:
    """Draw the scenario that the config names; Figure 4 shows every scenario with groups."""
    shown = {key: str(context.settings[key]) for key in SCENARIO}
    labelled = sizes[sizes["label_status"] == "labelled"]
    several = labelled.groupby(["dataset", "variant"])["group"].transform("nunique") > 1
    grouped = labelled[several & (labelled["seed"].astype(str) == shown["seed"])]
    if grouped.empty:
        grouped = _rows(labelled, {key: shown[key] for key in SCENARIO[:3]})
    wrong = _rows(outcomes, shown)
    wrong = wrong[~wrong["correct"] & wrong["generator"].isin(context.settings["mistakes_of"])]
    tables = {
        "sizes": grouped,
        "summary": _rows(summary, shown),
        "confidence": _rows(confidence, shown),
        "frequencies": _rows(frequencies, shown),
        "mistakes": wrong[
            ["dataset", "variant", "generator", "feasible", "answer_cost", "true_cost"]
        ],
    }
    figures = load_all("frugal.studies.recourse.figures", "PrintedFigure")
    return draw_all(figures, "draw_recourse_figures", tables)


def _rows(table: pd.DataFrame, shown: Mapping[str, str]) -> pd.DataFrame:
    """Rows of one scenario, whose keys may be read as numbers or as text."""
    rows = table
    for column, value in shown.items():
        rows = rows[rows[column].astype(str) == value]
    return rows.reset_index(drop=True)
