"""Shared cases of treatment searches: reference instances, random worlds and records."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
from frugal.studies.treatment.data.records import OutcomeTable, TrialRecords, insert_untried
from frugal.studies.treatment.models.outcome_counts import OutcomeCounts
from frugal.studies.treatment.models.outcome_tables import true_table
from frugal.studies.treatment.search.off_policy import model_value

REFERENCE = Path(__file__).parents[2] / "reference"
THREE = np.arange(3.0)
BOUNDS = {"U": "upper", "L": "lower", "E": "exact"}
RULES = {"U": "<", "L": "<", "E": "<="}  # what the authors' program applies to each


def reference(name):
    return json.loads((REFERENCE / f"treatment_{name}.json").read_text())


def expected_trials(table, policy):
    """E[T | x] of any policy if outcomes follow the model. (x,)"""
    return model_value(table, policy, step=1.0, end=np.zeros(table.n_outcomes))[:, 0]


def history_index(h, n_outcomes):
    """Index of a history given as outcomes, −1 where untried; none may be the best."""
    return sum((y + 1) * n_outcomes**a for a, y in enumerate(h))


def reduced_index(h, a, n_outcomes):
    """Index of a history without action a."""
    return history_index([y for b, y in enumerate(h) if b != a], n_outcomes)


def joint_table(joint, n_outcomes, values=None):
    """The model whose moderator is the row of a joint table of outcomes."""
    rows = list(joint)
    p_z = np.array([[float(joint[row]) for row in rows]])
    p_outcome = np.eye(n_outcomes)[np.array(rows)][None]
    values = np.arange(float(n_outcomes)) if values is None else values
    return true_table(p_z, p_outcome, outcome_value=values, memory_gib=1.0)


def instances():
    """(k, |Y|, δ, joint, answers by stop rule) of the enumerated instances."""
    for case in reference("bruteforce")["instances"]:
        joint = {tuple(row): Fraction(p) for row, p in case["joint"]}
        answers = {rule: case[rule] for rule in ("<=", "<")}
        yield case["k"], case["n_y"], Fraction(case["delta"]), joint, answers


def mixture(seed, *, k=3, n_outcomes=3, moderators=4, contexts=2, epsilon_values=None):
    """A random true model: coherent, because it is a mixture of independent outcomes."""
    rng = np.random.default_rng(seed)
    p_z = rng.dirichlet(np.ones(moderators), size=contexts)
    p_outcome = rng.dirichlet(np.full(n_outcomes, 0.5), size=(contexts, moderators, k))
    values = np.arange(float(n_outcomes)) if epsilon_values is None else epsilon_values
    return true_table(p_z, p_outcome, outcome_value=values, memory_gib=1.0)


def arbitrary(seed, *, k=3, n_outcomes=3, contexts=2):
    """A random table that no joint law need agree with, as estimated ones are."""
    rng = np.random.default_rng(seed)
    shape = (contexts, k, n_outcomes ** (k - 1))
    return OutcomeTable(
        rng.dirichlet(np.full(n_outcomes, 0.7), size=shape), np.arange(float(n_outcomes))
    )


def table_law(table, x):
    """The table as the oracles' function; histories with the best outcome are uniform."""
    n = table.n_outcomes

    def law(h, a):
        if max(h) == n - 1:
            return [1 / n] * n
        return table.probability[x, a, reduced_index(h, a, n)].tolist()

    return law


def searches(seed, *, n=400, k=4, n_outcomes=3, contexts=2):
    """Records of random searches, some of which go on after the best outcome."""
    rng = np.random.default_rng(seed)
    action = np.argsort(rng.random((n, k)), axis=1)
    outcome = rng.integers(n_outcomes, size=(n, k))
    after = np.arange(k) >= rng.integers(1, k + 1, size=n)[:, None]
    action[after], outcome[after] = -1, -1
    return TrialRecords(rng.integers(contexts, size=n), action, outcome, contexts, k, n_outcomes)


def reference_counts():
    """Counts of the k = 4 reference; trials after the best outcome have no history that matters."""
    cells = {}
    for x, *h, a, y, n in reference("smoothing_k4")["counts"]:
        if max(h) < 2:
            cells.setdefault((x, a, reduced_index(h, a, 3)), np.zeros(3))[y] += n
    keys = sorted(cells)
    context, action, history = (np.array(column) for column in zip(*keys, strict=True))
    return OutcomeCounts(context, action, history, np.array([cells[key] for key in keys]), 2, 4)


def full_history(counts):
    """Index of the history of each cell, with its untried action. (m,)"""
    return insert_untried(counts.history, counts.action, counts.n_outcomes)
