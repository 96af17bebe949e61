"""The recourse block is checked before any job; its stages go from units to checked tables."""

import copy
import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frugal.__main__ import main
from frugal.config.root import effective
from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError
from frugal.core.streams import Streams
from frugal.studies.recourse.frames import labelled_of
from frugal.studies.recourse.instance import CoverInstance
from frugal.studies.recourse.spec import load_recourse_study
from frugal.studies.recourse.stages.answers import answer_units, recommend_actions
from frugal.studies.recourse.stages.tables import (
    FRONT,
    NUMBERS,
    check_recourse,
    label_units,
    summarise_recourse,
)

from tests.defaults import DEFAULT as CONFIG

pytestmark = pytest.mark.trains

ROOT = Path(__file__).parents[3]
STEPS = {"augmentation": "none", "epochs": 3, "batch": 64, "learning_rate": 0.1}
STEPS |= {"weight_decay": 0.0, "held_out_share": 0.1, "patience": 3}
SOURCE = {"kind": "simulated", "world": "dim_20", "draws": 1500, "feature_probability": 0.7}
SOURCE |= {"actions": 30, "action_probability": 0.5}
AUGMENTATION = {"per_unit": 3, "balanced_frequency": 9, "rare_frequency": 5, "leaky": False}
KEYS = {"dataset": "simulated", "variant": "tiny", "seed": "0", "subset": "all"}


def _quiet(rows, **_):
    return rows


def _run(stage, settings, **inputs):
    streams = Streams(1, stage.__name__, {"seed": "0"})
    return stage(context=Context(settings, streams), **inputs)


@pytest.fixture(scope="module")
def results():
    labels = _run(label_units, {"source": SOURCE, "most_actions": 3, "max_nodes": 10**6})
    settings = {
        "train_share": 0.8,
        "max_nodes": 10**6,
        "more_than": 0,
        "augmentation": AUGMENTATION,
        "generators": {
            "hamming_3": {"kind": "hamming", "augmentation": "none", "neighbours": 3},
            "seen_cover_ag2": {"kind": "seen_cover", "augmentation": "ag2"},
            "named_action": STEPS | {"kind": "named_action"},
        },
    }
    given = {name: labels[name] for name in ("labels", "instance", "names")}
    return labels, _run(answer_units, settings, **given)


def test_labels_have_certificates_and_every_unit_a_status(results):
    labels = results[0]["labels"]
    assert sum(results[0]["names"]["status"].values()) == len(labels)
    assert set(labels["label_status"]) <= {"labelled", "tied", "positive", "too_many_actions"}
    np.testing.assert_array_equal(labels["cheapest_cost"], labels["lower_bound"])


def test_tables_pass_their_checks_and_have_the_contracts_columns(results):
    labels, answered = results
    outcomes = answered["outcomes"].assign(**KEYS)
    keyed = labels["labels"].assign(**{k: KEYS[k] for k in ("dataset", "variant", "seed")})
    settings = {"bins": 5, "frequency_edges": [0, 1, 6]}
    tables = _run(summarise_recourse, settings, outcomes=outcomes, labels=keyed)
    assert list(tables["summary"].columns)[:10] == FRONT + NUMBERS
    rows = [[*KEYS.values(), name] for name in outcomes["generator"].unique()]
    given = {"summary": tables["summary"], "outcomes": outcomes, "labels": keyed}
    checks = _run(check_recourse, {"rows": rows}, **given)["checks"]
    assert checks["rows"] == len(tables["summary"])
    with pytest.raises(DataError, match="lacks or adds 1 results"):
        _run(check_recourse, {"rows": [*rows, [*KEYS.values(), "other"]]}, **given)
    spoiled = outcomes.assign(repaired_cost=0.0)
    with pytest.raises(DataError, match="no repaired answer is cheaper"):
        _run(check_recourse, {"rows": rows}, **(given | {"outcomes": spoiled}))


def test_outcomes_name_units_and_what_they_would_do(results):
    """Each row leads to its unit; the repaired actions make it positive, by the catalogue alone."""
    made, answered = results
    arrays, outcomes = made["instance"], answered["outcomes"]
    units = made["labels"].set_index("row_id").loc[outcomes["row_id"]]
    right = outcomes["answer"].to_numpy() == units["actions_chosen"].to_numpy()
    np.testing.assert_array_equal(right, outcomes["correct"])
    assert set(outcomes["row_id"]) < set(made["labels"]["row_id"])
    number = {name: i for i, name in enumerate(made["names"]["actions"])}
    features = units.filter(like="feature:").to_numpy(dtype=np.int64)
    for column, works in (("answer", outcomes["feasible"]), ("repaired", True)):
        taken = [[number[a] for a in words.split(";") if a] for words in outcomes[column]]
        reached = features + np.array([arrays["provides"][t].sum(axis=0) for t in taken])
        np.testing.assert_array_equal((reached >= arrays["thresholds"]).all(axis=1), works)
    assert (~outcomes["feasible"]).any()


def _units_file(path: Path, labels: pd.DataFrame) -> Path:
    features = labels.filter(like="feature:").astype(int)
    features.columns = [str(name).removeprefix("feature:") for name in features]
    features.insert(0, "unit", labels["row_id"].to_numpy())
    features.to_csv(path, index=False)
    return path


def test_a_fitted_generator_answers_new_units_and_no_answer_fails(results, tmp_path):
    made, answered = results
    outcomes = answered["outcomes"].query("generator == 'named_action'").set_index("row_id")
    labels = made["labels"]
    chosen = labels[labels["row_id"].isin(outcomes.index)]
    whole = chosen.iloc[:1].assign(row_id="whole")
    whole[list(chosen.filter(like="feature:"))] = True
    found = _run(
        recommend_actions,
        {"generator": "named_action", "max_nodes": 10**6},
        generators=answered["generators"],
        instance=made["instance"],
        names=made["names"],
        units=_units_file(tmp_path / "new.csv", pd.concat([chosen, whole])),
    )["recommendations"].set_index("row_id")
    again = found.loc[outcomes.index]
    for column in ("answer", "repaired", "confidence", "answer_cost", "repaired_cost"):
        pd.testing.assert_series_equal(again[column], outcomes[column], check_dtype=False)
    works = np.where(outcomes["feasible"], "works", "repaired")
    np.testing.assert_array_equal(again["answer_status"], works)
    assert found.loc["whole", "answer_status"] == "positive"
    assert found.loc["whole", "repaired"] == ""


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"generator": "named"}, "settings are generator and max_nodes; given are generator"),
        (
            {"generator": "nobody", "max_nodes": 9},
            "no generator 'nobody' here; there are hamming_3",
        ),
        ({"generator": "hamming_3", "max_nodes": 0}, "max_nodes is 0; it is a whole number from 1"),
    ],
)
def test_recommendations_refuse_what_they_cannot_do(results, tmp_path, settings, sentence):
    made, answered = results
    with pytest.raises(ConfigError, match=sentence):
        _run(
            recommend_actions,
            settings,
            generators=answered["generators"],
            instance=made["instance"],
            names=made["names"],
            units=tmp_path / "none.csv",
        )


def test_augmented_generator_learns_from_more_and_leaks_nothing(results):
    counts = results[1]["augmentation"]
    assert list(counts["generator"].unique()) == ["seen_cover_ag2"]
    assert (counts["leaked"] == 0).all()
    assert counts["derived"].sum() > 0
    whole = results[1]["outcomes"].groupby("generator")["correct"].mean()
    assert whole["seen_cover_ag2"] > whole["hamming_3"]


def test_a_stage_gives_the_same_twice(results):
    again = _run(label_units, {"source": SOURCE, "most_actions": 3, "max_nodes": 10**6})
    pd.testing.assert_frame_equal(again["labels"], results[0]["labels"])


def test_the_documented_command_solves_an_own_catalogue_and_says_refusals(
    tmp_path, monkeypatch, capsys
):
    page = (ROOT / "docs/reference/recourse.md").read_text("utf-8")
    command = page.split("```sh\n")[1].split("```")[0]
    words = shlex.split(command.replace("=mine/", f"={tmp_path}/"))
    assert words[:3] == ["python", "-m", "frugal"]
    monkeypatch.chdir(ROOT)
    assert main(words[3:]) == 0
    found = pd.read_parquet(tmp_path / "labels.parquet").set_index("row_id")
    assert capsys.readouterr().err.splitlines() == [
        "frugal label_units: unit 'bob' cannot be covered: no set of actions open to 'old' is "
        "enough for 'permit' (needs 1, all its actions together reach 0)"
    ]
    groups = json.loads((tmp_path / "names.json").read_text("utf-8"))["units"]
    assert groups == {"ann": "young", "bob": "old", "eve": "young"}
    assert found.loc["ann", "actions_chosen"] == "save_more;course;apply"
    assert found.loc["ann", "cheapest_cost"] == 11
    assert found.loc["bob", "label_status"] == "uncoverable"
    assert "cannot be covered" in str(found.loc["bob", "refusal"])


@pytest.mark.parametrize(
    ("amount", "threshold", "state", "sentence"),
    [
        (2, 1, 0, "an action adds 2, but generators learn yes/no features"),
        (1, 3, 0, "a feature needs 3, but generators"),
        (1, 1, 2, "a unit has 2, but generators"),
    ],
)
def test_amounts_are_never_learnt_as_yes_and_no(amount, threshold, state, sentence):
    instance = CoverInstance(
        np.ones(1), np.array([[amount, 1]]), np.array([threshold, 1]), np.ones((1, 1), dtype=bool)
    )
    labels = pd.DataFrame(
        {
            "label_status": ["labelled"],
            "feature:f": [0],
            "feature:g": [state],
            "chosen:0": [0],
            "cheapest_cost": [1.0],
            "optima": [1],
            "group": [0],
        }
    )
    with pytest.raises(DataError, match=sentence):
        labelled_of(labels, instance)


def _changed(**block):
    config = copy.deepcopy(CONFIG)
    config["recourse"] |= block
    return config


def _effective(**changes):
    return effective(_changed(**changes))


def test_the_default_names_every_file():
    study = load_recourse_study(CONFIG, ROOT)
    assert len(study.outcome_files("outcomes.parquet")) == 4
    assert study.label_inputs("simulated", "dim_20") == {}
    assert set(study.label_inputs("example", "own")) == {"catalogue", "units"}
    assert study.outside_folders().endswith("docs/examples")
    wanted = study.wanted_rows()
    assert ["simulated", "dim_20", "0", "all", "hamming"] in wanted


def test_a_config_that_only_solves_is_refused_with_the_way_out():
    scenarios = copy.deepcopy(CONFIG["recourse"]["scenarios"])
    with pytest.raises(ConfigError, match=r"by hand, as docs/reference/recourse\.md shows"):
        load_recourse_study(_effective(scenarios=scenarios[-1:]), ROOT)
    half = scenarios[0] | {"generators": []}
    with pytest.raises(ConfigError, match=r"scenarios\[0\] has generators or subsets, but not"):
        load_recourse_study(_effective(scenarios=[half]), ROOT)


def test_a_scenario_twice_is_refused():
    scenario = CONFIG["recourse"]["scenarios"][0]
    with pytest.raises(ConfigError, match="occurs twice there"):
        load_recourse_study(_effective(scenarios=[scenario, scenario]), ROOT)
