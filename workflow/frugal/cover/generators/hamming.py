"""The kind `hamming`: the commonest explanation among the nearest training units."""

import numpy as np

from frugal.core.stored import Array
from frugal.cover.generator import GeneratorKind, Learned
from frugal.cover.instance import CoverInstance, LabelledUnits
from frugal.cover.learned.answers import Answers, AnswerUnits, state_inputs
from frugal.cover.learned.cover_scores import NamedSets
from frugal.cover.learned.nearest import commonest_of_nearest
from frugal.cover.learned.stored import Arrays, StoredGenerator


def fit(settings, units: LabelledUnits, rng) -> Learned:
    """Keep the training units."""
    del rng
    named = NamedSets.of(units)
    return {
        "train": _as_bits(units.features, units.group, len(units.instance.access)),
        "index": named.index,
        "explanations": named.explanations,
        "neighbours": np.array([settings["neighbours"]]),
    }, ()


def check(stored: StoredGenerator) -> None:
    """Training states with the numbers of their explanations."""
    size = stored.require(
        {
            "train": Array("bool", ("m", stored.inputs)),
            "index": Array("int64", ("m",), low=0),
            "explanations": stored.explanations,
            "neighbours": Array("int64", (1,), low=1),
        }
    )
    stored.stored.require_between("index", 0, size["k"] - 1)


def answerer(arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
    """Vote among the nearest."""
    groups = len(instance.access)

    def answer(features: np.ndarray, group: np.ndarray) -> Answers:
        chosen, share = commonest_of_nearest(
            arrays["train"], arrays["index"], _as_bits(features, group, groups),
            neighbours=int(arrays["neighbours"].item()),
        )  # fmt: skip
        return Answers(arrays["explanations"][chosen], share)

    return answer


def _as_bits(features: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """States with the group as bits: two units of different groups differ in two of them."""
    return state_inputs(features, group, groups=groups) > 0


HAMMING = GeneratorKind(
    name="hamming",
    place=10,
    label="Hamming",
    look=("grey", "X", True),
    fit=fit,
    check=check,
    answerer=answerer,
    settings={"neighbours": ("Count", "that vote", 5)},
    doc="the commonest explanation among the nearest training units; the baseline",
)
