"""What policies cost that learned from rows with missing panels, by how they learned from them.

  OMP_NUM_THREADS=1 python -m tests.trust.learning_under_gaps POPULATIONS [FOLDER] [PART…]

POPULATIONS is a folder of complete tables, as `tests.trust.answer` takes it. A part is
TABLE:ROWS:LAW:SHARE:SEED:AGENT; `all` stands for every one of a field's values, so that
`ferritin:1000:all:50:0:cascade` is four parts. The law says why panels are missing: `mcar`: by
chance; `mar`: by columns that are always known; `mnar`: by a value of the next panel; `self`: by
their own value; `none`: they are not, at a share of 0. SHARE is the mean percentage of rows that
lack a panel; every other panel is missing 20 points more often, the rest 20 less. Each agent learns
from the same rows: blocked (a row acts with what it has), weighted (a row that has a set counts for
rows that lack it) and, some agents, completed (missing values are filled in by chained trees); and
once from the rows without missing values. All are judged on complete rows outside the sample. Seeds
0, 1, 2 and 9 decided how weights are made; the page has others. One JSON a part in FOLDER; what is
there is not made again. Prints the lines that `docs/results/learning_under_gaps.md` has, and the
cost of `stacked` less that of the best fixed set where nothing is missing (`bars.md`).
"""

import json
import sys
import zlib
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frugal.acquire.kinds import Ground, build_policy, train_bundle
from frugal.answer.candidates import follow
from frugal.config.declared import block_of
from frugal.config.learners import ChainedTreesSettings
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.learn.imputer_kinds import fit_imputer
from frugal.learn.trees import classifier_of

from tests.trust.answer import AGENTS as TRIED
from tests.trust.answer import CLASSIFIER, complete_table, scaled

TABLES = ("ferritin", "nhanes_mortality", "physionet", "heloc", "costa_rica", "adult")
LAWS, SHARES, ROWS, SEEDS = ("mcar", "mar", "mnar", "self"), (30, 50, 70), (1_000,), (3, 4, 5, 6)
WHOLE = "none:0"  # law and share of rows that lack nothing
HELD, SLOPE, APART, MOST = 6_000, 1.5, 0.2, 0.95
FILLED_BY = ChainedTreesSettings().model_dump() | {"rounds": 2}
LEARNED = ("complete", "blocked", "weighted", "completed")
COMPLETED = ("cascade", "fixed")  # agents that also learn from completed rows
AGENTS: dict[str, dict[str, Any]] = {n: TRIED[n] for n in (*COMPLETED, "permutation")} | {
    kind: block_of(kind).model_validate({"kind": kind}).model_dump()
    for kind in ("stacked", "lattice", "gdfs", "dime", "aaco")
}


def recorded_panels(
    table: Table, causes: list[str], law: str, share: float, rng: np.random.Generator
) -> np.ndarray:
    """Which panels are recorded, by a logistic law. (n, a)"""
    a = len(table.actions)
    observed = np.ones((len(table), a), dtype=bool)
    for j, panel in enumerate(table.actions):
        missing = min(share + (APART if j % 2 else -APART), MOST)
        sign = 1.0 if j % 4 < 2 else -1.0
        cause = {
            "mcar": None,
            "mar": causes[j % len(causes)],
            "mnar": table.actions[(j + 1) % a].columns[0],
            "self": panel.columns[0],
        }[law]
        score = sign * SLOPE * scaled(table, cause) if cause else np.zeros(len(table))
        low, high = -15.0, 15.0
        for _ in range(60):
            middle = (low + high) / 2
            above = (1 / (1 + np.exp(-(middle + score)))).mean() > 1 - missing
            low, high = (low, middle) if above else (middle, high)
        observed[:, j] = rng.random(len(table)) < 1 / (1 + np.exp(-(middle + score)))
    return observed


def completed(sample: Table, rng: np.random.Generator) -> Table:
    """Every missing value filled in."""
    imputer = fit_imputer(
        "chained_trees",
        sample.values,
        onehot=sample.onehot,
        validation=None,
        settings=FILLED_BY,
        rng=rng,
    )
    return replace(sample, values=imputer.impute(sample.values))


def cost_of(policy: Any, held: Table, classifier: Any, seed: int) -> np.ndarray:
    """Cost of each complete row. (h,)"""
    uniforms = np.random.default_rng(seed).random((len(held), len(held.actions) + 1))
    ended = follow(
        policy, held, np.ones((len(held), len(held.actions)), bool), uniforms, classifier
    )
    errors = held.misclassification_cost[held.label, ended.verdict]
    return ended.acquired @ held.action_cost + errors


def run(
    populations: Path, name: str, n: int, law: str, share: int, seed: int, agent: str
) -> dict[str, Any]:
    """Cost of an agent by how it learned, and the standard errors of the differences."""
    meta = json.loads((populations / f"{name}.json").read_text(encoding="utf-8"))
    frame = pd.read_parquet(populations / f"{name}.parquet")
    rng = np.random.default_rng([zlib.crc32(name.encode()), n, seed])
    order = rng.permutation(len(frame))[: n + HELD]
    table = complete_table(frame, meta)
    full, held = table.take(order[:n]), table.take(order[n:])
    every = np.ones((n, len(full.actions)), dtype=bool)
    learned_from = {"complete": (full, every)}
    if law != "none":
        observed = recorded_panels(full, meta["causes"], law, share / 100, rng)
        shown = np.where(full.columns_observed(observed), full.values, np.nan)
        sample = replace(full, values=shown)
        learned_from = {"blocked": (sample, observed), "weighted": (sample, observed)}
        if agent in COMPLETED:
            filled = completed(sample, np.random.default_rng(seed))
            learned_from |= {"completed": (filled, every)}
    costs: dict[str, np.ndarray] = {}
    for learned, (rows, has) in learned_from.items():
        streams = Streams(seed, "train_agent", {"agent": agent})
        classifier = classifier_of(rows, CLASSIFIER, streams)
        ground = Ground(rows, has, None, classifier, streams)
        block = AGENTS[agent] | {"missing": "weighted" if learned == "weighted" else "blocked"}
        bundle, _ = train_bundle(block, ground)
        policy = build_policy(block, table=held, stored=bundle.stored(agent))
        costs[learned] = cost_of(policy, held, classifier, seed)
    part = {"table": name, "rows": n, "law": law, "share": share, "seed": seed, "agent": agent}
    first = next(iter(costs.values()))
    return part | {
        "cost": {learned: float(cost.mean()) for learned, cost in costs.items()},
        "error": {learned: standard_error(cost - first) for learned, cost in costs.items()},
    }


def standard_error(difference: np.ndarray) -> float:
    """Of its mean."""
    return float(difference.std(ddof=1) / np.sqrt(len(difference)))


def frame_of(parts: list[dict[str, Any]]) -> pd.DataFrame:
    """A row for each part; losses are in percent of the cost without missing values."""

    def rows_of(part: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(part[key] for key in ("table", "rows", "seed", "agent"))

    whole = {rows_of(part): part["cost"]["complete"] for part in parts if part["law"] == "none"}
    rows = []
    for part in (made for made in parts if rows_of(made) in whole and made["law"] != "none"):
        cost, complete = part["cost"], whole[rows_of(part)]
        rows.append(
            {key: part[key] for key in ("table", "rows", "law", "share", "seed", "agent")}
            | {k: 100 * (cost.get(k, np.nan) / complete - 1) for k in LEARNED[1:]}
            | {"change": 100 * (cost["weighted"] - cost["blocked"]) / complete}
            | {"error": 100 * part["error"]["weighted"] / complete}
        )
    return pd.DataFrame(rows)


def summary(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Mean losses, each table counting the same, and on how many tables weights lose.

    `spread` is the standard error of the mean change over tables.
    """
    of_table = frame.groupby([*by, "table"]).agg(
        dict.fromkeys(LEARNED[1:], "mean")
        | {"change": ["mean", lambda c: c.std(ddof=1) / np.sqrt(len(c)) if len(c) > 1 else 0.0]}
        | {"error": lambda e: np.sqrt((e**2).sum()) / len(e)}
    )
    of_table.columns = [*LEARNED[1:], "change", "between", "error"]
    of_table["worse"] = of_table["change"] > np.maximum(of_table["between"], of_table["error"])
    of_table["better"] = -of_table["change"] > np.maximum(of_table["between"], of_table["error"])
    means = dict.fromkeys(LEARNED[1:], "mean") | {"worse": "sum", "better": "sum"}
    result = of_table.groupby(by).agg(means)
    tables = of_table.groupby(by)["change"]
    return result.assign(
        change=tables.mean(),
        spread=tables.sem(),
        tables=tables.size(),
        parts=frame.groupby(by).size(),
    ).reset_index()


def against_fixed(parts: list[dict[str, Any]]) -> pd.DataFrame:
    """Cost of `stacked` less that of the best fixed set, in percent, where nothing is missing."""
    whole = [part for part in parts if part["law"] == "none"]
    cost = {tuple(p[k] for k in ("rows", "table", "seed", "agent")): p["cost"] for p in whole}
    rows = [
        {"rows": n, "table": t, "change": 100 * (mine["complete"] / other["complete"] - 1)}
        for (n, t, seed, agent), mine in cost.items()
        if agent == "stacked" and (other := cost.get((n, t, seed, "fixed")))
    ]
    frame = pd.DataFrame(rows, columns=["rows", "table", "change"])
    frame["dearer"] = frame["change"] > 0
    of_table = frame.groupby(["rows", "table"]).agg({"change": "mean", "dearer": "sum"})
    result = of_table.groupby("rows")["change"].agg(["mean", "sem", "min", "max"])
    most = frame.groupby("rows")["change"].agg(draws="size", most="max")
    return result.assign(dearer=of_table.groupby("rows")["dearer"].sum()).join(most).reset_index()


def requested(parts: list[str]) -> list[str]:
    """Each part by itself."""
    fields = (TABLES, ROWS, LAWS, SHARES, SEEDS, AGENTS)
    every = []
    for part in parts:
        given = zip(part.split(":"), fields, strict=True)
        every += [
            ":".join(map(str, one))
            for one in product(*(f if w == "all" else [w] for w, f in given))
        ]
    return every


def with_whole(parts: list[str]) -> list[str]:
    """Parts, and before them those of the same rows without missing values; none twice."""
    whole = []
    for part in parts:
        name, n, _, _, seed, agent = part.split(":")
        whole.append(f"{name}:{n}:{WHOLE}:{seed}:{agent}")
    return list(dict.fromkeys([*whole, *parts]))


def make(populations: Path, folder: Path, part: str) -> None:
    """Make a part that is not there."""
    path = folder / f"{part.replace(':', '-')}.json"
    if not path.exists():
        name, n, law, share, seed, agent = part.split(":")
        made = run(populations, name, int(n), law, int(share), int(seed), agent)
        path.write_text(json.dumps(made), encoding="utf-8")
        print(path.name, flush=True)


def main() -> None:
    """Make what is not there, and print."""
    populations = Path(sys.argv[1])
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else "build/trust/learning_under_gaps")
    folder.mkdir(parents=True, exist_ok=True)
    for part in with_whole(requested(sys.argv[3:] or ["all:all:all:all:all:all"])):
        make(populations, folder, part)
    parts = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    print(against_fixed(parts).to_string(index=False, float_format="%.2f"))
    frame = frame_of(parts)
    for by in (["agent", "law", "share"], ["agent", "law"], ["agent"]) if len(frame) else ():
        print(summary(frame, by).to_string(index=False, float_format="%.2f"))


if __name__ == "__main__":
    main()
