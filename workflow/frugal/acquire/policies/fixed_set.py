"""The kind `fixed_set`: the same panels for every unit, and boosted trees of their values.

The panels are all, none, or the set of least cost found by forward search; `constant` reads
nothing and decides by the classes' shares. Learns on blocked records for the table's own costs, and
in `diagnosis` for a score within budgets. Of more than two classes each has its own models, which
predict it against all others; their probabilities are scaled to sum to 1, and the class of least
expected cost is predicted; such a label is one of costs alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Float32

from frugal.acquire.kinds import AgentKind, Ground, Learned, Saved, trained
from frugal.acquire.onnx_graph import GraphOutputs, State, logistic
from frugal.acquire.policies.cascade import (
    CascadePolicies,
    graph_of_windows,
    learned_cascades,
    log_odds_node,
)
from frugal.acquire.reading import Reading
from frugal.acquire.train.cascade import LEAST_ROWS, fit_fixed_sets
from frugal.acquire.train.payoff import Objective, fit_for_cost
from frugal.acquire.train.tree_sets import (
    ConstantBeliefs,
    PanelSet,
    SetBeliefs,
    TreeRows,
    boosting_of,
)
from frugal.core.episodes import Belief, Law, Panels, Readings, RowPanels, RowValues, Traits
from frugal.core.layout import Layout
from frugal.core.stored import Array, Stored, part_of

ERRORS = "errors"  # name of the array of their costs


@dataclass(frozen=True, eq=False)
class ClassSet(Reading):
    """The same panels for every unit. k classes.

    Attributes:
        of_class: k members, each this set with the models of one class against all others.
        errors: cost of predicting a class (column) for a unit of a class (row). (k, k)
    """

    of_class: CascadePolicies
    errors: Float[np.ndarray, "k k"]

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(consistent=True, why=self.why)

    @property
    def members(self) -> int:
        """1."""
        return 1

    def read(self, values: RowValues, acquired: RowPanels) -> Float32[np.ndarray, "m d"]:
        """The state's values, as trees read them. (m, d)"""
        return self.of_class.read(values, acquired)

    def decide(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """1 for the next panel, or for "stop". (1, m, a + 1)"""
        return self.of_class.member(0).decide(reading, acquired, available)

    def conclude(self, reading: Readings, acquired: Panels) -> Belief:
        """1 for the class of least expected cost. (1, m, k)"""
        cost = self.believe(reading, acquired) @ self.errors
        return np.eye(len(self.errors))[cost.argmin(axis=2)]

    def believe(self, reading: Readings, acquired: Panels) -> Belief:
        """Class probabilities. (1, m, k)"""
        k = len(self.errors)
        each = self.of_class.believe(np.repeat(reading, k, axis=0), np.repeat(acquired, k, axis=0))
        return scaled_to_one(each[..., 1].T)[None]

    def sentences(self, panels: Sequence[str]) -> list[str]:
        """Its decisions, in words."""
        names = [panels[int(j)] for j in np.flatnonzero(self.of_class.sets[0, 0])]
        return [f"{' + '.join(names) or 'no panel'}; then the class of least expected cost"]

    def why(
        self,
        member: int,
        values: RowValues,
        probability: Float[np.ndarray, "m k"],
        acquired: RowPanels,
        available: RowPanels,
        action_probability: Float[np.ndarray, "m a+1"],
        layout: Layout,
    ) -> list[str]:
        """Whether the next panel is bought for everyone, or none is."""
        del member, values, probability, acquired, available, layout
        stops = (action_probability[:, -1] == 1).tolist()
        return ["no further panel" if stop else "bought for everyone" for stop in stops]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the policy is; `from_arrays` is the inverse."""
        return self.of_class.to_arrays() | {ERRORS: self.errors}

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray], layout: Layout) -> "ClassSet":
        """The policy that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such policy of the classes of the layout.
        """
        part, k = part_of(arrays, {ERRORS: ERRORS}), len(layout.classes)
        stored = Stored("fixed set", part)
        stored.require({ERRORS: Array("float64", (k, k), low=0)})
        rest = part_of(arrays, {name: name for name in arrays if name != ERRORS})
        policies = CascadePolicies.from_arrays(rest, layout)
        if policies.sets.shape[:2] != (k, 1):
            raise stored.refusal(
                f"has {policies.sets.shape[0]} members of {policies.sets.shape[1]} sets; allowed "
                f"is one set for each of {k} classes"
            )
        return ClassSet(policies, part[ERRORS])


def scaled_to_one(probability: Float[np.ndarray, "m k"]) -> Float[np.ndarray, "m k"]:
    """Probabilities of each class against all others, scaled to sum to 1. (m, k)"""
    return probability / probability.sum(axis=1, keepdims=True)


def fit_class_set(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """The set of least cost out of fold, or the one that is asked for, with its models."""
    table, world = ground.table, ground.world(terminals=1)
    rng, boosting = ground.streams.generator("trees"), boosting_of(settings)
    every, errors = np.ones(len(world), dtype=bool), table.misclassification_cost
    k = len(table.classes)
    apart = [replace(world, label=(table.label == c).astype(np.int64), classes=2) for c in range(k)]
    of_class = [TreeRows(of_one, every, boosting, rng) for of_one in apart]
    if settings["panels"] == "constant":
        beliefs: list[SetBeliefs] = [ConstantBeliefs(of_one, 1) for of_one in of_class]
    else:
        beliefs = [
            of_one.beliefs(boosting.repeats, linear=settings["linear"]) for of_one in of_class
        ]
    sets, rows = _Sets(beliefs, table.label, errors), of_class[0]
    chosen = rows.reduced(range(world.panels)) | rows.base
    if settings["panels"] == "best":
        chosen = sets.cheapest(chosen, settings["sets"])
    elif settings["panels"] != "all":
        chosen = rows.base
    parts = [part for of_one in beliefs if (part := of_one.part(chosen)) is not None]
    policies = CascadePolicies(
        np.tile(rows.bits(chosen), (k, 1, 1)),
        np.arange(k)[:, None],
        np.ones((k, 1)),
        np.ones((k, 1)),
        np.full(k, 0.5),
        tuple(of_one.of(chosen).ensemble for of_one in beliefs),
        world.action_cost,
        linear=tuple(parts),
    )
    curve = {
        "transitions": len(world),
        "mean_return": -sets.cost(chosen),
        "acquisition_cost": float(rows.price(chosen).mean()),
    }
    return Learned(ClassSet(policies, errors).to_arrays(), pd.DataFrame([curve]))


@dataclass(frozen=True, eq=False)
class _Sets:
    """Sets of panels with their cost, out of fold. n units, k classes.

    Attributes:
        beliefs: of each class against all others.
        label: class of each unit. (n,)
        errors: costs. (k, k)
    """

    beliefs: Sequence[SetBeliefs]
    label: np.ndarray
    errors: np.ndarray

    @property
    def rows(self) -> TreeRows:
        """The units."""
        return self.beliefs[0].rows

    def able(self, panels: PanelSet) -> Bool[np.ndarray, " n"]:
        """Units that can have all of a set."""
        return np.all(self.rows.world.available[:, sorted(panels)], axis=1)

    def cost(self, panels: PanelSet) -> float:
        """Mean price and cost of errors, of units that can have all of it unless they are few."""
        probability = scaled_to_one(
            np.column_stack([model.belief(panels) for model in self.beliefs])
        )
        error = self.errors[self.label, (probability @ self.errors).argmin(axis=1)]
        able, cost = self.able(panels), error + self.rows.price(panels)
        return float((cost[able] if able.sum() >= LEAST_ROWS else cost).mean())

    def cheapest(self, all_panels: PanelSet, most: int) -> PanelSet:
        """The cheapest of no panel, all, and a forward search; at most so many are tried."""
        rows, chosen = self.rows, self.rows.base
        tried = {panels: self.cost(panels) for panels in (chosen, all_panels)}

        def rank(panels: PanelSet) -> tuple[float, list[int]]:
            return tried[panels], sorted(panels)

        while len(tried) < most:
            grown = [chosen | {p} for p in range(rows.world.panels) if rows.grows(chosen, p)]
            grown = [g for g in grown if g not in tried and self.able(g).sum() >= LEAST_ROWS]
            grown = grown[: most - len(tried)]
            tried |= {panels: self.cost(panels) for panels in grown}
            best = min([chosen, *grown], key=rank)
            if best == chosen:
                break
            chosen = best
        return min(tried, key=rank)


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Learn on the records, blocked; see `fit_for_cost`."""
    if len(ground.table.classes) > 2 and not ground.budgets:
        return fit_class_set(ground, settings)
    return fit_for_cost("fixed_set", learn, ground, settings)


def learn(
    rows: TreeRows, objective: Objective, settings: Mapping[str, Any], budgets: np.ndarray
) -> Learned:
    """Sets as a bundle holds them; `mean_return` is the score of each, out of fold."""
    return learned_cascades(*fit_fixed_sets(rows, objective, settings=settings, budgets=budgets))


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> CascadePolicies | ClassSet:
    """The set that was chosen, as a cascade of one."""
    del settings
    policy = CascadePolicies if len(layout.classes) == 2 else ClassSet
    return policy.from_arrays(trained(stored, "fixed_set"), layout)


def _graph(state: State, policy: Any, member: int) -> GraphOutputs:
    """A cascade of one set; of more classes, the models of each against all others."""
    if not isinstance(policy, ClassSet):
        return graph_of_windows(state, policy, member)
    of_class = policy.of_class
    each = [logistic(log_odds_node(state, of_class, k)) for k in range(len(policy.errors))]
    together = each[0].beside(*each[1:])
    return GraphOutputs(
        graph_of_windows(state, of_class, member).action_probability, together / together.sum()
    )


FIXED_SET = AgentKind(
    name="fixed_set",
    build=build,
    fit=fit,
    settings={
        "panels": (
            ("all", "none", "best", "constant"),
            "all, none, best (of least cost), or constant (reads no column)",
        ),
        "boosting": ("BoostingSettings", "the trees of each set of panels", {}),
        "linear": ("bool", "whether a logistic regression is averaged with the trees", False),
        "sets": ("Count", "of panels that are tried, at most; two at least", 16),
    },
    doc="the same panels for everyone: all, none, or those of least cost; trees of what they show",
    graph=_graph,
    looks={"fixed_set": (93, "fixed set of panels", "black", "8")},
)
