"""The page of columns: name, unit and meaning, as every sidecar repeats them."""

from collections.abc import Mapping, Sequence
from importlib import import_module

from frugal.core import columns as shared
from frugal.core.declarations import PACKAGE
from frugal.run.reference.markdown import head, table

_Columns = Mapping[str, tuple[str, str]]
_Patterns = Sequence[tuple[str, tuple[str, str]]]


def columns_page() -> str:
    """Columns of several studies, then of each."""
    parts = [
        head("Columns", "columns"),
        "Columns of all Parquet tables under `results/`. The sidecar beside a table (`_NAME.json`) "
        "has the same for its own columns. Which table holds what: [outputs](outputs.md).\n",
        "## Of several studies\n",
        _rows(shared.COLUMNS, shared.PATTERNS),
    ]
    for path in sorted(PACKAGE.glob("studies/*/columns.py")):
        study = path.parent.name
        own = import_module(f"frugal.studies.{study}.columns")
        title = "Of the shared stages" if study == "shared" else f"Of {study}"
        parts += [f"## {title}\n", _rows(own.COLUMNS, own.PATTERNS)]
    return "\n".join(parts)


def _rows(columns: _Columns, patterns: _Patterns) -> str:
    """Columns by name; of those that are many, the form of their names."""
    rows = [(f"`{name}`", unit, meaning) for name, (unit, meaning) in sorted(columns.items())]
    for pattern, (unit, meaning) in patterns:
        name = pattern.replace("(.+)", "…").replace("\\", "")
        rows.append((f"`{name}`", unit, meaning.format(*["…"] * 9)))
    return table(["column", "unit", "meaning"], rows)
