"""Helpers of stages for tables between the steps: evaluated rows, seeds, remarks."""

import logging
from collections.abc import Callable
from typing import Any

from frugal.core.context import without_bar

EVALUATED = ("nuisance", "test")  # parts whose records are acted on; `train` made the classifier


def bars(
    progress: Callable[..., Any], blocks: int
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Bars for the loop over blocks and for the loop within one: only one of them is shown."""
    return (without_bar, progress) if blocks == 1 else (progress, without_bar)


def remark(sentence: str) -> None:
    """Log lines for a person while the run goes on; the terminal shows it from the log."""
    logging.getLogger("frugal").warning("Frugal: %s", sentence)
