"""Nuisances of one seed: fitted to some records, and predicted for any others, block by block.

Only the models are kept between the two, so memory follows from the records that are
learned from and from a block. Knows no file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.set_probability import blocked_set_probability
from frugal.core.episodes import Policy, RowPolicy
from frugal.core.errors import MissingStateError
from frugal.core.world import World
from frugal.data.tables import panel_columns, panel_matrix
from frugal.judge.case import PARTS, Records, in_s
from frugal.learn.calibration import FitSums
from frugal.learn.nuisance_choice import FittedHead, fit_means, fit_probabilities
from frugal.studies.afape.pattern_law import Curve, FittedLaw, PatternLaw, fit_law

SEPARATE_STREAMS = (
    "means",
    "law",
    "patterns",
)  # streams of their own apart from that of the propensities


@dataclass(frozen=True, eq=False)
class Nuisances:
    """All regressions of one seed.

    Attributes:
        factors: panel → p(R_j = 1 | its causes).
        missingness: model of patterns, beyond the factors.
        afa: agent → p(R = 1 | X_adj, R̂, R_s = 1).
        means: agent → E[parts of the cost | X_adj, R = 1].
    """

    factors: Mapping[str, FittedHead]
    missingness: FittedLaw
    afa: Mapping[str, FittedHead]
    means: Mapping[str, FittedHead]

    @property
    def fits(self) -> dict[str, FittedHead]:
        """Every regression by its name."""
        elsewhere = self.missingness.models or {}
        return (
            {_factor_name(panel): fit for panel, fit in self.factors.items()}
            | {_elsewhere_name(panel): fit for panel, fit in elsewhere.items()}
            | {_afa_name(agent): fit for agent, fit in self.afa.items()}
            | {f"mean cost, {agent}": fit for agent, fit in self.means.items()}
        )


def fit_nuisances_of(
    records: Records,
    rule: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    rngs: Mapping[str, np.random.Generator],
) -> Nuisances:
    """Every panel's factor, every agent's propensity and means; all that is requested at once."""
    agents, factors = list(records.played), records.identification["factors"]
    heads = [records.factor_head(factor) for factor in factors]
    heads += [records.afa_head(agent) for agent in agents]
    means = [records.outcome_head(agent) for agent in agents]
    method = settings["method"]
    fitted = fit_probabilities(
        heads, rule=rule, method=method, settings=settings, rng=rngs["heads"]
    )
    fitted_means = fit_means(
        means, rule=rule, method=settings["outcome_method"], settings=settings, rng=rngs["means"]
    )
    missingness = fit_law(records, rule=rule, method=method, settings=settings, rng=rngs["law"])
    return Nuisances(
        dict(zip([factor["panel"] for factor in factors], fitted, strict=False)),
        missingness,
        dict(zip(agents, fitted[len(factors) :], strict=True)),
        dict(zip(agents, fitted_means, strict=True)),
    )


@dataclass(frozen=True, eq=False)
class NuisanceTables:
    """Results of fitting for some records: their tables, and curves of the quality of fit."""

    propensities: pd.DataFrame
    agents: pd.DataFrame
    curves: Mapping[str, Curve]


def nuisance_tables(
    nuisances: Nuisances,
    records: Records,
    policies: Mapping[str, Policy],
    fold: np.ndarray,
    rng: np.random.Generator,
) -> NuisanceTables:
    """Everything that is fitted, as tables of some rows.

    Args:
        nuisances: of the records' seed.
        records: of the rows.
        policies: by agent.
        fold: of each row. (n,)
        rng: of patterns that are drawn where they are too many to be listed.
    """
    factors = {
        factor["panel"]: nuisances.factors[factor["panel"]].predict(
            records.factor_head(factor).inputs, fold
        )
        for factor in records.identification["factors"]
    }
    missingness = nuisances.missingness.of(records, factors, fold)
    by_policy, afa, frames = {}, {}, []
    for agent in records.played:
        head, played = (
            records.afa_head(agent),
            panel_matrix(records.played[agent], "acquired", records.data),
        )
        predicted = nuisances.afa[agent].predict(head.inputs, fold)
        afa[agent] = np.where(_surely_complete(records, agent), 1.0, predicted)
        by_policy[agent], chance, lacks = _by_policy(missingness, policies[agent], played, rng)
        mean = nuisances.means[agent].predict(records.outcome_head(agent).inputs, fold)
        frames.append(
            pd.DataFrame(
                {
                    "agent": agent,
                    "row_id": records.data.row_id,
                    "afa_propensity": afa[agent],
                    "afa_propensity_policy": by_policy[agent],
                    "needed_propensity": chance,
                }
                | {"mean_cost": mean.sum(axis=1)}
                | {f"mean_{name}": mean[:, k] for k, name in enumerate(PARTS)}
                | _reading(policies[agent], records, played)
                | {"lacks": lacks}
            )
        )
    heads = {f["panel"]: records.factor_head(f) for f in records.identification["factors"]}
    event = (records.complete, records.s_observed)
    return NuisanceTables(
        _propensities(records, factors, missingness).assign(row_id=records.data.row_id),
        pd.concat(frames, ignore_index=True),
        {_factor_name(j): (p, heads[j].target, heads[j].usable) for j, p in factors.items()}
        | {_elsewhere_name(j): curve for j, curve in missingness.fitted.items()}
        | {_afa_name(agent): (p, *event) for agent, p in afa.items()}
        | {f"AFA by policy, {agent}": (p, *event) for agent, p in by_policy.items()},
    )


def _by_policy(
    missingness: PatternLaw, policy: Policy, played: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, str]:
    """p(R=1 | X_adj, X̂, R̂, R_s=1) by Bayes, its chance of the needed set, and the missing panels.

    The last is which state the policy's table lacks for it, as a sentence; else empty.
    """
    try:
        return *missingness.policy_propensity(policy, played, rng), ""
    except MissingStateError as lack:
        unknown = np.full(len(played), np.nan)
        return unknown, unknown, f"The policy's table {lack}"


def _factor_name(panel: str) -> str:
    return f"p(R={panel})"


def _elsewhere_name(panel: str) -> str:
    return f"p(R={panel}), a cause missing"


def _afa_name(agent: str) -> str:
    return f"AFA, {agent}"


def _reading(policy: Policy, records: Records, played: np.ndarray) -> dict[str, bool]:
    """Whether a policy reads values, and whether the paper's AFA propensity is enough for it.

    And whether missingness can affect it. That propensity is given X_adj and R̂ alone. It is
    enough where decisions depend on no column outside X_adj, and where R_s = 1 leaves nothing that
    could be missing (it is 1 there).
    """
    identified, data = records.identification, records.data
    outside = [name not in identified["adjustment_columns"] for name in data.columns]
    reads = policy.traits.columns_read(len(data.columns)) & outside
    is_complete = identified["s"] is not None and set(identified["missable_panels"]) <= set(
        identified["s"]
    )
    return {
        "reads_values": policy.traits.reads_values,
        "afa_propensity_suffices": is_complete or not reads.any(),
        "answers_rows": isinstance(policy, RowPolicy),
        "gaps_matter": _gaps_matter(policy, records, played),
    }


def _gaps_matter(policy: Policy, records: Records, played: np.ndarray) -> bool:
    """Whether a policy requests a panel that can be missing, in any of these rows.

    It does not where it acquires none, and its decisions would be as likely if nothing were
    missing.
    """
    names = [panel.name for panel in records.data.actions]
    missable = np.isin(names, records.identification["missable_panels"])
    if played[:, missable | ~records.observed.all(axis=0)].any():
        return True
    rows = np.flatnonzero(~records.complete)
    if not len(rows):
        return False
    world, observed = World.of_table(records.data).take(rows), records.observed[rows]
    try:
        done, undisturbed = (
            blocked_set_probability(policy, world, available=available, target=played[rows])
            for available in (observed, np.ones_like(observed))
        )
    except MissingStateError:
        return True
    return not np.allclose(done, undisturbed, rtol=1e-9, atol=0.0)


def _propensities(
    records: Records, by_panel: Mapping[str, np.ndarray], missingness: PatternLaw
) -> pd.DataFrame:
    """p(R=1|X_adj), p(R_s=1|X_adj), p(R=r|X_adj) and each panel's factor.  [afape, eq. A.6]"""
    complete = np.ones(len(records.observed))
    for probability in by_panel.values():
        complete = complete * probability
    names = panel_columns("factor", records.data)
    factors = [by_panel.get(p.name, np.ones(len(complete))) for p in records.data.actions]
    return pd.DataFrame(
        {
            "propensity": complete,
            "s_propensity": missingness.s_propensity(),
            "pattern_propensity": missingness.recorded(),
        }
        | dict(zip(names, factors, strict=True))
    )


def _surely_complete(records: Records, agent: str) -> np.ndarray:
    """Rows where acquired panels and s leave nothing to be missing: p(R=1|R̂, R_s=1) = 1."""
    names = [panel.name for panel in records.data.actions]
    missable = np.isin(names, [f["panel"] for f in records.identification["factors"]])
    acquired = panel_matrix(records.played[agent], "acquired", records.data)
    certain = acquired | in_s(records.identification, records.data) | ~missable
    return certain.all(axis=1) & records.s_observed


def nothing_fitted(records: Records, policies: Mapping[str, Policy]) -> NuisanceTables:
    """The same tables where the graph does not identify the propensity: NaN, and no curve."""
    names = ["propensity", "s_propensity", "pattern_propensity"]
    nan = dict.fromkeys([*names, *panel_columns("factor", records.data)], np.nan)
    fits = dict.fromkeys(
        ["afa_propensity", "afa_propensity_policy", "needed_propensity", "mean_cost"]
        + [f"mean_{n}" for n in PARTS],
        np.nan,
    )
    row_id = records.data.row_id
    per_agent = [
        pd.DataFrame(
            {"agent": agent, "row_id": row_id}
            | fits
            | _reading(policies[agent], records, panel_matrix(played, "acquired", records.data))
            | {"lacks": ""}
        )
        for agent, played in records.played.items()
    ]
    return NuisanceTables(
        pd.DataFrame({"row_id": row_id} | nan), pd.concat(per_agent, ignore_index=True), {}
    )


class Quality:
    """Calibration, log-loss and overlap of the fitted probabilities of one seed, on test rows.

    Args:
        bins: of calibration curves.
    """

    def __init__(self, bins: int) -> None:
        self._bins = bins
        self._sums: dict[str, FitSums] = {}

    def add(self, curves: Mapping[str, Curve]) -> None:
        """The next block; a probability counts on the rows that it serves."""
        for name, (probability, outcome, usable) in curves.items():
            rows = usable & np.isfinite(probability)
            sums = FitSums.of(probability[rows], outcome[rows], bins=self._bins)
            self._sums[name] = self._sums[name] + sums if name in self._sums else sums

    def tables(self, methods: Mapping[str, str]) -> dict[str, pd.DataFrame]:
        """Two tables; a probability that serves no row is left out, and the summary states why.

        Args:
            methods: of the regressions; derived models have none.
        """
        nothing = FitSums.of(np.empty(0), np.empty(0, dtype=bool), bins=self._bins)
        sums = {name: sums_of_fit for name, sums_of_fit in self._sums.items() if sums_of_fit.rows}
        calibration, overlap = [], []
        for name, sums_of_fit in (sums or {"": nothing}).items():
            about = {"nuisance": name, "method": methods.get(name, "")}
            calibration.append(sums_of_fit.calibration().assign(**about))
            n = max(sums_of_fit.rows, 1)
            overlap.append(
                about
                | {
                    "n": sums_of_fit.rows,
                    "log_loss": sums_of_fit.loss / n,
                    "minimum": sums_of_fit.minimum,
                }
                | {"share_below_1_percent": sums_of_fit.low / n}
            )
        return {
            "calibration": pd.concat(calibration, ignore_index=True),
            "overlap": pd.DataFrame(overlap).iloc[: len(sums)],
        }
