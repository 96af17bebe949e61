"""Records that were made by a protocol, so their probabilities are known.

A protocol has strata of always-known columns, and for each of them sets of panels with the
probability that a case gets the set. Knows no file.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.errors import DataError
from frugal.core.schema_check import listed
from frugal.core.table import Table
from frugal.learn.record_law import KnownLaw


def known_law(
    recorded: Mapping[str, Any], data: Table, observed: Bool[np.ndarray, "n a"]
) -> KnownLaw:
    """The probabilities by which rows were recorded, from a protocol.

    Args:
        recorded: `first_row` and `strata`, as `afape.answer.recorded` of a config.
        data: the table.
        observed: panels that each row holds. (n, a)

    Raises:
        DataError: a row lacks the label, a column is not known of every row, a row is in no
            stratum, a probability is none, or a row holds panels that the protocol does not record
            together.
    """
    if not data.labelled.all():
        raise DataError(
            f"recorded: {int((~data.labelled).sum())} rows lack the label; a protocol is allowed "
            "where every row has one"
        )
    names, strata = [panel.name for panel in data.actions], recorded["strata"]
    designed = data.row_id >= (recorded["first_row"] or 1) - 1
    if not designed.any():
        raise DataError(
            f"recorded: 'first_row' is {recorded['first_row']}, and the table ends with row "
            f"{data.row_id.max() + 1}"
        )
    inside = np.stack([_inside(stratum["where"], data) for stratum in strata])
    stratum = np.where(inside.any(axis=0), inside.argmax(axis=0), -1)
    each = [(k, entry) for k, stratum in enumerate(strata) for entry in stratum["record"]]
    sets = np.array([[name in entry["panels"] for name in names] for _, entry in each])
    chance = np.zeros((len(data), len(each)))
    for c, (k, entry) in enumerate(each):
        of = entry["probability"]
        values = _known(of, data) if isinstance(of, str) else np.full(len(data), float(of))
        chance[:, c] = np.where(stratum == k, values, 0.0)
    _require(designed, data, stratum < 0, "is in no stratum of the protocol")
    wrong = (chance < 0).any(axis=1) | (chance.sum(axis=1) > 1 + 1e-6)
    _require(designed, data, wrong, "has probabilities below 0, or above 1 in sum")
    gappy = ~observed.all(axis=0)
    same = (observed[:, None, gappy] == sets[None, :, gappy]).all(axis=2) & (chance > 0)
    none = ~observed[:, gappy].any(axis=1)
    statement = "holds panels that the protocol does not record together there"
    _require(designed, data, ~(same.any(axis=1) | none), statement)
    return KnownLaw(designed, sets, chance)


def _require(designed: np.ndarray, data: Table, wrong: np.ndarray, statement: str) -> None:
    rows = np.flatnonzero(designed & wrong)
    if len(rows):
        raise DataError(
            f"recorded: {len(rows)} rows of the protocol are not as it states; the first, row "
            f"{data.row_id[rows[0]] + 1} of the file, {statement}"
        )


def _known(column: str, data: Table) -> Float[np.ndarray, " n"]:
    """A column that every row has."""
    complete = data.free_columns & np.isfinite(data.values).all(axis=0)
    names = [name for name, able in zip(data.columns, complete, strict=True) if able]
    if column not in names:
        raise DataError(
            f"recorded: the protocol names column {column!r}; allowed are free columns that "
            f"all rows have: {listed(names)}"
        )
    return data.values[:, data.columns.index(column)]


def _inside(where: Mapping[str, Mapping[str, float]], data: Table) -> Bool[np.ndarray, " n"]:
    """Rows whose columns lie in the ranges. (n,)"""
    inside = np.ones(len(data), dtype=bool)
    for column, ends in where.items():
        values, low, below = _known(column, data), ends.get("from"), ends.get("below")
        inside &= True if low is None else values >= low
        inside &= True if below is None else values < below
    return inside
