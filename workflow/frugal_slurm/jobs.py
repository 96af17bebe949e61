"""What is asked of Snakemake's jobs: names, files, and which step of a group went wrong.

A job is a step, or a group of steps that share a submission. Reads attributes of Snakemake's jobs,
and imports none of it.
"""

import json
from pathlib import Path
from typing import Any


def steps_of(job: Any) -> list[Any]:
    """The steps of a job, by name."""
    return sorted(job.jobs, key=title) if job.is_group() else [job]


def title(step: Any) -> str:
    """A step's rule and wildcards."""
    keys = [str(value).strip("/") for value in step.wildcards_dict.values()]
    return " ".join([step.rule.name, *filter(None, keys)])  # of no portion is empty


def titles(job: Any) -> str:
    """The name of a job for people."""
    first, *others = steps_of(job)
    return title(first) + (f" and {len(others)} more" if others else "")


def outputs(job: Any) -> frozenset[str]:
    """Files that a job makes."""
    return frozenset(str(path) for step in steps_of(job) for path in step.output)


def identity(job: Any) -> str:
    """All that decides a job's files: steps, parameters, and what they read as it lies there."""
    told = [
        [title(step), list(map(str, step.params)), sorted(map(_stamp, step.input))]
        for step in steps_of(job)
    ]
    return json.dumps(told)


def _stamp(path: Any) -> tuple[str, int, int]:
    try:
        found = Path(str(path)).stat()
    except OSError:
        return str(path), -1, -1
    return str(path), found.st_size, found.st_mtime_ns


def log_of(step: Any) -> Path:
    """Where a step says what it does."""
    return Path(next((str(path) for path in step.log if str(path).endswith(".log")), "no log"))


def gone_wrong(job: Any) -> list[Any]:
    """Steps that began and did not end well; others of a group have ended, or have not begun."""
    return [step for step in steps_of(job) if log_of(step).is_file() and not _ended_well(step)]


def _ended_well(step: Any) -> bool:
    """What a step used is written at its very end, with how it ended."""
    used = next((str(path) for path in step.log if str(path).endswith(".jsonl")), None)
    if used is None:
        return False
    try:
        return (
            json.loads(Path(used).read_text(encoding="utf-8").splitlines()[-1])["ended"] == "done"
        )
    except (OSError, ValueError, LookupError, TypeError):
        return False
