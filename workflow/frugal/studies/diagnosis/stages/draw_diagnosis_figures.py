"""Stage `draw_diagnosis_figures`: the paper's Figures 3 to 6, panels by group, three patients."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.declarations import load_all
from frugal.core.streams import Streams
from frugal.data.tables import table_from_frames
from frugal.draw.figures import draw_all
from frugal.studies.diagnosis.choice import chosen_solution, solution_rows
from frugal.studies.diagnosis.figures.given import Front
from frugal.studies.diagnosis.patient_frames import (
    group_of_units,
    panel_shares,
    patient_steps,
    solution_rows_of,
    telling_patients,
)


def draw_diagnosis_figures(
    *,
    summary: pd.DataFrame,
    curves: pd.DataFrame,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    scores: pd.DataFrame,
    outcomes: pd.DataFrame,
    decisions: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Draw the front that the config names, and of it the policy that its budget leads to."""
    del streams, progress
    data, _ = table_from_frames(table, catalogue)
    method, title = settings["method"], settings["title"]
    unit = {"cost_unit": settings["cost_unit"]}
    whole = float(scores["full_cost"].iloc[0])
    budget = settings["budget_share"] * whole
    policy = chosen_solution(scores, budget=budget, score=settings["criterion"])
    pair = int(policy["pair"])
    mine = solution_rows(outcomes, method, pair, "test")
    log = solution_rows(decisions, method, pair, "test")
    units = {c["name"]: c["unit"] or "" for c in catalogue["columns"]}
    which = f"λ = {policy['lambda']:.3g}, ρ = −{-policy['rho']:.3g} per mean panel"
    training = f"{title}: training at {which}"
    given = Front(
        title=title,
        solutions=solution_rows_of(summary, settings),
        names=unit | {"method": method, "scores": (settings["criterion"], "auroc"), "title": title},
        highest_cost=settings["zoom_share"] * whole,
        training=curves.drop(columns=[c for c in ("dataset", "family", "group") if c in curves]),
        chosen=unit | {"pair": pair, "classifier_split": "validation", "title": training},
        shares=panel_shares(data, group_of_units(data, settings["group"]), mine, log),
        steps=patient_steps(data, units, mine, log, telling_patients(mine, log)),
        unit=unit,
    )
    figures = load_all("frugal.studies.diagnosis.figures", "PrintedFigure")
    return draw_all(figures, "draw_diagnosis_figures", given)
