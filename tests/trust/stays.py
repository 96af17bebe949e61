"""Ten schedules and a learned policy on 12,000 stays in intensive care (PhysioNet 2012).

  python -m tests.trust.stays MIRROR [FACTOR] [FOLDER or -] [SEED] [KIND]
  python -m tests.trust.stays MIRROR FACTOR draws DRAWS [KIND]

MIRROR holds `physionet2012/`, the publisher's files. Costs of errors are FACTOR times those of the
data set's YAML (default 1). It prints the answer and two tables. With a FOLDER the workflow makes
it there, from `FOLDER/physionet2012_death.yaml`. SEED is that of folds and learners (default 0),
KIND the learner of the policy (default trees). With `draws` a policy is learned and judged by each
of the seeds 1 to DRAWS, next to no orders, one routine and practice alone.
"""

import sys
from dataclasses import replace
from pathlib import Path
from time import process_time

import frugal
import pandas as pd
from frugal.core.context import without_bar
from frugal.studies.over_time.answer import TimedQuestion, fit_cases, judge_cases, learn_policies
from frugal.studies.over_time.history_fits import TimedFit

from tests.workflow.runs import ROOT

YAML = ROOT / "config" / "datasets" / "physionet2012_death.yaml"
STATIC = ("age", "sex", "height", "weight", "unit")
ROUTINE = ["chemistry", "blood count"]
HOURS = 6


def schedules(data) -> list:
    """Eight windows of 6 hours; ten plans that begin in the second, when a history is recorded."""

    def every(windows: int, panels: list[str]) -> dict[int, list[str]]:
        return dict.fromkeys(range(1, 8, windows), panels)

    def plan(name: str, at=None, again=()):
        return frugal.order_plan(data, name, at, again=again)

    high = {"panels": ["lactate"], "every": 1, "above": ("lactate", 2)}
    acid = {"panels": ["blood gas"], "every": 2, "below": ("bicarbonate", 20)}
    return [
        plan("nothing"),
        plan("routine once", {1: ROUTINE}),
        plan("routine daily", every(4, ROUTINE)),
        plan("routine every 12 h", every(2, ROUTINE)),
        plan("chemistry daily", every(4, ["chemistry"])),
        plan("blood count daily", every(4, ["blood count"])),
        plan("lactate once", {1: ["lactate"]}),
        plan("lactate while above 2", {1: ["lactate"]}, [high]),
        plan(
            "routine daily, lactate while above 2",
            {**every(4, ROUTINE), 1: [*ROUTINE, "lactate"]},
            [high],
        ),
        plan("routine daily, gas while acid", every(4, ROUTINE), [acid]),
    ]


def over_draws(data, draws: int, learner) -> None:
    """Print the learned policy of each fold, and the costs of it and of two plans, by seed."""
    every, costs = schedules(data), []
    for seed in range(1, draws + 1):
        question = TimedQuestion(data, every, TimedFit(draws=1, learner=learner), seed)
        first, others = learn_policies(question, lambda rows, **_: rows[1:])  # of folds alone
        learned = [first, *others]
        for k, policy in enumerate(learned):
            plan = (
                f"the plan {policy.plan.name!r}" if policy.plan else f"margin {policy.margin:.4g}"
            )
            print(f"seed {seed}, without fold {k}: {plan}")
        few = replace(question, policies=[every[0], every[1]])
        verdict = judge_cases(data, fit_cases(few, learned, without_bar), 0.05, seed)
        print(verdict.outcomes.round(1).to_string(index=False), f"\n{process_time():.0f} CPU s")
        sys.stdout.flush()
        costs.append(verdict.outcomes.set_index("policy")["cost"])
    table = pd.DataFrame(costs)
    print(table.agg(["mean", "min", "max", "std"]).round(1).to_string())


def main() -> None:
    """Print the answer."""
    start = process_time()
    data = frugal.load_over_time(YAML, hours=HOURS, static=STATIC, data_mirror=sys.argv[1])
    factor = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    data = replace(data, costs=replace(data.costs, errors=factor * data.costs.errors))
    print(f"read in {process_time() - start:.0f} CPU seconds;", *data.remarks, sep="\n")
    if sys.argv[3:4] == ["draws"]:
        learner = "network" if sys.argv[5:] == ["network"] else "trees"
        over_draws(data, int(sys.argv[4]), learner)
        return
    words = [*sys.argv[3:], *["-", "0", "trees"][max(len(sys.argv) - 3, 0) :]]
    place, seed, learner = None if words[0] == "-" else Path(words[0]), int(words[1]), words[2]
    answer = frugal.over_time(
        data,
        schedules(data),
        learned=True,
        learner="network" if learner == "network" else "trees",
        seed=seed,
        fold_draws=1,
        folder=place,
        cores=2,
    )
    print(answer.summary(), f"\n{process_time() - start:.0f} CPU seconds\n")
    with pd.option_context("display.width", 250, "display.max_columns", 30):
        print(answer.outcomes.round(1).to_string(index=False))
        wide = answer.estimates.pivot_table(
            index="policy", columns="estimator", values="cost", sort=False
        )
        print(wide.round(1).to_string())


if __name__ == "__main__":
    main()
