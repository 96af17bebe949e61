"""`python -m frugal advise` for policies over time: panels to order now for each unit, and why.

Needs the folder that `snakemake over_time` calls `policy`, and two files like the records.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import ConfigError, DataError, say
from frugal.core.stored import Array, Each, OrNull, Stored, part_of, require_document, under
from frugal.core.studies import Adviser
from frugal.results.files import csv_bytes, read_payload, require_sealed, sealed
from frugal.results.manifests import write_apart
from frugal.studies.over_time.answer import TimedVerdict
from frugal.studies.over_time.config import TimedDataset
from frugal.studies.over_time.data import TimedData, costs_of, read_running
from frugal.studies.over_time.order_advice import order_advice, require_policy
from frugal.studies.over_time.order_support import OrderSupport
from frugal.studies.over_time.orders import LearnedOrders, WithinSupport, input_count, plan_of
from frugal.studies.over_time.records import TimedPolicy, TimedRecords

MOST_SHOWN = 40  # units on a terminal
_EXPECTED = "expected: "
_SHAPE = {
    "over_time": int,
    "description": dict,
    "levels": Each([str]),
    "named": OrNull(str),
    "tipping_gamma": OrNull(float),
    "sentences": [str],
    "regions": [dict],
    "unsupported": [str],
    "digests": Each(str),
    "seal": str,
}


def read_orders(
    folder: Path,
    records: TimedRecords,
    plans: Sequence[TimedPolicy],
    levels: Mapping[str, Sequence[str]],
) -> tuple[Mapping[str, Any], list[TimedPolicy], LearnedOrders | None]:
    """The stored document, the plans within support, and the learned policy, if there is one.

    Raises:
        DataError: a part is invalid, or belongs to other records or plans.
    """
    document = _document(folder)
    arrays = read_payload(folder / "orders.safetensors")
    support = OrderSupport.from_arrays(under(arrays, "support."), records, levels)
    parts, lacking = under(arrays, "learned."), document["unsupported"]
    within = [WithinSupport(plan, support) if plan.name in lacking else plan for plan in plans]
    if not parts:
        return document, within, None
    return document, within, LearnedOrders.from_arrays(parts, input_count(records), within, support)


def stored_orders(
    data: TimedData,
    description: Mapping[str, Any] | None,
    support: OrderSupport,
    learned: Sequence[LearnedOrders],
    verdict: TimedVerdict,
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The document and the arrays that `read_orders` reads.

    Args:
        data: records and costs.
        description: their YAML, with the plans.
        support: regions without records.
        learned: the learned policy, or none.
        verdict: on the policies.
    """
    gamma, (records, catalogue) = verdict.tipping_gamma, data.to_arrays()
    trees = {f"learned.{n}": a for policy in learned for n, a in policy.to_arrays().items()}
    regions = {f"support.{n}": array for n, array in support.to_arrays().items()}
    arrays = {"delay": records["delay"], **trees, **regions}
    document = {
        "over_time": 1,
        "description": description,
        "levels": catalogue["levels"],
        "named": verdict.named,
        "tipping_gamma": gamma if np.isfinite(gamma) else None,
        "sentences": list(verdict.sentences),
        "regions": [hole.document() for hole in support.holes],
        "unsupported": list(support.plans),
    }
    return sealed(document, {"orders.safetensors": arrays}), arrays


def _document(folder: Path) -> Mapping[str, Any]:
    document = read_payload(folder / "orders.json")
    require_document(document, _SHAPE, f"{folder / 'orders.json'}")
    hint = "make it again by snakemake over_time"
    require_sealed(folder / "orders.json", document, hint, ["orders.safetensors"])
    return document


def time_advice(
    folder: Path, files: tuple[Path, Path], hours: float | None, policy: str | None
) -> pd.DataFrame:
    """One row per unit: its window, its state, the next order, why, and expected costs.

    Raises:
        ConfigError: there is no such policy.
        DataError: the folder or a file is invalid.
    """
    document = _document(folder)
    try:
        keys = TimedDataset.read(document["description"], where=str(folder / "orders.json"))
    except ConfigError as error:
        raise DataError(str(error)) from None
    levels = {name: tuple(of) for name, of in document["levels"].items()}
    records, now = read_running(keys, files, levels, hours)
    plans = [plan_of(records, name, entry) for name, entry in keys.plans.items()]
    _, within, learned = read_orders(folder, records, plans, levels)
    policies: dict[str, Any] = {policy.name: policy for policy in (*plans, *within)}
    if learned is not None:
        policies[learned.name] = learned
    chosen = require_policy(policies, policy, document["named"])
    stored = read_payload(folder / "orders.safetensors")
    delays = part_of(stored, {"delay": "delay"} if "delay" in stored else {})
    expected = {"delay": Array("int64", (len(keys.panels),), low=0)}
    Stored("policy over time", delays).require(expected)
    delay = np.asarray(delays["delay"])
    return order_advice(records, now, costs_of(keys, delay), chosen, learned)


def advise_over_time(args: argparse.Namespace) -> int:
    """Print the next order of every unit; returns the exit status.

    Raises:
        ConfigError, DataError: the folder, a file or an option is invalid.
    """
    if args.units is None:
        raise DataError("--units is missing; a policy over time takes the file of units, too")
    rows = time_advice(args.bundle, (args.cases, args.units), args.hours, args.policy)
    if args.out is not None:
        write_apart(args.out, csv_bytes(rows))
    for row in rows.head(MOST_SHOWN).to_dict("records"):
        say(f"{row['unit']}, {row['hours']} h: {row['next']}; {row['why']}.")
        say(f"  {row['state']}")
        costs = {str(n).removeprefix(_EXPECTED): c for n, c in row.items() if _is_cost(n, c)}
        if costs:
            say("  expected cost: " + ", ".join(f"{n} {cost:.4g}" for n, cost in costs.items()))
    if len(rows) > MOST_SHOWN:
        say(f"These are the first {MOST_SHOWN} of {len(rows):,} units; --out FILE.csv writes all.")
    return 0


def _is_cost(name: object, cost: Any) -> bool:
    return str(name).startswith(_EXPECTED) and bool(np.isfinite(cost))


ORDERS = Adviser(
    name="measurements over time",
    file="orders.json",
    options={
        "units": {
            "type": Path,
            "metavar": "UNITS.csv",
            "help": "of a policy over time: file of units",
        },
        "hours": {
            "type": float,
            "metavar": "HOURS",
            "help": "the same: since the start of each unit",
        },
        "policy": {"metavar": "NAME", "help": "the same: another than the named one"},
    },
    advise=advise_over_time,
)
