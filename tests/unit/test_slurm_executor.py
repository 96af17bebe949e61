"""What becomes of jobs in Slurm, without Slurm and without a start of Snakemake."""

import asyncio
import os
import pwd
from types import SimpleNamespace
from typing import Any

import pytest
import snakemake.api  # noqa: F401  its modules import each other, in this order only
from frugal_engine import kept
from frugal_slurm import cluster as states
from frugal_slurm import executor as module
from frugal_slurm.causes import Causes, cause, said_last
from frugal_slurm.cluster import Asked, Cluster, End, Seen, SlurmSilentError, Waiting, Waits
from frugal_slurm.executor import Executor
from frugal_slurm.notes import Notes
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors import base

LACK = End("took longer than the 30 minutes it requested", again=True, more="runtime")
OWN = End("failed", own=True)


def submitted(job: Any, slurm_id: str | None, **words: Any) -> base.SubmittedJobInfo:
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
    assert all(line.endswith("it requested; it comes again with more") for line in executor.said)
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


ASKED = Asked(314, 30)
GROUPS = (
    "Killed\nsrun: error: n1: task 0: Out Of Memory\nslurmstepd-n1: error: Detected 1 oom-kill "
    "event(s) in StepId=2.0. Some of your processes may have been killed by the cgroup handler.\n"
)
WATCHED = "slurmstepd-n1: error: Job 5 exceeded memory limit (999 > 314), being killed\n"
OWN_WORDS = "Shell command: … --settings 'out of memory: error: oom-kill exceeded memory limit'\n"


@pytest.mark.parametrize(
    ("state", "steps", "log", "again"),
    [
        ("OUT_OF_MEMORY", [], "", "mem_mb"),
        ("FAILED", ["FAILED", "FAILED", "OUT_OF_MEMORY"], "", "mem_mb"),
        ("FAILED", [], GROUPS, "mem_mb"),
        ("CANCELLED", ["CANCELLED"], WATCHED, "mem_mb"),
        ("TIMEOUT", [], "", "runtime"),
        ("FAILED", ["FAILED"], OWN_WORDS, ""),
        ("FAILED", [], "", ""),
        ("CANCELLED", ["CANCELLED by 0"], "", ""),
        ("NODE_FAIL", [], "", ""),
        ("PREEMPTED", [], "", ""),
        ("DEADLINE", [], "", ""),
        ("SOMETHING_NEW", [], "", ""),
    ],
)
def test_a_job_comes_again_only_for_lack_of_memory_or_time(state, steps, log, again):
    end = states.end_of(state, steps, log, ASKED)
    assert (end.again, end.more) == (bool(again), again)
    assert end.own == (state in ("FAILED", "SOMETHING_NEW") and not again)


def test_what_lacked_is_said_with_what_was_asked_for():
    memory, time = (states.end_of(state, [], "", ASKED) for state in ("OUT_OF_MEMORY", "TIMEOUT"))
    assert memory.words == "took more than the 314 MB of memory it requested"
    assert time.words == "took longer than the 30 minutes it requested"


def test_who_cancelled_is_named_where_the_accounts_tell():
    me = pwd.getpwuid(os.getuid()).pw_name
    assert states.end_of("CANCELLED", [f"CANCELLED by {os.getuid()}"], "", ASKED).words.endswith(me)
    nobody = states.end_of("CANCELLED", ["CANCELLED by 987654"], "", ASKED).words
    assert nobody == "was cancelled in Slurm by user 987654"
    assert states.end_of("CANCELLED", [], "", ASKED).words == "was cancelled in Slurm"


def test_a_refusal_is_what_sbatch_said_and_not_its_command():
    said = (
        "SLURM sbatch failed. The error message was 'sbatch: error: Memory specification can not "
        "be satisfied\nsbatch: error: Batch job submission failed: Requested node configuration "
        "is not available'.\n    sbatch call:\n        sbatch --parsable 'x'.\n"
    )
    assert states.refusal(said) == (
        "Memory specification can not be satisfied; Batch job submission failed: Requested node "
        "configuration is not available"
    )
    assert states.refusal("Job submission failed with exception: no such file") == (
        "Job submission failed with exception: no such file"
    )


def test_the_last_words_of_a_log_are_its_sentence_or_its_end(tmp_path):
    log = tmp_path / "step.log"
    assert said_last(log) == ""
    log.write_text("first\nfrugal fit_flows: the table has no rows\nlast\n")
    assert said_last(log) == "frugal fit_flows: the table has no rows"
    log.write_text("\n".join(map(str, range(40))))
    assert said_last(log).split("\n") == [str(k) for k in range(28, 40)]


def test_a_cause_ends_with_the_jobs_own_sentence(tmp_path):
    told = cause(["a x"], ["a x (Slurm's job 3) failed"], [tmp_path / "l"], ["frugal a: no rows"])
    assert told == f"\nFailed: a x (all of it: {tmp_path / 'l'})\nfrugal a: no rows"


def test_a_cause_tells_every_try():
    tries = ["a x (Slurm's job 3) took more", "a x was not taken by Slurm: too much"]
    assert cause(["a x"], tries, [], []).splitlines()[1:] == ["Failed: a x", *tries]


def test_causes_are_told_once_at_the_end_and_not_of_what_ended_well(capsys):
    causes = Causes()
    for job in range(12):
        causes.keep(job, f"first cause of {job}")
        causes.keep(job, f"cause of {job}")
    causes.forget(0)
    causes.tell()
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["", "1 more failed", *(f"cause of {job}" for job in range(1, 11))]
    Causes().tell()
    assert capsys.readouterr().err == ""


CONFIG = """Configuration data as of 2026-11-25T00:11:02
AccountingStorageHost   = localhost
AccountingStorageType   = {kind}
MinJobAge               = {age} sec
"""


class Answers:
    """Answers as told, and keeps what was asked."""

    def __init__(self, answer):
        self.answer = answer
        self.words = []

    def __call__(self, words):
        self.words = words
        return self.answer


@pytest.mark.parametrize(
    ("kind", "age", "cluster", "pause"),
    [
        ("accounting_storage/slurmdbd", 300, Cluster(True, 300), 180),
        ("accounting_storage/slurmdbd", 2, Cluster(True, 2), 180),
        ("accounting_storage/none", 300, Cluster(False, 300), 100),
        ("(null)", 0, Cluster(False, None), 180),
        ("accounting_storage/none", 3000, Cluster(False, 3000), 180),
    ],
)
def test_a_cluster_is_known_by_its_accounts_and_its_memory(kind, age, cluster, pause):
    found = states.read_cluster(Answers(CONFIG.format(kind=kind, age=age)))
    assert found == cluster
    assert found.longest_pause_s == pause


def test_the_queue_is_asked_by_names_and_tells_why_a_job_waits():
    ask = Answers(
        "1|COMPLETED|b|None\n2|PENDING|a|ReqNodeNotAvail, UnavailableNodes:n2\n"
        "CLUSTER: frugal\n3_4|CANCELLED|a|x|y\n"
    )
    found = states.ask_queue({"b", "a"}, ["c2", "c1"], ask)
    assert found == {
        "1": Seen("1", "COMPLETED", "b", "None"),
        "2": Seen("2", "PENDING", "a", "ReqNodeNotAvail, UnavailableNodes:n2"),
        "3_4": Seen("3_4", "CANCELLED", "a", "x|y"),
    }
    assert [seen.alive for seen in found.values()] == [False, True, False]
    assert ask.words[-2:] == ["--name=a,b", "--clusters=c1,c2"]
    assert "--states=all" in ask.words


def test_accounts_are_asked_by_id_and_say_who_cancelled():
    ask = Answers("7|CANCELLED by 1000\n8|OUT_OF_ME+\n9|RUNNING\n")
    found = states.ask_accounts({"8", "7", "9"}, ask=ask)
    assert {i: seen.state for i, seen in found.items()} == {
        "7": "CANCELLED",
        "8": "OUT_OF_ME",
        "9": "RUNNING",
    }
    assert "--jobs=7,8,9" in ask.words
    steps = states.ask_steps("7", Answers("CANCELLED by 1000\nCANCELLED\n\n"))
    assert steps == ["CANCELLED by 1000", "CANCELLED"]


def test_nodes_that_take_no_job_are_named_with_their_reason():
    ask = Answers("n1|drained|disk swap\nn2|idle|none\nn3|down*|none\nn1|drained|disk swap\n")
    assert states.ask_unusable_nodes("main", ask) == ["n1 drained (disk swap)", "n3 down"]
    assert "--partition=main" in ask.words


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sh", "-c", "echo 'no controller' >&2; exit 1"], "sh: no controller"),
        (["no-such-command"], "no-such-command: "),
    ],
)
def test_silence_is_an_error_of_its_own(words, said):
    with pytest.raises(SlurmSilentError, match=said):
        states.ask_slurm(words)


DRAINED = (
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
)


def told(waiting, now, nodes=(), **reasons):
    jobs = {i.removeprefix("j"): Waits(f"step {i}", reason) for i, reason in reasons.items()}
    return waiting.lines(jobs, now, lambda: list(nodes))


def test_a_drained_node_is_told_after_a_short_while_with_its_reason():
    waiting = Waiting()
    assert told(waiting, 0, j7=DRAINED) == []
    (line,) = told(waiting, 40, ["n1 drained (disk)"], j7=DRAINED)
    assert line.startswith("Waits in Slurm: job 7 (step j7): the nodes that could take it are not")
    assert line.endswith("; n1 drained (disk); scancel 7 gives it up")


@pytest.mark.parametrize(
    "reason", [DRAINED, "PartitionTimeLimit", "JobHeldUser", "QOSMaxWallDurationPerJobLimit", "New"]
)
def test_a_reason_is_told_once_until_it_comes_again(reason):
    waiting = Waiting()
    lines = [len(told(waiting, now, j1=reason)) for now in (0, 29, 31, 90, 3600)]
    assert lines == [0, 0, 1, 0, 0]
    assert told(waiting, 3601, j1="Priority") == []
    assert [len(told(waiting, now, j1=reason)) for now in (3700, 3731)] == [0, 1]


def test_jobs_of_one_reason_share_a_line():
    waiting = Waiting()
    many = {f"j{k}": "PartitionTimeLimit" for k in (9, 10, 11)}
    told(waiting, 0, **many)
    (line,) = told(waiting, 60, **many)
    assert line.startswith("3 jobs wait in Slurm, first job 9 (step j9): it needs more minutes")
    assert "(PartitionTimeLimit)" in line


def test_waiting_for_ones_turn_is_told_after_half_an_hour_only():
    waiting = Waiting()
    assert [len(told(waiting, now, j1="Priority")) for now in (0, 60, 1700, 1800)] == [0, 0, 0, 1]


def test_a_job_that_has_left_is_forgotten():
    waiting = Waiting()
    told(waiting, 0, j1="JobHeldUser")
    assert told(waiting, 20) == []
    assert told(waiting, 40, j1="JobHeldUser") == []


def test_nodes_that_a_reason_lists_do_not_make_it_another_one():
    waiting = Waiting()
    told(waiting, 0, j1="ReqNodeNotAvail, UnavailableNodes:n1")
    assert len(told(waiting, 31, j1="ReqNodeNotAvail, UnavailableNodes:n[1-2]")) == 1
