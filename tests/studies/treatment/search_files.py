"""Small raw files in the publishers' formats, by hand or drawn, for tests of the readers."""

import csv
import gzip
from pathlib import Path

import numpy as np
import yaml

DRUGS = {
    "ceftazidime": "Ceftazidime",
    "piperacillin_tazobactam": "Piperacillin/Tazobactam",
    "meropenem": "Meropenem",
}
BREAKPOINTS = "CLSI M100 2017, Enterobacteriaceae"
SIX_TESTED = ["CEFTAZIDIME", "PIPERACILLIN/TAZO", "CEFEPIME", "TOBRAMYCIN", "GENTAMICIN"]
SIX_TESTED += ["MEROPENEM"]
AMR_DRUGS = {"ceftazidime": "CAZ", "gentamicin": "GEN", "meropenem": "MEM"}


def write_rows(path: Path, header: list[str], rows: list[list[str]]) -> Path:
    """A CSV; gzipped where the name ends so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


def kpneumoniae_file(folder: Path, texts: dict[str, list[str]]) -> Path:
    """Isolate → texts of the three drugs, in long form."""
    rows = [
        [isolate, drug, text, "999"]
        for isolate, row in texts.items()
        for drug, text in zip(DRUGS.values(), row, strict=True)
    ]
    return write_rows(
        folder / "mic.csv", ["Genome", "Antibiotic", "Actual MIC", "Predicted MIC"], rows
    )


def amr_file(folder: Path, units: int, seed: int) -> Path:
    """Isolates of two organisms in AMR's format, several to a patient, some tests lacking."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(units):
        person = int(rng.integers(units // 2))
        rows.append(
            [
                f"P{person}",
                str(20 + person % 70),
                "FM"[person % 2],
                ["ICU", "Clinical"][person % 2],
                ["B_ESCHR_COLI", "B_OTHER"][int(rng.random() < 0.1)],
                *rng.choice(["S", "I", "R", ""], p=[0.5, 0.15, 0.3, 0.05], size=3),
            ]
        )
    header = ["patient", "age", "gender", "ward", "mo", *AMR_DRUGS.values()]
    return write_rows(folder / "isolates.csv", header, rows)


def own_table(folder: Path) -> Path:
    """A table of one's own over `amr_file`: its YAML."""
    raw = amr_file(folder, 150, 3)
    table = {
        "name": "own",
        "title": "Own table",
        "note": "Drawn for a test.",
        "reader": "amr_isolates",
        "files": [
            {"name": raw.name, "url": "https://example.org", "sha256": [], "downloadable": False}
        ],
        "actions": AMR_DRUGS,
        "results": ["R", "I", "S"],
        "options": {"organisms": {"E. coli": "B_ESCHR_COLI"}, "factors": ["gender"]},
    }
    (folder / "own.yaml").write_text(yaml.safe_dump(table))
    return folder / "own.yaml"


def mimic_folder(folder: Path, seed: int, *, units: int = 40, other_share: float = 0.3) -> Path:
    """The five published tables, upper-case columns, for drawn patients."""
    rng = np.random.default_rng(seed)
    organisms = ["ESCHERICHIA COLI", "PROTEUS MIRABILIS", "STAPH AUREUS COAG +"]
    given = ["CefTAZidime", "Piperacillin-Tazobactam Na", "CefePIME", "Tobramycin Sulfate"]
    given += ["Gentamicin", "Meropenem"]
    events, prescriptions, diagnoses, patients, admissions = [], [], [], [], []
    for person in range(units):
        patients.append([str(person), f"{2000 + person}-06-15 00:00:00"])
        for stay in range(1 + person % 2):
            admission = f"{1000 + 10 * person + stay}"
            year = 2090 + 5 * stay
            admissions.append([admission, f"{year}-0{1 + person % 9}-03 10:00:00"])
            for code in rng.choice(["0389", "6826", "V1009", "E8788", "4019", "70703"], size=2):
                diagnoses.append([admission, code])
            for organism in rng.choice(organisms, size=2, replace=False):
                for drug in SIX_TESTED:
                    for _ in range(rng.integers(0 if rng.random() < 0.05 else 1, 3)):
                        day = f"{year}-03-0{rng.integers(1, 4)}"
                        timed = "" if rng.random() < 0.2 else f"{day} 0{rng.integers(1, 9)}:00:00"
                        result = rng.choice(["S", "I", "R", "P", ""], p=[0.5, 0.2, 0.2, 0.05, 0.05])
                        row = [str(len(events)), str(person), admission, f"{day} 00:00:00", timed]
                        events.append([*row, organism, drug, result])
            for drug in rng.choice(given, size=rng.integers(0, 4)):
                route = "NEB" if rng.random() < 0.1 else "IV"
                day = f"{year}-03-0{rng.integers(1, 6)} 00:00:00"
                undated = "" if rng.random() < 0.2 else day
                prescriptions.append([str(person), admission, undated, drug, route])
            given_on = [str(person), admission, f"{year}-03-01 00:00:00"]
            if rng.random() < other_share:
                prescriptions.append([*given_on, "Vancomycin", "IV"])
            prescriptions.append([*given_on, "Aspirin", "PO"])
            prescriptions.append([*given_on, "Vancomycin Enema", "PR"])
    event = ["ROW_ID", "SUBJECT_ID", "HADM_ID", "CHARTDATE", "CHARTTIME", "ORG_NAME"]
    event += ["AB_NAME", "INTERPRETATION"]
    write_rows(folder / "MICROBIOLOGYEVENTS.csv.gz", event, events)
    drugs = ["SUBJECT_ID", "HADM_ID", "STARTDATE", "DRUG", "ROUTE"]
    write_rows(folder / "PRESCRIPTIONS.csv", drugs, prescriptions)
    write_rows(folder / "DIAGNOSES_ICD.csv", ["HADM_ID", "ICD9_CODE"], diagnoses)
    write_rows(folder / "PATIENTS.csv", ["SUBJECT_ID", "DOB"], patients)
    write_rows(folder / "ADMISSIONS.csv", ["HADM_ID", "ADMITTIME"], admissions)
    return folder
