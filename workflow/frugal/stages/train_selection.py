"""Stage `train_selection`: other ways to choose panels, judged as the fronts are.

Random and fixed selection, a greedy information gain per cost, and classification with costly
features by Q-learning [diagnosis, sec. 6.2]. All but the last share one classifier of states.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from frugal.agents.cwcf import CwcfPolicies, fit_cwcf
from frugal.agents.diagnosis_policies import ImputedStates
from frugal.agents.greedy_information import GreedyPolicies, ReferenceUnits
from frugal.agents.lockstep_classifier import ClassifierSettings
from frugal.agents.selection import (
    PlannedPolicies,
    PlannedStates,
    fixed_plan,
    panels_by_use,
    random_plan,
    tuned_threshold,
    without_nested,
)
from frugal.agents.state_classifier import StateClassifier, fit_state_classifier
from frugal.agents.training_scores import visited_codes
from frugal.contracts import AcquisitionTask, StateEncoder, Streams, Table
from frugal.environments.diagnosis_rollouts import Outcomes, roll_out_learners
from frugal.environments.encoders import TabulatedEncoder, ValuesEncoder
from frugal.environments.state_codes import sets_of
from frugal.models.imputers import Imputer
from frugal.stages._diagnosis_frames import (
    JUDGED,
    Solution,
    divided,
    full_cost,
    rollout_frames,
    rows_of,
    run_frames,
    task_of,
)
from frugal.stages._diagnosis_states import completed_states, imputer_of, scaled_task

UNTUNED = 0.5  # threshold at which beliefs stay as they are


@dataclass(frozen=True, eq=False)
class _Way:
    """K solutions of one kind: policies, and what they observe of the units of each split."""

    solutions: list[Solution]
    policies: Any
    observed: Mapping[str, StateEncoder]


@dataclass(frozen=True, eq=False)
class _Rows:
    """An encoder for some of its units."""

    whole: StateEncoder
    rows: np.ndarray

    @property
    def width(self) -> int:
        return self.whole.width

    def encode(self, row: np.ndarray, acquired: np.ndarray) -> np.ndarray:
        return self.whole.encode(self.rows[row], acquired)


@dataclass(frozen=True, eq=False)
class _Bench:
    """What the ways are made of."""

    data: Table
    part: np.ndarray
    task: AcquisitionTask
    imputer: Imputer
    states: Mapping[str, TabulatedEncoder]
    classifier: StateClassifier
    use: np.ndarray
    streams: Streams

    def rows(self, split: str) -> np.ndarray:
        return rows_of(self.part, split)


def train_selection(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    encoder: Mapping[str, np.ndarray],
    decisions: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """Make every way, tune its threshold on validation units, run it on all  [diagnosis, sec. 6.2].

    `decisions` is the log of the front whose most ordered panels the fixed selection takes.
    """
    data, part = divided(table, catalogue, streams)
    task = task_of(data, terminals=len(data.classes))
    imputer = imputer_of(encoder, data)
    states = {
        name: completed_states(imputer, data, rows_of(part, name),
                               memory_gib=settings["memory_gib"])
        for name in ("agent", *JUDGED)
    }  # fmt: skip
    training = settings["training"]
    classifier = fit_state_classifier(
        task.take(rows_of(part, "agent")), states["agent"],
        settings=ClassifierSettings.of(training["classifier"]),
        updates=settings["classifier_updates"], input_bound=training["input_bound"],
        rng=streams.generator("classifier"),
    )  # fmt: skip
    use = _panels_by_use(decisions, len(data.actions))
    bench = _Bench(data, part, task, imputer, states, classifier, use, streams)
    solutions, outcomes, logs = [], [], []
    for name in progress(list(settings["selection"]), desc="selection"):
        own = dict(settings["selection"][name])
        way = _WAYS[own.pop("kind")](bench, name, **own)
        tuned = _tuned(way, bench, settings["criterion"])
        for split in JUDGED:
            rows = bench.rows(split)
            run = roll_out_learners(
                tuned.act, task.take(rows), way.observed[split],
                learners=len(way.solutions), uniforms=None,
            )  # fmt: skip
            found = rollout_frames(
                way.solutions, split, data.row_id[rows], data.label[rows], run,
                belief=_beliefs(tuned, run, way.observed[split], task),
            )  # fmt: skip
            outcomes.append(found[0])
            logs.append(found[1])
        solutions += way.solutions
    whole = {name: float(full_cost(data, task)[bench.rows(name)].mean()) for name in JUDGED}
    return run_frames(solutions, outcomes, logs, whole)


def _beliefs(
    policies: Any, run: Outcomes, observed: StateEncoder, task: AcquisitionTask
) -> np.ndarray:
    """What each decision's policy would say if no panel were left to order: P(ill), tilted. (m,)

    At a last decision it is the probability of the outcome.
    """
    known = sets_of(visited_codes(run, task.panels), task.panels)
    count = np.bincount(run.learner, minlength=len(run.terminal))
    place = np.arange(len(known)) - (count.cumsum() - count)[run.learner]
    seen = observed.encode(run.row, known)
    padded = np.zeros((len(count), count.max(), seen.shape[1]), dtype=np.float32)
    padded[run.learner, place] = seen
    ends = np.zeros((*padded.shape[:2], task.actions), dtype=bool)
    ends[..., task.panels :] = True
    return policies.act(padded, ends)[run.learner, place, task.panels + 1]


def _panels_by_use(decisions: pd.DataFrame, a: int) -> np.ndarray:
    """Panels from the most to the least ordered on validation units, over all policies. (a,)"""
    chosen = decisions.loc[decisions["split"] == "validation", "action"].to_numpy()
    return panels_by_use(np.eye(a, dtype=bool)[chosen[chosen < a]])


def _tuned(way: _Way, bench: _Bench, criterion: Literal["f1", "am"]) -> Any:
    """The same policies, each with the threshold of the best score on validation units."""
    rows = bench.rows("validation")
    task = bench.task.take(rows)
    run = roll_out_learners(
        way.policies.act, task, way.observed["validation"],
        learners=len(way.solutions), uniforms=None,
    )  # fmt: skip
    thresholds = [tuned_threshold(task.label, p, criterion) for p in run.terminal_belief[:, :, 1]]
    return replace(way.policies, threshold=np.array(thresholds))


def _planned(bench: _Bench, name: str, plans: Mapping[str, np.ndarray], lengths: list[int]) -> _Way:
    """Policies that follow a plan for so many panels, none of them inside another."""
    adds = bench.data.provides & ~bench.data.free_columns
    kept = {
        split: without_nested(plan, bench.task.available[bench.rows(split)], adds)
        for split, plan in plans.items()
    }
    observed = {split: PlannedStates(bench.states[split], plan) for split, plan in kept.items()}
    policies = PlannedPolicies(
        bench.classifier, len(bench.data.actions), np.array(lengths, dtype=np.int64),
        np.full(len(lengths), UNTUNED),
    )  # fmt: skip
    words = ["1 panel" if n == 1 else f"{n} panels" for n in lengths]
    solutions = [Solution(name, k, np.nan, np.nan, w) for k, w in enumerate(words)]
    return _Way(solutions, policies, observed)


def _random(bench: _Bench, name: str, *, lengths: list[int]) -> _Way:
    """Panels in an order drawn for each unit (RS)."""
    plans = {
        split: random_plan(
            bench.task.available[bench.rows(split)], bench.streams.generator(name, split)
        )
        for split in JUDGED
    }
    return _planned(bench, name, plans, lengths)


def _fixed(bench: _Bench, name: str, *, lengths: list[int]) -> _Way:
    """The panels that the front orders most, for everyone (FS)."""
    plans = {split: fixed_plan(len(bench.rows(split)), bench.use) for split in JUDGED}
    return _planned(bench, name, plans, lengths)


def _greedy(
    bench: _Bench, name: str, *, units: int, neighbours: int, least_gains: list[float]
) -> _Way:
    """The panel of most information per cost, while it is worth it."""
    reference = ReferenceUnits.drawn(
        bench.states["agent"], bench.classifier, units=units, rng=bench.streams.generator(name)
    )
    scale = float(bench.data.action_cost.mean())
    policies = GreedyPolicies(
        reference, bench.classifier, bench.data.action_cost, neighbours,
        np.array(least_gains) / scale, np.full(len(least_gains), UNTUNED),
    )  # fmt: skip
    observed = {s: ImputedStates(bench.states[s], bench.task.panels) for s in JUDGED}
    solutions = [
        Solution(name, k, np.nan, np.nan, f"at least {gain:g} nat per mean panel")
        for k, gain in enumerate(least_gains)
    ]
    return _Way(solutions, policies, observed)


def _cwcf(
    bench: _Bench,
    name: str,
    *,
    cost_weights: list[float],
    class_weights: list[Any],
    dqn: Mapping[str, Any],
) -> _Way:
    """Q-learning on masked values; λ is in errors per mean panel."""
    values = bench.imputer.scaling.standardise(bench.data.values)
    whole = ValuesEncoder(values, bench.data.provides, bench.data.free_columns)
    observed = {part: _Rows(whole, bench.rows(part)) for part in ("agent", *JUDGED)}
    healthy, ill = map(float, class_weights)
    weights = fit_cwcf(
        scaled_task(bench.data)[0].take(bench.rows("agent")), observed["agent"],
        cost_weight=np.array(cost_weights, dtype=np.float64), class_weights=(healthy, ill),
        settings=dqn, rngs=bench.streams.generator(name).spawn(len(cost_weights)),
    )  # fmt: skip
    policies = CwcfPolicies(weights, bench.task.panels, (healthy, ill), None)
    untilted = replace(policies, threshold=np.full(len(cost_weights), UNTUNED))
    ratio, prices = ill / healthy, enumerate(cost_weights)
    solutions = [Solution(name, k, ratio, -price / healthy, "") for k, price in prices]
    return _Way(solutions, untilted, observed)


_WAYS: dict[str, Callable[..., _Way]] = {
    "random": _random,
    "fixed": _fixed,
    "greedy": _greedy,
    "cwcf": _cwcf,
}
