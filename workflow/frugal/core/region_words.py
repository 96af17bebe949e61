"""Regions in which something was never recorded, in words. Knows no table and no policy."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from frugal.core.regions import Hole, Interval

LEAST_RECORDS = 30  # in a region, from which on a mean is read there; that of effective records


class RegionWords(NamedTuple):
    """Participles of what the records lack and of what is not done, and how to find out."""

    lacking: str
    refused: str
    remedy: str
    where: str = "there"


RECORDED = RegionWords("recorded", "ordered", "to know whether it would pay, record it for")
OF_GROUP = RECORDED._replace(where="for anyone, as no policy sees the group")
TRIED = RegionWords("tried", "advised", "to know whether it works, it takes records of it from")
JUDGED = TRIED._replace(refused="judged")  # there, by policies that do not read who is there


def records_needed(recorded: int) -> int:
    """Further records of a region, until `LEAST_RECORDS` of them hold what it lacks."""
    return max(LEAST_RECORDS - recorded, 1)


def hole_sentence(
    panel: str,
    condition_text: str,
    recorded: int,
    rows: int,
    needed: int,
    *,
    total: int | None = None,
    words: RegionWords = RECORDED,
) -> str:
    """What was never or hardly recorded, for whom, what follows, and what to record.

    Args:
        panel: that is lacking.
        condition_text: the region, see `condition_text`.
        recorded: records in the region that hold it.
        rows: records in the region.
        needed: further ones that must hold it, see `records_needed`.
        total: records in all; None: not shown.
        words: of panels, or of treatments.
    """
    of, more = "" if total is None else f" of {total:,}", " more" if recorded else ""
    start = f"{panel} was never {words.lacking} for {condition_text} ({rows:,}{of})"
    if recorded:
        start = f"{panel} was {words.lacking} for only {recorded:,} of {rows:,} with "
        start += condition_text + (of and f" ({total:,} in all)")
    whom = "of them" if needed <= rows - recorded else "like them"
    return (
        f"{start}: it is not {words.refused} {words.where}; {words.remedy} about {needed:,}{more} "
        f"{whom}."
    )


def condition_text(
    conditions: Iterable[Interval],
    describe: Callable[[int], tuple[str, str | tuple[str, str] | None]],
    every: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> str:
    """A region in words: "sex f", "age from 67.5", "ward other than 3 and age 40 to 55".

    Args:
        conditions: that hold together.
        describe: column → its name, and None of numbers, the level that is 1, or both levels of a
            column that has two.
        every: levels of categories; those that are left are named where they are no more.
    """
    numbers: dict[str, tuple[float, float]] = {}
    levels: dict[str, str] = {}
    others: dict[str, list[str]] = {}
    for each in conditions:
        name, level = describe(each.column)
        if level is None or np.isnan(each.low) or each.open:
            low, high = numbers.get(name, (-np.inf, np.inf))
            numbers[name] = float(np.maximum(low, each.low)), float(np.minimum(high, each.high))
        elif each.low > 0 or isinstance(level, tuple):
            levels[name] = level if isinstance(level, str) else level[int(each.low > 0)]
        else:
            others.setdefault(name, []).append(level)
    parts = [f"{name} {level}" for name, level in levels.items()]
    rest = {name: excluded for name, excluded in others.items() if name not in levels}
    for name, excluded in rest.items():
        left = [level for level in every.get(name, ()) if level not in excluded]
        fewer, other = 0 < len(left) <= len(excluded), " other than"
        parts.append(f"{name}{'' if fewer else other} {' or '.join(left if fewer else excluded)}")
    parts += [_range_text(name, low, high) for name, (low, high) in numbers.items()]
    return " and ".join(parts) or "all"


def region_text(region: Hole, columns: Sequence[str], onehot: Sequence[Sequence[int]]) -> str:
    """A region of a table's encoded columns in words; a group that policies do not see by its name.

    Args:
        region: of a panel.
        columns: names of the encoded columns.
        onehot: places of the columns of each category.
    """
    if region.group is not None:
        return region.group

    at: dict[int, tuple[str, str | None]] = {}
    every: dict[str, list[str]] = {}
    for group in onehot:
        names = [columns[j] for j in group]  # "name=level"; a name or a level may hold "=", too
        ends = [k for k, letter in enumerate(names[0]) if letter == "="]
        end = max(k for k in ends if all(name[: k + 1] == names[0][: k + 1] for name in names))
        every[names[0][:end]] = [name[end + 1 :] for name in names]
        at |= {j: (columns[j][:end], columns[j][end + 1 :]) for j in group}
    return condition_text(region.conditions, lambda j: at.get(j, (columns[j], None)), every)


def few_records(region: Hole, columns: Sequence[str], onehot: Sequence[Sequence[int]]) -> str:
    """How many records of a region hold its panel, in a few words."""
    where = region_text(region, columns, onehot)
    return f"{region.recorded:,} of {region.rows:,} records have it for {where}"


def not_offered(
    region: Hole, panels: Sequence[str], columns: Sequence[str], onehot: Sequence[Sequence[int]]
) -> str:
    """Why a panel is not offered, in a few words."""
    return f"{panels[region.panel]} is not offered: {few_records(region, columns, onehot)}"


def _range_text(name: str, low: float, high: float) -> str:
    if np.isnan(low):
        return f"missing {name}"
    ends = [f"{end:.12g}" if float(end).is_integer() else f"{end:.4g}" for end in (low, high)]
    if low == high:
        return f"{name} {ends[0]}"
    if np.isinf(low) and np.isinf(high):
        return f"known {name}"
    if np.isinf(high):
        return f"{name} from {ends[0]}"
    return f"{name} up to {ends[1]}" if np.isinf(low) else f"{name} {ends[0]} to {ends[1]}"
