"""How new cases are read: a document made from the description and the table of a policy.

It is made once and kept next to the policy, so nothing else is needed later. Knows no policy
and no costs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.errors import DataError
from frugal.core.stored import Each, OrNull, require_document
from frugal.core.table import Table
from frugal.data.description import Column, Description
from frugal.data.monitoring import counts_of, edges_of

CASES = {
    "columns": [
        {
            "name": str,
            "from": str,
            "type": str,
            "unit": str,
            "levels": OrNull([str]),
            "missing_level": OrNull(str),
            "recode": Each(str),
            "codes": [float],
            "instead": float,
            "valid": OrNull([float]),
            "low": OrNull(float),
            "high": OrNull(float),
            "seen": [str],
            "edges": [float],
            "counts": [float],
        }
    ],
    "panels": [{"name": str, "columns": [str], "free": bool}],
    "missing": [str],
    "strip": bool,
    "decimal": str,
    "thousands": OrNull(str),
    "missing_values": str,
    "ignored": [str],
}
FEES = [{"panel": str, "column": str, "waiting": float}]  # prices of each case, if there are any
JUDGES = "test"  # the part that no training sees


@dataclass(frozen=True, eq=False)
class TableColumns:
    """A table of which one column is read at a time.

    Attributes:
        layout: its columns and panels; its rows are not read.
        trained: True for the rows that training saw. (n,)
        column: values of an encoded column. (n,)
    """

    layout: Table
    trained: Bool[np.ndarray, " n"]
    column: Callable[[str], Float[np.ndarray, " n"]]

    @classmethod
    def of(cls, table: Table, part: np.ndarray) -> "TableColumns":
        """A table in memory; training saw all but its test part."""
        return cls(table, part != JUDGES, lambda name: table.values[:, table.columns.index(name)])


def case_document(
    description: Description, table: TableColumns, catalogue: Mapping[str, Any]
) -> dict[str, Any]:
    """How a file of new cases is read, as plain values.

    Args:
        description: of the table.
        table: the encoded table; panels that it lacks are left out.
        catalogue: of the table; it lists the columns of its file that are no features.
    """
    layout, columns, start = table.layout, [], 0
    free = {name for panel in description.panels if panel.free for name in panel.columns}
    for column in description.columns:
        width, levels = _width(column, layout, start)
        if width:
            names = layout.columns[start : start + width]
            cells = np.column_stack([table.column(name)[table.trained] for name in names])
            first = table.column(names[0])
            columns.append(
                _column_document(column, levels, cells, first, monitored=column.name in free)
            )
            start += width
    present = {column["name"] for column in columns}
    form = description.format
    fees = [
        {"panel": p.name, "column": p.fee, "waiting": float(p.delay * description.waiting_cost)}
        for p in description.panels
        if p.fee is not None and p.fee in present
    ]
    return {
        "columns": columns,
        "panels": [
            {"name": p.name, "columns": [c for c in p.columns if c in present], "free": p.free}
            for p in description.panels
            if any(p.name == panel.name for panel in layout.panels)
        ],
        "missing": [] if form is None else list(form.missing),
        "strip": form is None or form.kind != "csv" or form.strip,
        "decimal": "." if form is None else form.decimal,
        "thousands": None if form is None else form.thousands,
        "missing_values": description.missing_values,
        "ignored": list(catalogue["report"].get("no_features", ())),
    } | ({"fees": fees} if fees else {})


def no_features(description: Description, left_out: Sequence[str]) -> list[str]:
    """Columns of the files that are no features: those left out, and those read for other things.

    Args:
        description: as the table was read by it, with the changes by a question.
        left_out: columns that nothing reads.
    """
    label, groups = description.label, description.groups
    named = {label.column, label.meaning.by, description.source.join}
    named |= set() if label.rule is None else {*label.rule.columns}
    named |= description.apart_columns | {rule.column for rule in description.drop_rows}
    named |= set() if groups is None else {groups.column, groups.by}
    named |= set() if description.format is None else {*description.format.personal}
    return sorted({name for name in named if name is not None} | {*left_out})


def _width(column: Column, table: Table, start: int) -> tuple[int, tuple[str, ...] | None]:
    """Encoded columns that a column became from `start` on, 0 for none, and its levels."""
    if column.kind == "numeric":
        is_encoded = table.columns[start : start + 1] == (column.name,)
        return (1 + len(column.special_values) if is_encoded else 0), None
    group = next((group for group in table.onehot if group and group[0] == start), ())
    names = [table.columns[j] for j in group]
    if not names or not all(name.startswith(f"{column.name}=") for name in names):
        return 0, None
    return len(names), tuple(name.removeprefix(f"{column.name}=") for name in names)


def _column_document(
    column: Column,
    levels: tuple[str, ...] | None,
    cells: Float[np.ndarray, "m c"],
    values: Float[np.ndarray, " n"],
    *,
    monitored: bool,
) -> dict[str, Any]:
    """One column: how it is read, and its values in training.

    Args:
        column: as described.
        levels: of a category.
        cells: its encoded columns in the rows that training saw.
        values: its first encoded column in all rows.
        monitored: whether it is known at the start, so new cases are compared with it.
    """
    codes = [float(code) for code, _ in column.special_values]
    occurs = np.nansum(cells[:, 0 if levels is not None else 1 :], axis=0) > 0
    low = high = None
    instead = 0.0
    edges: list[float] = []
    if levels is None:
        regular = cells[~(cells[:, 1:] == 1).any(axis=1), 0]
        regular = regular[~np.isnan(regular)]
        if regular.size:
            low, high = float(regular.min()), float(regular.max())
            edges = edges_of(regular) if monitored else []
    names = levels if levels is not None else [f"{code:g}" for code in codes]
    if codes:
        instead = float(np.nanmedian(values))  # codes were given the median: it stays one
    return {
        "name": column.name,
        "from": column.raw_name,
        "type": column.kind,
        "unit": column.unit,
        "levels": None if levels is None else list(levels),
        "missing_level": column.missing_level,
        "recode": dict(column.recode),
        "codes": codes,
        "instead": instead,
        "valid": None if column.valid is None else list(column.valid),
        "low": low,
        "high": high,
        "seen": [name for name, yes in zip(names, occurs, strict=True) if yes],
        "edges": edges,
        "counts": counts_of(cells, edges, numeric=levels is None).astype(float).tolist()
        if monitored
        else [],
    }


def require_case_document(document: Any) -> Mapping[str, Any]:
    """The document, if it is one.

    Raises:
        DataError: it has another shape, or contradicts itself.
    """
    shape = CASES | ({"fees": FEES} if isinstance(document, dict) and "fees" in document else {})
    require_document(document, shape, "description of cases")
    names = {entry["name"] for entry in document["columns"]}
    for fee in document.get("fees", ()):
        if fee["panel"] not in {panel["name"] for panel in document["panels"]}:
            raise DataError(
                f"the stored description of cases lacks the panel {fee['panel'][:60]!r}"
            )
        if fee["column"] not in {c["name"] for c in document["columns"] if c["levels"] is None}:
            raise DataError(
                f"the stored description of cases lacks the numeric column {fee['column'][:60]!r}, "
                "which has prices of cases"
            )
    for entry in document["columns"]:
        levels, valid = entry["levels"], entry["valid"]
        if entry["type"] not in ("numeric", "categorical"):
            raise DataError(
                f"the stored description of cases has a column of type {entry['type'][:60]!r}; "
                "allowed are numeric, categorical"
            )
        if (levels is not None) != (entry["type"] == "categorical") or len(valid or (0, 0)) != 2:
            raise DataError(
                f"the stored description of cases has levels or a valid range of the column "
                f"{entry['name'][:60]!r} that its type {entry['type'][:60]!r} does not have"
            )
        bins = len(entry["edges"]) + 1 + len(entry["codes"] if levels is None else levels)
        if entry["counts"] and len(entry["counts"]) != bins:
            raise DataError(
                f"the stored description of cases has {len(entry['counts'])} counts of the column "
                f"{entry['name'][:60]!r}; its bins are {bins}"
            )
    for panel in document["panels"]:
        if unknown := [name for name in panel["columns"] if name not in names]:
            raise DataError(
                f"the stored description of cases has a panel of the column {unknown[0][:60]!r}, "
                "which it does not describe"
            )
    return document


def encoded_names(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns that a case becomes."""
    names: list[str] = []
    for entry in document["columns"]:
        name, levels = entry["name"], entry["levels"]
        if levels is None:
            names += [name, *(f"{name}={code:g}" for code in entry["codes"])]
        else:
            names += [f"{name}={level}" for level in levels]
    return tuple(names)
