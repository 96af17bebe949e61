"""Descriptions: every shipped one is valid, and every key has a meaning."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from frugal.config.blocks import schema_of
from frugal.config.dataset import Dataset
from frugal.core.errors import ConfigError
from frugal.data.description import load_description

from tests.unit.dataset_documents import document, load

ROOT = Path(__file__).parents[2]
SHIPPED = sorted([*ROOT.glob("config/datasets/*.yaml"), ROOT / "docs/examples/ten_lines.yaml"])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_description_is_valid(path):
    assert load_description(path).name == path.stem


def test_all_data_sets_of_the_study_are_shipped():
    names = {p.stem for p in SHIPPED}
    assert names >= {
        "synthetic_mnar",
        "breast_cancer",
        "income",
        "heloc",
        "retinopathy",
        "template",
        "ten_lines",
    }


def _keys(name: str) -> dict[str, Any]:
    schema = schema_of(Dataset)
    return (schema if name == "Dataset" else schema["$defs"][name]).get("properties", {})


BLOCKS = ["Dataset", *schema_of(Dataset)["$defs"]]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_key_has_its_meaning(block):
    for key, said in _keys(block).items():
        meaning = said.get("description") or "$ref" in said  # that of a block
        assert meaning, key


def test_template_names_every_key():
    """Whoever copies the template can find each key there, used or in a comment."""
    text = (ROOT / "config/datasets/template.yaml").read_text()
    assert len(BLOCKS) >= 12
    for block in BLOCKS:
        if block in ("MakeClassification", "Loans") or block.startswith("Clinical"):
            continue
        for key in _keys(block):
            if key not in ("generator", "loader", "groups"):
                assert f"{key}:" in text, f"{block}.{key}"


def test_import_stays_light():
    code = (
        "import sys, frugal.data.description; "
        "print([m for m in ('pandas', 'sklearn', 'scipy', 'torch', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_values_arrive_as_written(tmp_path):
    description = load(tmp_path, document())
    assert [c.raw_name for c in description.columns] == ["age", "smoker", "marker", "scan"]
    assert description.columns[2].special_values == (
        (-9.0, "too low to measure"),
        (-8.0, "sample lost"),
    )
    assert [(p.cost, p.free) for p in description.panels] == [
        (0.0, True),
        (30.0, False),
        (900.0, False),
    ]
    assert description.label.values == (("0",), ("1",))
    assert description.misclassification_cost == ((0.0, 1000.0), (5000.0, 0.0))


def test_no_such_file(tmp_path):
    with pytest.raises(ConfigError, match=r"there is no file .*absent\.yaml"):
        load_description(tmp_path / "absent.yaml")
