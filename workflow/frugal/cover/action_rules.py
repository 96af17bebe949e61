"""Rules of a recourse catalogue: which actions ask for others first, and which exclude each other.

Reads the columns `requires` and `excludes`. Knows no unit and no solver.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from frugal.core.errors import DataError
from frugal.core.schema_check import did_you_mean, listed
from frugal.cover.sheets import names_in

Lists = tuple[tuple[int, ...], ...]  # of each action, others by number


@dataclass(frozen=True)
class ActionRules:
    """What holds between actions, whoever takes them.

    Attributes:
        requires: of each action all that it requires, with what these require.
        excludes: of each action those that may not be taken beside it; said of both.
    """

    requires: Lists
    excludes: Lists

    def __bool__(self) -> bool:
        return any(self.requires) or any(self.excludes)


def no_rules(actions: int) -> ActionRules:
    """Every action stands for itself."""
    return ActionRules(((),) * actions, ((),) * actions)


def parse_rules(
    frame: pd.DataFrame, rows: Sequence[int], lines: Sequence[int], source: str
) -> ActionRules:
    """Rules of the actions in these rows; a missing column holds none.

    Raises:
        DataError: a name is no action's, an action names itself, or actions require each other in a
            circle, so that none could be the first.
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
        if both := reached & excludes[i]:
            raise DataError(
                f"{source}, line {lines[i]}: action {names[i]!r} requires and excludes "
                f"{names[min(both)]!r}; remove one of the two"
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
    for i, line, own in zip(rows, lines, names, strict=True):
        some = []
        for name in dict.fromkeys(names_in(str(frame[column].iloc[i]))):
            if name == own:
                raise DataError(f"{source}, line {line}: action {own!r} {column} itself")
            if name not in names:
                raise DataError(
                    f"{source}, line {line}: action {own!r} {column} {name!r}, which is no action "
                    f"of the file{did_you_mean(name, names)}"
                )
            some.append(names.index(name))
        result.append(some)
    return result
