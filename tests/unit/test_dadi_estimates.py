"""A DADI agent judged under missing data by the estimators of afape, through the contract alone."""

import numpy as np
import pytest
from frugal.agents.dadi import fit_dadi
from frugal.agents.dadi_policies import DadiPolicies, panel_of_columns
from frugal.agents.dadi_settings import DadiSettings
from frugal.contracts import Policy
from frugal.stages import fit_nuisances, roll_out

from tests.unit.afape_chain import run_chain, small_table
from tests.unit.dadi_cases import SETTINGS

pytestmark = pytest.mark.trains

LAW = {"P2": {"intercept": 1.0, "values": {"X1": 0.5}}, "P3": {"intercept": 0.5}}


@pytest.fixture(scope="module")
def policy():
    """An agent that was trained on the table of the chain; one decision in five is random."""
    table = small_table()
    settings = DadiSettings(**SETTINGS)
    values = table.values.astype(np.float32)
    group = (table.values[:, 3] > 0).astype(np.int64)
    rows = np.arange(len(table))
    fitted = fit_dadi(
        values, panel_of_columns(table), table.label, group, rows[:80], rows[:80],
        panel_cost=table.action_cost, gammas=np.array([0.5]), settings=settings,
        rng=np.random.default_rng(0), save=lambda state: None, state=None,
    )  # fmt: skip
    agents = DadiPolicies(fitted.weights, settings, panel_of_columns(table))
    return agents.policy(0, exploration=0.2)


@pytest.fixture(scope="module")
def chain(policy):
    with pytest.MonkeyPatch.context() as patch:
        for stage in (roll_out, fit_nuisances):
            patch.setattr(stage, "build_policy", lambda *_, **__: policy)
        return run_chain(small_table(), LAW, source="induced", agents={"dadi": {}})


def test_it_is_a_policy(policy):
    assert isinstance(policy, Policy)


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
