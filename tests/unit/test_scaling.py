"""The one standardisation: plain means and deviations, weights, constants, unknown columns."""

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.core.scaling import fit_scaling
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.trains

NAN = np.nan


def test_scaling_goes_there_and_back():
    train = np.array([[1.0, 5.0], [3.0, 5.0], [NAN, 5.0]])
    scaling = fit_scaling(train)
    np.testing.assert_array_equal(scaling.scale, [1.0, 1.0])  # a constant column is not stretched
    np.testing.assert_allclose(scaling.restore(scaling.standardise(train)), train)


@given(seed=st.integers(0, 999), unit=st.sampled_from([1e-20, 1.0, 1e12]))
@settings(max_examples=30)
def test_scaling_is_that_of_known_values_in_every_unit(seed, unit):
    rng = np.random.default_rng(seed)
    values = unit * rng.normal(3, 2, size=(40, 3))
    values[rng.random(values.shape) < 0.3] = NAN
    scaling = fit_scaling(values)
    np.testing.assert_array_equal(scaling.centre, np.nanmean(values, axis=0))
    np.testing.assert_array_equal(scaling.scale, np.nanstd(values, axis=0))
    for j in range(3):  # a column alone has the same, but for the order of sums
        alone = fit_scaling(values[:, j])
        assert float(alone.centre) == pytest.approx(scaling.centre[j], rel=1e-12)
        assert float(alone.scale) == pytest.approx(scaling.scale[j], rel=1e-12)


def test_whole_weights_are_repeated_rows():
    rng = np.random.default_rng(0)
    values, times = rng.normal(3, 2, size=(30, 2)), rng.integers(1, 4, 30)
    weighted = fit_scaling(values, times.astype(np.float64))
    repeated = fit_scaling(np.repeat(values, times, axis=0))
    np.testing.assert_allclose(weighted.centre, repeated.centre, rtol=1e-12)
    np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9, -3e-30])
def test_a_column_that_never_varies_gets_the_scale_that_is_requested_for(value):
    """The sum of so many tenths is off by more than rounding of one."""
    column = np.full(1_000_000, value)
    assert fit_scaling(column).scale == 1
    assert fit_scaling(column, constant=0.0).scale == 0
    read = fit_scaling(column[:, None], np.ones(len(column)), constant=np.inf)
    assert read.standardise(np.array([[value + 7]])).tolist() == [[0.0]]


def test_groups_that_are_left_stay_as_they_are():
    rng = np.random.default_rng(1)
    values = np.column_stack([rng.normal(3, 2, 60), rng.integers(0, 2, 60), np.ones(60)])
    scaled = fit_scaling(values).leaving(((1,),)).standardise(values)
    assert scaled[:, 0].mean() == pytest.approx(0, abs=1e-12)
    assert scaled[:, 0].std() == pytest.approx(1)
    assert np.array_equal(scaled[:, 1], values[:, 1])
    assert (scaled[:, 2] == 0).all()


def test_columns_without_a_value_are_refused_or_pass():
    values = np.array([[1.0, NAN], [3.0, NAN]])
    with pytest.raises(DataError, match="column 1 has no known value"):
        fit_scaling(values)
    passed = fit_scaling(values, unknown=True)
    assert passed.standardise(np.array([[2.0, 7.0]])).tolist() == [[0.0, 7.0]]
    with pytest.raises(DataError, match="infinite"):
        fit_scaling(np.array([[np.inf]]))
