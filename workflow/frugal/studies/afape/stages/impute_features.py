"""Stage `impute_features`: completed copies of the incomplete test rows (afape, A.4)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.data.panel_columns import panel_matrix
from frugal.data.tables import table_from_frames
from frugal.learn.chained_trees import fit_chained_trees
from frugal.learn.missforest import impute_missforest
from frugal.learn.multiple_imputation import impute_multiple
from frugal.studies.afape.laws import require_masks
from frugal.studies.shared.frames import by_seed


def impute_features(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """Impute what the masks hide, from the test rows alone; complete rows are not repeated."""
    data, part = table_from_frames(table, catalogue)
    require_masks(masks, data)
    rows = np.flatnonzero(part == "test")
    test = data.take(rows)
    frames, rounds = [], []
    for seed, mask in by_seed(masks, rows):
        observed = test.columns_observed(panel_matrix(mask, "observed", data))
        hidden = np.where(observed, test.values, np.nan)
        incomplete = np.flatnonzero(np.isnan(hidden).any(axis=1))
        for method, draw, values, used in _imputations(
            test, hidden, settings, streams, seed, progress
        ):
            frames.append(_frame(seed, method, draw, test, values, incomplete))
            rounds.append({"seed": seed, "method": method, "draw": draw, "rounds": used})
    columns = ["seed", "method", "draw", "row_id", *(f"value:{c}" for c in data.columns)]
    imputed = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)
    return {
        "imputed": imputed,
        "rounds": pd.DataFrame(rounds, columns=["seed", "method", "draw", "rounds"]),
    }


def _imputations(
    test: Table,
    hidden: np.ndarray,
    settings: Mapping[str, Any],
    streams: Streams,
    seed: int,
    progress: Callable[..., Any],
) -> Iterator[tuple[str, int, np.ndarray, int]]:
    """Method, draw, completed values and rounds used, for every imputation that the config asks."""
    if (trees := settings["chained_trees"]) is not None:
        _, values = fit_chained_trees(
            hidden,
            onehot=test.onehot,
            every=False,
            rng=streams.generator("chained_trees", seed),
            progress=progress,
            **trees,
        )
        yield "chained_trees", 0, values, trees["rounds"]
    if (forest := settings["missforest"]) is not None:
        result = impute_missforest(
            hidden,
            onehot=test.onehot,
            rng=streams.generator("missforest", seed),
            progress=progress,
            **forest,
        )
        yield "missforest", 0, result.values, result.rounds
    if (multiple := settings["multiple"]) is not None:
        for method, label in (("multiple", None), ("multiple_label", test.label)):
            draws = impute_multiple(
                hidden,
                onehot=test.onehot,
                label=label,
                rng=streams.generator(method, seed),
                **multiple,
            )
            for draw, values in enumerate(draws):
                yield method, draw, values, multiple["rounds"]


def _frame(
    seed: int, method: str, draw: int, test: Table, values: np.ndarray, rows: np.ndarray
) -> pd.DataFrame:
    """The completed rows of one imputation."""
    columns: dict[str, Any] = {
        "seed": seed,
        "method": method,
        "draw": draw,
        "row_id": test.row_id[rows],
    }
    for j, name in enumerate(test.columns):
        columns[f"value:{name}"] = values[rows, j]
    return pd.DataFrame(columns)
