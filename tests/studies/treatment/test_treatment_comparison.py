"""The comparison of planners: its rows, its repeats, and its standard errors."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.core.streams import Streams
from frugal.studies.treatment.data.records import SearchSizeError, search_bytes
from frugal.studies.treatment.models.outcome_forest import BLOCK_CELLS, ForestOptions
from frugal.studies.treatment.search.environment import SearchOutcome
from frugal.studies.treatment.search.repeats import SearchRepeat, search_repeat, world_repeat
from frugal.studies.treatment.search.searches import (
    ComparisonOptions,
    outcome_by_trials,
    plan_searches,
    score_search,
)
from frugal.studies.treatment.search.simulated_worlds import WorldOptions, realise_world
from frugal.studies.treatment.search.summary import MEASURES, best_so_far, summarise_searches

from tests.studies.treatment.search_cases import THREE, mixture, searches

OPTIONS = ComparisonOptions(
    planners=("cdp", "cg", "ndp", "doctor"),
    outcome_models=("smoothed", "uninformed", "forest", "true"),
    bounds=("upper", "lower", "exact"),
    deltas=(0.0, 0.4),
    trial_prices=(0.1, 0.35, 0.6),
    price_offset=1e-4,
    epsilon=0.0,
    alpha=1.0,
    stop_rule="<=",
    ties="improving",
    smoothing="release",
    pseudo_count=0.0,
    forest=ForestOptions("onehot", 5, None, 1),
    outcome_value=THREE,
    memory_gib=1.0,
)
WORLD = WorldOptions("release", 4, 3, 1, 2, 1.0, 0.1, 0.9, True)
SHARP = replace(  # δ = 0 with raw frequencies: many statistics are exactly 0
    OPTIONS, planners=("cdp", "cg"), outcome_models=("uninformed",), deltas=(0.0,)
)
SMALL = replace(OPTIONS, outcome_models=("smoothed", "forest"), bounds=("upper",))


def _compare(realisations, options=SMALL, world=WORLD, n_train=(40, 160)):
    """Scores of every policy of each realisation and number of training units."""
    streams = Streams(1, "test", {})
    parts = []
    for seed in realisations:
        repeat = world_repeat(
            streams, seed, world_options=world, options=options, n_train=max(n_train), n_test=150
        )
        parts += [
            search_repeat(streams, repeat, n_train=n, options=options, keep_policies=False).scores
            for n in n_train
        ]
    return pd.concat(parts, ignore_index=True)


def test_every_combination_is_one_row():
    rng = np.random.default_rng(0)
    records, outcome = searches(0), rng.integers(3, size=(80, 4))
    repeat = SearchRepeat(
        0,
        records,
        rng.integers(2, size=80),
        outcome,
        np.arange(2.0)[:, None],
        lambda: mixture(0, k=4),
        None,
    )
    rows = search_repeat(
        Streams(1, "test", {}), repeat, n_train=len(records), options=OPTIONS, keep_policies=False
    ).scores
    assert len(rows) == 4 * (3 * 2 * 2 + 3) + 1
    assert not rows.duplicated(["planner", "outcome_model", "bound", "threshold"]).any()
    doctor = rows[rows.planner == "doctor"].iloc[0]
    assert (doctor.outcome_model, doctor.bound, doctor.efficacy) == ("records", "none", 1.0)
    assert np.isnan(doctor.threshold)
    strict = rows[(rows.threshold == 0) & rows.planner.isin(["cdp", "cg"])]
    true = strict[strict.outcome_model == "true"]
    assert (true.efficacy == 1).all()
    assert (rows.cpu_s >= 0).all()
    assert rows.mean_trials.between(1, 4).all()
    assert (rows.worst_case <= 4).all()


def test_a_realisation_does_not_depend_on_which_others_are_run():
    both, second = _compare([0, 1]), _compare([1])
    alone = both[both.seed == 1].reset_index(drop=True).drop(columns="cpu_s")
    pd.testing.assert_frame_equal(alone, second.drop(columns="cpu_s"))
    assert set(both.n_train) == {40, 160}


def test_a_row_depends_neither_on_larger_training_sets_nor_on_the_number_of_test_units():
    small, both = (_compare([0], n_train=n) for n in ((1000,), (1000, 5000)))
    alone = both[both.n_train == 1000].reset_index(drop=True).drop(columns="cpu_s")
    pd.testing.assert_frame_equal(alone, small.drop(columns="cpu_s"))
    streams = Streams(1, "test", {})
    repeats = [
        world_repeat(streams, 0, world_options=WORLD, options=SMALL, n_train=n, n_test=m)
        for n, m in ((1000, 150), (1000, 700), (5000, 150))
    ]
    first = repeats[0]
    for other in repeats[1:]:
        records, context, outcome = other.records, other.context, other.outcome
        assert (records.context[:1000] == first.records.context).all()
        assert (records.action[:1000] == first.records.action).all()
        assert (records.outcome[:1000] == first.records.outcome).all()
        assert (context[:150] == first.context).all()
        assert (outcome[:150] == first.outcome).all()


def test_worlds_are_redrawn_or_shared():
    streams = Streams(1, "test", {})
    for redraw in (True, False):
        options = replace(WORLD, redraw_parameters=redraw)
        first, second = (realise_world(streams, r, options, memory_gib=1.0) for r in (0, 1))
        assert (first.p_outcome == second.p_outcome).all() == (not redraw)


def test_records_alone_have_no_true_model():
    plans = plan_searches(
        searches(0),
        np.arange(2.0)[:, None],
        np.random.default_rng(0),
        options=replace(OPTIONS, outcome_models=("true",)),
        true_model=None,
    )
    with pytest.raises(ConfigError, match="only where the world is simulated"):
        next(plans)


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ConfigError, match="planner 'oracle'"):
        replace(OPTIONS, planners=("oracle",))
    with pytest.raises(ConfigError, match="outcome model 'neural'"):
        replace(OPTIONS, outcome_models=("neural",))
    with pytest.raises(SearchSizeError, match="18 actions"):
        _compare([0], world=replace(WORLD, n_actions=18))
    with pytest.raises(SearchSizeError, match=r"2\^29 combinations, .* at most 2\d bits"):
        _compare([0], world=replace(WORLD, n_covariates=1, n_moderators=28))
    with pytest.raises(ConfigError, match="stop rule is 'strict'; allowed are <=, < and release"):
        _compare([0], options=replace(SMALL, stop_rule="strict"))


def test_the_limit_on_memory_holds_for_a_whole_grid_of_policies():
    """Traced allocations of 4 models and 181 policies stay within the tables of one."""
    world = replace(WORLD, n_actions=9)
    options = replace(OPTIONS, deltas=(0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8))
    repeat = world_repeat(
        Streams(1, "test", {}), 0, world_options=world, options=options, n_train=300, n_test=100
    )

    tracemalloc.start()
    made = search_repeat(
        Streams(1, "test", {}), repeat, n_train=300, options=options, keep_policies=False
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    allowed = search_bytes(n_contexts=2, n_actions=9, n_outcomes=3)
    block = 8 * BLOCK_CELLS * (2 * 9 + 1 + 9 + 3 + 3)  # of the forest: rows, digits, answers
    assert peak < allowed + block + 2e6  # records, and rows of the tables
    assert len(made.scores) == 4 * (3 * 2 * 7 + 3) + 1


def test_the_release_compares_bounds_and_the_exact_statistic_differently():
    """A statistic equal to δ tells the rules apart."""
    release, strict, lax = (
        _compare([0], options=replace(SHARP, stop_rule=rule)) for rule in ("release", "<", "<=")
    )
    exact = release.bound == "exact"
    pd.testing.assert_series_equal(release.mean_trials[exact], lax.mean_trials[exact])
    pd.testing.assert_series_equal(release.mean_trials[~exact], strict.mean_trials[~exact])
    assert (strict.mean_trials > lax.mean_trials).any()


def test_scores_are_means_with_standard_errors_over_units():
    action = np.full((4, 2), -1)
    played = SearchOutcome(
        action,
        np.array([1, 2, 2, 1]),
        np.array([2, 1, 0, 1]),
        np.array([[2, 2], [0, 1], [0, 0], [1, 1]]),
    )
    outcome = np.array([[2, 0], [0, 1], [0, 0], [1, 2]])
    value = np.array([0.0, 1.0, 4.0])
    score = score_search(played, outcome, outcome_value=value, epsilon=0.0)
    assert (score.units, score.efficacy, score.mean_trials, score.worst_case) == (4, 0.75, 1.5, 2)
    assert score.efficacy_se == pytest.approx(0.25)  # sqrt(0.25 / 4), variance 4·3/16/3
    assert score.trials_se == pytest.approx(np.sqrt(1 / 3) / 2)
    assert score.mean_outcome == pytest.approx(1.5)
    mean, error = outcome_by_trials(played, outcome_value=value)
    assert mean.tolist() == [1.25, 1.5]
    assert error == pytest.approx(
        [np.std([4, 0, 0, 1], ddof=1) / 2, np.std([4, 1, 0, 1], ddof=1) / 2]
    )
    with pytest.raises(DataError, match="needs at least 2"):
        score_search(played, outcome[:1], outcome_value=value, epsilon=0.0)


def test_a_unit_without_any_trial_has_no_outcome():
    none = np.full((3, 2), -1)
    played = SearchOutcome(none, np.zeros(3, dtype=int), np.full(3, -1), none)
    score = score_search(played, np.zeros((3, 2), dtype=int), outcome_value=THREE, epsilon=0.0)
    assert score.efficacy == 0
    assert np.isnan(score.mean_outcome)


def test_summary_is_over_repeats():
    rows = _compare([0, 1, 2])
    summary = summarise_searches(rows, repeat="seed", by=["n_train"])
    assert len(summary) == len(rows) / 3
    assert (summary.repeats == 3).all()
    one = (rows.planner == "cdp") & (rows.outcome_model == "smoothed") & (rows.threshold == 0.4)
    some = rows[one & (rows.n_train == 40)]
    line = summary[
        (summary.planner == "cdp")
        & (summary.outcome_model == "smoothed")
        & (summary.threshold == 0.4)
        & (summary.n_train == 40)
    ].iloc[0]
    for measure in MEASURES:
        assert line[measure] == pytest.approx(some[measure].mean())
        assert line[f"{measure}_variance"] == pytest.approx(some[measure].var(ddof=1))
        assert line[f"{measure}_se"] == pytest.approx(some[measure].std(ddof=1) / np.sqrt(3))
    assert line.worst_case == some.worst_case.max()
    assert (summary.planner == "doctor").sum() == 2  # NaN thresholds are kept
    with pytest.raises(DataError, match="repeat a policy"):
        summarise_searches(pd.concat([rows, rows]), repeat="seed", by=["n_train"])


def test_best_outcome_by_trials_is_a_mean_over_repeats():
    rows = pd.DataFrame(
        [
            {"planner": p, "split": s, "trials": t, "outcome": 10 * t + s + (p == "cg")}
            for p in ("cdp", "cg")
            for s in (0, 1, 2)
            for t in (1, 2)
        ]
    )
    result = best_so_far(rows, repeat="split", by=["planner"])
    assert result.planner.tolist() == ["cdp", "cdp", "cg", "cg"]
    assert result.trials.tolist() == [1, 2, 1, 2]
    assert result.outcome.tolist() == [11, 21, 12, 22]
    assert result.outcome_se.to_numpy() == pytest.approx(1 / np.sqrt(3))
    assert (result.repeats == 3).all()
    rows.loc[0, "outcome"] = np.nan
    first = best_so_far(rows, repeat="split", by=["planner"]).iloc[:1]
    assert np.isnan(first[["outcome", "outcome_se"]].to_numpy()).all()
