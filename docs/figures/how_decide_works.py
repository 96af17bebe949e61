"""Draws how_decide_works.png: the steps from a table to an answer.

`python docs/figures/how_decide_works.py` in the project's folder.
"""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

BLUE, GREEN, ORANGE, GREY = "#0072B2", "#009E73", "#D55E00", "#555555"
STEPS = (  # title, what it makes, colour
    ("1 Ask", "one question\nfrom every door", GREY),
    ("2 Read", "a table in\nfive folds", GREY),
    ("3 Know the gaps", "chance that a record\nholds each panel", BLUE),
    ("4 Learn", "six policies\nfor each fold", GREEN),
    ("5 Follow", "policies along records\nthey did not learn from", GREEN),
    ("6 Judge", "cost of each policy,\ndoubly robust", BLUE),
    ("7 Name", "the first that may be\nthe best, and a bound", ORANGE),
    ("8 Hand out", "the policies of all\nfolds vote; page, JSON", ORANGE),
)
ACROSS, WIDTH, HEIGHT = 4, 2.35, 1.15


def main() -> None:
    """Draw the picture beside this file."""
    figure, axes = plt.subplots(figsize=(10, 3.6))
    for number, (title, makes, colour) in enumerate(STEPS):
        row, column = divmod(number, ACROSS)
        x, y = column * 2.9, -row * 1.9
        box = FancyBboxPatch((x, y), WIDTH, HEIGHT, "round,pad=0.08", fc="white", ec=colour, lw=2)
        axes.add_patch(box)
        axes.text(
            x + WIDTH / 2, y + 0.88, title, ha="center", fontsize=13, color=colour, weight="bold"
        )
        axes.text(x + WIDTH / 2, y + 0.33, makes, ha="center", va="center", fontsize=11)
        arrow = {"arrowstyle": "-|>", "lw": 1.6, "color": "#333333"}
        if column < ACROSS - 1:
            ends = (x + 2.9 - 0.1, y + HEIGHT / 2), (x + WIDTH + 0.1, y + HEIGHT / 2)
            axes.annotate("", *ends, arrowprops=arrow)
        elif row == 0:
            low, middle = y - 0.08, y - 0.38
            axes.plot([x + WIDTH / 2] * 2, [low, middle], color="#333333", lw=1.6)
            axes.plot([WIDTH / 2, x + WIDTH / 2], [middle] * 2, color="#333333", lw=1.6)
            axes.annotate(
                "", (WIDTH / 2, y - 1.9 + HEIGHT + 0.1), (WIDTH / 2, middle), arrowprops=arrow
            )
    axes.set_xlim(-0.2, 3 * 2.9 + WIDTH + 0.2)
    axes.set_ylim(-2.1, HEIGHT + 0.2)
    axes.axis("off")
    figure.tight_layout(pad=0.3)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=150)


if __name__ == "__main__":
    main()
