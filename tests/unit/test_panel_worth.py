"""Worth of panels: on a world whose best values are enumerated, and the numbers and words of it."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from frugal.acquire.kinds import Ground, kind_of
from frugal.answer.candidates import follow, learned_without
from frugal.answer.requirements import Variant, variant_of
from frugal.core.layout import Layout
from frugal.core.streams import Streams
from frugal.core.table import Panel, Table
from frugal.judge.choice import Candidates
from frugal.judge.fairness import IntervalEstimate
from frugal.judge.panel_worth import changed_decisions, joint_intervals, price_that_pays
from frugal.judge.semi_offline import OutcomeMeans, Paths
from frugal.learn.trees import classifier_of
from scipy.special import ndtri

from tests.oracles.acquisition_values import best_value
from tests.unit.test_candidates import AGENTS, CLASSIFIER, answered, section

PRICE = {"A": 1.0, "B": 1.0, "C": 0.5}
ERROR = 20.0
REQUESTED = {
    "parts": {"panel_worth": {"panel_worth": True}},
    "also": ["withheld", "without_panels"],
}
CASCADE = {name: AGENTS[name] for name in ("cascade", "never", "always")}
CASCADE["cascade"] = CASCADE["cascade"] | {"sets": 8, "price_weights": 6}


def world() -> Table:
    """Half of the cases are clear (x = 0). B follows A and errs more often; C is random."""
    values, label = [], []
    for x, y, a, b, c in product((0, 1), repeat=5):
        ill = (0.02, 0.4)[x]
        chance = (ill if y else 1 - ill) * (0.9 if a == y else 0.1) * (0.8 if b == y else 0.2) / 2
        count = round(400 * chance)
        values += [(x, a, b, c)] * count
        label += [y] * count
    columns = ("x", "a", "b", "c")
    panels = [Panel(n, (n.lower(),), price, False) for n, price in PRICE.items()]
    return Table(
        row_id=np.arange(len(label)),
        values=np.array(values, dtype=np.float64),
        columns=columns,
        onehot=(),
        label=np.array(label),
        classes=("no", "yes"),
        panels=(Panel("known", ("x",), 0.0, True), *panels),
        misclassification_cost=np.array([[0.0, ERROR], [ERROR, 0.0]]),
    )


def least_cost(table: Table, panels: str, price: Mapping[str, float] = PRICE) -> float:
    """Of any policy that orders some of these panels, exact."""
    offered = tuple(("ABC".index(name) + 1,) for name in panels)
    paid = tuple(-price[name] for name in panels)
    end = np.array([[0.0, -ERROR], [-ERROR, 0.0]])
    return -best_value(table.values, table.label, offered, (0,), paid, end)


def cost_of(paths: Paths, table: Table) -> float:
    """Mean cost on complete rows."""
    errors = ERROR * (paths.verdict != table.label)
    return float((paths.acquired @ np.array([*PRICE.values()]) + errors).mean())


@pytest.fixture(scope="module")
def table() -> Table:
    return world()


@pytest.fixture(scope="module")
def answer(table):
    return answered(table, CASCADE, (), **REQUESTED)


def test_policies_learned_without_panels_cost_as_little_as_any_could(table):
    complete, streams = np.ones((len(table), 3), dtype=bool), Streams(0, "learn_candidates", {})
    classifier = classifier_of(table, CLASSIFIER, streams)
    ground, agent = Ground(table, complete, None, classifier, streams), CASCADE["cascade"]
    kind = kind_of(agent)
    assert kind.fit is not None
    policy = kind.build(agent, Layout.of(table), kind.fit(ground, agent).arrays)

    def cost(policy: Any) -> float:
        path = follow(policy, table, complete, np.zeros((len(table), 4)), classifier)
        return cost_of(path, table)

    found = {"": cost(policy)}
    for panels, other in learned_without(ground, agent, policy):
        found["".join("ABC"[j] for j in panels)] = cost(other)
    assert {"", "A", "AB"} <= set(found)
    for panels, least in found.items():
        left = "".join(name for name in "ABC" if name not in panels)
        assert least == pytest.approx(least_cost(table, left), abs=1e-9), panels


def test_worths_are_differences_of_least_costs(table, answer):
    ledger, every = answer["choice"]["panel_worth"], least_cost(table, "ABC")
    worth = {
        panels: least_cost(table, "".join(n for n in "ABC" if n not in panels)) - every
        for panels in ("A", "B", "C", "AB")
    }
    assert worth["B"] == worth["C"] == 0 < worth["A"] < worth["AB"]
    rows = ledger["panels"]
    assert rows["A"]["worth"]["value"] == pytest.approx(worth["A"], rel=0.08)
    assert rows["A"]["worth"]["low"] < worth["A"] < rows["A"]["worth"]["high"]
    nothing = {"value": 0.0, "low": 0.0, "high": 0.0}
    assert rows["B"]["worth"] == rows["C"]["worth"] == rows["B"]["outage"] == nothing
    half = float((table.values[:, 0] == 1).mean())
    assert rows["A"]["ordered"] == pytest.approx(half)
    assert rows["A"]["today"] == 1
    assert rows["A"]["paid"] == pytest.approx(half * PRICE["A"])
    assert rows["A"]["changes"] == pytest.approx(
        float((table.values[:, :2] == 1).all(axis=1).mean())
    )
    price = PRICE["A"] + worth["A"] / half
    assert rows["A"]["pays_to"]["value"] == pytest.approx(price, rel=0.05)
    raised = {**PRICE, "A": price}
    assert least_cost(table, "ABC", raised) < least_cost(table, "BC")  # B first, then A, pays
    (pair,) = (pair for pair in ledger["pairs"] if pair["panels"] == ["A", "B"])
    assert pair["worth"]["value"] == pytest.approx(worth["AB"], rel=0.08)
    assert pair["more"]["value"] == pytest.approx(worth["AB"] - worth["A"], rel=0.08)
    # without A the same policy does not order B, as the one that learns again does
    assert rows["A"]["outage"]["value"] == pytest.approx(worth["AB"], rel=0.08)


def test_the_page_says_which_panel_could_go_and_which_pair_may_not(answer):
    shown = section("panel_worth", answer["choice"])
    first, second = shown.sentences
    assert first.startswith("Drop B and C: the policy does not order them. No other panel can go. ")
    assert "Closest is A: a policy learned without it changes the cost of a case by " in first
    assert second.startswith("Keep one of two that stand in for each other: A and B (both ")
    assert shown.table["panel"].tolist() == ["A", "B", "C"]
    assert shown.table["ordered"].tolist() == ["50 %", "0 %", "0 %"]


def test_nothing_is_learned_again_unless_it_is_requested(table, answer):
    plainly = answered(table, CASCADE, ())
    assert plainly["choice"]["panel_worth"] is None
    assert section("panel_worth", plainly["choice"]).sentences == []
    assert section("panel_worth", plainly["choice"]).table is None
    frames = [plainly["made"][name]["paths"] for name in plainly["made"]]
    assert not any(variant_of(n).withheld for frame in frames for n in frame["agent"].unique())
    other = {**answer["choice"], "panel_worth": None}
    assert other == plainly["choice"]


@pytest.mark.parametrize("panels", [(0,), (3, 11)])
@pytest.mark.parametrize("division", [0, 2])
def test_names_of_policies_without_panels_are_read_back(panels, division):
    variant = Variant("agent", 3, division, withheld=panels)
    assert variant_of(variant.key) == variant


def test_intervals_hold_jointly_and_certain_sums_widen_none():
    """Errors of q and r are independent, 1 and 2; p and same are known exactly."""
    rows = np.sqrt(3) * np.array([[0, 0, 0, 0], [1, -1, 1, -1], [2, 2, -2, -2], [0, 0, 0, 0]])
    outcomes = {}
    for name, cost, psi in zip(("p", "q", "r", "same"), (1.0, 3.0, 2.0, 1.0), rows, strict=True):
        first = np.zeros((4, 5))
        influence = np.column_stack([psi, np.zeros((4, 4))])
        mean = np.array([cost, 0, 0, 0, 0])
        outcomes[name] = OutcomeMeans(mean, influence, first[:0], np.ones(4), first, first)
    nothing = np.zeros((2, 2))
    candidates = Candidates([*outcomes], [], outcomes, np.ones(1), nothing, "practice", nothing)
    sums = [{"p": -1.0, "q": 1.0}, {"p": -1.0, "r": 1.0}, {"p": -1.0, "same": 1.0}]
    q, r, same = joint_intervals(candidates, sums, np.random.default_rng(0))
    both = float(ndtri((1 + np.sqrt(0.95)) / 2))
    assert (q.value, r.value) == (2.0, 1.0)
    assert q.high - q.value == pytest.approx(both, rel=0.02)
    assert r.high - r.value == pytest.approx(2 * both, rel=0.02)
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)
    assert joint_intervals(candidates, [], np.random.default_rng(0)) == []


@pytest.mark.parametrize("seed", range(20))
def test_a_panel_pays_at_least_up_to_the_price_that_is_stated(seed):
    """Of policies with a share and a rest cost each; the best costs a concave function of c."""
    rng = np.random.default_rng(seed)
    share, rest = rng.random(6), rng.random(6) * 5
    without = float(rest.min() + 1)  # of the best policy that never orders it

    def least(c: float) -> float:
        return float(min(without, (rest + share * c).min()))

    now = 0.3
    k = int((rest + share * now).argmin())
    worth = without - least(now)
    pays = price_that_pays(now, IntervalEstimate(worth, worth, worth), float(share[k])).value
    assert least(max(pays - 1e-9, now)) <= without
    assert (rest + share * pays).min() <= without + 1e-9


def test_a_price_that_pays_is_not_below_zero():
    worth = IntervalEstimate(-1.0, -3.0, 1.0)
    assert price_that_pays(2.0, worth, 0.5) == IntervalEstimate(0.0, 0.0, 4.0)


def test_changed_decisions_weigh_records_that_hold_the_panel():
    order = np.array([[0, 1], [0, -1], [1, -1], [0, -1]])
    held = np.array([2, 1, 1, 0])
    ill = np.array([[0.1, 0.9, 0.8], [0.1, 0.2, np.nan], [0.7, 0.2, np.nan], [0.4, np.nan, np.nan]])
    belief = np.stack([1 - ill, ill], axis=-1)
    chance = np.array([[1, 0.5, 0.25], [1, 0.25, np.nan], [1, 0.5, np.nan], [1, np.nan, np.nan]])
    errors = np.array([[0.0, 1.0], [1.0, 0.0]])

    def shares(order: np.ndarray, belief: np.ndarray, chance: np.ndarray) -> np.ndarray:
        ends = np.ones(4, dtype=bool), order >= 0, belief, np.zeros(4, dtype=np.int64)
        return changed_decisions(Paths(order, held, *ends), chance, errors)

    # panel 0: 2 of 2 + 4 records; panel 1: the third one, 2 of 4 + 2
    assert shares(order, belief, chance) == pytest.approx([2 / 6, 2 / 6])
    third = np.pad(order, ((0, 0), (0, 1)), constant_values=-1)
    more = shares(third, np.pad(belief, ((0, 0), (0, 1), (0, 0))), np.pad(chance, ((0, 0), (0, 1))))
    assert more[2] == 0


def row(ordered: float, worth: tuple[float, float, float] | None) -> dict[str, Any]:
    estimate = None
    if worth is not None:
        estimate = dict(zip(("value", "low", "high"), map(float, worth), strict=True))
    rest = dict.fromkeys(("price", "today", "paid", "changes"), 0.5)
    return {**rest, "ordered": ordered, "worth": estimate, "pays_to": None, "outage": None}


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            {"t": row(0.5, (-0.2, -0.5, 0.1)), "u": row(0.5, (3, 1, 5))},
            "Drop t: a policy learned without it changes the cost of a case by -0.2 EUR "
            "(95 %: -0.5 to 0.1), so raises it by at most 5 %.",
        ),
        (
            {"t": row(0.5, (0.2, -0.5, 1.1)), "u": row(0.5, (3, 1, 5))},
            "No panel can surely go. Closest is t: a policy learned without it changes the cost of "
            "a case by 0.2 EUR (95 %: -0.5 to 1.1); without u by 3 EUR (95 %: 1 to 5).",
        ),
        (
            {"t": row(0.0, (0, 0, 0)), "u": row(0.5, (3, 1, 5))},
            "Drop t: the policy does not order it. No other panel can go. Closest is u: a policy "
            "learned without it changes the cost of a case by 3 EUR (95 %: 1 to 5).",
        ),
        (
            {"t": row(0.0, (0, 0, 0)), "u": row(0.5, None)},
            "Drop t: the policy does not order it. The value of the others is not known: too "
            "few records follow the policy that learned without them, or such a policy is not "
            "learned again.",
        ),
        ({"t": row(0.0, (0, 0, 0))}, "Drop t: the policy does not order it."),
    ],
)
def test_sentences_name_the_panel_to_drop(rows, sentence):
    choice = {"panel_worth": {"panels": rows, "pairs": []}, "margin": 0.05, "cost": 10.0}
    assert section("panel_worth", choice).sentences == [sentence]
