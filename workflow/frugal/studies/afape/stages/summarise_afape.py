"""Stage `summarise_afape`: the study's summary table, one row per estimate that was asked for."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from frugal.core.streams import Streams

KEY = ["dataset", "mechanism", "agent", "estimator", "seed"]
NUMBERS = ["estimate", "ci_low", "ci_high", "truth", "n", "ess"]


def summarise_afape(
    *, estimates: pd.DataFrame, settings: Any, streams: Streams, progress: Callable[..., Any]
) -> dict[str, pd.DataFrame]:
    """Put all scenarios under each other; the contract's columns stand first."""
    del settings, streams, progress
    return {"summary": ordered(estimates, KEY + NUMBERS)}


def ordered(table: pd.DataFrame, first: list[str]) -> pd.DataFrame:
    """The columns that are promised, then the others; names as text."""
    texts = dict.fromkeys(["dataset", "mechanism", "agent"], "str")
    further = [c for c in table.columns if c not in first]
    return table.astype(texts)[first + further]
