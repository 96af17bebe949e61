"""The MIMIC-III cohort agrees with a slow one, and says clearly when nobody qualifies."""

import csv
import gzip

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.data.mimic_items import ORGANISMS, antibiotic_of
from frugal.data.mimic_tables import EmptyCohortError
from frugal.studies.treatment.data.tables import FILES, mimic_cohort

from tests.studies.treatment.search_files import mimic_folder
from tests.studies.treatment.slow_cohort import complete_units, trials_of

WORDS = ["ceftazidime", "piperacillin", "cefepime", "tobramycin", "gentamicin", "meropenem"]


def mimic_files(folder):
    files = {path.name.partition(".")[0]: path for path in folder.iterdir()}
    return {name: files[name] for name in FILES}


def _rows(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as stream:
        return [{k.lower(): v for k, v in row.items()} for row in csv.DictReader(stream)]


def _expected(folder, *, exclude):
    """(patient, organism) → results and trials, by the slow way."""
    files = mimic_files(folder)
    prescriptions = _rows(files["PRESCRIPTIONS"])
    with_other = {r["subject_id"] for r in prescriptions if r["drug"] == "Vancomycin"}
    units = complete_units(_rows(files["MICROBIOLOGYEVENTS"]), set(ORGANISMS.values()))
    result = {}
    for key, (admission, tests) in units.items():
        trials = trials_of(prescriptions, admission, WORDS)
        if trials and not (exclude and key[0] in with_other):
            result[key] = (tests, trials)
    return result


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("exclude", [True, False])
def test_agrees_with_the_slow_cohort(tmp_path, seed, exclude):
    folder = mimic_folder(tmp_path, seed)
    cohort = mimic_cohort(mimic_files(folder), exclude_other_antibiotics=exclude)
    expected = _expected(folder, exclude=exclude)
    assert len(cohort.table) == len(expected) > 5
    trials = [[int(a) for a in row if a >= 0] for row in cohort.records.action]
    found = sorted(zip(cohort.table.outcome.tolist(), trials, strict=True))
    assert found == sorted(expected.values())
    assert cohort.table.report["patients"] == len({patient for patient, _ in expected})


def test_outcomes_of_trials_are_the_tests(tmp_path):
    cohort = mimic_cohort(mimic_files(mimic_folder(tmp_path, 5)), exclude_other_antibiotics=False)
    unit, step = np.nonzero(cohort.records.action >= 0)
    tried = cohort.records.action[unit, step]
    assert (cohort.records.outcome[unit, step] == cohort.table.outcome[unit, tried]).all()


def test_contexts_have_twelve_indicators_of_four_covariates(tmp_path):
    folder = mimic_folder(tmp_path, 3)
    cohort = mimic_cohort(mimic_files(folder), exclude_other_antibiotics=False)
    features = cohort.table.contexts.features[cohort.table.context]
    assert cohort.table.contexts.features.shape == (64, 12)
    assert (features.sum(axis=1) == 4).all()
    diagnoses = _rows(folder / "DIAGNOSES_ICD.csv")
    events = complete_units(_rows(folder / "MICROBIOLOGYEVENTS.csv.gz"), set(ORGANISMS.values()))
    infected = {d["hadm_id"] for d in diagnoses if d["icd9_code"] == "0389"}
    skin = {d["hadm_id"] for d in diagnoses if d["icd9_code"] in ("6826", "70703")}
    named = [cohort.table.contexts.names[x] for x in cohort.table.context]
    treated = _expected(folder, exclude=False)
    stays = [events[key][0] for key in sorted(treated, key=lambda key: (key[0], key[1]))]
    assert sum("infectious yes" in n for n in named) == sum(s in infected for s in stays)
    assert sum("skin yes" in n for n in named) == sum(s in skin for s in stays)


def test_nobody_qualifies_is_stated_with_the_numbers(tmp_path):
    folder = mimic_folder(tmp_path, 0, other_share=1.0)
    with pytest.raises(EmptyCohortError, match=r"^0 patients qualify.*another antibiotic: 0\."):
        mimic_cohort(mimic_files(folder), exclude_other_antibiotics=True)
    relaxed = mimic_cohort(mimic_files(folder), exclude_other_antibiotics=False)
    assert len(relaxed.table) > 5


def test_another_antibiotic_in_another_admission_excludes_the_patient(tmp_path):
    folder = mimic_folder(tmp_path, 1, other_share=0.0)
    before = mimic_cohort(mimic_files(folder), exclude_other_antibiotics=True)
    path = folder / "PRESCRIPTIONS.csv"
    header, *rows = path.read_text().splitlines()
    person = min(patient for patient, _ in _expected(folder, exclude=True))
    elsewhere = f"{person},999999,2001-01-01 00:00:00,Vancomycin,IV"
    path.write_text("\n".join([header, *rows, elsewhere]) + "\n")
    after = mimic_cohort(mimic_files(folder), exclude_other_antibiotics=True)
    assert after.table.report["patients"] == before.table.report["patients"] - 1
    steps = after.table.report["cohort"]
    assert steps["treated with one of the six"]["patients"] == before.table.report["patients"]
    assert steps["and never given another antibiotic"] == {
        "patients": after.table.report["patients"],
        "units": len(after.table),
    }


def test_a_drug_without_a_day_comes_last(tmp_path):
    folder = mimic_folder(tmp_path, 2, other_share=0.0)
    path = folder / "PRESCRIPTIONS.csv"
    header = path.read_text().splitlines()[0]
    stays = sorted({r["hadm_id"] for r in _rows(path)})
    person = {r["hadm_id"]: r["subject_id"] for r in _rows(path)}
    own = [f"{person[s]},{s},,CefTAZidime,IV" for s in stays]
    own += [f"{person[s]},{s},2199-01-01 00:00:00,Meropenem,IV" for s in stays]
    path.write_text("\n".join([header, *own]) + "\n")
    cohort = mimic_cohort(mimic_files(folder), exclude_other_antibiotics=True)
    assert (cohort.records.action[:, :3] == [5, 0, -1]).all()


def test_a_missing_column_is_named(tmp_path):
    folder = mimic_folder(tmp_path, 0)
    (folder / "PATIENTS.csv").write_text("SUBJECT_ID\n1\n")
    with pytest.raises(DataError, match="no column 'dob'"):
        mimic_cohort(mimic_files(folder), exclude_other_antibiotics=False)


@pytest.mark.parametrize(
    ("drug", "route", "meaning"),
    [
        ("CefTAZidime", "IV", "ceftazidime"),
        ("Piperacillin-Tazobactam Na", "IV", "piperacillin_tazobactam"),
        ("Piperacillin Sodium", "IV", "other"),
        ("Vancomycin HCl", "IV", "other"),
        ("Vancomycin HCl", "PO", ""),
        ("Vancomycin Oral Liquid", "PO/NG", ""),
        ("Rifaximin", "PO", ""),
        ("Neomycin Sulfate", "PO", ""),
        ("Cefoperazone", "IV", "other"),
        ("Ceftizoxime", "IV", "other"),
        ("Sulfisoxazole", "PO", "other"),
        ("Keflex", "PO", "other"),
        ("Cipro", "PO", "other"),
        ("Cyproheptadine", "PO", ""),
        ("Sulfameth/Trimethoprim DS", "PO", "other"),
        ("Ciprofloxacin IV", "IV", "other"),
        ("Vancomycin Enema", "PR", ""),
        ("Erythromycin 0.5% Ophth Oint", "OU", ""),
        ("Tobramycin Inhalation Soln", "", ""),
        ("DOXOrubicin", "IV", ""),
        ("Ferrous Sulfate", "PO", ""),
        ("Lansoprazole", "NG", ""),
    ],
)
def test_names_of_antibiotics(drug, route, meaning):
    assert antibiotic_of(drug, route) == meaning
