"""Stage `draw_missingness`: the missingness of one scenario in every seed, and its graph."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import ConfigError, NoSupportError
from frugal.core.mask import Mask
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.data.tables import table_from_frames
from frugal.missing.chain import true_subset_probability
from frugal.missing.graph import MissingnessGraph
from frugal.missing.graphs import parse_graph
from frugal.missing.identification import identify
from frugal.missing.law import MOST_SUMMED, recorded_probability
from frugal.missing.mechanisms import calibrate, complete_probability, draw_mask, own_mask


def draw_missingness(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Draw R for all rows and seeds; store it with its true law, and identify the graph.

    Raises:
        NoSupportError: a seed of a drawn law leaves no complete case among the test rows, and few
            enough panels can be missing that there should be one. The gaps of a table are as they
            are: what needs complete cases says so in its own row.
    """
    data, part = table_from_frames(table, catalogue)
    law = settings["missingness"]
    graph = parse_graph(settings["name"], law, data)
    if law["source"] == "induced" and law["complete_share"] is not None:
        graph = calibrate(graph, data, complete_share=law["complete_share"])
    identified = identify(graph, data, s=settings["s"])
    in_s = np.isin([p.name for p in data.actions], identified.s or ())
    draws = []
    for seed in progress(settings["seeds"], desc="masks"):
        if law["source"] == "induced":
            mask = draw_mask(data, graph, rng=streams.generator("mask", seed))
        else:
            mask = own_mask(data)
            _require_named(graph, data, mask)
        draws.append(_mask_frame(seed, data, mask))
        complete = int(mask.complete[part == "test"].sum())
        drawn = law["source"] == "induced"
        if drawn and not complete and len(graph.indicators) <= MOST_SUMMED:
            raise NoSupportError(
                f"no complete case: none of {int((part == 'test').sum())} test rows has every "
                f"panel recorded under mechanism {graph.name!r} with seed {seed}, so nothing can "
                "be weighted"
            )
    masks = pd.concat(draws, ignore_index=True)
    if law["source"] == "induced":
        law_of_rows = {
            "complete_probability": complete_probability(graph, data),
            "s_probability": true_subset_probability(graph, data, in_s),
        }
        for name, value in law_of_rows.items():
            masks[name] = np.tile(value, len(settings["seeds"]))
    return {
        "masks": masks,
        "graph": graph.to_dict() | {"source": law["source"]},
        "identification": identified.to_dict(),
    }


def _require_named(graph: MissingnessGraph, data: Table, mask: Mask) -> None:
    """Every panel with gaps must have its assumed causes named, if only none."""
    for j, panel in enumerate(data.actions):
        gaps = int((~mask.observed[:, j]).sum())
        if gaps and panel.name not in graph.indicators:
            raise ConfigError(
                f"panel {panel.name!r} is missing in {gaps} of {len(data)} rows, but mechanism "
                f"{graph.name!r} names no causes for it; write {panel.name!r}: {{}} under its "
                "'panels' if nothing causes it"
            )


def _mask_frame(seed: int, data: Table, mask: Mask) -> pd.DataFrame:
    """One draw as a table: what is recorded, and the true probability of each indicator."""
    columns: dict[str, Any] = {"seed": seed, "row_id": mask.row_id}
    for j, panel in enumerate(data.actions):
        columns[f"observed:{panel.name}"] = mask.observed[:, j]
    if mask.propensity is not None:
        for j, panel in enumerate(data.actions):
            columns[f"probability:{panel.name}"] = mask.propensity[:, j]
        columns["pattern_probability"] = recorded_probability(mask)
    return pd.DataFrame(columns)
