"""Cases on the answer's page, and the risks at which panels are ordered."""

import numpy as np
import pytest
from frugal.answer.examples import example_tables, examples_of
from frugal.core.table import Panel, Table
from frugal.judge.policy_tree import Node, risk_of_orders
from frugal.judge.semi_offline import Paths

NAN = float("nan")


def table(values: list[list[float]]) -> Table:
    """Age and sex known of everyone; lab A, and a film of two levels."""
    columns = ("age", "sex=f", "sex=m", "a", "film=clear", "film=shadow")
    return Table(
        row_id=np.arange(len(values)),
        values=np.array(values, dtype=np.float64),
        columns=columns,
        onehot=((1, 2), (4, 5)),
        label=np.zeros(len(values), dtype=np.int64),
        classes=("no", "yes"),
        panels=(
            Panel("known", columns[:3], 0.0, True),
            Panel("A", ("a",), 1.0, False),
            Panel("film", columns[4:], 2.0, False),
        ),
        misclassification_cost=np.array([[0.0, 1.0], [1.0, 0.0]]),
    )


def paths(order, belief, verdict, *, complete=None) -> Paths:
    """Of two panels, with the probability of the second class at each state."""
    order, risk = np.array(order), np.array(belief, dtype=np.float64)
    held = (order >= 0).sum(axis=1)
    return Paths(
        order=order,
        held=held,
        complete=np.ones(len(order), dtype=bool) if complete is None else np.array(complete),
        acquired=np.zeros(order.shape, dtype=bool),
        belief=np.stack([1 - risk, risk], axis=2),
        verdict=np.array(verdict),
    )


CASES = table([[47.3, 1, 0, 1.2345, 1, 0], [60, 0, 1, 9, 0, 1], [61, 0, 1, 8, 0, 1]])


def test_a_case_is_shown_step_by_step_with_what_is_known_and_the_risk():
    way = paths(
        [[0, 1], [-1, -1], [-1, -1]],
        [[0.21, 0.4, 0.0351], [0.9, NAN, NAN], [0.8, NAN, NAN]],
        [0, 1, 1],
    )
    often, once = examples_of(way, CASES)
    assert once == [
        ["age 47.3, sex f", "21 %", "order A"],
        ["a 1.23", "40 %", "order film"],
        ["film clear", "3.5 %", "stop, decide 'no'"],
    ]
    assert often == [["age 60, sex m", "90 %", "stop, decide 'yes'"]]  # of two cases the upper one
    (line, frame), _ = example_tables({"examples": [once, often]}, ("no", "yes")).items()
    assert line == "A case with age 47.3, sex f"
    assert frame.columns.tolist() == ["known", "risk", "next"]


def test_panels_without_a_risk_between_them_are_ordered_at_once():
    way = paths([[1, 0]], [[0.5, NAN, 0.7]], [2])
    (case,) = examples_of(way, table([[40, 0, 1, 3, 0, 1]]))
    assert [step[2] for step in case] == ["order film and A", "hand over to a person"]
    assert case[1][0] == "film shadow, a 3"


def test_only_cases_that_ended_are_shown_and_rows_in_any_order_give_the_same():
    risks, orders = (
        [[0.2, 0.6, NAN], [0.4, NAN, NAN], [0.5, NAN, NAN]],
        [[0, -1], [-1, -1], [-1, -1]],
    )
    way = paths(orders, risks, [1, 0, 0], complete=[False, True, True])
    found = examples_of(way, CASES)
    assert [len(case) for case in found] == [1]
    turned = [2, 1, 0]
    again = paths(
        *([each[k] for k in turned] for each in (orders, risks, [1, 0, 0])),
        complete=[True, True, False],
    )
    assert examples_of(again, CASES.take(np.array(turned))) == found


def test_the_risks_of_a_panel_are_those_of_its_branches_that_are_shown():
    tree = Node([], 1.0, NAN, NAN)
    tree.children = [
        Node([0], 0.6, 0.1, 0.5, children=[Node([1], 0.2, 0.3, 0.4)]),
        Node([1], 0.4, 0.05, 0.1),
        Node([0, 2], 0.001, 0.0, 1.0),
    ]
    assert risk_of_orders(tree, 3) == [[0.1, 0.5], [0.05, 0.4], None]


@pytest.mark.parametrize("classes", [("a", "b", "c")])
def test_more_classes_have_the_probability_of_the_last(classes):
    (frame,) = example_tables({"examples": [[["x 1", "3 %", "stop"]]]}, classes).values()
    assert frame.columns[1] == "probability of c"
