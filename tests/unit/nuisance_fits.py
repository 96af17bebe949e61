"""Regressions fitted to rows in memory, with what they say of these rows; not a test module."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from frugal.learn.nuisance_choice import Head, HeadModels, MeanHead, fit_mean_models, fit_models


def _fitted(heads: Sequence[Any], **fit: Any) -> list[HeadModels]:
    return (fit_mean_models if isinstance(heads[0], MeanHead) else fit_models)(heads, **fit)


def _means(head: Head | MeanHead, models: HeadModels, rows: np.ndarray, fold: np.ndarray) -> Any:
    """Predictions of some rows, NaN of the others. (n,) of a probability, (n, o) of means"""
    result = np.full((len(head.inputs), models.outcomes), np.nan)
    result[rows] = models.predict(head.inputs[rows], fold[rows])
    return result if isinstance(head, MeanHead) else result[:, 0]


def cross_fit(heads: Sequence[Any], *, fold: np.ndarray, **fit: Any) -> list[np.ndarray]:
    """A fold's rows by the models of the other folds."""
    models, every = _fitted(heads, fold=fold, **fit), np.ones(len(fold), dtype=bool)
    return [_means(h, m, every, fold) for h, m in zip(heads, models, strict=True)]


def separate_fit(
    heads: Sequence[Any], *, train: np.ndarray, predict: np.ndarray, **fit: Any
) -> list[np.ndarray]:
    """Trained on some rows and predicted on others; NaN on the rest."""
    models, fold = _fitted(heads, train=train, **fit), np.zeros(len(train), dtype=np.int64)
    return [_means(h, m, predict, fold) for h, m in zip(heads, models, strict=True)]
