"""Classifiers that see the same panels of every unit, tuned on validation units.

The baselines of [diagnosis, table 2]: logistic regression, random forest, XGBoost, LightGBM and a
multilayer perceptron, on all panels or on fixed ones (the caller passes the columns). Weights of
positives, hyper-parameters and the threshold are those with the highest F1 (or AM) on validation.
Must not know panels, costs, policies or files.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from frugal.core.declarations import declared, load_one
from frugal.core.errors import ConfigError, DataError
from frugal.core.scaling import fit_scaling
from frugal.learn.calibration import best_threshold
from frugal.learn.trees import train_booster
from frugal.learn.weighted_logistic import fit_logistic

Predict = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Classifier:
    """One kind of classifier, declared in this module.

    Attributes:
        name: `kind` in a config.
        label: in figures.
        grid: parameter → type, meaning and values that are tried, as of `acquire.kinds.AgentKind`.
        fit: (values, label, seed, parameters by name) → predictor.
    """

    name: str
    label: str
    grid: Mapping[str, tuple[Any, ...]]
    fit: Callable[..., Predict]


@dataclass(frozen=True, eq=False)
class FittedBaseline:
    """A tuned classifier of two classes.

    Attributes:
        predict: rows (m, d) → probability of the positive class. (m,)
        threshold: a unit is positive if its probability is at least this.
        chosen: the grid point taken.
        validation_score: its F1 or AM on the validation units.
        columns: d.
    """

    predict: Predict
    threshold: float
    chosen: Mapping[str, float | int]
    validation_score: float
    columns: int

    def predict_proba(self, values: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
        """Probability of the positive class. (m,)

        Raises:
            DataError: another number of columns than in training.
        """
        if values.shape[1] != self.columns:
            raise DataError(
                f"rows have {values.shape[1]} columns; the classifier was fitted to {self.columns}"
            )
        return self.predict(values)

    def diagnose(self, values: Float[np.ndarray, "m d"]) -> Int[np.ndarray, " m"]:
        """1 where a unit is called positive, else 0. (m,)"""
        return (self.predict_proba(values) >= self.threshold).astype(np.int64)


def fit_baseline(
    kind: str,
    train_values: Float[np.ndarray, "n d"],
    train_label: Int[np.ndarray, " n"],
    validation_values: Float[np.ndarray, "v d"],
    validation_label: Int[np.ndarray, " v"],
    *,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> FittedBaseline:
    """The classifier of a grid whose best threshold scores highest on validation units.

    Every point of the grid is fitted to the training units; of equal scores the first counts.
    Missing values: forest, XGBoost and LightGBM learn where to send them; logistic regression and
    the perceptron read the training mean. All run in one thread and repeat byte for byte.

    Args:
        kind: name of a `Classifier`.
        train_values: features, NaN where missing. (n, d)
        train_label: 1 for a positive unit, 0 for a negative one. (n,)
        validation_values: of other units. (v, d)
        validation_label: of these. (v,)
        settings: `criterion`, f1 or am; and `grid`, a list of values for each parameter of the
            kind.
        rng: of bootstraps, first weights and orders of rows, the same for every point of the grid.

    Raises:
        ConfigError: an unknown kind or criterion, or a grid with other names than the kind has.
        DataError: no or one-class units, a column without a known value, or an infinite value.
    """
    kinds = declared("frugal.studies.diagnosis.tabular_baselines", "Classifier")
    if kind not in kinds:
        raise ConfigError(f"there is no classifier {kind!r}; allowed: {', '.join(kinds)}")
    classifier: Classifier = load_one(
        "frugal.studies.diagnosis.tabular_baselines", "Classifier", kind
    )
    grid = _grid(classifier, settings)
    _check_units(train_values, train_label, validation_values)
    seed = int(rng.integers(2**31 - 1))
    best: FittedBaseline | None = None
    for point in grid:
        predict = classifier.fit(train_values, train_label, seed=seed, **point)
        threshold, score = best_threshold(
            validation_label, predict(validation_values), criterion=settings["criterion"]
        )
        if best is None or score > best.validation_score:
            best = FittedBaseline(predict, threshold, point, score, train_values.shape[1])
    assert best is not None
    return best


def _grid(kind: Classifier, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every combination of the listed values, the last name varying fastest."""
    grid, names = settings["grid"], (*kind.grid,)
    if set(grid) != set(names) or not all(grid.values()):
        raise ConfigError(
            f"the grid of {kind.name} names {', '.join(map(str, grid))}; it lists at least one "
            f"value for each of {', '.join(names)}"
        )
    return [
        dict(zip(names, point, strict=True)) for point in itertools.product(*map(grid.get, names))
    ]


def _check_units(
    train_values: np.ndarray, train_label: np.ndarray, validation_values: np.ndarray
) -> None:
    if not np.isin([0, 1], train_label).all() or not np.isin(train_label, [0, 1]).all():
        labels = ", ".join(map(str, np.unique(train_label)))
        raise DataError(f"training labels are {labels or 'none'}; needed are both 0 and 1, alone")
    if np.isinf(train_values).any() or np.isinf(validation_values).any():
        raise DataError("a value is infinite; values are finite, or NaN where missing")


def _unit_weight(label: np.ndarray, positive_weight: float | int) -> np.ndarray:
    return np.where(label == 1, positive_weight, 1.0)


def _standardised(values: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Map to standard deviations from the training mean, 0 where missing."""
    scaling = fit_scaling(values)
    return lambda rows: np.nan_to_num(scaling.standardise(rows), nan=0.0)


def _fit_logistic(
    values: np.ndarray,
    label: np.ndarray,
    *,
    seed: int,
    C: float | int,
    positive_weight: float | int,
) -> Predict:
    """Ridge on standardised inputs: C weighs the sum of the losses against ½ |slope|²."""
    read, weight = _standardised(values), _unit_weight(label, positive_weight)
    model = fit_logistic(read(values), label, weight, ridge=1 / (C * weight.sum()))
    return lambda rows: model.probability(read(rows))


def _fit_forest(
    values: np.ndarray,
    label: np.ndarray,
    *,
    seed: int,
    trees: int,
    min_leaf: int,
    positive_weight: float | int,
) -> Predict:
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(
        n_estimators=trees, min_samples_leaf=min_leaf, n_jobs=1, random_state=seed
    ).fit(values, label, sample_weight=_unit_weight(label, positive_weight))
    return lambda rows: np.asarray(model.predict_proba(rows))[:, 1]


def _fit_xgboost(
    values: np.ndarray,
    label: np.ndarray,
    *,
    seed: int,
    trees: int,
    depth: int,
    learning_rate: float | int,
    positive_weight: float | int,
) -> Predict:
    import xgboost

    chosen = {
        "objective": "binary:logistic",
        "tree_method": "hist",
        "nthread": 1,
        "seed": seed,
        "max_depth": depth,
        "eta": learning_rate,
        "verbosity": 0,
    }
    weight = _unit_weight(label, positive_weight)
    data = xgboost.DMatrix(values, label=label, weight=weight, nthread=1)
    model = xgboost.train(chosen, data, num_boost_round=trees)
    return lambda rows: model.predict(xgboost.DMatrix(rows, nthread=1)).astype(np.float64)


def _fit_lightgbm(
    values: np.ndarray, label: np.ndarray, *, seed: int, positive_weight: float | int, **shape: Any
) -> Predict:
    model = train_booster(
        values,
        label,
        objective={"objective": "binary"},
        rng=np.random.default_rng(seed),
        weight=_unit_weight(label, positive_weight),
        **shape,
    )
    return lambda rows: np.asarray(model.predict(rows, num_threads=1), dtype=np.float64)


def _fit_perceptron(
    values: np.ndarray,
    label: np.ndarray,
    *,
    seed: int,
    positive_weight: float | int,
    weight_decay: float | int,
    **shape: Any,
) -> Predict:
    """A network of `learn.networks`; its rows' weights are those of the classes."""
    from frugal.learn.networks import fit_networks  # torch is slow to import

    read = _standardised(values)
    model = fit_networks(
        [read(values)],
        [label[:, None].astype(np.float64)],
        [0],
        _unit_weight(label, positive_weight)[None],
        loss="binary",
        rngs=[np.random.default_rng(seed)],
        weight_decay=[float(weight_decay)],
        activation="relu",
        **shape,
    )
    return lambda rows: model.predict(0, read(rows))[:, 0]


LOGISTIC = Classifier(
    name="logistic",
    label="logistic regression",
    grid={
        "C": ("Positives", "inverse of the ridge penalty", [0.01, 0.1, 1.0]),
        "positive_weight": (
            "Positives",
            "of a positive training unit relative to 1 for a negative one",
            [1.0, 3.0],
        ),
    },
    fit=_fit_logistic,
)
FOREST = Classifier(
    name="forest",
    label="random forest",
    grid={
        "trees": ("Counts", "", [60]),
        "min_leaf": ("Counts", "rows", [3]),
        "positive_weight": (
            "Positives",
            "of a positive training unit relative to 1 for a negative one",
            [1.0, 3.0],
        ),
    },
    fit=_fit_forest,
)
XGBOOST = Classifier(
    name="xgboost",
    label="XGBoost",
    grid={
        "trees": ("Counts", "", [100]),
        "depth": ("Counts", "", [2, 4]),
        "learning_rate": ("Positives", "", [0.1]),
        "positive_weight": (
            "Positives",
            "of a positive training unit relative to 1 for a negative one",
            [1.0, 3.0],
        ),
    },
    fit=_fit_xgboost,
)
LIGHTGBM = Classifier(
    name="lightgbm",
    label="LightGBM",
    grid={
        "trees": ("Counts", "", [100]),
        "leaves": ("Counts", "", [4, 15]),
        "learning_rate": ("Positives", "", [0.05]),
        "min_leaf": ("Counts", "rows", [10]),
        "positive_weight": (
            "Positives",
            "of a positive training unit relative to 1 for a negative one",
            [1.0, 3.0],
        ),
    },
    fit=_fit_lightgbm,
)
PERCEPTRON = Classifier(
    name="perceptron",
    label="perceptron",
    grid={
        "hidden": ("Counts", "units of a hidden layer", [32]),
        "layers": ("Counts", "hidden ones", [2]),
        "epochs": ("Counts", "", [20]),
        "batch": ("Counts", "rows", [64]),
        "learning_rate": ("Positives", "", [0.01]),
        "weight_decay": ("NonNegatives", "", [0.001]),
        "positive_weight": (
            "Positives",
            "of a positive training unit relative to 1 for a negative one",
            [1.0, 3.0],
        ),
    },
    fit=_fit_perceptron,
)
