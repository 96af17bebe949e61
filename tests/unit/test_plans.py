"""The plan: jobs times unit costs, the best fitting cost taken, what is not known said."""

import io
from pathlib import Path

import pytest
from frugal.__main__ import main
from frugal.artifacts.plans import Job, jobs_of_summary, load_costs, plan_lines, planned
from frugal.contracts import ConfigError
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
COSTS = [
    {"stage": "fit", "cpu_s": 1.0, "memory_mb": 10},
    {"stage": "fit", "scale": "paper", "cpu_s": 10.0, "memory_mb": 20},
    {"stage": "fit", "scale": "paper", "dataset": "big", "cpu_s": 100.0, "memory_mb": 500},
    {"stage": "draw", "scale": "paper", "dataset": "big", "cpu_s": 7.0, "memory_mb": 5},
]
SUMMARY = """output_file\tdate\trule\tlog-file(s)\tstatus\tplan
results/x/dataset=big/a.parquet\t-\tfit\t-\tmissing\tupdate pending
results/x/dataset=big/_a.parquet.json\t-\tfit\t-\tmissing\tupdate pending
results/x/dataset=small/a.parquet\t-\tfit\t-\tmissing\tupdate pending
results/x/dataset=done/a.parquet\t-\tfit\t-\tok\tno update
results/summary/s.parquet\t-\tsum\t-\tmissing\tupdate pending
"""


def one(stage, scale="paper", **keys):
    return planned([Job(stage, keys)], COSTS, scale=scale)


@pytest.mark.parametrize(
    ("scale", "keys", "cpu_s"),
    [
        ("paper", {"dataset": "big"}, 100.0),
        ("paper", {"dataset": "small"}, 10.0),
        ("default", {"dataset": "big"}, 1.0),
        ("paper", {}, 10.0),
    ],
)
def test_the_cost_that_names_most_of_the_job_is_taken(scale, keys, cpu_s):
    assert one("fit", scale, **keys).cpu_s == {"fit": cpu_s}


def test_a_data_set_without_a_measurement_gets_the_stages_mean_and_is_called_guessed():
    dearer = {"stage": "draw", "scale": "paper", "dataset": "huge", "cpu_s": 9.0, "memory_mb": 50}
    costs = [*COSTS, dearer, dearer | {"scale": "default", "cpu_s": 1000.0}]
    plan = planned([Job("draw", {"dataset": "other"})], costs, scale="paper")
    assert plan.cpu_s == {"draw": 8.0}
    assert plan.memory_mb == {"draw": 50}
    assert plan.guessed == {"draw"}
    assert "partly guessed" in "\n".join(plan_lines(plan, cores=1, measured_on="m"))


def test_a_data_set_measured_at_the_other_scale_only_is_taken_from_there_and_called_guessed():
    """As with `config/paper_dadi.yaml` alone: `scale` is `default`, the tables are a paper's."""
    huge = {"stage": "draw", "scale": "paper", "dataset": "huge", "cpu_s": 9.0, "memory_mb": 50}
    plan = planned([Job("draw", {"dataset": "huge"})], [*COSTS, huge], scale="default")
    assert plan.cpu_s == {"draw": 9.0}
    assert plan.guessed == {"draw"}


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
    plan = planned([Job("fit", {"dataset": n}) for n in names], COSTS, scale="paper")
    each = [100.0 if n == "big" else 10.0 for n in names]
    assert sum(plan.cpu_s.values()) == pytest.approx(sum(each))
    assert plan.longest_s == max(each)
    first = next(iter(plan_lines(plan, cores=cores, measured_on="m")))
    least = max(sum(each) / cores, max(each))
    count = "1 job" if len(names) == 1 else f"{len(names)} jobs"
    assert f"{count}: {sum(each) / 3600:.2f} core-hours" in first
    assert f"at least {least / 60:.0f} minutes on {cores} cores" in first


def test_outputs_of_one_job_are_one_job_and_finished_ones_none():
    jobs = jobs_of_summary(io.StringIO(SUMMARY))
    assert [(j.stage, dict(j.keys)) for j in jobs] == [
        ("fit", {"dataset": "big"}),
        ("fit", {"dataset": "small"}),
        ("sum", {}),
    ]


def test_what_is_no_table_of_outputs_is_refused():
    with pytest.raises(ConfigError, match="no table of outputs"):
        jobs_of_summary(io.StringIO("Error: something\n"))


def test_the_shipped_costs_are_read_and_speak_of_stages_that_exist(capsys, monkeypatch):
    costs = load_costs(ROOT / "config" / "costs.yaml")
    stages = {path.stem for path in (ROOT / "workflow/frugal/stages").glob("[a-z]*.py")}
    # rules that run no stage of their name
    no_stages = {"audit", "benchmark", "choose", "plan", "report"}
    no_stages |= {"fetch_search_file", "fetch_recourse_file"}
    assert {cost["stage"] for cost in costs["costs"]} <= stages | no_stages
    at_default = {cost["stage"] for cost in costs["costs"] if cost.get("scale") == "default"}
    at_default -= {"audit"}
    # on demand, of tables that are downloaded, or after the last step
    elsewhere = {"fetch_file", "choose_policy", "draw_patient", "draw_policy", "recommend_actions"}
    elsewhere |= {"prepare_searches", "draw_table_figures", "keep_report"}
    assert at_default == stages - elsewhere
    monkeypatch.setattr("sys.stdin", io.StringIO(SUMMARY.replace("\tfit\t", "\troll_out\t")))
    words = ["--costs", str(ROOT / "config/costs.yaml"), "--scale", "paper", "--cores", "16"]
    assert main(["plan", *words]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Plan: 3 jobs, 1 of them never measured and left out of the sums: ")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("costs: []", "key 'measured_on' is missing"),
        ("measured_on: x\ncosts: []", "must hold at least 1"),
        ("measured_on: x\ncosts: [{stage: a, cpu_s: -1, memory_mb: 1}]", "values from 0 on"),
        ("measured_on: x\ncosts: [{stage: a, cpu: 1, memory_mb: 1}]", "unknown key 'cpu'"),
        ("- 1", "allowed is a mapping of keys"),
    ],
)
def test_costs_of_another_form_are_refused(tmp_path, text, sentence):
    path = tmp_path / "costs.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=sentence) as caught:
        load_costs(path)
    assert str(caught.value).startswith(str(path))
