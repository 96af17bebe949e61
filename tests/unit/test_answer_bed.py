"""The short form of `tests.trust.answer`: one table with gaps whose truth is known."""

import json
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from frugal.judge.verdicts import State
from scipy.special import expit

from tests.trust import answer as bed

pytestmark = pytest.mark.trains

FEW = {"trees": 20, "folds": 2, "repeats": 1}
META = {
    "unit": "EUR",
    "free": ["age", "pressure"],
    "causes": ["age", "pressure"],
    "panels": {"blood": [["crp"], 1.0], "film": [["shadow"], 3.0], "noise": [["dust"], 0.5]},
    "miss": 20.0,
    "alarm": 6.0,
}


@pytest.fixture(scope="module")
def row(tmp_path_factory):
    """A run of the bed on 400 of 6,000 made-up cases, with few trees."""
    folder = tmp_path_factory.mktemp("populations")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6_000, 5))
    ill = rng.random(len(x)) < expit(0.5 * x[:, 0] + 2 * x[:, 2] + x[:, 3] - 1)
    frame = pd.DataFrame(x, columns=["age", "pressure", "crp", "shadow", "dust"])
    frame.assign(_y=ill.astype(int)).to_parquet(folder / "clinic.parquet")
    (folder / "clinic.json").write_text(json.dumps(META))
    agents = {
        name: one | {"boosting": one["boosting"] | FEW, "sets": 6}
        for name, one in bed.AGENTS.items()
        if one["kind"] in ("cascade", "fixed_set")
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bed, "AGENTS", agents)
        return bed.run(folder, "clinic", 400, "mar", 1)


def test_an_answer_holds_where_the_truth_is_known(row):
    assert row["policy"] in {"cascade", "fixed", "never", "always", "constant"}
    assert row["state"] in get_args(State)
    assert row["miss"] <= 1
    assert abs(row["cost"] - row["true"]) <= row["half"]
    assert 0 <= row["regret"] <= row["bound"]
    assert row["saving_low"] <= row["practice"] - row["true"]
    assert row["truth"]["never"] == pytest.approx(row["truth"]["constant"], rel=0.25)


def test_the_lines_of_the_bed_count_what_held(row):
    wrong = row | {"miss": 1.5, "regret": row["bound"] + 1.0, "state": "best", "seed": 2}
    (line,) = bed.summary(pd.DataFrame([row, wrong])).to_dict("records")
    assert (line["rows"], line["runs"], line["covered"]) == (400, 2, 0.5)
    assert line["bound too small"] == 0.5
    assert line["within 5%, wrong"] == line["within 10%, wrong"] == 0.5
    assert line["bound"] == pytest.approx(row["bound"] / row["cost"])
