"""The kind `opportunistic`: Q-learning of panels' changes of the probabilities, per price.

A Q-network learns the discounted sum of changes by all further panels (Kachuee and others, ICLR
2019); a panel is bought while its value reaches a least one. Only the predictor reads labels.
Learns on blocked records for the table's own costs, and in `diagnosis` for a score within budgets.

Differs from the paper: probabilities are those of trees of all sets, fitted before and, for units
learnt from, by trees that did not see them; no dropout tells how certain they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from frugal.acquire.acquisition import BatchedAcquisition, Reward
from frugal.acquire.encoders import ValuesEncoder, observe_values
from frugal.acquire.kinds import UNTUNED, AgentKind, Learned, Saved, trained
from frugal.acquire.policies.dqn import QPolicy
from frugal.acquire.reading import ThresholdRules, panel_or_stop, with_stop
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.payoff import Objective, best_within, fit_for_cost
from frugal.acquire.train.tree_sets import (
    DIGITS,
    MaskedBeliefs,
    TreeRows,
    fit_masked,
    predicted_risk,
    stored_trees,
)
from frugal.config.learners import DqnSettings
from frugal.core.episodes import Belief, Law, Panels, Readings, RowPanels, Traits
from frugal.core.layout import Layout
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.stored import Stored, Within, apart, arrays_of, declared, under
from frugal.core.world import World, adds_column
from frugal.learn.trees import TreeEnsemble

ALL, NOTHING = 0.0, 1e9  # least values at which everything, and nothing, is bought
_ROUNDING = 1e-6  # share of the largest value within which two are the same
TREES, NETWORK = "trees.", "network."  # prefixes among the bundle's arrays


@dataclass(frozen=True, eq=False)
class NoReward:
    """Nothing for an end, and no price: rewards are changes by panels."""

    cost_weight: Float32[np.ndarray, " K"]

    def end(
        self,
        learner: Int[np.ndarray, " m"],
        row: Int[np.ndarray, " m"],
        label: Int[np.ndarray, " m"],
        acquired: RowPanels,
        terminal: Int[np.ndarray, " m"],
    ) -> Float32[np.ndarray, " m"]:
        """Zeros. (m,)"""
        return np.zeros(len(row), dtype=np.float32)


class ChangingBeliefs(BatchedAcquisition):
    """Episodes in which a panel is rewarded by the change that it makes.

    Args:
        beliefs: told of the units of the task.
        units: number of each of the task's units among the rows of the beliefs. (n,)
    """

    def __init__(
        self,
        task: World,
        encoder: ValuesEncoder,
        beliefs: MaskedBeliefs,
        units: Int[np.ndarray, " n"],
        *,
        episodes: int,
        rng: np.random.Generator,
    ) -> None:
        self._beliefs, self._units = beliefs, units
        reward: Reward = NoReward(np.zeros(1, dtype=np.float32))
        super().__init__(
            task,
            encoder,
            reward,
            learners=1,
            episodes=episodes,
            start="free",
            rng=rng,
            only_new=True,
        )

    def _advance(
        self, action: Int[np.ndarray, "K E"], allowed: Bool[np.ndarray, " KE"]
    ) -> tuple[Float32[np.ndarray, "K E"], Bool[np.ndarray, "K E"]]:
        chosen = action.reshape(-1)
        buys = np.flatnonzero(allowed & (chosen < self.task.panels))
        row, before = self._row[buys].copy(), self._acquired[buys].copy()
        reward, done = super()._advance(action, allowed)
        change = self._changed(row, before, chosen[buys])
        flat = reward.reshape(-1)
        flat[buys] += change.astype(np.float32)
        return flat.reshape(reward.shape), done

    def _changed(self, row: np.ndarray, before: np.ndarray, panel: np.ndarray) -> np.ndarray:
        """Changes by panels: Σ over classes of |p′ − p|, per price in mean prices. (m,)"""
        after = before.copy()
        after[np.arange(len(row)), panel] = True
        units = self._units[row]
        change = self._beliefs.at(units, after) - self._beliefs.at(units, before)
        return 2 * np.abs(change) / relative_price(self.task.action_cost)[panel]


def relative_price(cost: Float[np.ndarray, " a"]) -> Float[np.ndarray, " a"]:
    """Prices over their mean; those without a price are bought at once, and count as one. (a,)"""
    paid = cost > 0
    return np.where(paid, cost / (cost[paid].mean() if paid.any() else 1.0), 1.0)


def fit_values(beliefs: MaskedBeliefs, settings: DqnSettings, rng: np.random.Generator) -> QPolicy:
    """The network, trained on the units that trees learnt from."""
    from frugal.acquire.train.lockstep_dqn import fit_dqn  # torch is slow to import

    rows = beliefs.rows
    units = np.flatnonzero(rows.learns)
    task = replace(rows.world.take(units), terminals=1)
    scaling = fit_scaling(task.values, unknown=True)
    encoder = ValuesEncoder.of(replace(task, values=scaling.standardise(task.values)))
    environment = ChangingBeliefs(
        task, encoder, beliefs, units, episodes=settings.episodes, rng=rng.spawn(1)[0]
    )
    result = fit_dqn(environment, settings=settings, moments=1, rngs=[rng.spawn(1)[0]])
    weights = {name: array[0] for name, array in result.weights.items()}
    return QPolicy(weights, scaling.centre, scaling.scale, encoder.column_bits)


def least_values(first: Float[np.ndarray, " n"], count: int) -> Float[np.ndarray, " K"]:
    """Least values that are tried: all, nothing, and some that part the units by first values.

    Each lies midway between two units' values, for at a value itself rounding would decide.
    """
    first_values = np.sort(np.maximum(first, ALL))
    jumps = np.flatnonzero(np.diff(first_values) > _ROUNDING * first_values[-1])
    if not len(jumps):
        return np.array([ALL, NOTHING])
    shares = np.linspace(0, len(first_values) - 1, max(count - 2, 1))
    parted = jumps[np.searchsorted(jumps, shares).clip(max=len(jumps) - 1)]
    return np.unique([ALL, *(first_values[parted] + first_values[parted + 1]) / 2, NOTHING])


@dataclass(frozen=True, eq=False)
class OpportunisticPolicies(ThresholdRules):
    """K rules by one network. Shapes: a panels.

    Attributes:
        network: values of panels, in change of probabilities per mean price.
        believer: trees over values and bits of panels.
        adds: columns that each panel adds to the free ones. (a, d)
        base: panels without a price, bought at once. (a,)
        least: value below which nothing is bought. (K,)
        threshold: predicted probability from which a unit is classified as ill. (K,)
    """

    network: QPolicy
    believer: TreeEnsemble
    adds: Bool[np.ndarray, "a d"]
    base: Annotated[Bool[np.ndarray, " a"], Within()]
    least: Annotated[Float[np.ndarray, " K"], Within(low=0.0)]
    threshold: Annotated[Float[np.ndarray, " K"], Within(above=0, high=1)]

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(
            consistent=True,
            compares="change of probabilities per mean price",
            weigh=self.weigh,
            threshold=self.threshold,
        )

    def decide(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """1 for the next panel, or for "stop". (K, m, a + 1)"""
        weight = self.weigh(reading, acquired, available)
        value, goes_on = weight[..., :-1], weight[..., :-1].max(axis=2) >= weight[..., -1]
        return panel_or_stop(value.argmax(axis=2), goes_on, acquired.shape[2])

    def weigh(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """Value of each open panel, then the least one that is bought. (K, m, a + 1)"""
        a = acquired.shape[2]
        left = available & ~acquired
        value = self.values(reading.reshape(-1, reading.shape[2]), acquired.reshape(-1, a))
        open_panels = left & adds_column(self.adds, acquired)
        value = np.where(open_panels, value.reshape(acquired.shape), -np.inf)
        first = left & self.base
        return with_stop(np.where(first, np.inf, value), self.least[:, None])

    def values(
        self, values: Float32[np.ndarray, "m d"], acquired: RowPanels
    ) -> Float[np.ndarray, "m a"]:
        """Value of each panel, whether it can be had or not. (m, a)"""
        scaling = Scaling(self.network.centre, self.network.scale)
        shown = scaling.standardise(values.astype(np.float64))
        observation = observe_values(shown, acquired, column_bits=self.network.column_bits)
        return self.network.action_values(observation)[:, : acquired.shape[1]]

    def believe(self, reading: Readings, acquired: Panels) -> Belief:
        """Class probabilities as the trees have them. (K, m, 2)"""
        a = acquired.shape[2]
        ill = predicted_risk(
            self.believer, reading.reshape(-1, reading.shape[2]), acquired.reshape(-1, a)
        )
        ill = ill.round(DIGITS).reshape(acquired.shape[:2])
        return np.stack([1 - ill, ill], axis=-1)

    def sentences(self, panels: Sequence[str]) -> list[str]:
        """How the rules differ, in words."""
        return [
            f"a panel that changes probabilities by {v:.3g} per mean price; positive from "
            f"{100 * t:.3g} % on"
            for v, t in zip(self.least, self.threshold, strict=True)
        ]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the rules are; `from_arrays` is the inverse."""
        arrays = arrays_of(self)
        arrays |= {NETWORK + name: array for name, array in self.network.to_arrays().items()}
        return arrays | {TREES + name: array for name, array in self.believer.to_arrays().items()}

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray], layout: Layout) -> "OpportunisticPolicies":
        """The rules that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such rules; the message names the place.
        """
        part = apart(arrays, TREES, NETWORK)
        a, d = len(layout.actions), len(layout.columns)
        Stored("opportunistic policies", part).require(declared(OpportunisticPolicies), a=a)
        believer = stored_trees(under(arrays, TREES), columns=d + a)
        network = QPolicy.from_arrays(under(arrays, NETWORK)).require_layout(layout)
        return OpportunisticPolicies(
            network, believer, layout.provides & ~layout.free_columns, **part
        )


def learn(
    rows: TreeRows, objective: Objective, settings: Mapping[str, Any], budgets: np.ndarray
) -> Learned:
    """The best rule within each budget, or of all; `mean_return` is its score, out of fold."""
    beliefs = fit_masked(rows, copies=settings["copies"])
    network = fit_values(beliefs, DqnSettings.of(settings["dqn"]), rows.rng)
    start = rows.world.available & rows.bits(rows.base)
    visible = rows.world.visible(np.arange(len(rows.world)), start).astype(np.float32)
    believer, base = beliefs.ensemble, rows.bits(rows.base)
    policy = OpportunisticPolicies(
        network, believer, rows.world.adds, base, np.zeros(1), np.full(1, UNTUNED)
    )
    least = least_values(policy.values(visible, start).max(axis=1), settings["levels"])
    tried = replace(policy, least=least, threshold=np.full(len(least), UNTUNED))
    units = np.arange(len(rows.world))
    run = roll_out(tried, rows.world, uniforms=np.zeros((len(units), rows.world.panels + 1)))
    informed = objective.knowing(beliefs.at(units, rows.world.available))
    judged = [
        informed.judged(beliefs.at(units, sets), price)
        for sets, price in zip(run.acquired, run.cost, strict=True)
    ]
    score, price = np.array([policy[0] for policy in judged]), run.cost.mean(axis=1)
    chosen = best_within(score, price, budgets if objective.budgeted else np.array([np.inf]))
    policies = replace(
        tried, least=tried.least[chosen], threshold=np.array([judged[k][1] for k in chosen])
    )
    steps = settings["dqn"]["transitions"]
    return Learned.of_rules(policies.to_arrays(), steps, score[chosen], price[chosen])


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> OpportunisticPolicies:
    """The trained rules."""
    return OpportunisticPolicies.from_arrays(trained(stored, "opportunistic"), layout)


OPPORTUNISTIC = AgentKind(
    name="opportunistic",
    build=build,
    fit=partial(fit_for_cost, "opportunistic", learn),
    front=learn,
    settings={
        "boosting": (
            "BoostingSettings",
            "the trees that predict, on all sets of panels",
            {"leaves": 24, "repeats": 1},
        ),
        "copies": ("Count", "of each row, in each of which other panels are hidden", 4),
        "dqn": ("DqnSettings", "of changes by panels", {"discount": 0.5, "epsilon_last": 0.1}),
        "levels": ("Three", "least values that are tried", 24),
    },
    doc="orders the panel that changes the predicted probabilities most per price, by Q-learning",
    two_classes=True,
    looks={"opportunistic": (100, "opportunistic learning", "grey", "h")},
)
