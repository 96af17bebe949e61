"""Stage `estimate_costs`: every estimator on the same stored rollouts, with intervals, warnings."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.belonging import Belonging
from frugal.core.errors import DataError
from frugal.core.partitions import Partitions
from frugal.core.state_codes import distinct_sets
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.terms import Terms
from frugal.data.tables import belonging_from_frames, table_from_frames
from frugal.judge.by_group import by_group, no_groups, ratios
from frugal.judge.case import COSTS, Case, acquired_sets, build_case
from frugal.judge.comparisons import InfluenceStore
from frugal.judge.convergence import prefix_estimates
from frugal.judge.cost_intervals import (
    CostRange,
    cost_interval,
    cost_range,
    range_findings,
    unseen_errors,
)
from frugal.judge.estimator import Estimator, Need
from frugal.judge.intervals import estimate, standard_error, together
from frugal.judge.nuisance_fit import NuisanceFit
from frugal.judge.obstacles import LEAST_MASS, obstacle
from frugal.judge.positivity import (
    Finding,
    balance_findings,
    policy_findings,
    propensity_findings,
    resample_findings,
    support_findings,
)
from frugal.judge.registry import ESTIMATORS, READ
from frugal.judge.resampling import full_sample_interval, resample, stack_terms
from frugal.judge.rubin import rubin
from frugal.judge.summary import summarise
from frugal.judge.views import Seen, compare_views
from frugal.studies.afape.hidden_causes import Shifted, tipping
from frugal.studies.afape.laws import require_law
from frugal.studies.afape.pairs import keep, pairs

LEVEL = 0.95  # of every interval; part of the column names' meaning
OWN_TRUTH = ("frequencies", "groups")  # tables to which the true cost says nothing
INTERVALS = (("ci_low", "ci_high"), ("resample_low", "resample_high"))


def estimate_costs(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame,
    graph: Mapping[str, Any],
    identification: Mapping[str, Any],
    blocked: Partitions,
    worlds: Partitions,
    propensities: pd.DataFrame,
    agents: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """Judge every policy by every estimator, for every seed."""
    whole, part = table_from_frames(table, catalogue)
    require_law(graph, identification, masks, whole)
    rows = np.flatnonzero(part == "test")
    data, belonging = whole.take(rows), belonging_from_frames(table, catalogue).take(rows)
    scenario = {"masks": masks[masks["row_id"].isin(data.row_id)], "propensities": propensities}
    found: dict[str, list[pd.DataFrame]] = {}
    with InfluenceStore() as kept:
        for agent in progress(blocked.values("agent"), desc="agents"):
            acted = blocked.table("agent", agent)
            stored = scenario | {
                "blocked": acted[acted["row_id"].isin(data.row_id)],
                "worlds": worlds.table("agent", agent),
                "agents": agents[agents["agent"] == agent],
            }
            # each agent's draws are its own, whoever is judged beside it
            own = replace(streams, wildcards={**streams.wildcards, "agent": agent})
            judged, seen = _judge_agent(
                data, belonging, identification, stored, settings, own, kept,
                fitted_apart=int((part == "nuisance").sum()),
            )  # fmt: skip
            judged["efficiency"] = compare_views(whole, rows, graph, seen, identification, settings)
            for name, frame in judged.items():
                frame.insert(0, "agent", agent)
                found.setdefault(name, []).append(frame)
        tables = {name: pd.concat(frames, ignore_index=True) for name, frames in found.items()}
        if "groups" not in tables:
            tables["groups"] = no_groups().assign(agent="", seed=0, estimator="")
        tables["comparisons"] = pairs(tables["estimates"], kept, streams)
        tables["tipping"] = tipping(
            tables["estimates"], kept, float(max(settings["hidden_causes"]["gammas"]))
        )
    return tables


def _judge_agent(
    data: Table,
    belonging: Belonging,
    identification: Mapping[str, Any],
    stored: Mapping[str, pd.DataFrame],
    settings: Mapping[str, Any],
    streams: Streams,
    kept: InfluenceStore,
    *,
    fitted_apart: int,
) -> tuple[dict[str, pd.DataFrame], list[Seen]]:
    """One policy's tables over all seeds, and what the views of each seed are compared by."""
    found: dict[str, list[pd.DataFrame]] = {}
    by_seed = {
        name: dict(list(frame.groupby("seed", sort=False))) for name, frame in stored.items()
    }
    seen: list[Seen] = []
    for found_seed in by_seed["blocked"]:
        seed = int(found_seed)  # pyright: ignore[reportArgumentType]  # a column of whole numbers
        frames = {name: groups[seed] for name, groups in by_seed.items()}
        case = build_case(
            data, identification=identification, fitted_apart=fitted_apart,
            cluster=belonging.cluster, **frames,
        )  # fmt: skip
        seen.append(Seen.of(case))
        terms, stopped = _computed(case)
        judged = _judge(
            case, terms, stopped, cost_range(data), settings, streams.generator("resamples", seed)
        )
        rows, at = judged["estimates"], (seed, streams.wildcards["agent"])
        for name in rows.loc[rows["status"] == "ok", "estimator"]:
            keep(kept, at, ESTIMATORS[name], case, terms[name])
        shifted = Shifted(case, terms, rows, data)
        shifted.keep(kept, at)
        judged["sensitivity"] = shifted.ranges(
            settings["hidden_causes"], streams.generator("hidden_causes", seed)
        )
        truth = rows.set_index("estimator")["estimate"].get("ground_truth", np.nan)
        judged["convergence"] = _convergence(
            terms, settings["convergence_sizes"], streams.generator("order", seed)
        )
        judged["frequencies"] = _frequencies(terms, data, case)
        if belonging.group is not None:
            judged["groups"] = _by_group(
                data, belonging, frames, case.fit, terms, streams.generator("groups", seed)
            )
        for name, frame in judged.items():
            extra = {} if name in OWN_TRUTH else {"truth": truth}
            found.setdefault(name, []).append(frame.assign(seed=seed, **extra))
    return {name: pd.concat(frames, ignore_index=True) for name, frames in found.items()}, seen


def _by_group(
    data: Table,
    belonging: Belonging,
    frames: Mapping[str, pd.DataFrame],
    fit: NuisanceFit,
    terms: Mapping[str, Terms],
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Costs, error rates and gaps by group, by every estimator that verdicts may read."""
    full = frames["worlds"][frames["worlds"]["world"] == "full"]
    truth = ratios(full, data) if len(full) else None
    done = ratios(frames["blocked"], data)
    found = []
    for name in READ:
        if name in terms:
            fitted = fit if ESTIMATORS[name].fitted else None
            weight = terms[name].weight
            apart = by_group(done, weight, belonging, data, truth=truth, fit=fitted, rng=rng)
            found.append(apart.assign(estimator=name))
    return pd.concat(found or [no_groups().assign(estimator="")], ignore_index=True)


def _computed(case: Case) -> tuple[dict[str, Terms], dict[str, tuple[str, str]]]:
    """Terms of every estimator that can be computed; status and reason of every other."""
    terms, stopped = {}, {}
    for name, estimator in ESTIMATORS.items():
        why = obstacle(estimator, case)
        if why is None:
            try:
                terms[name] = estimator.terms(case)
            except DataError as refusal:  # what no obstacle foresees costs one row, not the study
                why = "no_support", f"It cannot be computed from these records: {refusal}."
        if why is not None:
            stopped[name] = why
    return terms, stopped


def _judge(
    case: Case,
    terms: Mapping[str, Terms],
    stopped: Mapping[str, tuple[str, str]],
    within: CostRange,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> dict[str, pd.DataFrame]:
    """One row per estimator, whatever became of it, and the resamples of those that worked."""
    rows = {}
    for name, estimator in ESTIMATORS.items():
        if name in stopped:
            rows[name] = _empty_row(name, *stopped[name], len(case.complete))
        else:
            rows[name] = _row(estimator, case, terms[name])
    usable = {
        name: together(Terms(one.numerator[:, :1], one.denominator, one.weight), case.cluster)
        for name, one in terms.items()
        if rows[name]["status"] == "ok"
    }
    drawn = _resampled(rows, usable, settings, rng)
    for name in usable:
        rows[name] |= _within(rows[name], together(terms[name], case.cluster), within)
    count = settings["resamples"]
    resamples = pd.DataFrame(
        {
            "estimator": np.repeat(list(usable), count),
            "resample": np.tile(np.arange(count), len(usable)),
            "estimate": drawn.T.ravel(),
        }
    )
    return {"estimates": pd.DataFrame(rows.values()), "resamples": resamples}


def _resampled(
    rows: dict[str, dict[str, Any]],
    usable: Mapping[str, Terms],
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> np.ndarray:
    """Resample all estimators at once; add spread, interval and warnings to their rows. (b, e)"""
    numerators, denominators = stack_terms(list(usable.values()))
    drawn = resample(
        numerators,
        denominators,
        resamples=settings["resamples"],
        share=settings["resample_share"],
        rng=rng,
    )
    share = settings["resample_share"]
    for k, name in enumerate(usable):
        column = drawn[:, k : k + 1]
        centre = np.array([rows[name]["estimate"]])
        low, high = full_sample_interval(centre, column, share=share, level=LEVEL)
        spread = float(column.std(ddof=1) * np.sqrt(share / (1 - share)))
        rows[name] |= {"resample_sd": spread, "resample_low": low[0], "resample_high": high[0]}
        names = [rows[name]["warning"], *(f.name for f in resample_findings(column))]
        rows[name]["warning"] = ",".join(n for n in names if n)
    return drawn


def _within(row: Mapping[str, Any], terms: Terms, within: CostRange) -> dict[str, Any]:
    """The intervals of a row, where a cost can be and with room for unseen errors; warnings."""
    unseen = unseen_errors(terms, COSTS.index("misclassification_cost"), within)
    found = unseen.findings + range_findings(row["estimate"], within)
    changed: dict[str, Any] = {}
    for low, high in INTERVALS:
        changed[low], changed[high] = cost_interval(
            row["estimate"], row[low], row[high], unseen, within
        )
    names = [row["warning"], *(finding.name for finding in found)]
    return changed | {"warning": ",".join(name for name in names if name)}


def _row(estimator: Estimator, case: Case, terms: Terms) -> dict[str, Any]:
    """The summary row of one estimator that could be computed."""
    findings = _warnings(estimator, case, terms)
    fit = case.fit if estimator.fitted else None
    summary = summarise(terms, level=LEVEL, findings=findings, fit=fit, cluster=case.cluster)
    row = _empty_row(estimator.name, summary.status, summary.reason, summary.n) | {
        "estimate": summary.estimate[0],
        "std_error": summary.std_error[0],
        "ci_low": summary.ci_low[0],
        "ci_high": summary.ci_high[0],
        "ess": summary.ess,
        "largest_weight_share": summary.largest_weight_share,
        "usable_rows": summary.usable_rows,
        "acquisition_cost": summary.estimate[1],
        "misclassification_cost": summary.estimate[2],
        "warning": ",".join(finding.name for finding in summary.findings),
    }
    method = estimator.imputation
    if method is not None and len(draws := case.imputed[method]) > 1:
        pooled = rubin(draws.mean(axis=1), _squared_errors(draws, case.cluster))
        low, high = pooled.interval(level=LEVEL)
        row |= {
            "std_error": float(np.sqrt(pooled.variance[0])),
            "ci_low": low[0],
            "ci_high": high[0],
        }
    return row


def _squared_errors(draws: np.ndarray, cluster: np.ndarray | None) -> np.ndarray:
    """Squared standard errors of the means of completed tables. (m, o)"""
    if cluster is None:
        return draws.var(axis=1, ddof=1) / draws.shape[1]
    each = np.ones(draws.shape[1])
    return np.stack(
        [standard_error(together(Terms(draw, each, each), cluster)) ** 2 for draw in draws]
    )


def _empty_row(name: str, status: str, reason: str, n: int) -> dict[str, Any]:
    numbers = ["estimate", "std_error", "ci_low", "ci_high", "resample_sd", "resample_low"]
    numbers += ["resample_high", "largest_weight_share", *COSTS[1:]]
    return {
        "estimator": name,
        **dict.fromkeys(numbers, np.nan),
        "n": n,
        "ess": 0.0,
        "usable_rows": 0,
        "status": status,
        "reason": reason,
        "warning": "",
    }


def _warnings(estimator: Estimator, case: Case, terms: Terms) -> tuple[Finding, ...]:
    """What about the records makes a weighted estimate less than it seems."""
    propensity = estimator.propensity
    if propensity is None:
        return ()
    off_policy = propensity is Need.PATTERN_PROPENSITY
    found = balance_findings(terms.weight)
    if Need.AFA_PROPENSITY in estimator.needs:
        found += policy_findings(suffices=case.afa_propensity_suffices)
    if not off_policy:
        found += propensity_findings(case.complete, case.fitted[propensity.value])
    if case.full is not None:  # else the sets of the policy are unknown
        ended = distinct_sets(acquired_sets(case.full))
        acquired = acquired_sets(case.recorded if off_policy else case.blocked)
        mass = ended.count / ended.count.sum()
        found += support_findings(ended.sets, mass, acquired, terms.weight, least_mass=LEAST_MASS)
    return found


def _convergence(
    terms: Mapping[str, Terms], sizes: list[int], rng: np.random.Generator
) -> pd.DataFrame:
    """Estimates on growing random subsets of the rows, nuisances kept."""
    n = len(terms["blocking"].weight)
    order = rng.permutation(n)
    wanted = np.array(sorted({size for size in sizes if size < n} | {n}), dtype=np.int64)
    frames = []
    for name, one in terms.items():
        shuffled = Terms(one.numerator[order, :1], one.denominator[order], one.weight[order])
        prefix = prefix_estimates(shuffled, wanted)
        frames.append(
            pd.DataFrame({"estimator": name, "n": prefix.sizes, "estimate": prefix.estimate[:, 0]})
        )
    return pd.concat(frames, ignore_index=True)


def _frequencies(terms: Mapping[str, Terms], data: Table, case: Case) -> pd.DataFrame:
    """Counterfactual frequency with which each panel is acquired (Fig. A.6), by every estimator."""
    frames = []
    for name, one in terms.items():
        if one.numerator.shape[1] == len(COSTS) or not (one.weight > 0).any():
            continue
        frames.append(
            pd.DataFrame(
                {
                    "estimator": name,
                    "panel": [panel.name for panel in data.actions],
                    "frequency": estimate(one)[len(COSTS) :],
                    "std_error": standard_error(together(one, case.cluster))[len(COSTS) :],
                }
            )
        )
    return pd.concat(frames, ignore_index=True)
