"""The habit of ordering: whether panels are recorded by it, and how much a policy owes to it.

The test is made for every answer; the rest, the audit, on request. Numbers are of
`judge/habits.py`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd

from frugal.answer.candidates import PRACTICE
from frugal.answer.evidence import Evidence, Judged
from frugal.answer.part import Part, Section, Shown
from frugal.answer.requirements import variant_of
from frugal.core.table import Table
from frugal.judge.choice import Candidates
from frugal.judge.fairness import IntervalEstimate
from frugal.judge.habits import differences, habits, pattern_area, savings, vanishing
from frugal.judge.prices import ExtraCosts
from frugal.judge.semi_offline import Paths
from frugal.judge.verdicts import joined, number, percent
from frugal.learn.record_law import LEVEL, RecordLaw

Judge = Callable[[RecordLaw, Mapping[str, Paths]], Candidates]
NAME = "habit"
SHOWN = 3  # panels that a sentence names
NORMAL = 1.645  # one-sided quantile of 95 %


def _content(judged: Judged) -> dict[str, Any]:
    """The test, and the whole audit where it was requested."""
    return _tested(judged.evidence) | ({} if judged.requested(NAME) is None else _audited(judged))


def _tested(evidence: Evidence) -> dict[str, Any]:
    """The test of every panel with gaps: `state`, and panel → its association or None.

    On the rows that have a label.
    """
    data, observed = evidence.table, evidence.observed
    names, has = [panel.name for panel in data.actions], data.labelled
    associations = habits(
        observed[has],
        data.label[has],
        evidence.varying[has],
        evidence.stored.fold[has],
        _numbered(evidence.cluster, has),
        evidence.streams.generator("habits"),
    )
    panels: dict[str, Any] = {names[j]: None for j in np.flatnonzero(~observed.all(axis=0))}
    for test in associations:
        panels[names[test.panel]] = {
            "class": data.classes[test.label],
            "z": test.z,
            "p": test.p,
            "difference": test.difference,
        }
    least = min((test.p for test in associations), default=None)
    state = "untested" if least is None else "found" if least <= LEVEL else "none"
    return {"state": state, "panels": panels}


def _numbered(cluster: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    """Clusters of some rows, numbered from 0 on; None where each row is its own."""
    return None if cluster is None else np.unique(cluster[rows], return_inverse=True)[1]


def _audited(judged: Judged) -> dict[str, Any]:
    """The audit, which is made on request, in plain JSON values.

    From the paths of the named policy, of practice, of the policy without each panel, and of the
    policy where requests fail; see `candidates.audited`.
    """
    chosen, evidence, followed = judged.chosen, judged.evidence, judged.paths
    record_law, data, judge = evidence.law, evidence.table, evidence.judge
    policy, candidates, names = chosen.policy, chosen.candidates, [p.name for p in data.actions]
    fold, cluster = record_law.fold, candidates.cluster
    classes = range(1 if len(data.classes) == 2 else 0, len(data.classes))
    benefit = savings(candidates, policy)
    variant = variant_of(policy)
    order = followed[variant._replace(without="").key]
    failed = order.requested(len(names)) & ~order.acquired
    panel_of = {variant._replace(without=name).key: name for name in names}
    results = judge(record_law, {n: followed[n] for n in (policy, *panel_of, PRACTICE)})
    has = data.labelled
    able = [name for name in panel_of if name in results.outcomes]
    more = differences(results, policy, able, evidence.streams.generator("withheld"))
    return {
        "label": {
            data.classes[c]: _plain(
                pattern_area(
                    record_law.observed[has],
                    data.label[has] == c,
                    fold[has],
                    _numbered(cluster, has),
                )
            )
            for c in classes
        },
        "benefit": _plain(pattern_area(record_law.observed, benefit > 0, fold, cluster)),
        "withheld": {
            name: {"cost": chosen.cost + more[one].value, **asdict(more[one])}
            if one in more
            else None
            for one, name in panel_of.items()
        },
        "failing": {
            name: {"share": float(failed[:, j].mean()), "price": _paid(failed, j, data)}
            for j, name in enumerate(names)
        },
        "saving": _saving(record_law, judge, followed, policy),
    }


def _paid(failed: np.ndarray, j: int, data: Table) -> float:
    """Cost of failed requests of a panel, per case, set-ups left out."""
    price = ExtraCosts.of(data).flat(data.action_cost)[j] + data.fee[:, j]
    return float((failed[:, j] * price).mean())


def _saving(
    record_law: RecordLaw, judge: Judge, followed: Mapping[str, Paths], policy: str
) -> dict[str, Any] | None:
    """The saving with and without the label among the causes of gaps; None if not judged so.

    Nor is it where labels are missing, which then cannot cause gaps.
    """
    if record_law.labels is not None:
        return None
    some = [not column.all() for column in record_law.observed.T]
    named = {name: followed[name] for name in (policy, PRACTICE)}
    by_known, by_label = (
        judge(
            replace(
                record_law,
                causes=[
                    replace(one, label=label and gappy)
                    for one, gappy in zip(record_law.causes, some, strict=True)
                ],
                _sets={},
            ),
            named,
        )
        for label in (False, True)
    )
    if policy not in by_known.outcomes or policy not in by_label.outcomes:
        return None
    lost = vanishing(by_known, by_label, policy)
    saving = by_known.cost(PRACTICE) - by_known.cost(policy)
    covariance = by_known.covariance([PRACTICE, policy])
    error = np.sqrt(max(float(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]), 0.0))
    clear = saving > NORMAL * error
    return {
        "by_known": saving,
        "by_label": saving - lost.value,
        "difference": asdict(lost),
        "share": lost.value / saving if clear else None,
    }


def _plain(area: IntervalEstimate | None) -> dict[str, float] | None:
    return None if area is None else asdict(area)


def _remark(habit: Mapping[str, Any]) -> str:
    """A sentence where a habit is found, else nothing."""
    ranked = sorted(
        (
            (part["p"], -abs(part["z"]), name, part)
            for name, part in habit["panels"].items()
            if part is not None and part["p"] <= LEVEL
        ),
        key=lambda each: each[:3],
    )
    if not ranked:
        return ""
    shown = [
        f"{name} is recorded {100 * abs(part['difference']):.0f} points "
        f"{'more' if part['difference'] > 0 else 'less'} often for {part['class']!r}"
        for _, _, name, part in ranked[:SHOWN]
    ]
    return (
        f"The records show a habit of ordering: among cases with equal known columns, "
        f"{joined(shown)}."
    )


def _rests(shown: Shown) -> list[str]:
    """A habit that is found, where the audit does not state it."""
    habit = shown.choice[NAME]
    if "withheld" in habit or not (sentence := _remark(habit)):
        return []
    return [f"{sentence} audit_habit=true shows how much the policy owes to it."]


def _sentences(shown: Shown) -> list[str]:
    """The audit in at most four sentences; none where it was not requested."""
    choice, unit = shown.choice, shown.unit
    habit = choice[NAME]
    if "withheld" not in habit:
        return []
    return [
        _remark(habit) or _none_found(habit),
        *_pattern(habit),
        *_withheld(choice, unit),
        _failing(habit, unit),
    ]


def _none_found(habit: Mapping[str, Any]) -> str:
    if habit["state"] == "untested":
        return "No panel has enough records with and without it to test for a habit of ordering."
    least = min(part["p"] for part in habit["panels"].values() if part is not None)
    return (
        "No habit of ordering is found: among cases with equal known columns, no panel's being "
        f"recorded is associated with the label (smallest p {least:.2g})."
    )


def _pattern(habit: Mapping[str, Any]) -> Iterator[str]:
    areas = [
        f"{name!r} with an AUROC of {part['value']:.2f} ({part['low']:.2f} to {part['high']:.2f})"
        for name, part in habit["label"].items()
        if part is not None
    ]
    if areas:
        yield f"Which panels were recorded alone predicts {joined(areas)}."


def _withheld(choice: Mapping[str, Any], unit: str) -> Iterator[str]:
    """The panels without which the policy costs most more."""
    each = {n: part for n, part in choice[NAME]["withheld"].items() if part and part["value"]}
    ranked = sorted(each, key=lambda name: -each[name]["value"])[:SHOWN]
    f1 = choice["objective"] == "f1"
    shown = [
        f"without {name} {_more(each[name], f1)}" for name in ranked if each[name]["value"] > 0
    ]
    lost = choice[NAME]["saving"]
    share = (
        ""
        if lost is None or lost["share"] is None
        else (f"; {percent(max(lost['share'], 0.0))} of its saving is carried by the habit")
    )
    if shown:
        verb = "reaches less F1" if f1 else f"costs more ({unit} a case)"
        yield f"The policy {verb} {joined(shown)}{share}."
    elif share:
        yield f"No panel is missed{share}."


def _more(part: Mapping[str, float], f1: bool) -> str:
    if f1:
        return f"{part['value']:.2f} ({part['low']:.2f} to {part['high']:.2f})"
    return f"{number(part['value'])} ({number(part['low'])} to {number(part['high'])})"


def _failing(habit: Mapping[str, Any], unit: str) -> str:
    """Requests that records do not answer."""
    each = habit["failing"]
    ranked = sorted(each, key=lambda name: -each[name]["price"])[:SHOWN]
    shown = [f"{name} {percent(each[name]['share'])}" for name in ranked if each[name]["share"]]
    if not shown:
        return "At today's availability no request would fail."
    paid = sum(part["price"] for part in each.values())
    return (
        f"At today's availability, requests would fail in these shares of cases: {joined(shown)}; "
        f"paid for all of them {number(paid)} {unit} a case."
    )


def _table(shown: Shown) -> pd.DataFrame | None:
    """A row for each panel; None where the audit was not requested."""
    habit, unit = shown.choice[NAME], shown.unit
    if "withheld" not in habit:
        return None
    rows = []
    for name, without in habit["withheld"].items():
        test, failing = habit["panels"].get(name), habit["failing"][name]
        rows.append(
            {
                "panel": name,
                "recorded for": "" if test is None else _points(test),
                "p": "" if test is None else f"{test['p']:.2g}",
                "requests that fail": percent(failing["share"]),
                f"paid for them, {unit}": failing["price"],
                "more without it": "" if without is None else number(without["value"]),
                "95 %": ""
                if without is None
                else f"{number(without['low'])} to {number(without['high'])}",
            }
        )
    return pd.DataFrame(rows)


def _points(test: Mapping[str, Any]) -> str:
    return f"{test['class']} {100 * test['difference']:+.0f} points"


HABIT = Part(
    name="habit",
    place=60,
    content=_content,
    settings={
        "audit_habit": (
            "Switch",
            "whether the answer reports the policy's gain from the habit of ordering panels",
        )
    },
    paths={"without_panels": "audit_habit"},
    rests=_rests,
    agrees=lambda shown: "the habit of ordering" if shown.choice[NAME]["state"] == "found" else "",
    section=Section(
        "The habit of ordering", _sentences, ("The habit of ordering, panel by panel", _table)
    ),
)
