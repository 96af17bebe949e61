"""Stage `explore_treatment`: content of the report on the study: answers, tables, charts."""

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

POLICY = ["dataset", "n_train", "planner", "outcome_model", "bound", "threshold"]
NOT_LEARNED = ("true", "uninformed", "records")  # outcome models that records do not give


def explore_treatment(
    *, means: pd.DataFrame, curves: pd.DataFrame, checks: Mapping[str, Any], context: Context
) -> dict[str, Any]:
    """The study's part of the report. Settings: none are read."""
    sizes = _sizes(means)
    shown = (
        "n_train",
        "planner",
        "outcome_model",
        "bound",
        "threshold",
        "efficacy",
        "mean_trials",
        "worst_case",
    )
    tables = {
        "means": (means, "Every policy, means over repeats", shown),
        "curves": (
            curves,
            "Best outcome found, by number of trials",
            (*POLICY[1:], "trials", "outcome"),
        ),
    }
    if sizes is not None:
        tables["sizes"] = (sizes, "Policies learned from more and more records", shown)
    return {
        "section": section(
            "treatment",
            question="Which treatment to try next, and when to stop, given records of earlier "
            "searches?",
            answers=_answers(means, len(checks["passed"])),
            tables=tables,
            keys=[*POLICY, "trials"],
            sources={"sizes": "means"},
            charts=_charts(means, sizes),
            scope=scope_of(means, ["dataset"]),
            sliders=[_limit(means)],
        )
    }


def _learned(means: pd.DataFrame) -> pd.DataFrame:
    """Policies learned from the most records that there are."""
    most = means.groupby("dataset")["n_train"].transform("max")
    return means[(means["n_train"] == most) & ~means["outcome_model"].isin(NOT_LEARNED)]


def _answers(means: pd.DataFrame, checks: int) -> list[dict[str, Any]]:
    """For each data set the fewest trials at an efficacy not significantly below the highest."""
    answers = []
    for dataset, rows in _learned(means).groupby("dataset", sort=False):
        top = row_at(rows, highest(rows, "efficacy"))
        close = rows[rows["efficacy"] >= top["efficacy"] - 2 * top["efficacy_se"]]
        at = lowest(close, "mean_trials")
        best = row_at(means, at)
        policy = f"{best['planner'].upper()} with a {best['outcome_model']} model"
        answers.append(
            answer(
                f"{policy} finds a near-optimal treatment for {100 * best['efficacy']:.0f} % of "
                f"the units, in {figures(best['mean_trials'])} trials on average.",
                (
                    f"{policy}, bound {best['bound']}, threshold {figures(best['threshold'])}: the "
                    "fewest trials within two standard errors of the highest efficacy.",
                    f"{figures(best['mean_trials'])} trials a unit, at most "
                    f"{int(best['worst_case'])}.",
                    f"Efficacy ± {figures(best['efficacy_se'], 2)} (standard error over "
                    f"{int(best['repeats'])} repeats). {checks} checks of the tables hold.",
                    f"Fewer records: this is from {int(best['n_train']):,} earlier searches; the "
                    "table has smaller ones.",
                    "Not compared: groups of patients are not compared in this study.",
                ),
                trust=f"± {figures(100 * best['efficacy_se'], 2)} %, over {int(best['repeats'])} "
                f"repeats with {int(best['n_train']):,} earlier searches.",
                title=words(str(dataset)),
                table="means",
                row=at,
                sure=None,
            )
        )
    return answers


def _sizes(means: pd.DataFrame) -> pd.DataFrame | None:
    """One kind of model with policies learned from every number of records; None where none is."""
    policy = ["dataset", "planner", "outcome_model", "bound", "threshold"]
    counts = means.groupby(policy)["n_train"].transform("nunique")
    every = means[(counts > 1) & (counts == counts.max())]
    if every.empty:
        return None
    model = sorted(every["outcome_model"].unique())[0]
    return every[every["outcome_model"] == model].reset_index(drop=True)


def _charts(means: pd.DataFrame, sizes: pd.DataFrame | None) -> list[dict[str, Any]]:
    looks, efficacy = looks_of(means["planner"]), Axis("efficacy", "efficacy")
    hover = (*POLICY[1:], "efficacy", "mean_trials", "mean_outcome")
    most = [str(n) for n in means.groupby("dataset")["n_train"].max().unique()]
    learned = [m for m in means["outcome_model"].unique() if m not in NOT_LEARNED]
    front = Chart(
        "scatter",
        "tradeoff",
        "Efficacy against trials, learned from the most records",
        "means",
        "planner",
        looks,
        Axis("mean_trials", "trials a unit"),
        efficacy,
        hover,
        where={"n_train": most, "outcome_model": learned},
    )
    grown = Chart(
        "line",
        "sizes",
        "Efficacy as records grow",
        "sizes",
        "planner",
        looks,
        Axis("n_train", "earlier searches"),
        efficacy,
        hover,
        log=True,
    )
    return [chart.document() for chart in ((front,) if sizes is None else (front, grown))]


def _limit(means: pd.DataFrame) -> dict[str, Any]:
    """The policy of the highest efficacy whose mean number of trials is at most the limit."""
    stops = []
    for dataset, rows in _learned(means).groupby("dataset", sort=False):
        for limit, at in best_within(rows, cost="mean_trials", score="efficacy", most=True):
            row = means.loc[at]
            match = {key: str(row[key]) for key in POLICY[1:5]}
            match |= {"dataset": str(dataset), "threshold": f"{row['threshold']:g}"}
            stops.append({"budget": limit, "match": match})
    return slider(
        label="A search may take on average",
        unit="trials",
        table="means",
        described=("efficacy", "efficacy_se", "mean_trials", "worst_case"),
        stops=stops,
        goal="highest efficacy",
        names=("planner", "outcome_model", "bound", "threshold"),
    )
