"""`snakemake treatment` on tiny worlds and tables: run, audited, and the same twice."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from tests.studies.treatment.search_files import own_table
from tests.workflow.runs import ROOT, frugal, frugal_here, snakemake, unmatched

pytestmark = pytest.mark.workflow


def _own_table(folder: Path) -> Path:
    """A config with a table of one's own beside the tiny world."""
    sweep: dict[str, Any] = {"n_train": None, "planners": ["cdp", "cg", "ndp", "doctor"]}
    sweep |= {"outcome_models": ["smoothed"], "bounds": ["upper"], "deltas": [0.0, 0.4]}
    sweep |= {"trial_prices": [0.35, 0.6]}
    scenario = {"dataset": "own", "seeds": 2, "redraw_world": False, "grids": {"sweep": sweep}}
    config = {
        "datasets": {"own": own_table(folder).name},
        "treatment": {"scenarios": {"own": scenario}},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def _tiny(folder: Path) -> list[Path]:
    return [ROOT / "tests/workflow/tiny_search.yaml", _own_table(folder)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    done = snakemake(folder, "treatment", configs=_tiny(folder))
    assert done.returncode == 0, done.stdout[-3000:]
    return folder


def test_the_summary_and_figures_are_there(finished):
    summary = pd.read_parquet(finished / "results/summary/treatment.parquet")
    assert set(summary["dataset"]) == {"synthetic", "own"}
    assert summary["cpu_s"].notna().all()
    folder = finished / "results/figures/study=treatment"
    assert len(list(folder.rglob("*.png"))) == 6 + 5


def test_every_payload_has_a_manifest(finished):
    assert unmatched(finished) == set()


def test_the_audit_passes_and_finds_a_changed_byte(finished):
    look = ["--look-in", str(ROOT / "tests/workflow"), "--look-in", str(finished)]
    clean = frugal(finished, "audit", "results", "--sample", "1", *look)
    assert clean.returncode == 0, clean.stdout[-3000:]
    path = finished / "results/policies/dataset=own/policies.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    broken = frugal_here(finished, "audit", "results", "--sample", "0", *look)
    path.write_bytes(whole)
    assert broken.returncode != 0
    assert "policies.parquet" in broken.stdout


def test_nothing_is_left_to_do(finished):
    again = snakemake(finished, "-n", "treatment", configs=_tiny(finished))
    assert "Nothing to be done" in again.stdout
