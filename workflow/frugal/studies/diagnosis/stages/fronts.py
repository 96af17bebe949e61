"""Stages of learned fronts and of other ways to choose panels: networks train and act."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.kinds import PolicySet, TrainingData, load_policy
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.state_classifier import (
    Criterion,
    fit_state_classifier,
    panels_by_use,
    tuned_threshold,
)
from frugal.config.learners import ClassifierSettings
from frugal.core.context import Context
from frugal.core.declarations import load_one
from frugal.core.errors import DataError
from frugal.core.layout import Bundle, Layout, bundle_header, rows_digest
from frugal.core.stored import StoredArrays, under
from frugal.core.table import Table
from frugal.data.tables import available_panels
from frugal.learn.imputer_kinds import imputer_of
from frugal.studies.diagnosis.frames import (
    JUDGED,
    PARTS,
    Family,
    Solution,
    divided,
    judged_run,
    require_encoder,
    rewards_of,
    rows_of,
    scaled_task,
    solutions_of,
    states_of,
    task_of,
    training_settings,
)
from frugal.studies.diagnosis.policies.fronts import DiagnosisPolicies
from frugal.studies.diagnosis.policies.sm_ddpo import ACTOR, ENCODER, fit_sm_ddpo, front_settings


def train_front(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    encoder: Mapping[str, np.ndarray],
    states: Mapping[str, np.ndarray],
    context: Context,
) -> dict[str, Any]:
    """Train on part `agent`; part `validation` chooses the weights of each policy and ends it.

    A boosted classifier learns from the part `encoder`, too.

    Part `test` is watched for the curves of Figure 5 and decides nothing.
    """
    data, part = divided(table, catalogue, context.streams)
    task, unit = scaled_task(data)
    require_encoder(states, encoder, "input 'encoder'")
    encoders = states_of(states, data, part)
    units = {name: (task.take(rows_of(part, name)), encoders[name]) for name in PARTS}
    pairs = context.settings["pairs"]
    result = fit_sm_ddpo(
        units["agent"][0],
        units["agent"][1],
        units["validation"],
        reward=rewards_of(pairs),
        settings=training_settings(context.settings["training"], context.settings["criterion"]),
        rng=context.streams.generator("train"),
        watched={"test": units["test"]},
        also=task.take(rows_of(part, "encoder")),
    )
    learner = result.curves["learner"].to_numpy()
    numbers = np.array([pair[0] for pair in pairs], dtype=np.int64)
    curves = result.curves.drop(columns="learner").assign(
        cost=result.curves["cost"] * unit,
        kept=result.curves["iteration"].to_numpy() == result.best_iteration[learner],
    )
    curves.insert(0, "pair", numbers[learner])
    arrays = {ACTOR + name: array for name, array in result.weights.items()}
    arrays |= {ENCODER + name: array for name, array in encoder.items()}
    rows = data.take(rows_of(part, "agent"))
    header = bundle_header(
        "sm_ddpo",
        front_settings(context.settings["training"]),
        Layout.of(data),
        rows_digest(rows, rows.values, available_panels(rows)),
    )
    return {"policies": Bundle(header, arrays), "curves": curves}


def roll_out_front(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    states: Mapping[str, np.ndarray],
    context: Context,
    **policies: StoredArrays,
) -> dict[str, pd.DataFrame]:
    """Run the deterministic policies from the free block on [diagnosis, sec. 6].

    `policies` holds the groups in their order. A decision's `belief` is the probability of illness
    by the policy's own classifier at that state; an outcome's `probability` is the policy's share
    of the positive diagnosis among its two.

    Raises:
        DataError: other groups are given than the settings name, or the states were completed by
            another encoder than theirs.
    """
    groups = context.settings["groups"]
    if len(policies) != len(groups):
        raise DataError(f"there are {len(groups)} groups of policies, {len(policies)} were given")
    data, part = divided(table, catalogue, context.streams)
    world = task_of(data, terminals=len(data.classes))
    learned = [_diagnosis_policies(stored, data) for stored in policies.values()]
    for stored in policies.values():
        require_encoder(states, under(stored, ENCODER), f"the stored policy {stored.source}")
    encoders = states_of(states, data, part)
    families = []
    for pairs, policy in zip(groups, learned, strict=True):
        policy.require_task(world, columns=len(data.columns), count=len(pairs))
        readings = {
            split: policy.readings(encoders[split], world.take(rows_of(part, split)))
            for split in JUDGED
        }
        families.append(Family(solutions_of(context.settings["method"], pairs), policy, readings))
    return judged_run(families, data, part, context.streams, context.progress)


def _diagnosis_policies(stored: StoredArrays, data: Table) -> DiagnosisPolicies:
    """The policies of one group, with the encoder that they were trained behind.

    Raises:
        DataError: the file holds another kind of agent, or one of another table.
    """
    policy, layout = load_policy(stored)
    if not isinstance(policy, DiagnosisPolicies):
        raise DataError(f"{stored.source} holds no policies of SM-DDPO")
    layout.require_same(data, f"the stored policy {stored.source}")
    return policy


def train_selection(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    encoder: Mapping[str, np.ndarray],
    states: Mapping[str, np.ndarray],
    decisions: pd.DataFrame,
    context: Context,
) -> dict[str, pd.DataFrame]:
    """Make every way, tune its threshold on validation units, run it on all  [diagnosis, sec. 6.2].

    `decisions` is the log of the front whose most ordered panels the fixed selection takes.

    Random and fixed selection, a greedy information gain per cost, and classification with costly
    features by Q-learning [diagnosis, sec. 6.2]. All but the last share one classifier of states.
    """
    streams = context.streams
    data, part = divided(table, catalogue, streams)
    world = task_of(data, terminals=len(data.classes))
    imputer = imputer_of(encoder, columns=len(data.columns))
    require_encoder(states, encoder, "input 'encoder'")
    encoders = states_of(states, data, part)
    training = context.settings["training"]
    classifier = fit_state_classifier(
        world.take(rows_of(part, "agent")),
        encoders["agent"],
        settings=ClassifierSettings.of(training["classifier"]),
        updates=context.settings["classifier_updates"],
        input_bound=training["input_bound"],
        rng=streams.generator("classifier"),
    )
    a = len(data.actions)
    chosen = decisions.loc[decisions["part"] == "validation", "action"].to_numpy()
    use = panels_by_use(np.eye(a, dtype=bool)[chosen[chosen < a]])
    rows = {name: rows_of(part, name) for name in PARTS}
    scaled, _ = scaled_task(data)
    training_data = TrainingData(data, rows, scaled, imputer, encoders, classifier, use, streams)
    families = []
    for name in context.progress(list(context.settings["selection"]), desc="selection"):
        options = dict(context.settings["selection"][name])
        kind = load_one("frugal.acquire.policies", "AgentKind", options.pop("kind"))
        several = kind.several(training_data, name, **options)
        families.append(_tuned(several, training_data, name, context.settings["criterion"]))
    return judged_run(families, data, part, streams, context.progress)


def _tuned(
    several: PolicySet, training_data: TrainingData, name: str, criterion: Criterion
) -> Family:
    """The policies, each with the threshold of the best score on validation units."""
    world = training_data.world.take(training_data.rows["validation"])
    uniforms = partial(training_data.uniforms, name)
    run = roll_out(
        several.policies,
        world,
        uniforms=uniforms("validation"),
        states=several.readings["validation"],
    )
    assert run.verdict is not None, "bug: these policies have a verdict"
    thresholds = [tuned_threshold(world.label, p, criterion) for p in run.verdict[:, :, 1]]
    policies = replace(several.policies, threshold=np.array(thresholds))
    solutions = [Solution(name, k, *setting) for k, setting in enumerate(several.settings)]
    return Family(solutions, policies, several.readings, uniforms)
