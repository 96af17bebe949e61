"""Errors and length of a questionnaire that is shortened by the log of an adaptive test.

  OMP_NUM_THREADS=1 python -m tests.trust.questionnaire [FOLDER] [DRAWS] [FIRST] [ROWS] [ALARM]

People, log and rule are those of docs/examples/questionnaire.py; `frugal.decide` answers as in
docs/notebooks/questionnaire.ipynb. A false alarm costs as much as ALARM questions, a missed
disorder four times as much. The truth is what the policy that is handed out does to 10,000 other
people with all answers; its own error counts. Items as judged are of that policy, too; costs as
judged are of the policies of the folds. One JSON a draw in FOLDER; what is there is not made again.
Prints means over draws with 95 % intervals, and how many intervals of the answers hold.
"""

import json
import runpy
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import frugal
import numpy as np
import pandas as pd
from frugal.answer.candidates import PRACTICE, follow, from_frame
from frugal.answer.evidence import Evidence
from frugal.library.chain import _joined, evidence_of
from frugal.library.objects import Answer

from tests.trust.answer import TWO_SIDED
from tests.unit.page_words import ROOT

GIVEN = runpy.run_path(str(ROOT / "docs" / "examples" / "questionnaire.py"))
ITEMS = GIVEN["ITEMS"]
PEOPLE, MISSED = 10_000, 4.0  # false alarms that a missed disorder is worth
DEFAULTS = ("build/trust/questionnaire", "20", "0", "3000", "2000")


def answered(log: pd.DataFrame, alarm: float) -> Answer:
    """As in the notebook."""
    return frugal.decide(
        log,
        label="disorder",
        free=["q1", "q2", "first_two"],
        prices=dict.fromkeys(ITEMS[2:], 1),
        errors={"missed": MISSED * alarm, "false alarm": alarm},
        unit="questions",
        recorded=GIVEN["RULE"],
        agents=["cascade", "always", "never"],
    )


def estimates(answer: Answer, evidence: Evidence, name: str) -> dict[str, list[float]]:
    """Estimate and standard error of items and of costs of errors, in questions a case."""
    folds = evidence.judge_all(evidence.law)
    votes = from_frame(_joined(answer.question)["paths"].payload, evidence.table)
    handed = {name: votes[name], PRACTICE: evidence.followed[0][PRACTICE]}
    vote, a = evidence.judge(evidence.law, handed), len(ITEMS) - 2
    panels = np.repeat([1.0, 0.0], [a, folds.errors.size])
    errors = np.append(np.zeros(a), folds.errors.T.ravel())
    items, costs = vote.outcomes[name].mean @ panels, folds.means @ errors
    spread = folds.covariance(folds.names, errors)
    k, every = folds.names.index(name), folds.names.index("always")
    apart = spread[k, k] + spread[every, every] - 2 * spread[k, every]
    return {
        "items": [2 + float(items), float(vote.covariance([name], panels)[0, 0] ** 0.5)],
        "named": [float(costs[k]), float(spread[k, k] ** 0.5)],
        "more": [float(costs[k] - costs[every]), float(apart**0.5)],
    }


def truth(answer: Answer, evidence: Evidence, people: pd.DataFrame) -> dict[str, np.ndarray]:
    """Of each person the items asked, and errors by the named policy and by all nine."""
    held = replace(
        evidence.table,
        row_id=np.arange(len(people)),
        values=people[list(evidence.table.columns)].to_numpy(dtype=np.float64),
        label=(people["disorder"] == "yes").to_numpy(dtype=np.int64),
    )
    every, found = np.ones((len(people), len(held.actions)), dtype=bool), {}
    for who, name in (("named", answer.document["policy"]), ("nine", "always")):
        read = answer.policy(name)._read
        uniforms = np.zeros((len(people), every.shape[1] + 1))  # none of them draws
        path = follow(read.policy, held, every, uniforms, None, unsupported=read.unsupported)
        found[f"{who} missed"] = (held.label > path.verdict).astype(np.float64)
        found[f"{who} alarms"] = (held.label < path.verdict).astype(np.float64)
        found[who] = held.misclassification_cost[held.label, path.verdict]
        found[f"{who} items"] = 2.0 + path.acquired.sum(axis=1)
    items = found.pop("named items")
    return found | {"items": items, "more": found["named"] - found["nine"]}


def run(n: int, seed: int, alarm: float) -> dict[str, Any]:
    """Estimates and truths of one draw."""
    draw = np.random.default_rng(seed)
    log, people = GIVEN["logged"](GIVEN["people"](n, draw), draw), GIVEN["people"](PEOPLE, draw)
    start = time.process_time()
    answer = answered(log, alarm)
    seconds, name = time.process_time() - start, answer.document["policy"]
    evidence = evidence_of(answer.question)
    true, judged = truth(answer, evidence, people), estimates(answer, evidence, name)
    scores = people[ITEMS].sum(axis=1)
    ill = people["disorder"] == "yes"
    by_sum = [
        alarm * (MISSED * (ill & (scores < cut)).mean() + (~ill & (scores >= cut)).mean())
        for cut in range(1, 27)
    ]
    cost, document = true["named"] + true["items"] - 2, answer.document
    return {
        "seed": seed,
        "policy": name,
        "state": answer.state,
        "seconds": seconds,
        "logged items": float(log[ITEMS].notna().sum(axis=1).mean()),
        "sum": float(min(by_sum)),
        "judged": judged
        | {"cost": [document["cost"], (document["ci_high"] - document["cost"]) / TWO_SIDED]},
        "true": {
            of: [float(each.mean()), float(each.std(ddof=1) / len(each) ** 0.5)]
            for of, each in {**true, "cost": cost}.items()
        },
    }


def summary(runs: list[dict[str, Any]]) -> None:
    """Print means over draws with 95 % intervals, and coverage."""
    true = pd.DataFrame([{of: each[0] for of, each in one["true"].items()} for one in runs])
    true = true.assign(**{"sum score": [one["sum"] for one in runs]})
    for kind in ("missed", "alarms"):
        true[[f"named {kind}", f"nine {kind}"]] *= 1000
        true[f"more {kind}"] = true[f"named {kind}"] - true[f"nine {kind}"]
    true["more, %"] = 100 * true["more"] / true["nine"]
    half = TWO_SIDED * true.std(ddof=1) / len(true) ** 0.5
    table = pd.DataFrame({"mean": true.mean(), "±": half, "least": true.min(), "most": true.max()})
    print(table.to_string(float_format="%.2f"))
    for of in runs[0]["judged"]:
        judged, real = (np.array([one[part][of] for one in runs]) for part in ("judged", "true"))
        wide = judged[:, 1] > 0
        judged, real = judged[wide], real[wide]
        apart, near = judged[:, 0] - real[:, 0], np.hypot(judged[:, 1], real[:, 1]) * TWO_SIDED
        print(
            f"{of}: {(np.abs(apart) <= near).sum()} of {len(near)} intervals with a width hold, "
            f"judged {judged[:, 0].mean():.2f} ± {TWO_SIDED * judged[:, 1].mean():.2f}, mean error "
            f"{apart.mean():.2f} ± {TWO_SIDED * apart.std(ddof=1) / len(apart) ** 0.5:.2f}"
        )
    for key in ("policy", "state"):
        print(pd.Series([one[key] for one in runs]).value_counts().to_dict())
    for key in ("seconds", "logged items"):
        print(f"{key}: {np.mean([one[key] for one in runs]):.2f}")


def main() -> None:
    """Make what is not there, and print."""
    place, *numbers = [*sys.argv[1:], *DEFAULTS[len(sys.argv) - 1 :]]
    folder, (draws, first, n, alarm) = Path(place), map(int, numbers)
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(first, first + draws):
        path = folder / f"{n}-{alarm}-{seed}.json"
        if not path.exists():
            path.write_text(json.dumps(run(n, seed, alarm)), encoding="utf-8")
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    summary(runs)


if __name__ == "__main__":
    main()
