"""Several tables of one kind as a stage's input, read one at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frugal.core.errors import DataError
from frugal.core.portions import ROWS
from frugal.core.rows import Rows, joined_rows

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Partitions:
    """Tables told apart by the `key=value` folders of their paths.

    A stage that annotates an input with this holds one table in memory, not all.

    Attributes:
        folders: key → value of each table, in the order given.
        open: the k-th table, read when it is asked.
    """

    folders: Sequence[Mapping[str, str]]
    open: Callable[[int], Rows]

    def values(self, key: str) -> list[str]:
        """The values of a key, each once, in the order of the tables.

        Raises:
            DataError: a table has no such folder.
        """
        if any(key not in folders for folders in self.folders):
            raise DataError(f"a table was given that lies in no folder {key}=…")
        return list(dict.fromkeys(folders[key] for folders in self.folders))

    def where(self, key: str, value: str) -> "Partitions":
        """The tables with that value."""
        found = [k for k, folders in enumerate(self.folders) if folders.get(key) == value]
        return Partitions([self.folders[k] for k in found], lambda k: self.open(found[k]))

    def rows(self, key: str, value: str) -> Rows:
        """The only table with that value, or the one that portions of rows make together.

        Raises:
            DataError: there is none, or there are several.
        """
        found = self.where(key, value)
        names = [folders.get(ROWS) for folders in found.folders]
        if not names or (len(names) > 1 and len(set(names) - {None}) < len(names)):
            raise DataError(f"{len(names)} tables were given for {key}={value}; allowed is one")
        return joined_rows([found.open(k) for k in range(len(names))])

    def table(self, key: str, value: str) -> "pd.DataFrame":
        """The same as a frame.

        Raises:
            DataError: as `rows`.
        """
        return self.rows(key, value).read()
