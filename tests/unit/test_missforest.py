from typing import Any

import numpy as np
import pytest
from frugal.config.learners import MissForest
from frugal.core.errors import ConfigError, DataError
from frugal.learn.column_trees import variables_of
from frugal.learn.imputers.missforest import (
    FORESTS,
    differences_grow,
    impute_missforest,
    initial_fill,
    repeat_until_growth,
    round_difference,
)

pytestmark = pytest.mark.trains

NAN = np.nan
SETTINGS: dict[str, Any] = {"forest": "histogram", "trees": 30, "min_leaf_numeric": 5}
SETTINGS |= {"min_leaf_categorical": 1, "max_rounds": 5, "max_train_rows": None}


def impute(values, onehot=(), seed=0, **changes):
    rng = np.random.default_rng(seed)
    return impute_missforest(values, onehot=onehot, rng=rng, **{**SETTINGS, **changes})


def numeric_table(seed: int, n: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Six columns that bend along two factors: truth, mask of missing entries, holed table."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, 2))
    truth = np.tanh(factor @ rng.normal(size=(2, 6))) + 0.3 * rng.normal(size=(n, 6))
    truth = (truth - truth.mean(axis=0)) / truth.std(axis=0)
    missing = rng.random(truth.shape) < 0.2
    return truth, missing, np.where(missing, NAN, truth)


ONEHOT = ((2, 3, 4), (5, 6))


def mixed_table(seed: int, n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Two numeric columns, and classes of three and two values that follow them."""
    rng = np.random.default_rng(seed)
    numeric = rng.normal(size=(n, 2))
    noisy = numeric + 0.2 * rng.normal(size=(n, 2))
    three = np.eye(3)[np.digitize(noisy[:, 0], [-0.4, 0.5])]
    two = np.eye(2)[(noisy[:, 1] > 0.2).astype(int)]
    truth = np.concatenate([numeric, three, two], axis=1)
    gone = rng.random((n, 3)) < 0.25
    values = truth.copy()
    values[gone[:, 0], 1] = NAN
    values[gone[:, 1], 2:5] = NAN
    values[gone[:, 2], 5:7] = NAN
    return truth, values


@pytest.mark.parametrize("forest", FORESTS)
def test_observed_entries_stay_bit_for_bit_and_missing_ones_become_valid(forest):
    _, values = mixed_table(0)
    result = impute(values, ONEHOT, forest=forest, max_rounds=3)
    known = ~np.isnan(values)
    assert result.values[known].tobytes() == values[known].tobytes()
    assert np.isfinite(result.values).all()
    for group in ONEHOT:
        block = result.values[:, group]
        assert np.isin(block, [0.0, 1.0]).all()
        assert (block.sum(axis=1) == 1).all()
    assert result.differences.shape == (result.rounds, 2)
    assert np.isfinite(result.differences).all()


@pytest.mark.parametrize("forest", FORESTS)
def test_classes_are_imputed_better_than_by_the_mode(forest):
    truth, values = mixed_table(1)
    imputed = impute(values, ONEHOT, forest=forest).values
    for group in ONEHOT:
        gone = np.isnan(values[:, group[0]])
        actual = truth[gone][:, group].argmax(axis=1)
        right = (imputed[gone][:, group].argmax(axis=1) == actual).mean()
        mode = np.nansum(values[:, group], axis=0).argmax()
        # About 125 entries: the share of hits has a standard error below 0.045.
        assert right > (actual == mode).mean() + 3 * 0.045


def test_both_forests_beat_column_means_and_agree_within_one_percent():
    errors = []
    for seed in range(6):
        truth, missing, values = numeric_table(seed)
        row = [np.sqrt(np.mean(truth[missing] ** 2))]  # columns have mean 0, up to the holes
        for forest in FORESTS:
            imputed = impute(values, forest=forest, trees=50, max_rounds=2).values
            row.append(np.sqrt(np.mean((imputed - truth)[missing] ** 2)))
        errors.append(row)
    mean, own, reference = np.mean(errors, axis=0)
    assert own < 0.9 * mean
    assert reference < 0.9 * mean
    # The ratio of one table varies by 0.9 % (eight tables tried), its mean over six by 0.4 %: 1 %
    # is the goal, and 2.5 standard errors above equality.
    assert own / reference < 1.0 + 0.01


@pytest.mark.parametrize("forest", FORESTS)
def test_the_generator_fixes_the_result(forest):
    _, values = mixed_table(2)
    one, again, other = (
        impute(values, ONEHOT, seed=s, forest=forest, max_rounds=2) for s in (5, 5, 6)
    )
    assert one.values.tobytes() == again.values.tobytes()
    assert one.differences.tobytes() == again.differences.tobytes()
    assert (one.values != other.values).any()


def test_a_table_without_missing_entries_is_returned_as_it_is():
    truth, _ = mixed_table(3)
    result = impute(truth, ONEHOT)
    assert result.values.tobytes() == truth.tobytes()
    assert result.rounds == 0
    assert result.differences.shape == (0, 2)


def test_columns_without_missing_entries_serve_as_predictors():
    rng = np.random.default_rng(4)
    known = rng.normal(size=(800, 1))
    values = np.concatenate([known, known**2], axis=1)
    gone = rng.random(800) < 0.3
    holed = values.copy()
    holed[gone, 1] = NAN
    imputed = impute(holed).values[gone, 1]
    assert np.corrcoef(imputed, values[gone, 1])[0, 1] > 0.95


def test_row_limit_bites_only_below_the_number_of_rows():
    _, _, values = numeric_table(5)
    free = impute(values, max_rounds=1).values
    np.testing.assert_array_equal(impute(values, max_rounds=1, max_train_rows=600).values, free)
    limited = impute(values, max_rounds=1, max_train_rows=100).values
    assert (limited != free).any()
    assert np.isfinite(limited).all()


def test_initial_fill_is_mean_and_lowest_most_frequent_class():
    codes = np.array([[1.0, 2], [3.0, 1], [NAN, NAN], [NAN, 1], [5.0, 2]])
    filled = initial_fill(codes, variables_of(4, ((1, 2, 3),)))
    np.testing.assert_array_equal(filled, [[1, 2], [3, 1], [3, 1], [3, 1], [5, 2]])


def test_round_difference_by_hand():
    old = np.array([[1.0, 2.0, 0.0], [3.0, 1.0, 1.0], [0.0, 2.0, 2.0]])
    new = np.array([[1.0, 2.0, 1.0], [2.0, 1.0, 1.0], [0.0, 4.0, 0.0]])
    missing = np.array([[False, False, True], [True, False, True], [False, True, True]])
    numbers = round_difference(
        new, old, missing=missing, categorical=np.array([False, False, True])
    )
    assert numbers[0] == pytest.approx((1 + 4) / (1 + 4 + 4 + 1 + 16))
    assert numbers[1] == pytest.approx(2 / 3)
    missing[:, 2] = False
    absent = round_difference(new, old, missing=missing, categorical=np.array([False, False, True]))
    assert np.isnan(absent[1])


@pytest.mark.parametrize(("new", "old", "change"), [(2, 1, 0.25), (0, 1, 1), (0, 0, 0)])
def test_a_round_that_leaves_zeros_changed_all_or_nothing(new, old, change):
    tables = (np.full((2, 1), float(value)) for value in (new, old))
    gaps, numeric = np.ones((2, 1), dtype=bool), np.zeros(1, dtype=bool)
    assert round_difference(*tables, missing=gaps, categorical=numeric)[0] == change


@pytest.mark.parametrize(
    ("new", "old", "grow"),
    [
        ((0.3, 0.3), (0.2, 0.2), True),
        ((0.3, 0.1), (0.2, 0.2), False),  # one type still improves
        ((0.1, 0.3), (0.2, 0.2), False),
        ((0.2, 0.2), (0.2, 0.2), True),
        ((0.3, NAN), (0.2, NAN), True),
        ((0.1, NAN), (0.2, NAN), False),
        ((NAN, 0.0), (NAN, 0.0), True),
        ((9.0, NAN), (np.inf, np.inf), False),  # the first round never ends it
    ],
)
def test_rounds_end_when_no_type_improves(new, old, grow):
    assert differences_grow(np.array(new), np.array(old)) is grow


def scripted(differences):
    """A refinement that counts rounds in the table, and differences read from a script."""
    return (
        np.zeros((2, 1)),
        lambda table: table + 1,
        lambda new, old: np.array(differences[int(old[0, 0])]),
    )


def test_the_imputation_before_the_growth_is_returned():
    script = [(0.5, 0.5), (0.3, 0.6), (0.2, 0.1), (0.25, 0.2), (0.1, 0.1)]
    table, seen = repeat_until_growth(*scripted(script), 10)
    np.testing.assert_array_equal(table, np.full((2, 1), 3.0))
    np.testing.assert_array_equal(seen, script[:4])


def test_the_last_round_is_returned_if_nothing_grew():
    script = [(0.5, NAN), (0.4, NAN), (0.3, NAN), (0.2, NAN)]
    table, seen = repeat_until_growth(*scripted(script), 3)
    np.testing.assert_array_equal(table, np.full((2, 1), 3.0))
    np.testing.assert_array_equal(seen, script[:3])


def test_progress_sees_each_variable_with_missing_entries_least_missing_first():
    _, _, values = numeric_table(6, n=100)
    values[:, 0] = 1.0
    seen = []

    def watch(items, desc):
        seen.append(list(items))
        return items

    result = impute(values, max_rounds=2, progress=watch)
    count = np.isnan(values).sum(axis=0)
    assert len(seen) == result.rounds
    assert sorted(seen[0]) == [1, 2, 3, 4, 5]
    assert (np.diff(count[seen[0]]) >= 0).all()


@pytest.mark.parametrize(
    ("values", "changes", "error", "sentence"),
    [
        ([[1.0, NAN], [2.0, NAN]], {}, DataError, "column 1 has no observed value"),
        ([[1.0], [NAN]], {}, DataError, "one variable only"),
        ([[1.0, np.inf], [NAN, 1.0]], {}, DataError, "infinite"),
        ([[1.0, NAN], [2.0, 1.0]], {"forest": "boosting"}, ConfigError, "histogram, scikit-learn"),
        ([[1.0, NAN], [2.0, 1.0]], {"max_rounds": 0}, ConfigError, "'max_rounds' is 0"),
        ([[1.0, NAN], [2.0, 1.0]], {"max_train_rows": 0}, ConfigError, "'max_train_rows' is 0"),
    ],
)
def test_what_cannot_be_imputed_is_refused(values, changes, error, sentence):
    with pytest.raises(error, match=sentence):
        impute(np.array(values), **changes)


def test_a_config_may_name_every_forest_and_no_other():
    schema = MissForest.model_json_schema()
    assert set(schema["properties"]["forest"]["enum"]) == set(FORESTS)
