"""Which policy of all families a budget leads to, by a rule that was written down beforehand.

1. Of each family the best within the budget, by what the family was chosen on: out-of-fold and
   validation predictions pooled where there are such, else validation units.
2. Of the families with pooled predictions the best of these leads; they have many more units.
3. A family that has validation units alone takes the lead if its best is better there, on the same
   units, by more than one standard error of the difference.
Test units decide nothing. Knows frames of scores and outcomes, no files.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from frugal.core.errors import ConfigError, DataError
from frugal.judge.comparisons import compare, covariance_of
from frugal.judge.diagnosis import score_effects
from frugal.judge.fronts import policy_for_budget, within

SCORES = ("f1", "am")
BEST_FULL = "best_full_baseline"  # of all baselines that see every panel


@dataclass(frozen=True, eq=False)
class Candidate:
    """The best of one family within a budget.

    Attributes:
        family: its name.
        row: of the validation scores.
        pooled: score on out-of-fold and validation predictions; NaN where there is none.
        units: of the score which chose it.
    """

    family: str
    row: pd.Series
    pooled: float
    units: int

    @property
    def key(self) -> tuple[str, str, int]:
        """Family, method and number of the solution."""
        return self.family, str(self.row["method"]), int(self.row["pair"])


def candidates(
    scores: pd.DataFrame, pooled: pd.DataFrame | None, *, budget: float, score: str
) -> list[Candidate]:
    """The best of each family that has a policy within the budget.

    Args:
        scores: of solutions, with the columns family, split, cost and the score.
        pooled: family, pair, pooled_score, cost and n of solutions with out-of-fold predictions.
        budget: most that a unit may cost on average.
        score: f1 or am.

    Raises:
        ConfigError: nothing fits the budget, or the score cannot be chosen by.
    """
    if score not in SCORES:
        raise ConfigError(f"policies are chosen by 'f1' or 'am', not by {score!r}")
    seen = scores[scores["split"] == "validation"].reset_index(drop=True)
    policy_for_budget(seen, budget, score=score)  # something fits
    found = []
    for family, rows in seen.groupby("family", sort=False, observed=True):
        told = None if pooled is None else pooled[pooled["family"] == family]
        own = _of_family(str(family), rows.reset_index(drop=True), told, budget, score)
        found += [own] if own else []
    return found


def _of_family(
    family: str, rows: pd.DataFrame, told: pd.DataFrame | None, budget: float, score: str
) -> Candidate | None:
    by = rows if told is None or told.empty else told.rename(columns={"pooled_score": score})
    fits = within(by["cost"].to_numpy(dtype=np.float64), budget) & by[score].notna()
    if not fits.any():
        return None
    best = by.iloc[policy_for_budget(by, budget, score=score)]
    if by is rows:
        return Candidate(family, best, np.nan, int(best["n"]))
    row = rows[rows["pair"] == best["pair"]].iloc[0]
    return Candidate(family, row, float(best[score]), int(best["n"]))


def leading(found: Sequence[Candidate], outcomes: pd.DataFrame, *, score: str) -> int:
    """Position of the candidate to use.

    Args:
        found: one of each family.
        outcomes: of all of them, with the column family.
        score: f1 or am.
    """
    pooled = np.array([one.pooled for one in found])
    seen = np.array([float(one.row[score]) for one in found])
    apart = np.isnan(pooled)
    if apart.all():
        return int(seen.argmax())
    first = int(np.where(apart, -np.inf, pooled).argmax())
    if not apart.any():
        return first
    other = int(np.where(apart, seen, -np.inf).argmax())
    label, said = verdicts(outcomes, [found[first], found[other]], "validation")
    value, effect = score_effects(label, said, score=score)
    error = float(np.sqrt(covariance_of([(effect[1] - effect[0])[None]])[0, 0]))
    return other if value[1] - value[0] > error else first


def compared(
    found: Sequence[Candidate],
    chosen: int,
    outcomes: pd.DataFrame,
    *,
    score: str,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """All candidates on test units, against the chosen one.

    Returns:
        One row of each: family, method, pair; the score on test units with an interval that holds
        for all candidates at once (`low`, `high`), so also for one that was picked; what it has
        less than the chosen one, with an interval for all pairs at once; and `not_worse`, whether
        it is not significantly worse than the best of them. 95 % each.
    """
    label, said = verdicts(outcomes, found, "test")
    value, effect = score_effects(label, said, score=score)
    told = compare(-value, covariance_of([effect]), rng)
    half = told.half_width[:, chosen]
    return pd.DataFrame(
        {
            "family": [one.family for one in found],
            "method": [str(one.row["method"]) for one in found],
            "pair": [int(one.row["pair"]) for one in found],
            "pooled": [one.pooled for one in found],
            "validation": [float(one.row[score]) for one in found],
            "test": value,
            "low": np.clip(value - told.simultaneous, 0.0, 1.0),
            "high": np.clip(value + told.simultaneous, 0.0, 1.0),
            "less": told.difference[:, chosen],
            "less_low": told.difference[:, chosen] - half,
            "less_high": told.difference[:, chosen] + half,
            "not_worse": told.not_worse,
        }
    )


def verdicts(
    outcomes: pd.DataFrame, found: Sequence[Candidate], split: str
) -> tuple[np.ndarray, np.ndarray]:
    """Labels of the units of a split, and the predictions of each candidate. (n,), (K, n)

    Raises:
        DataError: candidates were judged on different units.
    """
    here = outcomes[outcomes["part"] == split]
    keys = ["family", "policy", "member"]
    rows = dict(iter(here.groupby(keys, sort=False, observed=True)))
    parts = [rows[one.key].sort_values("row_id") for one in found]
    units = parts[0]["row_id"].to_numpy()
    for part, one in zip(parts, found, strict=True):
        if not np.array_equal(part["row_id"].to_numpy(), units):
            raise DataError(f"families were judged on different {split} units; see {one.family}")
    label = parts[0]["label"].to_numpy(np.int64)
    return label, np.stack([part["verdict"].to_numpy(np.int64) for part in parts])


def chosen_solution(scores: pd.DataFrame, *, budget: float, score: str) -> pd.Series:
    """The row of the validation scores that a budget leads to, of one family.

    Raises:
        ConfigError: nothing fits the budget, or the score cannot be chosen by.
    """
    if score not in ("f1", "am"):
        raise ConfigError(f"policies are chosen by 'f1' or 'am', not by {score!r}")
    seen = scores[scores["split"] == "validation"].reset_index(drop=True)
    return seen.iloc[policy_for_budget(seen, budget, score=score)]


def solution_rows(frame: pd.DataFrame, method: str, pair: int, split: str) -> pd.DataFrame:
    """The rows of one solution on one part.

    Raises:
        DataError: there are none.
    """
    kept = (frame["member"] == pair) & (frame["part"] == split) & (frame["policy"] == method)
    if not kept.any():
        raise DataError(f"no row has method {method!r}, pair {pair} and split {split!r}")
    return frame[kept].reset_index(drop=True)
