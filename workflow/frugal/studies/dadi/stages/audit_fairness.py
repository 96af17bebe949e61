"""Stage `audit_fairness`: what outsiders, trained afterwards, learn from the collected sets."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.streams import Streams
from frugal.judge.adversary_audit import LEARNERS, adversary_score, shown_inputs
from frugal.judge.fairness import LEVEL, auc_interval, told_rows
from frugal.judge.set_adversary import fit_set_networks
from frugal.studies.dadi.frames import Fold, acquired_sets, fold_of

TARGETS = ("label", "sensitive")


@dataclass(frozen=True, eq=False)
class _Question:
    """Among which of the n rows outsiders are to tell what.

    Attributes:
        number: of the question.
        rows: among which it is asked. (n,)
        targets: label, sensitive or both.
    """

    number: int
    rows: np.ndarray
    targets: tuple[str, ...]


def audit_fairness(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    outcomes: pd.DataFrame,
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
    acting = outcomes.astype({"policy": str}).groupby(["policy", "gamma"], sort=False, dropna=False)
    keys, groups = zip(*acting, strict=True)
    sets, train, used = _collected(fold, groups)
    named = pd.DataFrame([*keys, ("all_panels", np.nan)], columns=["method", "gamma"])
    found = []
    for asked in _questions(fold.label[used], settings["training"]["objective"]):
        scores = _scores(fold, sets, used, train, asked, settings, streams, progress)
        for (name, target, learner), score in scores:
            truth = getattr(fold, target)[used][asked.rows & ~train]
            auc = auc_interval(truth, score, level=LEVEL)
            found.append(
                {"set": name, "target": target, "learner": learner,
                 "auc": auc.value, "auc_low": auc.low, "auc_high": auc.high}
            )  # fmt: skip
    rows = pd.DataFrame(found)
    worst = rows.sort_values("auc", ascending=False, kind="stable").groupby(
        ["set", "target", "learner"], sort=False
    )
    best = worst.head(1).sort_values(["target", "set", "learner"], kind="stable")
    for name in ("gamma", "method"):
        best.insert(0, name, named[name].to_numpy()[best["set"].to_numpy()])
    return {"audit": best.drop(columns="set").reset_index(drop=True)}


def _collected(
    fold: Fold, groups: Sequence[pd.DataFrame]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sets of each agent and, last, of all panels (k, n, a); training rows; positions of the n."""
    position = pd.Series(np.arange(len(fold.shown)), index=fold.shown.row_id)
    used = position.loc[groups[0]["row_id"]].to_numpy()
    sets = [acquired_sets(group, fold.shown) for group in groups]
    everything = np.ones_like(sets[0])
    train = groups[0]["part"].to_numpy() == "train"
    return np.stack([*sets, everything]), train, used


def _questions(label: np.ndarray, objective: str) -> list[_Question]:
    """What is asked, by the aim of the agent; both targets at once where they share rows."""
    everybody = np.ones(len(label), dtype=bool)
    if objective == "demographic_parity":
        return [_Question(0, everybody, TARGETS)]
    told = enumerate(told_rows(objective, label), start=1)
    groups = [_Question(k, rows, ("sensitive",)) for k, rows in told]
    return [_Question(0, everybody, ("label",)), *groups]


def _scores(
    fold: Fold, sets: np.ndarray, used: np.ndarray, train: np.ndarray, asked: _Question,
    settings: Mapping[str, Any], streams: Streams, progress: Callable[..., Any],
) -> Iterator[tuple[tuple[int, str, str], np.ndarray]]:  # fmt: skip
    """Scores of the test rows of a question, by collected sets, target and learner.

    A set network tells both targets at once, so it is trained once per question.
    """
    rows = used[asked.rows]
    values, fits, audit = fold.values[rows], train[asked.rows], settings["audit"]
    for k, acquired in enumerate(progress(sets, desc=f"sets, {' and '.join(asked.targets)}")):
        inputs = shown_inputs(values, fold.panel_of_column, acquired[asked.rows])
        for target in asked.targets:
            for learner in LEARNERS[:2]:
                rng = streams.generator(asked.number, target, learner, k)
                score = adversary_score(
                    learner, inputs, getattr(fold, target)[rows], fits,
                    settings=audit[learner], rng=rng,
                )  # fmt: skip
                yield (k, target, learner), score
    networks = fit_set_networks(
        values, fold.panel_of_column, sets[:, asked.rows], fold.label[rows], fold.sensitive[rows],
        fits, networks=settings["training"], iterations=audit["set_network"]["iterations"],
        rng=streams.generator(asked.number, "network"),
    )  # fmt: skip
    for target in asked.targets:
        for k, score in enumerate(networks[TARGETS.index(target)]):
            yield (k, target, LEARNERS[2]), score
