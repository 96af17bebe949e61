import lightgbm
import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.core.table import Panel, Table
from frugal.learn import trees
from frugal.learn.tree_scoring import predict_proba
from frugal.learn.trees import (
    TreeEnsemble,
    fit_boosting,
    fit_forest,
    largest_float32,
    subsample_panels,
    training_set,
)
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from tests.unit.partly_observed import draw

pytestmark = pytest.mark.trains

FOREST = {"trees": 12, "min_leaf": 2}
BOOSTING = {"trees": 12, "leaves": 7, "learning_rate": 0.3, "min_leaf": 5}


@pytest.mark.parametrize("classes", [2, 3])
def test_forest_equals_scikit_learn_on_mean_filled_data(classes):
    values, observed, label = draw(n=400, d=5, classes=classes, share=0.6, seed=1)
    ours = fit_forest(
        values, observed, label, classes=classes, rng=np.random.default_rng(7), **FOREST
    )
    mean = np.array([values[observed[:, f], f].mean() for f in range(5)])
    filled = np.where(observed, values, mean).astype(np.float32)
    theirs = RandomForestClassifier(
        n_estimators=12,
        min_samples_leaf=2,
        random_state=int(np.random.default_rng(7).integers(2**31 - 1)),
    ).fit(filled, label)
    fresh, seen, _ = draw(n=300, d=5, classes=classes, share=0.5, seed=2)
    expected = theirs.predict_proba(np.where(seen, fresh, mean).astype(np.float32))
    # The same trees and rows: only the order of a sum of 12 shares differs.
    np.testing.assert_allclose(predict_proba(ours, fresh, seen), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 4])
def test_boosting_equals_lightgbm_where_values_are_missing(classes, monkeypatch):
    kept = []
    monkeypatch.setattr(
        trees,
        "train_booster",
        lambda *a, _fit=trees.train_booster, **k: kept.append(_fit(*a, **k)) or kept[0],
    )
    values, observed, label = draw(n=600, d=5, classes=classes, share=0.7, seed=3)
    values[:100, 3] = 0.0  # zero is a value, not "missing"
    ours = fit_boosting(
        values, observed, label, classes=classes, rng=np.random.default_rng(0), **BOOSTING
    )
    assert isinstance(kept[0], lightgbm.Booster)
    fresh, seen, _ = draw(n=500, d=5, classes=classes, share=0.5, seed=4)
    fresh[:100, 3] = 0.0
    seen[:50, 0] = False  # column 0 was never missing in training
    expected = np.asarray(kept[0].predict(np.where(seen, fresh, np.nan)))
    expected = np.column_stack([1 - expected, expected]) if classes == 2 else expected
    np.testing.assert_allclose(predict_proba(ours, fresh, seen), expected, rtol=0, atol=1e-9)


def test_absent_class_gets_no_share():
    values, observed, label = draw(n=200, d=4, classes=2, share=0.8, seed=5)
    forest = fit_forest(
        values, observed, 2 * label, classes=4, rng=np.random.default_rng(0), **FOREST
    )
    proba = predict_proba(forest, values, observed)
    assert proba.shape == (200, 4)
    assert (proba[:, [1, 3]] == 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_unobserved_entries_are_never_read(kind):
    values, observed, label = draw(n=300, d=4, classes=2, share=0.6, seed=6)
    fit, settings = (fit_forest, FOREST) if kind == "forest" else (fit_boosting, BOOSTING)
    changed = np.where(observed, values, 1e6)
    changed[0, 1], observed[0, 1] = np.nan, True  # NaN counts as unknown
    also = values.copy()
    also[0, 1] = np.nan
    one, two = (
        fit(v, observed, label, classes=2, rng=np.random.default_rng(0), **settings)
        for v in (also, changed)
    )
    for name, array in one.to_arrays().items():
        np.testing.assert_array_equal(array, two.to_arrays()[name])
    np.testing.assert_array_equal(
        predict_proba(one, also, observed), predict_proba(one, changed, observed)
    )


@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_arrays_hold_everything(kind):
    values, observed, label = draw(n=300, d=4, classes=3, share=0.6, seed=8)
    fit, settings = (fit_forest, FOREST) if kind == "forest" else (fit_boosting, BOOSTING)
    ours = fit(values, observed, label, classes=3, rng=np.random.default_rng(0), **settings)
    arrays = ours.to_arrays()
    assert all(isinstance(array, np.ndarray) for array in arrays.values())
    back = TreeEnsemble.from_arrays(arrays)
    assert (back.link, back.columns, back.classes) == (ours.link, 4, 3)
    np.testing.assert_array_equal(
        predict_proba(back, values, observed), predict_proba(ours, values, observed)
    )
    del arrays["root"]
    with pytest.raises(DataError, match="lacks the array 'root'"):
        TreeEnsemble.from_arrays(arrays)


def test_a_tree_without_a_split_is_one_leaf():
    values, observed, label = draw(n=30, d=3, classes=2, share=1.0, seed=9)
    stump = fit_boosting(
        values,
        observed,
        label,
        classes=2,
        trees=3,
        leaves=4,
        learning_rate=0.1,
        min_leaf=30,
        rng=np.random.default_rng(0),
    )
    np.testing.assert_allclose(
        predict_proba(stump, values, observed)[:, 1], label.mean(), rtol=0, atol=1e-6
    )


@given(st.floats(-1e300, 1e300), st.floats(width=32, allow_nan=False))
def test_rounded_threshold_sends_every_float32_the_same_way(threshold, x):
    rounded = largest_float32(np.array([threshold]))
    assert rounded.dtype == np.float32
    assert (np.float32(x) <= rounded[0]) == (np.float64(np.float32(x)) <= threshold)


def overlapping_table(n):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n, 3))
    values[0, 1] = np.nan
    panels = (
        Panel("free", ("p",), 0.0, True),
        Panel("small", ("q",), 1.0, False),
        Panel("large", ("q", "r"), 2.0, False),
    )
    label = np.arange(n) % 2
    return Table(
        np.arange(n), values, ("p", "q", "r"), (), label, ("no", "yes"), panels, 1 - np.eye(2)
    )


def test_training_set_holds_each_row_whole_and_subsampled():
    n = 4000
    table = overlapping_table(n)
    values, observed, label = training_set(table, probability=0.5, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(values, np.concatenate([table.values] * 2))
    np.testing.assert_array_equal(label, np.concatenate([table.label] * 2))
    np.testing.assert_array_equal(observed[:n], ~np.isnan(table.values))
    assert observed[:, 0].all()
    assert not observed[[0, n], 1].any()
    # q comes with either panel (3/4), r with one (1/2); 4 standard errors of a share are at most
    # 4·√(.25/4000) = .032: false alarms below 2·6e-5.
    assert abs(observed[n:, 1].mean() - 0.75) < 0.032
    assert abs(observed[n:, 2].mean() - 0.5) < 0.032
    assert (observed[n + 1 :, 1] >= observed[n + 1 :, 2]).all()  # whoever has r has q


def test_refusals_say_what_was_found():
    values, observed, label = draw(n=20, d=3, classes=2, share=1.0, seed=0)
    rng = np.random.default_rng(0)
    with pytest.raises(ConfigError, match=r"probability 1\.5"):
        subsample_panels(3, 2, probability=1.5, rng=rng)
    with pytest.raises(DataError, match=r"labels run 0\.\.3; allowed: 0\.\.1"):
        fit_forest(values, observed, label * 3, classes=2, rng=rng, **FOREST)
    with pytest.raises(DataError, match="no training rows"):
        fit_boosting(values[:0], observed[:0], label[:0], classes=2, rng=rng, **BOOSTING)
    observed[:, 1] = False
    with pytest.raises(DataError, match="column 1 is observed in no training row"):
        fit_forest(values, observed, label, classes=2, rng=rng, **FOREST)


def test_an_ensemble_of_another_table_is_refused():
    values, observed, label = draw(n=200, d=4, classes=3, share=0.6, seed=8)
    ours = fit_forest(values, observed, label, classes=3, rng=np.random.default_rng(0), **FOREST)

    def table(columns: int, classes: int) -> Table:
        names = tuple(f"x{j}" for j in range(columns))
        return Table(
            np.arange(2),
            np.zeros((2, columns)),
            names,
            (),
            np.arange(2),
            tuple("abcd"[:classes]),
            (Panel("all", names, 1.0, False),),
            1.0 - np.eye(classes),
        )

    assert ours.require_table(table(4, 3)) is ours
    for columns, classes in ((5, 3), (4, 2)):
        said = f"for 4 columns and 3 classes; the table has {columns} and {classes}"
        with pytest.raises(DataError, match=said):
            ours.require_table(table(columns, classes))
