"""What jobs on other machines get: the project, the files that a config names, what was found out.

A worker that shares no folder gets what the first process has found out (`StartFacts`): it cannot
look. Made for Snakemake 9.27, which the lock pins; tests/unit/test_replaced.py fails where another
one differs. Knows no stage.
"""

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import snakemake.api  # noqa: F401  the one module of these that can be imported first
from frugal.core.errors import ConfigError
from frugal.results.files import write_bytes
from frugal.results.sources import texts_in
from frugal_store import Store
from snakemake.dag import DAG
from snakemake.logging import get_event, logger
from snakemake.sourcecache import LocalSourceFile
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry
from snakemake_interface_logger_plugins.common import LogEvent

OUTSIDE = "outside"  # folder of the store for files that no job makes
SOURCES = ("workflow", "config", "docs/examples", "envs")  # folders of the project that jobs need
_STARTED_IN, _MOVED_TO = "FRUGAL_STARTED_IN", "FRUGAL_MOVED_TO"  # of the environment
LARGEST_SENT_BYTES = 10_000_000  # Snakemake sends no larger source
SOURCE_FILES = ("Snakefile", "config.yaml", "requirements.lock", "pyproject.toml")

_get_sources = DAG.get_sources
_sources: list[Callable[[], Iterable[Path]]] = []


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


class StartFacts:
    """What the first process has found out, for jobs on machines where there is nothing to look at.

    Args:
        path: of the file that holds it.
        recall: this is such a job's process, and reads the file.
    """

    def __init__(self, path: Path, *, recall: bool) -> None:
        self.path = path
        self._stored = json.loads(path.read_bytes()) if recall and path.is_file() else {}
        self._new: dict[str, Any] = {}

    def once(self, name: str, of: Mapping[str, str], find: Callable[[], Any]) -> Any:
        """The stored answer to a question; found out now where none is stored.

        Args:
            name: of the question.
            of: wildcards of the question.
            find: the answer, as JSON can hold it.
        """
        key = json.dumps([name, sorted(of.items())])
        if key in self._stored:
            return self._stored[key]
        self._new[key] = find()
        return self._new[key]

    def keep(self) -> None:
        """Write all answers found here."""
        write_bytes(self.path, json.dumps(self._new).encode())


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
    reason = (
        "with --shared-fs-usage none, workers get files of the working folder by their paths in it"
    )
    if moved:
        raise ConfigError(f"{reason}; so --directory cannot be given: start in that folder")
    if canonical(project).startswith("/"):
        raise ConfigError(
            f"{reason}, and the project lies outside of it, in {project}; start there, or in a "
            "folder that holds it"
        )
    for text, path in named_files(config, project).items():
        if os.path.isabs(text) or canonical(path).startswith("/"):
            raise ConfigError(
                f"{reason}, and the config names {text!r}; allowed is a path from the working "
                "folder or the project on, without .. or a leading /"
            )


def project_files(project: Path) -> Iterator[Path]:
    """The files of the project that a job needs, with what Python and numba have compiled."""
    yield from (project / name for name in SOURCE_FILES if (project / name).is_file())
    for folder in SOURCES:
        for path in sorted((project / folder).rglob("*")):
            if path.is_file() and ".egg-info/" not in path.as_posix():
                yield path


def send_with_jobs(sources: Callable[[], Iterable[Path]], *, beside: bool) -> None:
    """Send these files to workers, with the rules and the config files, and install nothing there.

    Snakemake itself would send what git has of the working folder, without what was compiled.

    Args:
        sources: files that jobs need.
        beside: the workflow is a module; what Snakemake would send for the others goes, too.
    """
    if not beside:
        _sources.clear()
    _sources.append(sources)
    dag_class: Any = DAG
    dag_class.get_sources = _further_sources if beside else _own_sources
    for executor in ExecutorPluginRegistry().plugins.values():
        executor.common_settings.auto_deploy_default_storage_provider = False  # they have it


def _own_sources(dag: DAG) -> set[str]:
    """What is sent to workers: the rules, the config files, what a job needs."""
    found = [
        f.get_path_or_uri(secret_free=True)
        for f in dag.workflow.included
        if isinstance(f, LocalSourceFile)
    ]
    found += [*map(str, dag.workflow.configfiles)]
    found += [str(path) for sources in _sources for path in sources()]
    return {os.path.relpath(path) for path in found}


def _further_sources(dag: DAG) -> set[str]:
    """The same where other rules stand beside: what Snakemake itself would send, too."""
    return _own_sources(dag) | set(_get_sources(dag))


class _LogsHere(logging.Filter):
    """Brings the log of a job that failed elsewhere before the terminal shows it."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store

    def filter(self, record: logging.LogRecord) -> bool:
        """True: every record goes on."""
        if get_event(record) in (LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR):
            for job in (vars(record), *(vars(record).get("job_error_info") or ())):
                if job.get("log"):
                    job["log"] = [self._brought(str(log)) for log in job["log"]]
        return True

    def _brought(self, log: str) -> str:
        prefix = self.store.shown("x").removesuffix("x")
        name = log.removesuffix(" (send to storage)").removeprefix(prefix)
        here = self.store.room / name
        if name != log and not here.is_file():
            self.store.copy(name, here)
        return log if name == log else str(here)


def show_logs_of(store: Store) -> None:
    """Have Snakemake show the logs of failed jobs, which lie in a store."""
    logger.addFilter(_LogsHere(store))
