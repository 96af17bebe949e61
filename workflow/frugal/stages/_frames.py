"""Tables between the steps and the arrays that lower layers take: columns in, columns out."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.contracts import Table

EVALUATED = ("nuisance", "test")  # parts whose records are acted on; `train` made the classifier


def panel_columns(prefix: str, data: Table) -> list[str]:
    """`prefix:panel` for each action."""
    return [f"{prefix}:{panel.name}" for panel in data.actions]


def panel_matrix(frame: pd.DataFrame, prefix: str, data: Table) -> np.ndarray:
    """The columns `prefix:panel` as a matrix, one column per action. (n, a)"""
    return frame[panel_columns(prefix, data)].to_numpy()


def by_seed(frame: pd.DataFrame, rows: np.ndarray) -> Iterator[tuple[int, pd.DataFrame]]:
    """Each seed's mask rows, restricted to positions in the table (all seeds list all rows)."""
    for seed, group in frame.groupby("seed", sort=False):
        yield int(seed), group.iloc[rows]  # pyright: ignore[reportArgumentType]


def in_s(identification: Mapping[str, Any], data: Table) -> np.ndarray:
    """True for the panels of s; none where no set works, which the estimators then say. (a,)"""
    return np.isin([panel.name for panel in data.actions], identification["s"] or ())


def drawn(name: str, figure: Any, table: pd.DataFrame) -> dict[str, Any]:
    """Outputs of a stage: a figure as PNG and PDF, and the table that it shows, also as a page."""
    pictures = {f"{name}_png": figure, f"{name}_pdf": figure}
    return pictures | {f"{name}_table": table, f"{name}_page": table}
