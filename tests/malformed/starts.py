"""Starts of the engine itself, a handful: what a person sees on the terminal."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests.malformed.cases import ROOT, Case, Refused, Wrong, files_here
from tests.workflow.runs import BIN, plain_environment

GROUP = "`snakemake` itself, from its start to its end"
EXAMPLES = ROOT / "docs/examples"
START_S = 100  # seconds: mostly imports, many times more on a machine that is at work
_START = "Frugal cannot start: "


def _snakemake(*words: str) -> str:
    """A dry run in the working folder; a refusal is the one line that says so.

    Raises:
        Refused: with that line.
        Wrong: a traceback, several such lines, or files left behind.
    """
    before = files_here()
    done = subprocess.run(
        [str(BIN / "snakemake"), "-n", "--directory", str(Path.cwd()), *words],
        cwd=ROOT,
        env=plain_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    message = [line for line in done.stdout.splitlines() if _START in line]
    if done.returncode == 0:
        return "a plan"
    if "Traceback" in done.stdout or len(message) != 1:
        raise Wrong(done.stdout[-2000:])
    if {k: v for k, v in files_here().items() if ".snakemake" not in k} != before:
        raise Wrong("files were left behind")
    raise Refused(message[0][message[0].index(_START) :])


def _own_study(change: Callable[[dict[str, Any]], Any]) -> str:
    """The ten lines as a study of one's own, with the config changed."""
    for name in ("ten_lines.csv", "ten_lines.yaml"):
        shutil.copy(EXAMPLES / name, name)
    config = yaml.safe_load((EXAMPLES / "ten_lines_config.yaml").read_text(encoding="utf-8"))
    config["datasets"] = {"ten_lines": str(Path("ten_lines.yaml").resolve())}
    change(config)
    Path("study.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return _snakemake("afape", "--configfile", str(Path("study.yaml").resolve()))


def _pipe_for_table(config: dict[str, Any]) -> None:
    del config
    Path("ten_lines.csv").unlink()
    os.mkfifo("ten_lines.csv")


def _broken_manifest(config: dict[str, Any]) -> None:
    del config
    Path("results/steps").mkdir(parents=True)
    Path("results/steps/prepare_data-0.json").write_bytes(b"[" * 100_000)


def cases() -> Iterator[Case]:
    """One of a file, one of the results; configs and the command line: `configs.py`."""
    study = partial(Case, GROUP, limit_s=START_S)
    yield study("a named pipe for the table", partial(_own_study, _pipe_for_table), "ten_lines.csv")
    yield study(
        "a manifest under `results/` that is 100,000 brackets",
        partial(_own_study, _broken_manifest),
        "prepare_data-0.json",
    )
