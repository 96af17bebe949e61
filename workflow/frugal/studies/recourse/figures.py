"""Figures of the recourse study: 4, 5, 7 and 8 of the paper, and the effect of a repair.

Filled marks are networks with the form of the problem, hollow ones the paper's; one colour per kind
of information, one marker per kind of learner. They show the study's tables and know neither
generators nor files.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from frugal.core.declarations import load_all
from frugal.draw import style
from frugal.draw.prints import PrintedFigure, draw_series, entry, finish, name_rows, panels
from frugal.draw.style import Look

_DECLARED = load_all("frugal.studies.recourse.generators", "GeneratorKind").values()
GENERATORS: dict[str, Look] = {
    kind.name: Look(kind.label, style.COLOURS[kind.look[0]], kind.look[1], hollow=kind.look[2])
    for kind in sorted(_DECLARED, key=lambda kind: (kind.place, kind.name))
}
LEAST_UNITS = 10  # a share of fewer is noise
_SUMMARY = "generator actions n accuracy accuracy_low accuracy_high"
_SOLVED = "share of units whose cheapest actions are found"
generator_kind = partial(style.kind_of, looks=GENERATORS, subject="generator")
generator_order = partial(style.kind_order, looks=GENERATORS, subject="generator")


def generator_style(name: str) -> Look:
    """Look of a generator, with its own words; one trained on augmented units has a cross."""
    kind = generator_kind(name)
    look, rest = GENERATORS[kind], name[len(kind) :].lstrip("_")
    if rest.startswith("ag"):
        return replace(look, marker="P", label=f"{look.label}, {rest.upper()}")
    return replace(look, label=f"{look.label}, {style.words(rest)}") if rest else look


def generator_looks(names: Iterable[str]) -> dict[str, Look]:
    """Looks of distinct generators, in the order in which every figure lists them."""
    return {name: generator_style(name) for name in generator_order(names)}


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _scenario(table: pd.DataFrame) -> str:
    """Data set and variant of a table of one scenario, as a title begins."""
    names = [str(table[c].iloc[0]) for c in ("dataset", "variant") if c in table]
    words = ", ".join(map(style.words, names))
    return words[:1].upper() + words[1:]


@PrintedFigure(name="recourse_sizes", place=10, stages=("draw_recourse_figures",))
def sizes_figure(sizes: pd.DataFrame) -> Figure:
    """Units by the number of actions that they need, for each group.

    A row of the table is a group and a size.                              [recourse, fig. 4]
    """
    style.require(sizes, "dataset variant group size n")
    scenarios = sizes.groupby(["dataset", "variant"], sort=False)
    figure, grid = panels(scenarios.ngroups, 2, 1.9, 0.3, sharey=True)
    top = 1.33 * float(sizes.groupby(["dataset", "variant", "group", "size"])["n"].sum().max())
    colours = 3 * (style.SKY, style.BLUE, style.BLACK, style.GREY)
    palette = dict(zip(sorted(sizes["size"].unique().tolist()), colours, strict=False))
    bars = {"hue": "size", "palette": palette, "saturation": 1, "linewidth": 0, "estimator": "sum"}
    for axes, ((dataset, variant), rows) in zip(grid, scenarios, strict=True):
        sns.barplot(rows, x="group", y="n", errorbar=None, legend=False, ax=axes, **bars)
        for drawn in axes.containers:
            assert isinstance(drawn, BarContainer), "bug: bars are drawn alone"
            axes.bar_label(drawn, fmt="{:,.0f}", rotation=90, padding=2)
        several = sizes["dataset"].nunique() > 1
        title = style.words(f"{dataset}: {variant}" if several else str(variant))
        axes.set_title(title, loc="left")
        axes.set(ylabel="units", ylim=(0, top))
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.label_outer(remove_inner_ticks=True)
        axes.set_xlabel("group")
    handles = [Patch(color=palette[n], label=f"{n} action{'s' * (n > 1)}") for n in palette]
    return finish(figure, "", sizes_finding(sizes), handles)


def sizes_finding(sizes: pd.DataFrame) -> str:
    """How many actions most units need; of size, n."""
    counts = sizes.groupby("size")["n"].sum()
    most = int(counts.index[int(counts.to_numpy().argmax())])
    share = float(counts.max() / counts.sum())
    return f"{_percent(share)} of units need {most} action{'s' if most != 1 else ''}"


@PrintedFigure(name="recourse_accuracy", place=20, stages=("draw_recourse_figures",))
def accuracy_figure(summary: pd.DataFrame) -> Figure:
    """How often a generator's answer is the cheapest set, by number of actions.

    Lines are 95 % intervals. Rows are of one scenario, seed and subset.   [recourse, fig. 5]
    """
    single = [c for c in ("dataset", "variant", "subset", "seed") if c in summary]
    style.require(summary, _SUMMARY, single=" ".join(single))
    looks = generator_looks(summary["generator"])
    kinds = ["all", *sorted(set(summary["actions"]) - {"all"}, key=int)]
    figure, grid = panels(len(kinds), len(kinds), 1.05 + 0.24 * len(looks), sharey=True)
    ends = ("accuracy_low", "accuracy_high")
    for axes, kind in zip(grid, kinds, strict=True):
        rows = summary[summary["actions"] == kind]
        rows = rows.assign(at=[[*looks].index(name) for name in rows["generator"]])
        draw_series(axes, rows, looks, "generator", "accuracy", "at", line=None, x_ends=ends)
        for y, share in zip(rows["at"], rows["accuracy"], strict=True):
            axes.text(1.48, y, f"{share:.3f}", ha="right", va="center_baseline")
        title = {"all": "all units", "1": "1 action"}.get(kind, f"{kind} actions")
        axes.set_title(f"{title}\n(n = {int(rows['n'].iloc[0]):,})")
        axes.set_xlim(-0.07, 1.48)
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        name_rows(axes, [look.label for look in looks.values()])
    figure.supxlabel(_SOLVED, fontsize=style.FONT_PT)
    shares = summary[summary["actions"] == "all"].set_index("generator")["accuracy"]
    return finish(figure, _scenario(summary), accuracy_finding(shares))


def accuracy_finding(shares: pd.Series) -> str:
    """Who finds the cheapest actions most often, and who of the paper's; generator → share."""
    best = str(shares.idxmax())
    share = _percent(shares[best])
    finding = f"{generator_style(best).quoted} finds the cheapest actions of {share} of units"
    papers = shares[[generator_style(str(name)).hollow for name in shares.index]]
    if not len(papers) or best in papers.index:
        return finding
    return f"{finding}, {generator_style(str(papers.idxmax())).quoted} of {_percent(papers.max())}"


@PrintedFigure(name="recourse_repair", place=50, stages=("draw_recourse_figures",))
def repair_figure(summary: pd.DataFrame) -> Figure:
    """Answers that do not work and cheapest answers, before and after repair.

    A line runs from a generator's answers to the sets that units receive once the solver has added
    the cheapest actions that make a failing answer work. The names have how much repaired answers
    cost more than the cheapest, and how many of all answers were empty: there the repair is the
    solver's own answer. Rows are of one scenario, seed and subset. Not in the paper.
    """
    more = "infeasible_share repaired_accuracy repair_cost_gap repaired_infeasible_share"
    style.require(summary, f"{_SUMMARY} {more} empty_share")
    looks = generator_looks(summary["generator"])
    rows = summary[summary["actions"] == "all"].set_index("generator").loc[[*looks]].reset_index()
    rows = rows.assign(at=range(len(rows)))
    names = [_repaired(looks[row["generator"]], row) for _, row in rows.iterrows()]
    figure, grid = panels(2, 2, 0.9 + 0.2 * len(looks), sharey=True)
    labels = {"infeasible_share": "answers that do not work", "accuracy": "cheapest actions found"}
    after: dict[str, Any] = {"marker": "|", "markersize": 10, "linestyle": "none"}
    for axes, (column, label) in zip(grid, labels.items(), strict=True):
        places, ends = ("generator", column, "at"), (column, f"repaired_{column}")
        axes.plot(rows[ends[1]], rows["at"], color=style.BLACK, clip_on=False, zorder=2, **after)
        draw_series(axes, rows, looks, *places, line=None, x_ends=ends, clip_on=False)
        axes.set(xlabel=f"{label}\n(share of units)", xlim=(0, 1), xticks=[0, 0.5, 1])
        name_rows(axes, names)
    handles = [entry("before repair", marker="o", linestyle="none")]
    handles.append(entry("after repair", style.BLACK, **after))
    return finish(figure, _scenario(summary), repair_finding(rows), handles)


def _repaired(look: Look, row: pd.Series) -> str:
    """Name of a generator, the extra cost of its repaired answers, and how many were empty."""
    excess = float(row["repair_cost_gap"])
    price = "nothing to repair" if pd.isna(excess) else f"repaired: +{100 * excess:.0f} %"
    empty = f", {100 * row['empty_share']:.0f} % empty" if row["empty_share"] >= 0.005 else ""
    return f"{look.label} ({price}{empty})"


def repair_finding(rows: pd.DataFrame) -> str:
    """Whether repaired answers work, and their additional cost; one row per generator."""
    excesses = 100 * rows["repair_cost_gap"].dropna().astype(float)
    failing = float(rows["repaired_infeasible_share"].max())
    works = "every answer works" if failing == 0 else f"all but {_percent(failing)} of answers work"
    if not len(excesses):
        return f"{works}, and none needs repair"
    ends = f"{excesses.min():.0f} to {excesses.max():.0f}"
    return f"repaired, {works}; repaired ones cost {ends} % more than the cheapest"


@PrintedFigure(name="recourse_confidence", place=30, stages=("draw_recourse_figures",))
def confidence_figure(confidence: pd.DataFrame, frequencies: pd.DataFrame) -> Figure:
    """How sure generators are and how right, and accuracy by training frequency.

    Left: share of right answers in bins of confidence that hold ten units or more; the diagonal is
    honesty. Right: accuracy by how many training units have the unit's explanation. Both tables are
    of one scenario.                                                       [recourse, fig. 7]
    """
    style.require(confidence, "generator mean_confidence accuracy n")
    confidence = confidence[confidence["n"] >= LEAST_UNITS].sort_values("mean_confidence")
    style.require(frequencies, "generator at_least at_most accuracy accuracy_low accuracy_high")
    looks = generator_looks(confidence["generator"])
    looks = {name: replace(look, line="--" if look.hollow else "-") for name, look in looks.items()}
    figure, (left, right) = panels(2, 2, 2.7)
    left.plot([0, 1], [0, 1], color=style.GREY, linestyle=":", linewidth=0.9)
    places = ("generator", "mean_confidence", "accuracy")
    draw_series(left, confidence, looks, *places, line=0.8, size=3.5, clip_on=False)
    left.set(xlabel="the generator's confidence in its answer", ylabel="share of right answers")
    left.set_title("sure and right?", loc="left")
    _draw_frequencies(right, frequencies, looks)
    off = distance_from_confidence(confidence)
    handles = [
        look.handle(line=look.line, label=f"{look.label} (off by {off[name]:.2f})")
        for name, look in looks.items()
    ]
    return finish(figure, _scenario(confidence), confidence_finding(confidence), handles)


def _draw_frequencies(axes: Axes, rows: pd.DataFrame, looks: Mapping[str, Look]) -> None:
    """Accuracy by class of frequency, generators slightly apart."""
    classes = rows[["at_least", "at_most"]].drop_duplicates().sort_values("at_least")
    place = {first: x for x, first in enumerate(classes["at_least"])}
    shift = dict(zip(looks, np.linspace(-0.4, 0.4, len(looks)), strict=True))
    rows = rows.assign(at=rows["at_least"].map(place) + rows["generator"].map(shift))
    ends = ("accuracy_low", "accuracy_high")
    draw_series(axes, rows, looks, "generator", "at", "accuracy", line=None, size=3.5, y_ends=ends)
    style.shade_every_second(axes, len(place), vertical=True)
    labels = [_class_label(int(a), int(b)) for a, b in classes.itertuples(index=False)]
    axes.set_xticks(range(len(labels)), labels)
    axes.tick_params(axis="x", length=0)
    axes.set(xlabel="training units with the same cheapest actions", ylim=(-0.04, 1.04))
    axes.set_title("seen often enough?", loc="left")


def _class_label(first: int, last: int) -> str:
    if last in (0, -1):
        return f"≥ {first}" if last else "none"
    return str(first) if first == last else f"{first}–{last}"


def distance_from_confidence(bins: pd.DataFrame) -> pd.Series:
    """Generator → how far its confidence is from its accuracy, in the mean of units of all bins."""
    off = (bins["mean_confidence"] - bins["accuracy"]).abs() * bins["n"]
    return off.groupby(bins["generator"]).sum() / bins.groupby("generator")["n"].sum()


def confidence_finding(bins: pd.DataFrame) -> str:
    """Whose confidence is nearest to its share of right answers, and whose is farthest."""
    per = distance_from_confidence(bins)
    near, far = (generator_style(str(name)).quoted for name in (per.idxmin(), per.idxmax()))
    if near == far:
        return f"{near} is off by {per.min():.2f} from its stated confidence"
    return f"{near} is calibrated (off by {per.min():.2f}), {far} is not (off by {per.max():.2f})"


@PrintedFigure(name="recourse_mistakes", place=40, stages=("draw_recourse_figures",))
def mistake_figure(mistakes: pd.DataFrame) -> Figure:
    """Costs of wrong answers against those of the cheapest sets.

    A line per generator. Left: answers that do not work; right: answers that work but cost more
    than needed. Marks below the diagonal are cheaper than needed.         [recourse, fig. 8]
    """
    style.require(mistakes, "generator feasible answer_cost true_cost", single="dataset variant")
    looks = generator_looks(mistakes["generator"])
    slots = [(name, feasible) for name in looks for feasible in (False, True)]
    figure, grid = panels(len(slots), 2, 2.3, 0.4, sharex=True, sharey=True)
    top = 1.04 * float(mistakes[["answer_cost", "true_cost"]].to_numpy().max())
    for axes, (name, feasible) in zip(grid, slots, strict=True):
        rows = mistakes[(mistakes["generator"] == name) & (mistakes["feasible"] == feasible)]
        axes.plot([0, top], [0, top], color=style.GREY, linestyle=":", linewidth=0.9)
        pairs = rows.groupby(["true_cost", "answer_cost"]).size().reset_index(name="n")
        dots = {"s": 5 * pairs["n"] ** 0.7, "color": looks[name].colour, "alpha": 0.45}
        axes.scatter(pairs["true_cost"], pairs["answer_cost"], linewidth=0, **dots)
        description = "work, but cost more" if feasible else "do not work"
        axes.set_title(f"{looks[name].label}: {len(rows):,} {description}", loc="left")
        axes.set(xlim=(0, top), ylim=(0, top), ylabel="cost of the answer")
        axes.set_xlabel("cost of the cheapest actions")
        axes.label_outer()
    return finish(figure, _scenario(mistakes), mistakes_finding(mistakes))


def mistakes_finding(table: pd.DataFrame) -> str:
    """How many wrong answers do not work, of whom has most of them; of generator, feasible."""
    failing = (~table["feasible"].astype(bool)).groupby(table["generator"]).agg(["sum", "size"])
    worst = str(failing["size"].idxmax())
    count, of = failing.loc[worst]
    return f"{count:,} of {of:,} wrong answers of {generator_style(worst).quoted} do not work"
