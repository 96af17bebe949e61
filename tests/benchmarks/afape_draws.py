"""Is AFAIS(s) or IPW with true propensities biased? 600 draws of the masks, in blocks of 20.

Usage: python -m tests.benchmarks.afape_draws RESULTS  (of `--configfile config/paper_figure5.yaml`)

Masks are those that the study draws for seeds 0 to 599; the cost of every unit on the full table
is read from seed 0. Prints the mean error in standard errors of that mean over all draws, then for
each block of 20 draws. AFAIS(s) of a policy that never acquires needs no rollout of its own; that
of the others does, so they are judged in the study's forty draws (afape_bias.py).
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from frugal.core.streams import Streams
from frugal.data.tables import table_from_frames
from frugal.missing.graphs import MissingnessGraph
from frugal.missing.law import draw_mask

from tests.defaults import DEFAULT
from tests.unit.missingness_tables import uniforms

SCENARIO = {"dataset": "synthetic_mnar_large", "mechanism": "mnar"}
PLACE = "/".join(f"{key}={value}" for key, value in SCENARIO.items())
AGENTS = ("never", "random_10", "random_50", "random_90", "always")
DRAWS, BLOCK = 600, 20


def read(path):
    """A table of the study."""
    return pd.read_parquet(path, partitioning=None)


def errors(results):
    """Estimate minus truth: one row per draw, one column per estimator and policy."""
    table = f"data/{PLACE.split('/')[0]}"
    catalogue = json.loads((results / table / "catalogue.json").read_text())
    data, part = table_from_frames(read(results / table / "table.parquet"), catalogue)
    graph = json.loads((results / f"missingness/{PLACE}/graph.json").read_text())
    graph, test = MissingnessGraph.from_dict(graph), np.flatnonzero(part == "test")
    costs = {}
    for agent in AGENTS:
        worlds = read(results / f"rollouts/{PLACE}/agent={agent}/worlds.parquet")
        costs[agent] = worlds.query("world == 'full' and seed == 0")["cost"].to_numpy()
    root = DEFAULT["seed"]
    streams, rows = Streams(root, "draw_missingness", SCENARIO), []
    first = next(iter(graph.indicators))
    for seed in range(DRAWS):
        mask = draw_mask(data, graph, uniforms(data, streams.generator("mask", seed)))
        assert mask.propensity is not None
        observed, propensity = mask.observed[test], mask.propensity[test]
        some, every = observed[:, 0] / propensity[:, 0], observed.all(1) / propensity.prod(1)
        row = {f"AFAIS({first}) never": _mean(some, costs["never"]) - costs["never"].mean()}
        for agent, cost in costs.items():
            row[f"IPW {agent}"] = _mean(every, cost) - cost.mean()
        rows.append(row)
    return pd.DataFrame(rows)


def _mean(weight, cost):
    return weight @ cost / weight.sum()


def main():
    """Print the scores."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    found = errors(Path(sys.argv[1]))
    scores = found.mean() / (found.std(ddof=1) / len(found) ** 0.5)
    print(f"mean error in standard errors, {len(found)} draws\n{scores.round(2).to_string()}")
    blocks = found.groupby(found.index // BLOCK)
    scores = blocks.mean() / (blocks.std(ddof=1) / BLOCK**0.5)
    print(f"\nthe same for each block of {BLOCK} draws\n{scores.round(1).to_string()}")
    beyond = scores.abs() > 3
    print(f"\nblocks with a score beyond 3: {beyond.any(axis=1).sum()} of {len(scores)}; ", end="")
    print(f"scores beyond 3: {beyond.to_numpy().mean():.1%} (Student's law, 19 degrees: 0.7%)")


if __name__ == "__main__":
    main()
