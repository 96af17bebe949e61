"""Marks, intervals and bars are where the table has them, in one style that is set in one place."""

import ast
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from frugal.core.declarations import PACKAGE
from frugal.draw import prints, style
from frugal.results.files import payload_bytes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from tests.studies.afape import test_afape_figures
from tests.studies.dadi import test_dadi_figures
from tests.studies.diagnosis import test_diagnosis_figures
from tests.studies.recourse import test_recourse_figures
from tests.studies.treatment import test_treatment_figures

FIGURES = [*PACKAGE.glob("studies/*/figures.py"), *PACKAGE.glob("studies/*/figures/[a-z]*.py")]
LOOKS = {
    "a": style.Look("A", style.BLUE, "o"),
    "b": style.Look("B", style.ORANGE, "x", hollow=True),
}
DRAWN: dict[str, Any] = {
    "afape": test_afape_figures,
    "dadi": test_dadi_figures,
    "diagnosis": test_diagnosis_figures,
    "recourse": test_recourse_figures,
    "treatment": test_treatment_figures,
}
TWICE = [  # a figure of each study, and one with boxes
    ("afape", "resample, all of six scenarios"),
    ("afape", "trust, one agent"),
    ("dadi", "tradeoff"),
    ("diagnosis", "patients"),
    ("recourse", "mistakes"),
    ("treatment", "tree"),
]


def _visible_texts(figure: Figure) -> list[Text]:
    """Every text that a reader sees; tick labels outside the limits are not drawn."""
    texts = [] if figure._suptitle is None else [figure._suptitle]  # type: ignore[attr-defined]
    for legend in figure.legends:
        texts += legend.get_texts()
    for axes in figure.axes:
        texts += [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label]  # type: ignore[attr-defined]
        texts += axes.texts
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks():
                if low <= tick.get_loc() <= high:
                    texts += [tick.label1, tick.label2]
    return [t for t in texts if t.get_visible() and t.get_text().strip()]


@pytest.mark.parametrize(
    ("study", "name"), [(study, name) for study, module in DRAWN.items() for name in module.DRAWN]
)
def test_text_is_large_enough_inside_the_page_and_never_overlaps(study: str, name: str):
    figure = DRAWN[study].DRAWN[name]()  # laid out
    canvas = FigureCanvasAgg(figure)
    texts = _visible_texts(figure)
    assert figure.get_figwidth() == style.WIDTH_IN
    assert min(float(t.get_fontsize()) for t in texts) >= 8
    boxes = [t.get_window_extent(canvas.get_renderer()) for t in texts]
    for text, box in zip(texts, boxes, strict=True):
        # half a pixel at 100 dpi is rounding of the layout
        inside = box.x0 > -0.5 and box.y0 > -0.5
        inside &= box.x1 < figure.bbox.width + 0.5 and box.y1 < figure.bbox.height + 0.5
        assert inside, (text.get_text(), box)
    for (text, box), (other, second) in combinations(zip(texts, boxes, strict=True), 2):
        # boxes hold the font's empty line spacing; 1.5 pixels (1 pt) of it may touch
        wide = min(box.x1, second.x1) - max(box.x0, second.x0)
        high = min(box.y1, second.y1) - max(box.y0, second.y0)
        assert wide <= 0 or high <= 1.5, (text.get_text(), other.get_text())


@pytest.mark.parametrize(("study", "name"), TWICE)
def test_a_figure_drawn_twice_has_the_same_bytes(study: str, name: str):
    draw = DRAWN[study].DRAWN[name]
    paths = [Path("figure.png"), Path("figure.pdf")]
    first, second = ([payload_bytes(path, one) for path in paths] for one in (draw(), draw()))
    assert first == second


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.parts[-2] + path.stem)
def test_the_style_is_set_in_one_place(path: Path):
    words = path.read_text(encoding="utf-8")
    assert not {"rcParams", "set_theme", "set_palette", "rc_context"} & {
        node.attr for node in ast.walk(ast.parse(words)) if isinstance(node, ast.Attribute)
    }


@style.printed
def _figure(rows: pd.DataFrame, ends: np.ndarray) -> Figure:
    figure = style.new_figure(height_in=2.0)
    axes = figure.subplots()
    prints.draw_series(axes, rows, LOOKS, by="name", x="x", y="y", y_ends=ends)
    return figure


def test_intervals_have_the_ends_that_are_given_also_where_marks_share_a_place():
    rows = pd.DataFrame({"name": ["a", "a", "b"], "x": [1, 1, 2], "y": [0.2, 0.6, 0.5]})
    ends = np.array([[0.1, 0.5, 0.2], [0.3, 0.7, 0.9]])
    axes = _figure(rows, ends).axes[0]
    drawn = [
        tuple(segment[:, 1])
        for lines in axes.collections
        if isinstance(lines, LineCollection)
        for segment in map(np.asarray, lines.get_segments())
    ]
    assert sorted(drawn) == sorted(zip(*ends.tolist(), strict=True))
    points = [tuple(p) for line in axes.lines for p in np.asarray(line.get_xydata()).tolist()]
    assert points == [(1.0, 0.2), (1.0, 0.6), (2.0, 0.5)]
    assert axes.lines[1].get_markerfacecolor() == "white"


def test_bars_are_as_wide_as_requested_and_begin_at_their_base():
    grid = style.new_figure(height_in=2.0).subplots(1, 2)
    for axes, lying in zip(grid, (False, True), strict=True):
        length, base = np.array([1.0, np.nan, 2.0]), np.array([0.5, 0.0, 1.0])
        prints.draw_bars(axes, np.arange(3), length, style.BLUE, 0.5, base=base, lying=lying)
        boxes = [(p.get_y(), p.get_height(), p.get_x(), p.get_width()) for p in axes.patches]
        along, across = (slice(2, 4), slice(0, 2)) if lying else (slice(0, 2), slice(2, 4))
        assert [box[along] for box in boxes] == [(0.5, 1.0), (1.0, 2.0)]
        assert [box[across] for box in boxes] == [(-0.25, 0.5), (1.75, 0.5)]


def test_a_declared_figure_takes_what_its_stage_hands_over_by_name():
    table, seen = pd.DataFrame({"n": [1]}), []

    def draw(rows: pd.DataFrame, title: str, x: str) -> Figure:
        seen.append((rows is table, title, x))
        return style.new_figure(height_in=1.0)

    given = {"rows": table, "title": "t", "x": "stage's", "more": 1}
    figure = prints.PrintedFigure("f", 1, ("s",), fixed={"x": "own"})(draw)
    outputs = prints.draw_all({"f": figure}, "s", given)
    assert seen == [(True, "t", "own")]
    assert sorted(outputs) == ["f_page", "f_pdf", "f_png", "f_table"]
    assert outputs["f_table"] is table
    assert prints.draw_all({"f": figure}, "other", given) == {}


def test_a_drawing_leaves_the_readers_settings_alone():
    before = dict(mpl.rcParams)
    _figure(pd.DataFrame({"name": ["a"], "x": [1], "y": [2.0]}), np.array([[1.0], [3.0]]))
    assert dict(mpl.rcParams) == before


def test_a_stage_that_draws_nothing_does_not_import_seaborn():
    program = (
        "import importlib, sys, frugal.run.stage_command\n"
        "from frugal.results.sources import STAGES\n"
        "for name in ('estimate_costs', 'train_agent', 'roll_out_dadi', 'summarise_treatment'):\n"
        "    importlib.import_module(STAGES[name])\n"
        "sys.exit('seaborn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
