"""A store is listed, read, and shown to what looks over the results before a run."""

import contextlib
import json
import os
from pathlib import Path

import pytest
from frugal.core.errors import DataError
from frugal.results.receipts import receipt_file, survey

from tests.unit.stores import Folder, ListingFolder, folder_store, put

NAMES = ["results/a/x.parquet", "results/a/_x.parquet.json"]


def put_step(store, environment="lock", names=NAMES):
    """The files of a finished step and its receipt."""
    for name in names:
        put(store, name, name.encode())
    for path, content in receipt_file(
        "draw", {Path(names[0]): Path(names[1])}, environment
    ).items():
        put(store, path.as_posix(), content)


@pytest.mark.parametrize("kind", [Folder, ListingFolder])
def test_all_files_below_a_folder_are_listed_with_time_and_size(tmp_path, kind):
    store = folder_store(tmp_path, kind)
    for name in [*NAMES, "results_of_others/y", "logs/a.log"]:
        put(store, name, b"four")
    assert list(store.listed("results")) == sorted(NAMES)
    path = store.provider.root / "study" / NAMES[0]
    assert store.listed("results")[NAMES[0]] == (path.stat().st_mtime, 4)
    assert store.listed("benchmarks") == {}


def test_a_store_that_cannot_be_reached_is_a_sentence(tmp_path):
    store = folder_store(tmp_path)
    store.provider.closed = True
    with pytest.raises(DataError, match=r"study/results cannot be read: Could not connect"):
        store.listed("results")
    with pytest.raises(DataError, match=r"study/results/x cannot be read: Could not connect"):
        store.copy("results/x", tmp_path / "x")


def test_a_plugin_that_waits_while_it_lists_is_refused(tmp_path):
    store = folder_store(tmp_path)
    store.provider.waits = True
    with pytest.raises(DataError, match="waits for other work"):
        store.listed("results")


def test_what_was_fetched_is_fetched_again_only_when_it_has_changed(tmp_path):
    store = folder_store(tmp_path)
    put(store, NAMES[0], b"old")
    for _ in range(2):
        store.fetch(store.listed("results"), tmp_path / "here")
    assert store.provider.fetched == [f"study/{NAMES[0]}"]
    put(store, NAMES[0], b"newer")
    store.fetch(store.listed("results"), tmp_path / "here")
    assert (tmp_path / "here" / NAMES[0]).read_bytes() == b"newer"


def test_a_file_that_goes_while_it_is_fetched_is_a_sentence(tmp_path):
    store = folder_store(tmp_path)
    with pytest.raises(DataError, match="was there a moment ago, and is gone"):
        store.fetch({"results/x": (0.0, 1)}, tmp_path / "here")


def test_a_file_that_is_not_there_is_not_copied(tmp_path):
    store = folder_store(tmp_path)
    assert not store.copy("results/x", tmp_path / "x")
    with contextlib.chdir(tmp_path):
        assert store.text("results/x") is None
        put(store, "results/x", "é".encode())
        assert store.text("results/x") == "é"


def test_a_file_that_is_newer_here_is_left_alone(tmp_path):
    """A step of a group reads what another has just made, and the store has the former one."""
    store, here = folder_store(tmp_path), tmp_path / "x"
    assert not store.refresh("results/x", here)
    put(store, "results/x", b"former")
    assert store.refresh("results/x", here)
    assert here.read_bytes() == b"former"
    there = store.provider.root / "study/results/x"
    here.write_bytes(b"made here")
    os.utime(there, (1, 1))
    assert store.refresh("results/x", here)
    assert here.read_bytes() == b"made here"
    there.write_bytes(b"newer")
    os.utime(here, (1, 1))
    assert store.refresh("results/x", here)
    assert here.read_bytes() == b"newer"


def test_a_look_shows_every_file_and_the_words_of_receipts_alone(tmp_path):
    store, look = folder_store(tmp_path), tmp_path / "look"
    put_step(store)
    assert set(store.look(look)) == {*NAMES, *(f"study/{n}"[6:] for n in _receipts(store))}
    assert (look / NAMES[0]).read_bytes() == b""
    (receipt,) = _receipts(store)
    assert json.loads((look / receipt).read_bytes())["files"] == sorted(NAMES)
    fetched = len(store.provider.fetched)
    store.look(look)
    assert len(store.provider.fetched) == fetched


def test_the_survey_of_a_look_is_that_of_the_store(tmp_path):
    store, look = folder_store(tmp_path), tmp_path / "look"
    put_step(store, environment="another lock")
    store.look(look)
    with contextlib.chdir(look):
        found = survey("lock")
    assert (found.steps, found.missing) == (1, ())
    assert found.elsewhere == tuple(map(Path, sorted(NAMES)))
    os.unlink(store.provider.root / "study" / NAMES[1])
    store.look(look)
    with contextlib.chdir(look):
        assert survey("another lock").missing == (Path(NAMES[1]),)


def _receipts(store):
    return [name for name in store.listed("results") if name.startswith("results/steps/")]
