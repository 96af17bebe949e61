"""One answer for a scenario: the policy to use, its cost, and whether that can be trusted.

Which estimator is read is decided by a rule that was written down beforehand (`Estimator.read`):
of those that are meant to be read, the first that could be computed for two policies or more on
enough rows. Estimates from too few rows are left out and named. Knows no estimator by its name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from frugal.judge.comparisons import worth_of_knowing

LEAST_ESS = 30.0  # least effective sample size of an estimate to be read
LARGEST_SHARE = 0.10  # of all weight that one row may carry
CONTRADICTED = "the records contradict the graph"
REASONS = {
    "best": "no other policy may be the best, and the next costs more at the 95 % level",
    "good_enough": "no other policy is cheaper by more than the margin",
    "short_list": "another policy may be cheaper by more than the margin",
}
_EMPTY: dict[str, object] = {
    "agent": "",
    "estimator": "",
    "estimate": np.nan,
    "ci_low": np.nan,
    "ci_high": np.nan,
    "runner_up": "",
    "difference": np.nan,
    "difference_low": np.nan,
    "difference_high": np.nan,
    "not_worse": "",
    "state": "open",
    "bound": np.nan,
    "worth": np.nan,
    "sure": False,
    "left_out": "",
    "ess": 0.0,
    "n": 0,
    "tipping_gamma": np.nan,
    "tipping_other": "",
}

State = Literal["best", "good_enough", "short_list", "open"]


@dataclass(frozen=True)
class Words:
    """How a verdict names things.

    Attributes:
        cost_unit: of the data set.
        estimators: name → words.
        most_gamma: the largest Γ that was looked at.
        margin: share of the cost by which another policy may be cheaper: it counts as nothing.
    """

    cost_unit: str
    estimators: Mapping[str, str]
    most_gamma: float
    margin: float


def readable(rows: pd.DataFrame) -> pd.Series:
    """True where an estimate exists and has enough rows."""
    enough = (rows["ess"] >= LEAST_ESS) & (rows["largest_weight_share"] <= LARGEST_SHARE)
    return (rows["status"] == "ok") & enough


def estimator_to_read(rows: pd.DataFrame, order: Sequence[str]) -> str | None:
    """The first estimator of the order that two policies or more can be read by, None if none is.

    Args:
        rows: of the summary, of one scenario and seed.
        order: estimators that are meant to be read, the best first.
    """
    count = rows[readable(rows)].groupby("estimator").size()
    return next(
        (name for name in order if count.get(name, 0) >= min(2, rows["agent"].nunique())), None
    )


def state_of(bound: float, allowed: float, *, refuted: bool = False) -> State:
    """How sure a policy is.

    Args:
        bound: the most that another policy could save against it.
        allowed: savings of another policy that count as none.
        refuted: whether the records contradict the causes of missing values that the bound assumes.
    """
    if refuted:
        return "short_list"
    if bound <= 0:
        return "best"
    return "good_enough" if bound <= allowed else "short_list"


def how_sure(
    state: State,
    policies: Sequence[str],
    *,
    most: str,
    margin: float,
    value_of_knowing: str,
    cheaper: str = "cheaper",
    others: str = "tried",
    refuted: bool = False,
) -> str:
    """The state of a policy in a sentence or two, with its number.

    Args:
        state: of the policy.
        policies: those that may be the best, in words, itself among them and first.
        most: the most that another policy could save, in words; see `of_cost`.
        margin: share of the cost that counts as nothing.
        value_of_knowing: expected value of perfect information, in words.
        cheaper: comparative that holds of no other policy.
        others: which policies were compared.
        refuted: as of `state_of`.
    """
    name = policies[0]
    if state == "best":
        return f"Best: no other policy {others} is {cheaper} than {name} (95 %)."
    if state == "good_enough":
        return (
            f"Good enough: no other policy {others} is {cheaper} than {name} by more than {most}; "
            f"the margin is {percent(margin)} (95 %)."
        )
    if state == "open":
        return (
            "Open: too few records hold the panels that the policies ask for; record more panels "
            "of the same cases."
        )
    if refuted:
        return (
            "Short list at best, as the records contradict the assumed causes of missing values. "
            f"If these held, {joined(policies)} might be the best, and none would be {cheaper} "
            f"than {name} by more than {most}, 95 %."
        )
    return (
        f"Short list: {joined(policies)} may be the best; none is {cheaper} than {name} by more "
        f"than {most}, 95 %. Knowing which one would save at most {value_of_knowing}."
    )


def of_cost(bound: float, cost: float, unit: str, margin: float = 0.0) -> str:
    """A saving of a case in words, also as a share of the cost, apart from an unequal margin."""
    share = percent(bound / cost) if cost else ""
    if cost and bound / cost != margin and share == percent(margin):
        share = f"{number(100 * bound / cost)} %"
    share = f" ({share} of the cost)" if share else ""
    return f"{number(bound)}{_of(unit)} a case{share}"


def verdict(
    rows: pd.DataFrame,
    pairs: pd.DataFrame,
    tipping: pd.DataFrame,
    order: Sequence[str],
    words: Words,
    rng: np.random.Generator,
) -> dict[str, object]:
    """One row of the table of verdicts.

    Args:
        rows: of the summary, of one scenario and seed.
        pairs: of the comparisons, of the same.
        tipping: of the same, by estimator: agent, tipping_gamma, tipping_other.
        order: estimators that are meant to be read, the best first.
        words: for the sentence.
        rng: of the value of information.

    Returns:
        agent, estimator, estimate with a simultaneous interval, runner_up, difference with its
        simultaneous interval, not_worse, state, bound, worth, sure (the state is `best`), reason,
        left_out, tipping_gamma, tipping_other, sentence.
    """
    name = estimator_to_read(rows, order)
    if name is None:
        return _nothing(rows, order)
    chosen = rows[(rows["estimator"] == name) & readable(rows)].sort_values(
        ["estimate", "agent"], kind="stable"
    )
    left = sorted(set(rows["agent"]) - set(chosen["agent"]))
    best = chosen.iloc[0]
    compared = pairs[pairs["estimator"] == name]
    may = {best["agent"], *compared.loc[compared["not_worse"], "agent"]}
    tied = [agent for agent in chosen["agent"] if agent in may]
    row: dict[str, object] = _EMPTY | {
        "agent": best["agent"],
        "estimator": name,
        "estimate": best["estimate"],
        "ci_low": best["simultaneous_low"],
        "ci_high": best["simultaneous_high"],
        "not_worse": ",".join(tied),
        "left_out": ",".join(left),
        "ess": best["ess"],
        "n": best["n"],
        "reason": "only one policy can be judged",
    }
    if len(chosen) > 1:
        row |= {"runner_up": (tied[1:] or list(chosen["agent"][1:]))[0]}
        row |= _compared(row, chosen, compared, words, rng) | _tip(
            tipping, name, str(best["agent"])
        )
    return row | {"sentence": _sentence(row, words)}


def _compared(
    row: Mapping[str, object],
    chosen: pd.DataFrame,
    pairs: pd.DataFrame,
    words: Words,
    rng: np.random.Generator,
) -> dict[str, object]:
    """The policy that is named against the others: the next one, the bound, and the state."""
    mine = pairs[pairs["agent"] == row["agent"]].set_index("other").to_dict("index")
    pair = mine[str(row["runner_up"])]
    tied = str(row["not_worse"]).split(",")
    # of a policy that alone may be the best the bound is that of the interval of the difference
    bounds = [mine[other]["bound"] for other in tied[1:]] or [pair["ci_high"]]
    bound = max(0.0, *map(float, bounds))
    names = list(chosen["agent"])
    error = pairs.pivot(index="agent", columns="other", values="std_error")
    error = error.reindex(index=names, columns=names).fillna(0.0).to_numpy(dtype=float)
    state = state_of(bound, words.margin * float(str(row["estimate"])))
    return {
        "difference": -pair["difference"],
        "difference_low": -pair["ci_high"],
        "difference_high": -pair["ci_low"],
        "state": state,
        "bound": bound,
        "worth": worth_of_knowing(chosen["estimate"].to_numpy(), error, rng),
        "sure": state == "best",
        "reason": REASONS[state],
    }


def over_draws(verdicts: pd.DataFrame) -> str:
    """In how many draws of the missingness the policy of the first is named, and each state."""
    same = int((verdicts["agent"] == verdicts["agent"].iloc[0]).sum())
    counts = verdicts["state"].value_counts(sort=False).items()
    each = ", ".join(f"{plain(state)} in {count}" for state, count in counts)
    return f"The same policy in {same} of {len(verdicts)} draws of the gaps; {each}."


def contradicted(row: dict[str, object], words: str) -> dict[str, object]:
    """A verdict whose graph the records refute: nothing is sure, and the sentence begins with it.

    Args:
        row: the verdict.
        words: strongest evidence against the graph.
    """
    sentence = f"The records contradict the assumed graph: {words}. If it held: {row['sentence']}"
    changed = {"state": "open", "sure": False, "reason": CONTRADICTED, "sentence": sentence}
    return row | changed


def stated_by_group(rows: pd.DataFrame, agent: str, cost_unit: str) -> str:
    """Costs of the named policy in each group, and the largest differences; empty without groups.

    Args:
        rows: by group, of one scenario and seed, by the estimator that is read.
        agent: that is named.
        cost_unit: of the data set.
    """
    of_agent = rows[(rows["agent"] == agent) & (rows["status"] == "ok")]
    single = of_agent[(of_agent["group"] != "") & (of_agent["other"] == "")]
    costs = single[single["quantity"] == "cost"]
    if not len(costs):
        return ""
    unit = _of(cost_unit)
    each = ", ".join(
        f"{group} {number(value)}"
        for group, value in zip(costs["group"], costs["estimate"], strict=True)
    )
    pairs = of_agent[(of_agent["other"] != "") & (of_agent["quantity"] == "cost")]
    pairs = pairs.sort_values("estimate", key=abs, ascending=False, kind="stable")
    differences = [
        f"{first} costs {_gap(value, low, high)}{unit} more than {second}"
        if value >= 0
        else f"{second} costs {_gap(-value, -high, -low)}{unit} more than {first}"
        for first, second, value, low, high in pairs[
            ["group", "other", "estimate", "ci_low", "ci_high"]
        ]
        .head(1)
        .itertuples(index=False)
    ]
    largest = of_agent[of_agent["group"] == ""]
    differences += [
        f"{plain(name)} gap {_gap(value, low, high)}"
        for name, value, low, high in largest[
            ["quantity", "estimate", "ci_low", "ci_high"]
        ].itertuples(index=False)
    ]
    caution = small_groups(dict(zip(costs["group"], costs["ess"], strict=True)))
    return (
        f"By group, {plain(agent)} costs{unit} a case: {each}; {'; '.join(differences)}.{caution}"
    )


def small_groups(rows: Mapping[str, float | int]) -> str:
    """Groups with too few rows for their numbers, after a blank; empty without any.

    Args:
        rows: group → rows that its number is as informative as.
    """
    few = [f"{group} ({size:.0f})" for group, size in rows.items() if size < LEAST_ESS]
    return f" Effective sample size below {LEAST_ESS:g}: {', '.join(few)}." if few else ""


def _gap(value: object, low: object, high: object) -> str:
    return f"{number(value)} ({number(low)} to {number(high)})"


def _tip(tipping: pd.DataFrame, estimator: str, agent: str) -> dict[str, object]:
    """Γ at which the verdict tips, and to whom."""
    (row,) = tipping[tipping["estimator"] == estimator].to_dict("records")
    assert row["agent"] == agent, "bug: another policy was named"
    return {name: row[name] for name in ("tipping_gamma", "tipping_other")}


def _nothing(rows: pd.DataFrame, order: Sequence[str]) -> dict[str, object]:
    """The row where no estimator can be read: why, by the one that would be read first."""
    first = rows[rows["estimator"] == order[0]]
    reasons = first.loc[first["reason"] != "", "reason"]
    why = (
        reasons.iloc[0]
        if len(reasons)
        else (
            f"the effective sample size is below {LEAST_ESS:g}, or one row carries "
            f"over {LARGEST_SHARE:.0%} of the weight"
        )
    )
    return _EMPTY | {
        "left_out": ",".join(sorted(set(rows["agent"]))),
        "n": int(rows["n"].iloc[0]),
        "reason": why,
        "sentence": f"Open: {why.rstrip('.')}.",
    }


def _sentence(row: Mapping[str, object], words: Words) -> str:
    """The answer in words."""
    agent, unit = plain(row["agent"]), _of(words.cost_unit)
    estimate, low, high = (float(str(row[key])) for key in ("estimate", "ci_low", "ci_high"))
    cost = f"{number(estimate)}{unit} a case ({interval(low, high)})"
    read = words.estimators[str(row["estimator"])]
    rests = f"Read from {read}; effective sample size {_effective(row['ess'], row['n'])}"
    out = str(row["left_out"]).split(",") if row["left_out"] else []
    left = f" Left out, on too few rows: {', '.join(map(plain, out))}." if out else ""
    if not row["runner_up"]:
        return f"Only {agent} can be judged: {cost}. {rests}.{left}"
    state: State = row["state"]  # pyright: ignore[reportAssignmentType]
    rest = [name for name in str(row["not_worse"]).split(",") if name != row["agent"]]
    rest = rest or [str(row["runner_up"])]
    state_words = how_sure(
        state,
        [agent, *map(plain, rest)],
        margin=words.margin,
        most=of_cost(float(str(row["bound"])), estimate, words.cost_unit, words.margin),
        value_of_knowing=of_cost(float(str(row["worth"])), 0.0, words.cost_unit),
    )
    if state == "best":
        ends = (float(str(row[f"difference_{end}"])) for end in ("low", "high"))
        saving = number(float(str(row["difference"])))
        state_words += (
            f" The next, {plain(row['runner_up'])}, costs {saving}{unit} ({interval(*ends)}) more."
        )
        rests += f"; {_hidden(row, words)}"
    return f"Use {agent}: {cost}. {state_words} {rests}.{left}"


def _hidden(row: Mapping[str, object], words: Words) -> str:
    """Strength of hidden causes that would change the verdict."""
    gamma = float(str(row["tipping_gamma"]))
    if np.isfinite(gamma):
        return f"it would change if hidden causes shifted the odds of a set by {gamma:.2g}"
    return f"it would not change if hidden causes shifted the odds of a set by {words.most_gamma:g}"


def plain(name: object) -> str:
    """A name without underscores."""
    return str(name).replace("_", " ")


def joined(names: Sequence[str]) -> str:
    """Names with "and" before the last."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def number(value: object) -> str:
    """Three figures, thousands by a comma; 0 for None."""
    figures = float(f"{float(str(value or 0)):.3g}")
    return f"{figures:,.12g}"


def percent(share: float) -> str:
    """A share in whole hundredths."""
    if 0 < share < 0.005:
        return "less than 1 %"
    return f"{100 * share:.0f} %"


def interval(low: float, high: float) -> str:
    """From one number to another."""
    return f"{number(low)} to {number(high)}"


def _of(unit: str) -> str:
    return f" {unit}" if unit else ""


def _effective(ess: object, n: object) -> str:
    """Effective sample size of all rows; to two figures from 100 on, all are not rounded."""
    rows, value = int(str(n)), float(str(ess))
    if value >= rows - 0.5:
        return f"{rows:,} of {rows:,}"
    return f"{value if value < 100 else float(f'{value:.2g}'):,.0f} of {rows:,}"
