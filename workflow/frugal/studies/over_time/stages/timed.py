"""Stages of policies over time: records in windows, learned policies, fitted cases, the answer."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from frugal.answer.frames import remark
from frugal.core.context import Context
from frugal.core.stored import under
from frugal.studies.over_time.advice import stored_orders
from frugal.studies.over_time.answer import TimedQuestion, fit_cases, judge_cases, learn_policies
from frugal.studies.over_time.data import TimedData, read_over_time
from frugal.studies.over_time.estimates import TimedCase
from frugal.studies.over_time.history_fits import TimedFit
from frugal.studies.over_time.order_support import OrderSupport
from frugal.studies.over_time.orders import LEARNED, PRACTICE, LearnedOrders, input_count, plan_of
from frugal.studies.over_time.page import timed_page


def prepare_over_time(
    *, description: Path, measurements: Path, units: Path, context: Context
) -> dict[str, Any]:
    """Put the values of two long tables into windows.

    Raises:
        ConfigError, DataError: the YAML or a file is invalid.
    """
    data = read_over_time(description, (measurements, units))
    for sentence in data.remarks:
        remark(f"{sentence}.")
    arrays, rest = data.to_arrays()
    return {"records": arrays, "catalogue": rest}


def learn_over_time(
    *, records: Mapping[str, np.ndarray], catalogue: Mapping[str, Any], context: Context
) -> dict[str, dict[str, np.ndarray]]:
    """Find regions without records; learn a policy from all units, and one for each fold."""
    question, learned = question_of(records, catalogue, context.streams.root), []
    question = question.within_support(learned=question.data.keys.learned)
    if question.data.keys.learned:
        best, others = learn_policies(question, context.progress)
        learned = [best, *others]
    arrays = {
        f"{k}.{name}": array
        for k, policy in enumerate(learned)
        for name, array in policy.to_arrays().items()
    }
    regions = {f"support.{n}": array for n, array in question.support.to_arrays().items()}
    return {"policies": {"number": np.array([len(learned)]), **arrays, **regions}}


def fit_over_time(
    *,
    records: Mapping[str, np.ndarray],
    catalogue: Mapping[str, Any],
    policies: Mapping[str, np.ndarray],
    context: Context,
) -> dict[str, dict[str, np.ndarray]]:
    """Fit the law of ordering, the label and expected outcomes, for each policy.

    Raises:
        DataError: a stored policy is invalid.
    """
    question = question_of(records, catalogue, context.streams.root, policies)
    cases = fit_cases(question, learned_of(policies, question)[1:], context.progress)
    return {
        "cases": {
            f"{k}.{draw}.{part.name}": np.asarray(getattr(case, part.name))
            for k, draws in enumerate(cases.values())
            for draw, case in enumerate(draws)
            for part in fields(TimedCase)
        }
    }


def answer_over_time(
    *,
    records: Mapping[str, np.ndarray],
    catalogue: Mapping[str, Any],
    policies: Mapping[str, np.ndarray],
    cases: Mapping[str, np.ndarray],
    context: Context,
) -> dict[str, Any]:
    """Costs by every estimator, the answer in words, and the policies for new units.

    Raises:
        DataError: a stored policy is invalid.
    """
    question = question_of(records, catalogue, context.streams.root, policies)
    data, support = question.data, question.support
    learned = learned_of(policies, question)
    by_name = cases_of(cases, question, bool(learned))
    verdict = judge_cases(data, by_name, context.settings["margin"], context.streams.root, support)
    read = [f"Read: {sentence}." for sentence in data.remarks]
    orders, arrays = stored_orders(data, data.document, support, learned[:1], verdict)
    return {
        "outcomes": verdict.outcomes,
        "estimates": verdict.estimates,
        "support": verdict.support,
        "orders": orders,
        "arrays": arrays,
        "page": timed_page(question, verdict, by_name, learned[1:]),
        "sentence": ("\n".join([*verdict.sentences, *read]) + "\n").encode(),
    }


def cases_of(
    cases: Mapping[str, np.ndarray], question: TimedQuestion, learned: bool
) -> dict[str, list[TimedCase]]:
    """The stored cases by policy and draw of folds."""
    names = [policy.name for policy in question.policies]
    names += [*([LEARNED] if learned else []), PRACTICE]
    by_name: dict[str, list[TimedCase]] = {name: [] for name in names}
    for k, name in enumerate(names):
        while parts := dict(under(cases, f"{k}.{len(by_name[name])}.")):
            case = TimedCase(**parts | {"least": float(parts["least"])})  # type: ignore[arg-type]
            by_name[name].append(case)
    return by_name


def question_of(
    records: Mapping[str, np.ndarray],
    catalogue: Mapping[str, Any],
    seed: int,
    policies: Mapping[str, np.ndarray] | None = None,
) -> TimedQuestion:
    """The records with the plans of their YAML, and how they are judged.

    Args:
        records: arrays of the data.
        catalogue: all else.
        seed: of folds and learners.
        policies: with regions without records, within whose support plans are; None: none.
    """
    data = TimedData.from_arrays(records, catalogue)
    keys = data.keys
    plans = [plan_of(data.records, name, entry) for name, entry in keys.plans.items()]
    question = TimedQuestion(data, plans, TimedFit.of(keys), seed)
    if policies is None:
        return question
    support = OrderSupport.from_arrays(under(policies, "support."), data.records, data.levels)
    return question.within(support)


def learned_of(policies: Mapping[str, np.ndarray], question: TimedQuestion) -> list[LearnedOrders]:
    """The policy learned from all units, then those of the folds; none where none was learned."""
    columns, number = input_count(question.data.records), int(policies["number"][0])
    return [
        LearnedOrders.from_arrays(
            under(policies, f"{k}."), columns, question.policies, question.support
        )
        for k in range(number)
    ]
