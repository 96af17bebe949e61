"""The terminal: a line a step with its place; the answer, or a failing job's sentence, last.

Only of Frugal's own workflow: installing Frugal changes no other one.
"""

import io
import logging
import re
import sys

import pytest
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_logger_plugin_frugal import terminal

from tests.workflow.runs import BIN, ROOT, run, terse_environment
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
SPEAKS = "from snakemake_logger_plugin_frugal.terminal import speak_tersely\nspeak_tersely()\n"
# Workflows of others: a config that Frugal would refuse, a step that fails, resources of a profile
FOREIGN = {
    "config": {
        "Snakefile": 'configfile: "config.yaml"\nrule all:\n    output: "out.txt"\n'
        '    shell: "echo {config[walltime]} {config[more]} > {output}"\n',
        "config.yaml": "walltime: 1:30:00\nwalltime: 2:00:00\n",
        "words": ["--config", "more={'a': [1, 2], 'a': 3}"],
    },
    "fails": {"Snakefile": FAILS, "words": ["--printshellcmds"]},
    "profile": {
        "Snakefile": 'rule all:\n    output: "out.txt"\n'
        '    shell: "echo {resources.mem_mb} {resources.runtime} > {output}"\n',
        "profiles/default/config.yaml": "set-resources:\n  all: {runtime: 480, mem_mb: 9}\n"
        "default-resources: {runtime: 7, mem_mb: 500}\n",
        "words": ["--set-resources", "all:mem_mb=70"],
    },
}
STARTS = """
import os, sys
from pathlib import Path
if sys.argv[2] == "without":
    sys.path[:] = [path for path in sys.path if path != sys.argv[1]]
from snakemake.cli import main
for folder in sys.argv[3:]:
    os.chdir(folder)
    sys.argv = ["snakemake", "--cores", "1", *Path("words").read_text().splitlines()]
    try:
        main()
    except SystemExit as end:
        print("ended with", end.code, file=sys.stderr, flush=True)
"""


def snakemake(folder, *words, **own):
    return run([str(BIN / "snakemake"), "--cores", "1", *words], folder, TERSE | own)


def foreign_runs(folder, with_or_without):
    """What three workflows of others print and make; times are left out."""
    places = []
    for name, files in FOREIGN.items():
        places.append(folder / with_or_without / name)
        for path, text in files.items():
            file = places[-1] / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text if isinstance(text, str) else "\n".join(text))
    words = [str(ROOT / "workflow"), with_or_without, *map(str, places)]
    own = TERSE | {"PYTHONHASHSEED": "0"}  # by which Snakemake orders resources
    done = run([sys.executable, "-c", STARTS, *words], folder, own)
    output = done.stdout.replace(f"/{with_or_without}/", "/")
    times = r"(?m)^\[.*\]$|(?<=log/)[\d.T-]+|(?<=Date: |time: ).*|(?<=Workflow ID: ).*"
    output = re.sub(times, "", output)
    made = folder.glob(f"{with_or_without}/*/*.txt")
    return output, {path.relative_to(folder / with_or_without): path.read_bytes() for path in made}


def test_workflows_of_others_run_as_without_frugal(tmp_path):
    output, made = foreign_runs(tmp_path, "with")
    assert re.findall("ended with .*", output) == ["ended with 0", "ended with 1", "ended with 0"]
    assert sorted(made.values()) == [b"1\n", b"70 7\n", b"7200 {a: 3}\n"]
    assert (output, made) == foreign_runs(tmp_path, "without")


def test_a_failing_jobs_sentence_stands_last(tmp_path):
    (tmp_path / "Snakefile").write_text(SPEAKS + FAILS)
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
    ("words", "own"),
    [([], ""), (["--verbose"], ""), (["-n"], ""), (["-e", "slurm"], ""), ([], "snakemake")],
)
def test_snakemakes_own_words_can_be_had(words, own, monkeypatch):
    before = logging.StreamHandler()
    before.name = "DefaultStreamHandler"  # as Snakemake names it
    monkeypatch.setattr(terminal.logger, "handlers", [before])
    monkeypatch.setattr(sys, "argv", ["snakemake", *words])
    monkeypatch.setenv("FRUGAL_TERMINAL", own)
    terminal.speak_tersely()
    assert (terminal.logger.handlers == [before]) == bool(words or own)


@pytest.mark.parametrize(("words", "jobs"), [(["-n"], 0), (["-n", "-p"], 2), (["-np"], 2)])
def test_a_dry_run_shows_each_job_on_request(words, jobs, monkeypatch):
    before, stream = logging.StreamHandler(io.StringIO()), io.StringIO()
    before.setStream(stream)
    before.name = "DefaultStreamHandler"
    monkeypatch.setattr(terminal.logger, "handlers", [before])
    monkeypatch.setattr(sys, "argv", ["snakemake", *words])
    monkeypatch.delenv("FRUGAL_TERMINAL", raising=False)
    terminal.speak_tersely()
    rows = "\n".join(f"step_{k:02}  {k:4}" for k in range(60))
    table = f"Job stats:\njob      count\n-------  ----\n{rows}\n"
    each = {"event": LogEvent.JOB_INFO, "msg": "rule works: in, out"}
    for record in ({"msg": table}, each, each, {"msg": table}, {"msg": "Reasons: of each"}):
        before.handle(logging.makeLogRecord(record))
    shown = stream.getvalue()
    assert shown.count("rule works") == jobs
    if not jobs:
        assert shown.count("Job stats:") == 1
        assert len(shown.splitlines()) == 33
        assert all(f"step_{k:02}" in shown for k in range(60))


def test_a_job_without_a_sentence_shows_the_end_of_its_log(tmp_path):
    log = tmp_path / "fails.log"
    log.write_text("first\nKilled\nlast\n")
    lines = terminal.Terse()
    failed = {"event": LogEvent.JOB_ERROR, "jobid": 1, "rule_name": "fails", "log": [str(log)]}
    assert lines.format(logging.makeLogRecord(failed)) == "    fails failed"
    output = lines.format(logging.makeLogRecord({"msg": "Elapsed time: 1 s"}))
    assert output.endswith(f"Failed: fails\nfirst\nKilled\nlast\n(all of it: {log})")


def test_remarks_of_a_finished_step_are_shown_from_its_log(tmp_path):
    log = tmp_path / "reads.log"
    log.write_text("blocks: 100%\nFrugal: Look: 3 rows are copies of others.\n")
    lines = terminal.Terse()
    job = {"jobid": 1, "rule_name": "reads", "wildcards": {}, "log": [str(log)]}
    lines.format(logging.makeLogRecord({"event": LogEvent.JOB_INFO, **job}))
    shown = lines.format(logging.makeLogRecord({"event": LogEvent.JOB_FINISHED, "job_id": 1}))
    assert shown == "Frugal: Look: 3 rows are copies of others."


def test_a_study_ends_with_its_answer(runs):
    """Ten lines of a person's own: a line a step, and the verdict."""
    done = finished("ten_lines", runs)
    lines = done.output.splitlines()
    steps = [line for line in lines if re.match(r"\[ *\d+ of \d+\] ", line)]
    places = [tuple(map(int, re.findall(r"\d+", line)[:2])) for line in steps]
    total = places[0][1]
    assert places == [(k, total) for k in range(1, total + 1)]
    assert max(map(len, steps)) < 160
    assert "{" not in done.output
    verdict = (done.folder / "results/summary/verdict.txt").read_text(encoding="utf-8")
    assert verdict.strip() in done.output
    assert lines.index(verdict.splitlines()[0]) > lines.index(steps[-1])
    logs = sorted((done.folder / ".snakemake/log").glob("*.log"))
    assert "Shell command: python -m frugal" in logs[0].read_text(encoding="utf-8")
