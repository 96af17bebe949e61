"""What a policy costs each group, how often it errs there, and the gaps between groups.

Everything is a ratio of weighted sums over the rows of a group, by the weights of one estimator:

    θ_g = Σᵢ wᵢ 1{i ∈ g} aᵢ / Σᵢ wᵢ 1{i ∈ g} bᵢ,   ψ = w 1{g} (a − θ_g b) / mean(w 1{g} b)

with b = 1 for a mean, 1{y = 1} for the true positive rate. Errors follow from ψ, summed over rows
that belong together. Knows no policy and no estimator by name.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.special import ndtr, ndtri

from frugal.core.belonging import Belonging
from frugal.core.table import Table
from frugal.core.terms import Terms
from frugal.data.panel_columns import panel_matrix
from frugal.judge.cost_intervals import cost_interval, cost_range, unseen_errors
from frugal.judge.intervals import (
    cut_interval,
    effective_sample_size,
    effective_share_interval,
    estimate,
    skewed_interval,
    spread_of,
    together,
    usable_rows,
)
from frugal.judge.nuisance_fit import NuisanceFit
from frugal.judge.summary import counted_influence

LEVEL = 0.95  # of every interval; part of the meaning of the columns' names
DRAWS = 10_000  # of the Gaussian law of all gaps, where there are several
COSTS = ("cost", "acquisition_cost", "misclassification_cost")
SHARES = ("error_rate", "positive_share", "true_positive_rate", "false_positive_rate")
GAPS = {
    "demographic_parity": ("positive_share",),
    "equal_opportunity": ("true_positive_rate",),
    "equalised_odds": ("true_positive_rate", "false_positive_rate"),
}  # each the largest gap between two groups in any of these
COLUMNS = (
    "group", "other", "quantity", "estimate", "std_error", "ci_low", "ci_high", "truth", "n",
    "ess", "status", "reason",
)  # fmt: skip

Ratio = tuple[np.ndarray, np.ndarray]  # a and b of each row


def ratios(acted: pd.DataFrame, data: Table) -> dict[str, Ratio]:
    """Numerator a and denominator b of every quantity, for what a policy did in one world.

    Rates of positive decisions are those of two classes, of which the second is positive; where
    there are more they are left out.

    Args:
        acted: outcomes as `acquire.logs` stores them, in the order of the rows.
        data: the rows.
    """
    assert np.array_equal(acted["row_id"], data.row_id), "bug: row order"
    each = np.ones(len(data))
    label, said = data.label, acted["verdict"].to_numpy(dtype=np.int64)
    found: dict[str, Ratio] = {
        name: (acted[name].to_numpy(dtype=np.float64), each) for name in COSTS
    }
    bought = panel_matrix(acted, "acquired", data)
    found["panels"] = bought.sum(axis=1).astype(np.float64), each
    found["error_rate"] = (said != label).astype(np.float64), each
    if len(data.classes) == 2:
        yes = (said == 1).astype(np.float64)
        found["positive_share"] = yes, each
        for name, true in (("true_positive_rate", 1), ("false_positive_rate", 0)):
            of_class = (label == true).astype(np.float64)
            found[name] = yes * of_class, of_class
    return found


@dataclass(frozen=True, eq=False)
class _Estimated:
    """One quantity in k groups. Shapes: k groups, c rows or clusters.

    Attributes:
        value: NaN where no row of the group tells. (k,)
        error: standard error, infinite where one row or cluster alone tells. (k,)
        psi: influence terms, zero where there is no value. (k, c)
        ess: Kish's effective sample size. (k,)
        n: rows that the quantity is of. (k,)
        terms: of each group, summed over rows that belong together.
        share: whether it is a share of rows.
    """

    value: Float[np.ndarray, " k"]
    error: Float[np.ndarray, " k"]
    psi: Float[np.ndarray, "k c"]
    ess: Float[np.ndarray, " k"]
    n: Int[np.ndarray, " k"]
    terms: Sequence[Terms]
    share: bool

    @property
    def known(self) -> Int[np.ndarray, " m"]:
        """Groups with a value that have an error."""
        return np.flatnonzero(np.isfinite(self.value) & np.isfinite(self.error))


def by_group(
    acted: Mapping[str, Ratio],
    weight: Float[np.ndarray, " n"],
    belonging: Belonging,
    data: Table,
    *,
    truth: Mapping[str, Ratio] | None,
    fit: NuisanceFit | None,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """One row for each group and quantity, for each gap between two groups, and for each of `GAPS`.

    Args:
        acted: what the policy did on the records, from `ratios`.
        weight: of the estimator, zero where a row is not used. (n,)
        belonging: groups of the rows, which there must be.
        data: the rows.
        truth: the same on the full table; None where it is unknown.
        fit: of the probabilities behind the weights, whose errors count; None if they are known.
        rng: draws the law of several gaps at once.
    """
    assert belonging.group is not None, "bug: no groups"
    names = belonging.names
    found = {
        name: _estimated(one, weight, belonging, fit, share=name in SHARES)
        for name, one in acted.items()
    }
    true = {name: _plain(one, belonging) for name, one in (truth or {}).items()}
    rows: list[dict[str, Any]] = []
    for name, one in found.items():
        right = true.get(name, np.full(len(names), np.nan))
        rows += _of_groups(name, found, names, right, data)
        rows += _of_pairs(name, one, names, right, rng)
    for gap, parts in GAPS.items():
        if all(part in found for part in parts):
            rows.append(_largest(gap, [found[p] for p in parts], [true.get(p) for p in parts],
                                 names, rng))  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS))


def no_groups() -> pd.DataFrame:
    """The table of a data set that tells no groups apart."""
    kinds = {"n": 0} | dict.fromkeys(COLUMNS[3:8], 0.0) | {"ess": 0.0}
    return pd.DataFrame([{name: kinds.get(name, "") for name in COLUMNS}]).iloc[:0]


def _estimated(
    ratio: Ratio,
    weight: np.ndarray,
    belonging: Belonging,
    fit: NuisanceFit | None,
    *,
    share: bool,
) -> _Estimated:
    """One quantity in every group."""
    top, bottom = (weight * part for part in ratio)
    value, error, psi, ess, n, terms = [], [], [], [], [], []
    for group in range(len(belonging.names)):
        inside = belonging.group == group
        below = np.where(inside, bottom, 0.0)
        by_row = Terms(np.where(inside, top, 0.0)[:, None], below, below)
        one = together(by_row, belonging.cluster)
        terms.append(one)
        n.append(int((inside & (ratio[1] > 0)).sum()))
        ess.append(effective_sample_size(one.weight))
        if usable_rows(one.weight):
            value.append(float(estimate(one)[0]))
            counted = counted_influence(by_row, fit, belonging.cluster)
            error.append(float(spread_of(counted, one.weight)[0]))
            psi.append(counted[:, 0])
        else:
            value.append(np.nan)
            error.append(np.nan)
            psi.append(np.zeros(len(one.weight)))
    return _Estimated(
        np.array(value), np.array(error), np.stack(psi), np.array(ess), np.array(n), terms, share
    )


def _plain(ratio: Ratio, belonging: Belonging) -> Float[np.ndarray, " k"]:
    """One quantity in every group, each row counting the same; NaN without a row. (k,)"""
    assert belonging.group is not None, "bug: no groups"
    k = len(belonging.names)
    top, bottom = (np.bincount(belonging.group, weights=part, minlength=k) for part in ratio)
    return np.divide(top, bottom, out=np.full(k, np.nan), where=bottom > 0)


def _of_groups(
    name: str, found: Mapping[str, _Estimated], names: Sequence[str], truth: np.ndarray, data: Table
) -> Iterator[dict[str, Any]]:
    one = found[name]
    for k, group in enumerate(names):
        row = _row(name, float(truth[k]), group=group, n=int(one.n[k]), ess=float(one.ess[k]))
        if np.isnan(one.value[k]):
            yield row | _untold([group])
            continue
        value, error = float(one.value[k]), float(one.error[k])
        if name in SHARES:
            low, high = effective_share_interval(value, error, float(one.ess[k]), level=LEVEL)
        else:
            ends = skewed_interval(
                np.array([value]), one.psi[k][:, None], one.terms[k].weight, level=LEVEL
            )
            low, high = float(ends[0][0]), float(ends[1][0])
            errors = found["misclassification_cost"].terms[k]
            low, high = _where_it_can_be(name, (value, low, high), errors, data)
        yield row | _told(value, error, low, high)


def _where_it_can_be(
    name: str, given: tuple[float, float, float], errors: Terms, data: Table
) -> tuple[float, float]:
    """The interval of a mean, with room for errors that were not seen where it is of costs."""
    within = cost_range(data)
    alone = replace(within, least=within.least_error, most=within.most_error)
    if name in ("cost", "misclassification_cost"):
        unseen = unseen_errors(errors, 0, within)
        return cost_interval(*given, unseen, within if name == "cost" else alone)
    most = len(data.actions) if name == "panels" else within.most - within.most_error
    return cut_interval(*given, least=0.0, most=float(most))


def _of_pairs(
    name: str,
    one: _Estimated,
    names: Sequence[str],
    truth: np.ndarray,
    rng: np.random.Generator,
) -> Iterator[dict[str, Any]]:
    """Signed gaps between two groups; the intervals of all of a quantity hold at once."""
    known = set(one.known.tolist())
    gaps = {(gap.first, gap.second): gap for gap in _gaps([one], rng)}
    for a, b in combinations(range(len(names)), 2):
        row = _row(name, float(truth[a] - truth[b]), group=names[a], other=names[b],
                   n=int(one.n[[a, b]].sum()), ess=float(one.ess[[a, b]].min()))  # fmt: skip
        if (a, b) in gaps:
            gap = gaps[a, b]
            yield row | _told(gap.value, gap.error, gap.low, gap.high)
        else:
            yield row | _untold([names[k] for k in (a, b) if k not in known])


def _largest(
    name: str,
    parts: Sequence[_Estimated],
    truths: Sequence[np.ndarray | None],
    names: Sequence[str],
    rng: np.random.Generator,
) -> dict[str, Any]:
    """The largest gap between two groups, of those that are told, in any of some quantities.

    All signed gaps hold their intervals at once; those folded at zero bound the largest.
    """
    true = [np.ptp(one[np.isfinite(one)]) for one in truths if one is not None]
    row = _row(name, float(max(true, default=np.nan)), n=int(max(one.n.sum() for one in parts)),
               ess=float(min(one.ess.min() for one in parts)))  # fmt: skip
    untold = [group for k, group in enumerate(names) if any(k not in one.known for one in parts)]
    gaps = _gaps(parts, rng)
    if not gaps:
        return row | _untold(untold)
    low = max(max(gap.low, -gap.high, 0.0) for gap in gaps)
    high = max(max(gap.high, -gap.low) for gap in gaps)
    widest = max(gaps, key=lambda gap: abs(gap.value))
    without = f"without {', '.join(map(repr, untold))}, where too few rows tell" if untold else ""
    return row | _told(abs(widest.value), widest.error, low, high) | {"reason": without}


@dataclass(frozen=True)
class _Gap:
    """A signed gap between two groups with its interval."""

    first: int
    second: int
    value: float
    error: float
    low: float
    high: float


def _gaps(parts: Sequence[_Estimated], rng: np.random.Generator) -> list[_Gap]:
    """Every gap between two groups that are told, in each quantity; all intervals hold at once."""
    pairs = [(one, a, b) for one in parts for a, b in combinations(one.known.tolist(), 2)]
    if not pairs:
        return []
    psi = np.stack([one.psi[a] - one.psi[b] for one, a, b in pairs])
    n = psi.shape[1]
    covariance = psi @ psi.T / (n * (n - 1))
    error = np.sqrt(np.diag(covariance))
    level = 2 * float(ndtr(_quantile(covariance, rng))) - 1
    return [_gap(one, a, b, float(error[k]), level) for k, (one, a, b) in enumerate(pairs)]


def _quantile(covariance: Float[np.ndarray, "p p"], rng: np.random.Generator) -> float:
    """What the largest of p scores stays below with the probability `LEVEL`."""
    error = np.sqrt(np.diag(covariance))
    told = error > 0
    if told.sum() < 2:
        return float(ndtri((1 + LEVEL) / 2))
    values, vectors = np.linalg.eigh(covariance[np.ix_(told, told)])
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = rng.standard_normal((DRAWS, len(root))) @ root.T
    return float(np.quantile(np.abs(drawn / error[told]).max(axis=1), LEVEL))


def _gap(one: _Estimated, a: int, b: int, error: float, level: float) -> _Gap:
    """θ_a − θ_b. Of shares the interval follows from theirs (Zou & Donner, Stat. Med. 27, 2008)."""
    value = float(one.value[a] - one.value[b])
    ends = [
        effective_share_interval(float(one.value[k]), float(one.error[k]), float(one.ess[k]),
                                 level=level)
        for k in (a, b)
    ] if one.share else None  # fmt: skip
    if ends is None:
        half = float(ndtri((1 + level) / 2)) * error
        return _Gap(a, b, value, error, value - half, value + half)
    both = float(one.error[a] * one.error[b])
    shared = (one.error[a] ** 2 + one.error[b] ** 2 - error**2) / 2  # covariance
    correlation = float(np.clip(shared / both, -1, 1)) if both > 0 else 0.0
    below, above = one.value[a] - ends[0][0], ends[1][1] - one.value[b]
    low = value - np.sqrt(below**2 + above**2 - 2 * correlation * below * above)
    above, below = ends[0][1] - one.value[a], one.value[b] - ends[1][0]
    high = value + np.sqrt(above**2 + below**2 - 2 * correlation * above * below)
    return _Gap(a, b, value, error, max(float(low), -1.0), min(float(high), 1.0))


def _row(
    quantity: str, truth: float, *, n: int, ess: float, group: str = "", other: str = ""
) -> dict[str, Any]:
    return {
        "group": group, "other": other, "quantity": quantity, "estimate": np.nan,
        "std_error": np.nan, "ci_low": np.nan, "ci_high": np.nan, "truth": truth, "n": n,
        "ess": ess, "status": "ok", "reason": "",
    }  # fmt: skip


def _told(value: float, error: float, low: float, high: float) -> dict[str, Any]:
    return {"estimate": value, "std_error": error, "ci_low": low, "ci_high": high}


def _untold(groups: Sequence[str]) -> dict[str, Any]:
    said = (
        f"fewer rows that tell it carry weight than are needed, in {', '.join(map(repr, groups))}"
    )
    return {"status": "no_support", "reason": said}
