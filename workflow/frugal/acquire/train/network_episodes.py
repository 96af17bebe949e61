"""States of many episodes at once, for networks that learn to choose panels in lock-step.

What a network meets follows from draws of its own fold alone, so that networks trained together
equal networks trained apart. Knows what is hidden and what can be had; no losses.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from frugal.acquire.train.tree_sets import FoldedRows
from frugal.learn.lockstep import FlatParameters, layer_shapes, layers_of, orthogonal_weights
from frugal.learn.masked_networks import NormalScores

RANDOM_STARTS = 0.25  # share of the episodes that begin with panels drawn at random, unpaid


@dataclass(frozen=True, eq=False)
class Units:
    """Units as tensors. Shapes: n units, d columns, a panels.

    Attributes:
        read: what networks read of a unit of which all is known: scores, then flags. (n, 2 d)
        label: 0 or 1. (n,)
        available: 1 where a panel can be had. (n, a)
        adds: 1 for columns that a panel adds to the free ones. (a, d)
        closed: 1 for columns that are not free. (d,)
        cost: of the panels. (a,)
        groups: units that each fold's networks learn from.
    """

    read: Float[Tensor, "n w"]
    label: Float[Tensor, " n"]
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
            floats(reads.read(world.values)), floats(world.label), floats(world.available),
            floats(rows.adds), floats(~world.free_columns), floats(world.action_cost),
            [torch.from_numpy(one) for one in learns],
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Seen:
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
        """What networks read. (K, E, 2 d)"""
        return self.read * (1 - self.hidden).repeat(1, 1, 2)

    def fresh(self) -> Float[Tensor, "K E w"]:
        """What is hidden from them. (K, E, 2 d)"""
        return self.read * self.hidden.repeat(1, 1, 2)


class Episodes:
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
        """New units where True: with what has no price, or with panels drawn at random."""
        drawn = self.uniforms(len(self.units.cost) + 3)
        groups = [self.units.groups[f] for f in self._folds]
        count = torch.tensor([len(group) for group in groups])[:, None]
        place = (drawn[..., 0] * count).long().clamp(max=count - 1)
        row = torch.stack([group[at] for group, at in zip(groups, place, strict=True)])
        some = drawn[..., 1:2] < RANDOM_STARTS
        known = (some & (drawn[..., 3:] < drawn[..., 2:3])) | self._at_once
        self.row = torch.where(ended, row, self.row)
        acquired = known * self.units.available[row]
        self.acquired = torch.where(ended[..., None], acquired, self.acquired)

    def look(self) -> Seen:
        """What the states show."""
        units = self.units
        hidden = (self.acquired @ units.adds == 0) * units.closed
        left = units.available[self.row] * (1 - self.acquired)
        return Seen(units.read[self.row], hidden, (hidden @ units.adds.T > 0) & (left > 0))

    def buy(self, panel: Int[Tensor, "K E"], bought: Bool[Tensor, "K E"]) -> None:
        """Acquire a panel where True; elsewhere its number is not read."""
        at = torch.where(bought, panel, 0)[..., None]
        self.acquired.scatter_add_(2, at, bought[..., None].float())


def first_chooser(networks: int, sizes: Sequence[int], rng: np.random.Generator) -> FlatParameters:
    """Choosers before training, all alike: orthogonal weights, the last nearly zero."""
    shapes = layer_shapes(sizes)
    whole = FlatParameters({name: (networks, *shape) for name, shape in shapes.items()})
    last = f"{len(sizes) - 2}.weight"
    for name, (fan_in, fan_out) in shapes.items():
        if name.endswith("weight"):
            gain = 0.01 if name == last else 2**0.5
            one = orthogonal_weights(1, fan_in, fan_out, gain=gain, rng=rng)
            whole.views[name].copy_(one)
    return whole


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
