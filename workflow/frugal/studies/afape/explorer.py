"""Answers and charts of afape for the report: what verdicts and estimates hold, in words.

Computes no estimate. Knows no file.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from frugal.draw.explorer.charts import (
    Axis,
    Looks,
    Shown,
    interval_chart,
    line_chart,
    scatter_chart,
)
from frugal.draw.explorer.looks import looks_of, words
from frugal.draw.explorer.sections import answer, figures, lowest
from frugal.judge.estimator import ESTIMATORS
from frugal.judge.verdicts import CONTRADICTED, over_draws, readable

SCENARIO = ["dataset", "mechanism"]


def answers_of(
    verdicts: pd.DataFrame, cost_units: Mapping[str, str], checks: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The answer for each data set and mechanism: that of its first draw of the gaps."""
    found = []
    for names, rows in verdicts.groupby(SCENARIO, sort=False):
        at = int(rows.index[0])
        verdict = {str(key): value for key, value in rows.iloc[0].to_dict().items()}
        dataset, mechanism = map(str, names)  # pyright: ignore[reportArgumentType]
        unit = cost_units[dataset]
        found.append(
            answer(
                _sentence(verdict, unit),
                (
                    _policy(verdict, rows),
                    _cost(verdict, unit),
                    _trust(verdict, len(checks["passed"])),
                    _change(verdict, unit),
                    str(verdict["by_group"]) or "Not asked: the data set names no groups.",
                ),
                title=f"{words(dataset)}, {words(mechanism)}",
                trust=_standing(verdict), table="verdicts", row=at,
                sure=verdict["state"] in ("best", "good_enough"), state=words(verdict["state"]),
            )
        )  # fmt: skip
    return found


def _sentence(verdict: Mapping[str, Any], unit: str) -> str:
    if not verdict["agent"]:
        return str(verdict["sentence"])
    agent, cost = words(verdict["agent"]), f"{figures(verdict['estimate'])} {unit} a case"
    if not verdict["runner_up"]:
        return f"Only {agent} can be judged: {cost}."
    if verdict["reason"] == CONTRADICTED:
        return f"{CONTRADICTED[0].upper()}{CONTRADICTED[1:]}; if it held, use {agent}: {cost}."
    if verdict["state"] == "best":
        more, other = figures(verdict["difference"]), words(verdict["runner_up"])
        return f"Use {agent}: {cost}, {more} less than {other}, the next."
    return f"Use {agent}: {cost}; no other policy is cheaper by more than {_bound(verdict)}."


def _bound(verdict: Mapping[str, Any]) -> str:
    """What another policy could save, also as a share of the cost."""
    bound, cost = float(verdict["bound"]), float(verdict["estimate"])
    return figures(bound) + (f" ({bound / cost:.0%})" if cost else "")


def _others(verdict: Mapping[str, Any]) -> str:
    """Policies that may be the best too, or the next one."""
    others = [name for name in str(verdict["not_worse"]).split(",") if name != verdict["agent"]]
    return ", ".join(map(words, others or [str(verdict["runner_up"])]))


def _policy(verdict: Mapping[str, Any], rows: pd.DataFrame) -> str:
    if not verdict["agent"]:
        return "None can be named."
    said = str(verdict["reason"])
    if verdict["state"] in ("good_enough", "short_list"):
        said = f"{words(verdict['state'])} with {_others(verdict)}"
    return f"{words(verdict['agent'])}; {said}. {over_draws(rows)}"


def _cost(verdict: Mapping[str, Any], unit: str) -> str:
    if not verdict["agent"]:
        return "No cost can be estimated."
    low, high = figures(verdict["ci_low"]), figures(verdict["ci_high"])
    name = ESTIMATORS[str(verdict["estimator"])].label
    return (
        f"{figures(verdict['estimate'])} {unit} a case for panels and errors (95 % interval {low} "
        f"to {high}), by {name}."
    )


def _standing(verdict: Mapping[str, Any]) -> str:
    """On how many effective rows it rests, and the reason of its state."""
    said = f"{figures(verdict['ess'])} effective rows of {verdict['n']:,}"
    return f"{said}; {str(verdict['reason']).rstrip('.')}."


def _trust(verdict: Mapping[str, Any], checks: int) -> str:
    said = f"It rests on {figures(verdict['ess'])} effective rows of {verdict['n']:,}. "
    said += f"Reason: {str(verdict['reason']).rstrip('.')}. "
    chance = verdict.get("p_value", np.nan)
    if chance == chance:
        said += f"The records fit the assumed causes of gaps with p = {chance:.2g}. "
    warned = str(verdict.get("warnings") or "")
    said += f"Warned of: {words(warned)}. " if warned else "No warning. "
    return f"{said}{checks} checks of the tables hold."


def _change(verdict: Mapping[str, Any], unit: str) -> str:
    """What would make another policy the answer: chance if others may be best, or hidden causes."""
    if verdict["state"] == "open":
        return f"It cannot be relied on yet: {str(verdict['reason']).rstrip('.')}."
    if verdict["state"] != "best":
        return (
            f"Chance alone could: {_others(verdict)} may be cheaper, by at most "
            f"{figures(verdict['bound'])} {unit} a case; to know which is worth at most "
            f"{figures(verdict['worth'])} a case."
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
    """Of each estimator and draw the row of its cheapest policy, with what that one costs more.

    Only where the truth of every policy is known.
    """
    draw = [*SCENARIO, "seed"]
    found = []
    for _, rows in summary[readable(summary)].groupby([*draw, "estimator"], sort=False):
        best = rows.loc[lowest(rows, "estimate")]
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
    """The charts of the tables that are there.

    Args:
        tables: by name; `summary` and `verdicts` always are.
        first: estimators that are shown before a reader asks for others.
    """
    agents = looks_of(tables["summary"]["agent"])
    charts = [_trust_chart(tables, first)]
    for name, draw in (
        ("picks", _pick_chart), ("comparisons", _pair_chart), ("sensitivity", _gamma_chart)
    ):  # fmt: skip
        if name in tables:
            charts.append(draw(tables[name], agents))
    return charts


def _trust_chart(tables: Mapping[str, pd.DataFrame], first: Sequence[str]) -> dict[str, Any]:
    """Every estimate with its interval, by policy."""
    found = looks_of(tables["summary"]["estimator"])
    looks = {name: look | {"label": ESTIMATORS[name].label} for name, look in found.items()}
    read = [name for name in tables["verdicts"]["estimator"].unique() if name]
    begin = list(dict.fromkeys([*read, *(name for name in first if name in looks)]))[:5]
    shown = Shown(
        "trust", "Estimates with 95 % intervals; the black tick is the truth", "summary",
        "estimator", looks, {"status": ["ok"]},
        ("agent", "estimator", "estimate", "ci_low", "ci_high", "truth", "ess", "warning"),
    )  # fmt: skip
    x, y = Axis("estimate", "cost a case"), Axis("agent", "", "N")
    return interval_chart(shown, x, y, ends=("ci_low", "ci_high"), truth="truth") | {"first": begin}


def _pick_chart(picks: pd.DataFrame, agents: Looks) -> dict[str, Any]:
    """What the policy costs more that an estimator would pick."""
    del picks
    shown = Shown(
        "decisions", "What the policy that an estimator picks costs more than the best", "picks",
        "agent", agents, {}, ("estimator", "agent", "regret"),
    )  # fmt: skip
    x, y = Axis("regret", "true extra cost", zero=True), Axis("estimator", "", "N")
    return scatter_chart(shown, x, y) | {"per": "estimator"}


def _pair_chart(pairs: pd.DataFrame, agents: Looks) -> dict[str, Any]:
    """The policy that the verdict names against all others."""
    del pairs
    shown = Shown(
        "comparisons", "The policy that the verdict names against each other one", "comparisons",
        "other", agents, {}, ("agent", "other", "difference", "ci_low", "ci_high", "not_worse"),
    )  # fmt: skip
    x, y = Axis("difference", "named less other, a case", zero=True), Axis("other", "", "N")
    joined = {"table": "verdicts", "on": [*SCENARIO, "seed", "agent"]}
    return interval_chart(shown, x, y, ends=("ci_low", "ci_high")) | {"joined": joined}


def _gamma_chart(ranges: pd.DataFrame, agents: Looks) -> dict[str, Any]:
    """Least and most of each estimate by the strength of hidden causes."""
    kind = "sharp" if (ranges["kind"] == "sharp").any() else "plain"
    shown = Shown(
        "gamma", "How far hidden causes of strength Γ could move an estimate", "sensitivity",
        "agent", agents, {"kind": [kind]},
        ("agent", "gamma", "low", "high", "range_low", "range_high"),
    )  # fmt: skip
    stake = {"table": "verdicts", "columns": ["agent", "runner_up", "tipping_other"]}
    x, y = Axis("gamma", "Γ"), Axis("high", "cost a case, least to most")
    return line_chart(shown, x, y, ends=("low", "high"), log=True) | {"stake": stake}
