"""Stages of the report: the answer for one table, its page, and the page as it is kept."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from frugal.answer import words as answers
from frugal.core.context import Context
from frugal.draw.explorer.assembly import assembled
from frugal.draw.explorer.charts import Axis, Chart, looks_of
from frugal.draw.explorer.sections import answer, scope_of, section


def write_report(
    *, origins: Mapping[str, Any], context: Context, **parts: Mapping[str, Any]
) -> dict[str, bytes]:
    """The page of the parts that are there, each as its stage made it.

    Settings: `template` (digest of the page's own files, so an edit of them shows).
    `origins` is of `frugal.results.manifests`.
    """
    files = origins["files"]
    place = {path: k for k, path in enumerate(files)}
    parts_there = [
        dict(part) | {"sources": _sources(files[origins["inputs"][name][0]], files)}
        for name, part in parts.items()
    ]
    document = {
        "parts": parts_there,
        "files": [_file_record(path, files[path], place) for path in files],
    }
    return {"report": assembled(document).encode()}


def _sources(record_of_part: Mapping[str, Any], files: Mapping[str, Any]) -> dict[str, Any]:
    """Input of the stage that made a part → its files, and the meaning of their columns."""
    inputs: dict[str, Any] = {}
    for record in record_of_part["inputs"]:
        entry = inputs.setdefault(record["name"].removesuffix("[]"), {"paths": [], "columns": {}})
        entry["paths"].append(record["path"])
        for column in files.get(record["path"], {}).get("columns", ()):
            entry["columns"][column["name"]] = [column["unit"], column["meaning"]]
    return inputs


def _file_record(path: str, record: Mapping[str, Any], place: Mapping[str, int]) -> dict[str, Any]:
    """A file: its manifest's record, its inputs by their place, those from outside in full."""
    inside = list(dict.fromkeys(place[r["path"]] for r in record["inputs"] if r["path"] in place))
    outside = [[r["path"], r["sha256"]] for r in record["inputs"] if r["path"] not in place]
    details = {
        key: record[key] for key in ("sha256", "bytes", "stage", "rows", "url") if key in record
    }
    return {"path": path, **details, "inputs": inside, "outside": outside}


# Snakemake writes what it knows of the run into the page's scripts, a line each
_DATA_LINE = re.compile(rb"^(\s*var \w+ = )([\[{\"].*)(;\s*)$", re.MULTILINE)


def keep_report(*, page: Path, context: Context) -> dict[str, bytes]:
    """Hand on the page, in which no name can end a script and begin another."""
    return {"report": _DATA_LINE.sub(_without_tags, page.read_bytes())}


def _without_tags(line: re.Match[bytes]) -> bytes:
    """The line with `<` spelt as in JSON, if it is JSON; scripts of the page itself stay."""
    try:
        json.loads(line[2])
    except ValueError:
        return line[0]
    return line[1] + line[2].replace(b"<", rb"\u003c") + line[3]


TABLE = "summary"  # that holds the answer


def explore_answer(
    *,
    choice: Mapping[str, Any],
    outcomes: pd.DataFrame,
    catalogue: Mapping[str, Any],
    context: Context,
) -> dict[str, Any]:
    """The table's part of the report, in the words of `write_answer`.

    Settings: `dataset` (name of the table).
    """
    report = catalogue["report"]
    unit, f1 = str(report["cost_unit"]), choice["objective"] == "f1"
    text = answers.words(choice, outcomes, unit, catalogue["classes"])
    rows = outcomes.assign(dataset=context.settings["dataset"])
    compared = "1 − F1" if f1 else f"cost a case ({unit})"
    chart = Chart(
        "interval",
        "costs",
        f"Every policy with its 95 % interval: {compared}",
        TABLE,
        "agent",
        looks_of(rows["agent"]),
        Axis("cost", compared),
        Axis("agent", "", "N"),
        ("agent", "cost", "ci_low", "ci_high", "acquisition_cost", "effective_rows"),
        ends=("ci_low", "ci_high"),
    )
    names = ("agent", "cost", "ci_low", "ci_high", "acquisition_cost", "effective_rows", "bound")
    state = choice["state"]
    trust = f"effective sample size {choice['effective_rows']:,.0f} of {choice['rows']:,}"
    return {
        "section": section(
            "decide",
            question="Which policy to use on this table, at what cost, and how sure is that?",
            answers=[
                answer(
                    text.orders,
                    (
                        text.sure,
                        " ".join(filter(None, [text.errors, text.cost])),
                        text.rests,
                        " ".join(text.changes),
                        " ".join(text.last)
                        or "Not compared: `sensitive` names a column of groups.",
                    ),
                    title=str(report["title"]),
                    trust=trust,
                    table=TABLE,
                    row=int((outcomes["agent"] == choice["policy"]).to_numpy().argmax()),
                    sure=state in ("best", "good_enough"),
                    state=state.replace("_", " "),
                )
            ],
            tables={TABLE: (rows, "Cost of every policy and of practice", names)},
            keys=("dataset", "agent"),
            sources={TABLE: "outcomes"},
            charts=[chart.document()],
            scope=scope_of(rows, ["dataset"]),
        )
    }
