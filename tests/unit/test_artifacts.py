"""Payload files: read as written, equal content gives equal bytes, all is written or nothing."""

import errno
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import DataError
from frugal.results.files import (
    hive_keys,
    json_bytes,
    payload_bytes,
    read_partitions,
    read_payload,
    write_bytes,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure


def table():
    return pd.DataFrame(
        {
            "seed": np.array([0, 0, 1], dtype=np.int32),
            "agent": ["a", "b", None],
            "estimate": [1.5, np.nan, -0.25],
            "observed:x": [True, False, True],
            "row_id": np.array([7, 2**53 + 1, -1], dtype=np.int64),
        }
    )


def figure():
    drawing = Figure(figsize=(2, 1))
    drawing.subplots().plot([0, 1], [1, 0])
    return drawing


def written(path, payload):
    write_bytes(path, payload_bytes(path, payload))
    return read_payload(path)


def test_a_table_comes_back_with_its_values_and_types(tmp_path):
    pd.testing.assert_frame_equal(written(tmp_path / "t.parquet", table()), table())


def test_a_table_without_rows_keeps_its_columns(tmp_path):
    empty = table().iloc[:0]
    assert list(written(tmp_path / "t.parquet", empty).columns) == list(table().columns)


def test_arrays_come_back_with_their_types_and_layout_aside(tmp_path):
    arrays = {
        "b": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
        "a": np.array([True, False]),
        "empty": np.empty((0, 4), dtype=np.int64),
    }
    back = written(tmp_path / "m.safetensors", arrays)
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)


documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(documents)
@settings(max_examples=60)
def test_a_document_comes_back(tmp_path_factory, document):
    path = tmp_path_factory.getbasetemp() / "document.json"
    assert written(path, document) == document


def test_json_keeps_the_order_of_keys_and_refuses_nan():
    assert json_bytes({"b": 1, "a": "ä"}).decode() == '{\n  "b": 1,\n  "a": "ä"\n}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_bytes({"b": np.nan})


def test_bytes_go_into_a_raw_file_as_they_are(tmp_path):
    path = tmp_path / "raw.csv"
    assert written(path, b"a;b\n") == path  # raw files are handed on as paths
    assert path.read_bytes() == b"a;b\n"


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("t.parquet", table),
        ("d.json", lambda: {"a": [1, 2.5, None]}),
        ("m.safetensors", lambda: {"x": np.arange(3.0), "w": np.eye(2)}),
        ("f.png", figure),
        ("f.pdf", figure),
    ],
)
def test_equal_content_gives_equal_bytes(name, make):
    assert payload_bytes(Path(name), make()) == payload_bytes(Path(name), make())


def test_arrays_are_written_in_the_order_of_their_names():
    one = {"a": np.zeros(1), "b": np.ones(1)}
    other = dict(reversed(one.items()))
    path = Path("m.safetensors")
    assert payload_bytes(path, one) == payload_bytes(path, other)


@pytest.mark.parametrize("name", ["f.png", "f.pdf"])
def test_a_figure_names_no_date_and_no_program_version(name):
    content = payload_bytes(Path(name), figure())
    for word in (b"CreationDate", b"ModDate", b"Software", b"tIME"):
        assert word not in content


def test_a_table_as_a_page_is_escaped_rounded_and_says_how_much_of_it_is_shown():
    short = pd.DataFrame({"name": ["<b>&", None], "value": [1 / 3, np.nan]})
    page = payload_bytes(Path("figures/trust.html"), short).decode()
    assert "trust.parquet: 2 rows" in page
    assert "<td>&lt;b&gt;&amp;</td>" in page
    assert "<td>0.33333</td>" in page
    assert "nan" not in page.lower().replace("parquet", "")
    assert "http" not in page
    mixed = pd.DataFrame({"value": [123456.7, 1e12], "any": ["a", 2.5]}, dtype=object)
    page = payload_bytes(Path("a.html"), pd.concat([mixed, pd.DataFrame({"any": [None]})])).decode()
    assert "<td>123457</td>" in page
    assert "<td>1e+12</td>" in page
    assert "None" not in page
    long = payload_bytes(Path("a.html"), pd.DataFrame({"x": np.arange(1234)})).decode()
    assert "the first 500 of 1,234 rows" in long
    assert long.count("<tr>") == 500
    assert "<td>499</td>" in long


def test_an_unknown_format_is_a_mistake_of_ours(tmp_path):
    with pytest.raises(TypeError, match="no payload format"):
        payload_bytes(tmp_path / "x.pkl", object())


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "d.json"
    write_bytes(path, b"old")

    def full_disk(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(DataError, match=r"d\.json cannot be written: No space left on device"):
        write_bytes(path, b"new and longer")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["d.json"]


def test_a_reader_never_sees_a_part(tmp_path, monkeypatch):
    path, seen = tmp_path / "d.json", []
    write_bytes(path, b"old")
    replace = os.replace

    def watched(source, target):
        seen.append(Path(target).read_bytes())
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    write_bytes(path, b"new")
    assert seen == [b"old"]
    assert path.read_bytes() == b"new"


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"t\.parquet does not exist"):
        read_payload(tmp_path / "t.parquet")


def test_hive_keys_are_the_folders_with_an_equals_sign():
    path = Path("results/estimates/dataset=a.b/mechanism=mnar/x=1.parquet")
    assert hive_keys(path) == {"dataset": "a.b", "mechanism": "mnar"}
    assert hive_keys(Path("plain/file.json")) == {}


def test_several_tables_are_read_as_one_with_their_keys(tmp_path):
    paths = []
    for agent, value in (("b", 1.0), ("a", 2.0)):
        path = tmp_path / f"agent={agent}" / "t.parquet"
        written(path, pd.DataFrame({"seed": [0, 1], "estimate": [value, value]}))
        paths.append(path)
    both = read_partitions(paths)
    assert list(both.columns) == ["agent", "seed", "estimate"]
    assert both["agent"].tolist() == ["b", "b", "a", "a"]
    assert both["estimate"].tolist() == [1.0, 1.0, 2.0, 2.0]


def test_files_that_are_not_parts_of_one_table_are_refused(tmp_path):
    frame = pd.DataFrame({"x": [1]})
    text, table, other = (tmp_path / name for name in ("t.csv", "a=1/t.parquet", "b=1/t.parquet"))
    text.write_text("x\n1\n")
    for path in (table, other):
        written(path, frame)
    with pytest.raises(DataError, match=r"t\.csv is no Parquet table"):
        read_partitions([text])
    with pytest.raises(DataError, match=r"the key=value folders b, .* has a; files"):
        read_partitions([table, other])


def test_a_column_that_is_there_is_not_replaced_by_the_folder(tmp_path):
    path = tmp_path / "agent=folder" / "t.parquet"
    written(path, pd.DataFrame({"agent": ["column"]}))
    assert read_partitions([path])["agent"].tolist() == ["column"]
