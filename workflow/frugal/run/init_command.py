"""`python -m frugal init TABLE --label COLUMN`: the YAML of one's own table, guessed and commented.

A guess for a person to correct: a price that is not stated is left open, and a run without it is
refused. `StatedTerms` are the user's statements; `frugal.load` describes a data frame by the same
ones.
"""

import argparse
import math
import os
import re
import shlex
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from frugal.config.dataset import RESERVED_COLUMNS
from frugal.core.arguments import amount, command_parser, file_path, one_line
from frugal.core.declarations import PROJECT
from frugal.core.errors import ConfigError, DataError, say, shown_cell
from frugal.core.schema_check import did_you_mean, listed, shown
from frugal.core.studies import forms_of_records
from frugal.data.guessing import Guess, TableGuess, grouped, guess_table, known_at_start, left_out
from frugal.data.opening import MARKS, Opened, marks_in, open_table, rows_of_file
from frugal.data.parsing import NumberStyle
from frugal.results.replacing import replace_files

UNLABELLED = ("drop", "weigh")
_START = "known at the start"
_ERRORS = "misclassification_cost:   # row: true class; column: predicted class; in cost_unit"
Amount = int | float | Mapping[str, Any]  # a number, or a cost as the YAML has it
# Options of tables alone
_OF_TABLES = ("free", "leave_out", "panel", "unlabelled", "by_prefix", "cut", "predict")
_CLUSTER = "rows of one value stay in one part, and intervals count them as one"


@dataclass(frozen=True)
class StatedTerms:
    """Statements about a table in addition to its cells.

    Attributes:
        free: columns that are known at the start, without a price.
        panels: name → columns that are acquired together; others are guessed.
        prices: panel → price; one of a single column makes it a panel.
        errors: "missed", "false alarm", or "TRUE as PREDICTED" → cost.
        unit: of prices and costs of errors.
        by_prefix: whether a common prefix makes a panel of the other columns.
        dash: before the name of an argument in a refusal.
        unlabelled: of rows without a label: drop or weigh.
    """

    free: Sequence[str] = ()
    panels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    prices: Mapping[str, Any] = field(default_factory=dict)
    errors: Mapping[str, Any] = field(default_factory=dict)
    unit: str = "EUR"
    by_prefix: bool = False
    dash: str = ""
    unlabelled: str = "drop"

    def panels_of(self, guess: TableGuess) -> list[dict[str, Any]]:
        """Panels as the YAML has them; the cost is None where no price is stated.

        Raises:
            DataError: a name is none of a feature or of a panel, or a price is no number from 0 on.
        """
        features = {column.name: column for column in guess.columns if column.kind != "out"}
        terms = self._varying(guess)
        free = [name for name in features if name in terms.free]
        stated = {**({_START: free} if free else {}), **terms.panels}
        for name in terms.free:
            self._require("free", name, features, "the features are", guess)
        assigned: set[str] = set()
        for name in (name for columns in stated.values() for name in columns):
            self._require("panels", name, features, "the features are", guess)
            if name in assigned:
                raise DataError(f"{self.dash}panels: {name!r} is in two panels; allowed is one")
            assigned.add(name)
        rest = [column for name, column in features.items() if name not in assigned]
        alone = [(column.name, [column.name]) for column in rest if column.name in terms.prices]
        guessed = _groups(
            [column for column in rest if column.name not in terms.prices], self.by_prefix
        )
        order = list(features)
        groups = sorted([*alone, *guessed], key=lambda group: order.index(group[1][0]))
        panels = []
        for name, columns in (*stated.items(), *groups):
            end = {"free": True} if free and not panels else {"cost": None}
            while name in [panel["name"] for panel in panels]:
                name += "_"
            panels.append({"name": name, "columns": [_unreserved(c) for c in columns], **end})
        priced = {panel["name"]: panel for panel in panels if "cost" in panel}
        for name, price in terms.prices.items():
            self._require("prices", name, priced, "the panels with a price are", guess)
            priced[name]["cost"] = self._cost("prices", name, price)
        return panels

    def _varying(self, guess: TableGuess) -> "StatedTerms":
        """The terms without columns of one value, and without panels of such columns alone."""
        constant = {column.name for column in guess.columns if column.constant}
        panels = {
            name: [column for column in columns if column not in constant]
            for name, columns in self.panels.items()
            if not columns or not constant.issuperset(columns)
        }
        left_out = (constant | set(self.panels)) - set(panels)
        prices = {name: price for name, price in self.prices.items() if name not in left_out}
        free = [name for name in self.free if name not in constant]
        return replace(self, free=free, panels=panels, prices=prices)

    def errors_of(self, classes: Sequence[str]) -> list[list[Amount | None]]:
        """Cost of each prediction (column) of each class (row); None where none is stated.

        Raises:
            DataError: a name is no error of these classes, or a cost is no number from 0 on.
        """
        errors, k = errors_between(classes), range(len(classes))
        rows: list[list[Amount | None]] = [[None if i != j else 0 for j in k] for i in k]
        for name, cost in self.errors.items():
            spaced = _spaced(name, errors)
            self._require(
                "errors",
                spaced,
                errors,
                f"the label has the values {listed(classes)}; the errors are"
                if classes
                else "the label is a number; the errors are",
            )
            i, j = errors[spaced]
            stated = self._cost("errors", name, cost)
            if rows[i][j] not in (None, stated):
                other = next(n for n in self.errors if errors[_spaced(n, errors)] == (i, j))
                raise DataError(
                    f"{self.dash}errors: {other!r} and {name!r} are one error with two numbers, "
                    f"{shown_cell(self.errors[other])} and {shown_cell(cost)}; allowed is one"
                )
            rows[i][j] = stated
        return rows

    def _cost(self, argument: str, name: str, cost: Any) -> Any:
        if isinstance(cost, Mapping):  # as the YAML has it; checked there
            return {str(key): value for key, value in cost.items()}
        ends = list(cost) if isinstance(cost, list | tuple) else [cost]
        numbers = [
            amount.item() if getattr(amount, "shape", None) == () else amount for amount in ends
        ]  # of NumPy
        if not all(
            isinstance(amount, int | float) and 0 <= amount <= sys.float_info.max
            for amount in numbers
        ) or not (len(numbers) == 1 or (len(numbers) == 2 and numbers[0] <= numbers[1])):
            raise DataError(
                f"{self.dash}{argument}: {name!r} has {shown_cell(cost)}; allowed are numbers from "
                "0 on, or two of them, the least and the largest cost"
            )
        return numbers[0] if len(numbers) == 1 else dict(zip(("from", "to"), numbers, strict=True))

    def _require(
        self,
        argument: str,
        name: str,
        allowed: Iterable[str],
        subject: str,
        guess: TableGuess | None = None,
    ) -> None:
        allowed = list(allowed)
        if name in allowed:
            return
        why = (
            [c.remarks[0] for c in guess.columns if c.name == name and c.kind == "out"]
            if guess
            else []
        )
        left = f", which is left out ({why[0]})" if why else ""
        raise DataError(
            f"{self.dash}{argument} names {name!r}{left}; {subject} {listed(allowed) or 'none'}"
            f"{did_you_mean(name, allowed)}"
        )


def _spaced(name: str, errors: Mapping[str, Any]) -> str:
    """The name of an error, blanks for its underscores."""
    return name if name in errors else name.replace("_", " ")


def errors_between(classes: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Name of each error → row and column of its cost; the second of two classes is positive."""
    pairs = {
        f"{true} as {predicted}": (i, j)
        for i, true in enumerate(classes)
        for j, predicted in enumerate(classes)
        if i != j
    }
    return {"missed": (1, 0), "false alarm": (0, 1)} | pairs if len(classes) == 2 else pairs


def init_command(words: Sequence[str]) -> int:
    """Write the YAML; returns the exit status.

    Raises:
        DataError: the table cannot be read, has no such label, or a file would be overwritten.
    """
    parser = table_parser("init", "Describe a table of one's own: writes its YAML.")
    args = parser.parse_args(list(words))
    if args.label is None:
        parser.error("the following arguments are required: --label")
    forms = forms_of_records()
    chosen = [form for form in forms if getattr(args, form.chosen_by) is not None]
    for form in forms:
        for name in _OF_TABLES if form in chosen else form.options:
            if getattr(args, name) != parser.get_default(name):
                goes = "does not go" if form in chosen else "goes"
                name = name.replace("_", "-")
                raise DataError(f"--{name} {goes} with --{form.chosen_by}, {form.name}")
    packed = args.table.suffix.lower() == ".gz"
    out = args.out or (args.table.with_suffix("") if packed else args.table).with_suffix(".yaml")
    for form in chosen:
        _require_new(out)
        prices = _amounts("--prices", args.prices, args.unit)
        text, lines = form.describe(args, out, prices, _amounts("--errors", args.errors, args.unit))
        replace_files({out: text.encode()})
        say(*lines)
        return 0
    described = describe_file(args, out)
    replace_files(described.files)
    say(*_lines(described.opened, described.guess, out, described.terms))
    return 0


@dataclass(frozen=True, eq=False)
class DescribedFile:
    """A table's file with its guess, the user's statements, and the files that describe it."""

    opened: Opened
    guess: TableGuess
    terms: StatedTerms
    files: Mapping[Path, bytes]

    @property
    def open_prices(self) -> list[str]:
        """Panels without a price."""
        panels = self.terms.panels_of(self.guess)
        return [panel["name"] for panel in panels if panel.get("cost", 0) is None]

    @property
    def open_errors(self) -> list[str]:
        """Errors without a cost."""
        costs, names = self.terms.errors_of(self.guess.priced_classes), {}
        for name, place in errors_between(self.guess.priced_classes).items():
            names.setdefault(place, name)
        return [name for (i, j), name in names.items() if costs[i][j] is None]

    def lines(self) -> list[str]:
        """What was guessed, and points to check; a sentence each."""
        return list(remarks_on(self.opened, self.guess, self.terms.panels_of(self.guess)))


def describe_file(args: argparse.Namespace, out: Path) -> DescribedFile:
    """Open and guess a table's file; at a terminal prices and costs that lack are asked for.

    Args:
        args: of `table_parser`.
        out: path of the YAML, which is not written yet.

    Raises:
        DataError: the table cannot be read, has no such label, or a file would be overwritten.
    """
    converted = out.with_name(f"{out.stem}_converted.csv")
    _require_new(out)
    if not args.table.is_file():
        raise DataError(f"there is no file {args.table}")
    if not str(args.table).isprintable():
        raise DataError(f"{args.table} has a character that is not printed in its name; rename it")
    named = [name for word in args.leave_out for name in (word, *word.split(","))]
    opened = open_table(
        args.table,
        converted,
        args.header,
        args.decimal,
        named,
        sheet=args.sheet,
        holds=[args.label],
    )
    guess = guess_opened(
        opened,
        args.label,
        _numbers("--cut", args.cut, ","),
        positive=args.positive,
        weigh=args.unlabelled == "weigh",
        predict=_predict(args.predict, opened.units.get(args.label)),
    )
    guess = left_out(guess, _columns(args.leave_out, guess))
    require_feature(args.table, guess)
    require_exact_names(opened, guess, args.label)
    texts = {args.label, *(column.name for column in guess.columns if column.kind == "categorical")}
    if opened.cleaned & texts and not opened.converted:
        opened = opened.as_csv(converted, "has characters that are not printed")
    terms = StatedTerms(
        _columns(args.free, guess),
        _panels(args.panel),
        _amounts("--prices", args.prices, args.unit),
        _amounts("--errors", args.errors, args.unit),
        args.unit,
        args.by_prefix,
        "--",
        args.unlabelled,
    )
    if sys.stdin.isatty() and sys.stdout.isatty():
        terms = ask_missing(terms, guess, input)
    guess = known_at_start(guess, terms.free)
    text = describe_guess(opened, guess, args.label, out, terms)
    files = {out: text.encode()}
    if opened.converted:
        _require_new(opened.path)
        files[opened.path] = opened.cells.to_csv(index=False, lineterminator="\n").encode()
    return DescribedFile(opened, guess, terms, files)


def table_parser(command: str, does: str) -> argparse.ArgumentParser:
    """Arguments that describe a table's file."""
    parser = command_parser(command, does)
    parser.add_argument(
        "table", help="CSV, TSV, ARFF, Parquet, Excel or SAS transport", type=file_path
    )
    parser.add_argument("--label", help="the column to predict")
    parser.add_argument(
        "--out", type=file_path, help="the YAML (default: in the folder of the table)"
    )
    parser.add_argument(
        "--free",
        action="append",
        default=[],
        metavar="COLUMN,…",
        help="known at the start and without a price; may be repeated",
    )
    pairs = "FILE.csv or NAME=NUMBER,…"
    parser.add_argument(
        "--leave-out", action="append", default=[], metavar="COLUMN,…", help="no feature"
    )
    parser.add_argument("--prices", default="", metavar=pairs, help="of panels, or of columns")
    parser.add_argument(
        "--errors",
        default="",
        metavar=pairs,
        help="missed=900,false_alarm=120; of more classes 'TRUE as PREDICTED=900'",
    )
    parser.add_argument(
        "--panel",
        action="append",
        default=[],
        metavar="NAME=COLUMN,…",
        help="columns that are acquired together; may be repeated",
    )
    parser.add_argument(
        "--unit", type=one_line, default="EUR", help="of prices and costs of errors"
    )
    parser.add_argument("--positive", metavar="CLASS", help="of two classes; guessed without")
    parser.add_argument(
        "--unlabelled",
        choices=UNLABELLED,
        default=UNLABELLED[0],
        help="rows without a label: left out, or kept and the others weighted",
    )
    parser.add_argument("--by-prefix", action="store_true", help="one panel per common prefix")
    numbers = parser.add_mutually_exclusive_group()
    numbers.add_argument(
        "--cut",
        default="",
        metavar="NUMBER,…",
        help="the label is a number: the classes are the ranges between these",
    )
    numbers.add_argument(
        "--predict",
        default="",
        metavar="KEY=VALUE,…",
        help="the label is a number: loss (absolute or squared), price (of a unit of loss), unit, "
        "and values (2/5/9, or how many)",
    )
    for form in forms_of_records():
        for option, how in form.options.items():
            parser.add_argument(f"--{option}", **how)
    parser.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="the first line holds the names of the columns, or does not; guessed without",
    )
    parser.add_argument(
        "--sheet", help="of a spreadsheet (default: the first that is shown and holds the label)"
    )
    parser.add_argument(
        "--decimal", choices=[".", ","], help="mark of decimals in texts; guessed without"
    )
    return parser


def _require_new(path: Path) -> None:
    if os.path.lexists(path):
        raise DataError(f"{path} is there already, and is not overwritten; name another with --out")


def guess_opened(
    opened: Opened, label: str, cuts: Sequence[float] = (), **stated: Any
) -> TableGuess:
    """The guess of a table as it was opened; `stated` are further arguments of `guess_table`.

    Raises:
        ConfigError, DataError: as `guess_table`.
    """
    try:
        return guess_table(
            opened.cells,
            label,
            cuts,
            marks={key: opened.form[key] for key in MARKS if key in opened.form},
            units=opened.units,
            levels=opened.levels,
            nameless=opened.nameless,
            **stated,
        )
    except DataError as error:
        remark = "" if opened.named else f" ({opened.remarks[-1]})"
        raise DataError(opened.cited(f"{error}{remark}")) from None


def require_exact_names(opened: Opened, guess: TableGuess, label: str) -> None:
    """Refuse numbers that have lost digits, where they name levels, classes or clusters."""
    levels = [column.name for column in guess.columns if column.kind == "categorical"]
    classes = [] if guess.cuts else [label]
    opened.require_exact([*levels, *classes, *(column.name for column in guess.clusters[:1])])


def require_feature(path: Path | str, guess: TableGuess) -> None:
    """Refuse a table without a column to predict from."""
    if all(column.kind == "out" for column in guess.columns):
        why = "; ".join(f"{column.name}: {column.remarks[0]}" for column in guess.columns[:3])
        raise DataError(f"{path}: no column could be a feature ({why or 'there is no other'})")


def _numbers(argument: str, text: str, mark: str) -> list[float]:
    """Numbers between marks, ascending."""
    with suppress(ValueError):
        numbers = sorted({float(part) for part in text.split(mark) if part.strip()})
        if all(map(math.isfinite, numbers)):
            return numbers
    raise DataError(f"{argument} is {text!r}; allowed are finite numbers, divided by {mark!r}")


def _predict(text: str, unit: str | None) -> dict[str, Any] | None:
    """Keys of a number to predict, of KEY=VALUE,…; the unit is that of the file by default."""
    if not text:
        return None
    pairs = (part.partition("=") for part in text.split(","))
    keys: dict[str, Any] = {key.strip(): value.strip() for key, _, value in pairs}
    with suppress(KeyError, ValueError):
        keys["price"] = float(keys["price"])
    if values := keys.get("values"):
        numbers = _numbers("--predict values", values, "/")
        keys["values"] = int(values) if values.isdigit() else numbers
    return ({"unit": unit} if unit else {}) | keys


def _columns(words: Sequence[str], guess: TableGuess) -> list[str]:
    """Columns that an argument names: whole words, or parts between commas."""
    names = [column.name for column in guess.columns]
    parts = (part for word in words for part in ([word] if word in names else word.split(",")))
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _panels(words: Sequence[str]) -> dict[str, list[str]]:
    """Panel → columns, of NAME=COLUMN,…"""
    panels: dict[str, list[str]] = {}
    for word in words:
        name, _, columns = word.partition("=")
        if not name.strip() or not columns.strip() or not name.isprintable():
            raise DataError(f"--panel is {word!r}; allowed is NAME=COLUMN,…")
        panels.setdefault(name.strip(), []).extend(part.strip() for part in columns.split(","))
    return panels


def _amounts(argument: str, text: str, unit: str = "") -> dict[str, Any]:
    """Name → number, of NAME=NUMBER,… or of a file: a name, a number, and at most its unit."""
    if not text:
        return {}
    if is_file := "=" not in text or os.path.isfile(text):
        rows = _rows_of(argument, text)
    else:
        rows = [(0, part.rpartition("=")[::2]) for part in text.split(",")]
    rows = [(line, [cell.strip() for cell in (*cells, "")]) for line, cells in rows]
    marks = {mark for _, (_, number, *_) in rows for mark in _roles(number)}
    amounts: dict[str, Any] = {}
    for line, (name, number, *further) in rows:
        where = f" {text}, line {line}" if is_file else ""
        if strange := [cell for cell in further if cell not in ("", unit)]:
            raise DataError(
                f"{argument}{where}: {shown_cell(strange[0])} follows the number of {name!r}; "
                f"allowed are a name, a number and its unit, here {unit!r} (--unit); a number with "
                "a comma is put in quotes"
            )
        amount = _number(number if unit[:1].isdigit() else number.removesuffix(unit), marks)
        if amount is None or not name or name in amounts:
            why = "has two numbers" if name in amounts else f"has {shown_cell(number)}"
            raise DataError(
                f"{argument}{where}: {name!r} {why}; allowed are numbers from 0 on, written as "
                "1500 or 1.5, or a range such as 20..35"
            )
        amounts[name] = amount
    return amounts


def _rows_of(argument: str, text: str) -> list[tuple[int, tuple[str, ...]]]:
    """Line and cells of each row of a file of amounts, without the names of its columns."""
    try:
        rows = rows_of_file(Path(text)) if os.path.isfile(text) else None
        why = "there is no such file"
    except DataError as error:
        rows, why = None, str(error)
    if rows is None:
        raise DataError(
            f"{argument} is {shown(text)}; allowed is a CSV of names and numbers, or "
            f"NAME=NUMBER,… ({why})"
        )
    top = next((k for k, (_, row) in enumerate(rows) if sum(map(bool, row)) > 1), 0)
    number = "".join(rows[top][1][1:2]) if rows else ""
    is_head = not re.search(r"\d", number) or re.match(r"[^\W\d_]{4}", number)
    return rows[top + 1 :] if is_head else rows


def _roles(text: str) -> set[tuple[str, str]]:
    """Roles of the marks in the ends of an amount: of decimals, of thousands, or of either."""
    ends = (end.strip() for end in text.split(".."))
    return set().union(*(marks_in(end) for end in ends if not re.search(r"[^\d.,'’]", end)))


def _number(text: str, others: Iterable[tuple[str, str]] = ()) -> Any:
    """A number from 0 on; of A..B two; None for other texts, and where a mark could be either.

    Unlike the cells of a column, prices are few: sizes show nothing, only the marks of others.
    """
    if text.count("..") == 1:
        ends = [_number(end, others) for end in text.split("..")]
        return None if None in ends or any(isinstance(end, tuple) for end in ends) else tuple(ends)
    mark = dict(_roles(text))
    point, others = mark.get("decimal", "."), {*others}
    if either := mark.get("either"):
        other = {".": ",", ",": "."}[either]
        may = {"decimal": ("decimal", either) in others, "thousands": False}
        may["thousands"] = bool({("thousands", either), ("decimal", other)} & others)
        if may["decimal"] == may["thousands"]:
            return None
        point = either if may["decimal"] else other
    thousands = mark.get("thousands", either if either != point else None)
    number = amount(NumberStyle(point, thousands).plain(text))
    return int(number) if number is not None and number.is_integer() else number


def ask_missing(terms: StatedTerms, guess: TableGuess, ask: Callable[[str], str]) -> StatedTerms:
    """The terms with the prices and costs that a person types; an empty line leaves one open."""
    free, prices, errors = list(terms.free), dict(terms.prices), dict(terms.errors)
    columns, classes = (
        {_unreserved(column.name): column.name for column in guess.columns},
        guess.priced_classes,
    )
    try:
        for panel in terms.panels_of(guess):
            if panel.get("cost", 0) is None:
                price = _typed(ask, f"Price of {panel['name']} in {terms.unit}, or free: ", "free")
                if price == "free":
                    free += [columns[name] for name in panel["columns"]]
                elif price is not None:
                    prices[panel["name"]] = price
        costs = terms.errors_of(classes)
        for i, j in dict.fromkeys(errors_between(classes).values()):
            name = f"{classes[i]} as {classes[j]}"
            if costs[i][j] is None:
                cost = _typed(ask, f"Cost in {terms.unit} of predicting {name}: ")
                errors |= {} if cost is None else {name: cost}
    except EOFError:
        pass
    panels = {
        name: members for name, members in terms.panels.items() if not set(members) & set(free)
    }
    return replace(terms, free=free, panels=panels, prices=prices, errors=errors)


def _typed(ask: Callable[[str], str], question: str, *words: str) -> Any:
    """A number from 0 on, or one of the words; None for an empty line."""
    while (text := ask(question).strip()) and text not in words:
        if (number := _number(text)) is not None:
            return number
        say(f"{shown_cell(text)} is no number from 0 on; an empty line leaves it open")
    return text or None


def describe_guess(
    opened: Opened, guess: TableGuess, label: str, out: Path, terms: StatedTerms, name: str = ""
) -> str:
    """The YAML, with comments.

    Args:
        opened: the table.
        guess: types of its columns.
        label: the column to predict.
        out: path of the YAML.
        terms: statements; null where there is none.
        name: of the data set; by default that of the file.

    Raises:
        DataError: the terms do not fit the table.
    """
    used = [column for column in guess.columns if column.kind != "out"]
    panels, errors = terms.panels_of(guess), terms.errors_of(guess.priced_classes)
    todo = ", and fill in every price (null)" if _is_open(panels, errors) else ""
    lines = [
        f"# {opened.path.name}, described by a guess: correct it{todo}.",
        "# The keys are explained in config/datasets/template.yaml.",
        f"name: {_flow(name or short_name(out.stem))}",
        f"title: {_flow(' '.join(out.stem.replace('_', ' ').split()))}",
        "note: >",
        f"  {guess.rows:,} rows, {len(used)} columns; where they come from and who may use them.",
        f"cost_unit: {_flow(terms.unit)}",
        "source:",
        "  kind: path",
        "  files:",
        f"    - name: {_flow(_place(opened.path, out))}",
        "  format:",
        *(f"    {key}: {_flow(value)}" for key, value in opened.form.items()),
        f"    missing: {_flow(list(guess.missing))}   # texts that mean no value",
        "columns:",
        *(line for column in guess.columns for line in _column_lines(column)),
        "panels:                   # panels acquired together; a price, or free: true",
        *_panel_lines(panels, used, terms),
        "cost_draw: null",
        "label:",
        f"  column: {_flow(label)}",
        *_label_lines(guess),
        *_weighed(guess, terms),
        "sensitive: null",
        *_cluster_lines(guess.clusters),
        *[_ERRORS][: len(errors)],
        *(f"  - {_flow(row)}" for row in errors),
        f"drop_rows: {_dropped(guess, terms)}",
        "missing_values: own",
        "split:",
        "  scheme: fractions",
        "  seed: 0",
        "  parts: {train: 0.3, agent: 0.3, test: 0.4}",
    ]
    return "\n".join(lines) + "\n"


def _place(path: Path, out: Path) -> str:
    """Where the table lies: from the folder of the YAML on, if it is in there."""
    place, folder = path.resolve(), out.resolve().parent
    return (place.relative_to(folder) if place.is_relative_to(folder) else place).as_posix()


def short_name(stem: str) -> str:
    """A name for paths: small letters without marks, digits, underscores."""
    ascii_stem = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "_", ascii_stem).strip("_") or "table"
    return (name if name[0].isalpha() else f"t_{name}")[:100]


def _label_lines(guess: TableGuess) -> Iterator[str]:
    """Classes with their meaning, or the numbers to predict with their loss."""
    if guess.predict:
        yield "  predict:                # numbers that may be predicted; price of a unit of loss"
        yield from (f"    {key}: {_flow(value)}" for key, value in guess.predict.items())
        return
    yield "  classes:                # with two, the second is the positive one"
    for k, (name, texts) in enumerate(guess.classes.items()):
        ends = (("from", guess.cuts[k - 1 : k] if k else ()), ("below", guess.cuts[k : k + 1]))
        bounds = ", ".join(f"{key}: {cut:.15g}" for key, cuts in ends for cut in cuts)
        yield f"    - {{name: {_flow(name)}, {bounds or f'values: {_flow(list(texts))}'}}}"


def _cluster_lines(clusters: Sequence[Guess]) -> Iterator[str]:
    """The column that groups rows, and others that could."""
    for k, column in enumerate(clusters):
        missing = (
            f"; {column.missing_share:.0%} of the rows have no value yet"
            if column.missing_share
            else ""
        )
        yield f"{'# ' if k or missing else ''}cluster: {_flow(column.name)}   # {_CLUSTER}{missing}"


def _is_open(
    panels: Sequence[Mapping[str, Any]], errors: Sequence[Sequence[Amount | None]]
) -> bool:
    """Whether a price or a cost of an error is not stated."""
    return any(panel.get("cost", 0) is None for panel in panels) or any(
        None in row for row in errors
    )


def _weighed(guess: TableGuess, terms: StatedTerms) -> Iterator[str]:
    """That rows without a label are kept, where some are."""
    if guess.label_gaps and terms.unlabelled == "weigh":
        yield f"  unlabelled: weigh       # {guess.label_gaps} rows; decide weights the others"


def _dropped(guess: TableGuess, terms: StatedTerms) -> str:
    if not guess.label_gaps or terms.unlabelled == "weigh":
        return "[]"
    return f"[{{rule: label_missing, reason: {guess.label_gaps} rows have nothing to predict}}]"


def _column_lines(column: Guess) -> list[str]:
    """The column's entry, or a comment with the reason for leaving it out."""
    remarks = "".join(f"  # {_plain(remark)}" for remark in column.remarks)
    if column.kind == "out":
        return [f"  # left out: {_plain(column.name)}{remarks}"]
    entry: dict[str, Any] = {"name": _unreserved(column.name)}
    if entry["name"] != column.name:
        entry["from"] = column.name
    entry |= {"type": column.kind}
    entry |= (
        {"levels": list(column.levels)} if column.kind == "categorical" else {"unit": column.unit}
    )
    entry |= {"missing_level": column.missing_level} if column.missing_level else {}
    entry |= {"recode": dict(column.recode)} if column.recode else {}
    missing = f", {column.missing_share:.0%} missing" if column.missing_share else ""
    ends = "" if column.kind == "categorical" else f"  # {column.low:g} to {column.high:g}{missing}"
    lines = [f"  - {_flow(entry)}{ends}{remarks}"]
    if column.codes:
        codes = ", ".join(f"{{value: {code:g}, meaning: FILL IN}}" for code in column.codes)
        lines.append(f"  #   a code and no quantity? then add special_values: [{codes}]")
    return lines


def _panel_lines(
    panels: Sequence[Mapping[str, Any]], used: Sequence[Guess], terms: StatedTerms
) -> list[str]:
    """A line for each panel, with a comment on one that is guessed or has no price."""
    incomplete = {_unreserved(column.name) for column in used if column.missing_share}
    lines = []
    for panel in panels:
        columns, is_open = set(panel["columns"]), panel.get("cost", 0) is None
        is_whole = is_open and not columns & incomplete
        note = "  # never missing: free: true if it is known at the start" if is_whole else ""
        is_guessed = panel["name"] not in terms.panels and not terms.by_prefix
        if len(columns) > 1 and columns <= incomplete and is_guessed:
            note = "  # always missing together"
        lines.append(f"  - {_flow(panel)}{'' if 'free' in panel else note}")
    return lines


def _groups(priced: Sequence[Guess], by_prefix: bool) -> list[tuple[str, list[str]]]:
    """Name and columns of each panel."""
    if by_prefix:
        return [*grouped(column.name for column in priced).items()]
    by_pattern: dict[object, list[str]] = {}
    for column in priced:
        by_pattern.setdefault(column.together or column.name, []).append(column.name)
    return [(_panel_name([*map(_unreserved, columns)]), columns) for columns in by_pattern.values()]


def _panel_name(columns: Sequence[str]) -> str:
    """That of the only column, a prefix of all, or the first ones."""
    prefixes = list(grouped(columns))
    if len(columns) == 1 or len(prefixes) == 1:
        return prefixes[0]
    return (
        " and ".join(columns) if len(columns) == 2 else f"{columns[0]} and {len(columns) - 1} more"
    )


def _unreserved(name: str) -> str:
    """A name that no column of the project has."""
    return f"{name}_" if name in RESERVED_COLUMNS else name


def _flow(value: Any) -> str:
    """A value as YAML writes it on one line, inside of lists and mappings too.

    Raises:
        ConfigError: it holds an object that YAML has no form for.
    """
    try:
        text = yaml.safe_dump(
            [value], default_flow_style=True, allow_unicode=True, width=10**9, sort_keys=False
        )
    except yaml.representer.RepresenterError:
        raise ConfigError(
            f"{shown(value)} cannot be written into a YAML; allowed are texts, numbers, lists, and "
            "keys with these"
        ) from None
    return text.strip()[1:-1]


def _plain(text: str) -> str:
    """Text that is safe in a comment."""
    return " ".join(text.split())


def _lines(opened: Opened, guess: TableGuess, out: Path, terms: StatedTerms) -> Iterator[str]:
    """Summary of the findings, and the next steps."""
    used = [column for column in guess.columns if column.kind != "out"]
    yield f"{out}: {guess.rows:,} rows, {len(used)} columns, classes {listed(guess.classes)}"
    panels, errors = terms.panels_of(guess), terms.errors_of(guess.priced_classes)
    yield from (f"  {remark}" for remark in remarks_on(opened, guess, panels))
    todo = f"Fill in the prices of panels and errors (null) in {terms.unit} (--unit), then:"
    filled = f"Every price is filled in, in {terms.unit} (--unit); next:"
    yield todo if _is_open(panels, errors) else filled
    yield f"  {_command(out)}"


def remarks_on(
    opened: Opened, guess: TableGuess, panels: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Assumptions on a table, and points to check; a sentence each."""
    yield from (*opened.remarks, *guess.remarks)
    for column in guess.columns:
        for remark in column.remarks:
            yield f"{'left out: ' if column.kind == 'out' else 'look: '}{column.name}: {remark}"
        if column.codes:
            codes = ", ".join(f"{code:g} ({share:.0%})" for code, share in column.codes.items())
            yield f"look: {column.name}: {codes} may be a code and no quantity"
    if guess.clusters:
        first = guess.clusters[0]
        remedy = (
            "fill in the missing values, then add the line"
            if first.missing_share
            else "remove the line if not"
        )
        yield f"cluster: {first.name}: {_CLUSTER}; {remedy}"
    together: dict[int, list[str]] = {}
    for column in guess.columns:
        together.setdefault(column.together, []).append(column.name)
    for number, names in together.items():
        if number and len(names) > 1:
            are = f"{listed(names)} are always missing together"
            if any({*map(_unreserved, names)} <= {*panel["columns"]} for panel in panels):
                yield f"one panel: {are}"
            else:
                yield f"several panels: {are}, and --panel NAME={','.join(names)} makes them one"
    priceless = {c for panel in panels if panel.get("cost", 0) is None for c in panel["columns"]}
    used = (column for column in guess.columns if column.kind != "out")
    complete = [
        column.name
        for column in used
        if not column.missing_share and _unreserved(column.name) in priceless
    ]
    if complete:
        yield (
            f"no missing value in {listed(map(repr, complete))}: a price for each that is "
            "measured; free: true (or --free NAME,NAME) for panels known at the start"
        )


def _command(out: Path) -> str:
    """The command that judges the table, as it works from the working folder."""
    project = PROJECT / "Snakefile"
    table = shlex.quote(f"table={_flow(str(out))}")
    if find_spec("snakemake") is None:
        call = f"import frugal; print(frugal.decide({str(out)!r}).summary())"
        is_plain = shlex.quote(str(out)) == str(out)
        return f'python -c "{call}"' if is_plain else f"python -c {shlex.quote(call)}"
    in_project = Path("Snakefile").exists() and Path("Snakefile").samefile(project)
    where = "" if in_project else f"--snakefile {shlex.quote(str(project))} "
    return f"snakemake {where}--cores 2 decide --config {table}"
