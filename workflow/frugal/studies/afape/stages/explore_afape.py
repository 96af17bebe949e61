"""Stage `explore_afape`: what the report shows of the study: answers, tables, charts, a budget."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.draw.explorer.packing import packed_table
from frugal.draw.explorer.sections import best_within, scope_of, section, slider
from frugal.judge.verdicts import readable
from frugal.studies.afape.explorer import answers_of, charts_of, picks_of

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
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """The study's part of the report.

    Settings: `cost_units` (data set → unit of cost), `estimators` (shown at first).
    """
    del streams, progress
    read = verdicts[[*DRAW, "estimator"]].astype(str)
    tables = {
        "summary": summary,
        "verdicts": verdicts,
        "picks": picks_of(summary),
        "comparisons": _of_verdicts(comparisons, read),
        "sensitivity": _of_verdicts(sensitivity, read),
        "groups": groups,
    }
    kept = {name: table for name, table in tables.items() if len(table)}
    return {
        "section": section(
            "afape",
            question="What would an acquisition policy cost at run time, judged from records in "
            "which panels are missing?",
            answers=answers_of(verdicts, settings["cost_units"], checks),
            tables={name: _packed(name, table) for name, table in kept.items()},
            charts=charts_of(kept, settings["estimators"]),
            scope=scope_of(summary, DRAW),
            sliders=[_budget(summary, verdicts, settings["cost_units"])],
        )
    }


_TABLES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "summary": ("What every estimator says of every policy", "summary", (
        "agent", "estimator", "estimate", "ci_low", "ci_high", "truth", "ess", "status", "warning",
    )),
    "verdicts": ("The verdict of each draw of the gaps", "verdicts", (
        "agent", "estimate", "runner_up", "difference", "state", "bound", "tipping_gamma",
        "warnings",
    )),
    "picks": ("Which policy each estimator would pick, and what that costs", "summary", (
        "estimator", "agent", "estimate", "truth", "regret",
    )),
    "comparisons": ("Policies against each other, by the estimator that the verdict reads",
        "comparisons", ("agent", "other", "difference", "ci_low", "ci_high", "not_worse", "truth"),
    ),
    "sensitivity": ("How far hidden causes could move an estimate", "sensitivity", (
        "agent", "kind", "gamma", "low", "high", "range_low", "range_high",
    )),
    "groups": ("What policies do to each group", "groups", (
        "agent", "group", "quantity", "estimate", "ci_low", "ci_high",
    )),
}  # fmt: skip


def _packed(name: str, table: pd.DataFrame) -> dict[str, Any]:
    title, source, shown = _TABLES[name]
    keys = [*ROW, "other", "kind", "gamma", "group", "quantity"]
    return packed_table(table, title=title, source=source, shown=shown, keys=keys)


def _of_verdicts(table: pd.DataFrame, read: pd.DataFrame) -> pd.DataFrame:
    """Rows of the estimator that the verdict of their draw reads, in their order."""
    keys = [*DRAW, "estimator"]
    wanted = set(read[keys].itertuples(index=False, name=None))
    mine = [row in wanted for row in table[keys].astype(str).itertuples(index=False, name=None)]
    return table[mine].reset_index(drop=True)


def _budget(
    summary: pd.DataFrame, verdicts: pd.DataFrame, cost_units: Mapping[str, str]
) -> dict[str, Any]:
    """What panels may cost a case, and the policy of the lowest whole cost within it."""
    stops = []
    for verdict in verdicts.to_dict("records"):
        mine = readable(summary) & (summary["estimator"] == verdict["estimator"])
        for key in DRAW:
            mine &= summary[key].astype(str) == str(verdict[key])
        found = best_within(summary[mine], cost="acquisition_cost", score="estimate", most=False)
        for budget, row in found:
            match = {key: str(summary.at[row, key]) for key in ROW}
            unit = cost_units[str(verdict["dataset"])]
            stops.append({"budget": budget, "match": match, "unit": unit})
    return slider(
        label="What panels may cost a case on average", unit="", table="summary",
        says=("estimate", "ci_low", "ci_high", "acquisition_cost", "misclassification_cost"),
        stops=stops, goal="lowest cost in all", names=("agent",),
        note="The interval is this policy's by itself; the answer's counts that it was picked.",
    )  # fmt: skip
