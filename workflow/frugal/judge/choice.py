"""One answer for a table: which policy, its cost and savings, and their uncertainty.

Every candidate is judged on all rows by `semi_offline`; the policy is named by a rule that was
fixed beforehand, with a bound on the savings of another candidate. Knows candidates by name only,
and no file.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.errors import DataError
from frugal.judge.comparisons import Comparison, compare, gaussian, savings_quantile
from frugal.judge.intervals import effective_sample_size, largest_weight_share
from frugal.judge.prices import ExtraCosts, PriceBox
from frugal.judge.recorded_labels import class_indicators
from frugal.judge.semi_offline import (
    Labels,
    OutcomeMeans,
    Paths,
    averaged,
    end_weight,
    fit_labels,
    path_probability,
    step_support,
    terms,
)
from frugal.judge.verdicts import LARGEST_SHARE, LEAST_ESS, State, state_of
from frugal.learn.record_law import RecordLaw

SMALLEST, HALVINGS = 1e-12, 40
LEAST_OF_CLASS, CLEAR = 1 / 3, 4.0  # see `enough`
COMMON, LEAST_AT_STEP = 0.2, 5.0  # see `supported`
AGAINST = 1.645  # standard errors by which another may be lower: a one-sided test at 5 %
WITHIN = 0.5  # the same where the first of the order learned from few rows
REPETITIONS = 1000  # of the estimates, in which the same candidate may be named


@dataclass(frozen=True, eq=False)
class Candidates:
    """All candidates on the same n records. a panels, k classes, m = a + k² outcomes.

    Attributes:
        names: of those that can be judged, in the order of preference.
        left_out: names of those that too few records follow.
        outcomes: terms of each that is judged.
        price: of the panels. (a,)
        errors: cost of a verdict (column) on a class (row). (k, k)
        practice: name of the recorded decisions; not a candidate.
        cluster: rows of one number count as one; None: every row is independent. (n,)
        extra: cost of each further outcome: set-ups, and prices by case. (e,)
        held: rows of each class (of a numeric label: of all), in all folds but one, that hold each
            panel; last, any. (a + 1, g)
        relative: cost of each verdict on each row as a share of `errors`, of numeric labels. (n, k)
        score: quantity compared: the cost of a case, or f1: 1 − F1 of the second of two classes.
        person: price of a case that is referred, the last outcome; none: no case is. (r,)
    """

    names: Sequence[str]
    left_out: Sequence[str]
    outcomes: Mapping[str, OutcomeMeans]
    price: Float[np.ndarray, " a"]
    errors: Float[np.ndarray, "k k"]
    practice: str
    held: Float[np.ndarray, "a1 g"]
    cluster: Int[np.ndarray, " n"] | None = None
    score: Literal["cost", "f1"] = "cost"
    extra: Float[np.ndarray, " e"] = field(default_factory=lambda: np.zeros(0))
    person: Float[np.ndarray, " r"] = field(default_factory=lambda: np.zeros(0))
    relative: Float[np.ndarray, "n k"] | None = None

    @property
    def unit_costs(self) -> Float[np.ndarray, " m"]:
        """Cost of each outcome: prices, errors by verdict and class, then further ones. (m,)"""
        return np.concatenate([self.price, self.errors.T.ravel(), self.extra, self.person])

    def paid(self, name: str) -> float:
        """Mean cost of panels of a case."""
        outcome, first = self.outcomes[name], len(self.price) + self.errors.size
        further = outcome.mean[first : first + len(self.extra)] @ self.extra
        return float(outcome.shares(len(self.price)) @ self.price + further)

    @property
    def means(self) -> Float[np.ndarray, "c m"]:
        """Mean outcomes of all that can be judged, in their order. (c, m)"""
        return np.stack([self.outcomes[name].mean for name in self.names])

    def of(self, names: Collection[str]) -> "Candidates":
        """Only those of these names, in the same order."""
        judged = [name for name in self.names if name in names]
        left_out = [name for name in self.left_out if name in names]
        outcomes = {name: self.outcomes[name] for name in (*judged, self.practice)}
        return replace(self, names=judged, left_out=left_out, outcomes=outcomes)

    def cost(self, name: str) -> float:
        """Objective, lower is better: mean cost of a case, or 1 − F1."""
        mean = self.outcomes[name].mean
        if self.score == "cost":
            return float(mean @ self.unit_costs)
        hits, errors = self._of_f1(mean)
        return float(errors / (2 * hits + errors)) if hits + errors > 0 else 1.0

    def learned_enough(self, name: str) -> bool:
        """Whether as many rows of each class as an estimate needs hold each panel that it uses."""
        uses = np.append(self.outcomes[name].shares(len(self.price)) >= COMMON, True)
        return bool((self.held[uses] >= LEAST_ESS).all())

    def missed(self, name: str) -> float:
        """Share of the cases of the second of two classes that it decides for the first."""
        hit, miss = self.outcomes[name].mean[[len(self.price) + 3, len(self.price) + 1]]
        return float(max(miss, 0.0) / max(hit + miss, SMALLEST))

    def slope(self, name: str) -> Float[np.ndarray, " m"]:
        """Derivative of the score by each outcome. (m,)"""
        if self.score == "cost":
            return self.unit_costs
        mean = self.outcomes[name].mean
        hits, errors = self._of_f1(mean)
        denominator = max(2 * hits + errors, SMALLEST) ** 2
        slope, a = np.zeros(len(mean)), len(self.price)
        slope[[a + 1, a + 2]], slope[a + 3] = 2 * hits / denominator, -2 * errors / denominator
        return slope

    def _of_f1(self, mean: Float[np.ndarray, " m"]) -> tuple[float, float]:
        """Share of cases that are hits; share of misses and false alarms."""
        cells = mean[len(self.price) :]
        return max(float(cells[3]), 0.0), max(float(cells[1] + cells[2]), 0.0)

    def covariance(
        self, names: Sequence[str], unit: Float[np.ndarray, " m"] | None = None
    ) -> Float[np.ndarray, "c c"]:
        """Covariance of the scores, by the delta method, or of outcomes @ unit. (c, c)"""
        each = [(self.outcomes[n], self.slope(n) if unit is None else unit) for n in names]
        psi = np.stack([terms.influence @ slope for terms, slope in each])
        prior = np.stack([terms.prior @ slope for terms, slope in each])
        rows = psi.shape[1]
        if self.cluster is not None:
            psi = np.stack([np.bincount(self.cluster, terms) for terms in psi])
        n = psi.shape[1]
        return n / (n - 1) / rows**2 * (psi @ psi.T) + prior @ prior.T


def judged(
    paths: Mapping[str, Paths],
    missingness: RecordLaw,
    covariates: Float[np.ndarray, "n w"],
    price: Float[np.ndarray, " a"],
    errors: Float[np.ndarray, "k k"],
    *,
    practice: str,
    cluster: Int[np.ndarray, " n"] | None = None,
    score: Literal["cost", "f1"] = "cost",
    extra: ExtraCosts | None = None,
    person: float | None = None,
    exact: tuple[Float[np.ndarray, "k k"], Float[np.ndarray, "n k"]] | None = None,
) -> Candidates:
    """Outcomes of every candidate and of recorded practice.

    Args:
        paths: of each candidate and of practice, in the order of preference.
        missingness: model of it.
        covariates: columns that every record holds. (n, w)
        price: of the panels. (a,)
        errors: cost of a verdict (column) on a class (row). (k, k)
        practice: name of the recorded path: every record shows its end.
        cluster: rows of one number count as one, from 0 on; None: each for itself. (n,)
        score: quantity compared; see `Candidates`.
        extra: costs of panels beyond their prices; the prices hold no part of these.
        person: price of a case with the verdict k; None: no path has it.
        exact: of a numeric label, the largest costs of errors and the share of them that each
            verdict costs each row, by which rows are judged; `errors` are means.
    """
    within = {
        name: path if name == practice else path.within(missingness) for name, path in paths.items()
    }
    chance = {name: path_probability(path, missingness) for name, path in within.items()}
    weight = {name: end_weight(path, chance[name]) for name, path in within.items()}
    of_label = missingness.labels
    has = missingness.label >= 0
    each = np.ones(len(has)) if of_label is None else of_label.weight
    left_out = [
        name
        for name, path in within.items()
        if name != practice
        and not (
            supported(path, chance[name])
            and enough(
                (weight[name] * each)[has],
                missingness.label[has],
                path.requests_gappy(missingness)[has],
            )
        )
    ]
    within = {name: path for name, path in within.items() if name not in left_out}
    indicators = class_indicators(missingness, list(within.values()), len(errors))
    largest, relative = (errors, None) if exact is None else exact
    labels = Labels(indicators, missingness.label, relative=relative)
    if (
        exact is None
        and of_label is None
        and len(errors) == 2
        and not any(causes.label for causes in missingness.causes)
    ):  # else label enters
        ends = [weight[name] for name in within]
        labels = fit_labels(list(within.values()), ends, missingness.label, covariates)
    outcomes = {
        name: terms(
            path,
            chance[name],
            labels,
            price,
            errors,
            missingness.fold,
            further=_further(path, extra, len(errors), person),
        )
        for name, path in within.items()
    }
    if practice in outcomes and missingness.habitual.any() and not missingness.habitual.all():
        every = outcomes[practice]  # rows of a design are no practice
        outcomes[practice] = replace(every.of(missingness.habitual), prior=every.prior)
    names = [name for name in outcomes if name != practice]
    unit = np.zeros(0) if extra is None else extra.unit
    paid = np.array([] if person is None else [person], dtype=np.float64)
    held = _held(missingness, len(errors) if exact is None else 1)
    judged_by = outcomes, price, largest, practice, held
    return Candidates(names, left_out, *judged_by, cluster, score, unit, paid, relative)


def over_divisions(each: Sequence[Candidates]) -> Candidates:
    """The same candidates judged on several divisions into folds; those that all can judge."""
    first = each[0]
    names = [name for name in first.names if all(name in part.names for part in each)]
    who = [*names, *([first.practice] if first.practice in first.outcomes else [])]
    outcomes = {name: averaged([part.outcomes[name] for part in each]) for name in who}
    tried = dict.fromkeys(name for part in each for name in (*part.left_out, *part.names))
    left_out = [name for name in tried if name not in names]
    return replace(first, names=names, left_out=left_out, outcomes=outcomes)


def _held(missingness: RecordLaw, classes: int) -> Float[np.ndarray, "a1 g"]:
    """Rows of each class, in all folds but one, that hold each panel; last, any. (a + 1, g)"""
    has = missingness.label >= 0
    member = np.eye(classes)[missingness.label[has] % classes]
    observed = np.column_stack([missingness.observed[has], np.ones(has.sum())])
    return observed.T @ member * (1 - 1 / len(np.unique(missingness.fold)))


def _further(
    paths: Paths, extra: ExtraCosts | None, classes: int, person: float | None
) -> Float[np.ndarray, "n e"]:
    """Outcomes beyond panels and errors: costs of panels, and whether a case is referred."""
    blocks = [] if extra is None else [extra.outcomes(paths.acquired)]
    blocks += [] if person is None else [(paths.verdict == classes)[:, None]]
    return np.hstack([np.zeros((len(paths.verdict), 0)), *blocks])


def supported(paths: Paths, chance: Float[np.ndarray, "n a1"]) -> bool:
    """Whether enough records hold the panel of every step that at least `COMMON` of cases reach."""
    share, effective = step_support(paths, chance)
    return not ((share >= COMMON) & (effective < LEAST_AT_STEP)).any()


def enough(
    weight: Float[np.ndarray, " n"], label: Int[np.ndarray, " n"], requests: Bool[np.ndarray, " n"]
) -> bool:
    """Whether weights are of enough rows of every class, and no row carries too much of them.

    A class has too few where its mean weight is below `LEAST_OF_CLASS` of that of all other rows by
    more than `CLEAR` standard errors, as where a panel is recorded for one class alone; of the rows
    that request an incomplete panel, as all others are followed whatever their class.
    """
    if effective_sample_size(weight) < LEAST_ESS or largest_weight_share(weight) > LARGEST_SHARE:
        return False
    label, weight = label[requests], weight[requests]
    if not requests.any():
        return True
    rows, total = np.bincount(label), np.bincount(label, weight)
    of_class = total / np.maximum(rows, 1)
    others = (total.sum() - total) / np.maximum(len(label) - rows, 1)
    clear = others - of_class > CLEAR * weight.std(ddof=1) / np.sqrt(np.maximum(rows, 1))
    return not ((rows > 0) & clear & (of_class < LEAST_OF_CLASS * others)).any()


class Saving(NamedTuple):
    """Of the named policy over practice; each end one-sided, for all of the short list at once."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Choice:
    """The policy that is named, and how sure that is.

    Attributes:
        candidates: all of them.
        margin: share of the cost, or of F1, that counts as nothing.
        compared: the candidates with each other.
        beyond: candidates that miss more cases than is allowed; they are not named.
        short_list: those that may be the best of the others.
        last: the comparison of these alone.
        place: of the named one among them.
        saving: of the score over practice.
        fewer: errors of each kind, of two classes, that it makes less often than practice: by the
            number of the outcome.
        repeated: share of samples of as many rows in which it would be named, its candidates as
            they are; None where unit costs are uncertain.
        refuted: whether the records contradict the missingness model.
    """

    candidates: Candidates
    margin: float
    compared: Comparison
    beyond: list[str]
    short_list: list[str]
    last: Comparison
    place: int
    saving: Saving
    fewer: Mapping[int, Saving]
    repeated: float | None
    refuted: bool

    @property
    def policy(self) -> str:
        """Its name."""
        return self.short_list[self.place]

    @property
    def cost(self) -> float:
        """Its mean cost of a case."""
        return self.candidates.cost(self.policy)

    @property
    def half_width(self) -> float:
        """Of its interval, which holds whichever candidate was named."""
        return float(self.compared.simultaneous[self.candidates.names.index(self.policy)])

    @property
    def bound(self) -> float:
        """Upper bound on the saving of another candidate."""
        return float(self.last.bound[self.place])

    @property
    def state(self) -> State:
        """How sure it is."""
        terms = [self.candidates.outcomes[name] for name in self.candidates.names]
        if self.candidates.left_out and all((part.weight == 1).all() for part in terms):
            return "open"  # of policies that request panels with missing values, none can be judged
        return state_of(self.bound, self.allowed, refuted=self.refuted)

    @property
    def allowed(self) -> float:
        """Largest saving of another candidate that counts as negligible."""
        base = self.cost if self.candidates.score == "cost" else 1 - self.cost
        return self.margin * base


def choose(
    candidates: Candidates,
    margin: float,
    rng: np.random.Generator,
    box: PriceBox | None = None,
    *,
    limits: Mapping[str, tuple[Candidates, float]] | None = None,
    tried: Candidates | None = None,
    most: float = np.inf,
    refuted: bool = False,
) -> Choice:
    """Name the first candidate of the order that the lowest one is not clearly below.

    Candidates that are worse than another one are left out, and the others compared again, until
    all may be the best  [closed tests; Marcus, Peritz and Gabriel, Biometrika 63, 1976]. Of these
    `_named` names one; where unit costs are uncertain, it is the one of least worst-case regret
    over the ranges.

    Args:
        candidates: in the order of preference.
        margin: share of the cost that counts as nothing.
        rng: of the simultaneous quantiles.
        box: ranges of unit costs; None where all are known.
        limits: group ("" for all cases) → candidates there, and most of the second of two classes
            that they may miss; who misses more is not named.
        tried: of which the candidates were selected by their scores: intervals hold for all of
            them; None: nothing was selected.
        most: score above which none is named, unless it is the lowest.
        refuted: whether the records contradict the missingness model.

    Raises:
        DataError: no policy can be judged, or each misses more.
    """
    names = list(candidates.names)
    if not names:
        raise DataError(
            "too few records follow any of the policies for an estimate, which needs "
            f"{LEAST_ESS:g}; allowed are more cases, or policies that acquire fewer panels"
        )
    every = last = _compare(candidates, names, rng)
    if tried is not None and len(tried.names) > len(names):
        widest = _compare(tried, list(tried.names), rng).simultaneous
        every = replace(every, simultaneous=widest[[tried.names.index(name) for name in names]])
    if limits:
        over = {n: {who: c.missed(n) - most for who, (c, most) in limits.items()} for n in names}
        names = [name for name in names if max(over[name].values()) <= 0]
        if not names:
            least = min(over, key=lambda name: max(over[name].values()))
            who = max(over[least], key=lambda group: over[least][group])
            group, most_missed = limits[who]
            raise DataError(
                f"most_missed{f' of {who!r}' if who else ''} is {most_missed:g}, and every policy "
                f"that can be judged misses more of the positive cases; {least!r} misses fewest, "
                f"{group.missed(least):.3f}"
            )
        last = _compare(candidates, names, rng)
    able, first = names, last
    beyond = [name for name in candidates.names if name not in names]
    while not last.not_worse.all():
        names = [name for name, able in zip(names, last.not_worse, strict=True) if able]
        last = _compare(candidates, names, rng)
    place, repeated = _named(candidates, names, last, np.zeros(len(names)), most), None
    if box is not None and candidates.score == "cost":
        regret = dict(zip(candidates.names, box.worst_regret(candidates.means), strict=True))
        place = int(np.argmin([regret[name] for name in names]))
    saved = partial(_saving, candidates, names, place, rng=rng)
    a, m = len(candidates.price), len(candidates.unit_costs)
    wrong = [a + 1, a + 2] if len(candidates.errors) == 2 else []
    saving, fewer = saved(), {k: saved(np.eye(m)[k]) for k in wrong}
    if box is None or candidates.score != "cost":
        errors = gaussian(candidates.covariance(able), rng)[:REPETITIONS]
        again = [able[_named(candidates, able, first, error)] for error in errors]
        repeated = again.count(names[place]) / REPETITIONS
    over = saving, fewer, repeated, refuted
    return Choice(candidates, margin, every, beyond, names, last, place, *over)


def _named(
    candidates: Candidates,
    names: list[str],
    compared: Comparison,
    error: Float[np.ndarray, " k"],
    most: float = np.inf,
) -> int:
    """Place of the candidate that is named, were the estimates to differ from these by `error`.

    Of those that may be the best it is the first in the order that the lowest is not clearly below,
    by `AGAINST` standard errors of the difference: candidates that order panels case by case come
    first, and include the simpler ones that follow. What they gain by that, few rows cannot teach:
    where the first has not learned from enough, `WITHIN` takes the place of `AGAINST`.
    """
    difference = compared.difference + error[:, None] - error
    cost = np.array([candidates.cost(name) for name in names]) + error
    may = (difference <= compared.most - compared.difference + SMALLEST).all(axis=1)
    may &= cost <= max(most, float(cost[may].min()))
    within = AGAINST if candidates.learned_enough(names[int(may.argmax())]) else WITHIN
    lowest = int(np.where(may, cost, np.inf).argmin())
    near = difference[:, lowest] <= within * compared.std_error[:, lowest] + SMALLEST
    return int((may & near).argmax())


def _saving(
    candidates: Candidates,
    names: list[str],
    place: int,
    unit: Float[np.ndarray, " m"] | None = None,
    *,
    rng: np.random.Generator,
) -> Saving:
    """Of the score, or of outcomes @ unit."""
    who = [candidates.practice, *names]
    error, quantile = savings_quantile(candidates.covariance(who, unit), rng)
    before, now = (
        candidates.cost(name) if unit is None else float(candidates.outcomes[name].mean @ unit)
        for name in (candidates.practice, names[place])
    )
    half = quantile * float(error[1 + place])
    return Saving(before - now, before - now - half, before - now + half)


def _compare(candidates: Candidates, names: list[str], rng: np.random.Generator) -> Comparison:
    cost = np.array([candidates.cost(name) for name in names])
    return compare(cost, candidates.covariance(names), rng)


def price_range(choice: Choice, along: Float[np.ndarray, " m"], now: float) -> tuple[float, float]:
    """Values of one unit cost between which the named policy stays within the margin. (2,)

    Costs are linear in it; the policies stay as they are. The excess of its estimate over the
    lowest now is added to the margin.

    Args:
        choice: the answer.
        along: change of `Candidates.unit_costs` with it: 1 at its place, or at several. (m,)
        now: its value.
    """
    candidates, named = choice.candidates, choice.candidates.outcomes[choice.policy]
    unit, low, high = candidates.unit_costs, 0.0, np.inf
    cost = choice.cost
    others = [name for name in candidates.names if name not in choice.beyond]
    least = min(map(candidates.cost, others))
    share = choice.margin + ((cost - least) / cost if cost > 0 else 0.0)
    for name in others:
        # (1 − share) · named(t) ≤ other(t), both linear in t
        difference = (1 - share) * named.mean - candidates.outcomes[name].mean
        slope = float(difference @ along)
        rest = float(difference @ unit) - slope * now
        if abs(slope) <= SMALLEST:
            continue
        edge = -rest / slope
        low, high = (low, min(high, edge)) if slope > 0 else (max(low, edge), high)
    return min(low, now), max(high, now)


def tipping_gamma(choice: Choice, most: float) -> float:
    """Γ at which hidden causes could make the named policy as expensive as one of known cost.

    Odds of missingness that hidden causes shift by Γ at most move a weight w to between 1 + (w − 1)
    / Γ and 1 + Γ (w − 1)  [Tan, JASA 101, 2006]; only the policy that every record shows is known
    exactly: practice and policies that request no incomplete panel. NaN: up to `most` it stays
    cheaper, or it is known exactly itself.
    """
    candidates, unit = choice.candidates, choice.candidates.unit_costs
    exact = [
        name
        for name, outcome in candidates.outcomes.items()
        if name != choice.policy and (outcome.weight == 1).all()
    ]
    named = candidates.outcomes[choice.policy]
    beyond = np.maximum(named.weight - 1, 0.0)
    if not exact or not beyond.any():
        return float("nan")
    limit = min(candidates.cost(name) for name in exact)
    followed = named.weight > 0
    saving = np.where(followed, (named.last - named.first) @ unit, 0.0)

    def worst(gamma: float) -> float:
        weight = 1 + np.where(saving > 0, gamma, 1 / gamma) * beyond
        return choice.cost + float(((weight - named.weight) * saving * followed).mean())

    if worst(most) < limit:
        return float("nan")
    low, high = 1.0, most
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if worst(middle) >= limit else (middle, high)
    return high


def rows_for_margin(choice: Choice) -> float:
    """Rows of the same kind at which the bound would come within the margin; NaN where it cannot.

    Errors shrink with the root of the rows, estimated differences stay.
    """
    rows = len(choice.candidates.outcomes[choice.policy].weight)
    allowed = choice.allowed
    difference = choice.last.difference[choice.place]
    spread = np.maximum(choice.bound - np.maximum(difference.max(), 0.0), 0.0)
    room = allowed - max(float(difference.max()), 0.0)
    if choice.bound <= allowed:
        return float(rows)
    return float(rows * (spread / room) ** 2) if room > 0 else float("nan")
