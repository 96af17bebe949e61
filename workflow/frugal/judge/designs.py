"""Which panels to record in further cases, so a policy is known to be the best one.

A design makes one draw for each case, with a probability p that depends on the stratum of columns
that every case has: all panels that a policy under comparison may request there are recorded, or
none. With S the panels that two policies a and b request, V₀ the expected cost before the first
panel and e = cost − V₀, the estimated difference from N rows has the variance

    1/N · (Var(V₀ᵃ − V₀ᵇ) + E[e_a²/π(S_a) + e_b²/π(S_b) − 2 e_a e_b π(S_a ∪ S_b)/(π(S_a) π(S_b))])

π is the mean of the fitted probability and p, by the shares of present and further rows
(`record_law.KnownLaw`). Expectations are weighted means over present rows that both policies were
followed along, and are scaled to the reported variance of the present rows, which also counts
labels, states in between and fitted regressions. The probabilities of strata minimise the sum of
these variances for the money (Neyman, JRSS 97, 1934). The expected bound is a preposterior mean
(Raiffa and Schlaifer 1961) under one normal prior for the costs of all policies, whose variance is
unknown (Lindley and Smith, JRSS B 34, 1972): differences that are known well stay, others are
mostly noise. Assumes that further cases are of the same population, and that policies do not
change. Knows no file.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.judge.choice import Choice
from frugal.judge.comparisons import compare, gaussian
from frugal.judge.information_value import Belief
from frugal.judge.intervals import effective_sample_size
from frugal.judge.semi_offline import Paths, least_probability
from frugal.judge.verdicts import LEAST_ESS
from frugal.learn.record_law import RecordLaw

MOST_POLICIES = 10  # of the short list, that are compared
LEVELS = 3  # of splits into strata
KNOTS = np.arange(0.1, 0.95, 0.1)  # quantiles of a column at which strata may be split
CLEAR = 2.0  # standard errors by which strata differ
LEAST_SHARE, FIGURES = 0.05, 3  # of all rows in a stratum; of an end of it
GRID = 100  # probabilities are multiples of 1 / GRID
MOST_CASES = 1e6  # at which the search for needed cases ends
HALF, CLOSE = 0.5, 0.02  # probability of a sure answer; log cases between which the search ends
SEED, DRAWS = 0, 1000  # of preposterior estimates
ROUNDING = 1 + 1e-9  # of the money
SMALLEST = 1e-12
SPREADS = np.geomspace(1e-3, 1e2, 40)  # prior variances of costs, per mean variance of their errors
MERGED = 4  # of them, for the value of records

Box = dict[int, tuple[float, float]]  # column → least value, value below which it lies


@dataclass(frozen=True, eq=False)
class PolicyPair:
    """Two policies on m rows that both were followed along.

    Attributes:
        spread: variance of V₀ᵃ − V₀ᵇ.
        scale: ratio of the reported variance to the formula's.
        rows: which rows. (m,)
        weight: 1 / π(S_a ∪ S_b), divided by the number of all rows. (m,)
        excess: e_a and e_b. (2, m)
        requests: whether S_a, S_b and both together hold an incomplete panel. (3, m)
        chance: π of these as records are now. (3, m)
        lacking: panel → π of these without the panel; None: no panel is asked about. (3, m)
    """

    spread: float
    scale: float
    rows: Int[np.ndarray, " m"]
    weight: Float[np.ndarray, " m"]
    excess: Float[np.ndarray, "2 m"]
    requests: Bool[np.ndarray, "3 m"]
    chance: Float[np.ndarray, "3 m"]
    lacking: Callable[[int], Float[np.ndarray, "3 m"]] | None = None

    def variance(self, share: float, by_design: Float[np.ndarray, " n"] | None) -> float:
        """Of the difference, times the number of rows.

        Args:
            share: of further cases among all.
            by_design: probability of recording each present row; None: recorded as before. (n,)
        """
        if by_design is None:
            return self._variance(self.chance)
        drawn = np.where(self.requests, by_design[self.rows], 1.0)
        return self._variance((1 - share) * self.chance + share * drawn)

    def completed(self, share: float, panel: int) -> float:
        """The same, once a share of the rows that lack a panel, drawn at random, hold it."""
        assert self.lacking is not None
        return self._variance(self.chance + share * (self.lacking(panel) - self.chance))

    def _variance(self, chance: Float[np.ndarray, "3 m"]) -> float:
        a, b, union = chance
        e_a, e_b = self.excess
        each = e_a**2 / a + e_b**2 / b - 2 * e_a * e_b * union / (a * b)
        return self.scale * (self.spread + max(float(self.weight @ each), 0.0))


@dataclass(frozen=True, eq=False)
class Compared:
    """Policies that may be the best, as records are now. k policies, n rows, p panels.

    Attributes:
        estimate: cost of each. (k,)
        pairs: places of two → their pair; without pairs that too few rows were followed along.
        requested: incomplete panels that any policy of the short list, or any that too few rows
            follow, requests in each row. (n, p)
        allowed: savings of another policy that count as none.
    """

    estimate: Float[np.ndarray, " k"]
    pairs: Mapping[tuple[int, int], PolicyPair]
    requested: Bool[np.ndarray, "n p"]
    allowed: float

    def covariance(
        self, further: int | float, by_design: Float[np.ndarray, " n"] | None
    ) -> Float[np.ndarray, "k k"]:
        """Of the estimates less their mean, with further rows. (k, k)"""
        rows = len(self.requested) + further
        return self._joint(lambda pair: pair.variance(further / rows, by_design) / rows)

    def completed(self, share: float, panel: int) -> Float[np.ndarray, "k k"]:
        """The same, once a share of the rows that lack a panel hold it. (k, k)"""
        return self._joint(lambda pair: pair.completed(share, panel) / len(self.requested))

    def _joint(self, variance: Callable[[PolicyPair], float]) -> Float[np.ndarray, "k k"]:
        k = len(self.estimate)
        squared = np.full((k, k), np.nan)
        np.fill_diagonal(squared, 0.0)
        for (a, b), pair in self.pairs.items():
            squared[a, b] = squared[b, a] = variance(pair)
        squared[np.isnan(squared)] = np.nanmax(squared)  # of pairs that no row shows
        centred = np.eye(k) - 1 / k
        values, axes = np.linalg.eigh(-centred @ squared @ centred / 2)
        return (axes * np.maximum(values, 0.0)) @ axes.T  # variances of pairs need not fit together


def compared(choice: Choice, paths: Mapping[str, Paths], missingness: RecordLaw) -> Compared | None:
    """Policies of the short list, the strongest rivals of the named one first.

    None where fewer than two can be compared.

    Args:
        choice: the answer.
        paths: of every candidate, also of those left out, within the missingness model.
        missingness: model of it.
    """
    place = choice.place
    ranked = np.argsort(-choice.last.most[place], kind="stable")
    order = [place, *(int(k) for k in ranked if k != place)][:MOST_POLICIES]
    names = [choice.short_list[k] for k in order]
    gappy = np.asarray(~missingness.observed.all(axis=0))
    steps = len(gappy)
    requested = np.zeros(missingness.observed.shape, dtype=bool)
    for name in [*choice.short_list, *(n for n in choice.candidates.left_out if n in paths)]:
        requested |= missingness.closure(paths[name].requested(steps)) & gappy
    pairs = {}
    for a, b in combinations(range(len(names)), 2):
        pair = _pair(choice, (names[a], names[b]), paths, missingness)
        if pair is not None:
            pairs[a, b] = pair
    if not pairs:
        return None
    estimate = np.array([choice.candidates.cost(name) for name in names])
    return Compared(estimate, pairs, requested, choice.allowed)


def _pair(
    choice: Choice, names: tuple[str, str], paths: Mapping[str, Paths], missingness: RecordLaw
) -> PolicyPair | None:
    """None where too few rows show both, or both are the same."""
    candidates, n = choice.candidates, len(missingness.label)
    gappy = np.asarray(~missingness.observed.all(axis=0))
    rows = np.flatnonzero(np.all([candidates.outcomes[name].weight > 0 for name in names], axis=0))
    sets = [missingness.closure(paths[name].requested(len(gappy)))[rows] & gappy for name in names]
    sets = np.stack([*sets, sets[0] | sets[1]])
    chance = np.stack([_of_rows(each, rows, missingness) for each in sets])
    covariance = candidates.covariance(names)
    reported = float(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]) * n
    if effective_sample_size(1 / chance[2]) < LEAST_ESS or reported <= SMALLEST:
        return None
    first = [candidates.outcomes[name].first @ candidates.slope(name) for name in names]
    excess = np.stack(
        [
            _costs(choice, name, paths[name], missingness.label)[rows] - value[rows]
            for name, value in zip(names, first, strict=True)
        ]
    )
    requests = np.asarray(sets.any(axis=2))
    excess[~requests[:2]] = 0.0  # known before the first panel
    spread = float((first[0] - first[1]).var())
    unscaled = PolicyPair(spread, 1.0, rows, 1 / chance[2] / n, excess, requests, chance)
    scale = reported / max(unscaled.variance(0.0, None), SMALLEST)

    def lacking(panel: int) -> Float[np.ndarray, "3 m"]:
        fewer = sets & (np.arange(sets.shape[2]) != panel)
        return np.stack([_of_rows(each, rows, missingness) for each in fewer])

    return replace(unscaled, scale=scale, lacking=lacking)


def _of_rows(
    sets: Bool[np.ndarray, "m p"], rows: Int[np.ndarray, " m"], missingness: RecordLaw
) -> Float[np.ndarray, " m"]:
    """p(R_S = 1) of a set for each row. (m,)"""
    distinct, which = np.unique(sets, axis=0, return_inverse=True)
    each = np.stack([missingness.probability(panels)[rows] for panels in distinct])
    return each[which.ravel(), np.arange(len(rows))]


def _costs(
    choice: Choice, name: str, paths: Paths, label: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Costs at the end of a path, by the recorded label. (n,)"""
    candidates, outcome = choice.candidates, choice.candidates.outcomes[name].last.copy()
    k, a = len(candidates.errors), len(candidates.price)
    decided = np.eye(k + 1)[paths.verdict][:, :k]
    if candidates.relative is not None:
        decided = decided * candidates.relative
    cells = decided[:, :, None] * np.eye(k)[label][:, None, :]
    outcome[:, a : a + k * k] = cells.reshape(len(label), k * k)
    return outcome @ candidates.slope(name)


@dataclass(frozen=True, eq=False)
class Design:
    """One draw for each case. s strata, p panels, n present rows.

    Attributes:
        boxes: of the strata.
        stratum: of each present row. (n,)
        sets: panels that are recorded in each stratum. (s, p)
        chance: that they are. (s,)
        price: mean cost of recording a case.
    """

    boxes: Sequence[Box]
    stratum: Int[np.ndarray, " n"]
    sets: Bool[np.ndarray, "s p"]
    chance: Float[np.ndarray, " s"]
    price: float

    @property
    def share(self) -> Float[np.ndarray, " s"]:
        """Of present rows in each stratum. (s,)"""
        return np.bincount(self.stratum, minlength=len(self.chance)) / len(self.stratum)

    @property
    def of_rows(self) -> Float[np.ndarray, " n"]:
        """Probability of recording each present row. (n,)"""
        return self.chance[self.stratum]


def designed(
    policies: Compared,
    columns: Float[np.ndarray, "n w"],
    price_of: Callable[[Bool[np.ndarray, "s p"]], Float[np.ndarray, " s"]],
    money: float,
    further: int,
) -> Design:
    """Strata and probabilities of least summed variance of all differences, within the money.

    Every mean π of rows that request a panel is at least the smallest that is divided by, as far as
    the money allows.

    Args:
        policies: under comparison.
        columns: that every case has, without missing values. (n, w)
        price_of: cost of recording sets of panels, for each.
        money: most that recording a case may cost on average.
        further: number of cases.
    """
    n = len(policies.requested)
    share = further / (n + further)
    boxes = _strata(policies, columns)
    stratum = assigned(boxes, columns)
    sets = np.stack([policies.requested[stratum == k].any(axis=0) for k in range(len(boxes))])
    size = np.bincount(stratum, minlength=len(boxes)) / n
    step = size * price_of(sets) / GRID  # cost of the probability 1 / GRID more
    grid = np.arange(GRID + 1) / GRID
    value, least = np.zeros((len(boxes), len(grid))), np.zeros(len(boxes), dtype=int)
    for pair in policies.pairs.values():
        square = pair.scale * pair.weight * (pair.excess[0] - pair.excess[1]) ** 2
        now, inside = pair.chance[2], pair.requests[2]
        for k in range(len(boxes)):
            rows = inside & (stratum[pair.rows] == k)
            mean = (1 - share) * now[rows, None] + share * grid
            value[k] += (square[rows, None] / np.maximum(mean, SMALLEST)).sum(axis=0)
            enough = (mean >= least_probability(n + further)).all(axis=0)
            least[k] = max(least[k], int(np.append(enough, True).argmax()))
    level = np.minimum(least, GRID)
    affordable = int(GRID * min(1.0, money / max(float(step.sum() * GRID), SMALLEST)))
    if level @ step > money:
        level = np.minimum(level, affordable)
    spent = float(level @ step)
    gain = -np.diff(value, axis=1) / np.maximum(step, SMALLEST)[:, None]
    while True:  # each variance is convex in its probability: the steepest step is best
        able = (level < GRID) & (spent + step <= money * ROUNDING) & sets.any(axis=1)
        if not able.any():
            break
        gains = np.where(able, gain[np.arange(len(level)), np.minimum(level, GRID - 1)], -np.inf)
        best = int(gains.argmax())
        level[best] += 1
        spent += float(step[best])
    if (level == level[0]).all() and (sets == sets[0]).all():  # no stratum is needed
        boxes, stratum, sets, level = [{}], np.zeros_like(stratum), sets[:1], level[:1]
    return Design(boxes, stratum, sets, level / GRID, spent)


def _strata(policies: Compared, columns: Float[np.ndarray, "n w"]) -> list[Box]:
    """Boxes of the columns in which differences vary more and less.

    A stratum is split where the sum of share · √E[(e_a − e_b)²] falls most, if both parts' second
    moments differ by `CLEAR` standard errors, up to `LEVELS` times.
    """
    moment = np.zeros(len(columns))
    for pair in policies.pairs.values():
        square = pair.scale * pair.weight * (pair.excess[0] - pair.excess[1]) ** 2
        np.add.at(moment, pair.rows, len(columns) * square)
    boxes: list[Box] = [{}]
    for _ in range(LEVELS):
        boxes = [part for box in boxes for part in _parts(box, columns, moment)]
    return boxes


def assigned(boxes: Sequence[Box], columns: Float[np.ndarray, "n w"]) -> Int[np.ndarray, " n"]:
    """The first box that holds each row; −1 where none does. (n,)"""
    inside = np.stack([_inside(box, columns) for box in boxes])
    return np.where(inside.any(axis=0), inside.argmax(axis=0), -1)


def _inside(box: Box, columns: np.ndarray) -> np.ndarray:
    rows = [(columns[:, c] >= low) & (columns[:, c] < below) for c, (low, below) in box.items()]
    return np.all([np.ones(len(columns), dtype=bool), *rows], axis=0)


def _parts(box: Box, columns: np.ndarray, moment: np.ndarray) -> list[Box]:
    """The box, or the two that it is split into."""
    inside, best, parts = _inside(box, columns), SMALLEST, [box]
    mean = moment[inside].mean()
    for c, column in enumerate(columns.T):
        for knot in sorted({float(f"{q:.{FIGURES}g}") for q in np.quantile(column[inside], KNOTS)}):
            sides = [inside & (column < knot), inside & (column >= knot)]
            size = [int(side.sum()) for side in sides]
            if min(size) < max(LEAST_SHARE * len(columns), LEAST_ESS):
                continue
            low, high = (float(moment[side].mean()) for side in sides)
            error = np.sqrt(sum(moment[s].var() / m for s, m in zip(sides, size, strict=True)))
            gain = np.sqrt(mean) - np.sqrt([low, high]) @ size / sum(size)
            if abs(low - high) > CLEAR * error and gain > best:
                start, end = box.get(c, (-np.inf, np.inf))
                best, parts = gain, [box | {c: (start, knot)}, box | {c: (knot, end)}]
    return parts


@dataclass(frozen=True)
class Expected:
    """Expected answer after further cases.

    Attributes:
        bound: mean of the upper bound on another policy's saving.
        sure: probability that the bound is small enough to count as none.
    """

    bound: float
    sure: float


def expected(policies: Compared, design: Design | None, further: int | float) -> Expected:
    """Preposterior expectation of the answer; `design` None: cases are recorded as before."""
    now = policies.covariance(0.0, None)
    then = policies.covariance(further, None if design is None else design.of_rows)
    rng = np.random.default_rng(SEED)
    judged = compare(policies.estimate, then, rng)
    old = min(1.0, float(np.trace(then)) / max(float(np.trace(now)), SMALLEST))  # of present rows
    centred = policies.estimate - policies.estimate.mean()
    fresh = np.sqrt(1 - old) * gaussian(then, rng)[:DRAWS]
    estimate = old * centred + (1 - old) * _true_costs(centred, now, rng) + fresh
    tops = judged.most - judged.difference
    difference = estimate[:, :, None] - estimate[:, None, :]
    not_worse = (difference <= tops).all(axis=2)
    most = np.where(not_worse[:, None, :], difference + tops, 0.0).max(axis=2)
    bound = np.maximum(most[np.arange(DRAWS), estimate.argmin(axis=1)], 0.0)
    return Expected(float(bound.mean()), float((bound <= policies.allowed).mean()))


def _true_costs(
    estimate: Float[np.ndarray, " k"],
    covariance: Float[np.ndarray, "k k"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "b k"]:
    """Draws of costs less their mean, given estimates of them, under the prior of `_given`."""
    axes, errors, seen, real, chance = _given(estimate, covariance)
    drawn = rng.choice(len(SPREADS), DRAWS, p=chance)
    part = real[drawn]
    return (part * seen + np.sqrt(part * errors) * rng.standard_normal(part.shape)) @ axes.T


def believed(policies: Compared) -> Belief:
    """Costs less their mean, given the records: a normal law for each prior variance of `_given`.

    Neighbouring prior variances are merged.
    """
    now = policies.covariance(0.0, None)
    centred = policies.estimate - policies.estimate.mean()
    axes, errors, seen, real, chance = _given(centred, now)
    part = real.reshape(-1, MERGED, len(errors)).mean(axis=1)
    covariance = np.einsum("ai,si,bi->sab", axes, part * errors, axes)
    return Belief(chance.reshape(-1, MERGED).sum(axis=1), part * seen @ axes.T, covariance, now)


def _given(
    estimate: Float[np.ndarray, " k"], covariance: Float[np.ndarray, "k k"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Law of costs less their mean, given estimates of them, for each prior variance τ².

    The prior is N(0, τ²) for every policy, and log τ² is uniform over `SPREADS`, s of them.

    Returns:
        Axes of the errors (k, k − 1), their variances and the estimate along them (k − 1,), of a
        difference that is seen the share that is no noise (s, k − 1), probability of each τ² (s,).
    """
    errors, axes = (part[..., 1:] for part in np.linalg.eigh(covariance))  # the first is the mean's
    errors = np.maximum(errors, SMALLEST)
    along = estimate @ axes
    total = errors + SPREADS[:, None] * errors.mean()
    log_chance = -0.5 * (along**2 / total + np.log(total)).sum(axis=1)
    chance = np.exp(log_chance - log_chance.max())
    return axes, errors, along, 1 - errors / total, chance / chance.sum()


def cases_needed(policies: Compared, design: Design | None) -> float:
    """Further cases that make the answer sure with probability 0.5; NaN beyond `MOST_CASES`."""
    low, high = 0.0, np.log(MOST_CASES)
    if expected(policies, design, MOST_CASES).sure < HALF:
        return float("nan")
    while high - low > CLOSE:
        middle = (low + high) / 2
        enough = expected(policies, design, np.exp(middle)).sure >= HALF
        low, high = (low, middle) if enough else (middle, high)
    return float(np.exp(high))
