"""The checks of `.ci/`: all are run and described, begin anywhere, expect what the code says."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from frugal.__main__ import main

from tests.workflow import sentences

ROOT = Path(__file__).parents[2]
CI = ROOT / ".ci"
CHECKS = sorted(path.name for path in CI.glob("check_*.py"))


def run(*words, folder, **variables):
    """A command in a folder; stdout and stderr together."""
    return subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def bare_python(script, *words, folder, **variables):
    """A check under a Python that has nothing but its standard library."""
    return run(sys.executable, "-S", "-E", script, *words, folder=folder, **variables)


@pytest.fixture
def clone(tmp_path):
    """The checks in a clone in which `make env` has not been called."""
    shutil.copytree(CI, tmp_path / ".ci", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.fixture
def write_program(tmp_path):
    """Write a small program of the shell."""

    def write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    return write


def test_there_are_checks():
    assert {"check_conda.py", "check_faults.py", "check_slurm.py"} <= {*CHECKS}


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_is_described_with_its_words(name):
    page = (ROOT / "docs/how-to/cluster.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `\.ci/{name} FOLDER`", page, flags=re.MULTILINE)


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_says_how_it_is_used_without_any_environment(name, clone):
    assert os.access(CI / name, os.X_OK)
    assert (CI / name).read_text(encoding="utf-8").startswith("#!/usr/bin/env python3\n")
    done = bare_python(clone / ".ci" / name, "--help", folder=clone)
    assert done.returncode == 0, done.stdout
    assert f"Usage: .ci/{name} [--short] FOLDER" in done.stdout
    assert "With --short" in done.stdout


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_makes_the_environment_and_goes_on_in_it(name, clone, write_program):
    write_program(clone / "python", 'echo "goes on: $*"')
    recipe = "mkdir -p .venv/bin && cp python .venv/bin/python && touch .venv/.ready"
    (clone / "Makefile").write_text(f"env:\n\t@{recipe}\n")
    words = (clone / ".ci" / name, "--short", "runs")
    done = bare_python(*words, folder=clone)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith(f"goes on: {clone / '.ci' / name} --short runs\n")


@pytest.mark.parametrize("name", CHECKS)
def test_an_environment_that_cannot_be_made_is_a_sentence(name, clone):
    script = clone / ".ci" / name
    (clone / "Makefile").write_text("env:\n\t@echo Frugal needs python3.11; exit 1\n")
    failing = bare_python(script, "runs", folder=clone)
    without_make = bare_python(script, "runs", folder=clone, PATH=str(clone))
    for done in (failing, without_make):
        assert done.returncode == 1
        assert "Traceback" not in done.stdout
    assert "Frugal needs python3.11" in failing.stdout
    assert "the environment could not be made (make env)" in failing.stdout
    assert "make is not installed" in without_make.stdout


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("words", [(), ("--shrt", "runs"), ("full",)])
def test_words_that_a_check_cannot_take_are_refused(name, words, clone):
    (clone / "full").mkdir()
    (clone / "full" / "file").touch()
    done = bare_python(clone / ".ci" / name, *words, folder=clone)
    assert done.returncode in (1, 2)
    assert "Usage: " in done.stdout or "is there and not an empty folder" in done.stdout
    assert "Traceback" not in done.stdout
    assert not (clone / ".venv").exists()


def test_a_program_that_fails_or_lacks_is_a_sentence(clone):
    script = clone / ".ci" / "check_nothing.py"
    begin = "import subprocess, sys, environment\nsys.excepthook = environment.say_in_a_sentence\n"
    for command, said in [
        ("['false', '3']", "check_nothing.py: this failed with status 1: false 3\n"),
        ("['no-such-program']", "check_nothing.py: [Errno 2] No such file or directory: "),
    ]:
        script.write_text(f"{begin}subprocess.run({command}, check=True)\n")
        done = bare_python(script, folder=clone)
        assert done.returncode == 1
        assert done.stdout.startswith(said)
        assert done.stdout.count("\n") == 1


@pytest.fixture
def trial(tmp_path, write_program):
    """`.ci/run` with a `make` that does nothing and checks that end as they are told."""

    def run_it(ends, made=0):
        (tmp_path / ".ci").mkdir()
        shutil.copy(CI / "run", tmp_path / ".ci" / "run")
        for name, status in ends.items():
            write_program(tmp_path / ".ci" / f"check_{name}.py", f'echo "{name} $1"; exit {status}')
        write_program(tmp_path / "bin" / "make", f'echo "make $1"; [ "$1" = env ] || exit {made}')
        write_program(tmp_path / "bin" / "id", "echo 1000")  # nothing is installed
        path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
        return run(tmp_path / ".ci" / "run", folder=tmp_path, PATH=path)

    return run_it


def test_the_short_form_of_every_check_is_run(trial):
    done = trial({"a": 0, "b": 77, "c": 0})
    assert done.returncode == 0
    made, tested, *checked = [line.split(" (")[0] for line in done.stdout.splitlines()]
    assert (made, tested) == ("make env", "make test")
    assert sorted(checked) == [
        "left out: b --short",
        "ok: check_a.py --short",
        "ok: check_c.py --short",
    ]


@pytest.mark.parametrize(("made", "status"), [(2, 0), (0, 1), (2, 1)])
def test_what_fails_is_named_and_the_rest_still_run(trial, made, status):
    done = trial({"a": status, "b": 0}, made=made)
    assert done.returncode == 1
    assert "ok: check_b.py --short" in done.stdout
    last = done.stdout.splitlines()[-1]
    assert ("make test" in last, "check_a.py" in last) == (made != 0, status != 0)


def test_a_missing_column_is_stated_as_the_checks_expect(tmp_path, monkeypatch, capsys):
    example = ROOT / "docs" / "examples"
    table = (example / "ten_lines.csv").read_text(encoding="utf-8")
    (tmp_path / "ten_lines.csv").write_text(table.replace("troponin", "troponin_t", 1))
    description = Path(shutil.copy(example / "ten_lines.yaml", tmp_path))
    monkeypatch.chdir(tmp_path)
    words = ["prepare_data", "--seed", "0", "--settings", "{}"]
    words += ["--input", f"description={description}", "--input", "raw_0=ten_lines.csv"]
    words += ["--output", "table=results/table.parquet", "--output", "catalogue=results/c.json"]
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(sentences.missing_column(description))


def test_a_folder_that_is_locked_is_stated_as_the_checks_expect():
    rules = (ROOT / "workflow" / "rules" / "common.smk").read_text(encoding="utf-8")
    assert f'sys.exit(f"{sentences.LOCKED}")' in rules


def source(package):
    """All modules of an installed package, as one text."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    modules = sorted(Path(spec.origin).parent.rglob("*.py"))
    return "\n".join(path.read_text(encoding="utf-8") for path in modules)


def test_what_snakemake_says_stands_in_it():
    text = source("snakemake")
    for part in (
        sentences.AGAIN,
        sentences.ENVIRONMENT_MADE,
        sentences.PINS_USED,
        sentences.POST_DEPLOYED,
        sentences.ACTIVATED,
    ):
        assert part in text, part


def test_what_its_executor_for_slurm_says_stands_in_it():
    text = source("snakemake_executor_plugin_slurm")
    assert sentences.SUBMITTED in text
