"""CPU time of scoring four policies: 100,000 rows × 23 columns in 9 panels, a forest of 100 trees.

Run: OMP_NUM_THREADS=1 python tests/benchmarks/scoring.py
Times are CPU seconds, one thread, side by side in one run; "scaled" ones are measured on a part.
"""

import time

import numpy as np
from frugal.models.tree_scoring import (
    predict_proba_all_sets,
    predict_proba_sets,
    set_codes,
)
from frugal.models.trees import fit_forest
from sklearn.ensemble import RandomForestClassifier

N, D, ACTIONS, TRAINED = 100_000, 23, 8, 20_000
PANEL = np.array([0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8])  # 0: free
PROVIDES = np.array([j == PANEL for j in range(1, 9)])
FREE = PANEL == 0
ACQUIRE = (0.1, 0.5, 0.9, 0.4)  # each random policy's probability per panel
SKLEARN_ROWS, SKLEARN_CALLS, TABLE_ROWS, VISITED_ROWS = 10_000, 30, 1_000, 25_000


def cpu(work):
    """(CPU seconds, result) of one call."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def world(rng):
    """Correlated columns, a binary label, and what the trees are trained on."""
    factor = rng.normal(size=(N, 6)) @ rng.normal(size=(6, D))
    values = np.tanh(factor) + 0.4 * rng.normal(size=(N, D))
    score = values @ rng.normal(size=D) + values[:, 0] * values[:, 5]
    return values, (score + rng.logistic(size=N) > 0).astype(np.int64)


def visited_sets(rng, probability):
    """Set code after 0, 1, … acquisitions of each row, in a random order of panels. (9, N)"""
    acquired = rng.random((N, ACTIONS)) < probability
    rank = rng.random((N, ACTIONS)).argsort(axis=1).argsort(axis=1)
    return np.array([set_codes(acquired & (rank < step)) for step in range(ACTIONS + 1)])


def main():
    rng = np.random.default_rng(0)
    values, label = world(rng)
    observed = FREE | (rng.random((TRAINED, 9)) < 0.5)[:, PANEL]
    fit_s, forest = cpu(
        lambda: fit_forest(
            values[:TRAINED], observed, label[:TRAINED], classes=2, trees=100, min_leaf=1, rng=rng
        )
    )
    visited = np.concatenate([visited_sets(rng, p) for p in ACQUIRE])
    terminal = visited[ACTIONS :: ACTIONS + 1]
    rows = np.arange(N)

    def score(sets, upto=N):
        return predict_proba_sets(
            forest,
            values,
            PROVIDES,
            FREE,
            np.tile(rows[:upto], len(sets)),
            sets[:, :upto].ravel(),
        )

    predict_proba_all_sets(forest, values[:2], PROVIDES, FREE)  # compile outside the clock
    score(terminal, upto=2)
    ours_s, ours = cpu(lambda: score(terminal))
    visited_s = cpu(lambda: score(visited, upto=VISITED_ROWS))[0] * N / VISITED_ROWS
    some = values[:TABLE_ROWS]
    table_s, table = cpu(lambda: predict_proba_all_sets(forest, some, PROVIDES, FREE))
    per_row = table[np.arange(TABLE_ROWS)[None], terminal[:, :TABLE_ROWS]]
    assert np.abs(per_row - ours.reshape(4, N, 2)[:, :TABLE_ROWS]).max() < 1e-12

    mean = np.array([values[:TRAINED][observed[:, f], f].mean() for f in range(D)])
    theirs = RandomForestClassifier(100, n_jobs=1, random_state=0).fit(
        np.where(observed, values[:TRAINED], mean), label[:TRAINED]
    )
    bits = (terminal[1, :SKLEARN_ROWS, None] >> np.arange(ACTIONS)) & 1 == 1
    known = FREE | (bits.astype(np.uint8) @ PROVIDES > 0)
    filled = np.where(known, values[:SKLEARN_ROWS], mean)
    sklearn_s = cpu(lambda: theirs.predict_proba(filled))[0] * 4 * N / SKLEARN_ROWS
    single = cpu(lambda: [theirs.predict_proba(filled[[i]]) for i in range(SKLEARN_CALLS)])[0]
    single_s = single * 4 * N / SKLEARN_CALLS

    pairs = len(np.unique(np.tile(rows, 4).astype(np.uint64) << np.uint64(8) | terminal.ravel()))
    print(f"forest: {len(forest.feature) / 1e6:.2f} M nodes, fitted in {fit_s:.1f} s")
    print(f"terminal sets of 4 policies × {N:,} rows ({pairs:,} distinct pairs)   CPU s      ×")
    for name, seconds in [
        ("ours, each distinct (row, set) once", ours_s),
        (f"ours, every visited set (scaled from {VISITED_ROWS:,} rows)", visited_s),
        (f"scikit-learn, one call (scaled from {SKLEARN_ROWS:,} rows)", sklearn_s),
        (f"scikit-learn, a call per row (scaled from {SKLEARN_CALLS} rows)", single_s),
    ]:
        print(f"  {name:62s} {seconds:10.2f} {seconds / ours_s:7.1f}")
    all_sets, one = table_s / TABLE_ROWS / 2**ACTIONS, sklearn_s / (4 * N)
    print(f"all 256 sets of a row at once, CPU µs a (row, set): {all_sets * 1e6:.2f}")
    print(f"  scikit-learn {one * 1e6:.2f}, ratio {one / all_sets:.1f}")
    print(f"goal: terminal scoring ≤ 5 CPU s: {'met' if ours_s <= 5 else 'MISSED'} ({ours_s:.2f})")


if __name__ == "__main__":
    main()
