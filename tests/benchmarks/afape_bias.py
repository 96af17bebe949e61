"""Bias and variance of the estimators over the draws of a finished afape study, from its tables.

Usage: python tests/benchmarks/afape_bias.py [PATH]   (default: results/summary/afape.parquet)

For every scenario: the mean error over seeds in standard errors of that mean, the variance of IPW
over that of AFAIS(s), and how often each estimator picks the policy that is truly cheapest.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

SHOWN = [
    "blocking",
    "complete_case",
    "imputation_chained_trees",
    "imputation_missforest",
    "stabilised_ipw_true",
    "stabilised_afais_s_true",
    "stabilised_ipw",
    "stabilised_afais_s",
    "stabilised_afais_s_policy",
    "doubly_robust",
    "doubly_robust_afais",
]


def main() -> None:
    """Print the tables."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "results/summary/afape.parquet")
    rows = pd.read_parquet(path, partitioning=None)
    for key in ("dataset", "mechanism"):
        if key not in rows:
            rows[key] = next((p for p in path.parts if p.startswith(f"{key}=")), "")
    rows = rows[rows["estimator"].isin(SHOWN) & (rows["status"] == "ok")]
    for (dataset, mechanism), one in rows.groupby(["dataset", "mechanism"], sort=False):
        print(f"\n== {dataset} {mechanism}, {one['seed'].nunique()} seeds, n = {one['n'].iloc[0]}")
        error = one.assign(error=one["estimate"] - one["truth"]).groupby(
            ["estimator", "agent"], sort=False
        )["error"]
        mean, spread = error.mean().unstack(), error.std(ddof=1).unstack()
        shown = [name for name in SHOWN if name in mean.index]
        scores = mean / (spread / np.sqrt(one["seed"].nunique()))
        print("\nmean error\n", mean.loc[shown].round(4).to_string())
        print("\nstandard deviation of one draw\n", spread.loc[shown].round(4).to_string())
        print(
            "\nmean error in standard errors of the mean\n", scores.loc[shown].round(1).to_string()
        )
        print(
            "\n|mean error| / standard deviation of one draw\n",
            (mean.abs() / spread).loc[shown].round(2).to_string(),
        )
        for kind in ("", "_true"):
            ratio = (
                spread.loc[f"stabilised_ipw{kind}"] / spread.loc[f"stabilised_afais_s{kind}"]
            ) ** 2
            print(
                f"\nvariance of IPW{kind} / variance of AFAIS(s){kind}\n",
                ratio.round(2).to_string(),
            )
        truth = one.pivot_table(index="seed", columns="agent", values="truth").idxmin(axis=1)
        print("\nshare of seeds in which the estimator picks the truly cheapest policy")
        for name, group in one.groupby("estimator", sort=False):
            picks = group.pivot_table(index="seed", columns="agent", values="estimate").idxmin(
                axis=1
            )
            print(f"  {name:28s} {(picks == truth).mean():.2f}")


if __name__ == "__main__":
    main()
