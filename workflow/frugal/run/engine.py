"""Runs the workflow in a folder by Snakemake's Python interface, for programs.

It runs in a process of its own: the workflow adapts Snakemake there and works in the folder, which
must not reach the program around it, and in a notebook an event loop runs already. Progress goes to
stderr; a refusal comes back as an exception with the same sentence.
"""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from frugal.core.declarations import PACKAGE, PROJECT
from frugal.core.errors import ConfigError, DataError, FrugalError, extras_named

_ERRORS = {error.__name__: error for error in (ConfigError, DataError, FrugalError)}
_REFUSED = "Frugal cannot start: "


def run_workflow(config: Mapping[str, Any], folder: Path, target: str, cores: int) -> None:
    """Run the workflow in a folder until a target is there.

    Raises:
        FrugalError: it cannot start, or a stage refuses or breaks off.
    """
    request = {"config": config, "folder": str(folder), "target": target, "cores": cores}
    paths = filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH")))
    done = subprocess.run(
        [sys.executable, "-P", "-m", __name__],
        input=json.dumps(request),
        text=True,
        stdout=subprocess.PIPE,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    if done.returncode == 0:
        return
    try:
        kind, sentence = json.loads(done.stdout)
    except ValueError:
        raise FrugalError(f"the workflow broke off (exit {done.returncode})") from None
    raise _ERRORS[kind](sentence)


class _Sentences(logging.Handler):
    """Logs of the jobs that failed."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Read the log of a job that failed."""
        from snakemake.logging import get_event
        from snakemake_interface_logger_plugins.common import LogEvent
        from snakemake_logger_plugin_frugal.terminal import last_message

        if get_event(record) == LogEvent.JOB_ERROR:
            logs = [Path(log) for log in vars(record)["log"] or () if str(log).endswith(".log")]
            self.found += filter(None, map(last_message, logs))


@extras_named("a run in a folder")
def _execute(config: dict[str, Any], folder: str, target: str, cores: int) -> None:
    """Start Snakemake here."""
    from snakemake.api import SnakemakeApi
    from snakemake.exceptions import LockException
    from snakemake.logging import logger
    from snakemake.scheduling.greedy import SchedulerSettings
    from snakemake.settings import types as settings
    from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

    sentences = _Sentences()
    output = settings.OutputSettings(log_handler_settings={"frugal": LogHandlerSettingsBase()})
    with SnakemakeApi(output) as api:
        logger.addHandler(sentences)
        try:
            workflow = api.workflow(
                resource_settings=settings.ResourceSettings(cores=cores),
                config_settings=settings.ConfigSettings(config=config, config_args=()),  # type: ignore[arg-type]
                snakefile=PROJECT / "workflow" / "Snakefile",
                workdir=Path(folder),
            )
            workflow.dag(
                settings.DAGSettings(targets={target}, force_incomplete=True)
            ).execute_workflow(
                scheduling_settings=settings.SchedulingSettings(scheduler="greedy"),
                scheduler_settings=SchedulerSettings(),
            )
        except SystemExit as end:
            raise ConfigError(str(end.code).removeprefix(_REFUSED)) from None
        except LockException:
            locks = {str(lock.parent) for lock in Path(folder).rglob(".snakemake/locks/*.lock")}
            raise FrugalError(
                f"another run works in {folder}; wait for its end, or, if none does, delete "
                f"{' and '.join(sorted(locks))}"
            ) from None
        except Exception as error:
            if not sentences.found:
                api.print_exception(error)
                raise FrugalError(f"Snakemake broke off: {error}") from None
            words = sentences.found[0]
            stage, mark, refusal = words.partition(": ")
            if mark and stage.startswith("frugal ") and "\n" not in words:
                raise DataError(refusal) from None
            raise FrugalError("a stage failed; its output:", *words.splitlines()) from None


def _main() -> int:
    """Read a request from stdin; the error, if there is one, goes to stdout as JSON."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        _execute(**json.load(sys.stdin))
    except FrugalError as error:
        with answer:
            json.dump([type(error).__name__, str(error)], answer)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
