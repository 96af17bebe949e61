"""Laws of many indicators, evaluated for single events, without a list of all 2^m patterns.

    p(R_F = 1 | x) = Σ_{r_A} Π_{j ∈ F ∪ A} p(R_j = r_j | x, r_causes(j)),   r_F = 1

A being the causes of F, and theirs, that lie outside F: a product where no edge comes into F from
outside. It knows no fit, no policy and no estimator: the law of one indicator is an argument.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit

from frugal.core.table import Table
from frugal.core.world import distinct_sets
from frugal.missing.graphs import MissingnessGraph, indicator_logit, topological_order, value_logit
from frugal.missing.law import MOST_SUMMED, every_subset, subset_probability

MOST_OPEN_CAUSES = 10  # causes outside F whose 2^10 settings are summed; beyond, no sum is made

IndicatorProbability = Callable[[int, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class IndicatorChain:
    """Indicators that may cause each other, causes first; n rows, a panels.

    Attributes:
        order: places of the panels that can be missing, causes before effects.
        causes: place → places of the panels whose indicators cause its own; none if not named.
        probability: (place, rows (m,), observed (m, a)) → p(R_place = 1 | x, its causes).
            (m,)
    """

    order: Sequence[int]
    causes: Mapping[int, Sequence[int]]
    probability: IndicatorProbability

    @property
    def independent(self) -> bool:
        """No indicator causes another."""
        return not any(self.causes.get(j) for j in self.order)

    def joint_probability(
        self, rows: Int[np.ndarray, " m"], required: Bool[np.ndarray, "m a"]
    ) -> Float[np.ndarray, " m"]:
        """p(R_j = 1 for every wanted j | x), exactly; NaN where too many causes stay open. (m,)"""
        result = np.ones(len(rows))
        if self.independent:
            for j in self.order:
                at = np.flatnonzero(required[:, j])
                result[at] *= self.probability(j, rows[at], required[at])
            return result
        distinct = distinct_sets(required)
        order = np.argsort(distinct.which, kind="stable")
        parts = np.split(order, np.cumsum(distinct.count)[:-1])
        for fixed, at in zip(distinct.sets, parts, strict=True):
            result[at] = self._summed(rows[at], fixed)
        return result

    def exactly(
        self, rows: Int[np.ndarray, " m"], pattern: Bool[np.ndarray, " a"]
    ) -> Float[np.ndarray, " m"]:
        """p(R = pattern | x) of each row; 0 where it lacks a panel that is never missing. (m,)"""
        if not pattern[[j for j in range(len(pattern)) if j not in self._missable]].all():
            return np.zeros(len(rows))
        observed, probability = (
            np.broadcast_to(pattern, (len(rows), len(pattern))),
            np.ones(len(rows)),
        )
        for j in self.order:
            p_observed = self.probability(j, rows, observed)
            probability *= p_observed if pattern[j] else 1.0 - p_observed
        return probability

    def _summed(self, rows: np.ndarray, fixed: np.ndarray) -> np.ndarray:
        """`together` for rows that want the same panels."""
        open_causes = self._above(fixed)
        if len(open_causes) > MOST_OPEN_CAUSES:
            return np.full(len(rows), np.nan)
        counted = [j for j in self.order if fixed[j] or j in open_causes]
        total = np.zeros(len(rows))
        for setting in every_subset(len(open_causes)):
            observed = np.ones((1, len(fixed)), dtype=bool)
            observed[0, open_causes] = setting
            observed = np.broadcast_to(observed, (len(rows), len(fixed)))
            probability = np.ones(len(rows))
            for j in counted:
                p_observed = self.probability(j, rows, observed)
                probability *= p_observed if observed[0, j] else 1.0 - p_observed
            total += probability
        return total

    def _above(self, fixed: np.ndarray) -> list[int]:
        """Causes of the fixed panels, and theirs, that are not fixed and can be missing."""
        above, waiting = set(), [j for j in self.order if fixed[j]]
        while waiting:
            new = {i for i in self.causes.get(waiting.pop(), ()) if not fixed[i]} - above
            above |= new
            waiting += new
        return sorted(above & self._missable)

    @cached_property
    def _missable(self) -> set[int]:
        return set(self.order)

    def draw(
        self,
        rows: Int[np.ndarray, " m"],
        required: Bool[np.ndarray, "m a"],
        rng: np.random.Generator,
    ) -> tuple[Bool[np.ndarray, "m a"], Float[np.ndarray, " m"]]:
        """One pattern a row that holds the wanted values, and its weight.

        Indicators are drawn in their order, the wanted ones being held at 1; the weight is
        Π_{j wanted} p(R_j = 1 | x, causes drawn). So the mean of weight × f(pattern) is
        E[f(R) 1{R_wanted = 1} | x], for any f.

        Returns:
            Patterns (m, a) and weights (m,).
        """
        observed, weight = np.ones(required.shape, dtype=bool), np.ones(len(rows))
        for j in self.order:
            p_observed = self.probability(j, rows, observed)
            fixed = required[:, j]
            weight[fixed] *= p_observed[fixed]
            observed[:, j] = fixed | (rng.random(len(rows)) < p_observed)
        return observed, weight


def chain_of(graph: MissingnessGraph, table: Table, rows: Int[np.ndarray, " n"]) -> IndicatorChain:
    """The law that masks are drawn from, for some rows of the whole table.

    Raises:
        ConfigError: see `graphs.value_logit`.
    """
    places = {panel.name: j for j, panel in enumerate(table.actions)}
    named = {places[panel]: panel for panel in graph.indicators}
    logit = {j: value_logit(graph, table, panel)[rows] for j, panel in named.items()}

    def indicator_probability(j: int, at: np.ndarray, observed: np.ndarray) -> np.ndarray:
        return expit(logit[j][at] + indicator_logit(graph, table, observed, named[j]))

    causes = {
        places[panel]: [places[cause] for cause in model.indicators]
        for panel, model in graph.indicators.items()
    }
    return IndicatorChain(
        [places[panel] for panel in topological_order(graph)], causes, indicator_probability
    )


def true_subset_probability(
    graph: MissingnessGraph, table: Table, subset: Bool[np.ndarray, " a"]
) -> Float[np.ndarray, " n"]:
    """True p(R_s = 1 | x) of every row: by a list of all patterns where it is short. (n,)

    Differs from `law.subset_probability` only where more panels can be missing than that sums over;
    NaN where too many of their causes stay open.
    """
    if len(graph.indicators) <= MOST_SUMMED:
        return subset_probability(graph, table, subset)
    rows = np.arange(len(table))
    required = np.broadcast_to(subset, (len(rows), len(subset)))
    return chain_of(graph, table, rows).joint_probability(rows, required)
