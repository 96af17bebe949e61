"""Generators reach the accuracy that the study asks for, on a smaller world of 20 features."""

from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.recourse_accuracy import accuracy, recourse_block, seeded_world

pytestmark = pytest.mark.trains

BLOCK = recourse_block(Path(__file__).parents[3] / "config" / "paper_recourse.yaml")


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "goal"), [("seen_cover", 0.94), ("named_action", 0.955)])
def test_accuracy_at_20_features_with_a_fifth_of_the_draws(name, goal):
    shares = []
    for seed in (0, 1, 2):
        units, _ = seeded_world(20, seed, draws=20_000)
        shares.append(accuracy(name, BLOCK, units, np.random.default_rng([seed, 20, 1])))
    # Fewer units than the study's leave more explanations rare: means were 0.956 and 0.969. One
    # world's share moves by about 0.006 (rarity) and 0.003 (binomial, 3,900 units), the mean of
    # three by 0.004: the goals lie more than three of these below.
    assert np.mean(shares) >= goal
