"""`label_units` by hand on one's own catalogue: a fault is one sentence, and exit status 2."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from frugal.__main__ import main
from frugal.core.context import Context
from frugal.core.errors import ConfigError
from frugal.core.streams import Streams
from frugal.studies.recourse.config import LabelSettings
from frugal.studies.recourse.stages.tables import label_units

from tests.defaults import DEFAULT

ROOT = Path(__file__).parents[3]
ACTIONS = (ROOT / "docs/examples/recourse_actions.csv").read_bytes()
UNITS = (ROOT / "docs/examples/recourse_units.csv").read_bytes()
SETTINGS = {"source": {"kind": "own"}, "most_actions": 3, "max_nodes": 10**6}
BOB = (
    "frugal label_units: unit 'bob' cannot be covered: no set of actions open to 'old' is enough "
    "for 'permit' (needs 1, all its actions together reach 0)"
)
NO_GROUPS = b"action,cost,savings,skills,permit\nthreshold,,3,1,1\nall,1,3,1,1\n"


@pytest.fixture
def by_hand(tmp_path, capsys):
    def run(*, settings=SETTINGS, **files):
        words = ["label_units", "--seed", "0", "--settings", json.dumps(settings)]
        for name, content in ({"catalogue": ACTIONS, "units": UNITS} | files).items():
            if content is not None:
                (tmp_path / f"{name}.csv").write_bytes(content)
                words += ["--input", f"{name}={tmp_path / name}.csv"]
        for name in ("labels.parquet", "instance.safetensors", "names.json"):
            words += ["--output", f"{name.split('.')[0]}={tmp_path / name}"]
        status = main(words)
        return status, capsys.readouterr().err.splitlines()

    return run


def _refused(done, sentence):
    status, said = done
    assert status == 2
    assert len(said) == 1
    assert said[0].startswith("frugal label_units: ")
    assert sentence in said[0]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"units": None}, "source.kind 'own' needs the input 'units' (--input units=PATH); given"),
        ({"catalogue": None}, "needs the input 'catalogue' (--input catalogue=PATH); given are un"),
        ({"rules": b""}, "source.kind 'own' reads no input 'rules'; it reads catalogue, units"),
        ({"unit": b""}, "reads no input 'unit'; it reads catalogue, units; did you mean 'units'?"),
    ],
)
def test_files_of_another_source_are_refused(by_hand, given, sentence):
    _refused(by_hand(**given), sentence)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"max_nodes": 0}, "settings: 'max_nodes' is 0; allowed are values from 1 on"),
        ({"most_actions": "3"}, "settings: 'most_actions' is '3'; allowed is a whole number"),
        ({"most": 3}, "settings: unknown key 'most' at top level; allowed are source, most_act"),
        ({"source": {"kind": "onw"}}, "'source.kind' is 'onw'; allowed are simulated, table, own"),
        ({"source": {"kind": "own", "draws": 3}}, "unknown key 'draws' under 'source'; allowed"),
        ({"source": {}}, "settings: key 'kind' is missing under 'source'"),
    ],
)
def test_settings_that_the_config_would_not_allow_are_refused(by_hand, change, sentence):
    _refused(by_hand(settings=SETTINGS | change), sentence)


def test_settings_of_the_workflow_pass():
    block = DEFAULT["recourse"]
    common = {k: block[k] for k in ("most_actions", "max_nodes")}
    for entry in block["scenarios"]:
        LabelSettings.check(common | {"source": entry["source"]})
    with pytest.raises(ConfigError, match="key 'world' is missing under 'source'"):
        LabelSettings.check(common | {"source": {"kind": "simulated"}})


def test_files_of_a_spreadsheet_and_quoted_marks_are_read(by_hand, tmp_path):
    """A byte order mark is no part of the first column's name; a quoted '#' is part of a name."""
    mark = b"\xef\xbb\xbf"
    units = UNITS.replace(b"ann", b'"#ann"')
    assert by_hand(catalogue=mark + ACTIONS, units=mark + units) == (0, [BOB])
    labels = pd.read_parquet(tmp_path / "labels.parquet")
    assert list(labels["row_id"]) == ["#ann", "bob", "eve"]


def test_a_group_on_one_side_only_is_stated_and_does_not_change_the_labels(by_hand, tmp_path):
    status, said = by_hand(catalogue=ACTIONS.replace(b"young;old", b"young;old;yuong"))
    assert status == 0
    assert said[0].endswith(
        "catalogue.csv names the group 'yuong', and no unit of units.csv is in it; its units are "
        "in old, young; did you mean 'young'?"
    )
    assert said[1:] == [BOB]
    labels = pd.read_parquet(tmp_path / "labels.parquet")
    assert list(labels["label_status"]) == ["labelled", "uncoverable", "positive"]
    status, said = by_hand(catalogue=NO_GROUPS)
    assert status == 0
    assert said == [
        "frugal label_units: units.csv has the groups young, old, but no action of catalogue.csv "
        "names a group, so every action is open to every unit"
    ]
    labels = pd.read_parquet(tmp_path / "labels.parquet")
    assert list(labels["label_status"]) == ["labelled", "labelled", "positive"]


APPLICATION = "A14 6 A34 A43 1169 A63 A73 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1\n"
CHANGES = [
    ("A14", "A12"),
    ("A14", "A13"),
    ("A63", "A64"),
    ("A73", "A74"),
    ("A73", "A75"),
    ("A121", "A122"),
    (" 6 ", " 36 "),
]


def test_a_real_table_names_the_unit_of_its_costs_and_wrong_rules_are_refused(tmp_path):
    rules = ROOT / "config/recourse/german_credit.yaml"
    text = (ROOT / "config/datasets/german_credit.yaml").read_text("utf-8")
    described, raw = tmp_path / "described.yaml", tmp_path / "german.data"
    described.write_text(
        re.sub(r"\n +(url|sha256): .*", "", text).replace("kind: download", "kind: path"), "utf-8"
    )
    raw.write_text(APPLICATION + "".join(APPLICATION.replace(*pair, 1) for pair in CHANGES))

    def labelled(**files):
        given = {"rules": rules, "description": described, "raw_0": raw} | files
        settings = SETTINGS | {"source": {"kind": "table"}}
        streams = Streams(0, "label_units", {})
        return label_units(context=Context(settings, streams), **given)

    found = labelled()
    assert found["names"]["cost_unit"] == "month of effort (assumed)"
    assert list(found["labels"]["cheapest_cost"]) == [0.0] * 7 + [3.5]  # a shorter term
    other = tmp_path / "rules.yaml"
    other.write_text(rules.read_text("utf-8").replace("dataset: german_credit", "dataset: adult"))
    with pytest.raises(ConfigError, match="is written for the data set 'adult', and"):
        labelled(rules=other)
    with pytest.raises(ConfigError, match=r"described.yaml names the files .*; given are raw_0, r"):
        labelled(raw_1=raw)
