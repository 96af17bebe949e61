"""Stage `draw_diagnosis_figures`: the paper's Figures 3 to 6, panels by group, three patients."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.data.tables import table_from_frames
from frugal.studies.diagnosis.figures.fronts import front_figure
from frugal.studies.diagnosis.figures.patients import panels_figure, patients_figure
from frugal.studies.diagnosis.figures.training import curves_figure
from frugal.studies.diagnosis.patient_frames import (
    group_of_units,
    panel_shares,
    patient_steps,
    solution_rows_of,
    telling_patients,
)
from frugal.studies.diagnosis.stages.choose_policy import chosen_solution, solution_rows
from frugal.studies.shared.frames import drawn


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
    solutions = solution_rows_of(summary, settings)
    whole = float(scores["full_cost"].iloc[0])
    names = {"method": method, "scores": (settings["criterion"], "auroc"), "title": title} | unit
    zoomed = settings["zoom_share"] * whole
    budget = settings["budget_share"] * whole
    policy = chosen_solution(scores, budget=budget, score=settings["criterion"])
    pair = int(policy["pair"])
    training = curves.drop(columns=[c for c in ("dataset", "family", "group") if c in curves])
    mine = solution_rows(outcomes, method, pair, "test")
    log = solution_rows(decisions, method, pair, "test")
    shares = panel_shares(data, group_of_units(data, settings["group"]), mine, log)
    units = {c["name"]: c["unit"] or "" for c in catalogue["columns"]}
    steps = patient_steps(data, units, mine, log, telling_patients(mine, log))
    which = f"λ = {policy['lambda']:.3g}, ρ = −{-policy['rho']:.3g} per mean panel"
    split = {"pair": pair, "classifier_split": "validation"}
    split["title"] = f"{title}: training at {which}"
    return {
        **drawn("diagnosis_front", front_figure(solutions, highest_cost=None, **names), solutions),
        **drawn(
            "diagnosis_front_zoomed", front_figure(solutions, highest_cost=zoomed, **names),
            solutions[solutions["cost"] <= zoomed],
        ),
        **drawn("diagnosis_curves", curves_figure(training, **split, **unit), training),
        **drawn("diagnosis_panels", panels_figure(shares, title=title), shares),
        **drawn(
            "diagnosis_patients",
            patients_figure(steps, title=f"{title}: three test patients", **unit), steps,
        ),
    }  # fmt: skip
