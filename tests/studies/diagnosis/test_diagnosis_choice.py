"""One choice over all families: which footing counts, who may take the lead, what is told."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.studies.diagnosis.choice import candidates, compared, leading, verdicts
from frugal.studies.diagnosis.scores import score_effects

N = 400
ILL = np.arange(N) % 4 == 0


def miss(wrong: int, start: int = 0) -> np.ndarray:
    """Verdicts that miss so many units, from one on."""
    found = ILL.copy()
    found[start : start + wrong] = ~found[start : start + wrong]
    return found


def f1(verdict: np.ndarray) -> float:
    return 2 * (verdict & ILL).sum() / (verdict.sum() + ILL.sum())


def frames(
    families: dict[str, list[tuple[float, np.ndarray, np.ndarray]]],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores and outcomes of families: of each solution its cost, and what it said of two parts."""
    scores, outcomes = [], []
    for family, solutions in families.items():
        for pair, (cost, validation, test) in enumerate(solutions):
            for part, verdict in (("validation", validation), ("test", test)):
                scores.append(
                    {
                        "family": family,
                        "method": family,
                        "pair": pair,
                        "split": part,
                        "cost": cost,
                        "f1": f1(verdict),
                        "n": N,
                    }
                )
                rows: dict[str, Any] = {"family": family, "policy": family, "member": pair}
                rows |= {"part": part, "row_id": np.arange(N), "label": ILL.astype(int)}
                rows |= {"verdict": verdict.astype(int)}
                outcomes.append(pd.DataFrame(rows))
    return pd.DataFrame(scores), pd.concat(outcomes, ignore_index=True)


def pooled(**of: list[float]) -> pd.DataFrame:
    rows = [
        (family, pair, value, 1.0, 5000)
        for family, values in of.items()
        for pair, value in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=["family", "pair", "pooled_score", "cost", "n"])


def test_pooled_predictions_count_before_validation_units():
    """The first is better on validation, the second on far more units out of fold."""
    scores, outcomes = frames(
        {"lucky": [(1.0, miss(10), miss(40))], "sound": [(1.0, miss(20), miss(20))]}
    )
    found = candidates(scores, pooled(lucky=[0.6], sound=[0.7]), budget=2.0, score="f1")
    assert [one.family for one in found] == ["lucky", "sound"]
    assert leading(found, outcomes, score="f1") == 1
    assert found[1].units == 5000
    alone = candidates(scores, None, budget=2.0, score="f1")
    assert leading(alone, outcomes, score="f1") == 0
    assert alone[0].units == N


def test_of_a_family_the_best_pooled_policy_within_the_budget_is_taken():
    three = [(1.0, miss(k), miss(k)) for k in (30, 20, 10)]
    scores, _ = frames({"trees": three})
    told = pooled(trees=[0.5, 0.7, 0.9]).assign(cost=[1.0, 2.0, 3.0])
    assert candidates(scores, told, budget=2.5, score="f1")[0].key == ("trees", "trees", 1)
    with pytest.raises(ConfigError, match=r"no solution costs at most 0.5 on average"):
        candidates(scores, told, budget=0.5, score="f1")
    with pytest.raises(ConfigError, match="not by 'auroc'"):
        candidates(scores, told, budget=2.5, score="auroc")


def test_the_price_of_all_panels_is_within_a_budget_of_all_of_it():
    """A mean of sums of prices misses the sum in its last digit, at any size of prices."""
    for unit in (1.0, 1e7, 1e-7):
        scores, _ = frames({"trees": [(unit * (0.1 + 0.2), miss(1), miss(1))]})
        assert len(candidates(scores, None, budget=unit * 0.3, score="f1")) == 1
        with pytest.raises(ConfigError, match="no solution costs at most"):
            candidates(scores, None, budget=unit * 0.2999999, score="f1")


@pytest.mark.parametrize(("wrong", "first"), [(18, 0), (2, 1)])
def test_validation_alone_takes_the_lead_beyond_a_standard_error(wrong, first):
    """Two units of difference are within one standard error, eighteen are not."""
    scores, outcomes = frames(
        {"trees": [(1.0, miss(20), miss(20))], "network": [(1.0, miss(wrong, 200), miss(20))]}
    )
    found = candidates(scores, pooled(trees=[0.7]), budget=2.0, score="f1")
    assert leading(found, outcomes, score="f1") == first


def test_all_are_compared_on_the_same_test_units():
    scores, outcomes = frames(
        {
            "good": [(1.0, miss(20), miss(20))],
            "alike": [(1.0, miss(20), miss(22))],
            "bad": [(1.0, miss(20), miss(120))],
        }
    )
    found = candidates(scores, None, budget=2.0, score="f1")
    table = compared(found, 0, outcomes, score="f1", rng=np.random.default_rng(0))
    assert table["not_worse"].tolist() == [True, True, False]
    assert table["less"].tolist() == pytest.approx(
        [0.0, f1(miss(20)) - f1(miss(22)), f1(miss(20)) - f1(miss(120))]
    )
    assert (table["low"] < table["test"]).all()
    assert (table["test"] < table["high"]).all()
    low, high = table["less_low"].to_numpy(), table["less_high"].to_numpy()
    assert low[2] > 0
    assert low[1] < 0 < high[1]
    other = outcomes.assign(row_id=outcomes["row_id"] + 1000 * (outcomes["family"] == "bad"))
    with pytest.raises(DataError, match="different test units; see bad"):
        verdicts(other, found, "test")


def test_effects_are_derivatives_by_the_weight_of_a_unit():
    label, verdict = ILL.astype(int), miss(30)[None].astype(int)
    for score in ("f1", "am"):
        value, effect = score_effects(label, verdict, score=score)
        for unit in (0, 1, 100):
            more = np.append(np.arange(N), unit)
            other = score_effects(label[more], verdict[:, more], score=score)[0]
            assert (other[0] - value[0]) * N == pytest.approx(effect[0, unit], abs=0.02)
