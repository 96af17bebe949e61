"""Jobs at one time fit into the memory there is; the plan is told once, before the first job."""

import os
import re
from pathlib import Path

import pytest

from tests.workflow.runs import ROOT, TINY, snakemake

pytestmark = pytest.mark.workflow
TABLE = "results/data/dataset=tiny_world/table.parquet"
POLICY = "results/agents/dataset=tiny_world/mechanism=mnar/agent=dqn/policy.safetensors"
IMPUTED = "results/imputations/dataset=tiny_world/mechanism=mnar/imputed.parquet"
LIMIT = 800
HUGE = 10**9


def at_one_time(output: str) -> list[list[int]]:
    """MB of the jobs that ran together, at every start of a job."""
    running: dict[str, int] = {}
    seen = []
    event = (
        r"    jobid: (\d+)$(?:\n    .*)*?\n    resources: .*mem_mb=(\d+)|^Finished jobid: (\d+) "
    )
    for started, mb, finished in re.findall(event, output, flags=re.MULTILINE):
        if started:
            running[started] = int(mb)
            seen.append(list(running.values()))
        else:
            del running[finished]
    return seen


@pytest.fixture(scope="module")
def small_machine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    few = folder / "few.yaml"
    few.write_text("afape: {imputation: {missforest: null, multiple: null}}")
    words = ["--cores", "16", "--resources", f"mem_mb={LIMIT}"]
    words += ["--set-resources", f"impute_features:mem_mb={LIMIT + 100}"]
    done = snakemake(folder, POLICY, IMPUTED, *words, configs=(TINY, few))
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout


def test_sixteen_cores_on_a_small_machine_run_no_more_jobs_than_fit(small_machine):
    together = at_one_time(small_machine)
    assert len(together) == 5
    assert max(map(len, together)) == 2, "jobs that fit do run at one time"
    assert max(map(sum, together)) <= LIMIT


def test_a_job_larger_than_the_machine_runs_alone(small_machine):
    assert [LIMIT] in at_one_time(small_machine)


def test_a_step_larger_than_the_machine_is_named_with_what_it_needs(tmp_path):
    done = snakemake(tmp_path, TABLE, "--resources", "mem_mb=100")
    assert done.returncode == 0, done.stdout[-5000:]
    (line,) = re.findall(r"^Memory: .*", done.stdout, flags=re.MULTILINE)
    assert "100 MB are what jobs may take here" in line
    assert re.search(r"more is needed by prepare_data \(\d+ MB\): such a job runs alone", line)


def test_without_a_word_the_limit_is_what_the_machine_has_left(tiny_run):
    limit = int(re.findall(r"Provided resources: mem_mb=\D*(\d+)", tiny_run.output)[0])
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20
    assert 1 <= limit < total


def stated_mb(folder: Path, *words: str) -> int:
    """What a job is given that asks for more than any machine has."""
    done = snakemake(folder, TABLE, "--set-resources", f"prepare_data:mem_mb={HUGE}", *words)
    assert done.returncode == 0, done.stdout[-5000:]
    (mb,) = re.findall(r"resources: .*mem_mb=(\d+)", done.stdout)
    return int(mb)


def test_jobs_of_this_machine_are_held_to_its_memory(tmp_path):
    assert stated_mb(tmp_path, "--cores", "2", "--jobs", "2") < HUGE


def test_jobs_that_are_submitted_are_not(tmp_path):
    assert stated_mb(tmp_path, "-n", "--executor", "slurm", "--jobs", "2") == HUGE


def test_the_plan_stands_on_the_terminal_once_before_the_first_job(tiny_run):
    plan = re.findall(r"^Plan: \d+ jobs: .*", tiny_run.output, flags=re.MULTILINE)
    assert len(plan) == 1
    assert "  roll_out   " not in tiny_run.output.split("Plan: ")[1]
    assert tiny_run.output.index("\nPlan: ") < tiny_run.output.index("rule prepare_data:")


def test_the_plan_of_ones_own_table_is_that_of_its_answer(tmp_path):
    table = f"table={ROOT / 'docs/examples/clinic.yaml'}"
    said = snakemake(tmp_path, "plan", "--config", table, configs=()).stdout
    assert "  learn_candidates            5 jobs" in said, said
    assert "train_dadi" not in said


@pytest.fixture(scope="module")
def paper_run(tmp_path_factory):
    """One step at the papers' scale, of a table that needs no download."""
    folder = tmp_path_factory.mktemp("paper")
    words = ["--config", "scale=paper", f"data_mirror={folder}", "--quiet"]
    done = snakemake(folder, TABLE, *words)
    assert done.returncode == 0, done.stdout[-5000:]
    return folder, done.stdout


def test_at_the_papers_scale_the_whole_plan_does_quiet_or_not(paper_run):
    _, output = paper_run
    lines = output[output.index("Plan: 1 job: ") :].splitlines()
    assert lines[1].startswith("  prepare_data   ")
    assert output.count("Plan: ") == 1


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([TABLE], id="nothing to do"),
        pytest.param(["--quiet", "all", "--force", TABLE], id="nothing is to be said"),
    ],
)
def test_no_plan_is_stated_where_no_step_will_run(paper_run, words):
    """Nor in a dry run, an audit or a report: test_afape_run.py."""
    folder, _ = paper_run
    assert "Plan:" not in snakemake(folder, *words).stdout
