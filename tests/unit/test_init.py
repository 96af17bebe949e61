"""`frugal init`: the YAML of an unknown table, by guesses that are told."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from frugal.core.errors import ConfigError, DataError
from frugal.data.description import load_description
from frugal.data.prepare import prepare
from frugal.data.raw import locate_file
from frugal.run.init_command import init_command

from tests.workflow.runs import ROOT

N = 60


def _with_gaps(rng: np.random.Generator, word: str) -> np.ndarray:
    return np.where(rng.random(N) < 0.3, word, rng.normal(9, 2, N).round(1).astype(str))


def _table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ill = rng.random(N) < 0.3
    return pd.DataFrame(
        {
            "case_id": [f"c{k // 2}" for k in range(N)], "row": range(1, N + 1),
            "seen": [f"2026-01-{1 + k % 28:02d}" for k in range(N)], "site": "one",
            "age": rng.integers(20, 90, N), "sex": rng.choice(["f", "m"], N),
            "lab_crp": _with_gaps(rng, ""), "lab_pct": _with_gaps(rng, "NA"),
            "sofa": np.where(rng.random(N) < 0.2, -9, rng.integers(0, 15, N)),
            "discharged_to": np.where(ill, "ward", "home"), "ill": np.where(ill, "yes", "no"),
        }
    )  # fmt: skip


def _init(folder: Path, *words: str, name: str = "t.csv") -> str:
    assert init_command([str(folder / name), "--label", "ill", *words]) == 0
    return (folder / name).with_suffix(".yaml").read_text()


def _priced(folder: Path) -> Path:
    """The YAML with every price filled in."""
    path = folder / "t.yaml"
    document = yaml.safe_load(path.read_text())
    for panel in document["panels"]:
        if not panel.get("free"):
            panel["cost"] = 1
    document["misclassification_cost"] = [[0, 10], [20, 0]]
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def _values(path: Path) -> dict[str, np.ndarray]:
    described = load_description(path)
    files = {}
    for file in described.source.files:
        found = locate_file(described, file.name, data_mirror=None)
        assert found is not None
        files[file.name] = found
    table = prepare(described, files, 0).table
    return {name: table.values[:, k] for k, name in enumerate(table.columns)}


def test_what_columns_are_is_guessed_and_told(tmp_path, capsys):
    _table().to_csv(tmp_path / "t.csv", index=False)
    text = _init(tmp_path)
    document, said = yaml.safe_load(text), capsys.readouterr().out
    assert [one["name"] for one in document["columns"]] == [
        "age", "sex", "lab_crp", "lab_pct", "sofa", "discharged_to"
    ]  # fmt: skip
    assert document["source"]["format"]["missing"] == ["", "NA"]
    assert document["label"]["classes"][1] == {"name": "yes", "values": ["yes"]}
    for words in (
        "left out: case_id: names that stand in several rows", "left out: row: numbers the rows",
        "left out: seen: holds dates", "left out: site: holds 'one' alone",
        "look: discharged_to: tells the label in all of 60 rows",
        "look: sofa: -9 may be a code and no quantity",
    ):  # fmt: skip
        assert words in said
    assert "# cluster: case_id" in text
    assert "special_values: [{value: -9, meaning: FILL IN}]" in text
    known, *priced = document["panels"]
    assert known["free"]
    assert [(one["columns"], one["cost"]) for one in priced] == [
        (["lab_crp"], None), (["lab_pct"], None)
    ]  # fmt: skip


def test_open_prices_are_refused_in_a_sentence_that_names_them(tmp_path):
    _table().to_csv(tmp_path / "t.csv", index=False)
    _init(tmp_path)
    with pytest.raises(ConfigError) as refusal:
        load_description(tmp_path / "t.yaml")
    said = str(refusal.value)
    assert "fill in the cost of lab_crp, lab_pct (first 'panels[1].cost') and what each" in said
    assert "\n" not in said
    load_description(_priced(tmp_path))


def test_panels_by_prefix(tmp_path):
    _table().to_csv(tmp_path / "t.csv", index=False)
    panels = yaml.safe_load(_init(tmp_path, "--by-prefix"))["panels"]
    assert panels[1] == {"name": "lab", "columns": ["lab_crp", "lab_pct"], "cost": None}


def test_a_table_without_gaps_has_a_price_for_every_column(tmp_path):
    _table()[["age", "sex", "sofa", "ill"]].to_csv(tmp_path / "t.csv", index=False)
    panels = yaml.safe_load(_init(tmp_path))["panels"]
    assert [one["columns"] for one in panels] == [["age"], ["sex"], ["sofa"]]
    assert all(one["cost"] is None for one in panels)


@pytest.mark.parametrize("form", ["comma", "semicolon", "tab", "latin", "decimal", "parquet"])
def test_every_form_gives_the_values_of_the_plain_file(tmp_path, form):
    table = _table().assign(sex=lambda t: t["sex"].replace({"f": "fühlt"}))
    plain, other = tmp_path / "plain", tmp_path / "other"
    plain.mkdir()
    other.mkdir()
    table.to_csv(plain / "t.csv", index=False)
    name = "t.csv"
    if form == "comma":
        table.to_csv(other / name, index=False, encoding="utf-8-sig")
    elif form in ("semicolon", "tab"):
        table.to_csv(other / name, index=False, sep={"semicolon": ";", "tab": "\t"}[form])
    elif form == "latin":
        table.to_csv(other / name, index=False, encoding="latin-1")
    elif form == "decimal":
        for column in ("lab_crp", "lab_pct"):
            table[column] = table[column].str.replace(".", ",")
        table.to_csv(other / name, index=False, sep=";")
    else:
        name = "t.parquet"
        table.to_parquet(other / name)
    _init(plain)
    _init(other, name=name)
    found, wanted = _values(_priced(other)), _values(_priced(plain))
    assert list(found) == list(wanted)
    for column, values in wanted.items():
        np.testing.assert_array_equal(found[column], values, err_msg=column)


def test_the_example_is_read_as_it_is_described(tmp_path):
    shutil.copy(ROOT / "docs/examples/clinic.csv", tmp_path / "t.csv")
    assert init_command([str(tmp_path / "t.csv"), "--label", "pneumonia"]) == 0
    found = _values(_priced(tmp_path))
    wanted = _values(ROOT / "docs/examples/clinic.yaml")
    for column, values in wanted.items():
        np.testing.assert_array_equal(found[column], values, err_msg=column)


def test_a_name_that_is_reserved_is_changed(tmp_path):
    _table().rename(columns={"age": "part", "lab_crp": "label"}).to_csv(
        tmp_path / "t.csv", index=False
    )
    _init(tmp_path)
    assert {"part_", "label_"} <= set(_values(_priced(tmp_path)))


def test_a_wrong_label_leaves_no_file_behind(tmp_path):
    _table().to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="no column 'sick'"):
        init_command([str(tmp_path / "t.parquet"), "--label", "sick"])
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_a_broken_file_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(DataError, match=r"t\.parquet cannot be read as parquet: "):
        _init(tmp_path, name="t.parquet")


def test_nothing_is_overwritten(tmp_path):
    _table().to_csv(tmp_path / "t.csv", index=False)
    _init(tmp_path)
    with pytest.raises(DataError, match=r"t\.yaml is there already, and is not overwritten"):
        _init(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.rename(columns={"ill": "il"}), r"no column 'ill' .* did you mean 'il'\?"),
        (lambda t: t.assign(ill="no"), r"'ill' holds 'no' alone; a label needs two classes"),
        (lambda t: t.assign(ill=np.arange(N) / 7), r"60 different values.*cut it into ranges"),
        (lambda t: t.head(0), r"has 1 lines; a table has a head and rows"),
        (lambda t: t[["ill"]], r"no separator among comma"),
    ],
)
def test_what_is_no_table_with_a_label_is_refused_in_a_sentence(tmp_path, change, words):
    change(_table()).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=words):
        _init(tmp_path)
    assert not (tmp_path / "t.yaml").exists()


def test_text_among_numbers_is_told_with_what_to_do(tmp_path, capsys):
    table = _table().astype({"age": object})
    table.loc[3, "age"] = "old"
    table.to_csv(tmp_path / "t.csv", index=False)
    _init(tmp_path)
    said = capsys.readouterr().out
    assert "look: age: holds text among its numbers (old); correct the file" in said
    with pytest.raises(DataError, match=r"line 5: .*'age'.*'old'"):
        _values(_priced(tmp_path))
