"""Regions of a table in which a panel is (almost) never recorded: holes in its support.

Regions are intervals of one encoded column, or of two together (a level is an interval of its 0/1
column): of columns that are always known, and of results of other panels among the records that
hold them. Every interval of bins and every pair of them is scanned; the best few are widened or
narrowed to the values at which records of the panel begin, and weighed by a Bayes factor: of "at
most half the floor is recorded here" against a law of the recorded share fitted without the region.
That law is logistic: trends and small steps along the ranks of numbers, levels, and an effect of
the region itself, all with normal priors, and never below the floor, 10 %. A sum of such factors
over all regions would be a valid test; the cuts below are lower, and calibrated by simulation.

The rate of false alarms is one over tables, not for the worst law: where the share is 10 % in a
region of 30 rows, none is recorded in one of 24 tables, and no test that finds a hole of 30 rows
can be right there. `tests/trust/holes.py` prints it with the power. Of plain tables, with one
logistic law, it is 3.2, 2.8 and 4.0 % at 300, 1,000 and 3,000 rows (400, 400 and 100 draws). A hole
of a tenth of the rows is found in 78, 99 and 100 % where nothing is recorded in it, in 73, 98 and
100 % at 1 %, and in 63, 93 and 99 % at 3 %. The cut was chosen on other draws of such tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from scipy.linalg import block_diag
from scipy.special import expit, logsumexp

from frugal.core.regions import Hole, Interval
from frugal.learn.weighted_logistic import logistic_mode

BINS, STEPS = 12, 8  # of a number: to scan, and of the law
MOST_ROWS = 20_000  # that are searched
LEAST_ROWS, LEAST_SHARE = 12, 0.04  # of a hole
THIN_SHARE = 0.05  # of a stratum that `fewest_recorded` looks at
FLOOR = 0.1  # a panel is recorded at least so often, or half as often as in all records if rarer
EMPTY = 0.3  # of the floor: recorded in a hole, while one is sought
INTERCEPT, TREND, STEP, LEVEL = 5.0, 1.0, 0.15, 0.5  # prior standard deviations, log-odds
REGION, FAR, FAR_SHARE = 0.3, 1.5, 0.003  # of a region's own effect: mostly, and seldom
CUT, NUMBER, RESULTS = 4.1, 2.0, 1.0  # of the log Bayes factor, see `_Panel.cut`
SINGLES, PAIRS, HOLES = 3, 4, 20  # regions weighed at a time, holes of a panel
PROMISING = 1.0  # least score of a region that is weighed, nats
NODES = np.linspace(-5.0, 5.0, 61)  # of a standard normal
LOG_MASS = -(NODES**2) / 2 - logsumexp(-(NODES**2) / 2)


def find_holes(
    values: Float[np.ndarray, "n d"],
    observed: Bool[np.ndarray, "n a"],
    provides: Bool[np.ndarray, "a d"],
    onehot: Sequence[Sequence[int]] = (),
) -> tuple[Hole, ...]:
    """Holes of each panel that some records hold and others lack, by panel, clearest first.

    Args:
        values: encoded columns as recorded, NaN where missing. (n, d)
        observed: panels of each record. (n, a)
        provides: columns that each panel reveals. (a, d)
        onehot: columns of each category, of which several levels may be one region.
    """
    rows = _sample(values, observed)
    table, panels, holes = _ScanTable.of(values[rows]), _lacked(observed[rows]), []
    for panel in panels:
        allowed = table.varies & ~provides[panel]
        regions = _Panel(table, observed[rows, panel], allowed, len(panels), onehot).regions()
        holes += [_hole(panel, region, values, observed[:, panel]) for region in regions]
    return tuple(holes)


def fewest_recorded(
    values: Float[np.ndarray, "n d"],
    observed: Bool[np.ndarray, "n a"],
    provides: Bool[np.ndarray, "a d"],
) -> list[Hole]:
    """Region with the fewest records of each panel that some lack, of those with 5 % of the rows.

    By intervals of bins of one or two columns that are always known; the largest of equals.
    """
    rows = _sample(values, observed)
    table, strata = _ScanTable.of(values[rows]), []
    for panel in _lacked(observed[rows]):
        usable = table.of_columns(table.always_known & table.varies & ~provides[panel])
        usable &= table.counts >= THIN_SHARE * len(rows)
        if not usable.any():
            continue
        n_recorded = np.where(usable, table.sums(observed[rows, panel]), np.inf)
        fewest = np.where(n_recorded == n_recorded.min(), table.counts, -1.0)
        at = divmod(int(fewest.argmax()), len(n_recorded))
        region = table.region(*at)
        strata.append(_hole(panel, region, values, observed[:, panel]))
    return strata


def _lacked(observed: Bool[np.ndarray, "n a"]) -> list[int]:
    """Panels that some records hold and others lack."""
    return np.flatnonzero(observed.any(axis=0) & ~observed.all(axis=0)).tolist()


def _sample(
    values: Float[np.ndarray, "n d"], observed: Bool[np.ndarray, "n a"]
) -> Int[np.ndarray, " m"]:
    """Rows that are searched, at most `MOST_ROWS`, the same whatever their order was. (m,)

    Sums in floating point depend on the order; of many rows, every k-th one is taken.
    """
    order = np.lexsort(np.hstack([observed, values]).T)
    return order[:: max(-(-len(order) // MOST_ROWS), 1)]


def _inside(region: Sequence[Interval], values: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, " n"]:
    """Rows that meet all conditions. (n,)"""
    inside = np.ones(len(values), dtype=bool)
    for condition in region:
        x = values[:, condition.column]
        inside &= (x >= condition.low) & (x <= condition.high)
    return inside


def _hole(
    panel: int,
    region: Sequence[Interval],
    values: Float[np.ndarray, "n d"],
    recorded: Bool[np.ndarray, " n"],
) -> Hole:
    inside = _inside(region, values)
    return Hole(panel, tuple(region), int(inside.sum()), int(recorded[inside].sum()))


def _bins(x: Float[np.ndarray, " n"], most: int) -> tuple[Int[np.ndarray, " n"], int]:
    """Bin of each value, by its quantiles or distinct values, −1 for NaN; number of bins."""
    finite = x[~np.isnan(x)]
    lows = np.unique(finite)
    if len(lows) > most:
        lows = np.unique(np.quantile(finite, np.arange(most) / most, method="higher"))
    return np.where(np.isnan(x), -1, np.searchsorted(lows, x, side="right") - 1), max(len(lows), 1)


def _design(x: Float[np.ndarray, " n"]) -> tuple[Float[np.ndarray, "n p"], list[float]]:
    """Inputs of the law by a column, 0 where it is NaN, and their prior standard deviations.

    Ranks and steps, not values: the law then is the same under any increasing transformation.
    """
    finite = ~np.isnan(x)
    bins, count = _bins(x, STEPS)
    steps = (bins[:, None] >= np.arange(1, count)).astype(float)
    if count <= 2:  # one step is the second level; a constant has none
        inputs, scales = steps, [LEVEL] * (count - 1)
    else:
        ordered = np.sort(x[finite])
        rank = np.searchsorted(ordered, x, "left") + np.searchsorted(ordered, x, "right")
        inputs = np.column_stack([np.sqrt(3) * rank / len(ordered), steps])
        scales = [TREND] + [STEP] * (count - 1)
    inputs = inputs - inputs[finite].sum(axis=0) / max(finite.sum(), 1)
    return np.where(finite[:, None], inputs, 0.0), scales


@dataclass(frozen=True, eq=False)
class _ScanTable:
    """What the panels of a table share. n rows, d columns, b bins and r intervals of them all.

    A last column, constant, makes pairs of the regions by one column.

    Attributes:
        values: sorted rows. (n, d)
        always_known: columns without NaN. (d,)
        varies: columns of more than one value. (d,)
        numbers: columns of more than two. (d,)
        designs: inputs of the law and their scales, by column.
        onehot: bins of each row. (n, b)
        incidence: bins of each interval. (b, r)
        intervals: one condition each, in the order of the columns; the last is none.
        starts: first interval of each column. (d + 1,)
        counts: rows in each pair of intervals. (r, r)
    """

    values: Float[np.ndarray, "n d"]
    always_known: Bool[np.ndarray, " d"]
    varies: Bool[np.ndarray, " d"]
    numbers: Bool[np.ndarray, " d"]
    designs: list[tuple[Float[np.ndarray, "n _"], list[float]]]
    onehot: Float[np.ndarray, "n b"]
    incidence: Float[np.ndarray, "b r"]
    intervals: list[Interval]
    starts: Int[np.ndarray, " d+1"]
    counts: Float[np.ndarray, "r r"]

    @classmethod
    def of(cls, values: Float[np.ndarray, "n d"]) -> "_ScanTable":
        """Bins, their intervals, and the inputs of the law."""
        parts = [_intervals(column, x) for column, x in enumerate(values.T)]
        constant = np.ones((len(values), 1), np.float32)
        onehot = np.hstack([*(part[0] for part in parts), constant])
        incidence = np.asarray(block_diag(*(part[1] for part in parts), [[1]]), np.float32)
        sizes = [len(part[2]) for part in parts]
        return cls(
            values=values,
            always_known=np.array([np.isfinite(x).all() for x in values.T], dtype=bool),
            varies=np.array([part[0].shape[1] > 1 for part in parts], dtype=bool),
            numbers=np.array([part[0].shape[1] > 2 for part in parts], dtype=bool),
            designs=[_design(x) for x in values.T],
            onehot=onehot,
            incidence=incidence,
            intervals=[condition for part in parts for condition in part[2]],
            starts=np.cumsum([0, *sizes]),
            counts=incidence.T @ (onehot.T @ onehot) @ incidence,
        )

    def sums(self, of_rows: Shaped[np.ndarray, " n"]) -> Float[np.ndarray, "r r"]:
        """Sum over the rows of each pair of intervals. (r, r)"""
        weighted = self.onehot * of_rows.astype(np.float32)[:, None]
        return self.incidence.T @ (self.onehot.T @ weighted) @ self.incidence

    def region(self, first: int, second: int) -> list[Interval]:
        """Conditions of a pair of intervals."""
        return [self.intervals[i] for i in (first, second) if i < len(self.intervals)]

    def of_columns(self, allowed: Bool[np.ndarray, " d"]) -> Bool[np.ndarray, "r r"]:
        """Pairs of intervals of two columns that are allowed, the constant among them. (r, r)"""
        column = np.repeat(
            np.arange(len(self.starts)), np.diff([*self.starts, len(self.incidence.T)])
        )
        usable = np.append(allowed, True)[column]
        return usable[:, None] & usable & (column[:, None] < column)

    def law_inputs(
        self, results: Sequence[int] = ()
    ) -> tuple[Float[np.ndarray, "n p"], Float[np.ndarray, " p"]]:
        """Inputs of a law by all known columns and some results, and their prior scales."""
        parts = [self.designs[j] for j in [*np.flatnonzero(self.always_known), *results]]
        inputs = np.column_stack([np.ones(len(self.values)), *(part[0] for part in parts)])
        return inputs, np.array([INTERCEPT, *(scale for part in parts for scale in part[1])])


def _intervals(
    column: int, x: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "n b"], Float[np.ndarray, "b r"], list[Interval]]:
    """Bins of a column, one-hot; which of them make each interval; the intervals.

    One of all bins is among them where the column has gaps.
    """
    bins, count = _bins(x, BINS)
    first, last = np.triu_indices(count)
    proper = last - first < max(count - 1, 1)  # one that has no other bin stays
    proper |= bool((bins < 0).any())  # known, whatever it is
    first, last, at = first[proper], last[proper], np.arange(count)
    member = bins[:, None] == at
    lows = np.array([-np.inf] + [x[bins == b].min() for b in at[1:]])
    highs = np.array([x[bins == b].max() for b in at[:-1]] + [np.inf])
    conditions = [
        Interval(column, low, high)
        for low, high in zip(lows[first].tolist(), highs[last].tolist(), strict=True)
    ]
    made_of = (at[:, None] >= first) & (at[:, None] <= last)
    return member.astype(np.float32), made_of.astype(np.float32), conditions


@dataclass(eq=False)
class _Panel:
    """The search for the holes of one panel.

    Attributes:
        table: of n rows and d columns.
        recorded: rows with it. (n,)
        allowed: columns that conditions may be on. (d,)
        panels: number of panels that are searched.
        onehot: columns of each category.
    """

    table: _ScanTable
    recorded: Bool[np.ndarray, " n"]
    allowed: Bool[np.ndarray, " d"]
    panels: int
    onehot: Sequence[Sequence[int]] = ()

    def __post_init__(self) -> None:
        self.floor = min(FLOOR, self.recorded.mean() / 2)
        self.least = max(LEAST_ROWS, LEAST_SHARE * len(self.recorded))
        self.rows = np.ones(len(self.recorded), dtype=bool)
        self.pairs = self.table.of_columns(self.allowed)
        inputs, _ = self.table.law_inputs()
        self.start = np.zeros(inputs.shape[1])

    def regions(self) -> list[list[Interval]]:
        """The clearest hole, then that of the rows outside, and so on."""
        holes: list[list[Interval]] = []
        while len(holes) < HOLES:
            weighed = [w for region in self.candidates() if (w := self.weigh(region))]
            excess, region = max(weighed, key=lambda w: w[0], default=(-1.0, []))
            if excess < 0:
                break
            holes.append(region)
            self.rows &= ~_inside(region, self.table.values)
        return holes

    def candidates(self) -> list[list[Interval]]:
        """Regions of the highest scores, of one column and of two."""
        if not self.recorded[self.rows].any():
            return []
        inputs, mode, _ = self.fit(self.rows)
        if self.rows.all():
            self.start = mode
        self.log_odds = inputs @ mode
        score = self.score(self.log_odds, self.rows)
        counts = self.table.counts if self.rows.all() else self.table.sums(self.rows)
        sums = np.where(self.pairs & (counts >= self.least), self.table.sums(score), -np.inf)
        starts = self.table.starts.tolist()
        top = np.maximum.reduceat(np.maximum.reduceat(sums, starts, axis=0), starts, axis=1)
        ends = [*starts[1:], len(sums)]
        pair = top[:-1, :-1]
        order = np.argsort(-pair, axis=None, kind="stable")[:PAIRS]
        blocks = zip(*np.unravel_index(order, pair.shape), strict=True)
        regions = self.of_one_column(score) + self.of_several_levels(score)
        for i, j in blocks:
            if top[i, j] > PROMISING:
                part = sums[starts[i] : ends[i], starts[j] : ends[j]]
                first, second = divmod(int(part.argmax()), part.shape[1])
                regions.append(self.table.region(starts[i] + first, starts[j] + second))
        return regions

    def of_one_column(self, score: Float[np.ndarray, " n"]) -> list[list[Interval]]:
        """Intervals of the highest scores, not bound to bins: one may hold no bin as a whole."""
        scored = []
        for column in np.flatnonzero(self.allowed).tolist():
            region = self.fitted([Interval(column, -np.inf, np.inf)], score)
            total = float(score[_inside(region, self.table.values)].sum())
            bounded = not (region[0].open and self.table.always_known[column])
            if total > PROMISING and bounded:
                scored.append((total, region))
        return [region for _, region in sorted(scored, key=lambda s: -s[0])[:SINGLES]]

    def of_several_levels(self, score: Float[np.ndarray, " n"]) -> list[list[Interval]]:
        """The levels of each category whose scores are positive: they are none of the others."""
        regions = []
        for category in self.onehot:
            columns = np.array([column for column in category if self.allowed[column]], dtype=int)
            if len(columns) and self.table.always_known[columns].all():
                others = columns[score @ self.table.values[:, columns] <= 0].tolist()
                if 2 < len(others) < len(columns) - 1:
                    regions.append([Interval(column, -np.inf, 0.0) for column in others])
        return regions

    def fit(
        self, rows: Bool[np.ndarray, " n"], results: Sequence[int] = ()
    ) -> tuple[Float[np.ndarray, "n p"], Float[np.ndarray, " p"], Float[np.ndarray, "p p"]]:
        """Inputs, coefficients and factor of their precision of a law fitted to some rows."""
        inputs, scale = self.table.law_inputs(results)
        mode, factor = logistic_mode(
            inputs[rows],
            self.recorded[rows].astype(float),
            np.ones(int(rows.sum())),
            precision=scale**-2,
            start=np.append(self.start, np.zeros(len(scale) - len(self.start))),
            decrement=1e-4,
        )
        return inputs, mode, factor

    def score(
        self, log_odds: Float[np.ndarray, " n"], rows: Bool[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """Log-likelihood ratio of a hole against the law, at least twice the floor, by row. (n,)

        A law that was fitted with the hole is low there; twice the floor keeps it visible.
        """
        chance = np.clip(expit(log_odds), 2 * self.floor, 0.9)
        empty = EMPTY * self.floor
        ratio = np.where(self.recorded, np.log(empty / chance), np.log((1 - empty) / (1 - chance)))
        return np.where(rows, ratio, 0.0)

    def weigh(self, region: list[Interval]) -> tuple[float, list[Interval]] | None:
        """Excess of the evidence over its cut, and the region with its limits at the values.

        The limits are looked for twice, as the law without the region is not bent by it.
        """
        table, best = self.table, None
        log_odds, rows = self.log_odds, self.rows
        for _ in range(2):
            region = self.fitted(region, self.score(log_odds, rows))
            columns = [condition.column for condition in region]
            bounded = [condition.column for condition in region if not condition.open]
            rows = self.rows & ~np.isnan(table.values[:, bounded]).any(axis=1)
            inside = rows & _inside(region, table.values)
            outside = rows & ~inside
            if min(inside.sum(), outside.sum()) < self.least:
                return best
            results = [column for column in bounded if not table.always_known[column]]
            inputs, mode, factor = self.fit(outside, results)
            log_odds = inputs @ mode
            half = np.linalg.solve(factor, inputs[inside].mean(axis=0))
            excess = self.evidence(log_odds[inside], half @ half, self.recorded[inside])
            excess -= self.cut(columns)
            if best is None or excess > best[0]:
                best = excess, region
        return best

    def fitted(self, region: list[Interval], score: Float[np.ndarray, " n"]) -> list[Interval]:
        """Limits of each condition in turn that give the highest sum; dropped if they hold all."""
        for column in [condition.column for condition in region] * 2:
            rest = [condition for condition in region if condition.column != column]
            x = self.table.values[:, column]
            inside = self.rows & _inside(rest, self.table.values) & ~np.isnan(x)
            if len(rest) == len(region) or not inside.any():
                continue
            distinct, at = np.unique(x[inside], return_inverse=True)
            total = np.append(0.0, np.cumsum(np.bincount(at, score[inside])))
            last = int((total[1:] - np.minimum.accumulate(total[:-1])).argmax())
            first = int(total[: last + 1].argmin())
            low = float(distinct[first]) if first else -np.inf
            high = float(distinct[last]) if last < len(distinct) - 1 else np.inf
            if np.isfinite([low, high]).any() or not self.table.always_known[column]:
                region = [Interval(column, low, high) if c.column == column else c for c in region]
            elif rest:
                region = rest
        return region

    def evidence(
        self, log_odds: Float[np.ndarray, " m"], variance: float, recorded: Bool[np.ndarray, " m"]
    ) -> float:
        """Log Bayes factor of a hole against the law, of m rows.

            max_{q ≤ floor/2} Π q^oᵢ (1 − q)^(1−oᵢ) / E_u Π pᵢ(u)^oᵢ (1 − pᵢ(u))^(1−oᵢ),
            pᵢ(u) = max(floor, σ(log_oddsᵢ + u))

        u is the error of the law in the region, normal; seldom it is large.
        """
        rows, n_recorded = len(recorded), int(recorded.sum())
        empty = min(n_recorded / rows, self.floor / 2)
        hole = (rows - n_recorded) * np.log1p(-empty) + (
            n_recorded * np.log(empty) if n_recorded else 0.0
        )
        log_terms = []
        for spread, share in ((REGION, 1 - FAR_SHARE), (FAR, FAR_SHARE)):
            error = np.sqrt(variance + spread**2) * NODES
            chance = np.maximum(self.floor, expit(log_odds[:, None] + error))
            likelihood = np.log(np.where(recorded[:, None], chance, 1 - chance)).sum(axis=0)
            log_terms.append(np.log(share) + logsumexp(likelihood + LOG_MASS))
        return float(hole - logsumexp(log_terms))

    def cut(self, columns: list[int]) -> float:
        """Least evidence of a hole by these columns: more where more regions are tried.

        Regions of results are a family of their own; intervals of a number are many.
        """
        n_known = int((self.allowed & self.table.always_known).sum())
        results = not self.table.always_known[columns].all()
        tried = int(self.allowed.sum()) - n_known if results else n_known
        if len(columns) == 2:
            tried *= max(n_known - 1, 1) / 2
        if len(columns) > 2:
            levels = next(len(category) for category in self.onehot if columns[0] in category)
            tried *= comb(levels, len(columns))
        numbers = int(self.table.numbers[columns].sum())
        return CUT + NUMBER * numbers + RESULTS * results + float(np.log(self.panels * tried))
