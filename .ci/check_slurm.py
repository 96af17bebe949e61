#!/usr/bin/env python3
"""A real Slurm of one node: a study to its end through the profile, and jobs that go wrong.

Needs root and Debian's slurm-wlm and munge (see .ci/slurm/start.sh); starts its own and stops it.
Checks, each in its own words on stdout:
  the embedded default's smallest study ends, every job having run in Slurm, and its audit passes;
  a job that fails, one that exceeds its memory and one that is cancelled are each reported, with a
  non-zero exit, and the next start ends with the bytes of an undisturbed run on this machine;
  a job that exceeded its memory comes again with more, within the same start.
With --short: a failing job's own sentence, and the study of ten lines to its end with its audit.
Usage: .ci/check_slurm.py [--short] FOLDER     (an empty folder; ten minutes, short two)
"""

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import environment
from environment import BIN, ROOT, cannot_run, require

if __name__ == "__main__":
    ASKED = environment.begin(__doc__)
from frugal.run.plans import load_costs, sized, stated_memory_mb  # found after `begin`

from tests.workflow import sentences

EXAMPLE = ROOT / "docs" / "examples"
# What is different from a real cluster: no accounting, and nobody waits for a shared folder.
HERE = ["--slurm-no-account", "--slurm-status-command", "squeue", "--latency-wait", "5"]
# The executor asks for a job's state after these seconds; where none has ended, ten seconds later.
HERE += ["--slurm-init-seconds-before-status-checks", "9", "--seconds-between-status-checks", "2"]
ENVIRONMENT = environment.variables()
ENGINE_MB = 250  # of the Snakemake that runs a job, as workflow/rules/memory_common.smk adds
DAEMONS = ("slurmctld", "slurmd", "munged")


def command(folder: Path, *words: str, local: bool = False) -> list[str]:
    """The words that start Snakemake in a folder, in Slurm or on this machine."""
    how = ["--cores", "2"] if local else ["--profile", "profiles/slurm", *HERE]
    return [str(BIN / "snakemake"), *how, "--directory", str(folder), *words]


def start(folder: Path, *words: str, local: bool = False) -> tuple[int, str]:
    """Run Snakemake; its exit status and all it said."""
    done = subprocess.run(
        command(folder, *words, local=local),
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


def write_study(folder: Path, table: str) -> list[str]:
    """The example of ten lines as a study of its own in a folder; its words for Snakemake."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ten_lines.csv").write_text(table)
    shutil.copy(EXAMPLE / "ten_lines.yaml", folder)
    config = (EXAMPLE / "ten_lines_config.yaml").read_text()
    config = re.sub(r"docs/examples/ten_lines.yaml", str(folder / "ten_lines.yaml"), config)
    (folder / "study.yaml").write_text(config)
    return ["--configfile", str(folder / "study.yaml"), "--"]


def payloads(folder: Path) -> dict[str, bytes]:
    """Every file under results/, sidecars too."""
    files = (path for path in (folder / "results").rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def check_study(folder: Path, what: str, *words: str) -> None:
    """A whole study through the profile, and its audit."""
    status, said = start(folder, *words)
    require(status == 0, f"{what} ended through the profile", said)
    jobs = said.count(sentences.SUBMITTED)
    require(jobs >= 5, f"{jobs} jobs ran in Slurm", said)
    audit = subprocess.run(
        [BIN / "python", "-m", "frugal", "audit", "--sample", "2", "--look-in", ROOT / "config"],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    require(audit.returncode == 0, f"its audit: {audit.stdout.splitlines()[-1]}", audit.stdout)


def check_failure(folder: Path, table: str) -> list[str]:
    """A table without a column: the job's own sentence is shown."""
    words = write_study(folder, table.replace("troponin", "troponin_t", 1))
    status, said = start(folder, "--retries", "0", *words, "afape")
    require(status != 0, "a failing job ends the start with a non-zero exit", said)
    told = sentences.missing_column(folder / "ten_lines.yaml")
    require(told in said, "its own sentence is shown on the terminal", said)
    log = "logs/prepare_data/dataset=ten_lines.log"
    require(re.search(f"log: .*{log}", said) is not None, f"and its log is named: {log}", said)
    require(not payloads(folder), "and nothing is left of it", said)
    return write_study(folder, table)


def check_memory(folder: Path, words: list[str]) -> None:
    """A job that takes more than it asked for: reported; and with retries, more memory."""
    too_little = ["--set-resources", "draw_missingness:mem_mb=20", "--retries", "0"]
    status, said = start(folder, *too_little, *words, "afape")
    require(status != 0, "a job that exceeds its memory ends the start, non-zero", said)
    reported = re.search(sentences.STEP_FAILED, said) and "draw_missingness" in said
    require(bool(reported), "the step is named as failed", said)
    logs = list((folder / ".snakemake" / "slurm_logs").rglob("*.log"))
    over = [path for path in logs if sentences.OVER_MEMORY in path.read_text(errors="replace")]
    require(bool(over), f"Slurm's log, which is named there, says why: {over[0].name}", said)
    more = ["--set-resources", "draw_missingness:mem_mb=20 if attempt == 1 else 2000"]
    status, said = start(folder, *more, "--until", "draw_missingness", *words, "afape")
    again = sentences.AGAIN in said
    require(status == 0 and again, "with retries it comes again with more memory, and ends", said)


def check_cancelled(folder: Path, words: list[str]) -> None:
    """A job that somebody cancels."""
    process = subprocess.Popen(
        command(folder, "--retries", "0", *words, "afape"),
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline, cancelled = time.monotonic() + 120, ""
    while time.monotonic() < deadline and process.poll() is None and not cancelled:
        queued = subprocess.run(
            ["squeue", "--noheader", "--states=RUNNING", "--format=%i"],
            capture_output=True,
            text=True,
        )
        if cancelled := next(iter(queued.stdout.split()), ""):
            subprocess.run(["scancel", cancelled], check=True)
        time.sleep(0.2)
    said, _ = process.communicate()
    require(bool(cancelled), f"job {cancelled} was cancelled while it ran", said)
    require(process.returncode != 0, "a cancelled job ends the start with a non-zero exit", said)
    named = sentences.SLURM_FAILED.format(job=cancelled) in said
    require(named, "and is named as failed", said)


def check_group(state: Path, study: Path) -> None:
    """The four rollouts shared a submission: one core, the largest's memory, the sum of times."""
    finished = (state / "log" / "finished.txt").read_text().splitlines()
    sizes = json.loads((study / "benchmarks" / "sizes.json").read_text())
    rolled_out = sized("roll_out", {"dataset": "ten_lines"}, sizes)
    one = stated_memory_mb(rolled_out, load_costs(ROOT / "config" / "costs.yaml"))
    memory = one + ENGINE_MB
    asked = ["JobState=COMPLETED", "TimeLimit=40 ", "ProcCnt=1 ", f"Tres=cpu=1,mem={memory}M,"]
    found = [line for line in finished if all(part in line for part in asked)]
    what = f"four rollouts of 10 minutes asked once, for one core, 40 minutes, {memory} MB"
    require(bool(found), what, "\n".join(finished))


def check_recovery(folder: Path, plain: Path, words: list[str], table: str) -> None:
    """The next start ends, with the bytes of a run that nothing disturbed."""
    status, said = start(folder, *words, "afape")
    require(status == 0, "the next start ends", said)
    status, said = start(plain, *write_study(plain, table), "afape", local=True)
    require(status == 0, "the same study ends on this machine without Slurm", said)
    mine, its = payloads(folder), payloads(plain)
    differing = sorted(p for p in {*mine, *its} if mine.get(p) != its.get(p))
    require(not differing, f"all {len(mine)} files are the same, byte for byte", str(differing))


def require_slurm() -> None:
    """End here, in a sentence, where no Slurm of one's own can be started."""
    if os.geteuid() != 0:
        cannot_run("a Slurm of one's own is started by root; start the check as root")
    absent = [name for name in DAEMONS if not Path("/usr/sbin", name).is_file()]
    if absent:
        install = "apt-get install -y --no-install-recommends slurm-wlm munge (Debian)"
        cannot_run(f"{', '.join(absent)} not in /usr/sbin; {install}")
    if Path("/etc/slurm/slurm.conf").exists():
        cannot_run("/etc/slurm/slurm.conf is there; the check would replace that Slurm by its own")


def main(folder: Path, short: bool) -> None:
    """All checks, in a Slurm that is stopped whatever happens."""
    require_slurm()
    table = (EXAMPLE / "ten_lines.csv").read_text()
    state = folder / "slurm"
    try:
        if subprocess.run([ROOT / ".ci/slurm/start.sh", state]).returncode != 0:
            cannot_run(f"Slurm did not start, as said above; its logs are in {state / 'log'}")
        words = check_failure(folder / "faults", table)
        if short:
            check_study(folder / "faults", "the study of ten lines", *words, "afape")
            check_group(state, folder / "faults")
            return
        check_memory(folder / "faults", words)
        check_cancelled(folder / "faults", words)
        check_recovery(folder / "faults", folder / "plain", words, table)
        check_group(state, folder / "faults")
        check_study(folder / "study", "the embedded default's treatment study", "treatment")
    finally:
        subprocess.run([ROOT / ".ci/slurm/stop.sh", state], check=True)


if __name__ == "__main__":
    main(ASKED.folder, ASKED.short)
