"""`frugal init`: the YAML of an unknown table, by guesses that are told."""

import errno
import shlex
import shutil
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
from frugal.core import replacing
from frugal.core.errors import ConfigError, DataError
from frugal.cover.sheets import read_sheet
from frugal.data.description import load_description
from frugal.data.guessing import guess_table, label_told, told_in
from frugal.data.prepare import prepare
from frugal.data.raw import locate_file
from frugal.run.init_command import init_command
from frugal.search.own_records import cells_of as records_of_searches
from openpyxl.styles import Font

from tests.oracles.transport_writer import transport_file
from tests.workflow.runs import ROOT

N = 60


def _with_gaps(rng: np.random.Generator, word: str) -> np.ndarray:
    return np.where(rng.random(N) < 0.3, word, rng.normal(9, 2, N).round(1).astype(str))


def _table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ill = rng.random(N) < 0.3
    return pd.DataFrame(
        {
            "case_id": [f"c{k // 2}" for k in range(N)], "row": range(1, N + 1),
            "seen": [f"2026-01-{1 + k % 28:02d}" for k in range(N)], "site": "one",
            "age": rng.integers(20, 90, N), "sex": rng.choice(["f", "m"], N),
            "lab_crp": _with_gaps(rng, ""), "lab_pct": _with_gaps(rng, "NA"),
            "sofa": np.where(rng.random(N) < 0.2, -9, rng.integers(0, 15, N)),
            "discharged_to": np.where(ill, "ward", "home"), "ill": np.where(ill, "yes", "no"),
        }
    )  # fmt: skip


def _init(folder: Path, *words: str, name: str = "t.csv") -> str:
    assert init_command([str(folder / name), "--label", "ill", *words]) == 0
    return (folder / "t.yaml").read_text()


def _priced(folder: Path) -> Path:
    """The YAML with every price filled in."""
    path = folder / "t.yaml"
    document = yaml.safe_load(path.read_text())
    for panel in document["panels"]:
        if not panel.get("free"):
            panel["cost"] = 1
    document["misclassification_cost"] = [[0, 10], [20, 0]]
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def _values(path: Path) -> dict[str, np.ndarray]:
    described = load_description(path)
    files = {}
    for file in described.source.files:
        found = locate_file(described, file.name, data_mirror=None)
        assert found is not None
        files[file.name] = found
    table = prepare(described, files, 0).table
    return {name: table.values[:, k] for k, name in enumerate(table.columns)}


def test_what_columns_are_is_guessed_and_told(tmp_path, capsys):
    _table().to_csv(tmp_path / "t.csv", index=False)
    text = _init(tmp_path)
    document, said = yaml.safe_load(text), capsys.readouterr().out
    assert [one["name"] for one in document["columns"]] == [
        "age", "sex", "lab_crp", "lab_pct", "sofa", "discharged_to"
    ]  # fmt: skip
    assert document["source"]["format"]["missing"] == ["", "NA"]
    assert document["label"]["classes"][1] == {"name": "yes", "values": ["yes"]}
    for words in (
        "left out: case_id: names that stand in several rows", "left out: row: numbers the rows",
        "left out: seen: holds dates", "left out: site: holds 'one' alone",
        "look: discharged_to: tells the label in all of 60 rows",
        "look: sofa: -9 (",
    ):  # fmt: skip
        assert words in said
    assert document["cluster"] == "case_id"
    assert "special_values: [{value: -9, meaning: FILL IN}]" in text
    assert [(one["columns"], one["cost"]) for one in document["panels"]] == [
        ([one["name"]], None) for one in document["columns"]
    ]  # fmt: skip
    assert "no gap in 'age', 'sex', 'sofa', 'discharged_to': a price for each" in said


def test_what_is_free_is_named_by_a_person(tmp_path, capsys):
    _table().to_csv(tmp_path / "t.csv", index=False)
    panels = yaml.safe_load(_init(tmp_path, "--free", "age,sex", "--free", "sofa"))["panels"]
    assert panels[0] == {
        "name": "known at the start", "columns": ["age", "sex", "sofa"], "free": True
    }  # fmt: skip
    assert all(one["cost"] is None for one in panels[1:])
    assert "no gap in 'discharged_to': a price" in capsys.readouterr().out
    (tmp_path / "t.yaml").unlink()
    with pytest.raises(DataError, match=r"--free names 'agee'.*did you mean 'age'\?"):
        _init(tmp_path, "--free", "agee")


def test_open_prices_are_refused_in_a_sentence_that_names_them(tmp_path):
    _table().to_csv(tmp_path / "t.csv", index=False)
    _init(tmp_path)
    with pytest.raises(ConfigError) as refusal:
        load_description(tmp_path / "t.yaml")
    said = str(refusal.value)
    assert "fill in the cost of age, sex, lab_crp, lab_pct, sofa, discharged_to (first" in said
    assert "\n" not in said
    load_description(_priced(tmp_path))


def test_panels_by_prefix(tmp_path):
    _table().to_csv(tmp_path / "t.csv", index=False)
    panels = yaml.safe_load(_init(tmp_path, "--by-prefix"))["panels"]
    assert {"name": "lab", "columns": ["lab_crp", "lab_pct"], "cost": None} in panels


def test_a_table_without_gaps_has_a_price_for_every_column(tmp_path):
    _table()[["age", "sex", "sofa", "ill"]].to_csv(tmp_path / "t.csv", index=False)
    panels = yaml.safe_load(_init(tmp_path))["panels"]
    assert [one["columns"] for one in panels] == [["age"], ["sex"], ["sofa"]]
    assert all(one["cost"] is None for one in panels)


FORMS = {
    "marked": ("t.csv", lambda table, path: table.to_csv(path, index=False, encoding="utf-8-sig")),
    "semicolon": ("t.csv", lambda table, path: table.to_csv(path, index=False, sep=";")),
    "tab": ("t.csv", lambda table, path: table.to_csv(path, index=False, sep="\t")),
    "blank": ("t.dat", lambda table, path: _write_blanks(table, path)),
    "latin": ("t.csv", lambda table, path: table.to_csv(path, index=False, encoding="latin-1")),
    "utf-16": ("t.csv", lambda table, path: table.to_csv(path, index=False, encoding="utf-16")),
    "utf-16-le": (
        "t.txt", lambda table, path: table.to_csv(path, index=False, sep="\t", encoding="utf-16-le")
    ),
    "gzip": ("t.csv.gz", lambda table, path: table.to_csv(path, index=False)),
    "titles": ("t.csv", lambda table, path: _write_below(table, path, "Visits of 2026\n\n")),
    "decimal": ("t.csv", lambda table, path: _write_decimal_commas(table, path)),
    "parquet": ("t.parquet", lambda table, path: table.to_parquet(path)),
    "excel": ("t.xlsx", lambda table, path: table.to_excel(path, index=False)),
    "excel below titles": (
        "t.xlsx", lambda table, path: table.to_excel(path, index=False, startrow=3, startcol=0)
    ),
    "arff": ("t.arff", lambda table, path: _write_arff(table, path)),
}  # fmt: skip


def _write_blanks(table: pd.DataFrame, path: Path) -> None:
    """Cells in quotes, runs of blanks between them and at both ends."""
    rows = [table.columns, *table.astype(str).to_numpy()]
    path.write_text("".join("  " + "   ".join(f'"{c}"' for c in row) + " \n" for row in rows))


def _write_below(table: pd.DataFrame, path: Path, lines: str) -> None:
    path.write_text(lines + table.to_csv(index=False))


def _write_decimal_commas(table: pd.DataFrame, path: Path) -> None:
    commas = {c: table[c].str.replace(".", ",") for c in ("lab_crp", "lab_pct")}
    table.assign(**commas).to_csv(path, index=False, sep=";")


def _write_arff(table: pd.DataFrame, path: Path) -> None:
    head = "".join(f"@attribute {name} string\n" for name in table.columns)
    body = table.to_csv(index=False, header=False, quotechar="'")
    path.write_text(f"@relation t\n{head}@data\n{body}", encoding="utf-8")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_values_of_the_plain_file(tmp_path, form):
    table = _table().assign(sex=lambda t: t["sex"].replace({"f": "fühlt"}))
    plain, other = tmp_path / "plain", tmp_path / "other"
    plain.mkdir()
    other.mkdir()
    table.to_csv(plain / "t.csv", index=False)
    name, write = FORMS[form]
    write(table, other / name)
    _init(plain)
    _init(other, name=name)
    found, wanted = _values(_priced(other)), _values(_priced(plain))
    assert list(found) == list(wanted)
    for column, values in wanted.items():
        np.testing.assert_array_equal(found[column], values, err_msg=column)


@pytest.mark.parametrize("separator", [",", " "])
def test_a_file_without_names_has_numbered_columns_and_says_so(tmp_path, capsys, separator):
    table = _table().drop(columns="lab_crp")
    place = tmp_path / "t.csv"
    table.to_csv(place, index=False, header=False, sep=separator, na_rep="NA")
    assert init_command([str(place), "--label", "column_10"]) == 0
    said = capsys.readouterr().out
    assert "the first line holds no names, so columns are column_1 to column_10" in said
    found = _values(_priced(tmp_path))
    np.testing.assert_array_equal(found["column_5"], table["age"])
    assert len(found["column_5"]) == N


def test_a_label_by_name_in_a_file_without_names_is_refused_with_the_names(tmp_path):
    _table().to_csv(tmp_path / "t.csv", index=False, header=False)
    with pytest.raises(DataError, match=r"no column 'ill'.*columns are column_1 to column_11; say"):
        _init(tmp_path)


def test_whether_the_first_line_holds_names_can_be_said(tmp_path):
    years = pd.DataFrame(
        {"2024": [1, 5] * (N // 2), "2025": [3, 2, 4] * (N // 3), "ill": ["a", "b"] * (N // 2)}
    )
    years.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match="say --header if it does"):
        _init(tmp_path)
    document = yaml.safe_load(_init(tmp_path, "--header"))
    assert document["source"]["format"]["header"] is True
    texts = pd.DataFrame({"ill": ["b", *["a", "b"] * N], "dose": ["x", *["low", "high"] * N]})
    texts.to_csv(tmp_path / "t2.csv", index=False, header=False)
    with pytest.raises(DataError, match=r"column_1 to column_2"):
        init_command([str(tmp_path / "t2.csv"), "--label", "ill", "--no-header"])


def test_names_that_stand_twice_or_lack_are_made_different(tmp_path, capsys):
    table = _table().rename(columns={"sofa": "age", "row": ""})
    table.to_csv(tmp_path / "t.csv", index=False)
    _init(tmp_path)
    said = capsys.readouterr().out
    assert "a second column 'age' is called 'age_2' here" in said
    assert "a column without a name is called 'column_2' here" in said
    found = _values(_priced(tmp_path))
    np.testing.assert_array_equal(found["age_2"], _table()["sofa"])


def test_names_as_r_writes_them_one_fewer_than_columns(tmp_path):
    table = _table().drop(columns=["case_id", "row"])
    head = ",".join(table.columns) + "\n"
    rows = table.to_csv(header=False, index_label=None)
    (tmp_path / "t.csv").write_text(head + rows)
    _init(tmp_path)
    np.testing.assert_array_equal(_values(_priced(tmp_path))["age"], table["age"])


def test_sas_transport_is_read(tmp_path):
    table = _table()[["age", "sofa"]].astype(float).assign(ill=[0.0, 1.0] * (N // 2))
    content = transport_file({str(name): table[name].tolist() for name in table})
    (tmp_path / "t.xpt").write_bytes(content)
    _init(tmp_path, name="t.xpt")
    np.testing.assert_array_equal(_values(_priced(tmp_path))["age"], table["age"])


def test_a_number_as_label_is_cut_in_two(tmp_path):
    table = _table().assign(ill=np.r_[np.arange(N - 1) / 7, np.nan])
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=r"59 different values.*--cut NUMBER makes two of them"):
        _init(tmp_path)
    document = yaml.safe_load(_init(tmp_path, "--cut", "5"))
    assert document["label"]["classes"] == [
        {"name": "below 5", "below": 5}, {"name": "from 5", "from": 5}
    ]  # fmt: skip
    _values(_priced(tmp_path))
    with pytest.raises(
        DataError, match=r"holds '[fm]', which is no number that --cut could divide"
    ):
        init_command([str(tmp_path / "t.csv"), "--label", "sex", "--cut", "5",
                      "--out", str(tmp_path / "other.yaml")])  # fmt: skip


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PK\x03\x04 more", r"packed by zip: unpack it first .*an Excel file is named \.xlsx"),
        (b"BZh9 more", "packed by bzip2"),
        (b"\x00\x01\x02\x00\x00\x00\x03" * 9, "is no text; allowed are CSV"),
    ],
)
def test_what_is_no_text_is_refused_with_what_to_do(tmp_path, content, words):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=words):
        _init(tmp_path)


def test_a_table_without_a_feature_is_refused(tmp_path):
    _table()[["case_id", "row", "ill"]].to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=r"no column could be a feature \(case_id: names that"):
        _init(tmp_path)


def test_the_example_is_read_as_it_is_described(tmp_path):
    shutil.copy(ROOT / "docs/examples/clinic.csv", tmp_path / "t.csv")
    assert init_command([str(tmp_path / "t.csv"), "--label", "pneumonia"]) == 0
    found = _values(_priced(tmp_path))
    wanted = _values(ROOT / "docs/examples/clinic.yaml")
    for column, values in wanted.items():
        np.testing.assert_array_equal(found[column], values, err_msg=column)


def test_a_name_that_is_reserved_is_changed(tmp_path):
    _table().rename(columns={"age": "part", "lab_crp": "label"}).to_csv(
        tmp_path / "t.csv", index=False
    )
    _init(tmp_path)
    assert {"part_", "label_"} <= set(_values(_priced(tmp_path)))


def test_a_wrong_label_leaves_no_file_behind(tmp_path):
    _table().to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="no column 'sick'"):
        init_command([str(tmp_path / "t.parquet"), "--label", "sick"])
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_a_broken_file_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(DataError, match=r"t\.parquet cannot be read as parquet: "):
        _init(tmp_path, name="t.parquet")


def test_nothing_is_overwritten(tmp_path):
    _table().to_csv(tmp_path / "t.csv", index=False)
    _init(tmp_path)
    with pytest.raises(DataError, match=r"t\.yaml is there already, and is not overwritten"):
        _init(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.rename(columns={"ill": "il"}), r"no column 'ill' .* did you mean 'il'\?"),
        (lambda t: t.assign(ill="no"), r"'ill' holds 'no' alone; a label needs two classes"),
        (lambda t: t.assign(ill=[f"k{k}" for k in range(N)]), "60 different values.*put them tog"),
        (lambda t: t.head(0), r"has 1 lines; a table has a head and rows"),
        (lambda t: t[["ill"]], r"no separator among comma"),
    ],
)
def test_what_is_no_table_with_a_label_is_refused_in_a_sentence(tmp_path, change, words):
    change(_table()).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=words):
        _init(tmp_path)
    assert not (tmp_path / "t.yaml").exists()


def test_text_among_numbers_is_told_with_what_to_do(tmp_path, capsys):
    table = _table().astype({"age": object})
    table.loc[3, "age"] = "old"
    table.to_csv(tmp_path / "t.csv", index=False)
    _init(tmp_path)
    said = capsys.readouterr().out
    assert "look: age: holds text among its numbers ('old', in 2% of its rows); add it to" in said
    with pytest.raises(DataError, match=r"line 5: .*'age'.*'old'"):
        _values(_priced(tmp_path))


def test_rows_without_a_label_are_reported():
    """A line of totals below a sheet, say."""
    cells = pd.DataFrame({"age": [str(20 + k % 50) for k in range(60)], "ill": ["y", "n"] * 30})
    cells.loc[60] = ["1320", ""]
    guess = guess_table(cells, "ill", None)
    assert "1 of 61 rows have no value of 'ill' and are left out (drop_rows)" in guess.remarks


def test_what_nearly_tells_the_label_is_suspected_and_a_strong_feature_is_not():
    rng = np.random.default_rng(0)
    label = pd.Series(rng.random(2000) < 0.3)
    week = pd.Series(np.where(label, rng.integers(1, 52, 2000), 52))  # until an event, or the end
    week[:20] = 52
    days = pd.Series(np.where(label, rng.random(2000), 1 + rng.random(2000)))
    days[:20] = 1.5
    right = float((label == (week < 52)).mean())
    assert label_told(week, label) == pytest.approx(right)
    assert 0.98 < label_told(days, label) < 1
    assert label_told(label.astype(float), label) == 1
    strong = label + rng.normal(scale=0.5, size=2000)  # spares half of the errors
    assert label_told(strong, label) == label_told(pd.Series(rng.random(2000)), label) == 0
    assert label_told(label[:15].astype(float), label[:15]) == 0
    assert (told_in(1.0), told_in(0.99999), told_in(0.974)) == ("all", "99.9%", "97.4%")


def _described(folder: Path, columns: dict, *words: str, name: str = "t.csv") -> dict:
    """The YAML of a table of these columns, priced."""
    frame = pd.DataFrame(columns)
    label = {} if "ill" in frame else {"ill": ["yes", "no", "no"] * (len(frame) // 3)}
    frame.assign(**label).to_csv(folder / name, index=False)
    _init(folder, *words, name=name)
    return yaml.safe_load(_priced(folder).read_text())


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
    found = _values(tmp_path / "t.yaml")
    np.testing.assert_array_equal(found["x"], LARGE + 1000 * (way == "by an option"))
    assert "between thousands (x)" in capsys.readouterr().out
    if "y" in columns:
        np.testing.assert_array_equal(found["y"], np.array(POINTS, dtype=float))


def test_a_comma_that_may_be_either_is_asked_about(tmp_path):
    columns = {"x": [f"{v + 1000:,}" for v in LARGE], "y": SMALL}
    with pytest.raises(DataError, match=r"'x' holds '\d,\d{3}', whose comma may be .*--decimal"):
        _described(tmp_path, columns)
    _described(tmp_path, columns, "--decimal", ",")
    np.testing.assert_allclose(_values(tmp_path / "t.yaml")["x"], LARGE / 1000 + 1)


SITUATIONS = {
    "spellings of the label": (
        {"ill": ["yes", "no", "No", "Yes.", "no ", "NO"] * 10}, {},
        "'yes' and 'Yes.'; 'no' and 'No' and 'NO' are taken for one value",
    ),
    "the positive class by its name": (
        {"ill": ["yes", "yes", "no"] * 20}, {}, "'yes' is the positive class (67% of the rows)"
    ),
    "spellings of a level": (
        {"x": ["Red", "red", "blue"] * 20},
        {"type": "categorical", "levels": ["Red", "blue"], "recode": {"red": "Red"}},
        "x: 'Red' and 'red' is taken for one value",
    ),
    "a unit behind numbers": (
        {"x": [f"{v} mg" for v in SMALL]}, {"type": "numeric", "unit": "mg"},
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
        {"type": "numeric", "unit": "1"}, "x: holds text among its numbers ('not done', in 67%",
    ),
    "zeros": ({"x": [0 if k % 3 else int(v) + 30 for k, v in enumerate(SMALL)]},
              {"type": "numeric", "unit": "1"}, "x: 0 (67%) may be a code"),
    "codes of a survey": (
        {"x": [[1, 2, 3, 77, 88, 99][k % 6] for k in range(N)]},
        {"type": "numeric", "unit": "1"}, "x: 77 (17%), 88 (17%), 99 (17%) may be a code",
    ),
    "no code": ({"x": list(range(8)) * 7 + [9, 9, 8, 8]}, {"type": "numeric", "unit": "1"}, "x"),
    "dates without marks": ({"x": [f"{d:%Y%m%d}" for d in DAYS]}, None, "x: holds dates"),
    "dates with slashes": ({"x": [f"{d:%Y/%m/%d}" for d in DAYS]}, None, "x: holds dates"),
    "dates with names": ({"x": [f"{d:%d-%b-%Y}" for d in DAYS]}, None, "x: holds dates"),
    "months": ({"x": [f"{d:%Y-%m}" for d in DAYS]}, None, "x: holds dates"),
    "days of a spreadsheet": ({"x": [45000 + 3 * k for k in range(N)][::-1]}, None,
                              "x: holds dates; make a number of them, such as days since an event, "
                              "if they matter (they are counted in days"),
    "thousands with decimals": ({"x": [f"{v}.{v % 90 + 10}" for v in LARGE]},
                                {"type": "numeric", "unit": "1"}, "x"),
    "zip codes": ({"x": [f"0{v}" for v in LARGE + 1000]}, None, "different numbers with a zero in"),
    "units by number": ({"patient": [k // 4 for k in range(N)]}, None,
                        "cluster: patient: rows of one value stay in one part"),
    "units in columns of many": (
        {"hospital_id": [k // 5 for k in range(N)], "patient_id": [f"p{k // 2}" for k in range(N)]},
        None, "cluster: patient_id: rows",
    ),
    "a copy": ({"y": POINTS, "x": POINTS}, {"type": "numeric", "unit": "1"},
               "x: is the same as y in every row"),
    "the same by other words": (
        {"y": ["a", "b", "c"] * 20, "x": [1, 2, 3] * 20}, {"type": "numeric", "unit": "1"},
        "x: tells the same as y in every row",
    ),
    "only of one class": (
        {"x": [v if k % 3 == 0 else "" for k, v in enumerate(POINTS)]},
        {"type": "numeric", "unit": "1"}, "x: has a value only where the label is 'yes' (20 rows)",
    ),
    "a rare level": (
        {"x": [*["a", "b"] * 29, "b", "c"]}, {"type": "categorical", "levels": ["a", "b", "c"]},
        "x: fewer than 5 rows have 'c': put",
    ),
    "a region that is no gap": ({"x": ["NA", "EU", "AS"] * 20},
                                {"type": "categorical", "levels": ["AS", "EU"]},
                                "'NA' means no value (x)"),
}  # fmt: skip


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
    if situation != "words among numbers":
        assert len(_values(tmp_path / "t.yaml")["age"]) == N


def test_columns_that_are_missing_together_are_one_panel(tmp_path, capsys):
    lacks = RNG.random(N) < 0.4
    columns = {name: np.where(lacks, "", POINTS) for name in ("ast", "alt", "bili")}
    document = _described(tmp_path, {"age": SMALL, **columns, "crp": _with_gaps(RNG, "")})
    assert [one["columns"] for one in document["panels"]] == [
        ["age"], ["ast", "alt", "bili"], ["crp"]
    ]  # fmt: skip
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
    assert len(_values(tmp_path / "t.yaml")["crp"]) == N - 1


def test_lines_below_a_table_are_left_out(tmp_path, capsys):
    table = _table()
    text = table.to_csv(index=False) + "Exported on 2024-03-01\nTotal: 60\n"
    (tmp_path / "t.csv").write_text(text)
    _init(tmp_path)
    assert "t.csv has 2 lines below the table, left out" in capsys.readouterr().out
    assert len(_values(_priced(tmp_path))["age"]) == N
    (tmp_path / "t.yaml").unlink()
    (tmp_path / "t_converted.csv").unlink()
    (tmp_path / "t.csv").write_text(table.to_csv(index=False) + "c31,61,2026\n")
    with pytest.raises(DataError, match="line 62 has 3 cells"):  # a record that is cut off
        _init(tmp_path)


NAMES = [
    "pressure, systolic", "x]", "a{b", "blood\u00a0pressure", "a\u200bb", "a: b", "#1", "- x", "'q",
    '"q', "a b ", "null", "yes", "1e3", "2023-01-01", "?", "*a", "&b", "!c", "%d", "@e", "`f", "|",
    "Größe", "part", "<<", "=", "12:30", "\U0001f600",
]  # fmt: skip


def test_every_name_that_is_read_is_written_so_that_it_is_read_back(tmp_path):
    values = {name: RNG.permutation(N) + 1000 * k for k, name in enumerate(NAMES)}
    frame = pd.DataFrame(values).assign(**{"il, l": ["y, s", "n: o", "n: o"] * (N // 3)})
    path = tmp_path / "Größe der, Leber.csv"
    frame.assign(level=["a\u00a0b", "c]", "d"] * (N // 3)).to_csv(path, index=False)
    assert init_command([str(path), "--label", "il, l", "--header"]) == 0
    path.with_suffix(".yaml").rename(tmp_path / "t.yaml")
    found = _values(_priced(tmp_path))
    for (name, wanted), column in zip(values.items(), found, strict=False):
        np.testing.assert_array_equal(found[column], wanted, err_msg=name)
    assert {"level=a b", "level=c]", "level=d"} <= set(found)


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_the_command_works_from_where_one_is(tmp_path, capsys, monkeypatch, place):
    monkeypatch.chdir(ROOT if place == "here" else tmp_path)
    path = tmp_path / "my visits.csv"
    _table().to_csv(path, index=False)
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
    _table().to_excel(tmp_path / "t.xlsx", index=False)
    written = []

    def full(path: Path, content: bytes) -> None:
        written.append(path)
        path.write_bytes(content[:10])
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(replacing, "_write_through", full)
    with pytest.raises(DataError, match="No space left on device"):
        _init(tmp_path, name="t.xlsx")
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
    table = _table().replace({"": np.nan, "NA": np.nan})
    table.loc[RNG.random(N) < 0.7, "sex"] = np.nan
    (tmp_path / "plain").mkdir()
    table.to_csv(tmp_path / "plain" / "t.csv", index=False)
    _init(tmp_path / "plain")
    write, words = SHEETS[way]
    write(table, tmp_path / "t.xlsx")
    capsys.readouterr()
    _init(tmp_path, name="t.xlsx")
    assert words in capsys.readouterr().out
    found, wanted = _values(_priced(tmp_path)), _values(_priced(tmp_path / "plain"))
    assert list(found) == list(wanted)
    for column, values in wanted.items():
        np.testing.assert_array_equal(found[column], values, err_msg=column)


def test_columns_of_an_index_are_columns(tmp_path):
    table = _table()
    table.set_index(["case_id", "ill"]).to_parquet(tmp_path / "t.parquet")
    document = yaml.safe_load(_init(tmp_path, name="t.parquet"))
    assert (document["cluster"], document["source"]["format"]["kind"]) == ("case_id", "parquet")
    np.testing.assert_array_equal(_values(_priced(tmp_path))["age"], table["age"])


def test_arff_says_which_columns_are_categories_and_quotes_as_it_likes(tmp_path):
    head = "@relation t\n@attribute 'it\\'s' {1,2,3} % {a}\n@attribute \"x y\" numeric\n"
    body = "".join(f"{k % 3 + 1},{k * 7 % 11},'50\\%',\"it's\",{'yn'[k % 2]}\n" for k in range(N))
    kinds = "@attribute a {'50%','60%'}\n@attribute b {\"it's\", c}\n@attribute ill {y,n}\n"
    (tmp_path / "t.arff").write_text(f"{head}{kinds}@data\n{body}")
    document = yaml.safe_load(_init(tmp_path, name="t.arff"))
    assert _column(document, "it's")["levels"] == ["1", "2", "3"]
    assert _column(document, "x y")["type"] == "numeric"
    found = _values(_priced(tmp_path))
    assert {"it's=1", "it's=2", "it's=3"} <= set(found)


def test_values_that_are_read_off_are_those_of_new_records(tmp_path):
    _described(tmp_path, {"x": [f"{v} mg" for v in SMALL], "y": ["<0.01", "0.25", "1.5"] * 20})
    found = _values(tmp_path / "t.yaml")
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
    "far.xlsb": _zipped("xl/worksheets/sheet1.bin", FAR),
    "rows.parquet": _parquet(13_000_000, "1"),
    "long.parquet": _parquet(2000, "x" * 60_000),
    "wide.parquet": _parquet(150_000, "1", columns=100),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_asks_for_much_memory_is_refused_before_it_is_read(tmp_path, name):
    BOMBS[name](tmp_path / name)
    assert (tmp_path / name).stat().st_size < 500_000
    with pytest.raises(DataError, match=rf"{name} has [\d,]+ bytes and unpacks to [\d,]+; at most"):
        _init(tmp_path, name=name)
    for read in (read_sheet, records_of_searches) if name.endswith(".parquet") else ():
        with pytest.raises(DataError, match="bytes and unpacks to"):
            read(tmp_path / name)


def test_cells_that_are_only_formatted_are_no_far_cells(tmp_path):
    _table().to_excel(tmp_path / "t.xlsx", index=False)
    book = openpyxl.load_workbook(tmp_path / "t.xlsx")
    sheet: Any = book.active
    sheet["XFD1048576"].font = Font(bold=True)
    book.save(tmp_path / "t.xlsx")
    _init(tmp_path, name="t.xlsx")


def test_parquet_with_a_name_twice_and_what_it_says_for_pandas(tmp_path):
    one = pa.array([1, 2] * 30)
    pq.write_table(pa.table([one, one], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="two columns named 'a'; names must be unique"):
        _init(tmp_path, name="t.parquet")
    for said in (b"[]", b'{"index_columns": 7}', b"{", b'{"index_columns": [{"a": 1}]}'):
        table = pa.table({"age": one, "ill": one}).replace_schema_metadata({b"pandas": said})
        pq.write_table(table, tmp_path / "t.parquet")
        _init(tmp_path, name="t.parquet")
        (tmp_path / "t.yaml").unlink()


def test_integers_are_names_digit_by_digit(tmp_path):
    for start in (10**15 + 1, 906 * 10**15):
        patient = start + np.arange(N) // 2
        table = _table().drop(columns="case_id").assign(patient_id=patient)
        table.to_parquet(tmp_path / "t.parquet")
        document = yaml.safe_load(_init(tmp_path, name="t.parquet"))
        assert document["cluster"] == "patient_id"
        described = load_description(_priced(tmp_path))
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
    _init(tmp_path, name=path.name)
    document = yaml.safe_load(_priced(tmp_path).read_text())
    document["source"]["format"]["missing"] = ["", "-9"]
    (tmp_path / "t.yaml").write_text(yaml.safe_dump(document))
    np.testing.assert_array_equal(_values(tmp_path / "t.yaml")["age"][:3], [np.nan, 41, 50.5])
