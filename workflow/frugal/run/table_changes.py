"""What moved between two versions of a file: rows, columns and numbers, in sentences.

Knows how rows of the tables of results are told apart; must not know what made a file.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.results.files import read_payload

# Columns that say which row it is, in the order in which they are shown; a table has some of them.
IDENTITY = (
    *("dataset", "mechanism", "variant", "subset", "method", "agent", "generator", "grid"),
    *("family", "criterion", "encoder", "imputer", "pair", "setting", "split", "score"),
    *("target", "learner", "network", "stratum", "iteration", "steps"),
    *("planner", "outcome_model", "bound", "n_train", "threshold", "lambda", "rho", "gamma"),
    *("estimator", "world", "view", "nuisance", "panel", "facet", "series", "group", "parameter"),
    *("fold", "seed", "draw", "resample", "epoch", "round", "bin", "actions", "row_id", "patient"),
    *("context", "step", "trial", "trials", "history_index"),
)


DRAWN = (".png", ".pdf", ".html")  # what a table beside it holds in numbers


def file_changes(a: Path, b: Path) -> list[str]:
    """What differs between two files of one kind, a sentence each; by their suffix.

    Raises:
        DataError: one of them is not what its suffix says.
    """
    if a.suffix == ".parquet":
        return table_changes(read_payload(a), read_payload(b))
    if a.suffix == ".json":
        return list(document_changes(read_payload(a), read_payload(b)))
    if a.suffix == ".safetensors":
        return list(array_changes(read_payload(a), read_payload(b)))
    if a.suffix in DRAWN:
        return [
            "the drawing or page differs; the table of the same name beside it holds its numbers"
        ]
    return [f"{a.stat().st_size} bytes and {b.stat().st_size} bytes"]


def table_changes(a: pd.DataFrame, b: pd.DataFrame) -> list[str]:
    """Columns and rows that only one table has, and how far each shared column moved.

    Rows are matched by the columns of `IDENTITY` that both have; where these repeat, in order.
    """
    said = [
        f"columns only in {side}: {', '.join(map(str, only))}"
        for side, only in (("A", a.columns.difference(b.columns, sort=False)), ("B", _only(b, a)))
        if len(only)
    ]
    keys = [name for name in IDENTITY if name in a.columns and name in b.columns]
    left, right = _matched(a, b, keys)
    if len(left) < max(len(a), len(b)):
        said.append(
            f"rows: {len(a) - len(left)} only in A, {len(b) - len(right)} only in B, "
            f"{len(left)} in both"
        )
    for name in left.columns:
        if name in right.columns and name not in keys:
            said += _column_changes(str(name), left, right, keys)
    return said or ["the same values, written otherwise (order of rows, or types)"]


def document_changes(a: Any, b: Any) -> Iterator[str]:
    """Every leaf of a JSON document that differs: `key: old → new`."""
    for key, (old, new) in leaf_changes(a, b).items():
        yield f"{key or 'document'}: {shown(old)} → {shown(new)}"


def array_changes(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> Iterator[str]:
    """How far each array of a safetensors file moved."""
    for name in sorted({*a, *b}):
        if name not in a or name not in b:
            yield f"array {name}: only in {'A' if name in a else 'B'}"
        elif a[name].shape != b[name].shape:
            yield f"array {name}: shape {a[name].shape} → {b[name].shape}"
        elif (moved := a[name] != b[name]).any():
            far = np.abs(a[name].astype(np.float64) - b[name].astype(np.float64)).max()
            yield f"array {name}: {moved.sum()} of {moved.size} values, most by {far:.6g}"


class _Lacking:
    """Stands for a value that one side does not have."""

    def __repr__(self) -> str:
        return "nothing"


LACKING = _Lacking()


def leaf_changes(a: Any, b: Any, at: str = "") -> dict[str, tuple[Any, Any]]:
    """Dotted key → (value in a, value in b) of every leaf that differs."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        pairs = [(f"{at}.{k}" if at else str(k), k) for k in dict.fromkeys([*a, *b])]
        parts = (leaf_changes(a.get(k, LACKING), b.get(k, LACKING), name) for name, k in pairs)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        parts = (
            leaf_changes(x, y, f"{at}[{k}]") for k, (x, y) in enumerate(zip(a, b, strict=True))
        )
    else:
        return {} if type(a) is type(b) and a == b else {at: (a, b)}
    return {key: pair for part in parts for key, pair in part.items()}


def shown(value: Any, at_most: int = 80) -> str:
    """A value on one line; a long one loses its middle."""
    text = repr(value) if isinstance(value, _Lacking) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= at_most else f"{text[: at_most - 20]}…{text[-15:]}"


def row_name(row: Mapping[Any, Any], keys: Iterable[str]) -> str:
    """`agent=never, seed=0`: which row it is."""
    return ", ".join(f"{key}={row[key]}" for key in keys)


def _only(a: pd.DataFrame, b: pd.DataFrame) -> pd.Index:
    return a.columns.difference(b.columns, sort=False)


def _matched(
    a: pd.DataFrame, b: pd.DataFrame, keys: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows that both have, in the order of the first."""
    if not keys:
        both = min(len(a), len(b))
        return a.head(both), b.head(both)
    indexed = []
    for table in (a, b):
        plain = table.astype(dict.fromkeys(keys, object))  # categories hide equal values
        turn = plain.groupby(keys, dropna=False, sort=False).cumcount()
        index = pd.MultiIndex.from_arrays([*(plain[key] for key in keys), turn])
        indexed.append(plain.set_axis(index, axis=0))
    common = indexed[0].index.intersection(indexed[1].index, sort=False)
    return tuple(t.loc[common].reset_index(drop=True) for t in indexed)  # type: ignore[return-value]


def _column_changes(
    name: str, left: pd.DataFrame, right: pd.DataFrame, keys: list[str]
) -> list[str]:
    """One sentence if the column moved, with the row where it moved most."""
    old, new = left[name], right[name]
    numeric = all(pd.api.types.is_numeric_dtype(c) for c in (old, new))
    if not numeric:
        old, new = old.astype(object), new.astype(object)
    moved = ((old != new) & ~(old.isna() & new.isna())).to_numpy(dtype=bool)
    if not moved.any():
        return []
    rows = np.flatnonzero(moved)
    if numeric:
        gap = np.abs(new.to_numpy(np.float64)[rows] - old.to_numpy(np.float64)[rows])
        where = int(rows[np.argmax(np.where(np.isnan(gap), np.inf, gap))])  # a lost number is most
    else:
        where = int(rows[0])
    row = row_name(left.iloc[where].to_dict(), keys) or f"row {where}"
    most = "most" if numeric and len(rows) > 1 else "first" if len(rows) > 1 else "it is"
    return [
        f"{name}: {len(rows)} of {len(left)} rows, {most} {_cell(old[where])} → "
        f"{_cell(new[where])} where {row}"
    ]


def _cell(value: Any) -> str:
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "empty"
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
