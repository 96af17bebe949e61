"""What the figures of the diagnosis study show, in a sentence each: their titles.

From the tables that are drawn. Knows no figure and no file.
"""

import numpy as np
import pandas as pd

from frugal.draw import style
from frugal.studies.diagnosis.figures.style import FULL, SAME_FOR_ALL, method_style

SCORE_WORDS = {"f1": "F1", "auroc": "AUROC", "am": "AM", "sensitivity": "sensitivity",
               "specificity": "specificity", "precision": "precision"}  # fmt: skip


def families(means: pd.DataFrame, reference: str, score: str) -> str:
    """Who reaches the classifier on all panels at the lowest price, or who comes nearest.

    Args:
        means: method, cost_share, the score and its error; the reference among the methods.
        reference: the classifier that sees every panel.
        score: column.
    """
    word = score_words(score)
    whole = means[means["method"] == reference]
    rows = means[~means["method"].astype(str).str.endswith((*SAME_FOR_ALL,))]
    rows = rows[rows["method"] != reference]
    if not len(rows):
        return "what classifiers reach"
    best = style.highest(rows, score)
    if not len(whole):
        return f"{_said(best['method'])} reaches {word} {_at(best, score)}"
    level, error = (float(whole[c].iloc[-1]) for c in (score, f"{score}_se"))
    good = rows[rows[score] >= level - error]
    first = style.lowest(good, "cost_share") if len(good) else best
    verb = "reaches" if len(good) else "comes nearest:"
    return (
        f"{_said(first['method'])} {verb} {word} {_at(first, score)}; "
        f"a classifier on all panels {level:.2f} ± {error:.2f}"
    )


def front(solutions: pd.DataFrame, method: str, score: str) -> str:
    """From where to where the front goes, and what classifiers on all panels reach.

    Args:
        solutions: method, cost, on_front and the score, of what is drawn.
        method: whose front it is.
        score: column.
    """
    mine = solutions[(solutions["method"] == method) & solutions["on_front"]].sort_values("cost")
    if not len(mine):
        return f"{_said(method)} has no policy on the front here"
    (low, first), (high, last) = (mine[["cost", score]].iloc[k] for k in (0, -1))
    word = score_words(score)
    said = f"{_said(method)} has {word} {first:.2f} for {low:,.3g} a unit"
    said += f", {last:.2f} for {high:,.3g}" if len(mine) > 1 else ""
    whole = solutions[solutions["method"].astype(str).str.endswith(FULL)]
    if not len(whole):
        return said
    best = style.highest(whole, score)
    return f"{said}; a classifier on all panels {best[score]:.2f} for {best['cost']:,.3g}"


def reliability(groups: pd.DataFrame) -> str:
    """Who loses least by beliefs, and whether that is less than without any panel.

    Args:
        groups: method, log_loss, base_log_loss.
    """
    losses = groups.groupby("method", observed=True)[["log_loss", "base_log_loss"]].first()
    best = str(losses["log_loss"].idxmin())
    worse = int((losses["log_loss"] > losses["base_log_loss"]).sum())
    said = f"best believed is {_said(best)} (log loss {losses.loc[best, 'log_loss']:.3f})"
    alone = f"{worse} of {len(losses)} are worse than the plain share of the ill"
    return f"{said}; {alone}" if worse else said


def shares(table: pd.DataFrame) -> str:
    """The panel that groups get most differently.

    Args:
        table: group, panel, share, n.
    """
    weight = table.assign(got=table["share"] * table["n"])
    sums = weight.groupby(["panel", "group"], observed=True)[["got", "n"]].sum()
    by = (sums["got"] / sums["n"]).unstack("group")
    if by.shape[1] < 2:
        top = by.iloc[:, 0]
        return f"{style.words(str(top.idxmax()))} is ordered most, for {_percent(top.max())}"
    apart = (by.max(axis=1) - by.min(axis=1)).to_numpy(dtype=float)
    widest = by.iloc[int(np.nanargmax(apart))]
    low, high = str(widest.idxmin()), str(widest.idxmax())
    return (
        f"{style.words(str(widest.name))} is ordered for {_percent(widest.max())} of {high}, "
        f"for {_percent(widest.min())} of {low}"
    )


def score_words(score: str) -> str:
    """Words for a score."""
    return SCORE_WORDS.get(score, style.words(score))


def _at(row: pd.Series, score: str) -> str:
    return f"{row[score]:.2f} for {_percent(row['cost_share'])} of the price"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _said(method: object) -> str:
    return style.quoted(method_style(str(method)).label)
