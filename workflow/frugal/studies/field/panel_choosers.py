"""Networks that learn to choose panels in lock-step: `dime` and `gdfs`.

A predictor f reads the known values of a unit; a chooser learns with it along many episodes at
once. The states of a network follow from draws of its own fold alone, so networks trained together
equal networks trained apart. Knows no policy interface.

DIME, after Gadgil, Covert and Lee (ICLR 2024), written anew. A value network regresses, for the
panel that is taken next, the loss that it saves,

    v_i(x_o) → ℓ(f(x_o), y) − ℓ(f(x_{o ∪ i}), y),   0 ≤ v_i ≤ entropy of f(x_o),

whose conditional mean is the mutual information of panel and label given the known values. Both
learn together along episodes that take the panel of the largest v_i / price_i, or, with a
probability that falls, any. One training serves all values of money: who acts stops where no v_i /
price_i is above one. Differs from the paper: f learns from the states before a panel, which are
those after the last one; a quarter of the episodes start from random panels; values are a share of
the entropy by a sigmoid.

GDFS, after Covert and others (ICML 2023), written anew. A selector gives logits over its panels and
"stop". Both descend the loss of f one step ahead,

    E ℓ(f(x_{o ∪ s}), y) + w Σᵢ sᵢ priceᵢ,   s ~ relaxed categorical of the selector's logits,

along the selector's own episodes; the temperature of the relaxation falls. Prices are a penalty w
with "stop" at price 0: at the optimum the selector takes the panel of the largest conditional
mutual information less w · price, and stops where none is above 0; it acts by the same logits that
it was trained by. Gradients are written out. Differs from the paper: "stop" and prices; a quarter
of the episodes start from random panels, so f knows states that the selector has left; the
temperature falls at every step.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import softplus

from frugal.acquire.train.tree_sets import FoldedRows
from frugal.learn.lockstep import (
    Adam,
    FlatParameters,
    backward,
    forward,
    layer_shapes,
    layers_of,
    orthogonal_weights,
    product,
)
from frugal.learn.masked_networks import NormalScores, targets

RANDOM_STARTS = 0.25  # share of the episodes that begin with panels drawn at random, unpaid
ADAM_EPSILON = 1e-8
FIRST_SHARE = -2.0  # of the entropy, as log-odds, that a panel is worth before training
SMALLEST_ENTROPY = 1e-6
NEVER = -1e9  # logit of what is not open
SMALLEST = 1e-20


@dataclass(frozen=True, eq=False)
class Units:
    """Units as tensors. Shapes: n units, d columns, a panels.

    Attributes:
        read: inputs of networks for a fully known unit: scores, then flags. (n, 2 d)
        label: 1 for class 1 of two; of more, a column for each class. (n, o)
        available: 1 where a panel can be had. (n, a)
        adds: 1 for columns that a panel adds to the free ones. (a, d)
        closed: 1 for columns that are not free. (d,)
        cost: of the panels. (a,)
        groups: units that each fold's networks learn from.
    """

    read: Float[Tensor, "n w"]
    label: Float[Tensor, "n o"]
    available: Float[Tensor, "n a"]
    adds: Float[Tensor, "a d"]
    closed: Float[Tensor, " d"]
    cost: Float[Tensor, " a"]
    groups: Sequence[Int[Tensor, " _"]]

    @classmethod
    def of(cls, rows: FoldedRows, reads: NormalScores) -> "Units":
        """Those of rows; the networks of a fold learn from all other folds."""
        fold, world = rows.fold[0], rows.world

        def floats(array: np.ndarray) -> Tensor:
            return torch.from_numpy(array.astype(np.float32))

        learns = [np.flatnonzero((fold >= 0) & (fold != f)) for f in range(rows.settings.folds)]
        return cls(
            floats(reads.read(world.values)),
            floats(targets(world.label, world.classes)),
            floats(world.available),
            floats(rows.adds),
            floats(~world.free_columns),
            floats(world.action_cost),
            [torch.from_numpy(rows_of_fold) for rows_of_fold in learns],
        )


@dataclass(frozen=True, eq=False)
class ShownStates:
    """States of the moment. Shapes: K networks, E episodes.

    Attributes:
        read: all of the units' rows. (K, E, 2 d)
        hidden: 1 for columns that the states do not show. (K, E, d)
        open: panels that can be had and show something new. (K, E, a)
    """

    read: Float[Tensor, "K E w"]
    hidden: Float[Tensor, "K E d"]
    open: Bool[Tensor, "K E a"]

    def shown(self) -> Float[Tensor, "K E w"]:
        """Inputs of networks. (K, E, 2 d)"""
        return self.read * (1 - self.hidden).repeat(1, 1, 2)

    def fresh(self) -> Float[Tensor, "K E w"]:
        """Values hidden from them. (K, E, 2 d)"""
        return self.read * self.hidden.repeat(1, 1, 2)


class LockstepEpisodes:
    """K × E episodes; those of a network follow from its fold's draws.

    Attributes:
        units: that are drawn.
        row: unit of each. (K, E)
        acquired: panels of each, 0 or 1. (K, E, a)
    """

    def __init__(
        self, units: Units, folds: Sequence[int], episodes: int, rngs: Sequence[np.random.Generator]
    ) -> None:
        """Start all.

        Args:
            units: that are drawn.
            folds: of each network. (K)
            episodes: E.
            rngs: one of each fold.
        """
        self.units, self._folds, self._size = units, list(folds), episodes
        self._draws = {
            f: torch.Generator().manual_seed(int(rngs[f].integers(2**62)))
            for f in sorted(set(folds))
        }
        self._at_once = units.cost == 0
        a = len(units.cost)
        self.row = torch.zeros(len(self._folds), episodes, dtype=torch.int64)
        self.acquired = torch.zeros(len(self._folds), episodes, a)
        self.restart(torch.ones(len(self._folds), episodes, dtype=torch.bool))

    def uniforms(self, count: int) -> Float[Tensor, "K E c"]:
        """Numbers between 0 and 1, the same for all networks of a fold. (K, E, count)"""
        drawn = {f: torch.rand(self._size, count, generator=g) for f, g in self._draws.items()}
        return torch.stack([drawn[f] for f in self._folds])

    def restart(self, ended: Bool[Tensor, "K E"]) -> None:
        """New units where True: with panels of no price, or with panels drawn at random."""
        drawn = self.uniforms(len(self.units.cost) + 3)
        groups = [self.units.groups[f] for f in self._folds]
        count = torch.tensor([len(group) for group in groups])[:, None]
        place = (drawn[..., 0] * count).long().clamp(max=count - 1)
        row = torch.stack([group[at] for group, at in zip(groups, place, strict=True)])
        some = drawn[..., 1:2] < RANDOM_STARTS
        starting = (some & (drawn[..., 3:] < drawn[..., 2:3])) | self._at_once
        self.row = torch.where(ended, row, self.row)
        acquired = starting * self.units.available[row]
        self.acquired = torch.where(ended[..., None], acquired, self.acquired)

    def look(self) -> ShownStates:
        """Values of the states."""
        units = self.units
        hidden = (self.acquired @ units.adds == 0) * units.closed
        left = units.available[self.row] * (1 - self.acquired)
        return ShownStates(units.read[self.row], hidden, (hidden @ units.adds.T > 0) & (left > 0))

    def buy(self, panel: Int[Tensor, "K E"], bought: Bool[Tensor, "K E"]) -> None:
        """Acquire a panel where True; elsewhere its number is not read."""
        at = torch.where(bought, panel, 0)[..., None]
        self.acquired.scatter_add_(2, at, bought[..., None].float())


def first_chooser(networks: int, sizes: Sequence[int], rng: np.random.Generator) -> FlatParameters:
    """Choosers before training, all equal: orthogonal weights, the last nearly zero."""
    shapes = layer_shapes(sizes)
    parameters = FlatParameters({name: (networks, *shape) for name, shape in shapes.items()})
    last = f"{len(sizes) - 2}.weight"
    for name, (fan_in, fan_out) in shapes.items():
        if name.endswith("weight"):
            gain = 0.01 if name == last else 2**0.5
            weights = orthogonal_weights(1, fan_in, fan_out, gain=gain, rng=rng)
            parameters.views[name].copy_(weights)
    return parameters


def layer_list(parameters: FlatParameters) -> tuple[list[Tensor], list[Tensor]]:
    """Weights and biases."""
    return layers_of(parameters.views)


def slope_list(parameters: FlatParameters) -> list[tuple[Tensor, Tensor]]:
    """Where derivatives by weights and biases are written, layer after layer."""
    return list(zip(*layers_of(parameters.gradient_views), strict=True))


def falling(step: int, steps: int) -> float:
    """From 1 to 0 along half a cosine."""
    return 0.5 + 0.5 * float(np.cos(np.pi * step / steps))


@contextmanager
def in_one_thread() -> Iterator[None]:
    """One thread, no gradients recorded, and numbers below 1e-38 are 0.

    A cold relaxation and dead units leave many of those, and each costs a hundred ordinary ones.
    """
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_flush_denormal(False)


@dataclass(frozen=True)
class ChooserSettings:
    """How choosers and their predictors learn.

    Attributes:
        updates: steps of Adam.
        batch: episodes of each network side by side.
        learning_rate: at first; it falls to 0.
        ends: randomness of choices, at first and at last.
        weight_decay: penalty of the predictor's squared weights.
    """

    updates: int
    batch: int
    learning_rate: float
    ends: tuple[float, ...]
    weight_decay: float


class ChooserTraining:
    """K predictors and choosers.

    Attributes:
        predictor: layers of f. (K, in, out)
        chooser: layers, with an output for each choice. (K, in, out)
        episodes: of the moment.
    """

    choices = 0  # beside the panels

    def __init__(
        self,
        units: Units,
        predictor: FlatParameters,
        folds: Sequence[int],
        settings: ChooserSettings,
        rngs: Sequence[np.random.Generator],
    ) -> None:
        """Before the first step.

        Args:
            units: to learn from.
            predictor: fitted to random panels; changed in place.
            folds: of each network; it learns from the units of `units.groups` there. (K)
            settings: how.
            rngs: one of each fold, and one for the first weights.
        """
        sizes = [weight.shape[2] for weight in layer_list(predictor)[0][:-1]]
        sizes = [units.read.shape[1], *sizes, len(units.cost) + self.choices]
        self.predictor, self._how = predictor, settings
        self.chooser = first_chooser(len(folds), sizes, rngs[-1])
        self.episodes = LockstepEpisodes(units, folds, settings.batch, rngs)
        self._adam = [
            Adam(parameters, learning_rate=settings.learning_rate, epsilon=ADAM_EPSILON)
            for parameters in (predictor, self.chooser)
        ]

    @in_one_thread()
    def run(self) -> None:
        """All steps."""
        for step in range(self._how.updates):
            self.advance(step)
            self.predictor.gradient.add_(self.predictor.flat, alpha=self._how.weight_decay)
            for adam in self._adam:
                adam.learning_rate = self._how.learning_rate * falling(step, self._how.updates)
                adam.step()

    def advance(self, step: int) -> None:
        """Fill both gradients, and choose in each episode."""
        raise NotImplementedError


class DimeSettings(ChooserSettings):
    """Probability of any open panel as `ends`; it falls linearly."""

    def epsilon(self, step: int) -> float:
        """Probability of any open panel."""
        first, last = self.ends
        return first + (last - first) * step / max(self.updates - 1, 1)


class DimeTraining(ChooserTraining):
    """Choosers are value networks: outputs are log-odds of shares of the entropy."""

    _how: DimeSettings

    def __init__(
        self,
        units: Units,
        predictor: FlatParameters,
        folds: Sequence[int],
        settings: DimeSettings,
        rngs: Sequence[np.random.Generator],
    ) -> None:
        """See `ChooserTraining`."""
        super().__init__(units, predictor, folds, settings, rngs)
        layer_list(self.chooser)[1][-1].fill_(FIRST_SHARE)
        self._scale = float(entropy_of(rate_logits(units.label)))
        self._price = torch.where(units.cost > 0, units.cost, torch.ones(()))

    def advance(self, step: int) -> None:
        """Along the panel of the largest value, or any."""
        drawn = self.episodes.uniforms(len(self._price) + 1)
        self.step(drawn[..., 0] < self._how.epsilon(step), drawn[..., 1:])

    def step(self, explores: Bool[Tensor, "K E"], order: Float[Tensor, "K E a"]) -> None:
        """Fill both gradients, and take a panel in each episode or begin it anew."""
        episodes = self.episodes
        label = episodes.units.label[episodes.row]
        states = episodes.look()
        shown, believes = states.shown(), layer_list(self.predictor)
        entering, before, odds = forward(*believes, shown, "relu")
        slope = (probability_of(odds) - label) / label.shape[1]
        backward(believes[0], entering, before, slope, "relu", slope_list(self.predictor))
        *valued, share = forward(*layer_list(self.chooser), shown, "relu")
        bound = entropy_of(odds)
        value = bound * torch.sigmoid(share)
        liked = torch.where(explores[..., None], order, value / self._price)
        panel = torch.where(states.open, liked, -1.0).argmax(dim=2)
        goes = states.open.any(dim=2)
        episodes.buy(panel, goes)
        after = forward(*believes, episodes.look().shown(), "relu")[2]
        saved = _loss(odds, label) - _loss(after, label)
        slope = self._slope(value, bound, saved, panel) * goes[..., None]
        entering, before = valued
        weights, _ = layer_list(self.chooser)
        backward(weights, entering, before, slope, "relu", slope_list(self.chooser))
        episodes.restart(~goes)

    def _slope(
        self,
        value: Float[Tensor, "K E a"],
        bound: Float[Tensor, "K E 1"],
        saved: Float[Tensor, "K E 1"],
        panel: Int[Tensor, "K E"],
    ) -> Float[Tensor, "K E a"]:
        """Of the mean squared error of the taken panel's gain, in entropies of the label."""
        mine = panel[..., None]
        predicted = value.gather(2, mine)
        inner = predicted * (1 - predicted / bound.clamp(min=SMALLEST_ENTROPY))
        slope = 2 * (predicted - saved) * inner / (self._scale**2 * panel.shape[1])
        return torch.zeros_like(value).scatter_(2, mine, slope)


def rate_logits(label: Float[Tensor, "n o"]) -> Tensor:
    """Outputs that predict the classes' shares. (o,)"""
    if label.shape[1] == 1:
        return torch.logit(label[:, 0].mean())[None]
    return torch.log(label.mean(dim=0).clamp(min=SMALLEST))


def probability_of(odds: Tensor) -> Tensor:
    """Of class 1 by its log-odds, or of each of more classes by their logits. (…, o)"""
    return torch.sigmoid(odds) if odds.shape[-1] == 1 else torch.softmax(odds, dim=-1)


def entropy_of(odds: Tensor) -> Tensor:
    """Of predicted probabilities, in nats. (…, 1)"""
    p = probability_of(odds)
    if odds.shape[-1] > 1:
        return -(p * torch.log_softmax(odds, dim=-1)).sum(dim=-1, keepdim=True)
    return p * softplus(-odds) + (1 - p) * softplus(odds)


def _loss(odds: Tensor, label: Tensor) -> Tensor:
    """In nats. (…, 1)"""
    if odds.shape[-1] > 1:
        return -(label * torch.log_softmax(odds, dim=-1)).sum(dim=-1, keepdim=True)
    return softplus(odds) - label * odds


class GdfsSettings(ChooserSettings):
    """Temperatures of the relaxation as `ends`."""

    def temperature(self, step: int) -> float:
        """It falls by a constant factor."""
        first, last = self.ends
        return first * (last / first) ** (step / max(self.updates - 1, 1))


class GdfsTraining(ChooserTraining):
    """Choosers are selectors: outputs are logits of panels, then of "stop"."""

    choices = 1
    _how: GdfsSettings

    def __init__(
        self,
        units: Units,
        predictor: FlatParameters,
        penalty: Sequence[float],
        folds: Sequence[int],
        settings: GdfsSettings,
        rngs: Sequence[np.random.Generator],
    ) -> None:
        """See `ChooserTraining`; the penalty is w of each network, nats per unit of price. (K)"""
        super().__init__(units, predictor, folds, settings, rngs)
        self._price = torch.tensor(penalty, dtype=torch.float32)[:, None] * units.cost

    def advance(self, step: int) -> None:
        """Along the largest logit with noise."""
        stop = self._price.shape[1]
        uniform = self.episodes.uniforms(stop + 1)
        gumbel = -torch.log(SMALLEST - torch.log(uniform + SMALLEST))
        noisy = self.write_gradient(self.episodes.look(), gumbel, self._how.temperature(step))
        choice = noisy.argmax(dim=2)
        self.episodes.buy(choice, choice != stop)
        self.episodes.restart(choice == stop)

    def write_gradient(
        self, states: ShownStates, gumbel: Float[Tensor, "K E c"], temperature: float
    ) -> Float[Tensor, "K E c"]:
        """Fill both gradients of the mean loss one step ahead; returns logits with noise."""
        units = self.episodes.units
        label = units.label[self.episodes.row]
        shown, fresh = states.shown(), states.fresh()
        chooses, believes = layer_list(self.chooser), layer_list(self.predictor)
        *chose, logits = forward(*chooses, shown, "relu")
        stop = torch.ones_like(states.open[..., :1])
        noisy = torch.where(torch.cat([states.open, stop], dim=2), logits + gumbel, NEVER)
        soft = torch.softmax(noisy / temperature, dim=2)
        part = (soft[..., :-1] @ units.adds).repeat(1, 1, 2)  # of a column that becomes known
        entering, before, odds = forward(*believes, torch.addcmul(shown, fresh, part), "relu")
        slope = (probability_of(odds) - label) / label.shape[1]
        first = backward(believes[0], entering, before, slope, "relu", slope_list(self.predictor))
        below = product(first, believes[0][0].transpose(1, 2), by="torch").mul_(fresh)
        by_part = below.view(*label.shape[:2], 2, -1).sum(dim=2)
        by_soft = by_part @ units.adds.T + self._price[:, None] / label.shape[1]
        by_soft = torch.nn.functional.pad(by_soft, (0, 1))
        mean = (soft * by_soft).sum(dim=2, keepdim=True)
        by_logit = soft * (by_soft - mean) / temperature
        entering, before = chose
        backward(chooses[0], entering, before, by_logit, "relu", slope_list(self.chooser))
        return noisy
