"""The value of each panel: orders, money, decisions, and the cost of a policy without it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from frugal.answer.candidates import PRACTICE
from frugal.answer.evidence import Evidence, Judged, acts
from frugal.answer.part import Part, Section, Shown
from frugal.answer.requirements import Variant, variant_of
from frugal.core.schema_check import as_item
from frugal.judge.fairness import IntervalEstimate
from frugal.judge.panel_worth import changed_decisions, joint_intervals, price_that_pays
from frugal.judge.semi_offline import path_probability
from frugal.judge.verdicts import interval, joined, number, percent

NAME = "panel_worth"
HEADING = "Panels that could go, and the value of each"
ORDERED = 0.005  # share of cases from which a panel counts as ordered
LEARNED = "a policy learned without it changes the cost of a case by"
SHOWN = 3  # panels or pairs that a sentence names
Sums = Mapping[Any, Mapping[Variant, float]]


def _content(judged: Judged) -> dict[str, Any] | None:
    """Panel → its row of the ledger; pairs that the policy without one of them orders.

    None where it was not requested.
    """
    if judged.requested(NAME) is None:
        return None
    evidence, policy, candidates = judged.evidence, judged.chosen.policy, judged.chosen.candidates
    named, names = variant_of(policy), [panel.name for panel in evidence.table.actions]
    a = len(names)
    pairs = [*combinations(range(a), 2)]
    out = [named._replace(without=name) for name in names]
    again = {
        panels: named._replace(withheld=panels) for panels in [*((j,) for j in range(a)), *pairs]
    }
    acting = _acting(evidence, policy, [*out, *again.values()])
    learned = [j for j in range(a) if again[j,] in acting or out[j] not in acting]
    pairs = [pair for pair in pairs if again[pair] in acting and {*pair} <= {*learned}]
    single, outage, of_pair, more = _intervals(
        evidence,
        policy,
        acting,
        {j: {again[j,]: 1.0, named: -1.0} for j in learned},
        {j: {out[j]: 1.0, named: -1.0} for j in range(a)},
        {pair: {again[pair]: 1.0, named: -1.0} for pair in pairs},
        {
            (j, k): {again[j, k]: 1.0, again[j,]: -1.0, again[k,]: -1.0, named: 1.0}
            for j, k in pairs
        },
    )
    shares, ordered = candidates.outcomes[policy].shares(a), evidence.shares(judged.handed_out)
    today = candidates.outcomes[PRACTICE].shares(a)
    price, changes = evidence.table.action_cost, shares * _changes(evidence, policy)
    each = np.divide(_paid(judged), shares, out=price.copy(), where=shares > 0)  # when ordered
    paid = ordered * each
    return {
        "panels": {
            name: {
                "price": float(price[j]),
                "ordered": float(ordered[j]),
                "today": float(today[j]),
                "paid": float(paid[j]),
                "changes": float(changes[j]),
                "worth": _plain(single.get(j)),
                "pays_to": _plain(price_that_pays(float(price[j]), single[j], float(shares[j])))
                if j in single and shares[j] >= ORDERED
                else None,
                "outage": _plain(outage.get(j)),
            }
            for j, name in enumerate(names)
        },
        "pairs": [
            {
                "panels": [names[j] for j in pair],
                "worth": _plain(of_pair[pair]),
                "more": _plain(more[pair]),
            }
            for pair in more
        ],
    }


def _acting(evidence: Evidence, policy: str, others: Sequence[Variant]) -> dict[Variant, str]:
    """Of policies that act otherwise than the named one: the first that acts as they do."""
    first = {tuple(acts(each[policy]) for each in evidence.followed): policy}
    acting = {}
    for who in others:
        if who.key in evidence.followed[0]:
            how = tuple(acts(each[who.key]) for each in evidence.followed)
            acting[who] = first.setdefault(how, who.key)
    return {who: key for who, key in acting.items() if key != policy}


def _intervals(
    evidence: Evidence, policy: str, acting: Mapping[Variant, str], *families: Sums
) -> Iterator[dict[Any, IntervalEstimate]]:
    """Sums of costs, those of a family jointly; a policy that `acting` lacks is the named one.

    Sums with a policy that too few records follow are left out.
    """
    results = evidence.judge_all(evidence.law, [*dict.fromkeys([policy, *acting.values()])])
    rng = evidence.streams.generator(NAME)
    for family in families:
        sums: dict[Any, dict[str, float]] = {}
        for of, factors in family.items():
            by_path = {policy: 0.0}
            for who, factor in factors.items():
                key = acting.get(who, policy)
                by_path[key] = by_path.get(key, 0.0) + factor
            if {*by_path} <= {*results.names}:
                sums[of] = by_path
        yield dict(zip(sums, joint_intervals(results, [*sums.values()], rng), strict=True))


def _paid(judged: Judged) -> Float[np.ndarray, " a"]:
    """Money for each panel a case by the policies that were judged, set-ups left out. (a,)"""
    candidates, extra = judged.chosen.candidates, judged.evidence.extra
    outcome, a = candidates.outcomes[judged.chosen.policy], len(candidates.price)
    paid = outcome.shares(a) * candidates.price
    fees = a + candidates.errors.size + np.arange(len(extra.unit))[len(extra.shared.cost) :]
    paid[extra.panel] += outcome.mean[fees] * candidates.unit_costs[fees]
    return paid


def _changes(evidence: Evidence, policy: str) -> Float[np.ndarray, " a"]:
    """Mean of `changed_decisions` over the divisions into folds. (a,)"""
    each = []
    for law, paths in zip(evidence.laws(evidence.law), evidence.followed, strict=True):
        path = paths[policy].within(law)
        each.append(changed_decisions(path, path_probability(path, law), evidence.errors))
    return np.mean(each, axis=0)


def _plain(estimate: IntervalEstimate | None) -> dict[str, float] | None:
    return None if estimate is None else asdict(estimate)


def _sentences(shown: Shown) -> list[str]:
    """Which panel could go, and which two may not go together; none where not requested."""
    ledger = shown.choice[NAME]
    if ledger is None:
        return []
    return [_first(ledger["panels"], shown), *_stand_ins(ledger["pairs"], shown.unit)]


def _first(rows: Mapping[str, Any], shown: Shown) -> str:
    """The panel to drop: one that is not ordered, or of which all of the interval is negligible."""
    negligible = shown.choice["margin"] * shown.choice["cost"]
    spared = [name for name, row in rows.items() if row["ordered"] < ORDERED]
    learned = [name for name, row in rows.items() if row["worth"] and name not in spared]
    ranked = sorted(learned, key=lambda name: rows[name]["worth"]["value"])
    small = [name for name in ranked if rows[name]["worth"]["high"] <= negligible]
    words = []
    if spared:
        them = "it" if len(spared) == 1 else "them"
        words.append(f"Drop {_names(spared)}: the policy does not order {them}.")
    if small:
        start = "You could also drop" if spared else "Drop"
        words.append(
            f"{start} {as_item(small[0])}: {LEARNED} {_change(rows[small[0]], shown.unit)}, so "
            f"raises it by at most {percent(shown.choice['margin'])}."
        )
    elif ranked:
        sure = any(rows[name]["worth"]["low"] <= 0 for name in ranked)
        first, *others = [(as_item(n), _change(rows[n], shown.unit)) for n in ranked[:SHOWN]]
        each = [f"Closest is {first[0]}: {LEARNED} {first[1]}"]
        each += [f"without {name} by {change}" for name, change in others]
        start = f"{'No other' if spared else 'No'} panel can {'surely ' * sure}go."
        words.append(f"{start} {'; '.join(each)}.")
    elif len(spared) < len(rows):
        words.append("The value of the others is not known: too few records follow the policy ")
        words[-1] += "that learned without them, or such a policy is not learned again."
    return " ".join(words)


def _change(row: Mapping[str, Any], unit: str) -> str:
    """Of the cost of a case, with its interval."""
    value, low, high = (row["worth"][key] for key in ("value", "low", "high"))
    return f"{number(value)} {unit} (95 %: {interval(low, high)})"


def _names(panels: Sequence[str]) -> str:
    more = len(panels) - SHOWN
    each = [as_item(name) for name in panels[:SHOWN]] + [f"{more} more"] * (more > 0)
    return joined(each)


def _stand_ins(pairs: Sequence[Mapping[str, Any]], unit: str) -> Iterator[str]:
    """Pairs of which the value surely exceeds the sum of both values."""
    clear = [pair for pair in pairs if pair["more"]["low"] > 0]
    each = [
        f"{joined([*map(as_item, pair['panels'])])} (both {number(pair['worth']['value'])} {unit} "
        f"a case, {number(pair['more']['value'])} more than the sum)"
        for pair in sorted(clear, key=lambda pair: -pair["more"]["value"])[:SHOWN]
    ]
    if each:
        yield f"Keep one of two that stand in for each other: {'; '.join(each)}."


def _table(shown: Shown) -> pd.DataFrame | None:
    """A row for each panel, the most valuable first; None where it was not requested."""
    ledger, unit = shown.choice[NAME], shown.unit
    if ledger is None:
        return None

    def cell(estimate: Mapping[str, float] | None) -> str:
        if estimate is None:
            return ""
        ends = estimate["low"], estimate["high"]
        return number(estimate["value"]) + (f" ({interval(*ends)})" if ends[0] < ends[1] else "")

    rows = ledger["panels"].items()
    return pd.DataFrame(
        [
            {
                "panel": name,
                f"price, {unit}": number(row["price"]),
                "ordered": percent(row["ordered"]),
                "today": percent(row["today"]),
                "paid a case": number(row["paid"]),
                "changes the decision": percent(row["changes"]),
                "value a case (95 %)": cell(row["worth"]),
                "pays at least up to": cell(row["pays_to"]),
                "outage costs a case": cell(row["outage"]),
            }
            for name, row in sorted(rows, key=lambda r: -(r[1]["worth"] or {"value": 0})["value"])
        ]
    )


PANEL_WORTH = Part(
    name="panel_worth",
    place=5,
    content=_content,
    settings={
        "panel_worth": (
            "Switch",
            "whether the answer states the value of each panel, and which one could go",
        )
    },
    needs={"panel_worth": ("cost",)},
    paths={"withheld": "panel_worth", "without_panels": "panel_worth"},
    section=Section(HEADING, _sentences, (HEADING, _table)),
)
