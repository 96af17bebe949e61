"""Which policy of all families a budget leads to, by a rule that was written down beforehand.

1. Of each family the best within the budget, by the scores that chose it: out-of-fold and
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
from frugal.judge.fronts import policy_for_budget, within
from frugal.studies.diagnosis.scores import score_effects

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
    validation = scores[scores["split"] == "validation"].reset_index(drop=True)
    policy_for_budget(validation, budget, score=score)  # something fits
    best_of_families = []
    for family, rows in validation.groupby("family", sort=False, observed=True):
        pooled_rows = None if pooled is None else pooled[pooled["family"] == family]
        candidate = _of_family(str(family), rows.reset_index(drop=True), pooled_rows, budget, score)
        best_of_families += [candidate] if candidate else []
    return best_of_families


def _of_family(
    family: str, rows: pd.DataFrame, pooled_rows: pd.DataFrame | None, budget: float, score: str
) -> Candidate | None:
    by = (
        rows
        if pooled_rows is None or pooled_rows.empty
        else pooled_rows.rename(columns={"pooled_score": score})
    )
    fits = within(by["cost"].to_numpy(dtype=np.float64), budget) & by[score].notna()
    if not fits.any():
        return None
    best = by.iloc[policy_for_budget(by, budget, score=score)]
    if by is rows:
        return Candidate(family, best, np.nan, int(best["n"]))
    row = rows[rows["pair"] == best["pair"]].iloc[0]
    return Candidate(family, row, float(best[score]), int(best["n"]))


def leading(of_families: Sequence[Candidate], outcomes: pd.DataFrame, *, score: str) -> int:
    """Position of the candidate to use.

    Args:
        of_families: one of each family.
        outcomes: of all of them, with the column family.
        score: f1 or am.
    """
    pooled = np.array([candidate.pooled for candidate in of_families])
    scores = np.array([float(candidate.row[score]) for candidate in of_families])
    apart = np.isnan(pooled)
    if apart.all():
        return int(scores.argmax())
    first = int(np.where(apart, -np.inf, pooled).argmax())
    if not apart.any():
        return first
    other = int(np.where(apart, scores, -np.inf).argmax())
    label, predicted = verdicts(outcomes, [of_families[first], of_families[other]], "validation")
    value, effect = score_effects(label, predicted, score=score)
    error = float(np.sqrt(covariance_of([(effect[1] - effect[0])[None]])[0, 0]))
    return other if value[1] - value[0] > error else first


def compared(
    of_families: Sequence[Candidate],
    chosen: int,
    outcomes: pd.DataFrame,
    *,
    score: str,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """All candidates on test units, against the chosen one.

    Returns:
        One row of each: family, method, pair; the score on test units with an interval that holds
        for all candidates at once (`low`, `high`), so also for one that was picked; its score's
        shortfall against the chosen one, with an interval for all pairs at once; and `not_worse`,
        whether it is not significantly worse than the best of them. 95 % each.
    """
    label, predicted = verdicts(outcomes, of_families, "test")
    value, effect = score_effects(label, predicted, score=score)
    comparison = compare(-value, covariance_of([effect]), rng)
    half = comparison.half_width[:, chosen]
    return pd.DataFrame(
        {
            "family": [candidate.family for candidate in of_families],
            "method": [str(candidate.row["method"]) for candidate in of_families],
            "pair": [int(candidate.row["pair"]) for candidate in of_families],
            "pooled": [candidate.pooled for candidate in of_families],
            "validation": [float(candidate.row[score]) for candidate in of_families],
            "test": value,
            "low": np.clip(value - comparison.simultaneous, 0.0, 1.0),
            "high": np.clip(value + comparison.simultaneous, 0.0, 1.0),
            "less": comparison.difference[:, chosen],
            "less_low": comparison.difference[:, chosen] - half,
            "less_high": comparison.difference[:, chosen] + half,
            "not_worse": comparison.not_worse,
        }
    )


def verdicts(
    outcomes: pd.DataFrame, of_families: Sequence[Candidate], split: str
) -> tuple[np.ndarray, np.ndarray]:
    """Labels of the units of a split, and the predictions of each candidate. (n,), (K, n)

    Raises:
        DataError: candidates were evaluated on different units.
    """
    of_split = outcomes[outcomes["part"] == split]
    keys = ["family", "policy", "member"]
    rows = dict(iter(of_split.groupby(keys, sort=False, observed=True)))
    parts = [rows[candidate.key].sort_values("row_id") for candidate in of_families]
    units = parts[0]["row_id"].to_numpy()
    for part, candidate in zip(parts, of_families, strict=True):
        if not np.array_equal(part["row_id"].to_numpy(), units):
            raise DataError(
                f"families were evaluated on different {split} units; see {candidate.family}"
            )
    label = parts[0]["label"].to_numpy(np.int64)
    return label, np.stack([part["verdict"].to_numpy(np.int64) for part in parts])


def chosen_solution(scores: pd.DataFrame, *, budget: float, score: str) -> pd.Series:
    """The row of the validation scores that a budget leads to, of one family.

    Raises:
        ConfigError: nothing fits the budget, or the score cannot be chosen by.
    """
    if score not in ("f1", "am"):
        raise ConfigError(f"policies are chosen by 'f1' or 'am', not by {score!r}")
    validation = scores[scores["split"] == "validation"].reset_index(drop=True)
    return validation.iloc[policy_for_budget(validation, budget, score=score)]


def solution_rows(frame: pd.DataFrame, method: str, pair: int, split: str) -> pd.DataFrame:
    """The rows of one solution on one part.

    Raises:
        DataError: there are none.
    """
    selected = (frame["member"] == pair) & (frame["part"] == split) & (frame["policy"] == method)
    if not selected.any():
        raise DataError(f"no row has method {method!r}, pair {pair} and split {split!r}")
    return frame[selected].reset_index(drop=True)
