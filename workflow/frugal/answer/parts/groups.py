"""Costs of the named policy, and of practice, in each group of `sensitive`."""

from typing import Any

import numpy as np

from frugal.answer.candidates import PRACTICE
from frugal.answer.documents import interval_of
from frugal.answer.evidence import Judged, on_rows
from frugal.answer.part import Part, Shown
from frugal.data.tables import EVERY
from frugal.judge.comparisons import LEVEL
from frugal.judge.intervals import normal_interval
from frugal.judge.verdicts import interval, number, small_groups


def _content(judged: Judged) -> dict[str, Any]:
    """Group of a unit → its rows, costs of the named policy and of practice there."""
    chosen, stored = judged.chosen, judged.evidence.stored
    ill = judged.evidence.table.label > 0
    if not stored.group_names:
        return {}
    group, candidates = stored.groups(EVERY), chosen.candidates
    costs_by_group: dict[str, Any] = {}
    for k, name in enumerate(stored.group_names):
        inside = group == k
        if inside.sum() < 2 or (candidates.score == "f1" and not ill[inside].any()):
            continue  # F1 is not defined without a positive
        part = on_rows(candidates, inside)
        costs_by_group[name] = {"rows": int(inside.sum())}
        for label, who in (("policy", chosen.policy), ("practice", PRACTICE)):
            error = np.sqrt(np.diag(part.covariance([who])))
            low, high = normal_interval(np.array([part.cost(who)]), error, level=LEVEL)
            ends = interval_of(float(low[0]), float(high[0]), candidates)
            costs_by_group[name][label] = {"cost": part.cost(who)} | ends
    return costs_by_group


def _last(shown: Shown) -> list[str]:
    """Cost of the named policy in each group, or its F1 there."""
    choice, each = shown.choice, []
    f1 = choice["objective"] == "f1"
    for name, group in choice["groups"].items():
        new, old = group["policy"], group["practice"]
        low, high = new["ci_low"], new["ci_high"]
        if f1:
            costs = f"{1 - new['cost']:.2f} ({1 - high:.2f} to {1 - low:.2f}; today "
            costs += f"{1 - old['cost']:.2f})"
        else:
            costs = f"{number(new['cost'])} ({interval(low, high)}; today {number(old['cost'])})"
        each.append(f"{name} {costs}")
    if not each:
        return []
    few = small_groups({name: group["rows"] for name, group in choice["groups"].items()})
    quantity = "F1" if f1 else f"Cost in {shown.unit} a case"
    return [f"{quantity} by group: {', '.join(each)}.{few}"]


GROUPS = Part(name="groups", place=20, content=_content, last=_last)
