"""One's own policy: what its steps acquire, exactly, and the refusals of steps without sense."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from frugal.acquire.kinds import build_policy
from frugal.acquire.policies.rule import rule_policy
from frugal.acquire.rollouts import acquisition_order, roll_out
from frugal.acquire.set_probability import (
    blocked_set_probability,
    terminal_sequence_probability,
    terminal_set_probability,
    true_afa_propensity,
)
from frugal.answer.requirements import require_known_agent
from frugal.core.episodes import Policy
from frugal.core.errors import ConfigError
from frugal.core.layout import Layout
from frugal.core.table import Panel, Table
from frugal.core.world import World

from tests.oracles.enumerated_world import STOP, enumerate_world, logistic_patterns
from tests.oracles.enumerated_world import World as EnumeratedWorld
from tests.oracles.enumerated_world import probability as share_of
from tests.oracles.policies import law_of_one
from tests.unit.dataset_documents import document, load
from tests.unit.missingness_tables import table_of

COLUMNS = ("age", "sex=f", "sex=m", "lactate", "crp", "crp=-9", "bnp")
PANELS = (
    Panel("interview", ("age", "sex=f", "sex=m"), 0.0, True),
    Panel("lactate", ("lactate",), 10.0, False),
    Panel("crp", ("crp", "crp=-9"), 15.0, False),
    Panel("bnp", ("bnp", "lactate"), 40.0, False),
)
STEPS = [
    {"panel": "lactate", "when": {"column": "age", "above": 30}},
    {
        "panel": "crp",
        "when": [{"column": "lactate", "above": 1.5, "below": 9}, {"column": "sex", "is": ["f"]}],
    },
    {"panel": "bnp", "when": {"column": "crp", "below": 10}},
    {"panel": "crp", "when": {"column": "age", "above": 80}},
    {"panel": "bnp", "when": {"column": "crp", "is": ["-9"]}},
]


def units() -> list[tuple[float, ...]]:
    """Every combination of values at, between and beyond the bounds; crp is missing or a code."""
    return [
        (age, float(sex == "f"), float(sex == "m"), lactate, *crp, 1.0)
        for age, sex, lactate, crp in itertools.product(
            (30.0, 50.0, 81.0),
            "fm",
            (1.5, 1.6, 9.0, np.nan),
            ((5.0, 0.0), (10.0, 0.0), (5.0, 1.0), (np.nan, np.nan)),
        )
    ]


def table() -> Table:
    values = np.array(units())
    n = len(values)
    return Table(
        row_id=np.arange(n),
        values=values,
        columns=COLUMNS,
        onehot=((1, 2),),
        label=np.arange(n) % 2,
        classes=("no", "yes"),
        panels=PANELS,
        misclassification_cost=np.array([[0.0, 1.0], [1.0, 0.0]]),
    )


def walked(unit: tuple[float, ...], available: tuple[int, ...]) -> list[int]:
    """The steps above gone through once for one unit, in plain words: panels in their order."""
    age, f, _, lactate, crp, code, _ = unit
    taken: list[int] = []

    def acquire(panel: int, wanted: bool) -> None:
        if wanted and panel in available and panel not in taken:
            taken.append(panel)

    acquire(0, age > 30)
    acquire(1, 0 in taken and 1.5 < lactate < 9 and f == 1)
    acquire(2, 1 in taken and crp < 10 and code != 1)
    acquire(1, age > 80)
    acquire(2, 1 in taken and code == 1)
    return taken


@pytest.fixture(scope="module")
def policy() -> Policy:
    return build_policy({"kind": "rule", "steps": STEPS}, table=table())


def expected(data: Table, available: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Terminal set and order of every unit."""
    sets = np.zeros((len(data), 3), dtype=bool)
    order = np.full((len(data), 3), -1)
    for row, unit in enumerate(units()):
        taken = walked(unit, available)
        sets[row, taken] = True
        order[row, : len(taken)] = taken
    return sets, order


@pytest.mark.parametrize(
    "available", [s for k in range(4) for s in itertools.combinations(range(3), k)], ids=str
)
def test_the_steps_are_gone_through_once_in_order(policy, available):
    data = table()
    may = np.tile(np.isin(np.arange(3), available), (len(data), 1))
    sets, order = expected(data, available)
    world = World.of_table(data, available=may)
    episodes = roll_out(policy, world, uniforms=np.full((len(data), 4), 0.5))
    np.testing.assert_array_equal(episodes.acquired, [sets])
    np.testing.assert_array_equal(acquisition_order(episodes), [order])
    assert (episodes.probability == 1).all()
    for target in itertools.product((False, True), repeat=3):
        asked = np.tile(target, (len(data), 1))
        found = blocked_set_probability(policy, world, available=may, target=asked)
        np.testing.assert_array_equal(found, (sets == asked).all(axis=1).astype(float))


def test_probability_of_sets_and_sequences_where_everything_can_be_had(policy):
    data = table()
    world = World.of_table(data)
    sets, order = expected(data, (0, 1, 2))
    assert len({tuple(row) for row in sets}) == 4
    assert (terminal_set_probability(policy, world, target=sets) == 1).all()
    assert (terminal_sequence_probability(policy, world, order=order) == 1).all()
    turned = np.where(order[:, :1] >= 0, np.roll(order, 1, axis=1), order)
    full = np.flatnonzero(sets.all(axis=1))
    found = terminal_sequence_probability(policy, world.take(full), order=turned[full])
    assert (found == 0).all()


def test_a_policy_reads_values_if_a_step_has_a_condition(policy):
    assert policy.traits.reads_values
    blind = build_policy(
        {"kind": "rule", "steps": [{"panel": "bnp"}, {"panel": "lactate"}]}, table=table()
    )
    assert not blind.traits.reads_values
    data = table()
    law = law_of_one(
        blind,
        np.full(data.values.shape, np.nan),
        np.tile([False, False, True], (len(data), 1)),
        np.ones((len(data), 3), dtype=bool),
    )
    assert (law.argmax(axis=1) == 0).all()


def test_an_enumerated_world_is_stated_as_it_is():
    """p(R = 1 | x, r̂, …) of a rule, against all outcomes of the world listed one by one."""
    x = list(itertools.product((0.0, 1.0), repeat=3))
    world = EnumeratedWorld({(one, 0): 1 / 8 for one in x}, ((1,), (2,)), (0,), (0.3, 0.2))
    patterns = logistic_patterns({0: (0.3, {0: 1.0}, {}), 1: (0.2, {0: -1.0}, {})}, 2)

    def decide(seen, acquired, available) -> dict[int | str, float]:
        if not acquired and 0 in available:
            return {0: 1.0}
        if acquired == {0} and seen[1] > 0.5 and 1 in available:
            return {1: 1.0}
        return {STOP: 1.0}

    outcomes = enumerate_world(world, patterns, decide, lambda seen, y: 0.0)
    data = table_of(np.array(x), {"P1": ["X1"], "P2": ["X2"], "P3": ["X3"]}, ["P1"])
    steps = [{"panel": "P2"}, {"panel": "P3", "when": {"column": "X2", "above": 0.5}}]
    policy = build_policy({"kind": "rule", "steps": steps}, table=data)
    every = np.array(list(itertools.product((0, 1), repeat=2)), dtype=bool)
    law = np.array([[patterns(one)[tuple(r)] for r in every.astype(int).tolist()] for one in x])
    for target in every:
        found = true_afa_propensity(
            policy,
            World.of_table(data),
            target=np.tile(target, (len(x), 1)),
            patterns=every,
            pattern_probability=law,
            s=np.zeros(2, dtype=bool),
        )
        for one, value in zip(x, found, strict=True):
            here = [o for o in outcomes if o.x == one and o.r_hat == tuple(target)]
            wanted = share_of(here, lambda o: all(o.r)) if here else np.nan
            assert value == pytest.approx(wanted, abs=1e-14, nan_ok=True)


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        ({"panel": "interview"}, "names panel 'interview'; panels to acquire are lactate, crp"),
        ({"panel": "crp", "when": {"column": "sex", "is": ["x"]}}, "'sex' is 'x'; .* are f, m"),
        ({"panel": "crp", "when": {"column": "sex", "above": 1}}, "columns are age, lactate, crp"),
        ({"panel": "crp", "when": {"column": "agee", "below": 1}}, "'agee' is above or below"),
        ({"panel": "crp", "when": {"column": "age", "is": ["1"]}}, "levels of it are none"),
    ],
)
def test_names_that_the_table_lacks_are_refused_when_it_is_there(step, sentence):
    with pytest.raises(ConfigError, match=sentence):
        build_policy({"kind": "rule", "steps": [step]}, table=table())


def refusal_of(tmp_path: Path, agent: dict) -> str | None:
    """What is said of an agent before any job; the data set has a blood test and a scan."""
    try:
        require_known_agent("config: afape.agents.mine", agent, load(tmp_path, document()))
    except ConfigError as error:
        return str(error)
    return None


def when(condition, panel="blood"):
    return {"kind": "rule", "steps": [{"panel": panel, "when": condition}]}


@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        (when({"column": "age", "above": 40, "below": 60}), None),
        (when({"column": "smoker", "is": ["yes"]}), None),
        ({"kind": "random", "probability": 0.5}, None),
        ({"kind": "fixed", "panels": "all"}, None),
        ({"kind": "fixed", "panels": ["blod"]}, "mine.panels names panel 'blod'"),
        (when({"column": "age", "above": 40}, "scn"), "steps[0].panel names panel 'scn'"),
        (when({"column": "agee", "above": 40}), "did you mean 'age'?"),
        (when([{"column": "age", "above": 4}, {"column": "age"}]), "tests of column 'age' nothing"),
        (when({"column": "age", "above": 4, "is": ["a"]}), "above and is; allowed is"),
        (when({"column": "age", "above": 4, "below": 4}), "which no number is"),
        (when({"column": "age", "is": ["4"]}), "but it is numeric; allowed are above and below"),
        (when({"column": "smoker", "above": 4}), "but it is categorical; write is: [no, yes]"),
        (when({"column": "smoker", "is": ["yess"]}), "it can be no, yes; did you mean 'yes'?"),
        (when({"column": "marker", "is": ["-9"]}), "not free and which no earlier step can"),
        (when({"column": "marker", "is": ["-7"]}), "is '-7'; it can be -9, -8"),
    ],
)
def test_before_any_job_a_mistake_is_a_sentence(tmp_path, agent, sentence):
    refusal = refusal_of(tmp_path, agent)
    assert refusal is None if sentence is None else refusal is not None and sentence in refusal


def test_a_condition_may_ask_for_what_an_earlier_step_acquires(tmp_path):
    later = {"panel": "scan", "when": {"column": "marker", "above": 1}}
    assert refusal_of(tmp_path, {"kind": "rule", "steps": [{"panel": "blood"}, later]}) is None
    turned = refusal_of(tmp_path, {"kind": "rule", "steps": [later, {"panel": "blood"}]})
    assert turned is not None
    assert "known by then can be age, smoker" in turned


def test_a_rule_names_the_columns_that_its_conditions_look_at():
    """Of sex the level f alone, of crp also its code; bnp is acquired and never looked at."""
    rule = rule_policy(STEPS, Layout.of(table()))
    read = [c for c, is_read in zip(COLUMNS, rule.reads_columns, strict=True) if is_read]
    assert read == ["age", "sex=f", "lactate", "crp", "crp=-9"]
