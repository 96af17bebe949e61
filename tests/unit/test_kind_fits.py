"""What kinds of agents hand to their trainers: prices in units of the dearest error, rows, groups.

The trainers are replaced by ones that note what they are given; they have tests of their own.
"""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from frugal.acquire.kinds import Ground
from frugal.acquire.policies import dqn, greedy, sb3
from frugal.core.errors import DataError
from frugal.core.streams import Streams
from frugal.learn.trees import fit_forest
from frugal.studies.dadi.policies import dadi
from frugal.studies.field.policies import cwcf

from tests.studies.dadi.dadi_cases import SETTINGS
from tests.unit.afape_chain import small_table

pytestmark = pytest.mark.trains

ERRORS = np.array([[0.0, 2.0], [8.0, 0.0]])


class Given(Exception):
    """Ends training: what the trainer was given."""


def note(*places: Any, **names: Any) -> Any:
    raise Given(places, names)


def ground(group: np.ndarray | None = None) -> Ground:
    """240 rows of the small table, about half of the panels recorded; errors cost 2 and 8."""
    table = replace(small_table(), misclassification_cost=ERRORS)
    recorded = np.random.default_rng(0).random((len(table), 2)) < 0.5
    seen = np.ones_like(table.values, dtype=bool)
    forest = fit_forest(
        table.values,
        seen,
        table.label,
        classes=2,
        trees=1,
        min_leaf=50,
        rng=np.random.default_rng(0),
    )
    bar = SimpleNamespace(update=lambda n: None, close=lambda: None)
    return Ground(table, recorded, group, forest, Streams(1, "train_agent", {}), lambda **_: bar)


def test_cwcf_learns_costs_in_units_of_the_dearest_error(monkeypatch):
    monkeypatch.setattr(cwcf, "fit_cwcf", note)
    records = ground()
    with pytest.raises(Given) as stopped:
        cwcf.fit(records, {"dqn": {"transitions": 7}})
    (world, encoder), names = stopped.value.args
    assert names["cost_weight"].tolist() == [1 / 8]
    assert names["class_weights"] == (0.25, 1.0)
    assert (world.terminals, world.name) == (2, "blocked")
    known = np.broadcast_to([True, False], records.recorded.shape)
    got = encoder.encode(np.arange(240), known & records.recorded)
    column = records.values[:, 1]
    expected = (column - np.nanmean(column)) / np.nanstd(column)
    np.testing.assert_allclose(got[:, 1], np.nan_to_num(expected), atol=1e-6)


DQN: dict[str, Any] = {"hidden": [4], "double": False, "dueling": False, "huber_bound": None}
DQN |= {"learning_rate": 0.01, "learning_rate_last": 0.01, "discount": 1.0, "batch": 4}
DQN |= {"memory": 100, "learning_starts": 10, "transitions_per_update": 4, "target_every": 8}
DQN |= {"exploration_share": 0.5, "epsilon_first": 1.0, "epsilon_last": 0.2}
DQN |= {"max_gradient_norm": 1.0, "episodes": 4, "transitions": 40, "start": "free", "moments": 5}
SB3 = {"algorithm": "DQN", "policy": "MlpPolicy", "steps": 40, "arguments": {}, "greedy": True}
SB3 |= {"episodes": 4}


@pytest.mark.parametrize(("kind", "settings"), [(dqn, DQN), (sb3, SB3)])
def test_agents_that_only_stop_learn_costs_in_units_of_the_dearest_error(
    monkeypatch, kind, settings
):
    monkeypatch.setattr(kind, "StopReward", note)
    with pytest.raises(Given) as stopped:
        kind.fit(ground(), settings)
    loss, weight = stopped.value.args[0]
    assert weight.tolist() == [1 / 8]
    assert set(np.unique(loss)) <= {0.0, 0.25, 1.0}
    assert loss.max() > 0


def test_dadi_trains_on_standardised_rows_apart_from_those_of_its_curves(monkeypatch):
    monkeypatch.setattr(dadi, "fit_dadi", note)
    group = np.arange(240) % 2
    records = ground(group)
    with pytest.raises(Given) as stopped:
        dadi.fit(records, dadi.agent_settings(SETTINGS, 0.3, 0.2))
    (values, _, label, hidden, train, held), names = stopped.value.args
    assert len(held) == 48
    assert sorted([*train, *held]) == list(range(240))
    assert np.array_equal(hidden, group)
    assert np.array_equal(label, records.table.label)
    assert names["gammas"].tolist() == [0.3]
    assert np.array_equal(names["available"], records.recorded)
    np.testing.assert_allclose(np.nanmean(values[train], axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(np.nanstd(values[train], axis=0), 1, atol=1e-6)


def test_dadi_needs_two_groups():
    for group, said in (
        (None, "and the data set has none"),
        (np.ones(240, dtype=int), "all 240 rows"),
    ):
        with pytest.raises(DataError, match=said):
            dadi.fit(ground(group), dadi.agent_settings(SETTINGS, 0.3, 0.2))


def test_greedy_looks_up_among_complete_records(monkeypatch):
    """Its verdict is the cheaper one: class 1 from a belief of 2 / (2 + 8)."""
    no_networks = SimpleNamespace(networks=SimpleNamespace(export=dict))
    monkeypatch.setattr(greedy, "fit_state_classifier", lambda *_, **__: no_networks)
    records = ground()
    classifier: dict[str, Any] = {"hidden": [4], "activation": "silu", "learning_rate": 0.01}
    classifier |= {"batch": 8, "class_weights": [1.0, 1.0]}
    settings: dict[str, Any] = {"encoder": {"kind": "mean"}, "classifier": classifier, "updates": 1}
    settings |= {"input_bound": 5.0, "units": 20}
    arrays = greedy.fit(records, settings).arrays
    complete = np.flatnonzero(records.recorded.all(axis=1))
    assert len(complete) > 20
    rows = [
        int(np.flatnonzero((records.table.values == r).all(axis=1))[0]) for r in arrays["reference"]
    ]
    assert rows == sorted(set(rows))
    assert len(rows) == 20
    assert set(rows) <= set(complete.tolist())
    assert arrays["threshold"].tolist() == [0.2]
    none = replace(records, recorded=np.zeros((240, 2), dtype=bool))
    with pytest.raises(DataError, match="none of the 240 rows of the part 'agent' is complete"):
        greedy.fit(none, settings)
