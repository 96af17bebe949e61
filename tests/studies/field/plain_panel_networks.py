"""GDFS and DIME in plain PyTorch: modules, autograd, torch's Adam, one network after another.

States of episodes, and draws, are those of `network_episodes` for a single network, so that what
is learnt must be what lock-step learns.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from frugal.studies.field.panel_choosers import (
    DimeSettings,
    GdfsSettings,
    LockstepEpisodes,
    ShownStates,
    Units,
    falling,
)
from torch import Tensor, nn
from torch.distributions import Bernoulli, Categorical
from torch.nn.functional import binary_cross_entropy_with_logits as binary
from torch.nn.functional import cross_entropy


def module_of(views: Mapping[str, Tensor], network: int) -> nn.Sequential:
    """A perceptron with the weights of one of K networks."""
    layers: list[nn.Module] = []
    for k in range(len(views) // 2):
        weight, bias = views[f"{k}.weight"][network], views[f"{k}.bias"][network, 0]
        layer = nn.Linear(weight.shape[0], weight.shape[1], dtype=weight.dtype)
        with torch.no_grad():
            layer.weight.copy_(weight.T)
            layer.bias.copy_(bias)
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def parameters_of(module: nn.Sequential, *, slopes: bool = False) -> dict[str, Tensor]:
    """Weights and biases, or their derivatives, as `FlatParameters` names them."""
    found = {}
    for k, layer in enumerate(one for one in module if isinstance(one, nn.Linear)):
        for name, own in (("weight", layer.weight), ("bias", layer.bias)):
            value = own.grad if slopes else own
            assert value is not None
            found[f"{k}.{name}"] = (value.T if name == "weight" else value[None]).detach()
    return found


def gdfs_loss(
    selector: nn.Module,
    predictor: nn.Module,
    units: Units,
    episodes: LockstepEpisodes,
    gumbel: Tensor,
    temperature: float,
    penalty: float,
) -> tuple[Tensor, Tensor]:
    """Mean loss one step ahead of one network, and the choice of each episode."""
    seen = episodes.look()
    shown = seen.shown()[0]
    logits = selector(shown)
    may = torch.cat([seen.open[0], torch.ones_like(seen.open[0][:, :1])], dim=1)
    noisy = (logits + gumbel[0]).masked_fill(~may, -1e9)
    soft = torch.softmax(noisy / temperature, dim=1)
    part = soft[:, :-1] @ units.adds
    odds = predictor(shown + seen.fresh()[0] * torch.cat([part, part], dim=1))
    price = penalty * (soft[:, :-1] @ units.cost)
    loss = losses(odds, units.label[episodes.row[0]]).mean()
    return loss + price.mean(), noisy.argmax(dim=1)


def losses(odds: Tensor, label: Tensor) -> Tensor:
    """Log-loss of each unit, of two classes or of more."""
    if label.shape[1] == 1:
        return binary(odds[:, 0], label[:, 0], reduction="none")
    return cross_entropy(odds, label, reduction="none")


def entropies(odds: Tensor) -> Tensor:
    """Of each predicted law."""
    law = Bernoulli(logits=odds[:, 0]) if odds.shape[1] == 1 else Categorical(logits=odds)
    return law.entropy()


def dime_losses(
    values: nn.Module,
    predictor: nn.Module,
    units: Units,
    episodes: LockstepEpisodes,
    explores: Tensor,
    order: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Of the predictor and of the values of one network; buys. Also says who went on."""
    seen: ShownStates = episodes.look()
    shown, label = seen.shown()[0], units.label[episodes.row[0]]
    odds = predictor(shown)
    bound = entropies(odds.detach())
    value = bound[:, None] * torch.sigmoid(values(shown))
    price = torch.where(units.cost > 0, units.cost, 1.0)
    liked = torch.where(explores[0][:, None], order[0], value.detach() / price)
    panel = liked.masked_fill(~seen.open[0], -1.0).argmax(dim=1)
    goes = seen.open[0].any(dim=1)
    episodes.buy(panel[None], goes[None])
    before = losses(odds, label)
    with torch.no_grad():
        after = losses(predictor(episodes.look().shown()[0]), label)
        rate = units.label.mean(dim=0)[None]
        scale = entropies(torch.logit(rate) if rate.shape[1] == 1 else rate.log())
    miss = (value.gather(1, panel[:, None])[:, 0] - (before.detach() - after)) / scale
    return before.mean(), (miss.square() * goes).mean(), goes


Step = Callable[[int, LockstepEpisodes], None]


def _trained(
    modules: Sequence[nn.Module],
    how: GdfsSettings | DimeSettings,
    step: Step,
    episodes: LockstepEpisodes,
) -> None:
    """Adam on both modules, the first of which is the predictor."""
    decays = (how.weight_decay, 0.0)
    adams = [
        torch.optim.Adam(one.parameters(), lr=how.learning_rate, weight_decay=decay)
        for one, decay in zip(modules, decays, strict=True)
    ]
    for update in range(how.updates):
        for adam in adams:
            adam.param_groups[0]["lr"] = how.learning_rate * falling(update, how.updates)
            adam.zero_grad()
        step(update, episodes)
        for adam in adams:
            adam.step()


def train_gdfs(
    units: Units,
    predictor: nn.Sequential,
    selector: nn.Sequential,
    penalty: float,
    fold: int,
    how: GdfsSettings,
    rngs: Sequence[np.random.Generator],
) -> None:
    """One network, changed in place."""
    stop = len(units.cost)

    def step(update: int, episodes: LockstepEpisodes) -> None:
        uniform = episodes.uniforms(stop + 1)
        gumbel = -torch.log(1e-20 - torch.log(uniform + 1e-20))
        temperature = how.temperature(update)
        loss, choice = gdfs_loss(selector, predictor, units, episodes, gumbel, temperature, penalty)
        loss.backward()
        episodes.buy(choice[None], (choice != stop)[None])
        episodes.restart((choice == stop)[None])

    _trained([predictor, selector], how, step, LockstepEpisodes(units, [fold], how.batch, rngs))


def train_dime(
    units: Units,
    predictor: nn.Sequential,
    values: nn.Sequential,
    fold: int,
    how: DimeSettings,
    rngs: Sequence[np.random.Generator],
) -> None:
    """One network, changed in place."""

    def step(update: int, episodes: LockstepEpisodes) -> None:
        drawn = episodes.uniforms(len(units.cost) + 1)
        explores = drawn[..., 0] < how.epsilon(update)
        losses = dime_losses(values, predictor, units, episodes, explores, drawn[..., 1:])
        (losses[0] + losses[1]).backward()
        episodes.restart(~losses[2][None])

    _trained([predictor, values], how, step, LockstepEpisodes(units, [fold], how.batch, rngs))
