"""One's own function as an agent: what it is shown, what it may answer, and how it is refused."""

import re
from pathlib import Path

import numpy as np
import pytest
from frugal.agents.python_agents import load_python_policy
from frugal.agents.registry import build_policy
from frugal.contracts import ConfigError, DataError, World
from frugal.contracts.layout import Layout
from frugal.environments.rollouts import roll_out

from tests.unit.afape_chain import small_table

RULE = """
def choose(values, acquired, available):
    wanted = available["P2"] & ~acquired["P2"] & (values["X1"] > 0)
    return wanted.map({True: "P2", False: "stop"})
"""
LAW = """
import numpy as np

def choose(values, acquired, available):
    left = (available & ~acquired).to_numpy()
    law = np.column_stack([0.25 * left, 1 - 0.25 * left.sum(axis=1)])
    return law
"""


def policy(tmp_path: Path, source: str, name: str = "choose"):
    path = tmp_path / "mine.py"
    path.write_text(source, encoding="utf-8")
    return load_python_policy(path, name, Layout.of(small_table()))


def run(policy, table=None, available=None):
    table = small_table() if table is None else table
    world = World.of_table(table, available=available)
    return roll_out(policy, world, uniforms=np.random.default_rng(0).random((len(table), 3)))


def test_a_function_that_names_panels_acts_by_what_it_sees(tmp_path):
    table = small_table()
    available = np.random.default_rng(1).random((len(table), 2)) < 0.6
    episodes = run(policy(tmp_path, RULE), table, available)
    expected = (table.values[:, 0] > 0) & available[:, 0]
    np.testing.assert_array_equal(episodes.acquired[0, :, 0], expected)
    assert not episodes.acquired[0, :, 1].any()


def test_a_function_may_return_probabilities(tmp_path):
    episodes = run(policy(tmp_path, LAW))
    assert set(np.unique(episodes.probability)) == {0.25, 0.5, 0.75, 1.0}  # 1: nothing left


def test_hidden_values_are_nan(tmp_path):
    source = RULE.replace(
        "    wanted", '    assert values.loc[~acquired["P2"], "X2"].isna().all()\n    wanted'
    )
    run(policy(tmp_path, source))


def test_it_is_built_from_a_config_and_its_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(RULE, encoding="utf-8")
    settings = {"kind": "python", "file": str(path), "function": "choose"}
    assert run(build_policy(settings, table=small_table(), stored=path)).acquired.any()
    with pytest.raises(ConfigError, match="it is not among the inputs"):
        build_policy(settings, table=small_table())


BROKEN = {
    "shape": (
        "    return np.zeros((len(values), 7))",
        r"line 4: choose returns the shape \(240, 7\)",
    ),
    "nan": ("    return np.full((len(values), 3), np.nan)", "returns the probability nan"),
    "negative": ("    return np.tile([-0.5, 0.5, 1.0], (len(values), 1))", "the probability -0.5"),
    "sum": ("    return np.tile([0.2, 0.2, 0.2], (len(values), 1))", "that sum to 0.6"),
    "text": (
        "    return np.full((len(values), 3), 'x')",
        "entries of type <U1; allowed are",
    ),
    "name": ("    return ['P7'] * len(values)", "names 'P7'; allowed are P2, P3, stop"),
    "forbidden": (
        "    return ['P2'] * len(values)",
        "panel 'P2', which is acquired already",
    ),
    "exception": (
        "    x = 1\n    return values['nothing']",
        "line 6: choose raises KeyError: ",
    ),
    "random": (
        "    COUNT.append(1)\n"
        "    return np.tile([0.0, 0.0, 1.0], (len(values), 1)) if len(COUNT) % 2 else "
        "np.where(acquired['P2'].to_numpy()[:, None], [0, 0, 1], [1.0, 0, 0])",
        "answers otherwise when it is asked the same again",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_an_answer_that_breaks_the_contract_is_refused_in_one_sentence(what, tmp_path):
    body, sentence = BROKEN[what]
    source = f"import numpy as np\n\nCOUNT = []\ndef choose(values, acquired, available):\n{body}\n"
    with pytest.raises(DataError, match=sentence) as caught:
        run(policy(tmp_path, source))
    said = str(caught.value)
    assert re.match(rf"{re.escape(str(tmp_path))}/mine\.py, line \d+: choose ", said)
    assert "\n" not in said


@pytest.mark.parametrize(
    ("source", "name", "sentence"),
    [
        ("def choose(:\n", "choose", r"mine\.py, line 1: "),
        ("import nothing_of_this_name\n", "choose", "line 1: ModuleNotFoundError"),
        ("x = 1\ny = 1 / 0\n", "choose", "line 2: ZeroDivisionError"),
        ("def pick(v, a, b): ...\n", "choose", "has no function 'choose'; its functions are pick"),
        ("choose = 3\n", "choose", "has no function 'choose'; its functions are none"),
    ],
)
def test_a_file_that_cannot_serve_is_refused_in_one_sentence(source, name, sentence, tmp_path):
    with pytest.raises(ConfigError, match=sentence):
        policy(tmp_path, source, name)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read as a Python file"):
        load_python_policy(tmp_path / "gone.py", "choose", Layout.of(small_table()))


def test_a_blocked_panel_may_not_be_taken(tmp_path):
    source = "def choose(v, a, b):\n    return ['P2' if not x else 'stop' for x in a['P2']]\n"
    available = np.zeros((240, 2), dtype=bool)
    available[:, 1] = True
    with pytest.raises(DataError, match="acquires panel 'P2', which cannot be had there"):
        run(policy(tmp_path, source), available=available)
