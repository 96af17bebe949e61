"""A kind of agent is one file: once it is in the folder, every use of kinds takes it."""

import copy
import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frugal.__main__ import main
from frugal.acquire import policies
from frugal.config.declared import declared_kinds
from frugal.config.root import effective
from frugal.core import declarations
from frugal.core.errors import ConfigError
from frugal.core.sources import PACKAGE
from frugal.data.description import load_description
from frugal.run import job_sizes, own_table
from frugal.studies.diagnosis.config_checks import load_diagnosis_study
from frugal.studies.diagnosis.figures import style
from frugal.studies.diagnosis.stages.train_trees import train_trees
from frugal.studies.shared.stages.prepare_data import prepare_data

from tests.defaults import DEFAULT
from tests.unit import diagnosis_chain as clinic
from tests.unit import test_agent_kinds as kinds
from tests.unit.bundled_cases import bundle_in, cases_in, telling_table

pytestmark = pytest.mark.trains

ROOT = Path(__file__).parents[2]
FOLDER, KIND = "frugal.acquire.policies", "newcomer"
FILE = '''
"""The kind `newcomer`: a cascade by another name."""
from frugal.acquire.kinds import AgentKind
from frugal.acquire.policies.cascade import build, learn
from frugal.acquire.train.for_cost import fit_for_cost


def fit(ground, settings):
    return fit_for_cost("newcomer", learn, ground, settings)


NEWCOMER = AgentKind(
    name="newcomer",
    build=build,
    fit=fit,
    front=learn,
    settings={
        "boosting": ("BoostingSettings", "the trees", {"leaves": 4}),
        "linear": ("bool", "whether a regression is averaged with the trees", False),
        "gates": ("Count", "sets, at most"),
        "sets": ("Count", "tried, at most"),
        "price_weights": ("Count", "that are tried"),
    },
    doc="a cascade by another name",
    two_classes=True,
    acts_on_beliefs=True,
    steps=(("gates", "sets"), ("boosting.trees",)),
    graph="belief_windows",
    looks={"newcomer": (65, "the newcomer", "sky", "8")},
)
'''
SETTINGS: dict[str, Any] = clinic._few(DEFAULT["diagnosis"]["trees"]["cascade"]) | {"kind": KIND}


def forget() -> None:
    """Nothing is kept of the folder as it was."""
    declarations.declared.cache_clear()
    for name in ("kinds", "afape", "dadi", "diagnosis", "recourse", "treatment", "root"):
        importlib.reload(importlib.import_module(f"frugal.config.{name}"))


@pytest.fixture(autouse=True)
def newcomer(tmp_path_factory):
    """The package with one more file."""
    path = tmp_path_factory.mktemp("policies") / f"{KIND}.py"
    path.write_text(FILE)
    real = declarations.modules_of
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policies, "__path__", [*policies.__path__, str(path.parent)])
        patch.setattr(
            declarations, "modules_of",
            lambda folder: real(folder) | ({f"{FOLDER}.{KIND}": path} if folder == FOLDER else {}),
        )  # fmt: skip
        forget()
        yield
    forget()
    sys.modules.pop(f"{FOLDER}.{KIND}", None)
    importlib.reload(style)


@pytest.fixture(scope="module")
def given() -> dict[str, Any]:
    return kinds.blocked_records()


def with_newcomer(agent: dict[str, Any]) -> dict[str, Any]:
    """The default config with the kind in both studies that train agents."""
    config = copy.deepcopy(DEFAULT)
    config["afape"]["agents"][KIND] = config["diagnosis"]["trees"][KIND] = agent
    config["diagnosis"]["scenarios"][0]["trees"].append(KIND)
    return config


def test_nothing_of_the_package_names_it():
    assert not [path for path in PACKAGE.rglob("*.py") if KIND in path.read_text().lower()]


def test_a_config_takes_it_in_both_studies_and_as_a_way_to_act():
    stacked = next(
        one for one in DEFAULT["diagnosis"]["trees"].values() if one["kind"] == "stacked"
    )
    acting = {k: v for k, v in SETTINGS.items() if k not in ("boosting", "linear")}
    for agent in (SETTINGS, stacked | {"acting": acting}):
        config = with_newcomer(agent)
        effective(config)
        names = {entry["dataset"] for entry in config["diagnosis"]["scenarios"]}
        described = {name: load_description(ROOT / config["datasets"][name]) for name in names}
        study = load_diagnosis_study(config, described)
        assert study.tree_settings(KIND, "f1")["agent"] == agent
    config = with_newcomer(SETTINGS | {"depth": 3})
    with pytest.raises(ConfigError, match="depth"):
        effective(config)


def test_the_plan_and_figures_and_decide_know_it():
    steps = job_sizes._steps(declared_kinds()[KIND], SETTINGS)
    assert steps == SETTINGS["gates"] * SETTINGS["sets"] + SETTINGS["boosting"]["trees"]
    looks = importlib.reload(style)
    assert looks.method_style(KIND) == looks.Look("the newcomer", looks.style.SKY, "8")
    assert looks.method_order([KIND, "lattice", "cascade"]) == ["cascade", KIND, "lattice"]
    own = {"afape": {"agents": {KIND: SETTINGS, "never": {"kind": "fixed", "panels": "none"}}}}
    described = load_description(ROOT / DEFAULT["datasets"]["clinical_simulator"])
    three = replace(described, label=replace(described.label, classes=("a", "b", "c")))
    (remark,) = own_table._without_learners(own, three)
    assert f"policies {KIND} are left out" in remark
    assert own["afape"]["agents"][KIND] is None


def test_afape_trains_bundles_and_exports_it(given, tmp_path, monkeypatch):
    monkeypatch.setitem(kinds.SETTINGS, KIND, SETTINGS)
    policy = kinds.trained_file(KIND, given, tmp_path)
    folder = bundle_in(tmp_path / "bundle", SETTINGS, given, policy)
    known = np.ones((len(telling_table()), 2), dtype=bool)
    cases = cases_in(tmp_path / "cases.csv", telling_table(), known)
    assert main(["advise", str(folder), str(cases), "--out", str(tmp_path / "out.csv")]) == 0
    assert main(["export", str(folder), str(tmp_path / "model.onnx")]) == 0


@pytest.mark.parametrize("acts", [False, True])
def test_diagnosis_learns_a_front_of_it(tmp_path, acts):
    agent = SETTINGS
    if acts:
        stacked = clinic.tiny_block()["trees"]
        agent = next(one for one in stacked.values() if one["kind"] == "stacked")
        inner = {k: v for k, v in SETTINGS.items() if k not in ("boosting", "linear")}
        agent = agent | {"acting": inner}
    data = clinic.run(prepare_data, None, {}, description=clinic.tiny_description(tmp_path))
    settings = {
        "name": KIND, "agent": agent, "criterion": "f1", "budget_shares": [0.1, 0.4, 1.0],
    }  # fmt: skip
    made = clinic.run(train_trees, settings, {"seed": "0", "trees": KIND}, **data)
    assert made["policies"].header["kind"] == agent["kind"]
    assert set(made["scores"]["method"]) == {KIND}
