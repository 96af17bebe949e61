"""Whatever a publisher sends instead of the file: refused in a sentence, and nothing is kept."""

import gzip
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from frugal.__main__ import main
from frugal.core.errors import DataError
from frugal.data.downloads import _received
from frugal.data.packed import ALWAYS_UNPACKED

ROOT = Path(__file__).parents[2]
CONTENT = b"age,ill\n54,1\n61,0\n" * 400
PAGE = b"<!DOCTYPE html><html><body>This file has moved.</body></html>"


@cache
def bomb() -> bytes:
    return gzip.compress(bytes(ALWAYS_UNPACKED + 1), compresslevel=9)


SENT = {"endless": 0}


class Publisher(BaseHTTPRequestHandler):
    """Answers by the path that is requested."""

    def do_GET(self):
        kind = self.path.strip("/")
        if kind in ("endless", "drip", "dripping-head"):
            self.send_for_ever(kind)
            return
        answers = {
            "right": (200, CONTENT, len(CONTENT)),
            "truncated": (200, CONTENT[:1000], len(CONTENT)),
            "half": (200, CONTENT[:1000], 1000),
            "wrong": (200, CONTENT.replace(b"54", b"55"), len(CONTENT)),
            "page": (200, PAGE, len(PAGE)),
            "gone": (404, PAGE, len(PAGE)),
            "broken": (500, b"", 0),
            "nothing": (200, b"", 0),
            "round": (302, b"", 0),
            "file": (302, b"", 0),
            "ftp": (302, b"", 0),
            "huge": (200, b"x" * 1000, 300_000_000_000),
            "bomb": (200, bomb(), len(bomb())),
            "packed": (200, gzip.compress(CONTENT), len(gzip.compress(CONTENT))),
        }
        to = {"file": "file:///etc/passwd", "ftp": "ftp://127.0.0.1/a"}
        status, body, length = answers[kind]
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        if status == 302:
            self.send_header("Location", to.get(kind, "/round"))
        self.end_headers()
        self.wfile.write(body)

    def send_for_ever(self, kind: str) -> None:
        """Bytes without end and without a length, or one byte now and then."""
        SENT["endless"] = 0
        head = b"HTTP/1.0 200 OK\r\n" if kind == "dripping-head" else b"HTTP/1.0 200 OK\r\n\r\n"
        self.wfile.write(head)
        try:
            for _ in range(100_000):
                time.sleep(0 if kind == "endless" else 0.05)
                piece = b"x" * (1 << 16) if kind == "endless" else b"X"
                self.wfile.write(piece)
                SENT["endless"] += len(piece)
        except OSError:
            pass  # the other side has had enough

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Publisher)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def fetch(address: str, kind: str, **changes: object) -> int:
    settings = {
        "url": f"{address}/{kind}",
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "content_sha256": None,
    } | changes
    words = ["fetch_file", "--seed", "0", "--settings", json.dumps(settings)]
    return main([*words, "--output", "file=results/raw/dataset=a/a.csv"])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


def test_the_right_file_is_kept_with_its_manifest(address):
    assert fetch(address, "right") == 0
    assert Path("results/raw/dataset=a/a.csv").read_bytes() == CONTENT
    assert Path("results/steps/raw/dataset=a/a.csv.json").is_file()


def test_a_file_that_was_there_survives_a_failed_download(address):
    assert fetch(address, "right") == 0
    assert fetch(address, "page") == 2
    assert Path("results/raw/dataset=a/a.csv").read_bytes() == CONTENT


def refused(capsys, address: str, kind: str, **changes: object) -> str:
    """What is said; nothing is kept, not even a temporary file."""
    assert fetch(address, kind, **changes) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "Traceback" not in said
    assert not Path("results").exists()
    assert os.listdir(tempfile.gettempdir()) == []
    return said


def test_a_file_of_the_size_that_the_yaml_says_is_kept(address):
    assert fetch(address, "right", bytes=len(CONTENT)) == 0


def test_an_endless_file_is_left_at_the_limit_and_not_read_first(address, capsys):
    refused(capsys, address, "endless", bytes=1000)
    time.sleep(0.2)
    assert SENT["endless"] < 50_000_000


def test_a_download_is_judged_by_its_content(address, capsys):
    right = hashlib.sha256(CONTENT).hexdigest()
    assert fetch(address, "packed", sha256=None, content_sha256=right) == 0
    Path("results/raw/dataset=a/a.csv").unlink()
    assert fetch(address, "packed", sha256=None, content_sha256="0" * 64) == 2
    assert "is not the file that the data set describes" in capsys.readouterr().err


def test_a_small_file_that_unpacks_to_a_large_one_is_refused_while_it_unpacks(address, capsys):
    assert len(bomb()) < 200_000
    said = refused(capsys, address, "bomb", sha256=None, content_sha256="0" * 64)
    assert f"unpacks to more than {ALWAYS_UNPACKED} bytes" in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_download_that_is_killed_leaves_nothing(address, tmp_path, number):
    """Not even half a file among the temporary ones: what arrives is in memory only."""
    temporary = tmp_path / "temporary"
    settings = {"url": f"{address}/endless", "sha256": "0" * 64}
    words = ["fetch_file", "--seed", "0", "--settings", json.dumps(settings)]
    job = subprocess.Popen(
        [sys.executable, "-m", "frugal", *words, "--output", "file=results/a.csv"],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(temporary), "PYTHONPATH": str(ROOT / "workflow")},
    )
    SENT["endless"] = 0
    while SENT["endless"] < 1_000_000:
        time.sleep(0.01)
        assert job.poll() is None
    job.send_signal(number)
    assert job.wait(20) != 0
    assert list(tmp_path.iterdir()) == [temporary]
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("announced", "expected", "message"),
    [
        ("5", 5, None),
        (None, 5, None),
        ("5", None, None),
        ("6", 5, "announces 6 bytes"),
        (None, 4, "sends more than 4 bytes"),
        ("6", None, "it ended after 5 of 6 bytes"),
        (None, 6, "sent 5 bytes, but 6 bytes are expected"),
    ],
)
def test_as_many_bytes_as_announced_and_expected_are_taken(announced, expected, message):
    headers = {} if announced is None else {"Content-Length": announced}
    response = SimpleNamespace(headers=headers, read1=io.BytesIO(b"abcde").read1)
    if message is None:
        assert _received("http://x", response, expected, lambda: None) == b"abcde"
    else:
        with pytest.raises((DataError, OSError), match=message):
            _received("http://x", response, expected, lambda: None)
