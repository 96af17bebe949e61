"""Folds cover each row once as test, with the paper's shares; scaling by training rows alone."""

import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.data.splits import fold_parts, row_sample


def parts(fold, n=6000, folds=6):
    return fold_parts(
        n, folds=folds, fold=fold, validation_share=2 / 15, rng=np.random.default_rng(7)
    )


def test_each_row_is_a_test_row_once():
    tested = np.stack([parts(fold) == "test" for fold in range(6)])
    assert (tested.sum(axis=0) == 1).all()


def test_shares_are_the_papers():
    part = parts(2)
    shares = {name: float((part == name).mean()) for name in ("train", "validation", "test")}
    assert shares == pytest.approx({"train": 0.7, "validation": 2 / 15, "test": 1 / 6}, abs=2e-4)


def test_folds_that_are_not_there_are_refused():
    with pytest.raises(ConfigError, match="numbered from 0"):
        parts(6)
    with pytest.raises(DataError, match="cannot be cut"):
        parts(0, n=3)
    with pytest.raises(ConfigError, match="no row to train"):
        fold_parts(10, folds=2, fold=0, validation_share=0.5, rng=np.random.default_rng(0))


def test_a_sample_has_distinct_rows_in_order():
    rows = row_sample(50, rows=20, rng=np.random.default_rng(0))
    assert len(set(rows)) == 20
    assert (np.diff(rows) > 0).all()
    assert np.array_equal(row_sample(5, rows=None, rng=np.random.default_rng(0)), np.arange(5))
