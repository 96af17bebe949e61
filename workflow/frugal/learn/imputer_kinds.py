"""The imputer interface, and how an imputer is fitted by its kind, stored and read.

The encoders of [diagnosis, sec. 5.2]: a unit's known values go in, NaN where unknown, and
a completed row comes out. The kinds are the files of `learn.imputers`. Must not know labels, costs,
policies or files.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.declarations import declared, load_all, load_one
from frugal.core.errors import ConfigError, DataError
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.table import Table


@runtime_checkable
class Imputer(Protocol):
    """Completes rows; fitted, without state, and the same rows always get the same values."""

    @property
    def scaling(self) -> Scaling:
        """Of the training rows: the scale in which networks should read completed rows."""
        ...

    def impute(self, values: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        """Rows with NaN filled in; known entries stay bit for bit. Units of the table. (m, d)"""
        ...


@dataclass(frozen=True, eq=False)
class ToFit:
    """Training data of an imputer; see `fit_imputer`, and `scaling` is of the training rows."""

    train: Float[np.ndarray, "n d"]
    scaling: Scaling
    onehot: tuple[tuple[int, ...], ...]
    validation: Float[np.ndarray, "v d"] | None
    panels: Bool[np.ndarray, "g d"] | None
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class ImputerKind:
    """One kind of imputer; the declaration in its file.

    Attributes:
        name: `kind` in a config.
        fit: (training data, settings by name) → imputer.
        doc: of the reference page.
        read: arrays of the imputer's `to_arrays` → imputer, so it can be an encoder; None
            where it keeps no arrays.
        marks: names of arrays by which those of the kind are recognised.
        settings, shares: as of `acquire.kinds.AgentKind`.
    """

    name: str
    fit: Callable[..., Imputer]
    doc: str
    read: Callable[[Mapping[str, np.ndarray]], Imputer] | None = None
    marks: tuple[str, ...] = ()
    settings: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    shares: tuple[str, ...] = ()


def fit_imputer(
    kind: str,
    train: Float[np.ndarray, "n d"],
    *,
    onehot: tuple[tuple[int, ...], ...],
    validation: Float[np.ndarray, "v d"] | None,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
    panels: Bool[np.ndarray, "g d"] | None = None,
) -> Imputer:
    """An imputer fitted to rows whose known values are all shown; NaN only where they have none.

    Args:
        kind: name of an `ImputerKind`.
        train: training rows in the units of the table. (n, d)
        onehot: groups of columns, each the one-hot code of one categorical variable; a kind that
            does not read them takes every column for a number.
        validation: rows for a kind that chooses its best epoch; None takes the last. (v, d)
        settings: of the kind, as its block of the config has them.
        rng: of all draws.
        panels: columns that are hidden together while a kind learns to fill in; None: each alone.
            (g, d)

    Raises:
        ConfigError: an unknown kind, or a setting that it lacks or does not have.
        DataError: a column without a known value, or an infinite value.
    """
    kinds = declared("frugal.learn.imputers", "ImputerKind")
    if kind not in kinds:
        raise ConfigError(f"there is no imputer {kind!r}; allowed are {', '.join(kinds)}")
    to = ToFit(train, fit_scaling(train), onehot, validation, panels, rng)
    return load_one("frugal.learn.imputers", "ImputerKind", kind).fit(to, **settings)


def fit_encoder(
    train: Float[np.ndarray, "n d"],
    validation: Float[np.ndarray, "v d"],
    *,
    table: Table,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> Imputer:
    """The encoder that settings name by `kind`.

    Whole panels are hidden while it learns, the free columns among them as one more: the patterns
    that a policy meets. Differs from the paper, which hides single entries.

    Args:
        train: rows to learn from. (n, d)
        validation: see `fit_imputer`. (v, d)
        table: whose columns and panels they have.
        settings: `kind`, and the settings of that kind.
        rng: of all draws.
    """
    options = dict(settings)
    panels = np.concatenate([table.provides, table.free_columns[None]])
    return fit_imputer(
        options.pop("kind"),
        train,
        onehot=table.onehot,
        validation=validation,
        settings=options,
        rng=rng,
        panels=panels[panels.any(axis=1)],
    )


def imputer_arrays(imputer: Imputer) -> dict[str, np.ndarray]:
    """An encoder as arrays that a file can hold.

    Raises:
        DataError: it is of a kind that keeps no arrays.
    """
    if hasattr(imputer, "to_arrays"):
        return imputer.to_arrays()  # pyright: ignore[reportAttributeAccessIssue]
    kinds = declared("frugal.learn.imputers", "ImputerKind")
    able = ", ".join(name for name, declaration in kinds.items() if declaration.has("read"))
    raise DataError(
        f"{type(imputer).__name__} cannot be stored as arrays; encoders are of kind {able}"
    )


def imputer_of(arrays: Mapping[str, np.ndarray], *, columns: int) -> Imputer:
    """The encoder again: of the kind whose marks are among the arrays, of several the most marked.

    Raises:
        DataError: the arrays are no encoder, or one of a table with other columns.
    """
    kinds = load_all("frugal.learn.imputers", "ImputerKind").values()
    able = [kind for kind in kinds if kind.read is not None and arrays.keys() >= {*kind.marks}]
    imputer = max(able, key=lambda kind: len(kind.marks)).read(arrays)
    width = len(imputer.scaling.centre)
    if width != columns:
        raise DataError(f"the stored encoder is for {width} columns; the table has {columns}")
    return imputer
