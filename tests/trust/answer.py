"""What `decide` answers on tables of known truth: states, bounds, savings and regrets.

  OMP_NUM_THREADS=1 python -m tests.trust.answer POPULATIONS [FOLDER] [RUN…]

POPULATIONS is a folder of complete tables: NAME.parquet (numeric columns, the label `_y` in 0/1)
with NAME.json (unit, free columns, panels with columns and price, causes of gaps, costs of a miss
and of a false alarm). A run is NAME:ROWS:LAW:SEED: it draws rows, draws their gaps by the law
(mcar, mar, or mnar by another panel's value), and lets the stages of `decide` answer; a fifth part,
NAME:ROWS:LAW:SEED:AGAIN, is another seed of folds and training on the same records. The truth is
the cost of each policy, as it is handed out, on up to 6,000 complete rows outside the sample. One
JSON a run in FOLDER; what is there is not made again. Without runs: every table with enough rows at
300, 1,000 and 3,000 rows. Prints a row for each size: the lines that `docs/results/answer.md` has.

Three made-up populations need no folder: NAME is `level`, `number` or `pair`, the region in which
one panel is recorded in 0, 1 or 3 % (the law: `hole0`, `hole1`, `hole3`). Their policies learn from
smaller trees (`SMALL`), since 400 draws are wanted; the truth is that of policies within support.
`python -m tests.trust.answer - FOLDER holes:1000:0:134` is 134 draws of each, from seed 0 on.
"""

import json
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frugal.acquire.kinds import build_policy
from frugal.answer.candidates import PRACTICE, as_practised, follow, one_of, versions_of
from frugal.answer.requirements import variant_of
from frugal.answer.stages.agents import join_candidates, learn_candidates
from frugal.answer.stages.answers import judge_candidates
from frugal.answer.stages.records import draw_missingness
from frugal.config.root import effective
from frugal.core.context import Context
from frugal.core.regions import Hole, holes_of
from frugal.core.rows import FrameRows, Partitions
from frugal.core.streams import Streams
from frugal.core.table import Panel, Table
from frugal.data.description import SplitSpec
from frugal.data.splits import split_rows
from frugal.data.tables import table_to_frames
from frugal.learn.trees import classifier_of
from frugal.results.replacing import collected
from frugal.run.config_files import laid_over

from tests.defaults import shipped

HELD, SIZES, LEAST_HELD = 6_000, (300, 1_000, 3_000), 500
K = 5
MARGINS = (0.05, 0.10)
TWO_SIDED = 1.96  # standard errors of a normal 95 % interval
DECIDE = effective(laid_over(shipped("config.yaml"), shipped("config/decide.yaml")))["afape"]
ANSWER, CLASSIFIER = DECIDE["answer"], DECIDE["classifier"]
AGENTS = {name: DECIDE["agents"][name] for name in ANSWER["prefer"]}
REPEATS = ANSWER["repeats"]
FEWER = {"trees": 40, "repeats": 1}
SMALL = {
    name: AGENTS[name] | {"boosting": AGENTS[name]["boosting"] | FEWER}
    for name in ("cascade", "fixed", "never", "always")
}


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows with gaps, and complete rows of the same population.

    Attributes:
        sample: as recorded.
        observed: panels that are recorded. (n, a)
        held: complete.
        held_observed: panels that would be recorded there. (h, a)
    """

    sample: Table
    observed: np.ndarray
    held: Table
    held_observed: np.ndarray


def drawn(folder: Path, name: str, n: int, law: str, seed: int) -> Drawn:
    """One table of the bed."""
    meta = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    frame = pd.read_parquet(folder / f"{name}.parquet")
    key = zlib.crc32(name.encode()), zlib.crc32(law.encode())
    rng = np.random.default_rng([key[0], n, key[1], seed])
    order = rng.permutation(len(frame))[: n + HELD]
    table = complete_table(frame, meta)
    observed = gaps(table, meta, law, np.random.default_rng([key[0], 7, key[1]]), rng)
    rows, held = order[:n], order[n:]
    full = table.take(rows)
    shown = np.where(full.columns_observed(observed[rows]), full.values, np.nan)
    sample = replace(full, values=shown)
    return Drawn(sample, observed[rows], table.take(held), observed[held])


def with_hole(name: str, n: int, law: str, seed: int) -> Drawn:
    """A made-up table of which one panel is (almost) never recorded in a region."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), n, zlib.crc32(law.encode()), seed])
    m = n + HELD
    age, temp = rng.normal(60, 15, m), rng.normal(size=m)
    female, ward = rng.random(m) < 0.5, rng.integers(0, 4, m)
    risk = 0.4 * temp + 0.02 * (age - 60) + rng.normal(size=m)
    label = (rng.random(m) < 1 / (1 + np.exp(1.3 - 1.8 * risk))).astype(np.int64)
    tests = risk[:, None] + rng.normal(size=(m, 3)) * [1.0, 0.7, 0.45]
    columns = {
        "age": age,
        "temp": temp,
        "female": female,
        **{f"ward{k}": ward == k for k in (1, 2, 3)},
    }
    frame = pd.DataFrame(columns | dict(zip(("crp", "lactate", "film"), tests.T, strict=True)))
    frame["_y"] = label
    prices = {"crp": 3, "lactate": 6, "film": 15}
    meta = {"free": [*columns], "panels": {p: [[p], cost] for p, cost in prices.items()}}
    table = complete_table(frame.astype(np.float64), meta | {"miss": 100, "alarm": 40})
    known = 0.5 * temp + 0.02 * (age - 60) + 0.5 * female
    intercept, slope = rng.uniform(-0.7, 1.0, 3), rng.uniform(-1, 1, 3)
    chance = 0.1 + 0.85 / (1 + np.exp(-(intercept + slope * known[:, None])))
    panel, region = {
        "level": (0, female),
        "number": (2, age > 73),
        "pair": (1, female & (age < 48)),
    }[name]
    chance[region, panel] = float(law.removeprefix("hole")) / 100
    observed = rng.random(chance.shape) < chance
    sample = table.take(np.arange(n))
    shown = np.where(sample.columns_observed(observed[:n]), sample.values, np.nan)
    held = table.take(np.arange(n, m))
    return Drawn(replace(sample, values=shown), observed[:n], held, observed[n:])


def complete_table(frame: pd.DataFrame, meta: Mapping[str, Any]) -> Table:
    """A population as a table."""
    columns = [name for name in frame if name != "_y"]
    panels = [Panel("known", tuple(meta["free"]), 0.0, True)]
    panels += [Panel(n, tuple(c), float(cost), False) for n, (c, cost) in meta["panels"].items()]
    return Table(
        row_id=np.arange(len(frame)),
        values=frame[columns].to_numpy(dtype=np.float64),
        columns=tuple(map(str, columns)),
        onehot=(),
        label=frame["_y"].to_numpy(dtype=np.int64),
        classes=("no", "yes"),
        panels=tuple(panels),
        misclassification_cost=np.array([[0.0, meta["alarm"]], [meta["miss"], 0.0]]),
    )


def gaps(
    table: Table,
    meta: Mapping[str, Any],
    law: str,
    of_table: np.random.Generator,
    rng: np.random.Generator,
) -> np.ndarray:
    """Which panels are recorded: 20 to 50 % lack each, by a logistic law. (n, a)"""
    observed = np.ones((len(table), len(table.actions)), dtype=bool)
    for j in range(len(table.actions)):
        share = of_table.uniform(0.2, 0.5)
        slope = of_table.uniform(0.4, 1.0) * of_table.choice([-1, 1])
        cause = meta["causes"][of_table.integers(len(meta["causes"]))]
        other = table.actions[(j + 1) % len(table.actions)].columns[0]
        slope_other = of_table.uniform(0.6, 1.0) * of_table.choice([-1, 1])
        score = {
            "mcar": np.zeros(len(table)),
            "mar": slope * scaled(table, cause),
            "mnar": 0.5 * slope * scaled(table, cause) + slope_other * scaled(table, other),
        }[law]
        low, high = -12.0, 12.0
        for _ in range(60):
            middle = (low + high) / 2
            above = (1 / (1 + np.exp(-(middle + score)))).mean() > 1 - share
            low, high = (low, middle) if above else (middle, high)
        observed[:, j] = rng.random(len(table)) < 1 / (1 + np.exp(-(middle + score)))
    return observed


def scaled(table: Table, column: str) -> np.ndarray:
    """A column in standard deviations, cut at 2.5. (n,)"""
    values = table.values[:, table.columns.index(column)]
    return np.clip((values - values.mean()) / (values.std() + 1e-9), -2.5, 2.5)


def answered(
    world: Drawn,
    seed: int,
    agents: Mapping[str, Any] = AGENTS,
    objective: str = "cost",
    budgets: Sequence[float] = (),
    parts: Mapping[str, Mapping[str, Any]] | None = None,
    also: Sequence[str] = (),
) -> tuple[dict[str, Any], dict[str, tuple[float, float, list[float], float]]]:
    """The document of `decide`, and true costs of what is handed out."""
    sample = world.sample
    spec = SplitSpec("folds", 0, {f"fold_{k}": 1 / K for k in range(1, K + 1)}, {})
    part = split_rows(sample.label, np.array([""] * len(sample)), spec, rng_seed=seed)
    frame, catalogue = table_to_frames(sample, part)
    known = [c for panel in sample.panels if panel.free for c in panel.columns]
    causes = {p.name: {"values": known, "indicators": []} for p in sample.actions}
    stored: dict[str, Any] = {"table": frame, "catalogue": catalogue}
    missing = collected(
        draw_missingness(
            **stored,
            context=Context(
                {
                    "name": "own",
                    "seeds": [0],
                    "s": None,
                    "missingness": {"source": "own", "panels": causes},
                },
                Streams(seed, "draw_missingness", {}),
            ),
        )
    )
    settings = {
        "agents": agents,
        "practice": ANSWER["practice"],
        "classifier": CLASSIFIER,
        "objective": objective,
        "budgets": [*budgets],
        "repeats": REPEATS,
        "also": [*also],
    }

    records = {**stored, "masks": missing["masks"], "graph": missing["graph"]}
    folds = [f"fold_{k}" for k in range(1, K + 1)]
    learned = [
        learn_candidates(
            **records,
            context=Context(settings, Streams(seed, "learn_candidates", {"held_out": name})),
        )
        for name in folds
    ]
    paths = [each["paths"] for each in learned]
    joined = join_candidates(
        **records,
        context=Context(settings, Streams(seed, "join_candidates", {})),
        **{f"p{k}": each["policies"].stored("policies") for k, each in enumerate(learned)},
    )
    found = judge_candidates(
        **records,
        joined=joined["paths"],
        paths=Partitions([{"held_out": name} for name in folds], lambda k: FrameRows(paths[k])),
        context=Context(
            {
                "agents": list(agents),
                "margin": MARGINS[0],
                "gamma": 10.0,
                "objective": objective,
                "budgets": [*budgets],
                "recorded": None,
                "most_missed": {},
                "parts": parts or {},
            },
            Streams(seed, "judge_candidates", {}),
        ),
    )
    held = world.held
    names = [panel.name for panel in held.actions]
    holes = holes_of(missing["graph"]["unsupported"], held.columns, names)
    agents = {variant.key: agents[variant.agent] for variant in versions_of(agents, budgets)}
    return found["choice"], truths(world, joined["policies"], seed, agents, holes)


def truths(
    world: Drawn, policies: Any, seed: int, agents: Mapping[str, Any], holes: tuple[Hole, ...]
) -> dict[str, tuple[float, float, list[float], float]]:
    """Of each policy the mean cost on complete rows, its standard error, panels' shares, and F1."""
    held, every = world.held, np.ones_like(world.held_observed)
    classifier = classifier_of(world.sample, CLASSIFIER, Streams(seed, "truth", {}))
    uniforms = np.random.default_rng(seed).random((len(held), every.shape[1] + 1))
    archive, found = policies.stored("policies"), {}
    for name, settings in agents.items():
        stored = one_of(archive, name)
        if stored is None and name != variant_of(name).agent:
            continue  # it does not learn within budgets
        policy = build_policy(settings, table=held, stored=stored)
        ends = {name: follow(policy, held, every, uniforms, classifier, unsupported=holes)}
        if variant_of(name).agent == ANSWER["practice"]:
            ends[PRACTICE] = as_practised(policy, held, world.held_observed, classifier)
        for who, one in ends.items():
            errors = held.misclassification_cost[held.label, one.verdict]
            cost = one.acquired @ held.action_cost + errors
            error = float(cost.std(ddof=1) / np.sqrt(len(cost)))
            hits = 2.0 * (held.label * (one.verdict == 1)).sum()
            f1 = float(hits / max(held.label.sum() + (one.verdict == 1).sum(), 1))
            found[who] = float(cost.mean()), error, one.acquired.mean(axis=0).tolist(), f1
    return found


def run(
    populations: Path, name: str, n: int, law: str, seed: int, again: int | None = None
) -> dict[str, Any]:
    """One row of the results; `again` is the seed of folds and training, if not the first one."""
    made_up = law.startswith("hole")
    world = with_hole(name, n, law, seed) if made_up else drawn(populations, name, n, law, seed)
    choice, truth_of = answered(
        world, seed if again is None else again, SMALL if made_up else AGENTS
    )
    truth = {who: mean for who, (mean, *_) in truth_of.items()}
    named, cost = choice["policy"], choice["cost"]
    half = (choice["ci_high"] - choice["ci_low"]) / 2
    near = np.hypot(half, TWO_SIDED * truth_of[named][1])  # the truth is estimated
    least = min(truth[policy] for policy in truth if policy != PRACTICE)
    return {
        "table": name,
        "rows": n,
        "law": law,
        "seed": seed,
        "again": again,
        "panels": choice["panels"],
        "true_shares": truth_of[named][2],
        "policy": named,
        "state": choice["state"],
        "cost": cost,
        "half": half,
        "true": truth[named],
        "miss": abs(cost - truth[named]) / near,
        "bound": choice["bound"],
        "regret": truth[named] - least,
        "best": least,
        "fixed": truth["fixed"],
        "practice": truth[PRACTICE],
        "saving": choice["saving"],
        "saving_low": choice["saving_low"],
        "graph": choice["graph"]["state"],
        "left_out": choice["left_out"],
        "regions": [(each["panel"], each["where"]) for each in choice["support"]["regions"]],
        "short_list": choice["short_list"],
        "truth": truth,
        "gamma": choice["tipping_gamma"],
    }


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each number of rows."""
    share = rows["bound"] / rows["cost"]
    within = {f"within {m:.0%}": (share <= m) | (rows["state"] == "best") for m in MARGINS}
    claims = {
        name: held & (rows["regret"] > m * rows["true"])
        for (name, held), m in zip(within.items(), MARGINS, strict=True)
    }
    frame = pd.DataFrame(
        {
            "runs": 1.0,
            "bound": share,
            **within,
            **{f"{name}, wrong": wrong for name, wrong in claims.items()},
            "saving shown": rows["saving_low"] > 0,
            "shown, wrong": (rows["saving_low"] > 0) & (rows["practice"] < rows["true"]),
            "covered": rows["miss"] <= 1,
            "missed by 3 half-widths": rows["miss"] > 3,
            "above cheapest": rows["regret"] / rows["best"],
            "against fixed": rows["true"] / rows["fixed"] - 1,
            "over 5 % dearer than fixed": rows["true"] > 1.05 * rows["fixed"],
            "bound too small": rows["regret"] > rows["bound"] * (1 + 1e-9),
        }
    )
    how = dict.fromkeys(frame.columns, "mean") | {"runs": "sum", "bound": "median"}
    frame["largest"] = frame["above cheapest"]
    frame["shares apart"] = [
        max(
            abs(panel["policy"] - share) for panel, share in zip(panels.values(), true, strict=True)
        )
        for panels, true in zip(rows["panels"], rows["true_shares"], strict=True)
    ]
    how |= {"largest": "max", "shares apart": "max"}
    return frame.groupby([rows["rows"], rows["law"]]).agg(how).reset_index()


def steadiness(rows: pd.DataFrame) -> pd.DataFrame:
    """Pairs of seeds on the same records that name one kind; spread of the true cost, by rows."""
    found = []
    for (n, *_), each in rows.groupby(["rows", "table", "law", "seed"]):
        if len(each) > 1:
            names = each["policy"].to_numpy()
            same = (names[:, None] == names)[np.triu_indices(len(each), 1)].mean()
            costs = pd.DataFrame(each["truth"].tolist())[each["policy"].mode()[0]]
            found.append({"rows": n, "same": same, "sd": costs.std(ddof=1) / costs.mean()})
    return pd.DataFrame(found, columns=["rows", "same", "sd"]).groupby("rows").mean().reset_index()


def each_run(names: Sequence[str]) -> Iterator[str]:
    """Runs by name; `holes:ROWS:FIRST:DRAWS` is so many draws of each population with a hole."""
    for one in names:
        if not one.startswith("holes:"):
            yield one
            continue
        rows, first, draws = map(int, one.split(":")[1:])
        for seed in range(first, first + draws):
            for name in ("level", "number", "pair"):
                yield f"{name}:{rows}:hole{(0, 1, 3)[seed % 3]}:{seed}"


def main() -> None:
    """Make what is not there, and print."""
    populations = Path(sys.argv[1])
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else "build/trust/answer")
    names = sys.argv[3:] or [
        f"{path.stem}:{n}:mar:0"
        for n in SIZES
        for path in sorted(populations.glob("*.parquet"))
        if len(pd.read_parquet(path, columns=["_y"])) >= n + LEAST_HELD
    ]
    folder.mkdir(parents=True, exist_ok=True)
    for one in each_run(names):
        name, n, law, *seeds = one.split(":")
        path = folder / f"{one.replace(':', '-')}.json"
        if not path.exists():
            found = run(populations, name, int(n), law, *map(int, seeds))
            path.write_text(json.dumps(found), encoding="utf-8")
            print(path.name, found["state"], f"{found['bound'] / found['cost']:.3f}", flush=True)
    rows = pd.DataFrame([json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))])
    first = rows[rows["again"].isna()]
    print(summary(first).to_string(index=False, float_format="%.3f"))
    print(steadiness(rows).to_string(index=False, float_format="%.3f"))


if __name__ == "__main__":
    main()
