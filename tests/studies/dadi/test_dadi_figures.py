"""The figures of dadi show the tables' numbers, in fixed looks."""

import numpy as np
import pandas as pd
import pytest
from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError
from frugal.core.streams import Streams
from frugal.studies.dadi.figures import (
    METHODS,
    audit_figure,
    curves_figure,
    ends_of,
    method_kind,
    method_labels,
    method_order,
    panels_figure,
    tradeoff_figure,
    tradeoff_finding,
)
from frugal.studies.dadi.stages.draw_dadi_figures import draw_dadi_figures
from matplotlib.patches import Rectangle

WORDS = {"title": "Adult income", "caution": "A stand-in, " + "said at length " * 12}
GAMMAS = (0.0, 0.5, 1.0)
PANELS = ("age", "relationship", "capital-gain")


def interval(name, value, half):
    ends = {"low": -half, "high": half, "least": -half / 13, "most": half / 13}
    return {name: value, "folds": 3} | {f"{name}_{end}": value + ends[end] for end in ends}


def means_frame():
    agents = [
        {"method": "dadi", "gamma": g, "on_front": g > 0}
        | interval("auc", 0.6 + 0.2 * g, 0.02)
        | interval("disparity", 0.2 * g, 0.01)
        | interval("adversary_auc", 0.5 + 0.3 * g, 0.02)
        for g in GAMMAS
    ]
    others = [
        {"method": name, "gamma": np.nan, "on_front": False}
        | interval("auc", 0.7 + 0.01 * k, 0.01)
        | interval("disparity", 0.1 + 0.01 * k, 0.01)
        | interval("adversary_auc", np.nan, 0.0)
        for k, name in enumerate(METHODS)
    ]
    table = pd.DataFrame(agents + others)
    return table.assign(dataset="adult", degenerate=False, positive_share=0.3)


def singles_frame():
    return pd.DataFrame(
        [
            {"dataset": "adult", "panel": panel, "network": network}
            | interval("auc", 0.6 + 0.1 * k, 0.05)
            for k, panel in enumerate((*PANELS, "all features"))
            for network in ("classifier", "adversary")
        ]
    )


def selection_frame():
    return pd.DataFrame(
        [
            {"dataset": "adult", "gamma": g, "stratum": s, "panel": panel}
            | interval("frequency", g * (0.3 + 0.2 * k), 0.1)
            for k, panel in enumerate(PANELS)
            for g in GAMMAS
            for s in ("0", "1")
        ]
    )


def audit_frame():
    return pd.DataFrame(
        [
            {
                "dataset": "adult",
                "method": "all_panels" if np.isnan(g) else "dadi",
                "gamma": g,
                "target": target,
                "learner": learner,
            }
            | interval("auc", 0.7 + 0.01 * k, 0.02)
            for g in (*GAMMAS, np.nan)
            for target in ("sensitive", "label")
            for k, learner in enumerate(("logistic", "boosting", "set_network"))
        ]
    )


def curves_frame():
    return pd.DataFrame(
        [
            {
                "dataset": "adult",
                "fold": f,
                "gamma": g,
                "iteration": i,
                "objective": -0.1 * i + g,
                "panels": i / 10 * g,
            }
            for f in (0, 1)
            for g in GAMMAS
            for i in (10, 20, 30)
        ]
    )


def grouped():
    table = selection_frame()
    table = table[table["stratum"] == "0"]
    return table.assign(group=table["gamma"].map("γ = {:g}".format))


DRAWN = {
    "tradeoff": lambda: tradeoff_figure(means_frame(), **WORDS),
    "panels": lambda: panels_figure(
        grouped(), singles_frame(), groups=[f"γ = {g:g}" for g in GAMMAS], **WORDS
    ),
    "audit": lambda: audit_figure(audit_frame(), means_frame(), **WORDS),
    "curves": lambda: curves_figure(curves_frame(), **WORDS),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_title_names_the_table_and_its_caution(name):
    title = DRAWN[name]().get_suptitle()
    assert "Adult income" in title
    assert "stand-in" in title


def test_the_front_shows_every_agent_and_baseline():
    figure = tradeoff_figure(means_frame(), **WORDS)
    lines = [line for line in figure.axes[2].lines if line.get_marker()]
    shown = {
        tuple(point)
        for line in lines
        for point in np.asarray(line.get_xydata(), dtype=float).round(6)
    }
    table = means_frame()
    wanted = set(zip(table["disparity"].round(6), table["auc"].round(6), strict=True))
    assert wanted <= shown


def test_who_decides_nearly_all_alike_is_a_cross_and_is_not_called_fair():
    table = means_frame()
    table.loc[0, ["degenerate", "disparity", "auc", "positive_share"]] = [True, 0.0, 0.79, 0.0]
    figure = tradeoff_figure(table, **WORDS)
    crosses = [line for line in figure.axes[2].lines if line.get_marker() == "x"]
    assert [np.asarray(line.get_xydata()).tolist() for line in crosses] == [[[0.0, 0.79]]]
    said = tradeoff_finding(table[:3], table[table["method"] == "full_features"])
    assert "disparity 0.100 instead of 0.100" in said
    every = table.assign(degenerate=True)
    assert tradeoff_finding(every[:3], every[3:4]).startswith(
        "no disparity to compare: every agent gives"
    )
    whole = table[3:4].assign(degenerate=True, positive_share=0.0)
    assert "all panels gives nearly all the same decision (0 % positive)" in tradeoff_finding(
        table[:3], whole
    )


def test_bars_are_as_high_as_their_shares():
    figure = DRAWN["panels"]()
    bars = [bar.get_height() for bar in figure.axes[1].patches if isinstance(bar, Rectangle)]
    table = grouped()
    shares = [table.loc[table["gamma"] == g, "frequency"] for g in GAMMAS]
    wanted = [value for part in shares for value in part if value > 0]
    np.testing.assert_allclose(bars, wanted)


def test_baselines_have_a_look_each_and_unknown_ones_are_refused():
    assert len({(s.colour, s.marker, s.hollow) for s in METHODS.values()}) == len(METHODS)
    assert method_kind("lasso_fair_4") == "lasso_fair"
    assert method_labels(["lasso_10", "lasso_4", "full_features"]) == {
        "full_features": "all panels, set network",
        "lasso": "LASSO, 4, 10 panels",
    }
    assert method_order(["random_50", "lasso_4", "full_features"])[0] == "full_features"
    with pytest.raises(ConfigError, match="no colour and marker"):
        method_kind("guess")


def test_whiskers_of_two_folds_are_their_range():
    table = means_frame().iloc[:3]
    np.testing.assert_array_equal(ends_of(table, "auc"), table[["auc_low", "auc_high"]].T)
    ends = ends_of(table.assign(folds=[2, 2, 3]), "auc").T
    np.testing.assert_array_equal(ends[:2], table[["auc_least", "auc_most"]][:2])
    np.testing.assert_array_equal(ends[2], table[["auc_low", "auc_high"]].iloc[2])


def test_two_data_sets_in_one_figure_are_refused():
    table = pd.concat([means_frame(), means_frame().assign(dataset="loans")])
    with pytest.raises(DataError, match="shows one dataset"):
        tradeoff_figure(table, **WORDS)


@pytest.mark.parametrize("by", [None, "X9"])
def test_the_stage_draws_one_data_set(by):
    def both(table):
        return pd.concat([table, table.assign(dataset="loans")], ignore_index=True)

    selection = selection_frame()
    made = draw_dadi_figures(
        catalogue={"report": {"title": "Adult income"}},
        means=both(means_frame()),
        selection=both(selection[selection["stratum"] == "0"] if by is None else selection),
        singles=both(singles_frame()),
        audit=both(audit_frame()),
        curves=both(curves_frame()),
        context=Context(
            {"shown_gammas": [0.5], "by_stratum": by, "caution": None},
            Streams(0, "draw_dadi_figures", {"dataset": "adult"}),
        ),
    )
    table = made["dadi_panels_table"]
    assert set(table["dataset"]) == {"adult"}
    expected = {"γ = 0.5"} if by is None else {"X9 = 0, γ = 0.5", "X9 = 1, γ = 0.5"}
    assert set(table["group"]) == expected
