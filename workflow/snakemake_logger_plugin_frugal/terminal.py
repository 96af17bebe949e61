"""What Snakemake prints in a terminal: a line a step with its place, and the failing sentence last.

A dry run prints its table of jobs alone; with `-p`, each job and its command. `--verbose`, a
profile or an executor that is named, and the environment variable `FRUGAL_TERMINAL=snakemake` give
Snakemake's own words. Its file under `.snakemake/log/` always has them.
"""

import logging
import os
import re
import sys
import time
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from snakemake.logging import get_event, logger
from snakemake_interface_logger_plugins.common import LogEvent

_OWN_WORDS = re.compile(
    r"^(-n|--dry-?run|--verbose|-e|--executor|--profile|--mode|--lint|-l|--list)\b"
)
_DRY = re.compile(r"^(-n|--dry-?run)$")
_EACH_JOB = re.compile(r"^(-n?pn?|--printshellcmds)$")
_OF_EACH_JOB = (LogEvent.WORKFLOW_STARTED, LogEvent.JOB_INFO, LogEvent.SHELLCMD)
_MOST_ROWS = 25  # of the table of jobs, before it has two columns
_QUIET = (
    "Using workflow specific profile",
    "Config file ",
    "Assuming unrestricted shared",
    "Building DAG",
    "Using shell",
    "Provided ",
    "Rules claiming more threads",
    "Conda environments",
    "Select jobs to execute",
    "Execute ",
    "Finished job",
    "Removing temporary output",
    "Shutting down, this",
    "Exiting because a job",
    "Complete log(s):",
    "Job stats:",
)
_AFTER_A_FAILURE = ("Exiting because a job", "WorkflowError:\nAt least one job did not complete")
_REPEATED = "RuleException:\nCalledProcessError"  # the job's own words follow
_DROPPED = (
    LogEvent.WORKFLOW_STARTED,
    LogEvent.RUN_INFO,
    LogEvent.SHELLCMD,
    LogEvent.PROGRESS,
    LogEvent.JOB_STARTED,
    LogEvent.RESOURCES_INFO,
    LogEvent.DEBUG_DAG,
    LogEvent.RULEGRAPH,
)
_SNAKEMAKES = "DefaultStreamHandler"  # the name of its handler of the terminal
_LONG_S = 30.0
_SENTENCE = re.compile(r"^frugal [\w ]+: .+", re.MULTILINE)
_LAST_LINES = 12


def last_message(log: Path) -> str:
    """What a stage said of its mistake; the last lines of its log where it said none."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = _SENTENCE.findall(text)
    return str(found[-1]) if found else "\n".join(text.splitlines()[-_LAST_LINES:])


class Terse(logging.Formatter):
    """A line a step; a failing job's sentence when it fails, and all of them at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.total = 0
        self.begun: dict[int, tuple[str, float, list[str]]] = {}
        self.failed: list[str] = []

    def format(self, record: logging.LogRecord) -> str:
        """The words for a record; none if it is not shown."""
        event, fields = get_event(record), vars(record)
        if event in _DROPPED:
            if event == LogEvent.RUN_INFO:
                self.total = _total(fields)
            return ""
        if event == LogEvent.JOB_INFO:
            return self._begun(fields)
        if event == LogEvent.JOB_FINISHED:
            return self._finished(fields)
        if event == LogEvent.JOB_ERROR:
            return self._failed(fields)
        text = str(record.msg or "")
        if text.startswith("Complete log(s):"):
            return f"Log of the run: {text.partition(': ')[2]}"
        if text.startswith("Elapsed time:"):
            return "\n".join([text, *self.failed])
        if text.startswith(_REPEATED) or (self.failed and text.startswith(_AFTER_A_FAILURE)):
            return ""
        return "" if text.startswith(_QUIET) and record.levelno < logging.WARNING else text

    def _begun(self, fields: Mapping[str, Any]) -> str:
        keys = [str(value).strip("/") for value in dict(fields["wildcards"] or {}).values()]
        name = " ".join([str(fields["rule_name"]), *filter(None, keys)])  # of no portion is empty
        logs = [str(log) for log in fields["log"] or () if str(log).endswith(".log")]
        self.begun[fields["jobid"]] = (name, time.monotonic(), logs)
        place = f"[{len(self.begun):>{len(str(self.total))}} of {self.total}]"
        return f"{place} {name}{f'  ({logs[0]})' if logs else ''}"

    def _finished(self, fields: Mapping[str, Any]) -> str:
        name, start, logs = self.begun.get(
            fields.get("job_id", fields.get("jobid", -1)), ("", time.monotonic(), [])
        )
        words = [line for log in logs for line in _remarks(Path(log))]
        took = time.monotonic() - start
        if took >= _LONG_S:
            words.append(f"    {name} took {took // 60:.0f} min {took % 60:.0f} s")
        return "\n".join(words)

    def _failed(self, fields: Mapping[str, Any]) -> str:
        name = self.begun.get(fields["jobid"], (str(fields["rule_name"]), 0.0, []))[0]
        messages = [
            last_message(Path(log)) for log in fields["log"] or () if str(log).endswith(".log")
        ]
        words = "\n".join(filter(None, messages)) or "it left no words"
        logs = ", ".join(str(log) for log in fields["log"] or () if str(log).endswith(".log"))
        self.failed.append(f"\nFailed: {name}\n{words}\n(all of it: {logs})")
        return f"    {name} failed"


def _remarks(log: Path) -> list[str]:
    """What a step that is finished has to say of its data, a line each."""
    if not log.is_file():
        return []
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if line.startswith("Frugal: ")]


def _total(fields: Mapping[str, Any]) -> int:
    """Number of steps, from what Snakemake says before the first."""
    found = re.search(r"^total\s+(\d+)", str(fields.get("msg", "")), re.MULTILINE)
    return int(found[1]) if found else int((fields.get("stats") or {}).get("total", 0))


class Lines(logging.StreamHandler):
    """Records that have words, each from the start of a line."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the words of a record, if there are any."""
        words = self.format(record)
        if words:
            self.stream.write(f"{words}\n")
            self.flush()


class _Planned(logging.Filter):
    """Of a dry run the table of jobs, once and two abreast, and sentences."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is shown."""
        text = str(record.msg or "")
        if text.startswith("Job stats:"):
            self.tables += 1
            *head, names = re.split(r"(?<=-\n)", text.rstrip(), maxsplit=1)
            rows, width = names.split("\n"), len(names.partition("\n")[0])
            half = -(-len(rows) // 2)
            pairs = zip_longest(rows[:half], rows[half:], fillvalue="")
            if len(rows) > _MOST_ROWS:
                record.msg = "".join(head) + "\n".join(f"{a:<{width}}    {b}" for a, b in pairs)
        again = text.startswith("Job stats:") and self.tables > 1
        return get_event(record) not in _OF_EACH_JOB and not again and "Reasons:" not in text


def speak_tersely() -> None:
    """Put these words in the place of Snakemake's on the terminal of this run.

    Called by the Snakefile of a workflow that wants them; by logging's documented means.
    """
    if os.environ.get("FRUGAL_TERMINAL") == "snakemake":
        return
    snakemakes = [one for one in logger.handlers if one.name == _SNAKEMAKES]
    own = [word for word in sys.argv[1:] if _OWN_WORDS.match(word)]
    if own and all(map(_DRY.match, own)) and not any(map(_EACH_JOB.match, sys.argv[1:])):
        for handler in snakemakes:
            handler.addFilter(_Planned())
    if own:
        return
    for before in snakemakes:
        lines = Lines(before.stream if isinstance(before, logging.StreamHandler) else sys.stderr)
        for kept in before.filters:
            lines.addFilter(kept)
        lines.setFormatter(Terse())
        logger.removeHandler(before)
        logger.addHandler(lines)
