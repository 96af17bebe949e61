"""Predictions that `dadi` is compared with: one set of panels for everybody, by several learners.

Each baseline reads training rows (and, to choose panels, validation rows) and predicts all rows.
Must not know agents or folds; what acquires at random is made where the networks are.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.declarations import declared, load_one
from frugal.core.errors import ConfigError
from frugal.learn.fair_reductions import reduced_probability
from frugal.learn.panel_selection import forward_panels, lasso_panels, shown_columns
from frugal.learn.trees import train_booster
from frugal.learn.weighted_logistic import equal_group_weights, fit_logistic


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows with their panels. Shapes: n rows, d columns, a panels.

    Attributes:
        values: standardised features; NaN where the table has none. (n, d)
        provides: columns that each panel reveals; one that no panel does is known to all. (a, d)
        label: y. (n,)
        sensitive: b. (n,)
        train: rows to learn from. (n,)
        held: rows that choose panels. (n,)
    """

    values: Float[np.ndarray, "n d"]
    provides: Bool[np.ndarray, "a d"]
    label: Int[np.ndarray, " n"]
    sensitive: Int[np.ndarray, " n"]
    train: Bool[np.ndarray, " n"]
    held: Bool[np.ndarray, " n"]

    def of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Filled values, label and group of some rows."""
        return self.filled[rows], self.label[rows], self.sensitive[rows]

    @cached_property
    def filled(self) -> Float[np.ndarray, "n d"]:
        """Values, with the training mean 0 where there is none: for all but boosting. (n, d)"""
        return np.nan_to_num(self.values, nan=0.0)


def evenly(rows: Bool[np.ndarray, " n"], *, most: int) -> Int[np.ndarray, " m"]:
    """Positions of at most so many of the given rows, at equal distances. (m,)"""
    found = np.flatnonzero(rows)
    count = min(most, len(found))
    return found[np.arange(count) * len(found) // max(1, count)]


@dataclass(frozen=True, eq=False)
class Options:
    """What baselines of one study share.

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
            the probability that its mixture decides 1; None: what the agents' network predicts.
        reads_all: True where it reads every panel that is shown.
        random_cut: True where each decision is drawn with the predicted probability.
    """

    name: str
    families: tuple[str, ...]
    looks: Mapping[str, tuple[Any, ...]]
    settings: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    choose: Callable[[Sample, Mapping[str, Any], Options], np.ndarray] | None = None
    predict: Callable[[Sample, np.ndarray, Mapping[str, Any], Options], np.ndarray] | None = None
    reads_all: bool = False
    random_cut: bool = False


def fair_baseline(kind: str) -> FairBaseline:
    """The kind of that name.

    Raises:
        ConfigError: there is none.
    """
    known = declared("frugal.learn.fair_baselines", "FairBaseline")
    if kind not in known:
        raise ConfigError(f"a baseline is of kind {kind!r}; allowed are {', '.join(known)}")
    return load_one("frugal.learn.fair_baselines", "FairBaseline", kind)


def _lasso(sample: Sample, settings: Mapping[str, Any], options: Options) -> Bool[np.ndarray, " a"]:
    train = evenly(sample.train, most=options.most_rows)
    return lasso_panels(
        *sample.of(train), equal_group_weights(sample.sensitive[train]), sample.provides,
        most=settings["most"], parity=settings["parity"],
    )  # fmt: skip


def _forward(
    sample: Sample, settings: Mapping[str, Any], options: Options
) -> Bool[np.ndarray, " a"]:
    train, held = (evenly(rows, most=options.most_rows) for rows in (sample.train, sample.held))
    weights = (
        equal_group_weights(sample.sensitive[train]), equal_group_weights(sample.sensitive[held]),
    )  # fmt: skip
    return forward_panels(
        sample.of(train), sample.of(held), weights, sample.provides, most=settings["most"],
        gamma=settings["gamma"], ridge=options.ridge,
    )  # fmt: skip


def _by_logistic(
    sample: Sample, columns: np.ndarray, settings: Mapping[str, Any], options: Options
) -> Float[np.ndarray, " n"]:
    del settings
    inputs, train = sample.filled[:, columns], sample.train
    weight = equal_group_weights(sample.sensitive[train])
    fitted = fit_logistic(inputs[train], sample.label[train], weight, ridge=options.ridge)
    return fitted.probability(inputs)


def _by_boosting(
    sample: Sample, columns: np.ndarray, settings: Mapping[str, Any], options: Options
) -> Float[np.ndarray, " n"]:
    del settings
    inputs, train = sample.values[:, columns], sample.train
    booster = train_booster(
        inputs[train], sample.label[train].astype(np.float64), objective={"objective": "binary"},
        rng=options.rng, **options.boosting,
    )  # fmt: skip
    return np.asarray(booster.predict(inputs, num_threads=1), dtype=np.float64)


def _by_reduction(
    sample: Sample, columns: np.ndarray, settings: Mapping[str, Any], options: Options
) -> Float[np.ndarray, " n"]:
    inputs, rows = sample.filled[:, columns], evenly(sample.train, most=options.most_rows)
    return reduced_probability(
        inputs[rows], sample.label[rows], sample.sensitive[rows], inputs,
        bound=settings["bound"], rounds=settings["rounds"],
    )  # fmt: skip


def fitted(
    sample: Sample, kind: FairBaseline, settings: Mapping[str, Any], options: Options
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
