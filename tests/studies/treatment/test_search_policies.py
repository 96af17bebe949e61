"""Searches: index of histories, playing a policy, the stopping rule, observed searches."""

import itertools
import tracemalloc
from typing import Any

import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.studies.treatment.data.records import (
    GIB,
    OutcomeTable,
    SearchSizeError,
    TrialRecords,
    history_count,
    insert_untried,
    outcomes_of,
    require_search_memory,
    search_bytes,
)
from frugal.studies.treatment.models.outcome_counts import count_outcomes
from frugal.studies.treatment.models.outcome_tables import (
    smoothed_table,
    true_table,
    uninformed_table,
)
from frugal.studies.treatment.planning.constrained import may_stop, stopping_statistic
from frugal.studies.treatment.planning.observed import first_step_outcome, plan_emulated
from frugal.studies.treatment.planning.policy_frames import name_cells, policy_cells, reachable
from frugal.studies.treatment.search.environment import found_near_optimal, play_policy
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.studies.treatment import treatment_searches as oracle
from tests.studies.treatment.search_cases import (
    THREE,
    arbitrary,
    history_index,
    instances,
    joint_table,
    mixture,
    reduced_index,
    searches,
    table_law,
)
from tests.studies.treatment.test_search_planners import constrained


def every_history(k, n_outcomes):
    return outcomes_of(np.arange(history_count(k, n_outcomes)), k, n_outcomes)


@pytest.mark.parametrize(("k", "n_outcomes"), [(1, 2), (3, 3), (4, 2), (2, 5)])
def test_histories_are_numbered_by_the_outcomes_of_each_action(k, n_outcomes):
    outcomes = every_history(k, n_outcomes)
    assert len(outcomes) == len({tuple(r) for r in outcomes})
    assert [history_index(row, n_outcomes) for row in outcomes.tolist()] == list(
        range(len(outcomes))
    )
    assert outcomes.max() == n_outcomes - 2


def test_an_untried_action_is_put_back_into_its_history():
    rows = [(h, a) for h in every_history(4, 3).tolist() for a in range(4) if h[a] < 0]
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
    ("action", "outcome", "message"),
    [
        ([[0, 0]], [[1, 1]], "same action twice"),
        ([[-1, 0]], [[-1, 1]], "follows an empty one"),
        ([[0, -1]], [[-1, -1]], "lacks its action or its outcome"),
        ([[0, 2]], [[0, 0]], "action of the trials is outside -1 … 1"),
        ([[0, 1]], [[0, 3]], "outcome of the trials is outside -1 … 2"),
    ],
)
def test_records_that_cannot_be_are_refused(action, outcome, message):
    with pytest.raises(DataError, match=message):
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


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 5), delta=st.sampled_from([0.0, 0.3, 1.0]))
def test_all_units_at_once_are_as_one_after_the_other(seed, k, delta):
    policy = constrained(arbitrary(seed, k=k), delta=delta)
    rng = np.random.default_rng(seed)
    context, outcome = rng.integers(2, size=60), rng.integers(3, size=(60, k))
    played = play_policy(policy, context=context, outcome=outcome)
    for i in range(60):

        def choose(h, x=context[i]):
            return int(policy.action[x, history_index(h, 3)])

        order, best = oracle.play_one(choose, outcome[i].tolist(), 3)
        assert played.action[i].tolist() == order + [-1] * (k - len(order))
        assert played.trials[i] == len(order)
        assert played.best[i] == best
        so_far = np.maximum.accumulate(outcome[i, order])
        assert played.best_after[i].tolist() == [*so_far, *[best] * (k - len(order))]


def test_near_optimal_allows_for_the_slack():
    outcome = np.array([[0, 2, 1], [0, 0, 0], [1, 2, 0], [2, 0, 0]])
    best = np.array([1, 0, 0, -1])
    for epsilon, answer in [(0.0, [0, 1, 0, 0]), (1.0, [1, 1, 0, 0]), (2.0, [1, 1, 1, 0])]:
        found = found_near_optimal(best, outcome, outcome_value=THREE, epsilon=epsilon)
        assert found.tolist() == [bool(a) for a in answer]
    tenths = np.array([0.1, 0.2, 0.3])  # 0.1 + 0.2 is 0.30000000000000004
    row = np.array([[0, 2, 0]])
    for epsilon, answer in [(0.2, True), (0.19, False)]:
        found = found_near_optimal(np.array([0]), row, outcome_value=tenths, epsilon=epsilon)
        assert found.tolist() == [answer]


def test_units_must_fit_the_policy():
    policy = constrained(arbitrary(0, k=3))
    zero = np.zeros(2, dtype=int)
    for context, outcome, message in [
        (zero, np.zeros((2, 4), dtype=int), "4 outcomes each, the policy has 3"),
        (zero, np.full((2, 3), 3), "allowed 0 … 2"),
        (zero + 2, np.zeros((2, 3), dtype=int), "the policy has 0 … 1"),
    ]:
        with pytest.raises(DataError, match=message):
            play_policy(policy, context=context, outcome=outcome)


SEEDS = st.integers(0, 10**6)
VALUES = st.sampled_from([(0.0, 1.0, 2.0), (0.5, 0.7, 1.0), (-3.0, 0.0, 0.25)])
EPSILONS = st.sampled_from([0.0, 0.25, 0.3, 1.0, 5.0])


@settings(max_examples=15)
@given(seed=SEEDS, values=VALUES, epsilon=EPSILONS, k=st.integers(1, 4))
def test_all_three_statistics_follow_their_definitions(seed, values, epsilon, k):
    model = arbitrary(seed, k=k, contexts=1)
    table = type(model)(model.probability, np.array(values))
    law = table_law(table, 0)
    found = {
        bound: stopping_statistic(table, bound=bound, epsilon=epsilon)[0]
        for bound in ("lower", "exact", "upper")
    }
    assert [found[b][0] for b in ("lower", "exact", "upper")] == [1, 1, k]  # μ(∅) = −∞
    for h in itertools.product(range(-1, 2), repeat=k):
        if max(h) >= 0:
            i = history_index(h, 3)
            lower, upper = oracle.bounds(law, h, values, epsilon)
            exact = oracle.rho_over_orders(law, h, values, epsilon)
            assert found["lower"][i] == pytest.approx(lower, abs=1e-12)
            assert found["upper"][i] == pytest.approx(upper, abs=1e-12)
            assert found["exact"][i] == pytest.approx(exact, abs=1e-12)


@settings(max_examples=25)
@given(seed=SEEDS, epsilon=EPSILONS, k=st.integers(1, 5))
def test_lower_exact_upper_are_in_order_under_a_coherent_model(seed, epsilon, k):
    table = mixture(seed, k=k)
    lower, exact, upper = (
        stopping_statistic(table, bound=bound, epsilon=epsilon)
        for bound in ("lower", "exact", "upper")
    )
    assert (lower <= exact + 1e-12).all()
    assert (exact <= upper + 1e-12).all()
    assert exact.min() >= -1e-12
    assert exact.max() <= 1 + 1e-12


def test_exact_statistic_of_a_joint_table_is_read_off_the_table():
    for k, n_outcomes, _, joint, _ in instances():
        statistic = stopping_statistic(joint_table(joint, n_outcomes), bound="exact", epsilon=0.0)
        for h in itertools.product(range(-1, n_outcomes - 1), repeat=k):
            possible = any(
                all(seen in (-1, y) for seen, y in zip(h, row, strict=True)) for row in joint
            )
            if max(h) >= 0 and possible:
                truth = float(oracle.joint_rho(joint, h))
                assert statistic[0, history_index(h, n_outcomes)] == pytest.approx(truth, abs=1e-12)


@settings(max_examples=20)
@given(seed=SEEDS, bound=st.sampled_from(["lower", "exact", "upper"]))
def test_slack_lowers_the_statistic(seed, bound):
    table = mixture(seed, k=4)
    some = [stopping_statistic(table, bound=bound, epsilon=e)[:, 1:] for e in (0.0, 1.0, 2.0)]
    assert (some[1] <= some[0] + 1e-12).all()
    assert (some[2] == 0).all()


RULE = {"n_actions": 2, "n_outcomes": 3}


def _stops(values, **options):
    """Answers for the histories {}, (0), (1) and (·, 0) of two actions and three outcomes."""
    statistic = np.full((1, 9), 0.3)
    statistic[0, :4] = values
    return may_stop(statistic, **RULE, **options)[0]


def test_the_two_rules_differ_at_equality_only():
    options = {"delta": 0.2, "alpha": 1.0}
    assert _stops([9, 0.1, 0.2, 0.3], stop_rule="<=", **options)[1:4].tolist() == [
        True,
        True,
        False,
    ]
    assert _stops([9, 0.1, 0.2, 0.3], stop_rule="<", **options)[1:4].tolist() == [
        True,
        False,
        False,
    ]
    third = 1 - 2 / 3  # 1/3 plus rounding; equal to 1/3 on paper
    assert third != 1 / 3
    for rule, answer in (("<=", True), ("<", False)):
        assert _stops([9, third, 1 / 3, 1], stop_rule=rule, delta=1 / 3, alpha=1.0)[1] == answer


def test_a_search_begins_and_ends_under_every_rule():
    for rule in ("<=", "<"):
        lax = _stops([0, 0, 0, 0], delta=2.0, alpha=1.0, stop_rule=rule)
        strict = _stops([1, 1, 1, 1], delta=0.0, alpha=1.0, stop_rule=rule)
        assert not lax[0]
        assert lax[1:].all()
        assert np.flatnonzero(strict).tolist() == [4, 5, 7, 8]  # both actions tried


def test_sensitivity_divides_the_confidence():
    """Theorem 2: α asks for δ/α."""
    table = mixture(5, k=4)
    statistic = stopping_statistic(table, bound="upper", epsilon=0.0)
    common = {"n_actions": 4, "n_outcomes": 3, "stop_rule": "<="}
    halved = may_stop(statistic, delta=0.5, alpha=2.0, **common)
    assert (halved == may_stop(statistic, delta=0.25, alpha=1.0, **common)).all()
    assert (halved <= may_stop(statistic, delta=0.5, alpha=1.0, **common)).all()


def test_options_outside_their_range_are_refused():
    table = mixture(0)
    with pytest.raises(ConfigError, match="allowed are upper, lower and exact"):
        stopping_statistic(table, bound="middle", epsilon=0.0)
    with pytest.raises(ConfigError, match="epsilon is -1"):
        stopping_statistic(table, bound="exact", epsilon=-1.0)
    for wrong in ({"delta": -0.1}, {"alpha": 0.5}, {"stop_rule": ">"}):
        options: dict[str, Any] = {"delta": 0.1, "alpha": 1.0, "stop_rule": "<="} | wrong
        with pytest.raises(ConfigError):
            may_stop(np.zeros((1, 9)), **RULE, **options)


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
    frame = name_cells(policy_cells(policy, reachable_only=False), **NAMES)
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
    short = name_cells(policy_cells(policy, reachable_only=True), **NAMES)
    assert len(short) == reachable(policy).sum() < len(frame)
