"""Descriptions and the treatment block of a config are checked before any job."""

import copy
from pathlib import Path

import pytest
import yaml
from frugal.config.root import effective
from frugal.core.errors import ConfigError, DataError
from frugal.core.schema_check import read_yaml
from frugal.studies.treatment.data.description import load_search_description, locate_search_file
from frugal.studies.treatment.spec import load_treatment_study

from tests.defaults import DEFAULT

ROOT = Path(__file__).parents[3]
DATASETS = sorted((ROOT / "config/datasets/treatment").glob("*.yaml"))


def _description(tmp_path, **changes):
    content = read_yaml(ROOT / "config/datasets/treatment/ecoli_ast.yaml") | changes
    path = tmp_path / "d.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.mark.parametrize("path", DATASETS, ids=[p.stem for p in DATASETS])
def test_shipped_descriptions_hold(path):
    described = load_search_description(path)
    assert described.name == path.stem
    assert described.simulated == path.stem.startswith("synthetic_search")
    assert len(described.actions) >= 5
    if not described.simulated and described.name != "mimic3_demo":
        assert "simulated" in described.note or described.name == "mimic3"


def test_a_file_that_is_nowhere_is_stated_with_its_address(tmp_path):
    described = load_search_description(_description(tmp_path))
    (file,) = described.files
    with pytest.raises(DataError, match=r"obtain it from https://doi\.org"):
        locate_search_file(described, file, data_mirror=tmp_path)
    (tmp_path / "ecoli_ast").mkdir()
    (tmp_path / file.name).write_text("x")
    assert locate_search_file(described, file, data_mirror=None) == tmp_path / file.name


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"reader": "mimic3", "options": {"exclude_other_antibiotics": True}}, "takes 5"),
        (
            {
                "reader": "amr_isolates",
                "options": {"organisms": {}, "factors": []},
                "files": [
                    {"name": n, "url": "https://example.org", "sha256": [], "downloadable": False}
                    for n in "ab"
                ],
            },
            "files has 2 entries; reader 'amr_isolates' takes 1",
        ),
    ],
)
def test_a_wrong_number_of_files_is_refused(tmp_path, changes, sentence):
    with pytest.raises(ConfigError, match=sentence):
        load_search_description(_description(tmp_path, **changes))


@pytest.mark.parametrize("key", ["actions", "results"])
def test_the_cohort_of_mimic_has_its_own_drugs_and_results(tmp_path, key):
    content = read_yaml(ROOT / "config/datasets/treatment/mimic3.yaml")
    turned = list(reversed(content[key]))
    content[key] = {name: content[key][name] for name in turned} if key == "actions" else turned
    path = tmp_path / "d.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    with pytest.raises(ConfigError, match=f"reader 'mimic3' knows one list of {key} only"):
        load_search_description(path)


def test_only_what_is_published_as_a_file_is_downloaded():
    described = load_search_description(ROOT / "config/datasets/treatment/mimic3_demo.yaml")
    assert all(locate_search_file(described, f, data_mirror=None) is None for f in described.files)


def _loaded(config):
    return load_treatment_study(effective(config), ROOT)


def test_the_default_draws_its_units():
    study = _loaded(DEFAULT)
    assert study.scenarios(simulated=False) == []
    assert study.scenarios(simulated=True) == ["synthetic"]
    assert set(study.compare_inputs("synthetic")) == {"description"}


def test_the_study_at_paper_size_is_valid():
    paper = read_yaml(ROOT / "config/paper_treatment.yaml")
    config = copy.deepcopy(DEFAULT)
    config["datasets"] |= paper["datasets"]
    config["treatment"]["scenarios"] |= paper["treatment"]["scenarios"]
    study = _loaded(config)
    assert len(study.scenarios(simulated=False)) == 4
    assert set(study.compare_inputs("ecoli_ast")) == {"units", "catalogue", "searches"}
    fetched = study.raw_inputs("mimic3_demo")["raw_0"]
    assert fetched.startswith("results/raw/dataset=mimic3_demo/MICROBIOLOGYEVENTS")
    settings = study.fetch_settings("mimic3_demo", Path(fetched).name)
    assert settings is not None
    assert settings["url"].endswith("MICROBIOLOGYEVENTS.csv")  # published plain: the last digest
    assert settings["sha256"].startswith("8cf3d20d")
    assert study.fetch_settings("mimic3_demo", "x") is None


def test_the_world_as_printed_is_valid():
    printed = read_yaml(ROOT / "config/paper_treatment_text.yaml")
    config = copy.deepcopy(DEFAULT)
    config["datasets"] |= printed["datasets"]
    config["treatment"]["scenarios"] |= printed["treatment"]["scenarios"]
    assert _loaded(config).scenarios(simulated=True) == ["synthetic", "as_printed"]


def _with_table(tmp_path):
    """The default with a table beside the world; its entry is `scenarios.own`."""
    config = copy.deepcopy(DEFAULT)
    config["datasets"]["own"] = str(_description(tmp_path))
    entry = copy.deepcopy(config["treatment"]["scenarios"]["synthetic"]) | {"dataset": "own"}
    entry["grids"].pop("sizes")
    entry["redraw_world"] = False
    entry["grids"]["sweep"] |= {
        "n_train": None,
        "outcome_models": ["smoothed"],
        "trial_prices": [0.35],
    }
    config["treatment"]["scenarios"]["own"] = entry
    return config, entry["grids"]["sweep"]


def test_a_table_has_no_true_model_and_no_world(tmp_path):
    config, sweep = _with_table(tmp_path)
    _loaded(config)
    config["treatment"]["scenarios"]["own"]["redraw_world"] = True
    with pytest.raises(ConfigError, match=r"own\.redraw_world is true; a table has no world"):
        _loaded(config)
    config["treatment"]["scenarios"]["own"]["redraw_world"] = False
    sweep["outcome_models"] = ["smoothed", "true"]
    with pytest.raises(ConfigError, match="names the true model"):
        _loaded(config)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f, s: f["tree"].update(delta=0.25), r"figures.tree.delta is 0.25, but .* 0.0, 0.1"),
        (lambda f, s: f["tree"].update(outcome_model="uninformed"), "figures.tree.outcome_model"),
        (lambda f, s: s.update(planners=["cg", "ndp"]), "figures.tree.planner is 'cdp'"),
        (lambda f, s: s.update(bounds=["exact"]), "figures.tree.bound is 'upper'"),
        (lambda f, s: f.update(delta=0.05), "figures.delta is 0.05"),
        (lambda f, s: f.update(trial_price=0.2), "figures.trial_price is 0.2"),
    ],
)
def test_policies_of_the_figures_must_be_in_the_sweep(tmp_path, change, sentence):
    config, sweep = _with_table(tmp_path)
    change(config["treatment"]["figures"], sweep)
    with pytest.raises(ConfigError, match=sentence):
        _loaded(config)
