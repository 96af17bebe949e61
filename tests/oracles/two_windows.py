"""A ward with two windows and two binary tests, enumerated; written from the definitions.

Each of the 512 outcomes has four values, a label and the tests recorded. Tests are ordered by what
was recorded before, and the second by whether the first is ordered, too; measuring changes nothing.
The plan orders blood in the first window; in the second, gas where blood was high, else nothing.
History before a window: the recorded values of the earlier windows, None where there is none.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import product

PRICES, SET_UP, WAITING = (1.0, 2.5), 0.5, 0.25
MISSED, ALARM = 12.0, 5.0
SETS = [(False, False), (False, True), (True, False), (True, True)]
PAIRS = [(0, 0), (0, 1), (1, 0), (1, 1)]
Window = tuple[int | None, int | None]
History = tuple[Window, ...]


@dataclass(frozen=True)
class Outcome:
    """One of all outcomes: its probability, values by window and test, label, record."""

    p: float
    x: tuple[tuple[int, int], tuple[int, int]]
    y: int
    record: History


def ordering(history: History, panels: tuple[bool, bool]) -> float:
    """P(exactly these tests are recorded | history): blood, then gas given blood."""
    blood, gas = 0.6, 0.3
    if history:
        seen_blood, seen_gas = history[0]
        blood = {None: 0.4, 0: 0.3, 1: 0.8}[seen_blood]
        gas = {None: 0.25, 0: 0.35, 1: 0.7}[seen_gas]
    gas = min(0.95, gas + 0.2 * panels[0] + 0.1 * (bool(history) and history[0][0] == 1))
    return (blood if panels[0] else 1 - blood) * (gas if panels[1] else 1 - gas)


def contains(history: History, needed: tuple[bool, bool]) -> float:
    """P(the window holds at least these tests | history)."""
    sets = [s for s in SETS if s[0] >= needed[0] and s[1] >= needed[1]]
    return sum(ordering(history, panels) for panels in sets)


def ordered(seen: History) -> tuple[bool, bool]:
    """The tests that the plan orders after what it has itself seen."""
    if not seen:
        return True, False
    return False, seen[0][0] == 1


def cost(seen: History, y: int) -> float:
    """Of the tests that the plan has seen, of waiting, and of its decision: high in two values."""
    spent = 2 * WAITING
    for window in seen:
        tests = [k for k in (0, 1) if window[k] is not None]
        spent += sum(PRICES[k] for k in tests) + (SET_UP if tests else 0.0)
    verdict = sum(v == 1 for window in seen for v in window) >= 2
    return spent + (MISSED if y and not verdict else ALARM if verdict and not y else 0.0)


def outcomes(*, hidden: bool = False) -> list[Outcome]:
    """All 512, whose probabilities sum to 1.

    Hidden: the later order depends on the first gas as if it were always recorded.
    """
    result = []
    for x0, x1, y, a0, a1 in product(PAIRS, PAIRS, (0, 1), SETS, SETS):
        p = (0.35 if x0[0] else 0.65) * (0.3 + 0.4 * x0[0] if x0[1] else 0.7 - 0.4 * x0[0])
        for k in (0, 1):
            high = 0.15 + 0.6 * x0[k] + 0.1 * x0[1 - k]
            p *= high if x1[k] else 1 - high
        ill = 0.05 + 0.1 * x0[0] + 0.2 * x1[0] + 0.15 * x0[1] + 0.35 * x1[1]
        p *= ill if y else 1 - ill
        first: Window = (x0[0] if a0[0] else None, x0[1] if a0[1] else None)
        second: Window = (x1[0] if a1[0] else None, x1[1] if a1[1] else None)
        p *= ordering((), a0) * ordering(((first[0], x0[1]) if hidden else first,), a1)
        result.append(Outcome(p, (x0, x1), y, (first, second)))
    return result


def seen_of(values: tuple[tuple[int, int], ...]) -> History:
    """What the plan sees of complete values."""
    seen: History = ()
    for window in values:
        needed = ordered(seen)
        seen += ((window[0] if needed[0] else None, window[1] if needed[1] else None),)
    return seen


def truth() -> float:
    """Mean cost of the plan where all values can be had."""
    return sum(o.p * cost(seen_of(o.x), o.y) for o in outcomes())


def followed(record: History, *, gas: bool = False) -> tuple[int, History]:
    """Windows that the record answers, and what the plan saw in them.

    With `gas`, a record is followed only if it holds the first gas, too.
    """
    if gas and record[0][1] is None:
        return 0, ()
    seen: History = ()
    for at, window in enumerate(record):
        needed = ordered(seen)
        if any(needed[k] and window[k] is None for k in (0, 1)):
            return at, seen
        seen += ((window[0] if needed[0] else None, window[1] if needed[1] else None),)
    return len(record), seen


def expected(*, hidden: bool = False) -> tuple[dict[History, float], dict[History, float]]:
    """Of records that hold the first gas, where hidden.

    E[cost | history before window 1, followed to the end], and before window 0 of that.
    """
    late: dict[History, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for o in outcomes(hidden=hidden):
        windows, seen = followed(o.record, gas=hidden)
        if windows == 2:
            late[o.record[:1]][0] += o.p * cost(seen, o.y)
            late[o.record[:1]][1] += o.p
    v1 = {history: total / mass for history, (total, mass) in late.items()}
    total = mass = 0.0
    for o in outcomes(hidden=hidden):
        if followed(o.record, gas=hidden)[0] >= 1:
            total += o.p * v1[o.record[:1]]
            mass += o.p
    return v1, {(): total / mass}


def least_cost(factor: float) -> float:
    """Least mean cost of all policies that order, stop and decide by what they saw.

    By dynamic programming over all that can be seen, with complete values. Errors cost `factor`
    times as much.
    """
    worlds: dict[tuple[tuple[tuple[int, int], tuple[int, int]], int], float] = defaultdict(float)
    for o in outcomes():
        worlds[o.x, o.y] += o.p

    def least(seen: History) -> float:
        agree = [
            (x, y, p)
            for (x, y), p in worlds.items()
            if all(v in (None, x[t][k]) for t, w in enumerate(seen) for k, v in enumerate(w))
        ]
        ill = sum(p for _, y, p in agree if y)
        mass = sum(p for _, _, p in agree)
        choices = [factor * min(MISSED * ill, ALARM * (mass - ill)) / mass]
        if len(seen) < 2:
            for panels in SETS:
                price = WAITING + sum(PRICES[k] for k in (0, 1) if panels[k])
                price += SET_UP if any(panels) else 0.0
                chance: dict[Window, float] = defaultdict(float)
                for x, _, p in agree:
                    now = x[len(seen)]
                    chance[now[0] if panels[0] else None, now[1] if panels[1] else None] += p
                ahead = sum(p * least((*seen, window)) for window, p in chance.items())
                choices.append(price + ahead / mass)
        return min(choices)

    return least(())
