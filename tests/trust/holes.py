"""How often holes are found in tables without one, and how often one is found that is there.

  OMP_NUM_THREADS=1 python -m tests.trust.holes DRAWS [ROWS…]

Tables have 3 to 6 columns without gaps (normal, log-normal, whole numbers, two levels, 4 to 8
levels) and 1 to 4 panels of a column each, recorded in 20 to 80 % of the rows by one of five laws
of those columns and nowhere below 10 %. First, of plain tables (five columns, one panel, a logistic
law), false alarms and the holes found where 0, 1 and 3 % are recorded. Then the share of DRAWS
tables without a hole in which one is reported, by kind of law, and of a sixth that is not in the
mean; then, for DRAWS / 4 tables each, the share in which a hole of the first panel is found
(regions that lie mostly in it), and in which they cover at least 80 % of its rows.
"""

import sys
from dataclasses import dataclass

import numpy as np
from frugal.judge.support import find_holes
from scipy.special import expit

LAWS = ("logistic", "steep", "steps", "square", "interaction")
HARD = "steep steps"  # reported apart: often exactly 10 % in a large part of the table
LEAST, COVERED = 0.1, 0.8
KINDS = {  # of a hole: its share of the rows
    "end": 0.1,
    "middle": 0.1,
    "level": 0.1,
    "two levels": 0.1,
    "level × level": 0.1,
    "level × end": 0.1,
    "level × middle": 0.1,
    "end × end": 0.1,
    "middle × end": 0.1,
    "half by level": 0.5,
    "half by end": 0.4,
    "end and level": 0.2,
}
RECORDED = (0.0, 0.01, 0.03)


@dataclass(frozen=True, eq=False)
class World:
    """A table and its law. n rows, d encoded columns, a panels.

    Attributes:
        values: encoded columns, NaN where missing. (n, d)
        observed: panels recorded. (n, a)
        provides: columns of the panels. (a, d)
        hole: rows in which the first panel is almost never recorded. (n,)
    """

    values: np.ndarray
    observed: np.ndarray
    provides: np.ndarray
    hole: np.ndarray


def columns_of(n: int, rng: np.random.Generator, kind: str) -> tuple[list[np.ndarray], np.ndarray]:
    """Columns as vectors or one-hot matrices, and the rows of a hole of this kind."""
    share = KINDS.get(kind, 0.1)

    def levels(first: float | None = None) -> np.ndarray:
        """Codes of 4 to 8 levels of at least 4 %; the first has a given share."""
        count = int(rng.integers(4, 9))
        rest = 0.04 + (1 - 0.04 * count) * rng.dirichlet(np.full(count, 2.0))
        if first is not None:
            rest = np.append(first, (1 - first) * rest[1:] / rest[1:].sum())
        return rng.choice(count, n, p=rest)

    def number() -> np.ndarray:
        drawn = [
            rng.normal(size=n),
            np.exp(rng.normal(size=n)),
            np.round(rng.gamma(4.0, 12.0, n)),
            rng.standard_t(3, n),
        ]
        return drawn[rng.integers(4)]

    def end(x: np.ndarray, part: float) -> np.ndarray:
        return x >= np.quantile(x, 1 - part) if rng.random() < 0.5 else x <= np.quantile(x, part)

    def middle(x: np.ndarray, part: float) -> np.ndarray:
        low = rng.uniform(0.15, 0.85 - part)
        return (x >= np.quantile(x, low)) & (x <= np.quantile(x, low + part))

    def onehot(code: np.ndarray) -> np.ndarray:
        return (code[:, None] == np.arange(code.max() + 1)).astype(float)

    root = np.sqrt(share)
    x, z, binary = number(), number(), rng.random(n) < rng.uniform(0.3, 0.6)
    code = levels()
    hole = np.zeros(n, dtype=bool)
    if kind in ("end", "half by end"):
        hole = end(x, share)
    elif kind == "middle":
        hole = middle(x, share)
    elif kind == "level":
        code = levels(share)
        hole = code == 0
    elif kind == "two levels":
        code = levels(share)
        code = np.where((code == 0) & (rng.random(n) < 0.5), code.max() + 1, code)
        hole = (code == 0) | (code == code.max())
    elif kind == "level × level":
        binary, code = rng.random(n) < 0.4, levels(share / 0.4)
        hole = binary & (code == 0)
    elif kind == "level × end":
        code = levels(root)
        hole = (code == 0) & end(x, root)
    elif kind == "level × middle":
        binary = rng.random(n) < 0.4
        hole = binary & middle(x, share / 0.4)
    elif kind == "end × end":
        hole = end(x, root) & end(z, root)
    elif kind == "middle × end":
        hole = middle(x, root) & end(z, root)
    elif kind == "half by level":
        binary = rng.random(n) < share
        hole = binary.copy()
    elif kind == "end and level":
        code = levels(share / 2)
        hole = (code == 0) | end(x, share / 2)
    drawn = [x, z, binary.astype(float), onehot(code)]
    if not kind:  # tables without a hole: 3 to 6 of all sorts
        drawn += [number(), onehot(levels())]
        count = int(rng.integers(3, 7))
        drawn = [drawn[i] for i in rng.permutation(6)[:count]]
    return drawn, hole


def probability(drawn: list[np.ndarray], law: str, rng: np.random.Generator) -> np.ndarray:
    """P(recorded) of each row: 20 to 80 % on average, nowhere below 10 %. (n,)"""
    n = len(drawn[0])
    parts = []
    for column in drawn:
        if column.ndim == 2:
            parts.append(column @ rng.normal(size=column.shape[1]))
            continue
        z = (column - column.mean()) / column.std()
        cut = np.quantile(column, rng.uniform(0.15, 0.85))
        step = 2 * (column > cut) - 1.0
        parts.append(step if law in ("steps", HARD) else (z**2 - 1) / 2 if law == "square" else z)
    logit = np.stack(parts, axis=1) @ rng.normal(
        scale=1.2 if law in ("steep", HARD) else 0.7, size=len(parts)
    )
    if law == "interaction":
        i, j = rng.choice(len(parts), 2, replace=False)
        logit = logit + rng.normal() * parts[i] * parts[j]
    target, clipped = rng.uniform(0.2, 0.8), rng.random() < 0.5
    low, high = -30.0, 30.0
    p = np.zeros(n)
    for _ in range(50):
        middle = (low + high) / 2
        p = expit(logit + middle)
        p = np.maximum(p, LEAST) if clipped else LEAST + (1 - LEAST) * p
        low, high = (middle, high) if p.mean() < target else (low, middle)
    return p


def world(
    n: int, rng: np.random.Generator, law: str, kind: str = "", recorded: float = 0.0
) -> World:
    """A table with 1 to 4 panels, the first of which has a hole of this kind; "": none has."""
    drawn, hole = columns_of(n, rng, kind)
    panels = int(rng.integers(1, 5))
    chance = np.stack([probability(drawn, law, rng) for _ in range(panels)], axis=1)
    chance[hole, 0] = recorded
    observed = rng.random((n, panels)) < chance
    results = rng.normal(size=(n, panels)) + 0.5 * rng.normal() * drawn[0].reshape(n, -1)[:, :1]
    results[~observed] = np.nan
    free = np.column_stack(drawn)
    provides = np.zeros((panels, free.shape[1] + panels), dtype=bool)
    provides[np.arange(panels), free.shape[1] + np.arange(panels)] = True
    return World(np.hstack([free, results]), observed, provides, hole)


def plain(n: int, draw: int, recorded: float | None = None) -> World:
    """A table of five columns and one panel by a logistic law, never below 10 %.

    A hole of a tenth of the rows, by a number, by two levels, or by a level and a number in turn;
    none where `recorded` is None.
    """
    rng = np.random.default_rng([2, n, draw])
    x = np.column_stack([rng.normal(size=(n, 3)), rng.random(n) < 0.5, rng.integers(0, 4, n)])
    logit = x @ (rng.normal(size=5) * [0.7, 0.5, 0.3, 0.6, 0.3])
    share, low, high = rng.uniform(0.2, 0.8), -12.0, 12.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(logit + middle).mean() < share else (low, middle)
    chance, level = np.maximum(LEAST, expit(logit + low)), x[:, 4]
    numbers, levels = x[:, 0] > 1.28, (x[:, 3] == 1) & (level == 2)
    hole = (numbers, levels, (level == 3) & (x[:, 0] > 0.25))[draw % 3]
    if recorded is not None:
        chance[hole] = recorded
    observed = rng.random((n, 1)) < chance[:, None]
    result = np.where(observed, rng.normal(size=(n, 1)), np.nan)
    return World(np.hstack([x, result]), observed, np.eye(6, dtype=bool)[5:], hole)


def found(table: World) -> tuple[bool, bool]:
    """Whether regions mostly in the first panel's hole are reported; whether they cover it."""
    covered = np.zeros(len(table.hole), dtype=bool)
    for hole in find_holes(table.values, table.observed, table.provides):
        inside = hole.contains(table.values)
        if hole.panel == 0 and table.hole[inside].mean() > 0.5:
            covered |= inside
    return bool(covered.any()), bool(covered[table.hole].mean() >= COVERED)


def false_alarms(n: int, draws: int, law: str) -> float:
    """Share of tables without a hole in which one is reported."""
    reported = 0
    for draw in range(draws):
        rng = np.random.default_rng([0, n, draw, [*LAWS, HARD].index(law)])
        table = world(n, rng, law)
        reported += bool(find_holes(table.values, table.observed, table.provides))
    return reported / max(draws, 1)


def power(n: int, draws: int, kind: str, recorded: float) -> tuple[float, float]:
    """Share of tables in which a hole is found, and in which 80 % of its rows are."""
    seen = np.zeros(2)
    for draw in range(draws):
        rng = np.random.default_rng([1, n, draw])
        seen += found(world(n, rng, LAWS[draw % len(LAWS)], kind, recorded))
    located, covered = (seen / max(draws, 1)).tolist()
    return located, covered


def of_plain_tables(n: int, draws: int) -> str:
    """False alarms, and the share of holes that are found, in tables of `plain`."""
    tables = [plain(n, draw) for draw in range(draws)]
    alarms = [bool(find_holes(t.values, t.observed, t.provides)) for t in tables]
    located = [np.mean([found(plain(n, k, share))[0] for k in range(draws)]) for share in RECORDED]
    words = ", ".join(f"{share:.0%}" for share in located)
    return f"{n:5} rows, plain tables: false alarms {np.mean(alarms):.1%}, found {words}"


def main(draws: int, sizes: list[int]) -> None:
    """Print all three tables."""
    for n in sizes:
        print(of_plain_tables(n, draws), flush=True)
    for n in sizes:
        shares = {law: false_alarms(n, draws // len(LAWS), law) for law in (*LAWS, HARD)}
        mean = np.mean([shares[law] for law in LAWS])
        words = ", ".join(f"{law} {share:.1%}" for law, share in shares.items())
        print(f"{n:5} rows, false alarms: {mean:.1%} ({words})", flush=True)
    print("found and covered; recorded there: " + ", ".join(f"{share:.0%}" for share in RECORDED))
    for n in sizes:
        for kind in KINDS:
            cells = [power(n, draws // 4, kind, recorded) for recorded in RECORDED]
            words = " | ".join(f"{located:4.0%} {covered:4.0%}" for located, covered in cells)
            print(f"{n:5} rows  {kind:15} {words}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), [int(n) for n in sys.argv[2:]] or [300, 1_000, 3_000])
