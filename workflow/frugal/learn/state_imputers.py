"""Imputers that complete the states of policies, as arrays that a file can hold, and back.

The posterior state encoders of [diagnosis, sec. 5.2]. Must not know policies or files.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from frugal.core.declarations import declared
from frugal.core.errors import DataError
from frugal.core.table import Table
from frugal.learn.chained_trees import ChainedTrees
from frugal.learn.imputers import Imputer, MeanImputer, fit_imputer


def fit_encoder(
    train: Float[np.ndarray, "n d"],
    validation: Float[np.ndarray, "v d"],
    *,
    table: Table,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> Imputer:
    """The encoder that settings name by `kind`.

    EMFlow learns with whole panels hidden, the free columns among them as one more: the patterns
    that a policy meets. Differs from the paper, which hides single entries.

    Args:
        train: rows to learn from. (n, d)
        validation: rows on which EMFlow picks its best draw. (v, d)
        table: whose columns and panels they have.
        settings: `kind`, and what that kind takes.
        rng: of all draws.
    """
    own = dict(settings)
    panels = np.concatenate([table.provides, table.free_columns[None]])
    return fit_imputer(
        own.pop("kind"), train, onehot=table.onehot, validation=validation, settings=own, rng=rng,
        panels=panels[panels.any(axis=1)],
    )  # fmt: skip


def imputer_arrays(imputer: Imputer) -> dict[str, np.ndarray]:
    """An encoder as arrays that a file can hold.

    Raises:
        DataError: it is of a kind that keeps no arrays.
    """
    if hasattr(imputer, "to_arrays"):
        return imputer.to_arrays()  # pyright: ignore[reportAttributeAccessIssue]
    known = declared("frugal.learn.imputers", "ImputerKind")
    able = ", ".join(name for name, one in known.items() if one.has("stored"))
    raise DataError(
        f"{type(imputer).__name__} cannot be stored as arrays; encoders are of kind {able}"
    )


def imputer_of(arrays: Mapping[str, np.ndarray], *, columns: int) -> Imputer:
    """The encoder again: EMFlow, or means if there is nothing but a scaling, or chained trees.

    Raises:
        DataError: the arrays are no encoder, or one of a table with other columns.
    """
    if set(arrays) <= {"centre", "scale"}:
        imputer: Imputer = MeanImputer.from_arrays(arrays)
    elif "digest" in arrays:
        imputer = ChainedTrees.from_arrays(arrays)
    else:
        from frugal.learn.emflow import EmFlow  # torch is slow to import, and only needed here

        imputer = EmFlow.from_arrays(arrays)
    own = len(imputer.scaling.centre)
    if own != columns:
        raise DataError(f"the stored encoder is for {own} columns; the table has {columns}")
    return imputer
