"""Steps that run again over finished results, and what goes wrong meanwhile.

The second run has another seed, so that its files differ from the former ones: afterwards a step's
payloads and manifest must be all old or all new, and every other file must be as it was.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from frugal.results.manifests import load_record

from tests.workflow.faults import visible_files, wait_for_orphans
from tests.workflow.runs import BIN, ROOT, plain_environment

OTHER_SEED = 7


@dataclass(frozen=True)
class Step:
    """One finished step: its stage, and the files that it has made, the first a payload."""

    stage: str
    files: tuple[str, ...]

    @property
    def target(self) -> str:
        """A file whose making is the step's."""
        return self.files[0]


def finished_steps(folder: Path) -> list[Step]:
    """One step of each stage, as the manifests of a finished run name them."""
    found: dict[str, Step] = {}
    for path in sorted((folder / "results" / "steps").rglob("*.json")):
        document = json.loads(path.read_text())
        payloads = [output["path"] for output in document["outputs"].values()]
        files = (*payloads, path.relative_to(folder).as_posix())
        found.setdefault(document["stage"], Step(document["stage"], files))
    return list(found.values())


@dataclass(frozen=True)
class Finished:
    """A finished run, and one of its steps: old bytes of all files, new ones of the step's.

    `seconds` pass from Snakemake's start until the step's files are in place.
    """

    folder: Path
    configs: Sequence[Path]
    step: Step
    old: dict[str, bytes]
    new: dict[str, bytes]
    seconds: float

    def copy(self, to: Path) -> "Finished":
        """The same in another folder, to be disturbed."""
        shutil.copytree(self.folder, to, symlinks=True)
        return replace(self, folder=to)

    def command(self) -> list[str]:
        """Run the step again, and no other, under another seed."""
        return [
            str(BIN / "snakemake"),
            "--cores",
            "1",
            "--directory",
            str(self.folder),
            "--force",
            "--rerun-triggers",
            "mtime",
            "--configfile",
            *map(str, self.configs),
            "--config",
            f"seed={OTHER_SEED}",
            "--",
            self.step.target,
        ]

    def begin(self) -> subprocess.Popen[str]:
        """Snakemake in a process group of its own; what it says goes to a file."""
        with self.folder.with_name(f"{self.folder.name}_said.txt").open("w") as stream:
            return subprocess.Popen(
                self.command(),
                cwd=ROOT,
                env=plain_environment(),
                stdout=stream,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )

    def run(self) -> tuple[int, str]:
        """Run to the end; the exit status and what was said."""
        process = self.begin()
        process.wait()
        said = self.folder.with_name(f"{self.folder.name}_said.txt").read_text()
        return process.returncode, said

    def state(self) -> str:
        """`old` or `new`, by the step's files.

        Raises:
            AssertionError: they are neither, or another file is not as it was.
        """
        found = visible_files(self.folder)
        others = {k: v for k, v in found.items() if k not in self.new}
        kept = {k: v for k, v in self.old.items() if k not in self.new}
        assert others == kept, f"{self.step.stage}: {_differing(others, kept)} are not as before"
        mine = {k: v for k, v in found.items() if k in self.new}
        if mine == self.new:
            return "new"
        before = {k: self.old[k] for k in self.new}
        assert mine == before, f"{self.step.stage}: {_differing(mine, before)} are half replaced"
        return "old"


def _differing(a: dict[str, bytes], b: dict[str, bytes]) -> list[str]:
    return sorted(name for name in {*a, *b} if a.get(name) != b.get(name))


def finished(folder: Path, configs: Sequence[Path], step: Step) -> Finished:
    """The finished run in a folder, with what the step would make under the other seed."""
    old = visible_files(folder)
    trial = Finished(folder, configs, step, old, {}, 0.0).copy(
        folder.with_name(f"{folder.name}_{step.stage}_again")
    )
    begun = time.time()
    status, said = trial.run()
    seconds = max((trial.folder / name).stat().st_mtime for name in step.files) - begun
    assert status == 0, said[-3000:]
    made = visible_files(trial.folder)
    new = {name: made[name] for name in step.files}
    assert {k: v for k, v in made.items() if k not in new} == {
        k: v for k, v in old.items() if k not in new
    }, "another step ran, too"
    assert any(new[name] != old[name] for name in new), "the other seed changed nothing"
    return Finished(folder, configs, step, old, new, seconds)


def made_inputs(run: Finished) -> list[Path]:
    """Inputs of the step that another step has made."""
    inputs = json.loads((run.folder / run.step.files[-1]).read_text())["inputs"]
    return [Path(r["path"]) for r in inputs if r["path"].startswith("results/")]


def refuse_input(run: Finished) -> None:
    """Take away the manifest of an input, so that the step refuses it, and put it back after."""
    path = made_inputs(run)[0]
    taken = run.folder / load_record(path, run.folder)["manifest"]
    content, times = taken.read_bytes(), taken.stat()
    taken.unlink()
    status, said = run.run()
    taken.write_bytes(content)
    os.utime(taken, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert status != 0
    assert "so nothing confirms its content" in said, said[-3000:]


def fill_disk(run: Finished) -> None:
    """Move the results to a disk without room (needs root), and run the step there."""
    disk = run.folder.with_name(f"{run.folder.name}_disk")
    results = run.folder / "results"
    disk.mkdir()
    taken = sum(-(-p.stat().st_size // 4096) * 4096 for p in results.rglob("*") if p.is_file())
    folders = sum(1 for p in results.rglob("*") if p.is_dir())
    mount = ["mount", "-t", "tmpfs", "-o", f"size={taken + 4096 * (folders + 2)}", "tmpfs"]
    subprocess.run([*mount, disk], check=True)
    try:
        shutil.copytree(results, disk / "results")
        # the ballast takes whatever room is left
        with contextlib.suppress(OSError), (disk / "ballast").open("wb", buffering=0) as stream:
            while True:
                stream.write(bytes(4096))
        shutil.rmtree(results)
        results.symlink_to(disk / "results")
        status, said = run.run()
        assert status != 0
        assert "No space left on device" in said, said[-3000:]
        results.unlink()
        shutil.copytree(disk / "results", results)
    finally:
        subprocess.run(["umount", disk], check=True)


def kill_at_random(run: Finished, generator: random.Random) -> bool:
    """SIGKILL to the whole process group at a random moment; False if it had ended before.

    The moment is before the files are in place, if this start is as fast as the one that was timed.
    """
    return _kill(run, lambda: False, generator.uniform(0.2, 1.0) * run.seconds)


def kill_in_write(run: Finished) -> bool:
    """SIGKILL to the whole process group as soon as a file is being written; False if missed."""
    folders = {(run.folder / name).parent for name in run.step.files}

    def writing() -> bool:
        return any(
            name.startswith(".") and name.endswith((".part", ".commit"))
            for folder in folders
            for name in os.listdir(folder)
        )

    return _kill(run, writing, 600.0)


def _kill(run: Finished, now, longest_s: float) -> bool:
    process = run.begin()
    deadline = time.monotonic() + longest_s
    while process.poll() is None and time.monotonic() < deadline and not now():
        time.sleep(0.0002)
    hit = process.poll() is None
    if hit:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    wait_for_orphans(process.pid)
    return hit


def start_only(run: Finished) -> None:
    """A start that runs nothing: it finishes what a killed writer had begun to put in place."""
    words = [*run.command()[:-2], "--unlock", *run.command()[-2:]]
    subprocess.run(words, cwd=ROOT, env=plain_environment(), capture_output=True, check=True)


def take_up(run: Finished) -> None:
    """Unlock and run the step to its end: all new, and nothing hidden is left."""
    start_only(run)
    status, said = run.run()
    assert status == 0, said[-3000:]
    assert run.state() == "new"
    hidden = [p for p in (run.folder / "results").rglob(".*") if p.is_file()]
    assert not hidden, hidden
