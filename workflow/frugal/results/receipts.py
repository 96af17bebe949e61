"""Receipts: `results/steps/<stage>-<digest>.json` names the files that a finished step has made.

A sidecar vouches for a file that is there. A receipt records that a file should be there: without
it, a folder that is gone as a whole would be missed by nobody. Written with the files, in one move.
Knows no stage.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frugal.core.errors import DataError
from frugal.results.files import json_bytes, seal
from frugal.results.replacing import finish_interrupted, is_leftover, remove_leftovers

RESULTS = Path("results")
STEPS = RESULTS / "steps"


@dataclass(frozen=True)
class Receipt:
    """One finished step.

    Attributes:
        path: of the receipt.
        stage: that ran.
        files: payloads and sidecars that it made.
        environment: SHA-256 of the lock that it ran under.
    """

    path: Path
    stage: str
    files: tuple[Path, ...]
    environment: str

    @property
    def missing(self) -> list[Path]:
        """Files of the step that are not there."""
        return [path for path in self.files if not path.is_file()]


def receipt_file(stage: str, outputs: Mapping[Path, Path], environment: str) -> dict[Path, bytes]:
    """Where a step's receipt lies, and its bytes; nothing for a step that works outside results/.

    Args:
        stage: that ran.
        outputs: payload → sidecar.
        environment: SHA-256 of the lock.
    """
    names = sorted(p.as_posix() for pair in outputs.items() for p in pair)
    if not all(_is_result(Path(name)) for name in names):
        return {}
    digest = hashlib.sha256("\0".join(names).encode()).hexdigest()[:16]
    document = {"stage": stage, "files": names, "environment": environment}
    content = json_bytes(document | {"seal": seal(document)})
    return {STEPS / f"{stage}-{digest}.json": content}


def read_receipt(path: Path) -> Receipt:
    """One receipt.

    Raises:
        DataError: it is none, or was edited.
    """
    try:
        if not path.is_file():  # reading a pipe would never end
            raise ValueError("no file")
        content = path.read_bytes()
        document: Any = json.loads(content)
        if document["seal"] != seal(document) or json_bytes(document) != content:
            raise ValueError("edited")
        files = tuple(Path(name) for name in document["files"])
        if not all(_is_result(p) for p in files) or not str(document["stage"]).isidentifier():
            raise ValueError("names a file that no step writes")
        return Receipt(path, str(document["stage"]), files, str(document["environment"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DataError(f"{path}: is no receipt that this project writes; remove it") from None


def _is_result(path: Path) -> bool:
    """True for a path below results/ that can be printed to a terminal unchanged."""
    return path.parts[:1] == (RESULTS.name,) and ".." not in path.parts and str(path).isprintable()


def receipts() -> Iterator[Receipt]:
    """Every receipt, in order of its name.

    Raises:
        DataError: a file there is none.
    """
    return map(read_receipt, receipt_paths())


def receipt_paths() -> list[Path]:
    """Where receipts lie, in order of their names."""
    return sorted(STEPS.glob("*.json"))


@dataclass(frozen=True)
class Survey:
    """State of results/ when a run starts.

    Attributes:
        steps: finished steps.
        missing: files of theirs that are not there.
        elsewhere: files that were made under another lock.
    """

    steps: int
    missing: tuple[Path, ...]
    elsewhere: tuple[Path, ...]

    def lines(self, *, strict: bool) -> list[str]:
        """Notices to print before the run, one per line.

        Args:
            strict: whether the run makes again the files made under another lock.
        """
        lines = []
        if self.missing:
            lines.append(
                f"{len(self.missing)} files of finished steps are missing, first "
                f"{self.missing[0]}; name one by its path to have it made again; "
                "python -m frugal audit names all"
            )
        if self.elsewhere:
            remedy = (
                "made again where they are requested (environment: strict)"
                if strict
                else ("--config environment=strict makes them again")
            )
            lines.append(
                f"{len(self.elsewhere)} files were made under another requirements.lock, first "
                f"{self.elsewhere[0]}; {remedy}"
            )
        return lines


def survey(environment: str) -> Survey:
    """Compare the receipts of finished steps with the files present.

    Args:
        environment: SHA-256 of the lock as it is now.

    Raises:
        DataError: a file among the receipts is none.
    """
    missing, elsewhere, steps = [], [], 0
    for receipt in receipts():
        steps += 1
        missing += receipt.missing
        if receipt.environment != environment:
            elsewhere += receipt.files
    return Survey(steps, tuple(missing), tuple(elsewhere))


def tidy_up(root: Path = RESULTS) -> list[Path]:
    """Finish replacements that a killed writer began, and remove its half-written files.

    Returns:
        The files that were put in place.

    Raises:
        DataError: a move cannot be made.
    """
    folders, leftovers = [], []
    for folder, _, names in os.walk(root):
        hidden = [Path(folder, name) for name in names if name.startswith(".")]
        folders += [Path(folder)] * any(path.suffix == ".commit" for path in hidden)
        leftovers += [path for path in hidden if is_leftover(path)]
    placed = finish_interrupted(folders)
    remove_leftovers(leftovers)
    return placed
