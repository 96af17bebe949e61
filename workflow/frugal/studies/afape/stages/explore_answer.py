"""Stage `explore_answer`: what the report shows of one table: its answer, and every policy."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.draw.explorer.charts import Axis, Shown, interval_chart
from frugal.draw.explorer.looks import looks_of
from frugal.draw.explorer.packing import packed_table
from frugal.draw.explorer.sections import answer, scope_of, section
from frugal.studies.afape.answers import words

TABLE = "summary"  # that holds the answer


def explore_answer(
    *,
    choice: Mapping[str, Any],
    outcomes: pd.DataFrame,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """The table's part of the report, in the words of `write_answer`.

    Settings: `dataset` (name of the table).
    """
    del streams, progress
    report = catalogue["report"]
    unit, f1 = str(report["cost_unit"]), choice["objective"] == "f1"
    text = words(choice, outcomes, unit, catalogue["classes"])
    rows = outcomes.assign(dataset=settings["dataset"])
    compared = "1 − F1" if f1 else f"cost a case ({unit})"
    shown = Shown(
        "costs", f"Every policy with its 95 % interval: {compared}", TABLE, "agent",
        looks_of(rows["agent"]), {},
        ("agent", "cost", "ci_low", "ci_high", "acquisition_cost", "effective_rows"),
    )  # fmt: skip
    state = choice["state"]
    trust = f"{choice['effective_rows']:,.0f} effective rows of {choice['rows']:,}"
    return {
        "section": section(
            "decide",
            question="Which policy to use on this table, at what cost, and how sure is that?",
            answers=[
                answer(
                    text.headline,
                    (
                        text.sure, text.saving, text.rests, " ".join(text.changes),
                        " ".join(text.groups) or "Not asked: `sensitive` names a column of groups.",
                    ),
                    title=str(report["title"]), trust=trust, table=TABLE,
                    row=int((outcomes["agent"] == choice["policy"]).to_numpy().argmax()),
                    sure=state in ("best", "good_enough"), state=state.replace("_", " "),
                )
            ],
            tables={TABLE: _packed(rows)},
            charts=[
                interval_chart(
                    shown, Axis("cost", compared), Axis("agent", "", "N"),
                    ends=("ci_low", "ci_high"),
                )
            ],
            scope=scope_of(rows, ["dataset"]),
        )
    }  # fmt: skip


def _packed(rows: pd.DataFrame) -> dict[str, Any]:
    names = ("agent", "cost", "ci_low", "ci_high", "acquisition_cost", "effective_rows", "bound")
    title = "What every policy costs, and what practice did"
    return packed_table(
        rows, title=title, source="outcomes", shown=names, keys=("dataset", "agent")
    )
