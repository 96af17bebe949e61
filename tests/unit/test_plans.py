"""The plan: each job as its step was measured, what was never measured said."""

import io
from collections import Counter
from pathlib import Path

import pytest
from frugal.__main__ import main
from frugal.run.plans import jobs_of_summary, load_costs, plan_lines

SHIPPED = Path(__file__).parents[2] / "config" / "costs.yaml"
TABLE = """
measured_on: m
others: {mb: 9, cpu_s: 7, minutes: 30}
steps: {fit: {mb: 100, cpu_s: 1800}, sum: {mb: 50, cpu_s: 0.4, minutes: 5}}
"""
SUMMARY = """output_file\tdate\trule\tlog-file(s)\tstatus\tplan
results/x/dataset=big/a.parquet\t-\tfit\t-\tmissing\tupdate pending
results/x/dataset=big/_a.parquet.json\t-\tfit\t-\tmissing\tupdate pending
results/x/dataset=small/a.parquet\t-\tfit\t-\tmissing\tupdate pending
results/x/dataset=done/a.parquet\t-\tfit\t-\tok\tno update
results/summary/s.parquet\t-\tsum\t-\tmissing\tupdate pending
"""


@pytest.fixture(scope="module")
def costs(tmp_path_factory):
    path = tmp_path_factory.mktemp("costs") / "costs.yaml"
    path.write_text(TABLE)
    return load_costs(path)


def lines(costs, *, cores=1, **jobs):
    return [*plan_lines(Counter(jobs), cores=cores, costs=costs)]


def test_the_plan_is_the_tables_sums(costs):
    first, *steps = lines(costs, cores=2, sum=1, fit=4)
    assert first == (
        "Plan: 5 jobs: 2.00 core-hours, at least 60 minutes on 2 cores; the largest job takes "
        "100 MB, the longest 30 minutes (measured at the default's sizes on m)"
    )
    assert [step.split() for step in steps] == [
        ["fit", "4", "jobs", "7200", "CPU", "s", "100", "MB"],
        ["sum", "1", "job", "0", "CPU", "s", "50", "MB"],
    ]


@pytest.mark.parametrize(
    ("jobs", "cores", "words"),
    [
        ({"fit": 4}, 16, "at least 30 minutes on 16 cores"),
        ({"sum": 1}, 1, "at least 1 second on 1 core"),
        ({"sum": 300}, 1, "at least 2 minutes on 1 core"),
        ({"sum": 297}, 1, "at least 119 seconds on 1 core"),
    ],
)
def test_a_run_is_no_shorter_than_its_longest_job_and_never_zero(costs, jobs, cores, words):
    assert words in lines(costs, cores=cores, **jobs)[0]


def test_a_step_that_was_never_measured_is_planned_as_the_others_and_called_so(costs):
    first, step = lines(costs, new=1)
    assert first.startswith("Plan: 1 job: 0.00 core-hours, at least 7 seconds")
    assert step.endswith("9 MB, never measured")
    assert lines(costs) == ["Plan: no job has to run"]


def test_outputs_of_one_job_are_one_job_and_finished_ones_none():
    assert jobs_of_summary(io.StringIO(SUMMARY)) == {"fit": 2, "sum": 1}


def test_the_shipped_table_plans_a_summary(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(SUMMARY.replace("\tfit\t", "\troll_out\t")))
    assert main(["plan", "--costs", str(SHIPPED), "--cores", "16"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Plan: 3 jobs: ")
    assert "never measured" in said
