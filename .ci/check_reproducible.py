#!/usr/bin/env python3
"""Runs the embedded default twice, on one core and on two, in two folders, and compares all bytes.

Every payload and every sidecar must be the same. One exception, said aloud: CPU seconds of learning
a treatment policy are a measurement (benchmarks/time_planners/…/timings.parquet, outside results/).
Files made from it may differ in columns cpu_s alone, and sidecars in the digests that follow.
Usage: .ci/check_reproducible.py FOLDER [WORDS FOR SNAKEMAKE…]     (an empty folder; without words,
the whole embedded default: some fifty minutes on two cores)
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
TIMINGS = "timings.parquet"
MEASURED = ("cpu_s",)  # and means of it: columns that begin so


def run(folder: Path, cores: int, words: list[str]) -> None:
    """The workflow in a folder of its own."""
    folder.mkdir(parents=True)
    command = [ROOT / ".venv/bin/snakemake", "--cores", str(cores), "--directory", folder, *words]
    with (folder / "said.txt").open("w") as stream:
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=stream, stderr=stream)
    if done.returncode != 0:
        sys.exit(f"the run on {cores} cores failed; see {folder / 'said.txt'}")
    print(f"ok: a run on {cores} cores ended", flush=True)


def files(folder: Path) -> dict[str, bytes]:
    """Every visible file under results/ but the report, which shows when it was made."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted((folder / "results").rglob("*"))
        if path.is_file() and not path.name.startswith(".") and path.name != "report.html"
    }


def timed(folder: Path) -> set[str]:
    """Payloads that were made from timings, directly or not."""
    sidecars = {
        p.relative_to(folder).with_name(p.name[1:-5]).as_posix(): json.loads(p.read_bytes())
        for p in (folder / "results").rglob("_*.json")
    }
    found: set[str] = set()
    while True:
        more = {
            payload
            for payload, document in sidecars.items()
            if any(r["path"] == TIMINGS or r["path"] in found for r in document["inputs"])
        }
        if more == found:
            return found
        found = more


def same_but_for_timings(name: str, a: Path, b: Path, exempt: set[str]) -> bool:
    """True for a table that differs in measured columns alone, or the sidecar of such a chain."""
    path = Path(name)
    if path.name.startswith("_") and path.suffix == ".json":
        if path.with_name(path.name[1:-5]).as_posix() not in exempt:
            return False
        documents = [json.loads((folder / name).read_bytes()) for folder in (a, b)]
        for document in documents:
            for key in ("sha256", "bytes", "seal"):
                del document[key]
            for record in document["inputs"]:
                if record["path"] == TIMINGS or record["path"] in exempt:
                    del record["sha256"]
        return documents[0] == documents[1]
    if name not in exempt or path.suffix != ".parquet":
        return False
    tables = [pd.read_parquet(folder / name, partitioning=None) for folder in (a, b)]
    kept = [t[[c for c in t.columns if not str(c).startswith(MEASURED)]] for t in tables]
    return kept[0].equals(kept[1])


def main(folder: Path, words: list[str]) -> None:
    """Both runs, and the comparison."""
    a, b = folder / "one_core", folder / "two_cores"
    run(a, 1, words)
    run(b, 2, words)
    left, right, exempt = files(a), files(b), timed(a)
    if left.keys() != right.keys():
        sys.exit(f"NOT SO: files of one run only: {sorted(left.keys() ^ right.keys())[:5]}")
    differing = [name for name in left if left[name] != right[name]]
    wrong = [name for name in differing if not same_but_for_timings(name, a, b, exempt)]
    if wrong:
        sys.exit(f"NOT SO: {len(wrong)} files differ, first {wrong[:5]}")
    print(
        f"ok: {len(left) - len(differing)} of {len(left)} files are the same, byte for byte; "
        f"{sum(n.endswith('.parquet') for n in differing)} tables differ in their columns of CPU "
        f"seconds alone, and {sum(n.endswith('.json') for n in differing)} sidecars in the digests "
        "of such tables"
    )


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve(), sys.argv[2:] or ["all"])
