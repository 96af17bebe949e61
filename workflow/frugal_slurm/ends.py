"""Why a job of Slurm's ended, in words, and whether it comes again with more memory or time.

A job that failed for its own reasons fails again, with whatever it is given; one that was cancelled
was not wanted. So only lack of memory and of time are worth another try. Knows no Snakemake.
"""

import pwd
import re
from collections.abc import Sequence
from typing import NamedTuple

# What Slurm itself writes into a job's log; the job's own words do not begin so.
_OVER_MEMORY = re.compile(
    r"^(?:slurmstepd|slurmd|srun)\b[^:]*: error: .*(?:oom[-_ ]kill|out of memory|exceeded memory)",
    re.IGNORECASE | re.MULTILINE,
)
_WORDS = {
    "NODE_FAIL": "was lost with its node",
    "BOOT_FAIL": "was lost: its node did not start",
    "PREEMPTED": "had to make room for another job (preempted)",
    "DEADLINE": "did not end before its deadline",
    "REVOKED": "was taken back by Slurm (revoked)",
}


class Asked(NamedTuple):
    """What a job asked for."""

    memory_mb: object
    minutes: object


class End(NamedTuple):
    """How a job ended.

    Attributes:
        words: follow its name: `took longer than the 30 minutes that it asked for`.
        again: more of what it asked for would help.
        more: the resource that it lacked, as Snakemake names it.
        own: it failed by itself, so that its own log says why.
    """

    words: str
    again: bool = False
    own: bool = False
    more: str = ""


def end_of(state: str, steps: Sequence[str], log: str, asked: Asked) -> End:
    """Why a job ended that did not end well.

    Args:
        state: of the job.
        steps: its state and its steps', where the accounts tell them. A step can be killed for its
            memory while the job around it has only failed.
        log: what Slurm wrote of it.
        asked: what it asked for.
    """
    if state == "OUT_OF_MEMORY" or "OUT_OF_MEMORY" in steps or _OVER_MEMORY.search(log):
        words = f"took more than the {asked.memory_mb} MB of memory it asked for"
        return End(words, again=True, more="mem_mb")
    if state == "TIMEOUT":
        words = f"took longer than the {asked.minutes} minutes it asked for"
        return End(words, again=True, more="runtime")
    if state == "CANCELLED":
        return End(f"was cancelled in Slurm{_by(steps)}")
    if state in _WORDS:
        return End(_WORDS[state])
    return End("failed" if state == "FAILED" else f"ended as {state}", own=True)


def refusal(said: str) -> str:
    """What `sbatch` says of a job that it does not take, out of all that the plugin says of it."""
    found = re.search(r"The error message was '(.*?)'\.?\n", said, re.DOTALL)
    lines = (found[1] if found else said).strip().splitlines()
    return "; ".join(line.removeprefix("sbatch: ").removeprefix("error: ") for line in lines)


def _by(steps: Sequence[str]) -> str:
    """Who cancelled it, where the accounts tell."""
    found = re.search(r"^CANCELLED by (\d+)$", "\n".join(steps), re.MULTILINE)
    if not found:
        return ""
    try:
        return f" by {pwd.getpwuid(int(found[1])).pw_name}"
    except KeyError:
        return f" by user {found[1]}"
