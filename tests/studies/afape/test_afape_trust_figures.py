"""The trust and decision figures of afape show each estimate, its interval, rows and warnings."""

import functools

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.draw import style
from frugal.studies.afape.figures import style as afape_style
from frugal.studies.afape.figures.policies import decision_figure, trust_figure
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tests.studies.afape import afape_frames as frames
from tests.studies.afape.afape_frames import CASE, SUMMARY, legend_texts, titled

READ = "stabilised_afais_s"
TWO = CASE[CASE["agent"].isin(["random_10", "dqn"])]
ONE = style.select(CASE, agent="dqn")


@functools.cache
def _trust() -> Figure:
    return trust_figure(CASE, read=READ, cost_unit="€")


def test_trust_shows_each_estimate_its_interval_and_its_rows():
    figure = _trust()
    assert len(figure.axes) == 2 * len(frames.AGENTS)
    left = titled(figure, "random 50 %")
    right = figure.axes[figure.axes.index(left) + 1]
    rows = style.select(CASE, agent="random_50").set_index("estimator").loc[frames.ESTIMATORS]
    ok = (rows["status"] == "ok").to_numpy()
    assert left.get_xlabel() == "cost per case\n(€)"
    assert [t.get_text() for t in left.get_yticklabels()] == [
        afape_style.ESTIMATORS[e].label for e in frames.ESTIMATORS
    ]
    truth, *points = [line for line in left.lines if line.get_gid() != "cut"]
    assert np.ravel(truth.get_xdata())[0] == frames.TRUTH["random_50"] - 3.4
    np.testing.assert_allclose([np.ravel(p.get_xdata())[0] for p in points], rows["estimate"][ok])
    np.testing.assert_array_equal([np.ravel(p.get_ydata())[0] for p in points], np.flatnonzero(ok))
    drawn = [c for c in left.collections if isinstance(c, LineCollection)]
    spans = [segment[:, 0] for c in drawn for segment in c.get_segments()]
    np.testing.assert_allclose(spans, rows.loc[ok, ["ci_low", "ci_high"]])
    bars = [p.get_width() for p in right.patches if isinstance(p, Rectangle) and p.get_height() < 1]
    np.testing.assert_allclose(bars, rows["ess"][ok])
    assert [t.get_text() for t in left.texts] == ["not identified"]
    assert [t.get_text() for t in right.texts if t.get_gid() == "warning"] == ["8 !"]
    assert "warned, see the table: ess below 30" in legend_texts(figure)


def test_trust_names_the_warnings_and_marks_who_bears_one():
    table = CASE[CASE["agent"].isin(["random_50", "dqn"])]
    spoilt = table.assign(warning=table["warning"].mask(table["estimator"] == "ipw", "low_p,heavy"))
    figure = trust_figure(spoilt, read=READ, cost_unit="€")
    marked = [t for a in figure.axes for t in a.texts if t.get_text().endswith(" !")]
    drawn = table[table["status"] == "ok"]
    assert len(marked) == ((drawn["estimator"] == "ipw") | drawn["warning"].fillna("").ne("")).sum()
    words = legend_texts(figure)[-1].replace("\n", " ")
    assert words.startswith("warned, see the table: ")
    assert set(words.partition(": ")[2].split(", ")) == {"low p", "heavy", "ess below 30"}
    for text in (None, "", np.nan):
        figure = trust_figure(ONE.assign(warning=text), read=READ, cost_unit="€")
        assert not any("warned" in words for words in legend_texts(figure))


def test_trust_draws_no_interval_where_all_rows_cost_the_same():
    same = TWO["estimator"] == "complete_case"
    table = TWO.assign(
        ci_low=TWO["ci_low"].mask(same, TWO["estimate"]),
        ci_high=TWO["ci_high"].mask(same, TWO["estimate"]),
    )
    figure = trust_figure(table, read=READ, cost_unit="€")
    hollow = [li for a in figure.axes for li in a.lines if li.get_gid() == "no interval"]
    assert {to_hex(li.get_color()).upper() for li in hollow} == {
        afape_style.ESTIMATORS["complete_case"].colour
    }
    assert {to_hex(li.get_markerfacecolor()) for li in hollow} == {"#ffffff"}
    assert "no interval: its rows cost the same" in legend_texts(figure)
    assert "no interval: its rows cost the same" not in legend_texts(_trust())


def test_trust_marks_what_lies_beyond_the_axis_and_greys_what_is_missing():
    figure = _trust()
    left = titled(figure, "random 90 %")
    beyond = style.select(CASE, agent="random_90", estimator="off_policy_sequence")[
        "estimate"
    ].iloc[0]
    assert f"{beyond:.2f}" in [t.get_text() for t in left.texts]
    assert sum(line.get_gid() == "beyond" for line in left.lines) == 1
    colours = {t.get_text(): t.get_color() for t in figure.axes[0].get_yticklabels()}
    assert colours["AFAIS"] == style.GREY
    assert colours["stabilised AFAIS(s)"] == style.BLACK
    low, high = left.get_xlim()
    ok = style.select(CASE, agent="random_90").query("status == 'ok'")
    ok = ok[ok["estimate"].between(low, high)]
    cut = (ok["ci_low"] < low).sum() + (ok["ci_high"] > high).sum()
    assert sum(line.get_gid() == "cut" for line in left.lines) == cut
    blind = trust_figure(TWO.assign(truth=np.nan, warning=None), read=READ, cost_unit="€")
    assert legend_texts(blind)[0] == "estimate, 95 % interval"
    assert not any("truth" in text or "warned" in text for text in legend_texts(blind))
    with pytest.raises(DataError, match="shows one seed, but the table holds 0, 1, 2"):
        trust_figure(
            style.select(SUMMARY, dataset="income", mechanism="mnar"), read=READ, cost_unit="€"
        )


def test_trusts_title_counts_the_intervals_that_hold_the_truth():
    rows = CASE[(CASE["status"] == "ok") & (CASE["estimator"] == READ)]
    held = ((rows["ci_low"] <= rows["truth"]) & (rows["truth"] <= rows["ci_high"])).sum()
    said = _trust().get_suptitle().replace("\n", " ")
    assert f"the truth lies in {held} of {len(rows)} intervals" in said
    rows = rows[rows["agent"].isin(TWO["agent"])]
    least, most = rows["ess"].min(), rows["ess"].max()
    blind = trust_figure(TWO.assign(truth=np.nan), read=READ, cost_unit="€").get_suptitle()
    assert f"on {least:,.0f} to {most:,.0f} rows" in blind.replace("\n", " ")
    assert "the cost of each policy" in trust_figure(ONE, read="", cost_unit="€").get_suptitle()


def test_decisions_title_says_what_a_wrong_pick_costs():
    """Dqn is best in truth; what another estimator picks costs the difference of truths more."""
    moved = CASE["estimator"].eq("blocking") & CASE["agent"].eq("never")
    table = CASE.assign(estimate=CASE["estimate"].mask(moved, -9.0))
    truth = table.groupby("agent")["truth"].first()
    said = decision_figure(table, read=READ, cost_unit="€").get_suptitle().replace("\n", " ")
    extra = truth["never"] - truth.min()
    assert f"the policy that blocking would pick costs {extra:.2f} more than the best" in said
    assert said.endswith(f"which is the pick of {afape_style.ESTIMATORS[READ].label}")
    blind = decision_figure(table.assign(truth=np.nan), read=READ, cost_unit="€").get_suptitle()
    assert f"DQN is the pick of {afape_style.ESTIMATORS[READ].label}" in blind.replace("\n", " ")


def test_decision_marks_the_lowest_of_each_row_and_the_true_best():
    axes = decision_figure(CASE, read=READ, cost_unit="€").axes[0]
    agents = afape_style.agent_order(frames.AGENTS)
    shown = [e for e in frames.ESTIMATORS if e != "ground_truth"]
    picks = {
        round(p.get_y() + 0.5): round(p.get_x() + 0.5)
        for p in axes.patches
        if isinstance(p, Rectangle) and p.get_gid() == "pick"
    }
    best = agents.index("dqn")  # the lowest of frames.TRUTH
    assert picks == {0: best, 1 + shown.index(READ): best}  # the truth, and what is read
    bold = [t.get_text() for t in axes.get_yticklabels() if t.get_fontweight() == "bold"]
    assert bold == [f"▸ {afape_style.ESTIMATORS[READ].label}"]
    verdicts = {
        round(t.get_position()[1]): t.get_text() for t in axes.texts if t.get_gid() == "verdict"
    }
    for y, name in enumerate(shown, start=1):
        rows = style.select(CASE, estimator=name).query("status == 'ok'").set_index("agent")
        if len(rows) < len(agents):  # cannot judge every policy, so picks none
            assert y not in verdicts
            continue
        pick = min(rows.index, key=lambda a: rows.loc[a, "estimate"])
        bold = [t for t in axes.texts if t.get_gid() == "cost" and t.get_fontweight() == "bold"]
        assert (agents.index(pick), y) in {t.get_position() for t in bold}
        extra = frames.TRUTH[pick] - frames.TRUTH["dqn"]
        assert verdicts[y] == ("✓" if pick == "dqn" else f"✗  +{extra:.2f}")
    (frame,) = [p for p in axes.patches if p.get_gid() == "best"]
    assert isinstance(frame, Rectangle)
    assert frame.get_x() == best - 0.5
    assert [t.get_text() for t in axes.texts if t.get_gid() == "reason"] == ["not identified"]


def test_decision_without_truth_judges_nobody():
    figure = decision_figure(CASE.assign(truth=np.nan), read="", cost_unit="€")
    assert legend_texts(figure) == ["lowest estimate of the row", "no estimate, so no pick"]
    every = CASE[CASE["estimator"].isin(CASE.loc[CASE["status"] == "ok", "estimator"])]
    every = every[~every["estimator"].isin(every.loc[every["status"] != "ok", "estimator"])]
    drawn = decision_figure(every, read=READ, cost_unit="€")
    assert "no estimate, so no pick" not in legend_texts(drawn)
    assert "read for the verdict" in legend_texts(drawn)
    assert not [t for t in figure.axes[0].texts if t.get_gid() == "verdict"]
    assert "truth" not in [t.get_text() for t in figure.axes[0].get_yticklabels()]
