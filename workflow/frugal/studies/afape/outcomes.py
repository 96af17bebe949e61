"""Where a policy acts in this study, and what comes of it: worlds of some rows, and their tables.

Knows no policy, no law of gaps and no file.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from frugal.acquire.logs import Scene, outcome_frame
from frugal.core.table import Table
from frugal.core.world import World
from frugal.data.panel_columns import panel_matrix
from frugal.learn.tree_scoring import expected_cost_prediction, predict_proba_acquired
from frugal.learn.trees import TreeEnsemble

RECORDED_ONLY = ("set_probability", "sequence_probability")  # of the records' own sets
FULL_ONLY = ("in_record_order",)  # of what the policy does where nothing is missing
BLOCKED_ONLY = ("true_afa_propensity",)  # of the sets that the blocked policy acquired
TABLE_VALUES = ("blocked", "full", "retrospective")  # worlds that hold the table's own values


@dataclass(frozen=True, eq=False)
class Ended:
    """Sets acquired in one world, and what is known of each row beside its outcome.

    Attributes:
        scene: who acted where.
        rows: positions of the world's units in the table. (n,)
        acquired: in the end. (n, a)
        said: class probabilities by the policy itself; None: the classifier says. (n, k)
        beside: further columns.
    """

    scene: Scene
    rows: np.ndarray
    acquired: np.ndarray
    said: np.ndarray | None
    beside: Mapping[str, np.ndarray]


def worlds(
    data: Table,
    part: np.ndarray,
    rows: np.ndarray,
    mask: pd.DataFrame,
    known: bool,
    copies: pd.DataFrame,
    imputed: pd.DataFrame,
) -> Iterator[tuple[World, np.ndarray]]:
    """The records; the full table, if it is known; every imputed copy of the test rows.

    Each with the positions of its units in the table.
    """
    whole = World.of_table(data)
    recorded = panel_matrix(mask, "observed", data)
    yield replace(whole.take(rows), name="blocked", available=recorded), rows
    test = np.flatnonzero(part == "test")
    full = whole.take(test)
    if known:
        yield full, test
    position = pd.Series(np.arange(len(test)), index=data.row_id[test])
    for method, draw in copies.itertuples(index=False):
        copy = imputed[(imputed["method"] == method) & (imputed["draw"] == draw)]
        values = full.values.copy()
        filled = copy[[f"value:{c}" for c in data.columns]].to_numpy()
        values[position.loc[copy["row_id"]].to_numpy()] = filled
        yield replace(full, name=method, draw=draw, values=values), test


def outcomes(
    ended: Sequence[Ended], ensemble: TreeEnsemble, data: Table
) -> dict[str, pd.DataFrame]:
    """Episodes on the records, which nuisances are fitted to, apart from those in other worlds."""
    everywhere = pd.concat(_frames(ended, ensemble, data), ignore_index=True)
    on_records = everywhere["world"] == "blocked"
    return {
        "blocked": everywhere[on_records]
        .drop(columns=[*RECORDED_ONLY, *FULL_ONLY])
        .reset_index(drop=True),
        "worlds": everywhere[~on_records].drop(columns=[*BLOCKED_ONLY]).reset_index(drop=True),
    }


def _frames(ended: Sequence[Ended], ensemble: TreeEnsemble, data: Table) -> Iterator[pd.DataFrame]:
    """A frame for each world, in a fixed order of columns; the classifier is asked once for all
    worlds that hold the table's own values.
    """
    own = [one for one in ended if one.scene.world.name in TABLE_VALUES]
    others = [one for one in ended if one.scene.world.name not in TABLE_VALUES]
    shares = _shares(own, ensemble, data, data.values, lambda one: one.rows)
    for one, said in [
        *zip(own, shares, strict=True),
        *((one, _shares([one], ensemble, data, one.scene.world.values, _in_place)[0])
          for one in others),
    ]:  # fmt: skip
        prediction = (
            expected_cost_prediction(said, data.misclassification_cost)
            if one.said is None
            else said.argmax(axis=1)
        )
        frame = outcome_frame(
            one.scene, one.acquired[None], verdict=prediction[None], shares=said[None]
        )
        for name in (*RECORDED_ONLY, *FULL_ONLY, *BLOCKED_ONLY):
            frame[name] = one.beside.get(name, np.nan)
        yield frame


def _in_place(one: Ended) -> np.ndarray:
    return np.arange(len(one.rows))


def _shares(
    ended: Sequence[Ended],
    ensemble: TreeEnsemble,
    data: Table,
    values: np.ndarray,
    position: Callable[[Ended], np.ndarray],
) -> list[np.ndarray]:
    """Class probabilities at the end, by the policy itself or by the classifier. (n, k) each"""
    if any(one.said is not None for one in ended):  # where there is no row, nothing is said
        nothing = np.empty((0, ensemble.classes))
        return [nothing if one.said is None else one.said for one in ended]
    together = predict_proba_acquired(
        ensemble, values, data.provides, data.free_columns,
        np.concatenate([position(one) for one in ended]),
        np.concatenate([one.acquired for one in ended]),
    )  # fmt: skip
    ends = np.cumsum([len(one.rows) for one in ended])[:-1]
    return np.split(together, ends)
