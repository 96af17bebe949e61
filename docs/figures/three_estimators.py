"""Draw docs/figures/three_estimators.png: what three estimators promise, and what one gets.

`python docs/figures/three_estimators.py FOLDER`, where FOLDER holds `results/` of the default. Each
estimator picks the policy that it thinks cheapest; a hollow mark is the cost that it promises, a
filled one what that policy truly costs, on the same rows without gaps. First of three draws.
"""

import sys
from pathlib import Path

import pandas as pd
import seaborn as sns
from frugal.draw import style
from frugal.draw.style import agent_label
from frugal.studies.afape.figures.style import estimator_style
from matplotlib.lines import Line2D

SHOWN = {
    "imputation_chained_trees": "impute, then judge",
    "blocking": "judge on records as they are",
    "stabilised_afais_s_policy": "AFAIS(s), what Frugal reads",
}


def picks(summary: pd.DataFrame) -> pd.DataFrame:
    """A row per estimator: words, picked agent, promised and true cost, least true cost."""
    rows = summary[(summary["dataset"] == "synthetic_mnar") & (summary["seed"] == 0)]
    least = float(rows["truth"].min())
    found = []
    for name, words in SHOWN.items():
        mine = rows[rows["estimator"] == name]
        pick = style.lowest(mine, "estimate")
        found.append((name, words, pick["agent"], pick["estimate"], pick["truth"], least))
    return pd.DataFrame(
        found, columns=["estimator", "words", "agent", "promised", "truth", "least"]
    )


@style.printed
def figure(table: pd.DataFrame):
    """A line per estimator from the promised cost to the true one of the policy that it picks."""
    made = style.new_figure(height_in=2.1)
    axes = made.subplots()
    least = table["least"].iloc[0]
    axes.axvline(least, color=style.BLACK, linestyle="--", linewidth=0.9, zorder=1)
    for y, row in enumerate(table.to_dict("records")):
        colour = estimator_style(row["estimator"]).colour
        axes.plot([row["promised"], row["truth"]], [y, y], color=colour, linewidth=1.2, zorder=2)
        axes.plot(row["promised"], y, "o", color=colour, markerfacecolor="white", markersize=7)
        axes.plot(row["truth"], y, "o", color=colour, markersize=7)
        extra = row["truth"] - least
        costs = "the best policy" if extra < 0.005 else f"costs {extra:.2f} more than the best"
        axes.annotate(
            f"picks {agent_label(row['agent'])}: {costs}",
            (max(row["promised"], row["truth"]), y),
            (9, 0),
            textcoords="offset points",
            va="center_baseline",
            color=style.BLACK,
        )
    axes.set_yticks(range(len(table)), table["words"])
    axes.set_ylim(len(table) - 0.5, -0.6)
    axes.set_xlim(1.5, 3.0)
    axes.set_xlabel("cost per case of the policy that is picked (units of cost)")
    axes.tick_params(axis="y", length=0)
    sns.despine(ax=axes, left=True)
    wrong = int((table["truth"] > least + 0.005).sum())
    title = f"{wrong} of 3 ways to judge the same eleven policies pick one that costs more"
    made.suptitle(style.titled("", title), x=0.01, ha="left")
    style.add_legend(
        made,
        [
            Line2D(
                [],
                [],
                color=style.GREY,
                marker="o",
                markerfacecolor="white",
                linestyle="none",
                markersize=7,
                label="cost that is promised",
            ),
            Line2D(
                [],
                [],
                color=style.GREY,
                marker="o",
                linestyle="none",
                markersize=7,
                label="cost that is paid",
            ),
            Line2D([], [], color=style.BLACK, linestyle="--", label="cost of the best policy"),
        ],
    )
    return made


def main() -> None:
    """Read the summary, write the picture beside this file."""
    table = picks(pd.read_parquet(Path(sys.argv[1]) / "results/summary/afape.parquet"))
    out = Path(__file__).with_suffix(".png")
    made = figure(table)
    made.savefig(out, dpi=200)
    print(table.to_string(index=False))


if __name__ == "__main__":
    main()
