"""Stage `summarise_grid`: how often verdicts were right in worlds whose truth is known."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.streams import Streams
from frugal.judge.registry import READ
from frugal.judge.verdicts import readable
from frugal.studies.afape.grid import CLEAR

WORLD = ["dataset", "mechanism", "missing_share", "graph"]


def summarise_grid(
    *,
    draws: pd.DataFrame,
    estimates: pd.DataFrame,
    settings: Any,
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """One row for each world and graph, and one for each of its estimators."""
    del settings, streams, progress
    draws, estimates = (_plain(frame) for frame in (draws, estimates))
    worlds = [_world(key, rows, estimates) for key, rows in draws.groupby(WORLD, sort=False)]
    own = [
        _estimator(key, rows)
        for key, rows in estimates[estimates["estimator"] != "ground_truth"].groupby(
            [*WORLD, "estimator"], sort=False
        )
    ]
    return {"grid": pd.DataFrame(worlds), "grid_estimators": pd.DataFrame(own)}


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    texts = frame.astype({name: str for name in WORLD if name != "missing_share"})
    return texts.assign(missing_share=frame["missing_share"].astype(float))


def _world(key: tuple, rows: pd.DataFrame, estimates: pd.DataFrame) -> dict[str, Any]:
    """Verdicts of one world under one graph."""
    told = rows[rows["named"] != ""]
    sure = told[told["sure"]]
    clear = rows[rows["gap"] > CLEAR * rows["std_error"]]
    mine = np.logical_and.reduce([estimates[n] == v for n, v in zip(WORLD, key, strict=True)])
    read = estimates[mine & (estimates["estimator"] == READ[0])]
    read = read[readable(read)]
    held = read["truth"].between(read["ci_low"], read["ci_high"])
    return dict(zip(WORLD, key, strict=True)) | {
        "draws": len(rows),
        "told": len(told),
        "sure_draws": len(sure),
        "sure_and_wrong": int((sure["regret"] > 0).sum()),
        "clear": len(clear),
        "clear_and_sure": int(clear["sure"].sum()),
        **{n: int(told[n].sum()) for n in ("costlier", "costlier_told", "best_excluded")},
        "refuted_draws": int(rows["graph_refuted"].sum()),
        "regret": float(told["regret"].mean()),
        "best_cost": float(rows["best_cost"].iloc[0]),
        "intervals": len(read),
        "covered": int(held.sum()),
        "bias": float((read["estimate"] - read["truth"]).mean()),
        "width": float((read["ci_high"] - read["ci_low"]).mean()),
    }


def _estimator(key: tuple, rows: pd.DataFrame) -> dict[str, Any]:
    """Errors of one estimator in one world, and how often its lowest estimate is not the best."""
    done = rows[rows["status"] == "ok"]
    error = done["estimate"] - done["truth"]
    held = done["truth"].between(done["ci_low"], done["ci_high"])
    every = rows["agent"].nunique()
    picks = [one for _, one in done.groupby("draw") if len(one) == every]
    wrong = [_extra(one) for one in picks]
    return dict(zip([*WORLD, "estimator"], key, strict=True)) | {
        "draws": int(rows["draw"].nunique()),
        "intervals": len(done),
        "covered": int(held.sum()),
        "bias": float(error.mean()),
        "std_error": float(done["std_error"].replace(np.inf, np.nan).mean()),
        "width": float((done["ci_high"] - done["ci_low"]).replace(np.inf, np.nan).mean()),
        "picks": len(picks),
        "wrong_picks": int(sum(extra > 0 for extra in wrong)),
        "regret": float(np.mean(wrong)) if wrong else np.nan,
    }


def _extra(rows: pd.DataFrame) -> float:
    """What the policy of the lowest estimate truly costs more than the best."""
    picked = rows.sort_values(["estimate", "agent"], kind="stable").iloc[0]
    return float(picked["truth"] - rows["truth"].min())
