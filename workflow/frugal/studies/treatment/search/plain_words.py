"""A search policy as sentences, and the next step of one unit's history.

Knows tables of steps; must not know how they were planned.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.core.errors import DataError
from frugal.core.schema_check import shown
from frugal.core.stored import Stored, StoredArrays, Within, arrays_of, declared
from frugal.studies.treatment.data.records import outcomes_of

EDITION = 3  # of a stored policy


@dataclass(frozen=True, eq=False)
class StepTable:
    """A policy with the evidence for each step. Shapes: x contexts, h histories, a actions.

    Attributes:
        action: next treatment; k for stop. (x, h)
        statistic: Σ, largest or joint probability that an untried action is better; NaN for none.
            (x, h)
        records: records that came to the history and tried the next action. (x, h)
        visits: records that came to the history and went on. (x, h)
        runner_up: the second-best action by expected trials; −1 where none is left.
            (x, h)
        trials_left: expected trials, the next one counted, with the next action, and with the
            runner-up; by the policy's own model. (x, h, 2)
        barred: treatments that were never tried in a context, and are not taken. (x, a)
        contexts: names.
        treatments: names.
        outcomes: names, from the worst on.
    """

    action: Annotated[Int[np.ndarray, "x h"], Within(dtype="int8", low=0)]
    statistic: Annotated[Float[np.ndarray, "x h"], Within(low=-1e-6)]  # a sum, with its rounding
    records: Annotated[Int[np.ndarray, "x h"], Within(low=0)]
    visits: Annotated[Int[np.ndarray, "x h"], Within(low=0)]
    runner_up: Annotated[Int[np.ndarray, "x h"], Within(low=-1)]
    trials_left: Annotated[Float[np.ndarray, "x h 2"], Within(low=0)]
    barred: Annotated[Bool[np.ndarray, "x a"], Within()]
    contexts: tuple[str, ...]
    treatments: tuple[str, ...]
    outcomes: tuple[str, ...]

    def arrays(self) -> dict[str, np.ndarray]:
        """Its stored arrays."""
        return {name: np.ascontiguousarray(array) for name, array in arrays_of(self).items()}


def step_table(arrays: Mapping[str, np.ndarray], names: Mapping[str, Any]) -> StepTable:
    """The table that `arrays` and its names were taken from; the only place that reads one.

    Raises:
        DataError: a list of names, or an array, is not valid for a policy of searches.
    """
    texts_of: dict[str, tuple[str, ...]] = {}
    for key, least in (("contexts", 1), ("treatments", 1), ("outcomes", 2)):
        texts = names.get(key)
        if (
            not isinstance(texts, list)
            or len(texts) < least
            or not all(isinstance(text, str) and text for text in texts)
            or len(set(texts)) < len(texts)
        ):
            raise DataError(
                f"the stored search policy has the {key} {shown(texts, at_most=60)}; allowed is a "
                f"list of {least} or more different names"
            )
        texts_of[key] = tuple(texts)
    x, k, base = (len(texts_of[key]) for key in ("contexts", "treatments", "outcomes"))
    numbers = {n: np.nan_to_num(v) if v.dtype.kind == "f" else v for n, v in arrays.items()}
    source = getattr(arrays, "source", "")
    stored = Stored("search policy", StoredArrays(numbers, source))  # NaN: there is none
    stored.require(declared(StepTable), x=x, a=k)
    stored.require_between("action", 0, k)
    stored.require_between("runner_up", -1, k - 1)
    h = arrays["action"].shape[1]
    if round(math.log(h, base), 6) != k or h != base**k:
        raise stored.refusal(
            f"has {h} histories; {k} treatments of {base} outcomes have {base} to the {k}"
        )
    tried = np.append(outcomes_of(np.arange(h), k, base) >= 0, np.zeros((h, 1), bool), axis=1)
    for name in ("action", "runner_up"):
        if tried[np.arange(h), arrays[name]].any():
            raise stored.refusal(f"has an array {name!r} with a treatment that was tried before")
    return StepTable(
        **arrays,
        contexts=texts_of["contexts"],
        treatments=texts_of["treatments"],
        outcomes=texts_of["outcomes"],
    )


def history_of(outcome: Sequence[int], base: int) -> int:
    """Index of a history from the outcome of each action, −1 where untried."""
    return sum((y + 1) * base**a for a, y in enumerate(outcome))


def next_step(table: StepTable, x: int, outcome: Sequence[int]) -> dict[str, object]:
    """Next step for a unit of this context and these outcomes, with its evidence."""
    base, k = len(table.outcomes), len(table.treatments)
    if max(outcome) == base - 1:
        return {"next": "stop", "why": "the best outcome is reached", "records": ""}
    h = history_of(outcome, base)
    action = int(table.action[x, h])
    never = [
        f"{name} was never tried for such patients: not taken"
        for name, barred, level in zip(table.treatments, table.barred[x], outcome, strict=True)
        if barred and level < 0
    ]
    if action == k:
        reasons, behind = [_reason_to_stop(float(table.statistic[x, h]), min(outcome))], ""
    else:
        reasons, behind = _reasons(table, x, h), int(table.records[x, h])
    following = (*table.treatments, "stop")[action]
    return {"next": following, "why": "; ".join([*reasons, *never]), "records": behind}


def _reason_to_stop(statistic: float, least: int) -> str:
    """Why a search stops; least: outcome of all treatments, −1 with an untried one."""
    if least >= 0:
        return "everything was tried"
    if not math.isfinite(statistic):
        return "no record went on"
    return f"the probabilities that an untried treatment is better sum to {statistic:.2g}"


def _reasons(table: StepTable, x: int, h: int) -> list[str]:
    """Records behind a step, and the runner-up."""
    behind, visits = int(table.records[x, h]), int(table.visits[x, h])
    reasons = [
        f"{behind} of {visits} records tried it here"
        if visits
        else "no record came to this point and went on"
    ]
    other = int(table.runner_up[x, h])
    if other >= 0:
        expected, its = table.trials_left[x, h]
        name = table.treatments[other]
        reasons.append(f"{expected:.2f} trials to the end, with the runner-up {name} {its:.2f}")
    return reasons


def policy_words(table: StepTable) -> str:
    """The whole policy as nested lines, a block for each context."""
    lines = []
    base, k = len(table.outcomes), len(table.treatments)
    for x, name in enumerate(table.contexts):
        lines.append("Everyone:" if name == "all" else f"{name}:")
        _add_lines(table, x, [-1] * k, "", lines, base)
        lines.append("")
    return "\n".join(lines)


def _add_lines(
    table: StepTable, x: int, outcome: list[int], lead: str, lines: list[str], base: int
) -> None:
    """Lines of a history and of all that follow it."""
    tried = sum(y >= 0 for y in outcome)
    indent = "  " * (tried + 1)
    step = next_step(table, x, outcome)
    if step["next"] == "stop":
        best = table.outcomes[max(outcome)] if tried else "nothing"
        lines.append(f"{indent}{lead}stop with {best}: {step['why']}.")
        return
    a = table.treatments.index(str(step["next"]))
    lines.append(f"{indent}{lead}try {step['next']} ({step['why']}).")
    for y in range(base - 1):
        after = [*outcome]
        after[a] = y
        _add_lines(table, x, after, f"If {table.outcomes[y]}: ", lines, base)


def steps_frame(table: StepTable, reached: np.ndarray) -> pd.DataFrame:
    """One row per context and history that the policy comes to. reached: (x, h)."""
    x, h = np.nonzero(reached)
    tried = outcomes_of(h, len(table.treatments), len(table.outcomes))
    history = [
        ", ".join(
            f"{table.treatments[a]}: {table.outcomes[y]}" for a, y in enumerate(row) if y >= 0
        )
        for row in tried.tolist()
    ]
    best = np.append(np.asarray(table.outcomes, dtype=object), "")[tried.max(axis=1)]
    names = np.append(np.asarray(table.treatments, dtype=object), "stop")
    other = np.append(np.asarray(table.treatments, dtype=object), "")
    stops = table.action[x, h] == len(table.treatments)
    return pd.DataFrame(
        {
            "context": np.asarray(table.contexts, dtype=object)[x],
            "history": history,
            "trials": (tried >= 0).sum(axis=1),
            "best": best,
            "next": names[table.action[x, h]],
            "records": np.where(stops, 0, table.records[x, h]),
            "visits": table.visits[x, h],
            "trials_left": np.where(stops, np.nan, table.trials_left[x, h, 0]),
            "runner_up": np.where(stops, "", other[table.runner_up[x, h]]),
            "runner_up_trials_left": np.where(stops, np.nan, table.trials_left[x, h, 1]),
            "better_untried": np.where(tried.max(axis=1) < 0, np.nan, table.statistic[x, h]),
        }
    )
