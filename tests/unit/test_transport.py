"""Costs for other cases: coverage under a known shift, and no change without one."""

import frugal
import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.judge.transport import transport

from tests.workflow.runs import ROOT

SHIFT = 0.6


def cases(rng, n, shift):
    x = rng.normal(size=(n, 3))
    x[:, 0] += shift
    x[:, 2] = x[:, 2] + shift > 0
    return x


def expected(x):
    """Mean term given the columns; neither linear nor quadratic."""
    return 10 + 3 * x[:, 0] + 2 * np.sin(2 * x[:, 1]) * x[:, 0] + x[:, 0] ** 2 - 2 * x[:, 2]


@pytest.mark.parametrize("clustered", [False, True])
def test_intervals_hold_the_mean_of_the_shifted_cases(clustered):
    """400 draws: 93 to 97 % hold it, give or take 3 standard errors of 1.1 % (P < 0.006)."""
    rng = np.random.default_rng(0)
    truth, held, misses = expected(cases(rng, 1_000_000, SHIFT)).mean(), 0, []
    for _ in range(400):
        x, other = cases(rng, 800, 0), cases(rng, 600, SHIFT)
        cluster = np.arange(800) // 2 if clustered else None
        noise = rng.normal(size=400).repeat(2) if clustered else rng.normal(size=800)
        term = (expected(x) + 4 * noise)[:, None]
        fold = np.arange(800) // 2 % 5
        found = transport(term, x, other, fold, cluster)
        held += int(abs(found.mean[0] - truth) < 1.96 * found.std_error[0])
        misses.append(found.mean[0] - truth)
    assert 0.93 - 0.033 <= held / 400 <= 0.97 + 0.033
    assert abs(np.mean(misses)) < 4 * np.std(misses) / 20


def test_without_a_shift_the_mean_hardly_moves_and_few_rows_lose_weight():
    rng = np.random.default_rng(1)
    x, other = cases(rng, 2000, 0), cases(rng, 2000, 0)
    term = np.column_stack([expected(x), 2 * expected(x)])
    found = transport(term, x, other, np.arange(2000) % 5)
    assert found.mean == pytest.approx(term.mean(axis=0), abs=3 * found.std_error[1])
    assert found.mean[1] == pytest.approx(2 * found.mean[0])
    assert found.effective_rows > 1900


def test_cases_far_from_the_records_leave_few_effective_rows():
    rng = np.random.default_rng(2)
    x, other = cases(rng, 800, 0), cases(rng, 800, 4.0)
    assert transport(expected(x)[:, None], x, other, np.arange(800) % 5).effective_rows < 30


def test_missing_values_and_single_cases_are_refused():
    rng = np.random.default_rng(3)
    x, other = cases(rng, 100, 0), cases(rng, 5, 0)
    other[1, 0] = np.nan
    for rows in (other, other[:1]):
        with pytest.raises(DataError, match="transport needs at least 2 other cases"):
            transport(x[:, :1], x, rows, np.arange(100) % 5)


def test_an_answer_has_the_costs_for_the_cases_of_a_file(tmp_path):
    """The same numbers as by the call; little overlap is reported."""
    clinic, path = ROOT / "docs/examples/clinic.yaml", ROOT / "docs/examples/clinic.csv"
    agents = ["always", "never"]
    answer = frugal.decide(frugal.load(clinic, transport=path), agents=agents)
    moved = answer.transport(path).set_index("agent")
    content = answer.document["elsewhere"]
    assert content["cases"] == 800
    for name, each in content["costs"].items():
        assert each == moved.loc[name, list(each)].to_dict()
    (line,) = [line for line in answer.summary().splitlines() if "clinic.csv" in line]
    assert line.startswith(f"For the 800 cases of clinic.csv, {answer.document['policy']} costs ")
    far = pd.read_csv(path)
    grouped = frugal.decide(frugal.load(clinic, sensitive="ward"), agents=agents)
    same = grouped.transport(path).set_index("agent")  # the file has the column of the groups
    assert same.loc["never", "cost"] == pytest.approx(moved.loc["never", "cost"], rel=0.05)
    cases = grouped.policy("never").advise(far)
    assert len(cases) == len(far)
    highest = far["temperature"].max()
    far["temperature"] += 4
    far.to_csv(tmp_path / "far.csv", index=False)
    with pytest.raises(DataError, match=r"of the cases have 'temperature' outside .*the range of"):
        answer.transport(tmp_path / "far.csv")
    far["temperature"] = far["temperature"].clip(upper=highest)
    far.to_csv(tmp_path / "far.csv", index=False)
    answer = frugal.decide(frugal.load(clinic, transport=tmp_path / "far.csv"), agents=agents)
    assert ". Little overlap: the 800 judged rows count as " in answer.summary()


def test_a_file_of_other_cases_is_needed_and_costs_are_compared(tmp_path):
    clinic = ROOT / "docs/examples/clinic.yaml"
    with pytest.raises(ConfigError, match=r"transport is 'none\.csv', and there is no such file"):
        frugal.load(clinic, transport="none.csv")
