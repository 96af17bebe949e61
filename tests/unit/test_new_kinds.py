"""A kind of agent or of imputer is one file: in its folder, every use of kinds takes it."""

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
from frugal.answer.stages.data import compare_imputers, prepare_data
from frugal.config.declared import block_of
from frugal.config.root import effective
from frugal.core import declarations
from frugal.core.declarations import PACKAGE
from frugal.core.errors import ConfigError
from frugal.core.studies import of_studies
from frugal.data.description import load_description
from frugal.learn import imputers
from frugal.learn.imputer_kinds import imputer_of
from frugal.run import own_table
from frugal.studies.diagnosis import figures
from frugal.studies.diagnosis.spec import load_diagnosis_study
from frugal.studies.diagnosis.stages.beliefs import tabulate_states, train_encoder, train_trees

from tests.defaults import DEFAULT
from tests.studies.dadi import fair_chain as fair
from tests.studies.diagnosis import diagnosis_chain as clinic
from tests.unit import test_agent_kinds as kinds
from tests.unit.bundled_cases import bundle_in, cases_in, telling_table
from tests.workflow.test_edits import RECIPES

pytestmark = pytest.mark.trains

ROOT = Path(__file__).parents[2]
FOLDER, KIND = "frugal.acquire.policies", "newcomer"
FILE = '''
"""The kind `newcomer`: a cascade by another name."""
from frugal.acquire.kinds import AgentKind
from frugal.acquire.policies.cascade import build, graph_of_windows, learn
from frugal.acquire.train.payoff import fit_for_cost


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
        "missing": ("MissingPanels", "how rows that lack panels are learned from", "blocked"),
        "gates": ("Count", "sets, at most"),
        "sets": ("Count", "tried, at most"),
        "price_weights": ("Count", "that are tried"),
    },
    doc="a cascade by another name",
    two_classes=True,
    acts_on_beliefs=True,
    graph=graph_of_windows,
    looks={"newcomer": (65, "the newcomer", "sky", "8")},
)
'''
FILLER_FOLDER, FILLER = "frugal.learn.imputers", "midpoint"
FILLER_FILE, _ = RECIPES["frugal/learn/imputers/midpoint.py"]
SETTINGS: dict[str, Any] = clinic._few(DEFAULT["diagnosis"]["agents"]["cascade"]) | {"kind": KIND}


def forget() -> None:
    """Nothing is kept of the folder as it was."""
    declarations.declared.cache_clear()
    block_of.cache_clear()
    core = [f"frugal.config.{name}" for name in ("declared", "afape")]
    for name in (*core, *of_studies("config").values(), "frugal.config.root"):
        importlib.reload(importlib.import_module(name))


@pytest.fixture(autouse=True)
def newcomers(tmp_path_factory):
    """The package with one more agent and one more imputer."""
    more: dict[str, dict[str, Path]] = {}
    real = declarations.modules_of
    with pytest.MonkeyPatch.context() as patch:
        for folder, package, name, text in (
            (FOLDER, policies, KIND, FILE),
            (FILLER_FOLDER, imputers, FILLER, FILLER_FILE),
        ):
            path = tmp_path_factory.mktemp("kinds") / f"{name}.py"
            path.write_text(text)
            more[folder] = {f"{folder}.{name}": path}
            patch.setattr(package, "__path__", [*package.__path__, str(path.parent)])
        patch.setattr(
            declarations, "modules_of", lambda folder: real(folder) | more.get(folder, {})
        )
        forget()
        yield
    forget()
    for name in (f"{FOLDER}.{KIND}", f"{FILLER_FOLDER}.{FILLER}"):
        sys.modules.pop(name, None)
    importlib.reload(figures)


@pytest.fixture(scope="module")
def given() -> dict[str, Any]:
    return kinds.blocked_records()


def with_newcomer(agent: dict[str, Any]) -> dict[str, Any]:
    """The default config with the kind in the three studies that train agents."""
    config = copy.deepcopy(DEFAULT)
    config["afape"]["agents"][KIND] = config["diagnosis"]["agents"][KIND] = agent
    config["dadi"]["agents"][agent["kind"]] = agent  # a name there begins with its kind
    config["diagnosis"]["scenarios"][0]["agents"].append(KIND)
    return config


def test_nothing_of_the_package_names_them():
    texts = {path: path.read_text().lower() for path in PACKAGE.rglob("*.py")}
    assert not [path for path, text in texts.items() if KIND in text or f'"{FILLER}"' in text]


def test_a_config_takes_it_in_three_studies_and_as_a_way_to_act():
    stacked = next(
        one for one in DEFAULT["diagnosis"]["agents"].values() if one["kind"] == "stacked"
    )
    acting = {k: v for k, v in SETTINGS.items() if k not in ("boosting", "linear", "missing")}
    for agent in (SETTINGS, stacked | {"acting": acting}):
        config = with_newcomer(agent)
        effective(config)
        names = {entry["dataset"] for entry in config["diagnosis"]["scenarios"]}
        described = {name: load_description(ROOT / config["datasets"][name]) for name in names}
        study = load_diagnosis_study(config, described)
        assert study.agent_settings(KIND, "f1")["agent"] == agent
    config = with_newcomer(SETTINGS | {"depth": 3})
    with pytest.raises(ConfigError, match="depth"):
        effective(config)


def test_figures_and_decide_know_it():
    looks = importlib.reload(figures)
    assert looks.method_style(KIND) == looks.Look("the newcomer", looks.style.SKY, "8")
    assert looks.method_order([KIND, "lattice", "cascade"]) == ["cascade", KIND, "lattice"]
    agents = {KIND: SETTINGS, "never": {"kind": "fixed", "panels": "none"}}
    described = load_description(ROOT / DEFAULT["datasets"]["clinical_simulator"])
    three = replace(described, label=replace(described.label, classes=("a", "b", "c")))
    (remark,) = own_table._without_learners(agents, three)
    assert f"policies {KIND} are left out" in remark
    assert agents[KIND] is None


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
        stacked = clinic.tiny_block()["agents"]
        agent = next(one for one in stacked.values() if one["kind"] == "stacked")
        inner = {k: v for k, v in SETTINGS.items() if k not in ("boosting", "linear", "missing")}
        agent = agent | {"acting": inner}
    data = clinic.run(prepare_data, None, {}, description=clinic.tiny_description(tmp_path))
    settings = {"name": KIND, "agent": agent, "criterion": "f1", "budget_shares": [0.1, 0.4, 1.0]}
    made = clinic.run(train_trees, settings, {"seed": "0", "trees": KIND}, **data)
    assert made["policies"].header["kind"] == agent["kind"]
    assert set(made["scores"]["method"]) == {KIND}


def test_dadi_audits_it():
    frame, catalogue = fair.loans()
    made = fair.run_fold(
        fair.study(agents={KIND: SETTINGS}), 0, {"table": frame, "catalogue": catalogue}
    )
    scores = made["scores"].set_index("method")
    assert scores.loc[KIND, "audit_auc"] >= 0.5
    assert scores.loc[KIND, "n"] == scores["n"].max()


def test_diagnosis_reads_states_through_a_new_encoder_and_compares_it(tmp_path):
    encoder = {"kind": FILLER, "share": 0.25}
    config = copy.deepcopy(DEFAULT)
    config["diagnosis"]["encoders"][FILLER] = {"kind": FILLER}
    config["diagnosis"]["imputer_comparison"]["imputers"][FILLER] = encoder
    config["diagnosis"]["scenarios"][0]["encoder"] = FILLER
    assert effective(config)["diagnosis"]["encoders"][FILLER]["share"] == 0.5
    data = clinic.run(prepare_data, None, {}, description=clinic.tiny_description(tmp_path))
    made = clinic.run(train_encoder, encoder, {"encoder": FILLER, "seed": "0"}, **data)
    assert list(made["validation"]["imputer"]) == [FILLER, "mean of the column"]
    imputer = imputer_of(made["encoder"], columns=len(made["encoder"]["middle"]))
    gaps = np.full((1, len(made["encoder"]["middle"])), np.nan)
    assert imputer.impute(gaps)[0].tolist() == made["encoder"]["middle"].tolist()
    states = clinic.run(
        tabulate_states,
        {"memory_gib": 1.0},
        {"encoder": FILLER, "seed": "0"},
        **data,
        encoder=made["encoder"],
    )
    assert set(states) == {"states"}
    settings = config["diagnosis"]["imputer_comparison"] | {
        "most_rows": 200,
        "seeds": [0],
        "imputers": {"mean": {"kind": "mean"}, FILLER: encoder},
    }
    compared = clinic.run(compare_imputers, settings, {}, **data)["comparison"]
    assert set(compared["imputer"]) == {"mean", FILLER}


def test_an_agent_of_afape_reads_through_a_new_encoder(given, tmp_path, monkeypatch):
    agent = kinds.SETTINGS["sm_ddpo"] | {"encoder": {"kind": FILLER, "share": 0.5}}
    monkeypatch.setitem(kinds.SETTINGS, "sm_ddpo", agent)
    policy = kinds.trained_file("sm_ddpo", given, tmp_path)
    folder = bundle_in(tmp_path / "bundle", agent, given, policy)
    known = np.zeros((len(telling_table()), 2), dtype=bool)
    cases = cases_in(tmp_path / "cases.csv", telling_table(), known)
    assert main(["advise", str(folder), str(cases), "--out", str(tmp_path / "out.csv")]) == 0
