"""Stage `draw_missingness`: the missingness of one scenario in every seed, and its graph."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.blocks import BlockDraws, tree_sum
from frugal.core.errors import ConfigError, NoSupportError
from frugal.core.rows import Rows, Scratch
from frugal.core.streams import Streams
from frugal.core.table import Mask, Table
from frugal.data.stored_table import StoredTable, TableBlock
from frugal.missing.chain import true_subset_probability
from frugal.missing.graph import MissingnessGraph
from frugal.missing.graphs import parse_graph, settled
from frugal.missing.identification import identify
from frugal.missing.law import MOST_SUMMED, recorded_probability
from frugal.missing.mechanisms import (
    calibrate,
    complete_logits,
    complete_probability,
    draw_mask,
    own_mask,
    panels_present,
    require_complete,
    require_free_known,
)
from frugal.results.replacing import Growing
from frugal.studies.shared.frames import bars


def draw_missingness(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> Growing:
    """Draw R for all rows and seeds; store it with its true law, and identify the graph.

    Raises:
        NoSupportError: a seed of a drawn law leaves no complete case among the test rows, and few
            enough panels can be missing that there should be one. The gaps of a table are as they
            are: what needs complete cases says so in its own row.
    """
    stored, law = StoredTable(table, catalogue), settings["missingness"]
    induced = law["source"] == "induced"
    graph = parse_graph(settings["name"], law, stored.layout)
    if induced and law["complete_share"] is not None:
        graph = _calibrated(graph, stored, law["complete_share"])
    identified = identify(graph, stored.layout, s=settings["s"])
    _require_gaps(graph, stored, induced=induced)
    in_s = np.isin([p.name for p in stored.layout.actions], identified.s or ())
    drawn = _Drawn(stored, settled(graph, stored.column) if induced else None, settings, streams)
    outer, inner = bars(progress, len(stored.blocks))
    for block in outer(stored, desc="blocks"):
        yield {"masks": drawn.frame(block, in_s, inner)}
    if induced and len(graph.indicators) <= MOST_SUMMED:
        drawn.require_complete_cases(graph.name)
    return {
        "graph": graph.to_dict() | {"source": law["source"]},
        "identification": identified.to_dict(),
    }


class _Drawn:
    """Masks of all seeds, block by block.

    Args:
        stored: the table.
        graph: law of the masks, settled; None where they are the table's own.
        settings: of the stage.
        streams: of the draws.
    """

    def __init__(
        self,
        stored: StoredTable,
        graph: MissingnessGraph | None,
        settings: Mapping[str, Any],
        streams: Streams,
    ) -> None:
        self._graph, self._seeds = graph, settings["seeds"]
        self._uniforms = {
            seed: BlockDraws(streams.generator("mask", seed), len(stored.layout.actions))
            for seed in self._seeds
        }
        self._complete = dict.fromkeys(self._seeds, 0)
        self._test = 0

    def frame(
        self, block: TableBlock, in_s: np.ndarray, progress: Callable[..., Any]
    ) -> pd.DataFrame:
        """Masks of a block's rows, with the true law where it is known."""
        data, test, draws = block.table, block.part == "test", []
        self._test += int(test.sum())
        for seed in progress(self._seeds, desc="masks"):
            mask = own_mask(data) if self._graph is None else draw_mask(
                data, self._graph, self._uniforms[seed].of(block.rows)
            )  # fmt: skip
            draws.append(_mask_frame(seed, data, mask))
            self._complete[seed] += int(mask.complete[test].sum())
        masks = pd.concat(draws, ignore_index=True)
        if self._graph is not None:
            law_of_rows = {
                "complete_probability": complete_probability(self._graph, data),
                "s_probability": true_subset_probability(self._graph, data, in_s),
            }
            for name, value in law_of_rows.items():
                masks[name] = np.tile(value, len(self._seeds))
        return masks

    def require_complete_cases(self, name: str) -> None:
        """Refuse a seed that leaves nothing to be weighted.

        Raises:
            NoSupportError: it leaves no complete case among the test rows.
        """
        for seed, complete in self._complete.items():
            if not complete:
                raise NoSupportError(
                    f"no complete case: none of {self._test} test rows has every panel recorded "
                    f"under mechanism {name!r} with seed {seed}, so nothing can be weighted"
                )


def _calibrated(graph: MissingnessGraph, stored: StoredTable, share: float) -> MissingnessGraph:
    """The graph with intercepts that leave a share of complete cases; logits are set aside."""
    law = settled(graph, stored.column)
    with Scratch() as kept:
        for block in stored:
            kept.put("logits", complete_logits(law, block.table))
        return calibrate(graph, _Logits(kept), complete_share=share)


class _Logits:
    """Logits that were set aside, block by block, as often as they are asked for."""

    def __init__(self, kept: Scratch) -> None:
        self._kept = kept

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self._kept.block("logits", k) for k in range(self._kept.blocks("logits")))


def _require_gaps(graph: MissingnessGraph, stored: StoredTable, *, induced: bool) -> None:
    """A table that gaps are drawn for has none; of its own, each panel's causes are named.

    Raises:
        ConfigError: a table to draw for has a gap, or a panel with gaps has no causes.
        DataError: a free column has a gap.
    """
    columns, panels = tree_sum(map(_gaps, stored), lambda a, b: (a[0] + b[0], a[1] + b[1]))
    if induced:
        require_complete(stored.layout, graph, columns, len(stored))
        return
    require_free_known(stored.layout, columns, len(stored))
    for panel, count in zip(stored.layout.actions, panels, strict=True):
        if count and panel.name not in graph.indicators:
            raise ConfigError(
                f"panel {panel.name!r} is missing in {count} of {len(stored)} rows, but mechanism "
                f"{graph.name!r} names no causes for it; write {panel.name!r}: {{}} under its "
                "'panels' if nothing causes it"
            )


def _gaps(block: TableBlock) -> tuple[np.ndarray, np.ndarray]:
    """Values that each column lacks in a block, and rows in which each panel is missing."""
    lacking = np.isnan(block.table.values).sum(axis=0)
    return lacking, (~panels_present(block.table)).sum(axis=0)


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
