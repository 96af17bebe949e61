"""Coverage of policies over time on simulated wards whose ordering law is known.

  python -m tests.trust.over_time [DRAWS] [UNITS] [MIRROR]
  python -m tests.trust.over_time learned [DRAWS] [UNITS] [KIND]

Every draw has new stays (`tests/oracles/wards.py`) and fits all nuisances from them. With a MIRROR
of `physionet2012/` stays are drawn from the real ones that have a heart rate and a coma scale in
each of the first three windows of 6 hours. Values and deaths are theirs; orders are drawn by the
law of the wards, where a fast heart is a high chemistry and a deep coma a high gas. The truth is
the mean over all of them. It prints for each estimator its bias, root mean squared error, mean
standard error, coverage of 95 % intervals and the variance as a share of that of offline weighting.

`learned` prints true costs of learned policies (KIND trees or network, default trees) and of seven
schedules, errors 40 times as expensive: on 40,000 complete stays, decisions by a boosted model that
is fitted to 40,000 others.
"""

import sys
from dataclasses import replace

import frugal
import numpy as np
import pandas as pd
from frugal.acquire.over_time import TimedPaths, follow, plan
from frugal.core.errors import NoSupportError
from frugal.core.over_time import TimedCosts, TimedRecords
from frugal.core.table import SharedCosts
from frugal.judge.history_fits import TimedFit, cases_over_time
from frugal.judge.order_learning import learn_guarded
from frugal.judge.over_time import TIMED_ESTIMATORS, estimate_over_time
from sklearn.ensemble import HistGradientBoostingClassifier

from tests.oracles import wards
from tests.trust.stays import YAML

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
    gas = {"panels": ["gas"], "every": 1, "above": ("chemistry", 0.3)}
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


def dense_stays(mirror: str) -> wards.Stays:
    """Real stays whose heart rate and coma scale are known throughout; all is standardised."""
    data = frugal.load_over_time(YAML, hours=6, static=["age"], data_mirror=mirror)
    at = [data.records.columns.index(name) for name in ("heart_rate", "coma_scale")]
    values = data.records.values[:, : wards.WINDOWS, at] * [1.0, -1.0]
    age = data.records.static[:, 0]
    dense = np.isfinite(values).all(axis=(1, 2)) & np.isfinite(age)
    values, age = values[dense], age[dense]
    values = (values - values.mean(axis=(0, 1))) / values.std(axis=(0, 1))
    every = np.ones(values.shape, dtype=bool)
    return wards.Stays(values, every, data.records.label[dense], (age - age.mean()) / age.std())


def estimates(seed: int, units: int, dense: wards.Stays | None = None) -> pd.DataFrame:
    """Estimate and standard error of every estimator in one draw."""
    rng = np.random.default_rng([47, seed])
    records = records_of(wards.draw(units, rng, dense))
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


def truth(dense: wards.Stays | None = None) -> float:
    """Mean cost of the plan on complete values of a population."""
    every = dense or wards.draw(POPULATION, np.random.default_rng(7))
    return float(wards.true_costs(every).mean())


def summary(draws: int, units: int, dense: wards.Stays | None = None) -> pd.DataFrame:
    """A row for each estimator, over draws."""
    every = pd.concat([estimates(seed, units, dense) for seed in range(draws)])
    true = truth(dense)
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


FACTOR, FRESH = 40.0, 80_000  # of the costs of errors; complete stays
BOTH = ["chemistry", "gas"]
SCHEDULES = {
    "nothing": {},
    "chemistry first": {0: BOTH[:1]},
    "chemistry last": {2: BOTH[:1]},
    "chemistry twice": dict.fromkeys((1, 2), BOTH[:1]),
    "chemistry always": dict.fromkeys(range(3), BOTH[:1]),
    "both last": {2: BOTH},
    "both twice": dict.fromkeys((1, 2), BOTH),
}


def true_cost(policy, costs: TimedCosts, fresh: TimedRecords) -> float:
    """Of a policy on the second half of complete stays; the first half fits the decision."""
    path, n = follow(fresh, policy, costs), len(fresh)
    row = np.arange(n)
    last, age = path.last[path.windows, row], path.age[path.windows, row]
    inputs = np.nan_to_num(np.column_stack([fresh.static, last, age, path.windows]), posinf=99)
    half, inputs = row < n // 2, inputs[:, np.ptp(inputs, axis=0) > 0]
    model = HistGradientBoostingClassifier(max_iter=100, max_leaf_nodes=8, random_state=0)
    chance = model.fit(inputs[half], fresh.label[half]).predict_proba(inputs)
    errors = costs.errors[fresh.label, costs.verdict(chance)]
    return float((costs.acquisition(path.acquired, path.windows) + errors)[~half].mean())


def learned(draws: int, units: int, learner) -> None:
    """Print true costs of schedules, then of the policy that is learned in each draw."""
    complete = wards.draw(FRESH, np.random.default_rng(99))
    fresh = records_of(replace(complete, recorded=np.ones_like(complete.recorded)))
    costs = replace(COSTS, errors=FACTOR * COSTS.errors)
    plans = [plan(fresh, name, at) for name, at in SCHEDULES.items()]
    for each in plans:
        print(f"{each.name}: {true_cost(each, costs, fresh):.2f}", flush=True)
    every, fit = [], TimedFit(learner=learner)
    for seed in range(draws):
        rng = np.random.default_rng([48, seed])
        policy = learn_guarded(records_of(wards.draw(units, rng)), costs, plans, fit, rng)
        unguarded = replace(policy, plan=None, margin=0.0)
        every.append([true_cost(each, costs, fresh) for each in (policy, unguarded)])
        form = policy.plan.name if policy.plan else f"margin {policy.margin:.3g}"
        print(f"draw {seed}: {every[-1][0]:.2f} ({form}); unguarded {every[-1][1]:.2f}", flush=True)
    print(f"mean {np.mean(every, axis=0).round(2)}, largest {np.max(every, axis=0).round(2)}")


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] == ["learned"]:
        draws, units, kind = [*sys.argv[2:], *["6", "16000", "trees"][len(sys.argv) - 2 :]]
        learned(int(draws), int(units), "network" if kind == "network" else "trees")
        return
    draws, units = (int(v) for v in [*sys.argv[1:3], *["400", "2000"][len(sys.argv) - 1 :]])
    dense = dense_stays(sys.argv[3]) if len(sys.argv) > 3 else None
    whose = (
        "" if dense is None else f" of {len(dense.label)}, {dense.label.mean():.1%} of them died"
    )
    print(f"truth {truth(dense):.4f}, {draws} draws of {units} stays{whose}", flush=True)
    print(summary(draws, units, dense).round(4).to_string())


if __name__ == "__main__":
    main()
