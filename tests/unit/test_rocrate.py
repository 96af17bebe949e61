"""A crate names every file with its digest, what was read from outside, and one action."""

from pathlib import Path

import pytest
from frugal.core.errors import DataError
from frugal.results.publishing import crate, write_crate

RAW = {"name": "raw", "path": "visits.csv", "sha256": "a" * 64}
TABLE, POLICY = Path("results/data/table.parquet"), Path("results/agents/policy.safetensors")


def document(path: Path, stage: str, inputs, **settings):
    return {
        "sha256": path.name.encode().hex().ljust(64, "0"),
        "bytes": 7,
        "stage": stage,
        "output": path.stem,
        "outputs": {path.stem: path.as_posix()},
        "wildcards": {"dataset": "visits"},
        "seed": 5,
        "settings": settings,
        "inputs": inputs,
        "environment": "e" * 64,
        "manifest": path.as_posix(),
    }


@pytest.fixture
def graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = {"name": "table", "path": TABLE.as_posix(), "sha256": "b" * 64}
    other = Path("results/agents/other.safetensors")
    documents = {
        TABLE: document(TABLE, "prepare_data", [RAW], share=0.5, text="x", nested={"a": 1}),
        POLICY: document(POLICY, "train_agent", [made], units=3, kind="dqn"),
        other: document(other, "train_agent", [made], units=3, kind="cwcf"),
    }
    for path in documents:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return {entity["@id"]: entity for entity in crate(documents, Path("Snakefile"))["@graph"]}


def test_every_file_stands_in_it_with_its_digest(graph):
    assert graph[TABLE.as_posix()]["sha256"] == b"table.parquet".hex().ljust(64, "0")
    assert graph[TABLE.as_posix()]["description"] == (
        "table of the stage prepare_data (dataset visits), seed 5"
    )
    parts = {part["@id"] for part in graph["./"]["hasPart"]}
    assert {TABLE.as_posix(), POLICY.as_posix(), "Snakefile"} <= parts


def test_the_action_joins_what_was_read_with_what_was_made(graph):
    action = graph["#run"]
    read = [graph[part["@id"]] for part in action["object"]]
    assert [e["identifier"] for e in read if e["@type"] == "CreativeWork"] == [f"sha256:{'a' * 64}"]
    assert {e["@id"] for e in action["result"]} == {
        i for i, entity in graph.items() if "sha256" in entity
    }


def test_settings_that_differ_between_steps_are_left_out(graph):
    values = {i: e["value"] for i, e in graph.items() if e["@type"] == "PropertyValue"}
    assert values == {
        "#value-seed": "5",
        "#value-environment": "e" * 64,
        "#value-prepare_data.share": "0.5",
        "#value-prepare_data.text": "x",
        "#value-train_agent.units": "3",
    }
    kinds = {i: e["additionalType"] for i, e in graph.items() if e["@type"] == "FormalParameter"}
    assert kinds["#parameter-prepare_data.share"] == "Float"
    assert kinds["#parameter-seed"] == "Integer"


def test_every_name_that_is_used_is_explained(graph):
    def names(value):
        if isinstance(value, dict):
            yield from [value["@id"]] if set(value) == {"@id"} else names(list(value.values()))
        elif isinstance(value, list):
            for part in value:
                yield from names(part)

    used = {name for entity in graph.values() for name in names(list(entity.values()))}
    assert {name for name in used - graph.keys() if not name.startswith("http")} == set()


def test_without_results_there_is_no_crate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="results/ holds no file of a step"):
        write_crate()
    assert list(tmp_path.iterdir()) == []
