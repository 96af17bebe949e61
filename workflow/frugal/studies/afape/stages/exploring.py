"""Contents of the report for afape: answers, tables, charts, a budget."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.context import Context
from frugal.draw.explorer.charts import Axis, Chart, looks_of, words
from frugal.draw.explorer.sections import (
    answer,
    best_within,
    figures,
    lowest,
    scope_of,
    section,
    slider,
)
from frugal.judge.registry import ESTIMATORS
from frugal.judge.verdicts import CONTRADICTED, over_draws, readable

DRAW = ["dataset", "mechanism", "seed"]
ROW = [*DRAW, "agent", "estimator"]


def explore_afape(
    *,
    summary: pd.DataFrame,
    comparisons: pd.DataFrame,
    verdicts: pd.DataFrame,
    sensitivity: pd.DataFrame,
    groups: pd.DataFrame,
    checks: Mapping[str, Any],
    context: Context,
) -> dict[str, Any]:
    """The study's part of the report.

    Settings: `cost_units` (data set → unit of cost), `estimators` (shown at first).
    """
    read = verdicts[[*DRAW, "estimator"]].astype(str)
    tables = {
        "summary": summary,
        "verdicts": verdicts,
        "picks": picks_of(summary),
        "comparisons": _of_verdicts(comparisons, read),
        "sensitivity": _of_verdicts(sensitivity, read),
        "groups": groups,
    }
    nonempty = {name: table for name, table in tables.items() if len(table)}
    return {
        "section": section(
            "afape",
            question="How much would an acquisition policy cost at run time, evaluated from "
            "records in which panels are missing?",
            answers=answers_of(verdicts, context.settings["cost_units"], checks),
            tables={name: (table, *_TABLES[name]) for name, table in nonempty.items()},
            keys=[*ROW, "other", "kind", "gamma", "group", "quantity"],
            sources={"picks": "summary"},
            charts=charts_of(nonempty, context.settings["estimators"]),
            scope=scope_of(summary, DRAW),
            sliders=[_budget(summary, verdicts, context.settings["cost_units"])],
        )
    }


_TABLES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "summary": (
        "Estimates of every policy by every estimator",
        (
            "agent",
            "estimator",
            "estimate",
            "ci_low",
            "ci_high",
            "truth",
            "ess",
            "status",
            "warning",
        ),
    ),
    "verdicts": (
        "The verdict of each draw of the missingness",
        (
            "agent",
            "estimate",
            "runner_up",
            "difference",
            "state",
            "bound",
            "tipping_gamma",
            "warnings",
        ),
    ),
    "picks": (
        "Which policy each estimator would pick, and its added cost",
        ("estimator", "agent", "estimate", "truth", "regret"),
    ),
    "comparisons": (
        "Policies against each other, by the estimator that the verdict reads",
        ("agent", "other", "difference", "ci_low", "ci_high", "not_worse", "truth"),
    ),
    "sensitivity": (
        "How far hidden causes could move an estimate",
        ("agent", "kind", "gamma", "low", "high", "range_low", "range_high"),
    ),
    "groups": (
        "Outcomes of policies by group",
        ("agent", "group", "quantity", "estimate", "ci_low", "ci_high"),
    ),
}


def _of_verdicts(table: pd.DataFrame, read: pd.DataFrame) -> pd.DataFrame:
    """Rows of the estimator that the verdict of their draw reads, in their order."""
    keys = [*DRAW, "estimator"]
    draws = set(read[keys].itertuples(index=False, name=None))
    mine = [row in draws for row in table[keys].astype(str).itertuples(index=False, name=None)]
    return table[mine].reset_index(drop=True)


def _budget(
    summary: pd.DataFrame, verdicts: pd.DataFrame, cost_units: Mapping[str, str]
) -> dict[str, Any]:
    """Budget of panels per case, and the policy of the lowest whole cost within it."""
    stops = []
    for verdict in verdicts.to_dict("records"):
        mine = readable(summary) & (summary["estimator"] == verdict["estimator"])
        for key in DRAW:
            mine &= summary[key].astype(str) == str(verdict[key])
        best = best_within(summary[mine], cost="acquisition_cost", score="estimate", most=False)
        for budget, row in best:
            match = {key: str(summary.at[row, key]) for key in ROW}
            unit = cost_units[str(verdict["dataset"])]
            stops.append({"budget": budget, "match": match, "unit": unit})
    return slider(
        label="Limit for the mean price of panels, a case",
        unit="",
        table="summary",
        described=("estimate", "ci_low", "ci_high", "acquisition_cost", "misclassification_cost"),
        stops=stops,
        goal="lowest cost in all",
        names=("agent",),
        note="The interval is this policy's by itself; the answer's counts that it was picked.",
    )


SCENARIO = ["dataset", "mechanism"]


def answers_of(
    verdicts: pd.DataFrame, cost_units: Mapping[str, str], checks: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The answer for each data set and mechanism: that of its first draw of the missingness."""
    answers = []
    for names, rows in verdicts.groupby(SCENARIO, sort=False):
        at = int(rows.index[0])
        verdict = {str(key): value for key, value in rows.iloc[0].to_dict().items()}
        dataset, mechanism = map(str, names)  # pyright: ignore[reportArgumentType]
        unit = cost_units[dataset]
        sentence = f"effective sample size {figures(verdict['ess'])} of {verdict['n']:,}"
        answers.append(
            answer(
                _sentence(verdict, unit),
                (
                    _policy(verdict, rows),
                    _cost(verdict, unit),
                    _trust(verdict, len(checks["passed"])),
                    _change(verdict, unit),
                    str(verdict["by_group"]) or "Not compared: the data set names no groups.",
                ),
                title=f"{words(dataset)}, {words(mechanism)}",
                trust=f"{sentence}; {str(verdict['reason']).rstrip('.')}.",
                table="verdicts",
                row=at,
                sure=verdict["state"] in ("best", "good_enough"),
                state=words(verdict["state"]),
            )
        )
    return answers


def _sentence(verdict: Mapping[str, Any], unit: str) -> str:
    if not verdict["agent"]:
        return str(verdict["sentence"])
    agent, cost = words(verdict["agent"]), f"{figures(verdict['estimate'])} {unit} a case"
    if not verdict["runner_up"]:
        return f"Only {agent} can be evaluated: {cost}."
    if verdict["reason"] == CONTRADICTED:
        return f"{CONTRADICTED[0].upper()}{CONTRADICTED[1:]}; if it held, use {agent}: {cost}."
    if verdict["state"] == "best":
        more, other = figures(verdict["difference"]), words(verdict["runner_up"])
        return f"Use {agent}: {cost}, {more} less than {other}, the next."
    return f"Use {agent}: {cost}; no other policy is cheaper by more than {_bound(verdict)}."


def _bound(verdict: Mapping[str, Any]) -> str:
    """Possible saving of another policy, also as a share of the cost."""
    bound, cost = float(verdict["bound"]), float(verdict["estimate"])
    return figures(bound) + (f" ({bound / cost:.0%})" if cost else "")


def _others(verdict: Mapping[str, Any]) -> str:
    """Policies that may be the best too, or the next one."""
    others = [name for name in str(verdict["not_worse"]).split(",") if name != verdict["agent"]]
    return ", ".join(map(words, others or [str(verdict["runner_up"])]))


def _policy(verdict: Mapping[str, Any], rows: pd.DataFrame) -> str:
    if not verdict["agent"]:
        return "None can be named."
    sentence = str(verdict["reason"])
    if verdict["state"] in ("good_enough", "short_list"):
        sentence = f"{words(verdict['state'])} with {_others(verdict)}"
    return f"{words(verdict['agent'])}; {sentence}. {over_draws(rows)}"


def _cost(verdict: Mapping[str, Any], unit: str) -> str:
    if not verdict["agent"]:
        return "No cost can be estimated."
    low, high = figures(verdict["ci_low"]), figures(verdict["ci_high"])
    name = ESTIMATORS[str(verdict["estimator"])].label
    return (
        f"{figures(verdict['estimate'])} {unit} a case for panels and errors (95 % interval {low} "
        f"to {high}), by {name}."
    )


def _trust(verdict: Mapping[str, Any], checks: int) -> str:
    sentence = f"The effective sample size is {figures(verdict['ess'])} of {verdict['n']:,}. "
    sentence += f"Reason: {str(verdict['reason']).rstrip('.')}. "
    chance = verdict.get("p_value", np.nan)
    if chance == chance:
        sentence += f"The records fit the assumed causes of missingness with p = {chance:.2g}. "
    warned = str(verdict.get("warnings") or "")
    sentence += f"Warned of: {words(warned)}. " if warned else "No warning. "
    return f"{sentence}{checks} checks of the tables hold."


def _change(verdict: Mapping[str, Any], unit: str) -> str:
    """Reasons for another policy as the answer: chance if others may be best, or hidden causes."""
    if verdict["state"] == "open":
        return f"It cannot be relied on yet: {str(verdict['reason']).rstrip('.')}."
    if verdict["state"] != "best":
        return (
            f"Chance alone could: {_others(verdict)} may be cheaper, by at most "
            f"{figures(verdict['bound'])} {unit} a case; to know which would save at most "
            f"{figures(verdict['worth'])} {unit} a case."
        )
    tip = verdict["tipping_gamma"]
    if tip != tip:
        return "Not computed for this estimator."
    if np.isinf(tip):
        return "No hidden cause of the strengths that were tried."
    return (
        f"Hidden causes that change the odds of a panel being recorded {figures(tip)} times could "
        f"make {words(verdict['tipping_other'])} the cheaper policy."
    )


def picks_of(summary: pd.DataFrame) -> pd.DataFrame:
    """Of each estimator and draw the row of its cheapest policy, with the excess cost of that one.

    Only where the truth of every policy is known.
    """
    draw = [*SCENARIO, "seed"]
    cheapest = []
    for _, rows in summary[readable(summary)].groupby([*draw, "estimator"], sort=False):
        best = rows.loc[lowest(rows, "estimate")]
        cheapest.append(best)
    if not cheapest:
        return summary.head(0).assign(regret=np.nan)
    picks = pd.DataFrame(cheapest).reset_index(drop=True)
    least = summary.groupby(draw)["truth"].transform("min")
    keyed = summary.assign(least=least)[[*draw, "least"]].drop_duplicates()
    picks = picks.merge(keyed, on=draw, how="left", validate="many_to_one")
    picks = picks.assign(regret=picks["truth"] - picks["least"]).drop(columns="least")
    columns = [*draw, "agent", "estimator", "estimate", "truth", "regret"]
    return picks.loc[picks["regret"].notna(), columns].reset_index(drop=True)


def charts_of(tables: Mapping[str, pd.DataFrame], first: Sequence[str]) -> list[dict[str, Any]]:
    """The charts of the tables that are there.

    Args:
        tables: by name; `summary` and `verdicts` always are.
        first: estimators that are shown first.
    """
    declared = looks_of(tables["summary"]["estimator"])
    looks = {name: look | {"label": ESTIMATORS[name].label} for name, look in declared.items()}
    agents = looks_of(tables["summary"]["agent"])
    read = [name for name in tables["verdicts"]["estimator"].unique() if name]
    begin = list(dict.fromkeys([*read, *(name for name in first if name in looks)]))[:5]
    sharp = "sensitivity" in tables and (tables["sensitivity"]["kind"] == "sharp").any()
    interval = ("ci_low", "ci_high")
    charts = {  # what more the page must know of each
        Chart(
            "interval",
            "trust",
            "Estimates with 95 % intervals; the black tick is the truth",
            "summary",
            "estimator",
            looks,
            Axis("estimate", "cost a case"),
            Axis("agent", "", "N"),
            ("agent", "estimator", "estimate", *interval, "truth", "ess", "warning"),
            where={"status": ["ok"]},
            ends=interval,
            truth="truth",
        ): {"first": begin},
        Chart(
            "scatter",
            "decisions",
            "Cost of an estimator's pick above that of the best policy",
            "picks",
            "agent",
            agents,
            Axis("regret", "true extra cost", zero=True),
            Axis("estimator", "", "N"),
            ("estimator", "agent", "regret"),
        ): {"per": "estimator"},
        Chart(
            "interval",
            "comparisons",
            "The policy that the verdict names against each other one",
            "comparisons",
            "other",
            agents,
            Axis("difference", "named less other, a case", zero=True),
            Axis("other", "", "N"),
            ("agent", "other", "difference", *interval, "not_worse"),
            ends=interval,
        ): {"joined": {"table": "verdicts", "on": [*SCENARIO, "seed", "agent"]}},
        Chart(
            "line",
            "gamma",
            "How far hidden causes of strength Γ could move an estimate",
            "sensitivity",
            "agent",
            agents,
            Axis("gamma", "Γ"),
            Axis("high", "cost a case, least to most"),
            ("agent", "gamma", "low", "high", "range_low", "range_high"),
            where={"kind": ["sharp" if sharp else "plain"]},
            ends=("low", "high"),
            log=True,
        ): {"stake": {"table": "verdicts", "columns": ["agent", "runner_up", "tipping_other"]}},
    }
    return [chart.document() | more for chart, more in charts.items() if chart.table in tables]
