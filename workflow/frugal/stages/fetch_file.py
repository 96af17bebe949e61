"""Stage `fetch_file`: a raw file from its publisher, refused unless its SHA-256 is as declared."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from frugal.contracts import Streams
from frugal.data.raw import download_file

TIMEOUT_SECONDS = 60.0


def fetch_file(
    *, settings: Mapping[str, Any], streams: Streams, progress: Callable[..., Any]
) -> dict[str, bytes]:
    """Download, verify, hand on the bytes."""
    del streams, progress
    with tempfile.TemporaryDirectory() as folder:
        path = download_file(
            settings["url"],
            Path(folder, "file"),
            expected_sha256=settings["sha256"],
            expected_content_sha256=settings.get("content_sha256"),
            timeout_seconds=TIMEOUT_SECONDS,
        )
        return {"file": path.read_bytes()}
