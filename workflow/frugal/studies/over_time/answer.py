"""Answers on policies over time in three steps: learn policies, fit nuisances, judge the cases.

Each step reads the result of the one before, so a workflow may keep it. All of them derive
their draws from one seed, and so share the folds of the units.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import ConfigError, DataError, NoSupportError
from frugal.judge.comparisons import compare
from frugal.judge.intervals import ROUNDING, normal_interval
from frugal.judge.sensitivity import Rival, Weighted, tipping_gamma
from frugal.judge.verdicts import LEAST_ESS, how_sure, interval, number, of_cost, state_of
from frugal.studies.over_time.data import TimedData
from frugal.studies.over_time.estimates import (
    READ,
    TIMED_ESTIMATORS,
    TimedCase,
    TimedEstimate,
    covariance_over_draws,
    estimate_over_time,
    label_shift,
    median_over_draws,
    support_by_window,
)
from frugal.studies.over_time.history_fits import TimedFit, cases_over_time, unit_folds
from frugal.studies.over_time.order_learning import learn_guarded
from frugal.studies.over_time.order_support import OrderSupport, find_support
from frugal.studies.over_time.orders import LEARNED, PRACTICE, LearnedOrders, TimedPaths, follow
from frugal.studies.over_time.records import TimedPolicy

MOST_GAMMA = 20.0  # up to which hidden causes are tried


@dataclass(frozen=True, eq=False)
class TimedQuestion:
    """Policies over time, and how they are judged.

    Attributes:
        data: records and costs.
        policies: fixed ones, each with a name of its own.
        fit: how nuisances are fitted.
        seed: of folds and learners.
        support: regions without records, see `within_support`.

    Raises:
        ConfigError: no policy, a name that occurs twice, or a label of other than two classes.
        DataError: a panel is never recorded, or units of one class are missing.
    """

    data: TimedData
    policies: Sequence[TimedPolicy]
    fit: TimedFit
    seed: int
    support: OrderSupport = field(default_factory=OrderSupport)

    def __post_init__(self) -> None:
        names, classes = [policy.name for policy in self.policies], self.data.records.classes
        if not names or len({*names, PRACTICE, LEARNED}) < len(names) + 2:
            raise ConfigError(
                f"policies are named {names}; allowed is one or more, each with a name of its "
                f"own, none {PRACTICE!r} or {LEARNED!r}"
            )
        if len(classes) != 2:
            raise ConfigError(f"the label has {len(classes)} classes; over time it has two")
        records = self.data.records
        recorded = records.recorded.any(axis=(0, 1))
        if not recorded.all():
            panel = records.panels[int((~recorded).argmax())]
            raise DataError(
                f"panel {panel!r} is recorded in no unit; check the items of its columns, or leave "
                "it out"
            )
        present = np.unique(records.label[~records.censored])
        if len(present) < 2:
            raise DataError(
                f"{'no unit has' if not len(present) else 'all units have the same'} label of "
                f"{classes[0]!r} and {classes[1]!r}; policies are judged where both occur"
            )

    def within_support(self, *, learned: bool) -> "TimedQuestion":
        """The same of policies that order no panel where records never hold it.

        Args:
            learned: a policy is learned, too.
        """
        parts = (self.data.records, self.data.costs, self.policies, self.data.levels)
        return self.within(find_support(*parts, learned=learned))

    def within(self, support: OrderSupport) -> "TimedQuestion":
        """The same within a support that was found."""
        support = support.of_plans(self.data.records, self.data.costs, self.policies)
        return replace(self, policies=support.within(self.policies), support=support)

    def generator(self, draw: int = 0) -> tuple[np.random.Generator, np.ndarray]:
        """A generator, and the fold of each unit, its first numbers; of a draw of folds."""
        rng = np.random.default_rng([self.seed, 3, draw] if draw else self.seed)
        return rng, unit_folds(self.data.records.cluster, self.fit.folds, rng)

    def follow(self, policies: Sequence[TimedPolicy | None]) -> list[TimedPaths]:
        """Policies along every record; None orders the recorded panels."""
        return [follow(self.data.records, policy, self.data.costs) for policy in policies]


def learn_policies(
    question: TimedQuestion, progress: Callable[..., Any]
) -> tuple[LearnedOrders, list[LearnedOrders]]:
    """A policy learned from all units, and for each fold one that is learned from the others.

    Each orders one of the sets of panels that the fixed policies order, or none, or is one of them.
    """
    records, costs, fold = question.data.records, question.data.costs, question.generator()[1]
    parts = [fold >= 0, *(fold != number for number in np.unique(fold))]
    streams = np.random.default_rng([question.seed, 1]).spawn(question.fit.folds + 1)
    policies = [
        learn_guarded(
            records.take(part), costs, question.policies, question.fit, stream, question.support
        )
        for part, stream in progress(
            list(zip(parts, streams, strict=False)), desc="policies learned"
        )
    ]
    return policies[0], policies[1:]


def fit_cases(
    question: TimedQuestion, learned: Sequence[LearnedOrders], progress: Callable[..., Any]
) -> dict[str, list[TimedCase]]:
    """Cases of each fixed policy, of the learned one, if any, and of recorded practice, by draw.

    A learned policy is judged on the folds of the first draw, by which it was learned; the folds of
    its nuisances are drawn anew each time. So no fit reads a unit that it judges.

    Args:
        question: records and fixed policies.
        learned: for each fold the policy that is learned from the others; none: no learned one.
        progress: bar over policies.
    """
    records, costs, fit = question.data.records, question.data.costs, question.fit
    paths: list[Any] = question.follow([*question.policies, None])
    if learned:
        paths.append(question.follow(learned))
    names = (*(policy.name for policy in question.policies), PRACTICE, LEARNED)
    by_name: dict[str, list[TimedCase]] = {name: [] for name in names[: len(paths)]}
    for draw in range(fit.draws):
        rng, fold = question.generator(draw)
        first = question.generator()[1]
        cases = cases_over_time(
            records, costs, paths, fit, rng, fold=fold, progress=progress, learned_fold=first
        )
        for name, case in zip(by_name, cases, strict=True):
            by_name[name].append(case)
    by_name[PRACTICE] = by_name.pop(PRACTICE)  # the last row
    return by_name


@dataclass(frozen=True, eq=False)
class TimedVerdict:
    """Tables and sentences of an answer; see `library.over_time.TimedAnswer`.

    Attributes:
        outcomes, estimates, support: tables.
        named: the policy of least cost; None where too few records contain any.
        tipping_gamma: NaN where none is named, infinite beyond 20.
        sentences: four parts of the answer.
    """

    outcomes: pd.DataFrame
    estimates: pd.DataFrame
    support: pd.DataFrame
    named: str | None
    tipping_gamma: float
    sentences: tuple[str, ...]


def judge_cases(
    data: TimedData,
    cases: Mapping[str, Sequence[TimedCase]],
    margin: float,
    seed: int,
    support: OrderSupport | None = None,
) -> TimedVerdict:
    """Costs by every estimator, their comparison, and the answer in words.

    Costs are medians over draws of folds; all else is read off the draw of the median.

    Args:
        data: records and costs.
        cases: of each draw of folds, by name of the policy, recorded practice included.
        margin: share of the cost that counts as nothing.
        seed: of the simultaneous comparison.
        support: regions without records, and plans without an estimate; None: none.
    """
    support = support or OrderSupport()
    readings, reasons, rows, middle = {}, {}, [], {}
    for name, draws in cases.items():
        middle[name] = draws[0]
        for estimator in TIMED_ESTIMATORS:
            try:
                each = [estimate_over_time(case, estimator) for case in draws]
            except NoSupportError as error:
                reasons[name, estimator] = str(error)
                continue
            result, at = median_over_draws(each)
            if estimator == READ:
                readings[name], middle[name] = each, draws[at]
            low, high = result.interval()
            rows.append(
                {
                    "policy": name,
                    "estimator": estimator,
                    "cost": result.mean[0],
                    "std_error": result.std_error[0],
                    "ci_low": low[0],
                    "ci_high": high[0],
                    "records": result.records,
                    "effective": result.effective,
                }
            )
    judged = [_outcome(data, name, case, readings, reasons) for name, case in middle.items()]
    lacking = [{"policy": name, **plan.row} for name, plan in support.plans.items()]
    outcomes = pd.DataFrame([*judged[:-1], *lacking, judged[-1]])  # practice is last
    share = {name: plan.share for name, plan in support.plans.items()}
    outcomes["judged_share"] = outcomes["policy"].map(share).fillna(1.0)
    frames = []
    for name, case in middle.items():
        each = range(case.reach.shape[1] - 1) if {name, PRACTICE} <= set(readings) else ()
        gamma = [tipping_gamma_of(case, middle[PRACTICE], t) for t in each] or np.nan
        columns = {**support_by_window(case), "tipping_gamma": gamma, "policy": name}
        frames.append(pd.DataFrame(columns).rename_axis("window"))
    windows = pd.concat(frames).reset_index()
    rng = np.random.default_rng([seed, 2])
    name, gamma, words = _sentences(data, middle, readings, outcomes, windows, margin, rng)
    words = (" ".join([words[0], *support.sentences]), *words[1:])
    return TimedVerdict(outcomes, pd.DataFrame(rows), windows, name, gamma, words)


def _outcome(
    data: TimedData,
    name: str,
    case: TimedCase,
    readings: Mapping[str, Sequence[TimedEstimate]],
    reasons: Mapping[tuple[str, str], str],
) -> dict[str, Any]:
    """The row of a policy; see `TimedAnswer`."""
    row: dict[str, Any] = {
        "policy": name,
        **dict.fromkeys(("cost", "ci_low", "ci_high", "acquisition", "errors"), np.nan),
        **dict.fromkeys(("saving", "saving_low", "saving_high", "effective"), np.nan),
        **dict.fromkeys(("label_shift", "label_shift_low", "label_shift_high"), np.nan),
        "contained": int(case.complete.sum()),
        "equal": int(case.exact.sum()),
        "reason": reasons.get((name, READ), ""),
    }
    if name not in readings:
        return row
    result = median_over_draws(readings[name])[0]
    if result.effective < LEAST_ESS:
        row["reason"] = f"{result.effective:.0f} effective records; {LEAST_ESS:.0f} are needed"
    low, high = result.interval()
    row |= {"cost": result.mean[0], "ci_low": low[0], "ci_high": high[0]}
    row |= {"acquisition": result.mean[1], "errors": result.mean[2], "effective": result.effective}
    if not data.records.censored.any():
        shift, error = label_shift(case, data.records.label == 1)
        ends = normal_interval(np.array([shift]), np.array([error]), level=0.95)
        row |= {"label_shift": shift, "label_shift_low": ends[0][0], "label_shift_high": ends[1][0]}
    if PRACTICE in readings:
        pair = [readings[PRACTICE], readings[name]]
        contrast = np.array([1.0, -1.0])
        saving = contrast @ [median_over_draws(each)[0].mean[:1] for each in pair]
        error = np.sqrt(np.maximum(contrast @ covariance_over_draws(pair) @ contrast, 0.0))
        ends = normal_interval(saving, error[None], level=0.95)
        row |= {"saving": saving[0], "saving_low": ends[0][0], "saving_high": ends[1][0]}
    return row


def _sentences(
    data: TimedData,
    cases: Mapping[str, TimedCase],
    readings: Mapping[str, Sequence[TimedEstimate]],
    outcomes: pd.DataFrame,
    support: pd.DataFrame,
    margin: float,
    rng: np.random.Generator,
) -> tuple[str | None, float, tuple[str, ...]]:
    """The policy of least cost, the tipping Γ, and four parts of the answer."""
    rows = outcomes.set_index("policy")
    able = [str(n) for n, why in rows["reason"].items() if n != PRACTICE and why == ""]
    if not able:
        sentence = "Open: no policy is contained in enough records; see `outcomes`."
        return None, float("nan"), (sentence,)
    unit = data.cost_unit
    each = [readings[name] for name in able]
    cost = np.array([rows["cost"][name] for name in able])
    compared = compare(cost, covariance_over_draws(each), rng)
    place = int(cost.argmin())
    name, bound = able[place], float(compared.bound[place])
    others = [able[k] for k in np.argsort(cost) if compared.not_worse[k] and k != place]
    row: dict[Any, Any] = rows.loc[name].to_dict()
    practice: dict[Any, Any] = rows.loc[PRACTICE].to_dict()
    gamma = tipping_gamma_of(cases[name], cases[PRACTICE])
    odds = f"more than {MOST_GAMMA:.0f}" if np.isinf(gamma) else f"{gamma:.2f}"
    alone = support[support["policy"] == name].set_index("window")["tipping_gamma"].dropna()
    if len(alone) > 1 and np.isfinite(alone.min()):
        odds += f", or those of window {alone.idxmin()} alone by {alone.min():.2f}"
    saved = f"{number(row['saving'])} ({interval(row['saving_low'], row['saving_high'])})"
    apart = [f"{n} ({why})" for n, why in rows["reason"].items() if n != PRACTICE and why != ""]
    unjudged = f" Not evaluated: {'; '.join(apart)}." if apart else ""
    start = f"Use {name}"
    if row["saving"] < 0:
        start = f"Of the policies {name} costs least, and recorded practice less"
    sentences = (
        f"{start}: {number(row['cost'])} {unit} a unit "
        f"({interval(row['ci_low'], row['ci_high'])}); recorded practice costs "
        f"{number(practice['cost'])}, a saving of {saved}.{unjudged}",
        how_sure(
            state_of(bound, margin * float(cost[place])),
            [name, *others],
            most=of_cost(bound, float(cost[place]), unit, margin),
            margin=margin,
            value_of_knowing=of_cost(compared.worth, 0.0, unit),
        ),
        f"It rests on {int(row['contained']):,} of {len(data.records):,} records that contain the "
        f"panels ordered by {name} (effective {row['effective']:,.0f}; {int(row['equal']):,} equal "
        "them), and on two assumptions: orders depend on the recorded history only, and measuring "
        f"changes no outcome.{_shift(row)}",
        f"Hidden causes change it if they shift the odds that a record contains these panels by a "
        f"factor of {odds}.",
    )
    return name, gamma, sentences


def _shift(row: Mapping[Any, Any]) -> str:
    """Whether the records contradict the first assumption, in a sentence."""
    shift, low, high = (100 * row[f"label_shift{end}"] for end in ("", "_low", "_high"))
    if not low <= high:  # unknown under censoring
        return ""
    verb = "do not contradict" if low - ROUNDING <= 0 <= high + ROUNDING else "contradict"
    return (
        f" The records {verb} the first: their weighted share of positive labels differs from that "
        f"of all records by {shift:+.1f} percentage points ({low:+.1f} to {high:+.1f})."
    )


def tipping_gamma_of(named: TimedCase, practice: TimedCase, window: int | None = None) -> float:
    """Γ at which the named policy could cost more than recorded practice, by weighting.

    Args:
        named: case of that policy.
        practice: case of recorded practice.
        window: where alone hidden causes shift the odds; None: those of all orders together.

    Returns:
        Infinite beyond `MOST_GAMMA`; NaN where no record that was followed could lack a panel.
    """
    weighted = []
    for case in (named, practice):
        reach = case.divisor
        chance = reach[:, -1] if window is None else reach[:, window + 1] / reach[:, window]
        weight = np.where(case.complete, 1 / reach[:, -1], 0.0)
        if case is named and window is not None and (chance[case.complete] == 1).all():
            return float("nan")
        weighted.append(Weighted.of(case.outcome[:, 0], weight, chance, case.cluster))
    never = np.zeros(len(named.complete), dtype=bool)
    return tipping_gamma(weighted[0], [Rival(weighted[1], never)], MOST_GAMMA)[0]
