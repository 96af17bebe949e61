"""What those who kept the records would do next: laws of the next treatment and of stopping.

Two logistic models of the records' own choices, given covariates, confounders and all outcomes so
far. They serve the weights of off-policy estimates; they know no policy.

    p(a | x, l, h) ∝ exp(η_a · φ(x, l, h)) over untried a,     p(on | x, l, h) = σ(θ · φ(x, l, h))
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit, log_softmax

from frugal.search.records import TrialRecords

RIDGE = 1.0  # squared length of all coefficients but the constants, in units of log-likelihood


@dataclass(frozen=True, eq=False)
class Behaviour:
    """A fitted law of the records' choices. Shapes: f features, a actions, y outcomes.

    Attributes:
        choice: coefficients of the next action, constants last. (f + 1, a)
        going_on: coefficients of trying something after a trial, the constant last. (f + 1,)
        n_outcomes: |Y|.
    """

    choice: Float[np.ndarray, "g a"]
    going_on: Float[np.ndarray, " g"]
    n_outcomes: int

    def probability(
        self,
        known: Int[np.ndarray, "m a"],
        covariates: Float[np.ndarray, "m c"],
        action: Int[np.ndarray, " m"],
    ) -> Float[np.ndarray, " m"]:
        """p(on) p(a) of trying this action next after these outcomes. (m,)

        Args:
            known: outcome index of each action tried so far, −1 where untried. (m, a)
            covariates: indicators of covariates and confounders. (m, c)
            action: untried ones. (m,)
        """
        features = history_features(known, covariates, self.n_outcomes)
        logits = np.where(known < 0, features @ self.choice, -np.inf)
        chosen = np.exp(log_softmax(logits, axis=1))[np.arange(len(known)), action]
        begun = (known >= 0).any(axis=1)
        return chosen * np.where(begun, expit(features @ self.going_on), 1.0)


def history_features(
    known: Int[np.ndarray, "m a"], covariates: Float[np.ndarray, "m c"], n_outcomes: int
) -> Float[np.ndarray, "m g"]:
    """Covariates, indicators of each outcome of each action and of how many, and a constant."""
    m, actions = known.shape
    seen = (known[:, :, None] == np.arange(n_outcomes)).reshape(m, actions * n_outcomes)
    tried = (known >= 0).sum(axis=1)[:, None] == np.arange(1, actions)
    return np.concatenate([covariates, seen, tried, np.ones((m, 1))], axis=1).astype(float)


def fit_behaviour(records: TrialRecords, covariates: Float[np.ndarray, "n c"]) -> Behaviour:
    """Penalised maximum likelihood of both models; trials after the best outcome say nothing.

    Args:
        records: searches with their trials in order; each begins with a trial.
        covariates: indicators of covariates and confounders of each unit. (n, c)
    """
    known, unit, action, on = _decisions(records)
    features = history_features(known, covariates[unit], records.n_outcomes)
    tried = action >= 0
    begun = (known >= 0).any(axis=1)
    choice = _fit(_choice_loss, features[tried], known[tried] < 0, action[tried])
    going_on = _fit(_on_loss, features[begun], None, on[begun].astype(np.int64))
    return Behaviour(choice, going_on, records.n_outcomes)


def _decisions(records: TrialRecords):
    """Every point at which something could be tried: what was known, whose, what, whether."""
    n, k = len(records), records.n_actions
    known = np.full((n, k), -1, dtype=np.int64)
    alive, parts = np.arange(n), []
    for t in range(k):
        action = (
            records.action[alive, t] if t < records.action.shape[1] else np.full(len(alive), -1)
        )
        parts.append((known[alive], alive, action, action >= 0))
        alive, tried = alive[action >= 0], action[action >= 0]
        found = records.outcome[alive, t] if len(alive) else tried
        known[alive, tried] = found
        alive = alive[found < records.n_outcomes - 1]
        if not len(alive):
            break
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def _fit(
    loss, features: Float[np.ndarray, "m g"], free: Bool[np.ndarray, "m a"] | None, target
) -> np.ndarray:
    from scipy.optimize import minimize  # half a second that other stages need not wait for

    shape = (features.shape[1],) if free is None else (features.shape[1], free.shape[1])
    if not len(features):
        return np.zeros(shape)
    found = minimize(
        loss, np.zeros(int(np.prod(shape))), args=(features, free, target), jac=True,
        method="L-BFGS-B", options={"maxiter": 500},
    )  # fmt: skip
    return found.x.reshape(shape)


def _choice_loss(flat, features, free, action):
    weight = flat.reshape(features.shape[1], -1)
    logits = np.where(free, features @ weight, -np.inf)
    law = log_softmax(logits, axis=1)
    rows = np.arange(len(action))
    residual = np.exp(law)
    residual[rows, action] -= 1.0
    gradient = features.T @ residual
    gradient[:-1] += RIDGE * weight[:-1]
    penalty = 0.5 * RIDGE * (weight[:-1] ** 2).sum()
    return penalty - law[rows, action].sum(), gradient.ravel()


def _on_loss(weight, features, _, on):
    logits = features @ weight
    gradient = features.T @ (expit(logits) - on)
    gradient[:-1] += RIDGE * weight[:-1]
    penalty = 0.5 * RIDGE * (weight[:-1] ** 2).sum()
    return penalty + np.logaddexp(0, logits).sum() - logits @ on, gradient
