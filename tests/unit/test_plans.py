"""The plan: every job at its size, the cost of its kind taken, what is not known said."""

import io
import json
from pathlib import Path

import pytest
from frugal.__main__ import main
from frugal.core.errors import ConfigError
from frugal.results.sources import STAGES
from frugal.run.job_sizes import SIZES
from frugal.run.plans import (
    Costs,
    Job,
    amount,
    jobs_of_summary,
    load_costs,
    plan_lines,
    planned,
    sized,
)
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
FLAT = {"start": 10, "more": 0}
REFERENCE = dict.fromkeys(SIZES, 1.0) | {"rows": 1000.0}
COSTS = Costs(
    [
        {
            "stage": "fit",
            "cpu_s": {"start": 1, "more": 2, "rows": 1, "panels": 2},
            "memory_mb": FLAT,
        },
        {"stage": "learn", "kind": "slow", "cpu_s": {"start": 100, "more": 0}, "memory_mb": FLAT},
        {"stage": "learn", "kind": "fast", "cpu_s": {"start": 5, "more": 0}, "memory_mb": FLAT},
    ],
    REFERENCE,
    {},
    "m",
)
SIZINGS = [
    {"stages": [], "keys": {"dataset": "big"}, "sizes": {"rows": 5000, "panels": 2}, "kind": None},
    {"stages": [], "keys": {"dataset": "small"}, "sizes": {"rows": 100, "panels": 1}, "kind": None},
    {"stages": ["learn"], "keys": {"agent": "a"}, "sizes": {}, "kind": "fast"},
]
HEAD = f"measured_on: x\nreference: {json.dumps(dict.fromkeys(SIZES, 1))}\nrows: {{}}\n"
HEAD = HEAD.replace('"', "")
ZERO = HEAD.replace("rows: 1,", "rows: 0,")
SUMMARY = """output_file\tdate\trule\tlog-file(s)\tstatus\tplan
results/x/dataset=big/a.parquet\t-\tfit\t-\tmissing\tupdate pending
results/x/dataset=big/_a.parquet.json\t-\tfit\t-\tmissing\tupdate pending
results/x/dataset=small/a.parquet\t-\tfit\t-\tmissing\tupdate pending
results/x/dataset=done/a.parquet\t-\tfit\t-\tok\tno update
results/summary/s.parquet\t-\tsum\t-\tmissing\tupdate pending
"""


def one(stage, **keys):
    return planned([sized(stage, keys, SIZINGS)], COSTS)


@pytest.mark.parametrize(("dataset", "cpu_s"), [("big", 1 + 2 * 5 * 4), ("small", 1 + 2 * 0.1)])
def test_a_job_takes_what_its_stage_takes_at_its_size(dataset, cpu_s):
    plan = one("fit", dataset=dataset)
    assert plan.cpu_s == {"fit": pytest.approx(cpu_s)}
    assert plan.memory_mb == {"fit": 10}
    assert plan.guessed == set()


def test_memory_of_a_stage_that_takes_blocks_does_not_grow_with_more_rows():
    memory = {"start": 10, "more": 5, "rows": 1, "panels": 1, "most_rows": 2000}
    cost = {"stage": "fit", "cpu_s": {"start": 0, "more": 1, "rows": 1}, "memory_mb": memory}
    taken = {
        rows: [
            amount(cost, name, Job("fit", {}, {"rows": float(rows), "panels": 2.0}), REFERENCE)
            for name in ("memory_mb", "cpu_s")
        ]
        for rows in (1000, 2000, 9000)
    }
    assert taken == {1000: [20, 1], 2000: [30, 2], 9000: [30, 9]}


def test_a_size_that_is_not_told_is_the_references_and_called_guessed():
    plan = one("fit", dataset="other")
    assert plan.cpu_s == {"fit": 3.0}
    assert plan.guessed == {"fit"}
    assert "partly guessed" in "\n".join(plan_lines(plan, cores=1, measured_on="m"))


def test_a_kind_has_its_own_cost_and_an_unknown_one_the_dearest_called_guessed():
    assert one("learn", agent="a").cpu_s == {"learn": 5}
    plan = one("learn", agent="b")
    assert plan.cpu_s == {"learn": 100}
    assert plan.guessed == {"learn"}


def test_a_stage_without_any_measurement_is_counted_and_not_summed():
    plan = one("new", dataset="big")
    assert plan.cpu_s == {}
    lines = list(plan_lines(plan, cores=1, measured_on="m"))
    assert lines == [
        "Plan: no job whose cost is known",
        "  not measured, so not in the sum: 1 of new",
    ]


@given(st.lists(st.sampled_from(["big", "small", "other"]), min_size=1), st.integers(1, 64))
def test_sums_are_those_of_the_jobs_one_by_one(names, cores):
    plan = planned([sized("fit", {"dataset": n}, SIZINGS) for n in names], COSTS)
    each = [{"big": 41.0, "small": 1.2, "other": 3.0}[n] for n in names]
    assert sum(plan.cpu_s.values()) == pytest.approx(sum(each))
    assert plan.longest_s == pytest.approx(max(each))
    first = next(iter(plan_lines(plan, cores=cores, measured_on="m")))
    least = max(sum(each) / cores, max(each))
    count = "1 job" if len(names) == 1 else f"{len(names)} jobs"
    assert f"{count}: {sum(each) / 3600:.2f} core-hours" in first
    assert f"at least {least / 60:.0f} minutes on {cores} cores" in first


def test_outputs_of_one_job_are_one_job_and_finished_ones_none():
    jobs = jobs_of_summary(io.StringIO(SUMMARY), SIZINGS)
    assert [(j.stage, dict(j.keys)) for j in jobs] == [
        ("fit", {"dataset": "big"}),
        ("fit", {"dataset": "small"}),
        ("sum", {}),
    ]
    assert [job.sizes.get("rows") for job in jobs] == [5000, 100, None]


def test_what_is_no_table_of_outputs_is_refused():
    with pytest.raises(ConfigError, match="no table of outputs"):
        jobs_of_summary(io.StringIO("Error: something\n"), [])


def test_the_shipped_costs_are_read_and_speak_of_stages_that_exist(capsys, monkeypatch):
    costs = load_costs(ROOT / "config" / "costs.yaml")
    stages = set(STAGES)
    # rules that run no stage of their name
    no_stages = {
        "audit", "benchmark", "bring_file", "choose", "decide", "plan", "rocrate", "search",
        "snakemake_report",
    }  # fmt: skip
    known = {cost["stage"] for cost in costs.entries}
    assert known <= stages | no_stages
    # on demand, or after the last step
    assert stages - known == {"draw_policy", "explore_answer", "recommend_actions", "keep_report"}
    monkeypatch.setattr("sys.stdin", io.StringIO(SUMMARY.replace("\tfit\t", "\troll_out\t")))
    words = ["--costs", str(ROOT / "config/costs.yaml"), "--cores", "16"]
    words += ["--sizes", json.dumps(SIZINGS)]
    assert main(["plan", *words]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Plan: 3 jobs, 1 of them never measured and left out of the sums: ")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("costs: []", "key 'measured_on' is missing"),
        (HEAD + "costs: []", "must hold at least 1"),
        (
            HEAD
            + "costs: [{stage: a, cpu_s: {start: -1, more: 0}, memory_mb: {start: 1, more: 0}}]",
            "values from 0 on",
        ),
        (HEAD + "costs: [{stage: a, cpu: {start: 1, more: 0}}]", "unknown key 'cpu'"),
        (HEAD + "costs: [{stage: a, cpu_s: {start: 1, more: 0, row: 1}}]", "unknown key 'row'"),
        (
            ZERO
            + "costs: [{stage: a, cpu_s: {start: 1, more: 0}, memory_mb: {start: 1, more: 0}}]",
            "'reference.rows' is 0",
        ),
        ("- 1", "allowed is a mapping of keys"),
    ],
)
def test_costs_of_another_form_are_refused(tmp_path, text, sentence):
    path = tmp_path / "costs.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=sentence) as caught:
        load_costs(path)
    assert str(caught.value).startswith(str(path))
