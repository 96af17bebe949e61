"""Stage `fit_fair_baselines`: baselines of dadi's agents, on the same fold."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.context import Context
from frugal.core.stored import StoredArrays
from frugal.core.table import Table
from frugal.studies.dadi.fair_baselines import (
    FairBaseline,
    Options,
    PanelSample,
    fair_baseline,
    fitted,
)
from frugal.studies.dadi.frames import Fold, agents_of, decision_cut, fold_of, label_for
from frugal.studies.dadi.networks import DadiPolicies


def fit_fair_baselines(
    *, table: pd.DataFrame, catalogue: Mapping[str, Any], weights: StoredArrays, context: Context
) -> dict[str, pd.DataFrame]:
    """Fit every baseline of the config, predict and decide on test rows, and record the inputs."""
    settings = context.settings
    fold = fold_of(table, catalogue, settings["design"], context.streams)
    _, pretrained = agents_of(weights, fold, settings["training"])
    test, validation_rows = fold.rows("test"), fold.rows("validation")
    predictions, panels = [], []
    for name in context.progress(list(settings["baselines"]), desc="baselines"):
        chosen = settings["baselines"][name]
        kind = fair_baseline(chosen["kind"])
        rng = context.streams.generator(name)
        data = fold.full if chosen.get("withheld", False) else fold.shown
        if kind.predict is None:
            sets, probability = _by_network(fold, pretrained, test, chosen, settings, rng)
            rng = context.streams.generator(name, "validation")
            _, validation = _by_network(fold, pretrained, validation_rows, chosen, settings, rng)
        else:
            sets, every = _by_one_set(fold, data, test, kind, chosen, settings, rng)
            probability, validation = every[test], every[validation_rows]
        if kind.random_cut:
            threshold, cut = np.nan, rng.random(len(test))
        else:
            threshold = cut = decision_cut(settings["threshold"], validation, fold)
        predictions.append(
            pd.DataFrame(
                {
                    "method": name,
                    "row_id": fold.shown.row_id[test],
                    "label": fold.label[test],
                    "sensitive": fold.sensitive[test],
                    "label_probability": probability,
                    "decision": probability >= cut,
                    "decision_threshold": threshold,
                    "features_acquired": sets.sum(axis=1),
                    "cost": sets @ data.action_cost,
                }
            )
        )
        frequency = sets.mean(axis=0)
        names = [panel.name for panel in data.actions]
        panels.append(pd.DataFrame({"method": name, "panel": names, "frequency": frequency}))
    return {
        "predictions": pd.concat(predictions, ignore_index=True),
        "panels": pd.concat(panels, ignore_index=True),
    }


def _by_network(
    fold: Fold,
    pretrained: DadiPolicies,
    rows: np.ndarray,
    chosen: Mapping[str, Any],
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Sets of some rows, all panels or random ones, and the pretrained classifier's word."""
    shape = len(rows), len(fold.shown.actions)
    sets = rng.random(shape) < chosen.get("probability", 1.0)
    labels = label_for(settings["training"], fold.label[rows])
    probability, _ = pretrained.predict_from_sets(fold.shown.values[rows], sets, label=labels)
    return sets, probability[0].astype(np.float64)


def _by_one_set(
    fold: Fold,
    data: Table,
    test: np.ndarray,
    kind: FairBaseline,
    chosen: Mapping[str, Any],
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """The one set of panels for everybody, on every test row; the learner's word of all rows."""
    values = fold.full_values if data is fold.full else fold.values
    sample = PanelSample(
        values.astype(np.float64),
        data.provides,
        fold.label,
        fold.sensitive,
        fold.part == "train",
        fold.part == "validation",
    )
    baseline_options = settings["baseline_options"]
    options = Options(
        baseline_options["ridge"],
        baseline_options["boosting"],
        baseline_options["selection_rows"],
        rng,
    )
    panels, probability = fitted(sample, kind, chosen, options)
    return np.broadcast_to(panels, (len(test), len(panels))), probability
