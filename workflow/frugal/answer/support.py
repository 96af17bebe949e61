"""Where an answer has no records to rest on: regions in which a panel is not ordered, in words.

The regions are those of `judge/support.py`, as `draw_missingness` stored them. Knows no file.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.region_words import (
    OF_GROUP,
    RECORDED,
    RegionWords,
    hole_sentence,
    records_needed,
    region_text,
)
from frugal.core.regions import Hole, holes_of, inside
from frugal.core.schema_check import as_item
from frugal.core.table import Table
from frugal.judge.verdicts import joined, percent

SHOWN = 4  # regions that the first lines name


def document(graph: Mapping[str, Any], holes: Sequence[Hole], data: Table) -> dict[str, Any]:
    """Regions without support, the least supported ones, and who is offered every panel.

    Args:
        graph: as `draw_missingness` stored it.
        holes: its regions without support.
        data: the table, with the values that its records hold.
    """
    panels = [panel.name for panel in data.actions]
    fewest = holes_of(graph["fewest_recorded"], data.columns, panels)
    return {
        "rows": len(data),
        "regions": _described(graph["unsupported"], holes, data),
        "fewest_recorded": _described(graph["fewest_recorded"], fewest, data),
        "offered_everything": _offered_everything(holes, data),
    }


def _offered_everything(holes: Sequence[Hole], data: Table) -> float:
    """Share of the rows outside all regions, among those of which all their columns are known.

    Everything is ordered: where a panel is lacking once another one is known, both are not offered.
    """
    if any(hole.group for hole in holes):
        return 0.0
    holes = [
        replace(hole, conditions=tuple(c for c in hole.conditions if not c.open)) for hole in holes
    ]
    if not all(hole.conditions for hole in holes):
        return 0.0
    columns = sorted({c.column for hole in holes for c in hole.conditions})
    has_values = np.isfinite(data.values[:, columns]).all(axis=1)
    lacking = inside(holes, data.values[has_values], len(data.actions)).any(axis=1)
    return 1 - float(lacking.mean()) if has_values.any() else 0.0


def _described(
    documents: Sequence[Mapping[str, Any]], regions: Sequence[Hole], data: Table
) -> list[dict[str, Any]]:
    """Regions with their conditions in words."""
    return [
        dict(entry)
        | {
            "where": region_text(region, data.columns, data.onehot),
            "after": sorted(
                data.columns[c.column]
                for c in region.conditions
                if not (c.open or data.free_columns[c.column])
            ),
        }
        for entry, region in zip(documents, regions, strict=True)
    ]


def sentences(support: Mapping[str, Any]) -> list[str]:
    """The panels that are not ordered somewhere, and what to record; none where all are."""
    regions = sorted(support["regions"], key=lambda region: -region["rows"])
    lines = [
        hole_sentence(
            as_item(region["panel"]),
            region["where"],
            region["recorded"],
            region["rows"],
            records_needed(region["recorded"]),
            total=support["rows"],
            words=_place(region),
        )
        for region in regions[:SHOWN]
    ]
    if more := len(regions) - SHOWN:
        lines += [f"{more} more such regions are on the page."] if more > 0 else []
    return lines


def _place(region: Mapping[str, Any]) -> RegionWords:
    """Where a panel is not ordered: in the region, and where it is not known who lies in it."""
    if region["group"] is not None:
        return OF_GROUP
    if not region["after"]:
        return RECORDED
    after = joined([as_item(name) for name in region["after"]])
    return RECORDED._replace(where=f"there, nor before {after} is known")


def everyone(support: Mapping[str, Any] | None) -> str:
    """What testing everyone means where a panel is not ordered for some."""
    if not support or not support["regions"]:
        return ""
    return (
        f" (every panel only for the {percent(support['offered_everything'])} with records of it)"
    )


def shares(choice: Mapping[str, Any]) -> pd.DataFrame:
    """Share of records with the panel, in each region without support and elsewhere.

    Columns: `region` (panel and region in words), `inside`, `elsewhere`, `records` (n of m).
    """
    support = choice["support"]
    rows = support["rows"]
    return pd.DataFrame(
        {
            "region": f"{region['panel']}: {region['where']}",
            "inside": region["recorded"] / region["rows"],
            "elsewhere": (choice["panels"][region["panel"]]["recorded"] * rows - region["recorded"])
            / max(rows - region["rows"], 1),
            "records": f"{region['recorded']:,} of {region['rows']:,}",
        }
        for region in support["regions"]
    )


def fewest(support: Mapping[str, Any], ordered: Iterable[str]) -> str:
    """The least supported region that the named policy orders a panel in."""
    regions = [r for r in support["fewest_recorded"] if r["panel"] in set(ordered)]
    if not regions:
        return ""
    least = min(regions, key=lambda region: (region["recorded"], region["rows"]))
    return (
        f" Where it orders {as_item(least['panel'])}, the fewest records hold it for "
        f"{least['where']}: {least['recorded']:,} of {least['rows']:,}."
    )
