"""Stage `explore_diagnosis`: content of the report on the study: answers, tables, fronts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.context import Context
from frugal.draw.explorer.charts import Axis, Chart, looks_of, words
from frugal.draw.explorer.sections import answer, figures, lowest, row_at, scope_of, section

SOLUTION = ["dataset", "criterion", "seed", "family", "method", "pair"]
_SHOWN = (
    "method",
    "pair",
    "budget_share",
    "f1",
    "f1_se",
    "cost",
    "cost_share",
    "auroc",
    "sensitivity",
    "on_front",
)
NOT_LEARNED = ("baselines", "selection", "bayes")  # families
GOALS = (0.8, 0.9)  # scores whose price is reported


def explore_diagnosis(
    *,
    summary: pd.DataFrame,
    budgets: pd.DataFrame,
    hypervolumes: pd.DataFrame,
    checks: Mapping[str, Any],
    context: Context,
    **cases: Mapping[str, Any],
) -> dict[str, Any]:
    """The study's part of the report; `cases_0`, `cases_1`, … are those of its data sets.

    Settings: `cost_units` (data set → unit of cost), `budget_share` (at which an answer is given).
    """
    settings = context.settings
    share = float(settings["budget_share"])
    sliders = [document["slider"] for document in cases.values()]
    areas = ("method", "score", "hypervolume", "solutions", "front_solutions")
    tables = {
        "summary": (summary, "Every solution, on test units", _SHOWN),
        "budgets": (budgets, "The solution that each method is taken at for a budget", _SHOWN),
        "hypervolumes": (hypervolumes, "Areas under the fronts", areas),
    }
    return {
        "section": section(
            "diagnosis",
            question="Which lab panels to order, for every budget, when few are ill and F1 is what "
            "counts?",
            answers=_answers(budgets, summary, share, sliders, settings["cost_units"], checks),
            tables=tables,
            keys=[*SOLUTION, "score", "budget_share"],
            charts=_charts(summary),
            scope=scope_of(summary, ["dataset", "criterion", "seed"]),
        )
    }


def _answers(
    budgets: pd.DataFrame,
    summary: pd.DataFrame,
    share: float,
    sliders: Sequence[Mapping[str, Any]],
    cost_units: Mapping[str, str],
    checks: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """For each data set the policy that a share of the full price leads to.

    It is the slider's where that begins, by the rule of `studies.diagnosis.choice`; test units
    decide nothing.
    """
    begins = {name: limit for slider in sliders for name, limit in slider["begins"].items()}
    stops = [stop for slider in sliders for stop in slider["stops"]]
    answers = []
    for dataset, rows in summary.groupby("dataset", sort=False):
        of_dataset = [stop for stop in stops if stop["match"]["dataset"] == dataset]
        within = [stop for stop in of_dataset if stop["budget"] <= begins[dataset]]
        if not within:
            continue
        at_row = _row_of(rows, max(within, key=lambda stop: stop["budget"])["match"])
        best = row_at(rows, at_row)
        unit = cost_units[str(dataset)]
        keys = ["dataset", "seed", "criterion"]
        same = (budgets[keys] == [best[key] for key in keys]).all(axis=1)
        others = budgets[same & (budgets["method"] != best["method"])]
        others = others[np.isclose(others["budget_share"], share)]
        others = others[~others["family"].isin(NOT_LEARNED)]
        close = others[others["f1"] > best["f1"] - 2 * best["f1_se"]]
        answers.append(
            answer(
                f"For {100 * share:.0f} % of the price of all panels, {words(best['method'])} "
                f"reaches an F1 of {figures(best['f1'])}.",
                (
                    f"Solution {best['pair']} of {words(best['method'])}, chosen on validation "
                    "and out-of-fold predictions, not on test units.",
                    f"{figures(best['cost'])} {unit} a case on average, of "
                    f"{figures(best['full_cost'])} for all panels. {_goals(summary, best, unit)}",
                    _trust(best, close, len(checks["passed"])),
                    "Another budget: the slider below names the policy to take for each.",
                    "Not compared: groups of patients are not compared in this study.",
                ),
                title=words(str(dataset)),
                table="summary",
                trust=f"± {figures(best['f1_se'], 2)} on {best['n']:,} test units, "
                f"{best['positives']} of them positive.",
                row=at_row,
                sure=None,
            )
        )
    return answers


def _row_of(rows: pd.DataFrame, match: Mapping[str, str]) -> int:
    """Index of the solution that a stop of the slider names."""
    same = [rows[name].astype(str) == value for name, value in match.items()]
    return int(rows.index[np.logical_and.reduce(same)][0])


def _goals(summary: pd.DataFrame, first: Mapping[str, Any], unit: str) -> str:
    """Cost of the cheapest learned policy that reaches a score on validation units."""
    score, name = str(first["criterion"]), str(first["criterion"]).upper()
    of_dataset = summary[
        (summary["dataset"] == first["dataset"])
        & (summary["seed"] == first["seed"])
        & (summary["criterion"] == score)
        & ~summary["family"].isin(NOT_LEARNED)
    ]
    sentences = []
    for goal in GOALS:
        able = of_dataset[of_dataset[f"validation_{score}"] >= goal]
        if not len(able):
            sentences.append(f"No learned policy reaches {name} {goal:g} on validation units.")
            break
        best = row_at(able, lowest(able, "validation_cost"))
        sentences.append(
            f"{name} {goal:g} on validation units costs {figures(best['validation_cost'])} {unit} "
            f"({words(best['method'])}, solution {best['pair']}: {figures(best[score])} on test "
            f"units for {figures(best['cost'])})."
        )
    return " ".join(sentences)


def _trust(best: Mapping[str, Any], close: pd.DataFrame, checks: int) -> str:
    close_names = ", ".join(words(name) for name in close["method"].unique())
    text = (
        f"F1 on {best['n']:,} test units, {best['positives']} of them positive, ± "
        f"{figures(best['f1_se'], 2)} (standard error); on validation units it was "
        f"{figures(best['validation_f1'])}. "
    )
    text += (
        f"Within two standard errors of it: {close_names}. "
        if close_names
        else "No other method is close. "
    )
    return f"{text}{checks} checks of the tables hold."


def _charts(summary: pd.DataFrame) -> list[dict[str, Any]]:
    """Cost against F1 and AUROC, a mark per solution."""
    looks = looks_of(summary["family"])
    hover = ("method", "pair", "setting", "f1", "f1_se", "auroc", "cost", "cost_share")
    spent = Axis("cost_share", "cost, share of all panels' price", zero=True)
    return [
        Chart(
            "scatter",
            f"front_{score}",
            f"Cost against {word}, a mark per solution, on test units",
            "summary",
            "family",
            looks,
            spent,
            Axis(score, word),
            hover,
        ).document()
        for score, word in (("f1", "F1"), ("auroc", "AUROC"))
    ]
