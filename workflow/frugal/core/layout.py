"""Layout of a table that a policy acts on (columns, panels, classes), and a policy's bundle.

A bundle is a stored agent: named arrays, and a header that names its kind
and the table it was made for. It holds no values of units and no way to decide.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.errors import DataError
from frugal.core.schema_check import listed
from frugal.core.stored import Each, StoredArrays, require_document
from frugal.core.table import OfPanels, Panel, SetUp, Table

_PANEL = {"name": str, "columns": [str], "cost": float, "free": bool}
_HEADER = {
    "kind": str,
    "settings": Each(object),
    "columns": [str],
    "onehot": [[int]],
    "panels": [_PANEL],
    "classes": [str],
    "trained_on": str,
}
_FURTHER = {"set_ups": [{"panels": [str], "cost": float}], "siblings": int}  # where there are
_SHOWN = 60  # characters of a name from a file


@dataclass(frozen=True)
class Layout(OfPanels):
    """Columns, panels and classes of a table; no rows. Shapes: d columns, a panels that cost.

    Attributes:
        columns: names of the encoded columns.
        onehot: groups of column indices, each the one-hot code of one categorical variable.
        panels: in their order.
        classes: names of the classes.
        set_ups: costs that several panels share.
    """

    columns: tuple[str, ...]
    onehot: tuple[tuple[int, ...], ...]
    panels: tuple[Panel, ...]
    classes: tuple[str, ...]
    set_ups: tuple[SetUp, ...] = ()

    @classmethod
    def of(cls, table: Table) -> "Layout":
        """That of a table."""
        return cls(table.columns, table.onehot, table.panels, table.classes, table.set_ups)

    def require_same(self, table: Table, subject: str) -> None:
        """Refuse a table of another layout; costs may differ.

        Args:
            table: on which something made for this layout is to act.
            subject: that something, as the sentence names it.

        Raises:
            DataError: panels, columns (so levels, too) or classes differ; the message names it.
        """
        other = Layout.of(table)
        pairs = (
            ("panels to acquire", [p.name for p in self.actions], [p.name for p in other.actions]),
            ("columns and levels", self.columns, other.columns),
            ("classes", self.classes, other.classes),
        )
        for name, expected, actual in pairs:
            if list(expected) != list(actual):
                raise DataError(
                    f"{subject} was made for the {name} {_difference(expected, actual)}"
                )
        for panel, other_panel in zip(self.actions, other.actions, strict=True):
            if set(panel.columns) != set(other_panel.columns):
                raise DataError(
                    f"{subject} was made for a panel {panel.name[:_SHOWN]!r} of the columns "
                    f"{_difference(panel.columns, other_panel.columns)}"
                )


def _difference(expected: Any, actual: Any) -> str:
    """Both lists as far as they differ."""
    lost = [repr(str(n)[:_SHOWN]) for n in expected if n not in actual][:3]
    new = [repr(str(n)[:_SHOWN]) for n in actual if n not in expected][:3]
    if not lost and not new:
        return "of the table in another order"
    parts = [f"{listed(lost)}, which the table lacks" if lost else ""]
    parts += [f"without the table's {listed(new)}" if new else ""]
    return "; ".join(part for part in parts if part)


@dataclass(frozen=True, eq=False)
class Bundle:
    """An agent as a file holds it.

    Attributes:
        header: `kind`, `settings`, `columns`, `panels`, `classes` and `trained_on` (SHA-256 of the
            rows it learnt from), as plain values.
        arrays: by name.
    """

    header: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]

    def stored(self, source: str) -> StoredArrays:
        """As it is read from a file of that name."""
        return StoredArrays(self.arrays, source, self.header)


def rows_digest(
    table: Table, values: Float[np.ndarray, "n d"], recorded: Bool[np.ndarray, "n a"]
) -> str:
    """SHA-256 of an agent's training data: rows, values as shown, labels, panels recorded."""
    digest = hashlib.sha256()
    for array in (table.row_id, values, table.label, recorded):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def bundle_header(
    kind: str, settings: Mapping[str, Any], layout: Layout, trained_on: str
) -> dict[str, Any]:
    """The header of a bundle; `read_header` is the inverse."""
    panels = [
        {"name": p.name, "columns": list(p.columns), "cost": float(p.cost), "free": p.free}
        for p in layout.panels
    ]
    shared = [{"panels": list(set_up.panels), "cost": set_up.cost} for set_up in layout.set_ups]
    return {
        "kind": kind,
        "settings": dict(settings),
        "columns": list(layout.columns),
        "onehot": [list(group) for group in layout.onehot],
        "panels": panels,
        "classes": list(layout.classes),
        "trained_on": trained_on,
        **({"set_ups": shared} if shared else {}),
    }


def read_header(header: Mapping[str, Any] | None) -> Layout:
    """The layout that a bundle was made for.

    Raises:
        DataError: there is no header, or it has another shape.
    """
    if header is None:
        raise DataError(
            "the stored policy has no header with its kind and its table; train it again"
        )
    further = {key: shape for key, shape in _FURTHER.items() if key in header}
    require_document(header, _HEADER | further, "header of the stored policy")
    panels = tuple(
        Panel(p["name"], tuple(p["columns"]), p["cost"], p["free"]) for p in header["panels"]
    )
    groups = tuple(tuple(group) for group in header["onehot"])
    if any(not 0 <= j < len(header["columns"]) for group in groups for j in group):
        raise DataError("the header of the stored policy names one-hot columns that it lacks")
    set_ups = tuple(SetUp(tuple(s["panels"]), s["cost"]) for s in header.get("set_ups", ()))
    return Layout(tuple(header["columns"]), groups, panels, tuple(header["classes"]), set_ups)
