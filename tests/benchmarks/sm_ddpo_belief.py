"""SM-DDPO with a network's belief and with a boosted one, at the same price, on prepared tables.

Run with one thread (prepared tables as tests.benchmarks.agents says):
  OMP_NUM_THREADS=1 python -m tests.benchmarks.sm_ddpo_belief run TABLES SEEDS METHODS >> rows.jsonl
  python -m tests.benchmarks.sm_ddpo_belief show rows.jsonl
METHODS are of `diagnosis.methods`; one that ends in `+belief` has that verdict. Training and pairs
are those of config/paper_diagnosis_short.yaml; of a front the pair of the best F1 on validation
units within a fifth of the price is judged on test units.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from frugal.acquire.kinds import load_policy
from frugal.acquire.rollouts import roll_out
from frugal.core.context import Context
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.studies.diagnosis.frames import divided, full_cost, rows_of, task_of
from frugal.studies.diagnosis.stages.beliefs import tabulate_states, train_encoder
from frugal.studies.diagnosis.stages.fronts import train_front

from tests.benchmarks.agents import SHARE, scores
from tests.defaults import DEFAULT
from tests.unit.stored_bundles import as_read

BLOCK = DEFAULT
SHORT = yaml.safe_load(Path("config/paper_diagnosis_short.yaml").read_text(encoding="utf-8"))


def over(base: Any, changed: Any) -> Any:
    """A block of config over another, as Snakemake lays them."""
    if not isinstance(base, dict) or not isinstance(changed, dict):
        return changed
    return base | {key: over(base.get(key), value) for key, value in changed.items()}


DIAGNOSIS = over(BLOCK["diagnosis"], SHORT["diagnosis"])
PAIRS = [
    [ratio, penalty]
    for ratio in DIAGNOSIS["pairs"]["ratios"]
    for penalty in DIAGNOSIS["pairs"]["penalties"]
]


def main() -> None:
    """Run methods, or show what runs left."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "show":
        show(pd.read_json(sys.argv[2], lines=True))
        return
    tables, seeds, methods = sys.argv[2].split(","), sys.argv[3].split(","), sys.argv[4].split(",")
    for seed in seeds:
        for name in tables:
            for row in division(name, seed, methods):
                print(json.dumps({"table": name, "seed": int(seed)} | row), flush=True)


def division(name: str, seed: str, methods: list[str]) -> Any:
    """One row for each method."""
    folder = Path(f"results/data/dataset={name}")
    catalogue = json.loads((folder / "catalogue.json").read_text(encoding="utf-8"))
    given: dict[str, Any] = {
        "table": pd.read_parquet(folder / "table.parquet"),
        "catalogue": catalogue,
    }
    given["encoder"] = staged(train_encoder, name, seed, DIAGNOSIS["encoders"]["emflow"], given)[
        "encoder"
    ]
    memory = {"memory_gib": DIAGNOSIS["memory_gib"]}
    states = staged(tabulate_states, name, seed, memory, given)["states"]
    given["states"] = StoredArrays(states, "states.safetensors")
    for method in methods:
        yield judged(method, name, seed, given)


def staged(stage: Any, name: str, seed: str, settings: Any, given: dict[str, Any]) -> Any:
    """A stage as the command line calls it."""
    wild = {"dataset": name, "seed": seed, "group": "0"}
    streams = Streams(BLOCK["seed"], stage.__name__, wild)
    return stage(context=Context(settings, streams), **given)


def judged(method: str, name: str, seed: str, given: dict[str, Any]) -> dict[str, Any]:
    """The policy that validation units choose within the budget, on test units."""
    plain, _, verdict = method.partition("+")
    own = dict(DIAGNOSIS["methods"][plain]) | ({"verdict": verdict} if verdict else {})
    settings = {
        "pairs": [[k, *pair] for k, pair in enumerate(PAIRS)],
        "criterion": "f1",
        "training": DIAGNOSIS["training"] | own,
    }
    start = time.process_time()
    front = staged(train_front, name, seed, settings, given)
    cpu = time.process_time() - start
    policy, _ = load_policy(as_read(front["policies"]))
    streams = Streams(BLOCK["seed"], "judged", {"dataset": name, "seed": seed})
    data, part = divided(given["table"], given["catalogue"], streams)
    world, full = task_of(data, terminals=2), full_cost(data, task_of(data, terminals=2))
    told = {}
    for split in ("validation", "test"):
        rows = rows_of(part, split)
        here = world.take(rows)
        run = roll_out(policy, here, uniforms=np.zeros((len(rows), world.panels + 1)))
        assert run.verdict is not None, "bug: SM-DDPO has a verdict"
        seen = [policy.read(here.visible(np.arange(len(rows)), one), one) for one in run.acquired]  # pyright: ignore
        belief = policy.believe(np.stack(seen), run.acquired)[..., 1]  # pyright: ignore
        told[split] = (rows, run, belief, run.cost.mean(axis=1) / full[rows].mean())
    rows, run, _, share = told["validation"]
    said, ill = run.verdict[..., 1] > 0.5, data.label[rows] == 1
    f1 = 2 * (said & ill).sum(axis=1) / (said.sum(axis=1) + ill.sum())
    k = int(np.where(share <= SHARE, f1, -1.0).argmax())
    rows, run, belief, share = told["test"]
    found = scores(data.label[rows], run.verdict[k, :, 1] > 0.5, belief[k], run.cost[k])
    return {"method": method, "cpu_s": cpu, "validation": f1[k], "share": share[k]} | found


def show(rows: pd.DataFrame) -> None:
    """Each row, and F1 less that of the first method of its division."""
    rows = rows.drop_duplicates(["table", "seed", "method"], keep="last")
    first = rows.groupby(["table", "seed"])["f1"].transform("first")
    print(rows.assign(difference=rows["f1"] - first).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
