"""Stage `check_diagnosis`: fronts are fronts and every number is recounted, or the run stops."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.core.streams import Streams
from frugal.studies.diagnosis.stages.summarise_diagnosis import FRONT

TOLERANCE = 1e-9
SPLITS = {"test": "", "validation": "validation_"}  # split → prefix of its columns
SOLUTION = ["dataset", "family", "method", "criterion", "seed", "pair"]


def check_diagnosis(
    *,
    summary: pd.DataFrame,
    hypervolumes: pd.DataFrame,
    recounted: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, dict[str, Any]]:
    """Compare the summary with recounts, and the fronts with every pair of their points.

    Raises:
        DataError: the first check that fails.
    """
    del streams, progress
    wanted = {(d, f, c, int(s), m) for d, f, c, s, m in settings["rows"]}
    run = summary[["dataset", "family", "criterion", "seed", "method"]]
    found = set(run.itertuples(index=False, name=None))
    if lost := sorted(wanted - found):
        raise DataError(f"the diagnosis summary lacks {len(lost)} results, first {lost[0]}")
    again = _beside(summary, recounted)
    checks = {f"{what} ({split} units)": holds
              for split, prefix in SPLITS.items()
              for what, holds in _recounts_hold(again, prefix).items()}  # fmt: skip
    checks |= {
        "no dominated point is on a front": _fronts_hold(summary),
        "hypervolumes recomputed by rectangles agree": _areas_hold(summary, hypervolumes),
    }
    for what, holds in checks.items():
        if not np.all(holds):
            raise DataError(f"diagnosis: it does not hold that {what}")
    return {"checks": {"rows": len(summary), "fronts": len(hypervolumes), "passed": list(checks)}}


def _recounts_hold(again: pd.DataFrame, prefix: str) -> dict[str, np.ndarray]:
    """What is asked of every solution on one split, by words."""

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


def _beside(summary: pd.DataFrame, recounted: pd.DataFrame) -> pd.DataFrame:
    """The summary with `…_again` columns of its test and validation units."""
    kinds = dict.fromkeys(("dataset", "family", "criterion", "method", "split"), str)
    plain = recounted.astype(kinds).assign(seed=recounted["seed"].astype(int))
    numbers = [c for c in plain.columns if c not in [*SOLUTION, "split"]]
    beside = summary
    for split, prefix in SPLITS.items():
        part = plain.loc[plain["split"] == split, [*SOLUTION, *numbers]]
        part = part.rename(columns={name: f"{prefix}{name}_again" for name in numbers})
        beside = beside.merge(part, on=SOLUTION, how="left", validate="one_to_one")
    return beside


def _same(one: pd.Series, other: pd.Series) -> np.ndarray:
    return np.isclose(one.to_numpy(float), other.to_numpy(float), atol=TOLERANCE, equal_nan=True)


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
