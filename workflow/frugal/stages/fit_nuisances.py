"""Stage `fit_nuisances`: propensities, AFA propensities and outcome means, per row (A.5–A.7, A.11).

All regressions of a seed, over agents and folds, are handed down at once, so that networks train in
lock-step.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.contracts import NoSupportError, Streams, Table
from frugal.data.tables import table_from_frames
from frugal.models.calibration import calibration_table, overlap_summary
from frugal.models.nuisance import Head, MeanHead, Scheme, fit_means, fit_probabilities
from frugal.stages._frames import EVALUATED, by_seed, in_s, panel_matrix

COSTS = ["cost", "acquisition_cost", "misclassification_cost"]


def fit_nuisances(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame,
    identification: Mapping[str, Any],
    episodes: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """Fit on the part `nuisance` where the data set has one, else cross-fit on the test rows."""
    data, part = table_from_frames(table, catalogue)
    separate = bool((part == "nuisance").any())
    rows = np.flatnonzero(np.isin(part, EVALUATED) if separate else part == "test")
    data, test = data.take(rows), part[rows] == "test"
    blocked = episodes[(episodes["world"] == "blocked") & episodes["row_id"].isin(data.row_id)]
    found: dict[str, list[pd.DataFrame]] = {
        "propensities": [], "agents": [], "calibration": [], "overlap": []
    }
    for seed, mask in progress(list(by_seed(masks, rows)), desc="seeds"):
        played = dict(list(blocked[blocked["seed"] == seed].groupby("agent", sort=False)))
        rng = streams.generator("nuisance", seed)
        fold = rng.permutation(len(data)) % settings["folds"]
        scheme = Scheme.separate(train=~test, predict=test) if separate else Scheme.crossed(fold)
        records = _Records(data, panel_matrix(mask, "observed", data), identification)
        fitted = _fit_seed(records, played, scheme, settings, rng)
        for name, frame in fitted.items():
            found[name].append(frame.assign(seed=seed))
    frames = {name: pd.concat(parts, ignore_index=True) for name, parts in found.items()}
    kept = set(data.row_id[test])
    for name in ("propensities", "agents"):
        frames[name] = frames[name][frames[name]["row_id"].isin(kept)].reset_index(drop=True)
    return frames
