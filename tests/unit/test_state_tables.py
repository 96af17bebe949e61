"""A policy as a table of states: judged like the function that made it; what it lacks is told."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frugal.acquire.kinds import build_policy
from frugal.acquire.policies.table import state_table
from frugal.acquire.rollouts import roll_out
from frugal.answer.requirements import require_known_agent
from frugal.core.episodes import RowPolicy
from frugal.core.errors import ConfigError, DataError, MissingStateError
from frugal.core.layout import Layout
from frugal.core.world import World
from frugal.data.description import load_description
from frugal.results.files import payload_bytes, read_payload

from tests.unit.afape_chain import run_chain, small_table

pytestmark = pytest.mark.trains

ROOT = Path(__file__).parents[2]
GAPS = {
    "P2": {"intercept": 0.6, "values": {"X1": 0.8}, "indicators": {}},
    "P3": {"intercept": 0.8, "values": {}, "indicators": {}},
}
CAUSES = {"P2": {"values": ["X1"], "indicators": []}, "P3": {"values": [], "indicators": []}}
PANELS = ("P2", "P3")
SETTINGS = {"kind": "table", "file": "mine.parquet", "dataset": "d"}
OWN = """
import numpy as np

def choose(values, acquired, available):
    x = values.to_numpy()
    first = 1 / (1 + np.exp(-x[:, 0]))
    next_ = np.where(np.nan_to_num(x[:, 1]) > 0, 0.9, 0.2)
    law = np.stack([first * 0.7, (1 - first) * 0.7, np.full(len(x), 0.3)], axis=1)
    law[acquired["P2"], :] = np.stack([0 * next_, next_, 1 - next_], axis=1)[acquired["P2"]]
    law[acquired["P3"], :] = [0.4, 0, 0.6]
    law[:, :2] *= (available & ~acquired).to_numpy()
    total = law.sum(axis=1, keepdims=True)
    law[total[:, 0] == 0, 2] = 1
    return law / np.where(total == 0, 1, total)
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "own.py"
    path.write_text(OWN)
    return path


def tabulated(table, path, *, observed=None) -> pd.DataFrame:
    """What the function says of every set of every row, or of those that its records hold."""
    settings = {"kind": "python", "file": "own.py", "function": "choose"}
    policy = build_policy(settings, table=table, stored=path)
    world, rows = World.of_table(table), []
    for bits in product([False, True], repeat=2):
        acquired = np.tile(bits, (len(table), 1))
        seen = world.visible(np.arange(len(table)), acquired)
        law = policy.action_probabilities(seen[None], acquired[None], np.ones_like(acquired)[None])
        for k in range(len(table)):
            if all(bits) or (observed is not None and (acquired[k] & ~observed[k]).any()):
                continue
            for action, name in enumerate((*PANELS, "stop")):
                if law[0, k, action] > 0:
                    named = [p for p, has in zip(PANELS, bits, strict=True) if has]
                    rows.append((int(table.row_id[k]), named, name, float(law[0, k, action])))
    return pd.DataFrame(rows, columns=["row", "acquired", "action", "probability"])


def stored(frame: pd.DataFrame, tmp_path) -> pd.DataFrame:
    """As a stage gets it from its file."""
    path = tmp_path / "mine.parquet"
    path.write_bytes(payload_bytes(path, frame))
    return read_payload(path)


def _judged(table, policies, source="induced"):
    """Estimates of each policy under one name, as its draws go by the name."""
    law = GAPS if source == "induced" else CAUSES
    kinds = {True: SETTINGS, False: {"kind": "python", "file": "own.py", "function": "choose"}}
    for policy in policies:
        settings = kinds[isinstance(policy, pd.DataFrame)]
        chain = run_chain(
            table, law, source=source, agents={"own": settings}, policies={"own": policy}
        )
        yield chain.estimates["estimates"].set_index("estimator")


def test_a_table_of_all_states_is_judged_like_the_function_that_made_it(own, tmp_path):
    table = small_table(180)
    function, states = _judged(table, [own, stored(tabulated(table, own), tmp_path)])
    assert list(function.index) == list(states.index)
    same = [name for name in function.index if "imputation" not in name]
    assert list(states.loc[same, "status"]) == list(function.loc[same, "status"])
    assert list(states["status"]).count("ok") > 10
    for column in ("estimate", "std_error", "ci_low", "ci_high", "ess"):
        np.testing.assert_allclose(states.loc[same, column], function.loc[same, column], rtol=1e-10)
    for name in set(states.index) - set(same):
        assert str(states.loc[name, "status"]) == "not_available"
        assert "values that are filled in" in str(states.loc[name, "reason"])


def test_a_table_of_recorded_states_serves_what_requests_for_no_others(own, tmp_path):
    """Records of own gaps: sets within what is recorded are all that is ever requested."""
    table = small_table(180, gaps={"P2": 0.3, "P3": 0.3})
    observed = np.isfinite(table.values[:, [1, 2]])
    frame = stored(tabulated(table, own, observed=observed), tmp_path)
    function, states = _judged(table, [own, frame], source="own")
    for name in ("stabilised_ipw", "stabilised_afais_s_policy", "doubly_robust", "blocking"):
        assert states.loc[name, "status"] == "ok"
        assert states.loc[name, "estimate"] == pytest.approx(function.loc[name, "estimate"])
    assert "data set's own" in str(states.loc["ground_truth", "reason"])


def test_a_log_of_steps_is_the_table_of_its_states_and_ends_where_a_panel_cannot_be_had():
    layout = Layout.of(small_table(6))
    log = {"row": [5, 3, 3, 3], "step": [0, 2, 0, 1], "action": ["stop", "stop", "P3", "P2"]}
    states = {"row": [3, 3, 3, 5], "acquired": [[], ["P3"], ["P2", "P3"], []], "probability": 1.0}
    states = pd.DataFrame({**states, "action": ["P3", "P2", "stop", "stop"]})
    logged, table = (state_table(pd.DataFrame(f), layout, "mine.parquet") for f in (log, states))
    assert logged.states.equals(table.states)
    np.testing.assert_array_equal(logged.action_probability, table.action_probability)
    law = logged.law_of_rows(np.array([3]), np.array([[False, True]]), np.array([[False, True]]))
    assert law.tolist() == [[0, 0, 1]]


def test_what_requests_for_more_states_is_not_available_with_a_reason(own, tmp_path):
    table = small_table(180)
    whole = tabulated(table, own)
    chain = run_chain(table, GAPS, source="induced")
    masks = chain.drawn["masks"]
    observed = masks[["observed:P2", "observed:P3"]].to_numpy(dtype=bool)
    both = dict(zip(masks["row_id"], observed.all(axis=1), strict=True))
    kept = whole[
        [  # of records with gaps, the start and what is recorded
            both[row] or not named or observed[row, PANELS.index(named[0])]
            for row, named in zip(whole["row"], whole["acquired"], strict=True)
        ]
    ]
    function, states = _judged(table, [own, stored(kept, tmp_path)])
    assert states.loc["ground_truth", "status"] == "not_available"
    assert "where nothing is missing" in str(states.loc["ground_truth", "reason"])
    for name in ("stabilised_ipw", "stabilised_afais_s_policy", "stabilised_off_policy"):
        if name in states.index and function.loc[name, "status"] == "ok":
            assert states.loc[name, "estimate"] == pytest.approx(function.loc[name, "estimate"])


def test_a_state_that_the_records_come_to_and_the_table_lacks_is_named(own, tmp_path):
    table = small_table(180)
    whole = tabulated(table, own)
    lacks = whole[~((whole["row"] == 150) & (whole["acquired"].map(len) == 0))]
    with pytest.raises(
        MissingStateError, match=r"mine\.parquet lacks the state of row 150 with noth"
    ):
        list(_judged(table, [stored(lacks, tmp_path)]))


def test_panels_that_cannot_be_had_are_passed_over():
    layout = Layout.of(small_table(6))
    frame = pd.DataFrame(
        {
            "row": [3, 3, 3, 3],
            "acquired": [[], [], [], ["P2"]],
            "action": ["P2", "P3", "stop", "P3"],
            "probability": [0.5, 0.3, 0.2, 1.0],
        }
    )
    policy = state_table(frame, layout, "mine.parquet")
    assert isinstance(policy, RowPolicy)
    acquired = np.array([[False, False]] * 3 + [[True, False]])
    available = np.array([[True, True], [False, True], [False, False], [True, False]])
    law = policy.law_of_rows(np.full(4, 3), acquired, available)
    np.testing.assert_allclose(law, [[0.5, 0.3, 0.2], [0, 0.6, 0.4], [0, 0, 1], [0, 0, 1]])
    with pytest.raises(MissingStateError, match="row 4 with P3 acquired, and 0 others"):
        policy.law_of_rows(np.array([4]), np.array([[False, True]]), np.ones((1, 2), dtype=bool))


def test_it_is_rolled_out_by_rows():
    table = small_table(40)
    frame = pd.DataFrame(
        [(int(r), [], PANELS[r % 2], 1.0) for r in table.row_id]
        + [(int(r), [PANELS[r % 2]], "stop", 1.0) for r in table.row_id],
        columns=["row", "acquired", "action", "probability"],
    )
    policy = build_policy(SETTINGS, table=table, stored=frame)
    some = World.of_table(table).take(np.array([5, 2, 11]))
    done = roll_out(policy, some, uniforms=np.full((3, 3), 0.5))
    np.testing.assert_array_equal(done.acquired[0], [[False, True], [True, False], [False, True]])


LOG = {"acquired": None, "probability": None, "step": [0, 1]}
GOOD = {"row": [0, 0], "acquired": [[], []], "action": ["P2", "stop"], "probability": [0.5, 0.5]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"row": None}, "no column 'row'; a table of states has row, acquired, action, probab"),
        ({"row": [0.5, 0.5]}, "column 'row' is of type float64; allowed are whole numbers"),
        ({"action": ["P9", "stop"]}, "row 0: the action is 'P9'; allowed are P2, P3, stop"),
        ({"acquired": [[], ["P8"]]}, "row 1: 'acquired' names the panel 'P8'; the data set has"),
        ({"acquired": ["", ""]}, "row 0: 'acquired' is ''; allowed is a list of panels"),
        ({"acquired": [["P2"], ["P2"]]}, "row 0: the panel 'P2' has the probability 0.5, though"),
        ({"probability": [0.5, 0.4]}, "row 0: the probabilities of row 0 with this set sum to 0.9"),
        ({"probability": [1.5, -0.5]}, "row 0: the probability is 1.5; allowed is 0 to 1"),
        ({"probability": [0.5, np.nan]}, "row 1: the probability is nan"),
        ({"probability": ["a", "b"]}, "column 'probability' is of type"),
        ({"action": ["stop", "stop"]}, "row 1: row 0 with this set has the action 'stop' twice"),
        ({"step": [0, 1]}, "has a column 'step' and a column 'acquired'; a log has row, step, ac"),
        ({**LOG, "row": None}, "has a column 'step' and no column 'row'; a log has row, step, act"),
        ({**LOG, "step": [0, 2]}, "row 0 has the action 'stop' at step 2; allowed are for each ro"),
        ({**LOG, "action": ["P9", "stop"]}, "row 0: the action is 'P9'; allowed are P2, P3, stop"),
        ({**LOG, "action": [["P2"], "stop"]}, "row 0: the action is ['P2']; allowed are P2, P3"),
        ({**LOG, "step": [1, 0], "action": ["stop", "P9"]}, "row 1: the action is 'P9'; allowed"),
        ({**LOG, "action": ["P2", "P3"]}, "row 0 has the action 'P3' at step 1; allowed are for"),
    ],
)
def test_a_table_that_is_none_is_refused_in_a_sentence(change, words):
    content = {key: value for key, value in (GOOD | change).items() if value is not None}
    with pytest.raises(DataError) as refusal:
        state_table(pd.DataFrame(content), Layout.of(small_table(6)), "mine.parquet")
    assert words in str(refusal.value)
    assert "mine.parquet" in str(refusal.value)


def test_no_rows_and_no_file_are_refused():
    with pytest.raises(DataError, match="has no rows"):
        state_table(pd.DataFrame(GOOD).iloc[:0], Layout.of(small_table(6)), "mine.parquet")
    with pytest.raises(ConfigError, match="acts by its file"):
        build_policy(SETTINGS, table=small_table(6))


def test_a_table_of_another_data_set_is_refused_at_start():
    described = load_description(ROOT / "config" / "datasets" / "synthetic_mnar.yaml")
    require_known_agent("config: x", SETTINGS | {"dataset": "synthetic_mnar"}, described)
    with pytest.raises(ConfigError, match=r"x\.dataset is 'd', whose rows the table has"):
        require_known_agent("config: x", SETTINGS, described)
