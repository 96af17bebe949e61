"""Errors of weighted estimates with the fit of the probabilities counted in, against many draws."""

import numpy as np
import pytest
from frugal.core.rows import ScratchFile
from frugal.judge.estimator import Terms
from frugal.judge.intervals import (
    effective_sample_size,
    estimate,
    influence,
    skewed_interval,
    spread_of,
    standard_error,
)
from frugal.judge.sums import Spread, WeightSums
from scipy import stats
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from tests.unit.in_blocks import cut, influence_terms, nuisance_fit

N, DRAWS = 600, 300


def drawn(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A cause, whether the row is complete, and a cost that follows the cause."""
    cause = rng.normal(size=n)
    return cause, rng.random(n) < expit(0.5 + 0.5 * cause), 2 * cause + rng.normal(size=n)


def one_draw(seed: int, others: int) -> tuple[float, float, float]:
    """A self-normalised mean by fitted weights; its error with the fit counted, and without."""
    rng = np.random.default_rng(seed)
    cause, complete, cost = drawn(rng, N)
    fitted_on = drawn(rng, others)[:2] if others else (cause, complete)
    model = LogisticRegression(C=1e9).fit(fitted_on[0][:, None], fitted_on[1])
    probability = model.predict_proba(cause[:, None])[:, 1]
    weight = complete / probability
    terms = Terms((weight * cost)[:, None], weight, weight)
    rest = complete - probability
    scores = np.stack([rest, rest * cause], axis=1)
    psi = influence_terms(terms, scores=scores, others=others)[:, None]
    return estimate(terms)[0], spread_of(psi, weight)[0], standard_error(terms)[0]


def corrected(
    scores: np.ndarray, others: int, psi: np.ndarray, learned=None, *, blocks: int = 1
) -> np.ndarray:
    """Influence terms with the fit counted in, from blocks."""
    slices = cut(len(psi), blocks)
    with ScratchFile() as scratch:
        fit = nuisance_fit(scratch, scores, others, learned, blocks=blocks)
        parts = [fit.scores(k) for k in range(blocks)]
        crossed = np.sum(
            [part.T @ psi[rows] for part, rows in zip(parts, slices, strict=True)], axis=0
        )
        return np.concatenate(
            [fit.corrected(k, psi[rows], parts[k], crossed) for k, rows in enumerate(slices)]
        )


def interval(centre: np.ndarray, psi: np.ndarray, weight: np.ndarray):
    return skewed_interval(centre, Spread.of(psi), WeightSums.of(weight), level=0.95)


@pytest.mark.parametrize("others", [0, 300])
def test_the_error_is_that_of_many_draws(others):
    value, told, plain = np.array([one_draw(seed, others) for seed in range(DRAWS)]).T
    seen = value.std(ddof=1)
    assert told.mean() == pytest.approx(seen, rel=0.1)
    assert abs(plain.mean() / seen - 1) > 0.15  # taken as known the error is far off either way


def test_what_was_not_fitted_or_cannot_be_stated_is_left_alone():
    rng = np.random.default_rng(0)
    terms = Terms(rng.normal(size=(50, 2)), np.ones(50), np.ones(50))
    for scores in (np.empty((50, 0)), np.zeros((50, 2)), rng.normal(size=(50, 6))):
        found = influence_terms(terms, scores=scores, others=0)
        np.testing.assert_array_equal(found, influence(terms)[:, 0])


def test_rows_apart_without_end_count_for_nothing():
    rng = np.random.default_rng(2)
    psi, scores = rng.normal(size=(400, 1)), rng.normal(size=(400, 3))
    far = corrected(scores, 10**12, psi)
    np.testing.assert_allclose(far, psi, atol=1e-6)
    near = corrected(scores, 400, psi)
    same = corrected(scores, 0, psi) * np.sqrt(397 / 400)
    plain = (psi**2).sum()
    explained = plain - (same**2).sum()
    assert (near**2).sum() == pytest.approx(plain + explained)


def test_a_skewed_interval_covers_where_errors_are_rare():
    n, p = 100, 0.04
    held = {"skewed": 0.0, "normal": 0.0}
    for hits in range(1, 20):
        outcome = np.r_[np.ones(hits), np.zeros(n - hits)]
        terms = Terms(outcome[:, None], np.ones(n), np.ones(n))
        centre, psi = estimate(terms), influence(terms)
        ends = {
            "skewed": interval(centre, psi, np.ones(n)),
            "normal": (
                centre - 1.96 * standard_error(terms),
                centre + 1.96 * standard_error(terms),
            ),
        }
        for name, (low, high) in ends.items():
            held[name] += stats.binom.pmf(hits, n, p) * (low[0] <= p <= high[0])
    assert held["skewed"] > 0.93  # of .983: without a hit the rule of three answers
    assert held["normal"] < held["skewed"] - 0.03


def test_a_skewed_interval_without_skew_is_students():
    psi = np.r_[np.full(20, -1.0), np.full(20, 1.0)][:, None]
    low, high = interval(np.array([3.0]), psi, np.ones(40))
    half = stats.t.ppf(0.975, 39) * spread_of(psi, np.ones(40))
    assert (low, high) == (pytest.approx(3 - half), pytest.approx(3 + half))


def test_a_skewed_interval_always_holds_the_estimate():
    rng = np.random.default_rng(4)
    for size in (2, 3, 5, 40):
        for power in (1, 3, 9):
            psi = rng.normal(size=(size, 4)) ** power
            psi -= psi.mean(axis=0)
            weight = rng.random(size) ** 3
            low, high = interval(np.zeros(4), psi, weight)
            assert (low <= 0).all()
            assert (high >= 0).all()
            assert effective_sample_size(weight) <= size
    one = np.array([1.0, 0.0])
    assert interval(np.zeros(1), np.zeros((2, 1)), one)[1][0] == np.inf


@pytest.mark.parametrize("blocks", [1, 3])
def test_what_scores_explain_is_a_regression_on_all_rows(blocks):
    """Collinear scores, too."""
    rng = np.random.default_rng(0)
    scores, psi = rng.normal(size=(400, 6)), rng.normal(size=(400, 3))
    scores[:, 5] = scores[:, 0] - 2 * scores[:, 1]
    psi += scores[:, :3]
    explained = scores @ np.linalg.lstsq(scores, psi, rcond=None)[0]
    some = rng.random(400) < 0.5
    taken = np.where(some[:, None], 400 / some.sum() * explained, 0.0)
    for others, learned, expected in (
        (200, None, psi + (np.sqrt(1 + 400 / 200) - 1) * explained),
        (0, None, (psi - explained) * np.sqrt(400 / 394)),
        (0, some, (psi - taken) * np.sqrt(400 / 394)),
    ):
        found = corrected(scores, others, psi, learned, blocks=blocks)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
