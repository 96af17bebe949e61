"""The imputer `missforest`: random forests, column after column, round after round.

Stekhoven & Bühlmann, "MissForest: non-parametric missing value imputation for mixed-type data"
(2012), Algorithm 1; the imputer behind J_Imp in the paper on AFA performance evaluation
[afape, sec. 4.1]. It fills with conditional means, or most probable classes, so J_Imp is biased
where costs are not linear in the features [afape, sec. A.4]. Must not know labels, panels,
costs or the missingness law.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from frugal.config.learners import MissForest
from frugal.core.errors import DataError
from frugal.core.scaling import Scaling
from frugal.learn.column_trees import Variables, compact, expand, require_observed, variables_of
from frugal.learn.histogram_trees import MAX_BINS, bin_edges, bin_values, forest_predictions
from frugal.learn.imputer_kinds import ImputerKind, ToFit

# 128 bins lose no accuracy against exact thresholds (the benchmark prints both errors).
_BINS = 128
_SEEDS = 2**31


@dataclass(frozen=True, eq=False)
class MissForestResult:
    """Imputed table, and how the rounds went.

    Attributes:
        values: observed entries bit for bit, missing ones imputed. (n, d)
        rounds: rounds computed, the discarded last one included; 0 if nothing was missing.
        differences: of each round to the one before, numeric and categorical; NaN where no
            variable of that type has missing entries. (rounds, 2)
    """

    values: Float[np.ndarray, "n d"]
    rounds: int
    differences: Float[np.ndarray, "r 2"]


@dataclass
class _Columns:
    """Predicts one variable from all others of a filled table, which it may see change."""

    filled: np.ndarray
    variables: Variables
    settings: MissForest
    missing: np.ndarray

    def __post_init__(self) -> None:
        self.tries = max(1, int(np.sqrt(len(self.variables))))

    def min_leaf(self, classes: int) -> int:
        numeric, categorical = self.settings.min_leaf_numeric, self.settings.min_leaf_categorical
        return categorical if classes else numeric

    def predict(self, j: int, train: np.ndarray, rows: np.ndarray, seed: int) -> np.ndarray:
        raise NotImplementedError

    def refresh(self, j: int, rows: np.ndarray) -> None:
        """Take new values of a variable into account."""


def impute_missforest(
    values: Float[np.ndarray, "n d"],
    *,
    onehot: tuple[tuple[int, ...], ...],
    rng: np.random.Generator,
    progress: Callable[..., Iterable[int]] | None = None,
    **settings: Any,
) -> MissForestResult:
    """Imputes all missing entries; the input to J_Imp [afape, sec. 4.1].

    Start: column means and most frequent classes. One round refits, for every variable with
    missing entries, in order of increasing missingness, a forest on the rows where it is observed
    with all other variables as predictors, ⌊√v⌋ of them tried per node. A one-hot group is one
    categorical target and one integer-coded predictor. Rounds end by `differences_grow`; the
    imputation before the growing difference is returned.

    Differs from the paper: `max_train_rows`, unless None, limits each forest to a random subset
    of its training rows, drawn anew each time; and categorical predictors are split by the order
    of their codes (as scikit-learn does), not by subsets of classes.

    Args:
        values: encoded columns, NaN where missing; numeric columns of very different scale weigh
            on the stopping rule by their squares, so standardise them. (n, d)
        onehot: groups of columns, each the one-hot code of one categorical variable.
        rng: seeds every forest and draws the training subsets.
        progress: wraps the loop over variables, called like tqdm(iterable, desc=…).
        settings: those of `config.learners.MissForest`. `forest` is "histogram", own forests on
            binned predictors, or "scikit-learn", the reference; leaves have 5 distinct rows of
            numeric and 1 of categorical targets in the R package; `max_train_rows` None is all
            rows, as published.

    Raises:
        DataError: a variable has no observed value; a group is no one-hot code; a value is
            infinite; the table has one variable only; over 256 classes with "histogram".
        ConfigError: a setting is missing or out of range.
    """
    how = MissForest.of(settings)
    variables = variables_of(values.shape[1], onehot)
    codes = compact(values, variables)
    missing = np.isnan(codes)
    if not missing.any():
        return MissForestResult(values.astype(np.float64), 0, np.empty((0, 2)))
    require_observed(codes, variables)
    if len(variables) < 2:
        raise DataError("the table has one variable only; MissForest needs others to predict it")
    refine = partial(
        _refine,
        missing=missing,
        make=partial(FORESTS[how.forest], variables=variables, settings=how, missing=missing),
        max_train_rows=how.max_train_rows,
        rng=rng,
        progress=progress,
    )
    filled, differences = repeat_until_growth(
        initial_fill(codes, variables),
        refine,
        partial(round_difference, missing=missing, categorical=variables.categorical),
        how.max_rounds,
    )
    imputed = np.where(np.isnan(values), expand(filled, variables), values)
    return MissForestResult(imputed, len(differences), differences)


def initial_fill(codes: Float[np.ndarray, "n v"], variables: Variables) -> Float[np.ndarray, "n v"]:
    """Observed means, and most frequent classes (ties: the lowest), in place of NaN. (n, v)"""
    filled = codes.copy()
    for j, classes in enumerate(variables.classes):
        absent = np.isnan(codes[:, j])
        observed = codes[~absent, j]
        filled[absent, j] = (
            np.bincount(observed.astype(np.int64)).argmax() if classes else observed.mean()
        )
    return filled


def round_difference(
    new: Float[np.ndarray, "n v"],
    old: Float[np.ndarray, "n v"],
    *,
    missing: Bool[np.ndarray, "n v"],
    categorical: Bool[np.ndarray, " v"],
) -> Float[np.ndarray, " 2"]:
    """How much one round changed the table.

        numeric:      Σ (new − old)² / Σ new²   over all entries of numeric variables
        categorical:  share of the missing entries of categorical variables that changed class

    Returns:
        (numeric, categorical); NaN where no variable of the type has missing entries. (2,)
    """
    result = np.full(2, np.nan)
    if missing[:, ~categorical].any():
        change = ((new - old)[:, ~categorical] ** 2).sum()
        size = (new[:, ~categorical] ** 2).sum()
        result[0] = change / size if size > 0 else float(change > 0)
    if missing[:, categorical].any():
        changed = (new != old)[:, categorical].sum()
        result[1] = changed / missing[:, categorical].sum()
    return result


def differences_grow(new: Float[np.ndarray, " 2"], old: Float[np.ndarray, " 2"]) -> bool:
    """True if the difference of no type present (not NaN) has fallen: then the rounds end.

    Equal counts as grown, as in the authors' R package: else a table whose classes no longer
    change (difference 0 twice) would run to the last round.
    """
    return not bool((new < old).any())


def repeat_until_growth(
    start: Float[np.ndarray, "n v"],
    refine: Callable[[Float[np.ndarray, "n v"]], Float[np.ndarray, "n v"]],
    difference: Callable[..., Float[np.ndarray, " 2"]],
    max_rounds: int,
) -> tuple[Float[np.ndarray, "n v"], Float[np.ndarray, "r 2"]]:
    """Rounds of MissForest [Stekhoven & Bühlmann 2012, Algorithm 1].

    Returns:
        The imputation before the first round in which `differences_grow`, or the last one if
        `max_rounds` came first; the difference of each round.
    """
    filled = start
    differences: list[np.ndarray] = []
    old = np.full(2, np.inf)
    while len(differences) < max_rounds:
        new = refine(filled)
        differences.append(difference(new, filled))
        if differences_grow(differences[-1], old):
            break
        filled, old = new, differences[-1]
    return filled, np.array(differences)


def _refine(
    filled: np.ndarray,
    *,
    missing: np.ndarray,
    make: Callable[..., _Columns],
    max_train_rows: int | None,
    rng: np.random.Generator,
    progress: Callable[..., Iterable[int]] | None,
) -> np.ndarray:
    """One round over the variables with missing entries, least missing first."""
    filled = filled.copy()
    columns = make(filled)
    count = missing.sum(axis=0)
    order = [int(j) for j in np.argsort(count, kind="stable") if count[j]]
    for j in order if progress is None else progress(order, desc="MissForest, one round"):
        train = np.flatnonzero(~missing[:, j])
        if max_train_rows is not None and len(train) > max_train_rows:
            train = np.sort(rng.choice(train, max_train_rows, replace=False))
        rows = np.flatnonzero(missing[:, j])
        filled[rows, j] = columns.predict(j, train, rows, int(rng.integers(_SEEDS)))
        columns.refresh(j, rows)
    return filled


class _HistogramColumns(_Columns):
    """Own forests; the bins of all variables live as long as one round."""

    def __post_init__(self) -> None:
        super().__post_init__()
        filled, missing = self.filled, self.missing
        self.edges = [
            _class_edges(classes)
            if classes
            else bin_edges(filled[~missing[:, j], j], bins=_BINS)  # the same in each round
            for j, classes in enumerate(self.variables.classes)
        ]
        self.n_bins = np.array([len(e) + 1 for e in self.edges])
        self.bins = np.stack([bin_values(filled[:, j], e) for j, e in enumerate(self.edges)])

    def predict(self, j: int, train: np.ndarray, rows: np.ndarray, seed: int) -> np.ndarray:
        classes = self.variables.classes[j]
        answer = forest_predictions(
            self.bins,
            self.n_bins,
            self.filled[:, j],
            skip=j,
            train=train,
            predict=rows,
            trees=self.settings.trees,
            tries=self.tries,
            min_leaf=self.min_leaf(classes),
            seed=seed,
            classes=classes,
        )
        return answer.argmax(axis=1).astype(np.float64) if classes else answer

    def refresh(self, j: int, rows: np.ndarray) -> None:
        self.bins[j, rows] = bin_values(self.filled[rows, j], self.edges[j])


def _class_edges(classes: int) -> Float[np.ndarray, " e"]:
    if classes > MAX_BINS:
        raise DataError(
            f"a variable has {classes} classes; the histogram forest takes up to {MAX_BINS}, "
            "the scikit-learn forest any number"
        )
    return np.arange(classes - 1) + 0.5


class _ScikitColumns(_Columns):
    """scikit-learn's forests: the reference that the own ones are measured against."""

    def predict(self, j: int, train: np.ndarray, rows: np.ndarray, seed: int) -> np.ndarray:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        classes = self.variables.classes[j]
        maker: Any = RandomForestClassifier if classes else RandomForestRegressor
        model = maker(
            n_estimators=self.settings.trees,
            max_features=self.tries,
            min_samples_leaf=self.min_leaf(classes),
            random_state=seed,
            n_jobs=1,
        )
        predictors = np.delete(self.filled, j, axis=1).astype(np.float32)
        model.fit(predictors[train], self.filled[train, j])
        return np.asarray(model.predict(predictors[rows]), dtype=np.float64)


FORESTS: dict[str, type[_Columns]] = {
    "histogram": _HistogramColumns,
    "scikit-learn": _ScikitColumns,
}


@dataclass(frozen=True, eq=False)
class MissForestImputer:
    """MissForest, which keeps no model: its forests grow anew on training and queried rows.

    So a row's completion depends a little on the rows that are imputed with it, and no state can be
    completed in passing: an imputer for tables, not an encoder for policies.

    Attributes:
        scaling: of the training rows; one-hot codes stay as they are.
        train: training rows, standardised. (n, d)
        onehot: groups of columns, each the one-hot code of one categorical variable.
        settings: of `impute_missforest`.
        seed: of its generator, so the same rows always get the same values.
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


def fit(to: ToFit, **settings: Any) -> MissForestImputer:
    """The training rows, kept for `impute`; settings as of `impute_missforest`."""
    scaling = to.scaling.leaving(to.onehot)
    coded, seed = scaling.standardise(to.train), int(to.rng.integers(2**31))
    return MissForestImputer(scaling, coded, to.onehot, settings, seed)


MISSFOREST = ImputerKind(
    name="missforest", fit=fit, shares=("MissForest",), doc="MissForest (Stekhoven & Bühlmann 2012)"
)
