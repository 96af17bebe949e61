"""Does the interval of a range cover what policies cost, where a hidden cause of known Γ acts?

A world of two panels. The fitted law knows x alone and is right on average; a hidden u shifts the
odds that panel 1 is recorded by 1/Γ or Γ, exactly. It also moves values and label. Where the cause
is `worst`, those who are ill are those who are recorded less often, nobody is treated, and the
sharp range is not told who is ill, so that the truth lies near the end of the range. New rows,
causes and gaps each draw, probabilities fitted each time. Costs of 10⁶ fresh rows are the truth.

    python -m tests.trust.hidden_causes [--draws 400] [--out build/trust/hidden_causes.csv]

appends the draws that the file lacks, and prints a page: the share covered in each cell, and how
wide ranges are. 400 draws of all cells take about 10 CPU minutes, and the page is kept as
docs/results/hidden_causes.md.
"""

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from frugal.judge.cost_cells import KnownRows, fit_quantiles
from frugal.judge.sensitivity import Weighted, plain_range, sharp_range
from sklearn.linear_model import LogisticRegression

SEED = 22
Z = 1.959964
PRICES = (0.3, 0.4)
MISSED, ALARM = 5.0, 2.0
SECOND_RECORDED = 0.7
POLICIES = ("always", "reads", "lots")
GAMMAS = (1.0, 1.5, 3.0, 6.0)
SIZES = (500, 2000)
CAUSES = {"some": (1.2, 1.0, 0.0, -0.5), "worst": (0.0, -12.0, 6.0, np.inf)}
SETTINGS = {"folds": 5, "leaves": 16, "leaf_rows": 50, "rows": 1_000_000}


class Units:
    """n fresh units, and what their records hold.

    Args:
        n: how many.
        gamma: by which the hidden cause shifts the odds of panel 1.
        cause: which hidden cause.
        rng: of all draws.
    """

    def __init__(self, n: int, gamma: float, cause: str, rng: np.random.Generator) -> None:
        on_value, on_label, level, self.threshold = CAUSES[cause]
        self.x = rng.normal(size=n)
        odds = np.exp(0.3 + 0.8 * self.x)
        high, mean, low = (o / (1 + o) for o in (odds * gamma, odds, odds / gamma))
        share = (mean - low) / (high - low) if gamma > 1 else np.full(n, 0.5)
        u = rng.random(n) < share  # so that the law given x is logistic
        self.x1 = 0.5 * self.x + on_value * u + rng.normal(size=n)
        self.x2 = rng.normal(size=n)
        logit = level - 1.0 + 0.6 * self.x + 0.8 * self.x1 + 0.8 * self.x2 + on_label * u
        self.ill = rng.random(n) < 1 / (1 + np.exp(-logit))
        first = rng.random(n) < np.where(u, high, low)
        self.recorded = np.column_stack([first, rng.random(n) < SECOND_RECORDED])
        self.lots = rng.random((n, 2)) < 0.5

    def acquired(self, policy: str, available: np.ndarray) -> np.ndarray:
        """What a policy acquires where panels are available. (n, 2)"""
        if policy == "always":
            return available
        if policy == "lots":
            return self.lots & available
        second = available[:, 0] & (self.x1 > 0.3) & available[:, 1]
        return np.column_stack([available[:, 0], second])

    def cost(self, acquired: np.ndarray) -> np.ndarray:
        """Panels and the error of a fixed classifier. (n,)"""
        score = -0.6 + 0.6 * self.x
        score += np.where(acquired[:, 0], 0.9 * self.x1, 0.0)
        score += np.where(acquired[:, 1], 0.8 * self.x2, 0.0)
        called = score > self.threshold
        errors = MISSED * (self.ill & ~called) + ALARM * (called & ~self.ill)
        return acquired @ np.array(PRICES) + errors

    def truth(self, policy: str) -> float:
        """Mean cost where nothing lacks."""
        everything = np.ones((len(self.x), 2), dtype=bool)
        return float(self.cost(self.acquired(policy, everything)).mean())

    def weighted(self, policy: str) -> Weighted:
        """The policy's estimate on the records, probabilities fitted to x."""
        design = self.x[:, None]
        first = LogisticRegression(C=np.inf).fit(design, self.recorded[:, 0])
        chances = np.column_stack(
            [first.predict_proba(design)[:, 1], np.full(len(design), self.recorded[:, 1].mean())]
        )
        taken = self.acquired(policy, self.recorded)
        held = np.where(taken, chances, 1.0).prod(axis=1)
        if policy == "lots":
            weight = np.where(taken, 1 / chances, 0.5 / (1 - 0.5 * chances)).prod(axis=1)
            most = 0.5 ** -(~taken).sum(axis=1)  # as on a record that lacks all others
            return Weighted.of(self.cost(taken), weight, 1 / (weight * most))
        wanted = self.acquired(policy, np.ones_like(self.recorded))
        weight = np.where((wanted <= self.recorded).all(axis=1), 1 / held, 0.0)
        return Weighted.of(self.cost(taken), weight, held)


def one_draw(
    draw: int, cause: str, gamma: float, n: int, truth: dict[str, float]
) -> Iterator[dict]:
    """A row for each policy and kind of range."""
    rng = np.random.default_rng([SEED, draw, n, int(100 * gamma), list(CAUSES).index(cause)])
    units = Units(n, gamma, cause, rng)
    bound = np.array([gamma])
    known = np.column_stack([units.x, units.ill])[:, : 1 + (cause != "worst")]
    for policy in POLICIES:
        given = units.weighted(policy)
        quantiles = fit_quantiles(given, KnownRows.of(known), bound, SETTINGS, rng)
        ranges = {"plain": plain_range(given, bound), "sharp": sharp_range(given, bound, quantiles)}
        for kind, found in ranges.items():
            low = found.low[0] - Z * found.low_error[0]
            high = found.high[0] + Z * found.high_error[0]
            yield {
                "draw": draw,
                "cause": cause,
                "n": n,
                "gamma": gamma,
                "policy": policy,
                "kind": kind,
                "truth": truth[policy],
                "estimate": given.estimate,
                "low": found.low[0],
                "high": found.high[0],
                "range_low": low,
                "range_high": high,
                "covered": low <= truth[policy] <= high,
            }


def truths(cause: str, gamma: float, rows: int = 1_000_000) -> dict[str, float]:
    """Each policy's mean cost on fresh rows."""
    parts = max(1, rows // 1_000_000)
    found = [
        Units(rows // parts, gamma, cause, np.random.default_rng([SEED, 10**6 + k]))
        for k in range(parts)
    ]
    return {policy: float(np.mean([u.truth(policy) for u in found])) for policy in POLICIES}


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Share covered, and mean width of range and interval, by cell."""
    rows = rows.assign(
        width=rows["high"] - rows["low"], interval=rows["range_high"] - rows["range_low"]
    )
    cells = rows.groupby(["cause", "gamma", "n", "policy", "kind"], sort=True)
    return cells.agg(
        draws=("covered", "size"),
        covered=("covered", "mean"),
        truth=("truth", "mean"),
        estimate=("estimate", "mean"),
        width=("width", "mean"),
        interval=("interval", "mean"),
    ).reset_index()


PAGE = """# Do ranges under hidden causes cover?

Results. Made by `python -m tests.trust.hidden_causes`, which documents the simulation. Of two \
panels a hidden cause shifts the odds of one by exactly Γ; the range is computed for the same Γ. \
Goal: the interval of the range covers the true cost in at least 95 % of draws.

All lines with Γ > 1: plain ranges {plain:.1%}, sharp ones {sharp:.1%}. The least is {least:.1%}.

A line has {draws} draws of {few:,} rows and as many of {many:,}. It shows the share covered by \
plain and sharp range, the mean estimate, and the mean widths of both. At Γ = 1 nothing is hidden, \
and both are the estimate with its usual interval.
"""
HEAD = """
## Hidden cause: {cause}

| Γ, policy | truth | covered, {few:,} rows | {many:,} rows | estimate; widths, {few:,} | {many:,} |
|---|---|---|---|---|---|
"""


def page(cells: pd.DataFrame) -> str:
    """The table as a page, a part for each cause."""
    shifted = cells[cells["gamma"] > 1]
    by_kind = shifted.groupby("kind")["covered"].mean()
    few, many = SIZES
    counts = {"draws": cells["draws"].min(), "few": few, "many": many}
    lines = [PAGE.format(least=shifted["covered"].min(), **by_kind, **counts)]
    for cause, mine in cells.groupby("cause", sort=True):
        lines.append(HEAD.format(cause=cause, few=few, many=many))
        for (gamma, policy), rows in mine.groupby(["gamma", "policy"], sort=True):
            by = rows.set_index(["n", "kind"]).sort_index()
            covered = [", ".join(f"{x:.1%}" for x in by.loc[[n], "covered"]) for n in SIZES]
            widths = [
                f"{by.loc[[n], 'estimate'].iloc[0]:.3f}; "
                + ", ".join(f"{abs(x):.3f}" for x in by.loc[[n], "width"])
                for n in SIZES
            ]
            texts = [f"{gamma:g} {policy}", f"{rows['truth'].iloc[0]:.3f}", *covered, *widths]
            lines.append(f"| {' | '.join(texts)} |\n")
    return "".join(lines)


def main() -> None:
    """Add the draws that lack, and print the table."""
    parser = argparse.ArgumentParser(description="Coverage of ranges under hidden causes.")
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--out", type=Path, default=Path("build/trust/hidden_causes.csv"))
    told = parser.parse_args()
    told.out.parent.mkdir(parents=True, exist_ok=True)
    done = pd.read_csv(told.out) if told.out.exists() else pd.DataFrame()
    had = (
        set(zip(done["draw"], done["cause"], done["n"], done["gamma"], strict=True))
        if len(done)
        else set()
    )
    for cause, gamma in product(CAUSES, GAMMAS):
        truth = None
        for n, draw in product(SIZES, range(told.draws)):
            if (draw, cause, n, gamma) in had:
                continue
            truth = truth or truths(cause, gamma)
            rows = pd.DataFrame(one_draw(draw, cause, gamma, n, truth))
            rows.to_csv(told.out, mode="a", header=not told.out.exists(), index=False)
    print(page(table(pd.read_csv(told.out))), end="")


if __name__ == "__main__":
    main()
