"""Cost and error rates of a policy in each group, and the differences between groups.

Everything is a ratio of weighted sums over the rows of a group, by the weights of one estimator:

    θ_g = Σᵢ wᵢ 1{i ∈ g} aᵢ / Σᵢ wᵢ 1{i ∈ g} bᵢ,   ψ = w 1{g} (a − θ_g b) / mean(w 1{g} b)

with b = 1 for a mean, 1{y = 1} for the true positive rate. Errors follow from ψ, summed over rows
that belong together. Knows no policy and no estimator by name.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.special import ndtr, ndtri

from frugal.core.rows import ScratchFile
from frugal.core.table import Table
from frugal.data.tables import panel_matrix
from frugal.judge.comparisons import covariance_of, gaussian
from frugal.judge.estimator import Terms
from frugal.judge.intervals import cut_interval, effective_share_interval, skewed_interval
from frugal.judge.sums import Spread, WeightSums
from frugal.studies.afape.cost_intervals import ErrorCosts, cost_interval, cost_range, unseen_errors
from frugal.studies.afape.term_blocks import NuisanceFit, TermBlocks, stacked

LEVEL = 0.95  # of every interval; part of the meaning of the columns' names
COSTS = ("cost", "acquisition_cost", "misclassification_cost")
GROUP_GAPS = {
    "demographic_parity": ("positive_share",),
    "equal_opportunity": ("true_positive_rate",),
    "equalised_odds": ("true_positive_rate", "false_positive_rate"),
}  # each the largest difference between two groups in any of these
SHARES = ("error_rate", "positive_share", "true_positive_rate", "false_positive_rate")

Ratio = tuple[np.ndarray, np.ndarray]  # a and b of each row
COLUMNS = (
    "group",
    "other",
    "quantity",
    "estimate",
    "std_error",
    "ci_low",
    "ci_high",
    "truth",
    "n",
    "ess",
    "status",
    "reason",
)


def ratios(acted: pd.DataFrame, data: Table) -> dict[str, Ratio]:
    """Numerator a and denominator b of every quantity, for a policy's decisions in one world.

    Rates of positive decisions are those of two classes, of which the second is positive; where
    there are more they are left out.

    Args:
        acted: outcomes as `acquire.logs` stores them, in the order of the rows.
        data: the rows.
    """
    assert np.array_equal(acted["row_id"], data.row_id), "bug: row order"
    each = np.ones(len(data))
    label, decided = data.label, acted["verdict"].to_numpy(dtype=np.int64)
    ratio_of: dict[str, Ratio] = {
        name: (acted[name].to_numpy(dtype=np.float64), each) for name in COSTS
    }
    bought = panel_matrix(acted, "acquired", data)
    ratio_of["panels"] = bought.sum(axis=1).astype(np.float64), each
    ratio_of["error_rate"] = (decided != label).astype(np.float64), each
    if len(data.classes) == 2:
        yes = (decided == 1).astype(np.float64)
        ratio_of["positive_share"] = yes, each
        for name, true in (("true_positive_rate", 1), ("false_positive_rate", 0)):
            of_class = (label == true).astype(np.float64)
            ratio_of[name] = yes * of_class, of_class
    return ratio_of


class GroupTerms:
    """Every quantity in every group by the weights of one estimator, block by block.

    Args:
        kept: where they go.
        sizes: rows of each block.
        names: of the groups.
        cluster: of each row, numbered from 0 on; None: each row is its own cluster. (n,)
    """

    def __init__(
        self,
        scratch: ScratchFile,
        sizes: Sequence[int],
        names: Sequence[str],
        cluster: Int[np.ndarray, " n"] | None,
    ) -> None:
        self.names, self.quantities, self._scratch = names, list[str](), scratch
        self.rows: dict[tuple[str, int], int] = {}
        self._terms = TermBlocks(scratch, sizes, cluster)

    def add(
        self,
        acted: Mapping[str, Ratio],
        weight: Float[np.ndarray, " n"],
        group: Int[np.ndarray, " n"],
    ) -> None:
        """The next block.

        Args:
            acted: the policy's decisions on the records, from `ratios`.
            weight: of the estimator, zero where a row is not used. (n,)
            group: of each row. (n,)
        """
        self.quantities = list(acted)
        for name, ratio in acted.items():
            top, bottom = (weight * part for part in ratio)
            for k in range(len(self.names)):
                inside = group == k
                below = np.where(inside, bottom, 0.0)
                terms = Terms(np.where(inside, top, 0.0)[:, None], below, below)
                self._terms.put((name, k), terms)
                informative = int((inside & (ratio[1] > 0)).sum())
                self.rows[name, k] = self.rows.get((name, k), 0) + informative

    def estimated(self, fit: NuisanceFit | None) -> "dict[str, GroupEstimates]":
        """Every quantity, once all blocks are there; see `by_group`."""
        pairs = [(name, k) for name in self.quantities for k in range(len(self.names))]
        usable = [pair for pair in pairs if self.weight(*pair).usable]
        spreads = self._terms.influence_terms(
            usable, fit, lambda _: True, self._scratch, lambda pair: (self, pair)
        )
        return {name: self._of(name, spreads) for name in self.quantities}

    def weight(self, name: str, group: int) -> WeightSums:
        """Weights of one quantity in one group, those of rows that belong together as one."""
        return self._terms.units((name, group)).tally((name, group)).weight

    def _of(self, name: str, spreads: Mapping[Hashable, Spread]) -> "GroupEstimates":
        groups = range(len(self.names))
        value, error = np.full(len(groups), np.nan), np.full(len(groups), np.nan)
        for k in (k for k in groups if (name, k) in spreads):
            value[k] = self._terms.tally((name, k)).estimate[0]
            error[k] = spreads[name, k].error(self.weight(name, k).usable)[0]
        return GroupEstimates(
            value,
            error,
            [spreads.get((name, k)) for k in groups],
            [self.weight(name, k) for k in groups],
            np.array([self.rows[name, k] for k in groups]),
            [self._terms.units((name, k)).error_costs((name, k)) for k in groups],
            lambda chosen: stacked(self._scratch, [(self, (name, k)) for k in chosen]),
            name in SHARES,
        )


@dataclass(frozen=True, eq=False)
class GroupEstimates:
    """One quantity in k groups.

    Attributes:
        value: NaN where no row of the group is usable. (k,)
        error: standard error, infinite where a single row or cluster is usable. (k,)
        spreads: sums of influence terms; None where there is no value.
        weights: of each group, those of rows that belong together as one.
        n: rows that the quantity is of. (k,)
        costs: statistics of decision costs over rows, of each group.
        psi: influence terms of some groups, block by block.
        share: whether it is a share of rows.
    """

    value: Float[np.ndarray, " k"]
    error: Float[np.ndarray, " k"]
    spreads: Sequence[Spread | None]
    weights: Sequence[WeightSums]
    n: Int[np.ndarray, " k"]
    costs: Sequence[ErrorCosts]
    psi: Callable[[Sequence[int]], Iterator[Float[np.ndarray, "m c"]]]
    share: bool

    @property
    def known(self) -> Int[np.ndarray, " m"]:
        """Groups with a value that have an error."""
        return np.flatnonzero(np.isfinite(self.value) & np.isfinite(self.error))

    @property
    def ess(self) -> Float[np.ndarray, " k"]:
        """Kish's effective sample size. (k,)"""
        return np.array([sums.effective for sums in self.weights])


def by_group(
    terms: GroupTerms,
    data: Table,
    *,
    truth: Mapping[str, Float[np.ndarray, " k"]],
    fit: NuisanceFit | None,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """A row for each group and quantity, each difference of two, and each of `GROUP_GAPS`.

    Args:
        terms: of every quantity in every group.
        data: its costs and panels count.
        truth: every quantity on the full table; empty where it is unknown.
        fit: of the probabilities behind the weights; None if they are known.
        rng: draws the joint law of several differences.
    """
    estimated, names = terms.estimated(fit), terms.names
    rows: list[dict[str, Any]] = []
    for name, estimate in estimated.items():
        right = truth.get(name, np.full(len(names), np.nan))
        rows += _of_groups(name, estimated, names, right, data)
        rows += _of_pairs(name, estimate, names, right, rng)
    for measure, parts in GROUP_GAPS.items():
        if all(part in estimated for part in parts):
            rows.append(
                _largest(
                    measure,
                    [estimated[p] for p in parts],
                    [truth.get(p) for p in parts],
                    names,
                    rng,
                )
            )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def no_groups() -> pd.DataFrame:
    """The table of a data set that defines no groups."""
    kinds = {"n": 0} | dict.fromkeys(COLUMNS[3:8], 0.0) | {"ess": 0.0}
    return pd.DataFrame([{name: kinds.get(name, "") for name in COLUMNS}]).iloc[:0]


def plain_sums(ratio: Ratio, group: Int[np.ndarray, " n"], groups: int) -> Float[np.ndarray, "2 k"]:
    """Numerator and denominator of one quantity in every group, each row counting the same."""
    return np.stack([np.bincount(group, weights=part, minlength=groups) for part in ratio])


def plain_ratios(
    sums: Mapping[str, Float[np.ndarray, "2 k"]],
) -> dict[str, Float[np.ndarray, " k"]]:
    """Every quantity in every group; NaN without a row. (k,) each"""
    return {
        name: np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0)
        for name, (top, bottom) in sums.items()
    }


def _of_groups(
    name: str,
    estimated: Mapping[str, GroupEstimates],
    names: Sequence[str],
    truth: np.ndarray,
    data: Table,
) -> Iterator[dict[str, Any]]:
    estimate = estimated[name]
    for k, group in enumerate(names):
        row = _row(
            name, float(truth[k]), group=group, n=int(estimate.n[k]), ess=float(estimate.ess[k])
        )
        if np.isnan(estimate.value[k]):
            yield row | _unstated([group])
            continue
        value, error = float(estimate.value[k]), float(estimate.error[k])
        if name in SHARES:
            low, high = effective_share_interval(value, error, float(estimate.ess[k]), level=LEVEL)
        else:
            spread, weight = estimate.spreads[k], estimate.weights[k]
            assert spread is not None, "bug: a value without influence terms"
            ends = skewed_interval(np.array([value]), spread, weight, level=LEVEL)
            low, high = float(ends[0][0]), float(ends[1][0])
            errors = estimated["misclassification_cost"]
            costs_and_weights = errors.costs[k], errors.weights[k]
            low, high = _where_it_can_be(name, (value, low, high), costs_and_weights, data)
        yield row | _stated(value, error, low, high)


def _where_it_can_be(
    name: str,
    value_and_ends: tuple[float, float, float],
    errors: tuple[ErrorCosts, WeightSums],
    data: Table,
) -> tuple[float, float]:
    """The interval of a mean, with room for errors that were not seen where it is of costs."""
    within = cost_range(data)
    alone = replace(within, least=within.least_error, most=within.most_error)
    if name in ("cost", "misclassification_cost"):
        unseen = unseen_errors(*errors, within)
        return cost_interval(*value_and_ends, unseen, within if name == "cost" else alone)
    most = len(data.actions) if name == "panels" else within.most - within.most_error
    return cut_interval(*value_and_ends, least=0.0, most=float(most))


def _of_pairs(
    name: str,
    estimate: GroupEstimates,
    names: Sequence[str],
    truth: np.ndarray,
    rng: np.random.Generator,
) -> Iterator[dict[str, Any]]:
    """Signed differences between two groups; the intervals of all of a quantity hold at once."""
    defined = set(estimate.known.tolist())
    differences = {
        (difference.first, difference.second): difference for difference in _gaps([estimate], rng)
    }
    for a, b in combinations(range(len(names)), 2):
        row = _row(
            name,
            float(truth[a] - truth[b]),
            group=names[a],
            other=names[b],
            n=int(estimate.n[[a, b]].sum()),
            ess=float(estimate.ess[[a, b]].min()),
        )
        if (a, b) in differences:
            difference = differences[a, b]
            yield row | _stated(difference.value, difference.error, difference.low, difference.high)
        else:
            yield row | _unstated([names[k] for k in (a, b) if k not in defined])


def _largest(
    name: str,
    parts: Sequence[GroupEstimates],
    truths: Sequence[np.ndarray | None],
    names: Sequence[str],
    rng: np.random.Generator,
) -> dict[str, Any]:
    """The largest difference between two defined groups in any of some quantities.

    Intervals of all signed differences hold at once; those folded at zero bound the largest.
    """
    true = [np.ptp(part[np.isfinite(part)]) for part in truths if part is not None]
    row = _row(
        name,
        float(max(true, default=np.nan)),
        n=int(max(part.n.sum() for part in parts)),
        ess=float(min(part.ess.min() for part in parts)),
    )
    untold = [group for k, group in enumerate(names) if any(k not in part.known for part in parts)]
    differences = _gaps(parts, rng)
    if not differences:
        return row | _unstated(untold)
    low = max(max(difference.low, -difference.high, 0.0) for difference in differences)
    high = max(max(difference.high, -difference.low) for difference in differences)
    widest = max(differences, key=lambda difference: abs(difference.value))
    without = f"without {', '.join(map(repr, untold))}, where too few rows tell" if untold else ""
    return row | _stated(abs(widest.value), widest.error, low, high) | {"reason": without}


@dataclass(frozen=True)
class _Gap:
    """A signed difference between two groups with its interval."""

    first: int
    second: int
    value: float
    error: float
    low: float
    high: float


def _gaps(parts: Sequence[GroupEstimates], rng: np.random.Generator) -> list[_Gap]:
    """Differences between all pairs of groups, in each quantity, with simultaneous intervals."""
    pairs = [
        (estimate, a, b) for estimate in parts for a, b in combinations(estimate.known.tolist(), 2)
    ]
    if not pairs:
        return []
    covariance = covariance_of(_differences(parts))
    error = np.sqrt(np.diag(covariance))
    level = 2 * float(ndtr(_quantile(covariance, rng))) - 1
    return [
        _gap(estimate, a, b, float(error[k]), level) for k, (estimate, a, b) in enumerate(pairs)
    ]


def _differences(parts: Sequence[GroupEstimates]) -> Iterator[Float[np.ndarray, "p c"]]:
    """Influence terms of the differences between all pairs of groups, block by block. (p, c)"""
    defined = [estimate for estimate in parts if len(estimate.known) > 1]
    for blocks in zip(
        *(estimate.psi(estimate.known.tolist()) for estimate in defined), strict=True
    ):
        yield np.stack(
            [psi[a] - psi[b] for psi in blocks for a, b in combinations(range(len(psi)), 2)]
        )


def _quantile(covariance: Float[np.ndarray, "p p"], rng: np.random.Generator) -> float:
    """The `LEVEL` quantile of the largest of p scores."""
    error = np.sqrt(np.diag(covariance))
    varies = error > 0
    if varies.sum() < 2:
        return float(ndtri((1 + LEVEL) / 2))
    drawn = gaussian(covariance[np.ix_(varies, varies)], rng)
    return float(np.quantile(np.abs(drawn / error[varies]).max(axis=1), LEVEL))


def _gap(estimate: GroupEstimates, a: int, b: int, error: float, level: float) -> _Gap:
    """θ_a − θ_b. Of shares the interval follows from theirs (Zou & Donner, Stat. Med. 27, 2008)."""
    value = float(estimate.value[a] - estimate.value[b])
    ends = (
        [
            effective_share_interval(
                float(estimate.value[k]),
                float(estimate.error[k]),
                float(estimate.ess[k]),
                level=level,
            )
            for k in (a, b)
        ]
        if estimate.share
        else None
    )
    if ends is None:
        half = float(ndtri((1 + level) / 2)) * error
        return _Gap(a, b, value, error, value - half, value + half)
    product = float(estimate.error[a] * estimate.error[b])
    shared = (estimate.error[a] ** 2 + estimate.error[b] ** 2 - error**2) / 2  # covariance
    correlation = float(np.clip(shared / product, -1, 1)) if product > 0 else 0.0
    below, above = estimate.value[a] - ends[0][0], ends[1][1] - estimate.value[b]
    low = value - np.sqrt(below**2 + above**2 - 2 * correlation * below * above)
    above, below = ends[0][1] - estimate.value[a], estimate.value[b] - ends[1][0]
    high = value + np.sqrt(above**2 + below**2 - 2 * correlation * above * below)
    return _Gap(a, b, value, error, max(float(low), -1.0), min(float(high), 1.0))


def _row(
    quantity: str, truth: float, *, n: int, ess: float, group: str = "", other: str = ""
) -> dict[str, Any]:
    return {
        "group": group,
        "other": other,
        "quantity": quantity,
        "estimate": np.nan,
        "std_error": np.nan,
        "ci_low": np.nan,
        "ci_high": np.nan,
        "truth": truth,
        "n": n,
        "ess": ess,
        "status": "ok",
        "reason": "",
    }


def _stated(value: float, error: float, low: float, high: float) -> dict[str, Any]:
    return {"estimate": value, "std_error": error, "ci_low": low, "ci_high": high}


def _unstated(groups: Sequence[str]) -> dict[str, Any]:
    reason = (
        f"fewer rows that tell it carry weight than are needed, in {', '.join(map(repr, groups))}"
    )
    return {"status": "no_support", "reason": reason}
