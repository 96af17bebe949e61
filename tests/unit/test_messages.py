"""What messages show: no escape sequence, nothing a terminal lacks, no record of persons."""

import ast
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frugal.__main__ import main
from frugal.core.errors import FrugalError, say
from frugal.data.description import load_description
from frugal.data.encoding import encode
from frugal.data.long_files import LongFile
from frugal.data.parsing import parse_files
from frugal.data.prepare import belonging_of
from frugal.run.init_command import init_command
from frugal.studies.recourse.sheets import price_of, read_sheet, require_column, whole_numbers
from frugal.studies.treatment.data.isolate_tables import read_text_table
from frugal.studies.treatment.data.levels import ColumnLevels, Strata

from tests.unit import test_advice
from tests.unit.dataset_documents import CSV, document, load

PACKAGE = Path(__file__).parents[2] / "workflow" / "frugal"
SECRET = "SECRET-77"
ONE = np.array([1])
RED = "\x1b[31mred\x1b]0;mine\x07"


def test_nothing_reaches_a_terminal_but_by_one_way():
    for path in [PACKAGE / "__main__.py", *PACKAGE.glob("run/*.py"), *PACKAGE.glob("library/*.py")]:
        calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        names = [call.func.id for call in calls if isinstance(call.func, ast.Name)]
        assert "print" not in names, path


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_a_line_stays_one_line_of_what_is_printed(encoding):
    terminal = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
    say(f"a {RED}\nnot a line", "größer → ∞", file=terminal)
    terminal.seek(0)
    lines = terminal.read().splitlines()
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)
    assert lines[0] == r"a \x1b[31mred\x1b]0;mine\x07\nnot a line"
    if encoding != "ascii":
        assert lines[1].startswith("größer")


def test_a_foreign_name_is_printed_escaped(tmp_path, capsys):
    table = pd.DataFrame({f"a{RED}": range(60), "b": ["x", RED] * 30, "ill": ["y", "n"] * 30})
    table.to_csv(tmp_path / "t.csv", index=False)
    assert init_command([str(tmp_path / "t.csv"), "--label", "ill"]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\x07" not in said


def test_a_table_in_place_of_a_description_is_not_quoted(tmp_path, capsys):
    for name, words in (
        ("t.csv", "t.csv is a table; allowed is the YAML of one: frugal decide "),
        ("t.yaml", "t.yaml: 'top level' is a text; allowed is a mapping of keys"),
    ):
        (tmp_path / name).write_text(CSV.replace("yes", SECRET))
        with pytest.raises(FrugalError) as refusal:
            load_description(tmp_path / name)
        assert words in str(refusal.value)
        assert SECRET not in str(refusal.value)


def test_a_record_in_place_of_names_is_not_quoted(tmp_path):
    described = load(tmp_path, document())
    (tmp_path / "small.csv").write_text(f"55,{SECRET},3,2,1\n54,{SECRET},1,2,1\n")
    with pytest.raises(FrugalError, match="may be a record and no names") as refusal:
        encode(parse_files(described, {"small.csv": tmp_path / "small.csv"}), described)
    assert SECRET not in str(refusal.value)


def _table(folder: Path, old: str, new: str) -> None:
    described = load(folder, document())
    (folder / "small.csv").write_text(CSV.replace(old, new))
    encode(parse_files(described, {"small.csv": folder / "small.csv"}), described)


def _cases(folder: Path, row: str) -> None:
    made = test_advice.made(folder / "bundle")
    (folder / "c.csv").write_text(test_advice.HEAD + row)
    if main(["advise", str(made), str(folder / "c.csv")]):
        raise FrugalError


def _init(folder: Path) -> None:
    table = pd.DataFrame({"age": range(60), "ill": [SECRET] * 60})
    table.to_csv(folder / "t.csv", index=False)
    init_command([str(folder / "t.csv"), "--label", "ill"])


def _one_group(folder: Path) -> None:
    described = load(folder, document() | {"groups": "note"})
    rows = [f"{row},{SECRET}" for row in CSV.splitlines()[1:]]
    (folder / "small.csv").write_text("\n".join(["age,smoker,marker,scan,ill,note", *rows]))
    raw = parse_files(described, {"small.csv": folder / "small.csv"})
    belonging_of(raw, np.arange(len(rows)), described)


def _new_unit(_: Path) -> None:
    Strata((ColumnLevels("x", ("a",), ("a",), ()),), (False,), (), np.zeros((1, 1))).index(
        np.array([[1]]), [SECRET]
    )


REFUSALS = {
    "a number": lambda folder: _table(folder, "61", SECRET),
    "a level": lambda folder: _table(folder, "61,no", f"61,{SECRET}"),
    "a class": lambda folder: _table(folder, "2,1", f"2,{SECRET}"),
    "a case": lambda folder: _cases(folder, f"a,{SECRET},no,,,\n"),
    "a label": _init,
    "an outcome": lambda folder: ColumnLevels("x", ("a",), ("a",), ()).code(
        LongFile("f", pd.DataFrame({"x": [SECRET]}), ONE)
    ),
    "a price": lambda folder: price_of(SECRET, 1, "f"),
    "the only group": _one_group,
    "a unit": _new_unit,
    "a feature": lambda folder: whole_numbers(pd.DataFrame({"a": [SECRET]}), ("a",), ONE, "f"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_a_refusal_shows_the_one_cell_and_in_private_none(tmp_path, capsys, monkeypatch, what):
    def refused() -> str:
        with pytest.raises(FrugalError) as refusal:
            REFUSALS[what](tmp_path)
        return str(refusal.value) + capsys.readouterr().err

    assert refused().count(SECRET) == 1
    monkeypatch.setenv("FRUGAL_PRIVATE", "1")
    said = refused()
    assert SECRET not in said
    assert "a value (not shown: --private)" in said


@pytest.mark.parametrize("record", [f"{SECRET},f,yes", f"{SECRET},{SECRET},yes"])
@pytest.mark.parametrize("reader", ["table", "units", "isolates"])
def test_a_record_where_names_should_be_is_not_shown_in_private(
    tmp_path, monkeypatch, record, reader
):
    monkeypatch.setenv("FRUGAL_PRIVATE", "1")
    path = tmp_path / "small.csv"
    path.write_text(f"{record}\n" * 3)
    readers = {
        "table": lambda: _table(tmp_path, CSV, f"{record}\n" * 3),
        "units": lambda: require_column(read_sheet(path)[0], "unit", path.name),
        "isolates": lambda: read_text_table(path, ("id",)),
    }
    with pytest.raises(FrugalError) as refusal:
        readers[reader]()
    assert SECRET not in str(refusal.value)


def test_private_is_an_option_of_every_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FRUGAL_PRIVATE", "0")
    path = tmp_path / "t.csv"
    pd.DataFrame({"age": range(60), "ill": [SECRET] * 60}).to_csv(path, index=False)
    assert main(["init", str(path), "--label", "ill", "--private"]) == 2
    assert "'ill' holds a value (not shown: --private) alone" in capsys.readouterr().err
