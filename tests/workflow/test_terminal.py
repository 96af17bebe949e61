"""The terminal: a line a step with its place; the answer, or a failing job's sentence, last."""

import re

import pytest

from tests.workflow.runs import BIN, run, terse_environment
from tests.workflow.shared import finished

pytestmark = pytest.mark.workflow
TERSE = terse_environment()
FAILS = """
rule all:
    input: "b.txt"
rule works:
    output: "a.txt"
    log: "logs/works.log"
    shell: "echo 1 > {output} 2> {log}"
rule fails:
    input: "a.txt"
    output: "b.txt"
    log: "logs/fails.log"
    shell: "printf 'first\\nfrugal fails: the table has no rows\\nlast\\n' > {log}; exit 1"
"""


def snakemake(folder, *words, **own):
    return run([str(BIN / "snakemake"), "--cores", "1", *words], folder, TERSE | own)


def test_a_failing_jobs_sentence_stands_last(tmp_path):
    (tmp_path / "Snakefile").write_text(FAILS)
    done = snakemake(tmp_path)
    assert done.returncode == 1
    *before, failed, sentence, where = done.stdout.rstrip().splitlines()
    assert failed == "Failed: fails"
    assert sentence == "frugal fails: the table has no rows"
    assert where == "(all of it: logs/fails.log)"
    assert "[1 of 3] works  (logs/works.log)" in before
    assert "[2 of 3] fails  (logs/fails.log)" in before
    assert not any("printf" in line or "jobid" in line for line in before)


@pytest.mark.parametrize(
    ("words", "own"), [(["--verbose"], {}), (["-n"], {}), ([], {"FRUGAL_TERMINAL": "snakemake"})]
)
def test_snakemakes_own_words_can_be_had(tmp_path, words, own):
    (tmp_path / "Snakefile").write_text(FAILS)
    assert re.search(r"^total +3$", snakemake(tmp_path, *words, **own).stdout, re.MULTILINE)


def test_a_job_without_a_sentence_shows_the_end_of_its_log(tmp_path):
    text = FAILS.replace("frugal fails: the table has no rows", "Killed")
    (tmp_path / "Snakefile").write_text(text)
    said = snakemake(tmp_path).stdout
    assert said.rstrip().endswith("first\nKilled\nlast\n(all of it: logs/fails.log)")


def test_a_study_ends_with_its_answer(runs):
    """Ten lines of a person's own: a line a step, and the verdict."""
    done = finished("ten_lines", runs)
    lines = done.said.splitlines()
    steps = [line for line in lines if re.match(r"\[ *\d+ of \d+\] ", line)]
    places = [tuple(map(int, re.findall(r"\d+", line)[:2])) for line in steps]
    total = places[0][1]
    assert places == [(k, total) for k in range(1, total + 1)]
    assert max(map(len, steps)) < 160
    assert "{" not in done.said
    verdict = (done.folder / "results/summary/verdict.txt").read_text(encoding="utf-8")
    assert verdict.strip() in done.said
    assert lines.index(verdict.splitlines()[0]) > lines.index(steps[-1])
    logs = sorted((done.folder / ".snakemake/log").glob("*.log"))
    assert "Shell command: python -m frugal" in logs[0].read_text(encoding="utf-8")
