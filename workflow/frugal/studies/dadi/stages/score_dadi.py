"""Stage `score_dadi`: one fold's agents and baselines in numbers (dadi, section 4)."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.streams import Streams
from frugal.judge.fair_scores import fairness_row, selection_rows
from frugal.judge.fairness import LEVEL, adversary_auc

ACQUIRED = "acquired:"
_ASKED = ("label", "sensitive", "adversary_probability")


def score_dadi(
    *,
    outcomes: pd.DataFrame,
    predictions: pd.DataFrame,
    audit: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """Score every agent and baseline on test rows; how often each panel is acquired."""
    del progress
    test = outcomes[outcomes["part"] == "test"].rename(columns={"probability": "label_probability"})
    test = test.astype({"policy": str})
    panels = {c: c.removeprefix(ACQUIRED) for c in test.columns if c.startswith(ACQUIRED)}
    rows = []
    for (method, gamma), units in test.groupby(["policy", "gamma"], sort=False, dropna=False):
        of_group = np.nan
        if units["adversary_probability"].notna().all():
            columns = (units[name].to_numpy() for name in _ASKED)
            of_group = adversary_auc(settings["objective"], *columns, level=LEVEL).value
        stream = (str(method), str(gamma)) if method == "dadi" else (str(method),)
        decision = units["verdict"].to_numpy() == 1
        rows.append(
            {"method": str(method), "gamma": float(str(gamma))}
            | _scored(units, decision, settings, streams.generator(*stream))
            | {
                "features_acquired": float(units[list(panels)].sum(axis=1).mean()),
                "cost": float(units["acquisition_cost"].mean()),
                "adversary_auc": of_group,
                "decision_threshold": float(units["decision_threshold"].iloc[0]),
            }
        )
    for method, units in predictions.groupby("method", sort=False):
        rows.append(
            {"method": str(method), "gamma": np.nan}
            | _scored(units, units["decision"].to_numpy(), settings, streams.generator(str(method)))
            | {
                "features_acquired": float(units["features_acquired"].mean()),
                "cost": float(units["cost"].mean()),
                "adversary_auc": np.nan,
                "decision_threshold": float(units["decision_threshold"].iloc[0]),
            }
        )
    scores = pd.DataFrame(rows)
    return {
        "scores": scores.merge(_worst(audit, settings), on=["method", "gamma"], how="left"),
        "selection": selection_rows(test[test["policy"] == "dadi"], panels, ["gamma", "stratum"]),
    }


def _scored(
    units: pd.DataFrame, decision: np.ndarray, settings: Mapping[str, Any], rng: np.random.Generator
) -> dict[str, float]:
    return fairness_row(
        units["label"].to_numpy(), units["sensitive"].to_numpy(),
        units["label_probability"].to_numpy(), decision,
        level=LEVEL, resamples=settings["resamples"], rng=rng,
    )  # fmt: skip


def _worst(audit: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """The best outsider's AUC for the group, of each agent and of whoever reads all panels."""
    told = audit[audit["target"] == "sensitive"]
    agents = told.groupby(["method", "gamma"], sort=False, dropna=False)["auc"].max().reset_index()
    everything = agents.loc[agents["method"] == "all_panels", "auc"].iloc[0]
    readers = pd.DataFrame({"method": settings["reads_all"], "gamma": np.nan, "auc": everything})
    found = pd.concat([agents[agents["method"] != "all_panels"], readers], ignore_index=True)
    return found.rename(columns={"auc": "audit_auc"})
