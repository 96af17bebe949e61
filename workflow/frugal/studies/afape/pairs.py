"""The rows of the study's table of comparisons: every pair of policies, by every estimator."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from frugal.core.streams import Streams
from frugal.core.terms import Terms
from frugal.judge.case import Case
from frugal.judge.comparisons import InfluenceStore, compare, covariance_of
from frugal.judge.estimator import Estimator
from frugal.judge.summary import counted_influence

COLUMNS = (
    "seed", "estimator", "agent", "other", "difference", "std_error", "ci_low", "ci_high",
    "not_worse", "simultaneous_half_width", "truth",
)  # fmt: skip


def keep(
    kept: InfluenceStore, at: tuple[int, str], estimator: Estimator, case: Case, terms: Terms
) -> None:
    """Keep what pairs with this estimate are compared by; `at` is seed and agent."""
    seed, agent = at
    fit = case.fit if estimator.fitted else None
    kept.put((seed, estimator.name, agent), counted_influence(terms, fit, case.cluster)[:, 0])
    if estimator.imputation is not None:
        drawn = case.imputed[estimator.imputation].mean(axis=1)
        kept.put(("draws", seed, estimator.name, agent), drawn[:, 0])


def pairs(estimates: pd.DataFrame, kept: InfluenceStore, streams: Streams) -> pd.DataFrame:
    """Every ordered pair of policies, for each seed and estimator.

    Args:
        estimates: of all policies: agent, estimator, seed, estimate, status, std_error, truth.
        kept: what `keep` kept of each that is `ok`.
        streams: source of the draws for simultaneous intervals.
    """
    done = estimates[(estimates["status"] == "ok") & np.isfinite(estimates["std_error"])]
    frames = [
        _of_one(int(seed), str(name), rows, kept, streams)  # pyright: ignore[reportArgumentType]
        for (seed, name), rows in done.groupby(["seed", "estimator"], sort=False)
        if len(rows) > 1
    ]
    if not frames:
        return pd.DataFrame(columns=list(COLUMNS))
    return pd.concat(frames, ignore_index=True)


def _of_one(
    seed: int, name: str, rows: pd.DataFrame, kept: InfluenceStore, streams: Streams
) -> pd.DataFrame:
    agents = list(rows["agent"])
    drawn = None
    if ("draws", seed, name, agents[0]) in kept:
        drawn = kept.stack([("draws", seed, name, agent) for agent in agents])
        drawn = drawn if drawn.shape[1] > 1 else None
    covariance = covariance_of(kept.stack([(seed, name, agent) for agent in agents]), drawn)
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
