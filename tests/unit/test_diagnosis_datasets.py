"""The data sets of the diagnosis study hold what is known of them: rows, labels, gaps, parts.

Real files are read from FRUGAL_DATA_MIRROR, or from ../shared/data beside the repository.
"""

import csv
import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from frugal.data.description import Description, load_description
from frugal.data.prepare import Prepared, prepare
from frugal.data.raw import locate_file
from frugal.data.tables import available_panels

ROOT = Path(__file__).parents[2]
MIRROR = Path(os.environ.get("FRUGAL_DATA_MIRROR", ROOT.parent / "shared" / "data"))
PARTS = {"encoder": 0.25, "encoder_validation": 0.05, "agent": 0.5, "validation": 0.1, "test": 0.1}

FACTS = {
    # rows, positives, encoded columns, panels with a cost
    "nhanes_ferritin": (8_360, 483, 57, 8),
    "nhanes_mortality": (31_189, 2_662, 35, 7),
    "physionet2012_death": (12_000, 1_707, 46, 7),
    "physionet2012_creatinine": (11_459, 2_469, 46, 7),
    "cleveland": (303, 139, 25, 8),
    "breast_cancer_diagnosis": (569, 212, 30, 9),
    "clinical_simulator": (20_000, 1_830, 22, 6),
    "mimic3_aki_demo": (81, 18, 71, 5),
    "mimic3_sepsis_demo": (57, 17, 72, 5),
}
LACKING = {
    # share of rows that lack a value of the panel, published or counted independently, to 0.1 %
    "nhanes_ferritin": {
        "complete blood count": 0.001,
        "C-reactive protein": 0.017,
        "haemoglobin A1c": 0.001,
        "transferrin saturation": 0.018,
        "lipids": 0.010,
        "urine albumin": 0.017,
    },
    "cleveland": {"fluoroscopy": 4 / 303, "thallium scan": 2 / 303},
}
ABSENT = {
    # share of stays without any value of the panel in 48 hours, to 1 %
    "physionet2012_death": {
        "blood gas": 0.24,
        "lactate": 0.45,
        "cholesterol": 0.92,
        "chemistry": 0.02,
    }
}


def _description(name: str) -> Description:
    return load_description(ROOT / "config/datasets" / f"{name}.yaml")


@cache
def _prepared(name: str) -> Prepared:
    description = _description(name)
    files = {}
    for file in description.source.files:
        if not (MIRROR / file.name).is_file():
            pytest.skip(f"no {file.name} in a data mirror; set FRUGAL_DATA_MIRROR to one")
        path = locate_file(description, file.name, data_mirror=MIRROR)
        assert path is not None
        files[file.name] = path
    return prepare(description, files, 0)


@pytest.mark.parametrize("name", FACTS)
def test_known_facts(name):
    rows, positives, columns, costly = FACTS[name]
    prepared = _prepared(name)
    table = prepared.table
    assert table.values.shape == (rows, columns)
    assert int(table.label.sum()) == positives
    assert len(table.actions) == costly
    assert len(np.unique(table.row_id)) == rows
    assert not np.isnan(table.values).all(axis=0).any()
    for group in table.onehot:
        np.testing.assert_array_equal(np.nan_to_num(table.values[:, group]).sum(axis=1) <= 1, True)
    json.dumps(prepared.report)  # plain values only
    assert set(prepared.units) == set(table.columns)
    assert table.misclassification_cost[1, 0] > table.misclassification_cost[0, 1] > 0


@pytest.mark.parametrize("name", [*FACTS, "mimic3_aki", "mimic3_sepsis"])
def test_parts_are_the_papers(name):
    split = _description(name).split
    total = sum(split.parts.values())
    assert {part: size / total for part, size in split.parts.items()} == pytest.approx(PARTS)


@pytest.mark.parametrize("name", ["clinical_simulator", "breast_cancer_diagnosis"])
def test_parts_have_the_class_shares_of_the_table(name):
    prepared = _prepared(name)
    share = prepared.table.label.mean()
    for part, size in PARTS.items():
        label = prepared.table.label[prepared.split == part]
        assert abs(len(label) - size * len(prepared.table)) < 1
        assert abs(label.sum() - share * len(label)) <= 2


@pytest.mark.parametrize("name", LACKING)
def test_shares_of_rows_that_lack_a_value(name):
    found = _prepared(name).report["panel_missing_share"]
    for panel, share in LACKING[name].items():
        assert found[panel] == pytest.approx(share, abs=0.0005)


@pytest.mark.parametrize("name", ABSENT)
def test_shares_of_rows_without_any_value(name):
    prepared = _prepared(name)
    found = prepared.report["panel_absent_share"]
    absent = (~available_panels(prepared.table)).mean(axis=0)
    for j, panel in enumerate(prepared.table.actions):
        assert found[panel.name] == absent[j]
    for panel, share in ABSENT[name].items():
        assert found[panel] == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("name", [n for n in FACTS if n.startswith(("nhanes", "mimic"))])
def test_panels_with_the_papers_names_have_its_prices(name):
    cost = {p.name: p.cost for p in _description(name).panels}
    papers = {
        "basic metabolic panel": 36,
        "comprehensive metabolic panel": 48,
        "complete blood count": 44,
        "transferrin saturation": 40,
        "coagulation": 26,
        "blood gas": 473,
    }
    shared = papers.keys() & cost.keys()
    assert len(shared) >= 3
    assert {panel: cost[panel] for panel in shared} == {panel: papers[panel] for panel in shared}
    columns = {p.name: set(p.columns) for p in _description(name).panels}
    assert columns["basic metabolic panel"] < columns["comprehensive metabolic panel"]


def test_full_kidney_panels_cost_what_the_paper_says():
    cost = {p.name: p.cost for p in _description("mimic3_aki").panels}
    once = ["complete blood count", "comprehensive metabolic panel", "coagulation", "blood gas"]
    assert sum(cost[panel] or 0 for panel in once) == 591


def test_ferritin_is_no_feature_and_zeros_are_zero():
    prepared = _prepared("nhanes_ferritin")
    raw = {c.raw_name for c in _description("nhanes_ferritin").columns}
    assert not raw & {"LBXFER", "LBDFERSI"}
    assert {"LBXFER", "LBDFERSI"} - set(prepared.report["columns_left_out"]) == {"LBXFER"}
    values = prepared.table.values
    assert not ((np.abs(values) > 0) & (np.abs(values) < 1e-70)).any()
    # women are short of iron far more often than men: 10.0 % and 1.3 %
    male = values[:, prepared.table.columns.index("sex=male")] == 1
    shares = [prepared.table.label[male].mean(), prepared.table.label[~male].mean()]
    assert shares == pytest.approx([0.013, 0.100], abs=0.0005)


def test_cleveland_has_the_published_costs():
    path = MIRROR / "uci_medical/heart_test_costs.csv"
    if not path.is_file():
        pytest.skip("no heart_test_costs.csv in a data mirror")
    with path.open() as stream:
        published = {row["feature"]: float(row["cost"]) for row in csv.DictReader(stream)}
    description = _description("cleveland")
    raw = {c.name: c.raw_name for c in description.columns}
    for panel in description.panels:
        prices = {published[raw[c]] for c in panel.columns}
        assert len(prices) == 1  # a test has one price
        assert panel.free or prices == {panel.cost}
        assert not panel.free or prices == {1.0}


def test_breast_cancer_differs_from_the_other_by_its_parts_alone():
    one, other = _description("breast_cancer_diagnosis"), _description("breast_cancer")
    for key in ("columns", "panels", "label", "source", "misclassification_cost"):
        assert getattr(one, key) == getattr(other, key)
    assert _prepared("breast_cancer_diagnosis").table.values.tobytes() == (
        prepare(other, {}, 0).table.values.tobytes()
    )


def test_partly_observed_panels_are_available():
    table = _prepared("cleveland").table
    available = available_panels(table)
    names = [p.name for p in table.actions]
    # two patients lack the defect but have the heart rate of the same scan
    assert available[:, names.index("thallium scan")].all()
    assert (~available[:, names.index("fluoroscopy")]).sum() == 4
