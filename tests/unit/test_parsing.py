"""CSV, ARFF and Adult-like files become text columns; broken ones are refused with their line."""

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.data.description import Format
from frugal.data.parsing import parse_files
from frugal.data.records import parse_text

from tests.unit.dataset_documents import document, load

CSV_FORMAT = Format("csv", ("",), ",", None, None, True, "utf-8")
ARFF_FORMAT = Format("arff", ("?",), ",", None, "%", True, "utf-8")
ADULT_FORMAT = Format("csv", ("?",), ",", ("age", "work", "income"), "|", True, "utf-8")


def test_csv_with_quotes_blanks_and_line_numbers():
    text = 'a,b\n1, "x, y" \n\n2,z\n'
    cells, line = parse_text(text, CSV_FORMAT, source="f.csv")
    assert cells.frame().to_dict("list") == {"a": ["1", "2"], "b": ["x, y", "z"]}
    assert line.tolist() == [2, 4]


def test_adult_kind_skips_comment_and_keeps_line_numbers():
    text = "|1x3 Cross validator\n25, Private, <=50K.\n38, ?, >50K.\n\n"
    cells, line = parse_text(text, ADULT_FORMAT, source="adult.test")
    assert cells.read("income").to_pylist() == ["<=50K.", ">50K."]
    assert cells.read("work").to_pylist() == ["Private", "?"]
    assert line.tolist() == [2, 3]


def test_arff_with_quoted_names_and_comments():
    text = "% note\n@RELATION dr\n@attribute 'my age' numeric\n@ATTRIBUTE Class {0,1}\n@DATA\n"
    cells, line = parse_text(text + "1.5,0\n% c\n2,1\n", ARFF_FORMAT, source="f.arff")
    assert cells.frame().to_dict("list") == {"my age": ["1.5", "2"], "Class": ["0", "1"]}
    assert line.tolist() == [6, 8]


def test_windows_line_ends_and_no_final_one():
    cells, _ = parse_text("a,b\r\n1,2\r\n3,4", CSV_FORMAT, source="f.csv")
    assert cells.frame().to_dict("list") == {"a": ["1", "3"], "b": ["2", "4"]}


def _two_files(tmp_path, second: str):
    content = document()
    content["source"]["files"] = [{"name": "a.csv", "group": "x"}, {"name": "b.csv"}]
    paths = {"a.csv": tmp_path / "a.csv", "b.csv": tmp_path / "b.csv"}
    paths["a.csv"].write_text("\ufeffage,ill\n1,0\n2,1\n", encoding="utf-8")  # byte-order mark
    paths["b.csv"].write_text(second, encoding="utf-8")
    return load(tmp_path, content), paths


def test_files_are_read_one_after_the_other(tmp_path):
    raw = parse_files(*_two_files(tmp_path, "age,ill\n3,1\n"))
    assert raw.frame.read("age").to_pylist() == ["1", "2", "3"]
    assert raw.group.tolist() == ["x", "x", ""]
    assert raw.place(2) == "b.csv, line 2"
    assert np.array_equal(raw.line, [2, 3, 2])


def test_files_with_other_columns_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"b\.csv has columns age, sick, but the first .* age, ill"):
        parse_files(*_two_files(tmp_path, "age,sick\n3,1\n"))
