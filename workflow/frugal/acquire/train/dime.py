"""DIME: a value network learns what each panel would save of the loss, and so what it tells.

After Gadgil, Covert and Lee (ICLR 2024), written anew. A predictor f reads what is known of a unit;
a value network regresses, for the panel that is taken next, the loss that it saves,

    v_i(x_o) → ℓ(f(x_o), y) − ℓ(f(x_{o ∪ i}), y),   0 ≤ v_i ≤ entropy of f(x_o),

whose conditional mean is the mutual information of panel and label given what is known. Both learn
together along episodes that take the panel of the largest v_i / price_i, or, with a probability
that falls, any. One training serves all worths of money: who acts stops where no v_i / price_i
is above one. F networks, one for each fold, learn in lock-step. Knows no policy interface.

Differs from the paper: f learns from the states before a panel, which are those after the last one;
a quarter of the episodes start from random panels; values are a share of the entropy by a sigmoid.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import softplus

from frugal.acquire.train.network_episodes import (
    Episodes,
    Units,
    falling,
    first_chooser,
    in_one_thread,
    layer_list,
    slope_list,
)
from frugal.learn.lockstep import Adam, FlatParameters, backward, forward

ADAM_EPSILON = 1e-8
FIRST_SHARE = -2.0  # of the entropy, as log-odds, that a panel is worth before training
SMALLEST_ENTROPY = 1e-6


@dataclass(frozen=True)
class DimeSettings:
    """How value networks learn.

    Attributes:
        updates: steps of Adam.
        batch: episodes of each network side by side.
        learning_rate: at first; it falls to 0.
        exploration: probability of any open panel, at first and at last; it falls linearly.
        weight_decay: penalty of the predictor's squared weights.
    """

    updates: int
    batch: int
    learning_rate: float
    exploration: tuple[float, ...]
    weight_decay: float

    def epsilon(self, step: int) -> float:
        """Probability of any open panel."""
        first, last = self.exploration
        return first + (last - first) * step / max(self.updates - 1, 1)


class DimeTraining:
    """F predictors and value networks.

    Attributes:
        predictor: layers of f. (F, in, out)
        values: layers; the outputs are log-odds of shares of the entropy. (F, in, out)
        episodes: of the moment.
    """

    def __init__(
        self,
        units: Units,
        predictor: FlatParameters,
        folds: Sequence[int],
        settings: DimeSettings,
        rngs: Sequence[np.random.Generator],
    ) -> None:
        """Before the first step.

        Args:
            units: to learn from.
            predictor: fitted to random panels; changed in place.
            folds: of each network; it learns from the units of `units.groups` there. (F)
            settings: how.
            rngs: one of each fold, and one for the first weights.
        """
        sizes = [weight.shape[2] for weight in layer_list(predictor)[0][:-1]]
        sizes = [units.read.shape[1], *sizes, len(units.cost)]
        self.predictor, self._how = predictor, settings
        self.values = first_chooser(len(folds), sizes, rngs[-1])
        self.values.views[f"{len(sizes) - 2}.bias"].fill_(FIRST_SHARE)
        self.episodes = Episodes(units, folds, settings.batch, rngs)
        rate = units.label.mean()
        self._scale = float(entropy_of(torch.logit(rate)))
        self._price = torch.where(units.cost > 0, units.cost, torch.ones(()))
        self._adam = [
            Adam(one, learning_rate=settings.learning_rate, epsilon=ADAM_EPSILON)
            for one in (predictor, self.values)
        ]

    @in_one_thread()
    def run(self) -> None:
        """All steps."""
        for step in range(self._how.updates):
            drawn = self.episodes.uniforms(len(self._price) + 1)
            self.step(drawn[..., 0] < self._how.epsilon(step), drawn[..., 1:])
            self.predictor.gradient.add_(self.predictor.flat, alpha=self._how.weight_decay)
            for adam in self._adam:
                adam.learning_rate = self._how.learning_rate * falling(step, self._how.updates)
                adam.step()

    def step(self, explores: Bool[Tensor, "K E"], order: Float[Tensor, "K E a"]) -> None:
        """Fill both gradients, and take a panel in each episode or begin it anew."""
        episodes = self.episodes
        label = episodes.units.label[episodes.row][..., None]
        seen = episodes.look()
        shown, believes = seen.shown(), layer_list(self.predictor)
        entering, before, odds = forward(*believes, shown, "relu")
        slope = (torch.sigmoid(odds) - label) / label.shape[1]
        backward(believes[0], entering, before, slope, "relu", slope_list(self.predictor))
        *valued, share = forward(*layer_list(self.values), shown, "relu")
        bound = entropy_of(odds)
        value = bound * torch.sigmoid(share)
        liked = torch.where(explores[..., None], order, value / self._price)
        panel = torch.where(seen.open, liked, -1.0).argmax(dim=2)
        goes = seen.open.any(dim=2)
        episodes.buy(panel, goes)
        after = forward(*believes, episodes.look().shown(), "relu")[2]
        saved = _loss(odds, label) - _loss(after, label)
        slope = self._slope(value, bound, saved, panel) * goes[..., None]
        entering, before = valued
        weights, _ = layer_list(self.values)
        backward(weights, entering, before, slope, "relu", slope_list(self.values))
        episodes.restart(~goes)

    def _slope(
        self,
        value: Float[Tensor, "K E a"],
        bound: Float[Tensor, "K E 1"],
        saved: Float[Tensor, "K E 1"],
        panel: Int[Tensor, "K E"],
    ) -> Float[Tensor, "K E a"]:
        """Of the mean squared error of what the taken panel saved, in entropies of the label."""
        mine = panel[..., None]
        said = value.gather(2, mine)
        inner = said * (1 - said / bound.clamp(min=SMALLEST_ENTROPY))
        slope = 2 * (said - saved) * inner / (self._scale**2 * panel.shape[1])
        return torch.zeros_like(value).scatter_(2, mine, slope)


def entropy_of(odds: Tensor) -> Tensor:
    """Of a belief, in nats."""
    p = torch.sigmoid(odds)
    return p * softplus(-odds) + (1 - p) * softplus(odds)


def _loss(odds: Tensor, label: Tensor) -> Tensor:
    """In nats."""
    return softplus(odds) - label * odds
