"""Baselines learn what can be learned, pick on validation, and repeat byte for byte."""

import numpy as np
import pytest
from frugal.core.declarations import declared
from frugal.core.errors import ConfigError, DataError
from frugal.learn.calibration import best_threshold
from frugal.studies.diagnosis.tabular_baselines import fit_baseline
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from tests.oracles.diagnosis_counts import counted_scores

pytestmark = pytest.mark.trains

GRIDS = {
    "logistic": {"C": [1.0], "positive_weight": [1, 3]},
    "forest": {"trees": [25], "min_leaf": [5], "positive_weight": [1]},
    "xgboost": {"trees": [20], "depth": [3], "learning_rate": [0.2], "positive_weight": [3]},
    "lightgbm": {
        "trees": [20],
        "leaves": [7],
        "learning_rate": [0.2],
        "min_leaf": [5],
        "positive_weight": [1],
    },
    "perceptron": {
        "hidden": [8],
        "layers": [2],
        "epochs": [15],
        "batch": [64],
        "learning_rate": [0.02],
        "weight_decay": [0.0],
        "positive_weight": [3],
    },
}


def rare_positives(seed: int, n: int = 600, *, missing: float = 0.0):
    """About 15 % positives, raised by two of four columns; the scale of columns differs widely."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 4))
    risk = 1 / (1 + np.exp(-(2.5 * values[:, 0] - 2 * values[:, 1] - 3)))
    label = (rng.random(n) < risk).astype(np.int64)
    values = values * [1, 100, 1, 0.01] + [0, 500, 3, 0]
    values[rng.random(values.shape) < missing] = np.nan
    return values, label


def fit(kind: str, *, missing: float = 0.0, seed: int = 0, criterion: str = "f1", grid=None):
    train, check = rare_positives(1, missing=missing), rare_positives(2, 400, missing=missing)
    chosen = {"criterion": criterion, "grid": grid or GRIDS[kind]}
    return fit_baseline(kind, *train, *check, settings=chosen, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("kind", GRIDS)
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_every_kind_beats_calling_everyone_positive(kind, missing):
    model = fit(kind, missing=missing)
    values, label = rare_positives(3, missing=missing)
    everyone = 2 * label.sum() / (label.sum() + len(label))
    said = model.diagnose(values)
    scores = counted_scores(label.tolist(), said.tolist(), model.predict_proba(values).tolist())
    assert scores["f1"] > everyone + 0.15
    assert scores["auroc"] > 0.75


@pytest.mark.parametrize("kind", GRIDS)
def test_the_same_generator_gives_the_same_bytes(kind):
    values, _ = rare_positives(3)
    one, again = (fit(kind).predict_proba(values) for _ in range(2))
    assert one.tobytes() == again.tobytes()
    assert ((one >= 0) & (one <= 1)).all()


def test_every_kind_is_tried():
    kinds = declared("frugal.studies.diagnosis.tabular_baselines", "Classifier")
    assert {name: set(one.literals["grid"]) for name, one in kinds.items()} == {
        name: set(grid) for name, grid in GRIDS.items()
    }
    weights = [one.literals["grid"]["positive_weight"][2] for one in kinds.values()]
    assert weights == [[1.0, 3.0]] * len(kinds)  # the same for a fair comparison


def test_the_grid_point_with_the_best_validation_score_is_taken():
    grid = {"C": [1e-6, 1.0], "positive_weight": [1, 3]}
    best = fit("logistic", grid=grid)
    alone = [
        fit("logistic", grid={"C": [c], "positive_weight": [w]})
        for c in (1e-6, 1.0)
        for w in (1, 3)
    ]
    scores = [model.validation_score for model in alone]
    assert best.validation_score == max(scores)
    assert best.chosen == alone[int(np.argmax(scores))].chosen


@given(st.integers(0, 2**32 - 1), st.integers(4, 30), st.sampled_from(["f1", "am"]))
@settings(max_examples=80)
def test_no_threshold_scores_higher(seed, n, criterion):
    rng = np.random.default_rng(seed)
    label = np.r_[0, 1, rng.integers(0, 2, n - 2)]
    probability = np.round(rng.random(n), 1)
    threshold, score = best_threshold(label, probability, criterion=criterion)
    reached = [
        counted_scores(label.tolist(), (probability >= t).tolist(), probability.tolist())[criterion]
        for t in np.unique(probability)
        if ((probability >= t) & (label == 1)).any()
    ]
    own = counted_scores(label.tolist(), (probability >= threshold).tolist(), probability.tolist())
    assert own[criterion] == pytest.approx(score) == pytest.approx(max(reached))


def test_refusals():
    with pytest.raises(ConfigError, match="no classifier 'svm'"):
        fit("svm", grid={"C": [1]})
    with pytest.raises(ConfigError, match="grid of logistic names C; it lists"):
        fit("logistic", grid={"C": [1.0]})
    with pytest.raises(ConfigError, match="cannot be tuned for 'accuracy'"):
        fit("logistic", criterion="accuracy")
    with pytest.raises(DataError, match="units of both classes"):
        best_threshold(np.ones(3, int), np.full(3, 0.5), criterion="f1")
    values, label = rare_positives(4)
    with pytest.raises(DataError, match="labels are 0; needed are both"):
        fit_baseline(
            "logistic",
            values,
            0 * label,
            values,
            label,
            settings={"criterion": "f1", "grid": GRIDS["logistic"]},
            rng=np.random.default_rng(0),
        )
    with pytest.raises(DataError, match="rows have 3 columns"):
        fit("logistic").predict_proba(values[:, :3])


def test_the_logistic_baseline_is_the_optimum_that_scikit_learn_nears():
    """Its default tolerance stops up to .01 away in probability; a strict one does not."""
    values, label = rare_positives(1, 600)
    point = {"C": [1.0], "positive_weight": [3]}
    found = fit("logistic", grid=point).predict_proba(values)
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    weight = np.where(label == 1, 3.0, 1.0)
    exact = LogisticRegression(tol=1e-12, max_iter=10_000).fit(standard, label, weight)
    np.testing.assert_allclose(found, exact.predict_proba(standard)[:, 1], rtol=0, atol=1e-6)
