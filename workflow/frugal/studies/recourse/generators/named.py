"""The kind `named`: a scorer that knows names and costs of explanations."""

import numpy as np

from frugal.config.learners import TrainingSettings
from frugal.core.stored import Array
from frugal.studies.recourse.generator import GeneratorKind, Learned
from frugal.studies.recourse.instance import CoverInstance, LabelledUnits
from frugal.studies.recourse.learned.answers import AnswerUnits
from frugal.studies.recourse.learned.cover_scores import (
    NamedScores,
    NamedSets,
    fit_cover_generator,
    scores_answerer,
    scores_arrays,
)
from frugal.studies.recourse.learned.stored import Arrays, StoredGenerator
from frugal.studies.recourse.learned.training import held_out_split


def fit(settings, units: LabelledUnits, rng: np.random.Generator) -> Learned:
    """Held-out units choose the weights; only then they add their covered needs, too."""
    named, training = NamedSets.of(units), TrainingSettings.of(settings)
    split = held_out_split(len(units), share=training.held_out_share, rng=rng)
    network = NamedScores(named.seen_in(units.features, split[0]), named.cost)
    fitted = fit_cover_generator(
        units, named, network=network, split=split, settings=training, rng=rng
    )
    network.add_seen(named.seen_in(units.features, split[1]))
    return scores_arrays(fitted), fitted.history


def check(stored: StoredGenerator) -> None:
    """Observed covers, costs, and learned effects."""
    stored.require_scores(
        covered=Array("bool", ("k", stored.features)),
        cost=Array("float32", ("k",)),
        uncovered=Array("float32", ("k", stored.features)),
        log_price=Array("float32", ()),
        log_sharpness=Array("float32", ()),
    )


def answerer(arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
    """The best score."""
    k, d = len(arrays["explanations"]), instance.gain.shape[1]
    return scores_answerer(NamedScores(np.zeros((k, d), dtype=bool), np.zeros(k)), arrays)


NAMED = GeneratorKind(
    name="named",
    place=70,
    label="named, scores",
    look=("blue", "s", False),
    fit=fit,
    check=check,
    answerer=answerer,
    settings={},
    shares=("TrainingSettings",),
    doc="a score of each explanation, from names and costs of explanations",
)
