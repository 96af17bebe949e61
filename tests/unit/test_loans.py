"""The synthetic loans: laws of the features, and the label's logistic law."""

import itertools

import numpy as np
import pytest
from frugal.data.simulators import loan_applications

ROWS = 60_000
LOANS = loan_applications(rows=ROWS, divisor=10.0, seed=4)
GROUP = LOANS["group"].to_numpy() == "1"
KIND = LOANS["X9"].astype(int).to_numpy()
SE = 1 / np.sqrt(ROWS / 2)  # of a mean of half the rows with standard deviation 1


def test_columns_and_shares():
    assert list(LOANS) == [f"X{j}" for j in range(1, 11)] + ["group", "repaid"]
    assert GROUP.mean() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(ROWS))
    assert np.bincount(KIND) / ROWS == pytest.approx(1 / 3, abs=5 * 0.47 / np.sqrt(ROWS))


@pytest.mark.parametrize("j", range(1, 9))
def test_means_by_group(j):
    column = LOANS[f"X{j}"].to_numpy()
    wanted = 0.0 if j <= 4 else 0.5
    assert column[GROUP].mean() == pytest.approx(wanted, abs=5 * SE)
    assert column[~GROUP].mean() == pytest.approx(-wanted, abs=5 * SE)
    assert column[GROUP].std() == pytest.approx(1, abs=5 * SE)


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_x10_is_fair_where_x9_is_zero(kind):
    column = LOANS["X10"].to_numpy()
    for group, sign in ((GROUP, 1), (~GROUP, -1)):
        here = column[group & (kind == KIND)]
        assert here.mean() == pytest.approx(sign * kind / 2, abs=5 * SE * np.sqrt(3))


def test_the_label_follows_its_logistic_law():
    features = LOANS[[f"X{j}" for j in range(1, 11)]].astype(float).to_numpy()
    beta = np.array([1, -1, 1, -1, 1, -1, 1, -1, 1, -1])
    chance = 1 / (1 + np.exp(-(features @ beta) / 10))
    repaid = LOANS["repaid"].to_numpy() == "1"
    cut = np.quantile(chance, np.linspace(0, 1, 6))
    for low, high in itertools.pairwise(cut):
        here = (chance >= low) & (chance <= high)
        tolerance = 4.5 * 0.5 / np.sqrt(here.sum())
        assert repaid[here].mean() == pytest.approx(chance[here].mean(), abs=tolerance)


def test_a_larger_table_begins_with_the_smaller_one():
    assert LOANS.head(100).equals(loan_applications(rows=100, divisor=10.0, seed=4))
    assert not LOANS.head(100).equals(loan_applications(rows=100, divisor=10.0, seed=5))


def test_a_smaller_divisor_changes_the_label_alone():
    strong = loan_applications(rows=ROWS, divisor=2.0, seed=4)
    assert strong.drop(columns="repaid").equals(LOANS.drop(columns="repaid"))
    x1 = LOANS["X1"].to_numpy()

    def gap(frame):
        repaid = frame["repaid"].to_numpy() == "1"
        return x1[repaid].mean() - x1[~repaid].mean()

    assert gap(strong) > 3 * gap(LOANS)
