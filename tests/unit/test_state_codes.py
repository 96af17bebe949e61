import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.core.world import all_sets, distinct_sets, set_codes, sets_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

SETS = st.tuples(st.integers(1, 7), st.integers(0, 62)).flatmap(lambda s: arrays(np.bool_, s))


@given(SETS)
def test_codes_are_binary_numbers_and_invert(acquired):
    codes = set_codes(acquired)
    expected = [sum(2**j for j, bit in enumerate(row) if bit) for row in acquired]
    assert codes.dtype == np.int64
    assert codes.tolist() == expected
    np.testing.assert_array_equal(sets_of(codes, acquired.shape[1]), acquired)


def test_all_sets_stand_at_their_codes():
    np.testing.assert_array_equal(set_codes(all_sets(5)), np.arange(32))
    assert all_sets(0).shape == (1, 0)


def test_too_many_panels_are_refused():
    with pytest.raises(DataError, match="63 panels do not fit"):
        set_codes(np.zeros((1, 63), dtype=bool))
    with pytest.raises(DataError, match="all sets of 21 panels"):
        all_sets(21)


@pytest.mark.parametrize("panels", [0, 1, 3, 8, 9, 63, 64, 65, 130])
@pytest.mark.parametrize("n", [0, 1, 50])
def test_distinct_sets_are_those_of_numpy(panels, n):
    sets = np.random.default_rng(panels).random((n, panels)) < 0.5
    sets[n // 2 :] = sets[: n - n // 2]
    found = distinct_sets(sets)
    if not panels or not n:
        assert len(found.sets) == len(found.count) == min(n, 1)
        assert found.which.tolist() == [0] * n
        return
    one = np.unique(sets, axis=0, return_index=True, return_inverse=True, return_counts=True)
    for mine, theirs in zip((found.sets, found.first, found.which, found.count), one, strict=True):
        np.testing.assert_array_equal(mine, theirs.ravel() if theirs.ndim < 2 else theirs)
