"""Notes of jobs in Slurm, what a later start makes of them, and how jobs are named."""

import json
import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
from frugal_slurm.cluster import Seen
from frugal_slurm.notes import (
    Note,
    Notes,
    gone_wrong,
    identity,
    log_of,
    outputs,
    sort_out,
    steps_of,
    title,
    titles,
)
from hypothesis import given
from hypothesis import strategies as st

NOTE = Note("roll_out x", "run-1", "7", ("a", "b"), "as it is", "/log/7.log")


def queue(**states):
    """Jobs of `run-1` by id."""
    return {i[1:]: Seen(i[1:], state, "run-1") for i, state in states.items()}


def test_a_note_is_kept_replaced_and_removed_by_its_outputs(tmp_path):
    notes = Notes(tmp_path / "slurm_jobs")
    assert notes.read() == []
    notes.write(replace(NOTE, slurm_id=None))
    notes.write(NOTE)
    assert notes.read() == [NOTE]
    (path,) = notes.folder.iterdir()
    path.with_name(f".{path.name}.host.1.0.part").touch()  # a kill in the midst of writing it
    notes.remove(["b", "a"])
    assert not notes.folder.exists()
    notes.remove(["b", "a"])


def test_a_start_without_slurm_says_what_may_be_there(tmp_path):
    notes = Notes(tmp_path)
    assert notes.line_elsewhere() == ""
    notes.write(NOTE)
    notes.write(replace(NOTE, slurm_id=None, outputs=("c",), what="fit"))
    line = notes.line_elsewhere()
    assert line.startswith("Jobs of an earlier start may be in Slurm still and write into this")
    assert "7 (roll_out x)" in line
    assert "? (fit)" in line


def test_a_file_that_is_no_note_is_left_alone(tmp_path):
    notes = Notes(tmp_path)
    notes.write(NOTE)
    for name, text in [("x", "{"), ("y", "[]"), ("z", json.dumps({"what": "x"}))]:
        (tmp_path / f"{name}.json").write_text(text)
    assert notes.read() == [NOTE]
    notes.remove(NOTE.outputs)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_job_that_would_be_submitted_just_so_is_waited_for():
    found = sort_out([NOTE], queue(j7="RUNNING"), {"a", "b"}, {frozenset("ab"): "as it is"})
    assert found.same == (NOTE,)
    assert found.stale == found.others == found.ended == found.strays == ()


def test_a_job_of_other_settings_or_of_inputs_that_are_made_again_is_cancelled():
    changed = sort_out([NOTE], queue(j7="PENDING"), {"a", "b"}, {frozenset("ab"): "otherwise"})
    not_ready = sort_out([NOTE], queue(j7="RUNNING"), {"a", "b"}, {})
    other_group = sort_out([NOTE], queue(j7="RUNNING"), {"a"}, {frozenset("a"): "as it is"})
    assert changed.stale == not_ready.stale == other_group.stale == (NOTE,)


def test_a_job_that_this_start_does_not_need_is_left_alone():
    assert sort_out([NOTE], queue(j7="RUNNING"), {"c"}, {}).others == (NOTE,)


def test_a_job_that_has_ended_is_no_orphan():
    for states in ({"j7": "COMPLETED"}, {"j7": "CANCELLED"}, {}):
        found = sort_out([NOTE], queue(**states), {"a", "b"}, {frozenset("ab"): "as it is"})
        assert found.ended == (NOTE,)
        assert found.same == ()


def test_a_job_without_a_note_of_its_id_is_cancelled_with_the_run_that_was_killed():
    begun = replace(NOTE, slurm_id=None)
    jobs = queue(j8="PENDING", j9="COMPLETED")
    assert sort_out([begun], jobs, {"a"}, {}).strays == ("8",)
    # of a Snakemake that lives beside this one, and makes other files
    assert sort_out([begun], jobs, {"c"}, {}).strays == ()


IDS = st.sampled_from(["1", "2", "3", None])
FILES = st.frozensets(st.sampled_from("abcd"), min_size=1)


@given(
    notes=st.lists(
        st.builds(
            lambda i, files, identity: replace(
                NOTE, slurm_id=i, outputs=tuple(sorted(files)), identity=identity
            ),
            IDS,
            FILES,
            st.sampled_from("xy"),
        ),
        max_size=5,
        unique_by=lambda note: note.outputs,
    ),
    alive=st.frozensets(st.sampled_from("1234")),
    needed=st.frozensets(st.sampled_from("abcd")),
    ready=st.dictionaries(FILES, st.sampled_from("xy"), max_size=3),
)
def test_no_job_is_in_two_minds_and_none_that_writes_what_is_needed_goes_on_unseen(
    notes, alive, needed, ready
):
    found = sort_out(notes, {i: Seen(i, "RUNNING", "run-1") for i in alive}, needed, ready)
    classes = [found.same, found.stale, found.others, found.ended]
    assert sorted(map(id, notes)) == sorted(id(note) for group in classes for note in group)
    for note in found.others:
        assert needed.isdisjoint(note.outputs)
    for note in found.same:
        assert ready[frozenset(note.outputs)] == note.identity
    for note in found.ended:
        assert note.slurm_id not in alive


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
