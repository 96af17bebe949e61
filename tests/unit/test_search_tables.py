"""Contracts of searches: index of histories, refusals, and the sentence about memory."""

import tracemalloc

import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.search.outcome_counts import count_outcomes
from frugal.search.outcome_tables import smoothed_table, true_table, uninformed_table
from frugal.search.planning.observed import plan_emulated
from frugal.search.records import (
    GIB,
    OutcomeTable,
    SearchSizeError,
    TrialRecords,
    history_count,
    history_outcomes,
    insert_untried,
    require_search_memory,
    search_bytes,
)

from tests.unit.search_cases import THREE, history_index, reduced_index, searches


@pytest.mark.parametrize(("k", "n_outcomes"), [(1, 2), (3, 3), (4, 2), (2, 5)])
def test_histories_are_numbered_by_the_outcomes_of_each_action(k, n_outcomes):
    outcomes = history_outcomes(k, n_outcomes)
    assert len(outcomes) == history_count(k, n_outcomes) == len({tuple(r) for r in outcomes})
    assert [history_index(row, n_outcomes) for row in outcomes.tolist()] == list(
        range(len(outcomes))
    )
    assert outcomes.max() == n_outcomes - 2


def test_an_untried_action_is_put_back_into_its_history():
    rows = [(h, a) for h in history_outcomes(4, 3).tolist() for a in range(4) if h[a] < 0]
    reduced = np.array([reduced_index(h, a, 3) for h, a in rows])
    full = insert_untried(reduced, np.array([a for _, a in rows]), 3)
    assert full.tolist() == [history_index(h, 3) for h, _ in rows]


def test_too_many_actions_are_refused_in_a_sentence_that_says_what_fits():
    with pytest.raises(SearchSizeError) as refused:
        require_search_memory(n_contexts=2, n_actions=17, n_outcomes=3, memory_gib=6.0)
    size = {"n_contexts": 2, "n_outcomes": 3}
    assert search_bytes(n_actions=15, **size) <= 6 * GIB < search_bytes(n_actions=16, **size)
    assert str(refused.value) == (
        "17 actions with 3 outcomes and 2 contexts need 57 GiB of tables, "
        "but the limit is 6 GiB; at most 15 actions fit"
    )


def test_fourteen_actions_are_promised_to_fit_six_gib():
    require_search_memory(n_contexts=2, n_actions=14, n_outcomes=3, memory_gib=6.0)


def test_models_refuse_before_they_allocate():
    counts = count_outcomes(searches(0, n=50, k=16))
    limit = {"outcome_value": THREE, "memory_gib": 1.0}
    tracemalloc.start()
    for build in (
        lambda: smoothed_table(counts, mode="release", **limit),
        lambda: uninformed_table(counts, pseudo_count=0.0, **limit),
        lambda: plan_emulated(counts, **limit),
        lambda: true_table(np.ones((1, 1)), np.full((1, 1, 16, 3), 1 / 3), **limit),
    ):
        with pytest.raises(SearchSizeError, match=r"at most 1[34] actions fit"):
            build()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


@pytest.mark.parametrize(
    ("action", "outcome", "said"),
    [
        ([[0, 0]], [[1, 1]], "same action twice"),
        ([[-1, 0]], [[-1, 1]], "follows an empty one"),
        ([[0, -1]], [[-1, -1]], "lacks its action or its outcome"),
        ([[0, 2]], [[0, 0]], "action of the trials is outside -1 … 1"),
        ([[0, 1]], [[0, 3]], "outcome of the trials is outside -1 … 2"),
    ],
)
def test_records_that_cannot_be_are_refused(action, outcome, said):
    with pytest.raises(DataError, match=said):
        TrialRecords(np.zeros(1, dtype=int), np.array(action), np.array(outcome), 1, 2, 3)


def test_contexts_and_sizes_are_checked():
    empty = np.zeros((0, 2), dtype=int)
    with pytest.raises(DataError, match="needs at least 2 and 1"):
        TrialRecords(np.zeros(0, dtype=int), empty, empty, 1, 2, 1)
    with pytest.raises(DataError, match="context of the trials"):
        TrialRecords(np.array([1]), np.array([[0]]), np.array([[0]]), 1, 2, 3)


def test_outcome_values_must_ascend():
    with pytest.raises(ConfigError, match="ascending"):
        OutcomeTable(np.full((1, 1, 1, 3), 1 / 3), np.array([0.0, 2.0, 2.0]))


def test_records_are_taken_by_units():
    records = searches(1)
    part = records.take(slice(10, 30))
    assert len(part) == 20
    assert (part.action == records.action[10:30]).all()
