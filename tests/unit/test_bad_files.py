"""Files that are not what they should be: one sentence, exit status 2, never a result.

Random ones made from valid ones; those made by hand are in `tests/malformed`. No pickle is ever
loaded, and no name leads out of the results.
"""

import ast
import io
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frugal.__main__ import main
from frugal.core.errors import FrugalError
from frugal.data.prepare import prepare
from frugal.results.files import payload_bytes, read_payload, write_bytes
from frugal.results.manifests import manifest_path
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.dataset_documents import CSV, document, load
from tests.unit.spoiling import DELETE, NASTY, places, sentence_of, spoilt

ROOT = Path(__file__).parents[2]
DOCUMENT = document()
PLACES = list(places(DOCUMENT))
OPTIONS = settings(max_examples=40)


def prepared(folder: Path, content, raw: bytes = CSV.encode()) -> None:
    """All that happens to a table before it is a result."""
    description = load(folder, content)
    file = folder / "small.csv"
    file.write_bytes(raw)
    prepare(description, {f.name: file for f in description.source.files}, 0)


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


SUMMARISE = ["summarise_afape", "--seed", "0", "--output", "summary=results/s.parquet"]


def sealed_input(folder: Path, monkeypatch) -> Path:
    """An intermediate table as a step leaves it, manifest and all."""
    monkeypatch.chdir(folder)
    from tests.unit.result_chains import TABLE, write_chain

    write_chain()
    return TABLE


@pytest.mark.parametrize("spoil", ["cut off", "edited", "another's", "no manifest of ours"])
def test_an_input_that_is_not_what_its_manifest_says_is_never_read(
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
        write_bytes(manifest_path(path), b"[]")
    assert main([*SUMMARISE, "--input", f"estimates[]={path}"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert str(path) in said or str(manifest_path(path)) in said
    assert "manifest" in said
    assert not Path("results/s.parquet").exists()


def test_no_module_can_load_a_pickle():
    """By what is imported and called anywhere in the package and the rules."""
    forbidden = {"pickle", "cPickle", "dill", "joblib", "cloudpickle", "shelve", "marshal"}
    calls = {"read_pickle", "to_pickle", "load_policy", "unpickle"}
    words = re.compile("|".join((*forbidden, *calls, r"\bload\b", "allow_pickle")))
    for path in sorted((ROOT / "workflow" / "frugal").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text if words.search(text) else "")
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


def test_a_stored_number_beyond_all_floats_is_refused(tmp_path):
    (path := tmp_path / "a.json").write_text(f'{{"every": {10**400}}}')
    sentence = sentence_of(lambda: read_payload(path))
    assert sentence is not None
    assert "a.json cannot be read as json" in sentence


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
