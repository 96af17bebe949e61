"""What `snakemake decide` asks of a table of one's own."""

import copy
import shutil
from pathlib import Path

import pytest
import yaml
from frugal.core.errors import ConfigError, FrugalError
from frugal.library.chain import payloads_of
from frugal.library.objects import Table
from frugal.library.question import Question, question_of
from frugal.run.own_table import MECHANISM, decision
from frugal.run.study import load_study

from tests.defaults import DEFAULT
from tests.workflow.runs import ROOT

EXAMPLES = ROOT / "docs" / "examples"


@pytest.fixture
def folder(tmp_path):
    for name in ("clinic.csv", "clinic.yaml", "form.csv", "form.yaml"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    return tmp_path


def laid_over(config: dict, over: dict) -> dict:
    """As Snakemake merges config files."""
    nested = {k: laid_over(config.get(k) or {}, v) for k, v in over.items() if isinstance(v, dict)}
    return config | over | nested


def question(folder: Path, **changes):
    """The config as the Snakefile would merge it, for a decision."""
    config = copy.deepcopy(DEFAULT)
    over = yaml.safe_load((ROOT / "config" / "decide.yaml").read_text())
    return decision(
        laid_over(config, over) | {"table": str(folder / "clinic.yaml")} | changes, ROOT, folder
    )


def in_memory(found) -> Question:
    """The same question, whose first steps a test runs."""
    return question_of(found, load_study(found.config, ROOT))


def assumed(folder: Path, **changes) -> dict[str, dict[str, list[str]]]:
    """Panel → columns and panels that may cause its gaps, as `draw_missingness` writes them."""
    graph = payloads_of(in_memory(question(folder, **changes)), "draw_missingness")["graph"]
    return {
        name: {key: list(law[key]) for key in ("values", "indicators")}
        for name, law in graph["indicators"].items()
    }


def remarks(folder: Path, **changes) -> tuple[str, ...]:
    """What the answer names as assumed."""
    return Table(in_memory(question(folder, **changes))).remarks


def edited(folder: Path, **keys) -> None:
    path = folder / "clinic.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | keys))


def test_gaps_may_depend_on_what_all_rows_have_and_on_panels_that_are_often_missing(folder):
    laws = assumed(folder)
    assert list(laws) == ["crp", "procalcitonin", "lactate", "chest film"]
    assert laws["lactate"]["values"] == ["age", "sex=f", "sex=m", "temperature"]
    assert laws["lactate"]["indicators"] == ["crp", "procalcitonin"]
    assert question(folder).folder == folder / "results" / "decide" / "clinic"
    (said,) = remarks(folder)
    assert "most in procalcitonin: 34%" in said
    assert said.endswith(" recorded; the answer reports where the records contradict that.")


def test_the_question_is_read_without_the_rows(folder):
    (folder / "clinic.csv").write_bytes(b"\xff\x00 no table")
    found = question(folder, sensitive="ward")
    study = load_study(found.config, ROOT)
    law = study.missingness_settings("clinic", MECHANISM)["missingness"]
    assert law == {"source": "own", "panels": None}
    with pytest.raises(FrugalError, match=r"clinic\.csv"):
        payloads_of(in_memory(found), "prepare_data")


def test_causes_that_follow_from_gaps_need_a_table_with_folds(folder):
    config = question(folder).config
    del config["afape"]["answer"]["instead"]["clinic"]["split"]
    with pytest.raises(ConfigError, match=r"scenarios\[0\]\.missingness\.panels is null; allowed"):
        load_study(config, ROOT)


def test_a_panel_that_few_rows_lack_is_no_cause(folder):
    import pandas as pd

    table = pd.read_csv(folder / "clinic.csv", dtype=str)
    table["crp"] = table["crp"].fillna("5")
    table.loc[:30, "crp"] = None
    table.to_csv(folder / "clinic.csv", index=False)
    laws = assumed(folder)
    assert laws["procalcitonin"]["indicators"] == []
    assert laws["lactate"]["indicators"] == ["procalcitonin"]


def test_a_column_without_a_gap_is_no_cause_if_its_panel_has_gaps(folder):
    """A panel that has gaps is bought as a whole: none of its columns is known before."""
    text = (folder / "clinic.yaml").read_text()
    text = text.replace("[age, sex, temperature]", "[age, sex]")
    (folder / "clinic.yaml").write_text(text.replace("[crp]", "[crp, temperature]"))
    laws = assumed(folder)
    assert {tuple(law["values"]) for law in laws.values()} == {("age", "sex=f", "sex=m")}


def test_panels_that_always_lack_the_same_rows_have_an_edge_even_if_few(folder):
    import pandas as pd

    table = pd.read_csv(folder / "clinic.csv", dtype=str).fillna({"crp": "5", "lactate": "2"})
    table.loc[:39, ["crp", "lactate"]] = None
    table.to_csv(folder / "clinic.csv", index=False)
    laws = assumed(folder)
    assert laws["lactate"]["indicators"] == ["crp", "procalcitonin"]
    assert laws["chest film"]["indicators"] == ["procalcitonin"]


def test_causes_that_identify_nothing_are_refused_before_anything_learns(folder):
    laws = {name: {"values": ["age"]} for name in ("crp", "procalcitonin", "lactate", "chest film")}
    for law, words in (
        ({"values": ["crp"]}, "column crp causes missingness of crp and is revealed by crp alone"),
        ({"values": ["crpp"]}, "parent column 'crpp', which the table lacks"),
        ({"values": [], "indicators": ["crp"]}, "has the cycle R_crp → R_crp"),
    ):
        (folder / "causes.yaml").write_text(yaml.safe_dump(laws | {"crp": law}))
        with pytest.raises(ConfigError, match=r"causes\.yaml: ") as refusal:
            assumed(folder, causes=str(folder / "causes.yaml"))
        assert words in str(refusal.value)
        assert str(refusal.value).count(". ") <= 1  # two sentences at most


def test_a_table_without_gaps_needs_no_causes(folder):
    form = {"table": str(folder / "form.yaml")}
    assert assumed(folder, **form) == {}
    assert remarks(folder, **form)[0].startswith("2,000 rows without a gap")


def test_own_causes_are_taken_and_those_of_other_panels_refused(folder):
    causes = folder / "causes.yaml"
    laws = {name: {"values": ["age"]} for name in ("crp", "procalcitonin", "lactate", "chest film")}
    causes.write_text(yaml.safe_dump(laws))
    given = {"causes": str(causes)}
    assert assumed(folder, **given) == {n: law | {"indicators": []} for n, law in laws.items()}
    assert remarks(folder, **given)[0] == "Causes of gaps are those of causes.yaml."
    causes.write_text(yaml.safe_dump({"crp": {}}))
    with pytest.raises(ConfigError, match=r"causes for crp; panels with gaps are crp, procal"):
        assumed(folder, **given)
    causes.write_text(yaml.safe_dump({"crpp": {}}))
    with pytest.raises(ConfigError, match=r"causes for crpp; panels that may have gaps are crp"):
        question(folder, **given)
    with pytest.raises(ConfigError, match=r"'causes' is 'nowhere.yaml', and there is no such"):
        question(folder, causes="nowhere.yaml")


def test_a_table_that_is_not_there_is_refused_with_how_to_write_one(folder):
    with pytest.raises(ConfigError, match=r"no such file; allowed is the YAML .* frugal init"):
        question(folder, table="clinic.yml")


def instead(found) -> dict:
    """Keys that the question puts in place of those of the table's YAML."""
    return found.config["afape"]["answer"]["instead"]["clinic"]


def test_a_table_in_place_of_its_yaml_is_named_as_one(folder):
    for name in ("clinic.csv", "clinic.TSV", "clinic.xlsx"):
        (folder / name).touch()
        with pytest.raises(ConfigError) as refusal:
            question(folder, table=str(folder / name))
        assert f"{folder / name} is a table; allowed is the YAML of one" in str(refusal.value)
        assert f"frugal decide {folder / name} --label COLUMN takes the table" in str(refusal.value)


def test_sensitive_names_groups_and_a_misspelt_column_is_refused(folder):
    found = question(folder, sensitive="ward")
    assert instead(found)["groups"] == "ward"
    study = load_study(found.config, ROOT)
    assert study.paths["clinic"] == folder / "clinic.yaml"
    split = {"scheme": "folds", "seed": 0, "k": 5}
    assert study.prepare_settings("clinic") == {"split": split, "groups": "ward"}
    assert not (folder / "results").exists()
    with pytest.raises(FrugalError, match=r"no column 'wart', which 'groups' names"):
        assumed(folder, sensitive="wart")


@pytest.mark.parametrize("changes", [{}, {"sensitive": "ward"}])
def test_the_table_next_to_its_yaml_is_read_and_no_other_of_that_name(folder, monkeypatch, changes):
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    lines = (folder / "clinic.csv").read_text().splitlines(keepends=True)
    (elsewhere / "clinic.csv").write_text("".join(lines[:501]))
    monkeypatch.chdir(elsewhere)
    found = question(folder, **changes)
    assert any("800 rows" in remark for remark in remarks(folder, **changes))
    raw = load_study(found.config, ROOT).raw_inputs("clinic")
    assert Path(raw["raw_0"]).samefile(folder / "clinic.csv")
    (folder / "clinic.csv").unlink()  # then the one of the working folder, also for the jobs
    found = question(folder, **changes)
    assert any("500 rows" in remark for remark in remarks(folder, **changes))
    monkeypatch.chdir(folder)
    raw = load_study(found.config, ROOT).raw_inputs("clinic")
    assert Path(raw["raw_0"]).samefile(elsewhere / "clinic.csv")


@pytest.mark.parametrize(
    ("budget", "first"),
    [("15", 15.0), (None, 15.0), ("1234567.25", 1234567.25), (0.00001, 0.00001)],
)
def test_f1_is_requested_for_several_budgets_on_the_same_folds(folder, budget, first):
    found = question(folder, objective="f1", budget=budget)
    assert instead(found)["split"]["scheme"] == "folds"
    study = load_study(found.config, ROOT)
    assert study.candidate_settings()["budgets"] == [first, 3.75, 7.5, 15.0, 30.0, 75.0]
    assert study.judging_settings()["objective"] == "f1"


@pytest.mark.parametrize(("value", "audited"), [(True, True), ("true", True), ("false", False)])
def test_the_habit_audit_is_requested_for_in_yaml_and_on_the_command_line(folder, value, audited):
    study = load_study(question(folder, audit_habit=value).config, ROOT)
    assert study.candidate_settings()["also"] == (["without_panels"] if audited else [])
    assert ("habit" in study.judging_settings()["parts"]) is audited
    with pytest.raises(ConfigError, match="'audit_habit' is 'yes'; allowed are true, false"):
        question(folder, audit_habit="yes")


def test_f1_takes_costs_of_errors_that_are_open_and_cost_refuses_them(folder):
    edited(folder, misclassification_cost=[[0, None], [None, 0]])
    found = question(folder, objective="f1")
    assert instead(found)["misclassification_cost"] == [[0, 1], [1, 0]]
    load_study(found.config, ROOT)
    with pytest.raises(ConfigError, match=r"prices are open .* the cost of each error"):
        question(folder)
    edited(folder, misclassification_cost=[[0, 1, None], [None, 0]])
    with pytest.raises(ConfigError, match=r"'misclassification_cost'"):
        question(folder, objective="f1")


def test_of_three_classes_policies_that_say_one_of_two_are_left_out_and_named(folder):
    lines = (folder / "clinic.csv").read_text().splitlines()
    lines[1:] = [
        line.removesuffix("yes") + "severe" if k % 3 == 0 and line.endswith("yes") else line
        for k, line in enumerate(lines[1:])
    ]
    (folder / "clinic.csv").write_text("\n".join(lines))
    classes = [{"name": name, "values": [name]} for name in ("no", "yes", "severe")]
    costs = [[0, 150, 150], [600, 0, 100], [900, 300, 0]]
    edited(folder, label={"column": "pneumonia", "classes": classes}, misclassification_cost=costs)
    block = question(folder).config["afape"]
    cwcf = {"cwcf": DEFAULT["afape"]["agents"]["cwcf"]}
    found = question(folder, afape=block | {"agents": block["agents"] | cwcf})
    agents = found.config["afape"]["agents"]
    assert {n for n, one in agents.items() if one is not None} == {
        "cascade",
        "permutation",
        "never",
        "always",
        "fixed",
        "constant",
    }
    assert "The policies cwcf are left out: they decide between two" in str(found.remarks)
    load_study(found.config, ROOT)
    with pytest.raises(ConfigError, match=r"label of clinic.yaml has 3 classes; allowed are two"):
        question(folder, objective="f1")


def test_the_rows_are_divided_into_folds_however_the_yaml_divides_them(folder):
    """No part `agent` is needed: every row learns and judges."""
    parts = {"train": 0.5, "test": 0.5}
    edited(folder, split={"scheme": "fractions", "seed": 7, "parts": parts})
    study = load_study(question(folder).config, ROOT)
    split = study.descriptions["clinic"].split
    assert (split.scheme, split.seed) == ("folds", 7)
    assert study.folds("clinic") == [f"fold_{k}" for k in range(1, 6)]
    assert set(study.trained_agents) == set(study.candidates)


@pytest.mark.parametrize(
    ("block", "changes", "words"),
    [
        ({"agents": {"always": None}}, {}, r"names agent 'always'; under"),
        ({"answer": {"practice": "alway"}}, {}, r"practice names 'alway'; .* 'always'"),
        (
            {"agents": {"x": {"kind": "fixed", "panels": ["crp"]}}, "answer": {"practice": "x"}},
            {"objective": "f1"},
            r"answer\.practice names 'x'",
        ),
        ({"answer": {"prefer": ["cascad"]}}, {}, r"answer\.prefer names 'cascad'; .*'cascade'"),
        ({"agents": {"practice": {"kind": "fixed", "panels": ["crp"]}}}, {}, r"has 'practice'; a"),
        ({"agents": {"crp.2": {"kind": "fixed", "panels": ["crp"]}}}, {}, r"has 'crp\.2'; a pol"),
        ({}, {"sensitive": "pneumonia"}, r"'sensitive' is 'pneumonia', the label; allowed are"),
        ({}, {"refer": 9, "objective": "f1"}, "'refer' needs the objective cost, and it is f1"),
        ({}, {"most_missed": 2}, r"'most_missed' is 2; allowed is a share from 0 to 1"),
        ({}, {"refer_risk": 9}, "'refer_risk' is stated and 'refer' is not; allowed is both, or"),
    ],
)
def test_what_an_answer_cannot_hold_is_refused(folder, block, changes, words):
    config = copy.deepcopy(DEFAULT)
    over = yaml.safe_load((ROOT / "config" / "decide.yaml").read_text())
    afape = laid_over(laid_over(config, over), {"afape": block})["afape"]
    with pytest.raises(ConfigError, match=words):
        load_study(question(folder, afape=afape, **changes).config, ROOT).candidate_settings()


def test_rows_without_a_label_are_for_decide_alone(folder):
    edited(
        folder,
        label=yaml.safe_load((folder / "clinic.yaml").read_text())["label"]
        | {"unlabelled": "weigh"},
    )
    config = question(folder).config
    assert load_study(config, ROOT).descriptions["clinic"].label.weighed
    with pytest.raises(ConfigError, match=r"independent and have a label; .* 'unlabelled: weigh'"):
        question(folder, refer="40", refer_risk="8")
    with pytest.raises(ConfigError, match=r"keeps rows without a label .*`decide` alone weighs"):
        load_study({**config, "table": None}, ROOT)
    classes = [{"name": name, "values": [k]} for k, name in enumerate(("well", "a person"))]
    edited(folder, label={"column": "pneumonia", "classes": classes})
    with pytest.raises(ConfigError, match=r"hands cases to 'a person', and .* a class or a panel"):
        question(folder, refer="40")
