"""The dadi block is checked before any job; settings of each step follow from it alone."""

import copy
from pathlib import Path

import pytest
from frugal.core.errors import ConfigError
from frugal.run.study import load_study
from frugal.studies.dadi.figures import METHODS
from frugal.studies.dadi.spec import FAMILIES, family_of, load_dadi_study

from tests.defaults import DEFAULT as CONFIG

ROOT = Path(__file__).parents[3]


def changed(**dadi):
    config = copy.deepcopy(CONFIG)
    config["dadi"] |= dadi
    return config


def loaded(config):
    study = load_study(config, ROOT)
    return load_dadi_study(study.config, study.descriptions)


def scenario(**changes):
    return changed(scenarios=[CONFIG["dadi"]["scenarios"][0] | changes])


def test_the_default_promises_a_row_per_method_and_fold():
    study = loaded(CONFIG)
    rows = study.wanted_rows()
    each = len(study.gammas(study.datasets[0])) + len(study.baselines)
    assert len(rows) == len(study.datasets) * len(CONFIG["dadi"]["folds"]["run"]) * each
    assert len({tuple(row) for row in rows}) == len(rows)


def test_settings_of_a_step_hold_what_it_needs_and_the_networks_of_the_scenario():
    study = loaded(CONFIG)
    name = study.datasets[0]
    trained = study.train_settings(name)
    assert (
        trained["training"]["encoding_width"] == study.scenario(name)["networks"]["encoding_width"]
    )
    assert trained["design"]["folds"] == 6
    assert trained["training"] == study.roll_out_settings(name)["training"]
    assert set(study.score_settings()["reads_all"]) == {"full_features", "boosting", "reduction_2"}


def test_a_baseline_can_be_left_out():
    config = changed(baselines=CONFIG["dadi"]["baselines"] | {"reduction_2": None})
    assert "reduction_2" not in loaded(config).baselines


def test_own_gammas_replace_those_of_the_study():
    study = loaded(scenario(gammas=[0.1, 0.5]))
    assert study.gammas(study.datasets[0]) == [0.1, 0.5]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (changed(scenarios=CONFIG["dadi"]["scenarios"] * 2), "occurs twice there"),
        (scenario(selection_by="X9", withheld_panels=["X9"]), "which withheld_panels withholds"),
    ],
)
def test_two_keys_that_contradict_each_other_are_refused(config, words):
    with pytest.raises(ConfigError, match=words):
        loaded(config)


def test_every_family_has_a_look():
    assert set(METHODS) >= set(FAMILIES)


def test_a_baseline_belongs_to_the_longest_family_that_its_name_begins_with():
    assert family_of("lasso_fair_4") == "lasso_fair"
    assert family_of("lasso_10") == "lasso"
    assert family_of("all_and_group") == "all_and_group"
