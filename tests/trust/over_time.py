"""Coverage of policies over time on simulated wards whose ordering law is known.

  python -m tests.trust.over_time [DRAWS] [UNITS]

Every draw has new stays (`tests/oracles/wards.py`) and fits all nuisances from them. It prints for
each estimator its bias, root mean squared error, mean standard error, coverage of 95 % intervals
and the variance as a share of that of offline weighting.
"""

import sys

import numpy as np
import pandas as pd
from frugal.acquire.over_time import TimedPaths, follow, plan, repeat
from frugal.core.errors import NoSupportError
from frugal.core.over_time import TimedCosts, TimedRecords
from frugal.core.table import SharedCosts
from frugal.judge.history_fits import TimedFit, cases_over_time
from frugal.judge.over_time import TIMED_ESTIMATORS, estimate_over_time

from tests.oracles import wards

COSTS = TimedCosts(
    np.array(wards.PRICES),
    np.array([[0.0, wards.ALARM], [wards.MISSED, 0.0]]),
    SharedCosts(np.array([[True, True]]), np.array([wards.SET_UP])),
)
POPULATION = 2_000_000


def records_of(stays: wards.Stays) -> TimedRecords:
    """The recorded part of some stays."""
    n = len(stays.label)
    return TimedRecords(
        np.arange(n),
        stays.age[:, None],
        ("age",),
        np.where(stays.recorded, stays.values, np.nan),
        ("chemistry", "gas"),
        ("chemistry", "gas"),
        np.eye(2, dtype=bool),
        stays.recorded,
        np.full(n, wards.WINDOWS),
        stays.label,
        ("alive", "dead"),
        np.arange(n),
    )


def path_of(records: TimedRecords) -> TimedPaths:
    """The plan of the oracle along records."""
    gas = repeat(records, ["gas"], every=1, above=("chemistry", 0.3))
    chemistry = {0: ["chemistry"], 2: ["chemistry"]}
    return follow(records, GasInTheMiddle(plan(records, "plan", chemistry, [gas])), COSTS)


class GasInTheMiddle:
    """A plan whose gas is ordered in window 1 only."""

    def __init__(self, every) -> None:
        self.every, self.name = every, every.name

    def order(self, state) -> np.ndarray:
        """See `TimedPolicy`."""
        action = self.every.order(state)
        action[:, 1] &= state.window == 1
        return action


def estimates(seed: int, units: int) -> pd.DataFrame:
    """Estimate and standard error of every estimator in one draw."""
    rng = np.random.default_rng([47, seed])
    records = records_of(wards.draw(units, rng))
    path = path_of(records)
    seen = np.nan_to_num(path.last)
    probability = np.stack([wards.risk(records.static[:, 0], last) for last in seen])
    fit = TimedFit(method="linear", folds=4)
    (case,) = cases_over_time(records, COSTS, [path], fit, rng, [probability])
    rows = []
    for name in TIMED_ESTIMATORS:
        try:
            result = estimate_over_time(case, name)
        except NoSupportError:  # too few records match exactly
            rows.append((name, np.nan, np.nan, np.nan, np.nan, 0.0))
        else:
            low, high = result.interval()
            spread = (result.std_error[0], low[0], high[0], result.effective)
            rows.append((name, result.mean[0], *spread))
    columns = ["estimator", "estimate", "std_error", "low", "high", "effective"]
    return pd.DataFrame(rows, columns=columns)


def truth() -> float:
    """Mean cost of the plan on complete values of a population."""
    return float(wards.true_costs(wards.draw(POPULATION, np.random.default_rng(7))).mean())


def summary(draws: int, units: int) -> pd.DataFrame:
    """A row for each estimator, over draws."""
    every = pd.concat([estimates(seed, units) for seed in range(draws)])
    true = truth()
    every["error"] = every["estimate"] - true
    every["covers"] = (every["low"] <= true) & (true <= every["high"])
    every["below"] = every["high"] < true
    every["squared"] = every["error"] ** 2
    by = every.groupby("estimator", sort=False)
    table = pd.DataFrame(
        {
            "bias": by["error"].mean(),
            "rmse": np.sqrt(by["squared"].mean()),
            "mean_std_error": by["std_error"].mean(),
            "coverage": by["covers"].mean(),
            "below": by["below"].mean(),
            "effective": by["effective"].mean(),
            "variance": by["estimate"].var(),
        }
    )
    variance = table["variance"].to_dict()
    table["of_offline"] = [v / variance["offline_ipw"] for v in variance.values()]
    return table


def main() -> None:
    """Print the table."""
    draws, units = (int(v) for v in [*sys.argv[1:], *["400", "2000"][len(sys.argv) - 1 :]])
    print(f"truth {truth():.4f}, {draws} draws of {units} stays")
    print(summary(draws, units).round(4).to_string())


if __name__ == "__main__":
    main()
