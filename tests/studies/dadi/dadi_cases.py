"""Small tables and settings for tests of DADI."""

from typing import Any

import numpy as np
import torch
from frugal.acquire.rollouts import roll_out
from frugal.config.learners import DadiSettings
from frugal.core.episodes import Episodes
from frugal.core.world import World
from frugal.studies.dadi.fitting import fit_dadi
from frugal.studies.dadi.networks import DadiPolicies

from tests.oracles.acquisition_worlds import world_of

PANEL = np.array([0, 1, 1, 1, 2, 3, -1])  # one-hot in panel 1; the last column is free
COST = np.array([1.0, 2.0, 0.5, 1.0])

SETTINGS: dict[str, Any] = {"memory_width": 8, "encoding_width": 6, "processing_steps": 3}
SETTINGS |= {"head_width": 8, "pretraining_iterations": 4, "iterations": 12, "agents": 8}
SETTINGS |= {"window": 4, "returns": "n_step", "learning_rate": 5e-3, "decay_share": 0.0}
SETTINGS |= {"decay_to": 0.1, "target_every": 5, "exploration_start": 1.0, "exploration_end": 0.2}
SETTINGS |= {"exploration_iterations": 8, "objective": "demographic_parity", "reward": "difference"}
SETTINGS |= {"group_normalised": True, "cost_weight": 0.0, "evaluate_every": 3}
SETTINGS |= {"evaluated_rows": 30, "checkpoint_every": 5, "compiled": False}


def settings(**changes) -> DadiSettings:
    """Tiny settings with some changed."""
    return DadiSettings.of({**SETTINGS, **changes})


def table(rng: np.random.Generator, n: int):
    """Values, label and sensitive attribute: panel 0 tells the label, panel 3 the attribute."""
    label, sensitive = rng.integers(2, size=n), rng.integers(2, size=n)
    values = rng.normal(size=(n, len(PANEL)))
    values[:, 0] += label
    values[:, 1:4] = np.eye(3)[rng.integers(3, size=n)]
    values[:, 5] = (rng.random(n) < 0.2 + 0.6 * sensitive).astype(float)
    values[rng.random(n) < 0.05, 4] = np.nan
    return values.astype(np.float32), label, sensitive


def all_in_reach(n: int, panels: int) -> torch.Tensor:
    """`Population.start` of units that can have every panel. (n, panels + 1)"""
    return torch.nn.functional.pad(torch.zeros(n, panels), (0, 1), value=1.0)


def world(values: np.ndarray, panel: np.ndarray = PANEL) -> World:
    """Units in the scale of the networks, all panels within reach."""
    provides = np.arange(panel.max() + 1)[:, None] == panel
    return world_of(values.astype(np.float64), provides, panel == -1)


def acquired_by(policies: DadiPolicies, values: np.ndarray, panel: np.ndarray = PANEL) -> Episodes:
    """Greedy episodes of all learners."""
    here = world(values, panel)
    return roll_out(policies, here, uniforms=np.zeros((len(here), here.panels + 1)))


def fit(
    values,
    label,
    sensitive,
    *,
    gammas=(0.3, 1.0),
    save=lambda state: None,
    state=None,
    panel: Any = PANEL,
    validation: Any = None,
    **changes,
):
    """Train on the first two thirds of a table."""
    n = len(values)
    return fit_dadi(
        values,
        panel,
        label,
        sensitive,
        np.arange(2 * n // 3),
        np.arange(2 * n // 3, n) if validation is None else validation,
        panel_cost=COST,
        gammas=np.array(gammas),
        settings=settings(**changes),
        rng=np.random.default_rng(11),
        save=save,
        state=state,
    )
