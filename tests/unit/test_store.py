"""A store over a folder, without server or rsync; what a job on another machine gets of it."""

import asyncio
import contextlib
import copy
import json
import logging
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import frugal_workers as workers
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.results.receipts import receipt_file, survey
from frugal.results.sidecars import Job, input_records, sidecar_path, write_outputs
from frugal_store import Store, vouch
from snakemake_interface_executor_plugins.settings import CommonSettings
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_storage_plugins.io import Mtime


class File:
    """An object of the store."""

    keep_local = False
    _overwrite_local_path: Path | None = None

    def __init__(self, query: str, provider: "Folder") -> None:
        self.query = self.print_query = query
        self.provider = provider
        self.__post_init__()

    def __post_init__(self) -> None:
        self.path, self.suffix = self.provider.root / self.query, self.query

    def set_local_path(self, path: Path) -> None:
        self._overwrite_local_path = path

    def local_path(self) -> Path:
        return self._overwrite_local_path or self.provider.room / self.local_suffix()

    def local_suffix(self) -> str:
        return self.suffix  # as the plugin for S3, which reads the query once

    def cleanup(self) -> None: ...

    def exists(self) -> bool:
        self.provider.require_open()
        return self.path.is_file()

    def mtime(self) -> float:
        return self.path.stat().st_mtime

    def size(self) -> int:
        return self.path.stat().st_size

    def retrieve_object(self) -> None:
        self.provider.fetched.append(self.query)
        shutil.copyfile(self.path, self.local_path())

    def store_object(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.local_path(), self.path)

    async def inventory(self, cache) -> None:
        """As the plugin for S3: all that lies in the folder of the object, by local paths."""
        self.provider.require_open()
        if self.provider.waits:
            await asyncio.sleep(0)
        for path in self.path.parent.rglob("*"):
            if path.is_file():
                key = str(self.provider.room / path.relative_to(self.provider.root))
                cache.mtime[key] = Mtime(storage=path.stat().st_mtime)
                cache.size[key] = path.stat().st_size


class Folder:
    """A provider that lists nothing by itself.

    Attributes:
        root: where the objects lie.
        room: where local copies lie.
        fetched: queries of what was fetched, in order.
        closed: nothing can be read.
        waits: it lets other work run while it lists.
    """

    def __init__(self, root: Path, room: Path) -> None:
        self.root, self.room = root, room
        self.fetched: list[str] = []
        self.closed = self.waits = False

    def require_open(self) -> None:
        if self.closed:
            raise OSError("Could not connect to the endpoint")

    def get_storage_object_cls(self) -> type[File]:
        return File

    def object(self, query: str) -> File:
        return self.get_storage_object_cls()(query, self)


class ListingFolder(Folder):
    """One that has a method to list, with folders, as the plugin `fs`; queries are full paths."""

    def list_objects(self, query: str):
        self.require_open()
        return map(str, Path(query).rglob("*"))


def folder_store(folder: Path, kind: type[Folder] = Folder) -> Store:
    """An empty store in a folder, with the prefix `study/`."""
    (folder / "there").mkdir()
    provider = kind(folder / "there", folder / "room")
    prefix = f"{folder / 'there'}/study/" if kind is ListingFolder else "study/"
    return Store(provider, prefix, folder / "room" / "study")


def put(store: Store, name: str, content: bytes) -> None:
    """A file that lies in the store."""
    path = store.provider.root / "study" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


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


ROOT = Path(__file__).parents[2]


@pytest.fixture
def here(tmp_path):
    """A working folder with a table of one's own."""
    (tmp_path / "mine.csv").write_text("a\n1\n")
    with contextlib.chdir(tmp_path):
        yield tmp_path


def finished_step(store, name="results/missingness/x/graph.json", **inputs):
    """A step that has written its file, sidecar and receipt in the room."""
    store.room.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(store.room):
        paths = {key: Path(value) for key, value in inputs.items()}
        job = Job("check_afape", paths, {"checks": Path(name)}, {}, {}, 1)
        write_outputs(job, {"checks": {"a": 1}}, {"checks": b'{"a": 1}'}, input_records(job))
    return name


def test_a_file_has_one_place_in_the_store_whatever_way_it_is_named(here):
    assert workers.outside_name("mine.csv") == workers.outside_name(here / "mine.csv")
    assert workers.outside_name("./mine.csv") == workers.outside_name("mine.csv")
    assert workers.outside_name("mine.csv") != workers.outside_name("other/mine.csv")
    assert workers.outside_name(here.parent / "x.csv").endswith("/x.csv")
    assert workers.canonical(here / "mine.csv") == "mine.csv"
    assert workers.canonical(here.parent / "x.csv") == str(here.parent / "x.csv")


def test_a_sidecar_shows_a_file_from_outside_by_its_name_with_a_store_and_without(here):
    place = here / "room" / workers.outside_name("mine.csv")
    place.parent.mkdir(parents=True)
    place.write_bytes((here / "mine.csv").read_bytes())
    plain = input_records(Job("prepare_data", {"raw_0": here / "mine.csv"}, {}, {}, {}, 1))
    with contextlib.chdir("room"):
        path = Path(workers.outside_name(here / "mine.csv").removeprefix("../"))
        name = place.relative_to(here / "room")
        stored = input_records(Job("prepare_data", {"raw_0": name}, {}, {}, {}, 1))
    assert stored == plain
    assert path.name == "mine.csv"


def test_a_worker_is_told_what_the_first_process_found(here):
    told = workers.StartFacts(Path("told.json"), recall=False)
    assert told.once("raw", {"dataset": "a"}, lambda: {"raw_0": "x"}) == {"raw_0": "x"}
    told.keep()
    worker = workers.StartFacts(Path("told.json"), recall=True)
    assert worker.once("raw", {"dataset": "a"}, lambda: pytest.fail("it looks")) == {"raw_0": "x"}
    assert worker.once("raw", {"dataset": "b"}, lambda: "looked") == "looked"
    again = workers.StartFacts(Path("told.json"), recall=False)
    assert again.once("raw", {"dataset": "a"}, lambda: "new") == "new"


def test_files_that_a_config_names_are_found_at_any_depth(here):
    config = {"table": "mine.csv", "afape": {"agents": [{"file": "config/costs.yaml"}]}, "n": 1}
    found = workers.named_files(config | {"long": "x" * 5000, "folder": "."}, ROOT)
    assert found == {"mine.csv": Path("mine.csv"), "config/costs.yaml": ROOT / "config/costs.yaml"}


def test_only_small_files_are_sent(here):
    with (here / "large.csv").open("wb") as stream:
        stream.truncate(workers.LARGEST_SENT_BYTES + 1)
    config = {"a": "mine.csv", "b": "large.csv"}
    assert workers.sent_files(config, ROOT) == [Path("mine.csv")]


def test_what_no_worker_would_find_is_refused(here):
    (here / "project").mkdir()
    (here / "project/other.csv").touch()
    inside = here / "project"
    workers.require_deployable(inside, {"table": "mine.csv", "b": "other.csv"}, moved=False)
    with pytest.raises(ConfigError, match="--directory cannot be given"):
        workers.require_deployable(inside, {}, moved=True)
    with pytest.raises(ConfigError, match="the project lies outside of it"):
        workers.require_deployable(ROOT, {}, moved=False)
    with pytest.raises(ConfigError, match="allowed is a path from the working folder"):
        workers.require_deployable(inside, {"table": str(here / "mine.csv")}, moved=False)
    with contextlib.chdir(inside), pytest.raises(ConfigError, match=r"names '\.\./mine\.csv'"):
        workers.require_deployable(inside, {"table": "../mine.csv"}, moved=False)


def test_the_project_is_sent_with_what_was_compiled_and_without_tests():
    sent = {path.relative_to(ROOT).as_posix() for path in workers.project_files(ROOT)}
    assert {"Snakefile", "requirements.lock", "config.yaml", "workflow/Snakefile"} <= sent
    assert {"workflow/frugal_workers.py", "config/costs.yaml", "envs/core.yaml"} <= sent
    assert any(name.endswith(".pyc") for name in sent)
    kept = (*workers.SOURCES, *workers.SOURCE_FILES)
    assert all(name.startswith(kept) for name in sent)


def test_the_sidecars_of_all_files_behind_are_brought(tmp_path):
    store = folder_store(tmp_path)
    first = finished_step(store, "results/a/first.json")
    second = finished_step(store, "results/b/second.json", given=first)
    for name in (first, second):
        sidecar = store.room / sidecar_path(Path(name))
        put(store, sidecar.relative_to(store.room).as_posix(), sidecar.read_bytes())
        sidecar.unlink()
    store.bring_behind([second, "outside/0/mine.csv"])
    assert all((store.room / sidecar_path(Path(name))).is_file() for name in (first, second))
    assert len(store.provider.fetched) == 2


def test_a_file_comes_with_its_sidecar_and_the_last_sidecar_takes_the_receipt_along(tmp_path):
    store = folder_store(tmp_path)
    name = finished_step(store)
    (receipt,) = (store.room / "results/steps").iterdir()
    vouch(store)
    payload, sidecar = store.object(name), store.object(sidecar_path(Path(name)).as_posix())
    assert (payload.keep_local, sidecar.keep_local) == (False, True)
    payload.store_object()
    assert receipt.is_file()
    sidecar.store_object()
    assert not receipt.exists()
    assert store.object(receipt.relative_to(store.room).as_posix()).exists()
    for each in (payload, sidecar):
        each.local_path().unlink()
    payload.retrieve_object()
    assert sidecar.local_path().is_file()
    assert store.provider.fetched == [sidecar.query, payload.query]
    assert store.copy(name, tmp_path / "by itself")
    assert store.provider.fetched[2:] == [payload.query]
    payload.cleanup()
    assert not sidecar.local_path().exists()


def test_a_path_follows_constraints_of_wildcards_and_others_may_read_the_archive(tmp_path):
    store = folder_store(tmp_path)
    vouch(store)
    pattern = copy.copy(store.object("results/{name}.json"))
    pattern.query = "study/results/{name,[a-z]+}.json"
    assert pattern.local_path().name == "{name,[a-z]+}.json"
    archive = store.provider.object("snakemake-workflow-sources.0.tar.xz")
    archive.set_local_path(tmp_path / "archive")
    archive.local_path().touch(mode=0o600)
    archive.store_object()
    assert archive.local_path().stat().st_mode & 0o044


def test_a_worker_installs_nothing_and_gets_what_its_jobs_need(monkeypatch):
    settings = CommonSettings(True, True, True)
    plugins = {"kubernetes": SimpleNamespace(common_settings=settings)}
    monkeypatch.setattr(workers, "ExecutorPluginRegistry", lambda: SimpleNamespace(plugins=plugins))
    monkeypatch.setattr(workers.DAG, "get_sources", workers.DAG.get_sources)
    workers.send_with_jobs(lambda: [Path("x.csv")], beside=False)
    assert not settings.auto_deploy_default_storage_provider
    workflow = SimpleNamespace(included=[], configfiles=["config.yaml"])
    dag: Any = SimpleNamespace(workflow=workflow)
    sent = workers.DAG.get_sources(dag)
    assert sent == {"x.csv", "config.yaml"}


@pytest.mark.parametrize("group", [False, True])
def test_the_log_of_a_job_that_failed_elsewhere_is_brought(tmp_path, group):
    store = folder_store(tmp_path)
    put(store, "logs/x.log", b"frugal x: no rows\n")
    job = {"log": ["study/logs/x.log (send to storage)", "/tmp/7.log"]}
    event = LogEvent.GROUP_ERROR if group else LogEvent.JOB_ERROR
    words = {"event": event} | ({"job_error_info": [job]} if group else job)
    record = logging.makeLogRecord(words)
    assert workers._LogsHere(store).filter(record)
    said = vars(record)
    found = said["job_error_info"][0]["log"] if group else said["log"]
    assert found == [str(store.room / "logs/x.log"), "/tmp/7.log"]
    assert (store.room / "logs/x.log").read_text() == "frugal x: no rows\n"
