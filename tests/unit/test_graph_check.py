"""Whether the records contradict the graph: alarms where it is right, power where it is wrong."""

import numpy as np
import pytest
from frugal.judge.graph_check import Indicators, check_graph

from tests.oracles.graph_worlds import ODDS, checked


def test_a_right_graph_is_rarely_refuted():
    """At a level of 5 %, 300 draws: 15 expected; 27 are 3.2 standard errors more."""
    alarms = [checked(np.random.default_rng(seed)).refuted for seed in range(300)]
    assert 3 <= sum(alarms) <= 27


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"edge": ODDS}, "gaps of 'A' and 'B' come together more often than the graph allows"),
        ({"edge": -ODDS}, "come together less often"),
        ({"column": ODDS}, "whether 'A' is recorded depends on the column 'x1'"),
        ({"label": 2 * ODDS}, "whether 'A' is recorded depends on the label"),
    ],
)
def test_a_cause_of_odds_ratio_3_that_the_graph_lacks_is_found_and_named(wrong, words):
    found = [checked(np.random.default_rng(seed), 1000, **wrong) for seed in range(40)]
    assert sum(one.refuted for one in found) >= 38
    named = [words in one.sentence for one in found if one.refuted]
    assert np.mean(named) > 0.9


def test_the_shares_of_two_panels_are_told_as_they_are():
    found = checked(np.random.default_rng(0), 2000, edge=2 * ODDS)
    worst = found.contrasts[0]
    assert (worst.kind, worst.panel, worst.other, worst.rows) == ("panels", "A", "B", 2000)
    assert worst.share > worst.expected + 0.05
    assert f"{worst.share:.0%} of the rows, by the graph in {worst.expected:.0%}" in found.sentence


def test_rows_without_their_causes_are_left_out():
    rng = np.random.default_rng(1)
    observed = rng.random((400, 2)) < 0.5
    probability = np.full((400, 2), 0.5)
    probability[:300, 1] = np.nan
    causes = [np.empty((400, 0)), np.empty((400, 0))]
    given = Indicators(["A", "B"], observed, probability, causes)
    found = {
        (c.kind, c.panel): c
        for c in check_graph(given, {"x": rng.normal(size=400)}, {}, rng).contrasts
    }
    assert found["column", "A"].rows == 400
    assert found["column", "B"].rows == found["panels", "A"].rows == 100
    assert np.isnan(found["panels", "A"].expected)


def test_what_cannot_be_tested_has_no_p_value_and_refutes_nothing():
    rng = np.random.default_rng(2)
    observed = np.ones((50, 2), dtype=bool)
    given = Indicators(["A", "B"], observed, np.full((50, 2), np.nan), [np.empty((50, 0))] * 2)
    found = check_graph(given, {"x": rng.normal(size=50)}, {}, rng)
    assert (found.contrasts, found.refuted, found.sentence) == ([], False, "")
    assert np.isnan(found.p_value)


def test_a_panel_without_a_gap_among_these_rows_refutes_nothing():
    rng = np.random.default_rng(3)
    observed = np.ones((310, 3), dtype=bool)
    observed[rng.random(310) < 0.3, 2] = False
    sure = (310 + 0.5) / 311  # a law that saw no gap is never sure
    probability = np.column_stack([np.full(310, sure), np.full(310, sure), np.full(310, 0.7)])
    given = Indicators(["A", "B", "C"], observed, probability, [np.empty((310, 0))] * 3)
    found = check_graph(given, {"x": rng.normal(size=310)}, {}, rng)
    assert {c.panel for c in found.contrasts} == {"C"}
    assert not found.refuted
