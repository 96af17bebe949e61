"""Exact best value of small acquisition problems, by value iteration over all information states.

The world is a table: units come uniformly at random from its rows, so that its counts are the joint
law. Written from the definition with loops and dictionaries; shares nothing with the package. A
state is what is known: one entry per column, None where unknown, and the set of acquired panels.
"""

from itertools import product

import numpy as np

PANEL_COST = (1.0, 0.6, 0.8, 0.5)
PANEL_COLUMNS = ((1,), (2,), (3,), (3, 4))  # of the panels; column 0 is free, column 3 is in two
COLUMNS = 5


def small_world() -> tuple[np.ndarray, np.ndarray]:
    """Values (n, 5) of 0 and 1, and label (n,): a third positive; panels inform unequally."""
    values, label = [], []
    for x in product((0, 1), repeat=COLUMNS):
        weight = np.prod([(0.6, 0.4)[x[0]], (0.55, 0.45)[x[1]], (0.7, 0.3)[x[2]]])
        weight *= (0.8, 0.2)[x[3]] if x[1] == x[0] else (0.5, 0.5)[x[3]]
        weight *= 0.5
        log_odds = -7 + 2.5 * x[0] + 5.0 * x[1] + 3.0 * x[2] + 4.0 * x[3] * x[1] + 2.0 * x[4]
        positive = 1 / (1 + np.exp(-log_odds))
        for y, share in ((0, 1 - positive), (1, positive)):
            count = round(2000 * weight * share)
            values += [x] * count
            label += [y] * count
    return np.array(values, dtype=float), np.array(label)


def best_value(
    values: np.ndarray,
    label: np.ndarray,
    panel_columns: tuple[tuple[int, ...], ...],
    free: tuple[int, ...],
    panel_reward: tuple[float, ...],
    end_reward: np.ndarray,
) -> float:
    """Largest expected sum of rewards from the free block on.

    panel_reward: of each panel, not above 0; end_reward: [true class, diagnosed class].
    """
    memo: dict[tuple, float] = {}
    columns = values.shape[1]

    def value(known: tuple, taken: frozenset[int], rows: tuple[int, ...]) -> float:
        key = (known, taken)
        if key in memo:
            return memo[key]
        options = [
            sum(end_reward[label[i]][j] for i in rows) / len(rows)
            for j in range(end_reward.shape[1])
        ]
        for panel, revealed in enumerate(panel_columns):
            if panel not in taken:
                after = split(known, revealed, rows)
                future = sum(
                    len(group) / len(rows) * value(state, taken | {panel}, group)
                    for state, group in after.items()
                )
                options.append(panel_reward[panel] + future)
        memo[key] = max(options)
        return memo[key]

    def split(known: tuple, revealed: tuple[int, ...], rows: tuple[int, ...]) -> dict:
        groups: dict[tuple, list[int]] = {}
        for i in rows:
            state = tuple(
                values[i][c] if c in revealed or known[c] is not None else None
                for c in range(columns)
            )
            groups.setdefault(state, []).append(i)
        return {state: tuple(group) for state, group in groups.items()}

    start = split((None,) * columns, free, tuple(range(len(values))))
    return sum(
        len(group) / len(values) * value(state, frozenset(), group)
        for state, group in start.items()
    )


def theorem_value(lam: float, rho: float) -> float:
    """Best TN + λ·TP + ρ·cost of the small world."""
    values, label = small_world()
    return best_value(
        values,
        label,
        PANEL_COLUMNS,
        (0,),
        tuple(rho * cost for cost in PANEL_COST),
        np.array([[1.0, 0.0], [0.0, lam]]),
    )
