"""Stage `explore_dadi`: content of the report on the study: answers, tables, charts, a limit."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from frugal.core.context import Context
from frugal.draw.explorer.charts import Axis, Chart, looks_of, words
from frugal.draw.explorer.sections import (
    answer,
    best_within,
    figures,
    highest,
    lowest,
    row_at,
    scope_of,
    section,
    slider,
)

KEYS = [
    "dataset",
    "method",
    "gamma",
    "fold",
    "stratum",
    "panel",
    "family",
    "target",
    "learner",
    "network",
]
NEARLY_ALL = 0.95  # of the people, of whom a panel is collected
_TABLES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "means": (
        "Every method, means over folds",
        (
            "method",
            "gamma",
            "auc",
            "disparity",
            "positive_share",
            "features_acquired",
            "audit_auc",
            "on_front",
        ),
    ),
    "summary": (
        "Every method on every fold",
        ("method", "gamma", "fold", "auc", "disparity", "features_acquired", "audit_auc"),
    ),
    "least_disparity": (
        "The fairest of each family at nearly the AUC of all panels",
        ("family", "method", "gamma", "auc", "disparity", "disparity_cut", "reference_disparity"),
    ),
    "selection": (
        "How often each panel is collected",
        ("gamma", "stratum", "panel", "frequency", "frequency_low", "frequency_high"),
    ),
    "singles": (
        "Information of each panel alone",
        ("panel", "network", "auc", "auc_low", "auc_high"),
    ),
    "audit": (
        "Predictions of outsiders from the collected panels",
        ("method", "gamma", "target", "learner", "auc", "auc_low", "auc_high"),
    ),
}


def explore_dadi(
    *,
    summary: pd.DataFrame,
    means: pd.DataFrame,
    least_disparity: pd.DataFrame,
    selection: pd.DataFrame,
    singles: pd.DataFrame,
    audit: pd.DataFrame,
    checks: Mapping[str, Any],
    context: Context,
) -> dict[str, Any]:
    """The study's part of the report. Settings: none are read."""
    tables = {
        "means": means,
        "summary": summary,
        "least_disparity": least_disparity,
        "selection": selection,
        "singles": singles,
        "audit": audit,
    }
    return {
        "section": section(
            "dadi",
            question="Which features may be collected from this person for a prediction "
            "that is accurate and fair?",
            answers=_answers(least_disparity, means, selection, len(checks["passed"])),
            tables={name: (table, *_TABLES[name]) for name, table in tables.items()},
            keys=KEYS,
            charts=_charts(means, selection),
            scope=scope_of(means, ["dataset"]),
            sliders=[_limit(means, least_disparity)],
        )
    }


def _answers(
    least: pd.DataFrame, means: pd.DataFrame, selection: pd.DataFrame, checks: int
) -> list[dict[str, Any]]:
    """For each data set the fairest of the agents at nearly the AUC of all panels."""
    answers = []
    for dataset, rows in least.groupby("dataset", sort=False):
        able = rows[rows["auc"].notna()]
        agents = able[able["family"] == "dadi"]
        at = int((agents if len(agents) else rows).index[0])
        row = least.loc[[at]].iloc[0]
        parts = (
            _answer_of(row, means, selection, checks)
            if len(agents)
            else ("None is accurate enough.",) * 5
        )
        sentence = (
            _sentence(row)
            if len(agents)
            else ("No agent of DADI comes within the allowed distance of the AUC of all panels.")
        )
        degenerate = means[(means["dataset"] == dataset) & means["degenerate"]]
        if len(degenerate):
            sentence += f" {len(degenerate)} methods give nearly all the same decision."
        settled = bool(row["disparity_cut_low"] > 0) if len(agents) else False
        answers.append(
            answer(
                sentence,
                parts,
                title=words(str(dataset)),
                table="least_disparity",
                row=at,
                sure=settled,
                trust=f"{int(row['folds'])} folds; the cut is between "
                f"{figures(row['disparity_cut_low'])} and {figures(row['disparity_cut_high'])}.",
            )
        )
    return answers


def _sentence(row: pd.Series) -> str:
    return (
        f"With γ = {figures(row['gamma'])} the difference between the groups is "
        f"{figures(row['disparity'])}, against {figures(row['reference_disparity'])} with all "
        f"panels, at an AUC of {figures(row['auc'])}."
    )


def _same(frame: pd.DataFrame, row: pd.Series, *names: str) -> pd.DataFrame:
    """The rows that have the row's values in some columns."""
    return frame[(frame[list(names)] == [row[name] for name in names]).all(axis=1)]


def _collected(row: pd.Series, selection: pd.DataFrame) -> str:
    """Which panels the agent collects, of nearly everybody and of some."""
    of_agent = _same(selection, row, "dataset", "gamma")
    share = of_agent.groupby("panel", sort=False)["frequency"].mean()  # over groups of people
    share = share.sort_values(ascending=False, kind="stable")
    always, never = share[share >= NEARLY_ALL], share[share < 1 - NEARLY_ALL]
    some = share.drop(index=[*always.index, *never.index])
    sentence = f"Collected of nearly everybody: {', '.join(map(str, always.index)) or 'nothing'}"
    if len(some):
        sentence += "; of some: " + ", ".join(f"{n} ({s:.0%})" for n, s in some.items())
    return f"{sentence}."


def _answer_of(
    row: pd.Series, means: pd.DataFrame, selection: pd.DataFrame, checks: int
) -> tuple[str, ...]:
    low, high = figures(row["disparity_cut_low"]), figures(row["disparity_cut_high"])
    audited = figures(_same(means, row, "dataset", "method", "gamma")["audit_auc"].iloc[0])
    of_method = _same(means, row, "dataset", "method")
    front = of_method[of_method["on_front"] & (of_method["gamma"] != row["gamma"])]
    fairer = front[front["disparity"] < row["disparity"]]
    better = front[front["auc"] > row["auc"]]
    sentences = []
    for rows, at, direction in (
        (fairer, "auc", "A smaller disparity costs AUC"),
        (better, "disparity", "More AUC widens the disparity"),
    ):
        if len(rows):
            neighbour = row_at(rows, (highest if at == "auc" else lowest)(rows, at))
            sentences.append(
                f"{direction}: disparity {figures(neighbour['disparity'])} at AUC "
                f"{figures(neighbour['auc'])} with γ = {figures(neighbour['gamma'])}."
            )
    sentences.append("The slider below names the method for each disparity.")
    return (
        f"The agent of γ = {figures(row['gamma'])}, the fairest at nearly the AUC of all panels "
        f"({figures(row['reference_auc'])}). {_collected(row, selection)}",
        f"{figures(row['features_acquired'])} panels a person on average.",
        f"The gap is {figures(row['disparity'])} ({figures(row['disparity_low'])} to "
        f"{figures(row['disparity_high'])}), smaller by {figures(row['disparity_cut'])} ({low} to "
        f"{high}) than with all panels; 95 % intervals over {int(row['folds'])} folds. {checks} "
        "checks of the tables hold.",
        " ".join(sentences),
        f"The groups' shares of positive decisions differ by {figures(row['disparity'])}. An "
        f"outsider predicts the group from the collected features with an AUC of {audited}. "
        "Differences in errors: equal_opportunity_gap and equalised_odds_gap in the tables.",
    )


def _charts(means: pd.DataFrame, selection: pd.DataFrame) -> list[dict[str, Any]]:
    front = Chart(
        "scatter",
        "front",
        "Accuracy against the difference between the groups, means over folds",
        "means",
        "method",
        looks_of(means["method"]),
        Axis("disparity", "difference in positive decisions", zero=True),
        Axis("auc", "AUC"),
        ("method", "gamma", "auc", "disparity", "features_acquired", "audit_auc"),
    )
    collected = Chart(
        "interval",
        "selection",
        "How often each panel is collected, by γ",
        "selection",
        "gamma",
        looks_of(f"{gamma:g}" for gamma in selection["gamma"]),
        Axis("frequency", "share of people", zero=True),
        Axis("panel", "", "N"),
        ("panel", "gamma", "stratum", "frequency"),
        ends=("frequency_low", "frequency_high"),
    )
    return [front.document(), collected.document()]


def _limit(means: pd.DataFrame, least: pd.DataFrame) -> dict[str, Any]:
    """The method of the highest AUC whose disparity is at most the limit."""
    stops = []
    for dataset, rows in means.groupby("dataset", sort=False):
        sound = rows[~rows["degenerate"]]
        for limit, at in best_within(sound, cost="disparity", score="auc", most=True):
            gamma = float(means["gamma"].loc[at])
            match = {"dataset": str(dataset), "method": str(means.at[at, "method"])}
            match |= {} if gamma != gamma else {"gamma": f"{gamma:g}"}
            stops.append({"budget": limit, "match": match})
    agents = least[least["auc"].notna() & (least["family"] == "dadi")]
    first = agents.groupby("dataset", sort=False)["disparity"].first()
    return slider(
        label="The groups' shares of positive decisions may differ by",
        unit="",
        table="means",
        described=("auc", "auc_low", "auc_high", "disparity", "features_acquired"),
        stops=stops,
        goal="highest AUC",
        names=("method", "gamma"),
        begins={str(name): float(disparity) for name, disparity in first.items()},
    )
