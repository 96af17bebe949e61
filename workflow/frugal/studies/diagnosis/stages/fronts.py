"""Stages of learned fronts and of other ways to choose panels: networks train and are asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from frugal.acquire.encoders import CallableEncoder, TabulatedEncoder, ValuesEncoder
from frugal.acquire.kinds import load_policy
from frugal.acquire.policies.cwcf import CwcfPolicies, fit_cwcf
from frugal.acquire.policies.diagnosis import DiagnosisPolicies
from frugal.acquire.policies.greedy import GreedyPolicies, ReferenceUnits
from frugal.acquire.policies.sm_ddpo import ACTOR, ENCODER, fit_sm_ddpo, front_settings
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.state_classifier import (
    SelectionPolicies,
    StateClassifier,
    fit_state_classifier,
    panels_by_use,
    tuned_threshold,
)
from frugal.config.learners import ClassifierSettings
from frugal.core.errors import DataError
from frugal.core.layout import Bundle, Layout, bundle_header, rows_digest
from frugal.core.stored import StoredArrays, under
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import StateEncoder, World
from frugal.data.tables import available_panels
from frugal.learn.imputer_kinds import Imputer, imputer_of
from frugal.studies.diagnosis.frames import (
    JUDGED,
    PARTS,
    Judged,
    Solution,
    divided,
    full_cost,
    require_encoder,
    rewards_of,
    rollout_frames,
    rows_of,
    run_frames,
    scaled_task,
    solutions_of,
    states_of,
    task_of,
    training_settings,
)


def train_front(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    encoder: Mapping[str, np.ndarray],
    states: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Train on part `agent`; part `validation` chooses the weights of each policy and ends it.

    A boosted classifier learns from the part `encoder`, too.

    Part `test` is watched for the curves of Figure 5 and decides nothing.
    """
    del progress
    data, part = divided(table, catalogue, streams)
    task, unit = scaled_task(data)
    require_encoder(states, encoder, "input 'encoder'")
    kept = states_of(states, data, part)
    units = {name: (task.take(rows_of(part, name)), kept[name]) for name in PARTS}
    pairs = settings["pairs"]
    result = fit_sm_ddpo(
        units["agent"][0],
        units["agent"][1],
        units["validation"],
        reward=rewards_of(pairs),
        settings=training_settings(settings["training"], settings["criterion"]),
        rng=streams.generator("train"),
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
        front_settings(settings["training"]),
        Layout.of(data),
        rows_digest(rows, rows.values, available_panels(rows)),
    )
    return {"policies": Bundle(header, arrays), "curves": curves}


def roll_out_front(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    states: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
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
    groups = settings["groups"]
    if len(policies) != len(groups):
        raise DataError(f"there are {len(groups)} groups of policies, {len(policies)} were given")
    data, part = divided(table, catalogue, streams)
    world = task_of(data, terminals=len(data.classes))
    learned = [_diagnosis_policies(stored, data) for stored in policies.values()]
    for stored in policies.values():
        require_encoder(states, under(stored, ENCODER), f"the stored policy {stored.source}")
    kept = states_of(states, data, part)
    solutions, outcomes, decisions = [], [], []
    for pairs, policy in zip(groups, learned, strict=True):
        solutions += solutions_of(settings["method"], pairs)
        policy.require_task(world, columns=len(data.columns), count=len(pairs))
    for split in JUDGED:
        here = Judged.of(data, world, rows_of(part, split), split, streams)
        given = list(zip(groups, learned, strict=True))
        for pairs, policy in progress(given, desc=split):
            episodes = roll_out(
                policy, here.world, uniforms=here.first_of_equals, beliefs=True,
                states=policy.readings(kept[split], here.world),
            )  # fmt: skip
            frames = rollout_frames(solutions_of(settings["method"], pairs), here, episodes)
            outcomes.append(frames[0])
            decisions.append(frames[1])
    whole = {name: float(full_cost(data, world)[rows_of(part, name)].mean()) for name in JUDGED}
    return run_frames(solutions, outcomes, decisions, whole)


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


UNTUNED = 0.5  # threshold at which beliefs stay as they are


@dataclass(frozen=True, eq=False)
class _Way:
    """K solutions of one kind: policies, and their readings of the units of each part."""

    solutions: list[Solution]
    policies: Any
    readings: Mapping[str, StateEncoder]


@dataclass(frozen=True, eq=False)
class SelectionWay:
    """One way to choose panels, declared in this module.

    Attributes:
        name: `kind` in a config.
        make: (material, name, settings by name) → its policies.
        settings: as of `acquire.kinds.AgentKind`.
        steps: the same; a list counts its items.
    """

    name: str
    make: Callable[..., _Way]
    settings: Mapping[str, tuple[Any, ...]]
    steps: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class _Material:
    """What the ways are made of."""

    data: Table
    part: np.ndarray
    world: World
    imputer: Imputer
    states: Mapping[str, TabulatedEncoder | CallableEncoder]
    classifier: StateClassifier
    use: np.ndarray
    streams: Streams

    def rows(self, split: str) -> np.ndarray:
        return rows_of(self.part, split)

    def uniforms(self, name: str, split: str) -> np.ndarray:
        """What decides the draws of one way on one part. (n, a + 1)"""
        shape = (len(self.rows(split)), self.world.panels + 1)
        return self.streams.generator(name, split).random(shape)


def train_selection(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    encoder: Mapping[str, np.ndarray],
    states: Mapping[str, np.ndarray],
    decisions: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """Make every way, tune its threshold on validation units, run it on all  [diagnosis, sec. 6.2].

    `decisions` is the log of the front whose most ordered panels the fixed selection takes.

    Random and fixed selection, a greedy information gain per cost, and classification with costly
    features by Q-learning [diagnosis, sec. 6.2]. All but the last share one classifier of states.
    """
    data, part = divided(table, catalogue, streams)
    world = task_of(data, terminals=len(data.classes))
    imputer = imputer_of(encoder, columns=len(data.columns))
    require_encoder(states, encoder, "input 'encoder'")
    kept = states_of(states, data, part)
    training = settings["training"]
    classifier = fit_state_classifier(
        world.take(rows_of(part, "agent")), kept["agent"],
        settings=ClassifierSettings.of(training["classifier"]),
        updates=settings["classifier_updates"], input_bound=training["input_bound"],
        rng=streams.generator("classifier"),
    )  # fmt: skip
    use = _panels_by_use(decisions, len(data.actions))
    material = _Material(data, part, world, imputer, kept, classifier, use, streams)
    ways = {way.name: way for way in (RANDOM, FIXED, GREEDY, CWCF)}
    solutions, outcomes, logs = [], [], []
    for name in progress(list(settings["selection"]), desc="selection"):
        own = dict(settings["selection"][name])
        way = ways[own.pop("kind")].make(material, name, **own)
        tuned = _tuned(way, material, name, settings["criterion"])
        for split in JUDGED:
            here = Judged.of(data, world, material.rows(split), split, streams)
            run = roll_out(
                tuned, here.world, uniforms=material.uniforms(name, split),
                states=way.readings[split], beliefs=True,
            )  # fmt: skip
            found = rollout_frames(way.solutions, here, run)
            outcomes.append(found[0])
            logs.append(found[1])
        solutions += way.solutions
    whole = {name: float(full_cost(data, world)[material.rows(name)].mean()) for name in JUDGED}
    return run_frames(solutions, outcomes, logs, whole)


def _panels_by_use(decisions: pd.DataFrame, a: int) -> np.ndarray:
    """Panels from the most to the least ordered on validation units, over all policies. (a,)"""
    chosen = decisions.loc[decisions["part"] == "validation", "action"].to_numpy()
    return panels_by_use(np.eye(a, dtype=bool)[chosen[chosen < a]])


def _tuned(way: _Way, material: _Material, name: str, criterion: Literal["f1", "am"]) -> Any:
    """The same policies, each with the threshold of the best score on validation units."""
    world = material.world.take(material.rows("validation"))
    run = roll_out(
        way.policies, world, uniforms=material.uniforms(name, "validation"),
        states=way.readings["validation"],
    )  # fmt: skip
    assert run.verdict is not None, "bug: these policies have a verdict"
    thresholds = [tuned_threshold(world.label, p, criterion) for p in run.verdict[:, :, 1]]
    return replace(way.policies, threshold=np.array(thresholds))


def _selected(material: _Material, name: str, order: np.ndarray | None, lengths: list[int]) -> _Way:
    """Policies that take so many panels, none of them inside another."""
    policies = SelectionPolicies(
        material.classifier, material.imputer, material.data.provides & ~material.data.free_columns,
        order, np.array(lengths, dtype=np.int64), np.full(len(lengths), UNTUNED),
    )  # fmt: skip
    words = ["1 panel" if n == 1 else f"{n} panels" for n in lengths]
    solutions = [Solution(name, k, np.nan, np.nan, w) for k, w in enumerate(words)]
    return _Way(solutions, policies, material.states)


def _random(material: _Material, name: str, *, lengths: list[int]) -> _Way:
    """Panels drawn for each unit (RS)."""
    return _selected(material, name, None, lengths)


def _fixed(material: _Material, name: str, *, lengths: list[int]) -> _Way:
    """The panels that the front orders most, for everyone (FS)."""
    return _selected(material, name, material.use, lengths)


def _greedy(
    material: _Material, name: str, *, units: int, neighbours: int, least_gains: list[float]
) -> _Way:
    """The panel of most information per cost, while it is worth it."""
    reference = ReferenceUnits.drawn(
        material.states["agent"], material.classifier, units=units,
        rng=material.streams.generator(name),
    )  # fmt: skip
    scale = float(material.data.action_cost.mean())
    policies = GreedyPolicies(
        reference, material.classifier, material.imputer, material.data.action_cost, neighbours,
        np.array(least_gains) / scale, np.full(len(least_gains), UNTUNED),
    )  # fmt: skip
    solutions = [
        Solution(name, k, np.nan, np.nan, f"at least {gain:g} nat per mean panel")
        for k, gain in enumerate(least_gains)
    ]
    return _Way(solutions, policies, material.states)


def _cwcf(
    material: _Material,
    name: str,
    *,
    cost_weights: list[float],
    class_weights: list[Any],
    dqn: Mapping[str, Any],
) -> _Way:
    """Q-learning on masked values; λ is in errors per mean panel."""
    scaled, _ = scaled_task(material.data)
    scaling = material.imputer.scaling
    whole = replace(scaled, values=scaling.standardise(scaled.values))
    bits = ValuesEncoder.of(whole).column_bits
    readings = {
        part: ValuesEncoder(whole.take(material.rows(part)), bits) for part in ("agent", *JUDGED)
    }
    healthy, ill = map(float, class_weights)
    weights = fit_cwcf(
        scaled.take(material.rows("agent")), readings["agent"],
        cost_weight=np.array(cost_weights, dtype=np.float64), class_weights=(healthy, ill),
        settings=dqn, rngs=material.streams.generator(name).spawn(len(cost_weights)),
    )  # fmt: skip
    policies = CwcfPolicies(
        weights, scaled.panels, scaling, bits, (healthy, ill), np.full(len(cost_weights), UNTUNED)
    )
    ratio, prices = ill / healthy, enumerate(cost_weights)
    solutions = [Solution(name, k, ratio, -price / healthy, "") for k, price in prices]
    return _Way(solutions, policies, readings)


RANDOM = SelectionWay(
    name="random",
    make=_random,
    settings={"lengths": ("Counts", "panels of each solution, drawn for each unit", [1, 2])},
)
FIXED = SelectionWay(
    name="fixed",
    make=_fixed,
    settings={"lengths": ("Counts", "panels of each solution, as the first method", [1, 2])},
)
GREEDY = SelectionWay(
    name="greedy",
    make=_greedy,
    settings={
        "units": ("Count", "training units on which gains are looked up", 400),
        "neighbours": ("Count", "of them that stand for a state", 40),
        "least_gains": (
            "Positives",
            "nats per mean panel cost, below which each solution stops",
            [0.003, 0.01, 0.02, 0.04, 0.08],
        ),
    },
)
CWCF = SelectionWay(
    name="cwcf",
    make=_cwcf,
    settings={
        "cost_weights": (
            "Positives",
            "λ of each solution, errors per mean panel cost",
            [0.003, 0.01, 0.03, 0.1],
        ),
        "class_weights": (
            "PositivePair",
            "of an error on a healthy, on an ill unit",
            [1.0, 1.0],
        ),
        "dqn": ("DqnSettings", "", {"transitions": 30000}),
    },
    steps=(("cost_weights", "dqn.transitions"),),
)
