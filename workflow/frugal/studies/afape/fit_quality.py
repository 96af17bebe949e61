"""Calibration, log-loss and overlap of fitted probabilities, from what blocks of test rows tell."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from frugal.core.blocks import tree_sum
from frugal.judge.pattern_law import Curve
from frugal.learn.calibration import calibration_table, joined_calibration, log_loss

LOW = 0.01  # propensities below it are counted; part of the column's name


@dataclass(frozen=True, eq=False)
class _Part:
    """What one block tells of one fitted probability, on test rows that it serves."""

    calibration: pd.DataFrame
    n: int
    log_loss: float
    minimum: float
    low: int


class Quality:
    """Of one seed.

    Args:
        bins: of calibration curves.
    """

    def __init__(self, bins: int) -> None:
        self._bins = bins
        self._parts: dict[str, list[_Part]] = {}

    def add(self, curves: Mapping[str, Curve]) -> None:
        """What a block's test rows tell."""
        for name, (probability, outcome, usable) in curves.items():
            rows = usable & np.isfinite(probability)
            parts = self._parts.setdefault(name, [])
            if rows.any():
                held, event = probability[rows], outcome[rows]
                parts.append(
                    _Part(
                        calibration_table(held, event, bins=self._bins), len(held),
                        log_loss(held, event), float(held.min()), int((held < LOW).sum()),
                    )
                )  # fmt: skip

    def tables(self, methods: Mapping[str, str]) -> dict[str, pd.DataFrame]:
        """Two tables; a probability that serves no row is left out, and the summary says why.

        Args:
            methods: of the regressions; what follows from others has none.
        """
        calibration, overlap = [], []
        for name, parts in self._parts.items():
            if not parts:
                continue
            method = methods.get(name, "")
            table = joined_calibration([one.calibration for one in parts])
            calibration.append(table.assign(nuisance=name, method=method))
            n = sum(one.n for one in parts)
            overlap.append(
                {
                    "nuisance": name,
                    "method": method,
                    "n": n,
                    "log_loss": parts[0].log_loss
                    if len(parts) == 1
                    else tree_sum(one.log_loss * one.n for one in parts) / n,
                    "minimum": min(one.minimum for one in parts),
                    "share_below_1_percent": sum(one.low for one in parts) / n,
                }
            )
        if not calibration:
            return _none()
        return {
            "calibration": pd.concat(calibration, ignore_index=True),
            "overlap": pd.DataFrame(overlap),
        }


def _none() -> dict[str, pd.DataFrame]:
    """The same two tables without a row."""
    name = {"nuisance": "", "method": ""}
    curve = name | {"bin": 0, "mean_probability": 0.0, "rate": 0.0, "n": 0}
    spread = name | {"n": 0, "log_loss": 0.0, "minimum": 0.0, "share_below_1_percent": 0.0}
    return {
        "calibration": pd.DataFrame([curve]).iloc[:0],
        "overlap": pd.DataFrame([spread]).iloc[:0],
    }
