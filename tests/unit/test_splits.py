"""Parts have the sizes requested, the class shares of the table, and follow the seed."""

from collections import Counter

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.data.description import SplitSpec
from frugal.data.splits import (
    assign_clusters,
    assign_parts,
    part_sizes,
    split_rows,
    stratified_order,
)
from hypothesis import given, settings
from hypothesis import strategies as st

NAMES = ("train", "agent", "nuisance", "test")


@st.composite
def tables(draw):
    """Labels with each class present, and positive sizes that sum to their number."""
    label = draw(st.lists(st.integers(0, 2), min_size=8, max_size=200))
    cuts = sorted(draw(st.lists(st.integers(0, len(label)), min_size=3, max_size=3)))
    sizes = np.diff([0, *cuts, len(label)])
    return np.array(label), dict(zip(NAMES, sizes.tolist(), strict=True))


@given(tables(), st.integers(0, 2**32))
def test_sizes_are_exact_and_classes_proportional(case, seed):
    label, sizes = case
    split = assign_parts(label, sizes, np.random.default_rng(seed))
    assert Counter(split.tolist()) == Counter({p: m for p, m in sizes.items() if m})
    k = len(np.unique(label))
    for part, size in sizes.items():
        for c in np.unique(label):
            expected = size * (label == c).mean()
            found = ((split == part) & (label == c)).sum()
            # a stretch of the order has each of k classes up to k − 1 rows off at either end
            assert abs(found - expected) <= max(2 * (k - 1), 1)


@given(st.integers(0, 5000), st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_part_sizes_sum_and_round_by_less_than_one(n, weights):
    fractions = {p: w / sum(weights) for p, w in zip(NAMES, weights, strict=False)}
    sizes = part_sizes(n, fractions)
    assert sum(sizes.values()) == n
    for part, fraction in fractions.items():
        assert abs(sizes[part] - fraction * n) < 1


def test_exact_products_are_not_rounded_up():
    assert part_sizes(30, {"train": 0.1, "test": 0.9}) == {"train": 3, "test": 27}


def test_the_largest_remainder_is_rounded_up():
    fractions = {"train": 0.499999996, "test": 0.500000004}
    assert part_sizes(1, fractions) == {"train": 0, "test": 1}
    assert part_sizes(10, {"train": 0.25, "agent": 0.36, "test": 0.39}) == {
        "train": 2,
        "agent": 4,
        "test": 4,
    }


@given(st.integers(0, 2**32))
def test_classes_of_unequal_size_are_spread_evenly(seed):
    """The r-th of m rows stands at (r + ½)/m: 1/16, 3/16, …; 1/6, 1/2, 5/6 of class 1."""
    label = np.array([1] * 3 + [0] * 8)
    order = stratified_order(label, np.random.default_rng(seed))
    assert label[order].tolist() == [0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0]


def test_order_is_a_permutation_and_random_within_class():
    label = np.array([0] * 50 + [1] * 50)
    orders = [stratified_order(label, np.random.default_rng(s)) for s in range(2)]
    for order in orders:
        assert sorted(order.tolist()) == list(range(100))
        for stretch in label[order].reshape(10, 10):
            assert stretch.sum() == 5  # equal classes: every ten rows hold five of each
    assert (orders[0] != orders[1]).any()


def test_every_row_is_equally_likely_to_be_tested():
    """Each row's share over seeds is a mean of 2,000 Bernoulli(0.4): 5 standard errors for 40 rows.

    False alarm below 40 · 6e-7; the seeds are fixed.
    """
    label = np.arange(40) % 3
    hits = np.zeros(40)
    for seed in range(2000):
        split = assign_parts(label, {"train": 24, "test": 16}, np.random.default_rng(seed))
        hits += split == "test"
    # rows of a class of size m are in the test with probability (its test rows)/m exactly
    for c in range(3):
        assert abs(hits[label == c].mean() / 2000 - 0.4) < 1 / (label == c).sum()
        spread = np.ptp(hits[label == c]) / 2000
        assert spread < 10 * np.sqrt(0.24 / 2000)


def _spec(scheme, parts=None, groups=None) -> SplitSpec:
    return SplitSpec(scheme, 3, parts or {}, groups or {})


def test_same_seeds_same_split_other_seeds_other_split():
    label, group = np.arange(100) % 2, np.full(100, "")
    spec = _spec("fractions", {"train": 0.5, "test": 0.5})
    first = split_rows(label, group, spec, rng_seed=1)
    assert (first == split_rows(label, group, spec, rng_seed=1)).all()
    assert (first != split_rows(label, group, spec, rng_seed=2)).any()
    other = SplitSpec("fractions", 4, spec.parts, {})
    assert (first != split_rows(label, group, other, rng_seed=1)).any()


def test_given_groups_stay_apart():
    label = np.arange(60) % 2
    group = np.array(["old"] * 40 + ["new"] * 20)
    spec = _spec("given", groups={"old": {"train": 0.5, "agent": 0.5}, "new": {"test": 1.0}})
    split = split_rows(label, group, spec, rng_seed=0)
    assert set(split[40:]) == {"test"}
    assert Counter(split[:40].tolist()) == {"train": 20, "agent": 20}
    assert label[:40][split[:40] == "train"].sum() == 10


def test_part_without_a_class_is_refused():
    label = np.array([0] * 9 + [1])  # the one row of class 1 stands in the middle
    for part, parts in {
        "train": {"train": 2.0, "test": 8.0},
        "test": {"train": 8.0, "test": 2.0},
    }.items():
        with pytest.raises(DataError, match=f"part '{part}' has 2 rows and none of class 1"):
            split_rows(label, np.full(10, ""), _spec("counts", parts), rng_seed=0)


def test_parts_that_the_study_trains_on_have_every_class():
    label = np.array([0] * 9 + [1])
    spare = {"encoder": 8.0, "agent": 1.0, "test": 1.0}
    with pytest.raises(DataError, match="part 'agent' has 1 rows and none of class 1"):
        split_rows(label, np.full(10, ""), _spec("counts", spare), rng_seed=0)
    label = np.arange(10) % 2
    split = split_rows(
        label,
        np.full(10, ""),
        _spec("counts", {"train": 4.0, "validation": 1.0, "test": 5.0}),
        rng_seed=0,
    )
    assert Counter(split.tolist()) == {"train": 4, "validation": 1, "test": 5}


def test_groups_alike_are_split_apart():
    """Each group has a stream of its own: two that hold the same labels are not split alike."""
    label, group = np.zeros(40, dtype=np.int64), np.array(["old"] * 20 + ["new"] * 20)
    halves = {"train": 0.5, "test": 0.5}
    split = split_rows(
        label, group, _spec("given", groups={"old": halves, "new": halves}), rng_seed=0
    )
    assert (split[:20] != split[20:]).any()


@settings(max_examples=50)
@given(st.lists(st.integers(0, 12), min_size=12, max_size=80), st.integers(0, 1000))
def test_parts_keep_clusters_whole_and_have_about_their_sizes(clusters, seed):
    cluster = np.array(clusters)
    label = np.random.default_rng(seed).integers(2, size=len(cluster))
    sizes = {"train": len(cluster) // 3, "test": len(cluster) - len(cluster) // 3}
    part = assign_clusters(label, cluster, sizes, np.random.default_rng(seed))
    assert all(len(set(part[cluster == c])) == 1 for c in set(clusters))
    largest = np.bincount(cluster).max()
    assert all(abs((part == name).sum() - size) <= largest for name, size in sizes.items())


def test_rows_for_themselves_are_split_as_ever():
    label = np.random.default_rng(0).integers(3, size=90)
    sizes = {"train": 31, "agent": 9, "test": 50}
    alone = assign_clusters(label, np.arange(90), sizes, np.random.default_rng(4))
    assert (alone == assign_parts(label, sizes, np.random.default_rng(4))).all()


def test_a_cluster_in_files_of_two_groups_is_refused():
    groups = {name: {"train": 0.5, "test": 0.5} for name in ("old", "new")}
    spec = SplitSpec("given", 0, {}, groups)
    label, group = np.arange(8) % 2, np.repeat(["old", "new"], 4)
    with pytest.raises(DataError, match="files of the groups 'new' and 'old', which split scheme"):
        split_rows(label, group, spec, rng_seed=0, cluster=np.array([0, 0, 1, 1, 1, 2, 3, 3]))
    whole = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    part = split_rows(label, group, spec, rng_seed=0, cluster=whole)
    assert all(len(set(part[whole == c])) == 1 for c in range(4))


def test_folds_have_rows_without_a_label_in_equal_shares():
    label = np.repeat([-1, 0, 1], [50, 100, 100])
    folds = {f"fold_{k}": 0.2 for k in range(5)}
    spec = SplitSpec("folds", 0, folds, {})
    for cluster in (None, np.arange(250) // 2):
        part = split_rows(label, np.array([""] * 250), spec, rng_seed=0, cluster=cluster)
        counts = [int((label[part == name] < 0).sum()) for name in folds]
        assert max(counts) - min(counts) <= (1 if cluster is None else 4)
