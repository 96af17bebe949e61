"""Files of stored arrays whose header lies, is huge, or whose name promises another kind."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.core.stored import StoredArrays
from frugal.learn.trees import TreeEnsemble
from frugal.results.files import payload_bytes, read_payload
from frugal.results.sidecars import Checkpoint, Job
from frugal.run.stage_command import run_job

from tests.unit.spoiling import sentence_of


def one(dtype: str = "F32", shape: Any = (1,), offsets: Any = (0, 4)) -> dict[str, Any]:
    return {"a": {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}}


HEADERS: dict[str, tuple[Any, bytes]] = {
    "bfloat16": (one("BF16", [2]), b"0" * 4),
    "float8": (one("F8_E4M3", [4]), b"0" * 4),
    "float4": (one("F4", [8]), b"0" * 4),
    "big-endian": (one(">F4"), b"0" * 4),
    "a size that overflows": (one(shape=[2**62, 4]), b"0" * 4),
    "an empty array too large": (one(shape=[2**62, 0], offsets=[0, 0]), b""),
    "a negative size": (one(shape=[-1]), b"0" * 4),
    "more numbers than bytes": (one(shape=[2], offsets=[0, 8]), b"0" * 4),
    "more bytes than numbers": (one(), b"0" * 8),
    "offsets beyond the end": (one(offsets=[2**40, 2**40 + 4]), b"0" * 4),
    "a hole": (one(offsets=[4, 8]), b"0" * 8),
    "two arrays in one place": (one() | {"b": one()["a"]}, b"0" * 4),
    "a list": (b"[]", b""),
    "deep": (b'{"a":' * 100_000, b""),
    "not UTF-8": (b'{"\xff":{}}', b""),
    "a hundred axes": (one(shape=[1] * 100), b"0" * 4),
}


def lying(path: Path, header: Any, body: bytes, size: int | None = None) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if size is None else size) + text + body)
    return path


@pytest.mark.parametrize("what", HEADERS)
def test_a_header_that_lies_is_one_sentence_that_names_the_file(tmp_path, what):
    path = lying(tmp_path / "c.safetensors", *HEADERS[what])
    said = sentence_of(lambda: read_payload(path))
    assert said is not None
    assert said.startswith(f"{path} cannot be read as safetensors: ")


@pytest.mark.parametrize("size", [10**9, 2**63, 2**64 - 1])
def test_a_header_said_to_be_huge_is_refused_before_memory_is_taken(tmp_path, size):
    path = lying(tmp_path / "c.safetensors", b"{}", b"", size)
    with pytest.raises(DataError, match="header too large"):
        read_payload(path)


def test_arrays_remember_their_file_and_are_written_as_before(tmp_path):
    arrays = {"x": np.arange(3.0), "y": np.zeros((2, 0), dtype=np.int32)}
    path = tmp_path / "c.safetensors"
    path.write_bytes(payload_bytes(path, arrays))
    again = read_payload(path)
    assert isinstance(again, StoredArrays)
    assert again.source == str(path)
    assert payload_bytes(path, again) == path.read_bytes()
    with pytest.raises(
        DataError, match=f"^{path}: the stored tree ensemble lacks the array 'root'"
    ):
        TreeEnsemble.from_arrays(again)


def test_a_checkpoint_that_cannot_be_read_says_what_to_do(tmp_path):
    (tmp_path / "raw").write_text("a")
    job = Job("prepare_data", {"raw": tmp_path / "raw"}, {"t": tmp_path / "t.parquet"}, {}, {}, 0)
    Checkpoint(job).path.write_bytes(b"cut")
    with pytest.raises(DataError, match=r"safetensors: .*; remove it, and the step starts anew"):
        Checkpoint(job).load()


@pytest.mark.parametrize(
    ("name", "file", "suffix"),
    [
        ("classifier", "classifier.bin", ".safetensors"),
        ("classifier", "classifier.SAFETENSORS", ".safetensors"),
        ("classifier", "table.parquet", ".safetensors"),
        ("policy", "policy.json", ".safetensors or .py or .parquet"),
        ("graph", "graph.yaml", ".json"),
        ("graph", "classifier.safetensors", ".json"),
        ("table", "table.csv", ".parquet"),
    ],
)
def test_an_input_of_another_kind_is_one_sentence(tmp_path, name, file, suffix):
    names = (
        "table",
        "catalogue",
        "classifier",
        "masks",
        "graph",
        "identification",
        "imputed",
        "rounds",
    )
    kinds = {
        "classifier": ".safetensors",
        "catalogue": ".json",
        "graph": ".json",
        "identification": ".json",
    }
    inputs: dict[str, Any] = {n: tmp_path / f"{n}{kinds.get(n, '.parquet')}" for n in names}
    wrong = tmp_path / file
    wrong.write_bytes(b"x")
    outputs = {"decisions": tmp_path / "d.parquet"}
    job = Job("roll_out", inputs | {name: wrong}, outputs, {}, {}, 0)
    with pytest.raises(DataError) as caught:
        run_job(job)
    assert str(caught.value) == f"input {name!r} is {wrong}; roll_out takes a {suffix} file for it"
