"""Records over time are read from long tables and from stays, and judged from Python."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import frugal
import numpy as np
import pandas as pd
import pytest
import yaml
from frugal.core.errors import ConfigError, DataError
from frugal.data.description import load_description
from frugal.studies.over_time.answer import TimedQuestion
from frugal.studies.over_time.data import TimedData, read_over_time, read_running, stays_over_time
from frugal.studies.over_time.history_fits import TimedFit, cases_over_time
from frugal.studies.over_time.order_support import OrderSupport
from frugal.studies.over_time.orders import follow, plan_of
from frugal.studies.over_time.verbs import _written

from tests.unit.stay_files import archive, stay_text
from tests.workflow.runs import ROOT

EXAMPLES = ROOT / "docs" / "examples"
WARDS = EXAMPLES / "wards.yaml"


def written(folder: Path, measurements: str, units: str, **changed) -> Path:
    """A description with its two files; keys are changed by their path, such as `units__end`."""
    document = yaml.safe_load(WARDS.read_text(encoding="utf-8"))
    for key, value in changed.items():
        *parents, last = key.split("__")
        block = document
        for parent in parents:
            block = block[parent]
        block[last] = value
    (folder / "wards.csv").write_text(measurements, encoding="utf-8")
    (folder / "wards_units.csv").write_text(units, encoding="utf-8")
    path = folder / "wards.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


ROWS = "stay,item,ordered,result,value\n"
ONE = ROWS + "a,lactate,1,2,3\n"
UNITS = "stay,age,ward,died\na,50,medical,no\nb,,surgical,yes\n"


def test_the_example_is_read_as_a_loop_over_its_rows_reads_it():
    records = read_over_time(WARDS).records
    with (EXAMPLES / "wards_units.csv").open(encoding="utf-8") as file:
        units = list(csv.DictReader(file))
    with (EXAMPLES / "wards.csv").open(encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: float(row["ordered"]))
    expected = np.full((len(units), 3, 2), np.nan)
    place = {unit["stay"]: k for k, unit in enumerate(units)}
    for row in rows:
        column = ("creatinine", "lactate").index(row["item"])
        expected[place[row["stay"]], int(float(row["ordered"]) // 8), column] = float(row["value"])
    np.testing.assert_array_equal(records.values, expected)
    np.testing.assert_array_equal(records.recorded, ~np.isnan(expected))
    assert [records.classes[k] for k in records.label] == [unit["died"] for unit in units]
    assert records.static_columns == ("age", "ward: surgical")
    np.testing.assert_array_equal(records.static[:, 0], [float(unit["age"]) for unit in units])


def test_parquet_gives_the_same_records(tmp_path):
    document = yaml.safe_load(WARDS.read_text(encoding="utf-8"))
    for block in ("measurements", "units"):
        name = document[block]["file"]
        pd.read_csv(EXAMPLES / name).to_parquet(tmp_path / Path(name).with_suffix(".parquet"))
        document[block]["file"] = str(Path(name).with_suffix(".parquet"))
    (tmp_path / "wards.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    mine, theirs = read_over_time(tmp_path / "wards.yaml").records, read_over_time(WARDS).records
    np.testing.assert_array_equal(mine.values, theirs.values)
    np.testing.assert_array_equal(mine.label, theirs.label)


def test_rows_outside_are_counted_and_the_latest_value_of_a_window_counts(tmp_path):
    rows = "a,lactate,1,2,3\na,lactate,0.5,2,9\na,lactate,9,10,50\na,lactate,-1,0,3\n"
    rows += "a,lactate,24,25,3\nb,creatinine,9,10,1\nb,creatinine,1,2,\n"
    units = UNITS.replace("died", "end,died").replace("cal,", "cal,7,")
    data = read_over_time(written(tmp_path, ROWS + rows, units, units__end="end"))
    records = data.records
    assert records.end.tolist() == [1, 1]
    assert records.values[0, 0].tolist()[1] == 3.0
    assert records.recorded.sum() == 1  # a result without a value is none
    assert data.remarks == (
        "1 of 6 values were recorded before the start and are left out",
        "1 of 6 values were recorded after the last window and are left out",
        "2 of 6 values were recorded after the end of their unit and are left out",
    )


def test_a_value_out_of_range_leaves_its_panel_recorded(tmp_path):
    data = read_over_time(written(tmp_path, ROWS + "a,lactate,1,2,99\n", UNITS))
    assert data.records.recorded[0, 0].tolist() == [False, True]
    assert np.isnan(data.records.values).all()
    lacking = "wards.csv: no row has the item 'creatinine'"
    outside = "1 values lie outside the valid range and count as missing"
    assert data.remarks == (lacking, outside)
    rows = "a,lactate,1,2,3\na,lactate,3,4,99\n"  # it hides no valid one of its window
    data = read_over_time(written(tmp_path, ROWS + rows, UNITS))
    assert data.records.values[0, 0, 1] == 3
    assert data.remarks == (lacking, outside)


def shuffled(text: str, seed: int) -> str:
    """A CSV with its rows in another order."""
    head, *rows = text.splitlines()
    order = np.random.default_rng(seed).permutation(len(rows))
    return "\n".join([head, *(rows[k] for k in order)]) + "\n"


@pytest.mark.parametrize("clustered", [False, True])
def test_the_order_of_rows_in_either_file_changes_nothing(tmp_path, clustered):
    """Also with two values of one item at one time, and units whose names are numbers."""
    rows = (EXAMPLES / "wards.csv").read_text(encoding="utf-8").replace("s0", "")
    units = (EXAMPLES / "wards_units.csv").read_text(encoding="utf-8").replace("s0", "")
    rows += "".join(row.rpartition(",")[0] + ",1.07\n" for row in rows.splitlines()[1:40])
    changed = {"units__cluster": "age"} if clustered else {}
    seen = []
    for seed in (0, 1):
        (folder := tmp_path / str(seed)).mkdir()
        path = written(folder, shuffled(rows, seed), shuffled(units, seed + 9), **changed)
        if clustered:
            path.write_text(
                path.read_text().replace("[age, ward]", "[ward]").replace("- age\n", "")
            )
        data = frugal.load_over_time(path)
        answer = frugal.over_time(data, fold_draws=1)
        seen.append((data, answer))
    (data, answer), (other, again) = seen
    for name, array in data.to_arrays()[0].items():
        np.testing.assert_array_equal(array, other.to_arrays()[0][name], err_msg=name)
    assert data.to_arrays()[1]["units"] == other.to_arrays()[1]["units"]
    assert data.remarks == other.remarks
    pd.testing.assert_frame_equal(answer.outcomes, again.outcomes, check_exact=True)
    assert answer.summary() == again.summary()
    assert answer.page.read_bytes() == again.page.read_bytes()
    assert any("the mean counts" in remark for remark in data.remarks)


def test_times_may_be_dates_and_delays_follow_from_results(tmp_path):
    rows = "a,lactate,2024-03-01 09:00,2024-03-01 20:00,3\n"
    rows += "b,creatinine,2024-03-02 00:30,2024-03-02 01:00,1\n"
    units = UNITS.replace("died", "admitted,died")
    units = units.replace("medical,", "medical,2024-03-01 08:00,")
    units = units.replace("surgical,", "surgical,2024-03-01 12:00,")
    data = read_over_time(written(tmp_path, ROWS + rows, units, units__start="admitted"))
    assert np.argwhere(data.records.recorded).tolist() == [[0, 0, 1], [1, 1, 0]]
    assert data.costs.delay is not None
    assert data.costs.delay.tolist() == [0, 1]  # lactate: ordered in window 0, known in window 1


def test_an_hour_on_the_border_of_windows_belongs_to_the_later_one(tmp_path):
    """Also where hours come from dates, or windows are tenths of an hour."""
    starts = [f"2024-03-30 {hour:02d}:00" for hour in range(24)]
    names = [f"u{k}" for k in range(24)]
    units = "stay,admitted,died\n" + "".join(
        f"{name},{start},no\n" for name, start in zip(names, starts, strict=True)
    )
    later = [str(pd.Timestamp(start) + pd.Timedelta(hours=8)) for start in starts]
    rows = "".join(f"{n},lactate,{at},{at},3\n" for n, at in zip(names, later, strict=True))
    path = written(tmp_path, ROWS + rows, units, units__start="admitted", units__static=[])
    assert read_over_time(path).records.recorded[:, :, 1].tolist() == [[False, True, False]] * 24
    tenths = "".join(f"a,lactate,{k / 10},{k / 10},3\n" for k in range(30))
    windows = {"hours": 0.1, "number": 30}
    path = written(tmp_path, ROWS + tenths, UNITS, windows=windows, plans={})
    assert read_over_time(path).records.recorded[0, :, 1].all()


def test_values_after_the_end_of_a_unit_are_left_out_within_its_window(tmp_path):
    rows = ROWS + "a,lactate,1,2,3\na,creatinine,7.5,8,1\n"
    units = UNITS.replace("died", "end,died").replace("cal,", "cal,7,")
    data = read_over_time(written(tmp_path, rows, units, units__end="end"))
    assert data.records.recorded[0, 0].tolist() == [False, True]


def test_an_empty_label_is_a_censored_unit(tmp_path):
    data = read_over_time(written(tmp_path, ONE, UNITS.replace(",yes", ",")))
    assert data.records.censored.tolist() == [False, True]


NO_STATIC = {"units__static": []}
DATED = UNITS.replace("medical", "2024-03-01").replace("surgical", "2024-03-02")
REFUSED = {
    "no column": (ONE.replace("value", "val"), UNITS, {}, "has no column 'value'"),
    "unknown unit": (ROWS + "c,lactate,1,2,3\n", UNITS, {}, "line 2: unit 'c' is none of"),
    "no number": (ROWS + "a,lactate,1,2,x\n", UNITS, {}, "column 'value' holds 'x'; allowed is a"),
    "no time": (ROWS + "a,lactate,,2,3\n", UNITS, {}, "column 'ordered' holds"),
    "twice": (ONE, UNITS + "a,1,medical,no\n", {}, "line 4: unit 'a' is empty or occurs before"),
    "label": (ONE, UNITS.replace("yes", "y"), {}, "column 'died' holds 'y'; allowed are 'no'"),
    "panel": (ROWS, UNITS, {"panels__lactate__columns": ["ph"]}, "names 'ph'; columns are"),
    "two panels": (ROWS, UNITS, {"panels__lactate__columns": ["creatinine"]}, "occurs twice"),
    "free errors": (
        ONE,
        UNITS,
        {"errors__missed": 0, "errors__false_alarm": 0.0},
        "errors are zero, so no acquisition could pay; state how much",
    ),
    "short windows": (
        ROWS,
        UNITS,
        {"windows__hours": 5e-324},
        "'windows.hours' is 5e-324; allowed are values from 0.001 on",
    ),
    "key": (ROWS, UNITS, {"windows__hour": 3}, "unknown key 'hour' under 'windows'"),
    "label as static": (ONE, UNITS, {"units__static": ["age", "died"]}, "names 'died', which has"),
    "static twice": (ONE, UNITS, {"units__static": ["age", "age"]}, "names 'age', which has"),
    "no cluster": (ONE, UNITS, {"units__cluster": "age", "units__static": []}, "'age' is empty"),
    "early end": (ONE, UNITS.replace("50", "-5"), {"units__end": "age", **NO_STATIC}, "before the"),
    "start is a number": (
        ONE,
        UNITS,
        {"units__start": "age", **NO_STATIC},
        "'age' holds '50'; with",
    ),
    "result before order": (ROWS + "a,lactate,3,2,3\n", UNITS, {}, "line 2: column 'result' is be"),
    "plan after its stop": (
        ONE,
        UNITS,
        {"plans__nothing": {"at": [{"windows": [1], "panels": ["lactate"]}], "stop": 1}},
        "plans.nothing orders in window 1, and decides before window 1",
    ),
    "one file has zones": (
        ROWS + "a,lactate,2024-03-01T09:00Z,2024-03-01T10:00Z,3\n",
        DATED,
        {"units__start": "ward", **NO_STATIC},
        "column 'ordered' has a zone, and column 'ward' of the units has none",
    ),
    "order is a number": (ONE, DATED, {"units__start": "ward", **NO_STATIC}, "'ordered' holds '1'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_mistakes_are_refused_in_a_sentence(tmp_path, case):
    measurements, units, changed, sentence = REFUSED[case]
    with pytest.raises((ConfigError, DataError)) as refusal:
        read_over_time(written(tmp_path, measurements, units, **changed))
    assert sentence in str(refusal.value)


def test_stays_are_read_with_the_panels_of_their_data_set(tmp_path):
    stays = {
        "set/1.txt": stay_text(1, ["00:00,Age,60", "00:00,Gender,1", "01:00,Na,140", "08:00,pH,0"]),
        "set/2.txt": stay_text(2, ["00:00,Age,-1", "07:00,Lactate,3", "11:59,Lactate,4"]),
    }
    archive(tmp_path / "set-a.tar.gz", stays)
    (tmp_path / "Outcomes-a.txt").write_text("RecordID,In-hospital_death\n2,1\n1,0\n")
    path = ROOT / "config" / "datasets" / "physionet2012_death.yaml"
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    files = document["source"]["files"]
    document["source"]["files"] = [f for f in files if "-a." in f["name"]]
    (tmp_path / "stays.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    description = load_description(tmp_path / "stays.yaml")
    paths = {f.name: tmp_path / Path(f.name).name for f in description.source.files}
    data = stays_over_time(description, paths, hours=6, static=("age", "sex"))
    records = data.records
    assert np.argwhere(records.recorded).tolist() == [[0, 0, 0], [0, 1, 2], [1, 1, 3]]
    assert records.values[1, 1, records.columns.index("lactate")] == 4
    assert records.label.tolist() == [0, 1]
    np.testing.assert_array_equal(records.static, [[60, 1], [np.nan, np.nan]])
    assert data.costs.price.tolist() == [36, 26, 473, 52, 37, 56, 20]
    stored = _written(data, tmp_path)
    text = yaml.safe_dump(stored.document, sort_keys=False)
    (tmp_path / "long.yaml").write_text(text, encoding="utf-8")
    again = read_over_time(tmp_path / "long.yaml")
    for name, array in data.to_arrays()[0].items():
        np.testing.assert_array_equal(again.to_arrays()[0][name], array)
    assert again.costs.price.tolist() == data.costs.price.tolist()
    assert {p.stem for p in tmp_path.glob("*.parquet")} == {data.name, f"{data.name}_units"}
    _written(data, tmp_path)
    with pytest.raises(ConfigError, match="holds other stays; allowed is a folder of its own"):
        _written(stays_over_time(description, paths, hours=12, static=("age", "sex")), tmp_path)
    with pytest.raises(ConfigError, match="has no column 'ag'"):
        stays_over_time(description, paths, hours=6, static=("ag",))


def test_the_tutorial_prints_the_answer_that_its_page_has(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "tutorials" / "over_time.md").read_text(encoding="utf-8")
    code, printed = re.findall(r"```(?:python)?\n(.*?)```", page, re.DOTALL)
    names: dict = {}
    exec(code, names)
    assert capsys.readouterr().out.startswith(printed)
    answer, data = names["answer"], names["data"]
    rows = answer.outcomes.set_index("policy")
    assert rows.loc["nothing", "contained"] == len(data.records)
    np.testing.assert_allclose(rows["cost"], rows["acquisition"] + rows["errors"], rtol=1e-9)
    spent = data.costs.acquisition(data.records.recorded, data.records.end).mean()
    assert rows.loc["recorded practice", "acquisition"] == pytest.approx(spent, rel=1e-9)
    by = answer.estimates.set_index(["policy", "estimator"])["cost"]
    assert by["nothing", "blocking"] == pytest.approx(by["nothing", "semi_offline_doubly_robust"])


def test_the_page_shows_each_window_of_a_unit_as_a_loop_over_its_rows_does():
    answer = frugal.over_time(frugal.load_over_time(WARDS), fold_draws=1)
    assert answer.named == "lactate while above 2"
    with (EXAMPLES / "wards.csv").open(encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: float(row["ordered"]))
    value = {(r["stay"], int(float(r["ordered"]) // 8), r["item"]): float(r["value"]) for r in rows}
    page = answer.page.read_text(encoding="utf-8")
    units = re.findall(r"<summary>(\w+), .*?outcome: (\w+), (\w+).*?</summary>(.*?)</det", page)
    assert (len(units), len({unit[1:3] for unit in units})) == (6, 4)  # outcome × followed
    for stay, outcome, end, table in units:
        cells = re.findall(r"<(?:td|th scope=.row.)[^>]*>(.*?)</t[dh]>", table)
        steps = [cells[k : k + 6] for k in range(0, len(cells), 6)]
        known, last, spent = "no value yet", 3.0, 0  # ordered first whatever is known
        for window in range(3):
            hours, before, order, recorded, *costs = steps.pop(0)
            price = 20 * (last > 2)
            spent += price
            assert (hours, before) == (f"{8 * window} to {8 * window + 8}", known)
            assert order.split(";")[0] == ("lactate" if price else "nothing")
            assert costs == [str(price), str(spent)]
            chemistry, lactate = (value.get((stay, window, k)) for k in ("creatinine", "lactate"))
            both = " + ".join(["chemistry"] * bool(chemistry) + ["lactate"] * bool(lactate))
            lacks = price > 0 and lactate is None
            assert recorded == (both or "nothing") + "; lacks lactate" * lacks
            if lacks:
                break
            if price:
                last, age = value[stay, window, "lactate"], 0
            age += 1
            known = f"lactate {last:.4g} ({age} window{'s' * (age > 1)} ago)"
        if end == "decision":
            hours, before, order, recorded, *costs = steps.pop(0)
            right = order == f"decision: {outcome}; all windows are over"
            error = 0 if right else {"no": 500, "yes": 2000}[outcome]
            assert (hours, before, recorded) == ("24", known, f"outcome: {outcome}")
            assert costs == [f"{error:,}", f"{spent + error:,}"]
        assert not steps


def test_needed_panels_leave_the_records_that_hold_them_and_cost_nothing(tmp_path):
    texts = [(EXAMPLES / name).read_text("utf-8") for name in ("wards.csv", "wards_units.csv")]
    entry = {"windows": [0], "panels": ["lactate"]}
    data = frugal.load_over_time(written(tmp_path, *texts, needed=[entry]))
    held = int(data.records.recorded[:, 0, 1].sum())
    rows = frugal.over_time(data, seed=0, fold_draws=1).outcomes.set_index("policy")
    assert rows.loc["nothing", "contained"] == held
    assert rows.loc["nothing", "acquisition"] == pytest.approx(0, abs=1e-9)
    assert rows.loc["recorded practice", "contained"] == len(data.records)
    stored = TimedData.from_arrays(*data.to_arrays())
    np.testing.assert_array_equal(stored.records.needed, data.records.needed)


def test_more_draws_of_folds_move_costs_less():
    """Of five seeds: the standard deviation of five draws is 0.45 to 0.65 of one (by theory)."""
    data = frugal.load_over_time(WARDS)
    data = replace(data, records=data.records.take(np.arange(300)))
    spread = {}
    for draws in (1, 5):
        costs = [
            frugal.over_time(data, seed=seed, fold_draws=draws).outcomes["cost"]
            for seed in range(5)
        ]
        spread[draws] = np.std(costs, axis=0).mean()
    assert spread[5] < 0.75 * spread[1]


def test_expected_costs_lie_within_those_of_records():
    """A draw of folds in which ridge extrapolated to 15,000, of costs up to 2,060."""
    data = frugal.load_over_time(WARDS)
    plans = [plan_of(data.records, name, entry) for name, entry in data.keys.plans.items()]
    question = TimedQuestion(data, plans, TimedFit("linear"), 0)
    rng, fold = question.generator(34)
    paths = question.follow([*plans, None])
    cases = cases_over_time(data.records, data.costs, paths, question.fit, rng, fold=fold)
    for case in cases:
        assert np.nanmax(case.expected[:, :, 0]) <= np.nanmax(case.outcome[case.complete, 0])


@pytest.mark.parametrize("method", ["boosting", "linear"])
def test_a_plan_that_no_record_contains_is_not_judged(tmp_path, method):
    """Each stay lacks one of the windows, so no stay has every panel in each of them."""
    head, *lines = (EXAMPLES / "wards.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    kept = []
    for line in lines:
        stay, _, ordered, *_ = line.split(",")
        if int(stay[1:]) % 3 != float(ordered) // 8:
            kept.append(line)
    units = (EXAMPLES / "wards_units.csv").read_text(encoding="utf-8")
    data = frugal.load_over_time(written(tmp_path, "".join([head, *kept]), units))
    both = ["chemistry", "lactate"]
    plans = [frugal.order_plan(data, "each", dict.fromkeys(range(3), both))]
    plans.append(frugal.order_plan(data, "once", {0: both}))
    answer = frugal.over_time(data, plans, method=method, folds=2, seed=1)
    reason = "no record contains the panels that it orders"
    assert answer.outcomes.set_index("policy").loc["each", "reason"] == reason
    assert f"Not evaluated: each ({reason})" in answer.summary()
    assert "each" not in set(answer.estimates["policy"])


def test_a_policy_that_few_records_contain_is_reported_and_not_named(tmp_path):
    files = []
    for name in ("wards.csv", "wards_units.csv"):
        lines = (EXAMPLES / name).read_text(encoding="utf-8").splitlines(keepends=True)
        files.append("".join(line for line in lines if line[:2] in ("st", "s0", "s1")))
    data = frugal.load_over_time(written(tmp_path, *files))
    both = ["chemistry", "lactate"]
    plans = [
        frugal.order_plan(data, "once", {0: both}),
        frugal.order_plan(data, "everything", dict.fromkeys(range(3), both)),
    ]
    answer = frugal.over_time(data, plans, method="boosting", folds=2, seed=1)
    rows = answer.outcomes.set_index("policy")
    assert "effective records; 30 are needed" in str(rows.loc["everything", "reason"])
    summary = answer.summary()
    assert summary.startswith("Of the policies once costs least, and recorded practice less: 301")
    assert "Not evaluated: everything (" in summary
    assert answer.support["contained"].le(answer.support["at_risk"]).all()
    with pytest.raises(ConfigError, match="each with a name of its own"):
        frugal.over_time(data, [plans[0], plans[0]])
    with pytest.raises(ConfigError, match=r"unknown key 'over' under 'again\[0\]'; allowed are"):
        frugal.order_plan(data, "p", again=[{"panels": ["lactate"], "over": 2}])
    with pytest.raises(ConfigError, match="length of a window and the folder"):
        frugal.load_over_time(ROOT / "config" / "datasets" / "physionet2012_death.yaml")


def test_what_cannot_be_judged_at_all_is_refused_in_a_sentence(tmp_path):
    texts = [(EXAMPLES / name).read_text("utf-8") for name in ("wards.csv", "wards_units.csv")]
    path = written(tmp_path, *texts, columns__lactate__item="lactat")
    with pytest.raises(DataError, match="panel 'lactate' is recorded in no unit; check the items"):
        frugal.over_time(frugal.load_over_time(path))
    path = written(tmp_path, texts[0], texts[1].replace(",yes", ",no"))
    with pytest.raises(DataError, match="all units have the same label of 'no' and 'yes'"):
        frugal.over_time(frugal.load_over_time(path))


CROWD = "stay,age,ward,died\n" + "".join(
    f"u{k},{30 + k},{('medical', 'surgical')[k % 2]},{('no', 'yes')[k % 3 == 0]}\n"
    for k in range(24)
)
TWICE = ROWS + "".join(f"u{k},{('creatinine', 'lactate')[k % 2]},1,2,{k}.5\n" for k in range(24))


@pytest.mark.parametrize(
    "item",
    ["Creatinine", "CREATININE", " creatinine ", "creatinine", "créatinine", "Cre\u0301atinine"],
)
def test_an_item_in_another_spelling_is_refused(tmp_path, item):
    rows = TWICE.replace("u2,creatinine", f"u2,{item}")
    path = written(tmp_path, rows, CROWD)
    if item.strip() == "creatinine":
        assert read_over_time(path).remarks == ()
        return
    with pytest.raises(DataError, match=r"csv, line 4: column 'item' holds .* 'creatinine' by"):
        read_over_time(path)
    with pytest.raises(DataError, match="write an item always in the same way"):
        read_over_time(written(tmp_path, TWICE.replace("creatinine", item), CROWD))
    data = read_over_time(written(tmp_path, TWICE, CROWD))
    (tmp_path / "now.csv").write_text(rows)
    with pytest.raises(DataError, match="write an item always in the same way"):
        read_running(data.keys, (tmp_path / "now.csv", tmp_path / "wards_units.csv"), data.levels)


@pytest.mark.parametrize(
    ("item", "hint"), [("creatinin", "; did you mean 'creatinine'?"), ("ph", "")]
)
def test_an_item_that_never_occurs_is_remarked(tmp_path, item, hint):
    path = written(tmp_path, TWICE, CROWD, columns__creatinine={"item": item})
    assert read_over_time(path).remarks == (f"wards.csv: no row has the item {item!r}{hint}",)


@pytest.mark.parametrize("word", ["NA", "", "?", "None", "-", "null", "NaN", "<NA>", "n.a.", "."])
@pytest.mark.parametrize("column", ["cluster", "stay"])
def test_a_word_for_no_value_names_no_cluster_and_no_unit(tmp_path, word, column):
    lines = CROWD.replace("stay,", "whose,stay,").replace("\nu", "\np,u").splitlines()
    old = "p,u4," if column == "cluster" else ",u4,"
    lines[5] = lines[5].replace(old, f"{word},u4," if column == "cluster" else f",{word},")
    path = written(tmp_path, TWICE, "\n".join(lines) + "\n", units__cluster="whose")
    name = "whose" if column == "cluster" else "stay"
    with pytest.raises(DataError, match=f"line 6: column '{name}' (is empty|holds .* no value)"):
        read_over_time(path)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (",34,", ",old,", "column 'age' holds 'old'; allowed is a number"),
        (",34,", ",34 years,", "column 'age' holds '34 years'; allowed is a number, or nothing"),
        (",34,", ",3 4,", "column 'age' holds '3 4'; allowed is a number, or nothing"),
        (",34,", ",NA,", np.nan),
        (",34,", ",,", np.nan),
        (",34,", ",?,", np.nan),
        (",34,", ",<34,", 17.0),
        (",34,", ",> 90,", 90.0),
        (",34,", ",34.0,", 34.0),
    ],
)
def test_a_word_among_numbers_of_a_static_column_makes_no_levels(tmp_path, old, new, expected):
    path = written(tmp_path, TWICE, CROWD.replace(old, new))
    if isinstance(expected, str):
        with pytest.raises(DataError, match=f"line 6: {expected}"):
            read_over_time(path)
        return
    data = read_over_time(path)
    assert data.records.static_columns[0] == "age"
    place = sorted(f"u{k}" for k in range(24)).index("u4")  # by name, in any file's order
    np.testing.assert_equal(data.records.static[place, 0], expected)
    assert bool(data.remarks) == (new in (",NA,", ",?,", ",<34,", ",> 90,"))


def test_spellings_of_levels_are_one_level_and_remarked(tmp_path):
    units = CROWD.replace("u2,32,medical", "u2,32,Medical").replace(
        "u5,35,surgical", "u5,35,SURGICAL"
    )
    units = units.replace("u1,31,surgical,no", "u1,31,surgical,NO").replace(",yes\nu4", ",TRUE\nu4")
    plain = read_over_time(written(tmp_path, TWICE, CROWD))
    data = read_over_time(written(tmp_path, TWICE, units))
    assert data.levels == {"ward": ("medical", "surgical")}
    np.testing.assert_array_equal(data.records.static, plain.records.static)
    np.testing.assert_array_equal(data.records.label, plain.records.label)
    assert [remark.partition(" ")[2] for remark in data.remarks] == [
        f"ward: {pair} are taken for one value"
        for pair in ("'medical' and 'Medical'", "'surgical' and 'SURGICAL'")
    ]
    (tmp_path / "now.csv").write_text(units)
    running = read_running(data.keys, (tmp_path / "wards.csv", tmp_path / "now.csv"), data.levels)
    by_name = np.argsort([f"u{k}" for k in range(24)])
    np.testing.assert_array_equal(running[0].static[by_name], plain.records.static)


@pytest.mark.parametrize(
    ("values", "expected", "differing"),
    [
        ([("1", "2", "3"), ("1", "2", "5")], 4.0, 2),
        ([("1", "2", "3"), ("1", "2", "3")], 3.0, 0),
        ([("1", "2", "3"), ("1", "2", "99")], 3.0, 1),  # beyond the valid range
        ([("1", "2", "3"), ("1", "4", "5")], 5.0, 0),  # a later result corrects
        ([("1", "2", "3"), ("1.5", "2", "5")], 5.0, 0),
        ([("1", "2", "2"), ("1", "2", "3"), ("1", "2", "7")], 4.0, 3),
        ([("1", "2", "1"), ("1", "2", "3"), ("2", "3", "7")], 7.0, 2),
    ],
)
def test_of_several_values_at_one_time_the_mean_counts_whatever_their_order(
    tmp_path, values, expected, differing
):
    for order in (values, values[::-1]):
        rows = "".join(f"a,lactate,{','.join(row)}\n" for row in order) + "b,creatinine,1,2,1\n"
        data = read_over_time(written(tmp_path, ROWS + rows, UNITS))
        assert data.records.values[0, 0, 1] == expected
        remarks = [text for text in data.remarks if "the mean counts" in text]
        assert len(remarks) == bool(differing)
        assert not differing or remarks[0].startswith(f"{differing} values differ")


ORDERING = ["both once", "lactate while above 2"]  # plans of the example that order lactate


@pytest.fixture(scope="module")
def medical_without_lactate(tmp_path_factory):
    """The example, where no medical stay has a lactate."""
    units = pd.read_csv(EXAMPLES / "wards_units.csv", dtype=str)
    rows = pd.read_csv(EXAMPLES / "wards.csv", dtype=str)
    medical = rows["stay"].isin(units["stay"][units["ward"] == "medical"])
    rows = rows[~(medical & (rows["item"] == "lactate"))]
    texts = (rows.to_csv(index=False), units.to_csv(index=False))
    return frugal.load_over_time(written(tmp_path_factory.mktemp("medical"), *texts))


def test_a_plan_that_orders_what_a_stratum_never_holds_is_not_judged_there(
    medical_without_lactate, tmp_path
):
    data = medical_without_lactate
    surgical = data.records.static[:, 1] == 1
    answer = frugal.over_time(data, fold_draws=1, learned=True)
    rows = answer.outcomes.set_index("policy")
    first = answer.summary().splitlines()[0]
    assert f"lactate was never recorded for ward medical ({(~surgical).sum()} of 1,000): " in first
    assert "record it for about 30 of them." in first
    for name in ORDERING:
        row = rows.loc[name].to_dict()
        assert np.isnan(row["cost"])
        assert row["judged_share"] == pytest.approx(surgical.mean())
        assert row["reason"].startswith("it orders lactate where records never hold it; it can be ")
        assert f"{name} ({row['reason']})" in first
        within = rows.loc[f"{name} within support"].to_dict()
        assert np.isfinite(within["cost"])
        assert within["reason"] == ""
    assert rows["judged_share"].drop(index=ORDERING).eq(1).all()
    path = follow(data.records, answer.learned, data.costs)
    assert not path.ordered[~surgical, :, 1].any()
    files = [tmp_path / "new.csv", tmp_path / "new_units.csv"]
    files[0].write_text("stay,item,ordered,result,value\n", encoding="utf-8")
    files[1].write_text("stay,age,ward,died\nm,60,medical,\ns,60,surgical,\n", encoding="utf-8")
    advice = answer.advise(*files, hours=1, policy="both once within support")
    assert advice["next"].tolist() == ["chemistry", "chemistry + lactate"]
    assert advice["why"][0].endswith("lactate is never recorded for such units: not ordered")


def test_regions_without_records_are_stored_and_spoilt_ones_refused(medical_without_lactate):
    data = medical_without_lactate
    plans = [plan_of(data.records, name, entry) for name, entry in data.keys.plans.items()]
    question = TimedQuestion(data, plans, TimedFit("linear"), 0).within_support(learned=False)
    arrays = question.support.to_arrays()
    again = OrderSupport.from_arrays(arrays, data.records, data.levels)
    assert again.holes == question.support.holes
    assert [hole.where for hole in again.holes] == ["ward medical"]
    assert list(question.support.plans) == ORDERING
    for name, column, value in (("regions", 1, 2), ("conditions", 0, 1), ("conditions", 1, 0.5)):
        spoilt = {**arrays, name: arrays[name].copy()}
        spoilt[name][0, column] = value
        with pytest.raises(DataError, match="names a panel, region or column that does not exist"):
            OrderSupport.from_arrays(spoilt, data.records, data.levels)
