"""Why a unit has no set of actions: out of reach, or which of its rules stands in the way.

Each rule is left out in turn; the first without which some set is enough is named, with what that
set would be. Knows no file.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Int

from frugal.core.schema_check import listed
from frugal.cover.catalogue import Catalogue, refusal_sentences
from frugal.cover.choices import Choices, cheapest_choices
from frugal.cover.instance import price_text
from frugal.cover.solvers.branch_and_bound import unreachable_features
from frugal.cover.unit_rules import UnitRules

KINDS = ("budget", "at_most", "forbidden", "required", "between")  # of rules


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
        found = cheapest_choices(
            features[rows], group[rows], freed, relaxed, keep=1, max_nodes=max_nodes
        )
        for place in np.flatnonzero(found.found):
            u = int(rows[place])
            reasons[units[u]] = f"unit {units[u]!r} has no set: " + _told(
                kind, u, found, int(place), catalogue, rules, cost_unit
            )
        rows = rows[~found.found]
    freed, relaxed = catalogue, rules.take(rows)
    for kind in KINDS:
        freed, relaxed = _without(kind, freed, relaxed)
    found = cheapest_choices(
        features[rows], group[rows], freed, relaxed, keep=1, max_nodes=max_nodes
    )
    for place, u in enumerate(rows):
        names = _set(found, place, catalogue, cost_unit)
        reasons[units[u]] = (
            f"unit {units[u]!r} has no set: its rules together allow none, whichever kind of them "
            f"is left out; without all of them it would be {names}"
        )
    return [reasons[name] for name in units]


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


def _told(
    kind: str, u: int, found: Choices, place: int, catalogue: Catalogue, rules: UnitRules, unit: str
) -> str:
    """What stands in the way, and what would be enough without it."""
    chosen = found.chosen[place, 0]
    names = _set(found, place, catalogue, unit)
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
    return (
        "what the catalogue's actions require or exclude leaves none; without these rules it "
        f"would be {names}"
    )


def _set(found: Choices, place: int, catalogue: Catalogue, unit: str) -> str:
    """The cheapest set with its cost."""
    names = [catalogue.actions[i] for i in np.flatnonzero(found.chosen[place, 0])]
    return f"{listed(names)}, {price_text(found.cost[place, 0], unit)} in all"
