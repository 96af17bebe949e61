"""Sizes of jobs: what the config says of rows, panels, seeds, policies and steps."""

import copy
import json
from pathlib import Path

import pytest
import yaml
from frugal.run.job_sizes import SIZES, config_sizes, sizes_of
from frugal.run.study import load_study
from frugal.studies.dadi.spec import load_dadi_study
from frugal.studies.diagnosis.spec import load_diagnosis_study
from frugal.studies.recourse.spec import load_recourse_study
from frugal.studies.treatment.spec import load_treatment_study

from tests.defaults import DEFAULT

ROOT = Path(__file__).parents[2]
TEN = ROOT / "docs" / "examples"


def sizings(config, **rows):
    study = load_study(config, ROOT)
    return config_sizes(
        study,
        load_dadi_study(config, study.descriptions),
        load_diagnosis_study(config, study.descriptions),
        load_treatment_study(config, ROOT),
        load_recourse_study(config, ROOT),
        rows=rows,
    )


@pytest.fixture
def config():
    return copy.deepcopy(DEFAULT)


def of(config, **keys):
    return sizes_of(keys, sizings(config, breast_cancer=569))


def test_a_job_of_afape_has_the_rows_of_its_parts_and_the_seeds_of_the_config(config):
    config["afape"]["seeds"] = [0, 1, 2, 3]
    sizes, kind = of(config, dataset="synthetic_mnar", mechanism="mnar")
    assert sizes == {"rows": 60_000, "columns": 4, "panels": 2, "seeds": 4, "policies": 11}
    assert kind == "network"
    _, kind = of(config, dataset="breast_cancer", mechanism="mar")
    assert kind == "logistic"


def test_an_agent_has_the_steps_of_its_training_and_its_kind(config):
    config["afape"]["agents"]["cwcf"]["dqn"]["transitions"] = 7777
    sizes, kind = of(config, dataset="breast_cancer", mechanism="mar", agent="cwcf")
    assert (sizes["steps"], sizes["rows"], sizes["panels"], kind) == (7777, 569, 9, "cwcf")


def test_withheld_panels_and_a_choice_of_rows_make_jobs_of_dadi_smaller(config):
    (scenario,) = config["dadi"]["scenarios"]
    scenario |= {"rows": 900, "withheld_panels": ["fair X1"], "gammas": [0.5]}
    sizes, _ = of(config, dataset="telling_loans", fold="0")
    assert sizes == {"rows": 900, "columns": 8, "panels": 7, "policies": 1, "steps": 7_000}


def test_a_group_of_a_front_has_the_policies_that_are_trained_in_it(config):
    keys = {"dataset": "clinical_simulator", "family": "sm_ddpo_end2end", "group": "1"}
    sizes, kind = of(config, **keys)
    assert (sizes["policies"], sizes["steps"], kind) == (12, 64 * 2 * 512, "end2end")
    assert of(config, **keys | {"group": "none"})[0]["policies"] == 24


def test_a_search_has_its_repeats_and_the_policies_of_its_grids(config):
    sizes, _ = of(config, dataset="synthetic")
    assert (sizes["seeds"], sizes["panels"]) == (20, 5)
    assert sizes["policies"] == 5 * 3 * 2 + 3 * 4 * 3 * 11 * 11


def test_rows_of_a_table_in_a_file_are_its_lines(config, tmp_path):
    rows = (TEN / "ten_lines.csv").read_text().splitlines()
    (tmp_path / "ten_lines.csv").write_text("\n".join(rows[:1] + rows[1:] * 3) + "\n")
    (tmp_path / "ten_lines.yaml").write_text((TEN / "ten_lines.yaml").read_text())
    config["datasets"]["ten_lines"] = str(tmp_path / "ten_lines.yaml")
    own = yaml.safe_load((TEN / "ten_lines_config.yaml").read_text())["afape"]["scenarios"]
    config["afape"]["scenarios"] = own
    config["afape"]["agents"] = {
        k: v for k, v in config["afape"]["agents"].items() if v["kind"] in ("random", "fixed")
    }
    config["afape"]["figures"] |= {"frequency_agent": "always"}
    sizes, _ = of(config, dataset="ten_lines")
    assert sizes["rows"] == pytest.approx(3 * (len(rows) - 1), abs=1)


def test_rows_that_nothing_tells_are_left_out(config):
    sizes, _ = sizes_of({"dataset": "breast_cancer"}, sizings(config))
    assert sizes.keys() == {"columns", "panels"}


def test_all_of_it_is_json_and_names_no_other_size(config):
    found = sizings(config)
    assert json.loads(json.dumps(found)) == found
    assert {name for each in found for name in each["sizes"]} <= SIZES.keys()


def test_the_last_word_on_a_jobs_wildcards_counts():
    sizings = [
        {"keys": {}, "sizes": {"rows": 9, "seeds": 6}, "kind": None},
        {"keys": {"dataset": "a"}, "sizes": {"rows": 1, "panels": 2}, "kind": None},
        {"keys": {"agent": "*"}, "sizes": {"rows": 3}, "kind": "k"},
        {"keys": {"dataset": "b"}, "sizes": {"rows": 4}, "kind": None},
    ]
    assert sizes_of({"dataset": "a", "agent": "x"}, sizings) == ({"rows": 3, "panels": 2}, "k")
    assert sizes_of({"dataset": "a"}, sizings) == ({"rows": 1, "panels": 2}, None)
    assert sizes_of({}, sizings) == ({"rows": 9, "seeds": 6}, None), "the whole run"
