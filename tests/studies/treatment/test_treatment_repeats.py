"""What is kept of every policy: means follow from counted units."""

from dataclasses import replace

import numpy as np
import pytest
from frugal.core.errors import ConfigError
from frugal.core.streams import Streams
from frugal.studies.treatment.data.records import TrialRecords
from frugal.studies.treatment.models.outcome_forest import ForestOptions
from frugal.studies.treatment.search.repeats import (
    SearchRepeat,
    search_repeat,
    table_repeats,
    world_repeat,
)
from frugal.studies.treatment.search.searches import ComparisonOptions
from frugal.studies.treatment.search.simulated_worlds import WorldOptions

OPTIONS = ComparisonOptions(
    planners=("cdp", "cg", "ndp", "doctor"),
    outcome_models=("smoothed", "forest", "true"),
    bounds=("upper", "exact"),
    deltas=(0.0, 0.4),
    trial_prices=(0.35,),
    price_offset=1e-4,
    epsilon=0.0,
    alpha=1.0,
    stop_rule="<=",
    ties="improving",
    smoothing="release",
    pseudo_count=0.0,
    forest=ForestOptions("onehot", 5, None, 1),
    outcome_value=np.arange(3.0),
    memory_gib=1.0,
)
WORLD = WorldOptions("release", 3, 3, 1, 2, 1.0, 0.1, 0.9, True)
STREAMS = Streams(3, "test", {})


def _repeat(seed: int) -> SearchRepeat:
    return world_repeat(
        STREAMS, seed, world_options=WORLD, options=OPTIONS, n_train=120, n_test=150
    )


def test_means_follow_from_counted_units():
    made = search_repeat(STREAMS, _repeat(0), n_train=120, options=OPTIONS, keep_policies=False)
    keys = ["planner", "outcome_model", "bound", "threshold"]
    assert len(made.scores) == 3 * (2 * 2 * 2 + 1) + 1
    for _, rows in made.trials.groupby(keys, dropna=False):
        assert rows["units"].sum() == 150
        assert not rows.duplicated(["trials", "best", "near_optimal"]).any()
    counted = (
        made.trials.assign(
            total=made.trials["trials"] * made.trials["units"],
            hits=made.trials["near_optimal"] * made.trials["units"],
        )
        .groupby(keys, dropna=False, sort=False)[["total", "hits"]]
        .sum()
        / 150
    )
    scores = made.scores.set_index(keys)
    np.testing.assert_allclose(counted["total"], scores["mean_trials"], rtol=1e-13)
    np.testing.assert_allclose(counted["hits"], scores["efficacy"], rtol=1e-13)


def test_best_outcomes_never_fall_and_end_at_what_was_found():
    made = search_repeat(STREAMS, _repeat(1), n_train=120, options=OPTIONS, keep_policies=False)
    keys = ["planner", "outcome_model", "bound", "threshold"]
    by_policy = made.best_after.groupby(keys, dropna=False, sort=False)
    for _, rows in by_policy:
        assert rows["trials"].tolist() == [1, 2, 3]
        assert (np.diff(rows["outcome"]) >= 0).all()
    last = by_policy["outcome"].last()
    np.testing.assert_allclose(last, made.scores["mean_outcome"], rtol=1e-13)


def test_a_table_learns_from_training_units_and_is_judged_by_the_others():
    rng = np.random.default_rng(0)
    outcome = rng.integers(3, size=(40, 3))
    context = np.zeros(40, dtype=np.int64)
    action = np.full((40, 3), -1)
    action[:, 0] = rng.integers(3, size=40)
    seen = np.full((40, 3), -1)
    seen[:, 0] = outcome[np.arange(40), action[:, 0]]
    records = TrialRecords(context, action, seen, 1, 3, 3)
    is_test = rng.random(40) < 0.4
    (repeat,) = table_repeats(context, outcome, np.zeros((1, 0)), [(7, is_test, records)])
    assert (repeat.records.action == action[~is_test]).all()
    assert (repeat.outcome == outcome[is_test]).all()
    options = replace(OPTIONS, outcome_models=("smoothed",))
    made = search_repeat(
        STREAMS, repeat, n_train=int((~is_test).sum()), options=options, keep_policies=False
    )
    first = made.best_after[made.best_after["planner"] == "observed"]
    assert first["outcome"].tolist() == [pytest.approx(seen[is_test, 0].mean())]
    assert set(made.scores["seed"]) == {7}
    with pytest.raises(ConfigError, match=r"allowed are 1 …"):
        search_repeat(STREAMS, repeat, n_train=41, options=options, keep_policies=False)
