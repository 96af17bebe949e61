"""The kind `padded_full_action`: the paper's network FA, a block of effects for each action."""

import numpy as np

from frugal.config.learners import DenseSettings
from frugal.studies.recourse.generator import GeneratorKind, Learned
from frugal.studies.recourse.instance import CoverInstance, LabelledUnits
from frugal.studies.recourse.learned.answers import AnswerUnits, unit_inputs
from frugal.studies.recourse.learned.dense_networks import (
    dense_answerer,
    fit_padded_full_action,
    read_blocks,
)
from frugal.studies.recourse.learned.stored import Arrays, StoredGenerator, network_arrays


def fit(settings, units: LabelledUnits, rng: np.random.Generator) -> Learned:
    """An output for each feature of each slot."""
    (network, history), names = fit_padded_full_action(
        unit_inputs(units),
        units.action_set,
        units.instance.gain > 0,
        settings=DenseSettings.of(settings),
        rng=rng,
    )
    return network_arrays(network) | {"names": names}, history


def check(stored: StoredGenerator) -> None:
    """A dense network with a block of features for each slot, and the names it may output."""
    size = stored.require_dense("outputs", {"names": stored.names})
    if size["outputs"] % stored.features:
        raise stored.stored.refusal(
            f"has {size['outputs']} outputs; allowed are multiples of the {stored.features} "
            "features"
        )
    stored.require_names()


def answerer(arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
    """The likeliest action of each block."""
    names, effects = arrays["names"], instance.gain > 0
    return dense_answerer(arrays, instance, lambda out: read_blocks(out, names, effects))


PADDED_FULL_ACTION = GeneratorKind(
    name="padded_full_action",
    place=40,
    label="full action, padded (FA)",
    look=("vermillion", "^", True),
    fit=fit,
    check=check,
    answerer=answerer,
    settings={},
    shares=("DenseSettings",),
    doc="the paper's network over effects of actions, padded to the longest set",
    least=2,
)
