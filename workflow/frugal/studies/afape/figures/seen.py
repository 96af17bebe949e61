"""What the figures of the afape study show, in a sentence each: their titles.

From the tables that are drawn. Knows no figure and no file.
"""

import numpy as np
import pandas as pd

from frugal.draw import style
from frugal.studies.afape.figures.style import agent_label, estimator_label

PLAIN = "blocking"  # what one would do who does not know better


def picks_against_truth(picks: dict[str, str], truth: dict[str, float], read: str) -> str:
    """What picks cost more than the best policy: blocking's or the dearest, and the one read.

    Args:
        picks: estimator → the agent that it would pick.
        truth: agent → what it truly costs.
        read: the estimator that the verdict reads; empty if none.
    """
    least = min(truth.values())
    extra = {name: truth[agent] - least for name, agent in picks.items()}
    if not any(extra.values()):
        return "every estimator that judges all policies picks the best one"
    places = style.decimals(np.array(list(truth.values())))
    wrong = PLAIN if extra.get(PLAIN) else max(extra, key=lambda name: extra[name])
    dear = f"{extra[wrong]:.{places}f} more than the best"
    said = f"the policy that {_said(wrong)} would pick costs {dear}"
    if read not in extra or read == wrong:
        return said
    if extra[read]:
        return f"{said}, and that of {_said(read)} {extra[read]:.{places}f} more"
    return f"{said}, which is the pick of {_said(read)}"


def picks_alone(picks: dict[str, str], read: str) -> str:
    """Whom the estimator that is read picks, and how many others pick another."""
    if read not in picks:
        return "the policy that each estimator would pick"
    others = sum(agent != picks[read] for agent in picks.values())
    said = f"{agent_label(picks[read])} is the pick of {_said(read)}"
    return f"{said}; {others} of the other {len(picks) - 1} estimators pick another"


def intervals(estimates: pd.DataFrame, read: str) -> str:
    """How often intervals hold the truth, or on how many rows the estimates that are read stand.

    Args:
        estimates: those that could be computed: estimator, truth, ci_low, ci_high, ess.
        read: the estimator that the verdict reads; empty if none.
    """
    mine = estimates[estimates["estimator"] == read]
    if not len(mine):
        return "what each policy costs by every estimator, and the rows behind it"
    if estimates["truth"].isna().any():
        low, high = mine["ess"].min(), mine["ess"].max()
        return f"{_said(read)} is read, which stands on {low:,.0f} to {high:,.0f} rows"
    said = f"the truth lies in {_held(mine)} intervals of {_said(read)}"
    plain = estimates[estimates["estimator"] == PLAIN]
    if read == PLAIN or not len(plain):
        return said
    return f"{said}; in {_held(plain)} of {_said(PLAIN)}"


def _held(rows: pd.DataFrame) -> str:
    inside = (rows["ci_low"] <= rows["truth"]) & (rows["truth"] <= rows["ci_high"])
    return f"{inside.sum()} of {len(rows)}"


def mean_errors(errors: pd.DataFrame) -> pd.Series:
    """Estimator → mean of its absolute errors, where there is one.

    Args:
        errors: estimator, error (estimate − truth, not a number where there is none).
    """
    return errors["error"].abs().groupby(errors["estimator"].astype(str)).mean().dropna()


def nearest_and_farthest(errors: pd.DataFrame) -> str:
    """Which estimator is nearest to the truth in the mean of all panels, and which farthest.

    Args:
        errors: estimator, error (estimate − truth, not a number where there is none).
    """
    off = mean_errors(errors).drop("ground_truth", errors="ignore")
    if len(off) < 2:
        return "how estimates scatter"
    places = style.decimals(off.to_numpy())
    near, far = str(off.idxmin()), str(off.idxmax())
    return (
        f"in the mean nearest to the truth is {_said(near)}, off by "
        f"{off[near]:.{places}f}; farthest {_said(far)}, by {off[far]:.{places}f}"
    )


def frequencies(by_estimator: dict[str, pd.Series], agent: str) -> str:
    """The panel whose share blocking misstates most, against the truth.

    Args:
        by_estimator: estimator → share of cases, by panel.
        agent: whose acquisitions they are.
    """
    if not {PLAIN, "ground_truth"} <= by_estimator.keys():
        return f"acquisitions of {agent_label(agent)}"
    plain, truth = by_estimator[PLAIN], by_estimator["ground_truth"]
    panel = str((plain - truth).abs().idxmax())
    if round(100 * plain[panel]) == round(100 * truth[panel]):
        return f"blocking keeps every share of {agent_label(agent)}"
    return (
        f"{agent_label(agent)} would acquire {style.words(panel)} for "
        f"{100 * truth[panel]:.0f} % of cases, not the {100 * plain[panel]:.0f} % that gaps leave"
    )


def calibration(bins: pd.DataFrame) -> str:
    """How far fitted probabilities are off, in the mean of rows and where most.

    Args:
        bins: nuisance, mean_probability, rate, n, of bins with enough rows.
    """
    if not len(bins):
        return "no bin has enough rows to be judged"
    off = (bins["rate"] - bins["mean_probability"]).abs().to_numpy()
    worst, mean = bins.iloc[int(off.argmax())], np.average(off, weights=bins["n"])
    return (
        f"fitted probabilities are off by {mean:.3f} in the mean of rows, by {off.max():.2f} in "
        f"the worst bin ({style.words(worst['nuisance'])}, {worst['n']:,.0f} rows)"
    )


def costs(rows: pd.DataFrame) -> str:
    """The policy whose cost blocking misstates most, against the truth.

    Args:
        rows: dataset, mechanism, agent, estimator, cost, of what could be computed.
    """
    table = rows.pivot(
        index=["dataset", "mechanism", "agent"], columns="estimator", values="cost"
    ).reindex(columns=[PLAIN, "ground_truth"])
    off = (table[PLAIN] - table["ground_truth"]).dropna()
    if not len(off):
        return "what policies pay for panels and for errors"
    worst = style.highest(off.abs().reset_index(name="off"), "off")
    places = style.decimals(table["ground_truth"].to_numpy(dtype=float))
    agent, by = agent_label(str(worst["agent"])), worst["off"]
    less = "less" if (off[off.abs() == by] < 0).any() else "more"
    return f"by blocking {agent} seems to cost {by:.{places}f} {less} than it truly does"


def _said(name: str) -> str:
    """Words for an estimator within a sentence."""
    return style.quoted(estimator_label(name))
