"""How time and memory of every stage grow with rows, panels, agents and seeds.

  python -m tests.benchmarks.growth [MOST_ROWS | PRINTED] [FOLDER]

One chain a line, each in a process of its own: masks, roll-outs, nuisances and estimates of rule
agents on a synthetic table. Prints CPU seconds and peak memory of each stage, and the exponents of
least squares on logarithms, CPU seconds ~ size^exponent. With a folder, draws `growth.png` there;
lines that were printed before are read from a file in place of a number of rows.
"""

import multiprocessing
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.wide_tables import Meter, chain, few_panels, gaps, many_panels, wide_table

BASE = {"rows": 10_000, "panels": 8, "agents": 2, "seeds": 1}
MISSING = 6  # panels that can be missing, as the number of panels grows
GRID = {
    "rows": (10_000, 30_000, 100_000, 300_000, 1_000_000),
    "panels": (8, 20, 50, 100, 200),
    "agents": (2, 6, 12, 24),
    "seeds": (1, 5, 20, 40),
}
STAGES = ("draw_missingness", "roll_out", "fit_nuisances", "estimate_costs")


def agents_of(count: int, panels: int) -> dict[str, dict[str, Any]]:
    """So many agents: the rules and fixed sets of the trust page, then random ones."""
    named = few_panels(panels) | many_panels()
    chosen = {name: named[name] for name in ("rule", "four", "eight", "never", "random 50 %")}
    for k in range(count - len(chosen)):
        chosen[f"random {k}"] = {"kind": "random", "probability": (k + 1) / (count + 1)}
    return dict(list(chosen.items())[:count])


def measured(size: dict[str, int]) -> list[dict[str, Any]]:
    """One line for each stage of one chain."""
    meter = Meter()
    table = wide_table(size["rows"], size["panels"])
    agents = agents_of(size["agents"], size["panels"])
    chain(table, gaps(MISSING, 0.2), agents, seeds=size["seeds"], meter=meter)
    return [size | row for row in meter.rows if row["stage"] in STAGES]


def lines(most_rows: int) -> Iterator[dict[str, Any]]:
    """Lines of all chains; `axis` is what grows."""
    context = multiprocessing.get_context("spawn")
    for axis, values in GRID.items():
        for value in values:
            if axis == "rows" and value > most_rows:
                continue
            with context.Pool(1) as alone:
                for row in alone.apply(measured, (BASE | {axis: value},)):
                    yield {"axis": axis, "size": value} | row


def printed(path: Path) -> Iterator[dict[str, Any]]:
    """Lines that an earlier run printed."""
    for line in path.read_text().splitlines():
        if line.startswith("axis="):
            said = dict(pair.split("=") for pair in line.split())
            numbers = {name: float(said[name]) for name in ("cpu_s", "peak_mb")}
            yield {
                "axis": said["axis"],
                "size": int(said["size"]),
                "stage": said["stage"],
            } | numbers


def exponents(found: pd.DataFrame) -> pd.DataFrame:
    """Slopes of log CPU seconds and log memory on log size, of each axis and stage."""
    fitted = []
    for (axis, stage), rows in found.groupby(["axis", "stage"], sort=False):
        x = np.log(rows["size"].to_numpy(dtype=float))
        slope = {
            name: np.polyfit(x, np.log(np.maximum(rows[name].to_numpy(), 1e-3)), 1)[0]
            for name in ("cpu_s", "peak_mb")
        }
        fitted.append({"axis": axis, "stage": stage} | slope)
    return pd.DataFrame(fitted)


def draw(found: pd.DataFrame, folder: Path) -> None:
    """CPU seconds and memory over size, one panel an axis."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import seaborn as sns

    sns.set_theme(context="paper", style="whitegrid", palette="colorblind")
    figure, axes = plt.subplots(2, len(GRID), figsize=(10, 5), sharey="row", layout="constrained")
    for k, axis in enumerate(GRID):
        here = found[found["axis"] == axis]
        for row, (column, unit) in enumerate([("cpu_s", "CPU seconds"), ("peak_mb", "peak, MB")]):
            at = axes[row, k]
            sns.lineplot(
                here,
                x="size",
                y=column,
                hue="stage",
                style="stage",
                markers=True,
                dashes=False,
                ax=at,
                legend=row == 0 and k == 0,
            )
            at.set(xscale="log", yscale="log", xlabel=axis if row else "", ylabel=unit)
            shown = [f"{size:,}" for size in GRID[axis]] if row else []
            at.set_xticks(GRID[axis], shown or [""] * len(GRID[axis]), rotation=30)
            at.minorticks_off()
            at.set_yticks([300, 1000, 3000] if row else [0.1, 1, 10])
            at.yaxis.set_major_formatter("{x:g}")
    marks, names = axes[0, 0].get_legend_handles_labels()
    axes[0, 0].get_legend().remove()
    figure.legend(marks, names, loc="outside upper center", ncol=len(names), frameon=False)
    figure.savefig(folder / "growth.png", dpi=150)


def main() -> None:
    """Measure, print, and draw where a folder is given."""
    asked = sys.argv[1] if len(sys.argv) > 1 else "300000"
    found = []
    for line in lines(int(asked)) if asked.isdigit() else printed(Path(asked)):
        print(
            " ".join(
                f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}"
                for k, v in line.items()
                if k not in BASE
            ),
            flush=True,
        )
        found.append(line)
    frame = pd.DataFrame(found)
    print(exponents(frame).round(2).to_string(index=False))
    if len(sys.argv) > 2:
        draw(frame, Path(sys.argv[2]))


if __name__ == "__main__":
    main()
