"""What the figures of the dadi study show, in a sentence each: their titles.

From the tables that are drawn. Knows no figure and no file.
"""

import pandas as pd

from frugal.draw import style

_GIVEN_UP = 0.02  # AUC that one would give up for less disparity


def tradeoff(agents: pd.DataFrame, whole: pd.DataFrame) -> str:
    """The least disparity at nearly the AUC of all panels, or what the most accurate agent has.

    Nobody that decides nearly all alike is called fair.

    Args:
        agents: gamma, auc, disparity, degenerate, positive_share.
        whole: the same of the classifier that reads every panel; none or one row.
    """
    every, agents = agents, agents[~agents["degenerate"]]
    if not len(agents):
        shares = 100 * every["positive_share"]
        return (
            f"no disparity to compare: every agent decides nearly all alike ({shares.min():.0f} to "
            f"{shares.max():.0f} % positive)"
        )
    if len(whole) and whole["degenerate"].iloc[0]:
        best = style.highest(agents, "auc")
        return (
            f"γ = {best['gamma']:g} has AUC {best['auc']:.2f}, disparity {best['disparity']:.3f}; "
            "the classifier on all panels decides nearly all alike "
            f"({100 * whole['positive_share'].iloc[0]:.0f} % positive)"
        )
    if not len(whole):
        best = style.highest(agents, "auc")
        return f"γ = {best['gamma']:g} has AUC {best['auc']:.2f}, disparity {best['disparity']:.2f}"
    auc, disparity = float(whole["auc"].iloc[0]), float(whole["disparity"].iloc[0])
    near = agents[agents["auc"] >= auc - _GIVEN_UP]
    best = style.lowest(near, "disparity") if len(near) else style.highest(agents, "auc")
    return (
        f"disparity {best['disparity']:.3f} instead of {disparity:.3f} with all panels, at AUC "
        f"{best['auc']:.2f} instead of {auc:.2f} (γ = {best['gamma']:g})"
    )


def outsiders(audit: pd.DataFrame) -> str:
    """How well the best outsider tells the group from what the most discreet agent collects.

    Args:
        audit: method, gamma, target, auc; a row per outsider.
    """
    rows = audit[audit["target"] == "sensitive"]
    learnt = rows[rows["method"] == "dadi"].groupby("gamma")["auc"].max().dropna()
    whole = float(rows.loc[rows["method"] == "all_panels", "auc"].max())
    if not len(learnt):
        return f"outsiders tell the group from all panels with AUC {whole:.2f}"
    return (
        f"outsiders tell the group with AUC {learnt.min():.2f} from what γ = {learnt.idxmin():g} "
        f"collects, {whole:.2f} from all panels"
    )


def training(last: pd.DataFrame) -> str:
    """How many panels agents acquire in the end.

    Args:
        last: gamma, panels, of the last iteration.
    """
    low, high = last["panels"].min(), last["panels"].max()
    if len(last) == 1:
        return f"it comes to acquire {low:.1f} panels"
    return f"agents come to acquire {low:.1f} to {high:.1f} panels"


def panels(singles: pd.DataFrame, selection: pd.DataFrame) -> str:
    """The panel that tells most of the group alone, and for whom it is collected.

    Args:
        singles: panel, network, auc.
        selection: group, panel, frequency.
    """
    alone = singles[(singles["network"] == "adversary") & singles["panel"].isin(selection["panel"])]
    if not len(alone):
        return "which panels are collected"
    worst = style.highest(alone, "auc")
    shares = 100 * selection.loc[selection["panel"] == worst["panel"], "frequency"]
    low, high = f"{shares.min():.0f}", f"{shares.max():.0f}"
    said = f"{low} %" if low == high else f"{low} to {high} %"
    return (
        f"{style.words(str(worst['panel']))} tells most of the group (AUC {worst['auc']:.2f}) and "
        f"is collected for {said} of units"
    )
