"""Stage `summarise_diagnosis`: a row per solution; fronts, hypervolumes, the best per budget.

Solutions are chosen on validation units and reported on test units, so that no number is the
largest of many draws on the units it is told of. The envelope over test units, which the paper
draws, stands beside it under its own name [diagnosis, fig. 4].
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.streams import Streams
from frugal.judge.fronts import ROUNDING, hypervolume, non_dominated, policy_for_budget
from frugal.studies.diagnosis.frames import RUN, SOLUTION

FRONT = ["dataset", "method", "criterion", "seed"]
KEYS = ["dataset", "method", "lambda", "rho", "seed", "criterion", "pair"]
NUMBERS = ["f1", "auroc", "am", "sensitivity", "specificity", "cost", "on_front"]
COUNTS = ["true_positive", "false_positive", "false_negative", "true_negative"]
VALIDATED = ["f1", "auroc", "am", "sensitivity", "specificity", "cost", "n", "positives"]
FRONT_SCORES = ("f1", "am")
BEST_FULL = "best_full_baseline"


def summarise_diagnosis(
    *,
    scores: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    pooled: pd.DataFrame | None = None,
) -> dict[str, pd.DataFrame]:
    """Put the scores of every run into one table, with what is on which front.

    `on_front` is true where no solution of the same data set, method, criterion and seed is as
    cheap and as good on the test units, in the very columns `cost` and `f1` of the table;
    `on_validation_front` where that holds on validation units, by which solutions are chosen.
    """
    del streams, progress
    summary = _fronts_marked(_wide(scores))
    if pooled is not None:
        summary = _with_pooled(summary, pooled)
    further = [c for c in summary.columns if c not in KEYS + NUMBERS]
    return {
        "summary": summary[KEYS[:5] + NUMBERS + KEYS[5:] + further],
        "hypervolumes": _hypervolumes(summary),
        "budgets": _budgets(summary, settings["budget_shares"]),
    }


def _wide(scores: pd.DataFrame) -> pd.DataFrame:
    """Test scores under their own names, validation scores under `validation_`."""
    keys = RUN + SOLUTION
    plain = scores.astype(dict.fromkeys(("dataset", "family", "criterion", "method"), str))
    plain["seed"] = plain["seed"].astype(int)
    test = plain[plain["split"] == "test"].drop(columns="split")
    chosen = plain.loc[plain["split"] == "validation", [*keys, *VALIDATED, "full_cost"]]
    renamed = {name: f"validation_{name}" for name in [*VALIDATED, "full_cost"]}
    wide = test.merge(chosen.rename(columns=renamed), on=keys, how="left", validate="one_to_one")
    return wide.assign(cost_share=wide["cost"] / wide["full_cost"])


def _with_pooled(summary: pd.DataFrame, pooled: pd.DataFrame) -> pd.DataFrame:
    """What out-of-fold and validation predictions say together, where a family has them."""
    told = pooled.astype(dict.fromkeys(("dataset", "family", "criterion"), str))
    told = told.assign(seed=told["seed"].astype(int)).rename(columns={"cost": "pooled_cost"})
    keys = [*RUN, "pair"]
    return summary.merge(
        told[[*keys, "pooled_score", "pooled_cost"]], on=keys, how="left", validate="many_to_one"
    )


def _fronts_marked(summary: pd.DataFrame) -> pd.DataFrame:
    """The table with what is on the fronts of F1 and of AM, on test and on validation units."""
    marked = summary.reset_index(drop=True)
    for name in ("on_front", "on_validation_front", "on_am_front", "on_validation_am_front"):
        marked[name] = False
    for _, rows in marked.groupby(FRONT, sort=False):
        for score in FRONT_SCORES:
            am = "" if score == "f1" else "am_"
            for prefix, name in (
                ("", f"on_{am}front"),
                ("validation_", f"on_validation_{am}front"),
            ):
                cost = rows[f"{prefix}cost"].to_numpy(dtype=np.float64)
                value = rows[f"{prefix}{score}"].to_numpy(dtype=np.float64)
                marked.loc[rows.index, name] = non_dominated(cost, value)
    return marked


def _hypervolumes(summary: pd.DataFrame) -> pd.DataFrame:
    """Area under each front as a share of the price of full observation.

    Reference point: that price, score 0. `hypervolume` is of the solutions that validation chose,
    at their test costs and scores; `envelope_hypervolume` of the envelope over test units.
    """
    made = []
    for key, rows in summary.groupby(FRONT, sort=False):
        for score in FRONT_SCORES:
            name = "on_validation_front" if score == "f1" else "on_validation_am_front"
            reference = float(rows["full_cost"].iloc[0])
            areas = {
                column: hypervolume(
                    part["cost"].to_numpy(), part[score].to_numpy(),
                    reference_cost=reference, reference_score=0.0,
                ) / reference
                for column, part in {
                    "hypervolume": rows[rows[name]], "envelope_hypervolume": rows,
                }.items()
            }  # fmt: skip
            found = {"score": score, "reference_cost": reference, "reference_score": 0.0} | areas
            solutions = {"solutions": len(rows), "front_solutions": int(rows[name].sum())}
            made.append(dict(zip(FRONT, key, strict=True)) | found | solutions)  # pyright: ignore[reportArgumentType]
    return pd.DataFrame(made)


def _budgets(summary: pd.DataFrame, shares: list[float]) -> pd.DataFrame:
    """For each method and budget, the solution that is chosen, and its test scores.

    It is chosen on out-of-fold and validation predictions where the family has both, else on
    validation units. A budget is a share of what full observation costs. Where nothing fits there
    is no row. The best of all full-observation baselines, chosen on validation, is a method of its
    own.
    """
    made = []
    for score, rows in _candidates(summary):
        told = "pooled" if _all_pooled(rows) else "validation"
        by = "pooled_score" if told == "pooled" else f"validation_{score}"
        front = rows[[f"{told}_cost", by]].set_axis(["cost", score], axis=1)
        for share in shares:
            budget = share * float(rows["validation_full_cost"].iloc[0]) * (1 + ROUNDING)
            if (front["cost"] <= budget).any() and front[score].notna().any():
                best = rows.iloc[[policy_for_budget(front, budget, score=score)]]
                made.append(best.assign(score=score, budget_share=share, budget=budget))
    table = pd.concat(made, ignore_index=True)
    first = [*FRONT, "score", "budget_share", "budget"]
    return table[first + [c for c in table.columns if c not in first]]


def _all_pooled(rows: pd.DataFrame) -> bool:
    return "pooled_score" in rows and bool(rows["pooled_score"].notna().all())


def _candidates(summary: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Score and solutions among which one is chosen: of each front, and of the full baselines."""
    for key, rows in summary.groupby(FRONT, sort=False):
        yield str(key[2]), rows  # pyright: ignore[reportIndexIssue]
    full = summary[(summary["family"] == "baselines") & (summary["setting"] == "all panels")]
    for key, rows in full.groupby(["dataset", "seed", "criterion"], sort=False):
        yield str(key[2]), rows.assign(method=BEST_FULL)  # pyright: ignore[reportIndexIssue]
