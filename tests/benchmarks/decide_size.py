"""`decide` on a table of one's own, ten thousand rows of 20 columns: CPU seconds and memory.

  python -m tests.benchmarks.decide_size FOLDER [ROWS]

The made-up table of `ten_million`, gaps of its own, with the policies that `decide` trains. Prints
what each stage took, as the operating system counted it. Goal: five CPU minutes.
"""

import subprocess
import sys
from pathlib import Path

import yaml

from tests.benchmarks.ten_million import ROOT, description, show, write_table

SPLIT = {"scheme": "fractions", "seed": 0, "parts": {"train": 0.3, "agent": 0.3, "test": 0.4}}


def run(folder: Path, rows: int) -> None:
    """Make the table, decide, print what it took."""
    folder.mkdir(parents=True, exist_ok=True)
    write_table(folder / "wide.csv", rows)
    told = description(rows) | {"split": SPLIT, "title": f"{rows:,} rows"}
    path = folder / "wide.yaml"
    path.write_text(yaml.safe_dump(told, sort_keys=False), encoding="utf-8")
    words = [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        str(ROOT / "Snakefile"),
        "--directory",
        str(folder),
        "--cores",
        "2",
        "--config",
        f"table={path}",
        "--",
        "decide",
    ]
    if status := subprocess.run(words).returncode:
        sys.exit(status)
    show(folder / "results" / "decide" / "wide")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    run(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)
