"""The command line: a complete command runs, any other is refused in a sentence, writing none."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from frugal.__main__ import main
from frugal.core.errors import FrugalError
from frugal.results.files import read_payload, write_bytes
from frugal.results.manifests import Job, load_record, write_outputs
from frugal.results.sources import STAGES

ROOT = Path(__file__).parents[2]
COLUMNS = ["agent", "estimator", "seed", "estimate", "ci_low", "ci_high", "truth", "n", "ess"]
ESTIMATES = [Path(f"results/estimates/dataset=a/mechanism={m}/estimates.parquet") for m in "xy"]
SUMMARY = Path("results/summary/afape.parquet")
COMMAND = [
    "summarise_afape",
    *(word for path in ESTIMATES for word in ("--input", f"estimates[]={path}")),
    "--output",
    f"summary={SUMMARY}",
    "--seed",
    "3",
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for k, path in enumerate(ESTIMATES):
        frame = pd.DataFrame(
            [["never", "ipw", 0, 1.5 + k, 1.0, 3.0, 2.0, 10, 8.0]], columns=COLUMNS
        )
        path.parent.mkdir(parents=True)
        frame.to_parquet(path, index=False)
        vouch_for(path)


def vouch_for(path):
    """Have a manifest name the file as it is."""
    job = Job("estimate_costs", {}, {"table": path}, {}, {}, 0)
    write_outputs(job, {"table": path.read_bytes()}, [])


def refused(capsys, *words):
    """What is said of a command that is refused by the program itself."""
    assert main([*words]) == 2
    assert not SUMMARY.exists()
    said = capsys.readouterr().err
    assert said.count("\n") == 1, "one sentence"
    return said


def test_a_complete_command_writes_payload_and_manifest():
    assert main(COMMAND) == 0
    summary = read_payload(SUMMARY)
    assert summary["mechanism"].tolist() == ["x", "y"]
    assert summary["estimate"].tolist() == [1.5, 2.5]
    record = load_record(SUMMARY)
    assert record["stage"] == "summarise_afape"
    assert [r["path"] for r in record["inputs"]] == [p.as_posix() for p in ESTIMATES]


def test_a_second_run_writes_the_same_bytes():
    main(COMMAND)
    first = {p: p.read_bytes() for p in SUMMARY.parent.iterdir()}
    main(COMMAND)
    assert {p: p.read_bytes() for p in SUMMARY.parent.iterdir()} == first


@pytest.mark.parametrize("name", STAGES)
def test_every_stage_is_a_function_of_its_module(name):
    path = ROOT / "workflow" / f"{STAGES[name].replace('.', '/')}.py"
    source = path.read_text(encoding="utf-8")
    assert f"\ndef {name}(" in source


def test_an_input_file_that_is_broken_is_refused_by_its_path(capsys):
    write_bytes(ESTIMATES[1], b"no table")
    vouch_for(ESTIMATES[1])
    assert f"{ESTIMATES[1]} cannot be read as parquet" in refused(capsys, *COMMAND)


def test_an_undescribed_column_leaves_nothing(capsys):
    frame = pd.read_parquet(ESTIMATES[0], partitioning=None).assign(mystery=1)
    frame.to_parquet(ESTIMATES[0], index=False)
    vouch_for(ESTIMATES[0])
    assert "column 'mystery' has no description" in refused(capsys, *COMMAND)


def test_the_module_is_the_command_and_exits_with_its_status():
    done = subprocess.run(
        [sys.executable, "-m", "frugal", "nothing", "--seed", "0"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "workflow")},
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("frugal nothing: there is no command or stage")
    assert "Traceback" not in done.stderr


def test_a_job_has_one_thread_whatever_the_caller_has_set():
    """With two, numpy's sums are rounded otherwise, and the bytes are not the workflow's."""
    code = "import frugal.__main__, numpy, torch, threadpoolctl as t; "
    code += "print({p['num_threads'] for p in t.threadpool_info()}, torch.get_num_threads())"
    asked = {f"{library}_NUM_THREADS": "2" for library in ("OMP", "OPENBLAS", "MKL")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "{1} 1"


@pytest.mark.parametrize("name", ["x.csv", "x", "x.txt", "x.parquet.gz", ".parquet"])
def test_an_output_of_no_known_format_is_refused_before_any_work(capsys, monkeypatch, name):
    def working(**_):
        raise AssertionError("the stage was called")

    import frugal.studies.afape.stages.tables as module

    monkeypatch.setattr(module, "summarise_afape", working)
    said = refused(capsys, *[w.replace(str(SUMMARY), name) for w in COMMAND])
    assert f"--output summary={name} ends in " in said
    assert "allowed are .parquet, .json, .safetensors, .png, .pdf, .html" in said


@pytest.mark.parametrize("words", [["recourse", "u", "a", "--max", "3"], ["audit", "--sam", "1"]])
def test_an_option_is_written_in_full(capsys, words):
    with pytest.raises(SystemExit):
        main(words)
    assert "unrecognized arguments: --" in capsys.readouterr().err


def test_every_command_has_the_parser_that_takes_no_abbreviation():
    sources = (ROOT / "workflow" / "frugal").rglob("*.py")
    assert [p.name for p in sources if "ArgumentParser(" in p.read_text()] == ["arguments.py"]


@pytest.mark.parametrize("words", [("advise", "b", "c"), ("init", "t"), ("recourse", "u", "a")])
@pytest.mark.parametrize("name", ["", ".", "/"])
def test_out_names_a_file(capsys, words, name):
    with pytest.raises(SystemExit, match="2"):
        main([*words, "--out", name])
    assert f"argument --out: {name!r} is no name of a file" in capsys.readouterr().err


def test_a_refusal_of_several_lines_keeps_them_and_a_line_break_in_a_name_adds_none(
    monkeypatch, capsys
):
    def fail(words: list[str]) -> int:
        raise FrugalError("a stage failed; its output:", "Killed", "a\nb: no such file")

    monkeypatch.setattr("frugal.__main__._run", fail)
    assert main(["audit"]) == 2
    lines = ["frugal audit: a stage failed; its output:", "Killed", r"a\nb: no such file"]
    assert capsys.readouterr().err.splitlines() == lines


def test_an_interrupted_command_says_so_and_ends_with_130(tmp_path, monkeypatch, capsys):
    def interrupted(_: str) -> str:
        raise KeyboardInterrupt

    (tmp_path / "t.csv").write_text("a,crp,ill\n1,2,no\n2,,yes\n3,4,no\n4,1,yes\n")
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", interrupted)
    assert main(["init", str(tmp_path / "t.csv"), "--label", "ill"]) == 130
    assert capsys.readouterr().err.split() == ["frugal", "init:", "interrupted"]
    assert not list(tmp_path.glob("*.yaml"))


LEAVES = """
import atexit, frugal.__main__ as program
class Late:
    def __del__(self): print("taken down")
late = Late()
atexit.register(print, "cleaned up")
program._run = lambda words: print("answer") or 2
raise SystemExit(program.command())
"""


def test_a_command_ends_before_python_is_taken_down_and_after_all_is_cleaned_up():
    """Else a thread of Arrow may abort the process then: 5 of 25 with threads that starve."""
    words = [sys.executable, "-c", LEAVES]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow")}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()) == (2, ["answer", "cleaned up"])


@pytest.mark.parametrize("words", [["--help"], ["config"]])
def test_an_output_that_cannot_be_written_is_a_sentence(words):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "frugal", *words],
            env=os.environ | {"PYTHONPATH": str(ROOT / "workflow")},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "No space left on device" in done.stderr
