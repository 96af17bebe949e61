"""`python -m frugal init LONG --units UNITS --label COLUMN`: a guess of the YAML over time.

A guess for a person to correct, as of a table with a row for each case: prices and costs of errors
that are not stated are left open, and a run without them is refused.
"""

import argparse
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from frugal.core.arguments import program
from frugal.core.errors import DataError, shown_cell
from frugal.core.schema_check import did_you_mean, listed
from frugal.core.studies import OtherRecords
from frugal.data.encoded_columns import NO_VALUE
from frugal.data.long_files import LongFile, days_of
from frugal.data.long_formats import ROLES as ROLES_OF_LONG
from frugal.data.long_formats import long_file
from frugal.run.table_yaml import short_name

ROLES = ("unit", "item", "value", "ordered", "result")  # columns of the file of measurements
NAMES = {  # of columns with a role, as people write them
    "item": r"item|test|lab|code|name|variable|concept|param|analyte",
    "value": r"value|val\b|valuenum|number|amount",
    "ordered": r"order|time|hour|date|when|chart|taken|minute|day",
    "result": r"result|report|avail|store|done",
    "start": r"start|admi|begin|intime",
    "end": r"end|disch|outtime|exit|last",
}
MOST_ITEMS, MOST_LEVELS, MOST_WINDOWS = 200, 20, 12
NEARLY = 0.95  # share of cells by which a role is guessed
SAME_ORDERS = 0.9  # share of orders with both items, from which they are one panel
DAY = 24.0


def describe_over_time(
    files: tuple[str, str],
    cells: tuple[pd.DataFrame, pd.DataFrame],
    *,
    name: str,
    label: str,
    positive: str | None = None,
    hours: float | None = None,
    columns: Mapping[str, str] | None = None,
    form: str | None = None,
    prices: Mapping[str, Any] | None = None,
    errors: Mapping[str, Any] | None = None,
    unit: str = "EUR",
) -> tuple[str, list[str]]:
    """The YAML, and the guesses, in sentences.

    Args:
        files: of measurements and of units, as the YAML names them.
        cells: their texts.
        name: of the records.
        label: column of the file of units.
        positive: cell of the second class; None: the rarer one.
        hours: length of a window; None: guessed.
        columns: role → column of the measurements; those not named are guessed.
        form: of the measurements, where they are a long file of a known format.
        prices: item or panel → price.
        errors: missed, false alarm → cost.
        unit: of prices and costs.

    Raises:
        DataError: a column is missing, or its role is open.
    """
    if hours is not None and not 0 < hours < math.inf:
        raise DataError(f"--hours is {hours:g}; allowed are numbers above 0")
    for role in columns or {}:
        if role not in ROLES:
            raise DataError(f"--columns names {role!r}; allowed are {listed(ROLES)}")
    long, units = (frame.mask(frame.isin(NO_VALUE)) for frame in cells)
    for column in (label, *(columns or {}).values()):
        frame, file = (units, files[1]) if column == label else (long, files[0])
        if column not in frame:
            raise DataError(
                f"{file} has no column {column!r}; its columns are {listed(list(frame))}"
                f"{did_you_mean(column, list(frame))}"
            )
    roles = dict(columns or {})
    key = _units_column(long, units, files, roles)
    _fill_roles(long, files[0], roles)
    stated: dict[str, Any] = {}
    for error, cost in (errors or {}).items():
        word = error.replace(" ", "_")
        if word not in ("missed", "false_alarm") or stated.setdefault(word, cost) != cost:
            raise DataError(
                f"--errors names {error!r}{' with a second number' if word in stated else ''}; "
                "allowed are missed and false_alarm, each with one number"
            )
    classes = [str(cell) for cell in units[label].dropna().value_counts().index]
    if len(classes) != 2 or (positive is not None and positive not in classes):
        raise DataError(
            f"{files[1]}: column {label!r} holds {listed(map(shown_cell, classes[:5]))}; a label "
            "over time has two cells, and --positive names one of them"
        )
    second = positive or classes[1]
    first = next(cell for cell in classes if cell != second)
    start = _named(units, "start", dates=True)
    time = _hours(long, units, roles, key, start, files[0])
    length = hours or (DAY if np.nanquantile(time, NEARLY) > 3 * DAY else DAY / 3)
    number = int(np.clip(math.ceil(np.nanquantile(time, NEARLY) / length), 1, MOST_WINDOWS))
    static, remarks = _static(units, {key, label, start or "", _named(units, "end") or ""})
    groups = _panels(long, roles, time)
    panels = {
        "+".join(group): {"columns": group, "price": _price(group, prices or {})}
        for group in groups
    }
    document: dict[str, Any] = {
        "name": name,
        "cost_unit": unit,
        "measurements": {
            "file": files[0],
            **({"format": form} if form else {}),
            **{role: roles[role] for role in ROLES if role in roles},
        },
        "units": {
            "file": files[1],
            "unit": key,
            "static": static,
            **({"start": start} if start else {}),
            **({"end": end} if (end := _named(units, "end")) else {}),
            "label": {"column": label, "negative": first, "positive": second},
        },
        "windows": {"hours": int(length) if length == int(length) else length, "number": number},
        "columns": {item: {"item": item} for group in groups for item in group},
        "panels": panels,
        "errors": {key: stated.get(key) for key in ("missed", "false_alarm")},
        "plans": {
            "nothing": {},
            "all at the start": {"at": [{"windows": [0], "panels": list(panels)}]},
            "all in each window": {
                "at": [{"windows": list(range(number)), "panels": list(panels)}]
            },
        },
        "learned": True,
    }
    beyond = float((time > length * number).mean())
    remarks = [
        f"measurements: {', '.join(f'{role} is {column}' for role, column in roles.items())}",
        f"{second!r} is the positive class; --positive {first} if the other is meant",
        f"{number} windows of {length:g} hours; {beyond:.0%} of the values lie after them "
        "(--hours sets the length)",
        *(f"one panel: {', '.join(group)} are ordered together" for group in groups if group[1:]),
        *remarks,
    ]
    head = f"# {files[0]} and {files[1]}, described by a guess: correct it, and replace null.\n"
    body = yaml.safe_dump(
        document, sort_keys=False, allow_unicode=True, width=100, default_flow_style=None
    )
    return head + "# The keys are explained in docs/how-to/over_time.md.\n" + body, remarks


def _units_column(
    long: pd.DataFrame, units: pd.DataFrame, files: tuple[str, str], roles: dict[str, str]
) -> str:
    """The column of the units that names them; fills in that of the measurements."""
    able = [c for c in units if units[c].notna().all() and units[c].is_unique]
    pairs = [
        (c != u, -long[c].isin(units[u]).mean(), str(c), str(u))
        for u in able
        for c in ([roles["unit"]] if "unit" in roles else long)
    ]
    best = min((pair for pair in pairs if -pair[1] >= NEARLY), default=None)
    if best is None:
        raise DataError(
            f"no column of {files[0]} holds the names of a column of {files[1]} that is complete "
            "and different in every row; --columns unit=COLUMN names one"
        )
    roles["unit"] = best[2]
    return best[3]


def _fill_roles(long: pd.DataFrame, file: str, roles: dict[str, str]) -> None:
    """Item, value and times, by their cells and names."""

    def candidates(role: str, able: Sequence[str]) -> list[str]:
        left = [c for c in able if c not in roles.values()]
        return [c for c in left if re.search(NAMES[role], c, re.I)] or left

    numeric = [c for c in map(str, long) if _numbers(long[c]).notna().mean() >= NEARLY / 2]
    dated = [c for c in map(str, long) if c not in numeric and _dates(long[c]) is not None]
    texts = [c for c in map(str, long) if c not in (*numeric, *dated)]
    texts = [c for c in texts if 1 <= long[c].nunique() <= MOST_ITEMS]
    timed = [c for c in (*dated, *numeric) if re.search(NAMES["ordered"], c, re.I)]
    roles.setdefault("item", next(iter(candidates("item", texts)), ""))
    roles.setdefault("ordered", next(iter(candidates("ordered", timed or dated)), ""))
    if "result" not in roles:
        others = [c for c in (*dated, *numeric) if re.search(NAMES["result"], c, re.I)]
        others = [c for c in others if not re.search(NAMES["value"], c, re.I)]
        if left := [c for c in others if c not in roles.values()]:
            roles["result"] = left[0]
    values = candidates("value", numeric)
    roles.setdefault("value", values[0] if len(values) == 1 else "")
    for role in ROLES[:4]:
        if not roles[role]:
            raise DataError(
                f"{file}: which column holds the {role} is open (its columns are "
                f"{listed(list(map(str, long)))}); --columns {role}=COLUMN names it"
            )


def _hours(
    long: pd.DataFrame,
    units: pd.DataFrame,
    roles: Mapping[str, str],
    key: str,
    start: str | None,
    file: str,
) -> np.ndarray:
    """Hours of each order after the start of its unit."""
    times = long[roles["ordered"]]
    if (days := _dates(times)) is None:
        hours = _numbers(times).to_numpy(dtype=np.float64)
        if np.isnan(hours).all():
            example = shown_cell(next(iter(times.dropna()), ""))
            raise DataError(
                f"{file}: column {roles['ordered']!r} holds {example}, which is neither a number "
                "of hours nor a date; write dates as 2024-05-17 05:56"
            )
        return hours
    if start is None:
        raise DataError(
            f"{file}: column {roles['ordered']!r} holds dates, and the file of units has no column "
            "of the start; add one named start"
        )
    begins = long[roles["unit"]].map(dict(zip(units[key], days_of(units[start]), strict=True)))
    return DAY * (days - begins).to_numpy(dtype=np.float64)


def _static(units: pd.DataFrame, used: set[str]) -> tuple[list[str], list[str]]:
    """Columns known at the start, and why others are not."""
    static, remarks = [], []
    for column in map(str, units):
        if column in used:
            continue
        cells = units[column]
        few = cells.nunique() <= MOST_LEVELS or _numbers(cells).notna().all()
        if cells.notna().all() and cells.nunique() > 1 and few and _dates(cells) is None:
            static.append(column)
        else:
            remarks.append(f"left out: {column}: has gaps, dates, one value alone or many texts")
    return static, remarks


def _panels(long: pd.DataFrame, roles: Mapping[str, str], time: np.ndarray) -> list[list[str]]:
    """Items that are ordered together."""
    order = pd.Series(list(zip(long[roles["unit"]], time.tolist(), strict=True)), index=long.index)
    keys = {str(item): {*order[rows]} for item, rows in long.groupby(roles["item"]).groups.items()}
    groups: list[list[str]] = []
    for item, orders in keys.items():
        for group in groups:
            other = keys[group[0]]
            if len(orders & other) >= SAME_ORDERS * max(len(orders), len(other)):
                group.append(item)
                break
        else:
            groups.append([item])
    return groups


def _price(group: Sequence[str], prices: Mapping[str, Any]) -> Any:
    """That of the panel, or the sum of its items' where all have one."""
    if "+".join(group) in prices:
        return prices["+".join(group)]
    return sum(prices[item] for item in group) if all(i in prices for i in group) else None


def _named(frame: pd.DataFrame, role: str, *, dates: bool = False) -> str | None:
    """The first column with a name of this role, and, on demand, dates."""
    named = [str(c) for c in frame if re.search(NAMES[role], str(c), re.I)]
    return next((c for c in named if not dates or _dates(frame[c]) is not None), None)


def _numbers(cells: pd.Series) -> pd.Series:
    return pd.to_numeric(cells, errors="coerce")


def _dates(cells: pd.Series) -> pd.Series | None:
    """Dates and times as days; None where the cells are numbers or other texts."""
    if _numbers(cells).notna().any() or not cells.notna().any():
        return None
    days = days_of(cells)
    return days if days.notna().sum() >= NEARLY * cells.notna().sum() else None


def over_time_lines(path: Path, remarks: Sequence[str]) -> list[str]:
    """Lines that `init` prints."""
    return [
        f"{path}:",
        *(f"  {remark}" for remark in remarks),
        "Replace each null, prices of panels and costs of errors, then:",
        f"  {program()} over_time {path}",
    ]


def describe_files(
    args: argparse.Namespace, out: Path, prices: Mapping[str, Any], errors: Mapping[str, Any]
) -> tuple[str, list[str]]:
    """Text of the YAML for two files, and the lines that `init` prints.

    Raises:
        DataError: as `guess_files`.
    """
    text, remarks = guess_files(args, out, prices, errors)
    return text, over_time_lines(out, remarks)


def guess_files(
    args: argparse.Namespace, out: Path, prices: Mapping[str, Any], errors: Mapping[str, Any]
) -> tuple[str, list[str]]:
    """Text of the YAML for two files, and the guesses, in sentences.

    Raises:
        DataError: a file or a column is missing, or its role is open.
    """
    paths, folder = (args.table, args.units), out.resolve().parent
    for path in paths:
        if not path.is_file():
            raise DataError(f"there is no file {path}")
    long = LongFile.of(paths[0]) if args.format is None else long_file(paths[0], args.format)
    cells = long.plain(), LongFile.of(paths[1]).plain()
    columns = dict(part.partition("=")[::2] for part in args.columns.split(",") if part)
    return describe_over_time(
        (os.path.relpath(paths[0].resolve(), folder), os.path.relpath(paths[1].resolve(), folder)),
        cells,
        name=short_name(out.stem),
        label=args.label,
        positive=args.positive,
        hours=args.hours,
        columns=columns if args.format is None else {**ROLES_OF_LONG, **columns},
        form=args.format,
        prices=prices,
        errors=errors,
        unit=args.unit,
    )


RECORDS = OtherRecords(
    name="records over time",
    chosen_by="units",
    options={
        "units": {
            "type": Path,
            "help": "file of units: the table has a row for each value over time",
        },
        "columns": {
            "default": "",
            "metavar": "ROLE=COLUMN,…",
            "help": "unit, item, value, ordered, result",
        },
        "hours": {"type": float, "help": "length of a window over time"},
    },
    describe=describe_files,
)
