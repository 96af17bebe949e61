"""Cases that the named policy hands to a person: the part of the answer on them."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.table import Table
from frugal.judge.choice import Candidates
from frugal.judge.habits import differences
from frugal.judge.referral import by_pattern
from frugal.judge.semi_offline import Paths
from frugal.judge.verdicts import interval, number, percent
from frugal.learn.record_law import RecordLaw

SHOWN = 20  # patterns of the table


def judged(
    together: Candidates,
    deciding: str,
    within_records: Paths | None,
    record_law: RecordLaw,
    data: Table,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Share of cases that a policy refers, its saving, and the bound, in plain JSON values.

    Args:
        together: the policy, and the same that decides every case.
        deciding: name of the latter.
        within_records: the same where only recorded panels can be had; None: no bound.
        record_law: of the missingness.
        data: the table.
        settings: `price` and `risk`.
        rng: of the quantiles.
    """
    (policy,) = (name for name in together.names if name != deciding)
    share = float(np.clip(together.outcomes[policy].mean[-1], 0.0, 1.0))
    saving = asdict(differences(together, policy, [deciding], rng)[deciding])
    content = {**settings, "share": share, "saving": saving, "patterns": None}
    if within_records is None:
        return content
    price, bound, errors = settings["price"], settings["risk"], data.misclassification_cost
    rows = data.label, record_law.fold, record_law.observed
    names = [panel.name for panel in data.actions]
    content["patterns"] = list(by_pattern(within_records, *rows, errors, price=price, bound=bound))
    for entry in content["patterns"]:
        entry["missing"] = entry["missing"] and [names[j] for j in entry["missing"]]
    return content


def sentences(choice: Mapping[str, Any], unit: str) -> list[str]:
    """By the price alone, then with the bound; none without referral."""
    content = choice["referral"]
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


def table(choice: Mapping[str, Any], unit: str) -> pd.DataFrame | None:
    """A row for each of the commonest patterns; None without a bound."""
    content = choice["referral"]
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
