"""What the executor does with a job that ended, without Slurm and without a start of Snakemake."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
import snakemake.api  # noqa: F401  its modules import each other, in this order only
from frugal_engine import kept
from frugal_slurm import cluster as states
from frugal_slurm import executor as module
from frugal_slurm.causes import Causes
from frugal_slurm.cluster import Cluster, End, Seen, SlurmSilentError, Waiting
from frugal_slurm.executor import Executor
from frugal_slurm.notes import Notes
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors import base

LACK = End("took longer than the 30 minutes it asked for", again=True, more="runtime")
OWN = End("failed", own=True)


def submitted(job: Any, slurm_id: str, **words: Any) -> base.SubmittedJobInfo:
    """A job as the executor keeps it."""
    return base.SubmittedJobInfo(job, external_jobid=slurm_id, **words)


class Step:
    """A step of Snakemake's, as far as it is asked."""

    def __init__(self, path, attempt=1):
        self.output, self.input, self.params, self.attempt = [path], [], [], attempt
        self.rule, self.wildcards_dict = SimpleNamespace(name="train"), {"agent": "a"}
        self.log, self.restart_times, self.resources = ["no.log"], 2, {}

    def is_group(self):
        return False

    def log_error(self, msg, **words):
        self.told = msg


@pytest.fixture
def executor(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made: Any = object.__new__(Executor)
    made.cluster = Cluster(accounts=False, forgets_after_s=300)
    made.waiting, made.causes, made.notes = Waiting(), Causes(), Notes(tmp_path / "notes")
    made.tries, made.unknown = {}, {}
    made.names, made.silent, made._submitted_job_clusters = {None: "run"}, False, set()
    said, failed = [], []
    made.logger = SimpleNamespace(warning=said.append, info=said.append)
    made.workflow = SimpleNamespace(scheduler=SimpleNamespace(error_callback=failed.append))
    made.said, made.failed = said, failed
    return made


@pytest.mark.parametrize(
    ("path", "end", "again"),
    [
        (kept("a.txt"), OWN, False),
        (kept("a.txt"), LACK, True),
        ("a.txt", OWN, True),  # of another workflow: as Snakemake does it
        ("a.txt", LACK, True),
    ],
)
def test_only_our_steps_that_lack_nothing_are_kept_from_another_try(executor, path, end, again):
    job = Step(path)
    executor.report_job_error(submitted(job, "7"), end=end)
    assert executor.failed == [job]
    assert (job.restart_times > job.attempt - 1) == again  # by which Snakemake decides


def test_a_try_that_is_not_the_last_is_a_line_and_the_last_one_tells_all(executor):
    job = Step(kept("a.txt"))
    for attempt in (1, 2, 3):
        job.attempt = attempt
        executor.report_job_error(submitted(job, str(attempt)), end=LACK)
    assert len(executor.said) == 2
    assert all(line.endswith("it asked for; it comes again with more") for line in executor.said)
    *tries, last = executor.causes.text().splitlines()[2:]
    assert [line[:28] for line in tries] == [f"train a (Slurm's job {k}) took" for k in (1, 2)]
    assert last.endswith("give it more in the profile, set-resources: train: runtime")


def test_a_job_that_was_cancelled_or_not_taken_is_told_so_and_stays_so(executor):
    job = Step(kept("a.txt"))
    asyncio.run(executor._report_end(submitted(job, "7"), Seen("7", "CANCELLED")))
    assert job.restart_times == job.attempt - 1
    assert executor.causes.text().endswith("train a (Slurm's job 7) was cancelled in Slurm")
    words = "sbatch: error: Batch job submission failed: no such account"
    executor.report_job_error(submitted(job, None), msg=f"The error message was '{words}'.\n")
    last = executor.causes.text().splitlines()[-1]
    assert last == "train a was not taken by Slurm: Batch job submission failed: no such account"


def test_a_job_that_waits_for_what_does_not_come_is_told(executor, monkeypatch):
    seen = {"7": Seen("7", "PENDING", "run", "PartitionTimeLimit")}
    times = iter((0.0, 40.0, 80.0))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(times)))
    for _ in range(3):
        executor._tell_waiting([submitted(Step(kept("a.txt")), "7")], seen)
    (line,) = executor.said
    assert line.endswith("(PartitionTimeLimit); scancel 7 gives it up")


def test_a_job_that_left_no_words_is_told_all_the_same(executor, tmp_path):
    log = tmp_path / "7.log"
    log.write_text("")
    job = Step(kept("a.txt"), attempt=3)
    done = submitted(job, "7", aux={"slurm_logfile": log})
    executor.report_job_error(done, end=OWN)
    last = executor.causes.text().splitlines()[-1]
    assert last == "train a (Slurm's job 7) failed and left no words"


def test_a_job_that_slurm_knows_no_more_is_given_up_after_some_looks(executor):
    job = submitted(Step(kept("a.txt"), attempt=3), "7")
    looks = [executor._may_go_on(job, seen) for seen in (None, None, Seen("7", "RUNNING"))]
    assert looks == [True, True, True]
    assert [executor._may_go_on(job, None) for _ in range(3)] == [True, True, False]
    asyncio.run(executor._report_end(job, None))
    assert "nobody can say how it ended" in executor.causes.text()


def test_silence_is_told_once_and_no_job_is_lost_by_it(executor, monkeypatch):
    def silent(*_):
        raise SlurmSilentError("squeue: no controller")

    monkeypatch.setattr(states, "ask_queue", silent)
    jobs = [submitted(Step(kept("a.txt")), "7")]
    assert [executor._ask(jobs) for _ in range(3)] == [None] * 3
    assert executor.said == [
        "Slurm does not answer; its jobs go on, and it is asked again (squeue: no controller)"
    ]
    monkeypatch.setattr(states, "ask_queue", lambda *_: {"7": Seen("7", "RUNNING")})
    assert executor._ask(jobs) == {"7": Seen("7", "RUNNING")}
    monkeypatch.setattr(states, "ask_queue", silent)
    executor._ask(jobs)
    assert len(executor.said) == 2


def test_accounts_are_asked_only_for_jobs_that_have_left_the_queue(executor, monkeypatch):
    asked = []
    monkeypatch.setattr(states, "ask_queue", lambda *_: {"7": Seen("7", "RUNNING")})
    monkeypatch.setattr(
        states, "ask_accounts", lambda ids, _: asked.append(ids) or {"8": Seen("8", "COMPLETED")}
    )
    jobs = [submitted(Step(kept("a.txt")), i) for i in ("7", "8")]
    assert executor._ask(jobs) == {"7": Seen("7", "RUNNING")}
    executor.cluster = Cluster(accounts=True, forgets_after_s=300)
    assert sorted(executor._ask(jobs)) == ["7", "8"]
    assert asked == [{"8"}]


@pytest.mark.parametrize(
    ("cluster", "sentence"),
    [
        (Cluster(accounts=False, forgets_after_s=5), "forgets a job 5 s after its end"),
        (Cluster(accounts=True, forgets_after_s=5), None),
        (Cluster(accounts=False, forgets_after_s=None), None),
        (None, "Slurm does not answer here"),
    ],
)
def test_a_cluster_whose_ends_would_be_missed_is_refused(cluster, sentence, monkeypatch):
    def read():
        if cluster is None:
            raise SlurmSilentError("scontrol: no controller")
        return cluster

    monkeypatch.setattr(states, "read_cluster", read)
    if sentence is None:
        assert module._usable_cluster() is cluster
        return
    with pytest.raises(WorkflowError, match=sentence):
        module._usable_cluster()
