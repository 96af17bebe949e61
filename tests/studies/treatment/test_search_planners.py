"""Planners against full enumeration, dictionaries, and the reference instances."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from frugal.core.errors import ConfigError
from frugal.studies.treatment.models.outcome_tables import smoothed_table, true_table
from frugal.studies.treatment.planners.ndp import plan_naive
from frugal.studies.treatment.planning.constrained import (
    plan_constrained,
    plan_greedy,
    stopping_statistic,
)
from frugal.studies.treatment.search.environment import found_near_optimal, play_policy
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.studies.treatment import treatment_searches as oracle
from tests.studies.treatment.search_cases import (
    BOUNDS,
    RULES,
    THREE,
    arbitrary,
    expected_trials,
    history_index,
    instances,
    joint_table,
    mixture,
    reference,
    reference_counts,
    table_law,
)

SEEDS = st.integers(0, 10**6)
DELTAS = st.sampled_from([0.0, 0.1, 0.25, 0.4, 0.7, 1.0])
BOUND = st.sampled_from(["upper", "lower", "exact"])
ROUNDED = 1e-12  # the reference is written with twelve digits


def constrained(table, bound="upper", delta=0.2, rule="<=", ties="improving", alpha=1.0):
    statistic = stopping_statistic(table, bound=bound, epsilon=0.0)
    return plan_constrained(table, statistic, delta=delta, alpha=alpha, stop_rule=rule, ties=ties)


def greedy(table, bound="upper", delta=0.2, rule="<="):
    statistic = stopping_statistic(table, bound=bound, epsilon=0.0)
    return plan_greedy(table, statistic, delta=delta, alpha=1.0, stop_rule=rule)


def naive(table, price):
    return plan_naive(table, trial_price=price, offset=0.0, ties="improving")


@pytest.mark.parametrize("rule", ["<=", "<"])
def test_exact_planner_reaches_the_optimum_of_full_enumeration_on_every_instance(rule):
    seen = 0
    for _, n_outcomes, delta, joint, answers in instances():
        table = joint_table(joint, n_outcomes)
        for plan, key in ((constrained, "optimal_E_T"), (greedy, "greedy_E_T")):
            policy = plan(table, bound="exact", delta=float(delta), rule=rule)
            expected = float(Fraction(answers[rule][key]))
            assert -policy.value[0, 0] == pytest.approx(expected, abs=1e-12)
            assert expected_trials(table, policy)[0] == pytest.approx(expected, abs=1e-12)
        seen += 1
    assert seen == 20


def test_the_rules_differ_where_the_reference_says_they_do():
    cases = list(instances())
    assert any(a["<="]["optimal_E_T"] != a["<"]["optimal_E_T"] for *_, a in cases)


@pytest.mark.parametrize("number", [0, 1, 4])
def test_own_enumeration_of_policies_agrees_with_the_reference(number):
    k, n_outcomes, delta, joint, answers = list(instances())[number]
    for rule in ("<=", "<"):
        allowed = delta.__ge__ if rule == "<=" else delta.__gt__
        times = oracle.enumerated_search_times(joint, k, n_outcomes, allowed)
        assert min(times) == Fraction(answers[rule]["optimal_E_T"])


def test_example_1_greedy_takes_three_halves_and_the_optimum_seven_fifths():
    case = reference("bruteforce")["example1"]
    success = np.array(case["C_T_rows_actions_cols_z"]).T  # (z, a)
    p_z = np.array([[float(Fraction(p)) for p in case["p_z"]]])
    table = true_table(p_z, np.eye(2)[success][None], outcome_value=np.arange(2.0), memory_gib=1.0)
    everyone = {"context": np.zeros(4, dtype=int), "outcome": success}
    expected = {
        constrained: (case["optimal_E_T"], case["worst_case"]["optimal"]),
        greedy: (case["greedy_E_T"], case["worst_case"]["greedy"]),
    }
    for plan, (mean, worst) in expected.items():
        policy = plan(table, bound="exact", delta=0.0)
        played = play_policy(policy, **everyone)
        assert -policy.value[0, 0] == pytest.approx(float(Fraction(mean)), abs=1e-12)
        assert played.trials @ p_z[0] == pytest.approx(float(Fraction(mean)), abs=1e-12)
        assert played.trials.max() == worst
    longest = play_policy(greedy(table, "exact", 0.0), **everyone).action[1] + 1
    assert longest.tolist() == case["greedy_order_by_eq8_after_failures"]
    first, then = (a - 1 for a in case["optimal_first_then"])
    best = constrained(table, "exact", 0.0)
    assert best.action[0, 0] == first
    assert best.action[0, history_index([0 if a == first else -1 for a in range(3)], 2)] == then


def test_no_price_reproduces_the_constraint_in_appendix_a7():
    """δ = 1/2 tries b alone; every λ > 0 starts with a, or with nothing once a trial costs 1.75."""
    values = np.array([0.5, 0.6, 1.0])
    joint = {(2, 1): Fraction(1, 2), (0, 1): Fraction(1, 2)}
    table = joint_table(joint, 3, values)
    best = constrained(table, "exact", 0.5)
    assert best.action[0, 0] == 1
    assert best.value[0, 0] == -1
    for price in [*np.geomspace(1e-6, 10, 200), 0.1, 0.25, 0.05]:
        assert naive(table, float(price)).action[0, 0] == (0 if price < 1.75 else 2)


def test_true_model_reference_values_are_reproduced():
    case = reference("true_model_k3")
    p_outcome = np.array(case["p_y_given_x_z_a"])
    table = true_table(
        np.array(case["p_z_given_x"]), p_outcome, outcome_value=THREE, memory_gib=1.0
    )
    for solution in case["solutions"]:
        if solution["algorithm"] == "CDP_T":
            bound = solution["bound"]
            policy = constrained(table, BOUNDS[bound], solution["delta"], RULES[bound])
            time = -policy.value[:, 0] @ np.array(case["p_x"])
            assert time == pytest.approx(solution["E_T"], abs=ROUNDED)
        else:
            policy = naive(table, solution["lambda"])
        for x, h, q in _reference_rows(solution):
            i = history_index(h, 3)
            assert policy.value[x, i] == pytest.approx(q.max(), abs=ROUNDED)
            assert q[policy.action[x, i]] >= q.max() - 2 * ROUNDED
            for a in oracle.untried(h):
                assert _q(table, policy, x, h, a, solution) == pytest.approx(q[a], abs=ROUNDED)


def _reference_rows(solution):
    """(x, history, Q with −∞ for what is not allowed) without the absorbed histories."""
    for x in (0, 1):
        for h, row in solution["Q"][str(x)]:
            if max(h) < 2:
                yield x, h, np.array([-np.inf if v is None else v for v in row])


def _q(table, policy, x, h, a, solution):
    """Q(h, a) from the policy's values; the best outcome ends the search."""
    reduced = history_index([y for b, y in enumerate(h) if b != a], 3)
    naive_search = solution["algorithm"].startswith("NDP")
    price, best = (solution["lambda"], 2.0) if naive_search else (1.0, 0.0)
    following = [policy.value[x, history_index(h, 3) + (y + 1) * 3**a] for y in range(2)]
    return table.probability[x, a, reduced] @ np.array([*following, best]) - price


def test_release_mode_reproduces_efficacy_and_trials_of_the_reference_exactly():
    case = reference("smoothing_k4")
    table = smoothed_table(reference_counts(), outcome_value=THREE, mode="release", memory_gib=1.0)
    context, outcome = np.array(case["test"]["x"]), np.array(case["test"]["y"])
    seen = 0
    for result in case["results"]:
        if "bound" in result:
            options = (BOUNDS[result["bound"]], result["delta"], RULES[result["bound"]])
            plans = {"CDP_H": constrained(table, *options), "CG_H": greedy(table, *options)}
        else:
            plans = {"NDP_H": naive(table, result["lambda"])}
        for name, policy in plans.items():
            played = play_policy(policy, context=context, outcome=outcome)
            near = found_near_optimal(played.best, outcome, outcome_value=THREE, epsilon=0.0)
            assert near.mean() == result[name]["efficacy"]
            assert played.trials.mean() == result[name]["mean_T"]
            if "V0" in result[name]:
                np.testing.assert_allclose(policy.value[:, 0], result[name]["V0"], atol=ROUNDED)
            seen += 1
    assert seen == 17


@settings(max_examples=10)
@given(seed=SEEDS, bound=BOUND, delta=DELTAS, n_outcomes=st.integers(2, 4))
def test_values_are_those_of_the_recursion_over_every_history(seed, bound, delta, n_outcomes):
    """The oracle keeps histories with the best outcome; absorbing it changes no value."""
    table = arbitrary(seed, k=3, n_outcomes=n_outcomes, contexts=1)
    statistic = stopping_statistic(table, bound=bound, epsilon=0.0)[0]
    policy = constrained(table, bound, delta)

    def stop_reward(h):
        if max(h) == n_outcomes - 1 or not oracle.untried(h):
            return 0.0
        allowed = max(h) >= 0 and statistic[history_index(h, n_outcomes)] <= delta + 1e-12
        return 0.0 if allowed else -np.inf

    q = oracle.action_values(table_law(table, 0), 3, n_outcomes, stop_reward, 1.0)
    for h in itertools.product(range(-1, n_outcomes - 1), repeat=3):
        i = history_index(h, n_outcomes)
        assert policy.value[0, i] == pytest.approx(max(q[h]), abs=1e-12)
        assert q[h][policy.action[0, i]] == pytest.approx(max(q[h]), abs=1e-12)


@settings(max_examples=10)
@given(seed=SEEDS, price=st.sampled_from([1e-4, 0.1, 0.35, 0.6, 2.0]))
def test_naive_values_are_those_of_the_recursion_over_every_history(seed, price):
    table = arbitrary(seed, k=3, contexts=1)
    policy = naive(table, price)
    q = oracle.action_values(table_law(table, 0), 3, 3, lambda h: float(max(h)), price)
    for h in itertools.product(range(-1, 2), repeat=3):
        assert policy.value[0, history_index(h, 3)] == pytest.approx(max(q[h]), abs=1e-12)


@settings(max_examples=20)
@given(seed=SEEDS, bound=BOUND, delta=DELTAS, rule=st.sampled_from(["<=", "<"]))
def test_exact_planner_is_never_longer_than_greedy_under_its_own_model(seed, bound, delta, rule):
    for table in (mixture(seed, k=4), arbitrary(seed, k=4)):
        exact = expected_trials(table, constrained(table, bound, delta, rule))
        approximate = expected_trials(table, greedy(table, bound, delta, rule))
        assert (exact <= approximate + 1e-12).all()


@settings(max_examples=20)
@given(seed=SEEDS, deltas=st.lists(DELTAS, min_size=2, max_size=4, unique=True))
def test_smaller_delta_never_gives_a_shorter_search(seed, deltas):
    """Expected for the exact planner; unit by unit for greedy, whose order does not depend on δ."""
    table = arbitrary(seed, k=4)
    rng = np.random.default_rng(seed)
    units = {"context": rng.integers(2, size=200), "outcome": rng.integers(3, size=(200, 4))}
    expected, played = [], []
    for delta in sorted(deltas):
        expected.append(expected_trials(table, constrained(table, delta=delta)))
        played.append(play_policy(greedy(table, delta=delta), **units).trials)
    assert (np.diff(expected, axis=0) <= 1e-12).all()
    assert (np.diff(played, axis=0) <= 0).all()


@settings(max_examples=10)
@given(seed=SEEDS, delta=DELTAS)
def test_bounds_order_the_length_of_optimal_searches(seed, delta):
    table = mixture(seed, k=4)
    times = [
        expected_trials(table, constrained(table, bound, delta))
        for bound in ("lower", "exact", "upper")
    ]
    assert (np.diff(times, axis=0) >= -1e-12).all()


def test_zero_delta_finds_the_best_whatever_the_bound():
    table = mixture(3, k=4)
    rng = np.random.default_rng(3)
    outcome = rng.integers(3, size=(300, 4))
    for bound in ("upper", "exact", "lower"):
        played = play_policy(
            constrained(table, bound, 0.0), context=rng.integers(2, size=300), outcome=outcome
        )
        assert found_near_optimal(played.best, outcome, outcome_value=THREE, epsilon=0.0).all()


def test_ties_go_to_the_lowest_index_first_and_then_to_the_likeliest_improvement():
    """All are best equally often, so all orders are equally long; action 2 improves most often."""
    p = np.array([[0.7, 0.2, 0.1], [0.4, 0.5, 0.1], [0.1, 0.8, 0.1]])
    table = true_table(np.ones((1, 1)), p[None, None], outcome_value=THREE, memory_gib=1.0)
    one_failed = history_index([0, -1, -1], 3)
    for ties, second in (("improving", 2), ("lowest", 1)):
        policy = constrained(table, delta=0.0, ties=ties)
        assert policy.action[0, 0] == 0
        assert policy.action[0, one_failed] == second


def test_expected_trials_under_another_model_is_the_mean_over_its_joint_law():
    k, n_outcomes, _, joint, _ = list(instances())[2]
    table, other = joint_table(joint, n_outcomes), mixture(8, k=k, contexts=1)
    policy = constrained(other)
    rows = np.array(list(joint))
    played = play_policy(policy, context=np.zeros(len(rows), dtype=int), outcome=rows)
    mean = sum(float(p) * t for p, t in zip(joint.values(), played.trials.tolist(), strict=True))
    assert expected_trials(table, policy)[0] == pytest.approx(mean, abs=1e-12)


def test_naive_search_pays_more_for_fewer_trials():
    table = mixture(21, k=4)
    trials = [expected_trials(table, naive(table, p)) for p in (1e-4, 0.1, 0.3, 0.6, 5.0)]
    assert (np.diff(trials, axis=0) <= 1e-12).all()
    assert trials[-1].tolist() == [0, 0]  # a trial at 5 is worse than the −1 of none
    assert np.isnan(naive(table, 0.1).statistic).all()
    shifted = plan_naive(table, trial_price=0.1, offset=0.2, ties="improving")
    np.testing.assert_allclose(shifted.value, naive(table, 0.30000000000000004).value)


def test_planners_refuse_unknown_options():
    table = mixture(0)
    with pytest.raises(ConfigError, match="tie rule is 'first'"):
        constrained(table, ties="first")
    with pytest.raises(ConfigError, match="lambda is -1"):
        naive(table, -1.0)
    with pytest.raises(ConfigError, match="stop rule is '='"):
        greedy(table, rule="=")
