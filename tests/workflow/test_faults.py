"""A killed job, Snakemake or process tree, a full disk: the next start ends with the same bytes.

The long version, with ten random moments, is .ci/check_faults.py.
"""

import os
import resource
import shutil
import subprocess
from pathlib import Path
from tempfile import gettempdir

import pytest

from tests.workflow import shared
from tests.workflow.faults import KINDS, Study, disturb, half_written, visible_files
from tests.workflow.runs import BIN, ROOT, TEN_LINES, TINY, frugal, plain_environment, snakemake

pytestmark = pytest.mark.workflow

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


@pytest.mark.parametrize(
    ("most", "what"),
    [(3000, "results/table.parquet"), (256, f"a temporary file in {gettempdir()}")],
)
def test_a_full_disk_is_one_sentence_and_what_was_there_stays(tmp_path, most, what):
    assert frugal(tmp_path, *PREPARE).returncode == 0
    before = visible_files(tmp_path)
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_results_folder_ends_the_run_before_it_begins(tmp_path):
    (tmp_path / "results").mkdir(mode=0o555)
    done = snakemake(tmp_path, "afape", configs=(TINY,))
    assert done.returncode != 0
    assert "Frugal cannot start: results/ cannot be written to" in done.stdout
    assert "Traceback" not in done.stdout
