"""Inputs of estimators for one policy, missingness model and seed.

Knows the columns of stored tables; must not know an estimator.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.table import Table
from frugal.data.tables import panel_columns, panel_matrix
from frugal.learn.nuisance_choice import Head, MeanHead

PARTS = ["acquisition_cost", "misclassification_cost"]  # of the cost, whose mean is their sum


def in_s(identification: Mapping[str, Any], data: Table) -> np.ndarray:
    """True for the panels of s; none where no set works, which the estimators then report. (a,)"""
    return np.isin([panel.name for panel in data.actions], identification["s"] or ())


@dataclass(frozen=True, eq=False)
class Records:
    """The records of one seed, and each agent's decisions on them; n rows, nuisance and test.

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

        It is a numerator and may be as small as fitted: panels missing in R̂ may be certain to be
            missing in R.
        """
        acquired = panel_matrix(self.played[agent], "acquired", self.data).astype(np.float64)
        adjustment = self.known(self.identification["adjustment_columns"])
        inputs = np.hstack([adjustment, acquired])
        return Head(inputs, self.complete, self.s_observed, is_law=False)

    def outcome_head(self, agent: str) -> MeanHead:
        """E[parts of the cost | X_adj, R = 1], trained on complete cases."""
        adjustment = self.known(self.identification["adjustment_columns"])
        return MeanHead(adjustment, self.played[agent][PARTS].to_numpy(), self.complete)


COSTS = ["cost", *PARTS]  # the first outcomes; the others: was each panel acquired
# worlds of imputed copies
IMPUTATIONS = ("chained_trees", "missforest", "multiple", "multiple_label")
_BY_RECORDS = ("propensity", "s_propensity", "pattern_propensity")
_BY_AGENT = ("afa_propensity", "afa_propensity_policy", "needed_propensity")
_BY_RECORDED_SET = ("set_probability", "sequence_probability")


@dataclass(frozen=True, eq=False)
class Case:
    """All that is stored of one policy and seed on the n evaluation rows; o outcomes.

    Outcomes are the cost, its two parts, and for each panel 1 if it was acquired, else 0.

    Attributes:
        blocked: outcomes of the rollout on the records. (n, o)
        full: outcomes on the full table, None where it is unknown. (n, o)
        in_record_order: on the full table, the policy took the panels in the order in which
            records list them; None where it is unknown. (n,)
        recorded: outcomes at the records' own sets. (n, o)
        imputed: method → outcomes on each imputed copy. (draws, n, o)
        observed: R. (n, a)
        s_observed: R_s = 1. (n,)
        fitted: nuisances by column name, NaN where not evaluable. (n,) each
        panels: names of the panels, in the order of the columns of R.
        factors: fitted p(R_j = 1 | its causes) of each panel, 1 if it is never missing. (n, a)
        outcome_mean: fitted E[outcome | X_adj, R=1] of the first three outcomes. (n, 3)
        identification: as `draw_missingness` stored it.
        reads_values: decisions depend on values.
        afa_propensity_suffices: AFAIS as in the paper is exact for this policy, which reads no
            value outside X_adj.
        cluster: of each row, numbered from 0 on; None: each row is its own cluster. (n,)
        answers_rows: the policy is a table of states, which knows no values.
        lacks: which state it lacks for its AFA propensity, as a sentence; else empty.
        gaps_matter: False if the policy requests no panel that can be missing.
    """

    blocked: np.ndarray
    full: np.ndarray | None
    in_record_order: np.ndarray | None
    recorded: np.ndarray
    imputed: Mapping[str, np.ndarray]
    observed: np.ndarray
    s_observed: np.ndarray
    fitted: Mapping[str, np.ndarray]
    panels: Sequence[str]
    factors: np.ndarray
    outcome_mean: np.ndarray
    identification: Mapping[str, Any]
    reads_values: bool
    afa_propensity_suffices: bool
    cluster: np.ndarray | None = None
    answers_rows: bool = False
    lacks: str = ""
    gaps_matter: bool = True

    @property
    def complete(self) -> np.ndarray:
        """R = 1. (n,)"""
        return np.asarray(self.observed.all(axis=1))

    @property
    def needed(self) -> np.ndarray:
        """The panels that a row needs to carry weight: acquired on the record, and s. (n, a)"""
        return acquired_sets(self.blocked) | np.isin(self.panels, self.identification["s"] or ())

    @property
    def blocked_costs(self) -> np.ndarray:
        """Cost and its two parts of the rollout on the records. (n, 3)"""
        return self.blocked[:, : len(COSTS)]

    def without_gaps(self) -> "Case":
        """The case as of a table without the panels that can be missing.

        So it is for a policy that requests none of them: s is empty, each probability 1, each
        weight too.
        """
        sure = dict.fromkeys([*_BY_RECORDS, *_BY_AGENT], np.ones(len(self.observed)))
        return replace(
            self,
            observed=np.ones_like(self.observed),
            s_observed=np.ones_like(self.s_observed),
            fitted={**self.fitted, **sure},
            factors=np.ones_like(self.factors),
            identification={**self.identification, "s": (), "propensity_identified": True},
            lacks="",
        )


def acquired_sets(outcomes: np.ndarray) -> np.ndarray:
    """The panels that were acquired, from outcomes. (n, a)"""
    return outcomes[:, len(COSTS) :].astype(bool)


def build_case(
    data: Table,
    *,
    masks: pd.DataFrame,
    identification: Mapping[str, Any],
    blocked: pd.DataFrame,
    worlds: pd.DataFrame,
    propensities: pd.DataFrame,
    agents: pd.DataFrame,
    cluster: np.ndarray | None = None,
) -> Case:
    """Arrays of one policy and seed, all in the order of the evaluation rows.

    Args:
        data: the evaluation rows.
        masks: of these rows and this seed, as `draw_missingness` stored them.
        identification: as `draw_missingness` stored it.
        blocked: episodes of the policy on the records, of these rows and this seed.
        worlds: its episodes elsewhere, of this seed.
        propensities: of these rows and this seed, as `fit_nuisances` stored them.
        agents: the same of models fitted to the policy.
        cluster: of each evaluation row; None: each row is its own cluster.
    """
    full, recorded = (worlds[worlds["world"] == name] for name in ("full", "retrospective"))
    lists = [masks, propensities, agents, blocked, recorded, *([full] if len(full) else [])]
    assert all(np.array_equal(frame["row_id"], data.row_id) for frame in lists), "bug: row order"
    observed = panel_matrix(masks, "observed", data)
    factors = propensities[panel_columns("factor", data)].to_numpy()
    return Case(
        blocked=_outcomes(blocked, data),
        full=_outcomes(full, data) if len(full) else None,
        in_record_order=full["in_record_order"].to_numpy() if len(full) else None,
        recorded=_outcomes(recorded, data),
        imputed=_imputed(worlds, data),
        observed=observed,
        s_observed=np.asarray(observed[:, in_s(identification, data)].all(axis=1)),
        fitted=_probabilities(masks, blocked, recorded, propensities, agents),
        panels=[panel.name for panel in data.actions],
        factors=factors,
        outcome_mean=agents[[f"mean_{name}" for name in COSTS]].to_numpy(),
        identification=identification,
        reads_values=bool(agents["reads_values"].iloc[0]),
        afa_propensity_suffices=bool(agents["afa_propensity_suffices"].iloc[0]),
        cluster=cluster,
        answers_rows=bool(agents["answers_rows"].iloc[0]),
        lacks=str(agents["lacks"].iloc[0]),
        gaps_matter=bool(agents["gaps_matter"].iloc[0]),
    )


def _outcomes(frame: pd.DataFrame, data: Table) -> np.ndarray:
    return frame[[*COSTS, *panel_columns("acquired", data)]].to_numpy(dtype=np.float64)


def _imputed(worlds: pd.DataFrame, data: Table) -> dict[str, np.ndarray]:
    """Outcomes on imputed copies, of each method that the study ran. (draws, n, o)"""
    copies = worlds[worlds["world"].isin(IMPUTATIONS)]
    return {
        str(method): (outcomes := _outcomes(frame, data)).reshape(-1, len(data), outcomes.shape[1])
        for method, frame in copies.groupby("world", sort=False, observed=True)
    }


def _probabilities(
    masks: pd.DataFrame,
    blocked: pd.DataFrame,
    recorded: pd.DataFrame,
    propensities: pd.DataFrame,
    agents: pd.DataFrame,
) -> dict[str, np.ndarray]:
    """Fitted and true probabilities of each row by their stored names; NaN if not known. (n,)"""
    is_known = "complete_probability" in masks  # the law that the masks were drawn from
    return {
        **{name: propensities[name].to_numpy() for name in _BY_RECORDS},
        **{name: agents[name].to_numpy() for name in _BY_AGENT},
        **{name: recorded[name].to_numpy() for name in _BY_RECORDED_SET},
        "true_afa_propensity": blocked["true_afa_propensity"].to_numpy(),
        "complete_probability": masks["complete_probability"].to_numpy()
        if is_known
        else np.full(len(masks), np.nan),
    }
