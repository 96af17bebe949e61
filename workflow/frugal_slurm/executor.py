"""The plugin's executor, with its questions to Slurm, its failures and its start replaced by ours.

`adapt_executor` puts it in the plugin's place; every way to ask for Slurm (`--executor
slurm`, a profile of one's own, this workflow as a module) then gets it. Only steps of ours are kept
from further tries: what another workflow's rules do stays as Snakemake does it.
"""

import asyncio
import atexit
import contextlib
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Any

import snakemake_executor_plugin_slurm as plugin
from frugal.core.errors import DataError
from frugal_engine import is_kept
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo

from frugal_slurm import NOTES, cluster
from frugal_slurm.causes import Causes, cause, said_last
from frugal_slurm.cluster import (
    Asked,
    Cluster,
    End,
    Seen,
    SlurmSilentError,
    Waiting,
    Waits,
    end_of,
    refusal,
)
from frugal_slurm.notes import (
    Note,
    Notes,
    Orphans,
    gone_wrong,
    identity,
    log_of,
    outputs,
    sort_out,
    steps_of,
    title,
    titles,
)

_FORGETS_TOO_SOON_S, _LOST_AFTER = 10, 3


def _usable_cluster() -> Cluster:
    """What the cluster is like; a sentence ends the run where the ends of jobs would be missed."""
    try:
        found = cluster.read_cluster()
    except SlurmSilentError as error:
        raise WorkflowError(f"Slurm does not answer here ({error})") from None
    if not found.accounts and (found.forgets_after_s or 60) < _FORGETS_TOO_SOON_S:
        raise WorkflowError(
            f"this Slurm keeps no accounts, and forgets a job {found.forgets_after_s} s after "
            "its end (MinJobAge), so that ends would be missed; allowed is a database of accounts, "
            f"or a MinJobAge of {_FORGETS_TOO_SOON_S} or more"
        )
    return found


class Executor(plugin.Executor):
    """Submits as the plugin does; what becomes of the jobs is asked, judged and kept here."""

    workflow: Any
    logger: Any

    def __init__(self, workflow: Any, logger: Any) -> None:
        """What the plugin's thread reads must be there before the plugin starts it."""
        self.cluster = _usable_cluster()
        self.causes, self.waiting = Causes(), Waiting()
        self.notes = Notes(NOTES.resolve())
        self.names: dict[str | None, str] = {}  # of jobs in Slurm, by id where another start's
        self.left: dict[frozenset[str], Note] = {}
        self.tries: dict[Any, list[str]] = {}
        self.unknown: dict[str, int] = {}
        self.silent = False
        super().__init__(workflow, logger)

    def __post_init__(self, test_mode: bool = False) -> None:
        """Sort out what former starts have left in Slurm."""
        atexit.register(self.causes.tell)  # before the plugin registers, so that it is called after
        self.workflow.executor_settings.status_command = None  # of no use; the plugin remarks on it
        super().__post_init__(test_mode)
        self.names[None] = self.run_uuid
        if notes := self.notes.read():
            self.left = self._sort_out_orphans(notes)

    # Former starts

    def _sort_out_orphans(self, notes: list[Note]) -> dict[frozenset[str], Note]:
        """Cancel what is stale; what would be submitted again just so is left to be waited for."""
        names = {note.name for note in notes}
        try:
            queue = cluster.ask_queue(names)
        except SlurmSilentError as error:
            raise WorkflowError(
                f"Slurm does not say what an earlier start left ({error})"
            ) from None
        needed = {str(path) for job in self.dag.needrun_jobs() for path in job.output}
        ready = {outputs(job): identity(job) for job in self.dag.ready_jobs if not job.is_local}
        found = sort_out(notes, queue, needed, ready)
        self._tell_orphans(found)
        for note in found.ended + found.stale:
            self.notes.remove(note.outputs)
        self._cancel_and_wait([*(str(n.slurm_id) for n in found.stale), *found.strays], names)
        return {frozenset(note.outputs): note for note in found.same}

    def _tell_orphans(self, found: Orphans) -> None:
        def listed(notes: Sequence[Note]) -> str:
            return ", ".join(f"{note.slurm_id} ({note.what})" for note in notes)

        said = {
            "are in Slurm still; they are waited for, not submitted again": listed(found.same),
            "would write what is made otherwise now; they are cancelled": listed(found.stale),
            "were submitted as it was killed; they are cancelled": ", ".join(found.strays),
            "are in Slurm still, which this start does not need": listed(found.others),
        }
        for words, jobs in said.items():
            if jobs:
                self.logger.warning(f"Jobs of an earlier start {words}: {jobs}")

    def _cancel_and_wait(self, slurm_ids: list[str], names: set[str]) -> None:
        """Cancel jobs, and return when none of them can write any more."""
        if not slurm_ids:
            return
        try:
            cluster.ask_slurm(["scancel", *slurm_ids])
            while any(s.alive for i, s in cluster.ask_queue(names).items() if i in slurm_ids):
                time.sleep(2)
        except SlurmSilentError as error:
            raise WorkflowError(f"jobs of an earlier start cannot be cancelled ({error})") from None

    # Submitting

    def get_account_arg(self, job: Any) -> Iterable[str]:
        """The account of the profile; without one Slurm takes the user's own."""
        return super().get_account_arg(job) if job.resources.get("slurm_account") else iter([""])

    def run_job(self, job: Any) -> None:
        """Submit a job, or take over the one that an earlier start submitted just so."""
        note = self.left.pop(outputs(job), None)
        if note is None:
            self._write_note(job, None, "")
            super().run_job(job)
            return
        self.names[note.slurm_id] = note.name
        self.logger.info(f"Job {job.jobid} is Slurm's job {note.slurm_id} of an earlier start.")
        aux = {"slurm_logfile": Path(note.log)}
        self._report_job_submission_threadsafe(
            SubmittedJobInfo(job, external_jobid=note.slurm_id, aux=aux)
        )

    def report_job_submission(self, job_info: SubmittedJobInfo, register_job: bool = True) -> None:
        """Note the job's id first: Snakemake may be killed at any moment."""
        log = str((job_info.aux or {}).get("slurm_logfile") or "")
        self._write_note(job_info.job, job_info.external_jobid, log)
        super().report_job_submission(job_info, register_job=register_job)

    def _write_note(self, job: Any, slurm_id: str | None, log: str) -> None:
        name = self.names.get(slurm_id, self.run_uuid)
        made = tuple(sorted(outputs(job)))
        try:
            self.notes.write(Note(titles(job), name, slurm_id, made, identity(job), log))
        except (OSError, DataError) as error:
            self.logger.warning(f"a later start will not know of {titles(job)}: {error}")

    # What becomes of them

    async def check_active_jobs(
        self, active_jobs: list[SubmittedJobInfo]
    ) -> AsyncIterator[SubmittedJobInfo]:
        """Report the jobs that have ended, and yield the others."""
        if not active_jobs:
            return
        async with self.status_rate_limiter:
            found = await asyncio.to_thread(self._ask, active_jobs)
        ended = 0
        for job_info in active_jobs:
            seen = None if found is None else found.get(str(job_info.external_jobid))
            if found is None or self._may_go_on(job_info, seen):
                yield job_info
            else:
                ended += 1
                await self._report_end(job_info, seen)
        self._set_pause(again_soon=ended > 0)
        if found is not None:
            await asyncio.to_thread(self._tell_waiting, active_jobs, found)

    def _set_pause(self, *, again_soon: bool) -> None:
        """Seconds until Slurm is asked again: longer and longer while no job ends."""
        first = float(self.workflow.executor_settings.init_seconds_before_status_checks)
        last = max(first, float(self.next_seconds_between_status_checks or 0))
        pause = min(first if again_soon else 1.25 * last, self.cluster.longest_pause_s)
        self.next_seconds_between_status_checks = pause

    def _ask(self, active_jobs: list[SubmittedJobInfo]) -> dict[str, Seen] | None:
        """What Slurm says of the jobs, or None; its silence is told once."""
        wanted = {str(job_info.external_jobid) for job_info in active_jobs}
        try:
            found = cluster.ask_queue(set(self.names.values()), self._submitted_job_clusters)
            if self.cluster.accounts and (gone := wanted - found.keys()):
                found |= cluster.ask_accounts(gone, self._submitted_job_clusters)
        except SlurmSilentError as error:
            if not self.silent:
                said = "Slurm does not answer; its jobs go on, and it is asked again"
                self.logger.warning(f"{said} ({error})")
            self.silent = True
            return None
        self.silent = False
        return found

    def _may_go_on(self, job_info: SubmittedJobInfo, seen: Seen | None) -> bool:
        """False for a job that has ended, or that Slurm has not known several times in a row."""
        slurm_id = str(job_info.external_jobid)
        if seen is not None:
            self.unknown.pop(slurm_id, None)
            return seen.alive
        self.unknown[slurm_id] = self.unknown.get(slurm_id, 0) + 1
        return self.unknown[slurm_id] < _LOST_AFTER

    def _tell_waiting(self, active_jobs: list[SubmittedJobInfo], found: dict[str, Seen]) -> None:
        waits, partition = {}, ""
        for job_info in active_jobs:
            seen = found.get(str(job_info.external_jobid))
            if seen is not None and seen.state == "PENDING":
                waits[seen.slurm_id] = Waits(titles(job_info.job), seen.reason)
                partition = str(job_info.job.resources.get("slurm_partition") or "")

        def unusable() -> list[str]:
            with contextlib.suppress(SlurmSilentError):
                return cluster.ask_unusable_nodes(partition)
            return []

        for line in self.waiting.lines(waits, time.monotonic(), unusable):
            self.logger.warning(line)

    # How they end

    async def _report_end(self, job_info: SubmittedJobInfo, seen: Seen | None) -> None:
        log = _slurm_log(job_info)
        if seen is None:
            lost = End("is not known to Slurm any more, so that nobody can say how it ended")
            self.report_job_error(job_info, end=lost)
        elif seen.state == "COMPLETED":
            self.report_job_success(job_info)
            if log is not None and not self.workflow.executor_settings.keep_successful_logs:
                log.unlink(missing_ok=True)
        else:
            if seen.state == "FAILED" and log is not None:
                # a folder that nodes share may show late what they wrote
                await self._await_files([log, log_of(steps_of(job_info.job)[0])])
            self.report_job_error(job_info, end=await asyncio.to_thread(self._end, job_info, seen))

    async def _await_files(self, paths: Iterable[Path]) -> None:
        deadline = time.monotonic() + self.workflow.execution_settings.latency_wait
        while time.monotonic() < deadline and not all(path.is_file() for path in paths):
            await asyncio.sleep(1)

    def _end(self, job_info: SubmittedJobInfo, seen: Seen) -> End:
        """Why it did not end well, from all that Slurm says of it."""
        log, asked = _slurm_log(job_info), job_info.job.resources
        said, steps = "", []
        with contextlib.suppress(OSError):
            said = "" if log is None else log.read_text(encoding="utf-8", errors="replace")
        if self.cluster.accounts and seen.state in ("FAILED", "CANCELLED"):
            with contextlib.suppress(SlurmSilentError):
                steps = cluster.ask_steps(seen.slurm_id)
        return end_of(seen.state, steps, said, Asked(asked.get("mem_mb"), asked.get("runtime")))

    def report_job_success(self, job_info: SubmittedJobInfo) -> None:
        """The job is done with."""
        self.notes.remove(outputs(job_info.job))
        self.causes.forget(job_info.job)
        super().report_job_success(job_info)

    def report_job_error(
        self, job_info: SubmittedJobInfo, msg: Any = None, end: End | None = None, **kwargs: Any
    ) -> None:
        """Say why, once; a job of ours comes again only for lack of memory or time."""
        job: Any = job_info.job
        slurm_id = job_info.external_jobid
        if end is None:  # it was not even submitted
            end = End(f"was not taken by Slurm: {refusal(str(msg))}")
        name = f"{titles(job)} (Slurm's job {slurm_id})" if slurm_id else titles(job)
        tries = self.tries.setdefault(job, [])
        tries.append(f"{name} {end.words}")
        self.notes.remove(outputs(job))
        if not end.again and all(is_kept(step) for step in steps_of(job)):
            job.attempt = job.restart_times + 1  # it was its last
        if job.restart_times > job.attempt - 1:
            more = "; it comes again with more" if end.again else "; it comes again"
            self.logger.warning(tries[-1] + more)
        else:
            self.causes.keep(job, self._cause(job_info, end))
            self.print_job_error(job_info, msg=f"{tries[-1]}. ", **kwargs)
        self.workflow.scheduler.error_callback(job)

    def _cause(self, job_info: SubmittedJobInfo, end: End) -> str:
        """What stands last on the terminal of a job that failed."""
        job, slurm_log = job_info.job, _slurm_log(job_info)
        steps = gone_wrong(job)
        logs = [log_of(step) for step in steps] + ([slurm_log] if slurm_log else [])
        tries, own = list(self.tries[job]), []
        if end.own:
            own = [words for step in steps if (words := said_last(log_of(step)))]
            own = own or [words for log in logs[-1:] if (words := said_last(log))]
            tries[-1] += " and left no words"  # shown where it has none of its own
        if end.again:
            rule = (steps or steps_of(job))[0].rule.name
            tries[-1] += f"; give it more in the profile, set-resources: {rule}: {end.more}"
        return cause([title(step) for step in steps] or [titles(job)], tries, logs, own)


def _slurm_log(job_info: SubmittedJobInfo) -> Path | None:
    log = (job_info.aux or {}).get("slurm_logfile")
    return Path(log) if log else None
