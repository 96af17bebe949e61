"""Units step by step: values known, panels ordered by each policy, and outcomes.

Knows decisions and outcomes as every study logs them; must not know how a policy decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.table import Table
from frugal.draw.explorer.sections import packed_column


@dataclass(frozen=True)
class Course:
    """Decisions of one policy on some units.

    Attributes:
        name: of the policy.
        why: its criterion, in a sentence; empty where unknown.
        decisions: its log: row_id, step, action, cost, probability, belief.
        outcomes: a row per unit: row_id, verdict, cost and, if it is known, probability.
        source: path of the log's file.
    """

    name: str
    why: str
    decisions: pd.DataFrame
    outcomes: pd.DataFrame
    source: str = ""


def spread_units(row_id: np.ndarray, label: np.ndarray, count: int) -> list[int]:
    """At most so many units at even distances, of every class as many where there are enough.

    Args:
        row_id: of the candidates. (n,)
        label: of the same. (n,)
        count: how many are wanted.
    """
    classes = np.unique(label)
    chosen: list[int] = []
    share, rest = divmod(count, max(len(classes), 1))
    for rank, value in enumerate(classes):
        able = np.sort(row_id[label == value])
        quota = min(len(able), max(share + (rank < rest), 1))
        chosen += [int(able[k * len(able) // quota]) for k in range(quota)]
    return sorted(chosen)


def patients(
    data: Table, units: Mapping[str, str], courses: Sequence[Course], row_ids: Sequence[int]
) -> dict[str, Any]:
    """The units with their values, and the decisions of each policy on each, as plain JSON.

    Args:
        data: the table.
        units: column → unit.
        courses: of every policy.
        row_ids: whose steps are wanted.
    """
    place = pd.Series(np.arange(len(data)), index=data.row_id)
    at = place[list(row_ids)].to_numpy()
    values = [packed_column(pd.Series(data.values[at, c])) for c in range(len(data.columns))]
    return {
        "columns": list(data.columns),
        "units": [units.get(name) or "" for name in data.columns],
        "coded": sorted(c for group in data.onehot for c in group),
        "free": np.flatnonzero(data.free_columns).tolist(),
        "panels": [
            {"name": panel.name, "cost": panel.cost, "columns": np.flatnonzero(reveals).tolist()}
            for panel, reveals in zip(data.actions, data.provides, strict=True)
        ],
        "classes": list(data.classes),
        "row_id": [int(unit) for unit in row_ids],
        "label": data.label[at].tolist(),
        "values": values,
        "policies": [_course(course, len(data.actions), row_ids) for course in courses],
    }


def _course(course: Course, panels: int, row_ids: Sequence[int]) -> dict[str, Any]:
    """The log of a policy, unit by unit."""
    steps = course.decisions.sort_values("step", kind="stable").groupby("row_id")
    outcomes = course.outcomes.drop_duplicates("row_id").to_dict("records")
    ends = {int(end["row_id"]): end for end in outcomes}
    units = []
    for row_id in row_ids:
        if row_id not in ends or row_id not in steps.groups:
            units.append(None)
            continue
        log, end = steps.get_group(row_id), ends[row_id]
        units.append(
            {
                "actions": [min(int(a), panels) for a in log["action"]],
                "costs": packed_column(log["cost"]),
                "probabilities": packed_column(log["probability"]),
                "beliefs": packed_column(log["belief"]) if "belief" in log else [],
                "verdict": int(end["verdict"]),
                "belief": _belief(end),
            }
        )
    return {"name": course.name, "why": course.why, "source": course.source, "units": units}


def _belief(end: Mapping[Any, Any]) -> float | None:
    """The last belief in the second class: as it is logged, else the probability that decided."""
    for name in ("belief", "probability"):
        if name in end and pd.notna(end[name]):
            return float(end[name])
    return None
