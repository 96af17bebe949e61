"""`frugal.sklearn.evaluate` judges any object with `next_panel` and `predict`."""

from typing import Any

import frugal
import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.library.evaluation import _Outside, _RowsOfX
from frugal.sklearn import Acquirer, evaluate, path_cost
from sklearn.base import BaseEstimator

PRICES = {"crp": 1.0, "film": 3.0}
ERRORS = [[0.0, 10.0], [40.0, 0.0]]  # of well, of ill


def world(n, seed, gaps=True):
    """Panels lack more often in the young, who are well more often."""
    rng = np.random.default_rng(seed)
    age, crp = rng.normal(size=(2, n))
    film = crp + rng.normal(size=n) * 0.5
    ill = rng.random(n) < 1 / (1 + np.exp(1 - 2 * film - age))
    frame = pd.DataFrame({"age": age, "crp": crp, "film": film})
    if gaps:
        frame.loc[rng.random(n) > 1 / (1 + np.exp(-1 - age)), "crp"] = np.nan
        frame.loc[rng.random(n) > 1 / (1 + np.exp(-0.3 - 1.5 * age)), "film"] = np.nan
    return frame, np.where(ill, "ill", "well")


class Rule:
    """CRP for everyone, a film where it is positive."""

    def next_panel(self, X):
        film = (X["crp"] > 0) & X["film"].isna()
        return np.where(X["crp"].isna(), "crp", film.map({True: "film", False: None}))

    def predict(self, X):
        known = X["film"].where(X["film"].notna(), X["crp"])
        return np.where(known + 0.5 * X["age"] > 0.2, "ill", "well")


class Fixed(BaseEstimator):
    """One answer for every row; in place of a class, the label of the row of the same age."""

    def __init__(self, panel=None):
        self.panel = panel

    def fit(self, X, y):
        self.label_ = pd.Series(y, index=X["age"])
        return self

    def next_panel(self, X):
        return [self.panel] * len(X)

    def predict(self, X):
        return self.label_.reindex(X["age"]).fillna("well").to_numpy()


def costs(X, y, policy):
    """Cost of each case on complete rows, panel by panel."""
    state, paid = X.assign(crp=np.nan, film=np.nan), np.zeros(len(X))
    for _ in PRICES:
        following = policy.next_panel(state)
        for panel, price in PRICES.items():
            at = following == panel
            state.loc[at, panel] = X.loc[at, panel]
            paid += price * at
    errors = np.where(y == "ill", 40.0, 10.0)
    return paid + errors * (policy.predict(state) != y)


def judged(estimator, X, y, **options) -> Any:
    """The table, errors sorted as the classes: ill, well."""
    errors = np.array(ERRORS)[::-1, ::-1]
    return evaluate(estimator, X, y, **{"prices": PRICES, "errors": errors, **options})


def test_it_estimates_the_cost_in_use_whatever_the_order_of_the_rows():
    truth = costs(*world(100_000, 99, gaps=False), Rule()).mean()
    X, y = world(1500, 1)
    table = judged(Rule(), X, y)
    policy = table.loc["policy"]
    assert abs(policy["cost"] - truth) < 4 * policy["std_error"]
    assert table.index.tolist() == ["policy", "practice", "always", "never"]
    np.testing.assert_allclose(table["difference"], policy["cost"] - table["cost"])
    assert (table["difference_low"] <= table["difference"]).all()
    assert table.loc["policy", ["difference_low", "difference_high"]].abs().max() < 1e-6
    order = np.random.default_rng(0).permutation(len(X))
    pd.testing.assert_frame_equal(judged(Rule(), X.iloc[order], y[order]), table, rtol=1e-9)


def test_it_agrees_with_decide_on_the_policies_of_decide():
    X, y = world(1500, 2)
    terms = {"prices": PRICES, "errors": {"missed": 40, "false alarm": 10}, "free": ["age"]}
    answer = frugal.decide(
        X.assign(label=y), "label", positive="ill", agents=["always", "never"], **terms
    )
    own: Any = answer.outcomes.set_index("agent")
    always = answer.policy("always")

    class HandedOut:
        classes_ = always.classes
        predict, predict_proba = always.predict, always.predict_proba

        def next_panel(self, X):
            return always.next(X)

    for estimator, name, cv in (
        (HandedOut(), "always", None),
        (Acquirer("never", prices=PRICES, errors=np.array(ERRORS)[::-1, ::-1]), "never", 5),
    ):
        table: Any = evaluate(estimator, X, y, **({} if cv else terms_of(terms)), cv=cv)
        for row, other in (("policy", name), *((n, n) for n in ("practice", "always", "never"))):
            apart = abs(table.loc[row, "cost"] - own.loc[other, "cost"])
            assert apart < own.loc[other, "std_error"], (row, other)


def terms_of(terms):
    return {"prices": terms["prices"], "errors": terms["errors"], "positive": "ill"}


def test_where_nothing_lacks_each_case_pays_its_own_prices():
    X, y = world(300, 3, gaps=False)
    rng = np.random.default_rng(0)
    prices = pd.DataFrame({"film": rng.uniform(1, 5, 300), "crp": rng.uniform(0, 2, 300)})
    acquirer = Acquirer("always", prices=PRICES, errors=np.array(ERRORS)[::-1, ::-1]).fit(X, y)
    table: Any = evaluate(acquirer, X, y, prices=prices)
    assert table.loc["policy", "cost"] == pytest.approx(
        -path_cost(acquirer, X, y, prices), abs=0.01
    )
    assert table.loc["policy", "acquisition_cost"] == pytest.approx(prices.sum(axis=1).mean())


def test_with_cv_no_row_is_judged_by_a_policy_that_learned_from_it():
    X, y = world(1500, 4)
    remembers = judged(Fixed().fit(X, y), X, y).loc["policy"]
    assert remembers["misclassification_cost"] == pytest.approx(0, abs=0.05)
    honest = judged(Fixed(), X, y, cv=5).loc["policy"]
    assert honest["cost"] == pytest.approx(40 * (y == "ill").mean(), abs=0.05)
    assert honest["acquisition_cost"] == 0


def outside(next_panel, predict=None):
    """A policy on three rows, of panels crp and film; class probabilities are not called for."""
    X = pd.DataFrame({"age": [1.0, 2, 3], "crp": [4.0, 5, 6], "film": [7.0, 8, 9]})
    policy = type("Policy", (), {"next_panel": next_panel, "predict": predict})()
    reveals = np.array([[False, True, False], [False, False, True]])
    records = _RowsOfX.of(X, ["a", "b", "a"])
    return _Outside(policy, records, reveals, ("crp", "film"), records.classes)


def state(acquired, rows=(2, 0)):
    """Values of a table of its own, and the number of the row."""
    values = np.array([[np.nan, row] for row in rows], dtype=float)[None]
    return values, np.array(acquired)[None]


def test_it_shows_acquired_panels_alone_and_ends_where_a_panel_cannot_be_had():
    seen = []

    def next_panel(_, X):
        seen.append(X)
        return ["crp", "film"]

    policy = outside(next_panel)
    values, acquired = state([[True, False], [False, False]])
    available = np.array([[[True, True], [True, False]]])
    law = policy.action_probabilities(values, acquired, available)
    expected = pd.DataFrame({"age": [3.0, 1.0], "crp": [6.0, np.nan], "film": [np.nan, np.nan]})
    pd.testing.assert_frame_equal(seen[0], expected)
    assert law[0].tolist() == [[0, 0, 1], [0, 0, 1]]  # repeated; not offered
    assert policy.refused == {"film": {0}}
    shares = outside(lambda _, X: np.array([[0.5, 0.3, 0.2]] * 2))
    law = shares.action_probabilities(values, acquired, np.ones((1, 2, 2), dtype=bool))
    np.testing.assert_allclose(law[0], [[0, 0.3, 0.7], [0.5, 0.3, 0.2]])


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (["cpr", "stop"], "next_panel names 'cpr' for row 0; allowed are crp, film, stop"),
        (["crp"], "next_panel returns 1 names for 2 states"),
        ("crp", "next_panel returns 'crp'; allowed are probabilities"),
        (np.full((2, 3), np.nan), "next_panel returns a row of no probabilities"),
        (np.zeros((2, 2)), r"next_panel returns an array of shape \(2, 2\)"),
    ],
)
def test_an_answer_that_names_no_panel_is_refused(answer, sentence):
    policy = outside(lambda _, X: answer)
    values, acquired = state([[False, False]] * 2)
    with pytest.raises(DataError, match=sentence):
        policy.action_probabilities(values, acquired, ~acquired)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [(["a", "c"], "predict returns 'c'; y has the classes"), (["a"], r"of shape \(1,\) for 2")],
)
def test_a_class_that_does_not_occur_is_refused(answer, sentence):
    policy = outside(None, lambda _, X: answer)
    with pytest.raises(DataError, match=sentence):
        policy.predict(*state([[False, False]] * 2))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"estimator": object()}, "of type object and has no method 'next_panel'"),
        ({"estimator": Rule(), "cv": 5}, "of type Rule and has no method 'fit'"),
        ({"cv": 3}, "cv is 3; allowed are None and 5, the folds of decide"),
        ({"y": ["ill"] * 60}, "y has 1 class; allowed are two or more"),
        ({"y": ["ill", "well"]}, r"y is of shape \(2,\); X has 60 rows"),
        ({"y": [None, *"ab" * 29, "a"]}, "y has no label in 1 rows"),
        ({"X": np.zeros(60)}, r"X is of shape \(60,\)"),
        ({"prices": None}, "prices is None"),
        ({"prices": {"cpr": 1}}, "prices names 'cpr'; .* did you mean 'crp'"),
        ({"prices": np.ones((59, 3))}, r"prices is of shape \(59, 3\); allowed is \(60, 3\)"),
        ({"errors": [[0, 1]]}, "allowed are 2 × 2 costs from 0 on"),
        ({"panels": {"labs": ["cro"]}}, "panels names the column 'cro'"),
        ({"panels": {"stop": ["crp"]}, "prices": {"stop": 1}}, "a panel has this name"),
    ],
)
def test_an_argument_that_is_not_allowed_is_named(changes, sentence):
    X, y = world(60, 5)
    arguments = {"estimator": Fixed(), "X": X, "y": y, "prices": PRICES, **changes}
    with pytest.raises((ConfigError, DataError, ValueError), match=sentence):
        evaluate(**arguments)


def test_the_verb_of_frugal_takes_records_too():
    X, y = world(60, 5)
    given = {"prices": PRICES, "errors": ERRORS}
    pd.testing.assert_frame_equal(
        frugal.evaluate(Rule(), X, y, **given), evaluate(Rule(), X, y, **given)
    )
    with pytest.raises(ConfigError, match="has no argument 'price'"):
        frugal.evaluate(Rule(), X, y, price=1)
