"""Stages of DADI's agents: training, acting on a fold, its outsiders, the bundle."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.acting import acted
from frugal.acquire.bundles import bundle_payloads
from frugal.acquire.kinds import Ground, build_policy, end_shares, train_bundle
from frugal.acquire.logs import Member, Scene
from frugal.acquire.rollouts import roll_out
from frugal.config.learners import DadiSettings
from frugal.core.context import Context
from frugal.core.episodes import Episodes, Policy
from frugal.core.errors import DataError
from frugal.core.layout import Bundle, Layout, bundle_header, rows_digest
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import World
from frugal.data.case_document import TableColumns
from frugal.data.description import load_description
from frugal.judge.fairness import LEVEL, adversary_auc, auc_interval, stated_rows
from frugal.learn.trees import TreeEnsemble, classifier_of
from frugal.studies.dadi.fitting import fit_dadi, iterations_done
from frugal.studies.dadi.frames import (
    PRETRAINED,
    Fold,
    SavedState,
    acquired_sets,
    agents_of,
    decision_cut,
    fold_of,
    label_for,
)
from frugal.studies.dadi.networks import DadiPolicies
from frugal.studies.dadi.outsiders import LEARNERS, adversary_score, fit_set_networks, shown_inputs
from frugal.studies.dadi.policies.dadi import NETWORKS, THRESHOLD, agent_settings
from frugal.studies.dadi.spec import LABEL_SHARE


def train_dadi(
    *, table: pd.DataFrame, catalogue: Mapping[str, Any], context: Context, checkpoint: SavedState
) -> dict[str, Any]:
    """Train all learners of a fold in lock-step; a killed run goes on from its checkpoint."""
    settings = context.settings
    training = DadiSettings.of(settings["training"])
    fold = fold_of(table, catalogue, settings["design"], context.streams)
    state = checkpoint.load()
    done = iterations_done(state)
    bar = context.progress(total=training.iterations, initial=done, desc="iterations")
    result = fit_dadi(
        fold.values,
        fold.panel_of_column,
        fold.label,
        fold.sensitive,
        fold.rows("train"),
        fold.rows("validation"),
        panel_cost=fold.shown.action_cost,
        gammas=np.array(settings["gammas"], dtype=np.float64),
        settings=training,
        rng=context.streams.generator("train"),
        save=checkpoint.save,
        state=state,
        advance=bar.update,
    )
    bar.close()
    options = settings["training"]
    header = bundle_header(
        "dadi",
        agent_settings(options, settings["gammas"], settings["design"]["validation_share"]),
        Layout.of(fold.shown),
        _digest(fold),
    )
    arrays = {NETWORKS + name: array for name, array in result.weights.items()}
    arrays |= {PRETRAINED + name: array for name, array in result.pretrained.items()}
    arrays |= {"centre": fold.scaling.centre, "scale": fold.scaling.scale}
    return {"weights": Bundle(header, arrays), "curves": result.curves}


def _digest(fold: Fold) -> str:
    rows = fold.shown.take(fold.rows("train"))
    return rows_digest(rows, rows.values, np.ones((len(rows), len(rows.actions)), dtype=bool))


def train_fair_agent(
    *, table: pd.DataFrame, catalogue: Mapping[str, Any], context: Context
) -> dict[str, Any]:
    """The agent, trained on the training rows of a fold, and the classifier that it may query.

    It knows nothing of the adversary: its collected features are audited as DADI's choice is.

    Settings: `design` of the folds; `agent`, its block; `error_weight` of the costs of errors that
    it learns for; `classifier`, for agents that only stop.
    """
    streams = context.streams
    fold = fold_of(table, catalogue, context.settings["design"], streams)
    rows = fold.rows("train")
    data = fold.shown.take(rows)
    errors = context.settings["error_weight"] * data.misclassification_cost
    data = replace(data, misclassification_cost=errors)
    classifier = classifier_of(data, context.settings["classifier"], streams)
    recorded = np.ones((len(data), len(data.actions)), dtype=bool)
    ground = Ground(data, recorded, fold.sensitive[rows], classifier, streams, context.progress)
    policy, _ = train_bundle(context.settings["agent"], ground)
    return {"policy": policy, "classifier": classifier.to_arrays()}


ALL = "all features"


def roll_out_dadi(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    weights: StoredArrays,
    context: Context,
    **further: Mapping[str, np.ndarray],
) -> dict[str, pd.DataFrame]:
    """Acquire greedily for all test rows and, for the audit, for some training rows.

    `further` holds policy and classifier of the agents of other kinds, in the order of `agents`.

    Agents of other kinds act on the same rows, if there are some.

    Also the AUC of the pretrained networks on one panel alone [dadi, fig. 3].
    """
    settings = context.settings
    fold = fold_of(table, catalogue, settings["design"], context.streams)
    agents, pretrained = agents_of(weights, fold, settings["training"])
    if agents.members != len(settings["gammas"]):
        raise DataError(
            f"the stored DADI agent has {agents.members} learners; the settings have "
            f"{len(settings['gammas'])} gammas, one for each"
        )
    train = fold.rows("train")
    audited = context.streams.generator("audited").permutation(train)[: settings["audited_rows"]]
    rows = np.concatenate([fold.rows("test"), np.sort(audited)])
    world = World.of_table(fold.shown).take(rows)
    acting = _Acting(fold, rows, world, _stratum(fold.shown, settings["selection_by"])[rows])
    members = [Member("dadi", k) for k in range(agents.members)]
    cuts = _cuts(agents, fold, settings["threshold"])
    frames, episodes = acting.frames(members, agents, cuts, np.array(settings["gammas"]))
    label = label_for(settings["training"], world.label)
    _, of_group = agents.predict_from_sets(world.values, episodes.acquired, label=label)
    group_columns = {"adversary_probability": of_group.ravel().astype(np.float64)}
    logs = [(frames[0].assign(**group_columns), frames[1])]
    for k, (name, agent) in enumerate(settings["agents"].items()):
        policy, classifier = (further[f"{kind}_{k}"] for kind in ("policy", "classifier"))
        other = build_policy(agent, table=fold.shown, stored=policy)
        ensemble = TreeEnsemble.from_arrays(classifier).require_table(fold.shown)
        rng = context.streams.generator("decisions", name)
        validation_world = World.of_table(fold.shown).take(fold.rows("validation"))
        uniforms = rng.random((len(validation_world), validation_world.panels + 1))
        validated = end_shares(
            roll_out(other, validation_world, uniforms=uniforms), validation_world, ensemble
        )[0, :, 1]
        cut = np.array([decision_cut(settings["threshold"], validated, fold)])
        frames, _ = acting.frames(
            [Member(name, 0)],
            other,
            cut,
            np.array([np.nan]),
            classifier=ensemble,
            uniforms=rng.random((len(rows), world.panels + 1)),
        )
        logs.append((frames[0].assign(adversary_probability=np.nan), frames[1]))
    return {
        "decisions": _joined([decisions for _, decisions in logs]),
        "outcomes": _joined([outcomes for outcomes, _ in logs]),
        "singles": _singles(fold, pretrained, settings["training"]),
    }


@dataclass(frozen=True, eq=False)
class _Acting:
    """Rows of a fold on which agents act, and the strata by which selection is shown. (n,)"""

    fold: Fold
    rows: np.ndarray
    world: World
    stratum: np.ndarray

    def frames(
        self,
        members: Sequence[Member],
        policy: Policy,
        cuts: np.ndarray,
        gammas: np.ndarray,
        **how: Any,
    ) -> tuple[tuple[pd.DataFrame, pd.DataFrame], Episodes]:
        """Outcomes on all rows and decisions on test rows, of K agents; and their episodes.

        `cuts` are the least probabilities of class 1 that are decided 1, `gammas` NaN without one
        (K,); `how` is `uniforms` and `classifier` of `acted`.
        """
        table, part = self.fold.shown, self.fold.part[self.rows]
        panels = [panel.name for panel in table.actions]
        scene = Scene(members, self.world, 0, part, panels, table.error_costs[self.rows])
        outcomes, log, episodes = acted(scene, policy, cuts=cuts, **how)
        outcomes = outcomes.assign(
            gamma=np.repeat(gammas, len(part)),
            decision_threshold=np.repeat(cuts, len(part)),
            stratum=np.tile(self.stratum, len(members)),
            sensitive=np.tile(self.fold.sensitive[self.rows], len(members)),
        )
        return (outcomes, log[log["part"] == "test"].reset_index(drop=True)), episodes


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """One below the other; names of policies stay categories."""
    if len(frames) == 1:
        return frames[0]
    names = [str(name) for frame in frames for name in frame["policy"].cat.categories]
    same = [frame.assign(policy=frame["policy"].cat.set_categories(names)) for frame in frames]
    return pd.concat([frame[frames[0].columns] for frame in same], ignore_index=True)


def _cuts(agents: DadiPolicies, fold: Fold, threshold: float | int | str) -> np.ndarray:
    """Least probability that each agent decides 1, by its own validation episodes. (K,)"""
    if threshold != LABEL_SHARE:
        return np.full(agents.members, float(threshold))
    world = World.of_table(fold.shown).take(fold.rows("validation"))
    episodes = roll_out(agents, world, uniforms=np.zeros((len(world), world.panels + 1)))
    assert episodes.verdict is not None, "bug: these agents have a verdict"
    return np.array(
        [decision_cut(threshold, of_agent, fold) for of_agent in episodes.verdict[..., 1]]
    )


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
    labels = label_for(training, fold.label[rows])
    names = [panel.name for panel in fold.shown.actions]
    rows_of_panels = []
    for j, name in enumerate([*names, ALL]):
        sets = np.zeros((len(rows), len(names)), dtype=bool)
        sets[:, slice(None) if name == ALL else j] = True
        scores = pretrained.predict_from_sets(fold.shown.values[rows], sets, label=labels)
        of_label, of_sensitive = (score[0].astype(np.float64) for score in scores)
        label, sensitive = fold.label[rows], fold.sensitive[rows]
        for network, auc in (
            ("classifier", auc_interval(label, of_label, level=LEVEL)),
            (
                "adversary",
                adversary_auc(training["objective"], label, sensitive, of_sensitive, level=LEVEL),
            ),
        ):
            rows_of_panels.append(
                {
                    "panel": name,
                    "network": network,
                    "auc": auc.value,
                    "auc_low": auc.low,
                    "auc_high": auc.high,
                }
            )
    return pd.DataFrame(rows_of_panels)


TARGETS = ("label", "sensitive")


@dataclass(frozen=True, eq=False)
class _Question:
    """Question to outsiders: targets to predict (label, sensitive), and among which rows. (n,)"""

    number: int
    rows: np.ndarray
    targets: tuple[str, ...]


def audit_fairness(
    *, table: pd.DataFrame, catalogue: Mapping[str, Any], outcomes: pd.DataFrame, context: Context
) -> dict[str, pd.DataFrame]:
    """AUC of each outsider for the group and for the label, on each agent's sets and on all panels.

    Outsiders learn from training rows, whose sets the agent collected after its training; test rows
    judge them. Where the agent's aim is equal opportunity, the group is predicted among rows with y
    = 1 alone; for equalised odds within each label, the larger AUC counting.
    """
    settings, streams = context.settings, context.streams
    fold = fold_of(table, catalogue, settings["design"], streams)
    acting = outcomes.astype({"policy": str}).groupby(["policy", "gamma"], sort=False, dropna=False)
    keys, groups = zip(*acting, strict=True)
    sets, train, used = _collected(fold, groups)
    named = pd.DataFrame([*keys, ("all_panels", np.nan)], columns=["method", "gamma"])
    audit_rows = []
    for question in _questions(fold.label[used], settings["training"]["objective"]):
        scores = _scores(fold, sets, used, train, question, context)
        for (name, target, learner), score in scores:
            truth = getattr(fold, target)[used][question.rows & ~train]
            auc = auc_interval(truth, score, level=LEVEL)
            audit_rows.append(
                {
                    "set": name,
                    "target": target,
                    "learner": learner,
                    "auc": auc.value,
                    "auc_low": auc.low,
                    "auc_high": auc.high,
                }
            )
    rows = pd.DataFrame(audit_rows)
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
    """Targets, by the aim of the agent; both targets at once where they share rows."""
    everybody = np.ones(len(label), dtype=bool)
    if objective == "demographic_parity":
        return [_Question(0, everybody, TARGETS)]
    row_groups = enumerate(stated_rows(objective, label), start=1)
    groups = [_Question(k, rows, ("sensitive",)) for k, rows in row_groups]
    return [_Question(0, everybody, ("label",)), *groups]


def _scores(
    fold: Fold,
    sets: np.ndarray,
    used: np.ndarray,
    train: np.ndarray,
    question: _Question,
    context: Context,
) -> Iterator[tuple[tuple[int, str, str], np.ndarray]]:
    """Scores of the test rows of a question, by collected sets, target and learner.

    A set network predicts both targets at once, so it is trained once per question.
    """
    settings, streams = context.settings, context.streams
    rows = used[question.rows]
    values, fits, audit = fold.values[rows], train[question.rows], settings["audit"]
    for k, acquired in enumerate(
        context.progress(sets, desc=f"sets, {' and '.join(question.targets)}")
    ):
        inputs = shown_inputs(values, fold.panel_of_column, acquired[question.rows])
        for target in question.targets:
            for learner in LEARNERS[:2]:
                rng = streams.generator(question.number, target, learner, k)
                score = adversary_score(
                    learner,
                    inputs,
                    getattr(fold, target)[rows],
                    fits,
                    settings=audit[learner],
                    rng=rng,
                )
                yield (k, target, learner), score
    networks = fit_set_networks(
        values,
        fold.panel_of_column,
        sets[:, question.rows],
        fold.label[rows],
        fold.sensitive[rows],
        fits,
        networks=settings["training"],
        iterations=audit["set_network"]["iterations"],
        rng=streams.generator(question.number, "network"),
    )
    for target in question.targets:
        for k, score in enumerate(networks[TARGETS.index(target)]):
            yield (k, target, LEARNERS[2]), score


def bundle_dadi(
    *,
    choice: Mapping[str, Any],
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    description: Path,
    weights: StoredArrays,
    context: Context,
) -> dict[str, Any]:
    """The files of a bundle: `policy` and `cases`; see `acquire.bundles`.

    The policy is the file of the fold's agents with the threshold of their decisions; `cases`
    determines which of them is meant.
    """
    wildcards = {**context.streams.wildcards, "fold": str(choice["fold"])}
    of_fold = Streams(context.streams.root, "roll_out_dadi", wildcards)
    fold = fold_of(table, catalogue, context.settings["design"], of_fold)
    agents, _ = agents_of(weights, fold, context.settings["training"])
    arrays = {name: array for name, array in weights.items() if not name.startswith(PRETRAINED)}
    arrays[THRESHOLD] = np.full(agents.members, choice["threshold"])
    return bundle_payloads(
        settings={"kind": "dadi"},
        policy=StoredArrays(arrays, weights.source, weights.header),
        table=TableColumns.of(fold.shown, fold.part),
        catalogue=catalogue,
        description=load_description(description),
        classifier=None,
        streams=of_fold,
        member=int(choice["member"]),
    )
