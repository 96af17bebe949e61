"""Stages of encoders, trees and classifiers, and of the exact rules of a simulated clinic."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.encoders import fits, tabulate
from frugal.acquire.kinds import CLASSIFIER, Ground, Learned, build_policy, kind_of, train_bundle
from frugal.acquire.policies.fixed import FixedClassifiers
from frugal.acquire.reading import completed_states
from frugal.acquire.train.payoff import Objective
from frugal.acquire.train.tree_sets import folded_rows
from frugal.config.dataset import ClinicalGenerator
from frugal.core.context import Context
from frugal.core.errors import ConfigError
from frugal.core.layout import Bundle, Layout, bundle_header, rows_digest
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import World
from frugal.data.description import load_description
from frugal.data.simulators import (
    ClinicalWorld,
    clinical_world,
    patients_of,
    posterior,
    static_rules,
)
from frugal.data.tables import available_panels, sensitive_from_frames
from frugal.judge.fronts import ROUNDING
from frugal.learn.imputer_kinds import fit_encoder, imputer_arrays, imputer_of
from frugal.learn.imputers.mean import MeanImputer
from frugal.learn.trees import classifier_of
from frugal.studies.diagnosis.frames import (
    PARTS,
    STATES,
    Family,
    Solution,
    divided,
    full_cost,
    judged_run,
    of_encoder,
    rows_of,
    task_of,
    whole_sets,
)
from frugal.studies.diagnosis.tabular_baselines import FittedBaseline, fit_baseline


def train_encoder(
    *, table: pd.DataFrame, catalogue: Mapping[str, Any], context: Context
) -> dict[str, Any]:
    """Fit an imputer, and measure it on part `encoder_validation` next to means.

    A row is completed after one random set of panels was taken away; the error is over entries that
    had a value and was hidden, in standard deviations of the training rows.

    Fitted to the rows of part `encoder` alone, so no unit of the policies affects it.
    """
    data, part = divided(table, catalogue, context.streams)
    imputer = fit_encoder(
        data.values[part == "encoder"],
        data.values[part == "encoder_validation"],
        table=data,
        settings=context.settings,
        rng=context.streams.generator("encoder"),
    )
    rows = data.values[part == "encoder_validation"]
    shown_panels = context.streams.generator("hidden").random((len(rows), len(data.actions))) < 0.5
    shown = np.where(data.columns_observed(shown_panels), rows, np.nan)
    hidden = ~np.isnan(rows) & np.isnan(shown)
    errors = [
        {"imputer": name, "rmse": _error(model, rows, shown, hidden), "entries": int(hidden.sum())}
        for name, model in (
            (context.settings["kind"], imputer),
            ("mean of the column", MeanImputer(imputer.scaling)),
        )
    ]
    return {"encoder": imputer_arrays(imputer), "validation": pd.DataFrame(errors)}


def _error(model: Any, rows: np.ndarray, shown: np.ndarray, hidden: np.ndarray) -> float:
    """Root mean squared error over the hidden entries, in standard deviations."""
    filled = model.scaling.standardise(model.impute(shown))
    return float(np.sqrt(np.mean((filled - model.scaling.standardise(rows))[hidden] ** 2)))


def tabulate_states(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    encoder: Mapping[str, np.ndarray],
    context: Context,
) -> dict[str, Any]:
    """Completed rows, standardised, of the parts that policies learn on and are evaluated on.

    The file holds the encoder, too, by which its readers know that theirs is the same. Where the
    rows at all sets of panels would take more memory than is allowed it holds nothing else, and
    its readers complete rows as they are requested: the same numbers, in more time.
    """
    settings = context.settings
    data, part = divided(table, catalogue, context.streams)
    world = task_of(data, terminals=len(data.classes))
    imputer = imputer_of(encoder, columns=len(data.columns))
    arrays = of_encoder(encoder)
    most = max(len(rows_of(part, name)) for name in PARTS)
    if not fits(most, world.panels, len(data.columns), settings["memory_gib"]):
        return {"states": arrays}
    for name in context.progress(PARTS, desc="parts"):
        of_part = world.take(rows_of(part, name))
        states = completed_states(imputer, of_part)
        tabulated = tabulate(states, len(of_part), of_part.panels, max_gib=settings["memory_gib"])
        arrays[STATES + name] = tabulated.table
    return {"states": arrays}


TRAINED = ("encoder", "agent")  # all rows that a front learns from, imputer and policies together
NO_POOLED = pd.DataFrame({"pair": [0], "pooled_score": [0.0], "cost": [0.0], "n": [0]}).iloc[:0]


def train_trees(
    *, table: pd.DataFrame, catalogue: Mapping[str, Any], context: Context
) -> dict[str, Any]:
    """Fit one agent, or a front of it, and run it on all evaluated units.

    A front learns from the parts `encoder` and `agent`, cross-fitted. Its sets, windows and
    thresholds are chosen on out-of-fold predictions and those on `validation`, pooled. An agent of
    a kind without a front learns from the same parts for the table's own costs, as in `afape`. Part
    `test` decides nothing.

    Settings: `name` and `agent`, its block; `criterion`; `classifier`, for agents that only stop;
    `budget_shares` of the mean price of full observation of the rows that choose.
    """
    settings = context.settings
    data, part = divided(table, catalogue, context.streams)
    world, name = task_of(data, terminals=len(data.classes)), settings["name"]
    front = kind_of(settings["agent"]).front is not None
    classifier = None
    if front:
        bundle, pooled = _front(data, part, world, settings, context.streams)
    else:
        rows = np.flatnonzero(np.isin(part, TRAINED))
        learnt_from = data.take(rows)
        classifier = classifier_of(learnt_from, settings["classifier"], context.streams)
        group = None
        if len(catalogue["groups"]) == 2:
            group = sensitive_from_frames(table, catalogue)[0][rows]
        recorded = available_panels(learnt_from)
        ground = Ground(learnt_from, recorded, group, classifier, context.streams, context.progress)
        bundle, pooled = train_bundle(settings["agent"], ground)[0], NO_POOLED
    policies: Any = build_policy(settings["agent"], table=data, stored=bundle.stored("policies"))
    panels = [panel.name for panel in data.actions]
    words = policies.sentences(panels) if front else [""]
    acting = Family(
        [Solution(name, k, np.nan, np.nan, w) for k, w in enumerate(words)],
        policies,
        uniforms=None if front else partial(_uniforms, data, part, context.streams),
        classifier=classifier,
    )
    outputs = judged_run([acting], data, part, context.streams)
    if classifier is not None:  # which `advise` asks where the policy only stops
        classifier_arrays = {
            CLASSIFIER + name: array for name, array in classifier.to_arrays().items()
        }
        bundle = Bundle(bundle.header, {**bundle.arrays, **classifier_arrays})
    return outputs | {"policies": bundle, "pooled": pooled}


def _uniforms(data: Table, part: np.ndarray, streams: Streams, split: str) -> np.ndarray:
    """Uniform draws of an agent on one part. (n, a + 1)"""
    shape = (len(rows_of(part, split)), len(data.actions) + 1)
    return streams.generator("decisions", split).random(shape)


def _front(
    data: Table, part: np.ndarray, world: World, settings: Mapping[str, Any], streams: Streams
) -> tuple[Bundle, pd.DataFrame]:
    """A front as its file holds it; score and price of each policy, out of fold and on validation.

    The predictions of both are pooled.
    """
    learned, rows = fitted(data, part, world, settings, streams.generator("train"))
    learnt_from = data.take(rows)
    header = bundle_header(
        settings["agent"]["kind"],
        settings["agent"],
        Layout.of(data),
        rows_digest(learnt_from, learnt_from.values, available_panels(learnt_from)),
    )
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
    """Result of training, and the rows that it saw: those of trees, then those for evaluation."""
    rows = np.flatnonzero(np.isin(part, (*TRAINED, "validation")))
    agent = settings["agent"]
    folded = folded_rows(world.take(rows), np.isin(part[rows], TRAINED), agent, rng)
    objective = Objective.of(settings["criterion"], data.label[rows], data.misclassification_cost)
    full = float(full_cost(data, world)[rows].mean())
    budgets = np.array(sorted(settings["budget_shares"])) * full * (1 + ROUNDING)
    front = kind_of(agent).front
    assert front is not None, "bug: a config takes kinds that have a front"
    return front(folded, objective, agent, budgets), rows


def train_baselines(
    *, table: pd.DataFrame, catalogue: Mapping[str, Any], context: Context
) -> dict[str, pd.DataFrame]:
    """Fit each classifier on all panels, on the fixed ones and on none  [diagnosis, table 2].

    Without a panel it reads the columns known at the start; where there are none it is left out.
    Validation units pick its grid point and its threshold.

    Every panel that a unit can have is paid for; of full observation, no panel whose columns
    another panel brings as well.
    """
    settings, streams = context.settings, context.streams
    data, part = divided(table, catalogue, streams)
    named = {panel.name: k for k, panel in enumerate(data.actions)}
    fixed = np.isin(np.arange(len(named)), [named[name] for name in settings["fixed_panels"]])
    choices = {"full": (whole_sets(data), "all panels")}
    if fixed.any():
        choices["fixed"] = (fixed, " + ".join(settings["fixed_panels"]))
    if data.free_columns.any():
        choices["free"] = (np.zeros(len(named), dtype=bool), "columns known at the start")
    solutions, sets, fits = [], [], []
    fits_to_make = [(name, which) for name in settings["baselines"] for which in choices]
    for name, which in context.progress(fits_to_make, desc="baselines"):
        chosen, words = choices[which]
        columns, rng = data.columns_observed(chosen[None])[0], streams.generator("fit", name, which)
        fits.append(_fitted(settings, name, data, part, columns, rng))
        solutions.append(Solution(f"{name}_{which}", 0, np.nan, np.nan, words))
        sets.append(chosen)
    shown = data.columns_observed(np.stack(sets))
    classifiers = [_of_visible(*fit) for fit in zip(fits, shown, strict=True)]
    policies = FixedClassifiers(
        np.stack(sets), classifiers, np.array([fit.threshold for fit in fits])
    )
    return judged_run([Family(solutions, policies, cuts=policies.threshold)], data, part, streams)


def _of_visible(baseline: FittedBaseline, shown: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda visible: baseline.predict_proba(visible[:, shown])


def _fitted(
    settings: Mapping[str, Any],
    name: str,
    data: Table,
    part: np.ndarray,
    columns: np.ndarray,
    rng: np.random.Generator,
) -> FittedBaseline:
    """One classifier on some columns, with its threshold."""
    shown = data.values[:, columns]
    options = dict(settings["baselines"][name])
    train, validation = np.isin(part, TRAINED), part == "validation"
    return fit_baseline(
        options.pop("kind"),
        shown[train],
        data.label[train],
        shown[validation],
        data.label[validation],
        settings=options | {"criterion": settings["criterion"]},
        rng=rng,
    )


def apply_bayes_rule(
    *, table: pd.DataFrame, catalogue: Mapping[str, Any], description: Path, context: Context
) -> dict[str, pd.DataFrame]:
    """Call ill whoever's exact posterior is above the threshold that is best for the criterion.

    For F1 that is the population's best threshold of the set; for AM the share of the ill. Sets
    with a panel whose columns another panel of the set brings as well are left out.

    For every fixed set of panels the best rule that sees it: a bound for any policy that orders the
    same for everyone, known only because the world is. A policy that orders by observed values may
    pass it.

    Raises:
        ConfigError: the data set is not the simulated clinic.
    """
    streams = context.streams
    generator = load_description(description).source.generator
    if not isinstance(generator, ClinicalGenerator):
        raise ConfigError(f"{description} is no simulated clinic, so its Bayes rule is unknown")
    data, part = divided(table, catalogue, streams)
    clinic = clinical_world(generator)
    ill_share = float(clinic.share @ clinic.prevalence)
    solutions, sets, rules, thresholds = [], [], [], []
    for code, rule in context.progress(list(enumerate(static_rules(clinic, data))), desc="sets"):
        chosen = np.isin([panel.name for panel in data.actions], rule.panels)
        provides = data.provides[chosen]
        inside = (provides[:, None] <= provides[None]).all(axis=2)
        if bool((inside & ~np.eye(len(provides), dtype=bool)).any()):
            continue
        columns = data.columns_observed(chosen[None])[0]
        words = "all panels" if (chosen == whole_sets(data)).all() else " + ".join(rule.panels)
        solutions.append(Solution("bayes_static", code, np.nan, np.nan, words or "no panel"))
        sets.append(chosen)
        rules.append(_risk_of_visible(clinic, data.columns, columns))
        best = rule.rule.threshold if context.settings["criterion"] == "f1" else ill_share
        thresholds.append(np.nextafter(best, np.inf))  # ill is who lies above it
    policies = FixedClassifiers(np.stack(sets), rules, np.array(thresholds))
    return judged_run([Family(solutions, policies, cuts=policies.threshold)], data, part, streams)


def _risk_of_visible(
    clinic: ClinicalWorld, names: Sequence[str], columns: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Posterior probability of illness, given some columns."""
    visible_columns = np.array([columns[names.index(feature)] for feature in clinic.features])

    def risk(visible: np.ndarray) -> np.ndarray:
        group, values = patients_of(clinic, names, visible)
        return posterior(clinic, group, values, np.tile(visible_columns, (len(values), 1)))

    return risk
