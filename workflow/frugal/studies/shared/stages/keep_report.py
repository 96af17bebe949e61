"""Stage `keep_report`: the finished report, put in place with a sidecar, so that an edit shows."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from frugal.core.streams import Streams

# Snakemake writes what it knows of the run into the page's scripts, a line each
_TOLD = re.compile(rb"^(\s*var \w+ = )([\[{\"].*)(;\s*)$", re.MULTILINE)


def keep_report(
    *, page: Path, settings: Any, streams: Streams, progress: Callable[..., Any]
) -> dict[str, bytes]:
    """Hand on the page, in which no name can end a script and begin another."""
    del settings, streams, progress
    return {"report": _TOLD.sub(_without_tags, page.read_bytes())}


def _without_tags(line: re.Match[bytes]) -> bytes:
    """The line with `<` spelt as in JSON, if it is JSON; scripts of the page itself stay."""
    try:
        json.loads(line[2])
    except ValueError:
        return line[0]
    return line[1] + line[2].replace(b"<", rb"\u003c") + line[3]
