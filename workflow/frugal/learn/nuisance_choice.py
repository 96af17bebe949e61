"""Which model fits a nuisance best, by its loss on rows that it has not seen; each for itself.

With `lowest_loss` every regression is fitted by each method, and the one of least cross-fitted loss
is taken: for all folds at once, each regression for itself. The discrete super learner of van der
Laan and Dudoit (2003); the choice among so few costs less than the fits' own error. With a part to
learn from, folds are made within it, and the chosen method is fitted once more on all of it. Must
not know what a regression stands for, which estimator asks, or files.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from frugal.core.scaling import fit_scaling
from frugal.learn.calibration import log_loss
from frugal.learn.heads import Head, HeadModels, MeanHead
from frugal.learn.nuisance import fit_mean_models, fit_models

LOWEST_LOSS = "lowest_loss"
METHODS = ("logistic", "network", "boosting")  # in this order where two are equal
MEAN_METHODS = ("network", "boosting")
WITHOUT_INPUTS = "mean"  # what every method makes of a regression on nothing

Rule = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Fitted:
    """One regression's fitted values, and how each method did on rows that it had not seen.

    Attributes:
        values: NaN where a row's inputs are not known, and everywhere where some split leaves no
            row to learn from. (n,) or (n, o)
        method: whose values they are; "mean" without inputs, "" where nothing could be fitted.
        losses: method → cross-fitted loss; NaN of a named method that was fitted on a part of its
            own. Log-loss in nats, or the squared error over the target's variance, as a mean over
            outcomes that vary.
        rows: on which the losses were taken.
        models: behind the values; None where nothing could be fitted.
    """

    values: Float[np.ndarray, " n"] | Float[np.ndarray, "n o"]
    method: str
    losses: Mapping[str, float]
    rows: int
    models: HeadModels | None = None

    def predict(self, inputs: np.ndarray, fold: np.ndarray) -> np.ndarray:
        """What is fitted for other rows, each by the model that has not seen its fold.

        Returns:
            NaN where the inputs are not known. (m,) or (m, o)
        """
        found = np.full((len(inputs), *self.values.shape[1:]), np.nan)
        if self.models is None:
            return found
        return self.models.predict(inputs, fold).reshape(found.shape)


def fit_probabilities(
    heads: Sequence[Head],
    *,
    rule: Rule,
    method: str,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> list[Fitted]:
    """Probabilities p(D = 1 | Z), each by the method named or by that of least loss.

    Args:
        heads: regressions, all on the same n rows.
        rule: `fold`; with `train` and `predict` the models learn on the rows of `train` alone, and
            folds serve the choice.
        method: as in `nuisance.fit_models`, or "lowest_loss".
        settings: method → its settings.
        rng: every method gets the same streams, so that what it fits does not depend on the others.
    """
    names = METHODS if method == LOWEST_LOSS else (method,)
    fit = _Fit(fit_models, settings)
    return _fit(heads, names, _Rows(rule, len(names) > 1), fit, _probability_loss, rng)


def fit_means(
    heads: Sequence[MeanHead],
    *,
    rule: Rule,
    method: str,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> list[Fitted]:
    """As `fit_probabilities`, for means E[C | Z] by network or boosting."""
    names = MEAN_METHODS if method == LOWEST_LOSS else (method,)
    fit = _Fit(fit_mean_models, settings)
    return _fit(heads, names, _Rows(rule, len(names) > 1), fit, _mean_loss, rng)


@dataclass(frozen=True)
class _Fit:
    """How to fit some regressions by one method."""

    run: Callable[..., list[HeadModels]]
    settings: Mapping[str, Any]

    def by(self, method: str) -> Callable[..., list[HeadModels]]:
        """Fit by a named method, in folds or on a part of its own."""
        return partial(self.run, method=method, settings=self.settings[method])


@dataclass(frozen=True, eq=False)
class _Rows:
    """Which rows are learned from: in folds, on a part of their own, or both to choose."""

    rule: Rule
    choosing: bool

    @property
    def apart(self) -> bool:
        """Models learn from a part of its own."""
        return "train" in self.rule

    @property
    def allowed(self) -> np.ndarray:
        """Rows that some model may learn from. (n,)"""
        every = np.ones(len(self.rule["fold"]), dtype=bool)
        return self.rule["train"] if self.apart else every

    def splits(self) -> list[np.ndarray]:
        """Rows that each model learns from. (n,) each"""
        if self.apart and not self.choosing:
            return [self.allowed]
        fold = self.rule["fold"]
        return [self.allowed & (fold != one) for one in np.unique(fold[self.allowed])]

    def values(self, models: HeadModels, head: Head | MeanHead) -> np.ndarray:
        """Predictions of the rows that are asked for, NaN of the others. (n,) or (n, o)"""
        asked = self.rule["predict"] if self.apart else self.allowed
        result = np.full((len(head.target), models.outcomes), np.nan)
        result[asked] = models.predict(head.inputs[asked], self.rule["fold"][asked])
        return result.reshape(head.target.shape)


def _fit(heads, names, rows: _Rows, fit: _Fit, loss, rng) -> list[Fitted]:
    """Fitted values of each head, and losses, in order."""
    splits = rows.splits()
    able = [k for k, head in enumerate(heads) if _learns(head, splits)]
    found = [Fitted(np.full(head.target.shape, np.nan), "", {}, 0) for head in heads]
    some = [heads[k] for k in able]
    said: list[dict[str, np.ndarray]] = [{} for _ in some]
    if rows.apart and not rows.choosing:
        losses = [{names[0]: np.nan} for _ in some]
        tried = {names[0]: fit.by(names[0])(some, train=rows.rule["train"], rng=rng)}
    else:
        tried = _tried(some, names, rows, fit, rng)
        fold = rows.rule["fold"]
        for i, head in enumerate(some):
            told = {name: tried[name][i].predict(head.inputs, fold) for name in names}
            said[i] = {name: one.reshape(head.target.shape) for name, one in told.items()}
        losses = [
            {name: loss(head, values, rows.allowed) for name, values in said[i].items()}
            for i, head in enumerate(some)
        ]
    best = [min(of, key=lambda name, of=of: of[name]) for of in losses]  # the first of equals
    if rows.apart and rows.choosing:
        tried = _again(some, best, fit, rows, rng)
    for i, k in enumerate(able):
        without, models = heads[k].inputs.shape[1] == 0, tried[best[i]][i]
        found[k] = Fitted(
            rows.values(models, heads[k]) if rows.apart else said[i][best[i]],
            WITHOUT_INPUTS if without else best[i],
            {WITHOUT_INPUTS: losses[i][best[i]]} if without else losses[i],
            int((heads[k].usable & rows.allowed).sum()),
            models,
        )
    return found


def _learns(head: Head | MeanHead, splits: Sequence[np.ndarray]) -> bool:
    """Whether every split leaves a row to learn from."""
    return len(splits) > 0 and all((head.usable & rows).any() for rows in splits)


def _tried(heads, names, rows: _Rows, fit: _Fit, rng) -> dict[str, list[HeadModels]]:
    """Models of the folds by each method, all with the same streams; the last one moves `rng`."""
    inside = [replace(head, usable=head.usable & rows.allowed) for head in heads]
    return {
        name: fit.by(name)(
            inside, fold=rows.rule["fold"], rng=rng if name == names[-1] else copy.deepcopy(rng)
        )
        for name in names
    }


def _again(heads, best, fit: _Fit, rows: _Rows, rng) -> dict[str, dict[int, HeadModels]]:
    """Method → number of the head → model, by the chosen method on all rows to learn from."""
    made: dict[str, dict[int, HeadModels]] = {}
    for name in dict.fromkeys(best):
        its = [i for i, chosen in enumerate(best) if chosen == name]
        models = fit.by(name)([heads[i] for i in its], train=rows.rule["train"], rng=rng)
        made[name] = dict(zip(its, models, strict=True))
    return made


def _probability_loss(head: Head, probability: np.ndarray, allowed: np.ndarray) -> float:
    rows = head.usable & allowed
    return log_loss(probability[rows], head.target[rows])


def _mean_loss(head: MeanHead, mean: np.ndarray, allowed: np.ndarray) -> float:
    """Squared error over the target's variance, as a mean over outcomes that vary."""
    rows = head.usable & allowed
    error = np.square(mean[rows] - head.target[rows]).mean(axis=0)
    spread = fit_scaling(head.target[rows], constant=np.inf).scale
    varies = np.isfinite(spread)
    return float((error / np.square(spread))[varies].mean()) if varies.any() else 0.0
