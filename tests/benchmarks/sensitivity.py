"""CPU time of ranges under hidden causes: 12 policies, 100,000 rows, 30 Γ; and of a tipping Γ.

Run with one thread: `OMP_NUM_THREADS=1 python -m tests.benchmarks.sensitivity`. Goals: the plain
ranges of all policies in at most 5 CPU s, the sharp ones, fits and intervals included, in at most
300.
"""

import time
from collections.abc import Callable

import numpy as np
from frugal.judge.cost_cells import KnownRows, fit_quantiles
from frugal.judge.sensitivity import Range, Rival, Weighted, plain_range, sharp_range, tipping_gamma

ROWS, POLICIES, COLUMNS = 100_000, 12, 6
GAMMAS = np.linspace(1, 10, 30)
SETTINGS = {"folds": 5, "leaves": 16, "leaf_rows": 50, "rows": 1_000_000}
ALL = np.ones(ROWS, dtype=bool)


def policies(rng: np.random.Generator) -> tuple[np.ndarray, list[Weighted]]:
    """What every row tells, and each policy's costs and weights on its complete rows."""
    known, found = rng.normal(size=(ROWS, COLUMNS)), []
    for k in range(POLICIES):
        chance = 1 / (1 + np.exp(-0.8 * known[:, k % COLUMNS]))
        weight = np.where(rng.random(ROWS) < chance, 1 / chance, 0.0)
        cost = 0.1 * k + known[:, 0] + rng.exponential(size=ROWS)
        found.append(Weighted.of(cost, weight, chance))
    return known, found


def sharp(known: np.ndarray, one: Weighted) -> Range:
    """The sharp range of one policy, quantiles fitted."""
    rng = np.random.default_rng(0)
    return sharp_range(one, GAMMAS, fit_quantiles(one, KnownRows.of(known), GAMMAS, SETTINGS, rng))


def measure(work: Callable[[], object]) -> float:
    """CPU seconds."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Print CPU seconds."""
    known, all_policies = policies(np.random.default_rng(1))
    plain_range(all_policies[0], GAMMAS)  # warm caches
    plain_s = measure(lambda: [plain_range(one, GAMMAS) for one in all_policies])
    sharp_s = measure(lambda: [sharp(known, one) for one in all_policies])
    named, *others = all_policies
    tip_s = measure(lambda: tipping_gamma(named, (Rival(one, ALL) for one in others), 10.0))
    print(f"{POLICIES} policies × {ROWS:,} rows × {len(GAMMAS)} Γ, CPU s, one thread")
    print(f"plain ranges   {plain_s:8.2f}   goal 5")
    print(f"sharp ranges   {sharp_s:8.2f}   goal 300")
    print(f"tipping Γ      {tip_s:8.2f}   {POLICIES - 1} differences")


if __name__ == "__main__":
    main()
