"""The kind `full_action`: a scorer that knows the effects of actions."""

import numpy as np

from frugal.core.stored import Array
from frugal.studies.recourse.generator import GeneratorKind, Learned
from frugal.studies.recourse.instance import CoverInstance, LabelledUnits
from frugal.studies.recourse.learned.answers import AnswerUnits
from frugal.studies.recourse.learned.cover_scores import (
    action_scores_answerer,
    check_action_scores,
    fit_action_scores,
)
from frugal.studies.recourse.learned.stored import Arrays, StoredGenerator


def fit(settings, units: LabelledUnits, rng: np.random.Generator) -> Learned:
    """The effects of actions are given."""
    return fit_action_scores(settings, units, rng, units.instance.gain > 0)


def check(stored: StoredGenerator) -> None:
    """A scorer with the needs that each action of the catalogue leaves."""
    shape = (stored.actions + 1, stored.features)
    check_action_scores(stored, known=Array("float32", shape, low=0, high=1))
    provided = np.pad(stored.effects, ((0, 1), (0, 0)))
    stored.require_derived(
        "known", ~provided, "features that the catalogue's actions do not provide"
    )


def answerer(arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
    """The best score."""
    return action_scores_answerer(arrays, instance, instance.gain > 0)


FULL_ACTION = GeneratorKind(
    name="full_action",
    place=90,
    label="full action, scores",
    look=("vermillion", "^", False),
    fit=fit,
    check=check,
    answerer=answerer,
    settings={},
    shares=("TrainingSettings",),
    doc="a score of each explanation, from the effects of its actions",
)
