"""The first figure of a scenario: which policy to use, and how sure that is.

Not in the paper. Places marks from the table of verdicts and comparisons; knows no file.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from frugal.draw import style
from frugal.draw.figures import PrintedFigure
from frugal.draw.marks import draw_series
from frugal.studies.afape.figures.given import Scenario
from frugal.studies.afape.figures.style import agent_label, estimator_label, scenario_title

LOOKS = {
    "named": style.Look("the policy to take", style.BLUE, "D"),
    "alike": style.Look("may be the best", style.BLUE, "o", hollow=True),
    "worse": style.Look("worse by more than chance", style.GREY, "s"),
    "truth": style.Look("true cost", style.BLACK, "|", line="none"),
}
ENDS = ["simultaneous_low", "simultaneous_high"]
_NEEDED = ["agent", "estimator", "estimate", *ENDS, "truth"]


@style.printed
def answer_figure(estimates: pd.DataFrame, verdict: pd.Series, *, cost_unit: str) -> Figure:
    """What every policy costs by the estimator that is read, the cheapest first.

    Lines: intervals that hold for all policies at once (95 %). Policies that are left out stand
    below, without a mark. Where the truth is known a short black line has it.

    Args:
        estimates: agent, estimator, estimate, simultaneous_low, simultaneous_high, truth, of one
            data set, mechanism and seed.
        verdict: row of the table of verdicts.
        cost_unit: the data set's unit of cost.

    Raises:
        DataError: a column is missing, there is no row, or several scenarios or seeds.
    """
    style.require(estimates, _NEEDED, single=["dataset", "mechanism", "seed"])
    if not verdict["estimator"]:
        scenario = scenario_title((verdict["dataset"], verdict["mechanism"]))
        return style.sentence_figure(f"{scenario}: {verdict['sentence']}")
    rows = _placed(estimates, verdict)
    figure = style.new_figure(height_in=1.0 + 0.24 * len(rows))
    axes = figure.subplots()
    style.shade_every_second(axes, len(rows), vertical=False)
    judged = ~rows["out"].to_numpy()
    draw_series(
        axes, rows[judged], LOOKS, by="kind", x="estimate", y="y", line=None, size=5.5,
        x_ends=rows.loc[judged, ENDS].to_numpy(dtype=float).T,
    )  # fmt: skip
    truth = rows[rows["truth"].notna()].assign(kind="truth")
    draw_series(axes, truth, LOOKS, by="kind", x="truth", y="y", line=None, size=9.0)
    _dress(axes, rows, cost_unit)
    figure.suptitle(_title(verdict), x=0.01, ha="left")
    read = estimator_label(str(verdict["estimator"]))
    kinds = [k for k in LOOKS if k in set(rows["kind"]) or (k == "truth" and len(truth))]
    handles = [LOOKS[k].handle() for k in kinds]
    interval = Line2D([], [], color=style.BLACK, linewidth=0.9, label=f"95 % for all, by {read}")
    style.add_legend(figure, [*handles, interval])
    return figure


def _placed(estimates: pd.DataFrame, verdict: pd.Series) -> pd.DataFrame:
    """Rows of the estimator that is read, from the cheapest; policies that are left out last."""
    alike, left = (str(verdict[key]).split(",") for key in ("not_worse", "left_out"))
    rows = estimates[estimates["estimator"] == verdict["estimator"]]
    rows = rows[_NEEDED].assign(out=rows["agent"].isin(left))
    rows.loc[rows["out"], ["estimate", "truth"]] = np.nan
    rows = rows.sort_values(["out", "estimate", "agent"], kind="stable").reset_index(drop=True)
    kind = np.where(rows["agent"].isin(alike), "alike", "worse").astype(object)
    kind[(rows["agent"] == verdict["agent"]).to_numpy()] = "named"
    return rows.assign(kind=np.where(rows["out"], "", kind), y=np.arange(len(rows)))


def _dress(axes: Axes, rows: pd.DataFrame, cost_unit: str) -> None:
    names = [agent_label(str(name)) for name in rows["agent"]]
    axes.set_yticks(rows["y"].to_numpy(), names)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(f"cost per case ({cost_unit})")
    for y in rows.loc[rows["out"], "y"]:
        axes.annotate(
            "left out: too few rows", (0.02, y), xycoords=("axes fraction", "data"),
            va="center_baseline", color=style.GREY, style="italic",
        )  # fmt: skip
    for tick, kind in zip(axes.get_yticklabels(), rows["kind"], strict=True):
        tick.set_fontweight("bold" if kind == "named" else "normal")


def _title(verdict: pd.Series) -> str:
    """What is seen, in a line or two."""
    scenario = scenario_title((verdict["dataset"], verdict["mechanism"]))
    agent, other = (agent_label(str(verdict[key])) for key in ("agent", "runner_up"))
    if verdict["reason"] == "the records contradict the graph":
        said = f"the records contradict the assumed graph; if it held, take {agent}"
    elif not other:
        said = f"only {agent} can be judged"
    elif verdict["state"] == "best":
        said = f"use {agent}; every other policy costs more"
    elif verdict["state"] == "good_enough":
        said = f"use {agent}; no other policy is cheaper by more than the margin"
    else:
        said = f"use {agent}; {other} may be cheaper"
    return style.wrapped(f"{scenario}: {said}", characters=95)


def _answer(given: Scenario) -> tuple[Figure, pd.DataFrame]:
    figure = answer_figure(given.estimates, given.verdict, **given.unit)
    return figure, given.estimates[given.estimates["estimator"] == given.verdict["estimator"]]


ANSWER = PrintedFigure(
    name="answer",
    place=5,
    stages=("draw_scenario_figures",),
    draw=_answer,
    doc="which policy to use, what it costs, and how sure that is",
)
