"""`snakemake dadi` on a few loans: run, audited, the same twice, and killed on the way."""

import contextlib
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest
from safetensors.numpy import load_file

from tests.workflow.runs import (
    BIN,
    ROOT,
    frugal,
    frugal_here,
    jobs,
    payloads,
    plain_environment,
    snakemake,
    unmatched,
)

pytestmark = [pytest.mark.workflow, pytest.mark.trains]
TINY = (ROOT / "tests/workflow/tiny_dadi.yaml",)
WEIGHTS = "results/agents/dataset=telling_loans/fold=0/weights.safetensors"


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("dadi")
    done = snakemake(folder, "dadi", configs=TINY)
    assert done.returncode == 0, done.stdout[-4000:]
    return folder, done.stdout


def test_summary_and_figures_are_there(finished):
    folder, _ = finished
    summary = pd.read_parquet(folder / "results/summary/dadi.parquet")
    assert set(summary["fold"]) == {0, 1}
    assert summary["auc"].between(0, 1).all()
    figures = folder / "results/figures/study=dadi/dataset=telling_loans"
    assert len(list(figures.glob("*.png"))) == 4


def test_every_payload_has_a_manifest_and_no_checkpoint_is_left(finished):
    assert unmatched(finished[0]) == set()


def test_the_audit_passes_and_finds_a_changed_byte(finished):
    folder, _ = finished
    look = ["--look-in", str(ROOT / "config/datasets")]
    clean = frugal(folder, "audit", "results", "--sample", "1", *look)
    assert clean.returncode == 0, clean.stdout[-3000:]
    path = folder / WEIGHTS
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    broken = frugal_here(folder, "audit", "results", "--sample", "0", *look)
    path.write_bytes(whole)
    assert broken.returncode != 0
    assert "weights.safetensors" in broken.stdout


def test_another_threshold_repeats_no_training(finished):
    folder, _ = finished
    overlay = folder / "threshold.yaml"
    overlay.write_text("dadi: {threshold: 0.4}\n")
    planned = jobs(snakemake(folder, "-n", "dadi", configs=(*TINY, overlay)).stdout)
    assert "score_dadi" in planned
    assert not planned.keys() & {"prepare_data", "train_dadi"}


def _iterations_done(folder: Path) -> int:
    """Of the checkpoint in a folder; 0 without one, as when the next has just replaced it."""
    with contextlib.suppress(FileNotFoundError):
        for path in folder.glob(".weights*checkpoint-*.safetensors"):
            return int(load_file(path)["iteration"])
    return 0


def test_a_killed_training_goes_on_and_ends_with_the_same_bytes(finished, tmp_path):
    """The printed command, killed after some iterations and run again, in a folder of its own."""
    folder, said = finished
    (tmp_path / "results/steps").mkdir(parents=True)
    for name in ("results/data", "results/steps/data"):
        (tmp_path / name).symlink_to(folder / name)
    start = "Shell command: python -m frugal train_dadi "
    command = next(
        line.removeprefix("Shell command: ").split(" 2> ")[0]
        for line in said.splitlines()
        if line.startswith(start) and "fold=0" in line
    )
    words = [str(BIN / "python"), *shlex.split(command)[1:]]
    target = tmp_path / WEIGHTS
    for _ in range(5):  # on a busy machine it may end before it is killed
        shutil.rmtree(target.parent, ignore_errors=True)
        running = subprocess.Popen(
            words, cwd=tmp_path, env=plain_environment(), stderr=subprocess.DEVNULL
        )
        while running.poll() is None and not _iterations_done(target.parent):
            time.sleep(0.002)
        running.kill()
        running.wait()
        if not target.exists():
            break
    assert not target.exists()
    assert _iterations_done(target.parent)
    again = subprocess.run(words, cwd=tmp_path, env=plain_environment(), capture_output=True)
    assert again.returncode == 0, again.stderr[-2000:]
    made, wanted = payloads(tmp_path), payloads(folder)
    names = [name for name in made if name.startswith(("results/agents", "results/steps/agents"))]
    assert f"{WEIGHTS}" in names
    for name in names:
        assert made[name] == wanted[name], name
