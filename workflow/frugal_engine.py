"""What the rules need of Snakemake beyond its documented face: finished files stay until replaced.

Snakemake removes a step's former outputs before it runs the step again, and what is there after one
that failed. Its `update()` outputs are copied aside and copied back, which fails on a full disk, is
skipped when Snakemake is killed, and notes the new parameters with the old file. Our steps put
their outputs in place themselves, all at once at their end, so that Snakemake need do none of it.

Made for Snakemake 9.27, which the lock pins; tests/unit/test_replaced.py fails where
another one differs. Outputs of rules that do not ask for it (`kept`) are treated as ever.
"""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from snakemake.dag import DAG
from snakemake.io import flag, is_flagged
from snakemake.jobs import Job
from snakemake.persistence import PersistenceBase

_KEPT = "kept_until_replaced"
_STARTED_IN, _MOVED_TO = "FRUGAL_STARTED_IN", "FRUGAL_MOVED_TO"  # of the environment
_remove_existing_output, _postprocess, _cleanup = (
    Job.remove_existing_output,
    Job.postprocess,
    Job.cleanup,
)
_check_incomplete = DAG.check_incomplete
_finished = PersistenceBase.finished
_failed: set[Job] = set()


def kept(path: Any) -> Any:
    """An output that its step replaces in one move at its end; it is left alone until then."""
    return flag(path, _KEPT)


def keep_finished_files() -> None:
    """Teach Snakemake to leave outputs that are `kept` to their steps."""
    job_class: Any = Job
    job_class.remove_existing_output = _remove_others
    job_class.cleanup = _clean_others
    job_class.postprocess = _postprocess_and_mark
    records: Any = PersistenceBase
    records.finished = _note_unless_failed


def import_nothing_from_here() -> None:
    """Let no job import what lies in the working folder."""
    os.environ["PYTHONSAFEPATH"] = "1"


def go_back() -> None:
    """Where the job of which this is a step has moved, go back, to move as every process does.

    A step of a job in Slurm begins in the folder that its job has moved to.
    """
    if os.environ.get(_MOVED_TO) == str(Path.cwd()):
        os.chdir(os.environ[_STARTED_IN])


def move_into(folder: Path, *, now: bool) -> None:
    """Tell the steps of this process that it moves into a folder, and move now or later."""
    os.environ[_STARTED_IN], os.environ[_MOVED_TO] = str(Path.cwd()), str(folder.resolve())
    if now:
        os.chdir(folder)


def make_again(wanted: Callable[[list[Job]], list[Job]], *, as_module: bool) -> None:
    """Have those jobs of the run that are wanted run, whatever else holds.

    Args:
        wanted: of all jobs, those that run again.
        as_module: this is one module among others, whose wishes hold as well.
    """
    dag_class: Any = DAG
    before = dag_class.check_incomplete if as_module else _check_incomplete

    async def check(dag: DAG) -> None:
        await before(dag)
        dag.forcefiles.update(f for job in wanted([*dag.jobs]) for f in job.output)

    dag_class.check_incomplete = check


def is_kept(job: Job) -> bool:
    """True for a step of ours, whose outputs are all `kept`."""
    return bool(job.output) and all(is_flagged(path, _KEPT) for path in job.output)


async def _remove_others(job: Job) -> None:
    """Before a job: only its former log goes."""
    if not is_kept(job):
        await _remove_existing_output(job)
        return
    for path in job.log:
        await path.remove(remove_non_empty_dir=False)


async def _clean_others(job: Job, skip_outputs: Any) -> None:
    """After a job that failed: what is there is whole."""
    if not is_kept(job):
        await _cleanup(job, skip_outputs)


async def _postprocess_and_mark(job: Job, *args: Any, error: bool = False, **words: Any) -> None:
    """After a job: outputs of one that failed count as unfinished, so that the next start runs it.

    The mark that was set when the job began is never taken away: a kill or a full disk at this
    moment must not leave the old files as those of the new parameters.
    """
    _failed.discard(job)
    if error and is_kept(job):
        _failed.add(job)
        with contextlib.suppress(OSError):  # marked since it began, but for rare cases
            job.dag.workflow.persistence.started(job)
    await _postprocess(job, *args, error=error, **words)


async def _note_unless_failed(records: PersistenceBase, job: Job) -> None:
    """Snakemake's note of what a job was made with, which it writes for a failed one, too."""
    if job not in _failed:
        await _finished(records, job)
