"""A small chain of results, two steps long, as the audit and the manifests see it."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
from frugal.results.files import json_bytes, seal
from frugal.results.manifests import Job, input_records, load_record, write_outputs

TABLE = Path("results/data/dataset=a/table.parquet")
CATALOGUE = Path("results/data/dataset=a/catalogue.json")
SUMMARY = Path("results/summary/afape.parquet")
OUTSIDE = Path("inputs/a.yaml")

PREPARE = Job(
    "prepare_data",
    {"description": OUTSIDE},
    {"table": TABLE, "catalogue": CATALOGUE},
    {},
    {"dataset": "a"},
    7,
)
SUMMARISE = Job("summarise_afape", {"estimates": [TABLE]}, {"summary": SUMMARY}, {}, {}, 7)


def payloads(job):
    """What a step makes: always the same."""
    if job.stage == "prepare_data":
        catalogue = {"columns": [{"name": "age", "unit": "year"}, {"name": "smoker", "unit": None}]}
        frame = pd.DataFrame({"row_id": [0, 1], "age": [54.0, 61.0], "smoker": [1.0, 0.0]})
        return {"table": frame, "catalogue": catalogue}
    return {"summary": pd.DataFrame({"seed": [0], "estimate": [1.25]})}


def run_step(job):
    """Stands for `frugal.run.stage_command.run_job`."""
    write_outputs(job, payloads(job), input_records(job))


def write_chain():
    """Both steps, in the working folder."""
    OUTSIDE.parent.mkdir()
    OUTSIDE.write_text("name: a\n")
    run_step(PREPARE)
    run_step(SUMMARISE)


def forge(payload: Path, root: Path = Path(), **changes: Any) -> None:
    """The manifest of a file rewritten with a fitting seal, as somebody who knows the rules would.

    `sha256` and `path` are those of the file.
    """
    record = load_record(payload, root)
    document = json.loads((root / record["manifest"]).read_text())
    output = document["outputs"][record["output"]]
    output |= {key: changes.pop(key) for key in output.keys() & changes.keys()}
    seal_anew(root / record["manifest"], document | changes)


def seal_anew(path, document):
    """Write a manifest with a fitting seal."""
    rest = {key: value for key, value in document.items() if key != "seal"}
    path.write_bytes(json_bytes({**rest, "seal": seal(rest)}))
