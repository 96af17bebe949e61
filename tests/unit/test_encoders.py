import numpy as np
import pytest
from frugal.acquire.encoders import (
    CallableEncoder,
    TabulatedEncoder,
    ValuesEncoder,
    observe_values,
    tabulate,
)
from frugal.core.errors import DataError
from frugal.core.world import all_sets
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.acquisition_worlds import world_of

PROVIDES = np.array([[0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]], dtype=bool)
FREE = np.array([1, 0, 0, 0, 0], dtype=bool)


def cases(n: int, *, gaps: bool) -> np.ndarray:
    values = np.random.default_rng(n).normal(size=(n, 5))
    if gaps:
        values[0, 1] = values[n - 1, 0] = np.nan
    return values


def slow_observation(values: np.ndarray, acquired: np.ndarray, *, bits: bool) -> list[float]:
    """One state, written from the definition."""
    shown, known = [], []
    for c in range(len(values)):
        revealed = FREE[c] or any(PROVIDES[j, c] and acquired[j] for j in range(len(PROVIDES)))
        there = bool(revealed and not np.isnan(values[c]))
        shown.append(values[c] if there else 0.0)
        known.append(float(there))
    return shown + (known if bits else []) + [float(bit) for bit in acquired]


@pytest.mark.parametrize("gaps", [False, True])
def test_values_encoder_shows_what_is_revealed_and_nothing_else(gaps):
    values = cases(4, gaps=gaps)
    encoder = ValuesEncoder.of(world_of(values, PROVIDES, FREE))
    row, code = np.repeat(np.arange(4), 8), np.tile(np.arange(8), 4)
    acquired = all_sets(3)[code]
    expected = [
        slow_observation(values[r], s, bits=gaps) for r, s in zip(row, acquired, strict=True)
    ]
    seen = encoder.encode(row, acquired)
    assert encoder.width == seen.shape[1] == 5 + 5 * gaps + 3
    np.testing.assert_array_equal(seen, np.array(expected, dtype=np.float32))


@given(st.integers(2, 5), st.booleans(), st.integers(0, 2**32 - 1))
def test_run_time_observation_equals_the_training_one(n, gaps, seed):
    values = cases(n, gaps=gaps)
    rng = np.random.default_rng(seed)
    row, acquired = rng.integers(n, size=6), rng.random((6, 3)) < 0.5
    known = FREE | (acquired.astype(float) @ PROVIDES > 0)
    visible = np.where(known, values[row], np.nan)
    encoder = ValuesEncoder.of(world_of(values, PROVIDES, FREE))
    np.testing.assert_array_equal(
        observe_values(visible, acquired, column_bits=gaps), encoder.encode(row, acquired)
    )


def test_many_panels_give_the_same_answer_without_the_list_of_sets():
    rng = np.random.default_rng(0)
    provides = rng.random((15, 20)) < 0.2
    values, free = rng.normal(size=(7, 20)), rng.random(20) < 0.3
    row, acquired = rng.integers(7, size=30), rng.random((30, 15)) < 0.4
    known = free | (acquired[:, :, None] & provides).any(axis=1)
    seen = ValuesEncoder.of(world_of(values, provides, free)).encode(row, acquired)
    np.testing.assert_array_equal(
        seen[:, :20], np.where(known, values[row], 0.0).astype(np.float32)
    )


def test_callable_encoder_hands_over_visible_values_only():
    values = cases(6, gaps=True)

    def count(visible: np.ndarray, acquired: np.ndarray) -> np.ndarray:
        known = np.isfinite(visible).sum(axis=1)
        return np.column_stack([known, acquired.sum(axis=1)]).astype(np.float32)

    encoder = CallableEncoder(world_of(values, PROVIDES, FREE), count, 2)
    acquired = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=bool)
    seen = encoder.encode(np.array([1, 1, 1, 0]), acquired)
    np.testing.assert_array_equal(
        seen, np.array([[1, 0], [3, 1], [4, 2], [4, 3]], dtype=np.float32)
    )


def test_table_equals_the_encoder_at_every_state():
    values = cases(5, gaps=True)
    encoder = ValuesEncoder.of(world_of(values, PROVIDES, FREE))
    table = tabulate(encoder, 5, 3, max_gib=0.001)
    row, code = np.repeat(np.arange(5), 8), np.tile(np.arange(8), 5)
    acquired = all_sets(3)[code]
    np.testing.assert_array_equal(table.encode(row, acquired), encoder.encode(row, acquired))
    np.testing.assert_array_equal(table.encode_codes(row, code), encoder.encode(row, acquired))
    assert table.width == encoder.width


def test_a_table_that_is_too_large_is_refused():
    encoder = TabulatedEncoder(np.zeros((1, 8, 4), dtype=np.float32))
    with pytest.raises(DataError, match=r"takes 0\.12 GiB; allowed are 0\.1 GiB"):
        tabulate(encoder, 1_000_000, 3, max_gib=0.1)
