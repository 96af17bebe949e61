"""Net benefit of policies by threshold: decision curves that count the price of panels.

    NB(t) = TP(t) − t / (1 − t) · FP(t) − price / B        [Vickers and Elkin, MDM 26, 2006]

TP and FP are shares of all cases that are decided positive where the predicted probability at the
end of the policy's path is at least t. B, the value of a case found, turns the price of panels
into the same unit: the cost of missing a positive case less that of finding it. Knows two classes,
and no file.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from frugal.judge.comparisons import LEVEL
from frugal.judge.intervals import mean_error, normal_interval
from frugal.judge.prices import ExtraCosts
from frugal.judge.recorded_labels import class_indicators
from frugal.judge.semi_offline import Paths, path_probability, sequential_terms
from frugal.learn.record_law import RecordLaw

THRESHOLDS = tuple(round(k / 100, 2) for k in (1, 2, 3, *range(5, 100, 5)))
AT_ONCE = 6  # thresholds whose outcomes are held in memory together
NET_BENEFIT = (
    "agent",
    "threshold",
    "net_benefit",
    "std_error",
    "ci_low",
    "ci_high",
    "panels_net_benefit",
)
ALL, NONE = "positive for all", "positive for none"


def implied_threshold(errors: Float[np.ndarray, "2 2"]) -> float:
    """Probability from which deciding for the second class costs less than for the first."""
    alarm, miss = errors[0, 1] - errors[0, 0], errors[1, 0] - errors[1, 1]
    return float(alarm / (alarm + miss)) if alarm + miss > 0 else float("nan")


def decision_curves(
    paths: Mapping[str, Paths],
    missingness: RecordLaw,
    price: Float[np.ndarray, " a"],
    errors: Float[np.ndarray, "2 2"],
    *,
    cluster: Int[np.ndarray, " n"] | None = None,
    thresholds: Sequence[float] = THRESHOLDS,
    extra: ExtraCosts | None = None,
) -> pd.DataFrame:
    """Net benefit of each policy, of treating all and of none, at each threshold.

    Of policies that give no probability the decision is the same at every threshold. With complete
    records and panels without a price it is the net benefit of a prediction model.

    Args:
        paths: of each policy, within the missingness model.
        missingness: model of it.
        price: of the panels. (a,)
        errors: cost of a decision (column) on a class (row). (2, 2)
        cluster: rows of one number count as one. (n,)
        thresholds: probabilities between 0 and 1.
        extra: costs of panels beyond their prices.

    Returns:
        Columns `NET_BENEFIT`, a row for each policy and threshold, in true positives per case;
        intervals are of 95 %, of each alone.
    """
    hit_value = errors[1, 0] - errors[1, 1]
    positive = class_indicators(missingness, list(paths.values()), 2)[:, 1]
    odds = np.array(thresholds) / (1 - np.array(thresholds))
    everyone = positive[:, None] - odds * (1 - positive[:, None])
    rows = [
        _rows(ALL, thresholds, everyone, np.zeros(len(positive)), cluster),
        _rows(NONE, thresholds, np.zeros(everyone.shape), np.zeros(len(positive)), cluster),
    ]
    for name, path in paths.items():
        gain, paid = _terms(path, missingness, positive, price, errors, thresholds, extra)
        rows.append(_rows(name, thresholds, gain, paid / hit_value, cluster))
    return pd.concat(rows, ignore_index=True)


def _terms(
    paths: Paths,
    missingness: RecordLaw,
    positive: Float[np.ndarray, " n"],
    price: Float[np.ndarray, " a"],
    errors: Float[np.ndarray, "2 2"],
    thresholds: Sequence[float],
    extra: ExtraCosts | None,
) -> tuple[Float[np.ndarray, "n t"], Float[np.ndarray, " n"]]:
    """Net benefit of each row at each threshold (hits less false alarms), and cost of panels."""
    chance = path_probability(paths, missingness)
    risk = paths.last_belief[:, 1]
    decided = np.where(np.isfinite(risk), risk, paths.verdict)
    positive = positive[:, None]
    gains, paid = [], np.zeros(len(decided))
    further = np.zeros((len(decided), 0)) if extra is None else extra.outcomes(paths.acquired)
    unit = np.append(price, np.zeros(0) if extra is None else extra.unit)
    for first in range(0, len(thresholds), AT_ONCE):
        part = np.array(thresholds[first : first + AT_ONCE])
        treated = decided[:, None] >= part
        outcome = np.hstack([paths.acquired, further, treated * positive, treated * (1 - positive)])
        phi, _ = sequential_terms(
            paths, chance, outcome.astype(float), price, errors, missingness.fold
        )
        hits, alarms = np.split(phi[:, len(unit) :], 2, axis=1)
        gains.append(hits - part / (1 - part) * alarms)
        paid = phi[:, : len(unit)] @ unit
    return np.hstack(gains), paid


def _rows(
    name: str,
    thresholds: Sequence[float],
    gain: Float[np.ndarray, "n t"],
    paid: Float[np.ndarray, " n"],
    cluster: Int[np.ndarray, " n"] | None,
) -> pd.DataFrame:
    """The curve of one policy from its terms."""
    phi = gain - paid[:, None]
    mean = phi.mean(axis=0)
    error = mean_error(phi - mean, cluster)
    low, high = normal_interval(mean, error, level=LEVEL)
    return pd.DataFrame(
        {
            "agent": name,
            "threshold": list(thresholds),
            "net_benefit": mean,
            "std_error": error,
            "ci_low": low,
            "ci_high": high,
            "panels_net_benefit": paid.mean(),
        }
    )
