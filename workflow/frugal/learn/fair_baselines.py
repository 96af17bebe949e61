"""Predictions that `dadi` is compared with: one set of panels for everybody, by several learners.

Each baseline reads training rows (and, to choose panels, validation rows) and predicts all rows.
Must not know agents or folds; what acquires at random is made where the networks are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.errors import ConfigError
from frugal.learn.fair_reductions import reduced_probability
from frugal.learn.panel_selection import forward_panels, lasso_panels, shown_columns
from frugal.learn.trees import train_booster
from frugal.learn.weighted_logistic import equal_group_weights, fit_logistic

KINDS = ("logistic", "boosting", "lasso", "forward", "reduction")


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


def chosen_panels(
    sample: Sample, settings: Mapping[str, Any], *, ridge: float, most_rows: int
) -> Bool[np.ndarray, " a"]:
    """The panels that a baseline reads: all, or those that LASSO or forward selection choose. (a,)

    Args:
        sample: rows and panels.
        settings: `kind` and its own.
        ridge: of the regressions of forward selection.
        most_rows: rows that a selection reads, evenly over the table, whose order may mean
            something; time grows with them.
    """
    if settings["kind"] not in ("lasso", "forward"):
        return np.ones(len(sample.provides), dtype=bool)
    train, held = (evenly(rows, most=most_rows) for rows in (sample.train, sample.held))
    weight = equal_group_weights(sample.sensitive[train])
    if settings["kind"] == "lasso":
        return lasso_panels(
            *sample.of(train), weight, sample.provides,
            most=settings["most"], parity=settings["parity"],
        )  # fmt: skip
    return forward_panels(
        sample.of(train), sample.of(held), (weight, equal_group_weights(sample.sensitive[held])),
        sample.provides, most=settings["most"], gamma=settings["gamma"], ridge=ridge,
    )  # fmt: skip


def predicted(
    sample: Sample,
    panels: Bool[np.ndarray, " a"],
    settings: Mapping[str, Any],
    *,
    ridge: float,
    boosting: Mapping[str, Any],
    most_rows: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, " n"]:
    """P(y = 1) of every row from the chosen panels. (n,)

    Of a reduction it is the probability that its mixture decides 1.

    Raises:
        ConfigError: the kind of baseline is unknown.
    """
    columns, train = shown_columns(sample.provides, panels), sample.train
    inputs = (sample.values if settings["kind"] == "boosting" else sample.filled)[:, columns]
    match settings["kind"]:
        case "logistic" | "lasso" | "forward":
            weight = equal_group_weights(sample.sensitive[train])
            fitted = fit_logistic(inputs[train], sample.label[train], weight, ridge=ridge)
            return fitted.probability(inputs)
        case "boosting":
            booster = train_booster(
                inputs[train], sample.label[train].astype(np.float64),
                objective={"objective": "binary"}, rng=rng, **boosting,
            )  # fmt: skip
            return np.asarray(booster.predict(inputs, num_threads=1), dtype=np.float64)
        case "reduction":
            rows = evenly(train, most=most_rows)
            return reduced_probability(
                inputs[rows], sample.label[rows], sample.sensitive[rows], inputs,
                bound=settings["bound"], rounds=settings["rounds"],
            )  # fmt: skip
        case other:
            raise ConfigError(f"a baseline is of kind {other!r}; allowed are {', '.join(KINDS)}")
