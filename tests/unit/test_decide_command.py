"""`frugal decide TABLE`: one command from a file to an answer, which is whole or not there."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import frugal
import pandas as pd
import pytest
import yaml
from frugal.core.declarations import PROJECT
from frugal.core.errors import ConfigError, DataError
from frugal.library import chain
from frugal.library import decide_command as command
from frugal.run.overview import start

TERMS = ["--label", "pneumonia", "--free", "age,sex,temperature,ward", "--prices"]
TERMS += ["crp=4,procalcitonin=20,lactate=6,xray=45", "--errors", "missed=600,false_alarm=150"]
FEW = ["never", "always"]


@pytest.fixture
def visits(tmp_path, monkeypatch):
    """The table in a folder of its own, and few policies, so that it takes little time."""
    shutil.copy(PROJECT / "docs/examples/clinic.csv", tmp_path / "visits.csv")
    monkeypatch.chdir(tmp_path)
    from frugal.library import verbs

    decide = verbs.decide
    monkeypatch.setattr(verbs, "decide", lambda table, **more: decide(table, agents=FEW, **more))
    return tmp_path


def test_a_file_becomes_a_folder_with_the_answer(visits, capsys):
    assert command.decide_command(["visits.csv", *TERMS]) == 0
    folder = visits / "visits_answer"
    shown = capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == [
        "answer.html",
        "answer.json",
        "policy",
        "verdict.txt",
        "visits.yaml",
    ]
    assert shown.endswith((folder / "verdict.txt").read_text())
    assert "advise visits_answer/policy cases.csv" in shown
    assert "left out: patient: numbers the rows" in shown
    answer = frugal.load_answer(folder)
    assert str(answer) == answer.summary()
    cases = pd.read_csv("visits.csv", dtype=str).head(5)
    assert set(answer.best.next(cases)) <= {"crp", "procalcitonin", "lactate", "xray", "stop"}
    assert answer.to_html() == (folder / "answer.html").read_text()
    assert "advise visits_answer/policy cases.csv" in answer.to_html()
    assert "results/decide" not in answer.to_html()
    again = frugal.decide(folder / "visits.yaml", agents=FEW)  # the YAML repeats it
    assert again.document["cost"] == answer.document["cost"]
    assert command.decide_command([str(folder / "visits.yaml"), "--into", "second"]) == 0
    assert frugal.load_answer("second").document["cost"] == answer.document["cost"]
    frame = pd.read_csv("visits.csv").drop(columns="patient")
    prices = {"crp": 4, "procalcitonin": 20, "lactate": 6, "xray": 45}
    errors = {"missed": 600, "false_alarm": 150}
    free = ["age", "sex", "temperature", "ward"]
    ours = frugal.decide(frame, "pneumonia", prices=prices, errors=errors, free=free, agents=FEW)
    assert ours.document["cost"] == answer.document["cost"]
    assert ours.document["policy"] == answer.document["policy"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["visits.csv"], r"--label names the column to predict in visits\.csv; its columns are"),
        (["visits.csv", *TERMS[:2]], r"--prices lacks 'age'.*; --errors lacks 'missed'"),
        (
            ["visits.csv", *TERMS[:6]],
            r"--errors lacks 'missed', 'false alarm' .*; allowed is a numb",
        ),
        (["visits.csv", "--label", "pneumona"], "pneumona"),
        (["visit.csv", *TERMS], r"there is no file visit\.csv"),
        (["visits.csv", *TERMS, "--sensitive", "gender"], "gender"),
        (["visits.yaml", *TERMS], r"--label describes a table's file; visits\.yaml states it"),
        (["visits.csv", *TERMS, "--into", "visits.csv"], "is there already"),
        (["visits.csv", *TERMS, "--most-missed", "2"], "--most-missed is 2"),
    ],
)
def test_a_refusal_leaves_nothing(visits, words, sentence):
    before = sorted(path.name for path in visits.iterdir())
    with pytest.raises((ConfigError, DataError), match=sentence):
        command.decide_command(words)
    assert sorted(path.name for path in visits.iterdir()) == before


def test_help_names_no_flag_that_is_refused(visits, capsys):
    with pytest.raises(SystemExit):
        command.decide_command(["--help"])
    shown = capsys.readouterr().out
    assert "--objective {cost,f1}" in shown
    for flag in ("--hours", "--units", "--columns", "--out"):
        assert f"{flag} " not in shown
        with pytest.raises(SystemExit):
            command.decide_command(["visits.csv", *TERMS, flag, "3"])


def test_an_interrupt_leaves_nothing(visits, monkeypatch):
    from frugal.library import kept_answers

    def interrupted(*arguments, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(kept_answers, "replace_files", interrupted)
    with pytest.raises(KeyboardInterrupt):
        command.decide_command(["visits.csv", *TERMS])
    assert [path.name for path in visits.iterdir()] == ["visits.csv"]


class Bar:
    """One bar, as tqdm has it, that counts."""

    def __init__(self, total, **_):
        self.total, self.n, self.names = total, 0, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def update(self):
        self.n += 1

    def set_description_str(self, name):
        self.names.append(name)


def test_one_bar_counts_all_stages(visits, monkeypatch):
    bars, real = [], chain.progress_of

    def shown(stage):
        return (lambda **how: bars.append(Bar(**how)) or bars[0]) if not stage else real(stage)

    monkeypatch.setattr(chain, "progress_of", shown)
    command.decide_command(["visits.csv", *TERMS])
    (bar,) = bars
    assert bar.n == bar.total == len(bar.names)
    assert bar.names[0] == "prepare data"
    assert bar.names.count("learn candidates") == 5


def test_an_answer_is_not_written_over_and_an_edited_one_is_refused(visits):
    command.decide_command(["visits.csv", *TERMS])
    with pytest.raises(DataError, match="visits_answer is there already"):
        command.decide_command(["visits.csv", *TERMS])
    path = visits / "visits_answer" / "answer.json"
    path.write_text(path.read_text().replace('"margin": 0.05', '"margin": 0.5'))
    with pytest.raises(DataError, match="decide again in place of editing it"):
        frugal.load_answer("visits_answer")
    with pytest.raises(DataError, match=r"is no folder of an answer: that holds answer\.json"):
        frugal.load_answer(visits)


def test_alone_it_says_what_can_be_done_and_its_version():
    lines = start().split("\n")
    assert len(lines) == 10
    assert all(len(line) <= 100 for line in lines)
    done = subprocess.run(
        [sys.executable, "-m", "frugal", "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"frugal {frugal.__version__}\n")
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    cited = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {project["project"]["version"], str(cited["version"])} == {frugal.__version__}


def test_snakemake_is_not_imported():
    code = (
        "import sys, frugal.library.decide_command, frugal.library.kept_answers;"
        "print([name for name in sys.modules if name.startswith('snakemake')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert Path(command.__file__).is_file()
