"""The stage of records: masks are drawn, or found, with their causes and their support."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.answer.frames import bars, remark
from frugal.answer.words import words_on_causes
from frugal.core.blocks import BlockDraws, tree_sum
from frugal.core.context import Context
from frugal.core.errors import ConfigError, FrugalError, NoSupportError
from frugal.core.regions import Hole, inside
from frugal.core.rows import Rows, ScratchFile
from frugal.core.schema_check import did_you_mean, listed, read_yaml
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.data.tables import EVERY, StoredTable, TableBlock
from frugal.judge.support import fewest_recorded, find_holes
from frugal.missing.chain import true_subset_probability
from frugal.missing.graphs import MissingnessGraph, parse_graph, settled
from frugal.missing.identification import identify
from frugal.missing.law import (
    MOST_SUMMED,
    calibrate,
    complete_logits,
    complete_probability,
    draw_mask,
    own_mask,
    panels_present,
    recorded_probability,
    require_complete,
    require_free_known,
)
from frugal.results.replacing import Growing


def draw_missingness(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    context: Context,
    causes: Path | None = None,
) -> Growing:
    """Draw R for all rows and seeds; store it with its missingness model, identify the graph.

    `causes` is a YAML of panels with the causes of their gaps, where the settings name none.

    Raises:
        ConfigError: with these causes no probability of a missing value can be estimated.
        NoSupportError: a seed of a drawn missingness model leaves no complete case among the test
            rows, and few enough panels can be missing that there should be one. Missing values of
            the table itself stay: estimators that need complete cases report it in their own row.
    """
    settings = context.settings
    stored, missingness = StoredTable(table, catalogue, unlabelled=True), settings["missingness"]
    induced = missingness["source"] == "induced"
    if missingness["panels"] is None:
        own = _own_causes(settings["name"], stored.layout, catalogue, causes)
        missingness = {**missingness, "panels": own}
    graph = parse_graph(settings["name"], missingness, stored.layout)
    if induced and missingness["complete_share"] is not None:
        graph = _calibrated(graph, stored, missingness["complete_share"])
    identified = identify(graph, stored.layout, s=settings["s"])
    _require_gaps(graph, stored, induced=induced)
    in_s = np.isin([p.name for p in stored.layout.actions], identified.s or ())
    drawn = _Drawn(
        stored, settled(graph, stored.column) if induced else None, settings, context.streams
    )
    outer, inner = bars(context.progress, len(stored.blocks))
    support = _Support(stored)
    for block in outer(stored, desc="blocks"):
        yield {"masks": drawn.frame(block, in_s, inner)}
        if not induced and stored.folds:  # an answer is sought
            support.add(block.table)
    if induced and len(graph.indicators) <= MOST_SUMMED:
        drawn.require_complete_cases(graph.name)
    return {
        "graph": graph.to_dict() | {"source": missingness["source"], **support.document()},
        "identification": identified.to_dict(),
    }


LEAST_ROWS = 60  # with a gap, and without it, for other panels' gaps to be told by that one
LEAST_JOINT_GAPS = 30  # without two panels that are always missing together


def _own_causes(
    name: str, layout: Table, catalogue: Mapping[str, Any], path: Path | None
) -> dict[str, Any]:
    """Causes of each panel's gaps: those of a file, or those that the gaps allow to assume."""
    gaps = catalogue.get("report", {}).get("gaps")
    if gaps is None:
        raise ConfigError(
            f"mechanism {name!r} names no causes ('panels' is null), and the table is not divided "
            "into folds; allowed are panels with their causes"
        )
    remark(words_on_causes(gaps, None if path is None else path.name))
    shares = {panel["name"]: panel["share"] for panel in gaps["panels"]}
    if path is not None and shares:
        causes = read_yaml(path)
        if not isinstance(causes, dict) or set(causes) != set(shares):
            names = listed(causes) if isinstance(causes, dict) else "none"
            raise ConfigError(
                f"{path}: has causes for {names}; panels with gaps are {listed(shares)}"
                f"{did_you_mean(next(iter(causes or ['']), ''), shares)}"
            )
        _require_identified(name, path, causes, layout, gaps["known"])
        return causes
    rows, assumed = gaps["rows"], {}
    for panel in gaps["panels"]:
        same = panel["same_gaps_as"] if panel["share"] * rows >= LEAST_JOINT_GAPS else None
        before = [
            cause
            for cause in assumed
            if LEAST_ROWS <= shares[cause] * rows <= rows - LEAST_ROWS or cause == same
        ]
        assumed[panel["name"]] = {"values": gaps["known"], "indicators": before}
    return assumed


def _require_identified(
    name: str, path: Path, causes: Mapping[str, Any], layout: Table, known: list[str]
) -> None:
    """Refuse causes by which no probability of a gap can be estimated."""
    try:
        graph = parse_graph(name, {"source": "own", "panels": causes}, layout)
        reasons = identify(graph, layout, s=None)
    except FrugalError as error:
        raise ConfigError(f"{path}: {error}") from None
    if not reasons.propensity_identified:
        why = next(reason for reason in reasons.reasons if "not identified: " in reason)
        raise ConfigError(
            f"{path}: with these causes no cost can be estimated: "
            f"{why.partition('not identified: ')[2]} Columns of panels that all rows have may "
            f"always be causes: {listed(known) or 'none here'}"
        )


class _Support:
    """Regions of a table whose records (almost) never hold a panel."""

    def __init__(self, stored: StoredTable) -> None:
        self._stored, self._layout = stored, stored.layout
        self._values: list[np.ndarray] = []
        self._observed: list[np.ndarray] = []

    def add(self, block: Table) -> None:
        """The rows of a block, with the values that their recorded panels show."""
        observed = panels_present(block)
        self._values.append(np.where(block.columns_observed(observed), block.values, np.nan))
        self._observed.append(observed)

    def document(self) -> dict[str, Any]:
        """Regions without support, and for each panel the one with the fewest records of it."""
        if not self._values:
            return {"unsupported": [], "fewest_recorded": []}
        values, observed = np.concatenate(self._values), np.concatenate(self._observed)
        holes = find_holes(values, observed, self._layout.provides, self._layout.onehot)
        lacking = inside(holes, values, observed.shape[1])
        elsewhere = ~lacking.any(axis=1)
        fewest = fewest_recorded(values[elsewhere], observed[elsewhere], self._layout.provides)
        holes += self._in_groups(observed, lacking)
        panels = [panel.name for panel in self._layout.actions]
        return {
            name: [region.document(self._layout.columns, panels) for region in regions]
            for name, regions in (("unsupported", holes), ("fewest_recorded", fewest))
        }

    def _in_groups(self, observed: np.ndarray, lacking: np.ndarray) -> tuple[Hole, ...]:
        """The same of groups that policies do not see, sought outside the regions of a panel."""
        names, group = self._stored.group_names, self._stored.groups(EVERY)
        if group is None:
            return ()
        each = np.eye(len(names))
        none, holes = np.zeros((1, len(names)), dtype=bool), list[Hole]()
        for panel, elsewhere in enumerate(~lacking.T):
            member, recorded = each[group[elsewhere]], observed[elsewhere][:, [panel]]
            for region in find_holes(member, recorded, none):
                for k in np.flatnonzero(region.contains(each)).tolist():
                    of_group = observed[group == k, panel]
                    if len(of_group):
                        counts = len(of_group), int(of_group.sum())
                        holes.append(Hole(panel, (), *counts, names[k]))
        return tuple(holes)


class _Drawn:
    """Masks of all seeds, block by block; the graph is None where they are the table's own."""

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
        """Masks of a block's rows, with the true missingness model where it is known."""
        data, test, draws = block.table, block.part == "test", []
        self._test += int(test.sum())
        for seed in progress(self._seeds, desc="masks"):
            mask = (
                own_mask(data)
                if self._graph is None
                else draw_mask(data, self._graph, self._uniforms[seed].of(block.rows))
            )
            columns: dict[str, Any] = {"seed": seed, "row_id": mask.row_id}
            for j, panel in enumerate(data.actions):
                columns[f"observed:{panel.name}"] = mask.observed[:, j]
            if mask.propensity is not None:
                for j, panel in enumerate(data.actions):
                    columns[f"probability:{panel.name}"] = mask.propensity[:, j]
                columns["pattern_probability"] = recorded_probability(mask)
            draws.append(pd.DataFrame(columns))
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
    missingness = settled(graph, stored.column)
    with ScratchFile() as scratch:
        for block in stored:
            scratch.put("logits", complete_logits(missingness, block.table))
        return calibrate(graph, _Logits(scratch), complete_share=share)


class _Logits:
    """Logits that were set aside, block by block, as often as they are requested."""

    def __init__(self, scratch: ScratchFile) -> None:
        self._kept = scratch

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self._kept.block("logits", k) for k in range(self._kept.blocks("logits")))


def _require_gaps(graph: MissingnessGraph, stored: StoredTable, *, induced: bool) -> None:
    """A table that masks are drawn for is complete; otherwise each panel's causes are named."""
    columns, panels = tree_sum(
        map(_missing_counts, stored), lambda a, b: (a[0] + b[0], a[1] + b[1])
    )
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


def _missing_counts(block: TableBlock) -> tuple[np.ndarray, np.ndarray]:
    """Values that each column lacks in a block, and rows in which each panel is missing."""
    lacking = np.isnan(block.table.values).sum(axis=0)
    return lacking, (~panels_present(block.table)).sum(axis=0)
