"""Stage `audit_fairness`: what outsiders, trained afterwards, learn from the collected sets."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.contracts import Streams
from frugal.evaluation.adversary_audit import LEARNERS, adversary_score, shown_inputs
from frugal.evaluation.fairness import auc_interval
from frugal.evaluation.set_adversary import fit_set_networks
from frugal.stages._dadi_frames import Fold, acquired_sets, fold_of
from frugal.stages.roll_out_dadi import LEVEL

TARGETS = ("label", "sensitive")


def audit_fairness(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    episodes: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """AUC of each outsider for the group and for the label, on each agent's sets and on all panels.

    Outsiders learn from training rows, whose sets the agent collected after its training; test rows
    judge them. Where the agent's aim is equal opportunity, the group is told among rows with y = 1
    alone; for equalised odds within each label, the larger AUC counting.
    """
    fold = fold_of(table, catalogue, settings["design"], streams)
    sets, train, used = _collected(fold, episodes)
    found = []
    for target in TARGETS:
        for k, condition in enumerate(_conditions(target, fold.label[used], settings)):
            scores = _scores(
                fold, sets, used, train, target, condition, settings, streams, progress
            )
            truth = getattr(fold, target)[used][condition & ~train]
            for (name, learner), score in scores:
                auc = auc_interval(truth, score, level=LEVEL)
                found.append(
                    {"set": name, "target": target, "learner": learner, "condition": k,
                     "auc": auc.value, "auc_low": auc.low, "auc_high": auc.high}
                )  # fmt: skip
    rows = pd.DataFrame(found)
    worst = rows.sort_values("auc", ascending=False, kind="stable").groupby(
        ["set", "target", "learner"], sort=False
    )
    best = worst.head(1).sort_values(["target", "set", "learner"], kind="stable")
    gammas = [*dict.fromkeys(episodes["gamma"]), np.nan]
    best.insert(0, "gamma", np.array(gammas)[best["set"].to_numpy()])
    best.insert(0, "method", np.where(best["gamma"].isna(), "all_panels", "dadi").astype(object))
    return {"audit": best.drop(columns=["set", "condition"]).reset_index(drop=True)}


def _collected(fold: Fold, episodes: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sets of each agent and, last, of all panels (k, n, a); training rows; positions of the n."""
    position = pd.Series(np.arange(len(fold.shown)), index=fold.shown.row_id)
    groups = [group for _, group in episodes.groupby("gamma", sort=False)]
    used = position.loc[groups[0]["row_id"]].to_numpy()
    sets = [acquired_sets(group, fold.shown) for group in groups]
    everything = np.ones_like(sets[0])
    train = groups[0]["part"].to_numpy() == "train"
    return np.stack([*sets, everything]), train, used


def _conditions(target: str, label: np.ndarray, settings: Mapping[str, Any]) -> list[np.ndarray]:
    """Rows among which the target is to be told, by the aim of the agent."""
    objective = settings["training"]["objective"]
    if target == "label" or objective == "demographic_parity":
        return [np.ones(len(label), dtype=bool)]
    return [label == 1] if objective == "equal_opportunity" else [label == 0, label == 1]


def _scores(
    fold: Fold, sets: np.ndarray, used: np.ndarray, train: np.ndarray, target: str,
    condition: np.ndarray, settings: Mapping[str, Any], streams: Streams,
    progress: Callable[..., Any],
) -> Iterator[tuple[tuple[int, str], np.ndarray]]:  # fmt: skip
    """Scores of the test rows that meet the condition, by collected sets and learner."""
    values, truth = fold.values[used][condition], getattr(fold, target)[used][condition]
    fits = train[condition]
    audit = settings["audit"]
    for k, acquired in enumerate(progress(sets, desc=f"sets, {target}")):
        inputs = shown_inputs(values, fold.panel_of_column, acquired[condition])
        for learner in LEARNERS[:2]:
            rng = streams.generator(target, learner, k)
            score = adversary_score(learner, inputs, truth, fits, settings=audit[learner], rng=rng)
            yield (k, learner), score
    networks = fit_set_networks(
        values, fold.panel_of_column, sets[:, condition], fold.label[used][condition],
        fold.sensitive[used][condition], fits, networks=settings["training"],
        iterations=audit["set_network"]["iterations"], rng=streams.generator(target, "network"),
    )  # fmt: skip
    for k, score in enumerate(networks[TARGETS.index(target)]):
        yield (k, LEARNERS[2]), score
