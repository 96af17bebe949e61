"""Imputers are judged on the same holes of the same rows, and the table says who beats means."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from frugal.answer.stages.data import compare_imputers
from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError
from frugal.core.scaling import fit_scaling
from frugal.core.streams import Streams
from frugal.core.table import Panel, Table
from frugal.data.tables import table_to_frames
from frugal.learn.imputation_errors import compare_errors, hide_at_random, imputation_error

from tests.unit.test_imputers import FLOW, FOREST

pytestmark = pytest.mark.trains

SETTINGS: dict[str, Any] = {
    "seeds": [0, 1],
    "most_rows": 400,
    "train_share": 0.6,
    "validation_share": 0.1,
    "hidden_share": 0.2,
    "imputers": {
        "mean": {"kind": "mean"},
        "mice": {"kind": "mice", "rounds": 4},
        "missforest": {"kind": "missforest", **FOREST, "trees": 10},
        "emflow": {"kind": "emflow", **FLOW, "mask_draws": 6} | {"hidden_share": [0.0, 0.6]},
    },
}
SETTINGS["imputers"]["emflow"]["learning_rate"] = 1e-3


def mixed_table(n: int = 500) -> Table:
    """Three columns along one factor, one with own holes, one constant, and a one-hot group."""
    rng = np.random.default_rng(0)
    factor = rng.normal(size=n)
    numeric = factor[:, None] * [1, 30, -2] + rng.normal(size=(n, 3)) * [0.4, 10, 0.7]
    numeric[rng.random(n) < 0.1, 2] = np.nan
    codes = np.eye(2)[(factor > 0.3).astype(int)]
    values = np.column_stack([numeric, np.full(n, 7.0), codes])
    names = ("a", "b", "c", "constant", "low", "high")
    return Table(
        np.arange(n),
        values,
        names,
        ((4, 5),),
        (factor > 1).astype(int),
        ("healthy", "ill"),
        (Panel("all", names, 1.0, False),),
        np.ones((2, 2)) - np.eye(2),
    )


def compared(**changes) -> pd.DataFrame:
    frame, catalogue = table_to_frames(mixed_table(), np.full(500, "train"))
    return compare_imputers(
        table=frame,
        catalogue=catalogue,
        context=Context({**SETTINGS, **changes}, Streams(0, "compare_imputers", {})),
    )["comparison"]


def test_every_imputer_beats_means_on_a_table_with_one_factor():
    found = compared()
    assert list(found["imputer"]) == [*SETTINGS["imputers"], *SETTINGS["imputers"]]
    assert found.groupby("seed")["entries"].nunique().eq(1).all()
    others = found[found["imputer"] != "mean"]
    assert others["better_than_mean"].all()
    assert not found[found["imputer"] == "mean"]["better_than_mean"].any()
    means = found[found["imputer"] == "mean"]
    assert means["rmse"].between(0.7, 1.3).all()  # 1, ± 3 standard errors of some 70 entries
    pd.testing.assert_frame_equal(found, compared())


def test_hidden_entries_are_known_ones_and_groups_are_hidden_as_one():
    values = mixed_table().values
    hidden = hide_at_random(values, onehot=((4, 5),), share=0.2, rng=np.random.default_rng(1))
    assert not hidden[np.isnan(values)].any()
    np.testing.assert_array_equal(hidden[:, 4], hidden[:, 5])
    # 2,500 draws at 0.2 have a standard error of 0.008; ± 4 of them: 1 false alarm in 16,000
    assert hidden[:, [0, 1, 3, 4]].mean() == pytest.approx(0.2, abs=0.036)
    with pytest.raises(ConfigError, match="0 < share < 1"):
        hide_at_random(values, onehot=(), share=1.0, rng=np.random.default_rng(1))


def test_errors_count_hidden_entries_in_standard_deviations():
    truth = np.array([[0.0, 10.0], [2.0, 30.0]])
    scaling = fit_scaling(truth)  # standard deviations 1 and 10
    hidden = np.array([[True, False], [False, True]])
    filled = truth + np.array([[3.0, 99.0], [99.0, 40.0]])
    assert imputation_error(truth, filled, hidden, scaling) == pytest.approx(np.sqrt((9 + 16) / 2))
    with pytest.raises(DataError, match="no entry is hidden"):
        imputation_error(truth, filled, np.zeros((2, 2), dtype=bool), scaling)


def test_an_imputer_that_fails_once_is_reported_as_no_better():
    errors = pd.DataFrame(
        {
            "imputer": ["mean", "mean", "x", "x"],
            "seed": [0, 1, 0, 1],
            "entries": 9,
            "rmse": [1.0, 1.1, 0.8, 1.2],
        }
    )
    found = compare_errors(errors).set_index(["imputer", "seed"])
    assert not found.loc[("x", 0), "better_than_mean"]
    assert found.loc[("x", 1), "rmse_average"] == pytest.approx(1.0)
    assert found.loc[("x", 1), "rmse_sd"] == pytest.approx(np.std([0.8, 1.2], ddof=1))
    assert found.loc[("x", 1), "rmse_of_mean"] == 1.1
    with pytest.raises(DataError, match="1 seeds of x"):
        compare_errors(errors.iloc[:3])


def test_settings_that_leave_no_rows_or_no_means_are_refused():
    with pytest.raises(ConfigError, match="each needs one"):
        compared(train_share=0.95, validation_share=0.05)
    with pytest.raises(ConfigError, match="lacks 'mean'"):
        compared(imputers={"mice": {"kind": "mice", "rounds": 2}})
