"""The training loop that all networks of the recourse study share.

Adam with a one-cycle learning rate; rows held out of training decide when to stop and which weights
are kept [recourse, sec. 4.3]. Knows neither a network's function nor the meaning of its answers.
"""

from collections.abc import Callable
from itertools import count

import numpy as np
import torch
from torch import Tensor, nn

from frugal.config.learners import TrainingSettings
from frugal.core.errors import DataError

SCORED_ROWS = 4096  # at a time


def held_out_split(
    n: int, *, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and rows that choose the weights; at least one of each."""
    order, held_out = rng.permutation(n), _held_out(n, share)
    return np.sort(order[held_out:]), np.sort(order[:held_out])


def _held_out(n: int, share: float) -> int:
    return min(n - 1, max(1, round(share * n)))


def require_rows(n: int, *, share: float, least: int, name: str) -> None:
    """Refuse to train on fewer rows than a network needs, one of them to choose the weights.

    Args:
        n: training units.
        share: of them, held out.
        least: rows that a step needs: 2 where a layer normalises over them, else 1.
        name: of the generator.

    Raises:
        DataError: fewer are left; how many there are, and how many are needed.
    """
    held_out = _held_out(n, share)
    if held_out < 1 or n - held_out < least:
        needed = next(m for m in count(least + 1) if m - _held_out(m, share) >= least)
        raise DataError(
            f"generator {name!r} has {n} training units, {n - held_out} of them to train on; with "
            f"held_out_share {share} it needs at least {needed}"
        )


def train_network(
    network: nn.Module,
    batch_loss: Callable[[Tensor], Tensor],
    held_out_accuracy: Callable[[], float],
    *,
    rows: np.ndarray,
    settings: TrainingSettings,
    generator: torch.Generator,
) -> list[float]:
    """Fit a network in place, then put back the weights of its best epoch.

    Args:
        network: whose parameters move.
        batch_loss: mean loss of the given rows, in training mode.
        held_out_accuracy: of the current network, in evaluation mode; higher is better.
        rows: numbers of the training rows, as `batch_loss` takes them.
        settings: steps and stopping.
        generator: order of the rows.

    Returns:
        Held-out accuracy after each epoch that was run.
    """
    size = min(settings.batch, len(rows))
    steps = len(rows) // size
    optimiser = torch.optim.AdamW(
        network.parameters(),
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        fused=True,
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, settings.learning_rate, total_steps=max(2, settings.epochs * steps)
    )
    numbers, history = torch.from_numpy(rows), []
    best, since, best_weights = -1.0, 0, {}
    for _ in range(settings.epochs):
        network.train()
        order = numbers[torch.randperm(len(rows), generator=generator)]
        for start in range(0, steps * size, size):
            optimiser.zero_grad()
            batch_loss(order[start : start + size]).backward()
            optimiser.step()
            schedule.step()
        network.eval()
        with torch.no_grad():
            history.append(held_out_accuracy())
        since += 1
        if history[-1] >= best:  # of equal epochs the later one: its learning rate is smaller
            since = since if history[-1] == best else 0
            best = history[-1]
            best_weights = {name: value.clone() for name, value in network.state_dict().items()}
        if since >= settings.patience:
            break
    network.load_state_dict(best_weights)
    network.eval()
    return history


def scored(network: Callable[[Tensor], Tensor], inputs: Tensor) -> Tensor:
    """The network's outputs for all rows, in parts that fit in cache, without gradients."""
    with torch.no_grad():
        parts = [
            network(inputs[start : start + SCORED_ROWS])
            for start in range(0, max(1, len(inputs)), SCORED_ROWS)
        ]
    return torch.cat(parts)


def torch_generator(rng: np.random.Generator) -> torch.Generator:
    """A generator of torch that continues one of NumPy."""
    return torch.Generator().manual_seed(int(rng.integers(2**63 - 1)))


def fill_weights(network: nn.Module, generator: torch.Generator) -> None:
    """He's normal weights and zero biases for every linear layer, from the given generator."""
    for module in network.modules():
        if isinstance(module, nn.Linear):
            spread = (2.0 / module.in_features) ** 0.5
            with torch.no_grad():
                module.weight.normal_(0.0, spread, generator=generator)
                module.bias.zero_()
