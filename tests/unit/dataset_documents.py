"""A small, valid data set description as a plain mapping, and files of it, for tests to spoil."""

import copy
from pathlib import Path
from typing import Any

import yaml
from frugal.data.description import Description, load_description
from frugal.data.encoding import Encoded, encode
from frugal.data.parsing import parse_files

CSV = """age,smoker,marker,scan,ill
54,yes,0.9,2,1
61,no,-9,0,0
47,no,,,0
72,yes,1.4,3,1
66,no,0.6,1,0
39,yes,-8,,0
"""

_DOCUMENT: dict[str, Any] = {
    "name": "small",
    "title": "Small",
    "note": "made up",
    "cost_unit": "EUR",
    "source": {
        "kind": "path",
        "files": [{"name": "small.csv"}],
        "format": {
            "kind": "csv",
            "separator": ",",
            "header": True,
            "comment": "#",
            "strip": True,
            "missing": [""],
            "encoding": "utf-8",
        },
    },
    "columns": [
        {"name": "age", "type": "numeric", "unit": "year"},
        {"name": "smoker", "type": "categorical", "levels": ["no", "yes"]},
        {
            "name": "marker",
            "type": "numeric",
            "unit": "ng/mL",
            "special_values": [
                {"value": -9, "meaning": "too low to measure"},
                {"value": -8, "meaning": "sample lost"},
            ],
        },
        {"name": "scan", "type": "numeric", "unit": "1"},
    ],
    "panels": [
        {"name": "interview", "columns": ["age", "smoker"], "free": True},
        {"name": "blood", "columns": ["marker"], "cost": 30},
        {"name": "scan", "columns": ["scan"], "cost": 900},
    ],
    "cost_draw": None,
    "label": {
        "column": "ill",
        "classes": [{"name": "healthy", "values": [0]}, {"name": "ill", "values": ["1"]}],
    },
    "sensitive": None,
    "misclassification_cost": [[0, 1000], [5000, 0]],
    "drop_rows": [],
    "missing_values": "own",
    "split": {"scheme": "fractions", "seed": 0, "parts": {"train": 0.5, "test": 0.5}},
}


def document() -> dict[str, Any]:
    return copy.deepcopy(_DOCUMENT)


def load(tmp_path: Path, content: Any) -> Description:
    path = tmp_path / "small.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return load_description(path)


def encoded(tmp_path: Path, content: dict[str, Any], csv: str = CSV) -> Encoded:
    description = load(tmp_path, content)
    file = tmp_path / "small.csv"
    file.write_text(csv)
    return encode(parse_files(description, {"small.csv": file}), description)
