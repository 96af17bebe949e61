"""Published bars of active feature acquisition, each reached or missed by kinds of this project.

  OMP_NUM_THREADS=1 python -m tests.studies.field.bars FOLDER BAR SEEDS [KIND…]
  python -m tests.studies.field.bars FOLDER show

BAR is one of these; SEEDS is a range such as 0:10, each seed another division of the rows:
  spambase=FILE.csv  AUROC with at most k of the 57 features; the last column is `spam` or not
  cube               accuracy of eight classes with at most k features
  cube_nm            context, then the block that it names: cost and accuracy of two classes
  cube_nm_single     the same by definition: eight classes, each feature of a block alone
  clinical=TABLE     F1 within a fifth of the price; tables as in `tests.benchmarks.agents`
One JSON a part (bar, kind, seed) in FOLDER; what is there is not made again. Every choice is made
on rows for learning or validation; test rows are read once, at the end.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frugal.acquire.kinds import KINDS, Ground, build_policy, train_bundle
from frugal.acquire.policies.cascade import learned_cascades
from frugal.acquire.policies.permutation import panel_order, permutation_importance
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.cascade import fit_fixed_sets
from frugal.acquire.train.class_paths import ClassSets, scaled_to_one
from frugal.acquire.train.payoff import Objective
from frugal.acquire.train.tree_sets import TreeRows, folded_rows
from frugal.config.declared import block_of
from frugal.core.streams import Streams
from frugal.core.table import Panel, Table
from frugal.core.world import World
from frugal.learn.tree_scoring import predict_proba
from frugal.learn.trees import classifier_of
from frugal.studies.field.policies.panel_networks import ChooserWalk
from scipy import special, stats
from sklearn.metrics import roc_auc_score

from tests.benchmarks import agents
from tests.trust.answer import CLASSIFIER

LEARN, VALIDATION = 0.6, 0.8  # shares of the rows, cumulated; the rest are test rows
SPAM_FEATURES, CUBE_FEATURES = (1, 3, 5, 10, 15), (3, 5, 10)
PUBLISHED = {
    "spambase": dict(zip(SPAM_FEATURES, (0.827, 0.926, 0.958, 0.969, 0.980), strict=True)),
    "cube": dict(zip(CUBE_FEATURES, (0.448, 0.580, 0.788), strict=True)),
}
CODES = (np.arange(8)[:, None] >> np.arange(3)) & 1  # corner of the cube of each class
SIGNAL, NOISE, CENTRE, BLOCK = 0.1, 0.3, 0.5, 10  # deviations, mean of noise, columns of a cube
EVERYTHING = -1e300  # margin that every panel exceeds
CUBE_ROWS, DUMMIES, CONTEXTS = 8_000, 90, 5  # to learn from, and as many of the test
ERROR, PRICE = 200.0, 10.0  # of a wrong class, and of a block; the context costs 1
SINGLE_ERROR, LOOKED_AT = 50.0, 1_000  # of a wrong class where a feature costs 1; rows of true laws
GRID = np.linspace(-0.7, 1.7, 49)  # values of a feature over which information is averaged
LEASTS = np.linspace(0.0, 45.0, 91)  # expected costs of an error at which acquiring may end
DEEP = {"leaves": 48, "trees": 400, "repeats": 1, "column_share": 1.0, "min_leaf": 10}


def corner(block: np.ndarray, label: np.ndarray, rng: np.random.Generator) -> None:
    """Write the corner of the class into columns y, y + 1 and y + 2 of a block. (n, 10)"""
    rows, columns = np.arange(len(label))[:, None], label[:, None] + np.arange(3)
    block[rows, columns] = CODES[label] + SIGNAL * rng.normal(size=(len(label), 3))


def cube(n: int, dummies: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Values of ten cube features and further ones of noise, and classes 0 to 7 (CUBE)."""
    label = rng.integers(8, size=n)
    values = CENTRE + NOISE * rng.normal(size=(n, BLOCK + dummies))
    corner(values, label, rng)
    return values, label


def cube_nm(n: int, contexts: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Noisy one-hot context, one block of ten features for each, and classes 0 to 7 (CUBE-NM).

    Only the block of the context has the corner of the class; the context is independent of it.
    """
    label, context = rng.integers(8, size=n), rng.integers(contexts, size=n)
    shown = np.eye(contexts)[context] + SIGNAL * rng.normal(size=(n, contexts))
    blocks = CENTRE + NOISE * rng.normal(size=(n, contexts, BLOCK))
    mine = blocks[np.arange(n), context]
    corner(mine, label, rng)
    blocks[np.arange(n), context] = mine
    return np.column_stack([shown, blocks.reshape(n, -1)]), label


def table_of(
    values: np.ndarray,
    label: np.ndarray,
    panels: Mapping[str, tuple[list[int], float]] | None = None,
    errors: float = 1.0,
) -> Table:
    """Rows as a table; panels are columns and a price, or each column at 1; errors cost alike."""
    panels = panels or {f"x{j}": ([j], 1.0) for j in range(values.shape[1])}
    names, classes = [f"x{j}" for j in range(values.shape[1])], int(label.max()) + 1
    return Table(
        row_id=np.arange(len(values)),
        values=values,
        columns=tuple(names),
        onehot=(),
        label=label.astype(np.int64),
        classes=tuple(map(str, range(classes))),
        panels=tuple(
            Panel(name, tuple(names[j] for j in columns), price, False)
            for name, (columns, price) in panels.items()
        ),
        misclassification_cost=errors * (1 - np.eye(classes)),
    )


def settings_of(kind: str, **changed: Any) -> dict[str, Any]:
    """A block of settings with its defaults."""
    return block_of(kind).model_validate({"kind": kind} | changed).model_dump()


def parts(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows to learn from, of validation, and of the test."""
    order = np.random.default_rng(seed).permutation(n)
    learn, validation, test = np.split(order, [int(LEARN * n), int(VALIDATION * n)])
    return learn, validation, test


def ground_of(data: Table, seed: int) -> Ground:
    """Rows to learn from; the classifier is of few rows, since no kind here reads it."""
    streams, every = Streams(seed, "train_agent", {}), np.ones((len(data), len(data.actions)), bool)
    classifier = classifier_of(data.take(np.arange(200)), CLASSIFIER, streams)
    return Ground(data, every, None, classifier, streams)


def spambase(file: str, kind: str, seed: int) -> dict[str, Any]:
    """AUROC with at most k features, on rows of validation and of the test."""
    frame = pd.read_csv(file)
    label = frame.iloc[:, -1].astype(str).isin(("spam", "1")).to_numpy().astype(np.int64)
    data = table_of(frame.iloc[:, :-1].to_numpy(dtype=np.float64), label)
    learn, validation, test = parts(len(data), seed)
    rows, world = np.sort(np.concatenate([learn, validation])), World.of_table(data, terminals=2)
    settings, rng = SETTINGS["spambase"][kind], np.random.default_rng([seed, 1])
    folded = folded_rows(world.take(rows), np.isin(rows, learn), settings, rng)
    objective = Objective.of("f1", label[rows], data.misclassification_cost)
    budgets = np.array([*SPAM_FEATURES, len(data.actions)]) * (1 + 1e-9)
    if kind == "fixed_set":
        assert isinstance(folded, TreeRows), "bug: a fixed set is made of trees"
        learned = learned_cascades(
            *fit_fixed_sets(folded, objective, settings=settings, budgets=budgets)
        )
    else:
        front = KINDS[kind].front
        assert front is not None, "bug: these kinds have a front"
        learned = front(folded, objective, settings, budgets)
    policy = build_policy(settings, table=data, stored=learned.arrays)
    ranks = fixed_ranks if kind == "fixed_set" else forced_ranks
    auroc = [
        [[roc_auc_score(label[of], one) for one in each] for each in ranks(policy, world.take(of))]
        for of in (validation, test)
    ]
    best = [int(np.argmax(each)) for each in auroc[0]]
    return {
        part: {str(k): each[b] for k, each, b in zip(SPAM_FEATURES, of_part, best, strict=True)}
        for part, of_part in zip(("validation", "test"), auroc, strict=True)
    }


def forced_ranks(policy: Any, world: World) -> np.ndarray:
    """Log-odds after k panels that each chooser buys one after the other. (k, C, n)"""
    networks = policy.networks
    read = networks.believer.reads.read(world.values).astype(np.float32)
    every = [
        ChooserWalk.along(
            networks, c, read, world.available, free=world.free_columns, floor=EVERYTHING
        ).log_odds
        for c in range(networks.choosers)
    ]
    return np.stack([[odds[k, :, 0] for odds in every] for k in SPAM_FEATURES])


def fixed_ranks(policy: Any, world: World) -> np.ndarray:
    """Probabilities by the largest set of at most k panels. (k, 1, n)"""
    run = roll_out(policy, world, uniforms=np.zeros((len(world), world.panels + 1)))
    assert run.verdict is not None, "bug: fixed sets predict the class"
    most = run.cost.max(axis=1)
    return np.stack([run.verdict[most <= k][-1:, :, 1] for k in SPAM_FEATURES])


def cube_accuracy(kind: str, seed: int) -> dict[str, Any]:
    """Accuracy with the first k panels of one order, by trees of these; trees give the order."""
    values, label = cube(2 * CUBE_ROWS, DUMMIES, np.random.default_rng([seed, 2]))
    data = table_of(values, label)
    learn, test = np.split(np.arange(2 * CUBE_ROWS), 2)
    sets = ClassSets.of(ground_of(data.take(learn), seed), SETTINGS["cube"][kind])
    importance = sum(permutation_importance(of_class.rows) for of_class in sets.beliefs)
    order, here = panel_order(sets.rows, np.asarray(importance)), World.of_table(data).take(test)
    found = {}
    for k in CUBE_FEATURES:
        chosen = frozenset(order[:k])
        acquired = np.isin(np.arange(len(data.actions)), order[:k])[None].repeat(len(test), axis=0)
        shown = here.visible(np.arange(len(test)), acquired)
        each = [
            predict_proba(of_class.of(chosen).ensemble, shown, np.isfinite(shown))[:, 1]
            for of_class in sets.beliefs
        ]
        right = scaled_to_one(np.column_stack(each)).argmax(axis=1) == here.label
        found[str(k)] = float(right.mean())
    return {"test": found}


def cube_nm_cost(kind: str, seed: int) -> dict[str, Any]:
    """Mean cost, price and accuracy of the class's last bit; blocks are bought whole."""
    values, label = cube_nm(2 * CUBE_ROWS, CONTEXTS, np.random.default_rng([seed, 3]))
    panels = {"context": (list(range(CONTEXTS)), 1.0)}
    first = CONTEXTS + BLOCK * np.arange(CONTEXTS)
    panels |= {f"block {b}": (list(range(s, s + BLOCK)), PRICE) for b, s in enumerate(first)}
    data = table_of(values, CODES[label, 2], panels, ERROR)
    rows, test = (data.take(part) for part in np.split(np.arange(2 * CUBE_ROWS), 2))
    if kind == "exact_greedy":
        return greedy_cost(test)
    bundle, _ = train_bundle(SETTINGS["cube_nm"][kind], ground_of(rows, seed))
    policy = build_policy(SETTINGS["cube_nm"][kind], table=test, stored=bundle.stored(kind))
    world = World.of_table(test)
    run = roll_out(policy, world, uniforms=np.zeros((len(test), world.panels + 1)))
    assert run.verdict is not None, "bug: these kinds predict the class"
    wrong = np.not_equal(run.verdict[0].argmax(axis=1), test.label)
    return costs(run.cost[0], wrong, run.acquired[0, :, 0])


def greedy_cost(test: Table) -> dict[str, Any]:
    """The same by the true law and one step ahead, which no training can better.

    It buys the next block while that lowers the expected cost of errors by its price. The context
    alone changes no probability of the class, and is never bought.
    """
    blocks, n = test.values[:, CONTEXTS:].reshape(-1, CONTEXTS, BLOCK), len(test)
    noise = ((blocks - CENTRE) / NOISE) ** 2 / 2 + np.log(NOISE)
    law = np.empty((n, CONTEXTS, len(CODES)))  # density of a block by class, over that of noise
    for y, code in enumerate(CODES):
        corner_loss = ((blocks[..., y : y + 3] - code) / SIGNAL) ** 2 / 2 + np.log(SIGNAL)
        law[..., y] = np.exp((noise[..., y : y + 3] - corner_loss).sum(axis=2))
    weight, bought = np.ones_like(law), np.zeros(n)  # of context and class, times a constant
    for block in range(CONTEXTS + 1):
        total = weight.sum(axis=(1, 2))
        ill = weight[..., CODES[:, 2] == 1].sum(axis=(1, 2)) / total
        if block < CONTEXTS:
            lowers = ERROR * np.minimum(ill, 1 - ill) * weight[:, block].sum(axis=1) / total
            goes = (lowers > PRICE) & (bought == block)
            weight[goes, block] *= law[goes, block]
            bought += goes
    return costs(PRICE * bought, np.not_equal(ill > 0.5, test.label), np.zeros(n))


def cube_nm_single(kind: str, seed: int) -> dict[str, Any]:
    """Mean cost, price and accuracy of eight classes; the context is a panel, a feature another."""
    values, label = cube_nm(2 * CUBE_ROWS, CONTEXTS, np.random.default_rng([seed, 3]))
    panels = {"context": (list(range(CONTEXTS)), 1.0)}
    panels |= {f"x{j}": ([j], 1.0) for j in range(CONTEXTS, values.shape[1])}
    data = table_of(values, label, panels, SINGLE_ERROR)
    rows, test = (data.take(part) for part in np.split(np.arange(2 * CUBE_ROWS), 2))
    if kind in ("exact_greedy", "exact_context_first"):
        return greedy_features(test.take(np.arange(LOOKED_AT)), kind == "exact_context_first")
    settings = SETTINGS["cube_nm_single"][kind]
    bundle, _ = train_bundle(settings, ground_of(rows, seed))
    policy = build_policy(settings, table=test, stored=bundle.stored(kind))
    world = World.of_table(test)
    run = roll_out(policy, world, uniforms=np.zeros((len(test), world.panels + 1)))
    assert run.verdict is not None, "bug: these kinds predict the class"
    wrong = np.not_equal(run.verdict[0].argmax(axis=1), test.label)
    return costs(run.cost[0], wrong, run.acquired[0, :, 0], SINGLE_ERROR)


def density(values: np.ndarray, mean: Any, deviation: float) -> np.ndarray:
    """Of a normal law, times a constant."""
    return np.exp(-(((values - mean) / deviation) ** 2) / 2) / deviation


def greedy_features(test: Table, context_first: bool) -> dict[str, Any]:
    """By the true law: the panel of most information on the class next, until one costs too much.

    It ends where the expected cost of an error is below a number, the best one on these very rows.
    `context_first` buys the context before; then the rest is the same.
    """
    n, k = len(test), len(CODES)
    context = test.values[:, :CONTEXTS].argmax(axis=1)
    x = test.values[:, CONTEXTS:].reshape(n, CONTEXTS, BLOCK)
    place = np.arange(BLOCK)[:, None] - np.arange(k)  # of a feature in the corner of a class
    inside = (place >= 0) & (place < 3)
    code = CODES[np.arange(k), np.clip(place, 0, 2)].astype(np.float64)
    noise = density(GRID, CENTRE, NOISE)
    signal = np.where(inside[..., None], density(GRID, code[..., None], SIGNAL), noise)
    weight, open_ = np.full((n, CONTEXTS, k), 1 / CONTEXTS / k), np.ones((n, CONTEXTS, BLOCK), bool)
    shut, paid = np.zeros(n, dtype=bool), []  # who knows the context
    if context_first:
        shut[:] = True
        weight *= (np.arange(CONTEXTS) == context[:, None])[..., None]
    for _ in range(CONTEXTS * BLOCK):
        weight /= weight.sum(axis=(1, 2), keepdims=True)
        law = weight.sum(axis=1)
        expected = SINGLE_ERROR * (1 - law.max(axis=1))
        paid.append((expected, law.argmax(axis=1) != test.label, shut.copy()))
        if (expected < LEASTS[1]).all():
            break
        gain = np.full((n, CONTEXTS * BLOCK + 1), -1.0)
        for i in range(n):
            at = law[i, :, None] * noise + weight[i][:, None, :, None] * (signal - noise)[None]
            told = special.xlogy(at, at).sum(axis=2) - special.xlogy(at.sum(axis=2), at.sum(axis=2))
            told = told.sum(axis=2) / noise.sum() - special.xlogy(law[i], law[i]).sum()
            gain[i, 1:] = np.where(open_[i], told, -1.0).ravel()
        of_context = weight.sum(axis=2, keepdims=True)
        given = special.xlogy(weight, weight / np.maximum(of_context, 1e-300)).sum(axis=(1, 2))
        gain[:, 0] = np.where(shut, -1.0, given - special.xlogy(law, law).sum(axis=1) - 1e-9)
        best = gain.argmax(axis=1)
        rows = np.flatnonzero(best == 0)
        shut[rows] = True
        weight[rows] *= (np.arange(CONTEXTS) == context[rows, None])[..., None]
        rows = np.flatnonzero(best > 0)
        block, feature = np.divmod(best[rows] - 1, BLOCK)
        value = x[rows, block, feature][:, None]
        ratio = density(value, code[feature], SIGNAL) / density(value, CENTRE, NOISE)
        weight[rows, block] *= np.where(inside[feature], ratio, 1.0)
        open_[rows, block, feature] = False
    expected, wrong, known = (np.stack(part) for part in zip(*paid, strict=True))
    first = float(context_first)
    found = []
    for least in LEASTS:
        end = np.where((expected <= least).any(axis=0), (expected <= least).argmax(axis=0), -1)
        price = first + np.where(end < 0, len(paid) - 1, end)
        columns = np.arange(n)
        found.append(costs(price, wrong[end, columns], known[end, columns], SINGLE_ERROR))
    return min(found, key=lambda one: one["test"]["cost"])


def costs(
    price: np.ndarray, wrong: np.ndarray, context: np.ndarray, error: float = ERROR
) -> dict[str, Any]:
    """Means over test rows."""
    every = {"cost": price + error * wrong, "price": price, "errors": wrong, "context": context}
    return {"test": {name: float(of_rows.mean()) for name, of_rows in every.items()}}


def requested(bar: str, of: str, kind: str, seed: int) -> dict[str, Any]:
    """The numbers of a part."""
    if bar == "clinical":
        return agents.division(of, seed, [kind])[0]
    if bar == "spambase":
        return spambase(of, kind, seed)
    of_bar = {"cube": cube_accuracy, "cube_nm": cube_nm_cost, "cube_nm_single": cube_nm_single}
    return of_bar[bar](kind, seed)


def show(rows: list[dict[str, Any]]) -> None:
    """Means over divisions, their standard errors, and published numbers."""
    for bar in ("spambase", "cube", "cube_nm", "cube_nm_single"):
        print(f"\n{bar}: {PUBLISHED.get(bar, '')}")
        of_bar = [row for row in rows if row["bar"] == bar]
        frame = pd.DataFrame([{"kind": row["kind"]} | row["test"] for row in of_bar])
        if bar == "spambase":
            frame = pd.concat([frame, pd.DataFrame(chosen(of_bar))])
        if len(frame):
            print(frame.groupby("kind").agg(["mean", "sem", "count"]).round(3).to_string())
    if clinical := [row for row in rows if row["bar"] == "clinical"]:
        agents.show(pd.DataFrame(clinical))
        against(pd.DataFrame(clinical))


def chosen(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """In each division and at each number of features, the kind of the best validation."""
    picked: dict[int, dict[str, Any]] = {row["seed"]: {"kind": "chosen"} for row in rows}
    for row in sorted(rows, key=lambda row: row["kind"]):
        of_seed = [other for other in rows if other["seed"] == row["seed"]]
        for k, auroc in row["validation"].items():
            if auroc == max(other["validation"][k] for other in of_seed):
                picked[row["seed"]][k] = row["test"][k]
    return list(picked.values())


def against(rows: pd.DataFrame) -> None:
    """F1 of `stacked`, with large networks, and of the best pooled score, less that of others.

    These are all panels, and GDFS or DIME, the better by its mean; divisions count that have them.
    """
    field = ["gdfs", "dime"]
    for name, table in rows.groupby("table", sort=False):
        f1, pooled = (
            table.pivot(index="seed", columns="agent", values=v) for v in ("f1", "pooled")
        )
        if not {agents.REFERENCE, "stacked", *field} <= set(f1):
            continue
        f1 = f1.dropna(subset=[agents.REFERENCE, "stacked", *field]).dropna(axis=1)
        kinds = [kind for kind in f1 if kind != agents.REFERENCE]
        best = pooled.loc[f1.index, kinds].to_numpy().argmax(axis=1)
        f1["chosen"] = f1[kinds].to_numpy()[np.arange(len(f1)), best]
        for kind in ("stacked", "stacked_large", "chosen"):
            for other in (agents.REFERENCE, max(field, key=lambda agent: f1[agent].mean())):
                if kind in f1:
                    change = (f1[kind] - f1[other]).to_numpy()
                    half = stats.t.ppf(0.975, len(f1) - 1) * stats.sem(change)
                    print(
                        f"{name} ({len(f1)}): {kind} less {other} {change.mean():+.4f} "
                        f"({change.mean() - half:+.4f} to {change.mean() + half:+.4f})"
                    )


SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "spambase": {
        "fixed_set": settings_of("fixed_set", panels="best", sets=100),
        "gdfs": settings_of("gdfs", price_weights=4),
        "dime": settings_of("dime"),
    },
    "cube": {"permutation": settings_of("permutation")},
    "cube_nm": {
        "lattice": settings_of("lattice", sets=64, copies=12, boosting=DEEP),
        "aaco": settings_of("aaco", boosting=DEEP),
        "gdfs": settings_of("gdfs"),
        "dime": settings_of("dime"),
        "exact_greedy": {},
    },
    "cube_nm_single": {
        "gdfs": settings_of("gdfs"),
        "dime": settings_of("dime"),
        "exact_greedy": {},
        "exact_context_first": {},
    },
    "clinical": {kind: {} for kind in ("reference", "stacked", "gdfs", "dime")},
}
LARGE = {"copies": 16, "hidden": 256, "layers": 3, "epochs": 8}  # networks of `stacked_large`
agents.TREES = agents.TREES | {"stacked_large": settings_of("stacked", network=LARGE)}


def main() -> None:
    """Make what is not there, or print."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if sys.argv[2] == "show":
        show([json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")])
        return
    bar, _, of = sys.argv[2].partition("=")
    part = {"bar": bar} | ({"table": of} if bar == "clinical" else {})
    for seed in range(*map(int, sys.argv[3].split(":"))):
        for kind in sys.argv[4:] or SETTINGS[bar]:
            path = folder / f"{'-'.join([*part.values(), kind, str(seed)])}.json"
            if not path.exists():
                made = part | {"kind": kind, "seed": seed} | requested(bar, of, kind, seed)
                path.write_text(json.dumps(made), encoding="utf-8")
                print(path.name, flush=True)


if __name__ == "__main__":
    main()
