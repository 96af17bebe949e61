"""The k cheapest different sets of actions of each unit, under its own rules and the catalogue's.

Serves the recourse study beyond its paper: personal prices, required, forbidden, prerequisite and
mutually exclusive actions, budgets, at most so many actions. Knows no file and no sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.errors import DataError, shown_cell
from frugal.core.schema_check import cell_hint, did_you_mean
from frugal.studies.recourse.catalogue import Catalogue, Lists
from frugal.studies.recourse.instance import COST_DECIMALS, MOST_COST, check_total, in_millionths
from frugal.studies.recourse.sheets import Sheet, names_in, price_of, whole_numbers
from frugal.studies.recourse.solvers.bitsets import NOTHING_LEFT, action_links
from frugal.studies.recourse.solvers.lagrangian_tree import MOST_TIES
from frugal.studies.recourse.solvers.proofs import solve_proven

PRICE = "cost:"  # cost:NAME is what the action NAME costs this unit
COLUMNS = ("forbidden", "required", "budget", "at_most")


@dataclass(frozen=True, eq=False)
class UnitRules:
    """Rules of each unit. Shapes: n units, a actions.

    Attributes:
        required: True where the unit takes the action in any case. (n, a)
        forbidden: True where it may not take it. (n, a)
        cost: of each action for each unit, unit of the catalogue. (n, a)
        budget: limit of the set's cost; ∞ for no limit. (n,)
        at_most: how many actions it may take. (n,)
    """

    required: Bool[np.ndarray, "n a"]
    forbidden: Bool[np.ndarray, "n a"]
    cost: Float[np.ndarray, "n a"]
    budget: Float[np.ndarray, " n"]
    at_most: Int[np.ndarray, " n"]

    def take(self, rows: Int[np.ndarray, " m"]) -> "UnitRules":
        """The same rules restricted to units; a unit may occur more than once."""
        return UnitRules(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True)
class RulesForAll:
    """The same for every unit, as on a command line; stricter of the two holds."""

    required: Sequence[str] = ()
    forbidden: Sequence[str] = ()
    budget: float = np.inf
    at_most: int | None = None


def rules_of(sheet: Sheet, catalogue: Catalogue, for_all: RulesForAll, *, source: str) -> UnitRules:
    """Rules of the units, from their own columns and from the rules for all.

    Columns, each optional: `forbidden` and `required` (names of actions, separated by `;`),
    `budget`, `at_most`, and `cost:NAME` for a price of one's own (empty: the catalogue's).

    Raises:
        DataError: a name is no action's, an action is required and forbidden, or a number is none.
    """
    frame, lines = sheet
    n, a = len(frame), len(catalogue.actions)
    cells = {name: [str(v) for v in frame[name]] for name in rule_columns(sheet, catalogue)}
    member = {}
    for column, common in (("required", for_all.required), ("forbidden", for_all.forbidden)):
        marked = np.zeros((n, a), dtype=bool)
        marked[:, [_number(name, catalogue, f"--{column}") for name in common]] = True
        for u, cell in enumerate(cells.get(column, ())):
            where = f"{source}, line {lines[u]}: column {column!r}"
            marked[u, [_number(name, catalogue, where) for name in names_in(cell)]] = True
        member[column] = marked
    contradictory = member["required"] & member["forbidden"]
    if contradictory.any():
        u, i = (int(v) for v in np.argwhere(contradictory)[0])
        raise DataError(
            f"{source}, line {lines[u]}: action {catalogue.actions[i]!r} is required and forbidden"
        )
    budget = np.full(n, for_all.budget)
    at_most = np.full(n, a if for_all.at_most is None else for_all.at_most)
    for u, cell in enumerate(cells.get("budget", ())):
        if cell:
            unit_budget = price_of(cell, int(lines[u]), source, quantity="the budget")
            budget[u] = min(budget[u], unit_budget)
    for u, cell in enumerate(cells.get("at_most", ())):
        if cell:
            number = whole_numbers(frame.iloc[[u]], ("at_most",), lines[[u]], source)
            at_most[u] = min(at_most[u], int(number[0, 0]))
    cost = np.tile(catalogue.instance.cost, (n, 1))
    for column in (name for name in cells if name.startswith(PRICE)):
        i = _number(column.removeprefix(PRICE), catalogue, f"{source}: column {column!r}")
        for u, cell in enumerate(cells[column]):
            if cell:
                cost[u, i] = price_of(cell, int(lines[u]), source, quantity=f"{column!r}")
    return UnitRules(member["required"], member["forbidden"], cost, budget, at_most)


def rule_columns(sheet: Sheet, catalogue: Catalogue) -> list[str]:
    """Columns that hold rules; a feature of such a name stays a feature."""
    names = [str(name) for name in sheet[0].columns if name not in catalogue.features]
    return [name for name in names if name in COLUMNS or name.startswith(PRICE)]


def unread_columns(sheet: Sheet, catalogue: Catalogue, *, source: str) -> list[str]:
    """A sentence for each column that nothing reads: it may be misspelt."""
    read_columns = ["unit", "group", *catalogue.features, *rule_columns(sheet, catalogue)]
    return [
        f"{source}: column {name!r} is not read{did_you_mean(str(name), [*read_columns, *COLUMNS])}"
        for name in sheet[0].columns
        if name not in read_columns
    ]


def _number(name: str, catalogue: Catalogue, where: str) -> int:
    if name not in catalogue.actions:
        raise DataError(
            f"{where} names {shown_cell(name)}, which is no action of the catalogue"
            f"{cell_hint(name, catalogue.actions)}"
        )
    return catalogue.actions.index(name)


_SCALE = 10**COST_DECIMALS
Sets = tuple[np.ndarray, ...]  # costs (n, k), sets (n, k, m) and optima (n,) of `solve_choices`


@dataclass(frozen=True, eq=False)
class Choices:
    """Lean sets, cheapest first. Shapes: n units, k sets at most, a actions.

    A set is lean if no action can be left out: each is required, required by another, or needed by
    a feature. Actions that cost nothing and are under no rule are taken for granted: sets that
    differ in these alone are one set, which holds those of them that it needs. Of sets of equal
    cost, those of fewer actions come first, then those whose actions are cheaper, then those whose
    actions are listed further up in the catalogue.

    Attributes:
        chosen: True where an action is in the set. (n, k, a)
        cost: of each set, unit of the catalogue; ∞ where there is no further set. (n, k)
        optima: number of lean sets as cheap as the first; `MOST_TIES` means that many or more.
            (n,)
        lower_bound: no set is cheaper than this. (n,)
        complete: True where all sets that could be among these were examined. (n,)
    """

    chosen: Bool[np.ndarray, "n k a"]
    cost: Float[np.ndarray, "n k"]
    optima: Int[np.ndarray, " n"]
    lower_bound: Float[np.ndarray, " n"]
    complete: Bool[np.ndarray, " n"]

    @property
    def feasible(self) -> Bool[np.ndarray, " n"]:
        """True where some set is enough. (n,)"""
        return np.isfinite(self.cost[:, 0])

    @property
    def proven(self) -> Bool[np.ndarray, " n"]:
        """True where no set can be cheaper than the first, or it is known that none is enough."""
        return self.lower_bound >= self.cost[:, 0]


def cheapest_choices(
    features: Int[np.ndarray, "n d"],
    group: Int[np.ndarray, " n"],
    catalogue: Catalogue,
    rules: UnitRules,
    *,
    keep: int,
    max_nodes: int,
) -> Choices:
    """The cheapest lean sets of each unit that keep to all rules, with their certificate.

    Args:
        features: the units' states x. (n, d)
        group: row of the instance's access. (n,)
        catalogue: actions, thresholds, and rules between actions.
        rules: of each unit.
        keep: sets at most, from 1.
        max_nodes: branches after which sets of equal cost are no longer distinguished; after twice
            as many the search of a unit stops, and `lower_bound` bounds the cost of any set.

    Raises:
        DataError: prices of a unit cannot be compared exactly.
    """
    n, a = len(features), len(catalogue.actions)
    deficit = catalogue.instance.deficit(features)
    shut = rules.forbidden | ~catalogue.instance.access[group]
    answer = Choices(
        np.zeros((n, keep, a), dtype=bool),
        np.full((n, keep), np.inf),
        np.zeros(n, dtype=np.int64),
        np.full(n, np.inf),
        np.ones(n, dtype=bool),
    )
    prices, of_unit = np.unique(rules.cost, axis=0, return_inverse=True)
    for p, price in enumerate(prices):
        rows = np.flatnonzero(of_unit.reshape(-1) == p)
        some = replace(rules.take(rows), forbidden=shut[rows])
        check_total(price, "the prices of a unit")
        _solve(answer, rows, deficit[rows], in_millionths(price), catalogue, some, max_nodes)
    return answer


def _solve(
    answer: Choices,
    rows: Int[np.ndarray, " m"],
    deficit: Int[np.ndarray, "m d"],
    cost: Int[np.ndarray, " a"],
    catalogue: Catalogue,
    rules: UnitRules,
    max_nodes: int,
) -> None:
    """Write the answer of units that pay the same prices; `forbidden` is all that they may not."""
    granted = _granted(cost, catalogue, rules)
    gained = granted.astype(np.int64) @ catalogue.instance.gain
    left = np.maximum(deficit - gained, 0)
    order = np.argsort(cost, kind="stable")
    between = catalogue.rules
    links = action_links(
        cost[order],
        catalogue.instance.gain[order],
        _matrix(between.requires, order) if between else None,
        _matrix(between.excludes, order) if between else None,
    )
    budget = np.full(len(rows), NOTHING_LEFT)
    limited = rules.budget < MOST_COST
    budget[limited] = in_millionths(rules.budget[limited]) // links.step
    member = [
        np.ascontiguousarray(m[:, order]) for m in (rules.required, rules.forbidden | granted)
    ]
    limits = (*member, rules.at_most, budget)
    keep = answer.cost.shape[1]
    costs, sets, optima, unsearched, _ = solve_proven(left, links, limits, 1, max_nodes)
    if keep > 1:
        several = solve_proven(left, links, limits, keep, max_nodes)[:3]
        costs, sets, optima = _joined((costs, sets, optima), several)
    unit, rank, place = np.nonzero(sets >= 0)
    chosen = np.zeros((len(rows), keep, len(cost)), dtype=bool)
    chosen[unit, rank, order[sets[unit, rank, place]]] = True
    answer.chosen[rows] = _with_granted(chosen, granted, costs >= 0, deficit, catalogue)
    answer.cost[rows] = np.where(costs >= 0, costs * links.step / _SCALE, np.inf)
    limit = NOTHING_LEFT // links.step
    left = np.where(unsearched < limit, np.minimum(unsearched, limit) * links.step / _SCALE, np.inf)
    answer.lower_bound[rows] = np.minimum(answer.cost[rows, 0], left)
    answer.optima[rows] = np.where(costs[:, 0] >= 0, np.maximum(optima, 1), 0)
    answer.complete[rows] = (unsearched == NOTHING_LEFT) | (optima >= MOST_TIES)


def _joined(cheapest: Sets, several: Sets) -> Sets:
    """Several sets behind the cheapest, each once; the certificate remains that of the cheapest.

    A search for several sets may be cut off where that for one is not, so a certificate from
    it would depend on how many sets are sought.
    """
    width = max(cheapest[1].shape[2], several[1].shape[2])
    single, more = (
        np.pad(s[1], ((0, 0), (0, 0), (0, width - s[1].shape[2])), constant_values=-1)
        for s in (cheapest, several)
    )
    repeated = (single == more).all(axis=2)
    cost = np.concatenate([cheapest[0], np.where(repeated, -1, several[0])], axis=1)
    rank = np.where(cost >= 0, cost, NOTHING_LEFT)
    order = np.argsort(rank, axis=1, kind="stable")[:, :-1]
    cost = np.take_along_axis(cost, order, axis=1)
    sets = np.take_along_axis(np.concatenate([single, more], axis=1), order[:, :, None], axis=1)
    cheaper = (several[0][:, 0] >= 0) & (cost[:, 0] != cheapest[0][:, 0])
    listed = ((cost == cost[:, :1]) & (cost >= 0)).sum(axis=1)
    optima = np.where(cheaper, several[2], cheapest[2])
    return cost, np.where((cost >= 0)[:, :, None], sets, -1), np.maximum(optima, listed)


def _granted(
    cost: Int[np.ndarray, " a"], catalogue: Catalogue, rules: UnitRules
) -> Bool[np.ndarray, "m a"]:
    """Actions that a unit may take at no cost with any others. (m, a)"""
    free = cost == 0
    if catalogue.rules:
        ruled = np.zeros(len(cost), dtype=bool)
        for lists in (catalogue.rules.requires, catalogue.rules.excludes):
            ruled |= np.array([bool(some) for some in lists])
            ruled[[j for some in lists for j in some]] = True
        free = free & ~ruled
    unlimited = (rules.at_most >= len(cost))[:, None]
    return free & ~rules.forbidden & ~rules.required & unlimited


def _with_granted(
    chosen: Bool[np.ndarray, "m k a"],
    granted: Bool[np.ndarray, "m a"],
    feasible: Bool[np.ndarray, "m k"],
    deficit: Int[np.ndarray, "m d"],
    catalogue: Catalogue,
) -> Bool[np.ndarray, "m k a"]:
    """The sets with those granted actions that they need; the last of the catalogue goes first."""
    gain = catalogue.instance.gain
    with_granted = (chosen | granted[:, None]) & feasible[:, :, None]
    spare = with_granted.astype(np.int64) @ gain - deficit[:, None]
    for i in np.flatnonzero(granted.any(axis=0))[::-1]:
        idle = with_granted[:, :, i] & granted[:, None, i] & (spare >= gain[i]).all(axis=2)
        with_granted[idle, i] = False
        spare[idle] -= gain[i]
    return with_granted


def _matrix(lists: Lists, order: Int[np.ndarray, " a"]) -> Bool[np.ndarray, "a a"]:
    """Who is named by whom, both in this order."""
    member = np.zeros((len(lists), len(lists)), dtype=bool)
    for i, some in enumerate(lists):
        member[i, list(some)] = True
    return member[np.ix_(order, order)]


def prices_of_forbidding(
    choices: Choices,
    features: Int[np.ndarray, "n d"],
    group: Int[np.ndarray, " n"],
    catalogue: Catalogue,
    rules: UnitRules,
    *,
    max_nodes: int,
) -> Float[np.ndarray, "n a"]:
    """Saving of each action of the cheapest set: the extra cost of the unit's best set without it.

    NaN where the action is required or not in the set (then it is 0), ∞ where nothing else is
    enough, and −∞ where the search stopped before it was known. (n, a)
    """
    unit, action = np.nonzero(choices.chosen[:, 0] & ~rules.required)
    without = rules.take(unit)  # a copy
    without.forbidden[np.arange(len(unit)), action] = True
    other = cheapest_choices(
        features[unit], group[unit], catalogue, without, keep=1, max_nodes=max_nodes
    )
    more = np.full(choices.chosen[:, 0].shape, np.nan)
    dearer = np.full(len(unit), np.inf)
    works = other.feasible
    now = in_millionths(choices.cost[unit[works], 0])
    dearer[works] = (in_millionths(other.cost[works, 0]) - now) / _SCALE
    more[unit, action] = np.where(other.proven & choices.proven[unit], dearer, -np.inf)
    return more
