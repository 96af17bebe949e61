"""The kind `table`: decisions of another program, state by state, in a Parquet file.

Rows are (row, acquired set, action, probability), or (row, step, action): a log of one episode for
each row, from the start to "stop". It has the program's decision on a row once some panels
are acquired, and nothing of values. A panel that cannot be had is passed over: its probability is
spread over the other actions, in proportion, and where nothing is left the policy stops; so does a
log at the first panel that cannot be had. Must not know costs, labels or missingness.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.acquire.kinds import AgentKind, Saved
from frugal.acquire.reading import SingleWithoutVerdict
from frugal.core.episodes import Law, Panels, RowPanels, Values
from frugal.core.errors import ConfigError, DataError, MissingStateError, printable
from frugal.core.layout import Layout
from frugal.core.schema_check import did_you_mean, listed
from frugal.core.world import set_keys

STOP = "stop"
ROUNDING = 1e-6  # by which the probabilities of a state may miss 1
COLUMNS = ("row", "acquired", "action", "probability")
STEPS = ("row", "step", "action")


@dataclass(frozen=True, eq=False)
class StateTable(SingleWithoutVerdict):
    """A policy that is indexed by rows. Shapes: a panels, t states.

    Attributes:
        states: row and code of the acquired set, of each state.
        action_probability: probabilities of all panels and of stopping. (t, a + 1)
        panels: their names.
        file: where it is defined, for sentences.
    """

    states: pd.MultiIndex
    action_probability: Float[np.ndarray, "t A"]
    panels: Sequence[str]
    file: str

    def law_of_rows(
        self, row_id: Int[np.ndarray, " m"], acquired: RowPanels, available: RowPanels
    ) -> Float[np.ndarray, "m A"]:
        """Action probabilities of m states, given the available panels. (m, a + 1)

        Raises:
            MissingStateError: it lacks one; the sentence names the first.
        """
        keys = pd.MultiIndex.from_arrays([row_id, set_keys(acquired)])
        place = self.states.get_indexer(keys)
        if (place < 0).any():
            self._refuse(row_id[place < 0], acquired[place < 0])
        action_probability = self.action_probability[place]
        action_probability[:, :-1] *= available
        total = action_probability.sum(axis=1, keepdims=True)
        action_probability[total[:, 0] == 0, -1] = 1.0
        return action_probability / np.where(total == 0, 1.0, total)

    def action_probabilities(self, values: Values, acquired: Panels, available: Panels) -> Law:
        """It has no answer to values: it is indexed by rows (`law_of_rows`)."""
        raise AssertionError("bug: a table of states was called with values")

    def _refuse(self, row_id: np.ndarray, acquired: np.ndarray) -> NoReturn:
        """Name the first of states that it lacks, and count the others."""
        codes = set_keys(acquired)
        first = np.lexsort((codes, row_id))[0]
        named = [panel for panel, has in zip(self.panels, acquired[first], strict=True) if has]
        others = len(set(zip(row_id.tolist(), codes.tolist(), strict=True))) - 1
        raise MissingStateError(
            f"{printable(self.file)} lacks the state of row {row_id[first]} with "
            f"{listed(named) if named else 'nothing'} acquired, and {others} "
            "others of the same call"
        )


def state_table(frame: pd.DataFrame, layout: Layout, file: str) -> StateTable:
    """A file's table as a policy.

    Args:
        frame: `row` (`row_id` of the data set's table), `acquired` (a list of panels), `action` (a
            panel or "stop") and `probability`; an action that is not listed has probability 0. Or a
            log: `row`, `step` (from 0 on) and `action`, the last of each row "stop".
        layout: whose panels are meant.
        file: its name, for sentences.

    Raises:
        DataError: it is no such table; the message names the row and the allowed values.
    """
    at = printable(file)
    if "step" in frame.columns:
        frame = _states_of_log(frame, at)
    absent = [name for name in COLUMNS if name not in frame.columns]
    if absent:
        raise DataError(
            f"{at} has no column {absent[0]!r}; a table of states has {listed(COLUMNS)}"
        )
    names = [panel.name for panel in layout.actions]
    if STOP in names:
        raise DataError(
            f"{at}: a table of states ends with {STOP!r}, and a panel has this name; rename it"
        )
    if not len(frame):
        raise DataError(f"{at} has no rows; a table of states needs one for each state and action")
    row, probability = _numbers(frame, at)
    texts = [a if isinstance(a, str) else None for a in frame["action"]]
    action = pd.Index([*names, STOP]).get_indexer(pd.Index(texts, dtype=object))
    if (action < 0).any():
        line = int((action < 0).argmax())
        action_name = frame["action"].iloc[line]
        raise DataError(
            f"{at}, row {line}: the action is {action_name!r}; allowed are {listed([*names, STOP])}"
            f"{did_you_mean(str(action_name), [*names, STOP])}"
        )
    sets = _sets(frame["acquired"], names, at)
    codes = set_keys(sets)
    again = np.append(sets, np.zeros((len(sets), 1), dtype=bool), axis=1)
    acquired_again = again[np.arange(len(action)), action] & (probability > 0)
    if acquired_again.any():
        line = int(acquired_again.argmax())
        raise DataError(
            f"{at}, row {line}: the panel {names[action[line]]!r} has the probability "
            f"{probability[line]:g}, though it is acquired already"
        )
    which, states = _distinct(row, codes)
    cell = which * (len(names) + 1) + action
    if len(np.unique(cell)) < len(cell):
        line = int(pd.Series(cell).duplicated().to_numpy().argmax())
        raise DataError(
            f"{at}, row {line}: row {row[line]} with this set has the action "
            f"{frame['action'].iloc[line]!r} twice; each is listed once"
        )
    action_probability = np.zeros((len(states), len(names) + 1))
    action_probability[which, action] = probability
    total = action_probability.sum(axis=1)
    off = np.abs(total - 1) > ROUNDING
    if off.any():
        line = int((off[which]).argmax())
        raise DataError(
            f"{at}, row {line}: the probabilities of row {row[line]} with this set sum to "
            f"{total[which[line]]:.6g}; allowed is 1"
        )
    return StateTable(states, action_probability, tuple(names), file)


def _states_of_log(frame: pd.DataFrame, at: str) -> pd.DataFrame:
    """The states that a log comes to, by row and step, each with one action."""
    problems = [f"no column {name!r}" for name in STEPS if name not in frame.columns]
    if problems or "acquired" in frame.columns:
        problem = [*problems, "a column 'acquired'"][0]
        raise DataError(
            f"{at} has a column 'step' and {problem}; a log has {listed(STEPS)}, a table of states "
            f"{listed(COLUMNS)}"
        )
    log = frame.reset_index(drop=True).sort_values(["row", "step"], kind="stable")
    number = log.groupby("row").cumcount().to_numpy()
    last = ~log["row"].duplicated(keep="last").to_numpy()
    wrong = (log["step"].to_numpy() != number) | ((log["action"] == STOP).to_numpy() != last)
    if wrong.any():
        row, step, action = log[[*STEPS]].iloc[int(wrong.argmax())]
        raise DataError(
            f"{at}: row {row} has the action {action!r} at step {step}; allowed are for each row "
            f"steps 0, 1, 2, … once, the last of them {STOP!r} and no other"
        )
    actions = log["action"].to_numpy()
    acquired = [actions[k - step : k] for k, step in enumerate(number.tolist())]
    columns = {"row": log["row"], "acquired": acquired, "action": actions, "probability": 1.0}
    return pd.DataFrame(columns).sort_index()  # rows of the file, for sentences


def _distinct(row: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, pd.MultiIndex]:
    """Number of each line's state, and the states. (n,)"""
    order = np.lexsort((codes, row))
    row, codes = row[order], codes[order]
    new = np.append(True, (row[1:] != row[:-1]) | (codes[1:] != codes[:-1]))
    which = np.empty(len(order), dtype=np.int64)
    which[order] = new.cumsum() - 1
    return which, pd.MultiIndex.from_arrays([row[new], codes[new]])


def _numbers(frame: pd.DataFrame, at: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and probabilities, which are whole numbers and numbers in [0, 1]. (n,) each"""
    if frame["row"].dtype.kind not in "iu":
        raise DataError(
            f"{at}: column 'row' is of type {frame['row'].dtype}; allowed are whole numbers, "
            "row_id of the data set's table"
        )
    if frame["probability"].dtype.kind not in "fiu":
        raise DataError(
            f"{at}: column 'probability' is of type {frame['probability'].dtype}; allowed are "
            "numbers"
        )
    probability = frame["probability"].to_numpy(dtype=np.float64)
    wrong = ~((probability >= 0) & (probability <= 1 + ROUNDING))
    if wrong.any():
        line = int(wrong.argmax())
        raise DataError(
            f"{at}, row {line}: the probability is {probability[line]:g}; allowed is 0 to 1"
        )
    return frame["row"].to_numpy(dtype=np.int64), probability


def _sets(column: pd.Series, names: Sequence[str], at: str) -> Bool[np.ndarray, "n a"]:
    """Lists of panels as sets. (n, a)"""
    numbered = column.reset_index(drop=True)
    lists = numbered.map(lambda cell: isinstance(cell, list | tuple | np.ndarray)).to_numpy(bool)
    if not lists.all():
        line = int((~lists).argmax())
        raise DataError(
            f"{at}, row {line}: 'acquired' is {numbered.iloc[line]!r}; allowed is a list of "
            "panels, empty at the start"
        )
    each = numbered.explode()
    listed_ = each[numbered.map(len).to_numpy()[each.index] > 0]
    place = pd.Index(names).get_indexer(pd.Index(listed_))
    if (place < 0).any():
        bad = int((place < 0).argmax())
        panel_name = listed_.iloc[bad]
        raise DataError(
            f"{at}, row {listed_.index[bad]}: 'acquired' names the panel {panel_name!r}; the data "
            f"set has to acquire {listed(names)}{did_you_mean(str(panel_name), names)}"
        )
    sets = np.zeros((len(numbered), len(names)), dtype=bool)
    sets[listed_.index.to_numpy(), place] = True
    return sets


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> StateTable:
    """The table of the file that is among a step's inputs."""
    if not isinstance(stored, pd.DataFrame):
        raise ConfigError("an agent of kind 'table' acts by its file; it is not among the inputs")
    return state_table(stored, layout, settings["file"])


TABLE = AgentKind(
    name="table",
    build=build,
    fit=None,
    settings={
        "file": (
            "ParquetFile",
            "a Parquet file with the columns row, acquired, action and probability, or a log with "
            "row, step and action",
        ),
        "dataset": ("str", "the data set whose rows it has"),
    },
    doc="decisions of another program, state by state, in a Parquet file",
    file=True,
    rows_only=True,
    names={"dataset": "dataset"},
)
