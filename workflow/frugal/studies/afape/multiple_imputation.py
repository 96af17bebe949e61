"""Multiple imputation by chained boosted trees: completed tables that differ as the truth may.

Draws from p(X_missing | X_observed, Y) as the paper's multiple imputation demands [afape, eq. A.2],
by chained equations (van Buuren 2007) whose conditional models are those of `chained_trees`. Valid
only where values are missing at random. Must not know panels, costs or the missingness law, nor how
the draws are pooled.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from frugal.config.learners import TreeSettings
from frugal.core.errors import ConfigError, DataError
from frugal.learn.column_trees import Variables, expand, fit_column
from frugal.learn.imputers.chained_trees import coded

_SEEDS = 2**31 - 1
_DONORS = 10  # rows with the nearest predictions, one of which lends its residual
_LEAST_SHARE = 1e-9
_POWERS = np.linspace(0.05, 1.25, 25)


def impute_multiple(
    values: Float[np.ndarray, "n d"],
    *,
    onehot: tuple[tuple[int, ...], ...],
    label: Int[np.ndarray, " n"] | None,
    draws: int,
    rounds: int,
    rng: np.random.Generator,
    **settings: Any,
) -> Float[np.ndarray, "m n d"]:
    """Completed tables, the missing entries drawn from p(X_missing | X_observed, Y).

        J = E[ E[ h(X_observed, X_missing, Y) | X_observed, Y ] ]      [afape, eq. A.2]

    Every draw is a chain of its own: missing entries start as random observed values of their
    variable; then, for `rounds` rounds, each variable with missing entries is redrawn given all
    others, least missing first. Boosted trees are fitted to a bootstrap sample of the rows where
    the variable is known, which replaces the draw of the parameters. A number is their
    prediction plus the residual of a row that the sample left out and whose prediction is near,
    put to the nearest value that is known; a class is drawn from probabilities that are
    recalibrated on the rows left out.

    The paper names the method, not the conditional models: those are our choice.

    Args:
        values: encoded columns, NaN where missing. (n, d)
        onehot: groups of columns, each the one-hot code of one categorical variable.
        label: class of each row; joins the predictors and is never imputed. None leaves it out,
            which assumes X_missing ⊥ Y | X_observed and so understates the value of features
            [afape, sec. A.4]. (n,)
        draws: number m of completed tables, at least 1.
        rounds: at least 1; some 5 are customary.
        rng: of all draws.
        settings: those of `TreeSettings`.

    Returns:
        Observed entries bit for bit; one-hot groups valid. (m, n, d)

    Raises:
        DataError: a variable has no observed value; a group is no one-hot code; a value is
            infinite; the label has another length than the table.
        ConfigError: `draws` or `rounds` below 1, or another setting out of range.
    """
    if draws < 1 or rounds < 1:
        raise ConfigError(f"{draws} draws and {rounds} rounds were requested; both are at least 1")
    if label is not None and len(label) != len(values):
        raise DataError(f"the label has {len(label)} rows, the table {len(values)}")
    trees = TreeSettings.of(settings)
    variables, scaling, codes = coded(values, onehot)
    chains = [_run_chain(codes, variables, label, rounds, trees, rng) for _ in range(draws)]
    filled = np.stack([scaling.restore(expand(chain, variables)) for chain in chains])
    return np.where(np.isnan(values), filled, values)


def _run_chain(
    codes: np.ndarray,
    variables: Variables,
    label: np.ndarray | None,
    rounds: int,
    trees: TreeSettings,
    rng: np.random.Generator,
) -> np.ndarray:
    """One chain, started from random observed values; its last state. (n, v)"""
    missing = np.isnan(codes)
    count = missing.sum(axis=0)
    order = [int(j) for j in np.argsort(count, kind="stable") if count[j]]
    filled = codes.copy()
    for j in order:
        filled[missing[:, j], j] = rng.choice(codes[~missing[:, j], j], count[j])
    if label is not None:  # in addition to the variables, as one more code
        classes, place = np.unique(label, return_inverse=True)
        filled = np.column_stack([filled, place])
        columns = tuple(range(variables.width, variables.width + len(classes)))
        variables = Variables((*variables.columns, columns), (*variables.classes, len(classes)))
    for _ in range(rounds):
        for j in order:
            filled[missing[:, j], j] = _draw(filled, codes[:, j], j, variables, trees, rng)
    return filled[:, : codes.shape[1]]


def _draw(
    filled: Float[np.ndarray, "n v"],
    target: Float[np.ndarray, " n"],
    j: int,
    variables: Variables,
    trees: TreeSettings,
    rng: np.random.Generator,
) -> np.ndarray:
    """One draw for every row whose target is missing. (q,)"""
    absent, observed = np.isnan(target), np.flatnonzero(~np.isnan(target))
    count = rng.multinomial(len(observed), np.full(len(observed), 1 / len(observed)))
    inside, outside = observed[count > 0], observed[count == 0]
    if not len(outside) or (target[inside] == target[inside[0]]).all():
        return rng.choice(target[observed], int(absent.sum()))
    held_out = filled[outside], target[outside]
    model, _ = fit_column(
        filled[inside],
        target[inside],
        j=j,
        variables=variables,
        weight=count[count > 0],
        held_out=held_out,
        settings=trees,
        seed=int(rng.integers(_SEEDS)),
    )
    mean, left_out = (model.predict(rows, variables) for rows in (filled[absent], held_out[0]))
    if model.classes:
        # tempered probabilities p^β / Σ p^β; the largest log odds + Gumbel noise draws from them
        log_share, score = (np.log(np.maximum(p, _LEAST_SHARE)) for p in (left_out, mean))
        score = _temper(log_share, held_out[1].astype(np.int64)) * score
        return (score + rng.gumbel(size=score.shape)).argmax(axis=1).astype(np.float64)
    # residuals of rows left out, which the trees have not seen, whose predictions are near
    order = np.argsort(left_out, kind="stable")
    residual = (held_out[1] - left_out)[order]
    donors = min(_DONORS, len(left_out))
    first = np.searchsorted(left_out[order], mean) - donors // 2
    lender = np.clip(first, 0, len(left_out) - donors) + rng.integers(donors, size=len(mean))
    return _nearest(mean + residual[lender], np.unique(target[observed]))


def _nearest(values: np.ndarray, candidates: Float[np.ndarray, " k"]) -> np.ndarray:
    """Of the known values, which rise, the nearest to each value; of two as near, the lower."""
    upper = np.clip(np.searchsorted(candidates, values), 1, len(candidates) - 1)
    lower = upper - 1
    return candidates[
        np.where(values - candidates[lower] <= candidates[upper] - values, lower, upper)
    ]


def _temper(score: Float[np.ndarray, "h k"], truth: Int[np.ndarray, " h"]) -> float:
    """Of some powers β the one under which held-out classes are likeliest; trees are too sure."""
    loss = []
    for power in _POWERS:
        tempered = power * score
        top = tempered.max(axis=1, keepdims=True)
        total = top[:, 0] + np.log(np.exp(tempered - top).sum(axis=1))
        loss.append((total - tempered[np.arange(len(truth)), truth]).mean())
    return float(_POWERS[int(np.argmin(loss))])
