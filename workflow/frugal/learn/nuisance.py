"""Nuisance functions of the estimators: p(D = 1 | Z) and E[C | Z], many at once, out of fold.

Every regression is a *head*: its inputs Z, its target, and the rows on which both mean what the
identification says [afape, sec. A.6]. All heads × folds are trained together; a prediction for a
row never comes from a model that saw that row [afape, sec. A.11]. Models are kept as what they say
of any rows (`HeadModels`). Must not know what a head stands for, which estimator asks, or files.

Differs from the paper: a fitted probability is never 0 or 1. Learned from m rows, it is kept within

    ½/(m + 1) ≤ p ≤ (m + ½)/(m + 1),

the means of Jeffreys' law after none and after all of m rows had D = 1. Without it, one gap in a
fold whose training rows have none is an event of probability 0 under its own law. A head that is no
law (`Head.is_law`) has only a 0 or a 1 moved there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Int

from frugal.core.errors import ConfigError, DataError, NoSupportError
from frugal.core.scaling import fit_scaling
from frugal.learn.heads import Ask, Head, HeadModels, MeanHead
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
    fitted = _fit(real, splits, "binary", method, settings, rng, progress)
    found = []
    for head, models in zip(heads, fitted, strict=True):
        bounds = [probability_bounds(int((head.usable & rows).sum())) for rows in splits]
        kept = [
            partial(_bounded, ask, *ends, is_law=head.is_law)
            for ask, ends in zip(models, bounds, strict=True)
        ]
        found.append(HeadModels(kept, numbers, 1))
    return found


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
    fitted = _fit(heads, splits, "squared", method, settings, rng, progress)
    return [
        HeadModels(models, numbers, head.target.shape[1])
        for head, models in zip(heads, fitted, strict=True)
    ]


def probability_bounds(rows: int) -> tuple[float, float]:
    """Least and largest probability that a fit on so many rows may give: ½/(m+1), (m+½)/(m+1).

    A share of events strictly between 0 and 1 lies inside, so that only certainty is moved.
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
    """Probabilities within what so few rows may tell; of what is no law, only 0 and 1 are moved."""
    p = ask(inputs)
    moved = (p <= 0) | (p >= 1) | is_law
    return np.where(moved, np.clip(p, least, most), p)


def _constant(value: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """The same of every row. (n, o)"""
    return np.broadcast_to(value, (len(inputs), len(value)))


def _fit(
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
    found: dict[tuple[int, int], Ask] = {}
    jobs = []
    streams = iter(rng.spawn(len(heads) * len(splits)))
    for number, head in enumerate(heads):
        finite = np.asarray(np.isfinite(head.inputs).all(axis=1))
        _check_usable(number, head, finite)
        for split, train in enumerate(splits):
            job = _Job(number, split, head.usable & train, next(streams))
            if not job.train.any():
                raise NoSupportError(f"head {number} has no usable row to train on in some split")
            known = head.target[job.train]
            if head.inputs.shape[1] == 0 or (known == known[0]).all():
                found[number, split] = partial(_constant, known.mean(axis=0))
            else:
                jobs.append(job)
    chunks = _chunks(jobs, method, settings)
    for chunk in chunks if progress is None else progress(chunks, desc=f"nuisance, {method}"):
        for job, model in zip(chunk, FITTERS[method](heads, chunk, loss, settings), strict=True):
            found[job.head, job.split] = model
    return [[found[h, k] for k in range(len(splits))] for h in range(len(heads))]


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
        scaling.standardise(inputs), target.astype(np.int64), np.ones(n),
        ridge=1 / (settings["C"] * n),
    )  # fmt: skip
    return [lambda asked: fitted.probability(scaling.standardise(asked))[:, None]]


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
    return [lambda asked: np.column_stack([one.predict(asked, num_threads=1) for one in boosters])]


FITTERS = {"network": _fit_network, "logistic": _fit_logistic, "boosting": _fit_boosting}
