"""Stage `check_graph`: whether the records contradict the graph that explains their gaps."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.blocks import WHOLE, Portion
from frugal.core.rows import Rows, rows_of, slices_of
from frugal.core.streams import Streams
from frugal.core.table import Table, copied
from frugal.data.panel_columns import panel_columns
from frugal.judge.graph_check import Contrast, GraphCheck, GraphRows, Indicators
from frugal.judge.graph_check import check_graph as check_blocks
from frugal.studies.afape.stored import JudgedRows, StoredRecords

_COLUMNS = {name: one.type for name, one in Contrast.__dataclass_fields__.items()}


def check_graph(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame | Rows,
    identification: Mapping[str, Any],
    propensities: pd.DataFrame | Rows,
    settings: Any,
    streams: Streams,
    progress: Callable[..., Any],
    portion: Portion = WHOLE,
) -> dict[str, pd.DataFrame]:
    """Test the graph on the test rows of every seed; what cannot be fitted is not tested."""
    del settings
    records = StoredRecords(table, catalogue, masks, seeds=portion.seeds)
    given = _Given(records, identification, rows_of(propensities))
    contrasts, found = [], []
    for seed in progress(records.seeds, desc="seeds"):
        rng = streams.generator("graph", seed)
        checked = check_blocks(_Blocks(given, seed), given.clusters, rng)
        rows = pd.DataFrame([vars(one) for one in checked.contrasts], columns=list(_COLUMNS))
        rows = rows.astype(_COLUMNS) if rows.empty else rows
        contrasts.append(rows.assign(seed=seed))
        found.append({"seed": seed, **_summary(checked)})
    return {
        "contrasts": pd.concat(contrasts, ignore_index=True),
        "graph_check": pd.DataFrame(found),
    }


def _summary(checked: GraphCheck) -> dict[str, Any]:
    return {
        "tested": len(checked.contrasts),
        "p_value": checked.p_value,
        "graph_refuted": checked.refuted,
        "sentence": checked.sentence,
    }


class _Given(JudgedRows):
    """Test rows, masks and fitted probabilities, block by block."""

    def __init__(
        self, records: StoredRecords, identification: Mapping[str, Any], fitted: Rows
    ) -> None:
        super().__init__(records)
        self._known, self._fitted = identification, fitted
        self._places = slices_of(fitted, self.counts, "propensities")

    def indicators(self, seed: int, at: int) -> Indicators:
        """What the graph says of the gaps of a block's test rows."""
        data, fitted = self.data(at), self._fitted.read(self._places[self.numbers[at]])
        fitted = fitted[fitted["seed"] == seed]
        assert np.array_equal(fitted["row_id"], data.row_id), "bug: row order"
        observed, cluster = self.observed(seed, at), self.cluster_of(at)
        return _indicators(data, observed, self._known, fitted, cluster)


class _Blocks:
    """The blocks of one seed, as often as they are asked for."""

    def __init__(self, given: _Given, seed: int) -> None:
        self._given, self._seed = given, seed
        self._names = given.always_known(seed)

    def __iter__(self) -> Iterator[GraphRows]:
        for at in range(len(self._given.numbers)):
            yield self._given.once("graph", (self._seed, at), lambda at=at: self._block(at))

    def _block(self, at: int) -> GraphRows:
        known = self._given.known(self._names, at)
        return GraphRows(self._given.indicators(self._seed, at), *known)


def _indicators(
    data: Table,
    observed: np.ndarray,
    identification: Mapping[str, Any],
    fitted: pd.DataFrame,
    cluster: np.ndarray | None,
) -> Indicators:
    """The panels that can be missing, with their fitted probabilities and their causes' values.

    Rows that are copies of others in their block do not count.
    """
    laws = identification["factors"]
    values = np.where(data.columns_observed(observed), data.values, np.nan)
    actions = [panel.name for panel in data.actions]
    at = [actions.index(law["panel"]) for law in laws]
    causes = [values[:, [data.columns.index(c) for c in law["columns"]]] for law in laws]
    probability = fitted[panel_columns("factor", data)].to_numpy(np.float64)[:, at]
    for k, known in enumerate(causes):
        probability[np.isnan(known).any(axis=1), k] = np.nan
    probability[copied(pd.DataFrame(values).assign(label=data.label))] = np.nan
    panels = [law["panel"] for law in laws]
    conditions = [np.isin(panels, law["condition_panels"]) for law in laws]
    return Indicators(
        panels, observed[:, at], probability, causes,
        np.array(conditions, dtype=bool).reshape(len(laws), len(laws)), cluster,
    )  # fmt: skip
