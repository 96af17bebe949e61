"""What a killed Snakemake left in Slurm is waited for, cancelled or told, and never forgotten."""

import json
from dataclasses import replace

from frugal_slurm.notes import Note, Notes, sort_out
from frugal_slurm.states import Seen
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
