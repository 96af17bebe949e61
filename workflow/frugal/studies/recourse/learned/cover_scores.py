"""Generators with the form of the problem built in: score every known explanation, take the best.

An explanation E (a set of actions seen in training) is scored for a unit that lacks M by the cost
that it is learned to have and the needs that it is learned to leave uncovered:

    score(E | x) = −v_E − Σⱼ λⱼ Mⱼ u_Ej,   p(E | x) = softmax score

For each of the paper's three kinds of information [recourse, table 1] other parts are known and
others learned; nothing else differs. Goes beyond the paper, whose networks are in `dense` and
`sequence`. Knows no solver, no classifier, and nothing that its kind of information withholds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from frugal.config.learners import TrainingSettings
from frugal.core.scaling import fit_scaling
from frugal.core.stored import Array
from frugal.studies.recourse.instance import CoverInstance, LabelledUnits
from frugal.studies.recourse.learned.answers import Answers, AnswerUnits, of_explanations
from frugal.studies.recourse.learned.stored import Arrays, StoredGenerator, network_arrays, put_back
from frugal.studies.recourse.learned.training import (
    held_out_split,
    scored,
    torch_generator,
    train_network,
)
from frugal.studies.recourse.worlds import explanation_index

FIRST_SHARPNESS = 2.0  # log of λ before training; u lies in [0, 1]


class NamedScores(nn.Module):
    """Only names and costs of explanations are known; each learns its own u.

    A feature that some training unit with E lacked is covered by E for certain: u = 0 there.
    """

    covered: Tensor
    cost: Tensor

    def __init__(self, covered: Bool[np.ndarray, "k d"], cost: Float[np.ndarray, " k"]) -> None:
        super().__init__()
        relative = fit_scaling(cost).standardise(cost)
        self.register_buffer("covered", torch.from_numpy(covered))
        self.register_buffer("cost", torch.from_numpy(relative.astype(np.float32)))
        self.uncovered = nn.Parameter(torch.full(covered.shape, 3.0))
        self.log_price = nn.Parameter(torch.tensor(1.0))
        self.log_sharpness = nn.Parameter(torch.tensor(FIRST_SHARPNESS))

    def add_seen(self, covered: Bool[np.ndarray, "k d"]) -> None:
        """Record the covered needs of further units."""
        self.covered |= torch.from_numpy(covered)

    def forward(self, lacks: Tensor) -> Tensor:
        """Scores of all explanations. (n, k)"""
        u = torch.sigmoid(self.uncovered) * ~self.covered
        return -(lacks @ u.T) * self.log_sharpness.exp() - self.cost * self.log_price.exp()


class ActionScores(nn.Module):
    """Names of actions are known: an explanation leaves the needs that all its actions leave.

    It costs the sum of its actions' costs.
    An action's effect is learned, or given (full actions); its cost is learned, and so is how
    much each feature counts.
    """

    members: Tensor
    real: Tensor
    known: Tensor | None

    def __init__(
        self,
        explanations: Int[np.ndarray, "k m"],
        *,
        actions: int,
        features: int,
        effects: Bool[np.ndarray, "a d"] | None,
    ) -> None:
        super().__init__()
        padded = np.where(explanations < 0, actions, explanations)
        self.register_buffer("members", torch.from_numpy(padded))
        self.register_buffer("real", (torch.arange(actions + 1) < actions).float())
        self.register_buffer("known", None)
        if effects is None:
            self.provides = nn.Parameter(torch.zeros(actions + 1, features))
        else:
            extended = torch.from_numpy(np.pad(effects, ((0, 1), (0, 0)))).float()
            self.register_buffer("known", 1 - extended)
        self.cost = nn.Parameter(torch.zeros(actions + 1))
        self.log_price = nn.Parameter(torch.tensor(0.0))
        self.log_sharpness = nn.Parameter(torch.full((features,), FIRST_SHARPNESS))

    def forward(self, lacks: Tensor) -> Tensor:
        """Scores of all explanations. (n, k)"""
        if self.known is None:
            log_left = nn.functional.logsigmoid(-self.provides) * self.real[:, None]
            u = log_left[self.members].sum(dim=1).exp()
        else:
            u = self.known[self.members].prod(dim=1)
        price = (self.cost * self.real)[self.members].sum(dim=1) * self.log_price.exp()
        return -(lacks * self.log_sharpness.exp()) @ u.T - price


@dataclass(frozen=True, eq=False)
class CoverGenerator:
    """A fitted scorer of explanations.

    Attributes:
        network: scores from a unit's needs.
        explanations: the sets seen in training. (k, m)
        open_to: True where a training unit of the group had the explanation. (g, k)
        history: held-out accuracy after each epoch.
    """

    network: nn.Module
    explanations: Int[np.ndarray, "k m"]
    open_to: Bool[np.ndarray, "g k"]
    history: tuple[float, ...]

    def answer(self, features: Bool[np.ndarray, "n d"], group: Int[np.ndarray, " n"]) -> Answers:
        """The likeliest explanation of each unit; the empty set where its group was seen with none.

        The empty set is no cover, so it is evaluated and repaired as any wrong answer.
        """
        torch.set_num_threads(1)
        inputs = _inputs(features, group)
        best, top = _best(self.network, inputs, torch.from_numpy(self.open_to))
        has_explanation = np.asarray(self.open_to[group].any(axis=1))
        return of_explanations(
            self.explanations, best.numpy(), top.double().numpy(), has_explanation
        )


@dataclass(frozen=True, eq=False)
class NamedSets:
    """The explanations of training units, by names and costs alone.

    Attributes:
        index: number of each unit's explanation. (n,)
        explanations: distinct action sets. (k, m)
        cost: of each. (k,)
    """

    index: Int[np.ndarray, " n"]
    explanations: Int[np.ndarray, "k m"]
    cost: Float[np.ndarray, " k"]

    @staticmethod
    def of(units: LabelledUnits) -> "NamedSets":
        """Those of these units."""
        index, explanations, _ = explanation_index(units.action_set)
        cost = np.zeros(len(explanations))
        cost[index] = units.cost
        return NamedSets(index, explanations, cost)

    def seen_in(self, features: np.ndarray, rows: np.ndarray) -> Bool[np.ndarray, "k d"]:
        """Features observed to be covered in some of the rows; see `seen_cover`."""
        return seen_cover(features[rows], self.index[rows], explanations=len(self.explanations))

    def open_to(self, units: LabelledUnits) -> Bool[np.ndarray, "g k"]:
        """True where a unit of the group has the explanation. (g, k)"""
        result = np.zeros((len(units.instance.access), len(self.explanations)), dtype=bool)
        result[units.group, self.index] = True
        return result


def fit_cover_generator(
    units: LabelledUnits,
    named: NamedSets,
    *,
    network: nn.Module,
    split: tuple[np.ndarray, np.ndarray],
    settings: TrainingSettings,
    rng: np.random.Generator,
) -> CoverGenerator:
    """Fit a scorer by cross-entropy over the explanations.              [recourse, eq. 6]

        L = −(1/n) Σᵢ log p(Eᵢ | xᵢ)

    Args:
        units: to learn from; an explanation is offered only to groups that were seen with it.
        named: their explanations.
        network: `NamedScores` or `ActionScores`, not yet trained.
        split: rows to train on, and rows that choose the weights (see `held_out_split`); the part
            that a network is given beforehand must come from the first alone.
        settings: steps and stopping.
        rng: order of rows.
    """
    torch.set_num_threads(1)
    open_to = named.open_to(units)
    allowed, inputs = torch.from_numpy(open_to), _inputs(units.features, units.group)
    target = torch.from_numpy(named.index)
    rows, held_out = split
    judged = (inputs[0][held_out], inputs[1][held_out])

    def batch_loss(chosen: Tensor) -> Tensor:
        scores = _open_scores(network, inputs[0][chosen], inputs[1][chosen], allowed)
        return nn.functional.cross_entropy(scores, target[chosen])

    def held_out_accuracy() -> float:
        best, _ = _best(network, judged, allowed)
        return float((best == target[held_out]).float().mean())

    history = train_network(
        network,
        batch_loss,
        held_out_accuracy,
        rows=rows,
        settings=settings,
        generator=torch_generator(rng),
    )
    return CoverGenerator(network, named.explanations, open_to, tuple(history))


def scores_arrays(fitted: CoverGenerator) -> dict[str, np.ndarray]:
    """All that a scorer answers from."""
    sets = {"explanations": fitted.explanations, "open_to": fitted.open_to}
    return network_arrays(fitted.network) | sets


def fit_action_scores(
    settings: Mapping[str, Any],
    units: LabelledUnits,
    rng: np.random.Generator,
    effects: Bool[np.ndarray, "a d"] | None,
) -> tuple[dict[str, np.ndarray], tuple[float, ...]]:
    """Fit `ActionScores`; the arrays and the held-out accuracy after each epoch.

    Args:
        settings: of the generator.
        units: to learn from.
        rng: held-out rows, order of rows.
        effects: of the actions, where they are known.
    """
    named, training = NamedSets.of(units), TrainingSettings.of(settings)
    actions, d = units.instance.gain.shape
    network = ActionScores(named.explanations, actions=actions, features=d, effects=effects)
    fitted = fit_cover_generator(
        units,
        named,
        network=network,
        split=held_out_split(len(units), share=training.held_out_share, rng=rng),
        settings=training,
        rng=rng,
    )
    return scores_arrays(fitted), fitted.history


def scores_answerer(network: nn.Module, arrays: Arrays) -> AnswerUnits:
    """(features, group) → answers, of a network of this shape with the stored weights."""
    put_back(network, arrays)
    return CoverGenerator(network, arrays["explanations"], arrays["open_to"], ()).answer


def action_scores_answerer(
    arrays: Arrays, instance: CoverInstance, effects: Bool[np.ndarray, "a d"] | None
) -> AnswerUnits:
    """(features, group) → answers, of stored `ActionScores`."""
    actions, d = instance.gain.shape
    network = ActionScores(arrays["explanations"], actions=actions, features=d, effects=effects)
    return scores_answerer(network, arrays)


def check_action_scores(stored: StoredGenerator, **arrays: Array) -> None:
    """The arrays are stored `ActionScores`, with its own parts, or `DataError`."""
    a, d = stored.actions, stored.features
    stored.require_scores(
        members=Array("int64", ("k", "slots"), low=0, high=a),
        real=Array("float32", (a + 1,), low=0, high=1),
        cost=Array("float32", (a + 1,)),
        log_price=Array("float32", ()),
        log_sharpness=Array("float32", (d,)),
        **arrays,
    )
    sets = stored.stored.arrays["explanations"]
    stored.require_derived("members", np.where(sets < 0, a, sets), "made of its explanations")
    stored.require_derived("real", np.arange(a + 1) < a, "1 for each action and 0 for none")


def seen_cover(
    features: Bool[np.ndarray, "n d"], explanation: Int[np.ndarray, " n"], *, explanations: int
) -> Bool[np.ndarray, "k d"]:
    """True where a unit with the explanation lacked the feature: E must provide it. (k, d)"""
    covered = np.zeros((explanations, features.shape[1]), dtype=bool)
    np.logical_or.at(covered, explanation, ~features)
    return covered


def cheapest_seen_cover(
    features: Bool[np.ndarray, "n d"],
    group: Int[np.ndarray, " n"],
    covered: Bool[np.ndarray, "k d"],
    cost: Float[np.ndarray, " k"],
    open_to: Bool[np.ndarray, "g k"],
) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """The cheapest named explanation that is seen to cover all that a unit lacks.

    Nothing is fitted. Names and costs of explanations are all it uses, as the named generator
    may. An answer that is seen to cover works; where there is none, the one that leaves fewest
    features uncovered is taken, the cheapest of these. Of a unit whose group was seen with no
    explanation, the row means nothing (see `of_explanations`).

    Returns:
        row of the explanation (n,), and whether it is seen to cover the unit (n,).
    """
    order = np.argsort(cost, kind="stable")
    left = (~covered[order]).astype(np.float32).T
    best = np.zeros(len(features), dtype=np.int64)
    sure = np.zeros(len(features), dtype=bool)
    for start in range(0, len(features), 2048):
        part = slice(start, start + 2048)
        uncovered = (~features[part]).astype(np.float32) @ left
        uncovered[~open_to[group[part]][:, order]] = np.inf
        least = uncovered.argmin(axis=1)  # the first of the lowest is the cheapest
        best[part] = order[least]
        sure[part] = uncovered[np.arange(len(least)), least] == 0
    return best, sure


def _inputs(features: np.ndarray, group: np.ndarray) -> tuple[Tensor, Tensor]:
    return torch.from_numpy((~features).astype(np.float32)), torch.tensor(group)


def _open_scores(network: nn.Module, lacks: Tensor, group: Tensor, allowed: Tensor) -> Tensor:
    """Scores, −∞ for explanations that the unit's group was never seen with. (n, k)"""
    scores = network(lacks)
    return scores if len(allowed) == 1 else scores.masked_fill(~allowed[group], -torch.inf)


def _best(
    network: nn.Module, inputs: tuple[Tensor, Tensor], allowed: Tensor
) -> tuple[Tensor, Tensor]:
    """Best explanation of each row and its probability, in parts that fit in cache."""
    joined = torch.cat([inputs[0], inputs[1][:, None].float()], dim=1)

    def best_and_probability(part: Tensor) -> Tensor:
        scores = _open_scores(network, part[:, :-1], part[:, -1].long(), allowed)
        top, best = scores.softmax(dim=1).max(dim=1)
        return torch.stack([best.double(), top.double()], dim=1)

    best = scored(best_and_probability, joined)
    return best[:, 0].long(), best[:, 1]
