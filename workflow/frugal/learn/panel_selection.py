"""One set of panels for everybody: LASSO and forward selection, with and without a fairness term.

The population-level selections that `dadi` is compared with: where its agent decides per unit,
these decide once. Must not know agents, folds or files.
"""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.learn.weighted_logistic import Logistic, fit_logistic, fit_sparse_logistic, log_loss

PATH = 30  # penalties, each so much weaker that the last is this share of the first:
WEAKEST = 1e-3
HALVINGS = 6  # of the step in which the path chooses too many at once
PROXIMAL_STEPS = 500


def shown_columns(
    provides: Bool[np.ndarray, "a d"], panels: Bool[np.ndarray, " a"]
) -> Bool[np.ndarray, " d"]:
    """Columns of the given panels, and those that no panel reveals: they are known to all. (d,)"""
    return np.asarray(provides[panels].any(axis=0) | ~provides.any(axis=0))


def lasso_panels(
    inputs: Float[np.ndarray, "n d"],
    label: Int[np.ndarray, " n"],
    sensitive: Int[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
    provides: Bool[np.ndarray, "a d"],
    *,
    most: int,
    parity: float,
) -> Bool[np.ndarray, " a"]:
    """Panels along the L1 path of a logistic regression, at its last point with at most `most`.

        penalty of column j  ∝  1 + parity · |corr(xⱼ, b)|

    so that with `parity` above zero a column that tells the group must tell more of the label to be
    chosen. A panel is chosen where one of its columns has a slope. The path goes down by equal
    ratios from the weakest penalty that leaves no slope; the step that chooses too many panels is
    halved, up to `HALVINGS` times.

    Args:
        inputs: columns on comparable scales. (n, d)
        label: 0 or 1. (n,)
        sensitive: group, 0 or 1. (n,)
        weight: of the rows. (n,)
        provides: columns that each panel reveals. (a, d)
        most: panels, at most.
        parity: weight of a column's correlation with the group; 0 is the plain LASSO.

    Returns:
        True for the chosen panels. (a,)
    """
    share = weight / weight.sum()
    factor = 1 + parity * np.abs(_correlation(inputs, sensitive, share))
    slope = np.abs(inputs.T @ (share * (label - share @ label)))
    strongest = float((slope / factor).max())
    chosen = np.zeros(len(provides), dtype=bool)
    fitted: Logistic | None = None
    shrink, halvings = WEAKEST ** (1 / (PATH - 1)), 0
    share_of_strongest = 1.0
    while share_of_strongest > WEAKEST * (1 - 1e-9) and halvings <= HALVINGS:
        tried = fit_sparse_logistic(
            inputs, label, weight, l1=strongest * share_of_strongest * factor,
            steps=PROXIMAL_STEPS, start=fitted,
        )  # fmt: skip
        found = (provides & (tried.slope != 0)).any(axis=1)
        if found.sum() <= most:
            chosen, fitted = found, tried
        else:  # back to the last penalty, and a smaller step
            share_of_strongest /= shrink
            shrink, halvings = np.sqrt(shrink), halvings + 1
        share_of_strongest *= shrink
    return chosen


def _correlation(
    inputs: Float[np.ndarray, "n d"], group: Int[np.ndarray, " n"], share: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " d"]:
    """Weighted correlation of each column with the group; 0 for a constant column. (d,)"""
    centred = inputs - share @ inputs
    side = group - share @ group
    spread = np.sqrt((share @ centred**2) * (share @ side**2))
    together = (share * side) @ centred
    return np.divide(together, spread, out=np.zeros_like(together), where=spread > 1e-12)


def forward_panels(
    train: tuple[Float[np.ndarray, "n d"], Int[np.ndarray, " n"], Int[np.ndarray, " n"]],
    held: tuple[Float[np.ndarray, "m d"], Int[np.ndarray, " m"], Int[np.ndarray, " m"]],
    weights: tuple[Float[np.ndarray, " n"], Float[np.ndarray, " m"]],
    provides: Bool[np.ndarray, "a d"],
    *,
    most: int,
    gamma: float,
    ridge: float,
) -> Bool[np.ndarray, " a"]:
    """Panels added one by one while they lower γ L_C − (1 − γ) L_A on held-out rows.

    The combined loss of DADI [dadi, eq. 1] with logistic regressions as classifier and adversary,
    and one set of panels for all units; γ = 1 is the usual forward selection.

    Args:
        train: inputs, label and group of the rows that fit. (n, d), (n,), (n,)
        held: the same of the rows that choose. (m, d), (m,), (m,)
        weights: of both.
        provides: columns that each panel reveals. (a, d)
        most: panels, at most.
        gamma: weight of the classifier's loss.
        ridge: of the regressions.

    Returns:
        True for the chosen panels. (a,)
    """

    def combined(panels: np.ndarray) -> float:
        columns = shown_columns(provides, panels)
        losses = [
            log_loss(
                held[k],
                fit_logistic(train[0][:, columns], train[k], weights[0], ridge=ridge).log_odds(
                    held[0][:, columns]
                ),
                weights[1],
            )
            for k, share in ((1, gamma), (2, 1 - gamma))
            if share > 0
        ]
        return _blend(losses, gamma)

    chosen = np.zeros(len(provides), dtype=bool)
    best = combined(chosen)
    while chosen.sum() < most:
        values = {j: combined(chosen | _only(j, len(provides))) for j in _left(chosen)}
        if not values or min(values.values()) >= best:
            break
        j = min(values, key=lambda one: values[one])
        chosen[j], best = True, values[j]
    return chosen


def _blend(losses: list[float], gamma: float) -> float:
    if gamma >= 1:
        return losses[0]
    if gamma <= 0:
        return -losses[0]
    return gamma * losses[0] - (1 - gamma) * losses[1]


def _only(j: int, count: int) -> Bool[np.ndarray, " a"]:
    return np.arange(count) == j


def _left(chosen: Bool[np.ndarray, " a"]) -> Iterable[int]:
    return map(int, np.flatnonzero(~chosen))
