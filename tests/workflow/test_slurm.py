"""Snakemake with our executor over commands that stand for Slurm's (.ci/check_slurm.py: the real).

Tells where another version of Snakemake, or of its plugin for Slurm, needs another `frugal_slurm`.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.workflow import fake_slurm
from tests.workflow.runs import BIN, ROOT, plain_environment

pytestmark = pytest.mark.workflow
SNAKEFILE = """
import sys
sys.path.insert(0, "{sources}")
from frugal_engine import keep_finished_files, kept
from frugal_slurm import adapt_executor
keep_finished_files()
if workflow.is_main_process:
    adapt_executor()
rule all:
    input: "b.txt"
    localrule: True
rule first:
    output: kept("a.txt")
    params: settled=lambda w: config.get("settled", 1)
    log: "logs/first.log"
    resources: mem_mb=100, slurm_partition="main", runtime=lambda w, attempt: 10 * attempt
    shell: "({first}) 2> {{log}}"
rule second:
    input: "a.txt"
    output: kept("b.txt")
    log: "logs/second.log"
    resources: mem_mb=100, slurm_partition="main", runtime=lambda w, attempt: 10 * attempt
    shell: "cp {{input}} {{output}} 2> {{log}}"
"""
WORKS = "echo 1 > {output}"
REFUSES = "echo 'frugal first: the table has no rows' >&2; exit 1"
WAITS = "while ! test -e go; do sleep .1; done; echo 1 > {output}"


class Study:
    """Two steps, and commands that stand for Slurm's."""

    def __init__(self, folder: Path):
        self.folder, self.home = folder / "study", folder / "slurm"
        for made in (self.folder, self.home / "bin", self.home / "jobs", self.home / "states"):
            made.mkdir(parents=True)
        for name in ("sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo"):
            path = self.home / "bin" / name
            path.write_text(f'#!/bin/sh\nexec {BIN}/python {fake_slurm.__file__} {name} "$@"\n')
            path.chmod(0o755)

    def write(self, first: str) -> None:
        """The workflow, with a first step of that shell line."""
        text = SNAKEFILE.format(sources=ROOT / "workflow", first=first)
        (self.folder / "Snakefile").write_text(text)

    def begin(self, *words: str) -> subprocess.Popen:
        """Start Snakemake; it asks for jobs every second."""
        asked = ["--executor", "slurm", "--jobs", "5", "--retries", "2", "--latency-wait", "5"]
        asked += ["--slurm-init-seconds-before-status-checks", "1", "--rerun-incomplete"]
        asked += ["--seconds-between-status-checks", "1"]  # the first pause
        environment = plain_environment()
        environment |= {"FAKE_SLURM": str(self.home)}
        environment["PATH"] = f"{self.home / 'bin'}:{environment['PATH']}"
        with (self.folder / "said.txt").open("w") as said:
            return subprocess.Popen(
                [str(BIN / "snakemake"), *asked, *words],
                cwd=self.folder,
                env=environment,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def begin_and_kill(self) -> None:
        """Start Snakemake, and kill it once its note of the first job has Slurm's id."""
        begun, notes = self.begin(), self.folder / ".snakemake/slurm_jobs"
        self.await_(lambda: any('"slurm_id": "1"' in p.read_text() for p in notes.glob("*.json")))
        os.killpg(begun.pid, signal.SIGKILL)
        begun.wait()

    def start(self, *words: str) -> int:
        """Run Snakemake to its end."""
        return self.begin(*words).wait(timeout=300)

    @property
    def said(self) -> str:
        """What Snakemake has said by now."""
        return (self.folder / "said.txt").read_text()

    def jobs(self) -> list[list[str]]:
        """Words by which jobs were submitted, in their order."""
        paths = sorted((self.home / "jobs").glob("*.json"), key=lambda path: int(path.stem))
        return [json.loads(path.read_text())["words"] for path in paths]

    def await_(self, holds) -> None:
        """Return when something holds."""
        deadline = time.monotonic() + 200
        while not holds():
            assert time.monotonic() < deadline, self.said
            time.sleep(0.1)


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path)


def test_a_wrong_input_is_submitted_once_and_its_sentence_stands_last(study):
    study.write(REFUSES)
    assert study.start() == 1
    assert len(study.jobs()) == 1
    *_, failed, sentence = study.said.rstrip().splitlines()
    assert failed.startswith("Failed: first (all of it: logs/first.log, ")
    assert sentence == "frugal first: the table has no rows"
    assert not (study.folder / ".snakemake/slurm_jobs").exists()


def test_a_step_of_a_job_finds_the_folder_of_ones_own_table(study):
    """A step begins where its job has moved to; it must not move once more from there."""
    table = f"table={ROOT / 'docs/examples/clinic.yaml'}"
    where = ["--directory", str(study.folder)]
    own = ["--default-resources", "slurm_partition=main", "runtime=10", "--until", "prepare_data"]
    words = ["--snakefile", str(ROOT / "Snakefile"), *where, *own, "--config", table]
    assert study.start(*words, "--", "decide") == 0, study.said
    assert len(study.jobs()) == 1
    made = [path.relative_to(study.folder) for path in study.folder.rglob("table.parquet")]
    assert made == [Path("results/decide/clinic/results/data/dataset=clinic/table.parquet")]


def test_lack_of_time_comes_again_with_more(study):
    (study.home / "states/1").write_text("TIMEOUT")
    study.write(WORKS)
    assert study.start() == 0
    assert [fake_slurm.option(words, "-t") for words in study.jobs()] == ["10", "20", "10"]
    assert "(Slurm's job 1) took longer than the 10 minutes it requested; it comes" in study.said
    assert "Failed: " not in study.said


@pytest.mark.parametrize("settled", [1, 2, None])
def test_a_job_that_a_killed_snakemake_left_is_waited_for_or_cancelled(study, settled):
    """None: it ends well after the kill, and is not run again."""
    study.write(WAITS)
    study.begin_and_kill()
    assert len(list((study.folder / ".snakemake/slurm_jobs").glob("*.json"))) == 1
    if settled is None:
        (study.folder / "go").touch()
        study.await_((study.home / "states/1").exists)
    shutil.rmtree(study.folder / ".snakemake/locks")  # as --unlock does
    begun = study.begin("--config", f"settled={settled or 1}")
    if settled is not None:
        words = "they are waited for" if settled == 1 else "they are cancelled: 1 (first)"
        study.await_(lambda: words in study.said)
        (study.folder / "go").touch()
    assert begun.wait(timeout=200) == 0
    assert len(study.jobs()) == (3 if settled == 2 else 2)
    assert len(re.findall("is Slurm's job 1 of an earlier start", study.said)) == (settled == 1)
    assert (study.folder / "b.txt").read_text() == "1\n"
    assert not (study.folder / ".snakemake/slurm_jobs").exists()
