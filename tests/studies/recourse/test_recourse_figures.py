"""The figures of the recourse study show the tables' numbers, in fixed looks."""

import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.studies.recourse.figures import (
    GENERATORS,
    accuracy_figure,
    confidence_figure,
    generator_order,
    generator_style,
    mistake_figure,
    repair_figure,
    sizes_figure,
)
from matplotlib.figure import Figure

from tests.studies.recourse import recourse_frames as frames

DRAWN = {
    "sizes": lambda: sizes_figure(frames.sizes_frame()),
    "accuracy": lambda: accuracy_figure(frames.summary_frame()),
    "confidence": lambda: confidence_figure(frames.confidence_frame(), frames.frequency_frame()),
    "mistakes": lambda: mistake_figure(frames.mistake_frame()),
    "repair": lambda: repair_figure(frames.summary_frame()),
}


def _texts(figure: Figure) -> list[str]:
    return [t.get_text() for axes in figure.axes for t in axes.texts]


def test_every_accuracy_is_written_and_drawn():
    table = frames.summary_frame()
    figure = accuracy_figure(table)
    assert sorted(_texts(figure)) == sorted(f"{v:.3f}" for v in table["accuracy"])
    marks = [float(np.asarray(line.get_xdata())[0]) for line in figure.axes[0].lines]
    whole = table[table["actions"] == "all"].set_index("generator")["accuracy"]
    assert marks == [pytest.approx(whole[name]) for name in generator_order(whole.index)]


def test_bars_bear_their_counts():
    table = frames.sizes_frame()
    assert sorted(_texts(sizes_figure(table))) == sorted(f"{n:,}" for n in table["n"])


def test_panels_of_other_magnitude_share_their_axis():
    table = frames.sizes_frame()
    small = table[table["variant"] == "manual_groups"].assign(dataset="own", variant="few", n=1)
    figure = sizes_figure(pd.concat([table, small]))
    assert {axes.get_ylim()[1] for axes in figure.axes[:3]} == {1.33 * table["n"].max()}


def test_bins_of_few_units_are_left_out():
    figure = confidence_figure(frames.confidence_frame(), frames.frequency_frame())
    lines = [line for line in figure.axes[0].lines if np.size(line.get_xdata()) > 2]
    assert len(lines) == len(frames.ACCURACY)
    assert all(np.size(line.get_xdata()) == 9 for line in lines)
    labels = [t.get_text() for t in figure.axes[1].get_xticklabels()]
    assert labels == ["none", "1", "2–5", "6–20", "≥ 21"]


def test_mistakes_are_counted_in_titles():
    figure = mistake_figure(frames.mistake_frame())
    assert figure.get_suptitle() == (
        "Simulated, dim 20: 100 of 200 wrong answers of Hamming do not work"
    )
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["Hamming: 100 do not work", "Hamming: 100 work, but cost more"]


def test_repair_says_what_it_costs():
    axes = repair_figure(frames.summary_frame()).axes[0]
    words = [t.get_text() for t in axes.get_yticklabels()]
    assert "Hamming (repaired: +10 %, 20 % empty)" in words
    assert "named, scores, AG2 (nothing to repair)" in words


def test_looks_follow_the_kind_and_names_keep_what_they_add():
    assert generator_style("hamming_5").colour == GENERATORS["hamming"].colour
    assert generator_style("named_action") is GENERATORS["named_action"]
    assert generator_style("named_ag1").marker != GENERATORS["named"].marker
    assert generator_style("hamming_15").label == "Hamming, 15"
    looks = {(g.colour, g.marker, g.hollow) for g in GENERATORS.values()}
    assert len(looks) == len(GENERATORS)
    with pytest.raises(ConfigError, match="'oracle' has no colour"):
        generator_style("oracle")


def test_tables_without_rows_are_refused():
    with pytest.raises(DataError, match="no rows"):
        accuracy_figure(frames.summary_frame().iloc[:0])
