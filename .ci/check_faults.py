#!/usr/bin/env python3
"""Kills a whole tiny study, and steps that run again over finished results; fills and locks a disk.

First runs: each start ends by SIGKILL to a job, to Snakemake or to the whole process tree; after
each, every visible file must have the bytes of an undisturbed run; the last start ends with all.
Reruns: ten steps run again, under another seed, with an input that is refused, on a full disk (as
root), and killed with all their processes at a random moment and inside a write; after each, the
step's files and manifest are all old or all new, and every other file is as it was.
Then (as root) results/ on a disk of 60 kB, and on one that is mounted read-only.
With --short: one step, and two kills of a first run, of two steps in all; no small disks.
Usage: .ci/check_faults.py [--short] FOLDER [MOMENTS]      (an empty folder; some forty minutes for
ten moments and ten steps, short one)
"""

import os
import random
import shutil
import subprocess
from pathlib import Path

import environment
from environment import require

if __name__ == "__main__":
    OPTIONS = environment.begin(__doc__, most=1)
from tests.workflow import reruns, sentences
from tests.workflow.faults import KINDS, Study, disturb, visible_files
from tests.workflow.runs import TEN_LINES, TINY, snakemake
from tests.workflow.shared import MASKS, finished, folder_of_runs

LONGEST_S = 10.0  # until the kill; the study takes several times as long
HITS = 0.8  # of the kills, at least
TRIES = 6  # to meet a step at all, and inside its write


def check_kills(
    folder: Path, configs: list[Path], target: str, kinds: tuple[str, ...], moments: int
) -> None:
    """Random moments of each kind on a study that begins anew."""
    expected = visible_files(folder / "plain")
    for kind in kinds:
        run = folder / kind
        run.mkdir(parents=True)
        generator = random.Random(kind)
        times = [generator.uniform(2.0, LONGEST_S) for _ in range(moments)]
        study = Study(run, configs, target, expected)
        hits = disturb(study, [kind] * moments, times, seed=moments)
        left = sum(1 for p in (run / "results").rglob(".*.part"))
        require(
            hits >= HITS * moments,
            f"{kind}: {hits} of {moments} kills met a run; no file was ever half-written; the next "
            f"start ended with the same {len(expected)} files ({left} hidden ones left behind)",
        )


def check_reruns(folder: Path, configs: list[Path], most: int) -> None:
    """Each way to fail, of steps that run again over the finished study."""
    steps = [s for s in reruns.finished_steps(folder / "plain") if s.stage != "fetch_file"][:most]
    generator, hits, written, after = random.Random(most), 0, 0, []
    for step in steps:
        run = reruns.finished(folder / "plain", configs, step)
        spoilt = {"refused": reruns.refuse_input}
        if os.geteuid() == 0:
            spoilt["full"] = reruns.fill_disk
        if not reruns.made_inputs(run):
            del spoilt["refused"]
        for name, spoil in spoilt.items():
            copy = run.copy(folder / f"{step.stage}_{name}")
            spoil(copy)
            require(copy.state() == "old", f"{step.stage}, {name}: what was there is there")
        # a start that is much faster than the one that was timed may be missed, too
        for attempt in range(TRIES):
            copy = run.copy(folder / f"{step.stage}_killed_{attempt}")
            if reruns.kill_at_random(copy, generator):
                hits += 1
                break
        after.append(copy.state())
        reruns.start_only(copy)  # unlocks what the kill has left locked
        # what is written in less than a millisecond may be missed a few times
        for _ in range(TRIES):
            met = reruns.kill_in_write(copy)
            reruns.start_only(copy)
            if met:
                written += 1
                break
        after.append(copy.state())
        reruns.take_up(copy)
        print(f"ok: {step.stage}, killed: {after[-2]}, then {after[-1]}, then new", flush=True)
    total = len(steps)
    require(
        hits >= HITS * total and written >= HITS * total,
        f"{hits} of {total} kills at random and {written} of {total} inside a write met their step;"
        f" {after.count('old')} times all files were old, {after.count('new')} times all were new",
    )


def check_disk(folder: Path) -> None:
    """A disk that fills up in the middle, then one that cannot be written to."""
    disk, run = folder / "disk", folder / "full"
    disk.mkdir(parents=True)
    run.mkdir()
    (run / "results").symlink_to(disk)
    mount = ["mount", "-t", "tmpfs", "-o", "size=60k", "tmpfs", str(disk)]
    if (done := subprocess.run(mount, capture_output=True, text=True)).returncode != 0:
        print(f"left out: no disk can be mounted here: {done.stderr.strip()}", flush=True)
        return
    try:
        full = snakemake(run, "afape", configs=(TEN_LINES,))
        messages = [li for li in full.stdout.splitlines() if sentences.DISK_FULL in li]
        require(
            full.returncode != 0 and len(messages) == 1, f"a full disk: {messages[0]}", full.stdout
        )
        require("Traceback" not in full.stdout, "and no traceback", full.stdout)
        before = visible_files(run)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        locked = snakemake(run, "afape", configs=(TEN_LINES,))
        sentence = sentences.LOCKED.format(folder="results")
        messages = [li for li in locked.stdout.splitlines() if sentence in li]
        require(
            locked.returncode != 0 and len(messages) == 1,
            f"a locked one: {messages[0]}",
            locked.stdout,
        )
        require("Traceback" not in locked.stdout, "and no traceback", locked.stdout)
        require(visible_files(run) == before and len(before) > 0, "nothing that was there is lost")
        subprocess.run(["mount", "-o", "remount,rw,size=100m", disk], check=True)
        more = snakemake(run, "afape", configs=(TEN_LINES,))
        require(more.returncode == 0, "with room, the next start ends", more.stdout)
        plain = snakemake(folder / "ten", "afape", configs=(TEN_LINES,))
        require(plain.returncode == 0, "the same study ended on a large disk", plain.stdout)
        require(visible_files(run) == visible_files(folder / "ten"), "with the same bytes")
    finally:
        subprocess.run(["umount", disk], check=True)


def check(folder: Path, short: bool, moments: int) -> None:
    """All checks, or the short form."""
    configs = [TEN_LINES] if short else [TINY]
    if short:
        shutil.copytree(finished("masks", folder_of_runs(folder)).folder, folder / "plain")
        check_reruns(folder, configs, 1)
        check_kills(folder, configs, MASKS, ("tree",), 2)
        return
    plain = snakemake(folder / "plain", "afape", configs=configs)
    require(plain.returncode == 0, "the study ended undisturbed", plain.stdout)
    check_reruns(folder, configs, 10)
    check_kills(folder, configs, "afape", KINDS, moments)
    check_disk(folder)


if __name__ == "__main__":
    check(OPTIONS.folder, OPTIONS.short, int(OPTIONS.rest[0]) if OPTIONS.rest else 10)
