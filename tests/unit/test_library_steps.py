"""The library starts the very jobs that Snakemake would: same inputs, settings and seeds."""

import shlex
from pathlib import Path

import pytest
import yaml
from frugal.library.asked import ask
from frugal.library.making import answer_targets, commands
from frugal.library.steps import STEPS

from tests.workflow.runs import ROOT, snakemake

CLINIC = ROOT / "docs" / "examples" / "clinic.yaml"
SECOND = ROOT / "config" / "policies" / "second_look.py"
OVER = {
    "seed": 3,
    "afape": {
        "agents": {
            "second": {"kind": "python", "file": str(SECOND), "function": "choose"},
            "lattice": None,
            "dqn": {"transitions": 5000},
        },
        "figures": {"frequency_agent": "cascade"},
    },
}


def printed(folder: Path, *configs: Path) -> list[list[str]]:
    """The words after `python -m frugal` of every job of a dry run."""
    words = ("decide", "-n", "-p", "--config", f"table={CLINIC}")
    said = snakemake(folder, *words, configs=configs).stdout
    start = "Shell command: python -m frugal "
    lines = [line.removeprefix(start) for line in said.splitlines() if line.startswith(start)]
    return [shlex.split(line.partition(" --used ")[0]) for line in lines]


@pytest.mark.parametrize("over", [{}, OVER], ids=["plain", "overlay"])
def test_every_job_is_the_one_that_snakemake_would_start(tmp_path, over):
    overlay = tmp_path / "over.yaml"
    overlay.write_text(yaml.safe_dump(over, sort_keys=False))
    asked = ask(CLINIC, tmp_path / "own", overlay, cores=1)
    own = commands(asked, answer_targets(asked))
    assert {words[0] for words in own} == set(STEPS)
    assert sorted(own) == sorted(printed(tmp_path / "theirs", *([overlay] if over else [])))
