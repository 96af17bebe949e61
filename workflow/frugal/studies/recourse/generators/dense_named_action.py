"""The kind `dense_named_action`: the paper's multi-label network NA."""

import numpy as np

from frugal.config.learners import DenseSettings
from frugal.studies.recourse.generator import GeneratorKind, Learned
from frugal.studies.recourse.instance import CoverInstance, LabelledUnits
from frugal.studies.recourse.learned.answers import AnswerUnits, as_membership, unit_inputs
from frugal.studies.recourse.learned.dense_networks import (
    dense_answerer,
    fit_named_action,
    read_actions,
)
from frugal.studies.recourse.learned.stored import Arrays, StoredGenerator, network_arrays


def fit(settings, units: LabelledUnits, rng: np.random.Generator) -> Learned:
    """An output for each action."""
    member = as_membership(units.action_set, actions=len(units.instance.cost))
    network, history = fit_named_action(
        unit_inputs(units), member, settings=DenseSettings.of(settings), rng=rng
    )
    return network_arrays(network), history


def check(stored: StoredGenerator) -> None:
    """A dense network with an output for each action."""
    stored.require_dense(stored.actions, {})


def answerer(arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
    """Every likely action."""
    return dense_answerer(arrays, instance, read_actions)


DENSE_NAMED_ACTION = GeneratorKind(
    name="dense_named_action",
    place=30,
    label="named action, dense (NA)",
    look=("green", "D", True),
    fit=fit,
    check=check,
    answerer=answerer,
    settings={},
    shares=("DenseSettings",),
    doc="the paper's multi-label network, from names of actions",
    least=2,
)
