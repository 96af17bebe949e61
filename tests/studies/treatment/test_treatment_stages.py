"""The stages of the treatment study, from raw tests to figures, in memory and twice alike."""

import copy
from pathlib import Path

import pandas as pd
import pytest
import yaml
from frugal.core.columns import describe_columns
from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError
from frugal.core.schema_check import read_yaml
from frugal.core.streams import Streams
from frugal.studies.treatment import columns
from frugal.studies.treatment.data.records import SearchSizeError
from frugal.studies.treatment.searches import IDENTITY
from frugal.studies.treatment.spec import load_treatment_study
from frugal.studies.treatment.stages.drawing import (
    draw_policy,
    draw_table_figures,
    draw_world_figures,
)
from frugal.studies.treatment.stages.planners import (
    compare_planners,
    prepare_searches,
    time_planners,
)
from frugal.studies.treatment.stages.tables import (
    add_cpu_times,
    check_treatment,
    summarise_treatment,
)
from matplotlib.figure import Figure

from tests.defaults import DEFAULT
from tests.studies.treatment.search_files import own_table

ROOT = Path(__file__).parents[3]
SWEEP = {  # at a price of 9 ndp tries nothing
    "n_train": None,
    "planners": ["cdp", "cg", "ndp", "doctor"],
    "outcome_models": ["smoothed"],
    "bounds": ["upper"],
    "deltas": [0.0, 0.4],
    "trial_prices": [0.35, 0.6, 9.0],
}


def _config(folder):
    world = read_yaml(ROOT / "config/datasets/treatment/synthetic_search.yaml")
    world["actions"] = {"A1": "1", "A2": "2", "A3": "3"}
    world["options"]["test_units"] = 60
    (folder / "world.yaml").write_text(yaml.safe_dump(world))
    config = copy.deepcopy(DEFAULT)
    config["datasets"] = {"own": str(own_table(folder)), "world": str(folder / "world.yaml")}
    block = config["treatment"]
    block["forest"]["trees"] = 3
    sizes = SWEEP | {"n_train": [20, 60], "planners": ["cdp", "ndp"], "deltas": [0.4]}
    sizes |= {"trial_prices": [0.35]}
    drawn = SWEEP | {"n_train": [60], "bounds": ["upper", "lower", "exact"]}
    drawn |= {"outcome_models": ["smoothed", "true"]}
    block["scenarios"] = {
        "own": {"dataset": "own", "seeds": 2, "redraw_world": False, "grids": {"sweep": SWEEP}},
        "world": {
            "dataset": "world",
            "seeds": 2,
            "redraw_world": True,
            "grids": {"sizes": sizes, "sweep": drawn},
        },
    }
    return config


def _run(folder):
    """Every stage by hand, as the rules would call them."""
    study = load_treatment_study(_config(folder), ROOT)
    made: dict[str, dict] = {}
    for name in ("own", "world"):
        streams = Streams(1, "test", {"dataset": name})
        inputs = {"description": folder / f"{name}.yaml"}
        if name == "own":
            inputs = made["prepared"] = prepare_searches(
                **inputs,
                raw_0=folder / "isolates.csv",
                context=Context(study.prepare_settings(name), streams),
            )
        inputs["context"] = Context(study.compare_settings(name), streams)
        made[name] = compare_planners(**inputs)
        made[name] |= time_planners(**inputs)

    def stacked(output):
        return pd.concat([made[n][output].assign(dataset=n) for n in ("own", "world")])

    nothing = Context({}, Streams(1, "test", {}))
    made["summary"] = summarise_treatment(
        scores=stacked("scores"), best_after=stacked("best_after"), context=nothing
    )
    made["timed"] = add_cpu_times(
        repeats=made["summary"]["repeats"], timings=stacked("timings"), context=nothing
    )
    made["trials"] = {"trials": stacked("trials")}
    return study, made


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return _run(tmp_path_factory.mktemp("run"))


def test_the_summary_has_the_columns_of_the_contract(run):
    summary = run[1]["timed"]["summary"]
    contract = ["dataset", "n_train", "planner", "outcome_model", "bound", "threshold", "seed"]
    assert list(summary)[:10] == [*contract, "efficacy", "mean_trials", "cpu_s"]
    assert not summary.duplicated(contract).any()
    assert (summary["cpu_s"] >= 0).all()
    untimed = summary.drop(columns="cpu_s")
    pd.testing.assert_frame_equal(untimed, run[1]["summary"]["repeats"])


def test_a_policy_that_was_not_timed_stops_the_run(run):
    timings = run[1]["timed"]["summary"].drop_duplicates(["dataset", *IDENTITY])
    timings = timings[["dataset", "n_train", *IDENTITY, "cpu_s"]]
    kept = timings[timings["planner"] != "ndp"]
    nothing = Context({}, Streams(1, "test", {}))
    with pytest.raises(DataError, match=r"\d+ policies were not timed by time_planners, first"):
        add_cpu_times(repeats=run[1]["summary"]["repeats"], timings=kept, context=nothing)


def test_every_column_is_described(run):
    for stage in ("prepared", "own", "world", "summary", "timed", "trials"):
        for payload in run[1][stage].values():
            if isinstance(payload, pd.DataFrame):
                describe_columns(payload, {}, columns)


def test_a_second_run_gives_the_same_tables(run, tmp_path_factory):
    again = _run(tmp_path_factory.mktemp("again"))[1]
    for name in ("scores", "trials", "best_after", "policies"):
        for dataset in ("own", "world"):
            pd.testing.assert_frame_equal(run[1][dataset][name], again[dataset][name])
    pd.testing.assert_frame_equal(run[1]["prepared"]["searches"], again["prepared"]["searches"])


def _check(run, summary):
    return check_treatment(
        repeats=summary,
        trials=run[1]["trials"]["trials"],
        context=Context(run[0].check_settings(), Streams(1, "test", {})),
    )


def test_the_check_passes_and_finds_what_is_wrong(run):
    summary = run[1]["summary"]["repeats"]
    assert _check(run, summary)["checks"]["rows"] == len(summary)
    with pytest.raises(DataError, match="policies of own per seed"):
        _check(run, summary.drop(index=0))
    with pytest.raises(DataError, match="efficacy follows from the counted units"):
        _check(run, summary.assign(efficacy=summary["efficacy"] * 0.999))
    idle = summary["threshold"] == 9.0
    assert (summary.loc[idle, ["mean_trials", "worst_case", "efficacy"]] == 0).all().all()
    assert summary.loc[idle, "mean_outcome"].isna().all()
    with pytest.raises(DataError, match=r"a search has a trial, at dataset own, n_train \d+, plan"):
        _check(run, summary.assign(mean_trials=0.5))
    with pytest.raises(DataError, match=r"seeds \[0\] of own"):
        _check(run, summary[summary["seed"] == 0])


def test_splits_never_divide_a_patient(run):
    prepared = run[1]["prepared"]
    searches = prepared["searches"].merge(prepared["units"][["row_id", "patient"]], on="row_id")
    for _, rows in searches.groupby("seed"):
        assert (rows.groupby("patient")["part"].nunique() == 1).all()
    assert prepared["catalogue"]["report"]["prescriptions"] == "simulated"


def test_opened_policies_are_decision_trees(run):
    policies = run[1]["world"]["policies"]
    assert set(policies["seed"]) == {0, 1}
    counts = policies[policies["history"] == ""].groupby(["grid", "n_train", "seed"]).size()
    assert (counts.unstack("seed").nunique(axis=1) == 1).all()  # every repeat, every policy
    policies = policies[policies["seed"] == 1]
    one = policies[(policies["planner"] == "cdp") & (policies["threshold"] == 0.4)]
    one = one[(one["grid"] == "sweep") & (one["bound"] == "upper")]
    one = one[one["outcome_model"] == "true"]
    for _, tree in one.groupby("context"):
        assert (tree["history"] == "").sum() == 1
        going = tree[tree["next"] != "stop"]
        assert len(tree) == 1 + 2 * len(going)  # two outcomes short of the best follow each trial
        stops = tree[(tree["next"] == "stop") & (tree["trials"] < 3)]
        assert (stops["better_untried"] <= 0.4 + 1e-12).all()


def _drawn(run, **settings):
    return draw_policy(
        policies=run[1]["world"]["policies"],
        context=Context(settings, Streams(0, "draw_policy", {})),
    )["tree"]


def test_any_policy_can_be_drawn_by_its_columns(run):
    named = {"grid": "sweep", "planner": "cg", "outcome_model": "true", "bound": "exact"}
    named |= {"threshold": 0.4, "seed": 1}
    figure = _drawn(run, policy=named, best="2", title="Greedy", contexts=["X = 1"])
    assert len(figure.axes) == 1
    assert figure.get_suptitle().startswith("Greedy; after outcome 2")
    told = _drawn(run, policy=named, best="2").get_suptitle()
    assert told.startswith("seed 1, n_train 60, planner cg, outcome_model true, bound exact")
    with pytest.raises(ConfigError, match="several policies are left: seed is 0, 1; name one"):
        _drawn(run, policy={k: v for k, v in named.items() if k != "seed"}, best="2")
    with pytest.raises(ConfigError, match=r"no such policy has threshold 0.5; there are 0.0, 0.4"):
        _drawn(run, policy=named | {"threshold": 0.5}, best="2")
    with pytest.raises(ConfigError, match="a policy has no column 'delta'"):
        _drawn(run, policy={"delta": 0.4}, best="2")
    with pytest.raises(ConfigError, match="takes the settings policy and best"):
        _drawn(run, policy=named)


def test_too_many_covariates_are_refused_before_contexts_are_named(tmp_path):
    study = load_treatment_study(_config(tmp_path), ROOT)
    world = read_yaml(tmp_path / "world.yaml")
    world["options"]["covariates"] = 30
    (tmp_path / "world.yaml").write_text(yaml.safe_dump(world))
    with pytest.raises(SearchSizeError, match=r"at most [1-9]\d* contexts fit with 3"):
        compare_planners(
            description=tmp_path / "world.yaml",
            context=Context(
                study.compare_settings("world"), Streams(1, "test", {"dataset": "world"})
            ),
        )


def test_figures_are_drawn_with_their_tables(run):
    study, made = run
    summary = made["summary"]
    world = draw_world_figures(
        means=summary["means"],
        policies=made["world"]["policies"],
        context=Context(study.figure_settings("world"), Streams(1, "test", {"dataset": "world"})),
    )
    table = draw_table_figures(
        means=summary["means"],
        curves=summary["curves"],
        policies=made["own"]["policies"],
        units=made["prepared"]["units"],
        catalogue=made["prepared"]["catalogue"],
        context=Context(study.figure_settings("own"), Streams(1, "test", {"dataset": "own"})),
    )
    assert len(world) == 6 * 4
    assert len(table) == 5 * 4
    for name, payload in (world | table).items():
        if name.endswith(("_table", "_page")):
            describe_columns(payload, {}, columns)
        else:
            assert isinstance(payload, Figure)
    assert set(table["search_curves_table"]["series"]) == {"cdp", "cg", "ndp", "doctor", "observed"}
