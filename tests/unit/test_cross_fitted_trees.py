"""Trees that never tell of a row that they saw, and the ensemble that is kept of them."""

import numpy as np
import pytest
from frugal.config.learners import BoostingSettings
from frugal.core.errors import DataError
from frugal.learn import cross_fitted_trees
from frugal.learn.cross_fitted_trees import fit_cross_fitted, folds_of
from frugal.learn.tree_scoring import predict_proba

from tests.unit.tree_agent_cases import BOOSTING

pytestmark = pytest.mark.trains


def loss(log_odds, label):
    return np.logaddexp(0, np.where(label == 1, -log_odds, log_odds)).mean()


def test_rows_learnt_from_are_stated_by_trees_that_did_not_see_them():
    rng = np.random.default_rng(0)
    values, label = rng.normal(size=(600, 4)), rng.integers(2, size=600)
    learns = np.arange(600) < 500
    settings = BoostingSettings.of(BOOSTING | {"min_leaf": 2, "leaves": 31})
    fold = folds_of(label, learns, folds=3, repeats=2, rng=rng)
    fitted = fit_cross_fitted(values, label, fold, settings=settings, seed=1)
    again = predict_proba(fitted.ensemble, values, np.ones_like(values, dtype=bool))
    seen = np.log(again[:, 1] / again[:, 0])
    assert loss(fitted.log_odds[learns], label[learns]) > np.log(2) - 0.01  # noise
    assert loss(seen[learns], label[learns]) < np.log(2) - 0.02
    np.testing.assert_allclose(fitted.log_odds[~learns], seen[~learns], atol=1e-10)


def test_columns_without_any_value_are_left_out_and_keep_their_places():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(400, 3))
    label = (values[:, 2] > 0).astype(np.int64)
    values[:, 1] = np.nan
    fold = folds_of(label, np.ones(400, dtype=bool), folds=3, repeats=1, rng=rng)
    fitted = fit_cross_fitted(values, label, fold, settings=BoostingSettings.of(BOOSTING), seed=1)
    assert fitted.ensemble.columns == 3
    assert set(fitted.ensemble.feature) <= {-1, 0, 2}
    assert loss(fitted.log_odds, label) < 0.1


def test_no_column_at_all_gives_the_base_rate():
    label = (np.arange(300) % 3 == 0).astype(np.int64)
    fold = folds_of(
        label, np.ones(300, dtype=bool), folds=3, repeats=1, rng=np.random.default_rng(0)
    )
    fitted = fit_cross_fitted(
        np.full((300, 2), np.nan), label, fold, settings=BoostingSettings.of(BOOSTING), seed=1
    )
    np.testing.assert_allclose(1 / (1 + np.exp(-fitted.log_odds)), 1 / 3, atol=0.01)


def test_each_class_is_spread_evenly_over_the_folds_of_every_repeat():
    label = np.array([1] * 4 + [0] * 20)  # a row of class 1 for each fold
    learns = np.arange(24) != 3
    fold = folds_of(label, learns, folds=3, repeats=4, rng=np.random.default_rng(0))
    for one in fold:
        assert one[3] == -1
        assert np.bincount(one[learns & (label == 1)]).tolist() == [1, 1, 1]
        assert sorted(np.bincount(one[label == 0])) == [6, 7, 7]
    with pytest.raises(DataError, match="class 2 has 2 rows to learn from: give"):
        folds_of(
            label[2:], np.ones(22, dtype=bool), folds=3, repeats=1, rng=np.random.default_rng(0)
        )


def test_the_number_of_trees_has_the_least_loss_of_all_rows_left_out(monkeypatch):
    """Folds of 30 and 10 rows: 20, 12 and 15 in sum, after one, two and three trees."""
    losses, kept = {30: np.array([0.5, 0.1, 0.4]), 10: np.array([0.5, 0.9, 0.3])}, []
    label = (np.arange(40) % 2).astype(np.int64)
    monkeypatch.setattr(
        cross_fitted_trees, "_booster", lambda *given: (None, losses[len(given[3])])
    )

    def stop(_, *, most, **__):
        kept.append(most)
        raise InterruptedError

    monkeypatch.setattr(cross_fitted_trees, "lightgbm_trees", stop)
    with pytest.raises(InterruptedError):
        cross_fitted_trees.fit_folded(
            np.zeros((40, 1)),
            label,
            (np.arange(40) < 10).astype(np.int64)[None],
            settings=BoostingSettings.of(BOOSTING | {"trees": 3, "folds": 2}),
            seed=0,
        )
    assert kept == [2]


def test_the_same_boosters_are_fitted_once(monkeypatch):
    rng, kept = np.random.default_rng(0), {}
    values, label, fold = rng.normal(size=(60, 2)), rng.integers(0, 2, 60), np.arange(60) % 3
    monkeypatch.setattr(cross_fitted_trees, "_fitted", kept)
    monkeypatch.setattr(cross_fitted_trees, "MOST_FITTED", 7)
    settings = BoostingSettings.of(BOOSTING | {"trees": 4})
    numbers = []
    for labels, seed in ((label, 0), (label, 0), (label, 9), (1 - label, 0)):
        fit_cross_fitted(values, labels, fold[None], settings=settings, seed=seed)
        numbers.append(len(kept))
    assert numbers == [3, 3, 6, 7]
