"""Stage `write_answer`: one table's answer as a text, as one page, and as a document."""

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.draw.answers import Answer
from frugal.results.files import json_bytes, payload_bytes
from frugal.studies.afape.agent_names import candidate
from frugal.studies.afape.answers import NAMED, curve, document, words
from frugal.studies.afape.candidates import PRACTICE, ROUNDING


def write_answer(
    *,
    choice: Mapping[str, Any],
    outcomes: pd.DataFrame,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    page: bool = True,
) -> dict[str, bytes]:
    """The answer in at most twelve lines; the page has a picture and what the policy does.

    `page` False leaves out the page, which needs packages for pictures.

    Settings: `budget` (of panels, a case on average, or None), `remarks` (what was assumed),
    `reading` (words → file or command), `bundle` (folder of a policy, for POLICY its name).
    """
    del streams, progress
    answer = _answer(choice, outcomes, catalogue, settings)
    bundle = settings["bundle"].replace("POLICY", candidate(choice["policy"]))
    written = {"text": answer.text().encode(), "document": json_bytes(document(choice, bundle))}
    if not page:
        return written
    from frugal.studies.afape.figures.answer_costs import costs_figure, f1_figure  # matplotlib

    drawn = f1_figure if choice["objective"] == "f1" else costs_figure
    unit = str(catalogue["report"]["cost_unit"])
    picture = payload_bytes(Path("answer.png"), drawn(outcomes, choice["policy"], cost_unit=unit))
    shown = answer.page(f"data:image/png;base64,{base64.b64encode(picture).decode()}")
    return {**written, "page": shown.encode()}


def _answer(
    choice: Mapping[str, Any],
    outcomes: pd.DataFrame,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> Answer:
    """The parts of the answer in words."""
    report, policy = catalogue["report"], choice["policy"]
    unit = str(report["cost_unit"])
    text = words(choice, outcomes, unit, catalogue["classes"])
    rows = curve(choice, outcomes)
    tried = rows[(outcomes["agent"] != PRACTICE).to_numpy()]
    tried = tried.iloc[(tried[""] != NAMED).argsort(kind="stable")]
    within = [] if settings["budget"] is None else [_within(tried, settings["budget"], unit)]
    bundled = candidate(policy)
    where = {what: path.replace("POLICY", bundled) for what, path in settings["reading"].items()}
    f1 = choice["objective"] == "f1"
    return Answer(
        title=str(report["title"]),
        heading=f"F1 of each policy, and what its panels cost a case, {unit}"
        if f1
        else f"What each policy costs a case, {unit}",
        sentence=text.headline,
        curve=rows,
        further=settings["remarks"],
        reading=where,
        lead=[text.saving, text.sure],
        does=choice["does"],
        parts={
            "What it rests on": [text.rests],
            "What changes, and what would change it": [*text.changes, *text.groups, *within],
        },
        folded=True,
    )


def _within(rows: pd.DataFrame, budget: float, unit: str) -> str:
    """The named policy, which comes first, or the best one whose panels cost no more on average."""
    able = rows[rows["panels"] <= budget * (1 + ROUNDING)]
    if not len(able):
        cheapest = rows.sort_values("panels", kind="stable").iloc[0]
        return (
            f"No policy keeps to a budget of {budget:.3g} {unit} for panels; "
            f"{cheapest['policy']} comes closest with {cheapest['panels']:.3g}."
        )
    best = able.iloc[0]
    return (
        f"Within a budget of {budget:.3g} {unit} for panels: {best['policy']}, "
        f"{best['in all']:.3g} a case in all ({best['95 % from']:.3g} to {best['to']:.3g}), of "
        f"which panels {best['panels']:.3g}."
    )
