"""Descriptions: every shipped one is valid, every mistake is one sentence that helps."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from frugal.config.blocks import schema_of
from frugal.config.dataset import Dataset
from frugal.core.errors import ConfigError
from frugal.data.description import load_description

from tests.unit.dataset_documents import document, load

ROOT = Path(__file__).parents[2]
SHIPPED = sorted([*ROOT.glob("config/datasets/*.yaml"), ROOT / "docs/examples/ten_lines.yaml"])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_description_is_valid(path):
    assert load_description(path).name == path.stem


def test_all_data_sets_of_the_study_are_shipped():
    names = {p.stem for p in SHIPPED}
    assert names >= {
        "synthetic_mnar",
        "breast_cancer",
        "income",
        "heloc",
        "retinopathy",
        "template",
        "ten_lines",
    }


def _keys(name: str) -> dict[str, Any]:
    schema = schema_of(Dataset)
    return (schema if name == "Dataset" else schema["$defs"][name]).get("properties", {})


BLOCKS = ["Dataset", *schema_of(Dataset)["$defs"]]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_key_has_its_meaning(block):
    for key, said in _keys(block).items():
        meaning = said.get("description") or "$ref" in said  # that of a block
        assert meaning, key


def test_template_names_every_key():
    """Whoever copies the template can find each key there, used or in a comment."""
    text = (ROOT / "config/datasets/template.yaml").read_text()
    assert len(BLOCKS) >= 12
    for block in BLOCKS:
        if block in ("MakeClassification", "Loans") or block.startswith("Clinical"):
            continue
        for key in _keys(block):
            if key not in ("generator", "loader", "groups"):
                assert f"{key}:" in text, f"{block}.{key}"


def test_import_stays_light():
    code = (
        "import sys, frugal.data.description; "
        "print([m for m in ('pandas', 'sklearn', 'scipy', 'torch', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_values_arrive_as_written(tmp_path):
    description = load(tmp_path, document())
    assert [c.raw_name for c in description.columns] == ["age", "smoker", "marker", "scan"]
    assert description.columns[2].special_values == (
        (-9.0, "too low to measure"),
        (-8.0, "sample lost"),
    )
    assert [(p.cost, p.free) for p in description.panels] == [
        (0.0, True),
        (30.0, False),
        (900.0, False),
    ]
    assert description.label.values == (("0",), ("1",))
    assert description.misclassification_cost == ((0.0, 1000.0), (5000.0, 0.0))


def _set(*keys: Any, value: Any) -> Callable[[dict], None]:
    def spoil(content: dict) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return spoil


def _drop(*keys: Any) -> Callable[[dict], None]:
    def spoil(content: dict) -> None:
        for key in keys[:-1]:
            content = content[key]
        del content[keys[-1]]

    return spoil


def _together(*spoilers: Callable[[dict], None]) -> Callable[[dict], None]:
    def spoil(content: dict) -> None:
        for one in spoilers:
            one(content)

    return spoil


MISTAKES = {
    "unknown key": (_set("pannels", value=[]), ["'pannels'", "did you mean 'panels'?"]),
    "misspelt instead of right": (
        _together(_drop("panels"), _set("panel", value=[])),
        ["unknown key 'panel'", "did you mean 'panels'?"],
    ),
    "unknown nested key": (
        _set("columns", 0, "units", value="year"),
        ["'units'", "columns[0]", "did you mean 'unit'?"],
    ),
    "missing key": (_drop("label", "column"), ["'column' is missing", "'label'"]),
    "wrong kind": (
        _set("columns", 0, "type", value="numerical"),
        ["columns[0].type", "'numerical'", "numeric, categorical", "did you mean 'numeric'?"],
    ),
    "wrong type": (_set("title", value=3), ["'title' is 3", "a text"]),
    "bare yes in levels": (
        _set("columns", 1, "levels", value=["no", True]),
        ["columns[1].levels[1]", "True", "a text"],
    ),
    "negative cost": (_set("panels", 1, "cost", value=-3), ["panels[1].cost", "-3", "from 0 on"]),
    "cost in words": (_set("panels", 1, "cost", value="cheap"), ["'cheap'", "'drawn'"]),
    "infinite cost": (_set("panels", 1, "cost", value=float("inf")), ["panels[1].cost", "inf"]),
    "free and priced": (_set("panels", 0, "cost", value=1), ["'interview'", "free: true", "cost"]),
    "neither free nor priced": (_drop("panels", 1, "cost"), ["'blood'", "free: true", "cost"]),
    "drawn without law": (_set("panels", 1, "cost", value="drawn"), ["'blood'", "cost_draw"]),
    "low above high": (
        _set("cost_draw", value={"distribution": "uniform", "low": 2, "high": 1, "seed": 0}),
        ["cost_draw.low", "2", "1"],
    ),
    "panel with unknown column": (
        _set("panels", 1, "columns", value=["markr"]),
        ["'blood'", "'markr'", "did you mean 'marker'?"],
    ),
    "costly panel of free columns": (
        _set("panels", 1, "columns", value=["age"]),
        ["panels[1]", "'blood'", "every column of it is free"],
    ),
    "homeless column": (_drop("panels", 2), ["'scan'", "no panel"]),
    "all free": (
        _set(
            "panels",
            value=[{"name": "p", "columns": ["age", "smoker", "marker", "scan"], "free": True}],
        ),
        ["every panel is free"],
    ),
    "same panel twice": (_set("panels", 2, "name", value="blood"), ["'blood'", "twice"]),
    "same column twice": (_set("columns", 3, "name", value="age"), ["'age'", "twice"]),
    "reserved column": (_set("columns", 0, "name", value="label"), ["reserved", "row_id"]),
    "label as feature": (_set("columns", 0, "from", value="ill"), ["is the label"]),
    "numeric without unit": (_drop("columns", 0, "unit"), ["'age'", "unit"]),
    "unit on categorical": (_set("columns", 1, "unit", value="1"), ["categorical", "'unit'"]),
    "missing level not listed": (
        _set("columns", 1, "missing_level", value="unknown"),
        ["missing_level", "'unknown'", "no, yes"],
    ),
    "one class": (_drop("label", "classes", 1), ["label.classes", "at least 2"]),
    "value of two classes": (
        _set("label", "classes", 1, "values", value=["0"]),
        ["raw value '0'", "twice"],
    ),
    "cost matrix of wrong shape": (
        _set("misclassification_cost", value=[[0, 1], [1]]),
        ["misclassification_cost", "2 classes"],
    ),
    "negative misclassification cost": (
        _set("misclassification_cost", value=[[0, -1], [1, 0]]),
        ["misclassification_cost[0][1]", "-1", "from 0 on"],
    ),
    "unknown part": (
        _set("split", "parts", value={"trian": 0.5, "test": 0.5}),
        ["'trian'", "did you mean 'train'?"],
    ),
    "fractions do not sum": (
        _set("split", "parts", value={"train": 0.5, "test": 0.6}),
        ["sum to 1.1", "1"],
    ),
    "no test part": (_set("split", "parts", value={"train": 1.0}), ["no rows", "'test'"]),
    "half a row": (
        _set("split", value={"scheme": "counts", "seed": 0, "parts": {"train": 2.5, "test": 3}}),
        ["2.5", "whole"],
    ),
    "given without groups": (_set("split", "scheme", value="given"), ["'given'", "'groups'"]),
    "file without group": (
        _set(
            "split",
            value={"scheme": "given", "seed": 0, "groups": {"a": {"train": 0.5, "test": 0.5}}},
        ),
        ["source.files[0]", "'group'"],
    ),
    "download without digest": (_set("source", "kind", value="download"), ["url", "sha256"]),
    "generator key missing": (_set("source", "kind", value="generator"), ["source.generator"]),
    "digest too short": (
        _set("source", "files", 0, "sha256", value="abc"),
        ["source.files[0].sha256", "'abc'"],
    ),
    "csv without separator": (_drop("source", "format", "separator"), ["separator", "csv"]),
    "header false": (_set("source", "format", "header", value=False), ["header", "list"]),
    "three groups": (
        _set(
            "sensitive",
            value={"column": "smoker", "groups": [{"name": n, "values": [n]} for n in "abc"]},
        ),
        ["'sensitive.groups' holds 3 entries; it may hold at most 2"],
    ),
    "no panels": (_set("panels", value=[]), ["'panels' is []; it must hold at least 1 entry"]),
    "unknown sensitive column": (_set("sensitive", value="smokr"), ["did you mean 'smoker'?"]),
    "drop rule without value": (
        _set("drop_rows", value=[{"rule": "all_features_equal", "reason": "none"}]),
        ["drop_rows[0]", "'value'"],
    ),
}


@pytest.mark.parametrize(("spoil", "words"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistake_is_one_sentence(tmp_path, spoil, words):
    content = document()
    spoil(content)
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, content)
    sentence = str(caught.value)
    assert sentence.startswith(str(tmp_path / "small.yaml"))
    assert "\n" not in sentence
    for word in words:
        assert word in sentence


def test_key_written_twice(tmp_path):
    with pytest.raises(
        ConfigError, match=r"small\.yaml, line 2, column 1.*'name' is written twice"
    ):
        load(tmp_path, "name: a\nname: b\n")


def test_broken_yaml(tmp_path):
    with pytest.raises(ConfigError, match=r"small\.yaml, line 2.*not valid YAML"):
        load(tmp_path, "name: [a\n")


def test_empty_yaml(tmp_path):
    with pytest.raises(ConfigError, match=r"'top level' is null; allowed is a mapping"):
        load(tmp_path, "")


def test_no_such_file(tmp_path):
    with pytest.raises(ConfigError, match=r"there is no file .*absent\.yaml"):
        load_description(tmp_path / "absent.yaml")
