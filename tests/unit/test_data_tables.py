"""A table survives the way into a data frame and back, bit for bit, Parquet and JSON included."""

import json

import numpy as np
import pandas as pd
from frugal.data.tables import table_from_frames, table_to_frames

from tests.unit.dataset_documents import document, encoded


def _same(left, right) -> None:
    for name in ("row_id", "values", "label", "misclassification_cost"):
        a, b = getattr(left, name), getattr(right, name)
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.tobytes() == b.tobytes()
    for name in ("columns", "onehot", "classes", "panels"):
        assert getattr(left, name) == getattr(right, name)


def test_round_trip_is_exact(tmp_path):
    result = encoded(tmp_path, document())
    table = result.table
    split = np.array(["train", "test", "agent", "train", "test", "nuisance"])
    frame, catalogue = table_to_frames(table, split, units=result.units, report=result.report)
    assert list(frame.columns) == ["row_id", "part", "label", *table.columns]
    _same(table_from_frames(frame, catalogue)[0], table)
    frame.to_parquet(tmp_path / "t.parquet")
    stored = pd.read_parquet(tmp_path / "t.parquet")
    again, parts = table_from_frames(stored, json.loads(json.dumps(catalogue)))
    _same(again, table)
    assert parts.tolist() == split.tolist()
    assert catalogue["columns"][0] == {"name": "age", "unit": "year"}
    assert catalogue["report"]["rows_read"] == 6


def test_units_and_report_may_be_left_out(tmp_path):
    table = encoded(tmp_path, document()).table
    frame, catalogue = table_to_frames(table, np.full(6, "test"))
    assert catalogue["report"] == {}
    _same(table_from_frames(frame, catalogue)[0], table)
