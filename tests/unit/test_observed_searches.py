"""The emulated doctor, the first step of the records, and policies as tables for people."""

import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.search.environment import play_policy
from frugal.search.outcome_counts import count_outcomes
from frugal.search.planning.observed import first_step_outcome, plan_emulated
from frugal.search.planning.policy_frames import COLUMNS, policy_frame, reachable
from frugal.search.records import SearchPolicy, TrialRecords

from tests.oracles import treatment_searches as oracle
from tests.unit.search_cases import THREE, history_index, mixture, searches
from tests.unit.test_search_planners import constrained

NAMES = {"contexts": ["young", "old"], "actions": list("abcd"), "outcomes": list("RIS")}


def test_emulated_doctor_takes_the_most_frequent_action_and_stops_at_the_best_only():
    records = searches(2, n=150)
    policy = plan_emulated(count_outcomes(records), outcome_value=THREE, memory_gib=1.0)
    taken, in_context, overall = {}, np.zeros((2, 4)), np.zeros(4)
    for i in range(len(records)):
        x, h = int(records.context[i]), (-1,) * 4
        for a, y in zip(records.action[i].tolist(), records.outcome[i].tolist(), strict=True):
            if a < 0 or max(h) == 2:
                break
            taken.setdefault((x, h), np.zeros(4))[a] += 1
            in_context[x, a] += 1
            overall[a] += 1
            h = oracle.extended(h, a, y)
    backed_off = 0
    for x in (0, 1):
        for h in oracle.all_histories(4, 2):  # digits −1, 0, 1: histories without the best
            rest = oracle.untried(h)
            seen = taken.get((x, h), np.zeros(4))
            backed_off += not seen.any()
            counts = [seen] if seen.any() else [in_context[x], overall]
            ranked = sorted(rest, key=lambda a, counts=counts: (*(-n[a] for n in counts), a))
            expected = ranked[0] if rest else 4
            assert policy.action[x, history_index(h, 3)] == expected
    assert backed_off > 20
    assert np.isnan(policy.value).all()


def test_first_step_of_the_records():
    action = np.array([[0, 1], [1, -1], [-1, -1], [1, 0]])
    outcome = np.array([[0, 2], [2, -1], [-1, -1], [1, 0]])
    records = TrialRecords(np.zeros(4, dtype=int), action, outcome, 1, 2, 3)
    mean, error = first_step_outcome(records, outcome_value=np.array([0.0, 0.5, 2.0]))
    assert mean == pytest.approx(2.5 / 3)
    assert error == pytest.approx(np.std([0, 2, 0.5], ddof=1) / np.sqrt(3))
    with pytest.raises(DataError, match="1 units have a trial"):
        first_step_outcome(records.take(slice(0, 1)), outcome_value=THREE)


def test_reachable_histories_are_those_that_units_come_to():
    policy = constrained(mixture(4, k=4))
    outcomes = np.array(list(np.ndindex(3, 3, 3, 3)))
    for x in (0, 1):
        played = play_policy(policy, context=np.full(81, x), outcome=outcomes)
        come_to = set()
        for order, y in zip(played.action.tolist(), outcomes.tolist(), strict=True):
            h = (-1,) * 4
            come_to.add(0)
            for a in order:
                if a >= 0:
                    h = oracle.extended(h, a, y[a])
                    if max(h) < 2:
                        come_to.add(history_index(h, 3))
        assert set(np.flatnonzero(reachable(policy)[x])) == come_to


def test_a_policy_opens_as_a_table():
    policy = constrained(mixture(4, k=4))
    frame = policy_frame(policy, **NAMES, reachable_only=False)
    assert list(frame.columns) == list(COLUMNS)
    assert len(frame) == 2 * 81
    row = frame[(frame.context == "old") & (frame.history == "b: I, d: R")].iloc[0]
    i = history_index([-1, 1, -1, 0], 3)
    assert (row.history_index, row.trials, row.best) == (i, 2, "I")
    assert row.action == [*"abcd", "stop"][policy.action[1, i]]
    assert row.value == policy.value[1, i]
    assert row.better_untried == policy.statistic[1, i]
    empty = frame[frame.trials == 0]
    assert empty.history.tolist() == ["", ""]
    assert empty.best.tolist() == ["", ""]
    short = policy_frame(policy, **NAMES, reachable_only=True)
    assert len(short) == reachable(policy).sum() < len(frame)


def test_names_must_fit_the_policy():
    policy = SearchPolicy(
        np.full((1, 9), 2, dtype=np.int8), np.zeros((1, 9)), np.zeros((1, 9)), THREE, 2
    )
    with pytest.raises(ConfigError, match="contexts, actions and outcomes"):
        policy_frame(policy, **NAMES, reachable_only=True)
    stopped = policy_frame(
        policy, contexts=["all"], actions=["a", "b"], outcomes=list("RIS"), reachable_only=True
    )
    assert stopped.action.tolist() == ["stop"]
