"""Stage `check_graph`: whether the records contradict the graph that explains their gaps."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.portions import WHOLE, Portion
from frugal.core.rows import Rows, rows_of, slices_of
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.data.panel_columns import panel_columns
from frugal.judge.graph_check import Contrast, GraphCheck, Indicators
from frugal.judge.graph_check import check_graph as check_whole
from frugal.judge.graph_check_blocks import GraphRows, check_graph_blocks
from frugal.judge.records import always_known
from frugal.studies.afape.judged_rows import JudgedRows
from frugal.studies.afape.stored import StoredRecords

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
        if given.single:
            known = always_known(given.data(0), given.observed(seed, 0))
            checked = check_whole(given.indicators(seed, 0), *known, rng)
        else:
            checked = check_graph_blocks(_Blocks(given, seed), given.clusters, rng)
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
            known = self._given.known(self._names, at)
            yield GraphRows(self._given.indicators(self._seed, at), *known)


def _indicators(
    data: Table,
    observed: np.ndarray,
    identification: Mapping[str, Any],
    fitted: pd.DataFrame,
    cluster: np.ndarray | None,
) -> Indicators:
    """The panels that can be missing, with their fitted probabilities and their causes' values."""
    factors = fitted[panel_columns("factor", data)].to_numpy(np.float64)
    values = np.where(data.columns_observed(observed), data.values, np.nan)
    place = {panel.name: k for k, panel in enumerate(data.actions)}
    at = [place[law["panel"]] for law in identification["factors"]]
    causes = [
        np.stack([values[:, list(data.columns).index(c)] for c in law["columns"]], axis=1)
        if law["columns"]
        else np.empty((len(data), 0))
        for law in identification["factors"]
    ]
    probability = factors[:, at]
    for k, known in enumerate(causes):
        probability[np.isnan(known).any(axis=1), k] = np.nan
    return Indicators(
        [data.actions[k].name for k in at], observed[:, at], probability, causes, cluster
    )
