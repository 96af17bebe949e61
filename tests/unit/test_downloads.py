"""Whatever a publisher sends instead of the file: refused in a sentence, and nothing is kept."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from frugal.__main__ import main

CONTENT = b"age,ill\n54,1\n61,0\n" * 400
PAGE = b"<!DOCTYPE html><html><body>This file has moved.</body></html>"


class Publisher(BaseHTTPRequestHandler):
    """Answers by the path that is asked for."""

    def do_GET(self):
        kind = self.path.strip("/")
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
        }
        status, body, length = answers[kind]
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        if status == 302:
            self.send_header("Location", "/round")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Publisher)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def fetch(address: str, kind: str) -> int:
    settings = {
        "url": f"{address}/{kind}",
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "content_sha256": None,
    }
    words = ["fetch_file", "--seed", "0", "--settings", json.dumps(settings)]
    return main([*words, "--output", "file=results/raw/dataset=a/a.csv"])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_right_file_is_kept_with_its_sidecar(address):
    assert fetch(address, "right") == 0
    assert Path("results/raw/dataset=a/a.csv").read_bytes() == CONTENT
    assert Path("results/raw/dataset=a/_a.csv.json").is_file()


@pytest.mark.parametrize(
    "kind", ["truncated", "half", "wrong", "page", "gone", "broken", "nothing", "round"]
)
def test_anything_else_is_refused_and_nothing_is_kept(address, capsys, kind):
    assert fetch(address, kind) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"frugal fetch_file: {address}/{kind} ")
    assert said.count("\n") == 1
    assert "is expected" in said or "cannot be downloaded" in said
    assert not Path("results").exists()


def test_a_publisher_that_cannot_be_reached_is_one_sentence(capsys):
    assert fetch("http://127.0.0.1:9", "right") == 2
    said = capsys.readouterr().err
    assert "cannot be downloaded" in said
    assert said.count("\n") == 1


def test_a_file_that_was_there_survives_a_failed_download(address):
    assert fetch(address, "right") == 0
    assert fetch(address, "page") == 2
    assert Path("results/raw/dataset=a/a.csv").read_bytes() == CONTENT
