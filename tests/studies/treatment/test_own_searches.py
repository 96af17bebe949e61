"""One's own records of searches: read, judged off-policy, told, and asked about new units."""

import itertools
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from frugal.__main__ import main
from frugal.core.context import Context
from frugal.core.errors import DataError
from frugal.core.schema_check import read_yaml
from frugal.core.streams import Streams
from frugal.data.parsing import raw_from_frame, text_column
from frugal.data.raw_cells import Workbook
from frugal.results.files import sealed
from frugal.studies.recourse.sheets import read_sheet
from frugal.studies.treatment.data.levels import ColumnLevels, combined
from frugal.studies.treatment.data.own_records import describe_records, read_own_records
from frugal.studies.treatment.data.records import SearchSizeError, TrialRecords, outcomes_of
from frugal.studies.treatment.models.outcome_counts import count_outcomes
from frugal.studies.treatment.models.outcome_tables import smoothed_table, true_table
from frugal.studies.treatment.planning.constrained import plan_constrained, stopping_statistic
from frugal.studies.treatment.search.environment import play_policy
from frugal.studies.treatment.search.off_policy import (
    comes_to,
    estimates,
    fit_behaviour,
    follow,
    model_value,
    prepare_judging,
    records_behind,
    step_values,
    steps_of,
    trials_left,
)
from frugal.studies.treatment.search.own_policies import require_memory
from frugal.studies.treatment.search.plain_words import history_of, next_step, step_table
from frugal.studies.treatment.search.simulated_worlds import (
    build_world,
    draw_parameters,
    sample_searches,
    sample_units,
)
from frugal.studies.treatment.stages.planners import judge_searches
from safetensors.numpy import save_file

from tests.studies.treatment.search_cases import expected_trials
from tests.workflow.runs import ROOT

pytestmark = pytest.mark.trains

WORTH = np.array([0.0, 1.0, 2.5])
LONG: dict[str, Any] = {"name": "own", "title": "Own", "file": "own.csv", "layout": "long"}
LONG |= {"unit": "who", "step": "day", "treatment": "drug", "outcome": "result"}
LONG |= {"outcomes": {"levels": ["bad", "fair", "good"]}}
WIDE: dict[str, Any] = {"name": "own", "title": "Own", "file": "own.csv", "layout": "wide"}
WIDE |= {"unit": "who", "treatments": {"A": "a", "B": "b"}, "order": {"A": "a_day", "B": "b_day"}}
WIDE |= {"outcomes": {"levels": ["bad", "fair", "good"]}}
ROWS = "who,day,drug,result\nx,1,A,bad\nx,3,B,good\ny,2,B,fair\ny,1,A,bad\n"


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(4)
    parameters = draw_parameters(
        rng, n_actions=3, n_covariates=1, n_moderators=2, covariate_scale=1.0, form="release"
    )
    made = build_world(parameters, n_outcomes=3, form="release")
    context, outcome = sample_units(made, 600, rng)
    records = sample_searches(made, context, outcome, rng, p_stop=0.1, p_stop_best=0.9)
    table = smoothed_table(
        count_outcomes(records), outcome_value=WORTH, mode="release", memory_gib=1.0
    )
    statistic = stopping_statistic(table, bound="upper", epsilon=0.0)
    policy = plan_constrained(
        table, statistic, delta=0.3, alpha=1.0, stop_rule="<=", ties="improving"
    )
    judged = prepare_judging(
        records,
        made.covariates[context].astype(float),
        context % 2,
        np.arange(600),
        rng,
        outcome_value=WORTH,
        memory_gib=1.0,
    )
    return made, records, table, policy, judged


def _true(made):
    return true_table(made.p_z_given_x, made.p_outcome, outcome_value=WORTH, memory_gib=1.0)


def test_values_under_a_model_are_those_of_enumeration(world):
    made, _, _, policy, _ = world
    none = np.zeros(3)
    true = _true(made)
    whole = np.array(list(itertools.product(range(3), repeat=3)))
    law = np.zeros((2, len(whole)))
    for x in range(2):
        for z, weight in enumerate(made.p_z_given_x[x]):
            parts = [made.p_outcome[x, z, a, whole[:, a]] for a in range(3)]
            law[x] += weight * np.prod(parts, axis=0)
        played = play_policy(policy, context=np.full(len(whole), x), outcome=whole)
        for step, end, value in (
            (1.0, none, played.trials),
            (0.0, WORTH, WORTH[played.best]),
            (0.0, np.array([0.0, 0.0, 1.0]), played.best == 2),
        ):
            found = model_value(true, policy, step=step, end=end)[x, 0]
            assert found == pytest.approx(law[x] @ value, abs=1e-12)


def test_how_often_a_policy_comes_to_a_history_is_that_of_enumeration(world):
    made, _, _, policy, _ = world
    true = _true(made)
    reached = comes_to(true, policy)
    first = policy.action[:, 0].astype(int)
    for x, y in itertools.product(range(2), range(2)):
        h = (y + 1) * 3 ** first[x]
        assert reached[x, h] == pytest.approx(true.probability[x, first[x], 0, y], abs=1e-12)
    going = policy.action < 3
    assert (reached[:, 0] == 1).all()
    # each trial is one visit to a history in which something is tried
    visits = (reached * going).sum(axis=1)
    np.testing.assert_allclose(visits, expected_trials(true, policy), atol=1e-12)


def test_records_follow_a_policy_as_a_walk_with_dictionaries_says(world):
    _, records, _, policy, judged = world
    found = follow(policy, judged)
    steps = steps_of(policy, judged)
    same_trials = set()
    for u in range(len(records)):
        known, weight, ended = {}, 1.0, False
        trials = [
            (int(a), int(y))
            for a, y in zip(records.action[u], records.outcome[u], strict=True)
            if a >= 0
        ]
        x = int(records.context[u])
        for t in range(4):
            h = sum((y + 1) * 3**a for a, y in known.items())
            if 2 in known.values() or policy.action[x, h] == 3:
                ended = True
                break
            if t == len(trials) or trials[t][0] != policy.action[x, h]:
                break
            row = np.array([[known.get(a, -1) for a in range(3)]])
            model = judged.behaviour[judged.fold[u]]
            chance = model.probability(row, judged.covariates[[u]], np.array([trials[t][0]]))[0]
            weight /= chance
            assert found.weight[u, t] == pytest.approx(weight, rel=1e-12)
            known[trials[t][0]] = trials[t][1]
        assert found.finished[u] == ended
        assert found.steps[u] == len(known)
        assert found.best[u] == max(known.values(), default=-1)
        walked = {}
        for a, y in trials:
            if 2 in walked.values():
                break
            h = sum((v + 1) * 3**b for b, v in walked.items())
            if policy.action[x, h] == a:
                same_trials.add((u, h))
            walked[a] = y
    assert same_trials == set(zip(steps.unit.tolist(), steps.history.tolist(), strict=True))
    assert 0.02 < found.finished.mean() < 0.9


def test_the_choices_of_the_records_are_learned_as_they_were_made():
    rng = np.random.default_rng(0)
    n = 20_000
    sick = rng.integers(0, 2, n)
    outcome = np.where(rng.random((n, 3)) < 0.4, 2, 0)
    order = np.full((n, 3), -1)
    first = np.where(rng.random(n) < 0.4, 0, 1)  # 2 is never the first
    order[:, 0] = first
    on = (outcome[np.arange(n), first] == 0) & (rng.random(n) < np.where(sick, 0.9, 0.5))
    order[on, 1] = np.where(rng.random(on.sum()) < 0.25, 1 - first[on], 2)
    found = np.where(order >= 0, outcome[np.arange(n)[:, None], order], -1)
    records = TrialRecords(np.zeros(n, dtype=int), order, found, 1, 3, 3)
    law = fit_behaviour(records, np.eye(2)[sick])
    for s, p_first, p_on in ((0, 0.4, 0.5), (1, 0.4, 0.9)):
        features = np.eye(2)[[s]]
        begin = np.array([[-1, -1, -1]])
        after = np.array([[0, -1, -1]])
        assert law.probability(begin, features, np.array([0]))[0] == pytest.approx(
            p_first, abs=0.02
        )
        assert law.probability(begin, features, np.array([2]))[0] < 0.005
        assert law.probability(after, features, np.array([1]))[0] == pytest.approx(
            0.25 * p_on, abs=0.03
        )


def test_records_behind_a_step_and_the_value_of_another_are_counted(world):
    _, records, table, policy, _ = world
    behind = records_behind(count_outcomes(records), contexts=2)
    for x, a in itertools.product(range(2), range(3)):
        first = (records.action[:, 0] == a) & (records.context == x)
        assert behind[x, 0, a] == first.sum()
    again = (records.action[:, 0] == 1) & (records.outcome[:, 0] == 0)
    other = (records.action[:, 1] == 1) & (records.outcome[:, 1] == 0)
    assert again.sum() > 0
    assert other.sum() > 0
    x, h = np.array([0]), np.array([0])
    values = step_values(policy, table, trials_left(policy, table), x, h)[0]
    assert values[int(policy.action[0, 0])] == pytest.approx(expected_trials(table, policy)[0])


def _read(tmp_path, text, **changed):
    described = describe_records(
        (WIDE if "a_day" in text else LONG) | changed, tmp_path / "own.yaml"
    )
    described.file.write_text(text)
    return read_own_records(described, described.file)


def test_long_and_wide_files_say_the_same(tmp_path):
    long = _read(tmp_path, ROWS)
    wide = _read(tmp_path, "who,a,a_day,b,b_day\nx,bad,1,good,3\ny,bad,1,fair,2\n")
    assert long.names == wide.names == ("x", "y")
    assert long.treatments == wide.treatments == ("A", "B")
    assert long.action.tolist() == wide.action.tolist() == [[0, 1], [0, 1]]
    assert long.outcome.tolist() == wide.outcome.tolist() == [[0, 2], [0, 1]]


def test_what_is_set_right_is_stated(tmp_path):
    rows = ROWS + "x,9,A,good\ny,4,C,\ny,5,D,good\n"
    own = _read(tmp_path, rows)
    assert own.action.tolist() == [[0, 1, -1, -1], [0, 1, -1, -1]]
    assert own.remarks == (
        "1 trials repeat a treatment of the same unit; the first counts",
        "1 trials have no outcome; these searches end before them",
    )


def test_numbers_are_cut_at_edges_and_lower_may_be_better(tmp_path):
    rows = "who,day,drug,result\nx,2024-01-05,A,7.5\nx,2024-02-01,B,3\nx,2024-01-09,C,5\n"
    own = _read(tmp_path, rows, outcomes={"edges": [5, 7], "better": "lower"})
    assert own.action.tolist() == [[0, 2, 1]]
    assert own.outcome.tolist() == [[0, 1, 2]]
    assert _read(
        tmp_path, rows, outcomes={"edges": [5, 7], "better": "higher"}
    ).outcome.tolist() == [[2, 1, 0]]


def test_the_index_of_a_history_is_that_of_its_outcomes():
    outcome = outcomes_of(np.arange(27), 3, 3)
    assert [history_of(row, 3) for row in outcome.tolist()] == list(range(27))


@pytest.mark.parametrize(("missing", "names"), [((), "all"), ((True,), "x a x b x missing")])
def test_each_combination_of_columns_has_a_name_and_indicators(missing, names):
    strata = combined((ColumnLevels("x", ("a", "b"), ("a", "b"), ()),)[: len(missing)], missing)
    assert " ".join(strata.names) == names
    assert np.array_equal(strata.features, np.eye(3) if missing else np.zeros((1, 0)))


def test_times_with_a_zone_are_ordered_as_moments(tmp_path):
    rows = (
        "who,day,drug,result\nx,2024-03-01T09:00:00+02:00,A,bad\nx,2024-03-01T08:00:00Z,B,fair\n"
        "x,2024-03-01T08:30:00+01:00,C,good\n"
    )
    own = _read(tmp_path, rows)
    assert own.action.tolist() == [[0, 2, 1]]
    frame = pd.read_csv(tmp_path / "own.csv").assign(
        day=lambda f: pd.to_datetime(f["day"], utc=True).dt.tz_convert("Europe/Paris")
    )
    frame.to_parquet(tmp_path / "own.parquet")
    described = describe_records(LONG | {"file": "own.parquet"}, tmp_path / "own.yaml")
    assert read_own_records(described, described.file).action.tolist() == [[0, 2, 1]]


def test_identifiers_stored_as_numbers_keep_all_their_digits(tmp_path):
    who = [1234567.0, 1234568.0, 2.0**53 - 1, 12.5]
    frame = pd.DataFrame(
        {"who": who, "day": 1, "drug": "A", "result": "bad", "patient": np.arange(4) + 10**17}
    )
    described = describe_records(
        LONG | {"file": "own.parquet", "belongs_to": "patient"}, tmp_path / "own.yaml"
    )
    for indexed in (False, True):
        (frame.set_index("who") if indexed else frame).to_parquet(tmp_path / "own.parquet")
        own = read_own_records(described, described.file)
        assert own.names == ("12.5", "1234567", "1234568", "9007199254740991")
        assert len(set(own.cluster.tolist())) == 4


def test_identifiers_that_lost_their_last_digits_are_refused(tmp_path):
    frame = pd.DataFrame({"who": 123456789012345678.0, "day": [1, 2], "drug": ["A", "B"]})
    frame.assign(result="bad").to_parquet(tmp_path / "own.parquet")
    described = describe_records(LONG | {"file": "own.parquet"}, tmp_path / "own.yaml")
    with pytest.raises(DataError, match=r"parquet: column 'who' holds .*lost its last digits"):
        read_own_records(described, described.file)
    frame.rename(columns={"who": "unit"}).to_parquet(tmp_path / "units.parquet")
    with pytest.raises(DataError, match=r"column 'unit' holds .*lost its last digits"):
        read_sheet(tmp_path / "units.parquet")
    raw = raw_from_frame(frame, source="t.parquet")
    with pytest.raises(DataError, match=r"column 'who' holds .*lost its last digits"):
        text_column(raw, "who", (), "cluster")
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    book = Workbook(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match=r"sheet 'Sheet1' holds .*lost its last digits"):
        book.require_values(book.sheet("Sheet1"))
    for number in (1e20, 2.5e300, 1 / 3, 2.0**53 - 1):
        frame.assign(who=number).to_excel(tmp_path / "t.xlsx", index=False)
        book = Workbook(tmp_path / "t.xlsx")
        book.require_values(book.sheet("Sheet1"))


@pytest.mark.parametrize(
    ("text", "changed", "sentence"),
    [
        (ROWS, {"covariates": {"age": {"edges": [65]}}}, "no column 'age'"),
        (
            ROWS.replace("x,3,B", "x,3,a"),
            {},
            "column 'drug' holds 'A' and another text that differs from it by blanks, capitals or",
        ),
        (
            ROWS.replace("x,3", "x,2024-01-03T08:00Z").replace("x,1", "x,2024-01-01T08:00"),
            {},
            "line 2: column 'day' has a time without a zone, and others with one",
        ),
        (
            ROWS.replace("x,3", "x,2024-01-03T0800+0100").replace("x,1", "x,2024-01-01T0900"),
            {},
            "line 2: column 'day' has a time without a zone, and others with one",
        ),
        (
            "who,day,drug,result\nx,1,Caf\u00e9,bad\nx,2,Cafe\u0301,good\n",
            {},
            "column 'drug' holds 'Cafe\u0301' and another text that differs from it",
        ),
        (
            "who,day,drug,result,patient\nx,1,A,bad,NA\ny,2,B,good,NA\n",
            {"belongs_to": "patient"},
            "line 2: column 'patient' holds 'NA', which means no value",
        ),
        (
            "who,day,drug,result\nx,1,A,bad\nNA,2,B,good\n",
            {},
            "line 3: column 'who' holds 'NA', which means no value",
        ),
        (
            "who,day,drug,result,patient\nx,1,A,bad,p\ny,2,B,good,\n",
            {"belongs_to": "patient"},
            "line 3: column 'patient' is empty",
        ),
        (
            "who,day,drug,result,patient\nx,1,A,bad,p\nx,2,B,good,q\n",
            {"belongs_to": "patient"},
            "lines 2 and 3: column 'patient' differs within unit 'x'",
        ),
    ],
)
def test_a_file_that_is_wrong_is_refused_in_a_sentence(tmp_path, text, changed, sentence):
    with pytest.raises(DataError, match=None) as raised:
        _read(tmp_path, text, **changed)
    assert sentence in str(raised.value)


NO_VALUE = ["NA", "?", "None", "NULL", "null", "nan", "NaN", "-", ".", "--", "N/A", "<NA>"]
NO_VALUE += ["\\N", "NaT", "#N/A"]


@pytest.mark.parametrize("word", NO_VALUE)
def test_a_word_for_no_value_names_no_treatment(tmp_path, word):
    for text in (ROWS.replace("x,3,B", f"x,3,{word}"), ROWS.replace("x,1,A", f"x,1,{word}")):
        with pytest.raises(DataError, match=r"column 'drug' holds .*, which means no value; write"):
            _read(tmp_path, text)
        described = describe_records(LONG, tmp_path / "own.yaml")
        with pytest.raises(DataError, match=r"column 'drug' holds .*, which means no value; write"):
            read_own_records(described, described.file, treatments=("A", "B"))
    empty = _read(tmp_path, ROWS.replace("x,3,B", "x,3,"))
    assert empty.treatments == ("A", "B")
    assert empty.action.tolist() == [[0, -1], [0, 1]]


TRUTHS = ["FALSE TRUE", "False True", "false true", "no yes", "No YES", "off on", "0 1", "0.0 1.0"]


@pytest.mark.parametrize(
    ("levels", "cells"),
    [
        *(([False, True], tuple(cells.split())) for cells in TRUTHS),
        (["no", "yes"], ("FALSE", "TRUE")),
        (["FALSE", "TRUE"], ("False", "True")),
        ([0, 1], ("0.0", "1.0")),
        ([0, 1], ("0.00", "1.")),
        (["0", "1"], ("False", "True")),
        (["worse", "well"], ("Worse", "WELL")),
        (["worse", "well"], ("worse.", "well ")),
        (["Très mal", "bien"], ("tr\u00e8s  mal", "Bien")),
    ],
)
def test_levels_may_be_spelled_in_any_way_that_denotes_one(tmp_path, levels, cells):
    text = f"who,day,drug,result\nx,1,A,{cells[0]}\nx,3,B,{cells[1]}\ny,2,B,{cells[1]}\n"
    own = _read(tmp_path, text, outcomes={"levels": levels})
    assert own.outcome.tolist() == [[0, 1], [1, -1]]
    if all(map(str.isalpha, "".join(cells))):
        frame = pd.read_csv(tmp_path / "own.csv")  # truth values, where pandas takes them for such
        frame.to_parquet(tmp_path / "own.parquet")
        described = describe_records(
            LONG | {"outcomes": {"levels": levels}, "file": "own.parquet"}, tmp_path / "own.yaml"
        )
        assert read_own_records(described, described.file).outcome.tolist() == [[0, 1], [1, -1]]


@pytest.mark.parametrize(
    ("levels", "cell"),
    [
        ([False, True], "maybe"),
        ([False, True], "2"),
        (["no", "yes", "maybe"], "TRUE"),
        (["f", "m"], "no"),
        (["A", "a"], "a."),
        (["1", "1.0"], "1.00"),
    ],
)
def test_a_text_that_denotes_no_level_or_several_is_refused(tmp_path, levels, cell):
    text = f"who,day,drug,result\nx,1,A,{cell}\nx,3,B,{cell}\n"
    with pytest.raises(DataError, match=r"line 2: column 'result' holds .*; allowed are"):
        _read(tmp_path, text, outcomes={"levels": levels})


def test_limits_and_words_for_no_value_are_read_as_in_tables(tmp_path):
    rows = "who,day,drug,result,age\nx,1,A,<3,< 70\nx,2,B,>7,< 70\ny,1,A,NA,?\n"
    own = _read(
        tmp_path,
        rows,
        outcomes={"edges": [2, 5], "better": "higher"},
        covariates={"age": {"edges": [40]}},
    )
    assert own.outcome.tolist() == [[0, 2]]
    assert own.covariate.tolist() == [[0]]
    for part in ("'NA' means no value (result)", "'?' means no value (age)", "half the limit"):
        assert any(part in remark for remark in own.remarks), part


def test_estimates_rest_on_clusters_and_say_what_no_record_took(world):
    _, records, _, policy, judged = world
    found = estimates(policy, judged)
    assert 0 <= found.unseen < 0.5
    assert 1 < found.effective < len(records)
    for quantity, (low, high) in {
        "mean_trials": (1, 3),
        "mean_outcome": (0, 2.5),
        "best_share": (0, 1),
    }.items():
        cell = found.cells[quantity, "doubly_robust"]
        assert low <= cell["ci_low"] <= cell["estimate"] <= cell["ci_high"] <= high
        assert found.influence[quantity].mean() == pytest.approx(cell["estimate"])


def test_a_treatment_bundle_refuses_options_of_other_policies(tmp_path, capsys):
    (tmp_path / "policy.json").write_text('{"searches": 1}')
    (tmp_path / "new.csv").write_text("who\n")
    words = [str(tmp_path), str(tmp_path / "new.csv")]
    assert main(["advise", *words, "--simulate"]) == 2
    assert "--simulate does not apply" in capsys.readouterr().err
    assert main(["advise", *words]) == 2
    assert "is no policy of treatment searches, edition 3" in capsys.readouterr().err


_TABLE = {  # of two treatments with two outcomes: 0, then 1
    "action": np.array([[0, 1, 0, 2]], dtype=np.int8),
    "statistic": np.array([[np.nan, 0.4, 0.4, 0.0]]),
    "records": np.array([[9, 4, 3, 0]]),
    "visits": np.array([[9, 4, 3, 0]]),
    "runner_up": np.array([[1, -1, -1, -1]]),
    "trials_left": np.full((1, 4, 2), 1.5),
    "barred": np.zeros((1, 2), dtype=bool),
}
_NAMES: dict[str, Any] = {"searches": 3, "gaps": [], "contexts": ["all"], "treatments": ["A", "B"]}
_NAMES |= {"outcomes": ["bad", "good"]}
_NAMES |= {"description": LONG | {"outcomes": {"levels": ["bad", "good"]}}}


def write_policy(folder, arrays, names):
    """A stored policy, sealed as the stage seals it."""
    document = sealed(names, {"policy.safetensors": arrays})
    (folder / "policy.json").write_text(json.dumps(document))
    save_file(arrays, folder / "policy.safetensors")


def _spoilt():
    """Bundles that are none, each with what is wrong."""
    for name, array in _TABLE.items():
        yield f"no {name}", {k: v for k, v in _TABLE.items() if k != name}, _NAMES
        for what, other in {
            "type": array.astype(np.float32),
            "length": array[:, :-1],
            "axes": array[0],
            "contexts": np.repeat(array, 2, axis=0),
            "low": array * 0 - 2,
        }.items():
            yield f"{what} of {name}", _TABLE | {name: np.ascontiguousarray(other)}, _NAMES
    for name, other in {
        "action": [[3, 1, 0, 2]],
        "runner_up": [[2, -1, -1, -1]],
        "trials_left": np.full((1, 4, 2), np.inf),
    }.items():
        yield f"high {name}", _TABLE | {name: np.asarray(other, _TABLE[name].dtype)}, _NAMES
    again = np.array([[0, 0, 0, 2]], dtype=np.int8)
    yield "a treatment twice", _TABLE | {"action": again}, _NAMES
    yield "another array", _TABLE | {"more": np.zeros(2)}, _NAMES
    for key in _NAMES:
        yield f"no {key}", _TABLE, {k: v for k, v in _NAMES.items() if k != key}
        for other in (None, 2, "A", {}, [None], ["A"], ["A", "A"], ["A", "B", "C"], [[]]):
            yield f"{key}: {other}", _TABLE, _NAMES | {key: other}


@pytest.mark.parametrize(("what", "arrays", "names"), list(_spoilt()), ids=lambda v: str(v)[:20])
def test_a_bundle_that_is_none_is_refused_in_a_sentence(tmp_path, capsys, what, arrays, names):
    write_policy(tmp_path, arrays, names)
    (tmp_path / "new.csv").write_text("who,drug,result\nx,A,bad\ny,,\n")
    words = ["advise", str(tmp_path), str(tmp_path / "new.csv")]
    assert main(words) == 2, what
    assert capsys.readouterr().err.count("\n") == 1
    if what == "no action":
        write_policy(tmp_path, _TABLE, names)
        assert main(words) == 0
        assert capsys.readouterr().out.splitlines()[1].startswith("y: A; 9 of 9 records tried it")


@pytest.mark.parametrize("key", ["treatments", "outcomes", "contexts", "gaps", "name", "arrays"])
def test_a_policy_that_was_edited_is_refused(tmp_path, capsys, key):
    write_policy(tmp_path, _TABLE, _NAMES | {"name": "x"})
    document = json.loads((tmp_path / "policy.json").read_text())
    if key == "arrays":
        save_file(_TABLE | {"visits": _TABLE["visits"] + 1}, tmp_path / "policy.safetensors")
    else:  # reversed, if it is a list
        edited = {key: document[key][::-1] if len(document[key]) > 1 else "other"}
        (tmp_path / "policy.json").write_text(json.dumps(document | edited))
    (tmp_path / "new.csv").write_text("who,drug,result\nx,A,bad\ny,,\n")
    words = ["advise", str(tmp_path), str(tmp_path / "new.csv")]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "is not as it was written: its digest is another; make it again by snake" in said
    without = {name: value for name, value in document.items() if name != "seal"}
    (tmp_path / "policy.json").write_text(json.dumps(without))
    assert main(words) == 2
    assert "policy.json has no seal, by which an edited file shows" in capsys.readouterr().err


def test_tables_that_are_too_large_are_refused_with_what_fits(tmp_path):
    rows = "".join(f"x,{t},drug{t},bad\ny{t},1,drug{t},good\n" for t in range(14))
    own = _read(tmp_path, f"who,day,drug,result\n{rows}")
    with pytest.raises(
        SearchSizeError, match=r"own.csv: 14 actions .* at most 12 actions fit; lea"
    ):
        require_memory(own, describe_records(LONG, tmp_path / "own.yaml"))


@pytest.mark.parametrize(
    ("column", "level", "where", "verb"),
    [
        ("age", lambda cells: cells.astype(float) >= 65, "age 65 or more", "advised"),
        ("ward", lambda cells: cells == "intensive", "ward intensive", "judged"),
    ],
)
def test_a_treatment_that_a_stratum_never_had_is_not_advised_there(
    tmp_path, column, level, where, verb
):
    """A policy reads the age; it does not read the ward."""
    rows = pd.read_csv(ROOT / "docs/examples/searches.csv", dtype=str)
    drug = rows["drug"].value_counts().index[1]
    inside = level(rows[column])
    rows = rows[~(inside & (rows["drug"] == drug))]
    rows.to_csv(tmp_path / "searches.csv", index=False)
    made = judge_searches(
        description=ROOT / "docs/examples/searches.yaml",
        records=tmp_path / "searches.csv",
        context=Context({}, Streams(0, "judge_searches", {})),
    )
    verdict = made["policy"]["verdict"]
    patients = rows[inside].groupby("episode").ngroups
    start = f"{drug} was never tried for {where} ({patients} of {rows['episode'].nunique():,}): "
    assert verdict[1].startswith(f"{start}it is not {verb} there; ")
    old = made["steps"]["context"] == "age 65 or more"
    if column == "age":
        assert not (made["steps"].loc[old, ["next", "runner_up"]] == drug).any().any()
        table = step_table(made["arrays"], made["policy"])
        whys = {name: next_step(table, x, [-1] * 3)["why"] for x, name in enumerate(table.contexts)}
        never = f"; {drug} was never tried for such patients: not taken"
        assert [name for name, why in whys.items() if str(why).endswith(never)] == [
            "age 65 or more"
        ]
    assert (made["steps"]["next"] == drug).any()


def test_the_example_is_described_as_the_schema_requests():
    document = read_yaml(ROOT / "docs/examples/searches.yaml")
    described = describe_records(document, ROOT / "docs/examples/searches.yaml")
    own = read_own_records(described, described.file)
    assert (len(own.names), own.treatments) == (2000, ("amoxicillin", "cefuroxime", "doxycycline"))
    assert pd.read_csv(described.file)["episode"].nunique() == 2000
