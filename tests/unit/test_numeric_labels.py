"""A number as the label: costs by hand in enumerated worlds, tables, and refusals."""

import copy
import json
from dataclasses import replace
from itertools import product
from typing import Any

import frugal
import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.core.numeric import NumericLabel
from frugal.core.table import Panel, Table
from frugal.data.tables import StoredTable, joined, table_to_frames
from frugal.judge.choice import choose, judged
from frugal.judge.designs import _costs, compared
from frugal.judge.estimators.afais import afais_s, stabilised_afais_s
from frugal.judge.estimators.doubly_robust import doubly_robust_afais
from frugal.judge.estimators.inverse_probability import ipw, stabilised_ipw
from frugal.judge.semi_offline import Paths
from frugal.learn.record_law import Causes, KnownLaw, RecordLaw
from frugal.run.own_table import decision
from frugal.run.study import load_study
from frugal.studies.afape.cost_intervals import cost_range

from tests.defaults import DEFAULT, ROOT
from tests.oracles import two_panel_world as world
from tests.unit.afape_chain import run_chain, small_table
from tests.unit.dataset_documents import document, encoded, load
from tests.unit.test_two_panel_world import EXACT, expectation, mnar

VALUES, PRICE = (2.0, 5.0, 9.0), 50.0
LOSSES = {"absolute": abs, "squared": lambda off: off**2}
each_loss = pytest.mark.parametrize("loss", LOSSES)


def by_hand(loss, number, verdict, values=VALUES, price=PRICE):
    pairs = zip(number, verdict, strict=False)
    return np.array([price * LOSSES[loss](y - values[v]) for y, v in pairs])


def numeric(table: Table, number, loss: Any = "absolute") -> Table:
    """The table with a number in place of its label, and mean costs over all rows."""
    label = NumericLabel(VALUES, loss, PRICE, "days", float(number.min()), float(number.max()))
    nearest = np.abs(number[:, None] - np.array(VALUES)).argmin(axis=1)
    names, costs = tuple(f"{v:g} days" for v in VALUES), label.mean_costs(number)
    table = replace(table, classes=names, misclassification_cost=costs, numeric=label)
    return replace(table, label=nearest, number=number)


@each_loss
def test_estimators_of_an_enumerated_world_have_the_cost_by_hand(monkeypatch, loss):
    """The number is 4 y + x3, so that it varies within both classes; 1.5 or 4 is predicted."""
    pair = (1.5, 4.0)

    def total_cost(x, y, acquired):
        paid = sum(c for c, t in zip(world.PANEL_COST, acquired, strict=True) if t)
        verdict = world.predicted_label(x, acquired)
        return paid + by_hand(loss, [4 * y + x[2]], [verdict], pair, 2.0)[0]

    monkeypatch.setattr(world, "total_cost", total_cost)
    c = mnar()
    atoms, label = c.atoms, NumericLabel(pair, loss, 2.0, "1")
    verdict = [world.predicted_label(x, a) for x, a in zip(atoms.x, atoms.acquired, strict=True)]
    each = label.costs(4.0 * atoms.y + atoms.x[:, 2])[np.arange(len(verdict)), verdict]
    outcome = (atoms.acquired @ world.PANEL_COST + each)[:, None]
    np.testing.assert_allclose(outcome[:, 0], atoms.cost, atol=EXACT)
    p, afa, s = c.propensity, c.afa_propensity, c.s_observed
    for terms in (
        ipw(outcome, atoms.complete, p),
        stabilised_ipw(outcome, atoms.complete, p),
        afais_s(outcome, s, p, afa),
        stabilised_afais_s(outcome, s, p, afa),
        doubly_robust_afais(outcome, p, afa, c.outcome_mean, s, c.s_propensity),
    ):
        assert expectation(atoms, terms) == pytest.approx(c.truth, abs=EXACT)


def test_stages_of_afape_count_the_loss_of_each_row():
    number = np.random.default_rng(2).uniform(0, 14, 240)
    chain = run_chain(numeric(small_table(), number), {}, source="own")
    rows = chain.blocked
    each = by_hand("absolute", number[rows["row_id"]], rows["verdict"])
    np.testing.assert_allclose(rows["misclassification_cost"], each, atol=EXACT)
    truth = rows[rows["part"] == "test"].groupby("agent")["cost"].mean()
    found = chain.rows("stabilised_ipw").set_index("agent")["estimate"]
    np.testing.assert_allclose(found[truth.index], truth, atol=1e-9)


@each_loss
def test_decide_estimates_the_cost_by_hand_of_an_enumerated_world(loss):
    """Records in the shares of a law: x1 known, x2 a panel that 1/2 or 3/4 of the cases hold.

    With known probabilities and balanced folds, errors of the regressions cancel exactly.
    """
    rows = []
    for fold, x1, x2, (k, y) in product(range(2), (0, 1), (0, 1), enumerate((0, 1, 3, 4, 8, 13))):
        for held in (False, True):
            times = (1 + (x1 + 2 * x2 + k) % 3) * ((2, 2), (1, 3))[x1][held]
            rows += [(fold, x1, x2, y + x2, held)] * times
    fold, x1, x2, number, held = map(np.array, zip(*rows, strict=True))
    n, every, values = len(rows), np.ones(len(rows), dtype=bool), np.where(held, x2, np.nan)
    panels = (Panel("known", ("x1",), 0.0, True), Panel("A", ("x2",), 3.0, False))
    x = np.column_stack([x1, values]).astype(float)
    plain = (np.arange(n), x, ("x1", "x2"), (), fold, ("",) * 3, panels, np.zeros((3, 3)))
    table = numeric(Table(*plain), number.astype(float), loss)
    cells = [by_hand(loss, number[table.label == k], [1] * n) for k in range(3)]
    means = [cost.mean() for cost in cells]
    np.testing.assert_allclose(table.misclassification_cost[:, 1], means, rtol=EXACT)
    assert cost_range(table).most_error == max(table.error_costs.max(axis=0))
    protocol = KnownLaw(every, np.array([[True]]), np.array([[0.5], [0.75]])[x1])
    law = RecordLaw(
        held[:, None], x, table.label, fold, [Causes((0,))], table.provides, protocol=protocol
    )

    def path(asks, verdict):
        belief, got = np.full((n, 2, 3), 1 / 3), asks & held
        order = np.where(asks, 0, -1)[:, None]
        return Paths(order, got.astype(int), got == asks, got[:, None], belief, verdict)

    asks = x1 == 0
    wanted = {"never": (~every, x1), "some": (asks, np.where(asks, 1 + x2, x1))}
    paths = {name: path(*who) for name, who in wanted.items()}
    paths["practice"] = replace(paths["never"], acquired=held[:, None])
    found = judged(
        paths,
        law,
        x[:, :1],
        table.action_cost,
        table.misclassification_cost,
        practice="practice",
        exact=table.exact_errors,
    )
    chosen = choose(found, 0.05, np.random.default_rng(0))
    policies, variances = compared(chosen, paths, law), found.covariance(["never", "some"])
    assert policies is not None
    now = policies.pairs[0, 1].variance(0.0, None) / n
    assert now == pytest.approx(variances.trace() - 2 * variances[0, 1], rel=EXACT)
    for name, (requests, verdict) in wanted.items():
        each, ended = by_hand(loss, number, verdict) + 3 * requests, paths[name].complete
        assert found.cost(name) == pytest.approx(each.mean(), rel=EXACT)
        costs = _costs(chosen, name, paths[name], table.label)
        np.testing.assert_allclose(costs[ended], each[ended], atol=1e-9)


NUMBERS = "age,smoker,marker,scan,los\n54,yes,0.9,2,1\n61,no,-9,0,3.5\n47,no,,,4\n72,yes,1.4,3,12\n"


def described(**changes):
    content = document()
    del content["misclassification_cost"]
    predict = {"values": [2, 5, 9], "loss": "absolute", "price": 50, "unit": "days"} | changes
    return content | {"label": {"column": "los", "predict": predict}}


def test_a_yaml_makes_a_table_that_is_stored_and_read_back(tmp_path):
    table = encoded(tmp_path, described(), NUMBERS).table
    assert table.classes == ("2 days", "5 days", "9 days")
    assert table.label.tolist() == [0, 1, 1, 2]  # 3.5 lies halfway: to the larger
    assert table.error_costs[3].tolist() == [500.0, 350.0, 150.0]
    frame, catalogue = table_to_frames(table, np.array(["train"] * 4))
    back = StoredTable(frame, json.loads(json.dumps(catalogue))).at(np.arange(4))
    assert back.numeric == table.numeric
    both = joined([back.take(np.array([3])), back.take(np.array([0, 1]))], back)
    np.testing.assert_array_equal(both.number, [12, 1, 3.5])


def test_what_does_not_go_with_a_number_is_refused(tmp_path):
    for key, value, sentence in (
        ("price", 0, "'price' is 0; allowed are values above 0"),
        ("loss", "huber", "'loss' is 'huber'; allowed are absolute, squared"),
        ("values", [5, 2], "values are 5, 2; they must ascend"),
        ("values", [5], r"'values' is \[5\]; it must hold at least 2"),
    ):
        with pytest.raises(ConfigError, match=f"label.predict: {sentence}"):
            load(tmp_path, described(**{key: value}))
    for cell, words in (("", "holds no value"), ("long", "holds 'long'")):
        with pytest.raises(DataError, match=rf"line 3: .*'los' {words}"):
            encoded(tmp_path, described(), NUMBERS.replace("3.5", cell))
    with pytest.raises(ConfigError, match="'misclassification_cost' does, too"):
        load(tmp_path, described() | {"misclassification_cost": [[0, 1], [1, 0]]})
    weighed = described()
    weighed["label"]["unlabelled"] = "weigh"
    with pytest.raises(ConfigError, match="needs a number in every row"):
        load(tmp_path, weighed)
    load(tmp_path, described())
    config = copy.deepcopy(DEFAULT)
    config["datasets"]["small"] = str(tmp_path / "small.yaml")
    config["dadi"]["scenarios"][0]["dataset"] = "small"
    with pytest.raises(ConfigError, match=r"whose label is a number .* studies need 'classes'"):
        load_study(config, ROOT)
    config["table"] = config["datasets"]["small"]
    for keys, sentence in (
        ({"objective": "f1"}, r"is f1, and the label of .* is a number; allowed"),
        ({"refer": 5.0, "refer_risk": 1.0}, "'refer_risk' needs a label of classes"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            decision(config | keys, ROOT, tmp_path)


@pytest.mark.trains
def test_a_data_frame_is_answered_with_the_exact_loss():
    crp, missing, age = np.random.default_rng(3).gamma(2, 2, (3, 120))
    days = np.round(1 + crp)
    table = pd.DataFrame({"age": age, "crp": np.where(missing < 2, np.nan, crp), "los": days})
    keys = {"loss": "absolute", "price": 50, "unit": "days", "values": 3}
    terms = {"label": "los", "free": ["age"], "prices": {"crp": 4}, "predict": keys}
    answer = frugal.decide(table, **terms, agents=["always", "never"])
    assert "It predicts los: " in answer.summary()
    assert "a unit of absolute error" in answer.document["prices"]
    assert {name.split()[1] for name in answer.policy("never").predict(table)} == {"days"}
    value = np.array([float(name.split()[0]) for name in answer.policy("never").classes])
    each = np.sort(50 * np.abs(days[:, None] - value), axis=1).mean(axis=0)
    assert each[0] < answer.outcomes.set_index("agent").loc["never", "cost"] < each[2]
