"""Imputers with one interface, fitted once and then applied: mean, MICE, forests, trees, EMFlow.

The encoders of [diagnosis, sec. 5.2]: what is known of a unit goes in with NaN where it is not, and
a completed row comes out. EMFlow is the paper's; the others stand beside it in Table 8
[diagnosis, table 8]. Must not know labels, costs, policies or files.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.declarations import declared, load_one
from frugal.core.errors import ConfigError
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.stored import Array, Stored
from frugal.learn.chained_trees import fit_chained_trees
from frugal.learn.missforest import impute_missforest

_MEAN_ARRAYS = {
    "centre": Array("float64", ("columns",)),
    "scale": Array("float64", ("columns",), above=0),
}


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
class MeanImputer:
    """Training means in place of what is missing.

    Attributes:
        scaling: whose `centre` are the means.
    """

    scaling: Scaling

    def impute(self, values: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        """See `Imputer`."""
        return np.where(np.isnan(values), self.scaling.centre, values)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The training means and standard deviations; `from_arrays` is the exact inverse."""
        return {"centre": self.scaling.centre, "scale": self.scaling.scale}

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray]) -> "MeanImputer":
        """The imputer that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such imputer; the sentence says where.
        """
        Stored("mean imputer", arrays).require(_MEAN_ARRAYS)
        return MeanImputer(Scaling(arrays["centre"], arrays["scale"]))


@dataclass(frozen=True, eq=False)
class MiceImputer:
    """Chained Bayesian ridge regressions (scikit-learn's IterativeImputer), conditional means.

    Attributes:
        scaling: of the training rows; the chain runs on standardised columns.
        chain: the fitted IterativeImputer.
    """

    scaling: Scaling
    chain: Any

    def impute(self, values: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        """See `Imputer`."""
        filled = self.scaling.restore(self.chain.transform(self.scaling.standardise(values)))
        return np.where(np.isnan(values), filled, values)


@dataclass(frozen=True, eq=False)
class MissForestImputer:
    """MissForest, which keeps no model: its forests grow anew on training and asked rows together.

    So a row's completion depends a little on the rows that are asked with it, and no state can be
    completed in passing: an imputer for tables, not an encoder for policies.

    Attributes:
        scaling: of the training rows; one-hot codes stay as they are.
        train: training rows, standardised. (n, d)
        onehot: groups of columns, each the one-hot code of one categorical variable.
        settings: of `impute_missforest`.
        seed: of its generator, so that the same rows always get the same values.
    """

    scaling: Scaling
    train: Float[np.ndarray, "n d"]
    onehot: tuple[tuple[int, ...], ...]
    settings: Mapping[str, Any]
    seed: int

    def impute(self, values: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        """See `Imputer`."""
        table = np.concatenate([self.train, self.scaling.standardise(values)])
        result = impute_missforest(
            table, onehot=self.onehot, rng=np.random.default_rng(self.seed), **self.settings
        )
        filled = self.scaling.restore(result.values[len(self.train) :])
        return np.where(np.isnan(values), filled, values)


@dataclass(frozen=True, eq=False)
class ToFit:
    """What an imputer is fitted to; see `fit_imputer`, and `scaling` is of the training rows."""

    train: Float[np.ndarray, "n d"]
    scaling: Scaling
    onehot: tuple[tuple[int, ...], ...]
    validation: Float[np.ndarray, "v d"] | None
    panels: Bool[np.ndarray, "g d"] | None
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class ImputerKind:
    """One kind of imputer, declared in this module.

    Attributes:
        name: `kind` in a config.
        fit: (what it is fitted to, settings by name) → imputer.
        stored: True where it keeps arrays, so that it can be an encoder.
        steps, settings, shares: as of `acquire.kinds.AgentKind`.
    """

    name: str
    fit: Callable[..., Imputer]
    stored: bool = False
    steps: tuple[tuple[str, ...], ...] = ()
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
        onehot: groups of columns, each the one-hot code of one categorical variable; MissForest
            and chained trees read them, the others take every column for a number.
        validation: rows on which EMFlow picks its best epoch; None takes the last. The others do
            not read it. (v, d)
        settings: mean: none. mice: `rounds`. missforest: those of `impute_missforest`.
            chained_trees: `rounds` and those of `TreeSettings`. emflow: those of `fit_emflow`.
        rng: of all draws.
        panels: columns that EMFlow hides together; None: each alone. The others do not read it.
            (g, d)

    Raises:
        ConfigError: an unknown kind, or a setting that it lacks or does not have.
        DataError: a column without a known value, or an infinite value.
    """
    known = declared("frugal.learn.imputers", "ImputerKind")
    if kind not in known:
        raise ConfigError(f"there is no imputer {kind!r}; allowed are {', '.join(known)}")
    to = ToFit(train, fit_scaling(train), onehot, validation, panels, rng)
    return load_one("frugal.learn.imputers", "ImputerKind", kind).fit(to, **settings)


def _fit_mean(to: ToFit) -> MeanImputer:
    return MeanImputer(to.scaling)


def _fit_mice(to: ToFit, *, rounds: int) -> MiceImputer:
    """All rounds are run (tolerance 0): complete training rows would end them after the first."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401  (opens the next line)
    from sklearn.impute import IterativeImputer
    from sklearn.linear_model import BayesianRidge

    if rounds < 1:
        raise ConfigError(f"MICE got {rounds} rounds; at least 1 is needed")
    chain = IterativeImputer(
        BayesianRidge(), max_iter=rounds, tol=0.0, random_state=int(to.rng.integers(2**31))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it was asked not to stop early
        chain.fit(to.scaling.standardise(to.train))
    return MiceImputer(to.scaling, chain)


def _fit_missforest(to: ToFit, **settings: Any) -> MissForestImputer:
    scaling = to.scaling.leaving(to.onehot)
    coded, seed = scaling.standardise(to.train), int(to.rng.integers(2**31))
    return MissForestImputer(scaling, coded, to.onehot, settings, seed)


def _fit_chained_trees(to: ToFit, **settings: Any) -> Imputer:
    return fit_chained_trees(
        to.train, onehot=to.onehot, every=True, rng=to.rng, progress=None, **settings
    )[0]


def _fit_emflow(to: ToFit, **settings: Any) -> Imputer:
    from frugal.learn.emflow_training import fit_emflow  # torch is slow to import

    return fit_emflow(to.train, validation=to.validation, panels=to.panels, rng=to.rng, **settings)


MEAN = ImputerKind(name="mean", fit=_fit_mean, stored=True)
MICE = ImputerKind(name="mice", fit=_fit_mice, settings={"rounds": ("Count", "", 10)})
MISSFOREST = ImputerKind(name="missforest", fit=_fit_missforest, shares=("MissForest",))
CHAINED_TREES = ImputerKind(
    name="chained_trees",
    fit=_fit_chained_trees,
    stored=True,
    settings={"rounds": ("Count", "", 4)},
    shares=("ChainedTrees",),
)
EMFLOW = ImputerKind(
    name="emflow",
    fit=_fit_emflow,
    stored=True,
    shares=("EmflowSettings",),
    steps=(("passes", "mask_draws", "couplings"),),
)
