"""What stages share about tables between the steps: rows that are judged, seeds."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

EVALUATED = ("nuisance", "test")  # parts whose records are acted on; `train` made the classifier


def by_seed(frame: pd.DataFrame, rows: np.ndarray) -> Iterator[tuple[int, pd.DataFrame]]:
    """Each seed's mask rows, restricted to positions in the table (all seeds list all rows)."""
    for seed, group in frame.groupby("seed", sort=False):
        yield int(seed), group.iloc[rows]  # pyright: ignore[reportArgumentType]


def bars(
    progress: Callable[..., Any], blocks: int
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Bars for the loop over blocks and for the loop within one: only one of them is shown."""
    return (_plain, progress) if blocks == 1 else (progress, _plain)


def _plain(rows: Any, **_: Any) -> Any:
    """No bar."""
    return rows
