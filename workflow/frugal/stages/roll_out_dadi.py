"""Stage `roll_out_dadi`: what every agent of a fold acquires and what it is worth; each decision.

Also the AUC of the pretrained networks on one panel alone [dadi, fig. 3].
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.agents.dadi_policies import DadiPolicies, DadiRollout
from frugal.contracts import DataError, Streams, Table
from frugal.evaluation.fairness import adversary_auc, auc_interval
from frugal.stages._dadi_frames import (
    Fold,
    acquired_columns,
    agents_of,
    fold_of,
    label_for,
)

ALL = "all features"
LEVEL = 0.95  # of every interval; part of the column names' meaning


def roll_out_dadi(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """Acquire greedily for all test rows and, for the audit, for some training rows."""
    del progress
    fold = fold_of(table, catalogue, settings["design"], streams)
    agents, pretrained = agents_of(weights, fold, settings["training"])
    if agents.learners != len(settings["gammas"]):
        raise DataError(
            f"the stored DADI agent has {agents.learners} learners; the settings have "
            f"{len(settings['gammas'])} gammas, one for each"
        )
    train = fold.rows("train")
    audited = streams.generator("audited").permutation(train)[: settings["audited_rows"]]
    rows = np.concatenate([fold.rows("test"), np.sort(audited)])
    told = label_for(settings["training"], fold.label)
    rolled = agents.roll_out(fold.values[rows], label=None if told is None else told[rows])
    stratum = _stratum(fold.shown, settings["selection_by"])
    test = int((fold.part == "test").sum())
    return {
        "decisions": _decisions(fold, rolled, rows[:test], settings["gammas"]),
        "episodes": _episodes(fold, rolled, rows, stratum, settings["gammas"]),
        "singles": _singles(fold, pretrained, settings["training"]),
    }


def _decisions(
    fold: Fold, rolled: DadiRollout, rows: np.ndarray, gammas: list[float]
) -> pd.DataFrame:
    """One row per decision on test rows; a greedy decision has probability 1."""
    n, a = len(rows), len(fold.shown.actions)
    q = rolled.q_values[:, :n]
    learner, unit, step = np.nonzero(~np.isnan(q))
    order = np.concatenate(
        [rolled.order[:, :n], np.full((len(gammas), n, 1), -1, dtype=np.int64)], axis=2
    )
    action = order[learner, unit, step]
    action = np.where(action < 0, a, action)
    return pd.DataFrame(
        {
            "gamma": np.array(gammas)[learner],
            "row_id": fold.shown.row_id[rows][unit],
            "step": step,
            "action": action,
            "cost": np.append(fold.shown.action_cost, 0.0)[action],
            "probability": np.ones(len(step)),
            "value": q[learner, unit, step].astype(np.float64),
        }
    )


def _episodes(
    fold: Fold,
    rolled: DadiRollout,
    rows: np.ndarray,
    stratum: np.ndarray,
    gammas: list[float],
) -> pd.DataFrame:
    """One row per agent and unit: its set, and what both networks say of it."""
    frames = []
    for k, gamma in enumerate(gammas):
        identity = pd.DataFrame(
            {
                "gamma": gamma,
                "row_id": fold.shown.row_id[rows],
                "part": fold.part[rows].astype(object),
                "stratum": stratum[rows],
                "label": fold.label[rows],
                "sensitive": fold.sensitive[rows],
                "label_probability": rolled.label_probability[k].astype(np.float64),
                "adversary_probability": rolled.adversary_probability[k].astype(np.float64),
                "cost": rolled.acquired[k] @ fold.shown.action_cost,
            }
        )
        sets = pd.DataFrame(rolled.acquired[k], columns=acquired_columns(fold.shown))
        frames.append(pd.concat([identity, sets], axis=1))
    return pd.concat(frames, ignore_index=True)


def _stratum(data: Table, panel: str | None) -> np.ndarray:
    """The level of a one-hot panel, by which selection is shown; "all" without one. (n,)"""
    if panel is None:
        return np.full(len(data), "all", dtype=object)
    columns = next(p.columns for p in data.panels if p.name == panel)
    at = [data.columns.index(column) for column in columns]
    names = np.array([column.partition("=")[2] for column in columns], dtype=object)
    return names[data.values[:, at].argmax(axis=1)]


def _singles(fold: Fold, pretrained: DadiPolicies, training: Mapping[str, Any]) -> pd.DataFrame:
    """AUC of both pretrained networks on test rows, fed one panel alone, and fed all."""
    rows = fold.rows("test")
    told = label_for(training, fold.label[rows])
    names = [panel.name for panel in fold.shown.actions]
    found = []
    for j, name in enumerate([*names, ALL]):
        sets = np.zeros((len(rows), len(names)), dtype=bool)
        sets[:, slice(None) if name == ALL else j] = True
        scores = pretrained.predict_from_sets(fold.values[rows], sets, label=told)
        of_label, of_sensitive = (score[0].astype(np.float64) for score in scores)
        label, sensitive = fold.label[rows], fold.sensitive[rows]
        for network, auc in (
            ("classifier", auc_interval(label, of_label, level=LEVEL)),
            ("adversary",
             adversary_auc(training["objective"], label, sensitive, of_sensitive, level=LEVEL)),
        ):  # fmt: skip
            found.append(
                {"panel": name, "network": network, "auc": auc.value,
                 "auc_low": auc.low, "auc_high": auc.high}
            )  # fmt: skip
    return pd.DataFrame(found)
