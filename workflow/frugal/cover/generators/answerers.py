"""A fitted generator as arrays that a file can hold, and the function that answers from them.

What is fitted answers through here, and so does what was read back: there is no second path. Knows
every kind of generator and how it reads its outputs; nothing of training.
"""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from frugal.core.errors import DataError
from frugal.cover.generators.answers import Answers, of_explanations, state_inputs
from frugal.cover.generators.cover_scores import (
    ActionScores,
    CoverGenerator,
    NamedScores,
    cheapest_seen_cover,
)
from frugal.cover.generators.dense import (
    NO_NAMES,
    DenseGenerator,
    dense_network,
    read_actions,
    read_blocks,
    read_explanations,
)
from frugal.cover.generators.hamming import commonest_of_nearest
from frugal.cover.generators.sequence import EncoderDecoder, SequenceGenerator
from frugal.cover.generators.stored_generators import NETWORK, require_generator
from frugal.cover.instance import CoverInstance

Arrays = Mapping[str, np.ndarray]
AnswerUnits = Callable[[np.ndarray, np.ndarray], Answers]
FromArrays = Callable[[Arrays, CoverInstance], AnswerUnits]


def network_arrays(network: nn.Module) -> dict[str, np.ndarray]:
    """Weights and buffers of a network, named as in the network."""
    return {NETWORK + name: value.numpy() for name, value in network.state_dict().items()}


def answerer(kind: str, arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
    """(features, group) → answers, of the generator that the arrays hold.

    Args:
        kind: see `KINDS` of the registry.
        arrays: of `Fitted`.
        instance: the catalogue that it was fitted on.

    Raises:
        DataError: the arrays are no such generator for this catalogue; the sentence says where.
    """
    require_generator(kind, arrays, instance)
    own = _BY_KIND[kind](arrays, instance)

    def answer(features: np.ndarray, group: np.ndarray) -> Answers:
        answers = own(features, group)
        if not np.isfinite(answers.confidence).all():
            raise DataError(
                f"the generator of kind {kind!r} gives confidences that are not numbers: its "
                "weights are too large; fit it again"
            )
        return answers

    return answer


def as_bits(
    features: Bool[np.ndarray, "n d"], group: Int[np.ndarray, " n"], groups: int
) -> Bool[np.ndarray, "n b"]:
    """States with the group as bits: two units of different groups differ in two of them."""
    return state_inputs(features, group, groups=groups) > 0


def _put_back(network: nn.Module, arrays: Arrays) -> None:
    own = network.state_dict()
    network.load_state_dict(
        {
            name: torch.from_numpy(np.array(arrays[NETWORK + name])).reshape(value.shape)
            for name, value in own.items()
        }
    )
    network.eval()


def _hamming(arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
    groups = len(instance.access)

    def answer(features: np.ndarray, group: np.ndarray) -> Answers:
        chosen, share = commonest_of_nearest(
            arrays["train"], arrays["index"], as_bits(features, group, groups),
            neighbours=int(arrays["neighbours"].item()),
        )  # fmt: skip
        return Answers(arrays["explanations"][chosen], share)

    return answer


def _seen_cover(arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
    del instance

    def answer(features: np.ndarray, group: np.ndarray) -> Answers:
        open_to = arrays["open_to"].astype(bool)
        best, sure = cheapest_seen_cover(
            features, group, arrays["covered"], arrays["cost"], open_to
        )
        known = np.asarray(open_to[group].any(axis=1))
        return of_explanations(arrays["explanations"], best, sure.astype(np.float64), known)

    return answer


def _cover(information: str) -> FromArrays:
    def of(arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
        explanations = arrays["explanations"]
        actions, d = instance.gain.shape
        if information == "named":
            k = len(explanations)
            network: nn.Module = NamedScores(np.zeros((k, d), dtype=bool), np.zeros(k))
        else:
            network = ActionScores(
                explanations, actions=actions, features=d,
                effects=instance.gain > 0 if information == "full_action" else None,
            )  # fmt: skip
        _put_back(network, arrays)
        return CoverGenerator(network, explanations, arrays["open_to"], ()).answer

    return of


def _dense(read: Callable[[Tensor, Arrays, CoverInstance], Answers]) -> FromArrays:
    def of(arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
        groups = len(instance.access)
        linear = [w for name, w in _in_order(arrays) if w.ndim == 2]
        network = dense_network(
            linear[0].shape[1], len(linear[-1]), hidden=len(linear[0]), layers=len(linear) - 1,
            dropout=0.0, generator=torch.Generator(),
        )  # fmt: skip
        _put_back(network, arrays)
        fitted = DenseGenerator(network, NO_NAMES, ())

        def answer(features: np.ndarray, group: np.ndarray) -> Answers:
            outputs = fitted.outputs(state_inputs(features, group, groups=groups))
            return read(outputs, arrays, instance)

        return answer

    return of


def _in_order(arrays: Arrays) -> list[tuple[str, np.ndarray]]:
    """Weights of a network of numbered layers, in the order of the layers."""
    own = [(name, array) for name, array in arrays.items() if name.startswith(NETWORK)]
    return sorted(own, key=lambda pair: int(pair[0].removeprefix(NETWORK).split(".")[0]))


def _sequence(arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
    groups, names = len(instance.access), arrays["names"]
    first = arrays[f"{NETWORK}encoder.0.weight"]
    network = EncoderDecoder(first.shape[1], (instance.gain > 0)[names[:-1]], hidden=first.shape[0])
    _put_back(network, arrays)
    fitted = SequenceGenerator(network, names, int(arrays["longest"].item()), ())
    return lambda features, group: fitted.answer(state_inputs(features, group, groups=groups))


_BY_KIND: dict[str, FromArrays] = {
    "hamming": _hamming,
    "seen_cover": _seen_cover,
    "named": _cover("named"),
    "named_action": _cover("named_action"),
    "full_action": _cover("full_action"),
    "dense_named": _dense(lambda out, own, _: read_explanations(out, own["explanations"])),
    "dense_named_action": _dense(lambda out, *_: read_actions(out)),
    "padded_full_action": _dense(
        lambda out, own, instance: read_blocks(out, own["names"], instance.gain > 0)
    ),
    "sequence_full_action": _sequence,
}
