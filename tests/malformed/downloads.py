"""What a publisher sends, and what is no publisher; a server of this machine plays them all."""

import hashlib
import json
import threading
from collections.abc import Iterator
from functools import cache, partial
from http.server import ThreadingHTTPServer
from typing import Any

from frugal.answer.stages import data as stage

from tests.malformed.cases import Case, command
from tests.unit.test_downloads import CONTENT, Publisher

GROUP = "Downloads: what a publisher sends"
RAW = {
    "no-http": b"\0\1\2 this is no answer of a web server\r\n\r\n",
    "nothing-at-all": b"",
    "no-number": b"HTTP/1.0 abc OK\r\n\r\n" + CONTENT,
    "negative-length": b"HTTP/1.0 200 OK\r\nContent-Length: -5\r\n\r\n" + CONTENT[:-1],
    "word-length": b"HTTP/1.0 200 OK\r\nContent-Length: all\r\n\r\n" + CONTENT[:-1],
    "digits-length": b"HTTP/1.0 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\nx",
    "headers": b"HTTP/1.0 200 OK\r\n" + b"X: y\r\n" * 5000 + b"\r\n",
    "long-header": b"HTTP/1.0 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
    "wrong-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n",
    "negative-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc\r\n0\r\n",
    "cut-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc",
    "to-bracket": b"HTTP/1.0 302 Found\r\nLocation: http://[\r\nContent-Length: 0\r\n\r\n",
    "to-letters": b"HTTP/1.0 302 Found\r\nLocation: /\xe4\xf6\r\nContent-Length: 0\r\n\r\n",
    "to-nowhere": b"HTTP/1.0 302 Found\r\nContent-Length: 0\r\n\r\n",
    "too-many": b"HTTP/1.0 429 Too Many Requests\r\n\r\n",
    "login": b"HTTP/1.0 401 Unauthorized\r\nWWW-Authenticate: Basic\r\n\r\n",
}


class _Publisher(Publisher):
    """Those of `test_downloads`, and answers byte by byte."""

    def do_GET(self) -> None:
        if (kind := self.path.strip("/")) in RAW:
            self.wfile.write(RAW[kind])
        elif kind.startswith("%"):
            self.send_error(404)
        else:
            super().do_GET()


@cache
def _address() -> str:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Publisher)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def _fetch(kind: str, **changes: Any) -> str:
    """The command `fetch_file`, with the digest of the right content."""
    url = kind if kind == "" or ":" in kind or kind.startswith("/") else f"{_address()}/{kind}"
    digest = hashlib.sha256(CONTENT).hexdigest()
    settings = {"url": url, "sha256": digest, "content_sha256": None} | changes
    words = ["fetch_file", "--seed", "0", "--settings", json.dumps(settings)]
    return command(*words, "--output", "file=results/raw/dataset=a/a.csv")


def _in_a_second(kind: str) -> str:
    """As `_fetch`, with an hour made a second."""
    former, stage.TOTAL_SECONDS = stage.TOTAL_SECONDS, 1.0
    try:
        return _fetch(kind)
    finally:
        stage.TOTAL_SECONDS = former


def cases() -> Iterator[Case]:
    """Answers, lengths, addresses."""
    packed = {"sha256": None, "content_sha256": "0" * 64}
    for name, kind, changes, words in (
        ("a file cut off", "truncated", {}, "it ended after 1000 of"),
        ("half a file, said to be whole", "half", {}, "sent 1000 bytes with SHA-256"),
        ("a file with one byte changed", "wrong", {}, "is expected"),
        ("a page that the file has moved", "page", {}, "a page came instead"),
        ("an answer 404", "gone", {}, "404"),
        ("an answer 500", "broken", {}, "500"),
        ("an answer 429, too many requests", "too-many", {}, "429"),
        ("a request for a password", "login", {}, "401"),
        ("an empty file", "nothing", {}, "sent 0 bytes"),
        ("a redirection to itself", "round", {}, "cannot be downloaded"),
        ("a redirection to a file of this machine", "file", {}, "file:///etc/passwd"),
        ("a redirection to another protocol", "ftp", {}, "only http and https are followed"),
        ("a redirection to an address that is none", "to-bracket", {}, "cannot be downloaded"),
        ("a redirection to letters that are not ASCII", "to-letters", {}, "cannot be downloaded"),
        ("a redirection without an address", "to-nowhere", {}, "cannot be downloaded"),
        ("300 GB announced", "huge", {}, "announces 300000000000 bytes"),
        ("another length than the YAML says", "right", {"bytes": 10}, "10 bytes are expected"),
        ("less than the YAML says", "half", {"bytes": 2000}, "2000 bytes are expected"),
        ("bytes without end", "endless", {"bytes": 1000}, "sends more than 1000 bytes"),
        ("200 kB that unpack to 100 MB", "bomb", packed, "unpacks to more than"),
        ("a packed file of other content", "packed", packed, "unpacked content of"),
        ("no answer of a web server", "no-http", {}, "cannot be downloaded"),
        ("a connection closed without a word", "nothing-at-all", {}, "cannot be downloaded"),
        ("a status in letters", "no-number", {}, "cannot be downloaded"),
        ("a length below zero", "negative-length", {}, "is expected"),
        ("a length in words", "word-length", {}, "is expected"),
        ("a length of 5,000 digits", "digits-length", {}, "publisher"),
        ("5,000 headers", "headers", {}, "cannot be downloaded"),
        ("a header of 100 kB", "long-header", {}, "cannot be downloaded"),
        ("a piece whose size is no number", "wrong-chunk", {}, "cannot be downloaded"),
        ("a piece whose size is below zero", "negative-chunk", {}, "cannot be downloaded"),
        ("a piece cut off", "cut-chunk", {}, "cannot be downloaded"),
        ("nobody at the address", "http://127.0.0.1:9/a", {}, "cannot be downloaded"),
        ("an address of a file", "file:///etc/passwd", {}, "allowed are http and https"),
        ("an address of another protocol", "ftp://127.0.0.1/a", {}, "allowed are http and https"),
        ("an address that holds the data", "data:,x", {}, "allowed are http and https"),
        ("a path for an address", "/etc/passwd", {}, "allowed are http and https"),
        ("an empty address", "", {}, "allowed are http and https"),
        ("an address without a host", "http://", {}, "cannot be downloaded"),
        ("an address with two points in a row", "http://a..b/", {}, "cannot be downloaded"),
        ("an address of two lines", "https://a\nb/", {}, "cannot be downloaded"),
        ("an address with an open bracket", "http://[::1", {}, "cannot be downloaded"),
        ("an address with a blank", "http://127.0.0.1:9/a b", {}, "cannot be downloaded"),
        ("an address with letters that are not ASCII", "http://127.0.0.1:9/ä", {}, "cannot be"),
        ("an address with a port in letters", "http://127.0.0.1:abc/", {}, "cannot be downloaded"),
        ("an address with a port of 99999999", "http://127.0.0.1:99999999/", {}, "cannot be"),
        ("an address with a name of 80 letters", f"http://{'a' * 80}.invalid/", {}, "cannot be"),
        ("an address of 5,000 letters", f"http://127.0.0.1:9/{'a' * 5000}", {}, "cannot be"),
    ):
        yield Case(GROUP, name, partial(_fetch, kind, **changes), words)
    for name, kind in (
        ("a byte now and then, without end", "drip"),
        ("a byte of a header now and then, without end", "dripping-head"),
    ):
        yield Case(GROUP, name, partial(_in_a_second, kind), "it took longer than 1 seconds in all")
