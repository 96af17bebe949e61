"""A small chain of results, two steps long, as the audit and the sidecars see it."""

from pathlib import Path

import pandas as pd
from frugal.results.files import payload_bytes
from frugal.results.sidecars import Job, input_records, write_outputs

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
    made = payloads(job)
    contents = {name: payload_bytes(p, made[name]) for name, p in job.outputs.items()}
    write_outputs(job, made, contents, input_records(job))


def write_chain():
    """Both steps, in the working folder."""
    OUTSIDE.parent.mkdir()
    OUTSIDE.write_text("name: a\n")
    run_step(PREPARE)
    run_step(SUMMARISE)
