"""The kind `dense_named`: the paper's multi-class network MC."""

import numpy as np

from frugal.config.learners import DenseSettings
from frugal.studies.recourse.generator import GeneratorKind, Learned
from frugal.studies.recourse.instance import CoverInstance, LabelledUnits
from frugal.studies.recourse.learned.answers import AnswerUnits, unit_inputs
from frugal.studies.recourse.learned.cover_scores import NamedSets
from frugal.studies.recourse.learned.dense_networks import (
    dense_answerer,
    fit_named,
    read_explanations,
)
from frugal.studies.recourse.learned.stored import Arrays, StoredGenerator, network_arrays


def fit(settings, units: LabelledUnits, rng: np.random.Generator) -> Learned:
    """An output for each explanation."""
    named = NamedSets.of(units)
    network, history = fit_named(
        unit_inputs(units),
        named.index,
        explanations=len(named.explanations),
        settings=DenseSettings.of(settings),
        rng=rng,
    )
    return network_arrays(network) | {"explanations": named.explanations}, history


def check(stored: StoredGenerator) -> None:
    """A dense network with an output for each explanation."""
    stored.require_dense("k", {"explanations": stored.explanations})


def answerer(arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
    """The likeliest explanation."""
    explanations = arrays["explanations"]
    return dense_answerer(arrays, instance, lambda out: read_explanations(out, explanations))


DENSE_NAMED = GeneratorKind(
    name="dense_named",
    place=20,
    label="named, dense (MC)",
    look=("blue", "s", True),
    fit=fit,
    check=check,
    answerer=answerer,
    settings={},
    shares=("DenseSettings",),
    doc="the paper's multi-class network, from names of explanations",
    least=2,
)
