"""Outcome models against their definitions and the reference tables."""

import itertools

import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.studies.treatment.data.records import TrialRecords
from frugal.studies.treatment.models import outcome_forest
from frugal.studies.treatment.models.outcome_counts import count_outcomes, trial_events
from frugal.studies.treatment.models.outcome_forest import ForestOptions, forest_table
from frugal.studies.treatment.models.outcome_tables import (
    smoothed_table,
    true_table,
    uninformed_table,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.studies.treatment import treatment_searches as oracle
from tests.studies.treatment.search_cases import (
    THREE,
    full_history,
    reduced_index,
    reference,
    reference_counts,
    searches,
)

LIMIT = {"memory_gib": 1.0}
ROUNDED = 1e-12  # the reference is written with twelve digits


def _oracle_counts(records, x):
    """Counts by history and action, unit by unit."""
    counts = {}
    for i in np.flatnonzero(records.context == x):
        h = (-1,) * records.n_actions
        for a, y in zip(records.action[i].tolist(), records.outcome[i].tolist(), strict=True):
            if a < 0:
                break
            counts.setdefault((h, a), [0] * records.n_outcomes)[y] += 1
            h = oracle.extended(h, a, y)
    return counts


def test_counts_are_those_of_a_walk_through_every_record():
    records = searches(3)
    counts = count_outcomes(records)
    expected = {
        (x, a, reduced_index(h, a, 3)): n
        for x in range(2)
        for (h, a), n in _oracle_counts(records, x).items()
        if max(h) < 2
    }
    cells = zip(
        counts.context.tolist(), counts.action.tolist(), counts.history.tolist(), strict=True
    )
    assert dict(zip(cells, counts.count.tolist(), strict=True)) == expected
    assert (full_history(counts) // 3**counts.action % 3 == 0).all()


def test_counts_do_not_depend_on_how_many_records_are_counted_at_once():
    """Few records are sorted into cells, many are added up in a table of all cells."""
    few = searches(3, n=4)
    many = few.take(np.tile(np.arange(len(few)), 200))
    once, often = count_outcomes(few), count_outcomes(many)
    for name in ("context", "action", "history"):
        np.testing.assert_array_equal(getattr(often, name), getattr(once, name))
    np.testing.assert_array_equal(often.count, 200 * once.count)


def test_order_of_a_history_does_not_matter():
    context = np.zeros(2, dtype=int)
    action, outcome = np.array([[2, 0, 1], [0, 2, 1]]), np.array([[0, 1, 2], [1, 0, 0]])
    counts = count_outcomes(TrialRecords(context, action, outcome, 1, 3, 3))
    third = counts.count.sum(axis=1) == 2
    assert counts.count[third].tolist() == [[1.0, 0.0, 1.0]]
    assert counts.action[third].tolist() == [1]


@pytest.mark.parametrize("name", ["p_H", "p_N"])
def test_reference_tables_are_reproduced(name):
    counts = reference_counts()
    if name == "p_H":
        table = smoothed_table(counts, outcome_value=THREE, mode="release", **LIMIT)
    else:
        table = uninformed_table(counts, outcome_value=THREE, pseudo_count=0.0, **LIMIT)
    compared = 0
    for x, h, a, p in reference("smoothing_k4")[name]:
        if max(h) < 2:
            gap = np.abs(table.probability[x, a, reduced_index(h, a, 3)] - p).max()
            assert gap <= ROUNDED, (x, h, a)
            compared += 1
    assert compared == 2 * 4 * 27


@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 4),
    n_outcomes=st.integers(2, 4),
    mode=st.sampled_from(["release", "paper"]),
)
def test_smoothing_is_the_sum_over_every_sub_history(seed, k, n_outcomes, mode):
    records = searches(seed, n=60, k=k, n_outcomes=n_outcomes)
    table = smoothed_table(
        count_outcomes(records), outcome_value=np.arange(float(n_outcomes)), mode=mode, **LIMIT
    )
    for x in range(2):
        law = oracle.smoothed_law(_oracle_counts(records, x), n_outcomes, mode)
        for h in itertools.product(range(-1, n_outcomes - 1), repeat=k):
            for a in oracle.untried(h):
                row = table.probability[x, a, reduced_index(h, a, n_outcomes)]
                np.testing.assert_allclose(row, law(h, a), rtol=0, atol=1e-12)


def test_tiles_of_any_grouping_agree_at_eight_actions():
    """Nine digits need several tiles of the smoothing; sampled histories against the definition."""
    records = searches(5, n=300, k=10, n_outcomes=3, contexts=1)
    table = smoothed_table(count_outcomes(records), outcome_value=THREE, mode="release", **LIMIT)
    law = oracle.smoothed_law(_oracle_counts(records, 0), 3, "release")
    rng = np.random.default_rng(0)
    for _ in range(40):
        h = tuple(rng.integers(-1, 2, size=10).tolist())
        for a in oracle.untried(h)[:1]:
            row = table.probability[0, a, reduced_index(h, a, 3)]
            np.testing.assert_allclose(row, law(h, a), rtol=0, atol=1e-12)


def test_uninformed_table_is_the_posterior_of_a_uniform_prior():
    records = searches(7)
    counts = count_outcomes(records)
    table = uninformed_table(counts, outcome_value=THREE, pseudo_count=0.5, **LIMIT)
    found = table.probability[counts.context, counts.action, counts.history]
    expected = (counts.count + 0.5) / (counts.count.sum(axis=1, keepdims=True) + 1.5)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    seen = np.zeros(table.probability.shape[:3], dtype=bool)
    seen[counts.context, counts.action, counts.history] = True
    assert not seen.all()
    assert (table.probability[~seen] == 1 / 3).all()


def test_true_table_sums_the_moderator_out():
    rng = np.random.default_rng(11)
    p_z, p_y = rng.dirichlet(np.ones(3), size=2), rng.dirichlet(np.ones(3), size=(2, 3, 3))
    table = true_table(p_z, p_y, outcome_value=THREE, **LIMIT)
    for x in range(2):
        joint = {
            y: sum(p_z[x, z] * np.prod([p_y[x, z, a, y[a]] for a in range(3)]) for z in range(3))
            for y in itertools.product(range(3), repeat=3)
        }
        law = oracle.joint_model(joint, 3)
        for h in itertools.product(range(-1, 2), repeat=3):
            for a in oracle.untried(h):
                row = table.probability[x, a, reduced_index(h, a, 3)]
                np.testing.assert_allclose(row, np.array(law(h, a), float), rtol=0, atol=1e-13)


def test_impossible_histories_are_uniform():
    p_outcome = np.eye(2)[np.array([[0, 1]])][None]  # action 0 always fails, action 1 never
    table = true_table(np.ones((1, 1)), p_outcome, outcome_value=np.arange(2.0), **LIMIT)
    assert table.probability[0, 0, 1].tolist() == [0.5, 0.5]
    assert table.probability[0, 1, 1].tolist() == [0.0, 1.0]


def test_unknown_options_are_refused():
    counts = reference_counts()
    with pytest.raises(ConfigError, match="smoothing mode is 'fast'"):
        smoothed_table(counts, outcome_value=THREE, mode="fast", **LIMIT)
    with pytest.raises(ConfigError, match="pseudo-count"):
        uninformed_table(counts, outcome_value=THREE, pseudo_count=-1.0, **LIMIT)
    with pytest.raises(ConfigError, match="ascending"):
        smoothed_table(counts, outcome_value=-THREE, mode="paper", **LIMIT)


def _forest(records, seed=0, **changes):
    options = {"action_code": "onehot", "trees": 30, "max_depth": None, "min_leaf_trials": 1}
    return forest_table(
        records,
        np.arange(2.0)[:, None],
        np.random.default_rng(seed),
        options=ForestOptions(**(options | changes)),
        outcome_value=THREE,
        **LIMIT,
    )


@pytest.mark.parametrize("code", ["onehot", "ordinal"])
def test_forest_learns_a_law_that_depends_on_context_action_and_history(code):
    rng = np.random.default_rng(2)
    n = 6000
    context = rng.integers(2, size=n)
    action = np.argsort(rng.random((n, 3)), axis=1)
    first = rng.integers(2, size=n)
    second = np.where(action[:, 1] == 2, context, first)  # 0 or 1, known from what came before
    outcome = np.stack([first, second, np.full(n, 2)], axis=1)
    table = _forest(TrialRecords(context, action, outcome, 2, 3, 3), action_code=code)
    np.testing.assert_allclose(table.probability.sum(axis=3), 1, atol=1e-12)
    one_tried = {(0, y): reduced_index((y, -1, -1), 1, 3) for y in (0, 1)}
    for y in (0, 1):  # action 0 had outcome y: action 1 repeats it, action 2 shows the context
        for x in (0, 1):
            assert table.probability[x, 1, one_tried[0, y], y] > 0.9
            assert table.probability[x, 2, reduced_index((y, -1, -1), 2, 3), x] > 0.9
    # nothing tried: a fair coin, up to 4 standard errors of 2,000 trials / 2 contexts
    assert np.abs(table.probability[:, :, 0, 0] - 0.5).max() < 4 * 0.5 / np.sqrt(1000)


def test_forest_is_blind_to_the_order_of_trials_and_repeats_with_its_seed():
    records = searches(4, n=200, k=3)
    three = (records.action >= 0).sum(axis=1) == 3
    action, outcome = records.action.copy(), records.outcome.copy()
    action[three, :2], outcome[three, :2] = action[three, 1::-1], outcome[three, 1::-1]
    swapped = TrialRecords(records.context, action, outcome, 2, 3, 3)
    third, other = trial_events(records), trial_events(swapped)
    last = (third.observed >= 0).sum(axis=1) == 2
    assert (third.observed[last] == other.observed[(other.observed >= 0).sum(axis=1) == 2]).all()
    same = _forest(records, seed=9).probability == _forest(records, seed=9).probability
    assert same.all()
    assert (_forest(records, seed=9).probability != _forest(records, seed=10).probability).any()


def test_forest_answers_alike_in_blocks_of_any_size(monkeypatch):
    records = searches(4, n=200, k=3)
    whole = _forest(records, seed=9).probability
    monkeypatch.setattr(outcome_forest, "BLOCK_CELLS", 7)
    assert (_forest(records, seed=9).probability == whole).all()


def test_forest_refuses_what_it_cannot_use():
    records = searches(4, n=20, k=3)
    with pytest.raises(ConfigError, match="action code is 'hash'"):
        ForestOptions("hash", 10, None, 1)
    with pytest.raises(ConfigError, match="0 trees"):
        ForestOptions("onehot", 0, None, 1)
    with pytest.raises(DataError, match="3 contexts have features, the records 2"):
        forest_table(
            records,
            np.zeros((3, 1)),
            np.random.default_rng(0),
            options=ForestOptions("onehot", 1, None, 1),
            outcome_value=THREE,
            **LIMIT,
        )
    with pytest.raises(DataError, match="no trial"):
        _forest(records.take(slice(0, 0)))
