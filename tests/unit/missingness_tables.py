"""Small tables and graphs for the tests of missingness, and their twins as enumerated worlds."""

from collections.abc import Mapping, Sequence

import numpy as np
from frugal.core.table import Panel, Table
from frugal.missing.graphs import IndicatorModel, MissingnessGraph

from tests.oracles.enumerated_world import World

Law = tuple[float, Mapping[str, float], Mapping[str, float]]


def uniforms(table: Table, rng: np.random.Generator) -> np.ndarray:
    """A number for each unit and panel, by which its gaps are drawn. (n, a)"""
    return rng.random((len(table), len(table.actions)))


def table_of(values: np.ndarray, panels: Mapping[str, Sequence[str]], free: Sequence[str]) -> Table:
    """Columns X1..Xd; panels by name with their columns; those in `free` cost nothing."""
    n, d = values.shape
    return Table(
        row_id=np.arange(n),
        values=values.astype(np.float64),
        columns=tuple(f"X{c + 1}" for c in range(d)),
        onehot=(),
        label=np.arange(n) % 2,
        classes=("no", "yes"),
        panels=tuple(
            Panel(name, tuple(columns), 0.0 if name in free else 1.0, name in free)
            for name, columns in panels.items()
        ),
        misclassification_cost=np.array([[0.0, 1.0], [1.0, 0.0]]),
    )


def three_panels(n: int, *, seed: int) -> Table:
    """X1 free; panels P2 = {X2} and P3 = {X3, X4}: the shape of the paper's synthetic study."""
    values = np.random.default_rng(seed).normal(size=(n, 4))
    return table_of(values, {"P1": ["X1"], "P2": ["X2"], "P3": ["X3", "X4"]}, ["P1"])


def graph_of(laws: Mapping[str, Law], *, standardise: bool = False) -> MissingnessGraph:
    return MissingnessGraph(
        "test", {p: IndicatorModel(*law, standardise=standardise) for p, law in laws.items()}
    )


def numbered_laws(
    graph: MissingnessGraph, table: Table
) -> dict[int, tuple[float, dict[int, float], dict[int, float]]]:
    """The same laws with numbers for names, as the enumerated world wants them."""
    action = {p.name: i for i, p in enumerate(table.actions)}
    return {
        action[panel]: (
            law.intercept,
            {table.columns.index(c): w for c, w in law.values.items()},
            {action[p]: w for p, w in law.indicators.items()},
        )
        for panel, law in graph.indicators.items()
    }


def world_of(table: Table, mass: np.ndarray) -> World:
    """A world whose units are the table's rows, with label, and the given probabilities."""
    return World(
        units={
            (tuple(row.tolist()), int(y)): float(p)
            for row, y, p in zip(table.values, table.label, mass, strict=True)
        },
        panels=tuple(tuple(table.columns.index(c) for c in p.columns) for p in table.actions),
        free=tuple(np.flatnonzero(table.free_columns).tolist()),
        panel_cost=tuple(p.cost for p in table.actions),
    )
