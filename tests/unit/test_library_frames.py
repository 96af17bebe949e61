"""Data frames as tables: described as `frugal init` does, with the numbers of that YAML."""

import re
import warnings
from typing import Any

import frugal
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frugal.answer.words import _orders, in_words
from frugal.config.blocks import require_plain_text
from frugal.core.errors import ConfigError, DataError
from frugal.core.schema_check import listed

from tests.workflow.runs import ROOT

N = 80
TERMS: dict[str, Any] = {
    "label": "ill",
    "prices": {"crp": 12, "film": 40.5},
    "panels": {"film": ["opacity", "fluid"]},
    "errors": {"missed": 900, "false alarm": np.int64(120)},
    "free": ["age", "sex"],
}
TREES = {key: {"boosting": {"trees": 10}} for key in ("always", "fixed", "permutation")}
SMALL: dict[str, Any] = {"afape": {"agents": TREES}}


def visits() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    crp = pd.Series(rng.normal(9, 2, N)).mask(rng.random(N) < 0.3)
    films = rng.random(N) < 0.4
    return pd.DataFrame(
        {
            "age": rng.integers(20, 90, N),
            "sex": rng.choice(["f", "m"], N),
            "crp": crp,
            "opacity": pd.Series(rng.choice(["no", "some"], N)).mask(films),
            "fluid": pd.Series(rng.integers(0, 3, N)).mask(films).astype("Int64"),
            "ill": rng.random(N) < 0.3,
        }
    )


class Polars:
    """A frame of another library, which converts itself."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def to_pandas(self) -> pd.DataFrame:
        return self.frame


class Arrow:
    """A frame of another library, which hands out Arrow."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.table = pa.Table.from_pandas(frame, preserve_index=False)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


FORMS = {
    "numpy": lambda frame: frame,
    "nullable": lambda frame: frame.convert_dtypes(),
    "arrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "category": lambda frame: frame.assign(sex=frame["sex"].astype("category")),
    "index": lambda frame: frame.set_index(np.arange(N)[::-1] * 7),
    "polars": Polars,
    "stream": Arrow,
}


@pytest.fixture(scope="module")
def table() -> frugal.Table:
    return frugal.load(visits(), **TERMS)


@pytest.mark.parametrize("form", FORMS)
def test_every_kind_of_frame_is_the_same_table(table, form):
    other = frugal.load(FORMS[form](visits()), **TERMS)
    pd.testing.assert_frame_equal(other.frame, table.frame, check_exact=True)
    assert other.catalogue == table.catalogue
    assert table.panels == {"known at the start": 0.0, "film": 40.5, "crp": 12.0}
    np.testing.assert_array_equal(table.frame["crp"], visits()["crp"])


def test_stated_columns_of_one_value_are_left_out_with_a_remark(table):
    frame = visits().assign(ward="A", kit=5.0, swab="none", fluid=1)
    frame.loc[frame["crp"].isna(), "kit"] = np.nan
    terms: dict[str, Any] = {
        **TERMS,
        "panels": {**TERMS["panels"], "kits": ["kit", "swab"]},
        "prices": {**TERMS["prices"], "kits": 3, "ward": 1},
        "free": ["age", "sex", "ward"],
    }
    left = frugal.load(frame, **terms)
    assert left.panels == table.panels  # film has its other column
    assert not {"ward", "kit", "fluid"} & set(left.frame)
    for column, value in (("ward", "A"), ("kit", 5), ("swab", "none"), ("fluid", 1)):
        assert f"left out: {column}: holds {str(value)!r} alone" in left.remarks
    with pytest.raises(DataError, match="no column could be a feature"):
        frugal.load(frame[["ward", "ill"]], label="ill", free=["ward"], errors=TERMS["errors"])
    terms["free"] = ["crp"]
    with pytest.raises(DataError, match=r"free names 'crp', which is left out \(is empty\)"):
        frugal.load(frame.assign(crp=None), **terms)


def test_the_yaml_of_a_frame_gives_its_numbers(table, tmp_path):
    written = frugal.load(table.description(tmp_path / "other.yaml"))
    pd.testing.assert_frame_equal(written.frame, table.frame, check_exact=True)
    constant = {"none": {"kind": "fixed", "panels": "none"}}
    ours, theirs = (frugal.decide(one, agents=constant) for one in (table, written))
    pd.testing.assert_frame_equal(ours.outcomes, theirs.outcomes, check_exact=True)
    assert ours.document == theirs.document
    with pytest.raises(DataError, match=r"other\.yaml is there already"):
        table.description(tmp_path / "other.yaml")
    with pytest.raises(DataError, match="was not a data frame"):
        written.description(tmp_path / "third.yaml")
    assert any("'True' is the positive class" in remark for remark in table.remarks)


def test_equal_tables_have_equal_answers_under_any_name():
    """Of policies that learn: the name seeds nothing; the workflow runs the same stages."""
    answers = [
        frugal.decide(visits(), **TERMS, name=name, config=SMALL, agents=["always", "permutation"])
        for name in ("visits", "other")
    ]
    first, second = (answer.outcomes for answer in answers)
    pd.testing.assert_frame_equal(first, second, check_exact=True)
    documents = [{**answer.document, "bundle": "", "seal": ""} for answer in answers]
    assert documents[0] == documents[1]
    one, other = (answer.policy("always").predict_proba(visits()) for answer in answers)
    np.testing.assert_array_equal(one, other)


def test_categories_are_levels_though_they_are_numbers():
    frame = visits()
    frame["site"] = pd.Categorical(np.arange(N) % 3 + 1)
    terms: dict[str, Any] = {**TERMS, "free": ["age", "sex", "site"]}
    table = frugal.load(frame, **terms)
    assert {"site=1", "site=2", "site=3"} <= set(table.frame.columns)


def test_a_gap_in_a_text_known_at_the_start_is_a_level():
    frame = visits().astype({"sex": object, "age": "Float64"})
    frame.loc[:3, "sex"] = None
    table = frugal.load(frame, **TERMS)
    assert table.frame["sex=unknown"].sum() == 4
    assert any("5.0% of the rows" in r and "level 'unknown'" in r for r in table.remarks)
    frame.loc[0, "age"] = pd.NA
    with pytest.raises(DataError, match="'age' has no value, but it is in a free panel"):
        frugal.load(frame, **TERMS)


def test_a_column_that_is_left_out_is_no_feature():
    frame = visits().assign(later=visits()["ill"].astype(int))
    table = frugal.load(frame, **TERMS, leave_out=["later"])
    assert "later" not in table.frame
    assert any("later: as leave_out names it" in remark for remark in table.remarks)
    with pytest.raises(DataError, match=r"prices names 'crp', which is left out \(as leave_out"):
        frugal.load(frame, **TERMS, leave_out=["later", "crp"])
    with pytest.raises(DataError, match=r"the data frame: no column could be a feature \(age: as"):
        frugal.load(visits(), label="ill", leave_out=[*visits().columns[:-1]])


def test_policies_that_no_record_follows_have_no_answer():
    frame = visits()
    frame.loc[frame.index % 10 > 0, "crp"] = np.nan
    every = {"every": {"kind": "fixed", "panels": "all"}}
    with pytest.raises(DataError, match=r"too few records follow any .* which needs 30"):
        frugal.decide(frame, **TERMS, agents=every)


def test_errors_that_cost_nothing_are_refused_by_the_argument():
    terms: dict[str, Any] = TERMS | {"errors": {"missed": 0, "false alarm": 0}}
    with pytest.raises(DataError, match=r"^errors: all are 0, so no panel could pay"):
        frugal.load(visits(), **terms)


def test_a_table_of_few_rows_has_an_open_answer_or_a_refusal():
    assert frugal.decide(visits()[:36], **TERMS, config=SMALL).state == "open"
    with pytest.raises(DataError, match="which needs 30; allowed are more cases"):
        frugal.decide(visits()[:24], **TERMS, config=SMALL)


def test_the_positive_class_is_stated():
    table = frugal.load(visits(), **TERMS, positive=False)
    assert table.catalogue["classes"] == ["True", "False"]


def test_rows_without_a_label_are_dropped_or_kept():
    frame = visits().astype({"ill": object})
    frame.loc[:9, "ill"] = None
    assert len(frugal.load(frame, **TERMS).frame) == N - 10
    kept = frugal.load(frame, **TERMS, unlabelled="weigh")
    assert (kept.frame["label"] == -1).sum() == 10
    assert any("10 of" in remark and "are kept" in remark for remark in kept.remarks)
    with pytest.raises(DataError, match="10 of 80 rows have no label"):
        frugal.evaluate([frugal.train(frugal.missingness(kept), "never")])


def test_a_wrong_cell_is_named_by_its_row_of_the_frame():
    frame = visits().astype({"age": object, "sex": object}).set_axis([f"p{k}" for k in range(N)])
    frame.loc["p3", "sex"] = "f\nm"  # ends two lines later in the CSV
    frame.loc["p5", "age"] = "old"
    place = r"^row 'p5' of the data frame \(position 5\): .*'old'.* replace it by NaN$"
    with pytest.raises(DataError, match=place):
        frugal.load(frame, **TERMS)


def test_policies_of_a_file_are_not_candidates(table):
    mine = {"mine": {"kind": "python", "file": "a.py", "function": "f"}}
    with pytest.raises(ConfigError, match=r"'mine' of kind 'python', .* judge yours by fr"):
        frugal.decide(table, agents=mine)


def test_values_that_training_did_not_see_are_warned_of(table):
    policy = frugal.train(frugal.missingness(table), "never")
    cases = visits().drop(columns="ill").head(3).astype({"sex": object, "age": object})
    for answer in (policy.next, policy.predict, policy.predict_proba):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            answer(cases)
        with pytest.warns(UserWarning, match=r"1 of 3 cases are outside .* by sex x: never seen"):
            answer(cases.assign(sex=["f", "x", "m"]))
    with pytest.raises(DataError, match=r"^row 1 of the data frame \(position 1\): .*'old'"):
        policy.next(cases.assign(age=[40, "old", 50]))


REFUSED = {
    "unknown key 'colum' .*; allowed are from, to, .*, column; did you mean 'column'": {
        "prices": {"crp": {"colum": "age"}, "film": 40.5}
    },
    "label is None; with a data frame it is the name": {"label": None},
    "no column 'il' to predict; .*did you mean 'ill'": {"label": "il"},
    "prices lacks 'age', 'sex'; .* go under free, .* no feature under leave_out": {"free": None},
    "prices names 'crpp'; .*did you mean 'crp'": {"prices": {"crpp": 1}},
    r"prices\['crp'\] has -1; allowed are numbers from 0 on": {"prices": {"crp": -1}},
    r"errors lacks 'missed', 'false alarm' \('True' is the": {"errors": None},
    "errors names 'miss'; .*did you mean 'missed'": {"errors": {"miss": 1}},
    "panels names 'opacty'; .*did you mean 'opacity'": {"panels": {"film": ["opacty"]}},
    "free is a str; allowed is a list of names": {"free": "age"},
    "leave_out: the table has no feature 'crpp'; .*did you mean 'crp'": {"leave_out": ["crpp"]},
    "name is 'A b'; allowed are small letters": {"name": "A b"},
    "unlabelled is 'keep'; allowed are drop, weigh": {"unlabelled": "keep"},
}


@pytest.mark.parametrize("refusal", REFUSED)
def test_what_cannot_be_guessed_is_refused_by_its_argument(refusal):
    with pytest.raises((ConfigError, DataError), match=refusal):
        frugal.load(visits(), **{**TERMS, **REFUSED[refusal]})


def test_what_is_no_table_is_refused():
    with pytest.raises(DataError, match=r"column 'crp' holds \[1, 2\], which is no single"):
        frugal.load(visits().assign(crp=pd.Series([[1, 2]] * N)), **TERMS)
    with pytest.raises(ConfigError, match="label: arguments for a data frame"):
        frugal.load("docs/examples/clinic.yaml", label="pneumonia")


def test_a_folder_keeps_the_description_of_one_table(tmp_path, monkeypatch):
    from frugal.library import folder, verbs

    monkeypatch.setattr(folder, "run_workflow", lambda *_: None)
    monkeypatch.setattr(verbs, "payloads_of", lambda *_, **__: {})
    for _ in range(2):
        frugal.load(visits(), **TERMS, folder=tmp_path)
    assert sorted(path.name for path in tmp_path.glob("table.*")) == ["table.csv", "table.yaml"]
    with pytest.raises(ConfigError, match=re.escape("table.yaml is another table; choose another")):
        frugal.load(visits().head(60), **TERMS, folder=tmp_path)


def test_ranges_of_a_number_cost_the_squared_error_of_their_values():
    """On complete records, of one decision for everyone: the least mean loss, by enumeration."""
    rng = np.random.default_rng(0)
    value = {"one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0}
    marker = rng.normal(2.5, 1.0, 400)
    days = np.clip(np.round(marker + rng.normal(0.0, 0.7, 400)), 1, 4)
    frame = pd.DataFrame({"age": rng.normal(50, 10, 400), "marker": marker})
    answer = frugal.decide(
        frame.assign(days=[list(value)[int(day) - 1] for day in days]),
        label="days",
        free=["age"],
        prices={"marker": 0.1},
        errors={f"{a} as {b}": (value[a] - value[b]) ** 2 for a in value for b in value if a != b},
        agents=["always", "constant"],
    )
    cost = answer.outcomes.set_index("agent")["cost"]
    least = min(np.mean((days - decided) ** 2) for decided in value.values())
    assert cost["constant"] == pytest.approx(least, abs=1e-12)
    assert 0.1 < cost["always"] < least


def test_the_pages_blocks_of_python_run(monkeypatch, tmp_path):
    """And what they leave behind shows itself, draws itself and is a classifier."""
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs/how-to/library.md").read_text(encoding="utf-8")
    *blocks, _ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict = {}
    for block in blocks:
        exec(block, names)
    answer, policy, frame = names["answer"], names["policy"], names["visits"]
    assert re.fullmatch(r"Answer\('table', policy='\w+', state='\w+'\)", repr(answer))
    html = answer._repr_html_()
    for part in ("What to do", "How sure", "What it rests on", "What would change it"):
        assert f"<b>{part}</b>" in html
    assert answer.summary().splitlines()[0] in html.replace("&#x27;", "'")
    assert "chest film: 45 EUR" in names["table"]._repr_html_()
    assert "policy.next(cases)" in policy._repr_html_()
    for axes in (
        answer.plot(),
        answer.plot_trust(),
        answer.plot_prices(),
        answer.plot_net_benefit(),
    ):
        assert axes.figure.get_axes() == [axes]
        assert axes.get_xlabel()
    assert len(answer.plot_trust().patches) >= len(answer.outcomes)
    moved = answer.transport(frame).set_index("agent")["cost"]
    judged = answer.outcomes.set_index("agent")["cost"]
    pd.testing.assert_series_equal(moved, judged[moved.index], rtol=0.05)  # the same cases
    far = (frame["temperature"] + 4).clip(upper=frame["temperature"].max())
    with pytest.warns(UserWarning, match="little overlap"):
        answer.transport(frame.assign(temperature=far))
    assert policy.next(frame.iloc[5:9]).to_dict() == dict.fromkeys(range(5, 9), "stop")
    advice = policy.advise(frame.head(3))
    assert policy.predict(frame.head(3)).tolist() == advice["predicted"].tolist()
    shares = policy.predict_proba(frame.head(3))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert policy.classes == ["no", "yes"]
    with pytest.raises(DataError, match=r"policy\.txt has no ending of a policy's file; allowed"):
        policy.export("policy.txt")
    assert policy.export(tmp_path / "policy.onnx").stat().st_size > 0


def test_a_name_with_a_comma_is_quoted_where_an_answer_lists_panels():
    some = {"policy": 0.5, "recorded": 0.1, "risk": [0.051, 0.4]}
    shares = {"a, b": some, "c": {"policy": 0.0, "recorded": 0.9, "risk": None}}
    text = "Use one: order 'a, b' for 50 % of cases at 5.1 to 40 % risk (today 10 %)"
    assert _orders({"policy": "one", "panels": shares}) == f"{text}; leave out c (90 %)."
    assert listed(["a, b", "c", "'d, e'"]) == "'a, b', c, 'd, e'"
    prices = in_words(["no for yes", "a, b", "c"], ["no", "yes"])
    assert list(prices.values()) == ["missed 'yes'", "'a, b'", "c"]


def test_all_columns_of_policies_are_printed(table):
    outcomes = frugal.decide(table, agents={"none": {"kind": "fixed", "panels": "none"}}).outcomes
    assert all(str(name) in repr(outcomes) for name in outcomes)
    assert type(outcomes[["agent", "cost"]]) is pd.DataFrame


def test_data_over_time_are_loaded_first():
    with pytest.raises(ConfigError, match=r"data is a str; allowed is .*load_over_time\(PATH\)"):
        frugal.over_time("docs/examples/wards.yaml")  # pyright: ignore[reportArgumentType]


def test_the_order_of_rows_does_not_count():
    rng, n = np.random.default_rng(1), 300
    known, crp, film = rng.normal(size=(3, n)).round(3)
    ill = rng.random(n) < 1 / (1 + np.exp(-2 * crp - film + 1))
    frame = pd.DataFrame({"age": known, "crp": crp, "film": film, "ill": ill})
    for panel in ("crp", "film"):
        frame.loc[rng.random(n) < 0.4, panel] = np.nan
    errors = {"missed": 10, "false alarm": 4}
    terms = {"label": "ill", "prices": {"crp": 1, "film": 2}, "errors": errors, "free": ["age"]}
    terms |= {"config": SMALL, "agents": ["permutation", "fixed"]}
    found = [
        frugal.decide(frame.iloc[order], **terms).document
        for order in (np.arange(n), rng.permutation(n))
    ]
    assert found[0]["policy"] == found[1]["policy"]
    for key in ("cost", "bound", "saving_low"):
        assert found[0][key] == pytest.approx(found[1][key], rel=1e-9)


@pytest.mark.parametrize("value", [pd.NA, np.arange(2), np.int64(1), np.float64(1)])
def test_a_value_that_no_schema_can_compare_is_refused(value):
    if isinstance(value, float):
        require_plain_text({"source": value}, "law")
        return
    with pytest.raises(ConfigError, match=r"law: 'source' is of type \w+; allowed are texts"):
        require_plain_text({"source": value}, "law")
