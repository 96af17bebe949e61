"""The fit of the costs: growth that was put in comes out, also at sizes that were not shown."""

import json
from pathlib import Path

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.run.cost_fit import GROWS, Measured, costs_yaml, fitted_costs, measured_jobs
from frugal.run.job_sizes import SIZES
from frugal.run.plans import Costs, Job, amount, cost_of, load_costs
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
REFERENCE = dict.fromkeys(SIZES, 1.0) | {"rows": 1000.0}
BY_HAND = {
    "stage": "audit",
    "cpu_s": {"start": 5, "more": 0},
    "memory_mb": {"start": 200, "more": 16, "rows": 1},
}
BEFORE = Costs([BY_HAND], REFERENCE, {"heloc": 10459}, "here")
POINTS = [(500, 2, 1), (8_000, 2, 1), (1_000, 6, 1), (1_000, 2, 5), (4_000, 4, 3)]


def taken(sizes, noise=1.0):
    n, p, s = sizes
    cpu_s = 1.5 + 0.8 * (n / 1000) ** 1.1 * (p / 2) ** 1.6 * s
    return {"cpu_s": cpu_s * noise, "memory_mb": 170 + 20 * (n / 1000) * np.sqrt(s)}


def job(sizes, stage="roll_out", kind=None):
    named = zip(("rows", "panels", "seeds"), map(float, sizes), strict=True)
    return Job(stage, {}, dict(named), kind)


def predicted(costs, wanted, name="cpu_s"):
    cost, guessed = cost_of(wanted, costs)
    assert cost is not None
    assert not guessed
    return amount(cost, name, wanted, costs.reference)


@settings(max_examples=10)
@given(st.tuples(st.integers(300, 30_000), st.integers(2, 7), st.integers(1, 6)), st.integers(0, 9))
def test_growth_holds_at_sizes_that_were_not_shown(sizes, seed):
    noise = np.random.default_rng(seed).uniform(0.95, 1.05, len(POINTS))
    measured = [Measured(job(p), taken(p, k)) for p, k in zip(POINTS, noise, strict=True)]
    costs = fitted_costs(measured, BEFORE)
    for name, true in taken(sizes).items():
        assert 1 / 1.5 < predicted(costs, job(sizes), name) / true < 1.5


def test_a_stage_that_does_not_grow_keeps_its_mean_time_and_its_largest_peak():
    measured = [
        Measured(job(POINTS[0], "check_afape"), {"cpu_s": c, "memory_mb": m})
        for c, m in ((1.0, 150.0), (2.0, 170.0))
    ]
    costs = fitted_costs(measured, BEFORE)
    assert predicted(costs, job(POINTS[1], "check_afape")) == 1.5
    assert predicted(costs, job(POINTS[1], "check_afape"), "memory_mb") == 170


def test_kinds_of_one_stage_have_costs_of_their_own():
    measured = [
        Measured(job(p, "fit_nuisances", kind), {"cpu_s": cpu_s, "memory_mb": 200.0})
        for p in POINTS
        for kind, cpu_s in (("network", 30.0), ("logistic", 3.0))
    ]
    costs = fitted_costs(measured, BEFORE)
    wanted = job(POINTS[1], "fit_nuisances", "logistic")
    assert predicted(costs, wanted) == pytest.approx(3, rel=0.1)
    cost, guessed = cost_of(job(POINTS[1], "fit_nuisances", "mine"), costs)
    assert guessed
    assert cost is not None
    assert cost["kind"] == "network", "the dearest stands in"


def test_what_was_not_measured_stays_as_it_was_and_the_text_is_read_back(tmp_path):
    costs = fitted_costs([Measured(job(p), taken(p)) for p in POINTS], BEFORE)
    path = tmp_path / "costs.yaml"
    path.write_text(costs_yaml(costs, ["Why."]))
    assert path.read_text().startswith("# Why.\n")
    read = load_costs(path)
    assert read == costs
    assert BY_HAND in read.entries


def test_jobs_of_a_run_get_the_sizes_of_its_config_and_those_that_failed_are_left_out(tmp_path):
    sizings = [{"stages": [], "keys": {"dataset": "a"}, "sizes": {"rows": 7}, "kind": None}]
    (tmp_path / "sizes.json").write_text(json.dumps(sizings))
    (tmp_path / "fit").mkdir()
    for name, ended in (("a", "done"), ("b", "failed")):
        line = {"cpu_s": 1.0, "wall_s": 1.0, "memory_mb": 9.0, "ended": ended}
        (tmp_path / f"fit/dataset={name}.jsonl").write_text(json.dumps(line) + "\n")
    (found,) = measured_jobs(tmp_path)
    assert (found.job.keys, found.job.sizes) == ({"dataset": "a"}, {"rows": 7})


def test_a_run_without_sizes_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"sizes\.json"):
        measured_jobs(tmp_path)


def test_the_shipped_costs_grow_only_with_what_their_stage_may_grow_with():
    for cost in load_costs(ROOT / "config/costs.yaml").entries:
        grows = {size for name in ("cpu_s", "memory_mb") for size in cost[name]} & SIZES.keys()
        assert grows <= {*GROWS.get(cost["stage"], ("rows",))}, cost["stage"]
