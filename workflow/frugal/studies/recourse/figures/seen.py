"""What the figures of the recourse study show, in a sentence each: their titles.

From the tables that are drawn. Knows no figure and no file.
"""

import numpy as np
import pandas as pd

from frugal.draw import style
from frugal.studies.recourse.figures.style import GENERATORS, generator_kind, generator_label


def accuracy(shares: pd.Series) -> str:
    """Who names the cheapest actions most often, and who of the paper's learners.

    Args:
        shares: generator → share of units whose cheapest actions it finds.
    """
    best = str(shares.idxmax())
    said = f"{_said(best)} finds the cheapest actions of {_percent(shares[best])} of units"
    papers = shares[[GENERATORS[generator_kind(str(name))].hollow for name in shares.index]]
    if not len(papers) or best in papers.index:
        return said
    other = str(papers.idxmax())
    return f"{said}, {_said(other)} of {_percent(papers[other])}"


def distance_from_confidence(bins: pd.DataFrame) -> pd.Series:
    """Generator → how far it is off from what it says of itself, in the mean of its units.

    Args:
        bins: generator, mean_confidence, accuracy, n; one row per bin.
    """
    off = (bins["mean_confidence"] - bins["accuracy"]).abs() * bins["n"]
    return off.groupby(bins["generator"]).sum() / bins.groupby("generator")["n"].sum()


def confidence(bins: pd.DataFrame) -> str:
    """Whose confidence is nearest to its share of right answers, and whose is farthest.

    Args:
        bins: generator, mean_confidence, accuracy, n; one row per bin.
    """
    per = distance_from_confidence(bins)
    near, far = str(per.idxmin()), str(per.idxmax())
    if near == far:
        return f"{_said(near)} is off by {per[near]:.2f} from what it says of itself"
    return (
        f"{_said(near)} is as right as it says (off by {per[near]:.2f}), "
        f"{_said(far)} is not (off by {per[far]:.2f})"
    )


def mistakes(table: pd.DataFrame) -> str:
    """How many wrong answers do not work, of the generator with most of them.

    Args:
        table: generator, feasible; one row per wrong answer.
    """
    failing = (~table["feasible"].astype(bool)).groupby(table["generator"]).agg(["sum", "size"])
    worst = str(failing["size"].idxmax())
    count, of = failing.loc[worst]
    return f"{count:,} of {of:,} wrong answers of {_said(worst)} do not work"


def repair(rows: pd.DataFrame) -> str:
    """Whether repaired answers work, and what they cost more than the cheapest.

    Args:
        rows: repaired_infeasible_share, repair_cost_gap; one row per generator.
    """
    gaps = rows["repair_cost_gap"].dropna().to_numpy(dtype=float)
    failing = float(rows["repaired_infeasible_share"].max())
    works = "every answer works" if failing == 0 else f"all but {_percent(failing)} of answers work"
    if not len(gaps):
        return f"{works}, and none needs repair"
    low, high = (f"{100 * end:.0f}" for end in (np.min(gaps), np.max(gaps)))
    return f"repaired, {works}; repaired ones cost {low} to {high} % more than the cheapest"


def sizes(table: pd.DataFrame) -> str:
    """How many actions most units need.

    Args:
        table: size, n.
    """
    counts = table.groupby("size")["n"].sum()
    most = int(counts.index[int(counts.to_numpy().argmax())])
    share = float(counts.max() / counts.sum())
    return f"{_percent(share)} of units need {most} action{'s' if most != 1 else ''}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _said(name: str) -> str:
    """Words for a generator within a sentence."""
    return style.quoted(generator_label(name))
