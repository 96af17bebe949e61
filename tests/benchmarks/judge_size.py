"""CPU seconds and memory of judging 12 agents on 100,000 rows, without imputed worlds.

  OMP_NUM_THREADS=1 python -m tests.benchmarks.judge_size [ROWS] [AGENTS]

Eight panels that cost, six of them missing in a fifth of the rows; rules, fixed sets and random
agents; one seed. The stages that judge are those that the workflow runs: roll-outs, nuisances, and
all estimators with intervals, comparisons and ranges under hidden causes. Goal: 120 CPU seconds.
"""

import sys

from tests.benchmarks.growth import BASE, measured

GOAL = 120.0
JUDGING = ("roll_out", "fit_nuisances", "estimate_costs")


def main() -> None:
    """Measure once, and print."""
    rows, agents = (int(word) for word in [*sys.argv[1:], "100000", "12"][:2])
    lines = [x for x in measured(BASE | {"rows": rows, "agents": agents}) if x["stage"] in JUDGING]
    for line in lines:
        print(f"{line['stage']:16s} {line['cpu_s']:7.1f} CPU s {line['peak_mb']:8.0f} MB")
    total = sum(line["cpu_s"] for line in lines)
    print(f"{agents} agents × {rows:,} rows: {total:.1f} CPU s (goal {GOAL:g})")


if __name__ == "__main__":
    main()
