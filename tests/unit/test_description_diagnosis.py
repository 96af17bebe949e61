"""What the diagnosis study adds to a description: joins, rules, ranges, partial panels, parts."""

import gzip
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frugal.config.dataset import Dataset
from frugal.core.errors import DataError
from frugal.data.description import load_description
from frugal.data.encoding import encode
from frugal.data.parsing import parse_files
from frugal.data.prepare import read_raw
from frugal.data.tables import available_panels

from tests.unit.dataset_documents import CSV, document, encoded, load

YAML = Path(__file__).parents[2] / "config/datasets/clinical_simulator.yaml"


def _clinic() -> dict[str, Any]:
    import yaml

    return yaml.safe_load(YAML.read_text())


def test_values_outside_the_valid_range_are_missing_and_counted(tmp_path):
    content = document()
    content["columns"][0]["valid"] = [40, 70]
    content["columns"][2]["valid"] = [0.7, 2]
    content["missing_values"] = "partial"
    found = encoded(tmp_path, content)
    age = found.table.values[:, found.table.columns.index("age")]
    np.testing.assert_array_equal(age, [54, 61, 47, np.nan, 66, np.nan])
    # codes are no quantities, whatever is valid: only 0.6 is outside
    assert found.report["values_outside_valid"] == {"age": 2, "marker": 1}
    assert found.report["special_values"]["marker"] == {"-9": 1, "-8": 1}


def test_recoded_levels(tmp_path):
    content = document()
    content["columns"][1] |= {
        "recode": {"yes": "smoker", "no": "never"},
        "levels": ["never", "smoker"],
    }
    found = encoded(tmp_path, content)
    assert "smoker=never" in found.table.columns
    smoker = found.table.values[:, found.table.columns.index("smoker=smoker")]
    assert smoker.tolist() == [1, 0, 0, 1, 0, 1]


def _partial(kind: str) -> dict[str, Any]:
    content = document()
    content["columns"][2].pop("special_values")
    content["panels"] = [
        {"name": "interview", "columns": ["age", "smoker"], "free": True},
        {"name": "blood", "columns": ["marker"], "cost": 30},
        {"name": "both", "columns": ["marker", "scan"], "cost": 900},
    ]
    content["missing_values"] = kind
    return content


def test_partly_observed_panels(tmp_path):
    csv = CSV.replace("54,yes,0.9,2", ",yes,0.9,")
    found = encoded(tmp_path, _partial("partial"), csv)
    expected = np.array([[1, 1], [1, 1], [0, 0], [1, 1], [1, 1], [1, 1]], dtype=bool)
    np.testing.assert_array_equal(available_panels(found.table), expected)
    assert found.report["panel_absent_share"] == {"blood": 1 / 6, "both": 1 / 6}
    assert found.report["panel_missing_share"] == {"blood": 1 / 6, "both": 3 / 6}
    with pytest.raises(DataError, match="'age' has no value, but it is in a free panel"):
        encoded(tmp_path, _partial("own"), csv)


def _joined(tmp_path, second: str, kind: str = "partial"):
    content = _partial(kind)
    content["source"]["files"] = [{"name": "a.csv"}, {"name": "b.csv"}]
    content["source"]["join"] = "id"
    first = "id,age,smoker,ill\n7,54,yes,1\n3,61,no,0\n5,47,no,1\n"
    (tmp_path / "a.csv").write_text(first)
    (tmp_path / "b.csv").write_text(second)
    description = load(tmp_path, content)
    raw = parse_files(description, {n: tmp_path / n for n in ("a.csv", "b.csv")})
    return encode(raw, description), raw


def test_joined_files(tmp_path):
    found, raw = _joined(tmp_path, "scan,id,marker,age\n1,5,0.5,99\n2,7,0.7,99\n3,4,0.4,99\n")
    table = found.table
    expected = [[54, 0.7, 2], [61, np.nan, np.nan], [47, 0.5, 1]]
    columns = [table.columns.index(c) for c in ("age", "marker", "scan")]
    np.testing.assert_array_equal(table.values[:, columns], expected)  # the first file's age counts
    assert raw.place(2) == "a.csv, line 4"
    assert found.report["columns_left_out"] == ["id"]


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("number,marker,scan\n5,1,1\n", r"b\.csv has no column 'id', which 'source\.join' names"),
        (
            "id,marker,scan\n5,1,1\n5,1,1\n",
            r"b\.csv, line 3: column 'id' holds a value twice \('5'\)",
        ),
        ("id,marker,scan\n,1,1\n", r"b\.csv, line 2: column 'id' has no value"),
        ("id,marker,marker\n5,1,1\n", r"b\.csv has two columns named 'marker'"),
    ],
)
def test_joins_that_fail_are_one_sentence(tmp_path, second, words):
    with pytest.raises(DataError, match=words):
        _joined(tmp_path, second)


def test_gzipped_csv_and_the_digest_of_its_content(tmp_path):
    content = document()
    content["source"]["files"] = [
        {"name": "small.csv.gz", "content_sha256": hashlib.sha256(CSV.encode()).hexdigest()}
    ]
    path = tmp_path / "small.csv.gz"
    path.write_bytes(gzip.compress(CSV.encode()))
    description = load(tmp_path, content)
    raw = read_raw(description, {"small.csv.gz": path})
    assert len(encode(raw, description).table) == 6
    path.write_bytes(gzip.compress(CSV.encode() + b"\n"))
    with pytest.raises(DataError, match=r"unpacked content of .* is expected"):
        read_raw(description, {"small.csv.gz": path})


def test_shipped_clinic_keeps_its_numbers():
    Dataset.read(_clinic(), where="small.yaml")
    generator = load_description(YAML).source.generator
    assert generator is not None
    assert generator.name == "clinical_simulator"
