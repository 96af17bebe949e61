"""The figures of the afape study show the table's numbers, legibly, and the same bytes twice."""

import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import DataError
from frugal.draw import style
from frugal.studies.afape.figures import style as afape_style
from frugal.studies.afape.figures.estimates import (
    LEAST_ROWS,
    calibration_figure,
    convergence_figure,
    cost_split_figure,
    frequency_figure,
    resample_figure,
)
from frugal.studies.afape.figures.policies import answer_figure, decision_figure, trust_figure
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tests.studies.afape import afape_frames as frames
from tests.studies.afape.afape_frames import CASE, FIRST, SUMMARY, legend_texts

SIX = ["ground_truth", "blocking", "complete_case", "imputation_missforest", "stabilised_ipw"]
SIX += ["stabilised_afais_s"]
ONE = [("income", "mnar")]
MANY_AGENTS = [*frames.AGENTS, "fixed_education", "fixed_education_occupation"]
MANY_AGENTS += ["random_20", "random_30", "random_40", "random_60"]
MANY = frames.summary_frame(ONE, MANY_AGENTS, frames.ESTIMATORS, 1)
TEN_NUISANCES = pd.concat(
    [
        frames.calibration_frame().query("nuisance == 'complete'").assign(nuisance=f"panel_{k}")
        for k in range(10)
    ]
)


READ = "stabilised_afais_s"


def _six(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["estimator"].isin(SIX)]


def answer_of(table: pd.DataFrame, **changed: object) -> Figure:
    """The answer that a table leads to, half of an interval being .2."""
    rows = style.select(table, estimator=READ).query("status == 'ok'").sort_values("estimate")
    agents = rows["agent"].tolist()
    verdict = {
        "dataset": "heloc",
        "mechanism": "mcar",
        "seed": 0,
        "agent": agents[0],
        "runner_up": agents[1],
        "estimator": READ,
        "not_worse": ",".join(agents[:2]),
        "left_out": "",
        "state": "short_list",
        "reason": "",
        "sentence": "",
    } | changed
    shown = style.select(table, estimator=READ)
    ends = {
        "simultaneous_low": shown["estimate"] - 0.2,
        "simultaneous_high": shown["estimate"] + 0.2,
    }
    return answer_figure(shown.assign(**ends), pd.Series(verdict), cost_unit="€")


DRAWN = {
    "convergence, six scenarios": lambda: convergence_figure(
        frames.convergence_frame(frames.SCENARIOS, ["random_10", "random_90"], 2),
        SUMMARY,
        cost_unit="€",
    ),
    "resample, all of six scenarios": lambda: resample_figure(
        frames.resample_frame(FIRST, 30), _six(FIRST), cost_unit="€"
    ),
    "resample, twelve agents": lambda: resample_figure(
        frames.resample_frame(MANY, 30), _six(MANY), cost_unit="€"
    ),
    "frequency": lambda: frequency_figure(frames.frequency_frame()),
    "trust, many warnings": lambda: trust_figure(
        CASE.assign(warning="ess_below_30,propensity_below_0.01,mean_weight_off_1"),
        read=READ,
        cost_unit="€",
    ),
    "trust, one agent": lambda: trust_figure(
        style.select(CASE, agent="dqn"), read=READ, cost_unit="€"
    ),
    "decision, no truth": lambda: decision_figure(
        CASE.assign(truth=np.nan), read=READ, cost_unit="€"
    ),
    "decision, twelve agents": lambda: decision_figure(MANY, read=READ, cost_unit="€"),
    "answer, best": lambda: answer_of(CASE, state="best"),
    "answer, no truth, one left out": lambda: answer_of(
        CASE.assign(truth=np.nan), left_out="always"
    ),
    "answer, twelve agents": lambda: answer_of(MANY),
    "calibration, ten nuisances": lambda: calibration_figure(TEN_NUISANCES, CASE),
    "cost split, six scenarios": lambda: cost_split_figure(FIRST, cost_unit="€"),
    "cost split, twelve agents": lambda: cost_split_figure(MANY, cost_unit="€"),
}


def test_convergence_lines_are_means_over_seeds_and_gaps_stay_gaps():
    table = frames.convergence_frame([("synthetic", "mnar")], ["random_10", "random_90"], 5)
    gap = (table["estimator"] == "stabilised_ipw") & (table["n"] == 100) & (table["seed"] == 3)
    table.loc[gap, "estimate"] = np.nan
    figure = convergence_figure(table, SUMMARY, cost_unit="€")
    titles = [a.get_title(loc="left") for a in figure.axes]
    assert titles == ["random 10 %", "random 90 %", "", ""]
    axes = figure.axes[1]
    assert axes.get_xscale() == "log"
    assert figure.axes[3].get_xlabel() == "number of data points (rows)"
    assert "s.d." in figure.axes[2].get_ylabel()
    assert "(€)" in figure.axes[0].get_ylabel()
    for line, name in zip(axes.lines[1:], SIX, strict=True):  # the first line is zero
        rows = table[(table["agent"] == "random_90") & (table["estimator"] == name)]
        y = np.asarray(line.get_ydata(), dtype=float)
        for n, value in zip(sorted(table["n"].unique()), y, strict=True):
            errors = [e - t for e, t in rows.loc[rows["n"] == n, ["estimate", "truth"]].to_numpy()]
            expected = sum(errors) / 5  # not a number as soon as one seed has none
            np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12)
        assert to_hex(line.get_color()) == afape_style.ESTIMATORS[name].colour.lower()
        assert line.get_marker() == afape_style.ESTIMATORS[name].marker
    assert np.isnan(np.asarray(axes.lines[5].get_ydata(), dtype=float)[0])
    labels = [afape_style.ESTIMATORS[e].label for e in SIX]
    named = [text.partition(" (off by ")[0] for text in legend_texts(figure)]
    assert named == [*labels, "± 1 s.d. over seeds"]


def test_convergence_spread_over_seeds_has_logarithmic_axes_of_its_own():
    table = frames.convergence_frame([("synthetic", "mnar")], ["random_10", "random_90"], 5)
    last = (table["estimator"] == "ground_truth") & (table["n"] == table["n"].max())
    table.loc[last, "estimate"] = table.loc[last, "truth"]
    axes = convergence_figure(table, SUMMARY, cost_unit="€").axes[3]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    for line, name in zip(axes.lines, SIX, strict=True):
        rows = table[(table["agent"] == "random_90") & (table["estimator"] == name)]
        expected = (rows["estimate"] - rows["truth"]).groupby(rows["n"]).std().to_numpy()
        shown = np.asarray(line.get_ydata(), dtype=float)
        if name == "ground_truth":  # no spread on all rows, where it is the truth itself
            assert np.isnan(shown[-1])
            shown, expected = shown[:-1], expected[:-1]
        np.testing.assert_allclose(shown, expected, rtol=1e-12)
    few = convergence_figure(table[table["seed"] < 4], SUMMARY, cost_unit="€")
    assert len(few.axes) == 2


def test_convergence_band_is_one_standard_deviation():
    table = pd.DataFrame({"estimate": [1.0, 3.0, 2.0, 2.0], "n": [10, 10, 100, 100]}).assign(
        dataset="d",
        mechanism="mar",
        agent="dqn",
        estimator="blocking",
        seed=[0, 1, 0, 1],
        truth=0.5,
    )
    (band,) = convergence_figure(table, SUMMARY, cost_unit="$").axes[0].collections
    y = np.asarray(band.get_paths()[0].vertices)[:, 1]
    # errors 0.5 and 2.5: mean 1.5, s.d. √2 with one degree of freedom
    np.testing.assert_allclose([y.min(), y.max()], [1.5 - np.sqrt(2), 1.5 + np.sqrt(2)])


def test_resample_medians_truths_and_missing_boxes():
    resamples = frames.resample_frame(CASE, 31)
    figure = resample_figure(resamples, CASE, cost_unit="€")
    (axes,) = figure.axes
    agents = afape_style.agent_order(frames.AGENTS)
    assert axes.get_title(loc="left") == "Income, MNAR"
    assert "(€)" in axes.get_ylabel()
    medians = resamples.groupby(["agent", "estimator"])["estimate"].median()
    looks = {look.marker: name for name, look in afape_style.ESTIMATORS.items()}
    drawn = {}
    for line in axes.lines:
        if line.get_gid() == "median":
            for x, y in np.asarray(line.get_xydata(), dtype=float):
                drawn[agents[round(x)], looks[line.get_marker()]] = y
    assert set(drawn) == set(medians.index)
    for key, value in drawn.items():
        assert value == pytest.approx(medians[key], abs=1e-12)
    crosses = sum(line.get_gid() == "no estimate" for line in axes.lines)
    assert crosses == (CASE["status"] != "ok").sum()
    (truths,) = [c for c in axes.collections if c.get_gid() == "truth"]
    assert isinstance(truths, LineCollection)
    heights = [segment[0][1] for segment in truths.get_segments()]
    np.testing.assert_allclose(heights, [frames.TRUTH[a] - 3.4 for a in agents])
    for entry in ("no estimate", "median beyond the axis", "some resamples without support"):
        assert entry in legend_texts(figure)


def test_resample_subset_and_facets():
    resamples = frames.resample_frame(FIRST, 20)
    figure = resample_figure(resamples, _six(style.select(FIRST, agent="dqn")), cost_unit="€")
    assert len(figure.axes) == 6
    assert [t.get_text() for t in figure.axes[-1].get_xticklabels()] == ["DQN"]
    *names, truth, box = [text.partition(" (off by ")[0] for text in legend_texts(figure)]
    assert names == [afape_style.ESTIMATORS[e].label for e in SIX]
    assert (truth, box) == ("truth", "thick: quartiles; thin: 5 to 95 %")
    other = SUMMARY[SUMMARY["seed"] == 1]
    with pytest.raises(DataError, match="resamples are of seed 0, the summary is of seed 1"):
        resample_figure(resamples, other, cost_unit="€")


def test_frequencies_are_a_mark_per_panel_and_estimator():
    table = frames.frequency_frame()
    figure = frequency_figure(table)
    (axes,) = figure.axes
    names = ["ground_truth", "blocking", "stabilised_afais_s"]
    labels = [afape_style.ESTIMATORS[name].label for name in names]
    assert legend_texts(figure) == [*labels, "± 1 standard error"]
    for line, name in zip(axes.lines, names, strict=True):
        rows = table[table["estimator"] == name]
        np.testing.assert_allclose(np.asarray(line.get_xdata(), dtype=float), rows["frequency"])
        places = np.asarray(line.get_ydata(), dtype=float).round()
        np.testing.assert_array_equal(places, range(len(rows)))
    assert axes.get_xlabel() == "share of cases"
    with pytest.raises(DataError, match="compares ground_truth, blocking, stabilised_afais_s"):
        frequency_figure(table.assign(estimator="ipw"))


def test_calibration_curves_and_counts():
    table = frames.calibration_frame()
    empty = table.iloc[[0]].assign(bin=99, n=0, mean_probability=np.nan, rate=np.nan)
    figure = calibration_figure(pd.concat([table, empty]), CASE)
    assert len(figure.axes) == 6
    titles = [" ".join(axes.get_title(loc="left").split()) for axes in figure.axes[:3]]
    assert titles == ["complete", "AFA propensity, boosting", "occupation observed, logistic"]
    rows = table[table["nuisance"] == "occupation_observed"]
    joined, few = (np.asarray(line.get_ydata(), dtype=float) for line in figure.axes[2].lines[1:3])
    many = rows["n"] >= LEAST_ROWS
    np.testing.assert_allclose(joined, rows["rate"].where(many))  # the line has gaps
    np.testing.assert_allclose(few, rows.loc[~many, "rate"])
    bars = [p for p in figure.axes[5].patches if isinstance(p, Rectangle)]
    np.testing.assert_allclose([b.get_y() + b.get_height() for b in bars], rows["n"])
    assert figure.axes[5].get_xlabel() == "fitted probability"
    with pytest.raises(DataError, match="bin 0 of nuisance 'complete' occurs twice"):
        calibration_figure(pd.concat([table, table]), CASE)


@pytest.mark.parametrize("known", [True, False])
def test_cost_and_frequency_figures_show_afais_by_the_policy_where_there_is_one(known):
    """`known`: the table has it; else AFAIS as in the paper stands there, under its own name."""
    more = CASE[CASE["estimator"] == "stabilised_afais_s"].assign(
        estimator="stabilised_afais_s_policy", status="ok" if known else "not_available"
    )
    label = f"stabilised AFAIS(s){', policy known' if known else ''}"
    figure = cost_split_figure(pd.concat([CASE, more], ignore_index=True), cost_unit="€")
    assert [t.get_text() for t in figure.legends[0].get_texts()][2] == label
    table = frames.frequency_frame()
    paper = table[table["estimator"] == "stabilised_afais_s"]
    both = pd.concat([table, paper.assign(estimator="stabilised_afais_s_policy")])
    figure = frequency_figure(both if known else table)
    assert legend_texts(figure)[2] == label


def test_cost_split_stacks_both_parts():
    rows = style.select(CASE, agent="dqn")
    lost = rows["estimator"] == "stabilised_afais_s"
    rows = rows.assign(status=rows["status"].mask(lost, "no_support"))
    axes = cost_split_figure(rows, cost_unit="€").axes[0]
    bars = [p for p in axes.patches if isinstance(p, Rectangle)]
    heights = rows.set_index("estimator")[["acquisition_cost", "misclassification_cost"]]
    expected = heights.loc[["ground_truth", "blocking"]].to_numpy().ravel()
    np.testing.assert_allclose([b.get_height() for b in bars], expected)
    np.testing.assert_allclose([b.get_y() for b in bars[:2]], [0, expected[0]])
    crosses = [np.size(li.get_xdata()) for li in axes.lines if li.get_gid() == "no estimate"]
    assert sum(crosses) == 1
    assert "(€)" in axes.get_ylabel()
    with pytest.raises(DataError, match="holds none of them"):
        cost_split_figure(rows.assign(estimator="ipw"), cost_unit="€")


def test_a_sentence_stands_where_nothing_is_to_be_drawn():
    long = "Not identified, nothing fitted. " + "A reason of many words. " * 12
    figure = style.sentence_figure(long)
    (text,) = figure.texts
    assert " ".join(text.get_text().split()) == long.strip()
    box = text.get_window_extent(FigureCanvasAgg(figure).get_renderer())
    assert box.x0 > 0
    assert box.y0 > 0
    assert box.x1 < figure.bbox.width
    assert box.y1 < figure.bbox.height


def test_a_study_in_which_nothing_could_be_estimated_is_still_drawn():
    nothing = CASE.assign(status="no_support", estimate=np.nan, ess=np.nan, truth=np.nan)
    reasons = [
        t.get_text() for a in trust_figure(nothing, read=READ, cost_unit="€").axes for t in a.texts
    ]
    assert reasons == ["no support"] * len(nothing)
    reasons = [t.get_text() for t in decision_figure(nothing, read="", cost_unit="€").axes[0].texts]
    assert reasons == ["no support"] * (len(frames.ESTIMATORS) - 1)
    boxes = resample_figure(frames.resample_frame(CASE, 2), nothing, cost_unit="€").axes[0]
    assert sum(line.get_gid() == "no estimate" for line in boxes.lines) == len(nothing)
    none = frames.resample_frame(CASE, 2).iloc[:0]
    boxes = resample_figure(none, nothing, cost_unit="€").axes[0]
    assert sum(line.get_gid() == "no estimate" for line in boxes.lines) == len(nothing)


def test_an_answer_that_cannot_be_given_says_why():
    figure = answer_of(CASE, estimator="", sentence="Open: no complete case.")
    (said,) = [text.get_text() for text in figure.texts]
    assert said == "HELOC, MCAR: Open: no complete case."


def test_the_answer_orders_policies_by_cost_and_names_the_first():
    axes = answer_of(CASE, left_out="never").axes[0]
    labels = [t.get_text() for t in axes.get_yticklabels()]
    rows = style.select(CASE, estimator=READ).query("agent != 'never'").sort_values("estimate")
    assert labels == [*map(style.agent_label, rows["agent"]), "never"]
    bold = [t.get_text() for t in axes.get_yticklabels() if t.get_fontweight() == "bold"]
    assert bold == labels[:1]
    assert [t.get_text() for t in axes.texts] == ["left out: too few rows"]
