"""The page of an answer over time: the answer, and some units window by window."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from frugal.draw.answers import AnswerText
from frugal.draw.explorer.patients import spread_units
from frugal.judge.verdicts import number
from frugal.studies.over_time.answer import TimedQuestion, TimedVerdict
from frugal.studies.over_time.data import TimedData
from frugal.studies.over_time.estimates import TimedCase
from frugal.studies.over_time.order_advice import OVER, panel_words, state_words, why_words
from frugal.studies.over_time.orders import LEARNED, LearnedOrders, TimedPaths
from frugal.studies.over_time.records import TimedPolicy, TimedState


def timed_page(
    question: TimedQuestion,
    verdict: TimedVerdict,
    cases: Mapping[str, Sequence[TimedCase]],
    learned: Sequence[LearnedOrders],
) -> bytes:
    """The answer as a page; cases are by policy and draw of folds, learned policies by fold."""
    data, steps = question.data, timed_steps(question, verdict.named, cases, learned)
    table = verdict.outcomes[["policy", "cost", "ci_low", "ci_high", "contained", "reason"]]
    table = table.astype(object).where(table.notna(), "")
    table.columns = ["policy", "cost", "from", "to (95 %)", "records that contain it", ""]
    text = AnswerText(
        title=data.name,
        heading=f"Cost of each policy, {data.cost_unit} a unit",
        sentence=verdict.sentences[0],
        curve=table,
        further=data.remarks,
        reading={},
        lead=verdict.sentences[1:],
        steps=steps,
    )
    return text.page().encode()


def timed_steps(
    question: TimedQuestion,
    name: str | None,
    cases: Mapping[str, Sequence[TimedCase]],
    learned: Sequence[LearnedOrders],
) -> dict[str, pd.DataFrame]:
    """A line on each of some units → its windows under a policy, in words; none of no policy."""
    if name is None:
        return {}
    data, n, case = question.data, len(question.data.records), cases[name][0]
    fold = question.generator()[1] if name == LEARNED else np.zeros(n, dtype=int)
    fixed = [policy for policy in question.policies if policy.name == name]
    policies: Sequence[TimedPolicy] = learned if name == LEARNED else fixed
    paths = question.follow([*policies])
    ordered = np.stack([path.ordered for path in paths])[fold, np.arange(n)]
    ranked = np.argsort(-ordered.any(axis=2).sum(axis=1), kind="stable")  # most orders first
    group = data.records.label + (len(data.records.classes) + 1) * ~case.complete
    drawn = ranked[spread_units(np.arange(n), group[ranked], 6)]
    every = ((policies[fold[k]], paths[fold[k]], k) for k in map(int, drawn))
    return dict(_unit(data, case, *each) for each in every)


def _unit(
    data: TimedData, case: TimedCase, policy: TimedPolicy, path: TimedPaths, unit: int
) -> tuple[str, pd.DataFrame]:
    """A line on a unit, and a row for each window until the decision or a missing panel."""
    records, costs, complete = data.records, data.costs, bool(case.complete[unit])
    answered, spent, rows = int(case.answered[unit]), 0.0, []
    last = min(int(path.windows[unit]), answered + 1)
    end = f"not followed beyond {last * records.hours:g} h, expected cost: "
    end += f"{number(case.expected[answered, unit, 0])} {data.cost_unit}"
    truth = "unknown" if records.censored[unit] else records.classes[records.label[unit]]
    for window in range(last + complete):
        parts = (part[window, [unit]] for part in (path.last, path.age, path.since))
        state = TimedState(window, records.static[[unit]], *parts)
        hours, values = f"{window * records.hours:g}", state_words(records.columns, state, 0)
        if window == last:
            stop = np.arange(len(records.panels) + 1) == len(records.panels)
            why = OVER if last == records.end[unit] else why_words(records, policy, state, 0, stop)
            cost = float(case.outcome[unit, 2])
            able = np.array(records.classes)[np.isclose(costs.errors[records.label[unit]], cost)]
            order = f"decision: {' or '.join(able)}"
            end = f"{order}, cost: {number(spent + cost)} {data.cost_unit}"
            order, recorded = f"{order}; {why}", f"outcome: {truth}"
        else:
            sets = (path.ordered, records.recorded, path.required & ~records.recorded)
            actions = [np.append(panels[unit, window], False) for panels in sets]
            order, recorded, missing = (panel_words(records.panels, each) for each in actions)
            order += f"; {why_words(records, policy, state, 0, actions[0])}"
            recorded += f"; lacks {missing}" if actions[2].any() else ""
            hours += f" to {(window + 1) * records.hours:g}"
            now = path.ordered[[unit], window : window + 1]
            cost = float(costs.acquisition(now, np.array([1]))[0])
        spent += cost
        rows.append([hours, values, order, recorded, number(cost), number(spent)])
    names = ["hours", "known before (age)", "order, and why", "recorded", "cost", "cost so far"]
    static = zip(records.static_columns, records.static[unit], strict=True)
    about = "".join(f", {name} = {value:.4g}" for name, value in static if not np.isnan(value))
    line = f"{records.unit[unit]}{about}: outcome: {truth}, {end}"
    return line, pd.DataFrame(rows, columns=names)
