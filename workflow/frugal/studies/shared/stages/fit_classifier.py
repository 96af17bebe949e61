"""Stage `fit_classifier`: the classifier that predicts from whatever was acquired (afape, A.11)."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.rows import Rows
from frugal.core.streams import Streams
from frugal.data.stored_table import StoredTable
from frugal.learn.trees import fit_boosting, fit_forest, training_set


def fit_classifier(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, dict[str, np.ndarray]]:
    """Train on the rows of part `train`: once as recorded, once with panels dropped at random.

    A table whose split is that of `diagnosis` has no such part, and `encoder` in its place.
    """
    del progress  # one fit, seconds
    stored = StoredTable(table, catalogue)
    name = "train" if stored.parts(["train"]) else "encoder"
    data, _ = stored.take([name])
    values, observed, label = training_set(
        data,
        probability=settings["subsample_probability"],
        rng=streams.generator("subsample"),
    )
    common = {
        "classes": len(data.classes),
        "trees": settings["trees"],
        "min_leaf": settings["min_leaf"],
        "rng": streams.generator("classifier"),
    }
    if settings["kind"] == "forest":
        ensemble = fit_forest(values, observed, label, **common)
    else:
        ensemble = fit_boosting(
            values,
            observed,
            label,
            leaves=settings["leaves"],
            learning_rate=settings["learning_rate"],
            **common,
        )
    return {"classifier": ensemble.to_arrays()}
