"""Predictions that `dadi` is compared with: one set of panels for everybody, by several learners.

Each baseline reads training rows (and, to choose panels, validation rows) and predicts all rows.
Must not know agents or folds; random acquisition is made where the networks are.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from fairlearn.reductions import DemographicParity, ExponentiatedGradient
from jaxtyping import Bool, Float, Int

from frugal.core.declarations import declared, load_one
from frugal.core.errors import ConfigError
from frugal.learn.trees import train_booster
from frugal.learn.weighted_logistic import (
    Logistic,
    equal_group_weights,
    fit_logistic,
    fit_sparse_logistic,
    log_loss,
)

PATH = 30  # penalties, each so much weaker that the last is this share of the first:
WEAKEST = 1e-3
HALVINGS = 6  # of the step in which the path chooses too many at once
PROXIMAL_STEPS = 500


def shown_columns(
    provides: Bool[np.ndarray, "a d"], panels: Bool[np.ndarray, " a"]
) -> Bool[np.ndarray, " d"]:
    """Columns of the given panels, and those that no panel reveals: they are known to all. (d,)"""
    return np.asarray(provides[panels].any(axis=0) | ~provides.any(axis=0))


def lasso_panels(
    inputs: Float[np.ndarray, "n d"],
    label: Int[np.ndarray, " n"],
    sensitive: Int[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
    provides: Bool[np.ndarray, "a d"],
    *,
    most: int,
    parity: float,
) -> Bool[np.ndarray, " a"]:
    """Panels along the L1 path of a logistic regression, at its last point with at most `most`.

        penalty of column j  ∝  1 + parity · |corr(xⱼ, b)|

    so that with `parity` above zero a column that predicts the group must predict the label better
    to be chosen. A panel is chosen where one of its columns has a slope. The path goes down by
    equal ratios from the weakest penalty that leaves no slope; the step that chooses too many
    panels is halved, up to `HALVINGS` times.

    Args:
        inputs: columns on comparable scales. (n, d)
        label: 0 or 1. (n,)
        sensitive: group, 0 or 1. (n,)
        weight: of the rows. (n,)
        provides: columns that each panel reveals. (a, d)
        most: panels, at most.
        parity: weight of a column's correlation with the group; 0 is the plain LASSO.

    Returns:
        True for the chosen panels. (a,)
    """
    share = weight / weight.sum()
    factor = 1 + parity * np.abs(_correlation(inputs, sensitive, share))
    slope = np.abs(inputs.T @ (share * (label - share @ label)))
    strongest = float((slope / factor).max())
    chosen = np.zeros(len(provides), dtype=bool)
    fitted: Logistic | None = None
    shrink, halvings = WEAKEST ** (1 / (PATH - 1)), 0
    share_of_strongest = 1.0
    while share_of_strongest > WEAKEST * (1 - 1e-9) and halvings <= HALVINGS:
        tried = fit_sparse_logistic(
            inputs,
            label,
            weight,
            l1=strongest * share_of_strongest * factor,
            steps=PROXIMAL_STEPS,
            start=fitted,
        )
        selected = (provides & (tried.slope != 0)).any(axis=1)
        if selected.sum() <= most:
            chosen, fitted = selected, tried
        else:  # back to the last penalty, and a smaller step
            share_of_strongest /= shrink
            shrink, halvings = np.sqrt(shrink), halvings + 1
        share_of_strongest *= shrink
    return chosen


def _correlation(
    inputs: Float[np.ndarray, "n d"], group: Int[np.ndarray, " n"], share: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " d"]:
    """Weighted correlation of each column with the group; 0 for a constant column. (d,)"""
    centred = inputs - share @ inputs
    side = group - share @ group
    spread = np.sqrt((share @ centred**2) * (share @ side**2))
    covariance = (share * side) @ centred
    return np.divide(covariance, spread, out=np.zeros_like(covariance), where=spread > 1e-12)


def forward_panels(
    train: tuple[Float[np.ndarray, "n d"], Int[np.ndarray, " n"], Int[np.ndarray, " n"]],
    validation: tuple[Float[np.ndarray, "m d"], Int[np.ndarray, " m"], Int[np.ndarray, " m"]],
    weights: tuple[Float[np.ndarray, " n"], Float[np.ndarray, " m"]],
    provides: Bool[np.ndarray, "a d"],
    *,
    most: int,
    gamma: float,
    ridge: float,
) -> Bool[np.ndarray, " a"]:
    """Panels added one by one while they lower γ L_C − (1 − γ) L_A on held-out rows.

    The combined loss of DADI [dadi, eq. 1] with logistic regressions as classifier and adversary,
    and one set of panels for all units; γ = 1 is the usual forward selection.

    Args:
        train: inputs, label and group of the rows that fit. (n, d), (n,), (n,)
        validation: the same of the rows that choose. (m, d), (m,), (m,)
        weights: of both.
        provides: columns that each panel reveals. (a, d)
        most: panels, at most.
        gamma: weight of the classifier's loss.
        ridge: of the regressions.

    Returns:
        True for the chosen panels. (a,)
    """

    def combined(panels: np.ndarray) -> float:
        columns = shown_columns(provides, panels)
        losses = [
            log_loss(
                validation[k],
                fit_logistic(train[0][:, columns], train[k], weights[0], ridge=ridge).log_odds(
                    validation[0][:, columns]
                ),
                weights[1],
            )
            for k, share in ((1, gamma), (2, 1 - gamma))
            if share > 0
        ]
        if gamma >= 1:
            return losses[0]
        if gamma <= 0:
            return -losses[0]
        return gamma * losses[0] - (1 - gamma) * losses[1]

    chosen = np.zeros(len(provides), dtype=bool)
    best = combined(chosen)
    while chosen.sum() < most:
        values = {j: combined(chosen | _only(j, len(provides))) for j in _left(chosen)}
        if not values or min(values.values()) >= best:
            break
        j = min(values, key=lambda panel: values[panel])
        chosen[j], best = True, values[j]
    return chosen


def _only(j: int, count: int) -> Bool[np.ndarray, " a"]:
    return np.arange(count) == j


def _left(chosen: Bool[np.ndarray, " a"]) -> Iterable[int]:
    return map(int, np.flatnonzero(~chosen))


RIDGE = 1.0  # against the sum of the losses, as scikit-learn's default


def reduced_probability(
    train: Float[np.ndarray, "n d"],
    label: Int[np.ndarray, " n"],
    sensitive: Int[np.ndarray, " n"],
    test: Float[np.ndarray, "m d"],
    *,
    bound: float,
    rounds: int,
) -> Float[np.ndarray, " m"]:
    """Probability that the mixture decides 1, fitted under demographic parity. (m,)

    Args:
        train: inputs on comparable scales. (n, d)
        label: 0 or 1. (n,)
        sensitive: group, 0 or 1. (n,)
        test: rows to decide on. (m, d)
        bound: allowed demographic disparity of the training rows. Fairlearn's own bound is on each
            group's distance to the share of all rows, which is the disparity times the other
            group's share.
        rounds: of the exponentiated gradient.

    Returns:
        A share of the mixture's classifiers by weight: it takes few values, so its AUC is
        less informative than that of a score.
    """
    larger = max(sensitive.mean(), 1 - sensitive.mean())
    reduction = ExponentiatedGradient(
        _Learner(), DemographicParity(difference_bound=bound * larger), max_iter=rounds
    )
    reduction.fit(pd.DataFrame(train), pd.Series(label), sensitive_features=pd.Series(sensitive))
    return np.asarray(reduction._pmf_predict(pd.DataFrame(test)), dtype=np.float64)[:, 1]


class _Learner:
    """A logistic regression with the interface that fairlearn expects."""

    def __init__(self) -> None:
        self._fitted: Logistic | None = None

    def fit(self, inputs, target, sample_weight) -> "_Learner":
        """Fit to re-weighted rows."""
        weight = np.asarray(sample_weight, dtype=np.float64)
        self._fitted = fit_logistic(
            np.asarray(inputs, dtype=np.float64),
            np.asarray(target, dtype=np.int64),
            weight,
            ridge=RIDGE / weight.sum(),
        )
        return self

    def predict(self, inputs) -> np.ndarray:
        """The likelier class. (m,)"""
        assert self._fitted is not None
        log_odds = self._fitted.log_odds(np.asarray(inputs, dtype=np.float64))
        return (log_odds > 0).astype(np.int64)


@dataclass(frozen=True, eq=False)
class PanelSample:
    """Rows with their panels. Shapes: n rows, d columns, a panels.

    Attributes:
        values: standardised features; NaN where the table has none. (n, d)
        provides: columns that each panel reveals; one that no panel does is known to all. (a, d)
        label: y. (n,)
        sensitive: b. (n,)
        train: rows to learn from. (n,)
        validation: rows that choose panels. (n,)
    """

    values: Float[np.ndarray, "n d"]
    provides: Bool[np.ndarray, "a d"]
    label: Int[np.ndarray, " n"]
    sensitive: Int[np.ndarray, " n"]
    train: Bool[np.ndarray, " n"]
    validation: Bool[np.ndarray, " n"]

    def of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Filled values, label and group of some rows."""
        return self.filled[rows], self.label[rows], self.sensitive[rows]

    @cached_property
    def filled(self) -> Float[np.ndarray, "n d"]:
        """Values, with the training mean 0 where there is none: for all but boosting. (n, d)"""
        return np.nan_to_num(self.values, nan=0.0)


def evenly(rows: Bool[np.ndarray, " n"], *, most: int) -> Int[np.ndarray, " m"]:
    """Positions of at most so many of the given rows, at equal distances. (m,)"""
    positions = np.flatnonzero(rows)
    count = min(most, len(positions))
    return positions[np.arange(count) * len(positions) // max(1, count)]


@dataclass(frozen=True, eq=False)
class Options:
    """Shared inputs of the baselines of one study.

    Attributes:
        ridge: of regressions.
        boosting: of `train_booster`.
        most_rows: rows that a selection or a reduction reads, evenly over the table, whose order
            may mean something; time grows with them.
        rng: of all draws.
    """

    ridge: float
    boosting: Mapping[str, Any]
    most_rows: int
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class FairBaseline:
    """One kind of baseline, declared in this module.

    Attributes:
        name: `kind` in a config.
        families: one of which its names begin with; a family may have several kinds.
        settings: as of `acquire.kinds.AgentKind`.
        looks: family → look as of `acquire.kinds.AgentKind`, and the unit of numbers in names.
        choose: (rows, settings, options) → the panels that it reads (a,); None: all.
        predict: (rows, columns, settings, options) → P(y = 1) of every row (n,), for a reduction
            the probability that its mixture decides 1; None: the prediction of the agents' network.
        reads_all: True where it reads every panel that is shown.
        random_cut: True where each decision is drawn with the predicted probability.
    """

    name: str
    families: tuple[str, ...]
    looks: Mapping[str, tuple[Any, ...]]
    settings: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    choose: Callable[[PanelSample, Mapping[str, Any], Options], np.ndarray] | None = None
    predict: Callable[[PanelSample, np.ndarray, Mapping[str, Any], Options], np.ndarray] | None = (
        None
    )
    reads_all: bool = False
    random_cut: bool = False


def fair_baseline(kind: str) -> FairBaseline:
    """The kind of that name.

    Raises:
        ConfigError: there is none.
    """
    kinds = declared("frugal.studies.dadi.fair_baselines", "FairBaseline")
    if kind not in kinds:
        raise ConfigError(f"a baseline is of kind {kind!r}; allowed are {', '.join(kinds)}")
    return load_one("frugal.studies.dadi.fair_baselines", "FairBaseline", kind)


def _lasso(
    sample: PanelSample, settings: Mapping[str, Any], options: Options
) -> Bool[np.ndarray, " a"]:
    train = evenly(sample.train, most=options.most_rows)
    return lasso_panels(
        *sample.of(train),
        equal_group_weights(sample.sensitive[train]),
        sample.provides,
        most=settings["most"],
        parity=settings["parity"],
    )


def _forward(
    sample: PanelSample, settings: Mapping[str, Any], options: Options
) -> Bool[np.ndarray, " a"]:
    train, validation = (
        evenly(rows, most=options.most_rows) for rows in (sample.train, sample.validation)
    )
    weights = (
        equal_group_weights(sample.sensitive[train]),
        equal_group_weights(sample.sensitive[validation]),
    )
    return forward_panels(
        sample.of(train),
        sample.of(validation),
        weights,
        sample.provides,
        most=settings["most"],
        gamma=settings["gamma"],
        ridge=options.ridge,
    )


def _by_logistic(
    sample: PanelSample, columns: np.ndarray, settings: Mapping[str, Any], options: Options
) -> Float[np.ndarray, " n"]:
    inputs, train = sample.filled[:, columns], sample.train
    weight = equal_group_weights(sample.sensitive[train])
    fitted = fit_logistic(inputs[train], sample.label[train], weight, ridge=options.ridge)
    return fitted.probability(inputs)


def _by_boosting(
    sample: PanelSample, columns: np.ndarray, settings: Mapping[str, Any], options: Options
) -> Float[np.ndarray, " n"]:
    inputs, train = sample.values[:, columns], sample.train
    booster = train_booster(
        inputs[train],
        sample.label[train].astype(np.float64),
        objective={"objective": "binary"},
        rng=options.rng,
        **options.boosting,
    )
    return np.asarray(booster.predict(inputs, num_threads=1), dtype=np.float64)


def _by_reduction(
    sample: PanelSample, columns: np.ndarray, settings: Mapping[str, Any], options: Options
) -> Float[np.ndarray, " n"]:
    inputs, rows = sample.filled[:, columns], evenly(sample.train, most=options.most_rows)
    return reduced_probability(
        inputs[rows],
        sample.label[rows],
        sample.sensitive[rows],
        inputs,
        bound=settings["bound"],
        rounds=settings["rounds"],
    )


def fitted(
    sample: PanelSample, kind: FairBaseline, settings: Mapping[str, Any], options: Options
) -> tuple[Bool[np.ndarray, " a"], Float[np.ndarray, " n"]]:
    """The panels that a baseline reads, the same for everybody, and P(y = 1) of every row."""
    panels = np.ones(len(sample.provides), dtype=bool)
    if kind.choose is not None:
        panels = kind.choose(sample, settings, options)
    assert kind.predict is not None, "bug: the agents' network predicts where it is"
    columns = shown_columns(sample.provides, panels)
    return panels, kind.predict(sample, columns, settings, options)


NETWORK = FairBaseline(
    name="network",
    families=("full_features",),
    looks={"full_features": (10, "all panels, set network", "black", "s", True)},
    reads_all=True,
)
BOOSTING = FairBaseline(
    name="boosting",
    families=("boosting", "all_and_group"),
    looks={
        "boosting": (20, "all panels, boosting", "grey", "D", True),
        "all_and_group": (40, "withheld too, boosting", "vermillion", "D", True),
    },
    settings={"withheld": ("bool", "also reads withheld panels", False)},
    predict=_by_boosting,
    reads_all=True,
)
LOGISTIC = FairBaseline(
    name="logistic",
    families=("logistic", "all_and_group"),
    looks={"logistic": (30, "all panels, logistic", "grey", "v", True)},
    settings={"withheld": ("bool", "also reads withheld panels", False)},
    predict=_by_logistic,
    reads_all=True,
)
REDUCTION = FairBaseline(
    name="reduction",
    families=("reduction",),
    looks={"reduction": (50, "reductions", "green", "P", True, "%")},
    settings={
        "bound": ("UpToOne", "allowed demographic disparity of training rows", 0.02),
        "rounds": ("Count", "of the exponentiated gradient", 15),
    },
    predict=_by_reduction,
    reads_all=True,
    random_cut=True,
)
LASSO = FairBaseline(
    name="lasso",
    families=("lasso", "lasso_fair"),
    looks={
        "lasso": (60, "LASSO", "orange", "^", False, "panels"),
        "lasso_fair": (70, "fair LASSO", "vermillion", "^", False, "panels"),
    },
    settings={
        "most": ("Count", "panels, at most", 4),
        "parity": ("NonNegative", "weight of a column's correlation with the group", 0.0),
    },
    choose=_lasso,
    predict=_by_logistic,
)
FORWARD = FairBaseline(
    name="forward",
    families=("forward", "forward_fair"),
    looks={
        "forward": (80, "forward", "orange", "<", False, "panels"),
        "forward_fair": (90, "fair forward", "vermillion", "<", False, "panels"),
    },
    settings={
        "most": ("Count", "panels, at most", 4),
        "gamma": ("Probability", "weight of accuracy", 1.0),
    },
    choose=_forward,
    predict=_by_logistic,
)
RANDOM = FairBaseline(
    name="random",
    families=("random",),
    looks={"random": (100, "random panels", "purple", "X", False, "%")},
    settings={"probability": ("Probability", "of each panel", 0.5)},
)
