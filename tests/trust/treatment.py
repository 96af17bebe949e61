"""How often intervals of off-policy estimates hold what a search policy comes to.

  python -m tests.trust.treatment [DRAWS]

Each draw is a new synthetic world [treatment, alg. 1] with 2 contexts: 2,500 searches to learn
from, 2,500 to judge by, and 200,000 units with all outcomes for the truth. Policies are those of
constrained dynamic programming (δ .4) and of the greedy planner (δ .2) on smoothed tables. Prints a
row for each quantity; ten minutes for 400 draws.
"""

import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd
from frugal.studies.treatment.models.outcome_counts import count_outcomes
from frugal.studies.treatment.models.outcome_tables import smoothed_table
from frugal.studies.treatment.planning.constrained import (
    plan_constrained,
    plan_greedy,
    stopping_statistic,
)
from frugal.studies.treatment.search.environment import play_policy
from frugal.studies.treatment.search.off_policy import estimates, prepare_judging
from frugal.studies.treatment.search.own_policies import EvaluatedPolicy
from frugal.studies.treatment.search.searches import PlannedSearch
from frugal.studies.treatment.search.simulated_worlds import (
    build_world,
    draw_parameters,
    sample_searches,
    sample_units,
)
from tqdm import tqdm

DRAWS, UNITS, ACTIONS, OUTCOMES, FRESH = 400, 2_500, 4, 3, 200_000
WORTH = np.arange(float(OUTCOMES))


def draw(seed: int, *, units: int = UNITS, fresh: int = FRESH) -> Iterator[dict]:
    """One row per policy, quantity and estimator: estimate, interval, truth and warnings."""
    rng = np.random.default_rng([seed, 5])
    parameters = draw_parameters(
        rng, n_actions=ACTIONS, n_covariates=1, n_moderators=3, covariate_scale=2.0, form="release"
    )
    world = build_world(parameters, n_outcomes=OUTCOMES, form="release")

    def records():
        context, outcome = sample_units(world, units, rng)
        return sample_searches(world, context, outcome, rng, p_stop=0.1, p_stop_best=0.9)

    learned, left = records(), records()
    table = smoothed_table(
        count_outcomes(learned), outcome_value=WORTH, mode="release", memory_gib=1.0
    )
    statistic = stopping_statistic(table, bound="upper", epsilon=0.0)
    common = {"alpha": 1.0, "stop_rule": "<="}
    policies = {
        "cdp": plan_constrained(table, statistic, delta=0.4, ties="improving", **common),
        "cg": plan_greedy(table, statistic, delta=0.2, **common),
    }
    judged = prepare_judging(
        left,
        world.covariates[left.context].astype(float),
        np.zeros(units, dtype=np.int64),
        np.arange(units),
        rng,
        outcome_value=WORTH,
        memory_gib=1.0,
    )
    context, outcome = sample_units(world, fresh, rng)
    for name, policy in policies.items():
        played = play_policy(policy, context=context, outcome=outcome)
        truth = {
            "mean_trials": played.trials.mean(),
            "mean_outcome": WORTH[played.best].mean(),
            "best_share": (played.best == OUTCOMES - 1).mean(),
        }
        found = estimates(policy, judged)
        plan = PlannedSearch(name, "smoothed", "upper", np.nan, policy, 0.0)
        warned = bool(EvaluatedPolicy(plan, found).warnings)
        for (quantity, estimator), cell in found.cells.items():
            if estimator != "model":
                covered = cell["ci_low"] <= truth[quantity] <= cell["ci_high"]
                key = {"policy": name, "quantity": quantity, "estimator": estimator}
                error = cell["estimate"] - truth[quantity]
                width = cell["ci_high"] - cell["ci_low"]
                yield key | {"covered": covered, "error": error, "width": width, "warned": warned}


def main() -> None:
    """Coverage of all draws, and of those without a warning."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    rows = pd.DataFrame([row for seed in tqdm(range(draws), mininterval=10) for row in draw(seed)])
    print(f"{draws} draws each; bias and width are of those in which no warning falls.\n")
    print("| policy | quantity | estimator | covered | not warned, covered | bias | width |")
    print("|---|---|---|---|---|---|---|")
    for key, some in rows.groupby(["policy", "quantity", "estimator"], sort=False):
        sound = some[~some["warned"]]
        print(
            f"| {' | '.join(map(str, key))} | {some['covered'].mean():.3f} | "
            f"{len(sound)}, {sound['covered'].mean():.3f} | {sound['error'].mean():+.4f} | "
            f"{sound['width'].mean():.3f} |"
        )
    robust = rows[(rows["estimator"] == "doubly_robust")]
    sound = robust[~robust["warned"]]
    print(
        f"pooled, doubly robust: {robust['covered'].mean():.3f} of {len(robust)}; without a "
        f"warning {sound['covered'].mean():.3f} of {len(sound)}"
    )


if __name__ == "__main__":
    main()
