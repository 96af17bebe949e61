import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.core.state_codes import all_sets, set_codes, sets_of
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
