"""Policies as files that other systems run: the ending of a name says which."""

from collections.abc import Callable
from pathlib import Path

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


def exported(bundle: CaseBundle, path: Path, **of_sql: str | None) -> bytes:
    """The content of a file with a policy.

    Args:
        bundle: of the policy.
        path: of the file.
        of_sql: `table` and `id_column`, where they are stated.

    Raises:
        DataError: the ending means nothing or takes no such argument, or the policy is of a kind
            that it does not allow.
    """
    how = {name: word for name, word in of_sql.items() if word is not None}
    if path.suffix not in ENDINGS:
        endings = "; ".join(f"{ending} for {words}" for ending, (words, _) in ENDINGS.items())
        raise DataError(f"{path} has no ending of a policy's file; allowed are {endings}")
    if how and path.suffix != ".sql":
        raise DataError(
            f"{path} does not end in .sql; a table and a column that names cases apply to SQL alone"
        )
    return ENDINGS[path.suffix][1](bundle, **how)
