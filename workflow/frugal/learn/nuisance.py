"""Nuisance functions of the estimators: p(D = 1 | Z) and E[C | Z], many at once, out of fold.

Every regression is a *head*: its inputs Z, its target, and the rows on which both mean what the
identification says [afape, sec. A.6]. All heads × folds are trained together; a prediction for a
row never comes from a model that saw that row [afape, sec. A.11]. Must not know what a head stands
for, which estimator asks, or files. How good a fit is: `calibration_table`, `log_loss`,
`overlap_summary`.

Differs from the paper: a fitted probability is never 0 or 1. Learned from m rows, it is kept within

    ½/(m + 1) ≤ p ≤ (m + ½)/(m + 1),

the means of Jeffreys' law after none and after all of m rows had D = 1. Without it, one gap in a
fold whose training rows have none is an event of probability 0 under its own law. A head that is no
law (`Head.is_law`) has only a 0 or a 1 moved there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.core.errors import ConfigError, DataError, NoSupportError
from frugal.core.scaling import fit_scaling
from frugal.learn.trees import train_booster
from frugal.learn.weighted_logistic import fit_logistic

SETTINGS = {
    "network": {"hidden", "layers", "epochs", "batch", "learning_rate", "ridge"},
    "logistic": {"C"},
    "boosting": {"trees", "leaves", "learning_rate", "min_leaf"},
}
Loss = Literal["binary", "squared"]
LOCK_STEP = 16  # most networks trained at once
LOCK_STEP_FLOATS = 2**18  # activations of a layer in one step of a chunk: beyond, caches overflow

Progress = Callable[..., Iterable]


@dataclass(frozen=True, eq=False)
class Head:
    """One binary regression p(D = 1 | Z). Shapes: n rows, w inputs.

    Attributes:
        inputs: Z; NaN where a row does not have it. (n, w)
        target: D. (n,)
        usable: True where the row may train: Z is finite and D means what is asked for. (n,)
        is_law: every fitted probability is kept within `probability_bounds`, as fits a law by which
            one divides; else only a 0 or a 1, and smaller ones mean what they say.
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


def cross_fit(
    heads: Sequence[Head],
    *,
    fold: Int[np.ndarray, " n"],
    method: str,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> list[Float[np.ndarray, " n"]]:
    """Probabilities p(D = 1 | Z) by cross-fitting: a fold's rows by the other folds' models.

    A head without inputs gets the training mean of its target, as does one whose target is the
    same on all its training rows. A law learned from m rows is kept within
    `probability_bounds(m)`; of another head, a 0 or a 1 is moved there.

    Args:
        heads: regressions, all on the same n rows.
        fold: fold of each row. (n,)
        method: network (multilayer perceptron, as the paper), logistic, or boosting (LightGBM).
        settings: of that method. network: hidden, layers, epochs, batch, learning_rate,
            ridge (½·ridge·Σ weights² is added to the sum of the losses); logistic: C (inverse
            penalty on standardised inputs); boosting: trees, leaves, learning_rate, min_leaf.
        rng: each head and fold gets its own child stream.
        progress: wraps the loop over chunks of models, called like tqdm(iterable, desc=…).

    Returns:
        One array per head, inside (0, 1); NaN where the row's inputs are not finite. (n,)

    Raises:
        ConfigError: unknown method, or settings that are not exactly its own.
        DataError: a usable row has inputs or a target that are not finite.
        NoSupportError: a head has no usable row outside some fold.
    """
    return _probabilities(heads, _folds(fold), method, settings, rng, progress)


def separate_fit(
    heads: Sequence[Head],
    *,
    train: Bool[np.ndarray, " n"],
    predict: Bool[np.ndarray, " n"],
    method: str,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> list[Float[np.ndarray, " n"]]:
    """As `cross_fit`, but trained on some rows and predicted on others; NaN on the rest."""
    return _probabilities(heads, [(train, predict)], method, settings, rng, progress)


def cross_fit_means(
    heads: Sequence[MeanHead],
    *,
    fold: Int[np.ndarray, " n"],
    method: str,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> list[Float[np.ndarray, "n o"]]:
    """As `cross_fit`, for means E[C | Z] by network or boosting. One (n, o) array per head."""
    return _fit(heads, _folds(fold), "squared", method, settings, rng, progress)


def separate_fit_means(
    heads: Sequence[MeanHead],
    *,
    train: Bool[np.ndarray, " n"],
    predict: Bool[np.ndarray, " n"],
    method: str,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> list[Float[np.ndarray, "n o"]]:
    """As `separate_fit`, for means E[C | Z] by network or boosting. One (n, o) array per head."""
    return _fit(heads, [(train, predict)], "squared", method, settings, rng, progress)


def probability_bounds(rows: int) -> tuple[float, float]:
    """Least and largest probability that a fit on so many rows may give: ½/(m+1), (m+½)/(m+1).

    A share of events strictly between 0 and 1 lies inside, so that only certainty is moved.
    """
    return 0.5 / (rows + 1), (rows + 0.5) / (rows + 1)


def calibration_table(
    probability: Float[np.ndarray, " n"], outcome: Bool[np.ndarray, " n"], *, bins: int
) -> pd.DataFrame:
    """Predicted against observed, in bins of equal width on [0, 1]; empty bins are left out.

    Returns:
        Columns bin (0 is lowest), mean_probability, rate (share of True outcomes), n (rows).

    Raises:
        DataError: a probability is not in [0, 1].
    """
    _check_probability(probability)
    number = np.minimum((probability * bins).astype(np.int64), bins - 1)
    rows = pd.DataFrame({"bin": number, "mean_probability": probability, "rate": outcome * 1.0})
    table = rows.groupby("bin").mean()
    return table.assign(n=rows.groupby("bin").size()).reset_index()


def log_loss(probability: Float[np.ndarray, " n"], outcome: Bool[np.ndarray, " n"]) -> float:
    """Mean of −log p(outcome), in nats; infinite where an event held for impossible happened."""
    _check_probability(probability)
    with np.errstate(divide="ignore"):
        return float(-np.log(np.where(outcome, probability, 1 - probability)).mean())


def overlap_summary(probability: Float[np.ndarray, " n"], *, threshold: float) -> dict[str, float]:
    """How near a propensity comes to zero: the positivity that every weighted estimator needs.

    Returns:
        n, min, max, quantiles q01 q05 q25 q50 q75 q95, share_below: of rows below `threshold`.
    """
    _check_probability(probability)
    if len(probability) == 0:
        raise NoSupportError("the overlap of no row was asked for; it needs at least one")
    quantiles = {
        f"q{percent:02d}": float(np.quantile(probability, percent / 100))
        for percent in (1, 5, 25, 50, 75, 95)
    }
    return {
        "n": float(len(probability)),
        "min": float(probability.min()),
        **quantiles,
        "max": float(probability.max()),
        "share_below": float((probability < threshold).mean()),
    }


def _check_probability(probability: np.ndarray) -> None:
    wrong = ~((probability >= 0) & (probability <= 1))
    if wrong.any():
        raise DataError(
            f"{wrong.sum()} of {len(probability)} probabilities are outside 0..1 or not a number"
        )


def _folds(fold: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    numbers = np.unique(fold)
    if len(numbers) < 2:
        raise ConfigError(f"cross-fitting got {len(numbers)} fold(s); it needs at least two")
    return [(fold != f, fold == f) for f in numbers]


@dataclass(frozen=True, eq=False)
class _Job:
    """One model to fit: the head's number, rows to train on, rows to predict, its own stream."""

    head: int
    train: Bool[np.ndarray, " n"]
    predict: Bool[np.ndarray, " n"]
    rng: np.random.Generator


def _probabilities(heads, splits, method, settings, rng, progress) -> list[np.ndarray]:
    real = [MeanHead(h.inputs, h.target[:, None].astype(np.float64), h.usable) for h in heads]
    fitted = [p[:, 0] for p in _fit(real, splits, "binary", method, settings, rng, progress)]
    for head, p in zip(heads, fitted, strict=True):
        for train, predict in splits:
            bounds = probability_bounds(int((head.usable & train).sum()))
            certain = (p[predict] <= 0) | (p[predict] >= 1)
            moved = certain | head.is_law
            p[predict] = np.where(moved, np.clip(p[predict], *bounds), p[predict])
    return fitted


def _fit(
    heads: Sequence[MeanHead],
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    loss: Loss,
    method: str,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
    progress: Progress | None,
) -> list[np.ndarray]:
    """Predictions of every head at every row that some split predicts; NaN elsewhere. (n, o)"""
    _check_settings(method, settings, loss)
    results = [np.full(head.target.shape, np.nan) for head in heads]
    jobs = []
    streams = iter(rng.spawn(len(heads) * len(splits)))
    for number, head in enumerate(heads):
        finite = np.asarray(np.isfinite(head.inputs).all(axis=1))
        _check_usable(number, head, finite)
        for train, predict in splits:
            job = _Job(number, head.usable & train, finite & predict, next(streams))
            if not job.train.any():
                raise NoSupportError(f"head {number} has no usable row to train on in some split")
            known = head.target[job.train]
            if head.inputs.shape[1] == 0 or (known == known[0]).all():
                results[number][job.predict] = known.mean(axis=0)
            else:
                jobs.append(job)
    chunks = _chunks(jobs, method, settings)
    for chunk in chunks if progress is None else progress(chunks, desc=f"nuisance, {method}"):
        for job, predicted in zip(
            chunk, FITTERS[method](heads, chunk, loss, settings), strict=True
        ):
            results[job.head][job.predict] = predicted
    return results


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


def _fit_network(heads, chunk: list[_Job], loss: Loss, settings: Mapping) -> list[np.ndarray]:
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
    return [networks.predict(k, heads[job.head].inputs[job.predict]) for k, job in enumerate(chunk)]


def _filled(values: np.ndarray) -> np.ndarray:
    """Entries of rows that no model reads become 0: arithmetic on NaN is slow and spreads."""
    return np.where(np.isfinite(values), values, 0.0)


def _fit_logistic(heads, chunk: list[_Job], loss: Loss, settings: Mapping) -> list[np.ndarray]:
    """Ridge on standardised inputs: C weighs the sum of the losses against ½ |slope|²."""
    (job,) = chunk
    head = heads[job.head]
    inputs, target = head.inputs[job.train], head.target[job.train, 0]
    scaling, n = fit_scaling(inputs), len(target)
    fitted = fit_logistic(
        scaling.standardise(inputs), target.astype(np.int64), np.ones(n),
        ridge=1 / (settings["C"] * n),
    )  # fmt: skip
    asked = scaling.standardise(head.inputs[job.predict])
    return [fitted.probability(asked)[:, None]]


def _fit_boosting(heads, chunk: list[_Job], loss: Loss, settings: Mapping) -> list[np.ndarray]:
    (job,) = chunk
    head = heads[job.head]
    predicted = np.zeros((int(job.predict.sum()), head.target.shape[1]))
    for outcome in range(head.target.shape[1]):
        booster = train_booster(
            head.inputs[job.train],
            head.target[job.train, outcome],
            objective={"objective": "binary" if loss == "binary" else "regression"},
            rng=job.rng,
            **settings,
        )
        if len(predicted):
            predicted[:, outcome] = booster.predict(head.inputs[job.predict], num_threads=1)
    return [predicted]


FITTERS = {"network": _fit_network, "logistic": _fit_logistic, "boosting": _fit_boosting}
