"""Files from their publishers, held to a size, a time and a digest while they arrive.

Downloads are held in memory only: however the program ends, no wrong bytes are left on the disk.
"""

import hashlib
import http.client
import io
import signal
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from frugal.core.errors import DataError
from frugal.core.schema_check import printable
from frugal.data.raw import verify_content

LARGEST_BYTES = 1_000_000_000  # of a file whose description gives no size: it is held in memory
_CHUNK_BYTES = 1 << 20
_SCHEMES = ("http", "https")


class _OnlyHttp(urllib.request.HTTPRedirectHandler):
    """Follows a publisher to another address of the web only."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if urllib.parse.urlsplit(newurl).scheme not in _SCHEMES:
            message = f"it redirects to {newurl!r}; only http and https are followed"
            raise urllib.error.HTTPError(req.full_url, code, message, headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = urllib.request.build_opener(_OnlyHttp)


def downloaded_bytes(
    url: str,
    *,
    expected_sha256: str | None,
    timeout_seconds: float,
    total_seconds: float,
    expected_content_sha256: str | None = None,
    expected_bytes: int | None = None,
) -> bytes:
    """Bytes of a publisher's file, after its size and digests are verified.

    Args:
        url: address of the file.
        expected_sha256: digest of the file; None accepts any.
        timeout_seconds: longest silence of the publisher.
        total_seconds: longest time from the first word to the last byte.
        expected_content_sha256: digest of the unpacked content; None accepts any.
        expected_bytes: size of the file; None accepts up to `LARGEST_BYTES`.

    Raises:
        DataError: the publisher cannot be reached, is too slow, sends too much, or sends other
            bytes (an error page, for example). Reading stops at the first byte too many.
    """
    shown = printable(url, at_most=150) or "''"
    try:
        if urllib.parse.urlsplit(url).scheme not in _SCHEMES:
            raise DataError(f"{shown} cannot be downloaded: allowed are http and https addresses")
        with (
            _at_most(total_seconds) as require_time,
            _OPENER.open(url, timeout=timeout_seconds) as response,
        ):
            content = _received(shown, response, expected_bytes, require_time)
    except DataError:
        raise
    # an address that is none, here or in a redirection, is a ValueError of several kinds
    except (OSError, http.client.HTTPException, ValueError, OverflowError) as error:
        reason = printable(" ".join(str(error).split()), at_most=120)  # some have several lines
        raise DataError(
            f"{shown} cannot be downloaded ({reason}); get the file by other means and set "
            "data_mirror to the folder that holds it"
        ) from None
    digest = hashlib.sha256(content).hexdigest()
    if expected_sha256 is not None and digest != expected_sha256:
        raise DataError(
            f"{shown} sent {len(content)} bytes with SHA-256 {digest}, but "
            f"{expected_sha256} is expected; the file may have moved, or a page came instead"
        )
    verify_content(shown, expected_content_sha256, content)
    return content


def _received(url: str, response: Any, expected_bytes: int | None, require_time: Any) -> bytes:
    """All bytes of a response, of which there must be as many as announced and as expected."""
    length = response.headers.get("Content-Length") or ""
    announced = int(length) if length.isdecimal() and len(length) < 20 else None
    limit = LARGEST_BYTES if expected_bytes is None else expected_bytes
    if announced is not None and announced > limit:
        raise DataError(_too_much(url, f"announces {announced} bytes", expected_bytes))
    content = io.BytesIO()
    while chunk := response.read1(_CHUNK_BYTES):
        content.write(chunk)
        if content.tell() > limit:
            raise DataError(_too_much(url, f"sends more than {limit} bytes", expected_bytes))
        require_time()
    if announced is not None and content.tell() < announced:
        raise OSError(f"it ended after {content.tell()} of {announced} bytes")
    if expected_bytes is not None and content.tell() < expected_bytes:
        raise DataError(
            f"{url} sent {content.tell()} bytes, but {expected_bytes} bytes are expected; the file "
            "may have moved, or a page came instead"
        )
    return content.getvalue()


def _too_much(url: str, excess: str, expected_bytes: int | None) -> str:
    if expected_bytes is not None:
        return (
            f"{url} {excess}, but {expected_bytes} bytes are expected; the file may have moved, or "
            "a page came instead"
        )
    return (
        f"{url} {excess}, but at most {LARGEST_BYTES} are taken where the data set's YAML does not "
        "state how many; if it is the right file, write 'bytes' under its name there, or get the "
        "file by other means and set data_mirror to the folder that holds it"
    )


@contextmanager
def _at_most(seconds: float) -> Iterator[Any]:
    """A function that refuses to go on after so many seconds; in the main thread an alarm, too.

    The alarm alone ends a publisher that sends one byte of a header a minute.
    """
    end = time.monotonic() + seconds
    late = TimeoutError(f"it took longer than {seconds:g} seconds in all")

    def require_time(*_: Any) -> None:
        if time.monotonic() >= end:
            raise late

    if threading.current_thread() is not threading.main_thread():
        yield require_time
        return
    former = signal.signal(signal.SIGALRM, require_time)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again, where the first comes early
    try:
        yield require_time
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
