"""New cases of a bundle: read as its table was, advised as its roll-out decides, or refused."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from frugal.__main__ import main
from frugal.acquire.advice import case_uniforms
from frugal.acquire.bundles import read_bundle, write_bundle
from frugal.core.context import Context
from frugal.core.errors import DataError
from frugal.core.streams import Streams
from frugal.data.case_document import TableColumns
from frugal.data.cases import read_cases
from frugal.data.encoding import encode
from frugal.data.parsing import parse_files
from frugal.learn.trees import fit_forest
from frugal.results.files import seal, sealed
from frugal.studies.diagnosis.stages.choosing import bundle_choice

from tests.unit.dataset_documents import document, load

pytestmark = pytest.mark.trains

CSV = """age,smoker,job,marker,scan,ill,ward
54,yes,clerk,0.9,2,1,a
61,no,,-9,0,0,a
47,no,nurse,,,0,b
72,yes,clerk,1.4,3,1,b
66,NA,nurse,0.6,1,0,c
39,yes,cook,-8,,0,c
50,yes,cook,700,1,0,c
"""
RULE = {
    "kind": "rule",
    "steps": [{"panel": "blood", "when": {"column": "age", "above": 50}}, {"panel": "scan"}],
}
HEAD = "case,age,smoker,job,marker,scan\n"


def described() -> dict[str, Any]:
    """Levels, one recoded, one for a missing value; two codes, a valid range; a panel of two."""
    own = document()
    form = own["source"]["format"]
    form["missing"] = ["", "NA"]
    age, smoker, marker, scan = own["columns"]
    smoker |= {"levels": ["no", "yes", "unknown"], "missing_level": "unknown"}
    marker["valid"] = [0, 100]
    job = {
        "name": "job",
        "type": "categorical",
        "levels": ["clerk", "nurse", "cook", "pilot", "none"],
        "missing_level": "none",
    }
    own["columns"] = [age, smoker, job, marker, scan]
    own["panels"][0]["columns"] = ["age", "smoker"]
    own["panels"][2]["columns"] = ["scan", "job"]
    own["missing_values"] = "own"
    return own


def made(
    folder: Path,
    settings: dict[str, Any] = RULE,
    table: dict[str, Any] | None = None,
    text: str = "",
    **more: Any,
) -> Path:
    """A bundle of the small table of which the last row is the test part."""
    folder.mkdir(exist_ok=True)
    description = load(folder.parent, table or described())
    file = folder.parent / "small.csv"
    file.write_text(text or CSV)
    done = encode(parse_files(description, {"small.csv": file}), description)
    rows, part = done.table, np.array(["train"] * (len(done.table) - 1) + ["test"])
    forest = fit_forest(
        rows.values,
        ~np.isnan(rows.values),
        rows.label,
        classes=2,
        trees=3,
        min_leaf=1,
        rng=np.random.default_rng(0),
    )
    given: dict[str, Any] = {"settings": settings, "policy": None}
    given |= {"table": TableColumns.of(rows, part), "catalogue": {"report": done.report}}
    given |= {"description": description, "classifier": forest.to_arrays()}
    given |= {"streams": Streams(3, "roll_out", {"dataset": "small", "agent": "mine"})}
    write_bundle(folder, **given | more)
    return folder


@pytest.fixture
def bundle(tmp_path) -> Path:
    return made(tmp_path / "bundle")


def advised(bundle: Path, text: str, *words: str) -> pd.DataFrame:
    """What `advise` writes for a CSV."""
    path, out = bundle.parent / "cases.csv", bundle.parent / "new/folder/out.csv"
    path.write_text(text, encoding="utf-8")
    assert main(["advise", str(bundle), str(path), "--out", str(out), *words]) == 0
    return pd.read_csv(out, keep_default_na=False)


def refused(capsys, *words: str) -> str:
    assert main(["advise", *words]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "Traceback" not in said
    return said


def test_whole_records_are_read_as_the_table_was(bundle, tmp_path):
    description = load(tmp_path, described())
    table = encode(parse_files(description, {"small.csv": tmp_path / "small.csv"}), description)
    loaded = read_bundle(bundle)
    cases = read_cases(
        tmp_path / "small.csv",
        loaded.cases,
        provides=loaded.layout.provides,
        id_column=None,
        complete=True,
    )
    np.testing.assert_array_equal(cases.values, table.table.values)
    assert cases.id_name == "line"
    assert cases.ids == [str(k) for k in range(2, 9)]


def test_an_empty_cell_is_not_acquired_yet(bundle):
    told = advised(bundle, HEAD + "a,60,yes,,,\nb,60,,,-9,\nc,60,no,,0.5,1\nd,40,no,cook,,2\n")
    assert told["acquired"].tolist() == ["", "blood", "blood + scan", "scan"]
    assert told["next"].tolist() == ["blood", "scan", "stop", "stop"]
    assert told["price"].tolist() == [30, 900, 0, 0]
    assert told["cost_so_far"].tolist() == [0, 30, 930, 900]
    assert told["case"].tolist() == ["a", "b", "c", "d"]
    shares = told[["belief healthy", "belief ill"]].astype(float)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    cheap = np.where(
        shares["belief ill"] * 5000 > shares["belief healthy"] * 1000, "ill", "healthy"
    )
    assert told["predicted"].tolist() == cheap.tolist()


def test_a_price_of_each_case_is_that_of_the_case(tmp_path, capsys):
    own = described()
    own["columns"].append({"name": "fee", "type": "numeric", "unit": "EUR"})
    own["panels"][0]["columns"].append("fee")
    own["panels"][1] |= {"cost": {"column": "fee"}, "delay": 2}
    own |= {"waiting_cost": 3, "set_ups": [{"panels": ["blood", "scan"], "cost": 50}]}
    fees = iter(["fee", *range(5, 12)])
    table = "".join(f"{line},{next(fees)}\n" for line in CSV.splitlines())
    folder, head = (
        made(tmp_path / "bundle", table=own, text=table),
        "case,age,smoker,job,marker,scan,fee\n",
    )
    told = advised(
        folder, head + "a,60,no,,,,3\nb,60,no,,,,29.5\nc,60,no,,0.5,,3\nd,60,no,,0.5,1,0\n"
    )
    assert told["price"].tolist() == [59, 85.5, 900, 0]
    assert told["cost_so_far"].tolist() == [0, 0, 59, 956]
    said = capsys.readouterr().out
    assert "85.5" in said
    path = advised(folder, head + "a,60,no,clerk,0.5,1,3\nb,60,no,clerk,0.5,1,29.5\n", "--simulate")
    last = path[path["next"] == "stop"]
    assert last["cost_so_far"].tolist() == [959, 985.5]
    assert "985.5" in capsys.readouterr().out
    for cell in ("", "-1", "NA"):
        (tmp_path / "cases.csv").write_text(head + f"a,60,no,,,,{cell}\n")
        assert "'fee'" in refused(capsys, str(folder), str(tmp_path / "cases.csv"))
    given = json.loads((folder / "cases.json").read_text())
    given["cases"]["fees"][0]["column"] = "smoker"
    (folder / "cases.json").write_text(json.dumps(given | {"seal": seal(given)}))
    assert "lacks the numeric column 'smoker'" in refused(capsys, str(folder), "cases.csv")


def test_step_by_step_it_is_the_path(bundle):
    """Each advice, bought and filled in, leads along what `--simulate` says at once."""
    for settings in (RULE, {"kind": "random", "probability": 0.6}):
        made(bundle, settings)
        whole = {f"u{k}": [str(40 + 3 * k), "no", "cook", "1.2", "2"] for k in range(12)}
        shown = {name: [*row[:2], "", "", ""] for name, row in whole.items()}
        text = HEAD + "".join(",".join([name, *row]) + "\n" for name, row in whole.items())
        path = advised(bundle, text, "--simulate")
        taken: dict[str, list[str]] = {name: [] for name in whole}
        for _ in range(3):
            told = advised(bundle, HEAD + "".join(f"{n},{','.join(r)}\n" for n, r in shown.items()))
            for name, choice in zip(told["case"], told["next"], strict=True):
                if choice == "stop":
                    continue
                taken[name].append(choice)
                for j in {"blood": [3], "scan": [2, 4]}[choice]:
                    shown[name][j] = whole[name][j]
        bought = path[path["next"] != "stop"]
        assert taken == {
            name: bought.loc[bought["case"] == name, "next"].tolist() for name in whole
        }


def test_draws_follow_from_the_name_of_a_case_alone(tmp_path):
    loaded = read_bundle(made(tmp_path / "bundle", {"kind": "random", "probability": 0.5}))
    one, two = (case_uniforms(loaded, ids, None) for ids in (["a", "b"], ["z", "b", "a"]))
    np.testing.assert_array_equal(one, two[[2, 1]])
    assert len(np.unique(two)) == two.size


def test_values_that_training_did_not_see_are_flagged(bundle, capsys):
    told = advised(
        bundle,
        HEAD + "a,90,yes,,,\nb,60,yes,pilot,,1\nc,60,no,,500,\nd,60,no,,0.7,1\n"
        "e,60,no,,,2\nf,60,no,cook,,\n",
    )
    assert told["outside"].tolist() == [
        "age 90: seen were 39 to 72",
        "job pilot: never seen",
        "marker 500 cannot be: taken as missing",
        "",
        "",
        "panel scan: some values only, so taken as not acquired",
    ]
    assert told["acquired"].tolist() == ["", "scan", "", "blood + scan", "scan", ""]
    said = capsys.readouterr().out
    assert "4 of 6 cases have values that training did not see" in said
    assert "a guess" in said


def test_the_label_and_columns_that_were_left_out_may_stand_next_to(bundle):
    told = advised(bundle, CSV, "--simulate")
    assert told.columns[0] == "line"
    named = advised(bundle, CSV, "--simulate", "--id", "ward")
    assert named.columns[0] == "ward"
    assert named["next"].tolist() == told["next"].tolist()


@pytest.mark.parametrize("separator", [";", "\t"])
def test_separators_marks_and_quotes_are_found(bundle, separator):
    sink = io.StringIO()
    rows = [HEAD.strip().split(","), ["Ä, b", "60", "yes", "", "", ""]]
    csv.writer(sink, delimiter=separator).writerows(rows)
    told = advised(bundle, "\ufeff" + sink.getvalue())
    assert told["case"].tolist() == ["Ä, b"]
    assert told["next"].tolist() == ["blood"]


def test_what_cannot_be_had_is_not_advised(bundle):
    assert advised(bundle, HEAD + "a,60,no,,,\n", "--without", "blood")["next"].tolist() == ["scan"]
    path = advised(bundle, HEAD + "a,60,no,cook,1,1\n", "--simulate", "--without", "blood")
    assert path["next"].tolist() == ["scan", "stop"]


def test_cases_are_handed_to_a_person_by_a_price_or_the_thresholds_of_an_answer(bundle, capsys):
    """Thresholds are those of the panels that cannot be had; 0, where none was calibrated."""
    cases = HEAD + "a,60,no,,,\n"
    answer = bundle.parent / "answer.json"
    patterns = [{"missing": ["blood"], "threshold": 9e9}, {"missing": [], "threshold": 0.0}]
    content = {"referral": {"price": 9e9, "patterns": patterns}}
    answer.write_text(json.dumps(sealed(content)))
    for words, person in (
        (("--refer", "0"), True),
        (("--refer", "9e9"), False),
        (("--refer", str(answer)), True),
        (("--refer", str(answer), "--without", "blood"), False),
        (("--refer", str(answer), "--without", "blood", "--without", "scan"), True),
    ):
        assert (advised(bundle, cases, *words)["predicted"][0] == "a person") == person
    path = str(bundle.parent / "cases.csv")
    for wrong in ("-1", "nan", "none.json", str(bundle / "cases.json")):
        assert "allowed are a price" in refused(capsys, str(bundle), path, "--refer", wrong)
    answer.write_text(json.dumps(sealed(content | {"policy": "other"})))
    said = refused(capsys, str(bundle), path, "--refer", str(answer))
    assert "thresholds of 'other', and the policy is 'mine'; allowed are" in said
    patterns[0]["threshold"] = 1.0
    for seal_of in ({"seal": sealed({})["seal"]}, {"seal": 1}, {}):  # of another, none
        answer.write_text(json.dumps(content | seal_of))
        said = refused(capsys, str(bundle), path, "--refer", str(answer))
        assert "; make it again by decide with refer, or give a price" in said
    answer.write_text(json.dumps(content | {"referral": {}}))
    said = refused(capsys, str(bundle), path, "--refer", str(answer))
    assert "allowed are a price from 0 on, or the answer.json" in said


def test_what_is_no_bundle_is_refused(bundle, capsys, tmp_path):
    (tmp_path / "cases.csv").write_text(HEAD + "a,60,no,,,\n")
    cases, given = str(tmp_path / "cases.csv"), json.loads((bundle / "cases.json").read_text())

    def spoilt(**changed: Any) -> str:
        document = given | changed
        document["seal"] = seal(document)
        (bundle / "cases.json").write_text(json.dumps(document))
        return refused(capsys, str(bundle), cases)

    assert "there is no file none.csv" in refused(capsys, str(bundle), "none.csv")
    fewer = given["cases"] | {"columns": given["cases"]["columns"][:-1]}
    assert "has a panel of the column 'scan'" in spoilt(cases=fewer)
    fewer = given["cases"] | {"panels": given["cases"]["panels"][:-1]}
    assert "put together from two" in spoilt(cases=fewer)
    ages = [given["cases"]["columns"][0] | {"levels": ["a"]}, *given["cases"]["columns"][1:]]
    mixed = given["cases"] | {"columns": ages}
    assert "that its type 'numeric' does not have" in spoilt(cases=mixed)


def test_a_function_of_ones_own_is_never_read_from_a_bundle(tmp_path, capsys):
    own = tmp_path / "own.py"
    own.write_text("def act(values, acquired, available):\n    return ['stop'] * len(values)\n")
    settings = {"kind": "python", "file": str(own), "function": "act"}
    bundle = made(tmp_path / "bundle", settings, policy=own)
    assert not list(bundle.glob("*.py"))
    with pytest.raises(DataError, match=r"give the file: --function own\.py"):
        read_bundle(bundle)
    told = advised(bundle, HEAD + "a,60,no,,,\n", "--function", str(own))
    assert [told[name][0] for name in ("next", "why")] == ["stop", "probability: stop 1"]
    text = own.read_text()
    for more in ("#", 8 * "#"):  # of a lower and of a higher digest
        own.write_text(text + more)
        with pytest.raises(DataError, match="is not the file that"):
            read_bundle(bundle, function=own)


def test_a_choice_without_a_policy_has_no_bundle(tmp_path):
    given: dict[str, Any] = {"table": pd.DataFrame(), "catalogue": {}}
    given |= {"description": tmp_path / "d.yaml"}
    given |= {"context": Context({}, Streams(0, "bundle_choice", {}))}
    with pytest.raises(DataError, match="of the family 'baselines', which keeps no policy"):
        bundle_choice(choice={"policy": None, "family": "baselines"}, **given)
    place = {"file": "results/p.safetensors", "position": 0}
    with pytest.raises(DataError, match=r"results/p\.safetensors, which is not among the inputs"):
        bundle_choice(choice={"policy": place, "family": "cascade"}, **given)


CODED = pd.DataFrame(
    {
        "case": ["a", "b", "c"],
        "age": [60, 41, 70],
        "smoker": ["no", None, "yes"],
        "job": ["clerk", None, None],
        "marker": [0.5, np.nan, 1.25],
        "scan": [1, np.nan, 2],
    }
)
WRITERS = {
    "cases.parquet": lambda frame, path: frame.to_parquet(path),
    "index.parquet": lambda frame, path: frame.set_index("case").to_parquet(path),
    "cases.xlsx": lambda frame, path: frame.to_excel(path, index=False),
    "titled.xlsx": lambda frame, path: frame.to_excel(path, index=False, startrow=2),
    "commas.csv": lambda frame, path: frame.to_csv(path, index=False, sep=";", decimal=","),
    "blanks.csv": lambda frame, path: frame.rename(columns={"age": "\u00a0age "}).to_csv(
        path, index=False
    ),
}


def coded(folder: Path) -> Path:
    """A bundle of the small table whose scan is a category of whole numbers."""
    told = described()
    told["columns"][4] = {"name": "scan", "type": "categorical", "levels": ["0", "1", "2", "3"]}
    return made(folder, table=told)


@pytest.mark.parametrize("name", WRITERS)
def test_files_of_cases_are_read_as_init_reads_tables(tmp_path, name):
    loaded = read_bundle(coded(tmp_path / "bundle"))
    given = {"provides": loaded.layout.provides, "id_column": None, "complete": False}
    WRITERS[name](CODED, tmp_path / name)
    read = read_cases(tmp_path / name, loaded.cases, **given)
    plain = read_cases(CODED, loaded.cases, **given)
    np.testing.assert_array_equal(read.values, plain.values)
    if name != "index.parquet":
        assert read.ids == plain.ids == ["a", "b", "c"]
    columns = loaded.layout.columns
    np.testing.assert_array_equal(read.values[:, columns.index("marker")], [0.5, np.nan, 1.25])
    np.testing.assert_array_equal(read.values[:, columns.index("scan=2")], [0, np.nan, 1])
    frame = read_cases(CODED.set_index("case"), loaded.cases, **given)
    assert (frame.id_name, frame.ids) == ("case", plain.ids)


def test_a_comma_in_cases_that_may_be_either_is_refused(bundle, capsys):
    path = bundle.parent / "c.csv"
    path.write_text("case;age;smoker;job;marker;scan\na;60;yes;;1,234;\n")
    assert "'1,234', which is not a number" in refused(capsys, str(bundle), str(path))


def test_blanks_that_a_table_keeps_are_kept_in_its_cases(tmp_path):
    told = described()
    told["source"]["format"]["strip"] = False
    folder = made(tmp_path / "bundle", table=told)
    assert advised(folder, HEAD + "a,60,yes,,,\n")["outside"].tolist() == [""]
    assert advised(folder, HEAD + "a,60, yes,,,\n")["outside"].tolist() == [
        "smoker  yes: never seen"
    ]


@pytest.mark.parametrize(
    ("cell", "value", "recode"),
    [
        ("<1.5", 0.75, {}),
        ("<1.5", 0.75, {"<0.5": 0.25}),
        ("< 0.5", 0.25, {"<0.5": 0.25}),
        (" <0.5 ", 0.25, {"<0.5": 0.25}),
        ("<5", 2.5, {"<0.5": 0.25, ">90": 90.0}),
        (">95", 95.0, {"<0.5": 0.25}),
        ("≤ 3", 1.5, {"<0.5": 0.25}),
        (">=7", 7.0, {}),
        ("<3 ng/mL", 1.5, {}),
        ("<.5", 0.25, {}),
        ("< 0.5", 0.1, {"<0.5": 0.1}),
        ("<1.5", None, {"<0.5": 0.1}),
        ("<3 mg", None, {}),
        ("<x", None, {}),
        ("<", None, {}),
    ],
)
def test_a_new_limit_is_read_by_the_rule_of_the_table_and_noted(
    tmp_path, capsys, cell, value, recode
):
    own = described()
    own["columns"][3] |= {"recode": recode} if recode else {}
    folder = made(tmp_path / "bundle", table=own)
    (tmp_path / "cases.csv").write_text(HEAD + f"a,60,no,,{cell},1\n")
    if value is None:
        assert "which is not a number" in refused(capsys, str(folder), str(tmp_path / "cases.csv"))
        return
    loaded = read_bundle(folder)
    given = {"provides": loaded.layout.provides, "id_column": None, "complete": False}
    cases = read_cases(tmp_path / "cases.csv", loaded.cases, **given)
    assert cases.values[0, loaded.layout.columns.index("marker")] == value
    known = "".join(cell.split()) in recode
    assert ("known up to a limit, read as" in cases.outside[0]) == (not known)


@pytest.mark.parametrize("cell", ["No", "NO", " no ", "FALSE", "no."])
@pytest.mark.parametrize("job", ["Nurse", "NURSE", "nurse."])
def test_levels_of_new_cases_are_those_that_their_texts_denote(tmp_path, cell, job):
    own = described()
    own["columns"][1]["levels"] = ["no", "yes"]
    del own["columns"][1]["missing_level"]
    text = CSV.replace("NA", "no")
    folder = made(tmp_path / "bundle", table=own, text=text)
    told = advised(folder, HEAD + f"a,60,{cell},{job},,1\nb,60,no,nurse,NA,1\n")
    assert told["outside"].tolist() == ["", ""]
    assert told.iloc[0, 1:].tolist() == told.iloc[1, 1:].tolist()


@pytest.mark.parametrize("name", ["price", "next", "why", "outside", "predicted", "belief ill"])
def test_names_of_cases_stay_whatever_their_column_is_called(bundle, name):
    told = advised(bundle, HEAD.replace("case", name) + "ANNA,60,no,,,\n")
    assert told[f"{name}_"].tolist() == ["ANNA"]
    assert told["next"].tolist() == ["blood"]


def test_no_cell_of_what_is_written_is_a_formula(bundle):
    names = ["=1+1", "@SUM(A1)", "+cmd", "-x", "-5", "plain"]
    told = advised(bundle, HEAD + "".join(f"{name},60,no,,,\n" for name in names))
    assert told["case"].tolist() == ["'=1+1", "'@SUM(A1)", "'+cmd", "'-x", "-5", "plain"]


def test_the_reason_is_that_of_the_case_and_a_prediction_says_its_threshold(bundle, capsys):
    told = advised(bundle, HEAD + "a,60,yes,,,\nb,40,yes,,,\nc,60,no,,0.5,1\n")
    assert told["why"].tolist() == [
        "step 1: age 60 is above 50",
        "step 2",
        "no further step applies",
    ]
    assert told["threshold"].astype(float).tolist() == pytest.approx([1000 / 6000] * 3)
    said = capsys.readouterr().out
    assert "predicted probability  if nothing more is acquired" in said
    sure = float(told["belief ill"].iloc[0]) >= 1 / 6
    assert ("as ill (from 16.7 % on)" if sure else "as healthy (below 16.7 %)") in said


def test_a_value_that_cannot_be_is_refused_as_such(bundle, capsys):
    given = json.loads((bundle / "cases.json").read_text())
    given["cases"]["columns"][0]["valid"] = [0.0, 120.0]
    (bundle / "cases.json").write_text(json.dumps(given | {"seal": seal(given)}))
    (bundle.parent / "cases.csv").write_text(HEAD + "a,999,no,,,\n")
    said = refused(capsys, str(bundle), str(bundle.parent / "cases.csv"))
    assert "'age' holds '999', which cannot be, and the panel 'interview' is free" in said


def test_it_works_in_an_empty_folder(bundle, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "cases.csv").write_text(HEAD + "ä,60,no,,,\n", encoding="utf-8")
    bundle.rename(folder / "bundle")
    done = subprocess.run(
        [sys.executable, "-m", "frugal", "advise", "bundle", "cases.csv"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    head, row = done.stdout.splitlines()
    assert head.split()[:2] == ["case", "next"]
    assert row.split()[:3] == [r"\xe4", "blood", "30"]


def test_a_stream_is_compared_with_the_records_by_what_everyone_has(tmp_path, monkeypatch, capsys):
    head, *rows = CSV.splitlines(keepends=True)
    monkeypatch.setitem(globals(), "CSV", head + 40 * "".join(rows))
    bundle = made(tmp_path / "bundle")
    advised(bundle, HEAD + "".join(f"{k},72,yes,,,\n" for k in range(60)), "--monitor")
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith(
        "The first 25 cases differ from the records in age: age from 72 on in 100%"
    )
    known = [row.split(",")[:2] for row in rows]
    same = "".join(f"{k},{known[k % 7][0]},{known[k % 7][1]},,,\n" for k in range(60))
    advised(bundle, HEAD + same.replace("NA", ""), "--monitor")
    assert "The first 50 cases do not differ from the records (an al" in capsys.readouterr().out
