"""Sixty panels of which every one can be missing: which policies can be judged, and how well.

  python -m tests.trust.wide [ROWS] [PANELS] [DRAWS]

A fifth of the rows lacks each panel, so that almost none is complete. For every policy it prints
the estimate that a verdict reads, its interval, the effective number of rows and the truth; for
those that cannot be judged, why. With more draws than one: how often the interval holds the truth.
"""

import sys

import numpy as np
import pandas as pd

from tests.wide_tables import chain, few_panels, gaps, many_panels, wide_table

SHARE = 0.2
READ = "stabilised_afais_s_policy"


def draw(rows: int, panels: int, seed: int = 0) -> pd.DataFrame:
    """One line for each agent: estimate, interval, rows' worth, truth, status and reason."""
    table = wide_table(rows, panels, seed=seed)
    agents = few_panels(panels) | many_panels()
    made = chain(table, gaps(panels, SHARE), agents)["estimates"]
    lines = []
    for agent in agents:
        own = made[made["agent"] == agent].set_index("estimator")
        truth, read = own.loc["ground_truth"], own.loc[READ]
        lines.append(
            {
                "agent": agent,
                "status": read["status"],
                "estimate": read["estimate"],
                "low": read["ci_low"],
                "high": read["ci_high"],
                "rows": read["ess"],
                "truth": truth["estimate"],
                "why": read["reason"],
            }
        )
    return pd.DataFrame(lines)


def main() -> None:
    """Print the table, or how often intervals hold the truth."""
    rows, panels, draws = (
        int(a) for a in [*sys.argv[1:], *["100000", "60", "1"][len(sys.argv) - 1 :]]
    )
    found = pd.concat([draw(rows, panels, seed).assign(draw=seed) for seed in range(draws)])
    if draws == 1:
        print(found.round(3).to_string(index=False))
        return
    held = (found["low"] <= found["truth"]) & (found["truth"] <= found["high"])
    counted = found.assign(held=np.where(found["status"] == "ok", held, np.nan))
    print(counted.groupby("agent", sort=False)[["held", "rows"]].agg(["mean", "count"]).to_string())


if __name__ == "__main__":
    main()
