import hashlib
import re
from contextlib import nullcontext
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
import torch
from frugal.acquire.policies.python import PythonPolicy, load_python_policy, source_of
from frugal.acquire.rollouts import roll_out
from frugal.acquire.set_probability import terminal_set_probability
from frugal.core.episodes import Policy
from frugal.core.errors import ConfigError, DataError
from frugal.core.table import Panel, Table
from frugal.core.world import World

TEMPLATE = Path(__file__).parents[2] / "config/policies/trained_model.py"
HEAD = "import numpy as np\nimport pandas as pd\n\n\n"  # the function stands on line 5


def table(names: tuple[str, ...] = ("blood", "scan")) -> Table:
    rng = np.random.default_rng(0)
    return Table(
        np.arange(40),
        rng.normal(size=(40, 3)),
        ("age", "crp", "size"),
        (),
        np.arange(40) % 2,
        ("no", "yes"),
        (
            Panel("free", ("age",), 0.0, True),
            Panel(names[0], ("crp",), 1.0, False),
            Panel(names[1], ("crp", "size"), 3.0, False),
        ),
        np.array([[0.0, 1.0], [1.0, 0.0]]),
    )


def written(folder: Path, body: str) -> Path:
    path = folder / "mine.py"
    path.write_text(HEAD + dedent(body).lstrip("\n"))
    return path


def policy(folder: Path, body: str) -> PythonPolicy:
    return load_python_policy(written(folder, body), "choose", table())


def states(n: int = 20) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    world = World.of_table(table())
    rng = np.random.default_rng(1)
    acquired, available = rng.random((2, n, 2)) < np.array([0.4, 0.8])[:, None, None]
    row = rng.integers(len(world), size=n)
    return world.visible(row, acquired)[None], acquired[None], available[None]


NAMES = """
    def choose(values, acquired, available):
        old = values["age"] > 0
        free = available & ~acquired
        return np.where(old & free["scan"], "scan", np.where(free["blood"], "blood", "stop"))
"""
FRAME = """
    def choose(values, acquired, available):
        open_panels = (available & ~acquired).astype(float)
        share = open_panels.div(open_panels.shape[1] + 1)
        return share.assign(stop=1 - share.sum(axis=1))[["stop", "scan", "blood"]]
"""


def test_names_become_probabilities_and_hidden_values_are_not_shown(tmp_path):
    chosen = policy(tmp_path, NAMES)
    assert isinstance(chosen, Policy)
    values, acquired, available = states()
    law = chosen.action_probabilities(values, acquired, available)[0]
    free = available[0] & ~acquired[0]
    scan = (values[0, :, 0] > 0) & free[:, 1]
    wanted = np.where(scan, 1, np.where(free[:, 0], 0, 2))
    np.testing.assert_array_equal(law, np.eye(3)[wanted])
    assert chosen.predict(values, acquired) is None
    assert chosen.members == 1
    nothing = (part[:, :0] for part in (values, acquired, available))
    assert chosen.action_probabilities(*nothing).shape == (1, 0, 3)


def test_probabilities_are_read_by_the_names_of_their_columns(tmp_path):
    values, acquired, available = states()
    law = policy(tmp_path, FRAME).action_probabilities(values, acquired, available)[0]
    np.testing.assert_allclose(law[:, :2], (available & ~acquired)[0] / 3)
    np.testing.assert_allclose(law.sum(axis=1), 1.0, rtol=1e-15)


@pytest.mark.parametrize(
    "answer",
    [
        "pd.Series(['stop'] * len(values))",
        "['stop'] * len(values)",
        "('stop',) * len(values)",
        "np.tile([0, 0, 1], (len(values), 1))",
        "[[0, 0, 1.0]] * len(values)",
        "np.tile([False, False, True], (len(values), 1))",
        "np.tile(np.array([0, 0, 1], dtype=object), (len(values), 1))",
        "pd.DataFrame({'stop': 1, 'blood': 0, 'scan': 0}, index=values.index)",
    ],
)
def test_answers_may_have_several_forms(tmp_path, answer):
    chosen = policy(tmp_path, f"def choose(values, acquired, available):\n    return {answer}\n")
    law = chosen.action_probabilities(*states(5))
    np.testing.assert_array_equal(law, np.tile([0.0, 0, 1], (1, 5, 1)))


def test_the_template_requests_a_stored_model_and_refuses_another_file(tmp_path):
    class Scans(torch.nn.Module):
        """Wants the second panel above a mean age, also where it cannot be had."""

        def forward(
            self, features: torch.Tensor, known: torch.Tensor, closed: torch.Tensor
        ) -> torch.Tensor:
            return 2 * (features[:, 0] > 0).long()

    path, some = tmp_path / "model.pt2", (torch.zeros(2, 1), torch.ones(2, 1), torch.ones(2, 2))
    rows = [{0: torch.export.Dim.AUTO}] * 3
    torch.export.save(torch.export.export(Scans(), some, dynamic_shapes=rows), path)
    text = TEMPLATE.read_text().replace('"model.pt2"', repr(str(path)))
    text = text.replace("FEATURES = []", 'FEATURES = ["age"]')
    text = text.replace("PANELS = []", 'PANELS = ["blood", "scan"]')
    values, acquired, available = states()
    for digest in ("", hashlib.sha256(path.read_bytes()).hexdigest()):
        (tmp_path / "mine.py").write_text(text.replace('SHA256 = ""', f"SHA256 = {digest!r}"))
        own = load_python_policy(tmp_path / "mine.py", "choose", table())
        refused = pytest.raises(DataError, match=r"SHA256 is ''…; model\.pt2 has [0-9a-f]{9}")
        with nullcontext() if digest else refused:
            law = own.action_probabilities(values, acquired, available)[0]
    scans = (values[0, :, 0] > 0) & (available & ~acquired)[0, :, 1]
    np.testing.assert_array_equal(law, np.eye(3)[np.where(scans, 1, 2)])
    text = text.replace("load()(features, known, closed)", "-(features[:, 0] > 0).long()")
    (tmp_path / "mine.py").write_text(text)
    own = load_python_policy(tmp_path / "mine.py", "choose", table())
    with pytest.raises(DataError, match="the model's action is -1; allowed are 0 to 2"):
        own.action_probabilities(values, acquired, available)


def test_it_is_rolled_out_like_any_other(tmp_path):
    world = World.of_table(table())
    uniforms = np.random.default_rng(0).random((len(world), 3))
    episodes = roll_out(policy(tmp_path, NAMES), world, uniforms=uniforms)
    old = world.values[:, 0] > 0
    np.testing.assert_array_equal(episodes.acquired[0], np.stack([np.ones(40, bool), old], axis=1))


def test_what_it_writes_into_its_arguments_changes_nothing(tmp_path):
    chosen = policy(
        tmp_path,
        """
    def choose(values, acquired, available):
        values.iloc[:, :] = 0
        acquired[:] = True
        return ["stop"] * len(values)
    """,
    )
    values, acquired, available = states()
    kept = values.copy(), acquired.copy()
    chosen.action_probabilities(values, acquired, available)
    np.testing.assert_array_equal(values, kept[0])
    np.testing.assert_array_equal(acquired, kept[1])


def test_a_file_may_hold_classes_and_other_functions(tmp_path):
    chosen = policy(
        tmp_path,
        """
    from dataclasses import dataclass

    @dataclass
    class Bound:
        column: str
        above: float

    class Rule:
        def __call__(self, values, acquired, available):
            return ["stop"] * len(values)

    choose = Rule()
    """,
    )
    assert chosen.action_probabilities(*states(3))[0, 0, 2] == 1
    assert chosen.origin.line == 16


def function(body: str, head: str = "values, acquired, available") -> str:
    return f"def choose({head}):\n    m = len(values)\n    {body}\n"


RETURNED = {
    "too few columns": (
        "np.ones((m, 2)) / 2",
        r"array of shape \(20, 2\); allowed are \(20, 3\) for 20 states",
    ),
    "too few rows": ("np.ones((m - 1, 3)) / 3", r"shape \(19, 3\)"),
    "ragged": ("[[1.0]] + [[0, 0, 1]] * (m - 1)", "rows of different lengths"),
    "one number a row": ("np.ones(m)", r"array of shape \(20,\)"),
    "a mapping": ("{'stop': 1}", "returns {'stop': 1}; allowed"),
    "complex": ("np.ones((m, 3)) * 1j", "type complex128; allowed are numbers"),
    "text": ("[['a', 'b', 'c']] * m", "type <U1; allowed are numbers"),
    "objects": ("[[None, 'a', 1]] * m", "entries that are not numbers"),
    "NaN": ("np.full((m, 3), np.nan)", "'blood' the probability nan in row 0"),
    "infinite": ("np.full((m, 3), np.inf)", "probability inf in row 0"),
    "below zero": (
        "np.tile([0, -0.5, 1.5], (m, 1))",
        "'scan' the probability -0.5 in row 0, which is below zero",
    ),
    "above one": ("np.tile([0, 0, 1.5], (m, 1))", "is above 1"),
    "sums": ("np.tile([0, 0, 0.9], (m, 1))", "row 0 probabilities that sum to 0.9; allowed is 1"),
    "forbidden": (
        "np.tile([0.5, 0, 0.5], (m, 1))",
        "'blood' the probability 0.5 in row 1, where it is acquired already",
    ),
    "unavailable": (
        "np.where(available['scan'], 'stop', 'scan')",
        "'scan' the probability 1 in row 0, where it is not available",
    ),
    "unknown name": (
        "['stop'] * (m - 1) + ['mri']",
        "names 'mri' for row 19; allowed are blood, scan, stop",
    ),
    "no name": ("pd.Series([None] * m, dtype=object)", "names None for row 0"),
    "names short": ("['stop']", "returns 1 names for 20 states"),
    "frame columns": (
        "pd.DataFrame(np.ones((m, 3)) / 3)",
        r"frame of the columns \[0, 1, 2\]; allowed are blood, scan, stop",
    ),
    "frame order": ("pd.Series(['stop'] * m)[::-1]", "another index"),
    "frame short": ("pd.Series(['stop'])", "returns 1 rows for 20 states"),
}
BROKEN = {
    name: (function(f"return {value}"), 5, refusal) for name, (value, refusal) in RETURNED.items()
} | {
    "nothing": (function("pass"), 5, "returns None; allowed are probabilities"),
    "exception": (function("return values['weight']"), 7, "raises KeyError: 'weight'"),
    "deeper": (
        "def helper(values):\n    return 1 / 0\n\n\n" + function("return helper(values)"),
        6,
        "raises ZeroDivisionError: division by zero",
    ),
    "of many lines": (function("raise ValueError('one\\n\\x1b[2Jtwo')"), 7, "ValueError: one$"),
    "exit": (function("raise SystemExit(3)"), 7, "raises SystemExit: 3"),
}
RANDOM = {
    "drawn": """
        def choose(values, acquired, available):
            p = np.random.random(len(values))
            q = np.zeros((len(values), 3))
            q[:, 0] = np.where(available["blood"] & ~acquired["blood"], p, 0)
            q[:, 2] = 1 - q[:, 0]
            return q
    """,
    "remembered": """
        def choose(values, acquired, available, seen=[]):
            seen.append(1)
            free = available["blood"] & ~acquired["blood"]
            return np.where(free & (len(seen) > 1), "blood", "stop")
    """,
    "drawn when the file is read": """
        def choose(values, acquired, available):
            q = np.zeros((len(values), 3))
            q[:, 0] = np.where(available["blood"] & ~acquired["blood"], WEIGHT, 0)
            q[:, 2] = 1 - q[:, 0]
            return q
        WEIGHT = np.random.random()
    """,
}


def refusal(folder: Path, body: str) -> str:
    chosen = policy(folder, body)
    with pytest.raises(DataError) as refused:
        chosen.action_probabilities(*states())
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert "\x1b" not in sentence
    return sentence


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_contract_is_one_sentence_with_file_and_line(tmp_path, case):
    body, line, words = BROKEN[case]
    sentence = refusal(tmp_path, body)
    assert sentence.startswith(f"{tmp_path}/mine.py, line {line}: the policy 'choose' ")
    assert re.search(words, sentence)


@pytest.mark.parametrize("case", RANDOM)
def test_another_answer_to_the_same_question_is_refused(tmp_path, case):
    sentence = refusal(tmp_path, RANDOM[case])
    assert "line 5: the policy 'choose' gives another answer for the same" in sentence


@pytest.mark.parametrize(
    "answer", ["values['age'] > values['age'].mean()", "values.index % 2 == 0"]
)
def test_an_answer_that_depends_on_the_other_rows_is_refused(tmp_path, answer):
    sentence = refusal(
        tmp_path,
        f"""
    def choose(values, acquired, available):
        free = available["blood"] & ~acquired["blood"]
        return np.where(free & ({answer}), "blood", "stop")
    """,
    )
    assert "line 5: the policy 'choose' gives another answer for row" in sentence
    assert "must follow from that row alone" in sentence


def test_the_row_whose_answer_differs_is_stated(tmp_path):
    values, acquired, available = states()
    free = (available & ~acquired)[0, :, 0]
    age = values[0, :, 0]
    alone = (age[:, None] == age).sum(axis=1) == 1
    row = int(np.flatnonzero(free & alone & (np.arange(20) > 5))[0])
    sentence = refusal(
        tmp_path,
        f"""
    def choose(values, acquired, available):
        one = (len(values) == 20) & np.isclose(values["age"], {float(age[row])})
        return np.where(one, "blood", "stop")
    """,
    )
    assert f"another answer for row {row} when the other rows differ" in sentence


@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        ("def choose(values, acquired, available:\n    return 1\n", 5, "cannot be read: '\\(' was"),
        (
            "x = 1\nimport of_which_there_is_none\n",
            6,
            "raises ModuleNotFoundError: No module named 'of_which_there_is_none'",
        ),
        ("import beside\n", 5, "raises ModuleNotFoundError: No module named 'beside'"),
        ("x = 1\nx / 0\n", 6, "raises ZeroDivisionError"),
        ("import sys\nsys.exit(0)\n", 6, "raises SystemExit: 0"),
        ("def chose(values):\n    pass\n", 1, "is not there; the file has the functions chose$"),
        ("x = 1\nchoose = 3\n", 6, "is 3; allowed is a function"),
        ("def choose(values):\n    pass\n", 5, r"takes \(values\); allowed are three arguments"),
        ("async def choose(values, acquired, available):\n    pass\n", 5, "is a coroutine"),
        ("def choose(values, acquired, available):\n    yield 1\n", 5, "or a generator"),
        ("x = '\0'\n", 1, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_run_is_one_sentence(tmp_path, body, line, words):
    (tmp_path / "beside.py").write_text("choose = None\n")
    with pytest.raises(DataError, match=words) as refused:
        policy(tmp_path, body)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(f"{tmp_path}/mine.py, line {line}: the policy 'choose' ")


def test_other_encodings_are_refused(tmp_path):
    path = tmp_path / "mine.py"
    path.write_bytes(b"x = '\xff'\n")
    with pytest.raises(DataError, match=r"mine.py, line 1: the policy 'choose' cannot be read"):
        load_python_policy(path, "choose", table())


def test_nothing_is_written_next_to_the_file_and_nothing_can_import_it(tmp_path):
    path = written(tmp_path, NAMES)
    load_python_policy(path, "choose", table())
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ModuleNotFoundError):
        __import__("mine")


def test_the_source_is_the_digest_of_the_file_that_was_loaded(tmp_path):
    path = written(tmp_path, NAMES)
    loaded = load_python_policy(path, "choose", table())
    assert loaded.source == source_of(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_text(path.read_text() + "\n")
    assert loaded.source != source_of(path)


def test_files_that_are_not_there_or_lie_in_results_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inside = tmp_path / "results" / "afape"
    inside.mkdir(parents=True)
    written(inside, NAMES)
    (tmp_path / "link.py").symlink_to(inside / "mine.py")
    for place in (inside / "mine.py", Path("results/afape/mine.py"), Path("link.py")):
        with pytest.raises(ConfigError, match=r"mine.py|link.py.*lies in results/"):
            load_python_policy(place, "choose", table())
        with pytest.raises(ConfigError, match="lies in results/, which holds outputs of steps"):
            source_of(place)
    with pytest.raises(ConfigError, match=r"none.py cannot be read: No such file"):
        source_of(Path("none.py"))
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load_python_policy(tmp_path, "choose", table())


def test_a_panel_of_the_name_stop_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="'stop' to end, and a panel has this name"):
        load_python_policy(written(tmp_path, NAMES), "choose", table(("blood", "stop")))


COUNTED = """
    def choose(values, acquired, available):
        with open({log!r}, "a") as stream:
            stream.write(f"{{len(values)}}\\n")
        return ["stop"] * len(values)
"""


def test_a_slow_function_is_requested_once_for_each_state_in_batches(tmp_path):
    """Twice, with its copy; 30 states of which 10 are others are 10 states, and then none."""
    log = tmp_path / "requests.txt"
    chosen = policy(tmp_path, COUNTED.format(log=str(log)))
    values, acquired, available = (part[:, :10] for part in states())
    values = values + np.arange(10)[None, :, None]
    thrice = tuple(np.tile(part, (1, 3, 1)) for part in (values, acquired, available))
    first = chosen.action_probabilities(*thrice)
    sizes = [int(line) for line in log.read_text().splitlines()]
    assert sizes[0] == 10  # in one batch
    assert sum(sizes) == 20  # and once more of the copy
    again = chosen.action_probabilities(*(part[:, ::-1] for part in thrice))
    assert [int(line) for line in log.read_text().splitlines()] == sizes
    np.testing.assert_array_equal(again, first[:, ::-1])
    other = (values[:, :3] + 100, acquired[:, :3], available[:, :3])
    chosen.action_probabilities(*(np.hstack([x, y]) for x, y in zip(other, thrice, strict=True)))
    assert sum(int(line) for line in log.read_text().splitlines()) == 26


def test_a_rollout_and_the_probabilities_of_its_sets_ask_each_state_once(tmp_path):
    log = tmp_path / "requests.txt"
    chosen = policy(tmp_path, COUNTED.format(log=str(log)))
    world = World.of_table(table())
    for _ in range(3):
        roll_out(chosen, world, uniforms=np.random.default_rng(0).random((len(world), 3)))
        sets = np.random.default_rng(1).random((len(world), 2)) < 0.5
        terminal_set_probability(chosen, world, target=sets)
    assert sum(int(line) for line in log.read_text().splitlines()) == 2 * len(world)


def test_answers_beyond_what_is_kept_are_requested_for_again(tmp_path, monkeypatch):
    monkeypatch.setattr("frugal.acquire.policies.python.MOST_KEPT", 5)
    chosen = policy(tmp_path, NAMES)
    state = states()
    first = chosen.action_probabilities(*state)
    assert len(chosen.answers) == 5
    np.testing.assert_array_equal(chosen.action_probabilities(*state), first)
