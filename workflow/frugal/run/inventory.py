"""What lies under results/, file by file, and what should: every file belongs to a step.

Knows names, receipts and where sidecars stand; opens no payload.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from frugal.core.errors import DataError
from frugal.results.receipts import RESULTS, read_receipt, receipt_paths
from frugal.results.replacing import is_leftover
from frugal.results.sidecars import sidecar_path

_GUIDE = RESULTS / "README.md"
_CHECKPOINT = re.compile(r"\.(.+)\.checkpoint-[0-9a-f]{16}\.safetensors", re.S)


def payloads_and_strays(folder: Path) -> tuple[list[Path], list[str]]:
    """Every file that has a sidecar, or whose sidecar is there; and a sentence for each other.

    Args:
        folder: results/, or a folder below.
    """
    # a pipe or a device has no place there either
    files = sorted(path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    known = {_GUIDE, *receipt_paths()}
    payloads: dict[Path, None] = {}
    strays = []
    for path in files:
        if path in known:
            continue
        described = _described(path)
        if described is not None and not (described.name[0] == "." and is_leftover(described)):
            payloads[described] = None
        elif sidecar_path(path).is_file():
            payloads[path] = None
        elif reason := _why_stray(path):
            strays.append(f"{path}: {reason}")
    return sorted(payloads), strays


def missing_files(folder: Path) -> list[str]:
    """A sentence for each file in a folder that a finished step has made and that is not there.

    And one for each receipt that is none.
    """
    said = []
    for path in receipt_paths():
        try:
            receipt = read_receipt(path)
        except DataError as error:
            said.append(str(error))
            continue
        gone = (p for p in receipt.missing if p.is_relative_to(folder))
        said += [f"{p}: is missing, but {receipt.stage} has made it ({path})" for p in gone]
    return said


def edited_copies(folder: Path, payloads: Iterable[Path]) -> list[str]:
    """A sentence for each answer beside results/ that is no copy of the one that a step made."""
    answers = [path for path in payloads if path.parent == folder == RESULTS and path.is_file()]
    return [
        f"{path.name}: is not as {path}, of which it should be a copy; the next start copies it"
        for path in answers
        if Path(path.name).is_file() and Path(path.name).read_bytes() != path.read_bytes()
    ]


def _described(path: Path) -> Path | None:
    """The payload that a sidecar by this name is of; None for any other name."""
    if path.name.startswith("_") and path.suffix == ".json" and len(path.name) > 6:
        return path.with_name(path.name[1:-5])
    return None


def _why_stray(path: Path) -> str:
    """What is wrong with a file that has no sidecar; empty for the checkpoint of a step at work."""
    if is_leftover(path):
        return (
            "was left by a writer that was interrupted, or is still at work; nothing reads it, and "
            "the next start of Snakemake on that machine removes it"
        )
    if _CHECKPOINT.fullmatch(path.name):
        return ""
    return f"has no sidecar {sidecar_path(path).name}; no step has made it"
