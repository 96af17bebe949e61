"""Stage `answer_units`: generators fitted on training units, and what their answers are worth.

All generators of a scenario see the same split and the same units (recourse, 4.1 to 4.4).
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.streams import Streams
from frugal.cover.accuracy import judge_answers, unseen_explanations
from frugal.cover.augmentation import augment
from frugal.cover.generator import fit_generator
from frugal.cover.instance import LabelledUnits
from frugal.cover.worlds import first_occurrences, frequent_explanations, train_rows
from frugal.studies.recourse.frames import action_words, catalogue_of, labelled_of

AUGMENTED = ("ag1", "ag2")


def answer_units(
    *,
    labels: pd.DataFrame,
    instance: Mapping[str, np.ndarray],
    names: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Split the labelled states, augment where asked, fit, answer, judge and repair.

    Returns:
        outcomes: a row per test unit and generator, with its answer before and after repair.
        generators: all that each generator answers from, as `recommend_actions` takes it.
        training, augmentation, unseen: held-out accuracies, derived units, unseen explanations.
    """
    known = catalogue_of(names, instance)
    units = labelled_of(labels, known.instance)
    row_id = labels.loc[labels["label_status"] == "labelled", "row_id"].to_numpy()
    once = _distinct(units)
    units, row_id = units.take(once), row_id[once]
    frequent = frequent_explanations(units.action_set, more_than=settings["more_than"])
    units, row_id = units.take(frequent), row_id[frequent]
    in_train = train_rows(
        len(units), train_share=settings["train_share"], rng=streams.generator("split")
    )
    train, test = units.take(in_train), units.take(~in_train)
    outcomes, training, derived, arrays = [], [], [], {}
    unseen = unseen_explanations(test.action_set, train.action_set)
    for name in progress(list(settings["generators"]), desc="generators"):
        chosen = settings["generators"][name]
        more, counts = _augmented(chosen["augmentation"], train, test, settings, streams)
        fitted = fit_generator(chosen, more, rng=streams.generator("fit", name))
        answers = fitted.answer(test.features, test.group)
        judged = judge_answers(
            test, answers.action_set, answers.confidence, train.action_set,
            max_nodes=settings["max_nodes"],
        )  # fmt: skip
        sets = {"answer": answers.action_set, "repaired": judged.repaired_set}
        words = {column: action_words(found, known.actions) for column, found in sets.items()}
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


AUGMENTATION_COLUMNS = (
    "generator",
    "round",
    "candidates",
    "test_units_met",
    "leaked",
    "derived",
)


def _distinct(units: LabelledUnits) -> np.ndarray:
    """Each state of a group once: a repeated one would stand in both parts of the split."""
    groups = np.eye(len(units.instance.access), dtype=bool)[units.group]
    return first_occurrences(np.concatenate([units.features, groups], axis=1))


def _augmented(kind: str, train: LabelledUnits, test: LabelledUnits, settings, streams: Streams):
    """Training units with derived ones, and the counts of each round; `none` leaves them alone."""
    if kind == "none":
        return train, ()
    options = settings["augmentation"]
    return augment(
        train, test, per_unit=options["per_unit"],
        balanced_frequency=options["balanced_frequency"],
        rare_frequency=options["rare_frequency"] if kind == "ag2" else None,
        leaky=options["leaky"], rng=streams.generator("augment", kind),
    )  # fmt: skip
