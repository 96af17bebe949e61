"""Ranges of prices and of costs of errors, as the YAML states them, and their effect."""

from typing import Any

import numpy as np

from frugal.answer.evidence import Judged
from frugal.answer.part import Part, Shown
from frugal.answer.requirements import variant_of
from frugal.answer.words import SHOWN, error_words, without_version
from frugal.judge.verdicts import number, percent


def _content(judged: Judged) -> dict[str, Any] | None:
    """Effect of ranges of unit costs on the choice; None where all costs are known, and of F1."""
    candidates, data = judged.chosen.candidates, judged.evidence.table
    box = judged.evidence.price_box(candidates)
    if box is None or candidates.score == "f1":
        return None
    mean, names = candidates.means, candidates.names
    wide = np.flatnonzero(box.uncertain).tolist()
    along = {data.unit_cost_names[k]: box.cheapest_between(mean, k) for k in wide}
    return {
        "ranges": {data.unit_cost_names[k]: [float(box.low[k]), float(box.high[k])] for k in wide},
        "regret": dict(zip(names, box.worst_regret(mean).tolist(), strict=True)),
        "share_cheapest": dict(zip(names, box.share_cheapest(mean).tolist(), strict=True)),
        "cheapest_where": {
            name: {cost: list(ends) for cost, each in along.items() if (ends := each[place])}
            for place, name in enumerate(names)
        },
    }


def _document(ranges: dict[str, Any] | None) -> dict[str, Any] | None:
    """Effect of ranges of costs, with names of candidates without versions."""
    if ranges is None:
        return None
    by_policy = ("regret", "share_cheapest", "cheapest_where")
    return ranges | {
        key: {variant_of(name).agent: value for name, value in ranges[key].items()}
        for key in by_policy
    }


def _changes(shown: Shown) -> list[str]:
    """Regret of the named policy over the ranges of costs, and where another one is cheaper."""
    ranges, named = shown.choice["uncertain_prices"], shown.choice["policy"]
    if ranges is None:
        return []
    share = ranges["share_cheapest"]
    policy, kinds = without_version(named), error_words(shown.classes, "a false alarm")
    others = sorted((n for n in share if n != named and share[n] > 0), key=lambda n: -share[n])
    each = []
    for name in others[:SHOWN]:
        where = [
            f"{kinds.get(cost, cost)} costs {number(low)} to {number(high)}"
            for cost, (low, high) in ranges["cheapest_where"][name].items()
        ]
        example = f" (for example where {where[0]})" if where else ""
        each.append(f"{without_version(name)} in {percent(share[name])} of them{example}")
    if not each:
        return [f"{policy} is the cheapest policy for all costs within their ranges."]
    return [
        f"Wherever costs lie within their ranges, {policy} costs at most "
        f"{number(ranges['regret'][named])} {shown.unit} a case more than the cheapest policy. "
        f"Another one is the cheapest in part of the ranges: {'; '.join(each)}."
    ]


UNCERTAIN_PRICES = Part(
    name="uncertain_prices", place=40, content=_content, document=_document, changes=_changes
)
