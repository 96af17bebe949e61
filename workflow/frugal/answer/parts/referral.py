"""Cases that the named policy hands to a person, at a price, and with a bound on the others."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from frugal.answer.candidates import PRACTICE
from frugal.answer.evidence import Judged
from frugal.answer.part import Part, Section, Shown
from frugal.answer.requirements import variant_of
from frugal.judge.habits import differences
from frugal.judge.referral import by_pattern
from frugal.judge.verdicts import interval, number, percent

NAME = "referral"
SHOWN = 20  # patterns of the table


def _content(judged: Judged) -> dict[str, Any] | None:
    """Share of cases that the policy refers, its saving, and the bound, in plain JSON values.

    The policy is compared with the same that decides every case. The bound is of the same where
    only recorded panels can be had.
    """
    settings, evidence = judged.requested(NAME), judged.evidence
    if settings is None:
        return None
    policy, price, risk = judged.chosen.policy, settings["refer"], settings["refer_risk"]
    deciding, data = "the same without a person", evidence.table
    results = evidence.judge(
        evidence.law,
        {
            policy: judged.paths[policy],
            deciding: judged.deciding[policy],
            PRACTICE: judged.paths[PRACTICE],
        },
    )
    share = float(np.clip(results.outcomes[policy].mean[-1], 0.0, 1.0))
    rng = evidence.streams.generator("referral")
    saving = asdict(differences(results, policy, [deciding], rng)[deciding])
    content = {"price": price, "risk": risk, "share": share, "saving": saving, "patterns": None}
    recorded_only = variant_of(policy)._replace(recorded_only=True).key
    if (within_records := judged.paths.get(recorded_only)) is None:
        return content
    rows = data.label, evidence.stored.fold, evidence.observed
    names = [panel.name for panel in data.actions]
    patterns = by_pattern(within_records, *rows, evidence.errors, price=price, bound=risk)
    content["patterns"] = list(patterns)
    for entry in content["patterns"]:
        entry["missing"] = entry["missing"] and [names[j] for j in entry["missing"]]
    return content


def _sentences(shown: Shown) -> list[str]:
    """By the price alone, then with the bound; none without referral."""
    content, unit = shown.choice[NAME], shown.unit
    if content is None:
        return []
    saving = content["saving"]
    lines = [
        f"It hands {percent(content['share'])} of cases to a person for {number(content['price'])} "
        f"{unit} each, {number(content['share'] * content['price'])} a case. Saving against "
        f"deciding all: {number(saving['value'])} a case "
        f"({interval(saving['low'], saving['high'])}, 95 %)."
    ]
    if each := content["patterns"]:
        rows = sum(entry["rows"] for entry in each)
        errors, share = (
            sum(entry["rows"] * entry[key] for entry in each) / rows for key in ("errors", "share")
        )
        worst = number(max(entry["errors"] for entry in each))
        among = f"in the mean of {len(each)} patterns, {worst} in the worst"
        among = among if len(each) > 1 else "in all patterns together"
        lines.append(
            f"Where missing panels cannot be had, thresholds for each pattern keep the expected "
            f"cost of errors without a person at {number(content['risk'])} {unit} a case or less: "
            f"{number(errors)} {among}, "
            f"{percent(share)} of cases referred."
        )
    return lines


def _table(shown: Shown) -> pd.DataFrame | None:
    """A row for each of the commonest patterns; None without a bound."""
    content, unit = shown.choice[NAME], shown.unit
    if content is None or not content["patterns"]:
        return None
    rows = [
        {
            "missing": "rarer patterns"
            if entry["missing"] is None
            else ", ".join(entry["missing"]) or "none",
            "rows": f"{entry['rows']:,}",
            "referred": percent(entry["share"]),
            f"errors, {unit}": number(entry["errors"]),
            "standard error": "" if entry["std_error"] is None else number(entry["std_error"]),
            "errors if all are decided": number(entry["before"]),
            f"refer from, {unit}": number(entry["threshold"]),
        }
        for entry in content["patterns"][:SHOWN]
    ]
    return pd.DataFrame(rows)


REFERRAL = Part(
    name="referral",
    place=50,
    content=_content,
    settings={
        "refer": (
            "Amount",
            "price of handing a case to a person, in the unit of prices; a policy does so at its "
            "end where its decision is expected to cost as much",
        ),
        "refer_risk": (
            "Amount",
            "with `refer`, most that errors without a person may cost a case on average, for each "
            "pattern of missing panels",
        ),
    },
    needs={"refer": ("cost", "person"), "refer_risk": ("refer", "classes", "independent")},
    paths={"recorded_only": "refer_risk"},
    person=lambda settings: settings["refer"],
    section=Section(
        "Cases for a person",
        _sentences,
        ("Cases for a person, by pattern of missing panels", _table),
    ),
)
