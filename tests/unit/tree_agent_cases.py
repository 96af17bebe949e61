"""Small worlds whose best rules are known, and what agents made of trees learn them with."""

from typing import Any

import numpy as np
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.payoff import Objective, ObjectiveName
from frugal.acquire.train.tree_sets import TreeRows
from frugal.config.learners import BoostingSettings
from frugal.core.episodes import Episodes
from frugal.core.layout import Layout
from frugal.core.table import Panel
from frugal.core.world import World

BOOSTING: dict[str, Any] = {"trees": 60, "leaves": 4, "learning_rate": 0.2, "min_leaf": 30}
BOOSTING |= {"ridge": 1.0, "column_share": 1.0, "row_share": 1.0, "folds": 3, "repeats": 2}
CASCADE: dict[str, Any] = {"gates": 3, "sets": 12, "price_weights": 12, "linear": False}
ERROR, PRICE = 10.0, 1.0
SHARE = np.array([0.6, 0.3, 0.1])  # of the groups: low, open, high
RISK = np.array([0.02, 0.5, 0.98])
ACCURACY = 0.95  # probability that panel A tells the label of an open unit
BEST_COST = 0.7 * 0.02 * ERROR + 0.3 * (PRICE + (1 - ACCURACY) * ERROR)  # A for open units alone


def open_world(n: int, seed: int) -> World:
    """Group (free), panel A that tells the label of the open group, panel B that tells nothing."""
    rng = np.random.default_rng(seed)
    group = rng.choice(3, size=n, p=SHARE)
    label = (rng.random(n) < RISK[group]).astype(np.int64)
    told = np.where(rng.random(n) < ACCURACY, label, 1 - label)
    tells = np.where(group == 1, told, rng.integers(2, size=n))
    values = np.stack([group, tells, rng.integers(2, size=n)], axis=1).astype(np.float64)
    return of_values(values, np.eye(3, dtype=bool)[1:], label, [PRICE, PRICE])


def of_values(
    values: np.ndarray,
    provides: np.ndarray,
    label: np.ndarray,
    price: list[float],
    available: np.ndarray | None = None,
) -> World:
    """Column 0 is free; two classes, each with a verdict."""
    n, a = len(values), len(price)
    return World(
        "full",
        0,
        np.arange(n),
        values,
        provides,
        np.arange(values.shape[1]) == 0,
        np.ones((n, a), dtype=bool) if available is None else available,
        label,
        np.array(price),
        2,
        2,
    )


def rows_of(world: World, *, judging: int = 0, **changed: Any) -> TreeRows:
    """All units learn but the last few."""
    learns = np.arange(len(world)) < len(world) - judging
    settings = BoostingSettings.of(BOOSTING | changed)
    return TreeRows(world, learns, settings, np.random.default_rng(5))


def run(policies: Any, world: World) -> Episodes:
    """Episodes of all members."""
    return roll_out(policies, world, uniforms=np.zeros((len(world), world.panels + 1)))


def verdict_ill(episodes: Episodes) -> np.ndarray:
    """Probability of "ill" at the end of each member's episodes. (K, n)"""
    assert episodes.verdict is not None
    return episodes.verdict[..., 1]


def require_useful_panels(episodes: Episodes, world: World) -> None:
    """Of `nested_world`: none that a unit cannot have, the free one, no smaller one after p1."""
    assert not (episodes.acquired & ~world.available).any()
    assert (episodes.acquired[..., 2] == world.available[:, 2]).all()
    for k, i in np.argwhere(episodes.acquired[..., 0] & episodes.acquired[..., 1]):
        order = episodes.action[(episodes.member == k) & (episodes.row == i)].tolist()
        assert order.index(0) < order.index(1)  # the larger may follow the smaller


def objective(name: ObjectiveName, world: World) -> Objective:
    """Errors of either kind cost the same."""
    return Objective.of(name, world.label, ERROR * (1 - np.eye(2)))


def layout_of(world: World) -> Layout:
    """Columns x0, x1, …; panels p0, p1, …"""
    names = tuple(f"x{j}" for j in range(world.values.shape[1]))
    panels = [
        Panel(f"p{k}", tuple(np.array(names)[shown]), float(world.action_cost[k]), False)
        for k, shown in enumerate(world.provides)
    ]
    return Layout(names, (), (Panel("free", names[:1], 0.0, True), *panels), ("well", "ill"))


def nested_world(n: int, seed: int, *, missing: float = 0.3) -> World:
    """Four panels: p1 holds what p0 has; p2 has no price; each unit lacks some of them."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 5))
    label = (values @ [0.5, 1.0, 1.0, 0.7, 1.0] + rng.logistic(size=n) > 1).astype(np.int64)
    provides = np.array([[0, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]) > 0
    available = rng.random((n, 4)) >= missing
    available[:, 0] |= available[:, 1]
    return of_values(values, provides, label, [1.0, 2.0, 0.0, 3.0], available)


LATTICE: dict[str, Any] = {
    "copies": 4,
    "sets": 32,
    "price_weights": 4,
    "gains": {"trees": 40, "leaves": 6, "learning_rate": 0.2, "min_leaf": 30, "ridge": 1.0},
}
CELL_PRICE = (0.5, 0.8, 0.3)


def cell_risk(cell: np.ndarray) -> np.ndarray:
    """Risk in each cell of column 0 (0, 1, 2) and three bits; the second bit tells by the first."""
    group, one, two, three = cell.T
    turned = np.where(one == 1, two, 1 - two)
    odds = -1.5 + 1.0 * group + 2.5 * (turned - 0.5) * (group == 1) + 1.5 * (three - 0.5)
    return 1 / (1 + np.exp(-2 * odds))


def cells() -> np.ndarray:
    """All cells, which are equally likely."""
    grid = np.meshgrid(np.arange(3), *[np.arange(2)] * 3, indexing="ij")
    return np.stack([axis.ravel() for axis in grid], axis=1)


def cell_world(n: int, seed: int) -> World:
    """Units drawn over the cells."""
    rng = np.random.default_rng(seed)
    cell = cells()[rng.integers(24, size=n)]
    label = (rng.random(n) < cell_risk(cell)).astype(np.int64)
    return of_values(cell.astype(np.float64), np.eye(4, dtype=bool)[1:], label, list(CELL_PRICE))


def best_cell_cost() -> float:
    """Least expected cost of any rule on the cells, by dynamic programming over what is seen."""
    every, risk = cells(), cell_risk(cells())

    def least(inside: np.ndarray, bought: frozenset[int]) -> float:
        ill = risk[inside].mean()
        best = ERROR * min(ill, 1 - ill)
        for panel in {0, 1, 2} - bought:
            value = CELL_PRICE[panel]
            for level in (0, 1):
                part = inside & (every[:, 1 + panel] == level)
                value += part.sum() / inside.sum() * least(part, bought | {panel})
            best = min(best, value)
        return best

    return float(np.mean([least(every[:, 0] == g, frozenset()) for g in range(3)]))
