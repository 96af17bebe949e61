"""Notes of what was submitted: a file for each job that has not ended, which a later start reads.

A Snakemake that is killed leaves its jobs in Slurm. They write into the same folder, so a start
that submitted the same steps would have them run twice. A job is a step, or a group of steps that
share a submission. Reads attributes of Snakemake's jobs, and imports none of it.
"""

import contextlib
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from frugal.results.replacing import replace_files

from frugal_slurm.cluster import Seen


@dataclass(frozen=True)
class Note:
    """A job that was submitted.

    Attributes:
        what: its name for people.
        name: of the job in Slurm; all jobs of a start have the same.
        slurm_id: None until Slurm has told it.
        outputs: files that it makes.
        identity: digest of all that decides these files.
        log: where Slurm writes what it says.
    """

    what: str
    name: str
    slurm_id: str | None
    outputs: tuple[str, ...]
    identity: str
    log: str = ""


class Notes:
    """The notes of a working folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, note: Note) -> None:
        """Keep a note, in place of one of the same outputs."""
        replace_files({self._path(note.outputs): json.dumps(asdict(note)).encode()})

    def remove(self, outputs: Iterable[str]) -> None:
        """Forget the job that makes these; its end was seen."""
        with contextlib.suppress(OSError):
            path = self._path(outputs)
            for one in (path, *self.folder.glob(f".{path.name}.*.part")):  # a kill in the midst
                one.unlink(missing_ok=True)
            self.folder.rmdir()  # if it was the last

    def read(self) -> list[Note]:
        """All notes; a file that is none is left alone."""
        return [note for path in sorted(self.folder.glob("*.json")) if (note := _read(path))]

    def line_elsewhere(self) -> str:
        """What a start that does not ask Slurm says of them; nothing if there are none."""
        jobs = ", ".join(f"{note.slurm_id or '?'} ({note.what})" for note in self.read())
        told = "may be in Slurm still and write into this folder; squeue tells, scancel ends them"
        return f"Jobs of an earlier start {told}: {jobs}" if jobs else ""

    def _path(self, outputs: Iterable[str]) -> Path:
        digest = hashlib.sha256("\0".join(sorted(outputs)).encode()).hexdigest()[:24]
        return self.folder / f"{digest}.json"


def _read(path: Path) -> Note | None:
    try:
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        told["outputs"] = tuple(told["outputs"])
        return Note(**told)
    except (OSError, ValueError, TypeError, KeyError):
        return None


@dataclass(frozen=True)
class Orphans:
    """What former starts left in Slurm.

    Attributes:
        same: would be submitted now just so: they are waited for.
        stale: make files that this start makes otherwise, or later: they are cancelled.
        strays: jobs that Slurm took as Snakemake was killed, so that no note names them; cancelled.
        others: make files that this start does not make: they are left alone.
        ended: notes of jobs that have ended since.
    """

    same: tuple[Note, ...] = ()
    stale: tuple[Note, ...] = ()
    strays: tuple[str, ...] = ()
    others: tuple[Note, ...] = ()
    ended: tuple[Note, ...] = ()


def sort_out(
    notes: Collection[Note],
    queue: Mapping[str, Seen],
    needed: Collection[str],
    ready: Mapping[frozenset[str], str],
) -> Orphans:
    """Tell the jobs apart that former starts have left.

    Args:
        notes: of former starts.
        queue: jobs of these starts, as Slurm sees them.
        needed: files that this start makes.
        ready: outputs → identity of the jobs that can be submitted at once. What a step that is not
            among them would read is made again before, so a job that runs reads what is no more.
    """
    needed = frozenset(needed)
    alive = {seen.slurm_id for seen in queue.values() if seen.alive}
    running = [note for note in notes if note.slurm_id in alive]
    wanted = [note for note in running if not needed.isdisjoint(note.outputs)]
    same = [note for note in wanted if ready.get(frozenset(note.outputs)) == note.identity]
    killed = {n.name for n in notes if n.slurm_id is None and not needed.isdisjoint(n.outputs)}
    noted = {note.slurm_id for note in notes}
    strays = [i for i in alive if i not in noted and queue[i].name in killed]
    return Orphans(
        same=tuple(same),
        stale=tuple(note for note in wanted if note not in same),
        strays=tuple(sorted(strays)),
        others=tuple(note for note in running if note not in wanted),
        ended=tuple(note for note in notes if note not in running),
    )


def steps_of(job: Any) -> list[Any]:
    """The steps of a job, by name."""
    return sorted(job.jobs, key=title) if job.is_group() else [job]


def title(step: Any) -> str:
    """A step's rule and wildcards."""
    keys = [str(value).strip("/") for value in step.wildcards_dict.values()]
    return " ".join([step.rule.name, *filter(None, keys)])  # of no portion is empty


def titles(job: Any) -> str:
    """The name of a job for people."""
    first, *others = steps_of(job)
    return title(first) + (f" and {len(others)} more" if others else "")


def outputs(job: Any) -> frozenset[str]:
    """Files that a job makes."""
    return frozenset(str(path) for step in steps_of(job) for path in step.output)


def identity(job: Any) -> str:
    """All that decides a job's files: steps, parameters, and what they read as it lies there."""
    told = [
        [title(step), list(map(str, step.params)), sorted(map(_stamp, step.input))]
        for step in steps_of(job)
    ]
    return json.dumps(told)


def _stamp(path: Any) -> tuple[str, int, int]:
    try:
        found = Path(str(path)).stat()
    except OSError:
        return str(path), -1, -1
    return str(path), found.st_size, found.st_mtime_ns


def log_of(step: Any) -> Path:
    """Where a step says what it does."""
    return Path(next((str(path) for path in step.log if str(path).endswith(".log")), "no log"))


def gone_wrong(job: Any) -> list[Any]:
    """Steps that began and did not end well; others of a group have ended, or have not begun."""
    return [step for step in steps_of(job) if log_of(step).is_file() and not _ended_well(step)]


def _ended_well(step: Any) -> bool:
    """What a step used is written at its very end, with how it ended."""
    used = next((str(path) for path in step.log if str(path).endswith(".jsonl")), None)
    if used is None:
        return False
    try:
        return (
            json.loads(Path(used).read_text(encoding="utf-8").splitlines()[-1])["ended"] == "done"
        )
    except (OSError, ValueError, LookupError, TypeError):
        return False
