"""Recourse blocks that their schema allows and no run could finish: refused before any job."""

import copy
from pathlib import Path

import pytest
from frugal.config.root import effective
from frugal.core.errors import ConfigError
from frugal.studies.recourse.config import MANUAL_GROUPS
from frugal.studies.recourse.figures import GENERATORS, generator_kind
from frugal.studies.recourse.generator import KINDS
from frugal.studies.recourse.spec import load_recourse_study
from frugal.studies.recourse.worlds import variant_design

from tests.defaults import DEFAULT as CONFIG

ROOT = Path(__file__).parents[3]
TABLE = {
    "dataset": "german_credit",
    "variant": "eight_conditions",
    "seeds": [0],
    "subsets": ["all"],
    "generators": ["hamming"],
    "source": {
        "kind": "table",
        "description": "config/datasets/german_credit.yaml",
        "rules": "config/recourse/german_credit.yaml",
    },
}


def _load(**block):
    config = copy.deepcopy(CONFIG)
    config["recourse"] |= block
    return load_recourse_study(effective(config), ROOT)


def _with_scenario(entry):
    return _load(scenarios=[*CONFIG["recourse"]["scenarios"], entry])


def test_generators_are_named_by_kinds_that_figures_know():
    assert set(KINDS) == set(GENERATORS)
    for name, settings in CONFIG["recourse"]["generators"].items():
        assert generator_kind(name) == settings["kind"]


def test_files_of_a_source_that_are_not_there_are_refused_by_their_key():
    for key in ("description", "rules"):
        spoilt = TABLE | {"source": TABLE["source"] | {key: "nowhere.yaml"}}
        with pytest.raises(ConfigError, match=rf"scenarios\[4\]\.source\.{key} names 'nowhere"):
            _with_scenario(spoilt)


def test_a_table_its_rules_and_its_scenario_bear_one_name(tmp_path):
    assert set(_with_scenario(TABLE).descriptions) == {"german_credit"}
    text = (ROOT / "config/recourse/german_credit.yaml").read_text("utf-8")
    rules = tmp_path / "rules.yaml"
    for old, new, sentence in (
        ("dataset: german_credit", "dataset: adult", r"\[4\]\.source\.rules is written for .*'adu"),
        ("dataset: german_credit", "data: german_credit", "unknown key 'data' at top level"),
    ):
        rules.write_text(text.replace(old, new, 1), "utf-8")
        with pytest.raises(ConfigError, match=sentence):
            _with_scenario(TABLE | {"source": TABLE["source"] | {"rules": str(rules)}})
    with pytest.raises(ConfigError, match=r"\[4\]\.source\.description describes .* 'german_cred"):
        _with_scenario(TABLE | {"dataset": "credit"})


def test_manual_groups_without_actions_are_refused():
    scenario = copy.deepcopy(CONFIG["recourse"]["scenarios"][1]) | {"variant": "few"}
    scenario["source"]["actions"] = MANUAL_GROUPS - 1
    with pytest.raises(
        ConfigError, match=rf"scenarios\[4\]\.source\.actions is {MANUAL_GROUPS - 1};"
    ):
        _with_scenario(scenario)
    scenario["source"]["actions"] = MANUAL_GROUPS
    _with_scenario(scenario)
    world = {"draws": 10, "feature_probability": 0.5, "action_probability": 0.5}
    with pytest.raises(ConfigError, match="a group gets none of 4 actions"):
        variant_design("manual_groups", actions=4, **world)
    design = variant_design("manual_groups", actions=MANUAL_GROUPS, **world)
    assert (design.groups, design.actions_per_group) == (MANUAL_GROUPS, 1)
