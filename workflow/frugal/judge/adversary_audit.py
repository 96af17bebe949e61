"""Honest audit of collected sets: adversaries trained afterwards, from scratch, to tell the group.

The adversary that DADI trains beside its agent can be fooled, or lag behind; what an agent hands
out is as private as the best outsider finds it [dadi, sec. 3]. Logistic regression and gradient
boosting read the collected values, zero where there is none, and which panels were collected;
the set network reads sets. Knows no agent and no file.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from frugal.learn.trees import train_booster
from frugal.learn.weighted_logistic import fit_logistic

LEARNERS = ("logistic", "boosting", "set_network")


def shown_inputs(
    values: Float32[np.ndarray, "n d"],
    panel_of_column: Int[np.ndarray, " d"],
    acquired: Bool[np.ndarray, "n a"],
) -> Float[np.ndarray, "n w"]:
    """Collected values, zero where there is none, beside the mask of panels. (n, d + a)

    Args:
        values: standardised features, so that zero is a mean; NaN where the table has none. (n, d)
        panel_of_column: action that reveals each column; −1: known from the start. (d,)
        acquired: panels collected for each row. (n, a)
    """
    everywhere = np.hstack([acquired, np.ones((len(acquired), 1), dtype=bool)])
    known = everywhere[:, panel_of_column]  # −1 is the column of ones
    shown = np.where(known & ~np.isnan(values), values, 0.0)
    return np.hstack([shown, acquired]).astype(np.float64)


def adversary_score(
    learner: str,
    inputs: Float[np.ndarray, "n w"],
    target: Int[np.ndarray, " n"],
    train: Bool[np.ndarray, " n"],
    *,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> Float[np.ndarray, " m"]:
    """P(target = 1) of the rows that do not train, by a learner fitted to those that do. (m,)

    Args:
        learner: logistic or boosting.
        inputs: of `shown_inputs`. (n, w)
        target: 0 or 1. (n,)
        train: rows to learn from. (n,)
        settings: ridge (logistic); trees, leaves, learning_rate, min_leaf (boosting).
        rng: seeds the boosting.
    """
    if learner == "logistic":
        weight = np.ones(int(train.sum()))
        fitted = fit_logistic(inputs[train], target[train], weight, ridge=settings["ridge"])
        return fitted.probability(inputs[~train])
    booster = train_booster(
        inputs[train], target[train].astype(np.float64),
        objective={"objective": "binary"}, rng=rng, **settings,
    )  # fmt: skip
    return np.asarray(booster.predict(inputs[~train], num_threads=1), dtype=np.float64)
