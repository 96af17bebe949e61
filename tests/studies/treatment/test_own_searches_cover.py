"""Off-policy intervals of search policies hold the truth: short form of tests/trust/treatment."""

import pandas as pd
import pytest

from tests.trust.treatment import draw

pytestmark = pytest.mark.statistical


def test_doubly_robust_intervals_hold_the_truth_in_forty_worlds():
    rows = pd.DataFrame([row for seed in range(40) for row in draw(seed, fresh=50_000)])
    robust = rows[rows["estimator"] == "doubly_robust"]
    assert len(robust) == 240
    # at 95 %, six correlated intervals a world: fewer than 88 % in one of a thousand runs
    assert robust["covered"].mean() >= 0.88
    wrong = robust.groupby(["policy", "quantity"])["error"]
    assert (wrong.mean().abs() < 4 * wrong.std() / 40**0.5).all()
