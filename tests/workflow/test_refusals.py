"""Bad input through the real engine: one sentence, a non-zero exit, no results.

All others are refused in-process: `tests/malformed`, tests/studies/afape/test_afape_stages.py.
"""

from pathlib import Path

import pytest
import yaml

from tests.workflow import sentences
from tests.workflow.runs import ROOT, TEN_LINES, snakemake

pytestmark = pytest.mark.workflow

EXAMPLE = ROOT / "docs" / "examples"
TABLE = (EXAMPLE / "ten_lines.csv").read_text(encoding="utf-8")


def refused(folder: Path, start: str, *, table: str = TABLE, **config) -> str:
    """The one line that begins so, of one's own study with another table or config."""
    (folder / "ten_lines.csv").write_text(table, encoding="utf-8")
    described = folder / "ten_lines.yaml"
    described.write_text((EXAMPLE / described.name).read_text(encoding="utf-8"), encoding="utf-8")
    whole = yaml.safe_load(TEN_LINES.read_text(encoding="utf-8")) | config
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(whole | {"datasets": {"ten_lines": str(described)}}))
    done = snakemake(folder, "afape", configs=(path,))
    assert done.returncode != 0
    assert "Traceback" not in done.stdout
    assert not [path for path in (folder / "results").rglob("*") if path.is_file()]
    (sentence,) = [line for line in done.stdout.splitlines() if line.startswith(start)]
    return sentence


def test_snakemake_states_a_refusal_and_the_config_files(tmp_path):
    said = refused(tmp_path, "Frugal cannot start: ", recourse={"frequency_edges": [1, 5]})
    assert "config (study.yaml over config.yaml): recourse.frequency_edges is [1, 5]" in said


def test_a_missing_column_is_shown_on_the_terminal_of_a_run(tmp_path):
    table = TABLE.replace("troponin", "troponin_t", 1)
    said = refused(tmp_path, "frugal prepare_data: ", table=table)
    assert said.startswith(sentences.missing_column(tmp_path / "ten_lines.yaml"))
