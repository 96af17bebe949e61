"""To which group a row belongs, and which rows belong together, as a data set's YAML declares it.

Serves judgement by group, and everything that counts rows which belong together as one. Knows no
label, panel or file.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from jaxtyping import Int

from frugal.core.errors import DataError, shown_cell
from frugal.core.table import Belonging
from frugal.data.description import Description
from frugal.data.encoding import class_index
from frugal.data.groups import Classes
from frugal.data.parsing import RawTable, text_column

NOT_RECORDED = "not recorded"  # name of the group of rows whose column has no value
MOST_GROUPS = 20


def belonging_of(raw: RawTable, rows: np.ndarray, description: Description) -> Belonging:
    """Groups and clusters of the kept records.

    Args:
        raw: all records.
        rows: positions of the kept ones. (n,)
        description: of the data set.

    Raises:
        DataError: a column is absent, holds one group or too many, or a row belongs to none.
    """
    missing = description.format.missing if description.format else ()
    raw_names = {column.name: column.raw_name for column in description.columns}
    group, names = _groups(raw, rows, description.told_apart, raw_names, missing)
    cluster = None
    if description.cluster is not None:
        cluster = _clusters(raw, rows, raw_names.get(description.cluster, description.cluster),
                            missing)  # fmt: skip
    return Belonging(group, names, cluster)


def columns_named(description: Description) -> set[str]:
    """Raw columns or features by which rows are told apart or belong together."""
    told = description.told_apart
    named = {told.column if isinstance(told, Classes) else told, description.cluster}
    return {one for one in named if one is not None}


def _groups(
    raw: RawTable,
    rows: np.ndarray,
    told: Classes | str | None,
    raw_names: Mapping[str, str],
    missing: Iterable[str],
) -> tuple[Int[np.ndarray, " n"] | None, tuple[str, ...]]:
    """Index of each row's group, and the names; None without groups."""
    if told is None:
        return None, ()
    if isinstance(told, Classes):
        return class_index(raw, rows, told, missing, key="groups.groups"), told.names
    text = text_column(raw, raw_names.get(told, told), missing, "groups")[rows]
    index, names = pd.factorize(text, sort=True)
    if len(names) > MOST_GROUPS:
        raise DataError(
            f"{raw.source[0]}: column {told!r}, which 'groups' names, holds {len(names)} different "
            f"values; allowed are {MOST_GROUPS}. Write ranges or lists of values: a mapping of "
            "'column' and 'groups'"
        )
    found = [str(name) for name in names]
    if (index < 0).any():
        index = np.where(index < 0, len(found), index)
        found.append(NOT_RECORDED)
    if len(found) < 2:
        raise DataError(
            f"{raw.source[0]}: column {told!r}, which 'groups' names, holds "
            f"{shown_cell(found[0]) if found else 'no value'} alone; "
            "two groups are needed at least"
        )
    return index.astype(np.int64), tuple(found)


def _clusters(
    raw: RawTable, rows: np.ndarray, name: str, missing: Iterable[str]
) -> Int[np.ndarray, " n"]:
    """Number of each row's cluster, in the order in which they come. (n,)"""
    text = text_column(raw, name, missing, "cluster")[rows]
    number, _ = pd.factorize(text)
    if (number < 0).any():
        at = raw.place(int(rows[int((number < 0).argmax())]))
        raise DataError(
            f"{at}: column {name!r}, which 'cluster' names, holds no value; each row must say with "
            "which others it belongs"
        )
    return number.astype(np.int64)
