"""The kind `sequence_full_action`: an encoder and a decoder, one action after the other."""

import numpy as np

from frugal.config.learners import TrainingSettings
from frugal.core.stored import Array
from frugal.cover.generator import GeneratorKind, Learned
from frugal.cover.instance import CoverInstance, LabelledUnits
from frugal.cover.learned.answers import AnswerUnits, state_inputs, unit_inputs
from frugal.cover.learned.encoder_decoder import EncoderDecoder, SequenceGenerator, fit_sequence
from frugal.cover.learned.stored import (
    NETWORK,
    Arrays,
    StoredGenerator,
    linear,
    network_arrays,
    of_network,
    put_back,
)

MOST_WORDS = 10_000  # of an answer; a stored number may be anything, and each word takes time


def fit(settings, units: LabelledUnits, rng: np.random.Generator) -> Learned:
    """Each next action, the true ones before given."""
    fitted = fit_sequence(
        unit_inputs(units), units.action_set, units.instance.gain > 0, hidden=settings["hidden"],
        settings=TrainingSettings.of(settings), rng=rng,
    )  # fmt: skip
    own = {"names": fitted.names, "longest": np.array([fitted.longest])}
    return network_arrays(fitted.network) | own, fitted.history


def check(stored: StoredGenerator) -> None:
    """An encoder and a decoder, the effects of the actions it may say, and their names."""
    d, h, i = stored.features, "hidden", stored.inputs
    expected = (
        linear("encoder.0", i, h)
        | linear("encoder.2", h, h)
        | linear("out", h, h)
        | linear("reading.0", d + 1, h)
        | linear("reading.2", h, h)
    )
    expected["move.weight"] = Array("float32", (h, "moved"))
    expected["move.bias"] = Array("float32", (h,))
    bits = {"effects": d, "words": d + 1}
    expected |= {n: Array("float32", ("s", w), low=0, high=1) for n, w in bits.items()}
    longest = Array("int64", (1,), low=1, high=MOST_WORDS)
    size = stored.require(of_network(**expected) | {"names": stored.names, "longest": longest})
    if size["moved"] != size[h] + i + d:
        raise stored.stored.refusal(
            f"has {size['moved']} inputs of '{NETWORK}move.weight'; allowed: {size[h] + i + d}"
        )
    stored.require_names()
    said = np.pad(stored.effects[stored.stored.arrays["names"][:-1]], ((0, 1), (0, 0)))
    stop = np.eye(len(said), dtype=bool)[:, -1:]
    stored.require_derived("effects", said, "what the catalogue's actions provide")
    stored.require_derived("words", np.hstack([said, stop]), "made of its actions' effects")


def answerer(arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
    """Say actions until stop."""
    groups, names = len(instance.access), arrays["names"]
    first = arrays[f"{NETWORK}encoder.0.weight"]
    network = EncoderDecoder(first.shape[1], (instance.gain > 0)[names[:-1]], hidden=first.shape[0])
    put_back(network, arrays)
    fitted = SequenceGenerator(network, names, int(arrays["longest"].item()), ())
    return lambda features, group: fitted.answer(state_inputs(features, group, groups=groups))


SEQUENCE_FULL_ACTION = GeneratorKind(
    name="sequence_full_action",
    place=50,
    label="full action, sequence",
    look=("vermillion", "v", True),
    fit=fit,
    check=check,
    answerer=answerer,
    settings={"hidden": ("Count", "units of a hidden layer", 128)},
    shares=("TrainingSettings",),
    doc="an encoder and a decoder that says one action after the other, from their effects",
)
