"""Stages of records: the graph is checked, missing values are imputed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from frugal.answer.frames import bars
from frugal.answer.stored import StoredRecords
from frugal.core import blocks as micro
from frugal.core.blocks import FULL_PORTION, Portion
from frugal.core.context import Context
from frugal.core.rows import Rows, rows_of, slices_of
from frugal.core.table import Table
from frugal.data.splits import copied
from frugal.data.tables import panel_columns
from frugal.learn.imputers.chained_trees import ChainedTrees, fit_chained_trees
from frugal.results.replacing import Growing
from frugal.studies.afape.graph_check import Contrast, GraphCheck, GraphRows, Indicators
from frugal.studies.afape.graph_check import check_graph as check_blocks
from frugal.studies.afape.multiple_imputation import impute_multiple
from frugal.studies.afape.stored import JudgedRows

_COLUMNS = {name: field.type for name, field in Contrast.__dataclass_fields__.items()}


def check_graph(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame | Rows,
    identification: Mapping[str, Any],
    propensities: pd.DataFrame | Rows,
    context: Context,
    portion: Portion = FULL_PORTION,
) -> dict[str, pd.DataFrame]:
    """Test the graph on the test rows of every seed; parts that cannot be fitted are not tested."""
    records = StoredRecords(table, catalogue, masks, seeds=portion.seeds)
    rows_to_check = _CheckedRows(records, identification, rows_of(propensities))
    contrasts, summaries = [], []
    for seed in context.progress(records.seeds, desc="seeds"):
        rng = context.streams.generator("graph", seed)
        checked = check_blocks(_Blocks(rows_to_check, seed), rows_to_check.clusters, rng)
        rows = pd.DataFrame(
            [vars(contrast) for contrast in checked.contrasts], columns=list(_COLUMNS)
        )
        rows = rows.astype(_COLUMNS) if rows.empty else rows
        contrasts.append(rows.assign(seed=seed))
        summaries.append({"seed": seed, **_summary(checked)})
    return {
        "contrasts": pd.concat(contrasts, ignore_index=True),
        "graph_check": pd.DataFrame(summaries),
    }


def _summary(checked: GraphCheck) -> dict[str, Any]:
    return {
        "tested": len(checked.contrasts),
        "p_value": checked.p_value,
        "graph_refuted": checked.refuted,
        "sentence": checked.sentence,
    }


class _CheckedRows(JudgedRows):
    """Test rows, masks and fitted probabilities, block by block."""

    def __init__(
        self, records: StoredRecords, identification: Mapping[str, Any], fitted: Rows
    ) -> None:
        super().__init__(records)
        self._known, self._fitted = identification, fitted
        self._places = slices_of(fitted, self.counts, "propensities")

    def indicators(self, seed: int, at: int) -> Indicators:
        """Missingness of a block's test rows, by the graph."""
        data, fitted = self.data(at), self._fitted.read(self._places[self.numbers[at]])
        fitted = fitted[fitted["seed"] == seed]
        assert np.array_equal(fitted["row_id"], data.row_id), "bug: row order"
        observed, cluster = self.observed(seed, at), self.cluster_of(at)
        return _indicators(data, observed, self._known, fitted, cluster)


class _Blocks:
    """The blocks of one seed, as often as they are requested."""

    def __init__(self, rows_to_check: _CheckedRows, seed: int) -> None:
        self._given, self._seed = rows_to_check, seed
        self._names = rows_to_check.always_known(seed)

    def __iter__(self) -> Iterator[GraphRows]:
        for at in range(len(self._given.numbers)):
            yield self._given.once("graph", (self._seed, at), lambda at=at: self._block(at))

    def _block(self, at: int) -> GraphRows:
        observed = self._given.known(self._names, at)
        return GraphRows(self._given.indicators(self._seed, at), *observed)


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
    factors = identification["factors"]
    values = np.where(data.columns_observed(observed), data.values, np.nan)
    actions = [panel.name for panel in data.actions]
    at = [actions.index(factor["panel"]) for factor in factors]
    causes = [values[:, [data.columns.index(c) for c in factor["columns"]]] for factor in factors]
    probability = fitted[panel_columns("factor", data)].to_numpy(np.float64)[:, at]
    for k, values_of_causes in enumerate(causes):
        probability[np.isnan(values_of_causes).any(axis=1), k] = np.nan
    probability[copied(pd.DataFrame(values).assign(label=data.label))] = np.nan
    panels = [factor["panel"] for factor in factors]
    conditions = [np.isin(panels, factor["condition_panels"]) for factor in factors]
    return Indicators(
        panels,
        observed[:, at],
        probability,
        causes,
        np.array(conditions, dtype=bool).reshape(len(factors), len(factors)),
        cluster,
    )


_ROUNDS = ["seed", "method", "draw", "rounds"]


def impute_features(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame | Rows,
    context: Context,
    portion: Portion = FULL_PORTION,
) -> Growing:
    """Impute the masked values, from the test rows alone; complete rows are not repeated.

    The chain of trees is fitted to test rows, of a large table to a sample of as many as a block
    has, and completes the others. The other methods, which keep no model, complete every block from
    its own test rows, the last one from those of the block before, too.
    """
    records = StoredRecords(table, catalogue, masks, seeds=portion.seeds)
    outer, inner = bars(context.progress, len(records.table.blocks))
    within = replace(context, progress=inner)
    rounds: dict[tuple[int, str, int], int] = {}
    chains = _chains(records, within)
    for number in outer(range(len(records.table.blocks)), desc="blocks"):
        frames = []
        for seed in records.seeds:
            test_block = _TestBlock(records, number, seed)
            every = _imputations(test_block, chains.get(seed), seed, within)
            for method, draw, values, used in every:
                frames.append(_frame(seed, method, draw, test_block, values))
                at = (seed, method, draw)
                rounds[at] = max(used, rounds.get(at, 0))
        columns = [
            "seed",
            "method",
            "draw",
            "row_id",
            *(f"value:{c}" for c in records.table.columns),
        ]
        yield {
            "imputed": pd.concat(frames, ignore_index=True)
            if frames
            else pd.DataFrame(columns=columns)
        }
    rounds_used = [(*at, used) for at, used in rounds.items()]
    return {"rounds": pd.DataFrame(rounds_used, columns=_ROUNDS)}


class _TestBlock:
    """Test rows of a block, as the records of one seed have them, and rows to complete them from.

    Attributes:
        test: the rows, and before them those of the block before, if it is the last of several.
        hidden: their values, NaN where the records have none. (n, d)
        queried: rows of the block itself that lack a value. (m,)
        number: of the block.
        places: of the rows in the table. (n,)
    """

    def __init__(self, records: StoredRecords, number: int, seed: int) -> None:
        last = 0 < number == len(records.table.blocks) - 1
        begin = records.table.blocks[number - 1 if last else number].start
        places = records.table.positions(["test"])
        rows = records.table.blocks[number]
        places = places[(places >= begin) & (places < rows.stop)]
        self.number, self.places = number, places
        self.test, self.hidden = _hidden(records, places, seed)
        self.queried = np.flatnonzero((places >= rows.start) & np.isnan(self.hidden).any(axis=1))


def _hidden(records: StoredRecords, places: np.ndarray, seed: int) -> tuple[Table, np.ndarray]:
    """Rows, and their values with NaN where the records of a seed have none. (n, d)"""
    data, observed = records.at(places, seed)
    return data, np.where(data.columns_observed(observed), data.values, np.nan)


@dataclass(frozen=True, eq=False)
class _Chain:
    """Trees fitted to a sample of test rows, their places in the table, ascending, and values."""

    chain: ChainedTrees
    places: np.ndarray
    values: np.ndarray

    def completed(self, places: np.ndarray, hidden: np.ndarray) -> np.ndarray:
        """Rows of the table, those of the sample as they were completed in the fit. (n, d)"""
        values, at = hidden.copy(), np.searchsorted(self.places, places)
        fitted = self.places[np.minimum(at, len(self.places) - 1)] == places
        values[fitted] = self.values[at[fitted]]
        if (others := np.flatnonzero(~fitted & np.isnan(hidden).any(axis=1))).size:
            values[others] = self.chain.impute(hidden[others])
        return values


def _chains(records: StoredRecords, context: Context) -> dict[int, _Chain]:
    """Seed → chain; complete variables are fitted where there are rows outside the sample."""
    trees = context.settings["chained_trees"]
    chains = {}
    places = records.table.positions(["test"])
    for seed in records.seeds if trees is not None else ():
        rng = context.streams.generator("chained_trees", seed)
        some = micro.sample_of(len(places), micro.BLOCK_ROWS, rng)
        data, hidden = _hidden(records, places[some], seed)
        chain, values = fit_chained_trees(
            hidden,
            onehot=data.onehot,
            every=len(some) < len(places),
            rng=rng,
            progress=context.progress,
            **(trees or {}),
        )
        chains[seed] = _Chain(chain, places[some], values)
    return chains


def _imputations(
    test_block: _TestBlock, chain: _Chain | None, seed: int, context: Context
) -> Iterator[tuple[str, int, np.ndarray, int]]:
    """Method, draw, completed values and rounds used, for every imputation of the config."""
    settings, streams = context.settings, context.streams
    hidden, onehot = test_block.hidden, test_block.test.onehot
    if chain is not None:
        rounds = settings["chained_trees"]["rounds"]
        yield "chained_trees", 0, chain.completed(test_block.places, hidden), rounds
    if (forest := settings["missforest"]) is not None:
        from frugal.learn.imputers.missforest import impute_missforest  # numba

        rng = streams.of_block(test_block.number, "missforest", seed)
        result = impute_missforest(
            hidden, onehot=onehot, rng=rng, progress=context.progress, **forest
        )
        yield "missforest", 0, result.values, result.rounds
    if (multiple := settings["multiple"]) is not None:
        for method, label in (("multiple", None), ("multiple_label", test_block.test.label)):
            rng = streams.of_block(test_block.number, method, seed)
            draws = impute_multiple(hidden, onehot=onehot, label=label, rng=rng, **multiple)
            for draw, values in enumerate(draws):
                yield method, draw, values, multiple["rounds"]


def _frame(
    seed: int, method: str, draw: int, test_block: _TestBlock, values: np.ndarray
) -> pd.DataFrame:
    """The completed rows of one imputation."""
    columns: dict[str, Any] = {
        "seed": seed,
        "method": method,
        "draw": draw,
        "row_id": test_block.test.row_id[test_block.queried],
    }
    for j, name in enumerate(test_block.test.columns):
        columns[f"value:{name}"] = values[test_block.queried, j]
    return pd.DataFrame(columns)
