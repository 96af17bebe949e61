"""Learning from rows that lack panels: worlds in which blocked records mislead, by calculation.

Each is drawn with panels missing by the group (`MAR`), and has a best policy that follows from its
numbers. With 4,000 units the expected costs of the sets lie 0.3 or more apart, and their standard
errors are below 0.08: a wrong set in one of these tests has a probability below 1e-4.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from frugal.acquire.kinds import Learned
from frugal.acquire.policies import cascade, fixed_set, permutation, stacked
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.class_paths import ClassSets, cheapest_path
from frugal.acquire.train.payoff import ObjectiveName
from frugal.acquire.train.tree_sets import FoldedRows, TreeRows, folded_rows
from frugal.core.errors import ConfigError
from frugal.core.world import World
from frugal.studies.field.policies import aaco

from tests.unit import tree_agent_cases as cases

pytestmark = pytest.mark.trains

N, ERROR = 4_000, cases.ERROR
RARE = 0.4  # share of the group whose label is open
CERTAIN = 0.02  # risk of the others
RIGHT = 0.8  # probability that panel A tells the label of the open group
A_PRICE, B_PRICE = 0.8, 1.6
RECORDED = np.array([0.05, 0.9])  # p(A is recorded) of the certain group, and of the open one
NONE = RARE * ERROR / 2 + (1 - RARE) * CERTAIN * ERROR
A_OR_B = RARE * (1 - RIGHT) * ERROR + (1 - RARE) * CERTAIN * ERROR  # errors once either is known

NETWORK = {"copies": 2, "hidden": 16, "layers": 1, "epochs": 6, "batch": 128}
NETWORK |= {"learning_rate": 0.01, "weight_decay": 0.001}
AACO: dict[str, Any] = {"copies": 4, "units": N, "neighbours": 100, "sets": 8}
AACO["price_weights"] = 4


def drawn_world(n: int, seed: int, recorded: np.ndarray) -> World:
    """Group (free), panel A, and panel B, which is always recorded and holds what A holds."""
    rng = np.random.default_rng(seed)
    group = (rng.random(n) < RARE).astype(np.int64)
    label = (rng.random(n) < np.where(group == 1, 0.5, CERTAIN)).astype(np.int64)
    says = np.where(rng.random(n) < RIGHT, label, 1 - label)
    tells = np.where(group == 1, says, rng.integers(2, size=n))
    values = np.stack([group, tells, tells], axis=1).astype(np.float64)
    available = np.ones((n, 2), dtype=bool)
    available[:, 0] = rng.random(n) < recorded[group]
    provides = np.array([[0, 1, 0], [0, 1, 1]]) > 0
    return cases.of_values(values, provides, label, [A_PRICE, B_PRICE], available)


def learnt(
    world: World, kind: Any, missing: str, objective: ObjectiveName = "cost", **more: Any
) -> Learned:
    settings = {"boosting": cases.BOOSTING, "missing": missing, "linear": False} | more
    every = np.ones(len(world), dtype=bool)
    rows = folded_rows(world, every, settings, np.random.default_rng(5))
    budgets = np.array(more.get("budgets", [np.inf]))
    return kind.learn(rows, cases.objective(objective, world), settings, budgets)


def last_set(made: Learned) -> list[int]:
    """Panels of the last set that someone buys."""
    return np.flatnonzero(made.arrays["sets"][-1, -1]).tolist()


def only_a(world: World) -> World:
    """The same without panel B."""
    part = {name: getattr(world, name)[:1] for name in ("provides", "action_cost")}
    return replace(world, available=world.available[:, :1], **part)


def test_a_fixed_set_is_compared_on_the_units_that_were_meant():
    """A pays for all, and does not for those who have it, of whom nine in ten are open."""
    open_share = RARE * RECORDED[1] / (RARE * RECORDED[1] + (1 - RARE) * RECORDED[0])
    among_able = A_PRICE + open_share * (1 - RIGHT) * ERROR + (1 - open_share) * CERTAIN * ERROR
    assert A_PRICE + A_OR_B + 0.3 < NONE < among_able - 0.3
    world = only_a(drawn_world(N, 0, RECORDED))
    more = {"panels": "best", "sets": 4}
    assert last_set(learnt(world, fixed_set, "blocked", **more)) == []
    made = learnt(world, fixed_set, "weighted", **more)
    assert last_set(made) == [0]
    assert made.curve["mean_return"][0] == pytest.approx(-(A_PRICE + A_OR_B), abs=0.3)
    assert made.curve["acquisition_cost"][0] == pytest.approx(A_PRICE)


@pytest.mark.parametrize("kind", ["cascade", "stacked"])
def test_a_panel_that_few_have_is_found(kind):
    """One step, A or B for the open group: A is half as expensive, but few of them have it."""
    few = np.array([0.9, 0.15])
    world = drawn_world(N, 1, few)
    gain_a, gain_b = (RARE * (ERROR / 2 - (1 - RIGHT) * ERROR - p) for p in (A_PRICE, B_PRICE))
    assert gain_a > gain_b + 0.3
    assert few[1] * gain_a < gain_b - 0.3
    acting = cases.CASCADE | {"gates": 2}
    module, more = {
        "cascade": (cascade, acting),
        "stacked": (stacked, {"network": NETWORK, "acting": {"kind": "cascade"} | acting}),
    }[kind]
    assert last_set(learnt(world, module, "blocked", **more)) == [1]
    made = learnt(world, module, "weighted", **more)
    assert last_set(made) == [0]
    assert made.curve["mean_return"][0] == pytest.approx(-(NONE - gain_a), abs=0.3)


def test_weights_make_those_who_have_a_panel_alike_to_all():
    world = drawn_world(N, 2, RECORDED)
    rows = replace(cases.rows_of(world, repeats=1), weighted=True)
    weight, group = rows.weight({0}), world.values[:, 0]
    assert weight.mean() == pytest.approx(1.0)
    assert (weight[~world.available[:, 0]] == 0).all()
    share, effective = (weight * group).mean(), N**2 / np.square(weight).sum()
    assert abs(share - RARE) < 4 * np.sqrt(RARE * (1 - RARE) / effective)
    raw = group[world.available[:, 0]].mean()
    assert abs(raw - RARE) > 0.4
    assert np.array_equal(rows.weight({1}), np.ones(N))


def test_a_set_that_too_few_have_has_no_weight_and_is_not_chosen():
    world = drawn_world(600, 3, np.array([0.0, 0.1]))
    rows = replace(cases.rows_of(world), weighted=True)
    assert not rows.weight({0}).any()
    made = learnt(world, permutation, "weighted", windows=4)
    assert 0 not in np.flatnonzero(made.arrays["sets"].any(axis=(0, 1)))


def test_where_nothing_is_missing_weights_change_nothing():
    world = drawn_world(1_200, 4, np.ones(2))
    for kind, more in ((cascade, cases.CASCADE), (permutation, {"windows": 4}), (aaco, AACO)):
        settings: dict[str, Any] = dict(more)
        blocked = learnt(world, kind, "blocked", **settings)
        weighted = learnt(world, kind, "weighted", **settings)
        assert blocked.arrays.keys() == weighted.arrays.keys()
        for name, array in blocked.arrays.items():
            assert np.array_equal(array, weighted.arrays[name])


def test_budgets_count_the_price_of_everyone():
    """A policy of A for the open group costs their share, not that of those who have A."""
    few = np.array([0.9, 0.15])
    world = drawn_world(N, 5, few)
    budgets = [0.05, 1.0]
    made = learnt(world, cascade, "weighted", "f1", **cases.CASCADE, budgets=budgets)
    assert (made.curve["acquisition_cost"] <= np.array(budgets)[-len(made.curve) :]).all()
    scores = made.curve["mean_return"].to_numpy()
    assert scores[-1] > scores[0] + 0.1


def test_more_than_two_classes_are_weighted_too():
    world = only_a(drawn_world(N, 6, RECORDED))
    settings = {"boosting": cases.BOOSTING, "linear": False, "gates": 2, "sets": 4}
    rows = [
        TreeRows(
            replace(world, label=(world.label == c).astype(np.int64)),
            np.ones(N, dtype=bool),
            cases.rows_of(world).settings,
            np.random.default_rng(5),
            weighted,
        )
        for weighted in (False, True)
        for c in (0, 1)
    ]
    errors = ERROR * (1 - np.eye(2))
    every = [
        ClassSets([r.beliefs(1, linear=False) for r in part], world.label, errors)
        for part in (rows[:2], rows[2:])
    ]
    blocked, weighted = (sets.cheapest(4) for sets in every)
    assert (blocked, weighted) == (frozenset(), frozenset({0}))
    assert fixed_set.of_classes(every[0], {"panels": "none"}).sets == (frozenset(),)
    path = cheapest_path(every[1], settings)
    assert path.price == pytest.approx(RARE * A_PRICE, abs=0.1)


def test_a_lattice_refuses_weights():
    world = drawn_world(400, 7, RECORDED)
    acting = {"kind": "lattice"} | cases.LATTICE
    with pytest.raises(ConfigError, match="missing: weighted"):
        learnt(world, stacked, "weighted", network={}, acting=acting)


def test_neighbours_report_what_everyone_would_cost():
    """A for the open group, of whom 15 % have it: blocked records show 15 % of price and gain."""
    few = np.array([0.9, 0.15])
    world, gain = only_a(drawn_world(N, 1, few)), RARE * (ERROR / 2 - (1 - RIGHT) * ERROR - A_PRICE)
    for missing, share in (("blocked", few[1]), ("weighted", 1.0)):
        made = learnt(world, aaco, missing, **AACO)
        assert made.curve["acquisition_cost"][0] == pytest.approx(share * RARE * A_PRICE, abs=0.1)
        assert made.curve["mean_return"][0] == pytest.approx(share * gain - NONE, abs=0.3)


def test_neighbours_stand_for_those_that_lack_a_panel():
    """All are neighbours. A pays for all, not for those who have it, of whom few are open."""
    recorded = RECORDED[::-1]
    open_share = RARE * recorded[1] / (RARE * recorded[1] + (1 - RARE) * recorded[0])
    gain = ERROR / 2 - (1 - RIGHT) * ERROR
    assert open_share * gain + 0.3 < A_PRICE < RARE * gain - 0.3
    settings: dict[str, Any] = AACO | {"neighbours": N}
    world = only_a(drawn_world(N, 0, recorded))
    new = only_a(drawn_world(500, 1, np.ones(2)))
    for missing, bought in (("blocked", 0.0), ("weighted", 1.0)):
        made = learnt(world, aaco, missing, **settings)
        assert made.curve["acquisition_cost"][0] == pytest.approx(bought * A_PRICE, abs=0.1)
        of_kind = {"kind": "aaco", "missing": missing} | settings
        stored = aaco.build(of_kind, cases.layout_of(world), made.arrays)
        run = roll_out(stored, new, uniforms=np.zeros((len(new), 2)))
        assert run.acquired.mean() == pytest.approx(bought, abs=0.1)


def test_rows_of_networks_have_no_weights():
    world = drawn_world(400, 8, RECORDED)
    rows = folded_rows(world, np.ones(400, dtype=bool), {"folds": 3}, np.random.default_rng(0))
    assert isinstance(rows, FoldedRows)
    assert rows.weights is None
