"""The synthetic world: equal classes, one population, features that each tell something."""

import numpy as np
import pytest
from frugal.config.dataset import MakeClassification
from frugal.core.errors import ConfigError
from frugal.data.simulators import two_class_clusters
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

WORLD = MakeClassification(
    name="make_classification",
    population=20_000,
    clusters_per_class=2,
    class_separation=1.0,
    seed=10,
)


@settings(max_examples=20)
@given(st.integers(2, 20_000))
def test_rows_are_honoured_and_classes_equal(rows):
    frame = two_class_clusters(WORLD, rows=rows, features=4, classes=2)
    assert list(frame.columns) == ["X1", "X2", "X3", "X4", "Y"]
    assert len(frame) == rows
    assert abs((frame["Y"] == "1").sum() - rows / 2) <= 0.5


def test_population_has_mean_zero_and_unit_deviation():
    frame = two_class_clusters(WORLD, rows=20_000, features=4, classes=2)
    values = frame.drop(columns="Y").to_numpy()
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(values.std(axis=0), 1, atol=1e-12)


def test_small_table_is_part_of_the_large_one():
    small = two_class_clusters(WORLD, rows=100, features=4, classes=2)
    large = two_class_clusters(WORLD, rows=5_000, features=4, classes=2)
    assert set(small["X1"]) <= set(large["X1"])
    again = two_class_clusters(WORLD, rows=100, features=4, classes=2)
    assert small.equals(again)
    other = WORLD.changed(seed=11)
    assert not small.equals(two_class_clusters(other, rows=100, features=4, classes=2))


def test_every_panel_of_the_shipped_world_adds_information():
    """Accuracy on 4,000 rows has a standard error of about 0.007; gains below are 0.07 and more."""
    world = WORLD.changed(population=200_000)
    frame = two_class_clusters(world, rows=6_000, features=4, classes=2)
    values, label = frame.drop(columns="Y").to_numpy(), (frame["Y"] == "1").to_numpy()
    accuracy = {}
    for name, columns in {"X1": [0], "X2": [0, 1], "X3": [0, 2, 3], "all": [0, 1, 2, 3]}.items():
        forest = RandomForestClassifier(30, min_samples_leaf=10, random_state=0)
        forest.fit(values[:2_000][:, columns], label[:2_000])
        accuracy[name] = (forest.predict(values[2_000:][:, columns]) == label[2_000:]).mean()
    assert 0.55 < accuracy["X1"] < 0.70
    assert accuracy["X2"] > accuracy["X1"] + 0.05
    assert accuracy["X3"] > accuracy["X1"] + 0.10
    assert accuracy["all"] > max(accuracy["X2"], accuracy["X3"]) + 0.03


def test_more_rows_than_the_population():
    with pytest.raises(ConfigError, match=r"needs 20001 rows, but .*population' is 20000"):
        two_class_clusters(WORLD, rows=20_001, features=4, classes=2)


def test_more_clusters_than_corners():
    with pytest.raises(ConfigError, match=r"clusters_per_class' is 2; .* allow at most 1"):
        two_class_clusters(WORLD, rows=100, features=1, classes=2)
