"""Imputers side by side in one run: time on a wide table, error and bias of J_Imp on five tables.

    OMP_NUM_THREADS=1 python -m tests.benchmarks.imputation time [rows] [columns] [nomissforest]
    OMP_NUM_THREADS=1 python -m tests.benchmarks.imputation tables [maskings]

`time`: ours beside the same chain with LightGBM as one would write it down in twenty lines, the
MissForest of the paper and scikit-learn's IterativeImputer; 20 % of the entries hidden. Goals on
5,000 × 25: a fifth of MissForest's CPU time at no larger error; 100,000 × 25 in 60 CPU s.

`tables`: 20 % of the variables hidden at random, ten times; every imputer fills in the same holes.
Error: root mean squared, in standard deviations of a column. Bias of J_Imp: the cost per row of a
policy that acquires everything, on imputed rows less on full ones, where an error costs 1 and a
forest that other rows trained decides. Intervals: 95 %, by Student's t over the maskings.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from frugal.learn.imputation_errors import hide_at_random
from frugal.learn.imputer_kinds import fit_imputer
from frugal.learn.imputers.chained_trees import fit_chained_trees
from frugal.learn.imputers.missforest import impute_missforest
from scipy import stats
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier

from tests.benchmarks.missforest import curved_table

TREES = {
    "rounds": 2,
    "trees": 60,
    "leaves": 15,
    "learning_rate": 0.15,
    "min_leaf": 20,
    "linear_penalty": 10.0,
}
FOREST = {
    "forest": "histogram",
    "trees": 100,
    "min_leaf_numeric": 5,
    "min_leaf_categorical": 1,
    "max_rounds": 10,
    "max_train_rows": None,
}
FLOW = {
    "couplings": 8,
    "hidden": [32, 32],
    "passes": 2,
    "mask_draws": 12,
    "hidden_share": [0.05, 0.35],
    "batch": 128,
    "learning_rate": 0.001,
    "weight_decay": 1e-6,
    "alpha": 1e6,
    "em_scale": 0.99,
    "em_power": 0.8,
}
Filler = Callable[[np.ndarray, tuple[tuple[int, ...], ...], int], np.ndarray]


def ours(values: np.ndarray, onehot: tuple[tuple[int, ...], ...], seed: int) -> np.ndarray:
    return fit_chained_trees(
        values, onehot=onehot, every=False, rng=np.random.default_rng(seed), progress=None, **TREES
    )[1]


def twenty_lines(values: np.ndarray, onehot: tuple[tuple[int, ...], ...], seed: int) -> np.ndarray:
    """Chained LightGBM as a good engineer writes it down; every column is a number."""
    import lightgbm

    gone = np.isnan(values)
    filled = np.where(gone, np.nanmean(values, axis=0), values)
    for _ in range(2):
        for j in np.argsort(gone.sum(axis=0)):
            if not gone[:, j].any():
                continue
            others, known = np.delete(filled, j, axis=1), ~gone[:, j]
            model = lightgbm.LGBMRegressor(
                n_estimators=50,
                num_leaves=31,
                learning_rate=0.1,
                max_bin=63,
                n_jobs=1,
                deterministic=True,
                force_row_wise=True,
                random_state=seed,
                verbosity=-1,
            )
            model.fit(others[known], values[known, j])
            filled[~known, j] = model.predict(others[~known])
    return filled


def missforest(values: np.ndarray, onehot: tuple[tuple[int, ...], ...], seed: int) -> np.ndarray:
    return impute_missforest(
        values, onehot=onehot, rng=np.random.default_rng(seed), **FOREST
    ).values


def fitted(kind: str, settings: dict) -> Filler:
    """An imputer of the package, fitted to the rows that it fills."""

    def fill(values: np.ndarray, onehot: tuple[tuple[int, ...], ...], seed: int) -> np.ndarray:
        model = fit_imputer(
            kind,
            values,
            onehot=onehot,
            validation=None,
            settings=settings,
            rng=np.random.default_rng(seed),
        )
        return model.impute(values)

    return fill


def rmse(filled: np.ndarray, truth: np.ndarray, scored: np.ndarray) -> float:
    return float(np.sqrt(np.mean(((filled - truth) / truth.std(axis=0))[scored] ** 2)))


def compare_times(rows: int, columns: int, fillers: dict[str, Filler]) -> None:
    rng = np.random.default_rng(0)
    truth = curved_table(rows, columns, rng)
    hidden = rng.random(truth.shape) < 0.2
    values = np.where(hidden, np.nan, truth)
    print(f"{rows} × {columns}, {hidden.mean():.0%} missing")
    for name, fill in fillers.items():
        fill(values[:300], (), 0)  # imports, and compiles or reads the compiled code
        start = time.process_time()
        filled = fill(values, (), 1)
        seconds = time.process_time() - start
        error = rmse(filled, truth, hidden)
        print(f"{name:18s} {seconds:8.1f} CPU s, RMSE {error:.4f}", flush=True)


def tables() -> Iterator[tuple[str, Any, Any, tuple[tuple[int, ...], ...]]]:
    """Name, columns, label and one-hot groups."""
    diabetes: Any = datasets.load_diabetes(scaled=False)
    x, y = diabetes.data, diabetes.target
    sex = np.eye(2)[(x[:, 1] > 1.5).astype(int)]
    x = np.column_stack([np.delete(x, 1, axis=1), sex])
    yield "diabetes", x, (y > np.median(y)).astype(int), ((9, 10),)
    wine: Any = datasets.load_wine()
    yield "wine", wine.data, wine.target, ()
    cancer: Any = datasets.load_breast_cancer()
    yield "breast cancer", cancer.data[:, ::2], cancer.target, ()
    x, y = datasets.make_classification(
        n_samples=800, n_features=8, n_informative=6, n_redundant=2, random_state=10
    )
    yield "made classes", x, y, ()
    rng = np.random.default_rng(3)
    x = curved_table(800, 10, rng)
    kind = np.eye(3)[np.digitize(x[:, 0] + 0.3 * rng.normal(size=800), [-0.5, 0.5])]
    y = (x[:, 1] + x[:, 2] ** 2 + 0.5 * rng.normal(size=800) > 1).astype(int)
    yield "curved and classes", np.column_stack([x[:, 1:], kind]), y, ((9, 10, 11),)


def interval(found: list[float]) -> str:
    half = stats.t.ppf(0.975, len(found) - 1) * np.std(found, ddof=1) / np.sqrt(len(found))
    return f"{np.mean(found):.3f} ± {half:.3f}"


def compare_tables(maskings: int, fillers: dict[str, Filler]) -> None:
    print("| table | imputer | error | bias of J_Imp | CPU s |\n|---|---|---|---|---|")
    for table, x, y, onehot in tables():
        x = x.astype(float)
        order = np.random.default_rng(0).permutation(len(x))
        apart, judged = np.split(order, [len(x) // 3])
        decide = RandomForestClassifier(100, min_samples_leaf=3, random_state=0)
        decide.fit(x[apart], y[apart])
        truth, label = x[judged], y[judged]
        cost = np.mean(decide.predict(truth) != label)
        numbers = ~np.isin(np.arange(x.shape[1]), [c for group in onehot for c in group])
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in fillers}
        for masking in range(maskings):
            hidden = hide_at_random(
                truth, onehot=onehot, share=0.2, rng=np.random.default_rng(100 + masking)
            )
            for name, fill in fillers.items():
                start = time.process_time()
                filled = fill(np.where(hidden, np.nan, truth), onehot, masking)
                seconds = time.process_time() - start
                wrong = float(np.mean(decide.predict(filled) != label) - cost)
                found[name].append((rmse(filled, truth, hidden & numbers), wrong, seconds))
        for name, each in found.items():
            error, wrong, seconds = (list(one) for one in zip(*each, strict=True))
            print(
                f"| {table} | {name} | {interval(error)} | {interval(wrong)} | "
                f"{np.mean(seconds):.2f} |",
                flush=True,
            )


def main() -> None:
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    what, *rest = sys.argv[1:] or ["time"]
    package: dict[str, Filler] = {"chained trees": ours, "MissForest": missforest}
    mice = {"MICE": fitted("mice", {"rounds": 10})}
    if what == "time":
        rows, columns = (int(a) for a in (rest + ["5000", "25"][len(rest) :])[:2])
        if "nomissforest" in rest:
            package.pop("MissForest")
        compare_times(rows, columns, {**package, "20 lines": twenty_lines, **mice})
    else:
        compare_tables(
            int(rest[0]) if rest else 10, {**package, **mice, "EMFlow": fitted("emflow", FLOW)}
        )


if __name__ == "__main__":
    main()
