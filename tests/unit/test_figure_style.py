"""The house style: looks are distinct and fixed, words are readable, tables are checked."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.draw import style
from frugal.studies.afape.figures import style as afape_style
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure


def _luminance(colour: str) -> float:
    """Relative luminance of the sRGB standard, written from its definition."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_estimator_has_a_marker_of_its_own():
    markers = [look.marker for look in afape_style.ESTIMATORS.values()]
    labels = [look.label for look in afape_style.ESTIMATORS.values()]
    assert len(set(markers)) == len(markers)
    assert len(set(labels)) == len(labels)


def test_the_estimators_of_the_papers_figure_5_have_six_colours():
    names = "ground_truth blocking complete_case imputation_missforest stabilised_ipw "
    names += "stabilised_afais_s"
    assert len({afape_style.estimator_style(n).colour for n in names.split()}) == 6


def test_colours_stand_out_from_white_paper():
    for look in afape_style.ESTIMATORS.values():
        # 2:1 keeps out yellow (1.3:1); the palette's sky blue has 2.3:1 and orange 2.2:1
        assert 1.05 / (_luminance(look.colour) + 0.05) > 2.0, look


def test_unknown_estimator_is_refused_with_the_names_allowed():
    with pytest.raises(ConfigError, match=r"'magic' has no colour .* ground_truth, blocking"):
        afape_style.estimator_order(["blocking", "magic"])


def test_orders_do_not_depend_on_the_table():
    assert afape_style.estimator_order(["ipw", "blocking", "ipw", "ground_truth"]) == [
        "ground_truth",
        "blocking",
        "ipw",
    ]
    agents = ["dqn", "fixed_b", "always", "random_90", "random_5", "never", "fixed_a", "random_10"]
    expected = ["never", "random_5", "random_10", "random_90", "always", "fixed_a", "fixed_b"]
    assert afape_style.agent_order(agents) == [*expected, "dqn"]
    table = pd.DataFrame(
        {"dataset": ["b", "a", "b", "b"], "mechanism": ["mnar", "mar", "mcar", "own"]}
    )
    assert afape_style.scenario_order(table) == [
        ("b", "mcar"),
        ("b", "mnar"),
        ("b", "own"),
        ("a", "mar"),
    ]


def test_names_become_words():
    assert style.agent_label("random_10") == "random 10 %"
    assert style.agent_label("dqn") == "DQN"
    assert afape_style.scenario_title(("breast_cancer", "mnar")) == "Breast cancer, MNAR"
    assert style.wrapped("random 10 %", characters=9) == "random\n10\N{NO-BREAK SPACE}%"


def test_tables_are_checked_before_they_are_drawn():
    table = pd.DataFrame({"seed": [0, 1], "n": [1, 2]})
    with pytest.raises(DataError, match="needs column 'cost'; the table has seed, n"):
        style.require(table, "cost")
    with pytest.raises(DataError, match="shows one seed, but the table holds 0, 1; select one"):
        style.require(table, "n", single="seed")
    with pytest.raises(DataError, match="no rows"):
        style.require(table.iloc[:0], "n", single="seed")
    with pytest.raises(DataError, match="no row has seed 7; there is 0, 1"):
        style.select(table, seed=7)
    assert style.select(table, seed=1)["n"].tolist() == [2]


def test_house_settings_win_over_the_readers_and_leave_them_alone():
    @style.printed
    def draw() -> Figure:
        figure = style.new_figure(height_in=2.0)
        figure.subplots().set_xlabel("x")
        return figure

    with mpl.rc_context({"font.size": 30.0, "xtick.labelsize": 30.0}):
        axes = draw().axes[0]
        assert mpl.rcParams["font.size"] == 30.0
    assert axes.xaxis.label.get_fontsize() == style.FONT_PT
    assert axes.get_xticklabels()[0].get_fontsize() == style.FONT_PT


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20), st.floats(0.0, 50.0))
def test_window_holds_the_middle_half_and_is_never_empty(centres: list[float], half: float):
    centre = np.array(centres)
    low, high = afape_style.window(centre, centre - half, centre + half)
    first, third = np.quantile(centre, [0.25, 0.75])
    assert low < high
    assert low <= first
    assert third <= high


def test_window_is_not_flattened_by_one_absurd_estimate():
    centre = np.array([3.0, 3.1, 3.2, 3.3, 3.4, 50.0])
    low, high = afape_style.window(centre, centre - 0.1, centre + 0.1)
    assert low < 2.9
    assert 3.5 < high < 6.0
    assert afape_style.window(*(np.array([np.nan]),) * 3) == (0.0, 1.0)


def test_window_holds_most_intervals_where_estimates_lie_close():
    centre = np.array([750.0, 750.0, 750.0, 751.0, 752.0])
    low, high = afape_style.window(centre, centre - 300.0, centre + 300.0)
    assert low < 450.0
    assert high > 1050.0


@pytest.mark.parametrize(
    ("values", "places"),
    [([6.5, 7.1], 2), ([0.052, 0.061], 4), ([512.0], 0), ([35.0, np.nan], 1), ([np.nan], 2)],
)
def test_decimals_show_three_figures(values: list[float], places: int):
    assert style.decimals(np.array(values)) == places


def test_facets_fill_their_lines():
    assert afape_style.facet_columns(6, slots=3, slot_in=0.45) == 3
    assert afape_style.facet_columns(6, slots=6, slot_in=0.45) == 2
    assert afape_style.facet_columns(3, slots=6, slot_in=0.45) == 1
    assert afape_style.facet_columns(5, slots=1, slot_in=0.1) == 1
