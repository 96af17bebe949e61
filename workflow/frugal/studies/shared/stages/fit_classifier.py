"""Stage `fit_classifier`: the classifier that predicts from whatever was acquired (afape, A.11)."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.rows import Rows
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.data.stored_table import StoredTable
from frugal.learn.trees import TreeEnsemble, fit_boosting, fit_forest, training_set

PARTS = ("train", "encoder", "agent")  # the first that the table has


def fit_classifier(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, dict[str, np.ndarray]]:
    """Train on the rows of part `train`: once as recorded, once with panels dropped at random.

    A table whose split is that of `diagnosis` has no such part, and `encoder` in its place; one
    that is divided into folds has `agent`.
    """
    del progress  # one fit, seconds
    stored = StoredTable(table, catalogue)
    name = next((one for one in PARTS if stored.parts([one])), PARTS[0])
    data = stored.at(stored.positions([name]))
    return {"classifier": classifier_of(data, settings, streams).to_arrays()}


def classifier_of(data: Table, settings: Mapping[str, Any], streams: Streams) -> TreeEnsemble:
    """Trees that predict the class of some rows from any of their panels."""
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
        return fit_forest(values, observed, label, **common)
    return fit_boosting(
        values, observed, label, leaves=settings["leaves"],
        learning_rate=settings["learning_rate"], **common,
    )  # fmt: skip
