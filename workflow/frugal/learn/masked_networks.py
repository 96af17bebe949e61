"""Networks of classes that read the observed values of a row and their missingness indicators.

They learn from copies of rows in which values are hidden, cross-fitted in lock-step over repeats
and folds. Columns are read as normal scores, an unknown value as 0 with the flag 0. Knows rows and
columns; no panels, no costs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Float32, Int
from scipy.special import ndtri

from frugal.config.learners import MaskedNetworkSettings
from frugal.core.stored import Array, Stored
from frugal.core.table import LARGEST
from frugal.learn.cross_fitted_trees import MOST_LOG_ODDS

if TYPE_CHECKING:
    from frugal.learn.networks import Loss, Networks

KNOTS = 101  # quantiles by which a column is read
FARTHEST = 2.5  # a normal score lies no farther from 0
ROWS = 8192  # at a time
ACTIVATION = "relu"


@dataclass(frozen=True, eq=False)
class NormalScores:
    """Columns by rank: quantiles of the known values, and the normal score of each.

    Attributes:
        knots: quantiles, ascending; 0 for a column that is never known. (d, q)
        scores: value at each knot; equal knots have one score, their mean. (d, q)
    """

    knots: Float[np.ndarray, "d q"]
    scores: Float[np.ndarray, "d q"]

    @classmethod
    def of(cls, values: Float[np.ndarray, "n d"]) -> "NormalScores":
        """Those of some rows, NaN where unknown."""
        level = (np.arange(KNOTS) + 0.5) / KNOTS
        normal = np.clip(ndtri(level), -FARTHEST, FARTHEST)
        knots, scores = np.zeros((2, values.shape[1], KNOTS))
        for j, column in enumerate(values.T):
            observed = column[np.isfinite(column)]
            if not len(observed):
                continue
            knots[j] = np.quantile(observed, level)
            _, place, count = np.unique(knots[j], return_inverse=True, return_counts=True)
            scores[j] = (np.bincount(place, normal) / count)[place]
        return cls(knots, scores)

    def read(self, values: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n w"]:
        """Scores, 0 where unknown, then 1 where known and 0 elsewhere. (n, 2 d)"""
        observed = np.isfinite(values)
        filled = np.where(observed, values, 0.0)
        columns = zip(filled.T, self.knots, self.scores, strict=True)
        scores = np.stack([np.interp(*column) for column in columns], axis=1)
        return np.concatenate([np.where(observed, scores, 0.0), observed], axis=1)


@dataclass(frozen=True, eq=False)
class MaskedNetworks:
    """K networks that read rows with missing values.

    Attributes:
        reads: how columns are read.
        weights: of each layer, with the scaling of inputs included. (K, in, out)
        biases: of each layer. (K, 1, out)
    """

    reads: NormalScores
    weights: tuple[Float32[np.ndarray, "K _ _"], ...]
    biases: tuple[Float32[np.ndarray, "K 1 _"], ...]

    @property
    def count(self) -> int:
        """K."""
        return len(self.weights[0])

    def each(self, values: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "K n"]:
        """Log-odds of class 1 by each network. (K, n)"""
        parts = [np.zeros((self.count, 0))]
        for start in range(0, len(values), ROWS):
            read = self.reads.read(values[start : start + ROWS]).astype(np.float32)
            out = outputs(self.weights, self.biases, read)
            parts.append(out[..., 0].astype(np.float64))
        return np.clip(np.concatenate(parts, axis=1), -MOST_LOG_ODDS, MOST_LOG_ODDS)

    def log_odds(self, values: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Of class 1, the mean of all networks. (n,)"""
        return self.each(values).mean(axis=0)

    def out_of_fold(
        self, values: Float[np.ndarray, "n d"], fold: Int[np.ndarray, "repeats n"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Of rows learnt from, by networks that did not see them; of others by all, or by as many.

        Returns:
            Log-odds, of rows not learnt from by all networks; the same, but by one fold of each
            repeat. (n,), (n,)
        """
        folds, every = self.count // len(fold), self.each(values)
        number = (np.arange(self.count) % folds)[:, None]
        of_row = np.repeat(fold, folds, axis=0)
        turn = np.arange(len(values)) % folds
        averaged = (of_row < 0) | (of_row == number)
        one_fold = (of_row == number) | ((of_row < 0) & (turn == number))
        log_odds, as_many = (
            np.where(a, every, 0.0).sum(axis=0) / a.sum(axis=0) for a in (averaged, one_fold)
        )
        return log_odds, as_many

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the networks are; `from_arrays` is the inverse."""
        arrays = {"knots": self.reads.knots, "scores": self.reads.scores}
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays |= {f"{k}.weight": weight, f"{k}.bias": bias}
        return arrays

    @staticmethod
    def from_arrays(
        arrays: Mapping[str, np.ndarray], *, columns: int, classes: int = 2
    ) -> "MaskedNetworks":
        """The networks that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such networks of so many columns and classes.
        """
        layers = sum(name.endswith(".weight") for name in arrays)
        widths = [2 * columns, *(f"units {k}" for k in range(layers - 1)), outputs_of(classes)]
        finite = {"low": -LARGEST}
        expected = {
            name: Array("float64", (columns, "q"), **finite) for name in ("knots", "scores")
        }
        for k in range(max(layers, 1)):
            expected |= {
                f"{k}.weight": Array("float32", ("K", widths[k], widths[k + 1]), **finite),
                f"{k}.bias": Array("float32", ("K", 1, widths[k + 1]), **finite),
            }
        stored = Stored("networks", arrays)
        stored.require(expected)
        if (np.diff(arrays["knots"], axis=1) < 0).any():
            raise stored.refusal("have knots that fall; allowed are knots that rise or stay")
        weights, biases = (
            tuple(arrays[f"{k}.{part}"] for k in range(layers)) for part in ("weight", "bias")
        )
        return MaskedNetworks(NormalScores(arrays["knots"], arrays["scores"]), weights, biases)


def outputs(
    weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], read: np.ndarray
) -> np.ndarray:
    """Outputs of K networks at the same inputs (n, w), in the precision of these. (K, n, o)"""
    out = np.broadcast_to(read, (len(weights[0]), *read.shape))
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        out = (np.maximum(out, 0.0) if layer else out) @ weight + bias
    return out


def outputs_of(classes: int) -> int:
    """One for two classes, the log-odds of class 1; else a logit for each class."""
    return 1 if classes == 2 else classes


def targets(label: Int[np.ndarray, " n"], classes: int) -> Float[np.ndarray, "n o"]:
    """What the outputs learn: 1 for class 1 of two, else a column for each class. (n, o)"""
    return np.eye(classes)[label][:, classes - outputs_of(classes) :]


def fit_masked_networks(
    reads: NormalScores,
    values: Float[np.ndarray, "m d"],
    label: Int[np.ndarray, " m"],
    fold: Int[np.ndarray, "repeats m"],
    *,
    folds: int,
    classes: int,
    settings: MaskedNetworkSettings,
    rngs: Sequence[np.random.Generator],
) -> MaskedNetworks:
    """One network for each repeat and fold, on all rows that are not of that fold.

    Args:
        reads: how columns are read.
        values: copies of rows, NaN where hidden or unknown. (m, d)
        label: class, from 0 on. (m,)
        fold: of each copy's row, −1 for rows that are not learnt from. (repeats, m)
        folds: of a repeat.
        classes: of the label.
        settings: how.
        rngs: one of each network. (repeats · folds)
    """
    train = np.stack(
        [(fold_of_row >= 0) & (fold_of_row != k) for fold_of_row in fold for k in range(folds)]
    )
    target, weight = targets(label, classes), train.astype(np.float64)
    loss = "binary" if classes == 2 else "softmax"
    fitted = _fitted(reads, values, target, weight, loss, settings, rngs)
    return MaskedNetworks(reads, *_unscaled(fitted))


def fit_masked_means(
    values: Float[np.ndarray, "m d"],
    target: Float[np.ndarray, " m"],
    weight: Float[np.ndarray, "K m"],
    *,
    settings: MaskedNetworkSettings,
    rngs: Sequence[np.random.Generator],
) -> tuple[MaskedNetworks, Float[np.ndarray, " K"], Float[np.ndarray, " K"]]:
    """K networks of means of a target, each with its own weights of the rows.

    Args:
        values: of rows, NaN where unknown. (m, d)
        target: of each row. (m,)
        weight: of each row in the loss of each network. (K, m)
        settings: how.
        rngs: one of each network. (K)

    Returns:
        Networks of the standardised target; what is added to it, after it is multiplied by the last
        array. (K,), (K,)
    """
    reads = NormalScores.of(values)
    fitted = _fitted(reads, values, target[:, None], weight, "squared", settings, rngs)
    centre, scale = (
        part[:, 0, 0].double().numpy() for part in (fitted.target_centre, fitted.target_scale)
    )
    return MaskedNetworks(reads, *_unscaled(fitted)), centre, scale


def _fitted(
    reads: NormalScores,
    values: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    loss: "Loss",
    settings: MaskedNetworkSettings,
    rngs: Sequence[np.random.Generator],
) -> "Networks":
    from frugal.learn.networks import fit_networks  # torch is slow to import, not needed to predict

    return fit_networks(
        [reads.read(values)],
        [target],
        [0] * len(weight),
        weight,
        loss=loss,
        hidden=settings.hidden,
        layers=settings.layers,
        epochs=settings.epochs,
        batch=settings.batch,
        learning_rate=settings.learning_rate,
        weight_decay=[settings.weight_decay] * len(weight),
        activation=ACTIVATION,
        rngs=rngs,
    )


def _unscaled(
    fitted: "Networks",
) -> tuple[tuple[Float32[np.ndarray, "K _ _"], ...], tuple[Float32[np.ndarray, "K 1 _"], ...]]:
    """Weights and biases of the same networks on inputs that are not standardised first."""
    first = fitted.weights[0] / fitted.scale.transpose(1, 2)
    bias = fitted.biases[0] - fitted.centre @ first
    weights, biases = (first, *fitted.weights[1:]), (bias, *fitted.biases[1:])
    return tuple(w.numpy() for w in weights), tuple(b.numpy() for b in biases)
