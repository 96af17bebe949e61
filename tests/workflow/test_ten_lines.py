"""One's own small table, from the example's two files to a summary without a truth."""

import pandas as pd
import pytest

from tests.workflow.runs import ROOT, TEN_LINES, jobs, snakemake

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ten")
    done = snakemake(folder, "afape", configs=(TEN_LINES,))
    assert done.returncode == 0, done.stdout[-5000:]
    assert jobs(done.stdout)["roll_out"] == 4
    return folder


@pytest.fixture(scope="module")
def summary(folder):
    return pd.read_parquet(folder / "results" / "summary" / "afape.parquet", partitioning=None)


def test_the_truth_is_unknown_and_said_to_be(summary):
    assert summary["truth"].isna().all()
    truth = summary[summary["estimator"] == "ground_truth"]
    assert (truth["status"] == "not_available").all()
    assert truth["reason"].str.contains("the truth is unknown").all()


def test_what_needs_the_true_law_is_not_available(summary):
    true_law = summary[summary["estimator"].str.endswith("_true")]
    assert (true_law["status"] == "not_available").all()


def test_what_the_config_leaves_out_is_not_available(summary):
    imputed = summary[summary["estimator"].str.contains("imputation")]
    assert (imputed["status"] == "not_available").all()
    assert imputed["reason"].str.contains("leaves this imputation out").all()


def test_the_other_estimators_give_costs_that_the_table_allows(summary):
    done = summary[summary["status"] == "ok"].set_index(["agent", "estimator"])
    assert {"blocking", "complete_case", "stabilised_ipw", "stabilised_afais_s"} <= {
        estimator for _, estimator in done.index
    }
    # a self-normalised mean lies between the cheapest and the dearest case: tests cost 30 and 900,
    # a false alarm 1000, a missed infarction 5000
    for estimator in ("blocking", "complete_case", "stabilised_ipw", "stabilised_afais_s"):
        cost = done.xs(estimator, level="estimator")["estimate"]
        assert cost.between(0, 5930).all()
        assert cost["never"] < cost["blood_first"] < cost["always"]  # tests only cost here
    assert done.loc[("always", "complete_case"), "acquisition_cost"] == pytest.approx(930)
    assert done.loc[("never", "blocking"), "acquisition_cost"] == 0


def test_ones_own_rule_looks_further_where_troponin_is_raised(folder, summary):
    table = pd.read_csv(ROOT / "docs" / "examples" / "ten_lines.csv")
    scenario = "dataset=ten_lines/mechanism=own/agent=by_troponin"
    path = folder / "results" / "rollouts" / scenario / "blocked.parquet"
    played = pd.read_parquet(path, partitioning=None)
    assert len(played) == 6
    rows = table.loc[played["row_id"]]
    blood = rows["troponin"].notna().to_numpy()
    further = ((rows["troponin"] > 0.5) & rows["angiography"].notna()).to_numpy()
    assert (played["acquired:blood test"] == blood).all()
    assert (played["acquired:angiography"] == further).all()
    blocking = summary.set_index(["agent", "estimator"]).loc[("by_troponin", "blocking")]
    cost = (30 * blood + 900 * further).mean()
    assert blocking["acquisition_cost"] == pytest.approx(cost)


def test_so_few_rows_are_warned_of(summary):
    done = summary[summary["status"] == "ok"]
    assert (done["n"] == 6).all()
    assert done["warning"].str.contains("ess_below_30").all()
