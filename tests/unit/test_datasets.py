"""The shipped data sets hold what is known of them: rows, classes, panels, parts.

Real files are read from FRUGAL_DATA_MIRROR, or from ../shared/data beside the repository.
"""

import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from frugal.data.description import load_description
from frugal.data.prepare import Prepared, prepare
from frugal.data.raw import locate_file, verify_sha256

ROOT = Path(__file__).parents[2]
MIRROR = Path(os.environ.get("FRUGAL_DATA_MIRROR", ROOT.parent / "shared" / "data"))


@cache
def _prepared(name: str) -> Prepared:
    folder = "docs/examples" if name == "ten_lines" else "config/datasets"
    description = load_description(ROOT / folder / f"{name}.yaml")
    files = {}
    for file in description.source.files:
        if name != "ten_lines" and not (MIRROR / file.name).is_file():
            pytest.skip(f"no {file.name} in a data mirror; set FRUGAL_DATA_MIRROR to one")
        path = locate_file(description, file.name, data_mirror=MIRROR)
        assert path is not None
        verify_sha256(path, file.sha256)
        files[file.name] = path
    return prepare(description, files, 0)


FACTS = {
    # rows, encoded columns, class counts, panels, costly panels, rows of train/agent/nuisance/test
    "synthetic_mnar": (60_000, 4, [30_000, 30_000], 3, 2, [5_000, 5_000, 40_000, 10_000]),
    "synthetic_mnar_large": (150_000, 4, [75_000, 75_000], 3, 2, [5_000, 5_000, 40_000, 100_000]),
    "breast_cancer": (569, 30, [357, 212], 10, 9, [171, 57, 0, 341]),
    # 6 numeric less fnlwgt; levels 9 + 16 + 7 + 15 + 6 + 5 + 2 + 42 with "?" as a level
    "income": (48_842, 107, [37_155, 11_687], 10, 9, [16_281, 16_280, 0, 16_281]),
    # 23 numeric, 12 codes
    "heloc": (9_871, 35, [4_735, 5_136], 9, 8, [2_468, 2_468, 0, 4_935]),
    "retinopathy": (1_151, 19, [540, 611], 7, 5, [288, 288, 0, 575]),
    "ten_lines": (10, 5, [5, 5], 3, 2, [4, 0, 0, 6]),
}


@pytest.mark.parametrize("name", FACTS)
def test_known_facts(name):
    rows, columns, classes, panels, costly, parts = FACTS[name]
    prepared = _prepared(name)
    table = prepared.table
    assert table.values.shape == (rows, columns)
    assert np.bincount(table.label).tolist() == classes
    assert len(table.panels) == panels
    assert len(table.actions) == costly
    names = ("train", "agent", "nuisance", "test")
    assert [int((prepared.split == p).sum()) for p in names] == parts
    assert len(np.unique(table.row_id)) == rows
    for group in table.onehot:
        np.testing.assert_array_equal(table.values[:, group].sum(axis=1), 1)
    json.dumps(prepared.report)  # plain values only
    assert set(prepared.units) == set(table.columns)


@pytest.mark.parametrize("name", ["income", "heloc", "retinopathy"])
def test_costs_follow_the_papers_law_and_differ_between_data_sets(name):
    table = _prepared(name).table
    assert (table.action_cost >= 0.5).all()
    assert (table.action_cost <= 1.0).all()
    assert len(set(table.action_cost)) == len(table.actions)
    assert not np.isnan(table.values).any()


@pytest.mark.parametrize("name", ["synthetic_mnar", "breast_cancer", "heloc", "retinopathy"])
def test_parts_have_the_class_shares_of_the_table(name):
    prepared = _prepared(name)
    positive = prepared.table.label.mean()
    for part in ("train", "agent", "test"):
        label = prepared.table.label[prepared.split == part]
        assert abs(label.sum() - positive * len(label)) <= 2
        told = prepared.report["parts"][part]
        assert told == {"rows": len(label), "class_rows": np.bincount(label).tolist()}


def test_another_seed_moves_rows_but_not_the_data():
    description = load_description(ROOT / "config/datasets/breast_cancer.yaml")
    first, second = _prepared("breast_cancer"), prepare(description, {}, 1)
    assert first.table.values.tobytes() == second.table.values.tobytes()
    assert (first.split != second.split).any()


def test_synthetic_panels_and_costs_are_the_papers():
    panels = _prepared("synthetic_mnar").table.panels
    assert [(p.name, p.columns, p.cost, p.free) for p in panels] == [
        ("X1", ("X1",), 0.0, True),
        ("X2", ("X2",), 0.84, False),
        ("superX3", ("X3", "X4"), 0.86, False),
    ]


def test_both_synthetic_sizes_share_their_rows():
    small, large = _prepared("synthetic_mnar").table, _prepared("synthetic_mnar_large").table
    assert set(small.values[:, 0]) <= set(large.values[:, 0])


def test_breast_cancer_panels_hold_one_measurement_each():
    table = _prepared("breast_cancer").table
    for panel in table.panels:
        assert panel.columns == tuple(f"{panel.name}_{s}" for s in ("mean", "error", "worst"))
    # a cell's area grows with its radius: a swap of columns would break this
    radius, area = (table.columns.index(c) for c in ("radius_mean", "area_mean"))
    assert np.corrcoef(table.values[:, radius], table.values[:, area])[0, 1] > 0.98
    malignant = table.label == table.classes.index("malignant")
    assert table.values[malignant, radius].mean() > table.values[~malignant, radius].mean()


def test_income_unknown_is_a_level_and_weights_are_left_out():
    prepared = _prepared("income")
    table = prepared.table
    unknown = [
        table.values[:, table.columns.index(f"{c}=unknown")] == 1
        for c in ("workclass", "occupation", "native_country")
    ]
    # 45,222 of the 48,842 rows have no "?"
    assert int((~np.logical_or.reduce(unknown)).sum()) == 45_222
    assert prepared.report["columns_left_out"] == ["fnlwgt"]
    test = prepared.split == "test"
    assert table.row_id[test].min() == 32_561
    assert table.label[test].sum() == 3_846


def test_heloc_codes_are_counted_and_rows_dropped():
    report = _prepared("heloc").report
    assert [d["rows"] for d in report["rows_dropped"]] == [588]
    assert report["special_values"]["ExternalRiskEstimate"] == {"-9": 10}
    counts = [n for codes in report["special_values"].values() for n in codes.values()]
    assert len(counts) == 12
    assert min(counts) > 0  # every code that is declared occurs
    values = _prepared("heloc").table.values
    assert values.min() >= 0  # no code is left among the quantities


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("retinopathy", ["quality", "pre_screening"]),
        ("income", ["age"]),
        ("heloc", ["account_age"]),
        ("breast_cancer", ["texture"]),
    ],
)
def test_free_panels(name, expected):
    assert [p.name for p in _prepared(name).table.panels if p.free] == expected


@pytest.mark.parametrize("seed", range(30))
def test_ten_lines_can_be_run(seed):
    """Whatever the seed: both classes and complete cases in each part, gaps in the test part."""
    path = ROOT / "docs/examples/ten_lines.yaml"
    prepared = prepare(
        load_description(path), {"ten_lines.csv": path.parent / "ten_lines.csv"}, seed
    )
    complete = ~np.isnan(prepared.table.values).any(axis=1)
    for part in ("train", "test"):
        rows = prepared.split == part
        assert set(prepared.table.label[rows]) == {0, 1}
        assert (complete & rows).sum() >= 1
