"""Rows of the treatment study's means as the figures take them: which panel, which series."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import ConfigError
from frugal.search.planner import planners_with


def same(values: pd.Series, wanted: float) -> pd.Series:
    """True where a threshold is the wanted one, up to the last digits of its decimal form."""
    return pd.Series(np.isclose(values.to_numpy(dtype=float), wanted), index=values.index)


def facetted(rows: pd.DataFrame, *, facet: str, series: str) -> pd.DataFrame:
    """A copy that says which column is the panel and which the series."""
    return rows.assign(facet=rows[facet], series=rows[series]).reset_index(drop=True)


def at_size(means: pd.DataFrame, sizes: list[int] | None) -> pd.DataFrame:
    """Rows of the largest of the training sizes; all rows where there is one size only."""
    return means if sizes is None else means[means["n_train"] == max(sizes)]


def bounded(means: pd.DataFrame, bound: str) -> pd.DataFrame:
    """Policies with one bound, and those that need none."""
    return means[means["bound"].isin([bound, "none"])]


def search_curves(curves: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Best outcome by trials of one policy per planner, and the records' first trial.

    Raises:
        ConfigError: no policy of the sweep has the wanted δ and λ.
    """
    tree = settings["tree"]
    own = curves[(curves["outcome_model"] == tree["outcome_model"])]
    by_delta, by_price = (planners_with("thresholds", key) for key in ("deltas", "trial_prices"))
    constrained = own["planner"].isin(by_delta) & (own["bound"] == tree["bound"])
    chosen = pd.concat(
        [
            own[constrained & same(own["threshold"], settings["delta"])],
            own[own["planner"].isin(by_price) & same(own["threshold"], settings["trial_price"])],
            curves[curves["outcome_model"] == "records"],
        ]
    )
    if not chosen["planner"].isin([*by_delta, *by_price]).any():
        raise ConfigError(
            f"no policy of the sweep has delta {settings['delta']} or trial_price "
            f"{settings['trial_price']}, as treatment.figures asks"
        )
    return chosen.assign(series=chosen["planner"]).reset_index(drop=True)


def tree_policy(policies: pd.DataFrame, settings: Mapping[str, Any]) -> tuple[pd.DataFrame, str]:
    """The first repeat's policy to be drawn as a tree, of the largest training set; and its name.

    Raises:
        ConfigError: the sweep has no such policy.
    """
    tree = settings["tree"]
    rows = policies[
        (policies["grid"] == "sweep")
        & (policies["planner"] == tree["planner"])
        & (policies["outcome_model"] == tree["outcome_model"])
        & (policies["bound"] == tree["bound"])
        & same(policies["threshold"], tree["delta"])
    ]
    if rows.empty:
        raise ConfigError(
            f"the sweep has no policy {tree['planner']}, {tree['outcome_model']}, "
            f"{tree['bound']}, delta {tree['delta']}, as treatment.figures.tree asks"
        )
    rows = rows[rows["seed"] == rows["seed"].min()]
    rows = rows[rows["n_train"] == rows["n_train"].max()]
    name = f"{tree['planner'].upper()}, {tree['outcome_model']}, δ = {tree['delta']:g}"
    return rows.reset_index(drop=True), f"{settings['title']}, {name}"
