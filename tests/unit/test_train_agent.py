"""An agent that learns: on which rows, from what the records hold, and how it is stored and run."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from frugal.acquire import kinds
from frugal.acquire.encoders import TabulatedEncoder
from frugal.acquire.kinds import Ground, build_policy
from frugal.acquire.policies import dqn as dqn_agent
from frugal.acquire.policies.dqn import QPolicy, scaled_loss
from frugal.acquire.rollouts import roll_out as run_policy
from frugal.answer.stages.agents import roll_out, train_agent
from frugal.answer.stages.data import fit_classifier
from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import World
from frugal.data.tables import table_to_frames
from frugal.learn.tree_scoring import expected_cost_prediction, predict_proba
from frugal.learn.trees import TreeEnsemble
from frugal.results.replacing import collected
from frugal.studies.afape.stages.estimates import fit_nuisances

from tests.unit.acquisition_cases import small_problem
from tests.unit.afape_chain import (
    CLASSIFIER,
    NO_IMPUTATION,
    NUISANCE,
    draw,
    partitions,
    small_table,
)
from tests.unit.stored_bundles import as_read

pytestmark = pytest.mark.trains

DQN: dict[str, Any] = {"kind": "dqn", "hidden": [16], "double": False, "dueling": False}
DQN |= {"huber_bound": None, "learning_rate": 0.005, "learning_rate_last": 0.0001, "discount": 1.0}
DQN |= {"batch": 64, "memory": 4000, "learning_starts": 100, "transitions_per_update": 16}
DQN |= {"target_every": 128, "exploration_share": 0.5, "epsilon_first": 1.0, "epsilon_last": 0.2}
DQN |= {"max_gradient_norm": 10.0, "episodes": 64, "transitions": 4000, "start": "free"}
DQN |= {"moments": 5}
PANELS = {
    "P2": {"intercept": 1.0, "values": {"X1": 0.5}},
    "P3": {"intercept": 0.5, "values": {"X2": -0.5}},
}


def stored(table: Table, parts: np.ndarray) -> dict[str, Any]:
    """Table, classifier and masks as the steps before store them."""
    frame, catalogue = table_to_frames(table, parts)
    drawn = draw(table, PANELS, source="induced", seeds=(3, 4))
    context = Context(CLASSIFIER, Streams(1, "fit_classifier", {}))
    given = {"table": frame, "catalogue": catalogue}
    classifier = fit_classifier(**given, context=context)["classifier"]
    return given | {"classifier": classifier, "masks": drawn["masks"]}


def ground_of(table: Table, recorded: np.ndarray, given: dict[str, Any]) -> Ground:
    """What training on these rows stands on."""
    ensemble = TreeEnsemble.from_arrays(given["classifier"])
    return Ground(table, recorded, None, ensemble, Streams(1, "train_agent", {}))


def train(given: dict[str, Any], *, seed: int = 1, **changed: Any) -> dict[str, Any]:
    return train_agent(
        **given, context=Context(DQN | changed, Streams(seed, "train_agent", {"agent": "dqn"}))
    )


@pytest.fixture(scope="module")
def parts() -> np.ndarray:
    return np.repeat(["train", "agent", "test"], [80, 80, 80])


@pytest.fixture(scope="module")
def table() -> Table:
    return small_table()


@pytest.fixture(scope="module")
def given(table, parts) -> dict[str, Any]:
    return stored(table, parts)


@pytest.fixture(scope="module")
def trained(given) -> dict[str, Any]:
    return train(given)


def test_what_other_rows_and_seeds_hold_is_not_read(given, trained, parts):
    masks = given["masks"].copy()
    unread = (masks["seed"] != 3) | ~np.isin(np.arange(len(masks)) % 240, np.arange(80, 160))
    masks.loc[unread, ["observed:P2", "observed:P3"]] = False
    frame = given["table"].copy()
    values = [c for c in frame.columns if c in ("X1", "X2", "X3", "X4")]
    frame.loc[parts != "agent", values] = -7.0
    again = train(given | {"masks": masks, "table": frame})
    for name, array in trained["policy"].arrays.items():
        np.testing.assert_array_equal(array, again["policy"].arrays[name])


def test_values_that_no_record_holds_are_not_read(table, given, trained, parts):
    rows = np.flatnonzero(parts == "agent")
    observed = given["masks"].iloc[rows][["observed:P2", "observed:P3"]].to_numpy()
    hidden = ~table.take(rows).columns_observed(observed)
    frame = given["table"].copy()
    names = list(table.columns)
    changed = frame.loc[parts == "agent", names].to_numpy().copy()
    changed[hidden] = 99.0
    frame.loc[parts == "agent", names] = changed
    assert hidden.any()
    again = train(given | {"table": frame})
    for name, array in trained["policy"].arrays.items():
        np.testing.assert_array_equal(array, again["policy"].arrays[name])


def test_scaling_is_that_of_recorded_values(table, given):
    recorded = np.random.default_rng(0).random((len(table), len(table.actions))) < 0.5
    table = small_table()
    table.values[3, 0] = np.nan
    scaling = ground_of(table, recorded, given).scaling
    seen = np.where(table.columns_observed(recorded), table.values, np.nan)
    np.testing.assert_allclose(scaling.centre, np.nanmean(seen, axis=0), rtol=1e-12)
    np.testing.assert_allclose(scaling.scale, np.nanstd(seen, axis=0), rtol=1e-12)


def test_observations_are_tabulated_where_their_table_is_small(monkeypatch):
    """The table has 4 · n · 2^a · w bytes: n rows, a panels, a width of w."""
    world, encoder = small_problem()
    n, a = len(world), 4
    ground: Any = SimpleNamespace(recorded=np.ones((n, a), dtype=bool))
    gib = 4 * n * 2**a * encoder.width / 2**30
    for share, most, tabulated in ((1.0, a, True), (0.999, a, False), (1.0, a - 1, False)):
        monkeypatch.setattr(kinds, "TABLE_GIB", share * gib)
        monkeypatch.setattr(kinds, "MAX_ACTIONS_TABULATED", most)
        assert isinstance(Ground.observed(ground, encoder), TabulatedEncoder) == tabulated


def test_the_loss_of_a_set_is_that_of_the_classifiers_decision(monkeypatch, table, given):
    ensemble = TreeEnsemble.from_arrays(given["classifier"])
    unit = table.misclassification_cost.max()
    ground = ground_of(table, np.ones((len(table), 2), dtype=bool), given)
    listed = scaled_loss(ground)
    monkeypatch.setattr(dqn_agent, "MAX_ACTIONS_TABULATED", 0)
    asked = scaled_loss(ground)
    row = np.arange(len(table))
    for code, chosen in enumerate([(0, 0), (1, 0), (0, 1), (1, 1)]):
        acquired = np.tile(np.array(chosen, dtype=bool), (len(table), 1))
        shares = predict_proba(ensemble, table.values, table.columns_observed(acquired))
        decided = expected_cost_prediction(shares, table.misclassification_cost)
        expected = table.misclassification_cost[table.label, decided] / unit
        np.testing.assert_allclose(listed[:, code], expected, rtol=1e-6)
        np.testing.assert_allclose(asked(row, acquired), expected, rtol=1e-6)


def test_the_stored_policy_beats_doing_the_same_for_everyone(table, parts):
    """The best of five trainings; one of eight did no better than that. False alarms: 1/8⁵ = 3e-5.

    Errors are so dear that panels pay for some units and not for others.
    """
    table = replace(table, misclassification_cost=table.misclassification_cost * 6)
    given = stored(table, parts)
    rows = np.flatnonzero(parts == "agent")
    data = table.take(rows)
    available = given["masks"].iloc[rows][["observed:P2", "observed:P3"]].to_numpy()
    ground = ground_of(data, available, given)
    loss = scaled_loss(ground)

    def cost(acquired: np.ndarray) -> float:
        at_end = ground.unit * loss[np.arange(len(data)), acquired @ np.array([1, 2])]
        return float((acquired @ data.action_cost + at_end).mean())

    def cost_of_training(seed: int) -> float:
        made = train(given, seed=seed, transitions=30_000, memory=30_000)
        episodes = run_policy(
            QPolicy.from_arrays(made["policy"].arrays),
            World.of_table(data, available=available),
            uniforms=np.random.default_rng(0).random((len(data), 3)),
        )
        return cost(episodes.acquired[0])

    same = [cost(available & np.array(s, dtype=bool)) for s in ([0, 0], [1, 0], [0, 1], [1, 1])]
    assert min(cost_of_training(seed) for seed in range(1, 6)) < min(same)


def test_the_curve_is_in_the_unit_of_cost_and_rises(trained):
    curve = trained["training"]
    assert list(curve.columns) == ["transitions", "mean_return", "td_error", "epsilon"]
    assert curve["transitions"].tolist()[-1] == 63 * 64  # whole steps of 64 episodes
    assert curve["mean_return"].iloc[-1] > curve["mean_return"].iloc[0]
    assert (curve["mean_return"] < 0).all()
    assert curve["epsilon"].is_monotonic_decreasing


def test_rollouts_and_nuisances_take_the_stored_policy(given, trained, table):
    drawn = draw(table, PANELS, source="induced")
    names = {k: given[k] for k in ("table", "catalogue")}
    from frugal.studies.afape.stages.records import impute_features

    def context(settings: dict[str, Any], stage: str) -> Context:
        own = {"dataset": "d", "mechanism": "m", "agent": "dqn"}
        return Context(settings, Streams(1, stage, own))

    imputed = collected(
        impute_features(
            **names, masks=drawn["masks"], context=context(NO_IMPUTATION, "impute_features")
        )
    )
    played = collected(
        roll_out(
            **names,
            classifier=given["classifier"],
            **drawn,
            **imputed,
            context=context(DQN, "roll_out"),
            policy=as_read(trained["policy"]),
        )
    )
    assert (played["decisions"]["probability"] == 1).all()
    fitted = collected(
        fit_nuisances(
            **names,
            **drawn,
            blocked=partitions({"dqn": played["blocked"]}),
            context=context(NUISANCE | {"agents": {"dqn": DQN}, "filed": ["dqn"]}, "fit_nuisances"),
            policy_0=as_read(trained["policy"]),
        )
    )
    assert fitted["agents"]["afa_propensity_policy"].between(0, 1).any()


def test_rows_for_the_agent_and_its_policy_are_requested_for(table, given):
    frame, catalogue = table_to_frames(table, np.repeat(["train", "test"], 120))
    with pytest.raises(DataError, match="needs rows in the part 'agent'"):
        train(given | {"table": frame, "catalogue": catalogue})
    with pytest.raises(ConfigError, match="acts by the results of `train_agent`"):
        build_policy(DQN, table=table)
