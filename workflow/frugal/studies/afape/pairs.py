"""The rows of the study's table of comparisons: every pair of policies, by every estimator."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from frugal.core.scratch import Scratch
from frugal.core.streams import Streams
from frugal.judge.comparisons import compare, covariance_of_blocks
from frugal.judge.influences import blocks_of

COLUMNS = (
    "seed", "estimator", "agent", "other", "difference", "std_error", "ci_low", "ci_high",
    "not_worse", "simultaneous_half_width", "truth",
)  # fmt: skip


def pairs(estimates: pd.DataFrame, kept: Scratch, streams: Streams) -> pd.DataFrame:
    """Every ordered pair of policies, for each seed and estimator.

    Args:
        estimates: of all policies: agent, estimator, seed, estimate, status, std_error, truth.
        kept: influence terms of each that is `ok`, by seed, estimator and agent; under "draws" the
            estimates on completed tables.
        streams: source of the draws for simultaneous intervals.
    """
    done = compared(estimates)
    frames = [
        _of_one(int(seed), str(name), rows, kept, streams)  # pyright: ignore[reportArgumentType]
        for (seed, name), rows in done.groupby(["seed", "estimator"], sort=False)
        if len(rows) > 1
    ]
    if not frames:
        return pd.DataFrame(columns=list(COLUMNS))
    return pd.concat(frames, ignore_index=True)


def compared(estimates: pd.DataFrame) -> pd.DataFrame:
    """The estimates that pairs are made of; groups of them follow one another as they begin."""
    return estimates[(estimates["status"] == "ok") & np.isfinite(estimates["std_error"])]


def _of_one(
    seed: int, name: str, rows: pd.DataFrame, kept: Scratch, streams: Streams
) -> pd.DataFrame:
    agents = list(rows["agent"])
    drawn = None
    if ("draws", seed, name, agents[0]) in kept:
        drawn = kept.stack([("draws", seed, name, agent) for agent in agents])
        drawn = drawn if drawn.shape[1] > 1 else None
    told = blocks_of(kept, [(seed, name, agent) for agent in agents])
    covariance = covariance_of_blocks(told, drawn)
    value, truth = rows["estimate"].to_numpy(), rows["truth"].to_numpy()
    found = compare(value, covariance, streams.generator("pairs", seed, name))
    first, second = zip(*_ordered(len(agents)), strict=True)
    at = (np.array(first), np.array(second))
    half = found.half_width[at]
    return pd.DataFrame(
        {
            "seed": seed,
            "estimator": name,
            "agent": [agents[k] for k in first],
            "other": [agents[k] for k in second],
            "difference": found.difference[at],
            "std_error": found.std_error[at],
            "ci_low": found.difference[at] - half,
            "ci_high": found.difference[at] + half,
            "not_worse": found.not_worse[at[0]],
            "simultaneous_half_width": found.simultaneous[at[0]],
            "truth": truth[at[0]] - truth[at[1]],
        }
    )


def _ordered(k: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for a in range(k) for b in range(k) if a != b)
