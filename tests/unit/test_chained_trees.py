"""Chained trees: what is known stays, the rest is predicted, and a stored chain is the same."""

import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.core.layout import Bundle
from frugal.core.stored import StoredArrays
from frugal.learn.imputer_kinds import imputer_arrays, imputer_of
from frugal.learn.imputers.chained_trees import ChainedTrees, fit_chained_trees
from frugal.results.files import payload_bytes, read_payload

pytestmark = pytest.mark.trains

NAN = np.nan
TREES = {"trees": 40, "leaves": 8, "learning_rate": 0.15, "min_leaf": 10, "linear_penalty": 10.0}
ONEHOT = ((1, 3, 4), (5, 6))


def chain(values, *, onehot=(), every=False, rounds=2, seed=0, **changes):
    return fit_chained_trees(
        np.asarray(values, dtype=float),
        onehot=onehot,
        every=every,
        rounds=rounds,
        rng=np.random.default_rng(seed),
        progress=None,
        **{**TREES, **changes},
    )


def mixed_table(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers, three ordered classes and two classes that follow one factor; with holes."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=n)
    numbers = factor[:, None] * [100.0, -0.01] + rng.normal(size=(n, 2)) * [30, 0.003] + [5000, 0]
    three = np.eye(3)[np.digitize(factor + 0.2 * rng.normal(size=n), [-0.5, 0.5])]
    two = np.eye(2)[(factor + 0.2 * rng.normal(size=n) > 0).astype(int)]
    truth = np.concatenate([numbers[:, :1], three[:, :1], numbers[:, 1:], three[:, 1:], two], 1)
    values, gone = truth.copy(), rng.random((n, 4)) < 0.2
    for j, columns in enumerate([[0], [2], [1, 3, 4], [5, 6]]):
        values[np.flatnonzero(gone[:, j])[:, None], columns] = NAN
    return truth, values


def test_numbers_and_classes_are_predicted_and_what_is_known_stays():
    truth, values = mixed_table()
    _, filled = chain(values, onehot=ONEHOT)
    gone = np.isnan(values)
    assert filled[~gone].tobytes() == values[~gone].tobytes()
    for column in (0, 2):
        left = np.square((filled - truth)[gone[:, column], column]).mean()
        assert left < 0.35 * truth[:, column].var()  # means leave all of it
    for group in ONEHOT:
        block = filled[:, group]
        assert np.isin(block, [0.0, 1.0]).all()
        assert (block.sum(axis=1) == 1).all()
        assert (block == truth[:, group]).all(axis=1)[gone[:, group[0]]].mean() > 0.7


def test_a_table_without_dependence_gets_means_not_noise():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(400, 6))
    values = np.where(rng.random(truth.shape) < 0.2, NAN, truth)
    _, filled = chain(values)
    gone = np.isnan(values)
    means = np.square((np.nanmean(values, axis=0) - truth)[gone]).mean()
    assert np.square((filled - truth)[gone]).mean() < 1.15 * means


def test_no_number_lies_beyond_those_that_are_known():
    rng = np.random.default_rng(2)
    cause = rng.normal(size=300)
    values = np.column_stack([cause, np.maximum(3 * cause, 0)])
    values[cause > 1.0, 1] = NAN
    _, filled = chain(values)
    assert filled[:, 1].max() == np.nanmax(values[:, 1])
    assert filled[:, 1].min() == 0.0


def test_a_chain_fills_rows_that_it_has_not_seen_each_by_itself():
    model, filled = chain(mixed_table()[1], onehot=ONEHOT, every=True)
    assert model.impute(mixed_table()[1]).tobytes() == filled.tobytes()
    truth, values = mixed_table(seed=7)
    together = model.impute(values)
    alone = np.concatenate([model.impute(values[i : i + 1]) for i in range(40)])
    assert alone.tobytes() == together[:40].tobytes()
    gone = np.isnan(values[:, 0])
    assert np.square((together - truth)[gone, 0]).mean() < 0.35 * truth[:, 0].var()


def test_a_stored_chain_is_text_without_pickles_and_gives_the_same_bytes(tmp_path):
    _, values = mixed_table(seed=7)
    model, _ = chain(mixed_table()[1], onehot=ONEHOT, every=True)
    arrays = imputer_arrays(model)
    assert arrays["text"].tobytes().startswith(b"tree\nversion=v4")
    path = tmp_path / "encoder.safetensors"
    path.write_bytes(payload_bytes(path, Bundle({"kind": "chained_trees"}, arrays)))
    read = read_payload(path)
    assert isinstance(read, StoredArrays)
    assert read.header == {"kind": "chained_trees"}
    again = imputer_of(read, columns=7)
    assert again.impute(values).tobytes() == model.impute(values).tobytes()
    for name, array in imputer_arrays(again).items():
        assert array.tobytes() == arrays[name].tobytes(), name


def test_the_generator_fixes_the_chain():
    _, values = mixed_table()
    assert chain(values, onehot=ONEHOT)[1].tobytes() == chain(values, onehot=ONEHOT)[1].tobytes()


def test_a_complete_table_is_learned_once_for_every_later_round():
    truth, values = mixed_table()
    model, same = chain(truth, onehot=ONEHOT, every=True, rounds=5)
    assert same.tobytes() == truth.tobytes()
    assert len({id(step) for step in model.steps}) == 2 * 4  # how many trees; then all rows
    assert len(model.steps) == 5 * 4
    assert np.isfinite(model.impute(values)).all()


def test_few_rows_constants_and_classes_that_never_occur():
    rows = np.array(
        [[1.0, 0, 7, 1, 0], [2, 1, NAN, NAN, NAN], [NAN, 0, 7, 1, 0], [3, NAN, 7, 0, 1]]
    )
    _, filled = chain(rows, onehot=((3, 4),), every=True)
    assert np.isfinite(filled).all()
    assert filled[1, 2] == 7.0
    three = np.eye(3)[np.arange(60) % 2]
    values = np.column_stack([np.arange(60.0) % 2, three])
    values[::7, 1:] = NAN
    _, filled = chain(values, onehot=((1, 2, 3),))
    assert (filled[:, 1:] == three).all()


def damaged(**changes):
    arrays = chain(mixed_table()[1], onehot=ONEHOT)[0].to_arrays()
    return {
        name: changes[name](array) if name in changes else array for name, array in arrays.items()
    }


def other(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy[len(copy) // 2] += 1
    return copy


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"text": other}, "'text' that was changed after it was stored"),
        ({"digest": other}, "'text' that was changed after it was stored"),
        ({"ends": lambda a: a - 1}, "'ends' that does not divide"),
        ({"variable": lambda a: a + 4}, "in the array 'variable' at"),
        ({"slopes": lambda a: a[:, 1:]}, "'slopes' of shape"),
        ({"start": lambda a: a[1:]}, "shape"),
        ({"start": lambda a: a + 9}, "in the array 'start' at"),
        ({"scale": lambda a: -a}, "'scale'"),
    ],
)
def test_a_changed_file_is_refused(changes, sentence):
    with pytest.raises(DataError, match=sentence):
        ChainedTrees.from_arrays(damaged(**changes))


@pytest.mark.parametrize(
    ("values", "changes", "error", "sentence"),
    [
        ([[1.0, NAN], [2.0, NAN]], {}, DataError, "column 1 has no observed value"),
        ([[1.0, -np.inf], [NAN, 1.0]], {}, DataError, "infinite"),
        ([[1.0], [NAN], [2.0]], {}, DataError, "one variable only"),
        ([[1.0, NAN], [2.0, 1.0]], {"rounds": 0}, ConfigError, "0 rounds; at least 1"),
        ([[1.0, NAN], [2.0, 1.0]], {"trees": 0}, ConfigError, "'trees' is 0; allowed"),
        ([[1.0, NAN], [2.0, 1.0]], {"leaves": 1}, ConfigError, "'leaves' is 1; allowed"),
        ([[1.0, NAN], [2.0, 1.0]], {"linear_penalty": 0.0}, ConfigError, "values above 0"),
    ],
)
def test_what_cannot_be_imputed_is_refused(values, changes, error, sentence):
    with pytest.raises(error, match=sentence):
        chain(values, **changes)


def test_rows_of_another_table_are_refused():
    _, values = mixed_table()
    values[:, 0] = 1.0 + np.arange(len(values))
    model, _ = chain(values, onehot=ONEHOT)
    with pytest.raises(DataError, match="rows of 3 columns were requested"):
        model.impute(np.ones((1, 3)))
    values[0, 0] = NAN
    with pytest.raises(DataError, match="column 0 is missing, but the imputer was fitted to"):
        model.impute(values)
