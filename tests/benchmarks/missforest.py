"""MissForest with histogram forests against the same loop with scikit-learn's, in one run.

    OMP_NUM_THREADS=1 python tests/benchmarks/missforest.py [rows] [columns]

Goal: ≥ 4× less CPU time at an error within 1 %, on 10,000 × 25 entries with 20 % missing. The error
is the root mean squared error over imputed entries of columns with standard deviation 1, so that
column means score 1.
"""

import sys
import time

import numpy as np
from frugal.learn.imputers.missforest import MissForestResult, impute_missforest


def curved_table(rows: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    """Columns that bend along six common factors, plus noise; standardised. (rows, columns)"""
    factor = rng.normal(size=(rows, 6))
    bent = np.tanh(factor @ rng.normal(size=(6, columns)))
    squared = (factor @ rng.normal(size=(6, columns))) ** 2 / 8
    table = bent + squared + 0.4 * rng.normal(size=(rows, columns))
    return (table - table.mean(axis=0)) / table.std(axis=0)


def timed(values: np.ndarray, forest: str, *, max_rounds: int) -> tuple[MissForestResult, float]:
    """The imputation and its CPU seconds."""
    start = time.process_time()
    result = impute_missforest(
        values,
        onehot=(),
        forest=forest,
        trees=100,
        min_leaf_numeric=5,
        min_leaf_categorical=1,
        max_rounds=max_rounds,
        max_train_rows=None,
        rng=np.random.default_rng(1),
    )
    return result, time.process_time() - start


def main() -> None:
    rows, columns = (int(a) for a in (sys.argv[1:] + ["10000", "25"][len(sys.argv) - 1 :])[:2])
    rng = np.random.default_rng(0)
    truth = curved_table(rows, columns, rng)
    missing = rng.random(truth.shape) < 0.2
    values = np.where(missing, np.nan, truth)
    timed(values[:200], "histogram", max_rounds=1)  # compiles, or reads the compiled code
    print(f"{rows} × {columns}, {missing.mean():.0%} missing, 100 trees a forest")
    seconds, error, per_round = {}, {}, {}
    for forest in ("histogram", "scikit-learn"):
        result, seconds[forest] = timed(values, forest, max_rounds=10)
        per_round[forest] = seconds[forest] / result.rounds
        error[forest] = np.sqrt(np.mean((result.values - truth)[missing] ** 2))
        print(
            f"{forest:13s} {seconds[forest]:7.1f} CPU s, {result.rounds} rounds, "
            f"{per_round[forest]:6.2f} s a round, RMSE {error[forest]:.4f}, "
            f"differences {np.array2string(result.differences[:, 0], precision=5)}",
            flush=True,
        )
    print(
        f"CPU ratio {seconds['scikit-learn'] / seconds['histogram']:.2f} (goal ≥ 4), a round "
        f"{per_round['scikit-learn'] / per_round['histogram']:.2f}, "
        f"RMSE ratio {error['histogram'] / error['scikit-learn']:.4f} (goal ≤ 1.01)"
    )


if __name__ == "__main__":
    main()
