"""Stages of diagnosis' tables: scores counted again, summaries, their checks, cases to look at."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.context import Context
from frugal.core.errors import DataError
from frugal.core.rows import Partitions
from frugal.data.tables import table_from_frames
from frugal.draw.explorer.patients import Course, patients, spread_units
from frugal.draw.explorer.sections import slider
from frugal.judge.fronts import ROUNDING, hypervolume, non_dominated, policy_for_budget
from frugal.studies.diagnosis.choice import BEST_FULL, candidates, leading
from frugal.studies.diagnosis.frames import RUN, SOLUTION

ROWS_OF = ["policy", "member", "part"]


def recount_diagnoses(
    *, outcomes: pd.DataFrame, decisions: pd.DataFrame, context: Context
) -> dict[str, pd.DataFrame]:
    """F1, AM and cost of every solution: F1 and AM from counts, cost from the log of decisions.

    Also counted: units, units with a decision, final decisions, and panels ordered twice.

    Shares no code with the scores that it is compared with: it groups rows and counts.
    """
    rows = outcomes.astype({"policy": str, "part": str})
    log = decisions.astype({"policy": str, "part": str})
    ill, predicted = rows["label"] == 1, rows["verdict"] == 1
    rows = rows.assign(
        tp=ill & predicted, fp=~ill & predicted, fn=ill & ~predicted, tn=~ill & ~predicted
    )
    counts = rows.groupby(ROWS_OF, sort=False)[["tp", "fp", "fn", "tn"]].sum()
    hit, miss = counts["tp"], counts["fn"]
    recounted = pd.DataFrame(
        {
            "f1": 2 * hit / (2 * hit + counts["fp"] + miss),
            "am": (hit / (hit + miss) + counts["tn"] / (counts["tn"] + counts["fp"])) / 2,
            "n": counts.sum(axis=1),
        }
    )
    by_solution = log.groupby(ROWS_OF, sort=False)
    recounted["cost"] = by_solution["cost"].sum() / recounted["n"]
    recounted["units"] = by_solution["row_id"].nunique()
    last = log.drop_duplicates([*ROWS_OF, "row_id"], keep="last")
    recounted["unpaid_ends"] = (last["cost"] == 0).groupby([last[k] for k in ROWS_OF]).sum()
    repeated = log.duplicated([*ROWS_OF, "row_id", "action"])
    recounted["repeated"] = repeated.groupby([log[k] for k in ROWS_OF]).sum()
    names = {"policy": "method", "member": "pair", "part": "split"}
    return {"recounted": recounted.reset_index().rename(columns=names)}


FRONT = ["dataset", "method", "criterion", "seed"]
KEYS = ["dataset", "method", "lambda", "rho", "seed", "criterion", "pair"]
NUMBERS = ["f1", "auroc", "am", "sensitivity", "specificity", "cost", "on_front"]
COUNTS = ["true_positive", "false_positive", "false_negative", "true_negative"]
VALIDATED = ["f1", "auroc", "am", "sensitivity", "specificity", "cost", "n", "positives"]
FRONT_SCORES = ("f1", "am")


def summarise_diagnosis(
    *, scores: pd.DataFrame, context: Context, pooled: pd.DataFrame | None = None
) -> dict[str, pd.DataFrame]:
    """Put the scores of every run into one table, with their fronts.

    `on_front` is true where no solution of the same data set, method, criterion and seed is as
    cheap and as good on the test units, in the very columns `cost` and `f1` of the table;
    `on_validation_front` where that holds on validation units, by which solutions are chosen.

    Solutions are chosen on validation units and reported on test units, so no number is the
    largest of many draws on the units it is reported for. The envelope over test units, which the
    paper draws, is given under its own name [diagnosis, fig. 4].
    """
    summary = _fronts_marked(_wide(scores))
    if pooled is not None:
        summary = _with_pooled(summary, pooled)
    further = [c for c in summary.columns if c not in KEYS + NUMBERS]
    return {
        "summary": summary[KEYS[:5] + NUMBERS + KEYS[5:] + further],
        "hypervolumes": _hypervolumes(summary),
        "budgets": _budgets(summary, context.settings["budget_shares"]),
    }


def _wide(scores: pd.DataFrame) -> pd.DataFrame:
    """Test scores under their own names, validation scores under `validation_`."""
    keys = RUN + SOLUTION
    of_text_keys = scores.astype(dict.fromkeys(("dataset", "family", "criterion", "method"), str))
    of_text_keys["seed"] = of_text_keys["seed"].astype(int)
    test = of_text_keys[of_text_keys["split"] == "test"].drop(columns="split")
    chosen = of_text_keys.loc[
        of_text_keys["split"] == "validation", [*keys, *VALIDATED, "full_cost"]
    ]
    renamed = {name: f"validation_{name}" for name in [*VALIDATED, "full_cost"]}
    wide = test.merge(chosen.rename(columns=renamed), on=keys, how="left", validate="one_to_one")
    return wide.assign(cost_share=wide["cost"] / wide["full_cost"])


def _with_pooled(summary: pd.DataFrame, pooled: pd.DataFrame) -> pd.DataFrame:
    """Scores from out-of-fold and validation predictions together, where a family has them."""
    pooled_rows = pooled.astype(dict.fromkeys(("dataset", "family", "criterion"), str))
    pooled_rows = pooled_rows.assign(seed=pooled_rows["seed"].astype(int)).rename(
        columns={"cost": "pooled_cost"}
    )
    keys = [*RUN, "pair"]
    return summary.merge(
        pooled_rows[[*keys, "pooled_score", "pooled_cost"]],
        on=keys,
        how="left",
        validate="many_to_one",
    )


def _fronts_marked(summary: pd.DataFrame) -> pd.DataFrame:
    """The table with membership of the fronts of F1 and of AM, on test and on validation units."""
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
    rows_of_fronts = []
    for key, rows in summary.groupby(FRONT, sort=False):
        for score in FRONT_SCORES:
            name = "on_validation_front" if score == "f1" else "on_validation_am_front"
            reference = float(rows["full_cost"].iloc[0])
            areas = {
                column: hypervolume(
                    part["cost"].to_numpy(),
                    part[score].to_numpy(),
                    reference_cost=reference,
                    reference_score=0.0,
                )
                / reference
                for column, part in {
                    "hypervolume": rows[rows[name]],
                    "envelope_hypervolume": rows,
                }.items()
            }
            areas_and_reference = {
                "score": score,
                "reference_cost": reference,
                "reference_score": 0.0,
            } | areas
            solutions = {"solutions": len(rows), "front_solutions": int(rows[name].sum())}
            rows_of_fronts.append(
                dict(zip(FRONT, key, strict=True)) | areas_and_reference | solutions
            )  # pyright: ignore[reportArgumentType]
    return pd.DataFrame(rows_of_fronts)


def _budgets(summary: pd.DataFrame, shares: list[float]) -> pd.DataFrame:
    """For each method and budget, the solution that is chosen, and its test scores.

    It is chosen on out-of-fold and validation predictions where the family has both, else on
    validation units. A budget is a share of the cost of full observation. Where nothing fits there
    is no row. The best of all full-observation baselines, chosen on validation, is a method of its
    own.
    """
    chosen = []
    for score, rows in _candidates(summary):
        judged_on = "pooled" if _all_pooled(rows) else "validation"
        by = "pooled_score" if judged_on == "pooled" else f"validation_{score}"
        front = rows[[f"{judged_on}_cost", by]].set_axis(["cost", score], axis=1)
        for share in shares:
            budget = share * float(rows["validation_full_cost"].iloc[0]) * (1 + ROUNDING)
            if (front["cost"] <= budget).any() and front[score].notna().any():
                best = rows.iloc[[policy_for_budget(front, budget, score=score)]]
                chosen.append(best.assign(score=score, budget_share=share, budget=budget))
    table = pd.concat(chosen, ignore_index=True)
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


TOLERANCE = 1e-9
SPLITS = {"test": "", "validation": "validation_"}  # split → prefix of its columns
OF_SOLUTION = ["dataset", "family", "method", "criterion", "seed", "pair"]


def check_diagnosis(
    *, summary: pd.DataFrame, hypervolumes: pd.DataFrame, recounted: pd.DataFrame, context: Context
) -> dict[str, dict[str, Any]]:
    """Compare the summary with recounts, and the fronts with every pair of their points.

    Raises:
        DataError: the first check that fails.
    """
    expected = {(d, f, c, int(s), m) for d, f, c, s, m in context.settings["rows"]}
    run = summary[["dataset", "family", "criterion", "seed", "method"]]
    present = set(run.itertuples(index=False, name=None))
    if lost := sorted(expected - present):
        raise DataError(f"the diagnosis summary lacks {len(lost)} results, first {lost[0]}")
    again = _next_to(summary, recounted)
    checks = {
        f"{property_} ({split} units)": holds
        for split, prefix in SPLITS.items()
        for property_, holds in _recounts_hold(again, prefix).items()
    }
    checks |= {
        "no dominated point is on a front": _fronts_hold(summary),
        "hypervolumes recomputed by rectangles agree": _areas_hold(summary, hypervolumes),
    }
    for property_, holds in checks.items():
        if not np.all(holds):
            raise DataError(f"diagnosis: it does not hold that {property_}")
    return {"checks": {"rows": len(summary), "fronts": len(hypervolumes), "passed": list(checks)}}


def _recounts_hold(again: pd.DataFrame, prefix: str) -> dict[str, np.ndarray]:
    """Checks of every solution on one split, by description."""

    def of(name: str) -> pd.Series:
        return again[f"{prefix}{name}"]

    return {
        "F1 from raw counts is the summary's": _same(of("f1"), of("f1_again")),
        "AM from raw counts is the summary's": _same(of("am"), of("am_again")),
        "the cost in the log of decisions is the summary's": _same(of("cost"), of("cost_again")),
        "every unit has its decisions": (of("units_again") == of("n")).to_numpy(),
        "every unit ends with a diagnosis": (of("unpaid_ends_again") == of("n")).to_numpy(),
        "no panel is ordered twice": (of("repeated_again") == 0).to_numpy(),
    }


def _next_to(summary: pd.DataFrame, recounted: pd.DataFrame) -> pd.DataFrame:
    """The summary with `…_again` columns of its test and validation units."""
    kinds = dict.fromkeys(("dataset", "family", "criterion", "method", "split"), str)
    recounted_rows = recounted.astype(kinds).assign(seed=recounted["seed"].astype(int))
    numbers = [c for c in recounted_rows.columns if c not in [*OF_SOLUTION, "split"]]
    merged = summary
    for split, prefix in SPLITS.items():
        part = recounted_rows.loc[recounted_rows["split"] == split, [*OF_SOLUTION, *numbers]]
        part = part.rename(columns={name: f"{prefix}{name}_again" for name in numbers})
        merged = merged.merge(part, on=OF_SOLUTION, how="left", validate="one_to_one")
    return merged


def _same(first: pd.Series, other: pd.Series) -> np.ndarray:
    return np.isclose(first.to_numpy(float), other.to_numpy(float), atol=TOLERANCE, equal_nan=True)


def _fronts_hold(summary: pd.DataFrame) -> bool:
    """By all pairs of points: a point is on a front exactly if none beats it."""
    for _, rows in summary.groupby(FRONT, sort=False):
        for score in ("f1", "am"):
            am = "" if score == "f1" else "am_"
            for prefix, name in (
                ("", f"on_{am}front"),
                ("validation_", f"on_validation_{am}front"),
            ):
                cost, value = (rows[f"{prefix}{c}"].to_numpy(float) for c in ("cost", score))
                no_worse = (cost[:, None] <= cost) & (value[:, None] >= value)
                better = no_worse & ((cost[:, None] < cost) | (value[:, None] > value))
                if not np.array_equal(~better.any(axis=0) & ~np.isnan(value), rows[name]):
                    return False
    return True


def _areas_hold(summary: pd.DataFrame, hypervolumes: pd.DataFrame) -> bool:
    """The areas again, as rectangles between neighbouring costs, each as high as its middle."""
    for row in hypervolumes.to_dict("records"):
        rows = summary
        for key in FRONT:
            rows = rows[rows[key] == row[key]]
        name = "on_validation_front" if row["score"] == "f1" else "on_validation_am_front"
        for column, part in (("hypervolume", rows[rows[name]]), ("envelope_hypervolume", rows)):
            cost, score = part["cost"].to_numpy(), part[row["score"]].fillna(0.0).to_numpy()
            ends = np.unique(
                np.clip(np.append(cost, row["reference_cost"]), 0, row["reference_cost"])
            )
            middle = (ends[1:] + ends[:-1]) / 2
            height = np.max(
                np.where(cost[None] <= middle[:, None], score, 0.0), axis=1, initial=0.0
            )
            area = float(np.diff(ends) @ height) / row["reference_cost"]
            if not np.isclose(area, row[column], atol=TOLERANCE):
                return False
    return True


def show_diagnosis_cases(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    scores: pd.DataFrame,
    outcomes: pd.DataFrame,
    decisions: Partitions,
    context: Context,
    pooled: pd.DataFrame | None = None,
) -> dict[str, Any]:
    """Units of the test part under the best policy of every family at a few budgets.

    Settings: `units` (how many), `criterion`, `seed`, `budget_shares` (whose policies are shown),
    `budget_share` (of the price of all panels, at which the report answers).
    """
    settings = context.settings
    data, _ = table_from_frames(table, catalogue)
    of_text_family = [frame.astype({"family": str}) for frame in (scores, outcomes)]
    pooled_rows = None if pooled is None else pooled.astype({"family": str})
    full = float(data.action_cost.sum())
    score = settings["criterion"]
    budgets = sorted(
        {share * full for share in settings["budget_shares"]}
        | _turns(of_text_family[0], pooled_rows)
    )
    stops, shown = [], {}
    for budget in budgets:
        if not (
            of_text_family[0].loc[of_text_family[0]["split"] == "validation", "cost"] <= budget
        ).any():
            continue
        of_families = candidates(of_text_family[0], pooled_rows, budget=budget, score=score)
        first = of_families[leading(of_families, of_text_family[1], score=score)]
        stops.append((budget, *first.key))
        if any(math.isclose(budget, share * full) for share in settings["budget_shares"]):
            shown |= {candidate.key: candidate.row for candidate in of_families}
    scope = {"dataset": context.streams.wildcards["dataset"], "seed": str(settings["seed"])}
    ends = of_text_family[1][of_text_family[1]["part"] == "test"]
    courses = [_course(key, row, ends, decisions) for key, row in shown.items()]
    first_ends = courses[0].outcomes
    chosen = spread_units(
        first_ends["row_id"].to_numpy(), first_ends["label"].to_numpy(), int(settings["units"])
    )
    units = {column["name"]: column["unit"] or "" for column in catalogue["columns"]}
    report = catalogue["report"]
    return {
        "cases": {
            "kind": "cases",
            "study": "diagnosis",
            "title": report["title"],
            "scope": scope,
            "cost_unit": report["cost_unit"],
            "logs": {"input": "decisions", "key": "family"},
            "patients": patients(data, units, courses, chosen),
            "slider": slider(
                label="Limit for the mean price of panels, a unit",
                unit=report["cost_unit"],
                table="summary",
                described=("f1", "f1_se", "cost", "sensitivity", "specificity"),
                stops=_changes(stops, scope | {"criterion": score}),
                names=("method", "pair"),
                goal="policy that validation units lead to",
                note="Whether a policy keeps to the limit is decided by its mean cost on the units "
                "that chose it. These numbers are of test units, where it may lie above.",
                begins={scope["dataset"]: settings["budget_share"] * _full_cost(scores)},
            ),
        }
    }


def _full_cost(scores: pd.DataFrame) -> float:
    """Mean price of all panels of test units, of which the answer takes a share."""
    return float(scores.loc[scores["split"] == "test", "full_cost"].iloc[0])


def _turns(scores: pd.DataFrame, pooled: pd.DataFrame | None) -> set[float]:
    """The budgets at which another solution begins to fit."""
    costs = set(scores.loc[scores["split"] == "validation", "cost"])
    return costs | (set() if pooled is None else set(pooled["cost"]))


def _changes(
    stops: list[tuple[float, str, str, int]], scope: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The budgets at which the policy changes, each with the row of the summary to take."""
    changes: list[dict[str, Any]] = []
    before = None
    for budget, family, method, pair in stops:
        if (family, method, pair) != before:
            before = (family, method, pair)
            match = {"family": family, "method": method, "pair": str(pair), **scope}
            changes.append({"budget": budget, "match": match})
    return changes


def _course(
    key: tuple[str, str, int], row: pd.Series, ends: pd.DataFrame, decisions: Partitions
) -> Course:
    family, method, pair = key
    log = decisions.table("family", family)
    mine, decided = (
        frame[(frame["member"] == pair) & (frame["policy"] == method)] for frame in (log, ends)
    )
    decided = decided[decided["family"] == family]
    name = f"{family} {pair}" if family == method else f"{method} {pair}"
    return Course(name, _why(row), mine[mine["part"] == "test"], decided, family)


def _why(row: pd.Series) -> str:
    """Name of the solution."""
    if row["setting"]:
        return f"It goes by: {row['setting']}."
    if pd.notna(row["lambda"]):
        return (
            f"It learned with λ = {row['lambda']:g} (value of a true positive) and "
            f"ρ = {row['rho']:.3g} (price of a panel)."
        )
    return ""
