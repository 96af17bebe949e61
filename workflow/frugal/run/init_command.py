"""`python -m frugal init TABLE --label COLUMN`: the YAML of one's own table, guessed and commented.

A guess for a person to correct: prices are left open, and a run without them is refused.
"""

import argparse
import csv
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import pandas as pd
import yaml

from frugal.core.errors import DataError
from frugal.data.description_checks import RESERVED_COLUMNS
from frugal.data.description_sources import Format
from frugal.data.guessing import NO_VALUE, Guess, TableGuess, grouped, guess_table
from frugal.data.parsing import read_file

SEPARATORS = ",;\t|"
SAMPLE = 1 << 16  # characters that tell a separator
_COMMA = r"-?\d+,\d+"
_KNOWN = "known at the start"


@dataclass(frozen=True)
class Opened:
    """A table as texts, and how it is read.

    Attributes:
        path: of the file that the YAML names: the table, or what it was converted to.
        cells: texts.
        form: the block `format` of the YAML.
        remarks: what was found, a sentence each.
        converted: whether `path` is to be written, from the cells.
    """

    path: Path
    cells: pd.DataFrame
    form: dict[str, Any]
    remarks: tuple[str, ...]
    converted: bool = False


def init_command(words: Sequence[str]) -> int:
    """Write the YAML; returns the exit status.

    Raises:
        DataError: the table cannot be read, has no such label, or a file would be overwritten.
    """
    parser = argparse.ArgumentParser(
        prog="frugal init", description="Describe a table of one's own: writes its YAML."
    )
    parser.add_argument("table", help="CSV, TSV, ARFF, Parquet, Excel or SAS transport", type=Path)
    parser.add_argument("--label", required=True, help="the column to predict")
    parser.add_argument("--out", type=Path, help="the YAML; beside the table without it")
    parser.add_argument("--by-prefix", action="store_true", help="one panel per common prefix")
    asked = parser.parse_args(list(words))
    out = asked.out or asked.table.with_suffix(".yaml")
    _require_new(out)
    if not asked.table.is_file():
        raise DataError(f"there is no file {asked.table}")
    opened = _opened(asked.table, out)
    try:
        guess = guess_table(opened.cells, asked.label)
    except DataError as error:
        raise DataError(f"{asked.table}: {error}") from None
    text = describe_guess(opened, guess, asked.label, out, by_prefix=asked.by_prefix)
    if opened.converted:
        opened.cells.to_csv(opened.path, index=False)
    out.write_text(text, encoding="utf-8")
    _tell(opened, guess, out)
    return 0


def _require_new(path: Path) -> None:
    if path.exists():
        raise DataError(f"{path} is there already, and is not overwritten; name another with --out")


def _opened(path: Path, out: Path) -> Opened:
    """The table, by its suffix."""
    suffix = path.suffix.lower()
    if suffix in (".arff", ".xpt"):
        form = Format(suffix[1:], (), ",", None, "%", True, "utf-8")
        cells, _ = read_file(path, form, source=path.name)
        return Opened(path, _texts(cells), {"kind": suffix[1:]}, ())
    if suffix == ".parquet":
        return _converted(path, out, _frame(pd.read_parquet, path), "Parquet")
    if suffix in (".xlsx", ".xls"):
        return _converted(path, out, _frame(pd.read_excel, path), "an Excel sheet")
    return _separated(path, out)


def _frame(read: Callable[[Path], pd.DataFrame], path: Path) -> pd.DataFrame:
    """A table that pandas reads."""
    try:
        return read(path)
    except ImportError:
        raise DataError(
            f"{path}: pandas needs a further package for this format (openpyxl for .xlsx, xlrd for "
            ".xls); save the sheet as CSV"
        ) from None
    except (ValueError, OSError, BadZipFile, KeyError) as error:
        words = str(error).splitlines() or [type(error).__name__]
        raise DataError(f"{path} cannot be read as {path.suffix[1:]}: {words[0]}") from None


def _separated(path: Path, out: Path) -> Opened:
    """A text file with a separator."""
    raw = path.read_bytes()
    encoding = "utf-8"
    try:
        text = raw.decode("utf-8-sig")
        encoding = "utf-8-sig" if raw.startswith(b"\xef\xbb\xbf") else "utf-8"
    except UnicodeDecodeError:
        text, encoding = raw.decode("latin-1"), "latin-1"
    if "\0" in text[:SAMPLE]:
        raise DataError(f"{path} is no text; allowed are CSV, TSV, ARFF, Parquet, Excel and XPT")
    separator = _separator(text, path)
    remarks = [f"read as {encoding}"] if encoding != "utf-8" else []
    if separator != ",":
        remarks.append(f"separated by {'tabs' if separator == chr(9) else repr(separator)}")
    form = Format("csv", (), separator, None, None, True, encoding)
    cells, _ = read_file(path, form, source=path.name)
    cells = _texts(cells)
    with_comma = [name for name in cells if _with_commas(cells[name])]
    if with_comma:
        for name in with_comma:
            cells[name] = cells[name].str.replace(",", ".", regex=False)
        return _converted(path, out, cells, f"numbers with decimal commas ({with_comma[0]}, …)")
    described = {
        "kind": "csv", "separator": separator, "header": True, "comment": None, "strip": True,
        "encoding": encoding,
    }  # fmt: skip
    return Opened(path, cells, described, tuple(remarks))


def _with_commas(cells: pd.Series) -> bool:
    """Whether nearly all values are numbers, some with a comma where others have a point."""
    told = cells[~cells.isin(NO_VALUE)].str
    return bool(told.fullmatch(r"-?\d+(,\d+)?").mean() > 0.9 and told.fullmatch(_COMMA).any())


def _separator(text: str, path: Path) -> str:
    """The character that stands in the first lines as often as in the head, and most often."""
    lines = [line for line in text[:SAMPLE].splitlines() if line.strip()][:50]
    if len(lines) < 2:
        raise DataError(f"{path} has {len(lines)} lines; a table has a head and rows")
    counts = {}
    for mark in SEPARATORS:
        cells = [len(row) for row in csv.reader(lines[:-1] or lines, delimiter=mark)]
        if cells[0] > 1 and sum(n == cells[0] for n in cells) > 0.9 * len(cells):
            counts[mark] = cells[0]
    if not counts:
        raise DataError(
            f"{path}: no separator among comma, semicolon, tab and | divides its lines alike; save "
            "it as CSV"
        )
    return max(counts, key=lambda mark: counts[mark])


def _converted(path: Path, out: Path, frame: pd.DataFrame, what: str) -> Opened:
    """The same as a plain CSV beside the YAML."""
    place = out.with_name(f"{out.stem}_converted.csv")
    _require_new(place)
    cells = _texts(frame)
    form = {
        "kind": "csv", "separator": ",", "header": True, "comment": None, "strip": True,
        "encoding": "utf-8",
    }  # fmt: skip
    return Opened(place, cells, form, (f"{path.name} has {what}: written anew as {place}",), True)


def _texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Cells as texts without blanks around them; no value is an empty text."""
    found = {}
    for name in frame.columns:
        column = frame[name]
        texts = column.astype("string").fillna("").astype(object).astype(str).str.strip()
        if pd.api.types.is_float_dtype(column.dtype):
            texts = texts.str.replace(r"\.0$", "", regex=True)
        found[str(name)] = texts
    return pd.DataFrame(found)


def describe_guess(
    opened: Opened, guess: TableGuess, label: str, out: Path, *, by_prefix: bool
) -> str:
    """The YAML, with comments."""
    used = [one for one in guess.columns if one.kind != "out"]
    name = re.sub(r"\W+", "_", out.stem.lower()).strip("_") or "table"
    name = name if name[0].isalpha() else f"t_{name}"
    try:
        file = opened.path.resolve().relative_to(out.resolve().parent).as_posix()
    except ValueError:
        file = opened.path.resolve().as_posix()
    lines = [
        f"# {opened.path.name}, described by a guess: correct it, and fill in every price (null).",
        "# The keys are explained in config/datasets/template.yaml.",
        f"name: {name}",
        f"title: {_told(out.stem.replace('_', ' '))}",
        "note: >",
        f"  {guess.rows:,} rows, {len(used)} columns; where they come from and who may use them.",
        "cost_unit: EUR",
        "source:",
        "  kind: path",
        "  files:",
        f"    - name: {_told(file)}",
        "  format:",
        *(f"    {key}: {_told(value)}" for key, value in opened.form.items()),
        f"    missing: {_told(list(guess.missing))}",
        "columns:",
        *(line for one in guess.columns for line in _column_lines(one)),
        "panels:                   # what is acquired together; a price, or free: true",
        *_panel_lines(used, by_prefix=by_prefix),
        "cost_draw: null",
        "label:",
        f"  column: {_told(label)}",
        "  classes:                # with two, the second is the positive one",
        *(f"    - {{name: {_told(one)}, values: [{_told(one)}]}}" for one in guess.classes),
        "sensitive: null",
        *(f"# cluster: {_told(one)}     # rows of one value belong together" for one in
          guess.clusters[:1]),
        "misclassification_cost:   # row: what is true; column: what is said; in cost_unit",
        *(_error_line(k, len(guess.classes)) for k in range(len(guess.classes))),
        f"drop_rows: {_dropped(guess)}",
        "missing_values: own",
        "split:",
        "  scheme: fractions",
        "  seed: 0",
        "  parts: {train: 0.3, agent: 0.3, test: 0.4}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _error_line(k: int, classes: int) -> str:
    return f"  - [{', '.join('0' if j == k else 'null' for j in range(classes))}]"


def _dropped(guess: TableGuess) -> str:
    if not guess.label_gaps:
        return "[]"
    return f"[{{rule: label_missing, reason: {guess.label_gaps} rows have nothing to predict}}]"


def _column_lines(one: Guess) -> list[str]:
    """The column's entry, or a comment that says why it is left out."""
    said = "".join(f"  # {_plain(remark)}" for remark in one.remarks)
    if one.kind == "out":
        return [f"  # left out: {_plain(one.name)}{said}"]
    name = _told(_free(one.name))
    if name != _told(one.name):
        name += f", from: {_told(one.name)}"
    if one.kind == "categorical":
        levels = _told(list(one.levels))
        return [f"  - {{name: {name}, type: categorical, levels: {levels}}}{said}"]
    gaps = f", {one.gaps:.0%} missing" if one.gaps else ""
    lines = [
        f'  - {{name: {name}, type: numeric, unit: "1"}}  # {one.low:g} to {one.high:g}{gaps}{said}'
    ]
    if one.codes:
        codes = ", ".join(f"{{value: {code:g}, meaning: FILL IN}}" for code in one.codes)
        lines.append(f"  #   a code and no quantity? then add special_values: [{codes}]")
    return lines


def _panel_lines(used: Sequence[Guess], *, by_prefix: bool) -> list[str]:
    """One panel per column or prefix; columns without a gap are known, if others have gaps."""
    gaps = {one.name for one in used if one.gaps > 0}
    always = [_free(one.name) for one in used if one.name not in gaps]
    priced = [_free(one.name) for one in used if one.name in gaps] if gaps else always
    lines = []
    if gaps and always:
        lines.append(
            f"  - {{name: {_KNOWN}, columns: {_told(always)}, free: true}}"
            "  # no gap: move what has a price to a panel of its own"
        )
    groups = grouped(priced) if by_prefix else {name: [name] for name in priced}
    for panel, columns in groups.items():
        lines.append(f"  - {{name: {_told(panel)}, columns: {_told(columns)}, cost: null}}")
    return lines


def _free(name: str) -> str:
    """A name that no column of the project has."""
    return f"{name}_" if name in RESERVED_COLUMNS else name


def _told(value: Any) -> str:
    """A value as YAML writes it on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10**9)
    return text.removesuffix("\n").removesuffix("\n...")


def _plain(text: str) -> str:
    """Text that can stand in a comment."""
    return " ".join(text.split())


def _tell(opened: Opened, guess: TableGuess, out: Path) -> None:
    """What was found, for a person."""
    used = [one for one in guess.columns if one.kind != "out"]
    print(f"{out}: {guess.rows:,} rows, {len(used)} columns, classes {', '.join(guess.classes)}")
    for remark in (*opened.remarks, *guess.remarks):
        print(f"  {remark}")
    for one in guess.columns:
        for remark in one.remarks:
            print(f"  {'left out: ' if one.kind == 'out' else 'look: '}{one.name}: {remark}")
        if one.codes:
            codes = ", ".join(f"{code:g}" for code in one.codes)
            print(f"  look: {one.name}: {codes} may be a code and no quantity")
    print(
        "Fill in the prices of panels and errors (null), then:\n"
        f"  snakemake --cores 2 decide --config table={out}",
        file=sys.stdout,
    )
