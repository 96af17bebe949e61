"""Names, files and identity of Snakemake's jobs, and who of a group went wrong."""

import json
import os
from types import SimpleNamespace

import pytest
from frugal_slurm.jobs import gone_wrong, identity, log_of, outputs, steps_of, title, titles


def step(agent, folder="", *, inputs=(), params=("--seed 1",)):
    """A step as Snakemake has it, as far as it is asked."""
    return SimpleNamespace(
        rule=SimpleNamespace(name="roll_out"),
        wildcards_dict={"dataset": "x", "agent": agent},
        output=[f"{folder}{agent}.parquet"],
        input=inputs,
        params=params,
        log=[f"{folder}{agent}.log", f"{folder}{agent}.jsonl"],
        is_group=lambda: False,
    )


def group(*steps):
    return SimpleNamespace(jobs={*map(_Once, steps)}, is_group=lambda: True)


class _Once:
    """A step that a set can hold."""

    def __init__(self, own):
        self.__dict__ = own.__dict__


def test_a_job_has_the_names_and_files_of_its_steps():
    job = group(step("b"), step("a"))
    assert [title(each) for each in steps_of(job)] == ["roll_out x a", "roll_out x b"]
    assert titles(job) == "roll_out x a and 1 more"
    assert titles(step("c")) == "roll_out x c"
    assert outputs(job) == {"a.parquet", "b.parquet"}
    assert str(log_of(step("a"))) == "a.log"


def test_steps_of_a_group_that_ended_well_or_did_not_begin_are_not_blamed(tmp_path):
    folder = f"{tmp_path}/"
    for name, ended in (("done", "done"), ("refused", "failed"), ("killed", None)):
        (tmp_path / f"{name}.log").touch()
        if ended:
            (tmp_path / f"{name}.jsonl").write_text(json.dumps({"cpu_s": 1, "ended": ended}))
    (tmp_path / "halfway.log").touch()
    (tmp_path / "halfway.jsonl").write_text("")
    job = group(*(step(n, folder) for n in ("done", "refused", "killed", "halfway", "later")))
    blamed = [title(each).split()[-1] for each in gone_wrong(job)]
    assert blamed == ["halfway", "killed", "refused"]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("1")
    return path


def test_the_same_step_over_the_same_files_is_the_same_job(table):
    assert identity(step("a", inputs=[table])) == identity(step("a", inputs=[str(table)]))
    one, other = step("a", inputs=[table]), step("b", inputs=[table])
    assert identity(group(one, other)) == identity(group(other, one))


def test_another_parameter_step_or_file_makes_another_job(table):
    own = identity(step("a", inputs=[table]))
    found = {
        own,
        identity(step("a", inputs=[table], params=("--seed 2",))),
        identity(step("b", inputs=[table])),
        identity(group(step("a", inputs=[table]), step("b"))),
        identity(step("a", inputs=[table, "missing"])),
    }
    os.utime(table, ns=(1, 1))
    found.add(identity(step("a", inputs=[table])))
    table.write_text("12")
    found.add(identity(step("a", inputs=[table])))
    assert len(found) == 7
