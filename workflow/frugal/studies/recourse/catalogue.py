"""A user's own recourse catalogue: actions × features with costs and thresholds, and their units.

Serves the recourse study. Parses text; errors state the fault in one sentence, or why a unit
cannot be covered; knows no solver.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

from frugal.core.errors import DataError, shown_cell
from frugal.core.schema_check import cell_hint, did_you_mean, listed
from frugal.studies.recourse.instance import CoverInstance
from frugal.studies.recourse.sheets import (
    Sheet,
    names_in,
    price_of,
    require_column,
    require_names,
    whole_numbers,
)

Lists = tuple[tuple[int, ...], ...]  # of each action, others by number


@dataclass(frozen=True)
class ActionRules:
    """Rules between actions, for all units.

    Attributes:
        requires: of each action all that it requires, with all that these require.
        excludes: of each action those that may not be combined with it; symmetric.
    """

    requires: Lists
    excludes: Lists

    def __bool__(self) -> bool:
        return any(self.requires) or any(self.excludes)


def parse_rules(
    frame: pd.DataFrame, rows: Sequence[int], lines: Sequence[int], source: str
) -> ActionRules:
    """Rules of the actions in these rows; a missing column holds none.

    Raises:
        DataError: a name is no action's, an action names itself, or actions require each other in a
            circle, so none could be the first.
    """
    names = [str(frame["action"].iloc[i]) for i in rows]
    direct = _named(frame, rows, lines, names, "requires", source)
    excludes = [set(some) for some in _named(frame, rows, lines, names, "excludes", source)]
    for i, some in enumerate([set(s) for s in excludes]):
        for j in some:
            excludes[j].add(i)
    requires = []
    for i in range(len(names)):
        reached, left = set[int](), list(direct[i])
        while left:
            j = left.pop()
            if j not in reached:
                reached.add(j)
                left += direct[j]
        if i in reached:
            raise DataError(
                f"{source}, line {lines[i]}: action {names[i]!r} requires "
                f"{listed([names[j] for j in direct[i]])}, which in the end requires "
                f"{names[i]!r}: none of them could be the first"
            )
        if contradictory := reached & excludes[i]:
            raise DataError(
                f"{source}, line {lines[i]}: action {names[i]!r} requires and excludes "
                f"{names[min(contradictory)]!r}; remove one of the two"
            )
        requires.append(tuple(sorted(reached)))
    return ActionRules(tuple(requires), tuple(tuple(sorted(some)) for some in excludes))


def _named(
    frame: pd.DataFrame,
    rows: Sequence[int],
    lines: Sequence[int],
    names: Sequence[str],
    column: str,
    source: str,
) -> list[list[int]]:
    """Numbers of the actions that each action names in a column."""
    if column not in frame.columns:
        return [[] for _ in rows]
    result = []
    for i, line, action in zip(rows, lines, names, strict=True):
        some = []
        for name in dict.fromkeys(names_in(str(frame[column].iloc[i]))):
            if name == action:
                raise DataError(f"{source}, line {line}: action {action!r} {column} itself")
            if name not in names:
                raise DataError(
                    f"{source}, line {line}: action {action!r} {column} {name!r}, which is no "
                    f"action of the file{did_you_mean(name, names)}"
                )
            some.append(names.index(name))
        result.append(some)
    return result


_THRESHOLD_ROW = "threshold"
_RESERVED = ("action", "cost", "groups", "requires", "excludes")  # columns that are no features
EVERYONE = "everyone"


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Named actions over named features.

    Attributes:
        actions: names, in the order of the instance's rows.
        features: names, in the order of its columns.
        groups: names of the groups of units; `everyone` alone where the catalogue has none.
        instance: costs, provided amounts, thresholds and access.
        rules: required and excluded actions; None where the catalogue has no such columns.
    """

    actions: tuple[str, ...]
    features: tuple[str, ...]
    groups: tuple[str, ...]
    instance: CoverInstance
    rules: ActionRules | None = None


def catalogue_of(sheet: Sheet, *, source: str) -> Catalogue:
    """A catalogue from its cells; in a CSV, lines with `#` above the column names are comments.

    Columns: `action`, `cost`, optionally `groups` (names separated by `;`, empty means all),
    `requires` and `excludes` (names of actions, separated by `;`), then one column per feature with
    the whole number that the action adds to it. One row is named
    `threshold`: its cost is empty, and it holds each feature's amount for a positive decision.

    Raises:
        DataError: a column, the threshold row or a number is missing or wrong; which, and where.
    """
    frame, lines = sheet
    for needed in ("action", "cost"):
        require_column(frame, needed, source)
    features = tuple(str(c) for c in frame.columns if c not in _RESERVED)
    if not features:
        raise DataError(f"{source} has no feature columns besides action, cost and groups")
    names = [str(v) for v in frame["action"]]
    require_names(names, lines, "action", source)
    for name, line in zip(names, lines, strict=True):
        if ";" in name:
            raise DataError(
                f"{source}, line {line}: action {name!r} has a ';', which separates the actions of "
                "an answer; use another character"
            )
    if _THRESHOLD_ROW not in names:
        raise DataError(
            f"{source} has no row named 'threshold', which holds the need of each feature"
        )
    numbers = whole_numbers(frame, features, lines, source)
    at = names.index(_THRESHOLD_ROW)
    if str(frame["cost"].iloc[at]):
        raise DataError(f"{source}, line {lines[at]}: the threshold row has a cost; leave it empty")
    for column in ("groups", "requires", "excludes"):
        if column in frame.columns and str(frame[column].iloc[at]):
            raise DataError(
                f"{source}, line {lines[at]}: the threshold row has {column} "
                f"({str(frame[column].iloc[at])!r}); the need of a feature holds for everyone, so "
                "leave them empty"
            )
    rows = [i for i in range(len(names)) if i != at]
    if not rows:
        raise DataError(f"{source} holds thresholds and no action")
    groups, access = _access(frame, rows)
    cost = np.array([price_of(str(frame["cost"].iloc[i]), int(lines[i]), source) for i in rows])
    try:
        instance = CoverInstance(
            cost=cost, provides=numbers[rows], thresholds=numbers[at], access=access
        )
    except DataError as error:
        raise DataError(f"{source}: {error}") from None
    rules = parse_rules(frame, rows, [int(lines[i]) for i in rows], source)
    return Catalogue(tuple(names[i] for i in rows), features, groups, instance, rules)


def units_of(
    sheet: Sheet, catalogue: Catalogue, *, source: str
) -> tuple[tuple[str, ...], Int[np.ndarray, "n d"], Int[np.ndarray, " n"]]:
    """Units from cells: `unit`, `group` (where the catalogue has groups), and every feature.

    Returns:
        names, features as whole numbers in the catalogue's order (n, d), and groups (n,).

    Raises:
        DataError: a column is missing, a unit has no name or that of another, a group is unknown,
            or a cell is no whole number from 0.
    """
    frame, lines = sheet
    grouped = catalogue.groups != (EVERYONE,)
    for needed in ("unit", *catalogue.features, *(["group"] if grouped else [])):
        require_column(frame, needed, source)
    names = tuple(str(u) for u in frame["unit"])
    require_names(names, lines, "unit", source)
    features = whole_numbers(frame, catalogue.features, lines, source)
    group = np.zeros(len(frame), dtype=np.int64)
    if grouped:
        for i, name in enumerate(frame["group"]):
            if name not in catalogue.groups:
                raise DataError(
                    f"{source}, line {lines[i]}: group {shown_cell(name)} is not in the "
                    f"catalogue, which has {listed(catalogue.groups)}"
                    f"{cell_hint(name, catalogue.groups)}"
                )
            group[i] = catalogue.groups.index(name)
    return names, features, group


def group_warnings(
    units: Sheet, group: Int[np.ndarray, " n"], catalogue: Catalogue, *, source: str, of_units: str
) -> list[str]:
    """Groups that occur on one side only: allowed, but likely misspelt; a sentence each.

    A unit's group that no action names is refused by `units_of`, unless no action names any.

    Args:
        units: the cells that `units_of` read.
        group: of each unit. (n,)
        catalogue: its names of groups.
        source: name of the catalogue's file.
        of_units: name of the units' file.
    """
    frame, _ = units
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


def _access(
    frame: pd.DataFrame, rows: list[int]
) -> tuple[tuple[str, ...], Bool[np.ndarray, "g a"]]:
    """Names of the groups in order of appearance, and the actions of each group."""
    if "groups" not in frame.columns:
        return (EVERYONE,), np.ones((1, len(rows)), dtype=bool)
    named = [names_in(frame["groups"].iloc[i]) for i in rows]
    groups = tuple(dict.fromkeys(g for some in named for g in some))
    if not groups:
        return (EVERYONE,), np.ones((1, len(rows)), dtype=bool)
    return groups, np.array([[not some or g in some for some in named] for g in groups])
