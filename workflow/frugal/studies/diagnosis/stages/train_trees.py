"""Stage `train_trees`: an agent of any kind, or a front of one that is learnt at once.

A front learns from the parts `encoder` and `agent`, cross-fitted. Its sets, windows and thresholds
are chosen on out-of-fold predictions and those on `validation`, pooled. An agent of a kind without
a front learns from the same parts for the table's own costs, as in `afape`. Part `test` decides
nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.kinds import Ground, Learned
from frugal.acquire.registry import CLASSIFIER, build_policy, kind_of, train_bundle
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.payoff import Objective
from frugal.acquire.train.tree_sets import folded_rows
from frugal.core.layout import Bundle, Layout, bundle_header, rows_digest
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import World
from frugal.data.availability import available_panels
from frugal.data.tables import sensitive_from_frames
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
from frugal.studies.shared.stages.fit_classifier import classifier_of

TRAINED = ("encoder", "agent")  # all rows that a front learns from, imputer and policies together
NO_POOLED = pd.DataFrame({"pair": [0], "pooled_score": [0.0], "cost": [0.0], "n": [0]}).iloc[:0]


def train_trees(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Fit one agent, or a front of it, and run it on all judged units.

    Settings: `name` and `agent`, its block; `criterion`; `classifier`, for agents that only stop;
    `budget_shares` of the mean price of full observation of the rows that choose.
    """
    data, part = divided(table, catalogue, streams)
    world, name = task_of(data, terminals=len(data.classes)), settings["name"]
    front = kind_of(settings["agent"]).front is not None
    classifier = None
    if front:
        bundle, pooled = _front(data, part, world, settings, streams)
    else:
        rows = np.flatnonzero(np.isin(part, TRAINED))
        learnt_from = data.take(rows)
        classifier = classifier_of(learnt_from, settings["classifier"], streams)
        group = None
        if len(catalogue["groups"]) == 2:
            group = sensitive_from_frames(table, catalogue)[0][rows]
        recorded = available_panels(learnt_from)
        ground = Ground(learnt_from, recorded, group, classifier, streams, progress)
        bundle, pooled = train_bundle(settings["agent"], ground)[0], NO_POOLED
    policies: Any = build_policy(settings["agent"], table=data, stored=bundle.stored("policies"))
    panels = [panel.name for panel in data.actions]
    words = policies.sentences(panels) if front else [""]
    solutions = [Solution(name, k, np.nan, np.nan, w) for k, w in enumerate(words)]
    outcomes, decisions = [], []
    for split in progress(list(JUDGED), desc="units"):
        here = Judged.of(data, world, rows_of(part, split), split, streams)
        uniforms = here.first_of_equals
        if not front:
            uniforms = streams.generator("decisions", split).random(uniforms.shape)
        run = roll_out(policies, here.world, uniforms=uniforms, beliefs=True)
        frames = rollout_frames(solutions, here, run, classifier)
        outcomes.append(frames[0])
        decisions.append(frames[1])
    whole = {name: float(full_cost(data, world)[rows_of(part, name)].mean()) for name in JUDGED}
    made = run_frames(solutions, outcomes, decisions, whole)
    if classifier is not None:  # which `advise` asks where the policy only stops
        asked = {CLASSIFIER + name: array for name, array in classifier.to_arrays().items()}
        bundle = Bundle(bundle.header, {**bundle.arrays, **asked})
    return made | {"policies": bundle, "pooled": pooled}


def _front(
    data: Table, part: np.ndarray, world: World, settings: Mapping[str, Any], streams: Streams
) -> tuple[Bundle, pd.DataFrame]:
    """A front as its file holds it; score and price of each policy, out of fold and on validation.

    The predictions of both are pooled.
    """
    learned, rows = fitted(data, part, world, settings, streams.generator("train"))
    learnt_from = data.take(rows)
    header = bundle_header(
        settings["agent"]["kind"], settings["agent"], Layout.of(data),
        rows_digest(learnt_from, learnt_from.values, available_panels(learnt_from)),
    )  # fmt: skip
    score, cost = (learned.curve[name] for name in ("mean_return", "acquisition_cost"))
    pooled = pd.DataFrame(
        {"pair": range(len(score)), "pooled_score": score, "cost": cost, "n": len(rows)}
    )
    return Bundle(header, learned.arrays), pooled


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
