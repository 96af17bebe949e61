"""`python -m frugal init TABLE --label COLUMN`: the YAML of one's own table, guessed and commented.

A guess for a person to correct. Reads the words of the command line, and prompts for the rest.
"""

import argparse
import math
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from frugal.core.arguments import amount, command_parser, file_path, one_line
from frugal.core.declarations import PROJECT
from frugal.core.errors import DataError, say, shown_cell, through
from frugal.core.schema_check import listed, shown
from frugal.core.studies import forms_of_records
from frugal.data.cell_texts import marks_in
from frugal.data.guessing import TableGuess, known_at_start, left_out
from frugal.data.long_formats import presets
from frugal.data.opening import Opened, open_table, rows_of_file
from frugal.data.parsing import NumberStyle
from frugal.results.replacing import replace_files
from frugal.run.table_yaml import (
    UNLABELLED,
    StatedTerms,
    describe_guess,
    errors_between,
    flow,
    guess_opened,
    is_open,
    remarks_on,
    require_exact_names,
    require_feature,
    unreserved,
)

# Options of tables alone
_OF_TABLES = ("free", "leave_out", "panel", "unlabelled", "by_prefix", "cut", "predict")


@through("command")
def init_command(words: Sequence[str]) -> int:
    """Write the YAML; returns the exit status.

    Raises:
        DataError: the table cannot be read, has no such label, or a file would be overwritten.
    """
    parser = table_parser("init", "Describe a table of one's own: writes its YAML.")
    parser.add_argument(
        "--out", type=file_path, help="the YAML (default: in the folder of the table)"
    )
    forms = forms_of_records()
    for option, how in (entry for form in forms for entry in form.options.items()):
        parser.add_argument(f"--{option}", **how)
    args = parser.parse_args(list(words))
    if args.label is None:
        parser.error("the following arguments are required: --label")
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
        prices = stated_amounts("--prices", args.prices, args.unit)
        errors = stated_amounts("--errors", args.errors, args.unit)
        text, lines = form.describe(args, out, prices, errors)
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
        form=args.format,
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
        stated_amounts("--prices", args.prices, args.unit),
        stated_amounts("--errors", args.errors, args.unit),
        args.unit,
        args.by_prefix,
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


def records_parser(command: str, does: str, table: str) -> argparse.ArgumentParser:
    """Arguments that describe a file of records of any form."""
    parser = command_parser(command, does)
    parser.add_argument("table", help=table, type=file_path)
    parser.add_argument("--label", help="the column to predict")
    parser.add_argument(
        "--from",
        dest="format",
        choices=presets(),
        help="format of a long file, a row for each value (default: a table)",
    )
    pairs = "FILE.csv or NAME=NUMBER,…"
    parser.add_argument("--prices", default="", metavar=pairs, help="of panels, or of columns")
    parser.add_argument(
        "--errors",
        default="",
        metavar=pairs,
        help="missed=900,false_alarm=120; of more classes 'TRUE as PREDICTED=900'",
    )
    parser.add_argument(
        "--unit", type=one_line, default="EUR", help="of prices and costs of errors"
    )
    parser.add_argument("--positive", metavar="CLASS", help="of two classes; guessed without")
    return parser


def table_parser(command: str, does: str) -> argparse.ArgumentParser:
    """Arguments that describe a table's file."""
    parser = records_parser(
        command, does, "CSV, TSV, ARFF, Parquet, Excel or SAS transport; or the YAML of one"
    )
    parser.add_argument(
        "--free",
        action="append",
        default=[],
        metavar="COLUMN,…",
        help="known at the start and without a price; may be repeated",
    )
    parser.add_argument(
        "--leave-out", action="append", default=[], metavar="COLUMN,…", help="no feature"
    )
    parser.add_argument(
        "--panel",
        action="append",
        default=[],
        metavar="NAME=COLUMN,…",
        help="columns that are acquired together; may be repeated",
    )
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


def stated_amounts(argument: str, text: str, unit: str = "") -> dict[str, Any]:
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
        {unreserved(column.name): column.name for column in guess.columns},
        guess.priced_classes,
    )
    try:
        for panel in terms.panels_of(guess):
            if panel.get("cost", 0) is None:
                price = typed_amount(
                    ask, f"Price of {panel['name']} in {terms.unit}, or free: ", "free"
                )
                if price == "free":
                    free += [columns[name] for name in panel["columns"]]
                elif price is not None:
                    prices[panel["name"]] = price
        costs = terms.errors_of(classes)
        for i, j in dict.fromkeys(errors_between(classes).values()):
            name = f"{classes[i]} as {classes[j]}"
            if costs[i][j] is None:
                cost = typed_amount(ask, f"Cost in {terms.unit} of predicting {name}: ")
                errors |= {} if cost is None else {name: cost}
    except EOFError:
        pass
    panels = {
        name: members for name, members in terms.panels.items() if not set(members) & set(free)
    }
    return replace(terms, free=free, panels=panels, prices=prices, errors=errors)


def typed_amount(ask: Callable[[str], str], question: str, *words: str) -> Any:
    """A number from 0 on, or one of the words; None for an empty line."""
    while (text := ask(question).strip()) and text not in words:
        if (number := _number(text)) is not None:
            return number
        say(f"{shown_cell(text)} is no number from 0 on; an empty line leaves it open")
    return text or None


def _lines(opened: Opened, guess: TableGuess, out: Path, terms: StatedTerms) -> Iterator[str]:
    """Summary of the findings, and the next steps."""
    used = [column for column in guess.columns if column.kind != "out"]
    yield f"{out}: {guess.rows:,} rows, {len(used)} columns, classes {listed(guess.classes)}"
    panels, errors = terms.panels_of(guess), terms.errors_of(guess.priced_classes)
    yield from (f"  {remark}" for remark in remarks_on(opened, guess, panels))
    todo = f"Fill in the prices of panels and errors (null) in {terms.unit} (--unit), then:"
    filled = f"Every price is filled in, in {terms.unit} (--unit); next:"
    yield todo if is_open(panels, errors) else filled
    yield f"  {_command(out)}"


def _command(out: Path) -> str:
    """The command that judges the table, as it works from the working folder."""
    project = PROJECT / "Snakefile"
    table = shlex.quote(f"table={flow(str(out))}")
    if find_spec("snakemake") is None:
        call = f"import frugal; print(frugal.decide({str(out)!r}).summary())"
        is_plain = shlex.quote(str(out)) == str(out)
        return f'python -c "{call}"' if is_plain else f"python -c {shlex.quote(call)}"
    in_project = Path("Snakefile").exists() and Path("Snakefile").samefile(project)
    where = "" if in_project else f"--snakefile {shlex.quote(str(project))} "
    return f"snakemake {where}--cores 2 decide --config {table}"
