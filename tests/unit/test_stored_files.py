"""Files of stored arrays whose header lies, is huge, or whose name promises another kind."""

from typing import Any

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.core.stored import StoredArrays
from frugal.learn.trees import TreeEnsemble
from frugal.results.files import payload_bytes, read_payload
from frugal.results.manifests import Checkpoint, Job
from frugal.run.stage_command import run_job


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
    names = ("table", "catalogue", "classifier", "masks", "graph", "identification", "imputed")
    names += ("rounds",)
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
