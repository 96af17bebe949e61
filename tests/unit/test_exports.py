"""Exports of policies decide and predict as `advise`: SQL, rules in JSON, forms of REDCap."""

import csv
import importlib.util
import json
import re
import sqlite3
from dataclasses import replace
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
from frugal.core.regions import Hole, Interval

ROOT = Path(__file__).parents[2]
N = 10_000
FEW: dict[str, Any] = {"boosting": {"trees": 3, "repeats": 1}, "sets": 4}
TREES = {"cascade": FEW | {"price_weights": 4}, "fixed": FEW, "always": FEW}
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
POLICIES = ("cascade", "fixed", "mine")


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
    column["lactate"] |= {
        "special_values": [{"value": -9, "meaning": "haemolytic"}],
        "valid": [0, 20],
    }
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
    frame["sex"] = np.where(
        rng.random(N) < 0.1, rng.choice(["F", "m.", "Q", " m"], N), frame["sex"]
    )
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
    shares = [name for name in map(str, advice) if name.startswith("belief ")]
    theirs = found[[name.replace("belief", "probability") for name in shares]]
    np.testing.assert_allclose(theirs, advice[shares], rtol=0, atol=1e-9)
    assert advice["next"].nunique() > 1


def test_a_select_says_what_advise_says(policy, advice, cases, tmp_path):
    query = policy.export(tmp_path / "policy.sql", table="a visit", id_column="patient")
    found = in_sqlite(query, cases, "a visit").set_index("patient")
    require_same(found.loc[advice.index], advice)


def test_a_short_reader_of_the_rules_says_what_advise_says(policy, advice, cases, tmp_path):
    rules = json.loads(policy.export(tmp_path / "policy.json").read_bytes())
    some = slice(0, N, 8)
    found = [READER.advice(rules, case) for case in cases[some].to_dict("records")]
    names = ["next", "predicted", *(f"probability {name}" for name in policy.classes)]
    rows = [[panel, label, *shares] for panel, label, shares in found]
    require_same(pd.DataFrame(rows, columns=names), advice[some])


def test_of_three_classes_the_votes_of_the_policies_count(tmp_path):
    rng, n = np.random.default_rng(3), 240
    frame = pd.DataFrame(rng.normal(size=(n, 3)).round(2), columns=["age", "scan", "crp"])
    total = frame.sum(axis=1) + 0.3 * rng.normal(size=n)
    frame["ill"] = np.select([total < -0.7, total < 0.7], ["no", "mild"], "severe")
    frame[["scan", "crp"]] = frame[["scan", "crp"]].mask(rng.random((n, 2)) < 0.2)
    errors = {"no as mild": 10, "no as severe": 20, "mild as no": 30, "mild as severe": 15}
    errors |= {"severe as no": 60, "severe as mild": 30}
    config = {"afape": {"agents": {"fixed": FEW, "always": FEW}}}
    table = frugal.load(
        frame, label="ill", prices={"scan": 3, "crp": 1}, free=["age"], errors=errors, config=config
    )
    policy = frugal.decide(table, agents=["fixed"]).policy("fixed")
    cases = frame.drop(columns="ill")
    query = policy.export(tmp_path / "policy.sql")
    require_same(in_sqlite(query, cases), policy.advise(cases))


def test_a_panel_that_no_record_of_such_cases_holds_is_not_offered(answer, cases, tmp_path):
    policy = answer.policy("mine")
    bundle, some = policy._read, cases[:500]
    age, lactate = map(bundle.layout.columns.index, ("age", "lactate"))
    old = Hole(0, (Interval(age, 70.0, np.inf),), 50, 0)
    with_lactate = Hole(3, (Interval(lactate, -np.inf, np.inf),), 50, 0)
    before = policy.advise(some)["next"].tolist()
    vars(policy)["_read"] = replace(bundle, unsupported=(old, with_lactate))
    advice = policy.advise(some)
    assert advice["next"].tolist() != before
    require_same(in_sqlite(policy.export(tmp_path / "policy.sql"), some), advice)


def test_a_case_that_advise_refuses_has_no_advice(answer, cases, tmp_path):
    policy, case = answer.policy("mine"), cases[:1].assign(age="")
    with pytest.raises(DataError, match="the panel 'arrival' is free"):
        policy.advise(case)
    found = in_sqlite(policy.export(tmp_path / "policy.sql"), case)
    assert found[["next", "predicted", "probability pneumonia"]].isna().all(axis=None)
    assert found["crp"].tolist() == case["crp"].tolist()  # whose columns are in the result
    rules = json.loads(policy.export(tmp_path / "policy.json").read_bytes())
    with pytest.raises(ValueError, match="known at the start"):
        READER.advice(rules, case.iloc[0].to_dict())


def test_names_that_a_query_could_misread(tmp_path):
    rng, n = np.random.default_rng(4), 240
    name = 'a "b" [c]; --'
    frame = pd.DataFrame({"select": rng.normal(size=n), name: rng.choice(["Ärger", "O'Brien"], n)})
    frame["next"] = np.where(frame["select"] + (frame[name] == "Ärger") > 0.5, "it's", "no")
    terms = {"prices": {name: 1}, "free": ["select"], "errors": {"missed": 9, "false alarm": 9}}
    table = frugal.load(frame, label="next", positive="it's", **terms)
    rule = {"kind": "rule", "steps": [{"panel": name}]}
    policy = frugal.train(frugal.missingness(table), rule)
    cases = frame.drop(columns="next").assign(c1=np.arange(n).astype(str))
    cases[name] = cases[name].mask(rng.random(n) < 0.3)
    cases[name] = cases[name].mask(rng.random(n) < 0.3, cases[name].str.upper())
    query = policy.export(tmp_path / "a.sql", id_column="c1")
    require_same(in_sqlite(query, cases), policy.advise(cases, id_column="c1"))
    with pytest.raises(pd.errors.DatabaseError, match="no such column"):
        in_sqlite(query, cases.drop(columns=name))
    with pytest.raises(DataError, match="query has two columns named 'next'"):
        policy.export(tmp_path / "b.sql", id_column="next")


def shown(dictionary: Path, case: dict[Any, Any]) -> set[str]:
    """Fields that a form shows, given all answers: its logic in the words of Python."""
    rows = list(csv.DictReader(dictionary.read_text(encoding="utf-8").splitlines()))
    answers: dict[str, Any] = {}
    for row in rows:
        choices = [
            choice.split(", ")
            for choice in row["Choices, Calculations, OR Slider Labels"].split(" | ")
        ]
        code = {level: number for number, level in choices} if choices != [[""]] else {}
        cell = case.get(row["Field Label"].partition(" (")[0], "")
        answers[row["Variable / Field Name"]] = code[cell] if code else cell and float(cell)
    fields = set()
    for row in rows:
        logic = row["Branching Logic (Show field only if...)"].replace("<>", "!=")
        logic = re.sub(r"\bif\(", "choose(", logic)
        logic = re.sub(r"(?<![<>!])=", "==", re.sub(r"\[(\w+)\]", r"answers['\1']", logic))
        if not logic or eval(logic, {"answers": answers, "choose": lambda c, a, b: a if c else b}):
            fields.add(row["Variable / Field Name"])
    return fields


def test_a_form_shows_the_panels_that_the_policy_orders(answer, folder, tmp_path):
    policy = answer.policy("mine")
    form = policy.export(tmp_path / "form.csv")
    known = (
        pd.read_csv(folder / "visits.csv", dtype=str).dropna().drop(columns=["pneumonia", "ward"])
    )
    known = known[known["lactate"] != "-9"]
    path = policy.advise(known, simulate=True, id_column="patient").groupby("patient")["next"]
    fields = {"crp": "crp", "procalcitonin": "procalcitonin", "lactate": "lactate"}
    fields |= {"chest film": "xray"}
    seen = set()
    for case in known.to_dict("records"):
        ordered = {fields[panel] for panel in path.get_group(case["patient"]) if panel != "stop"}
        assert ordered == shown(form, case) & {*fields.values()}
        seen.add(frozenset(ordered))
    assert len(seen) > 3
    everyone = answer.policy("fixed").export(tmp_path / "fixed.csv").read_text()
    assert "[" not in everyone  # no question depends on another
    with pytest.raises(
        DataError, match=r"'cascade' orders by a predicted .* fixed, fixed_set, rule"
    ):
        answer.policy("cascade").export(tmp_path / "cascade.csv")


def test_the_command_writes_what_the_ending_says(answer, tmp_path, capsys):
    folder = str(answer.policy("mine").save(tmp_path / "mine"))
    for name in ("a.sql", "a.json", "a.csv"):
        assert main(["export", folder, str(tmp_path / name)]) == 0
        assert "an agent of kind 'rule'" in capsys.readouterr().out
    named = ["--table", "visits", "--id", "patient"]
    assert main(["export", folder, str(tmp_path / "b.sql"), *named]) == 0
    assert 'FROM "visits"' in (tmp_path / "b.sql").read_text()
    assert main(["export", folder, str(tmp_path / "b.json"), *named]) == 2
    assert main(["export", folder, str(tmp_path / "a.txt")]) == 2
    said = capsys.readouterr().err
    assert "apply to SQL alone" in said
    assert "allowed are .onnx for an ONNX graph; .json for rules in JSON" in said


def test_cuts_in_double_precision_divide_numbers_as_those_in_single():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 4000, dtype=np.uint32).view(np.float32)
    extreme = np.array([0, np.inf, -np.inf, 3.4028235e38, 1e-45], dtype=np.float32)
    threshold = np.append(bits[np.isfinite(bits)], extreme)
    cut = largest_double(threshold)
    for x in (cut, np.nextafter(cut, np.inf), np.nextafter(cut, -np.inf)):
        x = x[np.abs(x) < 3e38]
        inside = np.abs(cut) < 3e38
        np.testing.assert_array_equal(x.astype(np.float32) <= threshold[inside], x <= cut[inside])
    assert np.isfinite(cut).all()


def test_formulas_of_constants_are_computed_and_comparisons_are_conditions():
    f = Formulas()
    a, b = f.step("known", 0), f.step("known", 1)
    cell, zero, one = f.step("cell", 0), f.number(0), f.number(1)
    assert f.joined("and", a, f.opposite(a)) == f.false
    assert f.joined("or", a, f.joined("or", b, a)) == f.joined("or", a, b)
    assert f.choose(a, cell, f.unknown) == cell
    assert f.known(f.choose(a, cell, one)) == f.true
    assert f.apply("<", zero, f.choose(a, one, f.choose(b, zero, one))) == f.joined(
        "or", a, f.opposite(b)
    )
    assert f.apply("=", f.argmax([zero, f.choose(b, one, zero)]), one) == b
    assert f.apply("*", zero, cell) not in (zero, cell)  # which may be unknown
    assert f.apply("<", f.apply("+", one, f.unknown), one) == f.false
    assert f.apply("<", cell, f.number(np.inf)) == a
    assert f.apply("<=", cell, f.number(-np.inf)) == f.false
    assert f.apply("single", f.number(0.1)) == f.number(float(np.float32(0.1)))
