"""Treatment searches in plain NumPy: what the compiled planners are compared with in benchmarks.

Written as one would write them first: whole tables, one vectorised step per action and distance,
all thresholds of a planner at once. The recursions are those of `planning`; the index of a
history is that of `data.records`. Ties go to the lowest index.
"""

import numpy as np

SLACK = 1e-12


class Histories:
    """Digits of all base^k histories, and where each action's table holds them."""

    def __init__(self, k: int, base: int) -> None:
        self.k, self.base, self.place = k, base, base ** np.arange(k)
        self.index = np.arange(base**k)
        self.digit = self.index[:, None] // self.place % base
        self.size, self.top = (self.digit > 0).sum(axis=1), self.digit.max(axis=1)
        self.reduced = [self.index // (p * base) * p + self.index % p for p in self.place]


def smoothed(records, histories: Histories) -> np.ndarray:
    """p(Y(a) = y | x, h) under the release's prior. (x, a, r, y)"""
    k, base, places = histories.k, histories.base, histories.place
    counts = np.zeros(records.n_contexts * k * base**k * base)
    h = np.zeros(len(records), dtype=np.int64)
    searching = np.ones(len(records), dtype=bool)
    for t in range(k):
        on = np.flatnonzero(searching & (records.action[:, t] >= 0))
        a, y = records.action[on, t], records.outcome[on, t]
        cell = ((records.context[on] * k + a) * base**k + h[on]) * base + y
        counts += np.bincount(cell, minlength=len(counts))
        h[on] += (y + 1) * places[a] * (y < base - 1)
        searching[on] &= y < base - 1
    counts = counts.reshape(records.n_contexts, k, -1, base)
    size, d = np.indices((k, k))
    weight = np.exp(-((d - 1.0) ** 2)) / 2.0 ** (d - 1.0) * ((d >= 1) & (d <= size))
    sizes = (np.arange(base ** (k - 1))[:, None] // base ** np.arange(k - 1) % base > 0).sum(axis=1)
    return np.stack(
        [_posterior(counts[:, a, histories.digit[:, a] == 0], weight[sizes]) for a in range(k)],
        axis=1,
    )


def _posterior(count: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Posterior mean of one action from its counts (x, r, y) and the weights (r, d)."""
    (x, r, base), digits = count.shape, weight.shape[1] - 1
    total = count.sum(axis=2, keepdims=True)
    sums = np.zeros((digits + 1, x, r, base))
    np.divide(count, total, out=sums[0], where=total > 0)
    for j in range(digits):
        by_digit = sums.reshape(digits + 1, x, -1, base, base**j, base)
        by_digit[1:, :, :, 1:] += by_digit[:-1, :, :, :1]
    prior = np.einsum("dxry,rd->xry", sums, weight)
    mass = prior.sum(axis=2, keepdims=True)
    posterior = count + np.divide(4.0 * prior, mass, out=np.zeros_like(prior), where=mass > 0)
    total = posterior.sum(axis=2, keepdims=True)
    return np.divide(posterior, total, out=np.full_like(posterior, 1 / base), where=total > 0)


def tails(table: np.ndarray, histories: Histories, worth: np.ndarray) -> np.ndarray:
    """Σ_y worth p(Y(a) = y) over outcomes better than the best so far; −∞ if tried. (x, h, a)"""
    above = np.flip(np.flip(table * worth, 3).cumsum(axis=3), 3)  # (x, a, r, y)
    above = np.concatenate([above, np.zeros_like(above[..., :1])], axis=3)
    result = np.full((len(table), len(histories.index), histories.k), -np.inf)
    for a, reduced in enumerate(histories.reduced):
        open_ = np.flatnonzero(histories.digit[:, a] == 0)
        result[:, open_, a] = above[:, a, reduced[open_], histories.top[open_]]
    return result


def may_stop(table: np.ndarray, histories: Histories, deltas: np.ndarray) -> np.ndarray:
    """Where the upper bound lets a search stop, per threshold. (t, x, h)"""
    better = tails(table, histories, np.ones(histories.base))
    bound = np.where(np.isfinite(better), better, 0.0).sum(axis=2)
    allowed = bound <= deltas[:, None, None] + SLACK
    allowed[:, :, 0] = False
    allowed[:, :, histories.size == histories.k] = True
    return allowed


def optimal(table, histories, stop_reward, step_cost, best_reward):
    """Value and action of backward induction, all thresholds at once. (t, x, h) each"""
    value = stop_reward.copy()
    action = np.full(value.shape, histories.k, dtype=np.int8)
    for size in range(histories.k - 1, -1, -1):
        rows = np.flatnonzero(histories.size == size)
        q = np.full((*value.shape[:2], len(rows), histories.k), -np.inf)
        for a, reduced in enumerate(histories.reduced):
            at = np.flatnonzero(histories.digit[rows, a] == 0)
            h, p = rows[at], table[:, a, reduced[rows[at]]]
            gain = p[..., -1] * best_reward - step_cost[:, None, None]
            for y in range(histories.base - 1):
                gain = gain + p[..., y] * value[:, :, h + (y + 1) * histories.place[a]]
            q[..., at, a] = gain
        stop = value[:, :, rows]
        best = np.maximum(stop, q.max(axis=3))
        first = (q >= best[..., None] - SLACK).argmax(axis=3)
        goes_on = (stop < best - SLACK) | ((rows == 0) & (q.max(axis=3) >= best - SLACK))
        action[:, :, rows] = np.where(goes_on, first, histories.k)
        value[:, :, rows] = best
    return value, action


def constrained(table, histories, deltas):
    """CDP: value and action per δ. (t, x, h) each"""
    stop = np.where(may_stop(table, histories, deltas), 0.0, -np.inf)
    return optimal(table, histories, stop, np.ones(len(deltas)), 0.0)


def greedy(table, histories, deltas, outcome_value):
    """CG: action per δ. (t, x, h)"""
    gain = tails(table, histories, outcome_value)
    most = gain.max(axis=2, keepdims=True)
    promising = (gain >= most - SLACK).argmax(axis=2)
    return np.where(may_stop(table, histories, deltas), histories.k, promising)


def naive(table, histories, prices, outcome_value):
    """NDP: action per λ. (t, x, h)"""
    reward = np.concatenate([[-1.0], outcome_value[:-1]])[histories.top]
    shape = (len(prices), len(table), len(reward))
    stop = np.broadcast_to(reward, shape)
    return optimal(table, histories, stop, prices, outcome_value[-1])[1]


def play(action, histories, context, outcome):
    """Trials and best outcome of every unit under every threshold's policy. (t, n) each"""
    n, many = len(context), len(action)
    h = np.zeros((many, n), dtype=np.int64)
    trials, best = np.zeros_like(h), np.full_like(h, -1)
    for _ in range(histories.k):
        chosen = action[np.arange(many)[:, None], context, h]
        on = (chosen < histories.k) & (best < histories.base - 1)
        if not on.any():
            break
        a = np.where(on, chosen, 0)
        y = outcome[np.arange(n), a]
        best = np.where(on, np.maximum(best, y), best)
        trials += on
        h += np.where(on & (y < histories.base - 1), (y + 1) * histories.place[a], 0)
    return trials, best
