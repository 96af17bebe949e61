"""What moved between two files: the rows are matched, the largest change is the largest."""

import numpy as np
import pandas as pd
import pytest
from frugal.results.differences import file_changes, leaf_changes, table_changes
from frugal.results.files import payload_bytes
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.table_differences import moved_rows

TABLE = pd.DataFrame(
    {
        "agent": ["never", "never", "always", "always"],
        "seed": [0, 1, 0, 1],
        "estimate": [1.0, 2.0, np.nan, 4.0],
        "status": ["ok", "ok", "no_support", "ok"],
    }
)


def test_the_largest_change_is_shown_with_its_row():
    other = TABLE.assign(estimate=[1.0, 2.5, np.nan, 3.0])
    assert table_changes(TABLE, other) == [
        "estimate: 2 of 4 rows, most 4 → 3 where agent=always, seed=1"
    ]


def test_a_number_that_was_lost_counts_as_most():
    other = TABLE.assign(estimate=[100.0, 2.0, np.nan, np.nan])
    assert "most 4 → empty where agent=always, seed=1" in table_changes(TABLE, other)[0]


def test_texts_are_compared_too():
    other = TABLE.assign(status=["ok", "ok", "ok", "ok"])
    assert table_changes(TABLE, other) == [
        "status: 1 of 4 rows, it is no_support → ok where agent=always, seed=0"
    ]


def test_the_order_of_rows_moves_nothing():
    assert table_changes(TABLE, TABLE.iloc[::-1].reset_index(drop=True)) == [
        "the same values, written otherwise (order of rows, or types)"
    ]


def test_rows_and_columns_of_one_side_are_counted():
    other = TABLE.iloc[1:].assign(extra=1.0).drop(columns="status")
    assert table_changes(TABLE, other) == [
        "columns only in A: status",
        "columns only in B: extra",
        "rows: 1 only in A, 0 only in B, 3 in both",
    ]


def test_a_table_without_identity_is_compared_by_position():
    a, b = (pd.DataFrame({"estimate": values}) for values in ([1.0, 2.0], [1.0, 5.0, 6.0]))
    assert table_changes(a, b) == [
        "rows: 0 only in A, 1 only in B, 2 in both",
        "estimate: 1 of 2 rows, it is 2 → 5 where row 1",
    ]


def test_categories_are_matched_by_value():
    other = TABLE.astype({"agent": "category"})
    assert table_changes(TABLE, other)[0].startswith("the same values")


rows = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 1)), max_size=6)


@settings(max_examples=40)
@given(rows, rows)
def test_the_count_of_moved_rows_is_that_of_the_oracle(left, right):
    frames = [
        pd.DataFrame(
            {"agent": [r[0] for r in rs], "seed": [r[1] for r in rs], "n": [r[2] for r in rs]}
        ).astype({"seed": np.int64, "n": np.int64})
        for rs in (left, right)
    ]
    only_a, only_b, moved = moved_rows(left, right)
    said = " ".join(table_changes(*frames))
    assert (f"rows: {only_a} only in A, {only_b} only in B" in said) == (only_a + only_b > 0)
    assert (f"n: {moved} of " in said) == (moved > 0)


def test_leaves_of_documents_are_named_by_their_path():
    a = {"x": {"y": [1, {"z": 2}]}, "same": 1, "gone": None}
    b = {"x": {"y": [1, {"z": 3}]}, "same": 1, "new": True}
    changes = leaf_changes(a, b)
    assert changes["x.y[1].z"] == (2, 3)
    assert set(changes) == {"x.y[1].z", "gone", "new"}


def test_a_truth_value_is_no_number():
    assert leaf_changes({"a": 1}, {"a": True}) == {"a": (1, True)}


@pytest.mark.parametrize(
    ("suffix", "a", "b", "sentence"),
    [
        (".json", {"n": 1}, {"n": 2}, "n: 1 → 2"),
        (
            ".safetensors",
            {"w": np.array([1.0, 2.0])},
            {"w": np.array([1.0, 2.5])},
            "array w: 1 of 2 values, most by 0.5",
        ),
        (
            ".safetensors",
            {"w": np.zeros((2, 1))},
            {"w": np.zeros((1, 2))},
            "array w: shape (2, 1) → (1, 2)",
        ),
        (
            ".safetensors",
            {"w": np.zeros(1), "v": np.ones(1)},
            {"w": np.zeros(1)},
            "array v: only in A",
        ),
        (".csv", b"1", b"12", "1 bytes and 2 bytes"),
        (".png", None, None, "the drawing or page differs; its numbers are in the table"),
        (".html", None, None, "the drawing or page differs; its numbers are in the table"),
    ],
)
def test_every_kind_of_file_is_described(tmp_path, suffix, a, b, sentence):
    paths = []
    for name, value in (("a", a), ("b", b)):
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(b"" if value is None else payload_bytes(path, value))
        paths.append(path)
    (said,) = file_changes(*paths)
    assert said.startswith(sentence)
