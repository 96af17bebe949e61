"""Agents made of trees on prepared tables, within a fifth of the price, against all panels.

Run with one thread:
  snakemake --cores 2 --configfile config/paper_diagnosis_front.yaml --config data_mirror=FOLDER \
    -- results/data/dataset=nhanes_mortality/table.parquet
  OMP_NUM_THREADS=1 python -m tests.benchmarks.agents run TABLES SEEDS AGENTS >> rows.jsonl
  python -m tests.benchmarks.agents show rows.jsonl
TABLES and AGENTS are names with commas between, SEEDS is the number of divisions of the rows. Each
row of JSON is one agent on one division: CPU seconds of its whole front, and scores on test units
of the one policy that out-of-fold and validation predictions choose for the budget. The reference
`all panels` is the cascade's learner with its folds, seeds and pooled choice of the threshold.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frugal.acquire.kinds import build_policy
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.payoff import Objective
from frugal.acquire.train.tree_sets import SetBeliefs, TreeRows, boosting_of
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import World
from frugal.judge.fronts import ROUNDING
from frugal.learn.tree_scoring import predict_proba
from frugal.learn.weighted_logistic import fit_logistic
from frugal.studies.diagnosis.frames import divided, full_cost, rows_of, task_of
from frugal.studies.diagnosis.scores import diagnosis_scores
from frugal.studies.diagnosis.stages.beliefs import TRAINED, fitted
from scipy import stats

from tests.defaults import DEFAULT

SHARE, CRITERION, REFERENCE = 0.2, "f1", "all panels"
BLOCK = DEFAULT
TREES = BLOCK["diagnosis"]["agents"]
SHARES = sorted({*BLOCK["diagnosis"]["tree_budget_shares"], *BLOCK["diagnosis"]["budget_shares"]})


def main() -> None:
    """Run agents, or show what runs left."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "show":
        show(pd.read_json(sys.argv[2], lines=True))
        return
    tables, seeds, agents = sys.argv[2].split(","), int(sys.argv[3]), sys.argv[4].split(",")
    for seed in range(seeds):
        for name in tables:
            for row in division(name, seed, agents):
                print(json.dumps({"table": name, "seed": seed} | row), flush=True)


def division(name: str, seed: int, agents: list[str]) -> list[dict[str, Any]]:
    """One row for the reference and one for each agent."""
    folder = Path(f"results/data/dataset={name}")
    catalogue = json.loads((folder / "catalogue.json").read_text(encoding="utf-8"))
    streams = Streams(BLOCK["seed"], "train_trees", {"dataset": name, "seed": str(seed)})
    data, part = divided(pd.read_parquet(folder / "table.parquet"), catalogue, streams)
    world = task_of(data, terminals=len(data.classes))
    found = []
    for agent in agents:
        run = reference if agent == "reference" else judged
        found.append(run(agent, data, part, world, streams.generator("train")))
    return found


def judged(
    agent: str, data: Table, part: np.ndarray, world: World, rng: np.random.Generator
) -> dict[str, Any]:
    """The policy that is chosen within the budget, on test units."""
    own = TREES[agent]
    start = time.process_time()
    settings = {"agent": own, "criterion": CRITERION, "budget_shares": SHARES}
    learned, rows = fitted(data, part, world, settings, rng)
    cpu = time.process_time() - start
    full = full_cost(data, world)
    curve = learned.curve
    fits = curve["acquisition_cost"] <= SHARE * full[rows].mean() * (1 + ROUNDING)
    chosen = int(curve["mean_return"].where(fits).to_numpy(na_value=-1.0).argmax())
    test = rows_of(part, "test")
    policy = build_policy(own, table=data, stored=learned.arrays)
    here = world.take(test)
    run = roll_out(policy, here, uniforms=np.zeros((len(test), world.panels + 1)))
    assert run.verdict is not None, "bug: agents made of trees have a verdict"
    ill = believed(policy, here, run.acquired)[chosen]
    verdict = run.verdict[chosen, :, 1] > 0.5
    told = scores(data.label[test], verdict, ill, run.cost[chosen])
    return {
        "agent": agent,
        "cpu_s": cpu,
        "pooled": float(curve["mean_return"][chosen]),
        "share": float(run.cost[chosen].mean() / full[test].mean()),
    } | told


def believed(policy: Any, world: World, acquired: np.ndarray) -> np.ndarray:
    """Calibrated beliefs of every member at the ends of its episodes. (K, n)"""
    units = np.arange(len(world))
    seen = np.stack([policy.read(world.visible(units, one), one) for one in acquired])
    return policy.believe(seen, acquired)[..., 1]


def reference(
    agent: str, data: Table, part: np.ndarray, world: World, rng: np.random.Generator
) -> dict[str, Any]:
    """Trees on all panels: the cascade's learner, folds and seeds; a threshold chosen alike."""
    del agent
    rows, test = np.flatnonzero(np.isin(part, (*TRAINED, "validation"))), rows_of(part, "test")
    own = boosting_of(TREES["cascade"])
    start = time.process_time()
    trees = TreeRows(world.take(rows), np.isin(part[rows], TRAINED), own, rng)
    whole = trees.reduced(range(world.panels)) | trees.base
    beliefs = SetBeliefs(trees, own.repeats)
    sought = Objective.of(CRITERION, data.label[rows], data.misclassification_cost)
    pooled, threshold = sought.judged(beliefs.belief(whole), trees.price(whole))
    cpu = time.process_time() - start
    here = world.take(test)
    seen = here.visible(np.arange(len(test)), here.available & trees.bits(whole))
    ill = predict_proba(beliefs.of(whole).ensemble, seen, np.ones_like(seen, dtype=bool))[:, 1]
    told = scores(data.label[test], ill >= threshold, ill, full_cost(data, world)[test])
    return {"agent": REFERENCE, "cpu_s": cpu, "pooled": pooled, "share": 1.0} | told


def scores(
    label: np.ndarray, verdict: np.ndarray, ill: np.ndarray, cost: np.ndarray
) -> dict[str, float]:
    """F1, AUROC, loss of the belief and of the base rate, slope of calibration."""
    ill = np.clip(ill, 1e-9, 1 - 1e-9)
    found = diagnosis_scores(label, verdict[None].astype(np.int64), ill[None], cost[None]).iloc[0]
    odds = np.log(ill) - np.log1p(-ill)
    line = fit_logistic(odds[:, None], label, np.ones(len(label)), ridge=1e-9)
    at = line.probability(np.array([[0.0], [1.0]]))
    rate = label.mean()
    return {
        "f1": float(found["f1"]),
        "auroc": float(found["auroc"]),
        "loss": float(-np.where(label == 1, np.log(ill), np.log1p(-ill)).mean()),
        "base_loss": float(-(rate * np.log(rate) + (1 - rate) * np.log1p(-rate))),
        "slope": float(np.diff(np.log(at) - np.log1p(-at))[0]),
    }


def answers(rows: pd.DataFrame) -> pd.DataFrame:
    """What `choose` answers on each division: the agent whose pooled score is the highest."""
    agents = rows[(rows["agent"] != REFERENCE) & (rows["pooled"] > 0)]
    best = agents.loc[agents.groupby(["table", "seed"])["pooled"].idxmax()]
    spent = agents.groupby(["table", "seed"])["cpu_s"].sum().rename("cpu_s").reset_index()
    return best.drop(columns="cpu_s").merge(spent, on=["table", "seed"]).assign(agent="choose")


def show(rows: pd.DataFrame) -> None:
    """Means over divisions, and F1 less that of all panels, paired, with a 95 % interval."""
    rows = rows.drop_duplicates(["table", "seed", "agent"], keep="last")
    rows = pd.concat([rows, answers(rows)], ignore_index=True)
    plain = rows[rows["agent"] == REFERENCE].set_index(["table", "seed"])["f1"].rename("reference")
    rows = rows.join(plain, on=["table", "seed"])
    rows["difference"] = rows["f1"] - rows["reference"]
    for name, table in rows.groupby("table", sort=False):
        print(f"\n{name}")
        print(
            f"{'':14s} divisions  CPU s  share of price     F1 ± s.d.     less all panels (95 %)"
            "     AUROC   loss (base rate)  slope"
        )
        for agent, one in table.groupby("agent", sort=False):
            n, mean = len(one), one.mean(numeric_only=True)
            error = one["difference"].std(ddof=1) / n**0.5 if n > 1 else np.nan
            half = stats.t.ppf(0.975, max(n - 1, 1)) * error
            print(
                f"{agent:14s} {n:6d} {mean['cpu_s']:9.1f} {100 * mean['share']:12.1f} %"
                f"   {mean['f1']:9.3f} ± {one['f1'].std(ddof=1):.3f}"
                f"   {mean['difference']:+.3f} ({mean['difference'] - half:+.3f} to "
                f"{mean['difference'] + half:+.3f})   {mean['auroc']:.3f}"
                f"    {mean['loss']:.3f} ({mean['base_loss']:.3f})    {mean['slope']:.2f}"
            )


if __name__ == "__main__":
    main()
