"""Networks that believe and networks that choose panels, as they act: arrays in, numbers out.

Of each of C choosers there are F networks, one for each fold that did not learn; what they say is
averaged. What a chooser says of a panel is its **margin**: the panel of the largest one is bought
while that is above a least one. Two kinds of choosers: logits (GDFS) and values (DIME). Knows no
labels and no training.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from frugal.core.world import adds_column
from frugal.learn.cross_fitted_trees import MOST_LOG_ODDS
from frugal.learn.masked_networks import MaskedNetworks, outputs

Says = Literal["logits", "values"]
BOUGHT_AT_ONCE = np.inf  # margin of a panel without a price


@dataclass(frozen=True, eq=False)
class PanelNetworks:
    """C · F networks, those of a chooser together. Shapes: d columns, a panels.

    Attributes:
        says: logits: the margin is a panel's logit less that of "stop"; values: nats of log-loss
            that a panel saves, as a share of the entropy of the belief, and the margin is nats per
            unit of price.
        folds: F.
        believer: log-odds of class 1. (C · F)
        weights: of the choosers' layers. (C · F, in, out)
        biases: of the same. (C · F, 1, out)
        adds: columns that each panel adds to the free ones. (a, d)
        cost: of the panels. (a,)
    """

    says: Says
    folds: int
    believer: MaskedNetworks
    weights: tuple[Float32[np.ndarray, "N _ _"], ...]
    biases: tuple[Float32[np.ndarray, "N 1 _"], ...]
    adds: Bool[np.ndarray, "a d"]
    cost: Float[np.ndarray, " a"]

    @property
    def choosers(self) -> int:
        """C."""
        return self.believer.count // self.folds

    def of(self, choosers: Sequence[int]) -> "PanelNetworks":
        """The same with some choosers alone, in that order."""
        some = [c * self.folds + f for c in choosers for f in range(self.folds)]
        return self._with(some, self.folds)

    def of_fold(self, fold: int) -> "PanelNetworks":
        """One network of each chooser."""
        return self._with(list(range(fold, self.believer.count, self.folds)), 1)

    def _with(self, some: list[int], folds: int) -> "PanelNetworks":
        believer = MaskedNetworks(
            self.believer.reads,
            tuple(w[some] for w in self.believer.weights),
            tuple(b[some] for b in self.believer.biases),
        )
        return replace(
            self, folds=folds, believer=believer,
            weights=tuple(w[some] for w in self.weights),
            biases=tuple(b[some] for b in self.biases),
        )  # fmt: skip

    def open_panels(
        self, acquired: Bool[np.ndarray, "*m a"], available: Bool[np.ndarray, "*m a"]
    ) -> Bool[np.ndarray, "*m a"]:
        """Panels that can be had and that show a column which nothing else does. (…, a)"""
        return available & ~acquired & adds_column(self.adds, acquired)

    def log_odds(self, chooser: int, read: Float32[np.ndarray, "m w"]) -> Float[np.ndarray, " m"]:
        """Of class 1, by the believers beside a chooser, averaged. (m,)"""
        return self._each_log_odds(chooser, read.astype(np.float64)).mean(axis=0)

    def margins(
        self,
        chooser: int,
        read: Float32[np.ndarray, "m w"],
        acquired: Bool[np.ndarray, "m a"],
        available: Bool[np.ndarray, "m a"],
    ) -> Float[np.ndarray, "m a"]:
        """Of each panel; −∞ where it cannot be had or shows nothing new. (m, a)"""
        exact = read.astype(np.float64)
        said = outputs(*self._layers(self.weights, self.biases, chooser), exact)
        if self.says == "logits":
            margin = (said[..., :-1] - said[..., -1:]).mean(axis=0)
        else:
            odds = self._each_log_odds(chooser, exact)
            worth = entropy(odds)[..., None] / (1 + np.exp(-said))
            margin = worth.mean(axis=0) / np.where(self.cost > 0, self.cost, 1.0)
        margin = np.where(self.cost > 0, margin, BOUGHT_AT_ONCE)
        return np.where(self.open_panels(acquired, available), margin, -np.inf)

    def _each_log_odds(self, chooser: int, exact: Float[np.ndarray, "m w"]) -> np.ndarray:
        layers = self._layers(self.believer.weights, self.believer.biases, chooser)
        return np.clip(outputs(*layers, exact)[..., 0], -MOST_LOG_ODDS, MOST_LOG_ODDS)

    def _layers(
        self, weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], chooser: int
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """In float64, so that the same state is told the same in batches of any size."""
        some = slice(chooser * self.folds, (chooser + 1) * self.folds)
        return [w[some].astype(np.float64) for w in weights], [
            b[some].astype(np.float64) for b in biases
        ]


def entropy(log_odds: Float[np.ndarray, "*m"]) -> Float[np.ndarray, "*m"]:
    """Of a belief, in nats. (…)"""
    p = 1 / (1 + np.exp(-log_odds))
    return p * np.logaddexp(0, -log_odds) + (1 - p) * np.logaddexp(0, log_odds)


@dataclass(frozen=True, eq=False)
class Walk:
    """A chooser's way through units as far as it goes. Shapes: T steps, n units.

    Attributes:
        margin: of the best panel at each step, −∞ where there is none or it ended before. (T, n)
        log_odds: of class 1 at each step. (T, n)
        price: paid so far. (T, n)
    """

    margin: Float[np.ndarray, "T n"]
    log_odds: Float[np.ndarray, "T n"]
    price: Float[np.ndarray, "T n"]

    @classmethod
    def along(
        cls,
        networks: PanelNetworks,
        chooser: int,
        read: Float32[np.ndarray, "n w"],
        available: Bool[np.ndarray, "n a"],
        *,
        free: Bool[np.ndarray, " d"],
        floor: float,
    ) -> "Walk":
        """On units whose whole rows are read, hidden here again, while margins pass a floor.

        Args:
            networks: that go.
            chooser: which of them.
            read: of units of which all is known.
            available: panels that can be had.
            free: columns known before the first panel.
            floor: margin at which every rule stops.
        """
        n, a = available.shape
        shape = (a + 1, n)
        margin, odds, price = np.full(shape, -np.inf), np.zeros(shape), np.zeros(shape)
        acquired, going = np.zeros((n, a), dtype=bool), np.arange(n)
        adds = networks.adds.astype(np.float32)
        for step in range(a + 1):
            mine = acquired[going]
            known = free | (mine.astype(np.float32) @ adds > 0)
            seen = read[going] * np.tile(known, 2)
            odds[step:, going] = networks.log_odds(chooser, seen)
            price[step:, going] = mine @ networks.cost
            best = networks.margins(chooser, seen, mine, available[going])
            panel = best.argmax(axis=1)
            margin[step, going] = best[np.arange(len(going)), panel]
            on = margin[step, going] > floor
            acquired[going[on], panel[on]] = True
            going = going[on]
            if not going.size:
                break
        return cls(margin, odds, price)

    def ends(self, least: float) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Log-odds and price where each unit stops, the first margin not above the least one."""
        at: Int[np.ndarray, " n"] = (self.margin <= least).argmax(axis=0)
        units = np.arange(len(at))
        return self.log_odds[at, units], self.price[at, units]

    @staticmethod
    def joined(parts: Sequence["Walk"], units: Sequence[np.ndarray]) -> "Walk":
        """Those of groups of units as one."""
        place = np.argsort(np.concatenate(units))
        return Walk(*(
            np.concatenate([getattr(one, name) for one in parts], axis=1)[:, place]
            for name in ("margin", "log_odds", "price")
        ))  # fmt: skip
