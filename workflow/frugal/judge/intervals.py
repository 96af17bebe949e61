"""Estimate, standard error, interval and effective sample size of a ratio [afape, sec. 3.4].

All follow from the per-row `Terms`; this module must not know which estimator made them. Below
them the intervals of shares, which every study uses: none leaves [0, 1], and none is a point
because all units of a small sample went the same way.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.special import betaincinv, ndtri, stdtrit

from frugal.judge.estimator import Terms
from frugal.judge.sums import Spread, Tally, WeightSums, error_of

ROUNDING = 1e-12  # by which a weighted share may miss 0 or 1
FEW = 10  # units of one kind up to which the interval of a share is Clopper–Pearson's


def cluster_sums(
    values: Float[np.ndarray, "n *o"], cluster: Int[np.ndarray, " n"], clusters: int
) -> Float[np.ndarray, "g *o"]:
    """Sums over the rows of each cluster. (g, …)

    Args:
        values: of the rows. (n, …)
        cluster: of each row, numbered from 0 on. (n,)
        clusters: g, how many there are.
    """
    columns = values.reshape(len(values), -1).T
    sums = [np.bincount(cluster, weights=column, minlength=clusters) for column in columns]
    return np.stack(sums, axis=1, dtype=np.float64).reshape(clusters, *values.shape[1:])


def mean_error(
    centred: Float[np.ndarray, "n *o"], cluster: Int[np.ndarray, " n"] | None = None
) -> Float[np.ndarray, " *o"]:
    """Standard error of means, by the deviations of rows from them. (…,)

    Args:
        centred: deviation of each row. (n, …)
        cluster: rows of one number, from 0 on, count as one; None: each for itself. (n,)
    """
    sums = centred if cluster is None else cluster_sums(centred, cluster, int(cluster.max()) + 1)
    g = len(sums)
    return np.sqrt(g / (g - 1) * np.square(sums).sum(axis=0)) / len(centred)


def estimate(terms: Terms) -> Float[np.ndarray, " o"]:
    """Value of the estimator.

        Ĵ = Σᵢ numeratorᵢ / Σᵢ denominatorᵢ

    Returns:
        In the unit of each outcome. (o,)

    Raises:
        NoSupportError: no row carries weight, or the denominators sum to zero.
    """
    return Tally.of(terms).estimate


def influence(terms: Terms) -> Float[np.ndarray, "n o"]:
    """First-order effect of each row on the estimate, times n; its mean is zero.

        ψᵢ = (numeratorᵢ − Ĵ · denominatorᵢ) / mean(denominator)

    Raises:
        NoSupportError: no row carries weight, or the denominators sum to zero.
    """
    return Tally.of(terms).influence(terms)


def spread_of(psi: Float[np.ndarray, "n o"], weight: Float[np.ndarray, " n"]) -> np.ndarray:
    """Standard error from influence terms; infinite where fewer than two rows carry weight. (o,)

    se² = Σᵢ ψᵢ² / (n (n − 1))
    """
    return error_of(len(psi), (psi**2).sum(axis=0), usable_rows(weight))


def standard_error(terms: Terms) -> Float[np.ndarray, " o"]:
    """Large-sample standard deviation of the estimate, the nuisances taken as known.

        se² = Σᵢ ψᵢ² / (n (n − 1))

    For a plain mean this is the usual s/√n; for a ratio it is the delta method. Infinite where
    fewer than two rows carry weight: one row has no spread. (o,)

    Raises:
        NoSupportError: no row carries weight, or the denominators sum to zero.
    """
    return spread_of(influence(terms), terms.weight)


def normal_interval(
    centre: Float[np.ndarray, " o"], std_error: Float[np.ndarray, " o"], *, level: float
) -> tuple[Float[np.ndarray, " o"], Float[np.ndarray, " o"]]:
    """Two-sided normal interval with the given coverage, for example 0.95: lower, upper. (o,)"""
    half = float(ndtri((1 + level) / 2)) * std_error
    return centre - half, centre + half


def skewed_interval(
    centre: Float[np.ndarray, " o"], spread: Spread, weight: WeightSums, *, level: float
) -> tuple[Float[np.ndarray, " o"], Float[np.ndarray, " o"]]:
    """Two-sided interval of an estimate with this effective sample size and skewness. (o,)

        Ĵ − se g⁻¹(± t),   g(x) = x + A x²/3 + A² x³/27 + A/6,   A = Σ ψ³ / (Σ ψ²)^1.5

    Rare errors make the mean of a few rows skewed, so a symmetric interval ends too low; g
    takes that off (Hall, J. R. Stat. Soc. B 54, 1992, eq. 2.4). t is Student's with Kish's
    effective sample size less one. It always holds the estimate; infinite where fewer than two
    rows carry weight.
    """
    error = spread.error(weight.usable)
    if weight.usable < 2:
        return centre - error, centre + error
    t = float(stdtrit(max(weight.effective - 1, 1.0), (1 + level) / 2))
    low, high = (error * _unskewed(end, spread.skew) for end in (t, -t))
    return centre - np.maximum(low, 0.0), centre - np.minimum(high, 0.0)


def _unskewed(x: float, skew: Float[np.ndarray, " o"]) -> Float[np.ndarray, " o"]:
    """g⁻¹(x), see `skewed_interval`; g is x itself where nothing is skewed."""
    some = np.abs(skew) > 1e-9
    safe = np.where(some, skew, 1.0)
    return np.where(some, 3 / safe * (np.cbrt(1 + safe * (x - safe / 6)) - 1), x)


def cut_interval(
    centre: float, low: float, high: float, *, least: float, most: float
) -> tuple[float, float]:
    """The part of an interval that the quantity can reach; it loses no coverage. Lower, upper.

    An interval whose centre c lies outside [least, most] is first moved to the nearest value P(c)
    that can be: as |P(c) − θ| ≤ |c − θ| for every θ that can be, it still covers the same θ, and
    the rest is not empty. NaN stays NaN.
    """
    shift = min(max(centre, least), most) - centre
    return float(np.clip(low + shift, least, most)), float(np.clip(high + shift, least, most))


def share_interval(hits: int, n: int, *, level: float) -> tuple[float, float]:
    """Interval of a share of which `hits` of n independent units were seen: lower, upper.

    Wilson's score interval (J. Am. Stat. Assoc. 22, 1927) where more than `FEW` units hit and more
    than `FEW` miss; else the exact one of Clopper & Pearson (Biometrika 26, 1934), as Wilson's
    covers too little near 0 and 1 (Brown, Cai & DasGupta, Stat. Sci. 16, 2001, sec. 4.1.1). At
    level 0.95 the two together cover at least 93 % of the time, for any n and share. NaN
    without a unit.
    """
    if n == 0:
        return np.nan, np.nan
    if min(hits, n - hits) > FEW:
        return _wilson(hits / n, float(n), level)
    return _clopper_pearson(float(hits), float(n), (1 - level) / 2)


def effective_share_interval(
    share: float, std_error: float, ess: float, *, level: float
) -> tuple[float, float]:
    """Interval of a weighted share: lower, upper; `share_interval` at its effective sample size.

        n = p (1 − p) / se²   [Korn & Graubard, Surv. Methodol. 24, 1998]

    so that it never leaves [0, 1], and no share of 0 or 1 is certain: there n is `ess`. [0, 1]
    where the error is infinite.

    Args:
        share: p, a ratio of weighted sums.
        std_error: of p.
        ess: effective sample size of the rows in the denominator.
        level: of the interval, for example 0.95.
    """
    if not np.isfinite(std_error):
        return 0.0, 1.0
    if min(share, 1 - share) < ROUNDING or std_error < ROUNDING:
        return _clopper_pearson(share * ess, ess, (1 - level) / 2)
    n = share * (1 - share) / std_error**2
    if min(share, 1 - share) * n > FEW:
        return _wilson(share, n, level)
    return _clopper_pearson(share * n, n, (1 - level) / 2)


def _wilson(share: float, n: float, level: float) -> tuple[float, float]:
    """(p + z²/2n ± z √(p (1 − p)/n + z²/4n²)) / (1 + z²/n)"""
    z = float(ndtri((1 + level) / 2))
    centre, scale = share + z**2 / (2 * n), 1 + z**2 / n
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return float(centre - half) / scale, float(centre + half) / scale


def _clopper_pearson(hits: float, n: float, tail: float) -> tuple[float, float]:
    """Shares at which as many hits or more, and as few or fewer, have the probability `tail`."""
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, tail))
    high = 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 1 - tail))
    return low, high


def combined_interval(
    parts: Sequence[tuple[float, float, float]], weights: Sequence[float]
) -> tuple[float, float]:
    """Interval of Σⱼ cⱼ pⱼ from the intervals of independent pⱼ: lower, upper.

        lower = Σ cⱼ pⱼ − √(Σ (cⱼ pⱼ − lⱼ)²),   upper = Σ cⱼ pⱼ + √(Σ (uⱼ − cⱼ pⱼ)²)

    with lⱼ and uⱼ the ends of cⱼ pⱼ; Zou & Donner (Stat. Med. 27, 2008). For the difference of two
    shares it is method 10 of Newcombe (Stat. Med. 17, 1998). It stays where Σ cⱼ pⱼ can be.

    Args:
        parts: value, lower and upper end of each pⱼ.
        weights: cⱼ.
    """
    value, below, above = 0.0, 0.0, 0.0
    for (middle, *ends), weight in zip(parts, weights, strict=True):
        low, high = sorted(weight * end for end in ends)
        value += weight * middle
        below += (weight * middle - low) ** 2
        above += (high - weight * middle) ** 2
    return float(value - np.sqrt(below)), float(value + np.sqrt(above))


def perfect_area_interval(positives: int, negatives: int, *, level: float) -> float:
    """Lower end of the interval of an AUC that is 1, where the usual variance is 0.

    Among m positive and n negative rows are k = min(m, n) pairs without a row in common, each in
    order with the probability AUC, and all k are: Clopper & Pearson's end for k of k. By symmetry
    an AUC of 0 has the upper end 1 less that.
    """
    pairs = min(positives, negatives)
    return share_interval(pairs, pairs, level=level)[0]


def effective_sample_size(weight: Float[np.ndarray, " n"]) -> float:
    """Kish's number of equally weighted rows with the same variance; 0 if no row has weight.

    n_eff = (Σᵢ wᵢ)² / Σᵢ wᵢ²,   between 1 and the number of rows with weight
    """
    return WeightSums.of(weight).effective


def largest_weight_share(weight: Float[np.ndarray, " n"]) -> float:
    """Share of all weight that one row carries, max w / Σ w; 0 if no row has weight."""
    return WeightSums.of(weight).largest_share


def usable_rows(weight: Float[np.ndarray, " n"]) -> int:
    """Number of rows with weight above zero."""
    return int((weight > 0).sum())
