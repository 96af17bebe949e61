"""The answer for one table: which policy, at what price, and how sure.

Puts into words what verdicts, comparisons and estimates hold; computes no estimate.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from frugal.draw.answers import Answer
from frugal.judge.registry import ESTIMATORS
from frugal.judge.verdicts import readable


def answer(
    summary: pd.DataFrame,
    comparisons: pd.DataFrame,
    verdict: Mapping[str, Any],
    *,
    report: Mapping[str, Any],
    budget: float | None,
    remarks: Sequence[str],
    reading: Mapping[str, str],
) -> Answer:
    """The answer of one table and seed.

    Args:
        summary: estimates, of that seed.
        comparisons: of that seed.
        verdict: row of the table of verdicts.
        report: of the catalogue: title and unit of cost.
        budget: most that panels may cost a case on average; None for no limit.
        remarks: what was assumed.
        reading: words → file or command; `agent=POLICY` stands for the policy that is named.
    """
    unit = str(report["cost_unit"])
    said = " ".join(str(verdict[key]) for key in ("sentence", "by_group") if verdict[key])
    curve = _curve(summary, comparisons, verdict)
    further = []
    if budget is not None and len(curve):
        further.append(_within(curve, budget, unit))
    if len(curve):
        further.append(_fineness(comparisons, verdict, int(summary["n"].iloc[0]), unit))
    if len(curve) and verdict["runner_up"]:
        further.append(
            f"The first sentence's interval counts that {verdict['agent']} was picked among "
            f"{len(curve)}; those of the table are of each policy by itself.".replace("_", " ")
        )
    heading = f"What each policy costs a case, {unit}"
    if verdict["agent"]:
        own = f"agent={verdict['agent']}"
        reading = {what: where.replace("agent=POLICY", own) for what, where in reading.items()}
    return Answer(str(report["title"]), heading, said, curve, [*further, *remarks], reading)


def _curve(
    summary: pd.DataFrame, comparisons: pd.DataFrame, verdict: Mapping[str, Any]
) -> pd.DataFrame:
    """Every policy that can be judged by the estimator that is read, the cheapest panels first."""
    rows = summary[(summary["estimator"] == verdict["estimator"]) & readable(summary)]
    own = comparisons[comparisons["estimator"] == verdict["estimator"]]
    alike = set(own.loc[own["not_worse"], "agent"])
    rows = rows.sort_values(["acquisition_cost", "estimate", "agent"], kind="stable")
    least = np.minimum.accumulate(rows["estimate"].to_numpy())
    notes = []
    for (agent, value), best in zip(
        rows[["agent", "estimate"]].itertuples(index=False), least, strict=True
    ):
        note = "cannot be told from the best" if agent in alike else ""
        if agent == verdict["agent"]:
            note = "the one to take" if verdict["sure"] else "the one to take until more is known"
        elif value > best:
            note = note or "a cheaper set of panels costs less in all"
        notes.append(note)
    return pd.DataFrame(
        {
            "policy": [str(name).replace("_", " ") for name in rows["agent"]],
            "panels": rows["acquisition_cost"].to_numpy(),
            "errors": rows["misclassification_cost"].to_numpy(),
            "in all": rows["estimate"].to_numpy(),
            "95 % from": rows["ci_low"].to_numpy(), "to": rows["ci_high"].to_numpy(),
            "": notes,
        }
    )  # fmt: skip


def _within(curve: pd.DataFrame, budget: float, unit: str) -> str:
    """The best policy whose panels cost no more on average."""
    able = curve[curve["panels"] <= budget]
    if not len(able):
        cheapest = curve.iloc[0]
        return (
            f"No policy that can be judged keeps to a budget of {budget:.3g} {unit} for panels; "
            f"{cheapest['policy']} comes closest with {cheapest['panels']:.3g}."
        )
    best = able.sort_values(["in all", "policy"], kind="stable").iloc[0]
    return (
        f"Within a budget of {budget:.3g} {unit} for panels: {best['policy']}, "
        f"{best['in all']:.3g} a case in all ({best['95 % from']:.3g} to {best['to']:.3g}), of "
        f"which panels {best['panels']:.3g}."
    )


def _fineness(comparisons: pd.DataFrame, verdict: Mapping[str, Any], rows: int, unit: str) -> str:
    """How far apart two policies must be before these rows can tell them."""
    own = comparisons[
        (comparisons["estimator"] == verdict["estimator"])
        & (comparisons["agent"] == verdict["agent"])
    ]
    read = ESTIMATORS[str(verdict["estimator"])].label
    if not len(own):
        return f"{rows:,} rows were judged, by {read}."
    half = float(((own["ci_high"] - own["ci_low"]) / 2).median())
    return (
        f"{rows:,} rows were judged, by {read}: policies closer than about {half:.2g} {unit} "
        "cannot be told apart."
    )
