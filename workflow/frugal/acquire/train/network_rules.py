"""Rules on what networks say: how large a margin buys, and from which belief on a unit is ill.

Chosen within budgets on units that the networks did not learn from: out of fold, and those that
only judge, pooled. A chooser goes one way through a unit, and a rule says where on it to stop, so
that all rules of a chooser cost one walk. Knows no training of choosers and no policy interface.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from frugal.acquire.panel_networks import PanelNetworks, Says, Walk
from frugal.acquire.train.payoff import Objective, best_within
from frugal.acquire.train.stacked_beliefs import networks_of_sets
from frugal.acquire.train.tree_sets import DIGITS, FoldedRows
from frugal.learn.masked_networks import MaskedNetworks
from frugal.learn.weighted_logistic import Logistic, fit_logistic

if TYPE_CHECKING:
    from frugal.learn.lockstep import FlatParameters

RIDGE = 1e-6


@dataclass(frozen=True, eq=False)
class NetworkRule:
    """One member of a front.

    Attributes:
        chooser: whose way it goes.
        least: it goes on while the margin is above.
        calibration: intercept and slope of the believers' log-odds where it stops.
        threshold: belief from which on a unit is called ill.
        score: of the objective, on units that were not learnt from.
        price: mean, on the same units.
    """

    chooser: int
    least: float
    calibration: tuple[float, float]
    threshold: float
    score: float
    price: float


@dataclass(frozen=True, eq=False)
class Believers:
    """Networks of all sets, fitted to rows with panels hidden at random, before any chooser.

    Attributes:
        rows: what they learn from, and more.
        networks: one of each fold.
    """

    rows: FoldedRows
    networks: MaskedNetworks

    @classmethod
    def of(cls, rows: FoldedRows, settings: Mapping[str, Any]) -> "Believers":
        """Fit them."""
        return cls(rows, networks_of_sets(rows, settings))

    def parameters(self, copies: int) -> "FlatParameters":
        """So many copies of all, one after the other, to train further."""
        import torch  # slow to import

        from frugal.learn.lockstep import FlatParameters

        arrays = {}
        pairs = zip(self.networks.weights, self.networks.biases, strict=True)
        for layer, (weight, bias) in enumerate(pairs):
            arrays |= {f"{layer}.weight": weight, f"{layer}.bias": bias}
        return FlatParameters.of(
            {name: torch.from_numpy(one).repeat(copies, 1, 1) for name, one in arrays.items()}
        )

    def whole(self) -> Float[np.ndarray, " n"]:
        """Probability of illness once all is known, by networks that did not see the unit."""
        world = self.rows.world
        seen = world.visible(np.arange(len(world)), world.available)
        odds, _ = self.networks.out_of_fold(seen, self.rows.fold)
        return np.round(1 / (1 + np.exp(-odds)), DIGITS)

    def beside(
        self, says: Says, predictor: "FlatParameters", chooser: "FlatParameters"
    ) -> PanelNetworks:
        """What was trained further, with the choosers."""
        believer = MaskedNetworks(self.networks.reads, *_exported(predictor))
        return PanelNetworks(
            says, self.rows.settings.folds, believer, *_exported(chooser), self.rows.adds,
            self.rows.world.action_cost,
        )  # fmt: skip


def _exported(
    parameters: "FlatParameters",
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Copies of weights and biases."""
    views = parameters.views
    weights, biases = (
        tuple(views[f"{k}.{part}"].numpy().copy() for k in range(len(views) // 2))
        for part in ("weight", "bias")
    )
    return weights, biases


def walks(rows: FoldedRows, networks: PanelNetworks, *, floor: float) -> list[Walk]:
    """Each chooser's way through all units, by networks that did not learn from the unit."""
    world, fold = rows.world, rows.fold[0]
    read = networks.believer.reads.read(world.values).astype(np.float32)
    groups = [np.flatnonzero(fold == number) for number in range(-1, networks.folds)]
    folded = [networks, *(networks.of_fold(number) for number in range(networks.folds))]
    return [
        Walk.joined(
            [
                Walk.along(
                    own, chooser, read[units], world.available[units], free=world.free_columns,
                    floor=floor,
                )
                for own, units in zip(folded, groups, strict=True)
            ],
            groups,
        )
        for chooser in range(networks.choosers)
    ]  # fmt: skip


def fit_rules(
    rows: FoldedRows,
    ways: Sequence[Walk],
    leasts: Callable[[Walk], Sequence[float]],
    objective: Objective,
    whole: Float[np.ndarray, " n"],
    budgets: Float[np.ndarray, " b"],
) -> list[NetworkRule]:
    """The best rule within each budget, or of all, from the cheapest on.

    Args:
        rows: units that judge.
        ways: of each chooser.
        leasts: margins that are tried on a way.
        objective: what is sought.
        whole: what is believed of units once all is known.
        budgets: most that a unit may cost on average; not read where the price is sought itself.
    """
    informed = objective.knowing(whole)
    made = [
        _rule(rows, way, chooser, float(least), informed)
        for chooser, way in enumerate(ways)
        for least in leasts(way)
    ]
    score, price = (np.array([getattr(one, key) for one in made]) for key in ("score", "price"))
    chosen = best_within(score, price, budgets if objective.budgeted else np.array([np.inf]))
    return [made[k] for k in chosen]


def _rule(
    rows: FoldedRows, way: Walk, chooser: int, least: float, objective: Objective
) -> NetworkRule:
    """Stops at a margin; its belief is fitted to the labels of those that stop there."""
    odds, price = way.ends(least)
    line = Logistic(0.0, np.ones(1))
    if np.ptp(odds) > 0:
        line = fit_logistic(odds[:, None], rows.world.label, np.ones(len(odds)), ridge=RIDGE)
    belief = np.round(line.probability(odds[:, None]), DIGITS)
    score, threshold = objective.judged(belief, price)
    fitted = (line.intercept, float(line.slope[0]))
    return NetworkRule(chooser, least, fitted, threshold, score, float(price.mean()))
