"""Recourse in words: the actions for a unit, the need that each meets, and its certainty.

Sentences that an applicant can read, and the same as columns of a table. Knows no file.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from frugal.core.schema_check import listed
from frugal.studies.recourse.catalogue import Catalogue, refusal_sentences
from frugal.studies.recourse.choices import Choices, UnitRules, cheapest_choices
from frugal.studies.recourse.instance import price_text
from frugal.studies.recourse.solvers.branch_and_bound import unreachable_features
from frugal.studies.recourse.solvers.lagrangian_tree import MOST_TIES

KINDS = {  # of rules; those of the catalogue are the last to be left out
    "budget": "the budget",
    "at_most": "the limit of actions",
    "forbidden": "the forbidden actions",
    "required": "the required actions",
    "between": "the catalogue's rules",
}


def none_sentences(
    units: tuple[str, ...],
    features: Int[np.ndarray, "n d"],
    group: Int[np.ndarray, " n"],
    catalogue: Catalogue,
    rules: UnitRules,
    *,
    max_nodes: int,
    cost_unit: str = "",
) -> list[str]:
    """One sentence for each of these units, none of which has a set of actions.

    Args:
        units: names. (n,)
        features: states. (n, d)
        group: row of the instance's access. (n,)
        catalogue: actions, thresholds, rules between actions.
        rules: of each unit.
        max_nodes: see `cheapest_choices`.
        cost_unit: unit of all costs; may be empty.
    """
    out_of_reach = unreachable_features(features, group, catalogue.instance)
    reasons = refusal_sentences(units, features, group, out_of_reach, catalogue)
    rows = np.array([u for u, name in enumerate(units) if name not in reasons], dtype=np.int64)
    for kind in KINDS:
        if not len(rows):
            break
        freed, relaxed = _without(kind, catalogue, rules.take(rows))
        choices = cheapest_choices(
            features[rows], group[rows], freed, relaxed, keep=1, max_nodes=max_nodes
        )
        for place in np.flatnonzero(choices.feasible):
            u = int(rows[place])
            reasons[units[u]] = f"unit {units[u]!r} has no set: " + _obstacles(
                kind, u, choices, int(place), catalogue, rules, cost_unit
            )
        rows = rows[~choices.feasible]
    freed, relaxed = catalogue, rules
    for number, kind in enumerate(KINDS, 1):
        if not len(rows):
            break
        freed, relaxed = _without(kind, freed, relaxed)
        choices = cheapest_choices(
            features[rows], group[rows], freed, relaxed.take(rows), keep=1, max_nodes=max_nodes
        )
        for place in np.flatnonzero(choices.feasible):
            u, names = int(rows[place]), _set(choices, int(place), catalogue, cost_unit)
            dropped = [KINDS[k] for k in [*KINDS][:number] if _holds(k, u, catalogue, rules)]
            reasons[units[u]] = (
                f"unit {units[u]!r} has no set: its rules together allow none, whichever kind of "
                f"them is left out; without {listed(dropped)} it would be {names}"
            )
        rows = rows[~choices.feasible]
    return [reasons[name] for name in units]


def _holds(kind: str, u: int, catalogue: Catalogue, rules: UnitRules) -> bool:
    """Whether a unit has a rule of this kind."""
    match kind:
        case "budget":
            return bool(np.isfinite(rules.budget[u]))
        case "at_most":
            return bool(rules.at_most[u] < len(catalogue.actions))
        case "forbidden":
            return bool(rules.forbidden[u].any())
        case "required":
            return bool(rules.required[u].any())
    return catalogue.rules is not None


def _without(kind: str, catalogue: Catalogue, some: UnitRules) -> tuple[Catalogue, UnitRules]:
    """Catalogue and rules without one kind of rule."""
    match kind:
        case "budget":
            return catalogue, replace(some, budget=np.full(len(some.budget), np.inf))
        case "at_most":
            return catalogue, replace(some, at_most=np.full_like(some.at_most, 2**31))
        case "forbidden":
            return catalogue, replace(some, forbidden=np.zeros_like(some.forbidden))
        case "required":
            return catalogue, replace(some, required=np.zeros_like(some.required))
    return replace(catalogue, rules=None), some


def _obstacles(
    kind: str,
    u: int,
    choices: Choices,
    place: int,
    catalogue: Catalogue,
    rules: UnitRules,
    unit: str,
) -> str:
    """The obstacles, and the set that would be enough without them."""
    chosen = choices.chosen[place, 0]
    names = _set(choices, place, catalogue, unit)
    match kind:
        case "budget":
            budget = price_text(rules.budget[u], unit)
            return f"its budget is {budget}, and the cheapest set is {names}"
        case "at_most":
            return (
                f"it may take {rules.at_most[u]} actions, and no such set is enough; without that "
                f"limit it would be {names}"
            )
        case "forbidden":
            needed = [catalogue.actions[i] for i in np.flatnonzero(chosen & rules.forbidden[u])]
            return f"{listed(needed)} may not be taken; otherwise it would be {names}"
        case "required":
            needed = [catalogue.actions[i] for i in np.flatnonzero(rules.required[u])]
            return f"{listed(needed)} must be taken; otherwise it would be {names}"
    return f"rules of the catalogue's actions leave none; without these rules it would be {names}"


def _set(choices: Choices, place: int, catalogue: Catalogue, unit: str) -> str:
    """The cheapest set with its cost."""
    names = [catalogue.actions[i] for i in np.flatnonzero(choices.chosen[place, 0])]
    return f"{listed(names)}, {price_text(choices.cost[place, 0], unit)} in all"


@dataclass(frozen=True, eq=False)
class Advice:
    """Answers for all units. Shapes: n units, d features, a actions.

    Attributes:
        units: names. (n,)
        features: states. (n, d)
        catalogue: actions and thresholds.
        rules: of each unit.
        choices: the cheapest sets.
        without: extra cost of forbidding each action of the cheapest set. (n, a)
        reasons: why a unit has no set; empty where it has. (n,)
        groups: of each unit, the name; empty where the catalogue has none. (n,)
        cost_unit: unit of all costs; may be empty.
    """

    units: tuple[str, ...]
    features: Int[np.ndarray, "n d"]
    catalogue: Catalogue
    rules: UnitRules
    choices: Choices
    without: Float[np.ndarray, "n a"]
    reasons: tuple[str, ...]
    groups: tuple[str, ...] = ()
    cost_unit: str = ""

    def price(self, cost: float) -> str:
        """A cost with all its decimals and its unit."""
        return price_text(cost, self.cost_unit)

    def status(self, u: int) -> str:
        """`positive`, `proven`, `unproven`, `none` or `not_found`."""
        if self.reasons[u]:
            return "none"
        if not self.choices.feasible[u]:
            return "not_found"
        if not self.choices.chosen[u, 0].any():
            return "positive"
        return "proven" if self.choices.proven[u] else "unproven"


def certificate(advice: Advice, u: int) -> str:
    """How sure it is that nothing is cheaper, and whether something is as cheap."""
    choices = advice.choices
    bound = advice.price(choices.lower_bound[u])
    match advice.status(u):
        case "none":
            return "proven: no set is enough"
        case "not_found":
            return f"not proven: no set was found; one would cost at least {bound}"
        case "unproven":
            return f"not proven: a set may cost as little as {bound}; raise --max-nodes"
    optima = int(choices.optima[u])
    if optima >= MOST_TIES:
        return f"proven: nothing is cheaper; {MOST_TIES} sets or more cost the same"
    if not choices.complete[u] and optima < 2:
        return "proven: nothing is cheaper; whether another set costs the same was not settled"
    if optima > 1:
        more = "" if choices.complete[u] else " or more"
        return f"proven: nothing is cheaper; {optima}{more} sets cost the same"
    return "proven: nothing is as cheap"


def mending(advice: Advice, u: int, rank: int) -> str:
    """Which action of a set raises which feature that is lacking, and by how much."""
    catalogue = advice.catalogue
    lack = catalogue.instance.deficit(advice.features[u : u + 1])[0]
    sentences = []
    for i in np.flatnonzero(advice.choices.chosen[u, rank]):
        raised = [
            f"{catalogue.features[j]} +{int(catalogue.instance.gain[i, j])}"
            for j in np.flatnonzero((catalogue.instance.gain[i] > 0) & (lack > 0))
        ]
        why = "required" if advice.rules.required[u, i] else "needed by another"
        sentences.append(f"{catalogue.actions[i]}: {', '.join(raised) or why}")
    return "; ".join(sentences)


def forbidding(advice: Advice, u: int) -> str:
    """Extra cost to the unit if an action of its cheapest set were excluded."""
    prices = []
    for i in np.flatnonzero(~np.isnan(advice.without[u])):
        more = advice.without[u, i]
        price = (
            "nothing else is enough"
            if more == np.inf
            else "not settled"
            if more == -np.inf
            else f"+{advice.price(more)}"
        )
        prices.append(f"{advice.catalogue.actions[i]}: {price}")
    return "; ".join(prices)


def sentence(advice: Advice, u: int) -> str:
    """The answer of a unit as an applicant reads it."""
    name, status = advice.units[u], advice.status(u)
    if status == "none":
        return f"{advice.reasons[u]}."
    if status == "positive":
        return f"{name} meets every threshold already and needs no action."
    if status == "not_found":
        return f"{name}: {certificate(advice, u)}."
    catalogue, choices = advice.catalogue, advice.choices
    lack = catalogue.instance.deficit(advice.features[u : u + 1])[0]
    lacking = listed([catalogue.features[j] for j in np.flatnonzero(lack)])
    priced = [
        f"{catalogue.actions[i]} ({advice.price(advice.rules.cost[u, i])})"
        for i in np.flatnonzero(choices.chosen[u, 0])
    ]
    total = f", {advice.price(choices.cost[u, 0])} in all" if len(priced) > 1 else ""
    lacks = f"{name} lacks {lacking}. " if lacking else f"{name} lacks nothing. "
    text = f"{lacks}The cheapest way: {listed(priced)}{total} ({certificate(advice, u)})."
    if choices.cost.shape[1] > 1 and np.isfinite(choices.cost[u, 1]):
        text += f" Next: {_names(advice, u, 1)} for {advice.price(choices.cost[u, 1])}."
    needed = [catalogue.actions[i] for i in np.flatnonzero(advice.without[u] == np.inf)]
    if needed:
        text += f" There is no way without {listed(needed)}."
    return text


def group_lines(advice: Advice) -> list[str]:
    """One line for each group: how many units, and the mean cost of the cheapest sets.

    Units that meet every threshold cost 0; those without a set are counted apart.
    """
    lines = []
    for name in dict.fromkeys(advice.groups):
        rows = np.flatnonzero(np.array(advice.groups) == name)
        cost = advice.choices.cost[rows, 0]
        paid = cost[np.isfinite(cost)]
        mean = f"mean cost {advice.price(round(paid.mean(), 2))}" if len(paid) else "no cost"
        without = f", {len(cost) - len(paid)} without a set" if len(paid) < len(cost) else ""
        lines.append(f"group {name!r}: {len(rows)} unit{'s'[: len(rows) > 1]}, {mean}{without}")
    return lines


def advice_frame(advice: Advice) -> pd.DataFrame:
    """One row per unit and set, cheapest first; a unit without a set has one row."""
    rows = []
    for u, name in enumerate(advice.units):
        for rank in np.flatnonzero(np.isfinite(advice.choices.cost[u])).tolist() or [0]:
            rows.append(
                {
                    "unit": name,
                    "rank": rank + 1,
                    "status": advice.status(u),
                    "cost": _finite(advice.choices.cost[u, rank]),
                    "actions": _names(advice, u, rank),
                    "mends": mending(advice, u, rank),
                    "lower_bound": _finite(advice.choices.lower_bound[u]),
                    "optima": int(advice.choices.optima[u]),
                    "without": forbidding(advice, u) if rank == 0 else "",
                    "certificate": certificate(advice, u) if rank == 0 else "",
                    "sentence": sentence(advice, u) if rank == 0 else "",
                }
            )
    return pd.DataFrame(rows)


def _finite(value: float) -> float:
    """Empty in a table where there is no set."""
    return value if np.isfinite(value) else np.nan


def _names(advice: Advice, u: int, rank: int) -> str:
    chosen = np.flatnonzero(advice.choices.chosen[u, rank])
    return "; ".join(advice.catalogue.actions[i] for i in chosen)
