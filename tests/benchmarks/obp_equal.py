"""Stabilised IPW of a finished run beside obp's self-normalised estimator, on the same files.

  python -m tests.benchmarks.obp_equal RUN_FOLDER

Needs `obp` beside the project's packages (`pip install --no-deps obp pyieoe`; it is no dependency).
obp is told: the action is 1 where the record is complete, the logging policy the fitted probability
of that, the reward the cost of the policy on the record, the policy to judge always action 1. Then
its estimate is Σ R C / p over Σ R / p. Prints the largest difference over all scenarios, seeds and
policies (goal: 1e-12 of the cost).
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd


def main() -> None:
    """Compare every row of the summary that was computed."""
    from obp.ope import SelfNormalizedInverseProbabilityWeighting  # pyright: ignore[reportMissingImports]  # no dependency

    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1]) / "results"
    summary = pd.read_parquet(folder / "summary" / "afape.parquet")
    summary = summary[(summary["estimator"] == "stabilised_ipw") & (summary["status"] == "ok")]
    worst, rows = 0.0, 0
    for row in summary.to_dict("records"):
        place = f"dataset={row['dataset']}/mechanism={row['mechanism']}"
        fitted = _of(folder / "nuisances" / place / "propensities.parquet", row["seed"])
        played = _of(folder / f"rollouts/{place}/agent={row['agent']}/blocked.parquet", row["seed"])
        masks = _of(folder / "missingness" / place / "masks.parquet", row["seed"])
        told = fitted[["row_id", "propensity"]].merge(played[["row_id", "cost"]], on="row_id")
        shown = masks.filter(like="observed:").all(axis=1)
        told = told.merge(masks[["row_id"]].assign(action=shown.astype(int)), on="row_id")
        n = len(told)
        chance = np.where(told["action"] == 1, told["propensity"], 1 - told["propensity"])
        always = np.zeros((n, 2, 1))
        always[:, 1] = 1
        found = SelfNormalizedInverseProbabilityWeighting().estimate_policy_value(
            reward=told["cost"].to_numpy(),
            action=told["action"].to_numpy(),
            pscore=np.maximum(chance, 1e-300),
            action_dist=always,
            position=np.zeros(n, dtype=int),
        )
        worst = max(worst, abs(found - row["estimate"]) / abs(row["estimate"]))
        rows += 1
    print(f"{rows} estimates; largest relative difference from obp {worst:.1e}")


def _of(path: Path, seed: int) -> pd.DataFrame:
    """Rows of one seed."""
    table = pd.read_parquet(path, partitioning=None)
    return table[table["seed"] == seed]


if __name__ == "__main__":
    main()
