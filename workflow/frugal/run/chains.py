"""The chain from a file, or from some rows of a table, back to the raw data, as a tree of lines.

Knows sidecars and how rows are told apart; must not know what any stage computes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from frugal.core.blocks import SEEDS, Portion
from frugal.core.errors import DataError
from frugal.core.schema_check import did_you_mean
from frugal.results.files import hive_keys, read_payload
from frugal.run.sidecar_checks import AuditError, load_sidecar
from frugal.run.table_changes import IDENTITY

FETCHED = "fetch_file"  # the stage whose input is the publisher
_SHOWN_ROWS = 3


@dataclass(frozen=True)
class Rows:
    """Rows that a person asks about: what tells them apart, as text.

    Attributes:
        values: identity column → the values that the rows have in it; empty for all rows.
    """

    values: Mapping[str, frozenset[str]]

    def exclude(self, path: str) -> bool:
        """True where a path's folders say that it holds other rows only."""
        keys = hive_keys(Path(path))
        if SEEDS in keys and "seed" in self.values:
            inside = {str(seed) for seed in Portion.of({SEEDS: keys[SEEDS]}).seeds or ()}
            if not inside & self.values["seed"]:
                return True
        return any(keys[k] not in self.values[k] for k in keys.keys() & self.values.keys())

    def count(self, path: Path) -> str:
        """`, 40 of 114 rows` of a table that has columns to tell rows apart; else nothing."""
        if path.suffix != ".parquet" or not self.values:
            return ""
        table = read_payload(path)
        shared = [name for name in self.values if name in table.columns]
        if not shared:
            return ""
        kept = pd.Series(True, index=table.index)
        for name in shared:
            kept &= table[name].astype(str).isin(self.values[name])
        return f", {int(kept.sum())} of {len(table)} rows"


ALL_ROWS = Rows({})


@dataclass(frozen=True)
class Link:
    """One file of a chain.

    Attributes:
        depth: steps from the file that was asked about.
        path: of the file.
        document: its sidecar.
        again: True where the chain has shown it before.
        left_out: inputs under results/ that hold other rows only.
    """

    depth: int
    path: Path
    document: Mapping[str, Any]
    again: bool
    left_out: int


def chain(payload: Path, rows: Rows = ALL_ROWS) -> Iterator[Link]:
    """The files behind a payload, itself first, those of other rows left out.

    Raises:
        AuditError: a sidecar on the way is lacking or was edited.
    """
    seen: set[Path] = set()

    def walk(path: Path, depth: int) -> Iterator[Link]:
        document, again = load_sidecar(path), path in seen
        seen.add(path)
        inputs = [r["path"] for r in document["inputs"] if r["path"].startswith("results/")]
        kept = [p for p in inputs if not rows.exclude(p)] or inputs
        yield Link(depth, path, document, again, len(inputs) - len(kept))
        if not again:
            for name in kept:
                yield from walk(Path(name), depth + 1)

    return walk(payload, 0)


def chain_lines(payload: Path, rows: Rows = ALL_ROWS) -> Iterator[str]:
    """The chain from a file back to raw data, one line per file, indented by distance.

    Files from outside, and the publisher's address of fetched ones, stand with their whole SHA-256.
    """
    for link in chain(payload, rows):
        pad, document = "  " * link.depth, link.document
        note = " (shown above)" if link.again else rows.count(link.path)
        yield f"{pad}{link.path}  sha256 {document['sha256'][:12]}  by {document['stage']}{note}"
        if link.again:
            continue
        for record in document["inputs"]:
            if not record["path"].startswith("results/"):
                yield f"{pad}  {record['path']}  sha256 {record['sha256']}  from outside"
        if document["stage"] == FETCHED:
            settings = document["settings"]
            if not isinstance(settings, dict) or not {"url", "sha256"} <= settings.keys():
                raise AuditError(f"{link.path}: its sidecar tells no address: {settings!r}")
            yield f"{pad}  {settings['url']}  sha256 {settings['sha256']}  as published"
        if link.left_out:
            yield f"{pad}  ({link.left_out} more inputs hold other rows)"


def selected_rows(payload: Path, words: str) -> tuple[pd.DataFrame, Rows]:
    """The rows of a table that `agent=never,seed=0` names, and what tells them apart.

    Raises:
        AuditError: the file is no table, a column is not there, or no row has the values.
    """
    if payload.suffix != ".parquet":
        raise AuditError(f"{payload}: has no rows; --row asks about a table (.parquet)")
    try:
        table = read_payload(payload)
    except DataError as error:
        raise AuditError(str(error)) from None
    for word in words.split(","):
        name, equals, value = word.partition("=")
        known = [str(column) for column in table.columns]
        if not equals:
            raise AuditError(
                f"{payload}: --row {word!r} is not COLUMN=VALUE; columns are {', '.join(known)}"
            )
        if name not in known:
            raise AuditError(
                f"{payload}: --row names the column {name!r}; columns are {', '.join(known)}"
                f"{did_you_mean(name, known)}"
            )
        kept = table[table[name].map(lambda cell, value=value: _is(cell, value)).astype(bool)]
        if kept.empty:
            found = ", ".join(dict.fromkeys(table[name].astype(str)))
            raise AuditError(f"{payload}: no row has {name}={value}; {name} is {found[:200]}")
        table = kept
    names = [name for name in IDENTITY if name in table.columns]
    return table, Rows({name: frozenset(table[name].astype(str)) for name in names})


def row_lines(table: pd.DataFrame, document: Mapping[str, Any]) -> Iterator[str]:
    """The rows as they stand, one value a line, with units."""
    units = {column["name"]: column["unit"] for column in document.get("columns", [])}
    for row in table.head(_SHOWN_ROWS).to_dict("records"):
        for name, value in row.items():
            yield f"{name} = {value} {units.get(str(name), '')}".rstrip()
        yield ""
    if len(table) > _SHOWN_ROWS:
        yield from (f"and {len(table) - _SHOWN_ROWS} more rows", "")


def _is(cell: Any, value: str) -> bool:
    """Equal as text, or as numbers."""
    if str(cell) == value:
        return True
    try:
        return not isinstance(cell, str) and float(cell) == float(value)
    except (TypeError, ValueError):
        return False
