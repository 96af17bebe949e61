"""How often a right graph is refuted, and one that lacks a cause of odds ratio 3.

  python -m tests.trust.graph [DRAWS]

Two panels; each is recorded in about 20, 50 or 80 % of the rows. Prints a row for each cell: rows,
what the graph lacks, shares recorded, draws, and the share of draws in which it is refuted. About
three CPU minutes for 1,000 draws.
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


def main() -> None:
    """All cells: rows of 500 and 1,000 of a right graph, 1,000 of a wrong one."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    print("| rows | the graph lacks | recorded | draws | refuted |\n|---|---|---|---|---|")
    for n, (lacks, wrong) in product((500, 1_000), LACKS.items()):
        if n < 1_000 and wrong:
            continue
        for first, second in (
            ("20 %", "80 %"),
            ("50 %", "50 %"),
            ("80 %", "20 %"),
            ("80 %", "80 %"),
        ):
            shift = (SHIFTS[first], PLAIN[second])
            found = [
                checked(np.random.default_rng(seed), n, shift=shift, **wrong).refuted
                for seed in range(draws)
            ]
            share = np.mean(found)
            print(f"| {n:,} | {lacks} | {first}, {second} | {draws} | {share:.3f} |", flush=True)


if __name__ == "__main__":
    main()
