"""Which of twelve language models answers: intervals, their width, and the policy that is named.

  OMP_NUM_THREADS=1 python -m tests.trust.which_model [DRAWS] [ANSWERS] [trusting]

A log like that of `docs/notebooks/which_model.ipynb`: 10,000 requests, one or two scores of each.
Scores are Gaussian in each class and correlated, so the risks here are exact for any models. In
DRAWS logs six fixed policies are judged as `decide` judges its own (`judge.choice`), against their
cost on 400,000 complete requests, and by self-normalised importance sampling: on rows that called
just the policy's models, and on all rows that hold their scores. In ANSWERS logs `decide` names a
policy, whose cost on complete requests is compared with the best order of one or two models, with
the best window of risk. With `trusting` the label's regression takes the policies' probabilities
nearly as they are. Prints the numbers of `docs/results/worth.md`.
"""

import sys
import time
import warnings
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path
from tempfile import TemporaryDirectory

import frugal
import numpy as np
import pandas as pd
import yaml
from frugal.judge import semi_offline
from frugal.judge.choice import judged
from frugal.judge.semi_offline import Paths
from frugal.learn.record_law import Causes, KnownLaw, RecordLaw
from scipy.special import expit

from tests.trust.answer import TWO_SIDED

DEFAULTS = ("400", "10")
ROWS, TRUTH, TUNED, CASES = 10_000, 400_000, 100_000, 20_000
MODELS = [f"{size} {k}" for size in ("small", "medium", "large") for k in range(1, 5)]
PRICE = np.array([0.01, 0.02, 0.04, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 1.0, 1.5])  # cents
SKILL = np.linspace(1.0, 2.3, 12) * np.random.default_rng(5).uniform(0.95, 1.05, (3, 12))
ERRORS = np.array([[0.0, 4.0], [8.0, 0.0]])
SMALL, SECOND, SHARED = 4, 0.8, 0.3  # called first; share of two calls; correlation of scores
FIRST = np.array([[0.2, 0.2, 0.3, 0.3], [0.3, 0.3, 0.2, 0.2], [0.25] * 4])  # by topic
SETS = [*product(range(SMALL)), *product(range(SMALL), range(SMALL, 12))]
HELD = np.array([[m in models for m in range(12)] for models in SETS])
POLICIES = [(0,), (3,), (8,), (3, 8), (1, 6), (2, 9)]
TREES = {"trees": 40, "leaves": 4, "min_leaf": 40, "folds": 3, "repeats": 1}
AGENTS = {"cascade": {"kind": "cascade", "gates": 2, "linear": True, "boosting": TREES}}


@dataclass(frozen=True, eq=False)
class Requests:
    """Topic, length, label, and the scores of all models."""

    topic: np.ndarray
    length: np.ndarray
    label: np.ndarray
    score: np.ndarray

    def risk(self, models: tuple[int, ...]) -> np.ndarray:
        """Exact probability of the second class given the scores of some models."""
        skill = SKILL[:, models]
        covariance = SHARED + (1 - SHARED) * np.eye(len(models))
        weight = (skill @ np.linalg.inv(covariance))[self.topic]
        apart = self.score[:, models] - skill[self.topic] / 2
        return expit(-1 + 0.5 * self.length + (weight * apart).sum(axis=1))


def drawn(n: int, rng: np.random.Generator) -> Requests:
    topic, length = rng.integers(0, 3, n), rng.normal(size=n)
    label = (rng.random(n) < expit(-1 + 0.5 * length)).astype(np.int64)
    alone, together = np.sqrt(1 - SHARED), np.sqrt(SHARED)
    noise = together * rng.normal(size=(n, 1)) + alone * rng.normal(size=(n, 12))
    return Requests(topic, length, label, label[:, None] * SKILL[topic] + noise)


def chances(topic: np.ndarray) -> np.ndarray:
    """Probability of each of `SETS`: a small model, and mostly one of the others."""
    share = [1 - SECOND if len(models) == 1 else SECOND / (12 - SMALL) for models in SETS]
    return FIRST[topic][:, [models[0] for models in SETS]] * share


def logged(requests: Requests, rng: np.random.Generator) -> np.ndarray:
    """Models that are called. (n, 12)"""
    below = chances(requests.topic).cumsum(axis=1) < rng.random((len(requests.topic), 1))
    return HELD[np.minimum(below.sum(axis=1), len(SETS) - 1)]


def expected_error(risk: np.ndarray) -> np.ndarray:
    return np.minimum(risk * ERRORS[1, 0], (1 - risk) * ERRORS[0, 1])


def tuned(requests: Requests, models: tuple[int, ...]) -> tuple[float, float, float]:
    """Risks between which the second model pays, and the cost, on complete requests."""
    risk = requests.risk(models[:1])
    cost = float((expected_error(risk) + PRICE[models[0]]).mean())
    if len(models) == 1:
        return 1.0, 1.0, cost
    gain = expected_error(risk) - expected_error(requests.risk(models)) - PRICE[models[1]]
    order = np.argsort(risk)
    total = np.concatenate([[0.0], np.cumsum(gain[order])])
    end = int((total - np.minimum.accumulate(total)).argmax())
    start, ends = int(total[: end + 1].argmin()), np.append(risk[order], 1.0)
    return float(ends[start]), float(ends[end]), cost - float(total[end] - total[start]) / len(risk)


def followed(
    requests: Requests, held: np.ndarray, models: tuple[int, ...], low: float, high: float
) -> Paths:
    """A policy along records."""
    n = len(held)
    order, belief = np.full((n, 12), -1), np.full((n, 13, 2), np.nan)
    acquired, going, steps = np.zeros((n, 12), dtype=bool), np.ones(n, dtype=bool), np.zeros(n, int)
    complete, last = np.zeros(n, dtype=bool), np.zeros(n)
    for step in range(len(models) + 1):
        risk = requests.risk(models[:step])
        last[going] = risk[going]
        belief[going, step] = np.column_stack([1 - risk, risk])[going]
        asks = going & (step < len(models)) & ((step == 0) | ((risk >= low) & (risk < high)))
        complete |= going & ~asks
        if step < len(models):
            order[asks, step] = models[step]
            going = asks & held[:, models[step]]
            acquired[going, models[step]] = True
            steps[going] += 1
    verdict = (last * ERRORS[1, 0] > (1 - last) * ERRORS[0, 1]).astype(np.int64)
    return Paths(order, steps, complete, acquired, belief, verdict)


def cost(paths: Paths, label: np.ndarray) -> np.ndarray:
    return paths.acquired @ PRICE + ERRORS[label, paths.verdict]


def importance(
    paths: Paths, requests: Requests, held: np.ndarray, *, exact: bool
) -> tuple[float, float]:
    """Self-normalised estimate and standard error, by rows with just these models, or with them."""
    hit = paths.complete & ((held == paths.acquired).all(axis=1) | (not exact))
    outside, lacks = (HELD[None] > paths.acquired[:, None]), (HELD[None] < paths.acquired[:, None])
    fits = ~lacks.any(axis=2) & ~(outside.any(axis=2) & exact)
    weight = hit / (chances(requests.topic) * fits).sum(axis=1).clip(1e-9)
    if not hit.any():
        return np.nan, np.nan
    each = cost(paths, requests.label)
    mean = float(weight @ each / weight.sum())
    return mean, float(np.sqrt(np.square(weight * (each - mean)).sum()) / weight.sum())


def draw(windows: list[tuple[float, float]], seed: int) -> np.ndarray:
    """Of each policy the estimate and its standard error, by each method. (p, 3, 2)"""
    rng = np.random.default_rng([seed, 7])
    requests = drawn(ROWS, rng)
    held, known = logged(requests, rng), np.column_stack([requests.topic, requests.length])
    values = np.column_stack([known, np.where(held, requests.score, np.nan)])
    provides = np.hstack([np.zeros((12, 2), dtype=bool), np.eye(12, dtype=bool)])
    protocol = KnownLaw(np.ones(ROWS, dtype=bool), HELD, chances(requests.topic))
    causes, fold = [Causes((0,))] * 12, np.arange(ROWS) % 5
    law = RecordLaw(held, values, requests.label, fold, causes, provides, protocol=protocol)
    found = []
    for models, window in zip(POLICIES, windows, strict=True):
        path = followed(requests, held, models, *window)
        each = judged({"policy": path}, law, known, PRICE, ERRORS, practice="practice")
        ours = (np.nan, np.nan)
        if each.names:
            ours = each.cost("policy"), float(np.sqrt(each.covariance(["policy"])[0, 0]))
        sampled = [importance(path, requests, held, exact=exact) for exact in (True, False)]
        found.append([ours, *sampled])
    return np.array(found)


def answer(seed: int) -> tuple[str, float, float, bool]:
    """Named policy, its cost on complete requests, CPU seconds, and whether the interval holds."""
    rng = np.random.default_rng([seed, 7])
    requests = drawn(ROWS, rng)
    scores = np.where(logged(requests, rng), requests.score.round(2), np.nan)
    known = {"topic": requests.topic, "length": requests.length.round(2)}
    label = np.where(requests.label == 1, "yes", "no")
    log = pd.DataFrame({**known, **dict(zip(MODELS, scores.T, strict=True)), "breaks rules": label})
    strata = [
        {
            "where": {"topic": {"from": topic, "below": topic + 1}},
            "record": [
                {"panels": [MODELS[m] for m in models], "probability": float(share)}
                for models, share in zip(SETS, chances(np.array([topic]))[0], strict=True)
            ],
        }
        for topic in range(3)
    ]
    start = time.process_time()
    with TemporaryDirectory() as folder:
        recorded = Path(folder, "protocol.yaml")
        recorded.write_text(yaml.safe_dump({"strata": strata}), encoding="utf-8")
        found = frugal.decide(
            log,
            "breaks rules",
            free=["topic", "length"],
            prices=dict(zip(MODELS, PRICE.tolist(), strict=True)),
            errors={"missed": 8, "false alarm": 4},
            recorded=recorded,
            agents=AGENTS,
        )
    seconds = time.process_time() - start
    cases, paid = drawn(CASES, np.random.default_rng(99)), np.zeros(CASES)
    shown = pd.DataFrame({"topic": cases.topic, "length": cases.length}).reindex(
        columns=["topic", "length", *MODELS]
    )
    while np.isin(chosen := np.asarray(found.best.next(shown), dtype=object), MODELS).any():
        for m, model in enumerate(MODELS):
            shown.loc[chosen == model, model] = cases.score[chosen == model, m]
            paid += PRICE[m] * (chosen == model)
    decided = (np.asarray(found.best.predict(shown)) == "yes").astype(np.int64)
    true = float((paid + ERRORS[cases.label, decided]).mean())
    row = found.outcomes.set_index("agent").loc[found.document["policy"]]
    sentence = found.summary().splitlines()[0].split(";")[0]
    return sentence, true, seconds, bool(row["ci_low"] <= true <= row["ci_high"])


def main() -> None:
    """Print."""
    warnings.simplefilter("ignore")
    draws, answers = map(int, [*sys.argv[1:3], *DEFAULTS[len(sys.argv) - 1 :]])
    if "trusting" in sys.argv:
        for precision in ("AT_END", "DECIDED", "FOLLOWED", "COVARIATE"):
            setattr(semi_offline, precision, 1e6)
    sample = drawn(TUNED, np.random.default_rng(1))
    windows = [tuned(sample, models)[:2] for models in POLICIES]
    every = drawn(TRUTH, np.random.default_rng(2))
    shown = np.ones((TRUTH, 12), dtype=bool)
    paths = [
        followed(every, shown, models, *window)
        for models, window in zip(POLICIES, windows, strict=True)
    ]
    costs = np.stack([cost(path, every.label) for path in paths])
    truth, groups = costs.mean(axis=1), 2 * every.topic + every.label
    if draws:
        found = np.stack([draw(windows, seed) for seed in range(draws)])
        value, error = found[..., 0], found[..., 1]
        held = np.abs(value - truth[:, None]) <= TWO_SIDED * error
        for k, models in enumerate(POLICIES):
            name = " then ".join(MODELS[m] for m in models)
            ratio = error[:, k, 0].mean() / error[:, k, 1:].mean(axis=0)
            cover = held[:, k].mean(axis=0)
            print(f"{name}: cost {truth[k]:.3f}, error {error[:, k, 0].mean():.3f}", end="; ")
            print(f"covers {cover[0]:.3f} (SNIPS {cover[1]:.3f}, {cover[2]:.3f})", end="; ")
            print(f"width of {ratio[0]:.2f} and {ratio[1]:.2f}", end="; ")
            inside = [
                costs[k, groups == group].var() * (groups == group).mean() for group in range(6)
            ]
            print(f"variance within topic and label {sum(inside) / costs[k].var():.2f}")
    orders = [*product(range(12)), *permutations(range(12), 2)]
    best, models = min((tuned(sample, models)[2], models) for models in orders)
    print(f"best order: {[MODELS[m] for m in models]}, {best:.3f}")
    for seed in range(answers):
        sentence, true, seconds, inside = answer(seed)
        print(
            f"{sentence}: {true:.3f}, {true / best - 1:+.1%}; {seconds:.0f} s; {inside}", flush=True
        )


if __name__ == "__main__":
    main()
