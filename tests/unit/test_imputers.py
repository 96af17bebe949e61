"""Every imputer: known entries kept, better than means where columns depend, the same twice."""

from typing import Any

import numpy as np
import pytest
from frugal.core.declarations import declared
from frugal.core.errors import ConfigError, DataError
from frugal.core.scaling import fit_scaling
from frugal.learn.imputer_kinds import Imputer, fit_imputer, imputer_of
from sklearn.linear_model import BayesianRidge

pytestmark = pytest.mark.trains

KINDS = sorted(declared("frugal.learn.imputers", "ImputerKind"))

FOREST: dict[str, Any] = {"forest": "histogram", "trees": 15, "max_rounds": 2}
FOREST |= {"min_leaf_numeric": 5, "min_leaf_categorical": 1, "max_train_rows": None}
CHAIN = {"rounds": 3, "trees": 30, "leaves": 8, "learning_rate": 0.15, "min_leaf": 10}
CHAIN["linear_penalty"] = 10.0
FLOW: dict[str, Any] = {"couplings": 4, "hidden": [16], "passes": 2, "mask_draws": 5, "batch": 64}
FLOW |= {"hidden_share": [0.0, 0.7], "learning_rate": 3e-3, "weight_decay": 1e-6, "alpha": 1e6}
FLOW |= {"em_scale": 0.99, "em_power": 0.8}
SETTINGS: dict[str, dict[str, Any]] = {"mean": {}, "mice": {"rounds": 6}, "missforest": FOREST}
SETTINGS |= {"chained_trees": CHAIN, "emflow": FLOW}


def linear_rows(seed: int, n: int = 400) -> np.ndarray:
    """Four columns on one factor; the last is a 0/1 code, the first two of other scales."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=n)
    noise = 0.4 * rng.normal(size=(n, 3))
    columns = factor[:, None] * [1.0, -1.0, 0.8] + noise
    return np.column_stack([columns * [50, 0.01, 1] + [200, 0, 3], factor > 0])


def fit(kind: str, *, train: np.ndarray | None = None, seed: int = 0, onehot=()) -> Imputer:
    rows = linear_rows(0) if train is None else train
    return fit_imputer(
        kind,
        rows,
        onehot=onehot,
        validation=rows[:80],
        settings=SETTINGS[kind],
        rng=np.random.default_rng(seed),
    )


def holed(seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rows = linear_rows(seed, 200)
    gone = np.random.default_rng(seed).random(rows.shape) < 0.25
    return rows, np.where(gone, np.nan, rows)


@pytest.mark.parametrize("kind", KINDS)
def test_known_entries_are_kept_and_the_same_rows_get_the_same_bytes(kind):
    rows, shown = holed()
    model = fit(kind)
    filled, again = model.impute(shown), fit(kind)
    known = ~np.isnan(shown)
    assert filled[known].tobytes() == rows[known].tobytes()
    assert np.isfinite(filled).all()
    assert filled.tobytes() == model.impute(shown).tobytes() == again.impute(shown).tobytes()


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "mean"])
@pytest.mark.parametrize("own_holes", [False, True])
def test_dependence_is_used(kind, own_holes):
    train = linear_rows(0)
    if own_holes:
        train[np.random.default_rng(9).random(train.shape) < 0.1] = np.nan
    rows, shown = holed()
    model, gone = fit(kind, train=train), np.isnan(shown)
    wrong = (model.impute(shown) - rows) / model.scaling.scale
    assert np.sqrt(np.mean(wrong[gone] ** 2)) < 0.75  # means score 1


def test_means_are_those_of_known_training_values():
    train = np.array([[1.0, np.nan], [3.0, 4.0]])
    model = fit_imputer(
        "mean", train, onehot=(), validation=None, settings={}, rng=np.random.default_rng(0)
    )
    np.testing.assert_array_equal(model.impute(np.full((1, 2), np.nan)), [[2.0, 4.0]])


def test_one_column_missing_makes_mice_a_bayesian_ridge():
    """With a single hole in a row, the chain is one regression on the other columns."""
    train, rows = linear_rows(0), linear_rows(2, 50)
    shown = rows.copy()
    shown[:, 2] = np.nan
    scaling = fit_scaling(train)
    t, r = scaling.standardise(train), scaling.standardise(rows)
    others = [0, 1, 3]
    expected = BayesianRidge().fit(t[:, others], t[:, 2]).predict(r[:, others])
    found = scaling.standardise(fit("mice").impute(shown))[:, 2]
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_missforest_returns_whole_codes():
    factor = np.random.default_rng(3).normal(size=300)
    table = np.column_stack([factor, factor > 0, factor <= 0]).astype(float)
    shown = table[200:].copy()
    shown[::2, 1:] = np.nan
    model = fit("missforest", train=table[:200], onehot=((1, 2),))
    block = model.impute(shown)[:, 1:]
    assert np.isin(block, [0.0, 1.0]).all()
    assert (block.sum(axis=1) == 1).all()
    assert (block == table[200:, 1:]).all(axis=1).mean() > 0.95


def test_refusals():
    with pytest.raises(ConfigError, match="no imputer 'knn'; allowed are chained_trees, emflow"):
        fit_imputer(
            "knn",
            linear_rows(0),
            onehot=(),
            validation=None,
            settings={},
            rng=np.random.default_rng(0),
        )
    with pytest.raises(DataError, match="mean imputer"):
        imputer_of({}, columns=1)
