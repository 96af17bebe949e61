"""What the drawing stages of the treatment study hand to figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True, eq=False)
class Tree:
    """A policy that is drawn as a tree.

    Attributes:
        rows: of its table.
        name: which policy it is.
        contexts: whose trees are drawn.
        best: name of the best outcome.
    """

    rows: pd.DataFrame
    name: str
    contexts: list[str]
    best: str


@dataclass(frozen=True, eq=False)
class World:
    """Means over the realisations of one world.

    Handed over by `draw_world_figures`.

    Attributes:
        title: of the world, as figures take it.
        growth: by training units.
        tradeoff: efficacy and trials, by planner.
        bounds: the same, by bound.
        thresholds: by δ, for models and for bounds.
        tree: a policy.
    """

    title: Mapping[str, Any]
    growth: pd.DataFrame
    tradeoff: pd.DataFrame
    bounds: pd.DataFrame
    thresholds: pd.DataFrame
    tree: Tree


@dataclass(frozen=True, eq=False)
class Table:
    """Means over the splits of one table.

    Handed over by `draw_table_figures`.

    Attributes:
        title: of the table, as figures take it.
        curves: best outcome by trial.
        subtitle: what the curves are of.
        tradeoff: efficacy and trials, by planner.
        delta: by δ.
        price: by λ.
        tree: a policy.
    """

    title: Mapping[str, Any]
    curves: pd.DataFrame
    subtitle: str
    tradeoff: pd.DataFrame
    delta: pd.DataFrame
    price: pd.DataFrame
    tree: Tree
