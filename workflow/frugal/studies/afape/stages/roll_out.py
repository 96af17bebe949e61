"""Stage `roll_out`: one policy run on the records, the full table and imputed ones (A.3, A.9).

Every decision is a row. The classifier is asked at terminal sets only, once per row and set.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.logs import Member, Scene, decision_frame, outcome_frame
from frugal.acquire.registry import build_policy
from frugal.acquire.rollouts import roll_out as run_policy
from frugal.acquire.rollouts import verdicts_at
from frugal.core.episodes import Policy, RowPolicy
from frugal.core.errors import MissingStateError
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import World
from frugal.data.panel_columns import panel_matrix
from frugal.data.tables import table_from_frames
from frugal.judge.records import in_s
from frugal.judge.true_laws import TrueLaws
from frugal.learn.tree_scoring import expected_cost_prediction, predict_proba_acquired
from frugal.learn.trees import TreeEnsemble
from frugal.studies.afape.laws import require_law
from frugal.studies.shared.frames import EVALUATED, by_seed

RECORDED_ONLY = ("set_probability", "sequence_probability")  # of the records' own sets
FULL_ONLY = ("in_record_order",)  # of what the policy does where nothing is missing
BLOCKED_ONLY = ("true_afa_propensity",)  # of the sets that the blocked policy acquired
TABLE_VALUES = ("blocked", "full", "retrospective")  # worlds that hold the table's own values


@dataclass(frozen=True, eq=False)
class _Ended:
    """Sets acquired in one world, and what is known of each row beside its outcome.

    Attributes:
        scene: who acted where.
        rows: positions of the world's units in the table. (n,)
        acquired: in the end. (n, a)
        said: class probabilities by the policy itself; None: the classifier says. (n, k)
        beside: further columns.
    """

    scene: Scene
    rows: np.ndarray
    acquired: np.ndarray
    said: np.ndarray | None
    beside: Mapping[str, np.ndarray]


def roll_out(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    classifier: Mapping[str, np.ndarray],
    masks: pd.DataFrame,
    graph: Mapping[str, Any],
    identification: Mapping[str, Any],
    imputed: pd.DataFrame,
    rounds: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    policy: StoredArrays | Path | pd.DataFrame | None = None,
) -> dict[str, pd.DataFrame]:
    """Run a policy in every world and seed; log decisions, terminal sets and costs.

    A trained agent comes with `policy`, as `train_agent` stored it; one's own with its file. One
    that knows rows alone has no copies of filled-in values to act on, and leaves out what asks for
    states that it lacks beyond the records.
    """
    data, part = table_from_frames(table, catalogue)
    require_law(graph, identification, masks, data)
    agent = build_policy(settings, table=data, stored=policy)
    ensemble = TreeEnsemble.from_arrays(classifier).require_table(data)
    rows = np.flatnonzero(np.isin(part, EVALUATED))
    truth = TrueLaws(policy=agent, table=data, rows=rows, graph=graph, s=in_s(identification, data))
    # the same under every mechanism, so that a policy has one truth per seed
    who = {key: streams.wildcards[key] for key in ("dataset", "agent")}
    same_everywhere = Streams(streams.root, streams.stage, who)
    ended, decisions = [], []
    for seed, mask in progress(list(by_seed(masks, rows)), desc="seeds"):
        uniforms = same_everywhere.generator("decisions", seed).random(
            (len(data), len(data.actions) + 1)
        )
        copies = rounds.loc[rounds["seed"] == seed, ["method", "draw"]]
        filled = imputed[imputed["seed"] == seed]
        for world, at in _worlds(data, part, rows, mask, graph, copies, filled):
            if world.name not in TABLE_VALUES and isinstance(agent, RowPolicy):
                continue
            try:
                episodes = run_policy(agent, world, uniforms=uniforms[at])
            except MissingStateError as lack:
                if world.name == "blocked":
                    raise
                print(f"without the world {world.name!r}: {lack}", file=sys.stderr)
                continue
            scene = _scene(world, at, who["agent"], seed, data, part)
            decisions.append(decision_frame(scene, episodes))
            beside = {}
            if world.name == "blocked":
                beside["true_afa_propensity"] = _told(
                    lambda done=episodes, seed=seed: truth.afa_propensity(
                        done.acquired[0], streams.generator("patterns", seed)
                    ),
                    len(at),
                )
            if world.name == "full":
                beside["in_record_order"] = truth.in_record_order(episodes)
            said = None if episodes.verdict is None else episodes.verdict[0]
            ended.append(_Ended(scene, at, episodes.acquired[0], said, beside))
        ended.append(_recorded(agent, seed, data, part, rows, mask, truth, who["agent"]))
    everywhere = pd.concat(_outcomes(ended, ensemble, data), ignore_index=True)
    return {**_split(everywhere), "decisions": pd.concat(decisions, ignore_index=True)}


def _scene(
    world: World, at: np.ndarray, agent: str, seed: int, data: Table, part: np.ndarray
) -> Scene:
    panels = [panel.name for panel in data.actions]
    return Scene([Member(agent, 0)], world, seed, part[at], panels, data.misclassification_cost)


def _recorded(
    agent: Policy,
    seed: int,
    data: Table,
    part: np.ndarray,
    rows: np.ndarray,
    mask: pd.DataFrame,
    truth: TrueLaws,
    name: str,
) -> _Ended:
    """The records' own sets of the test rows, with the probability that the policy ends there."""
    test = part[rows] == "test"
    observed, at = panel_matrix(mask, "observed", data)[test], rows[test]
    world = World.of_table(data, name="retrospective").take(at)
    beside = {
        "set_probability": _told(lambda: truth.set_probability(observed, test), len(at)),
        "sequence_probability": _told(lambda: truth.sequence_probability(observed, test), len(at)),
    }
    said = verdicts_at(agent, world, observed[None])
    scene = _scene(world, at, name, seed, data, part)
    return _Ended(scene, at, observed, None if said is None else said[0], beside)


def _told(ask: Callable[[], np.ndarray], n: int) -> np.ndarray:
    """What a law says of each row; NaN where the policy's table lacks states for it. (n,)"""
    try:
        return ask()
    except MissingStateError as lack:
        print(f"without a probability by the policy: {lack}", file=sys.stderr)
        return np.full(n, np.nan)


def _split(everywhere: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Episodes on the records, which nuisances are fitted to, apart from those in other worlds."""
    on_records = everywhere["world"] == "blocked"
    return {
        "blocked": everywhere[on_records]
        .drop(columns=[*RECORDED_ONLY, *FULL_ONLY])
        .reset_index(drop=True),
        "worlds": everywhere[~on_records].drop(columns=[*BLOCKED_ONLY]).reset_index(drop=True),
    }


def _worlds(
    data: Table,
    part: np.ndarray,
    rows: np.ndarray,
    mask: pd.DataFrame,
    graph: Mapping[str, Any],
    copies: pd.DataFrame,
    imputed: pd.DataFrame,
) -> Iterator[tuple[World, np.ndarray]]:
    """The records; the full table, if it is known; every imputed copy of the test rows.

    Each with the positions of its units in the table.
    """
    whole = World.of_table(data)
    recorded = panel_matrix(mask, "observed", data)
    yield replace(whole.take(rows), name="blocked", available=recorded), rows
    test = np.flatnonzero(part == "test")
    full = whole.take(test)
    if graph["source"] == "induced":
        yield full, test
    position = pd.Series(np.arange(len(test)), index=data.row_id[test])
    for method, draw in copies.itertuples(index=False):
        copy = imputed[(imputed["method"] == method) & (imputed["draw"] == draw)]
        values = full.values.copy()
        filled = copy[[f"value:{c}" for c in data.columns]].to_numpy()
        values[position.loc[copy["row_id"]].to_numpy()] = filled
        yield replace(full, name=method, draw=draw, values=values), test


def _outcomes(
    ended: Sequence[_Ended], ensemble: TreeEnsemble, data: Table
) -> Iterator[pd.DataFrame]:
    """A frame for each world, in a fixed order of columns; the classifier is asked once for all
    worlds that hold the table's own values.
    """
    own = [one for one in ended if one.scene.world.name in TABLE_VALUES]
    others = [one for one in ended if one.scene.world.name not in TABLE_VALUES]
    shares = _shares(own, ensemble, data, data.values, lambda one: one.rows)
    for one, said in [
        *zip(own, shares, strict=True),
        *((one, _shares([one], ensemble, data, one.scene.world.values, _in_place)[0])
          for one in others),
    ]:  # fmt: skip
        prediction = (
            expected_cost_prediction(said, data.misclassification_cost)
            if one.said is None
            else said.argmax(axis=1)
        )
        frame = outcome_frame(
            one.scene, one.acquired[None], verdict=prediction[None], shares=said[None]
        )
        for name in (*RECORDED_ONLY, *FULL_ONLY, *BLOCKED_ONLY):
            frame[name] = one.beside.get(name, np.nan)
        yield frame


def _in_place(one: _Ended) -> np.ndarray:
    return np.arange(len(one.rows))


def _shares(
    ended: Sequence[_Ended],
    ensemble: TreeEnsemble,
    data: Table,
    values: np.ndarray,
    position: Callable[[_Ended], np.ndarray],
) -> list[np.ndarray]:
    """Class probabilities at the end, by the policy itself or by the classifier. (n, k) each"""
    if ended[0].said is not None:
        return [one.said for one in ended if one.said is not None]
    together = predict_proba_acquired(
        ensemble, values, data.provides, data.free_columns,
        np.concatenate([position(one) for one in ended]),
        np.concatenate([one.acquired for one in ended]),
    )  # fmt: skip
    ends = np.cumsum([len(one.rows) for one in ended])[:-1]
    return np.split(together, ends)
