"""Coverage of policies over time on simulated wards whose ordering law is known.

  python -m tests.trust.over_time [DRAWS] [UNITS] [METHOD] [MIRROR] [KEY=VALUE …]
  python -m tests.trust.over_time learned [DRAWS] [UNITS] [KIND]

Every draw has new stays (`tests/studies/over_time/wards.py`), and is judged as `frugal.over_time`
judges it: laws, expected outcomes and rules of decision are fitted on five draws of folds by METHOD
(linear or boosting). The true cost of a policy is that with these rules, on 40,000 fresh complete
stays.
With a MIRROR of `physionet2012/` stays are drawn from the real ones that have a heart rate and a
coma scale in each of the first three windows of 6 hours, and fresh are all of them. Values and
deaths are theirs; orders are drawn by the law of the wards, where a fast heart is a high chemistry
and a deep coma a high gas. Keys: `fold_draws`, `learned=1` (a learned policy, too), `factor` (of
the costs of errors) and `first` (draw).

`learned` prints true costs of learned policies (KIND trees or network, default trees) and of seven
schedules, errors 40 times as expensive: on 40,000 complete stays, decisions by a boosted model that
is fitted to 40,000 others.
"""

import sys
from dataclasses import replace
from unittest import mock

import frugal
import numpy as np
import pandas as pd
from frugal.core.context import without_bar
from frugal.core.scaling import fit_scaling
from frugal.core.table import SharedCosts
from frugal.studies.over_time import history_fits
from frugal.studies.over_time.answer import TimedQuestion, fit_cases, judge_cases, learn_policies
from frugal.studies.over_time.data import TimedData
from frugal.studies.over_time.estimates import READ
from frugal.studies.over_time.history_fits import TimedFit, chance_of
from frugal.studies.over_time.order_learning import learn_guarded
from frugal.studies.over_time.orders import FADE, LEARNED, PRACTICE, TimedPaths, follow, plan
from frugal.studies.over_time.records import TimedCosts, TimedRecords
from sklearn.ensemble import HistGradientBoostingClassifier

from tests.studies.over_time import wards
from tests.trust.stays import YAML

COSTS = TimedCosts(
    np.array(wards.PRICES),
    np.array([[0.0, wards.ALARM], [wards.MISSED, 0.0]]),
    SharedCosts(np.array([[True, True]]), np.array([wards.SET_UP])),
)
FRESH = 40_000  # complete stays


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


class GasInTheMiddle:
    """A plan whose gas is ordered in window 1 only."""

    def __init__(self, every) -> None:
        self.every, self.name = every, every.name

    def order(self, state) -> np.ndarray:
        """See `TimedPolicy`."""
        action = self.every.order(state)
        action[:, 1] &= state.window == 1
        return action


def plans_of(records: TimedRecords) -> list:
    """The plan of the oracle, and three schedules."""
    gas = {"panels": ["gas"], "every": 1, "above": ("chemistry", 0.3)}
    oracle = plan(records, "plan", {0: ["chemistry"], 2: ["chemistry"]}, [gas])
    some = ("nothing", "chemistry always", "both last")
    return [GasInTheMiddle(oracle), *(plan(records, name, SCHEDULES[name]) for name in some)]


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


class Fresh:
    """Complete stays, on which a policy costs what it does with the rules fitted to records."""

    def __init__(self, dense: wards.Stays | None = None) -> None:
        stays = dense or wards.draw(FRESH, np.random.default_rng(7))
        complete = np.ones_like(stays.recorded)
        self.records, self.paths = records_of(replace(stays, recorded=complete)), {}

    def path(self, policy) -> TimedPaths:
        """Of a plan, which is followed once."""
        if policy.name == LEARNED:
            return follow(self.records, policy, COSTS)
        if policy.name not in self.paths:
            self.paths[policy.name] = follow(self.records, policy, COSTS)
        return self.paths[policy.name]

    def cost(self, policy, models, costs: TimedCosts, scale: TimedRecords) -> float:
        """Mean over rules of decision, whose inputs are scaled by the records of their fit."""
        path, n = self.path(policy), len(self.records)
        at = (path.windows, np.arange(n))
        every = scale.values.reshape(-1, scale.values.shape[2])
        static = fit_scaling(scale.static, unknown=True).standardise(self.records.static)
        last = fit_scaling(every, unknown=True).standardise(path.last[at])
        ended = path.windows >= self.records.end
        inputs = [static, np.nan_to_num(last), np.exp(-path.age[at] / FADE), path.windows, ended]
        errors = []
        for model in models:
            chance = chance_of(model, np.column_stack(inputs))
            verdict = costs.verdict(np.column_stack([1 - chance, chance]))
            errors.append(costs.errors[self.records.label, verdict].mean())
        return float(costs.acquisition(path.acquired, path.windows).mean() + np.mean(errors))


def estimates(
    seed: int,
    records: TimedRecords,
    fresh: Fresh,
    fit: TimedFit,
    costs: TimedCosts = COSTS,
    *,
    learned: bool = False,
) -> pd.DataFrame:
    """What ships: every estimate of an answer, next to the true cost of the fitted rules.

    The true cost is the mean over folds and draws of folds; of a learned policy also over the
    policies of the folds.
    """
    question = TimedQuestion(
        TimedData("wards", records, costs, "", ()), plans_of(records), fit, seed
    )
    others = learn_policies(question, without_bar)[1] if learned else []
    models, fit_label = [], history_fits.fit_label

    def remembered(*args):
        models.append(fit_label(*args))
        return models[-1]

    with mock.patch.object(history_fits, "fit_label", remembered):
        cases = fit_cases(question, others, without_bar)
    by_policy = np.array(models, dtype=object).reshape(fit.draws, -1, fit.folds)
    rules = [by_policy[:, k].ravel() for k in range(by_policy.shape[1])]
    plans = question.policies
    true = {each.name: fresh.cost(each, rules[k], costs, records) for k, each in enumerate(plans)}
    parts = zip(others, rules[len(plans) + 1 :], strict=True)  # after those of practice
    if others:
        true[LEARNED] = float(np.mean([fresh.cost(*each, costs, records) for each in parts]))
    table = judge_cases(question.data, cases, 0.05, seed).estimates
    first = {name: draws[:1] for name, draws in cases.items()}
    single = judge_cases(question.data, first, 0.05, seed).estimates
    single = single[single["estimator"] == READ].assign(estimator=f"{READ}, one draw")
    table = pd.concat([table, single])
    table = table[table["policy"] != PRACTICE]
    return table.assign(true=table["policy"].map(true))


def summary(every: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Over draws."""
    every = every.assign(
        bias=every["cost"] - every["true"],
        coverage=(every["ci_low"] <= every["true"]) & (every["true"] <= every["ci_high"]),
        below=every["ci_high"] < every["true"],
    )
    columns = ["true", "bias", "std_error", "coverage", "below", "effective"]
    table = every.groupby(by, sort=False)[columns].mean()
    table.insert(2, "sd", every.groupby(by, sort=False)["bias"].std())
    return table.assign(draws=every.groupby(by, sort=False).size())


FACTOR = 40.0  # of the costs of errors
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
    complete = wards.draw(2 * FRESH, np.random.default_rng(99))
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


def coverage(draws: int, units: int, method, mirror: str | None = None, **stated) -> None:
    """Print a row for each policy and for each estimator of the oracle's plan."""
    dense = None if mirror in (None, "-") else dense_stays(mirror)
    fresh, every = Fresh(dense), []
    fit = TimedFit(method=method, draws=int(stated.get("fold_draws", 5)))
    learned = bool(stated.get("learned", False))
    costs = replace(COSTS, errors=float(stated.get("factor", 1)) * COSTS.errors)
    for seed in range(int(stated.get("first", 0)), int(stated.get("first", 0)) + draws):
        rng = np.random.default_rng([47, seed])
        records = records_of(wards.draw(units, rng, dense))
        every.append(estimates(seed, records, fresh, fit, costs, learned=learned))
        if not (seed + 1) % 20:
            print(f"{seed + 1} draws", flush=True)
    table = pd.concat(every)
    print(f"{draws} draws of {units} stays, {method}, {fit.draws} draws of folds, {stated}")
    read = table[table["estimator"].str.startswith(READ)]
    print(summary(read, ["estimator", "policy"]).round(4).to_string())
    print(summary(read, ["estimator"]).round(4).to_string())
    print(summary(table[table["policy"] == "plan"], ["estimator"]).round(4).to_string())


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] == ["learned"]:
        draws, units, kind = [*sys.argv[2:], *["6", "16000", "trees"][len(sys.argv) - 2 :]]
        learned(int(draws), int(units), "network" if kind == "network" else "trees")
        return
    words = [word for word in sys.argv[1:] if "=" not in word]
    draws, units, method, mirror = [*words, *["200", "500", "linear", "-"][len(words) :]]
    stated = dict(word.split("=") for word in sys.argv[1:] if "=" in word)
    coverage(int(draws), int(units), method, mirror, **stated)


if __name__ == "__main__":
    main()
