"""`python -m frugal recourse`: answers in words and tables, and a sentence for each fault."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frugal.__main__ import main
from frugal.studies.recourse.commands.recourse import recourse_command

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
ACTIONS = (EXAMPLES / "loan_actions.csv").read_text()
UNITS = (EXAMPLES / "loan_units.csv").read_text()


@pytest.fixture
def recourse(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*words, units=UNITS, actions=ACTIONS):
        Path("units.csv").write_text(units)
        Path("actions.csv").write_text(actions)
        status = main(["recourse", "units.csv", "actions.csv", *words])
        said = capsys.readouterr()
        return status, said.out.splitlines(), said.err.splitlines()

    return run


def _own(head, row):
    return f"unit,savings,income,credit_record,debt,papers,{head}\nanna,1,1,1,1,0,{row}\n"


def _changed(old, new):
    assert old in ACTIONS
    return ACTIONS.replace(old, new)


@pytest.mark.parametrize(
    ("words", "units", "sentence"),
    [
        (["--budget", "8"], _own("x", ""), "its budget is 8, and the cheapest set is sell_car"),
        (["--at-most", "2"], _own("x", ""), "it may take 2 actions, and no such set is enough"),
        ([], _own("forbidden", "collect_papers"), "collect_papers may not be taken; otherwise it"),
        (
            ["--forbid", "find_guarantor", "--forbid", "second_job", "--forbid", "training"],
            _own("x", ""),
            "find_guarantor may not be taken",
        ),
        (
            ["--require", "second_job", "--require", "training"],
            _own("x", ""),
            "second_job, training must be taken; otherwise it would be sell_car",
        ),
        (["--budget", "8", "--at-most", "2"], _own("x", ""), "its rules together allow none"),
    ],
)
def test_a_unit_without_a_set_is_stated_which_rule_stands_in_the_way(
    recourse, words, units, sentence
):
    status, said, _ = recourse(*words, units=units)
    assert status == 0
    assert sentence in next(line for line in said if line.startswith("unit 'anna' has no set"))
    assert said[-1] == "1 unit: 1 without any set"


def test_an_exclusion_in_the_catalogue_is_named_where_it_leaves_nothing(recourse):
    actions = ACTIONS.replace("find_guarantor,4,,,", "find_guarantor,4,,collect_papers,")
    actions = actions.replace("second_job,8,,training", "second_job,8,,training;collect_papers")
    actions = actions.replace(
        "training,7,language_course,", "training,7,language_course,collect_papers"
    )
    _, said, _ = recourse(units=_own("x", ""), actions=actions)
    assert "rules of the catalogue's actions leave none" in "".join(said)


def test_parquet_gives_the_answers_of_csv(recourse, tmp_path, capsys):
    _, said, _ = recourse()
    for name in ("units", "actions"):
        frame = pd.read_csv(f"{name}.csv", comment="#")
        frame.to_parquet(f"{name}.parquet")
    assert main(["recourse", "units.parquet", "actions.parquet", "--out", "a.parquet"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[:-1] == said
    assert recourse_command(["units.csv", "actions.csv", "--out", "a.csv"]) == 0
    frame = pd.read_parquet("a.parquet").replace("", None)
    pd.testing.assert_frame_equal(
        frame.astype(object).where(frame.notna(), None),
        pd.read_csv("a.csv").astype(object).where(lambda f: f.notna(), None),
        check_dtype=False,
    )


def test_a_search_that_stops_is_stated_with_its_bound_and_its_status(recourse):
    features, rng = [f"x{j}" for j in range(30)], np.random.default_rng(1)
    rows = []
    for i in range(60):
        gain = np.zeros(30, dtype=int)
        gain[rng.choice(30, 3, replace=False)] = 1
        rows.append(f"a{i},1," + ",".join(map(str, gain)))
    head = ["action,cost," + ",".join(features), "threshold,," + ",".join(["1"] * 30)]
    given = {
        "actions": "\n".join([*head, *rows]),
        "units": f"unit,{','.join(features)}\none,{','.join(['0'] * 30)}\n",
    }
    status, said, _ = recourse("--max-nodes", "1", "--best", "1", **given)
    assert status == 1
    assert "not proven: a set may cost as little as" in said[0]
    assert said[-1] == "1 unit: 1 with a set that is not proven to be the cheapest"
    status, said, _ = recourse("--max-nodes", "1000", "--best", "1", **given)
    assert status == 0
    assert "proven: nothing is" in said[0]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"units": _own("at_most", "two")}, "column 'at_most' holds 'two'"),
        ({"units": _own("forbidden,required", "sell_car,sell_car")}, "required and forbidden"),
        ({"actions": ACTIONS.replace("threshold,,,", "threshold,,sell_car,")}, "threshold row has"),
    ],
)
def test_a_fault_is_one_sentence(recourse, given, sentence):
    status, said, wrong = recourse(**given)
    assert (status, said, len(wrong)) == (2, [], 1)
    assert sentence in wrong[0]


def test_a_column_that_nothing_reads_is_stated(recourse):
    _, said, _ = recourse(units=UNITS.replace("forbidden", "forbiden"))
    assert said[0] == "units.csv: column 'forbiden' is not read; did you mean 'forbidden'?"


TIES = """action,cost,f0,f1
threshold,,1,1
a,10000.488589,1,0
b,10000.342585,1,1
c,10000.342585,1,1
"""
ZERO = "unit,f0,f1\nann,0,0\n"


@pytest.mark.parametrize("scale", [1, 1_000, 100_000])  # prices to a billion, with six decimals
def test_the_certificate_is_the_same_for_any_number_of_sets_and_prices_are_whole(recourse, scale):
    actions = TIES.replace("10000.", f"{10_000 * scale}.")
    for best in ("1", "2", "3"):
        status, said, _ = recourse("--best", best, "--unit", "EUR", units=ZERO, actions=actions)
        assert status == 0
        assert (
            f"The cheapest way: b ({10_000 * scale}.342585 EUR) (proven: nothing is cheaper; 2 "
            in said[0]
        )
    assert f"Next: c for {10_000 * scale}.342585 EUR." in said[0]


@pytest.mark.parametrize(
    ("words", "actions", "sentence"),
    [
        (["--best", "1000000000"], TIES, "at most 5000000 sets of each unit are possible"),
        ([], TIES.replace("10000.488589", "9000000000"), "use a larger unit"),
        ([], TIES.replace("10000.488589", "12345678.1234567"), "at most 6 decimals"),
    ],
)
def test_what_cannot_be_exact_or_held_is_refused_in_a_sentence(recourse, words, actions, sentence):
    status, said, wrong = recourse(*words, units=ZERO, actions=actions)
    assert (status, said, len(wrong)) == (2, [], 1)
    assert sentence in wrong[0]
    assert "float64" not in wrong[0]


def test_a_budget_above_all_prices_is_none(recourse):
    assert recourse("--budget", "1e300")[:2] == recourse()[:2]


def test_groups_are_summed_up(recourse):
    units, actions = ((EXAMPLES / f"recourse_{n}.csv").read_text() for n in ("units", "actions"))
    _, said, _ = recourse(units=units, actions=actions)
    assert "group 'young': 2 units, mean cost 5.5" in said
    assert "group 'old': 1 unit, no cost, 1 without a set" in said


def test_a_folder_keeps_the_answers(recourse, tmp_path):
    status, shown, _ = recourse("--into", "kept")
    assert status == 0
    folder = tmp_path / "kept"
    names = ["answer.html", "answer.json", "answers.csv", "verdict.txt"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert (folder / "verdict.txt").read_text().splitlines()[-1] == shown[-1]
    recourse("--out", "all.csv")
    assert (folder / "answers.csv").read_bytes() == (tmp_path / "all.csv").read_bytes()
    status, _, refused = recourse("--into", "kept")
    assert status == 2
    assert "kept is there already" in refused[0]


HEATED = """action,cost,insulation,heating,solar,requires
threshold,,3,2,1,
wall,12000,2,0,0,
roof,7000,1,0,0,
pump,15000,0,2,0,wall
boiler,6000,0,1,0,
panel,9000,0,0,1,roof
"""


def test_rules_of_the_catalogue_are_the_last_to_be_left_out(recourse):
    """The budget and the forbidden action keep the unit from a set; the pump still needs a wall."""
    units = "unit,insulation,heating,solar,budget,forbidden\nhouse,2,0,0,20000,panel\n"
    _, out, _ = recourse(units=units, actions=HEATED)
    assert out[0] == (
        "unit 'house' has no set: its rules together allow none, whichever kind of them is left "
        "out; without the budget, the forbidden actions it would be wall, roof, pump, panel, "
        "43000 in all."
    )
