"""Tables of p(Y(a) | x, h): smoothed over sub-histories, uninformed, or the true one.

The tabular outcome models of `treatment` (suffixes _H, _U, _T). By construction the order of a
history never matters. They must not know policies, planners or stopping.
"""

from typing import no_type_check

import numpy as np
from jaxtyping import Float, Float64
from numba import njit

from frugal.core.errors import ConfigError
from frugal.studies.treatment.data.records import OutcomeTable, history_count, require_search_memory
from frugal.studies.treatment.models.outcome_counts import OutcomeCounts

_TILE = 4096  # histories of a tile; about 1.5 MB at 14 actions


@njit(cache=True, error_model="numpy")
@no_type_check
def _sum_sub_histories(sums, digits, base):
    """S_d(h) for all h and d in place of p̂ at d = 0. (r, digits + 1, y) flattened behind r"""
    histories, width = sums.shape
    low = 0
    while low < digits:
        stride = base**low
        group = 1  # at least one digit, then as many as fit the tile
        while low + group < digits and base ** (group + 1) <= _TILE:
            group += 1
        span = base**group
        for block in range(0, histories, stride * span):
            for offset in range(stride):
                start = block + offset
                for j in range(group):
                    step = base**j
                    top = min(width, (low + j + 2) * base)
                    for high in range(0, span, step * base):
                        for i in range(high, high + step):
                            source = sums[start + i * stride]
                            for y in range(1, base):
                                target = sums[start + (i + y * step) * stride]
                                for t in range(base, top):
                                    target[t] += source[t - base]
        low += group


@njit(cache=True, error_model="numpy")
@no_type_check
def smooth_cells(history, count, digits, weight, mass, uniform, sums, result):
    """Posterior mean p(Y(a) = y | h) for all h of one (context, action).

    Args:
        history: observed cells. (m,)
        count: their counts. (m, y)
        digits: number of other actions.
        weight: w(|h|, d) of a sub-history at distance d ≥ 1. (digits + 1, digits + 1)
        mass: total pseudo-count of the prior; below 0 it stays as it is.
        uniform: probability of each outcome where neither counts nor prior exist.
        sums: work space, zeros. (r, (digits + 1) · y)
        result: filled. (r, y)
    """
    histories, base = result.shape
    for m in range(len(history)):
        total = count[m].sum()
        for y in range(base):
            result[history[m], y] = count[m, y]
            sums[history[m], y] = count[m, y] / total
    _sum_sub_histories(sums, digits, base)
    for h in range(histories):
        size = 0
        rest = h
        for _ in range(digits):
            size += rest % base > 0
            rest //= base
        prior = np.zeros(base)
        for d in range(1, size + 1):
            for y in range(base):
                prior[y] += weight[size, d] * sums[h, d * base + y]
        prior_mass = prior.sum()
        scale = mass / prior_mass if mass >= 0 and prior_mass > 0 else 1.0
        total = 0.0
        for y in range(base):
            result[h, y] += scale * prior[y]
            total += result[h, y]
        for y in range(base):
            result[h, y] = result[h, y] / total if total > 0 else uniform


RELEASE_MASS = 4.0  # total pseudo-count of the release's prior


def smoothed_table(
    counts: OutcomeCounts, *, outcome_value: Float64[np.ndarray, " y"], mode: str, memory_gib: float
) -> OutcomeTable:
    """Posterior mean under the historical prior, "_H".                [treatment, eqs. S9, S10]

        β_y(a, h) = Σ_{h′ ⊂ h} w(h, h′) p̂(Y(a) = y | h′)
        w(h, h′) = exp(−(d − 1)²) / (|h| 2^(d − 1)),   d = |h| − |h′|
        p(Y(a) = y | h) = (n_y + β_y) / Σ (n + β);  uniform where both are 0

    Sub-histories in which a was never tried have no p̂ and are left out of the sum.

    Args:
        counts: n_y(a, h).
        outcome_value: value of each outcome, ascending. (y,)
        mode: `paper` keeps β unchanged; `release` scales it to a total of 4 wherever it is not
            0, as the authors' program does (the factor 1/|h| then cancels).
        memory_gib: limit of all tables of the search.

    Returns:
        A table for every context, action and history.

    Raises:
        SearchSizeError: the tables would take more than `memory_gib`.
        ConfigError: unknown mode, or outcome values that do not ascend.
    """
    if mode not in ("release", "paper"):
        raise ConfigError(f"the smoothing mode is {mode!r}; allowed are release and paper")
    k, base = counts.n_actions, counts.n_outcomes
    require_search_memory(
        n_contexts=counts.n_contexts, n_actions=k, n_outcomes=base, memory_gib=memory_gib
    )
    histories = history_count(k - 1, base)
    weight, mass = _sub_history_weights(k - 1), RELEASE_MASS if mode == "release" else -1.0
    result = np.zeros((counts.n_contexts, k, histories, base))
    sums = np.zeros((histories, k * base))
    cell = counts.context * k + counts.action
    first = np.searchsorted(cell, np.arange(counts.n_contexts * k + 1))
    for i in range(counts.n_contexts * k):
        rows = slice(first[i], first[i + 1])
        sums[:] = 0.0
        smooth_cells(
            counts.history[rows],
            counts.count[rows],
            k - 1,
            weight,
            mass,
            1 / base,
            sums,
            result[i // k, i % k],
        )
    return OutcomeTable(result, outcome_value)


def _sub_history_weights(digits: int) -> Float64[np.ndarray, "s d"]:
    """w(|h|, d) by size of h and distance d; 0 where d is not in 1 … |h|  [treatment, eq. S10]."""
    size, d = np.indices((digits + 1, digits + 1))
    weight = np.exp(-((d - 1.0) ** 2)) / (np.maximum(size, 1) * 2.0 ** (d - 1))
    return np.where((d >= 1) & (d <= size), weight, 0.0)


def uninformed_table(
    counts: OutcomeCounts,
    *,
    outcome_value: Float64[np.ndarray, " y"],
    pseudo_count: float,
    memory_gib: float,
) -> OutcomeTable:
    """Posterior mean under a uniform prior, "_U".                        [treatment, sec. B.1]

        p(Y(a) = y | h) = (n_y(a, h) + b) / Σ (n(a, h) + b);  uniform where all terms are 0

    Args:
        counts: n_y(a, h).
        outcome_value: value of each outcome, ascending. (y,)
        pseudo_count: b ≥ 0 of each outcome; 0 is the release: raw frequencies where any exist.
        memory_gib: limit of all tables of the search.

    Returns:
        A table for every context, action and history.

    Raises:
        SearchSizeError: the tables would take more than `memory_gib`.
        ConfigError: a negative pseudo-count, or outcome values that do not ascend.
    """
    if not pseudo_count >= 0:
        raise ConfigError(f"the pseudo-count of an outcome is {pseudo_count}; it must be ≥ 0")
    k, base = counts.n_actions, counts.n_outcomes
    require_search_memory(
        n_contexts=counts.n_contexts, n_actions=k, n_outcomes=base, memory_gib=memory_gib
    )
    result = np.full((counts.n_contexts, k, history_count(k - 1, base), base), 1 / base)
    posterior = counts.count + pseudo_count
    posterior /= posterior.sum(axis=1, keepdims=True)
    result[counts.context, counts.action, counts.history] = posterior
    return OutcomeTable(result, outcome_value)


def true_table(
    p_z_given_x: Float[np.ndarray, "x z"],
    p_outcome: Float[np.ndarray, "x z a y"],
    *,
    outcome_value: Float64[np.ndarray, " y"],
    memory_gib: float,
) -> OutcomeTable:
    """p(Y(a) = y | x, h) of a world whose moderator is summed out, "_T".  [treatment, sec. A.1]

        p(Y(a) = y | x, h) = Σ_z p(z | x) Π_{(b, v) ∈ h} p(Y(b) = v | x, z) p(Y(a) = y | x, z)
                             / Σ_z p(z | x) Π_{(b, v) ∈ h} p(Y(b) = v | x, z)

    A joint table of outcomes is the case of one z for each of its rows. Histories of probability
    zero are uniform; nothing that is reached depends on them.

    Args:
        p_z_given_x: distribution of the moderator. (x, z)
        p_outcome: distribution of each action's outcome given covariates and moderator. (x, z, a,
            y)
        outcome_value: value of each outcome, ascending. (y,)
        memory_gib: limit of all tables of the search.

    Returns:
        A table for every context, action and history.

    Raises:
        SearchSizeError: the tables would take more than `memory_gib`.
        ConfigError: outcome values that do not ascend.
    """
    contexts, moderators, k, base = p_outcome.shape
    require_search_memory(n_contexts=contexts, n_actions=k, n_outcomes=base, memory_gib=memory_gib)
    result = np.empty((contexts, k, history_count(k - 1, base), base))
    for x in range(contexts):
        factor = p_outcome[x].transpose(1, 2, 0)  # (a, y, z)
        for a in range(k):
            weight = p_z_given_x[x][None]
            for b in (b for b in range(k) if b != a):
                digit = np.concatenate([np.ones((1, moderators)), factor[b, :-1]])
                weight = (digit[:, None] * weight[None]).reshape(-1, moderators)
            joint, total = weight @ factor[a].T, weight.sum(axis=1, keepdims=True)
            result[x, a] = np.divide(
                joint, total, out=np.full_like(joint, 1 / base), where=total > 0
            )
    return OutcomeTable(result, outcome_value)
