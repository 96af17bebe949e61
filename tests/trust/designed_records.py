"""Further cases that are needed for a sure answer: panels recorded by a design, and as before.

  OMP_NUM_THREADS=1 python -m tests.trust.designed_records [DRAWS] [SEED] [PROCESSES]

Cases have an age that all records hold, four panels and a label: Gaussian in each class, so that
predicted probabilities are exact for every set of panels. Seven fixed policies ask for panels in
turn while the risk lies in a window. `PRESENT` rows are recorded by a habit that depends on age;
further ones as before, or by the design that `judge.designs` makes of the present rows, at no more
money a case. Counts how often the answer is *best* or *good enough* after numbers of further cases,
how often that was predicted, and how often the truth lies beyond the bound. Prints the numbers of
`docs/results/prices.md`.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pool

import numpy as np
import pandas as pd
from frugal.judge.choice import Choice, choose, judged
from frugal.judge.designs import HALF, Design, assigned, compared, designed, expected
from frugal.judge.semi_offline import Paths
from frugal.learn.record_law import Causes, KnownLaw, RecordLaw
from scipy.special import expit

A, FOLDS, MARGIN = 4, 5, 0.05
PRESENT, PLANNED = 500, 500
GRID = 100 * 2 ** np.arange(1, 10)
TRUTH = 400_000
SURE = ("best", "good_enough")
KINDS = ("as before", "random", "strata")
PRACTICE = "practice"
POLICIES = {  # order of panels, and the window of risk in which the next one is requested
    "a, b": ((0, 1), 0.05, 0.8),
    "a, c": ((0, 2), 0.05, 0.8),
    "c, b": ((2, 1), 0.05, 0.8),
    "a": ((0,), 0.05, 0.8),
    "c": ((2,), 0.05, 0.8),
    "d, a": ((3, 0), 0.02, 0.9),
    "never": ((), 0.0, 1.0),
}


@dataclass(frozen=True)
class World:
    """Prices, costs of errors, effects of panels, and the habit.

    Attributes:
        price: of each panel.
        miss: cost of a missed positive.
        alarm: of a false alarm.
        effect: shift of each panel where the label is 1, age first, in standard deviations.
        recorded: log-odds that each panel is recorded at the mean age.
        by_age: their slope by age.
    """

    price: tuple[float, ...]
    miss: float
    alarm: float
    effect: tuple[float, ...]
    recorded: float
    by_age: float
    prevalence: float = 0.25


PRICE = (1.5, 2.0, 2.0, 3.0)
WORLDS = {
    "known risk": World(PRICE, 100.0, 40.0, (1.8, 0.9, 0.8, 0.9, 1.0), -0.4, 0.0),
    "known risk, by habit": World(PRICE, 100.0, 40.0, (1.8, 0.9, 0.8, 0.9, 1.0), -0.4, 0.4),
    "little known": World(PRICE, 100.0, 40.0, (0.6, 0.9, 0.8, 0.9, 1.0), -0.4, 0.0),
}


@dataclass(frozen=True, eq=False)
class Cases:
    """Values (age first), labels, what is recorded, which were recorded by the design."""

    values: np.ndarray
    label: np.ndarray
    observed: np.ndarray
    designed: np.ndarray

    def take(self, rows: slice) -> "Cases":
        return Cases(*(each[rows] for each in vars(self).values()))


def joined(first: Cases, second: Cases) -> Cases:
    pairs = zip(vars(first).values(), vars(second).values(), strict=True)
    return Cases(*(np.concatenate(pair) for pair in pairs))


def drawn(world: World, n: int, rng: np.random.Generator) -> Cases:
    """Cases that are recorded as before."""
    label = (rng.random(n) < world.prevalence).astype(np.int64)
    values = rng.normal(size=(n, A + 1)) + label[:, None] * np.array(world.effect)
    chance = expit(world.recorded + world.by_age * values[:, [0]])
    return Cases(values, label, rng.random((n, A)) < chance, np.zeros(n, dtype=bool))


def recorded(cases: Cases, known: KnownLaw, rng: np.random.Generator) -> Cases:
    """The same, recorded by a design."""
    stratum = known.chance.argmax(axis=1)
    coin = rng.random(len(stratum)) < known.chance.max(axis=1)
    observed = known.sets[stratum] & coin[:, None]
    return Cases(cases.values, cases.label, observed, np.ones(len(stratum), dtype=bool))


def followed(world: World, cases: Cases, name: str) -> Paths:
    """A policy along records."""
    order, low, high = POLICIES[name]
    n, effect = len(cases.label), np.array(world.effect)
    steps = np.full((n, A), -1)
    held, going = np.zeros(n, dtype=int), np.ones(n, dtype=bool)
    acquired = np.zeros((n, A), dtype=bool)
    belief = np.full((n, A + 1, 2), np.nan)
    odds = np.log(world.prevalence / (1 - world.prevalence))
    odds = odds + effect[0] * (cases.values[:, 0] - effect[0] / 2)
    complete = np.zeros(n, dtype=bool)
    for step in range(A + 1):
        risk = expit(odds)
        belief[going, step] = np.column_stack([1 - risk, risk])[going]
        more = going & (risk >= low) & (risk <= high) & (step < len(order))
        complete |= going & ~more
        if step == A or step >= len(order):
            break
        panel = order[step]
        steps[more, step] = panel
        going = more & cases.observed[:, panel]
        acquired[going, panel] = True
        held += going
        shift = effect[panel + 1] * (cases.values[:, panel + 1] - effect[panel + 1] / 2)
        odds = np.where(going, odds + shift, odds)
    verdict = (expit(odds) * world.miss > (1 - expit(odds)) * world.alarm).astype(np.int64)
    return Paths(steps, held, complete, acquired, belief, verdict)


def truth_of(world: World) -> dict[str, float]:
    """Mean cost of every policy, on complete cases."""
    cases = drawn(world, TRUTH, np.random.default_rng(1))
    cases = Cases(cases.values, cases.label, np.ones_like(cases.observed), cases.designed)
    costs = {}
    for name in POLICIES:
        path = followed(world, cases, name)
        errors = np.array([[0.0, world.alarm], [world.miss, 0.0]])[cases.label, path.verdict]
        costs[name] = float((path.acquired @ np.array(world.price) + errors).mean())
    return costs


def answered(
    world: World, cases: Cases, known: KnownLaw | None = None
) -> tuple[Choice, Mapping[str, Paths], RecordLaw]:
    """The answer of the present rows."""
    n = len(cases.label)
    values = cases.values.copy()
    values[:, 1:][~cases.observed] = np.nan
    provides = np.hstack([np.zeros((A, 1), dtype=bool), np.eye(A, dtype=bool)])
    law = RecordLaw(
        cases.observed, values, cases.label, np.arange(n) % FOLDS, [Causes((0,))] * A, provides
    )
    law.protocol = known
    paths = {name: followed(world, cases, name).within(law) for name in POLICIES}
    practice = Paths(
        np.full((n, A), -1),
        np.zeros(n, dtype=int),
        np.ones(n, dtype=bool),
        cases.observed,
        paths["never"].belief,
        paths["never"].verdict,
    )
    candidates = judged(
        {**paths, PRACTICE: practice},
        law,
        cases.values[:, :1],
        np.array(world.price),
        np.array([[0.0, world.alarm], [world.miss, 0.0]]),
        practice=PRACTICE,
    )
    return choose(candidates, MARGIN, np.random.default_rng(0)), paths, law


def known_law(design: Design, cases: Cases) -> KnownLaw:
    """Probabilities of the design for every case."""
    stratum = assigned(design.boxes, cases.values[:, :1])
    chance = design.chance[stratum, None] * (stratum[:, None] == np.arange(len(design.sets)))
    return KnownLaw(cases.designed, design.sets, chance)


def draw(world: World, truth: Mapping[str, float], seed: int) -> list[dict]:
    """Answers after further cases, by each way to record; a row for each number of cases.

    Nothing where the present rows suffice.
    """
    rng = np.random.default_rng([seed, 46])
    present = drawn(world, PRESENT, rng)
    choice, paths, law = answered(world, present)
    if choice.state in SURE:
        return []
    policies = compared(choice, paths, law)
    if policies is None:
        return []
    stream = drawn(world, int(GRID[-1]), rng)
    price = np.array(world.price)
    money = float((present.observed @ price).mean())
    rows = []
    for kind in KINDS:
        further, design = stream, None
        if kind != "as before":
            known = present.values[:, : int(kind == "strata")]
            design = designed(policies, known, lambda sets: sets @ price, money, PLANNED)
            every = Cases(
                stream.values, stream.label, stream.observed, np.ones(len(stream.label), dtype=bool)
            )
            further = recorded(stream, known_law(design, every), np.random.default_rng([seed, 47]))
        for n in GRID.tolist():
            cases = joined(present, further.take(slice(0, n)))
            law = None if design is None else known_law(design, cases)
            choice, *_ = answered(world, cases, law)
            then = expected(policies, design, n)
            regret = truth[choice.policy] - min(truth[m] for m in choice.candidates.names)
            sure = choice.state in SURE
            row = {"kind": kind, "cases": n, "seed": seed, "sure": sure, "chance": then.sure}
            row |= {"bound": choice.bound, "expected": then.bound}
            row |= {"beyond": regret > choice.bound + 1e-9}
            rows.append(row | {"wrong": sure and regret > MARGIN * truth[choice.policy]})
    return rows


def main() -> None:
    """Print a row for each world and way to record."""
    stated = [int(text) for text in sys.argv[1:]]
    draws, seed, processes = [*stated, *(100, 0, 1)[len(stated) :]]
    for name, world in WORLDS.items():
        of = partial(draw, world, truth_of(world))
        with Pool(processes) as pool:
            parts = pool.map(of, range(seed * 10_000, seed * 10_000 + draws), chunksize=1)
        rows = pd.DataFrame([row for part in parts for row in part])
        print(f"\n{name}: {rows['seed'].nunique()} of {draws} draws were not sure")
        each = rows.drop(columns="seed").groupby(["kind", "cases"], sort=False).mean()
        print(each.to_string(float_format="{:.3f}".format))
        for kind, part in each.groupby("kind", sort=False):
            reached, planned = (half_of(part[name]) for name in ("sure", "chance"))
            print(f"{kind}: sure in half of draws after {reached:.0f}, planned {planned:.0f}")
        sys.stdout.flush()


def half_of(share: pd.Series) -> float:
    """Cases at which a share first reaches a half, between numbers of the grid by their logs."""
    at = int((share >= HALF).to_numpy().argmax())
    if at == 0:
        return np.nan
    low, high = share.iloc[at - 1], share.iloc[at]
    return float(GRID[at - 1] * 2 ** ((HALF - low) / (high - low)))


if __name__ == "__main__":
    main()
