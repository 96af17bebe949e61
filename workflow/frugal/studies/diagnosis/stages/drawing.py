"""Stages that draw the diagnosis study: fronts, families, panels, patients step by step."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.context import Context
from frugal.core.declarations import load_all
from frugal.core.errors import DataError
from frugal.core.table import Table
from frugal.data.tables import table_from_frames
from frugal.draw.prints import draw_all, outputs_of
from frugal.studies.diagnosis.beliefs import reliability
from frugal.studies.diagnosis.choice import BEST_FULL, chosen_solution, solution_rows
from frugal.studies.diagnosis.figures import patients_figure
from frugal.studies.diagnosis.frames import JUDGED, SOLUTION

START = "known at the start"
FRONT_COLUMNS = ["f1", "auroc", "am", "sensitivity", "specificity", "cost", "seed"]


def solution_rows_of(summary: pd.DataFrame, shown: Mapping[str, Any]) -> pd.DataFrame:
    """Test scores of one data set and seed; `on_front` as validation units have it.

    Args:
        summary: of `summarise_diagnosis`.
        shown: `dataset`, `criterion` and `seed`.
    """
    front = "on_validation_front" if shown["criterion"] == "f1" else "on_validation_am_front"
    envelope = "on_front" if shown["criterion"] == "f1" else "on_am_front"
    rows = summary[(summary["dataset"] == shown["dataset"]) & (summary["seed"] == shown["seed"])]
    rows = rows[(rows["criterion"] == shown["criterion"]) | (rows["family"] == "selection")]
    columns = rows[[*SOLUTION, *FRONT_COLUMNS]].assign(
        split="test", on_front=rows[front], on_test_front=rows[envelope]
    )
    return columns.reset_index(drop=True)


def group_of_units(data: Table, name: str) -> np.ndarray:
    """Group of each unit in words: level of a categorical variable, or half of a numeric one. (n,)

    Raises:
        DataError: the table has no such column.
    """
    levels = [c for c in data.columns if c.startswith(f"{name}=")]
    if levels:
        codes = data.values[:, [data.columns.index(c) for c in levels]]
        observed = np.nan_to_num(codes).max(axis=1) > 0
        words = np.array([c.removeprefix(f"{name}=") for c in levels], dtype=object)
        return np.where(observed, words[np.nan_to_num(codes).argmax(axis=1)], "unknown")
    if name not in data.columns:
        raise DataError(
            f"figures.group is {name!r}; the table has {', '.join(data.columns)}, and categorical "
            "variables by the part before '='"
        )
    values = data.values[:, data.columns.index(name)]
    middle = float(np.nanmedian(values))
    halves = np.where(values <= middle, f"{name} up to {middle:.4g}", f"{name} above {middle:.4g}")
    return np.where(np.isnan(values), "unknown", halves)


def panel_shares(
    data: Table, groups: np.ndarray, outcomes: pd.DataFrame, decisions: pd.DataFrame
) -> pd.DataFrame:
    """Share of units for whom each panel is ordered, by group and label, of one policy and split.

    Args:
        data: the table.
        groups: words for each row of it. (n,)
        outcomes: one row per unit of the policy.
        decisions: its log on the same units.
    """
    place = pd.Series(np.arange(len(data)), index=data.row_id)
    ordered = decisions[decisions["action"] < len(data.actions)]
    rows = []
    units = pd.DataFrame({"row_id": outcomes["row_id"], "label": outcomes["label"]})
    units["group"] = groups[place[units["row_id"]].to_numpy()]
    for (group, label), members in units.groupby(["group", "label"]):  # pyright: ignore
        actions = ordered[ordered["row_id"].isin(members["row_id"])]["action"].to_numpy()
        share = np.bincount(actions, minlength=len(data.actions)) / len(members)
        for k, panel in enumerate(data.actions):
            words = data.classes[int(str(label))]
            rows.append((group, words, panel.name, float(share[k]), len(members)))
    return pd.DataFrame(rows, columns=["group", "label", "panel", "share", "n"])


def patient_steps(
    data: Table,
    units: Mapping[str, str],
    outcomes: pd.DataFrame,
    decisions: pd.DataFrame,
    row_ids: Sequence[int],
) -> pd.DataFrame:
    """Orders, values and predicted probabilities, step by step, of some units of one policy.

    Args:
        data: the table.
        units: column → unit.
        outcomes: one row per unit.
        decisions: the log.
        row_ids: whose steps are wanted.

    Raises:
        DataError: the policy was not run on a unit.
    """
    outcome_of_unit = outcomes.set_index("row_id")
    rows = []
    for row_id in row_ids:
        log = decisions[decisions["row_id"] == row_id].sort_values("step")
        if log.empty:
            raise DataError(f"no decision of this policy is about row_id {row_id}")
        at = int(np.flatnonzero(data.row_id == row_id)[0])
        shown_columns = np.zeros(len(data.columns), dtype=bool)
        names, shown = [START], [data.free_columns]
        for action in log["action"].to_numpy()[:-1]:
            names.append(data.actions[action].name)
            shown.append(data.provides[action])
        paid = np.concatenate([[0.0], log["cost"].to_numpy().cumsum()[:-1]])
        ends = outcome_of_unit.loc[row_id, ["verdict", "label"]].to_numpy(dtype=np.int64)
        diagnosis, label = (data.classes[k] for k in ends)
        for step, (name, columns) in enumerate(zip(names, shown, strict=True)):
            values = _words(data, units, at, columns & ~shown_columns)
            shown_columns |= columns
            probability = float(log["belief"].iloc[step])
            rows.append((row_id, step, name, values, probability, paid[step], diagnosis, label))
    columns = ["row_id", "step", "panel", "values", "belief", "paid", "diagnosis", "label"]
    return pd.DataFrame(rows, columns=columns)


def _words(data: Table, units: Mapping[str, str], at: int, columns: np.ndarray) -> str:
    """The values of a row in some columns, as text; of one-hot codes, the level that holds."""
    coded = {c for group in data.onehot for c in group}
    parts = []
    for c in np.flatnonzero(columns):
        value, name = data.values[at, c], data.columns[c]
        if c in coded:
            if value == 1:
                parts.append(name.replace("=", " "))
            continue
        unit = units.get(name) or ""
        unit = "" if unit == "1" else f" {unit}"
        words = "no value" if np.isnan(value) else f"{value:.3g}{unit}"
        parts.append(f"{name.replace('_', ' ')} {words}")
    return "; ".join(parts)


def telling_patients(outcomes: pd.DataFrame, decisions: pd.DataFrame) -> list[int]:
    """Units to look at: an ill and a healthy one found by few orders, and a missed ill one.

    Few are the median number of orders of such units; of equal ones the first row.
    """
    steps = decisions.groupby("row_id").size().rename("steps")
    units = outcomes.merge(steps, left_on="row_id", right_index=True).sort_values("row_id")
    right = units["label"] == units["verdict"]
    row_ids = []
    for candidates in (
        (units["label"] == 1) & right,
        (units["label"] == 0) & right,
        (units["label"] == 1) & ~right,
    ):
        some = units[candidates]
        usual = (some["steps"] - some["steps"].quantile(0.5, "lower")).abs()
        row_ids += [int(row) for row in some.loc[usual == 0, "row_id"].head(1)]
    return row_ids


def draw_diagnosis_figures(
    *,
    summary: pd.DataFrame,
    curves: pd.DataFrame,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    scores: pd.DataFrame,
    outcomes: pd.DataFrame,
    decisions: pd.DataFrame,
    context: Context,
) -> dict[str, Any]:
    """Draw the front that the config names, and of it the policy that its budget leads to."""
    data, _ = table_from_frames(table, catalogue)
    method, title = context.settings["method"], context.settings["title"]
    full_cost = float(scores["full_cost"].iloc[0])
    budget = context.settings["budget_share"] * full_cost
    policy = chosen_solution(scores, budget=budget, score=context.settings["criterion"])
    pair = int(policy["pair"])
    mine = solution_rows(outcomes, method, pair, "test")
    log = solution_rows(decisions, method, pair, "test")
    units = {c["name"]: c["unit"] or "" for c in catalogue["columns"]}
    which = f"λ = {policy['lambda']:.3g}, ρ = −{-policy['rho']:.3g} per mean panel"
    solutions = solution_rows_of(summary, context.settings)
    zoomed = context.settings["zoom_share"] * full_cost
    arguments = {
        "title": title,
        "cost_unit": context.settings["cost_unit"],
        "method": method,
        "scores": (context.settings["criterion"], "auroc"),
        "solutions": solutions,
        "cheap_solutions": solutions[solutions["cost"] <= zoomed],
        "highest_cost": zoomed,
        "curves": curves.drop(columns=[c for c in ("dataset", "family", "group") if c in curves]),
        "pair": pair,
        "classifier_split": "validation",
        "training": f"{title}: training at {which}",
        "shares": panel_shares(data, group_of_units(data, context.settings["group"]), mine, log),
        "steps": patient_steps(data, units, mine, log, telling_patients(mine, log)),
        "patients": f"{title}: three test patients",
    }
    figures = load_all("frugal.studies.diagnosis.figures", "PrintedFigure")
    return draw_all(figures, "draw_diagnosis_figures", arguments)


BINS, LEVEL = 10, 0.95
REPORTED = ["method", "log_loss", "base_log_loss", "calibration_slope"]


def draw_fronts(
    *, budgets: pd.DataFrame, outcomes: pd.DataFrame, context: Context
) -> dict[str, Any]:
    """Draw the families of one data set.

    Settings: `dataset`, its `title` and its `cost_unit`; `criterion`, `seed` and `budget_share` of
    the policies whose beliefs are drawn.

    Raises:
        DataError: no family has a policy within that budget.
    """
    rows = budgets[budgets["dataset"].astype(str) == context.settings["dataset"]]
    arguments = {
        "title": context.settings["title"],
        "budgets": rows.reset_index(drop=True),
        "reliability": _reliability(rows, outcomes, context.settings),
        "budget_share": context.settings["budget_share"],
    }
    figures = load_all("frugal.studies.diagnosis.figures", "PrintedFigure")
    return draw_all(figures, "draw_fronts", arguments)


def _reliability(
    budgets: pd.DataFrame, outcomes: pd.DataFrame, settings: Mapping[str, Any]
) -> pd.DataFrame:
    """Groups of test units by belief, of the policy that each way of ordering panels chooses."""
    selected = (
        (budgets["criterion"].astype(str) == settings["criterion"])
        & (budgets["seed"].astype(int) == int(settings["seed"]))
        & np.isclose(budgets["budget_share"], settings["budget_share"])
        & (budgets["method"].astype(str) != BEST_FULL)
        & (budgets["family"].astype(str) != "baselines")
    )
    texts = outcomes[["policy", "part"]].astype(str)
    parts = []
    for row in budgets[selected].to_dict("records"):
        mine = (texts["policy"] == row["method"]) & (outcomes["member"] == row["pair"])
        test = outcomes[mine & (texts["part"] == "test")].dropna(subset="belief")
        if len(test):
            table = reliability(
                test["label"].to_numpy(np.int64), test["belief"].to_numpy(), bins=BINS, level=LEVEL
            )
            parts.append(table.assign(**{name: row[name] for name in REPORTED}))
    if not parts:
        raise DataError(
            f"{settings['dataset']}: no family has a policy within {settings['budget_share']:g} of "
            "the price of all panels; the key diagnosis.figures.budget_share names that share"
        )
    table = pd.concat(parts, ignore_index=True)
    return table[[*REPORTED, *(name for name in table.columns if name not in REPORTED)]]


def draw_patient(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    scores: pd.DataFrame,
    outcomes: pd.DataFrame,
    decisions: pd.DataFrame,
    context: Context,
) -> dict[str, Any]:
    """Draw the unit `row_id` of the settings; `budget` and `score` choose the policy.

    Raises:
        DataError: the unit is not among those that policies were evaluated on.
        ConfigError: nothing fits the budget.
    """
    settings = context.settings
    data, _ = table_from_frames(table, catalogue)
    policy = chosen_solution(scores, budget=float(settings["budget"]), score=settings["score"])
    row_id = int(settings["row_id"])
    mine, log = (
        frame[
            (frame["row_id"] == row_id)
            & (frame["member"] == policy["pair"])
            & (frame["policy"] == policy["method"])
        ]
        for frame in (outcomes, decisions)
    )
    if mine.empty:
        judged = outcomes["row_id"].drop_duplicates()
        raise DataError(
            f"row_id {row_id} is not among the {len(judged)} units of the parts "
            f"{' and '.join(JUDGED)}, on which policies are evaluated; such are "
            f"{', '.join(str(v) for v in judged.head(5))}"
        )
    units = {c["name"]: c["unit"] or "" for c in catalogue["columns"]}
    steps = patient_steps(data, units, mine, log, [row_id])
    report = catalogue["report"]
    title = f"{report['title']}: policy {int(policy['pair'])} of {policy['method']}"
    figure = patients_figure(steps, cost_unit=report["cost_unit"], patients=title)
    return outputs_of("patient", figure, steps)
