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
    further = [c for c in estimates.columns if c not in KEY + NUMBERS]
    texts = dict.fromkeys(["dataset", "mechanism", "agent"], "str")
    return {"summary": estimates.astype(texts)[KEY + NUMBERS + further]}
