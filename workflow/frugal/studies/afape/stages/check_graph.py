"""Stage `check_graph`: whether the records contradict the graph that explains their gaps."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.data.panel_columns import panel_columns, panel_matrix
from frugal.data.tables import belonging_from_frames, table_from_frames
from frugal.judge.graph_check import Contrast, GraphCheck, Indicators
from frugal.judge.graph_check import check_graph as check_one
from frugal.judge.records import always_known


def check_graph(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame,
    identification: Mapping[str, Any],
    propensities: pd.DataFrame,
    settings: Any,
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """Test the graph on the test rows of every seed; what cannot be fitted is not tested."""
    del settings
    whole, part = table_from_frames(table, catalogue)
    rows = np.flatnonzero(part == "test")
    data, cluster = whole.take(rows), belonging_from_frames(table, catalogue).take(rows).cluster
    contrasts, found = [], []
    for seed, fitted in progress(list(propensities.groupby("seed", sort=False)), desc="seeds"):
        mask = masks[(masks["seed"] == seed) & masks["row_id"].isin(data.row_id)]
        assert np.array_equal(mask["row_id"], data.row_id), "bug: row order"
        assert np.array_equal(fitted["row_id"], data.row_id), "bug: row order"
        observed = panel_matrix(mask, "observed", data)
        checked = check_one(
            _indicators(data, observed, identification, fitted, cluster),
            *always_known(data, observed),
            streams.generator("graph", seed),
        )  # fmt: skip
        rows = pd.DataFrame([vars(one) for one in checked.contrasts], columns=_COLUMNS)
        contrasts.append(rows.assign(seed=seed))
        found.append({"seed": seed, **_summary(checked)})
    return {
        "contrasts": pd.concat(contrasts, ignore_index=True),
        "graph_check": pd.DataFrame(found),
    }


_COLUMNS = list(Contrast.__dataclass_fields__)


def _summary(checked: GraphCheck) -> dict[str, Any]:
    return {
        "tested": len(checked.contrasts),
        "p_value": checked.p_value,
        "graph_refuted": checked.refuted,
        "sentence": checked.sentence,
    }


def _indicators(
    data: Table,
    observed: np.ndarray,
    identification: Mapping[str, Any],
    fitted: pd.DataFrame,
    cluster: np.ndarray | None,
) -> Indicators:
    """The panels that can be missing, with their fitted probabilities and their causes' values."""
    factors = fitted[panel_columns("factor", data)].to_numpy(np.float64)
    values = np.where(data.columns_observed(observed), data.values, np.nan)
    place = {panel.name: k for k, panel in enumerate(data.actions)}
    at = [place[law["panel"]] for law in identification["factors"]]
    causes = [
        np.stack([values[:, list(data.columns).index(c)] for c in law["columns"]], axis=1)
        if law["columns"]
        else np.empty((len(data), 0))
        for law in identification["factors"]
    ]
    probability = factors[:, at]
    for k, known in enumerate(causes):
        probability[np.isnan(known).any(axis=1), k] = np.nan
    return Indicators(
        [data.actions[k].name for k in at], observed[:, at], probability, causes, cluster
    )
