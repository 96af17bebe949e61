"""Culture tests as potential outcomes: the outcome of every drug for each unit, and its context.

Serves the real data of `treatment` (Håkansson et al. 2020, sec. 6.2): the tests of an organism
against all drugs replace the outcomes of treatments that were never given. Must not know where
the tests come from, prescriptions, or learners.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from frugal.core.errors import ConfigError, DataError, shown_cell
from frugal.core.schema_check import listed

VALUES = {"R": 0.0, "I": 1.0, "S": 2.0}  # resistant, intermediate, susceptible: higher is better
AGE_GROUPS = ("[0,15]", "(15,31]", "(31,60]", "(60,∞)")
_AGE_EDGES = (15.0, 31.0, 60.0)  # years


@dataclass(frozen=True, eq=False)
class Contexts:
    """All values of the covariates x. Shapes: x contexts, f binary indicators.

    Attributes:
        names: of each context, for people.
        features: indicators of each context, one per level of each covariate. (x, f)
    """

    names: tuple[str, ...]
    features: Float[np.ndarray, "x f"]

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class SusceptibilityTable:
    """Units with the result of every test. Shapes: n units, a actions (drugs).

    Attributes:
        row_id: position of the unit's first test in the raw file. (n,)
        patient: who the unit belongs to, numbered from 0; a split never divides a patient. (n,)
        context: index of the covariates x. (n,)
        contexts: name and covariates of each context.
        outcome: index of each test's result in `results`. (n, a)
        actions: name of each drug.
        results: letters of the outcomes, from the worst to the best.
        report: rows read, left out and kept, in plain JSON values.
    """

    row_id: Int[np.ndarray, " n"]
    patient: Int[np.ndarray, " n"]
    context: Int[np.ndarray, " n"]
    contexts: Contexts
    outcome: Int[np.ndarray, "n a"]
    actions: tuple[str, ...]
    results: tuple[str, ...]
    report: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.row_id)

    @property
    def outcome_value(self) -> np.ndarray:
        """Y of each result: 0 resistant, 1 intermediate, 2 susceptible. (y,)"""
        return np.array([VALUES[letter] for letter in self.results])


def code_results(text: pd.DataFrame, results: Sequence[str]) -> Int[np.ndarray, "n a"]:
    """Index of each test result, −1 where there is none.                [treatment, sec. 6.2]

        R < I < S, with values 0, 1, 2

    Args:
        text: one column per drug, with a letter or an empty text. (n, a)
        results: letters that may occur, from the worst to the best.

    Raises:
        DataError: a text is neither empty nor one of the letters.
    """
    values = text.to_numpy(dtype=str)
    coded = np.full(values.shape, -1, dtype=np.int64)
    for index, letter in enumerate(results):
        coded[values == letter] = index
    strange = (coded < 0) & (values != "")
    if strange.any():
        row, column = (int(v) for v in np.argwhere(strange)[0])
        raise DataError(
            f"the result of {text.columns[column]!r} in row {row} is "
            f"{shown_cell(str(values[row, column]))}; allowed are {listed(results)} or nothing"
        )
    return coded


def check_results(results: Sequence[str]) -> tuple[str, ...]:
    """The letters of the results, checked to ascend and to end in susceptible.

    Raises:
        ConfigError: as described above.
    """
    values = [VALUES.get(letter, np.nan) for letter in results]
    if len(results) < 2 or results[-1] != "S" or not (np.diff(values) > 0).all():
        raise ConfigError(
            f"'results' are {listed(results)}; allowed are R, I, S or R, S, from the worst on"
        )
    return tuple(results)


def age_group(age_years: np.ndarray) -> np.ndarray:
    """Index of the age group: [0,15], (15,31], (31,60], (60,∞).         [treatment, sec. C.2]"""
    return np.searchsorted(np.array(_AGE_EDGES), age_years, side="left")


def cross_contexts(
    factors: Mapping[str, tuple[np.ndarray, Sequence[str]]], units: int
) -> tuple[Int[np.ndarray, " n"], Contexts]:
    """One index for several discrete covariates: the product of their levels, first one slowest.

    Every combination has an index, seen or not, so an index means the same in all tables.

    Args:
        factors: name → level index of each unit, and the names of the levels; without any there is
            one context, named `all`.
        units: n.

    Returns:
        Index of each unit, and the meaning of each index.
    """
    if not factors:
        return np.zeros(units, dtype=np.int64), Contexts(("all",), np.zeros((1, 0)))
    lengths = [len(levels) for _, levels in factors.values()]
    index = np.ravel_multi_index([level for level, _ in factors.values()], lengths)
    names = [""]
    for name, (_, levels) in factors.items():
        names = [f"{n}, {name} {v}" if n else f"{name} {v}" for n in names for v in levels]
    level = np.indices(lengths).reshape(len(lengths), -1)
    features = np.concatenate([np.eye(m)[level[f]] for f, m in enumerate(lengths)], axis=1)
    return np.asarray(index, dtype=np.int64), Contexts(tuple(names), features)


def complete_table(
    row_id: np.ndarray,
    patient: np.ndarray,
    context: tuple[np.ndarray, Contexts],
    outcome: Int[np.ndarray, "n a"],
    *,
    actions: Sequence[str],
    results: Sequence[str],
    report: Mapping[str, Any],
) -> SusceptibilityTable:
    """The units that were tested against every drug; the others are counted and left out.

    Args:
        row_id: position in the raw file. (n,)
        patient: any label of the person. (n,)
        context: index of each unit, and the meaning of each index.
        outcome: index of each result, −1 where there is none. (n, a)
        actions: name of each drug.
        results: letters of the outcomes, from the worst to the best.
        report: of the steps before.

    Raises:
        DataError: no unit was tested against every drug.
    """
    complete = np.asarray((outcome >= 0).all(axis=1))
    if not complete.any():
        raise DataError(
            f"none of {len(complete)} units was tested against all of {listed(actions)}"
        )
    persons = np.unique(patient[complete], return_inverse=True)[1]
    return SusceptibilityTable(
        row_id=np.asarray(row_id[complete], dtype=np.int64),
        patient=persons.astype(np.int64),
        context=context[0][complete],
        contexts=context[1],
        outcome=outcome[complete],
        actions=tuple(actions),
        results=tuple(results),
        report={
            **report,
            "units_read": len(complete),
            "units_with_all_tests": int(complete.sum()),
            "patients": int(persons.max()) + 1,
            "susceptible": {
                drug: int(count)
                for drug, count in zip(
                    actions, (outcome[complete] == len(results) - 1).sum(axis=0), strict=True
                )
            },
        },
    )
