"""`frugal init`: what it assumes of cells, sheets and units, and which files it refuses to read."""

import errno
import shlex
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from frugal.core.errors import DataError
from frugal.data.description import load_description
from frugal.data.long_files import LongFile
from frugal.data.prepare import prepare
from frugal.data.raw_cells import require_sheet_fits
from frugal.results import replacing
from frugal.run.init_command import init_command
from frugal.studies.recourse.sheets import read_sheet
from openpyxl.styles import Font

from tests.oracles.transport_writer import transport_file
from tests.unit.init_cases import N, init, priced, values_of, visits, with_gaps
from tests.workflow.runs import ROOT


def _described(folder: Path, columns: dict, *words: str, name: str = "t.csv") -> dict:
    """The YAML of a table of these columns, priced."""
    frame = pd.DataFrame(columns)
    label = {} if "ill" in frame else {"ill": ["yes", "no", "no"] * (len(frame) // 3)}
    frame.assign(**label).to_csv(folder / name, index=False)
    init(folder, *words, name=name)
    return yaml.safe_load(priced(folder).read_text())


def _column(document: dict, name: str) -> dict:
    """The entry of a column; empty where it is left out."""
    return next((one for one in document["columns"] if one["name"] == name), {})


RNG = np.random.default_rng(1)
SMALL = [f"{v}" for v in RNG.integers(1, 90, N)]
POINTS = [f"{v:.1f}" for v in RNG.normal(9, 2, N)]
LARGE = RNG.integers(700, 4000, N)
DAYS = pd.date_range("2023-01-05", periods=N, freq="5D")
THOUSANDS = {
    "points elsewhere": ({"x": [f"{v:,}" for v in LARGE], "y": POINTS}, ()),
    "smaller ones have none": ({"x": [f"{v:,}" for v in LARGE]}, ()),
    "by an option": ({"x": [f"{v + 1000:,}" for v in LARGE]}, ("--decimal", ".")),
    "points, and decimal commas": (
        {
            "x": [f"{v:,}".replace(",", ".") for v in LARGE],
            "y": [p.replace(".", ",") for p in POINTS],
        },
        (),
    ),
    "points, of which smaller ones have none": (
        {"x": [f"{v:,}".replace(",", ".") for v in LARGE]},
        (),
    ),
    "apostrophes": ({"x": [f"{v:,}".replace(",", "'") for v in LARGE]}, ()),
    "narrow blanks": ({"x": [f"{v:,}".replace(",", "\u202f") for v in LARGE]}, ()),
}


@pytest.mark.parametrize("way", THOUSANDS)
def test_marks_between_thousands_are_no_decimals(tmp_path, capsys, way):
    columns, words = THOUSANDS[way]
    _described(tmp_path, columns, *words)
    found = values_of(tmp_path / "t.yaml")
    np.testing.assert_array_equal(found["x"], LARGE + 1000 * (way == "by an option"))
    assert "between thousands (x)" in capsys.readouterr().out
    if "y" in columns:
        np.testing.assert_array_equal(found["y"], np.array(POINTS, dtype=float))


def test_a_comma_that_may_be_either_is_requested_about(tmp_path):
    columns = {"x": [f"{v + 1000:,}" for v in LARGE], "y": SMALL}
    with pytest.raises(DataError, match=r"'x' holds '\d,\d{3}', whose comma may be .*--decimal"):
        _described(tmp_path, columns)
    _described(tmp_path, columns, "--decimal", ",")
    np.testing.assert_allclose(values_of(tmp_path / "t.yaml")["x"], LARGE / 1000 + 1)


NUMBER = {"type": "numeric", "unit": "1"}
SITUATIONS = {
    "spellings of the label": (
        {"ill": ["yes", "no", "No", "Yes.", "no ", "NO"] * 10},
        {},
        "'yes' and 'Yes.'; 'no' and 'No' and 'NO' are taken for one value",
    ),
    "the positive class by its name": (
        {"ill": ["yes", "yes", "no"] * 20},
        {},
        "'yes' is the positive class (67% of the rows)",
    ),
    "a class that is not the other": (
        {"ill": ["ckd", "ckd", "notckd"] * 20},
        {},
        "'ckd' is the positive class (67% of the rows)",
    ),
    "spellings of a level": (
        {"x": ["Red", "red", "blue"] * 20},
        {"type": "categorical", "levels": ["Red", "blue"], "recode": {"red": "Red"}},
        "x: 'Red' and 'red' are taken for one value",
    ),
    "a unit behind numbers": (
        {"x": [f"{v} mg" for v in SMALL]},
        {"type": "numeric", "unit": "mg"},
        "x: numbers with the unit 'mg'",
    ),
    "percent": ({"x": [f"{v}%" for v in SMALL]}, {"type": "numeric", "unit": "%"}, "unit '%'"),
    "below a limit": (
        {"x": ["<0.01", "0.25", "1.5"] * 20},
        {"type": "numeric", "unit": "1", "recode": {"<0.01": 0.005}},
        "x: known up to a limit in 33% of its rows (<0.01): half",
    ),
    "words among numbers": (
        {"x": ["not done" if k % 3 else v for k, v in enumerate(SMALL)]},
        NUMBER,
        "x: holds text among its numbers ('not done', in 67%",
    ),
    "no finite numbers": (
        {"x": ["-Infinity", "inf", "1e400", "0x10", *SMALL[4:]]},
        NUMBER,
        "x: holds text among its numbers ('-Infinity' and 3 other texts, in 7%",
    ),
    "zeros": (
        {"x": [0 if k % 3 else int(v) + 30 for k, v in enumerate(SMALL)]},
        NUMBER,
        "x: 0 (67%) may be a code",
    ),
    "codes of a survey": (
        {"x": [[1, 2, 3, 77, 88, 99][k % 6] for k in range(N)]},
        NUMBER,
        "x: 77 (17%), 88 (17%), 99 (17%) may be a code",
    ),
    "no code": ({"x": list(range(8)) * 7 + [9, 9, 8, 8]}, NUMBER, "x"),
    "dates without marks": ({"x": [f"{d:%Y%m%d}" for d in DAYS]}, None, "x: holds dates"),
    "dates with slashes": ({"x": [f"{d:%Y/%m/%d}" for d in DAYS]}, None, "x: holds dates"),
    "dates with names": ({"x": [f"{d:%d-%b-%Y}" for d in DAYS]}, None, "x: holds dates"),
    "months": ({"x": [f"{d:%Y-%m}" for d in DAYS]}, None, "x: holds dates"),
    "days of a spreadsheet": (
        {"x": [45000 + 3 * k for k in range(N)][::-1]},
        None,
        "x: holds dates; make a number of them, such as days since an event, "
        "if they matter (they are counted in days",
    ),
    "thousands with decimals": ({"x": [f"{v}.{v % 90 + 10}" for v in LARGE]}, NUMBER, "x"),
    "zip codes": ({"x": [f"0{v}" for v in LARGE + 1000]}, None, "different numbers with a zero in"),
    "units by number": (
        {"patient": [k // 4 for k in range(N)]},
        None,
        "cluster: patient: rows of one value stay in one part",
    ),
    "units in columns of many": (
        {"hospital_id": [k // 5 for k in range(N)], "patient_id": [f"p{k // 2}" for k in range(N)]},
        None,
        "cluster: patient_id: rows",
    ),
    "a copy": ({"y": POINTS, "x": POINTS}, NUMBER, "x: is the same as y in every row"),
    "the same by other words": (
        {"y": ["a", "b", "c"] * 20, "x": [1, 2, 3] * 20},
        NUMBER,
        "x: has the same information as y in every row",
    ),
    "only of one class": (
        {"x": [v if k % 3 == 0 else "" for k, v in enumerate(POINTS)]},
        NUMBER,
        "x: has a value only where the label is 'yes' (20 rows)",
    ),
    "a rare level": (
        {"x": [*["a", "b"] * 29, "b", "c"]},
        {"type": "categorical", "levels": ["a", "b", "c"]},
        "x: fewer than 5 rows have 'c': put",
    ),
    "a region that is no gap": (
        {"x": ["NA", "EU", "AS"] * 20},
        {"type": "categorical", "levels": ["AS", "EU"]},
        "'NA' means no value (x)",
    ),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_what_is_assumed_of_cells_is_reported(tmp_path, capsys, situation):
    columns, entry, words = SITUATIONS[situation]
    document = _described(tmp_path, {"age": RNG.permutation(N), **columns})
    said = capsys.readouterr().out
    assert words in said
    if "x" in columns:
        assert _column(document, "x") == ({} if entry is None else {"name": "x", **entry})
    if "cluster" in words:
        assert document["cluster"] == words.split(": ")[1]
    if "holds text among" not in words:
        assert len(values_of(tmp_path / "t.yaml")["age"]) == N


def test_columns_that_are_missing_in_the_same_rows_are_one_panel(tmp_path, capsys):
    lacks = RNG.random(N) < 0.4
    columns = {name: np.where(lacks, "", POINTS) for name in ("ast", "alt", "bili")}
    document = _described(tmp_path, {"age": SMALL, **columns, "crp": with_gaps(RNG, "")})
    assert [one["columns"] for one in document["panels"]] == [
        ["age"],
        ["ast", "alt", "bili"],
        ["crp"],
    ]
    assert "one panel: ast, alt, bili are always missing together" in capsys.readouterr().out


def test_a_line_of_units_is_one(tmp_path, capsys):
    columns = {
        "age": ["years", *SMALL[1:]],
        "crp": ["mg/L", *POINTS[1:]],
        "sex": ["", *"fm" * 29, "f"],
    }
    columns["ill"] = ["y/n", *["yes", "no", "no"] * 19, "no", "yes"]
    document = _described(tmp_path, columns)
    assert "line 2 holds units" in capsys.readouterr().out
    assert [_column(document, name)["unit"] for name in ("age", "crp")] == ["years", "mg/L"]
    assert len(values_of(tmp_path / "t.yaml")["crp"]) == N - 1


def test_lines_below_a_table_are_left_out(tmp_path, capsys):
    table = visits()
    text = table.to_csv(index=False) + "Exported on 2024-03-01\nTotal: 60\n"
    (tmp_path / "t.csv").write_text(text)
    init(tmp_path)
    assert "t.csv has 2 lines below the table, left out" in capsys.readouterr().out
    assert len(values_of(priced(tmp_path))["age"]) == N
    (tmp_path / "t.yaml").unlink()
    (tmp_path / "t_converted.csv").unlink()
    (tmp_path / "t.csv").write_text(table.to_csv(index=False) + "c31,61,2026\n")
    with pytest.raises(DataError, match="line 62 has 3 cells"):  # a record that is cut off
        init(tmp_path)


NAMES = ["pressure, systolic", "x]", "a{b", "blood\u00a0pressure", "a\u200bb", "a: b", "#1", "- x"]
NAMES += ["'q", '"q', "a b ", "null", "yes", "1e3", "2023-01-01", "?", "*a", "&b", "!c", "%d", "@e"]
NAMES += ["`f", "|", "Größe", "part", "<<", "=", "12:30", "\U0001f600"]


@pytest.mark.parametrize("stem", ["Größe der, Leber", "null"])
def test_every_name_that_is_read_is_written_so_that_it_is_read_back(tmp_path, stem):
    values = {name: RNG.permutation(N) + 1000 * k for k, name in enumerate(NAMES)}
    frame = pd.DataFrame(values).assign(**{"il, l": ["y, s", "n: o", "n: o"] * (N // 3)})
    path = tmp_path / f"{stem}.csv"
    frame.assign(level=["a\u00a0b", "c]", "d"] * (N // 3)).to_csv(path, index=False)
    assert init_command([str(path), "--label", "il, l", "--header"]) == 0
    path.with_suffix(".yaml").rename(tmp_path / "t.yaml")
    found = values_of(priced(tmp_path))
    for (name, wanted), column in zip(values.items(), found, strict=False):
        np.testing.assert_array_equal(found[column], wanted, err_msg=name)
    assert {"level=a b", "level=c]", "level=d"} <= set(found)


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_the_command_works_from_where_one_is(tmp_path, capsys, monkeypatch, place):
    monkeypatch.chdir(ROOT if place == "here" else tmp_path)
    path = tmp_path / "my visits.csv"
    visits().to_csv(path, index=False)
    assert init_command([str(path) if place == "here" else path.name, "--label", "ill"]) == 0
    words = shlex.split(capsys.readouterr().out.splitlines()[-1])
    asked = words[-1].partition("=")[2]
    assert yaml.safe_load(asked) == asked
    assert Path(asked).is_file()
    assert words[0] == "snakemake"
    assert words[1:3] == (
        ["--cores", "2"] if place == "here" else ["--snakefile", f"{ROOT}/Snakefile"]
    )


def test_a_full_disk_leaves_no_file(tmp_path, monkeypatch):
    visits().to_excel(tmp_path / "t.xlsx", index=False)
    written = []

    def full(path: Path, content: bytes) -> None:
        written.append(path)
        path.write_bytes(content[:10])
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(replacing, "_write_through", full)
    with pytest.raises(DataError, match="No space left on device"):
        init(tmp_path, name="t.xlsx")
    assert [path.name for path in tmp_path.iterdir()] == ["t.xlsx"]


def _write_gappy(table: pd.DataFrame, path: Path) -> None:
    """Most records lack a cell."""
    table.to_excel(path, index=False)


def _write_merged(table: pd.DataFrame, path: Path) -> None:
    table.set_index(["case_id", "row"]).to_excel(path)


SHEETS = {
    "gaps in most records": (_write_gappy, ""),
    "merged cells": (_write_merged, "merged cells of 'case_id' are filled downwards"),
    "an index without a name": (lambda t, path: t.to_excel(path), "a column without a name"),
    "a title above": (lambda t, path: t.to_excel(path, index=False, startrow=2), ""),
}


@pytest.mark.parametrize("way", SHEETS)
def test_sheets_are_read_as_the_plain_file(tmp_path, capsys, way):
    table = visits().replace({"": np.nan, "NA": np.nan})
    table.loc[RNG.random(N) < 0.7, "sex"] = np.nan
    (tmp_path / "plain").mkdir()
    table.to_csv(tmp_path / "plain" / "t.csv", index=False)
    init(tmp_path / "plain")
    write, words = SHEETS[way]
    write(table, tmp_path / "t.xlsx")
    capsys.readouterr()
    init(tmp_path, name="t.xlsx")
    assert words in capsys.readouterr().out
    found, wanted = values_of(priced(tmp_path)), values_of(priced(tmp_path / "plain"))
    assert list(found) == list(wanted)
    for column, values in wanted.items():
        np.testing.assert_array_equal(found[column], values, err_msg=column)


def test_columns_of_an_index_are_columns(tmp_path):
    table = visits()
    table.set_index(["case_id", "ill"]).to_parquet(tmp_path / "t.parquet")
    document = yaml.safe_load(init(tmp_path, name="t.parquet"))
    assert (document["cluster"], document["source"]["format"]["kind"]) == ("case_id", "parquet")
    np.testing.assert_array_equal(values_of(priced(tmp_path))["age"], table["age"])


def test_arff_says_which_columns_are_categories_and_quotes_as_it_likes(tmp_path):
    head = "@relation t\n@attribute 'it\\'s' {1,2,3} % {a}\n@attribute \"x y\" numeric\n"
    body = "".join(f"{k % 3 + 1},{k * 7 % 11},'50\\%',\"it's\",{'yn'[k % 2]}\n" for k in range(N))
    kinds = "@attribute a {'50%','60%'}\n@attribute b {\"it's\", c}\n@attribute ill {y,n}\n"
    (tmp_path / "t.arff").write_text(f"{head}{kinds}@data\n{body}")
    document = yaml.safe_load(init(tmp_path, name="t.arff"))
    assert _column(document, "it's")["levels"] == ["1", "2", "3"]
    assert _column(document, "x y")["type"] == "numeric"
    found = values_of(priced(tmp_path))
    assert {"it's=1", "it's=2", "it's=3"} <= set(found)


def test_values_that_are_read_off_are_those_of_new_records(tmp_path):
    _described(tmp_path, {"x": [f"{v} mg" for v in SMALL], "y": ["<0.01", "0.25", "1.5"] * 20})
    found = values_of(tmp_path / "t.yaml")
    np.testing.assert_array_equal(found["x"], np.array(SMALL, dtype=float))
    np.testing.assert_array_equal(found["y"][:3], [0.005, 0.25, 1.5])


def _zipped(name: str, content: bytes):
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr(name, content)

    return write


def _far_cell(path: Path) -> None:
    book = openpyxl.Workbook()
    sheet: Any = book.active
    sheet["A1"], sheet["XFD1048576"] = "age", 1
    book.save(path)


def _long_text(path: Path) -> None:
    book = openpyxl.Workbook()
    sheet: Any = book.active
    for _ in range(4000):
        sheet.append(["x" * 30_000])
    book.save(path)


def _parquet(rows: int, text: str, columns: int = 2):
    def write(path: Path) -> None:
        code = pa.array(np.zeros(rows, dtype=np.int8))
        column = pa.DictionaryArray.from_arrays(code, pa.array([text]))
        names = ["age", "ill", *(f"x{k}" for k in range(2, columns))]
        pq.write_table(pa.table(dict.fromkeys(names, column)), path)

    return write


CELL = b'<table:table-cell table:number-columns-repeated="9000" office:value="1"/>'
ROW = b'<table:table-row table:number-rows-repeated="9000">' + CELL + b"</table:table-row>"
FAR = bytes([0, 4, 255, 255, 15, 0, 5, 4, 255, 63, 0, 0])  # the last row, and its last cell
BOMBS = {
    "far.xlsx": _far_cell,
    "long.xlsx": _long_text,
    "again.ods": _zipped("content.xml", ROW),
    "cells.ods": _zipped("content.xml", ROW.replace(b"9000", b"2600")),  # 32 bytes a cell
    "far.xlsb": _zipped("xl/worksheets/sheet1.bin", FAR),
    "rows.parquet": _parquet(13_000_000, "1"),
    "long.parquet": _parquet(2000, "x" * 60_000),
    "wide.parquet": _parquet(150_000, "1", columns=100),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_requests_for_much_memory_is_refused_before_it_is_read(tmp_path, name):
    BOMBS[name](tmp_path / name)
    assert (tmp_path / name).stat().st_size < 500_000
    with pytest.raises(DataError, match=rf"{name} has [\d,]+ bytes and unpacks to [\d,]+; at most"):
        init(tmp_path, name=name)
    parquet = name.endswith(".parquet")
    for read in (read_sheet, LongFile.of) if parquet else (require_sheet_fits,):
        with pytest.raises(DataError, match="bytes and unpacks to"):
            read(tmp_path / name)


def test_cells_that_are_only_formatted_are_no_far_cells(tmp_path):
    visits().to_excel(tmp_path / "t.xlsx", index=False)
    book = openpyxl.load_workbook(tmp_path / "t.xlsx")
    sheet: Any = book.active
    sheet["XFD1048576"].font = Font(bold=True)
    book.save(tmp_path / "t.xlsx")
    init(tmp_path, name="t.xlsx")


def test_parquet_with_a_name_twice_and_what_it_says_for_pandas(tmp_path):
    one = pa.array([1, 2] * 30)
    pq.write_table(pa.table([one, one], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="two columns named 'a'; names must be unique"):
        init(tmp_path, name="t.parquet")
    for said in (b"[]", b'{"index_columns": 7}', b"{", b'{"index_columns": [{"a": 1}]}'):
        table = pa.table({"age": one, "ill": one}).replace_schema_metadata({b"pandas": said})
        pq.write_table(table, tmp_path / "t.parquet")
        init(tmp_path, name="t.parquet")
        (tmp_path / "t.yaml").unlink()


def test_integers_are_names_digit_by_digit(tmp_path):
    for start in (10**15 + 1, 906 * 10**15):
        patient = start + np.arange(N) // 2
        table = visits().drop(columns="case_id").assign(patient_id=patient)
        table.to_parquet(tmp_path / "t.parquet")
        document = yaml.safe_load(init(tmp_path, name="t.parquet"))
        assert document["cluster"] == "patient_id"
        described = load_description(priced(tmp_path))
        made = prepare(described, {"t.parquet": tmp_path / "t.parquet"}, 0)
        assert made.belonging.cluster is not None
        assert len(np.unique(made.belonging.cluster)) == N // 2
        (tmp_path / "t.yaml").unlink()


@pytest.mark.parametrize("kind", ["parquet", "xpt", "csv"])
def test_numbers_that_mean_no_value_do_so_however_they_are_written(tmp_path, kind):
    table = pd.DataFrame({"age": [-9.0, 41.0, 50.5] * 20, "ill": [0.0, 1.0, 0.0] * 20})
    path = tmp_path / f"t.{kind}"
    if kind == "xpt":
        path.write_bytes(transport_file({str(name): table[name].tolist() for name in table}))
    else:
        table.to_parquet(path) if kind == "parquet" else table.to_csv(path, index=False)
    init(tmp_path, name=path.name)
    document = yaml.safe_load(priced(tmp_path).read_text())
    document["source"]["format"]["missing"] = ["", "-9"]
    (tmp_path / "t.yaml").write_text(yaml.safe_dump(document))
    np.testing.assert_array_equal(values_of(tmp_path / "t.yaml")["age"][:3], [np.nan, 41, 50.5])


def test_a_dash_among_few_numbers_is_no_level(tmp_path):
    """Else most rows would count as acquired."""
    cells = ["-"] * (N - 12) + ["0", "1", "2", "3"] * 3
    document = _described(tmp_path, {"mri": cells, "stage": [*["none"] * (N - 12), *"123" * 4]})
    assert _column(document, "mri")["type"] == "numeric"
    assert _column(document, "stage")["type"] == "categorical"
    description, files = load_description(tmp_path / "t.yaml"), {"t.csv": tmp_path / "t.csv"}
    with pytest.raises(DataError, match="'-', which is not a number; if it means a missing value"):
        prepare(description, files, 0)
