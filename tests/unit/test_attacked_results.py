"""Attempts to lose a result, or to have a wrong one taken for a right one."""

import os
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from frugal.core.errors import DataError
from frugal.results import files, manifests, replacing
from frugal.results.files import payload_bytes
from frugal.results.manifests import Job, made_otherwise, manifest_path
from frugal.results.replacing import replace_files
from frugal.results.survey import survey, tidy_up
from matplotlib.figure import Figure

from tests.unit.result_chains import OUTSIDE, SUMMARISE, SUMMARY, TABLE, run_step, write_chain


@pytest.fixture(autouse=True)
def chain(tmp_path, monkeypatch):
    """A finished chain in the working folder."""
    monkeypatch.chdir(tmp_path)
    write_chain()


def test_an_input_that_is_replaced_while_a_step_runs_is_not_stated_to_be_the_one_that_was_read():
    records = manifests.require_intact(SUMMARISE)
    before = SUMMARY.read_bytes()
    run_step(Job("prepare_data", {"description": OUTSIDE}, {"table": TABLE}, {"a": 1}, {}, 8))
    TABLE.write_bytes(TABLE.read_bytes() + b"x")
    with pytest.raises(DataError, match=r"table\.parquet was changed while summarise_afape ran"):
        manifests.write_outputs(SUMMARISE, {"summary": b"new"}, records)
    assert SUMMARY.read_bytes() == before


def test_a_step_whose_hidden_file_was_taken_away_does_not_end_as_if_it_had_replaced(monkeypatch):
    target = Path("results/x.bin")
    replace_files({target: b"old"})
    real = os.replace

    def cleaner(source, to):  # a start on another machine of the same name, say
        Path(source).unlink()
        return real(source, to)

    monkeypatch.setattr(os, "replace", cleaner)
    with pytest.raises(DataError, match="was not replaced, as another process has taken away"):
        replace_files({target: b"new"})
    assert target.read_bytes() == b"old"


def test_the_journal_of_an_older_run_does_not_overwrite_a_newer_result(monkeypatch):
    a, b = Path("results/x/a.bin"), Path("results/x/b.bin")

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(replacing, "_make_moves", killed)
        patched.setattr(os, "getpid", lambda: 4_000_000)  # another process
        with pytest.raises(KeyboardInterrupt):
            replace_files({a: b"older", b: b"older"})
    replace_files({a: b"newer", b: b"newer"})
    tidy_up()
    assert (a.read_bytes(), b.read_bytes()) == (b"newer", b"newer")


def test_a_result_made_with_another_seed_or_other_settings_is_known_without_notes():
    made = survey("").manifests[manifest_path(SUMMARY).as_posix()]
    assert not made_otherwise(made, '[7, null, "fast"]')
    assert not made_otherwise(made, '[7, {}, "fast"]')
    assert made_otherwise(made, '[8, null, "fast"]')
    assert made_otherwise(made, '[7, {"a": 1}, "fast"]')
    assert not made_otherwise(made, '[7, {}, "fast"]', ["elsewhere/afape.parquet"])
    assert made_otherwise(made, '[7, {}, "fast"]', ["other.parquet"])


def test_a_result_of_other_code_or_of_another_file_is_known_whatever_its_time():
    surveyed = survey("")
    document = surveyed.manifests[manifest_path(SUMMARY).as_posix()]
    code, table = document["source"], surveyed.digests[TABLE.as_posix()]

    def made(source=None, **inputs):
        return made_otherwise(document, '[7, null, "fast"]', (), source, inputs or None)

    assert not made(code, estimates=[table])
    assert not made(estimates=[None])
    assert made("0" * 64)
    assert made(estimates=["0" * 64])
    assert made(estimates=[table, table])
    assert made(others=[table])


def test_a_large_file_is_hashed_again_only_where_it_was_changed_or_replaced(monkeypatch):
    monkeypatch.setattr(files, "LARGE_BYTES", 1)
    path, notes = Path("large.csv"), Path("notes")
    path.write_text("old")
    old = files.noted_digest(path, notes)
    assert old == files.file_digest(path)
    with monkeypatch.context() as patched:
        patched.setattr(files, "file_digest", None)
        assert files.noted_digest(path, notes) == old
    before = path.stat()
    Path("other.csv").write_text("new")
    os.utime("other.csv", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace("other.csv", path)
    assert files.noted_digest(path, notes) == files.file_digest(path) != old
    for note in notes.iterdir():
        note.write_text("no digest")
    assert files.noted_digest(path, notes) == files.file_digest(path)


def test_the_readers_own_settings_of_matplotlib_change_no_byte():
    figure = Figure()
    figure.subplots().plot([0, 1], [1, 2])
    kinds = [Path("a.png"), Path("a.pdf")]
    plain = [payload_bytes(kind, figure) for kind in kinds]
    hostile: Any = {
        "savefig.transparent": True,
        "savefig.bbox": "tight",
        "pdf.compression": 0,
        "pdf.fonttype": 42,
        "savefig.facecolor": "red",
    }
    with mpl.rc_context(hostile):
        assert [payload_bytes(kind, figure) for kind in kinds] == plain
        assert mpl.rcParams["savefig.transparent"]
