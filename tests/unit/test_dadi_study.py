"""The dadi block is checked before any job; settings of each step follow from it alone."""

import copy
from pathlib import Path

import pytest
from frugal.config.root import effective
from frugal.core.errors import ConfigError
from frugal.run.study import load_study
from frugal.studies.dadi.figures import METHODS
from frugal.studies.dadi.spec import FAMILIES, family_of, load_dadi_study

from tests.defaults import DEFAULT as CONFIG

ROOT = Path(__file__).parents[2]


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
        (changed(folds=CONFIG["dadi"]["folds"] | {"run": [6]}), "names fold 6"),
        (changed(training=CONFIG["dadi"]["training"] | {"agents": 63}), "must be even"),
        (changed(scenarios=CONFIG["dadi"]["scenarios"] * 2), "occurs twice there"),
        (changed(comparison={"reference": "best", "auc_slack": 0.02}), "reference names 'best'"),
        (scenario(withheld_panels=["X4"]), r"withheld_panels names 'X4'"),
        (changed(folds=CONFIG["dadi"]["folds"] | {"validation_share": 0.9}), "no row is left"),
        (
            changed(training=CONFIG["dadi"]["training"] | {"exploration_start": 0.05}),
            "exploration_end is 0.1; it lies at or below",
        ),
        (
            changed(baselines={"lasso_4": {"kind": "forward", "most": 4, "gamma": 0.5}}),
            "lasso_4 is of kind 'forward'; names of that kind begin with forward or forward_fair",
        ),
        (
            changed(baselines={"laso_4": {"kind": "lasso", "most": 4, "parity": 0.0}}),
            "has 'laso_4'; a baseline's name is one of full_features.*did you mean 'lasso'",
        ),
        (
            changed(baselines={"lasso_fiar_4": {"kind": "lasso", "most": 4, "parity": 5.0}}),
            "has 'lasso_fiar_4'; .*did you mean 'lasso_fair'",
        ),
        (
            changed(baselines={"lasso_": {"kind": "lasso", "most": 4, "parity": 5.0}}),
            "has 'lasso_'; .*did you mean 'lasso'",
        ),
        (
            changed(baselines={"random_5": {"kind": "random", "probability": 0.5, "most": 4}}),
            "unknown key 'most' under 'dadi.baselines.random_5'; allowed are kind, probability",
        ),
        (
            changed(baselines={"full_features": {"kind": "network", "withheld": True}}),
            "unknown key 'withheld' under 'dadi.baselines.full_features'; allowed are kind",
        ),
        (
            changed(training=CONFIG["dadi"]["training"] | {"exploration_iterations": 5001}),
            "exploration_iterations is 5001, more than iterations, 5000",
        ),
        (
            scenario(
                withheld_panels=[
                    *(f"fair X{k}" for k in (1, 2, 3)),
                    *(f"unfair X{k}" for k in (5, 6, 7)),
                    "X9",
                    "X10",
                ]
            ),
            "withholds every panel",
        ),
        (scenario(selection_by="fair X1"), "one categorical column: X9$"),
        (scenario(selection_by="X99"), "one categorical column: X9; did you mean 'X9'"),
        (
            scenario(selection_by="X9", withheld_panels=["X9"]),
            "'X9', which withheld_panels withholds",
        ),
        (scenario(shown_gammas=[0.4]), "shown_gammas names 0.4"),
        (scenario(dataset="breast_cancer_diagnosis"), "has no groups"),
        (scenario(dataset="nothing"), "names data set 'nothing'"),
    ],
)
def test_refusals_are_one_sentence(config, words):
    with pytest.raises(ConfigError, match=words) as refusal:
        loaded(config)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("baseline", [{"kind": "guess"}, {"kind": "network", "x": 1}])
def test_the_schema_asks_for_what_a_kind_needs(baseline):
    config = changed(baselines={"random_x": baseline})
    with pytest.raises(ConfigError):
        effective(config)


def test_every_family_has_a_look():
    assert set(METHODS) >= set(FAMILIES)


def test_a_baseline_belongs_to_the_longest_family_that_its_name_begins_with():
    assert family_of("lasso_fair_4") == "lasso_fair"
    assert family_of("lasso_10") == "lasso"
    assert family_of("all_and_group") == "all_and_group"
