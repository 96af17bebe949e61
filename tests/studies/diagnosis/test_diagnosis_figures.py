"""The figures of the diagnosis study show the tables' numbers, in fixed looks."""

import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import DataError
from frugal.studies.diagnosis.figures import (
    METHODS,
    curves_figure,
    front_figure,
    method_order,
    method_style,
    panels_figure,
    patients_figure,
)
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.studies.diagnosis import diagnosis_frames as frames

WORDS = {"cost_unit": "USD", "title": "ferritin"}
PATIENTS = {"cost_unit": "USD", "patients": "ferritin"}


def front(table: pd.DataFrame | None = None, highest_cost: float | None = None) -> Figure:
    table = frames.solutions_frame() if table is None else table
    return front_figure(
        table, method=frames.FRONT, scores=("f1", "auroc"), highest_cost=highest_cost, **WORDS
    )


def curves(pair: int = 3, table: pd.DataFrame | None = None) -> Figure:
    table = frames.curves_frame(5) if table is None else table
    words = {"cost_unit": "USD", "training": "ferritin"}
    return curves_figure(table, pair=pair, classifier_split="validation", **words)


DRAWN = {
    "front": front,
    "zoom": lambda: front(highest_cost=100.0),
    "curves": curves,
    "panels": lambda: panels_figure(frames.shares_frame(), title="ferritin"),
    "patients": lambda: patients_figure(frames.steps_frame(), **PATIENTS),
}


def points(axes: Axes) -> set[tuple[float, float]]:
    """Every (x, y) of every line."""
    return {
        (float(x), float(y))
        for line in axes.lines
        for x, y in zip(np.asarray(line.get_xdata()), np.asarray(line.get_ydata()), strict=True)
    }


def test_every_solution_is_drawn_and_the_line_joins_those_chosen_on_validation():
    table = frames.solutions_frame()
    for axes, score in zip(front().axes, ("f1", "auroc"), strict=True):
        own = table[table["method"] == frames.FRONT]
        single = table[table.groupby("method")["pair"].transform("size") == 1]
        wanted = pd.concat([own, single])
        assert set(zip(wanted["cost"], wanted[score], strict=True)) <= points(axes)
        chosen = own[own["on_front"]].sort_values("cost")
        lines = [line for line in axes.lines if line.get_linewidth() == 1.5]
        assert len(lines) == 1
        np.testing.assert_array_equal(np.asarray(lines[0].get_xdata()), chosen["cost"])
        np.testing.assert_array_equal(np.asarray(lines[0].get_ydata()), chosen[score])


def test_the_zoom_leaves_out_what_costs_more():
    figure = front(highest_cost=100.0)
    assert max(x for axes in figure.axes for x, _ in points(axes)) <= 100
    labels = [t.get_text() for t in figure.legends[0].get_texts()]
    assert not any("all panels" in label for label in labels)
    assert f"{len(frames.CLASSIFIERS)} classifiers, fixed panels" in labels


def test_curves_are_those_of_the_pair_and_marks_those_kept():
    table = frames.curves_frame(5)
    figure = curves(3, table)
    mine = table[(table["pair"] == 3) & (table["split"] == "test")]
    drawn = points(figure.axes[2])  # F1
    assert set(zip(mine["steps"].astype(float), mine["f1"], strict=True)) <= drawn
    kept = mine[mine["kept"]]
    marks = [line for line in figure.axes[2].lines if line.get_marker() == "o"]
    assert len(marks) == 3
    ends = {
        (float(np.asarray(m.get_xdata())[0]), float(np.asarray(m.get_ydata())[0])) for m in marks
    }
    assert (float(kept["steps"].iloc[0]), float(kept["f1"].iloc[0])) in ends
    with pytest.raises(DataError, match="no row has pair 99"):
        curves(99)


def test_panels_show_shares_in_per_cent_and_count_units():
    table = frames.shares_frame()
    figure = panels_figure(table, title="ferritin")
    assert [axes.get_title(loc="left").splitlines()[-1] for axes in figure.axes] == [
        "n = 4,700 + 300",
        "n = 1,598 + 102",
        "n = 846 + 54",
        "n = 2,256 + 144",
    ]
    first = table[table["group"] == "all"]
    wanted = {
        (100 * s, float(frames.PANELS.index(p)))
        for s, p in zip(first["share"], first["panel"], strict=True)
    }
    assert wanted <= {(x, float(round(y))) for x, y in points(figure.axes[0])}


def test_patients_are_stated_step_by_step():
    table = frames.steps_frame()
    figure = patients_figure(table, **PATIENTS)
    left = [axes for axes in figure.axes if axes.texts and not axes.lines]
    assert [axes.get_title(loc="left") for axes in left] == [
        "patient 17: diagnosed normal, is normal",
        "patient 4211: diagnosed low, is low",
    ]
    words = [t.get_text() for axes in left for t in axes.texts]
    assert set(table["panel"]) <= set(words)
    assert "114" in words
    assert any("and 8 more" in text.replace("\N{NO-BREAK SPACE}", " ") for text in words)
    beliefs = {x for axes in figure.axes for x, _ in points(axes)} - {0.0, 1.0}
    assert beliefs == set(table["belief"])


def test_negative_values_have_a_minus_sign_and_names_keep_their_hyphen():
    table = frames.steps_frame().assign(values="vitamin B-12 -1.9 ng/L; pH -.5; span 3-4")
    words = [t.get_text() for axes in patients_figure(table, **PATIENTS).axes for t in axes.texts]
    plain = [text.replace("\N{NO-BREAK SPACE}", " ") for text in words]
    assert "vitamin B-12 \N{MINUS SIGN}1.9 ng/L; pH \N{MINUS SIGN}.5; span 3-4" in plain


def test_classifiers_stand_at_their_cost_under_one_name():
    table = frames.solutions_frame()
    figure = front()
    labels = [t.get_text() for t in figure.legends[0].get_texts()]
    count = len(frames.CLASSIFIERS)
    assert {f"{count} classifiers, all panels", f"{count} classifiers, fixed panels"} <= set(labels)
    single = table[table["method"].str.endswith(("_full", "_fixed"))]
    for axes, score in zip(figure.axes, ("f1", "auroc"), strict=True):
        assert set(zip(single["cost"], single[score], strict=True)) <= points(axes)
        assert all(line.get_transform() == axes.transData for line in axes.lines)
    one = table[~table["method"].str.endswith("_full") | (table["method"] == "forest_full")]
    labels = [t.get_text() for t in front(one).legends[0].get_texts()]
    assert "random forest, all panels" in labels


def test_no_two_methods_look_alike_and_unknown_names_have_a_look():
    names = [*METHODS, *(f"{c}_{w}" for w in ("full", "fixed") for c in frames.CLASSIFIERS)]
    kinds = [*METHODS, "forest_full", "forest_fixed"]  # classifiers share a look
    looks = [method_style(name) for name in names]
    assert len({(k.colour, k.marker, k.hollow) for k in looks}) == len(kinds)
    assert len({k.label for k in looks}) == len(names)
    assert method_order(reversed(names)) == names
    assert method_style("greedy_nearest").label == "greedy information, nearest"
    assert method_style("my_rule").label == "my rule"


def test_tables_of_two_seeds_or_without_the_method_are_refused():
    table = frames.solutions_frame()
    with pytest.raises(DataError, match="shows one seed"):
        front(pd.concat([table, table.assign(seed=1)]))
    with pytest.raises(DataError, match="no row has method"):
        front(table[table["method"] != frames.FRONT])
