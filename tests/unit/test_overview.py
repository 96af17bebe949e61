"""`python -m frugal --help` names what there is: commands, targets and stages."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from frugal.__main__ import main
from frugal.results.sources import STAGES
from frugal.run.overview import REST, TARGETS, USED_FIRST, study_commands
from frugal.run.stage_command import COMMANDS

ROOT = Path(__file__).parents[2]


def test_a_reader_who_stops_early_ends_the_command_without_a_message():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "frugal", "--help"], stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("words", "started", "program"),
    [
        (["help"], "frugal/__main__.py", "python -m frugal"),
        (["--help"], "bin/frugal", "  frugal"),
        (["-h"], "frugal.exe", "  frugal"),
    ],
)
def test_what_people_use_first_comes_first(capsys, monkeypatch, words, started, program):
    monkeypatch.setattr(sys, "argv", [started])
    assert main(words) == 0
    said = capsys.readouterr().out
    assert f"{program} decide" in said
    assert said.index(" decide ") < said.index(" init ") < said.index(" compile ")
    assert all(stage in said for stage in STAGES)
    assert max(map(len, said.splitlines())) <= 110


def test_every_command_is_named_once_and_there():
    named = [
        name.split()[0] for name in (*USED_FIRST, *study_commands(), *REST) if name[0].islower()
    ]
    assert sorted([*named, "plan"]) == sorted(COMMANDS)
    for name, module in COMMANDS.items():
        assert callable(getattr(import_module(f"frugal.{module}"), f"{name}_command"))
    rules = "".join(
        path.read_text()
        for path in [*ROOT.glob("workflow/rules/*.smk"), ROOT / "workflow" / "Snakefile"]
    )
    targets = [word for name in TARGETS for word in name.split(" --")[0].split()]
    assert all(f"rule {target}:" in rules for target in targets)
