"""Whether what is handed out within a budget keeps to it: its true price, and its true F1.

  OMP_NUM_THREADS=1 python -m tests.trust.budgets POPULATIONS RUN…

POPULATIONS and RUN as of `tests.trust.answer`. Budgets are 5, 10, 20, 40 and 100 % of the price of
all panels. Prints a row for each run and budget: true price as a share of the budget, printed F1
with its interval, and the true F1 of what is handed out.
"""

import sys
from pathlib import Path

import numpy as np

from tests.trust.answer import AGENTS, PRACTICE, answered, drawn

SHARES = (0.05, 0.1, 0.2, 0.4, 1.0)


def main() -> None:
    """Every run and budget."""
    for one in sys.argv[2:]:
        name, n, law, seed = one.split(":")
        world = drawn(Path(sys.argv[1]), name, int(n), law, int(seed))
        price = world.sample.action_cost
        budgets = [share * float(price.sum()) for share in SHARES]
        choice, truth = answered(world, int(seed), AGENTS, "f1", budgets)
        for answer in choice["within_budgets"]:
            *_, shares, f1 = truth[answer["policy"]]
            paid = float(np.array(shares) @ price) / answer["budget"]
            low, high = 1 - answer["ci_high"], 1 - answer["ci_low"]
            print(
                f"{one} {answer['policy']:14} paid {paid:.3f} of {answer['budget']:.3g}; "
                f"F1 {1 - answer['cost']:.3f} ({low:.3f} to {high:.3f}), true {f1:.3f}, "
                f"practice {truth[PRACTICE][-1]:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
