"""Stage `roll_out_dadi`: what every agent of a fold acquires and what it is worth; each decision.

Also the AUC of the pretrained networks on one panel alone [dadi, fig. 3].
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.logs import Member, Scene, decision_frame, outcome_frame
from frugal.acquire.policies.dadi_policies import DadiPolicies
from frugal.acquire.rollouts import roll_out
from frugal.core.errors import DataError
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import World
from frugal.judge.fairness import LEVEL, adversary_auc, auc_interval
from frugal.studies.dadi.frames import (
    Fold,
    agents_of,
    decision_cut,
    fold_of,
    label_for,
)
from frugal.studies.dadi.spec import LABEL_SHARE

ALL = "all features"


def roll_out_dadi(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    weights: StoredArrays,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """Acquire greedily for all test rows and, for the audit, for some training rows."""
    del progress
    fold = fold_of(table, catalogue, settings["design"], streams)
    agents, pretrained = agents_of(weights, fold, settings["training"])
    if agents.members != len(settings["gammas"]):
        raise DataError(
            f"the stored DADI agent has {agents.members} learners; the settings have "
            f"{len(settings['gammas'])} gammas, one for each"
        )
    train = fold.rows("train")
    audited = streams.generator("audited").permutation(train)[: settings["audited_rows"]]
    rows = np.concatenate([fold.rows("test"), np.sort(audited)])
    world = World.of_table(fold.shown).take(rows)
    told = label_for(settings["training"], world.label)
    episodes = roll_out(agents, world, uniforms=np.zeros((len(rows), world.panels + 1)))
    assert episodes.verdict is not None, "bug: these agents have a verdict"
    _, of_group = agents.predict_from_sets(world.values, episodes.acquired, label=told)
    panels = [panel.name for panel in fold.shown.actions]
    members = [Member("dadi", k) for k in range(agents.members)]
    error_cost = fold.shown.misclassification_cost
    scene = Scene(members, world, 0, fold.part[rows], panels, error_cost)
    cuts = _cuts(agents, fold, settings["threshold"])
    said = (episodes.verdict[..., 1] >= cuts[:, None]).astype(np.int64)
    outcomes = outcome_frame(scene, episodes.acquired, verdict=said, shares=episodes.verdict)
    stratum = _stratum(fold.shown, settings["selection_by"])[rows]
    gammas = np.array(settings["gammas"])
    log = decision_frame(scene, episodes)
    return {
        "decisions": log[log["part"] == "test"].reset_index(drop=True),
        "outcomes": outcomes.assign(
            gamma=gammas[outcomes["member"]],
            decision_threshold=cuts[outcomes["member"]],
            stratum=np.tile(stratum, len(gammas)),
            sensitive=np.tile(fold.sensitive[rows], len(gammas)),
            adversary_probability=of_group.astype(np.float64).ravel(),
        ),
        "singles": _singles(fold, pretrained, settings["training"]),
    }


def _cuts(agents: DadiPolicies, fold: Fold, threshold: float | int | str) -> np.ndarray:
    """Least probability that each agent decides 1, by its own validation episodes. (K,)"""
    if threshold != LABEL_SHARE:
        return np.full(agents.members, float(threshold))
    world = World.of_table(fold.shown).take(fold.rows("validation"))
    episodes = roll_out(agents, world, uniforms=np.zeros((len(world), world.panels + 1)))
    assert episodes.verdict is not None, "bug: these agents have a verdict"
    return np.array([decision_cut(threshold, own, fold) for own in episodes.verdict[..., 1]])


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
        scores = pretrained.predict_from_sets(fold.shown.values[rows], sets, label=told)
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
