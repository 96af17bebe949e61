"""A panel that is never recorded somewhere is not ordered there, and the answer says so."""

import json
from dataclasses import replace
from unittest.mock import Mock

import frugal
import numpy as np
import pandas as pd
import pytest
from frugal.acquire.advice import advise_next
from frugal.acquire.bundles import CaseBundle, export_policy
from frugal.acquire.kinds import build_policy
from frugal.acquire.rollouts import roll_out
from frugal.answer.candidates import PRACTICE, from_frame, one_of
from frugal.answer.stages.records import _Support
from frugal.answer.support import document as regions_of
from frugal.answer.support import sentences, shares
from frugal.answer.words import words
from frugal.answer.writing import document
from frugal.core.errors import DataError
from frugal.core.layout import Layout
from frugal.core.region_words import not_offered, region_text
from frugal.core.regions import HOLE, Hole, Interval, closed, holes_of, inside
from frugal.core.stored import require_document
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import World
from frugal.data.cases import Cases
from frugal.data.tables import StoredTable
from frugal.learn.record_law import Causes, RecordLaw
from frugal.run.describe import described

from tests.unit.test_candidates import AGENTS, FOLDS, answered, drawn

OLD = Hole(0, (Interval(0, 0.3, np.inf),), 120, 0)
COLUMNS, PANELS = ("age", "a", "b"), ("A", "B")


def without_support(seed: int, n: int = 400, above: float = 0.3) -> Table:
    """A is never recorded above an age, where it tells the label as well as elsewhere."""
    table = drawn(seed, n)
    values = table.values.copy()
    values[values[:, 0] >= above, 1] = np.nan
    return replace(table, values=values)


@pytest.fixture(scope="module")
def answer():
    """By costs; groups that policies do not see have the panels in the same share."""
    names = ("cascade", "fixed", "never", "always", "permutation")
    return answered(without_support(3), {name: AGENTS[name] for name in names}, ("A", "B"))


def test_no_policy_orders_a_panel_in_a_region_without_records_of_it(answer):
    rows = pd.concat([answer["made"][name]["paths"] for name in [*FOLDS, "joined"]])
    old = answer["table"].values[:, 0] >= 0.3
    for name, path in from_frame(answer["made"]["joined"]["paths"], answer["table"]).items():
        assert not (path.order[old] == 0).any(), name
    ordered = rows[(rows["panel"] == "A") & (rows["agent"] != PRACTICE)]
    assert len(ordered)  # of others
    assert not old[ordered["row_id"]].any()


def test_the_answer_names_the_region_the_share_and_what_to_record(answer):
    choice = answer["choice"]
    (region,) = choice["support"]["regions"]
    old = answer["table"].values[:, 0] >= 0.3
    assert (region["panel"], region["recorded"]) == ("A", 0)
    assert abs(region["rows"] - old.sum()) <= 0.1 * old.sum()
    offered = 1 - region["rows"] / 400
    assert choice["support"]["offered_everything"] == pytest.approx(offered)
    said = words(choice, answer["outcomes"], "EUR", ("no", "yes"))
    assert f"(every panel only for the {100 * offered:.0f} % with records of it)" in said.cost
    (line,) = sentences(choice["support"])
    assert line.startswith("A was never recorded for age from 0.3")
    assert "it is not ordered there; to know whether it would pay, record it for about 30" in line
    assert document(choice, "", {})["support"] == choice["support"]
    (bar,) = shares(choice).to_dict("records")
    assert bar["inside"] == 0
    assert 0.4 < bar["elsewhere"] < 1
    always = answer["outcomes"].set_index("agent").loc["always"]
    assert always["share:A"] == pytest.approx(offered, abs=0.01)  # by regression, too


def test_costs_within_support_are_those_of_a_table_without_gaps(answer):
    """Of the policies that were handed out, on new complete rows; intervals hold at once."""
    new = drawn(99, 20_000)
    complete = np.random.default_rng(4).normal(size=(20_000, 3))
    new = replace(new, values=complete)  # labels are drawn again for these values
    rng = np.random.default_rng(5)
    chance = 1 / (1 + np.exp(-(2 * complete[:, 1] + complete[:, 2] - 1)))
    new = replace(new, label=(rng.random(20_000) < chance).astype(np.int64))
    stored = answer["made"]["joined"]["policies"].stored("policies")
    holes = holes_of(answer["choice"]["support"]["regions"], COLUMNS, PANELS)
    for row in answer["outcomes"].to_dict("records"):
        if row["agent"] == PRACTICE:
            continue
        policy = build_policy(AGENTS[row["agent"]], table=new, stored=one_of(stored, row["agent"]))
        world = World.of_table(new, unsupported=holes)
        ends = roll_out(policy, world, uniforms=rng.random((len(new), 3)))
        assert ends.verdict is not None
        errors = new.misclassification_cost[new.label, ends.verdict[0].argmax(axis=1)]
        truth = float((ends.cost[0] + errors).mean())
        assert row["ci_low"] - 0.1 < truth < row["ci_high"] + 0.1, row["agent"]


def test_a_region_of_a_result_or_of_a_hidden_group_is_worded_by_what_follows():
    region = {"panel": "film", "where": "crp up to 0.3", "rows": 40, "recorded": 0, "group": None}
    support = {"rows": 90, "regions": [region | {"after": ["crp"]}], "offered_everything": 0.5}
    (line,) = sentences(support)
    assert "(40 of 90): it is not ordered there, nor before crp is known; " in line
    hidden = region | {"where": "f", "group": "f", "after": []}
    (line,) = sentences(support | {"regions": [hidden]})
    assert "for f (40 of 90): it is not ordered for anyone, as no policy sees the group; " in line


@pytest.mark.parametrize(("names", "lacking"), [("ab", 0), ("ab", 1), ("abc", 2), ("abc", 1)])
def test_a_group_that_no_policy_sees_and_without_records_closes_a_panel_to_all(names, lacking):
    table = drawn(4, 400)
    group = np.arange(400) % len(names)
    values = table.values.copy()
    values[group == lacking, 1] = np.nan
    agents = {name: AGENTS[name] for name in ("never", "always")}
    table = replace(table, values=values)
    hidden = answered(table, agents, ("A", "B"), belonging=(group, tuple(names)))
    (region,) = hidden["choice"]["support"]["regions"]
    assert (region["panel"], region["group"]) == ("A", names[lacking])
    assert (region["rows"], region["recorded"]) == ((group == lacking).sum(), 0)
    assert hidden["outcomes"]["share:A"][hidden["outcomes"]["agent"] == "always"].item() == 0
    assert hidden["choice"]["support"]["offered_everything"] == 0


def test_states_are_closed_unless_known_to_lie_outside():
    hole = Hole(1, (Interval(0, 0.3, np.inf), Interval(1, -np.inf, 2.0)), 50, 1)
    values = np.array([[1.0, 0.0], [0.0, np.nan], [1.0, np.nan], [1.0, 3.0], [np.nan, np.nan]])
    assert closed((hole,), values, 2).tolist() == [[False, x] for x in (1, 0, 1, 0, 1)]
    assert inside((hole,), values, 2)[:, 1].tolist() == [True, False, False, False, False]
    group = Hole(0, (), 9, 0, "f")
    assert closed((group,), values, 2)[:, 0].all()
    assert not inside((group,), values, 2).any()


def test_a_panel_is_closed_once_another_is_known():
    hole = Hole(1, (Interval(0, 1.0, 1.0), Interval(1, -np.inf, np.inf)), 50, 0)
    values = np.array([[1.0, np.nan], [1.0, 0.3], [0.0, 0.3], [np.nan, -2.0]])
    assert closed((hole,), values, 2)[:, 1].tolist() == [False, True, False, True]
    assert inside((hole,), values, 2)[:, 1].tolist() == [False, True, False, False]
    table = without_support(3)
    young = Hole(1, (Interval(0, -np.inf, 0.0), Interval(1, -np.inf, np.inf)), 50, 0)
    graph = {"unsupported": [young.document(table.columns, PANELS)], "fewest_recorded": []}
    of_young = regions_of(graph, (young,), table)
    assert of_young["regions"][0]["after"] == []
    assert of_young["offered_everything"] == pytest.approx((table.values[:, 0] > 0).mean())
    of_all = replace(young, conditions=young.conditions[1:])
    assert regions_of(graph, (of_all,), table)["offered_everything"] == 0


@pytest.mark.parametrize("lacking", [[0], [1], [2], [0, 2]])
def test_groups_without_records_are_named_whatever_their_order(lacking):
    rng = np.random.default_rng(0)
    table, group = drawn(3, 900), rng.integers(0, 3, 900)
    values = table.values.copy()
    values[np.isin(group, lacking) | (values[:, 0] > 0.5), 1] = np.nan  # and in a region
    stored = Mock(spec=StoredTable, layout=table, group_names=("f", "m", "x"))
    stored.groups.return_value = group
    support = _Support(stored)
    support.add(replace(table, values=values))
    regions = support.document()["unsupported"]
    assert {region["panel"] for region in regions} == {"A"}
    named = [(r["group"], r["rows"], r["recorded"]) for r in regions if r["group"]]
    assert sorted(named) == [("fmx"[k], (group == k).sum(), 0) for k in lacking]


def test_regions_are_stored_by_names():
    for hole in (OLD, Hole(1, (), 9, 0, "f")):
        stored = json.loads(json.dumps(hole.document(COLUMNS, PANELS)))
        require_document(stored, HOLE, "region")
        assert holes_of([stored], COLUMNS, PANELS) == (hole,)
    with pytest.raises(DataError, match="list is needed"):
        require_document({"x": {}}, {"x": [HOLE]}, "regions")


def test_a_region_of_a_category_is_named_by_its_level():
    columns = ("age", "unit=ward=3", "unit=ward=4")
    level = Hole(0, (Interval(1, 1.0, 1.0),), 90, 2)
    assert region_text(level, columns, [(1, 2)]) == "unit=ward 3"
    assert not_offered(level, PANELS, columns, [(1, 2)]) == (
        "A is not offered: 2 of 90 records have it for unit=ward 3"
    )
    other = replace(level, conditions=(Interval(2, 0.0, 0.0),))
    assert region_text(other, ("x", "sex=f", "sex=m"), [(1, 2)]) == "sex f"
    three = ("ward=3", "ward=4", "ward=5")
    assert region_text(other, three, [(0, 1, 2)]) == "ward other than 5"
    some = replace(level, conditions=(Interval(1, -np.inf, np.inf),))
    assert region_text(some, ("x", "sex=f", "sex=m"), [(1, 2)]) == "known sex"
    few = replace(level, conditions=tuple(Interval(j, -np.inf, 0.0) for j in (0, 2, 3, 4)))
    sites = tuple(f"site=s{k}" for k in range(6))
    assert region_text(few, sites, [range(6)]) == "site s1 or s5"
    many = replace(few, conditions=few.conditions[:2])
    assert region_text(many, sites, [range(6)]) == "site other than s0 or s2"
    hidden = Hole(1, (), 9, 0, "f")
    assert not_offered(hidden, PANELS, COLUMNS, ()) == (
        "B is not offered: 0 of 9 records have it for f"
    )


def test_every_door_to_a_policy_knows_its_regions(tmp_path):
    """`advise` from Python, `describe` of the bundle, and the policy when it was kept."""
    table = without_support(3)
    frame = pd.DataFrame(table.values, columns=list(COLUMNS))
    frame["ill"] = np.array(["no", "yes"])[table.label]
    small = {"afape": {"agents": {"cascade": {"boosting": {"trees": 10, "repeats": 1}}}}}
    answer = frugal.decide(
        frame,
        label="ill",
        free=["age"],
        prices={"a": 1, "b": 2},
        errors={"missed": 10, "false alarm": 4},
        agents=["cascade", "always"],
        config=small,
    )
    assert "a was never recorded for age from 0.3" in answer.summary()
    for agent in ("cascade", "always"):
        policy = answer.policy(agent)
        assert any(
            "a is not offered: 0 of " in line for line in described(policy.bundle, None, None)
        )
        kept = frugal.load_policy(policy.save(tmp_path / agent))
        for one in (policy, kept):
            advice = one.advise(pd.DataFrame({"age": [2.0, -2.0], "a": np.nan, "b": np.nan}))
            assert ["a is not offered" in why for why in advice["why"]] == [True, False]
            assert advice["probability a"][0] == 0
            given = pd.DataFrame({"age": [2.0, -2.0], "a": [0.5, 0.5], "b": np.nan})
            outside = one.advise(given)["outside"]
            with pytest.warns(UserWarning, match="1 of 2 cases are outside the training data"):
                one.next(given)
            assert ["records have it for age from 0.3" in text for text in outside] == [True, False]


def test_probabilities_of_records_are_fitted_where_there_are_any():
    rng = np.random.default_rng(0)
    age = rng.normal(size=2_000)
    lacking = age > 0.3
    observed = np.column_stack([(rng.random(2_000) < 0.8) & ~lacking, rng.random(2_000) < 0.6])
    values = np.column_stack([age, rng.normal(size=(2_000, 2))])
    law = RecordLaw(
        observed,
        values,
        np.zeros(2_000, dtype=np.int64),
        np.arange(2_000) % 5,
        [Causes((0,)), Causes((0,))],
        np.array([[False, True, False], [False, False, True]]),
        unsupported=np.column_stack([lacking, np.zeros(2_000, dtype=bool)]),
    )
    for panels in ([True, False], [True, True]):
        chance = law.probability(np.array(panels))
        assert np.isnan(chance[lacking]).all()
        assert chance[~lacking].mean() == pytest.approx(0.8 * (0.6 if panels[1] else 1), abs=0.04)
        assert np.ptp(chance[~lacking]) < 0.2  # one share everywhere


def bundle_of(answer, agent: str, holes) -> CaseBundle:
    """A policy that was handed out, with the regions."""
    table = answer["table"]
    stored = answer["made"]["joined"]["policies"].stored("policies")
    policy = build_policy(AGENTS[agent], table=table, stored=one_of(stored, agent))
    return CaseBundle(
        policy,
        0,
        AGENTS[agent]["kind"],
        Layout.of(table),
        None,
        table.misclassification_cost,
        "EUR",
        Streams(0, "roll_out", {}),
        {},
        holes,
    )


@pytest.mark.parametrize("agent", ["cascade", "always"])
def test_advice_gives_the_region_as_the_reason_and_so_does_the_graph(answer, agent):
    onnx = pytest.importorskip("onnxruntime")
    bundle = bundle_of(answer, agent, (OLD, Hole(1, (), 9, 0, "f")))
    known = np.array([[2.0, np.nan, np.nan], [0.0, np.nan, np.nan], [2.0, np.nan, 1.0]])
    acquired = np.array([[False, False], [False, False], [False, True]])
    every = np.ones_like(acquired)
    cases = Cases("id", ["old", "young", "old with B"], known, acquired, [""] * 3)
    advice = advise_next(bundle, cases, available=every, uniforms=np.full((3, 3), 0.5))
    reason = "A is not offered: 0 of 120 records have it for age from 0.3"
    assert [reason in why for why in advice.why] == [True, False, True]
    assert (advice.states.action_probability[[0, 2], 0] == 0).all()
    assert (advice.states.action_probability[:, 1] == 0).all()  # for anyone
    session = onnx.InferenceSession(export_policy(bundle))
    inputs = {"values": np.nan_to_num(known), "acquired": acquired, "available": every}
    law = session.run(["probabilities"], inputs)[0]
    assert np.allclose(law, advice.states.action_probability, atol=1e-6)


def test_a_panel_that_is_closed_by_another_is_so_in_advice_and_graph(answer):
    onnx = pytest.importorskip("onnxruntime")
    bundle = bundle_of(answer, "always", (Hole(1, (Interval(1, -np.inf, np.inf),), 50, 0),))
    known = np.array([[0.0, np.nan, np.nan], [0.0, -0.4, np.nan]])
    acquired, every = np.array([[False, False], [True, False]]), np.ones((2, 2), dtype=bool)
    cases = Cases("id", ["nothing", "with A"], known, acquired, [""] * 2)
    advice = advise_next(bundle, cases, available=every, uniforms=np.full((2, 3), 0.5))
    assert ["B is not offered" in why for why in advice.why] == [False, True]
    assert advice.states.action_probability[1, :2].tolist() == [0, 0]
    session = onnx.InferenceSession(export_policy(bundle))
    inputs = {"values": np.nan_to_num(known), "acquired": acquired, "available": every}
    law = session.run(["probabilities"], inputs)[0]
    assert np.allclose(law, advice.states.action_probability, atol=1e-6)
