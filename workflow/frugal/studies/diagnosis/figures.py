"""Figures of the diagnosis study: 3 to 6 of Yu et al. (2023), families, beliefs, panels, patients.

Learned policies are blue, other ways to choose panels each have a colour of their own, classifiers
on panels that are the same for all are orange (filled: all panels; hollow: fixed ones; crosses:
columns known at the start), the exact rule of a simulator is black. They show tables and know
neither policies nor files. Titles begin with the data set's name; costs are in `cost_unit`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

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
    for name, declared in load_literals(
        "frugal.studies.diagnosis.tabular_baselines", "Classifier"
    ).items()
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


def _quoted(method: object) -> str:
    return method_style(str(method)).quoted


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


@PrintedFigure(name="diagnosis_families", place=5, stages=("draw_fronts",))
def families_figure(budgets: pd.DataFrame, title: str) -> Figure:
    """Results of every family on test units within each budget.

    A panel per score by which policies are chosen. Lines: families, means over divisions of the
    rows. Dotted: the classifier on all panels that validation units choose, with one standard error
    either way (shaded).                                                   [diagnosis, fig. 4]

    Rows are of one data set: method, criterion, seed, budget_share, and scores with errors.
    """
    style.require(budgets, "method criterion seed budget_share cost_share")
    criteria = sorted(budgets["criterion"].unique(), reverse=True)
    figure, grid = panels(len(criteria), len(criteria), 3.2)
    words = {"f1": "F1", "am": "mean of sensitivity and specificity"}
    first, handles = pd.DataFrame(), []
    for axes, name in reversed(list(zip(grid, criteria, strict=True))):
        rows = budgets[budgets["criterion"] == name].groupby(["method", "budget_share"])
        first = rows[[name, f"{name}_se", "cost_share"]].mean().dropna(how="all").reset_index()
        first = first.assign(percent=100 * first["cost_share"])
        for _, full in first[first["method"] == BEST_FULL].tail(1).iterrows():
            ends = (full[name] + sign * full[f"{name}_se"] for sign in (-1, 1))
            axes.axhspan(*ends, color=style.GREY, alpha=0.15, linewidth=0)
            axes.axhline(full[name], color=style.BLACK, linestyle=":", linewidth=1.0)
        looks = _looks_below(_families(first))
        draw_series(axes, first, looks, "method", "percent", name, size=4.5, clip_on=False)
        axes.set_xlim(left=0)
        axes.set(xlabel="mean price paid, % of all panels", ylabel=words.get(name, _score(name)))
    for name in method_order(_families(first)):
        best, look = style.highest(first[first["method"] == name], criteria[0]), method_style(name)
        label = f"{look.label} ({best[criteria[0]]:.2f} for {_percent(best['cost_share'])})"
        handles.append(look.handle(line="-", label=label))
    handles.append(entry("best classifier on all panels", style.BLACK, linestyle=":"))
    return finish(figure, title, families_finding(first, BEST_FULL, criteria[0]), handles)


def _families(means: pd.DataFrame) -> list[str]:
    """Families that order panels; classifiers on sets that are the same for all are left out."""
    names = means["method"].astype(str).unique().tolist()
    return [name for name in names if not name.endswith((*SAME_FOR_ALL,)) and name != BEST_FULL]


def families_finding(means: pd.DataFrame, reference: str, score: str) -> str:
    """Who reaches the classifier on all panels at the lowest price, or who comes nearest.

    Args:
        means: method, cost_share, the score and its error; the reference among the methods.
        reference: the classifier that sees every panel.
        score: column.
    """
    full = means[means["method"] == reference]
    rows = means[means["method"].isin(_families(means)) & (means["method"] != reference)]
    if not len(rows):
        return "results of classifiers"
    first, verb, end = style.highest(rows, score), "reaches", ""
    if len(full):
        level, error = (float(full[c].iloc[-1]) for c in (score, f"{score}_se"))
        good = rows[rows[score] >= level - error]
        first = style.lowest(good, "cost_share") if len(good) else first
        verb = "reaches" if len(good) else "comes nearest:"
        end = f"; a classifier on all panels {level:.2f} ± {error:.2f}"
    price = f"{_percent(first['cost_share'])} of the price"
    return f"{_quoted(first['method'])} {verb} {_score(score)} {first[score]:.2f} for {price}{end}"


RELIABILITY_TICKS = (0.0, 0.05, 0.25, 0.5, 1.0)


@PrintedFigure(name="diagnosis_reliability", place=6, stages=("draw_fronts",))
def reliability_figure(reliability: pd.DataFrame, title: str, budget_share: float) -> Figure:
    """Predicted probabilities of illness at the last decision, and observed shares.

    A panel per family. Both axes are square roots, since illness is rare. On the dashed line
    predictions are calibrated. Above each panel: slope of calibration and log-loss, that of the
    base rate behind.

    Rows: method, belief, rate, rate_low, rate_high, calibration_slope, log_loss, base_log_loss, of
    policies within `budget_share` of the price of all panels.
    """
    style.require(reliability, "method belief rate rate_low rate_high")
    methods = method_order(reliability["method"].unique())
    figure, grid = panels(len(methods), 3, 2.0, 0.6, sharex=True, sharey=True)
    roots = (lambda values: np.sqrt(np.maximum(values, 0)), np.square)
    ticks = [f"{100 * tick:g}" for tick in RELIABILITY_TICKS]
    for k, (axes, method) in enumerate(zip(grid, methods, strict=True)):
        rows, look = reliability[reliability["method"] == method], method_style(method)
        axes.plot([0, 1], [0, 1], color=style.GREY, linestyle="--", linewidth=0.8)
        marks = {"y_ends": ("rate_low", "rate_high"), "clip_on": False, "line": None}
        draw_series(axes, rows, {method: look}, "method", "belief", "rate", **marks)
        slope, loss, base = rows[["calibration_slope", "log_loss", "base_log_loss"]].iloc[0]
        words = "" if pd.isna(slope) else f"slope {slope:.2f}, "
        words = f"{look.label}\n{words}loss {loss:.3f} ({base:.3f})"
        axes.set_title(words, fontsize=style.FONT_PT, loc="left")
        axes.set_xscale("function", functions=roots)
        axes.set_yscale("function", functions=roots)
        axes.set_xticks(RELIABILITY_TICKS, ticks)
        axes.set_yticks(RELIABILITY_TICKS, ticks)
        axes.set(xlim=(0, 1), ylim=(0, 1))
        axes.xaxis.set_tick_params(labelbottom=k + 3 >= len(methods))
    figure.supxlabel("predicted probability of illness, %")
    figure.supylabel("ill among these test units, % (95 % interval)")
    finding = f"within {100 * budget_share:g} % of the price, {reliability_finding(reliability)}"
    return finish(figure, title, finding)


def reliability_finding(groups: pd.DataFrame) -> str:
    """Who loses least by beliefs, and whether that is less than without any panel.

    Args:
        groups: method, log_loss, base_log_loss.
    """
    losses = groups.groupby("method", observed=True)[["log_loss", "base_log_loss"]].first()
    best = losses["log_loss"].idxmin()
    worse = int((losses["log_loss"] > losses["base_log_loss"]).sum())
    finding = f"best calibrated is {_quoted(best)} (log loss {losses['log_loss'].min():.3f})"
    alone = f"{worse} of {len(losses)} are worse than the plain share of the ill"
    return f"{finding}; {alone}" if worse else finding


@PrintedFigure(
    name="diagnosis_front",
    place=10,
    stages=("draw_diagnosis_figures",),
    fixed={"highest_cost": None},
)
@PrintedFigure(
    name="diagnosis_front_zoomed",
    place=20,
    stages=("draw_diagnosis_figures",),
    table="cheap_solutions",
    doc="The cheap end of the front",
)
def front_figure(
    solutions: pd.DataFrame,
    method: str,
    scores: Sequence[str],
    cost_unit: str,
    title: str,
    highest_cost: float | None,
) -> Figure:
    """Score against cost, solution by solution.

    Faint points: all solutions of `method`. Line: those of its solutions that validation units put
    on the front, at their cost and score on the units of the table, so it need not rise.
    Dotted steps, where the table has `on_test_front`: the envelope of all solutions on the test
    units themselves, as the paper draws it, for the left score by which it is one; a maximum over
    many draws, and so too high. Methods with several solutions are lines of small marks; those
    that reach the highest left score have a look of their own, the others are grey. Classifiers are
    single marks at the cost of their panels, all of one look on all panels (filled), of one on
    fixed ones (hollow) and of one on none (crosses).           [diagnosis, fig. 4; fig. 6]

    Rows: method, pair, seed, split, cost, on_front and the columns of `scores`, left and right; one
    seed and one split. `highest_cost` is the right end of the axis; without, all are drawn.
    """
    style.require(solutions, f"method pair cost on_front {' '.join(scores)}", single="seed split")
    style.select(solutions, method=method)
    rows = solutions[solutions["cost"] <= (highest_cost or np.inf)].sort_values(["cost", *scores])
    is_mine, looks = rows["method"] == method, _looks_below(rows["method"])
    mine, others = rows[is_mine], rows[~is_mine]
    several = others.duplicated("method", keep=False)
    names = method_order(others["method"])
    families = _families(others)
    groups = {end: [name for name in names if name.endswith(end)] for end in SAME_FOR_ALL}
    reached = others[others["on_front"]].groupby("method")[scores[0]].max().reindex(families)
    named = [*reached.nlargest(max(1, _ENTRIES - 3 - sum(map(bool, groups.values())))).index]
    unnamed = {name: replace(looks[name], colour=_GREY) for name in families if name not in named}
    looks = unnamed | {name: look for name, look in looks.items() if name not in unnamed}
    dashed = {name: replace(look, line="--") for name, look in looks.items()}
    pale = to_hex(style.lightened(method_style(method).colour, share=0.65))
    faint = {method: replace(method_style(method), colour=pale)}
    figure, grid = panels(2, 2, 3.0, sharex=True)
    for axes, score in zip(grid, scores, strict=True):
        for part, look, line, size, zorder in (
            (mine, faint, None, 3.0, 1),
            (others[~several], looks, None, 5.0, 3),
            (others[several & others["on_front"]], dashed, 0.8, 3.5, 3),
            (mine[mine["on_front"]], looks, 1.5, 4.5, 4),
        ):
            more = {"line": line, "size": size, "zorder": zorder, "clip_on": False}
            draw_series(axes, part, look, "method", "cost", score, **more)
        axes.set(xlabel=f"mean cost per unit ({cost_unit})", ylabel=_score(score))
        axes.set_xlim(0, 1.03 * highest_cost if highest_cost else None)
    handles = [
        method_style(method).handle(line="-", label=_best(rows, method, scores[0], ": front"))
    ]
    envelope = mine[mine["on_test_front"]] if "on_test_front" in mine else mine.head(0)
    if len(envelope):
        dots = {"linestyle": ":", "linewidth": 0.9, "label": "its best on these units"}
        steps: dict[str, Any] = {"where": "post", "color": style.BLACK, "zorder": 2, **dots}
        handles += grid[0].step(envelope["cost"], envelope[scores[0]], **steps)
    for name in method_order(named):
        line = "--" if several[others["method"] == name].any() else "none"
        handles.append(method_style(name).handle(line=line, label=_best(rows, name, scores[0])))
    if unnamed:
        words = f"{len(unnamed)} other ways to choose panels" if len(unnamed) > 1 else "another way"
        handles.append(entry(words, _GREY, linestyle="--", linewidth=0.8))
    for end, (words, *_) in SAME_FOR_ALL.items():
        if classifiers := groups[end]:
            label = f"{len(classifiers)} classifiers, {words}" if len(classifiers) > 1 else None
            handles.append(method_style(classifiers[0]).handle(label=label))
    return finish(figure, title, front_finding(rows, method, scores[0]), handles)


def _best(rows: pd.DataFrame, method: str, score: str, more: str = "") -> str:
    """Words for a method, with the highest score on its front, or its only one, and its cost."""
    mine = rows[rows["method"] == method]
    shown = mine[mine["on_front"]] if len(mine) > 1 or more else mine
    label = f"{method_style(method).label}{more}"
    if not shown[score].notna().any():
        return label
    best = style.highest(shown, score)
    return f"{label} ({best[score]:.2f} for {best['cost']:,.0f})"


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


_ENTRIES = 7  # of a front's legend: its method, its best, the other ways, and more
_GREY = to_hex(style.lightened(style.GREY, share=0.4))
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
    """How the training of a policy and its classifier went, of all other pairs faint behind.

    Upper left: AUROC of the classifier on random states and on those that the policy visits
    [diagnosis, fig. 3]; then AUROC, F1 and cost of the policy on training, validation and test
    units [diagnosis, fig. 5]. Faint lines are the other pairs: their classifiers on visited
    states, and their policies on the first of the splits that the table has of validation and
    training units. A mark shows the weights that were kept, where the table has `kept`.

    Rows: pair, steps (of one learner), split, f1, auroc, cost, classifier_auroc_random,
    classifier_auroc_policy; one per pair, split and look; of one method and seed. The classifier is
    shown on `classifier_split`; `training` is the title.

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
    states = style.select(mine, split=classifier_split)
    states = states.melt("steps", list(_STATES), var_name="state", value_name="score")
    present = set(mine["split"])
    behind = next(split for split in ("validation", "train", "test") if split in present)
    faint = dict.fromkeys(others["pair"].unique(), _OTHER_PAIRS)
    dots = {split: replace(look, marker="o") for split, look in _SPLITS.items()}
    plots = [
        ("AUROC of the classifier", states, _STATES, "state", "score"),
        ("AUROC of diagnoses", mine, _SPLITS, "split", "auroc"),
        ("F1", mine, _SPLITS, "split", "f1"),
        (f"mean cost ({cost_unit})", mine, _SPLITS, "split", "cost"),
    ]
    figure, grid = panels(4, 2, 2.15, sharex=True)
    for axes, (label, rows, looks, by, y) in zip(grid, plots, strict=True):
        split, column = (behind, y) if rows is mine else (classifier_split, [*_STATES][-1])
        back, thin = others[others["split"] == split], {"line": 0.4, "size": 0.0, "zorder": 1}
        draw_series(axes, back, faint, "pair", "steps", column, **thin)
        draw_series(axes, rows, looks, by, "steps", y, size=0.0)
        if "kept" in rows:
            chosen, marks = rows[rows["kept"]], {"line": None, "size": 4.5, "zorder": 4}
            draw_series(axes, chosen, dots, by, "steps", y, **marks)
        axes.locator_params(axis="x", nbins=4)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set(xlabel="steps of the policy" if axes in grid[2:] else "", ylabel=label)
    grid[0].set_title(f"classifier, {_SPLITS[classifier_split].label}", loc="left")
    grid[1].set_title("policy", loc="left")
    grid[-1].set_ylim(bottom=0)
    looks = [*_STATES.values(), *(_SPLITS[s] for s in _SPLITS if s in present)]
    handles = [look.handle(line=look.line) for look in looks]
    handles += [Look("weights kept", style.GREY, "o").handle()] if "kept" in mine else []
    handles += [_OTHER_PAIRS.handle(line="-")] if len(others) else []
    return finish(figure, "", training, handles)


_LABEL_LOOKS = ((style.BLUE, "o"), (style.VERMILLION, "s"), (style.GREEN, "^"))


@PrintedFigure(name="diagnosis_panels", place=40, stages=("draw_diagnosis_figures",))
def panels_figure(shares: pd.DataFrame, title: str) -> Figure:
    """Panels that a policy orders: share of units for whom, by group and label.

    A facet per group, a line per panel, most expensive at the bottom if the table has them so
    (panels are in the order of the table), a mark per label.

    Rows: group, label (words), panel, share (0 to 1), n (units of that group and label).
    """
    style.require(shares, "group label panel share n")
    groups, labels, names = (list(dict.fromkeys(shares[c])) for c in ("group", "label", "panel"))
    height = 0.65 + 0.2 * len(names)
    figure, grid = panels(len(groups), 4, height, 0.6, sharex=True, sharey=True)
    looks = {v: Look(str(v), *look) for v, look in zip(labels, _LABEL_LOOKS, strict=False)}
    apart = {v: (k - (len(looks) - 1) / 2) * 0.24 for k, v in enumerate(looks)}
    for axes, group in zip(grid, groups, strict=True):
        rows = shares[shares["group"] == group]
        y = rows["panel"].map({name: k for k, name in enumerate(names)})
        rows = rows.assign(percent=100 * rows["share"], y=y, at=y + rows["label"].map(apart))
        marks = {"line": None, "size": 5.0, "clip_on": False}  # apart, so equal shares are seen
        draw_series(axes, rows, looks, "label", "percent", "at", **marks)
        spans = rows.groupby("y")["percent"].agg(["min", "max"])
        axes.hlines(spans.index, spans["min"], spans["max"], color=style.GREY, linewidth=0.8)
        axes.set(xlim=(-4, 104), xticks=[0, 50, 100], xlabel="ordered for (% of units)")
        name_rows(axes, [style.words(str(name)) for name in names])
        most = [rows.loc[rows["label"] == v, "n"].max() for v in labels]
        counts = " + ".join(f"{int(n):,}" for n in most if not pd.isna(n))
        axes.set_title(f"{style.wrapped(str(group), characters=22)}\nn = {counts}", loc="left")
    for axes in grid[: -min(4, len(groups))]:
        axes.set_xlabel("")
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
    return (
        f"{style.words(str(widest.name))} is ordered for {_percent(widest.max())} of "
        f"{widest.idxmax()}, for {_percent(widest.min())} of {widest.idxmin()}"
    )


_PROBABILITY = {"belief": Look("belief", style.BLUE, "o")}
_LINE_IN = 0.145  # height of a line of text
_STEP_GAP_IN = 0.13
_VALUE_CHARACTERS = 70
MOST_VALUES = 12  # of one step; a table of a hundred columns would leave the page


@PrintedFigure(name="diagnosis_patients", place=50, stages=("draw_diagnosis_figures",))
def patients_figure(steps: pd.DataFrame, cost_unit: str, patients: str) -> Figure:
    """Three patients, step by step: panels, their values, and the predicted probability.

    A block per patient, a line per step: panel and its values on the left, the cost by then,
    and on the right the probability of the positive class once they are known.

    Rows: row_id, step (0: values known before the first order), panel (words), values (text
    revealed by the step, parts separated by "; "), belief (0 to 1, after it), paid (cost by then),
    diagnosis and label (words, the same in all rows of a patient). `patients` is the title.
    """
    style.require(steps, "row_id step panel values belief paid diagnosis label")
    blocks = [rows.sort_values("step") for _, rows in steps.groupby("row_id", sort=False)]
    texts = [[_value_lines(values) for values in rows["values"]] for rows in blocks]
    tall = [[_LINE_IN * (1 + len(lines)) + _STEP_GAP_IN for lines in block] for block in texts]
    heights = [sum(block) for block in tall]
    figure = style.new_figure(height_in=0.75 + sum(h + 0.42 for h in heights))
    ratios = {"width_ratios": [0.68, 0.32], "height_ratios": heights}
    grid = figure.subplots(len(blocks), 2, squeeze=False, sharey="row", sharex="col", **ratios)
    for (left, right), rows, block, each in zip(grid, blocks, texts, tall, strict=True):
        tops = np.cumsum([0.0, *each])
        rows = rows.assign(y=tops[:-1], at=tops[:-1] + _LINE_IN / 2, what="belief")
        _write_steps(left, rows, block, cost_unit)
        _draw_beliefs(right, rows)
        right.set(xlim=(0, 1), ylim=(tops[-1], 0), yticks=[])
    grid[-1, 1].set_xlabel("belief: probability of the positive class")
    return finish(figure, "", patients)


def _value_lines(values: str) -> list[str]:
    """The values of a step, broken over lines."""
    parts = [part for part in str(values).split("; ") if part]
    if len(parts) > MOST_VALUES:
        parts = [*parts[:MOST_VALUES], f"and {len(parts) - MOST_VALUES} more"]
    text = "; ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts)
    text = re.sub(r"(?<!\S)-(?=[\d.])", "\N{MINUS SIGN}", text)
    return style.wrapped(text, characters=_VALUE_CHARACTERS).splitlines()


def _write_steps(axes: Axes, rows: pd.DataFrame, texts: list[list[str]], cost_unit: str) -> None:
    """The words of a patient's steps, at the height of each in inches."""
    for (_, step), lines in zip(rows.iterrows(), texts, strict=True):
        axes.text(0, step["y"], step["panel"], va="top", fontweight="bold")
        below = {"va": "top", "color": style.GREY, "linespacing": 1.25}
        axes.text(0, step["y"] + _LINE_IN, "\n".join(lines), **below)
        axes.text(1, step["y"], f"{step['paid']:.4g}", va="top", ha="right")
    first = rows.iloc[0]
    words = f"patient {first['row_id']}: diagnosed {first['diagnosis']}, is {first['label']}"
    axes.set_title(words, loc="left")
    axes.set_title(f"paid ({cost_unit})", loc="right", fontsize=style.FONT_PT)
    axes.set_xlim(0, 1)
    axes.set_axis_off()


def _draw_beliefs(axes: Axes, rows: pd.DataFrame) -> None:
    """The predicted probability after each step, at the height of its words."""
    axes.hlines(rows["at"], 0, 1, color=style.PALE, linewidth=0.8, zorder=0)
    draw_series(axes, rows, _PROBABILITY, "what", "belief", "at", size=5.0, clip_on=False)
    for place, now, before in zip(rows["at"], rows["belief"], rows["belief"].shift(), strict=True):
        left_of = now > 0.8  # near the end of the axis
        above = not left_of and not before > now  # clear of the line, which falls to the right
        axes.annotate(
            f"{now:.2f}" if now >= 0.01 else f"{now:.1g}",
            (now, place),
            (-6 if left_of else 6, 1 if above else 0),
            textcoords="offset points",
            ha="right" if left_of else "left",
            va="bottom" if above else "center",
        )
    axes.tick_params(labelbottom=True)
    axes.spines["left"].set_visible(False)
