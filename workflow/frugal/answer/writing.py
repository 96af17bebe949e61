"""An answer as a text, a document and a page."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from frugal.answer import support as supports
from frugal.answer.candidates import PRACTICE, ROUNDING
from frugal.answer.examples import example_tables
from frugal.answer.part import Part, Shown, parts
from frugal.answer.requirements import variant_of
from frugal.answer.words import NAMED, all_remarks, curve, words
from frugal.config.declared import declared_kinds
from frugal.draw.answers import AnswerText, Drawing, drawn, flow
from frugal.results.files import json_bytes, sealed

_BY_COMPUTER = ("Risks need the computer: `advise` names the next panel of a new case.",)
_STABLE = (
    "policy",
    "cost",
    "ci_low",
    "ci_high",
    "state",
    "bound",
    "margin",
    "practice",
    "saving",
    "saving_low",
    "saving_high",
    "short_list",
    "repeated",
    "effective_rows",
    "prices",
    "tipping_gamma",
)


def written(
    choice: Mapping[str, Any],
    outcomes: pd.DataFrame,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    frames: Mapping[str, pd.DataFrame],
    *,
    page: bool,
) -> dict[str, bytes]:
    """`text`, `document` and, where it is wanted, `page`; the latter needs packages for pictures.

    Args:
        choice: the answer as `judge_candidates` made it.
        outcomes: of every policy and of practice.
        catalogue: of the table.
        settings: of `write_answer`.
        frames: part → its own table.
        page: whether there is one.
    """
    answer = _text_of(choice, outcomes, catalogue, settings, frames)
    bundle = settings["bundle"].replace("POLICY", variant_of(choice["policy"]).agent)
    outputs = {
        "text": answer.text().encode(),
        "document": json_bytes(sealed(document(choice, bundle, frames))),
    }
    if not page:
        return outputs
    from frugal.answer.pictures import costs_figure, f1_figure, support_figure  # matplotlib
    from frugal.draw.style import in_column

    unit, pictures = str(catalogue["report"]["cost_unit"]), []
    draw = f1_figure if choice["objective"] == "f1" else costs_figure
    with in_column():
        costs = draw(outcomes, choice["policy"], cost_unit=unit)
        pictures.append((answer.heading, costs, "", answer.sentence))
        if lines := supports.sentences(choice["support"]):
            heading, figure = (
                "Where a panel is not ordered, for lack of records",
                support_figure(supports.shares(choice)),
            )
            pictures.append((heading, figure, " ".join(lines), " ".join(lines)))
        for part in parts():
            shown = _shown(part, choice, catalogue, settings, frames)
            if part.picture is not None and (picture := part.picture(shown)) is not None:
                pictures.append((*picture, picture[2]))
    first = flow(choice["flows"], catalogue["classes"], 0, "Who gets which panel and decision")
    curve, *further = [
        Drawing(heading, drawn(figure, number, heading, finding), caption)
        for number, (heading, figure, caption, finding) in enumerate(pictures, 1)
    ]
    return {**outputs, "page": answer.page([first, curve], further).encode()}


def document(
    choice: Mapping[str, Any], bundle: str, frames: Mapping[str, pd.DataFrame]
) -> dict[str, Any]:
    """Content of `answer.json`, under stable names."""
    return {name: choice[name] for name in _STABLE} | {
        "policy": variant_of(choice["policy"]).agent,
        "short_list": [variant_of(name).agent for name in choice["short_list"]],
        "objective": choice["objective"],
        "errors": choice["errors"],
        "within_budgets": [
            row | {"policy": variant_of(row["policy"]).agent} for row in choice["within_budgets"]
        ],
        "graph": choice["graph"]["state"],
        "support": choice["support"],
        "bundle": bundle,
        **{
            part.name: part.document(
                frames.get(part.name) if part.content is None else choice[part.name]
            )
            for part in parts()
        },
    }


def _shown(
    part: Part,
    choice: Mapping[str, Any],
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    frames: Mapping[str, pd.DataFrame],
) -> Shown:
    """Contents of which the words of a part are made."""
    unit = str(catalogue["report"]["cost_unit"])
    return Shown(choice, frames.get(part.name), unit, catalogue["classes"], settings)


def _text_of(
    choice: Mapping[str, Any],
    outcomes: pd.DataFrame,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    frames: Mapping[str, pd.DataFrame],
) -> AnswerText:
    """The parts of the answer in words."""
    report, policy = catalogue["report"], choice["policy"]
    unit = str(report["cost_unit"])
    text = words(choice, outcomes, unit, catalogue["classes"])
    rows = curve(choice, outcomes)
    tried = rows[(outcomes["agent"] != PRACTICE).to_numpy()]
    tried = tried.iloc[(tried[""] != NAMED).argsort(kind="stable")]
    within = [] if settings["budget"] is None else [_words_within(tried, settings["budget"], unit)]
    bundled, kinds = variant_of(policy).agent, settings["kinds"]
    kind = declared_kinds()[kinds[bundled]] if bundled in kinds else None
    described = [] if kind is None else [f"{bundled}: {kind.literals['doc']}."]
    where = {key: path.replace("POLICY", bundled) for key, path in settings["reading"].items()}
    f1 = choice["objective"] == "f1"
    sections = [
        (part.section, _shown(part, choice, catalogue, settings, frames))
        for part in parts()
        if part.section is not None
    ]
    tables = {
        section.table[0]: section.table[1](shown)
        for section, shown in sections
        if section.table is not None
    }
    return AnswerText(
        title=str(report["title"]),
        heading=f"F1 of each policy, and the price of its panels, {unit} a case"
        if f1
        else f"Cost of each policy, {unit} a case",
        sentence=text.orders,
        curve=rows,
        further=all_remarks(report, settings["causes"], settings["remarks"]),
        reading=where,
        lead=[
            *supports.sentences(choice["support"]),
            *filter(None, [text.errors]),
            text.cost,
            text.sure,
        ],
        does=[*described, *(_BY_COMPUTER if choice["examples"] else ()), *choice["does"]],
        parts={
            "What it rests on": [
                *filter(None, [report.get("predicts")]),
                text.rests,
                *report["suspicions"],
            ],
            "Changes that would alter it": [*text.changes, *text.last, *within],
            **{section.heading: section.sentences(shown) for section, shown in sections},
        },
        folded=True,
        tables={heading: rows for heading, rows in tables.items() if rows is not None},
        steps=example_tables(choice, catalogue["classes"]),
        facts={
            "Table": str(report["name"]),
            "Rows": f"{choice['rows']:,}",
            "Policies": f"{len(tried)}, and today's practice",
            **settings["run"],
        },
    )


def _words_within(rows: pd.DataFrame, budget: float, unit: str) -> str:
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
