#!/usr/bin/env python3
"""Runs the embedded default twice, on one core and on two, in two folders, and compares all bytes.

Every payload and manifest must be the same. One exception: CPU seconds of learning a
treatment policy are a measurement (benchmarks/time_planners/…/timings.parquet, outside results/).
results/summary/treatment.parquet may differ in its column cpu_s alone, its manifest in the digests.
With --short, instead of the embedded default: the study of ten lines, docs/examples/, up to its
answer.
Usage: .ci/check_reproducible.py [--short] FOLDER [WORDS FOR SNAKEMAKE…]     (an empty folder;
without words, the whole embedded default: some forty minutes on two cores; short half a minute)
"""

import json
import math
import subprocess
import sys
from pathlib import Path

import environment
from environment import BIN, ROOT

if __name__ == "__main__":
    OPTIONS = environment.begin(__doc__, most=math.inf)
import pandas as pd  # found after `begin`

from tests.workflow.shared import finished, folder_of_runs

ANSWERS = {"results/summary/verdict.txt", "results/summary/afape.parquet"}
TEN_LINES = [
    "results/summary/verdict.txt",
    "--configfile",
    str(ROOT / "docs/examples/ten_lines_config.yaml"),
]
TIMED = "results/summary/treatment.parquet"
ITS_MANIFEST = "results/steps/summary/treatment.parquet.json"


def run(folder: Path, cores: int, words: list[str]) -> None:
    """The workflow in a folder of its own."""
    folder.mkdir(parents=True)
    command = [BIN / "snakemake", "--cores", str(cores), "--directory", folder, *words]
    with (folder / "output.txt").open("w") as stream:
        variables = environment.variables()
        done = subprocess.run(command, cwd=ROOT, env=variables, stdout=stream, stderr=stream)
    if done.returncode != 0:
        sys.exit(f"NOT SO: the run with --cores {cores} ended; see {folder / 'output.txt'}")
    print(f"ok: the run with --cores {cores} ended", flush=True)


def files(folder: Path) -> dict[str, bytes]:
    """Every visible file under results/ but the report, which shows when it was made."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted((folder / "results").rglob("*"))
        if path.is_file() and not path.name.startswith(".") and path.name != "report.html"
    }


def but_for_cpu_seconds(folder: Path) -> tuple[pd.DataFrame, dict]:
    """The timed table without its measured column, its manifest without what follows from it."""
    table = pd.read_parquet(folder / TIMED, partitioning=None).drop(columns="cpu_s")
    document = json.loads((folder / ITS_MANIFEST).read_bytes())
    del document["outputs"], document["seal"]
    for record in document["inputs"]:
        if record["path"] == "timings.parquet":
            del record["sha256"]
    return table, document


def main(folder: Path, words: list[str]) -> None:
    """Both runs, and the comparison."""
    a, b = folder / "one_core", folder / "two_cores"
    if words:
        run(a, 1, words)
    else:
        a = finished("ten_lines", folder_of_runs(folder)).folder
    run(b, 2, words or TEN_LINES)
    left, right = files(a), files(b)
    if not words:
        left = {name: left[name] for name in left.keys() & right.keys() | ANSWERS}
    if left.keys() != right.keys():
        sys.exit(f"NOT SO: files of one run only: {sorted(left.keys() ^ right.keys())[:5]}")
    differing = [name for name in left if left[name] != right[name]]
    wrong = [name for name in differing if name not in (TIMED, ITS_MANIFEST)]
    if not wrong and differing:
        (table, document), (table_b, document_b) = but_for_cpu_seconds(a), but_for_cpu_seconds(b)
        wrong = [] if table.equals(table_b) and document == document_b else differing
    if wrong:
        sys.exit(f"NOT SO: {len(wrong)} files differ, first {wrong[:5]}")
    print(f"ok: {len(left) - len(differing)} of {len(left)} files are the same, byte for byte")
    if differing:
        print(f"ok: {TIMED} differs in its column cpu_s alone, its manifest in the digests")


if __name__ == "__main__":
    main(OPTIONS.folder, OPTIONS.rest or ([] if OPTIONS.short else ["all"]))
