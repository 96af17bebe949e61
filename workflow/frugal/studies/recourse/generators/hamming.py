"""The kind `hamming`: the commonest explanation among the nearest training units."""

from typing import no_type_check

import numba
import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.stored import Array
from frugal.studies.recourse.generator import GeneratorKind, Learned
from frugal.studies.recourse.instance import CoverInstance, LabelledUnits
from frugal.studies.recourse.learned.answers import Answers, AnswerUnits, state_inputs
from frugal.studies.recourse.learned.cover_scores import NamedSets
from frugal.studies.recourse.learned.stored import Arrays, StoredGenerator
from frugal.studies.recourse.solvers.bitsets import pack_bits, popcount


def nearest_rows(
    train: Bool[np.ndarray, "m d"], test: Bool[np.ndarray, "n d"], *, neighbours: int
) -> tuple[Int[np.ndarray, "n k"], Int[np.ndarray, "n k"]]:
    """Training rows at the smallest Hamming distance, and those distances, ascending.

        D(x, y) = Σⱼ |xⱼ − yⱼ|                                        [recourse, fig. 3]

    Of rows at equal distance the earlier one comes first; k is `neighbours`, or m if that is less.
    """
    k = min(neighbours, len(train))
    return _nearest(pack_bits(train), pack_bits(test), k)


def commonest_of_nearest(
    train: Bool[np.ndarray, "m d"],
    explanation: Int[np.ndarray, " m"],
    test: Bool[np.ndarray, "n d"],
    *,
    neighbours: int,
) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """The commonest explanation among the nearest, and its share of votes.  [recourse, sec. 3.3]

    Of equally common ones, that of the nearest unit wins.

    Args:
        train: states of training units; groups may be among the bits. (m, d)
        explanation: number of each training unit's explanation. (m,)
        test: states to be answered. (n, d)
        neighbours: k; the paper's are 5, 10 and 15 for 20, 50 and 100 features.
    """
    rows, _ = nearest_rows(train, test, neighbours=neighbours)
    votes = explanation[rows]
    count = (votes[:, :, None] == votes[:, None, :]).sum(axis=2)
    first = count.argmax(axis=1)  # the first of the highest is the nearest
    at = np.arange(len(votes))
    return votes[at, first], count[at, first] / rows.shape[1]


@numba.njit(cache=True)
@no_type_check
def _nearest(train, test, k):
    """Insertion into a sorted list of k: nearly every row is refused by one comparison."""
    rows = np.full((len(test), k), -1, dtype=np.int64)
    distance = np.full((len(test), k), np.iinfo(np.int64).max, dtype=np.int64)
    for i in range(len(test)):
        for j in range(len(train)):
            far = np.int64(0)
            for w in range(train.shape[1]):
                far += popcount(train[j, w] ^ test[i, w])
            if far < distance[i, k - 1]:
                p = k - 1
                while p > 0 and distance[i, p - 1] > far:
                    distance[i, p] = distance[i, p - 1]
                    rows[i, p] = rows[i, p - 1]
                    p -= 1
                distance[i, p] = far
                rows[i, p] = j
    return rows, distance


def fit(settings, units: LabelledUnits, rng) -> Learned:
    """Keep the training units."""
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
            arrays["train"],
            arrays["index"],
            _as_bits(features, group, groups),
            neighbours=int(arrays["neighbours"].item()),
        )
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
