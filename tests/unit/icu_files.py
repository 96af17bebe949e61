"""Drawn tables of MIMIC-III for the cohorts of the diagnosis study, as CSV files."""

import csv
import gzip
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

LAB_RANGES = {
    50912: (0.5, 6),
    51265: (10, 300),
    50885: (0.3, 14),
    50821: (50, 300),
    50816: (15, 100),
    50983: (130, 150),
    51221: (20, 45),
}
CHART_RANGES = {220052: (55, 110), 223835: (0.3, 100), 224639: (50, 110), 220045: (5, 200)}
RATES = {221906: 0.3, 221289: 0.2, 221662: 20.0, 221653: 5.0}


def draw_tables(seed: int, patients: int) -> dict[str, list[dict[str, Any]]]:
    """Rows of the eleven tables, names in lower case."""
    rng = np.random.default_rng(seed)
    tables: dict[str, list[dict[str, Any]]] = {
        name: []
        for name in (
            "PATIENTS",
            "ADMISSIONS",
            "ICUSTAYS",
            "LABEVENTS",
            "CHARTEVENTS",
            "OUTPUTEVENTS",
            "INPUTEVENTS_CV",
            "INPUTEVENTS_MV",
            "MICROBIOLOGYEVENTS",
            "PRESCRIPTIONS",
            "DIAGNOSES_ICD",
        )
    }
    for person in range(patients):
        age = int(rng.integers(15, 95))
        tables["PATIENTS"].append(
            {
                "subject_id": person,
                "gender": "FM"[person % 2],
                "dob": f"{2100 - age}-05-05 00:00:00",
            }
        )
        for nth in range(1 + person % 2):
            _draw_admission(tables, rng, person, nth)
    return tables


def _draw_admission(tables: dict, rng: np.random.Generator, person: int, nth: int) -> None:
    hadm, stay = 1000 + 10 * person + nth, 5000 + 10 * person + nth
    arrival = datetime(2100, 6, 1 + 9 * nth, int(rng.integers(24)), int(rng.integers(60)))

    def at(low: float, high: float) -> str:
        minutes = int(rng.integers(int(low * 60), int(high * 60)))
        return str(arrival + timedelta(minutes=minutes))

    tables["ADMISSIONS"].append(
        {
            "hadm_id": hadm,
            "admittime": str(arrival),
            "admission_type": "EMERGENCY",
            "hospital_expire_flag": int(rng.random() < 0.4),
        }
    )
    tables["ICUSTAYS"].append(
        {
            "icustay_id": stay,
            "subject_id": person,
            "hadm_id": hadm,
            "intime": str(arrival),
            "outtime": str(arrival + timedelta(days=4)),
            "first_careunit": "MICU",
        }
    )
    for item, (low, high) in LAB_RANGES.items():
        for _ in range(rng.integers(0, 4)):
            value = "" if rng.random() < 0.1 else round(float(rng.uniform(low, high)), 2)
            tables["LABEVENTS"].append(
                {"subject_id": person, "itemid": item, "charttime": at(-3, 80), "valuenum": value}
            )
    for item, (low, high) in CHART_RANGES.items():
        for _ in range(rng.integers(0, 3)):
            value = round(float(rng.uniform(low, high)), 2)
            _chart(tables, stay, item, at(-1, 27), value, str(value), int(rng.random() < 0.1))
    for _ in range(rng.integers(0, 3)):
        when, tube = at(0, 24), rng.random() < 0.3
        _chart(tables, stay, 220739, when, int(rng.integers(1, 5)), "eye", 0)
        _chart(tables, stay, 223901, when, int(rng.integers(1, 7)), "motor", 0)
        if rng.random() < 0.9:
            verbal = 1 if tube else int(rng.integers(1, 6))
            _chart(tables, stay, 223900, when, verbal, "No Response-ETT" if tube else "said", 0)
    if rng.random() < 0.5:
        mode = ["CMV", "Other/Remeasured", ""][int(rng.integers(3))]
        _chart(tables, stay, 223848, at(0, 24), "", mode, 0)
    for _ in range(rng.integers(0, 3)):
        tables["OUTPUTEVENTS"].append(
            {
                "icustay_id": stay,
                "itemid": 226559,
                "charttime": at(0, 26),
                "value": int(rng.integers(50, 400)),
            }
        )
    for item, most in RATES.items():
        if rng.random() < 0.15:
            per_kg = rng.random() < 0.7
            start = arrival + timedelta(hours=float(rng.uniform(-2, 26)))
            tables["INPUTEVENTS_MV"].append(
                {
                    "icustay_id": stay,
                    "itemid": item,
                    "starttime": f"{start:%F %T}",
                    "endtime": f"{start + timedelta(hours=1):%F %T}",
                    "rate": round(float(rng.uniform(0, most)) * (1 if per_kg else 80), 3),
                    "rateuom": "mcg/kg/min" if per_kg else "mcg/min",
                    "statusdescription": "Rewritten" if rng.random() < 0.2 else "Running",
                }
            )
    for _ in range(rng.integers(0, 2)):
        taken = at(-60, 60)
        timed = "" if rng.random() < 0.3 else taken
        tables["MICROBIOLOGYEVENTS"].append(
            {"hadm_id": hadm, "chartdate": f"{taken[:10]} 00:00:00", "charttime": timed}
        )
    for _ in range(rng.integers(0, 3)):
        drug, route = [("Vancomycin", "IV"), ("Aspirin", "PO")][int(rng.random() < 0.3)]
        day = "" if rng.random() < 0.1 else f"{at(-80, 80)[:10]} 00:00:00"
        tables["PRESCRIPTIONS"].append(
            {"hadm_id": hadm, "startdate": day, "drug": drug, "route": route}
        )
    for code in rng.choice(["25000", "4280", "V1009", "E8788"], size=2):
        tables["DIAGNOSES_ICD"].append({"hadm_id": hadm, "icd9_code": code})


def _chart(
    tables: dict, stay: int, item: int, when: str, number: Any, text: str, error: int
) -> None:
    tables["CHARTEVENTS"].append(
        {
            "icustay_id": stay,
            "itemid": item,
            "charttime": when,
            "value": text,
            "valuenum": number,
            "error": error,
        }
    )


HEADERS = {
    "INPUTEVENTS_CV": ["icustay_id", "itemid", "charttime", "rate", "rateuom"],
    "INPUTEVENTS_MV": [
        "icustay_id",
        "itemid",
        "starttime",
        "endtime",
        "rate",
        "rateuom",
        "statusdescription",
    ],
    "MICROBIOLOGYEVENTS": ["hadm_id", "chartdate", "charttime"],
    "PRESCRIPTIONS": ["hadm_id", "startdate", "drug", "route"],
}


def write_tables(
    folder: Path, tables: dict[str, list[dict[str, Any]]], *, backwards: bool = False
) -> dict[str, Path]:
    """One CSV per table; `backwards` packs it, turns its columns round and shouts their names."""
    files = {}
    for name, rows in tables.items():
        columns = HEADERS.get(name) or list(rows[0])
        columns = columns[::-1] if backwards else columns
        path = folder / (f"{name.lower()}.csv.gz" if backwards else f"{name}.csv")
        with (gzip.open if backwards else open)(path, "wt", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow([c.upper() if backwards else c for c in columns])
            writer.writerows([[row[c] for c in columns] for row in rows])
        files[path.name] = path
    return files


def as_text(tables: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, str]]]:
    """The same rows as a reader of CSV files sees them."""
    return {
        name: [{k: str(v) for k, v in row.items()} for row in rows] for name, rows in tables.items()
    }
