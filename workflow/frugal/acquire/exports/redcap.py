"""A policy as a data dictionary of REDCap: panels as questions, each shown where it is ordered.

Only for policies whose orders follow from answers by conditions. Knows no kind.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from frugal.acquire.bundles import CaseBundle
from frugal.acquire.exports.expressions import Expressions, Language
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
    columns, fields = rules["columns"], _fields(rules["columns"])

    def level(column: int, name: str, holds: bool) -> str:
        code = columns[column]["levels"].index(name) + 1
        return f"[{fields[column]}] {'=' if holds else '<>'} '{code}'"

    logic = Language(
        number="{:.15g}".format,
        cell=lambda column: f"[{fields[column]}]",
        level=level,
        choice="if({}, {}, {})".format,
        no_value="''",
        lacks=(" <> ''", " = ''"),
        joins=(" and ", " or "),
        guards=True,
    )
    write, priced = Expressions(rules, logic), {j for p in rules["panels"] for j in p["columns"]}
    questions = [("", "", j) for j in range(len(columns)) if j not in priced]
    for k in rules["order"]:
        panel, step = rules["panels"][k], rules["shown"][k]
        condition = write.where(step) if rules["steps"][step][0] != "truth" else ""
        section = f"{panel['name']} ({panel['price']:g} {rules['cost_unit']})"
        new = [j for j in panel["columns"] if j not in [field for *_, field in questions]]
        questions += [(section * (j == new[0]), condition, j) for j in new]
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(HEADER)
    rows.writerow(["record_id", _FORM, "", "text", "Case", *[""] * (len(HEADER) - 5)])
    rows.writerows(_field(fields[j], columns[j], *cells) for *cells, j in questions)
    return text.getvalue().encode()


def _fields(columns: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of fields: small letters, digits and underscores, each another."""
    fields = ["record_id"]
    for column in columns:
        letters = re.sub(r"[^a-z0-9]+", "_", column["name"].lower()).strip("_")
        name = (letters if letters[:1].isalpha() else f"x_{letters}")[:_LONGEST].rstrip("_")
        numbered = (f"{name}_{k}" if k else name for k in range(len(fields) + 1))
        fields.append(next(name for name in numbered if name not in fields))
    return fields[1:]


def _field(name: str, column: Mapping[str, Any], section: str, condition: str) -> list[str]:
    """A question of a column."""
    unit = "" if column["unit"] in ("", "1") else f" ({column['unit']})"
    low, high = column.get("range") or ("", "")
    kind, check = ("text", "number") if column["type"] == "number" else ("radio", "")
    choices = enumerate(column.get("levels", ()), 1)
    words = " | ".join(f"{k}, {level.replace('|', '/')}" for k, level in choices)
    cells = [name, _FORM, section, kind, f"{column['name']}{unit}", words, ""]
    cells += [check, str(low), str(high), "", condition]
    return cells + [""] * (len(HEADER) - len(cells))
