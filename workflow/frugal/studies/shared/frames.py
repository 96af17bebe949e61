"""What stages share about tables between the steps: rows that are judged, seeds, drawn tables."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

EVALUATED = ("nuisance", "test")  # parts whose records are acted on; `train` made the classifier


def by_seed(frame: pd.DataFrame, rows: np.ndarray) -> Iterator[tuple[int, pd.DataFrame]]:
    """Each seed's mask rows, restricted to positions in the table (all seeds list all rows)."""
    for seed, group in frame.groupby("seed", sort=False):
        yield int(seed), group.iloc[rows]  # pyright: ignore[reportArgumentType]


def drawn(name: str, figure: Any, table: pd.DataFrame) -> dict[str, Any]:
    """Outputs of a stage: a figure as PNG and PDF, and the table that it shows, also as a page."""
    pictures = {f"{name}_png": figure, f"{name}_pdf": figure}
    return pictures | {f"{name}_table": table, f"{name}_page": table}
