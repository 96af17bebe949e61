"""Rows divided into folds more than once: what is learned, judged, averaged and handed out."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from frugal.acquire.kinds import load_policy
from frugal.acquire.siblings import Siblings
from frugal.answer.candidates import divisions, one_of
from frugal.core.streams import Streams
from frugal.judge.semi_offline import OutcomeMeans, averaged

from tests.unit.test_candidates import AGENTS, FOLDS, answered, drawn


def test_repeated_divisions_are_averaged_and_their_spread_is_in_the_error():
    """Each division judges anew; the answer is their mean, and all their policies vote."""
    agents = {name: AGENTS[name] for name in ("fixed", "never", "always")}
    once, often = (answered(drawn(0), agents, ("A", "B"), repeats=r) for r in (1, 3))
    rows = pd.concat([often["made"][name]["paths"] for name in FOLDS])
    assert sorted(rows["repeat"].unique()) == [0, 1, 2]
    for _, own in rows.groupby(["agent", "repeat"]):
        assert sorted(own["row_id"].unique()) == list(range(300))
    first = rows[rows["repeat"] == 0].drop(columns="repeat").reset_index(drop=True)
    alone = pd.concat([once["made"][name]["paths"] for name in FOLDS]).drop(columns="repeat")
    pd.testing.assert_frame_equal(first, alone.reset_index(drop=True))
    stored = one_of(often["made"]["joined"]["policies"].stored("joined"), "fixed")
    assert stored is not None
    policy, _ = load_policy(stored)
    assert isinstance(policy, Siblings)
    assert len(policy.each) == 15
    for found in (once, often):  # what every record shows is the same under any division
        assert found["choice"]["practice"] == pytest.approx(once["choice"]["practice"], rel=0.1)
    table = often["outcomes"].set_index("agent")
    assert table.loc["fixed", "cost"] != once["outcomes"].set_index("agent").loc["fixed", "cost"]


@pytest.mark.parametrize("repeats", [2, 5])
def test_the_error_of_repeats_has_their_spread_and_their_mean_influence(repeats):
    rng, n, m = np.random.default_rng(repeats), 50, 3
    means, influence = rng.normal(size=(repeats, m)), rng.normal(size=(repeats, n, m))
    influence -= influence.mean(axis=1, keepdims=True)
    prior = rng.normal(size=(4, m))
    weight, ends = np.ones(n), np.zeros((n, m))
    each = [
        OutcomeMeans(mean, terms, prior, weight, ends, ends)
        for mean, terms in zip(means, influence, strict=True)
    ]
    found = averaged(each)
    np.testing.assert_allclose(found.mean, means.mean(axis=0))
    np.testing.assert_allclose(found.influence, influence.mean(axis=0))
    spread = np.cov(means.T) / repeats
    np.testing.assert_allclose(found.prior.T @ found.prior, prior.T @ prior + spread)
    assert averaged(each[:1]) is each[0]


def test_divisions_split_no_copies_and_no_clusters_in_any_order():
    table, streams = drawn(0), Streams(0, "learn_candidates", {})
    twice = table.take(np.r_[np.arange(300), np.arange(40)])
    twice = replace(twice, row_id=np.arange(340))
    fold = np.arange(340) % 5
    found = divisions(twice, fold, None, 3, streams)
    assert found[0] is fold
    assert len(found) == 3
    for again in found[1:]:
        np.testing.assert_array_equal(again[:40], again[300:])
        assert np.bincount(again).min() > 340 / 5 - 4
    order = np.random.default_rng(0).permutation(340)
    other = divisions(twice.take(order), fold[order], None, 3, streams)
    np.testing.assert_array_equal(other[1], found[1][order])
    cluster = np.arange(340) // 4
    for again in divisions(twice, fold, cluster, 3, streams)[1:]:
        assert (again.reshape(-1, 4) == again[::4, None]).all()
    assert [
        len(divisions(table.take(np.arange(n)), np.arange(n) % 5, None, None, streams))
        for n in (300, 150)
    ] == [3, 3]
    assert len(divisions(drawn(0, 1600), np.arange(1600) % 5, None, None, streams)) == 1
