"""Reads a sidecar only if it is one that this project wrote and that nobody has touched since.

A sidecar is trusted for what it says of payload, inputs and step; so its form, its
seal and every path in it are checked first. Runs no step, opens no payload.
"""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from frugal.core.declarations import PROJECT
from frugal.core.errors import FrugalError
from frugal.results.files import json_bytes
from frugal.results.sidecars import recorded_arithmetic, seal, sidecar_path
from frugal.results.sources import source_digest

_KEYS: dict[str, type | tuple[type, ...]] = {
    "file": str,
    "sha256": str,
    "bytes": int,
    "stage": str,
    "output": str,
    "outputs": dict,
    "wildcards": dict,
    "seed": int,
    "settings": (dict, list, str, int, float, type(None)),
    "inputs": list,
    "source": str,
    "environment": str,
    "seal": str,
}
_NAME = re.compile(r"[A-Za-z_]\w*(\[\])?")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ARITHMETIC = re.compile(r"portable [0-9a-f]{12}")


class AuditError(FrugalError):
    """A file is not what its sidecar says."""


def load_sidecar(payload: Path) -> dict[str, Any]:
    """The sidecar of a payload, its form and its seal checked.

    Raises:
        AuditError: there is none, it is none that this project writes, or it was edited.
    """
    path = sidecar_path(payload)
    if not path.is_file():
        raise AuditError(f"{payload}: has no sidecar {path.name}")
    content = path.read_bytes()
    try:
        document = json.loads(content)
        sealed = document["seal"]
        as_written = json_bytes(document) == content and seal(document) == sealed
    except (ValueError, TypeError, KeyError, RecursionError):
        raise AuditError(f"{path}: is not a sidecar that this project writes") from None
    if not as_written:
        raise AuditError(f"{path}: was edited after it was written (its seal does not match)")
    if flaw := _flaw(document):
        raise AuditError(f"{path}: is not a sidecar that this project writes: {flaw}")
    return document


def _flaw(document: dict[str, Any]) -> str:
    """What a sealed document lacks to be a sidecar; empty where nothing."""
    for key, kind in _KEYS.items():
        if not isinstance(document.get(key), kind) or isinstance(document.get(key), bool):
            return f"{key!r} is {document.get(key)!r}"
    if "arithmetic" in document and not _ARITHMETIC.fullmatch(str(document["arithmetic"])):
        return f"'arithmetic' is {document['arithmetic']!r}"
    if not document["stage"].isidentifier():
        return f"'stage' is {document['stage']!r}"
    if document["output"] not in document["outputs"]:
        return f"'output' is {document['output']!r}, which is none of its outputs"
    for name, path in document["outputs"].items():
        if not _NAME.fullmatch(name) or not _stays_below(path):
            return f"output {name!r} is at {path!r}"
    for record in document["inputs"]:
        if not isinstance(record, dict) or {"name", "path", "sha256"} != record.keys():
            return f"an input is {record!r}"
        if not _NAME.fullmatch(str(record["name"])) or not _stays_below(record["path"]):
            return f"input {record['name']!r} is at {record['path']!r}"
        if not _DIGEST.fullmatch(str(record["sha256"])):
            return f"input {record['name']!r} has SHA-256 {record['sha256']!r}"
    return ""


def _stays_below(path: Any) -> bool:
    """True for a relative path that does not leave the folder in which it is read."""
    if not isinstance(path, str) or not path:
        return False
    return not Path(path).is_absolute() and ".." not in Path(path).parts


def made_by_other_code(document: Mapping[str, Any]) -> bool:
    """True where a sidecar's step would run other code now."""
    try:
        now = source_digest(document["stage"], document["settings"])
        given = document.get("arithmetic")
        pins = recorded_arithmetic(given.split()[0]) if given else {}
        return now != document["source"] or pins.get("arithmetic") != given
    except KeyError:  # a stage that has since been renamed
        return True


def commit_here() -> str | None:
    """The commit of the project's folder, and whether its code differs; None where git has none."""
    project = PROJECT
    names = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}

    def git(*words: str) -> str:
        command = ["git", "--no-optional-locks", "-C", str(project), *words]
        done = subprocess.run(command, env=names, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")) != project:  # installed inside another one
            return None
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "workflow")
        return git("rev-parse", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None
