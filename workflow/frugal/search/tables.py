"""A data set of the treatment search, read and as tables between the steps, and back without loss.

The frame of units holds what varies by unit, the catalogue (plain JSON values) what is the same for
all, the frame of searches who was given what. Writes no file.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.config.search import SearchFile
from frugal.core.errors import DataError
from frugal.data.raw import sha256_of
from frugal.search.description import SearchDescription
from frugal.search.isolate_tables import amr_table, ecoli_table, kpneumoniae_table
from frugal.search.mimic_cohort import FILES, mimic_cohort
from frugal.search.records import TrialRecords
from frugal.search.susceptibility import Contexts, SusceptibilityTable


def read_searches(
    description: SearchDescription, files: Mapping[str, Path]
) -> tuple[SusceptibilityTable, TrialRecords | None]:
    """Units with all their tests, and what they were given where that is known.

    Args:
        description: of a data set that is read, not drawn.
        files: name of each file → where it lies.

    Returns:
        The table, and the recorded trials: of MIMIC-III only; None for the others.

    Raises:
        DataError: a file is another than the one described, or does not hold what it should.
        ConfigError: an option is not allowed.
    """
    for file in description.files:
        _verify(files[file.name], file)
    paths = [files[file.name] for file in description.files]
    options, drugs = dict(description.options), description.actions
    if description.reader == "mimic3":
        cohort = mimic_cohort(dict(zip(FILES, paths, strict=True)), **options)
        return cohort.table, cohort.records
    (path,) = paths
    common: dict[str, Any] = {"drugs": drugs, "results": description.results}
    if description.reader == "kpneumoniae_mic":
        return kpneumoniae_table(path, **common, **options), None
    if description.reader == "ecoli_ast":
        return ecoli_table(path, **common, **options), None
    return amr_table(path, **common, **options), None


def _verify(path: Path, file: SearchFile) -> None:
    found = sha256_of(path)
    if file.sha256 and found not in file.sha256:
        raise DataError(
            f"{path} has SHA-256 {found}, but {' or '.join(file.sha256)} is expected: it is not "
            "the file that the data set describes"
        )


def units_frame(table: SusceptibilityTable) -> pd.DataFrame:
    """One row per unit: `row_id`, `patient`, `context`, and `result:DRUG` for each drug."""
    results = {f"result:{a}": table.outcome[:, j] for j, a in enumerate(table.actions)}
    identity = {"row_id": table.row_id, "patient": table.patient, "context": table.context}
    return pd.DataFrame(identity | results)


def units_catalogue(table: SusceptibilityTable) -> dict[str, Any]:
    """What holds for all units, as plain JSON values."""
    return {
        "actions": list(table.actions),
        "results": list(table.results),
        "contexts": list(table.contexts.names),
        "context_features": table.contexts.features.tolist(),
        "report": dict(table.report),
    }


def table_from_units(units: pd.DataFrame, catalogue: Mapping[str, Any]) -> SusceptibilityTable:
    """The table that `units_frame` and `units_catalogue` took apart."""
    names = tuple(catalogue["contexts"])
    features = np.array(catalogue["context_features"], dtype=np.float64)
    return SusceptibilityTable(
        row_id=units["row_id"].to_numpy(dtype=np.int64),
        patient=units["patient"].to_numpy(dtype=np.int64),
        context=units["context"].to_numpy(dtype=np.int64),
        contexts=Contexts(names, features.reshape(len(names), -1)),
        outcome=units[[f"result:{a}" for a in catalogue["actions"]]].to_numpy(dtype=np.int64),
        actions=tuple(catalogue["actions"]),
        results=tuple(catalogue["results"]),
        report=catalogue["report"],
    )


def trials_frame(records: TrialRecords, row_id: np.ndarray) -> pd.DataFrame:
    """One row per trial: `row_id`, `step` from 0 on, `trial` (index of the action), `result`."""
    unit, step = np.nonzero(records.action >= 0)
    return pd.DataFrame(
        {
            "row_id": row_id[unit],
            "step": step,
            "trial": records.action[unit, step],
            "result": records.outcome[unit, step],
        }
    )


def records_from_trials(trials: pd.DataFrame, table: SusceptibilityTable) -> TrialRecords:
    """The trials of every unit of the table, in its order.

    Raises:
        DataError: a trial is of a unit that the table does not have.
    """
    order = pd.Series(np.arange(len(table)), index=table.row_id)
    unit = trials["row_id"].map(order)
    if unit.isna().any():
        raise DataError(f"a trial is of unit {trials['row_id'][unit.isna()].iloc[0]}, not a row")
    rows, step = unit.to_numpy(dtype=np.int64), trials["step"].to_numpy(dtype=np.int64)
    action = np.full(table.outcome.shape, -1, dtype=np.int64)
    outcome = action.copy()
    action[rows, step] = trials["trial"].to_numpy()
    outcome[rows, step] = trials["result"].to_numpy()
    return TrialRecords(
        table.context,
        action,
        outcome,
        len(table.contexts),
        len(table.actions),
        len(table.results),
    )
