"""Candidates learned on four folds and followed along the fifth; the answer that comes of them."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from frugal.acquire.advice import advise_next
from frugal.acquire.bundles import CaseBundle, export_policy
from frugal.acquire.kinds import Ground, kind_of, load_policy
from frugal.acquire.policies.cascade import LINEAR
from frugal.acquire.siblings import Siblings
from frugal.answer.candidates import PRACTICE, ROUNDING, from_frame, one_of, to_frame
from frugal.answer.part import Shown, parts
from frugal.answer.requirements import Variant, variant_of
from frugal.answer.stages.agents import join_candidates, learn_candidates
from frugal.answer.stages.answers import judge_candidates, write_answer
from frugal.answer.stages.records import draw_missingness
from frugal.answer.stages.reports import explore_answer
from frugal.answer.words import curve, words
from frugal.answer.writing import document
from frugal.config.afape import Protocol
from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError
from frugal.core.layout import Layout
from frugal.core.rows import FrameRows, Partitions
from frugal.core.streams import Streams
from frugal.core.table import Belonging, Panel, Table
from frugal.data.cases import Cases
from frugal.data.description import SplitSpec
from frugal.data.prepare import gaps_of
from frugal.data.splits import split_rows
from frugal.data.tables import table_to_frames
from frugal.learn.trees import classifier_of
from frugal.results.files import sealed
from frugal.results.replacing import collected
from scipy.special import expit

pytestmark = pytest.mark.trains

TREES: dict[str, Any] = {"trees": 20, "leaves": 4, "learning_rate": 0.2, "min_leaf": 10}
TREES |= {"ridge": 5.0, "column_share": 1.0, "row_share": 1.0, "folds": 2, "repeats": 1}
PLAIN = {"linear": True, "missing": "blocked"}
AGENTS = {
    "cascade": {
        "kind": "cascade",
        "missing": "blocked",
        "boosting": TREES,
        "linear": True,
        "gates": 2,
        "sets": 4,
        "price_weights": 2,
    },
    **{
        name: {"kind": "fixed_set", "panels": which, "boosting": TREES, "sets": 4} | PLAIN
        for name, which in (
            ("fixed", "best"),
            ("never", "none"),
            ("always", "all"),
            ("constant", "constant"),
        )
    },
    "permutation": {"kind": "permutation", "boosting": TREES, "windows": 4} | PLAIN,
    "rule": {"kind": "fixed", "panels": ["A"]},
}
FIXED_SETS = ("fixed", "never", "always", "constant")
CLASSIFIER: dict[str, Any] = {"kind": "boosting", "trees": 20, "min_leaf": 10, "leaves": 4}
CLASSIFIER |= {"learning_rate": 0.2, "subsample_probability": 0.5}
FOLDS = [f"fold_{k}" for k in range(1, 6)]
BUDGETS = (1.5, 0.3, 0.75, 2.0, 3.0)


def drawn(seed, n=300):
    """A table with gaps in two of three panels, divided into five folds."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    label = (rng.random(n) < expit(2 * x[:, 1] + x[:, 2] - 1)).astype(np.int64)
    gap = rng.random((n, 2)) > expit(1 + 0.8 * x[:, [0]])
    values = np.where(np.column_stack([np.zeros(n, dtype=bool), gap]), np.nan, x)
    return Table(
        row_id=np.arange(n),
        values=values,
        columns=("age", "a", "b"),
        onehot=(),
        label=label,
        classes=("no", "yes"),
        panels=(
            Panel("known", ("age",), 0.0, True),
            Panel("A", ("a",), 1.0, False),
            Panel("B", ("b",), 2.0, False),
        ),
        misclassification_cost=np.array([[0.0, 4.0], [10.0, 0.0]]),
    )


AUDITED = {"parts": {"habit": {"audit_habit": True}}, "also": ["without_panels"]}


def section(name, choice):
    """Sentences and table of a part's own section."""
    (part,) = (part for part in parts() if part.name == name)
    own, shown = part.section, Shown(choice, None, "EUR", ("no", "yes"), {})
    assert own is not None
    assert own.table is not None
    return SimpleNamespace(sentences=own.sentences(shown), table=own.table[1](shown))


@pytest.fixture(scope="module")
def chain():
    """By costs."""
    money = {"design": 300, "budget": 2.0, "cases_a_year": 1e5, "years": 2.0}
    return answered(drawn(0), AGENTS, ("A", "B"), parts={"design": money})


@pytest.fixture(scope="module")
def within_budgets():
    """By F1, within five budgets."""
    return answered(drawn(1), AGENTS, ("A", "B"), "f1", BUDGETS)


def answered(
    table,
    agents,
    gappy,
    objective="cost",
    budgets=(),
    belonging=None,
    parts=None,
    also=(),
    most_missed=None,
    repeats=1,
):
    """Every stage of `decide` from folds on, in memory."""
    spec = SplitSpec("folds", 0, dict.fromkeys(FOLDS, 0.2), {})
    part = split_rows(table.label, np.array([""] * len(table)), spec, rng_seed=0)
    group, names = belonging or (np.arange(len(table)) % 2, ("even", "odd"))
    apart = Belonging(group, names, None)
    frame, catalogue = table_to_frames(table, part, belonging=apart)
    report = {
        "name": "table",
        "cost_unit": "EUR",
        "title": "A table",
        "gaps": gaps_of(table),
        "suspicions": [],
    }
    catalogue = {**catalogue, "report": report}
    stored = {"table": frame, "catalogue": catalogue}
    causes = {name: {"values": ["age"], "indicators": []} for name in gappy}
    missing = collected(
        draw_missingness(
            **stored,
            context=Context(
                {
                    "name": "own",
                    "seeds": [0],
                    "s": None,
                    "missingness": {"source": "own", "panels": causes},
                },
                Streams(0, "draw_missingness", {}),
            ),
        )
    )
    asked: dict[str, Any] = {"agents": agents, "practice": "always", "classifier": CLASSIFIER}
    asked |= {"objective": objective, "budgets": list(budgets), "repeats": repeats, "also": [*also]}
    records = {**stored, "masks": missing["masks"], "graph": missing["graph"]}
    made = {
        name: learn_candidates(
            **records, context=Context(asked, Streams(0, "learn_candidates", {"held_out": name}))
        )
        for name in FOLDS
    }
    made["joined"] = join_candidates(
        **records,
        context=Context(asked, Streams(0, "join_candidates", {})),
        **{name: made[name]["policies"].stored(name) for name in FOLDS},
    )
    paths = [made[name]["paths"] for name in FOLDS]
    judged = judge_candidates(
        **records,
        joined=made["joined"]["paths"],
        paths=Partitions([{"held_out": name} for name in FOLDS], lambda k: FrameRows(paths[k])),
        context=Context(
            {
                "agents": list(agents),
                "margin": 0.05,
                "gamma": 10.0,
                "objective": objective,
                "budgets": list(budgets),
                "recorded": None,
                "most_missed": most_missed or {},
                "parts": parts or {},
            },
            Streams(0, "judge_candidates", {}),
        ),
    )
    return {"table": table, "catalogue": catalogue, "made": made, **judged}


def test_every_row_is_followed_by_policies_of_the_other_folds(chain):
    rows = pd.concat([chain["made"][name]["paths"] for name in FOLDS])
    for _, own in rows.groupby("agent"):
        assert sorted(own["row_id"].unique()) == list(range(300))
    known = np.isfinite(chain["table"].values)
    panels = {"A": known[:, 1], "B": known[:, 2]}
    asked = rows[rows["panel"] != ""]
    holds = [panels[panel][row] for panel, row in zip(asked["panel"], asked["row_id"], strict=True)]
    assert (asked["recorded"].to_numpy() == np.array(holds)).all()
    last = rows.groupby(["agent", "row_id"])["step"].transform("max") == rows["step"]
    assert ((rows["verdict"] >= 0) == (rows["panel"] == "")).all()
    assert last[(rows["panel"] == "") | ~rows["recorded"]].all()


def test_paths_are_read_back_as_they_were_written(chain):
    table, frame = chain["table"], chain["made"]["joined"]["paths"]
    found = from_frame(frame, table)
    assert set(found) == {*AGENTS}
    again = pd.concat([to_frame(one, name, table) for name, one in found.items()])
    pd.testing.assert_frame_equal(again.reset_index(drop=True), frame)
    with pytest.raises(DataError, match="has not acted on every row"):
        from_frame(frame[frame["row_id"] != 3], table)


def test_the_answer_names_a_policy_its_cost_and_a_bound(chain):
    choice, outcomes = chain["choice"], chain["outcomes"]
    assert json.loads(json.dumps(choice)) == choice
    assert choice["policy"] in AGENTS
    assert choice["state"] in ("best", "good_enough", "short_list")
    assert choice["ci_low"] < choice["cost"] < choice["ci_high"]
    assert choice["bound"] >= 0
    own = outcomes.set_index("agent")
    assert own.loc[choice["policy"], "cost"] == pytest.approx(choice["cost"])
    assert own.loc["never", "share:A"] == own.loc["constant", "share:B"] == 0
    assert own.loc["never", "effective_rows"] == pytest.approx(300)
    recorded = np.isfinite(chain["table"].values[:, 1:]).mean(axis=0)
    assert own.loc[PRACTICE, ["share:A", "share:B"]].to_numpy(dtype=float) == pytest.approx(
        recorded
    )
    terms = chain["terms"].groupby("agent")["term"].mean()
    assert terms[choice["policy"]] == pytest.approx(choice["cost"], abs=1e-6)


def test_the_answer_is_at_most_twelve_lines_a_page_and_a_document(chain):
    choice, outcomes = chain["choice"], chain["outcomes"]
    said = words(choice, outcomes, "EUR", ("no", "yes"))
    assert said.orders.startswith(f"Use {choice['policy']}: order ")
    assert said.cost.startswith("It costs ")
    named = outcomes["agent"].replace({PRACTICE: "today's practice"})
    assert curve(choice, outcomes)["policy"].tolist() == named.tolist()
    settings = {
        "budget": 1.0,
        "causes": None,
        "files": {},
        "remarks": ["Assumed."],
        "reading": {"A case": "POLICY cases.csv"},
        "bundle": "bundles/agent=POLICY",
        "kinds": {name: agent["kind"] for name, agent in AGENTS.items()},
        "run": {"Repeat": "frugal decide table.yaml"},
    }
    written = write_answer(
        choice=choice,
        outcomes=outcomes,
        net_benefit=chain["net_benefit"],
        catalogue=chain["catalogue"],
        context=Context(settings, Streams(0, "write_answer", {})),
    )
    lines = written["text"].decode().strip().splitlines()
    assert len(lines) <= 12
    assert lines[-1] == f"A case: {choice['policy']} cases.csv"
    page = written["page"].decode()
    assert "<dd>frugal decide table.yaml</dd>" in page
    assert f"{choice['policy']}: " in page.partition("<pre>")[2]
    stable = json.loads(written["document"])
    further = "policy cost state bound saving objective within_budgets graph bundle support errors"
    assert {*further.split(), "seal", *(part.name for part in parts())} <= set(stable)
    assert stable == sealed(document(choice, f"bundles/agent={choice['policy']}", {}))


def test_the_design_is_a_protocol_within_the_money(chain):
    choice = chain["choice"]
    design = choice["design"]
    protocol = Protocol.read(design["protocol"], where="design").plain()
    assert protocol["first_row"] == 301
    price = sum(
        share * entry["probability"] * {"A": 1.0, "B": 2.0}[panel]
        for share, stratum in zip(design["shares"], protocol["strata"], strict=True)
        for entry in stratum["record"]
        for panel in entry["panels"]
    )
    assert price == pytest.approx(design["price"])
    assert design["price"] <= design["money"] == 2.0
    assert len(section("design", choice).sentences) == 2
    rows = section("design", choice).table
    assert rows is not None
    assert len(rows) == len(protocol["strata"])
    sure, unsure = {"by_design": 0.6}, {**choice, "state": "short_list", "objective": "f1"}
    said = section("design", {**unsure, "design": {**design, "sure": sure}}).sentences[-1]
    assert "another policy is better by at most" in said
    assert said.endswith("good enough with probability 0.60.")
    alone = {**choice, "short_list": ["never"], "design": {"cases": 300, "protocol": None}}
    (sentence,) = section("design", alone).sentences
    assert sentence.startswith("No design of further cases: one policy alone may be the best, so")
    (sentence,) = section("design", alone | {"left_out": ["always"]}).sentences
    assert sentence.endswith("too few records show two policies that may be best.")


def test_the_design_states_what_records_of_each_kind_are_worth(chain):
    choice = chain["choice"]
    value = choice["design"]["value"]
    kinds = value["kinds"]
    assert [each["of"] for each in kinds[:2]] == ["new", "design"]
    assert [each["panels"] for each in kinds[2:]] == [[name] for name in kinds[0]["panels"]]
    price = {"A": 1.0, "B": 2.0}
    for each in (kinds[0], *kinds[2:]):
        assert each["price"] == pytest.approx(sum(price[name] for name in each["panels"]))
    assert kinds[0]["records"] == 300
    for each in kinds:
        assert 0 <= each["value"] <= value["perfect"] * (1 + 1e-3)
        assert each["cost"] == pytest.approx(each["price"] * each["records"])
        assert each["net"] == pytest.approx(2 * each["a_year"] - each["cost"])
        assert each["best_net"] >= max(each["net"], 0) * (1 - 1e-2)
    for name, each in value["panels"].items():
        assert each <= value["perfect"] * (1 + 1e-3), name
    pays = re.compile(
        r"(\d+) more records .*cost .* EUR and are worth .* EUR a year for 2 years.*\."
    )
    assert pays.fullmatch(section("design", choice).sentences[0])
    gains = {
        "price": 1.0,
        "cost": 300.0,
        "a_year": 400.0,
        "net": 500.0,
        "best": 450,
        "best_net": 600.0,
    }
    none = {"best": 0, "best_net": 0.0, "net": -9.0}
    lost = "More records by the design do not pay: 300 cost "
    for new, planned, expected in [
        (none, none, ["More records with all panels do not pay: 300 cost "]),
        (gains, none, ["300 more records with all panels cost 300 EUR and are worth 400 ", lost]),
        (gains, gains, ["300 more records with all panels cost 300 EUR and are worth 400 "]),
        (gains | {"best": 100}, gains, ["100 more records with all panels cost 100 EUR and are "]),
    ]:
        changed = [kinds[0] | new, kinds[1] | planned | {"best_net": 0.0}]
        design = {**choice["design"], "value": {**value, "kinds": changed}}
        *sentences, plan = section("design", {**choice, "design": design}).sentences
        assert plan.startswith("Of 300 further cases")
        for sentence, start in zip(sentences, expected, strict=True):
            assert sentence.startswith(start)
    assert "worth 350 EUR a year for 2 years; beyond 100 they are not." in sentences[0]


def test_the_report_has_the_answer_as_a_card_in_the_words_of_the_text(chain):
    choice, outcomes = chain["choice"], chain["outcomes"]
    made = explore_answer(
        choice=choice,
        outcomes=outcomes,
        catalogue=chain["catalogue"],
        context=Context({"dataset": "table"}, Streams(0, "explore_answer", {})),
    )["section"]
    (card,) = made["answers"]
    text = words(choice, outcomes, "EUR", ("no", "yes"))
    assert (card["sentence"], card["by_question"]["which policy"]) == (text.orders, text.sure)
    (groups,) = text.last
    assert groups.startswith("Cost in EUR a case by group: even ")
    assert list(card["by_question"].values())[-1] == groups
    assert card["state"] == choice["state"].replace("_", " ")
    assert card["by_question"]["how sure is it"] == text.rests
    packed = made["tables"][card["table"]]["columns"]["agent"]
    assert packed["levels"][packed["codes"][card["row"]]] == choice["policy"]
    json.dumps(made, allow_nan=False)


def test_f1_is_judged_within_each_budget(within_budgets):
    choice, outcomes = within_budgets["choice"], within_budgets["outcomes"]
    assert [one["budget"] for one in choice["within_budgets"]] == [*BUDGETS]
    assert all(one["price"] <= one["budget"] for one in choice["within_budgets"])
    rows = outcomes.set_index("agent")
    named = rows.drop(index=PRACTICE)
    assert (named["acquisition_cost"] <= 1.5).all()
    assert not named.index.str.startswith("always").any()  # asks for both panels, 3 in all
    ill = within_budgets["table"].label.mean()
    constant = next(name for name in named.index if name.startswith("constant"))
    assert rows.loc[constant, "cost"] == pytest.approx(1 - 2 * ill / (1 + ill))  # yes for every row
    assert choice["versions"]["cascade"] in named.index
    assert set(choice["versions"]) == set(AGENTS)
    found = words(choice, outcomes, "EUR", ("no", "yes"))
    assert f"Its F1 is {1 - choice['cost']:.2f}" in found.cost
    stable = document(choice, "bundles", {})
    assert stable["policy"] in AGENTS
    assert set(stable["short_list"]) <= set(AGENTS)


def test_a_rise_of_errors_stands_next_to_the_saving(chain):
    choice = chain["choice"]
    for key, error in choice["errors"].items():
        rise = error["policy"] - error["practice"]
        assert error["rise_low"] < rise < error["rise_high"], key
    error = choice["errors"]["no for yes"] | {
        "policy": 0.037,
        "practice": 0.013,
        "rise_low": 0.009,
        "rise_high": 0.039,
    }
    for saving_low in (0.1, -0.1):
        changed = choice | {"errors": {"no for yes": error}, "saving_low": saving_low}
        said = words(changed, chain["outcomes"], "EUR", ("no", "yes")).cost
        assert said.endswith("; missed 'yes' rise from 13 to 37 per 1,000 (by 9 to 39).")
    fewer = choice | {"errors": {"no for yes": error | {"policy": 0.012}}}
    assert "rise" not in words(fewer, chain["outcomes"], "EUR", ("no", "yes")).cost


def test_who_misses_more_than_is_allowed_is_not_named():
    agents = {name: AGENTS[name] for name in ("fixed", "never", "always", "constant")}
    free = answered(drawn(3, 400), agents, ("A", "B"))["choice"]
    missed = free["errors"]["no for yes"]["policy"] / drawn(3, 400).label.mean()
    assert not free["beyond"]
    bound = missed / 2
    found = answered(drawn(3, 400), agents, ("A", "B"), most_missed={"": bound})
    choice = found["choice"]
    assert choice["errors"]["no for yes"]["policy"] / drawn(3, 400).label.mean() <= bound
    assert free["policy"] in choice["beyond"]
    assert not set(choice["beyond"]) & set(choice["short_list"])
    assert f"than most_missed allows: {' and '.join(choice['beyond'])}." in text_of(found)
    few = {name: AGENTS[name] for name in ("never", "always")}
    mild = replace(drawn(3, 400), misclassification_cost=np.array([[0.0, 10.0], [4.0, 0.0]]))
    with pytest.raises(DataError, match=r"most_missed is 0, and every policy .* misses fewest, 0"):
        answered(mild, few, ("A", "B"), most_missed={"": 0.0})
    with pytest.raises(DataError, match=r"most_missed of 'odd' is 0, and every policy"):
        answered(mild, few, ("A", "B"), most_missed={"even": 1.0, "odd": 0.0})
    with pytest.raises(ConfigError, match=r"names the group 'old'; allowed are even"):
        answered(mild, few, ("A", "B"), most_missed={"old": 0.1})


def test_f1_never_falls_with_the_budget_and_the_answer_is_for_the_first(within_budgets):
    choice = within_budgets["choice"]
    first, *_ = rows = choice["within_budgets"]
    losses = [row["cost"] for row in sorted(rows, key=lambda row: row["budget"])]
    assert losses == sorted(losses, reverse=True)
    assert all(row["price"] <= row["budget"] * (1 + ROUNDING) for row in rows)
    assert [choice[key] for key in ("policy", "cost", "ci_low")] == [
        first[key] for key in ("policy", "cost", "ci_low")
    ]
    assert choice["versions"][variant_of(choice["policy"]).agent] == choice["policy"]


@pytest.mark.parametrize("agent", ["cascade", "a.b", "v1.2x"])
@pytest.mark.parametrize(
    "how", [{}, {"without": ""}, {"without": "x.1/y~2"}, {"recorded_only": True}]
)
def test_a_variant_is_read_from_its_key(agent, how):
    for version, division in ((None, 0), (0, 0), (12, 0), (None, 2), (3, 1)):
        variant = Variant(agent, version, division, **how)
        assert variant_of(variant.key) == variant


def test_costs_of_groups_add_up_to_the_cost_of_all(chain):
    choice = chain["choice"]
    each = choice["groups"].values()
    assert sum(one["rows"] for one in each) == 300
    for who, whole in (("policy", choice["cost"]), ("practice", choice["practice"])):
        assert sum(one["rows"] * one[who]["cost"] for one in each) / 300 == pytest.approx(whole)
        assert all(one[who]["ci_low"] < one[who]["cost"] < one[who]["ci_high"] for one in each)


def test_the_policies_of_all_folds_are_handed_out(chain):
    archive = chain["made"]["joined"]["policies"].stored("policies.safetensors")
    cascade = one_of(archive, "cascade")
    assert cascade is not None
    policy, layout = load_policy(cascade)
    assert layout.columns == chain["table"].columns
    assert isinstance(policy, Siblings)
    assert len(policy.each) == len(FOLDS)
    assert one_of(archive, "rule") is None  # learns nothing
    with pytest.raises(DataError, match="holds no policies"):
        one_of(cascade, "cascade")


def with_levels(seed: int, n: int, classes: int = 2) -> Table:
    """As `drawn`, a third panel of one category in three columns, and up to three classes."""
    table, rng = drawn(seed, n), np.random.default_rng(seed)
    level = rng.integers(0, 4, n)
    codes = np.where(level[:, None] == 3, np.nan, np.eye(4)[level][:, :3])
    names = ("c=1", "c=2", "c=3")
    label = table.label * np.where((level == 2) & (classes == 3), 2, 1)
    errors = np.array([[0.0, 16.0, 24.0], [40.0, 0.0, 12.0], [60.0, 32.0, 0.0]])[:classes, :classes]
    return replace(
        table,
        values=np.hstack([table.values, codes]),
        columns=(*table.columns, *names),
        onehot=((3, 4, 5),),
        panels=(*table.panels, Panel("C", names, 0.5, False)),
        label=label,
        classes=("no", "yes", "severe")[:classes],
        misclassification_cost=errors,
    )


def test_of_three_classes_sets_of_panels_are_compared_and_one_is_named():
    agents = {name: AGENTS[name] for name in FIXED_SETS}
    found = answered(with_levels(3, 400, 3), agents, ("A", "B", "C"))
    choice, outcomes = found["choice"], found["outcomes"].set_index("agent")
    assert set(outcomes.index) == {*agents, PRACTICE}
    assert choice["policy"] == "fixed"
    assert choice["state"] in ("best", "good_enough", "short_list")
    assert outcomes.loc["fixed", "cost"] < 0.8 * outcomes.loc["constant", "cost"]
    assert outcomes.loc["never", ["share:A", "share:B", "share:C"]].tolist() == [0, 0, 0]
    classes = ("no", "yes", "severe")
    assert words(choice, found["outcomes"], "EUR", classes).orders.startswith("Use fixed: ")
    assert all(name in choice["does"][-1] for name in classes)
    assert "(probability of severe " in choice["does"][-1]


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize(
    ("name", "classes"),
    [*((name, 2) for name in AGENTS if name != "rule"), *((name, 3) for name in FIXED_SETS)],
)
def test_the_graph_of_a_candidate_decides_and_believes_as_the_candidate(name, classes, linear):
    import onnxruntime

    table, settings = with_levels(1, 300, classes), AGENTS[name] | {"linear": linear}
    layout, kind, streams = Layout.of(table), kind_of(settings), Streams(0, "learn_candidates", {})
    recorded = np.isfinite(table.values)[:, [1, 2, 3]]
    classifier = classifier_of(table, CLASSIFIER, streams)
    ground = Ground(table, recorded, None, classifier, streams)
    assert kind.fit is not None
    learned = kind.fit(ground, settings).arrays
    policy = kind.build(settings, layout, learned)
    assert any(key.startswith(LINEAR) for key in learned) == (linear and name != "constant")
    errors = table.misclassification_cost
    bundle = CaseBundle(policy, 0, kind.name, layout, None, errors, "EUR", streams, {})
    rng, asked = np.random.default_rng(2), with_levels(2, 200, classes)
    known = np.isfinite(asked.values)[:, [1, 2, 3]]
    acquired, available = known & (rng.random((200, 3)) < 0.4), rng.random((200, 3)) < 0.8
    cases = Cases("line", [str(k) for k in range(200)], asked.values, acquired, [""] * 200)
    advice = advise_next(bundle, cases, available=acquired | available, uniforms=np.zeros((200, 4)))
    session = onnxruntime.InferenceSession(export_policy(bundle))
    states = {"values": asked.values, "acquired": acquired, "available": acquired | available}
    law, belief = map(np.asarray, session.run(["probabilities", "belief"], states))
    np.testing.assert_array_equal(law, advice.states.action_probability)
    np.testing.assert_allclose(belief, advice.probability, atol=1e-6)
    for why, own in zip(advice.why, acquired, strict=True):  # names panels that the unit has, once
        if why.startswith("goes with "):
            begun = why.removeprefix("goes with ").split(" + ")
            assert begun == [
                name for name, has in zip("ABC", own, strict=True) if has and name in begun
            ]


def priced(table: Table, *prices: float) -> Table:
    """The same with other prices of its panels."""
    panels = [replace(one, cost=price) for one, price in zip(table.actions, prices, strict=True)]
    return replace(table, panels=(table.panels[0], *panels))


def recorded_of(table: Table, share_of_no: float, share_of_yes: float) -> Table:
    """The same with `A` recorded in other shares of the two classes, and `B` always."""
    rng = np.random.default_rng(1)
    there = rng.random(len(table)) < np.where(table.label == 1, share_of_yes, share_of_no)
    values = np.where(np.isfinite(table.values), table.values, 0.0)
    values[~there, 1] = np.nan
    return replace(table, values=values)


def text_of(found, budget: float | None = None) -> str:
    settings = {"budget": budget, "causes": None, "files": {}, "remarks": []}
    settings |= {"reading": {}, "bundle": "POLICY", "kinds": {}, "run": {}}
    return write_answer(
        choice=found["choice"],
        outcomes=found["outcomes"],
        net_benefit=found["net_benefit"],
        catalogue=found["catalogue"],
        context=Context(settings, Streams(0, "write_answer", {})),
    )["text"].decode()


@pytest.mark.parametrize(
    ("objective", "budgets"), [("cost", ()), ("f1", (0.0, 0.0)), ("f1", (1.0,))]
)
def test_panels_without_a_price_and_a_single_budget_have_an_answer(objective, budgets):
    table = priced(drawn(0, 100), 0.0, 0.0)
    found = answered(table, AGENTS, ("A", "B"), objective, budgets)
    assert text_of(found).startswith("Use ")
    assert "within a budget of" not in text_of(found)


@pytest.mark.parametrize(
    ("shares", "rows"), [((0.0, 1.0), 100), ((0.1, 0.9), 100), ((0.0, 1.0), 300), ((0.1, 0.9), 300)]
)
def test_a_panel_that_is_recorded_for_one_class_alone_is_not_judged(shares, rows):
    """Its errors on the other class are unknown, so that no policy with it is the best."""
    agents = {name: AGENTS[name] for name in ("never", "always", "rule")}
    found = answered(recorded_of(drawn(0, rows), *shares), agents, ("A",))
    assert (found["choice"]["policy"], found["choice"]["state"]) == ("never", "open")
    assert found["choice"]["left_out"] == ["always", "rule"]
    assert "Not evaluated, as too few records follow it: always and rule." in text_of(found)


def test_a_policy_that_buys_one_panel_for_everyone_keeps_to_a_budget_of_its_price():
    agents = {name: AGENTS[name] for name in ("always", "rule")}
    found = answered(drawn(0, 200), agents, ("A", "B"))
    rows = found["outcomes"].set_index("agent")
    assert rows.loc["rule", "acquisition_cost"] == pytest.approx(1, abs=1e-3)
    assert (rows[["share:A", "share:B"]] <= 1).all(axis=None)
    assert "Within a budget of 1 EUR for panels: rule, " in text_of(found, budget=1.0)


def test_cases_are_handed_to_a_person_at_a_price_and_within_a_bound():
    agents = {name: AGENTS[name] for name in ("always", "never", "rule")}
    how = {"referral": {"refer": 1.5, "refer_risk": 0.8}, "habit": {"audit_habit": True}}
    table = drawn(0, 400)
    both = ("without_panels", "recorded_only")
    found = answered(table, agents, ("A", "B"), parts=how, also=both)
    choice = json.loads(json.dumps(found["choice"]))
    own, content = found["outcomes"].set_index("agent"), choice["referral"]
    parts = ["acquisition_cost", "misclassification_cost", "referral_cost"]
    some = own.loc[["never", PRACTICE]]  # of others, estimated shares of panels are cut at 1
    assert some["cost"].to_numpy() == pytest.approx(some[parts].sum(axis=1).to_numpy(), abs=1e-9)
    named = own.loc[choice["policy"]]
    assert named["referral_cost"] == pytest.approx(content["share"] * 1.5)
    alone = answered(table, agents, ("A", "B"))["outcomes"].set_index("agent")
    assert (own["cost"] <= alone["cost"].reindex(own.index) + 1e-9).all()
    assert "referral_cost" not in alone
    assert sum(entry["rows"] for entry in content["patterns"]) == 400
    assert all(entry["threshold"] <= 1.5 for entry in content["patterns"])
    text = text_of(found)
    assert "to a person for 1.5 EUR each" in text
    assert "at 0.8 EUR a case or less" in text
    assert any("a person " in line for line in choice["does"])
    assert choice["unit_costs"]["a person"] == 1.5


def with_habit(table: Table) -> Table:
    """The same with `A` recorded for those who are ill, three times of four."""
    rng = np.random.default_rng(5)
    there = rng.random(len(table)) < np.where(table.label == 1, 0.75, 0.3)
    values = np.where(np.isfinite(table.values), table.values, rng.normal(size=table.values.shape))
    values[~there, 1] = np.nan
    values[rng.random(len(table)) < 0.3, 2] = np.nan
    return replace(table, values=values)


@pytest.mark.parametrize(("objective", "budgets"), [("cost", ()), ("f1", (3.0,))])
def test_the_habit_audit_names_the_planted_habit_and_what_the_policy_owes_to_it(objective, budgets):
    agents = {name: AGENTS[name] for name in ("always", "never", "cascade")}
    table = with_habit(drawn(0, 400))
    found = answered(table, agents, ("A", "B"), objective, budgets, **AUDITED)
    choice = json.loads(json.dumps(found["choice"]))
    habit, policy = choice["habit"], choice["policy"]
    assert habit["state"] == "found"
    assert habit["panels"]["A"]["class"] == "yes"
    assert habit["panels"]["A"]["p"] < 0.01 < habit["panels"]["B"]["p"]
    assert habit["label"]["yes"]["low"] > 0.6
    asked = {name: one["policy"] for name, one in choice["panels"].items()}
    observed = np.isfinite(table.values[:, 1:])
    for j, name in enumerate("AB"):
        assert (habit["withheld"][name]["value"] != 0) == (asked[name] > 0)
        assert habit["failing"][name]["share"] <= (~observed[:, j]).mean()
    text = text_of(found)
    assert "A is recorded " in text
    assert " The records do not contradict" not in text  # which a habit does
    assert "audit_habit=true" not in text
    assert sum(line in text for line in section("habit", choice).sentences) <= 4
    rows = section("habit", choice).table
    assert rows is not None
    assert rows["panel"].tolist() == ["A", "B"]
    plainly = answered(table, agents, ("A", "B"), objective, budgets)
    assert plainly["choice"]["policy"] == policy
    assert plainly["choice"]["cost"] == choice["cost"]
    assert "audit_habit=true shows" in text_of(plainly)
    assert set(plainly["choice"]["habit"]) == {"state", "panels"}


def in_a_circle(table: Table) -> Table:
    """The same, where `A` is missing by `b` and `B` by `a`."""
    rng = np.random.default_rng(0)
    x = np.where(np.isfinite(table.values), table.values, rng.normal(size=table.values.shape))
    missing = rng.random((len(table), 2)) > expit(0.5 + 1.5 * x[:, [2, 1]])
    return replace(table, values=np.where(np.insert(missing, 0, False, axis=1), np.nan, x))


@pytest.mark.parametrize(("objective", "budgets"), [("cost", ()), ("f1", (3.0, 1.0))])
def test_records_that_contradict_the_graph_leave_a_short_list_at_best(objective, budgets):
    agents = {name: AGENTS[name] for name in ("always", "never")}
    table = in_a_circle(drawn(0, 600))
    found = answered(table, agents, ("A", "B"), objective, budgets)
    choice, text = found["choice"], text_of(found)
    assert choice["graph"]["state"] == "refuted"
    assert {choice["state"], *(row["state"] for row in choice["within_budgets"])} == {"short_list"}
    assert "Short list at best, as the records contradict" in text
    assert "such rows would show" not in text  # they would refute the graph, too
    (cause,) = choice["graph"]["refused"]
    assert f"make one panel of {cause['panel']} and that of {cause['column']}" in text
    both = Panel("A and B", ("a", "b"), 3.0, False)
    collected = replace(table, panels=(table.panels[0], both))  # which the text advises
    graph = answered(collected, agents, ("A and B",), objective, budgets)["choice"]["graph"]
    assert graph["state"] != "refuted"


def test_a_label_that_rows_lack_and_that_decides_on_a_panel_refutes_the_graph():
    table = with_habit(drawn(0, 600))
    label = np.where(np.random.default_rng(6).random(600) < 0.2, -1, table.label)
    agents = {name: AGENTS[name] for name in ("always", "never")}
    found = answered(replace(table, label=label), agents, ("A", "B"))
    assert found["choice"]["graph"]["refused"][0]["column"] == "the label"
    assert found["choice"]["state"] in ("short_list", "open")
    assert "fill in the labels" in text_of(found)


def test_requests_that_fail_are_those_that_records_do_not_answer():
    """`rule` asks everyone for A: it fails where A is missing, and 1 is paid for nothing."""
    agents = {name: AGENTS[name] for name in ("rule", "always")}
    table = replace(drawn(0, 200), misclassification_cost=np.array([[0.0, 400.0], [1000.0, 0.0]]))
    found = answered(table, agents, ("A", "B"), **AUDITED)
    habit = found["choice"]["habit"]
    gaps = np.isnan(table.values[:, 1:]).mean(axis=0)
    wanted = {"rule": [gaps[0], 0.0], "always": gaps}[found["choice"]["policy"]]
    for name, price, share in zip("AB", (1.0, 2.0), wanted, strict=True):
        assert habit["failing"][name]["share"] == pytest.approx(share)
        assert habit["failing"][name]["price"] == pytest.approx(price * share)


def test_within_a_budget_practice_may_be_better():
    found = answered(
        drawn(0, 200),
        {"always": AGENTS["always"], "never": AGENTS["never"]},
        ("A", "B"),
        "f1",
        (0.0, 3.0),
    )
    assert found["choice"]["saving_high"] < 0
    assert "95 %); today's practice is better." in text_of(found)


def test_f1_of_few_positives_none_of_which_has_every_panel():
    table = drawn(0, 100)
    label = np.isin(np.arange(100), [1, 30, 60, 70, 90]).astype(np.int64)
    values = np.where(label[:, None] == 1, [0.0, np.nan, 0.0], table.values)
    found = answered(replace(table, label=label, values=values), AGENTS, ("A", "B"), "f1", (1.0,))
    assert text_of(found).startswith("Use ")


@pytest.mark.parametrize(("budget", "name"), [(0.5, "never"), (5.0, "rule")])
def test_within_a_budget_the_named_policy_is_preferred_and_practice_is_none(chain, budget, name):
    rows = chain["outcomes"].set_index("agent")
    rows.loc[["never", "rule", PRACTICE], "cost"] = [2.0, 3.0, 0.1]
    rows.loc[["never", "rule", PRACTICE], "acquisition_cost"] = [0.0, 1.0, 0.0]
    table = rows.loc[[PRACTICE, "never", "rule"]].reset_index()
    text = text_of(
        chain | {"outcomes": table, "choice": chain["choice"] | {"policy": "rule"}}, budget
    )
    assert f"Within a budget of {budget:g} EUR for panels: {name}, " in text


def test_f1_of_a_group_lies_between_0_and_1_and_one_without_positives_has_none():
    table = drawn(0, 150)
    ill = np.flatnonzero(table.label == 1)
    group = np.where(table.label == 1, 0, np.arange(150) % 3)
    group[ill[:2]] = 2  # two positives: a wide interval
    agents = {name: AGENTS[name] for name in ("always", "never")}
    found = answered(table, agents, ("A", "B"), "f1", (3.0,), belonging=(group, ("a", "b", "c")))
    assert set(found["choice"]["groups"]) == {"a", "c"}
    for one in found["choice"]["groups"].values():
        assert all(
            0 <= each["ci_low"] <= each["ci_high"] <= 1 for each in (one["policy"], one["practice"])
        )
    assert (found["outcomes"]["ci_high"] <= 1).all()


def test_rows_without_a_label_are_judged_and_not_learned_from():
    data = drawn(3, 500)
    lacks = np.random.default_rng(4).random(500) < expit(data.values[:, 0] - 1)
    some = {name: AGENTS[name] for name in ("fixed", "never", "always")}
    found = answered(replace(data, label=np.where(lacks, -1, data.label)), some, ("A", "B"))
    labels = found["choice"]["labels"]
    assert labels["missing"] == lacks.sum()
    assert labels["contradicted"] == []
    assert found["choice"]["rows"] == 500
    assert found["choice"]["effective_rows"] < 500 - lacks.sum()
    every = answered(data, some, ("A", "B"))["choice"]
    assert every["labels"] is None
    assert found["choice"]["cost"] == pytest.approx(every["cost"], abs=1.5)
    text = words(found["choice"], found["outcomes"], "EUR", data.classes)
    assert f"{lacks.sum()} rows lack a label; the others are weighted" in text.rests
    assert document(found["choice"], "b", {})["labels"] == labels
