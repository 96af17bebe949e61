"""Manifests: every column described, sealed, and the same wherever and whenever they are made."""

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
from frugal.results.manifests import (
    AuditError,
    Job,
    input_records,
    load_manifest,
    load_record,
    manifest_path,
    shown_path,
    write_outputs,
)
from frugal.studies.afape import columns as afape

from tests.unit.result_chains import PREPARE, SUMMARISE, SUMMARY, TABLE, run_step, write_chain


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_chain()
    return tmp_path


def test_a_manifest_lies_apart_from_results_and_next_to_another_file():
    assert manifest_path(Path("results/x/t.csv")) == Path("results/steps/x/t.csv.json")
    for other in ("x/t.csv", "results"):
        path = Path(other)
        assert manifest_path(path) == path.with_name(f"_{path.name}.json")


@pytest.mark.usefixtures("folder")
def test_all_outputs_of_a_job_have_one_manifest_wherever_they_lie():
    other = Path("results/elsewhere/catalogue.json")
    run_step(replace(PREPARE, outputs={**PREPARE.outputs, "catalogue": other}))
    assert load_record(other)["manifest"] == load_record(TABLE)["manifest"]
    assert load_record(other)["output"] == "catalogue"
    with pytest.raises(AuditError, match=r"catalogue\.json: no manifest names it"):
        load_record(TABLE.with_name("catalogue.json"))


@pytest.mark.usefixtures("folder")
def test_of_two_manifests_that_name_a_file_the_newer_one_holds():
    before = load_record(TABLE)["manifest"]
    run_step(replace(PREPARE, outputs={"catalogue": TABLE.with_name("a.json"), "table": TABLE}))
    assert load_record(TABLE)["manifest"] == "results/steps/data/dataset=a/a.json.json"
    run_step(PREPARE)
    assert load_record(TABLE)["manifest"] == before


@pytest.mark.usefixtures("folder")
def test_a_manifest_says_what_made_the_payload():
    document = load_record(SUMMARY)
    assert document["path"] == SUMMARY.as_posix()
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
    described = {c["name"]: c for c in load_record(TABLE)["columns"]}
    assert described["age"]["unit"] == "year"
    assert described["smoker"]["unit"] == ""
    assert described["row_id"]["dtype"] == "int64"
    assert all(c["meaning"] for c in described.values())


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("change", [('"seed": 7', '"seed": 8'), ("\n", "\n\n"), ("}\n", "}")])
def test_the_seal_holds_for_the_content_as_written_and_for_no_other(change):
    path = manifest_path(TABLE)
    load_manifest(path)
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(AuditError, match="was edited after it was written"):
        load_manifest(path)


def test_nothing_in_a_manifest_states_the_place_or_the_time(tmp_path, monkeypatch):
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
    paths = SUMMARY, manifest_path(SUMMARY)
    before = [path.read_bytes() for path in paths]
    frame = pd.DataFrame({"estimate": [1.0], "mystery": [2.0]})
    with pytest.raises(DataError, match="'mystery' has no description"):
        write_outputs(SUMMARISE, {"summary": frame}, input_records(SUMMARISE))
    assert [path.read_bytes() for path in paths] == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "change", [{"seed": 8}, {"settings": {"a": 1}}, {"wildcards": {"dataset": "b"}}]
)
def test_whatever_decides_the_outputs_shows(change):
    before = load_record(TABLE)
    run_step(replace(PREPARE, **change))
    assert {k for k, v in load_record(TABLE).items() if v != before[k]} == {*change, "seal"}


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
