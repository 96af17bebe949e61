"""Laws of gaps for a grid of worlds: a mechanism and a share of gaps, on any table.

Must not know what a graph identifies, nor any policy or estimator.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from frugal.core.errors import ConfigError
from frugal.core.scaling import fit_scaling
from frugal.core.table import Table

MECHANISMS = ("mcar", "mar", "mnar", "self")
COMMONEST = 0.9  # share of the rows that one value of a cause may hold
WEIGHT = 1.0  # of a cause, per standard deviation; its sign alternates from panel to panel
Mechanism = Literal["mcar", "mar", "mnar", "self"]


def grid_law(
    table: Table, mechanism: Mechanism, *, missing_share: float, panels: int
) -> dict[str, Any]:
    """The block `missingness` of a world.

    The first panels of the table can be missing, each in `missing_share` of the rows. What causes
    its gaps: mcar: nothing; mar: an always-known column; mnar: a column of the panel before it that
    is none of its own (of the first panel, an always-known one); self: its own first column.

    Args:
        table: without gaps.
        mechanism: one of `MECHANISMS`.
        missing_share: of the rows, in each panel that can be missing.
        panels: how many can be missing, at most; one panel always stays recorded where the table
            has no free column.

    Raises:
        ConfigError: the table has no column to cause gaps of this mechanism.
    """
    actions = list(table.actions)
    varies = [c for k, c in enumerate(table.columns) if _varies(table.values[:, k])]
    shown = {c for panel in actions for c in panel.columns}
    known = [c for c in varies if c not in shown]
    missable = actions[:panels]
    if not known and mechanism in ("mar", "mnar"):
        missable = actions[:-1][:panels]
        known = [c for c in actions[-1].columns if c in varies]
        if not known or not missable:
            raise ConfigError(
                f"a table of {len(actions)} panels has no column that is always known, so nothing "
                f"can cause gaps of the mechanism {mechanism!r}; name another table under "
                "afape.grid.datasets"
            )
    laws: dict[str, Any] = {}
    before: list[str] = []
    for k, panel in enumerate(missable):
        own = [c for c in panel.columns if c in varies]
        others = [c for c in before if c not in panel.columns]  # panels may share columns
        causes: dict[str, list[str]] = {
            "mcar": [], "mar": known[k % max(len(known), 1):], "mnar": others or known, "self": own,
        }  # fmt: skip
        weight = WEIGHT if k % 2 == 0 else -WEIGHT
        weights = dict.fromkeys(causes[mechanism][:1], weight)
        laws[panel.name] = {
            "intercept": _intercept(table, weights, missing_share), "values": weights,
        }  # fmt: skip
        before = own or before
    return {"source": "induced", "standardise": True, "complete_share": None, "panels": laws}


def _varies(values: Float[np.ndarray, " n"]) -> bool:
    """Whether no value holds nearly all rows, so that a draw of a few hundred shows several."""
    return bool(np.unique(values, return_counts=True)[1].max() <= COMMONEST * len(values))


def _intercept(table: Table, weights: Mapping[str, float], missing_share: float) -> float:
    """At which the panel is missing in that share of the rows."""
    logit = np.zeros(len(table))
    for column, weight in weights.items():
        values = table.values[:, table.columns.index(column)]
        logit += weight * fit_scaling(values, constant=0.0).standardise(values)
    from scipy.optimize import root_scalar  # a quarter of a second to import

    wanted = 1 - missing_share
    return float(root_scalar(lambda at: expit(at + logit).mean() - wanted, bracket=(-30, 30)).root)
