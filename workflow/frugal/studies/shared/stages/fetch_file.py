"""Stage `fetch_file`: a raw file from its publisher, refused unless its SHA-256 is as declared."""

from collections.abc import Callable, Mapping
from typing import Any

from frugal.core.streams import Streams
from frugal.data.downloads import downloaded_bytes

TIMEOUT_SECONDS = 60.0  # of silence
TOTAL_SECONDS = 3600.0


def fetch_file(
    *, settings: Mapping[str, Any], streams: Streams, progress: Callable[..., Any]
) -> dict[str, bytes]:
    """Download, verify, hand on the bytes."""
    del streams, progress
    content = downloaded_bytes(
        settings["url"],
        expected_sha256=settings["sha256"],
        expected_content_sha256=settings.get("content_sha256"),
        expected_bytes=settings.get("bytes"),
        timeout_seconds=TIMEOUT_SECONDS,
        total_seconds=TOTAL_SECONDS,
    )
    return {"file": content}
