"""Figures of what a policy orders: panels by group of patients, and a patient's way step by step.

They place marks and words from tidy tables and know neither policies nor files. The paper names
which panels its policies choose [diagnosis, sec. 6.3] and draws one such way as its Fig. 1.
"""

import re
import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from frugal.draw import style
from frugal.draw.figures import PrintedFigure
from frugal.draw.marks import draw_series
from frugal.studies.diagnosis.figures import seen
from frugal.studies.diagnosis.figures.given import Front

_LABEL_LOOKS = ((style.BLUE, "o"), (style.VERMILLION, "s"), (style.GREEN, "^"))
_BELIEF = {"belief": style.Look("belief", style.BLUE, "o")}
_LINE_IN = 0.145  # height of a line of text
_STEP_GAP_IN = 0.13
_VALUE_CHARACTERS = 70
MOST_VALUES = 12  # of one step; a table of a hundred columns would leave the page


@style.printed
def panels_figure(shares: pd.DataFrame, *, title: str) -> Figure:
    """Share of units for whom each panel is ordered, by label and group.

    A facet per group, a line per panel, dearest at the bottom if the table has them so (panels
    stand in the order of the table), a mark per label.

    Args:
        shares: group, label (words), panel, share (0 to 1), n (units of that group and label).
        title: of the data set.

    Raises:
        DataError: a column is missing, there is no row, or there are over three labels.
    """
    style.require(shares, ["group", "label", "panel", "share", "n"], single=[])
    groups, labels, panels = (list(dict.fromkeys(shares[c])) for c in ("group", "label", "panel"))
    columns = min(4, len(groups))
    lines = -(-len(groups) // columns)
    figure = style.new_figure(height_in=0.6 + lines * (0.65 + 0.2 * len(panels)))
    grid = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True).ravel()
    looks = {
        label: style.Look(str(label), *look)
        for label, look in zip(labels, _LABEL_LOOKS, strict=False)
    }
    for axes, group in zip(grid, groups, strict=False):
        rows = shares[shares["group"] == group]
        _draw_shares(axes, rows, panels, looks)
        counts = [f"{int(rows.loc[rows['label'] == v, 'n'].max()):,}" for v in labels
                  if (rows["label"] == v).any()]  # fmt: skip
        axes.set_title(f"{style.wrapped(str(group), characters=22)}\nn = {' + '.join(counts)}",
                       loc="left")  # fmt: skip
    for axes in grid[len(groups) :]:
        axes.set_axis_off()
    grid[0].set_yticks(range(len(panels)), [style.words(str(p)) for p in panels])
    grid[0].set_ylim(len(panels) - 0.5, -0.5)
    for axes in grid[: len(groups)]:
        axes.set_xlim(-4, 104)
        axes.set_xticks([0, 50, 100])
        axes.tick_params(axis="y", length=0)
    for axes in grid[max(0, len(groups) - columns) : len(groups)]:
        axes.set_xlabel("ordered for (% of units)")
    figure.suptitle(style.titled(title, seen.shares(shares)), x=0.01, ha="left")
    style.add_legend(figure, [look.handle() for look in looks.values()])
    return figure


def _draw_shares(
    axes: Axes, rows: pd.DataFrame, panels: list[str], looks: dict[str, style.Look]
) -> None:
    """A line per panel from the lowest share to the highest, with a mark for each label."""
    order = list(looks)
    lower = [(order.index(v) - (len(order) - 1) / 2) * 0.24 for v in rows["label"]]
    heights = np.array([panels.index(p) for p in rows["panel"]])
    marks = rows.assign(per_cent=100 * rows["share"], at=heights + lower)  # equal shares are seen
    draw_series(
        axes, marks, looks, by="label", x="per_cent", y="at", line=None, size=5.0, clip_on=False
    )  # fmt: skip
    spans = marks.groupby(heights)["per_cent"].agg(["min", "max"])
    axes.hlines(spans.index, spans["min"], spans["max"], color=style.GREY, linewidth=0.8)
    style.shade_every_second(axes, len(panels), vertical=False)


@style.printed
def patients_figure(steps: pd.DataFrame, *, cost_unit: str, title: str) -> Figure:
    """Which panel was ordered after which value, and how the belief moved, patient by patient.

    A block per patient, a line per step: panel and its values on the left, what is paid by then,
    and on the right the probability of the positive class once they are known.

    Args:
        steps: row_id, step (0: what is known before the first order), panel (words), values (text
            of what the step revealed, parts separated by "; "), belief (0 to 1, after it), paid
            (cost by then), diagnosis and label (words, the same in all rows of a patient).
        cost_unit: of what is paid.
        title: of the data set.

    Raises:
        DataError: a column is missing, or there is no row.
    """
    style.require(
        steps, ["row_id", "step", "panel", "values", "belief", "paid", "diagnosis", "label"],
        single=[],
    )  # fmt: skip
    blocks = [rows.sort_values("step") for _, rows in steps.groupby("row_id", sort=False)]
    texts = [[_step_text(row) for _, row in rows.iterrows()] for rows in blocks]
    heights = [
        sum(_LINE_IN * (1 + text.count("\n")) + _STEP_GAP_IN for text in block) for block in texts
    ]
    figure = style.new_figure(height_in=0.75 + sum(h + 0.42 for h in heights))
    grid = figure.subplots(
        len(blocks), 2, squeeze=False, sharey="row", sharex="col",
        gridspec_kw={"width_ratios": [0.68, 0.32], "height_ratios": heights},
    )  # fmt: skip
    for (left, right), rows, block, height in zip(grid, blocks, texts, heights, strict=True):
        _draw_patient(left, right, rows, block, height, cost_unit)
    grid[-1, 1].set_xlabel("belief: probability of the positive class")
    figure.suptitle(title, x=0.01, ha="left")
    return figure


def _step_text(row: pd.Series) -> str:
    """Name of the panel, and its values below, broken over lines."""
    parts = [part for part in str(row["values"]).split("; ") if part]
    if len(parts) > MOST_VALUES:
        parts = [*parts[:MOST_VALUES], f"and {len(parts) - MOST_VALUES} more"]
    kept = "; ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts)
    kept = re.sub(r"(?<!\S)-(?=[\d.])", "\N{MINUS SIGN}", kept)
    lines = textwrap.wrap(kept, _VALUE_CHARACTERS, break_long_words=False, break_on_hyphens=False)
    return "\n".join([str(row["panel"]), *lines])


def _draw_patient(
    left: Axes, right: Axes, rows: pd.DataFrame, texts: list[str], height: float, cost_unit: str
) -> None:
    """Words on the left, the belief on the right, both at the heights of the words."""
    at, y = [], 0.0
    for text in texts:
        at.append(y + _LINE_IN / 2)
        name, *values = text.split("\n")
        left.text(0.0, y, name, va="top", fontweight="bold")
        left.text(0.0, y + _LINE_IN, "\n".join(values), va="top", color=style.GREY,
                  linespacing=1.25)  # fmt: skip
        y += _LINE_IN * len([name, *values]) + _STEP_GAP_IN
    for place, paid in zip(at, rows["paid"], strict=True):
        left.text(1.0, place - _LINE_IN / 2, f"{paid:.4g}", va="top", ha="right")
    first, diagnosis, truth = (rows[c].iloc[0] for c in ("row_id", "diagnosis", "label"))
    left.set_title(f"patient {first}: diagnosed {diagnosis}, is {truth}", loc="left")
    left.set_title(f"paid ({cost_unit})", loc="right", fontsize=style.FONT_PT)
    left.set_xlim(0, 1)
    left.set_axis_off()
    for place in at:
        right.axhline(place, color=style.PALE, linewidth=0.8, zorder=0)
    way = rows.assign(at=at, what="belief")
    draw_series(right, way, _BELIEF, by="what", x="belief", y="at", size=5.0, clip_on=False)
    before = 0.0
    for place, belief in zip(at, rows["belief"], strict=True):
        left_of = belief > 0.8  # near the end of the axis
        above = not left_of and before <= belief  # clear of the line, which falls to the right
        words = f"{belief:.2f}" if belief >= 0.01 else f"{belief:.1g}"
        right.annotate(
            words, (belief, place), (-6 if left_of else 6, 1 if above else 0),
            textcoords="offset points", ha="right" if left_of else "left",
            va="bottom" if above else "center",
        )  # fmt: skip
        before = belief
    right.set_xlim(0, 1)
    right.set_ylim(height, 0)
    right.set_yticks([])
    right.tick_params(labelbottom=True)
    right.spines["left"].set_visible(False)


def _panels(given: Front) -> tuple[Figure, pd.DataFrame]:
    return panels_figure(given.shares, title=given.title), given.shares


def _patients(given: Front) -> tuple[Figure, pd.DataFrame]:
    title = f"{given.title}: three test patients"
    return patients_figure(given.steps, title=title, **given.unit), given.steps


PANELS = PrintedFigure(
    name="diagnosis_panels",
    place=40,
    stages=("draw_diagnosis_figures",),
    draw=_panels,
    doc="panels that a policy orders, by group and label",
)


PATIENTS = PrintedFigure(
    name="diagnosis_patients",
    place=50,
    stages=("draw_diagnosis_figures",),
    draw=_patients,
    doc="three patients, step by step",
)
