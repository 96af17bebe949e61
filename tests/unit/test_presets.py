"""Long files of known formats, as a table and over time; and what is refused in them."""

import gzip
import json
import re
import shlex
from pathlib import Path
from typing import Any

import frugal
import numpy as np
import pandas as pd
import pytest
import yaml
from frugal.core.errors import ConfigError, DataError
from frugal.data.long_formats import long_file, presets
from frugal.data.opening import Opened, open_table
from frugal.library.verbs import TableOptions
from frugal.run.init_command import init_command

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/long_files.md"


def observation(unit="1", code: Any = "crp", value: Any = 5, measure="mg/L", **more: Any):
    """An Observation of FHIR."""
    return {
        "resourceType": "Observation",
        "code": {"coding": [{"code": code}]},
        "subject": {"reference": f"Patient/{unit}"},
        "effectiveDateTime": "2024-03-01T08:00:00Z",
        "valueQuantity": {"value": value, "unit": measure},
        **more,
    }


def value(of_unit: Any, name: str, of: Any, time: Any = None, **more: Any):
    return {"id": of_unit, "time": time, "name": name, "value": of, **more}


def lines(*objects: Any) -> str:
    return "\n".join(map(json.dumps, objects)) + "\n"


def opened(folder: Path, content: str | bytes, form: str, **options: Any) -> Opened:
    """The file as a table."""
    path = folder / "f.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return open_table(path, folder / "c.csv", None, form=form, **options)


def cells(folder: Path, content: str, form: str = "fhir", **options: Any):
    return opened(folder, content, form, **options).cells.to_dict("list")


PAIR = (observation(), observation("2", value=7.5))
OTHERS = ({"resourceType": "Patient"}, observation("3", status="entered-in-error"))
BUNDLE = {"resourceType": "Bundle", "entry": [{"resource": each} for each in (*PAIR, *OTHERS)]}
TWO = lines(*PAIR)
READ = {
    "lines": TWO,
    "a mark, and line ends of Windows": f"\ufeff{TWO}".replace("\n", "\r\n\r\n"),
    "gzip": gzip.compress(TWO.encode()),
    "a list": json.dumps(PAIR, indent=1),
    "a bundle": json.dumps(BUNDLE, indent=2),
}


@pytest.mark.parametrize("content", READ.values(), ids=READ)
def test_observations_are_read_in_any_form(content, tmp_path):
    table = opened(tmp_path, content, "fhir")
    assert table.cells.to_dict("list") == {"crp": ["5", "7.5"]}
    assert table.units == {"crp": "mg/L"}


def test_values_of_fhir_of_any_kind(tmp_path):
    absent = observation("2", dataAbsentReason={"text": "clotted"}) | {"valueQuantity": None}
    parts = [observation(code="systolic", value=120), observation(code="diastolic", value=80)]
    pressure = {**observation(code="pressure", component=parts), "valueQuantity": None}
    text = {**observation("3", valueString="<2"), "valueQuantity": None}
    loinc = {"system": "http://loinc.org", "code": "2", "display": "Culture"}
    culture = observation("3", valueCodeableConcept={"text": "none"}) | {"valueQuantity": None}
    culture["code"] = {"coding": [{"code": "1"}, loinc]}
    assert cells(tmp_path, lines(absent, pressure, text, culture)) == {
        "systolic": ["", "120", ""],
        "diastolic": ["", "80", ""],
        "crp": ["", "", "<2"],
        "Culture": ["", "", "none"],
    }


def test_subjects_of_fhir_that_are_no_patients_and_values_of_other_kinds(tmp_path):
    group = observation(value=7) | {"subject": {"reference": "http://a/Group/1"}}
    ratio = observation(valueRatio={"numerator": {"value": 1}}) | {"valueQuantity": None}
    table = opened(tmp_path, lines(observation("1/_history/2"), group, ratio), "fhir")
    assert table.cells.to_dict("list") == {"crp": ["5", "7"]}
    assert "left out: 1 valueRatio" in table.remarks


BAD = lines(*[observation()] * 16) + '{"resourceType": \n' + TWO
OMOP = "person_id,measurement_concept_id,measurement_date,value_as_number"
REFUSED: dict[str, tuple[str, str, str]] = {
    "wrong JSON": (BAD, "fhir", r"f.txt, line 17 is no JSON: Expecting value at character 17"),
    "a null code": (TWO + lines(observation(code=None)), "fhir", "line 3: an Observation has no"),
    "a key twice": (
        TWO + '{"a":1,"a":2}',
        "fhir",
        "line 3 cannot be read: the key 'a' occurs twice",
    ),
    "some zones": (
        TWO + lines(observation(effectiveDateTime="2024-03-01T08:00:00")),
        "fhir",
        "line 3: column 'time' has a time without a zone, and others with one",
    ),
    "units of OMOP without a concept": (
        f"{OMOP},unit_concept_id,unit_source_value\n1,3,2024-01-01,5,0,mg/L\n2,3,2024-01-01,5,0,g/L\n",
        "omop",
        r"several units of measure \(1 in mg/L, 1 in g/L\)",
    ),
    "columns that differ in capitals": (
        f"{OMOP},Person_ID\n1,3,2024-01-01,5,2\n",
        "omop",
        "two col",
    ),
    "no date": (TWO + lines(observation(effectiveDateTime="now")), "fhir", "line 3: .*'now'"),
    "a list as a value": (lines(observation(value=[1])), "fhir", r"line 1: 'value' is \['1'\]"),
    "no text": (TWO.encode("utf-16").decode("latin-1"), "fhir", "is no JSON"),
    "no object": ("3\n", "jsonl", "line 1 is '3'; allowed is an object"),
    "depth": ('{"a":' * 99_999, "jsonl", "line 1 cannot be read: maximum recursion depth"),
    "nothing": ("", "fhir", "holds no Observation"),
    "several units": (
        lines(*map(observation, "123", ["crp"] * 3, [1, 2, 3], ["mg/L", "mg/dL", "mg/dl"])),
        "fhir",
        r"numbers of 'crp' have several units of measure \(.*2 in mg/dL.*\); convert",
    ),
    "texts that differ": (
        lines(value(1, "a", "x", 1), value(1, "a", "y", 1)),
        "jsonl",
        "line 1: 'x' is one of several values of its unit, name and time",
    ),
    "other keys": (lines(value(1, "a", 1), {"b": 1}), "jsonl", "line 2 has the keys b, and"),
    "no unit": (lines(value(None, "a", 1)), "jsonl", "line 1: 'id' is empty"),
    "no column": ("subject_id,code\n1,a\n2,b\n", "meds", "f.txt has no column 'time'"),
    "no format": ("", "xml", "the format is 'xml'; allowed are fhir, jsonl, meds, omop"),
}


@pytest.mark.parametrize(("content", "form", "sentence"), REFUSED.values(), ids=REFUSED)
def test_mistakes_are_refused_in_a_sentence(content, form, sentence, tmp_path):
    with pytest.raises(DataError, match=sentence) as refusal:
        opened(tmp_path, content, form)
    assert "\n" not in str(refusal.value)


def test_a_table_has_the_last_values_before_the_label(tmp_path):
    content = lines(
        *(value(1, "crp", 1.234, 1), value(1, "crp", 512, 2), value(1, "crp", 514, 2)),
        *(value(1, "crp", None, 3), value(1, "ill", True, 3), value(1, "crp", 9, 4)),
        *(value(2, "crp", 3), value(2, "ill", False)),
    )
    table = opened(tmp_path, content, "jsonl", holds=["ill"])
    assert table.cells.to_dict("list") == {"crp": ["513", "3"], "ill": ["True", "False"]}
    assert "1 values are later than the label, and left out" in table.remarks


def test_names_that_are_left_out_may_have_several_units(tmp_path):
    content = lines(value(1, "a", 1, unit="g"), value(2, "a", 1, unit="mol"), value(2, "b", 1))
    assert "b" in cells(tmp_path, content, "jsonl", without=["a"])


def test_omop_has_names_of_concepts_limits_and_marks_of_any_export(tmp_path):
    (tmp_path / "CONCEPT.csv").write_text('concept_id\tconcept_name\n7\tthe "CRP"\n8\tyes\n')
    content = (
        "PERSON_ID;MEASUREMENT_CONCEPT_ID;MEASUREMENT_DATE;OPERATOR_CONCEPT_ID;VALUE_AS_NUMBER;"
        "VALUE_AS_CONCEPT_ID;MEASUREMENT_SOURCE_VALUE\r\n1;7;2024-01-01;4171756;1,5;;x\r\n"
        "2;7;2024-01-02;;2,25;;x\r\n2;0;2024-01-02;;;8;culture\r\n"
    )
    table = cells(tmp_path, content, "omop")
    assert table == {'the "CRP"': ["<1.5", "2.25"], "culture": ["", "yes"]}


def test_meds_of_parquet(tmp_path):
    times = pd.to_datetime(pd.Series(["", "2024-01-01", "2024-01-01", "2024-01-02"]))
    frame = pd.DataFrame({"subject_id": [1, 1, 2, 2], "time": times})
    frame["code"], frame["numeric_value"] = ["SEX//F", "crp", "crp", "OUT"], [None, 2, 3, None]
    frame.to_parquet(path := tmp_path / "m.parquet")
    table = open_table(path, tmp_path / "c.csv", None, form="meds")
    assert table.cells.to_dict("list") == {"SEX": ["F", ""], "crp": ["2", "3"]}
    assert "left out: 1 events without a value" in table.remarks


def test_records_over_time_are_those_of_the_plain_file(tmp_path):
    keys = yaml.safe_load((ROOT / "docs/examples/wards.yaml").read_text())
    frame = pd.read_csv(ROOT / "docs/examples/wards.csv", dtype=str)
    frame.columns = ["id", "name", "time", "result", "value"]
    frame.to_json(tmp_path / "wards.jsonl", orient="records", lines=True)
    keys["units"]["file"] = str(ROOT / "docs/examples/wards_units.csv")
    roles = {"unit": "unit", "item": "name", "ordered": "time", "result": "result"}
    keys["measurements"] = {"file": "wards.jsonl", "format": "jsonl", "value": "value", **roles}
    (path := tmp_path / "w.yaml").write_text(yaml.safe_dump(keys))
    ours = frugal.load_over_time(path).to_arrays()[0]
    wanted = frugal.load_over_time(ROOT / "docs/examples/wards.yaml").to_arrays()[0]
    for name, array in wanted.items():
        np.testing.assert_array_equal(ours[name], array)


def test_commands_on_the_page_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    found = re.findall(r"^python -m frugal (.* docs/examples/.*)", PAGE.read_text(), re.MULTILINE)
    assert len(found) == len(presets())
    for k, (_, *words) in enumerate(map(shlex.split, found)):
        assert init_command([*words, "--out", str(tmp_path / f"{k}.yaml")]) == 0
    assert "measurements: item is name" in capsys.readouterr().out


def test_the_library_reads_long_files_with_the_same_word():
    stated: Any = {"prices": {"crp": 12, "lactate": 8}, "free": ["age", "sex"]}
    stated["errors"] = {"missed": 600, "false alarm": 150}
    frugal.load(ROOT / "docs/examples/cases.jsonl", "pneumonia", format="jsonl", **stated)
    with pytest.raises(ConfigError, match="format is 'fhir'; it goes with the path of a long file"):
        frugal.load(pd.DataFrame({"a": [1]}), "a", format="fhir")
    assert set(presets()) < set(str(TableOptions.__annotations__["format"]).split("'"))
    assert long_file(ROOT / "docs/examples/meds.csv", "meds").cells["name"].nunique() == 5
