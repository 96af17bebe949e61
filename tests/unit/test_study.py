"""The study of a config: what each step is given, and refusals that say what is allowed instead."""

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from frugal.__main__ import main
from frugal.config.declared import learns
from frugal.config.root import effective
from frugal.core.errors import ConfigError
from frugal.judge.registry import ESTIMATORS
from frugal.run.config_files import laid_over
from frugal.run.study import load_study, published_file
from jsonschema import Draft202012Validator

from tests.defaults import DEFAULT, shipped

ROOT = Path(__file__).parents[2]


@pytest.fixture
def config():
    return copy.deepcopy(DEFAULT)


def refusal(config):
    with pytest.raises(ConfigError) as caught:
        load_study(config, ROOT)
    return str(caught.value)


def test_the_default_config_is_a_study(config):
    study = load_study(config, ROOT)
    assert study.scenario_names()[0] == ["synthetic_mnar", "mnar"]
    assert set(study.descriptions) >= {e["dataset"] for e in config["afape"]["scenarios"]}


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda p: p.name)
def test_every_config_that_is_kept_names_known_agents_in_its_figures(path):
    overlay: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8")).get("afape", {})
    agents = DEFAULT["afape"]["agents"] | overlay.get("agents", {})
    figures = DEFAULT["afape"]["figures"] | overlay.get("figures", {})
    assert {figures["frequency_agent"], *figures["convergence_agents"]} <= set(agents)


def test_paths_of_a_scenario_name_its_data_set_and_mechanism(config):
    files = load_study(config, ROOT).scenario_files("results/{scenario}/x.parquet")
    assert files[0] == "results/dataset=synthetic_mnar/mechanism=mnar/x.parquet"
    assert len(files) == len(set(files)) == len(config["afape"]["scenarios"])


def test_missingness_settings_are_those_of_the_scenario(config):
    entry = config["afape"]["scenarios"][1]
    settings = load_study(config, ROOT).missingness_settings(entry["dataset"], entry["mechanism"])
    assert settings == {
        "name": entry["mechanism"],
        "seeds": config["afape"]["seeds"],
        "missingness": entry["missingness"],
        "s": entry["s"],
    }


def test_a_scenario_may_have_its_own_nuisance_method(config):
    config["afape"]["scenarios"][0]["nuisance_method"] = None
    config["afape"]["scenarios"][1]["nuisance_method"] = "boosting"
    config["afape"]["nuisance"]["method"] = "logistic"
    study = load_study(config, ROOT)
    methods = [study.nuisance_settings(*name)["method"] for name in study.scenario_names()[:2]]
    assert methods == ["logistic", "boosting"]
    assert config["afape"]["nuisance"]["method"] == "logistic"


def test_a_simulated_data_set_has_its_description_as_only_input(config):
    inputs = load_study(config, ROOT).raw_inputs("synthetic_mnar")
    assert list(inputs) == ["description"]
    assert Path(inputs["description"]).is_file()


def test_files_to_be_downloaded_are_fetched_unless_a_mirror_has_them(config, tmp_path):
    config["datasets"]["income"] = "config/datasets/income.yaml"
    config["afape"]["scenarios"][0]["dataset"] = "income"
    config["afape"]["scenarios"][0]["missingness"]["panels"] = {"hours": {"intercept": 0.0}}
    study = load_study(config, ROOT)
    fetched = study.raw_inputs("income")["raw_0"]
    assert fetched.startswith("results/raw/dataset=income/")
    settings = published_file([study.fetch_settings], "income", Path(fetched).name)
    assert len(settings["sha256"]) == 64
    assert settings["url"].startswith("http")
    mirrored = [tmp_path / file.name for file in study.descriptions["income"].source.files]
    for path in mirrored:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    config["data_mirror"] = str(tmp_path)
    study = load_study(config, ROOT)
    assert list(study.raw_inputs("income").values())[1:] == [str(path) for path in mirrored]
    assert str(tmp_path) in study.outside_folders()


def test_an_undeclared_raw_file_is_refused(config):
    study = load_study(config, ROOT)
    with pytest.raises(ConfigError, match=r"declares no file 'other\.csv'"):
        published_file([study.fetch_settings], "synthetic_mnar", "other.csv")


def _says(url):
    return lambda dataset, file: None if url is None else {"url": url, "of": f"{dataset}/{file}"}


def test_one_file_that_two_studies_declare_alike_is_fetched_once():
    same = [_says(None), _says("u"), _says("u")]
    assert published_file(same, "d", "f") == {"url": "u", "of": "d/f"}
    with pytest.raises(ConfigError, match="declared by two studies with different addresses"):
        published_file([*same, _says("v")], "d", "f")


def test_an_agent_can_be_left_out(config):
    config["afape"]["agents"]["never"] = None
    study = load_study(config, ROOT)
    assert list(study.agents) == [a for a in DEFAULT["afape"]["agents"] if a != "never"]


def test_every_estimator_may_stand_in_the_figures(config):
    config["afape"]["figures"]["estimators"] = list(ESTIMATORS)
    load_study(config, ROOT)


def test_a_rule_that_every_data_set_understands_is_a_study(config):
    del config["afape"]["scenarios"][1:]
    when = [{"column": "X1", "below": 0}, {"column": "X2", "above": 0.5, "below": 2}]
    steps = [{"panel": "X2"}, {"panel": "superX3", "when": when}]
    config["afape"]["agents"]["mine"] = {"kind": "rule", "steps": steps}
    assert "mine" in load_study(config, ROOT).agents


def test_a_data_set_split_for_diagnosis_serves_afape(config, tmp_path):
    text = (ROOT / "config/datasets/breast_cancer_diagnosis.yaml").read_text(encoding="utf-8")
    path = tmp_path / "breast_cancer.yaml"
    path.write_text(text.replace("name: breast_cancer_diagnosis", "name: breast_cancer"))
    config["datasets"]["breast_cancer"] = str(path)
    load_study(config, ROOT)


def leave_out(config, *, but: str = "") -> None:
    """Null for every agent that learns, but perhaps for one."""
    for name, chosen in config["afape"]["agents"].items():
        if name != but and chosen is not None and learns(chosen["kind"]):
            config["afape"]["agents"][name] = None


def test_an_agent_that_learns_needs_rows_of_its_own(config):
    config["datasets"]["ten_lines"] = "docs/examples/ten_lines.yaml"
    config["afape"]["scenarios"][0]["dataset"] = "ten_lines"
    config["afape"]["scenarios"][0]["missingness"]["panels"] = {"blood test": {"intercept": 0.0}}
    said = refusal(config)
    assert "afape.agents.dqn learns on the part 'agent'" in said
    assert "has only train, test" in said
    assert "write `dqn: null`, `sb3_ppo: null`, `sm_ddpo: null`, " in said
    leave_out(config)
    config["afape"]["figures"]["frequency_agent"] = "always"
    assert load_study(config, ROOT).trained_agents == []


def test_stored_policies_are_named_in_the_order_of_the_agents(config):
    leave_out(config, but="dqn")
    config["afape"]["agents"]["second"] = config["afape"]["agents"]["dqn"]
    study = load_study(config, ROOT)
    assert study.nuisance_settings("synthetic_mnar", "mnar")["filed"] == ["dqn", "second"]
    folder = "results/agents/dataset=synthetic_mnar/mechanism=mnar"
    assert study.policy_inputs("synthetic_mnar", "mnar", list(study.agents)) == {
        "policy_0": f"{folder}/agent=dqn/policy.safetensors",
        "policy_1": f"{folder}/agent=second/policy.safetensors",
    }
    assert study.policy_inputs("synthetic_mnar", "mnar", ["always"]) == {}


def test_a_file_of_the_working_folder_stands_for_none_of_the_project(config, tmp_path, monkeypatch):
    name = config["afape"]["scenarios"][0]["dataset"]
    path = config["datasets"][name]
    copy = tmp_path / path
    copy.parent.mkdir(parents=True)
    shutil.copy(ROOT / path, copy)
    monkeypatch.chdir(tmp_path)
    assert load_study(config, ROOT).paths[name] == ROOT / path
    copy.write_text(copy.read_text() + "# another\n")
    with pytest.raises(ConfigError, match=f"'{path}' is a file of the working folder, and another"):
        load_study(config, ROOT)
    config["datasets"][name] = str(copy.rename("own.yaml"))
    assert load_study(config, ROOT).paths[name] == Path("own.yaml")


def test_data_sets_that_no_scenario_uses_are_not_read(config):
    config["datasets"]["unused"] = "nowhere.yaml"
    load_study(config, ROOT)


def test_an_unknown_scenario_is_refused(config):
    with pytest.raises(ConfigError, match="has no synthetic_mnar with mar"):
        load_study(config, ROOT).scenario("synthetic_mnar", "mar")


def test_costs_of_one_unit_are_named_by_it(config):
    study = load_study(config, ROOT)
    used = {entry["dataset"] for entry in config["afape"]["scenarios"]}
    units = {study.descriptions[name].cost_unit for name in used}
    expected = units.pop() if len(units) == 1 else "unit of each data set"
    assert study.cost_unit() == expected


def wide_table(tmp_path, panels):
    """ten_lines with more panels, each of one column."""
    document = yaml.safe_load((ROOT / "docs/examples/ten_lines.yaml").read_text(encoding="utf-8"))
    for j in range(panels - 2):
        document["columns"].append({"name": f"x{j}", "type": "numeric", "unit": "1"})
        document["panels"].append({"name": f"p{j}", "columns": [f"x{j}"], "cost": 1})
    document["split"]["parts"] = {"train": 0.3, "agent": 0.3, "test": 0.4}
    path = tmp_path / "ten_lines.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("panels", [62, 63, 200])
def test_agents_learn_on_tables_of_any_number_of_panels(config, tmp_path, panels):
    config["datasets"]["ten_lines"] = wide_table(tmp_path, panels)
    scenario = config["afape"]["scenarios"][0]
    config["afape"]["scenarios"] = [scenario | {"dataset": "ten_lines"}]
    scenario["missingness"]["panels"] = {"blood test": {"intercept": 0.0}}
    load_study(config, ROOT)


def own_costs(config, tmp_path, costs):
    """The default, with other costs of decisions in its first data set."""
    name = config["afape"]["scenarios"][0]["dataset"]
    content = yaml.safe_load((ROOT / config["datasets"][name]).read_text(encoding="utf-8"))
    content["misclassification_cost"] = costs
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    config["datasets"][name] = str(path)
    return path


def test_a_right_decision_may_cost_something(config, tmp_path):
    own_costs(config, tmp_path, [[0, 6], [12, 3]])
    assert load_study(config, ROOT).remarks() == []


def test_a_default_that_is_written_out_is_one_that_was_left_out():
    assert effective(DEFAULT) == DEFAULT == effective(shipped("config.yaml"))


def test_config_yaml_has_what_the_default_runs_and_no_more():
    text = (ROOT / "config.yaml").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 200
    assert len(yaml.safe_dump(DEFAULT).splitlines()) > 1000


def test_a_nested_block_written_in_part_keeps_the_defaults_of_its_key():
    agents = {
        "mine": {"kind": "lattice", "boosting": {"trees": 9}},
        "other": {"kind": "sm_ddpo"},
        "both": {"kind": "stacked", "acting": {"gates": 2}},
    }
    block = effective(laid_over(DEFAULT, {"afape": {"agents": agents}}))["afape"]["agents"]
    assert block["mine"]["boosting"] == {
        **DEFAULT["diagnosis"]["agents"]["lattice"]["boosting"],
        "trees": 9,
    }
    assert block["other"] == DEFAULT["afape"]["agents"]["sm_ddpo"]
    assert block["both"]["acting"] == DEFAULT["diagnosis"]["agents"]["stacked"]["acting"] | {
        "gates": 2
    }
    whole = effective(laid_over(DEFAULT, {"afape": {"agents": block}}))
    assert whole["afape"]["agents"] == block


def test_the_whole_config_is_printed_and_reads_as_itself(capsys, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("afape: {agents: {mine: {kind: cwcf, dqn: {batch: 32}}}}")
    assert main(["config", str(path)]) == 0
    printed = yaml.safe_load(capsys.readouterr().out)
    assert printed == effective(printed)
    mine = printed["afape"]["agents"].pop("mine")
    assert printed == DEFAULT
    assert mine["dqn"] == DEFAULT["afape"]["agents"]["cwcf"]["dqn"] | {"batch": 32}
    assert main(["config", "--schema"]) == 0
    Draft202012Validator.check_schema(json.loads(capsys.readouterr().out))
    path.write_text("afape: {agents: {mine: {kind: cwcf, dqn: {bacth: 32}}}}")
    assert main(["config", str(path)]) == 2
    said = capsys.readouterr().err
    assert "unknown key 'bacth' under 'afape.agents.mine.dqn'" in said
    assert "did you mean 'batch'?" in said


def test_every_config_of_the_project_is_allowed():
    paths = [ROOT / ".ci/portable/small.yaml", *(ROOT / "config").glob("[deg]*.yaml")]
    for path in [*paths, *(ROOT / "config").glob("paper*.yaml")]:
        effective(laid_over(shipped("config.yaml"), yaml.safe_load(path.read_text())))


@pytest.mark.parametrize("block", ["dadi", "diagnosis"])
def test_agents_of_other_studies_are_refused_at_the_start_as_those_of_afape(block):
    config = copy.deepcopy(DEFAULT)
    name = "rule" if block == "dadi" else "mine"
    config[block]["agents"][name] = {"kind": "rule", "steps": [{"panel": "nope"}]}
    if block == "diagnosis":
        config[block]["scenarios"][0]["agents"] = [name]
    assert f"{block}.agents.{name}" in refusal(config)
    config[block]["agents"][name] = None
    if block == "diagnosis":
        assert f"diagnosis.agents.{name} is null, and a scenario names it" in refusal(config)
        config[block]["scenarios"][0]["agents"] = []
    load_study(config, ROOT)
