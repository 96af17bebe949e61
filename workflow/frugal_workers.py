"""What jobs need beyond their rules' words where results lie in a store, and on other machines.

A step needs the sidecar of each input, which vouches for it; the sidecars of all files behind,
where it tells of them; and a place for its receipt. A worker that shares no folder gets the
project, the files that the config names, and what the first process has found out (`Told`), for it
cannot look.

Made for Snakemake 9.27, which the lock pins; tests/workflow/test_storage.py tells where another one
differs. Knows no stage.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import snakemake.api  # noqa: F401  the one module of these that can be imported first
from frugal.core.errors import ConfigError
from frugal.results.files import write_bytes
from frugal.results.receipts import receipt_file
from frugal.results.sidecars import MADE_IN, sidecar_path
from frugal.results.sources import texts_in
from frugal_store import Store
from snakemake.dag import DAG
from snakemake.io import IOFile
from snakemake.jobs import Job
from snakemake.rules import Rule
from snakemake.sourcecache import LocalSourceFile
from snakemake.spawn_jobs import SpawnedJobArgsFactory
from snakemake.workflow import Workflow

OUTSIDE = "outside"  # folder of the store for files that no job makes
SOURCES = ("workflow", "config", "docs/examples", "envs")  # folders of the project that jobs need
_STARTED_IN, _MOVED_TO = "FRUGAL_STARTED_IN", "FRUGAL_MOVED_TO"  # of the environment
LARGEST_SENT_BYTES = 10_000_000  # Snakemake sends no larger source
SOURCE_FILES = ("Snakefile", "config.yaml", "requirements.lock", "pyproject.toml")

_retrieve, _handle = DAG.retrieve_storage_inputs, DAG.handle_storage
_store_outputs = DAG.store_storage_outputs
_get_sources, _error_info = DAG.get_sources, Job.get_log_error_info
_constrain = Rule.update_wildcard_constraints
_precommand, _write_archive = SpawnedJobArgsFactory.precommand, Workflow.write_source_archive


def go_back() -> None:
    """Where the job of which this is a step has moved, go back, to move as every process does.

    A step of a job in Slurm begins in the folder that its job has moved to.
    """
    if os.environ.get(_MOVED_TO) == str(Path.cwd()):
        os.chdir(os.environ[_STARTED_IN])


def move_into(folder: Path, *, now: bool) -> None:
    """Tell the steps of this process that it moves into a folder, and move now or later."""
    os.environ[_STARTED_IN], os.environ[_MOVED_TO] = str(Path.cwd()), str(folder.resolve())
    if now:
        os.chdir(folder)


class Told:
    """What the first process has found out, for jobs on machines where there is nothing to look at.

    Args:
        path: of the file that holds it.
        recall: this is such a job's process, and takes what the file says.
    """

    def __init__(self, path: Path, *, recall: bool) -> None:
        self.path = path
        self._known = json.loads(path.read_bytes()) if recall and path.is_file() else {}
        self._found: dict[str, Any] = {}

    def once(self, name: str, of: Mapping[str, str], find: Callable[[], Any]) -> Any:
        """What was found under a name; found out now where nobody has told it.

        Args:
            name: of the question.
            of: wildcards that it is asked with.
            find: the answer, as JSON can hold it.
        """
        key = json.dumps([name, sorted(of.items())])
        if key in self._known:
            return self._known[key]
        self._found[key] = find()
        return self._found[key]

    def keep(self) -> None:
        """Write all that was found."""
        write_bytes(self.path, json.dumps(self._found).encode())


def canonical(path: str | Path) -> str:
    """A path from the working folder on where it lies below it, else the full one."""
    near = os.path.relpath(path)
    return os.path.abspath(path) if near.startswith("..") else near


def outside_name(path: str | Path) -> str:
    """Where in the store a file lies that no job makes; its own name stays, which sidecars show."""
    digest = hashlib.sha256(canonical(path).encode()).hexdigest()[:12]
    return f"{OUTSIDE}/{digest}/{PurePosixPath(path).name}"


def named_files(config: Mapping[str, Any], project: Path) -> dict[str, Path]:
    """Text of a config → the file that it names, from the working folder or from the project's."""
    texts = dict.fromkeys(texts_in(config))
    found = {text: (Path(text), project / text) for text in texts if 0 < len(text) < 1000}
    return {
        text: next(path for path in places if os.path.isfile(path))
        for text, places in found.items()
        if any(os.path.isfile(path) for path in places)
    }


def sent_files(config: Mapping[str, Any], project: Path) -> list[Path]:
    """The files that a config names, small enough to be sent to every worker."""
    found = named_files(config, project).values()
    return [path for path in found if path.stat().st_size <= LARGEST_SENT_BYTES]


def require_deployable(project: Path, config: Mapping[str, Any], *, moved: bool) -> None:
    """Refuse a start whose sources could not be sent to machines that share no folder.

    Args:
        project: the project's folder.
        config: of the run; the files that it names are sent, too.
        moved: `--directory` was given.

    Raises:
        ConfigError: names what lies where no other machine finds it.
    """
    said = (
        "with --shared-fs-usage none, workers get files of the working folder by their paths in it"
    )
    if moved:
        raise ConfigError(f"{said}; so --directory cannot be given: start in that folder")
    if canonical(project).startswith("/"):
        raise ConfigError(
            f"{said}, and the project lies outside of it, in {project}; start there, or in a "
            "folder that holds it"
        )
    for text, path in named_files(config, project).items():
        if os.path.isabs(text) or canonical(path).startswith("/"):
            raise ConfigError(
                f"{said}, and the config names {text!r}; allowed is a path from the working folder "
                "or the project on, without .. or a leading /"
            )


def project_files(project: Path) -> Iterator[Path]:
    """The files of the project that a job needs, with what Python and numba have compiled."""
    yield from (project / name for name in SOURCE_FILES if (project / name).is_file())
    for folder in SOURCES:
        for path in sorted((project / folder).rglob("*")):
            if path.is_file() and ".egg-info/" not in path.as_posix():
                yield path


@dataclass(frozen=True)
class Served:
    """One workflow, or one module of another one, whose results lie in a store.

    Attributes:
        store: where they lie.
        owns: whether a job is of it.
        tells_all: whether a job reads the sidecars of all files behind its inputs.
        sources: files that its jobs need.
    """

    store: Store
    owns: Callable[[Any], bool]
    tells_all: Callable[[Any], bool]
    sources: Callable[[], Iterable[Path]]


_served: list[Served] = []


def serve(one: Served, *, beside: bool) -> None:
    """Teach Snakemake what jobs need beyond their rules' words.

    Args:
        one: the workflow.
        beside: it is one module among others.
    """
    if not beside:
        _served.clear()
    _served.append(one)
    dag_class: Any = DAG
    job_class: Any = Job
    arguments: Any = SpawnedJobArgsFactory
    rule_class: Any = Rule
    workflow_class: Any = Workflow
    dag_class.retrieve_storage_inputs = _retrieve_with_sidecars
    dag_class.handle_storage = _store_with_receipt
    dag_class.store_storage_outputs = _store_with_receipts
    dag_class.get_sources = _own_sources if not beside else _further_sources
    job_class.get_log_error_info = _with_its_log
    arguments.precommand = _install_nothing
    rule_class.update_wildcard_constraints = _constrain_local_paths
    workflow_class.write_source_archive = _write_readable


def _of(job: Any) -> Served | None:
    return next((one for one in _served if one.owns(job)), None)


async def _retrieve_with_sidecars(dag: DAG, jobs: Iterable[Any], **words: Any) -> None:
    """Before jobs run: their inputs, and what vouches for these."""
    asked = list(jobs)
    await _retrieve(dag, asked, **words)
    for job in (one for group in asked for one in (group.jobs if group.is_group() else [group])):
        one = _of(job)
        if one is not None and not job.is_norun:
            names = _names(one.store, job.input)
            for name in names:
                _bring_sidecar(one.store, name)
            if one.tells_all(job):
                bring_behind(one.store, names)


def bring_behind(store: Store, names: Iterable[str]) -> None:
    """Bring the sidecar of every file from which these were made, back to the raw data."""
    seen, waiting = set(), list(names)
    while waiting:
        name = waiting.pop()
        if name in seen or not name.startswith("results/"):
            continue
        seen.add(name)
        if sidecar := _bring_sidecar(store, name):
            records = json.loads(sidecar.read_bytes())["inputs"]
            waiting += [record["path"] for record in records]


def _names(store: Store, files: Iterable[Any]) -> list[str]:
    """Files of the store by their paths from the room on."""
    paths = (Path(file) for file in files if file.is_storage)
    return [p.relative_to(store.room).as_posix() for p in paths if p.is_relative_to(store.room)]


def _bring_sidecar(store: Store, name: str) -> Path | None:
    """The sidecar of a file that a step has made, in the room; None where there is none."""
    if Path(name).parts[0] not in MADE_IN:
        return None
    sidecar = sidecar_path(Path(name))
    path = store.room / sidecar
    return path if store.refresh(sidecar.as_posix(), path) else None


async def _store_with_receipt(dag: DAG, job: Any, **words: Any) -> None:
    """After a job of this process: its outputs and its receipt; then the room is tidied."""
    one = _of(job)
    if one is None:
        await _handle(dag, job, **words)
        return
    store = one.store
    ended = words.get("store_in_storage", True) and not words.get("store_only_log")
    receipt = receipt_name(store, job.output) if ended and dag.workflow.is_main_process else None
    await _handle(dag, job, **words)
    _put_receipt(store, receipt)
    if not dag.workflow.keep_storage_local_at_runtime:
        for name in _names(store, job.input):
            if not (store.room / name).exists():
                (store.room / sidecar_path(Path(name))).unlink(missing_ok=True)


async def _store_with_receipts(dag: DAG) -> None:
    """At the end of a worker: what its jobs have made, and their receipts."""
    await _store_outputs(dag)
    if dag.workflow.remote_exec:
        for job in dag.needrun_jobs(exclude_finished=False):
            one = _of(job)
            if one is not None and dag.finished(job):
                _put_receipt(one.store, receipt_name(one.store, job.output))


def _put_receipt(store: Store, receipt: str | None) -> None:
    """A receipt, which no rule can name, into the store."""
    if receipt is not None and (store.room / receipt).is_file():
        store.put(receipt, store.room / receipt)
        (store.room / receipt).unlink()


def receipt_name(store: Store, outputs: Iterable[Any]) -> str | None:
    """Where a finished job's receipt lies, from the room on; None where it leaves none."""
    for name in _names(store, outputs):
        sidecar = store.room / sidecar_path(Path(name))
        if sidecar.is_file():
            document = json.loads(sidecar.read_bytes())
            made = {Path(p): sidecar_path(Path(p)) for p in document["outputs"].values()}
            kept = receipt_file(document["stage"], made, document["environment"])
            return next((path.as_posix() for path in kept), None)
    return None


def _with_its_log(job: Any, *args: Any, **words: Any) -> Any:
    """What is told of a failed job: its log is brought here, where it ran elsewhere."""
    told: dict[str, Any] = _error_info(job, *args, **words)
    if one := _of(job):
        for name in _names(one.store, job.log):
            if not (one.store.room / name).is_file():
                one.store.copy(name, one.store.room / name)
        told["log"] = [*map(str, job.log), *(words.get("aux_logs") or ())]
    return told


def _own_sources(dag: DAG) -> set[str]:
    """What is sent to workers: the rules, the config files, what a job needs."""
    found = [f.get_path_or_uri(secret_free=True) for f in dag.workflow.included
             if isinstance(f, LocalSourceFile)]  # fmt: skip
    found += [*map(str, dag.workflow.configfiles)]
    found += [str(path) for one in _served for path in one.sources()]
    return {os.path.relpath(path) for path in found}


def _further_sources(dag: DAG) -> set[str]:
    """The same where other rules stand beside: what Snakemake itself would send, too."""
    return _own_sources(dag) | set(_get_sources(dag))


def _install_nothing(arguments: Any, executor_common_settings: Any, **words: Any) -> str:
    """What a worker does before its job; storage plugins it has, by hash, and installs none."""
    settings = replace(executor_common_settings, auto_deploy_default_storage_provider=False)
    return _precommand(arguments, executor_common_settings=settings, **words)


def _write_readable(workflow: Any, path: Path) -> None:
    """What is sent, readable by whom the results are: a temporary file is for its owner alone."""
    _write_archive(workflow, path)
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)


def _constrain_local_paths(rule: Any) -> None:
    """Hold wildcards of outputs to what they may be; a plugin that keeps a path does not notice."""
    _constrain(rule)
    for k, item in enumerate(rule.output):
        if item.is_storage:
            old = item.storage_object
            new = type(old)(
                query=old.query, provider=old.provider, keep_local=old.keep_local,
                retrieve=old.retrieve,
            )  # fmt: skip
            rule.output[k] = IOFile(new.local_path(), rule=rule)
            rule.output[k].clone_flags(item, skip_storage_object=True)
            rule.output[k].flags["storage_object"] = new
