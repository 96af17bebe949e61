"""Sidecars: every column described, sealed, and the same wherever and whenever they are made."""

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frugal.answer import columns as answer_columns
from frugal.core import columns as shared_columns
from frugal.core.columns import describe_columns
from frugal.core.declarations import PACKAGE
from frugal.core.errors import DataError
from frugal.results.files import file_digest
from frugal.results.sidecars import (
    Job,
    input_records,
    seal,
    shown_path,
    sidecar_path,
    write_outputs,
)
from frugal.studies.afape import columns as afape

from tests.unit.result_chains import PREPARE, SUMMARISE, SUMMARY, TABLE, run_step, write_chain


def read(payload):
    return json.loads(sidecar_path(payload).read_text())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_chain()
    return tmp_path


def test_a_sidecar_lies_next_to_its_payload():
    assert sidecar_path(Path("results/x/t.parquet")) == Path("results/x/_t.parquet.json")


@pytest.mark.usefixtures("folder")
def test_a_sidecar_says_what_made_the_payload():
    document = read(SUMMARY)
    assert document["file"] == "afape.parquet"
    assert document["sha256"] == file_digest(SUMMARY)
    assert document["bytes"] == SUMMARY.stat().st_size
    assert document["stage"] == "summarise_afape"
    assert document["seed"] == 7
    assert document["rows"] == 1
    assert document["inputs"] == [
        {"name": "estimates[]", "path": TABLE.as_posix(), "sha256": file_digest(TABLE)}
    ]
    assert len(document["source"]) == len(document["environment"]) == 64


@pytest.mark.usefixtures("folder")
def test_features_have_the_units_of_the_catalogue():
    described = {c["name"]: c for c in read(TABLE)["columns"]}
    assert described["age"]["unit"] == "year"
    assert described["smoker"]["unit"] == ""
    assert described["row_id"]["dtype"] == "int64"
    assert all(c["meaning"] for c in described.values())


@pytest.mark.usefixtures("folder")
def test_the_seal_holds_for_the_content_as_written_and_for_no_other():
    document = read(TABLE)
    assert seal(document) == document["seal"]
    assert seal(document | {"seed": 8}) != document["seal"]


def test_nothing_in_a_sidecar_states_the_place_or_the_time(tmp_path, monkeypatch):
    made = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        write_chain()
        files = sorted(p for p in Path("results").rglob("*") if p.is_file())
        made.append({p.as_posix(): p.read_bytes() for p in files})
    assert made[0] == made[1]
    text = b"".join(made[0].values())
    assert str(tmp_path).encode() not in text
    assert str(Path(__file__).parents[2]).encode() not in text


def test_a_file_from_outside_is_shown_by_its_name_alone():
    assert shown_path(Path("/somewhere/private/a.yaml")) == "a.yaml"
    assert shown_path(Path("results/data/t.parquet")) == "results/data/t.parquet"


@pytest.mark.usefixtures("folder")
def test_an_undescribed_column_is_refused_and_nothing_is_written():
    before = SUMMARY.read_bytes(), sidecar_path(SUMMARY).read_bytes()
    frame = pd.DataFrame({"estimate": [1.0], "mystery": [2.0]})
    with pytest.raises(DataError, match="'mystery' has no description"):
        write_outputs(SUMMARISE, {"summary": frame}, {"summary": b"new"}, input_records(SUMMARISE))
    assert (SUMMARY.read_bytes(), sidecar_path(SUMMARY).read_bytes()) == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "change", [{"seed": 8}, {"settings": {"a": 1}}, {"wildcards": {"dataset": "b"}}]
)
def test_whatever_decides_the_outputs_shows(change):
    before = read(TABLE)
    run_step(replace(PREPARE, **change))
    assert {k for k, v in read(TABLE).items() if v != before[k]} == {*change, "seal"}


@pytest.mark.parametrize(
    ("name", "unit", "meaning"),
    [
        ("estimate", afape.COLUMNS["estimate"][0], "estimated cost per unit at run time"),
        ("observed:blood test", "", "True where panel blood test is in the records"),
        ("value:a\nb", "unit of the raw column", "encoded feature a\nb"),
        ("age", "year", "encoded feature"),
    ],
)
def test_columns_are_described_by_name_by_pattern_or_by_the_data_set(name, unit, meaning):
    (described,) = describe_columns(pd.DataFrame({name: [1.0]}), {"age": "year"}, afape)
    assert described == {"name": name, "dtype": "float64", "unit": unit, "meaning": meaning}


def test_every_description_has_a_meaning_and_stands_once():
    studies = sorted(Path(PACKAGE / "studies").glob("*/columns.py"))
    parts = [
        shared_columns,
        answer_columns,
        *(import_module(f"frugal.studies.{p.parent.name}.columns") for p in studies),
    ]
    assert len(parts) == 8
    assert all(meaning for part in parts for _, meaning in part.COLUMNS.values())
    assert all(meaning for part in parts for _, (_, meaning) in part.PATTERNS)
    for part in parts[1:]:
        assert not set(part.COLUMNS) & set(shared_columns.COLUMNS)


def test_a_column_of_another_study_has_no_description():
    with pytest.raises(DataError, match="'efficacy' has no description in the study's columns"):
        describe_columns(pd.DataFrame({"efficacy": [1.0]}), {}, afape)


def test_dtypes_are_those_of_the_table():
    frame = pd.DataFrame({"seed": np.array([1], dtype=np.int32), "estimate": [1.0]})
    assert [c["dtype"] for c in describe_columns(frame, {}, afape)] == ["int32", "float64"]


def test_a_job_is_frozen():
    with pytest.raises(AttributeError):
        Job("s", {}, {}, {}, {}, 0).seed = 1  # pyright: ignore[reportAttributeAccessIssue]
