"""A user's own recourse catalogue: actions × features with costs and thresholds, and their units.

Serves the recourse study. Parses text and says in one sentence what is wrong with it, or why a unit
cannot be covered; knows no solver.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

from frugal.core.errors import DataError
from frugal.core.schema_check import did_you_mean, listed
from frugal.cover.instance import COST_DECIMALS, CoverInstance
from frugal.data.description_sources import Format
from frugal.data.packed import unpacked_bytes
from frugal.data.records import lines_of, parse_text

_CSV = Format("csv", (), ",", None, None, True, "utf-8")
_COMMENT = "#"
_THRESHOLD_ROW = "threshold"
_NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
EVERYONE = "everyone"


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Named actions over named features.

    Attributes:
        actions: names, in the order of the instance's rows.
        features: names, in the order of its columns.
        groups: names of the groups of units; `everyone` alone where the catalogue has none.
        instance: costs, provided amounts, thresholds and access.
    """

    actions: tuple[str, ...]
    features: tuple[str, ...]
    groups: tuple[str, ...]
    instance: CoverInstance


def read_text(path: Path) -> str:
    """The text of a CSV file in UTF-8, with a byte order mark (as of a spreadsheet) or without.

    Raises:
        DataError: it cannot be read, or is in another encoding; which line.
    """
    content = unpacked_bytes(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path.name}, line {line} is not UTF-8 text (byte 0x{content[error.start]:02x}); save "
            "the file in UTF-8, which spreadsheets call 'CSV UTF-8'"
        ) from None


def parse_catalogue(text: str, *, source: str) -> Catalogue:
    """A catalogue from CSV text; lines above the column names that begin with `#` are comments.

    Columns: `action`, `cost`, optionally `groups` (names separated by `;`, empty means all), then
    one column per feature with the whole number that the action adds to it. One row is named
    `threshold`: its cost is empty, and it holds what each feature needs for a positive decision.

    Raises:
        DataError: a column, the threshold row or a number is missing or wrong; which, and where.
    """
    frame, lines = _table(text, source)
    for needed in ("action", "cost"):
        _require(frame, needed, source)
    features = tuple(str(c) for c in frame.columns if c not in ("action", "cost", "groups"))
    if not features:
        raise DataError(f"{source} has no feature columns beside action, cost and groups")
    names = [str(v) for v in frame["action"]]
    _require_names(names, lines, "action", source)
    for name, line in zip(names, lines, strict=True):
        if ";" in name:
            raise DataError(
                f"{source}, line {line}: action {name!r} has a ';', which separates the actions of "
                "an answer; use another character"
            )
    if _THRESHOLD_ROW not in names:
        raise DataError(
            f"{source} has no row named 'threshold', which holds what each feature needs"
        )
    numbers = _whole_numbers(frame, features, lines, source)
    at = names.index(_THRESHOLD_ROW)
    if str(frame["cost"].iloc[at]):
        raise DataError(f"{source}, line {lines[at]}: the threshold row has a cost; leave it empty")
    if "groups" in frame.columns and str(frame["groups"].iloc[at]):
        raise DataError(
            f"{source}, line {lines[at]}: the threshold row has groups "
            f"({str(frame['groups'].iloc[at])!r}); what a feature needs holds for everyone, so "
            "leave them empty"
        )
    rows = [i for i in range(len(names)) if i != at]
    if not rows:
        raise DataError(f"{source} holds thresholds and no action")
    groups, access = _access(frame, rows)
    cost = np.array([_cost(str(frame["cost"].iloc[i]), int(lines[i]), source) for i in rows])
    try:
        instance = CoverInstance(
            cost=cost,
            provides=numbers[rows],
            thresholds=numbers[at],
            access=access,
        )
    except DataError as error:
        raise DataError(f"{source}: {error}") from None
    return Catalogue(tuple(names[i] for i in rows), features, groups, instance)


def parse_units(
    text: str, catalogue: Catalogue, *, source: str
) -> tuple[tuple[str, ...], Int[np.ndarray, "n d"], Int[np.ndarray, " n"]]:
    """Units from CSV text: `unit`, `group` (where the catalogue has groups), and every feature.

    Returns:
        names, features as whole numbers in the catalogue's order (n, d), and groups (n,).

    Raises:
        DataError: a column is missing, a unit has no name or that of another, a group is unknown,
            or a cell is no whole number from 0.
    """
    frame, lines = _table(text, source)
    grouped = catalogue.groups != (EVERYONE,)
    for needed in ("unit", *catalogue.features, *(["group"] if grouped else [])):
        _require(frame, needed, source)
    names = tuple(str(u) for u in frame["unit"])
    _require_names(names, lines, "unit", source)
    features = _whole_numbers(frame, catalogue.features, lines, source)
    group = np.zeros(len(frame), dtype=np.int64)
    if grouped:
        for i, name in enumerate(frame["group"]):
            if name not in catalogue.groups:
                raise DataError(
                    f"{source}, line {lines[i]}: group {name!r} is not in the catalogue, which has "
                    f"{listed(catalogue.groups)}{did_you_mean(name, catalogue.groups)}"
                )
            group[i] = catalogue.groups.index(name)
    return names, features, group


def group_warnings(
    units: str, group: Int[np.ndarray, " n"], catalogue: Catalogue, *, source: str, of_units: str
) -> list[str]:
    """Groups that stand on one side only: allowed, but likely misspelt; a sentence each.

    A unit's group that no action names is refused by `parse_units`, unless no action names any.

    Args:
        units: the text that `parse_units` read.
        group: of each unit. (n,)
        catalogue: its names of groups.
        source: name of the catalogue's file.
        of_units: name of the units' file.
    """
    frame, _ = _table(units, of_units)
    if catalogue.groups == (EVERYONE,):
        named = [g for g in dict.fromkeys(frame.get("group", ())) if g not in ("", EVERYONE)]
        if not named:
            return []
        return [
            f"{of_units} has the groups {listed(named)}, but no action of {source} names a group, "
            "so every action is open to every unit"
        ]
    met = [catalogue.groups[g] for g in np.unique(group)]
    return [
        f"{source} names the group {name!r}, and no unit of {of_units} is in it; its units are in "
        f"{listed(met)}{did_you_mean(name, met)}"
        for name in catalogue.groups
        if name not in met
    ]


def refusal_sentences(
    units: tuple[str, ...],
    features: Int[np.ndarray, "n d"] | Bool[np.ndarray, "n d"],
    group: Int[np.ndarray, " n"],
    unreachable: Bool[np.ndarray, "n d"],
    catalogue: Catalogue,
) -> dict[str, str]:
    """Why a unit cannot be covered, one sentence for each unit that cannot.

    Args:
        units: names. (n,)
        features: states. (n, d)
        group: index into the catalogue's groups. (n,)
        unreachable: features out of reach even of all actions together. (n, d)
        catalogue: names, amounts and access.
    """
    instance = catalogue.instance
    reach = (instance.access.astype(np.int64) @ instance.gain)[group] + features.astype(np.int64)
    sentences = {}
    for u in np.flatnonzero(unreachable.any(axis=1)):
        short = [
            f"{catalogue.features[j]!r} (needs {int(instance.thresholds[j])}, all its actions "
            f"together reach {int(reach[u, j])})"
            for j in np.flatnonzero(unreachable[u])
        ]
        whose = catalogue.groups[group[u]]
        sentences[units[u]] = (
            f"unit {units[u]!r} cannot be covered: no set of actions open to {whose!r} is enough "
            f"for {listed(short)}"
        )
    return sentences


def _table(text: str, source: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Cells as text and their lines; a line that begins with `#` is no row and no silent loss.

    Raises:
        DataError: such a line stands below the column names, where it could be either.
    """
    rows = lines_of(text)
    header = next(
        (k for k, row in enumerate(rows) if row.strip() and not row.lstrip().startswith(_COMMENT)),
        len(rows),
    )
    for k, row in enumerate(rows[header:], start=header + 1):
        if row.lstrip().startswith(_COMMENT):
            raise DataError(
                f"{source}, line {k} begins with '#'; comments stand above the column names only: "
                "remove the line or, where it is a name, write it in quotes"
            )
    return parse_text("\n" * header + "".join(rows[header:]), _CSV, source=source)


def _require(frame: pd.DataFrame, name: str, source: str) -> None:
    if name not in frame.columns:
        known = [str(c) for c in frame.columns]
        close = get_close_matches(name, known, n=1, cutoff=0.6)
        hint = f"; if {close[0]!r} is meant, rename it" if close else ""
        raise DataError(f"{source} has no column {name!r}; its columns are {listed(known)}{hint}")


def _require_names(names: Sequence[str], lines: np.ndarray, what: str, source: str) -> None:
    """Every row has a name, and no two have the same."""
    first: dict[str, int] = {}
    for name, line in zip(names, lines, strict=True):
        if not name.strip():
            raise DataError(f"{source}, line {line}: the {what} has no name")
        if name in first:
            raise DataError(
                f"{source} has two rows for {what} {name!r}, lines {first[name]} and {line}; each "
                "is written once"
            )
        first[name] = int(line)


def _whole_numbers(
    frame: pd.DataFrame, columns: tuple[str, ...], lines: np.ndarray, source: str
) -> Int[np.ndarray, "n d"]:
    """Cells as whole numbers from 0."""
    cells = frame[list(columns)].to_numpy(dtype=object)
    numbers = np.zeros(cells.shape, dtype=np.int64)
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            if not (cell.isascii() and cell.isdigit() and len(cell) < 10):
                raise DataError(
                    f"{source}, line {lines[i]}: column {columns[j]!r} holds {cell!r}; allowed is "
                    "a whole number from 0"
                )
            numbers[i, j] = int(cell)
    return numbers


def _cost(cell: str, line: int, source: str) -> float:
    cost = float(cell) if _NUMBER.fullmatch(cell) else -1.0
    if not (0 <= cost < np.inf and round(cost, COST_DECIMALS) == cost):
        raise DataError(
            f"{source}, line {line}: the cost is {cell!r}; allowed is a number from 0 with at most "
            f"{COST_DECIMALS} decimals"
        )
    return cost


def _access(
    frame: pd.DataFrame, rows: list[int]
) -> tuple[tuple[str, ...], Bool[np.ndarray, "g a"]]:
    """Names of the groups in order of appearance, and who may take what."""
    if "groups" not in frame.columns:
        return (EVERYONE,), np.ones((1, len(rows)), dtype=bool)
    named = [[g.strip() for g in frame["groups"].iloc[i].split(";") if g.strip()] for i in rows]
    groups = tuple(dict.fromkeys(g for some in named for g in some))
    if not groups:
        return (EVERYONE,), np.ones((1, len(rows)), dtype=bool)
    return groups, np.array([[not some or g in some for some in named] for g in groups])
