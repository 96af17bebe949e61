"""Variables of an encoded table: numeric columns, and one-hot groups read as one class code each.

All imputation methods (MissForest; chained trees) work on variables, not on columns: a
categorical variable is missing, predicted and filled as a whole. Knows nothing of what the columns
mean, of panels, labels or missingness mechanisms.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.errors import DataError


@dataclass(frozen=True)
class Variables:
    """The v variables of a table with d encoded columns, in the order of their first column.

    Attributes:
        columns: column indices of each variable; numeric variables have exactly one.
        classes: number of classes of each variable, 0 where it is numeric.
    """

    columns: tuple[tuple[int, ...], ...]
    classes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def width(self) -> int:
        """Number of encoded columns d."""
        return sum(len(c) for c in self.columns)

    @property
    def categorical(self) -> Bool[np.ndarray, " v"]:
        """True where a variable is categorical. (v,)"""
        return np.array(self.classes, dtype=np.int64) > 0


def variables_of(width: int, onehot: tuple[tuple[int, ...], ...]) -> Variables:
    """Groups the columns of a table into variables.

    Args:
        width: number of encoded columns d.
        onehot: groups of column indices, each the one-hot code of one categorical variable.

    Raises:
        DataError: a group is empty, names a column outside the table, or shares a column.
    """
    group_of: dict[int, tuple[int, ...]] = {}
    for group in onehot:
        if not group:
            raise DataError("a one-hot group is empty; each needs at least one column")
        for column in group:
            if not 0 <= column < width:
                raise DataError(
                    f"a one-hot group names column {column}; columns are 0 to {width - 1}"
                )
            if column in group_of:
                raise DataError(f"column {column} stands twice in the one-hot groups")
            group_of[column] = group
    columns: list[tuple[int, ...]] = []
    for column in range(width):
        group = group_of.get(column)
        if group is None:
            columns.append((column,))
        elif column == min(group):
            columns.append(group)
    return Variables(tuple(columns), tuple(len(c) if c[0] in group_of else 0 for c in columns))


def compact(values: Float[np.ndarray, "n d"], variables: Variables) -> Float[np.ndarray, "n v"]:
    """Numeric columns as they are, one-hot groups as class codes 0, 1, …; NaN where missing.

    Args:
        values: encoded columns, NaN where missing. (n, d)
        variables: of the same table.

    Raises:
        DataError: a value is infinite, a group is missing in part, or is not a one-hot code.
    """
    if np.isinf(values).any():
        raise DataError("a value is infinite; values are finite, or NaN where missing")
    codes = np.empty((len(values), len(variables)), dtype=np.float64)
    for j, (columns, classes) in enumerate(zip(variables.columns, variables.classes, strict=True)):
        block = values[:, columns]
        if classes == 0:
            codes[:, j] = block[:, 0]
            continue
        missing = np.isnan(block)
        gone = missing.all(axis=1)
        if (missing.any(axis=1) != gone).any():
            raise DataError(f"one-hot columns {columns} are missing in part; they share one fate")
        known = block[~gone]
        if not (((known == 0) | (known == 1)).all() and (known.sum(axis=1) == 1).all()):
            raise DataError(f"a row of the one-hot columns {columns} is not a single 1 among 0s")
        codes[:, j] = np.where(gone, np.nan, block.argmax(axis=1))
    return codes


def expand(codes: Float[np.ndarray, "n v"], variables: Variables) -> Float[np.ndarray, "n d"]:
    """The inverse of `compact` for codes without missing entries. (n, v) → (n, d)"""
    values = np.zeros((len(codes), variables.width), dtype=np.float64)
    rows = np.arange(len(codes))
    for j, (columns, classes) in enumerate(zip(variables.columns, variables.classes, strict=True)):
        if classes == 0:
            values[:, columns[0]] = codes[:, j]
        else:
            values[rows, np.array(columns)[codes[:, j].astype(np.int64)]] = 1.0
    return values


def require_observed(codes: Float[np.ndarray, "n v"], variables: Variables) -> None:
    """Refuses a table that has a variable without any observed value.

    Raises:
        DataError: naming the columns of the first such variable.
    """
    empty = np.flatnonzero(np.isnan(codes).all(axis=0))
    if len(empty):
        columns = ", ".join(str(c) for c in variables.columns[empty[0]])
        raise DataError(f"column {columns} has no observed value; imputation needs at least one")
