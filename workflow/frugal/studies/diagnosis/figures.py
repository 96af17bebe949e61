"""Figures of the diagnosis study: 3 to 6 of Yu et al. (2023), families, beliefs, panels, patients.

Learned policies are blue, other ways to choose panels each have a colour of their own, classifiers
on panels that are the same for all are orange (filled: all panels; hollow: fixed ones; crosses:
columns known at the start), the exact rule of a simulator is black. They show tables and know
neither policies nor files.
"""

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from frugal.core.declarations import load_literals
from frugal.core.errors import DataError
from frugal.draw import style
from frugal.draw.prints import PrintedFigure, draw_series, entry, finish, name_rows, panels
from frugal.draw.style import Look
from frugal.studies.diagnosis.choice import BEST_FULL

FULL, FIXED, FREE = "_full", "_fixed", "_free"
SAME_FOR_ALL = {  # ends of names of classifiers: what they read, marker, hollow
    FULL: ("all panels", "o", False),
    FIXED: ("fixed panels", "o", True),
    FREE: ("no panel", "x", False),
}
METHODS = style.looks_of(load_literals("frugal.acquire.policies", "AgentKind").values()) | {
    "bayes_static": Look("exact rule, fixed panels", style.BLACK, "*")
}
CLASSIFIERS: dict[str, str] = {
    name: declared["label"]
    for name, declared in load_literals("frugal.learn.tabular_baselines", "Classifier").items()
}
SCORE_WORDS = {"f1": "F1", "auroc": "AUROC", "am": "AM"}
_SPARE = ("8", "H", ">")


def method_style(name: str) -> Look:
    """Look of a method; names that begin like a known one share its look and keep their own words.

    Classifiers on the same panels share a mark, since many have the same cost. Any other name is
    grey with a marker that follows from it.
    """
    for end, (panels_read, marker, hollow) in SAME_FOR_ALL.items():
        if name.endswith(end):
            kind = name.removesuffix(end)
            words = CLASSIFIERS.get(kind, style.words(kind))
            return Look(f"{words}, {panels_read}", style.ORANGE, marker, hollow)
    if name in METHODS:
        return METHODS[name]
    begun = [method for method in METHODS if name.startswith(f"{method}_")]
    if begun:
        kind = max(begun, key=len)
        look, rest = METHODS[kind], style.words(name[len(kind) :].lstrip("_"))
        return Look(f"{look.label}, {rest}", look.colour, look.marker, True)
    return Look(style.words(name), style.GREY, _SPARE[sum(map(ord, name)) % len(_SPARE)])


def method_order(names: Iterable[str]) -> list[str]:
    """Distinct methods: learned ones, other selections, the exact rule, classifiers by panels."""
    listed = [*METHODS, *(f"{c}{end}" for end in SAME_FOR_ALL for c in CLASSIFIERS)]
    return sorted(
        set(names), key=lambda name: (listed.index(name) if name in listed else len(listed), name)
    )


def _looks_below(names: Iterable[str]) -> dict[str, Look]:
    """Looks of methods, the first of the order last, so it is drawn above the others."""
    return {name: method_style(name) for name in reversed(method_order(names))}


def _score(name: str) -> str:
    return SCORE_WORDS.get(name, style.words(name))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _quoted(method: object) -> str:
    return style.quoted(method_style(str(method)).label)


@PrintedFigure(name="diagnosis_families", place=5, stages=("draw_fronts",))
def families_figure(budgets: pd.DataFrame, title: str) -> Figure:
    """Score on test units of the policy that each family chooses within each budget.

    A panel per score by which policies are chosen. Lines: families, means over divisions of the
    rows. Dotted: the classifier on all panels that validation units choose, with one standard error
    either way (shaded).   [diagnosis, fig. 4]

    Args:
        budgets: of one data set: method, criterion, seed, budget_share, and scores with errors.
        title: of the data set.
    """
    style.require(budgets, "method criterion seed budget_share cost_share")
    criteria = sorted(budgets["criterion"].unique(), reverse=True)
    figure, grid = panels(len(criteria), len(criteria), line_in=3.2, more_in=0.0)
    words = {"f1": "F1", "am": "mean of sensitivity and specificity"}
    means = {name: _means(budgets[budgets["criterion"] == name], name) for name in criteria}
    for axes, name in zip(grid, criteria, strict=True):
        _draw_families(axes, means[name], name)
        axes.set_ylabel(words.get(name, style.words(name)))
    first = criteria[0]
    handles: list[Artist] = []
    for name in method_order(_families(means[first])):
        rows = means[first][means[first]["method"] == name]
        best, look = style.highest(rows, first), method_style(name)
        label = f"{look.label} ({best[first]:.2f} for {_percent(best['cost_share'])})"
        handles.append(look.handle(line="-", label=label))
    handles.append(entry("best classifier on all panels", style.BLACK, linestyle=":"))
    return finish(figure, title, families_finding(means[first], BEST_FULL, first), handles)


def _means(rows: pd.DataFrame, score: str) -> pd.DataFrame:
    """Means over divisions of the rows."""
    columns = [score, f"{score}_se", "cost_share"]
    return rows.groupby(["method", "budget_share"], observed=True)[columns].mean().reset_index()


def _families(means: pd.DataFrame) -> list[str]:
    """Families that order panels; classifiers on sets that are the same for all are left out."""
    names = means["method"].astype(str).unique().tolist()
    return [name for name in names if not name.endswith((*SAME_FOR_ALL,)) and name != BEST_FULL]


def _draw_families(axes: Axes, means: pd.DataFrame, score: str) -> None:
    reference = means[means["method"] == BEST_FULL]
    if len(reference):
        level, error = reference[score].iloc[-1], reference[f"{score}_se"].iloc[-1]
        axes.axhspan(level - error, level + error, color=style.GREY, alpha=0.15, linewidth=0)
        axes.axhline(level, color=style.BLACK, linestyle=":", linewidth=1.0)
    looks = _looks_below(_families(means))
    rows = means.assign(percent=100 * means["cost_share"])
    draw_series(axes, rows, looks, by="method", x="percent", y=score, size=4.5, clip_on=False)
    axes.set_xlim(left=0)
    axes.set_xlabel("mean price paid, % of all panels")


def families_finding(means: pd.DataFrame, reference: str, score: str) -> str:
    """Who reaches the classifier on all panels at the lowest price, or who comes nearest.

    Args:
        means: method, cost_share, the score and its error; the reference among the methods.
        reference: the classifier that sees every panel.
        score: column.
    """
    word = _score(score)
    full = means[means["method"] == reference]
    rows = means[means["method"].isin(_families(means)) & (means["method"] != reference)]
    if not len(rows):
        return "results of classifiers"
    best = style.highest(rows, score)
    if not len(full):
        return f"{_quoted(best['method'])} reaches {word} {_at(best, score)}"
    level, error = (float(full[c].iloc[-1]) for c in (score, f"{score}_se"))
    good = rows[rows[score] >= level - error]
    first = style.lowest(good, "cost_share") if len(good) else best
    verb = "reaches" if len(good) else "comes nearest:"
    return (
        f"{_quoted(first['method'])} {verb} {word} {_at(first, score)}; "
        f"a classifier on all panels {level:.2f} ± {error:.2f}"
    )


def _at(row: pd.Series, score: str) -> str:
    return f"{row[score]:.2f} for {_percent(row['cost_share'])} of the price"


RELIABILITY_TICKS = (0.0, 0.05, 0.25, 0.5, 1.0)


@PrintedFigure(name="diagnosis_reliability", place=6, stages=("draw_fronts",))
def reliability_figure(reliability: pd.DataFrame, title: str, budget_share: float) -> Figure:
    """Predicted probability of illness at the last decision against the share that is ill.

    A panel per family. Both axes are square roots, since illness is rare. On the dashed line
    predictions are calibrated. Above each panel: slope of calibration and log-loss, that of the
    base rate behind.

    Args:
        reliability: method, belief, rate, rate_low, rate_high, calibration_slope, log_loss,
            base_log_loss.
        title: of the data set.
        budget_share: of the price of all panels, within which the policies were chosen.
    """
    style.require(reliability, "method belief rate rate_low rate_high")
    methods = method_order(reliability["method"].unique())
    figure, grid = panels(len(methods), 3, line_in=2.0, more_in=0.6, sharex=True, sharey=True)
    for place, (axes, method) in enumerate(zip(grid, methods, strict=True)):
        _draw_reliability(axes, reliability[reliability["method"] == method], method)
        axes.xaxis.set_tick_params(labelbottom=place + 3 >= len(methods))
    figure.supxlabel("predicted probability of illness, %")
    figure.supylabel("ill among these test units, % (95 % interval)")
    finding = reliability_finding(reliability)
    return finish(figure, title, f"within {100 * budget_share:g} % of the price, {finding}")


def _draw_reliability(axes: Axes, rows: pd.DataFrame, method: str) -> None:
    look, first = method_style(method), rows.iloc[0]
    axes.plot([0, 1], [0, 1], color=style.GREY, linestyle="--", linewidth=0.8)
    draw_series(
        axes,
        rows,
        {method: look},
        by="method",
        x="belief",
        y="rate",
        line=None,
        y_ends=("rate_low", "rate_high"),
        clip_on=False,
    )
    slope = first["calibration_slope"]
    words = "" if pd.isna(slope) else f"slope {slope:.2f}, "
    loss = f"{words}loss {first['log_loss']:.3f} ({first['base_log_loss']:.3f})"
    axes.set_title(f"{look.label}\n{loss}", fontsize=style.FONT_PT, loc="left")
    roots = (lambda values: np.sqrt(np.maximum(values, 0)), np.square)
    names = [f"{100 * tick:g}" for tick in RELIABILITY_TICKS]
    axes.set_xscale("function", functions=roots)
    axes.set_yscale("function", functions=roots)
    axes.set_xticks(RELIABILITY_TICKS, names)
    axes.set_yticks(RELIABILITY_TICKS, names)
    axes.set(xlim=(0, 1), ylim=(0, 1))


def reliability_finding(groups: pd.DataFrame) -> str:
    """Who loses least by beliefs, and whether that is less than without any panel.

    Args:
        groups: method, log_loss, base_log_loss.
    """
    losses = groups.groupby("method", observed=True)[["log_loss", "base_log_loss"]].first()
    best = str(losses["log_loss"].idxmin())
    worse = int((losses["log_loss"] > losses["base_log_loss"]).sum())
    finding = f"best calibrated is {_quoted(best)} (log loss {losses.loc[best, 'log_loss']:.3f})"
    alone = f"{worse} of {len(losses)} are worse than the plain share of the ill"
    return f"{finding}; {alone}" if worse else finding


@PrintedFigure(
    name="diagnosis_front",
    place=10,
    stages=("draw_diagnosis_figures",),
    fixed={"highest_cost": None},
    doc="score against cost, solution by solution",
)
@PrintedFigure(
    name="diagnosis_front_zoomed",
    place=20,
    stages=("draw_diagnosis_figures",),
    table="cheap_solutions",
    doc="the cheap end of the front",
)
def front_figure(
    solutions: pd.DataFrame,
    method: str,
    scores: Sequence[str],
    cost_unit: str,
    title: str,
    highest_cost: float | None,
) -> Figure:
    """Cost and score of every solution, the front of one method, other methods around it.

    Faint points: all solutions of `method`. Line: those of its solutions that validation units put
    on the front, at their cost and score on the units of the table, so it need not rise.
    Dotted steps, where the table has `on_test_front`: the envelope of all solutions on the test
    units themselves, as the paper draws it, for the left score by which it is one; a maximum over
    many draws, and so too high. Methods with several solutions are lines of small marks;
    classifiers are single marks at the cost of their panels, all of one look on all panels (filled)
    and of one on fixed ones (hollow).                          [diagnosis, fig. 4; fig. 6]

    Args:
        solutions: method, pair, seed, split, cost, on_front and the columns of `scores`; one seed
            and one split.
        method: whose front is drawn.
        scores: two columns, left and right, for example ("f1", "auroc").
        cost_unit: of the cost axis.
        title: of the data set.
        highest_cost: right end of the axis, for the zoom of Fig. 6; None shows all.
    """
    style.require(solutions, f"method pair cost on_front {' '.join(scores)}", single="seed split")
    style.select(solutions, method=method)
    rows = solutions if highest_cost is None else solutions[solutions["cost"] <= highest_cost]
    figure, grid = panels(2, 2, line_in=3.0, more_in=0.0, sharex=True)
    for axes, score in zip(grid, scores, strict=True):
        places: dict[str, Any] = {"by": "method", "x": "cost", "y": score, "clip_on": False}
        looks = _looks_below(rows["method"])
        mine = rows[rows["method"] == method]
        draw_series(axes, mine, {method: _faint(method)}, line=None, size=3.0, zorder=1, **places)
        others = rows[rows["method"] != method].sort_values(["cost", score])
        single = ~others.duplicated("method", keep=False)
        draw_series(axes, others[single], looks, line=None, size=5.0, **places)
        dashed = {name: replace(look, line="--") for name, look in looks.items()}
        many = others[~single & others["on_front"]]
        draw_series(axes, many, dashed, line=0.8, size=3.5, **places)
        front = mine[mine["on_front"]].sort_values(["cost", score])
        draw_series(axes, front, looks, line=1.5, size=4.5, zorder=4, **places)
        axes.set_xlabel(f"mean cost per unit ({cost_unit})")
        axes.set_ylabel(_score(score))
        axes.set_xlim(0, None if highest_cost is None else 1.03 * highest_cost)
    envelope = _envelope(rows, method)
    if len(envelope):
        envelope = envelope.sort_values(["cost", scores[0]])
        stroke: dict[str, Any] = {
            "color": style.BLACK,
            "linewidth": 0.9,
            "linestyle": ":",
            "zorder": 2,
        }
        grid[0].step(envelope["cost"], envelope[scores[0]], where="post", **stroke)
    finding = front_finding(rows, method, scores[0])
    return finish(figure, title, finding, _front_handles(rows, method, scores[0]))


def _envelope(rows: pd.DataFrame, method: str) -> pd.DataFrame:
    """The best of all solutions of a method on these very units, where the table has them."""
    mine = rows[rows["method"] == method]
    return mine[mine["on_test_front"]] if "on_test_front" in mine else mine.head(0)


def _faint(method: str) -> Look:
    """Look of all solutions of a method behind its front."""
    look = method_style(method)
    pale = to_hex(style.lightened(look.colour, share=0.65))
    return replace(look, colour=pale, label="all its solutions")


def _front_handles(solutions: pd.DataFrame, method: str, score: str) -> list[Artist]:
    """Entries of the legend with the highest score of each and its price; the front first."""
    look = method_style(method)
    front = solutions[(solutions["method"] == method) & solutions["on_front"]]
    label = f"{look.label}: front{_best(front, score)}"
    handles: list[Artist] = [look.handle(line="-", label=label), _faint(method).handle()]
    if len(_envelope(solutions, method)):
        handles.append(entry("its best on these units", style.BLACK, linestyle=":", linewidth=0.9))
    names = [name for name in method_order(solutions["method"]) if name != method]
    for name in names:
        if not name.endswith(tuple(SAME_FOR_ALL)):
            rows, other = solutions[solutions["method"] == name], method_style(name)
            several = len(rows) > 1
            label = f"{other.label}{_best(rows[rows['on_front']] if several else rows, score)}"
            handles.append(other.handle(line="--" if several else "none", label=label))
    for end, (words, *_) in SAME_FOR_ALL.items():
        classifiers = [name for name in names if name.endswith(end)]
        if classifiers:
            label = f"{len(classifiers)} classifiers, {words}" if len(classifiers) > 1 else None
            handles.append(method_style(classifiers[0]).handle(label=label))
    return handles


def _best(rows: pd.DataFrame, score: str) -> str:
    """The highest score of a method and its cost, in brackets."""
    if not rows[score].notna().any():
        return ""
    best = style.highest(rows, score)
    return f" ({best[score]:.2f} for {best['cost']:,.0f})"


def front_finding(solutions: pd.DataFrame, method: str, score: str) -> str:
    """From where to where the front goes, and the scores of classifiers on all panels.

    Args:
        solutions: method, cost, on_front and the score, of the points drawn.
        method: whose front it is.
        score: column.
    """
    mine = solutions[(solutions["method"] == method) & solutions["on_front"]].sort_values("cost")
    if not len(mine):
        return f"{_quoted(method)} has no policy on the front here"
    (low, first), (high, last) = (mine[["cost", score]].iloc[k] for k in (0, -1))
    finding = f"{_quoted(method)} has {_score(score)} {first:.2f} for {low:,.3g} a unit"
    finding += f", {last:.2f} for {high:,.3g}" if len(mine) > 1 else ""
    full = solutions[solutions["method"].astype(str).str.endswith(FULL)]
    if not len(full):
        return finding
    best = style.highest(full, score)
    return f"{finding}; a classifier on all panels {best[score]:.2f} for {best['cost']:,.3g}"


_SPLITS = {
    "train": Look("training units", style.BLUE, "", line="-"),
    "validation": Look("validation units", style.ORANGE, "", line="--"),
    "test": Look("test units", style.BLACK, "", line=":"),
}
_STATES = {
    "classifier_auroc_random": Look(
        "classifier, random panels known", style.VERMILLION, "", line="--"
    ),
    "classifier_auroc_policy": Look("classifier, states that the policy visits", style.PURPLE, ""),
}
_OTHER_PAIRS = Look("other pairs", to_hex(style.lightened(style.GREY, share=0.75)), "")


@PrintedFigure(name="diagnosis_curves", place=30, stages=("draw_diagnosis_figures",))
def curves_figure(
    curves: pd.DataFrame, pair: int, classifier_split: str, cost_unit: str, training: str
) -> Figure:
    """A policy and its classifier while they are trained, those of all other pairs faint behind.

    Upper left: AUROC of the classifier on random states and on those that the policy visits
    [diagnosis, fig. 3]; then AUROC, F1 and cost of the policy on training, validation and test
    units [diagnosis, fig. 5]. Faint lines are the other pairs: their classifiers on visited
    states, and their policies on the first of the splits that the table has of validation and
    training units. A mark shows the weights that were kept, where the table has `kept`.

    Args:
        curves: pair, steps (of one learner), split, f1, auroc, cost, classifier_auroc_random,
            classifier_auroc_policy; one row per pair, split and look; of one method and seed.
        pair: drawn strongly.
        classifier_split: split on which the classifier is shown.
        cost_unit: of the cost axis.
        training: title, of the data set and the pair.

    Raises:
        DataError: a column is missing, the pair or the split is not in the table, or a split has
            no fixed look.
    """
    single = " ".join(c for c in ("method", "seed") if c in curves)
    style.require(curves, f"pair steps split f1 auroc cost {' '.join(_STATES)}", single=single)
    unknown = sorted(set(curves["split"]) - set(_SPLITS))
    if unknown:
        raise DataError(f"split {unknown[0]!r} has no colour; allowed are {', '.join(_SPLITS)}")
    curves = curves.sort_values("steps", kind="stable")
    mine, others = style.select(curves, pair=pair), curves[curves["pair"] != pair]
    figure, (classifier, auroc, f1, cost) = panels(4, 2, line_in=2.15, more_in=0.0, sharex=True)
    _draw_faint(classifier, others, classifier_split, "classifier_auroc_policy")
    rows = style.select(mine, split=classifier_split)
    states = rows.melt("steps", list(_STATES), var_name="states", value_name="score")
    draw_series(classifier, states, _STATES, by="states", x="steps", y="score", size=0.0)
    classifier.set_ylabel("AUROC of the classifier")
    classifier.set_title(f"classifier, {_SPLITS[classifier_split].label}", loc="left")
    auroc.set_title("policy", loc="left")
    words = {"auroc": "AUROC of diagnoses", "f1": "F1", "cost": f"mean cost ({cost_unit})"}
    for axes, (score, label) in zip((auroc, f1, cost), words.items(), strict=True):
        present = [
            split for split in ("validation", "train", "test") if split in set(mine["split"])
        ]
        _draw_faint(axes, others, present[0], score)
        places: dict[str, Any] = {"by": "split", "x": "steps", "y": score}
        draw_series(axes, mine, _SPLITS, size=0.0, **places)
        if "kept" in mine:
            dots = {split: replace(look, marker="o") for split, look in _SPLITS.items()}
            draw_series(axes, mine[mine["kept"]], dots, line=None, size=4.5, zorder=4, **places)
        axes.set_ylabel(label)
    for axes in (f1, cost):
        axes.set_xlabel("steps of the policy")
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    cost.set_ylim(bottom=0)
    looks = [*_STATES.values(), *(_SPLITS[s] for s in _SPLITS if s in set(mine["split"]))]
    handles = [look.handle(line=look.line) for look in looks]
    handles += [Look("weights kept", style.GREY, "o").handle()] if "kept" in mine else []
    handles += [_OTHER_PAIRS.handle(line="-")] if len(others) else []
    figure.suptitle(training, x=0.01, ha="left")
    style.add_legend(figure, handles)
    return figure


def _draw_faint(axes: Axes, rows: pd.DataFrame, split: str, column: str) -> None:
    rows = rows[rows["split"] == split]
    looks = dict.fromkeys(rows["pair"].unique(), _OTHER_PAIRS)
    draw_series(axes, rows, looks, by="pair", x="steps", y=column, line=0.4, size=0.0, zorder=1)


_LABEL_LOOKS = ((style.BLUE, "o"), (style.VERMILLION, "s"), (style.GREEN, "^"))


@PrintedFigure(name="diagnosis_panels", place=40, stages=("draw_diagnosis_figures",))
def panels_figure(shares: pd.DataFrame, title: str) -> Figure:
    """Share of units for whom each panel is ordered, by label and group.

    A facet per group, a line per panel, most expensive at the bottom if the table has them so
    (panels are in the order of the table), a mark per label.

    Args:
        shares: group, label (words), panel, share (0 to 1), n (units of that group and label).
        title: of the data set.
    """
    style.require(shares, "group label panel share n")
    groups, labels, names = (list(dict.fromkeys(shares[c])) for c in ("group", "label", "panel"))
    height = 0.65 + 0.2 * len(names)
    figure, grid = panels(len(groups), 4, line_in=height, more_in=0.6, sharex=True, sharey=True)
    looks = {v: Look(str(v), *look) for v, look in zip(labels, _LABEL_LOOKS, strict=False)}
    for k, (axes, group) in enumerate(zip(grid, groups, strict=True)):
        rows = shares[shares["group"] == group]
        order = list(looks)
        lower = [(order.index(v) - (len(order) - 1) / 2) * 0.24 for v in rows["label"]]
        heights = np.array([names.index(name) for name in rows["panel"]])
        marks = rows.assign(
            percent=100 * rows["share"], at=heights + lower
        )  # equal shares are seen
        draw_series(
            axes, marks, looks, by="label", x="percent", y="at", line=None, size=5.0, clip_on=False
        )
        spans = marks.groupby(heights)["percent"].agg(["min", "max"])
        axes.hlines(spans.index, spans["min"], spans["max"], color=style.GREY, linewidth=0.8)
        axes.set_xlim(-4, 104)
        axes.set_xticks([0, 50, 100])
        name_rows(axes, len(names))
        most = [rows.loc[rows["label"] == v, "n"].max() for v in labels]
        counts = " + ".join(f"{int(n):,}" for n in most if not pd.isna(n))
        axes.set_title(f"{style.wrapped(str(group), characters=22)}\nn = {counts}", loc="left")
        if k + min(4, len(groups)) >= len(groups):
            axes.set_xlabel("ordered for (% of units)")
    name_rows(grid[0], [style.words(str(name)) for name in names])
    return finish(figure, title, shares_finding(shares), [v.handle() for v in looks.values()])


def shares_finding(table: pd.DataFrame) -> str:
    """The panel that groups get most differently; of group, panel, share, n."""
    weight = table.assign(got=table["share"] * table["n"])
    sums = weight.groupby(["panel", "group"], observed=True)[["got", "n"]].sum()
    by = (sums["got"] / sums["n"]).unstack("group")
    if by.shape[1] < 2:
        top = by.iloc[:, 0]
        return f"{style.words(str(top.idxmax()))} is ordered most, for {_percent(top.max())}"
    apart = (by.max(axis=1) - by.min(axis=1)).to_numpy(dtype=float)
    widest = by.iloc[int(np.nanargmax(apart))]
    low, high = str(widest.idxmin()), str(widest.idxmax())
    return (
        f"{style.words(str(widest.name))} is ordered for {_percent(widest.max())} of {high}, "
        f"for {_percent(widest.min())} of {low}"
    )


_PROBABILITY = {"belief": Look("belief", style.BLUE, "o")}
_LINE_IN = 0.145  # height of a line of text
_STEP_GAP_IN = 0.13
_VALUE_CHARACTERS = 70
MOST_VALUES = 12  # of one step; a table of a hundred columns would leave the page


@PrintedFigure(name="diagnosis_patients", place=50, stages=("draw_diagnosis_figures",))
def patients_figure(steps: pd.DataFrame, cost_unit: str, patients: str) -> Figure:
    """Which panel was ordered after which value, and how the predicted probability changed.

    A block per patient, a line per step: panel and its values on the left, the cost by then,
    and on the right the probability of the positive class once they are known.

    Args:
        steps: row_id, step (0: values known before the first order), panel (words), values (text
            revealed by the step, parts separated by "; "), belief (0 to 1, after it), paid
            (cost by then), diagnosis and label (words, the same in all rows of a patient).
        cost_unit: of the cost paid.
        patients: title, of the data set.
    """
    style.require(steps, "row_id step panel values belief paid diagnosis label")
    blocks = [rows.sort_values("step") for _, rows in steps.groupby("row_id", sort=False)]
    texts = [[_step_text(row) for _, row in rows.iterrows()] for rows in blocks]
    heights = [
        sum(_LINE_IN * (1 + text.count("\n")) + _STEP_GAP_IN for text in block) for block in texts
    ]
    figure = style.new_figure(height_in=0.75 + sum(h + 0.42 for h in heights))
    ratios = {"width_ratios": [0.68, 0.32], "height_ratios": heights}
    grid = figure.subplots(
        len(blocks), 2, squeeze=False, sharey="row", sharex="col", gridspec_kw=ratios
    )
    for (left, right), rows, block, height in zip(grid, blocks, texts, heights, strict=True):
        at = _write_steps(left, rows, block, cost_unit)
        _draw_beliefs(right, rows.assign(at=at, what="belief"), height)
    grid[-1, 1].set_xlabel("belief: probability of the positive class")
    figure.suptitle(patients, x=0.01, ha="left")
    return figure


def _step_text(row: pd.Series) -> str:
    """Name of the panel, and its values below, broken over lines."""
    parts = [part for part in str(row["values"]).split("; ") if part]
    if len(parts) > MOST_VALUES:
        parts = [*parts[:MOST_VALUES], f"and {len(parts) - MOST_VALUES} more"]
    text = "; ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts)
    text = re.sub(r"(?<!\S)-(?=[\d.])", "\N{MINUS SIGN}", text)
    lines = textwrap.wrap(text, _VALUE_CHARACTERS, break_long_words=False, break_on_hyphens=False)
    return "\n".join([str(row["panel"]), *lines])


def _write_steps(axes: Axes, rows: pd.DataFrame, texts: list[str], cost_unit: str) -> list[float]:
    """The words of a patient's steps; returns the height of each step's first line."""
    at, y = [], 0.0
    for text, paid in zip(texts, rows["paid"], strict=True):
        at.append(y + _LINE_IN / 2)
        name, *values = text.split("\n")
        axes.text(0.0, y, name, va="top", fontweight="bold")
        below: dict[str, Any] = {"va": "top", "color": style.GREY, "linespacing": 1.25}
        axes.text(0.0, y + _LINE_IN, "\n".join(values), **below)
        axes.text(1.0, y, f"{paid:.4g}", va="top", ha="right")
        y += _LINE_IN * len([name, *values]) + _STEP_GAP_IN
    first, diagnosis, truth = (rows[c].iloc[0] for c in ("row_id", "diagnosis", "label"))
    axes.set_title(f"patient {first}: diagnosed {diagnosis}, is {truth}", loc="left")
    axes.set_title(f"paid ({cost_unit})", loc="right", fontsize=style.FONT_PT)
    axes.set_xlim(0, 1)
    axes.set_axis_off()
    return at


def _draw_beliefs(axes: Axes, rows: pd.DataFrame, height: float) -> None:
    """The predicted probability after each step, at the height of its words."""
    for place in rows["at"]:
        axes.axhline(place, color=style.PALE, linewidth=0.8, zorder=0)
    draw_series(axes, rows, _PROBABILITY, by="what", x="belief", y="at", size=5.0, clip_on=False)
    before = 0.0
    for place, probability in zip(rows["at"], rows["belief"], strict=True):
        left_of = probability > 0.8  # near the end of the axis
        above = not left_of and before <= probability  # clear of the line, which falls to the right
        words = f"{probability:.2f}" if probability >= 0.01 else f"{probability:.1g}"
        axes.annotate(
            words,
            (probability, place),
            (-6 if left_of else 6, 1 if above else 0),
            textcoords="offset points",
            ha="right" if left_of else "left",
            va="bottom" if above else "center",
        )
        before = probability
    axes.set(xlim=(0, 1), ylim=(height, 0))
    axes.set_yticks([])
    axes.tick_params(labelbottom=True)
    axes.spines["left"].set_visible(False)
