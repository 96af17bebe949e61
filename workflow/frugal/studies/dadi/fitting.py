"""DADI: an agent per γ; its features predict the label and not the sensitive attribute.

From a table to trained networks [dadi, sec. 3, app. C], with checkpoints that a killed run takes up
to the byte. Must not know files, splits or how results are evaluated.
"""

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor

from frugal.acquire.rollouts import roll_out
from frugal.config.learners import DadiSettings
from frugal.core.errors import ConfigError, DataError
from frugal.core.stored import Array, Stored
from frugal.core.world import World
from frugal.studies.dadi.networks import (
    DadiPolicies,
    NetworkSizes,
    Weights,
    first_parameters,
    logits_at_sets,
    named_weights,
    repeated,
)
from frugal.studies.dadi.set_encoder import EncoderSteps, compiled_steps
from frugal.studies.dadi.token_memory import FREE, UnitTable, lay_out_tokens
from frugal.studies.dadi.training import (
    JointTraining,
    Population,
    class_losses,
    combined_loss,
    group_weights,
    pretrain,
)

COLUMNS = ("objective", "label_loss", "adversary_loss", "panels", "cost", "squared_error")
_CHECKPOINT = "checkpoint of a DADI training"
State = dict[str, np.ndarray]


class Curves:
    """Evaluations so far; every learner acquires greedily for the same validation units.

    Args:
        gammas: γ of each learner. (K,)
        world: validation units, their values in the scale of the networks.
        validation: the same, weighted as in training.
        sizes: of the networks, with all settings.
        panel_of_column: action that reveals each column. (d,)
    """

    def __init__(
        self,
        gammas: np.ndarray,
        world: World,
        validation: Population,
        sizes: NetworkSizes,
        panel_of_column: np.ndarray,
    ) -> None:
        self._gammas, self._world, self._validation = gammas, world, validation
        self._settings, self._panel = sizes.settings, panel_of_column
        self._iterations: list[int] = []
        self._rows: list[np.ndarray] = []  # (K, 6) each, in the order of COLUMNS

    def add(self, training: JointTraining) -> None:
        """Evaluate the learners in their present state."""
        named = training.stack.views
        settings, validation = self._settings, self._validation
        row = torch.arange(len(validation.units)).expand(len(self._gammas), -1)
        steps = settings.processing_steps
        learners = DadiPolicies(named_weights(named), settings, self._panel, scaling=None)
        uniforms = np.zeros((len(row[0]), self._world.panels + 1))
        bought = torch.from_numpy(roll_out(learners, self._world, uniforms=uniforms).acquired)
        with_free_columns = torch.nn.functional.pad(bought.float(), (0, 1), value=1.0)
        label = validation.label[row] if settings.adversary_reads_label else None
        logits = logits_at_sets(
            named, validation.units, row, with_free_columns, label, processing_steps=steps
        )
        of_label, of_adversary = class_losses(torch.cat(logits), validation.targets(row)).chunk(2)
        acquired = bought.double()
        cost = acquired @ validation.cost[:-1].double()
        gamma = torch.from_numpy(self._gammas).float()[:, None]
        objective = combined_loss(of_label, of_adversary, gamma) + settings.cost_weight * cost
        parts = (objective, of_label, of_adversary, acquired.sum(dim=2), cost)
        means = [part.double().mean(dim=1) for part in parts]
        self._rows.append(torch.stack([*means, training.take_squared_error()], dim=1).numpy())
        self._iterations.append(training.iteration)

    def frame(self) -> pd.DataFrame:
        """One row per evaluation and γ."""
        count = len(self._rows)
        rows = np.concatenate(self._rows) if count else np.empty((0, len(COLUMNS)))
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        frame.insert(0, "iteration", np.repeat(self._iterations, len(self._gammas)).astype(int))
        frame.insert(1, "gamma", np.tile(self._gammas, count))
        return frame

    def state(self) -> dict[str, np.ndarray]:
        """The evaluations as arrays."""
        shape = (len(self._rows), len(self._gammas), len(COLUMNS))
        return {
            "curve_iterations": np.array(self._iterations, dtype=np.int64),
            "curve_rows": np.array(self._rows, dtype=np.float64).reshape(shape),
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on after the evaluations that `state` returned."""
        self._iterations = [int(i) for i in state["curve_iterations"]]
        self._rows = list(state["curve_rows"])


def iterations_done(state: Mapping[str, np.ndarray] | None) -> int:
    """Iterations before the checkpoint, for a progress bar; 0 without one, or where none is told.

    `require_state` names the error of a checkpoint.
    """
    iteration = np.empty(0) if state is None else state.get("iteration", np.empty(0))
    return int(iteration) if iteration.shape == () and iteration.dtype.kind in "iu" else 0


def require_state(
    state: Mapping[str, np.ndarray],
    identity: np.ndarray,
    sizes: NetworkSizes,
    *,
    learners: int,
    units: int,
) -> None:
    """The checkpoint belongs to this run, and the run can go on with every array in it.

    Args:
        state: as `fit_dadi` hands it to `save`, maybe from a file.
        identity: digest of the run. (32,)
        sizes: of the networks.
        learners: K.
        units: number of training units.

    Raises:
        DataError: it belongs to another run, or is damaged; the message names the place.
    """
    stored_identity = state.get("identity", identity)
    if stored_identity.shape == identity.shape and not np.array_equal(stored_identity, identity):
        raise DataError(
            "the checkpoint belongs to a run with other settings or another table; remove it, or "
            "go back to the former ones"
        )
    try:
        stored = Stored(_CHECKPOINT, state)
        weights = Array("float32", (_count(sizes, learners),))
        agents, settings = sizes.settings.agents, sizes.settings
        stored.require(
            {
                "identity": Array("uint8", identity.shape),
                "pretrained": Array("float32", (_count(sizes, 1),)),
                "parameters": weights,
                "target": weights,
                "first_moment": weights,
                "second_moment": Array("float32", weights.shape, low=0),
                "adam_steps": Array("int64", (), low=0, high=settings.iterations),
                "row": Array("int64", (learners, agents), low=0, high=units - 1),
                "known": Array("float32", (learners, agents, sizes.panels + 1), low=0, high=1),
                "generator": Array("uint8", tuple(torch.Generator().get_state().shape)),
                "iteration": Array("int64", (), low=0, high=settings.iterations),
                "squared_error": Array("float64", (learners,), low=0),
                "since": Array("int64", (), low=0, high=settings.iterations),
                "curve_iterations": Array("int64", ("rows",), low=0, high=settings.iterations),
                "curve_rows": Array("float64", ("rows", learners, len(COLUMNS))),
            },
            empty=("rows",),
        )
        try:
            torch.Generator().set_state(torch.tensor(stored.arrays["generator"]))
        except RuntimeError:
            raise stored.refusal(
                "has an array 'generator' that is no state of a generator of random numbers"
            ) from None
    except DataError as error:
        raise DataError(f"{error}; remove it, and the training starts anew") from None


def _count(sizes: NetworkSizes, learners: int) -> int:
    """Number of parameters of K learners."""
    return sum(math.prod(shape) for shape in sizes.stacked(learners).values())


@dataclass(frozen=True, eq=False)
class DadiResult:
    """Trained learners.

    Attributes:
        weights: by network and part, learners on the leading axis. (K, …)
        pretrained: the networks that all learners started from. (1, …)
        curves: one row per evaluation and γ, on validation units: iteration, gamma, mean combined
            loss with the penalty for cost (`objective`, the agent's loss), mean losses of
            classifier and adversary in nats, panels acquired, their cost, and the mean squared
            error of Q in training since the last evaluation.
    """

    weights: Weights
    pretrained: Weights
    curves: pd.DataFrame


def fit_dadi(
    values: Float32[np.ndarray, "n d"],
    panel_of_column: Int[np.ndarray, " d"],
    label: Int[np.ndarray, " n"],
    sensitive: Int[np.ndarray, " n"],
    train_rows: Int[np.ndarray, " m"],
    validation_rows: Int[np.ndarray, " v"],
    *,
    panel_cost: Float[np.ndarray, " a"],
    available: Bool[np.ndarray, "n a"] | None = None,
    gammas: Float[np.ndarray, " k"],
    settings: DadiSettings,
    rng: np.random.Generator,
    save: Callable[[State], None],
    state: Mapping[str, np.ndarray] | None,
    advance: Callable[[], object] = lambda: None,
) -> DadiResult:
    """Pretrain one pair of networks, then train a learner for each γ jointly  [dadi, eq. 1].

        min_{ψ,θ,φ} max_{ω,χ}  mean of γ L_C(O_T) − (1 − γ) L_A(O_T)

    Differs from the paper: pretraining does not depend on γ, so it is done once for all; units and
    exploration are drawn once for all learners; a window's update comes after its four decisions,
    all networks in one Adam step on the sum of their losses, where the paper has alternating steps;
    returns may be cut and the learning rate may fall (`returns`, `decay_share` of the settings).

    Args:
        values: encoded features, numeric columns standardised; NaN where the table has none. (n, d)
        panel_of_column: action that reveals each column, −1 if it is known from the start. (d,)
        label: y, 0 or 1. (n,)
        sensitive: b, 0 or 1. (n,)
        train_rows: units that networks and agents learn from. (m,)
        validation_rows: units of the curves. (v,)
        panel_cost: price of each panel, in the data set's unit. (a,)
        available: panels that an agent may acquire for a unit; of others the values are NaN. None:
            all of them. (n, a)
        gammas: γ of each learner, in [0, 1]. (K,)
        settings: sizes, schedule and objective.
        rng: all draws. Whoever takes up a checkpoint passes the same.
        save: called with the state every `checkpoint_every` iterations; keeps it for a restart.
        state: last argument of `save`, or None to start afresh.
        advance: called after each iteration, for a progress bar.

    Returns:
        Weights, pretrained weights and curves; the same bytes whether interrupted or not.

    Raises:
        ConfigError: a γ lies outside [0, 1].
        DataError: classes are not 0 and 1, a group is empty, a panel's cost is missing, the
            checkpoint belongs to another run, or the networks diverged.
    """
    torch.set_num_threads(1)  # the same sums whatever the number of cores
    _check(label, sensitive, panel_of_column, panel_cost, gammas)
    if not len(train_rows) or not len(validation_rows):
        raise DataError("a DADI agent needs rows to train on and rows to validate it; one is empty")
    sizes = NetworkSizes(values.shape[1], len(panel_cost), settings)
    watched = np.sort(rng.permutation(validation_rows)[: settings.evaluated_rows])
    generator = torch.Generator().manual_seed(int(rng.integers(2**63 - 1)))
    if available is None:
        available = np.ones((len(values), len(panel_cost)), dtype=bool)
    table = _Table(values, panel_of_column, label, sensitive, panel_cost, available)
    pretraining, train, validation = table.populations(train_rows, watched, settings)
    identity = _identity(table, train_rows, watched, gammas, settings)
    steps = compiled_steps() if settings.compiled else EncoderSteps()
    single = first_parameters(sizes, generator)
    if state is None:
        pretrain(single, pretraining, settings=settings, steps=steps, generator=generator)
    else:
        require_state(state, identity, sizes, learners=len(gammas), units=len(train_rows))
        with torch.no_grad():
            single.flat.copy_(torch.tensor(state["pretrained"]))
    stack, gamma = repeated(single, sizes, len(gammas)), torch.from_numpy(gammas).float()
    training = JointTraining(
        stack, train, gamma=gamma, sizes=sizes, steps=steps, generator=generator
    )
    curves = Curves(gammas, table.world(watched), validation, sizes, panel_of_column)
    if state is not None:
        training.restore({name: torch.tensor(array) for name, array in state.items()})
        curves.restore(state)
    fixed = {"identity": identity, "pretrained": single.flat.detach().numpy().copy()}
    while training.iteration < settings.iterations:
        if training.iteration % settings.checkpoint_every == 0:
            save({**fixed, **_arrays(training.state()), **curves.state()})
        training.iterate()
        if training.iteration % settings.evaluate_every == 0:
            _require_finite(stack.flat, settings)
            curves.add(training)
        advance()
    _require_finite(stack.flat, settings)
    return DadiResult(named_weights(stack.views), named_weights(single.views), curves.frame())


def _require_finite(flat: torch.Tensor, settings: DadiSettings) -> None:
    if not bool(torch.isfinite(flat).all()):
        raise DataError(
            "the networks of a DADI agent diverged, they are no longer finite; lower its "
            f"learning_rate, now {settings.learning_rate:g}"
        )


def _check(
    label: np.ndarray,
    sensitive: np.ndarray,
    panel_of_column: np.ndarray,
    panel_cost: np.ndarray,
    gammas: np.ndarray,
) -> None:
    for name, classes in (("label", label), ("sensitive attribute", sensitive)):
        if not np.isin(classes, (0, 1)).all():
            raise DataError(
                f"the {name} has the classes {np.unique(classes)}; a DADI agent takes 0 and 1"
            )
    for gamma in gammas:
        if not 0 <= gamma <= 1:
            raise ConfigError(f"gamma is {gamma}; it lies between 0 and 1")
    if not len(gammas):
        raise ConfigError("no gamma is given; a DADI agent needs at least one")
    if not np.array_equal(np.unique(panel_of_column[panel_of_column >= 0]), range(len(panel_cost))):
        raise DataError(
            f"columns belong to the panels {np.unique(panel_of_column).tolist()} (-1: known from "
            f"the start), but costs are given for {len(panel_cost)} panels, numbered from 0"
        )


@dataclass(frozen=True, eq=False)
class _Table:
    """The inputs that go together, for choosing rows."""

    values: np.ndarray
    panel_of_column: np.ndarray
    label: np.ndarray
    sensitive: np.ndarray
    panel_cost: np.ndarray
    available: np.ndarray

    def populations(
        self, train_rows: np.ndarray, watched: np.ndarray, settings: DadiSettings
    ) -> tuple[Population, Population, Population]:
        """Units of pretraining (plain cross-entropy), of joint training, and of the curves.

        Weights come from the training units in all three.
        """
        unweighted, weighted = (
            group_weights(
                self.label[train_rows],
                self.sensitive[train_rows],
                objective=settings.objective,
                group_normalised=normalised,
            )
            for normalised in (False, settings.group_normalised)
        )
        return (
            self.population(train_rows, unweighted),
            self.population(train_rows, weighted),
            self.population(watched, weighted),
        )

    def world(self, rows: np.ndarray) -> World:
        """The units of some rows, as policies see them."""
        panels = np.arange(len(self.panel_cost))
        return World(
            "full",
            0,
            rows,
            self.values.astype(np.float64)[rows],
            self.panel_of_column == panels[:, None],
            self.panel_of_column == FREE,
            self.available[rows],
            self.label[rows],
            self.panel_cost,
            classes=2,
            terminals=1,
        )

    def population(self, rows: np.ndarray, weights: tuple[np.ndarray, np.ndarray]) -> Population:
        """The units of some rows, with the weights at [b, y] in both losses."""
        label, sensitive = self.label[rows], self.sensitive[rows]
        layout = lay_out_tokens(self.values[rows], self.panel_of_column)
        return Population(
            units=UnitTable(layout, len(self.panel_cost)),
            label=torch.from_numpy(label.astype(np.float32)),
            sensitive=torch.from_numpy(sensitive.astype(np.float32)),
            label_weight=torch.from_numpy(weights[0][sensitive, label]),
            adversary_weight=torch.from_numpy(weights[1][sensitive, label]),
            cost=torch.from_numpy(np.append(self.panel_cost, 0.0).astype(np.float32)),
            start=torch.from_numpy(
                np.pad(~self.available[rows], ((0, 0), (0, 1)), constant_values=True)
            ).float(),
        )


def _identity(
    table: _Table,
    train_rows: np.ndarray,
    watched: np.ndarray,
    gammas: np.ndarray,
    settings: DadiSettings,
) -> np.ndarray:
    """Digest of everything but the draws that a run's result depends on. (32,)"""
    digest = hashlib.sha256(repr(settings).encode())
    for array in (*vars(table).values(), train_rows, watched, gammas):
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def _arrays(state: Mapping[str, Tensor]) -> State:
    """Copies that later iterations leave alone."""
    return {name: tensor.numpy().copy() for name, tensor in state.items()}
