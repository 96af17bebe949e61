"""Recourse in words: what a unit is to do, which action mends what, and how sure it is.

Sentences that an applicant can read, and the same as columns of a table. Knows no file.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from frugal.core.schema_check import listed
from frugal.cover.catalogue import Catalogue
from frugal.cover.choices import Choices
from frugal.cover.instance import price_text
from frugal.cover.solvers.lagrangian_tree import MOST_TIES
from frugal.cover.unit_rules import UnitRules


@dataclass(frozen=True, eq=False)
class Advice:
    """Answers for all units. Shapes: n units, d features, a actions.

    Attributes:
        units: names. (n,)
        features: states. (n, d)
        catalogue: actions and thresholds.
        rules: of each unit.
        choices: the cheapest sets.
        without: what forbidding each action of the cheapest set would cost more. (n, a)
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
        if not self.choices.found[u]:
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
    known = advice.catalogue
    lack = known.instance.deficit(advice.features[u : u + 1])[0]
    told = []
    for i in np.flatnonzero(advice.choices.chosen[u, rank]):
        raised = [
            f"{known.features[j]} +{int(known.instance.gain[i, j])}"
            for j in np.flatnonzero((known.instance.gain[i] > 0) & (lack > 0))
        ]
        why = "required" if advice.rules.required[u, i] else "needed by another"
        told.append(f"{known.actions[i]}: {', '.join(raised) or why}")
    return "; ".join(told)


def forbidding(advice: Advice, u: int) -> str:
    """What the unit would pay more if an action of its cheapest set were closed to it."""
    told = []
    for i in np.flatnonzero(~np.isnan(advice.without[u])):
        more = advice.without[u, i]
        price = (
            "nothing else is enough" if more == np.inf
            else "not settled" if more == -np.inf
            else f"+{advice.price(more)}"
        )  # fmt: skip
        told.append(f"{advice.catalogue.actions[i]}: {price}")
    return "; ".join(told)


def sentence(advice: Advice, u: int) -> str:
    """The answer of a unit as an applicant reads it."""
    name, status = advice.units[u], advice.status(u)
    if status == "none":
        return f"{advice.reasons[u]}."
    if status == "positive":
        return f"{name} meets every threshold already and needs no action."
    if status == "not_found":
        return f"{name}: {certificate(advice, u)}."
    known, choices = advice.catalogue, advice.choices
    lack = known.instance.deficit(advice.features[u : u + 1])[0]
    lacking = listed([known.features[j] for j in np.flatnonzero(lack)])
    priced = [
        f"{known.actions[i]} ({advice.price(advice.rules.cost[u, i])})"
        for i in np.flatnonzero(choices.chosen[u, 0])
    ]
    total = f", {advice.price(choices.cost[u, 0])} in all" if len(priced) > 1 else ""
    lacks = f"{name} lacks {lacking}. " if lacking else f"{name} lacks nothing. "
    said = f"{lacks}The cheapest way: {listed(priced)}{total} ({certificate(advice, u)})."
    if choices.cost.shape[1] > 1 and np.isfinite(choices.cost[u, 1]):
        said += f" Next: {_names(advice, u, 1)} for {advice.price(choices.cost[u, 1])}."
    needed = [known.actions[i] for i in np.flatnonzero(advice.without[u] == np.inf)]
    if needed:
        said += f" There is no way without {listed(needed)}."
    return said


def group_lines(advice: Advice) -> list[str]:
    """One line for each group: how many units, and what the cheapest sets cost on average.

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
