"""Which rows train, choose and judge in each fold of a cross-validation.

Serves `dadi`. Knows numbers of rows and columns only.
"""

import numpy as np
from jaxtyping import Int

from frugal.core.errors import ConfigError, DataError

PARTS = ("train", "validation", "test")


def fold_parts(
    n: int, *, folds: int, fold: int, validation_share: float, rng: np.random.Generator
) -> np.ndarray:
    """Part of each row in one fold: every row is a test row in exactly one fold. (n,)

    Rows are cut at random into `folds` equal groups; the fold's group is `test`, and of the others
    `validation_share` of all rows is `validation`. Six folds and a share of 2/15 give the paper's
    70 / 13.3 / 16.7 % [dadi, sec. 4]. The same generator state gives the same groups to every fold.

    Raises:
        ConfigError: there is no such fold, or validation and test leave no row to train on.
        DataError: there are fewer rows than folds.
    """
    if not 0 <= fold < folds:
        raise ConfigError(f"fold {fold} is asked for; there are {folds} folds, numbered from 0")
    if n < folds:
        raise DataError(f"{n} rows cannot be cut into {folds} folds")
    order = rng.permutation(n)
    group = np.empty(n, dtype=np.int64)
    group[order] = np.arange(n) % folds
    rest = order[group[order] != fold]
    held = round(validation_share * n)
    if held >= len(rest):
        raise ConfigError(
            f"a validation share of {validation_share:g} beside {folds} folds leaves no row to "
            "train on"
        )
    parts = np.full(n, "train", dtype="<U10")
    parts[group == fold] = "test"
    parts[rest[len(rest) - held :]] = "validation"
    return parts


def row_sample(n: int, *, rows: int | None, rng: np.random.Generator) -> Int[np.ndarray, " m"]:
    """At most so many row indices, at random, in rising order; None takes all. (m,)"""
    if rows is None or rows >= n:
        return np.arange(n)
    return np.sort(rng.permutation(n)[:rows])
