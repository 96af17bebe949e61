"""A step that is killed goes on from its checkpoint, which no other step ever takes up."""

from pathlib import Path

import numpy as np
import pytest
from frugal.results.manifests import Checkpoint, Job


def job(folder: Path, **changes) -> Job:
    raw = folder / "raw.txt"
    raw.write_text(changes.pop("raw", "a"))
    settings = changes.pop("settings", {"x": 1})
    return Job("prepare_data", {"raw": raw}, {"table": folder / "table.parquet"}, settings, {}, 0)


def test_what_was_saved_last_is_taken_up_and_then_gone(tmp_path):
    kept = Checkpoint(job(tmp_path))
    assert kept.load() is None
    kept.save({"weights": np.arange(3.0), "step": np.array(1)})
    kept.save({"weights": np.arange(4.0), "step": np.array(2)})
    again = Checkpoint(job(tmp_path)).load()
    assert again is not None
    assert again["weights"].tolist() == [0, 1, 2, 3]
    assert again["step"] == 2
    assert again["step"].shape == ()
    kept.remove()
    assert Checkpoint(job(tmp_path)).load() is None
    assert [p.name for p in tmp_path.iterdir()] == ["raw.txt"]


@pytest.mark.parametrize("changes", [{"settings": {"x": 2}}, {"raw": "b"}])
def test_another_job_does_not_take_it_up_but_clears_it_away(tmp_path, changes):
    Checkpoint(job(tmp_path)).save({"step": np.array(1)})
    other = Checkpoint(job(tmp_path, **changes))
    assert other.load() is None
    other.remove()
    assert [p.name for p in tmp_path.iterdir()] == ["raw.txt"]


def test_it_is_hidden_so_that_the_audit_needs_no_manifest_of_it(tmp_path):
    path = Checkpoint(job(tmp_path)).path
    assert path.name.startswith(".")
    assert path.parent == tmp_path
