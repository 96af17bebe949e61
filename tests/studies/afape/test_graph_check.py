"""Whether the records contradict the graph: alarms where it is right, power where it is wrong."""

import numpy as np
import pandas as pd
import pytest
from frugal.data.splits import copied
from frugal.studies.afape.graph_check import GraphCheck, GraphRows, Indicators, check_graph

from tests.oracles.graph_worlds import DOUBLED, ODDS, checked, checked_graph, records


def _checked(
    observed: np.ndarray, probability: np.ndarray, rng: np.random.Generator, conditions=None
) -> GraphCheck:
    """Panels A, B, … without causes among the columns, beside a column x."""
    n, a = observed.shape
    conditions = np.zeros((a, a), dtype=bool) if conditions is None else conditions
    given = Indicators("ABC"[:a], observed, probability, [np.empty((n, 0))] * a, conditions)
    return check_graph([GraphRows(given, {"x": rng.normal(size=n)}, {})], 0, rng)


@pytest.mark.parametrize("kind", ["plain", "R → R", "overlap", "tube", "doubled"])
def test_a_right_graph_is_rarely_refuted(kind):
    """At a level of 5 %, 40 draws: more than 7 refuted have a probability of 0.0003."""
    rngs = map(np.random.default_rng, range(1000, 1040))
    alarms = [checked(rng, 800, kind)["refuted"] for rng in rngs]
    assert sum(alarms) <= 7


@pytest.mark.parametrize(
    ("kind", "wrong", "words"),
    [
        ("plain", {"edge": ODDS}, "gaps of 'A' and 'B' come together more often than the graph"),
        ("plain", {"edge": -ODDS}, "come together less often"),
        ("plain", {"column": ODDS}, "whether 'A' is recorded depends on the column 'x1'"),
        ("plain", {"label": 2 * ODDS}, "whether 'A' is recorded depends on the label"),
        ("R → R", {"edge": 2 * ODDS}, "gaps of 'A' and 'C' come together more often"),
        ("R → R", {"column": ODDS}, "whether 'A' is recorded depends on the column 'x1'"),
        ("overlap", {"edge": ODDS}, "gaps of 'A' and 'B' come together more often"),
    ],
)
def test_a_cause_that_the_graph_lacks_is_found_and_named(kind, wrong, words):
    found = [checked(np.random.default_rng(seed), 1000, kind, **wrong) for seed in range(12)]
    assert sum(one["refuted"] for one in found) >= 11
    named = [words in one["sentence"] for one in found if one["refuted"]]
    assert np.mean(named) > 0.9


def test_panels_that_always_lack_the_same_rows_need_an_edge():
    table, observed = records(np.random.default_rng(0), 800, "tube")
    causes = {"A": {"values": ["x0"]}, "B": {"values": ["x0"]}}
    found = checked_graph(table, observed, causes, np.random.default_rng(1))
    assert "gaps of 'A' and 'B' come together more often" in found["sentence"]


def test_a_row_that_stands_often_counts_once():
    table, observed = records(np.random.default_rng(0), 740)
    rows = np.append(np.arange(740), np.repeat(np.flatnonzero(observed.all(axis=1))[0], 60))
    often = table.take(rows)
    often.row_id[:] = np.arange(800)
    causes = {"A": {"values": ["x0"]}, "B": {}}
    found = checked_graph(often, observed[rows], causes, np.random.default_rng(1))
    assert set(found["contrasts"]["rows"]) == {740}
    assert found["contrasts"]["score"].abs().max() < 3.5


def test_copies_are_rows_that_agree_by_no_chance():
    rng = np.random.default_rng(0)
    age, sex, lab = rng.integers(20, 90, 400), rng.integers(0, 2, 400), rng.normal(size=400)
    cells = pd.DataFrame(
        {"age": age, "sex": sex, "lab": np.where(rng.random(400) < 0.4, np.nan, lab)}
    )
    cells["months"] = 12 * cells["age"]  # tells nothing new
    assert cells.duplicated().sum() > 5
    assert not copied(cells).any()  # they lack the lab
    twice = pd.concat([cells, cells[cells["lab"].notna()].iloc[:DOUBLED]], ignore_index=True)
    np.testing.assert_array_equal(np.flatnonzero(copied(twice)), np.arange(400, 400 + DOUBLED))
    assert not copied(cells[["sex"]]).any()


def test_the_shares_of_two_panels_are_stated_as_they_are():
    found = checked(np.random.default_rng(0), 2000, edge=2 * ODDS)
    worst = found["contrasts"].iloc[0]
    assert (worst["kind"], worst["panel"], worst["other"], worst["rows"]) == (
        "panels",
        "A",
        "B",
        2000,
    )
    assert worst["share"] > worst["expected"] + 0.05
    shares = f"{worst['share']:.0%} of the rows, by the graph in {worst['expected']:.0%}"
    assert shares in found["sentence"]


def test_a_law_is_checked_on_records_that_show_what_it_is_conditioned_by():
    """B follows from A: its probability, that with A, is checked where A is recorded."""
    rng = np.random.default_rng(1)
    a = rng.random(400) < 0.6
    observed = np.stack([a, rng.random(400) < np.where(a, 0.9, 0.2)], axis=1)
    probability = np.tile([0.6, 0.9], (400, 1))
    conditions = np.array([[False, False], [True, False]])
    found = _checked(observed, probability, rng, conditions)
    assert {(c.panel, c.kind): c.rows for c in found.contrasts} == {
        ("A", "column"): 400,
        ("B", "column"): a.sum(),
    }
    assert abs(_checked(observed, probability, rng).contrasts[0].score) > 8  # as if by no edge


def test_rows_without_their_causes_are_left_out():
    rng = np.random.default_rng(1)
    probability = np.full((400, 2), 0.5)
    probability[:300, 1] = np.nan
    found = _checked(rng.random((400, 2)) < 0.5, probability, rng)
    rows = {(c.kind, c.panel): c.rows for c in found.contrasts}
    assert rows == {("column", "A"): 400, ("column", "B"): 100, ("panels", "A"): 400}


def test_what_cannot_be_tested_has_no_p_value_and_refutes_nothing():
    rng = np.random.default_rng(2)
    found = _checked(np.ones((50, 2), dtype=bool), np.full((50, 2), np.nan), rng)
    assert (found.contrasts, found.refuted, found.sentence) == ([], False, "")
    assert np.isnan(found.p_value)


def test_a_panel_without_a_gap_among_these_rows_refutes_nothing():
    rng = np.random.default_rng(3)
    observed = np.ones((310, 3), dtype=bool)
    observed[rng.random(310) < 0.3, 2] = False
    sure = (310 + 0.5) / 311  # a law that saw no gap is never sure
    probability = np.column_stack([np.full(310, sure), np.full(310, sure), np.full(310, 0.7)])
    found = _checked(observed, probability, rng)
    assert {c.panel for c in found.contrasts} == {"C"}
    assert not found.refuted
