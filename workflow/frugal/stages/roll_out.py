"""Stage `roll_out`: one policy run on the records, the full table and imputed ones (A.3, A.9).

Every decision is a row. The classifier is asked at terminal sets only, once per row and set.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from frugal.agents.registry import build_policy
from frugal.contracts import Episodes, MissingnessGraph, Policy, Streams, Table
from frugal.data.tables import table_from_frames
from frugal.environments.rollouts import acquisition_order, decision_costs
from frugal.environments.rollouts import roll_out as run_policy
from frugal.environments.set_probability import (
    rows_in_parts,
    terminal_sequence_probability,
    terminal_set_probability,
    true_afa_propensity,
)
from frugal.missingness.graphs import topological_order
from frugal.missingness.law import missable_patterns
from frugal.missingness.mechanisms import pattern_probability
from frugal.models.tree_scoring import expected_cost_prediction, predict_proba_acquired
from frugal.models.trees import TreeEnsemble
from frugal.stages._frames import EVALUATED, by_seed, in_s, panel_columns, panel_matrix
from frugal.stages._laws import require_law

WORLDS = ["blocked", "full", "retrospective", "missforest", "multiple", "multiple_label"]
_WORLD_TYPE = pd.CategoricalDtype(WORLDS)
_RECORDED_ONLY = ["set_probability", "sequence_probability"]  # of the records' own sets
_FULL_ONLY = ["in_record_order"]  # of what the policy does where nothing is missing
_BLOCKED_ONLY = ["true_afa_propensity"]  # of the sets that the blocked policy acquired


@dataclass(frozen=True, eq=False)
class _World:
    """Where a policy is run: rows of the table, their values, and what may be acquired there."""

    name: str
    draw: int
    rows: np.ndarray
    values: np.ndarray
    available: np.ndarray


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
    policy: Mapping[str, np.ndarray] | None = None,
) -> dict[str, pd.DataFrame]:
    """Run a policy in every world and seed; log decisions, terminal sets and costs.

    A trained agent comes with `policy`, as `train_agent` stored it.
    """
    data, part = table_from_frames(table, catalogue)
    require_law(graph, identification, masks, data)
    agent = build_policy(settings, table=data, stored=policy)
    ensemble = TreeEnsemble.from_arrays(classifier).require_table(data)
    rows = np.flatnonzero(np.isin(part, EVALUATED))
    test = part[rows] == "test"
    truth = _Truth(agent, data, rows, graph, in_s(identification, data))
    # the same under every mechanism, so that a policy has one truth per seed
    who = {key: streams.wildcards[key] for key in ("dataset", "agent")}
    same_everywhere = Streams(streams.root, streams.stage, who)
    base, other, decisions = [], [], []
    for seed, mask in progress(list(by_seed(masks, rows)), desc="seeds"):
        uniforms = same_everywhere.generator("decisions", seed).random(
            (len(data), len(data.actions) + 1)
        )
        copies = rounds.loc[rounds["seed"] == seed, ["method", "draw"]]
        filled = imputed[imputed["seed"] == seed]
        worlds = _worlds(data, part, rows, mask, graph, copies, filled)
        for world in worlds:
            episodes = _run(agent, data, world, uniforms)
            decisions.append(_decision_frame(seed, world, episodes, data))
            frame = _episode_frame(seed, world, episodes.acquired, data)
            if world.name == "blocked":
                frame["true_afa_propensity"] = truth.afa_propensity(episodes.acquired)
            if world.name == "full":
                frame["in_record_order"] = truth.in_record_order(episodes)
            if world.name in ("blocked", "full"):
                base.append((world, frame))
            else:
                position = np.arange(len(frame))
                other.append(_with_costs(frame, world.values, position, ensemble, data))
        base.append(_recorded(seed, data, rows, test, mask, truth))
    together = pd.concat([frame for _, frame in base], ignore_index=True)
    position = np.concatenate([world.rows for world, _ in base])
    scored = _with_costs(together, data.values, position, ensemble, data)
    return {
        **_split(pd.concat([scored, *other], ignore_index=True)),
        "decisions": pd.concat(decisions, ignore_index=True),
    }


def _recorded(
    seed: int,
    data: Table,
    rows: np.ndarray,
    test: np.ndarray,
    mask: pd.DataFrame,
    truth: "_Truth",
) -> tuple[_World, pd.DataFrame]:
    """The records' own sets of the test rows, with the probability that the policy ends there."""
    observed = panel_matrix(mask, "observed", data)[test]
    world = _World("retrospective", 0, rows[test], data.values, observed)
    frame = _episode_frame(seed, world, observed, data)
    frame["set_probability"], frame["sequence_probability"] = truth.recorded(observed, test)
    return world, frame


def _split(everywhere: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Episodes on the records, which nuisances are fitted to, apart from those in other worlds."""
    on_records = everywhere["world"] == "blocked"
    return {
        "blocked": everywhere[on_records]
        .drop(columns=[*_RECORDED_ONLY, *_FULL_ONLY])
        .reset_index(drop=True),
        "worlds": everywhere[~on_records].drop(columns=_BLOCKED_ONLY).reset_index(drop=True),
    }


class _Truth:
    """What the known law of masks and policy says about a policy, for judging fitted nuisances."""

    def __init__(
        self,
        policy: Policy,
        data: Table,
        rows: np.ndarray,
        graph: Mapping[str, Any],
        s: np.ndarray,
    ) -> None:
        self._policy, self._s = policy, s
        self._data = data.take(rows)
        self._shape = {"free_columns": data.free_columns, "provides": data.provides}
        self._graph = MissingnessGraph.from_dict(graph)
        self._table, self._rows = data, rows  # standardised laws are scaled on the whole table
        self._law_known = graph["source"] == "induced"
        ordered = topological_order(self._graph)
        names = [panel.name for panel in data.actions]
        always = [name for name in names if name not in ordered]
        self._order = np.array([names.index(name) for name in [*always, *ordered]], dtype=np.int64)

    def afa_propensity(self, acquired: np.ndarray) -> np.ndarray:
        """True p(R=1 | X, R̂, R_s=1); NaN where the law of the masks is unknown. (n,)"""
        result = np.full(len(acquired), np.nan)
        if not self._law_known:
            return result
        patterns = missable_patterns(self._graph, self._table)
        patterns = patterns[patterns[:, self._s].all(axis=1)]
        for part in rows_in_parts(acquired, len(patterns)):
            law = pattern_probability(self._graph, self._table, patterns, rows=self._rows[part])
            result[part] = true_afa_propensity(
                self._policy,
                self._data.values[part],
                target=acquired[part],
                patterns=patterns,
                pattern_probability=law,
                s=self._s,
                **self._shape,
            )
        return result

    def recorded(self, observed: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Probability that the policy ends with the recorded set; and in the records' order. (n,)

        ASSUME: records list the panels in the topological order of the graph (always recorded
        panels first), since data sets with masks alone do not tell the order.
        """
        values = self._data.values[at]
        of_set = terminal_set_probability(self._policy, values, target=observed, **self._shape)
        in_order = terminal_sequence_probability(
            self._policy, values, order=self._record_order(observed), **self._shape
        )
        return of_set, in_order

    def in_record_order(self, episodes: Episodes) -> np.ndarray:
        """1 for each episode that took its panels in the order of the records, else 0. (n,)"""
        taken, listed = acquisition_order(episodes), self._record_order(episodes.acquired)
        return (taken == listed).all(axis=1).astype(np.float64)

    def _record_order(self, acquired: np.ndarray) -> np.ndarray:
        """The panels of each set in the order in which records list them, then −1. (n, a)"""
        ranked = acquired[:, self._order]
        slot = np.argsort(~ranked, axis=1, kind="stable")
        return np.where(np.take_along_axis(ranked, slot, axis=1), self._order[slot], -1)


def _worlds(
    data: Table,
    part: np.ndarray,
    rows: np.ndarray,
    mask: pd.DataFrame,
    graph: Mapping[str, Any],
    copies: pd.DataFrame,
    imputed: pd.DataFrame,
) -> Iterator[_World]:
    """The records; the full table, if it is known; every imputed copy of the test rows."""
    yield _World("blocked", 0, rows, data.values[rows], panel_matrix(mask, "observed", data))
    test = np.flatnonzero(part == "test")
    everything = np.ones((len(test), len(data.actions)), dtype=bool)
    if graph["source"] == "induced":
        yield _World("full", 0, test, data.values[test], everything)
    position = pd.Series(np.arange(len(test)), index=data.row_id[test])
    for method, draw in copies.itertuples(index=False):
        copy = imputed[(imputed["method"] == method) & (imputed["draw"] == draw)]
        values = data.values[test].copy()
        filled = copy[[f"value:{c}" for c in data.columns]].to_numpy()
        values[position.loc[copy["row_id"]].to_numpy()] = filled
        yield _World(method, draw, test, values, everything)


def _run(policy: Policy, data: Table, world: _World, uniforms: np.ndarray) -> Episodes:
    return run_policy(
        policy,
        world.values,
        free_columns=data.free_columns,
        provides=data.provides,
        available=world.available,
        uniforms=uniforms[world.rows],
    )


def _episode_frame(seed: int, world: _World, acquired: np.ndarray, data: Table) -> pd.DataFrame:
    columns: dict[str, Any] = {
        "seed": np.int32(seed),
        "world": _named(world, len(world.rows)),
        "draw": np.int16(world.draw),
        "row_id": data.row_id[world.rows],
    }
    columns |= dict(zip(panel_columns("acquired", data), acquired.T, strict=True))
    columns["acquisition_cost"] = acquired @ data.action_cost
    for name in (*_RECORDED_ONLY, *_FULL_ONLY, *_BLOCKED_ONLY):
        columns[name] = np.nan
    return pd.DataFrame(columns)


def _named(world: _World, n: int) -> pd.Categorical:
    """The world's name, n times, in one byte each: there may be millions of rows."""
    return pd.Categorical.from_codes([WORLDS.index(world.name)] * n, dtype=_WORLD_TYPE)


def _decision_frame(seed: int, world: _World, episodes: Episodes, data: Table) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "seed": np.int32(seed),
            "world": _named(world, len(episodes.row)),
            "draw": np.int16(world.draw),
            "row_id": data.row_id[world.rows][episodes.row],
            "step": episodes.step.astype(np.int16),
            "action": episodes.action.astype(np.int16),
            "cost": decision_costs(episodes, data.action_cost),
            "probability": episodes.probability,
        }
    )


def _with_costs(
    frame: pd.DataFrame,
    values: np.ndarray,
    position: np.ndarray,
    ensemble: TreeEnsemble,
    data: Table,
) -> pd.DataFrame:
    """Add prediction, misclassification cost and total cost at the terminal set of each row."""
    shares = predict_proba_acquired(
        ensemble,
        values,
        data.provides,
        data.free_columns,
        position,
        panel_matrix(frame, "acquired", data),
    )
    prediction = expected_cost_prediction(shares, data.misclassification_cost)
    label = data.label[pd.Index(data.row_id).get_indexer(pd.Index(frame["row_id"]))]
    misclassification = data.misclassification_cost[label, prediction]
    return frame.assign(
        prediction=prediction,
        misclassification_cost=misclassification,
        cost=frame["acquisition_cost"] + misclassification,
    )
