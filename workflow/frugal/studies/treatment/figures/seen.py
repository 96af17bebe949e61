"""What the figures of the treatment study show, in a sentence each: their titles.

From the tables that are drawn. Knows no figure and no file.
"""

import pandas as pd

from frugal.draw import style
from frugal.studies.treatment.figures.series import facet_order, facet_title, series_style

_NEARLY = 0.95  # share of the highest efficacy that is as good


def search(means: pd.DataFrame) -> str:
    """Who needs the fewest trials for nearly the highest efficacy, and who the most.

    Args:
        means: facet, series, efficacy, mean_trials; the first facet is told.
    """
    facet = facet_order(means["facet"])[0]
    rows = means[means["facet"] == facet].dropna(subset=["efficacy", "mean_trials"])
    where = f" ({facet_title(facet)})" if means["facet"].nunique() > 1 else ""
    if not len(rows):
        return f"no search has ended{where}"
    level = _NEARLY * float(rows["efficacy"].max())
    least = rows[rows["efficacy"] >= level].groupby("series", observed=True)["mean_trials"].min()
    first, last = str(least.idxmin()), str(least.idxmax())
    share = f"{100 * level:.0f} % of units"
    if len(least) == 1:
        return f"only {_said(first)} finds for {share}, in {least[first]:.2f} trials{where}"
    return (
        f"to find for {share} {_said(first)} needs {least[first]:.2f} trials, {_said(last)} "
        f"{least[last]:.2f}{where}"
    )


def curves(table: pd.DataFrame) -> str:
    """What searches have found in the end, and with the first trial of the records.

    Args:
        table: series, trials, outcome.
    """
    end = table[table["trials"] == table["trials"].max()].set_index("series")["outcome"].dropna()
    end = end.drop("observed", errors="ignore")
    begun = table.loc[table["series"] == "observed", "outcome"].dropna()
    if not len(end):
        return "best outcome so far"
    best = str(end.idxmax())
    said = f"{_said(best)} comes to {end[best]:.2f}"
    return f"{said}, the records' first trial to {begun.iloc[0]:.2f}" if len(begun) else said


def _said(name: str) -> str:
    return style.quoted(series_style(name).label)
