"""Stage `impute_features`: completed copies of the incomplete test rows (afape, A.4).

A table of one block is completed as a whole. In a larger one the chain of trees is fitted to a
sample of the test rows, as many as a block has rows, and completes each block; the other methods,
which keep no model, complete every block from its own test rows, the last one from those of the
block before, too.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core import blocks as micro
from frugal.core.blocks import WHOLE, Portion
from frugal.core.rows import Rows
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.learn.imputers.chained_trees import ChainedTrees, fit_chained_trees
from frugal.learn.multiple_imputation import impute_multiple
from frugal.results.replacing import Growing
from frugal.studies.afape.stored import StoredRecords
from frugal.studies.shared.frames import bars

_ROUNDS = ["seed", "method", "draw", "rounds"]


def impute_features(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame | Rows,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    portion: Portion = WHOLE,
) -> Growing:
    """Impute what the masks hide, from the test rows alone; complete rows are not repeated."""
    records = StoredRecords(table, catalogue, masks, seeds=portion.seeds)
    outer, inner = bars(progress, len(records.table.blocks))
    rounds: dict[tuple[int, str, int], int] = {}
    chains = _chains(records, settings["chained_trees"], streams)
    for number in outer(range(len(records.table.blocks)), desc="blocks"):
        frames = []
        for seed in records.seeds:
            known = _Known(records, number, seed)
            every = _imputations(known, chains.get(seed), settings, streams, seed, inner)
            for method, draw, values, used in every:
                frames.append(_frame(seed, method, draw, known, values))
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
    told = [(*at, used) for at, used in rounds.items()]
    return {"rounds": pd.DataFrame(told, columns=_ROUNDS)}


class _Known:
    """Test rows of a block, as the records of one seed have them, and rows to complete them from.

    Attributes:
        test: the rows, and before them those of the block before, if it is the last of several.
        hidden: their values, NaN where the records have none. (n, d)
        asked: rows of the block itself that lack a value. (m,)
        number: of the block.
    """

    def __init__(self, records: StoredRecords, number: int, seed: int) -> None:
        last = 0 < number == len(records.table.blocks) - 1
        begin = records.table.blocks[number - 1 if last else number].start
        places = records.table.positions(["test"])
        rows = records.table.blocks[number]
        places = places[(places >= begin) & (places < rows.stop)]
        self.number = number
        self.test, self.hidden = _hidden(records, places, seed)
        self.asked = np.flatnonzero((places >= rows.start) & np.isnan(self.hidden).any(axis=1))


def _hidden(records: StoredRecords, places: np.ndarray, seed: int) -> tuple[Table, np.ndarray]:
    """Rows, and their values with NaN where the records of a seed have none. (n, d)"""
    data, observed = records.at(places, seed)
    return data, np.where(data.columns_observed(observed), data.values, np.nan)


def _chains(
    records: StoredRecords, trees: Mapping[str, Any] | None, streams: Streams
) -> dict[int, ChainedTrees]:
    """Seed → chain that completes single blocks; none for a table of one block."""
    if trees is None or len(records.table.blocks) == 1:
        return {}
    found = {}
    places = records.table.positions(["test"])
    for seed in records.seeds:
        rng = streams.generator("chained_trees", seed)
        some = micro.sample_of(len(places), micro.BLOCK_ROWS, rng)
        data, hidden = _hidden(records, places[some], seed)
        found[seed], _ = fit_chained_trees(
            hidden, onehot=data.onehot, every=True, rng=rng, progress=None, **trees
        )
    return found


def _imputations(
    known: _Known,
    chain: ChainedTrees | None,
    settings: Mapping[str, Any],
    streams: Streams,
    seed: int,
    progress: Callable[..., Any],
) -> Iterator[tuple[str, int, np.ndarray, int]]:
    """Method, draw, completed values and rounds used, for every imputation that the config asks."""
    hidden, onehot = known.hidden, known.test.onehot
    if (trees := settings["chained_trees"]) is not None:
        rng = streams.of_block(known.number, "chained_trees", seed)
        if chain is None:
            _, values = fit_chained_trees(
                hidden, onehot=onehot, every=False, rng=rng, progress=progress, **trees
            )
        else:
            values = hidden.copy()
            values[known.asked] = chain.impute(hidden[known.asked])
        yield "chained_trees", 0, values, trees["rounds"]
    if (forest := settings["missforest"]) is not None:
        from frugal.learn.imputers.missforest import impute_missforest  # numba

        rng = streams.of_block(known.number, "missforest", seed)
        result = impute_missforest(hidden, onehot=onehot, rng=rng, progress=progress, **forest)
        yield "missforest", 0, result.values, result.rounds
    if (multiple := settings["multiple"]) is not None:
        for method, label in (("multiple", None), ("multiple_label", known.test.label)):
            rng = streams.of_block(known.number, method, seed)
            draws = impute_multiple(hidden, onehot=onehot, label=label, rng=rng, **multiple)
            for draw, values in enumerate(draws):
                yield method, draw, values, multiple["rounds"]


def _frame(seed: int, method: str, draw: int, known: _Known, values: np.ndarray) -> pd.DataFrame:
    """The completed rows of one imputation."""
    columns: dict[str, Any] = {
        "seed": seed,
        "method": method,
        "draw": draw,
        "row_id": known.test.row_id[known.asked],
    }
    for j, name in enumerate(known.test.columns):
        columns[f"value:{name}"] = values[known.asked, j]
    return pd.DataFrame(columns)
