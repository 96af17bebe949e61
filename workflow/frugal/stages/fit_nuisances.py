"""Stage `fit_nuisances`: propensities, AFA propensities and outcome means, per row (A.5–A.7, A.11).

All regressions of a seed, over agents and folds, are handed down at once, so that networks train in
lock-step.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from frugal.agents.registry import build_policy
from frugal.contracts import Policy, Streams, Table
from frugal.data.tables import table_from_frames
from frugal.environments.set_probability import true_afa_propensity
from frugal.missingness.law import factorised_patterns
from frugal.models.nuisance import (
    Head,
    MeanHead,
    calibration_table,
    cross_fit,
    cross_fit_means,
    log_loss,
    separate_fit,
    separate_fit_means,
)
from frugal.stages._frames import EVALUATED, by_seed, in_s, panel_matrix

PARTS = ["acquisition_cost", "misclassification_cost"]  # of the cost, whose mean is their sum


def fit_nuisances(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame,
    graph: Mapping[str, Any],
    identification: Mapping[str, Any],
    blocked: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    **policies: Mapping[str, np.ndarray],
) -> dict[str, pd.DataFrame]:
    """Fit on the part `nuisance` where the data set has one, else cross-fit on the test rows.

    `policies` are the trained agents' arrays, in the order of `settings["trained"]`.
    """
    data, part = table_from_frames(table, catalogue)
    separate = bool((part == "nuisance").any())
    rows = np.flatnonzero(np.isin(part, EVALUATED) if separate else part == "test")
    data, test = data.take(rows), part[rows] == "test"
    blocked = blocked[blocked["row_id"].isin(data.row_id)]
    stored = dict(zip(settings["trained"], policies.values(), strict=True))
    built = {
        agent: build_policy(chosen, table=data, stored=stored.get(agent))
        for agent, chosen in settings["agents"].items()
    }
    found: dict[str, list[pd.DataFrame]] = {}
    for seed, mask in progress(list(by_seed(masks, rows)), desc="seeds"):
        rng = streams.generator("nuisance", seed)
        fold = rng.permutation(len(data)) % settings["folds"]
        rule = {"train": ~test, "predict": test} if separate else {"fold": fold}
        records = Records(
            data,
            panel_matrix(mask, "observed", data),
            identification,
            {panel: set(law["indicators"]) for panel, law in graph["indicators"].items()},
            dict(list(blocked[blocked["seed"] == seed].groupby("agent", sort=False))),
        )
        for name, frame in _fit_seed(records, built, test, rule, settings, rng).items():
            found.setdefault(name, []).append(frame.assign(seed=seed))
    return {name: pd.concat(parts, ignore_index=True) for name, parts in found.items()}


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
        recorded = self.data.columns_observed(self.observed)[:, index]
        return np.where(recorded, self.data.values[:, index], np.nan)

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
        """p(R = 1 | X_adj, R̂, R_s = 1), trained where R_s = 1.  [afape, eq. A.9]"""
        acquired = panel_matrix(self.played[agent], "acquired", self.data).astype(np.float64)
        adjustment = self.known(self.identification["adjustment_columns"])
        return Head(np.hstack([adjustment, acquired]), self.complete, self.s_observed)

    def outcome_head(self, agent: str) -> MeanHead:
        """E[parts of the cost | X_adj, R = 1], trained on complete cases."""
        adjustment = self.known(self.identification["adjustment_columns"])
        return MeanHead(adjustment, self.played[agent][PARTS].to_numpy(), self.complete)


def _fit_seed(
    records: Records,
    policies: Mapping[str, Policy],
    test: np.ndarray,
    rule: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> dict[str, pd.DataFrame]:
    """Everything that is fitted for one seed, as tables of its test rows."""
    agents = list(records.played)
    row_id = records.data.row_id[test]
    if not records.identification["propensity_identified"]:
        return _nothing_fitted(agents, row_id)
    fitted = _fit_heads(records, rule, settings, rng)
    by_panel, by_policy, frames = fitted.by_panel, {}, []
    for agent in agents:
        by_policy[agent] = _policy_propensity(records, by_panel, policies[agent], agent)
        mean = fitted.means[agent][test]
        frames.append(
            pd.DataFrame(
                {
                    "agent": agent,
                    "row_id": row_id,
                    "afa_propensity": fitted.afa[agent][test],
                    "afa_propensity_policy": by_policy[agent][test],
                }
                | {"mean_cost": mean.sum(axis=1)}
                | {f"mean_{name}": mean[:, k] for k, name in enumerate(PARTS)}
            )
        )
    return {
        "propensities": _propensities(records, by_panel).loc[test].assign(row_id=row_id),
        "agents": pd.concat(frames, ignore_index=True),
        **_diagnostics(_curves(records, fitted, by_policy), test, settings["bins"]),
    }


@dataclass(frozen=True, eq=False)
class _Fitted:
    """Fitted values of one seed, per row: by panel, and by agent."""

    by_panel: Mapping[str, np.ndarray]
    afa: Mapping[str, np.ndarray]
    means: Mapping[str, np.ndarray]


def _fit_heads(
    records: Records,
    rule: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> _Fitted:
    """All regressions of one seed: every panel's factor, every agent's propensity and means."""
    agents, factors = list(records.played), records.identification["factors"]
    heads = [records.factor_head(factor) for factor in factors]
    heads += [records.afa_head(agent) for agent in agents]
    method, outcome_method = settings["method"], settings["outcome_method"]
    fit = partial(cross_fit if "fold" in rule else separate_fit, **rule)
    fitted = fit(heads, method=method, settings=settings[method], rng=rng)
    fit_means = partial(cross_fit_means if "fold" in rule else separate_fit_means, **rule)
    means = fit_means(
        [records.outcome_head(agent) for agent in agents],
        method=outcome_method,
        settings=settings[outcome_method],
        rng=rng,
    )
    of_panels, of_agents = fitted[: len(factors)], fitted[len(factors) :]
    return _Fitted(
        {factor["panel"]: p for factor, p in zip(factors, of_panels, strict=True)},
        {
            agent: np.where(_surely_complete(records, agent), 1.0, p)
            for agent, p in zip(agents, of_agents, strict=True)
        },
        dict(zip(agents, means, strict=True)),
    )


def _curves(
    records: Records, fitted: _Fitted, by_policy: Mapping[str, np.ndarray]
) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Name of each fitted probability → its values, its event, and the rows that it serves."""
    known = {f["panel"]: records.factor_head(f) for f in records.identification["factors"]}
    event = (records.complete, records.s_observed)
    return (
        {f"p(R={j})": (p, known[j].target, known[j].usable) for j, p in fitted.by_panel.items()}
        | {f"AFA, {agent}": (p, *event) for agent, p in fitted.afa.items()}
        | {f"AFA by policy, {agent}": (p, *event) for agent, p in by_policy.items()}
    )


def _propensities(records: Records, by_panel: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """p(R=1|X_adj), p(R_s=1|X_adj) and p(R=r|X_adj), as products along the graph.  [afape, eq. A.6]

    The factors condition on parent indicators being 1; so a product over a part of the panels, or
    with some R_j = 0, is the law of that part only where no R → R edge comes in from outside it.
    """
    n = len(records.observed)
    in_subset = set(records.identification["s"])
    closed = all(records.parents[panel] <= in_subset for panel in in_subset & set(by_panel))
    edgeless = not any(records.parents.values())
    complete, subset, pattern = np.ones(n), np.ones(n), np.ones(n)
    for panel, probability in by_panel.items():
        complete = complete * probability
        if panel in in_subset:
            subset = subset * probability
        observed = records.indicator(panel)
        pattern = pattern * np.where(observed, probability, 1.0 - probability)
    return pd.DataFrame(
        {
            "propensity": complete,
            "s_propensity": subset if closed else np.nan,
            "pattern_propensity": pattern if edgeless else np.nan,
        }
    )


def _policy_propensity(
    records: Records, by_panel: Mapping[str, np.ndarray], policy: Policy, agent: str
) -> np.ndarray:
    """p(R=1 | X_adj, X̂, R̂, R_s=1) by Bayes from the fitted factors and the known policy. (n,)

    Differs from the paper: there it is a regression of its own, so that numerator and denominator
    of the weight come from two fits that need not agree (for a policy that never acquires they are
    the same quantity), and it does not know the values that the policy saw. NaN where R_s = 0, and
    everywhere where indicators cause each other, since the factors then are no law of patterns.
    """
    result = np.full(len(records.observed), np.nan)
    if any(records.parents.values()):
        return result
    names = [panel.name for panel in records.data.actions]
    missable = [names.index(panel) for panel in by_panel]
    patterns = np.ones((2 ** len(missable), len(names)), dtype=bool)
    patterns[:, missable] = list(itertools.product((True, False), repeat=len(missable)))
    subset = in_s(records.identification, records.data)
    patterns = patterns[patterns[:, subset].all(axis=1)]
    factors = np.column_stack([*by_panel.values(), np.ones(len(result))])
    rows = np.flatnonzero(records.s_observed & np.isfinite(factors).all(axis=1))
    result[rows] = true_afa_propensity(
        policy,
        records.data.values[rows],
        free_columns=records.data.free_columns,
        provides=records.data.provides,
        target=panel_matrix(records.played[agent], "acquired", records.data)[rows],
        patterns=patterns,
        pattern_probability=factorised_patterns(factors[rows, :-1], patterns[:, missable]),
        s=subset,
    )
    return result


def _surely_complete(records: Records, agent: str) -> np.ndarray:
    """Rows where acquired panels and s leave nothing that could be missing: p(R=1|R̂, R_s=1) = 1."""
    names = [panel.name for panel in records.data.actions]
    missable = np.isin(names, [f["panel"] for f in records.identification["factors"]])
    acquired = panel_matrix(records.played[agent], "acquired", records.data)
    known = acquired | in_s(records.identification, records.data) | ~missable
    return known.all(axis=1) & records.s_observed


def _diagnostics(
    curves: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]], test: np.ndarray, bins: int
) -> dict[str, pd.DataFrame]:
    """Calibration, log-loss and overlap of each fitted probability on test rows that it serves."""
    calibration, overlap = [], []
    for name, (probability, outcome, usable) in curves.items():
        rows = test & usable & np.isfinite(probability)
        if not rows.any():  # nothing to judge: the summary says why it could not be evaluated
            continue
        held, event = probability[rows], outcome[rows]
        calibration.append(calibration_table(held, event, bins=bins).assign(nuisance=name))
        overlap.append(
            {
                "nuisance": name,
                "n": len(held),
                "log_loss": log_loss(held, event),
                "minimum": held.min(),
                "share_below_1_percent": (held < 0.01).mean(),
            }
        )
    if not calibration:
        return _no_diagnostics()
    return {
        "calibration": pd.concat(calibration, ignore_index=True),
        "overlap": pd.DataFrame(overlap),
    }


def _no_diagnostics() -> dict[str, pd.DataFrame]:
    """The same two tables without a row."""
    curve = {"nuisance": "", "bin": 0, "mean_probability": 0.0, "rate": 0.0, "n": 0}
    spread = {"nuisance": "", "n": 0, "log_loss": 0.0, "minimum": 0.0, "share_below_1_percent": 0.0}
    return {
        "calibration": pd.DataFrame([curve]).iloc[:0],
        "overlap": pd.DataFrame([spread]).iloc[:0],
    }


def _nothing_fitted(agents: list[str], row_id: np.ndarray) -> dict[str, pd.DataFrame]:
    """The same tables where the graph does not identify the propensity: NaN, and no diagnostics."""
    nan = dict.fromkeys(["propensity", "s_propensity", "pattern_propensity"], np.nan)
    fits = dict.fromkeys(
        ["afa_propensity", "afa_propensity_policy", "mean_cost", *(f"mean_{n}" for n in PARTS)],
        np.nan,
    )
    per_agent = [pd.DataFrame({"agent": a, "row_id": row_id} | fits) for a in agents]
    return {
        "propensities": pd.DataFrame({"row_id": row_id} | nan),
        "agents": pd.concat(per_agent, ignore_index=True),
        **_no_diagnostics(),
    }
