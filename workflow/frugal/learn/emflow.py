"""EMFlow, fitted: imputation by a normalising flow whose latent space is Gaussian.

The posterior state encoder of [diagnosis, sec. 5.2; sec. C], after Ma & Ghosh, "EMFlow" (2021):
rows go to latent space, what is missing becomes its expectation there, and comes back. How it is
fitted stands in `emflow_training`. Must not know labels, costs, policies or files.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float

from frugal.core.errors import DataError
from frugal.core.scaling import Scaling
from frugal.core.stored import Array, Stored
from frugal.learn.conditional_gaussian import Gaussian, conditional_means
from frugal.learn.flows import AffineFlow, weight_count

MOST_PASSES = 1000  # a stored number may be anything, and each pass takes time
_EXPECTED = {
    "weights": Array("float32", ("weights",)),
    "mean": Array("float64", ("columns",)),
    "covariance": Array("float64", ("columns", "columns")),
    "centre": Array("float64", ("columns",)),
    "scale": Array("float64", ("columns",), above=0),
    "couplings": Array("int64", (1,), low=1),
    "hidden": Array("int64", ("layers",), low=1),
    "passes": Array("int64", (1,), low=1, high=MOST_PASSES),
}
ROWS_AT_ONCE = 8192
MOST_DEVIATIONS = 5.0  # what the flow reads and returns is cut there; known values stay in the row


@dataclass(frozen=True, eq=False)
class EmFlow:
    """A fitted EMFlow; an `Imputer`. Shapes: d columns.

    Attributes:
        scaling: of the training rows; flow and Gaussian live in that scale.
        flow: f, from latent space to data.
        gaussian: base distribution N(μ, Σ).
        passes: how often a row is imputed anew, each time from its last imputation.
        hidden: units of each hidden layer of the flow's networks.
        history: loss and validation error after each round of masks; empty for a stored model.
    """

    scaling: Scaling
    flow: AffineFlow
    gaussian: Gaussian
    passes: int
    hidden: tuple[int, ...]
    history: tuple[Mapping[str, float], ...]

    def impute(self, values: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        """Rows with NaN filled in; known entries stay bit for bit [diagnosis, alg. 3].

        Starts from the training means and imputes the missing entries anew `passes` times.

        Args:
            values: rows in units of the table, NaN where unknown. (m, d)

        Raises:
            DataError: another number of columns than in training, an infinite value, or weights so
                large that a completed value is not finite.
        """
        torch.set_num_threads(1)
        observed, start = ~np.isnan(values), standardised_start(self.scaling, values)
        filled = np.empty_like(start)
        for at in range(0, len(values), ROWS_AT_ONCE):
            part = slice(at, at + ROWS_AT_ONCE)
            filled[part] = reimputed(
                self.flow, self.gaussian, start[part], observed[part], passes=self.passes
            )
        restored = self.scaling.restore(filled.astype(np.float64))
        if not np.isfinite(restored).all():
            raise DataError("EMFlow completes a row by numbers that are not finite; train it again")
        return np.where(observed, values, restored)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the imputer is, as named arrays; `from_arrays` is the exact inverse."""
        return {
            "weights": self.flow.to_vector(),
            "mean": self.gaussian.mean,
            "covariance": self.gaussian.covariance,
            "centre": self.scaling.centre,
            "scale": self.scaling.scale,
            "couplings": np.array([self.flow.couplings]),
            "hidden": np.array(self.hidden),
            "passes": np.array([self.passes]),
        }

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray]) -> "EmFlow":
        """The imputer that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no EMFlow; the sentence says where.
        """
        _require_emflow(arrays)
        hidden = tuple(int(h) for h in arrays["hidden"])
        flow = AffineFlow.from_vector(
            arrays["weights"], len(arrays["mean"]), couplings=int(arrays["couplings"][0]),
            hidden=hidden,
        )  # fmt: skip
        return EmFlow(
            Scaling(arrays["centre"], arrays["scale"]),
            flow,
            Gaussian(arrays["mean"], arrays["covariance"]),
            int(arrays["passes"][0]),
            hidden,
            (),
        )


def _require_emflow(arrays: Mapping[str, np.ndarray]) -> None:
    """Weights for exactly the flow that is described, and a covariance that is one."""
    stored = Stored("EMFlow", arrays)
    size = stored.require(_EXPECTED)
    if size["columns"] < 2:
        raise stored.refusal("has 1 column; a flow of couplings needs at least 2")
    couplings, hidden = int(arrays["couplings"][0]), [int(h) for h in arrays["hidden"]]
    wanted = weight_count(size["columns"], couplings=couplings, hidden=hidden)
    if size["weights"] != wanted:
        raise stored.refusal(
            f"has {size['weights']} weights; allowed: {wanted}, for {couplings} couplings over "
            f"{size['columns']} columns with the hidden layers {hidden}"
        )
    covariance = arrays["covariance"]
    if not np.allclose(covariance, covariance.T, rtol=1e-6, atol=1e-9):
        raise stored.refusal("has an array 'covariance' that is not symmetric")
    try:
        Gaussian(arrays["mean"], covariance).require_definite()
    except DataError:
        raise stored.refusal("has an array 'covariance' that is not positive definite") from None


def standardised_start(
    scaling: Scaling, values: Float[np.ndarray, "m d"]
) -> Float[np.ndarray, "m d"]:
    """Rows as the flow reads them first: standardised, cut, and 0, the mean, where unknown. (m, d)

    Raises:
        DataError: another number of columns than the scaling has, or an infinite value.
    """
    if values.shape[1] != len(scaling.centre):
        raise DataError(
            f"rows have {values.shape[1]} columns; EMFlow was fitted to {len(scaling.centre)}"
        )
    if np.isinf(values).any():
        raise DataError("a value is infinite; values are finite, or NaN where missing")
    cut = np.clip(scaling.standardise(values), -MOST_DEVIATIONS, MOST_DEVIATIONS)
    return np.nan_to_num(cut, nan=0.0).astype(np.float32)


@torch.no_grad()
def reimputed(
    flow: AffineFlow,
    gaussian: Gaussian,
    rows: Float[np.ndarray, "m d"],
    observed: Bool[np.ndarray, "m d"],
    *,
    passes: int,
) -> Float[np.ndarray, "m d"]:
    """Rows whose unobserved entries are imputed anew `passes` times [diagnosis, alg. 3].

        z = f⁻¹(x),   ẑ by eq. 5,   x ← observed entries of x, f(ẑ) elsewhere

    Differs from the paper: imputed entries are kept within ± 5 standard deviations, as known ones
    are read; else a rare row runs away from pass to pass.

    Args:
        flow: f.
        gaussian: base distribution.
        rows: current imputation, standardised. (m, d)
        observed: True for entries that are known. (m, d)
        passes: at least 0.
    """
    filled = rows
    for _ in range(passes):
        latent = flow.inverse(torch.from_numpy(filled))[0].numpy()
        completed = conditional_means(latent, observed, gaussian).astype(np.float32)
        returned = flow(torch.from_numpy(completed))[0].numpy()
        filled = np.where(observed, rows, np.clip(returned, -MOST_DEVIATIONS, MOST_DEVIATIONS))
    return filled
