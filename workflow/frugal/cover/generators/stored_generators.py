"""What the arrays of a fitted generator must be, for each kind, before it answers from them.

Must not know how a generator is fitted or how it answers.
"""

from collections.abc import Callable, Mapping
from itertools import count, pairwise

import numpy as np

from frugal.core.stored import Array, Stored
from frugal.cover.instance import CoverInstance

NETWORK = "network."  # prefix of a network's weights
MOST_WORDS = 10_000  # of an answer; a stored number may be anything, and each word takes time
_LAYERS_APART = 4  # numbers of two linear layers in a row: normalisation, ReLU, dropout between


def require_generator(kind: str, arrays: Mapping[str, np.ndarray], instance: CoverInstance) -> None:
    """The arrays are a generator of this kind for this catalogue.

    Raises:
        DataError: there is no such kind, or the arrays are another; the sentence says where.
    """
    check = _CHECKS.get(kind)
    if check is None:
        raise Stored("generator", arrays).refusal(
            f"is of kind {kind!r}; allowed are {', '.join(_CHECKS)}"
        )
    check(_Expected(kind, arrays, instance))


class _Expected:
    """What stored generators are made of, for one catalogue; a method checks each kind.

    Args:
        kind: of the generator.
        arrays: that are to be checked.
        instance: the catalogue.
    """

    def __init__(
        self, kind: str, arrays: Mapping[str, np.ndarray], instance: CoverInstance
    ) -> None:
        self.stored = Stored(f"generator of kind {kind!r}", arrays)
        self.actions, self.features = instance.gain.shape
        self.effects = instance.gain > 0
        self.groups = len(instance.access)
        self.inputs = self.features + (self.groups if self.groups > 1 else 0)
        self.explanations = Array("int64", ("k", "slots"), low=-1, high=self.actions - 1)
        self.open_to = Array("bool", (self.groups, "k"))

    def require(self, expected: Mapping[str, Array]) -> dict[str, int]:
        """Exactly these arrays; see `Stored.require`."""
        return self.stored.require(expected)

    def hamming(self) -> None:
        """Training states with the numbers of their explanations."""
        size = self.require(
            {
                "train": Array("bool", ("m", self.inputs)),
                "index": Array("int64", ("m",), low=0),
                "explanations": self.explanations,
                "neighbours": Array("int64", (1,), low=1),
            }
        )
        self.stored.require_between("index", 0, size["k"] - 1)

    def seen_cover(self) -> None:
        """Explanations with what they are seen to cover."""
        self.require(
            {
                "covered": Array("bool", ("k", self.features)),
                "cost": Array("float64", ("k",), low=0),
                "open_to": self.open_to,
                "explanations": self.explanations,
            }
        )

    def named(self) -> None:
        """A scorer that knows names and costs of explanations."""
        self.require(
            self._of_network(
                covered=Array("bool", ("k", self.features)),
                cost=Array("float32", ("k",)),
                uncovered=Array("float32", ("k", self.features)),
                log_price=Array("float32", ()),
                log_sharpness=Array("float32", ()),
            )
            | {"explanations": self.explanations, "open_to": self.open_to}
        )

    def named_action(self) -> None:
        """A scorer that knows names of actions."""
        self._by_action(None)

    def full_action(self) -> None:
        """A scorer that knows names and effects of actions."""
        self._by_action(self.effects)

    def _by_action(self, effects: np.ndarray | None) -> None:
        a, d = self.actions, self.features
        what = (
            {"provides": Array("float32", (a + 1, d))}
            if effects is None
            else {"known": Array("float32", (a + 1, d), low=0, high=1)}
        )
        self.require(
            self._of_network(
                members=Array("int64", ("k", "slots"), low=0, high=a),
                real=Array("float32", (a + 1,), low=0, high=1),
                cost=Array("float32", (a + 1,)),
                log_price=Array("float32", ()),
                log_sharpness=Array("float32", (d,)),
                **what,
            )
            | {"explanations": self.explanations, "open_to": self.open_to}
        )
        sets = self.stored.arrays["explanations"]
        self._require_derived("members", np.where(sets < 0, a, sets), "made of its explanations")
        self._require_derived("real", np.arange(a + 1) < a, "1 for each action and 0 for none")
        if effects is not None:
            provided = np.pad(effects, ((0, 1), (0, 0)))
            self._require_derived("known", ~provided, "what the catalogue's actions do not provide")

    def _dense(self, outputs: int | str, more: Mapping[str, Array]) -> dict[str, int]:
        """Linear layers, each but the last followed by a normalisation."""
        arrays = self.stored.arrays
        layers = next(i for i in count() if f"{NETWORK}{_LAYERS_APART * i}.weight" not in arrays)
        sizes = [self.inputs, *["hidden"] * max(1, layers - 1), outputs]
        expected: dict[str, Array] = {}
        for i, (fan_in, fan_out) in enumerate(pairwise(sizes)):
            at = _LAYERS_APART * i
            expected |= _linear(str(at), fan_in, fan_out)
            if i < len(sizes) - 2:
                expected |= _normalisation(str(at + 1), fan_out)
        return self.require(self._of_network(**expected) | dict(more))

    def dense_named(self) -> None:
        """A dense network with an output for each explanation."""
        self._dense("k", {"explanations": self.explanations})

    def dense_named_action(self) -> None:
        """A dense network with an output for each action."""
        self._dense(self.actions, {})

    def padded_full_action(self) -> None:
        """A dense network with a block of features for each slot, and the names it may say."""
        size = self._dense("outputs", {"names": self._names()})
        if size["outputs"] % self.features:
            raise self.stored.refusal(
                f"has {size['outputs']} outputs; allowed are multiples of the {self.features} "
                "features"
            )
        self._require_names()

    def sequence_full_action(self) -> None:
        """An encoder and a decoder, the effects of the actions it may say, and their names."""
        d, h, i = self.features, "hidden", self.inputs
        expected = (
            _linear("encoder.0", i, h)
            | _linear("encoder.2", h, h)
            | _linear("out", h, h)
            | _linear("reading.0", d + 1, h)
            | _linear("reading.2", h, h)
        )
        expected["move.weight"] = Array("float32", (h, "moved"))
        expected["move.bias"] = Array("float32", (h,))
        bits = {"effects": d, "words": d + 1}
        expected |= {n: Array("float32", ("s", w), low=0, high=1) for n, w in bits.items()}
        size = self.require(
            {NETWORK + name: array for name, array in expected.items()}
            | {"names": self._names(), "longest": Array("int64", (1,), low=1, high=MOST_WORDS)}
        )
        if size["moved"] != size[h] + i + d:
            raise self.stored.refusal(
                f"has {size['moved']} inputs of '{NETWORK}move.weight'; allowed: {size[h] + i + d}"
            )
        self._require_names()
        said = np.pad(self.effects[self.stored.arrays["names"][:-1]], ((0, 1), (0, 0)))
        stop = np.eye(len(said), dtype=bool)[:, -1:]
        self._require_derived("effects", said, "what the catalogue's actions provide")
        self._require_derived("words", np.hstack([said, stop]), "made of its actions' effects")

    def _of_network(self, **parts: Array) -> dict[str, Array]:
        return {NETWORK + name: array for name, array in parts.items()}

    def _names(self) -> Array:
        return Array("int64", ("s",), low=-1, high=self.actions - 1)

    def _require_names(self) -> None:
        """Rising actions, then −1 for none."""
        names = self.stored.arrays["names"]
        if names[-1] != -1 or (names[:-1] < 0).any() or (np.diff(names[:-1]) <= 0).any():
            raise self.stored.refusal(
                "has an array 'names' that is not rising numbers of actions and then -1"
            )

    def _require_derived(self, name: str, wanted: np.ndarray, because: str) -> None:
        self.stored.require_equal(NETWORK + name, wanted, because)


def _linear(name: str, fan_in: int | str, fan_out: int | str) -> dict[str, Array]:
    return {
        f"{name}.weight": Array("float32", (fan_out, fan_in)),
        f"{name}.bias": Array("float32", (fan_out,)),
    }


def _normalisation(name: str, width: int | str) -> dict[str, Array]:
    vector = Array("float32", (width,))
    return {
        f"{name}.weight": vector,
        f"{name}.bias": vector,
        f"{name}.running_mean": vector,
        f"{name}.running_var": Array("float32", (width,), low=0),
        f"{name}.num_batches_tracked": Array("int64", (), low=0),
    }


_CHECKS: dict[str, Callable[[_Expected], None]] = {
    check.__name__: check
    for check in (
        _Expected.hamming,
        _Expected.seen_cover,
        _Expected.named,
        _Expected.named_action,
        _Expected.full_action,
        _Expected.dense_named,
        _Expected.dense_named_action,
        _Expected.padded_full_action,
        _Expected.sequence_full_action,
    )
}
