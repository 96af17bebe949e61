"""Answers and charts of afape for the report: what verdicts and estimates hold, in words.

Computes no estimate. Knows no file.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from frugal.draw.explorer.charts import Axis, Shown, interval_chart, line_chart, scatter_chart
from frugal.draw.explorer.looks import looks_of, words
from frugal.draw.explorer.sections import answer, figures
from frugal.judge.registry import ESTIMATORS
from frugal.judge.verdicts import readable

SCENARIO = ["dataset", "mechanism"]


def answers_of(
    verdicts: pd.DataFrame, cost_units: Mapping[str, str], checks: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The answer for each data set and mechanism: that of its first draw of the gaps."""
    found = []
    for names, rows in verdicts.groupby(SCENARIO, sort=False):
        at, unit = int(rows.index[0]), cost_units[str(names[0])]  # pyright: ignore[reportIndexIssue]
        verdict = rows.iloc[0].to_dict()
        found.append(
            answer(
                _sentence(verdict, unit),
                (
                    _policy(verdict, rows),
                    _cost(verdict, unit),
                    _trust(verdict, len(checks["passed"])),
                    _change(verdict),
                    str(verdict["by_group"]) or "Not asked: the data set names no groups.",
                ),
                title=f"{words(names[0])}, {words(names[1])}",  # pyright: ignore[reportIndexIssue]
                trust=_standing(verdict), table="verdicts", row=at, sure=bool(verdict["sure"]),
            )
        )  # fmt: skip
    return found


def _sentence(verdict: Mapping[str, Any], unit: str) -> str:
    if not verdict["agent"]:
        return str(verdict["sentence"])
    cost = f"{figures(verdict['estimate'])} {unit} a case"
    if verdict["sure"]:
        more = figures(verdict["difference"])
        return f"Use {words(verdict['agent'])}: {cost}, {more} less than the next policy."
    return (
        f"Take {words(verdict['agent'])} for now, at {cost}: these rows cannot tell it from "
        f"{words(verdict['runner_up'])}."
    )


def _policy(verdict: Mapping[str, Any], rows: pd.DataFrame) -> str:
    if not verdict["agent"]:
        return "None can be named."
    same, sure = int((rows["agent"] == verdict["agent"]).sum()), int(rows["sure"].sum())
    alike = ", ".join(words(name) for name in str(verdict["not_worse"]).split(","))
    return (
        f"{words(verdict['agent'])}; not to be told from the best: {alike}. The same policy in "
        f"{same} of {len(rows)} draws of the gaps; sure in {sure}."
    )


def _cost(verdict: Mapping[str, Any], unit: str) -> str:
    if not verdict["agent"]:
        return "Cannot be told."
    low, high = figures(verdict["ci_low"]), figures(verdict["ci_high"])
    name = ESTIMATORS[str(verdict["estimator"])].label
    return (
        f"{figures(verdict['estimate'])} {unit} a case for panels and errors (95 % interval {low} "
        f"to {high}), by {name}."
    )


def _standing(verdict: Mapping[str, Any]) -> str:
    """On how many rows' worth it stands, and how many would settle it."""
    said = f"{figures(verdict['ess'])} rows' worth of {verdict['n']:,}"
    return f"{said}; {str(verdict['reason']).rstrip('.')}."


def _trust(verdict: Mapping[str, Any], checks: int) -> str:
    said = f"It stands on {figures(verdict['ess'])} rows' worth of {verdict['n']:,}. "
    said += f"Reason: {str(verdict['reason']).rstrip('.')}. "
    chance = verdict.get("p_value", np.nan)
    if chance == chance:
        said += f"The records fit the assumed causes of gaps with p = {chance:.2g}. "
    warned = str(verdict.get("warnings") or "")
    said += f"Warned of: {words(warned)}. " if warned else "No warning. "
    return f"{said}{checks} checks of the tables hold."


def _change(verdict: Mapping[str, Any]) -> str:
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
    """Of each estimator and draw the row of its cheapest policy, with what that one costs more.

    Only where the truth of every policy is known.
    """
    draw = [*SCENARIO, "seed"]
    found = []
    for _, rows in summary[readable(summary)].groupby([*draw, "estimator"], sort=False):
        best = rows.loc[rows["estimate"].idxmin()]
        found.append(best)
    if not found:
        return summary.head(0).assign(regret=np.nan)
    picks = pd.DataFrame(found).reset_index(drop=True)
    least = summary.groupby(draw)["truth"].transform("min")
    keyed = summary.assign(least=least)[[*draw, "least"]].drop_duplicates()
    picks = picks.merge(keyed, on=draw, how="left", validate="many_to_one")
    picks = picks.assign(regret=picks["truth"] - picks["least"]).drop(columns="least")
    columns = [*draw, "agent", "estimator", "estimate", "truth", "regret"]
    return picks.loc[picks["regret"].notna(), columns].reset_index(drop=True)


def charts_of(tables: Mapping[str, pd.DataFrame], first: Sequence[str]) -> list[dict[str, Any]]:
    """The charts of the tables that are there."""
    summary, verdicts = tables["summary"], tables["verdicts"]
    estimators = {
        name: look | {"label": ESTIMATORS[name].label}
        for name, look in looks_of(summary["estimator"]).items()
    }
    agents = looks_of(summary["agent"])
    read = [name for name in verdicts["estimator"].unique() if name]
    shown = dict.fromkeys([*(name for name in first if name in estimators), *read])
    hover = ("agent", "estimator", "estimate", "ci_low", "ci_high", "truth", "ess", "warning")
    trust = Shown("trust", "Estimates with 95 % intervals; the black tick is the truth",
                  "summary", "estimator", estimators, {"status": ["ok"]}, hover)  # fmt: skip
    charts = [
        interval_chart(trust, Axis("estimate", "cost a case"), Axis("agent", "", "N"),
                       ends=("ci_low", "ci_high"), truth="truth") | {"first": list(shown)[:5]}
    ]  # fmt: skip
    if "picks" in tables:
        picked = Shown("decisions", "What the policy that an estimator picks costs more than the "
                       "best", "picks", "agent", agents, {}, ("estimator", "agent", "regret"))  # fmt: skip
        charts.append(
            scatter_chart(picked, Axis("regret", "cost more than the best, truly", zero=True),
                          Axis("estimator", "", "N")) | {"per": "estimator"}
        )  # fmt: skip
    if "comparisons" in tables:
        pairs = Shown("comparisons", "Policies against the one that the verdict names",
                      "comparisons", "other", agents, {}, ("agent", "other", "difference",
                      "ci_low", "ci_high", "not_worse"))  # fmt: skip
        charts.append(
            interval_chart(pairs, Axis("difference", "cost of the named policy, less that of this "
                           "one", zero=True), Axis("other", "", "N"), ends=("ci_low", "ci_high"))
            | {"joined": {"table": "verdicts", "on": [*SCENARIO, "seed", "agent"]}}
        )  # fmt: skip
    if "sensitivity" in tables:
        told = tables["sensitivity"]
        kind = "sharp" if (told["kind"] == "sharp").any() else "plain"
        gamma = Shown("gamma", "How far each estimate could be moved by hidden causes of strength Γ",
                      "sensitivity", "agent", agents, {"kind": [kind]},
                      ("agent", "gamma", "low", "high", "range_low", "range_high"))  # fmt: skip
        charts.append(
            line_chart(gamma, Axis("gamma", "Γ"), Axis("high", "cost a case, at most and at least"),
                       ends=("low", "high"), log=True) | {"stake": {"table": "verdicts", "columns": ["agent", "runner_up", "tipping_other"]}}
        )  # fmt: skip
    return charts
