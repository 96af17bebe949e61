"""`python -m frugal init TABLE --label COLUMN`: the YAML of one's own table, guessed and commented.

A guess for a person to correct: prices are left open, and a run without them is refused.
"""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from frugal.core.errors import DataError
from frugal.core.sidecars import write_apart
from frugal.data.description_checks import RESERVED_COLUMNS
from frugal.data.guessing import Guess, TableGuess, grouped, guess_table
from frugal.data.opening import Opened, open_table

_KNOWN = "known at the start"


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
    parser.add_argument(
        "--cut", type=float, metavar="NUMBER",
        help="the label is a number: the classes are below this, and from it on",
    )  # fmt: skip
    parser.add_argument(
        "--header", action=argparse.BooleanOptionalAction, default=None,
        help="the first line holds the names of the columns, or does not; guessed without",
    )  # fmt: skip
    asked = parser.parse_args(list(words))
    out = asked.out or _plain_name(asked.table).with_suffix(".yaml")
    _require_new(out)
    if not asked.table.is_file():
        raise DataError(f"there is no file {asked.table}")
    opened = open_table(asked.table, out.with_name(f"{out.stem}_converted.csv"), asked.header)
    if opened.converted:
        _require_new(opened.path)
    try:
        guess = guess_table(opened.cells, asked.label, asked.cut)
    except DataError as error:
        said = "" if opened.named else f" ({opened.remarks[-1]})"
        raise DataError(f"{asked.table}: {error}{said}") from None
    _require_feature(asked.table, guess)
    text = describe_guess(opened, guess, asked.label, out, by_prefix=asked.by_prefix)
    if opened.converted:
        write_apart(opened.path, opened.cells.to_csv(index=False, lineterminator="\n").encode())
    write_apart(out, text.encode())
    _tell(opened, guess, out)
    return 0


def _require_new(path: Path) -> None:
    if os.path.lexists(path):
        raise DataError(f"{path} is there already, and is not overwritten; name another with --out")


def _require_feature(path: Path, guess: TableGuess) -> None:
    if all(one.kind == "out" for one in guess.columns):
        why = "; ".join(f"{one.name}: {one.remarks[0]}" for one in guess.columns[:3])
        raise DataError(f"{path}: no column could be a feature ({why or 'there is no other'})")


def _plain_name(path: Path) -> Path:
    """The path without `.gz`."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


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
        *(f"    - {{name: {_told(one)}, {bounds}}}" for one, bounds in _classes(guess)),
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


def _classes(guess: TableGuess) -> list[tuple[str, str]]:
    """Name and meaning of each class."""
    if guess.cut is None:
        return [(one, f"values: [{_told(one)}]") for one in guess.classes]
    return [
        (one, f"{'below' if one.startswith('below') else 'from'}: {guess.cut:.15g}")
        for one in guess.classes
    ]


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
