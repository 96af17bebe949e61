"""The state of results/ when a run starts: files missing, half done or out of date.

Knows manifests, and no stage.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from frugal.core.errors import DataError
from frugal.results.manifests import RESULTS, AuditError, load_manifest, manifest_paths
from frugal.results.replacing import finish_interrupted, is_leftover, remove_leftovers


@dataclass(frozen=True)
class Survey:
    """State of results/ when a run starts.

    Attributes:
        manifests: path → manifest of each finished step, without the columns of its tables.
        missing: files of theirs that are not there.
        elsewhere: files that were made under another lock.
    """

    manifests: Mapping[str, Mapping[str, Any]]
    missing: tuple[Path, ...]
    elsewhere: tuple[Path, ...]

    @cached_property
    def digests(self) -> dict[str, str]:
        """Path of each file that a step has made → the SHA-256 that its manifest states."""
        outputs = (o for document in self.manifests.values() for o in document["outputs"].values())
        return {output["path"]: output["sha256"] for output in outputs}

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
    """Compare the manifests of finished steps with the files present.

    Args:
        environment: SHA-256 of the lock as it is now.

    Raises:
        DataError: a file among the manifests is none.
    """
    manifests, missing, elsewhere = {}, [], []
    for path in manifest_paths():
        try:
            document = manifests[path.as_posix()] = load_manifest(path)
        except AuditError as error:
            raise DataError(f"{error}; remove it") from None
        del document["tables"]  # whose columns would take much memory
        files = [Path(output["path"]) for output in document["outputs"].values()]
        missing += [file for file in files if not file.is_file()]
        if document["environment"] != environment:
            elsewhere += [*files, path]
    return Survey(manifests, tuple(missing), tuple(elsewhere))


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
