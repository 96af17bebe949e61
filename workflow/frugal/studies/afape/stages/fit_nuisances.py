"""Stage `fit_nuisances`: propensities, AFA propensities and outcome means, per row (A.5–A.7, A.11).

All regressions of a seed, over agents and folds, are handed down at once, so that networks train in
lock-step.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.registry import build_policy
from frugal.acquire.rollouts import columns_read, reads_values
from frugal.core.belonging import random_folds
from frugal.core.episodes import Policy, RowPolicy
from frugal.core.errors import MissingStateError
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.data.panel_columns import panel_columns, panel_matrix
from frugal.data.tables import belonging_from_frames, table_from_frames
from frugal.judge.pattern_law import Curve, PatternLaw, fit_pattern_law
from frugal.judge.records import PARTS, Records, in_s
from frugal.learn.nuisance import calibration_table, log_loss
from frugal.learn.nuisance_choice import Fitted, fit_means, fit_probabilities
from frugal.studies.afape.laws import require_law
from frugal.studies.shared.frames import EVALUATED, by_seed


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
    **policies: StoredArrays | Path | pd.DataFrame,
) -> dict[str, pd.DataFrame]:
    """Fit on the part `nuisance` where the data set has one, else cross-fit on the test rows.

    `policies` are the files of agents that act by one, in the order of `settings["filed"]`.
    """
    data, part = table_from_frames(table, catalogue)
    require_law(graph, identification, masks, data)
    separate = bool((part == "nuisance").any())
    rows = np.flatnonzero(np.isin(part, EVALUATED) if separate else part == "test")
    data, test = data.take(rows), part[rows] == "test"
    cluster = belonging_from_frames(table, catalogue).take(rows).cluster
    blocked = blocked[blocked["row_id"].isin(data.row_id)]
    stored = dict(zip(settings["filed"], policies.values(), strict=True))
    built = {
        agent: build_policy(chosen, table=data, stored=stored.get(agent))
        for agent, chosen in settings["agents"].items()
    }
    found: dict[str, list[pd.DataFrame]] = {}
    for seed, mask in progress(list(by_seed(masks, rows)), desc="seeds"):
        rng = streams.generator("nuisance", seed)
        fold = random_folds(cluster, len(data), settings["folds"], rng)
        rule = {"fold": fold} | ({"train": ~test, "predict": test} if separate else {})
        records = Records(
            data,
            panel_matrix(mask, "observed", data),
            identification,
            {panel: set(law["indicators"]) for panel, law in graph["indicators"].items()},
            dict(list(blocked[blocked["seed"] == seed].groupby("agent", sort=False))),
        )
        # each of its own, so that one agent's means do not depend on how many stand beside it
        own = ("means", "law", "patterns")
        rngs = {"heads": rng} | {what: streams.generator(what, seed) for what in own}
        for name, frame in _fit_seed(records, built, test, rule, settings, rngs).items():
            found.setdefault(name, []).append(frame.assign(seed=seed))
    return {name: pd.concat(parts, ignore_index=True) for name, parts in found.items()}


def _fit_seed(
    records: Records,
    policies: Mapping[str, Policy],
    test: np.ndarray,
    rule: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    rngs: Mapping[str, np.random.Generator],
) -> dict[str, pd.DataFrame]:
    """Everything that is fitted for one seed, as tables of its test rows."""
    agents = list(records.played)
    row_id = records.data.row_id[test]
    if not records.identification["propensity_identified"]:
        return _nothing_fitted(records, policies, row_id)
    fitted, fits = _fit_heads(records, rule, settings, rngs)
    by_policy, frames = {}, []
    for agent in agents:
        played = panel_matrix(records.played[agent], "acquired", records.data)
        by_policy[agent], chance, lacks = _by_policy(
            fitted.law, policies[agent], played, rngs["patterns"]
        )
        mean = fitted.means[agent][test]
        frames.append(
            pd.DataFrame(
                {
                    "agent": agent,
                    "row_id": row_id,
                    "afa_propensity": fitted.afa[agent][test],
                    "afa_propensity_policy": by_policy[agent][test],
                    "needed_propensity": chance[test],
                }
                | {"mean_cost": mean.sum(axis=1)}
                | {f"mean_{name}": mean[:, k] for k, name in enumerate(PARTS)}
                | _reading(policies[agent], records)
                | {"lacks": lacks}
            )
        )
    return {
        "propensities": _propensities(records, fitted).loc[test].assign(row_id=row_id),
        "agents": pd.concat(frames, ignore_index=True),
        **_diagnostics(_curves(records, fitted, by_policy), fits, test, settings["bins"]),
        "losses": _losses(fits),
    }


def _by_policy(
    law: PatternLaw, policy: Policy, played: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, str]:
    """p(R=1 | X_adj, X̂, R̂, R_s=1) by Bayes, its chance of the needed set, and what is lacking.

    The last is which state the policy's table lacks for it, as a sentence; else empty.
    """
    try:
        return *law.policy_propensity(policy, played, rng), ""
    except MissingStateError as lack:
        unknown = np.full(len(played), np.nan)
        return unknown, unknown, f"The policy's table {lack}"


@dataclass(frozen=True, eq=False)
class _Fitted:
    """Fitted values of one seed, per row: by panel, and by agent."""

    by_panel: Mapping[str, np.ndarray]
    law: PatternLaw
    afa: Mapping[str, np.ndarray]
    means: Mapping[str, np.ndarray]


def _fit_heads(
    records: Records,
    rule: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    rngs: Mapping[str, np.random.Generator],
) -> tuple[_Fitted, dict[str, Fitted]]:
    """All regressions of one seed: every panel's factor, every agent's propensity and means.

    Fitted values by panel and agent, and every regression by its name, with its losses.
    """
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
    by_panel = dict(zip([factor["panel"] for factor in factors], fitted, strict=False))
    by_agent = dict(zip(agents, fitted[len(factors) :], strict=True))
    probabilities = {panel: one.values for panel, one in by_panel.items()}
    law = fit_pattern_law(
        records, probabilities, rule=rule, method=method, settings=settings, rng=rngs["law"]
    )
    afa = {
        agent: np.where(_surely_complete(records, agent), 1.0, one.values)
        for agent, one in by_agent.items()
    }
    of_means = dict(zip(agents, fitted_means, strict=True))
    fits = (
        {_factor_name(panel): one for panel, one in by_panel.items()}
        | {_elsewhere_name(panel): one for panel, one in law.fits.items()}
        | {_afa_name(agent): one for agent, one in by_agent.items()}
        | {f"mean cost, {agent}": one for agent, one in of_means.items()}
    )
    values = {agent: one.values for agent, one in of_means.items()}
    return _Fitted(probabilities, law, afa, values), fits


def _factor_name(panel: str) -> str:
    return f"p(R={panel})"


def _elsewhere_name(panel: str) -> str:
    return f"p(R={panel}), a cause missing"


def _afa_name(agent: str) -> str:
    return f"AFA, {agent}"


def _losses(fits: Mapping[str, Fitted]) -> pd.DataFrame:
    """Cross-fitted loss of every method that was tried for a regression, and which was taken."""
    rows = [
        {
            "nuisance": name,
            "method": method,
            "loss": loss,
            "n": fit.rows,
            "taken": method == fit.method,
        }
        for name, fit in fits.items()
        for method, loss in fit.losses.items()
    ]
    columns = {"nuisance": "", "method": "", "loss": 0.0, "n": 0, "taken": False}
    return pd.DataFrame(rows) if rows else pd.DataFrame([columns]).iloc[:0]


def _reading(policy: Policy, records: Records) -> dict[str, bool]:
    """Whether a policy reads values, and whether the paper's AFA propensity is enough for it.

    That propensity is given X_adj and R̂ alone. It is enough where decisions depend on no column
    outside X_adj, and where R_s = 1 leaves nothing that could be missing (it is 1 there).
    """
    known, data = records.identification, records.data
    outside = [name not in known["adjustment_columns"] for name in data.columns]
    reads = columns_read(policy, len(data.columns)) & outside
    is_complete = known["s"] is not None and set(known["missable_panels"]) <= set(known["s"])
    return {
        "reads_values": reads_values(policy),
        "afa_propensity_suffices": is_complete or not reads.any(),
        "answers_rows": isinstance(policy, RowPolicy),
    }


def _propensities(records: Records, fitted: _Fitted) -> pd.DataFrame:
    """p(R=1|X_adj), p(R_s=1|X_adj), p(R=r|X_adj) and each panel's factor.  [afape, eq. A.6]"""
    complete = np.ones(len(records.observed))
    for probability in fitted.by_panel.values():
        complete = complete * probability
    names = panel_columns("factor", records.data)
    factors = [fitted.by_panel.get(p.name, np.ones(len(complete))) for p in records.data.actions]
    return pd.DataFrame(
        {
            "propensity": complete,
            "s_propensity": fitted.law.s_propensity(),
            "pattern_propensity": fitted.law.recorded(),
        }
        | dict(zip(names, factors, strict=True))
    )


def _curves(
    records: Records, fitted: _Fitted, by_policy: Mapping[str, np.ndarray]
) -> dict[str, Curve]:
    """Name of each fitted probability → its values, its event, and the rows that it serves."""
    known = {f["panel"]: records.factor_head(f) for f in records.identification["factors"]}
    event = (records.complete, records.s_observed)
    return (
        {_factor_name(j): (p, known[j].target, known[j].usable) for j, p in fitted.by_panel.items()}
        | {_elsewhere_name(j): curve for j, curve in fitted.law.fitted.items()}
        | {_afa_name(agent): (p, *event) for agent, p in fitted.afa.items()}
        | {f"AFA by policy, {agent}": (p, *event) for agent, p in by_policy.items()}
    )


def _surely_complete(records: Records, agent: str) -> np.ndarray:
    """Rows where acquired panels and s leave nothing that could be missing: p(R=1|R̂, R_s=1) = 1."""
    names = [panel.name for panel in records.data.actions]
    missable = np.isin(names, [f["panel"] for f in records.identification["factors"]])
    acquired = panel_matrix(records.played[agent], "acquired", records.data)
    known = acquired | in_s(records.identification, records.data) | ~missable
    return known.all(axis=1) & records.s_observed


def _diagnostics(
    curves: Mapping[str, Curve], fits: Mapping[str, Fitted], test: np.ndarray, bins: int
) -> dict[str, pd.DataFrame]:
    """Calibration, log-loss and overlap of each fitted probability on test rows that it serves.

    Its method is empty where it follows from others.
    """
    calibration, overlap = [], []
    for name, (probability, outcome, usable) in curves.items():
        rows = test & usable & np.isfinite(probability)
        if not rows.any():  # nothing to judge: the summary says why it could not be evaluated
            continue
        held, event = probability[rows], outcome[rows]
        method = fits[name].method if name in fits else ""
        table = calibration_table(held, event, bins=bins)
        calibration.append(table.assign(nuisance=name, method=method))
        overlap.append(
            {
                "nuisance": name,
                "method": method,
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
    name = {"nuisance": "", "method": ""}
    curve = name | {"bin": 0, "mean_probability": 0.0, "rate": 0.0, "n": 0}
    spread = name | {"n": 0, "log_loss": 0.0, "minimum": 0.0, "share_below_1_percent": 0.0}
    return {
        "calibration": pd.DataFrame([curve]).iloc[:0],
        "overlap": pd.DataFrame([spread]).iloc[:0],
    }


def _nothing_fitted(
    records: Records, policies: Mapping[str, Policy], row_id: np.ndarray
) -> dict[str, pd.DataFrame]:
    """The same tables where the graph does not identify the propensity: NaN, and no diagnostics."""
    names = ["propensity", "s_propensity", "pattern_propensity"]
    nan = dict.fromkeys([*names, *panel_columns("factor", records.data)], np.nan)
    fits = dict.fromkeys(
        ["afa_propensity", "afa_propensity_policy", "needed_propensity", "mean_cost"]
        + [f"mean_{n}" for n in PARTS],
        np.nan,
    )
    per_agent = [
        pd.DataFrame(
            {"agent": a, "row_id": row_id} | fits | _reading(policies[a], records) | {"lacks": ""}
        )
        for a in records.played
    ]
    return {
        "propensities": pd.DataFrame({"row_id": row_id} | nan),
        "agents": pd.concat(per_agent, ignore_index=True),
        **_no_diagnostics(),
        "losses": _losses({}),
    }
