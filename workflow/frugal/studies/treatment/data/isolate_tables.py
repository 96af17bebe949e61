"""Public susceptibility tables as potential outcomes: K. pneumoniae, E. coli, AMR's isolates.

Parses the three raw files of the real data of `treatment` that anyone may read. None of them
records prescriptions: histories of treatment come from elsewhere (`prescribing`, simulated).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from frugal.core.errors import ConfigError, DataError, shown_cell
from frugal.core.schema_check import columns_listed, listed
from frugal.data.description import Format
from frugal.data.records import parse_file
from frugal.studies.treatment.data.susceptibility import (
    AGE_GROUPS,
    SusceptibilityTable,
    age_group,
    check_results,
    code_results,
    complete_table,
    cross_contexts,
)

# Concentrations in mg/L: susceptible at or below, resistant at or above; between: intermediate.
# CLSI, Performance Standards for Antimicrobial Susceptibility Testing, 27th edition, supplement
# M100, Wayne PA, 2017, table 2A (Enterobacteriaceae). Cefepime's "susceptible, dose dependent"
# (4 and 8 mg/L) is read as intermediate. Later editions lowered piperacillin-tazobactam (2022)
# and the aminoglycosides (2023).
BREAKPOINTS: dict[str, dict[str, tuple[float, float]]] = {
    "CLSI M100 2017, Enterobacteriaceae": {
        "ceftazidime": (4.0, 16.0),
        "piperacillin_tazobactam": (16.0, 128.0),
        "cefepime": (2.0, 16.0),
        "tobramycin": (4.0, 16.0),
        "gentamicin": (4.0, 16.0),
        "meropenem": (1.0, 4.0),
    }
}


def _bounds(text: str) -> tuple[float, float]:
    """Lowest and highest concentration that a laboratory's text allows, in mg/L; NaN if empty."""
    stripped = text.strip()
    if not stripped:
        return np.nan, np.nan
    sign = stripped[: len(stripped) - len(stripped.lstrip("<>="))]
    try:
        value = float(stripped[len(sign) :].split("/")[0])
    except ValueError:
        value = 0.0
    if not 0 < value < np.inf or "_" in stripped:
        sign = "?"
    match sign:
        case "" | "=" | "==":
            return value, value
        case "<=":
            return 0.0, value
        case "<":
            return 0.0, value / 2
        case ">":
            return 2 * value, np.inf
        case ">=":
            return value, np.inf
        case _:
            raise DataError(
                f"the concentration {shown_cell(text)} cannot be read; allowed are texts such as "
                "8, <=2, >16 and 64/4"
            )


def interpret_mic(
    texts: np.ndarray, *, susceptible_mg_l: float, resistant_mg_l: float
) -> np.ndarray:
    """Letter R, I or S of each test; empty where the text leaves more than one of them open. (n,)

    `8` is 8 exactly; `<=2` is anything up to 2; `>16` is 32 or more, since dilutions double; of a
    drug in two parts, `64/4`, the first number counts.

    Args:
        texts: concentrations as a laboratory writes them. (n,)
        susceptible_mg_l: susceptible at or below.
        resistant_mg_l: resistant at or above.

    Raises:
        DataError: a text is none of these.
    """
    distinct, inverse = np.unique(texts.astype(str), return_inverse=True)
    bounds = np.array([_bounds(str(text)) for text in distinct]).reshape(-1, 2)
    low, high = bounds[inverse].T
    letters = np.full(len(texts), "", dtype="<U1")
    letters[high <= susceptible_mg_l] = "S"
    letters[low >= resistant_mg_l] = "R"
    letters[(low > susceptible_mg_l) & (high < resistant_mg_l)] = "I"
    return letters


_CSV = Format("csv", (), ",", None, None, False, "utf-8")
AMR_FACTORS = ("organism", "age_group", "gender", "ward")
_WARDS = ("Clinical", "ICU", "Outpatient")
_GENDERS = ("F", "M")


def read_text_table(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Some columns of a CSV as text; an empty cell is an empty text.

    Raises:
        DataError: it is no CSV, a line has another number of cells, or a column is missing.
    """
    frame = parse_file(path, _CSV, source=str(path))[0].frame()
    absent = [c for c in columns if c not in frame.columns]
    if absent:
        raise DataError(f"{path} has no column {absent[0]!r}; {columns_listed(frame.columns)}")
    return frame[list(columns)].astype(object)


def kpneumoniae_table(
    path: Path, *, drugs: Mapping[str, str], breakpoints: str, results: Sequence[str]
) -> SusceptibilityTable:
    """K. pneumoniae isolates by laboratory concentration (Nguyen et al. 2018).

    The file's predicted concentrations are not read: they are a model's.

    Args:
        path: one row per isolate and drug: Genome, Antibiotic, Actual MIC.
        drugs: name of each action, as in the breakpoints → name in the file.
        breakpoints: name of a set in `mic_breakpoints`.
        results: letters of the outcomes, from the worst to the best.

    Raises:
        DataError, ConfigError: the file or the settings violate the conditions above.
    """
    check_results(results)
    if breakpoints not in BREAKPOINTS:
        raise ConfigError(
            f"there are no breakpoints {breakpoints!r}; allowed are {listed(BREAKPOINTS)}"
        )
    frame = read_text_table(path, ["Genome", "Antibiotic", "Actual MIC"])
    twice = frame.duplicated(["Genome", "Antibiotic"])
    if twice.any():
        raise DataError(
            f"{path} has isolate {shown_cell(frame['Genome'][twice].iloc[0])} twice for one drug"
        )
    isolates, first = np.unique(frame["Genome"].to_numpy(dtype=str), return_index=True)
    wide = pd.DataFrame("", index=isolates, columns=list(drugs))
    unclear = {}
    for action, name in drugs.items():
        rows = frame[frame["Antibiotic"] == name]
        if rows.empty:
            raise DataError(f"{path} has no drug {name!r}")
        if action not in BREAKPOINTS[breakpoints]:
            raise ConfigError(
                f"breakpoints {breakpoints!r} have no drug {action!r}; they have "
                f"{listed(BREAKPOINTS[breakpoints])}"
            )
        low, high = BREAKPOINTS[breakpoints][action]
        texts = rows["Actual MIC"].to_numpy(dtype=str)
        letters = interpret_mic(texts, susceptible_mg_l=low, resistant_mg_l=high)
        unclear[action] = int(((letters == "") & (texts != "")).sum())
        wide.loc[rows["Genome"].to_numpy(dtype=str), action] = letters
    return complete_table(
        first,
        isolates,
        cross_contexts({}, len(isolates)),
        code_results(wide, results),
        actions=list(drugs),
        results=results,
        report={"breakpoints": breakpoints, "concentrations_left_open": unclear},
    )


def ecoli_table(
    path: Path, *, drugs: Mapping[str, str], results: Sequence[str]
) -> SusceptibilityTable:
    """E. coli isolates, susceptible or resistant (Moradigaravand et al. 2018).

    Args:
        path: one row per isolate: Isolate, and a column per drug.
        drugs: name of each action → column of the file.
        results: letters of the outcomes; this file has R and S only.

    Raises:
        DataError, ConfigError: the file or the settings violate the conditions above.
    """
    check_results(results)
    frame = read_text_table(path, ["Isolate", *drugs.values()])
    return complete_table(
        np.arange(len(frame)),
        frame["Isolate"].to_numpy(dtype=str),
        cross_contexts({}, len(frame)),
        code_results(frame[list(drugs.values())], results),
        actions=list(drugs),
        results=results,
        report={},
    )


def amr_table(
    path: Path,
    *,
    drugs: Mapping[str, str],
    organisms: Mapping[str, str],
    factors: Sequence[str],
    results: Sequence[str],
) -> SusceptibilityTable:
    """Example isolates of the R package AMR, with age, sex and ward of the patient.

    The package calls its table randomised, fictitious data that reflect reality.

    Args:
        path: one row per isolate: patient, age, gender, ward, mo, and a column per drug.
        drugs: name of each action → column of the file.
        organisms: name → code in the file; isolates of others are left out.
        factors: covariates of the context, of organism, age_group, gender, ward.
        results: letters of the outcomes, from the worst to the best.

    Raises:
        DataError, ConfigError: the file or the settings violate the conditions above.
    """
    check_results(results)
    unknown = [f for f in factors if f not in AMR_FACTORS]
    if unknown:
        raise ConfigError(
            f"there is no covariate {unknown[0]!r}; allowed are {', '.join(AMR_FACTORS)}"
        )
    columns = ["patient", "age", "gender", "ward", "mo", *drugs.values()]
    isolates = read_text_table(path, columns)
    chosen = isolates[isolates["mo"].isin(list(organisms.values()))]
    available = {
        "organism": _levels(chosen["mo"], list(organisms.values()), list(organisms)),
        "age_group": (age_group(_ages(chosen["age"])), AGE_GROUPS),
        "gender": _levels(chosen["gender"], _GENDERS, _GENDERS),
        "ward": _levels(chosen["ward"], _WARDS, _WARDS),
    }
    return complete_table(
        chosen.index.to_numpy(),
        chosen["patient"].to_numpy(dtype=str),
        cross_contexts({name: available[name] for name in factors}, len(chosen)),
        code_results(chosen[list(drugs.values())], results),
        actions=list(drugs),
        results=results,
        report={"rows_read": len(isolates), "factors": list(factors)},
    )


def _levels(
    values: pd.Series, codes: Sequence[str], names: Sequence[str]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Index of each value in the codes, and the name of each code."""
    order = {code: index for index, code in enumerate(codes)}
    strange = ~values.isin(list(order))
    if strange.any():
        raise DataError(
            f"{values.name} is {shown_cell(values[strange].iloc[0])}; allowed are "
            f"{', '.join(order)}"
        )
    return values.map(order).to_numpy(dtype=np.int64), tuple(names)


def _ages(values: pd.Series) -> np.ndarray:
    ages = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    if not (ages >= 0).all():
        raise DataError(
            f"age is {shown_cell(values[~(ages >= 0)].iloc[0])}; allowed are numbers from 0"
        )
    return ages
