"""`frugal.sklearn.Acquirer` is an estimator like others, and acts as the kinds of `decide` do."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from frugal.acquire.kinds import Ground, kind_of
from frugal.core.streams import Streams
from frugal.learn.trees import classifier_of
from frugal.library.estimator import STOP, _tried
from frugal.sklearn import Acquirer, path_cost
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

PRICES = {"crp": 1.0, "film": 3.0}
ERRORS = [[0.0, 10.0], [40.0, 0.0]]


def records(n=300, seed=0, gaps=0.3):
    """Age is known, crp says much, film more; labels are words."""
    rng = np.random.default_rng(seed)
    age, crp = rng.normal(size=(2, n))
    film = crp + rng.normal(size=n) * 0.5
    ill = rng.random(n) < 1 / (1 + np.exp(1 - 2 * film - 0.5 * age))
    frame = pd.DataFrame({"age": age, "crp": crp, "film": film})
    for panel in PRICES:
        frame.loc[rng.random(n) < gaps, panel] = np.nan
    return frame, np.where(ill, "ill", "well")


@parametrize_with_checks([Acquirer(), Acquirer("fixed")])
def test_it_is_an_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", ["cascade", "permutation", "fixed"])
def test_it_learns_and_decides_as_the_kind_of_decide(kind):
    X, y = records()
    acquirer = Acquirer(kind, prices=PRICES, errors=ERRORS, random_state=3).fit(X, y)
    assert acquirer.classes_.tolist() == ["ill", "well"]
    assert acquirer.panel_names_.tolist() == ["crp", "film"]
    table, recorded = acquirer._table, np.isfinite(X[["crp", "film"]].to_numpy())
    tried, classifier = _tried()
    settings = tried[kind]
    seed = int(np.random.RandomState(3).randint(2**31))
    streams = Streams(seed, "acquirer", {})
    trees = classifier_of(table, classifier, streams)
    declared = kind_of(settings)
    assert declared.fit is not None
    arrays = declared.fit(Ground(table, recorded, None, trees, streams), settings).arrays
    policy: Any = acquirer._policy
    ours = policy.to_arrays()
    assert ours.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(ours[name], array)
    shares = acquirer.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert set(acquirer.next_panel(X)) <= {"crp", "film", STOP}
    complete, outcome = records(gaps=0.0, seed=1, n=2000)
    path = acquirer.path(complete)
    paid = path[["crp", "film"]].to_numpy(float) @ [1.0, 3.0]
    np.testing.assert_allclose(path["price"], paid)
    missed = (outcome == "ill") & (path["predicted"] == "well")
    alarms = (outcome == "well") & (path["predicted"] == "ill")
    cost = paid.mean() + 10 * missed.mean() + 40 * alarms.mean()
    assert path_cost(acquirer, complete, outcome) == pytest.approx(-cost)


def test_a_case_is_led_to_its_end_panel_by_panel():
    X, y = records()
    acquirer = Acquirer("permutation", prices=PRICES, errors=ERRORS).fit(X, y)
    complete, _ = records(gaps=0.0, seed=1, n=50)
    path = acquirer.path(complete)
    state = complete.assign(crp=np.nan, film=np.nan)
    for _ in range(3):
        following = acquirer.next_panel(state)
        for panel in PRICES:
            asked = following == panel
            state.loc[asked, panel] = complete.loc[asked, panel]
    np.testing.assert_array_equal(state[["crp", "film"]].notna(), path[["crp", "film"]])
    np.testing.assert_array_equal(acquirer.predict(state), path["predicted"])
    assert (acquirer.next_panel(state) == STOP).all()


def test_tools_of_scikit_learn_take_it():
    X, y = records(gaps=0.0)
    acquirer = Acquirer("never", prices=PRICES, errors=ERRORS)
    scores = cross_val_score(acquirer, X, y, scoring=path_cost, cv=3)
    assert (scores < 0).all()
    search = GridSearchCV(acquirer, {"kind": ["never", "always"]}, scoring=path_cost, cv=3)
    search.fit(X, y)
    assert search.best_params_["kind"] in ("never", "always")
    fitted = make_pipeline(FunctionTransformer(), clone(acquirer)).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert fitted[-1].feature_names_in_.tolist() == ["age", "crp", "film"]
    assert path_cost(fitted, X, y) == path_cost(fitted[-1], X, y)


def test_scikit_learn_routes_prices_of_each_case():
    X, y = records(gaps=0.0)
    prices = pd.DataFrame({"film": np.linspace(1, 5, len(X)), "crp": 0.5})
    acquirer: Any = Acquirer("always", prices=PRICES, errors=ERRORS)
    unfitted: Any = clone(acquirer)
    fitted = unfitted.fit(X, y, prices=prices)
    assert fitted._table.action_cost.tolist() == pytest.approx([0.5, 3.0])
    paid = path_cost(fitted, X, y) - path_cost(fitted, X, y, prices=prices)
    assert paid == pytest.approx(prices.to_numpy().sum(axis=1).mean() - 3.5)
    array = prices[["crp", "film"]].to_numpy()
    assert path_cost(fitted, X, y, prices=array) == path_cost(fitted, X, y, prices=prices)
    with config_context(enable_metadata_routing=True):
        scorer = path_cost.set_score_request(prices=True)
        params = {"scoring": scorer, "cv": KFold(3), "params": {"prices": prices}}
        scores = cross_val_score(acquirer.set_fit_request(prices=True), X, y, **params)
        train, test = next(KFold(3).split(X))
        first: Any = clone(acquirer)
        first.fit(X.iloc[train], y[train], prices=prices.iloc[train])
        own = path_cost(first, X.iloc[test], y[test], prices=prices.iloc[test])
        assert scores[0] == pytest.approx(own)
        search = GridSearchCV(acquirer, {"kind": ["never", "always"]}, scoring=scorer, cv=3)
        assert search.fit(X, y, prices=prices).best_params_["kind"] in ("never", "always")
        with pytest.raises(UnsetMetadataPassedError, match="prices"):
            cross_val_score(acquirer, X, y, **{**params, "scoring": path_cost})


@pytest.mark.parametrize(
    ("prices", "sentence"),
    [
        ([[1.0, 2.0]], r"prices is of shape \(1, 2\); allowed is \(60, 2\)"),
        (pd.DataFrame({"crp": [1.0] * 60}), "prices has the columns crp; the panels are crp, film"),
        (np.full((60, 2), -1.0), "prices has a cell that is no number from 0 on"),
    ],
)
def test_wrong_prices_of_cases_are_named(prices, sentence):
    X, y = records(60)
    with pytest.raises(ValueError, match=sentence):
        Acquirer("never", prices=PRICES).fit(X, y, prices=prices)


def test_panels_of_several_columns_are_acquired_at_once():
    X, y = records()
    acquirer = Acquirer("always", prices={"labs": 2.0}, panels={"labs": ["crp", "film"]})
    assert acquirer.fit(X, y).panel_names_.tolist() == ["labs"]
    assert acquirer.path(X)["labs"].tolist() == X[["crp", "film"]].notna().any(axis=1).tolist()
    numbers = Acquirer("never", prices=[1, 2, 3]).fit(X.to_numpy(), y)
    assert numbers.panel_names_.tolist() == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"kind": "cascad"}, r"kind is 'cascad'; .* did you mean 'cascade'"),
        ({"prices": {"crpp": 1}}, r"prices names 'crpp'; .* did you mean 'crp'"),
        ({"prices": {"crp": -1}}, r"prices has -1 for 'crp'; allowed are numbers from 0 on"),
        ({"prices": [1, 2]}, r"prices has 2 numbers; there are 3 panels"),
        ({"panels": {"labs": ["crp"]}, "prices": {}}, r"prices has none for the panel 'labs'"),
        ({"panels": {"labs": ["cro"]}, "prices": 1}, r"panels names the column 'cro'"),
        ({"errors": [[0, 1]]}, r"allowed are 2 × 2 costs from 0 on"),
    ],
)
def test_a_wrong_parameter_is_named(settings, sentence):
    X, y = records(60)
    with pytest.raises(ValueError, match=sentence):
        Acquirer(**settings).fit(X, y)
