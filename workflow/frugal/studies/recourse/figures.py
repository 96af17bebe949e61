"""Figures of the recourse study: 4, 5, 7 and 8 of the paper, and the effect of a repair.

Filled marks are networks with the form of the problem, hollow ones the paper's; one colour per kind
of information, one marker per kind of learner. They show the study's tables and know neither
generators nor files.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from frugal.core.declarations import load_all
from frugal.draw import style
from frugal.draw.prints import PrintedFigure, draw_bars, draw_series, finish, name_rows, panels
from frugal.draw.style import Look

_DECLARED = load_all("frugal.studies.recourse.generators", "GeneratorKind").values()
GENERATORS: dict[str, Look] = {
    kind.name: Look(kind.label, style.COLOURS[kind.look[0]], kind.look[1], hollow=kind.look[2])
    for kind in sorted(_DECLARED, key=lambda kind: (kind.place, kind.name))
}
LEAST_UNITS = 10  # a share of fewer is noise
_SIZE_COLOURS = (style.SKY, style.BLUE, style.BLACK, style.GREY)
_SUMMARY = "generator actions n accuracy accuracy_low accuracy_high"


def generator_kind(name: str) -> str:
    """The kind whose name begins a generator's name; a name of none is refused."""
    return style.kind_of(name, GENERATORS, subject="generator")


def generator_style(name: str) -> Look:
    """Look of a generator, with its own words; one trained on augmented units has a cross."""
    kind = generator_kind(name)
    look, rest = GENERATORS[kind], name[len(kind) :].lstrip("_")
    if rest.startswith("ag"):
        look = replace(look, marker="P")
    words = rest.upper() if rest.startswith("ag") else style.words(rest)
    return replace(look, label=f"{look.label}, {words}") if rest else look


def generator_order(names: Iterable[str]) -> list[str]:
    """Distinct generators in the order in which every figure lists them."""
    return style.kind_order(names, GENERATORS, subject="generator")


def generator_looks(names: Iterable[str]) -> dict[str, Look]:
    """Looks of distinct generators in that order."""
    return {name: generator_style(name) for name in generator_order(names)}


def _quoted(name: str) -> str:
    return style.quoted(generator_style(name).label)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _scenario(table: pd.DataFrame) -> str:
    """Data set and variant of a table of one scenario, as a title begins."""
    words = ", ".join(
        style.words(str(table[c].iloc[0])) for c in ("dataset", "variant") if c in table
    )
    return words[:1].upper() + words[1:]


@style.printed
def sizes_figure(sizes: pd.DataFrame) -> Figure:
    """Units by number of actions that they need, for each group.        [recourse, fig. 4]

    Args:
        sizes: dataset, variant, group, size, n; one row per group and size.
    """
    style.require(sizes, "dataset variant group size n")
    scenarios = list(dict.fromkeys(zip(sizes["dataset"], sizes["variant"], strict=True)))
    figure, grid = panels(len(scenarios), 2, line_in=1.9, more_in=0.3, sharey=True)
    several = sizes["dataset"].nunique() > 1
    highest = float(sizes.groupby(["dataset", "variant", "group", "size"])["n"].sum().max())
    numbers = sorted(int(size) for size in sizes["size"].unique())
    for k, (axes, (dataset, variant)) in enumerate(zip(grid, scenarios, strict=True)):
        rows = style.select(sizes, dataset=dataset, variant=variant)
        table = rows.pivot_table(index="group", columns="size", values="n", aggfunc="sum")
        _draw_sizes(axes, table.reindex(columns=numbers).fillna(0), highest)
        title = style.words(f"{dataset}: {variant}" if several else str(variant))
        axes.set_title(title, loc="left")
        axes.set(xlabel="group", ylabel="" if k % 2 else "units", ylim=(0, 1.33 * highest))
    handles = [
        Patch(facecolor=_SIZE_COLOURS[k % 4], label=f"{s} action{'s' if s > 1 else ''}")
        for k, s in enumerate(numbers)
    ]
    return finish(figure, "", sizes_finding(sizes), handles)


def _draw_sizes(axes: Axes, table: pd.DataFrame, highest: float) -> None:
    """Bars side by side for each group, with their counts above."""
    width = 0.8 / len(table.columns)
    for k, size in enumerate(table.columns):
        at = np.arange(len(table)) + (k - (len(table.columns) - 1) / 2) * width
        counts = table[size].to_numpy(dtype=float)
        draw_bars(axes, at, counts, colour=_SIZE_COLOURS[k % 4], width=0.92 * width)
        for x, n in zip(at, counts, strict=True):
            axes.text(x, n + 0.015 * highest, f"{n:,.0f}", ha="center", va="bottom", rotation=90)
    axes.set_xticks(range(len(table)), [str(group) for group in table.index])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, len(table) - 0.5)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def sizes_finding(sizes: pd.DataFrame) -> str:
    """How many actions most units need; of size, n."""
    counts = sizes.groupby("size")["n"].sum()
    most = int(counts.index[int(counts.to_numpy().argmax())])
    share = float(counts.max() / counts.sum())
    return f"{_percent(share)} of units need {most} action{'s' if most != 1 else ''}"


@style.printed
def accuracy_figure(summary: pd.DataFrame) -> Figure:
    """Accuracy of each generator by number of actions, with 95 % intervals.  [recourse, fig. 5]

    Args:
        summary: rows of one scenario, seed and subset (see `accuracy_rows`).
    """
    single = [c for c in ("dataset", "variant", "subset", "seed") if c in summary]
    style.require(summary, _SUMMARY, single=" ".join(single))
    looks = generator_looks(summary["generator"])
    names = list(looks)
    kinds = ["all", *sorted(set(summary["actions"]) - {"all"}, key=int)]
    height = 1.05 + 0.24 * len(names)
    figure, grid = panels(len(kinds), len(kinds), line_in=height, more_in=0.0, sharey=True)
    for axes, kind in zip(grid, kinds, strict=True):
        rows = summary[summary["actions"] == kind]
        rows = rows.assign(at=[names.index(name) for name in rows["generator"]])
        draw_series(
            axes,
            rows,
            looks,
            by="generator",
            x="accuracy",
            y="at",
            line=None,
            size=5.0,
            x_ends=("accuracy_low", "accuracy_high"),
        )
        for y, share in zip(rows["at"], rows["accuracy"], strict=True):
            axes.text(1.48, y, f"{share:.3f}", ha="right", va="center_baseline")
        title = {"all": "all units", "1": "1 action"}.get(kind, f"{kind} actions")
        axes.set_title(f"{title}\n(n = {int(rows['n'].iloc[0]):,})")
        axes.set_xlim(-0.07, 1.48)
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        name_rows(axes, len(names))
    name_rows(grid[0], [look.label for look in looks.values()])
    figure.supxlabel("share of units whose cheapest actions are found", fontsize=style.FONT_PT)
    shares = summary[summary["actions"] == "all"].set_index("generator")["accuracy"]
    return finish(figure, _scenario(summary), accuracy_finding(shares))


def accuracy_finding(shares: pd.Series) -> str:
    """Who names the cheapest actions most often, and who of the paper's learners.

    Args:
        shares: generator → share of units whose cheapest actions it finds.
    """
    best = str(shares.idxmax())
    finding = f"{_quoted(best)} finds the cheapest actions of {_percent(shares[best])} of units"
    papers = shares[[generator_style(str(name)).hollow for name in shares.index]]
    if not len(papers) or best in papers.index:
        return finding
    other = str(papers.idxmax())
    return f"{finding}, {_quoted(other)} of {_percent(papers[other])}"


@style.printed
def repair_figure(summary: pd.DataFrame) -> Figure:
    """Cheapest answers and answers that do not work, before and after repair. Not in the paper.

    An arrow runs from a generator's answer to the set that a unit receives once the solver has
    added the cheapest actions that make a failing answer work. The legend gives how much repaired
    answers cost more than the cheapest, and how many of all answers were empty: there the repair is
    the solver's own answer.

    Args:
        summary: rows of one scenario, seed and subset (see `accuracy_rows`).
    """
    more = "infeasible_share repaired_accuracy repair_cost_gap repaired_infeasible_share"
    style.require(summary, f"{_SUMMARY} {more} empty_share")
    rows = summary[summary["actions"] == "all"].set_index("generator", drop=False)
    looks = generator_looks(rows.index)
    rows = rows.loc[list(looks)].assign(
        failing=100 * rows["infeasible_share"],
        repaired_failing=100 * rows["repaired_infeasible_share"],
    )
    figure = style.new_figure(height_in=3.1)
    axes = figure.subplots()
    for k, name in enumerate(looks):
        row = rows.iloc[[k]]
        size = 6.5 + 4 * _later_beside(rows.iloc[k:])
        draw_series(
            axes,
            row,
            looks,
            by="generator",
            x="accuracy",
            y="failing",
            line=None,
            size=size,
            clip_on=False,
        )
        before, after = (
            tuple(row[[f"{state}accuracy", f"{state}failing"]].to_numpy()[0])
            for state in ("", "repaired_")
        )
        arrow = {"arrowstyle": "->", "color": looks[name].colour, "linewidth": 1.1}
        axes.annotate("", after, before, arrowprops=arrow)
    axes.set_xlabel("share of units whose cheapest actions are found")
    axes.set_ylabel("answers that do not work (%)")
    axes.set_ylim(bottom=0)
    axes.axhline(0, color=style.BLACK, linewidth=0.7)
    handles = [
        looks[name].handle(label=_repaired(looks[name], row))
        for name, (_, row) in zip(looks, rows.iterrows(), strict=True)
    ]
    return finish(figure, _scenario(summary), repair_finding(rows), handles)


def _later_beside(rows: pd.DataFrame) -> int:
    """How many of the rows after the first would hide it: such marks are drawn larger."""
    near = rows[["accuracy", "infeasible_share"]] - rows[["accuracy", "infeasible_share"]].iloc[0]
    return int((near.abs() < 0.008).all(axis=1).sum()) - 1


def _repaired(look: Look, row: pd.Series) -> str:
    """Name of a generator, the extra cost of its repaired answers, and how many were empty."""
    excess = float(row["repair_cost_gap"])
    price = "nothing to repair" if pd.isna(excess) else f"repaired: +{100 * excess:.0f} %"
    empty = f", {100 * row['empty_share']:.0f} % empty" if row["empty_share"] >= 0.005 else ""
    return f"{look.label} ({price}{empty})"


def repair_finding(rows: pd.DataFrame) -> str:
    """Whether repaired answers work, and their extra cost over the cheapest.

    Args:
        rows: repaired_infeasible_share, repair_cost_gap; one row per generator.
    """
    excesses = rows["repair_cost_gap"].dropna().to_numpy(dtype=float)
    failing = float(rows["repaired_infeasible_share"].max())
    works = "every answer works" if failing == 0 else f"all but {_percent(failing)} of answers work"
    if not len(excesses):
        return f"{works}, and none needs repair"
    low, high = (f"{100 * end:.0f}" for end in (np.min(excesses), np.max(excesses)))
    return f"repaired, {works}; repaired ones cost {low} to {high} % more than the cheapest"


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
    style.require(confidence, "generator mean_confidence accuracy n")
    confidence = confidence[confidence["n"] >= LEAST_UNITS]
    style.require(frequencies, "generator at_least at_most accuracy accuracy_low accuracy_high")
    looks = generator_looks(confidence["generator"])
    figure, (left, right) = panels(2, 2, line_in=2.7, more_in=0.0)
    left.plot([0, 1], [0, 1], color=style.GREY, linestyle=":", linewidth=0.9)
    lines = {name: replace(look, line="--" if look.hollow else "-") for name, look in looks.items()}
    draw_series(
        left,
        confidence.sort_values("mean_confidence"),
        lines,
        by="generator",
        line=0.8,
        size=3.5,
        x="mean_confidence",
        y="accuracy",
        clip_on=False,
    )
    left.set_xlabel("the generator's confidence in its answer")
    left.set_ylabel("share of right answers")
    left.set_title("sure and right?", loc="left")
    _draw_frequencies(right, frequencies, looks)
    off = distance_from_confidence(confidence)
    handles = [
        look.handle(line=look.line, label=f"{look.label} (off by {off[name]:.2f})")
        for name, look in lines.items()
    ]
    return finish(figure, _scenario(confidence), confidence_finding(confidence), handles)


def _draw_frequencies(axes: Axes, frequencies: pd.DataFrame, looks: dict[str, Look]) -> None:
    """Accuracy by class of frequency, generators slightly apart."""
    classes = frequencies[["at_least", "at_most"]].drop_duplicates().sort_values("at_least")
    place = {int(first): x for x, first in enumerate(classes["at_least"])}
    apart = np.linspace(-0.4, 0.4, len(looks)) if len(looks) > 1 else np.zeros(1)
    shift = dict(zip(looks, apart, strict=True))
    rows = frequencies[frequencies["generator"].isin(list(looks))]
    rows = rows.assign(
        at=[
            place[int(least)] + shift[name]
            for least, name in zip(rows["at_least"], rows["generator"], strict=True)
        ]
    )
    draw_series(
        axes,
        rows,
        looks,
        by="generator",
        x="at",
        y="accuracy",
        line=None,
        size=3.5,
        y_ends=("accuracy_low", "accuracy_high"),
    )
    style.shade_every_second(axes, len(place), vertical=True)
    labels = [_class_label(int(a), int(b)) for a, b in classes.itertuples(index=False)]
    axes.set_xticks(range(len(labels)), labels)
    axes.tick_params(axis="x", length=0)
    axes.set_ylim(-0.04, 1.04)
    axes.set_xlabel("training units with the same cheapest actions")
    axes.set_ylabel("share of right answers")
    axes.set_title("seen often enough?", loc="left")


def _class_label(first: int, last: int) -> str:
    if last in (0, -1):
        return f"≥ {first}" if last else "none"
    return str(first) if first == last else f"{first}–{last}"


def distance_from_confidence(bins: pd.DataFrame) -> pd.Series:
    """Generator → how far its confidence is from its accuracy, in the mean of its units.

    Args:
        bins: generator, mean_confidence, accuracy, n; one row per bin.
    """
    off = (bins["mean_confidence"] - bins["accuracy"]).abs() * bins["n"]
    return off.groupby(bins["generator"]).sum() / bins.groupby("generator")["n"].sum()


def confidence_finding(bins: pd.DataFrame) -> str:
    """Whose confidence is nearest to its share of right answers, and whose is farthest."""
    per = distance_from_confidence(bins)
    near, far = str(per.idxmin()), str(per.idxmax())
    if near == far:
        return f"{_quoted(near)} is off by {per[near]:.2f} from its stated confidence"
    return (
        f"{_quoted(near)} is calibrated (off by {per[near]:.2f}), "
        f"{_quoted(far)} is not (off by {per[far]:.2f})"
    )


@style.printed
def mistake_figure(mistakes: pd.DataFrame) -> Figure:
    """Costs of wrong answers against those of the cheapest sets.        [recourse, fig. 8]

    A line per generator. Left: answers that do not work; right: answers that work but cost more
    than needed. Marks below the diagonal are cheaper than needed.

    Args:
        mistakes: dataset, variant, generator, feasible, answer_cost, true_cost; one row per mistake
            of one scenario.
    """
    style.require(mistakes, "generator feasible answer_cost true_cost", single="dataset variant")
    looks = generator_looks(mistakes["generator"])
    slots = [(name, feasible) for name in looks for feasible in (False, True)]
    figure, grid = panels(len(slots), 2, line_in=2.3, more_in=0.4, sharex=True, sharey=True)
    top = 1.04 * float(mistakes[["answer_cost", "true_cost"]].to_numpy().max())
    for axes, (name, feasible) in zip(grid, slots, strict=True):
        rows = mistakes[(mistakes["generator"] == name) & (mistakes["feasible"] == feasible)]
        axes.plot([0, top], [0, top], color=style.GREY, linestyle=":", linewidth=0.9)
        pairs = rows.groupby(["true_cost", "answer_cost"]).size().reset_index(name="n")
        sns.scatterplot(
            pairs,
            x="true_cost",
            y="answer_cost",
            s=5 * pairs["n"] ** 0.7,
            linewidth=0,
            alpha=0.45,
            color=looks[name].colour,
            legend=False,
            ax=axes,
        )
        axes.set(xlim=(0, top), ylim=(0, top))
        if rows.empty:
            middle: dict[str, Any] = {"ha": "center", "transform": axes.transAxes}
            axes.text(0.5, 0.5, "none", style="italic", color=style.GREY, **middle)
        description = "work, but cost more" if feasible else "do not work"
        axes.set_title(f"{looks[name].label}: {len(rows):,} {description}", loc="left")
        axes.set(xlabel="", ylabel="" if feasible else "cost of the answer")
    for axes in grid[-2:]:
        axes.set_xlabel("cost of the cheapest actions")
    return finish(figure, _scenario(mistakes), mistakes_finding(mistakes))


def mistakes_finding(table: pd.DataFrame) -> str:
    """How many wrong answers do not work, of the generator with most of them.

    Args:
        table: generator, feasible; one row per wrong answer.
    """
    failing = (~table["feasible"].astype(bool)).groupby(table["generator"]).agg(["sum", "size"])
    worst = str(failing["size"].idxmax())
    count, of = failing.loc[worst]
    return f"{count:,} of {of:,} wrong answers of {_quoted(worst)} do not work"


SIZES = PrintedFigure(
    name="recourse_sizes",
    place=10,
    stages=("draw_recourse_figures",),
    draw=sizes_figure,
    doc="units by the number of actions that they need",
)
ACCURACY = PrintedFigure(
    name="recourse_accuracy",
    place=20,
    stages=("draw_recourse_figures",),
    draw=accuracy_figure,
    doc="how often a generator's answer is the cheapest set",
)
CONFIDENCE = PrintedFigure(
    name="recourse_confidence",
    place=30,
    stages=("draw_recourse_figures",),
    draw=confidence_figure,
    doc="accuracy by confidence and by training frequency",
)
MISTAKES = PrintedFigure(
    name="recourse_mistakes",
    place=40,
    stages=("draw_recourse_figures",),
    draw=mistake_figure,
    doc="the cost of wrong answers",
)
REPAIR = PrintedFigure(
    name="recourse_repair",
    place=50,
    stages=("draw_recourse_figures",),
    draw=repair_figure,
    doc="changes by a repair by the solver",
)
