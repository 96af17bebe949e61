"""The kind `named_action`: a scorer that knows the names of actions."""

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
    """The effects of actions are learned."""
    return fit_action_scores(settings, units, rng, None)


def check(stored: StoredGenerator) -> None:
    """A scorer with the effect of each action, or of none."""
    shape = (stored.actions + 1, stored.features)
    check_action_scores(stored, provides=Array("float32", shape))


def answerer(arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
    """The best score."""
    return action_scores_answerer(arrays, instance, None)


NAMED_ACTION = GeneratorKind(
    name="named_action",
    place=80,
    label="named action, scores",
    look=("green", "D", False),
    fit=fit,
    check=check,
    answerer=answerer,
    settings={},
    shares=("TrainingSettings",),
    doc="a score of each explanation, from the names of its actions",
)
