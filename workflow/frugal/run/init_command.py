"""`python -m frugal init TABLE --label COLUMN`: the YAML of one's own table, guessed and commented.

A guess for a person to correct: every price is left open, and a run without them is refused.
"""

import argparse
import os
import re
import shlex
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from frugal.config.dataset import RESERVED_COLUMNS
from frugal.core.declarations import PROJECT
from frugal.core.errors import DataError, say
from frugal.core.schema_check import did_you_mean, listed
from frugal.data.guessing import Guess, TableGuess, grouped, guess_table
from frugal.data.opening import MARKS, Opened, open_table
from frugal.results.replacing import replace_files
from frugal.run.arguments import command_parser, file_path

_START = "known at the start"
_CLUSTER = "rows of one value stay in one part, and intervals count them as one"


def init_command(words: Sequence[str]) -> int:
    """Write the YAML; returns the exit status.

    Raises:
        DataError: the table cannot be read, has no such label, or a file would be overwritten.
    """
    asked = _parser().parse_args(list(words))
    out = asked.out or _plain_path(asked.table).with_suffix(".yaml")
    converted = out.with_name(f"{out.stem}_converted.csv")
    _require_new(out)
    if not asked.table.is_file():
        raise DataError(f"there is no file {asked.table}")
    if not str(asked.table).isprintable():
        raise DataError(f"{asked.table} has a character that is not printed in its name; rename it")
    opened = open_table(asked.table, converted, asked.header, asked.decimal)
    try:
        guess = guess_table(
            opened.cells,
            asked.label,
            asked.cut,
            marks={key: opened.form[key] for key in MARKS if key in opened.form},
            units=opened.units,
            levels=opened.levels,
        )
    except DataError as error:
        said = "" if opened.named else f" ({opened.remarks[-1]})"
        raise DataError(f"{asked.table}: {error}{said}") from None
    _require_feature(asked.table, guess)
    texts = {asked.label, *(one.name for one in guess.columns if one.kind == "categorical")}
    if opened.cleaned & texts and not opened.converted:
        opened = opened.as_csv(converted, "has characters that are not printed")
    free = _free_columns(asked.free, guess)
    text = describe_guess(opened, guess, asked.label, out, free=free, by_prefix=asked.by_prefix)
    files = {out: text.encode()}
    if opened.converted:
        _require_new(opened.path)
        files[opened.path] = opened.cells.to_csv(index=False, lineterminator="\n").encode()
    replace_files(files)
    say(*_lines(opened, guess, out, free))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = command_parser("init", "Describe a table of one's own: writes its YAML.")
    parser.add_argument("table", help="CSV, TSV, ARFF, Parquet, Excel or SAS transport", type=Path)
    parser.add_argument("--label", required=True, help="the column to predict")
    parser.add_argument("--out", type=file_path, help="the YAML; beside the table without it")
    parser.add_argument(
        "--free",
        action="append",
        default=[],
        metavar="COLUMN,…",
        help="known at the start and without a price; may be repeated",
    )
    parser.add_argument("--by-prefix", action="store_true", help="one panel per common prefix")
    parser.add_argument(
        "--cut", type=float, metavar="NUMBER",
        help="the label is a number: the classes are below this, and from it on",
    )  # fmt: skip
    parser.add_argument(
        "--header", action=argparse.BooleanOptionalAction, default=None,
        help="the first line holds the names of the columns, or does not; guessed without",
    )  # fmt: skip
    parser.add_argument(
        "--decimal", choices=[".", ","], help="mark of decimals in texts; guessed without"
    )
    return parser


def _require_new(path: Path) -> None:
    if os.path.lexists(path):
        raise DataError(f"{path} is there already, and is not overwritten; name another with --out")


def _require_feature(path: Path, guess: TableGuess) -> None:
    if all(one.kind == "out" for one in guess.columns):
        why = "; ".join(f"{one.name}: {one.remarks[0]}" for one in guess.columns[:3])
        raise DataError(f"{path}: no column could be a feature ({why or 'there is no other'})")


def _plain_path(path: Path) -> Path:
    """The path without `.gz`."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def _free_columns(words: Sequence[str], guess: TableGuess) -> set[str]:
    """Columns that `--free` names: whole words, or parts between commas."""
    features = [one.name for one in guess.columns if one.kind != "out"]
    names = [
        part.strip() for word in words for part in ([word] if word in features else word.split(","))
    ]
    for name in names:
        if name not in features:
            raise DataError(
                f"--free names {name!r}; the features are {listed(features)}"
                f"{did_you_mean(name, features)}"
            )
    return set(names)


def describe_guess(
    opened: Opened,
    guess: TableGuess,
    label: str,
    out: Path,
    *,
    free: set[str],
    by_prefix: bool,
) -> str:
    """The YAML, with comments."""
    used = [one for one in guess.columns if one.kind != "out"]
    lines = [
        f"# {opened.path.name}, described by a guess: correct it, and fill in every price (null).",
        "# The keys are explained in config/datasets/template.yaml.",
        f"name: {_short_name(out.stem)}",
        f"title: {_flow(' '.join(out.stem.replace('_', ' ').split()))}",
        "note: >",
        f"  {guess.rows:,} rows, {len(used)} columns; where they come from and who may use them.",
        "cost_unit: EUR",
        "source:",
        "  kind: path",
        "  files:",
        f"    - name: {_flow(_place(opened.path, out))}",
        "  format:",
        *(f"    {key}: {_flow(value)}" for key, value in opened.form.items()),
        f"    missing: {_flow(list(guess.missing))}   # texts that mean no value",
        "columns:",
        *(line for one in guess.columns for line in _column_lines(one)),
        "panels:                   # what is acquired together; a price, or free: true",
        *_panel_lines(used, free, by_prefix=by_prefix),
        "cost_draw: null",
        "label:",
        f"  column: {_flow(label)}",
        "  classes:                # with two, the second is the positive one",
        *(f"    - {{name: {_flow(name)}, {bounds}}}" for name, bounds in _classes(guess)),
        "sensitive: null",
        *_cluster_lines(guess.clusters),
        "misclassification_cost:   # row: what is true; column: what is predicted; in cost_unit",
        *(_error_line(k, len(guess.classes)) for k in range(len(guess.classes))),
        f"drop_rows: {_dropped(guess)}",
        "missing_values: own",
        "split:",
        "  scheme: fractions",
        "  seed: 0",
        "  parts: {train: 0.3, agent: 0.3, test: 0.4}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _place(path: Path, out: Path) -> str:
    """Where the table lies: from the folder of the YAML on, if it is in there."""
    place, folder = path.resolve(), out.resolve().parent
    return (place.relative_to(folder) if place.is_relative_to(folder) else place).as_posix()


def _short_name(stem: str) -> str:
    """A name for paths: small letters without marks, digits, underscores."""
    plain = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_") or "table"
    return (name if name[0].isalpha() else f"t_{name}")[:100]


def _classes(guess: TableGuess) -> list[tuple[str, str]]:
    """Name and meaning of each class."""
    if guess.cut is None:
        return [(name, f"values: {_flow(list(texts))}") for name, texts in guess.classes.items()]
    return [
        (name, f"{'below' if name.startswith('below') else 'from'}: {guess.cut:.15g}")
        for name in guess.classes
    ]


def _cluster_lines(clusters: Sequence[Guess]) -> Iterator[str]:
    """The column that says which rows belong together, and others that could."""
    for k, one in enumerate(clusters):
        gaps = f"; {one.gaps:.0%} of the rows have no value yet" if one.gaps else ""
        yield f"{'# ' if k or gaps else ''}cluster: {_flow(one.name)}   # {_CLUSTER}{gaps}"


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
    entry: dict[str, Any] = {"name": _unreserved(one.name)}
    if entry["name"] != one.name:
        entry["from"] = one.name
    entry |= {"type": one.kind}
    entry |= {"levels": list(one.levels)} if one.kind == "categorical" else {"unit": one.unit}
    entry |= {"recode": dict(one.recode)} if one.recode else {}
    gaps = f", {one.gaps:.0%} missing" if one.gaps else ""
    ends = "" if one.kind == "categorical" else f"  # {one.low:g} to {one.high:g}{gaps}"
    lines = [f"  - {_flow(entry)}{ends}{said}"]
    if one.codes:
        codes = ", ".join(f"{{value: {code:g}, meaning: FILL IN}}" for code in one.codes)
        lines.append(f"  #   a code and no quantity? then add special_values: [{codes}]")
    return lines


def _panel_lines(used: Sequence[Guess], free: set[str], *, by_prefix: bool) -> list[str]:
    """Panels without a price: one per column, per columns with the same gaps, or per prefix."""
    panels: list[dict[str, Any]] = []
    at_start = [_unreserved(one.name) for one in used if one.name in free]
    if at_start:
        panels.append({"name": _START, "columns": at_start, "free": True})
    priced = [one for one in used if one.name not in free]
    gaps = {_unreserved(one.name) for one in priced if one.gaps}
    for panel, columns in _groups(priced, by_prefix=by_prefix).items():
        panels.append({"name": panel, "columns": columns, "cost": None})
    names: set[str] = set()
    lines = []
    for panel in panels:
        while panel["name"] in names:
            panel["name"] += "_"
        names.add(panel["name"])
        columns = set(panel["columns"])
        note = "  # no gap: free: true if it is known at the start" if not columns & gaps else ""
        if len(columns) > 1 and columns <= gaps and not by_prefix:
            note = "  # always missing together"
        lines.append(f"  - {_flow(panel)}{'' if 'free' in panel else note}")
    return lines


def _groups(priced: Sequence[Guess], *, by_prefix: bool) -> Mapping[str, list[str]]:
    """Columns of each panel by the panel's name."""
    if by_prefix:
        return grouped(_unreserved(one.name) for one in priced)
    alike: dict[object, list[str]] = {}
    for one in priced:
        alike.setdefault(one.together or one.name, []).append(_unreserved(one.name))
    return {_panel_name(columns): columns for columns in alike.values()}


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
    """A value as YAML writes it on one line, inside of lists and mappings too."""
    text = yaml.safe_dump(
        [value], default_flow_style=True, allow_unicode=True, width=10**9, sort_keys=False
    )
    return text.strip()[1:-1]


def _plain(text: str) -> str:
    """Text that can stand in a comment."""
    return " ".join(text.split())


def _lines(opened: Opened, guess: TableGuess, out: Path, free: set[str]) -> Iterator[str]:
    """What was found, for a person, and what to do next."""
    used = [one for one in guess.columns if one.kind != "out"]
    yield f"{out}: {guess.rows:,} rows, {len(used)} columns, classes {', '.join(guess.classes)}"
    yield from (f"  {remark}" for remark in (*opened.remarks, *guess.remarks))
    for one in guess.columns:
        for remark in one.remarks:
            yield f"  {'left out: ' if one.kind == 'out' else 'look: '}{one.name}: {remark}"
        if one.codes:
            codes = ", ".join(f"{code:g} ({share:.0%})" for code, share in one.codes.items())
            yield f"  look: {one.name}: {codes} may be a code and no quantity"
    if guess.clusters:
        first = guess.clusters[0]
        says = "fill the gaps in, then add the line" if first.gaps else "remove the line if not"
        yield f"  cluster: {first.name}: {_CLUSTER}; {says}"
    together = {}
    for one in used:
        together.setdefault(one.together, []).append(one.name)
    for number, names in together.items():
        if number and len(names) > 1:
            yield f"  one panel: {', '.join(names)} are always missing together"
    whole = [one.name for one in used if not one.gaps and one.name not in free]
    if whole:
        yield (
            f"  no gap in {listed(map(repr, whole))}: a price for each that is measured; "
            "free: true (or --free NAME,NAME) for what is known at the start"
        )
    yield "Fill in the prices of panels and errors (null), then:"
    yield f"  {_command(out)}"


def _command(out: Path) -> str:
    """The command that judges the table, as it works from the working folder."""
    project = PROJECT / "Snakefile"
    table = shlex.quote(f"table={_flow(str(out))}")
    if find_spec("snakemake") is None:
        call = f"import frugal; print(frugal.decide({str(out)!r}).summary())"
        return f"python -c {shlex.quote(call)}"
    here = Path("Snakefile").exists() and Path("Snakefile").samefile(project)
    where = "" if here else f"--snakefile {shlex.quote(str(project))} "
    return f"snakemake {where}--cores 2 decide --config {table}"
