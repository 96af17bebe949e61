"""A generator by its name: hands each kind exactly the information that the paper grants it.

Named generators get states with names and costs of explanations; named-action ones the names of
actions; full-action ones the effects of the actions that occur in training [recourse, table 1].
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from frugal.contracts.cover import LabelledUnits
from frugal.contracts.errors import ConfigError
from frugal.data.recourse_worlds import explanation_index
from frugal.generators.answers import Answers, as_membership, state_inputs
from frugal.generators.cover_scores import (
    ActionScores,
    NamedScores,
    cheapest_seen_cover,
    fit_cover_generator,
    seen_cover,
)
from frugal.generators.dense import (
    DenseSettings,
    fit_named,
    fit_named_action,
    fit_padded_full_action,
)
from frugal.generators.hamming import commonest_of_nearest
from frugal.generators.sequence import fit_sequence
from frugal.generators.training import TrainingSettings, held_out_split

AnswerUnits = Callable[[np.ndarray, np.ndarray], Answers]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted generator of any kind.

    Attributes:
        answer: (features, group) → answers.
        history: held-out accuracy after each epoch; empty where nothing is trained.
    """

    answer: AnswerUnits
    history: tuple[float, ...]


def fit_generator(
    settings: Mapping[str, Any], units: LabelledUnits, *, rng: np.random.Generator
) -> Fitted:
    """Fit the generator that `settings["kind"]` names on the training units.

    Raises:
        ConfigError: there is no such kind.
    """
    kind = settings["kind"]
    if kind not in KINDS:
        raise ConfigError(f"there is no generator {kind!r}; allowed are {', '.join(KINDS)}")
    return KINDS[kind](settings, units, rng)


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


def _hamming(settings, units: LabelledUnits, rng) -> Fitted:
    del rng
    index, explanations, _ = _named(units)
    groups = len(units.instance.access)
    train = _as_bits(units.features, units.group, groups)

    def answer(features: np.ndarray, group: np.ndarray) -> Answers:
        chosen, share = commonest_of_nearest(
            train, index, _as_bits(features, group, groups), neighbours=settings["neighbours"]
        )
        return Answers(explanations[chosen], share)

    return Fitted(answer, ())


def _as_bits(
    features: Bool[np.ndarray, "n d"], group: Int[np.ndarray, " n"], groups: int
) -> Bool[np.ndarray, "n b"]:
    """States with the group as bits: two units of different groups differ in two of them."""
    return state_inputs(features, group, groups=groups) > 0


def _seen_cover(settings, units: LabelledUnits, rng) -> Fitted:
    del settings, rng
    index, explanations, cost = _named(units)
    covered = seen_cover(units.features, index, explanations=len(explanations))
    open_to = np.zeros((len(units.instance.access), len(explanations)), dtype=bool)
    open_to[units.group, index] = True

    def answer(features: np.ndarray, group: np.ndarray) -> Answers:
        best, sure = cheapest_seen_cover(features, group, covered, cost, open_to)
        return Answers(explanations[best], sure.astype(np.float64))

    return Fitted(answer, ())


def _cover(settings, units: LabelledUnits, rng: np.random.Generator, information: str) -> Fitted:
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
    return Fitted(fitted.answer, fitted.history)


def _dense_named(settings, units: LabelledUnits, rng) -> Fitted:
    index, explanations, _ = _named(units)
    return _on_inputs(
        fit_named(_inputs(units), index, explanations, settings=_dense(settings), rng=rng), units
    )


def _dense_named_action(settings, units: LabelledUnits, rng) -> Fitted:
    member = as_membership(units.action_set, actions=len(units.instance.cost))
    fitted = fit_named_action(_inputs(units), member, settings=_dense(settings), rng=rng)
    return _on_inputs(fitted, units)


def _padded_full_action(settings, units: LabelledUnits, rng) -> Fitted:
    fitted = fit_padded_full_action(
        _inputs(units),
        units.action_set,
        units.instance.gain > 0,
        settings=_dense(settings),
        rng=rng,
    )
    return _on_inputs(fitted, units)


def _sequence(settings, units: LabelledUnits, rng) -> Fitted:
    fitted = fit_sequence(
        _inputs(units), units.action_set, units.instance.gain > 0, hidden=settings["hidden"],
        settings=_training(settings), rng=rng,
    )  # fmt: skip
    return _on_inputs(fitted, units)


def _inputs(units: LabelledUnits) -> np.ndarray:
    return state_inputs(units.features, units.group, groups=len(units.instance.access))


def _on_inputs(fitted: Any, units: LabelledUnits) -> Fitted:
    groups = len(units.instance.access)
    return Fitted(
        lambda features, group: fitted.answer(state_inputs(features, group, groups=groups)),
        fitted.history,
    )


KINDS: dict[str, Callable[[Any, LabelledUnits, np.random.Generator], Fitted]] = {
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
