"""The figures of the treatment study show the table's numbers, legibly, and same bytes twice."""

from itertools import combinations

import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.studies.treatment.figures import (
    SERIES,
    data_size_figure,
    profile_figure,
    search_curve_figure,
    tradeoff_figure,
)
from frugal.studies.treatment.policy_tree import MOST_LEAVES, policy_tree_figure
from matplotlib.figure import Figure
from matplotlib.text import Text

from tests.studies.treatment.search_means import curve_frame, full_policy, means_frame

PLANNERS = ["cdp", "cg", "ndp"]
MODELS = ["smoothed", "forest"]
DELTAS = [0.0, 0.4, 1.0]
MEANS = means_frame(MODELS, PLANNERS, DELTAS)
MANY = means_frame(MODELS, PLANNERS, list(np.linspace(0, 1, 40)))
NAMES = ["ceftazidime", "piperacillin_tazobactam", "gentamicin", "meropenem", "cefepime"]
TREE = full_policy(NAMES, ["R", "I", "S"], 3)
DRAWN = {
    "data size": lambda: data_size_figure(MEANS, title="World"),
    "trade-off": lambda: tradeoff_figure(MEANS, title="World"),
    "trade-off, forty thresholds": lambda: tradeoff_figure(MANY, title="World"),
    "trade-off, one facet": lambda: tradeoff_figure(
        MEANS[MEANS["facet"] == "forest"], title="World"
    ),
    "profile of sizes": lambda: profile_figure(MEANS, x="n_train", title="World"),
    "profile of thresholds": lambda: profile_figure(MEANS, x="threshold", title="World"),
    "curves": lambda: search_curve_figure(
        curve_frame([*PLANNERS, "doctor", "observed"], 6), title="Table", subtitle="forest"
    ),
    "tree": lambda: policy_tree_figure(TREE, contexts=["all"], name="T", best="S"),
    "tree, long title": lambda: policy_tree_figure(
        TREE,
        contexts=["all"],
        name="A title that is much longer than " + 2 * "one line, ",
        best="S",
    ),
}


def _texts(figure: Figure) -> list[Text]:
    return [t for t in figure.findobj(Text) if isinstance(t, Text) and t.get_text().strip()]


def test_colours_and_markers_differ_within_each_kind():
    for kind in (
        ["cdp", "cg", "ndp", "doctor", "observed"],
        ["smoothed", "forest", "true"],
        ["upper", "exact", "lower"],
    ):
        for first, second in combinations(kind, 2):
            assert SERIES[first].marker != SERIES[second].marker
            assert SERIES[first].colour != SERIES[second].colour


def test_a_trade_off_draws_every_row():
    figure = tradeoff_figure(MEANS, title="World")
    drawn = set()
    for axes in figure.axes:
        for line in axes.lines:
            drawn |= {tuple(p) for p in np.asarray(line.get_xydata(), dtype=float).tolist()}
    wanted = set(MEANS[["mean_trials", "efficacy"]].itertuples(index=False, name=None))
    assert drawn == wanted


def test_a_band_is_one_standard_deviation():
    figure = profile_figure(MEANS[MEANS["series"] == "cdp"], x="threshold", title="World")
    band = np.asarray(figure.axes[0].collections[0].get_paths()[0].vertices, dtype=float)
    ends = band[band[:, 0] == 0.4, 1]
    rows = MEANS[(MEANS["series"] == "cdp") & (MEANS["facet"] == "smoothed")]
    middle = rows.set_index("threshold")["efficacy"][0.4]
    assert ends.max() - middle == pytest.approx(0.05)  # the root of 0.0025
    assert middle - ends.min() == pytest.approx(0.05)


def test_the_axis_of_a_share_ends_a_little_above_one():
    wide = MEANS.assign(efficacy_variance=0.25)
    top = profile_figure(wide, x="threshold", title="World").axes[0].get_ylim()[1]
    assert 1 < top < 1.1
    low = MEANS.assign(efficacy=0.5, efficacy_variance=0.0001)
    assert profile_figure(low, x="threshold", title="World").axes[0].get_ylim()[1] < 0.6


def test_each_facet_names_its_own_series_where_they_differ():
    rows = MEANS[
        (MEANS["facet"] == "smoothed") & (MEANS["series"] == "cdp")
        | (MEANS["facet"] == "forest") & (MEANS["series"] == "ndp")
    ]
    figure = profile_figure(rows, x="threshold", title="World")
    legends = [axes.get_legend() for axes in figure.axes[:2]]
    named = [[t.get_text() for t in legend.get_texts()] for legend in legends if legend]
    assert named == [["CDP"], ["NDP"]]


def test_a_tree_shows_every_history_or_says_that_it_is_cut():
    figure = policy_tree_figure(TREE, contexts=["all"], name="T", best="S")
    texts = [t.get_text() for t in _texts(figure)]
    assert sum(t.startswith("stop: best") for t in texts) == 8
    assert sum(t == "ceftazidime" for t in texts) == 1
    assert sum(t == "piperacillin\ntazobactam" for t in texts) == 2
    assert "stop: best R, ρ 0.25" in texts
    deep = policy_tree_figure(
        full_policy(NAMES, ["R", "I", "S"], 5), contexts=["all"], name="T", best="S"
    )
    cut = [t.get_text() for t in _texts(deep) if t.get_text().endswith("…")]
    assert len(cut) == MOST_LEAVES


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ConfigError, match="'dqn' has no colour"):
        tradeoff_figure(MEANS.replace({"series": {"cdp": "dqn"}}), title="World")
    with pytest.raises(DataError, match="column 'efficacy_se'"):
        tradeoff_figure(MEANS.drop(columns="efficacy_se"), title="World")
    with pytest.raises(DataError, match="shows one repeats"):
        profile_figure(MEANS.assign(repeats=np.arange(len(MEANS))), x="threshold", title="World")
    with pytest.raises(DataError, match="no row has context"):
        policy_tree_figure(TREE, contexts=["x"], name="T", best="S")
    mixed = TREE.assign(planner=["cdp"] * (len(TREE) - 1) + ["cg"])
    with pytest.raises(DataError, match="shows one planner"):
        policy_tree_figure(mixed, contexts=["all"], name="T", best="S")
