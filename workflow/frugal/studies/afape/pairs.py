"""The rows of the study's table of comparisons: every pair of policies, by every estimator."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from frugal.core.rows import Scratch
from frugal.core.streams import Streams
from frugal.judge.comparisons import LEVEL, Comparison, compare, covariance_of
from frugal.judge.cost_intervals import CostInterval
from frugal.judge.term_blocks import stacked

COLUMNS = (
    "seed", "estimator", "agent", "other", "difference", "std_error", "ci_low", "ci_high",
    "not_worse", "bound", "truth",
)  # fmt: skip
Intervals = Mapping[tuple[int, str, str], CostInterval]  # of each estimate, by seed, name and agent


def pairs(
    estimates: pd.DataFrame, intervals: Intervals, kept: Scratch, streams: Streams
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every ordered pair of policies, for each seed and estimator; and the estimates.

    The latter get the ends of intervals that hold for all policies at once: `simultaneous_low`,
    `simultaneous_high`.

    Args:
        estimates: of all policies: agent, estimator, seed, estimate, status, std_error, truth.
        intervals: of each that is `ok`.
        kept: influence terms of each that is `ok`, by seed, estimator and agent; under "draws" the
            estimates on completed tables.
        streams: source of the draws for simultaneous intervals.
    """
    frames, level = [pd.DataFrame(columns=list(COLUMNS))], {}
    for (seed, name), rows in compared(estimates).groupby(["seed", "estimator"], sort=False):
        if len(rows) > 1:
            at = int(seed), str(name)  # pyright: ignore[reportArgumentType]
            told = _compared(*at, rows, kept, streams)
            level[at] = told.level
            frames.append(_pairs_of(*at, rows, told, intervals))
    ends = [
        intervals[at].at(level.get(at[:2], LEVEL)) if at in intervals else (np.nan, np.nan)
        for at in estimates[["seed", "estimator", "agent"]].itertuples(index=False, name=None)
    ]
    low, high = np.array(ends, dtype=np.float64).reshape(-1, 2).T
    return (
        pd.concat(frames[1:] or frames, ignore_index=True),
        estimates.assign(simultaneous_low=low, simultaneous_high=high),
    )


def compared(estimates: pd.DataFrame) -> pd.DataFrame:
    """The estimates that pairs are made of; groups of them follow one another as they begin."""
    return estimates[(estimates["status"] == "ok") & np.isfinite(estimates["std_error"])]


def _compared(
    seed: int, name: str, rows: pd.DataFrame, kept: Scratch, streams: Streams
) -> Comparison:
    """All policies by one estimator in one seed."""
    agents = list(rows["agent"])
    drawn = None
    if ("draws", seed, name, agents[0]) in kept:
        drawn = kept.stack([("draws", seed, name, agent) for agent in agents])
        drawn = drawn if drawn.shape[1] > 1 else None
    told = stacked(kept, [(seed, name, agent) for agent in agents])
    covariance = covariance_of(told, drawn)
    value = rows["estimate"].to_numpy()
    return compare(value, covariance, streams.generator("pairs", seed, name))


def _pairs_of(
    seed: int, name: str, rows: pd.DataFrame, found: Comparison, intervals: Intervals
) -> pd.DataFrame:
    """The rows of one estimator and seed.

    An interval of a difference has room for errors that neither policy's rows show, unless both
    policies did the same in every row.
    """
    agents, truth = list(rows["agent"]), rows["truth"].to_numpy()
    first, second = zip(*_ordered(len(agents)), strict=True)
    at = (np.array(first), np.array(second))
    unseen = [intervals[seed, name, agent].unseen for agent in agents]
    below, above = (np.array([getattr(one, end) for one in unseen]) for end in ("below", "above"))
    apart, half = found.std_error[at] > 0, found.half_width[at]
    unseen_high = apart * (above[at[0]] + below[at[1]])
    return pd.DataFrame(
        {
            "seed": seed,
            "estimator": name,
            "agent": [agents[k] for k in first],
            "other": [agents[k] for k in second],
            "difference": found.difference[at],
            "std_error": found.std_error[at],
            "ci_low": found.difference[at] - half - apart * (below[at[0]] + above[at[1]]),
            "ci_high": found.difference[at] + half + unseen_high,
            "not_worse": found.not_worse[at[0]],
            "bound": found.most[at] + unseen_high,
            "truth": truth[at[0]] - truth[at[1]],
        }
    )


def _ordered(k: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for a in range(k) for b in range(k) if a != b)
