"""Stage `train_trees`: a front of an agent that is cross-fitted, learnt at once.

Trees, or networks, learn from the parts `encoder` and `agent`, cross-fitted. Sets, windows and
thresholds are chosen on their out-of-fold predictions and those on `validation`, pooled; `test`
decides nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.kinds import Learned
from frugal.acquire.registry import build_policy, kind_of
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.payoff import Objective
from frugal.acquire.train.tree_sets import folded_rows
from frugal.core.layout import Bundle, Layout, bundle_header, rows_digest
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import World
from frugal.data.availability import available_panels
from frugal.judge.fronts import ROUNDING
from frugal.studies.diagnosis.frames import (
    JUDGED,
    Judged,
    Solution,
    divided,
    full_cost,
    rollout_frames,
    rows_of,
    run_frames,
    task_of,
)

TRAINED = ("encoder", "agent")  # all rows that a front learns from, imputer and policies together


def train_trees(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Fit a front of one agent, and run it on all judged units.

    Settings: `name` and `agent`, its block; `criterion`; `budget_shares` of the mean price of full
    observation of the rows that choose.
    """
    data, part = divided(table, catalogue, streams)
    world, own = task_of(data, terminals=len(data.classes)), settings["agent"]
    learned, rows = fitted(data, part, world, settings, streams.generator("train"))
    learnt_from = data.take(rows)
    header = bundle_header(
        own["kind"], own, Layout.of(data),
        rows_digest(learnt_from, learnt_from.values, available_panels(learnt_from)),
    )  # fmt: skip
    bundle = Bundle(header, learned.arrays)
    policies: Any = build_policy(own, table=data, stored=bundle.stored("policies"))
    words = policies.sentences([panel.name for panel in data.actions])
    solutions = [Solution(settings["name"], k, np.nan, np.nan, w) for k, w in enumerate(words)]
    outcomes, decisions = [], []
    for split in progress(list(JUDGED), desc="units"):
        here = Judged.of(data, world, rows_of(part, split), split, streams)
        run = roll_out(policies, here.world, uniforms=here.first_of_equals, beliefs=True)
        frames = rollout_frames(solutions, here, run)
        outcomes.append(frames[0])
        decisions.append(frames[1])
    whole = {name: float(full_cost(data, world)[rows_of(part, name)].mean()) for name in JUDGED}
    told = {"policies": bundle, "pooled": _pooled(learned, len(rows))}
    return run_frames(solutions, outcomes, decisions, whole) | told


def _pooled(learned: Learned, units: int) -> pd.DataFrame:
    """What out-of-fold and validation predictions say of each policy: its score and its price."""
    score, cost = (learned.curve[name] for name in ("mean_return", "acquisition_cost"))
    return pd.DataFrame(
        {"pair": range(len(score)), "pooled_score": score, "cost": cost, "n": units}
    )


def fitted(
    data: Table,
    part: np.ndarray,
    world: World,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> tuple[Learned, np.ndarray]:
    """What training leaves, and the rows that it saw: those of trees, then those that judge."""
    rows = np.flatnonzero(np.isin(part, (*TRAINED, "validation")))
    own = settings["agent"]
    folded = folded_rows(world.take(rows), np.isin(part[rows], TRAINED), own, rng)
    objective = Objective.of(settings["criterion"], data.label[rows], data.misclassification_cost)
    full = float(full_cost(data, world)[rows].mean())
    budgets = np.array(sorted(settings["budget_shares"])) * full * (1 + ROUNDING)
    front = kind_of(own).front
    assert front is not None, "bug: a config takes kinds that have a front"
    return front(folded, objective, own, budgets), rows
