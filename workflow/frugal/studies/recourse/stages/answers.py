"""Stages of answers: cheapest actions for units, by learned generators and for one's own."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError
from frugal.core.stored import part_of
from frugal.core.streams import Streams
from frugal.studies.recourse.accuracy import judge_answers, repair_answers, unseen_explanations
from frugal.studies.recourse.augmentation import augment
from frugal.studies.recourse.catalogue import refusal_sentences, units_of
from frugal.studies.recourse.frames import action_words, catalogue_of, labelled_of
from frugal.studies.recourse.generator import answerer, fit_generator
from frugal.studies.recourse.instance import COST_DECIMALS, LabelledUnits
from frugal.studies.recourse.learned.answers import as_action_sets, as_membership
from frugal.studies.recourse.learned.stored import Arrays
from frugal.studies.recourse.sheets import read_sheet
from frugal.studies.recourse.solvers.branch_and_bound import cheapest_covers, unreachable_features
from frugal.studies.recourse.worlds import first_occurrences, frequent_explanations, train_rows

AUGMENTED = ("ag1", "ag2")


def answer_units(
    *,
    labels: pd.DataFrame,
    instance: Mapping[str, np.ndarray],
    names: Mapping[str, Any],
    context: Context,
) -> dict[str, Any]:
    """Split the labelled states, augment where set, fit, answer, judge and repair.

    All generators of a scenario see the same split and the same units (recourse, 4.1 to 4.4).

    Returns:
        outcomes: a row per test unit and generator, with its answer before and after repair.
        generators: all that each generator answers from, as `recommend_actions` takes it.
        training, augmentation, unseen: held-out accuracies, derived units, unseen explanations.
    """
    settings = context.settings
    catalogue = catalogue_of(names, instance)
    units = labelled_of(labels, catalogue.instance)
    row_id = labels.loc[labels["label_status"] == "labelled", "row_id"].to_numpy()
    once = _distinct(units)
    units, row_id = units.take(once), row_id[once]
    frequent = frequent_explanations(units.action_set, more_than=settings["more_than"])
    units, row_id = units.take(frequent), row_id[frequent]
    in_train = train_rows(
        len(units), train_share=settings["train_share"], rng=context.streams.generator("split")
    )
    train, test = units.take(in_train), units.take(~in_train)
    outcomes, training, derived, arrays = [], [], [], {}
    unseen = unseen_explanations(test.action_set, train.action_set)
    for name in context.progress(list(settings["generators"]), desc="generators"):
        chosen = settings["generators"][name]
        more, counts = _augmented(chosen["augmentation"], train, test, settings, context.streams)
        fitted = fit_generator(chosen, more, rng=context.streams.generator("fit", name))
        answers = fitted.answer(test.features, test.group)
        judged = judge_answers(
            test,
            answers.action_set,
            answers.confidence,
            train.action_set,
            max_nodes=settings["max_nodes"],
        )
        sets = {"answer": answers.action_set, "repaired": judged.repaired_set}
        words = {
            column: action_words(action_sets, catalogue.actions)
            for column, action_sets in sets.items()
        }
        rows = judged.frame().assign(row_id=row_id[~in_train], generator=name, **words)
        outcomes.append(rows[["row_id", "generator", *words, *judged.frame().columns]])
        arrays |= {f"{name}/{fitted.kind}/{key}": a for key, a in fitted.arrays.items()}
        epochs = range(1, len(fitted.history) + 1)
        training.append(
            pd.DataFrame({"generator": name, "epoch": epochs, "accuracy": fitted.history})
        )
        derived += [{"generator": name, "round": k + 1, **vars(c)} for k, c in enumerate(counts)]
    return {
        "outcomes": pd.concat(outcomes, ignore_index=True),
        "generators": arrays,
        "training": pd.concat(training, ignore_index=True),
        "augmentation": pd.DataFrame(derived, columns=list(AUGMENTATION_COLUMNS)),
        "unseen": unseen,
    }


AUGMENTATION_COLUMNS = ("generator", "round", "candidates", "test_units_met", "leaked", "derived")


def _distinct(units: LabelledUnits) -> np.ndarray:
    """Each state of a group once: a repeated one would be in both parts of the split."""
    groups = np.eye(len(units.instance.access), dtype=bool)[units.group]
    return first_occurrences(np.concatenate([units.features, groups], axis=1))


def _augmented(kind: str, train: LabelledUnits, test: LabelledUnits, settings, streams: Streams):
    """Training units with derived ones, and the counts of each round; `none` leaves them alone."""
    if kind == "none":
        return train, ()
    options = settings["augmentation"]
    return augment(
        train,
        test,
        per_unit=options["per_unit"],
        balanced_frequency=options["balanced_frequency"],
        rare_frequency=options["rare_frequency"] if kind == "ag2" else None,
        leaky=options["leaky"],
        rng=streams.generator("augment", kind),
    )


def recommend_actions(
    *,
    generators: Mapping[str, np.ndarray],
    instance: Mapping[str, np.ndarray],
    names: Mapping[str, Any],
    units: Path,
    context: Context,
) -> dict[str, Any]:
    """Query one generator, repair failing answers by the solver, and show the proven optimum.

    `extra_cost` is the extra cost of the repaired answer over the cheapest set.
    Units that cannot be covered are also named on stderr, a sentence each.

    Run by hand, on the outputs of `answer_units` and `label_units` (recourse; beyond the paper).

    Args:
        generators: of `answer_units`.
        instance: of `label_units`.
        names: of `label_units`.
        units: CSV as `label_units` takes it.
        context: settings are generator (a name in `generators`), max_nodes.

    Raises:
        ConfigError: a setting is missing, or there is no such generator.
        DataError: a unit does not match the catalogue.
    """
    kind, arrays, max_nodes = _requested(generators, context.settings)
    catalogue = catalogue_of(names, instance)
    who, amounts, group = units_of(read_sheet(units, "unit"), catalogue, source=units.name)
    if amounts.max(initial=0) > 1:
        raise DataError(f"{units.name} has a {amounts.max()}; generators know features of 0 or 1")
    features, actions = amounts.astype(bool), len(catalogue.actions)
    positive = (catalogue.instance.deficit(features) == 0).all(axis=1)
    answers = answerer(kind, arrays, catalogue.instance)(features, group)
    answered = as_membership(answers.action_set, actions=actions) & ~positive[:, None]
    repaired = repair_answers(features, group, answered, catalogue.instance, max_nodes=max_nodes)
    best = cheapest_covers(features, group, catalogue.instance, max_nodes=max_nodes)
    out_of_reach = unreachable_features(features, group, catalogue.instance)
    reasons = refusal_sentences(who, amounts.astype(np.int64), group, out_of_reach, catalogue)
    for sentence in reasons.values():
        print(f"frugal recommend_actions: {sentence}", file=sys.stderr)
    status = np.select(
        [positive, ~repaired.coverable, repaired.was_feasible],
        ["positive", "uncoverable", "works"],
        "repaired",
    )
    frame = {
        "row_id": who,
        "group": group,
        "answer_status": status,
        "answer": action_words(as_action_sets(answered), catalogue.actions),
        "answer_cost": repaired.cost_before,
        "confidence": answers.confidence,
        "repaired": action_words(as_action_sets(repaired.chosen), catalogue.actions),
        "repaired_cost": repaired.cost_after,
        "cheapest": action_words(best.action_set, catalogue.actions),
        "cheapest_cost": best.cost,
        "lower_bound": best.lower_bound,
        "extra_cost": np.round(
            repaired.cost_after - np.where(best.coverable, best.cost, 0.0), COST_DECIMALS
        ),
        "refusal": [reasons.get(name, "") for name in who],
    }
    return {"recommendations": pd.DataFrame(frame)}


def _requested(
    generators: Mapping[str, np.ndarray], settings: Mapping[str, Any]
) -> tuple[str, Arrays, int]:
    """Kind and arrays of the generator that the settings name, and the solver's limit."""
    if set(settings) != {"generator", "max_nodes"}:
        present = ", ".join(settings) or "none"
        raise ConfigError(f"settings are generator and max_nodes; given are {present}")
    parts = [key.split("/", 2) for key in generators]
    if odd := [key for key, part in zip(generators, parts, strict=True) if len(part) < 3]:
        raise DataError(
            f"the stored generators have the array {odd[0]!r}; allowed are names such as "
            "generator/kind/array"
        )
    kinds = {part[0]: part[1] for part in parts}
    name, max_nodes = settings["generator"], settings["max_nodes"]
    if name not in kinds:
        raise ConfigError(f"there is no generator {name!r} here; there are {', '.join(kinds)}")
    if not isinstance(max_nodes, int) or max_nodes < 1:
        raise ConfigError(f"max_nodes is {max_nodes!r}; it is a whole number from 1")
    start = f"{name}/{kinds[name]}/"
    arrays = {k.removeprefix(start): k for k in generators if k.startswith(start)}
    return kinds[name], part_of(generators, arrays), max_nodes
