"""Stage `train_baselines`: classifiers that see the same panels of all [diagnosis, table 2]."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.policies.fixed_classifiers import FixedClassifiers
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.learn.tabular_baselines import FittedBaseline, fit_baseline
from frugal.studies.diagnosis.frames import Solution, divided, fixed_runs, task_of, whole_sets

TRAINED = ("encoder", "agent")  # all rows that a front learns from, imputer and policies together


def train_baselines(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """Fit each classifier on all panels, on the fixed ones and on none  [diagnosis, table 2].

    Without a panel it reads the columns known at the start; where there are none it is left out.
    Validation units pick its grid point and its threshold.

    Every panel that a unit can have is paid for; of full observation, no panel whose columns
    another panel brings as well.
    """
    data, part = divided(table, catalogue, streams)
    world = task_of(data, terminals=len(data.classes))
    named = {panel.name: k for k, panel in enumerate(data.actions)}
    fixed = np.isin(np.arange(len(named)), [named[name] for name in settings["fixed_panels"]])
    choices = {"full": (whole_sets(data), "all panels")}
    if fixed.any():
        choices["fixed"] = (fixed, " + ".join(settings["fixed_panels"]))
    if data.free_columns.any():
        choices["free"] = (np.zeros(len(named), dtype=bool), "columns known at the start")
    solutions, sets, fits = [], [], []
    wanted = [(name, which) for name in settings["baselines"] for which in choices]
    for name, which in progress(wanted, desc="baselines"):
        chosen, words = choices[which]
        columns, rng = data.columns_observed(chosen[None])[0], streams.generator("fit", name, which)
        fits.append(_fitted(settings, name, data, part, columns, rng))
        solutions.append(Solution(f"{name}_{which}", 0, np.nan, np.nan, words))
        sets.append(chosen)
    shown = data.columns_observed(np.stack(sets))
    classifiers = [_of_visible(*one) for one in zip(fits, shown, strict=True)]
    policies = FixedClassifiers(
        np.stack(sets), classifiers, np.array([one.threshold for one in fits])
    )
    return fixed_runs(policies, solutions, data, world, part, streams)


def _of_visible(fitted: FittedBaseline, shown: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda visible: fitted.predict_proba(visible[:, shown])


def _fitted(
    settings: Mapping[str, Any],
    name: str,
    data: Table,
    part: np.ndarray,
    columns: np.ndarray,
    rng: np.random.Generator,
) -> FittedBaseline:
    """One classifier on some columns, with its threshold."""
    shown = data.values[:, columns]
    own = dict(settings["baselines"][name])
    train, validation = np.isin(part, TRAINED), part == "validation"
    return fit_baseline(
        own.pop("kind"), shown[train], data.label[train], shown[validation],
        data.label[validation], settings=own | {"criterion": settings["criterion"]}, rng=rng,
    )  # fmt: skip
