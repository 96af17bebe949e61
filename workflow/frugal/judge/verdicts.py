"""One answer for a scenario: which policy to use, at what cost, and whether that can be trusted.

Which estimator is read is decided by a rule that was written down beforehand (`Estimator.read`):
of those that are meant to be read, the first that could be computed for two policies or more on
enough rows. What stands on too few rows is left out and named. Knows no estimator by its name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

LEAST_ESS = 30.0  # effective rows on which an estimate must stand to be read
LARGEST_SHARE = 0.10  # of all weight that one row may carry
CONTRADICTED = "the records contradict the graph"
SAME = 1e-12  # two estimates closer than this are the same


@dataclass(frozen=True)
class Words:
    """How a verdict names things.

    Attributes:
        cost_unit: of the data set.
        estimators: name → words.
        most_gamma: the largest Γ that was looked at.
    """

    cost_unit: str
    estimators: Mapping[str, str]
    most_gamma: float


def readable(rows: pd.DataFrame) -> pd.Series:
    """True where an estimate exists and stands on enough rows."""
    enough = (rows["ess"] >= LEAST_ESS) & (rows["largest_weight_share"] <= LARGEST_SHARE)
    return (rows["status"] == "ok") & enough


def estimator_to_read(rows: pd.DataFrame, order: Sequence[str]) -> str | None:
    """The first estimator of the order that two policies or more can be read by, None if none is.

    Args:
        rows: of the summary, of one scenario and seed.
        order: estimators that are meant to be read, the best first.
    """
    count = rows[readable(rows)].groupby("estimator").size()
    return next((name for name in order if count.get(name, 0) >= min(2, _agents(rows))), None)


def verdict(
    rows: pd.DataFrame,
    pairs: pd.DataFrame,
    tipping: pd.DataFrame,
    order: Sequence[str],
    words: Words,
) -> dict[str, object]:
    """One row of the table of verdicts.

    Args:
        rows: of the summary, of one scenario and seed.
        pairs: of the comparisons, of the same.
        tipping: of the same, by estimator: agent, tipping_gamma, tipping_other.
        order: estimators that are meant to be read, the best first.
        words: for the sentence.

    Returns:
        agent, estimator, estimate with a simultaneous interval, runner_up, difference with its
        simultaneous interval, not_worse, sure (no other policy may be the best, and the interval
        of the difference to the next lies above 0), reason, left_out, tipping_gamma,
        tipping_other, sentence.
    """
    name = estimator_to_read(rows, order)
    if name is None:
        return _nothing(rows, order)
    chosen = rows[(rows["estimator"] == name) & readable(rows)].sort_values(
        ["estimate", "agent"], kind="stable"
    )
    left = sorted(set(rows["agent"]) - set(chosen["agent"]))
    best = chosen.iloc[0]
    own = pairs[pairs["estimator"] == name]
    alike = [a for a in chosen["agent"] if a in set(own.loc[own["not_worse"], "agent"])]
    others = alike[1:] if len(alike) > 1 else list(chosen["agent"][1:])
    found: dict[str, object] = {
        "agent": best["agent"], "estimator": name, "estimate": best["estimate"],
        "ci_low": best["simultaneous_low"], "ci_high": best["simultaneous_high"], "runner_up": "",
        "difference": np.nan, "difference_low": np.nan, "difference_high": np.nan,
        "not_worse": ",".join(alike or [best["agent"]]), "sure": len(alike) == 1,
        "left_out": ",".join(left), "ess": best["ess"], "n": best["n"],
        "tipping_gamma": np.nan, "tipping_other": "",
    }  # fmt: skip
    if not others:
        found |= {"sure": False, "reason": "only one policy can be judged"}
        return found | {"sentence": _sentence(found, words)}
    pair = own[(own["agent"] == best["agent"]) & (own["other"] == others[0])].iloc[0]
    found |= {
        "runner_up": others[0], "difference": -pair["difference"],
        "difference_low": -pair["ci_high"], "difference_high": -pair["ci_low"],
        **_tip(tipping, name, str(best["agent"])),
        "sure": len(alike) == 1 and bool(pair["ci_high"] < 0),
    }  # fmt: skip
    found["reason"] = _reason(found, pair)
    return found | {"sentence": _sentence(found, words)}


def contradicted(found: dict[str, object], words: str) -> dict[str, object]:
    """A verdict whose graph the records refute: nothing is sure, and the sentence begins with it.

    Args:
        found: the verdict.
        words: what speaks most against the graph.
    """
    said = f"The records contradict the assumed graph: {words}. If it held: {found['sentence']}"
    return found | {"sure": False, "reason": CONTRADICTED, "sentence": said}


def told_by_group(rows: pd.DataFrame, agent: str, cost_unit: str) -> str:
    """What the policy that is named costs each group, and the largest gaps; empty without groups.

    Args:
        rows: by group, of one scenario and seed, by the estimator that is read.
        agent: that is named.
        cost_unit: of the data set.
    """
    own = rows[(rows["agent"] == agent) & (rows["status"] == "ok")]
    single = own[(own["group"] != "") & (own["other"] == "")]
    costs = single[single["quantity"] == "cost"]
    if not len(costs):
        return ""
    unit = f" {cost_unit}" if cost_unit else ""
    each = ", ".join(
        f"{group} {_number(value)}"
        for group, value in zip(costs["group"], costs["estimate"], strict=True)
    )
    pairs = own[(own["other"] != "") & (own["quantity"] == "cost")]
    pairs = pairs.sort_values("estimate", key=abs, ascending=False, kind="stable")
    gaps = [
        f"{first} costs {_gap(value, low, high)}{unit} more than {second}"
        if value >= 0
        else f"{second} costs {_gap(-value, -high, -low)}{unit} more than {first}"
        for first, second, value, low, high in pairs[
            ["group", "other", "estimate", "ci_low", "ci_high"]
        ].head(1).itertuples(index=False)
    ]  # fmt: skip
    largest = own[own["group"] == ""]
    gaps += [
        f"{_plain(name)} gap {_gap(value, low, high)}"
        for name, value, low, high in largest[
            ["quantity", "estimate", "ci_low", "ci_high"]
        ].itertuples(index=False)
    ]
    few = [str(group) for group in costs.loc[costs["ess"] < LEAST_ESS, "group"]]
    told = f" On fewer than {LEAST_ESS:g} rows' worth: {', '.join(few)}." if few else ""
    return f"By group, {_plain(agent)} costs{unit} a case: {each}; {'; '.join(gaps)}.{told}"


def _gap(value: object, low: object, high: object) -> str:
    return f"{_number(value)} ({_number(low)} to {_number(high)})"


def _tip(tipping: pd.DataFrame, estimator: str, agent: str) -> dict[str, object]:
    """Γ at which the verdict tips, and to whom."""
    (row,) = tipping[tipping["estimator"] == estimator].to_dict("records")
    assert row["agent"] == agent, "bug: another policy was named"
    return {name: row[name] for name in ("tipping_gamma", "tipping_other")}


def _agents(rows: pd.DataFrame) -> int:
    return int(rows["agent"].nunique())


def _nothing(rows: pd.DataFrame, order: Sequence[str]) -> dict[str, object]:
    """The row where no estimator can be read: why, by the one that would be read first."""
    first = rows[rows["estimator"] == order[0]]
    told = first.loc[first["reason"] != "", "reason"]
    why = told.iloc[0] if len(told) else (
        f"the weights stand on fewer than {LEAST_ESS:g} rows' worth, or one row carries over "
        f"{LARGEST_SHARE:.0%} of them"
    )  # fmt: skip
    return {
        "agent": "", "estimator": "", "estimate": np.nan, "ci_low": np.nan, "ci_high": np.nan,
        "runner_up": "", "difference": np.nan, "difference_low": np.nan,
        "difference_high": np.nan, "not_worse": "", "sure": False,
        "left_out": ",".join(sorted(set(rows["agent"]))), "ess": 0.0,
        "tipping_gamma": np.nan, "tipping_other": "",
        "n": int(rows["n"].iloc[0]), "reason": why,
        "sentence": f"Cannot be told: {why.rstrip('.')}.",
    }  # fmt: skip


def _reason(found: Mapping[str, object], pair: pd.Series) -> str:
    """Why it is sure or not, and how many rows would tell."""
    if found["sure"]:
        return "no other policy may be the best, and the next is worse by more than chance"
    gap, half = abs(float(pair["difference"])), float(pair["ci_high"] - pair["ci_low"]) / 2
    if gap <= SAME:
        return "the next policy has the same estimate"
    rows = float(str(found["n"])) * (half / gap) ** 2
    return f"some {_round(rows)} rows would tell"


def _sentence(found: Mapping[str, object], words: Words) -> str:
    """The answer in words."""
    unit = f" {words.cost_unit}" if words.cost_unit else ""
    agent, other = _plain(found["agent"]), _plain(found["runner_up"])
    cost, low, high = (_number(found[key]) for key in ("estimate", "ci_low", "ci_high"))
    read = words.estimators[str(found["estimator"])]
    stands = f"Read from {read}; {_worth(found['ess'], found['n'])} rows' worth"
    told = f" Left out, on too few rows: {_listed(found['left_out'])}." if found["left_out"] else ""
    if not other:
        return f"Only {agent} can be judged: {cost}{unit} a case ({low} to {high}). {stands}.{told}"
    gap = float(str(found["difference"]))
    if found["sure"]:
        return (
            f"Use {agent}: {cost}{unit} a case ({low} to {high}), {_number(gap)} "
            f"({_number(found['difference_low'])} to {_number(found['difference_high'])}) less "
            f"than {other}, the next. "
            f"{stands}; {_hidden(found, words)}.{told}"
        )
    half = (float(str(found["difference_high"])) - float(str(found["difference_low"]))) / 2
    alike = [_plain(name) for name in str(found["not_worse"]).split(",")]
    many = f" {len(alike)} policies may be the best." if len(alike) > 2 else ""
    apart = f"differ by {_number(gap)} ± {_number(half)}{unit}; {found['reason']}"
    if abs(gap) <= SAME:
        apart = "have the same estimate" + (f", ± {_number(half)}{unit}" if half > SAME else "")
    return (
        f"Cannot be told: {agent} and {other} {apart}.{many} Until then take {agent}: "
        f"{cost} a case ({low} to {high}). {stands}.{told}"
    )


def _hidden(found: Mapping[str, object], words: Words) -> str:
    """What hidden causes would have to do."""
    gamma = float(str(found["tipping_gamma"]))
    if np.isfinite(gamma):
        return f"it would change if hidden causes shifted the odds of a set by {gamma:.2g}"
    return f"it would not change if hidden causes shifted the odds of a set by {words.most_gamma:g}"


def _plain(name: object) -> str:
    return str(name).replace("_", " ")


def _listed(names: object) -> str:
    return ", ".join(_plain(name) for name in str(names).split(","))


def _number(value: object) -> str:
    """Three figures."""
    return f"{float(str(value)):.3g}"


def _worth(ess: object, n: object) -> str:
    """On how many of the rows it stands; all of them are not rounded."""
    rows = int(str(n))
    return f"{_round(ess) if float(str(ess)) < rows - 0.5 else f'{rows:,}'} of {rows:,}"


def _round(value: object) -> str:
    """A number of rows, to two figures from 100 on."""
    number = float(str(value))
    if number < 100:
        return f"{number:.0f}"
    return f"{float(f'{number:.2g}'):,.0f}"
