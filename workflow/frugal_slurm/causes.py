"""Why jobs failed, kept until the end and printed last, after all that Snakemake says.

What a step says of its own mistake stands in its log; `said_last` finds it, for the terminal too.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

_SENTENCE = re.compile(r"^frugal [\w ]+: .+", re.MULTILINE)
_LAST_LINES, _MOST = 12, 10


def said_last(log: Path) -> str:
    """What a stage said of its mistake; the last lines of its log where it said none."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = _SENTENCE.findall(text)
    return str(found[-1]) if found else "\n".join(text.splitlines()[-_LAST_LINES:])


def cause(
    names: Sequence[str], tries: Sequence[str], logs: Sequence[Path], own: Sequence[str]
) -> str:
    """What is said last of a job that failed: its steps, where all of it stands, and why.

    Args:
        names: of the steps that went wrong.
        tries: how each try ended, in words.
        logs: of these steps, and Slurm's.
        own: what they said themselves; it takes the place of the words for the last try.
    """
    where = f" (all of it: {', '.join(map(str, logs))})" if logs else ""
    why = [*tries[:-1], *own] if own else tries
    return "\n".join([f"\nFailed: {'; '.join(names)}{where}", *why])


class Causes:
    """Causes by job; a job that ended well after all has none."""

    def __init__(self) -> None:
        self._words: dict[object, str] = {}

    def keep(self, job: object, words: str) -> None:
        """The latest cause is the one that is told."""
        self._words[job] = words

    def forget(self, job: object) -> None:
        """It ended well."""
        self._words.pop(job, None)

    def text(self) -> str:
        """All causes, at most ten in full; nothing if there are none."""
        words = list(self._words.values())
        more = [f"\n{len(words) - _MOST} more failed"] if len(words) > _MOST else []
        return "\n".join([*more, *words[:_MOST]])

    def tell(self) -> None:
        """Print them."""
        if words := self.text():
            print(words, file=sys.stderr, flush=True)
