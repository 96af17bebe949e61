"""Files that are not what they should be: one sentence, exit status 2, never a result.

Descriptions, CSV, ARFF, SAS transport, Parquet, JSON, safetensors and sidecars: hand-made, and
random ones made from valid ones. No pickle is ever loaded, and no name leads out of the results.
"""

import ast
import io
import json
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from frugal.__main__ import main
from frugal.core.errors import FrugalError
from frugal.data.prepare import prepare
from frugal.results.files import payload_bytes, read_payload, write_bytes
from frugal.results.sidecars import sidecar_path
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.dataset_documents import CSV, document, load
from tests.unit.spoiling import DELETE, NASTY, places, sentence_of, spoilt

ROOT = Path(__file__).parents[2]
DOCUMENT = document()
PLACES = list(places(DOCUMENT))
ARFF = "@relation small\n" + "".join(
    f"@attribute {name} {kind}\n"
    for name, kind in zip(CSV.split("\n")[0].split(","), ["numeric"] * 5, strict=True)
)
ARFF += "@data\n" + CSV.partition("\n")[2]
OPTIONS = settings(max_examples=40)


def prepared(folder: Path, content, raw: bytes = CSV.encode()) -> None:
    """All that happens to a table before it is a result."""
    description = load(folder, content)
    file = folder / "small.csv"
    file.write_bytes(raw)
    prepare(description, {f.name: file for f in description.source.files}, 0)


def refused(folder: Path, monkeypatch, capsys, content, raw: bytes) -> str:
    """What the command says; it must end with status 2 and write nothing."""
    monkeypatch.chdir(folder)
    text = content if isinstance(content, str) else yaml.safe_dump(content)
    Path("small.yaml").write_text(text, encoding="utf-8")
    Path("small.csv").write_bytes(raw)
    words = ["prepare_data", "--seed", "0", "--input", "description=small.yaml"]
    words += ["--input", "raw_0=small.csv", "--output", "table=results/t.parquet"]
    assert main([*words, "--output", "catalogue=results/c.json"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("frugal prepare_data: small.yaml")
    assert said.count("\n") == 1
    assert "Traceback" not in said
    assert not Path("results").exists()
    return said


def place(*keys):
    return lambda value: spoilt(DOCUMENT, keys, value)


DESCRIPTIONS = {
    "not yaml": ("name: [1,", "not valid YAML"),
    "a tag that makes objects": ("!!python/object/apply:os.system [id]", "not valid YAML"),
    "a key twice": ("name: a\nname: b\n", "key 'name' is written twice"),
    "a list": ("- 1", "allowed is a mapping of keys"),
    "nothing": ("", "allowed is a mapping of keys"),
    "a text": ("hello", "allowed is a mapping of keys"),
    "an alias without an anchor": ("name: *gone", "not valid YAML"),
    "unknown key": (DOCUMENT | {"pannels": []}, "did you mean 'panels'?"),
    "missing key": (place("label")(DELETE), "key 'label' is missing"),
    "name with a path": (place("name")("../x"), "'../x'"),
    "unknown column kind": (place("columns", 0, "type")("numerical"), "did you mean 'numeric'?"),
    "two columns of a name": (place("columns", 1, "name")("age"), "age"),
    "panel of no column": (place("panels", 1, "columns")(["markr"]), "did you mean 'marker'?"),
    "negative cost": (place("panels", 1, "cost")(-1), "from 0 on"),
    "cost that is no number": (place("panels", 1, "cost")("30 EUR"), "30 EUR"),
    "cost beyond single precision": (place("panels", 1, "cost")(1e308), "beyond 3.4e+38"),
    "infinite cost": (place("panels", 1, "cost")(float("inf")), "allowed is a number"),
    "costs of another shape": (place("misclassification_cost")([[0, 1]]), "misclassification_cost"),
    "one class": (place("label", "classes")([{"name": "ill", "values": [1]}]), "label.classes"),
    "unknown split": (place("split", "scheme")("fraction"), "fraction"),
    "parts above one": (place("split", "parts")({"train": 0.9, "test": 0.9}), "parts"),
    "seed that is no whole number": (place("split", "seed")(1e308), "allowed is a whole number"),
    "unknown encoding": (place("source", "format", "encoding")("utf-9"), "'utf-9' is unknown"),
    "name of two lines": (place("columns", 0, "name")("a\nb"), "without control characters"),
    "lines at no end of aliases": (
        "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b]\n",
        "unknown key",
    ),
}
TABLES = {
    "nothing": (b"", "is empty"),
    "only a header": (CSV.split("\n")[0].encode(), "holds no record"),
    "a cell too few": (CSV.encode().replace(b"61,no,-9,0,0", b"61,no,-9,0"), "line 3 has 4 cells"),
    "a cell too many": (CSV.encode().replace(b"61,no", b"61,7,no"), "line 3 has 6 cells"),
    "a word for a number": (CSV.encode().replace(b"61,", b"old,"), "holds 'old'"),
    "an infinite number": (CSV.encode().replace(b"61,", b"inf,"), "holds 'inf'"),
    "a number that is too large": (CSV.encode().replace(b"61,", b"1e999,"), "holds '1e999'"),
    "a number beyond single precision": (
        CSV.encode().replace(b"61,", b"1e39,"),
        "line 3: column 'age' holds 1e+39; allowed are numbers between -3.4e+38 and 3.4e+38",
    ),
    "an unknown level": (CSV.encode().replace(b"61,no", b"61,maybe"), "'maybe'"),
    "an unknown label": (CSV.encode().replace(b"-9,0,0", b"-9,0,2"), "'2'"),
    "one label only": (re.sub(rb",1\n", b",0\n", CSV.encode()), "one class only"),
    "a column gone": (CSV.encode().replace(b"marker", b"markr"), "did you mean 'markr'?"),
    "two columns of a name": (CSV.encode().replace(b"marker", b"age"), "two columns named 'age'"),
    "another encoding": (CSV.encode().replace(b"yes", "jå".encode("latin-1")), "is not utf-8 text"),
    "two bytes a letter": (CSV.encode("utf-16"), "is not utf-8 text"),
    "a page of a web server": (
        b"<!DOCTYPE html>\n<html><body>404</body></html>\n",
        "has no column",
    ),
    "a spreadsheet": (b"PK\x03\x04\x14\x00\x06\x00\x08\x00" * 9, "small.csv"),
    "a pickle": (pickle.dumps({"age": [1]}), "small.csv"),
    "another separator": (CSV.replace(",", ";").encode(), "has no column"),
    "an open quote": (CSV.encode().replace(b"47,no", b'"47,no'), "small.csv"),
    "zero bytes": (CSV.encode().replace(b"47", b"\0\0"), "small.csv"),
    "a free panel with a gap": (CSV.encode().replace(b"47,no", b",no"), "has no value"),
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_wrong_description_is_refused(tmp_path, monkeypatch, capsys, name):
    content, words = DESCRIPTIONS[name]
    assert words in refused(tmp_path, monkeypatch, capsys, content, CSV.encode())


@pytest.mark.parametrize("name", TABLES)
def test_a_wrong_table_is_refused(tmp_path, monkeypatch, capsys, name):
    raw, words = TABLES[name]
    assert words in refused(tmp_path, monkeypatch, capsys, DOCUMENT, raw)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ARFF.replace("@data", "@dta"), "has no '@data' line"),
        (ARFF.replace("@data\n", "@data\n{0 54, 1 yes}\n"), "sparse ARFF"),
        (ARFF.replace("@attribute age numeric\n", ""), "has 5 cells, but there are 4 columns"),
        (ARFF.partition("@data\n")[0] + "@data\n", "holds no record"),
        (CSV, "has no '@data' line"),
        ("", "has no '@data' line"),
    ],
)
def test_a_wrong_arff_file_is_refused(tmp_path, monkeypatch, capsys, text, words):
    content = spoilt(DOCUMENT, ("source", "format"), {"kind": "arff", "missing": [""]})
    said = refused(tmp_path, monkeypatch, capsys, content, text.encode())
    assert words in said


@OPTIONS
@given(where=st.sampled_from(PLACES), value=st.sampled_from([*NASTY, DELETE]))
def test_a_random_mistake_in_a_description_is_one_sentence_or_none(tmp_path, where, value):
    sentence_of(lambda: prepared(tmp_path, spoilt(DOCUMENT, where, value)))


@OPTIONS
@given(data=st.data())
def test_a_random_mistake_in_a_table_is_one_sentence_or_none(tmp_path, data):
    raw = spoilt_bytes(data, CSV.encode())
    sentence_of(lambda: prepared(tmp_path, DOCUMENT, raw))


def spoilt_bytes(data, content: bytes) -> bytes:
    """A piece cut out, replaced by other bytes."""
    low, high = sorted(data.draw(st.tuples(*[st.integers(0, len(content))] * 2)))
    return content[:low] + data.draw(st.binary(max_size=8)) + content[high:]


FRAME = pd.DataFrame({"seed": [0, 1], "estimate": [1.0, 2.0]})
PAYLOADS = {"t.parquet": FRAME, "d.json": {"a": [1, 2]}, "w.safetensors": {"w": np.arange(4.0)}}


@pytest.mark.parametrize("name", PAYLOADS)
@OPTIONS
@given(data=st.data())
def test_a_spoilt_payload_is_read_or_refused_in_one_sentence(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(spoilt_bytes(data, payload_bytes(path, PAYLOADS[name])))
    sentence_of(lambda: read_payload(path))


@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize(
    "content",
    [b"", b"PAR1", b"PAR1PAR1", b"\xff" * 64, b"[" * 100_000, b"<html>", pickle.dumps([1])],
    ids=["empty", "mark", "marks", "ones", "deep", "page", "pickle"],
)
def test_what_is_no_payload_is_refused(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    said = sentence_of(lambda: read_payload(path))
    assert said is not None
    assert said.startswith(f"{path} cannot be read as ")


SUMMARISE = ["summarise_afape", "--seed", "0", "--output", "summary=results/s.parquet"]


def sealed_input(folder: Path, monkeypatch) -> Path:
    """An intermediate table as a step leaves it, sidecar and all."""
    monkeypatch.chdir(folder)
    from tests.unit.result_chains import TABLE, write_chain

    write_chain()
    return TABLE


@pytest.mark.parametrize("spoil", ["cut off", "edited", "another's", "no sidecar of ours"])
def test_an_input_that_is_not_what_its_sidecar_says_is_never_read(
    tmp_path, monkeypatch, capsys, spoil
):
    path = sealed_input(tmp_path, monkeypatch)
    content = path.read_bytes()
    if spoil == "cut off":
        path.write_bytes(content[:-1])
    elif spoil == "edited":
        path.write_bytes(content[:10] + bytes([content[10] ^ 1]) + content[11:])
    elif spoil == "another's":
        path.write_bytes(payload_bytes(path, FRAME))
    else:
        write_bytes(sidecar_path(path), b"[]")
    assert main([*SUMMARISE, "--input", f"estimates[]={path}"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert str(path) in said or str(sidecar_path(path)) in said
    assert "sidecar" in said
    assert not Path("results/s.parquet").exists()


def test_no_module_can_load_a_pickle():
    """By what is imported and called anywhere in the package and the rules."""
    forbidden = {"pickle", "cPickle", "dill", "joblib", "cloudpickle", "shelve", "marshal"}
    calls = {"read_pickle", "to_pickle", "load_policy", "unpickle"}
    for path in sorted((ROOT / "workflow" / "frugal").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert not {a.name.split(".")[0] for a in node.names} & forbidden, path
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] not in forbidden, path
            if isinstance(node, ast.Attribute):
                assert node.attr not in calls, path
                owner = node.value.id if isinstance(node.value, ast.Name) else ""
                assert (owner, node.attr) not in {("torch", "load"), ("np", "load")}, path
            if isinstance(node, ast.keyword):
                assert node.arg != "allow_pickle", path


class Bomb:
    """A pickle that would write a file, were it ever loaded."""

    def __reduce__(self):
        return Path.touch, (Path("loaded"),)


@pytest.mark.parametrize("suffix", [".parquet", ".json", ".safetensors", ".csv", ".npz"])
def test_a_pickle_under_another_name_does_nothing(tmp_path, monkeypatch, suffix):
    monkeypatch.chdir(tmp_path)
    path = Path(f"bomb{suffix}")
    if suffix == ".npz":
        sink = io.BytesIO()
        np.savez(sink, a=np.array([Bomb()], dtype=object))
        path.write_bytes(sink.getvalue())
    else:
        path.write_bytes(pickle.dumps(Bomb()))
    try:
        read_payload(path)
        prepared(tmp_path, DOCUMENT, path.read_bytes())
    except FrugalError:
        pass
    assert not Path("loaded").exists()


@pytest.mark.parametrize("name", ["..", "a/..", "../../x", "/etc/passwd", "."])
def test_a_raw_file_cannot_be_fetched_to_a_place_outside_the_results(tmp_path, name):
    """Its name in results/raw is a plain one, whatever its path in the description."""
    from frugal.run.study import Study

    content = spoilt(DOCUMENT, ("source", "files"), [file_of(name)])
    content["source"]["kind"] = "download"
    made: dict[str, str] = {}

    def raw_inputs() -> None:
        description = load(tmp_path, content)
        config = {"data_mirror": None}
        study = Study(config, {"small": description.path}, {"small": description}, {})
        made.update(study.raw_inputs("small"))

    if sentence_of(raw_inputs) is None:
        (path,) = (p for key, p in made.items() if key.startswith("raw_"))
        assert Path(path).parent == Path("results/raw/dataset=small")
        assert Path(path).name not in {"", ".", ".."}


def file_of(name: str) -> dict[str, str]:
    return {"name": name, "url": "https://example.org/x", "sha256": "0" * 64}


def test_the_corpus_is_large_enough():
    assert len(DESCRIPTIONS) + len(TABLES) + 6 + 3 * 7 + 4 >= 60
    json.dumps(sorted(DESCRIPTIONS))
