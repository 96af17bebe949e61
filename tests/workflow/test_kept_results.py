"""What a step has made is there until what replaces it is complete, however the step ends.

The long version, with ten steps and more moments, is .ci/check_faults.py.
"""

import json
import os
import shutil

import pytest
from frugal.results.files import json_bytes, seal

from tests.workflow import shared
from tests.workflow.reruns import (
    fill_disk,
    finished,
    finished_steps,
    kill_in_write,
    refuse_input,
    run_to_its_end,
    start_only,
)
from tests.workflow.runs import ROOT, TEN_LINES, frugal, snakemake
from tests.workflow.shared import MASKS as TARGET

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def run(runs, tmp_path_factory):
    """The ten lines up to their masks, and what these would be under another seed."""
    plain = shared.finished("masks", runs).folder
    folder = shutil.copytree(plain, tmp_path_factory.mktemp("kept") / "plain")
    (step,) = [s for s in finished_steps(folder) if s.stage == "draw_missingness"]
    return finished(folder, (TEN_LINES,), step)


def test_a_step_whose_input_is_refused_leaves_what_was_there_and_is_run_again(run, tmp_path):
    mine = run.copy(tmp_path / "run")
    refuse_input(mine)
    assert mine.state() == "old"
    # not forced: Snakemake must not take the old files for those of the new parameters
    done = snakemake(mine.folder, TARGET, "-n", "--config", "seed=7", configs=(TEN_LINES,))
    assert "draw_missingness" in done.stdout
    run_to_its_end(mine)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_step_on_a_full_disk_leaves_what_was_there(run, tmp_path):
    mine = run.copy(tmp_path / "run")
    fill_disk(mine)
    assert mine.state() == "old"


def test_a_step_that_is_killed_leaves_all_old_or_all_new(run, tmp_path):
    mine = run.copy(tmp_path / "run")
    for _ in range(6):  # a write that is shorter than a glance may be missed
        met = kill_in_write(mine)
        start_only(mine)
        if met:
            break
    assert met
    assert mine.state() in ("old", "new")
    run_to_its_end(mine)


def test_a_missing_sidecar_and_another_lock_are_said_at_the_start(run, tmp_path):
    """Strict runs the steps of another lock again; the audit names the missing file."""
    mine = run.copy(tmp_path / "run")
    for path in (mine.folder / "results/steps").glob("*.json"):
        receipt = json.loads(path.read_text()) | {"environment": "0" * 64}
        path.write_bytes(json_bytes(receipt | {"seal": seal(receipt)}))
    plain = snakemake(mine.folder, TARGET, "-n", configs=(TEN_LINES,))
    assert "files were made under another requirements.lock" in plain.stdout
    assert "Nothing to be done" in plain.stdout
    gone = "results/data/dataset=ten_lines/_table.parquet.json"
    (mine.folder / gone).unlink()
    strict = snakemake(
        mine.folder, TARGET, "-n", "--config", "environment=strict", configs=(TEN_LINES,)
    )
    assert f"1 files of finished steps are missing, first {gone}" in strict.stdout
    assert "made again where they are asked for" in strict.stdout
    assert "prepare_data" in strict.stdout
    assert "draw_missingness" in strict.stdout
    audit = frugal(mine.folder, "audit", "--look-in", str(ROOT / "docs/examples"))
    assert audit.returncode != 0
    assert gone in audit.stdout
