"""Figures of the recourse study on when to trust an answer: 7 and 8.

They place marks from the study's tables and know neither generators nor files.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from frugal.draw import style
from frugal.draw.figures import PrintedFigure
from frugal.draw.marks import draw_series
from frugal.studies.recourse.figures import seen
from frugal.studies.recourse.figures.effects import scenario_words
from frugal.studies.recourse.figures.given import Scenario
from frugal.studies.recourse.figures.style import (
    generator_label,
    generator_looks,
    generator_order,
    generator_style,
)

LEAST_UNITS = 10  # a share of fewer is noise


@style.printed
def confidence_figure(confidence: pd.DataFrame, frequencies: pd.DataFrame) -> Figure:
    """How sure generators are against how right they are, and accuracy by frequency.

    Left: share of right answers in bins of confidence that hold ten units or more; the diagonal is
    honesty. Right: accuracy by how many training units have the unit's explanation.
                                                                         [recourse, fig. 7]

    Args:
        confidence: rows of one scenario (see `confidence_rows`).
        frequencies: rows of one scenario (see `frequency_rows`).
    """
    style.require(confidence, ["generator", "mean_confidence", "accuracy", "n"], single=[])
    confidence = confidence[confidence["n"] >= LEAST_UNITS]
    shown = ["accuracy", "accuracy_low", "accuracy_high"]
    style.require(frequencies, ["generator", "at_least", "at_most", *shown], single=[])
    names = generator_order(confidence["generator"])
    figure = style.new_figure(height_in=2.7)
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [0, 1], color=style.GREY, linestyle=":", linewidth=0.9)
    looks = generator_looks(names)
    lines = {name: replace(look, line="--" if look.hollow else "-") for name, look in looks.items()}
    ordered = confidence.sort_values("mean_confidence")
    draw_series(
        left, ordered, lines, by="generator", x="mean_confidence", y="accuracy", line=0.8, size=3.5,
        clip_on=False,
    )  # fmt: skip
    left.set_xlabel("the generator's confidence in its answer")
    left.set_ylabel("share of right answers")
    left.set_title("sure and right?", loc="left")
    _draw_frequencies(right, frequencies, names)
    title = style.titled(scenario_words(confidence), seen.confidence(confidence))
    figure.suptitle(title, x=0.01, ha="left")
    off = seen.distance_from_confidence(confidence)
    handles = [
        look.handle(line=look.line, label=f"{look.label} (off by {off[name]:.2f})")
        for name, look in lines.items()
    ]
    style.add_legend(figure, handles)
    return figure


def _draw_frequencies(axes: Axes, frequencies: pd.DataFrame, names: list[str]) -> None:
    """Accuracy by class of frequency, generators slightly apart."""
    classes = frequencies[["at_least", "at_most"]].drop_duplicates().sort_values("at_least")
    place = {int(first): x for x, first in enumerate(classes["at_least"])}
    shift = np.linspace(-0.4, 0.4, len(names)) if len(names) > 1 else np.zeros(1)
    rows = frequencies[frequencies["generator"].isin(names)]
    apart = [shift[names.index(name)] for name in rows["generator"]]
    rows = rows.assign(at=[place[int(v)] for v in rows["at_least"]] + np.array(apart))
    draw_series(
        axes, rows, generator_looks(names), by="generator", x="at", y="accuracy", line=None,
        size=3.5, y_ends=rows[["accuracy_low", "accuracy_high"]].to_numpy(dtype=float).T,
    )  # fmt: skip
    style.shade_every_second(axes, len(place), vertical=True)
    labels = [_class_label(int(a), int(b)) for a, b in classes.itertuples(index=False)]
    axes.set_xticks(range(len(labels)), labels)
    axes.tick_params(axis="x", length=0)
    axes.set_ylim(-0.04, 1.04)
    axes.set_xlabel("training units with the same cheapest actions")
    axes.set_ylabel("share of right answers")
    axes.set_title("seen often enough?", loc="left")


def _class_label(first: int, last: int) -> str:
    if last == 0:
        return "none"
    if last == -1:
        return f"≥ {first}"
    return str(first) if first == last else f"{first}–{last}"


@style.printed
def mistake_figure(mistakes: pd.DataFrame) -> Figure:
    """Costs of wrong answers against those of the cheapest sets.        [recourse, fig. 8]

    A line per generator. Left: answers that do not work; right: answers that work but are dearer.
    Marks below the diagonal are cheaper than what is needed.

    Args:
        mistakes: dataset, variant, generator, feasible, answer_cost, true_cost; one row per mistake
            of one scenario.
    """
    style.require(
        mistakes,
        ["generator", "feasible", "answer_cost", "true_cost"],
        single=["dataset", "variant"],
    )
    names = generator_order(mistakes["generator"])
    figure = style.new_figure(height_in=2.3 * len(names) + 0.4)
    scenario = scenario_words(mistakes)
    figure.suptitle(style.titled(scenario, seen.mistakes(mistakes)), x=0.01, ha="left")
    panels = figure.subplots(len(names), 2, squeeze=False, sharex=True, sharey=True)
    top = 1.04 * float(mistakes[["answer_cost", "true_cost"]].to_numpy().max())
    for line, name in zip(panels, names, strict=True):
        for axes, feasible in zip(line, (False, True), strict=True):
            rows = mistakes[(mistakes["generator"] == name) & (mistakes["feasible"] == feasible)]
            _draw_mistakes(axes, rows, name, top)
            what = "work, but are dearer" if feasible else "do not work"
            axes.set_title(f"{generator_label(name)}: {len(rows):,} {what}", loc="left")
        line[0].set_ylabel("cost of the answer")
    for axes in panels[-1]:
        axes.set_xlabel("cost of the cheapest actions")
    return figure


def _draw_mistakes(axes: Axes, rows: pd.DataFrame, name: str, top: float) -> None:
    """One mark per distinct pair of costs; its area grows with the mistakes it stands for."""
    axes.plot([0, top], [0, top], color=style.GREY, linestyle=":", linewidth=0.9)
    pairs = rows.groupby(["true_cost", "answer_cost"]).size().reset_index(name="n")
    sns.scatterplot(
        pairs, x="true_cost", y="answer_cost", s=5 * pairs["n"] ** 0.7, linewidth=0, alpha=0.45,
        color=generator_style(name).colour, legend=False, ax=axes,
    )  # fmt: skip
    axes.set(xlabel="", ylabel="")
    axes.set_xlim(0, top)
    axes.set_ylim(0, top)
    if rows.empty:
        axes.text(
            0.5, 0.5, "none", transform=axes.transAxes, ha="center", style="italic",
            color=style.GREY,
        )  # fmt: skip


def _confidence(given: Scenario) -> tuple[Figure, pd.DataFrame]:
    return confidence_figure(given.confidence, given.frequencies), given.confidence


CONFIDENCE = PrintedFigure(
    name="recourse_confidence",
    place=30,
    stages=("draw_recourse_figures",),
    draw=_confidence,
    doc="accuracy by confidence and by training frequency",
)


MISTAKES = PrintedFigure(
    name="recourse_mistakes",
    place=40,
    stages=("draw_recourse_figures",),
    draw=lambda given: (mistake_figure(given.mistakes), given.mistakes),
    doc="what wrong answers cost",
)
