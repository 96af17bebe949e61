"""Stage `train_encoder`: the posterior state encoder of a data set [diagnosis, sec. 5.2].

Fitted to the rows of part `encoder` alone, so that no unit of the policies has a say in it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.streams import Streams
from frugal.learn.imputer_kinds import fit_encoder, imputer_arrays
from frugal.learn.imputers.mean import MeanImputer
from frugal.studies.diagnosis.frames import divided


def train_encoder(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Fit an imputer, and measure it on part `encoder_validation` beside means.

    A row is completed after one random set of panels was taken away; the error is over what had a
    value and was hidden, in standard deviations of the training rows.
    """
    del progress
    data, part = divided(table, catalogue, streams)
    imputer = fit_encoder(
        data.values[part == "encoder"], data.values[part == "encoder_validation"],
        table=data, settings=settings,
        rng=streams.generator("encoder"),
    )  # fmt: skip
    rows = data.values[part == "encoder_validation"]
    kept = streams.generator("hidden").random((len(rows), len(data.actions))) < 0.5
    shown = np.where(data.columns_observed(kept), rows, np.nan)
    hidden = ~np.isnan(rows) & np.isnan(shown)
    errors = [
        {"imputer": name, "rmse": _error(model, rows, shown, hidden), "entries": int(hidden.sum())}
        for name, model in (
            (settings["kind"], imputer),
            ("mean of the column", MeanImputer(imputer.scaling)),
        )
    ]
    return {"encoder": imputer_arrays(imputer), "validation": pd.DataFrame(errors)}


def _error(model: Any, rows: np.ndarray, shown: np.ndarray, hidden: np.ndarray) -> float:
    """Root mean squared error over the hidden entries, in standard deviations."""
    filled = model.scaling.standardise(model.impute(shown))
    return float(np.sqrt(np.mean((filled - model.scaling.standardise(rows))[hidden] ** 2)))
