#!/usr/bin/env python3
"""Kills a whole tiny study at ten random moments of each kind, and fills and locks its disk.

Each start ends by SIGKILL to a job, to Snakemake or to the whole process tree; after each, every
visible file must have the bytes of an undisturbed run; the last start ends with all of them. Then
(as root) results/ on a disk of 60 kB, and on one that is mounted read-only.
Usage: .ci/check_faults.py FOLDER [MOMENTS]      (an empty folder; some fifteen minutes for ten)
"""

import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.workflow.faults import KINDS, Study, disturb, visible_files  # noqa: E402
from tests.workflow.runs import TEN_LINES, TINY, snakemake  # noqa: E402

LONGEST_S = 25.0  # until the kill; about the length of a start on a quiet machine


def require(holds: bool, what: str, said: str = "") -> None:
    """Say that a check holds, or end here with what was said instead."""
    if not holds:
        sys.exit(f"NOT SO: {what}\n{said[-6000:]}")
    print(f"ok: {what}", flush=True)


def check_kills(folder: Path, moments: int) -> None:
    """Ten moments of each kind on the tiny study."""
    plain = snakemake(folder / "plain", "afape", configs=(TINY,))
    require(plain.returncode == 0, "the tiny study ended undisturbed", plain.stdout)
    expected = visible_files(folder / "plain")
    for kind in KINDS:
        run = folder / kind
        run.mkdir(parents=True)
        generator = random.Random(kind)
        times = [generator.uniform(2.0, LONGEST_S) for _ in range(moments)]
        study = Study(run, (TINY,), "afape", expected)
        hits = disturb(study, [kind] * moments, times, seed=moments)
        left = sum(1 for p in (run / "results").rglob(".*.part"))
        require(
            hits > 0,
            f"{kind}: {hits} of {moments} kills met a run; no file was ever half-written; the next "
            f"start ended with the same {len(expected)} files ({left} hidden ones left behind)",
        )


def check_disk(folder: Path) -> None:
    """A disk that fills up in the middle, then one that cannot be written to."""
    disk, run = folder / "disk", folder / "full"
    disk.mkdir(parents=True)
    run.mkdir()
    (run / "results").symlink_to(disk)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=60k", "tmpfs", disk], check=True)
    try:
        full = snakemake(run, "afape", configs=(TEN_LINES,))
        told = [li for li in full.stdout.splitlines() if "No space left on device" in li]
        require(full.returncode != 0 and len(told) == 1, f"a full disk: {told[0]}", full.stdout)
        require("Traceback" not in full.stdout, "and no traceback", full.stdout)
        before = visible_files(run)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        locked = snakemake(run, "afape", configs=(TEN_LINES,))
        told = [li for li in locked.stdout.splitlines() if "cannot be written to" in li]
        require(
            locked.returncode != 0 and len(told) == 1, f"a locked one: {told[0]}", locked.stdout
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


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    where = Path(sys.argv[1]).resolve()
    check_disk(where)
    check_kills(where, int(sys.argv[2]) if len(sys.argv) == 3 else 10)
