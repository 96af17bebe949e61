import numpy as np
import pytest
from frugal.config.learners import TreeSettings
from frugal.core.errors import DataError
from frugal.learn.column_trees import compact, expand, fit_column, require_observed, variables_of

pytestmark = pytest.mark.trains

ONEHOT = ((1, 4), (2, 3, 5))
NAN = np.nan
VALUES = np.array(
    [
        [0.5, 1, 0, 1, 0, 0, 7.0],
        [NAN, 0, 1, 0, 1, 0, 8.0],
        [1.5, NAN, 0, 0, NAN, 1, NAN],
        [2.5, 1, NAN, NAN, 0, NAN, 9.0],
    ]
)


def test_variables_stand_in_the_order_of_their_first_column():
    variables = variables_of(7, ONEHOT)
    assert variables.columns == ((0,), (1, 4), (2, 3, 5), (6,))
    assert variables.classes == (0, 2, 3, 0)
    assert variables.width == 7
    assert variables.categorical.tolist() == [False, True, True, False]


def test_compact_reads_groups_as_class_codes():
    codes = compact(VALUES, variables_of(7, ONEHOT))
    expected = [[0.5, 0, 1, 7], [NAN, 1, 0, 8], [1.5, NAN, 2, NAN], [2.5, 0, NAN, 9]]
    np.testing.assert_array_equal(codes, expected)


def test_expand_inverts_compact():
    variables = variables_of(7, ONEHOT)
    known = np.where(np.isnan(VALUES), 0.0, VALUES)
    known[2, 1] = known[3, 2] = 1.0
    np.testing.assert_array_equal(expand(compact(known, variables), variables), known)


@pytest.mark.parametrize(
    ("onehot", "sentence"),
    [
        (((),), "empty"),
        (((1, 7),), "names column 7; columns are 0 to 6"),
        (((1, 2), (2, 3)), "column 2 occurs twice"),
    ],
)
def test_bad_groups_are_refused(onehot, sentence):
    with pytest.raises(DataError, match=sentence):
        variables_of(7, onehot)


@pytest.mark.parametrize(
    ("row", "column", "value", "sentence"),
    [
        (0, 1, NAN, "missing in part"),
        (0, 1, 0.0, "not a single 1"),
        (0, 4, 1.0, "not a single 1"),
        (0, 2, 0.5, "not a single 1"),
        (0, 6, np.inf, "infinite"),
    ],
)
def test_bad_values_are_refused(row, column, value, sentence):
    broken = VALUES.copy()
    broken[row, column] = value
    with pytest.raises(DataError, match=sentence):
        compact(broken, variables_of(7, ONEHOT))


def test_a_variable_without_observed_value_is_refused():
    variables = variables_of(3, ((1, 2),))
    codes = np.array([[1.0, NAN], [2.0, NAN]])
    with pytest.raises(DataError, match="column 1, 2 has no observed value"):
        require_observed(codes, variables)


def test_trees_learn_what_a_linear_regression_leaves():
    """A step on top of a line, which neither part holds alone."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 2))
    rows[:, 1] = 50 * rows[:, 0] + np.where(rows[:, 0] > 0.5, 4.0, 0.0)
    settings = TreeSettings.of(
        {"trees": 40, "leaves": 4, "min_leaf": 20, "learning_rate": 0.3, "linear_penalty": 1e-6}
    )
    fitted, _ = fit_column(
        rows,
        rows[:, 1],
        j=1,
        variables=variables_of(2, ()),
        weight=None,
        held_out=None,
        settings=settings,
        seed=0,
    )
    new = np.column_stack([np.linspace(-2, 2, 401), np.zeros(401)])
    step = np.where(new[:, 0] > 0.5, 4.0, 0.0)
    error = fitted.predict(new, variables_of(2, ())) - 50 * new[:, 0] - step
    assert np.abs(error[np.abs(new[:, 0] - 0.5) > 0.1]).max() < 1.0
