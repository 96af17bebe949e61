"""Attempts to run a command, to leave the folder or to lose a result that need a real Snakemake.

Those that need none stand in tests/unit/test_attacks.py and test_attacked_results.py.
"""

import json
import shlex
import shutil
from pathlib import Path

import pytest
from frugal.results.manifests import load_record

from tests.unit.result_chains import forge
from tests.workflow import shared
from tests.workflow.runs import BIN, TEN_LINES, printed_command, run, snakemake

pytestmark = pytest.mark.workflow

TABLE = "results/data/dataset=ten_lines/table.parquet"
OTHER = "files that were made with another seed, settings, code or inputs than there are now"


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The ten lines as a table, made in a folder full of Python files; and what was said."""
    folder = tmp_path_factory.mktemp("attacked") / "plain"
    folder.mkdir()
    for name in ("numpy", "pandas", "json", "runpy", "contextlib", "frugal", "sitecustomize"):
        (folder / f"{name}.py").write_text("open('PWNED', 'w')\n")
    said = snakemake(folder, TABLE, configs=(TEN_LINES,), fresh=True)
    assert said.returncode == 0, said.stdout[-3000:]
    return folder, said.stdout


def started(folder, *words, target=TABLE):
    """A dry start, and what it says."""
    said = snakemake(folder, target, "-n", *words, configs=(TEN_LINES,))
    assert "Traceback" not in said.stdout
    return said.stdout


def test_no_job_imports_what_lies_in_the_working_folder(done):
    folder, _ = done
    assert (folder / TABLE).is_file()
    assert not (folder / "PWNED").exists()


def test_results_whose_notes_are_gone_are_not_taken_for_those_of_another_config(done, tmp_path):
    mine = shutil.copytree(done[0], tmp_path / "run")
    shutil.rmtree(mine / ".snakemake")
    said = started(mine, "--config", "seed=7")
    assert f"1 steps have {OTHER}, first {TABLE}" in said
    assert "rule prepare_data" in said


def test_what_was_made_by_other_code_or_of_another_file_is_made_again(runs, tmp_path):
    """Where no notes of Snakemake are there, and where the other file has an older time."""
    mine = shutil.copytree(shared.finished("masks", runs).folder, tmp_path / "run")
    for key, result in (("inputs", TABLE), ("source", shared.MASKS)):
        inputs = load_record(Path(result), mine)["inputs"]
        other = [record | {"sha256": "0" * 64} for record in inputs]
        forge(Path(result), mine, **{key: {"source": "0" * 64, "inputs": other}[key]})
    shutil.rmtree(mine / ".snakemake")
    said = started(mine, target=shared.MASKS)
    assert f"2 steps have {OTHER}, first " in said
    assert "rule prepare_data" in said
    assert "rule draw_missingness" in said


def test_a_step_that_was_run_by_hand_with_another_seed_is_run_again(done, tmp_path):
    mine = shutil.copytree(done[0], tmp_path / "run")
    words = shlex.split(printed_command(done[1], "python -m frugal prepare_data").split(" 2> ")[0])
    words[words.index("--seed") + 1] = "7"
    by_hand = run([str(BIN / "python"), "-P", *words[1:]], mine)
    assert by_hand.returncode == 0, by_hand.stdout
    assert f"1 steps have {OTHER}, first {TABLE}" in started(mine)


def test_a_step_that_failed_is_never_noted_as_made_with_what_it_failed_with(done, tmp_path):
    """Else a kill, or a full disk, a moment later would leave old files under new parameters."""
    mine = shutil.copytree(done[0], tmp_path / "run")

    def notes():
        paths = (mine / ".snakemake/metadata").iterdir()
        return {p.name: p.read_text() for p in paths}

    before, table = notes(), (mine / TABLE).read_bytes()
    assert all(json.loads(note)["params"] for note in before.values())
    (mine / ".numba_config.yaml").write_text("cache_dir: .\n")  # for which every step is refused
    said = snakemake(mine, TABLE, "--config", "seed=7", configs=(TEN_LINES,))
    assert said.returncode != 0
    assert "numba" in said.stdout
    assert notes() == before
    assert (mine / TABLE).read_bytes() == table
    assert len([*(mine / ".snakemake/incomplete").iterdir()]) == len(before)


def test_a_run_does_not_start_where_a_log_would_be_written_elsewhere(done, tmp_path):
    mine = shutil.copytree(done[0], tmp_path / "run")
    (tmp_path / "victim").mkdir()
    shutil.rmtree(mine / "logs")
    (mine / "logs").mkdir()
    (mine / "logs/prepare_data").symlink_to(tmp_path / "victim")
    said = started(mine)
    assert "Frugal cannot start: logs/prepare_data is a link to" in said
    assert not [*(tmp_path / "victim").iterdir()]
