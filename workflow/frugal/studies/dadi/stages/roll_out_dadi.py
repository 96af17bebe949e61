"""Stage `roll_out_dadi`: what every agent of a fold acquires and predicts; each decision.

Agents of other kinds act on the same rows, if there are some.

Also the AUC of the pretrained networks on one panel alone [dadi, fig. 3].
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.logs import Member, Scene, decision_frame, outcome_frame
from frugal.acquire.policies.dadi_policies import DadiPolicies
from frugal.acquire.registry import build_policy, end_shares
from frugal.acquire.rollouts import roll_out
from frugal.core.episodes import Episodes, Policy
from frugal.core.errors import DataError
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import World
from frugal.judge.fairness import LEVEL, adversary_auc, auc_interval
from frugal.learn.trees import TreeEnsemble
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
    **further: Mapping[str, np.ndarray],
) -> dict[str, pd.DataFrame]:
    """Acquire greedily for all test rows and, for the audit, for some training rows.

    `further` holds policy and classifier of the agents of other kinds, in the order of `agents`.
    """
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
    episodes = roll_out(agents, world, uniforms=np.zeros((len(rows), world.panels + 1)))
    assert episodes.verdict is not None, "bug: these agents have a verdict"
    label = label_for(settings["training"], world.label)
    _, of_group = agents.predict_from_sets(world.values, episodes.acquired, label=label)
    cuts = _cuts(agents, fold, settings["threshold"])
    stratum = _stratum(fold.shown, settings["selection_by"])[rows]
    acting = _Acting(fold, rows, world, stratum)
    members = [Member("dadi", k) for k in range(agents.members)]
    gammas = np.array(settings["gammas"])
    logs = [acting.frames(members, episodes, episodes.verdict, cuts, gammas, of_group.ravel())]
    for k, (name, agent) in enumerate(settings["agents"].items()):
        policy, classifier = (further[f"{what}_{k}"] for what in ("policy", "classifier"))
        other = build_policy(agent, table=fold.shown, stored=policy)
        ensemble = TreeEnsemble.from_arrays(classifier).require_table(fold.shown)
        rng = streams.generator("decisions", name)
        held = World.of_table(fold.shown).take(fold.rows("validation"))
        validated = end_shares(_acted(other, held, rng), held, ensemble)[0, :, 1]
        cut = np.array([decision_cut(settings["threshold"], validated, fold)])
        episodes = _acted(other, world, rng)
        shares, nothing = end_shares(episodes, world, ensemble), np.full(len(rows), np.nan)
        logs.append(
            acting.frames([Member(name, 0)], episodes, shares, cut, np.array([np.nan]), nothing)
        )
    return {
        "decisions": _together([decisions for decisions, _ in logs]),
        "outcomes": _together([outcomes for _, outcomes in logs]),
        "singles": _singles(fold, pretrained, settings["training"]),
    }


@dataclass(frozen=True, eq=False)
class _Acting:
    """Rows of a fold on which agents act. Shapes: n rows.

    Attributes:
        fold: whose rows they are.
        rows: positions in the fold. (n,)
        world: the same rows.
        stratum: by which selection is shown. (n,)
    """

    fold: Fold
    rows: np.ndarray
    world: World
    stratum: np.ndarray

    def frames(
        self,
        members: Sequence[Member],
        episodes: Episodes,
        shares: np.ndarray,
        cuts: np.ndarray,
        gammas: np.ndarray,
        of_group: np.ndarray,
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Decisions on test rows, and outcomes on all, of K agents.

        Args:
            members: the K agents.
            episodes: theirs.
            shares: class probabilities at the end. (K, n, 2)
            cuts: least probability of class 1 that is decided 1. (K,)
            gammas: weight of accuracy; NaN of agents without one. (K,)
            of_group: the adversary's probability of group 1; NaN without an adversary. (K n,)
        """
        table, count = self.fold.shown, len(members)
        panels = [panel.name for panel in table.actions]
        part = self.fold.part[self.rows]
        scene = Scene(members, self.world, 0, part, panels, table.misclassification_cost)
        decision = (shares[..., 1] >= cuts[:, None]).astype(np.int64)
        outcomes = outcome_frame(scene, episodes.acquired, verdict=decision, shares=shares)
        log = decision_frame(scene, episodes)
        return log[log["part"] == "test"].reset_index(drop=True), outcomes.assign(
            gamma=np.repeat(gammas, len(part)),
            decision_threshold=np.repeat(cuts, len(part)),
            stratum=np.tile(self.stratum, count),
            sensitive=np.tile(self.fold.sensitive[self.rows], count),
            adversary_probability=of_group.astype(np.float64),
        )


def _acted(policy: Policy, world: World, rng: np.random.Generator) -> Episodes:
    return roll_out(policy, world, uniforms=rng.random((len(world), world.panels + 1)))


def _together(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """One below the other; names of policies stay categories."""
    if len(frames) == 1:
        return frames[0]
    names = [str(name) for one in frames for name in one["policy"].cat.categories]
    same = [one.assign(policy=one["policy"].cat.set_categories(names)) for one in frames]
    return pd.concat([one[frames[0].columns] for one in same], ignore_index=True)


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
