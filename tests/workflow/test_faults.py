"""A killed job, Snakemake or process tree, a full disk: the next start ends with the same bytes.

Steps that run again over finished results, and are refused, killed or find no room, are shown by
.ci/check_faults.py, which also has more random moments.
"""

import json
import os
import resource
import shutil
import subprocess
from pathlib import Path
from tempfile import gettempdir

import pytest

from tests.unit.result_chains import seal_anew
from tests.workflow import shared
from tests.workflow.faults import KINDS, Study, disturb, half_written, visible_files
from tests.workflow.runs import BIN, ROOT, TEN_LINES, TINY, plain_environment, snakemake
from tests.workflow.runs import frugal_here as frugal

pytestmark = pytest.mark.workflow

TEMPORARY = gettempdir()
PREPARE = ["prepare_data", "--seed", "0"]
PREPARE += ["--input", f"description={ROOT / 'docs/examples/ten_lines.yaml'}"]
PREPARE += ["--input", f"raw_0={ROOT / 'docs/examples/ten_lines.csv'}"]
PREPARE += ["--output", "table=results/table.parquet", "--output", "catalogue=results/c.json"]


@pytest.fixture(scope="module")
def study(runs, tmp_path_factory):
    """The ten lines up to their masks, ended once without disturbance."""
    plain = shared.finished("masks", runs).folder
    folder = tmp_path_factory.mktemp("faults") / "run"
    return Study(folder, (TEN_LINES,), shared.MASKS, visible_files(plain))


def test_what_is_killed_is_taken_up_again_and_ends_with_the_same_bytes(study):
    study.folder.mkdir()
    hits = disturb(study, kinds=KINDS, moments_s=(0.0, 4.0, 5.0), seed=0)
    assert hits >= 1  # on a fast machine a late kill may find the run ended


def test_the_check_of_the_check_sees_a_half_written_file(study, runs, tmp_path):
    folder = shutil.copytree(shared.finished("masks", runs).folder, tmp_path / "copy")
    path = next(p for p in sorted((folder / "results").rglob("*.parquet")))
    path.write_bytes(path.read_bytes()[:-1])
    copy = Study(folder, study.configs, study.target, study.expected)
    assert half_written(copy) == [path.relative_to(folder).as_posix()]


def limited(folder: Path, *words: str, most: int) -> subprocess.CompletedProcess[str]:
    """`python -m frugal` where no file may have more bytes, as on a disk that is full."""
    return subprocess.run(
        [str(BIN / "python"), "-m", "frugal", *words],
        cwd=folder,
        env=plain_environment() | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )


def test_a_full_disk_is_one_sentence_and_what_was_there_stays(tmp_path):
    assert frugal(tmp_path, *PREPARE).returncode == 0
    before = visible_files(tmp_path)
    for most, what in ((3000, "results/table.parquet"), (256, f"a temporary file in {TEMPORARY}")):
        done = limited(tmp_path, *PREPARE, most=most)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("frugal prepare_data: ")
        assert f"{what} cannot be written: " in done.stderr
        assert visible_files(tmp_path) == before
        assert not [p for p in (tmp_path / "results").iterdir() if p.name.startswith(".")]


def test_a_results_folder_that_cannot_be_written_to_is_one_sentence(tmp_path):
    (tmp_path / "results").write_text("a file where a folder should be")
    done = frugal(tmp_path, *PREPARE)
    assert done.returncode == 2
    assert done.stdout.startswith("frugal prepare_data: results/table.parquet cannot be written: ")
    assert done.stdout.count("\n") == 1


def test_a_missing_file_and_another_lock_are_stated_at_the_start(runs, tmp_path):
    """Strict runs the steps of another lock again; the audit names the missing file."""
    mine = shutil.copytree(shared.finished("masks", runs).folder, tmp_path / "run")
    for path in (mine / "results/steps").rglob("*.json"):
        seal_anew(path, json.loads(path.read_text()) | {"environment": "0" * 64})
    plain = snakemake(mine, shared.MASKS, "-n", configs=(TEN_LINES,))
    assert "files were made under another requirements.lock" in plain.stdout
    assert "Nothing to be done" in plain.stdout
    gone = "results/data/dataset=ten_lines/catalogue.json"
    (mine / gone).unlink()
    strict = snakemake(
        mine, shared.MASKS, "-n", "--config", "environment=strict", configs=(TEN_LINES,)
    )
    assert f"1 files of finished steps are missing, first {gone}" in strict.stdout
    assert "made again where they are requested" in strict.stdout
    assert "prepare_data" in strict.stdout
    assert "draw_missingness" in strict.stdout
    audit = frugal(mine, "audit", "--look-in", str(ROOT / "docs/examples"))
    assert audit.returncode != 0
    assert gone in audit.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_results_folder_ends_the_run_before_it_begins(tmp_path):
    (tmp_path / "results").mkdir(mode=0o555)
    done = snakemake(tmp_path, "afape", configs=(TINY,))
    assert done.returncode != 0
    assert "Frugal cannot start: results/ cannot be written to" in done.stdout
    assert "Traceback" not in done.stdout
