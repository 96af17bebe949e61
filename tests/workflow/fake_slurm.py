"""Slurm's commands as far as Snakemake's executor calls them: jobs run here, at once.

A job is a file `jobs/ID.json` under FAKE_SLURM. Its state is that of its process, or what a file
`states/ID` says; one that is to fail by such a file does nothing. Called with a command's name and
its words.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

HOME = Path(os.environ.get("FAKE_SLURM", "."))
JOBS, STATES = HOME / "jobs", HOME / "states"


def option(words: list[str], name: str) -> str:
    """The value of an option, in either way of writing it."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == name:
            return following
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return ""


def sbatch(words: list[str]) -> None:
    """Start a job and print its id."""
    job = str(len(list(JOBS.glob("*.json"))) + 1)
    told = {"name": option(words, "--job-name"), "words": words}
    log = option(words, "--output").replace("%j", job)
    fails = (STATES / job).exists()
    work = ["true"] if fails else [sys.executable, __file__, "run", job, option(words, "--wrap")]
    with Path(log).open("wb") as out:
        process = subprocess.Popen(
            work,
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ | {"SLURM_JOB_ID": job},
        )
    (JOBS / f"{job}.json").write_text(json.dumps(told | {"pid": process.pid}))
    print(job)


def run(words: list[str]) -> None:
    """What a job does; then its state."""
    status = subprocess.run(["sh", "-c", words[1]], check=False).returncode
    path = STATES / words[0]
    if not path.exists():
        path.write_text("FAILED" if status else "COMPLETED")


def srun(words: list[str]) -> None:
    """The command behind the options."""
    own = next(k for k, word in enumerate(words) if not word.startswith("-"))
    sys.exit(subprocess.run(words[own:], check=False).returncode)


def squeue(words: list[str]) -> None:
    """Jobs of these names, as `%i|%T|%j|%r`."""
    names = option(words, "--name").split(",")
    for path in JOBS.glob("*.json"):
        name, state = json.loads(path.read_text())["name"], STATES / path.stem
        told = state.read_text() if state.exists() else "RUNNING"
        if name in names:
            print(f"{path.stem}|{told}|{name}|")


def scancel(words: list[str]) -> None:
    """End jobs with all their processes."""
    for job in words:
        (STATES / job).write_text("CANCELLED")
        os.killpg(json.loads((JOBS / f"{job}.json").read_text())["pid"], signal.SIGKILL)


def scontrol(words: list[str]) -> None:
    """A configuration without accounts."""
    assert words == ["show", "config"]
    print("AccountingStorageType   = accounting_storage/none\nMinJobAge               = 300 sec")


def sinfo(words: list[str]) -> None:
    """No nodes to speak of."""


if __name__ == "__main__":
    vars()[sys.argv[1]](sys.argv[2:])
