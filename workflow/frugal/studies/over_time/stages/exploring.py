"""The part of the report on policies over time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.context import Context
from frugal.draw.explorer.charts import Axis, Chart, looks_of
from frugal.draw.explorer.sections import answer, scope_of, section
from frugal.judge.verdicts import number
from frugal.studies.over_time.data import TimedData
from frugal.studies.over_time.page import timed_steps
from frugal.studies.over_time.stages.timed import cases_of, learned_of, question_of


def explore_over_time(
    *,
    records: Mapping[str, np.ndarray],
    catalogue: Mapping[str, Any],
    policies: Mapping[str, np.ndarray],
    cases: Mapping[str, np.ndarray],
    outcomes: pd.DataFrame,
    orders: Mapping[str, Any],
    context: Context,
) -> dict[str, Any]:
    """The part of the report: the answer, and a stepper that shows some units window by window.

    Raises:
        DataError: a stored policy is invalid.
    """
    question = question_of(records, catalogue, context.streams.root, policies)
    learned, named = learned_of(policies, question), orders["named"]
    by_name = cases_of(cases, question, bool(learned))
    steps = timed_steps(question, named, by_name, learned[1:])
    return {"section": _section(question.data, outcomes, named, orders["sentences"], steps)}


def _section(
    data: TimedData,
    outcomes: pd.DataFrame,
    named: str | None,
    sentences: Sequence[str],
    steps: Mapping[str, pd.DataFrame],
) -> dict[str, Any]:
    """The part of the report: the answer, costs of all policies, and a stepper of units."""
    table, unit, title = "outcomes", data.cost_unit, data.name
    outcomes = outcomes.assign(dataset=title)
    row = int((outcomes["policy"] == named).to_numpy().argmax())
    lines = [*sentences, *[""] * 3][:4]
    cost = f"{number(outcomes['acquisition'][row])} {unit} a unit for panels, "
    cost += f"{number(outcomes['errors'][row])} for errors."
    replies = (lines[1], cost, lines[2], lines[3], "Policies over time are not judged by group.")
    chart = Chart(
        "interval",
        "costs",
        f"Every policy with its 95 % interval: cost a unit ({unit})",
        table,
        "policy",
        looks_of(outcomes["policy"]),
        Axis("cost", f"cost a unit ({unit})"),
        Axis("policy", "", "N"),
        ("policy", "cost", "ci_low", "ci_high", "acquisition", "errors", "effective"),
        ends=("ci_low", "ci_high"),
    )
    effective = "too few records" if named is None else f"{outcomes['effective'][row]:,.0f}"
    part = section(
        "over_time",
        question="When to measure again, at which cost, and how sure is that?",
        answers=[
            answer(
                lines[0],
                replies,
                title=title,
                trust=f"effective sample size {effective} of {len(data.records):,}",
                table=table,
                row=row,
                sure=lines[1].startswith(("Best", "Good")),
            )
        ],
        tables={table: (outcomes, "Cost of every policy and of practice", chart.hover)},
        keys=("dataset", "policy"),
        sources={table: "outcomes"},
        charts=[chart.document()],
        scope=scope_of(outcomes, ["dataset"]),
    )
    stays = [
        {
            "name": line.partition(",")[0].partition(":")[0],
            "about": line,
            "rows": rows.to_numpy().tolist(),
        }
        for line, rows in sorted(steps.items(), key=lambda pair: -len(pair[1]))
    ]
    columns = list(next(iter(steps.values())).columns) if steps else []
    return part | {"stays": stays or None, "columns": columns, "cost_unit": unit}
