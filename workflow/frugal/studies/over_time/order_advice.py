"""The next order for units that are still followed, and the reason.

The state of a unit is all that its record holds so far, with the age of each value. Knows no file.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

from frugal.core.errors import ConfigError
from frugal.core.schema_check import did_you_mean, listed
from frugal.core.table import LARGEST
from frugal.studies.over_time.orders import LearnedOrders, OrderPlan, Repeat, WithinSupport, follow
from frugal.studies.over_time.records import TimedCosts, TimedPolicy, TimedRecords, TimedState

DECIDE, NOTHING = "decide", "nothing"
OVER = "all windows are over"


def require_policy(
    policies: Mapping[str, TimedPolicy], name: str | None, named: str | None
) -> TimedPolicy:
    """The policy of a name, or the one that an answer names.

    Raises:
        ConfigError: there is none.
    """
    name = named if name is None else name
    if name is None:
        raise ConfigError(f"the answer names no policy; allowed are {listed(policies)}")
    if name not in policies:
        raise ConfigError(
            f"policy is {name!r}; allowed are {listed(policies)}{did_you_mean(name, policies)}"
        )
    return policies[name]


def order_advice(
    records: TimedRecords,
    now: Int[np.ndarray, " n"],
    costs: TimedCosts,
    policy: TimedPolicy,
    learned: LearnedOrders | None,
) -> pd.DataFrame:
    """A row for each unit: its window, its state, the order, why, and the cost of each choice.

    Args:
        records: of n units, up to the window in which each of them is.
        now: that window; the number of windows where all are over. (n,)
        costs: of the policy.
        policy: that orders.
        learned: whose expected cost of each choice is a column `expected: …`; None: none is.
    """
    path = follow(records, None, costs)
    rows = []
    for window in np.unique(now):
        units = np.flatnonzero(now == window)
        last, age, since = (part[window, units] for part in (path.last, path.age, path.since))
        state = TimedState(int(window), records.static[units], last, age, since)
        over = window == records.windows
        action = None if over else policy.order(state)
        expected = None if over or learned is None else learned.expected(state)
        for k, unit in enumerate(units):
            row = {
                "unit": str(records.unit[unit]),
                "window": int(window),
                "hours": f"{window * records.hours:g} to {(window + 1) * records.hours:g}",
                "state": state_words(records.columns, state, k),
                "next": DECIDE if action is None else panel_words(records.panels, action[k]),
                "why": OVER if action is None else why_words(records, policy, state, k, action[k]),
            }
            if expected is not None and learned is not None:
                row |= {
                    f"expected: {name}": cost
                    for name, cost in zip(choices(records, learned), expected[k], strict=True)
                }
            rows.append((unit, row))
    return pd.DataFrame([row for _, row in sorted(rows, key=lambda pair: pair[0])])


def choices(records: TimedRecords, learned: LearnedOrders) -> list[str]:
    """Name of each set of panels that a learned policy may order, and of the decision."""
    empty = np.zeros((len(learned.sets), 1), dtype=bool)
    sets = np.concatenate([learned.sets, empty], axis=1)
    return [*(panel_words(records.panels, panels) for panels in sets), DECIDE]


def state_words(columns: Sequence[str], state: TimedState, unit: int) -> str:
    """The known values of a unit, and the windows since each was taken."""
    words = [
        _value(name, state, unit, k)
        for k, name in enumerate(columns)
        if not np.isnan(state.last[unit, k])
    ]
    return ", ".join(words) or "no value yet"


def _value(name: str, state: TimedState, unit: int, column: int) -> str:
    value, age = state.last[unit, column], state.age[unit, column]
    return f"{name} {value:.4g} ({_windows(age)} ago)"


def _windows(count: float) -> str:
    return f"{count:.0f} window{'s' if count > 1 else ''}"


def panel_words(panels: Sequence[str], action: Bool[np.ndarray, " a1"]) -> str:
    """Names of the ordered panels, or the decision."""
    if action[-1]:
        return DECIDE
    return " + ".join(panels[int(k)] for k in np.flatnonzero(action)) or NOTHING


def why_words(
    records: TimedRecords,
    policy: TimedPolicy,
    state: TimedState,
    unit: int,
    action: Bool[np.ndarray, " a1"],
) -> str:
    """Why a policy orders these panels for a unit, or decides."""
    if isinstance(policy, WithinSupport):
        words = why_words(records, policy.policy, state, unit, policy.policy.order(state)[unit])
        return words + _unsupported(records, policy, state, unit)
    if isinstance(policy, LearnedOrders) and policy.plan is not None:
        name = getattr(policy.plan, "name", "plan")
        return f"as {name}: {why_words(records, policy.plan, state, unit, action)}"
    if isinstance(policy, LearnedOrders):
        cost = policy.expected(state)[unit]
        order = np.argsort(cost, kind="stable")
        names = choices(records, policy)
        ordered = 0 < order[0] < len(cost) - 1
        if ordered and (action[-1] or not action.any()):
            saved = (
                f"{names[order[0]]} is expected to save {min(cost[0], cost[-1]) - cost.min():.4g}"
            )
            if policy.margin >= LARGEST:
                return f"{saved}; records do not show that orders save anything"
            return f"{saved}; an order must save more than {policy.margin:.4g}"
        words = f"least expected cost, {cost[order[0]]:.4g}"
        if not np.isfinite(cost[order[1]]):
            return f"{words}; no other choice is allowed in this window"
        return f"{words}; then {names[order[1]]}, {cost[order[1]]:.4g}"
    if isinstance(policy, OrderPlan):
        return "; ".join(_reasons(records, policy, state, unit, action))
    return f"{policy.name} has it"


def _unsupported(records: TimedRecords, policy: WithinSupport, state: TimedState, unit: int) -> str:
    """The panels that a policy would order, were there records of such units."""
    barred = policy.support.barred(state)[unit] & policy.policy.order(state)[unit, :-1]
    panels = [name for name, not_offered in zip(records.panels, barred, strict=True) if not_offered]
    return "".join(f"; {name} is never recorded for such units: not ordered" for name in panels)


def _reasons(
    records: TimedRecords,
    plan: OrderPlan,
    state: TimedState,
    unit: int,
    action: Bool[np.ndarray, " a1"],
) -> Iterator[str]:
    """Each rule of a plan that orders, or does not."""
    if action[-1]:
        yield f"the plan decides before window {plan.entry.stop}"
        return
    if plan.schedule[state.window].any():
        names = panel_words(records.panels, np.append(plan.schedule[state.window], False))
        yield f"the schedule has {names} in window {state.window}"
    for each in plan.repeats:
        names = panel_words(records.panels, np.append(each.panels, False))
        every = _windows(float(each.every)).removeprefix("1 ")
        yield f"{names} every {every}: {_rule(records, each, state, unit)}"
    if not plan.repeats and not plan.schedule[state.window].any():
        yield f"the schedule has nothing in window {state.window}"


def _rule(records: TimedRecords, rule: Repeat, state: TimedState, unit: int) -> str:
    """Whether a rule orders now, by the last order and the last value."""
    since = state.since[unit, rule.panels].max()
    if since < rule.every:
        return f"not yet, last ordered {_windows(since)} ago"
    if rule.column is None:
        return "due"
    name, side = records.columns[rule.column], "below" if rule.below else "above"
    if np.isnan(state.last[unit, rule.column]):
        return f"no, {name} is not known"
    holds = "is" if rule.due(state)[unit] else "is not"
    return f"{_value(name, state, unit, rule.column)} {holds} {side} {rule.limit:g}"
