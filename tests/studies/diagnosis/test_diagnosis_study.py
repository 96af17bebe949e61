"""The diagnosis block is checked before any job: groups, files of steps, refusals."""

import copy
import dataclasses
from pathlib import Path

import pytest
from frugal.config.root import effective
from frugal.core.errors import ConfigError
from frugal.core.schema_check import read_yaml
from frugal.data.description import load_description
from frugal.studies.diagnosis.spec import DiagnosisStudy, load_diagnosis_study

from tests.defaults import DEFAULT as CONFIG

ROOT = Path(__file__).parents[3]
DESCRIPTIONS = {
    name: load_description(ROOT / CONFIG["datasets"][name])
    for name in ("clinical_simulator", "breast_cancer_diagnosis", "breast_cancer")
}


@pytest.fixture
def config():
    return copy.deepcopy({"diagnosis": CONFIG["diagnosis"]})


@pytest.mark.parametrize("size", [1, 5, 12, 18, 24, 100])
def test_groups_divide_the_pairs_and_differ_by_one(config, size):
    config["diagnosis"]["pairs"]["group_size"] = size
    study = DiagnosisStudy(config["diagnosis"], DESCRIPTIONS)
    groups = study.groups()
    assert sorted(k for group in groups for k in group) == list(range(len(study.pairs())))
    sizes = [len(group) for group in groups]
    assert max(sizes) <= size
    assert max(sizes) - min(sizes) <= 1


def test_the_paper_has_190_pairs():
    paper = read_yaml(ROOT / "config/paper_diagnosis.yaml")["diagnosis"]
    study = DiagnosisStudy(CONFIG["diagnosis"] | {"pairs": paper["pairs"]}, DESCRIPTIONS)
    assert len(study.pairs()) == len(set(study.pairs())) == 190
    assert study.pairs()[:2] == [(1.0, 1.0), (1.0, 2.0)]


def test_every_run_has_files_of_its_own_and_rows_that_are_wanted(config):
    study = load_diagnosis_study(config, DESCRIPTIONS)
    files = study.run_files("scores.parquet")
    assert len(files) == len(set(files)) == len(study.runs())
    assert {row[4] for row in study.wanted_rows()} >= {
        "sm_ddpo_end2end",
        "logistic_full",
        "logistic_fixed",
        "logistic_free",
        "greedy",
        "bayes_static",
    }
    assert study.has_bayes_rule("clinical_simulator")
    assert not study.has_bayes_rule("breast_cancer_diagnosis")


def test_a_policy_is_found_in_the_file_of_its_group(config):
    study = load_diagnosis_study(config, DESCRIPTIONS)
    settings = study.choice_settings("clinical_simulator", "sm_ddpo_end2end", "f1", "0", "90.5")
    assert settings["budget"] == 90.5
    assert settings["cost_unit"] == "USD"
    groups = study.groups()
    for pair, place in settings["policies"]["sm_ddpo_end2end"].items():
        group = int(place["file"].split("group=")[1].split("/")[0])
        assert groups[group][place["position"]] == int(pair)
    for family in ("selection", "baselines", "bayes"):  # keep no weights
        chosen = study.choice_settings("clinical_simulator", family, "f1", "0", "90.5")
        assert chosen["policies"] == {family: {}}


def test_all_families_of_a_run_are_compared_but_not_the_exact_rule(config):
    study = load_diagnosis_study(config, DESCRIPTIONS)
    given = study.choice_inputs("clinical_simulator", "all", "f1", "0")
    families = {path.split("family=")[1].split("/")[0] for path in given["scores"]}
    entry = study.scenario("clinical_simulator")
    assert families == {*entry["methods"], *entry["agents"], "baselines", "selection"}
    assert len(given["pooled"]) == len(entry["agents"])
    one = study.choice_inputs("clinical_simulator", "sm_ddpo_end2end", "f1", "0")
    assert "pooled" not in one
    assert len(one["scores"]) == 1


def test_a_front_of_trees_is_one_file_and_one_policy_a_budget(config):
    study = load_diagnosis_study(config, DESCRIPTIONS)
    settings = study.agent_settings("cascade", "am")
    assert (settings["name"], settings["criterion"]) == ("cascade", "am")
    assert settings["agent"] == config["diagnosis"]["agents"]["cascade"]
    assert set(config["diagnosis"]["budget_shares"]) <= set(settings["budget_shares"])
    chosen = study.choice_settings("clinical_simulator", "cascade", "f1", "0", "90.5")
    places = chosen["policies"]["cascade"]
    assert len(places) == len(settings["budget_shares"])
    assert {place["file"] for place in places.values()} == {
        "results/agents/dataset=clinical_simulator/family=cascade/criterion=f1/seed=0"
        "/policies.safetensors"
    }
    assert ("clinical_simulator", "cascade", "f1", "0") in study.runs()


def test_a_boosted_belief_stands_under_a_method(config):
    block = config["diagnosis"]
    block["training"]["classifier"] = block["methods"]["sm_ddpo_boosted"]["classifier"]
    assert "a boosted one belongs under a method" in _refusal(config)


def _refusal(config, descriptions=None):
    with pytest.raises(ConfigError) as caught:
        load_diagnosis_study(effective({**CONFIG, **config}), descriptions or DESCRIPTIONS)
    return str(caught.value)


def test_a_data_set_twice_or_without_the_parts_is_refused(config):
    block = config["diagnosis"]
    first = block["scenarios"][0]
    block["scenarios"].append(first)
    assert "clinical_simulator occurs twice there" in _refusal(config)
    other = first | {"dataset": "breast_cancer", "fixed_panels": ["radius"]}
    block["scenarios"] = [first, other]
    assert "has no part 'encoder' under 'split'; diagnosis needs" in _refusal(config)


def test_three_classes_are_refused(config):
    described = DESCRIPTIONS["clinical_simulator"]
    label = dataclasses.replace(described.label, classes=("a", "b", "c"))
    three = dataclasses.replace(described, label=label)
    said = _refusal(config, DESCRIPTIONS | {"clinical_simulator": three})
    assert "has 3 classes; diagnosis needs two" in said


@pytest.mark.parametrize("name", ["paper_diagnosis", "paper_diagnosis_short"])
def test_paper_configs_keep_to_the_schema_and_name_what_there_is(name):
    merged = copy.deepcopy(CONFIG)
    _update(merged, read_yaml(ROOT / f"config/{name}.yaml"))
    merged = effective(merged)
    names = [entry["dataset"] for entry in merged["diagnosis"]["scenarios"]]
    assert len(names) == 5
    load_diagnosis_study(merged, {n: load_description(ROOT / merged["datasets"][n]) for n in names})


def _update(config, overlay):
    """As Snakemake merges config files: mappings key by key, everything else replaced."""
    for key, value in overlay.items():
        if isinstance(value, dict) and isinstance(config.get(key), dict):
            _update(config[key], value)
        else:
            config[key] = value


def test_a_table_of_any_number_of_panels_is_taken(config):
    described = DESCRIPTIONS["breast_cancer_diagnosis"]
    priced = next(panel for panel in described.panels if not panel.free)
    wide = tuple(priced.changed(name=f"p{j}") for j in range(200))
    changed = dataclasses.replace(described, panels=described.panels + wide)
    load_diagnosis_study(config, DESCRIPTIONS | {"breast_cancer_diagnosis": changed})
