"""Labels that follow from several raw columns: an event within a time, a rise.

Knows raw columns only; which class a label means is the business of `encoding`.
"""

import dataclasses
from collections.abc import Iterable

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from frugal.config.dataset import EventRule, LabelRule
from frugal.core.errors import ConfigError
from frugal.data.description import Label
from frugal.data.parsing import RawTable, numbers_of, text_column
from frugal.data.raw_cells import Cells, CellsAndColumn

_YES, _NO = "1", "0"


def with_label(raw: RawTable, label: Label, missing: Iterable[str]) -> RawTable:
    """Raw records with the label that a rule makes as a column more; without a rule, the same.

    The column holds "1" or "0", and nothing (None) where the rule cannot tell.

    Raises:
        DataError: a column is absent, or a cell that should be a number is none.
        ConfigError: the rule's label has the name of a raw column.
    """
    if label.rule is None:
        return raw
    if label.column in raw.frame.columns:
        raise ConfigError(
            f"'label.column' is {label.column!r}, a column of {raw.source[0]}; a label made by "
            "'label.rule' needs a name of its own"
        )
    yes, known = _judged(raw, label.rule, tuple(missing))
    text = np.full(len(raw), None, dtype=object)
    text[known & yes], text[known & ~yes] = _YES, _NO
    return dataclasses.replace(raw, frame=_beside(raw.frame, label.column, text))


def _beside(cells: Cells, name: str, text: np.ndarray) -> Cells:
    """The cells with one more column."""
    if not isinstance(cells, pd.DataFrame):
        return CellsAndColumn(cells, name, text)
    return pd.concat([cells, pd.Series(text, index=cells.index, name=name, dtype=object)], axis=1)


def event_within(
    event: Bool[np.ndarray, " n"], time: Float[np.ndarray, " n"], *, horizon: float
) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Who had the event by the horizon, and of whom that is known. ((n,), (n,))

    Known is whoever had it by then, or was followed up to the horizon; others are censored.
    """
    yes = event & (time <= horizon)
    return yes, yes | (time >= horizon)


def risen(
    before: Float[np.ndarray, " n"],
    after: Float[np.ndarray, " n"],
    *,
    difference: float,
    ratio: float,
) -> Bool[np.ndarray, " n"]:
    """True where a value rose by a difference or by a ratio, up to rounding. (n,)

    With creatinine, 0.3 mg/dL and 1.5 these are the creatinine criteria of KDIGO's stage 1.
    """
    slack = 1e-9  # 1.3 − 1.0 is 0.30000000000000004, 1.2 − 0.9 is 0.29999999999999993
    return (after - before >= difference - slack) | (after >= ratio * before - slack)


def _judged(
    raw: RawTable, rule: LabelRule, missing: tuple[str, ...]
) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Where the answer is yes, and where there is one."""

    def numbers(name: str) -> np.ndarray:
        return numbers_of(raw, name, missing, "label.rule")

    if isinstance(rule, EventRule):
        found = text_column(raw, rule.event, missing, "label.rule")
        event = np.array([text is not None for text in found], dtype=bool)
        return event_within(event, numbers(rule.time), horizon=rule.horizon)
    before, after = numbers(rule.before), numbers(rule.after)
    yes = risen(before, after, difference=rule.difference, ratio=rule.ratio)
    return yes, ~(np.isnan(before) | np.isnan(after))
