"""Draw docs/figures/claims.png: how many claims of each paper hold.

`python docs/figures/claims.py` in the project's folder.
"""

from pathlib import Path

import seaborn as sns
from frugal.draw import style
from frugal.run.claims import VERDICTS, ledgers

COLOURS = dict(
    zip(
        VERDICTS,
        (style.BLUE, style.VERMILLION, style.SKY, style.lightened(style.GREY, share=0.6)),
        strict=True,
    )
)
LIGHT_ON = {"reproduced", "differs"}  # bars dark enough for white numbers


@style.printed
def figure():
    """A bar for each paper, divided by verdict, with the number of rows in each part."""
    made = style.new_figure(height_in=2.8)
    axes = made.subplots()
    for y, ledger in enumerate(ledgers().values()):
        start = 0
        for verdict, colour in COLOURS.items():
            rows = sum(claim.verdict == verdict for claim in ledger.claims)
            axes.barh(
                y, rows, left=start, color=colour, height=0.7, edgecolor="white", label=verdict
            )
            if rows:
                shade = "white" if verdict in LIGHT_ON else style.BLACK
                axes.text(
                    start + rows / 2, y, str(rows), ha="center", va="center_baseline", color=shade
                )
            start += rows
    axes.set_xlim(0, 1.02 * max(len(ledger.claims) for ledger in ledgers().values()))
    axes.set_yticks(range(len(ledgers())), list(ledgers()))
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("claims of the paper: figures, tables, sentences with a number")
    sns.despine(ax=axes, left=True)
    everything = [claim for ledger in ledgers().values() for claim in ledger.claims]
    good = sum(claim.verdict == "reproduced" for claim in everything)
    made.suptitle(
        style.titled("", f"{good} of {len(everything)} claims of five papers are reproduced"),
        x=0.01,
        ha="left",
    )
    handles, labels = axes.get_legend_handles_labels()
    style.add_legend(made, list(dict(zip(labels, handles, strict=True)).values()))
    return made


if __name__ == "__main__":
    figure().savefig(Path(__file__).with_suffix(".png"), dpi=200)
