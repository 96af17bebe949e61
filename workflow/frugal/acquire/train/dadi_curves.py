"""How DADI's learners do on validation units as they learn.

Must not know how they learn; it looks at networks and writes rows.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from frugal.acquire.policies.dadi_policies import DadiPolicies
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.dadi_acquisition import logits_at_sets
from frugal.acquire.train.dadi_losses import combined_loss
from frugal.acquire.train.dadi_networks import NetworkSizes, named_weights
from frugal.acquire.train.dadi_training import JointTraining, Population, class_losses
from frugal.core.world import World

COLUMNS = ("objective", "label_loss", "adversary_loss", "panels", "cost", "squared_error")


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
        """Evaluate the learners as they stand."""
        means = self._evaluated(training.stack.views)
        self._rows.append(torch.stack([*means, training.take_squared_error()], dim=1).numpy())
        self._iterations.append(training.iteration)

    def _evaluated(self, named: Mapping[str, Tensor]) -> list[Tensor]:
        """Means over units of all columns but the last. (K,) each"""
        settings, validation = self._settings, self._validation
        row = torch.arange(len(validation.units)).expand(len(self._gammas), -1)
        steps = settings.processing_steps
        learners = DadiPolicies(named_weights(named), settings, self._panel, scaling=None)
        uniforms = np.zeros((len(row[0]), self._world.panels + 1))
        bought = torch.from_numpy(roll_out(learners, self._world, uniforms=uniforms).acquired)
        known = torch.nn.functional.pad(bought.float(), (0, 1), value=1.0)
        label = validation.label[row] if settings.adversary_reads_label else None
        logits = logits_at_sets(named, validation.units, row, known, label, processing_steps=steps)
        of_label, of_adversary = class_losses(torch.cat(logits), validation.targets(row)).chunk(2)
        acquired = bought.double()
        cost = acquired @ validation.cost[:-1].double()
        gamma = torch.from_numpy(self._gammas).float()[:, None]
        objective = combined_loss(of_label, of_adversary, gamma) + settings.cost_weight * cost
        parts = (objective, of_label, of_adversary, acquired.sum(dim=2), cost)
        return [part.double().mean(dim=1) for part in parts]

    def frame(self) -> pd.DataFrame:
        """One row per evaluation and γ."""
        count = len(self._rows)
        found = np.concatenate(self._rows) if count else np.empty((0, len(COLUMNS)))
        frame = pd.DataFrame(found, columns=list(COLUMNS))
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
