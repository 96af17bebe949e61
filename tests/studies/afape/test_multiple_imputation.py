import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.studies.afape.multiple_imputation import impute_multiple
from scipy import stats
from scipy.special import expit
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

pytestmark = pytest.mark.trains

NAN = np.nan
TREES = {"trees": 20, "leaves": 8, "learning_rate": 0.3, "min_leaf": 20, "linear_penalty": 1.0}
ONEHOT = ((1, 3, 4), (5, 6))


def impute(values, *, onehot=(), label=None, draws=3, rounds=3, seed=0):
    rng = np.random.default_rng(seed)
    return impute_multiple(
        values, onehot=onehot, label=label, draws=draws, rounds=rounds, rng=rng, **TREES
    )


def mixed_table(n: int = 300) -> np.ndarray:
    rng = np.random.default_rng(0)
    numeric = rng.normal(size=(n, 2))
    three = np.eye(3)[rng.integers(0, 3, n)]
    two = np.eye(2)[(numeric[:, 0] > 0).astype(int)]
    values = np.concatenate([numeric[:, :1], three[:, :1], numeric[:, 1:], three[:, 1:], two], 1)
    gone = rng.random((n, 3)) < 0.3
    values[gone[:, 0], 0] = NAN
    values[gone[:, 1], 1] = NAN
    values[gone[:, 1], 3:5] = NAN
    values[gone[:, 2], 5:7] = NAN
    return values


def test_observed_entries_stay_and_missing_ones_are_drawn_anew():
    values = mixed_table()
    drawn = impute(values, onehot=ONEHOT, draws=4)
    known = ~np.isnan(values)
    assert drawn.shape == (4, *values.shape)
    assert np.isfinite(drawn).all()
    for table in drawn:
        assert table[known].tobytes() == values[known].tobytes()
        for group in ONEHOT:
            assert np.isin(table[:, group], [0.0, 1.0]).all()
            assert (table[:, group].sum(axis=1) == 1).all()
    assert drawn[:, ~known[:, 0], 0].std(axis=0).min() > 0
    assert (drawn.std(axis=0)[:, 1][~known[:, 1]] > 0).any()


def test_the_generator_fixes_the_draws():
    values = mixed_table()
    one, again, other = (impute(values, onehot=ONEHOT, draws=2, seed=s) for s in (1, 1, 2))
    assert one.tobytes() == again.tobytes()
    assert (one != other).any()


def test_a_table_without_missing_entries_is_repeated():
    values = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(impute(values, draws=2), np.stack([values, values]))


def test_normal_data_are_drawn_from_their_conditional_law():
    rng = np.random.default_rng(1)
    covariance = np.array([[4.0, 2.0, 1.0], [2.0, 3.0, 0.5], [1.0, 0.5, 1.0]])
    truth = rng.multivariate_normal([10, 0, -5], covariance, 3000)
    gone = rng.random(3000) < expit(truth[:, 1])  # at random: it depends on what is observed
    values = truth.copy()
    values[gone, 0] = NAN
    drawn = impute(values, draws=40, rounds=1)[:, gone, 0]
    slope = covariance[0, 1:] @ np.linalg.inv(covariance[1:, 1:])
    mean = 10 + (truth[gone, 1:] - [0, -5]) @ slope
    spread = np.sqrt(covariance[0, 0] - slope @ covariance[1:, 0])
    standard = (drawn - mean) / spread
    # All draws share the fit to about 1,500 rows: standard errors 0.026 (more, as the missing rows
    # lie to one side) for the mean, √(2/1500) = 0.037 for the variance; four of each.
    assert abs(standard.mean()) < 4 * 0.035
    assert standard.var() == pytest.approx(1.0, abs=4 * 0.037)
    per_entry = drawn.mean(axis=0)
    assert np.corrcoef(per_entry, mean)[0, 1] > 0.95


def test_draws_are_as_wide_as_the_truth_where_it_bends_and_its_noise_grows():
    rng = np.random.default_rng(8)
    x = rng.uniform(-2, 2, 4000)
    mean = np.exp(x)
    noise = 0.2 + 0.3 * mean  # residuals are lent among rows of like predictions
    gone = rng.random(4000) < expit(x)
    values = np.column_stack([x, np.where(gone, NAN, mean + noise * rng.normal(size=4000))])
    drawn = impute(values, draws=20, rounds=1)[:, gone, 1]
    standard = (drawn - mean[gone]) / noise[gone]
    for low in (-2, -1, 0, 1):
        there = standard[:, (x[gone] >= low) & (x[gone] < low + 1)]
        # one fit to some 250 to 900 rows a stretch: standard errors up to .06 and .045
        assert abs(there.mean()) < 4 * 0.06
        assert there.std() == pytest.approx(1.0, abs=4 * 0.045)


def test_numeric_draws_agree_with_scikit_learn():
    rng = np.random.default_rng(2)
    factor = rng.normal(size=(400, 1))
    truth = factor * [1.0, 2.0, -1.0, 0.5] + 0.7 * rng.normal(size=(400, 4))
    values = np.where(rng.random(truth.shape) < [0.0, 0.3, 0.2, 0.0], NAN, truth)
    own = impute(values, draws=40, rounds=6)
    theirs = np.empty_like(own)
    for s in range(40):
        imputer = IterativeImputer(sample_posterior=True, max_iter=6, random_state=s)
        theirs[s] = imputer.fit_transform(values)
    for column in (1, 2):
        gone = np.isnan(values[:, column])
        a, b = own[:, gone, column], theirs[:, gone, column]
        noise = np.sqrt((a.var(axis=0) + b.var(axis=0)) / 40)
        z = (a.mean(axis=0) - b.mean(axis=0)) / noise
        # Around 100 entries, whose differences share the parameter draws, so correlate weakly.
        assert abs(z.mean()) < 0.8
        assert np.sqrt((z**2).mean()) < 1.5
        assert a.var(axis=0).mean() == pytest.approx(b.var(axis=0).mean(), rel=0.1)


def test_pooled_intervals_cover():
    rng = np.random.default_rng(3)
    covered, repeats, m, n = 0, 200, 8, 80
    for _ in range(repeats):
        x = rng.normal(size=n)
        values = np.stack([x, x + rng.normal(size=n)], axis=1)  # the mean of the second is 0
        values[rng.random(n) < expit(x), 1] = NAN
        drawn = impute_multiple(values, onehot=(), label=None, draws=m, rounds=1, rng=rng, **TREES)[
            :, :, 1
        ]
        estimate, within = drawn.mean(axis=1), drawn.var(axis=1, ddof=1).mean() / n
        between = (1 + 1 / m) * estimate.var(ddof=1)
        freedom = (m - 1) * (1 + within / between) ** 2
        half = stats.t.ppf(0.975, freedom) * np.sqrt(within + between)
        covered += abs(estimate.mean()) < half
    # Binomial standard error of 200 repeats at 95 %: 1.5 %; three of them below.
    assert covered / repeats > 0.95 - 3 * 0.0154


def test_only_with_the_label_do_draws_keep_its_relation_to_the_feature():
    rng = np.random.default_rng(4)
    label = rng.integers(0, 2, 2000) * 3  # classes need not be 0, 1
    values = np.stack([rng.normal(size=2000), label / 3 * 2 + rng.normal(size=2000)], axis=1)
    gone = rng.random(2000) < 0.5
    values[gone, 1] = NAN

    def gap(drawn):
        table = drawn[:, gone, 1]
        return (table[:, label[gone] == 3].mean() - table[:, label[gone] == 0].mean()) / 2

    # Four draws of a gap whose standard error is 0.022 + 0.03 from the fit.
    assert gap(impute(values, label=label, draws=4, rounds=1)) == pytest.approx(1.0, abs=0.15)
    assert gap(impute(values, label=None, draws=4, rounds=1)) == pytest.approx(0.0, abs=0.15)


def shares_of_missing_classes(klass, x, rng):
    """Class shares among missing entries, missing at random: actual, imputed, and of the seen."""
    truth = np.concatenate([x[:, None], np.eye(3)[klass]], axis=1)
    gone = rng.random(len(x)) < expit(2 * x)
    values = truth.copy()
    values[gone, 1:] = NAN
    drawn = impute(values, onehot=((1, 2, 3),), draws=4, rounds=1)
    return (
        truth[gone, 1:].mean(axis=0),
        drawn[:, gone, 1:].mean(axis=(0, 1)),
        truth[~gone, 1:].mean(axis=0),
    )


def test_classes_missing_at_random_get_their_true_shares():
    rng = np.random.default_rng(5)
    x = rng.normal(size=4000)
    odds = np.exp(x[:, None] * [1.0, -1.0, 0.5] + [0.0, 0.2, -0.5])
    shares = odds / odds.sum(axis=1, keepdims=True)
    klass = (rng.random((4000, 1)) > shares.cumsum(axis=1)).sum(axis=1)
    actual, imputed, seen = shares_of_missing_classes(klass, x, rng)
    # 2,000 entries (0.011 for the truth), extrapolated from rows with smaller x (about 0.02).
    np.testing.assert_allclose(imputed, actual, atol=4 * 0.02)
    assert np.abs(seen - actual).max() > 0.25  # what a draw from the observed shares would give


def test_ordered_classes_are_imputed_much_better_than_from_the_observed_shares():
    rng = np.random.default_rng(6)
    x = rng.normal(size=4000)
    klass = np.digitize(x + 0.6 * rng.logistic(size=4000), [-1.0, 1.0])  # not the chain's model
    actual, imputed, seen = shares_of_missing_classes(klass, x, rng)
    assert np.abs(imputed - actual).max() < 0.5 * np.abs(seen - actual).max()


@pytest.mark.parametrize(
    ("values", "changes", "error", "sentence"),
    [
        ([[1.0, NAN], [2.0, NAN]], {}, DataError, "column 1 has no observed value"),
        ([[1.0, -np.inf], [NAN, 1.0]], {}, DataError, "infinite"),
        ([[1.0, NAN], [2.0, 1.0]], {"draws": 0}, ConfigError, "at least 1"),
        ([[1.0, NAN], [2.0, 1.0]], {"rounds": 0}, ConfigError, "at least 1"),
    ],
)
def test_what_cannot_be_imputed_is_refused(values, changes, error, sentence):
    with pytest.raises(error, match=sentence):
        impute(np.array(values), **changes)
