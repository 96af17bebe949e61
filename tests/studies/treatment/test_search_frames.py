"""Tables between the steps of the treatment study lose nothing, and wrong files are refused."""

import hashlib

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.data.mimic_items import TESTED
from frugal.studies.treatment.data.description import SearchDescription
from frugal.studies.treatment.data.isolate_tables import amr_table
from frugal.studies.treatment.data.keys import SearchFile
from frugal.studies.treatment.data.prescribing import simulate_prescriptions
from frugal.studies.treatment.data.tables import (
    read_searches,
    records_from_trials,
    table_from_units,
    trials_frame,
    units_catalogue,
    units_frame,
)

from tests.studies.treatment.search_files import AMR_DRUGS, amr_file, mimic_folder

RULE = {
    "susceptible_share_weight": 1.0,
    "hidden_weight": 0.5,
    "stop_after_best": 0.9,
    "stop_otherwise": 0.2,
}


def _table(tmp_path):
    return amr_table(
        amr_file(tmp_path, 120, 1),
        drugs=AMR_DRUGS,
        organisms={"E. coli": "B_ESCHR_COLI"},
        factors=["gender"],
        results=["R", "I", "S"],
    )


def test_units_can_be_read_back(tmp_path):
    table = _table(tmp_path)
    back = table_from_units(units_frame(table), units_catalogue(table))
    for name in ("row_id", "patient", "context", "outcome"):
        assert (getattr(back, name) == getattr(table, name)).all()
    assert (back.contexts.features == table.contexts.features).all()
    assert (back.actions, back.results, back.report) == (table.actions, table.results, table.report)


def test_trials_can_be_read_back(tmp_path):
    table = _table(tmp_path)
    records = simulate_prescriptions(
        table, is_test=np.zeros(len(table), dtype=bool), **RULE, rng=np.random.default_rng(0)
    )
    trials = trials_frame(records, table.row_id)
    back = records_from_trials(trials.sample(frac=1, random_state=0), table)
    assert (back.action == records.action).all()
    assert (back.outcome == records.outcome).all()
    with pytest.raises(DataError, match="a trial is of unit -5"):
        records_from_trials(trials.assign(row_id=-5), table)


def _file(name, *digests):
    return SearchFile(name=name, url="https://example.org", sha256=digests, downloadable=False)


def _description(tmp_path, name, digest):
    file = _file(name, digest)
    return SearchDescription(
        path=tmp_path / "d.yaml",
        name="own",
        title="Own",
        note="n",
        reader="amr_isolates",
        files=(file,),
        actions=AMR_DRUGS,
        results=("R", "I", "S"),
        options={"organisms": {"E. coli": "B_ESCHR_COLI"}, "factors": []},
    )


def test_a_file_is_known_by_its_digest(tmp_path):
    path = amr_file(tmp_path, 60, 2)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    table, records = read_searches(_description(tmp_path, "f", digest), {"f": path})
    assert records is None
    assert len(table) > 30
    with pytest.raises(DataError, match="it is not the file that the data set describes"):
        read_searches(_description(tmp_path, "f", "0" * 64), {"f": path})


def test_recorded_trials_come_with_the_cohort(tmp_path):
    folder = mimic_folder(tmp_path, 4)
    names = ["MICROBIOLOGYEVENTS.csv.gz", "PRESCRIPTIONS.csv", "DIAGNOSES_ICD.csv"]
    names += ["PATIENTS.csv", "ADMISSIONS.csv"]
    described = SearchDescription(
        path=tmp_path / "d.yaml",
        name="own",
        title="Own",
        note="n",
        reader="mimic3",
        files=tuple(map(_file, names)),
        actions=TESTED,
        results=("R", "I", "S"),
        options={"exclude_other_antibiotics": True},
    )
    table, records = read_searches(described, {n: folder / n for n in names})
    assert records is not None
    back = records_from_trials(trials_frame(records, table.row_id), table)
    assert (back.action == records.action).all()
