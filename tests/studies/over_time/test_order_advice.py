"""Plans and learned policies are stored, and advise units that are still followed."""

from dataclasses import replace
from pathlib import Path

import frugal
import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.run.own_records import own_records
from frugal.studies.over_time.config import PlanEntry
from frugal.studies.over_time.order_advice import why_words
from frugal.studies.over_time.orders import LearnedOrders, follow, input_count, plan_of
from frugal.studies.over_time.records import TimedState

from tests.studies.over_time.test_over_time_files import ROWS, UNITS, WARDS, written
from tests.workflow.runs import ROOT

ONE_ROW = "a,lactate,1,2,3\n"
HIGH = {"panels": ["lactate"], "every": 1, "above": ("lactate", 2)}


@pytest.fixture(scope="module")
def data():
    """The example's stays."""
    return frugal.load_over_time(WARDS)


@pytest.fixture(scope="module")
def answer(data):
    """The example's plans and a learned policy."""
    return frugal.over_time(data, learned=True, seed=0)


def test_a_plan_is_written_and_read(data):
    plan = frugal.order_plan(
        data, "p", {0: ["chemistry"], 1: ["chemistry", "lactate"]}, again=[HIGH], stop=2
    )
    document = plan.entry.model_dump(mode="json", exclude_none=True)
    again = plan_of(data.records, "p", PlanEntry.read(document, where="p"))
    assert again.schedule.tolist() == plan.schedule.tolist()
    assert again.entry.stop == 2
    (rule,) = again.repeats
    assert (rule.column, rule.limit, rule.below, rule.every) == (1, 2, False, 1)


def test_the_plans_of_the_example_are_those_of_the_tutorial(data, answer):
    plans = [
        frugal.order_plan(data, "nothing"),
        frugal.order_plan(data, "chemistry once", {0: ["chemistry"]}),
        frugal.order_plan(data, "both once", {0: ["chemistry", "lactate"]}),
        frugal.order_plan(data, "lactate while above 2", {0: ["lactate"]}, again=[HIGH]),
    ]
    stated = frugal.over_time(data, plans, method="linear", learned=True, seed=0)
    assert stated.summary() == answer.summary()


def test_a_learned_policy_is_stored_whole(data, answer):
    arrays = answer.learned.to_arrays()
    columns = input_count(data.records)
    plans = list(answer._policies.values())
    stored = LearnedOrders.from_arrays(arrays, columns, plans)
    for state in follow(data.records, None, data.costs).states(data.records)[:3]:
        np.testing.assert_array_equal(stored.expected(state), answer.learned.expected(state))
    with pytest.raises(DataError, match="lacks the array 'price'"):
        LearnedOrders.from_arrays({n: a for n, a in arrays.items() if n != "price"}, columns, plans)
    with pytest.raises(DataError, match="inputs; its records have 3"):
        LearnedOrders.from_arrays(arrays, 3, plans)
    with pytest.raises(DataError, match=r"'plan'.* allowed"):
        LearnedOrders.from_arrays({**arrays, "plan": np.array([4])}, columns, plans)
    half = {n: a for n, a in arrays.items() if not n.startswith("trees.0.2.")}
    with pytest.raises(DataError, match=r"lacks part 2 of window 0"):
        LearnedOrders.from_arrays(half, columns, plans)
    followed = replace(answer.learned, plan=plans[2], number=2)
    assert LearnedOrders.from_arrays(followed.to_arrays(), columns, plans).plan is plans[2]


def running(folder: Path, measurements: str, units: str = UNITS) -> tuple[Path, Path]:
    """Files of units that are still followed."""
    written(folder, ROWS + measurements, units)
    return folder / "wards.csv", folder / "wards_units.csv"


def test_the_learned_policy_orders_what_costs_least(answer, tmp_path):
    """The state is written by hand; unit b is in window 0, where nothing is known but its age."""
    files = running(tmp_path, "a,lactate,1,2,3\na,creatinine,9,10,2\n")
    rows = answer.advise(*files, policy="learned").set_index("unit")
    assert rows["window"].to_dict() == {"a": 2, "b": 0}
    assert rows.loc["a", "state"] == "creatinine 2 (1 window ago), lactate 3 (2 windows ago)"
    assert rows.loc["b", "state"] == "no value yet"
    state = TimedState(
        2,
        np.array([[50.0, 0.0]]),
        np.array([[2.0, 3.0]]),
        np.array([[1.0, 2.0]]),
        np.array([[1.0, 2.0]]),
    )
    expected = answer.learned.expected(state)[0]
    names = ["nothing", "chemistry", "lactate", "chemistry + lactate", "decide"]
    shown = rows.loc["a", [f"expected: {name}" for name in names]].to_numpy(dtype=float)
    np.testing.assert_allclose(shown, expected)
    assert rows.loc["a", "next"] == names[int(expected.argmin())]
    assert rows.loc["a", "why"].startswith(f"least expected cost, {expected.min():.4g}; then ")


def test_a_decision_that_costs_least_is_its_own_reason(data, answer, monkeypatch):
    state = follow(data.records, None, data.costs).states(data.records)[0]
    costs = np.tile([3.0, 4, 5, 6, 2], (len(data.records), 1))
    monkeypatch.setattr(LearnedOrders, "expected", lambda *_: costs)
    why = why_words(data.records, answer.learned, state, 0, np.array([False, False, True]))
    assert why == "least expected cost, 2; then nothing, 3"


def test_a_rule_is_the_reason_of_its_order(answer, tmp_path):
    units = UNITS + "c,40,medical,\nd,40,medical,\n"
    measured = "a,lactate,1,2,3\nb,lactate,1,2,1.5\nc,lactate,17,18,3\n"
    rows = answer.advise(*running(tmp_path, measured, units), policy="lactate while above 2")
    rows = rows.set_index("unit")
    assert rows["next"].to_dict() == {"a": "lactate", "b": "nothing", "c": "decide", "d": "lactate"}
    assert rows.loc["a", "why"] == "lactate every window: lactate 3 (1 window ago) is above 2"
    assert rows.loc["b", "why"] == "lactate every window: lactate 1.5 (1 window ago) is not above 2"
    assert rows.loc["c", "why"] == "all windows are over"
    assert rows.loc["d", "why"].startswith(
        "the schedule has lactate in window 0; lactate every window:"
    )
    later = answer.advise(*running(tmp_path, measured, units), hours=17, policy="nothing")
    assert later["hours"].tolist() == ["16 to 24"] * 4
    assert set(later["why"]) == {"the schedule has nothing in window 2"}


def test_what_is_not_known_yet_is_not_read(answer, tmp_path):
    """A result that arrives after the hours, though it was ordered before; its order counts."""
    measured = "a,lactate,1,12,3\na,creatinine,2,3,1\n"
    rows = answer.advise(*running(tmp_path, measured), hours=9, policy="lactate while above 2")
    assert rows["state"].tolist() == ["creatinine 1 (1 window ago)", "no value yet"]
    assert rows["why"][0] == "lactate every window: no, lactate is not known"
    later = answer.advise(*running(tmp_path, measured), hours=12, policy="lactate while above 2")
    assert later["next"][0] == "lactate"


def test_units_without_a_value_get_their_first_orders(answer, tmp_path):
    rows = answer.advise(*running(tmp_path, ""), policy="both once")
    assert rows["next"].tolist() == ["chemistry + lactate"] * 2


def test_advice_refuses_what_the_policy_does_not_know(answer, tmp_path):
    with pytest.raises(ConfigError, match=r"policy is 'bot once'; allowed are .*did you mean"):
        answer.advise(*running(tmp_path, ONE_ROW), policy="bot once")
    with pytest.raises(ConfigError, match="hours is beyond all floats"):
        answer.advise(*running(tmp_path, ONE_ROW), hours=10**400)
    for hours in (10**30, -1, float("nan")):
        with pytest.raises(DataError, match=r"hours is .*allowed is a number from 0 to 1e"):
            answer.advise(*running(tmp_path, ONE_ROW), hours=hours)
    strange = UNITS.replace("surgical", "intensive")
    with pytest.raises(DataError, match="line 3: column 'ward' holds 'intensive'; known are"):
        answer.advise(*running(tmp_path, ONE_ROW, strange))
    old = UNITS.replace("50", "old")
    with pytest.raises(DataError, match="column 'age' holds 'old'; allowed is a number"):
        answer.advise(*running(tmp_path, ONE_ROW, old))


CONFIG = {"table": None}
REFUSED = {
    "no plan": ({"plans": {}}, "'plans' is missing"),
    "panel": ({"plans": {"p": {"at": [{"windows": [0], "panels": ["gas"]}]}}}, "names 'gas'"),
    "window": (
        {"plans": {"p": {"at": [{"windows": [3], "panels": ["lactate"]}]}}},
        "plans.p orders in window 3; windows are 0 to 2",
    ),
    "needed": ({"needed": [{"windows": [0], "panels": ["gas"]}]}, "needed names 'gas'"),
    "column": (
        {"plans": {"p": {"again": [{**HIGH, "above": ["ph", 7]}]}}},
        "names 'ph'; columns are",
    ),
    "limits": (
        {"plans": {"p": {"again": [{**HIGH, "above": ["lactate", 2], "below": ["lactate", 3]}]}}},
        "with 'above' and 'below'; allowed is one of them",
    ),
    "file": ({"units__file": "none.csv"}, "'units.file' is 'none.csv', and there is no such file"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_run_refuses_a_wrong_yaml_at_its_start(tmp_path, case):
    changed, sentence = REFUSED[case]
    path = written(tmp_path, ROWS, UNITS, **changed)
    with pytest.raises(ConfigError) as refusal:
        own_records({**CONFIG, "records": str(path)}, ROOT, tmp_path)
    assert sentence in str(refusal.value)


def test_a_run_finds_its_files(tmp_path):
    path = written(tmp_path, ROWS, UNITS)
    own = own_records({**CONFIG, "records": str(path)}, ROOT, tmp_path)
    assert own.target == "over_time"
    assert own.folder == tmp_path / "results/over_time/wards"
    assert [file.name for file in own.inputs.values()] == [
        "wards.yaml",
        "wards.csv",
        "wards_units.csv",
    ]
