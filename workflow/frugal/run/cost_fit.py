"""The table of costs from measured jobs: what each stage takes at its start, and how that grows.

Knows measured jobs with their sizes, and by which sizes a stage may grow; must not know how the
jobs came about.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from jaxtyping import Float

from frugal.results.files import hive_keys, read_payload
from frugal.run.benchmarks import ENGINE, measurement_table
from frugal.run.plans import AMOUNTS, Costs, Job, sized

SIZES_FILE = "sizes.json"  # beside the measurements, as the engine writes it at the end of a run
# By which sizes the jobs of a stage grow; one that stands not here takes the same at every size.
GROWS = {
    "prepare_data": ("rows", "columns"),
    "fit_classifier": ("rows", "columns"),
    "learn_candidates": ("rows", "panels"),
    "judge_candidates": ("rows", "panels", "policies"),
    "draw_missingness": ("rows", "panels", "seeds"),
    "impute_features": ("rows", "columns", "seeds"),
    "train_agent": ("steps", "panels"),
    "roll_out": ("rows", "panels", "seeds"),
    "fit_nuisances": ("rows", "panels", "seeds", "policies"),
    "check_graph": ("rows", "panels", "seeds"),
    "estimate_costs": ("rows", "panels", "seeds", "policies"),
    "join_seeds": ("rows", "panels", "seeds", "policies"),
    "draw_scenario_figures": ("policies",),
    "tell_afape_cases": ("rows", "policies"),
    "judge_world": ("rows", "seeds", "policies"),
    "summarise_afape": ("seeds",),
    "give_verdicts": ("seeds",),
    "train_fair_agent": ("rows", "panels"),
    "train_dadi": ("steps", "panels", "policies"),
    "roll_out_dadi": ("rows", "panels", "policies"),
    "audit_fairness": ("rows", "panels", "policies"),
    "fit_fair_baselines": ("rows", "panels"),
    "score_dadi": ("rows", "policies"),
    "train_encoder": ("rows", "columns", "steps"),
    "compare_imputers": ("rows", "columns", "seeds"),
    "tabulate_states": ("rows", "panels"),
    "train_front": ("steps", "panels", "policies"),
    "roll_out_front": ("rows", "panels", "policies"),
    "train_baselines": ("rows", "columns", "policies"),
    "train_trees": ("rows", "panels"),
    "train_selection": ("rows", "panels", "steps"),
    "apply_bayes_rule": ("rows", "panels"),
    "recount_diagnoses": ("rows", "policies"),
    "prepare_searches": ("rows",),
    "judge_searches": ("rows", "panels"),
    "compare_planners": ("rows", "seeds", "policies"),
    "time_planners": ("policies",),
    "label_units": ("rows", "panels"),
    "answer_units": ("rows", "panels", "steps"),
}
# An exponent that measurements do not tell is this one; one that they hardly tell is drawn there.
_PRIOR = {
    "cpu_s": dict.fromkeys(("rows", "columns", "panels", "seeds", "policies", "steps"), 1.0),
    "memory_mb": {"rows": 1.0, "columns": 0.5, "panels": 0.5, "seeds": 0.5, "policies": 0.5,
                  "steps": 0.0},
}  # fmt: skip
_PRIOR_WEIGHT = 0.03
_MOST_EXPONENT = 4.0
_VARIES = 1.3  # largest over smallest size
_LEAST_START = 0.1  # of the smallest amount


@dataclass(frozen=True)
class Measured:
    """A job with what it took."""

    job: Job
    amounts: Mapping[str, float]


def measured_jobs(folder: Path) -> list[Measured]:
    """Jobs of one run that ended well, with the sizes that its config told.

    Args:
        folder: holds the measurements and `sizes.json`.

    Raises:
        DataError: there is no measurement, or no file of sizes.
    """
    sizings = read_payload(folder / SIZES_FILE)
    table = measurement_table(folder, {})
    done = table[(table["stage"] != ENGINE) & (table["ended"] == "done")]
    return [
        Measured(
            sized(str(row["stage"]), hive_keys(Path(row["job"], "file")), sizings),
            {name: float(row[name]) for name in AMOUNTS},
        )
        for row in done.to_dict("records")
    ]


def fitted_costs(measured: Sequence[Measured], before: Costs) -> Costs:
    """The costs of every stage that was measured; those of others as they were before.

    amount = start + more · Π (size / reference) ^ exponent, least squares of the logarithm, so that
    a factor counts the same for short and for long jobs.
    """
    by_stage: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    for each in measured:
        by_stage[each.job.stage, each.job.kind or ""].append(each)
    stages = {stage for stage, _ in by_stage}
    bounds = {
        (entry["stage"], name): {"most_rows": entry[name]["most_rows"]}
        for entry in before.entries
        for name in AMOUNTS
        if "most_rows" in entry[name]
    }
    entries = [dict(entry) for entry in before.entries if entry["stage"] not in stages]
    for (stage, kind), jobs in by_stage.items():
        fits = {
            name: _growth(jobs, name, before.reference) | bounds.get((stage, name), {})
            for name in AMOUNTS
        }
        entries.append({"stage": stage, **({"kind": kind} if kind else {}), **fits})
    ordered = sorted(entries, key=lambda entry: (entry["stage"], entry.get("kind", "")))
    return Costs(ordered, before.reference, before.rows, before.measured_on)


def _growth(
    jobs: Sequence[Measured], name: str, reference: Mapping[str, float]
) -> dict[str, float]:
    """Start, more and exponents of one amount of one stage."""
    grows = [s for s in GROWS.get(jobs[0].job.stage, ()) if all(s in j.job.sizes for j in jobs)]
    frame = pd.DataFrame(
        [{s: j.job.sizes[s] for s in grows} | {"amount": j.amounts[name]} for j in jobs]
    )
    if not grows:
        typical = frame["amount"].mean() if name == "cpu_s" else frame["amount"].max()
        return {"start": _short(typical), "more": 0.0}
    # one point a size: jobs of one size are alike, and the largest decides the memory
    points = frame.groupby(grows)["amount"].agg("mean" if name == "cpu_s" else "max").reset_index()
    sizes = np.log(points[grows].to_numpy(float) / [reference[s] for s in grows])
    prior = np.array([_PRIOR[name][s] for s in grows])
    free = np.ptp(sizes, axis=0) > np.log(_VARIES)
    start, more, exponents = _least_squares(sizes, points["amount"].to_numpy(float), prior, free)
    rounded = {s: round(float(e), 2) for s, e in zip(grows, exponents, strict=True)}
    return {"start": _short(start), "more": _short(more), **rounded}


def _least_squares(
    log_size: Float[np.ndarray, "n s"],
    amount: Float[np.ndarray, " n"],
    prior: Float[np.ndarray, " s"],
    free: np.ndarray,
) -> tuple[float, float, Float[np.ndarray, " s"]]:
    """The start, the rest at the reference, and the exponents; those not free are the prior's."""
    from scipy.optimize import least_squares

    def unpacked(x: np.ndarray) -> tuple[float, float, np.ndarray]:
        exponents = prior.copy()
        exponents[free] = x[2:]
        return float(x[0]), float(np.exp(x[1])), exponents

    def residuals(x: np.ndarray) -> np.ndarray:
        start, more, exponents = unpacked(x)
        off = np.log(start + more * np.exp(log_size @ exponents)) - np.log(amount)
        return np.concatenate([off, np.sqrt(_PRIOR_WEIGHT) * (x[2:] - prior[free])])

    least = float(amount.min())
    typical = float(np.exp(-(log_size @ prior).mean()))
    bounds = (
        [_LEAST_START * least, np.log(1e-9 * least), *np.zeros(free.sum())],
        [least, np.log(1e9 * least), *np.full(free.sum(), _MOST_EXPONENT)],
    )
    tried = [
        least_squares(residuals, [share * least, np.log(0.5 * least * typical), *prior[free]],
                      bounds=bounds)
        for share in (0.2, 0.5, 0.9)
    ]  # fmt: skip
    return unpacked(min(tried, key=lambda each: each.cost).x)


def _short(number: float) -> float:
    """Three digits."""
    return float(f"{number:.3g}")


def costs_yaml(costs: Costs, remarks: Sequence[str]) -> str:
    """The text of config/costs.yaml: remarks, then a line an entry."""
    lines = [f"# {remark}" for remark in remarks]
    lines.append(f"measured_on: {costs.measured_on}")
    lines.append("# sizes at which `more` is taken")
    lines.append(f"reference: {_flow(costs.reference)}")
    lines.append("# rows of tables that no file and no description tells before they are read")
    lines.append(f"rows: {_flow(costs.rows)}")
    lines.append("costs:")
    lines += [f"  - {_flow(entry)}" for entry in costs.entries]
    return "\n".join(lines) + "\n"


def _flow(document: Mapping[str, Any]) -> str:
    return yaml.safe_dump(
        dict(document), default_flow_style=True, sort_keys=False, width=10_000
    ).strip()
