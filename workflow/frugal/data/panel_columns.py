"""Columns of stored tables that hold one thing per panel, `prefix:panel`, and their matrix."""

import numpy as np
import pandas as pd

from frugal.core.table import Table


def panel_columns(prefix: str, data: Table) -> list[str]:
    """`prefix:panel` for each action."""
    return [f"{prefix}:{panel.name}" for panel in data.actions]


def panel_matrix(frame: pd.DataFrame, prefix: str, data: Table) -> np.ndarray:
    """The columns `prefix:panel` as a matrix, one column per action. (n, a)"""
    return frame[panel_columns(prefix, data)].to_numpy()
