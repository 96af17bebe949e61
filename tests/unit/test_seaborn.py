"""seaborn draws the statistical figures, in one style that is set in one place."""

import ast
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from frugal.draw import marks, style
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

PACKAGE = Path(style.__file__).parents[1]
FIGURES = [
    *sorted(PACKAGE.glob("studies/*/figures/[a-z]*.py")),
    PACKAGE / "run/benchmark_figure.py",
]
FIGURES += sorted(PACKAGE.glob("draw/[a-z]*.py"))
NO_MARKS = (
    "style",
    "marks",
    "given",
    "figures",
    "answers",
    "decision",
    "seen",
)  # last three: words
DRAWN = [path for path in FIGURES if path.stem not in NO_MARKS]
BY_HAND = {"errorbar", "fill_between", "bxp", "boxplot", "scatter", "bar"}  # calls on axes
LOOKS = {
    "a": style.Look("A", style.BLUE, "o"),
    "b": style.Look("B", style.ORANGE, "x", hollow=True),
}


def _calls(path: Path) -> set[tuple[str, str]]:
    """(object, method) of every call `object.method(…)` in a module of figures."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        (ast.unparse(node.func.value), node.func.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_statistical_figures_are_drawn_by_seaborn(path: Path):
    text = path.read_text(encoding="utf-8")
    assert "frugal.draw.marks import" in text or "import seaborn as sns" in text
    assert not {call for call in _calls(path) if call[0] != "sns" and call[1] in BY_HAND}


def test_the_style_is_set_in_one_place():
    for path in FIGURES:
        home = path.parent.name == "draw"
        calls = {f"{owner}.{method}" for owner, method in _calls(path)}
        sets = {c for c in calls if "rcParams" in c or "set_theme" in c or "set_palette" in c}
        assert not sets or home, (path, sets)
        classes = [n for n in ast.parse(path.read_text()).body if isinstance(n, ast.ClassDef)]
        assert home or not [c.name for c in classes if c.name.endswith("Style")]


@style.printed
def _figure(rows: pd.DataFrame, ends: np.ndarray) -> Figure:
    figure = style.new_figure(height_in=2.0)
    axes = figure.subplots()
    axes.set_xlabel("kept")
    marks.draw_series(axes, rows, LOOKS, by="name", x="x", y="y", y_ends=ends)
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
    assert axes.get_xlabel() == "kept"
    assert axes.get_xscale() == "linear"
    points = [tuple(p) for line in axes.lines for p in np.asarray(line.get_xydata()).tolist()]
    assert points == [(1.0, 0.2), (1.0, 0.6), (2.0, 0.5)]


def test_bars_are_as_wide_as_asked_wherever_they_stand():
    figure = style.new_figure(height_in=2.0)
    for axes, at in zip(figure.subplots(1, 3), ([0.0, 2.0], [0.0, 0.1, 5.0], [1.0]), strict=True):
        place, length = np.array(at), np.ones(len(at))
        marks.draw_bars(axes, place, length, colour=style.BLUE, width=0.5)
        np.testing.assert_allclose([p.get_width() for p in axes.patches], 0.5)


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
