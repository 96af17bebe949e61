"""A policy as a data dictionary of REDCap: panels as questions, each shown where it is ordered.

Only for policies whose orders follow from answers by conditions. Knows no kind.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from frugal.acquire.bundles import CaseBundle
from frugal.acquire.exports.expressions import Expressions
from frugal.acquire.exports.rules import form_rules

HEADER = (
    *("Variable / Field Name", "Form Name", "Section Header", "Field Type", "Field Label"),
    *("Choices, Calculations, OR Slider Labels", "Field Note"),
    "Text Validation Type OR Show Slider Number",
    *("Text Validation Min", "Text Validation Max", "Identifier?"),
    "Branching Logic (Show field only if...)",
    *("Required Field?", "Custom Alignment", "Question Number (surveys only)"),
    *("Matrix Group Name", "Matrix Ranking?", "Field Annotation"),
)
_LONGEST = 26  # letters of a name of a field
_FORM = "panels"


def redcap_file(bundle: CaseBundle) -> bytes:
    """The dictionary as a CSV.

    Raises:
        DataError: the policy is of another kind, or decides by predicted probabilities.
    """
    rules = form_rules(bundle)
    fields, columns = _fields(rules["columns"]), rules["columns"]
    logic, by_panel = Logic(rules, fields), {j for p in rules["panels"] for j in p["columns"]}
    free = [j for j in range(len(columns)) if j not in by_panel]
    asked = [_record_id(), *(_field(fields[j], columns[j], "", "") for j in free)]
    done = {*free}
    for panel, step in ((rules["panels"][j], rules["shown"][j]) for j in rules["order"]):
        condition = "" if rules["steps"][step] == ("truth", True) else logic.where(step)
        section = f"{panel['name']} ({panel['price']:g} {rules['cost_unit']})"
        for j in panel["columns"]:
            if j not in done:
                asked.append(_field(fields[j], columns[j], section, condition))
                section = ""
            done.add(j)
    text = io.StringIO()
    writer = csv.DictWriter(text, HEADER, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(asked)
    return text.getvalue().encode()


class Logic(Expressions):
    """Branching logic of steps, with the fields of the columns."""

    guards = True
    both, either = " and ", " or "

    def __init__(self, rules: Mapping[str, Any], fields: Sequence[str]) -> None:
        super().__init__(rules)
        self.fields = fields

    def literal(self, number: float | int) -> str:
        """See `Expressions`."""
        return f"{number:.15g}"

    def cell(self, column: int) -> str:
        """See `Expressions`."""
        return f"[{self.fields[column]}]"

    def level(self, column: int, level: str, holds: bool) -> str:
        """See `Expressions`."""
        code = self.rules["columns"][column]["levels"].index(level) + 1
        return f"{self.cell(column)} {'=' if holds else '<>'} '{code}'"

    def has(self, column: int, holds: bool) -> str:
        """See `Expressions`."""
        return self.is_unknown(self.cell(column), not holds)

    def is_unknown(self, text: str, holds: bool) -> str:
        """See `Expressions`."""
        return f"{text} {'=' if holds else '<>'} ''"

    def unknown(self) -> str:
        """See `Expressions`."""
        return "''"

    def chosen(self, condition: str, yes: str, no: str) -> str:
        """See `Expressions`."""
        return f"if({condition}, {yes}, {no})"

    def trees(self, at: int) -> str:
        """See `Expressions`; `form_rules` leaves none."""
        raise NotImplementedError


def _fields(columns: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of fields: small letters, digits and underscores, each another."""
    fields: list[str] = []
    for column in columns:
        plain = re.sub(r"[^a-z0-9]+", "_", column["name"].lower()).strip("_")
        name = (plain if plain[:1].isalpha() else f"x_{plain}")[:_LONGEST].rstrip("_")
        taken = {"record_id", *fields}
        fields.append(
            next(n for k in range(1000) if (n := f"{name}_{k}" if k else name) not in taken)
        )
    return fields


def _record_id() -> dict[str, str]:
    return {HEADER[0]: "record_id", HEADER[1]: _FORM, HEADER[3]: "text", HEADER[4]: "Case"}


def _field(name: str, column: Mapping[str, Any], section: str, condition: str) -> dict[str, str]:
    """A question of a column."""
    unit = "" if column["unit"] in ("", "1") else f" ({column['unit']})"
    low, high = column.get("range") or ("", "")
    number = column["type"] == "number"
    choices = enumerate(column.get("levels", ()), 1)
    cells = (
        *(name, _FORM, section, "text" if number else "radio", f"{column['name']}{unit}"),
        *(" | ".join(f"{k}, {level.replace('|', '/')}" for k, level in choices), ""),
        *("number" if number else "", str(low), str(high), "", condition),
    )
    return dict(zip(HEADER, cells, strict=False))
