"""Worlds of known truth: laws of gaps, draws that are judged, and what is counted of verdicts."""

import copy
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from frugal.answer.stages.data import fit_classifier
from frugal.config.root import effective
from frugal.core import blocks
from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError
from frugal.core.streams import Streams
from frugal.data.tables import table_to_frames
from frugal.missing.graphs import parse_graph
from frugal.missing.identification import identify
from frugal.missing.law import MECHANISMS, draw_mask, grid_law
from frugal.studies.afape.spec import Grid
from frugal.studies.afape.stages.worlds import judge_world, summarise_grid

from tests.defaults import DEFAULT
from tests.unit.afape_chain import AGENTS, CLASSIFIER, EVALUATION, NUISANCE
from tests.unit.missingness_tables import table_of, three_panels, uniforms

pytestmark = pytest.mark.trains
IMPUTATION = {
    "chained_trees": {
        "rounds": 1,
        "trees": 5,
        "leaves": 4,
        "learning_rate": 0.3,
        "min_leaf": 20,
        "linear_penalty": 1.0,
    },
    "missforest": None,
    "multiple": None,
}
WORLD: dict[str, Any] = {"mechanism": "mnar", "missing_share": 0.4, "panels": 4, "draws": 2}
WORLD |= {"rows": 200, "imputed_draws": 1, "imputation": IMPUTATION, "agents": AGENTS}
WORLD |= {"nuisance": NUISANCE, "evaluation": EVALUATION}


@pytest.mark.parametrize("share", [0.3, 0.7])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_panel_is_missing_in_the_share_that_is_requested_for(mechanism, share):
    table = three_panels(20_000, seed=3)
    law = grid_law(table, mechanism, missing_share=share, panels=4)
    assert list(law["panels"]) == ["P2", "P3"]
    mask = draw_mask(table, parse_graph("m", law, table), uniforms(table, np.random.default_rng(1)))
    assert 1 - mask.observed.mean(axis=0) == pytest.approx([share, share], abs=0.02)


def test_causes_are_those_of_the_mechanism():
    table = three_panels(500, seed=3)
    causes = {
        name: [
            list(one["values"])
            for one in grid_law(table, name, missing_share=0.5, panels=4)["panels"].values()
        ]
        for name in MECHANISMS
    }
    assert causes == {
        "mcar": [[], []],
        "mar": [["X1"], ["X1"]],
        "mnar": [["X1"], ["X2"]],
        "self": [["X2"], ["X3"]],
    }
    found = {}
    for name in MECHANISMS:
        law = grid_law(table, name, missing_share=0.5, panels=4)
        found[name] = identify(parse_graph("m", law, table), table, s=None).propensity_identified
    assert found == {"mcar": True, "mar": True, "mnar": True, "self": False}


def test_a_table_without_a_free_column_keeps_a_panel_recorded():
    values = np.random.default_rng(0).normal(size=(300, 2))
    table = table_of(values, {"A": ["X1"], "B": ["X2"]}, [])
    assert list(grid_law(table, "mar", missing_share=0.5, panels=4)["panels"]) == ["A"]
    assert list(grid_law(table, "mcar", missing_share=0.5, panels=4)["panels"]) == ["A", "B"]
    alone = table_of(values[:, :1], {"A": ["X1"]}, [])
    with pytest.raises(ConfigError, match="no column that is always known"):
        grid_law(alone, "mar", missing_share=0.5, panels=4)


@pytest.fixture(scope="module")
def judged():
    return judged_by(WORLD)


def judged_by(settings):
    """A world of 400 rows, of which 300 are the population."""
    table = three_panels(400, seed=5)
    table.label[:] = table.values[:, 1] > 0
    table.values[::7, 2:4] = np.nan  # filled by values of the same column
    part = np.where(np.arange(len(table)) < 100, "train", "test")
    frame, catalogue = table_to_frames(table, part)
    classifier = fit_classifier(
        table=frame,
        catalogue=catalogue,
        context=Context(CLASSIFIER, Streams(1, "fit_classifier", {})),
    )["classifier"]
    return judge_world(
        table=frame,
        catalogue=catalogue,
        classifier=classifier,
        context=Context(settings, Streams(1, "judge_world", {})),
    )


def test_a_world_of_several_blocks_of_rows_is_judged_as_one(monkeypatch, judged):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 130)
    apart = judged_by(WORLD | {"imputed_draws": 0})
    key, numbers = ["draw", "graph", "agent", "estimator"], ["estimate", "std_error", "truth"]
    whole = judged["estimates"].query("status == 'ok' and not estimator.str.contains('imputation')")
    found = apart["estimates"].query("status == 'ok'").set_index(key)[numbers]
    pd.testing.assert_frame_equal(found, whole.set_index(key)[numbers], rtol=1e-9)
    pd.testing.assert_frame_equal(apart["draws"], judged["draws"], rtol=1e-9)


def test_a_world_is_judged_under_its_graph_and_under_none(judged):
    draws, estimates = judged["draws"], judged["estimates"]
    assert sorted(zip(draws["draw"], draws["graph"], strict=True)) == [
        (draw, graph) for draw in (0, 1) for graph in ("mcar", "true")
    ]
    assert set(estimates["agent"]) == set(AGENTS)
    truth = estimates.groupby("agent")["truth"].unique().map(list)
    assert all(len(values) == 1 for values in truth)  # of the population, the same in all draws
    (best,) = set(draws["best"])
    assert best == min(truth.index, key=lambda agent: truth[agent][0])
    lead = pd.Series({agent: values[0] for agent, values in truth.items()}) - truth[best][0]
    costlier = [(lead > 4 * error).sum() for error in draws["std_error"]]  # none is left out here
    assert list(draws["costlier"]) == costlier
    assert (draws["costlier_excluded"] <= draws["costlier"]).all()
    one = estimates[(estimates["estimator"] == "stabilised_ipw") & (estimates["draw"] == 0)]
    by_graph = one.pivot(index="agent", columns="graph", values="estimate")
    assert (by_graph["mcar"] != by_graph["true"]).all()


def test_policies_act_on_imputed_copies_in_the_first_draws_alone(judged):
    estimates = judged["estimates"].set_index(["estimator", "draw"])
    for name, computed in (("imputation_chained_trees", True), ("multiple_imputation", False)):
        done = (estimates.loc[name, "status"] == "ok").groupby(level="draw").all()
        assert list(done) == [computed, False], name


def test_the_summary_counts_verdicts(judged):
    world = {"dataset": "d", "mechanism": "mnar", "missing_share": "0.4"}
    draws = judged["draws"].assign(**world)
    told = ["sure", "regret", "gap", "std_error", "costlier", "costlier_excluded", "best_excluded"]
    draws.loc[draws["graph"] == "true", told] = [True, 0.3, 9.0, 1.0, 3, 2, True]
    draws.loc[draws["graph"] == "mcar", told] = [False, 0.0, 1.0, 1.0, 1, 0, False]
    made = summarise_grid(
        draws=draws,
        estimates=judged["estimates"].assign(**world),
        context=Context({}, Streams(1, "summarise_grid", {})),
    )
    grid = made["grid"].set_index("graph")
    counts = ["draws", "sure_draws", "sure_and_wrong", "clear", "clear_and_sure", *told[4:]]
    found = {graph: [int(row[name]) for name in counts] for graph, row in grid.iterrows()}
    assert found == {"true": [2, 2, 2, 2, 2, 6, 4, 2], "mcar": [2, 0, 0, 0, 0, 2, 0, 0]}
    rows = judged["estimates"].query("graph == 'true' and estimator == 'stabilised_ipw'")
    own = made["grid_estimators"].query("graph == 'true' and estimator == 'stabilised_ipw'").iloc[0]
    assert own["bias"] == pytest.approx((rows["estimate"] - rows["truth"]).mean())
    assert own["covered"] == rows["truth"].between(rows["ci_low"], rows["ci_high"]).sum()


def test_the_grid_of_a_config_is_a_file_for_each_world():
    block = {
        "grid": {
            "datasets": ["a", "b"],
            "mechanisms": ["mar"],
            "missing_shares": [0.3, 0.5],
            "agents": ["x"],
        }
    }
    files = Grid(block, {}).files("draws.parquet")
    assert len(files) == 4
    assert files[0] == "results/grid/dataset=a/mechanism=mar/missing_share=0.3/draws.parquet"


def test_agents_of_the_grid_are_there_and_need_no_file():
    config = copy.deepcopy(DEFAULT)
    config["afape"]["agents"] |= {
        "x": {"kind": "python", "file": "x.py", "function": "choose"},
        "gone": None,
        "states": {"kind": "table", "file": "x.parquet", "dataset": "breast_cancer"},
    }
    refused = {
        ("x",): "names 'x', which acts by a file of one's own",
        ("states",): "names 'states', which acts by a file of one's own",
        ("nevr",): "names 'nevr'; under 'afape.agents' there are random_10",
        ("gone",): "names gone, and each of them is null",
    }
    config["afape"]["grid"]["agents"] = ["never", "gone"]
    effective(config)
    for names, said in refused.items():
        config["afape"]["grid"]["agents"] = list(names)
        with pytest.raises(ConfigError, match=re.escape(said)):
            effective(config)


def test_a_column_without_a_value_is_refused():
    table = three_panels(60, seed=5)
    table.values[:, 2] = np.nan
    frame, catalogue = table_to_frames(table, np.full(60, "test"))
    with pytest.raises(DataError, match="column 'X3' has no value"):
        judge_world(
            table=frame,
            catalogue=catalogue,
            classifier={},
            context=Context(WORLD, Streams(1, "judge_world", {})),
        )


def test_a_cause_is_no_column_of_the_panel_itself_and_not_nearly_constant():
    values = np.random.default_rng(0).normal(size=(300, 5))
    values[:, 0] = (np.arange(300) < 3) * 1.0  # one value in 99 % of the rows
    panels = {"F": ["X1", "X5"], "A": ["X2", "X3"], "B": ["X2", "X3", "X4"]}
    table = table_of(values, panels, ["F"])
    laws = grid_law(table, "mnar", missing_share=0.5, panels=4)["panels"]
    assert [list(law["values"]) for law in laws.values()] == [["X5"], ["X5"]]
