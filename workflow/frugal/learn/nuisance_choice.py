"""Which model fits a nuisance best, by its loss on rows that it has not seen; each for itself.

With `lowest_loss` every regression is fitted by each method, and the one of least cross-fitted loss
is taken: for all folds at once, each regression for itself. The discrete super learner of van der
Laan and Dudoit (2003); the choice among so few costs less than the fits' own error. With a part to
learn from, folds are made within it, and the chosen method is fitted once more on all of it. Must
not know the meaning of a regression, the estimator that uses it, or files.
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.errors import ConfigError, DataError, NoSupportError
from frugal.core.scaling import fit_scaling
from frugal.learn.calibration import log_loss
from frugal.learn.trees import train_booster
from frugal.learn.weighted_logistic import fit_logistic

Ask = Callable[[np.ndarray], np.ndarray]  # inputs (m, w), all finite → predictions (m, o)


@dataclass(frozen=True, eq=False)
class Head:
    """One binary regression p(D = 1 | Z). Shapes: n rows, w inputs.

    Attributes:
        inputs: Z; NaN where a row does not have it. (n, w)
        target: D. (n,)
        usable: True where the row may train: Z is finite and D is valid. (n,)
        is_law: every fitted probability is kept within `probability_bounds`, as fits a law by which
            one divides; else only a 0 or a 1, and smaller ones are kept.
    """

    inputs: Float[np.ndarray, "n w"]
    target: Bool[np.ndarray, " n"]
    usable: Bool[np.ndarray, " n"]
    is_law: bool = True


@dataclass(frozen=True, eq=False)
class MeanHead:
    """One regression E[C | Z] with o outcomes; rows that are not usable may hold NaN targets.

    Attributes:
        inputs: Z; NaN where a row does not have it. (n, w)
        target: C, in its own unit. (n, o)
        usable: True where the row may train. (n,)
    """

    inputs: Float[np.ndarray, "n w"]
    target: Float[np.ndarray, "n o"]
    usable: Bool[np.ndarray, " n"]


@dataclass(frozen=True, eq=False)
class HeadModels:
    """Fitted models of one head: one for each split, each of which predicts any rows.

    Attributes:
        models: one for each fold, which answers for its rows; or a single one, for all rows.
        folds: numbers of the folds, in order; none where there is a single model.
        outcomes: o.
    """

    models: Sequence[Ask]
    folds: Sequence[int]
    outcomes: int

    def predict(
        self, inputs: Float[np.ndarray, "n w"], fold: Int[np.ndarray, " n"]
    ) -> Float[np.ndarray, "n o"]:
        """Predictions, each row's by the model that has not seen its fold.

        Returns:
            NaN where the inputs are not finite. (n, o)
        """
        result = np.full((len(inputs), self.outcomes), np.nan)
        finite = np.asarray(np.isfinite(inputs).all(axis=1))
        rows_of_model = [fold == k for k in self.folds] or [np.ones(len(inputs), dtype=bool)]
        for model, rows in zip(self.models, rows_of_model, strict=True):
            if (rows & finite).any():
                result[rows & finite] = model(inputs[rows & finite])
        return result


SETTINGS = {
    "network": {"hidden", "layers", "epochs", "batch", "learning_rate", "ridge"},
    "logistic": {"C"},
    "boosting": {"trees", "leaves", "learning_rate", "min_leaf"},
}
Loss = Literal["binary", "squared"]
LOCK_STEP = 16  # most networks trained at once
LOCK_STEP_FLOATS = 2**18  # activations of a layer in one step of a chunk: beyond, caches overflow

Progress = Callable[..., Iterable]


def fit_models(
    heads: Sequence[Head],
    *,
    method: str,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
    fold: Int[np.ndarray, " n"] | None = None,
    train: Bool[np.ndarray, " n"] | None = None,
    progress: Progress | None = None,
) -> list[HeadModels]:
    """Models of p(D = 1 | Z): one for each fold, learned from the others, or one of some rows.

    A head without inputs gets the training mean of its target, as does one whose target is the
    same on all its training rows. A law learned from m rows is kept within
    `probability_bounds(m)`; of another head, a 0 or a 1 is moved there.

    Args:
        heads: regressions, all on the same n rows.
        method: network (multilayer perceptron, as the paper), logistic, or boosting (LightGBM).
        settings: of that method. network: hidden, layers, epochs, batch, learning_rate,
            ridge (½·ridge·Σ weights² is added to the sum of the losses); logistic: C (inverse
            penalty on standardised inputs); boosting: trees, leaves, learning_rate, min_leaf.
        rng: each head and fold gets its own child stream.
        fold: fold of each row. (n,)
        train: rows of a single model; with `fold` None. (n,)
        progress: wraps the loop over chunks of models, called like tqdm(iterable, desc=…).

    Returns:
        One for each head; probabilities inside (0, 1).

    Raises:
        ConfigError: unknown method, or settings that are not exactly its own.
        DataError: a usable row has inputs or a target that are not finite.
        NoSupportError: a head has no usable row outside some fold.
    """
    real = [MeanHead(h.inputs, h.target[:, None].astype(np.float64), h.usable) for h in heads]
    numbers, splits = _splits(fold, train)
    fitted = _nuisance_fit(real, splits, "binary", method, settings, rng, progress)
    fitted_models = []
    for head, models in zip(heads, fitted, strict=True):
        bounds = [probability_bounds(int((head.usable & rows).sum())) for rows in splits]
        bounded = [
            partial(_bounded, ask, *ends, is_law=head.is_law)
            for ask, ends in zip(models, bounds, strict=True)
        ]
        fitted_models.append(HeadModels(bounded, numbers, 1))
    return fitted_models


def fit_mean_models(
    heads: Sequence[MeanHead],
    *,
    method: str,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
    fold: Int[np.ndarray, " n"] | None = None,
    train: Bool[np.ndarray, " n"] | None = None,
    progress: Progress | None = None,
) -> list[HeadModels]:
    """As `fit_models`, for means E[C | Z] by network or boosting."""
    numbers, splits = _splits(fold, train)
    fitted = _nuisance_fit(heads, splits, "squared", method, settings, rng, progress)
    return [
        HeadModels(models, numbers, head.target.shape[1])
        for head, models in zip(heads, fitted, strict=True)
    ]


def probability_bounds(rows: int) -> tuple[float, float]:
    """Least and largest probability that a fit on so many rows may give: ½/(m+1), (m+½)/(m+1).

    A share of events strictly between 0 and 1 lies inside, so only certainty is moved.
    """
    return 0.5 / (rows + 1), (rows + 0.5) / (rows + 1)


def _splits(
    fold: np.ndarray | None, train: np.ndarray | None
) -> tuple[list[int], list[np.ndarray]]:
    """Numbers of the folds, none for a single model; and the rows that each model learns from."""
    if fold is None:
        assert train is not None, "bug: neither folds nor rows to learn from"
        return [], [train]
    numbers = np.unique(fold)
    if len(numbers) < 2:
        raise ConfigError(f"cross-fitting got {len(numbers)} fold(s); it needs at least two")
    return [int(f) for f in numbers], [fold != f for f in numbers]


@dataclass(frozen=True, eq=False)
class _Job:
    """One model to fit: the head's number and the split's, rows to train on, its own stream."""

    head: int
    split: int
    train: Bool[np.ndarray, " n"]
    rng: np.random.Generator


def _bounded(
    ask: Ask, least: float, most: float, inputs: np.ndarray, *, is_law: bool
) -> np.ndarray:
    """Probabilities bounded by the number of rows; where no law is fitted, only 0 and 1 move."""
    p = ask(inputs)
    moved = (p <= 0) | (p >= 1) | is_law
    return np.where(moved, np.clip(p, least, most), p)


def _constant(value: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """The same of every row. (n, o)"""
    return np.broadcast_to(value, (len(inputs), len(value)))


def _nuisance_fit(
    heads: Sequence[MeanHead],
    splits: Sequence[np.ndarray],
    loss: Loss,
    method: str,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
    progress: Progress | None,
) -> list[list[Ask]]:
    """A model of every head for every split."""
    _check_settings(method, settings, loss)
    models: dict[tuple[int, int], Ask] = {}
    jobs = []
    streams = iter(rng.spawn(len(heads) * len(splits)))
    for number, head in enumerate(heads):
        finite = np.asarray(np.isfinite(head.inputs).all(axis=1))
        _check_usable(number, head, finite)
        for split, train in enumerate(splits):
            job = _Job(number, split, head.usable & train, next(streams))
            if not job.train.any():
                raise NoSupportError(f"head {number} has no usable row to train on in some split")
            targets = head.target[job.train]
            if head.inputs.shape[1] == 0 or (targets == targets[0]).all():
                models[number, split] = partial(_constant, targets.mean(axis=0))
            else:
                jobs.append(job)
    chunks = _chunks(jobs, method, settings)
    for chunk in chunks if progress is None else progress(chunks, desc=f"nuisance, {method}"):
        for job, model in zip(chunk, FITTERS[method](heads, chunk, loss, settings), strict=True):
            models[job.head, job.split] = model
    return [[models[h, k] for k in range(len(splits))] for h in range(len(heads))]


def _check_settings(method: str, settings: Mapping[str, Any], loss: Loss) -> None:
    allowed = [name for name in SETTINGS if loss == "binary" or name != "logistic"]
    if method not in allowed:
        raise ConfigError(f"nuisance method {method!r} is unknown here; allowed: {allowed}")
    if set(settings) != SETTINGS[method]:
        raise ConfigError(
            f"settings of nuisance method {method!r} are {sorted(settings)}; "
            f"exactly these are allowed: {sorted(SETTINGS[method])}"
        )


def _check_usable(number: int, head: MeanHead, finite: np.ndarray) -> None:
    wrong = head.usable & ~(finite & np.isfinite(head.target).all(axis=1))
    if wrong.any():
        raise DataError(
            f"{wrong.sum()} usable rows of head {number} have inputs or targets that are not finite"
        )


def _chunks(jobs: list[_Job], method: str, settings: Mapping[str, Any]) -> list[list[_Job]]:
    """Jobs to fit together, those of like length side by side; one by one if not networks."""
    if method != "network":
        return [[job] for job in jobs]
    layer = max(1, settings["batch"] * settings["hidden"])
    size = min(LOCK_STEP, max(1, LOCK_STEP_FLOATS // layer))
    by_length = sorted(jobs, key=lambda job: -int(job.train.sum()))
    return [by_length[i : i + size] for i in range(0, len(by_length), size)]


def _fit_network(heads, chunk: list[_Job], loss: Loss, settings: Mapping) -> list[Ask]:
    read = sorted({job.head for job in chunk})
    from frugal.learn.networks import fit_networks  # torch is slow to import

    shape = {name: value for name, value in settings.items() if name != "ridge"}
    networks = fit_networks(
        [_filled(heads[h].inputs) for h in read],
        [_filled(heads[h].target) for h in read],
        [read.index(job.head) for job in chunk],
        np.array([job.train for job in chunk], dtype=np.float64),
        loss=loss,
        rngs=[job.rng for job in chunk],
        weight_decay=[settings["ridge"] / int(job.train.sum()) for job in chunk],
        activation="silu",
        **shape,
    )
    return [partial(networks.predict, k) for k in range(len(chunk))]


def _filled(values: np.ndarray) -> np.ndarray:
    """Entries of rows that no model reads become 0: arithmetic on NaN is slow and spreads."""
    return np.where(np.isfinite(values), values, 0.0)


def _fit_logistic(heads, chunk: list[_Job], loss: Loss, settings: Mapping) -> list[Ask]:
    """Ridge on standardised inputs: C weighs the sum of the losses against ½ |slope|²."""
    (job,) = chunk
    head = heads[job.head]
    inputs, target = head.inputs[job.train], head.target[job.train, 0]
    scaling, n = fit_scaling(inputs), len(target)
    fitted = fit_logistic(
        scaling.standardise(inputs),
        target.astype(np.int64),
        np.ones(n),
        ridge=1 / (settings["C"] * n),
    )
    return [lambda queries: fitted.probability(scaling.standardise(queries))[:, None]]


def _fit_boosting(heads, chunk: list[_Job], loss: Loss, settings: Mapping) -> list[Ask]:
    (job,) = chunk
    head = heads[job.head]
    boosters = [
        train_booster(
            head.inputs[job.train],
            head.target[job.train, outcome],
            objective={"objective": "binary" if loss == "binary" else "regression"},
            rng=job.rng,
            **settings,
        )
        for outcome in range(head.target.shape[1])
    ]
    return [
        lambda queries: np.column_stack(
            [booster.predict(queries, num_threads=1) for booster in boosters]
        )
    ]


FITTERS = {"network": _fit_network, "logistic": _fit_logistic, "boosting": _fit_boosting}


LOWEST_LOSS = "lowest_loss"
METHODS = ("logistic", "network", "boosting")  # in this order where two are equal
MEAN_METHODS = ("network", "boosting")
WITHOUT_INPUTS = "mean"  # what every method makes of a regression on nothing

Rule = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class FittedHead:
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
        """Predictions for other rows, each by the model not fitted to its fold.

        Returns:
            NaN where the inputs are not known. (m,) or (m, o)
        """
        result = np.full((len(inputs), *self.values.shape[1:]), np.nan)
        if self.models is None:
            return result
        return self.models.predict(inputs, fold).reshape(result.shape)


def fit_probabilities(
    heads: Sequence[Head],
    *,
    rule: Rule,
    method: str,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> list[FittedHead]:
    """Probabilities p(D = 1 | Z), each by the method named or by that of least loss.

    Args:
        heads: regressions, all on the same n rows.
        rule: `fold`; with `train` and `predict` the models learn on the rows of `train` alone, and
            folds serve the choice.
        method: as in `nuisance.fit_models`, or "lowest_loss".
        settings: method → its settings.
        rng: every method gets the same streams, so its fit does not depend on the others.
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
) -> list[FittedHead]:
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
        return [self.allowed & (fold != k) for k in np.unique(fold[self.allowed])]

    def values(self, models: HeadModels, head: Head | MeanHead) -> np.ndarray:
        """Predictions of the rows that are requested, NaN of the others. (n,) or (n, o)"""
        rows = self.rule["predict"] if self.apart else self.allowed
        result = np.full((len(head.target), models.outcomes), np.nan)
        result[rows] = models.predict(head.inputs[rows], self.rule["fold"][rows])
        return result.reshape(head.target.shape)


def _fit(heads, names, rows: _Rows, fit: _Fit, loss, rng) -> list[FittedHead]:
    """Fitted values of each head, and losses, in order."""
    splits = rows.splits()
    able = [k for k, head in enumerate(heads) if _learns(head, splits)]
    results = [FittedHead(np.full(head.target.shape, np.nan), "", {}, 0) for head in heads]
    some = [heads[k] for k in able]
    out_of_fold: list[dict[str, np.ndarray]] = [{} for _ in some]
    if rows.apart and not rows.choosing:
        losses = [{names[0]: np.nan} for _ in some]
        tried = {names[0]: fit.by(names[0])(some, train=rows.rule["train"], rng=rng)}
    else:
        inside = [replace(head, usable=head.usable & rows.allowed) for head in some]
        tried = {
            name: fit.by(name)(
                inside, fold=rows.rule["fold"], rng=rng if name == names[-1] else copy.deepcopy(rng)
            )
            for name in names
        }
        fold = rows.rule["fold"]
        for i, head in enumerate(some):
            predictions = {name: tried[name][i].predict(head.inputs, fold) for name in names}
            out_of_fold[i] = {
                name: predicted.reshape(head.target.shape)
                for name, predicted in predictions.items()
            }
        losses = [
            {name: loss(head, values, rows.allowed) for name, values in out_of_fold[i].items()}
            for i, head in enumerate(some)
        ]
    best = [min(of, key=lambda name, of=of: of[name]) for of in losses]  # the first of equals
    if rows.apart and rows.choosing:
        tried = _again(some, best, fit, rows, rng)
    for i, k in enumerate(able):
        without, models = heads[k].inputs.shape[1] == 0, tried[best[i]][i]
        results[k] = FittedHead(
            rows.values(models, heads[k]) if rows.apart else out_of_fold[i][best[i]],
            WITHOUT_INPUTS if without else best[i],
            {WITHOUT_INPUTS: losses[i][best[i]]} if without else losses[i],
            int((heads[k].usable & rows.allowed).sum()),
            models,
        )
    return results


def _learns(head: Head | MeanHead, splits: Sequence[np.ndarray]) -> bool:
    """Whether every split leaves a row to learn from."""
    return len(splits) > 0 and all((head.usable & rows).any() for rows in splits)


def _again(heads, best, fit: _Fit, rows: _Rows, rng) -> dict[str, dict[int, HeadModels]]:
    """Method → number of the head → model, by the chosen method on all rows to learn from."""
    refitted: dict[str, dict[int, HeadModels]] = {}
    for name in dict.fromkeys(best):
        its = [i for i, chosen in enumerate(best) if chosen == name]
        models = fit.by(name)([heads[i] for i in its], train=rows.rule["train"], rng=rng)
        refitted[name] = dict(zip(its, models, strict=True))
    return refitted


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
