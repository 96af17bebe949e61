"""Runs that are killed without warning, again and again, and what must hold whenever that happens.

Whatever a reader can see under results/ is always a whole file: its bytes are those of a run that
nothing disturbed. Files of a killed writer are hidden (`.name.host.pid.0.part`) and are never read.
"""

import os
import random
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.workflow.runs import BIN, ROOT, plain_environment

KINDS = ("job", "engine", "tree")


@dataclass(frozen=True)
class Study:
    """What is run: where, on which configs, which target, and the bytes that it must end with."""

    folder: Path
    configs: Sequence[Path]
    target: str
    expected: dict[str, bytes]

    def command(self, *words: str) -> list[str]:
        """The words that start Snakemake."""
        configs = [str(path) for path in self.configs]
        place = ["--directory", str(self.folder), "--cores", "2", *words]
        return [str(BIN / "snakemake"), *place, "--configfile", *configs, "--", self.target]


def visible_files(folder: Path) -> dict[str, bytes]:
    """Every file under results/ that a reader may open, with its bytes."""
    files = (p for p in (folder / "results").rglob("*") if p.is_file())
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in sorted(files)
        if not p.name.startswith(".")
    }


def half_written(study: Study) -> list[str]:
    """Visible files whose bytes are not those of the undisturbed run."""
    seen = visible_files(study.folder)
    return sorted(name for name, content in seen.items() if study.expected.get(name) != content)


def output_file(study: Study) -> Path:
    """What the last start said: a file, for a pipe that nobody reads would stop it when full."""
    return study.folder.with_name(f"{study.folder.name}_output.txt")


def start(study: Study) -> subprocess.Popen[str]:
    """Snakemake in a process group of its own."""
    with output_file(study).open("w") as stream:
        return subprocess.Popen(
            study.command(),
            cwd=ROOT,
            env=plain_environment(),
            stdout=stream,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


def kill(process: subprocess.Popen[str], kind: str) -> bool:
    """SIGKILL to a running job, to Snakemake alone, or to all at once; False if none was there."""
    try:
        engine = psutil.Process(process.pid)
        children = engine.children(recursive=True)
        jobs = [c for c in children if "frugal" in c.cmdline() and "-m" in c.cmdline()]
    except psutil.Error:
        return False
    if process.poll() is not None or (kind == "job" and not jobs):
        return False
    if kind == "tree":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        victim = jobs[0] if kind == "job" else engine
        victim.kill()
    return True


def kill_at(study: Study, kind: str, after_s: float) -> bool:
    """Start, and kill after a while (a job: the next that runs); False if all had ended before.

    A process that is leaving accepts a signal that no longer changes its exit status: a run that
    ended well although all of it was killed had ended before.
    """
    process = start(study)
    deadline = time.monotonic() + after_s
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    killed = kill(process, kind)
    while kind == "job" and not killed and process.poll() is None:
        time.sleep(0.02)
        killed = kill(process, kind)
    process.wait()
    wait_for_orphans(process.pid)
    if kind == "job" and killed:
        assert process.returncode != 0, "a job was killed, and yet the run ended well"
    return killed and process.returncode != 0


def wait_for_orphans(group: int) -> None:
    """Jobs outlive a Snakemake that was killed; the next start must not meet them."""
    while alive := [p for p in psutil.process_iter(["pid"]) if _in_group(p.pid, group)]:
        psutil.wait_procs(alive, timeout=1)


def _in_group(pid: int, group: int) -> bool:
    try:
        return os.getpgid(pid) == group and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, psutil.Error):
        return False


def unlock(study: Study) -> None:
    """What a person types after Snakemake itself was killed."""
    words = [*study.command("--unlock")]
    subprocess.run(words, cwd=ROOT, env=plain_environment(), capture_output=True, check=True)


def _forget_newest(folder: Path, generator: random.Random) -> None:
    """Remove a file and all that is newer: what Snakemake's next start must then make again.

    Without the newer ones nothing would be made: a missing input of a finished file is not missed.
    For the same reason the oldest is no manifest, which is nobody's input.
    """
    files = sorted(p for p in (folder / "results").rglob("*") if p.is_file())
    read = [p for p in files if folder / "results" / "steps" not in p.parents]
    oldest = generator.choice(read).stat().st_mtime_ns
    for path in [p for p in files if p.stat().st_mtime_ns >= oldest]:
        path.unlink()


def disturb(study: Study, kinds: Sequence[str], moments_s: Sequence[float], seed: int) -> int:
    """Kill once per kind and moment, then run to the end; the number of kills that hit a run.

    A run that ended before its kill loses its newest results, so that the next has work to do; that
    one is killed after half the time, and the one after it, if need be, after a quarter.

    Raises:
        AssertionError: a visible file was half-written, or the last run did not end.
    """
    generator, hits = random.Random(seed), 0
    for kind, after_s in zip(kinds, moments_s, strict=True):
        for moment_s in (after_s, after_s / 2, after_s / 4):
            hit = kill_at(study, kind, moment_s)
            hits += hit
            spoilt = half_written(study)
            assert not spoilt, f"after {kind} at {moment_s:.1f} s: {spoilt}"
            if not hit:
                _forget_newest(study.folder, generator)
            if hit and kind != "job":  # a job's end is Snakemake's, which unlocks
                unlock(study)
            if hit:
                break
    last = start(study)
    last.wait()
    assert last.returncode == 0, output_file(study).read_text()[-3000:]
    assert visible_files(study.folder) == study.expected
    return hits
