"""Ratio of means and its error from sums over rows; sums of blocks are combined.

Every quantity of `intervals` follows from these: value, standard error, skewness, effective sample
size. Those of one block are the numbers that the whole would give. Must not know which estimator
made the terms.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from frugal.core.errors import NoSupportError
from frugal.judge.estimator import Terms


@dataclass(frozen=True)
class WeightSums:
    """Importance weights of n rows.

    Attributes:
        rows: n.
        usable: rows with weight above zero.
        total: Σ w.
        top: the largest weight.
        at: row of the largest weight, the first of equals.
        scaled: Σ w / top; the scale cancels, and prevents overflow of the squares.
        squared: Σ (w / top)².
    """

    rows: int
    usable: int
    total: float
    top: float
    at: int
    scaled: float
    squared: float

    @classmethod
    def of(cls, weight: Float[np.ndarray, " n"], first: int = 0) -> "WeightSums":
        """Of some rows, of which the first has the number `first`."""
        top = float(weight.max(initial=0.0))
        at = first + (int(weight.argmax()) if len(weight) else 0)
        scaled = weight / top if top > 0 else weight
        return cls(
            len(weight),
            int((weight > 0).sum()),
            float(weight.sum()),
            top,
            at,
            float(scaled.sum()),
            float((scaled**2).sum()),
        )

    def __add__(self, other: "WeightSums") -> "WeightSums":
        top = max(self.top, other.top)
        mine, theirs = (sums.top / top if top > 0 else 1.0 for sums in (self, other))
        return WeightSums(
            self.rows + other.rows,
            self.usable + other.usable,
            self.total + other.total,
            top,
            self.at if self.top >= other.top else other.at,
            self.scaled * mine + other.scaled * theirs,
            self.squared * mine**2 + other.squared * theirs**2,
        )

    @property
    def mean(self) -> float:
        """Σ w / n."""
        return self.total / self.rows

    @property
    def effective(self) -> float:
        """Kish's number of equally weighted rows with the same variance; 0 without weight.

        n_eff = (Σᵢ wᵢ)² / Σᵢ wᵢ²,   between 1 and the number of rows with weight
        """
        return self.scaled**2 / self.squared if self.top > 0 else 0.0

    @property
    def largest_share(self) -> float:
        """Share of all weight that one row carries, max w / Σ w; 0 if no row has weight."""
        return 1 / self.scaled if self.top > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Spread:
    """Sums of influence terms ψ of n rows or clusters, for o outcomes.

    Attributes:
        rows: n.
        squares: Σ ψ². (o,)
        cubes: Σ ψ³. (o,)
    """

    rows: int
    squares: Float[np.ndarray, " o"]
    cubes: Float[np.ndarray, " o"]

    @classmethod
    def of(cls, psi: Float[np.ndarray, "n o"]) -> "Spread":
        """Of some rows."""
        return cls(len(psi), (psi**2).sum(axis=0), (psi**3).sum(axis=0))

    def __add__(self, other: "Spread") -> "Spread":
        return Spread(
            self.rows + other.rows, self.squares + other.squares, self.cubes + other.cubes
        )

    def error(self, usable: int) -> Float[np.ndarray, " o"]:
        """Standard error; see `error_of`. (o,)"""
        return error_of(self.rows, self.squares, usable)

    @property
    def skew(self) -> Float[np.ndarray, " o"]:
        """A = Σ ψ³ / (Σ ψ²)^1.5; 0 where nothing varies. (o,)"""
        size = np.sqrt(self.squares)
        return np.divide(self.cubes, size**3, out=np.zeros_like(size), where=size > 0)


def error_of(rows: int, squares: Float[np.ndarray, " o"], usable: int) -> Float[np.ndarray, " o"]:
    """Standard error; infinite where fewer than two rows carry weight. (o,)

    se² = Σᵢ ψᵢ² / (n (n − 1))

    Args:
        rows: n.
        squares: Σ ψ². (o,)
        usable: rows with weight.
    """
    if usable < 2:
        return np.full(len(squares), np.inf)
    return np.sqrt(squares / (rows * (rows - 1)))


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums of the terms of one estimator over rows, for o outcomes.

    Attributes:
        numerator: Σ numerator. (o,)
        denominator: Σ denominator.
        weight: of the weights.
        centre: J₀, the ratio of the first block, about which squares are taken; and its mean
            denominator m₀. (o,), ()
        squares: Σ x², x = (numerator − J₀ denominator) / m₀. (o,)
        crossed: Σ x · denominator. (o,)
        denominators: Σ denominator².
    """

    numerator: Float[np.ndarray, " o"]
    denominator: float
    weight: WeightSums
    centre: tuple[Float[np.ndarray, " o"], float]
    squares: Float[np.ndarray, " o"]
    crossed: Float[np.ndarray, " o"]
    denominators: float

    @classmethod
    def of(
        cls,
        terms: Terms,
        first: int = 0,
        centre: tuple[Float[np.ndarray, " o"], float] | None = None,
    ) -> "Tally":
        """Of a block, whose first row has the number `first`, about the first block's ratio."""
        total, bottom = terms.numerator.sum(axis=0), float(terms.denominator.sum())
        if centre is None:
            mean = bottom / len(terms.denominator) if len(terms.denominator) else 0.0
            centre = (total / bottom, mean) if bottom != 0 else (np.zeros(len(total)), 1.0)
        x = (terms.numerator - terms.denominator[:, None] * centre[0]) / centre[1]
        return cls(
            total,
            bottom,
            WeightSums.of(terms.weight, first),
            centre,
            (x**2).sum(axis=0),
            (x * terms.denominator[:, None]).sum(axis=0),
            float((terms.denominator**2).sum()),
        )

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.numerator + other.numerator,
            self.denominator + other.denominator,
            self.weight + other.weight,
            self.centre,
            self.squares + other.squares,
            self.crossed + other.crossed,
            self.denominators + other.denominators,
        )

    @property
    def estimate(self) -> Float[np.ndarray, " o"]:
        """Ĵ = Σᵢ numeratorᵢ / Σᵢ denominatorᵢ. (o,)

        Raises:
            NoSupportError: no row carries weight, or the denominators sum to zero.
        """
        return self.numerator / self.total_denominator

    @property
    def total_denominator(self) -> float:
        """Σ denominator.

        Raises:
            NoSupportError: no row carries weight, or it is zero.
        """
        if self.weight.usable == 0 or self.denominator == 0:
            raise NoSupportError(
                f"none of {self.weight.rows} rows carries weight; at least one is needed to "
                "estimate"
            )
        return self.denominator

    @property
    def mean_denominator(self) -> float:
        """Σ denominator / n."""
        return self.total_denominator / self.weight.rows

    def influence(self, terms: Terms) -> Float[np.ndarray, "n c"]:
        """First-order effect of each row of a block on the estimate, times n; its mean is zero.

            ψᵢ = (numeratorᵢ − Ĵ · denominatorᵢ) / mean(denominator)

        Args:
            terms: with the first outcomes, or all. (n, c)
        """
        value = self.estimate[: terms.numerator.shape[1]]
        return (terms.numerator - terms.denominator[:, None] * value) / self.mean_denominator

    @property
    def standard_error(self) -> Float[np.ndarray, " o"]:
        """Of every outcome, the nuisances taken as known: √(Σ ψ² / (n (n − 1))). (o,)"""
        if self.weight.usable < 2:
            return np.full(len(self.numerator), np.inf)
        (centre, mean), n = self.centre, self.weight.rows
        moved = (self.estimate - centre) / mean
        squares = self.squares - 2 * moved * self.crossed + moved**2 * self.denominators
        scale = mean / self.mean_denominator
        return np.sqrt(scale**2 * squares / (n * (n - 1)))
