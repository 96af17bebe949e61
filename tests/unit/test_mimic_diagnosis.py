"""The MIMIC-III cohorts agree with slow ones, stay by stay; bad files are one sentence."""

import hashlib
import json

import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.data import mimic_diagnosis as sofa
from frugal.data import mimic_items
from frugal.data.mimic_diagnosis import mimic_diagnosis
from frugal.data.mimic_tables import EmptyCohortError

from tests.oracles.slow_icu_cohort import kidney_cohort, labs, sepsis_cohort
from tests.unit.icu_files import as_text, draw_tables, write_tables

SEEDS = [0, 1, 2, 3]


@pytest.mark.parametrize("seed", SEEDS)
def test_kidney_cohort_agrees_with_the_slow_one(tmp_path, seed):
    tables = draw_tables(seed, 40)
    found = mimic_diagnosis(write_tables(tmp_path, tables), task="aki")
    expected = kidney_cohort(as_text(tables))
    assert len(expected) >= 5
    assert found["icustay_id"].tolist() == sorted(expected, key=int)
    for row in found.itertuples():
        assert (row.creatinine_day_1, row.creatinine_later) == expected[str(row.icustay_id)]


@pytest.mark.parametrize("seed", SEEDS)
def test_sepsis_cohort_agrees_with_the_slow_one(tmp_path, seed):
    tables = draw_tables(seed, 60)
    found = mimic_diagnosis(write_tables(tmp_path, tables), task="sepsis")
    expected = sepsis_cohort(as_text(tables), {"Vancomycin"})
    assert len(expected) >= 2
    assert dict(zip(found["icustay_id"], found["sofa"], strict=True)) == expected
    died = {str(a["hadm_id"]): str(a["hospital_expire_flag"]) for a in tables["ADMISSIONS"]}
    hadm = {str(s["icustay_id"]): str(s["hadm_id"]) for s in tables["ICUSTAYS"]}
    assert found["died"].tolist() == [died[hadm[i]] for i in found["icustay_id"]]


def test_features_are_the_first_values_of_the_first_day(tmp_path):
    tables = draw_tables(5, 40)
    found = mimic_diagnosis(write_tables(tmp_path, tables), task="aki").set_index("icustay_id")
    text = as_text(tables)
    stays = {s["icustay_id"]: s for s in text["ICUSTAYS"]}
    known = 0
    for stay, row in found.iterrows():
        for name, item in (("sodium", 50983), ("haematocrit", 51221), ("creatinine", 50912)):
            day = labs(stays[str(stay)], text, item, 0, 24)
            known += len(day)
            expected = day[0][1] if day else float("nan")
            np.testing.assert_equal(row[name], expected)
    assert known > 10
    on = {c["icustay_id"] for c in tables["CHARTEVENTS"] if c["value"] == "CMV"}
    assert found.index[found["ventilated"] == "yes"].astype(int).tolist() == sorted(
        on & set(found.index.astype(int))
    )
    assert found["heart_rate"].dropna().between(10, 300).all()  # others are errors of recording
    assert set(found["diabetes"]) == {"yes", "no"}


def test_order_case_and_packing_do_not_matter(tmp_path):
    tables = draw_tables(6, 40)
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    plain = mimic_diagnosis(write_tables(one, tables), task="sepsis")
    turned = {name: rows[::-1] for name, rows in tables.items()}
    packed = mimic_diagnosis(write_tables(other, turned, backwards=True), task="sepsis")
    assert plain.equals(packed)


@pytest.mark.parametrize("name", ["a[1]", "a?", "a*", "gender=x", "it's"])
def test_a_folder_is_a_name_and_no_pattern(tmp_path, name):
    """Else DuckDB reads the files of `a1`, those of several folders, or a column of the name."""
    tables = draw_tables(0, 40)
    places = [tmp_path / name, tmp_path / "a1"]
    for place, rows in zip(places, (tables, draw_tables(1, 40)), strict=True):
        place.mkdir()
        write_tables(place, rows)
    (tmp_path / "plain").mkdir()
    plain = mimic_diagnosis(write_tables(tmp_path / "plain", tables), task="aki")
    found = mimic_diagnosis({p.name: p for p in places[0].iterdir()}, task="aki")
    assert found.equals(plain)


def test_nobody_qualifies_is_stated_with_the_numbers(tmp_path):
    tables = draw_tables(0, 6)
    tables["LABEVENTS"] = [r for r in tables["LABEVENTS"] if r["itemid"] != 50912]
    words = r"^0 patients.*ICU stay: 6; adults: \d; with creatinine on the first day: 0; .*72: 0$"
    with pytest.raises(EmptyCohortError, match=words):
        mimic_diagnosis(write_tables(tmp_path, tables), task="aki")


def test_bad_files_are_one_sentence(tmp_path):
    tables = draw_tables(0, 6)
    files = write_tables(tmp_path, tables)
    with pytest.raises(ConfigError, match="allowed are aki and sepsis"):
        mimic_diagnosis(files, task="stroke")
    with pytest.raises(DataError, match=r"needs the file PATIENTS\.csv or PATIENTS\.csv\.gz"):
        mimic_diagnosis({k: v for k, v in files.items() if "PATIENTS" not in k}, task="aki")
    with pytest.raises(DataError, match="is no table that the cohort needs"):
        mimic_diagnosis(files | {"x": tmp_path / "NOTES.csv"}, task="aki")
    patients = files["PATIENTS.csv"].read_text()
    for content, words in (
        (patients.replace("dob", "birth"), r"PATIENTS\.csv has no column 'dob'"),
        ("", r"PATIENTS\.csv (has no column|cannot be read)"),
        (patients.replace("-05-05 ", "-05-50 "), "cannot be read: Conversion Error"),
        (patients.replace("0,F,", '0,"F,', 1), "cannot be read"),
    ):
        files["PATIENTS.csv"].write_text(content)
        with pytest.raises(DataError, match=words) as caught:
            mimic_diagnosis(files, task="aki")
        assert "\n" not in str(caught.value)
    files["PATIENTS.csv"].write_text(patients)
    for row in tables["LABEVENTS"]:
        row["valuenum"] = "high"
    with pytest.raises(DataError, match="Could not convert string 'high'"):
        mimic_diagnosis(write_tables(tmp_path, tables), task="aki")


def test_points_by_the_published_table():
    nan = float("nan")

    def points(function, *values):
        return function(*(np.array(v, dtype=float) for v in values)).tolist()

    assert points(sofa.respiration, [450, 350, 250, 150, 50, nan], [nan] * 6) == [0, 1, 2, 2, 2, 0]
    assert points(sofa.respiration, [nan] * 5, [400, 399, 299, 199, 99]) == [0, 1, 2, 3, 4]
    assert points(sofa.coagulation, [150, 149, 99, 49, 19, nan]) == [0, 1, 2, 3, 4, 0]
    assert points(sofa.liver, [1.1, 1.2, 2, 6, 12, nan]) == [0, 1, 2, 3, 4, 0]
    assert points(sofa.consciousness, [15, 14, 12, 9, 5, nan]) == [0, 1, 2, 3, 4, 0]
    creatinine, urine = [1.1, 1.2, 2, 3.5, 5, nan, 1.3], [nan, nan, 600, 600, 600, 499, 199]
    assert points(sofa.kidney, creatinine, urine) == [0, 1, 2, 3, 4, 3, 4]
    rates = {d: np.zeros(7) for d in ("norepinephrine", "epinephrine", "dopamine", "dobutamine")}
    rates["norepinephrine"][2:4] = [0.1, 0.11]
    rates["dopamine"][4:6] = [5, 15.1]
    rates["dobutamine"][6] = 1
    pressure = np.array([70.0, 69, 100, 100, 60, 60, nan])
    assert sofa.circulation(pressure, rates).tolist() == [0, 1, 3, 4, 2, 4, 2]
    days = np.array([0, 0, 0, 0, 5])
    given = np.array([-1, -2, 3, 4, 5])
    assert sofa.suspected_infection(days, given).tolist() == [True, False, True, False, True]


def test_item_numbers_are_those_that_were_compared_with_the_tables():
    """Copied from D_LABITEMS and D_ITEMS by name; who changes one compares all again."""
    lists = [mimic_items.LABS, mimic_items.CHARTS, mimic_items.DRIPS, mimic_items.HISTORY]
    others = [mimic_items.URINE, mimic_items.IRRIGANT, mimic_items.POSSIBLE]
    said = hashlib.sha256(json.dumps([lists, others], sort_keys=True).encode()).hexdigest()
    assert said[:16] == "a5e472d5d9629e4f"
