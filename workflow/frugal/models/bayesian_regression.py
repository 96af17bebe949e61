"""Posterior predictive draws of Bayesian linear and multinomial logistic regressions.

The conditional models of chained equations (van Buuren 2007). Predictors come with the intercept as
their first column, numeric ones standardised, class indicators as 0 or 1. Coefficients have weak,
proper normal priors, so that collinear predictors and unseen classes do no harm. Knows nothing of
missing values.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_solve, cholesky, solve_triangular

from frugal.contracts.scaling import fit_scaling
from frugal.models.weighted_logistic import logistic_mode

# Prior precisions: a coefficient moves a standardised target by about one standard deviation, or
# log odds by about 2.5; the intercept is all but flat.
_LINEAR = 1.0
_LOGISTIC = 2.5**-2
_INTERCEPT = 1e-6

_NOISE_STEPS = 5  # coefficients and noise are nearly independent a posteriori: few steps mix
_LEAST_NOISE = 1e-8  # variance, target's variance = 1; keeps exact, collinear fits solvable
_NEWTON_DONE = 1e-6  # squared decrement: the mode is then within 0.001 posterior deviations


def draw_linear(
    predictors: Float[np.ndarray, "m p"],
    target: Float[np.ndarray, " m"],
    wanted: Float[np.ndarray, "q p"],
    *,
    rng: np.random.Generator,
) -> Float[np.ndarray, " q"]:
    """One posterior predictive draw per wanted row, sharing one draw of the parameters.

        y = xβ + σε,   β_j ~ N(0, s_y²) per standardised predictor,   p(σ²) ∝ 1/σ²

    The posterior of (β, σ²) is drawn by a short Gibbs sampler on the normal equations, started at
    the mode.

    Args:
        predictors: intercept first. (m, p)
        target: in its own unit. (m,)
        wanted: predictors of the rows to draw. (q, p)
        rng: of parameters and predictions.

    Returns:
        In the target's unit; the constant itself if the target is constant. (q,)
    """
    scaling = fit_scaling(target, constant=0.0)
    if scaling.scale == 0:
        return np.full(len(wanted), scaling.centre)
    m = len(target)
    y = scaling.standardise(target)
    gram, moment, square = predictors.T @ predictors, predictors.T @ y, float(y @ y)
    prior = np.diag(_precision(len(gram), _LINEAR))
    noise, coefficients = 1.0, np.zeros(len(gram))
    for step in range(_NOISE_STEPS + 1):
        factor = cholesky(gram / noise + prior, lower=True)
        coefficients = cho_solve((factor, True), moment / noise)
        if step > 0:
            coefficients += _normal_with_precision(factor, rng)
        residual = square - 2 * coefficients @ moment + coefficients @ gram @ coefficients
        freedom = rng.chisquare(m) if step > 0 else m
        noise = max(residual / freedom, _LEAST_NOISE)
    mean = wanted @ coefficients
    return scaling.restore(mean + np.sqrt(noise) * rng.standard_normal(len(wanted)))


def draw_classes(
    predictors: Float[np.ndarray, "m p"],
    target: Int[np.ndarray, " m"],
    wanted: Float[np.ndarray, "q p"],
    *,
    rng: np.random.Generator,
    start: Float[np.ndarray, "s p"] | None,
) -> tuple[Int[np.ndarray, " q"], Float[np.ndarray, "s p"]]:
    """One posterior predictive class per wanted row, sharing one draw of the parameters.

        p(y = c | x) ∝ exp(xβ_c),   β_b = 0 for the most frequent class b,   β_c ~ N(0, 2.5²)

    Each β_c is drawn from the binary regression of c against b on the rows of these two classes
    (Begg & Gray 1984), whose posterior is approximated by the normal law at its mode. Consistent,
    and nearly as precise as the joint fit, at a cost that does not grow with the square of the
    number of classes; the posterior correlation between the β_c is left out. Two classes: plain
    logistic regression.

    Args:
        predictors: intercept first. (m, p)
        target: classes; those that do not occur are never drawn. (m,)
        wanted: predictors of the rows to draw. (q, p)
        rng: of parameters and predictions.
        start: modes of an earlier call with the same target; only saves time. (s, p)

    Returns:
        Drawn classes, and the modes. (q,), (s, p) with s = occurring classes − 1
    """
    classes, place, count = np.unique(target, return_inverse=True, return_counts=True)
    base = int(count.argmax())
    rows = np.split(np.argsort(place, kind="stable"), count.cumsum()[:-1])
    others = [c for c in range(len(classes)) if c != base]
    modes = np.zeros((len(others), predictors.shape[1])) if start is None else start.copy()
    # The largest log odds + Gumbel noise: a draw from the softmax that cannot overflow.
    score = rng.gumbel(size=(len(wanted), len(classes)))
    precision = _precision(predictors.shape[1], _LOGISTIC)
    for s, c in enumerate(others):
        pair = predictors[np.concatenate([rows[base], rows[c]])]
        chosen = np.repeat([0.0, 1.0], [count[base], count[c]])
        modes[s], factor = logistic_mode(
            pair, chosen, np.ones(len(pair)),
            precision=precision, start=modes[s], decrement=_NEWTON_DONE,
        )  # fmt: skip
        score[:, c] += wanted @ (modes[s] + _normal_with_precision(factor, rng))
    return classes[score.argmax(axis=1)], modes


def _precision(width: int, each: float) -> np.ndarray:
    return np.concatenate([[_INTERCEPT], np.full(width - 1, each)])


def _normal_with_precision(factor: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A draw from N(0, (L Lᵀ)⁻¹): the solution of Lᵀx = z."""
    return solve_triangular(factor, rng.standard_normal(len(factor)), lower=True, trans=1)
