"""The library starts the very jobs that Snakemake would: same inputs, settings and seeds."""

import shlex
import sys
from pathlib import Path

import pytest
import yaml
from frugal.library.asked import ask
from frugal.library.making import answer_targets, commands
from frugal.library.steps import STEPS

from tests.workflow.runs import ROOT, run, snakemake

CLINIC = ROOT / "docs" / "examples" / "clinic.yaml"
SECOND = ROOT / "config" / "policies" / "second_look.py"
OVER = {
    "seed": 3,
    "afape": {
        "agents": {
            "second": {"kind": "python", "file": str(SECOND), "function": "choose"},
            "permutation": None,
            "cascade": {"sets": 8},
        },
    },
}


def printed(folder: Path, target: str, *configs: Path) -> list[list[str]]:
    """The words after `python -m frugal` of every job of a dry run."""
    words = (target, "-n", "-p", "--config", f"table={CLINIC}")
    said = snakemake(folder, *words, configs=configs).stdout
    start = "Shell command: python -m frugal "
    lines = [line.removeprefix(start) for line in said.splitlines() if line.startswith(start)]
    return [shlex.split(line.partition(" --used ")[0]) for line in lines]


@pytest.mark.parametrize("over", [{}, OVER], ids=["plain", "overlay"])
def test_every_job_is_the_one_that_snakemake_would_start(tmp_path, over):
    overlay = tmp_path / "over.yaml"
    overlay.write_text(yaml.safe_dump(over, sort_keys=False))
    asked = ask(CLINIC, tmp_path / "both", overlay, cores=1)
    configs = [overlay] if over else []
    stages = set()
    for target, needed in (
        ("decide", answer_targets(asked)),
        ("results/summary/verdict.txt", [("give_verdicts", asked.keys)]),
    ):
        own = commands(asked, needed)
        assert sorted(own) == sorted(printed(tmp_path / "both", target, *configs))
        stages |= {words[0] for words in own}
    assert stages == set(STEPS)


WRONG = {
    "load(None)": "the table is None; allowed is the path of a YAML",
    "decide({})": "the table is a dict",
    "load(CLINIC, folder={})": "folder is a dict; allowed is a path, or None",
    "load(CLINIC, folder='/dev/null/x')": "table.yaml cannot be written: Not a directory",
    "load(CLINIC, config=[])": "config is a list; allowed is keys",
    "missingness(pd.DataFrame({'a': ['secret']}))": "table is a DataFrame; allowed is what load",
    "train(None, 'dqn')": "masks is None",
    "roll_out({})": "policy is a dict",
    "evaluate(None)": "policies is None",
    "evaluate([None])": "a policy is None; allowed is what train",
    "verdict({})": "answer is a dict",
    "advise(None, 'new.csv')": "policy is None",
    "advise(frugal.StoredPolicy(CLINIC), None)": "cases is None; allowed is a data frame",
    "load_policy({})": "folder is a dict",
    "load_policy(CLINIC, function=5)": "function is a int; allowed is the path",
    "missingness(object.__new__(frugal.Table), 'secret')": "law is a str; allowed is keys, or",
    "decide(CLINIC, agents=5)": "agents is a int; allowed is names",
}


def test_an_argument_of_another_type_is_refused_in_a_sentence():
    """In a Python of its own: here beartype would refuse it first."""
    program = f"import pandas as pd, frugal\nCLINIC = {str(CLINIC)!r}\n"
    for call in WRONG:
        program += f"try:\n    frugal.{call}\nexcept ValueError as error:\n    print(error)\n"
    done = run([sys.executable, "-c", program], ROOT)
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    for line, part in zip(lines, WRONG.values(), strict=True):
        assert part in line
    assert "secret" not in done.stdout
