"""Frames that the stages of `diagnosis` share: outcomes, decisions, and the scores of a run.

A *run* is one family of ways to diagnose (a front, the baselines, …) on one data set with one
seed. Its three frames have the columns listed here, for any method.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.acquisition import DiagnosisReward, release_reward
from frugal.acquire.acting import acted
from frugal.acquire.encoders import CallableEncoder, TabulatedEncoder
from frugal.acquire.logs import Member, Scene
from frugal.acquire.reading import completed_states
from frugal.core.context import without_bar
from frugal.core.errors import ConfigError, DataError
from frugal.core.stored import Array, Stored, under
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import StateEncoder, World
from frugal.data.splits import assign_parts
from frugal.data.tables import available_panels, table_from_frames
from frugal.learn.imputer_kinds import imputer_of
from frugal.learn.trees import TreeEnsemble
from frugal.studies.diagnosis.beliefs import belief_scores
from frugal.studies.diagnosis.scores import diagnosis_scores

JUDGED = ("validation", "test")  # solutions are chosen on the first and reported on the second
RUN = ["dataset", "family", "criterion", "seed"]
SOLUTION = ["method", "pair", "lambda", "rho", "setting"]


@dataclass(frozen=True)
class Solution:
    """One point of the plane of cost and score.

    Attributes:
        method: name shown to the reader.
        pair: number of the solution within its method.
        lam: λ of theorem 4.1, NaN where there is none.
        rho: ρ of theorem 4.1, per mean panel cost, NaN where there is none.
        setting: further key of solutions of a method.
    """

    method: str
    pair: int
    lam: float
    rho: float
    setting: str


def divided(
    table: pd.DataFrame, catalogue: Mapping[str, Any], streams: Streams
) -> tuple[Table, np.ndarray]:
    """The table, and the part of each row for the seed among the wildcards.

    Seed 0 keeps the parts that the data set was prepared with; each other seed divides the rows
    anew, stratified by label, into parts of the same sizes. So results over seeds vary by the
    units as well as by training, and every stage divides equally.

    Raises:
        ConfigError: the job has no wildcards `dataset` and `seed`.
    """
    if not {"dataset", "seed"} <= set(streams.wildcards):
        raise ConfigError("stages of diagnosis need --wildcard dataset=NAME and --wildcard seed=N")
    data, part = table_from_frames(table, catalogue)
    seed = int(streams.wildcards["seed"])
    if seed == 0:
        return data, part
    names, counts = np.unique(part, return_counts=True)
    sizes = dict(zip(names.tolist(), counts.tolist(), strict=True))
    split_streams = Streams(streams.root, "divided", {"dataset": streams.wildcards["dataset"]})
    return data, assign_parts(data.label, sizes, split_streams.generator(seed))


def rows_of(part: np.ndarray, name: str) -> np.ndarray:
    """Positions of the rows of a part."""
    return np.flatnonzero(part == name)


def task_of(data: Table, *, terminals: int) -> World:
    """The world of a table: a panel can be had where one of its columns has a value."""
    return World.of_table(data, available=available_panels(data), terminals=terminals)


@dataclass(frozen=True, eq=False)
class Family:
    """Solutions of one kind, that act together.

    Attributes:
        solutions: K of them.
        policies: the same as a policy of K members.
        readings: of the units of each part, where they were kept.
        uniforms: part → uniform numbers of the draws; None: nothing is drawn. (n, a + 1)
        cuts: least probability of class 1 that is decided 1, which is the last belief, too; None:
            the likeliest class. (K,)
        classifier: used by policies that only stop.
    """

    solutions: Sequence[Solution]
    policies: Any
    readings: Mapping[str, StateEncoder] | None = None
    uniforms: Callable[[str], np.ndarray] | None = None
    cuts: np.ndarray | None = None
    classifier: TreeEnsemble | None = None


def judged_run(
    families: Sequence[Family],
    data: Table,
    part: np.ndarray,
    streams: Streams,
    progress: Callable[..., Any] = without_bar,
) -> dict[str, Any]:
    """The three outputs of a run: outcomes, decisions and scores on the parts for evaluation."""
    world, panels = task_of(data, terminals=len(data.classes)), [p.name for p in data.actions]
    outcomes, decisions, full_costs = [], [], {}
    for split in JUDGED:
        rows = rows_of(part, split)
        units, parts = world.take(rows), np.full(len(rows), split, dtype=object)
        full_costs[split] = float(full_cost(data, world)[rows].mean())
        for family in progress(families, desc=split):
            members = [Member(solution.method, solution.pair) for solution in family.solutions]
            scene = Scene(
                members,
                units,
                int(streams.wildcards["seed"]),
                parts,
                panels,
                data.error_costs[rows],
            )
            frame, log, episodes = acted(
                scene,
                family.policies,
                uniforms=family.uniforms and family.uniforms(split),
                classifier=family.classifier,
                cuts=family.cuts,
                states=family.readings and family.readings[split],
                beliefs=family.cuts is None,
            )
            last = np.full(episodes.acquired.shape[:2], np.nan)
            if episodes.belief is not None:
                order = np.argsort(episodes.step, kind="stable")
                last[episodes.member[order], episodes.row[order]] = episodes.belief[order, 1]
            believed = last.ravel() if family.cuts is None else frame["probability"]
            outcomes.append(frame.assign(belief=believed))
            decisions.append(log)
    solutions, joined = [s for family in families for s in family.solutions], pd.concat(outcomes)
    return {
        "outcomes": joined.reset_index(drop=True),
        "decisions": pd.concat(decisions, ignore_index=True),
        "scores": score_frame(solutions, joined, full_costs),
    }


def whole_sets(data: Table) -> np.ndarray:
    """True for the panels that make up full observation: none whose columns another has as well.

    Columns that are free count for no panel. Of panels with equal columns, the cheapest (the first
    among equals) counts. (a,)
    """
    provides, cost = data.provides & ~data.free_columns, data.action_cost
    rank = np.lexsort((np.arange(len(cost)), cost)).argsort()
    inside = (provides[:, None] <= provides[None]).all(axis=2)  # inside[j, k]: j's are among k's
    equal = inside & inside.T
    covered = inside & (~equal | (rank[None] < rank[:, None]))
    np.fill_diagonal(covered, False)
    return np.logical_not(covered.any(axis=1))


def full_cost(data: Table, world: World) -> np.ndarray:
    """Cost of full observation for each unit, panels that it cannot have left out. (n,)"""
    return world.available @ np.where(whole_sets(data), data.action_cost, 0.0)


def score_frame(
    solutions: Sequence[Solution], outcomes: pd.DataFrame, whole_cost: Mapping[str, float]
) -> pd.DataFrame:
    """Scores of every solution on each split; the rows of a solution lie together in `outcomes`.

    Args:
        solutions: in the order of the rows.
        outcomes: of all solutions, one split after the other.
        whole_cost: mean cost of full observation on each split.
    """
    parts = []
    for split, rows in outcomes.groupby("part", sort=False, observed=True):
        names = ("label", "verdict", "probability", "acquisition_cost", "belief")
        label, verdict, probability, cost, believed = (
            rows[name].to_numpy().reshape(len(solutions), -1) for name in names
        )
        scores = diagnosis_scores(
            label[0].astype(np.int64), verdict.astype(np.int64), probability, cost
        )
        scores = scores.assign(
            **belief_scores(label[0].astype(np.int64), believed),
            split=str(split),
            full_cost=whole_cost[str(split)],
        )
        parts.append(pd.concat([_names(solutions), scores], axis=1))
    return pd.concat(parts, ignore_index=True)


def _names(solutions: Sequence[Solution]) -> pd.DataFrame:
    rows = [(s.method, s.pair, s.lam, s.rho, s.setting) for s in solutions]
    frame = pd.DataFrame(rows, columns=SOLUTION)
    return frame.astype({"lambda": np.float64, "rho": np.float64})


PARTS = ("agent", *JUDGED)
STATES, ENCODER = "states.", "encoder."  # what begins the names of arrays in a file of states


def of_encoder(encoder: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """An encoder's arrays as a file of states names them."""
    return {ENCODER + name: array for name, array in encoder.items()}


def states_of(
    stored: Mapping[str, np.ndarray], data: Table, part: np.ndarray
) -> dict[str, TabulatedEncoder | CallableEncoder]:
    """Part → completed rows of its units at every set of panels, as `tabulate_states` wrote them.

    Where it wrote none, for they would take too much memory, rows are completed when requested.

    Raises:
        DataError: the file is another, or one of another table.
    """
    if not under(stored, STATES):
        imputer = imputer_of(under(stored, ENCODER), columns=len(data.columns))
        world = task_of(data, terminals=len(data.classes))
        return {name: completed_states(imputer, world.take(rows_of(part, name))) for name in PARTS}
    encoded = Stored("table of states", under(stored, STATES))
    rows = {name: len(rows_of(part, name)) for name in PARTS}
    wide = (2 ** len(data.actions), len(data.columns))
    encoded.require({name: Array("float32", (count, *wide)) for name, count in rows.items()})
    return {name: TabulatedEncoder(encoded.arrays[name]) for name in PARTS}


def require_encoder(
    stored: Mapping[str, np.ndarray], encoder: Mapping[str, np.ndarray], source: str
) -> None:
    """A file of states was made by an encoder.

    Raises:
        DataError: it was made by another than that of `source`.
    """
    stored_encoder = under(stored, ENCODER)
    if stored_encoder.keys() != encoder.keys() or not all(
        np.array_equal(stored_encoder[name], array) for name, array in encoder.items()
    ):
        raise DataError(f"the table of states was made by another encoder than that of {source}")


def scaled_task(data: Table) -> tuple[World, float]:
    """The world of a table with panel costs of mean 1, and the mean that they were divided by.

    Raises:
        DataError: every panel costs nothing.
    """
    world = task_of(data, terminals=len(data.classes))
    mean = float(world.action_cost.mean())
    if not mean > 0:
        raise DataError("no panel has a cost, so there is nothing to weigh against errors")
    return replace(world, action_cost=world.action_cost / mean), mean


def rewards_of(pairs: Sequence[Sequence[Any]]) -> DiagnosisReward:
    """Rewards of [pair, ratio, penalty] triples, costs being of mean 1  [diagnosis, thm 4.1].

    The release's reward divided by its penalty W: 1 for a false alarm, λ for a missed ill unit,
    −ρ = 1/W for a mean panel. Networks of one group then learn amounts of one size.
    """
    table = np.array([pair[1:] for pair in pairs], dtype=np.float64)
    reward = release_reward(table[:, 0], table[:, 1])
    scale = (1.0 / table[:, 1]).astype(np.float32)
    return DiagnosisReward(reward.matrix * scale[:, None, None], reward.cost_weight * scale)


def solutions_of(method: str, pairs: Sequence[Sequence[Any]]) -> list[Solution]:
    """The solutions of [pair, ratio, penalty] triples: λ = ratio, ρ = −1/penalty."""
    return [Solution(method, int(k), float(r), -1.0 / float(w), "") for k, r, w in pairs]


def training_settings(settings: Mapping[str, Any], criterion: str) -> dict[str, Any]:
    """The block that training takes."""
    return dict(settings) | {"criterion": criterion}
