"""The plan: every job at its size, the cost of its kind taken, what is not known said."""

import io
import json
from collections import Counter
from pathlib import Path

import pytest
from frugal.__main__ import main
from frugal.core.blocks import BLOCK_ROWS
from frugal.run.plans import (
    Plan,
    PlannedJob,
    amount,
    jobs_of_summary,
    load_costs,
    plan_lines,
    planned,
    sized,
)
from hypothesis import given
from hypothesis import strategies as st

SHIPPED = Path(__file__).parents[2] / "config" / "costs.yaml"
TABLE = """
measured_on: m
start: {cpu_s: 1, memory_mb: 5}
unmeasured: {cpu_s: 7, memory_mb: 9}
rows: {}
stages:
  fit:
    by: [rows, panels]
    jobs: [[null, 100, 1, 3, 10], [null, 10000, 1, 30, 10]]
  own: {by: [rows], jobs: [[null, 100, 3, 10], [mine, 100, 50, 10]]}
  learn: {by: [kind, steps], jobs: [[null, slow, 10, 100, 10], [null, fast, 10, 5, 10]]}
  block: {by: [rows, panels], blocks: true, jobs: [[null, 1000, 1, 2, 10]]}
"""
SIZINGS = [
    {"keys": {"dataset": "big"}, "sizes": {"rows": 10_000, "panels": 3}, "kind": None},
    {"keys": {"dataset": "middle"}, "sizes": {"rows": 500, "panels": 2}, "kind": None},
    {"keys": {"dataset": "mine"}, "sizes": {"rows": 300, "panels": 1}, "kind": None},
    {"keys": {"agent": "a"}, "sizes": {"steps": 20}, "kind": "fast"},
    {"keys": {"agent": "b"}, "sizes": {"steps": 10}, "kind": "new"},
]
HEAD = TABLE[: TABLE.index("stages:")]
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


def one(costs, stage, **keys):
    return planned([sized(stage, keys, SIZINGS)], costs)


@pytest.mark.parametrize(
    ("stage", "dataset", "cpu_s"),
    [
        ("fit", "middle", 3 * 10**0.5),  # halfway between the logarithms of 100 and 10,000
        ("fit", "big", 3 + 27 * 3),  # what exceeds the least grows in proportion
        ("own", "mine", 1 + 49 * 3),  # of its own data set; one size: what exceeds the start
    ],
)
def test_a_job_takes_what_measured_jobs_took_between_and_beyond_their_sizes(
    costs, stage, dataset, cpu_s
):
    plan = one(costs, stage, dataset=dataset)
    assert plan.cpu_s == {stage: pytest.approx(cpu_s)}
    assert plan.guessed == set()


@pytest.mark.parametrize("name", ["cpu_s", "memory_mb"])
def test_another_table_of_a_measured_name_is_planned_by_its_size(name):
    shipped = load_costs(SHIPPED)
    sizes = {"rows": 1e6, "columns": 20.0}
    for stage, most in (("fit_classifier", 4000), ("prepare_data", 2000)):
        named = amount(PlannedJob(stage, {"dataset": "wide"}, sizes), name, shipped)
        assert named == amount(PlannedJob(stage, {"dataset": "new"}, sizes), name, shipped)
        assert named < most


@given(st.sampled_from([100.0, 10_000.0]))
def test_at_a_measured_size_it_is_what_was_measured(costs, rows):
    job = PlannedJob("fit", {}, {"rows": rows, "panels": 1.0})
    assert (
        amount(job, "cpu_s", costs) == {100.0: pytest.approx(3), 10_000.0: pytest.approx(30)}[rows]
    )


def test_memory_of_a_stage_that_takes_blocks_does_not_grow_with_more_rows(costs):
    taken = [
        amount(PlannedJob("block", {}, {"rows": rows, "panels": 1.0}), "memory_mb", costs)
        for rows in (2_000.0, float(BLOCK_ROWS), 1e9)
    ]
    assert taken[0] == pytest.approx(5 + 5 * 2)
    assert taken[1] == taken[2] == pytest.approx(5 + 5 * BLOCK_ROWS / 1000)


def test_memory_grows_by_the_root_of_panels_and_not_with_steps(costs):
    wide = amount(PlannedJob("block", {}, {"rows": 1000.0, "panels": 4.0}), "memory_mb", costs)
    assert wide == pytest.approx(5 + 5 * 2)
    assert amount(PlannedJob("learn", {}, {"steps": 1e9}), "memory_mb", costs) == 10


def test_an_unknown_size_is_that_of_a_measured_job_and_called_guessed(costs):
    plan = one(costs, "fit", dataset="other")
    assert plan.cpu_s == {"fit": pytest.approx(3)}
    assert plan.guessed == {"fit"}
    assert "partly guessed" in "\n".join(plan_lines(plan, cores=1, costs=costs))


def test_a_kind_has_its_own_jobs_and_an_unknown_one_the_longest_called_guessed(costs):
    assert one(costs, "learn", agent="a").cpu_s == {"learn": 1 + 4 * 2}
    plan = one(costs, "learn", agent="b")
    assert plan.cpu_s == {"learn": 100}
    assert plan.guessed == {"learn"}


def test_a_stage_that_was_never_measured_is_planned_by_a_default_and_named(costs):
    plan = one(costs, "new", dataset="big")
    assert (plan.cpu_s, plan.memory_mb) == ({"new": 7}, {"new": 9})
    first, stage, last = plan_lines(plan, cores=1, costs=costs)
    assert first.startswith("Plan: 1 job: 0.00 core-hours")
    assert stage.endswith("never measured")
    assert last == "  never measured: new; each job is supposed to take 7 CPU s and 9 MB"
    assert [*plan_lines(planned([], costs), cores=1, costs=costs)] == ["Plan: no job has to run"]


@given(st.lists(st.sampled_from(["big", "middle", "mine"]), min_size=1), st.integers(1, 64))
def test_sums_are_those_of_the_jobs_one_by_one(costs, names, cores):
    jobs = [sized("fit", {"dataset": n}, SIZINGS) for n in names]
    plan = planned(jobs, costs)
    each = [amount(job, "cpu_s", costs) for job in jobs]
    assert sum(plan.cpu_s.values()) == pytest.approx(sum(each))
    assert plan.longest_s == pytest.approx(max(each))
    first = next(iter(plan_lines(plan, cores=cores, costs=costs)))
    least = max(sum(each) / cores, max(each))
    count = "1 job" if len(names) == 1 else f"{len(names)} jobs"
    assert f"{count}: {sum(each) / 3600:.2f} core-hours" in first
    words = first.partition("at least ")[2].split(" on ")[0]
    size, unit = words.split()
    seconds = float(size) * (60 if unit.startswith("minute") else 1)
    assert seconds == pytest.approx(least, abs=30 if unit.startswith("minute") else 1)
    assert "at least 1 minutes" not in first
    assert " 0 " not in first


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 second"), (31.0, "31 seconds"), (119.4, "119 seconds"), (149.0, "2 minutes")],
)
def test_a_short_time_is_planned_in_seconds(costs, seconds, words):
    plan = Plan({"fit": seconds}, Counter(["fit"]), {"fit": 100.0}, seconds)
    first = next(iter(plan_lines(plan, cores=1, costs=costs)))
    assert f"at least {words} on 1 core;" in first
    assert f"the longest {words} (" in first


def test_outputs_of_one_job_are_one_job_and_finished_ones_none():
    jobs = jobs_of_summary(io.StringIO(SUMMARY), SIZINGS)
    assert [(j.stage, dict(j.keys)) for j in jobs] == [
        ("fit", {"dataset": "big"}),
        ("fit", {"dataset": "small"}),
        ("sum", {}),
    ]
    assert [job.sizes.get("rows") for job in jobs] == [10_000, None, None]


def test_the_shipped_table_plans_the_default_run(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(SUMMARY.replace("\tfit\t", "\troll_out\t")))
    words = ["--costs", str(SHIPPED), "--cores", "16", "--sizes", json.dumps(SIZINGS)]
    assert main(["plan", *words]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Plan: 3 jobs: ")
    assert "never measured: sum;" in said
    measured = load_costs(SHIPPED)
    jobs = [(stage, each) for stage, lines in measured.stages.items() for each in lines]
    for stage, each in (pair for pair in jobs if pair[1].dataset):
        planned_job = PlannedJob(stage, {"dataset": str(each.dataset)}, each.sizes, each.kind)
        factor = amount(planned_job, "cpu_s", measured) / each.amounts["cpu_s"]
        assert 1 / 2 <= factor <= 2, stage
