"""A DADI agent judged under missing data by the estimators of afape, through the contract alone."""

import numpy as np
import pytest
from frugal.config.learners import DadiSettings
from frugal.core.layout import Bundle, Layout, bundle_header
from frugal.studies.dadi.fitting import fit_dadi
from frugal.studies.dadi.policies.dadi import NETWORKS, agent_settings, panel_of_columns

from tests.studies.dadi.dadi_cases import SETTINGS
from tests.unit.afape_chain import run_chain, small_table
from tests.unit.stored_bundles import as_read

pytestmark = pytest.mark.trains

AGENT = agent_settings(SETTINGS, 0.5, 0.2) | {"exploration": 0.2}  # of five decisions one is random
LAW = {"P2": {"intercept": 1.0, "values": {"X1": 0.5}}, "P3": {"intercept": 0.5}}


@pytest.fixture(scope="module")
def stored():
    """The file of an agent that was trained on the table of the chain."""
    table = small_table()
    values = table.values.astype(np.float32)
    group = (table.values[:, 3] > 0).astype(np.int64)
    rows = np.arange(len(table))
    fitted = fit_dadi(
        values,
        panel_of_columns(table),
        table.label,
        group,
        rows[:80],
        rows[:80],
        panel_cost=table.action_cost,
        gammas=np.array([0.5]),
        settings=DadiSettings(**SETTINGS),
        rng=np.random.default_rng(0),
        save=lambda state: None,
        state=None,
    )
    arrays = {NETWORKS + name: array for name, array in fitted.weights.items()}
    d = len(table.columns)
    arrays |= {"centre": np.zeros(d), "scale": np.ones(d)}
    return as_read(Bundle(bundle_header("dadi", AGENT, Layout.of(table), "0" * 64), arrays))


@pytest.fixture(scope="module")
def chain(stored):
    return run_chain(
        small_table(), LAW, source="induced", agents={"dadi": AGENT}, policies={"dadi": stored}
    )


def test_it_is_rolled_out_on_records_and_on_the_full_table(chain):
    acquired = chain.worlds.loc[chain.worlds["world"] == "full"].filter(like="acquired:")
    assert acquired.to_numpy().any()
    blocked = chain.blocked.filter(like="acquired:").to_numpy()
    observed = chain.drawn["masks"].filter(like="observed:").to_numpy()
    assert not (blocked & ~observed[-len(blocked) :]).any()


@pytest.mark.parametrize(
    "estimator", ["ground_truth", "blocking", "stabilised_ipw", "stabilised_afais"]
)
def test_it_has_an_estimate_with_an_interval_near_the_truth(chain, estimator):
    row = chain.rows(estimator).iloc[0]
    assert row["status"] == "ok", row["reason"]
    assert row["ci_low"] <= row["estimate"] <= row["ci_high"]
    truth = chain.rows("ground_truth").iloc[0]["estimate"]
    if estimator.startswith("stabilised"):  # 160 test rows: five standard errors, fixed seed
        assert abs(row["estimate"] - truth) <= 5 * row["std_error"]
