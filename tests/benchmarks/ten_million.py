"""Ten million rows of 20 columns from a CSV to verdicts: time, and memory of every process.

  python -m tests.benchmarks.ten_million FOLDER [ROWS]

Writes a made-up table with gaps of its own into FOLDER, and judges three rules and a tree agent by
all estimators that need no imputation, by the workflow itself on two cores. Prints CPU seconds,
wall time and peak memory of each stage as the operating system counted them, and the most that all
processes together held at one time. What is there already is not made again, so that an interrupted
run goes on. Ten million rows need some 20 GB of disk.
"""

import copy
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import yaml
from scipy.special import expit

from tests.defaults import DEFAULT

ROOT = Path(__file__).parents[2]
CHUNK = 500_000  # rows that are made at a time
TRAIN, AGENT = 50_000, 50_000  # rows that the classifier and the agent learn from
FREE = ["age", "height", "pulse", "visits"]
PANELS = {
    "blood": ["b1", "b2", "b3"],
    "urine": ["u1", "u2"],
    "gas": ["g1", "g2", "g3"],
    "scan": ["s1", "s2", "s3", "s4"],
    "culture": ["c1", "c2"],
    "stress": ["t1", "t2"],
}
PRICES = {"blood": 1.0, "urine": 0.5, "gas": 1.5, "scan": 4.0, "culture": 1.0, "stress": 3.0}
GAPS = {"blood": 0.1, "urine": 0.2, "gas": 0.25, "scan": 0.3, "culture": 0.2, "stress": 0.35}
RULES = {
    "cheap": {
        "kind": "rule",
        "steps": [{"panel": "urine"}, {"panel": "culture", "when": {"column": "u1", "above": 0.0}}],
    },
    "blood_first": {
        "kind": "rule",
        "steps": [
            {"panel": "blood"},
            {"panel": "gas", "when": {"column": "b1", "above": 0.5}},
            {"panel": "scan", "when": {"column": "b2", "above": -0.5, "below": 0.8}},
        ],
    },
    "by_age": {
        "kind": "rule",
        "steps": [
            {"panel": "scan", "when": {"column": "age", "above": 0.3}},
            {"panel": "urine"},
            {"panel": "stress", "when": {"column": "u1", "above": 1.0}},
        ],
    },
}
TREES = {
    "kind": "lattice",
    "boosting": {
        "trees": 60,
        "leaves": 12,
        "learning_rate": 0.1,
        "min_leaf": 50,
        "ridge": 5.0,
        "column_share": 0.6,
        "row_share": 0.8,
        "folds": 2,
        "repeats": 1,
    },
    "copies": 2,
    "sets": 20,
    "price_weights": 3,
    "gains": {"trees": 15, "leaves": 8, "learning_rate": 0.2, "min_leaf": 100, "ridge": 5.0},
}


def columns(rows: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Some rows of the table; a panel without a value is empty in all of its columns."""
    made = {name: rng.normal(size=rows) for name in FREE}
    for names in PANELS.values():
        shared = rng.normal(size=rows)
        made |= {name: 0.6 * shared + 0.8 * rng.normal(size=rows) for name in names}
    score = 0.8 * made["age"] + made["b1"] + 0.7 * made["s1"] + 0.5 * made["u1"] + 0.4 * made["g2"]
    made["ill"] = (rng.random(rows) < expit(score - 1.0)).astype(np.int64)
    for panel, share in GAPS.items():
        lacks = rng.random(rows) < expit(np.log(share / (1 - share)) - 0.4 * made["age"])
        for name in PANELS[panel]:
            made[name] = np.where(lacks, np.nan, made[name])
    return {k: v if k == "ill" else np.round(v, 3) for k, v in made.items()}


def write_table(path: Path, rows: int) -> None:
    """The table as a CSV."""
    part = path.with_suffix(".part")
    with part.open("wb") as stream:
        for start in range(0, rows, CHUNK):
            rng = np.random.default_rng([20, start])
            made = columns(min(CHUNK, rows - start), rng)
            table = pa.table({k: pa.array(v, from_pandas=True) for k, v in made.items()})
            options = arrow_csv.WriteOptions(include_header=start == 0, quoting_style="none")
            arrow_csv.write_csv(table, stream, options)
    part.replace(path)


def description(rows: int) -> dict[str, Any]:
    """What the data set's YAML says."""
    names = [*FREE, *(name for columns in PANELS.values() for name in columns)]
    panels = [{"name": "known", "columns": FREE, "free": True}]
    panels += [{"name": n, "columns": c, "cost": PRICES[n]} for n, c in PANELS.items()]
    return {
        "name": "wide",
        "title": "Ten million rows",
        "note": "Made up.",
        "cost_unit": "EUR",
        "source": {
            "kind": "path",
            "files": [{"name": "wide.csv"}],
            "format": {
                "kind": "csv",
                "separator": ",",
                "header": True,
                "comment": None,
                "strip": False,
                "missing": [""],
                "encoding": "utf-8",
            },
        },
        "columns": [{"name": name, "type": "numeric", "unit": "1"} for name in names],
        "panels": panels,
        "cost_draw": None,
        "label": {
            "column": "ill",
            "classes": [{"name": "no", "values": ["0"]}, {"name": "yes", "values": ["1"]}],
        },
        "sensitive": None,
        "misclassification_cost": [[0, 10], [30, 0]],
        "drop_rows": [],
        "missing_values": "own",
        "split": {
            "scheme": "counts",
            "seed": 0,
            "parts": {"train": TRAIN, "agent": AGENT, "test": rows - TRAIN - AGENT},
        },
    }


def config() -> dict[str, Any]:
    """Four agents, one scenario, no imputation; all else as the embedded default has it."""
    default = copy.deepcopy(DEFAULT)["afape"]
    left_out = dict.fromkeys(default["agents"])
    return {
        "datasets": {"wide": "wide.yaml"},
        "afape": {
            "seeds": [0],
            "classifier": {
                "kind": "boosting",
                "trees": 40,
                "leaves": 8,
                "learning_rate": 0.15,
                "min_leaf": 50,
            },
            "agents": left_out | RULES | {"trees": TREES},
            "nuisance": {
                "method": "logistic",
                "outcome_method": "boosting",
                "boosting": {"trees": 30, "leaves": 15, "learning_rate": 0.15},
            },
            "imputation": {"chained_trees": None, "missforest": None, "multiple": None},
            "grid": {"agents": list(RULES)},
            "figures": {"frequency_agent": "trees", "convergence_agents": ["blood_first"]},
            "scenarios": [
                {
                    "dataset": "wide",
                    "mechanism": "own",
                    "nuisance_method": None,
                    "s": None,
                    "missingness": {
                        "source": "own",
                        "panels": {name: {"values": ["age"]} for name in PANELS},
                    },
                }
            ],
        },
    }


class Watch(threading.Thread):
    """The most memory that a process and all below it hold at one time, GB."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid, self.peak_gb = pid, 0.0

    def run(self) -> None:
        """Look until the process has ended."""
        while Path(f"/proc/{self._pid}").exists():
            held = sum(_held_kb(pid) for pid in _family(self._pid))
            self.peak_gb = max(self.peak_gb, held / 1024**2)
            time.sleep(0.5)


def _family(pid: int) -> list[int]:
    """A process and all below it, whichever of a process's threads started them."""
    found = [pid]
    for one in found:
        for thread in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, thread.read_text().split())
            except OSError:
                continue
    return found


def _held_kb(pid: int) -> int:
    """Private and shared memory of a process, its share of what several use."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def run(folder: Path, rows: int) -> None:
    """Make the table, run the workflow, print what it took."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "wide.csv").exists():
        write_table(folder / "wide.csv", rows)
    for name, content in (("wide.yaml", description(rows)), ("config.yaml", config())):
        (folder / name).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    began = time.monotonic()
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    words = [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        str(ROOT / "Snakefile"),
        "--directory",
        str(folder),
        "--configfile",
        str(folder / "config.yaml"),
        "--cores",
        "2",
        "--",
        "afape",
    ]
    job = subprocess.Popen(words, env=os.environ | {"TMPDIR": str(scratch)})
    watch = Watch(job.pid)
    watch.start()
    status = job.wait()
    watch.join()
    print(
        f"status {status}, wall {(time.monotonic() - began) / 60:.1f} min, "
        f"all processes together at most {watch.peak_gb:.2f} GB"
    )
    if status:
        sys.exit(status)
    show(folder)


def show(folder: Path) -> None:
    """CPU seconds, wall time and peak memory of each stage, the last run of each job."""
    rows = []
    for path in sorted((folder / "benchmarks").rglob("*.jsonl")):
        said = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
        stage = path.relative_to(folder / "benchmarks").parts[0].removesuffix(".jsonl")
        rows.append({"stage": stage} | {k: float(v) for k, v in said.items() if _is_number(v)})
    table = pd.DataFrame(rows)
    print(table.groupby("stage", sort=False).agg(["sum", "max"]).round(1).to_string())
    print(table.drop(columns="stage").sum().round(1).to_string())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    run(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000)
