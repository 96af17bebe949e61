import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.core.terms import Terms
from frugal.judge.convergence import prefix_estimates
from frugal.judge.intervals import estimate


def terms(n: int) -> Terms:
    rng = np.random.default_rng(0)
    weight = rng.exponential(size=n) * (rng.random(n) < 0.4)
    weight[:3] = 0.0
    return Terms(weight[:, None] * rng.random((n, 2)), weight, weight)


def test_each_prefix_equals_the_estimate_on_those_rows():
    whole = terms(500)
    sizes = np.array([2, 3, 50, 51, 499, 500])
    found = prefix_estimates(whole, sizes)
    for i, n in enumerate(sizes[2:], start=2):
        part = Terms(whole.numerator[:n], whole.denominator[:n], whole.weight[:n])
        np.testing.assert_allclose(found.estimate[i], estimate(part), rtol=1e-12)
        assert found.usable_rows[i] == (whole.weight[:n] > 0).sum()


def test_a_prefix_without_weight_is_nan_and_counted_as_such():
    found = prefix_estimates(terms(500), np.array([2, 3, 500]))
    np.testing.assert_array_equal(found.usable_rows[:2], [0, 0])
    assert np.isnan(found.estimate[:2]).all()
    assert np.isfinite(found.estimate[2]).all()


def test_a_plain_estimate_without_weight_is_nan_not_zero():
    weight = np.array([0.0, 0.0, 2.0])
    found = prefix_estimates(Terms(weight[:, None], np.ones(3), weight), np.array([2, 3]))
    assert np.isnan(found.estimate[0, 0])
    assert found.estimate[1, 0] == pytest.approx(2 / 3)


@pytest.mark.parametrize("sizes", [[], [0, 5], [5, 5], [7, 3], [1, 11]])
def test_sizes_must_increase_within_the_rows(sizes):
    with pytest.raises(DataError, match=r"must increase within 1\.\.10"):
        prefix_estimates(terms(10), np.array(sizes, dtype=np.int64))
