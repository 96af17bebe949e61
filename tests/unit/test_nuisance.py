import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError, NoSupportError
from frugal.learn.calibration import FitSums, log_loss
from frugal.learn.nuisance_choice import Head, MeanHead, probability_bounds
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from tests.unit.nuisance_fits import cross_fit, separate_fit

pytestmark = pytest.mark.trains

NETWORK = {"hidden": 8, "layers": 1, "epochs": 5, "batch": 64, "learning_rate": 0.02, "ridge": 1.0}
LOGISTIC = {"C": 1.0}
BOOSTING = {"trees": 20, "leaves": 7, "learning_rate": 0.1, "min_leaf": 20}
METHODS = [("network", NETWORK), ("logistic", LOGISTIC), ("boosting", BOOSTING)]


def calibration_table(p: np.ndarray, outcome: np.ndarray, *, bins: int):
    """From two blocks."""
    first, rest = (FitSums.of(p[k], outcome[k], bins=bins) for k in (slice(2), slice(2, None)))
    return (first + rest).calibration()


def rng():
    return np.random.default_rng(11)


def logistic_head(n, seed, *, beta=(1.0, -0.7), missing=0.0):
    """A head with known p; rows whose inputs are missing are not usable."""
    draw = np.random.default_rng(seed)
    z = draw.normal(size=(n, len(beta)))
    truth = 1 / (1 + np.exp(-(z @ beta + 0.3)))
    target = draw.random(n) < truth
    gone = draw.random(n) < missing
    z[gone, -1] = np.nan
    return Head(z, target, ~gone), truth


@pytest.mark.parametrize(("method", "its"), METHODS)
def test_no_model_sees_the_fold_it_predicts(method, its):
    one, _ = logistic_head(600, 0)
    wide, _ = logistic_head(600, 1, beta=(1.0, 0.5, 0.2, -0.4), missing=0.3)
    fold = np.arange(600) % 3
    common = {"fold": fold, "method": method, "settings": its}
    before = cross_fit([one, wide], rng=rng(), **common)
    flipped = [
        Head(h.inputs, np.where(fold == 1, ~h.target, h.target), h.usable) for h in (one, wide)
    ]
    after = cross_fit(flipped, rng=rng(), **common)
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old[fold == 1], new[fold == 1])  # NaN equals NaN here
        assert (old[fold != 1] != new[fold != 1]).any()


@pytest.mark.parametrize(("method", "its"), METHODS)
def test_truth_is_recovered_out_of_fold(method, its):
    head, truth = logistic_head(6000, 2)
    (p,) = cross_fit([head], fold=np.arange(6000) % 2, method=method, settings=its, rng=rng())
    excess = log_loss(p, head.target) - log_loss(truth, head.target)
    # 3,000 training rows: q/2n is .0005 for logistic (3 parameters), .006 for the network (33),
    # plus .003 for two standard errors of the difference over 6,000 rows. Twenty trees of rate .1
    # have gone 1 − .9²⁰ = 88 % of the way from the base rate, which is .15 off: (.12²)·.15 more.
    assert excess < {"logistic": 0.0035, "network": 0.009, "boosting": 0.02}[method]


def test_logistic_is_scikit_learn_on_standardised_inputs():
    head, _ = logistic_head(400, 3, missing=0.2)
    fold = np.arange(400) % 2
    (p,) = cross_fit([head], fold=fold, method="logistic", settings={"C": 0.5}, rng=rng())
    for f in (0, 1):
        train = head.usable & (fold != f)
        mean, deviation = head.inputs[train].mean(axis=0), head.inputs[train].std(axis=0)
        model = LogisticRegression(C=0.5, max_iter=1000, tol=1e-10).fit(
            (head.inputs[train] - mean) / deviation, head.target[train]
        )
        asked = head.usable & (fold == f)
        expected = model.predict_proba((head.inputs[asked] - mean) / deviation)[:, 1]
        np.testing.assert_allclose(p[asked], expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize(("method", "its"), METHODS)
def test_predicts_wherever_the_inputs_are_known(method, its):
    head, _ = logistic_head(500, 4, missing=0.3)
    known = np.isfinite(head.inputs).all(axis=1)
    usable = head.usable & (np.arange(500) % 5 > 0)  # fewer rows may train than can be predicted
    (p,) = cross_fit(
        [Head(head.inputs, head.target, usable)],
        fold=np.arange(500) // 250,
        method=method,
        settings=its,
        rng=rng(),
    )
    np.testing.assert_array_equal(np.isfinite(p), known)
    assert ((p[known] > 0) & (p[known] < 1)).all()


@pytest.mark.parametrize(("method", "its"), METHODS)
def test_no_inputs_or_a_constant_target_give_the_training_mean_but_no_certainty(method, its):
    target = np.random.default_rng(5).random(300) < 0.3
    fold = np.arange(300) % 2
    usable = np.arange(300) % 7 > 0
    z = np.random.default_rng(6).normal(size=(300, 2))
    none = Head(np.zeros((300, 0)), target, usable)
    always = Head(z, np.ones(300, dtype=bool), usable)
    never_outside_fold_1 = Head(z, target & (fold == 1), usable)
    p, q, r = cross_fit(
        [none, always, never_outside_fold_1], fold=fold, method=method, settings=its, rng=rng()
    )
    for f in (0, 1):
        assert (p[fold == f] == target[usable & (fold != f)].mean()).all()
    for f in (0, 1):
        rows = int((usable & (fold != f)).sum())
        np.testing.assert_allclose(q[fold == f], (rows + 0.5) / (rows + 1))  # Jeffreys, all of them
    rows = int((usable & (fold == 0)).sum())
    np.testing.assert_allclose(r[fold == 1], 0.5 / (rows + 1))  # and none of them
    assert (r[fold == 0] > 0).all()


@pytest.mark.parametrize(("method", "its"), METHODS)
def test_a_fit_that_is_sure_is_kept_inside_the_bounds_of_its_rows(method, its):
    z = np.linspace(-1, 1, 400)[:, None] * 1e3
    (p,) = cross_fit(
        [Head(z, z[:, 0] > 0, np.ones(400, dtype=bool))],
        fold=np.arange(400) % 2,
        method=method,
        settings=its,
        rng=rng(),
    )
    least, most = probability_bounds(200)
    assert least <= p.min()
    assert p.max() <= most


def test_what_is_no_law_keeps_small_probabilities_but_no_certainty():
    z = np.linspace(-1, 1, 400)[:, None]
    every = np.ones(400, dtype=bool)
    fit = {"fold": np.arange(400) % 2, "method": "logistic", "settings": {"C": 1e6}, "rng": rng()}
    law, other, sure = cross_fit(
        [
            Head(z, z[:, 0] > 0, every),
            Head(z, z[:, 0] > 0, every, is_law=False),
            Head(z, every, every, is_law=False),
        ],
        **fit,
    )
    least, most = probability_bounds(200)
    assert other.min() < least  # far from the border the fit is surer than 200 rows can make it
    inside = (other > least) & (other < most)
    np.testing.assert_array_equal(law, np.clip(other, least, most))
    np.testing.assert_array_equal(law[inside], other[inside])
    assert other.min() > 0
    assert other.max() < 1
    assert (sure == most).all()


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_the_bounds_move_certainty_alone_and_vanish_with_rows(rows, events):
    least, most = probability_bounds(rows)
    assert 0 < least <= most < 1
    assert least + most == pytest.approx(1)
    share = min(events, rows) / rows
    kept = min(max(share, least), most)
    assert (kept == share) == (0 < share < 1)
    assert abs(kept - share) <= 0.5 / (rows + 1) + 1e-12


def test_heads_of_all_widths_equal_heads_apart():
    heads = [
        logistic_head(700, 7, beta=beta, missing=0.1 * len(beta))[0]
        for beta in ((1.0,), (1.0, -0.5, 0.3), (0.5, 0.5))
    ]
    common = {"fold": np.arange(700) % 2, "method": "network", "settings": NETWORK}
    together = cross_fit(heads, rng=rng(), **common)
    first = cross_fit(heads[:1], rng=rng(), **common)
    np.testing.assert_allclose(together[0], first[0], rtol=0, atol=1e-6)
    small = {**NETWORK, "batch": 10**6}  # one network per chunk
    apart = cross_fit(heads, fold=common["fold"], method="network", settings=small, rng=rng())
    big = {**NETWORK, "batch": 70}  # a tenth of the rows is less: the same steps
    joined = cross_fit(heads, fold=common["fold"], method="network", settings=big, rng=rng())
    for one, two in zip(apart, joined, strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-6)


def test_separate_fit_trains_and_predicts_where_it_is_stated():
    head, _ = logistic_head(400, 8)
    part = np.arange(400)
    train, predict = part < 250, part >= 300
    shared = {"train": train, "predict": predict, "method": "network", "settings": NETWORK}
    (p,) = separate_fit([head], rng=rng(), **shared)
    np.testing.assert_array_equal(np.isfinite(p), predict)
    other = Head(head.inputs, np.where(train, head.target, ~head.target), head.usable)
    (q,) = separate_fit([other], rng=rng(), **shared)
    np.testing.assert_array_equal(p, q)


@pytest.mark.parametrize(("method", "its"), [METHODS[0], METHODS[2]])
def test_means_are_recovered_out_of_fold(method, its):
    draw = np.random.default_rng(9)
    z = draw.normal(size=(4000, 2))
    mean = np.column_stack([10 + 3 * z[:, 0], np.abs(z[:, 1]), np.full(4000, 2.0)])
    cost = mean + [0.5, 0.5, 0.0] * draw.normal(size=(4000, 3))
    usable = draw.random(4000) < 0.8
    cost[~usable] = np.nan  # the outcome is known where the row may train
    head = MeanHead(z, cost, usable)
    its = {**its, "epochs": 20} if method == "network" else {**its, "trees": 60}
    (m,) = cross_fit([head], fold=np.arange(4000) % 2, method=method, settings=its, rng=rng())
    # Noise of variance .25 and spreads of 3 and .6: root mean square errors of at most
    # about a tenth of the spread; the constant outcome to a thousandth.
    assert (np.sqrt(np.square(m - mean).mean(axis=0)) < [0.35, 0.15, 2e-3]).all()
    part = np.arange(4000)
    (s,) = separate_fit(
        [head], train=part < 2000, predict=part >= 2000, method=method, settings=its, rng=rng()
    )
    np.testing.assert_array_equal(np.isfinite(s).all(axis=1), part >= 2000)


def test_the_progress_bar_counts_chunks():
    head, _ = logistic_head(300, 10)
    seen = []

    def progress(chunks, *, desc):
        seen.append((desc, [len(chunk) for chunk in chunks]))
        return chunks

    fold = np.arange(300) % 9
    cross_fit(
        [head] * 2, fold=fold, method="network", settings=NETWORK, rng=rng(), progress=progress
    )
    assert seen == [("nuisance, network", [16, 2])]


def test_refusals_say_what_was_found():
    head, _ = logistic_head(100, 11)
    fold = np.arange(100) % 2
    ok = {"fold": fold, "method": "logistic", "settings": LOGISTIC, "rng": rng()}
    with pytest.raises(ConfigError, match="method 'forest' is unknown"):
        cross_fit([head], **{**ok, "method": "forest"})
    with pytest.raises(ConfigError, match=r"exactly these are allowed: \['C'\]"):
        cross_fit([head], **{**ok, "settings": {"C": 1.0, "penalty": "l1"}})
    with pytest.raises(ConfigError, match="1 fold"):
        cross_fit([head], **{**ok, "fold": fold * 0})
    with pytest.raises(NoSupportError, match="head 0 has no usable row"):
        cross_fit([Head(head.inputs, head.target, fold == 1)], **ok)
    spoiled = head.inputs.copy()
    spoiled[3, 0] = np.nan
    with pytest.raises(DataError, match="1 usable rows of head 0"):
        cross_fit([Head(spoiled, head.target, head.usable)], **ok)
    means = MeanHead(head.inputs, head.inputs, head.usable)
    with pytest.raises(ConfigError, match="'logistic' is unknown here"):
        cross_fit([means], **ok)
    with pytest.raises(DataError, match="1 of 2 probabilities"):
        log_loss(np.array([0.5, np.nan]), np.array([True, False]))


def test_calibration_table_by_hand():
    p = np.array([0.05, 0.15, 0.15, 1.0, 0.95])
    outcome = np.array([False, True, False, True, True])
    table = calibration_table(p, outcome, bins=10)
    assert table["bin"].tolist() == [0, 1, 9]
    assert table["n"].tolist() == [1, 2, 2]
    assert table["rate"].tolist() == [0, 0.5, 1]
    np.testing.assert_allclose(table["mean_probability"], [0.05, 0.15, 0.975])


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_calibration_keeps_every_row_and_both_means(seed, bins):
    draw = np.random.default_rng(seed)
    p = draw.random(50)
    outcome = draw.random(50) < p
    table = calibration_table(p, outcome, bins=bins)
    assert table["n"].sum() == 50
    assert (table["n"] * table["rate"]).sum() == pytest.approx(outcome.sum())
    assert (table["n"] * table["mean_probability"]).sum() == pytest.approx(p.sum())
    assert (table["mean_probability"] * bins).between(table["bin"], table["bin"] + 1).all()


def test_log_loss_and_overlap_by_hand():
    p = np.array([0.5, 0.25, 0.005, 1.0])
    outcome = np.array([True, False, False, True])
    assert log_loss(p, outcome) == pytest.approx(-np.log(0.5 * 0.75 * 0.995) / 4)
    assert log_loss(p, ~outcome) == np.inf
    sums = FitSums.of(p[:1], outcome[:1], bins=4) + FitSums.of(p[1:], outcome[1:], bins=4)
    assert (sums.rows, sums.minimum, sums.low) == (4, 0.005, 1)
    assert sums.loss / 4 == pytest.approx(log_loss(p, outcome))
