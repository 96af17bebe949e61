"""A generator by its name: hands each kind exactly the information that the paper grants it.

Named generators get states with names and costs of explanations; named-action ones the names of
actions; full-action ones the effects of the actions that occur in training [recourse, table 1].
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from frugal.core.errors import ConfigError
from frugal.cover.generators.answerers import answerer, as_bits, network_arrays
from frugal.cover.generators.answers import Answers, as_membership, state_inputs
from frugal.cover.generators.cover_scores import (
    ActionScores,
    NamedScores,
    fit_cover_generator,
    seen_cover,
)
from frugal.cover.generators.dense import (
    DenseSettings,
    fit_named,
    fit_named_action,
    fit_padded_full_action,
)
from frugal.cover.generators.sequence import fit_sequence
from frugal.cover.generators.training import TrainingSettings, held_out_split, require_rows
from frugal.cover.instance import CoverInstance, LabelledUnits
from frugal.cover.worlds import explanation_index


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted generator of any kind.

    Attributes:
        kind: of the generator.
        arrays: all that it answers from, beside the catalogue (see `answerer`).
        history: held-out accuracy after each epoch; empty where nothing is trained.
        instance: the catalogue.
    """

    kind: str
    arrays: Mapping[str, np.ndarray]
    history: tuple[float, ...]
    instance: CoverInstance

    def answer(self, features: np.ndarray, group: np.ndarray) -> Answers:
        """One action set for each unit. features (n, d), group (n,)."""
        return answerer(self.kind, self.arrays, self.instance)(features, group)


Learned = tuple[dict[str, np.ndarray], tuple[float, ...]]


def fit_generator(
    settings: Mapping[str, Any], units: LabelledUnits, *, rng: np.random.Generator
) -> Fitted:
    """Fit the generator that `settings["kind"]` names on the training units.

    Raises:
        ConfigError: there is no such kind.
        DataError: there are too few units to train on.
    """
    kind = settings["kind"]
    if kind not in KINDS:
        raise ConfigError(f"there is no generator {kind!r}; allowed are {', '.join(KINDS)}")
    if "held_out_share" in settings:
        least = 2 if kind in NORMALISED else 1
        require_rows(len(units), share=settings["held_out_share"], least=least, name=kind)
    arrays, history = KINDS[kind](settings, units, rng)
    return Fitted(kind, arrays, history, units.instance)


def _training(settings: Mapping[str, Any]) -> TrainingSettings:
    names = ("epochs", "batch", "learning_rate", "weight_decay", "held_out_share", "patience")
    return TrainingSettings(**{name: settings[name] for name in names})


def _dense(settings: Mapping[str, Any]) -> DenseSettings:
    names = ("hidden", "layers", "dropout", "loss_weight", "sparsity")
    return DenseSettings(**{name: settings[name] for name in names}, training=_training(settings))


def _named(units: LabelledUnits) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number of each unit's explanation, the explanations, and their costs."""
    index, explanations, _ = explanation_index(units.action_set)
    cost = np.zeros(len(explanations))
    cost[index] = units.cost
    return index, explanations, cost


def _hamming(settings, units: LabelledUnits, rng) -> Learned:
    del rng
    index, explanations, _ = _named(units)
    return {
        "train": as_bits(units.features, units.group, len(units.instance.access)),
        "index": index,
        "explanations": explanations,
        "neighbours": np.array([settings["neighbours"]]),
    }, ()


def _seen_cover(settings, units: LabelledUnits, rng) -> Learned:
    del settings, rng
    index, explanations, cost = _named(units)
    open_to = np.zeros((len(units.instance.access), len(explanations)), dtype=bool)
    open_to[units.group, index] = True
    return {
        "covered": seen_cover(units.features, index, explanations=len(explanations)),
        "cost": cost,
        "open_to": open_to,
        "explanations": explanations,
    }, ()


def _cover(settings, units: LabelledUnits, rng: np.random.Generator, information: str) -> Learned:
    index, explanations, cost = _named(units)
    d, training = units.features.shape[1], _training(settings)
    split = held_out_split(len(units), share=training.held_out_share, rng=rng)

    def seen_in(rows: np.ndarray) -> np.ndarray:
        return seen_cover(units.features[rows], index[rows], explanations=len(explanations))

    if information == "named":
        network = NamedScores(seen_in(split[0]), cost)
    else:
        effects = units.instance.gain > 0
        network = ActionScores(
            explanations, actions=len(effects), features=d,
            effects=effects if information == "full_action" else None,
        )  # fmt: skip
    fitted = fit_cover_generator(
        units.features, units.group, index, explanations, network=network, split=split,
        groups=len(units.instance.access), settings=training, rng=rng,
    )  # fmt: skip
    if isinstance(network, NamedScores):
        network.add_seen(seen_in(split[1]))  # weights are chosen: held-out units now only inform
    arrays = network_arrays(network) | {"explanations": explanations, "open_to": fitted.open_to}
    return arrays, fitted.history


def _dense_named(settings, units: LabelledUnits, rng) -> Learned:
    index, explanations, _ = _named(units)
    fitted = fit_named(
        _inputs(units), index, explanations=len(explanations), settings=_dense(settings), rng=rng
    )
    return network_arrays(fitted.network) | {"explanations": explanations}, fitted.history


def _dense_named_action(settings, units: LabelledUnits, rng) -> Learned:
    member = as_membership(units.action_set, actions=len(units.instance.cost))
    fitted = fit_named_action(_inputs(units), member, settings=_dense(settings), rng=rng)
    return network_arrays(fitted.network), fitted.history


def _padded_full_action(settings, units: LabelledUnits, rng) -> Learned:
    fitted = fit_padded_full_action(
        _inputs(units),
        units.action_set,
        units.instance.gain > 0,
        settings=_dense(settings),
        rng=rng,
    )
    return network_arrays(fitted.network) | {"names": fitted.names}, fitted.history


def _sequence(settings, units: LabelledUnits, rng) -> Learned:
    fitted = fit_sequence(
        _inputs(units), units.action_set, units.instance.gain > 0, hidden=settings["hidden"],
        settings=_training(settings), rng=rng,
    )  # fmt: skip
    own = {"names": fitted.names, "longest": np.array([fitted.longest])}
    return network_arrays(fitted.network) | own, fitted.history


def _inputs(units: LabelledUnits) -> np.ndarray:
    return state_inputs(units.features, units.group, groups=len(units.instance.access))


NORMALISED = ("dense_named", "dense_named_action", "padded_full_action")  # over a step's rows
KINDS: dict[str, Callable[[Any, LabelledUnits, np.random.Generator], Learned]] = {
    "hamming": _hamming,
    "seen_cover": _seen_cover,
    "named": lambda s, u, r: _cover(s, u, r, "named"),
    "named_action": lambda s, u, r: _cover(s, u, r, "named_action"),
    "full_action": lambda s, u, r: _cover(s, u, r, "full_action"),
    "dense_named": _dense_named,
    "dense_named_action": _dense_named_action,
    "padded_full_action": _padded_full_action,
    "sequence_full_action": _sequence,
}
