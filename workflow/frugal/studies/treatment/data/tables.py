"""A data set of the treatment search, read and as tables between the steps, and back without loss.

The frame of units holds values by unit, the catalogue (plain JSON values) those shared by
all, the frame of searches their treatments. Writes no file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.data.mimic_items import ORGANISMS, OTHER, RESULTS, TESTED, antibiotic_of
from frugal.data.mimic_tables import EmptyCohortError
from frugal.data.raw import sha256_of
from frugal.studies.treatment.data.description import SearchDescription
from frugal.studies.treatment.data.isolate_tables import amr_table, ecoli_table, kpneumoniae_table
from frugal.studies.treatment.data.records import TrialRecords
from frugal.studies.treatment.data.susceptibility import (
    AGE_GROUPS,
    Contexts,
    SusceptibilityTable,
    age_group,
    code_results,
    complete_table,
    cross_contexts,
)

_COLUMNS = {
    "MICROBIOLOGYEVENTS": (
        "row_id subject_id hadm_id chartdate charttime org_name ab_name interpretation"
    ),
    "PRESCRIPTIONS": "subject_id hadm_id startdate drug route",
    "DIAGNOSES_ICD": "hadm_id icd9_code",
    "PATIENTS": "subject_id dob",
    "ADMISSIONS": "hadm_id admittime",
}
FILES = tuple(_COLUMNS)
_UNIT = ["subject_id", "organism"]
# Chapters of ICD-9: 001–139 infectious and parasitic; 680–709 skin and subcutaneous tissue.
_CHAPTERS = {"infectious": (1, 139), "skin": (680, 709)}
_NO_YES = ("no", "yes")


@dataclass(frozen=True, eq=False)
class MimicCohort:
    """Units with all tests, and the drugs that each was given. Shapes: n units.

    Attributes:
        table: results of the tests; its report holds the number of patients after each step.
        records: trials in their order, with the test's result as outcome.
    """

    table: SusceptibilityTable
    records: TrialRecords


def mimic_cohort(files: Mapping[str, Path], *, exclude_other_antibiotics: bool) -> MimicCohort:
    """Patients tested against six drugs and treated with some of them.     [treatment, sec. C.2]

    Args:
        files: name of each published table → its CSV.
        exclude_other_antibiotics: True is the paper's rule: who took any antibiotic other than the
            six, in any admission, is left out. False passes over the other drugs, as if they had
            not been given; such trials do not show the effect of a drug, so this cohort is for
            trying out the code.

    Raises:
        EmptyCohortError: nobody is left; the message names the step.
        DataError: a file lacks a column, or holds a result that is not known.
    """
    tests, steps = _complete_tests(_read(files["MICROBIOLOGYEVENTS"], "MICROBIOLOGYEVENTS"))
    prescribed = _prescribed(_read(files["PRESCRIPTIONS"], "PRESCRIPTIONS"))
    others = tests["subject_id"].isin(prescribed.loc[prescribed["drug"] == OTHER, "subject_id"])
    prescribed = prescribed[
        (prescribed["drug"] != OTHER) & prescribed["hadm_id"].isin(tests["hadm_id"])
    ]
    treated = tests["hadm_id"].isin(prescribed["hadm_id"])
    steps["treated with one of the six"] = _size(tests[treated])
    cohort = tests[treated & ~others] if exclude_other_antibiotics else tests[treated]
    if exclude_other_antibiotics:
        steps["and never given another antibiotic"] = _size(cohort)
    if cohort.empty:
        sizes = "; ".join(f"{step}: {size['patients']}" for step, size in steps.items())
        raise EmptyCohortError(
            f"0 patients qualify for the MIMIC-III cohort. Patients after each step: {sizes}. The "
            "open demo is too small for the paper's rules; they need the whole of MIMIC-III"
        )
    cohort = cohort.reset_index(drop=True)
    table = complete_table(
        cohort["row_id"].to_numpy(dtype=np.int64),
        cohort["subject_id"].to_numpy(dtype=str),
        _contexts(cohort, files),
        cohort[list(TESTED)].to_numpy(dtype=np.int64),
        actions=list(TESTED),
        results=RESULTS,
        report={"cohort": steps, "other_antibiotics_excluded": exclude_other_antibiotics},
    )
    return MimicCohort(table, _trials(table, cohort, prescribed))


def _read(path: Path, name: str) -> pd.DataFrame:
    """The needed columns of a published table as text, names in lower case."""
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, compression=_packing(path))
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise DataError(f"{path} cannot be read as a CSV: {error}") from None
    frame.columns = frame.columns.str.lower()
    columns = _COLUMNS[name].split()
    absent = [c for c in columns if c not in frame.columns]
    if absent:
        raise DataError(
            f"{path} has no column {absent[0]!r}; {name} of MIMIC-III 1.4 has {', '.join(columns)}"
        )
    return frame[columns]


def _packing(path: Path) -> Any:
    """Gzipped or not, by the first two bytes: a mirror may pack a file that is published plain."""
    with path.open("rb") as stream:
        return "gzip" if stream.read(2) == b"\x1f\x8b" else None


def _size(rows: pd.DataFrame) -> dict[str, int]:
    return {"patients": int(rows["subject_id"].nunique()), "units": len(rows)}


def _complete_tests(events: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
    """One row per patient and organism with an index for each drug, and the sizes on the way."""
    organism = {raw: name for name, raw in ORGANISMS.items()}
    drug = {raw: name for name, raw in TESTED.items()}
    rows = events[events["org_name"].isin(organism) & events["ab_name"].isin(drug)]
    rows = rows[~rows["interpretation"].isin(["", "P"]) & (rows["hadm_id"] != "")]  # P: pending
    rows = rows.assign(
        organism=rows["org_name"].map(organism),
        action=rows["ab_name"].map(drug),
        result=code_results(rows[["interpretation"]], RESULTS)[:, 0],
        time=rows["charttime"].where(rows["charttime"] != "", rows["chartdate"]),
        row_id=rows["row_id"].astype(np.int64),
    ).sort_values(["time", "result", "row_id"], kind="stable")
    by_admission = [*_UNIT, "hadm_id"]
    first = rows.drop_duplicates([*by_admission, "action"])
    wide = first.pivot(index=by_admission, columns="action", values="result")
    wide = wide.reindex(columns=list(TESTED)).join(
        rows.groupby(by_admission)[["time", "row_id"]].first()
    )
    steps = {"one of the four organisms tested": _size(rows.drop_duplicates(_UNIT))}
    complete = wide.dropna().sort_values(["time", "row_id"]).reset_index()
    complete = complete.drop_duplicates(_UNIT).sort_values(["subject_id", "row_id"])
    steps["tested against all six drugs"] = _size(complete)
    return complete, steps


def _prescribed(prescriptions: pd.DataFrame) -> pd.DataFrame:
    """Antibiotics: `subject_id`, `hadm_id`, `startdate`, `drug` (one of the six, or other)."""
    pairs = prescriptions[["drug", "route"]].drop_duplicates()
    named = pairs.assign(
        antibiotic=[antibiotic_of(d, r) for d, r in pairs.itertuples(index=False, name=None)]
    )
    joined = prescriptions.merge(named, on=["drug", "route"])
    joined = joined[joined["antibiotic"] != ""].assign(drug=joined["antibiotic"])
    return joined[["subject_id", "hadm_id", "startdate", "drug"]]


def _contexts(units: pd.DataFrame, files: Mapping[str, Path]) -> tuple[np.ndarray, Contexts]:
    """Organism (4) × age group (4) × infectious disease (2) × skin disease (2): 12 indicators."""
    birth = _read(files["PATIENTS"], "PATIENTS").set_index("subject_id")["dob"]
    arrival = _read(files["ADMISSIONS"], "ADMISSIONS").set_index("hadm_id")["admittime"]
    diagnoses = _read(files["DIAGNOSES_ICD"], "DIAGNOSES_ICD")
    category = pd.to_numeric(diagnoses["icd9_code"].str[:3], errors="coerce")  # E, V: none
    years = _whole_years(
        units["subject_id"].map(birth).to_numpy(dtype=str),
        units["hadm_id"].map(arrival).to_numpy(dtype=str),
    )
    names = list(ORGANISMS)
    factors: dict[str, tuple[np.ndarray, tuple[str, ...]]] = {
        "organism": (units["organism"].map(names.index).to_numpy(dtype=np.int64), tuple(names)),
        "age": (age_group(years), AGE_GROUPS),
    }
    for chapter, (low, high) in _CHAPTERS.items():
        ill = diagnoses.loc[category.between(low, high), "hadm_id"]
        factors[chapter] = (units["hadm_id"].isin(ill).to_numpy(dtype=np.int64), _NO_YES)
    return cross_contexts(factors, len(units))


def _whole_years(birth: np.ndarray, day: np.ndarray) -> np.ndarray:
    """Age in whole years at a day; ages above 89 are 300 in MIMIC-III, beyond pandas' own dates."""
    if not (np.char.str_len(birth) >= 10).all() or not (np.char.str_len(day) >= 10).all():
        raise DataError("a patient of the cohort has no date of birth or of admission")
    years = [np.array([int(t[:4]) for t in texts]) for texts in (birth, day)]
    before = np.array([t[5:10] for t in day]) < np.array([t[5:10] for t in birth])
    return (years[1] - years[0] - before).astype(np.float64)


def _trials(
    table: SusceptibilityTable, units: pd.DataFrame, prescribed: pd.DataFrame
) -> TrialRecords:
    """The drugs of each unit's admission by first day, with the tests' results as outcomes."""
    order = {name: index for index, name in enumerate(TESTED)}
    trials = prescribed.assign(
        action=prescribed["drug"].map(order), undated=prescribed["startdate"] == ""
    ).sort_values(["undated", "startdate", "action"])
    trials = trials.drop_duplicates(["hadm_id", "action"])
    trials = trials.assign(step=trials.groupby("hadm_id").cumcount())
    rows = units.reset_index()[["index", "hadm_id"]].merge(trials, on="hadm_id")
    unit, step = rows["index"].to_numpy(), rows["step"].to_numpy()
    action = np.full(table.outcome.shape, -1, dtype=np.int64)
    action[unit, step] = rows["action"].to_numpy()
    outcome = np.take_along_axis(table.outcome, np.maximum(action, 0), axis=1)
    return TrialRecords(
        context=table.context,
        action=action,
        outcome=np.where(action >= 0, outcome, -1),
        n_contexts=len(table.contexts),
        n_actions=len(TESTED),
        n_outcomes=len(RESULTS),
    )


def read_searches(
    description: SearchDescription, files: Mapping[str, Path]
) -> tuple[SusceptibilityTable, TrialRecords | None]:
    """Units with all their tests, and their treatments where known.

    Args:
        description: of a data set that is read, not drawn.
        files: name of each file → where it lies.

    Returns:
        The table, and the recorded trials: of MIMIC-III only; None for the others.

    Raises:
        DataError: a file is another than the one described, or has invalid content.
        ConfigError: an option is not allowed.
    """
    for file in description.files:
        path = files[file.name]
        if file.sha256 and (digest := sha256_of(path)) not in file.sha256:
            raise DataError(
                f"{path} has SHA-256 {digest}, but {' or '.join(file.sha256)} is expected: it is "
                "not the file that the data set describes"
            )
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


def units_frame(table: SusceptibilityTable) -> pd.DataFrame:
    """One row per unit: `row_id`, `patient`, `context`, and `result:DRUG` for each drug."""
    results = {f"result:{a}": table.outcome[:, j] for j, a in enumerate(table.actions)}
    identity = {"row_id": table.row_id, "patient": table.patient, "context": table.context}
    return pd.DataFrame(identity | results)


def units_catalogue(table: SusceptibilityTable) -> dict[str, Any]:
    """Values common to all units, as JSON values."""
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
        table.context, action, outcome, len(table.contexts), len(table.actions), len(table.results)
    )
