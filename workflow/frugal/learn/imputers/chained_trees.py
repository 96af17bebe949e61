"""The imputer `chained_trees`: a table's missing values filled in by regressions, fitted and kept.

The default single imputer behind J_Imp [afape, sec. 4.1]. As MissForest (Stekhoven & Bühlmann
2012), it goes column after column and round after round; a column is predicted by LightGBM
(`column_trees`) instead of a forest, and the regressions are kept, so rows that were not there
are filled in by themselves. It fills with conditional means, or most probable classes, so J_Imp is
biased where costs are not linear in the features [afape, sec. A.4]. Must not know labels, panels,
costs or the missingness law.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from jaxtyping import Bool, Float

from frugal.config.learners import TreeSettings
from frugal.core.errors import ConfigError, DataError
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.stored import Array, Stored, Within, arrays_of, declared
from frugal.learn.column_trees import (
    ColumnTrees,
    Variables,
    compact,
    expand,
    fit_column,
    require_observed,
    variables_of,
)
from frugal.learn.imputer_kinds import ImputerKind, ToFit

_SEEDS = 2**31 - 1
_VALIDATION_FOLDS = 5  # share 1/5 of rows held out to choose the number of trees
_BYTES_OF_DIGEST = 32
_PARTS = {
    "group": Array("int64", ("d",), low=-1),  # one-hot group of each column, −1: none
    "variable": Array("int64", ("steps",), low=0),
    "slopes": Array("float64", ("steps", "slopes")),
    "ends": Array("int64", ("steps",), low=0),
    "text": Array("uint8", ("bytes",)),
    "digest": Array("uint8", (_BYTES_OF_DIGEST,)),
}


@dataclass(frozen=True, eq=False)
class ChainedTrees:
    """A fitted chain; an `Imputer`. Shapes: d columns, v variables.

    Numeric variables are in standard deviations of the training rows, categorical ones are codes.

    Attributes:
        scaling: of the training rows; one-hot codes stay as they are.
        variables: of the table.
        start: training means (0) and most frequent classes, where the chain begins. (v,)
        low: least known value of each variable; no filled value lies beyond. (v,)
        high: largest known value of each variable. (v,)
        steps: regressions in the order of use, all rounds; a variable that has one known value
            stays at it.
    """

    scaling: Scaling
    variables: Variables
    start: Annotated[Float[np.ndarray, " v"], Within()]
    low: Annotated[Float[np.ndarray, " v"], Within()]
    high: Annotated[Float[np.ndarray, " v"], Within()]
    steps: tuple[ColumnTrees, ...]

    def impute(self, values: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        """See `Imputer`; each row is imputed independently of the others.

        Raises:
            DataError: the rows have another number of columns, a value is infinite, a one-hot group
                is no code, or a variable is missing for which no regression was fitted.
        """
        if values.shape[1] != self.variables.width:
            raise DataError(
                f"rows of {values.shape[1]} columns were requested; the imputer is fitted to "
                f"{self.variables.width}"
            )
        codes = compact(self.scaling.standardise(values), self.variables)
        absent = np.isnan(codes)
        constant = np.flatnonzero(self.low == self.high)
        fitted = [*constant, *(step.j for step in self.steps)]
        never = np.setdiff1d(np.flatnonzero(absent.any(axis=0)), fitted)
        if len(never):
            raise DataError(
                f"column {self.variables.columns[never[0]][0]} is missing, but the imputer was "
                "fitted to a table in which it never is"
            )
        filled = np.where(absent, self.start, codes)
        for step in self.steps:
            self.take(step, filled, absent[:, step.j])
        values_filled = self.scaling.restore(expand(filled, self.variables))
        return np.where(np.isnan(values), values_filled, values)

    def take(
        self, step: ColumnTrees, filled: Float[np.ndarray, "m v"], absent: Bool[np.ndarray, " m"]
    ) -> None:
        """One step of the chain: conditional means within the known values, or probable classes."""
        if not absent.any():
            return
        prediction = step.predict(filled[absent], self.variables)
        filled[absent, step.j] = (
            prediction.argmax(axis=1)
            if step.classes
            else np.clip(prediction, self.low[step.j], self.high[step.j])
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the imputer is; the regressions as LightGBM's text models, no pickle."""
        group = np.full(self.variables.width, -1)
        for j, (columns, classes) in enumerate(
            zip(self.variables.columns, self.variables.classes, strict=True)
        ):
            if classes:
                group[list(columns)] = j
        texts = [step.text.encode() for step in self.steps]
        joined_text = b"".join(texts)
        return {
            **arrays_of(self.scaling),
            **arrays_of(self),
            "group": group,
            "variable": np.array([step.j for step in self.steps], dtype=np.int64),
            "slopes": np.array([step.slopes for step in self.steps]).reshape(-1, len(group) + 1),
            "ends": np.cumsum([len(text) for text in texts], dtype=np.int64),
            "text": np.frombuffer(joined_text, dtype=np.uint8),
            "digest": _digest(joined_text),
        }

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray]) -> "ChainedTrees":
        """The imputer that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such imputer; the message names the first.
        """
        stored = Stored("chained-trees imputer", arrays)
        expected = declared(Scaling) | declared(ChainedTrees) | _PARTS
        columns = stored.require(expected, empty=("steps", "bytes"))["d"]
        group = arrays["group"]
        groups = [np.flatnonzero(group == g).tolist() for g in np.unique(group[group >= 0])]
        variables = variables_of(columns, tuple(tuple(members) for members in groups))
        _require_chain(stored, arrays, variables)
        ends = arrays["ends"]
        texts = [piece.tobytes().decode() for piece in np.split(arrays["text"], ends)[:-1]]
        return ChainedTrees(
            Scaling(arrays["centre"], arrays["scale"]),
            variables,
            arrays["start"],
            arrays["low"],
            arrays["high"],
            tuple(
                ColumnTrees(int(j), variables.classes[j], slopes, text)
                for j, slopes, text in zip(arrays["variable"], arrays["slopes"], texts, strict=True)
            ),
        )


def _require_chain(stored: Stored, arrays: Mapping[str, np.ndarray], variables: Variables) -> None:
    """Sizes fit each other, and the texts are those that were written.

    LightGBM trusts its text: only one that came out of it may go in.
    """
    shape = (len(arrays["variable"]), 1 + variables.width)
    if arrays["slopes"].shape != shape:
        raise stored.refusal(
            f"has an array 'slopes' of shape {arrays['slopes'].shape}; allowed: {shape}"
        )
    if len(arrays["start"]) != len(variables):
        raise stored.refusal(
            f"has {len(arrays['start'])} entries in the array 'start'; allowed are "
            f"{len(variables)}, one for each variable"
        )
    stored.require_between("variable", 0, len(variables) - 1)
    for j, classes in enumerate(variables.classes):
        start = arrays["start"][j]
        if classes and start not in range(classes):
            raise stored.refusal(
                f"has {start} in the array 'start' at [{j}]; allowed are classes 0 to {classes - 1}"
            )
    ends, text = arrays["ends"], arrays["text"]
    if (np.diff(ends) < 0).any() or (ends[-1] if len(ends) else 0) != len(text):
        raise stored.refusal(
            f"has an array 'ends' that does not divide the {len(text)} bytes of the array 'text'"
        )
    if not np.array_equal(_digest(text.tobytes()), arrays["digest"]):
        raise stored.refusal("has an array 'text' that was changed after it was stored")


def _digest(text: bytes) -> np.ndarray:
    return np.frombuffer(hashlib.sha256(text).digest(), dtype=np.uint8)


def fit_chained_trees(
    values: Float[np.ndarray, "n d"],
    *,
    onehot: tuple[tuple[int, ...], ...],
    every: bool,
    rounds: int,
    rng: np.random.Generator,
    progress: Callable[..., Iterable[int]] | None,
    **settings: Any,
) -> tuple[ChainedTrees, Float[np.ndarray, "n d"]]:
    """A chain fitted to a table, and the table filled in; the input to J_Imp [afape, sec. 4.1].

    Start: column means and most frequent classes. One round refits, for every variable with missing
    entries, least missing first, a regression on the rows where it is known, with all other
    variables as predictors. A one-hot group is one target and one categorical predictor. A round
    whose predictors are those of the round before keeps its regression.

    Args:
        values: encoded columns, NaN where missing. (n, d)
        onehot: groups of columns, each the one-hot code of one categorical variable.
        every: also fit variables that are nowhere missing, for rows to come.
        rounds: at least 1.
        rng: source of LightGBM's seeds.
        progress: wraps the loop over variables, called like tqdm(iterable, desc=…).
        settings: those of `TreeSettings`.

    Returns:
        The imputer, and these rows, completed: observed entries bit for bit. (n, d)

    Raises:
        DataError: a variable has no observed value; a group is no one-hot code; a value is
            infinite; the table has one variable only.
        ConfigError: a setting out of range.
    """
    if rounds < 1:
        raise ConfigError(f"chained trees got {rounds} rounds; at least 1 is needed")
    trees = TreeSettings.of(settings)
    variables, scaling, codes = coded(values, onehot)
    absent = np.isnan(codes)
    order = [
        int(j) for j in np.argsort(absent.sum(axis=0), kind="stable") if every or absent[:, j].any()
    ]
    if order and len(variables) < 2:
        raise DataError("the table has one variable only; chained trees need others to predict it")
    start = np.array([most_common(codes[:, j], k) for j, k in enumerate(variables.classes)])
    low, high = np.nanmin(codes, axis=0), np.nanmax(codes, axis=0)
    order = [j for j in order if low[j] < high[j]]
    chain = ChainedTrees(scaling, variables, start, low, high, ())
    filled = np.where(absent, start, codes)
    steps: list[ColumnTrees] = []
    trees_of: dict[int, int] = {}
    for number in range(rounds):
        for j in order if progress is None else progress(order, desc="chained trees, one round"):
            if number > 1 and not np.delete(absent, j, axis=1).any():
                step = next(old for old in reversed(steps) if old.j == j)
            else:
                step, trees_of[j] = _fit_step(
                    codes, filled, j, variables, trees_of.get(j), trees, rng
                )
            steps.append(step)
            chain.take(step, filled, absent[:, j])
    restored_values = np.where(np.isnan(values), scaling.restore(expand(filled, variables)), values)
    return replace(chain, steps=tuple(steps)), restored_values


def _fit_step(
    codes: np.ndarray,
    filled: np.ndarray,
    j: int,
    variables: Variables,
    n_trees: int | None,
    trees: TreeSettings,
    rng: np.random.Generator,
) -> tuple[ColumnTrees, int]:
    """The regression of variable j, and how many trees it keeps.

    In the first round a fifth of the rows is held out to choose their number; then all are used.
    """
    observed, seed = np.flatnonzero(~np.isnan(codes[:, j])), int(rng.integers(_SEEDS))
    held_out = None
    if n_trees is None and len(observed) >= _VALIDATION_FOLDS:
        order = rng.permutation(observed)
        aside, observed = (
            order[: len(order) // _VALIDATION_FOLDS],
            np.sort(order[len(order) // _VALIDATION_FOLDS :]),
        )
        held_out = filled[aside], codes[aside, j]
    most = trees if n_trees is None else trees.model_copy(update={"trees": n_trees})
    return fit_column(
        filled[observed],
        codes[observed, j],
        j=j,
        variables=variables,
        weight=None,
        held_out=held_out,
        settings=most,
        seed=seed,
    )


def coded(
    values: Float[np.ndarray, "n d"], onehot: tuple[tuple[int, ...], ...]
) -> tuple[Variables, Scaling, Float[np.ndarray, "n v"]]:
    """Variables, scaling, and codes with numbers in standard deviations.

    Raises:
        DataError: as in `compact` and `require_observed`.
    """
    variables = variables_of(values.shape[1], onehot)
    require_observed(compact(values, variables), variables)
    scaling = fit_scaling(values).leaving(onehot)
    return variables, scaling, compact(scaling.standardise(values), variables)


def most_common(codes: Float[np.ndarray, " n"], classes: int) -> float:
    """The most frequent class (ties: the lowest); of a number its mean, 0."""
    if not classes:
        return 0.0
    return float(np.bincount(codes[~np.isnan(codes)].astype(np.int64)).argmax())


def fit(to: ToFit, **settings: Any) -> ChainedTrees:
    """A chain fitted to the training rows; settings as of `fit_chained_trees`."""
    return fit_chained_trees(
        to.train, onehot=to.onehot, every=True, rng=to.rng, progress=None, **settings
    )[0]


CHAINED_TREES = ImputerKind(
    name="chained_trees",
    fit=fit,
    read=ChainedTrees.from_arrays,
    marks=("digest",),
    settings={"rounds": ("Count", "", 4)},
    shares=("ChainedTreesSettings",),
    doc="regressions by boosted trees, one after the other",
)
