"""Arguments of the library that are of another type than is allowed."""

import sys

from tests.workflow.runs import ROOT, run

EXAMPLES = ROOT / "docs" / "examples"
CLINIC, FORM, WARDS = (EXAMPLES / f"{name}.yaml" for name in ("clinic", "form", "wards"))
WRONG = {
    "load(None)": "the table is None; allowed is a data frame, or the path of a YAML",
    "decide({})": "the table is a dict",
    "load(pd.DataFrame({'a': ['secret']}), label='a', prices=[12])": "prices is a list; allowed",
    "load(CLINIC, label='a')": "label: arguments for a data frame",
    "load('visits.csv', label='a')": "there is no file visits.csv",
    "load(CLINIC, folder={})": "folder is a dict; allowed is a path, or None",
    "load(CLINIC, folder='/dev/null/x')": "cannot be made: Not a directory",
    "load(CLINIC, config=[])": "config is a list; allowed is keys",
    "missingness(pd.DataFrame({'a': ['secret']}))": "table is a DataFrame; allowed is the result",
    "train(None, 'dqn')": "masks is None",
    "roll_out({})": "policy is a dict",
    "evaluate(None)": "policies is None",
    "evaluate(pd.Series(['x']).to_numpy().reshape(()))": "policies is a ndarray; allowed",
    "evaluate([None])": "a policy is None; allowed is a result of train",
    "verdict({})": "answer is a dict",
    "advise(None, 'new.csv')": "policy is None",
    "advise(frugal.StoredPolicy(CLINIC), None)": "cases is None; allowed is a data frame",
    "load_policy({})": "folder is a dict",
    "load_policy(CLINIC, function=5)": "function is an int; allowed is a path, or None",
    "missingness(object.__new__(frugal.Table), 'secret')": "law is a str; allowed is keys, or",
    "fair_form(CLINIC)": "has no groups of a protected attribute",
    "fair_form(FORM, gammas=0.5)": "gammas is a float; allowed is a list of numbers",
    "fair_form(FORM, speed=2)": "unknown key 'speed' under 'dadi'; allowed are folds",
    "over_time(WARDS, pd.Series(['x']).to_numpy().reshape(()))": "policies is a ndarray; allowed",
    "over_time(WARDS, seed=-1)": "seed is -1; allowed are values from 0 on",
    "over_time(WARDS, margin=-0.1)": "margin is -0.1; allowed are values from 0 on",
    "over_time(WARDS, cores=-1)": "cores is -1; allowed are whole numbers from 1 on",
    "load(TABLE, label='a', prices={'b': 10**400})": "prices['b'] has 1000",
    "load(TABLE, label='a', prices={'b': pd.Series([1, 'a'])})": "prices['b'] has",
    "load(TABLE, label='a', free=['b'], errors={'missed': 10**400})": "errors['missed'] has 1000",
    "load(TABLE, label='a', prices={'b': {'x': object()}}, errors=ERRORS)": "written into a YAML",
    "decide(CLINIC, agents=5)": "agents is an int; allowed is a list of names, keys, or None",
}


def test_an_argument_of_another_type_is_refused_in_a_sentence():
    """In a Python of its own: here beartype would refuse it first."""
    program = f"import pandas as pd, frugal\nCLINIC, FORM = {str(CLINIC)!r}, {str(FORM)!r}\n"
    program += f"WARDS = frugal.load_over_time({str(WARDS)!r})\n"
    program += "TABLE = pd.DataFrame({'a': [0, 1] * 20, 'b': [1.5, 2, 7, 3] * 9 + [None] * 4})\n"
    program += "ERRORS = {'missed': 9, 'false alarm': 2}\n"
    for call in WRONG:
        program += f"try:\n    frugal.{call}\nexcept ValueError as error:\n    print(error)\n"
    done = run([sys.executable, "-c", program], ROOT)
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    for line, part in zip(lines, WRONG.values(), strict=True):
        assert part in line
    assert "secret" not in done.stdout
