"""The records of one seed as arrays, and the regressions that the graph asks of them (A.6–A.9)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.table import Table
from frugal.data.panel_columns import panel_matrix
from frugal.learn.heads import Head, MeanHead

PARTS = ["acquisition_cost", "misclassification_cost"]  # of the cost, whose mean is their sum


def in_s(identification: Mapping[str, Any], data: Table) -> np.ndarray:
    """True for the panels of s; none where no set works, which the estimators then say. (a,)"""
    return np.isin([panel.name for panel in data.actions], identification["s"] or ())


@dataclass(frozen=True, eq=False)
class Records:
    """The records of one seed, and what each agent did on them; n rows, nuisance and test.

    Attributes:
        data: the rows.
        observed: R. (n, a)
        identification: as `draw_missingness` stored it.
        parents: panel that can be missing → panels whose indicators cause its own.
        played: agent → its blocked episodes, in the order of the rows.
    """

    data: Table
    observed: np.ndarray
    identification: Mapping[str, Any]
    parents: Mapping[str, set[str]]
    played: Mapping[str, pd.DataFrame]

    @property
    def complete(self) -> np.ndarray:
        """R = 1. (n,)"""
        return np.asarray(self.observed.all(axis=1))

    @property
    def s_observed(self) -> np.ndarray:
        """R_s = 1. (n,)"""
        return np.asarray(self.observed[:, in_s(self.identification, self.data)].all(axis=1))

    def known(self, columns: list[str]) -> np.ndarray:
        """The named columns as the records have them: NaN where not recorded. (n, w)"""
        index = [self.data.columns.index(name) for name in columns]
        return np.where(self._recorded[:, index], self.data.values[:, index], np.nan)

    @cached_property
    def _recorded(self) -> np.ndarray:
        """Columns that each record holds. (n, d)"""
        return self.data.columns_observed(self.observed)

    def indicator(self, panel: str) -> np.ndarray:
        """R_j of one panel. (n,)"""
        return self.observed[:, [p.name for p in self.data.actions].index(panel)]

    def factor_head(self, factor: Mapping[str, Any]) -> Head:
        """p(R_j = 1 | its causes), trained where its causes are recorded.  [afape, eq. A.6]"""
        inputs = self.known(factor["columns"])
        usable = np.asarray(np.isfinite(inputs).all(axis=1))
        for panel in factor["condition_panels"]:
            usable &= self.indicator(panel)
        return Head(inputs, self.indicator(factor["panel"]), usable)

    def afa_head(self, agent: str) -> Head:
        """p(R = 1 | X_adj, R̂, R_s = 1), trained where R_s = 1.  [afape, eq. A.9]

        It is a numerator and may be as small as the fit says: what R̂ lacks, R may lack for sure.
        """
        acquired = panel_matrix(self.played[agent], "acquired", self.data).astype(np.float64)
        adjustment = self.known(self.identification["adjustment_columns"])
        inputs = np.hstack([adjustment, acquired])
        return Head(inputs, self.complete, self.s_observed, is_law=False)

    def outcome_head(self, agent: str) -> MeanHead:
        """E[parts of the cost | X_adj, R = 1], trained on complete cases."""
        adjustment = self.known(self.identification["adjustment_columns"])
        return MeanHead(adjustment, self.played[agent][PARTS].to_numpy(), self.complete)
