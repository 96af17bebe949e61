"""Several files are replaced as one: whatever ends the process, all are old or all are new."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from socket import AF_UNIX, socket

import pytest
from frugal.core.errors import DataError
from frugal.results.manifests import lock_digest, manifest_path
from frugal.results.replacing import (
    finish_interrupted,
    is_leftover,
    remove_leftovers,
    replace_files,
)
from frugal.results.survey import survey, tidy_up

from tests.unit.result_chains import CATALOGUE, SUMMARY, TABLE, write_chain

CALLS = ("replace", "fsync")


class Killed(BaseException):
    """Stands for SIGKILL: nothing of the program runs after it."""


def names(folder):
    return [folder / "a/x.bin", folder / "a/_x.bin.json", folder / "b/y.bin"]


def contents(folder, word):
    return {path: f"{word} {path.name}".encode() for path in names(folder)}


def state(folder):
    """`old`, `new` or what else stands there."""
    found = {path: path.read_bytes() for path in names(folder) if path.exists()}
    return next((w for w in ("old", "new") if found == contents(folder, w)), found)


def replace_and_die(folder, monkeypatch, call, after):
    """Replace the files, and die in the call of that number; False if there are fewer calls."""
    real, count = getattr(os, call), 0

    def dying(*arguments):
        nonlocal count
        count += 1
        if count > after:
            raise Killed
        return real(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(os, call, dying)
        try:
            replace_files(contents(folder, "new"))
        except Killed:
            return True
    return False


@pytest.mark.parametrize("call", CALLS)
def test_a_death_at_any_moment_leaves_all_old_or_after_the_next_start_all_new(
    tmp_path, monkeypatch, call
):
    ends = []
    for after in range(20):
        folder = tmp_path / str(after)
        replace_files(contents(folder, "old"))
        died = replace_and_die(folder, monkeypatch, call, after)
        tidy_up(folder)
        ends.append(state(folder))
        assert ends[-1] in ("old", "new")
        if not died:
            break
    assert ends[-1] == "new"
    assert "old" in ends
    assert len(ends) > len(names(tmp_path))


def test_the_next_start_ends_a_replacement_that_a_death_has_cut_in_two(tmp_path, monkeypatch):
    replace_files(contents(tmp_path, "old"))
    replace_and_die(tmp_path, monkeypatch, "replace", 2)  # the journal, and the first file
    assert state(tmp_path) not in ("old", "new")
    assert len(finish_interrupted([tmp_path / "a"])) == 2
    assert state(tmp_path) == "new"
    assert not [p for p in tmp_path.rglob(".*") if p.is_file()]


def test_two_who_finish_the_same_replacement_do_not_meet(tmp_path, monkeypatch):
    replace_files(contents(tmp_path, "old"))
    real, turns = os.replace, iter(range(99))

    def other_is_faster(source, target):
        if next(turns) == 1:  # the journal stands; the first file is about to be moved
            finish_interrupted([tmp_path / "a"])
        return real(source, target)

    monkeypatch.setattr(os, "replace", other_is_faster)
    replace_files(contents(tmp_path, "new"))
    assert state(tmp_path) == "new"


@pytest.mark.parametrize("after", range(4))
def test_a_full_disk_leaves_the_old_files_and_nothing_hidden(tmp_path, monkeypatch, after):
    replace_files(contents(tmp_path, "old"))
    real, count = os.fsync, 0

    def full(handle):
        nonlocal count
        count += 1
        if count > after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left on device; nothing that was there before"):
        replace_files(contents(tmp_path, "new"))
    assert state(tmp_path) == "old"
    assert not [p for p in tmp_path.rglob(".*") if p.is_file()]


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("folder", Path.mkdir),
        ("pipe", os.mkfifo),
        ("link", lambda path: path.symlink_to(path.parent.parent / "victim")),
        ("link", lambda path: path.symlink_to("/dev/null")),
        ("link", lambda path: path.symlink_to("nowhere")),
        ("device", lambda path: socket(AF_UNIX).bind(str(path))),
    ],
)
def test_what_is_no_file_is_neither_replaced_nor_written_through(tmp_path, monkeypatch, kind, make):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "b")  # a socket has a short name
    make(Path("y.bin") if kind == "device" else tmp_path / "b/y.bin")
    before = (tmp_path / "b/y.bin").lstat()
    with pytest.raises(DataError, match=rf"b/y\.bin cannot be written: there is a {kind} of that"):
        replace_files(contents(tmp_path, "new"))
    assert (tmp_path / "b/y.bin").lstat() == before
    assert (tmp_path / "victim").read_text() == "mine"
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["y.bin"]
    assert not (tmp_path / "a/x.bin").exists()


def test_what_a_dead_writer_left_is_removed_and_what_another_machine_writes_is_not(tmp_path):
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    path = tmp_path / "x.bin"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "getpid", lambda: int(dead.stdout))
        patched.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            replace_files({path: b"x"})
    (mine,) = tmp_path.iterdir()
    elsewhere = tmp_path / f".x.bin.elsewhere.{int(dead.stdout)}.0.part"
    alive = tmp_path / mine.name.replace(f".{int(dead.stdout)}.", f".{os.getpid()}.")
    for other in (elsewhere, alive):
        other.write_bytes(b"")
    assert all(is_leftover(p) for p in (mine, elsewhere, alive))
    remove_leftovers(list(tmp_path.iterdir()))
    assert sorted(tmp_path.iterdir()) == sorted([elsewhere, alive])


def test_a_name_of_the_greatest_length_can_be_replaced(tmp_path):
    path = tmp_path / ("é" * 120 + ".csv")
    replace_files({path: b"x", path.with_name("_y.json"): b"y"})
    assert path.read_bytes() == b"x"


def test_a_start_names_what_is_missing_and_what_another_lock_has_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_chain()
    lock = lock_digest()
    assert survey(lock).lines(strict=False) == []
    assert {SUMMARY, manifest_path(SUMMARY), TABLE} < set(survey("2").elsewhere)
    assert "5 files were made under another requirements.lock" in survey("2").lines(strict=True)[0]
    shutil.rmtree(TABLE.parent)
    assert survey(lock).missing == (TABLE, CATALOGUE)
    assert "2 files of finished steps are missing" in survey(lock).lines(strict=False)[0]
