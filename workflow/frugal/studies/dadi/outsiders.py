"""A set network that is trained from scratch on sets that are already collected.

A data collector's predictions from the features that DADI's agents reveal: the label and the
protected group, by the networks of the paper [dadi, app. B], each agent's sets having networks of
their own. Must not know the agents that collected the sets, nor their adversaries.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int

from frugal.config.learners import DadiSettings
from frugal.learn.lockstep import Adam
from frugal.learn.trees import train_booster
from frugal.learn.weighted_logistic import fit_logistic
from frugal.studies.dadi.networks import (
    ENCODER,
    NetworkSizes,
    class_logits,
    first_parameters,
    logits_at_sets,
)
from frugal.studies.dadi.networks import repeated as repeat_learner
from frugal.studies.dadi.set_encoder import EncoderSteps, encode, read_sets
from frugal.studies.dadi.token_memory import UnitTable, lay_out_tokens, remember
from frugal.studies.dadi.training import ADAM_EPSILON, Population, class_losses

LEARNERS = ("logistic", "boosting", "set_network")


def shown_inputs(
    values: Float32[np.ndarray, "n d"],
    panel_of_column: Int[np.ndarray, " d"],
    acquired: Bool[np.ndarray, "n a"],
) -> Float[np.ndarray, "n w"]:
    """Collected values, zero where there is none, and the mask of panels. (n, d + a)

    Args:
        values: standardised features, so zero is a mean; NaN where the table has none. (n, d)
        panel_of_column: action that reveals each column; −1: known from the start. (d,)
        acquired: panels collected for each row. (n, a)
    """
    everywhere = np.hstack([acquired, np.ones((len(acquired), 1), dtype=bool)])
    revealed = everywhere[:, panel_of_column]  # −1 is the column of ones
    shown = np.where(revealed & ~np.isnan(values), values, 0.0)
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
        inputs[train],
        target[train].astype(np.float64),
        objective={"objective": "binary"},
        rng=rng,
        **settings,
    )
    return np.asarray(booster.predict(inputs[~train], num_threads=1), dtype=np.float64)


ROWS_AT_A_TIME = 4096


def fit_set_networks(
    values: Float32[np.ndarray, "n d"],
    panel_of_column: Int[np.ndarray, " d"],
    acquired: Bool[np.ndarray, "k n a"],
    label: Int[np.ndarray, " n"],
    sensitive: Int[np.ndarray, " n"],
    train: Bool[np.ndarray, " n"],
    *,
    networks: Mapping[str, Any],
    iterations: int,
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, "k m"], Float[np.ndarray, "k m"]]:
    """P(y = 1) and P(b = 1) of the rows that do not train, from their collected sets.

    All k pairs of networks learn in lock-step from the same batches of rows, each row of which
    brings the set that agent k collected for it. Groups weigh as they occur.

    Args:
        values: standardised features. (n, d)
        panel_of_column: action that reveals each column. (d,)
        acquired: sets that k agents collected. (k, n, a)
        label: y. (n,)
        sensitive: b. (n,)
        train: rows to learn from; the others are predicted. (n,)
        networks: settings of `DadiSettings`; widths, batch (`agents`) and learning rate are read.
        iterations: batches.
        rng: draws weights and batches.

    Returns:
        Probabilities of the m other rows, in their order. (k, m) each
    """
    torch.set_num_threads(1)  # the same sums for any number of cores
    settings = DadiSettings.of({**networks, "objective": "demographic_parity"})
    learners, _, panels = acquired.shape
    sizes = NetworkSizes(values.shape[1], panels, settings)
    generator = torch.Generator().manual_seed(int(rng.integers(2**63 - 1)))
    stack = repeat_learner(first_parameters(sizes, generator), sizes, learners)
    adam = Adam(stack, learning_rate=settings.learning_rate, epsilon=ADAM_EPSILON)
    population = _population(values, panel_of_column, label, sensitive, panels)
    revealed = torch.nn.functional.pad(
        torch.from_numpy(acquired.astype(np.float32)), (0, 1), value=1.0
    )
    members = torch.from_numpy(np.flatnonzero(train))
    for _ in range(iterations):
        drawn = torch.randint(len(members), (settings.agents,), generator=generator)
        row = members[drawn].expand(learners, -1)
        memory = remember(stack.views, ENCODER, population.units.tokens(row))
        member = population.units.members(population.units.holdings(row), revealed[:, row[0]])
        reading = read_sets(
            stack.views,
            ENCODER,
            memory,
            member,
            processing_steps=settings.processing_steps,
            steps=EncoderSteps(),
        )
        encoding = encode(stack.views, ENCODER, memory, [reading], steps=EncoderSteps()).squeeze(2)
        logits = class_logits(stack.views, encoding, None)
        adam.descend(class_losses(logits, population.targets(row)).mean(dim=1).sum())
    parts = []
    for rows in torch.from_numpy(np.flatnonzero(~train)).split(max(1, ROWS_AT_A_TIME // learners)):
        row = rows.expand(learners, -1)
        parts.append(
            logits_at_sets(
                stack.views,
                population.units,
                row,
                revealed[:, rows],
                None,
                processing_steps=settings.processing_steps,
            )
        )
    of_label, of_sensitive = (torch.cat(part, dim=1) for part in zip(*parts, strict=True))
    return (torch.sigmoid(of_label).double().numpy(), torch.sigmoid(of_sensitive).double().numpy())


def _population(
    values: np.ndarray,
    panel_of_column: np.ndarray,
    label: np.ndarray,
    sensitive: np.ndarray,
    panels: int,
) -> Population:
    """The units, each with weight 1, at no cost."""
    ones = torch.ones(len(values))
    return Population(
        units=UnitTable(lay_out_tokens(values, panel_of_column), panels),
        label=torch.from_numpy(label.astype(np.float32)),
        sensitive=torch.from_numpy(sensitive.astype(np.float32)),
        label_weight=ones,
        adversary_weight=ones,
        cost=torch.zeros(panels + 1),
        start=torch.nn.functional.pad(torch.zeros(len(values), panels), (0, 1), value=1.0),
    )
