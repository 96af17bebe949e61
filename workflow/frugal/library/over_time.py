"""When to measure again: policies over time, judged on records of units in windows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from frugal.core.errors import ConfigError, NoSupportError
from frugal.core.schema_check import read_yaml
from frugal.library.asked import require

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from frugal.acquire.over_time import TreeOrders
    from frugal.core.over_time import TimedPolicy
    from frugal.data.over_time import TimedData
    from frugal.judge.over_time import TimedCase, TimedEstimate

MOST_GAMMA = 20.0  # up to which hidden causes are tried


def load_over_time(
    path: str | Path,
    *,
    hours: float | int | None = None,
    static: Sequence[str] = (),
    data_mirror: str | Path | None = None,
) -> "TimedData":
    """Records over time: units in windows of equal length.

    Args:
        path: YAML of two long tables (docs/how-to/over_time.md), which takes none of the other
            arguments; or YAML of a data set of stays, `source.format.kind: stays`.
        hours: of stays, length of a window.
        static: of stays, columns known at the start.
        data_mirror: of stays, folder with the published files.

    Returns:
        Records, costs and `remarks`, a sentence for each kind of row that was left out.

    Raises:
        ConfigError, DataError: a sentence with the key or file, the value found and allowed values.
    """
    from frugal.data.over_time import read_over_time, stays_over_time

    require("path", path, (str, Path), "the path of a YAML")
    document = read_yaml(Path(path))
    if not (isinstance(document, dict) and "source" in document):
        return read_over_time(Path(path))
    from frugal.data.description import load_description
    from frugal.data.raw import locate_file

    description = load_description(Path(path))
    if hours is None or data_mirror is None:
        raise ConfigError(
            "hours or data_mirror is None; records of stays need the length of a window and the "
            "folder of the published files"
        )
    paths = {}
    for file in description.source.files:
        place = locate_file(description, file.name, data_mirror=Path(data_mirror))
        if place is not None:
            paths[file.name] = place
    return stays_over_time(description, paths, hours=hours, static=static)


def order_plan(
    data: "TimedData",
    name: str,
    at: Mapping[int, Sequence[str]] | None = None,
    *,
    again: Sequence[Mapping[str, Any]] = (),
    stop: int | None = None,
) -> "TimedPolicy":
    """A fixed schedule of panels, and panels that are repeated, always or while a value is high.

    Args:
        data: from `load_over_time`.
        name: of the plan, in tables.
        at: window, from 0 on → panels ordered in it.
        again: panels ordered repeatedly; each has `panels`, `every` (windows) and, if it depends on
            the last value, `above` or `below`: column and limit, such as `("lactate", 2)`.
        stop: window before which it decides; None: after the last one.

    Raises:
        ConfigError: a panel, column, window or key does not exist.
    """
    from frugal.acquire.over_time import plan, repeat

    for entry in again:
        if strange := set(entry) - {"panels", "every", "above", "below"}:
            raise ConfigError(
                f"again has key {sorted(strange)[0]!r}; allowed are panels, every, above, below"
            )
    repeats = [repeat(data.records, **entry) for entry in again]
    return plan(data.records, name, at, repeats, stop)


@dataclass(frozen=True, eq=False, repr=False)
class TimedAnswer:
    """Policies over time, judged on the same records.

    Attributes:
        outcomes: a row for each policy and for recorded practice: cost with its interval, parts of
            acquisition and errors, saving against recorded practice with its interval, records that
            contain and that equal the ordered panels, effective records; NaN with a `reason` where
            too few records contain them. `label_shift`, with its interval, is the share of positive
            labels in the weighted records less that in all: zero, if orders depend on the recorded
            history only.
        estimates: the cost of each policy by every estimator, with standard errors.
        support: by policy and window: units at risk, records that contain all that was ordered, and
            probabilities that they do.
        tipping_gamma: factor on the odds that a record contains the ordered panels, by which
            hidden causes must shift them until the named policy costs as much as recorded practice,
            by weighting; infinite beyond 20, NaN where no policy is named.
        learned: the policy learned from all units; None where none was asked for.
    """

    outcomes: "pd.DataFrame"
    estimates: "pd.DataFrame"
    support: "pd.DataFrame"
    tipping_gamma: float
    learned: "TreeOrders | None"
    _sentences: tuple[str, ...]

    def summary(self) -> str:
        """The policy of least cost, how sure, what it rests on, what would change it."""
        return "\n".join(self._sentences)


def over_time(
    data: "TimedData",
    policies: Sequence["TimedPolicy"],
    *,
    method: Literal["boosting", "linear"] = "boosting",
    folds: int = 3,
    margin: float = 0.05,
    seed: int = 0,
    learned: bool = False,
) -> TimedAnswer:
    """Costs of policies over time, by the semi-offline doubly robust estimator.

    Every policy decides in the end by a cross-fitted model of the label, fitted to its final states
    on records that contain its orders, weighted to represent all units. Intervals take nuisances as
    known, and units of a cluster as one.

    Args:
        data: from `load_over_time`.
        policies: from `order_plan`, or objects of one's own with `name` and `order(state)`.
        method: of the nuisances: boosted trees, or logistic and ridge regressions.
        folds: of cross-fitting.
        margin: share of the cost that counts as nothing.
        seed: of folds and learners.
        learned: also learn a policy, which orders one of the sets of panels that `policies` order,
            or none, in each window; it is learned for each fold from the others, and judged on it.

    Raises:
        ConfigError: no policy, a name that occurs twice, or an unknown method.
        DataError: a policy returns no truth values.
        NoSupportError: no policy is contained in enough records.
    """
    import numpy as np

    from frugal.acquire.over_time import LEARNED, PRACTICE, follow
    from frugal.judge.history_fits import TimedFit, cases_over_time, ordered_sets, unit_folds
    from frugal.judge.order_learning import learn_orders

    names, records = [policy.name for policy in policies], data.records
    if not names or len({*names, PRACTICE, LEARNED}) < len(names) + 2:
        raise ConfigError(
            f"policies are named {names}; allowed is one or more, each with a name of its own, "
            f"none {PRACTICE!r} or {LEARNED!r}"
        )
    if method not in ("boosting", "linear"):
        raise ConfigError(f"method is {method!r}; allowed are 'boosting' and 'linear'")
    if len(records.classes) != 2:
        raise ConfigError(f"the label has {len(records.classes)} classes; over time it has two")
    fit = TimedFit(method=method, folds=folds)
    rng = np.random.default_rng(seed)
    fold = unit_folds(records.cluster, folds, rng)
    paths: list[Any] = [follow(records, policy, data.costs) for policy in (*policies, None)]
    best = None
    if learned:
        sets = ordered_sets(paths)[0]
        streams = np.random.default_rng([seed, 1]).spawn(folds + 1)
        parts = [fold >= 0, *(fold != number for number in np.unique(fold))]
        best, *others = (
            learn_orders(records.take(part), data.costs, sets, fit, stream)
            for part, stream in zip(parts, streams, strict=False)
        )
        paths.append([follow(records, policy, data.costs) for policy in others])
    cases = cases_over_time(records, data.costs, paths, fit, rng, fold=fold)
    by_name = dict(zip((*names, PRACTICE, LEARNED), cases, strict=False))
    by_name[PRACTICE] = by_name.pop(PRACTICE)  # the last row
    return _answer(data, by_name, margin, rng, best)


def _answer(
    data: "TimedData",
    cases: Mapping[str, "TimedCase"],
    margin: float,
    rng: "np.random.Generator",
    learned: "TreeOrders | None",
) -> TimedAnswer:
    import numpy as np
    import pandas as pd

    from frugal.judge.over_time import TIMED_ESTIMATORS, estimate_over_time, support_by_window

    readings, reasons, rows = {}, {}, []
    for name, case in cases.items():
        for estimator in TIMED_ESTIMATORS:
            try:
                result = estimate_over_time(case, estimator)
            except NoSupportError as error:
                reasons[name, estimator] = str(error)
                continue
            readings[name, estimator] = result
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
    outcomes = pd.DataFrame([_outcome(data, name, cases, readings, reasons) for name in cases])
    support = pd.concat(
        [
            pd.DataFrame(support_by_window(case)).assign(policy=name).rename_axis("window")
            for name, case in cases.items()
        ]
    ).reset_index()
    sentences, gamma = _sentences(data, cases, readings, outcomes, margin, rng)
    return TimedAnswer(
        outcomes, pd.DataFrame(rows), support, float(np.float64(gamma)), learned, sentences
    )


def _outcome(
    data: "TimedData",
    name: str,
    cases: Mapping[str, "TimedCase"],
    readings: Mapping[tuple[str, str], "TimedEstimate"],
    reasons: Mapping[tuple[str, str], str],
) -> dict[str, Any]:
    """The row of a policy; see `TimedAnswer`."""
    import numpy as np

    from frugal.acquire.over_time import PRACTICE
    from frugal.judge.intervals import mean_error, normal_interval
    from frugal.judge.over_time import READ, label_shift
    from frugal.judge.verdicts import LEAST_ESS

    case = cases[name]
    row: dict[str, Any] = {
        "policy": name,
        **dict.fromkeys(("cost", "ci_low", "ci_high", "acquisition", "errors"), np.nan),
        **dict.fromkeys(("saving", "saving_low", "saving_high", "effective"), np.nan),
        **dict.fromkeys(("label_shift", "label_shift_low", "label_shift_high"), np.nan),
        "contained": int(case.complete.sum()),
        "equal": int(case.exact.sum()),
        "reason": reasons.get((name, READ), ""),
    }
    result, practice = readings.get((name, READ)), readings.get((PRACTICE, READ))
    if result is None:
        return row
    if result.effective < LEAST_ESS:
        row["reason"] = f"{result.effective:.0f} effective records; {LEAST_ESS:.0f} are needed"
    low, high = result.interval()
    row |= {"cost": result.mean[0], "ci_low": low[0], "ci_high": high[0]}
    row |= {"acquisition": result.mean[1], "errors": result.mean[2], "effective": result.effective}
    if not data.records.censored.any():
        shift, error = label_shift(case, data.records.label == 1)
        ends = normal_interval(np.array([shift]), np.array([error]), level=0.95)
        row |= {"label_shift": shift, "label_shift_low": ends[0][0], "label_shift_high": ends[1][0]}
    if practice is not None:
        error = mean_error(practice.psi[:, :1] - result.psi[:, :1], case.cluster)
        saving = practice.mean[:1] - result.mean[:1]
        ends = normal_interval(saving, error, level=0.95)
        row |= {"saving": saving[0], "saving_low": ends[0][0], "saving_high": ends[1][0]}
    return row


def _sentences(
    data: "TimedData",
    cases: Mapping[str, "TimedCase"],
    readings: Mapping[tuple[str, str], "TimedEstimate"],
    outcomes: "pd.DataFrame",
    margin: float,
    rng: "np.random.Generator",
) -> tuple[tuple[str, ...], float]:
    """Four parts of the answer, and the tipping Γ."""
    import numpy as np

    from frugal.acquire.over_time import PRACTICE
    from frugal.judge.comparisons import compare, covariance_of
    from frugal.judge.over_time import READ
    from frugal.judge.verdicts import how_sure, interval, number, of_cost, state_of

    rows = outcomes.set_index("policy")
    able = [str(n) for n, why in rows["reason"].items() if n != PRACTICE and why == ""]
    if not able:
        return ("Open: no policy is contained in enough records; see `outcomes`.",), np.nan
    unit = data.cost_unit
    each = [readings[name, READ] for name in able]
    psi = np.stack([result.cluster_psi[:, 0] for result in each])
    cost = np.array([result.mean[0] for result in each])
    compared = compare(cost, covariance_of([psi]), rng)
    place = int(cost.argmin())
    name, bound = able[place], float(compared.bound[place])
    others = [able[k] for k in np.argsort(cost) if compared.not_worse[k] and k != place]
    row: dict[Any, Any] = rows.loc[name].to_dict()
    practice: dict[Any, Any] = rows.loc[PRACTICE].to_dict()
    gamma = _tipping(cases[name], cases[PRACTICE])
    odds = f"more than {MOST_GAMMA:.0f}" if np.isinf(gamma) else f"{gamma:.2f}"
    saved = f"{number(row['saving'])} ({interval(row['saving_low'], row['saving_high'])})"
    return (
        f"Use {name}: {number(row['cost'])} {unit} a unit "
        f"({interval(row['ci_low'], row['ci_high'])}); recorded practice costs "
        f"{number(practice['cost'])}, a saving of {saved}.",
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
    ), gamma


def _shift(row: Mapping[Any, Any]) -> str:
    """Whether the records contradict the first assumption, in a sentence."""
    from frugal.judge.intervals import ROUNDING

    shift, low, high = (100 * row[f"label_shift{end}"] for end in ("", "_low", "_high"))
    if not low <= high:  # unknown under censoring
        return ""
    verb = "do not contradict" if low - ROUNDING <= 0 <= high + ROUNDING else "contradict"
    return (
        f" The records {verb} the first: their weighted share of positive labels differs from that "
        f"of all records by {shift:+.1f} percentage points ({low:+.1f} to {high:+.1f})."
    )


def _tipping(named: "TimedCase", practice: "TimedCase") -> float:
    """Γ at which the named policy could cost more than recorded practice, by weighting."""
    import numpy as np

    from frugal.judge.sensitivity import Rival, Weighted, tipping_gamma

    weighted = []
    for case in (named, practice):
        reach = case.divisor[:, -1]
        weight = np.where(case.complete, 1 / reach, 0.0)
        weighted.append(Weighted.of(case.outcome[:, 0], weight, reach, case.cluster))
    never = np.zeros(len(named.complete), dtype=bool)
    return tipping_gamma(weighted[0], [Rival(weighted[1], never)], MOST_GAMMA)[0]
