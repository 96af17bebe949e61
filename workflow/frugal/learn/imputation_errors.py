"""How well imputers bring back entries that were hidden completely at random.

Table 8 of Yu et al. (2023): root mean squared error with 20 % of the entries hidden
[diagnosis, table 8]. Must not know which imputer filled a table, or files.
"""

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from frugal.core.errors import ConfigError, DataError
from frugal.core.scaling import Scaling
from frugal.learn.column_trees import variables_of

MEAN = "mean"  # the imputer that every other one is held against


def hide_at_random(
    values: Float[np.ndarray, "n d"],
    *,
    onehot: tuple[tuple[int, ...], ...],
    share: float,
    rng: np.random.Generator,
) -> Bool[np.ndarray, "n d"]:
    """Entries to be hidden: each known value with one probability, one-hot groups as one value.

    Args:
        values: encoded columns, NaN where there is no value. (n, d)
        onehot: groups of columns, each the one-hot code of one categorical variable.
        share: probability that a value is hidden.
        rng: of the draws.

    Returns:
        True where a known value is hidden. (n, d)

    Raises:
        ConfigError: a share that is not between 0 and 1.
    """
    if not 0 < share < 1:
        raise ConfigError(f"{share} of the entries were to be hidden; allowed is 0 < share < 1")
    variables = variables_of(values.shape[1], onehot)
    drawn = rng.random((len(values), len(variables))) < share
    hidden = np.empty(values.shape, dtype=bool)
    for j, columns in enumerate(variables.columns):
        hidden[:, columns] = drawn[:, j, None]
    return hidden & ~np.isnan(values)


def imputation_error(
    truth: Float[np.ndarray, "n d"],
    filled: Float[np.ndarray, "n d"],
    hidden: Bool[np.ndarray, "n d"],
    scaling: Scaling,
) -> float:
    """Root mean squared error over hidden entries, in standard deviations of training columns.

    Filling in the training means scores about 1.

    Args:
        truth: values before hiding. (n, d)
        filled: the imputer's. (n, d)
        hidden: entries that count. (n, d)
        scaling: of the training rows.

    Raises:
        DataError: no entry is hidden.
    """
    if not hidden.any():
        raise DataError("no entry is hidden; an error of imputation needs at least one")
    wrong = (scaling.standardise(filled) - scaling.standardise(truth))[hidden]
    return float(np.sqrt(np.square(wrong).mean()))


def compare_errors(errors: pd.DataFrame) -> pd.DataFrame:
    """Errors per imputer and seed, mean ± s.d. over seeds, and whether mean imputation is beaten.

    Args:
        errors: imputer, seed, entries, rmse; every imputer on the same seeds, `mean` among them.

    Returns:
        The same rows with rmse_average and rmse_sd (over seeds; NaN for a single one), rmse_of_mean
        (of mean imputation on the same hidden entries), and better_than_mean: True where the
        imputer's error is below that one in every seed.

    Raises:
        DataError: an imputer lacks a seed, or there is no mean imputation to compare with.
    """
    wide = errors.pivot(index="seed", columns="imputer", values="rmse")
    if MEAN not in wide or wide.isna().any(axis=None):
        raise DataError(
            f"imputers are compared on the same seeds, with {MEAN!r} among them; there are "
            f"{', '.join(f'{len(rows)} seeds of {n}' for n, rows in errors.groupby('imputer'))}"
        )
    better = wide.lt(wide[MEAN], axis=0).all()
    name = errors["imputer"]
    return errors.assign(
        rmse_average=name.map(wide.mean()),
        rmse_sd=name.map(wide.std()),
        rmse_of_mean=errors["seed"].map(wide[MEAN]),
        better_than_mean=name.map(better).astype(bool),
    )
