"""Whether worths of panels, costs of outages and worths of pairs are covered, each jointly.

  OMP_NUM_THREADS=1 python -m tests.trust.panel_worth [FOLDER] [DRAWS] [FIRST] [ROWS]

Three populations: in `twins` two panels measure one quantity, in `ladder` expensive panels measure
it better, in `idle` one panel is noise. 10 to 50 % of rows lack each panel, by a known column. The
stages of `decide` answer with `panel_worth`. The truth is the difference in cost of the policies
that were judged, those of the folds, on 6,000 complete rows outside the sample; its own error
counts. One JSON a run in FOLDER; what is there is not made again. Prints shares of runs in which
all intervals of a family hold.
"""

import json
import sys
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frugal.acquire.kinds import Ground
from frugal.answer.candidates import follow, learned_without
from frugal.answer.stages import agents as stage
from frugal.core.episodes import Policy
from frugal.learn.trees import TreeEnsemble

from tests.trust.answer import HELD, SMALL, TWO_SIDED, Drawn, answered, complete_table

POPULATIONS = {  # standard deviations of panels about the risk, and prices
    "twins": {"crp": (0.6, 3.0), "lactate": (0.7, 4.0), "film": (1.6, 6.0)},
    "ladder": {"crp": (1.2, 2.0), "lactate": (0.7, 6.0), "film": (0.35, 15.0)},
    "idle": {"crp": (0.6, 4.0), "lactate": (1.0, 5.0), "film": (np.inf, 3.0)},
}
DEFAULTS = ("build/trust/panel_worth", "21", "0", "1000")
REQUESTED = {
    "parts": {"panel_worth": {"panel_worth": True}},
    "also": ["withheld", "without_panels"],
}


@dataclass(eq=False)
class Learned:
    """Policies of all folds as they are learned: settings, policy, and those without panels."""

    each: list[tuple[Mapping[str, Any], Policy, TreeEnsemble, dict[tuple[int, ...], Policy]]] = (
        field(default_factory=list)
    )

    def __call__(
        self, ground: Ground, settings: Mapping[str, Any], policy: Policy
    ) -> Iterator[tuple[tuple[int, ...], Policy]]:
        """In place of `learned_without`."""
        again = dict(learned_without(ground, settings, policy))
        self.each.append((settings, policy, ground.classifier, again))
        yield from again.items()


def drawn(name: str, n: int, seed: int) -> Drawn:
    """Rows with gaps, and complete ones."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), n, seed])
    m, panels = n + HELD, POPULATIONS[name]
    age, temp = rng.normal(60, 15, m), rng.normal(size=m)
    risk = 0.4 * temp + 0.02 * (age - 60) + rng.normal(size=m)
    label = (rng.random(m) < 1 / (1 + np.exp(1.3 - 1.8 * risk))).astype(np.int64)
    columns = {"age": age, "temp": temp}
    for panel, (spread, _) in panels.items():
        noise = rng.normal(size=m)
        columns[panel] = risk + spread * noise if np.isfinite(spread) else noise
    frame = pd.DataFrame({**columns, "_y": label}).astype(np.float64)
    meta = {"free": ["age", "temp"], "panels": {p: [[p], cost] for p, (_, cost) in panels.items()}}
    table = complete_table(frame, meta | {"miss": 100, "alarm": 40})
    start, slope = rng.uniform(0.0, 1.0, 3), rng.uniform(-1, 1, 3)
    chance = 0.1 + 0.85 / (1 + np.exp(-(start + slope * temp[:, None])))
    observed = rng.random(chance.shape) < chance
    sample, held = table.take(np.arange(n)), table.take(np.arange(n, m))
    shown = np.where(sample.columns_observed(observed[:n]), sample.values, np.nan)
    return Drawn(replace(sample, values=shown), observed[:n], held, observed[n:])


def truth(
    world: Drawn, learned: Learned, settings: Mapping[str, Any]
) -> dict[str, dict[tuple[int, ...], np.ndarray]]:
    """Costs of each held row, mean of the folds: learned again, or without panels at once. (h,)"""
    held, every = world.held, np.ones_like(world.held_observed)
    uniforms, a = np.random.default_rng(0).random((len(held), every.shape[1] + 1)), every.shape[1]
    sets = [(), *((j,) for j in range(a)), *combinations(range(a), 2)]
    costs: dict[str, dict[tuple[int, ...], list[np.ndarray]]] = {"again": {}, "outage": {}}
    for of_agent, policy, classifier, again in learned.each:
        if of_agent != settings:
            continue

        def cost(policy: Policy, *out: int, classifier: TreeEnsemble = classifier) -> np.ndarray:
            offered = every & ~np.isin(np.arange(a), out)
            path = follow(policy, held, every, uniforms, classifier, offered)
            errors = held.misclassification_cost[held.label, path.verdict]
            return path.acquired @ held.action_cost + errors

        known = {(): cost(policy)} | {s: cost(one) for s, one in again.items()}
        for panels in sets:
            same = [panels, *((j,) for j in panels), ()]
            costs["again"].setdefault(panels, []).append(next(known[s] for s in same if s in known))
        for j in range(a):
            costs["outage"].setdefault((j,), []).append(cost(policy, j))
    return {of: {s: np.mean(e, axis=0) for s, e in each.items()} for of, each in costs.items()}


def run(name: str, n: int, seed: int) -> dict[str, Any]:
    """Estimates with their intervals and truths, by family."""
    world, learned = drawn(name, n, seed), Learned()
    setattr(stage, "learned_without", learned)  # noqa: B010 - a name that it imports
    choice, _ = answered(world, seed, SMALL, **REQUESTED)
    names, ledger = [panel.name for panel in world.held.actions], choice["panel_worth"]
    costs = truth(world, learned, SMALL[choice["policy"]])
    again = costs["again"]
    found: dict[str, list[list[float]]] = {"worth": [], "outage": [], "pair": [], "more": []}

    def add(family: str, estimate: Mapping[str, float] | None, more: np.ndarray) -> None:
        if estimate is not None:
            error = float(more.std(ddof=1) / np.sqrt(len(more)))
            ends = [estimate[key] for key in ("value", "low", "high")]
            found[family].append([*ends, float(more.mean()), error])

    for j, panel in enumerate(names):
        add("worth", ledger["panels"][panel]["worth"], again[j,] - again[()])
        add("outage", ledger["panels"][panel]["outage"], costs["outage"][j,] - again[()])
    for pair in ledger["pairs"]:
        a, b = (names.index(panel) for panel in pair["panels"])
        add("pair", pair["worth"], again[a, b] - again[()])
        add("more", pair["more"], again[a, b] - again[a,] - again[b,] + again[()])
    return {"name": name, "rows": n, "seed": seed, "policy": choice["policy"], **found}


def summary(runs: list[dict[str, Any]]) -> pd.DataFrame:
    """Of each family the share of runs in which all intervals hold, bias and mean half-width."""
    rows = []
    for family in ("worth", "outage", "pair", "more"):
        held, apart, half = [], [], []
        for one in runs:
            each = np.array(one[family]).reshape(-1, 5)
            each = each[each[:, 2] > each[:, 1]]
            if len(each):
                near = np.hypot((each[:, 2] - each[:, 1]) / 2, TWO_SIDED * each[:, 4])
                held.append(bool((np.abs(each[:, 0] - each[:, 3]) <= near).all()))
                apart += (each[:, 0] - each[:, 3]).tolist()
                half += ((each[:, 2] - each[:, 1]) / 2).tolist()
        rows.append(
            {
                "family": family,
                "runs": len(held),
                "all hold": np.mean(held),
                "mean error": np.mean(apart),
                "half-width": np.mean(half),
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    """Make what is not there, and print."""
    place, *numbers = [*sys.argv[1:], *DEFAULTS[len(sys.argv) - 1 :]]
    folder, (draws, first, n) = Path(place), map(int, numbers)
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(first, first + draws):
        for name in POPULATIONS:
            path = folder / f"{name}-{n}-{seed}.json"
            if not path.exists():
                path.write_text(json.dumps(run(name, n, seed)), encoding="utf-8")
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    print(summary(runs).to_string(index=False, float_format="%.3f"))


if __name__ == "__main__":
    main()
