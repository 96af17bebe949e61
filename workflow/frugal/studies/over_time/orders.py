"""Policies that order panels window by window, followed along records.

A policy is followed as long as the record holds the panels that it orders. Beyond that, panels that
the record lacks are blocked: the policy goes on without them. So one pass serves semi-offline
estimators, which read records that were followed to the end, and blocking, which reads all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.errors import ConfigError, DataError
from frugal.core.schema_check import listed
from frugal.core.stored import Array, Stored, Within, arrays_of, declared, under
from frugal.core.table import LARGEST
from frugal.studies.over_time.config import PlanEntry
from frugal.studies.over_time.records import TimedCosts, TimedPolicy, TimedRecords, TimedState
from frugal.studies.over_time.window_regressions import REGRESSIONS, WindowRegressions

PRACTICE, LEARNED = "recorded practice", "learned"
FADE = 4.0  # windows after which the freshness of a value has fallen to 1/e


@dataclass(frozen=True, eq=False)
class Repeat:
    """A panel ordered again and again, always or while a value is on one side of a limit.

    Attributes:
        panels: that are ordered together. (a,)
        every: windows between two orders, 1 or more.
        column: index of the column that is compared; None: always.
        limit: the last value of `column` must lie above it; NaN compares false.
        below: it must lie below instead.
    """

    panels: Bool[np.ndarray, " a"]
    every: int
    column: int | None = None
    limit: float = 0.0
    below: bool = False

    def due(self, state: TimedState) -> Bool[np.ndarray, " m"]:
        """Units for which the panels are ordered in the next window. (m,)"""
        elapsed = state.since[:, self.panels].max(axis=1) >= self.every
        if self.column is None:
            return elapsed
        value = state.last[:, self.column]
        return elapsed & (value < self.limit if self.below else value > self.limit)


@dataclass(frozen=True, eq=False)
class OrderPlan:
    """A fixed schedule, and panels that are repeated; it decides after the last window.

    Attributes:
        name: in tables.
        schedule: panels that are ordered in each window, without exception. (t, a)
        repeats: further orders.
        entry: the same as a YAML describes it; its `stop` is the window before which it decides.
    """

    name: str
    schedule: Bool[np.ndarray, "t a"]
    repeats: tuple[Repeat, ...]
    entry: PlanEntry

    def order(self, state: TimedState) -> Bool[np.ndarray, "m a1"]:
        """See `TimedPolicy`. (m, a + 1)"""
        m, a = state.since.shape
        action = np.zeros((m, a + 1), dtype=bool)
        action[:, :a] = self.schedule[state.window]
        for repeat in self.repeats:
            action[:, :a] |= repeat.due(state)[:, None] & repeat.panels
        action[:, a] = self.entry.stop is not None and state.window >= self.entry.stop
        return action


def plan(
    records: TimedRecords,
    name: str,
    at: Mapping[int, Sequence[str]] | None = None,
    again: Sequence[Mapping[str, Any]] = (),
    stop: int | None = None,
) -> OrderPlan:
    """A plan by names of panels; see `library.over_time.order_plan`.

    Raises:
        ConfigError: a panel, column, window or key does not exist.
    """
    orders = [{"windows": [t], "panels": [*panels]} for t, panels in (at or {}).items() if panels]
    rules = [{k: [*v] if isinstance(v, tuple) else v for k, v in each.items()} for each in again]
    entry = {"at": orders, "again": rules, **({} if stop is None else {"stop": stop})}
    return plan_of(records, name, PlanEntry.read(entry, where=f"plan {name!r}"))


def plan_of(records: TimedRecords, name: str, entry: PlanEntry) -> OrderPlan:
    """The plan that a YAML describes.

    Raises:
        ConfigError: a panel, column or window does not exist.
    """
    lacking = entry.lacking(f"plan {name!r}", records.panels, records.columns, records.windows)
    for sentence in lacking:
        raise ConfigError(sentence.lstrip("."))
    schedule = np.zeros((records.windows, len(records.panels)), dtype=bool)
    for order in entry.at:
        schedule[list(order.windows)] |= np.isin(records.panels, order.panels)
    repeats = []
    for each in entry.again:
        panels, limit = np.isin(records.panels, each.panels), each.above or each.below
        column = None if limit is None else records.columns.index(limit[0])
        bound, below = 0.0 if limit is None else limit[1], each.below is not None
        repeats.append(Repeat(panels, each.every, column, bound, below))
    return OrderPlan(name, schedule, tuple(repeats), entry)


@dataclass(frozen=True, eq=False)
class DrawnOrders:
    """Orders that were drawn for each unit and window; it decides after the last window.

    Attributes:
        name: in messages.
        ordered: panels. (n, t, a)
    """

    name: str
    ordered: Bool[np.ndarray, "n t a"]

    def order(self, state: TimedState) -> Bool[np.ndarray, "n a1"]:
        """See `TimedPolicy`. (n, a + 1)"""
        now = self.ordered[:, state.window]
        return np.column_stack([now, np.zeros(len(now), dtype=bool)])


@runtime_checkable
class Bars(Protocol):
    """Where records never hold a panel."""

    def barred(self, state: TimedState) -> Bool[np.ndarray, "m a"]:
        """Panels that are not offered in a state. (m, a)"""
        ...


@dataclass(frozen=True, eq=False)
class WithinSupport:
    """A policy that goes on without the panels that records never hold in its state.

    Attributes:
        policy: that orders.
        support: where it does not.
    """

    policy: TimedPolicy
    support: Bars

    @property
    def name(self) -> str:
        """In tables."""
        return f"{self.policy.name} within support"

    def order(self, state: TimedState) -> Bool[np.ndarray, "m a1"]:
        """See `TimedPolicy`. (m, a + 1)"""
        action = np.array(self.policy.order(state))
        if action.ndim == 2 and action.shape[1] == state.since.shape[1] + 1:
            action[:, :-1] &= ~self.support.barred(state)
        return action


@dataclass(frozen=True, eq=False)
class LearnedOrders:
    """Orders the set of panels of least expected cost, by regressions of each window; or a plan.

    Attributes:
        name: in tables.
        sets: that it may order, by rising price. (s, a)
        price: of each set. (s,)
        waiting: of each window before the decision; where it is 0, no decision is early.
        regressions: of each window that units reach: expected cost after it, if nothing is ordered,
            and two fits of the change of that cost by a set or by the decision at once, of which
            the less favourable counts.
        allowed: sets that enough records hold in each window; none where no unit reaches it. (t, s)
        margin: an order must save more than this; infinite: it orders nothing.
        plan: that it follows instead; None: none.
        number: of that plan in a list; −1 without.
        support: where a set with a panel is not offered; None: nowhere.
    """

    name: str
    sets: Annotated[Bool[np.ndarray, "s a"], Within()]
    price: Annotated[Float[np.ndarray, " s"], Within(low=0)]
    waiting: float
    regressions: WindowRegressions
    allowed: Annotated[Bool[np.ndarray, "t s"], Within()]
    margin: float = 0.0
    plan: TimedPolicy | None = None
    number: int = -1
    support: Bars | None = None

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the policy is; `from_arrays` is the inverse."""
        arrays = arrays_of(self)
        arrays["waiting"] = np.array([self.waiting])
        arrays["margin"] = np.array([min(self.margin, LARGEST)])
        arrays["plan"] = np.array([self.number])
        parts = self.regressions.to_arrays()
        return arrays | {f"{self.regressions.kind}.{name}": array for name, array in parts.items()}

    @staticmethod
    def from_arrays(
        arrays: Mapping[str, np.ndarray],
        columns: int,
        plans: Sequence[TimedPolicy],
        support: Bars | None = None,
    ) -> "LearnedOrders":
        """The policy that `to_arrays` wrote, for some number of inputs, plans and a support.

        Raises:
            DataError: the arrays are no such policy; the sentence names the first.
        """
        numbers = {name: array for name, array in arrays.items() if "." not in name}
        Stored("policy over time", numbers).require(
            declared(LearnedOrders)
            | {
                "waiting": Array("float64", (1,), low=0),
                "margin": Array("float64", (1,), low=0),
                "plan": Array("int64", (1,), low=-1, high=len(plans) - 1),
            }
        )
        kind = next((name.partition(".")[0] for name in arrays if "." in name), "trees")
        if kind not in REGRESSIONS:
            raise DataError(
                f"the stored policy over time has {kind!r}; allowed are {listed(REGRESSIONS)}"
            )
        regressions = REGRESSIONS[kind].from_arrays(under(arrays, f"{kind}."), columns)
        waiting, margin, number = (
            numbers[name][0].item() for name in ("waiting", "margin", "plan")
        )
        for window, allowed in enumerate(numbers["allowed"]):
            changes = waiting > 0 or allowed[1:].any()
            for part in (0, 1, 2)[: (3 if changes else 1) * bool(allowed[0])]:
                if not regressions.has(window, part):
                    raise DataError(
                        f"the stored policy over time lacks part {part} of window {window}"
                    )
        return LearnedOrders(
            LEARNED,
            numbers["sets"],
            numbers["price"],
            waiting,
            regressions,
            numbers["allowed"],
            margin,
            None if number < 0 else plans[number],
            number,
            support,
        )

    def expected(self, state: TimedState) -> Float[np.ndarray, "m s1"]:
        """Expected cost from now on: of each set, then of the decision at once. (m, s + 1)

        Infinite for a set that is not allowed, and for the decision where waiting is free.
        """
        m, (s, a) = len(state.since), self.sets.shape
        cost = np.full((m, s + 1), np.inf)
        cost[:, 0] = self.waiting
        allowed = self.allowed[state.window]
        if not allowed[0]:  # no unit reaches it
            return cost
        inputs = choice_inputs(state, np.zeros(a + 1, dtype=bool))
        cost[:, 0] += self.regressions.predict(state.window, [0], inputs)[0]
        choices = np.column_stack([self.sets, np.zeros(s, dtype=bool)])
        choices = np.concatenate([choices, np.arange(a + 1)[None] == a])
        price = np.append(self.price, -self.waiting)
        able = np.append(allowed, self.waiting > 0)
        for k in np.flatnonzero(able[1:]) + 1:
            inputs[:, -a - 1 :] = choices[k]
            halves = self.regressions.predict(state.window, [1, 2], inputs)
            cost[:, k] = cost[:, 0] + price[k] + halves.max(axis=0)
        if self.support is not None:
            lacking = self.support.barred(state).astype(np.int64) @ self.sets.T.astype(np.int64)
            cost[:, :-1][lacking > 0] = np.inf
        return cost

    def order(self, state: TimedState) -> Bool[np.ndarray, "m a1"]:
        """See `TimedPolicy`. (m, a + 1)"""
        if self.plan is not None:
            return self.plan.order(state)
        cost = self.expected(state)
        cost[:, 1:-1] += self.margin
        choice = cost.argmin(axis=1)
        stop = choice == len(self.sets)
        ordered = self.sets[np.where(stop, 0, choice)] & ~stop[:, None]
        return np.column_stack([ordered, stop])


def input_count(records: TimedRecords) -> int:
    """Number of inputs of a learned policy; see `choice_inputs`."""
    return len(records.static_columns) + 2 * len(records.columns) + 2 * len(records.panels) + 1


def choice_inputs(state: TimedState, choice: Bool[np.ndarray, " a1"]) -> Float[np.ndarray, "m f"]:
    """Inputs of regressions: the state, and the panels ordered next, or "stop". (m, f)"""
    fresh = [np.exp(-state.age / FADE), np.exp(-state.since / FADE)]
    every = np.broadcast_to(choice.astype(np.float64), (len(state.since), len(choice)))
    return np.column_stack([state.static, state.last, *fresh, every])


@dataclass(frozen=True, eq=False)
class TimedPaths:
    """One policy along n records, blocked where they lack a panel.

    Attributes:
        ordered: panels ordered in each window. (n, t, a)
        acquired: those that the record holds. (n, t, a)
        required: those that it must hold to be followed: ordered, or needed by `TimedRecords`.
            (n, t, a)
        windows: before the decision of each unit. (n,)
        answered: windows until the record lacks a panel that was ordered, or ends without a label;
            the unit's windows where it never does. (n,)
        complete: the record was followed to the end. (n,)
        exact: it holds these panels and no other until the decision. (n,)
        last, age: of the state before each window and after the last, see `TimedState`.
            (t + 1, n, d)
        since: of that state. (t + 1, n, a)
        practice: it orders that which each record holds.
    """

    ordered: Bool[np.ndarray, "n t a"]
    acquired: Bool[np.ndarray, "n t a"]
    required: Bool[np.ndarray, "n t a"]
    windows: Int[np.ndarray, " n"]
    answered: Int[np.ndarray, " n"]
    complete: Bool[np.ndarray, " n"]
    exact: Bool[np.ndarray, " n"]
    last: Float[np.ndarray, "t1 n d"]
    age: Float[np.ndarray, "t1 n d"]
    since: Float[np.ndarray, "t1 n a"]
    practice: bool = False

    def states(self, records: TimedRecords) -> list[TimedState]:
        """Before each window and after the last. (t + 1)"""
        parts = zip(self.last, self.age, self.since, strict=True)
        return [TimedState(t, records.static, *part) for t, part in enumerate(parts)]


def follow(records: TimedRecords, policy: TimedPolicy | None, costs: TimedCosts) -> TimedPaths:
    """A policy along every record; `None` orders the recorded panels.

    Raises:
        DataError: the policy returns something else than a truth value for each panel and "stop".
    """
    n, t, a = records.recorded.shape
    last = np.full((t + 1, n, len(records.columns)), np.nan)
    age = np.full(last.shape, np.inf)
    ordered, since = np.zeros((n, t, a), dtype=bool), np.full((t + 1, n, a), np.inf)
    windows = records.end.copy()
    for now in range(t + 1):
        if now:
            last[now], age[now] = last[now - 1], age[now - 1] + 1
            since[now] = np.where(ordered[:, now - 1], 1.0, since[now - 1] + 1)
        reveal(records, ordered, costs.delay, now, last[now], age[now])
        if now == t:
            break
        going = now < windows
        if policy is None:
            ordered[:, now] = records.recorded[:, now]
        else:
            state = TimedState(now, records.static, last[now], age[now], since[now])
            action = _checked(policy, state, a)
            windows[going & action[:, a]] = now
            ordered[:, now] = action[:, :a] & (now < windows)[:, None]
    decided = np.arange(t) >= windows[:, None]
    required = ordered
    if policy is not None and records.needed is not None:
        required = ordered | (records.needed & ~decided[:, :, None])
    lacks = np.asarray((required & ~records.recorded).any(axis=2))
    lacks[np.arange(n), records.end - 1] |= records.censored
    fails = np.asarray(lacks.any(axis=1))
    other = ((required != records.recorded) & ~decided[:, :, None]).any(axis=(1, 2))
    return TimedPaths(
        ordered,
        ordered & records.recorded,
        required,
        windows,
        np.where(fails, lacks.argmax(axis=1), records.end),
        ~fails,
        ~fails & ~other,
        last,
        age,
        since,
        policy is None,
    )


def _checked(policy: TimedPolicy, state: TimedState, panels: int) -> np.ndarray:
    action = np.asarray(policy.order(state))
    expected = (len(state.since), panels + 1)
    if action.shape != expected or action.dtype != np.bool_:
        raise DataError(
            f"policy {policy.name!r} returned {action.dtype} of shape {action.shape}; allowed are "
            f"truth values of shape {expected}: a unit in each row, panels and 'stop' in columns"
        )
    return action


def reveal(
    records: TimedRecords,
    ordered: np.ndarray,
    delay: np.ndarray | None,
    now: int,
    last: np.ndarray,
    age: np.ndarray,
) -> None:
    """Write the results that become known before window `now` into a state, in place."""
    lag = np.zeros(len(records.panels), dtype=np.int64) if delay is None else delay
    of_column = np.zeros(len(records.columns), dtype=np.int64)
    paid = ~records.free
    of_column[paid] = lag[records.provides[:, paid].argmax(axis=0)]
    for windows_late in np.unique(of_column):
        taken_in = now - 1 - int(windows_late)
        if taken_in < 0:
            continue
        columns = np.flatnonzero(of_column == windows_late)
        acquired = ordered[:, taken_in] & records.recorded[:, taken_in]
        shown = (acquired @ records.provides[:, columns]) | records.free[columns]
        new = records.values[:, taken_in, columns]
        shown &= ~np.isnan(new) & (taken_in < records.end)[:, None]
        last[:, columns] = np.where(shown, new, last[:, columns])
        age[:, columns] = np.where(shown, windows_late + 1, age[:, columns])
