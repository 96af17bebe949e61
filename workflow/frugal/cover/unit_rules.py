"""What holds for one unit alone: actions it must or may not take, its prices, its limits.

Read from columns of the units' table beside the features. Knows no solver.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.errors import DataError, shown_cell
from frugal.core.schema_check import cell_hint, did_you_mean
from frugal.cover.catalogue import Catalogue
from frugal.cover.sheets import Sheet, names_in, price_of

PRICE = "cost:"  # cost:NAME is what the action NAME costs this unit
COLUMNS = ("forbidden", "required", "budget", "at_most")


@dataclass(frozen=True, eq=False)
class UnitRules:
    """Rules of each unit. Shapes: n units, a actions.

    Attributes:
        required: True where the unit takes the action in any case. (n, a)
        forbidden: True where it may not take it. (n, a)
        cost: what each action costs each unit, unit of the catalogue. (n, a)
        budget: what its set may cost; ∞ for no limit. (n,)
        at_most: how many actions it may take. (n,)
    """

    required: Bool[np.ndarray, "n a"]
    forbidden: Bool[np.ndarray, "n a"]
    cost: Float[np.ndarray, "n a"]
    budget: Float[np.ndarray, " n"]
    at_most: Int[np.ndarray, " n"]

    def take(self, rows: Int[np.ndarray, " m"]) -> "UnitRules":
        """The same rules restricted to units; a unit may stand there more than once."""
        return UnitRules(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True)
class RulesForAll:
    """The same for every unit, as on a command line; stricter of the two holds."""

    required: Sequence[str] = ()
    forbidden: Sequence[str] = ()
    budget: float = np.inf
    at_most: int | None = None


def rules_of(sheet: Sheet, catalogue: Catalogue, for_all: RulesForAll, *, source: str) -> UnitRules:
    """Rules of the units, from their own columns and from what holds for all.

    Columns, each optional: `forbidden` and `required` (names of actions, separated by `;`),
    `budget`, `at_most`, and `cost:NAME` for a price of one's own (empty: the catalogue's).

    Raises:
        DataError: a name is no action's, an action is required and forbidden, or a number is none.
    """
    frame, lines = sheet
    n, a = len(frame), len(catalogue.actions)
    cells = {name: [str(v) for v in frame[name]] for name in rule_columns(sheet, catalogue)}
    member = {}
    for column, common in (("required", for_all.required), ("forbidden", for_all.forbidden)):
        taken = np.zeros((n, a), dtype=bool)
        taken[:, [_number(name, catalogue, f"--{column}") for name in common]] = True
        for u, cell in enumerate(cells.get(column, ())):
            where = f"{source}, line {lines[u]}: column {column!r}"
            taken[u, [_number(name, catalogue, where) for name in names_in(cell)]] = True
        member[column] = taken
    both = member["required"] & member["forbidden"]
    if both.any():
        u, i = (int(v) for v in np.argwhere(both)[0])
        raise DataError(
            f"{source}, line {lines[u]}: action {catalogue.actions[i]!r} is required and forbidden"
        )
    budget = np.full(n, for_all.budget)
    at_most = np.full(n, a if for_all.at_most is None else for_all.at_most)
    for u, cell in enumerate(cells.get("budget", ())):
        if cell:
            own = price_of(cell, int(lines[u]), source, what="the budget")
            budget[u] = min(budget[u], own)
    for u, cell in enumerate(cells.get("at_most", ())):
        if cell:
            if not (cell.isascii() and cell.isdigit()):
                raise DataError(
                    f"{source}, line {lines[u]}: column 'at_most' holds {shown_cell(cell)}; "
                    "allowed is a whole number from 0"
                )
            at_most[u] = min(at_most[u], int(cell))
    cost = np.tile(catalogue.instance.cost, (n, 1))
    for column in (name for name in cells if name.startswith(PRICE)):
        i = _number(column.removeprefix(PRICE), catalogue, f"{source}: column {column!r}")
        for u, cell in enumerate(cells[column]):
            if cell:
                cost[u, i] = price_of(cell, int(lines[u]), source, what=f"{column!r}")
    return UnitRules(member["required"], member["forbidden"], cost, budget, at_most)


def rule_columns(sheet: Sheet, catalogue: Catalogue) -> list[str]:
    """Columns that hold rules; a feature of such a name stays a feature."""
    names = [str(name) for name in sheet[0].columns if name not in catalogue.features]
    return [name for name in names if name in COLUMNS or name.startswith(PRICE)]


def unread_columns(sheet: Sheet, catalogue: Catalogue, *, source: str) -> list[str]:
    """A sentence for each column that nothing reads: it may be misspelt."""
    known = ["unit", "group", *catalogue.features, *rule_columns(sheet, catalogue)]
    return [
        f"{source}: column {name!r} is not read{did_you_mean(str(name), [*known, *COLUMNS])}"
        for name in sheet[0].columns
        if name not in known
    ]


def _number(name: str, catalogue: Catalogue, where: str) -> int:
    if name not in catalogue.actions:
        raise DataError(
            f"{where} names {shown_cell(name)}, which is no action of the catalogue"
            f"{cell_hint(name, catalogue.actions)}"
        )
    return catalogue.actions.index(name)
