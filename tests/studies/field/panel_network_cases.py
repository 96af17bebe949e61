"""What tests of networks that choose panels share: worlds as tensors, enumerated information."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from frugal.acquire.kinds import Learned
from frugal.acquire.train.tree_sets import FoldedRows, Folds
from frugal.core.world import World
from frugal.learn.lockstep import FlatParameters
from frugal.studies.field.panel_choosers import Units
from frugal.studies.field.policies.panel_networks import Believers, NetworkPolicies

from tests.studies.field import plain_panel_networks as plain
from tests.unit import tree_agent_cases as cases

NETWORK: dict[str, Any] = {"copies": 4, "hidden": 32, "layers": 2, "epochs": 8, "batch": 128}
NETWORK |= {"learning_rate": 0.01, "weight_decay": 0.0}
EACH = 200  # units in a cell
Risk = Callable[[np.ndarray], np.ndarray]


def turn_risk(cell: np.ndarray) -> np.ndarray:
    """The panel of the unit's group tells much, the next one little, the third nothing."""
    unit = np.arange(len(cell))
    first, second = (cell[unit, 1 + (cell[:, 0] + k) % 3] for k in (0, 1))
    return 1 / (1 + np.exp(-(4.0 * (first - 0.5) + 1.5 * (second - 0.5) - 0.5)))


def whole_world(risk: Risk) -> World:
    """Every cell as often as it is likely, ill as often as it is likely."""
    cell = np.repeat(cases.cells(), EACH, axis=0)
    ill = np.round(risk(cases.cells()) * EACH)
    label = (np.tile(np.arange(EACH), 24) < np.repeat(ill, EACH)).astype(np.int64)
    provides, price = np.eye(4, dtype=bool)[1:], list(cases.CELL_PRICE)
    return cases.of_values(cell.astype(np.float64), provides, label, price)


def folded(world: World, folds: int = 2, *, judging: int = 0) -> FoldedRows:
    learns = np.arange(len(world)) < len(world) - judging
    return FoldedRows(world, learns, Folds(folds), np.random.default_rng(5))


def on_all(world: World, hidden: int = 32) -> tuple[Believers, Units]:
    """Two networks, both of which go on learning from all units."""
    rows = folded(world)
    believers = Believers.of(rows, NETWORK | {"hidden": hidden})
    units = Units.of(rows, believers.networks.reads)
    every = torch.arange(len(world))
    return believers, Units(
        units.read,
        units.label,
        units.available,
        units.adds,
        units.closed,
        units.cost,
        [every, every],
    )


def states() -> tuple[np.ndarray, np.ndarray]:
    """What is acquired of the three panels, and what is seen, in all states but the last ones."""
    acquired, values = [], []
    for bits in range(7):
        mine = (bits >> np.arange(3)) & 1 > 0
        seen = np.unique(np.where(np.append(True, mine), cases.cells(), -1), axis=0)
        seen = np.where(seen < 0, np.nan, seen)
        values.append(seen)
        acquired.append(np.tile(mine, (len(seen), 1)))
    return np.concatenate(acquired), np.concatenate(values)


def information(values: np.ndarray, risk_of: Risk) -> np.ndarray:
    """Nats that each panel tells of the label given what is seen, by enumeration. (states, 3)"""
    every = cases.cells()
    risk = np.round(risk_of(every) * EACH) / EACH

    def entropy(p: float) -> float:
        return float(-(p * np.log(p) + (1 - p) * np.log(1 - p)))

    result = np.zeros((len(values), 3))
    for s, seen in enumerate(values):
        inside = (np.isnan(seen) | (every == seen)).all(axis=1)
        for panel in range(3):
            left = 0.0
            for level in np.unique(every[inside, 1 + panel]):
                part = inside & (every[:, 1 + panel] == level)
                left += part.sum() / inside.sum() * entropy(risk[part].mean())
            result[s, panel] = entropy(risk[inside].mean()) - left
    return result


def random_units(classes: int = 2, n: int = 60, folds: int = 2) -> Units:
    """Units that tell nothing, in the default precision: seven columns, four panels."""
    draw = torch.Generator().manual_seed(3)
    adds = torch.zeros(4, 7)
    for panel, columns in enumerate([[1, 2], [2, 3], [4], [5, 6]]):
        adds[panel, columns] = 1
    closed = torch.ones(7)
    closed[0] = 0
    return Units(
        torch.randn(n, 14, generator=draw),
        (torch.rand(n, 1, generator=draw) < 0.4) * torch.ones(())
        if classes == 2
        else torch.eye(classes)[7 * torch.arange(n) % classes],
        (torch.rand(n, 4, generator=draw) < 0.8) * torch.ones(()),
        adds,
        closed,
        torch.tensor([1.0, 2.0, 0.0, 0.5]),
        [torch.arange(n)[torch.arange(n) % folds != f] for f in range(folds)],
    )


def read_back(made: Learned, world: World, output: Any) -> NetworkPolicies:
    return NetworkPolicies.from_arrays(made.arrays, cases.layout_of(world), output)


def require_near_best(learn: Callable[..., Learned], settings: dict[str, Any], output: Any) -> None:
    """It learns for a cost, and nearly as well as the best rule of `open_world`."""
    world, new = cases.open_world(3000, 0), cases.open_world(3000, 1)
    made = learn(folded(world), cases.objective("cost", world), settings, np.array([np.inf]))
    episodes = cases.run(read_back(made, world, output), new)
    wrong = (cases.verdict_ill(episodes)[0] > 0.5) != (new.label == 1)
    assert episodes.cost[0].mean() + cases.ERROR * wrong.mean() < cases.BEST_COST + 0.1
    open_units = new.values[:, 0] == 1
    assert episodes.acquired[0, open_units, 0].mean() > 0.95
    assert episodes.acquired[0, ~open_units].mean() < 0.05


def require_alike_in_batches(made: Learned, world: World, output: Any) -> None:
    """Stored rules act on seven units at a time as on all at once."""
    policies, again = (read_back(made, world, output) for _ in range(2))
    whole, starts = cases.run(policies, world), range(0, 90, 7)
    parts = [cases.run(again, world.take(np.arange(k, min(k + 7, 90)))) for k in starts]
    acquired = np.concatenate([one.acquired for one in parts], axis=1)
    np.testing.assert_array_equal(acquired, whole.acquired[:, :90])
    verdict = np.concatenate([cases.verdict_ill(one) for one in parts], axis=1)
    np.testing.assert_array_equal(verdict, cases.verdict_ill(whole)[:, :90])


def require_same(
    modules: Sequence[Any], own_of: Sequence[FlatParameters], k: int, *, slopes: bool = False
) -> None:
    """Parameters of networks k, or slopes, are those of the plain modules."""
    for module, own in zip(modules, own_of, strict=True):
        views, atol = (own.gradient_views, 1e-9) if slopes else (own.views, 1e-7)
        for name, value in plain.parameters_of(module, slopes=slopes).items():
            torch.testing.assert_close(views[name][k], value, rtol=1e-6, atol=atol)
