"""Stage `train_baselines`: classifiers that see the same panels of all [diagnosis, table 2]."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.contracts import Streams, Table
from frugal.models.tabular_baselines import fit_baseline
from frugal.stages._diagnosis_frames import (
    JUDGED,
    Solution,
    divided,
    fixed_runs,
    full_cost,
    rows_of,
    run_frames,
    task_of,
    whole_sets,
)

TRAINED = ("encoder", "agent")  # all rows that a front learns from, imputer and policies together


def train_baselines(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """Fit each classifier on all panels and on the fixed ones  [diagnosis, table 2].

    Validation units pick its grid point and its threshold.

    Every panel that a unit can have is paid for; of full observation, no panel whose columns
    another panel brings as well.
    """
    data, part = divided(table, catalogue, streams)
    task = task_of(data, terminals=len(data.classes))
    named = {panel.name: k for k, panel in enumerate(data.actions)}
    fixed = np.isin(np.arange(len(named)), [named[name] for name in settings["fixed_panels"]])
    choices = {"full": (whole_sets(data), "all panels")}
    if fixed.any():
        choices["fixed"] = (fixed, " + ".join(settings["fixed_panels"]))
    solutions, sets, risks, thresholds = [], [], [], []
    wanted = [(name, which) for name in settings["baselines"] for which in choices]
    for name, which in progress(wanted, desc="baselines"):
        chosen, words = choices[which]
        shown = data.values[:, data.columns_observed(chosen[None])[0]]
        fitted = _fitted(settings, name, data, part, shown, streams.generator("fit", name, which))
        solutions.append(Solution(f"{name}_{which}", 0, np.nan, np.nan, words))
        sets.append(chosen)
        risks.append(fitted.predict_proba(shown))
        thresholds.append(fitted.threshold)
    risk = np.stack(risks)
    said = (risk >= np.array(thresholds)[:, None]).astype(np.int64)
    outcomes, decisions = fixed_runs(solutions, np.stack(sets), data, task, part, risk, said)
    whole = {name: float(full_cost(data, task)[rows_of(part, name)].mean()) for name in JUDGED}
    return run_frames(solutions, outcomes, decisions, whole)


def _fitted(
    settings: Mapping[str, Any],
    name: str,
    data: Table,
    part: np.ndarray,
    shown: np.ndarray,
    rng: np.random.Generator,
) -> Any:
    """One classifier on the columns shown, with its threshold."""
    own = dict(settings["baselines"][name])
    train, validation = np.isin(part, TRAINED), part == "validation"
    return fit_baseline(
        own.pop("kind"), shown[train], data.label[train], shown[validation],
        data.label[validation], settings=own | {"criterion": settings["criterion"]}, rng=rng,
    )  # fmt: skip
