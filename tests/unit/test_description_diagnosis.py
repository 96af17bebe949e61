"""What the diagnosis study adds to a description: joins, rules, ranges, partial panels, parts."""

import copy
import gzip
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frugal.config.dataset import Dataset
from frugal.core.errors import ConfigError, DataError
from frugal.data.description import load_description
from frugal.data.encoding import encode
from frugal.data.parsing import parse_files
from frugal.data.prepare import read_raw
from frugal.data.tables import absent_panels, available_panels

from tests.unit.dataset_documents import CSV, document, encoded, load

YAML = Path(__file__).parents[2] / "config/datasets/clinical_simulator.yaml"


def _stays() -> dict[str, Any]:
    content = document()
    summary = {"name": "low", "measurement": "K", "statistic": "lowest"}
    content["source"]["format"] = {
        "kind": "stays",
        "missing": ["-1"],
        "hours": 24,
        "summaries": [summary | {"from_hour": 0, "to_hour": 24}],
    }
    return content


def _event() -> dict[str, Any]:
    content = document()
    content["label"] = {
        "column": "bad",
        "rule": {"kind": "event_within", "event": "cause", "time": "months", "horizon": 60},
        "classes": [{"name": "no", "values": [0]}, {"name": "yes", "values": [1]}],
    }
    return content


def _clinic() -> dict[str, Any]:
    import yaml

    return yaml.safe_load(YAML.read_text())


MISTAKES = {
    "stays without hours": (
        _stays,
        ("source", "format", "hours"),
        None,
        ["source.format.hours is missing"],
    ),
    "csv with hours": (document, ("source", "format", "hours"), 3, ["hours", "'csv'"]),
    "xpt with a separator": (
        document,
        ("source", "format", "kind"),
        "xpt",
        ["separator", "not go with kind 'xpt'"],
    ),
    "summary backwards": (
        _stays,
        ("source", "format", "summaries", 0, "from_hour"),
        24,
        ["summaries[0]", "from hour 24 to 24"],
    ),
    "unknown statistic": (
        _stays,
        ("source", "format", "summaries", 0, "statistic"),
        "mean",
        ["statistic", "'mean'", "first, lowest, highest"],
    ),
    "stays joined": (_stays, ("source", "join"), "id", ["source.join", "'stays'", "csv, xpt"]),
    "digest of another length": (
        document,
        ("source", "files", 0, "content_sha256"),
        "abc",
        ["content_sha256", "'abc'"],
    ),
    "valid backwards": (document, ("columns", 0, "valid"), [9, 1], ["columns[0].valid", "[9, 1]"]),
    "valid of a level": (document, ("columns", 1, "valid"), [0, 1], ["'smoker'", "'valid'"]),
    "recode of a number": (document, ("columns", 0, "recode"), {"1": "a"}, ["'age'", "'recode'"]),
    "recode to no level": (
        document,
        ("columns", 1, "recode"),
        {"1": "ys"},
        ["recode", "'ys'", "did you mean 'yes'?"],
    ),
    "unknown rule": (
        _event,
        ("label", "rule", "kind"),
        "event",
        ["label.rule.kind", "'event'", "event_within"],
    ),
    "rule without a key": (_event, ("label", "rule", "horizon"), None, ["horizon"]),
    "rule with another label": (
        _event,
        ("label", "classes", 1, "values"),
        ["yes"],
        ["label.classes", "has 0 and 1"],
    ),
    "below without a column": (
        document,
        ("drop_rows",),
        [{"rule": "below", "value": 3, "reason": "r"}],
        ["drop_rows[0]", "'column'", "below, above"],
    ),
    "label missing with a column": (
        document,
        ("drop_rows",),
        [{"rule": "label_missing", "column": "age", "reason": "r"}],
        ["drop_rows[0]", "'column'"],
    ),
    "no fitting part": (
        document,
        ("split", "parts"),
        {"agent": 0.5, "test": 0.5},
        ["'train', nor to 'encoder'"],
    ),
    "no test part": (document, ("split", "parts"), {"encoder": 1.0}, ["part 'test'"]),
    "misspelt part": (
        document,
        ("split", "parts"),
        {"encoder": 0.5, "tset": 0.5},
        ["'tset'", "did you mean"],
    ),
    "shares of groups": (
        _clinic,
        ("source", "generator", "groups", 0, "share"),
        0.5,
        ["groups", "sum to 0.9"],
    ),
    "effect for one group": (
        _clinic,
        ("source", "generator", "features", 2, "effect"),
        [1.0],
        ["features[2].effect", "1 entries; 2 are needed"],
    ),
    "too much in common": (
        _clinic,
        ("source", "generator", "features", 0, "loadings"),
        [0.8, 0.8],
        ["features[0].loadings", "noise"],
    ),
    "unknown generator": (
        _clinic,
        ("source", "generator", "name"),
        "clinic",
        ["source.generator.name", "'clinic'", "clinical_simulator"],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_one_sentence(tmp_path, mistake):
    make, path, value, words = MISTAKES[mistake]
    content = copy.deepcopy(make())
    part = content
    for key in path[:-1]:
        part = part[key]
    if value is None:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, content)
    text = str(caught.value)
    assert "\n" not in text
    for word in words:
        assert word in text, text


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
    np.testing.assert_array_equal(absent_panels(found.table), ~expected)
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
