"""Finished runs that several files of tests, and the checks of `.ci/`, start from.

Each is made once, by whoever needs it first; the other workers of pytest wait for it. The ten lines
are started as a user starts them, the others warm (`warm.py`); test_ten_lines.py compares both.
Nobody changes one: what is to be changed is copied. `FRUGAL_RUNS` names a folder that keeps them,
so that `.ci/run` makes them once for `make test` and all checks.
"""

import fcntl
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.workflow.runs import ROOT, TEN_LINES, TINY, snakemake, terse_environment

MASKS = "results/missingness/dataset=ten_lines/mechanism=own/masks.parquet"
TREES = {"boosting": {"trees": 10}}
SMALL = {"afape": {"agents": {"cascade": {"sets": 4, **TREES}, "always": TREES, "never": TREES}}}
FEW = dict.fromkeys(("permutation", "fixed", "constant")) | SMALL["afape"]["agents"]  # of `clinic`
FEW_POLICIES = {"afape": {"agents": FEW, "figures": {"convergence_agents": ["always"]}}}
CLINIC = f"table={ROOT / 'docs/examples/clinic.yaml'}"
WORDS = {  # run → what Snakemake is asked for, and its configs
    "tiny": (("afape", "report", "snakemake_report"), (TINY,)),
    "ten_lines": (("afape",), (TEN_LINES,)),
    "masks": ((MASKS,), (TEN_LINES,)),
    "clinic": (("decide", "--config", CLINIC), (Path("few.yaml"),)),
}
FRESH = "ten_lines"


@dataclass(frozen=True)
class Run:
    """A finished run: its folder and all that it printed."""

    folder: Path
    output: str


def finished(name: str, base: Path) -> Run:
    """One of `WORDS`, on one core, kept in a folder of finished runs."""
    output = base / f"{name}.txt"

    def make(folder: Path) -> None:
        folder.mkdir()
        (folder / "few.yaml").write_text(yaml.safe_dump(FEW_POLICIES))
        words, configs = WORDS[name]
        fresh, files = name == FRESH, [folder / path for path in configs]
        environment = terse_environment() if fresh else None
        done = snakemake(folder, *words, configs=files, environment=environment, fresh=fresh)
        assert done.returncode == 0, done.stdout[-5000:]
        output.write_text(done.stdout, encoding="utf-8")

    return Run(made_once(base / name, make), output.read_text(encoding="utf-8"))


def made_once(place: Path, make: Callable[[Path], object]) -> Path:
    """A folder as `make` leaves it; who asks while another makes it, waits."""
    place.parent.mkdir(parents=True, exist_ok=True)
    made = place.with_name(f"{place.name}.made")
    with place.with_name(f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(place, ignore_errors=True)
            make(place)
            made.touch()
    return place


def folder_of_runs(own: Path) -> Path:
    """Where finished runs are kept: the folder that `FRUGAL_RUNS` names, else one's own."""
    return Path(os.environ.get("FRUGAL_RUNS") or own / "finished")
