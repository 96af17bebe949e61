"""Frames that the stages of `diagnosis` share: outcomes, decisions, and the scores of a run.

A *run* is one family of ways to diagnose (a front, the baselines, …) on one data set with one
seed. Its three frames have the columns listed here, whatever made them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from frugal.contracts import AcquisitionTask, ConfigError, Streams, Table
from frugal.data.availability import available_panels
from frugal.data.splits import assign_parts
from frugal.data.tables import table_from_frames
from frugal.environments.diagnosis_rollouts import Outcomes
from frugal.evaluation.diagnosis import diagnosis_scores

JUDGED = ("validation", "test")  # solutions are chosen on the first and reported on the second
RUN = ["dataset", "family", "criterion", "seed"]
SOLUTION = ["method", "pair", "lambda", "rho", "setting"]
OUTCOME_COLUMNS = ["method", "pair", "split", "row_id", "label", "diagnosis", "probability", "cost"]
DECISION_COLUMNS = [
    "method", "pair", "split", "row_id", "step", "action", "cost", "probability", "belief",
]  # fmt: skip


@dataclass(frozen=True)
class Solution:
    """One point of the plane of cost and score.

    Attributes:
        method: name shown to the reader.
        pair: number of the solution within its method.
        lam: λ of theorem 4.1, NaN where there is none.
        rho: ρ of theorem 4.1, per mean panel cost, NaN where there is none.
        setting: what else tells solutions of a method apart.
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
    units as well as by training, and every stage divides alike.

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
    own = Streams(streams.root, "divided", {"dataset": streams.wildcards["dataset"]})
    return data, assign_parts(data.label, sizes, own.generator(seed))


def rows_of(part: np.ndarray, name: str) -> np.ndarray:
    """Positions of the rows of a part."""
    return np.flatnonzero(part == name)


def task_of(data: Table, *, terminals: int) -> AcquisitionTask:
    """The decision process of a table: a panel can be had where one of its columns has a value."""
    available = available_panels(data)
    return AcquisitionTask(available, data.label, data.action_cost, len(data.classes), terminals)


def outcome_frame(
    solutions: Sequence[Solution],
    split: str,
    row_id: np.ndarray,
    label: np.ndarray,
    *,
    diagnosis: np.ndarray,
    probability: np.ndarray,
    cost: np.ndarray,
) -> pd.DataFrame:
    """One row per solution and unit; the last three are (K, n)."""
    shape = diagnosis.shape
    names = [solution.method for solution in solutions]
    methods = pd.Categorical(np.repeat(names, shape[1]), categories=list(dict.fromkeys(names)))
    return pd.DataFrame(
        {
            "method": methods,
            "pair": np.repeat([s.pair for s in solutions], shape[1]).astype(np.int32),
            "split": pd.Categorical([split], categories=JUDGED).repeat(diagnosis.size),
            "row_id": np.broadcast_to(row_id, shape).ravel(),
            "label": np.broadcast_to(label, shape).ravel().astype(np.int8),
            "diagnosis": diagnosis.ravel().astype(np.int8),
            "probability": probability.ravel().astype(np.float64),
            "cost": cost.ravel().astype(np.float64),
        }
    )


def decision_frame(
    solutions: Sequence[Solution],
    split: str,
    row_id: np.ndarray,
    *,
    learner: np.ndarray,
    row: np.ndarray,
    step: np.ndarray,
    action: np.ndarray,
    cost: np.ndarray,
    probability: np.ndarray,
    belief: np.ndarray,
) -> pd.DataFrame:
    """One row per decision; `learner` counts solutions and `row` units."""
    names = [solution.method for solution in solutions]
    methods = pd.Categorical(
        np.array(names, dtype=object)[learner], categories=list(dict.fromkeys(names))
    )
    return pd.DataFrame(
        {
            "method": methods,
            "pair": np.array([s.pair for s in solutions], dtype=np.int32)[learner],
            "split": pd.Categorical([split], categories=JUDGED).repeat(len(row)),
            "row_id": row_id[row],
            "step": step.astype(np.int16),
            "action": action.astype(np.int16),
            "cost": cost.astype(np.float64),
            "probability": probability.astype(np.float32),
            "belief": belief.astype(np.float32),
        }
    )


def rollout_frames(
    solutions: Sequence[Solution],
    split: str,
    row_id: np.ndarray,
    label: np.ndarray,
    run: Outcomes,
    *,
    belief: np.ndarray,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Outcomes and decisions of K policies on one split; `belief` is of each decision. (m,)"""
    outcomes = outcome_frame(
        solutions, split, row_id, label,
        diagnosis=run.terminal, probability=run.terminal_belief[:, :, 1], cost=run.total_cost,
    )  # fmt: skip
    decisions = decision_frame(
        solutions, split, row_id, learner=run.learner, row=run.row, step=run.step,
        action=run.action, cost=run.cost, probability=run.probability, belief=belief,
    )  # fmt: skip
    return outcomes, decisions


def fixed_set_decisions(
    sets: np.ndarray, available: np.ndarray, action_cost: np.ndarray, diagnosis: np.ndarray
) -> dict[str, np.ndarray]:
    """The log of ways that always order the same panels, as far as a unit has them.

    Args:
        sets: panels of each solution. (K, a)
        available: panels that a unit can have. (n, a)
        action_cost: price of each panel. (a,)
        diagnosis: class said. (K, n)

    Returns:
        `learner`, `row`, `step`, `action`, `cost`, `probability` of each decision, panels in their
        own order and the diagnosis last.
    """
    a = len(action_cost)
    ordered = sets[:, None, :] & available[None]
    ends = np.ones((*diagnosis.shape, 1), dtype=bool)
    taken = np.concatenate([ordered, ends], axis=2)
    learner, row, action = np.nonzero(taken)
    step = (taken.cumsum(axis=2) - 1)[learner, row, action]
    price = np.append(action_cost, 0.0)
    said = np.where(action == a, a + diagnosis[learner, row], action)
    return {
        "learner": learner, "row": row, "step": step, "action": said, "cost": price[action],
        "probability": np.ones(len(row)),
    }  # fmt: skip


def fixed_runs(
    solutions: Sequence[Solution],
    sets: np.ndarray,
    data: Table,
    task: AcquisitionTask,
    part: np.ndarray,
    risk: np.ndarray,
    said: np.ndarray,
) -> tuple[list[pd.DataFrame], list[pd.DataFrame]]:
    """Outcomes and decisions, on both splits, of ways that order the same panels for everyone.

    Args:
        solutions: K of them.
        sets: panels of each. (K, a)
        data: the whole table.
        task: its decision process.
        part: of each row. (n,)
        risk: probability of the positive class. (K, n)
        said: class diagnosed. (K, n)
    """
    outcomes, decisions = [], []
    for split in JUDGED:
        rows = rows_of(part, split)
        available, ids = task.available[rows], data.row_id[rows]
        log = fixed_set_decisions(sets, available, data.action_cost, said[:, rows])
        belief = risk[log["learner"], rows[log["row"]]]
        decisions.append(decision_frame(solutions, split, ids, belief=belief, **log))
        cost = (sets * data.action_cost) @ available.T
        outcomes.append(
            outcome_frame(
                solutions, split, ids, data.label[rows],
                diagnosis=said[:, rows], probability=risk[:, rows], cost=cost,
            )
        )  # fmt: skip
    return outcomes, decisions


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


def full_cost(data: Table, task: AcquisitionTask) -> np.ndarray:
    """What full observation costs each unit, panels that it cannot have left out. (n,)"""
    return task.available @ np.where(whole_sets(data), data.action_cost, 0.0)


def score_frame(
    solutions: Sequence[Solution], outcomes: pd.DataFrame, whole_cost: Mapping[str, float]
) -> pd.DataFrame:
    """Scores of every solution on each split; the rows of a solution lie together in `outcomes`.

    Args:
        solutions: in the order of the rows.
        outcomes: of `outcome_frame`, one split after the other.
        whole_cost: mean cost of full observation on each split.
    """
    parts = []
    for split, rows in outcomes.groupby("split", sort=False, observed=True):
        shape = (len(solutions), -1)
        columns = {name: rows[name].to_numpy().reshape(shape) for name in OUTCOME_COLUMNS[4:]}
        scores = diagnosis_scores(
            columns["label"][0].astype(np.int64),
            columns["diagnosis"].astype(np.int64),
            columns["probability"],
            columns["cost"],
        )
        scores = scores.assign(split=str(split), full_cost=whole_cost[str(split)])
        parts.append(pd.concat([_names(solutions), scores], axis=1))
    return pd.concat(parts, ignore_index=True)


def _names(solutions: Sequence[Solution]) -> pd.DataFrame:
    rows = [(s.method, s.pair, s.lam, s.rho, s.setting) for s in solutions]
    frame = pd.DataFrame(rows, columns=SOLUTION)
    return frame.astype({"lambda": np.float64, "rho": np.float64})


def run_frames(
    solutions: Sequence[Solution],
    outcomes: Sequence[pd.DataFrame],
    decisions: Sequence[pd.DataFrame],
    whole_cost: Mapping[str, float],
) -> dict[str, Any]:
    """The three outputs of a run."""
    together = pd.concat(outcomes, ignore_index=True)
    return {
        "outcomes": together,
        "decisions": pd.concat(decisions, ignore_index=True),
        "scores": score_frame(solutions, together, whole_cost),
    }
