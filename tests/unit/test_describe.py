"""What a trained policy does, in a few lines: rules that are known are told as they are."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frugal.__main__ import main
from frugal.acquire.kinds import Learned
from frugal.acquire.policies import cascade
from frugal.acquire.policies.dqn import QPolicy
from frugal.core.layout import Bundle, bundle_header
from frugal.core.table import Table
from frugal.core.world import World
from frugal.data.tables import table_to_frames
from frugal.learn.short_trees import LEAVES, FeatureWords, fit_short_tree
from frugal.results.files import payload_bytes
from frugal.studies.field.policies import lattice

from tests.unit import tree_agent_cases as cases

N = 1500
CASCADE = {"kind": "cascade", "missing": "blocked", "boosting": cases.BOOSTING, **cases.CASCADE}
LATTICE = {"kind": "lattice", "boosting": cases.BOOSTING, **cases.LATTICE}
DQN: dict[str, Any] = {"kind": "dqn", "hidden": [], "double": True, "dueling": False}
DQN |= {"huber_bound": None, "learning_rate": 0.1, "learning_rate_last": 0.1, "discount": 1.0}
DQN |= {"batch": 1, "memory": 1, "learning_starts": 1, "transitions_per_update": 1}
DQN |= {"target_every": 1, "exploration_share": 0.0, "epsilon_first": 0.0, "epsilon_last": 0.0}
DQN |= {"max_gradient_norm": 1.0, "episodes": 1, "transitions": 2, "start": "free", "moments": 1}


def table_in(folder: Path, world: World) -> str:
    """The world's units as a prepared table."""
    layout = cases.layout_of(world)
    shown = np.where(world.known(world.available), world.values, np.nan)
    table = Table(
        world.row_id,
        shown,
        layout.columns,
        (),
        world.label,
        layout.classes,
        layout.panels,
        1 - np.eye(2),
    )
    frame, catalogue = table_to_frames(table, np.full(len(world), "test"))
    for name, payload in (("table.parquet", frame), ("catalogue.json", catalogue)):
        (folder / name).write_bytes(payload_bytes(folder / name, payload))
    return str(folder)


def stored(path: Path, settings, arrays, world: World) -> str:
    header = bundle_header(settings["kind"], settings, cases.layout_of(world), "0" * 64)
    path.write_bytes(payload_bytes(path, Bundle(header, dict(arrays))))
    return str(path)


def learnt(kind, world: World, settings, budgets) -> Learned:
    rows, aim = cases.rows_of(world), cases.objective("f1", world)
    return kind.learn(rows, aim, settings, np.array(budgets))


@pytest.fixture(scope="module")
def open_world() -> World:
    return cases.open_world(N, 0)


@pytest.fixture(scope="module")
def network(tmp_path_factory, open_world) -> tuple[str, str]:
    """Orders p0 for groups 1 and 2, nothing else, and the folder of its units."""
    folder = tmp_path_factory.mktemp("network")
    weight = np.zeros((5, 3), dtype=np.float32)
    weight[0, 0], weight[3, 0] = 1.0, -9.0  # the group's number, and not twice
    policy = QPolicy(
        {"0.weight": weight, "0.bias": np.array([[-0.5, -9.0, 0.0]], dtype=np.float32)},
        np.zeros(3),
        np.ones(3),
        False,
    )
    path = stored(folder / "policies.safetensors", DQN, policy.to_arrays(), open_world)
    return path, table_in(folder, open_world)


def refused(capsys, *words: str) -> str:
    assert main(["describe", *words]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "Traceback" not in said
    return said


def test_a_network_is_what_it_orders_first_for_whom(network, open_world, capsys):
    path, folder = network
    assert main(["describe", path, "--data", folder]) == 0
    lines = capsys.readouterr().out.splitlines()
    none = round(100 * (open_world.values[:, 0] == 0).mean())
    assert lines == [
        "It orders first:",
        f"x0 below 0.5: nothing ({none} %)",
        f"x0 0.5 or more: p0 ({100 - none} %)",
        "For 100 % of the 1,500 units this is the first order; shares are of units.",
    ]


def test_it_says_that_units_are_needed_and_what_they_are(network, tmp_path, capsys):
    path, folder = network
    assert "of kind 'dqn'" in (said := refused(capsys, path))
    assert "--data results/data/dataset=NAME" in said
    assert "does not exist" in refused(capsys, path, "--data", str(tmp_path))
    other = table_in(tmp_path, cases.cell_world(60, 0))
    assert "panels to acquire" in refused(capsys, path, "--data", other)
    assert "has 1 members; there is no 1" in refused(
        capsys, path, "--member", "1", "--data", folder
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.safetensors", "does not exist"),
        ("p.safetensors", "cannot be read"),
        ("p.json", "is no trained policy"),
        ("headless.safetensors", "has no header"),
    ],
)
def test_what_is_no_policy_is_refused(tmp_path, capsys, name, words):
    (tmp_path / "p.safetensors").write_bytes(b"no tensors")
    (tmp_path / "p.json").write_text(json.dumps({}))
    bare = tmp_path / "headless.safetensors"
    bare.write_bytes(payload_bytes(bare, {"a": np.zeros(2)}))
    assert words in refused(capsys, str(tmp_path / name))


def test_a_policy_that_is_not_trained_is_refused(tmp_path, capsys, open_world):
    settings = {"kind": "python", "file": "own.py", "function": "act"}
    path = stored(tmp_path / "policies.safetensors", settings, {"a": np.zeros(2)}, open_world)
    assert "not trained" in refused(capsys, path)


@pytest.mark.trains
def test_a_cascade_is_its_sentences(tmp_path, capsys, open_world):
    made = learnt(cascade, open_world, CASCADE, [0.05, 0.4])
    path = stored(tmp_path / "policies.safetensors", CASCADE, made.arrays, open_world)
    assert main(["describe", path]) == 0
    front = capsys.readouterr().out.splitlines()
    members = len(made.arrays["threshold"])
    assert front[0] == f"{members} policies of kind 'cascade'; --member K shows one of them:"
    assert front[2].startswith("1: p0 if the risk is ")
    assert main(["describe", path, "--member", "1"]) == 0
    assert capsys.readouterr().out.strip() == front[2].removeprefix("1: ")


@pytest.mark.trains
def test_a_lattice_is_a_short_tree_of_its_decisions(tmp_path, capsys, open_world):
    made = learnt(lattice, open_world, LATTICE, [0.1, 0.4, 2.0])
    path = stored(tmp_path / "policies.safetensors", LATTICE, made.arrays, open_world)
    folder = table_in(tmp_path, open_world)
    assert main(["describe", path, "--data", folder]) == 0
    front = capsys.readouterr().out.splitlines()
    assert len(front) == 1 + len(made.arrays["weight"]) > 2
    assert "panels a unit, at " in front[1]
    last = str(len(front) - 2)
    assert main(["describe", path, "--data", folder, "--member", last]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert 4 <= len(lines) <= 15
    assert any("p0" in line for line in lines)
    assert int(lines[-1].split("name ")[1].split(" %")[0]) >= 90


def test_a_tree_says_gaps_levels_and_numbers_and_is_short():
    rng = np.random.default_rng(0)
    age, male = rng.normal(size=4000), rng.integers(2, size=4000)
    age[rng.random(4000) < 0.5] = np.nan
    x, words = np.stack([age, male], axis=1), ["A", "B", "nothing"]
    columns = [FeatureWords("age"), FeatureWords("sex is male", "sex is not male")]
    tree = fit_short_tree(x, np.where(np.isnan(age), 1, 2 * male), columns, words)
    assert tree.right == 1
    assert [line.split(" (")[0] for line in tree.lines] == [
        "age known:",
        "  sex is not male: A",
        "  sex is male: nothing",
        "age unknown: B",
    ]
    cut = fit_short_tree(x[:, :1], np.where(age < 0.5, 0, 1), columns[:1], words)
    assert [line.split(" (")[0][-1] for line in cut.lines] == ["A", "B"]
    assert "or more or unknown" in cut.lines[1]
    noise = fit_short_tree(x, rng.integers(3, size=4000), columns, words)
    assert len(noise.lines) <= 2 * (LEAVES - 1)
    alone = fit_short_tree(x[:, :0], np.array([1] * 3000 + [0] * 1000), [], words)
    assert (alone.lines, alone.right) == (["always B"], 0.75)


def test_leaves_are_spent_where_they_change_what_is_stated():
    """A cut that only makes sure of the same answer is not told; one of few decisions is."""
    rng = np.random.default_rng(0)
    x = rng.random((20000, 2))
    sure = np.where(x[:, 0] < 0.5, 0.99, 0.6)  # of saying "A", which cuts of entropy look for first
    choice = np.where(rng.random(20000) < sure, 0, 1)
    choice[x[:, 1] > 0.95] = 2
    tree = fit_short_tree(x, choice, [FeatureWords("u"), FeatureWords("v")], ["A", "B", "C"])
    assert [line.split(" (")[0][-1] for line in tree.lines] == ["A", "C"]
    assert tree.lines[0].startswith("v below 0.95")
    assert tree.right == pytest.approx(0.95 * 0.795 + 0.05, abs=0.01)
