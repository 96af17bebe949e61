"""The kind `dadi`: fair acquisition against an adversary, learnt from blocked records [dadi].

Differs from the paper: panels that a record lacks cannot be acquired for it in training.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor

from frugal.acquire.kinds import AgentKind, Ground, Learned, Saved, trained
from frugal.acquire.reading import tilted_belief
from frugal.acquire.train.dadi_networks import (
    NetworkSizes,
    logits_at_sets,
    require_weights,
    stacked_weights,
    values_at_sets,
)
from frugal.config.learners import DadiSettings
from frugal.core.episodes import Traits
from frugal.core.errors import ConfigError, DataError
from frugal.core.layout import Layout
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.stored import Array, Stored, under
from frugal.core.table import Table
from frugal.learn.token_memory import FREE, UnitTable, lay_out_tokens

_DIVERGED = (
    "a stored DADI agent gives values that are not numbers: its weights are too large; train it "
    "again"
)
SETS_AT_A_TIME = 4096  # of all learners together, so that activations stay in cache
NETWORKS = "networks."  # prefix among the bundle's arrays
THRESHOLD = "threshold"  # of decisions; in bundles of the study `dadi`
SIZES = ("memory_width", "encoding_width", "head_width")


def panel_of_columns(table: Table | Layout) -> Int[np.ndarray, " d"]:
    """Action that reveals each column of a table, or FREE for a column known from the start. (d,)

    Raises:
        ConfigError: a column belongs to two panels; this agent has one panel per column.
    """
    holders = table.provides.sum(axis=0)
    twice = np.flatnonzero(~table.free_columns & (holders > 1))
    if twice.size:
        raise ConfigError(
            f"column {table.columns[twice[0]]!r} belongs to {holders[twice[0]]} panels; a DADI "
            "agent takes tables in which each column belongs to one"
        )
    return np.where(table.free_columns, FREE, table.provides.argmax(axis=0)).astype(np.int64)


class DadiPolicies:
    """K trained learners: each takes the decision of its largest Q.

    Args:
        weights: of `fit_dadi`; learners on the leading axis.
        settings: that they were trained with.
        panel_of_column: action that reveals each column, or −1 if it is known from the start. (d,)
        scaling: of values before the networks read them; None: they come in that scale.
        exploration: probability of a decision drawn evenly from all that are allowed.
        threshold: of each learner, least probability of class 1 that it decides as 1; None: the
            likelier class. (K,)

    Raises:
        DataError: the weights are not those of such learners; the sentence says where.
    """

    def __init__(
        self,
        weights: Mapping[str, np.ndarray],
        settings: DadiSettings,
        panel_of_column: np.ndarray,
        *,
        scaling: Scaling | None,
        exploration: float = 0.0,
        threshold: Float[np.ndarray, " K"] | None = None,
    ) -> None:
        torch.set_num_threads(1)  # the same sums whatever the number of cores
        self.panels = int(panel_of_column.max()) + 1
        sizes = NetworkSizes(len(panel_of_column), self.panels, settings)
        self.members = require_weights(weights, sizes, "DADI agent")
        self.named = stacked_weights(weights)
        self._settings, self.processing_steps = settings, settings.processing_steps
        self._panel, self.scaling, self.exploration = panel_of_column, scaling, exploration
        self._threshold = threshold

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(
            consistent=self.exploration == 0,
            compares="value (nats)",
            weigh=self.weigh,
            believe=self.believe,
        )

    def action_probabilities(
        self,
        values: Float[np.ndarray, "K m d"],
        acquired: Bool[np.ndarray, "K m a"],
        available: Bool[np.ndarray, "K m a"],
    ) -> Float[np.ndarray, "K m a+1"]:
        """Probability of each panel next, and of "stop" in the last column. (K, m, a + 1)

        Raises:
            DataError: a stored agent's values are not numbers.
        """
        value = self.weigh(values, acquired, available)
        allowed, best = value > -np.inf, value.argmax(axis=2)
        explored = self.exploration * allowed / allowed.sum(axis=2, keepdims=True)
        return explored + (1 - self.exploration) * np.eye(self.panels + 1)[best]

    def weigh(
        self,
        values: Float[np.ndarray, "K m d"],
        acquired: Bool[np.ndarray, "K m a"],
        available: Bool[np.ndarray, "K m a"],
    ) -> Float32[np.ndarray, "K m b"]:
        """Q of every allowed decision, −∞ for the others. (K, m, a + 1)

        Raises:
            DataError: a stored agent's values are not numbers.
        """
        allowed = np.pad(available & ~acquired, ((0, 0), (0, 0), (0, 1)), constant_values=True)
        value = self.state_values(values, acquired)
        if not np.isfinite(value).all():
            raise DataError(_DIVERGED)
        return np.where(allowed, value, np.float32(-np.inf))

    def predict(
        self, values: Float[np.ndarray, "K m d"], acquired: Bool[np.ndarray, "K m a"]
    ) -> Float[np.ndarray, "K m 2"]:
        """Class probabilities, tilted so that one half is the threshold. (K, m, 2)"""
        belief = self.believe(values, acquired)
        if self._threshold is None:
            return belief
        return tilted_belief(belief, self._threshold[:, None])

    def believe(
        self, values: Float[np.ndarray, "K m d"], acquired: Bool[np.ndarray, "K m a"]
    ) -> Float[np.ndarray, "K m 2"]:
        """Class probabilities by the classifier of each learner. (K, m, 2)"""
        untold = np.zeros(values.shape[:2], dtype=np.int64)  # only the adversary would read it
        told, _ = self._predictions(values, acquired, untold)
        return np.stack([1.0 - told, told], axis=2).astype(np.float64)

    def state_values(
        self, values: Float[np.ndarray, "K m d"], acquired: Bool[np.ndarray, "K m a"]
    ) -> Float32[np.ndarray, "K m b"]:
        """Q of every decision of each learner in its states; "stop" last. (K, m, a + 1)"""
        units, row, sets = self._states(values, acquired)
        parts = [
            values_at_sets(
                self.named, units, row[:, at], sets[:, at], processing_steps=self.processing_steps
            )
            for at in self._parts(values.shape[1])
        ]
        return torch.cat(parts, dim=1).numpy()

    def predict_from_sets(
        self,
        values: Float[np.ndarray, "n d"],
        acquired: Bool[np.ndarray, "*k n a"],
        *,
        label: Int[np.ndarray, " n"] | None,
    ) -> tuple[Float32[np.ndarray, "k n"], Float32[np.ndarray, "k n"]]:
        """P(y = 1) by the classifiers and P(b = 1) by the adversaries, at given sets.

        Args:
            values: encoded features. (n, d)
            acquired: panels of each unit's set, the same for all learners or one for each.
                (n, a) or (k, n, a)
            label: y, which only the adversary of equalised odds reads; else it may be None. (n,)

        Returns:
            Probabilities of all learners.

        Raises:
            DataError: the label is needed and not given.
        """
        if self._settings.adversary_reads_label and label is None:
            raise DataError("the adversary of equalised odds reads the label; it is not given")
        told = np.zeros(len(values), dtype=np.int64) if label is None else label
        every = (self.members, *values.shape)
        sets = np.broadcast_to(acquired, (self.members, *acquired.shape[-2:]))
        return self._predictions(
            np.broadcast_to(values, every), sets, np.broadcast_to(told, every[:2])
        )

    def _predictions(
        self, values: np.ndarray, acquired: np.ndarray, label: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of label and sensitive attribute. (K, m) each"""
        units, row, sets = self._states(values, acquired)
        told = torch.from_numpy(label.astype(np.float32))
        parts = []
        for at in self._parts(values.shape[1]):
            own = told[:, at] if self._settings.adversary_reads_label else None
            logits = logits_at_sets(
                self.named,
                units,
                row[:, at],
                sets[:, at],
                own,
                processing_steps=self.processing_steps,
            )
            if bool(logits[0].isnan().any() | logits[1].isnan().any()):
                raise DataError(_DIVERGED)
            parts.append((torch.sigmoid(logits[0]), torch.sigmoid(logits[1])))
        of_label, of_sensitive = (torch.cat(part, dim=1) for part in zip(*parts, strict=True))
        return of_label.numpy(), of_sensitive.numpy()

    def _states(self, values: np.ndarray, acquired: np.ndarray) -> tuple[UnitTable, Tensor, Tensor]:
        """Tokens of all states, which of them are each learner's (K, m), and its sets."""
        seen = values if self.scaling is None else self.scaling.standardise(values)
        flat = seen.reshape(-1, values.shape[2]).astype(np.float32)
        units = UnitTable(lay_out_tokens(flat, self._panel), self.panels)
        row = torch.arange(len(flat)).view(values.shape[:2])
        sets = torch.from_numpy(acquired.astype(np.float32))
        return units, row, torch.nn.functional.pad(sets, (0, 1), value=1.0)

    def _parts(self, n: int) -> tuple[Tensor, ...]:
        return torch.arange(n).split(max(1, SETS_AT_A_TIME // self.members))


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Train one learner on the records.

    Raises:
        DataError: the label has other than two classes, or the data set tells no groups apart, or
            all rows are of one.
        ConfigError: a column belongs to two panels.
    """
    from frugal.acquire.train.dadi import fit_dadi  # whose curves roll these policies out

    ground.require_two_classes("dadi")
    how, values = _settings(settings), ground.values
    sensitive = _group(ground)
    order = ground.streams.generator("validation").permutation(len(values))
    held = round(settings["validation_share"] * len(order))
    train = np.sort(order[held:])
    scaling = fit_scaling(values[train], unknown=True).leaving(ground.table.onehot)
    bar = ground.progress(total=how.iterations, desc="iterations")
    found = fit_dadi(
        scaling.standardise(values).astype(np.float32),
        panel_of_columns(Layout.of(ground.table)),
        ground.table.label, sensitive, train, np.sort(order[:held]),
        panel_cost=ground.table.action_cost, available=ground.recorded,
        gammas=np.array([settings["gamma"]], dtype=np.float64), settings=how,
        rng=ground.streams.generator("learner"), save=lambda state: None, state=None,
        advance=bar.update,
    )  # fmt: skip
    bar.close()
    arrays = {NETWORKS + name: array for name, array in found.weights.items()}
    arrays |= {"centre": scaling.centre, "scale": scaling.scale}
    curve = found.curves[["iteration", "objective", "label_loss", "adversary_loss", "panels"]]
    return Learned(arrays, pd.DataFrame(curve))


def agent_settings(
    training: Mapping[str, Any], gamma: Any, validation_share: float
) -> dict[str, Any]:
    """The block of an agent from settings of the study `dadi`, where `training` holds all sizes."""
    sizes = {name: training[name] for name in SIZES}
    return {
        "kind": "dadi", "gamma": gamma, "validation_share": validation_share, "exploration": 0.0,
        "networks": sizes, "training": {k: v for k, v in training.items() if k not in sizes},
    }  # fmt: skip


def _settings(settings: Mapping[str, Any]) -> DadiSettings:
    return DadiSettings.of({**settings["networks"], **settings["training"]})


def _group(ground: Ground) -> np.ndarray:
    """Group of each row. (n,)"""
    if ground.group is None:
        raise DataError(
            "an agent of kind 'dadi' hides a group, and the data set tells none apart; its YAML "
            "needs 'sensitive' with 'column' and two 'groups'"
        )
    if len(np.unique(ground.group)) < 2:
        raise DataError(
            f"an agent of kind 'dadi' hides a group, and all {len(ground.group)} rows of the part "
            "'agent' belong to one"
        )
    return ground.group


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> DadiPolicies:
    """The trained learner."""
    stored = trained(stored, "dadi")
    d = len(layout.columns)
    own = {name: stored[name] for name in ("centre", "scale") if name in stored}
    Stored("DADI agent", own).require(
        {"centre": Array("float64", (d,)), "scale": Array("float64", (d,), above=0)}
    )
    policies = DadiPolicies(
        under(stored, NETWORKS), _settings(settings), panel_of_columns(layout),
        scaling=Scaling(own["centre"], own["scale"]), exploration=settings["exploration"],
        threshold=stored.get(THRESHOLD),
    )  # fmt: skip
    if THRESHOLD in stored:
        wanted = {THRESHOLD: Array("float64", (policies.members,), above=0, high=1)}
        Stored("DADI agent", {THRESHOLD: stored[THRESHOLD]}).require(wanted)
    return policies


DADI = AgentKind(
    name="dadi",
    build=build,
    fit=fit,
    settings={
        "gamma": ("Probability", "weight of accuracy against hiding the group", 0.7),
        "validation_share": ("Probability", "of the part `agent`; for the curves", 0.2),
        "exploration": ("Probability", "of a decision drawn evenly from the allowed ones", 0.0),
        "networks": (
            "DadiNetworks",
            "",
            {"memory_width": 16, "encoding_width": 8, "head_width": 16},
        ),
        "training": (
            "DadiTraining",
            "",
            {
                "processing_steps": 3,
                "pretraining_iterations": 400,
                "iterations": 800,
                "agents": 32,
                "learning_rate": 0.002,
                "exploration_iterations": 400,
                "cost_weight": 0.05,
                "evaluate_every": 400,
                "evaluated_rows": 500,
                "checkpoint_every": 100000,
            },
        ),
    },
    doc="DADI: acquires what predicts the label and hides the group from an adversary",
    two_classes=True,
    steps=(("training.iterations",), ("training.pretraining_iterations",)),
    graph="dadi",
    looks={"dadi": (95, "DADI for the costs", "sky", "8")},
)
