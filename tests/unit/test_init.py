"""`frugal init`: the YAML of an unknown table, by guesses that are told."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from frugal.core.errors import ConfigError, DataError, FrugalError
from frugal.data.description import load_description
from frugal.data.guessing import guess_table, label_stated, stated_in
from frugal.data.prepare import prepare
from frugal.run.init_command import init_command

from tests.oracles.transport_writer import transport_file
from tests.unit.init_cases import N, init, priced, values_of, visits
from tests.workflow.runs import ROOT


def test_what_columns_are_is_guessed_and_stated(tmp_path, capsys):
    visits().to_csv(tmp_path / "t.csv", index=False)
    text = init(tmp_path)
    document, said = yaml.safe_load(text), capsys.readouterr().out
    assert [one["name"] for one in document["columns"]] == [
        "age",
        "sex",
        "lab_crp",
        "lab_pct",
        "sofa",
        "discharged_to",
    ]
    assert document["source"]["format"]["missing"] == ["", "NA"]
    assert document["label"]["classes"][1] == {"name": "yes", "values": ["yes"]}
    for words in (
        "left out: case_id: names that occur in several rows",
        "left out: row: numbers the rows",
        "left out: seen: holds dates",
        "left out: site: holds 'one' alone",
        "look: discharged_to: predicts the label in all of 60 rows",
        "look: sofa: -9 (",
    ):
        assert words in said
    assert document["cluster"] == "case_id"
    assert "special_values: [{value: -9, meaning: FILL IN}]" in text
    assert [(one["columns"], one["cost"]) for one in document["panels"]] == [
        ([one["name"]], None) for one in document["columns"]
    ]
    assert "no missing value in 'age', 'sex', 'sofa', 'discharged_to': a price for each" in said


def test_what_is_free_is_named_by_a_person(tmp_path, capsys):
    visits().to_csv(tmp_path / "t.csv", index=False)
    panels = yaml.safe_load(init(tmp_path, "--free", "age,sex", "--free", "sofa"))["panels"]
    assert panels[0] == {
        "name": "known at the start",
        "columns": ["age", "sex", "sofa"],
        "free": True,
    }
    assert all(one["cost"] is None for one in panels[1:])
    assert "no missing value in 'discharged_to': a price" in capsys.readouterr().out
    (tmp_path / "t.yaml").unlink()
    init(tmp_path, "--free", "lab_crp")
    assert "look: lab_crp: is known at the start, but" in capsys.readouterr().out
    (tmp_path / "t.yaml").unlink()
    with pytest.raises(DataError, match=r"--free names 'agee'.*did you mean 'age'\?"):
        init(tmp_path, "--free", "agee")


def test_a_named_column_of_one_value_is_left_out(tmp_path, capsys):
    visits().to_csv(tmp_path / "t.csv", index=False)
    words = ("--free", "age,site", "--panel", "where=site", "--prices", "where=2,lab_crp=3")
    document = yaml.safe_load(init(tmp_path, *words))
    assert document["panels"][0]["columns"] == ["age"]
    assert "where" not in {panel["name"] for panel in document["panels"]}
    assert "left out: site: holds 'one' alone" in capsys.readouterr().out


def test_columns_are_left_out_as_named_and_amounts_with_their_reason(tmp_path, capsys):
    bill = [f"{k % 50}.{100 + k},50 €" for k in range(N)]
    paid = [f"€{k % 50},000" if k % 9 else f"{k}" for k in range(N)]
    visits().assign(paid=paid, bill=bill).to_csv(tmp_path / "t.csv")
    with pytest.raises(DataError, match=r"no feature 'sofaa'.*did you mean 'sofa'\?"):
        init(tmp_path, "--leave-out", "sofaa")
    document = yaml.safe_load(init(tmp_path, "--leave-out", "sofa,sex"))
    columns = {column["name"] for column in document["columns"]}
    assert not {"sofa", "sex", "paid", "bill"} & columns
    assert {"lab_crp", "lab_pct"} <= columns  # amounts have no say in the marks of numbers
    assert "decimal" not in document["source"]["format"]
    printed = capsys.readouterr().out
    assert "left out: sex: as --leave-out names it" in printed
    assert "paid: holds amounts such as '€1,000'; write the numbers without the sign" in printed


def test_prices_of_columns_that_are_missing_in_the_same_rows_are_reported(tmp_path, capsys):
    own = visits()
    own["lab_pct"] = np.where(own["lab_crp"] == "", "NA", [f"{k % 7}.5" for k in range(N)])
    own.to_csv(tmp_path / "t.csv", index=False)
    init(tmp_path, "--prices", "lab_crp=4,lab_pct=3")
    assert (
        "several panels: lab_crp, lab_pct are always missing together, and --panel NAME=lab_c"
        in (capsys.readouterr().out)
    )


def test_open_prices_are_refused_in_a_sentence_that_names_them(tmp_path):
    visits().to_csv(tmp_path / "t.csv", index=False)
    init(tmp_path)
    with pytest.raises(ConfigError) as refusal:
        load_description(tmp_path / "t.yaml")
    said = str(refusal.value)
    assert "fill in the cost of age, sex, lab_crp, lab_pct, sofa, discharged_to (first" in said
    assert "\n" not in said
    load_description(priced(tmp_path))


def test_panels_by_prefix(tmp_path):
    visits().to_csv(tmp_path / "t.csv", index=False)
    panels = yaml.safe_load(init(tmp_path, "--by-prefix"))["panels"]
    assert {"name": "lab", "columns": ["lab_crp", "lab_pct"], "cost": None} in panels


def test_a_table_without_gaps_has_a_price_for_every_column(tmp_path):
    visits()[["age", "sex", "sofa", "ill"]].to_csv(tmp_path / "t.csv", index=False)
    panels = yaml.safe_load(init(tmp_path))["panels"]
    assert [one["columns"] for one in panels] == [["age"], ["sex"], ["sofa"]]
    assert all(one["cost"] is None for one in panels)


FORMS = {
    "marked": ("t.csv", lambda table, path: table.to_csv(path, index=False, encoding="utf-8-sig")),
    "semicolon": ("t.csv", lambda table, path: table.to_csv(path, index=False, sep=";")),
    "tab": ("t.csv", lambda table, path: table.to_csv(path, index=False, sep="\t")),
    "blank": ("t.dat", lambda table, path: _write_blanks(table, path)),
    "latin": ("t.csv", lambda table, path: table.to_csv(path, index=False, encoding="latin-1")),
    "utf-16": ("t.csv", lambda table, path: table.to_csv(path, index=False, encoding="utf-16")),
    "utf-16-le": (
        "t.txt",
        lambda table, path: table.to_csv(path, index=False, sep="\t", encoding="utf-16-le"),
    ),
    "gzip": ("t.csv.gz", lambda table, path: table.to_csv(path, index=False)),
    "titles": ("t.csv", lambda table, path: _write_below(table, path, "Visits of 2026\n\n")),
    "decimal": ("t.csv", lambda table, path: _write_decimal_commas(table, path)),
    "parquet": ("t.parquet", lambda table, path: table.to_parquet(path)),
    "excel": ("t.xlsx", lambda table, path: table.to_excel(path, index=False)),
    "excel below titles": (
        "t.xlsx",
        lambda table, path: table.to_excel(path, index=False, startrow=3, startcol=0),
    ),
    "arff": ("t.arff", lambda table, path: _write_arff(table, path)),
}


def _write_blanks(table: pd.DataFrame, path: Path) -> None:
    """Cells in quotes, runs of blanks between them and at both ends."""
    rows = [table.columns, *table.astype(str).to_numpy()]
    path.write_text("".join("  " + "   ".join(f'"{c}"' for c in row) + " \n" for row in rows))


def _write_below(table: pd.DataFrame, path: Path, lines: str) -> None:
    path.write_text(lines + table.to_csv(index=False))


def _write_decimal_commas(table: pd.DataFrame, path: Path) -> None:
    commas = {c: table[c].str.replace(".", ",") for c in ("lab_crp", "lab_pct")}
    table.assign(**commas).to_csv(path, index=False, sep=";")


def _write_arff(table: pd.DataFrame, path: Path) -> None:
    head = "".join(f"@attribute {name} string\n" for name in table.columns)
    body = table.to_csv(index=False, header=False, quotechar="'")
    path.write_text(f"@relation t\n{head}@data\n{body}", encoding="utf-8")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_values_of_the_plain_file(tmp_path, form):
    table = visits().assign(sex=lambda t: t["sex"].replace({"f": "fühlt"}))
    plain, other = tmp_path / "plain", tmp_path / "other"
    plain.mkdir()
    other.mkdir()
    table.to_csv(plain / "t.csv", index=False)
    name, write = FORMS[form]
    write(table, other / name)
    init(plain)
    init(other, name=name)
    found, wanted = values_of(priced(other)), values_of(priced(plain))
    assert list(found) == list(wanted)
    for column, values in wanted.items():
        np.testing.assert_array_equal(found[column], values, err_msg=column)


@pytest.mark.parametrize("separator", [",", " "])
def test_a_file_without_names_has_numbered_columns_and_says_so(tmp_path, capsys, separator):
    table = visits().drop(columns="lab_crp")
    place = tmp_path / "t.csv"
    table.to_csv(place, index=False, header=False, sep=separator, na_rep="NA")
    assert init_command([str(place), "--label", "column_10"]) == 0
    said = capsys.readouterr().out
    assert "the first line holds no names, so columns are column_1 to column_10" in said
    found = values_of(priced(tmp_path))
    np.testing.assert_array_equal(found["column_5"], table["age"])
    assert len(found["column_5"]) == N


def test_a_label_by_name_in_a_file_without_names_is_refused_with_the_names(tmp_path):
    visits().to_csv(tmp_path / "t.csv", index=False, header=False)
    with pytest.raises(DataError, match=r"no column 'ill'.*columns are column_1 to column_11; set"):
        init(tmp_path)


def test_whether_the_first_line_holds_names_can_be_stated(tmp_path):
    years = pd.DataFrame(
        {"2024": [1, 5] * (N // 2), "2025": [3, 2, 4] * (N // 3), "ill": ["a", "b"] * (N // 2)}
    )
    years.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match="set --header if it does"):
        init(tmp_path)
    document = yaml.safe_load(init(tmp_path, "--header"))
    assert document["source"]["format"]["header"] is True
    texts = pd.DataFrame({"ill": ["b", *["a", "b"] * N], "dose": ["x", *["low", "high"] * N]})
    texts.to_csv(tmp_path / "t2.csv", index=False, header=False)
    with pytest.raises(DataError, match=r"column_1 to column_2"):
        init_command([str(tmp_path / "t2.csv"), "--label", "ill", "--no-header"])


def test_names_that_stand_twice_or_lack_are_made_different(tmp_path, capsys):
    table = visits().rename(columns={"sofa": "age", "row": ""})
    table.to_csv(tmp_path / "t.csv", index=False)
    init(tmp_path)
    said = capsys.readouterr().out
    assert "a second column 'age' is called 'age_2' here" in said
    assert "a column without a name is called 'column_2' here" in said
    found = values_of(priced(tmp_path))
    np.testing.assert_array_equal(found["age_2"], visits()["sofa"])


def test_names_as_r_writes_them_one_fewer_than_columns(tmp_path):
    table = visits().drop(columns=["case_id", "row"])
    head = ",".join(table.columns) + "\n"
    rows = table.to_csv(header=False, index_label=None)
    (tmp_path / "t.csv").write_text(head + rows)
    init(tmp_path)
    np.testing.assert_array_equal(values_of(priced(tmp_path))["age"], table["age"])


def test_sas_transport_is_read(tmp_path):
    table = visits()[["age", "sofa"]].astype(float).assign(ill=[0.0, 1.0] * (N // 2))
    content = transport_file({str(name): table[name].tolist() for name in table})
    (tmp_path / "t.xpt").write_bytes(content)
    init(tmp_path, name="t.xpt")
    np.testing.assert_array_equal(values_of(priced(tmp_path))["age"], table["age"])


def test_a_number_as_label_is_cut_or_predicted(tmp_path):
    table = visits().assign(ill=np.r_[np.arange(N - 1) / 7, np.nan])
    table.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "t.yaml"
    for words, sentence in (
        ((), r"59 different values.*--predict .* and --cut NUMBER,… makes classes of ranges"),
        (("--cut", "5", "--label", "sex"), "holds '[fm]', which is no number that --cut could"),
        (("--cut", "5,99"), "falls in the class 'from 99'; each class by --cut needs one"),
        (("--cut", "5,x"), "--cut is '5,x'; allowed are finite numbers, divided by ','"),
        (("--cut", "nan"), "--cut is 'nan'; allowed are finite numbers"),
        (("--predict", "loss=absolute,price=1,values=1"), "values is 1, .* allowed are 2 to 20"),
        (("--predict", "loss=absolute,price=1", "--errors", "missed=3"), "the errors are none"),
        (("--predict", "loss=absolute,price=1", "--label", "sex"), "no number that value"),
        (("--predict", "loss=absolute,price=1,values=3/3.0000001"), "are 3, 3; they must ascend"),
        (("--predict", "loss=absolute,price=-2"), "'price' is -2.0; allowed are values above 0"),
        (("--cut", "5", "--positive", "below 5"), "positive is 'below 5', and the label is a num"),
    ):
        with pytest.raises(FrugalError, match=sentence):
            init(tmp_path, *words)
    for words, label in (
        (("--cut", "5"), [{"name": "below 5", "below": 5}, {"name": "from 5", "from": 5}]),
        (("--cut", "5,3"), {"name": "3 to 5", "from": 3, "below": 5}),
        (("--predict", "loss=squared,price=2,unit=days,values=6/3"), [3, 6]),
        (("--predict", "loss=absolute,price=2,values=2"), [2, 6.214]),  # medians of the halves
    ):
        out.unlink(missing_ok=True)
        made = yaml.safe_load(init(tmp_path, *words))["label"]
        classes = made.get("classes") or made["predict"]["values"]
        assert label in (classes, classes[1])
        if words[1] != "5,3":
            values_of(priced(tmp_path))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PK\x03\x04 more", r"packed by zip: unpack it first .*an Excel file is named \.xlsx"),
        (b"BZh9 more", "packed by bzip2"),
        (b"", "has 0 lines"),
        (b"\x00\x01\x02\x00\x00\x00\x03" * 9, "is no text; allowed are CSV"),
    ],
)
def test_what_is_no_text_is_refused_with_what_to_do(tmp_path, content, words):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=words):
        init(tmp_path)


def test_a_table_without_a_feature_is_refused(tmp_path):
    visits()[["case_id", "row", "ill"]].to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=r"no column could be a feature \(case_id: names that"):
        init(tmp_path)


def test_the_example_is_read_as_it_is_described(tmp_path):
    shutil.copy(ROOT / "docs/examples/clinic.csv", tmp_path / "t.csv")
    assert init_command([str(tmp_path / "t.csv"), "--label", "pneumonia"]) == 0
    found = values_of(priced(tmp_path))
    wanted = values_of(ROOT / "docs/examples/clinic.yaml")
    for column, values in wanted.items():
        np.testing.assert_array_equal(found[column], values, err_msg=column)


@pytest.mark.parametrize(("installed", "ends"), [(True, "decide --config"), (False, 'summary())"')])
def test_the_next_command_is_one_that_can_be_run(tmp_path, monkeypatch, capsys, installed, ends):
    monkeypatch.setattr("frugal.run.init_command.find_spec", lambda _: installed or None)
    shutil.copy(ROOT / "docs/examples/clinic.csv", tmp_path / "t.csv")
    assert init_command([str(tmp_path / "t.csv"), "--label", "pneumonia"]) == 0
    assert ends in capsys.readouterr().out.splitlines()[-1]


def test_a_name_that_is_reserved_is_changed(tmp_path):
    visits().rename(columns={"age": "part", "lab_crp": "label"}).to_csv(
        tmp_path / "t.csv", index=False
    )
    init(tmp_path)
    assert {"part_", "label_"} <= set(values_of(priced(tmp_path)))


def test_a_wrong_label_leaves_no_file_behind(tmp_path):
    visits().to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="no column 'sick'"):
        init_command([str(tmp_path / "t.parquet"), "--label", "sick"])
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_a_broken_file_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(DataError, match=r"t\.parquet cannot be read as parquet: "):
        init(tmp_path, name="t.parquet")


def test_nothing_is_overwritten(tmp_path):
    visits().to_csv(tmp_path / "t.csv", index=False)
    init(tmp_path)
    with pytest.raises(DataError, match=r"t\.yaml is there already, and is not overwritten"):
        init(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.rename(columns={"ill": "il"}), r"no column 'ill' .* did you mean 'il'\?"),
        (lambda t: t.assign(ill="no"), r"'ill' holds 'no' alone; a label needs two classes"),
        (lambda t: t.assign(ill=[f"k{k}" for k in range(N)]), "60 different values.*put them tog"),
        (lambda t: t.head(0), r"has 1 lines; a table has a head and rows"),
        (lambda t: t[["ill"]], r"no separator among comma"),
    ],
)
def test_what_is_no_table_with_a_label_is_refused_in_a_sentence(tmp_path, change, words):
    change(visits()).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=words):
        init(tmp_path)
    assert not (tmp_path / "t.yaml").exists()


def test_text_among_numbers_is_stated_with_what_to_do(tmp_path, capsys):
    table = visits().astype({"age": object})
    table.loc[3, "age"] = "old"
    table.to_csv(tmp_path / "t.csv", index=False)
    init(tmp_path)
    said = capsys.readouterr().out
    assert "look: age: holds text among its numbers ('old', in 2% of its rows); add it to" in said
    with pytest.raises(DataError, match=r"line 5: .*'age'.*'old'"):
        values_of(priced(tmp_path))


def test_rows_without_a_label_are_reported():
    """A line of totals below a sheet, say."""
    cells = pd.DataFrame({"age": [str(20 + k % 50) for k in range(60)], "ill": ["y", "n"] * 30})
    cells.loc[60] = ["1320", ""]
    guess = guess_table(cells, "ill")
    assert "1 of 61 rows have no value of 'ill' and are left out (drop_rows)" in guess.remarks


def test_what_nearly_states_the_label_is_suspected_and_a_strong_feature_is_not():
    rng = np.random.default_rng(0)
    label = pd.Series(rng.random(2000) < 0.3)
    week = pd.Series(np.where(label, rng.integers(1, 52, 2000), 52))  # until an event, or the end
    week[:20] = 52
    days = pd.Series(np.where(label, rng.random(2000), 1 + rng.random(2000)))
    days[:20] = 1.5
    right = float((label == (week < 52)).mean())
    assert label_stated(week, label) == pytest.approx(right)
    assert 0.98 < label_stated(days, label) < 1
    assert label_stated(label.astype(float), label) == 1
    strong = label + rng.normal(scale=0.5, size=2000)  # spares half of the errors
    assert label_stated(strong, label) == label_stated(pd.Series(rng.random(2000)), label) == 0
    assert label_stated(label[:15].astype(float), label[:15]) == 0
    assert (stated_in(1.0), stated_in(0.99999), stated_in(0.974)) == ("all", "99.9%", "97.4%")


STATED = ("--free", "age,sex", "--panel", "lab=lab_crp,lab_pct", "--panel")
STATED += ("rest=sofa,discharged_to", "--errors", "missed=900,false_alarm=120", "--unit", "CHF")


@pytest.mark.parametrize(
    "prices", ["lab=12,rest=0", "panel,price\nlab,12\nrest,0\n", "lab;12,0\nrest;0\n"]
)
def test_with_all_prices_stated_no_yaml_needs_to_be_edited(tmp_path, capsys, prices):
    visits().to_csv(tmp_path / "t.csv", index=False)
    if "\n" in prices:
        (tmp_path / "prices.csv").write_text(prices, encoding="utf-8-sig")
        prices = str(tmp_path / "prices.csv")
    text = init(tmp_path, *STATED, "--prices", prices)
    described = load_description(tmp_path / "t.yaml")
    assert {p.name: (p.free, p.cost) for p in described.panels} == {
        "known at the start": (True, 0),
        "lab": (False, 12),
        "rest": (False, 0),
    }
    assert yaml.safe_load(text)["misclassification_cost"] == [[0, 120], [900, 0]]
    assert described.cost_unit == "CHF"
    said = capsys.readouterr().out
    assert "null" not in said
    assert "Every price is filled in" in said


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("--prices", "lab_crpp=1"), r"--prices names 'lab_crpp'; .* did you mean 'lab_crp'"),
        (("--prices", "lab_crp=-1"), r"--prices: 'lab_crp' has '-1'; allowed are numbers from 0"),
        (("--prices", "lab_crp=1,lab_crp=2"), "'lab_crp' has two numbers"),
        (("--prices", "none.csv"), "--prices is 'none.csv'; allowed is a CSV of names and num"),
        (("--errors", "mised=1"), r"--errors names 'mised'; .* did you mean 'missed'"),
        (("--panel", "a=age,row"), r"--panel names 'row', which is left out \(numbers the rows\)"),
        (("--panel", "a=age", "--panel", "b=age"), "--panel: 'age' is in two panels"),
        (("--free", "age", "--prices", "age=1"), "--prices names 'age'; the panels with a price"),
        (("--positive", "perhaps"), "positive is 'perhaps'; allowed is one of two classes"),
        (("--prices", "lab_crp=1_0"), "'lab_crp' has '1_0'; allowed are numbers from 0 on"),
        (("--prices", f"{'x' * 300}=1"), "--prices names 'xxx"),
        (("--panel", "=age"), "--panel is '=age'; allowed is NAME=COLUMN"),
        (("--hours", "8"), "--hours goes with --units"),
        (("--units", "t.csv", "--by-prefix"), "--by-prefix does not go with --units"),
    ],
)
def test_what_is_stated_of_nothing_is_refused(tmp_path, words, refusal):
    visits().to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=refusal):
        init(tmp_path, *words)
    assert not (tmp_path / "t.yaml").exists()


def test_at_a_terminal_what_is_missing_is_requested(tmp_path, monkeypatch, capsys):
    visits()[["age", "sex", "lab_crp", "ill"]].to_csv(tmp_path / "t.csv", index=False)
    asked, typed = [], iter(["free", "cheap", "3", "", "900"])

    def answer(question: str) -> str:
        asked.append(question)
        if (text := next(typed, None)) is None:
            raise EOFError
        return text

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", answer)
    document = yaml.safe_load(init(tmp_path))
    assert [(one["name"], one.get("cost")) for one in document["panels"]] == [
        ("known at the start", None),
        ("sex", 3),
        ("lab_crp", None),
    ]
    assert document["misclassification_cost"] == [[0, None], [900, 0]]  # the input ended
    assert asked[0] == "Price of age in EUR, or free: "
    assert asked[-1].startswith("Cost in EUR of predicting")
    assert "'cheap' is no number from 0 on" in capsys.readouterr().out


def test_groups_of_one_prefix_keep_all_their_columns(tmp_path):
    rng = np.random.default_rng(0)
    gaps, table = rng.random((2, N)) < 0.4, {"ill": np.where(np.arange(N) % 3, "no", "yes")}
    for k, name in enumerate(("lab_a", "lab_b", "lab_c", "lab_d")):
        table[name] = np.where(gaps[k // 2], np.nan, rng.normal(0, 1, N))
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    panels = yaml.safe_load(init(tmp_path))["panels"]
    assert [one["columns"] for one in panels] == [["lab_a", "lab_b"], ["lab_c", "lab_d"]]


def test_rows_without_a_label_are_kept_and_read_where_they_are_weighted(tmp_path, capsys):
    table = visits()
    table.loc[:3, "ill"] = ""
    table.loc[0, "sex"] = "x"  # a level of a row without a label
    table.to_csv(tmp_path / "t.csv", index=False)
    document = yaml.safe_load(init(tmp_path, "--unlabelled", "weigh"))
    assert document["drop_rows"] == []
    assert document["label"]["unlabelled"] == "weigh"
    assert "4 of 60 rows have no value of 'ill' and are kept" in capsys.readouterr().out
    read = prepare(load_description(priced(tmp_path)), {"t.csv": tmp_path / "t.csv"}, 0).table
    assert (read.label < 0).tolist() == [True] * 4 + [False] * 56
