"""Every kind of agent: trained on blocked records, stored in one file, asked with nothing else."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from frugal.__main__ import main
from frugal.acquire.advice import advise_next
from frugal.acquire.bundles import read_bundle
from frugal.acquire.kinds import KINDS, build_policy, load_policy
from frugal.acquire.rollouts import decision_probabilities, roll_out
from frugal.acquire.set_probability import afa_propensity_and_chance
from frugal.answer.stages.agents import train_agent
from frugal.answer.stages.data import fit_classifier
from frugal.config.declared import block_of, is_filed, learns
from frugal.config.root import effective
from frugal.core.context import Context
from frugal.core.declarations import declared
from frugal.core.episodes import Policy
from frugal.core.errors import ConfigError, DataError
from frugal.core.layout import Layout
from frugal.core.streams import Streams
from frugal.core.world import World
from frugal.data.cases import Cases
from frugal.data.tables import table_to_frames
from frugal.results.files import payload_bytes, read_payload, write_bytes
from frugal.run.config_files import laid_over

from tests.defaults import DEFAULT, shipped
from tests.unit.afape_chain import CLASSIFIER, draw, run_chain, small_table
from tests.unit.bundled_cases import (
    FUNCTION,
    UNTRAINED,
    bundle_in,
    cases_in,
    rolled_out,
    telling_table,
)

pytestmark = pytest.mark.trains

ROOT = Path(__file__).parents[2]
LAW = {
    "P2": {"intercept": 1.0, "values": {"X1": 0.5}},
    "P3": {"intercept": 0.5, "values": {"X2": -0.5}},
}
EXPORTED = (
    "cascade",
    "fixed",
    "fixed_set",
    "permutation",
    "rule",
)  # kinds that `decide` tries, and those of a person
BY_VALUES = sorted(set(KINDS) - {"table"})  # which knows rows of its table alone
TRAINED = sorted(kind.name for kind in KINDS.values() if kind.fit is not None)


def small(settings: dict[str, Any]) -> dict[str, Any]:
    """The default's settings, with less training."""
    less = {"transitions": 3000, "memory": 3000, "learning_starts": 200, "outer_loops": 3}
    less |= {"watched_units": 50, "validate_every": 1, "updates": 60, "units": 30, "neighbours": 5}
    less |= {"pretraining_iterations": 20, "iterations": 20, "exploration_iterations": 10}
    less |= {"evaluate_every": 20, "evaluated_rows": 20, "steps": 128, "trees": 20}

    def shrunk(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {k: shrunk(v, k) for k, v in value.items()}
        return less.get(name, value) if not isinstance(value, str) else value

    return shrunk(settings)


def quick(kind: str) -> dict[str, Any]:
    """Of a kind; rollouts of stable-baselines3 end after so many steps of all episodes."""
    settings = small(next(s for s in CONFIG.values() if s["kind"] == kind))
    if kind == "sb3":
        settings |= {"steps": 256, "episodes": 16}
        settings["arguments"] |= {"n_steps": 8, "batch_size": 64}
    return settings


def configured(name: str) -> dict[str, Any]:
    """Agents of a config that learn or act."""
    block = effective(laid_over(DEFAULT, shipped(name)))["afape"]["agents"]
    return {name: agent for name, agent in block.items() if agent}


CONFIG = configured("config.yaml") | configured("config/every_agent.yaml")
SETTINGS = {kind: quick(kind) for kind in TRAINED}


@pytest.fixture(scope="module")
def given() -> dict[str, Any]:
    return blocked_records()


def blocked_records() -> dict[str, Any]:
    """Table, classifier and masks, from which every kind learns."""
    table = telling_table()
    parts = np.repeat(["train", "agent", "test"], [80, 80, 80])
    group = (table.values[:, 0] > 0).astype(np.int64)
    frame, catalogue = table_to_frames(table, parts)
    frame = frame.assign(sensitive=group)
    catalogue = catalogue | {"groups": ["low", "high"]}
    drawn = draw(table, LAW, source="induced")
    context = Context(CLASSIFIER, Streams(1, "fit_classifier", {}))
    stored = {"table": frame, "catalogue": catalogue}
    classifier = fit_classifier(**stored, context=context)["classifier"]
    return stored | {"classifier": classifier, "masks": drawn["masks"]}


def trained_file(kind: str, given: dict[str, Any], folder: Path) -> Path:
    made = train_agent(
        **given, context=Context(SETTINGS[kind], Streams(1, "train_agent", {"agent": kind}))
    )
    path = folder / f"{kind}.safetensors"
    write_bytes(path, payload_bytes(path, made["policy"]))
    return path


@pytest.fixture(scope="module")
def files(given, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("policies")
    return {kind: trained_file(kind, given, folder) for kind in TRAINED}


def test_a_declaration_says_without_import_what_the_object_says():
    said = declared("frugal.acquire.policies", "AgentKind")
    assert set(said) == set(KINDS)
    for name, kind in KINDS.items():
        assert kind.name == name == said[name].module.rsplit(".", 1)[1]
        assert said[name].literals["settings"] == kind.settings
        assert learns(name) == (kind.fit is not None) == (name in TRAINED)
        assert is_filed(name) == kind.file


def test_the_config_takes_the_settings_of_every_kind_and_no_others():
    for name, kind in KINDS.items():
        assert {"kind", *kind.settings} <= set(block_of(name).model_fields)


@pytest.mark.parametrize("kind", TRAINED)
def test_a_bundle_is_requested_with_nothing_else_and_answers_as_on_its_table(kind, files):
    table, stored = small_table(), read_payload(files[kind])
    alone, layout = load_policy(stored)
    assert isinstance(alone, Policy)
    assert layout == Layout.of(table)
    beside = build_policy(SETTINGS[kind], table=table, stored=stored)
    world = World.of_table(table)
    uniforms = np.random.default_rng(0).random((len(table), 3))
    one, two = (roll_out(policy, world, uniforms=uniforms) for policy in (alone, beside))
    np.testing.assert_array_equal(one.acquired, two.acquired)
    if one.verdict is not None:
        np.testing.assert_array_equal(one.verdict, two.verdict)
        np.testing.assert_allclose(one.verdict.sum(axis=2), 1, atol=1e-6)


@pytest.mark.parametrize("kind", TRAINED)
def test_a_bundle_never_acquires_what_is_blocked_nor_reads_what_is_hidden(kind, files):
    table = small_table()
    policy, _ = load_policy(read_payload(files[kind]))
    rng = np.random.default_rng(1)
    available = rng.random((len(table), 2)) < 0.5
    world = World.of_table(table, available=available)
    uniforms = rng.random((len(table), 3))
    plain = roll_out(policy, world, uniforms=uniforms)
    assert not (plain.acquired[0] & ~available).any()
    poisoned = small_table()
    poisoned.values[~world.known(available)] = 1e3
    again = roll_out(policy, World.of_table(poisoned, available=available), uniforms=uniforms)
    np.testing.assert_array_equal(plain.acquired, again.acquired)


def policy_of(kind, files, table):
    """A policy of any kind: from its file if it learns."""
    if kind in TRAINED:
        return load_policy(read_payload(files[kind]))[0]
    stored = FUNCTION if kind == "python" else None
    return build_policy(UNTRAINED[kind], table=table, stored=stored)


@pytest.mark.parametrize("kind", BY_VALUES)
def test_a_kind_that_says_so_chooses_among_fewer_panels_as_among_more(kind, files):
    """What it takes among both panels it takes where the other cannot be had; a stop stays one."""
    table = telling_table()
    policy = policy_of(kind, files, table)
    if not policy.traits.consistent:
        assert kind in {"aaco", "python", "random", "sm_ddpo", "sb3", "dadi"}
        return
    free = World.of_table(table)
    nothing, rows = np.zeros((len(table), 2), dtype=bool), np.arange(len(table))
    among = {
        fewer: decision_probabilities(
            policy,
            free,
            row=rows,
            acquired=nothing,
            available=np.broadcast_to(np.array(fewer), nothing.shape),
        )
        for fewer in ((True, True), (True, False), (False, True))
    }
    best = among[True, True].argmax(axis=1)
    assert among[True, True].max(axis=1) == pytest.approx(np.ones(len(table)))
    for j, fewer in enumerate([(True, False), (False, True)]):
        same = (best == j) | (best == 2)
        np.testing.assert_array_equal(among[fewer].argmax(axis=1)[same], best[same])


@pytest.mark.parametrize("kind", BY_VALUES)
def test_one_walk_states_of_every_consistent_kind_what_the_sums_do(kind, files, monkeypatch):
    table = telling_table()
    policy = policy_of(kind, files, table)
    patterns = np.array([[False, False], [False, True], [True, False], [True, True]])
    of_each = np.repeat(patterns, len(table), axis=0)
    world = World.of_table(table).take(np.tile(np.arange(len(table)), len(patterns)))
    asked: dict[str, Any] = {
        "target": of_each,
        "patterns": patterns,
        "pattern_probability": np.full((len(of_each), len(patterns)), 0.25),
        "s": np.zeros(2, dtype=bool),
    }
    walked = afa_propensity_and_chance(policy, world, **asked)
    assert np.isfinite(walked[0]).any()
    monkeypatch.setattr(type(policy), "traits", replace(policy.traits, consistent=False))
    np.testing.assert_array_equal(walked, afa_propensity_and_chance(policy, world, **asked))


@pytest.mark.parametrize("kind", TRAINED)
def test_training_again_gives_the_same_bytes(kind, given, files, tmp_path):
    assert trained_file(kind, given, tmp_path).read_bytes() == files[kind].read_bytes()


def test_a_bundle_refuses_another_table_in_one_sentence(files):
    from dataclasses import replace

    table, stored = small_table(), read_payload(files["dqn"])
    panels = tuple(replace(p, name="P9") if p.name == "P2" else p for p in table.panels)
    with pytest.raises(DataError, match=r"panels to acquire 'P2', which the table lacks.*'P9'"):
        build_policy(SETTINGS["dqn"], table=replace(table, panels=panels), stored=stored)
    with pytest.raises(DataError, match="made for the classes"):
        build_policy(SETTINGS["dqn"], table=replace(table, classes=("a", "b")), stored=stored)


def test_a_file_without_a_header_is_refused(files, tmp_path):
    path = tmp_path / "policy.safetensors"
    write_bytes(path, payload_bytes(path, dict(read_payload(files["dqn"]))))
    with pytest.raises(DataError, match="has no header"):
        load_policy(read_payload(path))


def test_a_kind_that_does_not_learn_is_not_trained(given):
    with pytest.raises(ConfigError, match="does not learn"):
        train_agent(
            **given,
            context=Context({"kind": "random", "probability": 0.5}, Streams(1, "train_agent", {})),
        )


def test_an_agent_is_judged_alike_whoever_stands_next_to_it():
    half = {"half": {"kind": "random", "probability": 0.5}}
    others = half | {"always": {"kind": "fixed", "panels": "all"}}
    network = {
        "method": "network",
        "outcome_method": "network",
        "network": {
            "hidden": 4,
            "layers": 1,
            "epochs": 2,
            "batch": 64,
            "learning_rate": 0.01,
            "ridge": 0.0,
        },
    }
    alone, beside = (
        run_chain(small_table(), LAW, source="induced", agents=agents, nuisance=network)
        for agents in (half, others)
    )
    one = alone.estimates["estimates"]
    two = beside.estimates["estimates"]
    two = two[two["agent"] == "half"].reset_index(drop=True)
    # batched sums of float32 networks and of solvers round otherwise
    np.testing.assert_allclose(one["estimate"], two["estimate"], rtol=1e-7)


def test_kinds_that_take_a_file_say_so():
    assert [kind.name for kind in KINDS.values() if is_filed(kind.name)] == [
        kind.name for kind in KINDS.values() if "file" in kind.settings
    ]


@pytest.mark.parametrize("kind", BY_VALUES)
def test_advice_is_the_roll_out_on_every_row_of_every_kind(kind, given, files, tmp_path):
    """From the bundle and a CSV alone: in the records, and where all can be had."""
    table = telling_table()
    settings = SETTINGS[kind] if kind in SETTINGS else UNTRAINED[kind]
    policy = FUNCTION if kind == "python" else files.get(kind)
    decisions, outcomes = rolled_out(settings, given, table, LAW, policy)
    bundle = bundle_in(tmp_path / "bundle", settings, given, policy)
    masks = given["masks"]
    observed = masks[["observed:P2", "observed:P3"]].to_numpy()
    own = ["--function", str(FUNCTION)] if kind == "python" else []
    for world, known in (("blocked", observed), ("full", np.ones_like(observed))):
        path, out = cases_in(tmp_path / "cases.csv", table, known), tmp_path / "out.csv"
        words = ["advise", str(bundle), str(path), "--simulate", "--rollout", "0", *own]
        assert main([*words, "--out", str(out)]) == 0
        advice = pd.read_csv(out, keep_default_na=False)
        rows = decisions[decisions["world"] == world]
        mine = advice[advice["unit"].isin(rows["row_id"])]
        assert len(mine) == len(rows)
        assert mine["unit"].tolist() == rows["row_id"].tolist()
        assert mine["next"].tolist() == [["P2", "P3", "stop"][j] for j in rows["action"]]
        last = mine[mine["next"] == "stop"].set_index("unit")
        ends = outcomes[outcomes["world"] == world].set_index("row_id").loc[last.index]
        assert (last["predicted"] == np.array(["no", "yes"])[ends["verdict"]]).all()
        np.testing.assert_allclose(last["cost_so_far"], ends["acquisition_cost"])
        if kind != "sm_ddpo":  # its actor says the class
            belief, threshold = (last[c].astype(float) for c in ("belief yes", "threshold"))
            sure = (belief - threshold).abs() > 1e-6
            assert ((belief > threshold) == (last["predicted"] == "yes"))[sure].all()
        if "score stop" in mine and kind != "sb3":  # which draws here
            panels = mine[mine["next"] != "stop"]
            of = panels[["score P2", "score P3"]].astype(float)
            assert (of.idxmax(axis=1) == "score " + panels["next"]).all()
            assert (of.max(axis=1) >= panels["score stop"].astype(float)).all()
        assert mine["why"].str.len().min() > 0
    if kind == "cascade":  # which says all of it without units
        assert main(["describe", str(bundle)]) == 0


@pytest.mark.parametrize("kind", BY_VALUES)
def test_a_graph_says_what_the_policy_says_or_is_refused(kind, given, files, tmp_path, capsys):
    settings = SETTINGS[kind] if kind in SETTINGS else UNTRAINED[kind]
    policy = FUNCTION if kind == "python" else files.get(kind)
    folder = bundle_in(tmp_path / "bundle", settings, given, policy)
    path = tmp_path / "model.onnx"
    if kind not in EXPORTED:
        assert main(["export", str(folder), str(path)]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        return
    assert main(["export", str(folder), str(path)]) == 0
    import onnxruntime

    bundle = read_bundle(folder)
    rng, n = np.random.default_rng(3), 400
    values = rng.normal(size=(n, 4))
    values[rng.random((n, 4)) < 0.1] = np.nan
    values[:, 0] = np.nan_to_num(values[:, 0])
    acquired = rng.random((n, 2)) < 0.4
    available = acquired | (rng.random((n, 2)) < 0.8)
    cases = Cases("line", [str(k) for k in range(n)], values, acquired, [""] * n)
    advice = advise_next(bundle, cases, available=available, uniforms=np.zeros((n, 3)))
    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    states = {"values": values, "acquired": acquired, "available": available}
    law, belief = map(np.asarray, session.run(["probabilities", "belief"], states))
    np.testing.assert_allclose(law, advice.states.action_probability, atol=1e-5)
    np.testing.assert_allclose(belief, advice.probability, atol=1e-5)
    assert len(np.unique(law.round(6), axis=0)) > 1


def test_what_knows_rows_alone_has_no_bundle(given, tmp_path):
    states = pd.DataFrame({"row": [0], "acquired": [[]], "action": ["stop"], "probability": [1.0]})
    settings = {"kind": "table", "file": "states.parquet", "dataset": "d"}
    with pytest.raises(ConfigError, match="it has no answer to a new case"):
        bundle_in(tmp_path / "bundle", settings, given, states)
