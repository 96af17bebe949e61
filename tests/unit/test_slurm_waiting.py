"""A job that waits for what does not come by itself is told, once, and soon."""

import pytest
from frugal_slurm.waiting import Waiting, Waits

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
    assert line.startswith("3 jobs wait in Slurm, first job 9 (step j9): it asks for more minutes")
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
