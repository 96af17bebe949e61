"""Stage `explore_recourse`: content of the report on the study: answers, tables and charts."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from frugal.core.context import Context
from frugal.draw.explorer.charts import Axis, Chart, looks_of, words
from frugal.draw.explorer.sections import answer, highest, lowest, row_at, scope_of, section

SCOPE = ["dataset", "variant", "seed", "subset"]
KEYS = [*SCOPE, "generator", "actions", "group", "low", "at_least", "size"]
ALL = "all"
_SHOWN = (
    *("generator", "actions", "group", "n", "accuracy", "accuracy_low", "accuracy_high"),
    *("infeasible_share", "cost_gap", "repaired_accuracy"),
)
_TITLES = {
    "confidence": "Accuracy by confidence",
    "frequencies": "Accuracy by how often training met the answer",
    "sizes": "Units by number of actions",
}


def explore_recourse(
    *,
    summary: pd.DataFrame,
    groups: pd.DataFrame,
    confidence: pd.DataFrame,
    frequencies: pd.DataFrame,
    sizes: pd.DataFrame,
    checks: Mapping[str, Any],
    context: Context,
) -> dict[str, Any]:
    """The study's part of the report. Settings: none are read."""
    tables: dict[str, tuple[pd.DataFrame, str, Sequence[str]]] = {
        "summary": (summary, "Every generator, by number of actions needed", _SHOWN),
        "groups": (groups, "The same by group", _SHOWN),
    }
    for (name, title), table in zip(_TITLES.items(), (confidence, frequencies, sizes), strict=True):
        tables[name] = (table, title, tuple(str(c) for c in table if c not in SCOPE)[:9])
    return {
        "section": section(
            "recourse",
            question="What is the cheapest set of actions that turns a negative decision, learnt "
            "from earlier cases?",
            answers=_answers(summary, groups, len(checks["passed"])),
            tables=tables,
            keys=KEYS,
            charts=_charts(summary),
            scope=scope_of(summary, SCOPE),
        )
    }


def _answers(summary: pd.DataFrame, groups: pd.DataFrame, checks: int) -> list[dict[str, Any]]:
    """For each world the printed figure's finding on all units, and the row of the best."""
    from frugal.studies.recourse.figures import accuracy_finding  # matplotlib

    answers = []
    overall = summary[(summary["actions"].astype(str) == ALL) & (summary["subset"] == ALL)]
    for (dataset, variant), rows in overall.groupby(["dataset", "variant"], sort=False):  # pyright: ignore[reportGeneralTypeIssues]
        first = rows[rows["seed"] == rows["seed"].min()]
        at = highest(first, "accuracy")
        best = row_at(first, at)
        close = first.drop(index=at)
        close = close[close["accuracy_high"] >= best["accuracy_low"]]
        others = ", ".join(words(g) for g in close["generator"]) or "no other"
        finding = accuracy_finding(first.set_index("generator")["accuracy"])
        units = f"{int(best['n']):,} test units"
        between = f"{100 * best['accuracy_low']:.1f} to {100 * best['accuracy_high']:.1f} %"
        details = (
            f"{words(best['generator'])}; not significantly different: {others}.",
            f"Of its mistakes, those that work cost {100 * best['cost_gap']:.1f} % more than the "
            f"cheapest set; {100 * best['infeasible_share']:.1f} % of all answers do not work "
            "before the solver repairs them.",
            f"{units}; 95 % interval {between}. Each cheapest set is proven. {checks} checks of "
            "the tables hold.",
            f"Cases that training never met: {int(best['unseen'])} of these units.",
            _worst(groups, best),
        )
        places = {"title": f"{words(str(dataset))}, {words(str(variant))}", "table": "summary"}
        trust = f"{between}, on {units}."
        answers.append(
            answer(f"{finding}.", details, trust=trust, row=at, sure=not len(close), **places)
        )
    return answers


def _worst(groups: pd.DataFrame, best: Mapping[str, Any]) -> str:
    """The group for which the generator is right least often."""
    mine = groups
    for key in (*SCOPE, "generator"):
        mine = mine[mine[key].astype(str) == str(best[key])]
    if mine["group"].nunique() < 2:
        return "There is one group only."
    low, high = (row_at(mine, at(mine, "accuracy")) for at in (lowest, highest))
    return (
        f"Group {low['group']}: right for {100 * low['accuracy']:.0f} % of {int(low['n']):,} "
        f"units, against {100 * high['accuracy']:.0f} % in group {high['group']}; intervals "
        "are in the table by group."
    )


def _charts(summary: pd.DataFrame) -> list[dict[str, Any]]:
    ends = ("accuracy_low", "accuracy_high")
    rows = ("summary", "generator", looks_of(summary["generator"]))
    hover = ("generator", "actions", "n", "accuracy", *ends)
    counts = [str(a) for a in dict.fromkeys(summary["actions"].astype(str)) if a != ALL]
    title = "How often each generator names the cheapest set"
    share, name = Axis("accuracy", "share of units"), Axis("generator", "", "N")
    every_action: dict[str, Any] = {"where": {"actions": [ALL]}, "ends": ends}
    overall = Chart("interval", "accuracy", title, *rows, share, name, hover, **every_action)
    title = "The same, by the number of actions that a unit needs"
    needed, right = Axis("actions", "actions needed", "N"), Axis("accuracy", "share right")
    part = {"actions": counts}
    by_size = Chart("line", "by_size", title, *rows, needed, right, hover, where=part)
    return [overall.document(), by_size.document()]
