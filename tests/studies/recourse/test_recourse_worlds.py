"""Worlds of the recourse study: designs, draws, explanations by frequency, split, and labels."""

from dataclasses import replace

import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.studies.recourse.frames import labelled_of
from frugal.studies.recourse.worlds import (
    VARIANTS,
    explanation_index,
    first_occurrences,
    frequent_explanations,
    sample_world,
    train_rows,
    variant_design,
)

from tests.studies.recourse.cover_cases import labelled_world, world_labels
from tests.studies.recourse.covers import cheapest_sets


def design(variant, draws=2_000, actions=100):
    return variant_design(
        variant, draws=draws, feature_probability=0.68, actions=actions, action_probability=0.5
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_world_is_what_its_design_says(variant):
    world = sample_world(design(variant), np.random.default_rng(2))
    n, d = world.features.shape
    assert len({row.tobytes() for row in world.features}) == n
    assert d == {"dim_50": 50, "dim_100": 100}.get(variant, 20)
    coordinate = world.coordinate_cost
    assert coordinate.min() >= 1
    assert coordinate.max() <= d
    provided = world.instance.provides.astype(int)
    assert (world.instance.cost == (provided * coordinate).sum(axis=1)).all()
    # 20 binomial sd of the mean of n·d draws; duplicates are dropped, so that all-ones states
    # weigh less: at 20 features the mean falls by up to 0.01
    assert abs(world.features.mean() - 0.68) < 0.02
    needed = world.instance.thresholds
    expected = {"first": (0, None), "last": (None, 20)}
    kind, _, count = variant.partition("_")
    if kind in expected:
        assert needed.sum() == int(count)
        assert needed[0 if kind == "first" else 19] == 1
    elif kind == "mid":
        assert np.flatnonzero(needed).tolist() == [7, 8, 9, 10, 11]
    else:
        assert needed.all()


def test_groups_have_their_share_of_actions():
    manual = sample_world(design("manual_groups"), np.random.default_rng(0)).instance
    assert manual.access.sum(axis=1).tolist() == [20] * 5
    own = sample_world(design("probabilistic_groups"), np.random.default_rng(0)).instance
    assert own.access.sum(axis=1).tolist() == [100] * 5
    assert own.access.sum(axis=0).tolist() == [1] * 500
    share = [own.provides[allowed].mean() for allowed in own.access]
    # 2,000 coordinates each: sd at most 0.0112; five comparisons at 4 sd, false alarm below 0.0004
    np.testing.assert_allclose(share, [0.4, 0.5, 0.6, 0.7, 0.8], atol=0.045)


def test_a_world_depends_on_its_generator_alone():
    one, same, other = (
        sample_world(design("dim_20"), np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert (one.features == same.features).all()
    assert (one.instance.provides == same.instance.provides).all()
    assert not np.array_equal(one.instance.provides, other.instance.provides)


def test_designs_that_contradict_themselves_are_refused():
    with pytest.raises(ConfigError, match="there is no variant 'dim_30'"):
        design("dim_30")
    base = design("dim_20")
    for change, sentence in [
        ({"access": "nobody"}, "access is 'nobody'"),
        ({"groups": 2}, "access 'everyone' has 1 group, not 2"),
        ({"action_probabilities": (0.1, 0.2)}, "needs 1 action probabilities, but 2"),
        ({"feature_probability": 1.2}, "lies outside"),
        ({"needed": (5, 5)}, "are needed"),
        ({"actions_per_group": 3}, "belongs to access 'assigned'"),
        ({"access": "assigned", "actions_per_group": 101}, "gets 101 of only 100"),
    ]:
        with pytest.raises(ConfigError, match=sentence):
            replace(base, **change)


def test_explanations_are_counted_and_subset_by_frequency():
    sets = np.array([[3, -1], [1, 2], [3, -1], [3, -1], [1, 2], [0, -1]])
    index, explanations, frequency = explanation_index(sets)
    assert (explanations[index] == sets).all()
    assert dict(zip(map(tuple, explanations.tolist()), frequency.tolist(), strict=True)) == {
        (0, -1): 1,
        (1, 2): 2,
        (3, -1): 3,
    }
    assert frequent_explanations(sets, more_than=0).all()
    assert frequent_explanations(sets, more_than=2).tolist() == [1, 0, 1, 1, 0, 0]


def test_split_has_the_share_and_refuses_empty_parts():
    train = train_rows(71_125, train_share=0.8, rng=np.random.default_rng(0))
    assert train.sum() == 56_900
    with pytest.raises(ConfigError, match="strictly between 0 and 1"):
        train_rows(10, train_share=1.0, rng=np.random.default_rng(0))
    with pytest.raises(DataError, match="cannot be split"):
        train_rows(1, train_share=0.8, rng=np.random.default_rng(0))


def test_first_occurrences_keep_order():
    rows = np.array([[1, 0], [0, 1], [1, 0], [1, 1], [0, 1]], dtype=bool)
    assert first_occurrences(rows).tolist() == [0, 1, 3]


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_distinct_unit_is_labelled_or_counted(variant):
    labels, instance = world_labels(design(variant), np.random.default_rng(4))
    units, status, size = labelled_of(labels, instance), labels["label_status"], labels["size"]
    assert len(units) == (status == "labelled").sum()
    assert size[status == "labelled"].between(1, 3).all()
    assert (size[status == "positive"] == 0).all()
    assert (size[status == "too_many_actions"] > 3).all()
    assert (units.optima == 1).all()
    assert (labels["optima"][status == "tied"] > 1).all()


def test_labels_are_the_one_cheapest_set():
    few = design("manual_groups", draws=300, actions=30)  # six actions a group: 64 sets
    units = labelled_world(few, np.random.default_rng(5))
    assert len(units) > 50
    for u in range(0, len(units), 3):
        least, optimal, _ = cheapest_sets(
            units.features[u],
            units.instance.thresholds,
            units.instance.provides,
            units.instance.cost,
            units.instance.access[units.group[u]],
        )
        assert optimal == [tuple(units.action_set[u][: units.size[u]])]
        assert units.cost[u] == least
