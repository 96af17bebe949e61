"""Stages of agents: training, candidates of one's own table, acting in every world, the bundle."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.bundles import bundle_payloads
from frugal.acquire.kinds import Ground, build_policy, kind_of, train_bundle
from frugal.acquire.logs import Member, Scene, decision_frame, outcome_frame
from frugal.acquire.rollouts import roll_out as run_policy
from frugal.acquire.rollouts import verdicts_at
from frugal.acquire.siblings import joined
from frugal.answer.candidates import (
    PRACTICE,
    archive,
    as_practised,
    audited,
    divisions,
    follow,
    learn,
    learned_without,
    levels,
    of_division,
    one_of,
    to_frame,
    versions_of,
)
from frugal.answer.frames import EVALUATED, bars
from frugal.answer.requirements import Variant
from frugal.answer.stored import StoredRecords
from frugal.core.blocks import FULL_PORTION, BlockDraws, Portion
from frugal.core.context import Context, without_bar
from frugal.core.episodes import Episodes, Policy, RowPolicy
from frugal.core.errors import ConfigError, DataError, MissingStateError
from frugal.core.layout import Bundle, Layout, bundle_header
from frugal.core.rows import Rows, rows_of
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import World
from frugal.data.case_document import JUDGES, TableColumns
from frugal.data.description import load_description
from frugal.data.tables import EVERY, StoredTable, TableBlock, panel_matrix
from frugal.judge.case import in_s
from frugal.judge.true_laws import TrueLaws
from frugal.learn.tree_scoring import expected_cost_prediction, predict_proba_acquired
from frugal.learn.trees import TreeEnsemble, classifier_of
from frugal.results.replacing import Growing

RECORDED_ONLY = ("set_probability", "sequence_probability")  # of the records' own sets
FULL_ONLY = ("in_record_order",)  # of what the policy does where nothing is missing
BLOCKED_ONLY = ("true_afa_propensity",)  # of the sets that the blocked policy acquired
TABLE_VALUES = ("blocked", "full", "retrospective")  # worlds that hold the table's own values


@dataclass(frozen=True, eq=False)
class EndedEpisodes:
    """Sets acquired in one world, and data of each row other than its outcome.

    Attributes:
        scene: who acted where.
        rows: positions of the world's units in the table. (n,)
        acquired: in the end. (n, a)
        shares: class probabilities by the policy itself; None: those of the classifier. (n, k)
        further: further columns.
    """

    scene: Scene
    rows: np.ndarray
    acquired: np.ndarray
    shares: np.ndarray | None
    further: Mapping[str, np.ndarray]


def worlds(
    data: Table,
    part: np.ndarray,
    rows: np.ndarray,
    mask: pd.DataFrame,
    complete: bool,
    copies: pd.DataFrame,
    imputed: pd.DataFrame,
) -> Iterator[tuple[World, np.ndarray]]:
    """The records; the full table, if it is known; every imputed copy of the test rows.

    Each with the positions of its units in the table.
    """
    population = World.of_table(data)
    recorded = panel_matrix(mask, "observed", data)
    yield replace(population.take(rows), name="blocked", available=recorded), rows
    test = np.flatnonzero(part == "test")
    full = population.take(test)
    if complete:
        yield full, test
    position = pd.Series(np.arange(len(test)), index=data.row_id[test])
    for method, draw in copies.itertuples(index=False):
        copy = imputed[(imputed["method"] == method) & (imputed["draw"] == draw)]
        values = full.values.copy()
        filled = copy[[f"value:{c}" for c in data.columns]].to_numpy()
        values[position.loc[copy["row_id"]].to_numpy()] = filled
        yield replace(full, name=method, draw=draw, values=values), test


def outcomes(
    ended: Sequence[EndedEpisodes], ensemble: TreeEnsemble, data: Table
) -> dict[str, pd.DataFrame]:
    """Episodes on the records, which nuisances are fitted to, apart from those in other worlds."""
    everywhere = pd.concat(_frames(ended, ensemble, data), ignore_index=True)
    on_records = everywhere["world"] == "blocked"
    return {
        "blocked": everywhere[on_records]
        .drop(columns=[*RECORDED_ONLY, *FULL_ONLY])
        .reset_index(drop=True),
        "worlds": everywhere[~on_records].drop(columns=[*BLOCKED_ONLY]).reset_index(drop=True),
    }


def _frames(
    ended: Sequence[EndedEpisodes], ensemble: TreeEnsemble, data: Table
) -> Iterator[pd.DataFrame]:
    """A frame for each world, in a fixed order of columns; the classifier predicts once for all
    worlds that hold the table's own values.
    """
    on_table = [
        episodes_end for episodes_end in ended if episodes_end.scene.world.name in TABLE_VALUES
    ]
    others = [
        episodes_end for episodes_end in ended if episodes_end.scene.world.name not in TABLE_VALUES
    ]
    shares = _shares(on_table, ensemble, data, data.values, lambda episodes_end: episodes_end.rows)
    for episodes_end, shares_of_end in [
        *zip(on_table, shares, strict=True),
        *(
            (
                episodes_end,
                _shares([episodes_end], ensemble, data, episodes_end.scene.world.values, _in_place)[
                    0
                ],
            )
            for episodes_end in others
        ),
    ]:
        prediction = (
            expected_cost_prediction(shares_of_end, data.misclassification_cost)
            if episodes_end.shares is None
            else shares_of_end.argmax(axis=1)
        )
        frame = outcome_frame(
            episodes_end.scene,
            episodes_end.acquired[None],
            verdict=prediction[None],
            shares=shares_of_end[None],
        )
        for name in (*RECORDED_ONLY, *FULL_ONLY, *BLOCKED_ONLY):
            frame[name] = episodes_end.further.get(name, np.nan)
        yield frame


def _in_place(episodes_end: EndedEpisodes) -> np.ndarray:
    return np.arange(len(episodes_end.rows))


def _shares(
    ended: Sequence[EndedEpisodes],
    ensemble: TreeEnsemble,
    data: Table,
    values: np.ndarray,
    position: Callable[[EndedEpisodes], np.ndarray],
) -> list[np.ndarray]:
    """Class probabilities at the end, by the policy itself or by the classifier. (n, k) each"""
    if any(episodes_end.shares is not None for episodes_end in ended):  # no row, no prediction
        nothing = np.empty((0, ensemble.classes))
        return [
            nothing if episodes_end.shares is None else episodes_end.shares
            for episodes_end in ended
        ]
    probability = predict_proba_acquired(
        ensemble,
        values,
        data.provides,
        data.free_columns,
        np.concatenate([position(episodes_end) for episodes_end in ended]),
        np.concatenate([episodes_end.acquired for episodes_end in ended]),
    )
    ends = np.cumsum([len(episodes_end.rows) for episodes_end in ended])[:-1]
    return np.split(probability, ends)


def train_agent(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    classifier: Mapping[str, np.ndarray],
    masks: pd.DataFrame | Rows,
    context: Context,
) -> dict[str, Any]:
    """Learn on the records of the first seed, blocked  [afape, sec. A.11].

    The agent acts on the rows of part `agent`, where it can acquire only what the records hold. The
    policy is then fixed for all seeds; its file holds all that its use needs.

    Raises:
        ConfigError: an agent of this kind does not learn.
        DataError: the table has no row in the part `agent`.
    """
    kind = kind_of(context.settings)
    if kind.fit is None:
        raise ConfigError(f"an agent of kind {kind.name!r} does not learn, so it is not trained")
    records = StoredRecords(table, catalogue, masks)
    data, recorded = records.at(records.table.positions(["agent"]), records.seeds[0])
    if not len(data):
        raise DataError(
            "an agent that learns needs rows in the part 'agent', and the data set has none; "
            "add it under split.parts of the data set's YAML"
        )
    group = None
    if len(catalogue["groups"]) == 2:
        group = records.table.sensitive(["agent"])
    ensemble = TreeEnsemble.from_arrays(classifier).require_table(data)
    ground = Ground(data, recorded, group, ensemble, context.streams, context.progress)
    policy, curve = train_bundle(context.settings, ground)
    return {"policy": policy, "training": curve}


def learn_candidates(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame | Rows,
    graph: Mapping[str, Any],
    context: Context,
) -> dict[str, Any]:
    """Paths of every candidate and of recorded practice on the rows of a fold, and the policies.

    Rows without a label are followed, and not learned from. No policy orders a panel in a region
    of the `graph` in which records (almost) never hold it.

    All candidates share the models of their sets of panels, so they differ by the panels that they
    acquire.

    Settings: `agents` (name → settings, in the order of preference), `practice` (the candidate
    whose models decide on recorded panels), `classifier` (decides for those that only stop),
    `objective` (cost or f1), `budgets` (of f1), `repeats` (see `divisions`), `also` (further paths
    that parts of the answer need: `without_panels`, each without each panel, and where requests
    fail; `recorded_only`, each where nothing but the panels of the record can be had; `withheld`,
    each learned again without each panel that it requests, see `learned_without`).
    """
    held_out, streams = context.streams.wildcards["held_out"], context.streams.of_any_table()
    stored = StoredTable(table, catalogue, unlabelled=True)
    records = StoredRecords(stored, catalogue, masks, graph)
    data, observed = records.at(records.table.positions(EVERY), records.seeds[0])
    place = list(records.table.folds).index(held_out)
    fold, cluster = records.table.fold, records.table.clusters(EVERY)
    shared = Streams(streams.root, streams.stage, {})
    frames, bundles = [], {}
    folds = divisions(data, fold, cluster, context.settings["repeats"], shared)
    for number, of_row in enumerate(folds):
        inside = of_row == place
        of_fold = replace(context, streams=of_division(streams, number))
        followed, learned = _of_fold(data, observed, inside, records, of_fold)
        frames += [frame.assign(repeat=number) for frame in followed]
        for variant, policy in learned.items():
            bundles[variant._replace(division=number).key] = policy
    return {
        "paths": pd.concat(frames, ignore_index=True),
        "policies": archive(bundles, repeats=len(folds)),
    }


def _of_fold(
    data: Table, observed: np.ndarray, inside: np.ndarray, records: StoredRecords, context: Context
) -> tuple[list[pd.DataFrame], dict[Variant, Bundle]]:
    """Candidates that learned on the rows outside, along those inside; those that learn, stored."""
    settings, streams = context.settings, context.streams
    order = data.content_order  # what is learned does not depend on the file's order
    learns = order[(~inside & data.labelled)[order]]
    learned, at = data.take(learns), observed[learns]
    rows, held_panels = data.take(inside), observed[inside]
    classifier = classifier_of(learned, settings["classifier"], streams)
    ground = Ground(
        learned,
        at,
        None,
        classifier,
        streams,
        context.progress,
        settings["objective"],
        levels(settings["budgets"]),
    )
    uniforms = streams.generator("decisions").random((len(rows), held_panels.shape[1] + 1))
    unsupported = records.unsupported
    follow_within = partial(follow, unsupported=unsupported)
    frames, bundles = [], {}
    practice = Variant(settings["practice"], 0 if settings["budgets"] else None)
    for variant, policy, left in learn(ground, settings["agents"], context.progress):
        followed = follow_within(policy, rows, held_panels, uniforms, classifier)
        frames.append(to_frame(followed, variant.key, rows))
        if "without_panels" in settings["also"]:
            without = audited(
                policy, rows, held_panels, uniforms, classifier, followed, unsupported=unsupported
            )
            frames += [
                to_frame(path, variant._replace(without=panel).key, rows) for panel, path in without
            ]
        if "withheld" in settings["also"]:
            for panels, again in learned_without(ground, settings["agents"][variant.agent], policy):
                path = follow_within(again, rows, held_panels, uniforms, classifier)
                frames.append(to_frame(path, variant._replace(withheld=panels).key, rows))
        if "recorded_only" in settings["also"]:
            within_records = follow_within(
                policy, rows, held_panels, uniforms, classifier, held_panels
            )
            name = variant._replace(recorded_only=True).key
            frames.append(to_frame(within_records, name, rows))
        if variant == practice:
            practised = as_practised(policy, rows, held_panels, classifier)
            frames.append(to_frame(practised, PRACTICE, rows))
        if left is not None:
            agent = settings["agents"][variant.agent]
            header = bundle_header(agent["kind"], agent, Layout.of(learned), ground.digest)
            bundles[variant] = Bundle(header, left)
    return frames, bundles


def join_candidates(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame | Rows,
    graph: Mapping[str, Any],
    context: Context,
    **policies: StoredArrays,
) -> dict[str, Any]:
    """The policies of all folds, joined to the one that is handed out, and its paths on all rows.

    `policies` are those of each fold. Of each candidate they vote (`acquire.siblings`); one that
    does not learn is itself. Settings are those of `learn_candidates`.
    """
    streams = context.streams.of_any_table()
    records = StoredRecords(StoredTable(table, catalogue, unlabelled=True), catalogue, masks, graph)
    data, observed = records.at(records.table.positions(EVERY), records.seeds[0])
    learns = data.content_order[data.labelled[data.content_order]]
    classifier = classifier_of(data.take(learns), context.settings["classifier"], streams)
    uniforms = streams.generator("decisions").random((len(data), observed.shape[1] + 1))
    frames, bundles = [], {}
    repeats = min(int((of_fold.header or {})["repeats"]) for of_fold in policies.values())
    versions = versions_of(context.settings["agents"], context.settings["budgets"])
    for variant in context.progress(versions, desc="candidates"):
        agent, name = context.settings["agents"][variant.agent], variant.key
        each = [
            one_of(of_fold, variant._replace(division=number).key)
            for number in range(repeats)
            for of_fold in policies.values()
        ]
        learned = [archived for archived in each if archived is not None]
        if not learned and context.settings["budgets"]:
            continue  # it does not learn within budgets
        stored = joined(learned) if learned else None
        policy = build_policy(
            agent, table=data, stored=None if stored is None else stored.stored(name)
        )
        followed = follow(
            policy, data, observed, uniforms, classifier, unsupported=records.unsupported
        )
        frames.append(to_frame(followed, name, data))
        if stored is not None:
            bundles[name] = stored
    return {"paths": pd.concat(frames, ignore_index=True), "policies": archive(bundles)}


def roll_out(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    classifier: Mapping[str, np.ndarray],
    masks: pd.DataFrame | Rows,
    graph: Mapping[str, Any],
    identification: Mapping[str, Any],
    imputed: pd.DataFrame | Rows,
    rounds: pd.DataFrame,
    context: Context,
    policy: StoredArrays | Path | pd.DataFrame | None = None,
    portion: Portion = FULL_PORTION,
) -> Growing:
    """Run a policy in every world and seed; log decisions, terminal sets and costs.

    A trained agent comes with `policy`, as `train_agent` stored it; one's own with its file. One
    that knows rows alone has no copies of filled-in values to act on, and omits results that need
    states that it lacks beyond the records.

    Every decision is a row. Rows are played block by block. The classifier predicts at terminal
    sets only, once per row and set.
    """
    records = StoredRecords(table, catalogue, masks, graph, identification, portion.seeds)
    layout = records.table.layout
    agent = build_policy(context.settings, table=layout, stored=policy)
    ensemble = TreeEnsemble.from_arrays(classifier).require_table(layout)
    copies = _Copies(rows_of(imputed), rounds, records)
    play = _Play(records, agent, copies, identification, context.streams)
    acted_on = records.table.blocks_with(EVALUATED)
    if isinstance(agent, RowPolicy) and len(acted_on) > 1:  # what some block lacks, no block has
        for number in acted_on:
            play.block(number, without_bar)
    outer, inner = bars(context.progress, len(records.table.blocks))

    def tables(number: int, progress: Callable[..., Any]) -> dict[str, pd.DataFrame]:
        ended, decisions = play.block(number, progress)
        outcome_tables = outcomes(ended, ensemble, records.table.block(number).table)
        return {**outcome_tables, "decisions": pd.concat(decisions, ignore_index=True)}

    numbers = [number for number in portion.blocks(records.table.blocks) if number in acted_on]
    for number in outer(numbers, desc="blocks"):
        yield tables(number, inner)
    if not numbers:  # a portion without a row to act on has the columns alone
        outcome_tables = tables(acted_on[0], without_bar)
        yield {name: frame.iloc[:0] for name, frame in outcome_tables.items()}
    return {}


class _Copies:
    """Imputed copies of test rows, block by block."""

    def __init__(self, imputed: Rows, rounds: pd.DataFrame, records: StoredRecords) -> None:
        self._imputed, self._rounds = imputed, rounds
        self._places = records.table.places_of(imputed, "imputed copies")

    def block(self, number: int) -> pd.DataFrame:
        """Completed rows of a block, of every seed."""
        return self._imputed.read(self._places[number])

    def of(self, seed: int) -> pd.DataFrame:
        """Method and draw of each copy."""
        return self._rounds.loc[self._rounds["seed"] == seed, ["method", "draw"]]


@dataclass(frozen=True, eq=False)
class _Play:
    """A policy, where it acts, and its lacks.

    Attributes:
        lacks: seed and its results that need states missing from the policy's table.
    """

    records: StoredRecords
    agent: Policy
    copies: _Copies
    identification: Mapping[str, Any]
    streams: Streams
    lacks: set[tuple[int, str]] = field(default_factory=set)

    def block(
        self, number: int, progress: Callable[..., Any]
    ) -> tuple[list[EndedEpisodes], list[pd.DataFrame]]:
        """Outcomes and decisions on the rows of one block, in every world and seed."""
        table = self.records.table
        block, rows = table.block(number), table.block(number).of(EVALUATED)
        ended: list[EndedEpisodes] = []
        decisions: list[pd.DataFrame] = []
        truth = TrueLaws(
            policy=self.agent,
            table=block.table,
            rows=rows,
            graph=self.records.graph,
            s=in_s(self.identification, block.table),
        )
        imputed = self.copies.block(number)
        for seed, mask in progress(list(self.records.by_seed(number, EVALUATED)), desc="seeds"):
            filled = imputed[imputed["seed"] == seed]
            for scene, at, episodes in self._played(block, rows, seed, mask, filled):
                decisions.append(decision_frame(scene, episodes))
                ended.append(self._ended(block, scene, at, episodes, truth))
            ended.append(self._recorded(block, rows, seed, mask, truth))
        return ended, decisions

    def _played(
        self,
        block: TableBlock,
        rows: np.ndarray,
        seed: int,
        mask: pd.DataFrame,
        filled: pd.DataFrame,
    ) -> Iterator[tuple[Scene, np.ndarray, Episodes]]:
        """Episodes of one seed in each world, with the positions of the units in the block."""
        # the same under every mechanism, so that a policy has one truth per seed
        who = {key: self.streams.wildcards[key] for key in ("dataset", "agent")}
        same_everywhere = Streams(self.streams.root, self.streams.stage, who)
        drawn = BlockDraws(
            same_everywhere.generator("decisions", seed), len(block.table.actions) + 1
        ).of(block.rows)
        graph_known = self.records.graph["source"] == "induced"
        for world, at in worlds(
            block.table, block.part, rows, mask, graph_known, self.copies.of(seed), filled
        ):
            if world.name not in TABLE_VALUES and isinstance(self.agent, RowPolicy):
                continue
            if (seed, world.name) in self.lacks:
                continue
            try:
                episodes = run_policy(self.agent, world, uniforms=drawn[at])
            except MissingStateError as lack:
                if world.name == "blocked":
                    raise
                self._note(seed, world.name, f"without the world {world.name!r}: {lack}")
                continue
            yield self._scene(world, at, seed, block), at, episodes

    def _scene(self, world: World, at: np.ndarray, seed: int, block: TableBlock) -> Scene:
        panels = [panel.name for panel in block.table.actions]
        parts = self.records.table.parts(EVALUATED) if world.name == "blocked" else ["test"]
        return Scene(
            [Member(self.streams.wildcards["agent"], 0)],
            world,
            seed,
            block.part[at],
            panels,
            block.table.error_costs[at],
            parts,
        )

    def _ended(
        self, block: TableBlock, scene: Scene, at: np.ndarray, episodes: Episodes, truth: TrueLaws
    ) -> EndedEpisodes:
        """Results of the episodes of one world."""
        further = {}
        if scene.world.name == "blocked":
            rng = self.streams.of_block(block.number, "patterns", scene.seed)
            further["true_afa_propensity"] = self._stated(
                "true_afa_propensity",
                lambda: truth.afa_propensity(episodes.acquired[0], rng),
                scene,
            )
        if scene.world.name == "full":
            further["in_record_order"] = truth.in_record_order(episodes)
        verdict = None if episodes.verdict is None else episodes.verdict[0]
        return EndedEpisodes(scene, at, episodes.acquired[0], verdict, further)

    def _recorded(
        self, block: TableBlock, rows: np.ndarray, seed: int, mask: pd.DataFrame, truth: TrueLaws
    ) -> EndedEpisodes:
        """The records' own sets of the test rows, and the chances that the policy ends there."""
        test = block.part[rows] == "test"
        data = block.table
        observed, at = panel_matrix(mask, "observed", data)[test], rows[test]
        world = World.of_table(data, name="retrospective").take(at)
        scene = self._scene(world, at, seed, block)
        questions = {
            "set_probability": lambda: truth.set_probability(observed, test),
            "sequence_probability": lambda: truth.sequence_probability(observed, test),
        }
        further = {name: self._stated(name, ask, scene) for name, ask in questions.items()}
        verdict = verdicts_at(self.agent, world, observed[None])
        return EndedEpisodes(scene, at, observed, None if verdict is None else verdict[0], further)

    def _stated(self, name: str, ask: Callable[[], np.ndarray], scene: Scene) -> np.ndarray:
        """Probabilities of rows; NaN where the policy's table lacks states. (n,)"""
        if (scene.seed, name) not in self.lacks:
            try:
                return ask()
            except MissingStateError as lack:
                self._note(scene.seed, name, f"without a probability by the policy: {lack}")
        return np.full(len(scene.world), np.nan)

    def _note(self, seed: int, name: str, sentence: str) -> None:
        """Leave something out from now on; reported once."""
        self.lacks.add((seed, name))
        print(sentence, file=sys.stderr)


_ERRORS = "misclassification_cost"  # those of the table, which may be open in the YAML


def bundle_agent(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    description: Path,
    classifier: Mapping[str, np.ndarray],
    context: Context,
    policy: StoredArrays | Path | pd.DataFrame | None = None,
    policies: StoredArrays | None = None,
    choice: Mapping[str, Any] | None = None,
    graph: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The files of a bundle: `policy`, `classifier` and `cases`; see `acquire.bundles`.

    Of a candidate of an answer, `graph` has the regions in which a panel is not offered.

    A trained agent comes with `policy`, as `train_agent` stored it, or among the `policies` of
    `learn_candidates`, the version that `choice` has of it; one's own with its file.

    The table lists the levels and ranges of training; no value of a unit is kept except those that
    the agent itself holds.
    """
    stored = StoredTable(table, catalogue, unlabelled=True)
    trained = ~stored.part_rows([] if policies is not None else [JUDGES])
    who = {key: context.streams.wildcards[key] for key in ("dataset", "agent")}
    if policies is not None:
        agent = context.streams.wildcards["agent"]
        policy = one_of(policies, choice["versions"][agent] if choice else agent)
    return bundle_payloads(
        settings=context.settings,
        policy=policy,
        table=TableColumns(stored.layout, trained, stored.column),
        catalogue=catalogue,
        description=load_description(description, {_ERRORS: catalogue[_ERRORS]}),
        classifier=classifier,
        streams=Streams(context.streams.root, "roll_out", who),
        unsupported=() if graph is None else graph["unsupported"],
    )
