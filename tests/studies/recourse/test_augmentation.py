"""Augmentation: the theorem behind it, quotas, leaks, and that it hands out no duplicates."""

import numpy as np
import pytest
from frugal.studies.recourse.augmentation import augment, derive_units, spare_features
from frugal.studies.recourse.instance import CoverInstance, LabelledUnits
from frugal.studies.recourse.solvers.branch_and_bound import cheapest_covers
from frugal.studies.recourse.worlds import explanation_index, train_rows, variant_design
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.studies.recourse.cover_cases import labelled_world


def split_world(variant="dim_20", draws=3_000, seed=0):
    design = variant_design(
        variant, draws=draws, feature_probability=0.68, actions=100, action_probability=0.5
    )
    rng = np.random.default_rng(seed)
    units = labelled_world(design, rng)
    train = train_rows(len(units), train_share=0.8, rng=rng)
    return units.take(train), units.take(~train)


def states(units):
    return [row.tobytes() for row in units.features]


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32),
    variant=st.sampled_from(["dim_20", "dim_50", "first_5", "manual_groups"]),
)
def test_worse_off_copies_keep_their_one_cheapest_set(seed, variant):
    train, test = split_world(variant, 700, seed)
    derived, _ = derive_units(
        train, test, per_unit=2, target_frequency=10**6, leaky=True, rng=np.random.default_rng(seed)
    )
    covers = cheapest_covers(derived.features, derived.group, derived.instance, max_nodes=10**7)
    assert len(derived) > 0
    assert covers.unique.all()
    assert (covers.cost == derived.cost).all()
    width = covers.action_set.shape[1]
    assert (covers.action_set == derived.action_set[:, :width]).all()


def test_a_feature_is_spare_if_the_actions_reach_it_again():
    train, _ = split_world()
    spare = spare_features(train)
    for u in range(0, len(train), 97):
        given = train.instance.provides[train.action_set[u][: train.size[u]]].any(axis=0)
        assert (spare[u] == (train.features[u] & given)).all()


def test_copies_are_new_states_within_their_quota_and_hide_the_test_units():
    train, test = split_world()
    quota = {"per_unit": 5, "target_frequency": 30}
    derived, counts = derive_units(train, test, **quota, leaky=False, rng=np.random.default_rng(1))
    assert len(set(states(derived))) == len(derived) == counts.derived
    assert not set(states(derived)) & (set(states(train)) | set(states(test)))
    assert counts.leaked == 0
    both = np.concatenate([train.action_set, derived.action_set])
    index, _, frequency = explanation_index(both)
    _, _, before = explanation_index(train.action_set)
    assert (frequency <= np.maximum(before, 30)).all()
    assert (frequency >= before).all()
    leaky, leaks = derive_units(train, test, **quota, leaky=True, rng=np.random.default_rng(1))
    assert leaks.candidates == counts.candidates
    assert leaks.test_units_met == counts.test_units_met
    assert leaks.leaked == len(set(states(leaky)) & set(states(test))) > 0
    assert leaks.test_units_met >= leaks.leaked
    assert index.max() + 1 == len(frequency)


def test_the_same_state_in_another_group_is_another_unit():
    """Two groups with the same actions: a copy is only a leak of the test unit of its own group."""
    instance = CoverInstance(
        np.ones(1), np.ones((1, 2), dtype=bool), np.ones(2, dtype=np.int64), np.ones((2, 1)) > 0
    )

    def units(features, group):
        n = len(group)
        return LabelledUnits(
            np.array(features, dtype=bool),
            np.zeros((n, 1), dtype=np.int64),
            np.ones(n),
            np.ones(n, dtype=np.int64),
            np.array(group),
            instance,
        )

    train = units([[1, 0], [1, 0]], [0, 1])  # copies: (0, 0) in either group
    test = units([[0, 0]], [1])
    options = {"per_unit": 40, "target_frequency": 100, "rng": np.random.default_rng(0)}
    derived, counts = derive_units(train, test, **options, leaky=False)
    assert (counts.candidates, counts.test_units_met, counts.leaked) == (2, 1, 0)
    assert derived.features.tolist() == [[False, False]]
    assert derived.group.tolist() == [0]
    _, counts = derive_units(train, test, **options, leaky=True)
    assert (counts.derived, counts.leaked) == (2, 1)


def test_second_augmentation_lifts_rare_explanations_only():
    train, test = split_world(draws=20_000)
    first, one = augment(
        train,
        test,
        per_unit=3,
        balanced_frequency=10,
        rare_frequency=None,
        leaky=False,
        rng=np.random.default_rng(2),
    )
    both, two = augment(
        train,
        test,
        per_unit=3,
        balanced_frequency=10,
        rare_frequency=20,
        leaky=False,
        rng=np.random.default_rng(2),
    )
    assert len(one) == 1
    assert two[0] == one[0]
    assert (both.features[: len(first)] == first.features).all()
    assert len(both) == len(first) + two[1].derived > len(first)
    index, _, frequency = explanation_index(both.action_set)
    assert frequency[index[len(first) :]].max() <= 20
    rare = [(explanation_index(u.action_set)[2] < 20).sum() for u in (train, first, both)]
    assert rare[0] >= rare[1] > rare[2]


def test_nothing_is_derived_at_a_target_that_all_have_met():
    train, test = split_world()
    derived, counts = derive_units(
        train, test, per_unit=2, target_frequency=0, leaky=False, rng=np.random.default_rng(0)
    )
    assert len(derived) == counts.derived == 0


def test_other_features_are_refused():
    train, _ = split_world()
    _, wide = split_world("dim_50", 300)
    with pytest.raises(ValueError, match="training units have 20 features, test units 50"):
        derive_units(
            train, wide, per_unit=1, target_frequency=1, leaky=False, rng=np.random.default_rng(0)
        )
