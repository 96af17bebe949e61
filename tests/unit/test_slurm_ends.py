"""Only lack of memory and of time are worth another try; all else is told as it is."""

import os
import pwd

import pytest
from frugal_slurm.causes import Causes, cause, said_last
from frugal_slurm.ends import Asked, end_of, refusal

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
    end = end_of(state, steps, log, ASKED)
    assert (end.again, end.more) == (bool(again), again)
    assert end.own == (state in ("FAILED", "SOMETHING_NEW") and not again)


def test_what_lacked_is_said_with_what_was_asked_for():
    memory, time = (end_of(state, [], "", ASKED) for state in ("OUT_OF_MEMORY", "TIMEOUT"))
    assert memory.words == "took more than the 314 MB of memory it asked for"
    assert time.words == "took longer than the 30 minutes it asked for"


def test_who_cancelled_is_named_where_the_accounts_tell():
    me = pwd.getpwuid(os.getuid()).pw_name
    assert end_of("CANCELLED", [f"CANCELLED by {os.getuid()}"], "", ASKED).words.endswith(me)
    nobody = end_of("CANCELLED", ["CANCELLED by 987654"], "", ASKED).words
    assert nobody == "was cancelled in Slurm by user 987654"
    assert end_of("CANCELLED", [], "", ASKED).words == "was cancelled in Slurm"


def test_a_refusal_is_what_sbatch_said_and_not_its_command():
    said = (
        "SLURM sbatch failed. The error message was 'sbatch: error: Memory specification can not "
        "be satisfied\nsbatch: error: Batch job submission failed: Requested node configuration "
        "is not available'.\n    sbatch call:\n        sbatch --parsable 'x'.\n"
    )
    assert refusal(said) == (
        "Memory specification can not be satisfied; Batch job submission failed: Requested node "
        "configuration is not available"
    )
    assert refusal("Job submission failed with exception: no such file") == (
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
