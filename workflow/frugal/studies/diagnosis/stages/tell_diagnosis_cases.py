"""Stage `tell_diagnosis_cases`: some units step by step, and the policy for each budget."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.rows import Partitions
from frugal.core.streams import Streams
from frugal.data.tables import table_from_frames
from frugal.draw.explorer.patients import Course, patients, spread_units
from frugal.draw.explorer.sections import slider
from frugal.studies.diagnosis.choice import candidates, leading


def tell_diagnosis_cases(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    scores: pd.DataFrame,
    outcomes: pd.DataFrame,
    decisions: Partitions,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    pooled: pd.DataFrame | None = None,
) -> dict[str, Any]:
    """Units of the test part under the best policy of every family at a few budgets.

    Settings: `units` (how many), `criterion`, `seed`, `budget_shares` (whose policies are shown),
    `budget_share` (of the price of all panels, at which the report answers).
    """
    del progress
    data, _ = table_from_frames(table, catalogue)
    plain = [frame.astype({"family": str}) for frame in (scores, outcomes)]
    told = None if pooled is None else pooled.astype({"family": str})
    full = float(data.action_cost.sum())
    score = settings["criterion"]
    budgets = sorted({share * full for share in settings["budget_shares"]} | _turns(plain[0], told))
    stops, shown = [], {}
    for budget in budgets:
        if not (plain[0].loc[plain[0]["split"] == "validation", "cost"] <= budget).any():
            continue
        found = candidates(plain[0], told, budget=budget, score=score)
        first = found[leading(found, plain[1], score=score)]
        stops.append((budget, *first.key))
        if any(math.isclose(budget, share * full) for share in settings["budget_shares"]):
            shown |= {one.key: one.row for one in found}
    scope = {"dataset": streams.wildcards["dataset"], "seed": str(settings["seed"])}
    ends = plain[1][plain[1]["part"] == "test"]
    courses = [_course(key, row, ends, decisions) for key, row in shown.items()]
    first_ends = courses[0].outcomes
    chosen = spread_units(
        first_ends["row_id"].to_numpy(), first_ends["label"].to_numpy(), int(settings["units"])
    )
    units = {column["name"]: column["unit"] or "" for column in catalogue["columns"]}
    report = catalogue["report"]
    return {
        "cases": {
            "kind": "cases", "study": "diagnosis", "title": report["title"], "scope": scope,
            "cost_unit": report["cost_unit"],
            "logs": {"input": "decisions", "key": "family"},
            "patients": patients(data, units, courses, chosen),
            "slider": slider(
                label="What panels may cost a unit on average", unit=report["cost_unit"],
                table="summary", says=("f1", "f1_se", "cost", "sensitivity", "specificity"),
                stops=_changes(stops, scope | {"criterion": score}), names=("method", "pair"),
                goal="policy that validation units lead to",
                note="Whether a policy keeps to the limit is decided by its mean cost on the units "
                "that chose it. These numbers are of test units, where it may lie above.",
                begins={scope["dataset"]: settings["budget_share"] * _whole(scores)},
            ),
        }
    }  # fmt: skip


def _whole(scores: pd.DataFrame) -> float:
    """Mean price of all panels of test units, of which the answer takes a share."""
    return float(scores.loc[scores["split"] == "test", "full_cost"].iloc[0])


def _turns(scores: pd.DataFrame, pooled: pd.DataFrame | None) -> set[float]:
    """The budgets at which another solution begins to fit."""
    found = set(scores.loc[scores["split"] == "validation", "cost"])
    return found | (set() if pooled is None else set(pooled["cost"]))


def _changes(
    stops: list[tuple[float, str, str, int]], scope: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The budgets at which the policy changes, each with the row of the summary to take."""
    found: list[dict[str, Any]] = []
    before = None
    for budget, family, method, pair in stops:
        if (family, method, pair) != before:
            before = (family, method, pair)
            match = {"family": family, "method": method, "pair": str(pair), **scope}
            found.append({"budget": budget, "match": match})
    return found


def _course(
    key: tuple[str, str, int], row: pd.Series, ends: pd.DataFrame, decisions: Partitions
) -> Course:
    family, method, pair = key
    log = decisions.table("family", family)
    mine, own = (
        frame[(frame["member"] == pair) & (frame["policy"] == method)] for frame in (log, ends)
    )
    own = own[own["family"] == family]
    name = f"{family} {pair}" if family == method else f"{method} {pair}"
    return Course(name, _why(row), mine[mine["part"] == "test"], own, family)


def _why(row: pd.Series) -> str:
    """What the solution goes by."""
    if row["setting"]:
        return f"It goes by: {row['setting']}."
    if pd.notna(row["lambda"]):
        return (
            f"It learned with λ = {row['lambda']:g} (what a true positive is worth) and "
            f"ρ = {row['rho']:.3g} (what a panel costs)."
        )
    return ""
