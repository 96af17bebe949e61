"""How often a right graph is refuted, and one that lacks a cause of odds ratio 3.

  python -m tests.trust.graph [DRAWS]

Worlds are those of `tests/oracles/graph_worlds.py`, probabilities fitted as `decide` does. Prints a
row for each cell: world, rows, what the graph lacks, draws, and the share of draws in which it is
refuted; last, the share among all draws of right graphs. About twenty CPU minutes for 1,000 draws.
"""

import sys
from itertools import product

import numpy as np

from tests.oracles.graph_worlds import ODDS, checked

DRAWS = 1_000
SHIFTS = {"20 %": -1.7, "50 %": 0.0, "80 %": 1.7}  # of a panel that depends on a column, too
PLAIN = {"20 %": -1.386, "50 %": 0.0, "80 %": 1.386}
RECORDED = (("20 %", "80 %"), ("50 %", "50 %"), ("80 %", "20 %"), ("80 %", "80 %"))
LACKS = {"nothing": {}, "R → R": {"edge": ODDS}, "a column": {"column": ODDS}}
KINDS = ("R → R", "overlap", "tube", "doubled")


def main() -> None:
    """All cells: 500 and 1,000 rows of a right graph, 1,000 of a wrong one."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    worlds = [
        (f"plain, recorded {a} and {b}", "plain", {"shift": (SHIFTS[a], PLAIN[b])})
        for a, b in RECORDED
    ]
    worlds += [(kind, kind, {}) for kind in KINDS]
    print("| world | rows | the graph lacks | draws | refuted |\n|---|---|---|---|---|")
    right = []
    for n, (lacks, wrong) in product((500, 1_000), LACKS.items()):
        for name, kind, how in worlds:
            if wrong and (n < 1_000 or (kind == "tube" and "edge" in wrong)):
                continue
            rngs = (np.random.default_rng([n, seed]) for seed in range(draws))
            found = [checked(rng, n, kind, **how, **wrong)["refuted"] for rng in rngs]
            right += [] if wrong else found
            print(f"| {name} | {n:,} | {lacks} | {draws} | {np.mean(found):.3f} |", flush=True)
    print(f"\nright graphs: {np.mean(right):.3f} of {len(right):,} draws refuted")


if __name__ == "__main__":
    main()
