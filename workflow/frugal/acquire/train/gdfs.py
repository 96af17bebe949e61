"""Greedy dynamic feature selection: a selector learns which panel lowers the loss most, next.

After Covert and others (ICML 2023), written anew. A predictor f reads what is known of a unit; a
selector gives logits over its panels and "stop". Both descend the loss of f one step ahead,

    E ℓ(f(x_{o ∪ s}), y) + w Σᵢ sᵢ priceᵢ,   s ~ relaxed categorical of the selector's logits,

along the selector's own episodes; the temperature of the relaxation falls. Prices are a penalty w
with "stop" at price 0: at the optimum the selector takes the panel of the largest conditional
mutual information less w · price, and stops where none is above 0; it acts by the same logits that
it was trained by. K networks, of as many penalties and folds, learn in lock-step with gradients
written out. Knows no policy interface.

Differs from the paper: "stop" and prices; a quarter of the episodes start from random panels, so
that f knows states that the selector has left; the temperature falls at every step.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from frugal.acquire.train.network_episodes import (
    Episodes,
    Seen,
    Units,
    falling,
    first_chooser,
    in_one_thread,
    layer_list,
    slope_list,
)
from frugal.learn.lockstep import Adam, FlatParameters, backward, forward, product

ADAM_EPSILON = 1e-8
NEVER = -1e9  # logit of what is not open
SMALLEST = 1e-20


@dataclass(frozen=True)
class GdfsSettings:
    """How selectors learn.

    Attributes:
        updates: steps of Adam.
        batch: episodes of each network side by side.
        learning_rate: at first; it falls to 0.
        temperatures: of the relaxation, at first and at last.
        weight_decay: penalty of the predictor's squared weights.
    """

    updates: int
    batch: int
    learning_rate: float
    temperatures: tuple[float, ...]
    weight_decay: float

    def temperature(self, step: int) -> float:
        """It falls by a constant factor."""
        first, last = self.temperatures
        return first * (last / first) ** (step / max(self.updates - 1, 1))


class GdfsTraining:
    """K predictors and selectors.

    Attributes:
        predictor: layers of f. (K, in, out)
        selector: layers; the outputs are logits of panels, then of "stop". (K, in, out)
        episodes: of the moment.
    """

    def __init__(
        self,
        units: Units,
        predictor: FlatParameters,
        penalty: Sequence[float],
        folds: Sequence[int],
        settings: GdfsSettings,
        rngs: Sequence[np.random.Generator],
    ) -> None:
        """Before the first step.

        Args:
            units: to learn from.
            predictor: fitted to random panels; changed in place.
            penalty: w of each network, nats per unit of price. (K)
            folds: of each network; it learns from the units of `units.groups` there. (K)
            settings: how.
            rngs: one of each fold, and one for the first weights.
        """
        sizes = [weight.shape[2] for weight in layer_list(predictor)[0][:-1]]
        sizes = [units.read.shape[1], *sizes, len(units.cost) + 1]
        self.predictor, self._how = predictor, settings
        self.selector = first_chooser(len(penalty), sizes, rngs[-1])
        self.episodes = Episodes(units, folds, settings.batch, rngs)
        self._price = torch.tensor(penalty, dtype=torch.float32)[:, None] * units.cost
        self._adam = [
            Adam(one, learning_rate=settings.learning_rate, epsilon=ADAM_EPSILON)
            for one in (predictor, self.selector)
        ]

    @in_one_thread()
    def run(self) -> None:
        """All steps."""
        stop = self._price.shape[1]
        for step in range(self._how.updates):
            uniform = self.episodes.uniforms(stop + 1)
            gumbel = -torch.log(SMALLEST - torch.log(uniform + SMALLEST))
            temperature = self._how.temperature(step)
            noisy = self.write_gradient(self.episodes.look(), gumbel, temperature)
            self.predictor.gradient.add_(self.predictor.flat, alpha=self._how.weight_decay)
            for adam in self._adam:
                adam.learning_rate = self._how.learning_rate * falling(step, self._how.updates)
                adam.step()
            choice = noisy.argmax(dim=2)
            self.episodes.buy(choice, choice != stop)
            self.episodes.restart(choice == stop)

    def write_gradient(
        self, seen: Seen, gumbel: Float[Tensor, "K E c"], temperature: float
    ) -> Float[Tensor, "K E c"]:
        """Fill both gradients of the mean loss one step ahead; returns logits with noise."""
        units = self.episodes.units
        label = units.label[self.episodes.row]
        shown, fresh = seen.shown(), seen.fresh()
        chooses, believes = layer_list(self.selector), layer_list(self.predictor)
        *chose, logits = forward(*chooses, shown, "relu")
        stop = torch.ones_like(seen.open[..., :1])
        noisy = torch.where(torch.cat([seen.open, stop], dim=2), logits + gumbel, NEVER)
        soft = torch.softmax(noisy / temperature, dim=2)
        part = (soft[..., :-1] @ units.adds).repeat(1, 1, 2)  # of a column that becomes known
        entering, before, odds = forward(*believes, torch.addcmul(shown, fresh, part), "relu")
        slope = (torch.sigmoid(odds) - label[..., None]) / label.shape[1]
        first = backward(believes[0], entering, before, slope, "relu", slope_list(self.predictor))
        below = product(first, believes[0][0].transpose(1, 2), by="torch").mul_(fresh)
        by_part = below.view(*label.shape, 2, -1).sum(dim=2)
        by_soft = by_part @ units.adds.T + self._price[:, None] / label.shape[1]
        by_soft = torch.nn.functional.pad(by_soft, (0, 1))
        mean = (soft * by_soft).sum(dim=2, keepdim=True)
        by_logit = soft * (by_soft - mean) / temperature
        entering, before = chose
        backward(chooses[0], entering, before, by_logit, "relu", slope_list(self.selector))
        return noisy
