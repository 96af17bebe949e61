"""Stage `draw_fronts`: what every family reaches within each budget, on one data set."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.declarations import load_all
from frugal.core.streams import Streams
from frugal.draw.figures import draw_all
from frugal.studies.diagnosis.figures.given import Families


def draw_fronts(
    *,
    budgets: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Draw the families of one data set.

    Settings: `dataset`, its `title` and its `cost_unit`.
    """
    del streams, progress
    rows = budgets[budgets["dataset"].astype(str) == settings["dataset"]]
    given = Families(settings["title"], rows.reset_index(drop=True))
    figures = load_all("frugal.studies.diagnosis.figures", "PrintedFigure")
    return draw_all(figures, "draw_fronts", given)
