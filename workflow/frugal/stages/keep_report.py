"""Stage `keep_report`: the finished report, put in place with a sidecar, so that an edit shows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from frugal.contracts import Streams


def keep_report(
    *, page: Path, settings: Any, streams: Streams, progress: Callable[..., Any]
) -> dict[str, bytes]:
    """Hand on the bytes of the page."""
    del settings, streams, progress
    return {"report": page.read_bytes()}
