"""Outcomes after each history: counts of outcomes, sparse, from records of searches.

The sufficient statistic of every tabular model of `treatment`. It must not know how the counts are
smoothed or used.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int

from frugal.studies.treatment.data.records import TrialRecords


@dataclass(frozen=True, eq=False)
class OutcomeCounts:
    """Cells (x, a, h) in which a trial was made, sorted. Shapes: m cells, y outcomes.

    Attributes:
        context: x. (m,)
        action: a. (m,)
        history: index of h without a, see `data.records`. (m,)
        count: n_y(a, h), trials with each outcome. (m, y)
        n_contexts: number of contexts.
        n_actions: k.
    """

    context: Int[np.ndarray, " m"]
    action: Int[np.ndarray, " m"]
    history: Int[np.ndarray, " m"]
    count: Float64[np.ndarray, "m y"]
    n_contexts: int
    n_actions: int

    @property
    def n_outcomes(self) -> int:
        """Number of outcomes, |Y|."""
        return self.count.shape[1]


@dataclass(frozen=True, eq=False)
class TrialEvents:
    """One row per trial with the history before it. Shapes: e trials, a actions.

    Attributes:
        context: x. (e,)
        observed: outcome index of each action tried before, −1 otherwise; best outcomes too. (e, a)
        action: tried now. (e,)
        outcome: of this trial. (e,)
    """

    context: Int[np.ndarray, " e"]
    observed: Int[np.ndarray, "e a"]
    action: Int[np.ndarray, " e"]
    outcome: Int[np.ndarray, " e"]


def trial_events(records: TrialRecords) -> TrialEvents:
    """Every trial of the records with its history, trial by trial. (e,)"""
    observed = np.full((len(records), records.n_actions), -1, dtype=np.int64)
    parts = []
    for t in range(records.action.shape[1]):
        rows = np.flatnonzero(records.action[:, t] >= 0)
        action, outcome = records.action[rows, t], records.outcome[rows, t]
        parts.append((records.context[rows], observed[rows], action, outcome))
        observed[rows, action] = outcome
    context, before, action, outcome = (np.concatenate(part) for part in zip(*parts, strict=True))
    return TrialEvents(context, before, action, outcome)


def count_outcomes(records: TrialRecords) -> OutcomeCounts:
    """n_y(a, h): how often action a had outcome y after history h     [treatment, sec. B.1]

    Trials made although the best outcome was known already have histories that no policy reaches;
    they are left out.

    Args:
        records: earlier searches; each trial counts once, with the trials made before it.

    Returns:
        Counts by (context, action, history without that action).
    """
    k, base = records.n_actions, records.n_outcomes
    histories, cells = base ** (k - 1), _cells(records)
    distinct, count = _tally(cells, records.n_contexts * k * histories, base)
    return OutcomeCounts(
        context=distinct // (k * histories),
        action=distinct // histories % k,
        history=distinct % histories,
        count=count.astype(np.float64),
        n_contexts=records.n_contexts,
        n_actions=k,
    )


def _cells(records: TrialRecords) -> Int[np.ndarray, " e"]:
    """Code ((x, a, h without a), y) of every trial made before the best outcome was known. (e,)"""
    k, base = records.n_actions, records.n_outcomes
    place, parts = base ** np.arange(k), []
    context = records.context.astype(np.int64) * k
    history, searching = np.zeros(len(records), dtype=np.int64), np.arange(len(records))
    for t in range(records.action.shape[1]):
        searching = searching[records.action[searching, t] >= 0]
        action, outcome = records.action[searching, t], records.outcome[searching, t]
        encoded, step = history[searching], place[action]
        reduced = (
            encoded // (step * base) * step + encoded % step
        )  # digit `action` is 0: it is untried
        parts.append(((context[searching] + action) * base ** (k - 1) + reduced) * base + outcome)
        goes_on = outcome < base - 1
        searching = searching[goes_on]
        history[searching] += ((outcome + 1) * step)[goes_on]
    return np.concatenate(parts)


def _tally(
    codes: Int[np.ndarray, " e"], cells: int, base: int
) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, "m y"]]:
    """Cells that occur, sorted, and how often with each outcome; codes are cell · base + y."""
    if cells <= len(codes):  # a table of all of them is smaller than what sorting takes
        count = np.bincount(codes, minlength=cells * base).reshape(-1, base)
        occurring = np.flatnonzero(count.any(axis=1))
        return occurring, count[occurring]
    distinct, inverse = np.unique(codes // base, return_inverse=True)
    count = np.bincount(inverse * base + codes % base, minlength=len(distinct) * base)
    return distinct, count.reshape(-1, base)
