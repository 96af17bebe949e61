"""How good a fitted probability is: calibration, log-loss, and how near it comes to zero.

What is told of blocks of rows is joined to what all rows tell. Must not know what fitted it.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from frugal.core.errors import DataError, NoSupportError


def calibration_table(
    probability: Float[np.ndarray, " n"], outcome: Bool[np.ndarray, " n"], *, bins: int
) -> pd.DataFrame:
    """Predicted against observed, in bins of equal width on [0, 1]; empty bins are left out.

    Returns:
        Columns bin (0 is lowest), mean_probability, rate (share of True outcomes), n (rows).

    Raises:
        DataError: a probability is not in [0, 1].
    """
    _check_probability(probability)
    number = np.minimum((probability * bins).astype(np.int64), bins - 1)
    rows = pd.DataFrame({"bin": number, "mean_probability": probability, "rate": outcome * 1.0})
    table = rows.groupby("bin").mean()
    return table.assign(n=rows.groupby("bin").size()).reset_index()


def joined_calibration(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The calibration of all rows from those of blocks."""
    if len(tables) == 1:
        return tables[0]
    every = pd.concat(tables, ignore_index=True)
    total = every[["mean_probability", "rate"]].mul(every["n"], axis=0)
    summed = total.assign(bin=every["bin"], n=every["n"]).groupby("bin").sum()
    shares = summed[["mean_probability", "rate"]].div(summed["n"], axis=0)
    return shares.assign(n=summed["n"]).reset_index()


def log_loss(probability: Float[np.ndarray, " n"], outcome: Bool[np.ndarray, " n"]) -> float:
    """Mean of −log p(outcome), in nats; infinite where an event held for impossible happened."""
    _check_probability(probability)
    with np.errstate(divide="ignore"):
        return float(-np.log(np.where(outcome, probability, 1 - probability)).mean())


def overlap_summary(probability: Float[np.ndarray, " n"], *, threshold: float) -> dict[str, float]:
    """How near a propensity comes to zero: the positivity that every weighted estimator needs.

    Returns:
        n, min, max, quantiles q01 q05 q25 q50 q75 q95, share_below: of rows below `threshold`.
    """
    _check_probability(probability)
    if len(probability) == 0:
        raise NoSupportError("the overlap of no row was asked for; it needs at least one")
    quantiles = {
        f"q{percent:02d}": float(np.quantile(probability, percent / 100))
        for percent in (1, 5, 25, 50, 75, 95)
    }
    return {
        "n": float(len(probability)),
        "min": float(probability.min()),
        **quantiles,
        "max": float(probability.max()),
        "share_below": float((probability < threshold).mean()),
    }


def _check_probability(probability: np.ndarray) -> None:
    wrong = ~((probability >= 0) & (probability <= 1))
    if wrong.any():
        raise DataError(
            f"{wrong.sum()} of {len(probability)} probabilities are outside 0..1 or not a number"
        )
