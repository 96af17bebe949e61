"""CPU time of scoring four policies: rows × 23 columns in 9 panels, a forest of 100 trees.

Run: OMP_NUM_THREADS=1 python tests/benchmarks/scoring.py
Times are CPU seconds, one thread, medians of runs in which both sides take turns on the same rows.
The baseline is scikit-learn's forest on mean-filled rows, vectorised: one call a policy and step
for the rows that acquired something in it, or one call a policy for the sets at the end.
"""

import itertools
import statistics
import time

import numpy as np
from frugal.learn.tree_scoring import predict_proba_all_sets, predict_proba_sets, set_codes
from frugal.learn.trees import fit_forest
from sklearn.ensemble import RandomForestClassifier

N, D, ACTIONS, TRAINED = 100_000, 23, 8, 20_000
PANEL = np.array([0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8])  # 0: free
PROVIDES = np.array([j == PANEL for j in range(1, 9)])
FREE = PANEL == 0
ACQUIRE = (0.1, 0.5, 0.9, 0.4)  # each random policy's probability per panel
COMPARED_ROWS, TABLE_ROWS, REPEATS = 10_000, 1_000, 3


def cpu(work):
    """(CPU seconds, result) of one call."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def in_turn(*sides):
    """Median CPU seconds of each side; they take turns."""
    rounds = [[cpu(side)[0] for side in sides] for _ in range(REPEATS)]
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


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
    visited = [visited_sets(rng, p) for p in ACQUIRE]
    terminal = np.array([sets[ACTIONS] for sets in visited])
    rows = np.arange(N)

    def score(sets, upto=N):
        return predict_proba_sets(
            forest, values, PROVIDES, FREE, np.tile(rows[:upto], len(sets)), sets[:, :upto].ravel()
        )

    predict_proba_all_sets(forest, values[:2], PROVIDES, FREE)  # compile outside the clock
    score(terminal, upto=2)
    ours_s, ours = cpu(lambda: score(terminal))
    some = values[:TABLE_ROWS]
    table_s, table = cpu(lambda: predict_proba_all_sets(forest, some, PROVIDES, FREE))
    per_row = table[np.arange(TABLE_ROWS)[None], terminal[:, :TABLE_ROWS]]
    assert np.abs(per_row - ours.reshape(4, N, 2)[:, :TABLE_ROWS]).max() < 1e-12

    mean = np.array([values[:TRAINED][observed[:, f], f].mean() for f in range(D)])
    theirs = RandomForestClassifier(100, n_jobs=1, random_state=0).fit(
        np.where(observed, values[:TRAINED], mean), label[:TRAINED]
    )
    part = slice(COMPARED_ROWS)

    def sklearn_call(codes, on):
        bits = (codes[on, None] >> np.arange(ACTIONS)) & 1 == 1
        known = FREE | (bits.astype(np.uint8) @ PROVIDES > 0)
        return theirs.predict_proba(np.where(known, values[part][on], mean))

    def sklearn_steps():
        first = sklearn_call(visited[0][0, part], slice(None))  # nothing acquired: once for all
        for sets in visited:
            for before, now in itertools.pairwise(sets[:, part]):
                if (on := np.flatnonzero(now != before)).size:
                    sklearn_call(now, on)
        return first

    end_s, sklearn_end_s = in_turn(
        lambda: score(terminal, upto=COMPARED_ROWS),
        lambda: [sklearn_call(codes[part], slice(None)) for codes in terminal],
    )
    steps_s, sklearn_steps_s = in_turn(
        lambda: score(np.concatenate(visited), upto=COMPARED_ROWS), sklearn_steps
    )
    print(f"forest: {len(forest.feature) / 1e6:.2f} M nodes, fitted in {fit_s:.1f} s")
    print(f"4 policies × {COMPARED_ROWS:,} rows, CPU s: ours, vectorised scikit-learn, ratio")
    for name, own, other in [
        ("sets at the end, one call a policy", end_s, sklearn_end_s),
        ("every visited set, one call a policy and step", steps_s, sklearn_steps_s),
    ]:
        print(f"  {name:48s} {own:8.2f} {other:8.2f} {other / own:6.1f}")
    all_sets, one = table_s / TABLE_ROWS / 2**ACTIONS, sklearn_end_s / (4 * COMPARED_ROWS)
    print(
        f"all 256 sets of a row at once, CPU µs a (row, set): {all_sets * 1e6:.2f}; "
        f"scikit-learn in one call {one * 1e6:.2f}, ratio {one / all_sets:.1f}"
    )
    print(
        f"goal: sets at the end of 4 × {N:,} rows in ≤ 5 CPU s: "
        f"{'met' if ours_s <= 5 else 'MISSED'} ({ours_s:.2f})"
    )


if __name__ == "__main__":
    main()
