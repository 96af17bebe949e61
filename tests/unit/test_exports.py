"""Exports of policies decide and predict as `advise`: SQL, rules in JSON, forms of REDCap."""

import csv
import importlib.util
import json
import sqlite3
from pathlib import Path
from typing import Any

import frugal
import numpy as np
import pandas as pd
import pytest
import yaml
from frugal.__main__ import main
from frugal.acquire.exports.formulas import Formulas
from frugal.acquire.exports.rules import largest_double
from frugal.core.errors import DataError

ROOT = Path(__file__).parents[2]
N = 10_000
TREES = {name: {"boosting": {"trees": 6}} for name in ("cascade", "fixed", "permutation")}
STEPS = [
    {"panel": "lactate"},
    {"panel": "crp", "when": [{"column": "lactate", "above": 1.2}, {"column": "sex", "is": ["m"]}]},
    {"panel": "chest film", "when": {"column": "crp", "above": 40, "below": 150}},
    {"panel": "procalcitonin", "when": {"column": "xray", "is": ["shadow", "unclear"]}},
]
_SPEC = importlib.util.spec_from_file_location("reader", ROOT / "docs/examples/read_rules.py")
assert _SPEC is not None
READER = importlib.util.module_from_spec(_SPEC)
assert _SPEC.loader is not None
_SPEC.loader.exec_module(READER)
POLICIES = ("cascade", "permutation", "fixed", "mine")


def clinic(folder: Path) -> Path:
    """The clinic of the tutorials with a code, impossible values, and a panel of two columns."""
    rng = np.random.default_rng(0)
    described = yaml.safe_load((ROOT / "docs/examples/clinic.yaml").read_text(encoding="utf-8"))
    table = pd.read_csv(ROOT / "docs/examples/clinic.csv", dtype=str)
    film = table["xray"].notna()
    table["fluid"] = pd.Series(rng.integers(0, 4, len(table))).where(film)
    table["xray"] = table["xray"].where(rng.random(len(table)) < 0.8)
    table["lactate"] = table["lactate"].mask(
        table["lactate"].notna() & (rng.random(len(table)) < 0.1), "-9"
    )
    table.to_csv(folder / "visits.csv", index=False)
    column = {entry["name"]: entry for entry in described["columns"]}
    column["lactate"] |= {"special_values": [{"value": -9, "meaning": "haemolytic"}], "valid": [0, 20]}
    column["xray"] |= {
        "levels": ["clear", "shadow", "unclear"],
        "missing_level": "unclear",
        "recode": {"opaque": "shadow"},
    }
    described["columns"].append({"name": "fluid", "type": "numeric", "unit": "1"})
    described["panels"][-1]["columns"] = ["xray", "fluid"]
    described["source"]["files"] = [{"name": "visits.csv"}]
    described["source"]["format"]["missing"] = ["", "not done"]
    path = folder / "visits.yaml"
    path.write_text(yaml.safe_dump(described), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("clinic")


@pytest.fixture(scope="module")
def answer(folder) -> frugal.Answer:
    table = frugal.load(clinic(folder), config={"afape": {"agents": TREES}})
    trained = {name: table.question.study.agents[name] for name in TREES}
    return frugal.decide(table, agents={**trained, "mine": {"kind": "rule", "steps": STEPS}})


@pytest.fixture(scope="module")
def cases(folder, answer) -> pd.DataFrame:
    """New cases with gaps, codes, impossible values, new levels, words, and other spellings."""
    rng = np.random.default_rng(1)
    known = pd.read_csv(folder / "visits.csv", dtype=str, keep_default_na=False)
    frame = known.sample(N, replace=True, random_state=1).drop(columns=["ward", "pneumonia"])
    frame["patient"] = np.arange(N).astype(str)
    frame["sex"] = np.where(rng.random(N) < 0.1, rng.choice(["F", "m.", "Q", " m"], N), frame["sex"])
    for panel in (["crp"], ["procalcitonin"], ["lactate"], ["xray", "fluid"]):
        frame.loc[rng.random(N) < 0.4, panel] = ""
    for name, words in {
        "crp": ["NA", "?", "12.25", "1e2"],
        "lactate": ["-9", "-9.0", "99", "not done", "1.2", "1.2000001"],
        "xray": ["Clear", "opaque", "SHADOW", "haze", "not done", "n/a", "O'Brien"],
        "fluid": ["1.0", "null"],
        "age": ["150", "16.1", "0"],
    }.items():
        odd = (rng.random(N) < 0.1) & (frame[name] != "")
        frame.loc[odd, name] = rng.choice(words, int(odd.sum()))
    return frame


@pytest.fixture(scope="module", params=POLICIES)
def policy(request, answer) -> frugal.Policy:
    return answer.policy(request.param)


@pytest.fixture(scope="module")
def advice(policy, cases) -> pd.DataFrame:
    """Of all cases, by their names."""
    return policy.advise(cases, id_column="patient").set_index("patient")


def in_sqlite(query: Path, cases: pd.DataFrame, table: str = "cases") -> pd.DataFrame:
    with sqlite3.connect(":memory:") as connection:
        cases.to_sql(table, connection, index=False)
        return pd.read_sql_query(query.read_text(encoding="utf-8"), connection)


def require_same(found: pd.DataFrame, advice: pd.DataFrame) -> None:
    assert found["next"].tolist() == advice["next"].tolist()
    assert found["predicted"].tolist() == advice["predicted"].tolist()
    shares = [name for name in advice if name.startswith("belief ")]
    theirs = found[[name.replace("belief", "probability") for name in shares]]
    np.testing.assert_allclose(theirs, advice[shares], rtol=0, atol=1e-9)
    assert advice["next"].nunique() > 1


def test_a_select_says_what_advise_says(policy, advice, cases, tmp_path):
    query = policy.to_sql(tmp_path / "policy.sql", table="a visit", id_column="patient")
    found = in_sqlite(query, cases, "a visit").set_index("patient")
    require_same(found.loc[advice.index], advice)


def test_a_short_reader_of_the_rules_says_what_advise_says(policy, advice, cases, tmp_path):
    rules = json.loads(policy.to_rules(tmp_path / "policy.json").read_bytes())
    found = [READER.advice(rules, case) for case in cases.to_dict("records")]
    names = ["next", "predicted", *(f"probability {name}" for name in policy.classes)]
    rows = [[panel, label, *shares] for panel, label, shares in found]
    require_same(pd.DataFrame(rows, columns=names), advice)


