"""Whatever is changed in the results of a real run, the audit names it and does not pass."""

import shutil
from pathlib import Path

import pytest

from tests.workflow.runs import frugal_here

pytestmark = pytest.mark.workflow

SCENARIO = Path("dataset=tiny_world/mechanism=mnar")
SUMMARY = Path("results/summary/afape.parquet")
FIGURE = Path("results/figures") / SCENARIO / "trust.png"
HALF = Path("results/rollouts") / SCENARIO / "agent=half/blocked.parquet"
ALWAYS = Path("results/rollouts") / SCENARIO / "agent=always/blocked.parquet"


@pytest.fixture
def folder(tiny_run, tmp_path):
    shutil.copytree(tiny_run.folder / "results", tmp_path / "results")
    return tmp_path


def sidecar(path):
    return path.with_name(f"_{path.name}.json")


def flip_byte(folder):
    content = bytearray((folder / FIGURE).read_bytes())
    content[100] ^= 1
    (folder / FIGURE).write_bytes(bytes(content))
    return FIGURE


def edit_sidecar(folder):
    path = folder / sidecar(SUMMARY)
    path.write_text(path.read_text().replace('"seed": 20230501', '"seed": 20230502'))
    return sidecar(SUMMARY)


def remove_payload(folder):
    (folder / HALF).unlink()
    return HALF


def remove_both(folder):
    (folder / FIGURE).unlink()
    (folder / sidecar(FIGURE)).unlink()
    return FIGURE


def swap_payloads(folder):
    content = (folder / HALF).read_bytes(), (folder / ALWAYS).read_bytes()
    (folder / ALWAYS).write_bytes(content[0])
    (folder / HALF).write_bytes(content[1])
    return ALWAYS


def swap_with_sidecars(folder):
    swap_payloads(folder)
    half, always = folder / sidecar(HALF), folder / sidecar(ALWAYS)
    content = half.read_bytes(), always.read_bytes()
    always.write_bytes(content[0])
    half.write_bytes(content[1])
    return ALWAYS


@pytest.mark.parametrize(
    "change",
    [flip_byte, edit_sidecar, remove_payload, remove_both, swap_payloads, swap_with_sidecars],
)
def test_a_change_is_named(folder, change):
    path = change(folder)
    done = frugal_here(folder, "audit", "--sample", "0")
    assert done.returncode != 0
    assert f"{path}: " in done.stdout
    assert "Traceback" not in done.stdout


def test_an_untouched_copy_passes(folder):
    done = frugal_here(folder, "audit", "--sample", "0")
    assert done.returncode == 0, done.stdout


def test_a_number_can_be_followed_back_to_the_description(folder):
    done = frugal_here(folder, "audit", str(SUMMARY), "--sample", "0")
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert lines[0].startswith(str(SUMMARY))
    assert any(line.strip().startswith("tiny_world.yaml  sha256") for line in lines)
    assert any(f"{HALF}  sha256" in line for line in lines)
