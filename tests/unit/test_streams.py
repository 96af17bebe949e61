"""Random streams: equal names give equal numbers, and no stream knows of any other."""

from itertools import pairwise

import numpy as np
import pytest
from frugal.core.streams import Streams
from hypothesis import given, settings
from hypothesis import strategies as st

SCENARIO = {"dataset": "a", "mechanism": "mar"}


def first(root, stage, wildcards, *keys):
    return Streams(root, stage, wildcards).generator(*keys).integers(2**63, size=4).tolist()


def test_equal_names_give_equal_streams():
    assert first(1, "x", SCENARIO, "mask", 3) == first(1, "x", SCENARIO, "mask", 3)


def test_the_order_of_wildcards_does_not_matter():
    turned = dict(reversed(SCENARIO.items()))
    assert first(1, "x", SCENARIO, "mask") == first(1, "x", turned, "mask")


@pytest.mark.parametrize(
    "other",
    [
        (2, "x", SCENARIO, "mask", 3),
        (1, "y", SCENARIO, "mask", 3),
        (1, "x", SCENARIO | {"mechanism": "mnar"}, "mask", 3),
        (1, "x", {}, "mask", 3),
        (1, "x", SCENARIO, "order", 3),
        (1, "x", SCENARIO, "mask", 4),
        (1, "x", SCENARIO, "mask"),
        (1, "x", SCENARIO, "mask3"),
    ],
)
def test_each_part_of_the_name_counts(other):
    assert first(1, "x", SCENARIO, "mask", 3) != first(*other)


def test_a_seed_does_not_depend_on_the_seeds_next_to_it():
    streams = Streams(5, "draw", SCENARIO)
    together = {seed: streams.generator("mask", seed).random(3) for seed in range(4)}
    alone = Streams(5, "draw", SCENARIO).generator("mask", 3).random(3)
    assert np.array_equal(together[3], alone)


def test_drawing_from_one_stream_does_not_move_another():
    streams = Streams(5, "draw", SCENARIO)
    one, other = streams.generator("one"), streams.generator("other")
    one.random(1000)
    assert np.array_equal(other.random(3), streams.generator("other").random(3))


def test_keys_are_stated_apart_by_where_they_end():
    assert first(1, "x", {}, "ab", "c") != first(1, "x", {}, "a", "bc")


@given(st.integers(0, 2**40), st.text(max_size=8), st.integers(0, 1000))
@settings(max_examples=50)
def test_any_name_gives_numbers_in_the_unit_interval(root, stage, key):
    numbers = Streams(root, stage, {}).generator(key).random(5)
    assert ((numbers >= 0) & (numbers < 1)).all()


def test_streams_of_neighbouring_seeds_are_uncorrelated():
    # 200 seeds × 500 draws: |correlation| of neighbours is below 5 standard errors of 1/√500;
    # false-alarm rate 199 × 6e-7 ≈ 1e-4 for a fixed root, which is drawn once and for all
    draws = np.array([Streams(0, "s", {}).generator(k).standard_normal(500) for k in range(200)])
    neighbours = [np.corrcoef(a, b)[0, 1] for a, b in pairwise(draws)]
    assert np.abs(neighbours).max() < 5 / np.sqrt(500)
