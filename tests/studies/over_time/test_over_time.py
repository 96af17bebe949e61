"""Estimators over time are exact in a world written out, and with one window those of tables."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError, NoSupportError
from frugal.core.table import SharedCosts
from frugal.judge.estimators.doubly_robust import doubly_robust
from frugal.judge.estimators.inverse_probability import stabilised_ipw
from frugal.judge.intervals import estimate, standard_error
from frugal.studies.over_time.answer import tipping_gamma_of
from frugal.studies.over_time.estimates import (
    TIMED_ESTIMATORS,
    TimedCase,
    covariance_over_draws,
    estimate_over_time,
    label_shift,
    median_over_draws,
    reach_of,
    semi_offline_doubly_robust,
    semi_offline_ipw,
    support_by_window,
)
from frugal.studies.over_time.orders import follow, plan
from frugal.studies.over_time.records import TimedCosts, TimedRecords, TimedState

from tests.oracles import two_windows as world

ATOMS = world.outcomes()
COSTS = TimedCosts(
    np.array(world.PRICES),
    np.array([[0.0, world.ALARM], [world.MISSED, 0.0]]),
    SharedCosts(np.array([[True, True]]), np.array([world.SET_UP])),
    world.WAITING,
)


def records_of(windows, label, **changed) -> TimedRecords:
    """Records by lists of windows, each with a value or None for each of two tests."""
    rows = [[[np.nan if v is None else v for v in w] for w in r] for r in windows]
    values = np.array(rows, dtype=np.float64)
    n, t, _ = values.shape
    fields: dict[str, Any] = {"unit": np.array([f"u{i}" for i in range(n)])}
    fields |= {"static": np.zeros((n, 0)), "static_columns": (), "values": values}
    fields |= {"columns": ("blood", "gas"), "panels": ("blood", "gas")}
    fields |= {"provides": np.eye(2, dtype=bool), "recorded": ~np.isnan(values)}
    fields |= {"end": np.full(n, t), "label": np.array(label), "classes": ("no", "yes")}
    fields |= {"cluster": np.arange(n)}
    return TimedRecords(**{**fields, **changed})


RECORDS = records_of([o.record for o in ATOMS], [o.y for o in ATOMS])
PLAN = plan(
    RECORDS,
    "gas if blood is high",
    {0: ["blood"]},
    [{"panels": ["gas"], "every": 9, "above": ("blood", 0.5)}],
)
PATH = follow(RECORDS, PLAN, COSTS)
GAS = np.array([[False, True], [False, False]])
EXACT = [name for name in TIMED_ESTIMATORS if name != "blocking"]


def case_of_world(*, hidden: bool = False) -> TimedCase:
    """True nuisances in every row, by the oracle; hidden: of records that hold the first gas."""
    v1, v0 = world.expected(hidden=hidden)
    total, holds, equals, expected = [], [], [], []
    path = follow(replace(RECORDS, needed=GAS if hidden else None), PLAN, COSTS)
    for o, asked, windows in zip(ATOMS, path.required, path.windows, strict=True):
        held, seen = world.followed(o.record, gas=hidden)
        total.append(world.cost(seen, o.y) if held == 2 else np.nan)
        sets = [(bool(asked[t, 0]), bool(asked[t, 1])) for t in range(windows)]
        holds.append([world.contains(o.record[:t], s) for t, s in enumerate(sets)])
        equals.append([world.ordering(o.record[:t], s) for t, s in enumerate(sets)])
        expected.append([v0[()], v1.get(o.record[:1], np.nan), total[-1]])
    return TimedCase(
        np.array(total)[:, None],
        path.answered,
        path.complete,
        path.exact,
        reach_of(np.array(holds)),
        reach_of(np.array(equals)),
        np.array(expected).T[:, :, None],
        RECORDS.end,
        RECORDS.cluster,
    )


def mean(terms, *, hidden: bool = False) -> float:
    """The estimate where rows are as frequent as probable."""
    p = np.array([o.p for o in world.outcomes(hidden=hidden)])
    return float(p @ terms.numerator[:, 0] / (p @ terms.denominator))


def test_paths_of_the_world_are_those_of_the_oracle():
    for o, held, acquired in zip(ATOMS, PATH.answered, PATH.acquired, strict=True):
        windows, seen = world.followed(o.record)
        assert held == windows
        for window, have in zip(seen, acquired, strict=False):
            assert [v is not None for v in window] == have.tolist()
    spent = COSTS.acquisition(PATH.acquired, PATH.windows)
    verdict = (np.nan_to_num(RECORDS.values) * PATH.acquired).sum(axis=(1, 2)) >= 2
    total = spent + COSTS.errors[RECORDS.label, verdict.astype(int)]
    want = case_of_world().outcome[:, 0]
    np.testing.assert_allclose(total[PATH.complete], want[PATH.complete], rtol=0, atol=1e-12)


def test_weighted_and_doubly_robust_estimates_are_exact():
    case = case_of_world()
    for name in EXACT:
        assert abs(mean(TIMED_ESTIMATORS[name](case)) - world.truth()) < 1e-12


@pytest.mark.parametrize("name", EXACT)
def test_records_that_hold_a_hidden_cause_identify_the_cost(name):
    """The later order depends on the first gas, recorded or not: AFAIS(s) with s the first gas."""
    estimator = TIMED_ESTIMATORS[name]
    assert abs(mean(estimator(case_of_world(hidden=True)), hidden=True) - world.truth()) < 1e-12
    assert abs(mean(semi_offline_ipw(case_of_world()), hidden=True) - world.truth()) > 0.005


def test_imputation_reads_no_probability():
    case = case_of_world()
    wrong = replace(case, reach=reach_of(np.full((len(ATOMS), 2), 0.5)))
    assert abs(mean(TIMED_ESTIMATORS["semi_offline_imputation"](wrong)) - world.truth()) < 1e-12
    off = replace(case, expected=case.expected + np.array([1.5, -2.0, 0.0])[:, None, None])
    assert abs(mean(TIMED_ESTIMATORS["semi_offline_imputation"](off)) - world.truth()) > 0.01


@pytest.mark.parametrize("wrong", ["reach", "expected", "both"])
def test_doubly_robust_is_exact_with_either_nuisance_wrong(wrong):
    case = case_of_world()
    changed = dict(vars(case))
    if wrong != "expected":
        changed["reach"] = reach_of(np.where(PATH.ordered.any(axis=2), 0.5, 0.9))
    if wrong != "reach":
        changed["expected"] = case.expected + np.array([1.5, -2.0, 0.0])[:, None, None]
    off = mean(semi_offline_doubly_robust(TimedCase(**changed))) - world.truth()
    assert (abs(off) < 1e-12) == (wrong != "both")
    if wrong != "expected":
        assert abs(mean(semi_offline_ipw(TimedCase(**changed))) - world.truth()) > 0.01


def test_with_one_window_the_numbers_are_those_of_a_table():
    rng = np.random.default_rng(0)
    n = 300
    complete, chance = rng.random(n) < 0.6, rng.uniform(0.2, 0.9, n)
    outcome, guess = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    case = TimedCase(
        outcome,
        complete.astype(np.int64),
        complete,
        complete,
        reach_of(chance[:, None]),
        reach_of(chance[:, None]),
        np.stack([guess, outcome]),
        np.ones(n, dtype=np.int64),
        np.arange(n),
    )
    every = np.ones(n, dtype=bool)
    pairs = {
        "semi_offline_ipw": stabilised_ipw(outcome, complete, chance),
        "offline_ipw": stabilised_ipw(outcome, complete, chance),
        "semi_offline_doubly_robust": doubly_robust(
            outcome, complete, chance, guess, every, np.ones(n)
        ),
    }
    for name, terms in pairs.items():
        result = estimate_over_time(case, name)
        np.testing.assert_allclose(result.mean, estimate(terms), rtol=0, atol=1e-12)
        np.testing.assert_allclose(result.std_error, standard_error(terms), rtol=0, atol=1e-12)


def test_the_weighted_share_of_positive_labels_is_that_of_all_records():
    """In rows as frequent as probable; each has one row here, so the share is computed by hand."""
    case, p = case_of_world(), np.array([o.p for o in ATOMS])
    label = RECORDS.label[:, None].astype(np.float64)
    share = mean(stabilised_ipw(label, case.complete, case.reach[:, -1]))
    assert abs(share - float(p @ label[:, 0])) < 1e-12
    shift, error = label_shift(case, RECORDS.label == 1)
    weight = np.where(case.complete, 1 / case.reach[:, -1], 0.0)
    assert shift == pytest.approx(weight @ label[:, 0] / weight.sum() - label.mean())
    assert 0 < error < 1


def test_units_of_a_cluster_count_as_one():
    case = case_of_world()
    doubled: dict = {
        name: np.concatenate([value, value], axis=1 if name == "expected" else 0)
        for name, value in vars(case).items()
        if name != "least"
    }
    once = estimate_over_time(case, "semi_offline_ipw")
    twice = estimate_over_time(TimedCase(**doubled), "semi_offline_ipw")
    np.testing.assert_allclose(twice.std_error, once.std_error, rtol=1e-12)
    with pytest.raises(NoSupportError, match="all of one cluster"):
        estimate_over_time(
            TimedCase(**{**vars(case), "cluster": np.zeros(len(ATOMS), dtype=np.int64)})
        )


def test_draws_of_folds_give_their_median_and_its_error_counts_their_spread():
    """The formulas written out; one draw is left as it is."""
    case = case_of_world()
    shifted = [
        replace(case, expected=case.expected + s * np.arange(3)[:, None, None]) for s in (0, 3, -1)
    ]
    draws = [estimate_over_time(each) for each in shifted]
    mean = np.array([each.mean[0] for each in draws])
    result, at = median_over_draws(draws)
    assert result.mean[0] == mean[at] == np.median(mean)
    variance = [d.std_error[0] ** 2 + (m - mean[at]) ** 2 for d, m in zip(draws, mean, strict=True)]
    assert result.std_error[0] ** 2 == pytest.approx(np.median(variance))
    n = len(ATOMS)
    assert np.square(result.psi[:, 0]).sum() / (n * (n - 1)) == pytest.approx(np.median(variance))
    assert covariance_over_draws([draws])[0, 0] == pytest.approx(np.median(variance))
    once, _ = median_over_draws(draws[:1])
    np.testing.assert_array_equal(once.psi, draws[0].psi)


@pytest.mark.parametrize("window", [0, 1])
def test_hidden_causes_of_one_window_tip_the_answer_at_the_worst_weights(window):
    """Worst weights that sum to those fitted: the largest for the highest costs, one in between."""
    p = np.array([o.p for o in ATOMS])
    rows = np.random.default_rng(0).choice(len(ATOMS), 400, p=p)
    case = case_of_world()
    drawn: dict = {
        name: value[:, rows] if name == "expected" else value[rows]
        for name, value in vars(case).items()
        if name != "least"
    }
    case = TimedCase(**drawn)
    weight, cost = case.complete / case.reach[:, -1], np.nan_to_num(case.outcome[:, 0])
    case = replace(case, reach=case.reach * weight.mean(), cluster=np.arange(400))
    weight, chance = weight / weight.mean(), case.reach[:, window + 1] / case.reach[:, window]
    flat = np.full((400, 1), (weight * cost).mean() + 0.4)
    every = np.ones(400, dtype=bool)
    ones = np.ones((400, 3))
    practice = replace(case, outcome=flat, complete=every, answered=case.end, reach=ones)

    def worst(gamma):
        low = weight * (chance + (1 - chance) / gamma)
        room = weight * (chance + (1 - chance) * gamma) - low
        order = np.argsort(-cost, kind="stable")
        filled = np.clip(400 - low.sum() - np.cumsum(room[order]) + room[order], 0, room[order])
        return float((low[order] + filled) @ cost[order]) / 400 - flat[0, 0]

    gamma = tipping_gamma_of(case, practice, window)
    assert worst(0.99 * gamma) < 0 < worst(1.01 * gamma)


def test_support_is_counted_by_window():
    support = support_by_window(case_of_world())
    for window in (0, 1):
        contained = [world.followed(o.record)[0] > window for o in ATOMS]
        assert support["at_risk"][window] == len(ATOMS)
        assert support["contained"][window] == sum(contained)
    assert support["least"][0] == pytest.approx(0.6)


def test_results_are_known_after_their_delay_and_nothing_after_the_end():
    records = records_of(
        [[(1, 5), (2, None), (3, 7)], [(1, 5), (None, None), (None, None)]],
        [1, 0],
        end=np.array([3, 1]),
    )
    every = plan(records, "every", {t: ["blood", "gas"] for t in range(3)})
    late = TimedCosts(COSTS.price, COSTS.errors, delay=np.array([0, 1]))
    path = follow(records, every, late)
    np.testing.assert_array_equal(path.last[:, 0, 0], [np.nan, 1, 2, 3])
    np.testing.assert_array_equal(path.last[:, 0, 1], [np.nan, np.nan, 5, 5])
    np.testing.assert_array_equal(path.age[:, 0, 1], [np.inf, np.inf, 2, 3])
    assert path.answered.tolist() == [1, 1]
    assert path.complete.tolist() == [False, True]
    np.testing.assert_array_equal(path.last[path.windows[1], 1], [1, np.nan])  # decided as it ends
    assert path.ordered[1, 1:].sum() == 0


def test_a_policy_that_stops_pays_and_waits_no_longer():
    records = records_of([[(1, None), (2, None)]], [1])
    path = follow(records, plan(records, "once", {0: ["blood"]}, stop=1), COSTS)
    assert path.windows.tolist() == [1]
    assert path.exact.tolist() == [True]  # the panel after the decision does not count
    spent = COSTS.acquisition(path.acquired, path.windows)
    assert spent.tolist() == [world.PRICES[0] + world.SET_UP + world.WAITING]


def test_a_censored_record_is_never_complete():
    records = records_of([[(1, 1), (1, 1)], [(1, 1), (1, 1)]], [-1, 1])
    path = follow(records, plan(records, "nothing"), COSTS)
    assert path.complete.tolist() == [False, True]
    assert path.answered.tolist() == [1, 2]


def test_recorded_practice_matches_itself():
    path = follow(RECORDS, None, COSTS)
    assert path.complete.all()
    assert path.exact.all()
    np.testing.assert_array_equal(path.acquired, RECORDS.recorded)


class Odd:
    """Returns numbers."""

    name = "odd"

    def order(self, state: TimedState):
        """A wrong type."""
        return np.zeros((len(state.since), 2))


def test_mistakes_are_refused_in_a_sentence():
    with pytest.raises(ConfigError, match="plan 'p' names 'blod'; panels are blood, gas"):
        plan(RECORDS, "p", {0: ["blod"]})
    with pytest.raises(ConfigError, match="orders in window 2; windows are 0 to 1"):
        plan(RECORDS, "p", {2: ["blood"]})
    with pytest.raises(ConfigError, match="orders in window 1, and decides before window 1"):
        plan(RECORDS, "p", {1: ["blood"]}, stop=1)
    with pytest.raises(ConfigError, match="plan 'p' names 'ph'; columns are blood, gas"):
        plan(RECORDS, "p", again=[{"panels": ["gas"], "every": 1, "above": ("ph", 7)}])
    with pytest.raises(ConfigError, match=r"'again\[0\].every' is 0"):
        plan(RECORDS, "p", again=[{"panels": ["gas"], "every": 0}])
    with pytest.raises(ConfigError, match="allowed is one of them"):
        plan(
            RECORDS,
            "p",
            again=[{"panels": ["gas"], "every": 1, "above": ("gas", 1), "below": ("gas", 1)}],
        )
    with pytest.raises(DataError, match="ends after 0 windows; allowed are 1 to 2"):
        records_of([[(1, 1), (1, 1)]], [1], end=np.array([0]))
    with pytest.raises(DataError, match="recorded after its end"):
        records_of([[(1, 1), (1, 1)]], [1], end=np.array([1]))
    with pytest.raises(DataError, match="belongs to two panels"):
        records_of([[(1, 1)]], [1], provides=np.ones((2, 2), dtype=bool))
    with pytest.raises(DataError, match="policy 'odd' returned float64 of shape"):
        follow(RECORDS, Odd(), COSTS)  # pyright: ignore[reportArgumentType]
