"""The order of a decision: policies are judged, `judge.choice.choose` names one, parts follow."""

from collections.abc import Callable
from typing import Any

import numpy as np

from frugal.answer.documents import document_of, outcomes, terms_of
from frugal.answer.evidence import Evidence, Judged
from frugal.answer.part import parts
from frugal.judge.choice import Choice


def decide(evidence: Evidence, progress: Callable[..., Any]) -> dict[str, Any]:
    """The answer: which policy to use, how sure that is, and the content of further parts.

    1. Each policy is judged on every row, by versions that learned from the other folds, under the
       law of the gaps that the records support (`Evidence.law`, `judge.choice.judged`).
    2. One is named within each budget, without and with rivals (`Evidence.name`,
       `judge.choice.choose`).
    3. The same once more without the causes that the records add, to show their effect.
    4. The parts add their content (`answer/parts/`).

    Args:
        evidence: the table, its records and the policies along them.
        progress: shows how far the budgets are.

    Returns:
        `choice`, the answer as a document; `outcomes` and `terms` of every policy; a table of each
        part that has one.
    """
    every = evidence.judge_all(evidence.law)
    within: dict[float, Choice] = {}
    most = np.inf
    for budget in progress(sorted(set(evidence.budgets))):
        within[budget] = evidence.name(every, budget, most)
        most = within[budget].cost  # a policy is within every larger budget, too
    first = evidence.budgets[0]
    before = evidence.name(evidence.judge_all(evidence.assumed), first) if evidence.added else None
    judged = Judged(evidence, within[first], within, before)
    return {
        "choice": document_of(judged),
        "outcomes": outcomes(judged.chosen, evidence.table),
        "terms": terms_of(judged.chosen, evidence.table),
        **{part.name: part.frame(judged) for part in parts() if part.frame is not None},
    }
