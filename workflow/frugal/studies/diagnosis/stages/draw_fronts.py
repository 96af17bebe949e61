"""Stage `draw_fronts`: what every family reaches within each budget, on one data set."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.declarations import load_all
from frugal.core.errors import DataError
from frugal.core.streams import Streams
from frugal.draw.figures import draw_all
from frugal.judge.beliefs import reliability
from frugal.studies.diagnosis.choice import BEST_FULL
from frugal.studies.diagnosis.figures.given import Families

BINS, LEVEL = 10, 0.95
TOLD = ["method", "log_loss", "base_log_loss", "calibration_slope"]


def draw_fronts(
    *,
    budgets: pd.DataFrame,
    outcomes: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Draw the families of one data set.

    Settings: `dataset`, its `title` and its `cost_unit`; `criterion`, `seed` and `budget_share` of
    the policies whose beliefs are drawn.

    Raises:
        DataError: no family has a policy within that budget.
    """
    del streams, progress
    rows = budgets[budgets["dataset"].astype(str) == settings["dataset"]]
    share = settings["budget_share"]
    given = Families(
        settings["title"], rows.reset_index(drop=True),
        _reliability(rows, outcomes, settings), share,
    )  # fmt: skip
    figures = load_all("frugal.studies.diagnosis.figures", "PrintedFigure")
    return draw_all(figures, "draw_fronts", given)


def _reliability(
    budgets: pd.DataFrame, outcomes: pd.DataFrame, settings: Mapping[str, Any]
) -> pd.DataFrame:
    """Groups of test units by belief, of the policy that each way of ordering panels chooses."""
    wanted = (
        (budgets["criterion"].astype(str) == settings["criterion"])
        & (budgets["seed"].astype(int) == int(settings["seed"]))
        & np.isclose(budgets["budget_share"], settings["budget_share"])
        & (budgets["method"].astype(str) != BEST_FULL)
        & (budgets["family"].astype(str) != "baselines")
    )
    texts = outcomes[["policy", "part"]].astype(str)
    found = []
    for row in budgets[wanted].to_dict("records"):
        mine = (texts["policy"] == row["method"]) & (outcomes["member"] == row["pair"])
        test = outcomes[mine & (texts["part"] == "test")].dropna(subset="belief")
        if len(test):
            table = reliability(
                test["label"].to_numpy(np.int64), test["belief"].to_numpy(), bins=BINS, level=LEVEL
            )
            found.append(table.assign(**{name: row[name] for name in TOLD}))
    if not found:
        raise DataError(
            f"{settings['dataset']}: no family has a policy within {settings['budget_share']:g} of "
            "the price of all panels; the key diagnosis.figures.budget_share names that share"
        )
    table = pd.concat(found, ignore_index=True)
    return table[[*TOLD, *(name for name in table.columns if name not in TOLD)]]
