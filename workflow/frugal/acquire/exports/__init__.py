"""Policies as files that other systems run: the ending of a name says which."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from frugal.acquire.bundles import CaseBundle, export_policy
from frugal.acquire.exports.redcap import redcap_file
from frugal.acquire.exports.rules import rules_file
from frugal.acquire.exports.sql import sql_file
from frugal.core.errors import DataError

ENDINGS: dict[str, tuple[str, Callable[..., bytes]]] = {
    ".onnx": ("an ONNX graph", export_policy),
    ".json": ("rules in JSON", rules_file),
    ".sql": ("a SELECT of SQL", sql_file),
    ".csv": ("a data dictionary of REDCap", redcap_file),
}


def exported(bundle: CaseBundle, path: Path, **how: Any) -> bytes:
    """The content of a file with a policy.

    Args:
        bundle: of the policy.
        path: of the file.
        how: further arguments, by its ending.

    Raises:
        DataError: the ending means nothing, or the policy is of a kind that it does not allow.
    """
    if path.suffix not in ENDINGS:
        endings = "; ".join(f"{ending} for {words}" for ending, (words, _) in ENDINGS.items())
        raise DataError(f"{path} has no ending of a policy's file; allowed are {endings}")
    return ENDINGS[path.suffix][1](bundle, **how)
